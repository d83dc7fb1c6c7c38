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
from slipstick.sim.estimate import Estimate, Layout, Result, weights_of_unbooked_time
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

_service_label = "{0[0]} at {0[1]}".format
_wait_label = "{0[0]} before {0[1]}".format
_end_mark = "end of a cycle to {0[0]} at {0[1]}".format
_abandonment_tally = "{0[0]} abandons {0[1]}".format
_thinking_label = "{} thinks".format
_out_mark = "{} out".format
_loss_mark = "{} lost".format
_entrance_mark = "{0[0]} enters {1} at {0[1]}".format
_region_wait_label = "{} before region {}".format
_region_loss_mark = "{} lost in region {}".format
_leaving_prefix = "{0[0]} leaves {0[1]} for ".format
"""Names of labels, marks and tallies of a plan, made of a place, that is a class and a station, or
of a chain; some also of a region.

`_service_label` and `_wait_label` label the time of a class in service and in the queue; the first
also names the mark and the tally of the place. `_abandonment_tally` names the tally of customers that
abandon a queue, and the stream of times after which they do. `_entrance_mark` names the tally and the
mark of a place
at which a region is entered, `_region_wait_label` labels the wait of a class before a region.
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
    network_layout : the network
    columns, network_points : its numbers at the point, by path and as arrays

    Attributes
    ----------
    plan : what the simulator runs; its labels and tallies are `_service_label`, `_wait_label` and
        `_thinking_label`
    groups : index among the plan's members of each chain that has customers
    visits : of each class at each station in a cycle, where it has service [1]
    stated_visits : the same as the network states them, where a demand is one visit however it is
        split [1]
    service : mean time of a visit [s]
    counting_places : where the passages of a chain with tallies are counted, and visits there in a
        cycle

    Raises
    ------
    ModelError : there are too many customers, a station blocks those that come to it, or lost
        customers would come back at the same instant
    NoAnswerError : a cycle takes no time, or more work arrives for a region than its places can hold
    """

    def __init__(
        self,
        network_layout: NetworkLayout,
        columns: Mapping[str, NDArray[np.float64]],
        network_points: NetworkPoints,
    ) -> None:
        self.model = network_layout.model
        self.network_layout = network_layout
        self.columns = columns
        self.network_points = network_points
        self.builder = Builder()
        self.visits: dict[Place, float] = {}
        self.stated_visits: dict[Place, float] = {}
        self.service: dict[Place, float] = {}
        self.groups: dict[str, int] = {}
        self.counting_places: dict[str, dict[Place, float]] = {}
        network = network_points.network
        closed_chains = np.flatnonzero(network.closed)
        for station_name, station in self.model.stations.items():
            if station.blocking != "loss":
                raise ModelError(
                    f"the simulation loses an arrival at {station_name} when it is full and does not block;"
                    " use markov-chain"
                )
        check_some_time(
            network, (network.think + network.demand.sum(axis=2))[:, closed_chains], closed_chains
        )
        for station_name, station in self.model.stations.items():
            # A station where no customer waits is a delay in the plan, and needs no resource.
            if not DISCIPLINES[station.discipline].delay:
                station_rates = [
                    self._number_at(f"stations.{station_name}.rates.{rate_index}")
                    for rate_index in range(len(station.rates))
                ]
                self.builder.station(
                    station_name, station.servers, station.discipline, rates=station_rates
                )
        for region_name, region in self.model.regions.items():
            # The places of a region are permits, which its customers hold while they are inside.
            self.builder.permits(region_name, region.capacity)
        for chain_index, (chain_name, chain) in enumerate(network_layout.chains.items()):
            for place, visit_count, stated_visit_count, service_time in self._places_with_work(
                chain_index, chain_name, chain
            ):
                self.visits[place], self.stated_visits[place], self.service[place] = (
                    visit_count,
                    stated_visit_count,
                    service_time,
                )
            if self._has_customers(chain_index, chain_name, chain):
                self._write_chain(chain_index, chain_name, chain)
        self.plan = self.builder.plan()

    def known_times(self, chain_name: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return the mean service time of a chain at each place by its label, in a cycle and of one
        visit [s]; empty for a chain whose customers may be lost.
        """
        # With rates the time in service depends on how many are present.
        places = [
            place
            for place in self._places(self.network_layout.chains[chain_name])
            if chain_name not in self.counting_places and not self.model.stations[place[1]].rates
        ]
        time_by_label = {_service_label(place): self.service[place] for place in places}
        return {
            _service_label(place): self.visits[place] * self.service[place] for place in places
        }, time_by_label

    @cached_property
    def targets(self) -> dict[str, float]:
        """Targets of response times, whose shares are reported, by class or chain [s]."""
        chains = self.model.chains
        path_by_chain = {
            chain_name: f"{'chains' if chain_name in chains else 'classes'}.{chain_name}.target_time"
            for chain_name in self.network_layout.chains
        }
        return {chain_name: self._number_at(path) for chain_name, path in path_by_chain.items()}

    def _number_at(self, path: str) -> float:
        return float(self.columns[path][0].real)

    def _places_with_work(
        self, chain_index: int, chain_name: str, chain: Chain
    ) -> Iterator[tuple[Place, float, float, float]]:
        """Yield every place of a chain that takes time or that a route leads to, with its visits in
        a cycle, the visits as stated, and the mean service [1, 1, s].
        """
        network = self.network_points.network
        follows_routes = chain_name in self.model.chains
        for class_name in chain.classes:
            class_index = self.network_layout.classes.index(class_name)
            for station_index, (station_name, station) in enumerate(self.model.stations.items()):
                # Demands of several classes at a first-come station are visits of one service time:
                # as solvers take it.
                stated_visits = self.network_points.visits[0, class_index, station_index].real
                visits = (
                    stated_visits
                    if follows_routes
                    else network.visits[0, chain_index, station_index].real
                )
                mean_service = (
                    self.network_points.service[0, class_index, station_index]
                    if follows_routes
                    else network.service[0, chain_index, station_index]
                ).real
                if (
                    class_name in station.visitors()
                    and visits > 0
                    and (follows_routes or mean_service > 0)
                ):
                    yield (
                        (class_name, station_name),
                        float(visits),
                        float(stated_visits),
                        float(mean_service),
                    )

    def _has_customers(self, chain_index: int, chain_name: str, chain: Chain) -> bool:
        """Return whether a chain has customers; raises if a run cannot follow as many as it has."""
        if isinstance(chain.members, OpenClass):
            return bool(self.network_points.network.arrivals[0, chain_index] > 0)
        customers = int(self.network_points.network.population[0, chain_index])
        customers_in_words = (
            f"a simulation follows each customer, and {chain_name} has {customers:,}"
        )
        check_cost(
            "customers", customers, customers_in_words, "ask for an approximate method", ModelError
        )
        shares_servers = any(
            DISCIPLINES[station.discipline].order == SHARED
            for station in self.model.stations.values()
        )
        if shares_servers and not self.network_points.network.think[0, chain_index]:
            check_cost(
                "shares",
                customers**2,
                f"{customers_in_words}, so {customers**2:.3g} pairs share servers",
                "ask for an approximate method",
                ModelError,
            )
        return customers > 0

    def _write_chain(self, chain_index: int, chain_name: str, chain: Chain) -> None:
        """Write the cycle of the customers of a chain, and add them to the plan."""
        network = self.network_points.network
        builder = self.builder
        self.groups[chain_name] = len(self.groups)
        # Some of its customers may be lost.
        if any(
            self.model.stations[place[1]].capacity
            or self._time_limit_in_queue(place)
            or self._losing_region(place)
            for place in self._places(chain)
        ):
            self._record_counting(chain_index, chain_name, chain)
        first_instruction = (
            self._write_routed_cycle(chain_index, chain_name, chain)
            if chain_name in self.model.chains
            else self._write_cycle_in_order(chain_index, chain_name, chain)
        )
        for place in self._places(chain):
            if self._time_limit_in_queue(place):
                builder.mark(_abandonment_tally(place))
                builder.admit(_abandonment_tally(place))
                builder.go(
                    [(1.0, self._mark_after_loss(chain_name, place))], _abandonment_tally(place)
                )
        for region_name in self.model.regions if chain_name in self.counting_places else ():
            builder.mark(_region_loss_mark(chain_name, region_name))
            builder.leave(region_name)
            builder.jump(_loss_mark(chain_name))
        if chain_name in self.counting_places:
            builder.mark(_loss_mark(chain_name))
            builder.finish(lost=True)
        if isinstance(chain.members, OpenClass):
            batch_size = chain.members.batch
            mean_between = batch_size / float(network.arrivals[0, chain_index].real)
            time_between: ServiceTime | BurstyTimes = ServiceTime("exponential", mean_between)
            if chain.members.bursty and network.bursts is not None:
                quiet_rate, burst_rate, begin_rate, end_rate = network.bursts[
                    0, chain_index
                ].real.tolist()
                time_between = BurstyTimes((quiet_rate, burst_rate), (begin_rate, end_rate))
            arrival_times: Times = (
                BatchTimes(time_between, batch_size) if batch_size > 1 else time_between
            )
            builder.open(
                chain_name,
                TracedTimes(chain.members.trace, mean_between)
                if chain.members.trace
                else arrival_times,
                first_instruction=first_instruction,
            )
        else:
            builder.closed(
                chain_name,
                int(network.population[0, chain_index]),
                first_instruction=first_instruction,
            )

    def _time_limit_in_queue(self, place: Place) -> ServiceTime | None:
        """Return how long a class waits in the queue of a station; None without a limit."""
        for limit_key, distribution_kind, scv in (
            ("patience", "exponential", 1.0),
            ("timeout", "deterministic", 0.0),
        ):
            if place[0] in getattr(self.model.stations[place[1]], limit_key):
                return ServiceTime(
                    distribution_kind,
                    self._number_at(f"stations.{place[1]}.{limit_key}.{place[0]}"),
                    scv,
                )
        return None

    def _losing_region(self, place: Place) -> str:
        """Return the region of a place that loses customers; empty where there is none."""
        region_name = self.model.region_of(place[1])
        return region_name if region_name and self.model.regions[region_name].loses else ""

    def _mark_after_loss(self, chain_name: str, place: Place) -> str:
        """Return the mark at which a customer goes on after it was lost at a place."""
        region = self.model.region_of(place[1])
        return _region_loss_mark(chain_name, region) if region else _loss_mark(chain_name)

    def _write_entrance(self, chain_name: str, place: Place, region_name: str) -> None:
        """Write the entrance to a region, before the visit to a place in it."""
        if self._losing_region(place):
            capacity = self.model.regions[region_name].capacity
            self.builder.admit(
                _entrance_mark(place, region_name), region_name, capacity, _loss_mark(chain_name)
            )
        self.builder.enter(region_name, _region_wait_label(place[0], region_name))

    def _places(self, chain: Chain) -> list[Place]:
        return [place for place in self.visits if place[0] in chain.classes]

    def _record_counting(self, chain_index: int, chain_name: str, chain: Chain) -> None:
        """Record where cycles are counted, for a chain that may lose customers: not every cycle
        that begins is completed.
        """
        places = self._places(chain)
        if chain_name in self.model.chains:
            visits_by_place = {chain.reference: 1.0}
            first_stations = [chain.reference[1]]
        else:
            visits_by_place = {places[0]: self.visits[places[0]]}
            # A cycle begins at any station up to the first that no customer passes by.
            first_certain = next(
                (
                    place_index
                    for place_index, place in enumerate(places)
                    if self.visits[place] >= 1
                ),
                len(places),
            )
            first_stations = [station for _, station in places[: first_certain + 1]]
        self.counting_places[chain_name] = visits_by_place
        full_station_or_region = next(
            (
                station_or_region
                for station_or_region in self._stations_and_losing_regions(first_stations)
                if self._may_be_full(station_or_region)
            ),
            None,
        )
        if (
            full_station_or_region
            and isinstance(chain.members, ClosedClass)
            and not self.network_points.network.think[0, chain_index]
        ):
            raise ModelError(
                f"a cycle of {chain_name} may begin at {full_station_or_region}, which may be full: a lost customer would"
                f" come back at the same instant; give {chain_name} a think time, or {full_station_or_region} more capacity"
            )

    def _stations_and_losing_regions(self, station_names: Sequence[str]) -> list[str]:
        """List stations, and the regions around them that lose customers."""
        region_names = [self._losing_region(("", station_name)) for station_name in station_names]
        return [*station_names, *filter(None, region_names)]

    def _may_be_full(self, station_or_region: str) -> bool:
        """Return whether as many customers as its capacity may ever be at a station or in a region,
        or on their way to it.
        """
        network = self.network_points.network
        region = self.model.regions.get(station_or_region)
        capacity = region.capacity if region else self.model.stations[station_or_region].capacity
        station_names = region.stations if region else (station_or_region,)
        station_indices = [
            self.network_layout.stations.index(station_name) for station_name in station_names
        ]
        visits_stations = (network.visits[0][:, station_indices].real > 0).any(axis=1)
        has_arrivals = (visits_stations & ~network.closed & (network.arrivals[0].real > 0)).any()
        return capacity is not None and bool(
            has_arrivals or network.population[0, visits_stations & network.closed].sum() > capacity
        )

    def _write_thinking(self, chain_index: int, chain_name: str) -> int:
        """Write the beginning of a cycle: the thinking, after which the response time counts.
        Return the number of its first instruction.
        """
        first_instruction = self.builder.next_instruction
        mean_think_time = float(self.network_points.network.think[0, chain_index].real)
        if mean_think_time > 0:
            self.builder.delay(
                ServiceTime("exponential", mean_think_time), _thinking_label(chain_name)
            )
            self.builder.start_response()
        return first_instruction

    def _write_cycle_in_order(self, chain_index: int, chain_name: str, chain: Chain) -> int:
        """Write the cycle of a class that visits the stations in the order written; return the
        number of its first instruction.
        """
        first_instruction = self._write_thinking(chain_index, chain_name)
        for region_name, places_in_row in groupby(
            self._places(chain), lambda place: self.model.region_of(place[1])
        ):
            if region_name:
                self._write_visits_in_region(chain_name, region_name, list(places_in_row))
                continue
            for place in places_in_row:
                if self.visits[place] < 1:
                    probability = self.visits[place]
                    write_visit = partial(self._write_visits, chain_name, place)
                    self.builder.choose(
                        [(probability, write_visit), (1 - probability, lambda: None)],
                        f"{_service_label(place)} or not",
                    )
                else:
                    self._write_visits(chain_name, place)
        self.builder.finish()
        return first_instruction

    def _write_visits(self, chain_name: str, place: Place) -> None:
        """Write the visits to a place; a mean number above 1 is a geometric repetition."""
        mean_visits = self.visits[place]
        write_visit = partial(self._write_visit, chain_name, place)
        if mean_visits > 1:
            self.builder.repeat_with_probability(
                1 - 1 / mean_visits, write_visit, f"{_service_label(place)} again"
            )
        else:
            write_visit()

    def _write_visits_in_region(
        self, chain_name: str, region_name: str, places: Sequence[Place]
    ) -> None:
        """Write the visits of a class to stations of one region in a row. A customer enters the
        region before the first station that it visits, and leaves it after the last.
        """
        builder = self.builder
        name_of_run = f"{chain_name} from {places[0][1]}"
        may_be_outside = True
        inside_marks = [
            f"{name_of_run}: inside {region_name} before {place_index}"
            for place_index in range(len(places) + 1)
        ]
        outside_marks = [
            f"{name_of_run}: outside {region_name} before {place_index}"
            for place_index in range(len(places) + 1)
        ]
        for place_index, place in enumerate(places):
            probability = self.visits[place]
            choice_name = f"{_service_label(place)} or not"
            visit_mark = f"{_service_label(place)} inside"
            entrance_mark = _entrance_mark(place, region_name)
            if may_be_outside:
                builder.mark(outside_marks[place_index])
                if probability < 1:
                    builder.go(
                        [
                            (probability, entrance_mark),
                            (1 - probability, outside_marks[place_index + 1]),
                        ],
                        choice_name,
                    )
                builder.mark(entrance_mark)
                self._write_entrance(chain_name, place, region_name)
                if place_index and probability < 1:
                    builder.jump(visit_mark)
            builder.mark(inside_marks[place_index])
            if place_index and probability < 1:
                builder.go(
                    [(probability, visit_mark), (1 - probability, inside_marks[place_index + 1])],
                    choice_name,
                )
            builder.mark(visit_mark)
            self._write_visits(chain_name, place)
            may_be_outside = may_be_outside and probability < 1
            if may_be_outside and place_index + 1 < len(places):
                builder.jump(inside_marks[place_index + 1])
        builder.mark(inside_marks[-1])
        builder.leave(region_name)
        builder.mark(outside_marks[-1])

    def _write_routed_cycle(self, chain_index: int, chain_name: str, chain: Chain) -> int:
        """Write a block of instructions for each place, the reference first; return the number of
        the instruction at which a cycle begins.
        """
        builder = self.builder
        first_instruction = self.builder.next_instruction
        # The reference first, so that the instructions of a cycle begin where customers start.
        for place in sorted(self._places(chain), key=lambda place: place != chain.reference):
            if self._ends_at(chain, place):
                builder.mark(_end_mark(place))
                builder.finish(onward=True)
                cycle_start = self._write_thinking(chain_index, chain_name)
                first_instruction = cycle_start if place == chain.reference else first_instruction
            if region_name := self.model.region_of(place[1]):
                builder.mark(_entrance_mark(place, region_name))
                self._write_entrance(chain_name, place, region_name)
            builder.mark(_service_label(place))
            self._write_visit(chain_name, place)
            builder.go(
                list(self._targets_onward(chain_name, chain, place)),
                f"{_service_label(place)} onward",
            )
            for _, target_mark in (
                self._targets_onward(chain_name, chain, place) if region_name else ()
            ):
                if target_mark.startswith(leaving_prefix := _leaving_prefix(place)):
                    builder.mark(target_mark)
                    builder.leave(region_name)
                    builder.jump(target_mark.removeprefix(leaving_prefix))
        builder.mark(_out_mark(chain_name))
        builder.finish()
        return first_instruction

    def _ends_at(self, chain: Chain, place: Place | None) -> bool:
        return isinstance(chain.members, ClosedClass) and place == chain.reference

    def _targets_onward(
        self, chain_name: str, chain: Chain, place: Place
    ) -> Iterator[tuple[float, str]]:
        """Yield the probability and the mark of each place that a customer may go to from a place."""
        for route_index, route in enumerate(self.model.routing):
            probability = self._number_at(f"routing.{route_index}.probability")
            if route.source == place and probability > 0:
                region_left = self.model.region_of(place[1])
                target_mark = (
                    _out_mark(chain_name) if route.target is None else _service_label(route.target)
                )
                region_entered = self.model.region_of(route.target[1]) if route.target else ""
                if route.target is not None and self._ends_at(chain, route.target):
                    target_mark = _end_mark(route.target)
                elif route.target is not None and region_entered not in ("", region_left):
                    target_mark = _entrance_mark(route.target, region_entered)
                yield (
                    probability,
                    _leaving_prefix(place) + target_mark
                    if region_left not in ("", region_entered)
                    else target_mark,
                )

    def _write_visit(self, chain_name: str, place: Place) -> None:
        """Visit a station; where the chain may lose customers, count them at a tally."""
        builder, (class_name, station_name) = self.builder, place
        station = self.model.stations[station_name]
        scv_column = self.columns.get(f"stations.{station_name}.scv.{class_name}")
        scv = 1.0 if scv_column is None else float(scv_column[0].real)
        service_time = time_of_distribution(
            self.service[place], scv, station.distribution.get(class_name)
        )
        resource_name = None if DISCIPLINES[station.discipline].delay else station_name
        if chain_name in self.counting_places:
            loss_mark = self._mark_after_loss(chain_name, place)
            builder.admit(_service_label(place), resource_name, station.capacity or 0, loss_mark)
        if time_limit := self._time_limit_in_queue(place):
            builder.patience(time_limit, _abandonment_tally(place), _abandonment_tally(place))
        if resource_name is None:
            builder.delay(service_time, _service_label(place))
        else:
            weight = 1.0
            if class_name in station.weight:
                weight_column = self.columns[f"stations.{station_name}.weight.{class_name}"]
                weight = float(weight_column[0].real)
            builder.serve(
                station_name,
                service_time,
                _service_label(place),
                wait=_wait_label(place),
                rank=station.priority.get(class_name, 0),
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
    network_layout = NetworkLayout(model)
    return CompiledSimulation(
        model.name,
        f"response_time[{next(iter(network_layout.chains))}]",
        tuple(network_layout.tape.parameters),
        lambda values: _solution(network_layout, values, simulation),
    )


def _solution(
    network_layout: NetworkLayout, values: Mapping[str, float], simulation: Simulation
) -> Solution:
    """Simulate a network at one point, and return the values estimated from the run."""
    planned_network = flat_network(network_layout, values)
    result = simulate(planned_network.plan, simulation) if planned_network.groups else None
    estimates = _NetworkEstimates(network_layout, planned_network, result)
    estimated_values = estimates.values()
    remarks = estimates.remarks()
    gradient = None
    first_time = estimated_values.get(f"response_time[{next(iter(network_layout.chains))}]")
    if result and simulation.shares and first_time:
        gradient, shares, note = _shares(
            network_layout, values, first_time.value or 0.0, result, simulation
        )
        estimated_values = {**estimated_values, **shares}
        remarks = replace(remarks, notes=(*remarks.notes, note))
    is_exact = estimates.certain and not (result and result.plan.random)
    account = {"account": estimates.account()}
    return replace(
        one_point(network_layout.model.name, estimated_values, remarks, gradient, account),
        exact=np.array([is_exact]),
    )


def flat_network(network_layout: NetworkLayout, values: Mapping[str, float]) -> FlatNetwork:
    """Write a network at one point as a plan for the simulator.

    Raises
    ------
    ModelError, NoAnswerError : see `FlatNetwork`; a station is saturated
    """
    columns = network_layout.columns(values)
    network_points = network_layout.arrays(columns)
    regions = network_layout.model.regions
    lossy_stations = [
        station_name
        for region in regions.values()
        if region.loses
        for station_name in region.stations
    ]
    if reason_by_point := unsolvable(
        _without_load(network_points, lossy_stations) if lossy_stations else network_points
    ):
        raise NoAnswerError(reason_by_point[0])
    planned_network = FlatNetwork(network_layout, columns, network_points)
    for region_name, region in regions.items():
        if not region.loses:
            _check_places(region_name, region, planned_network)
    return planned_network


def _without_load(network_points: NetworkPoints, lossy_stations: Sequence[str]) -> NetworkPoints:
    """Return a network without the arrivals of the classes that visit some lossy stations, because
    only the simulation finds how many of them are lost, and how many reach other stations.
    """
    network = network_points.network
    visits = network.visits[:, :, np.isin(network.stations, lossy_stations)].real > 0
    remaining_arrivals = np.where(visits.any(axis=(0, 2)), 0.0, network.arrivals)
    return replace(network_points, network=replace(network, arrivals=remaining_arrivals))


def _check_places(region_name: str, region: Region, planned_network: FlatNetwork) -> None:
    """Raise if a region in which customers wait is saturated by the arrivals alone.

    Neither classes whose customers may be lost nor waits inside the region are counted, so that a
    region that is not saturated here may be saturated all the same; a simulation of it does not
    reach its precision.
    """
    network = planned_network.network_points.network
    place_seconds = [
        network.demand[0, :, station_index].real
        * _least_places(network.rates[station_index], region.capacity)
        for station_index, station in enumerate(network.stations)
        if station in region.stations
    ]
    # Losses lower the load by an amount that only the run tells.
    never_lost = [
        chain_name not in planned_network.counting_places
        for chain_name in planned_network.network_layout.chains
    ]
    seconds_held = float((network.arrivals[0].real * sum(place_seconds))[never_lost].sum())
    if (load := seconds_held / region.capacity) >= 1:
        places_in_words = f"{region.capacity:,} place{'s' if region.capacity > 1 else ''}"
        raise NoAnswerError(
            f"region {region_name} is saturated: without any wait, the customers that arrive in a second"
            f" hold its places for {seconds_held:.4g} s together, and it has {places_in_words} (load {load:.3g}, the"
            " limit is 1); lower the arrivals, or give it more places"
        )


def _least_places(rates: Array | None, most_customers: int) -> float:
    """Return the fewest places that customers at a station occupy on average while it works at
    speed 1.

    Parameters
    ----------
    rates : of the station with 1, 2, 3 ... present; None where each server has speed 1
    most_customers : customers there
    """
    if rates is None:
        return 1.0
    # Beyond the last rate, more customers hold more places at the same speed.
    speeds = rates[0, :most_customers].real
    return float(np.min(np.arange(1, len(speeds) + 1) / speeds))


class _NetworkEstimates:
    """Estimates from one run of a network; without a run, those of an empty network."""

    def __init__(
        self, network_layout: NetworkLayout, planned_network: FlatNetwork, result: Result | None
    ) -> None:
        self.network_layout = network_layout
        self.planned_network = planned_network
        self.result = result
        self.stations = network_layout.model.stations
        self.layout = Layout(planned_network.plan)
        self.elapsed_weights = self.layout.column(self.layout.time)
        self.chain_by_class = {
            class_name: chain_name
            for chain_name, chain in network_layout.chains.items()
            for class_name in chain.classes
        }

    def values(self) -> dict[str, Value]:
        """Compute the value of every estimate."""
        return {
            value_name: as_value(estimate, unit_of(value_name))
            for value_name, estimate in self._named_estimates()
            if estimate is not None
        }

    def remarks(self) -> Remarks:
        """Return the notes on the run."""
        result = self.result
        notes = (*(notes_of(result) if result else (NO_CUSTOMERS,)), *assumed(self.network_layout))
        notes = (*notes, ABANDONMENT) if self.planned_network.network_points.patience else notes
        traces = {
            chain_name: getattr(chain.members, "trace", ())
            for chain_name, chain in self.network_layout.chains.items()
        }
        notes += tuple(
            f"{chain_name} arrive as the {len(times_between)} times between arrivals of their trace say, again and"
            " again: intervals do not cover that another trace would differ"
            for chain_name, times_between in traces.items()
            if times_between
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
        estimates = (
            estimate
            for value_name, estimate in self.values().items()
            if "quantile" not in value_name
        )
        return all(
            estimate.low is not None
            and estimate.value is not None
            and estimate.value - estimate.low <= ROUNDING * estimate.value
            for estimate in estimates
        )

    def _named_estimates(self) -> Iterator[tuple[str, Estimate | None]]:
        """Yield every estimate with its name; None where the run has seen too little."""
        for chain_name in self.network_layout.chains:
            yield from self._estimates_of_chain(chain_name)
        for region_name in self.network_layout.model.regions:
            yield from self._estimates_of_region(region_name)
        for station_name, station in self.stations.items():
            for class_name in station.visitors():
                yield from self._estimates_of_place((class_name, station_name))
        for station_name in self.stations:
            yield from self._estimates_of_station(station_name)
        for chain_name in self.planned_network.groups:
            for level in QUANTILES:
                quantile = (
                    None
                    if self.result is None
                    else self.result.time_quantile(level, self.planned_network.groups[chain_name])
                )
                yield f"response_time_quantile[{chain_name},{level:g}]", quantile
            if target := self.planned_network.targets.get(chain_name):
                share = None
                if self.result is not None:
                    share = self.result.share_within(
                        target, self.planned_network.groups[chain_name]
                    )
                yield f"within_target[{chain_name}]", share

    def _estimates_of_chain(self, chain_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield throughput and response time of a chain and of its classes."""
        chain = self.network_layout.chains[chain_name]
        places = self.places(chain_name)
        yield (
            f"throughput[{chain_name}]",
            self._ratio(
                chain_name, self.weights_of_served_cycles(chain_name), self.elapsed_weights, NOTHING
            ),
        )
        yield (
            f"response_time[{chain_name}]",
            self._response_estimate(chain_name, places, chain.classes),
        )
        for class_name in chain.classes if chain.classes != (chain_name,) else ():
            if isinstance(chain.members, OpenClass):
                class_index = self.network_layout.classes.index(class_name)
                loses_customers = chain_name in self.planned_network.counting_places
                entries = float(self.planned_network.network_points.entries()[0, class_index].real)
                # How many customers change class is not counted where some are lost on the way.
                if loses_customers and class_name != chain.reference[0]:
                    continue
                entry_weights = self.weights_of_served_cycles(chain_name) * (
                    1.0 if loses_customers else entries
                )
            else:
                place = class_name, chain.reference[1]
                entry_weights = self.weights_of_visits(place) - self._tally_weights(
                    self.layout.tried, place, _abandonment_tally
                )
            yield (
                f"throughput[{class_name}]",
                self._ratio(chain_name, entry_weights, self.elapsed_weights, NOTHING),
            )
            yield (
                f"response_time[{class_name}]",
                self._response_estimate(
                    chain_name, [place for place in places if place[0] == class_name], [class_name]
                ),
            )

    def _estimates_of_place(self, place: Place) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the estimates of one class at one station."""
        chain_name = self.chain_by_class[place[0]]
        station = self.stations[place[1]]
        name_in_brackets = f"[{place[0]},{place[1]}]"
        presence_weights = self.weights_of_time(place)
        visit_weights = self.weights_of_cycles(chain_name)
        if place in self.planned_network.visits:
            visit_weights = self.weights_of_visits(place) * (
                self.planned_network.stated_visits[place] / self.planned_network.visits[place]
            )
        yield (
            f"queue_length{name_in_brackets}",
            self._ratio(chain_name, presence_weights, self.elapsed_weights, NOTHING),
        )
        yield f"residence_time{name_in_brackets}", self._response_estimate(chain_name, [place])
        yield (
            f"time_per_visit{name_in_brackets}",
            self._ratio(chain_name, presence_weights, visit_weights),
        )
        if not station.rates:
            yield (
                f"waiting_time{name_in_brackets}",
                self._ratio(chain_name, self.weights_of_waiting(place), visit_weights),
            )
        if not DISCIPLINES[station.discipline].delay:
            yield (
                f"utilization{name_in_brackets}",
                self._ratio(
                    chain_name,
                    self._weights_of_busy_time(place),
                    self.elapsed_weights * station.servers,
                    NOTHING,
                ),
            )
        if station.capacity:
            refusal_weights, attempt_weights = (
                self._tally_weights(tally_columns, place)
                for tally_columns in (self.layout.refused, self.layout.tried)
            )
            yield (
                f"loss_probability{name_in_brackets}",
                self._ratio(chain_name, refusal_weights, attempt_weights, NOTHING),
            )
        if place[0] in (*station.patience, *station.timeout):
            abandonment_weights = self._tally_weights(self.layout.tried, place, _abandonment_tally)
            yield (
                f"abandonment{name_in_brackets}",
                self._ratio(
                    chain_name, abandonment_weights, self.weights_of_visits(place), NOTHING
                ),
            )

    def _estimates_of_station(self, station_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the number present and the utilization of a station."""
        if DISCIPLINES[self.stations[station_name].discipline].delay:
            presence_weights = self.added_weights(
                self.weights_of_time(visit)
                for visit in self.planned_network.visits
                if visit[1] == station_name
            )
            yield (
                f"queue_length[{station_name}]",
                self._ratio(None, presence_weights, self.elapsed_weights),
            )
            return
        resource_index = self.planned_network.plan.resources.index(station_name)
        yield (
            f"queue_length[{station_name}]",
            self._ratio(
                None, self.layout.column(self.layout.area[resource_index]), self.elapsed_weights
            ),
        )
        busy_weights = self.layout.column(self.layout.use[resource_index])
        yield (
            f"utilization[{station_name}]",
            self._ratio(
                None, busy_weights, self.elapsed_weights * self.stations[station_name].servers
            ),
        )

    def _estimates_of_region(self, region_name: str) -> Iterator[tuple[str, Estimate | None]]:
        """Yield the number present, the utilization, the wait and the losses of a region."""
        region = self.network_layout.model.regions[region_name]
        layout = self.layout
        resource_index = self.planned_network.plan.resources.index(region_name)
        presence_weights = layout.column(layout.area[resource_index])
        holding_weights = layout.column(layout.use[resource_index])
        lock_index = resource_index - len(self.planned_network.plan.stations)
        yield (
            f"queue_length[{region_name}]",
            self._ratio(None, presence_weights, self.elapsed_weights),
        )
        yield (
            f"utilization[{region_name}]",
            self._ratio(None, holding_weights, self.elapsed_weights * region.capacity),
        )
        grant_weights = layout.column(layout.taken[lock_index])
        # Present are those that hold a place and those that wait for one.
        yield (
            f"waiting_time[{region_name}]",
            self._ratio(None, presence_weights - holding_weights, grant_weights),
        )
        if region.loses:
            tallies = self.planned_network.plan.tallies
            entrances = [
                _entrance_mark(place, region_name) for place in self.planned_network.visits
            ]
            tally_indices = [tallies.index(tally) for tally in entrances if tally in tallies]
            refusal_weights, attempt_weights = (
                self.added_weights(
                    layout.column(columns_of_tallies[tally_index]) for tally_index in tally_indices
                )
                for columns_of_tallies in (layout.refused, layout.tried)
            )
            yield (
                f"loss_probability[{region_name}]",
                self._ratio(None, refusal_weights, attempt_weights),
            )

    def places(self, chain_name: str) -> list[Place]:
        """List the places at which a chain has service."""
        return [
            place
            for place in self.planned_network.visits
            if self.chain_by_class[place[0]] == chain_name
        ]

    def added_weights(self, weights: Iterable[Array]) -> Array:
        """Add up weights of columns; zeros if there are none."""
        total: Array = sum(weights, np.zeros(self.layout.width))
        return total

    def _response_estimate(
        self, chain_name: str, places: list[Place], waiting_classes: Sequence[str] = ()
    ) -> Estimate | None:
        """Estimate the time that a cycle spends at some places, and that some classes wait before
        regions [s].
        """
        time_weights = self.added_weights(map(self.weights_of_time, places)) + self.added_weights(
            map(self._weights_of_region_waits, waiting_classes)
        )
        return self._ratio(chain_name, time_weights, self.weights_of_cycles(chain_name))

    def weights_of_response_time(self, chain_name: str) -> Array:
        """Return weights of the columns for the response times of a chain."""
        class_names = self.network_layout.chains[chain_name].classes
        return self.added_weights(
            map(self.weights_of_time, self.places(chain_name))
        ) + self.added_weights(map(self._weights_of_region_waits, class_names))

    def _weights_of_region_waits(self, class_name: str) -> Array:
        """Return weights of the columns for the time that a class waits before regions."""
        return self.added_weights(
            self._weights_of_label(_region_wait_label(class_name, region_name))
            for region_name in self.network_layout.model.regions
        )

    def weights_of_cycles(self, chain_name: str) -> Array:
        """Return weights of the columns that count the cycles of a chain; where customers are lost,
        they count its visits to the first station.
        """
        if chain_name in self.planned_network.counting_places:
            return self.added_weights(
                self.weights_of_visits(place) / visits_of_cycle
                for place, visits_of_cycle in self.planned_network.counting_places[
                    chain_name
                ].items()
            )
        return self.added_weights(
            self.layout.column(self.layout.cycles[self.planned_network.groups[group_name]])
            for group_name in self.planned_network.groups
            if group_name == chain_name
        )

    def weights_of_served_cycles(self, chain_name: str) -> Array:
        """Return weights of the columns that count the cycles of a chain which do not end in the
        queue of its first station.
        """
        first_places = self.planned_network.counting_places.get(chain_name, {})
        departure_weights = (
            self._tally_weights(self.layout.tried, place, _abandonment_tally) / visits_of_cycle
            for place, visits_of_cycle in first_places.items()
        )
        return self.weights_of_cycles(chain_name) - self.added_weights(departure_weights)

    def weights_of_visits(self, place: Place) -> Array:
        """Return weights of the simulator's counters, whose weighted sum is the number of visits of
        a class to a station: a counter of its own, or visits of a cycle times cycles.
        """
        chain_name = self.chain_by_class[place[0]]
        if chain_name in self.planned_network.counting_places:
            return self._tally_weights(self.layout.tried, place) - self._tally_weights(
                self.layout.refused, place
            )
        return self.weights_of_cycles(chain_name) * self.planned_network.visits.get(place, 0.0)

    def weights_of_time(self, place: Place) -> Array:
        """Return weights of the columns for the time of a class at a station, waiting included."""
        return self._weights_of_label(_service_label(place)) + self.weights_of_waiting(place)

    def weights_of_waiting(self, place: Place) -> Array:
        """Return weights of the columns for the waiting time of a class at a station, that of
        cycles included that had not ended when the run stopped.
        """
        booked_weights = self._weights_of_label(_wait_label(place))
        unbooked_part = self._unbooked_share_by_place.get(place, 0.0)
        if not unbooked_part or self.result is None:
            return booked_weights
        group_index = self.planned_network.groups[self.chain_by_class[place[0]]]
        return booked_weights + unbooked_part * weights_of_unbooked_time(
            self.planned_network.plan, group_index
        )

    @cached_property
    def _unbooked_share_by_place(self) -> dict[Place, float]:
        """Compute, for chains whose customers starve, the share of each place in the time of the
        cycles that had not ended when the run stopped: in proportion to its visits, and to the part
        of the time present at its station that no label of an ended cycle has.
        """
        share_by_place: dict[Place, float] = {}
        result = self.result
        if result is None or not any(
            map(result.counts_unended, self.planned_network.groups.values())
        ):
            return share_by_place
        column_sums = result.batches.sum(axis=0)
        unbooked_by_station: dict[str, float] = {}
        for resource_index, resource_name in enumerate(self.planned_network.plan.resources):
            places = [place for place in self.planned_network.visits if place[1] == resource_name]
            station_labels = [
                label_of(place) for place in places for label_of in (_service_label, _wait_label)
            ]
            booked_time = sum(
                float(column_sums @ self._weights_of_label(label)) for label in station_labels
            )
            unbooked_by_station[resource_name] = max(
                float(column_sums[self.layout.area[resource_index]]) - booked_time, 0.0
            )
        for chain_name, group_index in self.planned_network.groups.items():
            if not result.counts_unended(group_index):
                continue
            weight_by_place = {
                place: unbooked_by_station.get(place[1], 0.0) * self.planned_network.visits[place]
                for place in self.places(chain_name)
            }
            total_weight = sum(weight_by_place.values())
            share_by_place |= {
                place: place_weight / total_weight
                for place, place_weight in weight_by_place.items()
                if total_weight
            }
        return share_by_place

    def _tally_weights(
        self,
        columns_of_tallies: Sequence[int],
        place: Place,
        name_tally: Callable[[Place], str] = _service_label,
    ) -> Array:
        """Return weights of the columns of the tally of a place; zeros if it has none."""
        tallies = self.planned_network.plan.tallies
        return self.added_weights(
            self.layout.column(columns_of_tallies[tallies.index(tally)])
            for tally in tallies
            if tally == name_tally(place)
        )

    def _weights_of_busy_time(self, place: Place) -> Array:
        """Return weights of the columns for the time that a class keeps servers busy; at a station
        with rates, its share of the work done there.
        """
        station_name = place[1]
        if not self.stations[station_name].rates or self.result is None:
            return self._weights_of_label(_service_label(place))
        work_weights_by_place = {
            worked_place: self.weights_of_visits(worked_place) * service_time
            for worked_place, service_time in self.planned_network.service.items()
            if worked_place[1] == station_name
        }
        all_work_weights = self.added_weights(work_weights_by_place.values())
        class_work_weights = work_weights_by_place.get(place, np.zeros_like(all_work_weights))
        busy_weights = self.layout.column(
            self.layout.use[self.planned_network.plan.resources.index(station_name)]
        )
        column_sums = self.result.batches.sum(axis=0)
        total_work = float(column_sums @ all_work_weights) or 1.0
        work_share = float(column_sums @ class_work_weights) / total_work
        # The share varies from batch to batch, too: the second term, which adds up to 0 over all
        # batches, carries its variance into the interval (the delta method).
        return work_share * busy_weights + float(column_sums @ busy_weights) / total_work * (
            class_work_weights - work_share * all_work_weights
        )

    def _weights_of_label(self, label: str) -> Array:
        """Return weights of the columns for the time booked to a label by all chains."""
        weights = np.zeros(self.layout.width)
        if label in self.planned_network.plan.labels:
            weights[
                np.array(self.layout.booked) + self.planned_network.plan.labels.index(label)
            ] = 1.0
        return weights

    def _ratio(
        self,
        chain_name: str | None,
        numerator_weights: Array,
        denominator_weights: Array,
        empty_value: Estimate | None = None,
    ) -> Estimate | None:
        """Estimate a ratio of two statistics; for a chain without customers, its known value."""
        if self.result is None or (
            chain_name is not None and chain_name not in self.planned_network.groups
        ):
            is_open = chain_name is not None and isinstance(
                self.network_layout.chains[chain_name].members, OpenClass
            )
            return empty_value if is_open else NOTHING
        return self.result.ratio(numerator_weights, denominator_weights)

    def account(self) -> dict[str, Estimate]:
        """Estimate the time of one customer in a cycle, by component; empty where there are several
        chains.
        """
        if len(self.network_layout.chains) != 1 or self.result is None:
            return {}
        (chain_name,) = self.network_layout.chains
        weights_by_component = {THINK: self._weights_of_label(_thinking_label(chain_name))}
        for station_name, station in self.stations.items():
            places = [visit for visit in self.planned_network.visits if visit[1] == station_name]
            if station.rates:
                weights_by_component[station_name] = self.added_weights(
                    map(self.weights_of_time, places)
                )
            else:
                weights_by_component[station_name] = self.added_weights(
                    self._weights_of_label(_service_label(place)) for place in places
                )
                weights_by_component[f"wait:{station_name}"] = self.added_weights(
                    map(self.weights_of_waiting, places)
                )
        for region_name in self.network_layout.model.regions:
            weights_by_component[f"wait:{region_name}"] = self.added_weights(
                self._weights_of_label(_region_wait_label(class_name, region_name))
                for class_name in self.network_layout.classes
            )
        estimates = {
            component: self.result.ratio(component_weights, self.weights_of_cycles(chain_name))
            for component, component_weights in weights_by_component.items()
        }
        return {component: estimate for component, estimate in estimates.items() if estimate.mean}


def _shares(
    network_layout: NetworkLayout,
    values: Mapping[str, float],
    mean_time: float,
    base_result: Result,
    simulation: Simulation,
) -> tuple[Gradient, dict[str, Value], str]:
    """Estimate the shares of the first response time by differences of simulations, for the
    parameters with the largest approximate shares.
    """
    chain_name = next(iter(network_layout.chains))
    value_name = f"response_time[{chain_name}]"
    # No solver takes regions; a rough order is enough here.
    approximate_form = CompiledNetwork(replace(network_layout.model, regions={}), LINEARIZER)
    # The approximate shares only rank the parameters; each of those chosen costs two simulations.
    approximate_shares = approximate_form.points(values).answer(0).share.get(value_name, {})
    parameters = network_layout.tape.parameters
    names_with_time = (
        parameter_name
        for parameter_name in approximate_form.smooth
        if parameters[parameter_name].dimension.time_power
    )
    ranked_names = sorted(names_with_time, key=lambda name: -abs(approximate_shares.get(name, 0.0)))

    def rerun(changed_values: Mapping[str, float], rerun_simulation: Simulation) -> Array:
        """Simulate again with some values changed, and return the mean response time of each batch
        [s].
        """
        planned_network = flat_network(network_layout, {**values, **changed_values})
        changed_result = simulate(planned_network.plan, rerun_simulation)
        estimates = _NetworkEstimates(network_layout, planned_network, changed_result)
        time_weights = estimates.weights_of_response_time(chain_name)
        batch_means: Array = (changed_result.batches @ time_weights) / (
            changed_result.batches @ estimates.weights_of_cycles(chain_name)
        )
        return batch_means

    own_values = {
        parameter_name: values.get(parameter_name, parameter.value or 0.0)
        for parameter_name, parameter in parameters.items()
    }
    return Differences(value_name, rerun, base_result).shares(
        mean_time, ranked_names[: simulation.shares], own_values, parameters
    )
