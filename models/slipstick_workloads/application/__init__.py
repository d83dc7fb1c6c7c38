"""Applications on distributed virtual shared memory: counts of what a program does, times the cost
of each operation.

`operations` sorts counts into classes of equal size and gives each of them its activity, made of
those of `slipstick_workloads.dvsm.operations`, `model` puts them together by phase and processor,
and `programs` holds the six programs of the paper, which are counted when they are asked for.

Why this shape: counts know no time, operations know no program, and only `model` knows both. In a
superstep, a processor does a few operations in an order that is drawn once, or makes one choice
among many repeatedly: the closed form adds up counts times costs, and the simulator does the
operations in random order, with the same mean number of each.
"""

PROGRAMS = {
    "dvsm/message": "slipstick_workloads.dvsm.operations:MESSAGE",
    "dvsm/page-fault": "slipstick_workloads.dvsm.operations:PAGE_FAULT",
    "dvsm/diff-request": "slipstick_workloads.dvsm.operations:DIFF_REQUEST",
    "dvsm/lock": "slipstick_workloads.dvsm.operations:LOCK",
    "dvsm/barrier-slave": "slipstick_workloads.dvsm.operations:BARRIER_SLAVE",
    "dvsm/barrier-master": "slipstick_workloads.dvsm.operations:BARRIER_MASTER",
    "dvsm/diff-phase": "slipstick_workloads.dvsm.contention:DIFF_PHASE",
    "grain/unit": "slipstick_workloads.unit_grains:UNIT",
    "grain/phases": "slipstick_workloads.unit_grains:PHASES",
    "dvsm/application": "slipstick_workloads.application.model:APPLICATION",
    "dvsm/sor": "slipstick_workloads.application.programs:SOR",
    "dvsm/is": "slipstick_workloads.application.programs:IS",
    "dvsm/barnes": "slipstick_workloads.application.programs:BARNES",
    "dvsm/sphere": "slipstick_workloads.application.programs:SPHERE",
    "dvsm/water": "slipstick_workloads.application.programs:WATER",
    "dvsm/raytrace": "slipstick_workloads.application.programs:RAYTRACE",
    "euler/adaptive": "slipstick_workloads.euler.model:ADAPTIVE",
    "newton/blocks": "slipstick_workloads.scheduling.newton:BLOCKS",
    "sequences/matching": "slipstick_workloads.scheduling.matching:MATCHING",
}
"""Where each program is defined: those of this package and of the modules beside it, but the
billiards.
"""
