"""Stacked bars: where the time of each case goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstick.answer import Answer
from slipstick.expression.dimension import Dimension
from slipstick.model.activity import TECHNOLOGIES
from slipstick.report.formatting import quantity
from slipstick.report.pictures.figures import axis_title, draw_intervals, filled, sheet, tilt, title_of
from slipstick.results.study import Array, Results
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import BarsSpec


_UPRIGHT_LABEL = 0.085  # width of a letter of a tick's label [inch]
_BAR = 0.62  # width of a bar, as a part of its place


_MOST_BESIDE = 10  # more bars stand in several rows, to be read at the width of a page


def draw_bars(results: Results, spec: BarsSpec, order: Mapping[str, int]) -> Figure:
    """Draw one stacked bar for each case, its total written above it.

    Parameters
    ----------
    results : of a study
    spec : what to draw
    order : the fill of each component, and its place in a bar
    """
    parts, unit = stacks(results, spec), _unit(results, spec)
    places = {name: place for place, name in enumerate(TECHNOLOGIES)} if spec.stack == "technology" else order
    names = (
        list(spec.stack)
        if not isinstance(spec.stack, str)
        else sorted({name for bar in parts.values() for name in bar}, key=places.__getitem__)
    )
    fills = {name: places[name] for name in names if any(bar.get(name) for bar in parts.values())}
    table = np.array([[parts[case].get(label, 0.0) for case in spec.cases] for label in fills])
    table = table.reshape(len(fills), len(spec.cases))
    totals = table.sum(axis=0)
    beside = _beside(spec.cases)
    rows = -(-len(spec.cases) // beside)
    place = max(0.85, min(1.5, 9.0 / beside))
    longest = max(map(len, spec.cases)) * _UPRIGHT_LABEL
    tilted = longest > place
    height = 4.2 if rows == 1 else 3.2
    figure = sheet(max(4.6, 3.0 + place * beside), rows * (height + (0.6 * min(longest, 3.0) if tilted else 0.0)))
    what = "time" if unit == "s" else "processors" if _counts_processors(spec) else "sum"
    shown, factor = ("%", 0.01) if spec.share else choose(totals.tolist(), Dimension.of(unit))
    heights = (_shares(table, totals) if spec.share else table) / factor
    # What is shared out is certain: all of it.
    reach = np.array([(0.0, 0.0) if spec.share else _ends(results.named_answer(case), spec) for case in spec.cases])
    for row, axes in enumerate(figure.subplots(rows, 1, sharey=True, squeeze=False)[:, 0]):
        cut = slice(row * beside, (row + 1) * beside)
        _stack(axes, heights[:, cut], fills)
        tops = _intervals(axes, reach[cut] / factor, heights[:, cut].sum(axis=0))
        _totals(axes, tops, [quantity(float(each), unit) for each in totals[cut]])
        axes.set_ylabel(axis_title(f"share of the {what}" if spec.share else what, shown))
        axes.set_xticks(range(len(spec.cases[cut])), spec.cases[cut])
        axes.set_xlim(-0.6, beside - 0.4)
        axes.set_ylim(
            0,
            1.1 * max((heights.sum(axis=0) + np.where(np.isfinite(reach[:, 1]), reach[:, 1], 0) / factor).max(), 1e-12),
        )
        if tilted:
            tilt(axes)
    axes.set_xlabel("case")
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        # The legend reads from the top down, as the bar does.
        figure.legend(handles[::-1], labels[::-1], loc="outside right upper", alignment="left", title=_kind(spec))
    title_of(figure, spec.title)
    return figure


def _beside(cases: Sequence[str]) -> int:
    """Choose how many bars stand in a row, so that a case stays with those named after it where that is possible."""
    if len(cases) <= _MOST_BESIDE:
        return len(cases)
    even = -(-len(cases) // -(-len(cases) // _MOST_BESIDE))
    together = (
        most
        for most in (even, *range(_MOST_BESIDE, _MOST_BESIDE // 2, -1))
        if not any(cases[at].startswith(f"{each}-") for at in range(most, len(cases), most) for each in cases[:at])
    )
    return next(together, even)


def _counts_processors(spec: BarsSpec) -> bool:
    """Say whether all parts of the bars are numbers of processors."""
    names = [] if isinstance(spec.stack, str) else [name for each in spec.stack.values() for name in each]
    return bool(names) and all(name.partition("[")[0] in ("speedup", "processors_lost") for name in names)


def stacks(results: Results, spec: BarsSpec) -> dict[str, dict[str, float]]:
    """Give the parts of each bar by label, in base units."""
    return {case: _parts(results.named_answer(case), spec) for case in spec.cases}


def _parts(answer: Answer, spec: BarsSpec) -> dict[str, float]:
    if spec.stack == "component":
        return dict(answer.account)
    if spec.stack == "technology":
        return dict(answer.technology)
    found = {label: [answer.find(name) for name in names] for label, names in spec.stack.items()}
    return {label: sum(each for each in values if each is not None) for label, values in found.items()}


def _ends(answer: Answer, spec: BarsSpec) -> tuple[float, float]:
    """Give how far the interval of a bar's total reaches below and above it; that of the time, or of all parts together."""
    if isinstance(spec.stack, str):
        books = {"component": ("account", answer.account), "technology": ("technology", answer.technology)}
        book, parts = books[spec.stack]
        names = ["time"] if "time" in answer.values else [f"{book}[{label}]" for label in parts]
    else:
        names = [name for each in spec.stack.values() for name in each]
    reach = []
    for name in names:
        value, (low, high) = answer.find(name), answer.ends(name)
        if value is not None and low is not None and high is not None:
            reach.append((value - low, high - value))
    return sum(below for below, _ in reach), sum(above for _, above in reach)


def _intervals(axes: Axes, reach: Array, tops: Array) -> Array:
    """Draw the interval of each total that has one, and give the upper ends."""
    low, high = tops - reach[:, 0], tops + reach[:, 1]
    draw_intervals(axes, np.arange(float(len(tops))), tops, low, high)
    return np.where(np.isfinite(high), high, tops)


def _unit(results: Results, spec: BarsSpec) -> str:
    if isinstance(spec.stack, str):
        return "s"
    return results.unit(next(name for names in spec.stack.values() for name in names))


def _kind(spec: BarsSpec) -> str:
    if isinstance(spec.stack, str):
        return "technology class" if spec.stack == "technology" else spec.stack
    return "part"


def _shares(table: Array, totals: Array) -> Array:
    return np.asarray(np.divide(table, totals, out=np.zeros_like(table), where=totals > 0))


def _stack(axes: Axes, heights: Array, fills: Mapping[str, int]) -> None:
    below = np.zeros(heights.shape[1])
    for (label, fill), each in zip(fills.items(), heights, strict=True):
        axes.bar(np.arange(len(each)), each, _BAR, bottom=below, label=label, **filled(fill))
        below = below + each


def _totals(axes: Axes, tops: Array, words: list[str]) -> None:
    """Write the total of each bar above it."""
    for index, (top, text) in enumerate(zip(tops, words, strict=True)):
        axes.annotate(text, (index, top), (0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=8.5)
