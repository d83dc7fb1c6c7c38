"""Exact answers for product-form networks: open, closed and mixed, one class or many, any speeds."""

from __future__ import annotations

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.queueing.lattice import solve_lattice
from slipstick.queueing.load import Closed, check_product_form, closed_part, settle, speeds
from slipstick.queueing.network import Array, Network, Solution
from slipstick.queueing.series import ClosedAnswer, solve_series

__all__ = ["exact"]


def exact(network: Network, marginals: bool = False) -> Solution:
    r"""Solve a product-form network exactly.

    The mean values of exact MVA, by the linear recurrences behind it: with G(n) the normalizing constant,
    X(n) = G(n-1) / G(n) and Q_k(n) G(n) = D_k (1 + Q_k(n-1)) G(n-1). In that form every term is positive, so
    stations of many servers and populations of thousands keep twelve digits, and the recurrence over n runs in C
    for all points together. Open classes are taken out first, exactly.

    Parameters
    ----------
    network : stations in product form; see `check_product_form`
    marginals : whether to give the probabilities of every station's number; those of stations with
        several speeds are given in any case

    Raises
    ------
    ModelError : the network has no product form
    NoAnswerError : a station is saturated, the lattice of populations is too large, or nothing takes any time

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322; Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975.

    >>> from slipstick.queueing.network import network
    >>> two = network([0.6, 0.4], population=[[1], [2]], think=1.0)
    >>> exact(two).throughput[:, 0]
    array([0.5   , 0.8   ])
    """
    check_product_form(network)
    closed = closed_part(network)
    check_some_time(network, closed)
    answer = _closed_answer(closed, marginals)
    if not answer.sound.all():
        answer = _in_logarithms(closed, answer)
    return settle(
        network,
        closed,
        answer.throughput,
        answer.queue,
        ahead(closed, answer),
        _shown(network, closed, answer),
        _idle(network, closed, answer),
        method="exact mean values, by scaled normalizing constants",
    )


def check_some_time(network: Network, closed: Closed) -> None:
    """Refuse a closed class whose cycle takes no time: its throughput has no limit.

    Raises
    ------
    NoAnswerError : naming the class
    """
    cycle = closed.delay + closed.demand.sum(axis=2)
    wrong = (cycle == 0) & (closed.population > 0)
    if wrong.any():
        name = network.classes[closed.classes[np.argwhere(wrong)[0][1]]]
        raise NoAnswerError(f"a cycle of {name} takes no time: all its demands and its think time are 0")


def _closed_answer(closed: Closed, marginals: bool) -> ClosedAnswer:
    """Solve all points, those of one vector of populations together; classes without customers drop out."""
    points, classes, stations = closed.demand.shape
    kind = np.result_type(closed.demand, closed.delay, *closed.speeds)
    throughput, queue = np.zeros((points, classes), kind), np.zeros((points, classes, stations), kind)
    sound = np.ones(points, dtype=bool)
    shown: list[Array | None] = [None] * stations
    present = closed.population > 0
    if (present.sum(axis=1) <= 1).all() and (classes <= 1 or (present == present[0]).all()):
        groups = [np.arange(points)]
    else:
        vectors, group = np.unique(closed.population, axis=0, return_inverse=True)
        groups = [np.flatnonzero(group.reshape(-1) == each) for each in range(len(vectors))]
    for chosen in groups:
        few = np.flatnonzero(present[chosen].any(axis=0))
        part = _solve(closed, chosen, few, marginals)
        throughput[np.ix_(chosen, few)] = part.throughput
        queue[np.ix_(chosen, few)] = part.queue
        sound[chosen] = part.sound
        for k, each in enumerate(part.probability):
            shown[k] = _placed(shown[k], each, chosen, points)
    return ClosedAnswer(throughput, queue, shown, sound)


def _solve(closed: Closed, chosen: Array, few: Array, marginals: bool) -> ClosedAnswer:
    some = [each if len(each) == 1 else each[chosen] for each in closed.speeds]
    demand = closed.demand[chosen][:, few]
    if len(few) == 1:
        delay, population = closed.delay[chosen, few], closed.population[chosen, few]
        return solve_series(demand[:, 0], some, delay, population, marginals)
    if len(few) == 0:
        ones = [np.ones((len(chosen), 1)) for _ in some]
        return ClosedAnswer(demand.sum(axis=2), demand, list(ones), np.ones(len(chosen), dtype=bool))
    return solve_lattice(demand, some, closed.delay[chosen][:, few], closed.population[chosen[0], few], marginals)


def _placed(whole: Array | None, part: Array | None, chosen: Array, points: int) -> Array | None:
    """Put some points' probabilities among those of all, padded with zeros to the longest."""
    if part is None:
        return whole
    if len(part) == points:
        return part
    old = np.zeros((points, 0)) if whole is None else whole
    placed = np.zeros((points, max(old.shape[1], part.shape[1])), dtype=np.result_type(old, part))
    placed[:, : old.shape[1]] = old
    placed[chosen, : part.shape[1]] = part
    return placed


def _in_logarithms(closed: Closed, answer: ClosedAnswer) -> ClosedAnswer:
    raise NoAnswerError("the scaled constants leave the range of doubles")


def ahead(closed: Closed, answer: ClosedAnswer) -> Array:
    """Give E[(n + 1) / s(n + 1)] over the closed customers n of each station, (P, K)."""
    columns = []
    for k, speed in enumerate(closed.speeds):
        if speed.shape[1] == 1:
            columns.append((1 + answer.queue[:, :, k].sum(axis=1)) / speed[:, 0])
            continue
        chance = answer.probability[k]
        assert chance is not None
        n = np.arange(1.0, chance.shape[1] + 1)
        pace = speed[:, np.minimum(np.arange(len(n)), speed.shape[1] - 1)]
        columns.append((chance * n / pace).sum(axis=1))
    return np.stack(columns, axis=1) if columns else np.zeros((len(closed.demand), 0))


def _idle(network: Network, closed: Closed, answer: ClosedAnswer) -> dict[int, Array]:
    found = {}
    for place, station in enumerate(closed.queueing):
        if network.rates[station] is not None:
            chance = answer.probability[place]
            found[place] = (
                chance[:, 0]
                if chance is not None
                else 1
                - (answer.throughput[:, :, None] * closed.demand).sum(axis=1)[:, place] / closed.speeds[place][:, 0]
            )
    return found


def _shown(network: Network, closed: Closed, answer: ClosedAnswer) -> list[Array | None]:
    return answer.probability
