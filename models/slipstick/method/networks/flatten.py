"""A queueing network at one point as the plan that the simulator runs. A mark names an instruction
of the plan to which customers go on, a tally counts events such as visits or losses, and a label
names what time is booked to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby

from slipstick.errors import ModelError, NoAnswerError, Saturated
from slipstick.late import Array, NDArray, np
from slipstick.limits import check_cost
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.model.absences import works_overtime
from slipstick.model.network import Chain, ClosedClass, OpenClass, Place, Region
from slipstick.queueing.mixed_classes import check_some_time
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import (
    BatchTimes,
    BurstyTimes,
    DistributedTime,
    ProfiledTimes,
    ServiceTime,
    Times,
    TracedTimes,
    open_time,
    time_of_distribution,
)
from slipstick.sim.plan.plan import BreakerRule
from slipstick.vocabulary import DISCIPLINES, LOSS, MOST_HOLDERS, SHARED

service_label = "{0[0]} at {0[1]}".format
wait_label = "{0[0]} before {0[1]}".format
end_mark = "end of a cycle to {0[0]} at {0[1]}".format
abandonment_tally = "{0[0]} abandons {0[1]}".format
again_label = "{0[0]} at {0[1]} again".format
thinking_label = "{} thinks".format
out_mark = "{} out".format
loss_mark = "{} lost".format
entrance_mark_at = "{0[0]} enters {1} at {0[1]}".format
region_wait_label = "{} before region {}".format
region_loss_mark = "{} lost in region {}".format
leaving_prefix_of = "{0[0]} leaves {0[1]} for ".format
failure_mark = "{0[0]} fails at {0[1]}".format
try_mark = "{0[0]} tries {0[1]}".format
full_mark = "{0[0]} finds {0[1]} full".format
loss_tally = "{0[0]} lost at {0[1]}".format
back_off_label = "{0[0]} pauses before {0[1]}".format
entrance_of_network = "{0[0]} enters the network at {0[1]}".format
"""Names of labels, marks and tallies of a plan, made of a place, that is a class and a station, or
of a chain; some also of a region.

