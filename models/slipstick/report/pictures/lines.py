"""Lines over one axis of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slipstick.expression.dimension import COUNT, Dimension
from slipstick.report.formatting import quantity, short_path
from slipstick.report.pictures.figures import (
    MOST_MARKERS,
    as_method,
    axis_title,
    draw_intervals,
    logarithmic,
    names_along,
    plain_ticks,
    sheet,
    stroke,
    stroke_of_method,
    title_of,
)
from slipstick.results.study import Array, Axis, Results, Sweep, split_name
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from slipstick.schema.kinds.study import LinesSpec


_KINDS = {"account": "time of a processor", "technology": "time", "step": "time", "once": "time"}
_METHOD = "method"
_WIDE = 6.0  # of the panels [inch]; the legend is beside them
_MOST_IN_COLUMN = 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Parameters
    ----------
    value : what is drawn, such as ``time``
    unit : its base unit; empty for relative lines
    label : what tells it from the others
    x, y : coordinates in base units, or as places of names; ordered along x
    low, high : ends of the interval of each y; not a number where there is none
    method : that gave it, where several are drawn; empty where one is
    """

    value: str
    unit: str
    label: str
    x: Array
    y: Array
    low: Array
    high: Array
    method: str = ""


def draw_lines(results: Results, spec: LinesSpec) -> Figure:
    """Draw values over one axis, a line for each case or for each value of another axis.

    Values of different units have panels of their own.

    Parameters
    ----------
    results : of a study
    spec : what to draw
    """
    sweep = results.sweep(spec.sweep)
    lines = lines_of(sweep, spec)
    labels = list(dict.fromkeys(line.label for line in lines))
    methods = [method for method in dict.fromkeys(line.method for line in lines) if method]
    units = list(dict.fromkeys(line.unit for line in lines)) or [""]
    columns = 1 + (len(labels) + len(methods) - 1) // _MOST_IN_COLUMN
    alone = not spec.series and set(labels) <= set(_short(spec.y).values())
    title = short_path(spec.series, 30) if spec.series else "value" if alone else "case"
    longest = max(map(len, [*labels, *methods, title]))
    figure = sheet(_WIDE + min(0.7 + 0.07 * longest, 4.0) * max(1, columns), 1.0 + 3.2 * len(units))
    panels = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    x_axis = _Across.of(sweep.axis(spec.x), spec)
    for unit, axes in zip(units, panels, strict=True):
        _panel(axes, x_axis, [line for line in lines if line.unit == unit], labels, methods, spec)
    x_axis.write_on(panels[-1])
    handles = _handles(labels, methods)
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside right upper",
            alignment="left",
            title=title,
            ncols=columns,
        )
    title_of(figure, spec.title)
    return figure


@dataclass(frozen=True, slots=True)
class _Across:
    """The horizontal axis: its unit, the factor to it, and whether it is logarithmic."""

    axis: Axis
    unit: str
    factor: float
    log: bool

    @staticmethod
    def of(axis: Axis, spec: LinesSpec) -> _Across:
        if axis.named:
            return _Across(axis, "", 1.0, False)
        numbers = [float(value) for value in axis.values]
        log = spec.log in ("x", "both") and any(number > 0 for number in numbers)
        return _Across(axis, *choose(numbers, Dimension.of(axis.unit)), log)

    def places(self, x: Array) -> Array:
        return np.where(x > 0, x / self.factor, np.nan) if self.log else x / self.factor

    def write_on(self, axes: Axes) -> None:
        if self.axis.named:
            names_along(axes, [str(value) for value in self.axis.values])
            axes.set_xlabel(axis_title(self.axis.path, ""))
            return
        places = np.array([float(value) for value in self.axis.values]) / self.factor
        if self.log:
            logarithmic(axes.xaxis, places)
        else:
            plain_ticks(axes.xaxis, places)
        axes.set_xlabel(axis_title(self.axis.path, self.unit))


