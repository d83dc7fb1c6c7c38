"""Answers of fits to titles that ask yes or no."""

from __future__ import annotations

import re
from math import inf
from typing import NamedTuple

from slipstick.answer import Value
from slipstick.report.formatting import percent, uncapitalized
from slipstick.results.question import UNDECIDED, TitleAnswer, verdict_word
from slipstick.results.words import Words
from slipstick_measure.report.count_comparison import (
    UNDECIDED_GAIN,
    comparison_in_title,
    numbers_in,
)
from slipstick_measure.report.fit_titles import FitTitle
from slipstick_measure.report.fits import (
    EFFICIENCY_NAME_PREFIX,
    TIME_NAME_PREFIX,
    UNKNOWN_COUNT,
    fastest_sentence,
    fit_headline,
    goal_sentence,
    law_sentence,
    predicted_counts_in_title,
    prediction_text,
)
from slipstick_measure.report.measured import with_noun_for_processors
from slipstick_measure.results import Fitting


def verdict_of_fit(time_fits: Fitting, words: Words) -> TitleAnswer | None:
    """Return the answer of a fit to a title that asks yes or no; None if the fit has none."""
    if not time_fits.has_law:
        return None
    return (
        comparison_verdict(time_fits, words)
        or verdict_on_prediction(time_fits, words)
        or _goal_verdict(time_fits, words)
        or _verdict_on_largest_speedup(time_fits, words)
        or _verdict_on_fastest(time_fits, words)
    )


class _LimitOfTitle(NamedTuple):
    """What a title asks of the prediction for a number of processors.

    Parameters
    ----------
    name : of the predicted value
    limit : of the value
    text : the limit in words
    is_most : the value is to be at most the limit, not at least
    condition : as of a `TitleAnswer`
    level_text : of an efficiency that the title does not state; empty for others
    """

    name: str
    limit: float
    text: str
    is_most: bool = False
    condition: str = ""
    level_text: str = ""

    def is_reached(self, value: Value) -> bool | None:
        """Return whether a value with its interval reaches the limit; None if the interval holds
        the limit.
        """
        ends = [value.value if end is None else end for end in value.ends]
        reached = {
            (end or 0.0) <= self.limit if self.is_most else (end or 0.0) >= self.limit
            for end in ends
        }
        return reached.pop() if len(reached) == 1 else None


def _target_in_title(
    time_fits: Fitting, title: FitTitle, processors: float
) -> _LimitOfTitle | None:
    """Return what a title asks of the prediction for a number of processors: the goal of the fit, a
    speed-up, or an efficiency, which is the default one if the title asks whether the processors
    are efficient enough.
    """
    name = f"{EFFICIENCY_NAME_PREFIX}{processors:g}]"
    goal = time_fits.goal
    if goal is not None and goal.text in title.text:
        relation = ">=" if goal.time is None else "<="
        return _LimitOfTitle(
            f"{TIME_NAME_PREFIX}{processors:g}]",
            goal.time_on(processors),
            goal.text,
            is_most=True,
            condition=f"time {relation} {goal.text.replace(' ', '')}",
        )
    factor = title.least_factor()
    if factor is not None and factor > 1 and not time_fits.weak_scaling:
        base_count = time_fits.answers[0].values.get("base_processors", UNKNOWN_COUNT).value
        return _LimitOfTitle(name, factor * (base_count or 1.0) / processors, f"{factor:g}")
    level_text = percent(time_fits.efficiency)
    condition = f"efficiency >= {level_text.replace(' ', '')}"
    if re.search(rf"{level_text.replace(' ', ' ?')}|efficien", title.text):
        return _LimitOfTitle(name, time_fits.efficiency, level_text, condition=condition)
    if title.asks_if_worth:
        remark = " (the level where none is asked for)" * time_fits.has_default_level
        level = f", for an efficiency of at least {level_text}{remark}"
        return _LimitOfTitle(name, time_fits.efficiency, level_text, level_text=level)
    return None


def verdict_on_prediction(time_fits: Fitting, words: Words) -> TitleAnswer | None:
    """Return whether the prediction for the number of processors that a title names is as the title
    asks; None if the title has another question, or names no number or several.
    """
    best_answer, title = time_fits.answers[0], FitTitle(words.title)
    processors_in_title = predicted_counts_in_title(words.title, best_answer)
    if len(processors_in_title) != 1:
        return None
    processors = processors_in_title[0]
    target = _target_in_title(time_fits, title, processors)
    value = best_answer.values.get(target.name) if target else None
    if target is None or value is None or value.value is None:
        return None
    is_reached = target.is_reached(value)
    is_time_limit = time_fits.goal is not None and target.is_most and not time_fits.rate
    is_opposite = (target.level_text and title.asks_if_too_many) or (
        is_time_limit and title.asks_if_longer
    )
    if is_opposite and is_reached is not None:
        is_reached = not is_reached
    reason = f" ({target.text} lies within the interval)" if is_reached is None else ""
    verdict_text = with_noun_for_processors(
        f"{verdict_word([is_reached])}, on p = {processors:g}{target.level_text}{reason}", words
    )
    # The same words as in the headline, which is left out then.
    sentence = prediction_text(time_fits, processors, title)
    return TitleAnswer(
        verdict_text,
        sentence,
        replaces_headline=False,
        condition=target.condition,
        answers_opposite=bool(is_opposite) or not target.condition,
    )


