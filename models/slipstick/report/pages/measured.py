"""Measured runs and fits on the page of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.answer import Answer, Value
from slipstick.report.terminal.fits import families, fitted_values, needed
from slipstick.report.terminal.measured import amount
from slipstick.report.words import NOTHING, escape, fraction, markdown_table, percent
from slipstick.results.study import Fitting

__all__ = ["fits_section", "measured_section"]

_LOST = "processors_lost["
_APART = 4.0
"""As in the reading below: models that are less behind are not told apart."""
_READING = (
    "Behind: how far Akaike's criterion, corrected for few observations, is behind the best; under 4 the data do not "
    "tell models apart. Misses the largest: relative error at the largest runs when fitted without them."
)


def measured_section(found: Mapping[str, Sequence[Answer]]) -> str:
    """Write where the processors of measured runs go; nothing where there are none.

    Parameters
    ----------
    found : answers for each number of processors, by question
    """
    parts = [f"### {escape(name)}\n\n{_account(answers)}" for name, answers in found.items()]
    return "\n\n".join(["## Measured runs", *parts]) if parts else ""


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
    causes = dict.fromkeys(name for each in answers for name in each.values if name.startswith(_LOST))
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
    cause = name[len(_LOST) : -1]
    return "processors lost" if cause == "lost" else f"lost to {escape(cause)}"


def _cell(name: str, value: Value | None) -> str:
    if value is None or value.value is None:
        return ""
    if name in ("efficiency", "one_processor_drift"):
        return percent(value.value, 2)
    return fraction(value.value) if value.unit == "1" else amount(value)


def fits_section(found: Mapping[str, Fitting]) -> str:
    """Write fits; nothing where there are none.

    Parameters
    ----------
    found : by question
    """
    parts = [f"### {escape(name)}\n\n{_fit(each)}" for name, each in found.items()]
    overview = [_overview(found)] if len(found) > 1 else []
    return "\n\n".join(["## Fits", _READING, *overview, *parts]) if parts else ""


def _overview(found: Mapping[str, Fitting]) -> str:
    """Say in a line for each fit what the data prefer, and how that does farthest out."""
    rows = []
    for name, each in found.items():
        best, *others = [answer for answer in each.answers if not answer.failed]
        rivals = [answer.model for answer in others if (answer["behind"] or 0.0) < _APART]
        far = next((value for value in reversed(list(best.values)) if value.startswith("time[")), "")
        told = f"{amount(best.values[far])} at p = {far[5:-1]}" if far else NOTHING
        true = each.truth.get(float(far[5:-1])) if far else None
        missed = percent((best[far] or 0.0) / true - 1, 2) if true else NOTHING
        rows.append([escape(name), best.model, ", ".join(rivals) or NOTHING, told, missed])
    known = any(each.truth for each in found.values())
    head = ["fit", "preferred", "not told apart from it", "predicted", *(["misses the truth by"] if known else [])]
    return markdown_table(head, [row[: len(head)] for row in rows], [3, 4][: len(head) - 3])


def _fit(found: Fitting) -> str:
    fitted = [answer for answer in found.answers if not answer.failed]
    head, rows = families(fitted)
    if found.truth:
        times = [name for name in fitted[0].values if name.startswith("time[")]
        head += [f"misses p = {name[5:-1]}" for name in times]
        for row, answer in zip(rows, fitted, strict=True):
            row += [percent((answer[name] or 0.0) / found.truth[float(name[5:-1])] - 1, 2) for name in times]
    told = [f"- {escape(line)}" for line in [*needed(found), *found.warnings]]
    parts = [f"Fitted to {escape(found.source)}.", "\n".join(told), markdown_table(head, rows, range(1, len(head)))]
    failed = [f"- {escape(each.model)}: no fit: {escape(each.failed)}" for each in found.answers if each.failed]
    detailed = [each for each in fitted if each is fitted[0] or _sure(each) or each.model == found.laid]
    return "\n\n".join(filter(None, [*parts, "\n".join(failed), *map(_parameters, detailed)]))


def _sure(answer: Answer) -> bool:
    return any(value.low is not None for value in answer.values.values())


def _between(value: Value) -> str:
    if value.low is None:
        return NOTHING
    return f"{amount(Value(value.low, value.unit))} to {amount(Value(value.high, value.unit))}"


def _parameters(best: Answer) -> str:
    rows = [[escape(name), amount(value), _between(value)] for name, value in fitted_values(best).items()]
    if not rows:
        return escape(best.notes[0])
    return f"{escape(best.notes[0])}\n\n{markdown_table([escape(best.model), 'value', 'between'], rows, [1, 2])}"
