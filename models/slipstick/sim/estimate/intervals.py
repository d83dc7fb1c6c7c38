"""Estimates from rows of statistics: where the warm-up ends, and how sure a mean is.

A run is cut into stretches of equally many cycles; every estimate is a ratio of sums over the stretches,
its interval that of batch means (or of independent replications) with Student's t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from slipstick.sim.plan.streams import Array

__all__ = ["BATCHES", "Estimate", "correlated", "grouped", "ratio", "t_quantile", "warm_up"]

BATCHES = 32
"""Batches that an interval is made of: few, so that they are long and nearly independent."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; no interval (None) where none can be trusted."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float:
        """Half the interval; infinite without one."""
        return math.inf if self.low is None or self.high is None else (self.high - self.low) / 2


def t_quantile(level: float, freedom: int) -> float:
    """Give the t that a two-sided interval reaches out to (expansion of Cornish and Fisher).

    >>> t_quantile(0.95, 31)
    2.0395
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    n = float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def warm_up(series: Array) -> int:
    """Find how many leading values to drop, by MSER: the cut that minimizes the error of the mean of the rest.

        minimize over d <= n/2:  sum_{i >= d} (x_i - mean_d)^2 / (n - d)^2

    Source: White, Simulation 69(6), 1997, 323-334. The values are means of at least 5 observations (MSER-5).

    >>> warm_up(np.array([9.0, 5.0, 1.0, 1.5, 1.0, 1.5, 1.0, 1.5, 1.0, 1.5]))
    2
    """
    n = len(series)
    if n < 4:
        return 0
    centred = series - series[n // 2 :].mean()
    rest = np.arange(n, 0, -1)
    sums = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum((centred**2)[::-1])[::-1]
    error = np.maximum(squares - sums**2 / rest, 0.0) / rest.astype(np.float64) ** 2
    return int(np.argmin(error[: n // 2 + 1]))


def grouped(sums: Array, batches: int = BATCHES) -> Array:
    """Add rows up to equally long batches; what is left over at the beginning is dropped."""
    size = len(sums) // batches
    grouped: Array = sums[len(sums) - size * batches :].reshape(batches, size, -1).sum(axis=1)
    return grouped


def ratio(top: Array, bottom: Array, level: float = 0.95) -> Estimate:
    """Estimate a ratio of means from batches: sum of `top` / sum of `bottom`.

        residual e_b = top_b - R bottom_b,  var(R) = sum e_b^2 / (k (k - 1)) / mean(bottom)^2

    >>> ratio(np.array([2.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0]))
    Estimate(mean=2.0, low=2.0, high=2.0)
    """
    k, below = len(top), float(bottom.sum())
    if below == 0:
        return Estimate(0.0)
    mean = float(top.sum()) / below
    if k < 2:
        return Estimate(mean)
    residual = top - mean * bottom
    half = t_quantile(level, k - 1) * math.sqrt(float((residual**2).sum()) / (k * (k - 1))) / abs(below / k)
    return Estimate(mean, mean - half, mean + half)


def correlated(batches: Array, negligible: float = 1e-12) -> bool:
    """Say whether successive batches are clearly alike: then they are too short for an interval.

    Parameters
    ----------
    batches : means, one behind the other
    negligible : differences from their mean, relative to it, up to which they are taken as equal [1]

    >>> correlated(np.linspace(1.0, 2.0, 32)), correlated(np.linspace(1.0, 1.0001, 32), 0.001)
    (True, False)
    """
    mean = batches.mean()
    centred = batches - mean
    square = float((centred**2).sum())
    if float(np.abs(centred).max()) <= negligible * abs(float(mean)):
        return False
    return float((centred[1:] * centred[:-1]).sum()) / square > 1.645 / math.sqrt(len(batches))
