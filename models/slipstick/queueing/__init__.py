"""HOW QUEUES SETTLE: recursions on arrays; knows no model, no YAML.

A `Network` of arrays goes in, a `Solution` of arrays comes out, both with a leading axis of points, so that a
sweep is one recursion and not a loop. Names travel along for messages only. Every recursion takes complex
numbers, so that a step of i h in one demand gives its derivative; nothing compares but real parts.

Why this shape: the solvers differ in what they can treat and how exactly, not in what they ask and answer. So
each is one function from `Network` to `Solution`, and `checks` looks at all of them alike.
"""

from __future__ import annotations
