"""Ticks that people read: plain numbers, on the values themselves where they are few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstick.results.study import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["logarithmic", "names_along", "plain_ticks", "tilt"]

_MOST_TICKS = 9
_CLOSEST = 0.04  # ticks nearer than this part of the axis would run into each other
_MOST_LETTERS = 60
_SUBDIVISIONS = ((1, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)), (2.2, (1.0, 2.0, 5.0)))


def logarithmic(axis: Axis, values: Array) -> None:
    """Make an axis logarithmic, with plain numbers on it.

    Parameters
    ----------
    axis : of a picture
    values : what it shows, in its unit
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    positive = np.unique(values[np.isfinite(values) & (values > 0)])
    axis._set_axes_scale("log")  # type: ignore[attr-defined]
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if len(positive) <= _MOST_TICKS and _apart(np.log(positive)):
        axis.set_major_locator(FixedLocator(positive.tolist()))
        axis.set_minor_locator(NullLocator())
        return
    decades = math.log10(positive[-1] / positive[0])
    subs = next((subs for most, subs in _SUBDIVISIONS if decades <= most), (1.0,))
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_minor_formatter(NullFormatter())


def plain_ticks(axis: Axis, values: Array) -> None:
    """Put ticks on the values themselves where they are few and apart; else leave it to the library."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    apart = np.unique(values)
    if len(apart) <= _MOST_TICKS and _apart(apart):
        axis.set_major_locator(FixedLocator(apart.tolist()))


def names_along(axes: Axes, names: Sequence[str]) -> None:
    """Write names under the horizontal axis, tilted where they would run into each other."""
    axes.set_xticks(range(len(names)), names)
    if sum(map(len, names)) > _MOST_LETTERS:
        tilt(axes)


def tilt(axes: Axes) -> None:
    """Tilt the texts under the horizontal axis."""
    for label in axes.get_xticklabels():
        label.set(rotation=30, ha="right", rotation_mode="anchor")


def _apart(values: Array) -> bool:
    """Say whether ticks at these ordered values leave room for their labels."""
    if len(values) < 2:
        return True
    return bool(np.diff(values).min() >= _CLOSEST * (values[-1] - values[0]))
