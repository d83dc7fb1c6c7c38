"""Laws: one `Law` object for each closed form.

Equation, where it holds, units, source and published values live in one object; evaluation, LaTeX, help and tests are
read from it. To add a law, write one `Law(...)` with at least one `Check` in the module of its family, by itself or in a
tuple of laws that are alike: `LAWS` and the tests find it there. The modules of the families are imported when `LAWS` is first read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module

from slipstick.law.law import Law

__all__ = ["FAMILIES", "LAWS", "Law"]

FAMILIES = (
    "account",
    "collectives",
    "finite_capacity",
    "finite_population",
    "general_service",
    "interconnects",
    "network",
    "pipeline",
    "scalability",
    "speedup",
    "station",
    "synchronization",
)
"""The modules that hold the laws, one for each family."""


class _Laws(Mapping[str, Law]):
    """The laws of all families by name."""

    @cached_property
    def _by_name(self) -> dict[str, Law]:
        modules = [import_module(f"slipstick.law.{family}") for family in FAMILIES]
        held = [each for module in modules for each in vars(module).values() if isinstance(each, Law | tuple)]
        laws = [each for one in held for each in (one if isinstance(one, tuple) else (one,)) if isinstance(each, Law)]
        return {each.name: each for each in laws}

    def __getitem__(self, name: str) -> Law:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


LAWS: Mapping[str, Law] = _Laws()
"""Every law by its name in the catalogue."""
