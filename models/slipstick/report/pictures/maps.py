"""Maps over two axes of a sweep: shades of a value, or which stage limits a pipeline."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.dimension import Dimension
from slipstick.report.formatting import UNKNOWN, quantity
from slipstick.report.pictures.figures import axis_title, ink_on, logarithmic, sheet, tilt, title_of
from slipstick.results.study import Axis, Results, Sweep, split_name
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import MapSpec


Indices = NDArray[np.int64]

_MOST_WRITTEN = 14  # a map with more cells along a side has no text in them
_MOST_TICKS = 12
_SHADES = "cividis"  # its grey values rise steadily
_CATEGORIES = ("#ffffff", "#9fc5e8", "#f6d78b", "#6f9f7f", "#e8a090", "#b9b9b9", "#7a6f9f", "#dff0d8")
_MOST_SHAPES = 600
_MOST_LETTERS = 60
_WIDE = 30  # values further apart than this have shades by their logarithm


def draw_map(results: Results, spec: MapSpec) -> Figure:
    """Draw a value over two axes; each point is a cell of the same size.

    Where a sweep has further axes, the map is cut at their first values, and its heading says so.

    Parameters
    ----------
    results : of a study
    spec : what to draw
    """
    sweep = results.sweep(spec.sweep)
    results.named_answer(spec.case)
    x, y = sweep.axis(spec.x), sweep.axis(spec.y)
    at = grid_of(sweep, spec)
    wide = max(3.2, min(8.0, 0.62 * len(x.values)))
    figure = sheet(wide + 3.0, max(2.6, min(6.5, 0.42 * len(y.values))) + 1.6)
    axes = figure.subplots()
    axes.grid(False)
    axes.set_facecolor("white")
    # Where there is no point or no value, the ground shows.
    axes.patch.set(hatch="///", edgecolor="#999999")
    if split_name(spec.value)[0] == "limit":
        _categories(axes, sweep, spec, at)
    else:
        _shades(axes, sweep, spec, at)
    axes.set_xlabel(_ticks(axes, x, "x"))
    axes.set_ylabel(_ticks(axes, y, "y"))
    title_of(figure, spec.title + _cut(sweep, spec))
    return figure


def grid_of(sweep: Sweep, spec: MapSpec) -> Indices:
    """Give the index of the point in each cell, rows along y; -1 where there is none.

    Parameters
    ----------
    sweep : its points
    spec : what to draw
    """
    x, y = sweep.axis(spec.x), sweep.axis(spec.y)
    places = [{value: index for index, value in enumerate(axis.values)} for axis in (x, y)]
    grid = np.full((len(y.values), len(x.values)), -1)
    kept = np.array([case == spec.case for case in sweep.cases], dtype=bool)
    for axis in _others(sweep, spec):
        kept &= np.array([value == axis.values[0] for value in sweep.points[axis.path]], dtype=bool)
    for index in np.flatnonzero(kept).tolist():
        grid[places[1][sweep.points[y.path][index]], places[0][sweep.points[x.path][index]]] = index
    return grid


def _others(sweep: Sweep, spec: MapSpec) -> list[Axis]:
    return [axis for axis in sweep.axes if axis.path not in (spec.x, spec.y)]


def _cut(sweep: Sweep, spec: MapSpec) -> str:
    words = [
        f"{axis.path} = {axis.values[0] if axis.named else quantity(float(axis.values[0]), axis.unit)}"
        for axis in _others(sweep, spec)
        if len(axis.values) > 1
    ]
    return f" (at {', '.join(words)})" if words else ""


def _shades(axes: Axes, sweep: Sweep, spec: MapSpec, at: Indices) -> None:
    column = np.asarray(sweep.column(spec.value), dtype=float)
    values = np.where(at >= 0, column[at], np.nan)
    lows, highs = sweep.ends(spec.value)
    unit, factor = choose(values[np.isfinite(values)].tolist(), Dimension.of(sweep.units[spec.value]))
    shown = np.ma.masked_invalid(values / factor)
    wide = bool(shown.count()) and shown.min() > 0 and shown.max() > _WIDE * shown.min()
    image = axes.pcolormesh(shown, cmap=_SHADES, norm="log" if wide else None, **_cells(at))
    if not shown.count():
        image.set_clim(0, 1)
        axes.text(0.5, 0.5, "no point has a value", transform=axes.transAxes, ha="center", backgroundcolor="white")
    bar = axes.figure.colorbar(image, ax=axes, label=axis_title(spec.value, unit), pad=0.02)
    if wide:
        logarithmic(bar.ax.yaxis, values[np.isfinite(values)] / factor)
    if max(at.shape) <= _MOST_WRITTEN:
        for (row, place), value in np.ndenumerate(values / factor):
            if np.isfinite(value):
                text, low, high = (
                    f"{each:.3g}" for each in (value, *(ends[at[row, place]] / factor for ends in (lows, highs)))
                )
                interval = (
                    UNKNOWN if high == "inf" else "" if high == "nan" or low == high == text else f"{low} to {high}"
                )
                _write(axes, place, row, text, image.to_rgba(np.array([value]))[0], interval)


def _categories(axes: Axes, sweep: Sweep, spec: MapSpec, at: Indices) -> None:
    """Give each limiting stage a shade and, where there is room, a letter; the legend tells them."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    pipeline = split_name(spec.value)[1]
    stages = sweep.stages(pipeline)
    names = list(dict.fromkeys(stages[index] for index in at.ravel().tolist() if index >= 0 and stages[index]))
    order = {name: index for index, name in enumerate(names)}
    places = np.array([[order.get(stages[index], -1) if index >= 0 else -1 for index in row] for row in at.tolist()])
    colours = [_CATEGORIES[index % len(_CATEGORIES)] for index in range(max(1, len(names)))]
    shown = np.ma.masked_less(places, 0)
    axes.pcolormesh(shown, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(colours) - 0.5, **_cells(at))
    letters = [string.ascii_uppercase[index % 26] for index in range(len(names))]
    for row, place in _lettered(places, len(names)):
        category = places[row, place]
        _write(axes, place, row, letters[category], colours[category])
    _borders(axes, places)
    handles = [Patch(facecolor=colour, edgecolor="black", linewidth=0.6) for colour in colours]
    labels = [f"{letter}  {name}" for letter, name in zip(letters, names, strict=True)]
    axes.figure.legend(
        handles[: len(labels)],
        labels,
        loc="outside right upper",
        alignment="left",
        title=f"limiting stage\nof {pipeline}",
    )


