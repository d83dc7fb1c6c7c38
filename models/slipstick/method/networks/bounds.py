"""Bounds of queueing networks: one answer for each kind of bound that applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.columns import Values
from slipstick.late import Array, np
from slipstick.method.answers import Answers, CompiledModel, Remarks, Solution
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.method.networks.solvers import unsolvable
from slipstick.model.network import QueueingNetwork
from slipstick.queueing.bounds import (
    Bounds,
    asymptotic,
    balanced_job,
    full_speed_demands,
    geometric,
    proportional,
    saturation_population,
)
from slipstick.queueing.network import NetworkArrays
from slipstick.vocabulary import BOUNDS, refuse_unknown

KINDS: dict[str, tuple[Callable[[NetworkArrays], Bounds], str]] = {
    "asymptotic": (
        asymptotic,
        (
            "at best one customer alone, or the slowest station always busy; at worst each customer"
            " waits for all others"
        ),
    ),
    "balanced-job": (
        balanced_job,
        "networks whose stations are all alike, slower and faster; holds in product form",
    ),
    "proportional": (
        proportional,
        "queues in proportion to the demands, or to their powers; holds in product form",
    ),
    "geometric": (geometric, "queues as geometric series of the demands; holds in product form"),
}
"""Each kind of bound, and its assumption in words."""


def network_bounds(model: QueueingNetwork) -> tuple[Answer, ...]:
    """Compute bounds on the throughput and the response time of every class, one answer for each
    kind of bound that applies.

    From bounds of the throughput X of N customers with think time Z follow those of the response
    time, N / X - Z. Of an arriving class the throughput is known, and the response time is at least
    its demand at the highest speed.

    Parameters
    ----------
    model : the network

    Where customers are lost or blocked there are none, and the answer says so.

    Source: Lazowska, Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, chapter 5.
    """
    try:
        compiled = CompiledNetworkBounds(model)
    except NoAnswerError as error:
        return (Answer(model.name, f"{BOUNDS}/asymptotic", failed=str(error)),)
    arrays = compiled.arrays({})
    wrong = _refused(arrays)
    if wrong:
        return (Answer(model.name, f"{BOUNDS}/asymptotic", failed=wrong[0]),)
    bounds_by_kind, missing = _by_kind(arrays)
    return tuple(
        Answers(
            Solution(
                model=model.name,
                method=f"{BOUNDS}/{kind}",
                remarks=lambda _, kind=kind, more=() if index else missing: Remarks(
                    notes=(KINDS[kind][1], *more)
                ),  # type: ignore[misc]
                **_columns(arrays, low, high),
            )
        ).answer(0)
        for index, (kind, (low, high)) in enumerate(bounds_by_kind.items())
    )


def _refused(arrays: NetworkPoints) -> dict[int, str]:
    """Return, by point, why there are no bounds."""
    network = arrays.network
    wrong = unsolvable(arrays)
    if network.losses:
        why = f"{network.losses}, and the bounds do not cover loss or blocking"
        wrong.update(
            dict.fromkeys(range(network.points), f"{why}; ask for markov-chain or simulation")
        )
    closed = np.flatnonzero(network.closed)
    # Divided by such a cycle a bound would be infinite.
    cycle = (network.think + network.demand.sum(axis=2))[:, closed]
    for point, c in np.argwhere((cycle == 0) & (network.population[:, closed] > 0)):
        name = network.classes[closed[c]]
        wrong[int(point)] = (
            f"a cycle of {name} takes no time: all its demands and its think time are 0"
        )
    return wrong


def _by_kind(arrays: NetworkPoints) -> tuple[dict[str, Bounds], list[str]]:
    """Return bounds of the throughputs by each kind that applies (points, classes), and the reasons
    why other kinds do not.
    """
    bounds_by_kind = {}
    missing = []
    for kind, (bounds, _) in KINDS.items():
        try:
            with np.errstate(all="ignore"):
                low, high = bounds(arrays.network)
        except ModelError as error:
            missing.append(f"no {kind} bounds: {error}")
        else:
            bounds_by_kind[kind] = (low.real, high.real)
    return bounds_by_kind, missing


class CompiledNetworkBounds(CompiledModel):
    """The tightest of all bounds of a network that apply, compiled for many points.

    Parameters
    ----------
    model : the network

    >>> from slipstick.model.network import closed_class, network, station
    >>> compiled = CompiledNetworkBounds(network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 3.0})}))
    >>> compiled.times({"classes.jobs.population": np.array([1.0, 2.0])})
    array([0.333, 0.333])
    """

    def __init__(self, model: QueueingNetwork) -> None:
        self.model = model
        refuse_unknown(model.constructs, BOUNDS, ())
        self.compiled = NetworkLayout(model)
        self.parameters = tuple(self.compiled.tape.parameters)
        self.quantity = f"low[throughput[{next(iter(self.compiled.chains))}]]"

    def arrays(self, values: Values) -> NetworkPoints:
        """Build the arrays of the network at aligned points."""
        return self.compiled.arrays(self.compiled.columns(values))

    def solution(self, values: Values) -> Solution:
        """Evaluate the bounds at aligned points."""
        arrays = self.arrays(values)
        wrong, (bounds_by_kind, _) = _refused(arrays), _by_kind(arrays)
        # Each kind holds where its assumptions do, so that the tightest of them holds too.
        low = np.max([low for low, _ in bounds_by_kind.values()], axis=0)
        high = np.min([high for _, high in bounds_by_kind.values()], axis=0)
        return Solution(
            model=self.model.name,
            method=BOUNDS,
            count=arrays.network.points,
            remarks=lambda index: Remarks(
                failed=wrong.get(index),
                notes=(f"the tightest of these bounds: {', '.join(bounds_by_kind)}",),
            ),
            **_columns(arrays, low, high, list(wrong)),
        )


def _columns(
    arrays: NetworkPoints, low: Array, high: Array, wrong: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the values and bounds that follow from bounds on the throughputs (points, classes);
    NaN where there are none.
    """
    network = arrays.network
    crossings, (shortest, _) = saturation_population(network).real, full_speed_demands(network)
    tables: dict[str, dict[str, Array]] = {"values": {}, "low": {}, "high": {}}
    for c, name in enumerate(network.classes):
        rate = f"throughput[{name}]"
        time = f"response_time[{name}]"
        if not network.closed[c]:
            tables["low"][rate] = tables["high"][rate] = network.arrivals[:, c].real
            tables["low"][time] = shortest[:, c].real
            continue
        size = network.population[:, c]
        think = network.think[:, c].real
        with np.errstate(all="ignore"):
            # R = N / X - Z: the upper bound on X gives the lower one on R, and the reverse.
            populated = (size > 0) & (high[:, c] > 0)
            shortest_response = np.where(
                populated, np.maximum(0.0, size / high[:, c] - think), np.nan
            )
            longest_response = np.where(
                populated & (low[:, c] > 0), size / low[:, c] - think, np.nan
            )
        tables["low"] |= {rate: low[:, c], time: shortest_response}
        tables["high"] |= {rate: high[:, c], time: longest_response}
        tables["values"][f"saturation_population[{name}]"] = crossings[:, c]
    for columns in tables.values():
        for name, column in columns.items():
            finite = np.where(np.isfinite(column), column, np.nan)
            finite[list(wrong)] = np.nan
            columns[name] = finite
    return tables
