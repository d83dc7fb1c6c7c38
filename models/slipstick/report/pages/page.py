"""The page of a study, in Markdown.

Sweeps as a section of a page: every point of a small one, the ends and extremes of a large one.

Measured runs and fits on the page of a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from slipstick.answer import Answer, Takeover, Value
from slipstick.report.findings.compare import comparison_section
from slipstick.report.findings.questions import choices_section, projection_section, sampling_section, sought_section
from slipstick.report.findings.scale import scaling_section
from slipstick.report.findings.side_by_side import agreement_section
from slipstick.report.terminal.measured import amount, families, fitted_values, needed
from slipstick.report.values import unit_of
from slipstick.report.words import (
    NOTHING,
    Notes,
    code,
    column,
    counted,
    escape,
    fraction,
    markdown_table,
    percent,
    prose,
    quantity,
)
from slipstick.results.study import Axis, Fitting, Ranking, Results, Sweep

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import StudySpec


MOST_POINTS = 40
_MOST_COLUMNS = 8
_MOST_CHANGES = 12
_MOST_GROUPS = 12


def sweep_section(results: Results, answer: Sequence[str]) -> str:
    """Write all sweeps.

    Parameters
    ----------
    results : of a study
    answer : the values to show
    """
    if not results.sweeps:
        return ""
    return "\n\n".join(["## Sweeps", *(sweep_text(sweep, answer) for sweep in results.sweeps)])


def sweep_text(sweep: Sweep, answer: Sequence[str]) -> str:
    """Write one sweep: what was varied, a table, where the limiting stage changes, what failed.

    Parameters
    ----------
    sweep : its points
    answer : the values to show
    """
    names = [name for name in dict.fromkeys(answer) if name in sweep.columns][:_MOST_COLUMNS]
    table = _every_point if len(sweep) <= MOST_POINTS else _extremes
    parts = [
        f"### {escape(sweep.name)}",
        "\n".join(f"- {_axis_text(axis)}" for axis in sweep.axes)
        + f"\n- {counted(len(sweep), 'point')} in {counted(len(set(sweep.cases)), 'case')}",
        table(sweep, names) if len(sweep) else "",
        _stages(sweep),
        _without_effect(sweep),
        _failures(sweep),
    ]
    return "\n\n".join(part for part in parts if part)


def _axis_text(axis: Axis) -> str:
    if len(axis.values) <= 4 or axis.named:
        return f"{code(axis.path)}: {', '.join(escape(_axis_value(axis, value)) for value in axis.values)}"
    first, last = _axis_value(axis, axis.values[0]), _axis_value(axis, axis.values[-1])
    return f"{code(axis.path)}: {len(axis.values)} values from {first} to {last}"


def _axis_value(axis: Axis, value: float | str) -> str:
    return value if isinstance(value, str) else quantity(float(value), axis.unit)


def _every_point(sweep: Sweep, names: Sequence[str]) -> str:
    head, columns = ["case"], [[escape(case) for case in sweep.cases]]
    for axis in sweep.axes:
        head.append(code(axis.path))
        columns.append([escape(_axis_value(axis, value)) for value in sweep.points[axis.path]])
    for name in names:
        unit, texts = column([_known(value) for value in sweep.columns[name]], sweep.units[name])
        head.append(f"{escape(name)} [{unit}]")
        columns.append(texts)
    for pipeline, stages in sweep.limits.items():
        head.append(f"limit[{escape(pipeline)}]")
        columns.append([escape(stage) or NOTHING for stage in stages])
    varied = [1 + index for index, axis in enumerate(sweep.axes) if not axis.named]
    numbers = [*varied, *range(1 + len(sweep.axes), 1 + len(sweep.axes) + len(names))]
    return markdown_table(head, zip(*columns, strict=True), numbers)


@dataclass(frozen=True, slots=True)
class _Group:
    """Points of one case and, while there are few of them, of one place on all axes but the last.

    Parameters
    ----------
    tags : the case and the places
    axes : what varies within
    indices : of the points [1]
    """

    tags: tuple[str, ...]
    axes: tuple[Axis, ...]
    indices: tuple[int, ...]


def _groups(sweep: Sweep) -> list[_Group]:
    several = prod(len(axis.values) for axis in sweep.axes[:-1])
    # Where values are varied side by side, every place has one point only.
    fixed = sweep.axes[:-1] if several <= min(_MOST_GROUPS, len(sweep) // (2 * len(set(sweep.cases)))) else ()
    found: dict[tuple[str, ...], list[int]] = {}
    for index, case in enumerate(sweep.cases):
        places = (_axis_value(axis, sweep.points[axis.path][index]) for axis in fixed)
        found.setdefault((case, *places), []).append(index)
    return [_Group(tags, sweep.axes[len(fixed) :], tuple(indices)) for tags, indices in found.items()]


def _extremes(sweep: Sweep, names: Sequence[str]) -> str:
    """Give the first and the last point of each group, and where each value is least and greatest."""
    rows, groups = [], _groups(sweep)
    for group in groups:
        for name in names:
            values = sweep.columns[name][list(group.indices)]
            known = np.flatnonzero(np.isfinite(values))
            spots = (
                [known[0], known[-1], known[values[known].argmin()], known[values[known].argmax()]]
                if len(known)
                else []
            )
            texts = [_value_at(sweep, group, name, group.indices[spot]) for spot in spots]
            rows.append([*map(escape, group.tags), escape(name), *(texts or [NOTHING] * 4)])
    fixed = sweep.axes[: len(sweep.axes) - len(groups[0].axes)]
    head = ["case", *(code(axis.path) for axis in fixed), "value", "first", "last", "least", "greatest"]
    return markdown_table(head, rows)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _value_at(sweep: Sweep, group: _Group, name: str, index: int) -> str:
    return f"{quantity(float(sweep.columns[name][index]), sweep.units[name])} at {_point(sweep, group.axes, index)}"


def _point(sweep: Sweep, axes: Sequence[Axis], index: int) -> str:
    words = [escape(_axis_value(axis, sweep.points[axis.path][index])) for axis in axes]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _stages(sweep: Sweep) -> str:
    """Say which stage limits each pipeline: in order along the last axis, or by number of points."""
    if not len(sweep):
        return ""
    groups, parts = _groups(sweep), []
    along = f", along {code(sweep.axes[-1].path)}" if len(groups[0].axes) == 1 else ""
    for pipeline, stages in sweep.limits.items():
        lines = []
        for group in groups:
            places = [index for index in group.indices if stages[index]]
            runs = _runs(sweep, stages, places) if len(group.axes) == 1 else []
            words = "; then ".join(runs) if 0 < len(runs) <= _MOST_CHANGES else _counts(stages, places)
            if words:
                lines.append(f"- {escape(', '.join(group.tags))}: {words}")
        if lines:
            parts.append("\n".join([f"Limiting stage of {escape(pipeline)}{along}:\n", *lines]))
    return "\n\n".join(parts)


def _runs(sweep: Sweep, stages: Sequence[str], places: Sequence[int]) -> list[str]:
    found, axis = [], sweep.axes[-1]
    for stage, run in groupby(places, key=lambda index: stages[index]):
        inside = [sweep.points[axis.path][index] for index in run]
        first, last = (escape(_axis_value(axis, value)) for value in (inside[0], inside[-1]))
        found.append(f"{escape(stage)} at {first}" if len(inside) == 1 else f"{escape(stage)} from {first} to {last}")
    return found


def _counts(stages: Sequence[str], places: Sequence[int]) -> str:
    found = Counter(stages[index] for index in places)
    return ", ".join(f"{escape(stage)} at {counted(count, 'point')}" for stage, count in found.most_common())


def _without_effect(sweep: Sweep) -> str:
    return f"Without effect: {', '.join(map(code, sweep.idle))}." if sweep.idle else ""


def _failures(sweep: Sweep) -> str:
    if not sweep.failed:
        return ""
    index, why = next(iter(sweep.failed.items()))
    return (
        f"{counted(len(sweep.failed), 'point has', 'points have')} no answer; the first, "
        f"{escape(sweep.cases[index])} at {_point(sweep, sweep.axes, index)}: {escape(why)}"
    )


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


_MOST_SETTINGS = 4
_ELSEWHERE = "Every point is in [results.csv](results.csv), every input in [inputs.yaml](inputs.yaml)."
_FITS_ELSEWHERE = "All values of all fits are in [fits.csv](fits.csv)."

_PageREADING = (
    "Share: one percent less of the quantity saves this much of one percent of the time; the shares of all quantities "
    "add up to 100 %. Elasticity: relative change of the time for a relative change of the quantity. Time saved: solved "
    "anew with the quantity changed, where the change is allowed."
)

_NEAREST = 4
_MOST_PIPELINES = 60

_TAKEOVERS = (
    f"Where another stage takes over, each parameter changed alone: the {_NEAREST} smallest changes. "
    "`slipstick solve --json` gives all."
)


def page(results: Results, study: StudySpec, pictures: Mapping[str, Sequence[str]], command: str) -> str:
    """Write report.md: everything in words and tables, pictures by name, and how to repeat it.

    Parameters
    ----------
    results : of a study
    study : what was asked
    pictures : names of the files of each picture, by the picture's name
    command : what was typed
    """
    sections = [
        _head(results, command),
        measured_section(results.measured),
        fits_section(results.fits),
        _cases(results, study.answer) if results.cases else "",
        comparison_section(results.comparisons),
        agreement_section(results.agreements),
        _limits(results),
        _rankings(results),
        choices_section(results.choices),
        projection_section(results.projection, command),
        sought_section(results.sought),
        sampling_section(results.samplings),
        sweep_section(results, study.answer),
        scaling_section(results.scalings),
        _pictures(study, pictures),
        _notes(results),
        _inputs(results),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _head(results: Results, command: str) -> str:
    parts = [
        f"# {escape(results.title or results.name)}",
        prose(results.text),
        f"Source: {escape(results.source)}" if results.source else "",
        f"Repeat with {code(command)}. {_ELSEWHERE}{f' {_FITS_ELSEWHERE}' if results.fits else ''}",
    ]
    return "\n\n".join(part for part in parts if part)


def _cases(results: Results, answer: Sequence[str]) -> str:
    names = [name for name in dict.fromkeys(answer) if "[" not in name] or _first_wanted(results, answer)
    notes = Notes()
    rows = [_case(results, case, names, notes) for case in results.cases]
    head = ["case", "model", "differs from the base in", *map(escape, names), "method", "exact", "notes"]
    listed = [f"{number}. {escape(text)}" for number, text in notes.listed.items()]
    table = markdown_table(head, rows, range(3, 3 + len(names)))
    return "\n\n".join(part for part in ("## Cases", table, "\n".join(listed)) if part)


def _first_wanted(results: Results, answer: Sequence[str]) -> list[str]:
    """Choose what the cases have of what is wanted, as few values as speak for all of them."""
    chosen: list[str] = []
    for each in results.cases.values():
        if not any(each.find(name) is not None for name in chosen):
            chosen += [name for name in answer if each.find(name) is not None][:1]
    return chosen or list(answer[:1])


def _case(results: Results, case: str, names: Sequence[str], notes: Notes) -> list[str]:
    answer = results.cases[case]
    values = [quantity(answer.find(name), unit_of(results, name)) for name in names]
    said = [f"no answer: {answer.failed}"] if answer.failed else answer.notes
    numbers = ", ".join(str(notes.number(note)) for note in said)
    exact = NOTHING if answer.failed else "yes" if answer.exact else "no"
    return [escape(case), code(answer.model), _settings(results, case), *values, escape(answer.method), exact, numbers]


def _settings(results: Results, case: str) -> str:
    # The model has a column of its own.
    settings = {path: text for path, text in results.settings.get(case, {}).items() if path != "model"}
    shown = [f"{code(path)} {escape(text)}" for path, text in list(settings.items())[:_MOST_SETTINGS]]
    more = len(settings) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])


def _limits(results: Results) -> str:
    limiting = [row for case, answer in results.cases.items() for row in _limit_rows(case, answer)]
    if not limiting:
        return ""
    table = markdown_table(["case", "pipeline", "limiting stage", "one item at each serial stage"], limiting)
    if len(limiting) > _MOST_PIPELINES:
        return f"## What limits\n\n{len(limiting)} pipelines; `slipstick solve --json` says what limits each of them."
    others = [row for case, answer in results.cases.items() for row in _takeover_rows(case, answer)]
    takeovers = markdown_table(["case", "pipeline", "nearest takeovers"], others) if others else ""
    return "\n\n".join(part for part in ("## What limits", table, _TAKEOVERS if others else "", takeovers) if part)


def _limit_rows(case: str, answer: Answer) -> list[list[str]]:
    return [
        [
            escape(case),
            escape(each.pipeline),
            escape(each.stage),
            ", ".join(f"{escape(stage)} {quantity(seconds, 's')}" for stage, seconds in each.stages.items()),
        ]
        for each in answer.limits
    ]


def _takeover_rows(case: str, answer: Answer) -> list[list[str]]:
    return [
        [escape(case), escape(each.pipeline), "; ".join(map(_takeover, each.takeovers[:_NEAREST]))]
        for each in answer.limits
        if each.takeovers
    ]


def _takeover(to: Takeover) -> str:
    return f"{code(to.path)} from {quantity(to.now, to.unit)} to {quantity(to.value, to.unit)}: {escape(to.stage)}"


def _rankings(results: Results) -> str:
    if not results.rankings:
        return ""
    return "\n\n".join(["## What would help most", _PageREADING, *map(_ranking, results.rankings)])


def _ranking(ranking: Ranking) -> str:
    head = ["parameter", "meaning", "value", "share", "elasticity", "change", "time saved"]
    rows = [
        [
            code(each.path),
            escape(each.meaning),
            quantity(each.value, each.unit),
            percent(each.share),
            fraction(each.elasticity),
            f"{percent(ranking.change)} {'more' if each.more else 'less'}",
            percent(each.effect),
        ]
        for each in ranking.rows
    ]
    parts = [
        f"### Case {escape(ranking.case)}" + (f" under {escape(ranking.under)}" if ranking.under else ""),
        markdown_table(head, rows, [2, 3, 4, 6]) if rows else "",
        f"Without effect here: {', '.join(map(code, ranking.idle))}." if ranking.idle else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _pictures(study: StudySpec, pictures: Mapping[str, Sequence[str]]) -> str:
    parts = ["## Pictures"]
    for spec in study.pictures:
        files = pictures.get(spec.name, ())
        shown = [f"![{escape(spec.title)}]({file})" for file in files if file.endswith(".png")]
        others = [f"[{file}]({file})" for file in files if not file.endswith(".png")]
        caption = " ".join([f"{escape(spec.title)}.", prose(spec.text), *others])
        parts += [*shown, " ".join(caption.split())]
    return "\n\n".join(parts) if study.pictures else ""


def _notes(results: Results) -> str:
    lines = [f"- {escape(note)}" for note in results.notes]
    return "\n".join(["## Notes", "", *lines]) if lines else ""


def _inputs(results: Results) -> str:
    """List the files by hash; the versions of what computed stand in inputs.yaml, for they change no number."""
    hashes = [[code(name), code(digest)] for name, digest in results.hashes.items()]
    table = markdown_table(["file", "SHA-256"], hashes) if hashes else ""
    return "\n\n".join(part for part in ("## Inputs", table) if part)
