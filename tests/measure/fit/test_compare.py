"""Fits against known truths: parameters, predictions far out, and what the data cannot tell."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slipstick.errors import NoAnswerError, UnknownNameError
from slipstick.late import Array
from slipstick_measure.fit.comparison import (
    FitComparison,
    compare,
    fits,
)
from slipstick_measure.fit.families import FAMILIES
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.least_squares import fit
from slipstick_measure.results import LEAST_CRITERION_DIFFERENCE
from tests.measure.fit.truths import MEASURED, TRUTHS, Truth, noisy

FAR = np.array([64.0, 128.0])


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_is_recovered_from_exact_timings(name: str) -> None:
    truth = TRUTHS[name]
    fitted = fit(FAMILIES[truth.family], noisy(truth, 0, noise=0.0))
    assert fitted.scatter < 1e-7
    within = 1e-3 * max(truth.parameters.values())
    assert fitted.parameters == pytest.approx(truth.parameters, rel=1e-4, abs=1e-4 * within)
    assert fitted.predict(FAR) == pytest.approx(truth.time(FAR), rel=1e-5)


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_is_among_the_families_that_noisy_data_leave(name: str) -> None:
    truth = TRUTHS[name]
    found = compare(noisy(truth, 1), steps=[])
    (candidate,) = [each for each in found.candidates if each.name == truth.family]
    assert candidate.criterion_difference < 10  # beyond 10 there would be no support for the truth
    assert candidate.fitted_formula.scatter == pytest.approx(0.01, rel=0.4)
    assert candidate.fitted_formula.predict(FAR) == pytest.approx(truth.time(FAR), rel=0.12)


@pytest.mark.parametrize("name", ["lock", "coherency"])
def test_the_criterion_is_that_of_hurvich_and_tsai(name: str) -> None:
    """AICc is AIC with a correction, 2 k (k + 1) / (M - k - 1); the scatter counts among the k."""
    truth = TRUTHS[name]
    fitted = fit(FAMILIES[truth.family], noisy(truth, 1))
    rows = fitted.timings
    errors = np.log(rows.time / fitted.predict(rows.p))
    count, k = len(errors), len(fitted.parameters) + 1
    criterion = count * math.log(np.mean(errors**2)) + 2 * k + 2 * k * (k + 1) / (count - k - 1)
    assert fitted.aicc == pytest.approx(criterion)


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(6))
def test_a_mechanism_predicts_what_curves_miss(seed: int) -> None:
    """Think time 9, one lock with service 1, 1% noise, p = 1 to 32: the queue is within 3% at 64
    and 128.
    """
    truth = TRUTHS["lock"]
    found = compare(noisy(truth, seed), steps=[])
    missed = {
        each.name: np.max(np.abs(each.fitted_formula.predict(FAR) / truth.time(FAR) - 1))
        for each in found.candidates
    }
    assert found.best.name in ("queue-1", "queue-2")
    assert missed["queue-1"] < 0.03
    assert missed["queue-2"] < 0.03
    assert missed["usl"] > 0.33
    assert missed["power-log"] > 0.33
    assert {each.name for each in found.rivals} <= {"queue-1", "queue-2"}
    assert found.disagreement(128) < 0.03


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["coherency", "coherency, own work"])
def test_a_curve_is_preferred_where_it_is_right_and_the_queue_is_not(name: str, seed: int) -> None:
    truth = TRUTHS[name]
    found = compare(noisy(truth, seed), steps=[])
    assert found.verdict() == "the data prefer usl"
    assert found.best.fitted_formula.predict(FAR) == pytest.approx(truth.time(FAR), rel=0.08)
    queue = next(each for each in found.candidates if each.name == "queue-1")
    assert queue.criterion_difference > 10
    assert queue.fitted_formula.predict(FAR)[1] < 0.7 * truth.time(FAR)[1]


@pytest.mark.turns(4)
def test_what_cannot_be_told_apart_is_said_with_what_it_matters() -> None:
    truth = TRUTHS["serial part"]
    p = np.repeat([1.0, 2, 3, 4], 3)
    found = compare(noisy(truth, 2, noise=0.03, p=p))
    assert len(found.rivals) > 1
    names = ", ".join(each.name for each in found.rivals)
    differ = found.disagreement(64)
    assert differ > 0.05
    assert found.verdict([64]).startswith(
        f"the data cannot distinguish these: {names}; at p = 64 they differ by {100 * differ:.1f} %"
    )
    assert all(each.criterion_difference < LEAST_CRITERION_DIFFERENCE for each in found.rivals)


@pytest.mark.turns(4)
def test_the_largest_runs_are_left_out_and_predicted() -> None:
    found = compare(noisy(TRUTHS["lock"], 0))
    assert [each.step_ratio for each in found.best.tests] == [2, 4]
    missed = {each.name: each.largest_runs_error for each in found.candidates}
    assert missed["queue-1"] is not None
    assert missed["amdahl"] is not None
    assert missed["queue-1"] < 0.03 < missed["amdahl"]


@pytest.mark.turns(4)
def test_a_warning_says_how_far_and_what_is_known_of_the_error() -> None:
    found = compare(noisy(TRUTHS["lock"], 0))
    assert found.warning(32) == ""
    near, far = (each.largest_runs_error for each in found.best.tests)
    assert found.warning(64).startswith(
        "the prediction for 64 processors is extrapolated to 2 times the largest measured "
        "number, 32. Models fitted to the runs on up to 16 processors are "
    )
    assert f"{100 * near:.1f}" in found.warning(64)
    assert f"{100 * far:.1f}" in found.warning(128)
    assert found.warning(128).endswith(
        "the interval allows for that, and for a throughput that rises no further, but not for "
        "losses that first appear above 32"
    )


@pytest.mark.turns(4)
def test_what_the_data_cannot_test_is_not_predicted() -> None:
    """As large a step needs runs inside the data, more than the best family has parameters."""
    found = compare(noisy(TRUTHS["serial part"], 0), ["amdahl"], [2, 4, 8, 16])
    assert found.refusal(32 * 8) == ""
    assert (
        found.warning(32 * 16)
        == "no prediction at p = 512, 16 times the largest measured, 32: a test of amdahl over"
        " this factor needs repeated runs on 3 numbers of processors, or single runs on more, and"
        " runs on 16 times the largest of these; measure on more than 32 processors, so that the"
        " factor is smaller"
    )
    few = compare(noisy(TRUTHS["serial part"], 0, p=np.repeat([1.0, 2, 3, 4], 3)))
    assert few.refusal(4) == ""
    assert few.refusal(8)


CURVES = ["amdahl", "usl", "phase-barrier", "latency", "power-log"]


def harmonic(p: Array) -> Array:
    """Return the time of a work of which a fifth meets ever more of the others; no family of ours
    has it.
    """
    return np.array([0.8 + 0.2 * np.sum(1 / np.arange(1, each + 1)) for each in p]) / p


@pytest.mark.turns(4)
def test_the_interval_carries_the_doubt_about_the_form() -> None:
    """The best family alone encloses one of these times in four; all of them by weight enclose
    most.
    """
    p, held = np.repeat([1.0, 2, 4, 8, 12, 16], 3), 0
    for seed in range(6):
        truth = Truth("none", False, harmonic, {})
        low, high = compare(noisy(truth, seed, 0.03, p), CURVES).predict(64, 0.9)
        held += low <= harmonic(np.array([64.0]))[0] <= high
    assert held >= 4


@pytest.mark.turns(4)
@pytest.mark.parametrize(("slower", "level"), [(0.25, 2.0), (0.4, 1.0), (0.15, 3.0)])
def test_a_slower_second_node_is_not_taken_for_a_queue_that_saturates(
    slower: float, level: float
) -> None:
    """The rows up to 16 look like those of a saturated queue, which would be no faster on 32."""

    def two_nodes(p: Array) -> Array:
        times: Array = 400 / p * (1 + slower * (p > 8)) + level * np.log2(p)
        return times

    p = np.repeat([1.0, 2, 4, 8, 16], 3)
    comparison = compare(noisy(Truth("none", False, two_nodes, {}), 4, 0.01, p))
    for processors in (32.0, 64.0):
        low, high = comparison.predict(processors, 0.95)
        assert low <= two_nodes(np.array([processors]))[0] <= high


@pytest.mark.turns(4)
def test_a_plateau_that_rows_show_narrows_the_interval() -> None:
    """A law of the caller's choice is surer yet: losses are not taken to grow beyond it."""
    timings = noisy(TRUTHS["lock"], 2)
    free, named = compare(timings), compare(timings, ["queue-1"])
    low, high = free.predict(64, 0.9)
    least, most = named.predict(64, 0.9)
    assert most / least < high / low < 1.4 * most / least


