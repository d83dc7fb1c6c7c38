"""Mixed networks: open classes are taken out exactly, and a solver for closed classes does the
rest.

`solve_mixed` is the way of every exact method: the capacity that open classes leave
(`closed_part`), the closed classes by a `Solver`, points of one population vector together, and the
answers of all classes (`whole_solution`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from slipstick.errors import ModelError, NoAnswerError, Saturated, Unsolvable
from slipstick.late import np
from slipstick.limits import check_cost
from slipstick.queueing.network import (
    Array,
    ClosedPart,
    ClosedSolution,
    NetworkArrays,
    NetworkSolution,
    quotient,
    solve_in_parts,
    sum_over_stations,
)

MOST_SHOWN = 100
"""Largest number present whose probability is returned at stations where open classes have no
largest number.
"""


def speeds(network: NetworkArrays, station: int) -> Array:
    """Return a station's speed with 1, 2, 3 ... present; the last holds for more, (P or 1, m).

    Raises
    ------
    NoAnswerError : there are too many servers to list
    """
    rates = network.rates[station]
    if rates is not None:
        return rates
    cost_text = (
        f"{network.stations[station]} has {network.servers[station]:,} servers, and speeds are"
        " listed for each"
    )
    check_cost(
        "speeds",
        float(network.servers[station]),
        cost_text,
        "make it a delay (discipline is), ask for simulation",
    )
    return np.arange(1.0, 1.0 + network.servers[station])[None]


def highest_speed(network: NetworkArrays, station: int) -> Array:
    """Return a station's speed with very many customers present, by point (P or 1,)."""
    rates = network.rates[station]
    last_speed: Array = (
        np.array([float(network.servers[station])]) if rates is None else rates[:, -1]
    )
    return last_speed


def open_load(network: NetworkArrays) -> Array:
    """Return the load of the open classes at every station, in seconds of service a second, (P or
    1, K).

    Raises
    ------
    NoAnswerError : a station is saturated
    """
    for reason in () if network.all_closed else saturation_reasons(network).values():
        raise NoAnswerError(reason)
    return offered_load(network)


def offered_load(network: NetworkArrays) -> Array:
    """Return the offered load of the open classes at every station, in seconds of service a
    second, (P or 1, K).
    """
    if network.all_closed:
        return np.zeros((1, len(network.stations)))
    arrivals = np.where(network.closed, 0.0, network.arrivals)
    load: Array = (arrivals[:, :, None] * network.demand).sum(axis=1)
    return load


def saturation_reasons(network: NetworkArrays, is_limited: Array | None = None) -> dict[int, str]:
    """Return the points at which open classes saturate a station, by number, each with a message
    that names the first such station.

    Parameters
    ----------
    network : whose demands and arrivals load the stations
    is_limited : stations that are never saturated, because they lose customers (K,)
    """
    reason_by_point: dict[int, str] = {}
    if network.all_closed:
        return reason_by_point
    visits_of_customers = network.visits * network.is_customer[:, None]
    load = offered_load(replace(network, visits=visits_of_customers)).real
    servers_away = np.broadcast_to(network.servers_away.real, load.shape)
    for station in np.flatnonzero(
        ~network.is_delay if is_limited is None else ~network.is_delay & ~is_limited
    ).tolist():
        all_servers = np.broadcast_to(highest_speed(network, station).real, len(load))
        capacity = all_servers - servers_away[:, station]
        is_saturated = (load[:, station] >= capacity) & (load[:, station] > 0)
        for point_index in np.flatnonzero(is_saturated).tolist():
            away_in_words = (
                f", for on average {servers_away[point_index, station]:.6g} of"
                f" {all_servers[point_index]:.6g}"
                " servers are broken or off duty"
                if servers_away[point_index, station]
                else ""
            )
            reason_by_point.setdefault(
                point_index,
                Saturated.with_advice(
                    f"station {network.stations[station]} is saturated: arrivals need"
                    f" {load[point_index, station]:.6g} s of service a second, and it gives"
                    f" less than {capacity[point_index]:.6g}{away_in_words}",
                    "lower the arrivals, shorten the demand, or add servers",
                    resource_name=network.stations[station],
                ),
            )
    return reason_by_point


