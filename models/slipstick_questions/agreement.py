"""Comparison of the answers of several methods to one question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from slipstick.answer import SURE_HALF_WIDTHS, Answer, Value
from slipstick.errors import WaitingLeftOut
from slipstick.method.answers import ROUNDING
from slipstick.method.identities import REPORT
from slipstick.method.identities import ROUNDING as EXACT_ROUNDING
from slipstick.results.study import Agreement, MethodValues
from slipstick.vocabulary import BOUNDS, EXACT

_NAMES_IN_DISPLAY_ORDER = (
    *("time", "response_time", "throughput", "speedup", "efficiency"),
    *("time_alone", "grain_efficiency", "grain_interference", "warps"),
    *("processors_lost", "utilization", "queue_length", "wait", "fairness"),
)

_COMPARED_KINDS = ("time", "response_time", "throughput")
"""Kinds of values by which answers are compared, the preferred ones first."""


def agreement(case: str, answers: Sequence[Answer]) -> Agreement:
    """Compare the answers to one question. Return them with a sentence on each that says whether it
    agrees.

    A simulation is the reference of the others, for it leaves nothing out; without one, the first
    exact answer is, or the first. An exact method has to be within the simulation's interval, an
    approximate one within what it promises, and bounds have to enclose; where one does not, that is
    a finding. Of a network the response times are compared, and the sentence names the one that
    differs most. Bounds of several kinds are joined into the tightest. Exact answers that differ
    are not shown; see
    `without_contradictions`.

    Parameters
    ----------
    case : what was solved
    answers : of one model, by different methods

    >>> both = [Answer("m", "closed-form", {"time": Value(2.0, "s")}, exact=True)]
    >>> both += [Answer("m", "simulation", {"time": Value(2.01, "s", 1.9, 2.1)}, converged=True)]
    >>> agreement("m", both).verdicts
    ('closed-form is exact and within the interval of simulation (0.5 % below its mean)',)
    """
    consistent_answers = without_contradictions(answers)
    contradictions = [
        answer.failed
        for answer, original_answer in zip(consistent_answers, answers, strict=True)
        if answer.failed is not None and original_answer.failed is None
    ]
    answers = _join_bounds(consistent_answers)
    solved_answers = [answer for answer in answers if answer.failed is None]
    reasons_by_method = {
        answer.method: answer.failed for answer in answers if answer.failed is not None
    }
    rows = []
    for value_name in _shared_values(solved_answers):
        values = tuple(answer.values.get(value_name) for answer in answers)
        rows.append(
            MethodValues(
                value_name, next(value.unit for value in values if value is not None), values
            )
        )
    verdicts: list[str] = []
    findings = list(dict.fromkeys(contradictions))
    unjudged: dict[str, tuple[float, str]] = {}
    reference = _choose_reference(solved_answers)
    for answer in solved_answers:
        if reference is not None and answer is not reference:
            sentence, agrees, difference = _compare_answers(answer, reference)
            (findings if agrees is False else verdicts).append(sentence)
            if agrees is None:
                can_tell = reference.exact or reference.converged
                unjudged[answer.method] = (difference if can_tell else math.nan, reference.method)
    methods = tuple(answer.method for answer in answers)
    exact_methods = tuple(answer.method for answer in answers if answer.exact)
    return Agreement(
        case,
        methods,
        tuple(rows),
        tuple(verdicts),
        tuple(findings),
        reasons_by_method,
        exact_methods,
        unjudged,
    )


def without_contradictions(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Return answers to one question; if answers that are called exact differ, they lose their
    numbers, because at least one of them is wrong.

    >>> both = [
    ...     Answer("m", name, {"time": Value(t, "s")}, exact=True)
    ...     for name, t in (("a", 2.5), ("b", 3.0))
    ... ]
    >>> without_contradictions(both)[0].failed[:66]
    'two answers are called exact and differ: time is 2.5 s by a and 3 '
    """
    exact_answers = [answer for answer in answers if answer.exact and answer.failed is None]
    contradiction_by_id = {
        id(answer): contradiction
        for answer_pair in combinations(exact_answers, 2)
        for contradiction in [next(_contradictions_of_exact(*answer_pair), "")]
        if contradiction
        for answer in answer_pair
    }
    return tuple(
        Answer(
            answer.model,
            answer.method,
            point=answer.point,
            given=answer.given,
            failed=contradiction,
        )
        if (contradiction := contradiction_by_id.get(id(answer)))
        else answer
        for answer in answers
    )


