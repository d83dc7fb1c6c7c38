"""WHAT FORMULAS SAY: one `Law` object for each closed form.

Equation, where it holds, units, source and somebody else's number live in one object; evaluation,
LaTeX, help and tests are read from it, so they cannot drift apart. To add a law, write one `Law(...)`
with at least one row in the module of its family: `ALL` and the tests find it there.
"""

from slipstick.law import (
    account,
    barrier,
    bus,
    finite_capacity,
    finite_population,
    general_service,
    grain,
    lock,
    memory,
    multistage,
    network,
    pipeline,
    priority,
    ring,
    scalability,
    speedup,
    station,
)
from slipstick.law.law import Law

__all__ = ["ALL", "FAMILIES", "Law"]

FAMILIES = (
    account,
    barrier,
    bus,
    finite_capacity,
    finite_population,
    general_service,
    grain,
    lock,
    memory,
    multistage,
    network,
    pipeline,
    priority,
    ring,
    scalability,
    speedup,
    station,
)
"""The modules that hold the laws, one for each family."""

ALL: dict[str, Law] = {
    law.name: law for family in FAMILIES for law in (getattr(family, name) for name in family.__all__)
}
"""Every law by its name in the catalogue."""
