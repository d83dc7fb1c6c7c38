"""Approximate answers for networks of many classes and customers, or without a product form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from slipstick.queueing.core import NEWTON_RULE, SUBSTITUTION_RULE, newton, substitute
from slipstick.queueing.groups import check_some_time
from slipstick.queueing.load import Closed, closed_part, open_load, settle, speeds, why_no_product_form
from slipstick.queueing.network import Array, Network, Solution

__all__ = ["linearizer", "schweitzer"]

ROUNDS = 3
"""Of Linearizer, as published."""

Core = Callable[[Array, Array | None], tuple[Array, Array, int]]
"""From customers (B, R) and shifts (B, R, R, K): throughput, residence and steps. B are points x variants."""

Road = Callable[[Core, Array], tuple[Array, Array, int]]


def schweitzer(network: Network) -> Solution:
    r"""Solve approximately, with the queues that an arriving customer meets in proportion to the population.

        Q_jk(N - e_r) = Q_jk(N) (N_j - [j = r]) / N_j

    Takes any network; what a customer then waits is in `waits`. The cost does not grow with the population.

    Raises
    ------
    NoAnswerError : an open class saturates a station, nothing takes any time, or the iteration does not settle

    Source: Schweitzer, Int. Conf. on Stochastic Control and Optimization, Amsterdam, 1979; Bard, 1979.

    >>> from slipstick.queueing.network import network
    >>> answer = schweitzer(network([0.6, 0.4], population=2, think=1.0))
    >>> answer.throughput, answer.exact
    (array([[0.87086859]]), False)
    """
    return _solve(network, "Bard-Schweitzer", lambda core, count: core(count, None))


def linearizer(network: Network) -> Solution:
    r"""Solve approximately, with the shares of the queues corrected for the customer who has left.

        Q_jk(N - e_r) = (N_j - [j = r]) (F_jk + D_jkr),   F = Q / N,   D_jkr = F_jk(N - e_r) - F_jk(N)

    The variant as published: D is 0 at first, three rounds renew it from the fixed points at N and all N - e_r,
    and the fixed point at N ends it. Costs R + 1 times what Bard-Schweitzer does, and errs much less.

    Raises
    ------
    NoAnswerError : an open class saturates a station, nothing takes any time, or the iteration does not settle

    Source: Chandy and Neuse, Comm. ACM 25(2), 1982, 126-134.

    >>> from slipstick.queueing.network import network
    >>> linearizer(network([0.6, 0.4], population=2, think=1.0)).throughput
    array([[0.88504362]])
    """
    return _solve(network, f"Linearizer, {ROUNDS} rounds", _linearize)


def _solve(network: Network, name: str, road: Road) -> Solution:
    plain = (network.single | network.delays).all()
    if plain and not any(why_no_product_form(network, station) for station in range(len(network.stations))):
        return _product_form(network, name, road)
    return _general(network, name, road)


def _product_form(network: Network, name: str, road: Road) -> Solution:
    """Solve for delays and single servers: open classes taken out exactly, then by Newton's method."""
    closed = closed_part(network)
    check_some_time(network, closed.delay + closed.demand.sum(axis=2), closed.classes)
    demand = closed.demand / closed.last[:, None]

    def core(count: Array, shift: Array | None) -> tuple[Array, Array, int]:
        copies = len(count) // len(demand)
        change = 0.0 if shift is None else shift.sum(axis=2)
        return newton(np.repeat(demand, copies, axis=0), np.repeat(closed.delay, copies, axis=0), count, change)

    flow, time, steps = road(core, closed.population.astype(float))
    queue = flow[:, :, None] * time
    met = (1 + queue.sum(axis=1)) / closed.last
    idle = _idle(network, closed, flow)
    nothing: list[Array | None] = [None] * demand.shape[2]
    answer = settle(network, closed, flow, queue, met, nothing, idle, name)
    return replace(answer, exact=not closed.classes.size, rule=NEWTON_RULE, iterations=steps)


