"""Series of measured points over the years, and the rates fitted to them.

The logarithm of the measured value, with the sign by which more is better, is a level whose yearly
rate changes at random and tends to 0 (an integrated Ornstein-Uhlenbeck process); each device lies
about the level by a scatter:

.. math:: dr = -\\theta r\\,dt + q\\,dW, \\quad dl = r\\,dt, \\quad y_i = l(t_i) + e_i

With :math:`\\theta = 0` the rate is a random walk. All is Gaussian, so levels of any years, given
the points, follow in closed form, and a period that is cut into parts has the same band as the
whole. The damping is the shrinking of rates: technologies slow down (Gardner, McKenzie, Forecasting
trends in time series, Management Science 31(10), 1985, damp trends in the same way).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import isfinite, log, sqrt
from typing import NamedTuple

from slipstick.errors import ModelError
from slipstick.late import Array, dataclass, np

NORMAL_90 = 1.6448536269514722  # 90 % of a normal distribution lie within so many deviations
LEAST_POINTS_OF_STRONG_SERIES = 8
"""A series with fewer usable points is weak, and so is one of which most are from memory."""

LEAST_FITTED_POINTS, LEAST_FITTED_YEARS = 4, 4.0
"""A series is fitted to at least so many points over so many years."""

_TRIED_SCATTERS = (0.03, 0.05, 0.07, 0.1, 0.13, 0.17, 0.22, 0.3, 0.4, 0.6)


@dataclass(frozen=True, slots=True)
class RateModel:
    """The assumptions about how the rates of technologies change, the same for all series.

    Parameters
    ----------
    damping : part of its rate that a technology loses in a year [1/year]
    walk : standard deviation by which a rate changes in the square root of a year, of logarithms
    start : standard deviation of a rate of which nothing is known, of logarithms [1/year]
    scatter, scatter_spread : median of the scatter of devices about their level, and the standard
        deviation of its logarithm; a series of few points takes its scatter from here
    common : correlation of the changes of two series
    """

    damping: float = 0.08
    walk: float = 0.04
    start: float = 0.2
    scatter: float = 0.12
    scatter_spread: float = 0.3
    common: float = 0.15


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One point of a series: the measured or announced value of one device.

    Parameters
    ----------
    year, value : when, and how much, in the unit of the series
    device, source : of what, and where it stands
    from_memory : the source was not opened
    announced : it is a plan, not a measurement
    error : standard deviation of the logarithm of the value, beside the scatter [1]
    known : year in which it was known; by default its own
    apart : of another line of products: not fitted, and held against the fit in back-tests
    """

    year: float
    value: float
    device: str = ""
    source: str = ""
    from_memory: bool = False
    announced: bool = False
    error: float = 0.0
    known: float | None = None
    apart: bool = False

    @property
    def known_since(self) -> float:
        """The year in which the point became known."""
        return self.year if self.known is None else self.known


