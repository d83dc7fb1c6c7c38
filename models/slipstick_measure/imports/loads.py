"""A queueing network from a load test: a station for each tier with its demand by the utilization
law, users who think or requests that arrive.

What of the response time at the least load no tier takes is a station without a queue. Tiers are
taken as processor sharing with exponential demands, which is a convention; the table holds the
network's own response times against the measured ones.
"""

from __future__ import annotations

import re
from typing import Any

from slipstick.errors import Problem, SlipstickError, SpecError
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.loads import Demand, LoadRow, LoadTest, beside_tiers, demands, think_time

CLASS, REST = "requests", "rest"
_MOST_ROWS = 40


def load_spec(test: LoadTest) -> ImportedSpec:
    """Make a network of a load test.

    Parameters
    ----------
    test : with the utilization of its tiers

    Raises
    ------
    SpecError : no tier has a utilization, so there is no demand
    """
    tier_demands = demands(test)
    if not tier_demands:
        why = (
            "there is no utilization of a tier, so demands are not known (D = U c / X); add a column"
            " such as 'db CPU %', and --servers db=4 where a tier has several"
        )
        raise SpecError([Problem(test.file, test.rows[0].line, 1, "", why)])
    spec = ImportedSpec("queueing-network", f"Load test {test.file}", test.file)
    thinking, rest = think_time(test), beside_tiers(test, tier_demands)
    last = test.rows[-1]
    if last.users is not None:
        think = max(0.0, thinking or 0.0)
        load: dict[str, Any] = {
            "population": round(last.users),
            "think_time": quantity(think * 1e3, "ms", "little"),
        }
        _say_think(spec, test, thinking)
    else:
        load = {"arrivals": quantity(last.rate or last.completed or 0.0, "/s", "measured")}
    names = _names(tier_demands)
    stations: dict[str, Any] = {
        names[demand.tier]: {
            "servers": demand.servers,
            "discipline": "ps",
            "demand": {CLASS: quantity(demand.value * 1e3, "ms", "utilization")},
        }
        for demand in tier_demands
    }
    if rest:
        stations[REST] = {
            "discipline": "is",
            "demand": {CLASS: quantity(rest * 1e3, "ms", "light")},
        }
    spec.document |= {
        "sources": {
            "measured": f"the load test {test.file}",
            "utilization": "utilization x servers / throughput, by least squares over all loads",
            **(
                {"little": "users / throughput - response time, mean of all loads"}
                if "think_time" in load
                else {}
            ),
            **(
                {"light": "what no tier takes of the response time at the least load"}
                if rest
                else {}
            ),
        },
        "classes": {CLASS: load},
        "stations": stations,
    }
    _compare(spec, test)
    for demand in tier_demands:
        spec.say(_residual(demand, test))
    return spec


def _names(tier_demands: list[Demand]) -> dict[str, str]:
    return {
        demand.tier: re.sub(r"[^A-Za-z0-9]+", "-", demand.tier).strip("-").lower() or f"tier-{at}"
        for at, demand in enumerate(tier_demands, 1)
    }


def _residual(demand: Demand, test: LoadTest) -> str:
    count = sum(estimate is not None for estimate in demand.each)
    words = f"{demand.tier}: {demand.value * 1e3:.4g} ms a request"
    if demand.tier not in test.servers:
        words += ", as one server (say --servers where it has more)"
    if count > 1:
        words += f"; single loads are up to {100 * demand.largest_residual:.2g} % off"
    return words


def _say_think(spec: ImportedSpec, test: LoadTest, thinking: float | None) -> None:
    if thinking is None:
        spec.say("the think time is not known, for there is no response time; it is taken as 0")
    elif thinking < 0:
        spec.say(
            f"users / throughput is {-thinking * 1e3:.3g} ms less than the response time; the think"
            " time is taken as 0, and one of the three was measured elsewhere than the others"
        )


def _compare(spec: ImportedSpec, test: LoadTest) -> None:
    """Solve the network at each load, and hold its response time and throughput against those
    measured.
    """
    from slipstick.api import solve

    rows = [row for row in test.rows if row.response is not None and row.completed][:_MOST_ROWS]
    spec.head = ["load", "measured", "network", "error"]
    for row in rows:
        assert row.response is not None
        try:
            answer = solve(_at(spec.document, row))
            time = answer[f"response_time[{CLASS}]"]
        except SlipstickError as error:
            spec.rows.append(
                [_load(row), f"{row.response * 1e3:.4g} ms", "no answer", str(error)[:60]]
            )
            continue
        if time is not None:
            error_of = f"{100 * (time / row.response - 1):+.2g} %"
            spec.rows.append(
                [_load(row), f"{row.response * 1e3:.4g} ms", f"{time * 1e3:.4g} ms", error_of]
            )


def _load(row: LoadRow) -> str:
    return f"{row.users:g} users" if row.users is not None else f"{row.completed:.4g} /s"


def _at(document: dict[str, Any], row: LoadRow) -> dict[str, Any]:
    """Return the network at the load of a row."""
    load = dict(document["classes"][CLASS])
    if row.users is not None:
        load["population"] = round(row.users)
    else:
        load["arrivals"] = f"{row.completed!r} /s"
    return {**document, "classes": {CLASS: load}}
