"""Solving by simulation, at one point and without the bounds that answers are compared with."""

from __future__ import annotations

from collections.abc import Mapping

from slipstick.answer import Answer
from slipstick.method.answers import Answers
from slipstick.method.simulation.form import _solution
from slipstick.model.system import Model
from slipstick.sim.settings import Simulation


def solve(
    model: Model, values: Mapping[str, float] | None = None, simulation: Simulation | None = None
) -> Answer:
    """Simulate a model, and raise the error that stops it."""
    return Answers(_solution(model, values or {}, simulation or Simulation())).answer(0)
