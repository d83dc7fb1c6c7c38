"""Programs as models that are built on a machine; `PROGRAMS` is the catalogue.

A program declares its inputs and builds a model from a machine and their values. Programs describe mechanisms; every
number comes from a spec.

Packages add programs through the entry points of the group ``slipstick.programs``, those of the papers in
`slipstick_workloads` as well. Each entry point gives a mapping from the names of programs to where they are defined,
``module:NAME``. So the names of all programs are known without importing any: a program's module is imported when the
program is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from slipstick.errors import UnknownNameError

if TYPE_CHECKING:
    from slipstick.program.program import CountedProgram, Program


class _Catalogue(Mapping[str, "Program"]):
    """Programs by name, imported one by one."""

    @cached_property
    def _defined_in(self) -> dict[str, str]:
        from importlib.metadata import entry_points

        return {
            name: place for point in entry_points(group="slipstick.programs") for name, place in point.load().items()
        }

    def __getitem__(self, name: str) -> Program:
        module, _, attribute = self._defined_in[name].partition(":")
        program: Program = getattr(import_module(module), attribute)
        return program

    def __contains__(self, name: object) -> bool:
        return name in self._defined_in

    def __iter__(self) -> Iterator[str]:
        return iter(self._defined_in)

    def __len__(self) -> int:
        return len(self._defined_in)


PROGRAMS: Mapping[str, Program] = _Catalogue()
"""Every program by its name in the catalogue."""


def counted_program(name: str) -> CountedProgram:
    """Find a program whose operations on shared memory can be counted, by its name with or without the part before "/".

    Raises
    ------
    UnknownNameError : there is no such program

    >>> counted_program("sor").name
    'dvsm/sor'
    """
    from slipstick.program.program import CountedProgram

    for each in PROGRAMS:
        if name in (each, each.rpartition("/")[2]) and isinstance(program := PROGRAMS[each], CountedProgram):
            return program
    known = [each.name.rpartition("/")[2] for each in PROGRAMS.values() if isinstance(each, CountedProgram)]
    raise UnknownNameError("program with counts", name, known)
