"""Tests of the least width of intervals near saturation, by heavy-traffic theory."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from slipstick.sim.heavy_traffic import least_relative_half_widths
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation

LEVEL = 0.9


def open_station(
    load: float, scv: float = 1.0, discipline: str = "fcfs", capacity: int = 0
) -> Plan:
    """Return a station of service rate 1 with Poisson arrivals."""
    builder = Builder()
    builder.add_station("cpu", discipline=discipline)
    builder.admit("jobs", "cpu", capacity, "away")
    builder.serve("cpu", ServiceTime("exponential" if scv == 1 else "gamma", 1.0, scv))
    builder.finish()
    builder.mark("away")
    builder.finish(is_lost=True)
    builder.add_open_group("jobs", ServiceTime("exponential", 1 / load), first_instruction=0)
    return builder.plan()


def half_widths(plan: Plan, customers: float, load: float) -> dict[int, float]:
    """Return the least half-widths after so many customers were served at a load."""
    return least_relative_half_widths(
        plan, customers, np.array([customers]), np.array([1 - load]), LEVEL
    )


@pytest.mark.parametrize("load", [0.9, 0.95, 0.99])
def test_the_width_is_that_of_the_exact_variance_of_one_server(load: float) -> None:
    # The number in M/M/1 has the asymptotic variance 2 r (1 + r) / (1 - r)^4 for each service time
    # (Whitt, 1989, table 1); it differs from that of Brownian motion by the factor (1 + r) / 2.
    customers = 1e6
    exact_variance = 2 * load * (1 + load) / (1 - load) ** 4 / (customers / load)
    exact_deviation = math.sqrt(exact_variance) / (load / (1 - load))
    plan = open_station(load)
    half_width = half_widths(plan, customers, load)[0]
    quantile = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    assert half_width == pytest.approx(quantile * exact_deviation, rel=1 - load)
    assert half_width >= quantile * exact_deviation


def test_varied_services_make_it_wider() -> None:
    widths = {}
    for scv in (1.0, 4.0):
        plan = open_station(0.9, scv)
        widths[scv] = half_widths(plan, 1e5, 0.9)[0]
    assert widths[4.0] == pytest.approx(math.sqrt(2.5) * widths[1.0])


@pytest.mark.parametrize(
    "plan", [open_station(0.9, capacity=5), open_station(0.9, discipline="priority")]
)
def test_limited_and_ranked_queues_are_left_out(plan: Plan) -> None:
    assert half_widths(plan, 1e5, 0.9) == {}


def test_closed_groups_are_left_out() -> None:
    builder = Builder()
    builder.add_station("cpu")
    builder.serve("cpu", ServiceTime("exponential", 1.0))
    builder.add_closed_group("jobs", 3, first_instruction=0)
    assert half_widths(builder.plan(), 1e5, 0.9) == {}


@pytest.mark.turns(6)
def test_intervals_of_short_runs_near_saturation_hold_the_mean() -> None:
    # Of 24 intervals of 90 % about 21 hold it; of those without the least width some 17 did.
    plan = open_station(0.9)
    estimates = [
        simulate(plan, Simulation(seed, events=50_000, level=LEVEL)).mean_time()
        for seed in range(620_000, 620_024)
    ]
    ends = [
        (estimate.low, estimate.high)
        for estimate in estimates
        if estimate.low is not None and estimate.high is not None
    ]
    held_count = sum(low <= 10.0 <= high for low, high in ends)
    assert len(ends) >= 12
    assert held_count >= 0.8 * len(ends)


def test_an_interval_reaches_farther_above_the_mean_than_below() -> None:
    estimate = simulate(open_station(0.9, 4.0), Simulation(3, events=100_000)).mean_time()
    assert estimate.low is not None
    assert estimate.high is not None
    # Both ends of the reciprocal are equally far from that of the mean.
    assert 1 / estimate.low - 1 / estimate.mean == pytest.approx(
        1 / estimate.mean - 1 / estimate.high
    )
    assert estimate.high - estimate.mean > 1.2 * (estimate.mean - estimate.low)


def test_waits_booked_by_label_are_as_wide_as_those_of_those_present() -> None:
    run = simulate(open_station(0.9), Simulation(11, events=200_000))
    layout = run.layout
    visits = layout.column_weights(layout.ended_visit_columns[0])
    by_presence = run.estimated_ratio(
        layout.column_weights(layout.present_time_columns[0])
        - layout.column_weights(layout.busy_time_columns[0]),
        visits,
    )
    by_label = run.estimated_ratio(
        layout.column_weights(layout.first_label_columns[0] + run.plan.labels.index("wait:cpu")),
        visits,
    )
    assert by_label.mean == pytest.approx(by_presence.mean, rel=0.01)
    assert by_label.half_width == pytest.approx(by_presence.half_width, rel=0.05)
    least_half_width = half_widths(
        run.plan, run.batches[:, layout.ended_visit_columns[0]].sum(), 0.9
    )[0]
    assert by_label.half_width >= 0.95 * least_half_width * by_label.mean
