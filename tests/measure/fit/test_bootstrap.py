"""Intervals hold what they promise: over many data sets they cover the truth as often as they
say.
"""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.errors import NoAnswerError
from slipstick_measure.fit.families import FAMILIES
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.intervals import resample
from slipstick_measure.fit.least_squares import fit
from tests.measure.fit.truths import TRUTHS, noisy

LEVEL, DRAWS = 0.9, 40
ENOUGH = {18: 12, 8: 5}
"""Of 18 intervals at 90%, fewer than 12 cover with a probability of 0.1%; of 8, fewer than 5 with
0.5%.

`benchmarks/fit_coverage.py --draws` measures the rate itself."""


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("name", "sets"), [("coherency", 18), ("p log p latency", 18), ("lock", 8)]
)
def test_intervals_cover_at_the_stated_rate(name: str, sets: int) -> None:
    truth = TRUTHS[name]
    covered, ahead = dict.fromkeys(truth.parameters, 0), 0
    for seed in range(sets):
        fitted = fit(FAMILIES[truth.family], noisy(truth, seed))
        draws = resample(fitted, seed, DRAWS)
        for key, interval in draws.parameters(LEVEL).items():
            covered[key] += interval.low <= truth.parameters[key] <= interval.high
        beyond = draws.interval_of_positive(fitted.time_function_at(64.0), confidence_level=LEVEL)
        ahead += beyond.low <= truth.time(np.array([64.0]))[0] <= beyond.high
    assert min(*covered.values(), ahead) >= ENOUGH[sets], (covered, ahead)
    assert any(count < sets for count in (*covered.values(), ahead)), (
        "intervals that always cover are too wide"
    )


def test_draws_follow_from_the_seed_alone() -> None:
    fitted = fit(FAMILIES["amdahl"], noisy(TRUTHS["serial part"], 0))
    assert resample(fitted, 1, 5).parameters() == resample(fitted, 1, 5).parameters()
    assert resample(fitted, 1, 5).parameters() != resample(fitted, 2, 5).parameters()
    first = [
        resample(fitted, 1, 5).interval_of_positive(fitted.time_function_at(p)) for p in (4.0, 64.0)
    ]
    assert all(each.low <= each.value <= each.high for each in first)
    assert first[1].high / first[1].low > first[0].high / first[0].low  # farther out is less sure


def test_without_observations_to_spare_there_is_no_interval() -> None:
    fitted = fit(FAMILIES["amdahl"], Timings(np.array([1.0, 2]), np.ones(2), np.array([9.0, 5])))
    with pytest.raises(
        NoAnswerError,
        match="2 observations are too few to estimate the scatter; measure 1 more",
    ):
        resample(fitted, 0)
    assert fitted.scatter == np.inf


@pytest.mark.turns(4)
def test_draws_spread_as_least_squares_say() -> None:
    # Six data and two parameters: residuals that were not made larger would make intervals narrower
    # by a third, and residuals made smaller by half.
    p = np.array([1.0, 2, 4, 8, 16, 32])
    errors = 0.02 * np.array([1.0, -1, 1, 1, -1, -1])
    fitted = fit(FAMILIES["amdahl"], Timings(p, np.ones(6), (1.0 + 20.0 / p) * np.exp(errors)))
    theta, columns = fitted.theta, []
    for index in range(2):
        step = np.eye(2)[index] * 1e-6 * theta[index]
        ends = [np.log(fitted.formula.time(theta + way * step, fitted.timings)) for way in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2e-6 * theta[index]))
    slopes = np.array(columns).T
    variance = (fitted.residuals**2).sum() / 4 * np.linalg.inv(slopes.T @ slopes)
    half_widths = 2.7764451 * np.sqrt(np.diag(variance))  # Student's t for 4 degrees of freedom
    drawn = resample(fitted, 3, 300).parameters(0.95).values()
    found = [(interval.high - interval.low) / 2 for interval in drawn]
    assert found == pytest.approx(half_widths.tolist(), rel=0.15)
