"""Applications of a distributed virtual shared memory: what a program does, times what each thing costs.

`classes` sorts the counts of `program/lrc` into operations of equal size, `operations` gives each of them its activity, made
of those of `program/dvsm`, `model` puts them together, phase by phase and processor by processor, and `shipped` has the six
programs of the paper, counted when they are asked for.

Why this shape: counts know no time, operations know no program, and only `model` knows both. A line of a superstep is
a few operations in an order that is drawn once, or one choice among many, over and over: the closed form adds up
counts times costs, and the simulator does them in random order, as many in the mean.
"""

from slipstick_workloads.application import model, shipped

__all__ = ["PROGRAMS"]

PROGRAMS = (*model.PROGRAMS, *shipped.PROGRAMS)
"""From counts, and the six programs."""
