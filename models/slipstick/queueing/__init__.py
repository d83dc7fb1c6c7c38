"""QUEUEING NETWORKS: solvers on arrays, which know no model and no files.

`NetworkArrays` go in and a `NetworkSolution` comes out, both with a leading axis of points, so that
a sweep is one recursion. Names are carried for messages only. Every recursion takes complex
numbers, so that a step of i h in one demand gives its derivative; comparisons look at real parts
only.

Why this shape: the solvers differ in the networks they take and in how exact they are, not in
inputs and outputs. So each is one function from `NetworkArrays` to `NetworkSolution`, and `checks`
tests all of them against the same laws.
"""

from __future__ import annotations
