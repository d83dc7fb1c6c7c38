"""What is known of a quantity that is not known exactly: distributions, by their quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Uncertainty(Protocol):
    """A distribution, given by its quantile function."""

    def quantile(self, part: Array) -> Array:
        """Give the value below which that part of all values lies."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """One value, known exactly."""

    value: float

    def quantile(self, part: Array) -> Array:
        """Give the value, whatever the part."""
        return np.full(np.shape(part), self.value)


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal, by mean and standard deviation.

    >>> Normal(5.0, 2.0).quantile(np.array([0.5, 0.8413447460685429])).round(9)
    array([5., 7.])
    """

    mean: float
    deviation: float

    def quantile(self, part: Array) -> Array:
        """Give mean + deviation x the standard normal quantile."""
        with np.errstate(all="ignore"):
            return self.mean + self.deviation * _standard(part)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Lognormal, by median and standard deviation of the natural logarithm.

    >>> Lognormal(5.0, 0.1).quantile(np.array([0.5])).round(9)
    array([5.])
    """

    median: float
    spread: float

    def quantile(self, part: Array) -> Array:
        """Give median x exp(spread x the standard normal quantile)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.median * np.exp(self.spread * _standard(part)))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform between two values."""

    low: float
    high: float

    def quantile(self, part: Array) -> Array:
        """Give low + part x (high - low)."""
        return self.low + part * (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Triangular:
    """Triangular between two values, most likely at the mode.

    >>> Triangular(0.0, 1.0, 2.0).quantile(np.array([0.125, 0.5])).tolist()
    [0.5, 1.0]
    """

    low: float
    mode: float
    high: float

    def quantile(self, part: Array) -> Array:
        """Give low + sqrt(part (high - low) (mode - low)) below the mode, and its mirror image above."""
        with np.errstate(all="ignore"):
            width = self.high - self.low
            rising = self.low + np.sqrt(part * width * (self.mode - self.low))
            falling = self.high - np.sqrt((1 - part) * width * (self.high - self.mode))
        return np.where(part * width < self.mode - self.low, rising, falling)


@dataclass(frozen=True, slots=True)
class Discrete:
    """One of several values, by weight.

    >>> Discrete((1.0, 2.0), (3.0, 1.0)).quantile(np.array([0.7, 0.8])).tolist()
    [1.0, 2.0]
    """

    values: Sequence[float]
    weights: Sequence[float]

    def quantile(self, part: Array) -> Array:
        """Give the first value whose weight and those before it reach the part; values are taken as ordered."""
        reached = np.cumsum(self.weights) / np.sum(self.weights)
        place = np.searchsorted(reached, part, side="left")
        return np.asarray(self.values, dtype=float)[np.minimum(place, len(self.values) - 1)]


def _standard(part: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(part))
