"""Confidence intervals of the parameters and predictions of a fit: by bootstrap, or by profile.

A profile interval is found by forcing a value away from the best fit until the fit becomes too bad.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from slipstick.errors import NoAnswerError
from slipstick.late import Array, np
from slipstick_measure.fit.least_squares import (
    FittedFormula,
    ParameterFunction,
    fit_formula,
    minimized,
    squares_of,
)

DRAW_TOLERANCE, PROFILE_TOLERANCE = 1e-7, 1e-8
"""Tolerances of the fit to a draw, far below its scatter, and of the fits of a profile."""

PUSHES = 8
"""Largest number of fits on each side; the secant search needs two to four."""

NEAR = 0.02
"""Tolerance of the limit found, relative to its distance [1]."""

STIFF = 0.2
"""Standard errors by which a forced value may miss its target."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its confidence interval, in base units."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FitIntervals:
    """A fit that is ready to give intervals.

    Parameters
    ----------
    fitted : the fit
    between : from a function of sets of parameters, a level and the least value, its interval
    """

    fitted: FittedFormula
    between: Callable[[ParameterFunction, float, float], Interval]

    def parameters(self, level: float = 0.95) -> dict[str, Interval]:
        """Return an interval for each parameter."""
        names = self.fitted.formula.names
        return {
            name: self.between(partial(_parameter, index), level, 0.0)
            for index, name in enumerate(names)
        }

    def of_positive(self, value: ParameterFunction, level: float = 0.95) -> Interval:
        """Return an interval for a positive function of sets of parameters, (D, k) to (D,)."""
        interval = self.between(lambda thetas: np.log(value(thetas)), level, -np.inf)
        return Interval(
            *(float(np.exp(end)) for end in (interval.value, interval.low, interval.high))
        )


def _parameter(index: int, thetas: Array) -> Array:
    values: Array = thetas[:, index]
    return values


def _check_freedom(fitted_formula: FittedFormula) -> None:
    if fitted_formula.freedom < 1:
        count = len(fitted_formula.residuals)
        raise NoAnswerError(
            f"{count} observations are too few to estimate the scatter; measure"
            f" {1 - fitted_formula.freedom} more"
        )


def resample(fitted_formula: FittedFormula, seed: int, draws: int = 200) -> FitIntervals:
    """Fit again to the fitted times with resampled residuals: the bootstrap of residuals.

    Residuals are those of the fit, centred and made larger by sqrt(M / (M - k)), for a fit comes
    closer to its data than the truth does. The stream of random numbers is named by the family, so
    that another family's draws do not change with it. Approximate: it assumes that the formula is
    right and the scatter the same everywhere.

    Parameters
    ----------
    fitted_formula : a fit
    seed : of the random streams
    draws : number of fits

    Raises
    ------
    NoAnswerError : no observation is left over to estimate the scatter from

    Source: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 6.2.3.
    """
    _check_freedom(fitted_formula)
    random = np.random.default_rng([seed, *f"fit/{fitted_formula.formula.family}".encode()])
    residuals = (fitted_formula.residuals - fitted_formula.residuals.mean()) * np.sqrt(
        len(fitted_formula.residuals) / fitted_formula.freedom
    )
    times = fitted_formula.formula.time(fitted_formula.theta, fitted_formula.timings)
    thetas = [fitted_formula.theta]
    for _ in range(draws):
        resampled = fitted_formula.timings.with_time(
            times * np.exp(random.choice(residuals, len(times)))
        )
        thetas.append(
            fit_formula(
                fitted_formula.formula, resampled, fitted_formula.theta, DRAW_TOLERANCE
            ).theta
        )
    return FitIntervals(
        fitted_formula, partial(_quantiles, np.array(thetas), fitted_formula.freedom)
    )


def _quantiles(
    thetas: Array, freedom: int, value: ParameterFunction, level: float, least: float
) -> Interval:
    """Return quantiles of a value over draws, widened from the normal to Student's t distribution
    because the scatter is estimated.
    """
    from scipy.stats import norm, t

    best, *draws = value(thetas).tolist()
    wider = float(t.ppf((1 + level) / 2, freedom) / norm.ppf((1 + level) / 2))
    # Quantiles at i / (B + 1): the wanted part lies between the i-th and the (B + 1 - i)-th draw.
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="weibull")
    return Interval(
        best, max(least, best - wider * (best - float(low))), best + wider * (float(high) - best)
    )


