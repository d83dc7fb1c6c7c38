"""The laws of this package by their names."""

from __future__ import annotations

from slipstick.law.law import laws_of

FAMILIES = (
    "account",
    "checkpoint",
    "finite_capacity",
    "finite_population",
    "general_service",
    "interconnects",
    "operational",
    "roofline",
    "scalability",
    "speedup",
    "spin_locks",
    "station",
    "synchronization",
)
"""The modules that hold the laws, one for each family."""

LAWS = laws_of("slipstick_laws", FAMILIES)
"""The laws of all families by name."""
