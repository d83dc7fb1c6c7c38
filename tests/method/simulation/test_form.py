"""Simulations at many points."""

from __future__ import annotations

import numpy as np

from slipstick import Simulation, closed_model, delay, hold, service
from slipstick.method.methods import form_of
from slipstick.method.simulation import form as simulation

MODEL = closed_model(delay(9.0, name="work", scv=1.0) >> hold("door", service("bus", 1.0, scv=1.0)), processors=4)
SETTINGS = Simulation(seed=5, cycles=4000)


def test_every_point_is_what_it_is_alone() -> None:
    form = form_of(MODEL, {}, "simulation", SETTINGS)
    assert form.parameters == ("population.processors", "work", "bus")
    points = form.points({"population.processors": np.array([1.0, 4.0, 8.0]), "work": 3.0})
    alone = simulation.solve(MODEL, {"population.processors": 8.0, "work": 3.0}, SETTINGS)
    assert points.answer(2) == alone
    assert len(points) == 3
    assert points.limits() == {}
    columns = points.columns()
    assert columns["time"][2] == alone["time"] == form.times({"population.processors": 8.0, "work": 3.0})[0]
    assert columns["low[time]"][2] == alone.values["time"].low
    assert np.all(np.diff(columns["time"]) > 0)


def test_a_point_that_cannot_be_simulated_says_why_and_the_others_stay() -> None:
    points = form_of(MODEL, {}, "simulation", SETTINGS).points({"population.processors": np.array([2.5, 2.0])})
    assert points.answer(0).failed == (
        "a simulation needs the population to be a whole number from 1 to 1000000, got 2.5"
    )
    assert np.isnan(points.columns()["time"]).tolist() == [True, False]
    assert not points.interrupted
