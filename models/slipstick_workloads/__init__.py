"""The programs of the papers as models on a machine: page sharing and what is counted of it, unit
grains, billiards, a tree.

`slipstick` is the calculator; this package holds programs that it can solve. They are found by name
through the entry points of the group ``slipstick.programs``, so that the calculator imports none of
them; the kind of spec that holds what was counted of them by ``slipstick.kinds``.
"""

from slipstick.extensions import SpecKind

KINDS = {"counts": SpecKind("counts", "slipstick_workloads.counts:CountsSpec", "two-processors")}

START = "start-up"
"""The phase in which data is laid out; the papers' times leave it out."""
