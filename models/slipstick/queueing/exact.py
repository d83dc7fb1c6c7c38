"""Exact answers for product-form networks: open, closed and mixed, one class or many, any speeds.

`convolution` is a second exact method: the convolution of the stations' terms, in logarithms. It is
slower than `exact` and independent of it: no recurrence, no scale, every term of every sum written
out. The range of numbers never matters.
"""

from __future__ import annotations

from math import prod
from typing import Any

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick.limits import check_cost
from slipstick.queueing.mixed_classes import check_product_form, saturated, solve_mixed
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


def exact(network: NetworkArrays, marginals: bool = False) -> NetworkSolution:
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
    marginals : whether to give the probabilities of every station's number; those of stations with
        several speeds are given in any case

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
        return _single_queue(network)
    check_product_form(network)

    def solve(closed: ClosedPart) -> ClosedSolution:
        solve_classes = solve_single_class if len(closed.classes) == 1 else solve_multi_class
        return _mended(solve_classes(closed, marginals), closed)

    name = "exact mean values, by scaled normalizing constants"
    return solve_mixed(network, name, solve, populations_together=True)


def is_single_queue(network: NetworkArrays) -> bool:
    """Return whether a network without product form is one M/G/1 queue, or one M/M/c queue with
    ranks, delays aside, that every customer visits once at most.

    Delays leave Poisson streams as they are. The order may be any that looks at neither class nor
    service time, or ranks; at several servers ranks, with one exponential service time.
    """
    visits = network.visits.real
    queues = np.flatnonzero((network.demand.real != 0).any(axis=(0, 1)) & ~network.delays)
    if len(queues) != 1 or network.closed.any() or network.losses or network.not_poisson:
        return False
    k = int(queues[0])
    visited_once = np.isin(visits[:, :, k], (0, 1)).all()
    discipline = DISCIPLINES[network.discipline[k]]
    if not visited_once or not any(network.without_product_form):
        return False
    return bool(network.single[k] and discipline.queued) or _has_servers_with_ranks(network, k)


def _has_servers_with_ranks(network: NetworkArrays, k: int) -> bool:
    """Return whether a station has several servers, priorities, and one exponential service time
    for all classes.
    """
    present = (network.demand.real[:, :, k] != 0).any(axis=0)
    service = network.service.real[:, present, k]
    scv = network.scv.real[:, present, k]
    one_exponential = (service == service[:, :1]).all() and (scv == 1).all()
    several_servers = network.rates[k] is None and network.servers[k] > 1
    arriving = (network.arrivals.real[:, present] > 0).all()
    return bool(
        several_servers
        and one_exponential
        and arriving
        and DISCIPLINES[network.discipline[k]].ranked
    )


def _single_queue(network: NetworkArrays) -> NetworkSolution:
    """Return the mean values of one M/G/1 queue, with or without priorities; s is the load of the
    higher ranks, s' that load with the class's own rank.

    With R = sum of lambda E[S^2] / 2, a class waits R / ((1 - s) (1 - s')); with preemption R is
    that of the ranks up to its own, and its service takes E[S] / (1 - s). Without ranks s = 0 and
    s' is the whole load (Pollaczek-Khinchine).

    Source: Cobham, Oper. Res. 2(1), 1954, 70-76; Conway, Maxwell and Miller, Theory of Scheduling,
    1967, ch. 8.
    """
    for reason in saturated(network, network.limited).values():
        raise NoAnswerError(reason)
    is_visited = (network.demand.real != 0).any(axis=(0, 1))
    k = int(np.flatnonzero(is_visited & ~network.delays)[0])
    if not network.single[k]:
        return _servers_with_ranks(network, k)
    discipline = DISCIPLINES[network.discipline[k]]
    service = network.service[:, :, k]
    visits = network.visits[:, :, k]
    rate = network.arrivals * visits
    rank = network.priority[:, k] if discipline.ranked else np.zeros(len(network.classes))
    higher = (rank[:, None] < rank).astype(float)
    upto = (rank[:, None] <= rank).astype(float)
    residual = rate * service**2 * (1 + network.scv[:, :, k]) / 2
    share_free_of_higher = 1 - (rate * service) @ higher
    residual_work = (
        residual @ upto if discipline.preemptive else residual.sum(axis=1, keepdims=True)
    )
    # What is there on arrival is served beside what comes ahead of it: hence the own rank once, the
    # higher ranks twice.
    wait = residual_work / (share_free_of_higher * (1 - (rate * service) @ upto))
    residence = network.demand.astype(wait.dtype)
    residence[:, :, k] = visits * (
        wait + (service / share_free_of_higher if discipline.preemptive else service)
    )
    flow = network.arrivals[:, :, None]
    return NetworkSolution(
        throughput=network.arrivals.copy(),
        residence=residence,
        queue=flow * residence,
        utilization=flow * network.demand,
        probability=(None,) * len(network.stations),
        method="exact mean values of an M/G/1 queue",
        exact=True,
    )


