"""Two numbers of processors in a title are compared by measured and predicted times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slipstick.answer import Answer, Value
from slipstick.results.words import Words, may_ask_for_opposite
from slipstick_measure.report.count_comparison import comparison_in_title
from slipstick_measure.report.fit_verdicts import comparison_verdict, verdict_on_prediction
from slipstick_measure.report.fits import fit_headline
from slipstick_measure.results import Fitting, TimeGoal

WORDS = Words(title="Is it worth asking for 64 ranks in place of 16?", member="rank")


def fitting(low: float = 6.0, high: float = 9.0) -> Fitting:
    """Return a fit to times on 8 and twice on 16 ranks, with predictions on 32 and 64."""
    times = {"time[32]": Value(10.0, "s", 9.5, 10.5), "time[64]": Value(8.0, "s", low, high)}
    return Fitting(
        (Answer("usl", "fit", times),), "", (), p=(8.0, 16.0, 16.0), time=(25.0, 12.0, 27.0)
    )


def test_the_factor_is_that_of_the_times() -> None:
    """By hand: the geometric mean on 16 ranks is 18 s; 18 / 8, 18 / 9 and 18 / 6."""
    comparison = comparison_in_title(fitting(), WORDS.title)
    assert comparison is not None
    assert comparison.factor_and_ends == pytest.approx((2.25, 2.0, 3.0))
    assert comparison.sentence(WORDS) == (
        "on 64 ranks the program is 2.25 (2 to 3) times as fast as on 16:"
        " 8 (6 to 9) s against 18 s measured"
    )


def test_both_intervals_count_where_both_times_are_predicted() -> None:
    comparison = comparison_in_title(fitting(), "32 or 64 ranks?")
    assert comparison is not None
    assert comparison.factor_and_ends == pytest.approx((10 / 8, 9.5 / 9, 10.5 / 6))


def test_throughputs_are_compared_as_such() -> None:
    """p / T: 64 / 8 = 8 against 16 / 18, for work that grows with the processors."""
    rated = replace(fitting(), rate=("jobs per s", 1.0), weak_scaling=True)
    comparison = comparison_in_title(rated, WORDS.title)
    assert comparison is not None
    assert comparison.factor_and_ends == pytest.approx((9.0, 8.0, 12.0))
    assert comparison.sentence(WORDS) == (
        "on 64 ranks the throughput is 9 (8 to 12) times that on 16:"
        " 8 (7.111 to 10.67) jobs per s against 0.8889 jobs per s measured"
    )


@pytest.mark.parametrize(("high", "is_undecided"), [(9.0, False), (20.0, True)])
def test_a_gain_within_the_interval_is_undecided(high: float, is_undecided: bool) -> None:
    verdict = comparison_verdict(fitting(high=high), WORDS)
    assert verdict is not None
    assert verdict.word == "Undecided" * is_undecided
    headline = fit_headline(fitting(high=high), WORDS)
    assert (", a gain that is undecided: " in headline[0]) == is_undecided
    assert verdict.sentence == headline[0].replace(", a gain that is undecided", "")


@pytest.mark.parametrize(
    ("changed", "title"),
    [
        (fitting(), "How long does it take on 64 ranks?"),
        (fitting(), "Are 16 ranks faster than 8?"),
        (fitting(), "Which of 16, 32 and 64 ranks?"),
        (fitting(), "Do 64 ranks finish within 16 s?"),
        (replace(fitting(), has_law=False), WORDS.title),
        (replace(fitting(), weak_scaling=True), WORDS.title),
    ],
    ids=["one number", "measured alone", "three numbers", "a time", "no law", "work that grows"],
)
def test_other_titles_compare_nothing(changed: Fitting, title: str) -> None:
    assert comparison_in_title(changed, title) is None


def test_a_factor_near_one_is_no_order_of_amounts() -> None:
    """Of 18 s the prediction 17.8 s, rounded to what its interval leaves, is 18 s as well."""
    times = {"time[64]": Value(17.8, "s", 9.0, 30.0)}
    made = replace(fitting(), answers=(Answer("usl", "fit", times),))
    comparison = comparison_in_title(made, WORDS.title)
    assert comparison is not None
    assert comparison.sentence(WORDS).startswith(
        "on 64 ranks the program is about as fast (0.6 to 2 times) as on 16, a gain that is"
    )


@pytest.mark.parametrize(
    ("limit", "is_answered"),
    [
        ("at most", True),
        ("less than", True),
        ("under", True),
        ("below", True),
        ("within", True),
        ("no more than", True),
        ("never longer than", True),
        ("more than", False),
        ("over", False),
        ("above", False),
    ],
)
def test_all_words_of_a_longest_time_are_read_alike(limit: str, is_answered: bool) -> None:
    words = Words(title=f"Does a run on 64 ranks take {limit} 10 s?", member="rank")
    verdict = verdict_on_prediction(replace(fitting(), goal=TimeGoal("10 s", 10.0)), words)
    assert verdict is not None
    # The opposite is asked for by the words that the condition does not answer.
    assert verdict.word.startswith("Yes" if is_answered else "No")
    assert may_ask_for_opposite(words.title, verdict.condition) != is_answered
    assert verdict.answers_opposite != is_answered


@pytest.mark.parametrize(
    ("limit", "is_answered"),
    [("at least", True), ("more than", True), ("over", True), ("above", True), ("under", True)],
)
def test_all_words_of_a_least_throughput_are_read_alike(limit: str, is_answered: bool) -> None:
    title = f"Do 64 ranks complete {limit} 5 /s?"
    assert may_ask_for_opposite(title, "throughput >= 5 /s") != is_answered


def test_a_level_that_nobody_asked_for_is_introduced_as_such() -> None:
    finding = "Measured: efficiency falls below 75 % between p = 8 (80 %) and p = 16 (60 %)."
    made = replace(fitting(), findings=(finding,), has_default_level=True)
    sentence = "measured efficiency falls below 75 % (the level where none is asked for) between"
    for is_asked in (False, True):
        title = "How far at 75%?" if is_asked else "How far?"
        headline = fit_headline(made, Words(title=title, member="rank"))
        assert any(text.startswith(sentence) for text in headline) != is_asked
