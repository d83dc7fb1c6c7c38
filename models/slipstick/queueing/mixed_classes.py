"""Mixed networks: open classes are taken out exactly, and a solver for closed classes does the
rest.

`solve_mixed` is the way of every exact method: the capacity that open classes leave
(`closed_part`), the closed classes by a `Solver`, points of one population vector together, and the
answers of all classes (`whole_solution`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import np
from slipstick.limits import check_cost
from slipstick.queueing.network import (
    Array,
    ClosedPart,
    ClosedSolution,
    NetworkArrays,
    NetworkSolution,
    quotient,
    solved_in_parts,
    sum_over_stations,
)

MOST_SHOWN = 100
"""Numbers present whose probabilities are given where open classes leave them without end."""


def speeds(network: NetworkArrays, station: int) -> Array:
    """Return a station's speed with 1, 2, 3 ... present; the last holds for more, (P or 1, m).

    Raises
    ------
    NoAnswerError : there are too many servers to list
    """
    rates = network.rates[station]
    if rates is not None:
        return rates
    sums_in_words = (
        f"{network.stations[station]} has {network.servers[station]:,} servers, and speeds are"
        " listed for each"
    )
    check_cost(
        "speeds",
        float(network.servers[station]),
        sums_in_words,
        "make it a delay (discipline is), ask for simulation",
    )
    return np.arange(1.0, 1.0 + network.servers[station])[None]


def highest_speed(network: NetworkArrays, station: int) -> Array:
    """Return a station's speed with very many present, (P or 1,)."""
    rates = network.rates[station]
    top_speeds: Array = (
        np.array([float(network.servers[station])]) if rates is None else rates[:, -1]
    )
    return top_speeds


def open_load(network: NetworkArrays) -> Array:
    """Return the load of the open classes at every station, in seconds of service a second, (P or
    1, K).

    Raises
    ------
    NoAnswerError : a station is saturated
    """
    for why in () if network.all_closed else saturated(network).values():
        raise NoAnswerError(why)
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


def saturated(network: NetworkArrays, limited: Array | None = None) -> dict[int, str]:
    """Return the points at which open classes saturate a station, by number, each with a message
    that names the first such station.

    Parameters
    ----------
    network : what is asked of which station
    limited : stations that are never saturated, because they lose customers (K,)
    """
    wrong: dict[int, str] = {}
    if network.all_closed:
        return wrong
    load = offered_load(network).real
    for station in np.flatnonzero(
        ~network.delays if limited is None else ~network.delays & ~limited
    ).tolist():
        capacity = np.broadcast_to(highest_speed(network, station).real, len(load))
        is_saturated = (load[:, station] >= capacity) & (load[:, station] > 0)
        for point in np.flatnonzero(is_saturated).tolist():
            wrong.setdefault(
                point,
                f"station {network.stations[station]} is saturated: arrivals ask it for"
                f" {load[point, station]:.6g} s of service a second, and it gives less than"
                f" {capacity[point]:.6g}; lower the arrivals, shorten the demand, or add servers",
            )
    return wrong


def check_product_form(network: NetworkArrays) -> None:
    """Refuse a network without a product form; see `NetworkArrays.without_product_form`.

    Raises
    ------
    ModelError : naming the station and why
    """
    for name, why in zip(network.stations, network.without_product_form, strict=True):
        if why:
            raise ModelError(
                f"{name} {why}, so there is no product form; ask for schweitzer, linearizer,"
                " markov-chain or simulation"
            )


