"""Confidence intervals of the parameters and predictions of a fit: by bootstrap, or by profile.

A profile interval is found by forcing a value away from the best fit until the fit becomes too bad.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from slipstick.errors import NoAnswerError
from slipstick.late import Array, dataclass, np
from slipstick_measure.fit.least_squares import (
    FittedFormula,
    ParameterFunction,
    fit_formula,
    minimize_squares,
    sum_of_squares_of,
)

DRAW_TOLERANCE, PROFILE_TOLERANCE = 1e-7, 1e-8
"""Tolerances of the fit to a draw, far below its scatter, and of the fits of a profile."""

MOST_FITS = 8
"""Largest number of fits for each end of an interval; the secant search needs two to four."""

RELATIVE_TOLERANCE = 0.02
"""Tolerance of the end of an interval, relative to its distance from the best value [1]."""

TARGET_MISS = 0.2
"""Standard errors by which a forced quantity may miss its target."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the ends of its confidence interval, in base units."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FitIntervals:
    """A fit with a method to compute the confidence intervals of quantities.

    Parameters
    ----------
    fitted_formula : the fit
    find_interval : computes the interval of a quantity, from the function that gives it for sets of
        parameters, the confidence level and the least possible value
    """

    fitted_formula: FittedFormula
    find_interval: Callable[[ParameterFunction, float, float], Interval]

    def parameters(self, confidence_level: float = 0.95) -> dict[str, Interval]:
        """Return an interval for each parameter."""
        names = self.fitted_formula.formula.names
        return {
            name: self.find_interval(partial(_values_of_parameter, index), confidence_level, 0.0)
            for index, name in enumerate(names)
        }

    def interval_of_positive(
        self, compute_quantity: ParameterFunction, confidence_level: float = 0.95
    ) -> Interval:
        """Return an interval for a positive function of sets of parameters, (D, k) to (D,)."""
        interval = self.find_interval(
            lambda thetas: np.log(compute_quantity(thetas)), confidence_level, -np.inf
        )
        return Interval(
            *(float(np.exp(end)) for end in (interval.value, interval.low, interval.high))
        )


def _values_of_parameter(index: int, thetas: Array) -> Array:
    """Return the values of one parameter in sets of parameters, (D, k) to (D,)."""
    parameter_values: Array = thetas[:, index]
    return parameter_values


def _check_freedom(fitted_formula: FittedFormula) -> None:
    """Raise if a fit has no more observations than parameters, so that its scatter is unknown."""
    if fitted_formula.degrees_of_freedom < 1:
        observation_count = len(fitted_formula.residuals)
        raise NoAnswerError(
            f"{observation_count} observations are too few to estimate the scatter; measure"
            f" {1 - fitted_formula.degrees_of_freedom} more"
        )


def resample(fitted_formula: FittedFormula, seed: int, draw_count: int = 200) -> FitIntervals:
    """Return the object that computes intervals of a fit by the bootstrap: fits to the fitted times
    with resampled residuals.

    Residuals are those of the fit, centred and made larger by sqrt(M / (M - k)), because a fit
    comes closer to its data than the truth does. The stream of random numbers is named by the
    family, so that another family's draws do not change with it. Approximate: it assumes that the
    formula is right and the scatter the same everywhere.

    Parameters
    ----------
    fitted_formula : a fit
    seed : of the random streams
    draw_count : number of fits

    Raises
    ------
    NoAnswerError : no observation is left over to estimate the scatter from

    Source: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 6.2.3.
    """
    _check_freedom(fitted_formula)
    generator = np.random.default_rng([seed, *f"fit/{fitted_formula.formula.family}".encode()])
    residuals = (fitted_formula.residuals - fitted_formula.residuals.mean()) * np.sqrt(
        len(fitted_formula.residuals) / fitted_formula.degrees_of_freedom
    )
    times = fitted_formula.formula.time(fitted_formula.theta, fitted_formula.timings)
    thetas = [fitted_formula.theta]
    for _ in range(draw_count):
        resampled_timings = fitted_formula.timings.with_time(
            times * np.exp(generator.choice(residuals, len(times)))
        )
        thetas.append(
            fit_formula(
                fitted_formula.formula, resampled_timings, fitted_formula.theta, DRAW_TOLERANCE
            ).theta
        )
    return FitIntervals(
        fitted_formula,
        partial(_interval_of_draws, np.array(thetas), fitted_formula.degrees_of_freedom),
    )


def _interval_of_draws(
    thetas: Array,
    freedom: int,
    compute_quantity: ParameterFunction,
    confidence_level: float,
    least_value: float,
) -> Interval:
    """Return the interval of a quantity from its values at the parameters of all draws, widened by
    the quantile of Student's t over that of the normal distribution, as the scatter is estimated.
    """
    from scipy.stats import norm, t

    best_value, *drawn_values = compute_quantity(thetas).tolist()
    student_factor = float(
        t.ppf((1 + confidence_level) / 2, freedom) / norm.ppf((1 + confidence_level) / 2)
    )
    # Quantiles at i / (B + 1): the wanted part lies between the i-th and the (B + 1 - i)-th draw.
    low, high = np.quantile(
        drawn_values, [(1 - confidence_level) / 2, (1 + confidence_level) / 2], method="weibull"
    )
    return Interval(
        best_value,
        max(least_value, best_value - student_factor * (best_value - float(low))),
        best_value + student_factor * (float(high) - best_value),
    )


