"""Simulation of queueing networks: a network as the plan that the simulator runs, and estimates
of its measures from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby

from slipstick.answer import Value, unit_of
from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import Array, NDArray, np
from slipstick.limits import check_cost
from slipstick.method.answers import ROUNDING, Gradient, Remarks, Solution
from slipstick.method.names import QUANTILES, THINK
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.method.networks.form import CompiledNetwork, assumed
from slipstick.method.networks.solvers import unsolvable
from slipstick.method.simulation.form import (
    CompiledSimulation,
    Differences,
    as_value,
    notes_of,
    one_point,
)
from slipstick.model.network import Chain, ClosedClass, OpenClass, Place, QueueingNetwork, Region
from slipstick.queueing.mixed_classes import check_some_time
from slipstick.queueing.network import ABANDONMENT
from slipstick.sim.estimate import Estimate, Layout, Result, unbooked
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import (
    BatchTimes,
    BurstyTimes,
    ServiceTime,
    Times,
    TracedTimes,
    time_of_distribution,
)
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import DISCIPLINES, LINEARIZER, SHARED

_served = "{0[0]} at {0[1]}".format
_waited = "{0[0]} before {0[1]}".format
_end = "end of a cycle to {0[0]} at {0[1]}".format
_abandoned = "{0[0]} abandons {0[1]}".format
_thinking = "{} thinks".format
_out = "{} out".format
_lost = "{} lost".format
_entering = "{0[0]} enters {1} at {0[1]}".format
_queued = "{} before region {}".format
_lost_inside = "{} lost in region {}".format
_leaving = "{0[0]} leaves {0[1]} for ".format
"""Names of labels, marks and tallies of a plan, made of a place, that is a class and a station, or
of a chain; some also of a region.

