"""Solving by simulation, at one point and without the bounds that answers are compared with, and
comparing its values with those of another method.
"""

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


def assert_within_intervals(
    simulated: Answer,
    expected: Mapping[str, float | None],
    relative: float = 0.0,
    absolute: float = 0.0,
) -> None:
    """Assert that values lie within three half-widths of a simulation, a part of the value and
    an amount for rounding.
    """
    for name, value in expected.items():
        estimate = simulated.values[name]
        assert value is not None, name
        assert estimate.value is not None, name
        assert estimate.high is not None, name
        slack = 3 * (estimate.high - estimate.value) + relative * abs(value) + absolute
        assert abs(value - estimate.value) <= slack, f"{name}: {value} and {estimate}"
