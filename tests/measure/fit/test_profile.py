"""Intervals by profile: against the theory of straight lines, against the bootstrap, and at
bounds.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from slipstick.errors import NoAnswerError
from slipstick_measure.fit.families import FAMILIES
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.intervals import profile, resample
from slipstick_measure.fit.least_squares import fit
from tests.measure.fit.truths import TRUTHS, noisy


def test_a_single_factor_has_the_interval_of_the_textbook() -> None:
    """A constant on a logarithmic scale: mean -+ t s / sqrt(M)."""
    p = np.arange(1.0, 9.0)
    time = 7 * np.exp(0.01 * np.array([1, -2, 0.5, 1.5, -1, 0.3, -0.8, 0.5]))
    fitted = fit(FAMILIES["amdahl"], Timings(p, np.ones(8), time))
    (serial,) = [each for name, each in profile(fitted).parameters(0.9).items() if name == "serial"]
    assert serial.high <= 1.0 + 1e-9
    logs = np.log(time)
    width = t.ppf(0.95, 6) * np.sqrt(((logs - logs.mean()) ** 2).sum() / 6 / 8)
    there = profile(fitted).interval_of_positive(fitted.time_function_at(4.0), confidence_level=0.9)
    assert np.log(there.high / there.value) == pytest.approx(width, rel=0.35)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["lock", "coherency", "p log p latency"])
def test_the_profile_and_the_bootstrap_agree(name: str) -> None:
    fitted = fit(FAMILIES[TRUTHS[name].family], noisy(TRUTHS[name], 0))
    one, other = profile(fitted), resample(fitted, 0, 60)
    pairs = [*zip(one.parameters().values(), other.parameters().values(), strict=True)]
    pairs.append(
        (
            one.interval_of_positive(fitted.time_function_at(64.0)),
            other.interval_of_positive(fitted.time_function_at(64.0)),
        )
    )
    for ours, theirs in pairs:
        assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.5)


@pytest.mark.turns(4)
def test_profiles_cover_at_the_stated_rate() -> None:
    truth = TRUTHS["coherency"]
    covered = dict.fromkeys(truth.parameters, 0)
    for seed in range(30):
        for key, each in profile(fit(FAMILIES["usl"], noisy(truth, seed))).parameters(0.9).items():
            covered[key] += each.low <= truth.parameters[key] <= each.high
    # Of 30 intervals at 90%, fewer than 23 cover with a probability of 0.2%.
    assert min(covered.values()) >= 23, covered
    assert min(covered.values()) < 30, covered


@pytest.mark.turns(4)
def test_a_profile_from_a_bound_is_the_least_that_a_grid_finds() -> None:
    """Four processors of a lock: the best contention is 0, but the least time far out needs some
    of it.
    """
    fitted = fit(FAMILIES["usl"], noisy(TRUTHS["lock"], 0, p=np.repeat([1.0, 2, 3, 4], 3)))
    assert fitted.parameters["contention"] == pytest.approx(0, abs=1e-9)
    worst = fitted.sum_of_squares * (
        1 + t.ppf(0.975, fitted.degrees_of_freedom) ** 2 / fitted.degrees_of_freedom
    )
    shares = np.stack(
        np.meshgrid(np.linspace(0, 0.06, 301), np.linspace(0, 0.012, 301)), axis=-1
    ).reshape(-1, 2)
    thetas = np.column_stack([np.ones(len(shares)), shares])
    off = np.log(fitted.timings.time) - np.log(fitted.formula.times(thetas, fitted.timings))
    fits = ((off - off.mean(axis=1)[:, None]) ** 2).sum(axis=1) <= worst
    single = np.exp(off.mean(axis=1))
    for p in (34.0, 128.0):
        found = profile(fitted).interval_of_positive(fitted.time_function_at(p))
        times = single * fitted.formula.times(thetas, fitted.timings.points([p]))[:, 0]
        assert found.low == pytest.approx(times[fits].min(), rel=0.03)
        assert found.high == pytest.approx(times[fits].max(), rel=0.03)


def test_a_value_that_may_be_nothing_begins_at_0() -> None:
    fitted = fit(FAMILIES["phase-barrier"], noisy(TRUTHS["tree barrier"], 0))
    assert profile(fitted).parameters()["spread"].low == 0


def test_without_observations_to_spare_there_is_no_profile() -> None:
    fitted = fit(FAMILIES["amdahl"], Timings(np.array([1.0, 2]), np.ones(2), np.array([9.0, 5])))
    with pytest.raises(NoAnswerError, match="are too few to estimate the scatter"):
        profile(fitted)


def test_an_error_that_cannot_be_told_is_no_certainty() -> None:
    """Without finite slopes nothing is known of the error; an exact fit has none."""
    fitted = fit(FAMILIES["amdahl"], noisy(TRUTHS["serial part"], 0))
    rising = profile(fitted).find_interval(
        lambda thetas: np.where(np.arange(len(thetas)) > 0, np.inf, 3.0), 0.9, 0.0
    )
    assert (rising.value, rising.low, rising.high) == (3.0, 0.0, np.inf)
    constant = profile(fitted).find_interval(lambda thetas: np.full(len(thetas), 3.0), 0.9, 0.0)
    assert (constant.low, constant.high) == (3.0, 3.0)