def lines_of(sweep: Sweep, spec: LinesSpec) -> list[Line]:
    """Sort the points of a sweep into lines.

    Parameters
    ----------
    sweep : its points
    spec : what to draw
    """
    x, lines = _places(sweep, spec.x), []
    groups, short = _groups(sweep, spec), _short(spec.y)
    for name in spec.y:
        columns = np.array([sweep.column(name), *sweep.ends(name)])
        columns = _against(sweep, columns, spec.against) if spec.against else columns
        unit = "" if spec.relative or spec.against else sweep.units[name]
        alone = sum(sweep.units[other] == sweep.units[name] for other in spec.y) == 1
        alone = alone and not (not unit and len(spec.y) > 1)
        for (label, method), points in groups.items():
            ordered = points[np.argsort(x[points], kind="stable")]
            y, low, high = _relative(columns[:, ordered]) if spec.relative else columns[:, ordered]
            words = [] if alone else [short[name]]
            words += [label] if label and (alone or len(groups) > 1) else []
            label = ", ".join(words) or method
            lines.append(Line(name, unit, label, x[ordered], y, low, high, method if words else ""))
    return lines


def _short(names: Sequence[str]) -> dict[str, str]:
    """Leave out what values of one kind have in common: the account of ``account[lock]``."""
    parts = {name: split_name(name) for name in names}
    one_kind = len({kind for kind, _ in parts.values()}) == 1
    return {name: inside if one_kind and inside else name for name, (_, inside) in parts.items()}


def _groups(sweep: Sweep, spec: LinesSpec) -> dict[tuple[str, str], Array]:
    """Give the indices of each line's points by its label and method: whatever varies besides x tells lines apart."""
    tags: list[list[str]] = []
    methods = [""] * len(sweep.cases)
    if spec.series:
        sweep.axis(spec.series)
    for axis in sorted(sweep.axes, key=lambda axis: axis.path != spec.series):
        if axis.path == _METHOD and _METHOD not in (spec.x, spec.series):
            methods = [str(each) for each in sweep.points[_METHOD]]
        elif axis.path == spec.series or (axis.path != spec.x and len(axis.values) > 1):
            tags.append(_tags(sweep, axis, named=axis.path != spec.series))
    drawn = set(spec.cases or sweep.cases)
    if not spec.series or len(drawn) > 1:
        tags.insert(0 if not spec.series else 1, list(sweep.cases))
    groups: dict[tuple[str, str], list[int]] = {}
    for index, each in enumerate(zip(*tags, strict=True) if tags else [()] * len(sweep.cases)):
        if sweep.cases[index] not in drawn:
            continue
        if spec.against and spec.against != spec.x and _is_first(sweep, spec.against, index):
            continue  # what the others are held against would be a line at 1
        groups.setdefault((", ".join(each), methods[index]), []).append(index)
    return {key: np.array(indices) for key, indices in groups.items()}


def _tags(sweep: Sweep, axis: Axis, named: bool) -> list[str]:
    words = {value: value if isinstance(value, str) else quantity(float(value), axis.unit) for value in axis.values}
    lead = f"{axis.path.rpartition('.')[2]} " if named else ""
    column = sweep.points[axis.path]
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [lead + (words.get(value) or quantity(float(value), axis.unit)) for value in values]


def _places(sweep: Sweep, path: str) -> Array:
    axis, column = sweep.axis(path), sweep.points[path]
    if axis.named:
        place = {value: float(index) for index, value in enumerate(axis.values)}
        return np.array([place[value] for value in column])
    return np.asarray(column, dtype=float)


def _against(sweep: Sweep, columns: Array, path: str) -> Array:
    """Divide what is at an axis' first value, all else equal, by each value; values with both ends of their intervals."""
    others = [sweep.points[axis.path] for axis in sweep.axes if axis.path != path]
    keys = list(zip(sweep.cases, *others, strict=True))
    first = {key: columns[:, index] for index, key in enumerate(keys) if _is_first(sweep, path, index)}
    found = _ratio(np.array([first.get(key, np.full(3, np.nan)) for key in keys]).T, columns)
    found[1:, [_is_first(sweep, path, index) for index in range(len(keys))]] = 1.0  # against itself
    return found


