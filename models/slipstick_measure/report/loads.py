"""Load tests for the terminal: throughput and response times by load, demands of tiers, think time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slipstick.report.formatting import NOTHING, ascii_only, percent, plain_table, quantity, wrapped
from slipstick_measure.fit.intervals import Interval
from slipstick_measure.fit.loads import LoadFit, PredictedResponse, load_of
from slipstick_measure.loads import Demand, LoadTest, beside_tiers, demands, think_time


def load_text(test: LoadTest) -> str:
    """Write what a load test says, and the demands that follow from it by operational laws.

    Parameters
    ----------
    test : the load test
    """
    tier_demands = demands(test)
    blocks = [_rows(test)]
    if tier_demands:
        blocks += ["demands by the utilization law, D = U c / X", _demands(test, tier_demands)]
    blocks += [wrapped(sentence) for sentence in sentences(test, tier_demands)]
    return ascii_only("\n\n".join(blocks) + "\n")


def _rows(test: LoadTest) -> str:
    head = ["users" if test.rows[0].users is not None else "rate", "throughput", "mean response"]
    head += [f"{100 * quantile:g} %" for quantile in test.quantiles]
    head += [f"{tier} busy" for tier in test.tiers]
    with_think = any(row.think_time is not None for row in test.rows)
    head += ["think time"] if with_think else []
    rows = []
    for row in test.rows:
        load = f"{row.users:g}" if row.users is not None else quantity(row.rate, "1/s")
        cells = [load, quantity(row.throughput, "1/s"), quantity(row.response, "s")]
        cells += [quantity(row.quantiles.get(quantile), "s") for quantile in test.quantiles]
        cells += [percent(row.utilization.get(tier)) for tier in test.tiers]
        cells += [quantity(row.think_time, "s")] if with_think else []
        rows.append(cells)
    used = [at for at in range(len(head)) if any(row[at] != NOTHING for row in rows)]
    return plain_table(
        [head[at] for at in used], [[row[at] for at in used] for row in rows], range(len(used))
    )


def _demands(test: LoadTest, tier_demands: Sequence[Demand]) -> str:
    head = ["tier", "servers", "demand", "largest residual", "saturates at"]
    rows = [
        [
            demand.tier,
            str(demand.servers),
            quantity(demand.value, "s"),
            percent(demand.largest_residual, 2),
            quantity(demand.most, "1/s"),
        ]
        for demand in tier_demands
    ]
    return plain_table(head, rows, range(1, len(head)))


def sentences(test: LoadTest, tier_demands: Sequence[Demand]) -> list[str]:
    """Word what limits the throughput, the think time, and where the response time is not
    explained.
    """
    words = []
    if tier_demands:
        first = min(tier_demands, key=lambda demand: demand.most)
        words.append(
            f"{first.tier} saturates first, at {quantity(first.most, '1/s')}, if its demand stays."
        )
    thinking = think_time(test)
    if thinking is not None:
        words.append(_think_words(test, thinking))
    rest = beside_tiers(test, tier_demands)
    if tier_demands and rest:
        words.append(
            f"At the least load, no measured tier takes {quantity(rest, 's')} of the response time."
        )
    alone = [demand.tier for demand in tier_demands if demand.tier not in test.servers]
    if alone:
        words.append(
            f"Taken as one server: {', '.join(alone)}; say --servers {alone[0]}=4 where it has four."
        )
    if tier_demands:
        words.append(f"slipstick import {test.file} -o model.yaml makes a network of it.")
    return words


_NO_THINKING = 0.05
"""Part of a response time below which a think time is as good as none."""


def _think_words(test: LoadTest, thinking: float) -> str:
    """Word the think time; that of users who do not think is none."""
    times = [row.response for row in test.rows if row.response]
    if thinking < -_NO_THINKING * min(times):
        return (
            "Users / throughput is below the mean response time, so one of the three was not"
            " measured over the same time as the others (Little's law)."
        )
    if thinking < _NO_THINKING * min(times):
        return "Users do not think between requests, by Little's law."
    return f"Users think {quantity(thinking, 's')} on average, by Little's law."


def load_document(test: LoadTest) -> dict[str, Any]:
    """Return a load test as plain data, with its demands."""
    return {
        "file": test.file,
        "rows": [
            {
                "users": row.users,
                "rate": row.rate,
                "throughput": row.throughput,
                "response_time": row.response,
                "quantiles": {f"{quantile:g}": time for quantile, time in row.quantiles.items()},
                "utilization": dict(row.utilization),
                "think_time": row.think_time,
            }
            for row in test.rows
        ],
        "demands": {
            demand.tier: {
                "servers": demand.servers,
                "value": demand.value,
                "each": list(demand.each),
                "saturates": demand.most,
            }
            for demand in demands(test)
        },
        "think_time": think_time(test),
    }


def load_fit_text(found: LoadFit) -> str:
    """Write what explains the response times of a load test, and predictions."""
    blocks = [wrapped(sentence) for sentence in load_fit_sentences(found)]
    blocks += [_fitted_rows(found), _stations(found)]
    return ascii_only("\n\n".join(blocks) + "\n")


def load_fit_sentences(found: LoadFit) -> list[str]:
    """Word what was found first: the demand, the saturation, the predictions."""
    best = found.best
    what = "mean" if found.quantile is None else f"{100 * found.quantile:g} %"
    words = [
        (
            f"The rows: the {what} response time goes from"
            f" {quantity(_time(found, 0), 's')} at {_load_text(found, 0)} to"
            f" {quantity(_time(found, -1), 's')} at {_load_text(found, -1)}."
        )
    ]
    if found.misfit:
        return [*words, f"No station describes these rows: {found.misfit}.", *_left_out(found)]
    ends = found.intervals(best)
    service, beside = (
        f"{quantity(getattr(best, name), 's')}{_between(ends.get(name))}"
        for name in ("service", "beside")
    )
    words.append(
        f"By a station of {best.kind.words}: a request needs {service} there and {beside} beside it;"
        f" the station saturates at {quantity(best.most, '1/s')}."
    )
    if found.think is not None:
        words.append(f"Users think {quantity(found.think, 's')}, by Little's law.")
    words += [_predicted(found, prediction) for prediction in found.predictions]
    rivals = [station.kind.words for station in found.likely if station is not best]
    if rivals:
        saturation = sorted(station.most for station in found.likely)
        words.append(
            f"The rows cannot distinguish it from: {'; '.join(rivals)}. They saturate between"
            f" {quantity(saturation[0], '1/s')} and {quantity(saturation[-1], '1/s')}."
        )
    return [*words, *_left_out(found)]


def _left_out(found: LoadFit) -> list[str]:
    if not found.overloaded:
        return []
    rates = ", ".join(quantity(row.rate, "1/s") for row in found.overloaded)
    return [
        (
            f"Left out: {rates} offered, where less was completed; a mean then depends on the length of"
            " the test."
        )
    ]


def _time(found: LoadFit, at: int) -> float | None:
    row = found.rows[at]
    return row.response if found.quantile is None else row.quantiles[found.quantile]


def _load_text(found: LoadFit, at: int) -> str:
    return _load_words(found, load_of(found.rows[at]))


def _load_words(found: LoadFit, load: float) -> str:
    return quantity(load, "1/s") if found.think is None else f"{load:g} users"


def _between(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f" ({quantity(interval.low, 's')} to {quantity(interval.high, 's')})"


def _predicted(found: LoadFit, prediction: PredictedResponse) -> str:
    load = _load_words(found, prediction.load)
    if prediction.value is None:
        return f"At {load} there is no prediction: {prediction.reason}."
    beyond = ", beyond the rows" if prediction.load > load_of(found.rows[-1]) else ""
    return (
        f"At {load}{beyond}: {quantity(prediction.value, 's')}, between"
        f" {quantity(prediction.low, 's')} and {quantity(prediction.high, 's')}."
    )


def _fitted_rows(found: LoadFit) -> str:
    """Write measured times beside those of the best station, percentiles included."""
    loads = [load_of(row) for row in found.rows]
    fitted = found.response(found.best, loads)
    formula = found.think is None and found.best.kind.scv == 1
    shown = found.test.quantiles if formula else []
    name = "mean" if found.quantile is None else f"{100 * found.quantile:g} %"
    shown = [quantile for quantile in shown if quantile != found.quantile]
    head = ["users" if found.think is not None else "rate", f"measured {name}", "station", "error"]
    for quantile in shown:
        head += [f"measured {100 * quantile:g} %", "station"]
    rows = []
    for at, (row, load, time) in enumerate(zip(found.rows, loads, fitted.tolist(), strict=True)):
        measured = _time(found, at)
        assert measured is not None
        cells = [_load_words(found, load).removesuffix(" users"), quantity(measured, "s")]
        cells += [quantity(time, "s"), f"{100 * (time / measured - 1):+.1f} %"]
        for quantile in shown:
            cells.append(quantity(row.quantiles.get(quantile), "s"))
            cells.append(quantity(found.percentile(found.best, load, quantile), "s"))
        rows.append(cells)
    return plain_table(head, rows, range(len(head)))


def _stations(found: LoadFit) -> str:
    head = ["station", "scatter", "misses the largest load", "service", "beside", "saturates at"]
    rows = [
        [
            station.kind.words,
            percent(station.fitted.scatter if station.fitted.freedom > 0 else None, 2),
            "-" if station.missed is None else f"{100 * station.missed:+.1f} %",
            quantity(station.service, "s"),
            quantity(station.beside, "s"),
            quantity(station.most, "1/s"),
        ]
        for station in found.likely
    ]
    return plain_table(head, rows, range(1, len(head)))


def load_fit_document(found: LoadFit) -> dict[str, Any]:
    """Return a fit to a load test as plain data."""
    return {
        "file": found.test.file,
        "fitted": "mean" if found.quantile is None else found.quantile,
        "think_time": found.think,
        "misfit": found.misfit,
        "stations": [
            {
                "servers": station.kind.servers,
                "scv": station.kind.scv,
                "second_station": station.kind.second,
                "service": station.service,
                "beside": station.beside,
                "saturates": station.most,
                "scatter": station.fitted.scatter if station.fitted.freedom > 0 else None,
                "misses_the_largest": station.missed,
            }
            for station in found.likely
        ],
        "predictions": [
            {
                "load": prediction.load,
                "response_time": prediction.value,
                "low": prediction.low,
                "high": prediction.high,
                "reason": prediction.reason,
            }
            for prediction in found.predictions
        ],
        "sentences": load_fit_sentences(found),
    }
