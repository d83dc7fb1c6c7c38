"""Stacked bars: where the time of each case goes.

Bands: what the processors do, against how many they are.

Fits as a picture: data, curves with their intervals, and where nothing was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from slipstick.answer import Answer
from slipstick.errors import UnknownNameError
from slipstick.expression.dimension import Dimension
from slipstick.model.activity import TECHNOLOGIES
from slipstick.report.pictures.style import FILLS, STROKES, axis_title, logarithmic, plain_ticks, sheet, tilt, title_of
from slipstick.report.values import case_called, unit_of
from slipstick.report.words import plain, quantity, short_path
from slipstick.results.scaling import Scaling
from slipstick.results.study import Array, Fitting, Results
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import BandsSpec, BarsSpec


_UPRIGHT_LABEL = 0.085  # width of a letter of a tick's label [inch]
_BAR = 0.62  # width of a bar, as a part of its place


def draw_bars(results: Results, spec: BarsSpec) -> Figure:
    """Draw one stacked bar for each case, its total written above it.

    Parameters
    ----------
    results : of a study
    spec : what to draw
    """
    parts, unit = stacks(results, spec), _unit(results, spec)
    fills = _fills(results, spec)
    labels = [label for label in fills if any(bar.get(label) for bar in parts.values())]
    table = np.array([[parts[case].get(label, 0.0) for case in spec.cases] for label in labels])
    table = table.reshape(len(labels), len(spec.cases))
    totals = table.sum(axis=0)
    place = max(0.85, min(1.5, 9.0 / len(spec.cases)))
    longest = max(map(len, spec.cases)) * _UPRIGHT_LABEL
    tilted = longest > place
    figure = sheet(max(4.6, 3.0 + place * len(spec.cases)), 4.2 + (0.6 * min(longest, 3.0) if tilted else 0.0))
    axes = figure.subplots()
    what = "time" if unit == "s" else "sum"
    shown, factor = ("%", 0.01) if spec.share else choose(totals.tolist(), Dimension.of(unit))
    heights = _shares(table, totals) if spec.share else table
    _stack(axes, heights / factor, {label: fills[label] for label in labels})
    _totals(axes, heights.sum(axis=0) / factor, [quantity(float(each), unit) for each in totals])
    axes.set_ylabel(axis_title(f"share of the {what}" if spec.share else what, shown))
    axes.set_xlabel("case")
    axes.set_xticks(range(len(spec.cases)), spec.cases)
    if tilted:
        tilt(axes)
    axes.set_xlim(-0.6, len(spec.cases) - 0.4)
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        # The legend reads from the top down, as the bar does.
        figure.legend(handles[::-1], labels[::-1], loc="outside right upper", alignment="left", title=_kind(spec))
    title_of(figure, spec.title)
    return figure


def stacks(results: Results, spec: BarsSpec) -> dict[str, dict[str, float]]:
    """Give the parts of each bar by label, in base units."""
    return {case: _parts(case_called(results, case), spec) for case in spec.cases}


def _parts(answer: Answer, spec: BarsSpec) -> dict[str, float]:
    if spec.stack == "component":
        return dict(answer.account)
    if spec.stack == "technology":
        return dict(answer.technology)
    found = {label: [answer.find(name) for name in names] for label, names in spec.stack.items()}
    return {label: sum(each for each in values if each is not None) for label, values in found.items()}


def _fills(results: Results, spec: BarsSpec) -> dict[str, int]:
    """Give each label its place in the bars and its fill: the same in all pictures of a report."""
    if spec.stack == "technology":
        names: Iterable[str] = TECHNOLOGIES
    elif spec.stack == "component":
        names = (name for answer in _answers(results, spec) for name in answer.account)
    else:
        names = spec.stack
    return {name: index for index, name in enumerate(dict.fromkeys(names))}


def _answers(results: Results, spec: BarsSpec) -> Iterable[Answer]:
    """Give all cases, and the measured runs that are drawn."""
    return {**results.cases, **{case: case_called(results, case) for case in spec.cases}}.values()


def _unit(results: Results, spec: BarsSpec) -> str:
    if isinstance(spec.stack, str):
        return "s"
    return unit_of(results, next(name for names in spec.stack.values() for name in names))


def _kind(spec: BarsSpec) -> str:
    if isinstance(spec.stack, str):
        return "technology class" if spec.stack == "technology" else spec.stack
    return "part"


def _shares(table: Array, totals: Array) -> Array:
    return np.asarray(np.divide(table, totals, out=np.zeros_like(table), where=totals > 0))


def _stack(axes: Axes, heights: Array, fills: Mapping[str, int]) -> None:
    below = np.zeros(heights.shape[1])
    for (label, fill), each in zip(fills.items(), heights, strict=True):
        colour, hatch = FILLS[fill % len(FILLS)]
        axes.bar(
            np.arange(len(each)),
            each,
            _BAR,
            bottom=below,
            color=colour,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.6,
            label=label,
        )
        below = below + each


def _totals(axes: Axes, tops: Array, words: list[str]) -> None:
    highest = max(tops.max(initial=0.0), 1e-12)
    axes.set_ylim(0, 1.1 * highest)
    for index, (top, text) in enumerate(zip(tops, words, strict=True)):
        axes.annotate(text, (index, top), (0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=8.5)


def draw_bands(results: Results, spec: BandsSpec) -> Figure:
    """Stack the processors by what they do up to the line on which all of them are.

    Parameters
    ----------
    results : of a study
    spec : what to draw
    """
    found = next((each for each in results.scalings if each.case == spec.case), None)
    if found is None:
        raise UnknownNameError("scaled case", spec.case, [each.case for each in results.scalings])
    bands = bands_of(found, spec.way)
    figure = sheet(6.8, 4.4)
    axes = figure.subplots()
    below = np.zeros(len(found.processors))
    for number, (label, heights) in enumerate(bands.items()):
        colour, hatch = FILLS[number % len(FILLS)]
        above = below + heights
        axes.fill_between(
            found.processors, below, above, facecolor=colour, hatch=hatch, edgecolor="black", linewidth=0.6, label=label
        )
        below = above
    axes.plot(found.processors, found.processors, color="black", linewidth=1.2, label="all processors")
    axes.set_xlim(found.processors[0], found.processors[-1])
    axes.set_ylim(0, found.processors[-1])
    plain_ticks(axes.xaxis, found.processors)
    axes.set_xlabel(axis_title(short_path(found.path), "1"))
    axes.set_ylabel(axis_title("processors", "1"))
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right upper", alignment="left", title="component")
    title_of(figure, spec.title)
    return figure


def bands_of(found: Scaling, way: str) -> dict[str, Array]:
    """Give how many processors do what at each N: the useful first, then each cause of loss; they add up to N.

    A model without an account has two bands: the efficiency's, and the rest.

    Parameters
    ----------
    found : how a case scales
    way : how the size goes with N
    """
    each, count = found.ways[way], found.processors
    if not each.account:
        return {"useful": count * each.efficiency, "lost": count * (1.0 - each.efficiency)}
    names = sorted(each.account, key=lambda name: name not in found.useful)
    with np.errstate(all="ignore"):
        bands = {name: count * each.account[name] / each.time for name in names}
    return {name: heights for name, heights in bands.items() if np.nanmax(heights, initial=0.0) > 0}


MOST_CURVES = 6


def draw_fits(found: Fitting, title: str) -> Figure:
    """Draw measured times and the fits over the number of processors; both axes are logarithmic.

    Where nothing was measured the ground is grey: there the curves are extrapolations.

    Parameters
    ----------
    found : the fits, with curves
    title : heading
    """
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
