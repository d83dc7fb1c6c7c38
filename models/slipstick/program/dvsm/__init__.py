"""Distributed virtual shared memory (TreadMarks) on a network of workstations.

`operations` has each operation alone, as its authors estimated it, with the measured remote delay as an
input. `contention` has processors that fault side by side, so that the delay comes out. `protocol` has the
same, and lock acquisitions, as processes that follow the protocol message by message: the second road.

Why this shape: the first two are trees of activities, so every method answers for them and they are in the
catalogue; `protocol` is what no tree can say, and is asked from Python.
"""

from slipstick.program.dvsm import contention, operations

__all__ = ["PROGRAMS"]

PROGRAMS = (*operations.PROGRAMS, *contention.PROGRAMS)
"""The programs of all rooms."""
