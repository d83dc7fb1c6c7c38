"""Load tests for the terminal: throughput and response times by load, demands of tiers, think
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from slipstick.late import Array, np
from slipstick.report.formatting import (
    NOTHING,
    ascii_only,
    join_phrases,
    percent,
    plain_decimal,
    plain_table,
    quantity,
    wrapped,
)
from slipstick_measure.loads import (
    Demand,
    LoadTest,
    demands,
    response_time_beside_tiers,
    think_time,
)
from slipstick_measure.results import LoadedStation, LoadFitting, PredictedResponse
from slipstick_pictures.look import (
    STROKES,
    axis_title,
    make_logarithmic,
    new_figure,
    with_title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def load_text(load_test: LoadTest) -> str:
    """Return a load test, and the demands that operational laws derive from it, as text.

    Parameters
    ----------
    load_test : the load test
    """
    tier_demands = demands(load_test)
    blocks = [_table_text(load_test)]
    if tier_demands:
        blocks += [
            "demands by the utilization law, D = U c / X",
            _demands_table(load_test, tier_demands),
        ]
    blocks += [wrapped(sentence) for sentence in load_sentences(load_test, tier_demands)]
    return ascii_only("\n\n".join(blocks) + "\n")


def _table_text(load_test: LoadTest) -> str:
    """Return the rows of a load test as a table, without columns that have no values."""
    headings = ["work"] if len(load_test.workloads) > 1 else []
    headings += [
        "users" if load_test.rows[0].users is not None else "rate",
        "throughput",
        "mean response",
    ]
    headings += [f"{100 * quantile:g} %" for quantile in load_test.quantiles]
    headings += [f"{tier} busy" for tier in load_test.tiers]
    has_think_times = any(row.think_time is not None for row in load_test.rows)
    headings += ["think time"] if has_think_times else []
    rows = []
    for row in load_test.rows:
        load_cell = f"{row.users:g}" if row.users is not None else quantity(row.rate, "1/s")
        cells = [row.workload] if len(load_test.workloads) > 1 else []
        cells += [load_cell, quantity(row.throughput, "1/s"), quantity(row.response, "s")]
        cells += [quantity(row.quantiles.get(quantile), "s") for quantile in load_test.quantiles]
        cells += [percent(row.utilization.get(tier)) for tier in load_test.tiers]
        cells += [quantity(row.think_time, "s")] if has_think_times else []
        rows.append(cells)
    used_column_indices = [
        column_index
        for column_index in range(len(headings))
        if any(row[column_index] != NOTHING for row in rows)
    ]
    return plain_table(
        [headings[column_index] for column_index in used_column_indices],
        [[row[column_index] for column_index in used_column_indices] for row in rows],
        range(len(used_column_indices)),
    )


def _demands_table(load_test: LoadTest, tier_demands: Sequence[Demand]) -> str:
    """Return a table with the demand of each tier, its largest residual, and the throughput at
    which it saturates.
    """
    headings = ["tier", "servers", "demand", "largest residual", "saturates at"]
    rows = [
        [
            demand.tier,
            str(demand.servers),
            quantity(demand.value, "s"),
            percent(demand.largest_residual, 2),
            quantity(demand.saturation_rate, "1/s"),
        ]
        for demand in tier_demands
    ]
    return plain_table(headings, rows, range(1, len(headings)))


def load_sentences(load_test: LoadTest, tier_demands: Sequence[Demand]) -> list[str]:
    """Return sentences on what limits the throughput, on the think time, and on unexplained
    response time.
    """
    sentences = []
    if tier_demands:
        first_saturated_demand = min(tier_demands, key=lambda demand: demand.saturation_rate)
        sentences.append(
            f"{first_saturated_demand.tier} saturates first, at"
            f" {quantity(first_saturated_demand.saturation_rate, '1/s')},"
            " if its"
            " demand stays the same."
        )
    mean_think_time = think_time(load_test)
    if mean_think_time is not None and len(load_test.workloads) == 1:
        sentences.append(_think_sentence(load_test, mean_think_time))
    reasons = dict.fromkeys(row.unsteady for row in load_test.rows if row.unsteady)
    sentences += [f"There is no think time by Little's law where {reason}." for reason in reasons]
    time_beside = response_time_beside_tiers(load_test, tier_demands)
    tiers_of_one_server = [
        demand.tier for demand in tier_demands if demand.tier not in load_test.servers
    ]
    if tier_demands and time_beside:
        assumption = (
            f", if {join_phrases(tiers_of_one_server)}"
            f" {'has one server' if len(tiers_of_one_server) == 1 else 'have one server each'}"
            if tiers_of_one_server
            else ""
        )
        sentences.append(
            f"At the lowest load, {quantity(time_beside, 's')} of the response time are outside the"
            f" measured tiers{assumption}."
        )
    if tiers_of_one_server:
        sentences.append(
            f"Each of these tiers counts as one server: {', '.join(tiers_of_one_server)}. If"
            f" {tiers_of_one_server[0]} has four, write --servers {tiers_of_one_server[0]}=4."
        )
    if tier_demands:
        sentences.append(f"slipstick import {load_test.file} -o model.yaml makes a network of it.")
    return sentences


_NEGLIGIBLE_THINK_SHARE = 0.05
"""Part of a response time below which a think time is as good as none."""


def _think_sentence(load_test: LoadTest, mean_think_time: float) -> str:
    """Return a sentence on the think time; a think time near zero or below it is explained."""
    response_times = [
        row.response for row in load_test.rows if row.think_time is not None and row.response
    ]
    shortest_time = min(response_times, default=0.0)
    if mean_think_time < -_NEGLIGIBLE_THINK_SHARE * shortest_time:
        return (
            "Users / throughput is below the mean response time, so one of the three was not"
            " measured over the same time as the others (Little's law)."
        )
    if mean_think_time < _NEGLIGIBLE_THINK_SHARE * shortest_time:
        return "Users do not think between requests, by Little's law."
    return f"Users think {quantity(mean_think_time, 's')} on average, by Little's law."


def load_test_as_data(load_test: LoadTest) -> dict[str, Any]:
    """Return a load test as plain data, with its demands."""
    return {
        "file": load_test.file,
        "rows": [
            {
                "users": row.users,
                "rate": row.rate,
                "throughput": row.throughput,
                "response_time": row.response,
                "quantiles": {f"{quantile:g}": time for quantile, time in row.quantiles.items()},
                "utilization": dict(row.utilization),
                "think_time": row.think_time,
                "workload": row.workload,
            }
            for row in load_test.rows
        ],
        "demands": {
            demand.tier: {
                "servers": demand.servers,
                "value": demand.value,
                "each": list(demand.demand_by_row),
                "saturates": demand.saturation_rate,
            }
            for demand in demands(load_test)
        },
        "think_time": think_time(load_test),
    }


def load_fit_text(load_fitting: LoadFitting) -> str:
    """Return the station that explains the response times of a load test, and the predictions, as
    text.
    """
    blocks = [wrapped(sentence) for sentence in load_fit_sentences(load_fitting)]
    blocks += [_fitted_rows_table(load_fitting), _stations_table(load_fitting)]
    return ascii_only("\n\n".join(blocks) + "\n")


def load_fit_sentences(load_fitting: LoadFitting) -> list[str]:
    """Return sentences on the fit to a load test: the measured times, the station, its saturation,
    the predictions, and what was left out.
    """
    best_station, *rivals = load_fitting.stations
    first_point = load_fitting.points[0]
    last_point = load_fitting.points[-1]
    sentences = [
        (
            f"Measured: the {_statistic_text(load_fitting)} response time goes from"
            f" {quantity(first_point.measured, 's')} at"
            f" {_load_text(load_fitting, first_point.load)} to"
            f" {quantity(last_point.measured, 's')} at {_load_text(load_fitting, last_point.load)}."
        )
    ]
    if load_fitting.misfit:
        return [
            *sentences,
            f"No station describes these rows: {load_fitting.misfit}.",
            *_overload_sentences(load_fitting),
        ]
    service_text = f"{quantity(best_station.service, 's')}{_interval_text(load_fitting, 'service')}"
    time_beside_text = (
        f"{quantity(best_station.time_elsewhere, 's')}{_interval_text(load_fitting, 'beside')}"
    )
    sentences.append(
        f"Fitted by a station of {best_station.words}: a request needs {service_text} there and"
        f" {time_beside_text} elsewhere; the station saturates at"
        f" {quantity(best_station.saturates, '1/s')}."
    )
    if load_fitting.think is not None:
        sentences.append(f"Users think {quantity(load_fitting.think, 's')}, by Little's law.")
        sentences += _busy_users_sentences(load_fitting.think, best_station, load_fitting.quantile)
    sentences += [
        _prediction_text(load_fitting, prediction) for prediction in load_fitting.predictions
    ]
    if rivals:
        saturation_rates = sorted(station.saturates for station in load_fitting.stations)
        sentences.append(
            f"The rows cannot distinguish it from: {'; '.join(rival.words for rival in rivals)}."
            f" They saturate between {quantity(saturation_rates[0], '1/s')} and"
            f" {quantity(saturation_rates[-1], '1/s')}."
        )
    return [*sentences, *_overload_sentences(load_fitting)]


def _busy_users_sentences(
    mean_think_time: float, station: LoadedStation, quantile: float | None
) -> list[str]:
    """Return a sentence on the number of users that keep the station busy if none waits: where the
    asymptotic bounds of the throughput, N / (Z + R) and the saturation rate, meet. Return nothing
    if means are unknown.
    """
    saturation_rate = station.saturates
    user_count = (max(mean_think_time, 0.0) + station.least_response) * saturation_rate
    if quantile is not None or not isfinite(user_count):
        return []
    sentence = (
        f"More than about {plain_decimal(max(user_count, 1.0), 2)} users bring little throughput:"
        " so"
        " many keep the station busy if none of them waits."
    )
    return [sentence]


def _statistic_text(load_fitting: LoadFitting) -> str:
    """Return the fitted statistic of response times in words: the mean, or a percentile."""
    return "mean" if load_fitting.quantile is None else f"{100 * load_fitting.quantile:g} %"


def _overload_sentences(load_fitting: LoadFitting) -> list[str]:
    """Return a sentence on the rows left out because fewer requests were completed than offered;
    nothing if there are none.
    """
    if not load_fitting.overloaded:
        return []
    rates = ", ".join(quantity(rate, "1/s") for rate in load_fitting.overloaded)
    reason = "where less was completed; a mean then depends on the length of the test"
    return [f"Left out: {rates} offered, {reason}."]


def _load_text(load_fitting: LoadFitting, load: float) -> str:
    """Return a load as text: a number of users, or a rate."""
    if load_fitting.think is None:
        return quantity(load, "1/s")
    return f"{load:g} {'user' if load == 1 else 'users'}"


def _interval_text(load_fitting: LoadFitting, parameter_name: str) -> str:
    """Return the interval of a fitted time in brackets; empty if it has none."""
    ends = load_fitting.between.get(parameter_name)
    return f" ({quantity(ends[0], 's')} to {quantity(ends[1], 's')})" if ends else ""


def _prediction_text(load_fitting: LoadFitting, prediction: PredictedResponse) -> str:
    """Return a sentence on a predicted response time with its interval, or on why there is none."""
    load_text = _load_text(load_fitting, prediction.load)
    if prediction.value is None:
        return f"At {load_text} there is no prediction: {prediction.reason}."
    beyond_text = ", beyond the rows" if prediction.load > load_fitting.points[-1].load else ""
    return (
        f"At {load_text}{beyond_text}: {quantity(prediction.value, 's')}, between"
        f" {quantity(prediction.low, 's')} and {quantity(prediction.high, 's')}."
    )


def _fitted_rows_table(load_fitting: LoadFitting) -> str:
    """Return a table of the measured times and percentiles beside the times of the best station."""
    shown_quantiles = list(load_fitting.points[0].percentiles)
    load_heading = "users" if load_fitting.think is not None else "rate"
    headings = [load_heading, f"measured {_statistic_text(load_fitting)}", "station", "error"]
    for quantile in shown_quantiles:
        headings += [f"measured {100 * quantile:g} %", "station"]
    rows = []
    for point in load_fitting.points:
        cells = [
            _load_text(load_fitting, point.load).removesuffix(" users"),
            quantity(point.measured, "s"),
        ]
        cells.append(quantity(point.fitted, "s"))
        cells.append(f"{100 * (point.fitted / point.measured - 1):+.1f} %")
        cells += [
            quantity(time, "s")
            for shown_quantile in shown_quantiles
            for time in point.percentiles[shown_quantile]
        ]
        rows.append(cells)
    return plain_table(headings, rows, range(len(headings)))


def _stations_table(load_fitting: LoadFitting) -> str:
    """Return a table of the stations that the rows cannot distinguish, with their errors."""
    headings = [
        "station",
        "scatter",
        "error at the largest load",
        "service",
        "beside",
        "saturates at",
    ]
    rows = [
        [
            station.words,
            percent(station.scatter, 2),
            "-" if station.missed is None else f"{100 * station.missed:+.1f} %",
            quantity(station.service, "s"),
            quantity(station.time_elsewhere, "s"),
            quantity(station.saturates, "1/s"),
        ]
        for station in load_fitting.stations
    ]
    return plain_table(headings, rows, range(1, len(headings)))


LARGEST_DRAWN_RATIO = 10.0
"""Response time over the largest that is measured, or predicted, above which a curve is cut: the
station saturates there."""


def draw_load_fit(
    load_fitting: LoadFitting, curves: Mapping[str, tuple[Array, Array]], title: str
) -> Figure:
    """Draw measured response times by load, the fitted stations, and predictions with intervals.
    The background is grey outside of the measured loads.

    Parameters
    ----------
    load_fitting : what was found
    curves : loads and response times of each station by its words [s]
    title : heading
    """
    plotted_predictions = [
        prediction for prediction in load_fitting.predictions if prediction.value is not None
    ]
    loads = [point.load for point in load_fitting.points]
    largest_load = max([*loads, *(prediction.load for prediction in load_fitting.predictions)])
    shown_times = [point.measured for point in load_fitting.points] + [
        prediction.high or 0.0 for prediction in plotted_predictions
    ]
    figure = new_figure(7.5, 4.4)
    axes = figure.subplots()
    positive_times = [time for time in shown_times if time > 0]
    for (curve_title, (curve_loads, curve_times)), (colour, _, dashes) in zip(
        curves.items(), STROKES[1:], strict=False
    ):
        times = np.where(curve_times <= LARGEST_DRAWN_RATIO * max(shown_times), curve_times, np.nan)
        positive_times += [float(time) for time in times if time > 0]
        axes.plot(curve_loads, times, color=colour, linestyle=dashes, label=curve_title)
    axes.plot(
        loads,
        [point.measured for point in load_fitting.points],
        linestyle="",
        marker="o",
        color=STROKES[0][0],
        markersize=4,
        label="measured",
        zorder=5,
    )
    if plotted_predictions:
        predicted_times = np.array([prediction.value for prediction in plotted_predictions])
        interval_ends = np.array(
            [[prediction.low, prediction.high] for prediction in plotted_predictions]
        ).T
        axes.errorbar(
            [prediction.load for prediction in plotted_predictions],
            predicted_times,
            yerr=np.abs(interval_ends - predicted_times),
            fmt="s",
            color=STROKES[1][0],
            markersize=4,
            capsize=3,
            label="predicted",
        )
    if largest_load > max(loads):
        axes.axvspan(
            max(loads),
            largest_load,
            color="#000000",
            alpha=0.07,
            linewidth=0,
            label="beyond the rows",
        )
    make_logarithmic(axes.yaxis, np.array(positive_times))
    axes.set_xlim(0, largest_load * 1.03)
    axes.set_xlabel(axis_title("load", "1/s") if load_fitting.think is None else "users")
    axes.set_ylabel(axis_title(f"{_statistic_text(load_fitting)} response time", "s"))
    figure.legend(loc="outside right upper", alignment="left")
    return with_title_and_legend(figure, title)
