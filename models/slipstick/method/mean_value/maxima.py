"""The longest of several random times.

Each time is fitted by mean and variance: the cube root of a gamma variate is very nearly normal (Wilson
and Hilferty, Proc. National Academy of Sciences 17, 1931, 684-688), so that both its distribution and its
derivatives are elementary. Constants and exponential times are exact.

Random times known by mean and variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Real or, for derivatives, complex numbers along the points of a sweep."""


@dataclass(frozen=True, slots=True)
class Span:
    """A random time.

    Parameters
    ----------
    mean : [s]
    variance : [s^2]
    kind : constant or exponential where it is known to be, so that maxima are exact; else general
    """

    mean: Array
    variance: Array
    kind: str = "general"

    @property
    def scv(self) -> Array:
        """Squared coefficient of variation [1]."""
        return self.variance / plus(self.mean * self.mean)

    def scaled(self, factor: Array) -> Span:
        """Give a multiple of the time."""
        return Span(self.mean * factor, self.variance * factor * factor, self.kind)


def plus(value: Array) -> Array:
    """Add a hair, so that nothing divided by nothing is nothing."""
    return value + 1e-300


NOTHING = Span(np.zeros(1), np.zeros(1), "constant")
NO_WAIT = Span(np.zeros(1), np.zeros(1), "constant")


def one_after_the_other(parts: Iterable[Span]) -> Span:
    """Add independent times."""
    kept = [part for part in parts if part is not NOTHING]
    if not kept:
        return NOTHING
    if len(kept) == 1:
        return kept[0]
    kind = "constant" if all(part.kind == "constant" for part in kept) else "general"
    mean, variance = kept[0].mean, kept[0].variance
    for part in kept[1:]:
        mean, variance = mean + part.mean, variance + part.variance
    return Span(mean, variance, kind)


def rounds(count: Array, part: Span) -> Span:
    """Add a time to itself, a number of times; a fraction is a chance of one more."""
    if part is NOTHING:
        return NOTHING
    fraction = count - np.floor(count.real)
    # A fraction f of a round is done with that chance, which varies by f (1 - f) m^2.
    variance = count * part.variance + fraction * (1 - fraction) * part.mean * part.mean
    kind = "constant" if part.kind == "constant" and not np.any(fraction.real > 0) else "general"
    return Span(count * part.mean, variance, kind)


def either(options: Sequence[tuple[Array, Span]]) -> Span:
    """Mix times by their probabilities: the law of total variance."""
    if len(options) == 1:
        return options[0][1]
    mean = sum((p * part.mean for p, part in options), np.zeros(1))
    square = sum((p * (part.variance + part.mean * part.mean) for p, part in options), np.zeros(1))
    variance = square - mean * mean
    return Span(mean, np.where(variance.real > 0, variance, 0 * variance))


