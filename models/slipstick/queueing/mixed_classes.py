"""Mixed networks: open classes are taken out exactly, and a solver for closed classes does the rest.

`solve_mixed` is the way of every exact method: the capacity that open classes leave (`closed_part`), the closed
classes by a `ClosedSolver`, points of one population vector together, and the answers of all classes
(`whole_solution`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.network import Array, NetworkArrays, NetworkSolution, sum_over_stations
from slipstick.queueing.single_class import ClosedSolution, Speeds

MOST_SHOWN = 100
"""Numbers present whose probabilities are given where open classes leave them without end."""


@dataclass(frozen=True, eq=False)
class ClosedPart:
    """The closed classes alone, at P points, at the speeds that open classes leave them.

    Parameters
    ----------
    classes : which of the network's classes these are
    queueing : which of the network's stations have a queue; the K of the arrays below
    demand : (P, R, K) [s]
    delay : think time and demand at the delays (P, R) [s]
    population : (P, R)
    last : speed of each of the stations with very many closed customers, (P or 1, K)
    several : where the speed depends on their number, by place in K: with 1, 2, 3 ... of them, (P or 1, m)
    empty : P(no open customer | no closed customer) at stations that open classes use, by place in K, (P,)
    """

    classes: Array
    queueing: Array
    demand: Array
    delay: Array
    population: Array
    last: Array
    several: dict[int, Array]
    empty: dict[int, Array]


def speeds(network: NetworkArrays, station: int) -> Array:
    """Give a station's speed with 1, 2, 3 ... present; the last holds for more, (P or 1, m)."""
    rates = network.rates[station]
    if rates is not None:
        return rates
    return np.arange(1.0, 1.0 + network.servers[station])[None]


def open_load(network: NetworkArrays) -> Array:
    """Give the load of the open classes at every station, in seconds of service a second, (P or 1, K).

    Raises
    ------
    NoAnswerError : a station is saturated
    """
    if network.all_closed:
        return np.zeros((1, len(network.stations)))
    arrivals = np.where(network.closed, 0.0, network.arrivals)
    load: Array = (arrivals[:, :, None] * network.demand).sum(axis=1)
    for station in np.flatnonzero(~network.delays):
        limit = np.broadcast_to(speeds(network, int(station))[:, -1].real, load.shape[:1])
        over = np.flatnonzero(load[:, station].real >= limit)
        if over.size:
            raise NoAnswerError(
                f"{network.stations[station]} is saturated: open classes bring {load[over[0], station].real:g} s of "
                f"service each second, the limit is {limit[over[0]]:g}"
                + (f" (at {over.size} of {network.points} points, first at point {over[0]})" if len(load) > 1 else "")
                + "; lower the arrivals or the demand, or add servers"
            )
    return load


def check_product_form(network: NetworkArrays) -> None:
    """Refuse a network without a product form; see `NetworkArrays.without_product_form`.

    Raises
    ------
    ModelError : naming the station and why
    """
    for name, why in zip(network.stations, network.without_product_form, strict=True):
        if why:
            raise ModelError(
                f"{name} {why}, so there is no product form; ask for schweitzer, linearizer, markov-chain or simulation"
            )


def closed_part(network: NetworkArrays) -> ClosedPart:
    r"""Take the open classes out of a product-form network; what remains is closed, and exactly equivalent.

    With load rho from open classes and a(n) = 1 / (s(1) s(2) ... s(n)), n closed customers see

        F(n) = sum over m of C(n+m, m) rho^m a(n+m)      and are served at speed s'(n) = F(n-1) / F(n),

    which is 1 - rho at a single server and s(m) - rho beyond the last speed s(m).

    Source: the generating function of Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975, 283-294, expanded
    around rho.

    Raises
    ------
    NoAnswerError : a station is saturated by the open classes
    """
    load = open_load(network)
    queueing, classes = np.flatnonzero(~network.delays), np.flatnonzero(network.closed)
    demand = network.demand if network.all_closed else network.demand[:, classes]
    last, several, empty = np.ones((len(load), len(queueing)), dtype=load.dtype), dict[int, Array](), dict[int, Array]()
    single = network.single[queueing]
    if not network.all_closed:
        last[:, single] -= load[:, queueing[single]]
    for place, station in () if single.all() else enumerate(queueing.tolist()):
        if single[place]:
            continue
        left, empty_chance = _remaining_speeds(speeds(network, station), load[:, station])
        last = last * np.ones((len(left), 1), dtype=left.dtype)
        last[:, place] = left[:, -1]
        empty[place] = empty_chance
        if left.shape[1] > 1:
            several[place] = left
    whole = len(queueing) == demand.shape[2]
    away, count = network.think, network.population
    if not network.all_closed:
        away, count = away[:, classes], count[:, classes]
    return ClosedPart(
        classes=classes,
        queueing=queueing,
        demand=demand if whole else demand[:, :, queueing],
        delay=away if whole else away + demand[:, :, network.delays].sum(axis=2),
        population=count,
        last=last,
        several=several,
        empty=empty,
    )


