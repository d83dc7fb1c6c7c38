"""The page of a study, in Markdown: cases, what each question found, sweeps, pictures, inputs.

A sweep of few points is written point by point, of a large one the ends and the extremes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    column,
    counted,
    escape,
    finite,
    markdown_table,
    prose,
    quantity,
)
from slipstick.results.study import Axis, Results, Sweep

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
        _how(sweep),
        table(sweep, names) if len(sweep) else "",
        _stages(sweep),
        _without_effect(sweep),
        _failures(sweep),
    ]
    return "\n\n".join(part for part in parts if part)


def _how(sweep: Sweep) -> str:
    """Say how the points were computed: all of them, or how many by which method where the table does not say it."""
    how = sweep.provenance
    if how.common or len(sweep) <= MOST_POINTS:
        return f"All points: {how.common}." if how.common else ""
    counts = Counter(zip(how.methods, map(bool, how.exact), strict=True))
    words = [
        f"{counted(count, 'point')} by {method}, {'exact' if exact else 'not exact'}"
        for (method, exact), count in counts.items()
    ]
    if how.outside:
        first = min(how.outside)
        words.append(
            f"{counted(len(how.outside), 'point lies', 'points lie')} outside of the bounds, the first "
            f"at {_point(sweep, sweep.axes, first)}: {how.outside[first]}"
        )
    return escape(f"{'; '.join(words)}.")


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
        lows, highs = (each.tolist() for each in sweep.ends(name))
        unit, texts = column(list(map(finite, sweep.columns[name])), sweep.units[name], lows=lows, highs=highs)
        head.append(f"{escape(name)} [{unit}]")
        columns.append(texts)
    for pipeline, stages in sweep.limits.items():
        head.append(f"limit[{escape(pipeline)}]")
        columns.append([escape(stage) or NOTHING for stage in stages])
    for title, cells in sweep.provenance.shown(sweep.failed).items():
        head.append(title)
        columns.append([escape(each or NOTHING) for each in cells])
    varied = [1 + index for index, axis in enumerate(sweep.axes) if not axis.named]
    numbers = [*varied, *range(1 + len(sweep.axes), 1 + len(sweep.axes) + len(names))]
    return markdown_table(head, zip(*columns, strict=True), numbers)


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
            rows.append([*map(escape, group.tags), escape(name), *(texts or [NOTHING] * 4)])
    fixed = sweep.axes[: len(sweep.axes) - len(groups[0].axes)]
    head = ["case", *(code(axis.path) for axis in fixed), "value", "first", "last", "least", "greatest"]
    return markdown_table(head, rows)


def _value_at(sweep: Sweep, group: _SweepPart, name: str, index: int) -> str:
    value, low, high = (float(each[index]) for each in (sweep.columns[name], *sweep.ends(name)))
    return f"{quantity(value, sweep.units[name], ends=(low, high))} at {_point(sweep, group.axes, index)}"


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
    questions = results.questions.values()
    sections = [
        _head(results, command),
        *(each.section() for each in questions if each.before_cases),
        _cases(results, study.answer) if results.cases else "",
        _limits(results),
        *(each.section() for each in questions if not each.before_cases),
        sweep_section(results, study.answer),
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
        f"Repeat with {code(command)}. {_ELSEWHERE}{_further(results)}",
        prose(INTERVALS) if results.simulated else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _further(results: Results) -> str:
    files = [f"[{file}]({file})" for each in results.questions.values() for file in each.files()]
    return f" More values are in {', '.join(files)}." if files else ""


def _cases(results: Results, answer: Sequence[str]) -> str:
    names = [name for name in dict.fromkeys(answer) if "[" not in name] or _first_wanted(results, answer)
    notes = Notes()
    bound = ["bound"] if any(each.bound for each in results.cases.values()) else []
    rows = [_case(results, case, names, notes, bound) for case in results.cases]
    head = ["case", "model", "differs from the base in", *map(escape, names), "method", "exact", *bound, "notes"]
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


def _case(results: Results, case: str, names: Sequence[str], notes: Notes, bound: Sequence[str]) -> list[str]:
    answer = results.cases[case]
    values = [quantity(answer.find(name), results.unit(name), ends=answer.ends(name)) for name in names]
    said = [f"no answer: {answer.failed}"] if answer.failed else answer.notes
    numbers = ", ".join(str(notes.number(note)) for note in said)
    exact = NOTHING if answer.failed else "yes" if answer.exact else "no"
    how = [escape(answer.method), exact, *(escape(answer.bound) or NOTHING for _ in bound)]
    return [escape(case), code(answer.model), _settings(results, case), *values, *how, numbers]


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
