"""Fits as a picture: data, curves with their intervals, and where nothing was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slipstick.report.pictures.scales import logarithmic
from slipstick.report.pictures.style import STROKES, axis_title, sheet, title_of
from slipstick.report.words import plain
from slipstick.results.study import Fitting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_fits"]

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