def profile(fitted_formula: FittedFormula) -> FitIntervals:
    r"""Return the object that computes intervals of a fit by its profile likelihood.

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
    return FitIntervals(fitted_formula, partial(_profile_interval, fitted_formula))


def _profile_interval(
    fitted_formula: FittedFormula,
    compute_quantity: ParameterFunction,
    confidence_level: float,
    least_value: float,
) -> Interval:
    """Return the interval of a quantity by its profile. Its width is 0 if no parameter changes the
    quantity or the fit is exact; it has no upper end if the fit has no finite slopes.
    """
    from scipy.stats import t

    best_value = float(compute_quantity(fitted_formula.theta[None])[0])
    standard_error = fitted_formula.standard_error(compute_quantity)
    if not np.isfinite(standard_error):
        return Interval(best_value, least_value, np.inf)
    if standard_error <= 0 or fitted_formula.scatter <= 0:
        return Interval(best_value, best_value, best_value)
    t_quantile = float(t.ppf((1 + confidence_level) / 2, fitted_formula.degrees_of_freedom))
    low, high = (
        _end_of_interval(
            fitted_formula, compute_quantity, best_value, direction * standard_error, t_quantile
        )
        for direction in (-1, 1)
    )
    # A value forced to a limit of the parameters stops just before it.
    low = least_value if low < least_value + RELATIVE_TOLERANCE * standard_error else low
    return Interval(best_value, min(low, best_value), max(high, best_value))


def _end_of_interval(
    fitted_formula: FittedFormula,
    compute_quantity: ParameterFunction,
    best_value: float,
    signed_error: float,
    t_quantile: float,
) -> float:
    """Return the end of an interval on one side: the value of the quantity at which the fit becomes
    as much worse than the best one as the confidence level allows.

    Every fit with one more residual, the distance of the value from its target, is the best fit
    with the value at which it ends. So it lies on the profile for any weight of that residual.
    """
    formula = fitted_formula.formula
    timings = fitted_formula.timings
    stiffness = fitted_formula.scatter / (TARGET_MISS * abs(signed_error))
    last_quantity = best_value
    target = best_value + t_quantile * signed_error
    theta = fitted_formula.theta
    # Each point is a target, and by how much its fit was worse than the best fit [standard errors].
    inner_point, outer_point = (
        (best_value, 0.0),
        (np.nan, np.nan),
    )
    for _ in range(MOST_FITS):
        extra_residual = partial(_target_residual, compute_quantity, stiffness, target)
        theta_at_target = minimize_squares(
            formula, theta, timings, PROFILE_TOLERANCE, extra_residual
        )
        reached_quantity = float(compute_quantity(theta_at_target[None])[0])
        excess_squares = (
            sum_of_squares_of(formula, theta_at_target, timings) - fitted_formula.sum_of_squares
        )
        distance = np.sqrt(max(excess_squares, 0.0)) / fitted_formula.scatter
        if abs(distance / t_quantile - 1) < RELATIVE_TOLERANCE:
            return reached_quantity
        earlier_point = inner_point
        if distance > t_quantile:
            outer_point = target, distance
        elif abs(reached_quantity - last_quantity) < 1e-6 * abs(signed_error) or distance <= 0:
            return reached_quantity  # at a bound of the parameters, which ends the interval
        else:
            inner_point = (target, distance)
            last_quantity = reached_quantity
            theta = theta_at_target
        target = _next_target(
            earlier_point if np.isnan(outer_point[0]) else outer_point, inner_point, t_quantile
        )
    return last_quantity


def _target_residual(
    compute_quantity: ParameterFunction, stiffness: float, target: float, thetas: Array
) -> Array:
    """Return the distance of a quantity from its target as a residual to be minimized with the
    others, (D, 1).
    """
    residual: Array = stiffness * (compute_quantity(thetas) - target)[:, None]
    return residual


def _next_target(
    outer_point: tuple[float, float], inner_point: tuple[float, float], t_quantile: float
) -> float:
    """Return the next target of the quantity: by a secant step between two points that enclose the
    end of the interval, or beyond two points that lie before it.
    """
    (outer_target, outer_distance), (inner_target, inner_distance) = outer_point, inner_point
    if outer_distance <= t_quantile:  # both points lie before the end
        return inner_target + (inner_target - outer_target) * (
            min((t_quantile - inner_distance) / (inner_distance - outer_distance), 3.0)
            if inner_distance > outer_distance
            else 1.0
        )
    return inner_target + (outer_target - inner_target) * min(
        max((t_quantile - inner_distance) / (outer_distance - inner_distance), 0.1), 0.9
    )
