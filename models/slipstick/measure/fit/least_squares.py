"""One formula fitted to timings by least squares of relative errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.measure.fit.formula import Array, Family, TimeFormula, Timings

TINY = 1e-300  # a time of 0 has no logarithm
MOST_STEPS = 200
NOTHING = 1e-9  # a relative change of the times below the resolution of any data
STEP = 1.5e-8  # of differences, relative: half of the digits


@dataclass(frozen=True, slots=True)
class FittedFormula:
    """A formula with the parameters that fit best.

    Parameters
    ----------
    formula : that was fitted
    theta : its parameters, in base units, (k,)
    timings : to which it was fitted
    residuals : log(observed / fitted), (M,)
    """

    formula: TimeFormula
    theta: Array
    timings: Timings
    residuals: Array

    @property
    def freedom(self) -> int:
        """Degrees of freedom: observations less parameters; chosen exponents count as parameters."""
        return len(self.residuals) - len(self.theta) - self.formula.chosen_exponents

    @property
    def scatter(self) -> float:
        """Standard deviation of the relative errors [1]; infinite without a degree of freedom."""
        return float(np.sqrt(self.squares / self.freedom)) if self.freedom > 0 else np.inf

    @property
    def squares(self) -> float:
        """Sum of the squared relative errors."""
        return float(self.residuals @ self.residuals)

    def squares_at(self, theta: Array) -> float:
        """Give the sum of the squared relative errors for other parameters."""
        return _squares(self.formula, theta, self.timings)

    @property
    def aicc(self) -> float:
        r"""Akaike's criterion with the correction for few observations; infinite where there are too few.

        ``M ln(RSS / M) + 2 k M / (M - k - 1)``, k counting the scatter and the chosen exponents.
        Source: Hurvich and Tsai, Biometrika 76(2), 1989.
        """
        count, k = len(self.residuals), len(self.theta) + self.formula.chosen_exponents + 1
        if count <= k + 1:
            return np.inf
        # Below the rounding error, no model fits better than another.
        squares = max(self.squares, count * np.finfo(float).eps ** 2)
        return float(count * np.log(squares / count) + 2 * k * count / (count - k - 1))

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, in base units."""
        return dict(zip(self.formula.names, self.theta.tolist(), strict=True))

    def predict(self, p: Sequence[float] | Array, n: float | None = None) -> Array:
        """Give the time for each number of processors [s].

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        return self.formula.time(self.theta, self.at(p, n))

    def at(self, p: Sequence[float] | Array, n: float | None = None) -> Timings:
        """Give points to predict at, as for `predict`; their times have no meaning."""
        processors = np.asarray(p, dtype=float)
        size = float(self.timings.n.max()) if n is None else n
        return Timings(processors, np.full(len(processors), size), processors, self.timings.weak_scaling)

    def lost(self, p: float, n: float | None = None) -> dict[str, float]:
        """Give the processors lost at a number of them, by cause, the largest loss first.

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        at = self.at([p], n)
        time = float(self.formula.time(self.theta, at)[0])
        lost = {cause: p * float(each[0]) / time for cause, each in self.formula.lost(self.theta, at).items()}
        return dict(sorted(lost.items(), key=lambda item: -item[1]))


def fit(family: Family, timings: Timings) -> FittedFormula:
    """Fit a family: its formula with the least sum of squares of log(observed / fitted).

    Noise in timings is relative, so logarithms are compared: a run of an hour counts as much as one of a second. Every repetition is an observation, so points that were measured more often weigh more.

    Raises
    ------
    NoAnswerError : fewer numbers of processors than parameters, or no formula fits

    >>> from slipstick.measure.fit.families import FAMILIES
    >>> p = np.array([1.0, 2.0, 4.0, 8.0])
    >>> fit(FAMILIES["amdahl"], Timings(p, np.ones(4), 10 + 90 / p)).parameters
    {'single': 100.0, 'serial': 0.1}
    """
    every, count = family.formulas(timings), len(timings.processors)
    formulas = [formula for formula in every if len(formula.parameters) <= count]
    if not formulas:
        least = min(len(formula.parameters) for formula in every)
        raise NoAnswerError(
            f"{least} parameters need times on as many numbers of processors; there are {count}, so measure on {least - count} more"
        )
    begun = [
        (_squares(formula, start, timings), formula, start) for formula in formulas for start in formula.starts(timings)
    ]
    # Of many formulas, all sums of terms, the best start decides: it is already the minimum but for the logarithm.
    tried = begun if len(formulas) == 1 else [min(begun, key=lambda each: each[0])]
    return min((fit_formula(formula, timings, start) for _, formula, start in tried), key=lambda each: each.squares)


