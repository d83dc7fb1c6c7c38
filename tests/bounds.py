"""The bounds of an activity at one point."""

from __future__ import annotations

from collections.abc import Mapping

from slipstick.answer import Answer
from slipstick.method.bounds import CompiledBounds
from slipstick.model.system import Model


def bounds(model: Model, values: Mapping[str, float] | None = None) -> Answer:
    """Return the bounds on time and throughput of a model."""
    return CompiledBounds(model).points(values or {}).answer(0)
