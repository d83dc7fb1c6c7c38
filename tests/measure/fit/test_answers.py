"""Fits as answers."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick_measure.fit.comparison import IntervalSettings, fits
from slipstick_measure.fit.formula import Timings
from tests.measure.fit.truths import TRUTHS, noisy


@pytest.mark.turns(3)
def test_what_the_data_leave_has_intervals_and_the_rest_has_none() -> None:
    found = fits(noisy(TRUTHS["coherency"], 0), p=[16, 64], intervals=IntervalSettings(draws=40))
    best, *others = [answer for answer in found.answers if not answer.failed]
    assert best.model == "usl"
    predicted = best.values["time[64]"]
    assert predicted.low is not None
    assert predicted.high is not None
    assert predicted.low < TRUTHS["coherency"].time(np.array([64.0]))[0] < predicted.high
    assert all(value.low is None for answer in others for value in answer.values.values())
    assert [answer["behind"] for answer in (best, *others)] == sorted(
        answer["behind"] or 0.0 for answer in (best, *others)
    )
    assert best["missed"] == pytest.approx(0.02, abs=0.02)
    assert len(found.warnings) == 1


def test_too_few_observations_leave_values_without_intervals() -> None:
    p = np.array([1.0, 2, 4, 8, 16])
    found = fits(
        Timings(p, np.ones(5), 10 + 90 / p), ["amdahl"], intervals=IntervalSettings(draws=10)
    )
    assert found.answers[0].values["serial"].value == pytest.approx(0.1)
    assert found.verdict == "the data prefer amdahl"


def test_the_answer_says_how_far_and_what_is_lost_to_what() -> None:
    truth = TRUTHS["coherency"]
    found = fits(noisy(truth, 0), ["usl"], [64], IntervalSettings("profile"), with_curves=True)
    (answer,) = found.answers
    peak = truth.time(np.arange(1.0, 200))
    assert answer["fastest_processors"] == pytest.approx(np.argmin(peak) + 1, abs=2)
    assert answer["largest_speedup"] == pytest.approx(100 / peak.min(), rel=0.03)
    lost = {
        name: value.value
        for name, value in answer.values.items()
        if name.startswith("processors_lost[")
    }
    assert list(lost) == ["processors_lost[coherency]", "processors_lost[contention]"]
    assert sum(each for each in lost.values() if each) == pytest.approx(
        64 - 100 / truth.time(np.array([64.0]))[0], rel=0.01
    )
    (curve,) = found.curves
    assert (min(curve.p), max(curve.p)) == (1, 64)
    assert len(curve.at) == len(curve.low) < len(curve.p)
    middle = [curve.time[curve.p.index(each)] for each in curve.at if each in curve.p]
    between = [
        ends for each, *ends in zip(curve.at, curve.low, curve.high, strict=True) if each in curve.p
    ]
    assert len(middle) > 6
    assert all(low < time < high for time, (low, high) in zip(middle, between, strict=True))


def sized(scatter: float, seed: int = 1) -> Timings:
    """T = 2 n / p + 3: E = 2 n / (2 n + 3 p) at p over p times T, so n = (p E - 1) 3 / ((1 - E)
    2).
    """
    p, n = np.tile([1.0, 2, 4, 8, 16, 32], 6), np.repeat([100.0, 800.0], 18)
    noise = np.exp(scatter * np.random.default_rng(seed).standard_normal(len(p)))
    return Timings(p, n, (2 * n / p + 3) * noise)


@pytest.mark.turns(5)
@pytest.mark.parametrize("by", ["profile", "bootstrap"])
@pytest.mark.parametrize("efficiency", [0.6, 0.75])
def test_the_size_needed_has_an_interval_that_holds_the_truth(by: str, efficiency: float) -> None:
    truth = (64 * efficiency - 1) * 3 / ((1 - efficiency) * 2)
    found = fits(sized(0.01), ["latency"], [64], IntervalSettings(by), efficiency=efficiency)
    needed = found.answers[0].values["size_needed[64]"]
    assert found.efficiency == efficiency
    assert needed.low is not None
    assert needed.high is not None
    assert needed.low < truth < needed.high
    assert needed.high / needed.low < 1.3
    wider = fits(sized(0.03), ["latency"], [64], IntervalSettings(by), efficiency=efficiency)
    more = wider.answers[0].values["size_needed[64]"]
    assert more.low is not None
    assert more.high is not None
    assert np.log(more.high / more.low) == pytest.approx(
        3 * np.log(needed.high / needed.low), rel=0.3
    )


def test_a_goal_that_no_size_reaches_has_no_size() -> None:
    found = fits(sized(0.01), ["latency"], [64], IntervalSettings("profile"), efficiency=1.0)
    assert found.answers[0].values["size_needed[64]"].value is None


@pytest.mark.parametrize("efficiency", [0.5, 0.9])
def test_the_largest_number_of_processors_keeps_the_efficiency_asked_for(efficiency: float) -> None:
    p = np.array([1.0, 2, 4, 8, 16, 32])
    found = fits(Timings(p, np.ones(6), 5 + 95 / p), ["amdahl"], efficiency=efficiency)
    assert found.answers[0]["efficient_processors"] == int(1 + (1 / efficiency - 1) / 0.05 + 1e-6)
