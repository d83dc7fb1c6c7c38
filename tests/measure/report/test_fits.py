"""Fits for the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from slipstick.answer import Answer, Value
from slipstick.report.formatting import WIDTH
from slipstick.results.words import Words
from slipstick_measure.fit.comparison import IntervalSettings, fits
from slipstick_measure.report.fits import (
    fit_headline,
    fits_text,
    main_findings,
    prediction_table,
    refused_in_title,
)
from slipstick_measure.results import CAUSES, ExtrapolatedPrediction, RefusedPrediction
from tests.measure.fit.truths import TRUTHS, noisy

_FEW_DRAWS = IntervalSettings(draws=10)


@pytest.mark.turns(4)
def test_what_a_person_needs_comes_first() -> None:
    found = fits(noisy(TRUTHS["coherency"], 0), p=[64], intervals=IntervalSettings(draws=40))
    text = fits_text(found)
    first = " ".join(text.partition("\n\n")[0].split())
    assert first.startswith(
        "Measured: efficiency falls below 75 % between 8 processors (78.2 %) and 12 processors"
        " (69.2 %). By usl (the universal scalability law): Efficiency is at least 75 % up to 9"
        " processors. Speed-up is largest, 11.7 (11.1 to 16.8), at 35 processors (28 or more), in"
        " 8.512 s (5.921 s to 9.007 s), the least time."
    )
    assert " By usl, most is lost to coherency: " in first
    told = " of 64 processors, if the law is right. Total times do not show causes. On 64 proc"
    assert told in first
    assert first.endswith("The data prefer usl.")
    assert "warning: the prediction for 64 processors is extrapolated to 2 times" in text
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.turns(4)
def test_families_that_cannot_be_told_apart_are_all_shown_and_those_without_a_fit_named() -> None:
    found = fits(noisy(TRUTHS["lock"], 0), intervals=IntervalSettings(draws=40))
    text = fits_text(found)
    assert "\nThe data cannot distinguish these: queue-1, queue-2." in text
    assert "\nqueue-1: a closed queue" in text
    assert "\nqueue-2: a closed queue" in text
    assert "latency: no fit: for one size" in text
    assert "warning" not in text


def test_a_cause_of_one_law_alone_is_not_stated_as_measured() -> None:
    """The same losses, told by one law, by two that differ, and by the user's own model."""
    fitting = fits(noisy(TRUTHS["coherency"], 0), ["usl"], p=[64], intervals=_FEW_DRAWS)
    usl = fitting.answers[0]
    barrier = replace(
        usl, model="phase-barrier", values={"processors_lost[barrier]": Value(40.0, "1")}
    )
    own = replace(usl, model="mine", notes=("the model mine",))

    def loss_sentence(*answers: Answer) -> str:
        names = tuple(answer.model for answer in answers)
        changed = replace(fitting, answers=answers, undistinguished_names=names)
        sentences = [text for text in main_findings(changed) if "lost to" in text]
        return re.sub(r"[0-9.]+(?: \([0-9.]+ to [0-9.]+\))? of", "N of", sentences[0])

    by_usl = "By usl, most is lost to coherency: N of 64 processors, if the law is right"
    assert loss_sentence(usl) == f"{by_usl}. Total times do not show causes."
    assert loss_sentence(usl, barrier) == (
        f"{by_usl}; by phase-barrier to barrier. Total times do not show which."
    )
    by_own = "By mine, most is lost to coherency: N of 64 processors, if the model is right."
    assert loss_sentence(own) == by_own
    assert loss_sentence(replace(own, model=CAUSES)).startswith("Most is lost to coherency: N")


def test_the_size_needed_is_said_with_its_interval_as_far_as_it_has_one() -> None:
    def said(value: Value) -> str:
        answer = replace(
            found.answers[0], values={**found.answers[0].values, "size_needed[64]": value}
        )
        return main_findings(replace(found, answers=(answer,), efficiency=0.6))[-2]

    found = fits(noisy(TRUTHS["coherency"], 0), ["usl"], intervals=IntervalSettings(draws=10))
    goal = "efficiency of 60 % at 64 processors"
    assert said(Value(10, "1", 8, 12)) == f"An {goal} needs n = 10, between 8 and 12."
    assert (
        said(Value(10, "1", 8, None))
        == f"An {goal} needs n = 10, at least 8; the data give no upper limit."
    )
    assert (
        said(Value(10, "1", None, 12))
        == f"An {goal} needs n = 10, at most 12; the data give no lower limit."
    )
    assert said(Value(10, "1")) == f"An {goal} needs n = 10."
    assert said(Value(None, "1")) == f"No size has an {goal}."


