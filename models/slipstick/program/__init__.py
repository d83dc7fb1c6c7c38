"""Programs of the papers, as models that are built on a machine; `PROGRAMS` is the catalogue.

A program declares its inputs and builds a model from a machine and their values. Programs describe mechanisms; every
number comes from a spec.

The names of all programs are known without importing any: a program's module is imported when the program is asked
for. Other packages add programs through the entry points of the group ``slipstick.programs``. Each entry point gives a
mapping from the names of programs to where they are defined, ``module:NAME``, as `_DEFINED_IN` does here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from slipstick.errors import UnknownNameError

if TYPE_CHECKING:
    from slipstick.program.program import CountedProgram, Program

_DEFINED_IN = {
    "dvsm/message": "slipstick.program.dvsm:MESSAGE",
    "dvsm/page-fault": "slipstick.program.dvsm:PAGE_FAULT",
    "dvsm/diff-request": "slipstick.program.dvsm:DIFF_REQUEST",
    "dvsm/lock": "slipstick.program.dvsm:LOCK",
    "dvsm/barrier-slave": "slipstick.program.dvsm:BARRIER_SLAVE",
    "dvsm/barrier-master": "slipstick.program.dvsm:BARRIER_MASTER",
    "dvsm/diff-phase": "slipstick.program.dvsm_contention:DIFF_PHASE",
    "grain/unit": "slipstick.program.grain:UNIT",
    "grain/phases": "slipstick.program.grain:PHASES",
}


class _Catalogue(Mapping[str, "Program"]):
    """Programs by name, imported one by one."""

    @cached_property
    def _added(self) -> dict[str, str]:
        """Where the programs of other packages are defined."""
        from importlib.metadata import entry_points

        return {
            name: place for point in entry_points(group="slipstick.programs") for name, place in point.load().items()
        }

    def __getitem__(self, name: str) -> Program:
        module, _, attribute = (_DEFINED_IN.get(name) or self._added[name]).partition(":")
        program: Program = getattr(import_module(module), attribute)
        return program

    def __contains__(self, name: object) -> bool:
        return name in _DEFINED_IN or name in self._added

    def __iter__(self) -> Iterator[str]:
        return iter({**_DEFINED_IN, **self._added})

    def __len__(self) -> int:
        return len({**_DEFINED_IN, **self._added})


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
