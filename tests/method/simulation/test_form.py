"""Simulations at many points."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from slipstick import Parameter, Simulation, closed_model, delay, hold, phased_model, service
from slipstick.expression.nodes import TIME
from slipstick.method.methods import form_of
from slipstick.method.simulation import form as simulation
from slipstick.method.simulation.flatten import flatten
from tests.simulation import solve

MODEL = closed_model(
    delay(9.0, name="work", scv=1.0) >> hold("door", service("bus", 1.0, scv=1.0)), processors=4
)
SETTINGS = Simulation(seed=5, cycles=4000)


def test_every_point_is_what_it_is_alone() -> None:
    form = form_of(MODEL, {}, "simulation", SETTINGS)
    assert form.parameters == ("population.processors", "work", "bus")
    points = form.points({"population.processors": np.array([1.0, 4.0, 8.0]), "work": 3.0})
    alone = solve(MODEL, {"population.processors": 8.0, "work": 3.0}, SETTINGS)
    assert points.answer(2) == alone
    assert len(points) == 3
    assert points.limiting_stages() == {}
    columns = points.columns()
    assert (
        columns["time"][2]
        == alone["time"]
        == form.times({"population.processors": 8.0, "work": 3.0})[0]
    )
    assert columns["low[time]"][2] == alone.values["time"].low
    assert np.all(np.diff(columns["time"]) > 0)


def test_a_point_that_cannot_be_simulated_says_why_and_the_others_stay() -> None:
    points = form_of(MODEL, {}, "simulation", SETTINGS).points(
        {"population.processors": np.array([2.5, 2.0])}
    )
    assert (
        points.answer(0).failed
        == "a simulation needs the population to be a whole number from 1 to 1000000, got 2.5"
    )
    assert np.isnan(points.columns()["time"]).tolist() == [True, False]
    assert not points.interrupted


def test_a_share_has_the_interval_of_its_differences() -> None:
    base: Any = SimpleNamespace(settings=Simulation(), cycles=100, stop_cause="precision")
    noise = np.array([0.3, -0.1, 0.2, 0.0, -0.2, 0.1, 0.4, -0.3, 0.05, -0.05, 0.15, 0.25])

    def again(values: Mapping[str, float], settings: Simulation) -> np.ndarray[Any, Any]:
        assert settings.cycles == 100
        return 5.0 * values["work"] + (noise if values["work"] > 2.0 else -noise)

    found = simulation.Differences("time", again, base)
    _, shares, _ = found.shares(10.0, ["work"], {"work": 2.0}, {"work": Parameter("work", TIME)})
    share, each = shares["share[time,work]"], 2 * noise / (2 * simulation.STEP * 10.0)
    half = stdtrit(11, 0.975) * each.std(ddof=1) / np.sqrt(12)
    assert share.value == pytest.approx(1.0 + each.mean())
    assert share.low is not None
    assert share.high is not None
    assert share.high - share.low == pytest.approx(2 * half, rel=1e-5)
    assert share.high + share.low == pytest.approx(2 * (1.0 + each.mean()))


def test_processors_of_the_same_phases_execute_the_same_instructions() -> None:
    model = phased_model((1, 7, delay(1.0, name="a")), (2, 3, delay(2.0, name="b")))
    starts = flatten(model).plan.groups[0].starts
    assert [starts.index(each) for each in starts] == [0, 0, 0, 3, 3, 3, 3]
