"""Several methods held against each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from slipstick.answer import Answer, Value
from slipstick.method.answers import ROUNDING
from slipstick.method.identities import REPORT
from slipstick.method.identities import ROUNDING as OF_EXACT
from slipstick.results.study import Agreement, MethodValues
from slipstick.vocabulary import BOUNDS, EXACT

EDGE = 2.0
"""Half-widths from the mean of an interval within which chance is an explanation: one in twenty
is beyond 1.
"""

_FIRST = (
    *("time", "response_time", "throughput", "speedup", "efficiency"),
    *("time_alone", "grain_efficiency", "grain_interference", "warps"),
    *("processors_lost", "utilization", "queue_length", "wait", "fairness"),
)

_COMPARED_BY = ("time", "response_time", "throughput")
"""Kinds of values that answers are held against each other by, the best first."""


def agreement(case: str, answers: Sequence[Answer]) -> Agreement:
    """Compare answers to one question, and say in a sentence whether they agree.

    A simulation is the reference of the others, for it leaves nothing out; without one, the first
    exact answer is, or the first. An exact method has to be within the simulation's interval, an
    approximate one within what it promises, and bounds have to enclose; where one does not, that is
    a finding. Of a network the response times are compared, and the one that differs most is told.
    Bounds of several kinds are one: the tightest. Exact answers that differ are not shown; see
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
    consistent = without_contradictions(answers)
    differ = [
        answer.failed
        for answer, original_answer in zip(consistent, answers, strict=True)
        if answer.failed is not None and original_answer.failed is None
    ]
    answers = _bounds_as_one(consistent)
    solved_answers = [answer for answer in answers if answer.failed is None]
    failed = {answer.method: answer.failed for answer in answers if answer.failed is not None}
    rows = []
    for name in _shared_values(solved_answers):
        values = tuple(answer.values.get(name) for answer in answers)
        rows.append(
            MethodValues(name, next(value.unit for value in values if value is not None), values)
        )
    verdicts: list[str] = []
    findings = list(dict.fromkeys(differ))
    reference = _reference(solved_answers)
    for answer in solved_answers:
        if reference is not None and answer is not reference:
            words, agrees = _comparison(answer, reference)
            (verdicts if agrees else findings).append(words)
    methods = tuple(answer.method for answer in answers)
    exact = tuple(answer.method for answer in answers if answer.exact)
    return Agreement(case, methods, tuple(rows), tuple(verdicts), tuple(findings), failed, exact)