@pytest.mark.turns(4)
def test_families_of_equal_evidence_share_the_interval() -> None:
    found = compare(noisy(TRUTHS["serial part"], 2, noise=0.05, p=np.repeat([1.0, 2, 4, 8], 3)))
    low, high = found.predict(16, 0.95)
    weighty = [
        each.fitted_formula.predict([16.0])[0]
        for each in found.candidates
        if each.criterion_difference < LEAST_CRITERION_DIFFERENCE
    ]
    assert len(weighty) > 1
    assert low < min(weighty) < max(weighty) < high
    narrow, wide = (
        compare(found.best.fitted_formula.timings, [found.best.name]).predict(16, 0.95),
        (low, high),
    )
    assert wide[1] / wide[0] > narrow[1] / narrow[0]
    nearer, farther = (
        ends[1] / ends[0] for ends in (found.predict(12, 0.95), found.predict(16, 0.95))
    )
    assert nearer < farther


@pytest.mark.turns(4)
def test_what_else_is_asked_for_changes_no_interval() -> None:
    data = noisy(TRUTHS["lock"], 0)
    assert compare(data, ["queue-1", "usl"], [2, 4, 8]).predict(64, 0.9) == compare(
        data, ["queue-1", "usl"]
    ).predict(64, 0.9)


