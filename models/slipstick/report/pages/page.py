"""The page of a study, in Markdown: cases, what each question found, sweeps, pictures, inputs.

A sweep of few points is written point by point, of a large one the ends and the extremes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from slipstick.answer import Answer, Takeover
from slipstick.report.formatting import (
    INTERVALS,
    NOTHING,
    Notes,
    code,
    counted,
    escape,
    markdown_table,
    prose,
    quantity,
    question_section,
    result_table,
)
from slipstick.report.pages.summary import summary
from slipstick.results.question import ResultColumn, case_table, sweep_table
from slipstick.results.study import Axis, Results, Sweep

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import Drawn, StudySpec


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
    few = len(sweep) <= MOST_POINTS
    parts = [
        f"### {escape(sweep.name)}",
        "\n".join(f"- {_axis_text(axis)}" for axis in sweep.axes)
        + f"\n- {counted(len(sweep), 'point')} in {counted(len(set(sweep.cases)), 'case')}",
        "" if few else _outside(sweep),
        result_table(sweep_table(sweep, names)) if few else _extremes(sweep, names),
        _stages(sweep),
        _without_effect(sweep),
        "" if few else _failures(sweep),
    ]
    return "\n\n".join(part for part in parts if part)


def _outside(sweep: Sweep) -> str:
    """Say how many points lie outside of their bounds, and where the first of them is."""
    outside = sweep.provenance.outside
    if not outside:
        return ""
    first = min(outside)
    count = counted(len(outside), "point lies", "points lie")
    return escape(f"{count} outside of the bounds, the first at {_point(sweep, sweep.axes, first)}: {outside[first]}.")


def _axis_text(axis: Axis) -> str:
    if len(axis.values) <= 4 or axis.named:
        return f"{code(axis.path)}: {', '.join(escape(_axis_value(axis, value)) for value in axis.values)}"
    first, last = _axis_value(axis, axis.values[0]), _axis_value(axis, axis.values[-1])
    return f"{code(axis.path)}: {len(axis.values)} values from {first} to {last}"


def _axis_value(axis: Axis, value: float | str) -> str:
    return value if isinstance(value, str) else quantity(float(value), axis.unit)


@dataclass(frozen=True, slots=True)
class _SweepPart:
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


def _groups(sweep: Sweep) -> list[_SweepPart]:
    several = prod(len(axis.values) for axis in sweep.axes[:-1])
    # Where values are varied side by side, every place has one point only.
    fixed = sweep.axes[:-1] if several <= min(_MOST_GROUPS, len(sweep) // (2 * len(set(sweep.cases)))) else ()
    found: dict[tuple[str, ...], list[int]] = {}
    for index, case in enumerate(sweep.cases):
        places = (_axis_value(axis, sweep.points[axis.path][index]) for axis in fixed)
        found.setdefault((case, *places), []).append(index)
    return [_SweepPart(tags, sweep.axes[len(fixed) :], tuple(indices)) for tags, indices in found.items()]


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
            methods = dict.fromkeys(sweep.provenance.methods[index] for index in group.indices)
            exact = all(sweep.provenance.exact[index] for index in group.indices)
            how = [escape(" and ".join(methods)), "yes" if exact else "no"]
            rows.append([*map(escape, group.tags), escape(name), *(texts or [NOTHING] * 4), *how])
    fixed = sweep.axes[: len(sweep.axes) - len(groups[0].axes)]
    places = [code(axis.path) for axis in fixed]
    return markdown_table(["case", *places, "value", "first", "last", "least", "greatest", "method", "exact"], rows)


def _value_at(sweep: Sweep, group: _SweepPart, name: str, index: int) -> str:
    value, low, high = (float(each[index]) for each in (sweep.columns[name], *sweep.ends(name)))
    mark = ", outside of its bounds" if index in sweep.provenance.outside else ""
    return f"{quantity(value, sweep.units[name], ends=(low, high))} at {_point(sweep, group.axes, index)}{mark}"


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


_MOST_SETTINGS = 4
_ELSEWHERE = "Every point is in [results.csv](results.csv), every input in [inputs.yaml](inputs.yaml)."

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
    first, *others = [*study.pictures, None]
    sections = [
        _head(results),
        summary(results, study.answer),
        prose(INTERVALS) if results.simulated else "",
        _picture(first, pictures),
        *map(question_section, results.questions.values()),
        sweep_section(results, study.answer),
        "\n\n".join(["## Pictures", *(_picture(each, pictures) for each in others if each)]) if others[:-1] else "",
        _limits(results),
        _cases(results, study.answer) if results.cases else "",
        _notes(results),
        _inputs(results, command),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _head(results: Results) -> str:
    source = f"Source: {escape(results.source)}" if results.source else ""
    return "\n\n".join(filter(None, [f"# {escape(results.title or results.name)}", prose(results.text), source]))


def _further(results: Results) -> str:
    files = [f"[{file}]({file})" for each in results.questions.values() for file in each.files()]
    return f" More values are in {', '.join(files)}." if files else ""


def _cases(results: Results, answer: Sequence[str]) -> str:
    names = [name for name in dict.fromkeys(answer) if "[" not in name] or _first_wanted(results, answer)
    notes = Notes()
    table = case_table(results, names)
    numbers = [", ".join(str(notes.number(note)) for note in each.notes) for each in results.cases.values()]
    models = ResultColumn("model", [each.model for each in results.cases.values()])
    differs = ResultColumn("differs from the base in", [_settings(results, case) or None for case in results.cases])
    columns = [table.columns[0], models, differs, *table.columns[1:], ResultColumn("notes", numbers)]
    listed = "\n".join(f"{number}. {escape(text)}" for number, text in notes.listed.items())
    return "\n\n".join(filter(None, ["## Cases", result_table(replace(table, columns=columns)), listed]))


def _first_wanted(results: Results, answer: Sequence[str]) -> list[str]:
    """Choose what the cases have of what is wanted, as few values as speak for all of them."""
    chosen: list[str] = []
    for each in results.cases.values():
        if not any(each.find(name) is not None for name in chosen):
            chosen += [name for name in answer if each.find(name) is not None][:1]
    return chosen or list(answer[:1])


def _settings(results: Results, case: str) -> str:
    """Name what a case sets, what few cases set first: that is how it differs from the others."""
    counts = Counter(item for settings in results.settings.values() for item in settings.items())
    # The model has a column of its own.
    own = sorted(results.settings.get(case, {}).items(), key=lambda item: counts[item])
    shown = [f"{path} {text}" for path, text in own if path != "model"]
    more = [f"and {len(shown) - _MOST_SETTINGS} more"] if len(shown) > _MOST_SETTINGS else []
    return ", ".join([*shown[:_MOST_SETTINGS], *more])


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


def _picture(spec: Drawn | None, pictures: Mapping[str, Sequence[str]]) -> str:
    """Show a picture, its caption below it."""
    files = pictures.get(spec.name, ()) if spec else ()
    if spec is None or not files:
        return ""
    shown = [f"![{escape(spec.title)}]({file})" for file in files if file.endswith(".png")]
    others = [f"[{file}]({file})" for file in files if not file.endswith(".png")]
    return "\n\n".join([*shown, " ".join(" ".join([prose(spec.text), *others]).split())])


def _notes(results: Results) -> str:
    lines = [f"- {escape(note)}" for note in results.notes]
    return "\n".join(["## Notes", "", *lines]) if lines else ""


def _inputs(results: Results, command: str) -> str:
    """List the files by hash; the versions of what computed stand in inputs.yaml, for they change no number."""
    again = f"Repeat with {code(command)}. {_ELSEWHERE}{_further(results)}"
    hashes = [[code(name), code(digest)] for name, digest in results.hashes.items()]
    table = markdown_table(["file", "SHA-256"], hashes) if hashes else ""
    return "\n\n".join(part for part in ("## Inputs", again, table) if part)