`_served` and `_waited` label the time of a class in service and in the queue; the first also names
the mark and the tally of the place. `_abandoned` names the tally of customers that abandon a queue,
and the stream of times after which they do. `_entering` names the tally and the mark of a place
at which a region is entered, `_queued` labels the wait of a class before a region.
"""


class FlatNetwork:
    """A network at one point, as a plan for the simulator with the meaning of its parts.

    A class that keeps its class goes to the stations in the order written: one of V <= 1 visits is
    passed by with probability 1 - V; one of V > 1 is visited again at once with probability 1 - 1/V
    after each visit. A class in a chain goes where routing says, and a closed cycle ends where it
    comes to the reference again, a class at a station. Service times have the usual distribution of
    their mean and scv.

    Parameters
    ----------
    compiled : the network
    columns, arrays : its numbers at the point, twice

    Attributes
    ----------
    plan : what the simulator runs; its labels and tallies are `_served`, `_waited` and `_thinking`
    groups : index among the plan's members of each chain that has customers
    visits : of each class at each station in a cycle, where it has service [1]
    stated : the same as the network states them, where a demand is one visit however it is split
        [1]
    service : mean time of a visit [s]
    first : where the passages of a chain with tallies are counted, and visits there in a cycle

    Raises
    ------
    ModelError : there are too many customers, a station blocks those that come to it, or lost
        customers would come back at the same instant
    NoAnswerError : a cycle takes no time, or more work arrives for a region than its places can hold
    """

    def __init__(
        self,
        compiled: NetworkLayout,
        columns: Mapping[str, NDArray[np.float64]],
        arrays: NetworkPoints,
    ) -> None:
        self.model = compiled.model
        self.compiled = compiled
        self.columns = columns
        self.arrays = arrays
        self.builder = Builder()
        self.visits: dict[Place, float] = {}
        self.stated: dict[Place, float] = {}
        self.service: dict[Place, float] = {}
        self.groups: dict[str, int] = {}
        self.first: dict[str, dict[Place, float]] = {}
        network = arrays.network
        closed = np.flatnonzero(network.closed)
        for name, station in self.model.stations.items():
            if station.blocking != "loss":
                raise ModelError(
                    f"the simulation loses an arrival at {name} when it is full and does not block;"
                    " use markov-chain"
                )
        check_some_time(network, (network.think + network.demand.sum(axis=2))[:, closed], closed)
        for name, station in self.model.stations.items():
            # A station where no customer waits is a delay in the plan, and needs no resource.
            if not DISCIPLINES[station.discipline].delay:
                rates = [
                    self._number(f"stations.{name}.rates.{index}")
                    for index in range(len(station.rates))
                ]
                self.builder.station(name, station.servers, station.discipline, rates=rates)
        for name, region in self.model.regions.items():
            # The places of a region are permits, which its customers hold while they are inside.
            self.builder.permits(name, region.capacity)
        for c, (name, chain) in enumerate(compiled.chains.items()):
            for place, visits, stated, service in self._work(c, name, chain):
                self.visits[place], self.stated[place], self.service[place] = (
                    visits,
                    stated,
                    service,
                )
            if self._has_customers(c, name, chain):
                self._chain(c, name, chain)
        self.plan = self.builder.plan()

    def known_times(self, chain: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return the mean service time of a chain at each place by its label, in a cycle and of one
        visit [s]; empty for a chain whose customers may be lost.

        Nothing of a chain whose customers may be lost.
        """
        # With rates the time in service depends on how many are present.
        places = [
            place
            for place in self._places(self.compiled.chains[chain])
            if chain not in self.first and not self.model.stations[place[1]].rates
        ]
        once = {_served(place): self.service[place] for place in places}
        return {_served(place): self.visits[place] * self.service[place] for place in places}, once

    @cached_property
    def targets(self) -> dict[str, float]:
        """Targets of response times, whose shares are reported, by class or chain [s]."""
        chained = self.model.chains
        paths = {
            name: f"{'chains' if name in chained else 'classes'}.{name}.target_time"
            for name in self.compiled.chains
        }
        return {name: self._number(path) for name, path in paths.items()}

    def _number(self, path: str) -> float:
        return float(self.columns[path][0].real)

    def _work(self, c: int, name: str, chain: Chain) -> Iterator[tuple[Place, float, float, float]]:
        """Yield every place of a chain that takes time or that a route leads to, with its visits in
        a cycle, the visits as stated, and the mean service [1, 1, s].
        """
        network = self.arrays.network
        routed = name in self.model.chains
        for label in chain.classes:
            r = self.compiled.classes.index(label)
            for k, (station, queue) in enumerate(self.model.stations.items()):
                # Demands of several classes at a first-come station are visits of one service time:
                # as solvers take it.
                stated = self.arrays.visits[0, r, k].real
                visits = stated if routed else network.visits[0, c, k].real
                service = (
                    self.arrays.service[0, r, k] if routed else network.service[0, c, k]
                ).real
                if label in queue.visitors() and visits > 0 and (routed or service > 0):
                    yield (label, station), float(visits), float(stated), float(service)

    def _has_customers(self, c: int, name: str, chain: Chain) -> bool:
        if isinstance(chain.members, OpenClass):
            return bool(self.arrays.network.arrivals[0, c] > 0)
        size = int(self.arrays.network.population[0, c])
        customers_in_words = f"a simulation follows each customer, and {name} has {size:,}"
        check_cost(
            "customers", size, customers_in_words, "ask for an approximate method", ModelError
        )
        shared = any(
            DISCIPLINES[station.discipline].order == SHARED
            for station in self.model.stations.values()
        )
        if shared and not self.arrays.network.think[0, c]:
            check_cost(
                "shares",
                size**2,
                f"{customers_in_words}, so {size**2:.3g} pairs share servers",
                "ask for an approximate method",
                ModelError,
            )
        return size > 0

    def _chain(self, c: int, name: str, chain: Chain) -> None:
        """Write the cycle of the customers of a chain, and add them to the plan."""
        network = self.arrays.network
        builder = self.builder
        self.groups[name] = len(self.groups)
        # Some of its customers may be lost.
        if any(
            self.model.stations[place[1]].capacity
            or self._patience(place)
            or self._losing_region(place)
            for place in self._places(chain)
        ):
            self._count(c, name, chain)
        start = (
            self._routed(c, name, chain)
            if name in self.model.chains
            else self._in_order(c, name, chain)
        )
        for place in self._places(chain):
            if self._patience(place):
                builder.mark(_abandoned(place))
                builder.admit(_abandoned(place))
                builder.go([(1.0, self._lost_at(name, place))], _abandoned(place))
        for region in self.model.regions if name in self.first else ():
            builder.mark(_lost_inside(name, region))
            builder.leave(region)
            builder.jump(_lost(name))
        if name in self.first:
            builder.mark(_lost(name))
            builder.finish(lost=True)
        if isinstance(chain.members, OpenClass):
            batch = chain.members.batch
            mean = batch / float(network.arrivals[0, c].real)
            between: ServiceTime | BurstyTimes = ServiceTime("exponential", mean)
            if chain.members.bursty and network.bursts is not None:
                quiet, burst, begins, ends = network.bursts[0, c].real.tolist()
                between = BurstyTimes((quiet, burst), (begins, ends))
            times: Times = BatchTimes(between, batch) if batch > 1 else between
            builder.open(
                name,
                TracedTimes(chain.members.trace, mean) if chain.members.trace else times,
                at=start,
            )
        else:
            builder.closed(name, int(network.population[0, c]), at=start)

    def _patience(self, place: Place) -> ServiceTime | None:
        """Return how long a class waits in the queue of a station; None without a limit."""
        for key, kind, scv in (("patience", "exponential", 1.0), ("timeout", "deterministic", 0.0)):
            if place[0] in getattr(self.model.stations[place[1]], key):
                return ServiceTime(kind, self._number(f"stations.{place[1]}.{key}.{place[0]}"), scv)
        return None

    def _losing_region(self, place: Place) -> str:
        """Return the region of a place that loses customers; empty where there is none."""
        region = self.model.region_of(place[1])
        return region if region and self.model.regions[region].loses else ""

    def _lost_at(self, chain: str, place: Place) -> str:
        """Return the mark at which a customer goes on after it was lost at a place."""
        region = self.model.region_of(place[1])
        return _lost_inside(chain, region) if region else _lost(chain)

    def _enter(self, chain: str, place: Place, region: str) -> None:
        """Write the entrance to a region, before the visit to a place in it."""
        if self._losing_region(place):
            most = self.model.regions[region].capacity
            self.builder.admit(_entering(place, region), region, most, _lost(chain))
        self.builder.enter(region, _queued(place[0], region))

    def _places(self, chain: Chain) -> list[Place]:
        return [place for place in self.visits if place[0] in chain.classes]

    def _count(self, c: int, name: str, chain: Chain) -> None:
        """Record where cycles are counted, for a chain that may lose customers: not every cycle
        that begins is completed.
        """
        places = self._places(chain)
        if name in self.model.chains:
            counted = {chain.reference: 1.0}
            begins = [chain.reference[1]]
        else:
            counted = {places[0]: self.visits[places[0]]}
            # A cycle begins at any station up to the first that no customer passes by.
            sure = next(
                (index for index, place in enumerate(places) if self.visits[place] >= 1),
                len(places),
            )
            begins = [station for _, station in places[: sure + 1]]
        self.first[name] = counted
        full = next((place for place in self._limits(begins) if self._may_be_full(place)), None)
        if full and isinstance(chain.members, ClosedClass) and not self.arrays.network.think[0, c]:
            raise ModelError(
                f"a cycle of {name} may begin at {full}, which may be full: a lost customer would"
                f" come back at the same instant; give {name} a think time, or {full} more capacity"
            )

    def _limits(self, stations: Sequence[str]) -> list[str]:
        """List stations, and the regions around them that lose customers."""
        regions = [self._losing_region(("", station)) for station in stations]
        return [*stations, *filter(None, regions)]

    def _may_be_full(self, name: str) -> bool:
        """Return whether as many customers as its capacity may ever be at a station or in a region,
        or on their way to it.
        """
        network = self.arrays.network
        region = self.model.regions.get(name)
        most = region.capacity if region else self.model.stations[name].capacity
        names = region.stations if region else (name,)
        stations = [self.compiled.stations.index(station) for station in names]
        comes = (network.visits[0][:, stations].real > 0).any(axis=1)
        opened = (comes & ~network.closed & (network.arrivals[0].real > 0)).any()
        return most is not None and bool(
            opened or network.population[0, comes & network.closed].sum() > most
        )

    def _think(self, c: int, name: str) -> int:
        """Write the beginning of a cycle: the thinking, after which the response time counts.
        Return the number of its first instruction.
        """
        start = self.builder.next_instruction
        mean = float(self.arrays.network.think[0, c].real)
        if mean > 0:
            self.builder.delay(ServiceTime("exponential", mean), _thinking(name))
            self.builder.start_response()
        return start

    def _in_order(self, c: int, name: str, chain: Chain) -> int:
        start = self._think(c, name)
        for region, run in groupby(
            self._places(chain), lambda place: self.model.region_of(place[1])
        ):
            if region:
                self._in_region(name, region, list(run))
                continue
            for place in run:
                if self.visits[place] < 1:
                    probability = self.visits[place]
                    visit = partial(self._visits, name, place)
                    self.builder.choose(
                        [(probability, visit), (1 - probability, lambda: None)],
                        f"{_served(place)} or not",
                    )
                else:
                    self._visits(name, place)
        self.builder.finish()
        return start

    def _visits(self, name: str, place: Place) -> None:
        """Write the visits to a place; a mean number above 1 is a geometric repetition."""
        visits = self.visits[place]
        visit = partial(self._visit, name, place)
        if visits > 1:
            self.builder.repeat_with_probability(1 - 1 / visits, visit, f"{_served(place)} again")
        else:
            visit()

    def _in_region(self, name: str, region: str, places: Sequence[Place]) -> None:
        """Write the visits of a class to stations of one region in a row. A customer enters the
        region before the first station that it visits, and leaves it after the last.
        """
        builder = self.builder
        run = f"{name} from {places[0][1]}"
        outside = True
        inside = [f"{run}: inside {region} before {index}" for index in range(len(places) + 1)]
        before = [f"{run}: outside {region} before {index}" for index in range(len(places) + 1)]
        for index, place in enumerate(places):
            odds = self.visits[place]
            chance = f"{_served(place)} or not"
            here = f"{_served(place)} inside"
            entrance = _entering(place, region)
            if outside:
                builder.mark(before[index])
                if odds < 1:
                    builder.go([(odds, entrance), (1 - odds, before[index + 1])], chance)
                builder.mark(entrance)
                self._enter(name, place, region)
                if index and odds < 1:
                    builder.jump(here)
            builder.mark(inside[index])
            if index and odds < 1:
                builder.go([(odds, here), (1 - odds, inside[index + 1])], chance)
            builder.mark(here)
            self._visits(name, place)
            outside = outside and odds < 1
            if outside and index + 1 < len(places):
                builder.jump(inside[index + 1])
        builder.mark(inside[-1])
        builder.leave(region)
        builder.mark(before[-1])

    def _routed(self, c: int, name: str, chain: Chain) -> int:
        """Write a block of instructions for each place, the reference first; return the number of
        the instruction at which a cycle begins.
        """
        builder = self.builder
        start = self.builder.next_instruction
        # The reference first, so that the instructions of a cycle begin where customers start.
        for place in sorted(self._places(chain), key=lambda place: place != chain.reference):
            if self._ends_at(chain, place):
                builder.mark(_end(place))
                builder.finish(onward=True)
                begun = self._think(c, name)
                start = begun if place == chain.reference else start
            if region := self.model.region_of(place[1]):
                builder.mark(_entering(place, region))
                self._enter(name, place, region)
            builder.mark(_served(place))
            self._visit(name, place)
            builder.go(list(self._ways(name, chain, place)), f"{_served(place)} onward")
            for _, target in self._ways(name, chain, place) if region else ():
                if target.startswith(left := _leaving(place)):
                    builder.mark(target)
                    builder.leave(region)
                    builder.jump(target.removeprefix(left))
        builder.mark(_out(name))
        builder.finish()
        return start

    def _ends_at(self, chain: Chain, place: Place | None) -> bool:
        return isinstance(chain.members, ClosedClass) and place == chain.reference

    def _ways(self, name: str, chain: Chain, place: Place) -> Iterator[tuple[float, str]]:
        for index, route in enumerate(self.model.routing):
            probability = self._number(f"routing.{index}.probability")
            if route.source == place and probability > 0:
                region = self.model.region_of(place[1])
                target = _out(name) if route.target is None else _served(route.target)
                entered = self.model.region_of(route.target[1]) if route.target else ""
                if route.target is not None and self._ends_at(chain, route.target):
                    target = _end(route.target)
                elif route.target is not None and entered not in ("", region):
                    target = _entering(route.target, entered)
                yield (
                    probability,
                    _leaving(place) + target if region not in ("", entered) else target,
                )

    def _visit(self, chain: str, place: Place) -> None:
        """Visit a station; where the chain may lose customers, count them at a tally."""
        builder, (label, station) = self.builder, place
        queue = self.model.stations[station]
        scv = self.columns.get(f"stations.{station}.scv.{label}")
        size = 1.0 if scv is None else float(scv[0].real)
        time = time_of_distribution(self.service[place], size, queue.distribution.get(label))
        resource = None if DISCIPLINES[queue.discipline].delay else station
        if chain in self.first:
            lost = self._lost_at(chain, place)
            builder.admit(_served(place), resource, queue.capacity or 0, lost)
        if patience := self._patience(place):
            builder.patience(patience, _abandoned(place), _abandoned(place))
        if resource is None:
            builder.delay(time, _served(place))
        else:
            weight = 1.0
            if label in queue.weight:
                column = self.columns[f"stations.{station}.weight.{label}"]
                weight = float(column[0].real)
            builder.serve(
                station,
                time,
                _served(place),
                wait=_waited(place),
                rank=queue.priority.get(label, 0),
                weight=weight,
            )