@pytest.mark.turns(4)
def test_a_criterion_that_prediction_contradicts_is_not_believed() -> None:
    """A jump at the largest runs, which no family holds."""
    p = MEASURED
    time = np.where(p < 20, 100 / p + 3, 100 / p + 12)
    found = compare(Timings(p, np.ones(len(p)), time * (1 + 0.001 * np.sin(np.arange(len(p))))))
    assert found.best.largest_runs_error is not None
    assert found.best.largest_runs_error > 0.1 or "rely on neither" in found.verdict()


@pytest.mark.turns(4)
def test_too_little_data_is_said() -> None:
    one = Timings(np.ones(5), np.ones(5), np.full(5, 3.0))
    with pytest.raises(NoAnswerError) as caught:
        compare(one, ["amdahl"])
    assert (
        str(caught.value)
        == "all timings are on 1 processor, which does not show how the time changes; measure on 2"
        " or more"
    )
    two = Timings(np.repeat([1.0, 2.0], 3), np.ones(6), np.array([3.0, 3.1, 2.9, 2.0, 2.1, 1.9]))
    with pytest.raises(NoAnswerError) as caught:
        compare(two, ["usl"])
    assert (
        str(caught.value)
        == "no model can be fitted: 3 parameters need times on as many numbers of processors; there"
        " are 2, so measure on 1 more"
    )
    with pytest.raises(NoAnswerError) as caught:
        compare(
            Timings(np.array([1.0, 2, 4]), np.ones(3), np.array([9.0, 5, 3])), ["amdahl", "latency"]
        )
    assert (
        str(caught.value)
        == "no model can be fitted: 3 measured times are too few; add 2 or more, best on other"
        " numbers of processors. Measured: efficiency is 75 % at p = 4, the largest measured; it"
        " does not fall below 75 %"
    )
    few = compare(Timings(np.array([1.0, 2, 4, 8, 16]), np.ones(5), np.array([9.0, 5, 3, 2, 1.5])))
    assert (
        few.reason_by_failed_family["latency"]
        == "5 observations are too few to judge 2 parameters by: add 2 or more"
    )
    with pytest.raises(
        UnknownNameError, match="there is no family of models 'ussl'; did you mean 'usl'"
    ):
        compare(two, ["ussl"])
    own = compare(noisy(TRUTHS["lock"], 0), ["latency", "usl"])
    words = "for one size and weak scaling, latency is the same as power-log"
    assert own.reason_by_failed_family == {"latency": words}