def check_product_form(network: NetworkArrays) -> None:
    """Refuse a network without a product form; see `NetworkArrays.reasons_against_product_form`.

    Raises
    ------
    ModelError : naming the station and why
    """
    for station_name, reason in zip(
        network.stations, network.reasons_against_product_form, strict=True
    ):
        if reason:
            raise ModelError(
                f"{station_name} {reason}, so there is no product form; ask for schweitzer,"
                " linearizer, markov-chain or simulation"
            )


def closed_part(network: NetworkArrays) -> ClosedPart:
    r"""Return the closed classes of a product-form network at the speeds that its open classes
    leave them, which is exactly equivalent.

    With load rho from open classes and a(n) = 1 / (s(1) s(2) ... s(n)), n closed customers see

        F(n) = sum over m of C(n+m, m) rho^m a(n+m)

    and are served at speed s'(n) = F(n-1) / F(n), which is 1 - rho at a single server and s(m)
    - rho beyond the last speed s(m).

    Source: the generating function of Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975, 283-294,
    expanded around rho.

    Raises
    ------
    NoAnswerError : a station is saturated by the open classes
    """
    load = open_load(network)
    queueing = (
        np.arange(network.demand.shape[2])
        if network.all_single
        else np.flatnonzero(~network.is_delay)
    )
    closed_classes = (
        np.arange(network.demand.shape[1]) if network.all_closed else np.flatnonzero(network.closed)
    )
    demand = network.demand if network.all_closed else network.demand[:, closed_classes]
    last_speed, speeds_by_queue, empty_probability = _speeds_by_queue(network, queueing, load)
    all_have_queues = len(queueing) == demand.shape[2]
    think = network.think
    population = network.population
    if not network.all_closed:
        think = think[:, closed_classes]
        population = population[:, closed_classes]
    delay = think
    if not all_have_queues:
        delay = think + demand[:, :, network.is_delay].sum(axis=2)
    return ClosedPart(
        classes=closed_classes,
        queueing=queueing,
        demand=demand if all_have_queues else demand[:, :, queueing],
        delay=delay,
        population=population,
        last_speed=last_speed,
        speeds_by_queue=speeds_by_queue,
        empty_probability=empty_probability,
    )


def _speeds_by_queue(
    network: NetworkArrays, queueing: Array, load: Array
) -> tuple[Array, dict[int, Array], dict[int, Array]]:
    """Return the speeds at which the stations with a queue, `queueing`, serve closed customers: the
    last speed of each, the speeds of those where they vary, and the probability of no open customer
    at those with rates or several servers [1].
    """
    last_speed = np.ones((len(load), len(queueing)), dtype=load.dtype)
    speeds_by_queue = dict[int, Array]()
    empty_probability = dict[int, Array]()
    if not network.all_closed:
        is_single = network.is_single[queueing]
        last_speed[:, is_single] -= load[:, queueing[is_single]]
    for queue_index, station in () if network.all_single else enumerate(queueing.tolist()):
        if network.is_single[station]:
            continue
        speed = speeds(network, station)
        most_customers = int(network.population.sum(axis=1).max(initial=0))
        if load[:, station].any():
            term_count = len(load) * speed.shape[1] * min(most_customers + 2, speed.shape[1])
            cost_text = (
                f"{network.stations[station]} takes {term_count:,} terms of sums over what open"
                " classes leave of its speeds"
            )
            check_cost(
                "terms",
                term_count,
                cost_text,
                "make it a delay (discipline is), ask for simulation",
            )
        remaining_speed, no_open_probability = _remaining_speeds(
            speed, load[:, station], most_customers
        )
        last_speed = last_speed * np.ones((len(remaining_speed), 1), dtype=remaining_speed.dtype)
        last_speed[:, queue_index] = remaining_speed[:, -1]
        empty_probability[queue_index] = no_open_probability
        if remaining_speed.shape[1] > 1:
            speeds_by_queue[queue_index] = remaining_speed
    return last_speed, speeds_by_queue, empty_probability


