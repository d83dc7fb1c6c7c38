"""Fits for the terminal: what to believe first, then what to expect."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.answer import Answer, Value
from slipstick.report.measured_text import amount
from slipstick.report.words import ascii_only, percent, plain_table, wrapped

__all__ = ["fits_text"]

_INDENT = "  "
_MEASURES = ("behind", "scatter", "missed", "fastest_processors", "fastest_time", "efficient_processors")


def fits_text(answers: Sequence[Answer], verdict: str, warnings: Sequence[str], efficient: float) -> str:
    """Write fits: the verdict, all families beside one another, and what is known of those that the data leave.

    Parameters
    ----------
    answers : one for each family, best first
    verdict, warnings : in words
    efficient : the efficiency that the processors in the answers keep [1]
    """
    fitted = [answer for answer in answers if not answer.failed]
    left = [answer for answer in fitted if _has_interval(answer)] or fitted[:1]
    parts = [wrapped(f"{verdict[:1].upper()}{verdict[1:]}."), _families(fitted)]
    parts += [_details(answer, efficient) for answer in left]
    parts.append("\n".join(wrapped(f"warning: {each}", _INDENT) for each in warnings))
    parts.append("\n".join(wrapped(f"{each.model}: no fit: {each.failed}", _INDENT) for each in answers if each.failed))
    return ascii_only("\n\n".join(part for part in parts if part) + "\n")


def _families(answers: Sequence[Answer]) -> str:
    times = [name for name in answers[0].values if name.startswith("time[")]
    head = ["model", "behind", "scatter", "misses the largest", *(f"p = {name[5:-1]}" for name in times)]
    rows = [
        [
            answer.model,
            f"{answer['behind']:.1f}",
            percent(answer["scatter"], 2),
            percent(answer["missed"] if "missed" in answer.values else None, 2),
            *(amount(answer.values[name]) for name in times),
        ]
        for answer in answers
    ]
    return plain_table(head, rows, range(1, len(head)))


def _details(answer: Answer, efficient: float) -> str:
    rows = [
        [
            name,
            amount(value),
            *(
                [f"{amount(Value(value.low, value.unit))} to {amount(Value(value.high, value.unit))}"]
                if value.low is not None
                else [""]
            ),
        ]
        for name, value in answer.values.items()
        if name not in _MEASURES
    ]
    lines = [
        wrapped(f"{answer.model}: {answer.notes[0]}", _INDENT),
        "",
        plain_table(["", "value", "between"], rows, [1, 2]),
    ]
    lines += ["", wrapped(_limits(answer, efficient))]
    return "\n".join([*lines, *(wrapped(f"note: {note}", _INDENT) for note in answer.notes[1:])])


def _limits(answer: Answer, efficient: float) -> str:
    words = f"Efficiency is at least {percent(efficient)} up to p = {answer['efficient_processors']:g}."
    if "fastest_processors" in answer.values:
        time = amount(answer.values["fastest_time"])
        words = f"Fastest at p = {answer['fastest_processors']:g}, in {time}. {words}"
    return words


def _has_interval(answer: Answer) -> bool:
    return any(value.low is not None for value in answer.values.values())
