"""Where a condition starts or stops holding along one parameter: seen on a grid, then closed in on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.condition import Comparison
from slipstick.expression.kernels import Array

_NEARLY = 1e-6
"""A margin that is larger than this at the root says that the condition jumps there."""


@dataclass(frozen=True, slots=True)
class Change:
    """One place where a condition starts or stops holding.

    Parameters
    ----------
    value : where; of a condition that is seen at single values only, the first on the far side
    before : the last place seen on the near side
    starts : it holds from there on, and not before
    jump : a side of the condition jumps there
    """

    value: float
    before: float
    starts: bool
    jump: bool = False


def margin(comparison: Comparison, left: Array, right: Array) -> Array:
    """Say how far a condition is from its edge, above 0 where it holds: the sides' difference relative to their size [1].

    Parameters
    ----------
    comparison : by <, <=, > or >=
    left, right : values of its sides, in base units
    """
    size = np.abs(left) + np.abs(right)
    with np.errstate(all="ignore"):
        found = np.where(size == 0, 0.0, (left - right) / size)
    return np.asarray(-found if comparison.relation.startswith("<") else found)


def changes(
    margins: Array, holds: NDArray[np.bool_], places: Array, function: Callable[[float], float] | None
) -> list[Change]:
    """List where a condition starts or stops holding between neighbours on a grid.

    A place without a margin ends what is looked at on both of its sides. What happens twice between neighbours is
    not seen.

    Parameters
    ----------
    margins, holds : of the condition at the places; not a number where there is no answer
    places : rising
    function : the margin at any place, closed in on by Brent's method (SciPy); None if there are only those places

    >>> x = np.linspace(0.0, 3.0, 7)
    >>> [each.value for each in changes(x**2 - 2, x**2 >= 2, x, lambda x: x**2 - 2)]
    [1.4142135623730951]
    """
    found = []
    for index in range(len(places) - 1):
        near, far = margins[index], margins[index + 1]
        if not (np.isfinite(near) and np.isfinite(far)) or holds[index] == holds[index + 1]:
            continue
        low, high = float(places[index]), float(places[index + 1])
        starts = bool(holds[index + 1])
        if function is None:
            found.append(Change(high, low, starts))
            continue
        value = _root(function, low, high, float(near), float(far))
        found.append(Change(value, low, starts, jump=abs(function(value)) > _NEARLY))
    return found


def _root(function: Callable[[float], float], low: float, high: float, near: float, far: float) -> float:
    from scipy.optimize import brentq

    if near == 0.0 or far == 0.0:
        # Held with equality at a place itself, or just not any more.
        return low if near == 0.0 else high
    # The ends are known; NaN inside would end the search anywhere, and counts as the far side.
    known = {low: near, high: far}

    def at(x: float) -> float:
        value = known.get(x, float("nan"))
        value = function(x) if np.isnan(value) else value
        return far if np.isnan(value) else value

    return float(brentq(at, low, high, xtol=1e-14 * max(abs(low), abs(high)), rtol=8.9e-16, maxiter=500))