def _remaining_speeds(speed: Array, load: Array, most_customers: int) -> tuple[Array, Array]:
    """Return the speeds at which up to `most_customers` closed customers are served while the open
    classes use a part of the station (P, m), and P(no open customer | no closed one) (P,).
    """
    if not load.any():
        return speed, np.ones(1)
    if speed.shape[1] == 1:
        remaining_speed = speed - load[:, None]
        return remaining_speed, remaining_speed[:, 0] / speed[:, 0]
    log_sums = _log_sums(
        np.broadcast_to(speed, (len(load), speed.shape[1])), load, most_customers + 1
    )
    last_remaining_speed = speed[:, -1:] - load[:, None]
    speed_ratios = np.exp(log_sums[:, :-1] - log_sums[:, 1:])
    return np.concatenate([speed_ratios, last_remaining_speed], axis=1), np.exp(-log_sums[:, 0])


def _log_sums(speed: Array, load: Array, most_customers: int) -> Array:
    """Return log F(n) of `closed_part` for n up to `most_customers`, or to the last speed, (P, n):
    a sum over the speeds before the last, and the geometric rest in closed form.
    """
    last_index = speed.shape[1] - 1
    last_speed = speed[:, -1, None]
    # A load of zero has no logarithm; 1e-300 adds nothing to any sum.
    load = np.where(load == 0, 1e-300, load)[:, None]
    log_products = -np.cumsum(np.log(speed), axis=1)
    log_speed_products = np.concatenate([np.zeros_like(load), log_products], axis=1)
    log_sum_by_number = []
    for n in range(min(last_index, most_customers) + 1):
        numbers_present = np.arange(n, last_index)
        log_terms = (
            _log_choose(numbers_present, n)
            + (numbers_present - n) * np.log(load)
            + log_speed_products[:, n:last_index]
        )
        i = np.arange(min(n, last_index) + 1)
        geometric_rest = (
            _log_choose(last_index, i)
            + (last_index - i) * np.log(load)
            - (n - i) * np.log(last_speed)
        )
        geometric_rest = (
            geometric_rest
            - (n - i + 1) * np.log(1 - load / last_speed)
            + log_speed_products[:, last_index, None]
        )
        all_log_terms = np.concatenate([log_terms, geometric_rest], axis=1)
        largest_term = all_log_terms.real.max(axis=1, keepdims=True)
        log_sum_by_number.append(
            np.log(np.exp(all_log_terms - largest_term).sum(axis=1)) + largest_term[:, 0]
        )
    return np.stack(log_sum_by_number, axis=1)


def _log_choose(n: Array | int, k: Array | int) -> Array:
    """Return the logarithm of the binomial coefficient n over k."""
    largest_number = max(np.max(n, initial=0), np.max(k))
    log_factorials = np.cumsum(np.log(np.arange(1.0, largest_number + 1)))
    log_factorials_from_0 = np.concatenate([[0.0], log_factorials])
    log_coefficient: Array = (
        log_factorials_from_0[n]
        - log_factorials_from_0[k]
        - log_factorials_from_0[np.subtract(n, k)]
    )
    return log_coefficient