NOTHING = Estimate(0.0, 0.0, 0.0)
"""Values of a chain without customers."""

NO_CUSTOMERS = "the network has no customers and no arrivals"


def simulation_of(model: QueueingNetwork, simulation: Simulation) -> CompiledSimulation:
    """Compile a network for simulation; every value has its 95 % interval.

    A customer that comes to a station that is full is lost: one that arrived from outside leaves,
    one that goes round begins a new cycle. The response time is counted from the end of thinking. A
    station with rates is one server whose speed depends on how many are there.

    Parameters
    ----------
    model : the network
    simulation : seed, precision and budget

    >>> from slipstick.model.network import closed_class, network, station
    >>> three = network({"jobs": closed_class(3)}, {"cpu": station(demand={"jobs": 2.0}, scv={"jobs": 0})})
    >>> answer = simulation_of(three, Simulation()).points({}).answer(0)
    >>> answer["throughput[jobs]"], answer["response_time[jobs]"], answer["waiting_time[jobs,cpu]"]
    (0.5, 6.0, 4.0)
    """
    compiled = NetworkLayout(model)
    return CompiledSimulation(
        model.name,
        f"response_time[{next(iter(compiled.chains))}]",
        tuple(compiled.tape.parameters),
        lambda values: _solution(compiled, values, simulation),
    )


