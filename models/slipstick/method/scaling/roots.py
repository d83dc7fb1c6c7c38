"""Where a value reaches another, at many points at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from slipstick.expression.kernels import Array

__all__ = ["FURTHEST", "last_reached", "reached"]

FURTHEST = 64.0
"""How far from 0 a root is looked for, either way."""

Function = Callable[..., Array]


def reached(function: Function, *points: Array, tolerance: float = 1e-12, furthest: float = FURTHEST) -> Array:
    """Find the x nearest to 0, to within a doubling, at which a function changes its sign.

    From x = 0 the search doubles its step, first upwards, then downwards, and once it has the root between two places hands
    it to Chandrupatla's method (SciPy). A place where the function is not a number is the end of the search on that side.

    Parameters
    ----------
    function : of x and of the points, all arrays of one length
    points : what else it depends on, aligned
    tolerance : to which x is found
    furthest : how far to look

    Returns
    -------
    x at each point; not a number where the sign does not change

    >>> reached(lambda x, goal: x**2 - goal, np.array([4.0, 9.0])).round(9)
    array([2., 3.])
    """
    count = len(points[0])
    here = np.asarray(function(np.zeros(count), *points), dtype=float)
    low, high = np.full(count, np.nan), np.full(count, np.nan)
    low[here == 0.0] = high[here == 0.0] = 0.0
    for side in (1.0, -1.0):
        _bracket(function, points, here, low, high, side, furthest)
    return _refined(function, points, low, high, tolerance)


def last_reached(function: Function, *points: Array, places: Array, tolerance: float = 1e-12) -> Array:
    """Find the largest x at which a function falls through 0, seen at the given places.

    Parameters
    ----------
    function, points, tolerance : as for `reached`
    places : where to look, in rising order

    Returns
    -------
    x at each point; not a number where it falls through 0 between no two places

    >>> last_reached(lambda x, top: (x - 1) * (top - x), np.array([4.5]), places=np.arange(10.0)).round(9)
    array([4.5])
    """
    count = len(points[0])
    low, high = np.full(count, np.nan), np.full(count, np.nan)
    before = np.asarray(function(np.full(count, places[0]), *points), dtype=float)
    for left, right in pairwise(places):
        after = np.asarray(function(np.full(count, right), *points), dtype=float)
        falls = (before > 0) & (after <= 0)
        low[falls], high[falls] = left, right
        before = after
    return _refined(function, points, low, high, tolerance)


def _refined(function: Function, points: tuple[Array, ...], low: Array, high: Array, tolerance: float) -> Array:
    from scipy.optimize.elementwise import find_root

    found = np.where(low == high, low, np.nan)
    open_ = np.flatnonzero(np.isfinite(low) & (low != high))
    if len(open_):
        result = find_root(
            function,
            (low[open_], high[open_]),
            args=tuple(each[open_] for each in points),
            tolerances={"xatol": tolerance, "xrtol": tolerance, "fatol": 0.0, "frtol": 0.0},
        )
        found[open_] = np.where(result.success, result.x, np.nan)
    return found


def _bracket(
    function: Function, points: tuple[Array, ...], here: Array, low: Array, high: Array, side: float, furthest: float
) -> None:
    """Write down, for each point that has none yet, two places between which the sign changes."""
    edge, step = np.zeros(len(here)), 0.5
    searching = np.isnan(low) & np.isfinite(here)
    while step <= furthest and searching.any():
        rows = np.flatnonzero(searching)
        value = np.asarray(function(np.full(len(rows), side * step), *(each[rows] for each in points)), dtype=float)
        crossed = rows[np.isfinite(value) & (np.sign(value) != np.sign(here[rows]))]
        low[crossed] = np.minimum(edge[crossed], side * step)
        high[crossed] = np.maximum(edge[crossed], side * step)
        searching[crossed] = False
        searching[rows[~np.isfinite(value)]] = False
        edge[rows] = side * step
        step *= 2.0
