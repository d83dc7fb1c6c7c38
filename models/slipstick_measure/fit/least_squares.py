"""One formula fitted to timings by least squares of relative errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slipstick.errors import NoAnswerError
from slipstick.late import Array, dataclass, np
from slipstick_measure.fit.formula import Family, TimeFormula, Timings

SMALLEST_TIME = 1e-300  # a time of 0 has no logarithm
MOST_STEPS = 200
NEGLIGIBLE_CHANGE = 1e-9  # a relative change of the times below the resolution of any data
DIFFERENCE_STEP = 1.5e-8  # of differences, relative: half of the digits

LOG_STEP = 1e-6  # of differences in the logarithm of a parameter

ParameterFunction = Callable[[Array], Array]
"""From sets of parameters, (D, k), a quantity for each set, (D,)."""


@dataclass(frozen=True, slots=True)
class FittedFormula:
    """A formula with its fitted parameters.

    Parameters
    ----------
    formula : the formula that was fitted
    theta : its fitted parameters, in base units, (k,)
    timings : the timings to which it was fitted
    residuals : log(observed / fitted), (M,)
    """

    formula: TimeFormula
    theta: Array
    timings: Timings
    residuals: Array

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom: the number of observations minus the number of parameters; chosen
        exponents count as parameters.
        """
        return len(self.residuals) - len(self.theta) - self.formula.chosen_exponents

    @property
    def scatter(self) -> float:
        """Standard deviation of the relative errors [1]; infinite without a degree of freedom."""
        return (
            float(np.sqrt(self.sum_of_squares / self.degrees_of_freedom))
            if self.degrees_of_freedom > 0
            else np.inf
        )

    @property
    def sum_of_squares(self) -> float:
        """The sum of the squared relative errors."""
        return float(self.residuals @ self.residuals)

    @property
    def aicc(self) -> float:
        r"""Akaike's criterion with the correction for few observations; infinite where there are
        too few.

        ``M ln(RSS / M) + 2 k M / (M - k - 1)``, k counting the scatter and the chosen exponents.
        Source: Hurvich and Tsai, Biometrika 76(2), 1989.
        """
        row_count = len(self.residuals)
        parameter_count = len(self.theta) + self.formula.chosen_exponents + 1
        if row_count <= parameter_count + 1:
            return np.inf
        # Below the rounding error, no model fits better than another.
        sum_of_squares = max(self.sum_of_squares, row_count * np.finfo(float).eps ** 2)
        return float(
            row_count * np.log(sum_of_squares / row_count)
            + 2 * parameter_count * row_count / (row_count - parameter_count - 1)
        )

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, in base units."""
        return dict(zip(self.formula.names, self.theta.tolist(), strict=True))

    def predict(self, p: Sequence[float] | Array, n: float | None = None) -> Array:
        """Return the time for each number of processors [s].

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        return self.formula.time(self.theta, self.timings.points(p, n))

    def time_function_at(self, p: float) -> ParameterFunction:
        """Return a function from sets of parameters to the times on `p` processors [s], for the
        largest size measured.
        """
        point = self.timings.points([p])
        return lambda thetas: np.asarray(self.formula.times(thetas, point)[:, 0])

    def standard_error(self, compute_quantity: ParameterFunction) -> float:
        """Return the standard error of a quantity that is computed from the parameters, by the
        slopes at the best fit; infinite if a slope is no finite number.
        """
        theta = self.theta
        parameter_scales = np.maximum(np.abs(theta), 1e-3 * np.abs(theta).max())
        signed_steps = np.where(
            theta + 1e-6 * parameter_scales > self.formula.limits[1], -1e-6, 1e-6
        )
        nearby_thetas = np.vstack([theta, theta + np.diag(signed_steps * parameter_scales)])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            log_times = np.log(self.formula.times(nearby_thetas, self.timings))
            quantities = compute_quantity(nearby_thetas)
        log_slopes = (log_times[1:] - log_times[0]).T / signed_steps
        quantity_slopes = (quantities[1:] - quantities[0]) / signed_steps
        if not (np.isfinite(log_slopes).all() and np.isfinite(quantity_slopes).all()):
            return np.inf
        covariance = np.linalg.pinv(log_slopes.T @ log_slopes, rcond=1e-12)
        return float(
            self.scatter * np.sqrt(max(quantity_slopes @ covariance @ quantity_slopes, 0.0))
        )

    @property
    def log_covariance(self) -> Array:
        """The covariance of the logarithms of the parameters, (k, k), by the slopes at the best
        fit, widened as Student's distribution is for few degrees of freedom, so that 90 % lie where
        a normal distribution has them. 0 for a parameter that is 0.
        """
        from scipy.special import ndtri, stdtrit

        is_positive = self.theta > 0
        nearby_thetas = np.vstack([self.theta, self.theta + np.diag(LOG_STEP * self.theta)])
        log_times = np.log(self.formula.times(nearby_thetas, self.timings))
        log_slopes = (log_times[1:] - log_times[0])[is_positive].T / LOG_STEP
        deviation = self.scatter * float(stdtrit(self.degrees_of_freedom, 0.95) / ndtri(0.95))
        covariance = np.zeros((len(self.theta), len(self.theta)))
        covariance[np.ix_(is_positive, is_positive)] = deviation**2 * np.linalg.pinv(
            log_slopes.T @ log_slopes, rcond=1e-12
        )
        return covariance

    def lost_processors(self, p: float, n: float | None = None) -> dict[str, float]:
        """Return the number of processors that are lost, by cause, of `p` processors, the largest
        loss first; `p` and `n` are as for `predict`.
        """
        point = self.timings.points([p], n)
        time = float(self.formula.time(self.theta, point)[0])
        processors_by_cause = {
            cause: p * float(losses[0]) / time if time > 0 else 0.0  # a draw without any time
            for cause, losses in self.formula.lost_times(self.theta, point).items()
        }
        return dict(
            sorted(processors_by_cause.items(), key=lambda cause_and_loss: -cause_and_loss[1])
        )