def closed_part(network: NetworkArrays) -> ClosedPart:
    r"""Return the closed classes of a product-form network at the speeds that its open classes
    leave them, which is exactly equivalent.

    With load rho from open classes and a(n) = 1 / (s(1) s(2) ... s(n)), n closed customers see

        F(n) = sum over m of C(n+m, m) rho^m a(n+m)      and are served at speed s'(n) = F(n-1) / F(n),

    which is 1 - rho at a single server and s(m) - rho beyond the last speed s(m).

    Source: the generating function of Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975, 283-294,
    expanded around rho.

    Raises
    ------
    NoAnswerError : a station is saturated by the open classes
    """
    load = open_load(network)
    queueing = (
        np.arange(network.demand.shape[2]) if network.plain else np.flatnonzero(~network.delays)
    )
    classes = (
        np.arange(network.demand.shape[1]) if network.all_closed else np.flatnonzero(network.closed)
    )
    demand = network.demand if network.all_closed else network.demand[:, classes]
    last = np.ones((len(load), len(queueing)), dtype=load.dtype)
    several = dict[int, Array]()
    empty = dict[int, Array]()
    if not network.all_closed:
        single = network.single[queueing]
        last[:, single] -= load[:, queueing[single]]
    for place, station in () if network.plain else enumerate(queueing.tolist()):
        if network.single[station]:
            continue
        speed = speeds(network, station)
        most_customers = int(network.population.sum(axis=1).max(initial=0))
        if load[:, station].any():
            sums = len(load) * speed.shape[1] * min(most_customers + 2, speed.shape[1])
            sums_in_words = (
                f"{network.stations[station]} takes {sums:,} terms of sums over what open classes"
                " leave of its speeds"
            )
            check_cost(
                "terms", sums, sums_in_words, "make it a delay (discipline is), ask for simulation"
            )
        remaining, empty_chance = _remaining_speeds(speed, load[:, station], most_customers)
        last = last * np.ones((len(remaining), 1), dtype=remaining.dtype)
        last[:, place] = remaining[:, -1]
        empty[place] = empty_chance
        if remaining.shape[1] > 1:
            several[place] = remaining
    all_queueing = len(queueing) == demand.shape[2]
    away = network.think
    count = network.population
    if not network.all_closed:
        away = away[:, classes]
        count = count[:, classes]
    delay = away
    if not all_queueing:
        delay = away + demand[:, :, network.delays].sum(axis=2)
    return ClosedPart(
        classes=classes,
        queueing=queueing,
        demand=demand if all_queueing else demand[:, :, queueing],
        delay=delay,
        population=count,
        last=last,
        several=several,
        empty=empty,
    )


def _remaining_speeds(speed: Array, load: Array, most: int) -> tuple[Array, Array]:
    """Return the speeds at which up to `most` closed customers are served beside the open classes
    (P, m), and P(no open customer | no closed one) (P,).
    """
    if not load.any():
        return speed, np.ones(1)
    if speed.shape[1] == 1:
        remaining = speed - load[:, None]
        return remaining, remaining[:, 0] / speed[:, 0]
    logs = _log_sums(np.broadcast_to(speed, (len(load), speed.shape[1])), load, most + 1)
    last = speed[:, -1:] - load[:, None]
    ratios = np.exp(logs[:, :-1] - logs[:, 1:])
    return np.concatenate([ratios, last], axis=1), np.exp(-logs[:, 0])


def _log_sums(speed: Array, load: Array, most: int) -> Array:
    """Return log F(n) of `closed_part` for n up to `most`, or to the last speed, (P, n): a sum over
    the speeds before the last, and the geometric rest in closed form.
    """
    last = speed.shape[1] - 1
    top = speed[:, -1, None]
    # A load of zero has no logarithm; 1e-300 adds nothing to any sum.
    load = np.where(load == 0, 1e-300, load)[:, None]
    log_products = -np.cumsum(np.log(speed), axis=1)
    a = np.concatenate([np.zeros_like(load), log_products], axis=1)
    rows = []
    for n in range(min(last, most) + 1):
        head = np.arange(n, last)
        terms = _log_choose(head, n) + (head - n) * np.log(load) + a[:, n:last]
        i = np.arange(min(n, last) + 1)
        geometric_rest = _log_choose(last, i) + (last - i) * np.log(load) - (n - i) * np.log(top)
        geometric_rest = geometric_rest - (n - i + 1) * np.log(1 - load / top) + a[:, last, None]
        logs = np.concatenate([terms, geometric_rest], axis=1)
        largest = logs.real.max(axis=1, keepdims=True)
        rows.append(np.log(np.exp(logs - largest).sum(axis=1)) + largest[:, 0])
    return np.stack(rows, axis=1)


def _log_choose(n: Array | int, k: Array | int) -> Array:
    largest = max(np.max(n, initial=0), np.max(k))
    log_factorials = np.cumsum(np.log(np.arange(1.0, largest + 1)))
    table = np.concatenate([[0.0], log_factorials])
    chosen: Array = table[n] - table[k] - table[np.subtract(n, k)]
    return chosen