@dataclass(frozen=True, slots=True)
class PointSeries:
    """A series of measured or announced points of one kind of device.

    Parameters
    ----------
    name, title, unit : what it is called, and what is measured
    points : rising in their years
    less_is_better : as of latencies
    breaks : years in which the rate changed at once; nothing before one tells the rate after it
    limit : a value that it cannot pass; None if there is none
    limit_source : why
    """

    name: str
    title: str
    unit: str
    points: tuple[SeriesPoint, ...]
    less_is_better: bool = False
    breaks: tuple[float, ...] = ()
    limit: float | None = None
    limit_source: str = ""

    @property
    def fitted_points(self) -> tuple[SeriesPoint, ...]:
        """The points that the rate is fitted to."""
        return tuple(point for point in self.points if not point.apart)

    @property
    def measured_points(self) -> tuple[SeriesPoint, ...]:
        """The points that the rate is fitted to and that are measured."""
        return tuple(point for point in self.fitted_points if not point.announced)

    @property
    def is_weak(self) -> bool:
        """Whether the series has few measured points, or most of them are from memory."""
        return len(
            self.measured_points
        ) < LEAST_POINTS_OF_STRONG_SERIES or 2 * self.count_from_memory > len(self.measured_points)

    @property
    def count_from_memory(self) -> int:
        """The number of measured points that are known from memory, without an opened source."""
        return sum(point.from_memory for point in self.measured_points)

    @property
    def sign(self) -> float:
        """The factor 1 if larger values are better, -1 if smaller ones are."""
        return -1.0 if self.less_is_better else 1.0

    def as_of(self, year: float) -> PointSeries:
        """Return the series with the points that were known in a year; without breaks, because a
        break is recognized later only.
        """
        known_points = tuple(point for point in self.points if point.known_since <= year)
        return PointSeries(
            self.name,
            self.title,
            self.unit,
            known_points,
            self.less_is_better,
            (),
            self.limit,
            self.limit_source,
        )

    @property
    def has_enough_points(self) -> bool:
        """Whether the series has enough points to be fitted."""
        return has_enough_years([point.year for point in self.fitted_points])


def has_enough_years(years: Sequence[float]) -> bool:
    """Return whether points of these years are enough to fit a rate.

    >>> has_enough_years([2001.0, 2002.0, 2003.0, 2004.0])
    False
    >>> has_enough_years([2001.0, 2002.0, 2003.0, 2005.0])
    True
    """
    return len(years) >= LEAST_FITTED_POINTS and max(years) - min(years) >= LEAST_FITTED_YEARS


def fit_series(series: PointSeries, rate_model: RateModel | None = None) -> FittedSeries:
    """Fit a rate to a series. Its scatter is the most likely one of `_TRIED_SCATTERS`, given the
    points and the usual scatter of other series.

    Raises
    ------
    ModelError : there are too few points, or one is no positive number
    """
    if not series.has_enough_points:
        raise ModelError(
            f"series {series.name} has {len(series.fitted_points)} points; at least"
            f" {LEAST_FITTED_POINTS}"
            " over"
            f" {LEAST_FITTED_YEARS:g} years are needed for a rate"
        )
    for point in series.points:
        if not (point.value > 0 and isfinite(point.value)):
            raise ModelError(
                f"series {series.name}, {point.year:g}: a value is more than 0, got {point.value!r}"
            )
    rate_model = rate_model or RateModel()
    candidates = [FittedSeries(series, rate_model, scatter) for scatter in _TRIED_SCATTERS]
    years = candidates[0].years
    # The covariance is the same for every scatter.
    level_covariance = candidates[0].covariance(years, years, float(years[0]))
    return max(candidates, key=lambda candidate: candidate.log_posterior(level_covariance))


class _PointSolution(NamedTuple):
    """The solution of the generalized least squares for the points: the Cholesky factor of their
    covariance, the vector of ones and the residuals divided by that factor, the common level of the
    points, and the inverse of the variance of the level.
    """

    cholesky_factor: Array
    scaled_ones: Array
    scaled_residuals: Array
    level: float
    precision: float


