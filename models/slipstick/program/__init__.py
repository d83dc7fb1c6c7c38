"""WORKLOAD ON MACHINE: the papers' systems as activities.

A program declares its inputs (`Input`) and builds a model from a machine and their values; `PROGRAMS`
is the catalogue. Programs know mechanisms, not numbers: every number comes from a spec.

Other distributions, and the sibling package of the papers' workloads, add programs through the entry points of the
group ``slipstick.programs``, each a sequence of `Program`.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points

from slipstick.program.program import Input, Program

__all__ = ["PROGRAMS", "Input", "Program"]


class _Programs(Mapping[str, Program]):
    """Programs by name; the modules that define them are imported at the first look."""

    @cached_property
    def _found(self) -> dict[str, Program]:
        from slipstick.program import dvsm, grain, phases

        own = (*dvsm.PROGRAMS, *grain.PROGRAMS, *phases.PROGRAMS)
        added = (program for point in entry_points(group="slipstick.programs") for program in point.load())
        return {program.name: program for program in (*own, *added)}

    def __getitem__(self, name: str) -> Program:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


PROGRAMS: Mapping[str, Program] = _Programs()
"""Every program by its name in the catalogue."""