def test_predictions_of_a_single_fit_stand_side_by_side_with_their_efficiencies() -> None:
    """With a serial part of 5 %, the efficiency on p processors is 1 / (0.05 p + 0.95)."""
    truth = noisy(TRUTHS["serial part"], 0, noise=0.0)
    words = Words(member="core")
    settings = IntervalSettings()
    table = prediction_table(fits(truth, ["amdahl"], p=[6, 39], intervals=settings), words)
    assert table is not None
    titles, rows = table
    assert titles == ["", "time", "efficiency"]
    assert [row[0] for row in rows] == ["6 cores", "39 cores"]
    for row, count in zip(rows, (6, 39), strict=True):
        efficiency = float(row[2].split()[0]) / 100
        assert efficiency == pytest.approx(1 / (0.05 * count + 0.95), rel=1e-2)
    assert prediction_table(fits(truth, ["amdahl"], p=[6], intervals=settings), words) is None


def test_two_level_laws_agree_where_the_numbers_with_their_largest_values_differ() -> None:
    """The largest value of a level curve lies anywhere on it."""
    found = fits(noisy(TRUTHS["lock"], 0), intervals=IntervalSettings(draws=10))
    first, second, *_ = found.undistinguished
    common = {"largest_speedup": Value(13.1, "1"), "most_processors": Value(96.0, "1")}

    def own_values(answer: Answer) -> dict[str, Value]:
        return {name: value for name, value in answer.values.items() if name[:5] != "level"}

    def sentence(*values_of_law: dict[str, Value]) -> str:
        answers = tuple(
            replace(answer, values={**own_values(answer), **common, **values})
            for answer, values in zip((first, second), values_of_law, strict=True)
        )
        return " ".join(main_findings(replace(found, answers=answers)))

    places = [{"largest_speedup_processors": Value(p, "1")} for p in (39.0, 60.0)]
    level = {"level_processors": Value(24.0, "1")}
    assert "the laws that describe the rows differ" in sentence(*places)
    text = sentence(*({**place, **level} for place in places))
    assert "Speed-up levels off at 13.1; 95 % of it is reached with about 24 " in text
    assert "differ:" not in text


def test_a_refusal_and_an_extrapolation_are_known_by_their_kind_and_number() -> None:
    """Of p = 8 and p = 80 only the number that the title names is meant, whatever the words."""
    refusals = [RefusedPrediction.of(p, ": it is far", "measure on 6") for p in (80.0, 8.0)]
    found = fits(noisy(TRUTHS["coherency"], 0), p=[64], intervals=IntervalSettings(draws=40))
    found = replace(found, warnings=(*found.warnings, *refusals))
    assert [type(warning) for warning in found.warnings[:1]] == [ExtrapolatedPrediction]
    assert refused_in_title(found, "How long on 8 nodes?") is refusals[1]
    assert refused_in_title(found, "How long on 64 nodes?") is None
    assert (refusals[1].cause, refusals[1].advice) == (
        "no prediction at p = 8: it is far",
        "measure on 6",
    )


@pytest.mark.parametrize("name", ["lock", "coherency", "serial part"])
def test_no_predicted_speedup_is_above_the_interval_of_the_largest(name: str) -> None:
    """The largest speed-up and the predictions beyond it are numbers of one report."""
    found = fits(noisy(TRUTHS[name], 0), p=[48, 64], intervals=IntervalSettings(draws=10))
    (best, *_) = found.answers
    speedup = best.values["largest_speedup"]
    assert speedup.high is not None
    for count in (48, 64):
        place = best["largest_speedup_processors"] or 0.0
        high = best.values[f"efficiency[{count}]"].high
        if high is not None and count >= place:
            assert high * count <= speedup.high * (1 + 1e-9)


@pytest.mark.parametrize("share_of_interval", [0.1, 0.4, 0.6, 1.0])
def test_the_width_of_a_prediction_has_the_cause_that_was_computed(
    share_of_interval: float,
) -> None:
    """Laws are said to differ where their predictions span half of the interval. Predictions at
    measured numbers of processors are none beyond the rows.
    """
    found = fits(noisy(TRUTHS["serial part"], 0), p=[24, 64], intervals=IntervalSettings(draws=20))
    first, second, *_ = found.undistinguished
    low, high = 10.0, 30.0
    shared = {"time[64]": Value(12.0, "s", low, high)}
    other = {"time[64]": Value(12.0 + share_of_interval * (high - low), "s", low, high)}
    answers = tuple(
        replace(answer, values={**answer.values, **(other if answer is second else shared)})
        for answer in found.answers
    )
    names = (first.model, second.model)
    text = " ".join(
        fit_headline(
            replace(found, answers=answers, undistinguished_names=names),
            Words(title="How fast is it?"),
        )
    )
    spread = f"12 s to {other['time[64]'].value:.4g} s"
    if share_of_interval < 0.5:
        assert (
            "the extrapolation is uncertain: at 64 processors, the interval is 10 s to 30 s, though"
            f" the laws that describe the rows give {spread}" in text
        )
    else:
        assert (
            f"the laws that describe the rows differ: at 64 processors, they give {spread}"
            " (interval 10 s to 30 s)" in text
        )
