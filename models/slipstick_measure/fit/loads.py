r"""Response times against load: stations and a time beside them, fitted to a load test.

A request takes ``R = B + S + W``: B beside the queue, S the service of one of c servers, W the
wait. Of requests that arrive at a rate W is that of M/M/c times (1 + scv) / 2 of the services
(exact for one server, by Allen and Cunneen for several). Of users who think it follows from the
closed network of the station and a delay, exactly (machine repair), and also beside a second
station.

B and S are fitted to the mean response times by least squares of relative errors, for each number
of servers that is tried and a few variations of the services. All that the rows cannot distinguish
are kept, and a prediction encloses them. Beyond the rows it is less sure by what a station misses
of the largest load when fitted without it, for what none that is fitted to them can know.

Where only percentiles were measured, the smallest of them is fitted, of M/M/c first come first
served; measured percentiles beside a mean are compared and not fitted. Error: constant and
hyperexponential services and networks of two stations, 12 tests of six loads with 2 % of noise
each, predicted beyond the rows (tests/measure/fit/test_load_fits.py).

Source: Denning and Buzen, Computing Surveys 10(3), 1978; Gross and Harris, Fundamentals of Queueing
Theory, 1985, sections 2.3 and 2.7; Allen, Probability, Statistics and Queueing Theory, 1990.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from slipstick.errors import NoAnswerError, Problem, SpecError
from slipstick.late import Array, dataclass, np, replace
from slipstick.queueing.residual_wait import erlang_c
from slipstick_measure.fit.comparison import (
    LARGEST_RELATIVE_ERROR,
    WIDEST_PREDICTION_RATIO,
)
from slipstick_measure.fit.families import cycle_times, repairman_cycle_time
from slipstick_measure.fit.formula import Family, FitParameter, TimeFormula, Timings
from slipstick_measure.fit.intervals import profile
from slipstick_measure.fit.least_squares import FittedFormula, ParameterFunction, fit
from slipstick_measure.loads import LoadRow, LoadTest, think_time
from slipstick_measure.results import (
    LEAST_CRITERION_DIFFERENCE,
    LoadedStation,
    LoadFitting,
    LoadPoint,
    PredictedResponse,
)

TRIED_SERVERS = (1, 2, 4, 8, 16)
"""Numbers of servers that are tried if none is given."""
TRIED_SCVS = (0.0, 1.0, 4.0)
"""Squared coefficients of variation of the services that are tried."""

TRIED_SECOND_DEMANDS = (0.5, 1.0)
"""Demands at a second station that are tried, as parts of that at the first."""


class StationModel(NamedTuple):
    """A kind of station to fit.

    Parameters
    ----------
    servers : number of servers
    scv : squared coefficient of variation of the services [1]
    second_demand_ratio : demand at a second station of one server, as a fraction of the demand at
        the first [1]
    """

    servers: int
    scv: float = 1.0
    second_demand_ratio: float = 0.0

    @property
    def description(self) -> str:
        """The kind of station in words."""
        servers_text = "one server" if self.servers == 1 else f"{self.servers} servers"
        variation_texts = {0.0: "constant times", 1.0: "exponential times"}
        description = f"{servers_text}, {variation_texts.get(self.scv, 'highly variable times')}"
        return (
            f"{description}, and a second one with {self.second_demand_ratio:.0%} of its demand"
            if self.second_demand_ratio
            else description
        )


CONFIDENCE_LEVEL = 0.95
LEAST_COMPLETED_SHARE = 0.95
"""Part of the rate offered below which requests pile up: a mean then depends on the length of the
test."""
CURVE_POINTS = 80
"""Loads at which the curve of a station is drawn."""
HALVINGS = 60
SHORTEST_SERVICE = 1e-12
"""A service so short that it is none [s]."""
SATURATED_RESPONSE_TIME = 1e100
"""A response time beyond all measured ones, of a saturated station [s]."""


@dataclass(frozen=True, slots=True)
class StationFit:
    """A kind of station, fitted to the response times of a load test.

    Parameters
    ----------
    station_model : kind of the station
    fitted_formula : the fit, whose parameters are the time outside of the station and the service
        time [s]
    largest_load_error : relative error at the largest load when fitted without it; None where too
        few rows
    """

    station_model: StationModel
    fitted_formula: FittedFormula
    largest_load_error: float | None = None

    @property
    def form_error(self) -> float:
        """The error at the largest load, as a logarithm [1]; 0 if it is unknown."""
        if self.largest_load_error is None:
            return 0.0
        return (
            float(abs(np.log1p(self.largest_load_error)))
            if np.isfinite(self.largest_load_error)
            else np.inf
        )

    @property
    def time_elsewhere(self) -> float:
        """The part of the response time outside of the station [s]."""
        return float(self.fitted_formula.theta[0])

    @property
    def service_demand(self) -> float:
        """The service demand at the station [s]."""
        return float(self.fitted_formula.theta[1])

    @property
    def saturation_rate(self) -> float:
        """The throughput at which the station saturates [1/s]."""
        return self.station_model.servers / self.service_demand if self.service_demand else np.inf


@dataclass(frozen=True, slots=True)
class LoadFit:
    """A load test and the stations that explain its response times, the best first.

    Parameters
    ----------
    load_test : the load test
    rows : the rows that are fitted, in the order of their loads
    quantile : of the response time that is fitted; None: the mean
    think : time of users [s]; None where requests arrive at a rate
    stations : the fitted stations by their criterion
    predictions : predicted response times
    overloaded_rows : rows that completed less than was offered, and are left out
    """

    load_test: LoadTest
    rows: tuple[LoadRow, ...]
    quantile: float | None
    think: float | None
    stations: tuple[StationFit, ...]
    predictions: tuple[PredictedResponse, ...] = ()
    overloaded_rows: tuple[LoadRow, ...] = ()

    @property
    def best_station(self) -> StationFit:
        """The fitted station with the lowest criterion."""
        return self.stations[0]

    @property
    def likely_stations(self) -> tuple[StationFit, ...]:
        """The fitted stations that the rows cannot distinguish from the best one."""
        return _likely_stations(self.stations)

    @property
    def misfit(self) -> str:
        """The reason why no station describes the rows; an empty text if one does."""
        scatter = self.best_station.fitted_formula.scatter
        if np.isfinite(scatter) and scatter > LARGEST_RELATIVE_ERROR:
            description = self.best_station.station_model.description
            return f"the nearest, {description}, misses them by {scatter:.0%}"
        return ""

    def response(self, station: StationFit, loads: Sequence[float]) -> Array:
        """Return the fitted response times at loads [s]; infinite from saturation on."""
        times = station.fitted_formula.predict(loads)
        return np.where(times > 0, times, np.inf)

    def percentile(self, station: StationFit, load: float, quantile: float) -> float | None:
        """Return a percentile of the response time at a first-come first-served station [s]; None
        from saturation on, and for users and for services that are not exponential, for which
        slipstick has no formula.
        """
        servers = station.station_model.servers
        if (
            self.think is not None
            or station.station_model.scv != 1
            or load * station.service_demand >= servers
        ):
            return None
        return float(
            _response_quantile(station.fitted_formula.theta, np.array([load]), servers, quantile)[0]
        )

    def result(self) -> LoadFitting:
        """Return the results of the fit as plain numbers and texts, for reports."""
        best_station = self.best_station
        parameter_intervals = (
            profile(best_station.fitted_formula).parameters(CONFIDENCE_LEVEL)
            if best_station.fitted_formula.degrees_of_freedom > 0
            else {}
        )
        return LoadFitting(
            self.load_test.file,
            self.quantile,
            self.think,
            self.misfit,
            tuple(_station_results(station) for station in self.likely_stations),
            {name: (interval.low, interval.high) for name, interval in parameter_intervals.items()},
            tuple(self._load_point(row) for row in self.rows),
            self.predictions,
            tuple(float(row.rate or 0.0) for row in self.overloaded_rows),
        )

    def curves(self) -> dict[str, tuple[Array, Array]]:
        """Return the curve of each station that the rows do not exclude, by its name: loads from
        the smallest to the largest one measured or predicted, and response times [s]. Return
        nothing if no station describes the rows.
        """
        measured_loads = [load_of(row) for row in self.rows]
        largest_load = max([*measured_loads, *(prediction.load for prediction in self.predictions)])
        loads = np.linspace(min(measured_loads), largest_load, CURVE_POINTS)
        loads = loads if self.think is None else np.unique(np.round(loads))
        stations = () if self.misfit else self.likely_stations
        return {
            station.station_model.description: (
                loads,
                np.asarray(self.response(station, loads.tolist())),
            )
            for station in stations
        }

    def _load_point(self, row: LoadRow) -> LoadPoint:
        """Return a measured row with the fitted response time and percentiles at its load."""
        load = load_of(row)
        other_quantiles = [
            quantile for quantile in self.load_test.quantiles if quantile != self.quantile
        ]
        percentiles = {
            quantile: (
                row.quantiles.get(quantile),
                self.percentile(self.best_station, load, quantile),
            )
            for quantile in other_quantiles
            if self.think is None and self.best_station.station_model.scv == 1
        }
        (fitted_response,) = self.response(self.best_station, [load])
        return LoadPoint(
            load,
            _measured_response_time(row, self.quantile) or 0.0,
            float(fitted_response),
            percentiles,
        )


def _station_results(station: StationFit) -> LoadedStation:
    """Return the results of a fitted station as plain numbers and texts, for reports."""
    station_model = station.station_model
    fitted_formula = station.fitted_formula
    return LoadedStation(
        station_model.description,
        station_model.servers,
        station_model.scv,
        station_model.second_demand_ratio,
        station.service_demand,
        station.time_elsewhere,
        station.saturation_rate,
        fitted_formula.scatter if fitted_formula.degrees_of_freedom > 0 else None,
        station.largest_load_error,
    )


def load_of(row: LoadRow) -> float:
    """Return the load of a row: its users, or its completed rate."""
    return float(row.users if row.users is not None else row.completed_rate or 0.0)


def fit_loads(
    load_test: LoadTest, predicted_loads: Sequence[float] = (), servers: int | None = None
) -> LoadFit:
    """Fit stations to the response times of a load test, and predict response times by all that
    fit.

    Parameters
    ----------
    load_test : with users and throughput, or with rates, at two loads at least
    predicted_loads : loads to predict the response time for, users or 1/s
    servers : of the station; several numbers are tried if None

    Raises
    ------
    SpecError : no response times, too few loads, users without a throughput, or rows of different
        work

    >>> rows = [
    ...     LoadRow(at, rate=rate, response=0.005 + 0.01 / (1 - 0.01 * rate))
    ...     for at, rate in enumerate((10.0, 50.0, 80.0, 90.0))
    ... ]
    >>> fit = fit_loads(LoadTest("f", tuple(rows)), predicted_loads=[95.0], servers=1)
    >>> (
    ...     round(fit.best_station.service_demand, 6),
    ...     round(fit.best_station.time_elsewhere, 6),
    ...     round(fit.predictions[0].value, 6),
    ... )
    (0.01, 0.005, 0.205)
    """
    load_test.check_workload()
    quantile = _fitted_quantile(load_test)
    timed_rows = [
        row for row in load_test.rows if _measured_response_time(row, quantile) and load_of(row) > 0
    ]
    has_users = load_test.rows[0].users is not None
    if any((row.users is not None) != has_users for row in timed_rows):
        raise _refusal_error(
            load_test, "some rows have users and some a rate; give a table of one kind"
        )
    overloaded_rows = [row for row in timed_rows if not has_users and _is_overloaded(row)]
    rows = sorted((row for row in timed_rows if row not in overloaded_rows), key=load_of)
    loads = [load_of(row) for row in rows]
    if len(set(loads)) < 2:
        raise _refusal_error(
            load_test,
            "response times at two loads at least are needed, at which the requests that come are"
            f" completed; there are {len(set(loads))}",
        )
    think = think_time(load_test) if has_users else None
    if has_users and (think is None or quantile is not None):
        raise _refusal_error(
            load_test,
            "users need a throughput and a mean response time in each row, from which their think"
            " time follows (Little's law)",
        )
    think = None if think is None else max(0.0, think)
    timings = Timings(
        np.array(loads),
        np.ones(len(loads)),
        np.array([_measured_response_time(row, quantile) for row in rows]),
        weak_scaling=True,
    )
    station_models = _station_models_to_try(
        (servers,) if servers else TRIED_SERVERS, think is not None, quantile is not None
    )
    stations = _fitted_stations(timings, station_models, think, quantile)
    load_fit = LoadFit(
        load_test, tuple(rows), quantile, think, stations, (), tuple(overloaded_rows)
    )
    predictions = tuple(
        _predicted_response(load_fit, load, servers is not None) for load in predicted_loads
    )
    return LoadFit(
        load_test, tuple(rows), quantile, think, stations, predictions, tuple(overloaded_rows)
    )


def _refusal_error(load_test: LoadTest, reason: str) -> SpecError:
    """Return the error that a load test cannot be fitted, for a reason in words, at its first
    row.
    """
    return SpecError([Problem(load_test.file, load_test.rows[0].line, 1, "", reason)])


def _fitted_quantile(load_test: LoadTest) -> float | None:
    """Return the smallest quantile of the response time that all rows of a load test have; None if
    a row has a mean, which is fitted then.
    """
    if any(row.response is not None for row in load_test.rows):
        return None
    common_quantiles = set.intersection(*(set(row.quantiles) for row in load_test.rows))
    if not common_quantiles:
        raise _refusal_error(load_test, "there are no response times in it")
    return min(common_quantiles)


def _measured_response_time(row: LoadRow, quantile: float | None) -> float | None:
    """Return the mean response time of a row, or its quantile [s]; None if it has none."""
    return row.response if quantile is None else row.quantiles.get(quantile)


def _is_overloaded(row: LoadRow) -> bool:
    """Return whether a row completed clearly fewer requests than were offered."""
    return bool(row.rate and row.throughput and row.throughput < LEAST_COMPLETED_SHARE * row.rate)


def _station_models_to_try(
    server_counts: Sequence[int], has_users: bool, fits_quantile: bool
) -> list[StationModel]:
    """Return the kinds of station to fit to users, to a quantile at arrival rates, or to means at
    arrival rates.
    """
    if has_users:
        return [
            *map(StationModel, server_counts),
            *(StationModel(1, second_demand_ratio=share) for share in TRIED_SECOND_DEMANDS),
        ]
    if fits_quantile:
        return [StationModel(server_count) for server_count in server_counts]
    return [
        StationModel(server_count, scv) for server_count, scv in product(server_counts, TRIED_SCVS)
    ]


def _fitted_stations(
    timings: Timings,
    station_models: Sequence[StationModel],
    think: float | None,
    quantile: float | None,
) -> tuple[StationFit, ...]:
    """Fit each kind of station, best first; kinds that cannot be fitted are left out."""
    stations = []
    for station_model in station_models:
        try:
            stations.append(
                StationFit(
                    station_model, fit(_family_of_station(station_model, think, quantile), timings)
                )
            )
        except NoAnswerError:
            continue
    stations.sort(
        key=lambda station: (
            _akaike_criterion_of_rows(station.fitted_formula),
            station.station_model,
        )
    )
    likely_stations = _likely_stations(stations)
    return tuple(
        replace(
            station, largest_load_error=_error_at_largest_load(station, think, quantile, timings)
        )
        if station in likely_stations
        else station
        for station in stations
    )


def _likely_stations(stations: Sequence[StationFit]) -> tuple[StationFit, ...]:
    """Return the stations that the rows cannot distinguish from the best one."""
    least_criterion = _akaike_criterion_of_rows(stations[0].fitted_formula)
    return tuple(
        station
        for station in stations
        if _akaike_criterion_of_rows(station.fitted_formula) - least_criterion
        < LEAST_CRITERION_DIFFERENCE
    )


_RESIDUAL_OF_ROUNDING = 1e-9
"""Relative residual below which a fit passes through a row: a minimizer ends at about 1e-15, and no
measured time has nine digits."""


def _akaike_criterion_of_rows(fitted_formula: FittedFormula) -> float:
    """Return Akaike's criterion of a fit, corrected for few observations; uncorrected if the rows
    are too few for the correction. Fits that pass through all rows have the same criterion: what is
    left of their residuals is rounding, which differs from library to library.
    """
    row_count = len(fitted_formula.residuals)
    sum_of_squares = max(fitted_formula.sum_of_squares, row_count * _RESIDUAL_OF_ROUNDING**2)
    return (
        fitted_formula.aicc
        if np.isfinite(fitted_formula.aicc)
        else float(row_count * np.log(sum_of_squares / row_count))
    )


def _error_at_largest_load(
    station: StationFit, think: float | None, quantile: float | None, timings: Timings
) -> float | None:
    """Return the relative error of the response time that a fit to the smaller loads predicts for
    the largest load [1]; None if there are too few smaller loads.
    """
    is_smaller_load = timings.p < timings.p.max()
    family = _family_of_station(station.station_model, think, quantile)
    if len(np.unique(timings.p[is_smaller_load])) < len(station.fitted_formula.theta):
        return None
    try:
        fit_to_smaller_loads = fit(family, timings.select(is_smaller_load))
    except NoAnswerError:
        return None
    predicted_time = float(fit_to_smaller_loads.predict([timings.p.max()])[0])
    measured_time = float(np.exp(np.log(timings.time[~is_smaller_load]).mean()))
    return predicted_time / measured_time - 1 if predicted_time > 0 else np.inf


def _family_of_station(
    station_model: StationModel, think: float | None, quantile: float | None
) -> Family:
    """Return a family of one formula: the response time at a kind of station, by load."""
    parameters = (
        FitParameter("beside", "s", "time of a request beside the station"),
        FitParameter("service", "s", "service demand of a request at the station"),
    )

    def closed_response_times(theta: Array, points: Timings) -> Array:
        time_outside = (think or 0.0) + theta[0]
        service_demand = theta[1]
        if not station_model.second_demand_ratio:
            return repairman_cycle_time(
                time_outside, service_demand, station_model.servers, points.p
            ) - (think or 0.0)
        demands_at_first = np.broadcast_to(service_demand, points.p.shape)
        demands = np.stack(
            [demands_at_first, station_model.second_demand_ratio * demands_at_first], axis=-1
        )
        return cycle_times(time_outside, demands, points.p) - (think or 0.0)

    def time(theta: Array, points: Timings) -> Array:
        if think is not None:
            return np.asarray(closed_response_times(theta, points))
        parameter_columns = np.array([np.broadcast_to(value, points.p.shape) for value in theta])
        is_stable = points.p * parameter_columns[1] < station_model.servers
        stable_theta = parameter_columns[:, is_stable]
        arrival_rates = points.p[is_stable]
        times = np.zeros(len(points.p))
        times[is_stable] = (
            _mean_response(stable_theta, arrival_rates, station_model)
            if quantile is None
            else _response_quantile(stable_theta, arrival_rates, station_model.servers, quantile)
        )
        return times

    def starting_points(points: Timings) -> list[Array]:
        shortest_time = float(points.time.min())
        highest_load = float(points.p.max())
        highest_rate = (
            highest_load if think is None else highest_load / (think + float(points.time[-1]))
        )
        service_times = [
            min(share * station_model.servers / highest_rate, shortest_time)
            for share in (0.5, 0.9, 0.99)
        ]
        return [
            np.array([max(shortest_time - service_time, 0.1 * shortest_time), service_time])
            for service_time in service_times
        ]

    formula = TimeFormula(
        station_model.description, "R = B + S + W", parameters, time, starting_points
    )
    return Family(
        station_model.description,
        station_model.description,
        "Gross and Harris, 1985",
        lambda timings: [formula],
    )


def _mean_response(theta: Array, arrival_rates: Array, station_model: StationModel) -> Array:
    """Return the mean response time at arrival rates below saturation [s]."""
    time_beside, service_demand = theta
    offered_loads = arrival_rates * service_demand
    servers = station_model.servers
    mean_waits = service_demand * erlang_c(offered_loads, servers) / (servers - offered_loads)
    return np.asarray(time_beside + service_demand + (1 + station_model.scv) / 2 * mean_waits)


def _response_quantile(theta: Array, arrival_rates: Array, servers: int, quantile: float) -> Array:
    """Return a quantile of the response time of M/M/c at arrival rates below saturation [s]."""
    time_beside, service_demands = (np.broadcast_to(value, arrival_rates.shape) for value in theta)
    service_demands = np.maximum(service_demands, SHORTEST_SERVICE)
    offered_loads = arrival_rates * service_demands
    wait_probabilities = erlang_c(offered_loads, servers)
    service_rates = 1 / service_demands
    departure_rates = (servers - offered_loads) / service_demands
    rate_differences = np.where(
        np.abs(departure_rates - service_rates) < 1e-9 * service_rates,
        1e-9 * service_rates,
        departure_rates - service_rates,
    )

    def probability_above(time: Array) -> Array:
        service_above = np.exp(-service_rates * time)
        wait_above = np.exp(-(service_rates + rate_differences) * time)
        probability_of_both = (
            (service_rates + rate_differences) * service_above - service_rates * wait_above
        ) / rate_differences
        return np.asarray(
            (1 - wait_probabilities) * service_above + wait_probabilities * probability_of_both
        )

    return np.asarray(
        time_beside
        + _root_by_halving(
            probability_above,
            1 - quantile,
            service_demands * 1e3 * (1 + 1 / (servers - offered_loads)),
        )
    )


def _root_by_halving(evaluate: Callable[[Array], Array], target: float, largest: Array) -> Array:
    """Return the arguments between 0 and `largest` at which a decreasing function reaches a target,
    by halving the ranges.
    """
    low = np.zeros_like(largest)
    high = largest
    for _ in range(HALVINGS):
        midpoint = (low + high) / 2
        is_above = evaluate(midpoint) > target
        low = np.where(is_above, midpoint, low)
        high = np.where(is_above, high, midpoint)
    return np.asarray((low + high) / 2)


def _predicted_response(
    load_fit: LoadFit, load: float, has_given_servers: bool
) -> PredictedResponse:
    """Predict the response time at a load, with an interval that contains the intervals of all
    likely stations; without a value if the interval is too wide.
    """
    if load_fit.misfit:
        return PredictedResponse(load, reason=f"no station describes the rows: {load_fit.misfit}")
    if load_fit.best_station.fitted_formula.degrees_of_freedom <= 0:
        reason = "the rows determine the station without one left over; measure at one more load"
        return PredictedResponse(load, reason=reason)
    predicted_times = list[float]()
    low_ends = list[float]()
    high_ends = list[float]()
    for station in load_fit.likely_stations:
        predicted_time = float(load_fit.response(station, [load])[0])
        interval = profile(station.fitted_formula).interval_of_positive(
            _response_function_with_saturation(station, load), CONFIDENCE_LEVEL
        )
        error_factor_beyond = (
            np.exp(station.form_error) if load > load_of(load_fit.rows[-1]) else 1.0
        )
        predicted_times.append(predicted_time)
        low_ends.append(interval.low / error_factor_beyond)
        high_ends.append(interval.high * error_factor_beyond)
    low = min(low_ends)
    high = max(high_ends)
    if max(predicted_times[0], high) >= SATURATED_RESPONSE_TIME:
        least_saturation_rate = min(
            likely_station.saturation_rate for likely_station in load_fit.likely_stations
        )
        reason = f"the station saturates at {least_saturation_rate:.4g} /s or so"
        return PredictedResponse(load, reason=reason)
    if high > WIDEST_PREDICTION_RATIO * low:
        reason = (
            f"it lies between {low:.3g} and {high:.3g} s, too wide to be of use; measure at a"
            " larger"
            f" load{'' if has_given_servers else ', or say how many servers there are (--servers)'}"
        )
        return PredictedResponse(load, reason=reason)
    return PredictedResponse(load, predicted_times[0], low, high)


def _response_function_with_saturation(station: StationFit, load: float) -> ParameterFunction:
    """Return a function from rows of parameters to the response times at a load [s], which are
    beyond `SATURATED_RESPONSE_TIME` where the station saturates.
    """
    compute_times = station.fitted_formula.time_function_at(load)

    def times_or_saturated(thetas: Array) -> Array:
        times = compute_times(thetas)
        return np.asarray(np.where(times > 0, times, SATURATED_RESPONSE_TIME**2))

    return times_or_saturated