def _remaining_speeds(speed: Array, load: Array) -> tuple[Array, Array]:
    """Give the speeds that closed customers see (P, m), and P(no open one | no closed one) (P,)."""
    if not load.any():
        return speed, np.ones(1)
    if speed.shape[1] == 1:
        left = speed - load[:, None]
        return left, left[:, 0] / speed[:, 0]
    logs = _log_sums(np.broadcast_to(speed, (len(load), speed.shape[1])), load)
    last = speed[:, -1:] - load[:, None]
    return np.concatenate([np.exp(logs[:, :-1] - logs[:, 1:]), last], axis=1), np.exp(-logs[:, 0])


def _log_sums(speed: Array, load: Array) -> Array:
    """Give log F(n) for n = 0..m-1, (P, m): the terms before the last speed, and the geometric rest in closed form."""
    last, top = speed.shape[1] - 1, speed[:, -1, None]
    # A load of zero has no logarithm; 1e-300 adds nothing to any sum.
    load = np.where(load == 0, 1e-300, load)[:, None]
    a = np.concatenate([np.zeros_like(load), -np.cumsum(np.log(speed), axis=1)], axis=1)
    rows = []
    for n in range(last + 1):
        head = np.arange(n, last)
        terms = _log_choose(head, n) + (head - n) * np.log(load) + a[:, n:last]
        i = np.arange(min(n, last) + 1)
        rest = _log_choose(last, i) + (last - i) * np.log(load) - (n - i) * np.log(top)
        rest = rest - (n - i + 1) * np.log(1 - load / top) + a[:, last, None]
        rows.append(_log_sum(np.concatenate([terms, rest], axis=1)))
    return np.stack(rows, axis=1)


def _log_choose(n: Array | int, k: Array | int) -> Array:
    table = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, max(np.max(n, initial=0), np.max(k)) + 1)))])
    chosen: Array = table[n] - table[k] - table[np.subtract(n, k)]
    return chosen


def _log_sum(terms: Array) -> Array:
    top = terms.real.max(axis=1, keepdims=True)
    total: Array = np.log(np.exp(terms - top).sum(axis=1)) + top[:, 0]
    return total


def whole_solution(
    network: NetworkArrays,
    closed: ClosedPart,
    throughput: Array,
    queue: Array,
    _met_by_open_arrivals: Array,
    probability: list[Array | None],
    idle: dict[int, Array],
    method: str,
) -> NetworkSolution:
    """Complete the solution of the closed classes to that of all classes at all stations.

    Parameters
    ----------
    throughput : (P, R) of the closed classes
    queue : (P, R, K) of the closed classes at the stations with a queue
    ahead : E[(n + 1) / s'(n + 1)] over the closed customers n at those stations (P, K): the residence time
        of an open customer as a multiple of its demand
    probability : for each of those stations, P(n closed customers) or None
    idle : for stations with rates, P(no closed customer), (P,)
    """
    shape, demand, delays = network.service.shape, network.demand, network.delays
    kind = np.result_type(throughput, queue, demand, network.arrivals, network.think)
    if queue.shape == shape:
        # All classes are closed and all stations have a queue.
        flow, present = throughput.astype(kind), queue.astype(kind)
    else:
        flow = np.where(network.closed, 0, network.arrivals).astype(kind)
        flow[:, closed.classes] = throughput
        present = np.zeros(shape, dtype=kind)
        at_queues = np.zeros((*shape[:2], len(closed.queueing)), dtype=kind)
        at_queues[:, closed.classes] = queue
        present[:, :, closed.queueing] = at_queues
        present[:, :, delays] = flow[:, :, None] * demand[:, :, delays]
    each = flow[:, :, None]
    residence = np.divide(present, each, out=np.zeros(shape, dtype=kind), where=each != 0)
    if not network.all_closed:
        opened = ~network.closed
        factor = np.ones((shape[0], 1, shape[2]), dtype=kind)
        factor[:, 0, closed.queueing] = _met_by_open_arrivals
        residence[:, opened] = demand[:, opened] * factor
        present[:, opened] = flow[:, opened, None] * residence[:, opened]
    shown: list[Array | None] = [None] * shape[2]
    load = open_load(network)
    for station, chance in zip(closed.queueing.tolist(), probability, strict=True):
        alone = chance is None or not load[:, station].any()
        shown[station] = (
            chance if chance is None or alone else _number_present(network, station, chance, load[:, station])
        )
    return NetworkSolution(
        throughput=flow,
        residence=residence,
        queue=present,
        utilization=_utilization(network, closed, flow, idle),
        probability=tuple(shown),
        method=method,
        exact=True,
    )


