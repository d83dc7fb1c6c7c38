"""One form fitted to timings: least squares of relative errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.measure.fit.formula import Array, Family, TimeFormula, Timings

TINY = 1e-300  # a time of 0 has no logarithm
MOST_STEPS = 200
NOTHING = 1e-9  # a relative change of the times that no data show
STEP = 1.5e-8  # of differences, relative: half of the digits


@dataclass(frozen=True, slots=True)
class FittedFormula:
    """A form with the parameters that fit best.

    Parameters
    ----------
    form : the formula
    theta : its parameters, in base units, (k,)
    timings : what was fitted
    residuals : log(observed / fitted), (M,)
    """

    form: TimeFormula
    theta: Array
    timings: Timings
    residuals: Array

    @property
    def freedom(self) -> int:
        """Observations beyond the parameters; exponents that were chosen count as parameters."""
        return len(self.residuals) - len(self.theta) - self.form.chosen

    @property
    def scatter(self) -> float:
        """Standard deviation of the relative errors [1]; infinite without an observation to spare."""
        return float(np.sqrt(self.squares / self.freedom)) if self.freedom > 0 else np.inf

    @property
    def squares(self) -> float:
        """Sum of the squared relative errors."""
        return float(self.residuals @ self.residuals)

    def squares_at(self, theta: Array) -> float:
        """Give the sum of the squared relative errors for other parameters."""
        return _squares(self.form, theta, self.timings)

    @property
    def aicc(self) -> float:
        r"""Akaike's criterion with the correction for few observations; infinite where there are too few.

        ``M ln(RSS / M) + 2 k M / (M - k - 1)``, k counting the scatter and the chosen exponents.
        Source: Hurvich and Tsai, Biometrika 76(2), 1989.
        """
        count, k = len(self.residuals), len(self.theta) + self.form.chosen + 1
        if count <= k + 1:
            return np.inf
        # Below rounding, one model does not fit better than another.
        squares = max(self.squares, count * np.finfo(float).eps ** 2)
        return float(count * np.log(squares / count) + 2 * k * count / (count - k - 1))

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, in base units."""
        return dict(zip(self.form.names, self.theta.tolist(), strict=True))

    def predict(self, p: Sequence[float] | Array, n: float | None = None) -> Array:
        """Give the time for each number of processors [s].

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        return self.form.time(self.theta, self.at(p, n))

    def at(self, p: Sequence[float] | Array, n: float | None = None) -> Timings:
        """Give points to predict at, as for `predict`; their times say nothing."""
        processors = np.asarray(p, dtype=float)
        size = float(self.timings.n.max()) if n is None else n
        return Timings(processors, np.full(len(processors), size), processors, self.timings.each)

    def lost(self, p: float, n: float | None = None) -> dict[str, float]:
        """Give the processors lost at a number of them, by cause, the largest loss first.

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        at = self.at([p], n)
        time = float(self.form.time(self.theta, at)[0])
        lost = {cause: p * float(each[0]) / time for cause, each in self.form.lost(self.theta, at).items()}
        return dict(sorted(lost.items(), key=lambda item: -item[1]))


def fit(family: Family, timings: Timings) -> FittedFormula:
    """Fit a family: the form with the least squares of log(observed / fitted).

    Noise in timings is relative, so it is logarithms that are compared: then a run of an hour counts as much as one
    of a second. Every repetition is an observation, so points that were measured more often weigh more.

    Raises
    ------
    NoAnswerError : fewer numbers of processors than parameters, or no form fits

    >>> from slipstick.measure.fit.families import FAMILIES
    >>> p = np.array([1.0, 2.0, 4.0, 8.0])
    >>> fit(FAMILIES["amdahl"], Timings(p, np.ones(4), 10 + 90 / p)).parameters
    {'single': 100.0, 'serial': 0.1}
    """
    forms = [form for form in family.forms(timings) if len(form.letters) <= len(timings.processors)]
    if not forms:
        count = len(timings.processors)
        raise NoAnswerError(
            f"{family.title} cannot be fitted to {count} numbers of processors; measure at more of them"
        )
    begun = [(_squares(form, start, timings), form, start) for form in forms for start in form.starts(timings)]
    # Of many forms, sums of terms all, the best start decides: it is the least already but for the logarithm.
    tried = begun if len(forms) == 1 else [min(begun, key=lambda each: each[0])]
    return min((fit_form(form, timings, start) for _, form, start in tried), key=lambda each: each.squares)


def fit_form(form: TimeFormula, timings: Timings, start: Array, within: float = 1e-12) -> FittedFormula:
    """Fit one form from a start.

    Parameters
    ----------
    form, timings, start : what to fit, to what, from where
    within : relative change of parameters and squares at which the search ends [1]
    """
    theta = _cleared(form, descended(form, start, timings, within), timings)
    return FittedFormula(form, theta, timings, _residuals(form, theta, timings))


def _cleared(form: TimeFormula, theta: Array, timings: Timings) -> Array:
    """Put what differs from its least value by nothing that the times show to that value: a search stops a hair before it."""
    without = theta - np.diag(theta - form.least)
    shown = _logarithms(form.times(np.vstack([theta, without]), timings), timings)
    return np.where(np.abs(shown[1:] - shown[0]).max(axis=1) < NOTHING, form.least, theta)


def _residuals(form: TimeFormula, theta: Array, timings: Timings) -> Array:
    found: Array = _logarithms(form.times(theta[None], timings), timings)[0]
    return found


def _logarithms(times: Array, timings: Timings) -> Array:
    # Where a model has no answer, no fit may end.
    found: Array = np.log(timings.time) - np.log(np.where(times > TINY, times, TINY))
    return found


def _squares(form: TimeFormula, theta: Array, timings: Timings) -> float:
    found = _residuals(form, theta, timings)
    return float(found @ found)


def _scale(form: TimeFormula, start: Array, inside: Array, timings: Timings) -> Array:
    """Say what each parameter is measured in: its start, or what it would have to be to matter."""
    matters = 1e-3 * np.maximum(start.max(), TINY)
    scale = np.where(start > 0, start, matters)
    twice = _logarithms(form.times(np.vstack([inside, inside + np.diag(scale)]), timings), timings)
    # An earlier search leaves a parameter at its bound but for a hair, which is no measure of it.
    idle = np.abs(twice[1:] - twice[0]).max(axis=1) < NOTHING
    return np.where(idle, np.maximum(scale, matters), scale)


def descended(
    form: TimeFormula,
    start: Array,
    timings: Timings,
    within: float = 1e-12,
    more: Callable[[Array], Array] = lambda thetas: np.empty((len(thetas), 0)),
) -> Array:
    """Go down from a start, within the bounds; never to a worse place.

    Parameters
    ----------
    form, start, timings, within : as for `fit_form`
    more : from sets of parameters, (D, k), residuals to make small beside those of the timings, (D, any)
    """
    from scipy.optimize import least_squares

    least, most = form.least, form.most
    inside: Array = np.clip(start, least, most)
    scale = _scale(form, start, inside, timings)
    room = 1e-9 * np.minimum(scale, most - least)
    begin = np.clip(inside, least + room, np.minimum(most, np.maximum(inside, scale)) - room)

    def residuals(thetas: Array) -> Array:
        return np.hstack([_logarithms(form.times(thetas, timings), timings), more(thetas)])

    def differences(theta: Array) -> Array:
        # One call for all differences; a step never leaves the bounds.
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
