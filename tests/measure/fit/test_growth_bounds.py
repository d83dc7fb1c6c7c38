"""Bounds of throughput that need no law, beside exact networks and laws with costs of pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slipstick.late import Array
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick_measure.fit.comparison import compare, fits
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.growth_bounds import growth_bounds
from slipstick_measure.report.fits import fits_text

COLD = [494.3, 1338.6, 2552.8, 4741.7, 7397.9]
"""Transactions a second of a database on 1 to 16 threads; the server was cold in the first run."""


def rows(rates: Array | list[float], servers: int | None = 16) -> Timings:
    p: Array = 2.0 ** np.arange(float(len(rates)))
    return Timings(p, np.ones(len(p)), p / np.asarray(rates), True, servers=servers)


def assert_bounded(rates: Array) -> None:
    """Check that bounds from five rows hold the rates of the further numbers of customers."""
    bounds = growth_bounds(rows(rates[:5]), 1e-12)
    assert bounds is not None
    for number, rate in zip((2.0 ** np.arange(5, len(rates))).tolist(), rates[5:], strict=True):
        interval = bounds.times(number, 0.9)
        assert interval is not None
        low, high = interval
        assert low * (1 - 1e-9) <= number / rate <= high * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_closed_networks_lie_within(seed: int) -> None:
    random = np.random.default_rng(seed)
    demands = np.exp(random.uniform(-3, 0, 3))
    servers = random.integers(1, 20, 3)
    p = 2.0 ** np.arange(7)
    network = network_arrays(
        demands,
        population=p.astype(int)[:, None],
        think=float(random.uniform(0, 5)),
        servers=servers,
    )
    throughput = exact(network).throughput[:, 0]
    assert_bounded(throughput)


@pytest.mark.parametrize("contention", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("pairs", [1e-4, 1e-3, 1e-2])
def test_costs_of_pairs_lie_within(contention: float, pairs: float) -> None:
    p = 2.0 ** np.arange(7)
    rates = p / (1 + contention * (p - 1) + pairs * p * (p - 1))
    assert_bounded(rates)


def test_noise_widens_both_ends() -> None:
    sure, noisy = (growth_bounds(rows(COLD), noise) for noise in (0.001, 0.03))
    assert sure
    assert noisy
    (low, high), (lower, higher) = (bounds.times(32, 0.9) or (0, 0) for bounds in (sure, noisy))
    assert lower < low < high < higher


@pytest.mark.parametrize(
    "other",
    [
        rows(COLD, servers=None),
        replace(rows(COLD), weak_scaling=False),
        rows(COLD[:2]),
        replace(rows(COLD), n=np.array([1.0, 1.0, 1.0, 2.0, 2.0])),
    ],
)
def test_other_rows_have_no_bounds(other: Timings) -> None:
    assert growth_bounds(other, 0.0) is None


def test_rows_that_no_law_describes_have_an_interval() -> None:
    fitting = fits(rows(COLD), p=[32, 64])
    assert not fitting.described
    assert list(fitting.bounded) == [32]
    low, high = fitting.bounded[32]
    assert high < 2.5 * low
    # Measured later: 8,070.3 transactions a second.
    assert low < 32 / 8070.3 < high
    text = " ".join(fits_text(fitting).split())
    assert "On 32 processors: between 2.252 ms and 4.588 ms." in text
    assert "Measure on 11 and 24 next." in text
    assert "no prediction at 64 processors" in text
    assert "no prediction at 32 processors" not in text


def test_bounds_replace_wider_laws_only() -> None:
    p = 2.0 ** np.arange(5)
    straight = compare(rows(100 * p / (1 + 0.05 * (p - 1))))
    assert straight.by_bounds([32], 0.9) == {}
    assert straight.bounds is not None
    (law,) = straight.predictions([32], 0.9).values()
    bounded = straight.bounds.times(32, 0.9)
    assert bounded is not None
    assert law[1] / law[0] < bounded[1] / bounded[0]
    assert compare(rows(COLD), ["amdahl"]).bounds is None
