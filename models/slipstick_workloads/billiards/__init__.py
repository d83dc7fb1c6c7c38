"""Colliding billiard balls on a line: Scale-Graph's program, simulated and as a workload.

`physics`, `queue` and `simulate` are the sequential program itself, in plain numbers; `dependency` says which collisions
a parallel step may execute, and `counts` what comes of it for a number of balls and of processors. `model` builds the
parallel program on a machine from these counts.

Why this shape: the state of the balls does not depend on the number of processors, so one sequential run counts for all
of them, and the model is a tree of activities that every method answers for.
"""

from slipstick_workloads.billiards.model import PROGRAMS

__all__ = ["PROGRAMS"]