def _solution(
    compiled: NetworkLayout, values: Mapping[str, float], simulation: Simulation
) -> Solution:
    flat = flat_network(compiled, values)
    result = simulate(flat.plan, simulation) if flat.groups else None
    estimates = _NetworkEstimates(compiled, flat, result)
    estimated_values = estimates.values()
    remarks = estimates.remarks()
    gradient = None
    first_time = estimated_values.get(f"response_time[{next(iter(compiled.chains))}]")
    if result and simulation.shares and first_time:
        gradient, shares, note = _shares(
            compiled, values, first_time.value or 0.0, result, simulation
        )
        estimated_values = {**estimated_values, **shares}
        remarks = replace(remarks, notes=(*remarks.notes, note))
    exact = estimates.certain and not (result and result.plan.random)
    account = {"account": estimates.account()}
    return replace(
        one_point(compiled.model.name, estimated_values, remarks, gradient, account),
        exact=np.array([exact]),
    )


def flat_network(compiled: NetworkLayout, values: Mapping[str, float]) -> FlatNetwork:
    """Write a network at one point as a plan for the simulator.

    Raises
    ------
    ModelError, NoAnswerError : see `FlatNetwork`; a station is saturated
    """
    columns = compiled.columns(values)
    arrays = compiled.arrays(columns)
    regions = compiled.model.regions
    lossy = [name for region in regions.values() if region.loses for name in region.stations]
    if wrong := unsolvable(_without_load(arrays, lossy) if lossy else arrays):
        raise NoAnswerError(wrong[0])
    flat = FlatNetwork(compiled, columns, arrays)
    for name, region in regions.items():
        if not region.loses:
            _check_places(name, region, flat)
    return flat