def fit(family: Family, timings: Timings) -> FittedFormula:
    """Fit a family: its formula with the least sum of squares of log(observed / fitted).

    Noise in timings is relative, so logarithms are compared: a run of an hour counts as much as one
    of a second. Every repetition is an observation, so points that were measured more often weigh
    more.

    Raises
    ------
    NoAnswerError : fewer numbers of processors than parameters, or no formula fits

    >>> from slipstick_measure.fit.families import FAMILIES
    >>> p = np.array([1.0, 2.0, 4.0, 8.0])
    >>> fit(FAMILIES["amdahl"], Timings(p, np.ones(4), 10 + 90 / p)).parameters
    {'single': 100.0, 'serial': 0.1}
    """
    all_formulas = family.formulas(timings)
    distinct_count = len(timings.processors)
    formulas = [formula for formula in all_formulas if len(formula.parameters) <= distinct_count]
    if not formulas:
        fewest_parameters = min(len(formula.parameters) for formula in all_formulas)
        raise NoAnswerError(
            f"{fewest_parameters} parameters need times on as many numbers of processors; there"
            f" are {distinct_count}, so"
            f" measure on {fewest_parameters - distinct_count} more"
        )
    first_attempts = [
        (sum_of_squares_of(formula, start, timings), formula, start)
        for formula in formulas
        for start in formula.starting_points(timings)
    ]
    # Of many formulas, all sums of terms, the best start decides: it is already the minimum but for
    # the logarithm.
    attempts_to_refine = (
        first_attempts
        if len(formulas) == 1
        else [min(first_attempts, key=lambda attempt: attempt[0])]
    )
    return min(
        (fit_formula(formula, timings, start) for _, formula, start in attempts_to_refine),
        key=lambda fitted_formula: fitted_formula.sum_of_squares,
    )


