"""Fits for the terminal: what to believe first, then what to expect."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.answer import Answer, Value
from slipstick.report.terminal.measured import amount
from slipstick.report.words import ascii_only, percent, plain, plain_table, wrapped
from slipstick.results.study import Fitting

__all__ = ["families", "fits_text", "fitted_values", "needed"]

_INDENT = "  "
_LOST, _SIZE, _TIME = "processors_lost[", "size_needed[", "time["
_MEASURES = (
    "behind",
    "scatter",
    "missed",
    "fastest_processors",
    "fastest_time",
    "largest_speedup",
    "largest_speedup_processors",
    "efficient_processors",
    "most_processors",
)


def fits_text(found: Fitting) -> str:
    """Write fits: what a person needs first, all families beside one another, and those that the data leave.

    Parameters
    ----------
    found : the fits
    """
    answers, warnings = found.answers, found.warnings
    fitted = [answer for answer in answers if not answer.failed]
    left = [answer for answer in fitted if _has_interval(answer)] or fitted[:1]
    parts = ["\n".join(map(wrapped, needed(found))), plain_table(*families(fitted), range(1, 99))]
    parts += [_details(answer, found.efficiency) for answer in left]
    parts.append("\n".join(wrapped(f"warning: {each}", _INDENT) for each in warnings))
    parts.append("\n".join(wrapped(f"{each.model}: no fit: {each.failed}", _INDENT) for each in answers if each.failed))
    return ascii_only("\n\n".join(part for part in parts if part) + "\n")


def needed(found: Fitting) -> list[str]:
    """Say what a person needs first, of the model that the data prefer: how far, what limits, what is lost, the rest.

    Parameters
    ----------
    found : as for `fits_text`
    """
    best = found.answers[0]
    lost = {name: value for name, value in best.values.items() if name.startswith(_LOST)}
    lines = [f"By {best.model}: {_limits(best, found.efficiency)}"]
    if lost:
        (cause, most) = next(iter(lost.items()))
        at = best.point["p"]
        lines.append(f"Most is lost to {cause[len(_LOST) : -1]}: {most.value:.3g} of {at:g} processors at p = {at:g}.")
    for name, value in best.values.items():
        if name.startswith("time["):
            between = f", between {_between(value, 'and')}" if value.low is not None else ""
            lines.append(f"At p = {name[5:-1]}: {amount(value)}{between}.")
        if name.startswith(_SIZE):
            lines.append(_size(value, f"efficiency of {percent(found.efficiency)} at p = {name[len(_SIZE) : -1]}"))
    return [*lines, f"{found.verdict[:1].upper()}{found.verdict[1:]}."]


def _size(needed: Value, goal: str) -> str:
    if not needed.value:
        return f"No size has an {goal}."
    words = f"An {goal} needs n = {plain(needed.value)}"
    if needed.low is None:
        return f"{words}."
    if needed.high is None:
        return f"{words}, at least {plain(needed.low)}; no largest can be told."
    return f"{words}, between {plain(needed.low)} and {plain(needed.high)}."


def families(answers: Sequence[Answer]) -> tuple[list[str], list[list[str]]]:
    """Put all families beside one another: a head and rows.

    Parameters
    ----------
    answers : those with a fit
    """
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
    return head, rows


def fitted_values(answer: Answer) -> dict[str, Value]:
    """Give the parameters of a fit, without what follows from them.

    Parameters
    ----------
    answer : a fit
    """
    following = (_LOST, _SIZE, _TIME)
    return {
        name: each for name, each in answer.values.items() if name not in _MEASURES and not name.startswith(following)
    }


def _details(answer: Answer, efficient: float) -> str:
    told = {**fitted_values(answer), **{name: each for name, each in answer.values.items() if name.startswith(_TIME)}}
    rows = [[name, amount(value), _between(value) if value.low is not None else ""] for name, value in told.items()]
    lines = [
        wrapped(f"{answer.model}: {answer.notes[0]}", _INDENT),
        "",
        plain_table(["", "value", "between"], rows, [1, 2]),
    ]
    lines += ["", wrapped(_limits(answer, efficient))]
    return "\n".join([*lines, *(wrapped(f"note: {note}", _INDENT) for note in answer.notes[1:])])


def _between(value: Value, word: str = "to") -> str:
    return f"{amount(Value(value.low, value.unit))} {word} {amount(Value(value.high, value.unit))}"


def _limits(answer: Answer, efficient: float) -> str:
    def number(name: str) -> float:
        return answer[name] or 0.0

    def place(processors: float) -> str:
        return (
            f"p = {processors:g}{', the most that were looked at' if processors == number('most_processors') else ''}"
        )

    at = number("largest_speedup_processors")
    rises = "still rises, to" if at == number("most_processors") else "is at most"
    words = f"Efficiency is at least {percent(efficient)} up to {place(number('efficient_processors'))}."
    words += f" Speed-up {rises} {plain(number('largest_speedup'), 3)}, at {place(at)}."
    if "fastest_processors" in answer.values:
        time = amount(answer.values["fastest_time"])
        words = f"Fastest at p = {answer['fastest_processors']:g}, in {time}. {words}"
    return words


def _has_interval(answer: Answer) -> bool:
    return any(value.low is not None for value in answer.values.values())