def whole_solution(
    network: NetworkArrays,
    closed_network: ClosedPart,
    closed_solution: ClosedSolution,
    open_time_factor: Array,
    no_closed_by_queue: dict[int, Array],
    method: str,
) -> NetworkSolution:
    """Extend the solution for the closed classes to all classes and all stations.

    Parameters
    ----------
    network : all classes
    closed_network, closed_solution : the closed classes and their solution, at the stations with a
        queue
    open_time_factor : E[(n + 1) / s'(n + 1)] over the closed customers n at those stations (P,
        K): the residence time of an open customer as a multiple of its demand
    no_closed_by_queue : for stations with rates, P(no closed customer), (P,)
    method : its name in the solution
    """
    array_shape = network.service.shape
    demand = network.demand
    throughput = closed_solution.throughput
    queue = closed_solution.queue
    dtype = np.result_type(throughput, queue, demand, network.arrivals, network.think)
    all_throughput, all_queues = _at_all_stations(network, closed_network, closed_solution, dtype)
    residence = quotient(all_queues, all_throughput[:, :, None])
    if not network.all_closed:
        is_open = ~network.closed
        factor_by_station = np.ones((array_shape[0], 1, array_shape[2]), dtype=dtype)
        factor_by_station[:, 0, closed_network.queueing] = open_time_factor
        residence[:, is_open] = demand[:, is_open] * factor_by_station
        all_queues[:, is_open] = all_throughput[:, is_open, None] * residence[:, is_open]
    probability_by_station: list[Array | None] = [None] * array_shape[2]
    for station, probability in zip(
        closed_network.queueing.tolist(), closed_solution.probability, strict=True
    ):
        if probability is not None:
            station_load = open_load(network)[:, station]
            probability_by_station[station] = (
                _number_probabilities(network, station, probability, station_load)
                if station_load.any()
                else probability
            )
    return NetworkSolution(
        throughput=all_throughput,
        residence=residence,
        queue=all_queues,
        utilization=_utilization(network, closed_network, all_throughput, no_closed_by_queue),
        probability=tuple(probability_by_station),
        method=method,
        exact=True,
    )


def _at_all_stations(
    network: NetworkArrays,
    closed_network: ClosedPart,
    closed_solution: ClosedSolution,
    dtype: np.dtype[Any],
) -> tuple[Array, Array]:
    """Return the throughputs of all classes (P, R), and the queues of the closed classes at all
    stations (P, R, K); the entries of the open classes at stations that queue are 0 until they are
    computed.
    """
    array_shape = network.service.shape
    queue = closed_solution.queue
    if queue.shape == array_shape:
        # All classes are closed and all stations have a queue.
        return closed_solution.throughput.astype(dtype), queue.astype(dtype)
    all_throughput = np.where(network.closed, 0, network.arrivals).astype(dtype)
    all_throughput[:, closed_network.classes] = closed_solution.throughput
    queues_at_all_stations = np.zeros(array_shape, dtype=dtype)
    queues_where_queueing = np.zeros((*array_shape[:2], len(closed_network.queueing)), dtype=dtype)
    queues_where_queueing[:, closed_network.classes] = queue
    queues_at_all_stations[:, :, closed_network.queueing] = queues_where_queueing
    queues_at_all_stations[:, :, network.is_delay] = (
        all_throughput[:, :, None] * network.demand[:, :, network.is_delay]
    )
    return all_throughput, queues_at_all_stations


