"""Sweeps as a section of a page: every point of a small one, the ends and extremes of a large one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from slipstick.report.words import NOTHING, code, column, counted, escape, markdown_table, quantity
from slipstick.results import Axis, Results, Sweep

__all__ = ["sweep_section", "sweep_text"]

MOST_POINTS = 40
_MOST_COLUMNS = 8
_MOST_CHANGES = 12


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
    numbers = range(1, 1 + len(sweep.axes) + len(names))
    return markdown_table(head, zip(*columns, strict=True), numbers)


def _extremes(sweep: Sweep, names: Sequence[str]) -> str:
    """Give the first and the last point of each case, and where each value is least and greatest."""
    rows = []
    for case in dict.fromkeys(sweep.cases):
        places = np.flatnonzero(np.array([each == case for each in sweep.cases]))
        for name in names:
            values = sweep.columns[name][places]
            known = places[np.isfinite(values)]
            found = sweep.columns[name][known]
            spots = [known[0], known[-1], known[found.argmin()], known[found.argmax()]] if len(known) else []
            texts = [f"{_value(sweep, name, spot)} at {_point(sweep, spot)}" for spot in spots] or [NOTHING] * 4
            rows.append([escape(case), escape(name), *texts])
    return markdown_table(["case", "value", "first", "last", "least", "greatest"], rows)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _value(sweep: Sweep, name: str, index: int) -> str:
    return quantity(float(sweep.columns[name][index]), sweep.units[name])


def _point(sweep: Sweep, index: int) -> str:
    return "(" + ", ".join(escape(_axis_value(axis, sweep.points[axis.path][index])) for axis in sweep.axes) + ")"


def _stages(sweep: Sweep) -> str:
    """Say which stage limits each pipeline: along a single axis in order, else by number of points."""
    lines = []
    for pipeline, stages in sweep.limits.items():
        for case in dict.fromkeys(sweep.cases):
            places = [index for index, each in enumerate(sweep.cases) if each == case and stages[index]]
            runs = _runs(sweep, stages, places) if len(sweep.axes) == 1 else []
            words = "; then ".join(runs) if 0 < len(runs) <= _MOST_CHANGES else _counts(stages, places)
            if words:
                lines.append(f"- {escape(case)}, limiting stage of {escape(pipeline)}: {words}")
    return "\n".join(lines)


def _runs(sweep: Sweep, stages: Sequence[str], places: Sequence[int]) -> list[str]:
    found = []
    for stage, run in groupby(places, key=lambda index: stages[index]):
        inside = list(run)
        first, last = (
            escape(_axis_value(sweep.axes[0], sweep.points[sweep.axes[0].path][at])) for at in (inside[0], inside[-1])
        )
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
        f"{escape(sweep.cases[index])} at {_point(sweep, index)}: {escape(why)}"
    )