def _number_present(network: NetworkArrays, station: int, chance: Array, load: Array) -> Array:
    """Give P(n present), open customers included, for n = 0, 1, ... up to `MOST_SHOWN`, (P, n).

    Of n present m are closed with the probability chance(m) C(n, m) rho^(n-m) a(n) / F(m); see `closed_part`.
    """
    speed = speeds(network, station)
    points, most, last = len(load), np.arange(MOST_SHOWN), speed.shape[1] - 1
    speed = np.broadcast_to(speed, (points, last + 1))
    sums = _log_sums(speed, load)
    steps = np.log(speed[:, np.minimum(most, last)])
    product = -np.concatenate([np.zeros((points, 1)), np.cumsum(steps[:, :-1], axis=1)], axis=1)
    gone = np.log(np.where(load == 0, 1e-300, load))[:, None]
    found = np.zeros((points, MOST_SHOWN), dtype=np.result_type(chance, product, gone))
    for m in range(min(chance.shape[1], MOST_SHOWN)):
        n = most[m:]
        beyond = max(0, m - last) * np.log(speed[:, -1] - load)
        logs = _log_choose(n, m) + (n - m) * gone + product[:, m:] - (sums[:, min(m, last)] - beyond)[:, None]
        found[:, m:] += chance[:, m, None] * np.exp(logs)
    return found


def _utilization(network: NetworkArrays, closed: ClosedPart, flow: Array, idle: dict[int, Array]) -> Array:
    work: Array = flow[:, :, None] * network.demand
    if network.plain:
        return work
    busy = work / network.shares
    for place, empty in idle.items():
        here = work[:, :, closed.queueing[place]]
        total = here.sum(axis=1, keepdims=True)
        share = np.divide(here, total, out=np.zeros_like(here), where=total != 0)
        busy[:, :, closed.queueing[place]] = share * (1 - empty * closed.empty[place])[:, None]
    return busy


@dataclass(frozen=True, slots=True)
class ClosedSolver:
    """A method for closed classes in product form.

    Parameters
    ----------
    method : its name in solutions
    solve : from demand (P, R, K), last speeds, speeds, delay (P, R) and population (P, R)
    populations_together : takes points of one class together whatever their populations; otherwise, and with several
        classes, all points have the same population vector
    """

    method: str
    solve: Callable[[Array, Array, Speeds, Array, Array], ClosedSolution]
    populations_together: bool = False


def solve_mixed(network: NetworkArrays, solver: ClosedSolver) -> NetworkSolution:
    """Take the open classes out, solve for the closed ones, and answer for all.

    Raises
    ------
    NoAnswerError : a station is saturated, or a cycle takes no time
    """
    closed = closed_part(network)
    check_some_time(network, closed.delay + sum_over_stations(closed.demand), closed.classes)
    answer = _solve_closed(closed, solver)
    for name, each in (("throughput", answer.throughput), ("queue", answer.queue)):
        if not np.isfinite(each).all():
            raise NoAnswerError(
                f"{solver.method}: a {name} leaves the range of doubles; look at the sizes of the demands"
            )
    met, idle = (
        closed.last if network.all_closed else _met_by_open_arrivals(closed, answer),
        _idle(network, closed, answer),
    )
    return whole_solution(
        network, closed, answer.throughput, answer.queue, met, answer.probability, idle, solver.method
    )