def _number_probabilities(
    network: NetworkArrays, station: int, closed_probability: Array, load: Array
) -> Array:
    """Return P(n present), open customers included, for n = 0, 1, ... up to `MOST_SHOWN`, (P, n).

    Of n present m are closed with the probability chance(m) C(n, m) rho^(n-m) a(n) / F(m); see
    `closed_part`.
    """
    speed = speeds(network, station)
    point_count = len(load)
    numbers_present = np.arange(MOST_SHOWN)
    last_index = speed.shape[1] - 1
    speed = np.broadcast_to(speed, (point_count, last_index + 1))
    log_sums = _log_sums(speed, load, closed_probability.shape[1])
    log_speeds = np.log(speed[:, np.minimum(numbers_present, last_index)])
    sums_of_steps = np.cumsum(log_speeds[:, :-1], axis=1)
    log_products = -np.concatenate([np.zeros((point_count, 1)), sums_of_steps], axis=1)
    # Without load, numbers above 0 get weights that vanish, in place of NaN from 0 times log 0.
    log_load = np.log(np.where(load == 0, 1e-300, load))[:, None]
    probabilities = np.zeros(
        (point_count, MOST_SHOWN), dtype=np.result_type(closed_probability, log_products, log_load)
    )
    for m in range(min(closed_probability.shape[1], MOST_SHOWN)):
        n = numbers_present[m:]
        log_of_last_speed = max(0, m - last_index) * np.log(speed[:, -1] - load)
        log_of_sum = (log_sums[:, min(m, last_index)] - log_of_last_speed)[:, None]
        log_probability = _log_choose(n, m) + (n - m) * log_load + log_products[:, m:] - log_of_sum
        probabilities[:, m:] += closed_probability[:, m, None] * np.exp(log_probability)
    return probabilities


def _utilization(
    network: NetworkArrays,
    closed_network: ClosedPart,
    throughput: Array,
    no_closed_by_queue: dict[int, Array],
) -> Array:
    """Return the utilization (P, R, K); a station of several speeds is busy where anyone is
    present, and each class has its share of the work.
    """
    work_rate: Array = throughput[:, :, None] * network.demand
    if network.all_single:
        return work_rate
    utilization = work_rate / network.sharing_servers
    for queue_index, no_closed_probability in no_closed_by_queue.items():
        station_work = work_rate[:, :, closed_network.queueing[queue_index]]
        class_share = quotient(station_work, station_work.sum(axis=1, keepdims=True))
        utilization[:, :, closed_network.queueing[queue_index]] = (
            class_share
            * (1 - no_closed_probability * closed_network.empty_probability[queue_index])[:, None]
        )
    return utilization


Solver = Callable[[ClosedPart], ClosedSolution]
"""Returns the solution of closed classes in product form."""


def solve_mixed(
    network: NetworkArrays, method: str, solve: Solver, takes_populations_together: bool = False
) -> NetworkSolution:
    """Solve a network with open and closed classes: take the open classes out exactly, solve for
    the closed ones, and complete the solution.

    Parameters
    ----------
    network : at P points
    method : its name in the solution
    solve : solves for closed classes, which have the same population vector at all points
    takes_populations_together : whether it takes points of one class together whatever their
        populations

    Raises
    ------
    NoAnswerError : a station is saturated, or a cycle takes no time
    """
    closed_network = closed_part(network)
    check_some_time(
        network,
        closed_network.delay + sum_over_stations(closed_network.demand),
        closed_network.classes,
    )
    solution = _solve_closed(closed_network, solve, takes_populations_together)
    for result_name, result_values in (
        ("throughput", solution.throughput),
        ("queue", solution.queue),
    ):
        if not np.isfinite(result_values).all():
            raise NoAnswerError(
                f"{method}: a {result_name} leaves the range of doubles; look at the sizes of"
                " the demands"
            )
    open_time_factor = (
        closed_network.last_speed
        if network.all_closed
        else _open_time_factor(closed_network, solution)
    )
    return whole_solution(
        network,
        closed_network,
        solution,
        open_time_factor,
        _no_closed_probabilities(network, closed_network, solution),
        method,
    )


def check_some_time(network: NetworkArrays, cycle: Array, classes: Array) -> None:
    """Refuse closed classes with cycles that take no time: their throughput has no limit.

    Parameters
    ----------
    network : whose classes are named
    cycle : think time and demands of the closed classes (P, R)
    classes : which of the network's they are

    Raises
    ------
    NoAnswerError : naming the class
    """
    if cycle.all():
        return
    takes_no_time = (cycle == 0) & (network.population[:, classes] > 0)
    if takes_no_time.any():
        class_name = network.classes[classes[np.argwhere(takes_no_time)[0][1]]]
        reason = Unsolvable(
            f"a cycle of {class_name} takes no time: all its demands and its think time are 0"
        )
        raise NoAnswerError(reason)