def fit_formula(
    formula: TimeFormula, timings: Timings, start: Array, tolerance: float = 1e-12
) -> FittedFormula:
    """Fit one formula from a given start.

    Parameters
    ----------
    formula : the formula to fit
    timings : the observations
    start : parameters at which the search begins
    tolerance : relative change of parameters and squares at which the search ends [1]
    """
    theta_at_minimum = minimize_squares(formula, start, timings, tolerance)
    # A search stops just before a limit: where the times show no difference, the parameter is at
    # its lower limit.
    lower_limits, _ = formula.limits
    theta = np.where(
        _are_without_effect(formula, theta_at_minimum, lower_limits - theta_at_minimum, timings),
        lower_limits,
        theta_at_minimum,
    )
    return FittedFormula(formula, theta, timings, _log_residuals(formula, theta[None], timings)[0])


def sum_of_squares_of(formula: TimeFormula, theta: Array, timings: Timings) -> float:
    """Return the sum of the squared relative errors of a formula with the parameters `theta`."""
    (residuals,) = _log_residuals(formula, theta[None], timings)
    return float(residuals @ residuals)


def _log_residuals(formula: TimeFormula, thetas: Array, timings: Timings) -> Array:
    """Return log(observed / fitted) for each set of parameters and each observation, (D, M)."""
    times = formula.times(thetas, timings)
    # A point at which a model has no answer counts as infinitely bad.
    residuals: Array = np.log(timings.time) - np.log(
        np.where(times > SMALLEST_TIME, times, SMALLEST_TIME)
    )
    return residuals


def _are_without_effect(
    formula: TimeFormula, theta: Array, changes: Array, timings: Timings
) -> Array:
    """Return, for each parameter, whether a given change of it changes none of the times."""
    residuals = _log_residuals(formula, np.vstack([theta, theta + np.diag(changes)]), timings)
    are_without_effect: Array = np.abs(residuals[1:] - residuals[0]).max(axis=1) < NEGLIGIBLE_CHANGE
    return are_without_effect


def minimize_squares(
    formula: TimeFormula,
    start: Array,
    timings: Timings,
    tolerance: float = 1e-12,
    further_residuals: Callable[[Array], Array] = lambda thetas: np.empty((len(thetas), 0)),
) -> Array:
    """Search the parameters with the least squared residuals from a start, within the limits; the
    result is never worse than the start.

    Parameters
    ----------
    formula, start, timings, tolerance : as for `fit_formula`
    further_residuals : from sets of parameters, (D, k), residuals to minimize beside those of the
        timings, (D, any)
    """
    lower_limits, upper_limits = formula.limits
    clipped_start: Array = np.clip(start, lower_limits, upper_limits)
    # The scale of a parameter is its start, or the value at which it affects the times.
    least_scale = 1e-3 * np.maximum(start.max(), SMALLEST_TIME)
    scales = np.where(start > 0, start, least_scale)
    # An earlier search may leave a parameter just off its limit, which is not a scale.
    scales = np.where(
        _are_without_effect(formula, clipped_start, scales, timings),
        np.maximum(scales, least_scale),
        scales,
    )
    margins = 1e-9 * np.minimum(scales, upper_limits - lower_limits)
    # Of two limits that are far apart beside the scale, the search begins near the lower one; it
    # begins inside however close they are.
    largest_first_values = np.maximum(
        np.minimum(upper_limits, np.maximum(clipped_start, scales)) - margins,
        lower_limits + margins,
    )
    first_point = np.clip(clipped_start, lower_limits + margins, largest_first_values)

    def residuals_of_sets(thetas: Array) -> Array:
        return np.hstack([_log_residuals(formula, thetas, timings), further_residuals(thetas)])

    def slopes_of_residuals(theta: Array) -> Array:
        # One call for all differences; a step never leaves the limits.
        steps = DIFFERENCE_STEP * np.maximum(np.abs(theta), 1e-3)
        steps = np.where((theta + steps) * scales > upper_limits, -steps, steps)
        residuals_after = residuals_of_sets(np.vstack([theta, theta + np.diag(steps)]) * scales)
        slopes: Array = (residuals_after[1:] - residuals_after[0]).T / steps
        return slopes

    def residuals_at(theta: Array) -> Array:
        return np.asarray(residuals_of_sets(theta[None] * scales)[0])

    limits = (lower_limits / scales, upper_limits / scales)
    if len(start) <= MOST_PARAMETERS_WITHOUT_SCIPY:
        solution = _least_squares_parameters(
            residuals_at, slopes_of_residuals, first_point / scales, limits, tolerance
        )
    else:
        from scipy.optimize import least_squares

        solution = least_squares(
            residuals_at,
            first_point / scales,
            jac=slopes_of_residuals,
            bounds=limits,
            xtol=tolerance,
            ftol=tolerance,
            gtol=tolerance,
            max_nfev=MOST_STEPS,
        ).x
    end_point: Array = np.clip(solution * scales, lower_limits, upper_limits)
    sums_of_squares = (residuals_of_sets(np.vstack([end_point, clipped_start])) ** 2).sum(axis=1)
    return end_point if sums_of_squares[0] <= sums_of_squares[1] else clipped_start


