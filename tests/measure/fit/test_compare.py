"""Fits against known truths: parameters, predictions far out, and what the data cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.errors import NoAnswerError, UnknownNameError
from slipstick.measure.fit.comparison import APART, compare
from slipstick.measure.fit.families import FAMILIES
from slipstick.measure.fit.formula import Timings
from slipstick.measure.fit.least_squares import fit
from tests.measure.fit.truths import MEASURED, TRUTHS, noisy

FAR = np.array([64.0, 128.0])


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_is_recovered_from_exact_timings(name: str) -> None:
    truth = TRUTHS[name]
    fitted = fit(FAMILIES[truth.family], noisy(truth, 0, noise=0.0))
    assert fitted.scatter < 1e-7
    within = 1e-3 * max(truth.parameters.values())
    assert fitted.parameters == pytest.approx(truth.parameters, rel=1e-4, abs=1e-4 * within)
    assert fitted.predict(FAR) == pytest.approx(truth.time(FAR), rel=1e-5)


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_is_among_the_families_that_noisy_data_leave(name: str) -> None:
    truth = TRUTHS[name]
    found = compare(noisy(truth, 1))
    (candidate,) = [each for each in found.candidates if each.name == truth.family]
    assert candidate.behind < 10  # beyond 10 there would be no support for the truth
    assert candidate.fitted.scatter == pytest.approx(0.01, rel=0.4)
    assert candidate.fitted.predict(FAR) == pytest.approx(truth.time(FAR), rel=0.12)


@pytest.mark.parametrize("seed", range(6))
def test_a_mechanism_predicts_what_curves_miss(seed: int) -> None:
    """Think time 9, one lock with service 1, 1% noise, p = 1 to 32: the queue is within 3% at 64 and 128."""
    truth = TRUTHS["lock"]
    found = compare(noisy(truth, seed))
    missed = {each.name: np.max(np.abs(each.fitted.predict(FAR) / truth.time(FAR) - 1)) for each in found.candidates}
    assert found.best.name in ("queue-1", "queue-2")
    assert missed["queue-1"] < 0.03
    assert missed["queue-2"] < 0.03
    assert missed["usl"] > 0.33
    assert missed["power-log"] > 0.33
    assert {each.name for each in found.rivals} <= {"queue-1", "queue-2"}
    assert found.disagreement(128) < 0.03


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["coherency", "coherency, own work"])
def test_a_curve_is_preferred_where_it_is_right_and_the_queue_is_not(name: str, seed: int) -> None:
    truth = TRUTHS[name]
    found = compare(noisy(truth, seed))
    assert found.verdict() == "the data prefer usl"
    assert found.best.fitted.predict(FAR) == pytest.approx(truth.time(FAR), rel=0.08)
    queue = next(each for each in found.candidates if each.name == "queue-1")
    assert queue.behind > 10
    assert queue.fitted.predict(FAR)[1] < 0.7 * truth.time(FAR)[1]


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
    assert all(each.behind < APART for each in found.rivals)


def test_the_largest_runs_are_left_out_and_predicted() -> None:
    found = compare(noisy(TRUTHS["lock"], 0))
    assert found.kept == 16
    missed = {each.name: each.missed for each in found.candidates}
    assert missed["queue-1"] is not None
    assert missed["amdahl"] is not None
    assert missed["queue-1"] < 0.03 < missed["amdahl"]


def test_a_warning_grows_with_the_distance() -> None:
    found = compare(noisy(TRUTHS["lock"], 0))
    assert found.warning(32) == ""
    near, far = found.warning(64), found.warning(512)
    assert near.startswith(
        "64 processors are 2 times the largest measured, 32; fitted up to 16 only, it misses those by"
    )
    expected = [float(words.rpartition("error of ")[2].partition(" %")[0]) for words in (near, far)]
    assert expected[1] == pytest.approx(4 * expected[0], abs=0.3)
    few = compare(noisy(TRUTHS["all serial"], 0, p=np.repeat([1.0, 2], 4)), ["amdahl"])
    assert few.warning(4).endswith("too few were measured to see how the model does beyond its data")


def test_a_criterion_that_prediction_contradicts_is_not_believed() -> None:
    """A jump at the largest runs, which no family holds."""
    p = MEASURED
    time = np.where(p < 20, 100 / p + 3, 100 / p + 12)
    found = compare(Timings(p, np.ones(len(p)), time * (1 + 0.001 * np.sin(np.arange(len(p))))))
    assert found.best.missed is not None
    assert found.best.missed > 0.1 or "trust neither far out" in found.verdict()


def test_too_little_data_is_said() -> None:
    one = Timings(np.ones(5), np.ones(5), np.full(5, 3.0))
    with pytest.raises(NoAnswerError) as caught:
        compare(one, ["amdahl"])
    assert (
        str(caught.value) == "all timings are on 1 processor, which does not show how the time changes; measure on more"
    )
    two = Timings(np.repeat([1.0, 2.0], 3), np.ones(6), np.array([3.0, 3.1, 2.9, 2.0, 2.1, 1.9]))
    with pytest.raises(NoAnswerError) as caught:
        compare(two, ["usl"])
    why = "the universal scalability law cannot be fitted to 2 numbers of processors; measure at more of them"
    assert str(caught.value) == f"no model can be fitted: {why}"
    few = compare(Timings(np.array([1.0, 2, 4, 8, 16]), np.ones(5), np.array([9.0, 5, 3, 2, 1.5])))
    assert few.failed["latency"] == "5 observations are too few to judge 2 parameters by"
    with pytest.raises(UnknownNameError, match="there is no family of models 'ussl'; did you mean 'usl'"):
        compare(two, ["ussl"])
    own = compare(noisy(TRUTHS["lock"], 0), ["latency", "usl"])
    words = "for one size and weak scaling, latency is the same as power-log"
    assert own.failed == {"latency": words}