def _solve_closed(
    closed_network: ClosedPart, solve: Solver, takes_populations_together: bool
) -> ClosedSolution:
    """Solve the closed classes at all points; points of equal populations are solved together, and
    classes without customers are left out.
    """
    if len(closed_network.population) == 1:
        return _solve_present(closed_network, solve)
    has_customers = closed_network.population > 0
    # Points of one class share a series whatever their populations; several classes need one
    # lattice for all points.
    joins_populations = takes_populations_together and (has_customers.sum(axis=1) <= 1).all()
    if has_customers.all() and (
        joins_populations or (closed_network.population == closed_network.population[0]).all()
    ):
        return _solve_present(closed_network, solve)
    distinct_populations, population_index_of_point = np.unique(
        has_customers if joins_populations else closed_network.population,
        axis=0,
        return_inverse=True,
    )
    points_by_population = [
        np.flatnonzero(population_index_of_point.reshape(-1) == population_index)
        for population_index in range(len(distinct_populations))
    ]
    return solve_in_parts(
        closed_network,
        points_by_population,
        lambda part_of_points: _solve_present(part_of_points, solve),
    )


def _solve_present(closed_network: ClosedPart, solve: Solver) -> ClosedSolution:
    """Solve for the closed classes that have customers; the throughput of the others is 0."""
    point_count, class_count, station_count = closed_network.demand.shape
    if class_count and closed_network.population.all():
        return solve(closed_network)
    present_classes = np.flatnonzero(closed_network.population.any(axis=0))
    if len(present_classes) == class_count > 0:
        return solve(closed_network)
    throughput = np.zeros_like(closed_network.delay)
    queue = np.zeros_like(closed_network.demand)
    if not len(present_classes):
        return ClosedSolution(
            throughput,
            queue,
            [np.ones((point_count, 1))] * station_count,
            np.ones(point_count, dtype=bool),
        )
    solution = solve(closed_network.select(slice(None), present_classes))
    dtype = np.result_type(solution.throughput, solution.queue)
    throughput = throughput.astype(dtype)
    queue = queue.astype(dtype)
    throughput[:, present_classes], queue[:, present_classes] = solution.throughput, solution.queue
    return replace(solution, throughput=throughput, queue=queue)


def _open_time_factor(closed_network: ClosedPart, solution: ClosedSolution) -> Array:
    """Return the factor by which closed customers prolong the service of an open customer at each
    station, E[(n + 1) / s(n + 1)] over their number n, (P, K).
    """
    time_factor: Array = (1 + solution.queue.sum(axis=1)) / closed_network.last_speed
    for queue_index, speed in closed_network.speeds_by_queue.items():
        probability = solution.probability[queue_index]
        assert probability is not None
        number_present = np.arange(probability.shape[1])
        speed_at_arrival = speed[:, np.minimum(number_present, speed.shape[1] - 1)]
        time_factor[:, queue_index] = (probability * (number_present + 1) / speed_at_arrival).sum(
            axis=1
        )
    return time_factor


def _no_closed_probabilities(
    network: NetworkArrays, closed_network: ClosedPart, solution: ClosedSolution
) -> dict[int, Array]:
    """Return P(no closed customer) at stations with rates, by place, (P,)."""
    no_closed_by_queue = dict[int, Array]()
    if network.all_single:
        return no_closed_by_queue
    for queue_index, station in enumerate(closed_network.queueing):
        if network.rates[station] is not None:
            number_probabilities = solution.probability[queue_index]
            closed_work_rate = (solution.throughput * closed_network.demand[:, :, queue_index]).sum(
                axis=1
            )
            no_closed_by_queue[queue_index] = (
                1 - closed_work_rate / closed_network.last_speed[:, queue_index]
                if number_probabilities is None
                else number_probabilities[:, 0]
            )
    return no_closed_by_queue