def _goal_verdict(time_fits: Fitting, words: Words) -> TitleAnswer | None:
    """Return whether the goal in a title is reached on any number of processors; None if the title
    states no goal of the fit, or numbers.
    """
    best_answer, goal = time_fits.answers[0], time_fits.goal
    count = best_answer.values.get("needed_processors")
    is_asked = goal is not None and goal.text in words.title and not numbers_in(words.title)
    if count is None or goal is None or not is_asked:
        return None
    is_reached = count.value is not None and count.high is not None
    is_undecided = not is_reached and (count.value is not None or count.low is not None)
    relation = ">=" if goal.time is None else "<="
    sentence = uncapitalized(goal_sentence(best_answer, time_fits))
    return TitleAnswer(
        verdict_word([None if is_undecided else is_reached]),
        with_noun_for_processors(sentence.rstrip("."), words),
        replaces_headline=False,
        condition=f"time {relation} {goal.text.replace(' ', '')}",
    )


def _verdict_on_largest_speedup(time_fits: Fitting, words: Words) -> TitleAnswer | None:
    """Return whether a speed-up in a title is reached on any number of processors; None if the
    title states none, or names a predicted number of processors.
    """
    best_answer, title = time_fits.answers[0], FitTitle(words.title)
    factor, speedup = title.least_factor(), best_answer.values.get("largest_speedup")
    counts = title.processor_counts(words.member)
    if factor is None or factor <= 1 or speedup is None or counts or time_fits.weak_scaling:
        return None
    return TitleAnswer(
        verdict_word([_LimitOfTitle("", factor, "").is_reached(speedup)]),
        with_noun_for_processors(
            law_sentence(best_answer, time_fits, title, "size").rstrip("."), words
        ),
        replaces_headline=False,
        answers_opposite=True,
    )


def _verdict_on_fastest(time_fits: Fitting, words: Words) -> TitleAnswer | None:
    """Return whether the program becomes faster beyond a number of processors in a title; None if
    the title does not ask for that.
    """
    best_answer, title = time_fits.answers[0], FitTitle(words.title)
    place = best_answer.values.get("largest_speedup_processors")
    number, sentence = title.number_beyond(), fastest_sentence(best_answer, time_fits, title)
    if number is None or place is None or not sentence:
        return None
    # An end that the data leave open may lie anywhere.
    ends = [
        place.value or 0.0 if place.low is None else place.low,
        inf if place.high is None else place.high,
    ]
    is_beyond = {end > number for end in ends}
    is_faster = is_beyond.pop() if len(is_beyond) == 1 else None
    if title.asks_if_it_stops and is_faster is not None:
        is_faster = not is_faster
    return TitleAnswer(
        verdict_word([is_faster]),
        with_noun_for_processors(sentence.rstrip("."), words),
        replaces_headline=False,
        answers_opposite=True,
    )


def comparison_verdict(time_fits: Fitting, words: Words) -> TitleAnswer | None:
    """Return how the two numbers of processors in a title compare, and whether the one that the
    title asks for is faster, or slower, by what it asks; None if it names no two. Whether a gain is
    worth its cost is left to the reader.
    """
    comparison = comparison_in_title(time_fits, words.title)
    if comparison is None:
        return None
    title = FitTitle(words.title)
    least_factor = title.least_factor()
    numbers = numbers_in(words.title)
    asked_count = numbers[-1] if title.goes_from_first_to_second else numbers[0]
    _, low, high = comparison.factor_and_ends
    if asked_count == comparison.smaller.processors:
        low, high = 1 / high, 1 / low
    if title.asks_if_slower:
        low, high = 1 / high, 1 / low
    word = ""
    if least_factor is not None or (title.asks_if_one_is_worth_another and low <= 1):
        least_factor = least_factor or 1.0
        is_reached = low > least_factor if low > least_factor or high <= least_factor else None
        word = verdict_word([is_reached])
        if title.asks_which_of_two and is_reached is not None:
            word = ""
    sentence = comparison.sentence(words)
    # The word says it already.
    short_sentence = sentence.replace(UNDECIDED_GAIN, "") if word == UNDECIDED else sentence
    headline = fit_headline(time_fits, words)
    return TitleAnswer(
        word,
        short_sentence,
        replaces_headline=headline[0] == sentence,
        stands_alone=True,
        answers_opposite=bool(word),
    )