def check_some_time(network: NetworkArrays, cycle: Array, classes: Array) -> None:
    """Refuse closed classes with cycles that take no time: their throughput has no limit.

    Parameters
    ----------
    cycle : think time and demands of the closed classes (P, R)
    classes : which of the network's they are

    Raises
    ------
    NoAnswerError : naming the class
    """
    wrong = (cycle == 0) & (network.population[:, classes] > 0)
    if wrong.any():
        name = network.classes[classes[np.argwhere(wrong)[0][1]]]
        raise NoAnswerError(f"a cycle of {name} takes no time: all its demands and its think time are 0")


def _solve_closed(closed: ClosedPart, solver: ClosedSolver) -> ClosedSolution:
    """Solve all points, those of one population vector together; classes without customers drop out."""
    points, classes, stations = closed.demand.shape
    present = closed.population > 0
    if present.all() and (
        (classes == 1 and solver.populations_together) or (closed.population == closed.population[0]).all()
    ):
        return _solve(closed, slice(None), np.arange(classes), solver)
    kind = np.result_type(closed.demand, closed.delay, closed.last, *closed.several.values())
    throughput, queue = np.zeros((points, classes), kind), np.zeros((points, classes, stations), kind)
    in_range = np.ones(points, dtype=bool)
    shown: list[list[Array | None]] = []
    vectors, group = np.unique(
        present if solver.populations_together and (present.sum(axis=1) <= 1).all() else closed.population,
        axis=0,
        return_inverse=True,
    )
    groups = [np.flatnonzero(group.reshape(-1) == each) for each in range(len(vectors))]
    for chosen in groups:
        few = np.flatnonzero(present[chosen].any(axis=0))
        part = _solve(closed, chosen, few, solver)
        throughput[np.ix_(chosen, few)] = part.throughput
        queue[np.ix_(chosen, few)] = part.queue
        in_range[chosen] = part.in_range
        shown.append(part.probability)
    placed = [_placed(each, groups, points) for each in zip(*shown, strict=True)]
    return ClosedSolution(throughput, queue, placed, in_range)


def _solve(closed: ClosedPart, chosen: Array | slice, few: Array, solver: ClosedSolver) -> ClosedSolution:
    some = {k: each if len(each) == 1 else each[chosen] for k, each in closed.several.items()}
    last = closed.last if len(closed.last) == 1 else closed.last[chosen]
    demand, delay, population = closed.demand[chosen], closed.delay[chosen], closed.population[chosen]
    if len(few) < demand.shape[1]:
        demand, delay, population = demand[:, few], delay[:, few], population[:, few]
    if len(few) == 0:
        points = len(demand)
        empty_chance: list[Array | None] = [np.ones((points, 1))] * demand.shape[2]
        return ClosedSolution(delay, demand, empty_chance, np.ones(points, dtype=bool))
    return solver.solve(demand, last, some, delay, population)


def _placed(parts: Sequence[Array | None], groups: list[Array], points: int) -> Array | None:
    """Put the groups' probabilities of one station together, padded with zeros to the longest."""
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    placed = np.zeros((points, max(each.shape[1] for each in known)), dtype=np.result_type(*known))
    for part, chosen in zip(known, groups, strict=True):
        placed[chosen, : part.shape[1]] = part
    return placed


def _met_by_open_arrivals(closed: ClosedPart, answer: ClosedSolution) -> Array:
    """Give E[(n + 1) / s(n + 1)] over the closed customers n of each station, (P, K)."""
    met: Array = (1 + answer.queue.sum(axis=1)) / closed.last
    for k, speed in closed.several.items():
        chance = answer.probability[k]
        assert chance is not None
        n = np.arange(chance.shape[1])
        met[:, k] = (chance * (n + 1) / speed[:, np.minimum(n, speed.shape[1] - 1)]).sum(axis=1)
    return met


def _idle(network: NetworkArrays, closed: ClosedPart, answer: ClosedSolution) -> dict[int, Array]:
    """Give P(no closed customer) at stations with rates, by place, (P,)."""
    found = dict[int, Array]()
    if network.plain:
        return found
    for place, station in enumerate(closed.queueing):
        if network.rates[station] is not None:
            chance = answer.probability[place]
            work = (answer.throughput * closed.demand[:, :, place]).sum(axis=1)
            found[place] = 1 - work / closed.last[:, place] if chance is None else chance[:, 0]
    return found