def _is_first(sweep: Sweep, path: str, index: int) -> bool:
    return bool(sweep.points[path][index] == sweep.axis(path).values[0])


def _relative(columns: Array) -> Array:
    known = np.flatnonzero(np.isfinite(columns[0]))
    if not len(known) or columns[0, known[0]] == 0:
        return np.full_like(columns, np.nan)
    found = _ratio(columns, columns[:, known[:1]])
    found[1:, known[0]] = 1.0  # against itself
    return found


def _ratio(above: Array, below: Array) -> Array:
    """Divide values with both ends of their intervals; the ends are the widest, however the two depend on each other."""
    with np.errstate(all="ignore"):
        (value, low, high), (other, least, most) = (np.where(np.isnan(each), each[:1], each) for each in (above, below))
        certain, unsure = np.isnan(above[1]) & np.isnan(below[1]), np.isinf(above[1]) | np.isinf(below[1])
        ends = (np.where(unsure, sign * np.inf, each) for sign, each in ((-1, low / most), (1, high / least)))
        return np.array([value / other, *(np.where(certain, np.nan, each) for each in ends)])


def _handles(labels: Sequence[str], methods: Sequence[str]) -> dict[str, Line2D]:
    """Give what the legend shows: a stroke for each label, and what each method looks like."""
    from matplotlib.lines import Line2D

    plain = {"linestyle": "-"} if methods else {}
    looks = {label: {**stroke(index), **plain} for index, label in enumerate(labels) if label}
    strokes = {label: Line2D([], [], label=label, **look) for label, look in looks.items()}
    return {**strokes, **{name: Line2D([], [], label=name, **stroke_of_method(name, methods)) for name in methods}}


def _panel(
    axes: Axes, across: _Across, lines: Sequence[Line], labels: Sequence[str], methods: Sequence[str], spec: LinesSpec
) -> None:
    """Draw the lines of one unit."""
    dimension = Dimension.of(lines[0].unit or "1") if lines else COUNT
    values = (
        np.concatenate([each for line in lines for each in (line.y, line.low, line.high)]) if lines else np.zeros(0)
    )
    known = values[np.isfinite(values)]
    unit, factor = choose(known.tolist(), dimension)
    if unit == "1/s" and len(known) and np.abs(known).max() >= 1e6:
        unit, factor = "1/us", 1e6  # else the library writes a power of ten over the axis
    log = spec.log in ("y", "both") and bool(np.any(known > 0))
    for line in lines:
        y = np.where(line.y > 0, line.y, np.nan) if log else line.y
        index = labels.index(line.label)
        look = stroke(index) if not line.method else {**stroke(index), **as_method(line.method, methods)}
        # On long lines, markers are spread out and shifted, so that lines that lie on each other can be told apart.
        every = -(-len(y) // MOST_MARKERS) or 1
        axes.plot(across.places(line.x), y / factor, markevery=(index % every, every), **look)
        draw_intervals(axes, across.places(line.x), y / factor, line.low / factor, line.high / factor, look["color"])
    names = list(dict.fromkeys(line.value for line in lines))
    what = ", ".join(names) if len(names) < 3 else _KINDS.get(split_name(names[0])[0], "value")
    words = f"{what} / first of its line" if spec.relative else what
    words = f"{what} at first {short_path(spec.against, 30)} / {what}" if spec.against else words
    axes.set_ylabel(axis_title(words, unit))
    if not len(known):
        axes.text(0.5, 0.5, "no point has a value", transform=axes.transAxes, ha="center", va="center")
    elif log:
        logarithmic(axes.yaxis, known / factor)
    elif 0 <= known.min() < 0.6 * known.max():
        # From nothing upwards, unless all values lie far above it and their differences would be lost.
        axes.set_ylim(bottom=0)