def _servers_with_ranks(network: NetworkArrays, k: int) -> NetworkSolution:
    """Return the mean values of one M/M/c queue with priorities and one service time; s is the part
    of the servers that higher ranks keep busy, s' that part with the class's own rank.

    Without preemption a class waits C E[S] / c / ((1 - s) (1 - s')), with C the probability that all
    servers are busy. With preemption the ranks up to one are an M/M/c queue by themselves, so that a
    rank has the difference of the numbers present of two such queues.

    Source: Cobham, Oper. Res. 2(1), 1954, 70-76 (several servers: his second case); Buzen and Bondi,
    Oper. Res. 31(3), 1983, 456-465.
    """
    c = int(network.servers[k])
    visits = network.visits[:, :, k]
    present = (network.demand.real[:, :, k] != 0).any(axis=0)
    service = network.service[:, present, k][:, :1]
    rate = network.arrivals * visits
    rank = network.priority[:, k]
    higher = (rate @ (rank[:, None] < rank)) * service
    up_to = (rate @ (rank[:, None] <= rank)) * service
    if DISCIPLINES[network.discipline[k]].preemptive:
        # Lower ranks do not exist for higher ones, so the number of a rank is a difference of two
        # queues without ranks.
        number_of_rank = _number_present(up_to, c) - _number_present(higher, c)
        time = np.where(
            present, number_of_rank / np.where(present, up_to - higher, 1.0) * service, 0.0
        )
    else:
        load = rate.sum(axis=1, keepdims=True) * service
        residual_wait = erlang_c(load, c) * service / c
        time = service + residual_wait / ((1 - higher / c) * (1 - up_to / c))
    residence = network.demand.astype(time.dtype)
    residence[:, :, k] = visits * time
    flow = network.arrivals[:, :, None]
    busy = np.where(network.delays, 1, network.servers)
    return NetworkSolution(
        throughput=network.arrivals.copy(),
        residence=residence,
        queue=flow * residence,
        utilization=flow * network.demand / busy,
        probability=(None,) * len(network.stations),
        method="exact mean values of an M/M/c queue with ranks",
        exact=True,
    )


def _number_present(load: Array, servers: int) -> Array:
    """Return the mean number present in an M/M/c queue."""
    # Little's law for the queue: C a / (c - a) wait, with the load a in erlang.
    waiting = erlang_c(np.where(load == 0, 1.0, load), servers) * load / (servers - load)
    return np.where(load == 0, 0.0, load + waiting)


def _mended(answer: ClosedSolution, closed: ClosedPart) -> ClosedSolution:
    """Solve again, in logarithms, the few points whose constants left the range of doubles."""
    if answer.in_range.all():
        return answer
    throughput = answer.throughput.copy()
    queue = answer.queue.copy()
    shown = list(answer.probability)
    for point in np.flatnonzero(~answer.in_range):
        single = slice(point, point + 1)
        solution = solve_logarithms(closed.select(single))
        throughput[single], queue[single] = solution.throughput, solution.queue
        for k, (chance, own) in enumerate(zip(shown, solution.probability, strict=True)):
            if chance is not None and own is not None:
                shown[k] = mended = chance.copy()
                mended[single] = 0
                mended[single, : own.shape[1]] = own
    return ClosedSolution(throughput, queue, shown, np.ones_like(answer.in_range))


