"""Random times known by mean and variance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOTHING", "Array", "Span", "either", "one_after_the_other", "rounds"]

Array = NDArray[np.generic]
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

    def scaled(self, factor: Array) -> Span:
        """Give a multiple of the time."""
        return Span(self.mean * factor, self.variance * factor * factor, self.kind)


NOTHING = Span(np.zeros(1), np.zeros(1), "constant")


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
    if part.kind == "exponential" and np.all(count.real == 1):
        kind = "exponential"
    return Span(count * part.mean, variance, kind)


def either(options: Sequence[tuple[Array, Span]]) -> Span:
    """Mix times by their probabilities: the law of total variance."""
    mean = sum((p * part.mean for p, part in options), np.zeros(1))
    square = sum((p * (part.variance + part.mean * part.mean) for p, part in options), np.zeros(1))
    certain = [part for p, part in options if np.all(p.real == 1)]
    if certain:
        return certain[0]
    return Span(mean, square - mean * mean)
