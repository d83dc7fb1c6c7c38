"""How sure a fit is of its parameters and predictions.

Intervals by profile: how far a value can be pushed before the fit becomes too bad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.measure.fit.formula import Array, TimeFormula, Timings
from slipstick.measure.fit.least_squares import FittedFormula, descended, fit_form

ROUGHLY = 1e-7
"""How closely a draw is fitted; its scatter is far wider."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and what it lies between, in base units."""

    value: float
    low: float
    high: float

    def exp(self) -> Interval:
        """Give the interval of the number whose logarithm this one is of."""
        return Interval(*(float(np.exp(each)) for each in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class Resampled:
    """A fit, and the fits to timings that might as well have been measured.

    Parameters
    ----------
    fitted : the fit to what was measured
    thetas : parameters of each of the others, (draws, k)
    """

    fitted: FittedFormula
    thetas: Array

    def parameters(self, level: float = 0.95) -> dict[str, Interval]:
        """Give an interval for each parameter."""
        found = zip(self.fitted.form.names, self.fitted.theta, self.thetas.T, strict=True)
        return {name: self._between(float(value), draws, level) for name, value, draws in found}

    def predict(self, p: Sequence[float], n: float | None = None, level: float = 0.95) -> list[Interval]:
        """Give an interval for the mean time at each number of processors [s], if the form is the right one."""
        drawn = np.array([self._with(theta).predict(p, n) for theta in self.thetas])
        values = self.fitted.predict(p, n)
        return [self._between(float(value), draws, level) for value, draws in zip(values, drawn.T, strict=True)]

    def positive(self, value: Callable[[Array], Array], level: float = 0.95) -> Interval:
        """Give an interval for what follows from sets of parameters, (D, k) to (D,), and is above 0."""
        logs = np.log(value(np.vstack([self.fitted.theta, self.thetas])))
        return self._between(float(logs[0]), logs[1:], level, least=-np.inf).exp()

    def _with(self, theta: Array) -> FittedFormula:
        return FittedFormula(self.fitted.form, theta, self.fitted.timings, self.fitted.residuals)

    def _between(self, value: float, draws: Array, level: float, least: float = 0.0) -> Interval:
        """Take quantiles, widened from the normal to Student's t, for the scatter is itself estimated."""
        from scipy.stats import norm, t

        wider = float(t.ppf((1 + level) / 2, self.fitted.freedom) / norm.ppf((1 + level) / 2))
        # Quantiles at i / (B + 1): between the i-th and the (B + 1 - i)-th draw lies the part that is wanted.
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="weibull")
        return Interval(value, max(least, value - wider * (value - float(low))), value + wider * (float(high) - value))


def resample(fitted: FittedFormula, seed: int, draws: int = 200) -> Resampled:
    """Fit again to the fitted times with residuals drawn anew: the bootstrap of residuals.

    Residuals are those of the fit, centred and made larger by sqrt(M / (M - k)), for a fit comes closer to its data
    than the truth does. The stream of random numbers is named by the family, so that another family's draws do not
    change with it. Approximate: it takes the form for true, and the scatter for the same everywhere.

    Parameters
    ----------
    fitted : a fit
    seed : of the random streams
    draws : how many

    Raises
    ------
    NoAnswerError : no observation is left over to tell the scatter from

    Source: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 6.2.3.
    """
    check_spare(fitted)
    random = np.random.default_rng([seed, *f"fit/{fitted.form.family}".encode()])
    residuals = (fitted.residuals - fitted.residuals.mean()) * np.sqrt(len(fitted.residuals) / fitted.freedom)
    times = fitted.form.time(fitted.theta, fitted.timings)
    thetas = []
    for _ in range(draws):
        drawn = times * np.exp(random.choice(residuals, len(times)))
        thetas.append(fit_form(fitted.form, fitted.timings.with_time(drawn), fitted.theta, ROUGHLY).theta)
    return Resampled(fitted, np.array(thetas))


def check_spare(fitted: FittedFormula) -> None:
    """Refuse a fit without an observation to spare.

    Raises
    ------
    NoAnswerError : no observation is left over to tell the scatter from
    """
    if fitted.freedom < 1:
        count = len(fitted.residuals)
        raise NoAnswerError(f"{count} observations leave none over to tell the scatter from; measure at more points")


PUSHES = 8
"""Fits on each side at most; the search is a secant, which needs two to four."""

NEAR = 0.02
"""How closely the border is found, relative to its distance [1]."""

STIFF = 0.2
"""Standard errors by which a pushed value may miss where it is pushed to."""

ROUGHLY_profile = 1e-8
Value = Callable[[Array], Array]
"""From sets of parameters, (D, k), a value of each, (D,)."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """A fit whose intervals are profiles.

    Parameters
    ----------
    fitted : the fit
    """

    fitted: FittedFormula

    def parameters(self, level: float = 0.95) -> dict[str, Interval]:
        """Give an interval for each parameter."""
        names = self.fitted.form.names
        return {name: self._between(partial(_parameter, at), level) for at, name in enumerate(names)}

    def predict(self, p: Sequence[float], n: float | None = None, level: float = 0.95) -> list[Interval]:
        """Give an interval for the mean time at each number of processors [s], if the form is the right one."""
        there = [self.fitted.at([each], n) for each in p]
        logs = [self._between(partial(_log_time, self.fitted.form, at), level, least=-np.inf) for at in there]
        return [each.exp() for each in logs]

    def positive(self, value: Value, level: float = 0.95) -> Interval:
        """Give an interval for what follows from sets of parameters, (D, k) to (D,), and is above 0."""
        return self._between(lambda thetas: np.log(value(thetas)), level, least=-np.inf).exp()

    def _between(self, value: Value, level: float, least: float = 0.0) -> Interval:
        from scipy.stats import t

        fitted = self.fitted
        best = float(value(fitted.theta[None])[0])
        error = _standard_error(fitted, value)
        if not (np.isfinite(error) and error > 0 and fitted.scatter > 0):
            return Interval(best, best, best)
        far = float(t.ppf((1 + level) / 2, fitted.freedom))
        low, high = (_pushed(fitted, value, best, side * error, far) for side in (-1, 1))
        # What is pushed to a bound stops a hair before it.
        low = least if low < least + NEAR * error else low
        return Interval(best, min(low, best), max(high, best))


def profile(fitted: FittedFormula) -> Profiled:
    r"""Make a fit ready to give intervals by profile.

    A value g, a parameter or the logarithm of a predicted time, lies between the least and the largest for which some
    parameters fit with

    ::

        RSS <= RSS_best (1 + t^2 / (M - k))        t: quantile of Student's distribution with M - k degrees

    Unlike the bootstrap it takes no random numbers and few fits; like it, it takes the form for true and the scatter
    for normal and the same everywhere. Exact for linear forms, else approximate.

    Parameters
    ----------
    fitted : a fit

    Raises
    ------
    NoAnswerError : no observation is left over to tell the scatter from

    Source: Bates and Watts, Nonlinear Regression Analysis and its Applications, 1988, section 6.1.2.
    """
    check_spare(fitted)
    return Profiled(fitted)


def _pushed(fitted: FittedFormula, value: Value, best: float, error: float, far: float) -> float:
    """Push a value to one side until the fit is as bad as it may be.

    Every fit with one more residual, the distance from where the value is pushed to, is the best one with the value
    that it ends at. So it lies on the profile, however stiff the push.
    """
    reached, aim, theta = best, best + far * error, fitted.theta
    inside, outside = (best, 0.0), (np.nan, np.nan)  # where it was pushed to, and how far off the fit then was
    for _ in range(PUSHES):
        stiff = fitted.scatter / (STIFF * abs(error))
        pushed = descended(fitted.form, theta, fitted.timings, ROUGHLY_profile, partial(_push, value, stiff, aim))
        there = float(value(pushed[None])[0])
        distance = np.sqrt(max(fitted.squares_at(pushed) - fitted.squares, 0.0)) / fitted.scatter
        if abs(distance / far - 1) < NEAR:
            return there
        before = inside
        if distance > far:
            outside = aim, distance
        elif abs(there - reached) < 1e-6 * abs(error) or distance <= 0:
            return there  # at a bound of the parameters, which ends the interval
        else:
            inside, reached, theta = (aim, distance), there, pushed
        aim = _next(before if np.isnan(outside[0]) else outside, inside, far)
    return reached


def _next(other: tuple[float, float], inside: tuple[float, float], far: float) -> float:
    """Say where to push to next, by a secant: between two places around the border, or on beyond the two before it."""
    (there, off), (here, near) = other, inside
    if off <= far:  # behind
        return here + (here - there) * (min((far - near) / (near - off), 3.0) if near > off else 1.0)
    return here + (there - here) * min(max((far - near) / (off - near), 0.1), 0.9)


def _parameter(at: int, thetas: Array) -> Array:
    found: Array = thetas[:, at]
    return found


def _log_time(form: TimeFormula, at: Timings, thetas: Array) -> Array:
    found: Array = np.log(form.times(thetas, at)[:, 0])
    return found


def _push(value: Value, stiff: float, aim: float, thetas: Array) -> Array:
    found: Array = stiff * (value(thetas) - aim)[:, None]
    return found


def _standard_error(fitted: FittedFormula, value: Value) -> float:
    """Give the standard error of a value by the slopes at the best fit."""
    theta = fitted.theta
    scale = np.maximum(np.abs(theta), 1e-3 * np.abs(theta).max())
    step = np.where(theta + 1e-6 * scale > fitted.form.most, -1e-6, 1e-6)
    near = np.vstack([theta, theta + np.diag(step * scale)])
    times, values = np.log(fitted.form.times(near, fitted.timings)), value(near)
    slopes, rise = (times[1:] - times[0]).T / step, (values[1:] - values[0]) / step
    covariance = np.linalg.pinv(slopes.T @ slopes, rcond=1e-12)
    return float(fitted.scatter * np.sqrt(max(rise @ covariance @ rise, 0.0)))