def profile(fitted_formula: FittedFormula) -> FitIntervals:
    r"""Prepare a fit for intervals by profile likelihood.

    A value g, a parameter or the logarithm of a predicted time, lies between the least and the
    largest for which some parameters fit with

    ::

        RSS <= RSS_best (1 + t^2 / (M - k))       t: quantile of Student's distribution with
                                                  M - k degrees of freedom

    Unlike the bootstrap it takes no random numbers and few fits; like it, it takes the form for
    true and the scatter for normal and the same everywhere. Exact for linear formulas, else
    approximate.

    Raises
    ------
    NoAnswerError : no observation is left over to estimate the scatter from

    Source: Bates and Watts, Nonlinear Regression Analysis and its Applications, 1988, section
    6.1.2.
    """
    _check_freedom(fitted_formula)
    return FitIntervals(fitted_formula, partial(_profile_ends, fitted_formula))


def _profile_ends(
    fitted_formula: FittedFormula, value: ParameterFunction, level: float, least: float
) -> Interval:
    from scipy.stats import t

    best = float(value(fitted_formula.theta[None])[0])
    error = fitted_formula.standard_error(value)
    if not (np.isfinite(error) and error > 0 and fitted_formula.scatter > 0):
        return Interval(best, best, best)
    quantile = float(t.ppf((1 + level) / 2, fitted_formula.freedom))
    low, high = (
        _end_of_interval(fitted_formula, value, best, side * error, quantile) for side in (-1, 1)
    )
    # A value forced to a limit of the parameters stops just before it.
    low = least if low < least + NEAR * error else low
    return Interval(best, min(low, best), max(high, best))


def _end_of_interval(
    fitted_formula: FittedFormula,
    value: ParameterFunction,
    best: float,
    error: float,
    quantile: float,
) -> float:
    """Move a value to one side until the fit is as bad as the end of the interval allows; return
    that value.

    Every fit with one more residual, the distance of the value from its target, is the best fit
    with the value at which it ends. So it lies on the profile for any weight of that residual.
    """
    formula = fitted_formula.formula
    timings = fitted_formula.timings
    stiff = fitted_formula.scatter / (STIFF * abs(error))
    value_reached = best
    aim = best + quantile * error
    theta = fitted_formula.theta
    inner_point, outer_point = (
        (best, 0.0),
        (np.nan, np.nan),
    )  # where it was pushed to, and how far off the fit then was
    for _ in range(PUSHES):
        push = partial(_fit_at_value, value, stiff, aim)
        pushed = minimized(formula, theta, timings, PROFILE_TOLERANCE, push)
        pushed_value = float(value(pushed[None])[0])
        worse = squares_of(formula, pushed, timings) - fitted_formula.squares
        distance = np.sqrt(max(worse, 0.0)) / fitted_formula.scatter
        if abs(distance / quantile - 1) < NEAR:
            return pushed_value
        point_before = inner_point
        if distance > quantile:
            outer_point = aim, distance
        elif abs(pushed_value - value_reached) < 1e-6 * abs(error) or distance <= 0:
            return pushed_value  # at a bound of the parameters, which ends the interval
        else:
            inner_point = (aim, distance)
            value_reached = pushed_value
            theta = pushed
        aim = _next_target(
            point_before if np.isnan(outer_point[0]) else outer_point, inner_point, quantile
        )
    return value_reached


def _fit_at_value(value: ParameterFunction, stiff: float, aim: float, thetas: Array) -> Array:
    residual: Array = stiff * (value(thetas) - aim)[:, None]
    return residual


def _next_target(
    bound: tuple[float, float], inner_point: tuple[float, float], quantile: float
) -> float:
    """Return the next target: a secant step between two points that enclose the limit, or beyond
    two points before it.
    """
    (bound_aim, off), (inside_aim, inner_excess) = bound, inner_point
    if off <= quantile:  # behind
        return inside_aim + (inside_aim - bound_aim) * (
            min((quantile - inner_excess) / (inner_excess - off), 3.0)
            if inner_excess > off
            else 1.0
        )
    return inside_aim + (bound_aim - inside_aim) * min(
        max((quantile - inner_excess) / (off - inner_excess), 0.1), 0.9
    )
