"""What people want to know of a fitted model: how far it scales."""

from __future__ import annotations

import numpy as np

from slipstick.measure.fit.least import Fitted

__all__ = ["fastest", "largest_efficient"]

FARTHEST = 64
"""Multiples of the largest number measured that are looked at."""


def fastest(fitted: Fitted, n: float | None = None) -> tuple[int, float] | None:
    """Give the number of processors at which a shared work is done fastest, p_x, and the time there [s].

    None if the time still falls at `FARTHEST` times the largest number measured, or if every processor has a work of
    its own, where more of them never shorten a cycle.

    Parameters
    ----------
    fitted : a fit
    n : size of the problem; the largest one measured if None
    """
    if fitted.timings.each:
        return None
    p = _range(fitted)
    time = fitted.predict(p, n)
    at = int(np.argmin(time))
    # A model that levels off is fastest at the end to the last digit; that is no least time.
    if at == len(p) - 1 or not time[-1] > time[at] * (1 + 1e-9):
        return None
    return int(p[at]), float(time[at])


def largest_efficient(fitted: Fitted, efficiency: float, n: float | None = None) -> int:
    """Give the largest number of processors up to which the efficiency stays at least as large.

    Efficiency is T(1) / (p T(p)) for a shared work, T(1) / T(p) for one of each processor's own, with T(1) from the
    fit.

    Parameters
    ----------
    fitted : a fit
    efficiency : wanted, above 0 and at most 1 [1]
    n : size of the problem; the largest one measured if None
    """
    p = _range(fitted)
    time = fitted.predict(p, n)
    found = time[0] / (time if fitted.timings.each else time * p)
    short = np.flatnonzero(~(found >= efficiency * (1 - 1e-12)))
    return int(p[short[0] - 1]) if len(short) and short[0] > 0 else int(p[0] if len(short) else p[-1])


def _range(fitted: Fitted) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.arange(1.0, FARTHEST * float(fitted.timings.p.max()) + 1)
