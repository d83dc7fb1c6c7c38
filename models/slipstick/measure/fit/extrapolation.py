"""How far a fitted model scales: fastest time, largest speed-up, efficient processors, and the size needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slipstick.measure.fit.least_squares import FittedFormula

LARGEST = 1e6
"""Multiples of the largest size measured up to which a size is sought."""

CLOSE, APART = 256, 1.02
"""Up to `CLOSE` every number of processors is evaluated; beyond, numbers apart by this ratio, and those between them near a result."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Extrapolation:
    """A fit over the number of processors, beyond those measured.

    Parameters
    ----------
    fitted : a fit
    n : size of the problem; the largest one measured if None
    reach : the largest number of processors with a prediction; as far as the formula goes if None
    """

    fitted: FittedFormula
    n: float | None = None
    reach: float | None = None

    @cached_property
    def p(self) -> Array:
        """The numbers of processors that are evaluated."""
        last = self.fitted.formula.horizon * float(self.fitted.timings.p.max())
        last = last if self.reach is None else min(last, self.reach)
        far = CLOSE * APART ** np.arange(1, max(0.0, np.log(last / CLOSE) / np.log(APART)) + 1)
        found: Array = np.unique([*np.arange(1.0, min(CLOSE, last) + 1), *np.minimum(np.round(far), last), last])
        return found

    @cached_property
    def time(self) -> Array:
        """The times there [s]."""
        return self.fitted.predict(self.p, self.n)

    def speedup(self, p: Array, time: Array) -> Array:
        """Give the speed-up over one processor, T(1) / T(p) for a shared work, else p T(1) / T(p)."""
        found: Array = self.time[0] / time * (p if self.fitted.timings.weak_scaling else 1.0)
        return found

    def between(self, first: int, last: int) -> Array:
        """Give every whole number between two that were evaluated."""
        low, high = self.p[max(first, 0)], self.p[min(last, len(self.p) - 1)]
        return np.arange(low, high + 1)


def fastest(extrapolation: Extrapolation) -> tuple[int, float] | None:
    """Give the number of processors at which a shared work is done fastest, p_x, and the time there [s].

    None if the time still falls at the largest number evaluated (`TimeFormula.horizon`), or if every processor has a work of
    its own, where more processors never shorten a cycle.

    Parameters
    ----------
    extrapolation : of a fit
    """
    if extrapolation.fitted.timings.weak_scaling:
        return None
    at, time = int(np.argmin(extrapolation.time)), extrapolation.time
    # A model that levels off is fastest at the end to the last digit; that is not a minimum.
    if at == len(time) - 1 or not time[-1] > time[at] * (1 + 1e-9):
        return None
    near = extrapolation.between(at - 1, at + 1)
    times = extrapolation.fitted.predict(near, extrapolation.n)
    least = int(np.argmin(times))
    return int(near[least]), float(times[least])


def largest_speedup(extrapolation: Extrapolation) -> tuple[float, int]:
    """Give the largest speed-up of the fit over one processor, and the number of processors there.

    If it still grows at the largest number evaluated (`TimeFormula.horizon`), it is the one there.

    Parameters
    ----------
    extrapolation : of a fit
    """
    at = _first_of_the_largest(extrapolation.speedup(extrapolation.p, extrapolation.time))
    near = extrapolation.between(at - 1, at + 1)
    found = extrapolation.speedup(near, extrapolation.fitted.predict(near, extrapolation.n))
    at = _first_of_the_largest(found)
    return float(found[at]), int(near[at])


def _first_of_the_largest(values: Array) -> int:
    """Give the index of the largest value, the first of equal ones."""
    return int(np.flatnonzero(values >= values.max() * (1 - 1e-9))[0])


def largest_efficient(extrapolation: Extrapolation, efficiency: float) -> int:
    """Give the largest number of processors up to which the efficiency stays at least as large.

    Efficiency is T(1) / (p T(p)) for a shared work, T(1) / T(p) for one of each processor's own, with T(1) from the
    fit.

    Parameters
    ----------
    extrapolation : of a fit
    efficiency : wanted, above 0 and at most 1 [1]
    """
    short = _short(extrapolation, extrapolation.p, extrapolation.time, efficiency)
    if not len(short):
        return int(extrapolation.p[-1])
    near = extrapolation.between(int(short[0]) - 1, int(short[0]))
    (first, *_) = _short(extrapolation, near, extrapolation.fitted.predict(near, extrapolation.n), efficiency)
    return max(1, int(near[first]) - 1)


def size_needed(fitted: FittedFormula, p: float, efficiency: float) -> float | None:
    """Give the smallest size of the problem at which p processors keep an efficiency.

    None if the data have one size only, or if no size up to `LARGEST` times the largest measured is enough. Assumes that
    the efficiency grows with the size.

    Parameters
    ----------
    fitted : a fit to several sizes
    p : processors
    efficiency : wanted, above 0 and at most 1 [1]
    """
    if not fitted.timings.has_sizes:
        return None
    (found,) = sizes_needed(fitted, p, efficiency, fitted.theta[None])
    return float(found) if found < LARGEST * fitted.timings.n.max() else None


def sizes_needed(fitted: FittedFormula, p: float, efficiency: float, thetas: Array) -> Array:
    """Give the size needed, as `size_needed`, for each of some sets of parameters; `LARGEST` times the largest if none.

    Parameters
    ----------
    fitted, p, efficiency : as for `size_needed`
    thetas : sets of parameters in the place of those fitted, (D, k)
    """
    return np.array([_size_needed(fitted, p, efficiency, theta) for theta in thetas])


def _size_needed(fitted: FittedFormula, p: float, efficiency: float, theta: Array) -> float:
    from scipy.optimize import brentq

    def spare(log: float) -> float:
        single, time = fitted.formula.times(theta[None], fitted.at([1.0, p], float(np.exp(log))))[0]
        return float(single / time / (1.0 if fitted.timings.weak_scaling else p)) - efficiency

    least, most = float(fitted.timings.n.min()), LARGEST * float(fitted.timings.n.max())
    if spare(np.log(least)) >= 0 or spare(np.log(most)) < 0:
        return least if spare(np.log(least)) >= 0 else most
    return float(np.exp(brentq(spare, np.log(least), np.log(most), xtol=1e-12)))


def _short(extrapolation: Extrapolation, p: Array, time: Array, efficiency: float) -> NDArray[np.intp]:
    return np.flatnonzero(~(extrapolation.speedup(p, time) / p >= efficiency * (1 - 1e-12)))