def _lettered(places: Indices, count: int) -> list[tuple[int, int]]:
    """Choose the cells that have a letter: all of few; of many, the one nearest to the middle of each category."""
    cells = [np.argwhere(places == category) for category in range(count)]
    if max(places.shape) > 2 * _MOST_WRITTEN:
        cells = [each[[np.square(each - each.mean(axis=0)).sum(axis=1).argmin()]] for each in cells]
    return [(int(row), int(place)) for each in cells for row, place in each]


def _cells(at: Indices) -> dict[str, Any]:
    """Draw few cells as shapes; many as one image, or the file would be huge."""
    return {"edgecolors": "face", "linewidth": 0.2, "rasterized": at.size > _MOST_SHAPES}


def _write(axes: Axes, place: int, row: int, text: str, colour: Any, below: str = "") -> None:
    """Write into a cell; its interval, if it has one, small and below."""
    ink = ink_on(colour)
    axes.text(place + 0.5, row + 0.5, text, ha="center", va="bottom" if below else "center", fontsize=8, color=ink)
    if below:
        axes.text(place + 0.5, row + 0.45, below, ha="center", va="top", fontsize=5.5, color=ink)


def _borders(axes: Axes, places: Indices) -> None:
    """Draw a line where one category meets another, so that shades need not be told apart."""
    from matplotlib.collections import LineCollection

    upright = [((x + 1, y), (x + 1, y + 1)) for y, x in np.argwhere(places[:, 1:] != places[:, :-1])]
    level = [((x, y + 1), (x + 1, y + 1)) for y, x in np.argwhere(places[1:] != places[:-1])]
    axes.add_collection(LineCollection([*upright, *level], colors="black", linewidths=1.4))


def _spacing(count: int) -> int:
    """Say every how many cells there is a tick; a spacing that ends on the last cell is likely to meet round values.

    >>> _spacing(12), _spacing(33), _spacing(100)
    (1, 4, 9)
    """
    least = -(-count // _MOST_TICKS)
    return next((every for every in range(least, 2 * least + 1) if (count - 1) % every == 0), least)


def _ticks(axes: Axes, axis: Axis, side: str) -> str:
    """Write the values of an axis at their cells, all or every so many; give the title of the axis."""
    if axis.named:
        title, words = axis_title(axis.path, ""), [str(value) for value in axis.values]
    else:
        unit, factor = choose([float(value) for value in axis.values], Dimension.of(axis.unit))
        title, words = axis_title(axis.path, unit), [f"{float(v) / factor:.3g}" for v in axis.values]
    every = _spacing(len(words))
    places = np.arange(0, len(words), every) + 0.5
    if side == "y":
        axes.set_yticks(places, words[::every])
        return title
    axes.set_xticks(places, words[::every])
    if sum(map(len, words[::every])) > _MOST_LETTERS:
        tilt(axes)
    return title
