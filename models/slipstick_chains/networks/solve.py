"""Networks solved as Markov chains: exact where product form fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from slipstick import limits
from slipstick.errors import ModelError, NoAnswerError, Saturated
from slipstick.late import NDArray, np
from slipstick.queueing.checks import EXACT, checked_solution
from slipstick.queueing.markov_chain import (
    Array,
    MarkovChain,
    SolvedBySize,
    refuse_size,
    stationary,
)
from slipstick.queueing.mixed_classes import highest_speed, offered_load, open_load
from slipstick.queueing.network import ABANDONMENT, MarkovSolution, NetworkArrays, quotient
from slipstick.vocabulary import AFTER_SERVICE
from slipstick_chains.networks.build import (
    NetworkPoint,
    Routing,
    build_state_space,
    network_point,
    state_count_words,
)
from slipstick_chains.networks.state_space import EVENT_KINDS, StateSpace

ERROR = 1e-10
"""Part of the mean number of open customers that may lie beyond the truncation, by default."""
ROUNDING = 1e-15
"""Probability of a level (a number of open customers) below which it shows rounding, not the
network.
"""


def markov_chain(
    network: NetworkArrays,
    routing: Routing | None = None,
    *,
    truncation: int | None = None,
    state_limit: float | None = None,
) -> tuple[StateSpace, MarkovChain]:
    """Return the state space and the Markov chain of a network at one point, to compute transient
    answers or other rewards from them; see `solve_markov_chain`.

    >>> from slipstick.queueing.network import network_arrays
    >>> space, chain = markov_chain(network_arrays([1.0, 2.0], population=2))
    >>> chain.states.tolist(), space.columns(1)
    ([[0, 2], [1, 1], [2, 0]], slice(1, 2, None))
    """
    point = network_point(network, routing)
    if truncation is None and point.is_unbounded():
        raise ModelError("open classes can fill a station without end; give the chain a truncation")
    return _explored_chain(point, truncation, state_limit)


def solve_markov_chain(
    network: NetworkArrays,
    routing: Routing | Sequence[Routing] | None = None,
    *,
    error: float = ERROR,
    state_limit: float | None = None,
    method: str | None = None,
) -> MarkovSolution:
    """Solve a network as a Markov chain.

    The `blocking` of a station with a capacity says what becomes of a customer on its way there
    while it is full:

    - ``loss``: the customer is lost; one of an open class leaves, one of a closed class begins its
      cycle again;
    - ``repeat``: the customer is served once more at the station before and draws its destination
      again (repetitive service, random destination);
    - ``before-service``: its service at the station before stops until there is a place (it has one
      destination).

    - ``after-service``: it stays at its server, which does nothing, until there is a place; the
      first of those that wait so comes first, which may release others. For one class at
      exponential single servers, without think time.

    An arrival from outside at a full station is lost in any case. A server that is stopped before
    service counts as busy. Service times of an scv other than 1 are made of phases with that mean
    and scv (`slipstick.random_times`). Open classes without capacities make the chain infinite. It
    is truncated where at most a part `error` of their mean number lies beyond, if the probability
    goes on falling geometrically as it does at the truncation.

    Parameters
    ----------
    network : the network; its numbers may be complex, for a derivative
    routing : where customers go next, one for all points or one for each; by default
        `routing_in_order` of the visits
    error : part of the mean number of open customers that may lie beyond the truncation [1]
    state_limit : states at most; by default that of `slipstick.limits`
    method : of `stationary`; by default by size

    Raises
    ------
    ModelError : the chain cannot represent the network, its routing or its blocking
    NoAnswerError : there are too many states, or open classes bring more work than can be done

    Source: Stewart, Introduction to the Numerical Solution of Markov Chains, Princeton 1994; kinds
    of blocking: Onvural, ACM Computing Surveys 22(2), 1990, 83-121; Perros, Queueing Networks with
    Blocking, Oxford 1994, ch. 1.

    >>> from slipstick.queueing.network import network_arrays
    >>> solve_markov_chain(
    ...     network_arrays([1.0], arrivals=0.5, discipline="fcfs", capacity=[2])
    ... ).loss_probability.ravel()
    array([0.143])
    """
    if not 0 < error < 1:
        raise ModelError(f"the error of a truncation must lie between 0 and 1, got {error}")
    point_solutions: list[MarkovSolution] = []
    solved_before: SolvedBySize = {}
    routing_by_point = (
        [routing] * network.point_count
        if routing is None or isinstance(routing, Routing)
        else routing
    )
    for point_index, point_routing in zip(
        range(network.point_count), routing_by_point, strict=True
    ):
        point = network_point(network.select(slice(point_index, point_index + 1)), point_routing)
        point_solutions.append(_solve_point(point, error, state_limit, method, solved_before))
    solution = _solution_of_points(network, point_solutions, routing is None)
    if routing is None:
        check_cycles(network.classes, solution)
    if routing is None and not network.loss_reason:
        checked_solution(network, solution, max(EXACT, 10 * error))
    return solution


def _solve_point(
    point: NetworkPoint,
    error_limit: float,
    state_limit: float | None,
    method: str | None,
    solved_before: SolvedBySize,
) -> MarkovSolution:
    """Solve the chain of one point. Open classes are cut off at more and more customers, until the
    customers beyond the limit add less than `error_limit` of the mean number.
    """
    if not point.is_unbounded():
        space, chain = _explored_chain(point, None, state_limit)
        return _solution_of_point(
            point, space, chain, stationary(chain, method, solved_before), 0.0
        )
    truncation = _first_truncation(point, error_limit)
    rising_round_count = 0
    # In a burst the probabilities of levels may rise for long before they fall.
    while rising_round_count < 2 or (
        point.network.bursts is not None and not point.network.loss_reason
    ):
        space, chain = _explored_chain(point, truncation, state_limit)
        state_probability = stationary(chain, method, solved_before)
        tail_probability, missing_share, level_ratio = _tail_and_ratio_beyond(
            space, chain, state_probability
        )
        if missing_share <= error_limit:
            return _solution_of_point(point, space, chain, state_probability, tail_probability)
        rising_round_count = rising_round_count + 1 if level_ratio >= 1 else 0
        customers_to_add = (
            math.log(error_limit / missing_share) / math.log(level_ratio)
            if 0 < level_ratio < 1
            else truncation
        )
        # Levels fall by the ratio for each further customer: so many bring the tail below the
        # error, with a tenth more.
        truncation += max(4, min(truncation, math.ceil(1.1 * customers_to_add)))
    reason = Saturated.with_advice(
        f"the probabilities still rise at {truncation} of them: more work arrives than can be done",
        "lower the arrivals, or give stations a capacity",
    )
    raise NoAnswerError(reason)


def _explored_chain(
    point: NetworkPoint, truncation: int | None, state_limit: float | None
) -> tuple[StateSpace, MarkovChain]:
    """Return the state space and the explored chain of a point. Refuse a chain larger than the
    limit, and a chain whose long run depends on the initial order of the customers.
    """
    # One customer more or less is at least one state more.
    least_states = max(truncation or 0, *point.population())
    most_states = limits.limit_in_force("states") if state_limit is None else state_limit
    if least_states >= most_states:
        refuse_size(most_states, f"at least {least_states:,}, for as many customers")
    space = build_state_space(point, truncation)
    chain = space.chain(most_states, lambda: state_count_words(point, truncation, most_states))
    if state_limit is None:  # within its limit, but perhaps to be announced
        limits.check_cost(
            "states",
            len(chain.states),
            f"a chain of {len(chain.states):,} states is solved",
            "ask for exact",
        )
    if not space.orders_vary(chain):
        raise NoAnswerError(
            "customers keep the order in which they start, and the long run depends on it; give the"
            " classes a think time or a routing that lets them overtake"
        )
    return space, chain


def _first_truncation(point: NetworkPoint, error_limit: float) -> int:
    """Return the truncation of open customers to begin with, from the loads; raise for a saturated
    station in a network without losses.

    The constants are a guess that is usually enough: `_tail_and_ratio_beyond` decides whether the
    truncation is, by the levels of the solution.
    """
    network = point.network
    is_open = ~network.closed
    has_no_losses = not network.loss_reason
    if has_no_losses:
        open_load(network)  # raises an error where a station is saturated
    speed_by_station = np.array(
        [highest_speed(network, station)[0].real for station in range(len(network.stations))]
    )
    # Where all have patience, levels fall faster than by any ratio.
    has_fast_tail = network.is_delay | (network.is_never_saturated & ~network.has_capacity)
    load_by_station = np.where(has_fast_tail, 0.0, offered_load(network)[0].real / speed_by_station)
    largest_load = min(0.95, float(load_by_station.max(initial=0.0)))
    arrivals = network.arrivals[0, is_open].real[:, None]
    mean_present = float((arrivals * network.demand[0, is_open].real).sum())
    if network.patience is not None:  # no wait is longer than without any service
        patience_by_class = (network.visits[0].real * network.patience[0].real)[is_open].sum(axis=1)
        mean_present += float(network.arrivals[0, is_open].real @ patience_by_class)
    likely_level_count = mean_present + 8 * math.sqrt(mean_present)
    # A queue of load r has about r^n of its probability beyond n customers.
    tail_level_count = math.log(error_limit) / math.log(largest_load) if largest_load > 0 else 1.0
    # Levels fall about as powers of the load; even where they fall twice as fast, no smaller
    # truncation will do.
    least_truncation = (
        0.5 * math.log(error_limit) / math.log(load_by_station.max())
        if has_no_losses and 0 < load_by_station.max(initial=0.0) < 1
        else 0.0
    )
    return math.ceil(
        max(8 + likely_level_count + 1.1 * tail_level_count, least_truncation)
    ) + 4 * max(network.batch, default=0)


def _tail_and_ratio_beyond(
    space: StateSpace, chain: MarkovChain, state_probability: Array
) -> tuple[float, float, float]:
    """Return the probability beyond the truncation, the fraction of the mean number that lies
    there, and the ratio of the last levels [1].
    """
    open_count = space.open_customers(np.asarray(chain.states))
    level_probability = np.bincount(open_count, weights=state_probability.real)
    mean_customer_count = float(level_probability @ np.arange(len(level_probability)))
    # Customers may be lost before they are as many as the truncation.
    if mean_customer_count == 0 or len(level_probability) + max(space.batch) <= (
        space.truncation or 0
    ):
        return 0.0, 0.0, 0.0
    # Where the truncation itself, or rounding, does not reach: levels fall by one ratio in the end.
    last_accurate_level = int(np.flatnonzero(level_probability > ROUNDING)[-1])
    last_level = min(last_accurate_level, len(level_probability) - 1 - len(level_probability) // 10)
    # Where two customers are together less often than rounding, one level tells the ratio.
    first_level = max(0, last_level - max(2, last_level // 4))
    if level_probability[first_level] == 0:
        return 1.0, math.inf, 1.0
    level_ratio = ROUNDING
    if last_level:
        probability_ratio = float(level_probability[last_level] / level_probability[first_level])
        level_ratio = probability_ratio ** (1 / (last_level - first_level))
    if level_ratio >= 1:
        return 1.0, math.inf, level_ratio
    tail_probability = float(level_probability[-1]) * level_ratio / (1 - level_ratio)
    return (
        tail_probability,
        tail_probability
        * (len(level_probability) + level_ratio / (1 - level_ratio))
        / mean_customer_count,
        level_ratio,
    )


def _solution_of_point(
    point: NetworkPoint,
    space: StateSpace,
    chain: MarkovChain,
    state_probability: Array,
    tail_probability: float,
) -> MarkovSolution:
    """Return the mean values of a point from the long-run probabilities of its states."""
    network = point.network
    class_count, station_count = network.service.shape[1:]
    state_rows = np.asarray(chain.states)
    event_rates = state_probability[chain.sources] * chain.rates
    rate_by_event = _sums_by_number(chain.events, event_rates, space.event_count).reshape(
        EVENT_KINDS, station_count + 1, class_count
    )
    completion_rate, inner_loss_rate, abandonment_rate, outer_loss_rate = (
        rates[:station_count].T for rates in rate_by_event
    )
    loss_rate = inner_loss_rate + outer_loss_rate
    lost_arrivals = outer_loss_rate.sum(axis=1)
    present_counts = space.present(state_rows)
    # In the long run all that comes to a station ends its service, abandons the queue or is lost.
    entry_rate = completion_rate + abandonment_rate + loss_rate
    admitted_rate = completion_rate + abandonment_rate
    throughput = _throughput_in_cycles(point, completion_rate, lost_arrivals, abandonment_rate)
    queue_length = np.tensordot(state_probability, present_counts, axes=1)[:, :station_count]
    begun_cycle_rate = _throughput_in_cycles(
        point, admitted_rate, lost_arrivals, np.zeros_like(abandonment_rate)
    )
    level_probabilities = (
        _sums_by_number(
            space.customers(state_rows, station, network.is_absence), state_probability, 0
        )
        for station in range(station_count)
    )
    utilization = [
        _utilization_of_states(network, space, station, state_rows, state_probability)
        for station in range(station_count)
    ]
    # A class that is present and never ends a cycle starves, and has no time of a cycle.
    residence_time = quotient(queue_length, begun_cycle_rate[:, None], math.nan)
    residence_time[queue_length == 0] = 0.0
    return MarkovSolution(
        throughput=throughput[None],
        residence=residence_time[None],
        queue=queue_length[None],
        utilization=np.array(utilization).reshape(station_count, class_count).T[None],
        probability=tuple(probabilities[None] for probabilities in level_probabilities),
        method="markov-chain",
        exact=bool(network.has_known_phases.all()),
        loss_probability=quotient(loss_rate, entry_rate)[None],
        ended_services=completion_rate[None],
        begun_cycles=begun_cycle_rate[None],
        lost_arrivals=lost_arrivals[None],
        abandonment_probability=quotient(abandonment_rate, admitted_rate)[None],
        states=(chain.size,),
        truncation=(space.truncation or 0,),
        probability_beyond=(tail_probability,),
    )


def _sums_by_number(group_numbers: NDArray[Any], weights: Array, least_length: int) -> Array:
    """Return, for each group number from 0, the sum of the weights of the elements that have this
    number; elements with the number -1 are left out.
    """
    is_counted = group_numbers >= 0
    sum_by_number: Array = np.bincount(
        group_numbers[is_counted], weights=weights.real[is_counted], minlength=least_length
    )
    if np.iscomplexobj(weights):
        sum_by_number = sum_by_number + 1j * np.bincount(
            group_numbers[is_counted], weights=weights.imag[is_counted], minlength=least_length
        )
    return sum_by_number


def _throughput_in_cycles(
    point: NetworkPoint, completion_rate: Array, lost_arrivals: Array, abandonment_rate: Array
) -> Array:
    """Return the throughput in cycles: departures at the first station that a class visits; a class
    that visits none thinks or passes through [1/s]. It is NaN for a class whose cycles no station
    counts.

    Where a class comes again to its first station and may balk there or abandon the queue, only its
    arrivals are known, of which `lost_arrivals` are lost [1/s]. One that comes again finds its own
    place free.
    """
    network = point.network
    throughput = np.zeros(
        len(completion_rate),
        dtype=np.result_type(completion_rate, network.visits, network.think, network.arrivals),
    )
    for class_index, visits in enumerate(network.visits[0]):
        visited_stations = np.flatnonzero(
            (visits.real > 0) & point.visited_mask()[class_index, :-1]
        )
        if len(visited_stations):
            station = _counting_station(network, class_index, visited_stations)
            if station is None:
                throughput[class_index] = math.nan
            elif visits[station].real > 1 and _is_impatient(network, class_index, station):
                is_counted = (
                    not network.closed[class_index] and not abandonment_rate[class_index, station]
                )
                throughput[class_index] = (
                    network.arrivals[0, class_index] - lost_arrivals[class_index]
                    if is_counted
                    else math.nan
                )
            else:
                throughput[class_index] = completion_rate[class_index, station] / visits[station]
        elif not network.closed[class_index]:
            throughput[class_index] = network.arrivals[0, class_index]
        elif network.think[0, class_index] != 0:
            throughput[class_index] = (
                network.population[0, class_index] / network.think[0, class_index]
            )
    return throughput


def _is_impatient(network: NetworkArrays, class_index: int, station: int) -> bool:
    """Return whether customers of a class may balk at a station, or abandon its queue."""
    abandons = network.patience is not None and network.patience[0, class_index, station] > 0
    return abandons or (network.classes[class_index], network.stations[station]) in network.balking


def _counting_station(
    network: NetworkArrays, class_index: int, visited_stations: NDArray[np.int64]
) -> int | None:
    """Return the station at which the cycles of a class are counted, normally its first. If
    customers that find a station full draw a new destination, it is the first station that each
    cycle visits once, or None.
    """
    first_station = int(visited_stations[0])
    stations_visited_once = visited_stations[
        network.visits[0, class_index, visited_stations].real == 1
    ]
    if not network.draws_again or first_station in stations_visited_once:
        return first_station
    return int(stations_visited_once[0]) if len(stations_visited_once) else None


def check_cycles(classes: Sequence[str], solution: MarkovSolution) -> None:
    """Raise a ModelError for a class whose cycles no station counts.

    Parameters
    ----------
    classes : their names
    solution : with their throughput in cycles, NaN where it is not known
    """
    uncounted_classes = np.flatnonzero(np.isnan(solution.throughput).any(axis=0))
    if len(uncounted_classes):
        raise ModelError(
            f"{classes[uncounted_classes[0]]} may come again to the station where its cycles begin,"
            " and leaves a queue there, or draws its destination again where a station is full: its"
            " cycles cannot be counted in a Markov chain; ask for simulation"
        )


def _utilization_of_states(
    network: NetworkArrays,
    space: StateSpace,
    station: int,
    state_rows: Array,
    state_probability: Array,
) -> Array:
    """Return the utilization of a station by class [classes]; at a delay the number present."""
    station_rows = state_rows[:, space.columns(station)]
    station_state = space.stations[station]
    if network.is_delay[station]:
        return np.asarray(state_probability @ station_state.present(station_rows))
    work_by_class = (state_probability * space.serving(state_rows, station)) @ station_state.work(
        station_rows
    )
    if network.rates[station] is None:
        return np.asarray(work_by_class / network.servers[station])
    total_work = work_by_class.sum()
    return np.asarray(
        work_by_class
        / (total_work if total_work != 0 else 1.0)
        * (state_probability @ (station_state.length(station_rows) > 0))
    )


def _solution_of_points(
    network: NetworkArrays, point_solutions: Sequence[MarkovSolution], in_written_order: bool
) -> MarkovSolution:
    """Join the solutions of single points into one.

    A number of customers that cannot be present at a point has the probability 0 there.
    """
    array_names = (
        "throughput",
        "residence",
        "queue",
        "utilization",
        "loss_probability",
        "ended_services",
        "begun_cycles",
        "lost_arrivals",
        "abandonment_probability",
    )
    field_values: dict[str, Any] = {
        field_name: np.concatenate([getattr(solution, field_name) for solution in point_solutions])
        for field_name in array_names
    }
    probability_by_station = []
    for probability_arrays in zip(
        *(solution.probability for solution in point_solutions), strict=True
    ):
        level_probabilities = [
            probability[0] for probability in probability_arrays if probability is not None
        ]
        probability_by_station.append(
            np.array(list(zip_longest(*level_probabilities, fillvalue=0.0))).T
        )
    for field_name in ("states", "truncation", "probability_beyond"):
        field_values[field_name] = tuple(
            value for solution in point_solutions for value in getattr(solution, field_name)
        )
    solution = replace(
        point_solutions[0],
        **field_values,
        probability=tuple(probability_by_station),
        exact=bool(network.has_known_phases.all()),
    )
    return replace(solution, notes=_solution_notes(network, solution, in_written_order))


def _solution_notes(
    network: NetworkArrays, solution: MarkovSolution, in_written_order: bool
) -> tuple[str, ...]:
    """Return notes on the size of the chain and on constructs that it represents by others."""
    solution_notes = [f"a chain of {max(solution.states):,} states"]
    if any(solution.probability_beyond):
        solution_notes.append(
            f"open classes truncated at {max(solution.truncation)} customers; beyond lies"
            f" {max(solution.probability_beyond):.1e} of the probability, continued geometrically"
        )
    if in_written_order and ((network.visits.real > 0).sum(axis=2) > 1).any():
        solution_notes.append(
            "stations are visited in the order of the file, and repeated visits follow each other"
        )
    if network.patience is not None:
        solution_notes.append(ABANDONMENT)
    if AFTER_SERVICE in network.blocking:
        solution_notes.append("a server that is blocked after a service does not count as busy")
    if not network.has_known_phases.all():
        solution_notes.append(
            "times with an scv other than 1 are replaced by phases with the same mean and scv"
        )
    return tuple(solution_notes)