MOST_PARAMETERS_WITHOUT_SCIPY = 2
"""Parameters up to which the search needs no SciPy, whose import takes 0.2 s and 24 MB: a load test
of a few rows would take over a second and 100 MB with it. For 1,500 random fits the sum of
squares is that of SciPy to a millionth (benchmarks/search_of_fits.py); a test compares both.
"""
LARGEST_DAMPING = 1e16


def _least_squares_parameters(
    compute_residuals: Callable[[Array], Array],
    slopes_of_residuals: Callable[[Array], Array],
    start: Array,
    limits: tuple[Array, Array],
    tolerance: float,
) -> Array:
    """Search the least squares of few parameters by damped Gauss-Newton steps, in which a parameter
    at a limit moves only away from it.

    Source: Marquardt, SIAM J. Applied Mathematics 11(2), 1963.
    """
    theta, residual_values, damping = start, compute_residuals(start), 1e-3
    sum_of_squares = float(residual_values @ residual_values)
    for _ in range(MOST_STEPS):
        slopes = slopes_of_residuals(theta)
        gradient = slopes.T @ residual_values
        is_held_at_limit = ((theta <= limits[0]) & (gradient > 0)) | (
            (theta >= limits[1]) & (gradient < 0)
        )
        free_indices = np.flatnonzero(~is_held_at_limit)
        if not len(free_indices) or np.abs(gradient[free_indices]).max() <= tolerance:
            return theta
        normal_matrix = slopes[:, free_indices].T @ slopes[:, free_indices]
        damping_weights = np.maximum(np.diag(normal_matrix), np.finfo(float).tiny)
        while True:
            parameter_step = np.zeros(len(theta))
            parameter_step[free_indices] = -np.linalg.lstsq(
                normal_matrix + damping * np.diag(damping_weights),
                gradient[free_indices],
                rcond=None,
            )[0]
            next_theta = np.clip(theta + parameter_step, *limits)
            next_residual_values = compute_residuals(next_theta)
            next_sum_of_squares = float(next_residual_values @ next_residual_values)
            if next_sum_of_squares < sum_of_squares:
                break
            damping *= 10
            if damping > LARGEST_DAMPING:
                return theta
        decrease, largest_change = (
            sum_of_squares - next_sum_of_squares,
            float(np.abs(next_theta - theta).max()),
        )
        theta, residual_values, sum_of_squares, damping = (
            next_theta,
            next_residual_values,
            next_sum_of_squares,
            damping / 10,
        )
        if decrease <= tolerance * sum_of_squares and largest_change <= tolerance**0.5 * float(
            np.abs(theta).max()
        ):
            return theta
    return theta
