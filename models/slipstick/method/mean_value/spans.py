"""Random times known by mean and variance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOTHING", "NO_WAIT", "Array", "Span", "either", "one_after_the_other", "plus", "rounds"]

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
