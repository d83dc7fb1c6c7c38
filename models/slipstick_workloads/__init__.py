"""The programs of the papers as workloads: what they do to shared memory, counted, and the models built from the counts.

`slipstick` is the calculator; this package holds programs that it can be asked about. They are found by name through
the entry points of the group ``slipstick.programs``, so that the calculator imports none of them.
"""
