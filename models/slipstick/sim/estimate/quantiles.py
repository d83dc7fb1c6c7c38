"""Quantiles of times in memory that does not grow: histograms of sections of the run.

A bin is 0.2 % wide and keeps the sum of its values beside their number, so a quantile is exact where all
values of its bin are equal and off by at most 0.2 % elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slipstick.sim.estimate.intervals import Estimate, t_quantile
from slipstick.sim.plan.streams import Array

__all__ = ["Quantiles"]

_BINS_A_FACTOR_E = 500.0
_LEAST = 1e-12
_MOST_BINS = 32_000


class Quantiles:
    """Values seen so far, in sections of equally many.

    Parameters
    ----------
    section : values in a section at first; it doubles whenever there are 64

    >>> seen = Quantiles(section=2)
    >>> seen.add(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    >>> seen.estimate(0.5).mean
    3.0
    """

    SECTIONS = 64

    def __init__(self, section: int = 256) -> None:
        self.section = section
        self._done: list[tuple[NDArray[np.int64], Array]] = []
        self._part: list[Array] = []
        self._part_size = 0

    def add(self, values: Array) -> None:
        """Take in more values."""
        while len(values):
            room = self.section - self._part_size
            self._part.append(values[:room])
            self._part_size += len(self._part[-1])
            values = values[room:]
            if self._part_size == self.section:
                self._done.append(_histogram(np.concatenate(self._part)))
                self._part, self._part_size = [], 0
                if len(self._done) == self.SECTIONS:
                    self._done = [_both(a, b) for a, b in zip(self._done[::2], self._done[1::2], strict=True)]
                    self.section *= 2

    def estimate(self, p: float, drop: int = 0, level: float = 0.95) -> Estimate:
        """Estimate the p-quantile, without the first `drop` values.

        The interval holds the quantiles at p plus and minus the error of the fraction of values below.
        """
        first = min(-(-drop // self.section), max(len(self._done) - 1, 0))
        sections = self._done[first:]
        if self._part_size:
            sections = [*sections, _histogram(np.concatenate(self._part))]
        if not sections:
            return Estimate(math.nan)
        width = max(len(counts) for counts, _ in sections)
        counts = np.array([np.pad(each, (0, width - len(each))) for each, _ in sections])
        sums = np.sum([np.pad(each, (0, width - len(each))) for _, each in sections], axis=0)
        below = np.cumsum(counts.sum(axis=0))
        middle = _at(below, sums, p)
        k = len(sections) - bool(self._part_size)
        if k < 8:
            return Estimate(middle)
        parts = np.array([[_spread(each, p, below)] for each in counts[:k]]).ravel()
        error = t_quantile(level, k - 1) * float(parts.std(ddof=1)) / math.sqrt(k)
        return Estimate(middle, _at(below, sums, max(p - error, 0.0)), _at(below, sums, min(p + error, 1.0)))


def _histogram(values: Array) -> tuple[NDArray[np.int64], Array]:
    bins = np.log(np.maximum(values, _LEAST) / _LEAST) * _BINS_A_FACTOR_E
    index = np.minimum(bins, _MOST_BINS - 1).astype(np.int64)
    sums: Array = np.bincount(index, weights=values).astype(np.float64)
    return np.bincount(index).astype(np.int64), sums


def _both(a: tuple[NDArray[np.int64], Array], b: tuple[NDArray[np.int64], Array]) -> tuple[NDArray[np.int64], Array]:
    width = max(len(a[0]), len(b[0]))

    counts = np.zeros(width, dtype=np.int64)
    sums = np.zeros(width)
    for some_counts, some_sums in (a, b):
        counts[: len(some_counts)] += some_counts
        sums[: len(some_sums)] += some_sums
    return counts, sums


def _at(below: NDArray[np.int64], sums: Array, p: float) -> float:
    """Give the mean of the bin that holds the p-quantile."""
    rank = max(math.ceil(p * below[-1]), 1)
    index = int(np.searchsorted(below, rank))
    count = below[index] - (below[index - 1] if index else 0)
    return float(sums[index] / count)


def _spread(counts: NDArray[np.int64], p: float, below: NDArray[np.int64]) -> float:
    """Give the fraction of a section's values below the overall p-quantile; half its bin counts."""
    index = int(np.searchsorted(below, max(math.ceil(p * below[-1]), 1)))
    return float(counts[:index].sum() + 0.5 * counts[index]) / float(counts.sum())
