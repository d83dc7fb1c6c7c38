"""Exact answers for product-form networks: open, closed and mixed, one class or many, any speeds.

`convolution` is a second exact method: the convolution of the stations' terms, in logarithms. It is
slower than `exact` and independent of it: no recurrence, no scale, every term of every sum written
out. The range of numbers never matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick.limits import check_cost
from slipstick.queueing.mixed_classes import check_product_form, saturation_reasons, solve_mixed
from slipstick.queueing.network import (
    Array,
    ClosedPart,
    ClosedSolution,
    NetworkArrays,
    NetworkSolution,
)
from slipstick.queueing.normalizing_constants import solve_multi_class, solve_single_class
from slipstick.queueing.residual_wait import erlang_c
from slipstick.vocabulary import DISCIPLINES


def exact(network: NetworkArrays, with_marginals: bool = False) -> NetworkSolution:
    r"""Solve a product-form network exactly.

    The mean values of exact MVA, by the linear recurrences behind it: with G(n) the normalizing
    constant, X(n) = G(n-1) / G(n) and Q_k(n) G(n) = D_k (1 + Q_k(n-1)) G(n-1). In that form every
    term is positive, so stations of many servers and populations of thousands keep twelve digits,
    and the recurrence over n runs in C for all points together. Open classes are taken out first,
    exactly.

    Parameters
    ----------
    network : stations in product form, see `check_product_form`, or one queue as `is_single_queue`
        says
    with_marginals : whether to give the probabilities of every station's number; those of stations
        with several speeds are given in any case

    Raises
    ------
    ModelError : the network has no product form
    NoAnswerError : a station is saturated, the lattice of populations is too large, or nothing
        takes any time

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322; Reiser and Kobayashi, IBM J. Res.
    Dev. 19(3), 1975.

    >>> from slipstick.queueing.network import network_arrays
    >>> two = network_arrays([0.6, 0.4], population=[[1], [2]], think=1.0)
    >>> exact(two).throughput[:, 0]
    array([0.5       , 0.88495575])
    """
    if is_single_queue(network):
        return _solve_single_queue(network)
    check_product_form(network)

    def solve_closed_part(closed_network: ClosedPart) -> ClosedSolution:
        """Solve for the closed classes by normalizing constants."""
        solve_classes = (
            solve_single_class if len(closed_network.classes) == 1 else solve_multi_class
        )
        return _solved_in_range(solve_classes(closed_network, with_marginals), closed_network)

    method_name = "exact mean values, by scaled normalizing constants"
    return solve_mixed(network, method_name, solve_closed_part, takes_populations_together=True)


def slopes_of_throughput(network: NetworkArrays) -> tuple[Array, Array, Array]:
    r"""Return the throughput of one closed class at the first point (1,), and the relative
    derivatives of it by the logarithm of the demand at each station (K,) and by the think time
    (1,).

    With G the normalizing constant, d ln G(N) / d ln D_k is the mean queue Q_k(N), and X is G(N -
    1) / G(N). So two solutions give all derivatives: of N and of N - 1 customers.

    Source: de Souza e Silva and Muntz, IEEE Trans. Computers 37(9), 1988, 1125-1129.
    """
    repeated_network = network.select([0, 0])
    solution = exact(
        replace(repeated_network, population=repeated_network.population - np.array([[0], [1]]))
    )
    queue_change = (solution.queue[1] - solution.queue[0]).real
    think_change = (solution.throughput[1] - solution.throughput[0]).real
    return solution.throughput[0].real, queue_change[0], think_change


def is_single_queue(network: NetworkArrays) -> bool:
    """Return whether a network without product form is one M/G/1 queue, or one M/M/c queue with
    ranks, delays aside, that every customer visits once at most.

    Delays leave Poisson streams as they are. The order may be any that looks at neither class nor
    service time, or ranks; at several servers ranks, with one exponential service time.
    """
    visits = network.visits.real
    queue_stations = np.flatnonzero((network.demand.real != 0).any(axis=(0, 1)) & ~network.is_delay)
    if (
        len(queue_stations) != 1
        or network.closed.any()
        or network.loss_reason
        or network.non_poisson_reason
    ):
        return False
    station = int(queue_stations[0])
    visited_once = np.isin(visits[:, :, station], (0, 1)).all()
    discipline = DISCIPLINES[network.discipline[station]]
    if not visited_once or not any(network.reasons_against_product_form):
        return False
    return bool(network.is_single[station] and discipline.queued) or _has_servers_with_ranks(
        network, station
    )


def _has_servers_with_ranks(network: NetworkArrays, station: int) -> bool:
    """Return whether a station has several servers, priorities, and one exponential service time
    for all classes.
    """
    is_visiting_class = (network.demand.real[:, :, station] != 0).any(axis=0)
    service = network.service.real[:, is_visiting_class, station]
    scv = network.scv.real[:, is_visiting_class, station]
    is_one_exponential = (service == service[:, :1]).all() and (scv == 1).all()
    has_several_servers = network.rates[station] is None and network.servers[station] > 1
    all_classes_arrive = (network.arrivals.real[:, is_visiting_class] > 0).all()
    return bool(
        has_several_servers
        and is_one_exponential
        and all_classes_arrive
        and DISCIPLINES[network.discipline[station]].ranked
    )


def _solve_single_queue(network: NetworkArrays) -> NetworkSolution:
    """Return the mean values of one M/G/1 queue, with or without priorities; s is the load of the
    higher ranks, s' that load with the class's own rank.

    With R = sum of lambda E[S^2] / 2, a class waits R / ((1 - s) (1 - s')); with preemption R is
    that of the ranks up to its own, and its service takes E[S] / (1 - s). Without ranks s = 0 and
    s' is the whole load (Pollaczek-Khinchine).

    Source: Cobham, Oper. Res. 2(1), 1954, 70-76; Conway, Maxwell and Miller, Theory of Scheduling,
    1967, ch. 8.
    """
    for reason in saturation_reasons(network, network.has_capacity).values():
        raise NoAnswerError(reason)
    is_visited = (network.demand.real != 0).any(axis=(0, 1))
    station = int(np.flatnonzero(is_visited & ~network.is_delay)[0])
    if not network.is_single[station]:
        return _solve_servers_with_ranks(network, station)
    discipline = DISCIPLINES[network.discipline[station]]
    service = network.service[:, :, station]
    visits_to_station = network.visits[:, :, station]
    arrival_rate = network.arrivals * visits_to_station
    rank_of_class = (
        network.priority[:, station] if discipline.ranked else np.zeros(len(network.classes))
    )
    is_of_higher_rank = (rank_of_class[:, None] < rank_of_class).astype(float)
    is_of_rank_up_to_own = (rank_of_class[:, None] <= rank_of_class).astype(float)
    residual_by_class = arrival_rate * service**2 * (1 + network.scv[:, :, station]) / 2
    share_free_of_higher = 1 - (arrival_rate * service) @ is_of_higher_rank
    residual_work = (
        residual_by_class @ is_of_rank_up_to_own
        if discipline.preemptive
        else residual_by_class.sum(axis=1, keepdims=True)
    )
    # What is there on arrival is served beside what comes ahead of it: hence the own rank once, the
    # higher ranks twice.
    waiting_times = residual_work / (
        share_free_of_higher * (1 - (arrival_rate * service) @ is_of_rank_up_to_own)
    )
    residence = network.demand.astype(waiting_times.dtype)
    residence[:, :, station] = visits_to_station * (
        waiting_times + (service / share_free_of_higher if discipline.preemptive else service)
    )
    throughput = network.arrivals[:, :, None]
    return NetworkSolution(
        # A copy: who changes the solution must not change the arrivals of the network.
        throughput=network.arrivals.copy(),
        residence=residence,
        queue=throughput * residence,
        utilization=throughput * network.demand,
        probability=(None,) * len(network.stations),
        method="exact mean values of an M/G/1 queue",
        exact=True,
    )


def _solve_servers_with_ranks(network: NetworkArrays, station: int) -> NetworkSolution:
    """Return the mean values of one M/M/c queue with priorities and one service time; s is the part
    of the servers that higher ranks keep busy, and s' the part that they and the class's own rank
    keep busy.

    Without preemption a class waits C E[S] / c / ((1 - s) (1 - s')), with C the probability that
    all servers are busy. With preemption the ranks up to one are an M/M/c queue by themselves, so
    that a rank has the difference of the numbers present of two such queues.

    Source: Cobham, Oper. Res. 2(1), 1954, 70-76 (several servers: his second case); Buzen and
    Bondi, Oper. Res. 31(3), 1983, 456-465.
    """
    servers = int(network.servers[station])
    visits_to_station = network.visits[:, :, station]
    is_visiting_class = (network.demand.real[:, :, station] != 0).any(axis=0)
    service = network.service[:, is_visiting_class, station][:, :1]
    arrival_rate = network.arrivals * visits_to_station
    rank_of_class = network.priority[:, station]
    load_of_higher = (arrival_rate @ (rank_of_class[:, None] < rank_of_class)) * service
    load_up_to_own = (arrival_rate @ (rank_of_class[:, None] <= rank_of_class)) * service
    if DISCIPLINES[network.discipline[station]].preemptive:
        # Lower ranks do not exist for higher ones, so the number of a rank is a difference of two
        # queues without ranks.
        number_of_rank = _number_present(load_up_to_own, servers) - _number_present(
            load_of_higher, servers
        )
        residence_per_visit = np.where(
            is_visiting_class,
            number_of_rank
            / np.where(is_visiting_class, load_up_to_own - load_of_higher, 1.0)
            * service,
            0.0,
        )
    else:
        load = arrival_rate.sum(axis=1, keepdims=True) * service
        residual_wait = erlang_c(load, servers) * service / servers
        residence_per_visit = service + residual_wait / (
            (1 - load_of_higher / servers) * (1 - load_up_to_own / servers)
        )
    residence = network.demand.astype(residence_per_visit.dtype)
    residence[:, :, station] = visits_to_station * residence_per_visit
    throughput = network.arrivals[:, :, None]
    server_count = np.where(network.is_delay, 1, network.servers)
    return NetworkSolution(
        throughput=network.arrivals.copy(),
        residence=residence,
        queue=throughput * residence,
        utilization=throughput * network.demand / server_count,
        probability=(None,) * len(network.stations),
        method="exact mean values of an M/M/c queue with ranks",
        exact=True,
    )


def _number_present(load: Array, servers: int) -> Array:
    """Return the mean number present in an M/M/c queue."""
    # Little's law for the queue: C a / (c - a) wait, with the load a in erlang.
    mean_waiting = erlang_c(np.where(load == 0, 1.0, load), servers) * load / (servers - load)
    return np.where(load == 0, 0.0, load + mean_waiting)


def _solved_in_range(solution: ClosedSolution, closed_network: ClosedPart) -> ClosedSolution:
    """Return a solution in which the few points whose constants left the range of doubles are
    solved again: without probabilities by the recursion of mean values, else in logarithms.
    """
    if solution.in_range.all():
        return solution
    has_tables = any(
        probabilities_of_queue is not None for probabilities_of_queue in solution.probability
    )
    has_one_class = closed_network.demand.shape[1] == 1
    solve_point = _solve_by_recursion if has_one_class and not has_tables else solve_logarithms
    # The arrays may be views of others.
    throughput = solution.throughput.copy()
    queue = solution.queue.copy()
    probabilities = [
        probabilities_of_queue if probabilities_of_queue is None else probabilities_of_queue.copy()
        for probabilities_of_queue in solution.probability
    ]
    for point_index in np.flatnonzero(~solution.in_range):
        point_solution = solve_point(closed_network.select([point_index]))
        throughput[point_index], queue[point_index] = (
            point_solution.throughput[0],
            point_solution.queue[0],
        )
        for probabilities_of_queue, point_table in zip(
            probabilities, point_solution.probability, strict=True
        ):
            if probabilities_of_queue is not None and point_table is not None:
                probabilities_of_queue[point_index] = 0
                probabilities_of_queue[point_index, : point_table.shape[1]] = point_table[0]
    return ClosedSolution(throughput, queue, probabilities, np.ones_like(solution.in_range))


def _solve_by_recursion(closed_network: ClosedPart) -> ClosedSolution:
    """Solve one class at single servers by mean value analysis, one customer after another.

    Raises
    ------
    NoAnswerError : too many steps
    """
    service = closed_network.demand / closed_network.last_speed[:, None]
    population = int(closed_network.population[0, 0])
    step_count = population * service.shape[2]
    cost_text = f"exact mean value analysis would take {step_count:,} steps"
    check_cost("lattice", step_count, cost_text, "ask for linearizer or schweitzer")
    queue = np.zeros_like(service)
    throughput = np.zeros_like(closed_network.delay)
    for customer_count in range(1, population + 1):
        residence = service * (1 + queue)
        throughput = customer_count / (closed_network.delay + residence.sum(axis=2))
        queue = throughput[:, :, None] * residence
    return ClosedSolution(
        throughput, queue, [None] * service.shape[2], np.ones(len(service), dtype=bool)
    )


def convolution(network: NetworkArrays) -> NetworkSolution:
    r"""Solve a product-form network by convolution; the solution includes the probabilities of the
    number present at every station.

        G = f_1 * f_2 * ... * f_K
        f_k(n) = |n|! / (s_k(1) ... s_k(|n|)) prod over r of D_rk^n_r / n_r!
        X_r(N) = G(N - e_r) / G(N),   P(n at k) = f_k(n) G_without_k(N - n) / G(N)

    All in logarithms, each sum with its largest term taken out.

    Raises
    ------
    ModelError : the network has no product form
    NoAnswerError : a station is saturated, nothing takes any time, or there are too many terms

    Source: Buzen, Comm. ACM 16(9), 1973, 527-531; Reiser and Kobayashi, IBM J. Res. Dev. 19(3),
    1975, 283-294.

    >>> from slipstick.queueing.network import network_arrays
    >>> answer = convolution(network_arrays([0.6, 0.4], population=2))
    >>> answer.probability[0]
    array([[0.21052632, 0.31578947, 0.47368421]])
    """
    check_product_form(network)
    return solve_mixed(network, "convolution in logarithms", solve_logarithms)


def solve_logarithms(closed_network: ClosedPart) -> ClosedSolution:
    """Solve closed classes, of the same populations at all points, by convolution.

    Raises
    ------
    NoAnswerError : too many terms
    """
    demand = closed_network.demand
    last_speed = closed_network.last_speed
    speeds_by_queue = closed_network.speeds_by_queue
    population = closed_network.population
    point_count, class_count, station_count = demand.shape
    lattice_shape = tuple(int(customers) + 1 for customers in population[0])
    term_count = point_count * (station_count + 1) * prod(lattice_shape) ** 2
    cost_text = f"convolution in logarithms would take {term_count:,} terms"
    check_cost("terms", term_count, cost_text, "ask for exact, for linearizer or schweitzer")
    constant_speed = np.ones((1, 1))
    load_by_queue = [
        demand[:, :, queue_index]
        / (1 if queue_index in speeds_by_queue else last_speed[:, queue_index, None])
        for queue_index in range(station_count)
    ]
    terms_by_queue = [
        _log_terms(station_load, speeds_by_queue.get(queue_index, constant_speed), lattice_shape)
        for queue_index, station_load in enumerate(load_by_queue)
    ]
    think_terms = _log_terms(
        closed_network.delay, np.arange(1.0, sum(lattice_shape) + 1)[None], lattice_shape
    )
    products_before, products_after = _products_around_queues(think_terms, terms_by_queue)
    full_population = tuple(size - 1 for size in lattice_shape)
    end_populations: list[Any] = [
        full_population,
        *(
            tuple(size - (axis == class_index) for axis, size in enumerate(full_population))
            for class_index in range(class_count)
        ),
    ]
    log_constants = [
        products_before[-1][(slice(None), *end_population)] for end_population in end_populations
    ]
    queue = np.zeros(demand.shape, dtype=log_constants[0].dtype)
    probability_by_queue = list[Array | None]()
    populations = np.indices(lattice_shape).reshape(class_count, -1)
    for queue_index, log_terms in enumerate(terms_by_queue):
        other_log_terms = _convolve_logarithms(
            products_before[queue_index], products_after[queue_index]
        )
        log_constant = log_constants[0].reshape(point_count, *(1,) * class_count)
        probability = np.exp(
            log_terms + other_log_terms[_reversed_slices(full_population)] - log_constant
        )
        queue[:, :, queue_index] = probability.reshape(point_count, -1) @ populations.T
        has_number_present = np.eye(sum(full_population) + 1)[populations.sum(axis=0)]
        probability_by_queue.append(probability.reshape(point_count, -1) @ has_number_present)
    throughput = np.exp(np.stack(log_constants[1:], axis=1) - log_constants[0][:, None])
    return ClosedSolution(throughput, queue, probability_by_queue, np.ones(point_count, dtype=bool))


def _products_around_queues(
    think_terms: Array, terms_by_queue: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Return, in logarithms, the products of the stations before each queue, the last of all
    stations, and the products of the stations behind each queue.

    The network without a station is the product of the two: 3 K convolutions instead of K^2.
    """
    products_before = [think_terms]
    for terms in terms_by_queue:
        products_before.append(_convolve_logarithms(products_before[-1], terms))
    product_of_none = np.full(think_terms.shape, -np.inf)
    product_of_none.reshape(len(think_terms), -1)[:, 0] = 0
    products_after = [product_of_none]
    for terms in terms_by_queue[:0:-1]:
        products_after.insert(0, _convolve_logarithms(products_after[0], terms))
    return products_before, products_after


def _log_terms(load: Array, speed: Array, lattice_shape: tuple[int, ...]) -> Array:
    """Return the logarithm of a station's factor f(n) in the product form, at every population n,
    (P, n_1.., n_R).
    """
    populations = np.indices(lattice_shape)
    total_population = populations.sum(axis=0)
    customer_numbers = np.arange(total_population.max() + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(customer_numbers[1:]))])
    log_speed = np.log(speed[:, np.minimum(customer_numbers[1:] - 1, speed.shape[1] - 1)])
    zeros = np.zeros((len(log_speed), 1))
    log_speed_sums = np.concatenate([zeros, np.cumsum(log_speed, axis=1)], axis=1)
    # Zero has no logarithm; exp(-1e5) is zero too.
    log_load = np.where(load == 0, -1e5, np.log(np.where(load == 0, 1, load)))
    terms: Array = (
        log_factorial[total_population]
        - log_factorial[populations].sum(axis=0)
        - log_speed_sums[:, total_population]
    )
    for class_index, class_customers in enumerate(populations):
        terms = (
            terms
            + log_load[:, class_index].reshape(-1, *(1,) * len(lattice_shape)) * class_customers
        )
    return terms


def _convolve_logarithms(left_logs: Array, right_logs: Array) -> Array:
    """Convolve two arrays that are given by their logarithms, and return the logarithms of the
    result, (P, n_1.., n_R).
    """
    product = np.empty(left_logs.shape, dtype=np.result_type(left_logs, right_logs))
    for population in np.ndindex(*left_logs.shape[1:]):
        subpopulations: Any = (slice(None), *(slice(count + 1) for count in population))
        log_terms = (
            left_logs[subpopulations] + right_logs[subpopulations][_reversed_slices(population)]
        ).reshape(len(left_logs), -1)
        # With the largest term taken out, the sum neither over- nor underflows.
        largest_log_term = log_terms.real.max(axis=1, keepdims=True)
        population_index: Any = (slice(None), *population)
        product[population_index] = (
            np.log(np.exp(log_terms - largest_log_term).sum(axis=1)) + largest_log_term[:, 0]
        )
    return product


def _reversed_slices(population: tuple[int, ...]) -> Any:
    """Return the index that reverses the axes of the populations of an array (P, n_1.., n_R)."""
    return (slice(None), *(slice(None, None, -1) for _ in population))
