"""Colliding billiard balls on a line: Scale-Graph's program, simulated and as a workload.

`simulation` is the sequential program itself, in plain numbers. `counts` says which collisions a
parallel step may execute, and computes the means over a run for a number of balls and of
processors. `model` builds the parallel program on a machine from these counts.

Why this shape: the state of the balls does not depend on the number of processors, so one
sequential run gives the counts for every number, and the model is a tree of activities that every
method solves.
"""

PROGRAMS = {"billiards/parallel": "slipstick_workloads.billiards.model:PARALLEL"}
"""Where the program of this package is defined."""