@dataclass(frozen=True)
class FittedSeries:
    """A series, with the level over the years that follows from its points.

    Parameters
    ----------
    series : the points
    rate_model : how rates change
    scatter : standard deviation of a device about the level, of logarithms

    >>> points = tuple(SeriesPoint(2000.0 + n, 1.2**n) for n in range(21))
    >>> fit = fit_series(PointSeries("doubling", "", "", points))
    >>> mean, _ = fit.log_gain(2018.0, np.array([2020.0]))
    >>> abs(float(np.exp(mean[0])) - 1.44) < 0.02
    True
    """

    series: PointSeries
    rate_model: RateModel
    scatter: float

    @cached_property
    def years(self) -> Array:
        """The years of the points."""
        return np.array([point.year for point in self.series.fitted_points])

    @cached_property
    def signed_logs(self) -> Array:
        """The logarithms of the values of the points, with a sign such that more is better."""
        return np.array(
            [self.series.sign * log(point.value) for point in self.series.fitted_points]
        )

    @cached_property
    def _covariance_of_noise(self) -> Array:
        """The covariance of the differences between points and level; announced points have a
        common error.
        """
        points = self.series.fitted_points
        errors = np.array([point.error for point in points])
        plans = np.array([point.error * point.announced for point in points])
        own_variances = self.scatter**2 + np.where(plans > 0, 0.0, errors**2)
        # Announced points share one error of the plans, so that it stands off the diagonal as well.
        return np.asarray(np.diag(own_variances) + np.outer(plans, plans))

    def covariance(self, first_years: Array, second_years: Array, start_year: float) -> Array:
        """Return the prior covariance of levels in some years, relative to the level of the start
        year, which is unrestricted [first, second].

        Parameters
        ----------
        first_years, second_years : of the levels
        start_year : the first year, the same in all covariances that are combined
        """
        interval_bounds = [-np.inf, *self.series.breaks, np.inf]
        covariance = np.zeros((len(first_years), len(second_years)))
        # The rate of each period between breaks is independent of the others, so that their
        # covariances add up.
        for interval_start, interval_end in pairwise(interval_bounds):
            origin = max(interval_start, start_year)
            first_times, second_times = (
                np.clip(years, origin, max(interval_end, origin)) - origin
                for years in (first_years, second_years)
            )
            covariance = covariance + level_covariance(first_times, second_times, self.rate_model)
        return np.asarray(covariance)

    @cached_property
    def _solution(self) -> _PointSolution:
        """The solution for the points, relative to the first year."""
        return self._solution_from(float(self.years[0]))

    def _solution_from(self, start_year: float) -> _PointSolution:
        """Return the solution for the points if the level of `start_year` has an infinite prior
        variance, as `_solve_points` does.
        """
        return self._solve_points(self.covariance(self.years, self.years, start_year))

    def _solve_points(self, level_covariance: Array) -> _PointSolution:
        """Return the solution for the points with an infinite prior variance of the level of the
        first year, as the limit in closed form.

        A large variance in its place, such as 100, would cancel and lose as many digits as 100 over
        the remaining variance has.
        """
        cholesky_factor = np.linalg.cholesky(level_covariance + self._covariance_of_noise)
        scaled_ones = np.linalg.solve(cholesky_factor, np.ones(len(self.signed_logs)))
        scaled_logs = np.linalg.solve(cholesky_factor, self.signed_logs - self.signed_logs[0])
        precision = float(scaled_ones @ scaled_ones)
        level = float(scaled_ones @ scaled_logs) / precision
        return _PointSolution(
            np.asarray(cholesky_factor, dtype=float),
            scaled_ones,
            scaled_logs - level * scaled_ones,
            level,
            precision,
        )

    def log_posterior(self, level_covariance: Array) -> float:
        """Return the logarithm of the posterior density: the likelihood of the points times the
        prior of the scatter.

        Parameters
        ----------
        level_covariance : prior covariance of the levels of the points
        """
        solved_points = self._solve_points(level_covariance)
        # The logarithm of a normal density, without its constant: the determinant is the square of
        # the factor's diagonal; the level of the first year is integrated out.
        likelihood = -0.5 * solved_points.scaled_residuals @ solved_points.scaled_residuals
        likelihood -= np.log(np.diag(solved_points.cholesky_factor)).sum() + 0.5 * log(
            solved_points.precision
        )
        # The prior of the scatter is lognormal about the usual one.
        scatter_deviation = (
            log(self.scatter / self.rate_model.scatter) / self.rate_model.scatter_spread
        )
        return float(likelihood - 0.5 * scatter_deviation**2)

    def levels(self, years: Array) -> tuple[Array, Array]:
        """Return the mean [years] and the covariance [years, years] of the level in some years,
        given the points.
        """
        mean, scaled_covariance, solved_points, start_year = self._given_points(years)
        unexplained_level = 1.0 - scaled_covariance.T @ solved_points.scaled_ones
        level_term = np.outer(unexplained_level, unexplained_level) / solved_points.precision
        return mean, np.asarray(
            self.covariance(years, years, start_year)
            - scaled_covariance.T @ scaled_covariance
            + level_term
        )

    def _given_points(self, years: Array) -> tuple[Array, Array, _PointSolution, float]:
        """Return, given the points: the mean of the level [years], its covariance with the points
        divided by their factor [points, years], the solution of the points, and the year after
        which the rate is damped.
        """
        start_year = float(min(self.years[0], np.min(years)))
        # The rate of years before the first point was damped until then as any other.
        solved_points = (
            self._solution if start_year == self.years[0] else self._solution_from(start_year)
        )
        # Mean and covariance of normal levels, given the points (Gaussian process regression), with
        # a constant of which nothing is known (universal kriging).
        scaled_covariance = np.asarray(
            np.linalg.solve(
                solved_points.cholesky_factor, self.covariance(years, self.years, start_year).T
            ),
            dtype=float,
        )
        mean = np.asarray(
            self.signed_logs[0]
            + solved_points.level
            + scaled_covariance.T @ solved_points.scaled_residuals,
            dtype=float,
        )
        return mean, scaled_covariance, solved_points, start_year

    def log_gain(self, base_year: float, years: Array) -> tuple[Array, Array]:
        """Return the mean [years] and the covariance [years, years] of the change of the level from
        the base year to each year.
        """
        base_and_years = np.array([base_year, *years])
        mean, covariance = self.levels(base_and_years)
        differences = np.hstack([-np.ones((len(years), 1)), np.eye(len(years))])
        return differences @ mean, differences @ covariance @ differences.T

    def predict(self, years: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation of the logarithm of a device's value in each
        year.
        """
        means, covariance = self.levels(years)
        # The scatter of devices about the level adds to what is not known of the level itself.
        variances = np.maximum(np.diag(covariance), 0.0) + self.scatter**2
        return self._below_limit(means), np.sqrt(variances)

    def _below_limit(self, levels: Array) -> Array:
        """Return levels cut off at the limit of the series."""
        limit = self.log_limit
        return levels if limit is None else np.minimum(levels, limit)

    @property
    def log_limit(self) -> float | None:
        """The logarithm of the value that no device passes, with a sign such that more is better;
        None without a limit.
        """
        limit = self.series.limit
        return None if limit is None else self.series.sign * log(limit)

    def band_reaches_limit(self, year: float) -> bool:
        """Return whether the upper end of the band of a year is at the limit."""
        if self.log_limit is None:
            return False
        log_mean, deviation = self.predict(np.array([year]))
        return bool(log_mean[0] + NORMAL_90 * deviation[0] >= self.log_limit)

    @cached_property
    def path_basis(self) -> PathBasis:
        """The basis of random levels from the first point of the series on."""
        first_year, last_year = float(self.years[0]), float(self.years[-1])
        grid = np.arange(np.floor(first_year), np.floor(last_year) + _YEARS_OF_PATHS)
        # Years before the first point would change what is known of the others.
        _, covariance = self.levels(np.maximum(grid, first_year))
        return PathBasis.of(grid, covariance, np.floor(last_year))

    def paths(self, years: Array, normals: Array) -> Array:
        """Return random levels over the years [samples, years], made of standard normal numbers.
        The levels of one year do not depend on the other years.

        Parameters
        ----------
        years : rising
        normals : standard normal numbers [samples, `path_basis.size`]
        """
        mean, covariance = self.levels(years)
        deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return self._below_limit(mean + deviations * self.path_basis.unit_paths(years, normals))

    def gain(self, base_year: float, years: Array) -> Array:
        """Return the factor by which a device of each year is better than one of the base year: the
        median [years].
        """
        # Without the covariance, which has a number for each pair of years.
        level = self._below_limit(self._given_points(np.array([base_year, *years]))[0])
        return np.asarray(np.exp(level[1:] - level[0]))

    def rate(self, first_year: float, last_year: float) -> tuple[float, float, float]:
        """Return the yearly factor by which the level improved between two years, with the ends of
        its 90 % interval.
        """
        mean, covariance = self.log_gain(first_year, np.array([last_year]))
        mean_log_growth = float(mean[0])
        deviation = sqrt(max(float(covariance[0, 0]), 0.0))
        log_growths = (
            mean_log_growth,
            mean_log_growth - NORMAL_90 * deviation,
            mean_log_growth + NORMAL_90 * deviation,
        )
        # Quantiles pass through a monotone function, so that the ends of the logarithm are those of
        # the factor.
        yearly_factors = [
            float(np.exp(log_growth / (last_year - first_year))) for log_growth in log_growths
        ]
        return yearly_factors[0], yearly_factors[1], yearly_factors[2]

    def periods(self) -> list[tuple[float, float]]:
        """Return the periods between the first point of the series, its breaks and its last
        point.
        """
        measured_years = [point.year for point in self.series.measured_points]
        first_year = measured_years[0]
        last_year = measured_years[-1]
        break_years = [year for year in self.series.breaks if first_year < year < last_year]
        return list(pairwise([first_year, *break_years, last_year]))


_YEARS_OF_PATHS = 201
"""Years after the last data up to which levels of different years differ at random."""

_FIRST_YEARS_AFTER_DATA = (10, 20, 5, 30, 15, 40, 2)
"""Years after the last data whose levels take the first random numbers, which fill space most
evenly: those that projections ask for.
"""


@dataclass(frozen=True, slots=True)
class PathBasis:
    """A fixed basis of random paths: the level of each year of a grid as a sum of independent
    standard normal numbers. So the draws of one year are the same whatever other years are drawn.

    Parameters
    ----------
    grid : years, one apart
    rows : the level of each year of the grid, relative to its standard deviation, as a sum of the
        numbers [years, numbers]; each row has the length 1
    """

    grid: Array
    rows: Array

    @classmethod
    def of(cls, grid: Array, covariance: Array, last_year: float) -> PathBasis:
        """Return the basis of levels with a covariance.

        Parameters
        ----------
        grid : years, one apart
        covariance : of the levels in these years [years, years]
        last_year : of the data; years after it take the first numbers

        >>> basis = PathBasis.of(np.array([0.0, 1.0]), np.array([[4.0, 3.0], [3.0, 9.0]]), -9.0)
        >>> basis.rows.round(3)
        array([[0.5  , 0.866],
               [1.   , 0.   ]])
        """
        deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        eigenvalues, eigenvectors = np.linalg.eigh(covariance / np.outer(deviations, deviations))
        # Rounding may leave an eigenvalue slightly below 0.
        root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        distances = np.abs(grid - last_year - _FIRST_YEARS_AFTER_DATA[0])
        ranks = np.full(len(grid), len(_FIRST_YEARS_AFTER_DATA))
        for rank, years_after in enumerate(_FIRST_YEARS_AFTER_DATA):
            ranks[grid == last_year + years_after] = rank
        order = np.lexsort((distances, ranks))
        # A triangular factor, which has no arbitrary vectors, and whose first years need the first
        # numbers only; a factor by Cholesky fails where levels are nearly the same.
        _, triangle = np.linalg.qr(root[order].T)
        factor = triangle.T * np.where(np.diag(triangle) < 0, -1.0, 1.0)
        rows = np.empty_like(factor)
        rows[order] = factor
        return cls(grid, _with_unit_length(rows))

    @property
    def size(self) -> int:
        """The number of random numbers of one path."""
        return len(self.grid)

    def unit_paths(self, years: Array, normals: Array) -> Array:
        """Return random levels relative to their standard deviation [samples, years]; between the
        years of the grid their rows are interpolated.

        Parameters
        ----------
        years : to draw
        normals : standard normal numbers [samples, `size`]
        """
        places = np.clip(np.asarray(years) - self.grid[0], 0.0, len(self.grid) - 1.0)
        below = np.floor(places).astype(int)
        above = np.minimum(below + 1, len(self.grid) - 1)
        part = (places - below)[:, None]
        rows = _with_unit_length((1 - part) * self.rows[below] + part * self.rows[above])
        return np.asarray(normals @ rows.T)


def _with_unit_length(rows: Array) -> Array:
    """Return rows divided by their lengths."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def level_covariance(first_times: Array, second_times: Array, rate_model: RateModel) -> Array:
    """Return the covariance of two levels at times after a common start, at which the rate is
    unknown.

    It is :math:`s^2 A(x) A(y) + q^2 \\int_0^{\\min(x, y)} A(x - u) A(y - u)\\,du` with
    :math:`A(x) = (1 - e^{-\\theta x}) / \\theta`.

    >>> growth = RateModel(damping=1e-4, walk=0.5, start=0.0)
    >>> level_covariance(np.array([3.0]), np.array([3.0]), growth)  # a walk: q^2 3^3 / 3
    array([[2.25]])
    """
    damping = rate_model.damping
    times_down = np.asarray(first_times)[:, None]
    times_across = np.asarray(second_times)[None, :]
    earlier_years = np.minimum(times_down, times_across)
    later_years = np.maximum(times_down, times_across)
    if damping < 1e-3:  # the closed form cancels; a walk is the limit
        from_start = times_down * times_across
        from_walk = earlier_years**2 * (3 * later_years - earlier_years) / 6
    else:
        from_start = (
            np.expm1(-damping * times_down) * np.expm1(-damping * times_across) / damping**2
        )
        decay_earlier = np.exp(-damping * earlier_years)
        decay_between = np.exp(-damping * (later_years - earlier_years))
        decay_later = np.exp(-damping * later_years)
        decay_sum = np.exp(-damping * (later_years + earlier_years))
        from_walk = (
            earlier_years
            - (1 - decay_earlier) / damping
            - (decay_between - decay_later) / damping
            + (decay_between - decay_sum) / (2 * damping)
        )
        from_walk = from_walk / damping**2
    return np.asarray(rate_model.start**2 * from_start + rate_model.walk**2 * from_walk)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A later point, with the prediction of it by a fit of earlier points.

    Parameters
    ----------
    series, start : which, and the year as of which it was fitted
    year : of the later point
    error : logarithm of real over predicted
    deviation : standard deviation of the predicted logarithm
    """

    series: str
    start: float
    year: float
    error: float
    deviation: float

    @property
    def horizon(self) -> float:
        """Years from the fit to the point."""
        return self.year - self.start

    @property
    def is_within_band(self) -> bool:
        """Whether the point lies within the band of 90 %."""
        return abs(self.error) <= NORMAL_90 * self.deviation

    @property
    def score(self) -> float:
        """The logarithm of the density that was predicted at the point; more is better."""
        return -0.5 * (self.error / self.deviation) ** 2 - log(self.deviation)


@dataclass(frozen=True, slots=True)
class BackTest:
    """The predictions of all later points by fits of the points known in one year.

    Parameters
    ----------
    start : the year
    predictions : of every later point of every series that could be fitted
    band_widths : of each such series, how far 90 % reach each way at ten years, as a factor
    """

    start: float
    predictions: tuple[Prediction, ...]
    band_widths: tuple[float, ...]

    @property
    def share_within_band(self) -> float:
        """The fraction of the later points that lie within the bands of 90 %."""
        return float(np.mean([prediction.is_within_band for prediction in self.predictions]))

    @property
    def median_width(self) -> float:
        """The median of the widths of the bands."""
        return float(np.median(self.band_widths))

    @property
    def score(self) -> float:
        """The mean score of the predictions."""
        return float(np.mean([prediction.score for prediction in self.predictions]))


def back_test(
    series: Iterable[PointSeries], start_year: float, rate_model: RateModel | None = None
) -> BackTest:
    """Fit each series to the points known in a year. Return the predictions of all later measured
    points.
    """
    predictions: list[Prediction] = []
    band_widths: list[float] = []
    for point_series in series:
        later_points = [
            series_point
            for series_point in point_series.points
            if series_point.year > start_year and not series_point.announced
        ]
        known_series = point_series.as_of(start_year)
        # A series with too few points for a rate, or none to compare with, is left out of the test.
        if not (later_points and known_series.has_enough_points):
            continue
        fitted_series = fit_series(known_series, rate_model)
        years = np.array([*(point.year for point in later_points), start_year + 10.0])
        mean, deviation = fitted_series.predict(years)
        band_widths.append(float(np.exp(NORMAL_90 * deviation[-1])))
        for index, point in enumerate(later_points):
            error = point_series.sign * log(point.value) - float(mean[index])
            predictions.append(
                Prediction(
                    point_series.name, start_year, point.year, error, float(deviation[index])
                )
            )
    return BackTest(start_year, tuple(predictions), tuple(band_widths))


BACK_TEST_STARTS = (2005.0, 2010.0, 2015.0)
"""The years as of which series are back-tested."""

WIDEST_BAND_AT_TEN_YEARS = 4.0
"""The median width at ten years that a choice may have."""

TRIED_DAMPINGS = (0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12)
TRIED_WALKS = (0.025, 0.03, 0.0325, 0.035, 0.0375, 0.04, 0.045, 0.05)
"""What is tried where damping and walk are chosen."""


def choose_rate_model(series: Sequence[PointSeries], starts: Sequence[float]) -> RateModel:
    """Return the damping and the walk with the best mean score of back-tests, among those whose
    median width at ten years is at most `WIDEST_BAND_AT_TEN_YEARS`.

    Parameters
    ----------
    series : all series
    starts : years of the back-tests that it is chosen on
    """
    return best_rate_model(back_test_all(series, starts), starts)


Trials = Mapping[tuple[RateModel, float], BackTest]
"""Back-tests by how rates change and by start."""


def back_test_all(series: Sequence[PointSeries], starts: Sequence[float]) -> Trials:
    """Test the forecast of past years with each combination of damping and random walk that is
    tried, from each starting year.
    """
    rate_models = [RateModel(damping, walk) for damping in TRIED_DAMPINGS for walk in TRIED_WALKS]
    return {
        (rate_model, start_year): back_test(series, start_year, rate_model)
        for rate_model in rate_models
        for start_year in starts
    }


def best_rate_model(trials: Trials, starts: Sequence[float]) -> RateModel:
    """Return the rate model with the best mean score of back-tests that were run, among those whose
    median width at ten years is at most `WIDEST_BAND_AT_TEN_YEARS`.

    Parameters
    ----------
    trials : back-tests from these starts at least
    starts : years of the back-tests that it is chosen on
    """
    best_score_and_model: tuple[float, RateModel] | None = None
    for rate_model in dict.fromkeys(rate_model for rate_model, _ in trials):
        tests = [trials[rate_model, start_year] for start_year in starts]
        width = float(np.median([width for test in tests for width in test.band_widths]))
        score = float(np.mean([test.score for test in tests]))
        if width <= WIDEST_BAND_AT_TEN_YEARS and (
            best_score_and_model is None or score > best_score_and_model[0]
        ):
            best_score_and_model = score, rate_model
    if best_score_and_model is None:
        raise ModelError(
            f"no choice has a median width of at most {WIDEST_BAND_AT_TEN_YEARS:g} at ten years"
        )
    return best_score_and_model[1]