def _without_load(arrays: NetworkPoints, stations: Sequence[str]) -> NetworkPoints:
    """Return a network without the arrivals of the classes that visit some lossy stations, because
    only the simulation finds how many of them are lost, and how many reach other stations.
    """
    network = arrays.network
    visits = network.visits[:, :, np.isin(network.stations, stations)].real > 0
    arrivals = np.where(visits.any(axis=(0, 2)), 0.0, network.arrivals)
    return replace(arrays, network=replace(network, arrivals=arrivals))


def _check_places(name: str, region: Region, flat: FlatNetwork) -> None:
    """Raise if a region in which customers wait is saturated by the arrivals alone.

    Neither classes whose customers may be lost nor waits inside the region are counted, so that a
    region that is not saturated here may be saturated all the same; a simulation of it does not
    reach its precision.
    """
    network = flat.arrays.network
    loads = [
        network.demand[0, :, k].real * _least_places(network.rates[k], region.capacity)
        for k, station in enumerate(network.stations)
        if station in region.stations
    ]
    # Losses lower the load by an amount that only the run tells.
    never_lost = [chain not in flat.first for chain in flat.compiled.chains]
    held = float((network.arrivals[0].real * sum(loads))[never_lost].sum())
    if (load := held / region.capacity) >= 1:
        places = f"{region.capacity:,} place{'s' if region.capacity > 1 else ''}"
        raise NoAnswerError(
            f"region {name} is saturated: without any wait, the customers that arrive in a second"
            f" hold its places for {held:.4g} s together, and it has {places} (load {load:.3g}, the"
            " limit is 1); lower the arrivals, or give it more places"
        )


def _least_places(rates: Array | None, most: int) -> float:
    """Return the fewest places that customers at a station occupy on average while it works at
    speed 1.

    Parameters
    ----------
    rates : of the station with 1, 2, 3 ... present; None where each server has speed 1
    most : customers there
    """
    if rates is None:
        return 1.0
    # Beyond the last rate, more customers hold more places at the same speed.
    speeds = rates[0, :most].real
    return float(np.min(np.arange(1, len(speeds) + 1) / speeds))


