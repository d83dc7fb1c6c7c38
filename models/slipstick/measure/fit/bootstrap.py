"""How sure a fit is of its parameters and predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.measure.fit.least import Fitted, fit_form
from slipstick.measure.fit.timings import Array

__all__ = ["Interval", "Resampled", "check_spare", "resample"]

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

    fitted: Fitted
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

    def _with(self, theta: Array) -> Fitted:
        return Fitted(self.fitted.form, theta, self.fitted.timings, self.fitted.residuals)

    def _between(self, value: float, draws: Array, level: float, least: float = 0.0) -> Interval:
        """Take quantiles, widened from the normal to Student's t, for the scatter is itself estimated."""
        from scipy.stats import norm, t

        wider = float(t.ppf((1 + level) / 2, self.fitted.freedom) / norm.ppf((1 + level) / 2))
        # Quantiles at i / (B + 1): between the i-th and the (B + 1 - i)-th draw lies the part that is wanted.
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="weibull")
        return Interval(value, max(least, value - wider * (value - float(low))), value + wider * (float(high) - value))


def resample(fitted: Fitted, seed: int, draws: int = 200) -> Resampled:
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


def check_spare(fitted: Fitted) -> None:
    """Refuse a fit without an observation to spare.

    Raises
    ------
    NoAnswerError : no observation is left over to tell the scatter from
    """
    if fitted.freedom < 1:
        count = len(fitted.residuals)
        raise NoAnswerError(f"{count} observations leave none over to tell the scatter from; measure at more points")
