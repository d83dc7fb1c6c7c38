"""Programs as models that are built on a machine; `PROGRAMS` is the catalogue.

A program declares its inputs and builds a model from a machine and their values. Programs describe
mechanisms; every number comes from a spec.

Packages add programs through the entry points of the group `slipstick.programs`, those of the
papers in `slipstick_workloads` as well; see `slipstick.extensions`. A program's module is imported
when the program is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slipstick.errors import UnknownNameError
from slipstick.extensions import Registry

if TYPE_CHECKING:
    from slipstick.program.program import CountedProgram, Program

PROGRAMS: Mapping[str, Program] = Registry("slipstick.programs")
"""Every program by its name in the catalogue."""


def counted_program(name: str) -> CountedProgram:
    """Find a program whose operations can be counted, by its full name or the part after "/".

    Raises
    ------
    UnknownNameError : there is no such program

    >>> counted_program("sor").name
    'dvsm/sor'
    """
    from slipstick.program.program import CountedProgram

    for program_name in PROGRAMS:
        if name in (program_name, program_name.rpartition("/")[2]) and isinstance(
            program := PROGRAMS[program_name], CountedProgram
        ):
            return program
    short_names = [
        program.name.rpartition("/")[2]
        for program in PROGRAMS.values()
        if isinstance(program, CountedProgram)
    ]
    raise UnknownNameError("program with counts", name, short_names)
