"""Bounds of throughput that need no law, beside exact networks and laws with costs of pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from slipstick.late import Array
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick_measure.fit.comparison import compare, fits
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.growth_bounds import growth_bounds, loss_growths
from slipstick_measure.report.fits import fits_text
from tests.measure.fit.truths import TRUTHS, Truth, noisy

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
        interval = bounds.time_interval(number, 0.9)
        assert interval is not None
        low, high = interval
        assert low * (1 - 1e-9) <= number / rate <= high * (1 + 1e-9)


@pytest.mark.turns(4)
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
    (low, high), (lower, higher) = (
        bounds.time_interval(32, 0.9) or (0, 0) for bounds in (sure, noisy)
    )
    assert lower < low < high < higher


@pytest.mark.parametrize(
    "other",
    [
        replace(rows(COLD), weak_scaling=False),
        rows(COLD[:2]),
        replace(rows(COLD), n=np.array([1.0, 1.0, 1.0, 2.0, 2.0])),
    ],
)
def test_other_rows_have_no_bounds(other: Timings) -> None:
    assert growth_bounds(other, 0.0) is None


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("servers", "member", "rate", "bounded"),
    [
        (None, "processor", None, False),
        (16, "processor", None, True),
        (None, "thread", ("req/s", 1.0), True),
        (None, "thread", None, False),
        (None, "node", ("req/s", 1.0), False),
    ],
)
def test_bounds_are_of_one_machine(
    servers: int | None, member: str, rate: tuple[str, float] | None, bounded: bool
) -> None:
    found = compare(replace(rows(COLD, servers=servers), member=member, rate=rate))
    assert bool(found.intervals_by_bounds([32.0], 0.9)) == bounded


@pytest.mark.turns(4)
def test_predictions_of_throughputs_are_throughputs() -> None:
    rates = 100 * np.array([1.0, 2, 4, 8, 16]) / (1 + 0.05 * (np.array([1.0, 2, 4, 8, 16]) - 1))
    told = replace(rows(rates * 1e9, servers=None), member="thread", rate=("GB/s", 1e9))
    text = " ".join(fits_text(fits(told, p=[32, 64])).split())
    # By Amdahl: 3200 / 2.55 and 6400 / 4.15.
    assert "On 32 threads: between 862.1 GB/s and 1744 GB/s; by amdahl 1255 GB/s." in text
    assert "p = 32" in text
    assert "throughput[32]" in text
    assert "time[32]" not in text
    told = replace(told, member="node")
    (near, far) = fits(told, p=[32, 64]).warnings
    assert near.startswith("the prediction for 32 processors is extrapolated")
    assert far.startswith("no prediction at p = 64: the throughput lies between ")
    assert " GB/s, a factor of " in far
    refused = replace(rows(np.array(COLD) / 1e3, servers=None), member="node", rate=("k/s", 1.0))
    (warning,) = fits(refused, p=[32]).warnings
    assert "no law describes them" in warning


@pytest.mark.turns(4)
def test_rows_that_no_law_describes_have_an_interval() -> None:
    fitting = fits(rows(COLD), p=[32, 64])
    assert not fitting.has_law
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


@pytest.mark.turns(4)
def test_bounds_replace_wider_laws_only() -> None:
    p = 2.0 ** np.arange(5)
    straight = compare(rows(100 * p / (1 + 0.05 * (p - 1))))
    assert straight.intervals_by_bounds([32], 0.9) == {}
    assert straight.bounds is not None
    (law,) = straight.predictions([32], 0.9).values()
    bounded = straight.bounds.time_interval(32, 0.9)
    assert bounded is not None
    assert law[1] / law[0] < bounded[1] / bounded[0]
    assert compare(rows(COLD), ["amdahl"]).bounds is None


def longest(work: Array, p: float, noise: float = 1e-9) -> float:
    """Return the longest time on `p` processors after exact rows of a shared work on 8, 16, 32."""
    numbers = np.array([8.0, 16.0, 32.0])
    growths = loss_growths(Timings(numbers, np.ones(3), work / numbers), noise)
    return min(growth.longest_time(p, 0.9) for growth in growths)


def test_without_losses_the_longest_time_is_that_of_a_throughput_that_rises_no_further() -> None:
    assert longest(np.ones(3), 64) == pytest.approx(1 / 32, rel=1e-6)


@pytest.mark.parametrize("power", [1.2, 1.7, 2.5])
def test_losses_that_grow_with_a_power_go_on(power: float) -> None:
    """The elasticity of W = p^k is k on all numbers: W(64) = 64^k."""
    numbers = np.array([8.0, 16.0, 32.0])
    assert longest(numbers**power, 64) == pytest.approx(64 ** (power - 1), rel=1e-6)


def test_elasticities_go_on_growing_up_to_that_of_a_lock_with_costs_of_pairs() -> None:
    """Elasticities of 0.4 and 0.8 double with p: 1.6 in the middle of the next doubling."""
    work = np.array([1.0, 2**0.4, 2**1.2])
    on_64 = work[-1] * math.exp(0.8 * (2**1.5 - 2**0.5)) / 64
    assert longest(work, 64) == pytest.approx(on_64, rel=1e-3)
    steep = np.array([1.0, 2**2.0, 2**5.5])
    assert longest(steep, 64) == pytest.approx(steep[-1] * 2**3 / 64, rel=1e-6)


@pytest.mark.turns(6)
@pytest.mark.parametrize("seed", [91011, 91033])
def test_a_lock_that_slows_with_pairs_is_held_or_refused(seed: int) -> None:
    """Laws took these rows for a queue that saturates, and were 22 to 152 % off."""
    demand, pairs = {91011: (0.02873, 0.0005), 91033: (0.02739, 0.00095)}[seed]

    def time_of(p: Array) -> Array:
        network = network_arrays([demand], population=p.astype(int)[:, None], think=1.0)
        return np.asarray((1 + pairs * p * (p - 1)) / exact(network).throughput[:, 0])

    p = np.repeat(np.array([1.0, 2, 4, 8, 12, 16, 24, 32]), 3)
    found = compare(noisy(Truth("none", False, time_of, {}), seed, 0.02, p))
    for number, (low, high) in found.predictions([64.0, 128.0], 0.9).items():
        assert low <= time_of(np.array([number]))[0] <= high


def test_a_plateau_that_rows_show_is_not_taken_to_fall_much() -> None:
    timings = noisy(TRUTHS["lock"], 2)
    close, apart = (growth.longest_time(64.0, 0.9) for growth in loss_growths(timings, 0.01))
    assert min(close, apart) < 64 * 1.6 < max(close, apart)


@pytest.mark.turns(4)
def test_laws_that_the_caller_chose_are_not_widened() -> None:
    timings = noisy(TRUTHS["serial part"], 2)
    free, named = compare(timings), compare(timings, ["amdahl"])
    assert named.predict(64.0, 0.9)[1] < timings.time[-1] < 1.1 * free.predict(64.0, 0.9)[1]
    assert "rises no further" in free.warning(64)
    assert "rises no further" not in named.warning(64)


def test_a_largest_size_on_two_numbers_of_processors_shows_no_growth_of_losses() -> None:
    p = np.repeat(np.array([1.0, 2, 4, 8, 16, 32, 1, 16]), 3)
    n = np.repeat(np.array([100.0] * 6 + [200.0] * 2), 3)
    noise = np.random.default_rng(5).normal(1, 0.005, len(p))
    found = compare(Timings(p, n, noise * n * (0.1 / p + 0.0008 * np.log2(p))))
    assert "the interval allows for that, but not for losses that first appear" in found.warning(40)