def whole_solution(
    network: NetworkArrays,
    closed: ClosedPart,
    closed_solution: ClosedSolution,
    ahead: Array,
    idle: dict[int, Array],
    method: str,
) -> NetworkSolution:
    """Complete the solution of the closed classes to that of all classes at all stations.

    Parameters
    ----------
    network : all classes
    closed, closed_solution : the closed classes and their solution, at the stations with a queue
    ahead : E[(n + 1) / s'(n + 1)] over the closed customers n at those stations (P, K): the
        residence time of an open customer as a multiple of its demand
    idle : for stations with rates, P(no closed customer), (P,)
    method : its name in the solution
    """
    shape = network.service.shape
    demand = network.demand
    throughput = closed_solution.throughput
    queue = closed_solution.queue
    kind = np.result_type(throughput, queue, demand, network.arrivals, network.think)
    if queue.shape == shape:
        # All classes are closed and all stations have a queue.
        flow = throughput.astype(kind)
        present = queue.astype(kind)
    else:
        flow = np.where(network.closed, 0, network.arrivals).astype(kind)
        flow[:, closed.classes] = throughput
        present = np.zeros(shape, dtype=kind)
        at_queues = np.zeros((*shape[:2], len(closed.queueing)), dtype=kind)
        at_queues[:, closed.classes] = queue
        present[:, :, closed.queueing] = at_queues
        present[:, :, network.delays] = flow[:, :, None] * demand[:, :, network.delays]
    residence = quotient(present, flow[:, :, None])
    if not network.all_closed:
        opened = ~network.closed
        factor = np.ones((shape[0], 1, shape[2]), dtype=kind)
        factor[:, 0, closed.queueing] = ahead
        residence[:, opened] = demand[:, opened] * factor
        present[:, opened] = flow[:, opened, None] * residence[:, opened]
    shown: list[Array | None] = [None] * shape[2]
    for station, chance in zip(closed.queueing.tolist(), closed_solution.probability, strict=True):
        if chance is not None:
            load = open_load(network)[:, station]
            shown[station] = (
                _number_present(network, station, chance, load) if load.any() else chance
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
    """Return P(n present), open customers included, for n = 0, 1, ... up to `MOST_SHOWN`, (P, n).

    Of n present m are closed with the probability chance(m) C(n, m) rho^(n-m) a(n) / F(m); see
    `closed_part`.
    """
    speed = speeds(network, station)
    points = len(load)
    most = np.arange(MOST_SHOWN)
    last = speed.shape[1] - 1
    speed = np.broadcast_to(speed, (points, last + 1))
    sums = _log_sums(speed, load, chance.shape[1])
    steps = np.log(speed[:, np.minimum(most, last)])
    sums_of_steps = np.cumsum(steps[:, :-1], axis=1)
    product = -np.concatenate([np.zeros((points, 1)), sums_of_steps], axis=1)
    gone = np.log(np.where(load == 0, 1e-300, load))[:, None]
    probabilities = np.zeros((points, MOST_SHOWN), dtype=np.result_type(chance, product, gone))
    for m in range(min(chance.shape[1], MOST_SHOWN)):
        n = most[m:]
        log_of_last_speed = max(0, m - last) * np.log(speed[:, -1] - load)
        log_of_sum = (sums[:, min(m, last)] - log_of_last_speed)[:, None]
        logs = _log_choose(n, m) + (n - m) * gone + product[:, m:] - log_of_sum
        probabilities[:, m:] += chance[:, m, None] * np.exp(logs)
    return probabilities


def _utilization(
    network: NetworkArrays, closed: ClosedPart, flow: Array, idle: dict[int, Array]
) -> Array:
    work: Array = flow[:, :, None] * network.demand
    if network.plain:
        return work
    busy = work / network.shares
    for place, empty in idle.items():
        station_work = work[:, :, closed.queueing[place]]
        share = quotient(station_work, station_work.sum(axis=1, keepdims=True))
        busy[:, :, closed.queueing[place]] = share * (1 - empty * closed.empty[place])[:, None]
    return busy


Solver = Callable[[ClosedPart], ClosedSolution]
"""Returns the solution of closed classes in product form."""


def solve_mixed(
    network: NetworkArrays, method: str, solve: Solver, populations_together: bool = False
) -> NetworkSolution:
    """Solve a network with open and closed classes: take the open classes out exactly, solve for
    the closed ones, and complete the solution.

    Parameters
    ----------
    network : at P points
    method : its name in the solution
    solve : solves for closed classes, which have the same population vector at all points
    populations_together : whether it takes points of one class together whatever their populations

    Raises
    ------
    NoAnswerError : a station is saturated, or a cycle takes no time
    """
    closed = closed_part(network)
    check_some_time(network, closed.delay + sum_over_stations(closed.demand), closed.classes)
    answer = _solve_closed(closed, solve, populations_together)
    for name, numbers in (("throughput", answer.throughput), ("queue", answer.queue)):
        if not np.isfinite(numbers).all():
            raise NoAnswerError(
                f"{method}: a {name} leaves the range of doubles; look at the sizes of the demands"
            )
    present_at_arrival = (
        closed.last if network.all_closed else _met_by_open_arrivals(closed, answer)
    )
    return whole_solution(
        network, closed, answer, present_at_arrival, _idle(network, closed, answer), method
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
    wrong = (cycle == 0) & (network.population[:, classes] > 0)
    if wrong.any():
        name = network.classes[classes[np.argwhere(wrong)[0][1]]]
        raise NoAnswerError(
            f"a cycle of {name} takes no time: all its demands and its think time are 0"
        )


def _solve_closed(closed: ClosedPart, solve: Solver, populations_together: bool) -> ClosedSolution:
    """Solve all points, those of one population vector together; classes without customers drop
    out.
    """
    if len(closed.population) == 1:
        return _solve_present(closed, solve)
    present = closed.population > 0
    # Points of one class share a series whatever their populations; several classes need one
    # lattice for all points.
    as_one_population = populations_together and (present.sum(axis=1) <= 1).all()
    if present.all() and (as_one_population or (closed.population == closed.population[0]).all()):
        return _solve_present(closed, solve)
    vectors, group = np.unique(
        present if as_one_population else closed.population, axis=0, return_inverse=True
    )
    groups = [np.flatnonzero(group.reshape(-1) == vector) for vector in range(len(vectors))]
    return solved_in_parts(
        closed, groups, lambda part_of_points: _solve_present(part_of_points, solve)
    )


def _solve_present(closed: ClosedPart, solve: Solver) -> ClosedSolution:
    """Solve for the closed classes that have customers; the throughput of the others is 0."""
    points, classes, stations = closed.demand.shape
    if classes and closed.population.all():
        return solve(closed)
    present_classes = np.flatnonzero(closed.population.any(axis=0))
    if len(present_classes) == classes > 0:
        return solve(closed)
    throughput = np.zeros_like(closed.delay)
    queue = np.zeros_like(closed.demand)
    if not len(present_classes):
        return ClosedSolution(
            throughput, queue, [np.ones((points, 1))] * stations, np.ones(points, dtype=bool)
        )
    solution = solve(closed.select(slice(None), present_classes))
    kind = np.result_type(solution.throughput, solution.queue)
    throughput = throughput.astype(kind)
    queue = queue.astype(kind)
    throughput[:, present_classes], queue[:, present_classes] = solution.throughput, solution.queue
    return replace(solution, throughput=throughput, queue=queue)


def _met_by_open_arrivals(closed: ClosedPart, answer: ClosedSolution) -> Array:
    """Return the factor by which closed customers prolong the service of an open customer at each
    station, E[(n + 1) / s(n + 1)] over their number n, (P, K).
    """
    present_at_arrival: Array = (1 + answer.queue.sum(axis=1)) / closed.last
    for k, speed in closed.several.items():
        chance = answer.probability[k]
        assert chance is not None
        n = np.arange(chance.shape[1])
        speed_at_arrival = speed[:, np.minimum(n, speed.shape[1] - 1)]
        present_at_arrival[:, k] = (chance * (n + 1) / speed_at_arrival).sum(axis=1)
    return present_at_arrival


def _idle(network: NetworkArrays, closed: ClosedPart, answer: ClosedSolution) -> dict[int, Array]:
    """Return P(no closed customer) at stations with rates, by place, (P,)."""
    chances = dict[int, Array]()
    if network.plain:
        return chances
    for place, station in enumerate(closed.queueing):
        if network.rates[station] is not None:
            chance = answer.probability[place]
            work = (answer.throughput * closed.demand[:, :, place]).sum(axis=1)
            chances[place] = 1 - work / closed.last[:, place] if chance is None else chance[:, 0]
    return chances
