"""How much the slowest of several is slower than their mean."""

from __future__ import annotations

from functools import cache

import numpy as np

from slipstick.measure.fit.timings import Array

__all__ = ["largest_of"]


def largest_of(counts: Array) -> Array:
    r"""Give the expected largest of N independent standard normal numbers, for each N.

    ::

        E[max] = int_0^oo (1 - F(x)^N - F(-x)^N) dx        F: the normal distribution

    Parameters
    ----------
    counts : N, at least 1, (M,)

    Source: David and Nagaraja, Order Statistics, 3rd edition, 2003, section 3.1.

    >>> largest_of(np.array([1.0, 2.0, 3.0, 10.0])).round(5).tolist()
    [0.0, 0.56419, 0.84628, 1.53875]
    """
    return np.array([_largest(float(count)) for count in counts])


@cache
def _largest(count: float) -> float:
    from scipy.special import ndtr

    x = np.linspace(0.0, 12.0, 4801)  # beyond 12, the largest of 10^30 adds nothing to 15 digits
    return float(np.trapezoid(1 - ndtr(x) ** count - ndtr(-x) ** count, x))
