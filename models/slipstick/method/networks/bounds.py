"""Bounds of queueing networks: one answer for each kind of bound that applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.tape import Values
from slipstick.late import Array, np
from slipstick.method.answers import Answers, CompiledModel, Remarks, Solution
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.method.networks.solvers import reasons_unsolvable
from slipstick.model.network import QueueingNetwork
from slipstick.queueing.bounds import (
    Bounds,
    asymptotic_bounds,
    balanced_job_bounds,
    full_speed_demands,
    geometric_bounds,
    proportional_bounds,
    saturation_population,
)
from slipstick.queueing.network import NetworkArrays
from slipstick.vocabulary import BOUNDS, KNOWN_OF_NETWORKS, refuse_unknown

KINDS: dict[str, tuple[Callable[[NetworkArrays], Bounds], str]] = {
    "asymptotic": (
        asymptotic_bounds,
        (
            "lower bound: one customer alone, or the slowest station always busy; upper bound:"
            " each customer waits for all others"
        ),
    ),
    "balanced-job": (
        balanced_job_bounds,
        "bounds from networks with equal stations, slower and faster; valid in product form",
    ),
    "proportional": (
        proportional_bounds,
        "bounds from queues in proportion to the demands or their powers; valid in product form",
    ),
    "geometric": (
        geometric_bounds,
        ("bounds from queues as geometric series of the demands; valid in product form"),
    ),
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
        compiled_bounds = CompiledNetworkBounds(model)
    except NoAnswerError as error:
        return (Answer(model.name, f"{BOUNDS}/asymptotic", failed=str(error)),)
    network_points = compiled_bounds.network_points({})
    reason_by_point = _refusal_reasons(network_points)
    if reason_by_point:
        return (Answer(model.name, f"{BOUNDS}/asymptotic", failed=reason_by_point[0]),)
    bounds_by_kind, missing_reasons = _bounds_by_kind(network_points)
    return tuple(
        Answers(
            Solution(
                model=model.name,
                method=f"{BOUNDS}/{bound_kind}",
                remarks=_remarks_function(bound_kind, () if kind_index else missing_reasons),
                **_values_and_bounds(network_points, low_throughputs, high_throughputs),
            )
        ).answer(0)
        for kind_index, (bound_kind, (low_throughputs, high_throughputs)) in enumerate(
            bounds_by_kind.items()
        )
    )


def _remarks_function(bound_kind: str, further_notes: Sequence[str]) -> Callable[[int], Remarks]:
    """Return the function that gives the notes of a kind of bounds at any point."""
    return lambda _: Remarks(notes=(KINDS[bound_kind][1], *further_notes))


def _refusal_reasons(network_points: NetworkPoints) -> dict[int, str]:
    """Return, by point, why there are no bounds."""
    network = network_points.network
    reason_by_point = reasons_unsolvable(network_points)
    if network.loss_reason:
        loss_reason = f"{network.loss_reason}, and the bounds do not cover loss or blocking"
        reason_by_point.update(
            dict.fromkeys(
                range(network.point_count), f"{loss_reason}; ask for markov-chain or simulation"
            )
        )
    closed_indices = np.flatnonzero(network.closed)
    # Divided by such a cycle a bound would be infinite.
    cycle_times = (network.think + network.demand.sum(axis=2))[:, closed_indices]
    for point_index, closed_index in np.argwhere(
        (cycle_times == 0) & (network.population[:, closed_indices] > 0)
    ):
        class_name = network.classes[closed_indices[closed_index]]
        reason_by_point[int(point_index)] = (
            f"a cycle of {class_name} takes no time: all its demands and its think time are 0"
        )
    return reason_by_point


def _bounds_by_kind(network_points: NetworkPoints) -> tuple[dict[str, Bounds], list[str]]:
    """Return bounds of the throughputs by each kind that applies (points, classes), and the reasons
    why other kinds do not.
    """
    bounds_by_kind = {}
    missing_reasons = []
    for bound_kind, (compute_bounds, _) in KINDS.items():
        try:
            # A class without customers or demand divides by 0; its bounds are infinite or 0, as
            # they should be.
            with np.errstate(all="ignore"):
                low_throughputs, high_throughputs = compute_bounds(network_points.network)
        except ModelError as error:
            # Kinds of bounds hold under different conditions; the others are still shown.
            missing_reasons.append(f"no {bound_kind} bounds: {error}")
        else:
            bounds_by_kind[bound_kind] = (low_throughputs.real, high_throughputs.real)
    return bounds_by_kind, missing_reasons


class CompiledNetworkBounds(CompiledModel):
    """The tightest of all bounds of a network that apply, compiled for many points.

    Parameters
    ----------
    model : the network

    >>> from slipstick.model.network import closed_class, network, station
    >>> compiled = CompiledNetworkBounds(
    ...     network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 3.0})})
    ... )
    >>> compiled.times({"classes.jobs.population": np.array([1.0, 2.0])})
    array([0.333, 0.333])
    """

    def __init__(self, model: QueueingNetwork) -> None:
        self.model = model
        refuse_unknown(model.constructs, BOUNDS, (), KNOWN_OF_NETWORKS)
        self.network_layout = NetworkLayout(model)
        self.parameters = tuple(self.network_layout.tape.parameters)
        self.quantity = f"low[throughput[{next(iter(self.network_layout.chains))}]]"

    def network_points(self, values: Values) -> NetworkPoints:
        """Build the arrays of the network at many points."""
        return self.network_layout.network_points(self.network_layout.columns(values))

    def solution(self, values: Values) -> Solution:
        """Return the tightest bounds of throughputs and response times at many points."""
        network_points = self.network_points(values)
        reason_by_point, (bounds_by_kind, _) = (
            _refusal_reasons(network_points),
            _bounds_by_kind(network_points),
        )
        # Each kind holds where its assumptions do, so that the tightest of them holds too.
        low_throughputs = np.max(
            [low_throughputs for low_throughputs, _ in bounds_by_kind.values()], axis=0
        )
        high_throughputs = np.min(
            [high_throughputs for _, high_throughputs in bounds_by_kind.values()], axis=0
        )
        return Solution(
            model=self.model.name,
            method=BOUNDS,
            count=network_points.network.point_count,
            remarks=lambda index: Remarks(
                failed=reason_by_point.get(index),
                notes=(f"the tightest of these bounds: {', '.join(bounds_by_kind)}",),
            ),
            **_values_and_bounds(
                network_points, low_throughputs, high_throughputs, list(reason_by_point)
            ),
        )


def _values_and_bounds(
    network_points: NetworkPoints,
    low_throughputs: Array,
    high_throughputs: Array,
    unanswered_points: Sequence[int] = (),
) -> dict[str, Any]:
    """Return the values and bounds that follow from bounds on the throughputs (points, classes);
    NaN where there are none.
    """
    network = network_points.network
    saturation_populations, (shortest_times, _) = (
        saturation_population(network).real,
        full_speed_demands(network),
    )
    columns_by_table: dict[str, dict[str, Array]] = {"values": {}, "low": {}, "high": {}}
    for class_index in np.flatnonzero(network.is_customer):
        class_name = network.classes[class_index]
        throughput_name = f"throughput[{class_name}]"
        time_name = f"response_time[{class_name}]"
        if not network.closed[class_index]:
            columns_by_table["low"][throughput_name] = columns_by_table["high"][throughput_name] = (
                network.arrivals[:, class_index].real
            )
            columns_by_table["low"][time_name] = shortest_times[:, class_index].real
            continue
        customers_by_point = network.population[:, class_index]
        think_time = network.think[:, class_index].real
        # Points without a throughput are masked below.
        with np.errstate(all="ignore"):
            # R = N / X - Z: the upper bound on X gives the lower one on R, and the reverse.
            has_customers = (customers_by_point > 0) & (high_throughputs[:, class_index] > 0)
            shortest_response = np.where(
                has_customers,
                np.maximum(0.0, customers_by_point / high_throughputs[:, class_index] - think_time),
                np.nan,
            )
            longest_response = np.where(
                has_customers & (low_throughputs[:, class_index] > 0),
                customers_by_point / low_throughputs[:, class_index] - think_time,
                np.nan,
            )
        columns_by_table["low"] |= {
            throughput_name: low_throughputs[:, class_index],
            time_name: shortest_response,
        }
        columns_by_table["high"] |= {
            throughput_name: high_throughputs[:, class_index],
            time_name: longest_response,
        }
        columns_by_table["values"][f"saturation_population[{class_name}]"] = saturation_populations[
            :, class_index
        ]
    for column_by_name in columns_by_table.values():
        for value_name, column in column_by_name.items():
            finite_column = np.where(np.isfinite(column), column, np.nan)
            finite_column[list(unanswered_points)] = np.nan
            column_by_name[value_name] = finite_column
    return columns_by_table
