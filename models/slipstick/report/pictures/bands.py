"""Bands: what the processors do, against how many they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slipstick.errors import UnknownNameError
from slipstick.report.pictures.scales import plain_ticks
from slipstick.report.pictures.style import FILLS, axis_title, sheet, title_of
from slipstick.report.words import short_path
from slipstick.results.scaling import Array, Scaling
from slipstick.results.study import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import BandsSpec

__all__ = ["bands_of", "draw_bands"]


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
