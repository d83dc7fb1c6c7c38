"""Regions whose customers wait outside, around stations that lose some: what grows is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slipstick.api import solve
from slipstick.errors import NoAnswerError
from slipstick.model.network import (
    QueueingNetwork,
    closed_class,
    network,
    open_class,
    region,
    station,
)
from slipstick.sim.settings import Simulation

LOSSES: list[dict[str, Any]] = [
    {"capacity": 2},
    {"patience": {"jobs": 3.0}},
    {"timeout": {"jobs": 2.0}},
]


def hall(rate: float, places: int, **losses: Any) -> QueueingNetwork:
    """Return two stations in a region of some places, the first of which loses customers."""
    return network(
        {"jobs": open_class(rate)},
        {"web": station(service={"jobs": 0.5}, **losses), "db": station(service={"jobs": 0.6})},
        regions={"hall": region(["web", "db"], places)},
    )


@pytest.mark.parametrize("losses", LOSSES)
def test_a_queue_before_a_region_that_grows_is_refused(losses: dict[str, Any]) -> None:
    """With two places at most two are served at a time, some 1.2 a second."""
    short = Simulation(seed=11, events=40_000)
    with pytest.raises(NoAnswerError) as refusal:
        solve(hall(3.0, 2, **losses), simulation=short)
    words = str(refusal.value)
    assert "more customers come to region hall than enter it: 1" in words
    assert "s that were simulated than before; lower the arrivals, or give it more places" in words


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("places", [1, 2])
def test_a_queue_before_a_region_behind_losses_that_grows_is_refused(
    losses: dict[str, Any], places: int
) -> None:
    """The station before the region loses few customers, and the region has too few places."""
    short = Simulation(seed=21, events=40_000)
    with pytest.raises(NoAnswerError, match="more customers come to region hall than enter it"):
        solve(behind(3.0, places, **losses), simulation=short)
    answer = solve(behind(0.3, places, **losses), simulation=short)
    waiting_time = answer["waiting_time[hall]"]
    assert waiting_time is not None
    assert waiting_time < 10


@pytest.mark.parametrize("first", ["peak", "rest"])
def test_a_run_that_ends_in_a_peak_does_not_refuse_the_queue_before_a_region(first: str) -> None:
    """Of 3 customers a second in a peak 1.3 enter; over a period 0.4 come."""
    pieces = [(1000.0, 3.0), (9000.0, 0.1)]
    stream = open_class(0.39, profile=pieces if first == "peak" else pieces[::-1])
    for rate, is_answered in ((stream, True), (open_class(3.0), False)):
        model = replace(behind(0.39, 2, capacity=50), classes={"jobs": rate})
        short = Simulation(seed=2, events=10_000)
        if is_answered:
            answer = solve(model, method="simulation", simulation=short)
            assert (answer["waiting_time[hall]"] or 0.0) > 100
        else:
            with pytest.raises(NoAnswerError, match="more customers come to region hall"):
                solve(model, method="simulation", simulation=short)


def behind(rate: float, places: int, **losses: Any) -> QueueingNetwork:
    """Return a station that loses customers, and behind it two stations in a region."""
    service = {"jobs": 0.5}
    return network(
        {"jobs": open_class(rate)},
        {
            "front": station(service={"jobs": 0.1}, **losses),
            "yard": station(service={"jobs": 0.1}),
            "web": station(service=service),
            "db": station(service=service),
        },
        regions={"hall": region(["web", "db"], places)},
    )


@pytest.mark.parametrize("losses", LOSSES)
def test_a_short_run_of_a_region_that_keeps_up_is_answered(losses: dict[str, Any]) -> None:
    short = Simulation(seed=12, events=4_000, precision=0.0001)
    answer = solve(hall(0.8, 3, **losses), simulation=short)
    assert answer.converged is False
    longer = solve(hall(0.8, 3, **losses), simulation=Simulation(seed=13, events=200_000))
    assert answer["throughput[jobs]"] == pytest.approx(longer["throughput[jobs]"], rel=0.15)


def test_a_population_that_saturates_is_not_defined_where_customers_are_lost() -> None:
    think = {"jobs": closed_class(5, think_time=2.0)}
    plain = network(think, {"db": station(service={"jobs": 0.6})})
    assert solve(plain)["saturation_population[jobs]"] == pytest.approx(2.6 / 0.6)
    for losses in ({"capacity": 2}, {"patience": {"jobs": 3.0}}):
        lossy = network(think, {"db": station(service={"jobs": 0.6}, **losses)})
        assert "saturation_population[jobs]" not in solve(lossy).values