class _NetworkEstimates:
    """Estimates from one run of a network; without a run, those of an empty network."""

    def __init__(self, compiled: NetworkLayout, flat: FlatNetwork, result: Result | None) -> None:
        self.compiled = compiled
        self.flat = flat
        self.result = result
        self.stations = compiled.model.stations
        self.layout = Layout(flat.plan)
        self.elapsed = self.layout.column(self.layout.time)
        self.chain_of = {
            label: name for name, chain in compiled.chains.items() for label in chain.classes
        }

    def values(self) -> dict[str, Value]:
        """Compute the value of every estimate."""
        return {
            name: as_value(estimate, unit_of(name))
            for name, estimate in self._values()
            if estimate is not None
        }

    def remarks(self) -> Remarks:
        """Return the notes on the run."""
        result = self.result
        notes = (*(notes_of(result) if result else (NO_CUSTOMERS,)), *assumed(self.compiled))
        notes = (*notes, ABANDONMENT) if self.flat.arrays.patience else notes
        traces = {
            name: getattr(chain.members, "trace", ())
            for name, chain in self.compiled.chains.items()
        }
        notes += tuple(
            f"{name} arrive as the {len(gaps)} times between arrivals of their trace say, again and"
            " again: intervals do not cover that another trace would differ"
            for name, gaps in traces.items()
            if gaps
        )
        if result is None:
            return Remarks(notes=notes)
        return Remarks(
            notes=notes,
            seed=result.settings.seed,
            converged=result.converged,
            interrupted=result.stopped == "interrupted",
        )

    @property
    def certain(self) -> bool:
        """Whether every mean is known up to rounding."""
        estimates = (estimate for name, estimate in self.values().items() if "quantile" not in name)
        return all(
            estimate.low is not None
            and estimate.value is not None
            and estimate.value - estimate.low <= ROUNDING * estimate.value
            for estimate in estimates
        )

    def _values(self) -> Iterator[tuple[str, Estimate | None]]:
        for name in self.compiled.chains:
            yield from self._of_chain(name)
        for name in self.compiled.model.regions:
            yield from self._of_region(name)
        for name, station in self.stations.items():
            for label in station.visitors():
                yield from self._of_place((label, name))
        for name in self.stations:
            yield from self._of_station(name)
        for name in self.flat.groups:
            for p in QUANTILES:
                quantile = (
                    None
                    if self.result is None
                    else self.result.time_quantile(p, self.flat.groups[name])
                )
                yield f"response_time_quantile[{name},{p:g}]", quantile
            if target := self.flat.targets.get(name):
                share = None
                if self.result is not None:
                    share = self.result.share_within(target, self.flat.groups[name])
                yield f"within_target[{name}]", share

    def _of_chain(self, name: str) -> Iterator[tuple[str, Estimate | None]]:
        chain = self.compiled.chains[name]
        places = self.places(name)
        yield f"throughput[{name}]", self._ratio(name, self.served(name), self.elapsed, NOTHING)
        yield f"response_time[{name}]", self._response(name, places, chain.classes)
        for label in chain.classes if chain.classes != (name,) else ():
            if isinstance(chain.members, OpenClass):
                index = self.compiled.classes.index(label)
                lossy = name in self.flat.first
                entries = float(self.flat.arrays.entries()[0, index].real)
                # How many customers change class is not counted where some are lost on the way.
                if lossy and label != chain.reference[0]:
                    continue
                passing = self.served(name) * (1.0 if lossy else entries)
            else:
                place = label, chain.reference[1]
                passing = self.passages(place) - self._at_tally(
                    self.layout.tried, place, _abandoned
                )
            yield f"throughput[{label}]", self._ratio(name, passing, self.elapsed, NOTHING)
            yield (
                f"response_time[{label}]",
                self._response(name, [place for place in places if place[0] == label], [label]),
            )

    def _of_place(self, place: Place) -> Iterator[tuple[str, Estimate | None]]:
        chain = self.chain_of[place[0]]
        station = self.stations[place[1]]
        key = f"[{place[0]},{place[1]}]"
        time = self.time(place)
        per_visit = self.cycles(chain)
        if place in self.flat.visits:
            per_visit = self.passages(place) * (self.flat.stated[place] / self.flat.visits[place])
        yield f"queue_length{key}", self._ratio(chain, time, self.elapsed, NOTHING)
        yield f"residence_time{key}", self._response(chain, [place])
        yield f"time_per_visit{key}", self._ratio(chain, time, per_visit)
        if not station.rates:
            yield f"waiting_time{key}", self._ratio(chain, self.waited(place), per_visit)
        if not DISCIPLINES[station.discipline].delay:
            yield (
                f"utilization{key}",
                self._ratio(chain, self._busy(place), self.elapsed * station.servers, NOTHING),
            )
        if station.capacity:
            refused, tried = (
                self._at_tally(tally_kind, place)
                for tally_kind in (self.layout.refused, self.layout.tried)
            )
            yield f"loss_probability{key}", self._ratio(chain, refused, tried, NOTHING)
        if place[0] in (*station.patience, *station.timeout):
            abandoned = self._at_tally(self.layout.tried, place, _abandoned)
            yield f"abandonment{key}", self._ratio(chain, abandoned, self.passages(place), NOTHING)

    def _of_station(self, name: str) -> Iterator[tuple[str, Estimate | None]]:
        if DISCIPLINES[self.stations[name].discipline].delay:
            times = self.sum(self.time(visit) for visit in self.flat.visits if visit[1] == name)
            yield f"queue_length[{name}]", self._ratio(None, times, self.elapsed)
            return
        index = self.flat.plan.resources.index(name)
        yield (
            f"queue_length[{name}]",
            self._ratio(None, self.layout.column(self.layout.area[index]), self.elapsed),
        )
        used = self.layout.column(self.layout.use[index])
        yield (
            f"utilization[{name}]",
            self._ratio(None, used, self.elapsed * self.stations[name].servers),
        )

    def _of_region(self, name: str) -> Iterator[tuple[str, Estimate | None]]:
        region = self.compiled.model.regions[name]
        layout = self.layout
        index = self.flat.plan.resources.index(name)
        present = layout.column(layout.area[index])
        used = layout.column(layout.use[index])
        lock = index - len(self.flat.plan.stations)
        yield f"queue_length[{name}]", self._ratio(None, present, self.elapsed)
        yield f"utilization[{name}]", self._ratio(None, used, self.elapsed * region.capacity)
        granted = layout.column(layout.taken[lock])
        # Present are those that hold a place and those that wait for one.
        yield f"waiting_time[{name}]", self._ratio(None, present - used, granted)
        if region.loses:
            tallies = self.flat.plan.tallies
            entrances = [_entering(place, name) for place in self.flat.visits]
            numbers = [tallies.index(tally) for tally in entrances if tally in tallies]
            refused, tried = (
                self.sum(layout.column(columns[number]) for number in numbers)
                for columns in (layout.refused, layout.tried)
            )
            yield f"loss_probability[{name}]", self._ratio(None, refused, tried)

    def places(self, chain: str) -> list[Place]:
        """List the places at which a chain has service."""
        return [place for place in self.flat.visits if self.chain_of[place[0]] == chain]

    def sum(self, weights: Iterable[Array]) -> Array:
        """Add up weights of columns; zeros if there are none."""
        total: Array = sum(weights, np.zeros(self.layout.width))
        return total

    def _response(
        self, chain: str, places: list[Place], queued: Sequence[str] = ()
    ) -> Estimate | None:
        """Estimate the time that a cycle spends at some places, and that some classes wait before
        regions [s].
        """
        times = self.sum(map(self.time, places)) + self.sum(map(self._before_regions, queued))
        return self._ratio(chain, times, self.cycles(chain))

    def response_time(self, chain: str) -> Array:
        """Return weights of the columns for the response times of a chain."""
        classes = self.compiled.chains[chain].classes
        return self.sum(map(self.time, self.places(chain))) + self.sum(
            map(self._before_regions, classes)
        )

    def _before_regions(self, label: str) -> Array:
        """Return weights of the columns for the time that a class waits before regions."""
        return self.sum(
            self._booked(_queued(label, region)) for region in self.compiled.model.regions
        )

    def cycles(self, chain: str) -> Array:
        """Return weights of the columns that count the cycles of a chain; where customers are lost,
        they count its visits to the first station.
        """
        if chain in self.flat.first:
            return self.sum(
                self.passages(place) / visits for place, visits in self.flat.first[chain].items()
            )
        return self.sum(
            self.layout.column(self.layout.cycles[self.flat.groups[name]])
            for name in self.flat.groups
            if name == chain
        )

    def served(self, chain: str) -> Array:
        """Return weights of the columns that count the cycles of a chain which do not end in the
        queue of its first station.
        """
        first_places = self.flat.first.get(chain, {})
        departures = (
            self._at_tally(self.layout.tried, place, _abandoned) / visits
            for place, visits in first_places.items()
        )
        return self.cycles(chain) - self.sum(departures)

    def passages(self, place: Place) -> Array:
        """Return weights of the simulator's counters, whose weighted sum is the number of visits of
        a class to a station: a counter of its own, or visits of a cycle times cycles.
        """
        chain = self.chain_of[place[0]]
        if chain in self.flat.first:
            return self._at_tally(self.layout.tried, place) - self._at_tally(
                self.layout.refused, place
            )
        return self.cycles(chain) * self.flat.visits.get(place, 0.0)

    def time(self, place: Place) -> Array:
        """Return weights of the columns for the time of a class at a station, waiting included."""
        return self._booked(_served(place)) + self.waited(place)

    def waited(self, place: Place) -> Array:
        """Return weights of the columns for the waiting time of a class at a station, that of
        unended cycles included.
        """
        booked = self._booked(_waited(place))
        unbooked_part = self._unbooked.get(place, 0.0)
        if not unbooked_part or self.result is None:
            return booked
        group = self.flat.groups[self.chain_of[place[0]]]
        return booked + unbooked_part * unbooked(self.flat.plan, group)

    @cached_property
    def _unbooked(self) -> dict[Place, float]:
        """Compute, for chains whose customers starve, the share of each place in the time of
        unended cycles: in proportion to its visits, and to the time at its station that is not
        booked there.
        """
        times: dict[Place, float] = {}
        result = self.result
        if result is None or not any(map(result.counts_unended, self.flat.groups.values())):
            return times
        sums = result.batches.sum(axis=0)
        beyond: dict[str, float] = {}
        for index, name in enumerate(self.flat.plan.resources):
            places = [place for place in self.flat.visits if place[1] == name]
            labels = [label_of(place) for place in places for label_of in (_served, _waited)]
            booked = sum(float(sums @ self._booked(label)) for label in labels)
            beyond[name] = max(float(sums[self.layout.area[index]]) - booked, 0.0)
        for chain, group in self.flat.groups.items():
            if not result.counts_unended(group):
                continue
            weights = {
                place: beyond.get(place[1], 0.0) * self.flat.visits[place]
                for place in self.places(chain)
            }
            total = sum(weights.values())
            times |= {place: weight / total for place, weight in weights.items() if total}
        return times

    def _at_tally(
        self, columns: Sequence[int], place: Place, name: Callable[[Place], str] = _served
    ) -> Array:
        """Return weights of the columns of the tally of a place; zeros if it has none."""
        tallies = self.flat.plan.tallies
        return self.sum(
            self.layout.column(columns[tallies.index(tally)])
            for tally in tallies
            if tally == name(place)
        )

    def _busy(self, place: Place) -> Array:
        """Return weights of the columns for the time that a class keeps servers busy; at a station
        with rates, its share of the work done there.
        """
        name = place[1]
        if not self.stations[name].rates or self.result is None:
            return self._booked(_served(place))
        work = {
            passage: self.passages(passage) * s
            for passage, s in self.flat.service.items()
            if passage[1] == name
        }
        all_work = self.sum(work.values())
        of_class = work.get(place, np.zeros_like(all_work))
        busy = self.layout.column(self.layout.use[self.flat.plan.resources.index(name)])
        sums = self.result.batches.sum(axis=0)
        total = float(sums @ all_work) or 1.0
        work_share = float(sums @ of_class) / total
        # The share varies from batch to batch, too: the second term, which adds up to 0 over all
        # batches, carries its variance into the interval (the delta method).
        return work_share * busy + float(sums @ busy) / total * (of_class - work_share * all_work)

    def _booked(self, label: str) -> Array:
        """Return weights of the columns for the time booked to a label by all chains."""
        weights = np.zeros(self.layout.width)
        if label in self.flat.plan.labels:
            weights[np.array(self.layout.booked) + self.flat.plan.labels.index(label)] = 1.0
        return weights

    def _ratio(
        self, chain: str | None, top: Array, bottom: Array, empty: Estimate | None = None
    ) -> Estimate | None:
        """Estimate a ratio of two statistics; for a chain without customers, its known value."""
        if self.result is None or (chain is not None and chain not in self.flat.groups):
            opened = chain is not None and isinstance(
                self.compiled.chains[chain].members, OpenClass
            )
            return empty if opened else NOTHING
        return self.result.ratio(top, bottom)

    def account(self) -> dict[str, Estimate]:
        """Estimate the time of one customer in a cycle, by component; empty where there are several
        chains.
        """
        if len(self.compiled.chains) != 1 or self.result is None:
            return {}
        (chain,) = self.compiled.chains
        times_by_component = {THINK: self._booked(_thinking(chain))}
        for name, station in self.stations.items():
            places = [visit for visit in self.flat.visits if visit[1] == name]
            if station.rates:
                times_by_component[name] = self.sum(map(self.time, places))
            else:
                times_by_component[name] = self.sum(
                    self._booked(_served(place)) for place in places
                )
                times_by_component[f"wait:{name}"] = self.sum(map(self.waited, places))
        for name in self.compiled.model.regions:
            times_by_component[f"wait:{name}"] = self.sum(
                self._booked(_queued(label, name)) for label in self.compiled.classes
            )
        estimates = {
            name: self.result.ratio(seconds, self.cycles(chain))
            for name, seconds in times_by_component.items()
        }
        return {name: estimate for name, estimate in estimates.items() if estimate.mean}


