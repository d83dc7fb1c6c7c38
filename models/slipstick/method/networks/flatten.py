"""A queueing network flattened into the plan that a simulation runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.method.networks.arrays import Arrays, Compiled
from slipstick.model.network import Chain, Customers, Place, Stream
from slipstick.queueing.groups import check_some_time
from slipstick.sim.plan.build import Builder
from slipstick.sim.plan.distributions import Distribution, from_scv
from slipstick.sim.plan.plan import Plan

__all__ = ["FlatNetwork", "flatten", "served", "thinking", "waited"]

DISCIPLINES = {"priority-preemptive": "priority-pr"}
"""What the kernels call a discipline, where it is not the same name."""

MOST = 1_000_000
"""Customers that are kept in mind one by one."""


def served(place: Place) -> str:
    """Give the label of service of a class at a station, which names the place in other ways, too."""
    return f"{place[0]} at {place[1]}"


def waited(place: Place) -> str:
    """Give the label of waiting of a class at a station."""
    return f"{place[0]} before {place[1]}"


def thinking(chain: str) -> str:
    """Give the label of the think time of a chain."""
    return f"{chain} thinks"


@dataclass(frozen=True, slots=True)
class FlatNetwork:
    """A plan, and what its parts stand for.

    Parameters
    ----------
    plan : what the simulator runs; its labels and gates are `served`, `waited` and `thinking`
    groups : number among the plan's members of each chain that has anybody
    visits : of each class at each station in a cycle, where it has service [1]
    told : the same as the network tells them: a demand is one visit, however it is split [1]
    service : mean time of a visit [s]
    first : where the passages of a chain with gates are counted, and visits there in a cycle
    """

    plan: Plan
    groups: Mapping[str, int]
    visits: Mapping[Place, float]
    told: Mapping[Place, float]
    service: Mapping[Place, float]
    first: Mapping[str, Mapping[Place, float]]


def flatten(compiled: Compiled, columns: Mapping[str, NDArray[np.float64]], arrays: Arrays) -> FlatNetwork:
    """Flatten a network at one point.

    A class that keeps its class goes to the stations in the order written: one of V <= 1 visits is passed by with
    probability 1 - V; one of V > 1 is visited again at once with probability 1 - 1/V after each visit. A class in a
    chain goes where routing says, and a closed cycle ends where it comes to the reference station again. Service
    times have the usual distribution of their mean and scv.

    Parameters
    ----------
    compiled : the network
    columns, arrays : its numbers at the point, twice

    Raises
    ------
    ModelError : there are too many customers, a station blocks those who come to it, or those who are lost would come back at the same instant
    NoAnswerError : a cycle takes no time
    """
    network = arrays.network
    for name, station in compiled.model.stations.items():
        if station.blocking != "loss":
            raise ModelError(
                f"a simulation loses who comes to {name} when it is full, it blocks nobody; ask for markov-chain"
            )
    closed = np.flatnonzero(network.closed)
    check_some_time(network, (network.think + network.demand.sum(axis=2))[:, closed], closed)
    return _Flattener(compiled, columns, arrays).flat()


class _Flattener:
    """One network at one point, under way."""

    def __init__(self, compiled: Compiled, columns: Mapping[str, NDArray[np.float64]], arrays: Arrays) -> None:
        self.model, self.compiled, self.columns, self.arrays = compiled.model, compiled, columns, arrays
        self.builder = Builder()
        self.visits: dict[Place, float] = {}
        self.told: dict[Place, float] = {}
        self.service: dict[Place, float] = {}
        self.groups: dict[str, int] = {}
        self.first: dict[str, dict[Place, float]] = {}

    def flat(self) -> FlatNetwork:
        for name, station in self.model.stations.items():
            if station.discipline != "is":
                kind = DISCIPLINES.get(station.discipline, station.discipline)
                rates = [self._number(f"stations.{name}.rates.{index}") for index in range(len(station.rates))]
                self.builder.station(name, station.servers, kind, rates=rates)
        for c, (name, chain) in enumerate(self.compiled.chains.items()):
            for place, visits, told, service in self._work(c, name, chain):
                self.visits[place], self.told[place], self.service[place] = visits, told, service
            if self._anybody(c, name, chain):
                self._chain(c, name, chain)
        return FlatNetwork(self.builder.plan(), self.groups, self.visits, self.told, self.service, self.first)

    def _number(self, path: str) -> float:
        return float(self.columns[path][0].real)

    def _work(self, c: int, name: str, chain: Chain) -> Iterator[tuple[Place, float, float, float]]:
        """Yield every place of a chain that takes time, or that routing leads to, with visits, told visits and service."""
        network, routed = self.arrays.network, name in self.model.chains
        for label in chain.classes:
            r = self.compiled.classes.index(label)
            for k, (station, queue) in enumerate(self.model.stations.items()):
                # Demands of several classes at a first-come station are visits of one service time: as solvers take it.
                told = self.arrays.visits[0, r, k].real
                visits = told if routed else network.visits[0, c, k].real
                service = (self.arrays.service[0, r, k] if routed else network.service[0, c, k]).real
                if label in queue.visitors() and visits > 0 and (routed or service > 0):
                    yield (label, station), float(visits), float(told), float(service)

    def _anybody(self, c: int, name: str, chain: Chain) -> bool:
        if isinstance(chain.members, Stream):
            return bool(self.arrays.network.arrivals[0, c] > 0)
        size = int(self.arrays.network.population[0, c])
        if size > MOST:
            raise ModelError(f"a simulation follows each customer, at most {MOST:,} of a chain; {name} has {size:,}")
        return size > 0

    def _chain(self, c: int, name: str, chain: Chain) -> None:
        """Write what the members of a chain do, and let them begin."""
        network, builder = self.arrays.network, self.builder
        self.groups[name] = len(self.groups)
        if any(self.model.stations[station].capacity for label, station in self._places(chain)):
            self._count(c, name, chain)
        start = self._routed(c, name, chain) if name in self.model.chains else self._in_order(c, name, chain)
        if name in self.first:
            builder.mark(_lost(name))
            builder.finish(lost=True)
        if isinstance(chain.members, Stream):
            builder.open(name, Distribution("exponential", 1 / float(network.arrivals[0, c].real)), at=start)
        else:
            builder.closed(name, int(network.population[0, c]), at=start)

    def _places(self, chain: Chain) -> list[Place]:
        return [place for place in self.visits if place[0] in chain.classes]

    def _count(self, c: int, name: str, chain: Chain) -> None:
        """Note where passages are counted: with losses, not every cycle that begins is one."""
        places = self._places(chain)
        if name in self.model.chains:
            home = chain.reference[1]
            counted = {place: 1.0 for place in places if place[1] == home}
            begins = [home]
        else:
            counted = {places[0]: self.visits[places[0]]}
            sure = next((index for index, place in enumerate(places) if self.visits[place] >= 1), len(places))
            begins = [station for _, station in places[: sure + 1]]
        self.first[name] = counted
        full = next((station for station in begins if self._may_be_full(station)), None)
        if full and isinstance(chain.members, Customers) and not self.arrays.network.think[0, c]:
            raise ModelError(
                f"a cycle of {name} may begin at {full}, which may be full: who is lost would come back at the same "
                f"instant; give {name} a think time, or {full} more capacity"
            )

    def _may_be_full(self, station: str) -> bool:
        """Say whether as many as a station takes may ever be there or on their way to it."""
        most, network = self.model.stations[station].capacity, self.arrays.network
        comes = network.visits[0, :, self.compiled.stations.index(station)].real > 0
        opened = (comes & ~network.closed & (network.arrivals[0].real > 0)).any()
        return most is not None and bool(opened or network.population[0, comes & network.closed].sum() > most)

    def _think(self, c: int, name: str) -> int:
        """Begin a cycle: think, if they do, and count time from there on; give the place."""
        start, mean = self.builder.here, float(self.arrays.network.think[0, c].real)
        if mean > 0:
            self.builder.delay(Distribution("exponential", mean), thinking(name))
            self.builder.begin()
        return start

    def _in_order(self, c: int, name: str, chain: Chain) -> int:
        start = self._think(c, name)
        for place in self._places(chain):
            visits, visit = self.visits[place], partial(self._visit, name, place)
            if visits < 1:
                self.builder.choose([(visits, visit), (1 - visits, lambda: None)], f"{served(place)} or not")
            elif visits > 1:
                self.builder.over_again(1 - 1 / visits, visit, f"{served(place)} again")
            else:
                visit()
        self.builder.finish()
        return start

    def _routed(self, c: int, name: str, chain: Chain) -> int:
        """Write a block for each place, the reference first; give where a cycle begins."""
        builder, start = self.builder, self.builder.here
        for place in sorted(self._places(chain), key=lambda each: each != chain.reference):
            if self._ends_at(chain, place):
                builder.mark(_end(place))
                builder.finish(onward=True)
                begun = self._think(c, name)
                start = begun if place == chain.reference else start
            builder.mark(served(place))
            self._visit(name, place)
            builder.go(list(self._ways(name, chain, place)), f"{served(place)} onward")
        builder.mark(_out(name))
        builder.finish()
        return start

    def _ends_at(self, chain: Chain, place: Place | None) -> bool:
        return isinstance(chain.members, Customers) and place is not None and place[1] == chain.reference[1]

    def _ways(self, name: str, chain: Chain, place: Place) -> Iterator[tuple[float, str]]:
        for index, way in enumerate(self.model.routing):
            probability = self._number(f"routing.{index}.probability")
            if way.source == place and probability > 0:
                target = _out(name) if way.target is None else served(way.target)
                if way.target is not None and self._ends_at(chain, way.target):
                    target = _end(way.target)
                yield probability, target

    def _visit(self, chain: str, place: Place) -> None:
        """Visit a station; where the chain may lose customers, count them at a gate."""
        builder, (label, station) = self.builder, place
        queue, scv = self.model.stations[station], self.columns.get(f"stations.{station}.scv.{label}")
        time = from_scv(self.service[place], 1.0 if scv is None else float(scv[0].real))
        resource = None if queue.discipline == "is" else station
        if chain in self.first:
            builder.admit(served(place), resource, queue.capacity or 0, _lost(chain))
        if resource is None:
            builder.delay(time, served(place))
        else:
            builder.serve(station, time, served(place), wait=waited(place), rank=queue.priority.get(label, 0))


def _end(place: Place) -> str:
    return f"end of a cycle to {served(place)}"


def _out(chain: str) -> str:
    return f"{chain} out"


def _lost(chain: str) -> str:
    return f"{chain} lost"
