"""Customers that pass through delays alone: their time is a sum of means, whatever the arrivals."""

from __future__ import annotations

import math
from typing import Any

import pytest

from slipstick.api import solve
from slipstick.expression.nodes import RATE, TIME, Number
from slipstick.method.methods import compute_answers
from slipstick.model.activity import choose, delay, service
from slipstick.model.system import ArrivalPattern, Station, grouped_model, open_model
from slipstick.sim.settings import Simulation

LOUNGE = {"lounge": Station(1, "is")}
VISIT = choose(
    (0.4, service("lounge", 3.0, name="sit", scv=2.0)), (0.6, delay(0.5, name="look"))
) >> delay(1.0, name="walk", scv=0.0)
TIME_OF_VISIT = 0.4 * 3.0 + 0.6 * 0.5 + 1.0
ARRIVALS = [
    {},
    {"batch": 4},
    {"arrivals_scv": 4.0},
    {"burst_arrivals": 8.0, "burst_time": 5.0, "quiet_time": 20.0},
]


def arriving(**given: float) -> ArrivalPattern:
    """Return a pattern of arrivals; rates and durations of bursts are numbers with units."""
    units = {"burst_arrivals": RATE, "burst_time": TIME, "quiet_time": TIME}
    arguments: dict[str, Any] = {
        name: Number(value, units[name]) if name in units else value
        for name, value in given.items()
    }
    return ArrivalPattern(**arguments)


@pytest.mark.parametrize("given", ARRIVALS)
def test_an_open_stream_through_delays_is_solved_exactly_whatever_its_arrivals(
    given: dict[str, Any],
) -> None:
    model = open_model(VISIT, 2.0, resources=LOUNGE, pattern=arriving(**given))
    answer = solve(model)
    mean_rate = given.get("batch", 1) * (2.0 if "quiet_time" not in given else (40 + 40) / 25)
    assert answer.exact
    assert answer["time"] == pytest.approx(TIME_OF_VISIT, rel=1e-12)
    assert answer["throughput"] == pytest.approx(mean_rate, rel=1e-12)
    assert answer["queue_length[lounge]"] == pytest.approx(mean_rate * 0.4 * 3.0, rel=1e-12)
    simulated = solve(model, method="simulation", simulation=Simulation(seed=5, cycles=20_000))
    assert simulated["time"] == pytest.approx(TIME_OF_VISIT, rel=0.03)
    assert simulated["throughput"] == pytest.approx(mean_rate, rel=0.06)


def test_quantiles_of_a_stream_through_delays_are_simulated() -> None:
    model = open_model(delay(3.0, name="sit", scv=1.0), 2.0, pattern=ArrivalPattern(batch=4))
    (answer,) = compute_answers(model, {}, values=["time_quantile[0.95]"])
    assert answer.method == "simulation"
    assert answer["time_quantile[0.95]"] == pytest.approx(3.0 * math.log(20), rel=0.05)


def test_a_queue_is_not_left_out_of_a_stream_in_batches() -> None:
    queue = open_model(
        VISIT >> service("desk", 0.1, name="pay", scv=1.0),
        2.0,
        resources={**LOUNGE, "desk": Station(1)},
        pattern=ArrivalPattern(batch=2),
    )
    answer = solve(queue)
    assert answer.method == "simulation"
    named = solve(queue, method="closed-form")
    assert not named.exact
    assert any("waiting for desk" in note for note in named.notes)


def test_slopes_at_a_station_of_infinite_servers_are_computed_at_once() -> None:
    several = {
        "a": (Number(2.0, RATE), service("lounge", 3.0, name="sit", scv=2.0)),
        "b": (Number(1.0, RATE), delay(1.0, name="look") >> service("lounge", 2.0, name="lie")),
    }
    answer = solve(grouped_model(several, resources=LOUNGE))
    assert answer.method == "mean-value"
    assert answer["queue_length[lounge]"] == pytest.approx(2.0 * 3.0 + 1.0 * 2.0, rel=1e-9)
    assert sum(answer.share["time"].values()) == pytest.approx(1.0)
