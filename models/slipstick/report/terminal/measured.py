"""Measured runs for the terminal: where the processors went, for each number of them.

Fits for the terminal: what to believe first, then what to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slipstick.answer import Answer, Value
from slipstick.errors import Problem
from slipstick.report.words import ascii_only, fraction, percent, plain, plain_table, quantity, wrapped
from slipstick.results.study import Fitting

_INDENT = "  "
_LOST = "processors_lost["
_LITTLE = 0.05
"""Processors; a cause that loses no more than this anywhere is named, not shown."""

_NOTHING = 1e-9
_MOST_CAUSES, _MOST_COLUMNS, _LONGEST_CAUSE = 12, 7, 32
_STATISTICS = {"median": "median", "mean": "mean", "min": "least"}


def measured_text(answers: Sequence[Answer], title: str = "", source: str = "", statistic: str = "median") -> str:
    """Write what measured runs say: times and speed-up, processors lost by cause, and the check of assumptions.

    Parameters
    ----------
    answers : one for each size and number of processors
    title, source : what the data say of themselves
    statistic : how repetitions became one value
    """
    head = [wrapped(title)] if title else []
    head += [wrapped(f"source: {source}", _INDENT)] if source else []
    parts = ["\n".join(head), _times(answers, statistic), _lost(answers), _largest(answers), _checked(answers)]
    parts += [_failed(answers), _remarks(answers)]
    return ascii_only("\n\n".join(part for part in parts if part) + "\n")


def notes_text(notes: Iterable[Problem]) -> str:
    """Write what is odd about the data, a line each."""
    return "".join(f"note: {note}\n" for note in notes)


def _times(answers: Sequence[Answer], statistic: str) -> str:
    wanted = [
        ("time", "time", amount),
        ("speedup", "speed-up", _ratio),
        ("measured_speedup", "T_1 / T_N", _ratio),
        ("relative_speedup", "speed-up over the smallest", _ratio),
        ("efficiency", "efficiency", _percent),
        ("latency", "latency", amount),
        ("load_balance", "load balance", _percent),
        ("communication_efficiency", "communication", _percent),
    ]
    shown = [each for each in wanted if any(each[0] in answer.values for answer in answers)]
    spread = any(answer.values["time"].low is not None for answer in answers if "time" in answer.values)
    sized = any("n" in answer.point for answer in answers)
    head = ["p", *(["n"] if sized else []), *(title for _, title, _ in shown)]
    head += ["least to largest"] if spread else []
    rows = []
    for answer in answers:
        row = _place(answer, sized) + [word(answer.values.get(name)) for name, _, word in shown]
        rows.append(row + ([_spread(answer.values.get("time"))] if spread else []))
    lead = f"times are the {_STATISTICS.get(statistic, statistic)} of all repetitions\n\n" if spread else ""
    return lead + plain_table(head, rows, range(len(head)))


def _lost(answers: Sequence[Answer]) -> str:
    """Write processors lost, a row for each cause, those that matter most first."""
    told = [answer for answer in answers if _causes(answer)]
    most: dict[str, float] = {}
    for answer in told:
        for cause, lost in _causes(answer).items():
            most[cause] = max(most.get(cause, 0.0), abs(lost))
    ranked = sorted((cause for cause in most if most[cause] > _NOTHING), key=lambda cause: -most[cause])
    if not ranked:
        return ""
    shown = [cause for cause in ranked if most[cause] > _LITTLE][:_MOST_CAUSES] or ranked[:1]
    others = [cause for cause in ranked if cause not in shown]
    columns = _few(told)
    books = [_causes(answer) for answer in columns]
    rows = [["useful", *(_ratio(answer.values.get("speedup")) for answer in columns)]]
    rows += [[_cut(cause), *(fraction(book.get(cause)) for book in books)] for cause in shown]
    if others:
        rows.append(["others", *(fraction(sum(book.get(cause, 0.0) for cause in others)) for book in books)])
    head = ["processors", *("p = " + ", n = ".join(_place(answer, "n" in answer.point)) for answer in columns)]
    parts = ["where the processors go", plain_table(head, rows, range(1, len(head)))]
    if others:
        names = ", ".join(map(_cut, others[:_MOST_CAUSES]))
        parts.append(wrapped(f"others: {names}{', ...' if len(others) > _MOST_CAUSES else ''}"))
    return "\n\n".join(parts)


def _few(answers: Sequence[Answer]) -> list[Answer]:
    """Choose as many points as fit beside one another, the first and the last among them."""
    if len(answers) <= _MOST_COLUMNS:
        return list(answers)
    step = (len(answers) - 1) / (_MOST_COLUMNS - 1)
    return [answers[round(index * step)] for index in range(_MOST_COLUMNS)]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_CAUSE else f"{name[: _LONGEST_CAUSE - 3]}..."


def _largest(answers: Sequence[Answer]) -> str:
    """Say in a sentence where most is lost at the largest number of processors."""
    told = [answer for answer in answers if _causes(answer)]
    if not told:
        return ""
    answer = max(told, key=lambda each: (_number(each.point["p"]), _number(each.point.get("n", 0.0))))
    place = ", n = ".join(_place(answer, "n" in answer.point))
    cause, lost = max(_causes(answer).items(), key=lambda item: item[1])
    if lost <= _LITTLE:
        return ""
    if cause == "lost":
        return wrapped(f"With p = {place}, {fraction(lost)} processors are lost; the data do not say to what.")
    return wrapped(f"With p = {place}, {fraction(lost)} processors go to {_cut(cause)}, more than to anything else.")


def _checked(answers: Sequence[Answer]) -> str:
    """Hold N T_N - W_N against the time on one processor, which says whether the assumptions hold."""
    drifts = [
        (answer, answer.values["one_processor_drift"].value or 0.0)
        for answer in answers
        if "one_processor_drift" in answer.values
    ]
    if not drifts:
        return ""
    one = drifts[0][0].values["one_processor_time"]
    rows = [
        [*_place(answer, False), amount(answer.values["one_processor_estimate"]), percent(drift, 2, signed=True)]
        for answer, drift in drifts
    ]
    table = plain_table(["p", "N T_N - W_N", "against T_1"], rows, range(3))
    worst = max((drift for _, drift in drifts), key=abs)
    if abs(worst) <= 0.05:
        words = "the same work is done with N processors as with one, and little is lost that was not measured"
    elif worst > 0:
        words = "more work is done with N processors than with one, or something is lost that was not measured"
    else:
        words = "less work is done with N processors than with one, or waits are counted twice"
    return f"the assumptions: T_1 = {amount(one)} measured\n\n{table}\n\n{wrapped(f'Within {percent(abs(worst), 2)}: {words}.')}"


def _failed(answers: Sequence[Answer]) -> str:
    words = [f"p = {answer.point['p']:g}: no answer: {answer.failed}" for answer in answers if answer.failed]
    return "\n".join(words)


def _remarks(answers: Sequence[Answer]) -> str:
    return "\n".join(wrapped(f"note: {note}", _INDENT) for note in dict.fromkeys(n for a in answers for n in a.notes))


def _causes(answer: Answer) -> dict[str, float]:
    return {
        name.removeprefix(_LOST).removesuffix("]"): each.value
        for name, each in answer.values.items()
        if name.startswith(_LOST) and each.value is not None
    }


def _place(answer: Answer, sized: bool) -> list[str]:
    words = [f"{answer.point['p']:g}"]
    return [*words, plain(_number(answer.point["n"])) if "n" in answer.point else ""] if sized else words


def _number(value: float | str) -> float:
    return float(value)


def amount(value: Value | None) -> str:
    """Write a quantity; times from seconds to a day stay in seconds, to be compared."""
    if value is None or value.value is None:
        return ""
    in_seconds = value.unit == "s" and 1 <= abs(value.value) < 86_400
    return f"{value.value:.4g} s" if in_seconds else quantity(value.value, value.unit)


def _ratio(value: Value | None) -> str:
    return f"{value.value:.4g}" if value and value.value is not None else ""


def _percent(value: Value | None) -> str:
    return percent(value.value) if value else ""


def _spread(value: Value | None) -> str:
    if value is None or value.low is None:
        return ""
    return f"{amount(Value(value.low, value.unit))} to {amount(Value(value.high, value.unit))}"


_FitsLOST, _SIZE, _TIME = "processors_lost[", "size_needed[", "time["

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
    lost = {name: value for name, value in best.values.items() if name.startswith(_FitsLOST)}
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
    following = (_FitsLOST, _SIZE, _TIME)
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