def test_a_term_beyond_all_numbers_is_not_fitted() -> None:
    from slipstick_measure.fit.formula import nonnegative_coefficients

    with pytest.raises(NoAnswerError) as caught:
        nonnegative_coefficients(np.array([[1.0, 1e308], [1.0, 1e308]]), np.array([1e-9, 1.0]))
    assert (
        str(caught.value)
        == "a term of the formula is too large beside these times to be fitted; check times and"
        " sizes"
    )


@pytest.mark.turns(5)
def test_a_fit_of_an_error_beyond_all_numbers_predicts_nothing() -> None:
    p, times = np.array([1.0, 2, 4, 8, 16]), np.array([1e57, 0.5184, 0.27597, 0.1529, 0.099059])
    timings = Timings(p, np.ones(5), times)
    assert compare(timings).predict(8.0, 0.95) == (0.0, np.inf)
    found = fits(timings, p=[8.0, 64.0])
    assert (
        "no prediction at p = 8: the error of a fit is beyond all numbers; are the measured times"
        " right?" in found.warnings
    )
    assert not any(name.startswith("time[") for answer in found.answers for name in answer.values)


@pytest.mark.turns(4)
def test_the_bend_is_the_distance_from_the_line_through_the_last_two_numbers() -> None:
    """Time falls as 1 + 7 / p, and the last two rows as a power of p."""
    p = np.array([1.0, 2, 4, 8, 16])

    def time(p: float) -> float:
        return 1 + 7 / p

    found = compare(Timings(p, np.ones_like(p), 1 + 7 / p), steps=[])
    best = next(each for each in found.likely_candidates if each.name == "amdahl")
    power = math.log2(time(16) / time(8))
    expected = abs(math.log(time(64) / time(16)) - power * math.log(64 / 16))
    assert found._departure_from_trend(best, 64.0) == pytest.approx(expected, rel=1e-6)
    assert found._departure_from_trend(best, 16.0) == 0.0


def test_the_laws_that_miss_the_largest_runs_are_weighted_by_their_criterion() -> None:
    """A law whose criterion is 2 behind counts e^-1 of the best: Akaike's weights."""

    def candidate(criterion: float, log_difference: float) -> Any:
        test = SimpleNamespace(
            criterion=criterion,
            log_difference=log_difference,
            explained_deviation=0.0,
            step_ratio=2.0,
        )
        return SimpleNamespace(
            criterion_difference=criterion,
            misfit=lambda noise: "",
            test=lambda step: test,
            fitted_formula=SimpleNamespace(timings=SimpleNamespace(p=np.array([1.0, 32.0]))),
        )

    compared = FitComparison((candidate(0.0, 0.5), candidate(2.0, 0.4)), {})
    mean = (0.5 + 0.4 / math.e) / (1 + 1 / math.e)
    assert f"miss them by {100 * math.expm1(mean):.3g} %" in compared.misfit


def law_with_test(
    name: str, criterion: float, log_difference: float, explained_deviation: float
) -> Any:
    """A law whose fit to the smaller rows has a criterion and misses the largest by a logarithm."""
    test = SimpleNamespace(
        criterion=criterion,
        log_difference=log_difference,
        explained_deviation=explained_deviation,
        step_ratio=2.0,
        largest_runs_error=abs(math.expm1(log_difference)),
    )
    return SimpleNamespace(
        name=name,
        criterion_difference=0.0,
        misfit=lambda noise: "it misses" if abs(log_difference) > 0.1 else "",
        test=lambda step: test,
        fitted_formula=SimpleNamespace(timings=SimpleNamespace(p=np.array([1.0, 24.0]))),
    )


