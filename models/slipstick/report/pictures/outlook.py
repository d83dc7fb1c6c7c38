"""Pictures of what is to come: lines with bands over years, histograms of samples, bars of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slipstick.errors import UnknownNameError
from slipstick.expression.dimension import Dimension
from slipstick.report.pictures.style import FILLS, STROKES, axis_title, logarithmic, sheet, tilt, title_of
from slipstick.report.words import percent
from slipstick.results.outlook import Outcome, Projection
from slipstick.results.study import Results
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import ChangesSpec, HistogramSpec, ProjectionPictureSpec


_BARS = 0.8  # width of a group of bars, as a part of its place
_MOST_BINS = 40


def draw_projection(results: Results, spec: ProjectionPictureSpec) -> Figure:
    """Draw values over the years, a line with its band for each case and trend; a panel for each value.

    Parameters
    ----------
    results : of a study with a projection
    spec : what to draw
    """
    found = results.projection
    assert found is not None
    figure = sheet(8.2, 1.0 + 3.0 * len(spec.y))
    panels = figure.subplots(len(spec.y), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(spec.y, panels, strict=True):
        _lines(axes, found, name, spec)
    if found.factors is None:
        panels[-1].set_xlabel("year")
    else:
        logarithmic(panels[-1].xaxis, found.factors)
        panels[-1].set_xlabel("times that processors are as fast")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", alignment="left", title="case, trend")
    title_of(figure, spec.title)
    return figure


def _lines(axes: Axes, found: Projection, name: str, spec: ProjectionPictureSpec) -> None:
    tracks = [each for each in found.tracks if name in each.columns]
    if not tracks:
        raise UnknownNameError("projected value", name, list(found.units))
    across = found.years if found.factors is None else found.factors
    shown = np.concatenate([each.columns[name] for each in tracks])
    unit, factor = choose(shown[np.isfinite(shown)].tolist(), Dimension.of(found.units[name]))
    for index, each in enumerate(tracks):
        colour, marker, dashes = STROKES[index % len(STROKES)]
        label = f"{each.case}, {each.trend}"
        axes.plot(
            across, each.columns[name] / factor, color=colour, marker=marker, linestyle=dashes, markevery=5, label=label
        )
        if name in each.low:
            low, high = each.low[name] / factor, each.high[name] / factor
            axes.fill_between(across, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_ylabel(axis_title(name, unit))
    if spec.log == "y":
        logarithmic(axes.yaxis, shown / factor)
    elif float(np.nanmin(shown)) >= 0:
        axes.set_ylim(bottom=0)


def draw_histogram(results: Results, spec: HistogramSpec) -> Figure:
    """Draw how a sampled value is distributed, its quantiles as lines.

    Parameters
    ----------
    results : of a study that samples
    spec : what to draw
    """
    outcomes = {each.name: each for found in results.samplings if found.case == spec.case for each in found.outcomes}
    if spec.value not in outcomes:
        raise UnknownNameError("sampled value", spec.value, list(outcomes))
    each = outcomes[spec.value]
    figure = sheet(6.8, 4.0)
    axes = figure.subplots()
    _histogram(axes, each)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", alignment="left")
    title_of(figure, spec.title)
    return figure


def _histogram(axes: Axes, each: Outcome) -> None:
    known = each.points[np.isfinite(each.points)]
    unit, factor = choose(known.tolist(), Dimension.of(each.unit))
    counts, edges = np.histogram(known / factor, bins=min(_MOST_BINS, max(8, len(known) // 25)))
    axes.bar(
        edges[:-1],
        counts / len(known),
        np.diff(edges),
        align="edge",
        color=FILLS[3][0],
        edgecolor="black",
        linewidth=0.5,
    )
    for index, (part, (middle, _, _)) in enumerate(each.quantiles.items()):
        colour, _, dashes = STROKES[index]
        axes.axvline(middle / factor, color=colour, linestyle=dashes, label=f"{percent(part)} of the points below")
    if each.stated is not None:
        axes.axvline(each.stated / factor, color=STROKES[3][0], linestyle=STROKES[3][2], label="as stated")
    axes.set_xlabel(axis_title(each.name, unit))
    axes.set_ylabel(axis_title("part of the points", "1"))


def draw_changes(results: Results, spec: ChangesSpec) -> Figure:
    """Draw the overhead reduction of each change, a group of bars for each case.

    Parameters
    ----------
    results : of a study that ranks changes
    spec : what to draw
    """
    found = [each for each in results.choices if each.under == spec.under]
    names = [each.name for each in found[0].effects]
    figure = sheet(max(6.0, 3.0 + 0.35 * len(names) * len(found)), 4.2)
    axes = figure.subplots()
    width = _BARS / len(names)
    for index, name in enumerate(names):
        heights = [100 * (next(each for each in one.effects if each.name == name).reduction or 0.0) for one in found]
        colour, hatch = FILLS[index % len(FILLS)]
        places = np.arange(len(found)) - _BARS / 2 + (index + 0.5) * width
        axes.bar(places, heights, width, color=colour, hatch=hatch, edgecolor="black", linewidth=0.6, label=name)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(found)), [each.case for each in found])
    if max(len(each.case) for each in found) > 12:
        tilt(axes)
    axes.set_ylabel(axis_title("overhead reduction", "%"))
    axes.set_xlabel("case")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", alignment="left", title="change")
    title_of(figure, spec.title)
    return figure