def _contradictions_of_exact(first_answer: Answer, second_answer: Answer) -> Iterator[str]:
    """Yield, in words, each value of two exact answers that differs by more than rounding."""
    for value_name in _values_compared(first_answer, second_answer):
        values = first_answer.values[value_name], second_answer.values[value_name]
        if values[0].value is None or values[1].value is None:
            continue
        if not math.isclose(
            values[0].value, values[1].value, rel_tol=EXACT_ROUNDING, abs_tol=1e-300
        ):
            texts_of_sides = [
                f"{value.value:.9g} {value.unit} by {answer.method}"
                for value, answer in zip(values, (first_answer, second_answer), strict=True)
            ]
            yield (
                f"two answers are called exact and differ: {value_name} is {texts_of_sides[0]}"
                f" and {texts_of_sides[1]};"
                f" {REPORT}"
            )


def _join_bounds(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers with all bounds replaced by one answer with the tightest of them, at the
    position of the first bounds.
    """
    bound_answers = [
        answer for answer in answers if answer.has_only_bounds and answer.method != BOUNDS
    ]
    if not bound_answers:
        return list(answers)
    solved_bounds = [answer for answer in bound_answers if answer.failed is None]
    value_names = dict.fromkeys(
        value_name for answer in solved_bounds for value_name in answer.values
    )
    values = {
        value_name: _tightest_bounds(
            [answer.values[value_name] for answer in solved_bounds if value_name in answer.values]
        )
        for value_name in value_names
    }
    joined_bounds = Answer(
        bound_answers[0].model,
        BOUNDS,
        values,
        failed=None if solved_bounds else bound_answers[0].failed,
    )
    return [
        joined_bounds if answer is bound_answers[0] else answer
        for answer in answers
        if answer is bound_answers[0] or answer not in bound_answers
    ]


def _tightest_bounds(values: Sequence[Value]) -> Value:
    """Return the largest lower end and the smallest upper end of several bounds of a value."""
    lower_ends = [value.low for value in values if value.low is not None]
    upper_ends = [value.high for value in values if value.high is not None]
    return Value(
        values[0].value,
        values[0].unit,
        max(lower_ends, default=None),
        min(upper_ends, default=None),
    )


def _shared_values(answers: Sequence[Answer]) -> list[str]:
    """List the values that at least two answers have, the most important first."""
    count_by_name = Counter(name for answer in answers for name in answer.values)
    # Probabilities of every number present are for programs, not to be read side by side.
    shared_names = [
        name
        for name, count in count_by_name.items()
        if count > 1 and not name.startswith("probability[")
    ]
    position_by_kind = {kind: position for position, kind in enumerate(_NAMES_IN_DISPLAY_ORDER)}
    return sorted(
        shared_names,
        key=lambda name: position_by_kind.get(name.partition("[")[0], len(_NAMES_IN_DISPLAY_ORDER)),
    )


def _choose_reference(answers: Sequence[Answer]) -> Answer | None:
    """Return the answer with which the others are compared; None if no answer has values."""
    candidate_answers = [
        answer
        for answer in answers
        if any(answer.values[name].value is not None for name in _values_compared(answer))
    ]
    simulated_answers = [answer for answer in candidate_answers if answer.converged is not None]
    exact_answers = [answer for answer in candidate_answers if answer.exact]
    return next(iter([*simulated_answers, *exact_answers, *candidate_answers]), None)


def _values_compared(answer: Answer, reference_answer: Answer | None = None) -> list[str]:
    """List the values that answers are compared by: the time, or the response times, or the
    throughputs.
    """
    shared_names = [
        name
        for name in answer.values
        if reference_answer is None or name in reference_answer.values
    ]
    names_by_kind = (
        [name for name in shared_names if name.partition("[")[0] == kind]
        for kind in _COMPARED_KINDS
    )
    return next((names for names in names_by_kind if names), shared_names[:1])


def _compare_answers(answer: Answer, reference: Answer) -> _AnswerComparison:
    """Compare an answer with the reference at the value that differs most."""
    value_names = [
        value_name
        for value_name in _values_compared(answer, reference)
        if reference.values[value_name].value is not None
    ]
    if not value_names:
        return _AnswerComparison(
            f"{answer.method} gives nothing that {reference.method} gives", None
        )
    comparisons = [
        _comparison_of_value(
            answer, reference, answer.values[value_name], reference.values[value_name]
        )
        for value_name in value_names
    ]
    index_of_largest = max(
        range(len(value_names)),
        key=lambda index: (
            comparisons[index].agrees is False,
            abs(comparisons[index].difference),
        ),
    )
    comparison = comparisons[index_of_largest]
    if len(value_names) == 1 or (comparison.agrees and not comparison.difference):
        return comparison
    sentence = f"{value_names[index_of_largest]} differs most: {comparison.sentence}"
    return comparison._replace(sentence=sentence)


class _AnswerComparison(NamedTuple):
    """A sentence on a value and its reference, whether the value keeps its promise (None if it has
    none, or the reference cannot tell), and the relative difference.
    """

    sentence: str
    agrees: bool | None
    difference: float = 0.0


def _comparison_of_value(
    answer: Answer, reference: Answer, value: Value, reference_value: Value
) -> _AnswerComparison:
    """Compare a value with the same value of the reference."""
    assert reference_value.value is not None
    if value.value is None:
        return _AnswerComparison(
            *_sentence_on_bounds(answer.method, value, reference.method, reference_value)
        )
    difference = _relative_difference(value.value, reference_value.value)
    if difference == 0:
        sentence = f"{answer.method} and {reference.method} agree exactly"
        return _AnswerComparison(sentence, agrees=True)
    half_widths_off = _distance_in_half_widths(value.value, reference_value)
    return _AnswerComparison(
        *_sentence_on_difference(answer, reference, difference, half_widths_off), difference
    )


def _sentence_on_difference(
    answer: Answer, reference: Answer, difference: float, half_widths_off: float
) -> tuple[str, bool | None]:
    """Return a sentence on the difference of an answer from the reference, and whether the answer
    keeps its promise; None if that is not known.
    """
    difference_text = percent_text(difference)
    if reference.converged is False:
        return (
            f"{answer.method} is {difference_text} {reference.method}, which did not converge",
            None,
        )
    if answer.exact:
        return _sentence_on_exact(answer.method, reference.method, difference, half_widths_off)
    if half_widths_off <= 1:
        return (
            (
                f"{answer.method} is within the interval of {reference.method}"
                f" ({difference_text} its mean)"
            ),
            True,
        )
    if answer.promise is not None:
        stated_error_text = f"its stated error is about {100 * answer.promise:.2g} %"
        # A method that leaves something out cannot check the promise of another.
        is_missed = False if reference.exact or reference.converged else None
        return (
            f"{answer.method} is {difference_text} {reference.method}; {stated_error_text}",
            abs(difference) <= answer.promise or is_missed,
        )
    reason = next(
        (f", for it {note}" for note in answer.notes if isinstance(note, WaitingLeftOut)), ""
    )
    return f"{answer.method} is {difference_text} {reference.method}{reason}", None


def _sentence_on_exact(
    method: str, reference_method: str, difference: float, half_widths_off: float
) -> tuple[str, bool]:
    """Return a sentence on the difference of an exact answer from the reference, and whether that
    difference is within the interval.
    """
    relation_phrase, claim_phrase = (
        ("is", "is") if method == EXACT else ("is exact and", "claims to be exact, but is")
    )
    if half_widths_off <= 1:
        return (
            (
                f"{method} {relation_phrase} within the interval of {reference_method}"
                f" ({percent_text(difference)} its mean)"
            ),
            True,
        )
    if half_widths_off <= SURE_HALF_WIDTHS:
        sentence = (
            f"{method} {relation_phrase} at the edge of the interval of {reference_method}"
            f" ({percent_text(difference)} its mean)"
        )
        return f"{sentence}; one in twenty is, by chance", True
    return (
        (
            f"{method} {claim_phrase} {percent_text(difference)} {reference_method}, outside its"
            " interval"
        ),
        False,
    )


def _sentence_on_bounds(
    method: str, bounds: Value, reference_method: str, reference_value: Value
) -> tuple[str, bool]:
    """Return a sentence on whether the interval of the reference overlaps bounds, and whether it
    does; more cannot be required of a simulated mean.
    """
    assert reference_value.value is not None
    low = reference_value.value if reference_value.low is None else reference_value.low
    high = reference_value.value if reference_value.high is None else reference_value.high
    is_above_lower = bounds.low is None or high >= bounds.low * (1 - ROUNDING)
    is_below_upper = bounds.high is None or low <= bounds.high * (1 + ROUNDING)
    if is_above_lower and is_below_upper:
        return f"{reference_method} lies within the {method}", True
    side_phrase = "above the upper" if is_above_lower else "below the lower"
    return f"{reference_method} lies {side_phrase} of the {method}", False


def _relative_difference(value: float, reference_value: float) -> float:
    """Return the difference of a value from a reference value, relative to the latter; 0 if
    rounding explains it.
    """
    if math.isclose(value, reference_value, rel_tol=ROUNDING, abs_tol=1e-300):
        return 0.0
    return value / reference_value - 1 if reference_value else math.inf


def _distance_in_half_widths(value: float, reference_value: Value) -> float:
    """Return the distance of a value from a mean, in half-widths of the interval of the mean."""
    assert reference_value.value is not None
    if (
        reference_value.low is None
        or reference_value.high is None
        or reference_value.high <= reference_value.low
    ):
        # Without an interval, chance explains no difference.
        return math.inf
    return abs(value - reference_value.value) / ((reference_value.high - reference_value.low) / 2)


def percent_text(difference: float) -> str:
    """Return a relative difference in percent as text."""
    rounded_percentage = float(f"{abs(100 * difference):.2g}")
    return f"{rounded_percentage:g} % {'above' if difference > 0 else 'below'}"