@pytest.mark.parametrize(
    ("behind", "log_difference", "explained_deviation", "is_described"),
    [
        (5.0, 0.01, 0.02, True),
        # The smaller rows exclude the law that predicts the largest.
        (14.0, 0.01, 0.02, False),
        # It misses the largest, too; or it predicts so little that nothing can miss it.
        (5.0, 0.2, 0.02, False),
        (5.0, 0.09, 0.5, False),
    ],
)
def test_one_law_that_the_smaller_rows_leave_may_speak_for_the_largest(
    behind: float, log_difference: float, explained_deviation: float, *, is_described: bool
) -> None:
    laws = (
        law_with_test("best up to 12", 0.0, 0.33, 0.02),
        law_with_test("other", behind, log_difference, explained_deviation),
    )
    compared = FitComparison(laws, {})
    assert (compared.misfit == "") is is_described
    if is_described:
        assert compared.best.name == "other"
        assert [rival.name for rival in compared.rivals] == ["other"]


OCEAN = np.array([1.0, 2, 4, 8, 12, 16, 24])


def ocean_time(p: Array) -> Array:
    return 2380 / p + 21 + 3.1 * np.log2(p) + 0.55 * p


@pytest.mark.turns(6)
@pytest.mark.parametrize("seed", range(6))
def test_laws_beside_the_best_one_of_the_smaller_rows_predict(seed: int) -> None:
    """Of a serial part with a term in log2 p and one in p, several laws are near the best."""
    rows = noisy(Truth("none", False, ocean_time, {}), seed, 0.025, np.repeat(OCEAN, 3))
    found = fits(rows, p=[32.0, 48.0], efficiency=0.6)
    assert found.has_law
    for p in (32.0, 48.0):
        time = found.answers[0].values[f"time[{p:g}]"]
        assert (time.low or np.inf) <= ocean_time(np.array([p]))[0] <= (time.high or 0.0)
    efficient = found.answers[0].values["efficient_processors"]
    assert (efficient.low or np.inf) <= 30 <= (efficient.high or np.inf)


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(6))
def test_a_node_that_is_slower_is_no_law(seed: int) -> None:
    def time(p: Array) -> Array:
        return (10 + 1000 / p) * (1 + 0.6 * (p > 16))

    rows = noisy(Truth("none", False, time, {}), seed, 0.01, np.repeat(OCEAN, 3))
    assert not fits(rows, p=[32.0]).has_law


@pytest.mark.turns(4)
def test_a_law_that_misses_the_rows_is_left_out_and_named() -> None:
    """The best criterion is of no use to a law that misses the largest rows."""
    rows = compare(noisy(TRUTHS["serial part"], 1, 0.02))
    best, second, *others = rows.candidates

    class Missing(type(best)):  # type: ignore[misc]
        def misfit(self, noise: float) -> str:
            return "it misses the largest rows"

    missing = Missing(best.family, best.fitted_formula, best.criterion_difference, best.tests)
    compared = FitComparison((missing, second, *others), {}, rows.noise)
    assert compared.best is second
    assert missing not in compared.rivals
    assert compared.best_first[:2] == [second, missing]
    assert f"; {best.name} is left out: it misses the largest rows" in compared.verdict()


@pytest.mark.turns(6)
@pytest.mark.parametrize("noise", [0.002, 0.03])
def test_limits_are_stated_up_to_a_useful_prediction(noise: float) -> None:
    p = np.repeat([1.0, 2, 4, 8, 12], 3)
    compared = compare(noisy(Truth("none", False, ocean_time, {}), 3, noise, p), None, [2.0, 3.0])
    last = compared.useful_reach(0.95)
    assert 12 <= last <= compared.largest_predictable
    low, high = compared.interval(last, 0.95)
    assert high <= 4 * low
    if last < compared.largest_predictable:
        low, high = compared.interval(last + 1, 0.95)
        assert high > 4 * low
    values = fits(compared.best.fitted_formula.timings).answers[0].values
    assert values["most_processors"].value == last
