"""Models fitted to measured times: what to believe first, then what to expect; for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from slipstick.answer import Answer, Value
from slipstick.report.document import answer_document
from slipstick.report.formatting import (
    NOTHING,
    ascii_only,
    escape,
    markdown_table,
    percent,
    plain,
    plain_table,
    wrapped,
)
from slipstick.report.pictures.figures import STROKES, axis_title, logarithmic, sheet, title_of
from slipstick.report.questions.measured import INDENT, LOST, amount
from slipstick.results.study import Fitting, QuestionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import FitsPictureSpec


_SIZE, _TIME = "size_needed[", "time["

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
    parts.append("\n".join(wrapped(f"warning: {each}", INDENT) for each in warnings))
    parts.append("\n".join(wrapped(f"{each.model}: no fit: {each.failed}", INDENT) for each in answers if each.failed))
    return ascii_only("\n\n".join(part for part in parts if part) + "\n")


def needed(found: Fitting) -> list[str]:
    """Say what a person needs first, of the model that the data prefer: how far, what limits, what is lost, the rest.

    Parameters
    ----------
    found : as for `fits_text`
    """
    best = found.answers[0]
    lost = {name: value for name, value in best.values.items() if name.startswith(LOST)}
    lines = [f"By {best.model}: {_limits(best, found.efficiency)}"]
    if lost:
        (cause, most) = next(iter(lost.items()))
        at = best.point["p"]
        lines.append(f"Most is lost to {cause[len(LOST) : -1]}: {most.value:.3g} of {at:g} processors at p = {at:g}.")
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
    following = (LOST, _SIZE, _TIME)
    return {
        name: each for name, each in answer.values.items() if name not in _MEASURES and not name.startswith(following)
    }


def _details(answer: Answer, efficient: float) -> str:
    told = {**fitted_values(answer), **{name: each for name, each in answer.values.items() if name.startswith(_TIME)}}
    rows = [[name, amount(value), _between(value) if value.low is not None else ""] for name, value in told.items()]
    lines = [
        wrapped(f"{answer.model}: {answer.notes[0]}", INDENT),
        "",
        plain_table(["", "value", "between"], rows, [1, 2]),
    ]
    lines += ["", wrapped(_limits(answer, efficient))]
    return "\n".join([*lines, *(wrapped(f"note: {note}", INDENT) for note in answer.notes[1:])])


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


_APART = 4.0
"""As in the reading below: models that are less behind are not told apart."""

_READING = (
    "Behind: how far Akaike's criterion, corrected for few observations, is behind the best; under 4 the data do not "
    "tell models apart. Misses the largest: relative error at the largest runs when fitted without them."
)


@dataclass(frozen=True, slots=True)
class FitsResult(QuestionResult):
    """Models fitted to measured times.

    Parameters
    ----------
    fits : by question
    """

    before_cases: ClassVar[bool] = True
    fits: Mapping[str, Fitting]

    def section(self) -> str:
        parts = [f"### {escape(name)}\n\n{_fit(each)}" for name, each in self.fits.items()]
        overview = [_overview(self.fits)] if len(self.fits) > 1 else []
        return "\n\n".join(["## Fits", _READING, *overview, *parts])

    def document(self) -> dict[str, Any]:
        return {"fits": {name: fitting_document(each) for name, each in self.fits.items()}}

    def files(self) -> dict[str, list[dict[str, Any]]]:
        """Give every value of every model, with its interval where there is one."""
        rows = [
            {"fit": name, "model": answer.model, "value": value, "unit": each.unit}
            | {"is": each.value, "low": each.low, "high": each.high}
            for name, found in self.fits.items()
            for answer in found.answers
            for value, each in answer.values.items()
        ]
        return {"fits.csv": rows}

    def draw(self, spec: FitsPictureSpec) -> Figure:
        """Draw one fit."""
        return draw_fits(self.fits[spec.fit], spec.title)


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
    detailed = [each for each in fitted if each is fitted[0] or _has_interval(each) or each.model == found.laid]
    return "\n\n".join(filter(None, [*parts, "\n".join(failed), *map(_parameters, detailed)]))


def _parameters(best: Answer) -> str:
    rows = [
        [escape(name), amount(value), _between(value) if value.low is not None else NOTHING]
        for name, value in fitted_values(best).items()
    ]
    if not rows:
        return escape(best.notes[0])
    return f"{escape(best.notes[0])}\n\n{markdown_table([escape(best.model), 'value', 'between'], rows, [1, 2])}"


def fitting_document(fitting: Fitting) -> dict[str, Any]:
    """Lay out fits: an answer for each model, best first, and what the data tell."""
    return {
        "answers": list(map(answer_document, fitting.answers)),
        "verdict": fitting.verdict,
        "warnings": list(fitting.warnings),
    }


MOST_CURVES = 6


def draw_fits(found: Fitting, title: str) -> Figure:
    """Draw measured times and the fits over the number of processors; both axes are logarithmic.

    Where nothing was measured the ground is grey: there the curves are extrapolations.

    Parameters
    ----------
    found : the fits, with curves
    title : heading
    """

    import numpy as np

    figure = sheet(7.5, 4.4)
    axes = figure.subplots()
    for curve, (colour, _, dashes) in zip(found.curves[:MOST_CURVES], STROKES[1:], strict=False):
        axes.plot(curve.p, curve.time, color=colour, linestyle=dashes, label=curve.name)
        if curve.low:
            axes.fill_between(curve.at, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(
        found.p, found.time, linestyle="", marker="o", color=STROKES[0][0], markersize=4, label="measured", zorder=5
    )
    axes.set_xscale("log", base=2)
    logarithmic(axes.yaxis, np.array([*found.time, *(time for curve in found.curves for time in curve.time)]))
    last = max([max(found.p), *(max(curve.p) for curve in found.curves)])
    axes.axvspan(max(found.p), last, color="#000000", alpha=0.07, linewidth=0, label="beyond the data")
    ticks = [2.0**power for power in range(int(last).bit_length()) if 2.0**power <= last]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(1 / 1.1, last)
    axes.set_xlabel("processors" if found.size is None else f"processors, n = {plain(found.size)}")
    axes.set_ylabel(axis_title("time", "s"))
    figure.legend(loc="outside right upper", alignment="left")
    title_of(figure, title)
    return figure
