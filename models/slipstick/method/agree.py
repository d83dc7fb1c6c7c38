"""Several methods held against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slipstick.answer import Answer, Value
from slipstick.results import Agreement, SideBySide

__all__ = ["agreement"]

ROUNDING = 1e-9
"""Relative difference that rounding explains."""

EDGE = 2.0
"""Half-widths from the mean of an interval within which chance is an explanation: one in twenty is beyond 1."""

_FIRST = ("time", "throughput", "speedup", "efficiency", "processors_lost", "utilization", "queue_length", "wait")


def agreement(case: str, answers: Sequence[Answer]) -> Agreement:
    """Put answers to one question side by side, and say in words whether they agree.

    A simulation is the measure of the others, for it leaves nothing out; without one, the first exact answer is,
    or the first. An exact method has to be within the simulation's interval, an approximate one within what it
    promises, and bounds have to enclose; where one does not, that is a finding.

    Parameters
    ----------
    case : what was solved
    answers : of one model, by different methods

    >>> both = [Answer("m", "closed-form", {"time": Value(2.0, "s")}, exact=True)]
    >>> both += [Answer("m", "simulation", {"time": Value(2.01, "s", 1.9, 2.1)}, converged=True)]
    >>> agreement("m", both).verdicts
    ('closed-form is exact and within the interval of simulation (0.5 % below its mean)',)
    """
    solved = [answer for answer in answers if answer.failed is None]
    failed = {answer.method: answer.failed for answer in answers if answer.failed is not None}
    rows = tuple(_row(name, answers) for name in _shared(solved))
    verdicts: list[str] = []
    findings: list[str] = []
    measure = _measure(solved)
    for answer in solved:
        if measure is not None and answer is not measure:
            words, agrees = _stands(answer, measure)
            (verdicts if agrees else findings).append(words)
    return Agreement(case, tuple(answer.method for answer in answers), rows, tuple(verdicts), tuple(findings), failed)


def _shared(answers: Sequence[Answer]) -> list[str]:
    """List the values that at least two answers have, the most important first."""
    counts: dict[str, int] = {}
    for answer in answers:
        for name in answer.values:
            counts[name] = counts.get(name, 0) + 1
    shared = [name for name, count in counts.items() if count > 1]
    return sorted(shared, key=lambda name: _importance(name.partition("[")[0]))


def _importance(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _row(name: str, answers: Sequence[Answer]) -> SideBySide:
    values = tuple(answer.values.get(name) for answer in answers)
    return SideBySide(name, next(value.unit for value in values if value is not None), values)


def _measure(answers: Sequence[Answer]) -> Answer | None:
    """Choose what the others are held against."""
    told = [answer for answer in answers if _time(answer).value is not None]
    simulated = [answer for answer in told if answer.converged is not None]
    exact = [answer for answer in told if answer.exact]
    return next(iter([*simulated, *exact, *told]), None)


def _time(answer: Answer) -> Value:
    """Give what the answer is about: the time, or whatever it gives first."""
    return answer.values.get("time") or next(iter(answer.values.values()), Value(None, "1"))


def _stands(answer: Answer, measure: Answer) -> tuple[str, bool]:
    """Say how an answer stands to the measure, and whether that is as it should be."""
    found, truth = _time(answer), _time(measure)
    assert truth.value is not None
    if found.value is None:
        return _encloses(answer.method, found, measure.method, truth)
    off = _relative(found.value, truth.value)
    if off == 0:
        return f"{answer.method} and {measure.method} agree exactly", True
    if measure.converged is False:
        return f"{answer.method} is {_words(off)} {measure.method}, which did not converge", True
    place = _place(found.value, truth)
    if answer.exact:
        return _exact(answer.method, measure.method, off, place)
    if place <= 1:
        return f"{answer.method} is within the interval of {measure.method} ({_words(off)} its mean)", True
    if answer.promise is not None:
        promised = f"it promises about {100 * answer.promise:.2g} %"
        return f"{answer.method} is {_words(off)} {measure.method}; {promised}", abs(off) <= answer.promise
    reason = next((f", for it {note}" for note in answer.notes if note.startswith("leaves out")), "")
    return f"{answer.method} is {_words(off)} {measure.method}{reason}", True


def _exact(method: str, measure: str, off: float, place: float) -> tuple[str, bool]:
    if place <= 1:
        return f"{method} is exact and within the interval of {measure} ({_words(off)} its mean)", True
    if place <= EDGE:
        words = f"{method} is exact and at the edge of the interval of {measure} ({_words(off)} its mean)"
        return f"{words}; one in twenty is, by chance", True
    return f"{method} claims to be exact, but is {_words(off)} {measure}, outside its interval", False


def _encloses(method: str, bounds: Value, measure: str, truth: Value) -> tuple[str, bool]:
    """Say whether an interval meets bounds, which is all that a simulated mean can be asked for."""
    assert truth.value is not None
    low = truth.value if truth.low is None else truth.low
    high = truth.value if truth.high is None else truth.high
    above = bounds.low is None or high >= bounds.low * (1 - ROUNDING)
    below = bounds.high is None or low <= bounds.high * (1 + ROUNDING)
    if above and below:
        return f"{measure} lies within the {method}", True
    side = "above the upper" if above else "below the lower"
    return f"{measure} lies {side} of the {method}", False


def _relative(value: float, truth: float) -> float:
    """Give the relative difference; 0 where rounding explains it."""
    if math.isclose(value, truth, rel_tol=ROUNDING, abs_tol=1e-300):
        return 0.0
    return value / truth - 1 if truth else math.inf


def _place(value: float, truth: Value) -> float:
    """Say how many half-widths of its interval a value is away from a mean."""
    assert truth.value is not None
    if truth.low is None or truth.high is None or truth.high <= truth.low:
        return math.inf
    return abs(value - truth.value) / ((truth.high - truth.low) / 2)


def _words(off: float) -> str:
    return f"{abs(100 * off):.2g} % {'above' if off > 0 else 'below'}"
