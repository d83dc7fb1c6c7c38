"""A queueing network whose full stations block, at one point, as the plan that the simulator runs.

The places of a station that blocks are permits: a customer takes one on its way there and returns
it as it goes to another station. The servers of a station from which a customer may be blocked are
permits too, because the customer keeps its server until it has a place. What blocks after service
waits for the place; what is served again tests for it after each service, and needs no permit where
customers are served at once. Blocking before service is simulated where it is the same as service
again: at exponential services with one destination (Onvural, ACM Computing Surveys 22(2), 1990,
83-121, section 3). The second road of each kind is the Markov chain
(tests/method/networks/test_blocking.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slipstick.errors import ModelError, NoAnswerError
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.flatten import (
    FlatNetwork,
    again_label,
    check_places_of_region,
    end_mark,
    entrance_mark_at,
    entrance_of_network,
    loss_mark,
    out_mark,
    service_label,
    thinking_label,
    wait_label,
    without_lossy_arrivals,
)
from slipstick.method.networks.solvers import reasons_unsolvable
from slipstick.model.network import Chain, ClosedClass, OpenClass, Place
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.vocabulary import (
    AFTER_SERVICE,
    ARRIVAL,
    BEFORE_SERVICE,
    DISCIPLINES,
    LOSS,
    RANK,
    REPEAT,
    REVERSE,
)

_name_of_places = "places of {}".format
_onward_mark = "{0[0]} goes on from {0[1]}".format
_thinking_mark = "{} begins to think".format


class _Move(NamedTuple):
    """One way in which a customer can move on from a place: its target and its probability.

    Parameters
    ----------
    probability : of this way [1]
    target : the next place; None where the customer leaves, or thinks
    ends_cycle : a closed cycle ends on the way
    """

    probability: float
    target: Place | None
    ends_cycle: bool = False


class BlockedNetwork(FlatNetwork):
    """A network whose stations block customers, as a plan for the simulator.

    Raises
    ------
    ModelError : a station from which customers are blocked has no queue in the order of arrival or
        of ranks; blocking before service where a service is not exponential or has several
        destinations; or the stations have no place for the closed customers
    """

    def _add_stations(self) -> None:
        self._moves_by_place: dict[Place, list[_Move]] = {}
        self._entries_by_chain: dict[str, list[tuple[float, Place]]] = {}
        for chain_name, chain in self.network_layout.chains.items():
            self._record_moves(chain_name, chain)
        kinds_by_station = self._kinds_of_blocking()
        self.held_stations = frozenset(
            station_name
            for station_name, kinds in kinds_by_station.items()
            if kinds != {REPEAT} or not self._serves_at_once(station_name)
        )
        self._check_held_stations()
        self._check_places()
        self._check_entrances_of_regions()
        super()._add_stations()
        for station_name, station in self.model.stations.items():
            if station.blocking != LOSS and station.capacity is not None:
                self.builder.add_permits(_name_of_places(station_name), station.capacity, "station")

    def _kinds_of_blocking(self) -> dict[str, set[str]]:
        """Return the kinds of blocking by which customers may be blocked, for each station where
        they may be.
        """
        kinds_by_station: dict[str, set[str]] = {}
        for place, moves in self._moves_by_place.items():
            for move in moves:
                if move.target is not None and self._may_be_blocked(place, move):
                    kinds = kinds_by_station.setdefault(place[1], set())
                    kinds.add(self._blocking_at(move.target))
        return kinds_by_station

    def _serves_at_once(self, station_name: str) -> bool:
        """Return whether a customer that comes to a station is served at once, because servers are
        shared or arrivals interrupt the only server. A repeated service is then another visit.
        """
        station = self.model.stations[station_name]
        discipline = DISCIPLINES[station.discipline]
        # At several servers another visit would be the last to be interrupted, but service again
        # keeps the order: throughputs would differ by 1 to 3 % (test_blocking.py).
        is_interrupted = discipline.preemptive and discipline.order == REVERSE
        return discipline.at_once or (is_interrupted and station.servers == 1)

    def _add_station(self, station_name: str) -> None:
        if station_name not in self.held_stations:
            super()._add_station(station_name)
        elif not DISCIPLINES[self.model.stations[station_name].discipline].delay:
            servers = self.model.stations[station_name].servers
            self.builder.add_permits(station_name, servers, "station")

    def _record_moves(self, chain_name: str, chain: Chain) -> None:
        """Record where the customers of a chain begin, and how they move on from each place."""
        is_closed = isinstance(chain.members, ClosedClass)
        if chain_name in self.model.chains:
            self._entries_by_chain[chain_name] = [(1.0, chain.reference)]
            for place in self._places(chain):
                self._moves_by_place[place] = [
                    _Move(self._number_at(f"routing.{route_index}.probability"), route.target)
                    for route_index, route in enumerate(self.model.routing)
                    if route.source == place
                ]
        else:
            self._record_moves_in_order(chain_name, chain)
        if not is_closed:
            return
        has_think_time = self._has_think_time(chain_name)
        if not has_think_time:
            # A cycle that visits no station takes no time, and is none.
            entries = self._entries_by_chain[chain_name]
            total_probability = sum(probability for probability, _ in entries)
            self._entries_by_chain[chain_name] = [
                (probability / total_probability, place) for probability, place in entries
            ]
        first_places = [] if has_think_time else self._entries_by_chain[chain_name]
        end_of_cycle = chain.reference if chain_name in self.model.chains else None
        for place in self._places(chain):
            self._moves_by_place[place] = [
                closed_move
                for move in self._moves_by_place[place]
                for closed_move in _closed_moves(move, end_of_cycle, first_places)
            ]

    def _record_moves_in_order(self, chain_name: str, chain: Chain) -> None:
        """Record the moves of a class that visits the stations in the order written."""
        places = self._places(chain)
        self._entries_by_chain[chain_name] = [
            (move.probability, move.target)
            for move in self._first_visits(places)
            if move.target is not None
        ]
        for place_index, place in enumerate(places):
            repeat_probability = max(0.0, 1 - 1 / self.visits[place])
            self._moves_by_place[place] = [
                *([_Move(repeat_probability, place)] if repeat_probability else []),
                *(
                    move._replace(probability=(1 - repeat_probability) * move.probability)
                    for move in self._first_visits(places[place_index + 1 :])
                ),
            ]

    def _first_visits(self, places: Sequence[Place]) -> Iterator[_Move]:
        """Yield a move to each of some places that may be the first one visited, with its
        probability, and a move without a target for the case that none is visited.
        """
        remaining_probability = 1.0
        for place in places:
            if remaining_probability > 0:
                probability = min(self.visits[place], 1.0)
                yield _Move(remaining_probability * probability, place)
                remaining_probability *= 1 - probability
        if remaining_probability > 0:
            yield _Move(remaining_probability, None)

    def _has_think_time(self, chain_name: str) -> bool:
        """Return whether a chain has a think time."""
        chain_index = list(self.network_layout.chains).index(chain_name)
        return bool(self.network_points.network.think[0, chain_index].real > 0)

    def _blocking_at(self, place: Place) -> str:
        """Return the kind of blocking of customers on their way to a place that is full."""
        station = self.model.stations[place[1]]
        return LOSS if station.capacity is None else station.blocking

    def _may_be_blocked(self, place: Place, move: _Move) -> bool:
        """Return whether a customer that makes a move may be blocked on its way."""
        return (
            move.target is not None
            and move.target[1] != place[1]
            and self._blocking_at(move.target) != LOSS
        )

    def _check_held_stations(self) -> None:
        """Raise for a station whose customers may be blocked there in a way that the simulator has
        no rule for.
        """
        for place, moves in self._moves_by_place.items():
            if place[1] not in self.held_stations:
                continue
            station = self.model.stations[place[1]]
            if self._retry_count(place) or self._breaker_and_open_time(place) or station.balking:
                raise ModelError(
                    f"a simulation has no rule for retries, breakers and balking at {place[1]},"
                    " where customers are blocked by a station behind; leave one of them out"
                )
            discipline = DISCIPLINES[station.discipline]
            is_in_order = discipline.order in (ARRIVAL, RANK) and not discipline.preemptive
            if not discipline.delay and (not is_in_order or station.rates):
                way_out = "leave rates out" if is_in_order else "write discipline: fcfs"
                if self._serves_at_once(place[1]):
                    way_out = "let customers be blocked there by 'repeat' alone, or " + way_out
                raise ModelError(
                    f"a simulation has no rule for {place[1]}, where customers are blocked: it"
                    " holds up servers in the order of arrival or of ranks without rates, and"
                    f" infinite servers; {way_out} at {place[1]}"
                )
            stops_service = any(
                self._may_be_blocked(place, move)
                and move.target is not None
                and self._blocking_at(move.target) == BEFORE_SERVICE
                for move in moves
            )
            if stops_service and (len(moves) > 1 or not self._is_exponential(place)):
                raise ModelError(
                    f"a simulation has no rule for {place[0]} at {place[1]}, which is blocked"
                    " before its service, where that is not exponential or has several"
                    " destinations: use 'repeat' or 'after-service'"
                )

    def _is_exponential(self, place: Place) -> bool:
        """Return whether the service at a place is exponential."""
        service_time = self._service_time(place)
        return isinstance(service_time, ServiceTime) and service_time.kind == "exponential"

    def _check_places(self) -> None:
        """Raise if all stations of closed customers that do not think are limited, and have fewer
        places than there are customers.
        """
        network = self.network_points.network
        has_think_time = network.think[0].real > 0
        if not network.closed.all() or (has_think_time & (network.population[0] > 0)).any():
            return
        capacities = [
            self.model.stations[station_name].capacity
            for station_name in {station_name for _, station_name in self.visits}
        ]
        customer_count = int(network.population[0].sum())
        place_count = sum(capacity for capacity in capacities if capacity is not None)
        if None not in capacities and customer_count > place_count:
            raise ModelError(
                f"{customer_count:,} closed customers never find a place: the stations have"
                f" {place_count:,};"
                " raise a capacity"
            )

    def _check_entrances_of_regions(self) -> None:
        """Raise if customers enter a region at a station that blocks: outside they occupy no
        station in which they could be blocked.
        """
        regions_and_moves = [
            ("", _Move(probability, place))
            for entries in self._entries_by_chain.values()
            for probability, place in entries
        ]
        regions_and_moves += [
            (self.model.region_of(place[1]), move)
            for place, moves in self._moves_by_place.items()
            for move in moves
        ]
        for region_name, move in regions_and_moves:
            _, station_name = move.target or ("", "")
            entered_region = self.model.region_of(station_name)
            if (
                entered_region
                and self.model.stations[station_name].blocking != LOSS
                and not self._stays_inside(region_name, move)
            ):
                raise ModelError(
                    f"customers enter the region {entered_region} at {station_name}, which blocks"
                    " when it is full; let them enter at a station without blocking, or leave"
                    f" {station_name} out of the region"
                )

    def _may_lose(self, chain: Chain, place: Place) -> bool:
        """Return whether customers may be lost on their way to a place: where it does not block, or
        they come from outside.
        """
        if self._blocking_at(place) == LOSS or self._time_limit_in_queue(place):
            return super()._may_lose(chain, place)
        return isinstance(chain.members, OpenClass) and any(
            place in (target for _, target in entries)
            for entries in self._entries_by_chain.values()
        )

    def _write_cycle(self, chain_index: int, chain_name: str, chain: Chain) -> int:
        """Write the cycle of a chain: its start, then the visit and the moves of each place."""
        builder = self.builder
        first_instruction = builder.next_instruction
        is_closed = isinstance(chain.members, ClosedClass)
        has_think_time = is_closed and self._has_think_time(chain_name)
        if is_closed and not has_think_time:
            self._refuse_abandonment(chain_name, chain)
        if has_think_time:
            builder.mark(_thinking_mark(chain_name))
            self._write_think_time(chain_index, chain_name)
        entries = self._entries_by_chain[chain_name]
        passing_probability = 1 - sum(probability for probability, _ in entries)
        entrance_choices = [
            (probability, entrance_of_network(place)) for probability, place in entries
        ]
        # Probabilities that add up to 1 but for rounding leave no way past all stations.
        if passing_probability > 1e-12:
            entrance_choices.append((passing_probability, out_mark(chain_name)))
        builder.jump_at_random(entrance_choices, f"{chain_name} begins")
        for _, place in entries:
            self._write_entrance_from_outside(chain_name, chain, place, has_think_time)
        for place in self._places(chain):
            self._write_place(chain_name, place)
        for _, place in entries if is_closed and not has_think_time else ():
            builder.mark(end_mark(place))
            builder.finish(goes_onward=True)
            self._count_cycle(chain_name, end_mark(place))
            builder.jump(self._entrance_mark(place))
        builder.mark(out_mark(chain_name))
        builder.finish()
        return first_instruction

    def _refuse_abandonment(self, chain_name: str, chain: Chain) -> None:
        """Raise if closed customers that do not think abandon a queue: they begin again at a
        station that may be full.
        """
        for place in self._places(chain):
            if self._time_limit_in_queue(place):
                raise ModelError(
                    f"customers of {chain_name} that abandon {place[1]} begin their cycle anew,"
                    f" where they may be blocked; give {chain_name} a think time"
                )

    def _write_return_after_abandonment(self, place: Place) -> None:
        """Write the instructions by which a customer that abandons a queue returns its place."""
        if self._blocking_at(place) != LOSS:
            self.builder.return_permit(_name_of_places(place[1]))

    def _write_entrance_from_outside(
        self, chain_name: str, chain: Chain, place: Place, has_think_time: bool
    ) -> None:
        """Write the instructions by which customers come to a place from outside, after they
        thought, or at the start of a run.
        """
        builder = self.builder
        builder.mark(entrance_of_network(place))
        blocking = self._blocking_at(place)
        capacity = self.model.stations[place[1]].capacity or 0
        name_of_places = _name_of_places(place[1])
        if blocking != LOSS and isinstance(chain.members, OpenClass):
            self._count_cycle(
                chain_name,
                entrance_of_network(place),
                name_of_places,
                capacity,
                loss_mark(chain_name),
            )
        elif blocking not in (LOSS, AFTER_SERVICE) and has_think_time:
            # Who thinks is served there: a full station lets it think once more.
            self._count_cycle(
                chain_name,
                entrance_of_network(place),
                name_of_places,
                capacity,
                _thinking_mark(chain_name),
            )
        else:
            self._count_cycle(chain_name, entrance_of_network(place))
        if blocking != LOSS:
            label = thinking_label(chain_name) if has_think_time else wait_label(place)
            builder.take_permit(name_of_places, label)
        if has_think_time:
            builder.start_response()
        builder.jump(self._entrance_mark(place))

    def _entrance_mark(self, place: Place) -> str:
        """Return the mark at which a customer comes to a place from outside of its region."""
        region_name = self.model.region_of(place[1])
        return entrance_mark_at(place, region_name) if region_name else service_label(place)

    def _count_cycle(self, chain_name: str, tally: str, *limit_arguments: Any) -> None:
        """Count the beginning of a cycle at a tally; see `Builder.admit` for the limit."""
        self.entrance_tallies.setdefault(chain_name, []).append(tally)
        self.builder.admit(tally, *limit_arguments)

    def _count_visit(self, chain_name: str, place: Place) -> None:
        # Where destinations are drawn again, the numbers of visits follow from the run alone.
        if chain_name in self.counting_places:
            super()._count_visit(chain_name, place)
        else:
            self.builder.admit(service_label(place))

    def _write_place(self, chain_name: str, place: Place) -> None:
        """Write a visit to a place, and the moves from there."""
        builder = self.builder
        station_name = place[1]
        is_held = station_name in self.held_stations
        is_delay = DISCIPLINES[self.model.stations[station_name].discipline].delay
        if region_name := self.model.region_of(station_name):
            self._write_entrance(chain_name, place, region_name)
        builder.mark(service_label(place))
        if is_held and not is_delay:
            self._count_visit(chain_name, place)
            self._limit_time_in_queue(place)
            rank = self.model.stations[station_name].priority.get(place[0], 0)
            builder.take_permit(station_name, wait_label(place), rank)
        if is_held and not is_delay:
            builder.delay(self._service_time(place), service_label(place))
        else:
            self._write_visit(chain_name, place)
        builder.mark(_onward_mark(place))
        moves = self._moves_by_place[place]
        marks = [f"{service_label(place)}, way {index}" for index in range(len(moves))]
        builder.jump_at_random(
            [(move.probability, mark) for move, mark in zip(moves, marks, strict=True)],
            f"{service_label(place)} onward",
        )
        for move, mark in zip(moves, marks, strict=True):
            builder.mark(mark)
            self._write_move(place, move, mark, is_held and not is_delay)
            builder.jump(self._target_mark(chain_name, place, move))
        if any(self._may_be_blocked(place, move) for move in moves):
            builder.mark(again_label(place))
            if is_held:
                builder.delay(self._service_time(place), again_label(place))
            else:
                self._write_service(place, again_label(place))
            builder.jump(_onward_mark(place))

    def _write_move(self, place: Place, move: _Move, tally: str, holds_server: bool) -> None:
        """Write the instructions by which a customer that moves takes a place at the next station
        and returns the places that it holds at the present station.
        """
        builder = self.builder
        if self._may_be_blocked(place, move):
            assert move.target is not None
            name_of_places = _name_of_places(move.target[1])
            if self._blocking_at(move.target) != AFTER_SERVICE:
                capacity = self.model.stations[move.target[1]].capacity or 0
                builder.admit(tally, name_of_places, capacity, again_label(place))
            builder.take_permit(name_of_places, wait_label(place))
        if holds_server:
            builder.return_permit(place[1])
        if self._blocking_at(place) != LOSS and (move.target is None or move.target[1] != place[1]):
            builder.return_permit(_name_of_places(place[1]))
        if (region_name := self.model.region_of(place[1])) and not self._stays_inside(
            region_name, move
        ):
            builder.return_permit(region_name)

    def _stays_inside(self, region_name: str, move: _Move) -> bool:
        """Return whether a customer that makes a move stays in the region and in the same cycle."""
        return (
            move.target is not None
            and not move.ends_cycle
            and self.model.region_of(move.target[1]) == region_name
        )

    def _target_mark(self, chain_name: str, place: Place, move: _Move) -> str:
        """Return the mark at which a customer continues after a move."""
        if move.target is None:
            return out_mark(chain_name)
        if move.ends_cycle:
            return end_mark(move.target)
        region_name = self.model.region_of(place[1])
        stays_inside = region_name and self._stays_inside(region_name, move)
        return service_label(move.target) if stays_inside else self._entrance_mark(move.target)


def _closed_moves(
    move: _Move, end_of_cycle: Place | None, first_places: Sequence[tuple[float, Place]]
) -> Iterator[_Move]:
    """Replace a move that ends a cycle of a closed customer by moves to the first places of the
    next cycle or, if there is none, to thinking; yield any other move unchanged.

    Parameters
    ----------
    move : on from a place
    end_of_cycle : the target of moves that end a cycle
    first_places : of cycles that begin without thinking, with their probabilities
    """
    if move.target != end_of_cycle:
        yield move
    elif not first_places:
        yield _Move(move.probability, None, ends_cycle=True)
    for probability, place in first_places if move.target == end_of_cycle else ():
        yield _Move(move.probability * probability, place, ends_cycle=True)


def flat_network(network_layout: NetworkLayout, values: Mapping[str, float]) -> FlatNetwork:
    """Write a network at one point as a plan for the simulator.

    Raises
    ------
    ModelError, NoAnswerError : see `FlatNetwork` and `BlockedNetwork`; a station is saturated
    """
    columns = network_layout.columns(values)
    network_points = network_layout.network_points(columns)
    regions = network_layout.model.regions
    # Only the run finds how many customers come to these stations.
    stations_of_unknown_load = [
        station_name
        for region in regions.values()
        if region.loses_customers
        for station_name in region.stations
    ]
    stations_of_unknown_load += [
        route.target[1]
        for route in network_layout.model.routing
        if route.by and route.target is not None
    ]
    for guarded_stations in network_layout.model.breakers.values():
        stations_of_unknown_load += guarded_stations.stations
    if reason_by_point := reasons_unsolvable(
        without_lossy_arrivals(network_points, stations_of_unknown_load)
        if stations_of_unknown_load
        else network_points
    ):
        raise NoAnswerError(reason_by_point[0])
    network_class = BlockedNetwork if network_layout.model.blocks else FlatNetwork
    planned_network = network_class(network_layout, columns, network_points)
    for region_name, region in regions.items():
        if not region.loses_customers:
            check_places_of_region(region_name, region, planned_network)
    return planned_network
