"""Intervals of simulations with a known answer, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from slipstick.sim.estimate import Quantiles, estimated_ratio, sums_by_period, t_quantile
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation

T_3 = 3.182446305284263
"""Student's t for 95 % and 3 degrees of freedom, as printed in tables."""


def test_the_interval_of_a_ratio_is_that_of_its_batches() -> None:
    # Mean 3, residuals -2, -1, 0, 3: the variance of the mean is 14 / (4 x 3).
    found = estimated_ratio(np.array([1.0, 2.0, 3.0, 6.0]), np.ones(4))
    half = T_3 * math.sqrt(14 / 12)
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(half, rel=2e-3)
    doubled = estimated_ratio(np.array([1.0, 2.0, 3.0, 6.0]), np.full(4, 2.0))
    assert doubled.half_width == pytest.approx(half / 2, rel=2e-3)


def test_the_interval_of_successive_batches_is_wider_by_their_correlation() -> None:
    # Products of neighbours: 2 + 0 + 0, so r = 2 / 14 and (1 + r) / (1 - r) = 4 / 3.
    batches = np.array([1.0, 2.0, 3.0, 6.0]), np.ones(4)
    alone = estimated_ratio(*batches).half_width
    assert estimated_ratio(*batches, in_one_run=True).half_width == pytest.approx(
        alone * math.sqrt(4 / 3)
    )
    opposed = np.array([1.0, 5.0, 1.0, 5.0]), np.ones(4)  # a negative correlation narrows nothing
    assert estimated_ratio(*opposed, in_one_run=True) == estimated_ratio(*opposed)


def test_the_quantile_is_that_of_the_degrees_of_freedom() -> None:
    assert t_quantile(0.95, 3) == pytest.approx(T_3, rel=2e-3)
    assert t_quantile(0.95, 7) == pytest.approx(2.364624251, rel=1e-4)


def test_half_of_a_bin_is_below_a_quantile() -> None:
    # 16 of 32 values are 1, then come 5 times 2 and 11 times 3. In sections of four either three
    # values are 1 or one is, so that 3/8 or 1/8 lie below the median: the fraction errs by
    # 2.365 x 0.134 / sqrt(8) = 0.112, and 0.612 of all values are at most 2. With whole bins the
    # fraction would err by twice as much, and 0.723 of all values are at most 3.
    rest = iter([2.0] * 5 + [3.0] * 11)
    seen = Quantiles(section_size=4)
    for ones in (3, 1) * 4:
        seen.add(np.array([1.0] * ones + [next(rest) for _ in range(4 - ones)]))
    found = seen.estimate(0.5)
    assert (found.mean, found.low, found.high) == (1.0, 1.0, 2.0)


def test_a_ratio_of_nothing_to_nothing_is_zero_and_of_something_has_no_mean() -> None:
    nothing, something = np.zeros(3), np.array([0.0, 2.0, 0.0])
    assert estimated_ratio(nothing, nothing).mean == 0
    assert math.isnan(estimated_ratio(something, nothing).mean)


def test_constant_times_that_are_not_in_step_hold_the_time_of_a_full_station() -> None:
    """64 customers visit a station ten times a cycle, 0.605 s each, with constant times between:
    64 x 6.05 s. They start together, and their cycles come apart by the same time in every batch:
    by batches alone the interval was 387.191 to 387.199.
    """
    builder = Builder()
    builder.add_station("bus")
    builder.delay(ServiceTime("deterministic", 10.0, 0.0), "think")
    for visit in range(10):
        builder.delay(ServiceTime("deterministic", 0.6, 0.0), f"there-{visit}")
        builder.serve("bus", ServiceTime("deterministic", 0.605, 0.0))
        builder.delay(ServiceTime("deterministic", 0.6, 0.0), f"back-{visit}")
    builder.add_closed_group("all", customer_count=64, first_instruction=0)
    estimate = simulate(builder.plan(), Simulation(seed=0)).mean_time()
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 64 * 6.05 < estimate.high
    assert estimate.half_width < 0.001 * estimate.mean


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_students_t_is_that_of_scipy(level: float) -> None:
    """The series of Abramowitz and Stegun, whose terms fall with the degrees of freedom."""
    for degrees, tolerance in ((1, 1e-9), (2, 1e-9), (3, 1e-2), (5, 1e-3), (8, 1e-4), (12, 3e-5)):
        exact = float(student.ppf((1 + level) / 2, degrees))
        assert t_quantile(level, degrees) == pytest.approx(exact, rel=tolerance), degrees
    assert t_quantile(0.9, 6) == pytest.approx(1.94318, rel=2e-5)
    assert t_quantile(0.9, 8) == pytest.approx(1.859548, rel=1e-5)


def test_the_last_period_is_whole_if_its_last_row_reaches_beyond_its_middle() -> None:
    """Rows of 1 s in periods of 17.5 s: the middle of the 18th is the beginning of the second."""
    sums = sums_by_period(np.ones((35, 1)), 0, 17.5)
    assert sums.ravel().tolist() == [17.0, 18.0]
    assert sums_by_period(np.ones((34, 1)), 0, 17.5).ravel().tolist() == [17.0]
