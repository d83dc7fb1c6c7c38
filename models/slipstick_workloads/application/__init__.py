"""Applications on distributed virtual shared memory: counts of what a program does, times the cost of each operation.

`classes` sorts counts into operations of equal size, `operations` gives each of them its activity, made of those of
`slipstick.program.dvsm`, `model` puts them together by phase and processor, and `programs` holds the six programs of the
paper, which are counted when they are asked for.

Why this shape: counts know no time, operations know no program, and only `model` knows both. In a superstep, a
processor does a few operations in an order that is drawn once, or makes one choice among many repeatedly: the closed
form adds up counts times costs, and the simulator does the operations in random order, with the same mean number of each.
"""

PROGRAMS = {
    "dvsm/application": "slipstick_workloads.application.model:APPLICATION",
    "dvsm/sor": "slipstick_workloads.application.programs:SOR",
    "dvsm/is": "slipstick_workloads.application.programs:IS",
    "dvsm/barnes": "slipstick_workloads.application.programs:BARNES",
    "dvsm/sphere": "slipstick_workloads.application.programs:SPHERE",
    "dvsm/water": "slipstick_workloads.application.programs:WATER",
    "dvsm/raytrace": "slipstick_workloads.application.programs:RAYTRACE",
    "euler/adaptive": "slipstick_workloads.euler.model:ADAPTIVE",
}
"""Where each program of this package is defined, and that of the package beside it on shared memory."""
