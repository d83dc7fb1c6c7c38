"""The programs of the papers as workloads: operations on shared memory, counted, and models built from the counts.

`slipstick` is the calculator; this package holds programs that it can solve. They are found by name through the entry
points of the group ``slipstick.programs``, so that the calculator imports none of them.
"""

START = "start-up"
"""The phase in which data is laid out; the papers' times leave it out."""
