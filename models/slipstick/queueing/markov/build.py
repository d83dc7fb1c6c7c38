"""From the arrays of a network to where customers go next and to its state space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import NDArray, np
from slipstick.limits import check_cost
from slipstick.phases import (
    PhaseType,
    exponential,
    phase_type,
)
from slipstick.queueing.markov.chain import Array
from slipstick.queueing.markov.state_space import (
    SharedServers,
    StateSpace,
    StationState,
    initial_state,
    lacking,
    station_state,
)
from slipstick.queueing.network import NetworkArrays
from slipstick.queueing.routes import OUTSIDE, Routes
from slipstick.vocabulary import AFTER_SERVICE, BEFORE_SERVICE, DISCIPLINES, LOSS


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """The routing of customers through a network, by class; see `routing_in_order` and
    `routing_of_chains`.

    Parameters
    ----------
    entry : probability that a class begins its cycle at each station; what is lacking of 1 ends at
        once [1] [classes, stations]
    onward : probability that a class leaves a station for a class at a station; what is lacking of
        1 ends the cycle: an open class leaves, a closed one thinks and begins anew [1] [classes,
        stations, classes, stations]
    restart : the class in which a customer begins its next cycle; the same by default [classes]

    With one station more than the network has, the last one is for thinking, and no cycle of a
    closed class ends.
    """

    entry: Array
    onward: Array
    restart: tuple[int, ...] = ()

    def groups(self) -> NDArray[np.bool_]:
        """Return for each class the classes that its customers can ever belong to, itself included
        [classes, classes].
        """
        classes = len(self.entry)
        reach = np.eye(classes, dtype=bool) | (self.onward.real > 0).any(axis=(1, 3))
        for r, s in enumerate(self.restart):
            reach[r, s] = True
        # Squaring doubles the length of the paths that are joined: so many times is more than
        # enough.
        for _ in range(classes):
            reach = (reach.astype(int) @ reach.astype(int)) > 0
        reach |= reach.T
        return reach


def routing_in_order(visits: Array) -> Routing:
    """Build the routing that visits the stations in the order written, as often as the visit ratios
    say.

    A station of V <= 1 visits is passed by with probability 1 - V; one of V > 1 is visited again at
    once with probability 1 - 1/V after each visit. Product-form answers depend on the visits alone,
    others on this order.

    Parameters
    ----------
    visits : visits in one cycle [1] [classes, stations]

    Raises
    ------
    NoAnswerError : the pairs of a class at a station are more than the limit

    >>> rule = routing_in_order(np.array([[2.0, 0.5]]))
    >>> rule.entry.tolist(), rule.onward[0, 0, 0].tolist(), rule.onward[0, 1, 0].tolist()
    ([[1.0, 0.0]], [0.5, 0.25], [0.0, 0.0])
    """
    classes, count = visits.shape
    check_cost(
        "routing",
        (classes * count) ** 2,
        f"{classes} classes at {count:,} stations take {(classes * count) ** 2:,} routing"
        " probabilities of a Markov chain",
        "ask for schweitzer, linearizer or simulation",
    )
    visited_at_all = np.where(visits.real > 1, 1.0, visits)
    repeats = np.where(visits.real > 1, 1.0 - 1.0 / np.where(visits.real > 1, visits, 1.0), 0.0)
    # From just before station k: the first station visited from there on.
    ahead = np.zeros((count + 1, classes, count), dtype=visited_at_all.dtype)
    for k in range(count - 1, -1, -1):
        ahead[k] = (1.0 - visited_at_all[:, k])[:, None] * ahead[k + 1]
        ahead[k, :, k] += visited_at_all[:, k]
    onward = np.zeros((classes, count, classes, count), dtype=visited_at_all.dtype)
    for r, k in np.ndindex(classes, count):
        onward[r, k, r] = (1.0 - repeats[r, k]) * ahead[k + 1, r]
        onward[r, k, r, k] += repeats[r, k]
    return Routing(ahead[0], onward)


def routing_of_chains(
    network: NetworkArrays, routes: Routes, references: dict[tuple[int, ...], tuple[int, int]]
) -> Routing:
    """Build a routing in which the classes of some chains follow their routes, and all others visit
    the stations in order.

    The cycle of a closed chain ends where a customer comes to the reference, a class at a station; a
    customer that thinks does so on the way there.

    Parameters
    ----------
    network : the classes at one point
    routes : of the classes in chains, at that point
    references : for each chain, by the numbers of its classes, the class and the station where a
        cycle begins

    >>> from slipstick.queueing.network import network_arrays
    >>> there = Routes(np.array([(0, 0), (1, 0)]), np.array([(1, 0), (0, 0)]), np.ones((1, 2)))
    >>> rule = routing_of_chains(network_arrays([[1.0], [1.0]], population=[1, 0]), there, {(0, 1): (0, 0)})
    >>> rule.onward[0, 0, 1], rule.restart
    (array([1., 0.]), (0, 0))
    """
    rule = _routing_in_order(network)
    think = len(network.stations)
    dtype = np.result_type(rule.onward, routes.probability)
    entry = rule.entry.astype(dtype)
    onward = rule.onward.astype(dtype)
    restart = list(range(len(rule.entry)))
    for members, (label, station) in references.items():
        entry[list(members)], onward[list(members)] = 0, 0
        begin = think if _thinks(network)[label] else station
        entry[label, begin] = 1
        for r in members:
            restart[r] = label
        for route in routes.among(members):
            (r, k), (s, j), p = (
                routes.source[route],
                routes.target[route],
                routes.probability[0, route],
            )
            if s == OUTSIDE:
                continue
            ends = (s, j) == (label, station)
            onward[r, k, s, begin if ends else j] += p
            if begin == think and ends:
                onward[s, think, s, j] = 1
    return Routing(entry, onward, tuple(restart))


def _thinks(network: NetworkArrays) -> NDArray[np.bool_]:
    thinks: NDArray[np.bool_] = network.closed & (network.think[0].real > 0)
    return thinks


def _routing_in_order(network: NetworkArrays) -> Routing:
    """Build the routing of one point that visits the stations in order, without those that take no
    time.
    """
    return _with_thinking(
        network, routing_in_order(np.where(network.service[0].real > 0, network.visits[0], 0.0))
    )


def _with_thinking(network: NetworkArrays, routing: Routing) -> Routing:
    """Add a last station for think time to a routing; each cycle of a closed class begins where the
    one before ends.
    """
    count = routing.entry.shape[1]
    if count > len(network.stations):
        return routing
    entry = np.pad(routing.entry, ((0, 0), (0, 1)))
    onward = np.pad(routing.onward, ((0, 0), (0, 1), (0, 0), (0, 1)))
    for r in np.flatnonzero(network.closed):
        first_visits = entry[r].copy()
        home = entry[r] / (entry[r].sum() or 1.0)
        if _thinks(network)[r]:
            # A cycle that visits no station is one more think time; without think time such cycles
            # take none.
            home = np.eye(count + 1)[count]
            onward[r, count, r] = first_visits + lacking(first_visits.sum()) * home
        onward[r, :count, r] += lacking(routing.onward[r].sum(axis=(1, 2)))[:, None] * home
        entry[r] = home
    return Routing(entry, onward, routing.restart)


@dataclass(frozen=True, eq=False)
class NetworkPoint:
    """One point of a network, with its routing.

    Parameters
    ----------
    network : the network, one point
    routing : where customers go next, with the station to think at
    """

    network: NetworkArrays
    routing: Routing

    def visited(self) -> NDArray[np.bool_]:
        """Return which classes visit which stations, and which think [classes, stations + 1]."""
        reached: NDArray[np.bool_] = (self.routing.entry.real > 0) | (
            self.routing.onward.real > 0
        ).any(axis=(0, 1))
        return reached

    def unbounded(self) -> bool:
        """Return whether the number of open customers at some station has no limit."""
        reached = self.visited()[~self.network.closed, :-1].any(axis=0)
        return bool(np.any(reached & ~self.network.limited))

    def population(self) -> NDArray[np.int64]:
        """Return the customers of each class at the start, 0 where it is open [classes]."""
        population: NDArray[np.int64] = np.where(self.network.closed, self.network.population[0], 0)
        return population


def network_point(network: NetworkArrays, routing: Routing | None = None) -> NetworkPoint:
    """Make one point of a network with its routing, and refuse what a chain cannot represent.

    Raises
    ------
    ModelError : a service takes no time, or routing or blocking does not fit
    """
    classes, count = network.service.shape[1:]
    if routing is not None and routing.entry.shape not in ((classes, count), (classes, count + 1)):
        raise ModelError(
            f"routing is for {routing.entry.shape} classes and stations, the network has"
            f" {(classes, count)}"
        )
    point = NetworkPoint(
        network, _routing_in_order(network) if routing is None else _with_thinking(network, routing)
    )
    for r, k in np.argwhere(point.visited()[:, :-1]):
        if not network.service[0, r, k].real > 0:
            raise ModelError(
                f"{network.classes[r]} at {network.stations[k]}: routing leads there, but service"
                " takes no time"
            )
    if (point.routing.groups() & (network.closed[:, None] != network.closed[None, :])).any():
        raise ModelError("routing turns an open class into a closed one; keep them apart")
    if network.batch and network.limited.any():
        raise ModelError(
            f"{network.not_poisson}, which a chain takes only without capacities; ask for"
            " simulation"
        )
    if any(network.traced):
        raise ModelError(
            f"{network.not_poisson}, which a Markov chain does not cover; ask for simulation"
        )
    if network.timeouts is not None and network.timeouts.any():
        name = network.stations[int(np.flatnonzero(network.timeouts.any(axis=0))[0])]
        raise ModelError(
            f"the time-out at {name} is constant, which a Markov chain does not cover; ask for simulation"
        )
    for name, discipline, patient in zip(
        network.stations, network.discipline, _abandoned(network), strict=True
    ):
        if patient and DISCIPLINES[discipline].preemptive:
            raise ModelError(
                f"customers abandon {name}, which interrupts services; a chain does not distinguish customers that wait to be resumed from those whose service has not begun; ask for simulation"
            )
    if AFTER_SERVICE in network.blocking:
        _check_blocking_after_service(point)
    else:
        _check_blocking(point)
    return point


def _abandoned(network: NetworkArrays) -> list[bool]:
    """Return for each station whether some customers abandon its queue."""
    if network.patience is None:
        return [False] * len(network.stations)
    abandoned: list[bool] = network.patience[0].astype(bool).any(axis=0).tolist()
    return abandoned


def _check_blocking(point: NetworkPoint) -> None:
    """Refuse blocking for which a state would have to keep the destination of a customer or the
    phase of a stopped service.
    """
    network = point.network
    onward = point.routing.onward.real
    for j, blocking in enumerate(network.blocking):
        if blocking == LOSS or network.capacity[j] is None:
            continue
        for r, k in np.argwhere(onward[:, :-1, :, j].sum(axis=2) > 0):
            if k == j:
                continue
            where = f"{network.classes[r]} from {network.stations[k]} to {network.stations[j]}"
            # Parts that add up to 1 but for rounding leave no part for the outside.
            if (
                blocking == BEFORE_SERVICE
                and np.count_nonzero(onward[r, k]) + (onward[r, k].sum() < 1 - 1e-12) > 1
            ):
                raise ModelError(
                    f"{where}: blocking before service needs one destination; use 'repeat' or"
                    " 'loss'"
                )
            if _service_time(point, r, k).phases > 1:
                raise ModelError(
                    f"{where}: blocking of a service in phases is not covered; use 'loss' or scv 1"
                )


def _check_blocking_after_service(point: NetworkPoint) -> None:
    """Refuse blocking after service but for one class without think time at exponential single
    servers, where a state needs only the order in which stations are released.
    """
    network = point.network
    if len(network.classes) > 1 or (network.think != 0).any():
        raise ModelError(
            "blocking after service is for one class that does not think; ask for another blocking"
        )
    disciplines = [DISCIPLINES[discipline] for discipline in network.discipline]
    plain = network.single & (network.scv.real == 1).all(axis=(0, 1))
    for k, (name, blocking) in enumerate(zip(network.stations, network.blocking, strict=True)):
        if not plain[k] or disciplines[k].ranked:
            raise ModelError(
                f"{name} is not one exponential server, which blocking after service needs"
            )
        if network.capacity[k] and blocking != AFTER_SERVICE:
            raise ModelError(
                f"{name} has another kind of blocking; with blocking after service, all stations must block after service"
            )


def _service_time(point: NetworkPoint, r: int, k: int) -> PhaseType:
    """Return the service time of class r at station k."""
    network = point.network
    mean = point.network.service[0, r, k]
    phases_of_mean_1 = network.phases.get((network.classes[r], network.stations[k]))
    return (
        phase_type(mean, network.scv[0, r, k])
        if phases_of_mean_1 is None
        else phases_of_mean_1.scaled(mean)
    )


def build_state_space(point: NetworkPoint, truncation: int | None) -> StateSpace:
    """Build the state space of a point, with open classes truncated at a number of customers in
    all.

    Raises
    ------
    ModelError : the stations have no place for the closed classes, or a lost customer would have no
        place to go
    NoAnswerError : a cycle takes no time
    """
    network = point.network
    routing = point.routing
    classes, count = network.service.shape[1:]
    visited = point.visited()
    _check_time_spent(point)
    entry = routing.entry * visited
    onward = routing.onward * visited
    begins = [
        [(r, int(k), row[k].item()) for k in np.flatnonzero(row)] for r, row in enumerate(entry)
    ]
    home = [begins[r] for r in routing.restart or range(classes)]
    # What has a slope alone is never entered, but takes part in derivatives.
    _check_home(
        point, [[k for _, k, chance in entries if complex(chance).real] for entries in home]
    )
    stations = [_station_state(point, k, truncation) for k in range(count)]
    thinking = {int(r): exponential(network.think[0, r]) for r in np.flatnonzero(visited[:, count])}
    stations.append(SharedServers(thinking, classes, None))
    bursts = (
        {}
        if network.bursts is None
        else {r: burst for r, burst in enumerate(network.bursts[0]) if burst.any()}
    )
    # After service, a blocked station says for which one it waits, and in which order.
    columns = (
        sum(state.width for state in stations)
        + 2 * count * (AFTER_SERVICE in network.blocking)
        + len(bursts)
    )
    empty = _empty_row(point, columns, truncation)
    destinations = {
        (r, k): [(int(s), int(j), onward[r, k, s, j].item()) for s, j in np.argwhere(onward[r, k])]
        for r, k in np.argwhere(visited).tolist()
    }
    arrivals = {
        int(r): (network.arrivals[0, r], begins[r])
        for r in np.flatnonzero(~network.closed)
        if network.arrivals[0, r] != 0
    }
    space = StateSpace(
        stations=stations,
        names=network.stations,
        destinations=destinations,
        arrivals=arrivals,
        bursts=bursts,
        batch=network.batch or (1,) * classes,
        restart=dict(enumerate(home)),
        abandonment=_abandonment_rates(network, visited),
        capacity=(*network.capacity, None),
        blocking=(*network.blocking, LOSS),
        truncation=truncation,
        open_classes=~network.closed,
        start=empty,
        interleaved=empty,
    )
    return _with_closed_customers(space, point)


def _check_time_spent(point: NetworkPoint) -> None:
    """Raise if a closed class with customers spends no time anywhere."""
    for r in np.flatnonzero(point.population()):
        if not point.routing.entry[r].real.any():
            raise NoAnswerError(
                f"{point.network.classes[r]} spends no time anywhere, so it would cycle"
                " infinitely often; give it a service or think time"
            )


def _empty_row(point: NetworkPoint, columns: int, truncation: int | None) -> Array:
    """Return the state without customers [columns], of the smallest integers that hold all."""
    capacities = (capacity or 0 for capacity in point.network.capacity)
    largest = max(int(point.population().sum()), truncation or 0, *capacities)
    return np.zeros(max(1, columns), dtype=np.int16 if largest < 2**14 else np.int32)


def _with_closed_customers(space: StateSpace, point: NetworkPoint) -> StateSpace:
    """Set the two first states of a state space: closed customers placed class after class, and
    with the classes in turn.
    """
    population = point.population()
    visited = point.visited()
    thinking = visited.shape[1] - 1
    begin = {
        r: [*dict.fromkeys([*(k for _, k, _ in home), *np.flatnonzero(visited[r])])]
        for r, home in space.restart.items()
    }
    present = {r: int(n) for r, n in enumerate(population) if n > 0}
    one_by_one = [r for r, n in present.items() for _ in range(n)]
    # The j-th of n customers of a class comes at (j + 1/2) / n, so the classes take turns; the last
    # restarts.
    turns = sorted((((j + 0.5) / n, r) for r, n in present.items() for j in range(n)), reverse=True)
    thinking_last = {r: sorted(places, key=lambda k: k == thinking) for r, places in begin.items()}
    interleaved = initial_state(space, [r for _, r in turns], thinking_last)
    return replace(space, start=initial_state(space, one_by_one, begin), interleaved=interleaved)


def _abandonment_rates(
    network: NetworkArrays, visited: NDArray[np.bool_]
) -> dict[tuple[int, int], complex]:
    """Return the rates at which waiting customers abandon the queues of stations, by class and
    station [1/s].
    """
    if network.patience is None:
        return {}
    places = np.argwhere((network.patience[0] != 0) & visited[:, : len(network.stations)]).tolist()
    return {(r, k): (1 / network.patience[0, r, k]).item() for r, k in places}


def _check_home(point: NetworkPoint, home: Sequence[Sequence[int]]) -> None:
    """Refuse a closed class that may be lost and begins its next cycle where it may be lost
    again.
    """
    network = point.network
    reached = point.visited()
    population = point.population().sum()
    limited = [
        k for k, blocking in enumerate(network.blocking) if blocking == LOSS and network.limited[k]
    ]
    for r in np.flatnonzero(network.closed).tolist():
        bad = [k for k in home[r] if k in limited]
        lossy = [k for k in limited if reached[r, k] and (network.capacity[k] or 0) < population]
        if bad and lossy:
            raise ModelError(
                f"{network.classes[r]} is lost at {network.stations[lossy[0]]} and begins its cycle"
                f" again at {network.stations[bad[0]]}, which may be full; give a think time or"
                " another blocking"
            )


def _station_state(point: NetworkPoint, station: int, truncation: int | None) -> StationState:
    """Represent a station by the columns that its discipline needs; see `station_state`."""
    network = point.network
    visitors = np.flatnonzero(point.visited()[:, station]).tolist()
    shares = None
    impatient = network.patience is not None and bool(network.patience[0, :, station].any())
    if _from_outside(point, visitors, station) and not impatient:
        flows = {r: network.arrivals[0, r] * point.routing.entry[r, station] for r in visitors}
        shares = {r: flow / sum(flows.values()) for r, flow in flows.items()}
    rates = network.rates[station]
    ranks = {r: int(network.priority[r, station]) for r in visitors}
    return station_state(
        network.discipline[station],
        {r: _service_time(point, r, station) for r in visitors},
        len(network.classes),
        servers=int(network.servers[station]),
        rates=None if rates is None else rates[0],
        places=max(_places_at(point, station, truncation), 1),
        ranks=ranks,
        shares=shares,
        impatient=impatient,
        weights=None
        if network.weights is None
        else {r: network.weights[0, r, station].item() for r in visitors},
    )


def _from_outside(point: NetworkPoint, visitors: Sequence[int], station: int) -> bool:
    """Return whether all customers of a station come from outside the network."""
    opened = not point.network.closed[visitors].any()
    arriving = (point.network.arrivals[0, visitors].real > 0).all()
    arriving &= not point.network.not_poisson
    return bool(opened and arriving and not point.routing.onward[:, :, :, station].any())


def _places_at(point: NetworkPoint, station: int, truncation: int | None) -> int:
    """Return the largest number of customers that can be present at a station."""
    visiting = point.routing.groups()[point.visited()[:, station]].any(axis=0)
    count = int(point.population()[visiting].sum())
    opened = bool((visiting & ~point.network.closed).any())
    most = point.network.capacity[station]
    if opened and truncation is None:
        assert most is not None
        return most
    count += (truncation or 0) * opened
    return count if most is None else min(most, count)


def size_in_words(point: NetworkPoint, truncation: int | None, limit: float = 0) -> str:
    """Describe the size of a chain by a lower bound on its states that is known before it is
    explored: without capacities, the ways to place the customers.

    With n customers at m stations there are C(n + m - 1, n) ways; open ones may also be outside.
    Orders and phases are not counted.

    >>> from slipstick.queueing.network import network_arrays
    >>> size_in_words(network_point(network_arrays([1.0, 2.0, 3.0], population=4)), None)
    'at least 15 in all'
    """
    cut = "" if truncation is None else f", truncated at {truncation} customers of open classes"
    closed = point.network.closed
    visited = point.visited()
    opened = int(visited[~closed].any(axis=0).sum())
    placements = math.comb((truncation or 0) + opened, opened)
    for members in np.unique(point.routing.groups()[closed], axis=0):
        customers = int(point.population()[members].sum())
        places = int(visited[members].any(axis=0).sum())
        placements *= math.comb(customers + max(places, 1) - 1, customers)
    is_counted = placements > limit and not point.network.limited.any()
    return (
        f"at least {min(placements, 10**300):.4g} in all"
        if is_counted
        else "as many as were looked for"
    ) + cut
