"""Fits as answers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from slipstick.answer import Value
from slipstick_measure.fit.comparison import IntervalSettings, _size_needed, fits
from slipstick_measure.fit.extrapolation import LARGEST_SIZE_RATIO
from slipstick_measure.fit.families import FAMILIES
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.least_squares import fit
from tests.measure.fit.truths import TRUTHS, noisy


@pytest.mark.turns(4)
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
    values = found.answers[0].values
    needed, predicted = values["size_needed[64]"], values["efficiency[64]"]
    assert found.efficiency == efficiency
    # The formula of the law, with its values: of E = T(1) / (64 T(64)).
    work, latency = values["work"].value, values["latency"].value
    assert work is not None
    assert latency is not None

    def size_of(reached: float) -> float:
        return (64 * reached - 1) * latency / ((1 - reached) * work)

    def lost(reached: float | None) -> float:
        return 1 / (reached or 1.0) - 1

    assert needed.value == pytest.approx(size_of(efficiency), rel=1e-9)
    assert needed.high is not None
    assert (needed.low or 100.0) < truth < needed.high
    # The needed size is known as well as the efficiency on as many processors: where twice the time
    # may be lost, half of the loss is aimed at.
    assert (predicted.low or 1.0) < (predicted.value or 0.0) < (predicted.high or 0.0)
    ratio = lost(predicted.low) / lost(predicted.value)
    assert ratio > 1.1
    assert needed.high == pytest.approx(size_of(1 / (1 + lost(efficiency) / ratio)), rel=1e-6)
    ratio = lost(predicted.high) / lost(predicted.value)
    if ratio <= 0:
        assert needed.low is None
    else:
        assert needed.low == pytest.approx(size_of(1 / (1 + lost(efficiency) / ratio)), rel=1e-6)


@pytest.mark.turns(8)
def test_the_efficient_processors_have_the_interval_of_the_predicted_efficiency() -> None:
    """On as many processors as the interval begins with, even the low end of the efficiency reaches
    the goal; on one more it does not; and the high end accordingly.
    """
    p = np.repeat([1.0, 2, 4, 8, 16, 24, 32], 3)
    noise = np.exp(0.02 * np.random.default_rng(3).standard_normal(len(p)))
    timings = Timings(p, np.ones(len(p)), 100 * (1 + 0.02 * (p - 1)) / p * noise)
    counts = fits(timings).answers[0].values["efficient_processors"]
    assert counts.low is not None
    assert counts.high is not None
    assert counts.low < (counts.value or 0.0) < counts.high
    edges = [counts.low, counts.low + 1, counts.high, counts.high + 1]
    found = fits(timings, p=edges)
    rivals = [answer["efficient_processors"] or 0.0 for answer in found.undistinguished]
    assert counts.low <= min(rivals)
    assert counts.high >= max(rivals)
    ends = [found.answers[0].values[f"efficiency[{edge:g}]"] for edge in edges]
    assert (ends[0].low or 0.0) >= 0.75 or counts.low == min(rivals)
    assert (ends[1].low or 1.0) < 0.75
    assert (ends[2].high or 0.0) >= 0.75 or counts.high == max(rivals)
    assert (ends[3].high or 1.0) < 0.75


def test_the_largest_speedup_has_the_interval_of_the_time_there() -> None:
    p = np.repeat([1.0, 2, 4, 8, 12, 16, 20, 24], 3)
    noise = np.exp(0.003 * np.random.default_rng(3).standard_normal(len(p)))
    timings = Timings(
        p, np.ones(len(p)), 100 * (1 + 0.03 * (p - 1) + 0.001 * p * (p - 1)) / p * noise
    )
    fastest = fits(timings, ["usl"]).answers[0]
    place = fastest["fastest_processors"] or 0.0
    values = fits(timings, ["usl"], [place]).answers[0].values
    time, fitted = values[f"time[{place:g}]"], fastest.values["fastest_time"]
    assert (fitted.low, fitted.high) == (time.low, time.high)
    assert place == fastest["largest_speedup_processors"]
    speedup, efficiency = fastest.values["largest_speedup"], values[f"efficiency[{place:g}]"]
    assert speedup.low == pytest.approx(place * (efficiency.low or 0.0))
    assert speedup.high == pytest.approx(place * (efficiency.high or 0.0))


def test_a_goal_that_no_size_reaches_has_no_size() -> None:
    found = fits(sized(0.01), ["latency"], [64], IntervalSettings("profile"), efficiency=1.0)
    assert found.answers[0].values["size_needed[64]"].value is None


@pytest.mark.parametrize("efficiency", [0.5, 0.9])
def test_the_largest_number_of_processors_keeps_the_efficiency_asked_for(efficiency: float) -> None:
    p = np.array([1.0, 2, 4, 8, 16, 32])
    found = fits(Timings(p, np.ones(6), 5 + 95 / p), ["amdahl"], efficiency=efficiency)
    assert found.answers[0]["efficient_processors"] == int(1 + (1 / efficiency - 1) / 0.05 + 1e-6)


@pytest.mark.parametrize("part", [1.0, 0.999999999, 0.9])
def test_a_size_needed_that_reaches_the_largest_has_no_upper_end(part: float) -> None:
    """Sizes are sought up to a million times the largest measured, to a millionth."""
    fitted = fit(FAMILIES["latency"], sized(0.01))
    largest = LARGEST_SIZE_RATIO * 800.0
    intervals = SimpleNamespace(
        interval_of_positive=lambda size, level: Value(400.0, "1", 200.0, part * largest)
    )
    needed = _size_needed(fitted, 64, 0.6, intervals, 0.95, Value(0.5, "1"))  # type: ignore[arg-type]
    assert needed.low == 200.0
    assert needed.high == (None if part > 0.99 else part * largest)


def test_a_size_needed_from_the_smallest_measured_has_no_lower_end() -> None:
    fitted = fit(FAMILIES["latency"], sized(0.01))
    intervals = SimpleNamespace(
        interval_of_positive=lambda size, level: Value(400.0, "1", 100.0, 900.0)
    )
    needed = _size_needed(fitted, 64, 0.6, intervals, 0.95, Value(0.5, "1"))  # type: ignore[arg-type]
    assert (needed.low, needed.high) == (None, 900.0)
