"""WORKLOAD ON MACHINE: the papers' systems as activities.

A program declares its inputs (`Input`) and builds a model from a machine and their values; `PROGRAMS`
is the catalogue. Programs know mechanisms, not numbers: every number comes from a spec.
"""

from slipstick.program import application, billiards, dvsm, grain, phases
from slipstick.program.program import Input, Program

__all__ = ["PROGRAMS", "Input", "Program"]

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        *dvsm.PROGRAMS,
        *application.PROGRAMS,
        *grain.PROGRAMS,
        *phases.PROGRAMS,
        *billiards.PROGRAMS,
    )
}
"""Every program by its name in the catalogue."""
