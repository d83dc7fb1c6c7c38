"""Approximate answers for networks of many classes and customers, or without a product form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from slipstick.queueing.accuracy import usual_error
from slipstick.queueing.core import NEWTON_RULE, SUBSTITUTION_RULE, newton, substitute
from slipstick.queueing.groups import check_some_time
from slipstick.queueing.load import Closed, closed_part, open_load, settle, speeds
from slipstick.queueing.network import Array, Network, Solution
from slipstick.queueing.waits import Shift, corrections

__all__ = ["linearizer", "schweitzer"]

MOST_OVER = 1.02
"""Of its capacity: how far an approximation may ask too much of a station and still be put right."""

ROUNDS = 3
"""Of Linearizer, as published."""

Core = Callable[[Array, Shift | None], tuple[Array, Array, int]]
"""From customers (B, R) and what changes when one leaves: throughput, residence and steps. B are points x variants."""

Road = Callable[[Core, Array, Array], tuple[Array, Array, int]]
"""From a core, the customers (P, R) and the demand (P, R, K), the same."""


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
    answer = _solve(network, "Bard-Schweitzer", lambda core, count, demand: core(count, None))
    return replace(answer, usual_error="" if answer.exact else usual_error(network, corrected=False))


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
    answer = _solve(network, f"Linearizer, {ROUNDS} rounds", _linearize)
    return replace(answer, usual_error="" if answer.exact else usual_error(network, corrected=True))


def _solve(network: Network, name: str, road: Road) -> Solution:
    plain = (network.single | network.delays).all()
    if plain and not any(network.without_product_form):
        return _product_form(network, name, road)
    return _general(network, name, road)


def _product_form(network: Network, name: str, road: Road) -> Solution:
    """Solve for delays and single servers: open classes taken out exactly, then by Newton's method."""
    closed = closed_part(network)
    check_some_time(network, closed.delay + closed.demand.sum(axis=2), closed.classes)
    demand = closed.demand / closed.last[:, None]

    def core(count: Array, shift: Shift | None) -> tuple[Array, Array, int]:
        copies = len(count) // len(demand)
        change = 0.0 if shift is None else shift[0].sum(axis=2)
        return newton(np.repeat(demand, copies, axis=0), np.repeat(closed.delay, copies, axis=0), count, change)

    flow, time, steps = road(core, closed.population.astype(float), demand)
    names = [network.stations[k] for k in closed.queueing]
    flow, time, notes = _within_capacity(flow, time, demand, closed.population, names)
    queue = flow[:, :, None] * time
    met = (1 + queue.sum(axis=1)) / closed.last
    idle = _idle(network, closed, flow)
    nothing: list[Array | None] = [None] * demand.shape[2]
    answer = settle(network, closed, flow, queue, met, nothing, idle, name)
    return replace(answer, exact=not closed.classes.size, rule=NEWTON_RULE, iterations=steps, notes=notes)


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

    def core(count: Array, shift: Shift | None) -> tuple[Array, Array, int]:
        copies = len(count) // network.points
        many = network.select(np.repeat(np.arange(network.points), copies)) if copies > 1 else network
        return substitute(many, count, shift, _start(many, count, np.repeat(load, copies, axis=0)))

    flow, time, steps = road(core, np.where(network.closed, network.population, 0).astype(float), network.demand)
    limit = np.stack([speeds(network, k).max(axis=1) * np.ones(network.points) for k in range(load.shape[1])], axis=1)
    part = np.where(network.delays, 0, np.where(network.closed[:, None], network.demand / (limit - load)[:, None], 0))
    flow, time, notes = _within_capacity(flow, time, part, network.population, network.stations)
    time = np.where((network.closed & (network.population == 0))[:, :, None], 0, time)
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
        notes=(*corrections(network), *notes),
    )


def _within_capacity(
    flow: Array, time: Array, part: Array, count: Array, names: Sequence[str]
) -> tuple[Array, Array, tuple[str, ...]]:
    """Lower throughputs that ask a little more of a station than it has, and let the rest wait there.

    Linearizer comes out up to a percent above when several stations are near saturation. More than `MOST_OVER` stays
    as it is, for the checks to refuse.

    Parameters
    ----------
    part : of what open classes leave of a station, what one cycle a second takes (P, R, K)
    """
    busy = (flow[:, :, None] * part).sum(axis=1)
    over = (busy.real > 1) & (busy.real < MOST_OVER)
    if not over.any():
        return flow, time, ()
    factor = np.where(over[:, None] & (part != 0) & (flow != 0)[:, :, None], busy[:, None], 1)
    worst = factor.real.argmax(axis=2)[:, :, None]
    lower = np.take_along_axis(factor, worst, axis=2)[:, :, 0]
    time, slower = time.astype(factor.dtype), flow / lower
    more = count / np.where(slower == 0, 1, slower) - count / np.where(flow == 0, 1, flow)
    np.put_along_axis(time, worst, np.take_along_axis(time, worst, axis=2) + more[:, :, None], axis=2)
    notes = (
        f"{name} came out busy for {busy.real[:, k].max():.6g} of the time; throughputs were lowered to its capacity"
        for k, name in enumerate(names)
        if over[:, k].any()
    )
    return slower, time, tuple(notes)


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


def _linearize(core: Core, count: Array, demand: Array) -> tuple[Array, Array, int]:
    points, classes = count.shape
    # At every point N, then N with one fewer of each class in turn.
    fewer = np.concatenate([np.zeros((1, classes)), np.eye(classes)])
    variants = np.maximum(count[:, None] - fewer, 0)
    # [variant, r, j]: customers of j met by one of r; an open class has a queue but no count, and 1 leaves it as it is.
    left = np.where(count[:, None, None] > 0, np.maximum(variants[:, :, None] - np.eye(classes), 0), 1)
    per_head = np.where(variants > 0, variants, 1)[..., None]
    shift: Shift | None = None
    total = 0
    for _ in range(ROUNDS):
        flow, time, steps = core(variants.reshape(points * (classes + 1), classes), shift)
        flow = flow.reshape(points, classes + 1, classes, 1)
        queue, busy = flow * time.reshape(points, classes + 1, *demand.shape[1:]), flow * demand[:, None]
        shift = _change(queue / per_head, left), _change(busy / per_head, left)
        total += steps
    assert shift is not None
    queue, busy = (each[:: classes + 1] for each in shift)
    flow, time, steps = core(count, (queue, busy))
    return flow, time, total + steps


def _change(share: Array, left: Array) -> Array:
    """Give what differs once one of r has left, for every variant: (B, R, R, K) by [r, j]."""
    change = share[:, None, 1:] - share[:, None, :1]
    points, variants = left.shape[:2]
    return np.asarray((left[..., None] * change).reshape(points * variants, *change.shape[2:]))
