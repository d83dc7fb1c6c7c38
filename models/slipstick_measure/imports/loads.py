"""A queueing network from a load test: a station for each tier, with its demand by the utilization
law, and users who think or requests that arrive.

If no utilization was measured, there is one station, fitted to the response times. The part of the
response time at the least load that no tier explains becomes a station without a queue. Tiers are
taken as processor sharing with exponential demands, which is a convention; the table holds the
network's own response times and percentiles against the measured ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from slipstick.errors import Problem, SlipstickError, SpecError
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.imports.percentiles import (
    Customers,
    Tier,
    percentile_in_order,
    response_percentile,
)
from slipstick_measure.loads import (
    Demand,
    LoadRow,
    LoadTest,
    demands,
    response_time_beside_tiers,
    think_time,
)

if TYPE_CHECKING:
    from slipstick_measure.fit.loads import StationFit

CLASS_NAME = "requests"
DELAY_NAME = "rest"
STATION_NAME = "server"
_MOST_ROWS = 40


def load_spec(test: LoadTest) -> ImportedSpec:
    """Build the spec of a network from a load test.

    Parameters
    ----------
    test : with the utilization of its tiers

    Raises
    ------
    SpecError : no tier has a utilization, so there is no demand
    """
    test.check_workload()
    if unsteady_row := next((row for row in test.rows if row.unsteady), None):
        message = (
            f"{unsteady_row.unsteady}, so users and throughput do not belong together; measure"
            " again with constant users"
        )
        raise SpecError([Problem(test.file, unsteady_row.line, 1, "", message)])
    tier_demands = demands(test)
    fitted_station = None if tier_demands else _fitted_station(test)
    time_beside = (
        response_time_beside_tiers(test, tier_demands)
        if fitted_station is None
        else fitted_station.time_elsewhere
    )
    spec = ImportedSpec("queueing-network", f"Load test {test.file}", test.file)
    customers = _customers(spec, test)
    stations = (
        _stations_of_tiers(tier_demands)
        if fitted_station is None
        else _station_from_fit(spec, fitted_station)
    )
    if time_beside:
        source = "light" if fitted_station is None else "fitted"
        stations[DELAY_NAME] = {
            "discipline": "is",
            "demand": {CLASS_NAME: quantity(time_beside * 1e3, "ms", source)},
        }
    used_source_names = {"measured", *(["fitted"] if fitted_station else ["utilization"])}
    used_source_names |= {"little"} if "think_time" in customers else set()
    used_source_names |= {"light"} if time_beside and fitted_station is None else set()
    sources = {"measured": f"the load test {test.file}", **_SOURCES}
    spec.document |= {
        "sources": {name: source for name, source in sources.items() if name in used_source_names},
        "classes": {CLASS_NAME: customers},
        "stations": stations,
    }
    percentile_tiers = [Tier(demand.value, demand.servers) for demand in tier_demands]
    think_seconds = 0.0 if test.rows[-1].users is None else max(0.0, think_time(test) or 0.0)
    _compare_with_load_test(
        spec,
        test,
        _PercentileModel(percentile_tiers, time_beside or 0.0, think_seconds, fitted_station),
    )
    for demand in tier_demands:
        spec.add_note(_residual_sentence(demand, test))
    return spec


_SOURCES = {
    "utilization": "utilization x servers / throughput, by least squares over all loads",
    "fitted": "least squares of the response times at all loads",
    "little": "users / throughput - response time, mean of all loads",
    "light": "what no tier, with the servers here, takes of the response time at the least load",
}


def _customers(spec: ImportedSpec, test: LoadTest) -> dict[str, Any]:
    """Return the plain data of the customers at the last load: users who think, or arrivals."""
    last_row = test.rows[-1]
    if last_row.users is None:
        return {
            "arrivals": quantity(last_row.rate or last_row.completed_rate or 0.0, "/s", "measured")
        }
    think_seconds = think_time(test)
    _note_think_time(spec, test, think_seconds)
    return {
        "population": round(last_row.users),
        "think_time": quantity(max(0.0, think_seconds or 0.0) * 1e3, "ms", "little"),
    }


def _stations_of_tiers(tier_demands: list[Demand]) -> dict[str, Any]:
    """Return the plain data of a station for each tier, by name."""
    station_name_by_tier = _station_name_by_tier(tier_demands)
    return {
        station_name_by_tier[demand.tier]: {
            "servers": demand.servers,
            "discipline": "ps",
            "demand": {CLASS_NAME: quantity(demand.value * 1e3, "ms", "utilization")},
        }
        for demand in tier_demands
    }


def _station_from_fit(spec: ImportedSpec, station: StationFit) -> dict[str, Any]:
    """Return the plain data of the station that was fitted to the response times, after adding a
    note on it to the spec.
    """
    spec.add_note(
        f"{STATION_NAME}: {station.service_demand * 1e3:.4g} ms a request and"
        f" {station.time_elsewhere * 1e3:.4g}"
        f" ms beside it, of {station.station_model.description}, as slipstick fit finds them from"
        " the"
        " response times, because no utilization was measured"
    )
    return {
        STATION_NAME: {
            "servers": station.station_model.servers,
            "discipline": "fcfs",
            "demand": {CLASS_NAME: quantity(station.service_demand * 1e3, "ms", "fitted")},
            **(
                {"scv": {CLASS_NAME: station.station_model.scv}}
                if station.station_model.scv != 1
                else {}
            ),
        }
    }


def _fitted_station(test: LoadTest) -> StationFit:
    """Return the station, with one or several servers, that explains the response times of a load
    test best.
    """
    from slipstick_measure.fit.loads import fit_loads

    load_fit = fit_loads(test) if len(test.rows) > 1 else None
    single_stations = (
        []
        if load_fit is None
        else [
            station
            for station in load_fit.stations
            if not station.station_model.second_demand_ratio
        ]
    )
    if load_fit is None or load_fit.misfit or load_fit.quantile is not None or not single_stations:
        message = (
            "there is no utilization of a tier, so demands are not known (D = U c / X), nor mean"
            " response times at several loads that a station explains; add a column such as 'db CPU"
            " %', and --servers db=4 where a tier has several"
        )
        raise SpecError([Problem(test.file, test.rows[0].line, 1, "", message)])
    return single_stations[0]


def _station_name_by_tier(tier_demands: list[Demand]) -> dict[str, str]:
    """Return the name of the station of each tier."""
    return {
        demand.tier: re.sub(r"[^A-Za-z0-9]+", "-", demand.tier).strip("-").lower()
        or f"tier-{tier_number}"
        for tier_number, demand in enumerate(tier_demands, 1)
    }


def _residual_sentence(demand: Demand, test: LoadTest) -> str:
    """Return a sentence on how the demand of a tier was computed and the largest error of a row."""
    estimate_count = sum(estimate is not None for estimate in demand.demand_by_row)
    sentence = f"{demand.tier}: {demand.value * 1e3:.4g} ms a request"
    if demand.tier not in test.servers:
        sentence += ", if it has one server (else give --servers)"
    if estimate_count > 1:
        sentence += f"; the largest residual is {100 * demand.largest_residual:.2g} %"
    return sentence


def _note_think_time(spec: ImportedSpec, test: LoadTest, think_seconds: float | None) -> None:
    """Add a note to the spec if the think time is unknown or negative."""
    if think_seconds is None:
        spec.add_note(
            "the think time is not known, because there is no response time; it is assumed to be 0"
        )
    elif think_seconds < 0:
        spec.add_note(
            f"users / throughput is {-think_seconds * 1e3:.3g} ms less than the response"
            " time; the think"
            " time is taken as 0, and one of the three was measured elsewhere than the others"
        )


class _PercentileModel(NamedTuple):
    """The stations of the network, for its percentiles.

    Parameters
    ----------
    tiers : tiers whose servers are shared, in the order in which a request visits them
    time_beside : mean time at a delay that stands for the rest of a request; 0 if there is none [s]
    think_time : think time of users [s]
    fitted_station : the first-come first-served station that stands for the whole service; None
        if tiers are known
    """

    tiers: Sequence[Tier]
    time_beside: float
    think_time: float
    fitted_station: StationFit | None

    def percentile(self, row: LoadRow, share: float) -> float | None:
        """Return a percentile of the response time at the load of a row [s]; None if its
        distribution is not known.
        """
        customers = Customers(arrival_rate=row.completed_rate or 0.0)
        if row.users is not None:
            customers = Customers(round(row.users), time_outside=self.think_time + self.time_beside)
        if self.fitted_station is None:
            return response_percentile(self.tiers, self.time_beside, customers, share)
        station = Tier(
            self.fitted_station.service_demand, self.fitted_station.station_model.servers
        )
        return percentile_in_order(
            station, self.fitted_station.station_model.scv, self.time_beside, customers, share
        )


def _compare_with_load_test(
    spec: ImportedSpec, test: LoadTest, percentile_model: _PercentileModel
) -> None:
    """Solve the network at each load, and write its response times and percentiles with the
    measured ones; a percentile whose distribution is not known is simulated at the last load.
    """
    from slipstick.api import solve

    rows = [row for row in test.rows if row.completed_rate and (row.response or row.quantiles)]
    rows = rows[:_MOST_ROWS]
    quantile = next(
        (
            quantile
            for quantile in _COMPARED_QUANTILES
            if any(quantile in row.quantiles for row in rows)
        ),
        None,
    )
    percent_text = f"{100 * (quantile or 0):g} %"
    spec.table_heading = ["load", "measured", "network", "error"]
    if quantile is not None:
        spec.table_heading += [percent_text, f"network {percent_text}", f"error {percent_text}"]
    largest_error = 0.0
    for row in rows:
        cells = [_load_text(row)]
        network_document = _network_at_load(spec.document, row)
        try:
            answer = solve(network_document)
        except SlipstickError as error:
            spec.table_rows.append([*cells, _time_text(row.response), "no answer", str(error)[:60]])
            continue
        cells += _comparison_cells(row.response, answer[f"response_time[{CLASS_NAME}]"])
        if quantile is not None:
            computed_time = _ComputedTime(percentile_model.percentile(row, quantile))
            if computed_time.value is None and row is rows[-1]:
                computed_time = _simulated_percentile(network_document, quantile)
            measured_time = row.quantiles.get(quantile)
            cells += _comparison_cells(measured_time, computed_time.value)
            if computed_time.low is not None and computed_time.high is not None:
                cells[-2] = computed_time.text
            largest_error = max(largest_error, computed_time.error(measured_time))
        spec.table_rows.append(cells)
    if largest_error > _LARGE_ERROR:
        spec.add_note(
            f"the {percent_text} quantile of the network is up to {100 * largest_error:.2g} % off"
            " at the measured loads, and may be further off at others, above all at higher ones: it"
            " depends on the discipline and on the variation of service times, which a load"
            " test does not show; try another discipline or scv at a station"
        )


_COMPARED_QUANTILES = (0.95, 0.99, 0.9, 0.5)
"""Percentiles that answers have by themselves; the first that was measured is compared."""

_EVENTS = 300_000
"""Events of a simulation, which take about 0.6 s; fewer give no interval at a high load."""

_LARGE_ERROR = 0.1


class _ComputedTime(NamedTuple):
    """A computed time and its interval [s]; None where it was not computed."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """The time with its interval."""
        low, value, high = (
            f"{(time_or_end or 0) * 1e3:.3g}" for time_or_end in (self.low, self.value, self.high)
        )
        return f"{value} ({low} to {high}) ms"

    def error(self, measured_time: float | None) -> float:
        """Return the relative error against a measured time; 0 if that is within the interval."""
        if not measured_time or not self.value:
            return 0.0
        is_within = (self.low or self.value) <= measured_time <= (self.high or self.value)
        return 0.0 if is_within else abs(self.value / measured_time - 1)


def _simulated_percentile(network: Mapping[str, Any], share: float) -> _ComputedTime:
    """Return a percentile of the response time of a network by a short simulation."""
    from slipstick.api import solve
    from slipstick.sim.settings import Simulation

    settings = Simulation(events=_EVENTS, kernel="plain")
    try:
        answer = solve(dict(network), method="simulation", simulation=settings)
    except SlipstickError:
        return _ComputedTime()
    value = answer.values.get(f"response_time_quantile[{CLASS_NAME},{share:g}]")
    return _ComputedTime() if value is None else _ComputedTime(value.value, value.low, value.high)


def _time_text(time: float | None) -> str:
    """Return a time in milliseconds, or a dash."""
    return "-" if time is None else f"{time * 1e3:.4g} ms"


def _comparison_cells(measured_value: float | None, computed_value: float | None) -> list[str]:
    """Return the texts of a measured and a computed time [s], and of the relative error."""
    error = (
        f"{100 * (computed_value / measured_value - 1):+.2g} %"
        if measured_value and computed_value
        else "-"
    )
    return [_time_text(measured_value), _time_text(computed_value), error]


def _load_text(row: LoadRow) -> str:
    """Return the load of a row as text: its users, or its completed rate."""
    if row.users is None:
        return f"{row.completed_rate:.4g} /s"
    return f"{row.users:g} {'user' if row.users == 1 else 'users'}"


def _network_at_load(document: dict[str, Any], row: LoadRow) -> dict[str, Any]:
    """Return the document of a network with its customers replaced by the load of a row."""
    customers = dict(document["classes"][CLASS_NAME])
    if row.users is not None:
        customers["population"] = round(row.users)
    else:
        customers["arrivals"] = f"{row.completed_rate!r} /s"
    return {**document, "classes": {CLASS_NAME: customers}}