`service_label` and `wait_label` label the time of a class in service and in the queue; the first
also names the mark and the tally of the place. `again_label` labels the time of services that are
repeated because the next station is full. `abandonment_tally` names the tally of customers that
abandon a queue, and the stream of times after which they do. `entrance_mark_at` names the tally and
the mark of a place at which a region is entered, `region_wait_label` labels the wait of a class
before a region.
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
    plan : what the simulator runs; its labels and tallies are `service_label`, `wait_label` and
        `thinking_label`
    group_index_by_chain : index among the plan's members of each chain that has customers
    visits : of each class at each station in a cycle, where it has service [1]
    stated_visits : the same as the network states them, where a demand is one visit however it is
        split [1]
    service_time_by_place : mean time of a visit [s]
    lossy_chains : chains that may lose customers
    held_stations : stations whose servers may be kept by customers that are blocked
    entrance_tallies : of each chain whose beginning cycles are counted, the tallies that do so: in
        networks that block, and of the chains that come back
    returning_chains : chains with tallies whose customers come back to the place where cycles
        begin, within a cycle
    counting_places : where the passages of a chain with tallies are counted, and visits there in a
        cycle: chains that may lose customers, or whose routes the state selects

    Raises
    ------
    ModelError : there are too many customers, or lost customers would come back at the same instant
    NoAnswerError : a cycle takes no time, or more work arrives for a region than its places can
        hold
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
        self.service_time_by_place: dict[Place, float] = {}
        self.group_index_by_chain: dict[str, int] = {}
        self.counting_places: dict[str, dict[Place, float]] = {}
        self.lossy_chains: frozenset[str] = frozenset()
        self.held_stations: frozenset[str] = frozenset()
        self.entrance_tallies: dict[str, list[str]] = {}
        self.returning_chains: set[str] = set()
        network = network_points.network
        closed_chains = np.flatnonzero(network.closed)
        check_some_time(
            network, (network.think + network.demand.sum(axis=2))[:, closed_chains], closed_chains
        )
        for chain_index, (chain_name, chain) in enumerate(network_layout.chains.items()):
            for place, visit_count, stated_visit_count, service_time in self._places_with_work(
                chain_index, chain_name, chain
            ):
                self.visits[place], self.stated_visits[place], self.service_time_by_place[place] = (
                    visit_count,
                    stated_visit_count,
                    service_time,
                )
        self._add_stations()
        # A customer is at one guarded station at a time, so that one register is enough.
        has_retries = any(station.retries for station in self.model.stations.values())
        with (
            self.builder.reserved_register()
            if self.model.breakers
            else nullcontext(-1) as self._breaker_register,
            self.builder.reserved_register()
            if has_retries
            else nullcontext(-1) as self._retry_register,
        ):
            for chain_index, (chain_name, chain) in enumerate(network_layout.chains.items()):
                if self._has_customers(chain_index, chain_name, chain):
                    self._write_chain(chain_index, chain_name, chain)
        self.plan = self.builder.plan()

    def _add_stations(self) -> None:
        """Add the stations and the places of regions to the plan."""
        for station_name in self.model.stations:
            self._add_station(station_name)
        for region_name, region in self.model.regions.items():
            # The places of a region are permits, which its customers hold while they are inside.
            self.builder.add_permits(region_name, region.capacity)
        for breaker_name, guarded_stations in self.model.breakers.items():
            breaker = guarded_stations.breaker
            breaker_rule = BreakerRule(breaker.failures, breaker.calls, breaker.trials)
            self.builder.add_breaker(breaker_name, breaker_rule)

    def _add_station(self, station_name: str) -> None:
        """Add a station to the plan."""
        station = self.model.stations[station_name]
        # A station where no customer waits is a delay in the plan, and needs no resource.
        if not DISCIPLINES[station.discipline].delay:
            station_rates = [
                self._number_at(f"stations.{station_name}.rates.{rate_index}")
                for rate_index in range(len(station.rates))
            ]
            self.builder.add_station(
                station_name,
                station.servers,
                station.discipline,
                rates=station_rates,
                overtime=works_overtime(station_name, station.discipline, self.model.absences),
            )

    def known_times(self, chain_name: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return the mean service time of a chain at each place by its label, in a cycle and of one
        visit [s]; empty for a chain whose customers may be lost.
        """
        # With rates the time in service depends on how many are present; where customers are
        # blocked, they may be served several times.
        places = [
            place
            for place in self._places(self.network_layout.chains[chain_name])
            if chain_name not in self.counting_places
            and not self.model.stations[place[1]].rates
            and place[1] not in self.held_stations
        ]
        time_by_label = {
            service_label(place): self.service_time_by_place[place] for place in places
        }
        return {
            service_label(place): self.visits[place] * self.service_time_by_place[place]
            for place in places
        }, time_by_label

    @cached_property
    def targets(self) -> dict[str, float]:
        """Targets of response times, whose shares are reported, by class or chain [s]."""
        chains = self.model.chains
        path_by_chain = {
            chain_name: (
                f"{'chains' if chain_name in chains else 'classes'}.{chain_name}.target_time"
            )
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
                stated_visit_count = self.network_points.visits[0, class_index, station_index].real
                visit_count = (
                    stated_visit_count
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
                    and visit_count > 0
                    and (follows_routes or mean_service > 0)
                ):
                    yield (
                        (class_name, station_name),
                        float(visit_count),
                        float(stated_visit_count),
                        float(mean_service),
                    )

    def _write_return_after_abandonment(self, place: Place) -> None:
        """Write the instructions by which a customer that abandons a queue returns what it holds;
        without blocking it holds nothing.
        """

    def _has_customers(self, chain_index: int, chain_name: str, chain: Chain) -> bool:
        """Return whether a chain has customers; raises if a run cannot follow as many as it has."""
        if isinstance(chain.members, OpenClass):
            return bool(self.network_points.network.arrivals[0, chain_index] > 0)
        customer_count = int(self.network_points.network.population[0, chain_index])
        customers_in_words = (
            f"a simulation follows each customer, and {chain_name} has {customer_count:,}"
        )
        check_cost(
            "customers",
            customer_count,
            customers_in_words,
            "ask for an approximate method",
            ModelError,
        )
        shares_servers = any(
            DISCIPLINES[station.discipline].order == SHARED
            for station in self.model.stations.values()
        )
        if shares_servers and not self.network_points.network.think[0, chain_index]:
            check_cost(
                "shares",
                customer_count**2,
                f"{customers_in_words}, so {customer_count**2:.3g} pairs share servers",
                "ask for an approximate method",
                ModelError,
            )
        return customer_count > 0

    def _write_chain(self, chain_index: int, chain_name: str, chain: Chain) -> None:
        """Write the cycle of the customers of a chain, and add them to the plan."""
        network = self.network_points.network
        builder = self.builder
        self.group_index_by_chain[chain_name] = len(self.group_index_by_chain)
        # Some of its customers may be lost, or their visits follow from the state.
        places = self._places(chain)
        if any(self._may_lose(chain, place) for place in places):
            self.lossy_chains |= {chain_name}
        if chain_name in self.lossy_chains or any(map(self._routing_rule_at, places)):
            self._record_counting_places(chain_index, chain_name, chain)
        first_instruction = self._write_cycle(chain_index, chain_name, chain)
        for place in self._places(chain):
            if self._retry_count(place):
                self._write_retries(chain_name, place)
                continue
            if self._time_limit_in_queue(place):
                builder.mark(abandonment_tally(place))
                builder.admit(abandonment_tally(place))
                self._write_return_after_abandonment(place)
                builder.jump_at_random(
                    [(1.0, self._mark_after_failure(chain_name, place))], abandonment_tally(place)
                )
            if breaker := self._breaker_and_open_time(place):
                builder.mark(failure_mark(place))
                builder.record(breaker, self._breaker_register, has_failed=True)
                builder.jump(self._mark_after_loss(chain_name, place))
        for region_name in self.model.regions if chain_name in self.counting_places else ():
            builder.mark(region_loss_mark(chain_name, region_name))
            builder.return_permit(region_name)
            builder.jump(loss_mark(chain_name))
        if chain_name in self.counting_places:
            builder.mark(loss_mark(chain_name))
            builder.finish(is_lost=True)
        if isinstance(chain.members, OpenClass):
            batch_size = chain.members.batch
            mean_time_between = batch_size / float(network.arrivals[0, chain_index].real)
            time_between: ServiceTime | BurstyTimes | ProfiledTimes = (
                ProfiledTimes(chain.members.profile, mean_time_between)
                if chain.members.profile
                else ServiceTime("exponential", mean_time_between)
            )
            if chain.members.bursty and network.bursts is not None:
                quiet_rate, burst_rate, begin_rate, end_rate = network.bursts[
                    0, chain_index
                ].real.tolist()
                time_between = BurstyTimes((quiet_rate, burst_rate), (begin_rate, end_rate))
            arrival_times: Times = (
                BatchTimes(time_between, batch_size) if batch_size > 1 else time_between
            )
            builder.add_open_group(
                chain_name,
                TracedTimes(chain.members.trace, mean_time_between)
                if chain.members.trace
                else arrival_times,
                first_instruction=first_instruction,
            )
        else:
            builder.add_closed_group(
                chain_name,
                int(network.population[0, chain_index]),
                first_instruction=first_instruction,
            )

    def _retry_count(self, place: Place) -> int:
        """Return the number of further tries of a visit to a place that fails."""
        return self.model.stations[place[1]].retries.get(place[0], 0)

    def _write_retries(self, chain_name: str, place: Place) -> None:
        """Write the instructions by which a customer whose visit to a place has failed tries again.
        A customer without a further try is lost, and is counted by the reason.
        """
        builder = self.builder
        path = f"stations.{place[1]}.back_off.{place[0]}"
        pause = ServiceTime("exponential", self._number_at(path) if path in self.columns else 0.0)
        breaker = self._breaker_and_open_time(place)
        refused_mark = failure_mark(place)  # by the breaker, which has not let the try begin
        for mark, tally in (
            (abandonment_tally(place), abandonment_tally(place)),
            (full_mark(place), loss_tally(place)),
            (refused_mark, refused_mark),
        ):
            builder.mark(mark)
            if breaker and mark != refused_mark:
                builder.record(breaker, self._breaker_register, has_failed=True)
            label = back_off_label(place)
            builder.try_again(self._retry_register, try_mark(place), pause, label)
            builder.admit(tally)
            builder.jump(self._mark_after_loss(chain_name, place))

    def _may_lose(self, chain: Chain, place: Place) -> bool:
        """Return whether customers of a chain may be lost on their way to a place, or in its
        queue.
        """
        return bool(
            self.model.stations[place[1]].capacity
            or place in self.network_points.balking
            or self._time_limit_in_queue(place)
            or self._losing_region_name(place)
            or self.model.breaker_of(place[1])
        )

    def _write_cycle(self, chain_index: int, chain_name: str, chain: Chain) -> int:
        """Write the cycle of a chain; return the number of its first instruction."""
        write_cycle = (
            self._write_routed_cycle
            if chain_name in self.model.chains
            else self._write_cycle_in_order
        )
        return write_cycle(chain_index, chain_name, chain)

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

    def _losing_region_name(self, place: Place) -> str:
        """Return the region of a place that loses customers; empty where there is none."""
        region_name = self.model.region_of(place[1])
        return (
            region_name if region_name and self.model.regions[region_name].loses_customers else ""
        )

    def _mark_after_loss(self, chain_name: str, place: Place) -> str:
        """Return the mark at which a customer continues after it was lost at a place."""
        region_name = self.model.region_of(place[1])
        return region_loss_mark(chain_name, region_name) if region_name else loss_mark(chain_name)

    def _mark_after_failure(self, chain_name: str, place: Place) -> str:
        """Return the mark at which a customer continues whose visit to a place has failed."""
        if self.model.breaker_of(place[1]):
            return failure_mark(place)
        return self._mark_after_loss(chain_name, place)

    def _breaker_and_open_time(self, place: Place) -> tuple[str, ServiceTime] | None:
        """Return the circuit breaker of a place and the time for which it opens, if any."""
        breaker_name = self.model.breaker_of(place[1])
        if not breaker_name:
            return None
        breaker = self.model.breakers[breaker_name].breaker
        return breaker_name, open_time(
            breaker_name, self._number_at(f"breakers.{breaker_name}.open"), breaker.scv
        )

    def _limit_time_in_queue(self, place: Place) -> None:
        """Write the limit of the time in the queue of a place for the next visit, if it has one."""
        if time_limit := self._time_limit_in_queue(place):
            tally = abandonment_tally(place)
            self.builder.limit_next_visit(time_limit, tally, tally)

    def _write_entrance(self, chain_name: str, place: Place, region_name: str) -> None:
        """Write the entrance to a region with its mark, before the visit to a place in it."""
        entrance_mark = entrance_mark_at(place, region_name)
        self.builder.mark(entrance_mark)
        if self._losing_region_name(place):
            capacity = self.model.regions[region_name].capacity
            self.builder.admit(entrance_mark, region_name, capacity, loss_mark(chain_name))
        self.builder.take_permit(region_name, region_wait_label(place[0], region_name))

    def _places(self, chain: Chain) -> list[Place]:
        return [place for place in self.visits if place[0] in chain.classes]

    def _record_counting_places(self, chain_index: int, chain_name: str, chain: Chain) -> None:
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
            first_certain_index = next(
                (
                    place_index
                    for place_index, place in enumerate(places)
                    if self.visits[place] >= 1
                ),
                len(places),
            )
            first_stations = [station for _, station in places[: first_certain_index + 1]]
        self.counting_places[chain_name] = visits_by_place
        if self._comes_back_within_cycle(chain_name, chain):
            self.returning_chains.add(chain_name)
        comes_back_at_once = (
            isinstance(chain.members, ClosedClass)
            and not self.network_points.network.think[0, chain_index]
        )
        breaker_names = [name for name in map(self.model.breaker_of, first_stations) if name]
        if breaker_names and comes_back_at_once:
            raise ModelError(
                f"a cycle of {chain_name} may begin at a station of {breaker_names[0]}: a"
                " customer that"
                f" it refuses would come back at the same instant; give {chain_name} a think time"
            )
        full_station_or_region = next(
            (
                station_or_region
                for station_or_region in self._stations_and_losing_regions(first_stations)
                if self._may_be_full(station_or_region)
            ),
            None,
        )
        if full_station_or_region and comes_back_at_once:
            raise ModelError(
                f"a cycle of {chain_name} may begin at {full_station_or_region}, which may be full:"
                f" a lost customer would come back at the same instant; give {chain_name} a think"
                f" time, or {full_station_or_region} more capacity"
            )

    def _comes_back_within_cycle(self, chain_name: str, chain: Chain) -> bool:
        """Return whether customers of a chain may come back to the place where their cycle begins
        and be lost there, without beginning another one.
        """
        if chain_name not in self.model.chains:
            # A visit again at once finds its own place free.
            place = self._places(chain)[0]
            return self.visits[place] > 1 and bool(
                self._time_limit_in_queue(place)
                or self._retry_count(place)
                or self.model.breaker_of(place[1])
                or place in self.network_points.balking
            )
        return isinstance(chain.members, OpenClass) and any(
            route.target == chain.reference for route in self.model.routing
        )

    def _write_count_of_cycles(self, chain_name: str, place: Place) -> None:
        """Write the instructions that count the cycles which begin at a place to which customers
        come back. A customer that finds the place full goes on to it, and is counted and refused
        there.

        Raises
        ------
        ModelError : whether a customer is refused is known only behind the entrance
        """
        if chain_name not in self.returning_chains:
            return
        region_name, capacity = self.model.region_of(place[1]), self._losing_capacity(place[1]) or 0
        is_refused_behind = not self._retry_count(place) and bool(
            self.model.breaker_of(place[1])
            or place in self.network_points.balking
            or (capacity and region_name)
        )
        if is_refused_behind:
            raise ModelError(
                f"customers of {chain_name} come back to {place[1]}, where they begin and may balk,"
                " or be refused in a region or by a circuit breaker: those that begin cannot be"
                " counted; let them begin at a station of their own, with infinite servers and a"
                " short service"
            )
        limiting_resource = place[1]
        if region_name and self.model.regions[region_name].loses_customers:
            limiting_resource = region_name
            capacity = self.model.regions[region_name].capacity
        elif self._retry_count(place):
            capacity = 0
        tally = entrance_of_network(place)
        self.entrance_tallies[chain_name] = [tally]
        self.builder.admit(tally, limiting_resource, capacity, f"{tally} or not")
        self.builder.mark(f"{tally} or not")

    def _stations_and_losing_regions(self, station_names: Sequence[str]) -> list[str]:
        """List stations, and the regions around them that lose customers."""
        region_names = [
            self._losing_region_name(("", station_name)) for station_name in station_names
        ]
        return [*station_names, *filter(None, region_names)]

    def _may_be_full(self, station_or_region: str) -> bool:
        """Return whether a station or a region may ever have as many customers as its capacity,
        customers on their way to it included.
        """
        network = self.network_points.network
        region = self.model.regions.get(station_or_region)
        capacity = region.capacity if region else self._losing_capacity(station_or_region)
        if any(
            station_name == station_or_region for _, station_name in self.network_points.balking
        ):
            capacity = 0 if capacity is None else min(capacity, 1)
        station_names = region.stations if region else (station_or_region,)
        station_indices = [
            self.network_layout.stations.index(station_name) for station_name in station_names
        ]
        visits_any_station = (network.visits[0][:, station_indices].real > 0).any(axis=1)
        has_arrivals = (visits_any_station & ~network.closed & (network.arrivals[0].real > 0)).any()
        return capacity is not None and bool(
            has_arrivals
            or network.population[0, visits_any_station & network.closed].sum() > capacity
        )

    def _losing_capacity(self, station_name: str) -> int | None:
        """Return the capacity of a station that loses customers when it is full; None of others."""
        station = self.model.stations[station_name]
        return station.capacity if station.blocking == LOSS else None

    def _write_thinking(self, chain_index: int, chain_name: str) -> int:
        """Write the beginning of a cycle: the think time, after which the response time begins.
        Return the number of its first instruction.
        """
        first_instruction = self.builder.next_instruction
        if self._write_think_time(chain_index, chain_name):
            self.builder.start_response()
        return first_instruction

    def _write_think_time(self, chain_index: int, chain_name: str) -> bool:
        """Write the think time of a customer; return whether there is any."""
        mean_think_time = float(self.network_points.network.think[0, chain_index].real)
        if mean_think_time > 0:
            self.builder.delay(
                ServiceTime("exponential", mean_think_time), thinking_label(chain_name)
            )
        return mean_think_time > 0

    def _write_cycle_in_order(self, chain_index: int, chain_name: str, chain: Chain) -> int:
        """Write the cycle of a class that visits the stations in the order written; return the
        number of its first instruction.
        """
        first_instruction = self._write_thinking(chain_index, chain_name)
        for first_place in self._places(chain)[:1]:
            self._write_count_of_cycles(chain_name, first_place)
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
                        f"{service_label(place)} or not",
                    )
                else:
                    self._write_visits(chain_name, place)
        self.builder.finish()
        return first_instruction

    def _write_visits(self, chain_name: str, place: Place) -> None:
        """Write the visits to a place; a mean number above 1 is a geometric repetition."""
        mean_visit_count = self.visits[place]
        write_visit = partial(self._write_visit, chain_name, place)
        if mean_visit_count > 1:
            self.builder.repeat_with_probability(
                1 - 1 / mean_visit_count, write_visit, f"{service_label(place)} again"
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
        visit_group = f"{chain_name} from {places[0][1]}"
        may_be_outside = True
        inside_marks = [
            f"{visit_group}: inside {region_name} before {place_index}"
            for place_index in range(len(places) + 1)
        ]
        outside_marks = [
            f"{visit_group}: outside {region_name} before {place_index}"
            for place_index in range(len(places) + 1)
        ]
        for place_index, place in enumerate(places):
            probability = self.visits[place]
            choice_name = f"{service_label(place)} or not"
            visit_mark = f"{service_label(place)} inside"
            entrance_mark = entrance_mark_at(place, region_name)
            if may_be_outside:
                builder.mark(outside_marks[place_index])
                if probability < 1:
                    builder.jump_at_random(
                        [
                            (probability, entrance_mark),
                            (1 - probability, outside_marks[place_index + 1]),
                        ],
                        choice_name,
                    )
                self._write_entrance(chain_name, place, region_name)
                if place_index and probability < 1:
                    builder.jump(visit_mark)
            builder.mark(inside_marks[place_index])
            if place_index and probability < 1:
                builder.jump_at_random(
                    [(probability, visit_mark), (1 - probability, inside_marks[place_index + 1])],
                    choice_name,
                )
            builder.mark(visit_mark)
            self._write_visits(chain_name, place)
            may_be_outside = may_be_outside and probability < 1
            if may_be_outside and place_index + 1 < len(places):
                builder.jump(inside_marks[place_index + 1])
        builder.mark(inside_marks[-1])
        builder.return_permit(region_name)
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
                builder.mark(end_mark(place))
                builder.finish(goes_onward=True)
                cycle_start = self._write_thinking(chain_index, chain_name)
                first_instruction = cycle_start if place == chain.reference else first_instruction
            if place == chain.reference:
                self._write_count_of_cycles(chain_name, place)
            if region_name := self.model.region_of(place[1]):
                self._write_entrance(chain_name, place, region_name)
            builder.mark(service_label(place))
            self._write_visit(chain_name, place)
            self._write_routing(chain_name, chain, place)
            for _, target_mark in (
                self._next_places(chain_name, chain, place) if region_name else ()
            ):
                if target_mark.startswith(leaving_prefix := leaving_prefix_of(place)):
                    builder.mark(target_mark)
                    builder.return_permit(region_name)
                    builder.jump(target_mark.removeprefix(leaving_prefix))
        builder.mark(out_mark(chain_name))
        builder.finish()
        return first_instruction

    def _write_routing(self, chain_name: str, chain: Chain, place: Place) -> None:
        """Write the instructions by which a customer that leaves a place chooses its next place."""
        targets = list(self._next_places(chain_name, chain, place))
        choice_label = f"{service_label(place)} onward"
        rule_name = self._routing_rule_at(place)
        if not rule_name:
            self.builder.jump_at_random(targets, choice_label)
            return
        target_stations = [
            route.target[1]
            for route in self.model.routing
            if route.source == place and route.target
        ]
        jumps = [partial(self.builder.jump, target_mark) for _, target_mark in targets]
        options = list(zip(target_stations, jumps, strict=True))
        self.builder.pick(options, rule_name, choice_label)

    def _routing_rule_at(self, place: Place) -> str:
        """Return the rule by which a customer that leaves a place chooses a route from the state of
        the network; empty without such a rule.
        """
        return next((route.by for route in self.model.routing if route.source == place), "")

    def _ends_at(self, chain: Chain, place: Place | None) -> bool:
        """Return whether a cycle of the chain ends at a place."""
        return isinstance(chain.members, ClosedClass) and place == chain.reference

    def _next_places(
        self, chain_name: str, chain: Chain, place: Place
    ) -> Iterator[tuple[float, str]]:
        """Yield the probability and the mark of each place that may follow a place."""
        for route_index, route in enumerate(self.model.routing):
            path = f"routing.{route_index}.probability"
            probability = 1.0 if route.by else self._number_at(path)
            if route.source == place and probability > 0:
                region_left = self.model.region_of(place[1])
                target_mark = (
                    out_mark(chain_name) if route.target is None else service_label(route.target)
                )
                region_entered = self.model.region_of(route.target[1]) if route.target else ""
                if route.target is not None and self._ends_at(chain, route.target):
                    target_mark = end_mark(route.target)
                elif route.target is not None and region_entered not in ("", region_left):
                    target_mark = entrance_mark_at(route.target, region_entered)
                yield (
                    probability,
                    leaving_prefix_of(place) + target_mark
                    if region_left not in ("", region_entered)
                    else target_mark,
                )

    def _service_time(self, place: Place) -> ServiceTime | DistributedTime:
        """Return the distribution of the service time of a visit to a place."""
        class_name, station_name = place
        scv_column = self.columns.get(f"stations.{station_name}.scv.{class_name}")
        scv = 1.0 if scv_column is None else float(scv_column[0].real)
        distribution = self.model.stations[station_name].distribution.get(class_name)
        return time_of_distribution(self.service_time_by_place[place], scv, distribution)

    def _count_visit(self, chain_name: str, place: Place) -> None:
        """Write the count of a visit to a place, if the chain may lose customers. A customer that
        finds the station full is lost.
        """
        if chain_name not in self.counting_places:
            return
        discipline = DISCIPLINES[self.model.stations[place[1]].discipline]
        if place in self.network_points.balking:
            self._count_visit_by_draw(chain_name, place, self.network_points.balking[place][0].real)
            return
        self.builder.admit(
            service_label(place),
            None if discipline.delay else place[1],
            self._losing_capacity(place[1]) or 0,
            self._mark_after_failure(chain_name, place),
        )

    def _count_visit_by_draw(
        self, chain_name: str, place: Place, balking_probabilities: NDArray[np.float64]
    ) -> None:
        """Write the count of a visit of a customer that draws at random which queue is too long for
        it: n waiting customers, but not n - 1, with probability p(n) - p(n - 1).

        Parameters
        ----------
        chain_name, place : of the visit
        balking_probabilities : the probabilities p
        """
        station = self.model.stations[place[1]]
        capacity = self._losing_capacity(place[1]) or MOST_HOLDERS
        limit_probabilities = np.diff(balking_probabilities, prepend=0.0, append=1.0)
        customer_limits = [
            *range(station.servers, station.servers + len(balking_probabilities)),
            capacity,
        ]
        self.builder.admit_by_draw(
            service_label(place),
            place[1],
            [
                (float(limit_probability), min(customer_limit, capacity))
                for limit_probability, customer_limit in zip(
                    limit_probabilities, customer_limits, strict=True
                )
            ],
            self._mark_after_failure(chain_name, place),
        )

    def _write_visit(self, chain_name: str, place: Place) -> None:
        """Write the visit to a station; if the chain may lose customers, they are counted at a
        tally.
        """
        builder = self.builder
        breaker = self._breaker_and_open_time(place)
        retry_count, refused_mark = (
            self._retry_count(place),
            self._mark_after_loss(chain_name, place),
        )
        if retry_count:
            builder.admit(service_label(place))
            builder.set_tries(self._retry_register, retry_count)
            builder.mark(try_mark(place))
            refused_mark = failure_mark(place)
        if breaker:
            builder.consult(breaker[0], self._breaker_register, refused_mark)
        if not retry_count:
            self._count_visit(chain_name, place)
        elif capacity := self._losing_capacity(place[1]):
            builder.admit(try_mark(place), place[1], capacity, full_mark(place))
        self._limit_time_in_queue(place)
        self._write_service(place, service_label(place))
        if breaker:
            builder.record(breaker, self._breaker_register, has_failed=False)

    def _write_service(self, place: Place, label: str) -> None:
        """Write the service of a class at a station, with the label of its time in service."""
        class_name, station_name = place
        station = self.model.stations[station_name]
        service_time = self._service_time(place)
        if DISCIPLINES[station.discipline].delay:
            self.builder.delay(service_time, label)
            return
        weight = 1.0
        if class_name in station.weight:
            weight_column = self.columns[f"stations.{station_name}.weight.{class_name}"]
            weight = float(weight_column[0].real)
        self.builder.serve(
            station_name,
            service_time,
            label,
            wait=wait_label(place),
            rank=station.priority.get(class_name, 0),
            weight=weight,
        )


def without_lossy_arrivals(
    network_points: NetworkPoints, lossy_stations: Sequence[str]
) -> NetworkPoints:
    """Return a network without the arrivals of the classes that visit lossy stations: only the
    simulation tells how many customers such stations lose and pass on.
    """
    network = network_points.network
    is_visited = network.visits[:, :, np.isin(network.stations, lossy_stations)].real > 0
    remaining_arrivals = np.where(is_visited.any(axis=(0, 2)), 0.0, network.arrivals)
    return replace(network_points, network=replace(network, arrivals=remaining_arrivals))


def check_places_of_region(region_name: str, region: Region, planned_network: FlatNetwork) -> None:
    """Raise if a region with a queue before it has fewer places than its arrivals need on average.

    Classes whose customers may be lost and waits inside the region are not counted. So a region
    that passes this check may still be saturated, which the simulation then reports.
    """
    network = planned_network.network_points.network
    place_seconds = [
        network.demand[0, :, station_index].real
        * _least_places(network.rates[station_index], region.capacity)
        for station_index, station in enumerate(network.stations)
        if station in region.stations
    ]
    # Losses lower the load by an amount that only the run tells.
    is_never_lost = [
        chain_name not in planned_network.counting_places
        for chain_name in planned_network.network_layout.chains
    ]
    seconds_held = float((network.arrivals[0].real * sum(place_seconds))[is_never_lost].sum())
    if (load := seconds_held / region.capacity) >= 1:
        places_in_words = f"{region.capacity:,} place{'s' if region.capacity > 1 else ''}"
        reason = Saturated.with_advice(
            f"region {region_name} is saturated: without any wait, the customers that arrive in a"
            f" second hold its places for {seconds_held:.4g} s together, and it has"
            f" {places_in_words} (load {load:.3g}, the limit is 1)",
            "lower the arrivals, or give it more places",
        )
        raise NoAnswerError(reason)


def _least_places(rates: Array | None, most_customers: int) -> float:
    """Return the smallest number of customers present at a station per unit of its speed.

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