def without_contradictions(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Return answers to one question; answers that are called exact and differ lose their numbers,
    because at least one of them is wrong.

    >>> both = [
    ...     Answer("m", name, {"time": Value(t, "s")}, exact=True)
    ...     for name, t in (("a", 2.5), ("b", 3.0))
    ... ]
    >>> without_contradictions(both)[0].failed[:66]
    'two answers are called exact and differ: time is 2.5 s by a and 3 '
    """
    exact = [answer for answer in answers if answer.exact and answer.failed is None]
    failures = {
        id(answer): words
        for pair in combinations(exact, 2)
        for words in [next(_contradictions(*pair), "")]
        if words
        for answer in pair
    }
    return tuple(
        Answer(answer.model, answer.method, point=answer.point, given=answer.given, failed=words)
        if (words := failures.get(id(answer)))
        else answer
        for answer in answers
    )


def _contradictions(first_answer: Answer, second_answer: Answer) -> Iterator[str]:
    """Yield, in words, each value of two exact answers that differs by more than rounding."""
    for name in _values_compared(first_answer, second_answer):
        values = first_answer.values[name], second_answer.values[name]
        if values[0].value is None or values[1].value is None:
            continue
        if not math.isclose(values[0].value, values[1].value, rel_tol=OF_EXACT, abs_tol=1e-300):
            sides = [
                f"{value.value:.9g} {value.unit} by {answer.method}"
                for value, answer in zip(values, (first_answer, second_answer), strict=True)
            ]
            yield (
                f"two answers are called exact and differ: {name} is {sides[0]} and {sides[1]};"
                f" {REPORT}"
            )


def _bounds_as_one(answers: Sequence[Answer]) -> list[Answer]:
    """Join bounds of several kinds into one answer at the place of the first: the tightest ends
    hold.
    """
    kinds = [answer for answer in answers if answer.method.startswith(f"{BOUNDS}/")]
    if not kinds:
        return list(answers)
    solved_bounds = [answer for answer in kinds if answer.failed is None]
    names = dict.fromkeys(name for answer in solved_bounds for name in answer.values)
    values = {
        name: _tightest([answer.values[name] for answer in solved_bounds if name in answer.values])
        for name in names
    }
    joined = Answer(
        kinds[0].model, BOUNDS, values, failed=None if solved_bounds else kinds[0].failed
    )
    return [
        joined if answer is kinds[0] else answer
        for answer in answers
        if answer is kinds[0] or answer not in kinds
    ]


def _tightest(values: Sequence[Value]) -> Value:
    lows = [value.low for value in values if value.low is not None]
    highs = [value.high for value in values if value.high is not None]
    return Value(values[0].value, values[0].unit, max(lows, default=None), min(highs, default=None))


def _shared_values(answers: Sequence[Answer]) -> list[str]:
    """List the values that at least two answers have, the most important first."""
    counts = Counter(name for answer in answers for name in answer.values)
    # Probabilities of every number present are for programs, not to be read side by side.
    shared = [
        name for name, count in counts.items() if count > 1 and not name.startswith("probability[")
    ]
    rank = {kind: position for position, kind in enumerate(_FIRST)}
    return sorted(shared, key=lambda name: rank.get(name.partition("[")[0], len(_FIRST)))


def _reference(answers: Sequence[Answer]) -> Answer | None:
    """Choose the reference of the comparison."""
    candidates = [
        answer
        for answer in answers
        if any(answer.values[name].value is not None for name in _values_compared(answer))
    ]
    simulated = [answer for answer in candidates if answer.converged is not None]
    exact = [answer for answer in candidates if answer.exact]
    return next(iter([*simulated, *exact, *candidates]), None)


def _values_compared(answer: Answer, reference_answer: Answer | None = None) -> list[str]:
    """List the values that answers are compared by: the time, or the response times, or the
    throughputs.
    """
    shared_names = [
        name
        for name in answer.values
        if reference_answer is None or name in reference_answer.values
    ]
    kinds = (
        [name for name in shared_names if name.partition("[")[0] == kind] for kind in _COMPARED_BY
    )
    return next((names for names in kinds if names), shared_names[:1])


def _comparison(answer: Answer, reference: Answer) -> tuple[str, bool]:
    """Compare an answer with the reference where they differ most, in words, and say whether it
    keeps its promise.
    """
    names = [
        name
        for name in _values_compared(answer, reference)
        if reference.values[name].value is not None
    ]
    if not names:
        return f"{answer.method} gives nothing that {reference.method} gives", True
    compared = [
        _comparison_of_value(answer, reference, answer.values[name], reference.values[name])
        for name in names
    ]
    farthest = max(
        range(len(names)), key=lambda index: (not compared[index][1], compared[index][2])
    )
    words, agrees, difference = compared[farthest]
    names_the_value = len(names) > 1 and (difference or not agrees)
    return f"{names[farthest]} differs most: {words}" if names_the_value else words, agrees


def _comparison_of_value(
    answer: Answer, reference: Answer, value: Value, truth: Value
) -> tuple[str, bool, float]:
    """Compare a value with the reference: return a sentence, whether the value keeps its promise,
    and the relative difference.
    """
    assert truth.value is not None
    if value.value is None:
        return *_encloses(answer.method, value, reference.method, truth), 0.0
    difference = _relative_difference(value.value, truth.value)
    if difference == 0:
        return f"{answer.method} and {reference.method} agree exactly", True, 0.0
    return *_sentence_on_difference(
        answer, reference, difference, _half_widths_off(value.value, truth)
    ), abs(difference)


def _sentence_on_difference(
    answer: Answer, reference: Answer, difference: float, half_widths_off: float
) -> tuple[str, bool]:
    if reference.converged is False:
        return (
            f"{answer.method} is {_percent(difference)} {reference.method}, which did not converge",
            True,
        )
    if answer.exact:
        return _exact(answer.method, reference.method, difference, half_widths_off)
    if half_widths_off <= 1:
        return (
            (
                f"{answer.method} is within the interval of {reference.method}"
                f" ({_percent(difference)} its mean)"
            ),
            True,
        )
    if answer.promise is not None:
        promised = f"its stated error is about {100 * answer.promise:.2g} %"
        # A method that leaves something out cannot check the promise of another.
        is_kept = abs(difference) <= answer.promise or not (reference.exact or reference.converged)
        return f"{answer.method} is {_percent(difference)} {reference.method}; {promised}", is_kept
    reason = next(
        (f", for it {note}" for note in answer.notes if note.startswith("leaves out")), ""
    )
    return f"{answer.method} is {_percent(difference)} {reference.method}{reason}", True


def _exact(method: str, reference: str, difference: float, place: float) -> tuple[str, bool]:
    relation, claims = (
        ("is", "is") if method == EXACT else ("is exact and", "claims to be exact, but is")
    )
    if place <= 1:
        return (
            (
                f"{method} {relation} within the interval of {reference} ({_percent(difference)}"
                " its mean)"
            ),
            True,
        )
    if place <= EDGE:
        words = (
            f"{method} {relation} at the edge of the interval of {reference}"
            f" ({_percent(difference)} its mean)"
        )
        return f"{words}; one in twenty is, by chance", True
    return f"{method} {claims} {_percent(difference)} {reference}, outside its interval", False


def _encloses(method: str, bounds: Value, reference: str, truth: Value) -> tuple[str, bool]:
    """Return a sentence on whether an interval meets bounds, and whether it does; more cannot be
    required of a simulated mean.
    """
    assert truth.value is not None
    low = truth.value if truth.low is None else truth.low
    high = truth.value if truth.high is None else truth.high
    is_above_lower = bounds.low is None or high >= bounds.low * (1 - ROUNDING)
    is_below_upper = bounds.high is None or low <= bounds.high * (1 + ROUNDING)
    if is_above_lower and is_below_upper:
        return f"{reference} lies within the {method}", True
    side = "above the upper" if is_above_lower else "below the lower"
    return f"{reference} lies {side} of the {method}", False


def _relative_difference(value: float, truth: float) -> float:
    """Return the relative difference; 0 where rounding explains it."""
    if math.isclose(value, truth, rel_tol=ROUNDING, abs_tol=1e-300):
        return 0.0
    return value / truth - 1 if truth else math.inf


def _half_widths_off(value: float, truth: Value) -> float:
    """Return the distance of a value from a mean, in half-widths of the interval of the mean."""
    assert truth.value is not None
    if truth.low is None or truth.high is None or truth.high <= truth.low:
        # Without an interval, chance explains no difference.
        return math.inf
    return abs(value - truth.value) / ((truth.high - truth.low) / 2)


def _percent(difference: float) -> str:
    shown = float(f"{abs(100 * difference):.2g}")
    return f"{shown:g} % {'above' if difference > 0 else 'below'}"
