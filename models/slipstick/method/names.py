"""The methods by name; here, where naming one loads nothing."""

from __future__ import annotations

__all__ = ["BOUNDS", "CLOSED_FORM", "METHODS", "SIMULATION"]

CLOSED_FORM = "closed-form"
SIMULATION = "simulation"
BOUNDS = "bounds"

METHODS = (CLOSED_FORM, SIMULATION, BOUNDS)
"""The default comes first."""