def fit_formula(formula: TimeFormula, timings: Timings, start: Array, within: float = 1e-12) -> FittedFormula:
    """Fit one formula from a start.

    Parameters
    ----------
    formula, timings, start : what to fit, to what, from where
    within : relative change of parameters and squares at which the search ends [1]
    """
    theta = _at_bounds(formula, minimized(formula, start, timings, within), timings)
    return FittedFormula(formula, theta, timings, _residuals(formula, theta, timings))


def _at_bounds(formula: TimeFormula, theta: Array, timings: Timings) -> Array:
    """Set parameters to their lower limit where the times show no difference: a search stops just before the limit."""
    without = theta - np.diag(theta - formula.lower)
    shown = _logarithms(formula.times(np.vstack([theta, without]), timings), timings)
    return np.where(np.abs(shown[1:] - shown[0]).max(axis=1) < NOTHING, formula.lower, theta)


def _residuals(formula: TimeFormula, theta: Array, timings: Timings) -> Array:
    found: Array = _logarithms(formula.times(theta[None], timings), timings)[0]
    return found


def _logarithms(times: Array, timings: Timings) -> Array:
    # A point at which a model has no answer counts as infinitely bad.
    found: Array = np.log(timings.time) - np.log(np.where(times > TINY, times, TINY))
    return found


def _squares(formula: TimeFormula, theta: Array, timings: Timings) -> float:
    found = _residuals(formula, theta, timings)
    return float(found @ found)


def _scale(formula: TimeFormula, start: Array, inside: Array, timings: Timings) -> Array:
    """Give a scale for each parameter: its start, or the value at which it affects the times."""
    matters = 1e-3 * np.maximum(start.max(), TINY)
    scale = np.where(start > 0, start, matters)
    twice = _logarithms(formula.times(np.vstack([inside, inside + np.diag(scale)]), timings), timings)
    # An earlier search may leave a parameter just off its limit, which is not a scale.
    idle = np.abs(twice[1:] - twice[0]).max(axis=1) < NOTHING
    return np.where(idle, np.maximum(scale, matters), scale)


def minimized(
    formula: TimeFormula,
    start: Array,
    timings: Timings,
    within: float = 1e-12,
    more: Callable[[Array], Array] = lambda thetas: np.empty((len(thetas), 0)),
) -> Array:
    """Minimize the squared residuals from a start, within the limits; the result is never worse than the start.

    Parameters
    ----------
    formula, start, timings, within : as for `fit_formula`
    more : from sets of parameters, (D, k), residuals to minimize beside those of the timings, (D, any)
    """
    from scipy.optimize import least_squares

    least, most = formula.lower, formula.upper
    inside: Array = np.clip(start, least, most)
    scale = _scale(formula, start, inside, timings)
    room = 1e-9 * np.minimum(scale, most - least)
    begin = np.clip(inside, least + room, np.minimum(most, np.maximum(inside, scale)) - room)

    def residuals(thetas: Array) -> Array:
        return np.hstack([_logarithms(formula.times(thetas, timings), timings), more(thetas)])

    def differences(theta: Array) -> Array:
        # One call for all differences; a step never leaves the limits.
        step = STEP * np.maximum(np.abs(theta), 1e-3)
        step = np.where((theta + step) * scale > most, -step, step)
        found = residuals(np.vstack([theta, theta + np.diag(step)]) * scale)
        slopes: Array = (found[1:] - found[0]).T / step
        return slopes

    found = least_squares(
        lambda theta: residuals(theta[None] * scale)[0],
        begin / scale,
        jac=differences,
        bounds=(least / scale, most / scale),
        xtol=within,
        ftol=within,
        gtol=within,
        max_nfev=MOST_STEPS,
    )
    ended: Array = np.clip(found.x * scale, least, most)
    squares = (residuals(np.vstack([ended, inside])) ** 2).sum(axis=1)
    return ended if squares[0] <= squares[1] else inside