def convolution(network: NetworkArrays) -> NetworkSolution:
    r"""Solve a product-form network by convolution, with the probabilities of every station's
    number.

        G = f_1 * f_2 * ... * f_K,    f_k(n) = |n|! / (s_k(1) ... s_k(|n|)) prod over r of D_rk^n_r / n_r!
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


def solve_logarithms(closed: ClosedPart) -> ClosedSolution:
    """Solve closed classes, of the same populations at all points, by convolution.

    Raises
    ------
    NoAnswerError : too many terms
    """
    demand = closed.demand
    last = closed.last
    several = closed.several
    population = closed.population
    points, classes, stations = demand.shape
    box = tuple(int(customers) + 1 for customers in population[0])
    work = points * (stations + 1) * prod(box) ** 2
    work_in_words = f"convolution in logarithms would take {work:,} terms"
    check_cost("terms", work, work_in_words, "ask for exact, for linearizer or schweitzer")
    ones = np.ones((1, 1))
    load = [demand[:, :, k] / (1 if k in several else last[:, k, None]) for k in range(stations)]
    own = [_terms(station_load, several.get(k, ones), box) for k, station_load in enumerate(load)]
    away = _terms(closed.delay, np.arange(1.0, sum(box) + 1)[None], box)
    # The network without a station is the product of those before and those behind it: 3 K
    # convolutions instead of K^2.
    products_before = [away]
    products_after = [np.full(away.shape, -np.inf)]
    products_after[0].reshape(points, -1)[:, 0] = 0
    for terms in own:
        products_before.append(_convolve(products_before[-1], terms))
    for terms in own[:0:-1]:
        products_after.insert(0, _convolve(products_after[0], terms))
    corner = tuple(n - 1 for n in box)
    ends: list[Any] = [
        corner,
        *(tuple(n - (i == r) for i, n in enumerate(corner)) for r in range(classes)),
    ]
    corners = [products_before[-1][(slice(None), *place)] for place in ends]
    queue = np.zeros(demand.shape, dtype=corners[0].dtype)
    shown = list[Array | None]()
    present = np.indices(box).reshape(classes, -1)
    for k, terms in enumerate(own):
        elsewhere = _convolve(products_before[k], products_after[k])
        total = corners[0].reshape(points, *(1,) * classes)
        chance = np.exp(terms + elsewhere[_backwards(corner)] - total)
        queue[:, :, k] = chance.reshape(points, -1) @ present.T
        is_number = np.eye(sum(corner) + 1)[present.sum(axis=0)]
        shown.append(chance.reshape(points, -1) @ is_number)
    throughput = np.exp(np.stack(corners[1:], axis=1) - corners[0][:, None])
    return ClosedSolution(throughput, queue, shown, np.ones(points, dtype=bool))


def _terms(load: Array, speed: Array, box: tuple[int, ...]) -> Array:
    """Return the logarithm of a station's factor f(n) in the product form, at every population n,
    (P, n_1.., n_R).
    """
    present = np.indices(box)
    total = present.sum(axis=0)
    ranks = np.arange(total.max() + 1)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(ranks[1:]))])
    pace = np.log(speed[:, np.minimum(ranks[1:] - 1, speed.shape[1] - 1)])
    nothing = np.zeros((len(pace), 1))
    paces = np.concatenate([nothing, np.cumsum(pace, axis=1)], axis=1)
    # Zero has no logarithm; exp(-1e5) is zero too.
    logs = np.where(load == 0, -1e5, np.log(np.where(load == 0, 1, load)))
    terms: Array = factorial[total] - factorial[present].sum(axis=0) - paces[:, total]
    for r, count in enumerate(present):
        terms = terms + logs[:, r].reshape(-1, *(1,) * len(box)) * count
    return terms


def _convolve(a: Array, b: Array) -> Array:
    """Convolve two arrays that are given by their logarithms, and return the logarithms of the
    result, (P, n_1.., n_R).
    """
    product = np.empty(a.shape, dtype=np.result_type(a, b))
    for place in np.ndindex(*a.shape[1:]):
        box: Any = (slice(None), *(slice(n + 1) for n in place))
        terms = (a[box] + b[box][_backwards(place)]).reshape(len(a), -1)
        # With the largest term taken out, the sum neither over- nor underflows.
        top = terms.real.max(axis=1, keepdims=True)
        target: Any = (slice(None), *place)
        product[target] = np.log(np.exp(terms - top).sum(axis=1)) + top[:, 0]
    return product


def _backwards(place: tuple[int, ...]) -> Any:
    return (slice(None), *(slice(None, None, -1) for _ in place))
