"""Trends: how many times faster each class of cost gets from one year to another, by rates as
written, period by period, or by series of measured points.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from math import sqrt
from typing import ClassVar

from slipstick.late import Array, dataclass, np, replace
from slipstick.model.uncertainty import Uncertainty, random_stream, sample_points
from slipstick.report.formatting import uncapitalized
from slipstick_rates.series import FittedSeries, PathBasis, RateModel, level_covariance

PROCESSORS = "processors"


@dataclass(frozen=True, slots=True)
class Period:
    """The rate of one period.

    Parameters
    ----------
    start, end : years
    factor : how many times faster each year; its median is the rate that is stated
    source : where the rate comes from
    assumed : it is a guess
    """

    start: float
    end: float
    factor: Uncertainty
    source: str = ""
    assumed: bool = False

    @property
    def median(self) -> float:
        """The yearly factor of the improvement, as stated."""
        return self.factor.value_at(0.5)


@dataclass(frozen=True, slots=True)
class PeriodRate:
    """A rate that is stated period by period, without gaps between the periods.

    All periods of a rate have one draw: a rate that was stated too high was so throughout, and a
    period that is cut into equal ones has the band of the whole. After the last period its rate is
    carried on; if it is uncertain, it changes there at random, as the rates of series do.

    Parameters
    ----------
    periods : in order
    """

    periods: tuple[Period, ...]

    @property
    def is_uncertain(self) -> bool:
        """Whether the rate of any period is a distribution."""
        return any(period.factor.kind != "fixed" for period in self.periods)

    @property
    def normals_per_draw(self) -> int:
        """The number of standard normal numbers that one draw needs: one for the rate, and one for
        each year after the last period if the rate is uncertain.
        """
        return 1 + _changes_after_periods().size * (self.periods[-1].factor.kind != "fixed")

    def _years_after_data(self, years: Array) -> Array:
        """Return the distance of each year from the last period, if the continued rate is
        uncertain; else 0 [years].
        """
        last_period = self.periods[-1]
        return np.maximum(years - last_period.end, 0.0) * (last_period.factor.kind != "fixed")

    def draw(
        self, years: Array, normals: Array, device_normals: Callable[[float], Array]
    ) -> PeriodDraws:
        """Return draws of the rate, and of its changes after the last period.

        Parameters
        ----------
        years : rising
        normals : standard normal numbers [samples, `normals_per_draw`]
        device_normals : of devices of a year, which no rate of periods has
        """
        from scipy.special import ndtr

        # One normal number gives the same quantile of every period: a rate that was stated too high
        # was so throughout.
        probabilities = ndtr(normals[:, 0])
        factors = np.stack(
            [period.factor.quantile(probabilities) for period in self.periods], axis=1
        )
        years_after = self._years_after_data(years)
        changes = np.zeros((len(normals), len(years)))
        is_later = years_after > 0
        if is_later.any():
            times = years_after[is_later]
            variances = np.diag(level_covariance(times, times, RateModel(start=0.0)))
            unit_changes = _changes_after_periods().unit_paths(times, normals[:, 1:])
            changes[:, is_later] = np.sqrt(variances) * unit_changes
        return PeriodDraws(factors, years, changes)

    def gain(self, base_year: float, years: Array, draws: Draws | None = None) -> Array:
        """Return the factor of the improvement from the base year to each year.

        Parameters
        ----------
        base_year, years : from when, and to when
        draws : of the rate; as stated without them

        Returns
        -------
        gains [samples, years]
        """
        if draws is None:
            factors = np.array([[period.median for period in self.periods]])
            return gain_of_factors(self.periods, base_year, years, factors)
        assert isinstance(draws, PeriodDraws)
        log_changes = draws.log_changes_since(base_year, years)
        return np.asarray(
            gain_of_factors(self.periods, base_year, years, draws.factors) * np.exp(log_changes)
        )


@cache
def _changes_after_periods() -> PathBasis:
    """Return the basis of the random changes of a rate, by years after the last period."""
    times = np.arange(1.0, 201.0)
    return PathBasis.of(times, level_covariance(times, times, RateModel(start=0.0)), 0.0)


@dataclass(frozen=True, slots=True)
class PeriodDraws:
    """Random draws of a rate that is stated period by period.

    Parameters
    ----------
    factors : yearly [samples, periods]
    years : rising
    changes : addition to the logarithm of the level by changes of the rate after its last period
        [samples, years]
    """

    factors: Array
    years: Array
    changes: Array

    def log_changes_since(self, base_year: float, years: Array) -> Array:
        """Return the contribution of changes of the rate to the logarithm of the gain from the base
        year to each year [samples, years].
        """
        columns = _columns_of_years(self.years, years)
        base_column = _columns_of_years(self.years, np.array([base_year]))
        return np.asarray(self.changes[:, columns] - self.changes[:, base_column])


def _columns_of_years(drawn_years: Array, years: Array) -> Array:
    """Return the columns of the draws for some years, all of which were drawn."""
    columns = np.searchsorted(drawn_years, years).clip(max=len(drawn_years) - 1)
    assert np.array_equal(drawn_years[columns], years), "a year was not drawn"
    return np.asarray(columns)


@dataclass(frozen=True, slots=True)
class SeriesDraws:
    """Random draws of the level of a series, and of devices that differ from the level.

    Parameters
    ----------
    years : rising
    levels : logarithms [samples, years]
    later_devices : difference of the device of a later year from the level, of logarithms
        [samples]
    device_of_year : difference of the device of a base year from the level, by year [samples]
    limit : logarithm that no device passes; None if there is none
    """

    years: Array
    levels: Array
    later_devices: Array
    device_of_year: Callable[[float], Array]
    limit: float | None = None

    def gain(self, base_year: float, years: Array) -> Array:
        """Return the factor by which a device of each year is better than a device of the base year
        [samples, years]; 1 in the base year.
        """
        columns = _columns_of_years(self.years, years)
        (base_index,) = _columns_of_years(self.years, np.array([base_year]))
        is_other_year = np.asarray(years) != base_year
        later_level = self._below_limit(
            self.levels[:, columns] + self.later_devices[:, None] * is_other_year
        )
        base_level = self._below_limit(
            self.levels[:, base_index, None]
            + self.device_of_year(base_year)[:, None] * is_other_year
        )
        return np.asarray(np.exp(later_level - base_level))

    def _below_limit(self, logs: Array) -> Array:
        """Return logarithms cut off at the limit of the series."""
        return logs if self.limit is None else np.minimum(logs, self.limit)


Draws = PeriodDraws | SeriesDraws


@dataclass(frozen=True, slots=True)
class SeriesRate:
    """A rate that is fitted to a series of points.

    Parameters
    ----------
    fit : the series and its level
    assumed : it is used for another kind of processors than that of the points, as a guess
    """

    fit: FittedSeries
    assumed: bool = False
    is_uncertain: ClassVar[bool] = True

    @property
    def normals_per_draw(self) -> int:
        """The number of standard normal numbers that one draw needs: those of the path of the
        level, and one for the device of all later years.
        """
        return self.fit.path_basis.size + 1

    def draw(
        self, years: Array, normals: Array, device_normals: Callable[[float], Array]
    ) -> SeriesDraws:
        """Return draws of the level in the years.

        Parameters
        ----------
        years : rising
        normals : standard normal numbers [samples, `normals_per_draw`]
        device_normals : standard normal numbers of the device of a base year, by year [samples]
        """
        scatter = self.fit.scatter
        return SeriesDraws(
            years,
            self.fit.paths(years, normals[:, :-1]),
            scatter * normals[:, -1],
            lambda year: scatter * device_normals(year),
            self.fit.log_limit,
        )

    def gain(self, base_year: float, years: Array, draws: Draws | None = None) -> Array:
        """Return the factor by which a device of each year is better than one of the base year
        [samples, years]; the median without draws.
        """
        if draws is None:
            return self.fit.gain(base_year, years)[None, :]
        assert isinstance(draws, SeriesDraws)
        return draws.gain(base_year, years)


Rate = PeriodRate | SeriesRate


@dataclass(frozen=True, slots=True)
class FollowedValue:
    """A value of a model that a rate of a trend changes over the years.

    Parameters
    ----------
    path, base_value : of the value, and how much it is in the base year
    rate_name : the name of the rate
    is_multiplied : it is multiplied by the gain, as the speed of processors; else divided, as a
        time
    """

    path: str
    base_value: float
    rate_name: str
    is_multiplied: bool


@dataclass(frozen=True, slots=True)
class Trend:
    """The rates at which the classes of cost get cheaper.

    Parameters
    ----------
    name, title : of the trend
    rates : by ``processors`` or class of cost; what is not listed stays as it is
    draw_key_by_rate : what each rate is drawn by; rates with the same key have the same draws
    kind : of the processors that it is for
    """

    name: str
    title: str
    rates: Mapping[str, Rate]
    draw_key_by_rate: Mapping[str, str]
    kind: str = ""

    def draws(self, years: Array, samples: int, seed: int) -> dict[str, Draws]:
        """Return random draws of each uncertain rate by name; a part of the variation is common to
        all rates.

        Parameters
        ----------
        years : for which there will be draws, rising; the draws of a year do not depend on the
            others
        samples : how many draws, a power of two
        seed : key of the random streams; a rate has the same draws in every trend of the name

        Returns
        -------
        by the name of the rate
        """
        uncertain_rate_by_name = {
            name: rate for name, rate in self.rates.items() if rate.is_uncertain
        }
        rate_by_key = {
            self.draw_key_by_rate[name]: rate for name, rate in uncertain_rate_by_name.items()
        }
        most_normals = max((rate.normals_per_draw for rate in rate_by_key.values()), default=0)
        common_normals = (
            self._normal_draws("", most_normals, samples, seed) if len(rate_by_key) > 1 else None
        )
        draws_by_key: dict[str, Draws] = {}
        for key, rate in rate_by_key.items():
            normals = self._normal_draws(key, rate.normals_per_draw, samples, seed)
            if common_normals is not None:
                # The last number of a series is that of its devices, which have nothing in common.
                common_count = normals.shape[1] - isinstance(rate, SeriesRate)
                common_share = RateModel().common
                # Both parts are standard normal, so that the sum is too, and two rates have the
                # correlation `common`.
                own_part = sqrt(1 - common_share) * normals[:, :common_count]
                normals[:, :common_count] = (
                    own_part + sqrt(common_share) * common_normals[:, :common_count]
                )
            draws_by_key[key] = rate.draw(
                years, normals, self._normals_of_devices(key, samples, seed)
            )
        return {name: draws_by_key[self.draw_key_by_rate[name]] for name in uncertain_rate_by_name}

    def _normals_of_devices(self, key: str, samples: int, seed: int) -> Callable[[float], Array]:
        """Return a function that gives the standard normal numbers of the device of a year, which
        have a stream of their own [samples].
        """

        @cache
        def normals_of_year(year: float) -> Array:
            return self._normal_draws(f"{key}:device of {year:g}", 1, samples, seed)[:, 0]

        return normals_of_year

    def _normal_draws(self, key: str, count: int, samples: int, seed: int) -> Array:
        """Return standard normal numbers for the rates with one key [samples, count]; each key has
        its own order of samples.
        """
        random_generator = random_stream(seed, f"project:{self.name}:{key}")
        standard_normal = Uncertainty("normal", 0.0, 1.0)
        number_names = [f"{index:06}" for index in range(count)]
        normals_by_name = sample_points(
            dict.fromkeys(number_names, standard_normal), samples, random_generator
        )
        # Sequences of two keys fill space only if they are not in the same order.
        return np.stack([normals_by_name[name] for name in number_names], axis=1)[
            random_generator.permutation(samples)
        ]

    def with_rates(self, names: Collection[str]) -> Trend:
        """Return the trend with only the rates of the given names."""
        return replace(self, rates={name: self.rates[name] for name in self.rates if name in names})

    def values(
        self,
        base_year: float,
        years: Array,
        followers: Iterable[FollowedValue],
        draws: Mapping[str, Draws] | None = None,
    ) -> dict[str, Array]:
        """Return the values that the rates change by path, in each year.

        Parameters
        ----------
        base_year : year that the values of the model are of
        years : to which they are taken
        followers : the values that follow a rate, as in the base year
        draws : as `draws` returns them; without them the rates are as stated

        Returns
        -------
        by path [samples, years]
        """
        gains = {
            name: rate.gain(base_year, years, (draws or {}).get(name))
            for name, rate in self.rates.items()
        }
        values_by_path = {
            value.path: value.base_value * gains[value.rate_name]
            if value.is_multiplied
            else value.base_value / gains[value.rate_name]
            for value in followers
        }
        samples = max(len(values) for values in values_by_path.values())
        return {
            path: np.broadcast_to(values, (samples, len(years)))
            for path, values in values_by_path.items()
        }


def years_in_periods(periods: tuple[Period, ...], base_year: float, years: Array) -> Array:
    """Return the years of each period between the base year and each given year [years, periods];
    the first and the last period continue beyond their ends.

    Parameters
    ----------
    periods : in order, without gaps
    base_year, years : from where, and to where; years before the base count negative

    >>> periods = tuple(Period(a, a + 10, None) for a in (1990, 2000))
    >>> years_in_periods(periods, 1995, np.array([1985.0, 2003.0, 2015.0])).tolist()
    [[-10.0, 0.0], [5.0, 3.0], [5.0, 15.0]]
    """
    starts = np.array([-np.inf, *(period.start for period in periods[1:])])
    period_ends = np.array([*(period.end for period in periods[:-1]), np.inf])
    return np.asarray(
        np.clip(years[:, None], starts, period_ends) - np.clip(base_year, starts, period_ends)
    )


def gain_of_factors(
    periods: tuple[Period, ...], base_year: float, years: Array, factors: Array
) -> Array:
    """Return the product of yearly factors from the base year to each year, exp(sum over periods of
    years times log factor).

    Parameters
    ----------
    periods, base_year, years : as for `years_in_periods`
    factors : yearly factor of each period [samples, periods]

    Returns
    -------
    how many times faster [samples, years]
    """
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(np.log(factors) @ years_in_periods(periods, base_year, years).T))


def used_periods(rate: PeriodRate, first_year: float, last_year: float) -> list[Period]:
    """Return the periods of a rate that are used between two years; the first and the last period
    also hold for years beyond them.

    >>> periods = tuple(Period(a, a + 10, None) for a in (1990, 2000, 2010))
    >>> [period.start for period in used_periods(PeriodRate(periods), 1985, 2005)]
    [1990, 2000]
    >>> [period.start for period in used_periods(PeriodRate(periods), 2024, 2034)]
    [2010]
    """
    first_period = rate.periods[0]
    last_period = rate.periods[-1]
    return [
        period
        for period in rate.periods
        if (period is first_period or period.start < last_year)
        and (period is last_period or period.end > first_year)
    ]


def doubt_on_rate(rate: Rate, first_year: float, last_year: float) -> str:
    """Return ``guess`` or ``weak series`` if a rate is doubtful between two years; else an empty
    text.
    """
    if isinstance(rate, SeriesRate):
        return "guess" if rate.assumed else "weak series" if rate.fit.series.is_weak else ""
    periods = used_periods(rate, first_year, last_year)
    return "guess" if any(period.assumed for period in periods) else ""


def data_span(rate: Rate) -> tuple[float, float]:
    """Return the first and the last year for which a rate has data: of its periods, or of the
    points that it is fitted to.
    """
    if isinstance(rate, SeriesRate):
        return float(rate.fit.years[0]), float(rate.fit.years[-1])
    return rate.periods[0].start, rate.periods[-1].end


def has_data_near_start(rate: Rate, year: float) -> bool:
    """Return whether a projection by a rate can start in a year: within the years of its data, or
    no farther from them than their span. A rate that is stated by periods cannot start before its
    first period.

    >>> rate = PeriodRate((Period(2004, 2024, None),))
    >>> [has_data_near_start(rate, year) for year in (2003, 2004, 2026, 2044, 2045)]
    [False, True, True, True, False]
    """
    first_data_year, last_data_year = data_span(rate)
    earliest_start = first_data_year - (last_data_year - first_data_year) * isinstance(
        rate, SeriesRate
    )
    return earliest_start <= year <= last_data_year + (last_data_year - first_data_year)


def reason_not_to_start(trend: Trend, name: str, year: float) -> str:
    """Return a message on why no projection by a rate of a trend can start in a year; empty if one
    can.
    """
    rate = trend.rates[name]
    if has_data_near_start(rate, year):
        return ""
    first_data_year, last_data_year = data_span(rate)
    data_text = f"{last_data_year - first_data_year:.3g} years of data"
    distance_text = (
        f", {year - last_data_year:.3g} years after {data_text}" if year > last_data_year else ""
    )
    title = rate.fit.series.title if isinstance(rate, SeriesRate) else f"rates of {name}"
    return (
        f"trend {trend.name} knows {uncapitalized(title)} for {first_data_year:g} to"
        f" {last_data_year:g} only, so"
        f" nothing can start in {year:g}{distance_text}: start closer to these years, or extend the"
        " trend by"
        " a rate of your own"
    )


def periods_outside(
    rate: Rate, first_year: float, last_year: float
) -> list[tuple[Period, float, float]]:
    """Return the periods whose rate is used for years outside the period, each with the first and
    the last of these years; none for a fitted series, which covers every year.
    """
    if isinstance(rate, SeriesRate):
        return []
    periods_and_years = []
    periods = rate.periods
    if first_year < periods[0].start:
        periods_and_years.append((periods[0], first_year, min(last_year, periods[0].start)))
    if last_year > periods[-1].end:
        periods_and_years.append((periods[-1], max(first_year, periods[-1].end), last_year))
    return periods_and_years
