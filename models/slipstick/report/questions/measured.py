"""Measured runs: where the processors went, for each number of them; for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from slipstick.answer import Answer, Value
from slipstick.errors import Problem
from slipstick.report.document import answer_document
from slipstick.report.formatting import (
    ascii_only,
    escape,
    fraction,
    markdown_table,
    percent,
    plain,
    plain_table,
    quantity,
    wrapped,
)
from slipstick.results.study import QuestionResult

LOST = "processors_lost["
INDENT = "  "
_LITTLE = 0.05
"""Processors; a cause that loses no more than this anywhere is named, not shown."""

_NOTHING = 1e-9
_MOST_CAUSES, _MOST_COLUMNS, _LONGEST_CAUSE = 12, 7, 32
_STATISTICS = {"median": "median", "mean": "mean", "min": "least"}


@dataclass(frozen=True, slots=True)
class MeasuredResult(QuestionResult):
    """Where the processors of measured runs go.

    Parameters
    ----------
    runs : answers for each number of processors, by question
    """

    before_cases: ClassVar[bool] = True
    leading_columns: ClassVar[bool] = True
    runs: Mapping[str, Sequence[Answer]]

    def section(self) -> str:
        parts = [f"### {escape(name)}\n\n{_account(answers)}" for name, answers in self.runs.items()]
        return "\n\n".join(["## Measured runs", *parts])

    def document(self) -> dict[str, Any]:
        return {"measured": {name: list(map(answer_document, answers)) for name, answers in self.runs.items()}}

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(name, answers) for name, answers in self.runs.items()]

    def named_answers(self) -> dict[str, Answer]:
        """Name the answer for each number of processors NAME-PROCESSORS."""
        return {f"{name}-{each.point['p']:g}": each for name, answers in self.runs.items() for each in answers}


def _account(answers: Sequence[Answer]) -> str:
    wanted = {
        "time": "time",
        "speedup": "speed-up",
        "measured_speedup": "T_1 / T_N",
        "efficiency": "efficiency",
        "latency": "latency",
        "one_processor_estimate": "T_1 = N T_N - W_N",
        "one_processor_drift": "beside the measured T_1",
    }
    causes = dict.fromkeys(name for each in answers for name in each.values if name.startswith(LOST))
    shown = [name for name in wanted if any(name in each.values for each in answers)]
    head = ["p", *(wanted[name] for name in shown), *(_lost_to(name) for name in causes)]
    rows = [
        [
            f"{each.point['p']:g}",
            *(_cell(name, each.values.get(name)) for name in shown),
            *(fraction(each.find(name)) for name in causes),
        ]
        for each in answers
    ]
    return markdown_table(head, rows, range(len(head)))


def _lost_to(name: str) -> str:
    cause = name[len(LOST) : -1]
    return "processors lost" if cause == "lost" else f"lost to {escape(cause)}"


def _cell(name: str, value: Value | None) -> str:
    if value is None or value.value is None:
        return ""
    if name in ("efficiency", "one_processor_drift"):
        return percent(value.value, 2)
    return fraction(value.value) if value.unit == "1" else amount(value)


def measured_text(answers: Sequence[Answer], title: str = "", source: str = "", statistic: str = "median") -> str:
    """Write what measured runs say: times and speed-up, processors lost by cause, and the check of assumptions.

    Parameters
    ----------
    answers : one for each size and number of processors
    title, source : what the data say of themselves
    statistic : how repetitions became one value
    """
    head = [wrapped(title)] if title else []
    head += [wrapped(f"source: {source}", INDENT)] if source else []
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
    return "\n".join(wrapped(f"note: {note}", INDENT) for note in dict.fromkeys(n for a in answers for n in a.notes))


def _causes(answer: Answer) -> dict[str, float]:
    return {
        name.removeprefix(LOST).removesuffix("]"): each.value
        for name, each in answer.values.items()
        if name.startswith(LOST) and each.value is not None
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


def _columns(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    units = {value: each.unit for answer in answers for value, each in answer.values.items()}
    return {
        "sweep": [f"measured/{name}"] * len(answers),
        "case": [None] * len(answers),
        "p [1]": [answer.point["p"] for answer in answers],
        "n [1]": [answer.point.get("n") for answer in answers],
        **{f"{value} [{unit}]": [answer.find(value) for answer in answers] for value, unit in units.items()},
        "failed": [answer.failed for answer in answers],
    }
