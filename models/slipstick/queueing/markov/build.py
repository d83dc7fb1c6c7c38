"""From the arrays of a network to where customers go next and to its state space, with an estimate of its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import Array
from slipstick.queueing.markov.state_space import (
    Destination,
    OrderedQueue,
    RankedQueue,
    SampledClassQueue,
    SharedServers,
    StateSpace,
    StationState,
    initial_state,
    station_state,
)
from slipstick.queueing.network import NetworkArrays
from slipstick.queueing.routes import OUTSIDE, Routes
from slipstick.service_times import PhaseType, exponential, phase_type
from slipstick.vocabulary import AFTER_SERVICE


@dataclass(frozen=True, eq=False)
class NetworkPoint:
    """One point of a network, with its routing.

    Parameters
    ----------
    network : the network, one point
    routing : where customers go next
    """

    network: NetworkArrays
    routing: Routing

    def visited(self) -> NDArray[np.bool_]:
        """Tell which classes visit which stations [classes, stations]."""
        comes: NDArray[np.bool_] = (self.routing.entry.real > 0) | (self.routing.onward.real > 0).any(axis=(0, 1))
        return comes

    def unbounded(self) -> bool:
        """Tell whether the number of open customers at some station has no limit."""
        comes = np.atleast_1d(self.visited()[~self.network.closed].any(axis=0))
        return any(each and self.network.capacity[k] is None for k, each in enumerate(comes))

    def population(self) -> NDArray[np.int64]:
        """Give the customers of each class at the start, 0 where it is open [classes]."""
        population: NDArray[np.int64] = np.where(self.network.closed, self.network.population[0], 0)
        return population


def network_point(network: NetworkArrays, routing: Routing | None = None) -> NetworkPoint:
    """Put one point of a network together, and refuse what a chain cannot represent.

    Raises
    ------
    ModelError : a service takes no time, or routing or blocking does not fit
    """
    takes_time = np.where(network.service[0].real > 0, network.visits[0], 0.0)
    point = NetworkPoint(network, routing or routing_in_order(takes_time))
    _check_routing(point, routing)
    _check_blocking(point)
    return point


def _check_routing(point: NetworkPoint, given: Routing | None) -> None:
    network = point.network
    if given is not None and given.entry.shape != network.service.shape[1:]:
        raise ModelError(
            f"routing is for {given.entry.shape} classes and stations, the network has {network.service.shape[1:]}"
        )
    for r, k in np.argwhere(point.visited()):
        if not network.service[0, r, k].real > 0:
            raise ModelError(
                f"{network.classes[r]} at {network.stations[k]}: routing leads there, but service takes no time"
            )
    groups = point.routing.groups()
    if (groups & (network.closed[:, None] != network.closed[None, :])).any():
        raise ModelError("routing turns an open class into a closed one; keep them apart")


def _check_blocking(point: NetworkPoint) -> None:
    """Refuse blocking that needs a memory in the state: a destination that is chosen, or a phase that is kept."""
    network, onward = point.network, point.routing.onward.real
    for j, kind in enumerate(point.network.blocking):
        if kind == AFTER_SERVICE:
            raise ModelError(
                f"{network.stations[j]}: this chain has no blocking after service; use blocking_after_service"
            )
        if kind == "loss" or point.network.capacity[j] is None:
            continue
        for r, k in np.argwhere(onward[..., j].sum(axis=2) > 0):
            where = f"{network.classes[r]} from {network.stations[k]} to {network.stations[j]}"
            if kind == "before-service" and np.count_nonzero(onward[r, k]) + (onward[r, k].sum() < 1 - 1e-12) > 1:
                raise ModelError(f"{where}: blocking before service needs one destination; use 'repeat' or 'loss'")
            if _service_time(point, r, k).phases > 1:
                raise ModelError(f"{where}: blocking of a service in phases is not covered; use 'loss' or scv 1")


def _service_time(point: NetworkPoint, kind: int, station: int) -> PhaseType:
    network = point.network
    return phase_type(network.service[0, kind, station], network.scv[0, kind, station])


def build_state_space(point: NetworkPoint, truncation: int | None) -> StateSpace:
    """Build the state space of a point, with open classes truncated at a number of customers in all.

    Raises
    ------
    ModelError : the stations have no place for the closed classes, or a lost customer would have no place to go
    """
    network = point.network
    kinds, count = network.service.shape[1:]
    thinks = network.closed & (network.think[0].real > 0)
    stations = [_station_state(point, k, truncation) for k in range(count)]
    stations.append(
        SharedServers({int(r): exponential(network.think[0, r]) for r in np.flatnonzero(thinks)}, kinds, None)
    )
    entry = [
        tuple((r, k, p) for k, p in enumerate(row.tolist()) if p != 0) for r, row in enumerate(point.routing.entry)
    ]
    restarts = point.routing.restart or range(kinds)
    home = [((r, count, 1.0),) if thinks[r] else _scaled(entry[r]) for r in restarts]
    population = point.population()
    _check_time(point, home)
    largest = max(int(population.sum()), truncation or 0, *(each or 0 for each in point.network.capacity))
    width = max(1, sum(state.width for state in stations))
    empty = np.zeros(width, dtype=np.int16 if largest < 2**14 else np.int32)
    space = StateSpace(
        stations=stations,
        destinations=_destinations(point, home, entry, count),
        arrivals={
            int(r): (network.arrivals[0, r], entry[r])
            for r in np.flatnonzero(~network.closed)
            if network.arrivals[0, r] != 0
        },
        restart={r: home[r] for r in range(kinds)},
        capacity=(*point.network.capacity, None),
        blocking=(*point.network.blocking, "loss"),
        truncation=truncation,
        opened=~network.closed,
        start=empty,
        interleaved=empty,
    )
    _check_home(point, home)
    visited = [np.flatnonzero(comes).tolist() for comes in point.visited()]
    begin = {r: [*dict.fromkeys([*(k for _, k, _ in home[r]), *visited[r]])] for r in range(kinds)}
    who = {r: int(n) for r, n in enumerate(population) if n > 0}
    one_by_one = [r for r, n in who.items() for _ in range(n)]
    # The j-th of n customers of a class comes at (j + 1/2) / n, so the classes take turns; the last restarts.
    turns = sorted((((j + 0.5) / n, r) for r, n in who.items() for j in range(n)), reverse=True)
    at_work = {r: sorted(places, key=lambda k: k == count) for r, places in begin.items()}
    interleaved = initial_state(space, [r for _, r in turns], at_work)
    return replace(space, start=initial_state(space, one_by_one, begin), interleaved=interleaved)


def _scaled(places: Sequence[Destination]) -> tuple[Destination, ...]:
    """Leave out cycles that visit no station: without think time they take no time."""
    total = sum(p for _, _, p in places)
    return tuple((r, k, p / total) for r, k, p in places)


def _destinations(
    point: NetworkPoint, home: Sequence[Sequence[Destination]], entry: Sequence[Sequence[Destination]], think: int
) -> dict[tuple[int, int], list[Destination]]:
    onward, closed = point.routing.onward, point.network.closed
    destinations: dict[tuple[int, int], list[Destination]] = {}
    for r, places in enumerate(entry):
        # A cycle that visits no station is one more think time.
        restart = 1.0 - sum(p for _, _, p in places)
        destinations[r, think] = [*places, *([(r, think, restart)] if abs(restart) > 1e-12 else [])]
    for r, k in np.argwhere(point.visited()).tolist():
        destinations[r, k] = [(int(s), int(j), onward[r, k, s, j].item()) for s, j in np.argwhere(onward[r, k] != 0)]
        rest = 1.0 - onward[r, k].sum().item()
        if closed[r] and abs(rest) > 1e-12:
            destinations[r, k] += [(s, j, p * rest) for s, j, p in home[r]]
    return destinations


def _check_home(point: NetworkPoint, home: Sequence[Sequence[Destination]]) -> None:
    limited = [
        k for k, most in enumerate(point.network.capacity) if most is not None and point.network.blocking[k] == "loss"
    ]
    comes = point.visited()
    for r in np.flatnonzero(point.network.closed).tolist():
        bad = [k for _, k, _ in home[r] if k in limited]
        lossy = [k for k in limited if comes[r, k] and (point.network.capacity[k] or 0) < point.population().sum()]
        if bad and lossy:
            raise ModelError(
                f"{point.network.classes[r]} is lost at {point.network.stations[lossy[0]]} and begins its cycle again "
                f"at {point.network.stations[bad[0]]}, which may be full; give a think time or another blocking"
            )


def _check_time(point: NetworkPoint, home: Sequence[Sequence[Destination]]) -> None:
    for r, count in enumerate(point.population()):
        if count and not home[r]:
            raise NoAnswerError(
                f"{point.network.classes[r]} spends no time anywhere, so its cycles are endlessly many; give it a service "
                "or think time"
            )


def _station_state(point: NetworkPoint, station: int, truncation: int | None) -> StationState:
    """Represent a station by the columns that its discipline needs; see `station_state`."""
    network = point.network
    visitors = np.flatnonzero(point.visited()[:, station]).tolist()
    shares = None
    if _from_outside(point, visitors, station):
        flows = {r: network.arrivals[0, r] * point.routing.entry[r, station] for r in visitors}
        shares = {r: flow / sum(flows.values()) for r, flow in flows.items()}
    rates = network.rates[station]
    return station_state(
        network.discipline[station],
        {r: _service_time(point, r, station) for r in visitors},
        len(network.classes),
        servers=int(network.servers[station]),
        rates=None if rates is None else rates[0],
        places=max(_places_at(point, station, truncation), 1),
        ranks={r: int(network.priority[r, station]) for r in visitors},
        shares=shares,
    )


def _from_outside(point: NetworkPoint, visitors: Sequence[int], station: int) -> bool:
    """Tell whether all customers of a station arrive there from outside."""
    opened = not point.network.closed[visitors].any()
    arriving = (point.network.arrivals[0, visitors].real > 0).all()
    return bool(opened and arriving and not (point.routing.onward[:, :, :, station] != 0).any())


def _places_at(point: NetworkPoint, station: int, truncation: int | None) -> int:
    """Give the most customers that can be present."""
    comes = point.visited()[:, station]
    groups = point.routing.groups()
    who = groups[comes].any(axis=0)
    count = int(point.population()[who].sum())
    opened = bool((who & ~point.network.closed).any())
    most = point.network.capacity[station]
    if opened and truncation is None:
        assert most is not None
        return most
    count += (truncation or 0) * opened
    return count if most is None else min(most, count)


MOST_POINTS = 3_000
"""Vectors of customers by class up to which states are counted."""


def size_in_words(space: StateSpace, population: NDArray[np.int64]) -> str:
    """Describe what is known of the number of states."""
    truncation = "" if space.truncation is None else f", truncated at {space.truncation} customers of open classes"
    states = estimated_states(space, population)
    return ("as many as were looked for" if states is None else f"about {states:.2g} in all") + truncation


def estimated_states(space: StateSpace, population: NDArray[np.int64]) -> float | None:
    """Count states by convolution over the customers of each class; None where there are too many to go through.

    With w_k(n) the states of station k with n customers by class, all stations have (w_1 * w_2 * ...)(N). Counts are
    exact for exponential service; with phases, and where customers change class, they are an upper bound.

    Parameters
    ----------
    space : the state space
    population : customers of each closed class

    >>> from slipstick.queueing.markov.solve import markov_chain
    >>> from slipstick.queueing.network import network_arrays
    >>> space, chain = markov_chain(network_arrays([1.0, 2.0, 3.0], population=4))
    >>> estimated_states(space, np.array([4])), chain.size
    (15.0, 15)
    """
    groups = _groups(space)
    most = np.where(space.opened, space.truncation or sum(each or 0 for each in space.capacity), groups @ population)
    if np.prod(most + 1.0) > MOST_POINTS or any(isinstance(state, SampledClassQueue) for state in space.stations):
        return None
    points = np.array(list(np.ndindex(*(most + 1))))
    total = np.zeros(most + 1)
    total[(0,) * len(most)] = 1.0
    for state, limit in zip(space.stations, space.capacity, strict=True):
        local = np.array([_states_at(state, point, limit) for point in points])
        total = _convolved(total, points, local)
    closed = ~space.opened
    allowed = (points @ groups.T == groups @ population)[:, closed].all(axis=1)
    if space.truncation is not None:
        allowed &= points[:, space.opened].sum(axis=1) <= space.truncation
    return float(total.ravel()[allowed].sum())


def _groups(space: StateSpace) -> NDArray[np.int64]:
    """Tell into which classes a class may change, itself included, 1 or 0 [classes, classes]."""
    kinds = len(space.opened)
    reach = np.eye(kinds, dtype=np.int64)
    for (r, _), places in space.destinations.items():
        for s, _, _ in places:
            reach[r, s] = reach[s, r] = 1
    for _ in range(kinds):
        reach = np.minimum(reach @ reach, 1)
    return reach


def _convolved(
    total: NDArray[np.float64], points: NDArray[np.int64], local: NDArray[np.float64]
) -> NDArray[np.float64]:
    after = np.zeros_like(total)
    for point, destinations in zip(points, local, strict=True):
        if destinations:
            there = tuple(slice(n, None) for n in point)
            here = tuple(slice(0, size - n) for n, size in zip(point, total.shape, strict=True))
            after[there] += destinations * total[here]
    return after


def _states_at(state: StationState, counts: NDArray[np.int64], limit: int | None) -> float:
    """Count the states of a station with given numbers of each class."""
    present = int(counts.sum())
    if any(n and r not in state.times for r, n in enumerate(counts)) or (limit is not None and present > limit):
        return 0.0
    phases = {r: state.times[r].phases for r, n in enumerate(counts) if n}
    if not phases:
        return 1.0
    if isinstance(state, OrderedQueue):
        orders = math.lgamma(present + 1) - sum(math.lgamma(n + 1) for n in counts)
        return math.exp(min(700.0, orders)) * float(max(phases.values()) ** min(state.heads, present))
    if isinstance(state, RankedQueue):
        cells, served = sum(phases.values()), min(present, state.servers)
        return float(math.comb(served + cells - 1, cells - 1))
    return float(math.prod(math.comb(int(counts[r]) + h - 1, h - 1) for r, h in phases.items()))


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """Where customers go next; see `routing_in_order` and `routing_of_chains`.

    Parameters
    ----------
    entry : probability that a class begins its cycle at each station; what is lacking of 1 ends at once [1]
        [classes, stations]
    onward : probability that a class leaves a station for a class at a station; what is lacking of 1 ends the
        cycle: an open class leaves, a closed one thinks and begins restart [1] [classes, stations, classes, stations]
    restart : the class in which a customer begins its next cycle; the same by default [classes]
    """

    entry: Array
    onward: Array
    restart: tuple[int, ...] = ()

    def groups(self) -> NDArray[np.bool_]:
        """Tell to which classes the customers of a class can ever belong, itself included [classes, classes]."""
        kinds = len(self.entry)
        reach = np.eye(kinds, dtype=bool) | (self.onward.real > 0).any(axis=(1, 3))
        for r, s in enumerate(self.restart):
            reach[r, s] = True
        for _ in range(kinds):
            reach = (reach.astype(int) @ reach.astype(int)) > 0
        reach |= reach.T
        return reach


def routing_in_order(visits: Array) -> Routing:
    """Visit the stations in the order written, as often as the visit ratios say.

    A station of V <= 1 visits is passed by with probability 1 - V; one of V > 1 is visited restart at once with
    probability 1 - 1/V after each visit. Product-form answers depend on the visits alone, others on this order.

    Parameters
    ----------
    visits : visits in one cycle [1] [classes, stations]

    >>> rule = routing_in_order(np.array([[2.0, 0.5]]))
    >>> rule.entry.tolist(), rule.onward[0, 0, 0].tolist(), rule.onward[0, 1, 0].tolist()
    ([[1.0, 0.0]], [0.5, 0.25], [0.0, 0.0])
    """
    kinds, count = visits.shape
    chance = np.where(visits.real > 1, 1.0, visits)
    restart = np.where(visits.real > 1, 1.0 - 1.0 / np.where(visits.real > 1, visits, 1.0), 0.0)
    # From just before station k: the first station visited from there on.
    ahead = np.zeros((count + 1, kinds, count), dtype=chance.dtype)
    for k in range(count - 1, -1, -1):
        ahead[k] = (1.0 - chance[:, k])[:, None] * ahead[k + 1]
        ahead[k, :, k] += chance[:, k]
    onward = np.zeros((kinds, count, kinds, count), dtype=chance.dtype)
    for r in range(kinds):
        for k in range(count):
            onward[r, k, r] = (1.0 - restart[r, k]) * ahead[k + 1, r]
            onward[r, k, r, k] += restart[r, k]
    return Routing(ahead[0], onward)


def routing_of_chains(
    routes: Routes,
    visits: Array,
    references: dict[tuple[int, ...], tuple[int, int]],
    thinks: dict[tuple[int, ...], int],
    point: int = 0,
) -> Routing:
    """Send the classes of some chains along their routes; all others visit the stations in order.

    Parameters
    ----------
    routes : of the classes in chains
    visits : of all classes, of which those that keep their class go in order [classes, stations]
    references : for each chain, by the numbers of its classes, the class and the station where a cycle begins
    thinks : for closed chains that think, the station to do so at on the route to the reference station
    point : which of the routes' points

    >>> there = Routes(np.array([(0, 0), (1, 0)]), np.array([(1, 0), (0, 0)]), np.ones((1, 2)))
    >>> rule = routing_of_chains(there, np.ones((2, 1)), {(0, 1): (0, 0)}, {})
    >>> rule.onward[0, 0, 1], rule.restart
    (array([1.]), (0, 0))
    """
    rule = routing_in_order(visits)
    kind = np.result_type(rule.onward, routes.probability)
    entry, onward = rule.entry.astype(kind), rule.onward.astype(kind)
    restart = list(range(len(entry)))
    for members, (label, station) in references.items():
        entry[list(members)], onward[list(members)] = 0, 0
        think = thinks.get(members, station)
        entry[label, think] = 1
        for r in members:
            restart[r] = label
        for route in routes.among(members):
            (r, k), (s, j), p = routes.source[route], routes.target[route], routes.probability[point, route]
            if s == OUTSIDE:
                continue
            onward[r, k, s, think if j == station else j] += p
            if think != station and j == station:
                onward[s, think, s, j] = 1
    return Routing(entry, onward, tuple(restart))
