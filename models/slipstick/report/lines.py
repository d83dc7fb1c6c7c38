"""Lines over one axis of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slipstick.expression.dimension import Dimension
from slipstick.report.style import STROKES, axis_title, sheet, title_of
from slipstick.report.values import sweep_called
from slipstick.report.words import quantity, short_path
from slipstick.results import Array, Axis, Results, Sweep
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from slipstick.schema.study import LinesSpec

__all__ = ["Line", "draw_lines", "lines_of"]

_MOST_MARKERS = 16
_MOST_TICKS = 9
_MOST_IN_COLUMN = 18


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its label and its points, in base units or as places of names.

    Parameters
    ----------
    value : what is drawn, such as ``time``
    label : what tells it from the others
    x, y : coordinates, ordered along x
    """

    value: str
    label: str
    x: Array
    y: Array


def draw_lines(results: Results, spec: LinesSpec) -> Figure:
    """Draw values over one axis, a line for each case or for each value of another axis.

    Values of different units have panels of their own.

    Parameters
    ----------
    results : of a study
    spec : what to draw
    """
    sweep = sweep_called(results, spec.sweep)
    lines = lines_of(sweep, spec)
    units = list(dict.fromkeys(_unit(sweep, spec, name) for name in spec.y))
    legend_columns = 1 + (len(lines) - 1) // _MOST_IN_COLUMN
    figure = sheet(6.4 + 1.6 * legend_columns, 0.9 + 3.4 * len(units))
    panels = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for unit, axes in zip(units, panels, strict=True):
        names = [name for name in spec.y if _unit(sweep, spec, name) == unit]
        _panel(axes, [(at, line) for at, line in enumerate(lines) if line.value in names], unit, spec)
        axes.set_ylabel(_y_title(names, lines, unit, spec))
    _x_axis(panels[-1], _axis(sweep, spec.x), lines, spec)
    handles = {line.label: handle for axes in panels for line, handle in zip(lines, [], strict=False)}
    for axes in panels:
        handles.update(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside right upper",
        title=short_path(spec.series) if spec.series else "case",
        ncols=legend_columns,
    )
    title_of(figure, spec.title)
    return figure
