"""Bounds of queueing networks: one answer for each kind of bound that applies."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.errors import ModelError, NoAnswerError
from slipstick.method.networks.arrays import Arrays, Compiled
from slipstick.method.networks.solvers import outside
from slipstick.model.network import QueueingNetwork
from slipstick.queueing.bounds import Bounds, asymptotic, balanced_job, geometric, proportional, saturation_population
from slipstick.queueing.groups import check_some_time
from slipstick.queueing.network import Network

__all__ = ["METHOD", "network_bounds"]

METHOD = "bounds"

KINDS: dict[str, tuple[Callable[[Network], Bounds], str]] = {
    "asymptotic": (
        asymptotic,
        "at best one customer alone, or the slowest station always busy; at worst everybody waits for all others",
    ),
    "balanced-job": (balanced_job, "networks whose stations are all alike, slower and faster; holds in product form"),
    "proportional": (proportional, "queues in proportion to the demands, or to their powers; holds in product form"),
    "geometric": (geometric, "queues as geometric series of the demands; holds in product form"),
}
"""Each kind of bound, and what it says."""


def network_bounds(model: QueueingNetwork) -> tuple[Answer, ...]:
    """Enclose throughput and response time of every class, by every kind of bound that applies.

    From bounds of the throughput X of N customers who think for Z follow those of the response time,
    N / X - Z. Of an arriving class the throughput is known, and the response time is at least its demand.

    Parameters
    ----------
    model : the network

    Where a station has a capacity there are none, and the answer says so.

    Source: Lazowska, Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, chapter 5.
    """
    compiled = Compiled(model)
    arrays = compiled.arrays(compiled.columns({}))
    network, wrong = arrays.network, outside(arrays)
    for k in np.flatnonzero(arrays.capacity):
        why = f"{network.stations[k]} has a capacity, and bounds know nobody who is lost or blocked"
        wrong = {0: f"{why}; ask for markov-chain or simulation", **wrong}
    try:
        closed = np.flatnonzero(network.closed)
        check_some_time(network, (network.think + network.demand.sum(axis=2))[:, closed], closed)
    except NoAnswerError as error:
        wrong = {0: str(error), **wrong}
    if wrong:
        return (Answer(model.name, f"{METHOD}/asymptotic", failed=wrong[0]),)
    found, missing = [], []
    for kind, (bounds, _) in KINDS.items():
        try:
            with np.errstate(all="ignore"):
                low, high = bounds(network)
        except (ModelError, NoAnswerError) as error:
            missing.append(f"no {kind} bounds: {error}")
        else:
            found.append((kind, _values(arrays, low[0].real, high[0].real)))
    return tuple(
        Answer(model.name, f"{METHOD}/{kind}", values=values, notes=(KINDS[kind][1], *(missing if not index else ())))
        for index, (kind, values) in enumerate(found)
    )


def _values(arrays: Arrays, low: list[float], high: list[float]) -> dict[str, Value]:
    network = arrays.network
    values = {}
    for c, name in enumerate(network.classes):
        if not network.closed[c]:
            rate, least = float(network.arrivals[0, c].real), float(network.demand[0, c].real.sum())
            values[f"throughput[{name}]"] = Value(None, "1/s", rate, rate)
            values[f"response_time[{name}]"] = Value(None, "s", least)
            continue
        size, think = float(network.population[0, c]), float(network.think[0, c].real)
        slowest, fastest = float(low[c]), float(high[c])
        values[f"throughput[{name}]"] = Value(None, "1/s", slowest, _finite(fastest))
        if size and fastest:
            least = max(0.0, size / fastest - think)
            values[f"response_time[{name}]"] = Value(None, "s", least, size / slowest - think if slowest else None)
        crossing = _finite(float(saturation_population(network)[0, c].real))
        if crossing is not None:
            values[f"saturation_population[{name}]"] = Value(crossing, "1")
    return values


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
