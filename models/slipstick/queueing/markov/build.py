"""From a network of arrays to rooms on a floor.

About how many states a network's chain has, to say so when there are too many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import Array
from slipstick.queueing.markov.phase_type import PhaseType, exponential, fit
from slipstick.queueing.markov.routing import Routing, in_order
from slipstick.queueing.markov.state_space import BLOCKING, Floor, Place, place_all
from slipstick.queueing.markov.station_states import Desk, Line, Lot, Room, Shared
from slipstick.queueing.network import Network


@dataclass(frozen=True, eq=False)
class Plan:
    """One point of a network, and what arrays cannot say of it.

    Parameters
    ----------
    network : the network, one point
    routing : where customers go next
    capacity : for each station who can be present at most, or None
    blocking : for each station one of `BLOCKING`
    times : service times by class and station, where mean and scv do not say enough
    """

    network: Network
    routing: Routing
    capacity: Sequence[int | None]
    blocking: Sequence[str]
    times: Mapping[tuple[int, int], PhaseType] = field(default_factory=dict)

    def visited(self) -> NDArray[np.bool_]:
        """Say which classes come to which stations [classes, stations]."""
        comes: NDArray[np.bool_] = (self.routing.entry.real > 0) | (self.routing.onward.real > 0).any(axis=(0, 1))
        return comes

    def unbounded(self) -> bool:
        """Say whether open classes can fill some station without end."""
        comes = np.atleast_1d(self.visited()[~self.network.closed].any(axis=0))
        return any(each and self.capacity[k] is None for k, each in enumerate(comes))

    def population(self) -> NDArray[np.int64]:
        """Give the customers of each class at the start, 0 where it is open [classes]."""
        population: NDArray[np.int64] = np.where(self.network.closed, self.network.population[0], 0)
        return population


def plan(
    network: Network,
    routing: Routing | None = None,
    capacity: Sequence[int | None] | None = None,
    blocking: str | Sequence[str] = "loss",
    times: Mapping[tuple[int, int], PhaseType] | None = None,
) -> Plan:
    """Put together a plan, and refuse what the chain cannot mean.

    Raises
    ------
    ModelError : a capacity or kind of blocking is not known, a service takes no time, or routing does not fit
    """
    count = len(network.stations)
    kinds = (blocking,) * count if isinstance(blocking, str) else tuple(blocking)
    room_for = tuple(capacity) if capacity is not None else (None,) * count
    for name, given in (("capacity", room_for), ("blocking", kinds)):
        if len(given) != count:
            raise ModelError(f"the chain takes {name} for each of {count} stations, got {len(given)}")
    for station, most, kind in zip(network.stations, room_for, kinds, strict=True):
        if most is not None and most < 1:
            raise ModelError(f"{station}: capacity must be at least 1, got {most}")
        if kind not in BLOCKING:
            raise ModelError(f"{station}: there is no blocking {kind!r}; known: {', '.join(BLOCKING)}")
    takes_time = np.where(network.service[0].real > 0, network.visits[0], 0.0)
    built = Plan(network, routing or in_order(takes_time), room_for, kinds, times or {})
    _check_routing(built, routing)
    _check_blocking(built)
    return built


def _check_routing(built: Plan, given: Routing | None) -> None:
    network = built.network
    if given is not None and given.entry.shape != network.service.shape[1:]:
        raise ModelError(
            f"routing is for {given.entry.shape} classes and stations, the network has {network.service.shape[1:]}"
        )
    for r, k in np.argwhere(built.visited()):
        if not network.service[0, r, k].real > 0 and (r, k) not in built.times:
            raise ModelError(
                f"{network.classes[r]} at {network.stations[k]}: routing leads there, but service takes no time"
            )
    groups = built.routing.groups()
    if (groups & (network.closed[:, None] != network.closed[None, :])).any():
        raise ModelError("routing turns an open class into a closed one; keep them apart")


def _check_blocking(built: Plan) -> None:
    """Look at who is blocked: repetition needs no memory, waiting for one destination needs only one."""
    network, onward = built.network, built.routing.onward.real
    for j, kind in enumerate(built.blocking):
        if kind == "loss" or built.capacity[j] is None:
            continue
        for r, k in np.argwhere(onward[..., j].sum(axis=2) > 0):
            where = f"{network.classes[r]} from {network.stations[k]} to {network.stations[j]}"
            if kind == "before-service" and np.count_nonzero(onward[r, k]) + (onward[r, k].sum() < 1 - 1e-12) > 1:
                raise ModelError(f"{where}: blocking before service needs one destination; use 'repeat' or 'loss'")
            if _time(built, r, k).phases > 1:
                raise ModelError(f"{where}: blocking of a service in phases is not covered; use 'loss' or scv 1")


def _time(built: Plan, kind: int, station: int) -> PhaseType:
    if (kind, station) in built.times:
        return built.times[kind, station]
    network = built.network
    return fit(network.service[0, kind, station], network.scv[0, kind, station])


def furnish(built: Plan, cut: int | None) -> Floor:
    """Build the floor of a plan, with open classes cut at so many customers in all.

    Raises
    ------
    ModelError : the stations have no room for the closed classes, or a lost customer would have no place to go
    """
    network = built.network
    kinds, count = network.service.shape[1:]
    thinks = network.closed & (network.think[0].real > 0)
    rooms = [_room(built, k, cut) for k in range(count)]
    rooms.append(Shared({int(r): exponential(network.think[0, r]) for r in np.flatnonzero(thinks)}, kinds, None))
    entry = [_places(built.routing.entry[r], r) for r in range(kinds)]
    begins = built.routing.again or range(kinds)
    home = [((r, count, 1.0),) if thinks[r] else _scaled(entry[r]) for r in begins]
    population = built.population()
    _check_time(built, home)
    largest = max(int(population.sum()), cut or 0, *(each or 0 for each in built.capacity))
    width = max(1, sum(room.width for room in rooms))
    nobody = np.zeros(width, dtype=np.int16 if largest < 2**14 else np.int32)
    floor = Floor(
        rooms=rooms,
        ways=_ways(built, home, entry, count),
        arrivals={
            int(r): (network.arrivals[0, r], entry[r])
            for r in np.flatnonzero(~network.closed)
            if network.arrivals[0, r] != 0
        },
        again={r: home[r] for r in range(kinds)},
        capacity=(*built.capacity, None),
        blocking=(*built.blocking, "loss"),
        cut=cut,
        opened=~network.closed,
        start=nobody,
        mixed=nobody,
    )
    _check_home(built, home)
    begin = {r: _begin(built, home[r], r) for r in range(kinds)}
    who = {r: int(n) for r, n in enumerate(population) if n > 0}
    one_by_one = [r for r, n in who.items() for _ in range(n)]
    # The j-th of n customers of a class comes at (j + 1/2) / n, so the classes take turns; the last begins.
    turns = sorted((((j + 0.5) / n, r) for r, n in who.items() for j in range(n)), reverse=True)
    at_work = {r: sorted(places, key=lambda k: k == count) for r, places in begin.items()}
    mixed = place_all(floor, [r for _, r in turns], at_work)
    return replace(floor, start=place_all(floor, one_by_one, begin), mixed=mixed)


def _places(probabilities: Array, kind: int) -> tuple[Place, ...]:
    return tuple((kind, k, p) for k, p in enumerate(probabilities.tolist()) if p != 0)


def _scaled(places: Sequence[Place]) -> tuple[Place, ...]:
    """Leave out cycles that visit nothing: without think time they take no time."""
    total = sum(p for _, _, p in places)
    return tuple((r, k, p / total) for r, k, p in places)


def _ways(
    built: Plan, home: Sequence[Sequence[Place]], entry: Sequence[Sequence[Place]], think: int
) -> dict[tuple[int, int], list[Place]]:
    onward, closed = built.routing.onward, built.network.closed
    ways: dict[tuple[int, int], list[Place]] = {}
    for r, places in enumerate(entry):
        # A cycle that visits nothing is thinking again.
        again = 1.0 - sum(p for _, _, p in places)
        ways[r, think] = [*places, *([(r, think, again)] if abs(again) > 1e-12 else [])]
    for r, k in np.argwhere(built.visited()).tolist():
        ways[r, k] = [(int(s), int(j), onward[r, k, s, j].item()) for s, j in np.argwhere(onward[r, k] != 0)]
        rest = 1.0 - onward[r, k].sum().item()
        if closed[r] and abs(rest) > 1e-12:
            ways[r, k] += [(s, j, p * rest) for s, j, p in home[r]]
    return ways


def _check_home(built: Plan, home: Sequence[Sequence[Place]]) -> None:
    limited = [k for k, most in enumerate(built.capacity) if most is not None and built.blocking[k] == "loss"]
    comes = built.visited()
    for r in np.flatnonzero(built.network.closed).tolist():
        bad = [k for _, k, _ in home[r] if k in limited]
        lossy = [k for k in limited if comes[r, k] and (built.capacity[k] or 0) < built.population().sum()]
        if bad and lossy:
            raise ModelError(
                f"{built.network.classes[r]} is lost at {built.network.stations[lossy[0]]} and begins its cycle again "
                f"at {built.network.stations[bad[0]]}, which may be full; give a think time or another blocking"
            )


def _check_time(built: Plan, home: Sequence[Sequence[Place]]) -> None:
    for r, count in enumerate(built.population()):
        if count and not home[r]:
            raise NoAnswerError(
                f"{built.network.classes[r]} spends no time anywhere, so its cycles are endlessly many; give it a service "
                "or think time"
            )


def _begin(built: Plan, home: Sequence[Place], kind: int) -> list[int]:
    first = [k for _, k, _ in home]
    return first + [int(k) for k in np.flatnonzero(built.visited()[kind]) if k not in first]


def _room(built: Plan, station: int, cut: int | None) -> Room:
    """Choose the smallest room that tells apart what the discipline does."""
    network = built.network
    visitors = np.flatnonzero(built.visited()[:, station]).tolist()
    times = {r: _time(built, r, station) for r in visitors}
    discipline = network.discipline[station]
    kinds, places = len(network.classes), _places_at(built, station, cut)
    if discipline == "is":
        return Shared(times, kinds, None)
    rates = network.rates[station]
    servers = min(int(network.servers[station]), max(places, 1))
    speed = np.arange(servers + 1.0) if rates is None else np.concatenate([[0.0], rates[0]])
    alone = sum(time.phases for time in times.values()) <= 1
    if discipline == "ps" or alone:
        return Shared(times, kinds, speed)
    ranks = {r: int(network.priority[r, station]) if discipline.startswith("priority") else 0 for r in visitors}
    apart = len(set(ranks.values())) == len(ranks) and rates is None
    if apart and discipline == "priority-preemptive" and all(time.phases == 1 for time in times.values()):
        return Shared(times, kinds, speed, ranks)
    if apart and discipline in ("fcfs", "priority"):
        return Desk(times, kinds, servers, ranks)
    if discipline == "fcfs" and rates is None and _from_outside(built, visitors, station):
        flows = {r: network.arrivals[0, r] * built.routing.entry[r, station] for r in visitors}
        return Lot(times, kinds, servers, {r: flow / sum(flows.values()) for r, flow in flows.items()})
    return Line(times, kinds, speed, discipline, max(places, 1), ranks)


def _from_outside(built: Plan, visitors: Sequence[int], station: int) -> bool:
    """Say whether all who come to a station come straight from outside."""
    opened = not built.network.closed[visitors].any()
    arriving = (built.network.arrivals[0, visitors].real > 0).all()
    return bool(opened and arriving and not (built.routing.onward[:, :, :, station] != 0).any())


def _places_at(built: Plan, station: int, cut: int | None) -> int:
    """Say how many can be present at most."""
    comes = built.visited()[:, station]
    groups = built.routing.groups()
    who = groups[comes].any(axis=0)
    count = int(built.population()[who].sum())
    opened = bool((who & ~built.network.closed).any())
    most = built.capacity[station]
    if opened and cut is None:
        assert most is not None
        return most
    count += (cut or 0) * opened
    return count if most is None else min(most, count)


MOST_POINTS = 3_000
"""Vectors of customers by class at most that are gone through."""


def known(floor: Floor, population: NDArray[np.int64]) -> str:
    """Say in words what is known of the size."""
    cut = "" if floor.cut is None else f", cut at {floor.cut} customers of open classes"
    states = estimate(floor, population)
    return ("as many as were looked for" if states is None else f"about {states:.2g} in all") + cut


def estimate(floor: Floor, population: NDArray[np.int64]) -> float | None:
    """Count states by convolution over the customers of each class; None where there are too many to go through.

    With w_k(n) the states of room k with n customers by class, all rooms have (w_1 * w_2 * ...)(N). Counts are exact
    for exponential service; with phases, and where customers change class, they are an upper bound.

    Parameters
    ----------
    floor : the rooms
    population : customers of each closed class

    >>> from slipstick.queueing.markov.network import chain_of
    >>> from slipstick.queueing.network import network
    >>> floor, chain = chain_of(network([1.0, 2.0, 3.0], population=4))
    >>> estimate(floor, np.array([4])), chain.size
    (15.0, 15)
    """
    groups = _groups(floor)
    most = np.where(floor.opened, floor.cut or sum(each or 0 for each in floor.capacity), groups @ population)
    if np.prod(most + 1.0) > MOST_POINTS or any(isinstance(room, Lot) for room in floor.rooms):
        return None
    points = np.array(list(np.ndindex(*(most + 1))))
    total = np.zeros(most + 1)
    total[(0,) * len(most)] = 1.0
    for room, limit in zip(floor.rooms, floor.capacity, strict=True):
        local = np.array([_size_ways(room, point, limit) for point in points])
        total = _convolved(total, points, local)
    closed = ~floor.opened
    allowed = (points @ groups.T == groups @ population)[:, closed].all(axis=1)
    if floor.cut is not None:
        allowed &= points[:, floor.opened].sum(axis=1) <= floor.cut
    return float(total.ravel()[allowed].sum())


def _groups(floor: Floor) -> NDArray[np.int64]:
    """Say which classes customers of a class may change to, itself included, 1 or 0 [classes, classes]."""
    kinds = len(floor.opened)
    reach = np.eye(kinds, dtype=np.int64)
    for (r, _), places in floor.ways.items():
        for s, _, _ in places:
            reach[r, s] = reach[s, r] = 1
    for _ in range(kinds):
        reach = np.minimum(reach @ reach, 1)
    return reach


def _convolved(
    total: NDArray[np.float64], points: NDArray[np.int64], local: NDArray[np.float64]
) -> NDArray[np.float64]:
    after = np.zeros_like(total)
    for point, ways in zip(points, local, strict=True):
        if ways:
            there = tuple(slice(n, None) for n in point)
            here = tuple(slice(0, size - n) for n, size in zip(point, total.shape, strict=True))
            after[there] += ways * total[here]
    return after


def _size_ways(room: Room, counts: NDArray[np.int64], limit: int | None) -> float:
    """Count the states of a room with so many of each class."""
    present = int(counts.sum())
    if any(n and r not in room.times for r, n in enumerate(counts)) or (limit is not None and present > limit):
        return 0.0
    phases = {r: room.times[r].phases for r, n in enumerate(counts) if n}
    if not phases:
        return 1.0
    if isinstance(room, Line):
        orders = math.lgamma(present + 1) - sum(math.lgamma(n + 1) for n in counts)
        return math.exp(min(700.0, orders)) * float(max(phases.values()) ** min(room.heads, present))
    if isinstance(room, Desk):
        cells, served = sum(phases.values()), min(present, room.servers)
        return float(math.comb(served + cells - 1, cells - 1))
    return float(math.prod(math.comb(int(counts[r]) + h - 1, h - 1) for r, h in phases.items()))