MOST_EXACT = 8
"""Of so many exponential times the longest is found exactly: 2^8 sums."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANELS = 8
_REACH = 5.0
"""Standard deviations from the mean at which an interval of integration ends."""


def first_largest(values: Sequence[Array]) -> Array:
    """Give the largest by real parts, the first of equals: a maximum whose derivative belongs to one."""
    best = values[0]
    for value in values[1:]:
        best = np.where(value.real > best.real, value, best)
    return best


def normal(x: Array) -> Array:
    """Give the normal distribution function, by an elementary formula good to 8e-8.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 7.1.26.
    """
    side = np.where(x.real < 0, -1.0, 1.0)
    z = x * side / np.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-z * z)
    below: Array = np.where(side < 0, tail, 1.0 - tail)
    return below


def longest(spans: Sequence[Span]) -> Span:
    """Give mean and variance of the longest of independent times."""
    if len(spans) == 1:
        return spans[0]
    constants = [each for each in spans if each.kind == "constant"]
    random = [each for each in spans if each.kind != "constant"]
    if not random:
        return Span(first_largest([each.mean for each in constants]), np.zeros(1), "constant")
    if not constants and len(random) <= MOST_EXACT and all(each.kind == "exponential" for each in random):
        return _of_exponentials([each.mean for each in random])
    least = first_largest([each.mean for each in constants]) if constants else np.zeros(1)
    return _integrated(random, [np.ones(1)] * len(random), least)


def longest_of_alike(span: Span, count: Array) -> Span:
    """Give mean and variance of the longest of `count` independent times of one distribution."""
    if span.kind == "constant" or np.all(count.real == 1):
        return span
    if span.kind == "exponential":
        harmonic, squares = _harmonic(count)
        return Span(span.mean * harmonic, span.variance * squares)
    return _integrated([span], [count], np.zeros(1))


def _harmonic(count: Array) -> tuple[Array, Array]:
    """Sum 1/k and 1/k^2 up to each whole count."""
    terms = 1.0 / np.arange(1, int(np.max(count.real)) + 1)
    index = np.rint(count.real).astype(int)
    return np.append(0.0, np.cumsum(terms))[index], np.append(0.0, np.cumsum(terms**2))[index]


def _of_exponentials(means: Sequence[Array]) -> Span:
    """Include and exclude: E max = sum over subsets of (-1)^(k+1) / (sum of rates)."""
    first = second = np.zeros(1)
    # An exponential time of mean 0 is over at once; a hair keeps its rate finite.
    rates = [1.0 / (mean + 1e-300) for mean in means]
    for size in range(1, len(rates) + 1):
        for chosen in combinations(rates, size):
            together = 1.0 / sum(chosen, np.zeros(1))
            sign = 1.0 if size % 2 else -1.0
            first = first + sign * together
            second = second + sign * 2.0 * together * together
    return Span(first, second - first * first)


def _integrated(spans: Sequence[Span], counts: Sequence[Array], least: Array) -> Span:
    """Integrate P(longest > t) from where it leaves 1, panel by panel."""
    fits = [Fitted(span, count) for span, count in zip(spans, counts, strict=True)]
    low = first_largest([least, *(fit.low for fit in fits)])
    high = first_largest([low, *(fit.high for fit in fits)])
    edges = [low, high, *(edge for fit in fits for edge in (fit.low, fit.middle, fit.high))]
    panels = np.stack(np.broadcast_arrays(*[_between(low, edge, high) for edge in edges]), axis=-1)
    order = np.argsort(panels.real, axis=-1)
    panels = np.take_along_axis(panels, order, axis=-1)
    width = panels[..., 1:] - panels[..., :-1]
    nodes = panels[..., :-1, None] + width[..., None] * (0.5 + 0.5 * _NODES)
    with np.errstate(all="ignore"):
        below = np.ones(1)
        for fit in fits:
            below = below * fit.distribution(nodes)
    beyond = 1.0 - below
    weights = 0.5 * _WEIGHTS * width[..., None]
    first = np.sum(weights * beyond, axis=(-1, -2))
    second = np.sum(weights * beyond * 2.0 * (nodes - low[..., None, None]), axis=(-1, -2))
    mean = low + first
    # The hair that keeps a time of nothing finite is no time.
    return Span(np.where(mean.real > 1e-200, mean, 0 * mean), second - first * first)


def _between(low: Array, value: Array, high: Array) -> Array:
    return np.where(value.real < low.real, low, np.where(value.real > high.real, high, value))


class Fitted:
    """A gamma-like distribution by mean and variance, of one time or of the longest of several."""

    def __init__(self, span: Span, count: Array) -> None:
        self.count = count
        # A hair of mean and variance keeps what is nothing or constant at some points finite.
        self.mean = span.mean + 1e-290
        self.root = np.sqrt(span.variance / plus(self.mean * self.mean) + 1e-18)
        reach = _REACH + np.sqrt(2.0 * np.log(count.real))
        self.low = self._quantile(-_REACH)
        self.middle = self._quantile(np.sqrt(2.0 * np.log(count.real)))
        self.high = self._quantile(reach)

    def _quantile(self, z: Array | float) -> Array:
        """Invert the fit at a normal quantile."""
        cube = 1.0 - self.root * self.root / 9.0 + z * self.root / 3.0
        cube = np.where(cube.real > 0, cube, 0.0 * cube)
        return self.mean * cube * cube * cube

    def distribution(self, t: Array) -> Array:
        """P(time <= t), or that all of `count` are."""
        more = (..., *[None] * (t.ndim - self.mean.ndim))
        mean, root = self.mean[more], self.root[more]
        ratio = t / mean
        # The cube root of 0 has no derivative; nothing that matters is that close to 0.
        ratio = np.where(ratio.real > 1e-30, ratio, 1e-30)
        x = 3.0 * (ratio ** (1.0 / 3.0) - 1.0) / root + root / 3.0
        return normal(x) ** self.count[more]

    def at(self, t: Array) -> Array:
        """P(time <= t), nothing before 0."""
        return np.where(t.real > 0, self.distribution(np.where(t.real > 0, t, 1e-30 + 0 * t)), 0.0)

    def grid(self, times: Array) -> tuple[Array, Array, Array]:
        """Choose points and weights of integration over the spread of several starts."""
        first, last = times[..., 0], times[..., -1]
        low, high = first + self.low, last + self._quantile(_REACH + np.sqrt(2.0 * np.log(times.shape[-1])))
        edges = [low + (high - low) * each for each in np.linspace(0.0, 1.0, _PANELS + 1) ** 1.5]
        panels = np.stack(np.broadcast_arrays(*edges), axis=-1)
        width = panels[..., 1:] - panels[..., :-1]
        nodes = panels[..., :-1, None] + width[..., None] * (0.5 + 0.5 * _NODES)
        weights = 0.5 * _WEIGHTS * width[..., None]
        flat = (*nodes.shape[:-2], -1)
        return nodes.reshape(flat), np.broadcast_to(weights, nodes.shape).reshape(flat), low