def _shares(
    compiled: NetworkLayout,
    values: Mapping[str, float],
    mean: float,
    base: Result,
    simulation: Simulation,
) -> tuple[Gradient, dict[str, Value], str]:
    """Estimate the shares of the first response time by differences of simulations, for the
    parameters with the largest approximate shares.
    """
    chain = next(iter(compiled.chains))
    value = f"response_time[{chain}]"
    # No solver takes regions; a rough order is enough here.
    approximate = CompiledNetwork(replace(compiled.model, regions={}), LINEARIZER)
    # The approximate shares only rank the parameters; each of those chosen costs two simulations.
    guess = approximate.points(values).answer(0).share.get(value, {})
    parameters = compiled.tape.parameters
    timed = (name for name in approximate.smooth if parameters[name].dimension.time_power)
    ranked = sorted(timed, key=lambda name: -abs(guess.get(name, 0.0)))

    def rerun(changed: Mapping[str, float], settings: Simulation) -> Array:
        flat = flat_network(compiled, {**values, **changed})
        run = simulate(flat.plan, settings)
        estimates = _NetworkEstimates(compiled, flat, run)
        times = estimates.response_time(chain)
        means: Array = (run.batches @ times) / (run.batches @ estimates.cycles(chain))
        return means

    own_values = {
        name: values.get(name, parameter.value or 0.0) for name, parameter in parameters.items()
    }
    return Differences(value, rerun, base).shares(
        mean, ranked[: simulation.shares], own_values, parameters
    )
