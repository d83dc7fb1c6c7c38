"""Laws: one `Law` object for each closed form.

Equation, where it holds, units, source and published values live in one object; evaluation, LaTeX,
help and tests are read from it. To add a law, write one `Law(...)` with at least one `Check` in the
module of its family, by itself or in a tuple of laws that are alike: `LAWS` and the tests find it
there. The modules of the families are imported when `LAWS` is first read.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from slipstick.extensions import Registry
from slipstick.law.law import Law

__all__ = ["FAMILIES", "LAWS", "Law"]

FAMILIES = (
    "account",
    "checkpoint",
    "collectives",
    "finite_capacity",
    "finite_population",
    "general_service",
    "interconnects",
    "network",
    "operational",
    "pipeline",
    "roofline",
    "scalability",
    "speedup",
    "station",
    "synchronization",
)
"""The modules that hold the laws, one for each family."""


def _own() -> dict[str, Law]:
    modules = [import_module(f"slipstick.law.{family}") for family in FAMILIES]
    held = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Law | tuple)
    ]
    laws = [
        value
        for entry in held
        for value in (entry if isinstance(entry, tuple) else (entry,))
        if isinstance(value, Law)
    ]
    return {law.name: law for law in laws}


LAWS: Mapping[str, Law] = Registry("slipstick.laws", _own)
"""Every law by its name in the catalogue, those of other packages included."""
