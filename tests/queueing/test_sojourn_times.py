"""Approximate times of visits: moments, and exact special cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slipstick.queueing.sojourn_times import (
    Transform,
    approximate_path,
    closed_path,
    open_path,
    quantile,
    two_moments,
    visit_shared,
)

QS = (0.5, 0.9, 0.95, 0.99)


def moments(transform: Transform) -> tuple[float, float]:
    """Return mean and scv from differences of the logarithm of the transform at 0."""
    step = 1e-4
    low, middle, high = (
        float(np.log(transform(np.array([s + 0j]))[0].real)) for s in (0.0, step, 2 * step)
    )
    variance = (high - 2 * middle + low) / step**2
    mean = (low - middle) / step + variance * step / 2
    return mean, variance / mean**2


@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
def test_a_time_of_two_moments_has_them(scv: float) -> None:
    assert moments(two_moments(2.0, scv)) == pytest.approx((2.0, scv), rel=2e-2)


def test_a_visit_to_a_shared_server_has_the_variance_of_processor_sharing() -> None:
    """Of M/M/1 by processor sharing, the squared coefficient of variation is (2 + rho) / (2 -
    rho).
    """
    assert moments(visit_shared(1.0, 1.0)) == pytest.approx((2.0, 2.5 / 1.5), rel=2e-2)


def test_a_row_of_visits_in_order_is_exact() -> None:
    stations = [(1.0, 2, 1.2), (0.5, 1, 0.4)]
    mine = approximate_path([(1.0, open_path([each])) for each in stations])
    for q in QS:
        assert quantile(mine, q, 2.0) == pytest.approx(
            quantile(open_path(stations), q, 2.0), rel=1e-6
        )


def test_a_visit_that_is_made_with_a_probability_is_a_mixture() -> None:
    """Half of the customers take no time."""
    one = two_moments(1.0, 1.0)
    assert quantile(approximate_path([(0.5, one)]), 0.4, 1.0) == 0
    assert quantile(approximate_path([(0.5, one)]), 0.9, 1.0) == pytest.approx(
        math.log(5), rel=1e-6
    )


def test_a_closed_path_of_a_thousand_stations_stays_in_the_range_of_doubles() -> None:
    """Of one customer the time is a sum of exponential times, which an open path without load has;
    a warning of an overflow would fail the test.
    """
    demands = np.linspace(0.5, 2, 1000).tolist()
    alone = closed_path(demands, 1.0, 1)
    expected = quantile(open_path([(demand, 1, 0.0) for demand in demands]), 0.95, sum(demands))
    assert quantile(alone, 0.95, sum(demands)) == pytest.approx(expected, rel=1e-9)