def _idle(network: Network, closed: Closed, flow: Array) -> dict[int, Array]:
    return {
        place: 1 - (flow * closed.demand[:, :, place]).sum(axis=1) / closed.last[:, place]
        for place, station in enumerate(closed.queueing)
        if network.rates[station] is not None
    }


def _general(network: Network, name: str, road: Road) -> Solution:
    """Solve for stations of any kind, by substitution."""
    load = np.broadcast_to(open_load(network), (network.points, len(network.stations)))
    cycle = network.think + network.demand.sum(axis=2)
    check_some_time(network, cycle[:, network.closed], np.flatnonzero(network.closed))

    def core(count: Array, shift: Array | None) -> tuple[Array, Array, int]:
        copies = len(count) // network.points
        many = network.select(np.repeat(np.arange(network.points), copies)) if copies > 1 else network
        return substitute(many, count, shift, _start(many, count, np.repeat(load, copies, axis=0)))

    flow, time, steps = road(core, np.where(network.closed, network.population, 0).astype(float))
    queue = flow[:, :, None] * time
    nothing: tuple[Array | None, ...] = (None,) * len(network.stations)
    return Solution(
        throughput=flow,
        residence=time,
        queue=queue,
        utilization=_utilization(network, flow, queue),
        probability=nothing,
        method=name,
        exact=False,
        rule=SUBSTITUTION_RULE,
        iterations=steps,
    )


def _start(network: Network, count: Array, load: Array) -> Array:
    """Spread closed customers by demand, and put open ones as if alone and shared."""
    demand = network.demand
    cycle = network.think + demand.sum(axis=2)
    share = demand / np.where(cycle == 0, 1, cycle)[:, :, None]
    limit = np.stack([np.broadcast_to(speeds(network, k)[:, -1], len(load)) for k in range(load.shape[1])], axis=1)
    free = 1 - np.where(network.delays, 0, load / limit)
    opened: Array = network.arrivals[:, :, None] * demand / free[:, None]
    return np.where(network.closed[:, None], count[:, :, None] * share, opened)


def _utilization(network: Network, flow: Array, queue: Array) -> Array:
    """Give busy servers / servers; with rates an estimate of P(not empty), the work over the speed at the queue."""
    work = flow[:, :, None] * network.demand
    busy: Array = work / np.where(network.delays, 1, network.servers)
    for station, rates in enumerate(network.rates):
        if rates is not None and not network.delays[station]:
            present = np.clip(queue[:, :, station].real.sum(axis=1).round().astype(int), 1, rates.shape[1])
            pace = np.take_along_axis(np.broadcast_to(rates, (len(flow), rates.shape[1])), present[:, None] - 1, axis=1)
            busy[:, :, station] = work[:, :, station] / pace
    return busy


def _linearize(core: Core, count: Array) -> tuple[Array, Array, int]:
    points, classes = count.shape
    # At every point N, then N with one fewer of each class in turn.
    fewer = np.concatenate([np.zeros((1, classes)), np.eye(classes)])
    variants = np.maximum(count[:, None] - fewer, 0)
    # [variant, r, j]: customers of j met by one of r; an open class has a queue but no count, and 1 leaves it as it is.
    left = np.where(count[:, None, None] > 0, np.maximum(variants[:, :, None] - np.eye(classes), 0), 1)
    shift: Array | None = None
    total = 0
    for _ in range(ROUNDS):
        flow, time, steps = core(variants.reshape(-1, classes), shift)
        queue = (flow[:, :, None] * time).reshape(points, classes + 1, classes, -1)
        share = queue / np.where(variants > 0, variants, 1)[..., None]
        change = share[:, 1:] - share[:, :1]
        shift = (left[..., None] * change[:, None]).reshape(-1, classes, classes, queue.shape[3])
        total += steps
    assert shift is not None
    flow, time, steps = core(count, shift[:: classes + 1])
    return flow, time, total + steps
