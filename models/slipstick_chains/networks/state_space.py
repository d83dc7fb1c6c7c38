"""The state space of a queueing network: the columns of all stations, and the transitions between
states.

Numbers of classes are called r, as in `slipstick_chains.networks.build`.

Each station knows its own columns only: which customers are present, how they are served, how one
enters. `SharedServers` serves all customers present or those of the first ranks, `CountedQueue`
counts waiting customers apart from those in service, and `OrderedQueue` keeps the order of the
customers.

For each class that arrives in bursts the last columns say whether there is one, 1 or 0. With
blocking after service there are two more columns for each station: which station its customer waits
for, by number from 1, and how many others that one takes before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

from slipstick.errors import ModelError, NoAnswerError, Unsolvable
from slipstick.late import NDArray, dataclass, np
from slipstick.phases import (
    PhaseType,
)
from slipstick.queueing.markov_chain import Array, MarkovChain, Rows, Transitions, explore_rows
from slipstick.vocabulary import (
    AFTER_SERVICE,
    ARRIVAL,
    DISCIPLINES,
    LOSS,
    RANDOM,
    REVERSE,
    Discipline,
)

Destination = tuple[int, int, complex]
"""Class, station and probability of a destination."""

EVENT_KINDS = 4
COMPLETION, LOST, ABANDONMENT, LOST_OUTSIDE = range(EVENT_KINDS)
"""Kinds of events: the end of a service, a loss at a full station of a customer that was in the
network, a customer that abandons a queue, and the loss of one that arrives from outside.
"""


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The state space of a network: stations as columns of a state, and the moves of customers
    between them.

    Parameters
    ----------
    stations : one for each station of the network, and a last one for thinking
    names : of the network's stations
    destinations : for each class and station, where a customer goes after service; the rest of 1
        leaves the network
    arrivals : for each open class its rate [1/s] and where it enters
    bursts : for each open class that arrives in bursts, its rates; see `NetworkArrays.bursts`
    batch : customers of each class that arrive together
    restart : for each closed class, where a lost customer begins its next cycle
    abandonment : rate at which each waiting customer of a class abandons the queue of a station,
        for those that do [1/s]
    capacity : most customers present at each station, or None
    balking : by class and station, the servers, and the probability that a customer leaves at once
        if 0, 1, 2 ... others wait
    blocking : for each station, what becomes of a customer on the way there when it is full: see
        `solve_markov_chain`
    truncation : most customers of open classes in all; None if capacities limit them
    open_classes : which classes are open [classes]
    start : the initial state, with the closed classes placed one after the other [columns]
    interleaved : a state with the same numbers at the stations, but the classes in turn [columns]
    """

    stations: Sequence[StationState]
    names: Sequence[str]
    destinations: Mapping[tuple[int, int], Sequence[Destination]]
    arrivals: Mapping[int, tuple[complex, Sequence[Destination]]]
    bursts: Mapping[int, Array]
    batch: Sequence[int]
    restart: Mapping[int, Sequence[Destination]]
    abandonment: Mapping[tuple[int, int], complex]
    capacity: Sequence[int | None]
    balking: Mapping[tuple[int, int], tuple[int, Array]]
    blocking: Sequence[str]
    truncation: int | None
    open_classes: NDArray[np.bool_]
    start: Array
    interleaved: Array

    def chain(self, state_limit: float, describe_size: Callable[[], str]) -> MarkovChain:
        """Explore all states that are reachable, and return the chain; see `explore_rows`."""
        return explore_rows(
            self.start[None, :],
            self.transitions,
            state_limit=state_limit,
            reachable_states=self._states_after_arrivals(),
            describe_size=describe_size,
        )

    def _states_after_arrivals(self) -> Rows:
        """Return states that arrivals alone lead to, so that exploration starts from all of them:
        otherwise a long queue is explored one customer at a time.
        """
        start_row = self.start[None, :]
        entries = (
            (class_index, station_index)
            for class_index, (_, destinations) in self.arrivals.items()
            for _, station_index, probability in destinations
            if complex(probability).real
        )
        first_entry = next(entries, None)
        if first_entry is None or not self.truncation:
            return start_row[:0]
        class_index, entry_station = first_entry
        if first_entry in self.balking:
            return start_row[:0]
        station_state = self.stations[entry_station]
        columns = self.columns(entry_station)
        capacity = self.capacity[entry_station]
        start_length = int(station_state.length(start_row[:, columns])[0])
        arrival_count = (
            self.truncation
            if capacity is None
            else max(0, min(self.truncation, capacity - start_length))
        )
        rows = np.repeat(start_row, arrival_count, axis=0)
        return self._with_station_rows(
            rows,
            entry_station,
            station_state.rows_after_arrivals(start_row[:, columns], class_index, arrival_count),
        )

    def _is_full(self, rows: Rows, station: int) -> NDArray[np.bool_]:
        """Return in which states a station is full [rows]."""
        capacity = self.capacity[station]
        if capacity is None:
            return np.zeros(len(rows), dtype=bool)
        customer_counts = self.stations[station].length(rows[:, self.columns(station)])
        is_full: NDArray[np.bool_] = customer_counts >= capacity
        return is_full

    def _refused_share(self, rows: Rows, class_index: int, station: int) -> Array:
        """Return which part of the customers that come to a station in each state find it full, or
        balk [1] [rows].
        """
        is_full = self._is_full(rows, station)
        if (class_index, station) not in self.balking:
            return is_full
        servers, balking_by_length = self.balking[class_index, station]
        waiting_count = self.stations[station].length(rows[:, self.columns(station)]) - servers
        length_index = np.clip(waiting_count, 0, len(balking_by_length) - 1)
        return np.where(
            is_full, 1.0, np.where(waiting_count >= 0, balking_by_length[length_index], 0.0)
        )

    def event_number_of(self, event_kind: int, class_index: int, station: int) -> int:
        """Return the number of the event of a kind, such as `COMPLETION`, for a class at a
        station.
        """
        return (event_kind * len(self.stations) + station) * len(self.open_classes) + class_index

    @property
    def event_count(self) -> int:
        """The number of events that are distinguished: one for each kind, station and class."""
        return EVENT_KINDS * len(self.stations) * len(self.open_classes)

    def columns(self, station: int) -> slice:
        """Return the slice of the columns that belong to a station."""
        start_column = sum(station_state.width for station_state in self.stations[:station])
        return slice(start_column, start_column + self.stations[station].width)

    def present(self, rows: Rows) -> Array:
        """Return the number present in each state [rows, classes, stations]. A station that draws
        the class of a customer only when its service begins gives the expected number.
        """
        present_by_station = [
            station.present(rows[:, self.columns(station_index)])
            for station_index, station in enumerate(self.stations)
        ]
        return np.stack(present_by_station, axis=2)

    def customers(
        self, rows: Rows, station_index: int, is_absence: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Return the number of customers present at a station in each state [rows].

        Parameters
        ----------
        rows : the states
        station_index : of the station
        is_absence : which classes are servers that are away (R,); None where none is
        """
        station, station_rows = self.stations[station_index], rows[:, self.columns(station_index)]
        lengths: NDArray[np.int64] = station.length(station_rows)
        if is_absence is None:
            return lengths
        # Classes with a rank are never drawn, so that their numbers are whole.
        absent_count = station.present(station_rows)[:, is_absence].sum(axis=1)
        customer_counts: NDArray[np.int64] = lengths - np.rint(absent_count.real).astype(np.int64)
        return customer_counts

    def open_customers(self, rows: Rows) -> NDArray[np.int64]:
        """Return the number of customers of open classes in each state [rows]."""
        customer_counts = self.present(rows)[:, self.open_classes].sum(axis=(1, 2))
        open_count: NDArray[np.int64] = np.rint(customer_counts.real).astype(np.int64)
        return open_count

    def orders_vary(self, chain: MarkovChain) -> bool:
        """Return whether classes can overtake each other, where a station keeps the order of its
        customers.
        """
        if not any(isinstance(station, OrderedQueue) for station in self.stations):
            return True
        return bool((np.asarray(chain.states) == self.interleaved).all(axis=1).any())

    def transitions(self, rows: Rows) -> Iterator[Transitions]:
        """Yield all transitions out of a block of states."""
        yield from self._arrival_transitions(rows)
        for (class_index, station), abandonment_rate in self.abandonment.items():
            for origin_indices, station_rows, waiting_counts in self.stations[station].abandon(
                rows[:, self.columns(station)], class_index
            ):
                rows_after_departure = self._with_station_rows(
                    rows[origin_indices], station, station_rows
                )
                event_number = self.event_number_of(ABANDONMENT, class_index, station)
                for next_class, next_station, probability in (
                    () if self.open_classes[class_index] else self.restart[class_index]
                ):
                    yield from self._transitions_to(
                        rows,
                        origin_indices,
                        rows_after_departure,
                        abandonment_rate * waiting_counts * probability,
                        (next_class, next_station),
                        event_number,
                    )
                if self.open_classes[class_index]:
                    yield (
                        origin_indices,
                        rows_after_departure,
                        abandonment_rate * waiting_counts,
                        event_number,
                    )
        for station, station_state in enumerate(self.stations):
            for origin_indices, station_rows, rate, class_index in station_state.serve(
                rows[:, self.columns(station)]
            ):
                if self.blocks_servers:
                    unblocked_indices = np.flatnonzero(self.serving(rows[origin_indices], station))
                    origin_indices = origin_indices[unblocked_indices]
                    station_rows = station_rows[unblocked_indices]
                    rate = rate[unblocked_indices]
                rows_after_departure = self._with_station_rows(
                    rows[origin_indices], station, station_rows
                )
                # The end of a phase within a service is no event that is counted.
                if class_index < 0:
                    yield origin_indices, rows_after_departure, rate, -1
                else:
                    yield from self._departure_transitions(
                        rows, origin_indices, rows_after_departure, rate, class_index, station
                    )

    def _arrival_transitions(self, rows: Rows) -> Iterator[Transitions]:
        """Yield the transitions in which customers arrive from outside, or bursts begin and end."""
        if not self.arrivals:
            return
        origin_indices = np.arange(len(rows))
        for class_index, (_, _, burst_begin_rate, burst_end_rate) in self.bursts.items():
            is_in_burst = rows[:, self._burst_column(class_index)]
            # Transitions of other kinds leave from the same rows.
            rows_after = rows.copy()
            rows_after[:, self._burst_column(class_index)] = 1 - is_in_burst
            yield (
                origin_indices,
                rows_after,
                np.where(is_in_burst == 0, burst_begin_rate, burst_end_rate),
                -1,
            )
        open_count = None if self.truncation is None else self.open_customers(rows)
        for class_index, (rate, destinations) in self.arrivals.items():
            # At the truncation nothing more arrives.
            if open_count is not None and self.truncation is not None:
                origin_indices = np.flatnonzero(
                    open_count <= self.truncation - self.batch[class_index]
                )
            rates: Array = np.full(len(origin_indices), rate / self.batch[class_index])
            if class_index in self.bursts:
                quiet_rate, burst_rate, *_ = self.bursts[class_index]
                rates = np.where(
                    rows[origin_indices, self._burst_column(class_index)] == 0,
                    quiet_rate,
                    burst_rate,
                )
            arriving_origin_indices = origin_indices[rates != 0]
            rates = rates[rates != 0]
            if self.batch[class_index] > 1 and len(arriving_origin_indices):
                yield self._batch_arrivals(
                    rows, arriving_origin_indices, rates, class_index, destinations
                )
            for _, entry_station, probability in (
                destinations if self.batch[class_index] == 1 else ()
            ):
                yield from self._transitions_to(
                    rows,
                    arriving_origin_indices,
                    rows[arriving_origin_indices],
                    rates * probability,
                    (class_index, entry_station),
                    -1,
                )

    def _batch_arrivals(
        self,
        rows: Rows,
        origin_indices: NDArray[np.int64],
        rates: Array,
        class_index: int,
        destinations: Sequence[Destination],
    ) -> Transitions:
        """Return the transitions by an arriving batch: each of its customers chooses a station
        independently, or leaves at once with the remaining probability.
        """
        states = rows[origin_indices]
        leaving_share = missing_probability(sum(probability for _, _, probability in destinations))
        for _ in range(self.batch[class_index]):
            transition_groups = (
                [(origin_indices, states, rates * leaving_share)] if leaving_share != 0 else []
            )
            for _, entry_station, probability in destinations:
                for entry_indices, station_rows, phase_probability in self.stations[
                    entry_station
                ].enter(states[:, self.columns(entry_station)], class_index):
                    states_after = self._with_station_rows(
                        states[entry_indices], entry_station, station_rows
                    )
                    transition_groups.append(
                        (
                            origin_indices[entry_indices],
                            states_after,
                            rates[entry_indices] * phase_probability * probability,
                        )
                    )
            origin_indices, states, rates = (
                np.concatenate(group_arrays)
                for group_arrays in zip(*transition_groups, strict=True)
            )
            if len(transition_groups) > 1:
                # The order in which customers of a batch come changes nothing: equal states are
                # one.
                state_keys = np.column_stack([origin_indices, states])
                _, first_indices, group_of_row = np.unique(
                    state_keys, axis=0, return_index=True, return_inverse=True
                )
                rate_sums = np.zeros(len(first_indices), rates.dtype)
                # Not `rate_sums[...] += rates`, which adds a repeated index only once.
                np.add.at(rate_sums, group_of_row.ravel(), rates)
                origin_indices = origin_indices[first_indices]
                states = states[first_indices]
                rates = rate_sums
        return origin_indices, states, rates, -1

    def _burst_column(self, class_index: int) -> int:
        """Return the index of the column that is 1 while a class is in a burst, else 0."""
        return list(self.bursts).index(class_index) - len(self.bursts)

    def _departure_transitions(
        self,
        rows: Rows,
        origin_states: NDArray[np.int64],
        rows_after_departure: Rows,
        rate: Array,
        class_index: int,
        station: int,
    ) -> Iterator[Transitions]:
        """Yield the transitions in which a customer of a class leaves a station, for its next
        station or the outside.
        """
        event_number = self.event_number_of(COMPLETION, class_index, station)
        # No customer of a closed class leaves: a slope of routes alone, which need not add up, has
        # none do so either.
        leaving_share = (
            missing_probability(
                sum(probability for _, _, probability in self.destinations[class_index, station])
            )
            if self.open_classes[class_index]
            else 0
        )
        for next_class, next_station, probability in self.destinations[class_index, station]:
            yield from self._transitions_to(
                rows,
                origin_states,
                rows_after_departure,
                rate * probability,
                (next_class, next_station),
                event_number,
                station,
            )
        if leaving_share != 0:
            yield (
                origin_states,
                self._rows_after_release(rows_after_departure, station),
                rate * leaving_share,
                event_number,
            )

    def _transitions_to(
        self,
        rows: Rows,
        origin_indices: NDArray[np.int64],
        rows_after_departure: Rows,
        rates: Array,
        class_and_station: tuple[int, int],
        event_number: int,
        source_station: int | None = None,
    ) -> Iterator[Transitions]:
        """Yield the transitions in which customers move to a station: from the states
        `rows[origin_indices]`, through `rows_after_departure`, in which the customers have left.

        Without a source customers come from outside or begin their next cycle, and are lost where
        the station is full.
        """
        class_index, station = class_and_station
        refused_share = self._refused_share(rows_after_departure, class_index, station)
        accepted_indices = np.flatnonzero(refused_share != 1)
        refused_indices = np.flatnonzero(refused_share)
        rates, refused_rate = rates * (1 - refused_share), rates * refused_share
        if len(accepted_indices):
            for entry_indices, station_rows, probability in self.stations[station].enter(
                rows_after_departure[accepted_indices][:, self.columns(station)], class_index
            ):
                entered_indices = accepted_indices[entry_indices]
                rows_after_entry = self._with_station_rows(
                    rows_after_departure[entered_indices], station, station_rows
                )
                if source_station not in (None, station):
                    rows_after_entry = self._rows_after_release(rows_after_entry, source_station)
                yield (
                    origin_indices[entered_indices],
                    rows_after_entry,
                    rates[entered_indices] * probability,
                    event_number,
                )
        if len(refused_indices):
            yield from self._transitions_of_refused(
                rows,
                origin_indices[refused_indices],
                rows_after_departure[refused_indices],
                refused_rate[refused_indices],
                class_and_station,
                event_number,
                source_station,
            )

    def _transitions_of_refused(
        self,
        rows: Rows,
        origin_indices: NDArray[np.int64],
        rows_after_departure: Rows,
        rates: Array,
        class_and_station: tuple[int, int],
        event_number: int,
        source_station: int | None,
    ) -> Iterator[Transitions]:
        """Yield the transitions in which customers find a station full, or balk: they stay at the
        server of their source, or are lost; see `_transitions_to`.
        """
        class_index, station = class_and_station
        blocking = LOSS if source_station is None else self.blocking[station]
        if source_station is not None and blocking == AFTER_SERVICE:
            yield (
                origin_indices,
                self._rows_after_blocking(rows[origin_indices], source_station, station),
                rates,
                event_number,
            )
        elif blocking == LOSS:
            # The loss and the move that follows it are separate transitions, so that each event is
            # counted once. Only arrivals from outside are no event themselves.
            loss_event_number = self.event_number_of(
                LOST if event_number >= 0 else LOST_OUTSIDE, class_index, station
            )
            yield origin_indices, rows[origin_indices], rates, loss_event_number
            if self.open_classes[class_index]:
                yield origin_indices, rows_after_departure, rates, event_number
                return
            for next_class, restart_station, restart_probability in self.restart[class_index]:
                yield from self._transitions_to(
                    rows,
                    origin_indices,
                    rows_after_departure,
                    rates * restart_probability,
                    (next_class, restart_station),
                    event_number,
                )

    @property
    def blocks_servers(self) -> bool:
        """Whether a customer that finds the next station full keeps its server."""
        return AFTER_SERVICE in self.blocking

    def serving(self, rows: Rows, station: int) -> NDArray[np.bool_]:
        """Return the states in which no customer that is blocked after its service keeps the server
        of a station [rows].
        """
        if not self.blocks_servers or station >= len(self.names):
            return np.ones(len(rows), dtype=bool)
        is_serving: NDArray[np.bool_] = rows[:, self.columns(-1).stop + station] == 0
        return is_serving

    def _rows_after_blocking(self, rows: Rows, station: int, full_station: int) -> Rows:
        """Return the states after a customer is blocked at its server until another station has a
        place for it.
        """
        first_column = self.columns(-1).stop
        station_count = len(self.names)
        blocker_plus_one = rows[:, first_column : first_column + station_count]
        last_blocker = np.full(len(rows), full_station)
        while (next_blocker := blocker_plus_one[np.arange(len(rows)), last_blocker]).any():
            last_blocker = np.where(next_blocker > 0, next_blocker - 1, last_blocker)
            if (last_blocker == station).any():
                reason = Unsolvable.with_advice(
                    f"stations can block each other in a deadlock: {self.names[station]} waits for"
                    f" {self.names[full_station]}, which waits for it",
                    "on each circle of stations, give at least one a capacity above the population",
                )
                raise NoAnswerError(reason)
        rows_after = rows.copy()
        rows_after[:, first_column + station] = full_station + 1
        rows_after[:, first_column + station_count + station] = (
            blocker_plus_one == full_station + 1
        ).sum(axis=1)
        return rows_after

    def _rows_after_release(self, rows: Rows, station: int) -> Rows:
        """Return the states after a place becomes free: the first customer that waits for it takes
        it, another customer takes the place that this one leaves, and so on.

        All customers are of one class in one phase, so that each station has one column for them.
        """
        if not self.blocks_servers:
            return rows
        rows = rows.copy()
        first_column = self.columns(-1).stop
        station_count = len(self.names)
        first_of_station = np.array(
            [self.columns(station_index).start for station_index in range(station_count)]
        )
        active_indices = np.arange(len(rows))
        free_station = np.full(len(rows), station)
        while True:
            blocker_plus_one, blocking_order = np.split(
                rows[active_indices, first_column : first_column + 2 * station_count], 2, axis=1
            )
            waits_for_free = blocker_plus_one == free_station[:, None] + 1
            first_waiting = waits_for_free & (blocking_order == 0)
            waiting_indices = np.flatnonzero(first_waiting.any(axis=1))
            if not len(waiting_indices):
                return rows
            active_indices = active_indices[waiting_indices]
            free_station = free_station[waiting_indices]
            released_station = first_waiting[waiting_indices].argmax(axis=1)
            rows[active_indices, first_of_station[free_station]] += 1
            rows[active_indices, first_of_station[released_station]] -= 1
            rows[
                active_indices, first_column + station_count : first_column + 2 * station_count
            ] -= waits_for_free[waiting_indices] & ~first_waiting[waiting_indices]
            rows[active_indices, first_column + released_station] = 0
            free_station = released_station

    def _with_station_rows(self, rows: Rows, station: int, station_rows: Rows) -> Rows:
        """Return the rows with the columns of one station replaced by `station_rows`."""
        new_rows = rows.copy()
        new_rows[:, self.columns(station)] = station_rows
        return new_rows


def initial_state(
    space: StateSpace, customer_classes: Sequence[int], first_stations: Mapping[int, Sequence[int]]
) -> Array:
    """Return a state in which all customers of the closed classes are placed at their first
    stations.

    Parameters
    ----------
    space : the state space; its start is the empty state
    customer_classes : the class of each customer, in the order in which they are placed
    first_stations : stations where each closed class may be, those to be filled first at the front

    Raises
    ------
    ModelError : the capacities are too small
    """
    state_row = space.start[None, :].copy()
    for class_index in customer_classes:
        station = _station_with_room(space, state_row, first_stations[class_index])
        if station is None:
            raise ModelError(
                f"the stations have no place for {len(customer_classes)} customers; raise a"
                " capacity"
            )
        _, station_rows, _ = next(
            space.stations[station].enter(state_row[:, space.columns(station)], class_index)
        )
        state_row[:, space.columns(station)] = station_rows
    state: Array = state_row[0]
    return state


def _station_with_room(space: StateSpace, state_row: Rows, stations: Sequence[int]) -> int | None:
    """Return the first of some stations that is not full in a state; None if all are."""
    for station in stations:
        capacity = space.capacity[station]
        if (
            capacity is None
            or space.stations[station].length(state_row[:, space.columns(station)])[0] < capacity
        ):
            return station
    return None


Completions = tuple[NDArray[np.int64], Rows, Array, int]
"""Indices of the rows that change, the rows afterwards, the rates [1/s], and the class whose
service ended, or -1 for the end of a phase.
"""

Entries = tuple[NDArray[np.int64], Rows, Array]
"""Indices of the rows that change, the rows afterwards, and the probability of each [1]."""


class StationState(ABC):
    """A station as a part of the state of a network: a number of columns, and how they change.

    Parameters
    ----------
    service_time_by_class : of each class that visits the station
    class_count : number of classes in all
    speed_by_number : work done a second with 0, 1, 2, ... present, the last holds for more; None if
        a server is always free [1] [present]
    """

    width: int

    def __init__(
        self,
        service_time_by_class: Mapping[int, PhaseType],
        class_count: int,
        speed_by_number: Array | None,
    ) -> None:
        self.service_time_by_class = dict(service_time_by_class)
        self.class_count = class_count
        self.speed_by_number = speed_by_number

    def total_speed(self, customer_counts: NDArray[np.int64]) -> Array:
        """Return the work done in a second at given numbers present [1] [rows]."""
        if self.speed_by_number is None:
            return customer_counts.astype(float)
        total_speed: Array = self.speed_by_number[
            np.minimum(customer_counts, len(self.speed_by_number) - 1)
        ]
        return total_speed

    def length(self, rows: Rows) -> NDArray[np.int64]:
        """Count the customers present [rows]."""
        customer_counts: NDArray[np.int64] = rows.sum(axis=1, dtype=np.int64)
        return customer_counts

    @abstractmethod
    def present(self, rows: Rows) -> Array:
        """Count the customers present by class [rows, classes]. Where the class of a customer is
        drawn only when its service begins, return the expected number.
        """

    @abstractmethod
    def work(self, rows: Rows) -> Array:
        """Return the work that each class gets done in a second [1] [rows, classes]."""

    @abstractmethod
    def enter(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        """Yield the rows after a customer of a class has entered."""

    def rows_after_arrivals(self, row: Rows, class_index: int, arrival_count: int) -> Rows:
        """Return the states that 1, 2, ... `arrival_count` arrivals of a class lead to, each in its
        first phase [count, columns].
        """
        rows = [row]
        for _ in range(arrival_count):
            rows.append(next(self.enter(rows[-1], class_index))[1])
        return np.concatenate(rows)[1:]

    @abstractmethod
    def serve(self, rows: Rows) -> Iterator[Completions]:
        """Yield the phases and services that may end next, each with the rows after it."""

    def abandon(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        """Yield the rows after a waiting customer of a class has abandoned the queue. Each
        comes with the number of customers whose leaving leads to this row. Disciplines that
        interrupt services are refused earlier.
        """
        raise AssertionError(type(self).__name__)


def rows_with_increments(rows: Rows, *increments: tuple[int, int]) -> Rows:
    """Return a copy of rows with numbers added to some columns, given as pairs of a column and a
    number.
    """
    new_rows = rows.copy()
    for column, increment in increments:
        new_rows[:, column] += increment
    return new_rows


class ServedByPhase(StationState):
    """State of a station by columns of waiting customers, then a column for each class and phase of
    the customers in service.

    Parameters
    ----------
    service_time_by_class, class_count, speed_by_number : see `StationState`
    waiting_columns : number of the columns of waiting customers
    """

    def __init__(
        self,
        service_time_by_class: Mapping[int, PhaseType],
        class_count: int,
        speed_by_number: Array | None,
        waiting_columns: int = 0,
    ) -> None:
        super().__init__(service_time_by_class, class_count, speed_by_number)
        self.class_phases = [
            (class_index, phase)
            for class_index, service_time in self.service_time_by_class.items()
            for phase in range(service_time.phases)
        ]
        self.first_service_column = waiting_columns
        self.column_by_class_and_phase = {
            class_phase: waiting_columns + index
            for index, class_phase in enumerate(self.class_phases)
        }
        self.width = waiting_columns + len(self.class_phases)

    def present(self, rows: Rows) -> Array:
        return self._sum_by_class(rows[:, self.first_service_column :])

    def work(self, rows: Rows) -> Array:
        return self._sum_by_class(self._work_by_column(rows))

    def _work_by_column(self, rows: Rows) -> Array:
        """Return the work done in a second in each column of customers in service [1] [rows,
        columns].
        """
        served_counts: Array = rows[:, self.first_service_column :]
        return served_counts

    def _sum_by_class(self, service_columns: Array) -> Array:
        """Add the columns of customers in service up by class [rows, classes]."""
        sum_by_class = np.zeros(
            (len(service_columns), self.class_count), np.result_type(service_columns, np.int64)
        )
        for column, (class_index, _) in enumerate(self.class_phases):
            sum_by_class[:, class_index] += service_columns[:, column]
        return sum_by_class

    def enter(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        yield from self._begin_service(rows, np.arange(len(rows)), class_index)

    def rows_after_arrivals(self, row: Rows, class_index: int, arrival_count: int) -> Rows:
        """Return the states after 1, 2, ... arrivals of a class, all served in their first phase
        [count, columns].
        """
        # One by one, the states of long queues take most of the time of a small chain.
        rows = np.repeat(row, arrival_count, axis=0)
        rows[:, self._first_phase_column(class_index)] += np.arange(
            1, arrival_count + 1, dtype=rows.dtype
        )
        return rows

    def _first_phase_column(self, class_index: int) -> int:
        """Return the column of the first phase in which a service of a class may begin."""
        return self.column_by_class_and_phase[
            class_index, int(np.flatnonzero(self.service_time_by_class[class_index].start)[0])
        ]

    def _begin_service(
        self, rows: Rows, origin_indices: NDArray[np.int64], class_index: int
    ) -> Iterator[Entries]:
        """Yield the rows after a customer of a class begins its service, for each phase that it may
        begin in.
        """
        for phase, probability in enumerate(self.service_time_by_class[class_index].start):
            if probability != 0 and len(origin_indices):
                rows_after = rows_with_increments(
                    rows[origin_indices], (self.column_by_class_and_phase[class_index, phase], 1)
                )
                yield origin_indices, rows_after, np.full(len(origin_indices), probability)

    def serve(self, rows: Rows) -> Iterator[Completions]:
        """Yield the rows after a phase of a service ends: with another phase, or with the departure
        of a customer.
        """
        work_by_column = self._work_by_column(rows)
        for cell_index, (class_index, phase) in enumerate(self.class_phases):
            origin_indices = np.flatnonzero(work_by_column[:, cell_index])
            column = self.first_service_column + cell_index
            rate = (
                work_by_column[origin_indices, cell_index]
                * self.service_time_by_class[class_index].rates[phase]
            )
            for next_phase, probability in enumerate(
                self.service_time_by_class[class_index].onward[phase]
            ):
                if probability != 0:
                    rows_after = rows_with_increments(
                        rows[origin_indices],
                        (column, -1),
                        (self.column_by_class_and_phase[class_index, next_phase], 1),
                    )
                    yield origin_indices, rows_after, rate * probability, -1
            exit_probability = self.service_time_by_class[class_index].exits[phase]
            if exit_probability != 0:
                for service_indices, rows_after, probability in self._next_service(
                    rows_with_increments(rows[origin_indices], (column, -1))
                ):
                    yield (
                        origin_indices[service_indices],
                        rows_after,
                        rate[service_indices] * exit_probability * probability,
                        class_index,
                    )

    def _next_service(self, rows: Rows) -> Iterator[Entries]:
        """Yield the states (rows) that follow when the next waiting customer begins service; the
        states unchanged if none waits.
        """
        yield from _rows_unchanged(rows, np.arange(len(rows)))


def _rows_unchanged(rows: Rows, origin_indices: NDArray[np.int64]) -> Iterator[Entries]:
    """Yield the rows unchanged, with probability 1."""
    if len(origin_indices):
        yield origin_indices, rows[origin_indices], np.ones(len(origin_indices))


class SharedServers(ServedByPhase):
    """State of a station that serves all its customers at once. Each class and phase has a column
    with its number of customers. They share the speed equally, by weights, or in the order of
    ranks.

    Parameters
    ----------
    service_time_by_class, class_count, speed_by_number : see `StationState`
    rank_by_class : rank of each class, all different, the lowest served first with preemption; None
        where all share
    weight_by_class : of each class; None where all share alike [1]
    server_count : of which a customer uses one at most, where weights hold; None with rates [1]
    """

    def __init__(
        self,
        service_time_by_class: Mapping[int, PhaseType],
        class_count: int,
        speed_by_number: Array | None,
        rank_by_class: Mapping[int, int] | None = None,
        weight_by_class: Mapping[int, complex] | None = None,
        server_count: int | None = None,
    ) -> None:
        super().__init__(service_time_by_class, class_count, speed_by_number)
        self.rank_by_class = rank_by_class
        self.weight_by_class = weight_by_class
        self.server_count = server_count

    def _work_by_column(self, rows: Rows) -> Array:
        """Return the work done in a second in each column: shared equally, by weights, or by ranks
        [1] [rows, columns].
        """
        customer_counts = rows.sum(axis=1, dtype=np.int64)
        if self.weight_by_class is not None:
            weights = np.array(
                [self.weight_by_class[class_index] for class_index, _ in self.class_phases]
            )
            if self.server_count is not None and self.server_count > 1:
                from slipstick_chains.weighted_sharing import weighted_speeds

                speeds = weighted_speeds(weights[:, None], rows.T.astype(float), self.server_count)
                return np.asarray(rows * speeds.T)
            weight_by_column: Array = rows * weights
            weight_sum = np.where(customer_counts == 0, 1.0, weight_by_column.sum(axis=1))
            return (self.total_speed(customer_counts) / weight_sum)[:, None] * weight_by_column
        if self.rank_by_class is None:
            equal_work_by_column: Array = (
                self.total_speed(customer_counts) / np.maximum(customer_counts, 1)
            )[:, None] * rows
            return equal_work_by_column
        work_by_column = np.zeros(rows.shape, dtype=self.total_speed(customer_counts).dtype)
        customers_of_earlier_ranks = np.zeros(len(rows), dtype=np.int64)
        rank_by_column = [self.rank_by_class[class_index] for class_index, _ in self.class_phases]
        for column in sorted(range(self.width), key=rank_by_column.__getitem__):
            customers_up_to_rank = customers_of_earlier_ranks + rows[:, column]
            # A rank gets the speed of all customers up to it, less that of the ranks before it.
            work_by_column[:, column] = self.total_speed(customers_up_to_rank) - self.total_speed(
                customers_of_earlier_ranks
            )
            customers_of_earlier_ranks = customers_up_to_rank
        return work_by_column


class CountedQueue(ServedByPhase):
    """State of a station by the number of waiting customers of each class, then of customers in
    service of each class and phase.

    Holds where the order of arrival within a class changes no count. The lowest rank is served
    next, if all differ; or any of those that wait, at random; or with `share_by_class` a class
    drawn when its service begins: then one column holds all waiting customers. That last holds
    where every class arrives from outside at a constant rate and the next customer is taken without
    regard to its class, so that the classes of waiting customers are independent draws.

    Parameters
    ----------
    service_time_by_class, class_count : see `StationState`
    server_count : number of servers, each of speed 1
    rank_by_class : rank of each class, all different; None for a random order
    share_by_class : probability that a waiting customer is of each class [1]
    """

    def __init__(
        self,
        service_time_by_class: Mapping[int, PhaseType],
        class_count: int,
        server_count: int,
        rank_by_class: Mapping[int, int] | None = None,
        share_by_class: Mapping[int, complex] | None = None,
    ) -> None:
        super().__init__(
            service_time_by_class,
            class_count,
            np.arange(server_count + 1.0),
            len(service_time_by_class) if share_by_class is None else 1,
        )
        self.server_count = server_count
        self.is_ranked = rank_by_class is not None
        self.share_by_class = share_by_class
        self.class_order = sorted(
            self.service_time_by_class,
            key=lambda class_index: rank_by_class[class_index] if rank_by_class else 0,
        )
        self.waiting_column_by_class = {
            class_index: column if share_by_class is None else 0
            for column, class_index in enumerate(self.class_order)
        }

    def present(self, rows: Rows) -> Array:
        """Count the customers present by class; where the class of waiting customers is drawn
        later, return the expected number [rows, classes].
        """
        present_by_class = super().present(rows)
        if self.share_by_class is not None:
            share_by_class = np.array(
                [
                    self.share_by_class.get(class_index, 0.0)
                    for class_index in range(self.class_count)
                ]
            )
            return np.asarray(present_by_class + rows[:, :1] * share_by_class)
        for class_index, column in self.waiting_column_by_class.items():
            present_by_class[:, class_index] += rows[:, column]
        return present_by_class

    def enter(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        """Yield the rows after a customer of a class arrives: it waits if all servers are busy,
        else its service begins.
        """
        is_all_busy = rows[:, self.first_service_column :].sum(axis=1) >= self.server_count
        waiting_indices = np.flatnonzero(is_all_busy)
        beginning_indices = np.flatnonzero(~is_all_busy)
        if len(waiting_indices):
            yield (
                waiting_indices,
                rows_with_increments(
                    rows[waiting_indices], (self.waiting_column_by_class[class_index], 1)
                ),
                np.ones(len(waiting_indices)),
            )
        if len(beginning_indices):
            yield from self._begin_service(rows, beginning_indices, class_index)

    def rows_after_arrivals(self, row: Rows, class_index: int, arrival_count: int) -> Rows:
        """Return the states after 1, 2, ... arrivals of a class, which wait once all servers are
        busy [count, columns].
        """
        rows = super().rows_after_arrivals(row, class_index, arrival_count)
        free_servers = self.server_count - int(row[:, self.first_service_column :].sum())
        waiting_count = np.maximum(
            np.arange(1, arrival_count + 1, dtype=rows.dtype) - max(0, free_servers), 0
        )
        rows[:, self._first_phase_column(class_index)] -= waiting_count
        rows[:, self.waiting_column_by_class[class_index]] += waiting_count
        return rows

    def abandon(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        """Yield the rows after a waiting customer of a class has abandoned the queue, with the
        number that wait.
        """
        origin_indices = np.flatnonzero(rows[:, self.waiting_column_by_class[class_index]])
        if len(origin_indices):
            column = self.waiting_column_by_class[class_index]
            yield (
                origin_indices,
                rows_with_increments(rows[origin_indices], (column, -1)),
                rows[origin_indices, column].astype(float),
            )

    def _next_service(self, rows: Rows) -> Iterator[Entries]:
        """Yield the rows after a waiting customer begins service, by rank or with the probability
        of its class.
        """
        waiting_count = rows[:, : self.first_service_column].sum(axis=1)
        has_waiting_customer = waiting_count > 0
        for class_index, column in self.waiting_column_by_class.items():
            called_indices = np.flatnonzero(has_waiting_customer & (rows[:, column] > 0))
            # Only the first rank with a waiting customer is served next.
            if self.is_ranked:
                has_waiting_customer[called_indices] = False
            for origin_indices, rows_after, probability in self._begin_service(
                rows_with_increments(rows, (column, -1)), called_indices, class_index
            ):
                if self.share_by_class is not None:
                    probability = self.share_by_class[class_index] * probability
                elif not self.is_ranked:
                    probability = (
                        probability * rows[origin_indices, column] / waiting_count[origin_indices]
                    )
                yield origin_indices, rows_after, probability
        yield from _rows_unchanged(rows, np.flatnonzero(waiting_count == 0))


class OrderedQueue(StationState):
    """State of a station by one column for each place in the order of service, 0 for an empty one;
    the first places are served.

    A code gives class and phase; a class of several phases has one code more, for customers not yet
    served. Disciplines differ only in the place where a customer enters: last, first, or behind
    those of its rank; without preemption behind those in service. A customer whose service is
    interrupted keeps its phase.

    Parameters
    ----------
    service_time_by_class, class_count, speed_by_number : see `StationState`
    discipline : of the order of arrival, its reverse, or by rank
    most_present : most customers present
    rank_by_class : rank of each class, the lowest first
    """

    def __init__(
        self,
        service_time_by_class: Mapping[int, PhaseType],
        class_count: int,
        speed_by_number: Array,
        discipline: Discipline,
        most_present: int,
        rank_by_class: Mapping[int, int],
    ) -> None:
        super().__init__(service_time_by_class, class_count, speed_by_number)
        self.discipline = discipline
        self.width = most_present
        self.served_place_count = min(
            len(speed_by_number) - 1
            if (speed_by_number == np.arange(len(speed_by_number))).all()
            else 1,
            most_present,
        )
        self.class_and_phase_by_code: list[tuple[int, int]] = [(-1, -1)]
        self.code_by_class_and_phase: dict[tuple[int, int], int] = {}
        for class_index, service_time in self.service_time_by_class.items():
            for phase in (
                range(service_time.phases)
                if service_time.phases == 1
                else range(-1, service_time.phases)
            ):
                self.code_by_class_and_phase[class_index, phase] = len(self.class_and_phase_by_code)
                self.class_and_phase_by_code.append((class_index, phase))
        self.rank_by_code = np.array(
            [-1]
            + [rank_by_class[class_index] for class_index, _ in self.class_and_phase_by_code[1:]]
        )

    def present(self, rows: Rows) -> Array:
        return self._sum_by_class(rows)

    def _sum_by_class(self, rows: Rows) -> NDArray[np.int64]:
        """Count the customers in some places by class [rows, classes]."""
        count_by_class = np.zeros((len(rows), self.class_count), dtype=np.int64)
        for code, (class_index, _) in enumerate(self.class_and_phase_by_code):
            if code:
                count_by_class[:, class_index] += (rows == code).sum(axis=1)
        return count_by_class

    def work(self, rows: Rows) -> Array:
        return self._speed_per_place(rows)[:, None] * self._sum_by_class(
            rows[:, : self.served_place_count]
        )

    def length(self, rows: Rows) -> NDArray[np.int64]:
        customer_counts: NDArray[np.int64] = np.count_nonzero(rows, axis=1).astype(np.int64)
        return customer_counts

    def _speed_per_place(self, rows: Rows) -> Array:
        """Return the speed of service at each place that is served [1] [rows]."""
        customer_counts = self.length(rows)
        speed: Array = self.total_speed(customer_counts) / np.clip(
            customer_counts, 1, self.served_place_count
        )
        return speed

    def enter(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        """Yield the rows after a customer of a class arrives at its place in the order."""
        entry_indices = self._entry_indices(rows, class_index)
        code = self.code_by_class_and_phase[
            class_index, -1 if (class_index, -1) in self.code_by_class_and_phase else 0
        ]
        positions = np.arange(self.width)
        # The customers behind the place of entry move one place back.
        shifted_rows = np.concatenate([rows[:, :1], rows[:, :-1]], axis=1)
        rows_after = np.where(positions < entry_indices[:, None], rows, shifted_rows)
        rows_after[np.arange(len(rows)), entry_indices] = code
        yield from self._begin_service(rows_after)

    def _entry_indices(self, rows: Rows, class_index: int) -> NDArray[np.int64]:
        """Return the index at which a customer enters the queue by its order: after the customers
        in service, unless it preempts them.
        """
        customer_counts = self.length(rows)
        first_index = 0 if self.discipline.preemptive else self.served_place_count
        if self.discipline.order == ARRIVAL:
            return customer_counts
        if self.discipline.order == REVERSE:
            return np.minimum(customer_counts, first_index)
        rank = self.rank_by_code[self.code_by_class_and_phase[class_index, 0]]
        is_behind = (rows[:, first_index:] > 0) & (self.rank_by_code[rows[:, first_index:]] <= rank)
        entry_indices: NDArray[np.int64] = np.minimum(customer_counts, first_index) + is_behind.sum(
            axis=1
        )
        return entry_indices

    def serve(self, rows: Rows) -> Iterator[Completions]:
        """Yield the rows after a phase ends at one of the places that are served, with the class of
        a customer that leaves.
        """
        speed = self._speed_per_place(rows)
        for position in range(self.served_place_count):
            for code, (class_index, phase) in enumerate(self.class_and_phase_by_code):
                if phase < 0:
                    continue
                origin_indices = np.flatnonzero(rows[:, position] == code)
                if not len(origin_indices):
                    continue
                rate = speed[origin_indices] * self.service_time_by_class[class_index].rates[phase]
                yield from self._phase_changes(
                    rows, origin_indices, position, class_index, phase, rate
                )
                exit_probability = self.service_time_by_class[class_index].exits[phase]
                if exit_probability != 0:
                    remaining_columns = np.delete(rows[origin_indices], position, axis=1)
                    rows_after = np.concatenate(
                        [remaining_columns, np.zeros((len(origin_indices), 1), dtype=rows.dtype)],
                        axis=1,
                    )
                    for service_indices, begun_rows, probability in self._begin_service(rows_after):
                        yield (
                            origin_indices[service_indices],
                            begun_rows,
                            rate[service_indices] * exit_probability * probability,
                            class_index,
                        )

    def abandon(self, rows: Rows, class_index: int) -> Iterator[Entries]:
        """Yield the rows after a customer of a class that has not been served has abandoned the
        queue.
        """
        code = self.code_by_class_and_phase[
            class_index, -1 if (class_index, -1) in self.code_by_class_and_phase else 0
        ]
        for position in range(self.served_place_count, self.width):
            origin_indices = np.flatnonzero(rows[:, position] == code)
            if len(origin_indices):
                remaining_columns = np.delete(rows[origin_indices], position, axis=1)
                yield (
                    origin_indices,
                    np.pad(remaining_columns, ((0, 0), (0, 1))),
                    np.ones(len(origin_indices)),
                )

    def _phase_changes(
        self,
        rows: Rows,
        origin_indices: NDArray[np.int64],
        position: int,
        class_index: int,
        phase: int,
        rate: Array,
    ) -> Iterator[Completions]:
        """Yield the rows after the service at a position goes on to another phase."""
        for next_phase, probability in enumerate(
            self.service_time_by_class[class_index].onward[phase]
        ):
            if probability != 0:
                rows_after = rows[origin_indices]
                rows_after[:, position] = self.code_by_class_and_phase[class_index, next_phase]
                yield origin_indices, self._sorted_in_service(rows_after), rate * probability, -1

    def _begin_service(self, rows: Rows) -> Iterator[Entries]:
        """Yield the rows after the first phase is drawn of the customer whose service begins; there
        is at most one such customer in a row.
        """
        class_number_or_zero = np.zeros(len(rows), dtype=np.int64)
        beginning_place = np.zeros(len(rows), dtype=np.int64)
        for served_place in range(self.served_place_count):
            for (class_index, phase), code in self.code_by_class_and_phase.items():
                if phase < 0:
                    is_beginning = rows[:, served_place] == code
                    class_number_or_zero[is_beginning], beginning_place[is_beginning] = (
                        class_index + 1,
                        served_place,
                    )
        unchanged_indices = np.flatnonzero(class_number_or_zero == 0)
        if len(unchanged_indices):
            yield (
                unchanged_indices,
                self._sorted_in_service(rows[unchanged_indices]),
                np.ones(len(unchanged_indices)),
            )
        for class_index, service_time in self.service_time_by_class.items():
            origin_indices = np.flatnonzero(class_number_or_zero == class_index + 1)
            for phase, probability in enumerate(service_time.start):
                if len(origin_indices) and probability != 0:
                    rows_after = rows[origin_indices]
                    rows_after[np.arange(len(origin_indices)), beginning_place[origin_indices]] = (
                        self.code_by_class_and_phase[class_index, phase]
                    )
                    yield (
                        origin_indices,
                        self._sorted_in_service(rows_after),
                        np.full(len(origin_indices), probability),
                    )

    def _sorted_in_service(self, rows: Rows) -> Rows:
        """Return rows in which the customers in service are sorted, unless services are
        interrupted, so that states that differ only in the servers of customers become one.
        """
        if self.served_place_count > 1 and not self.discipline.preemptive:
            rows[:, : self.served_place_count] = -np.sort(
                -rows[:, : self.served_place_count], axis=1
            )
        return rows


def missing_probability(probability_sum: Array | complex) -> Array:
    """Return 1 minus a sum of probabilities, or 0 where the difference is rounding; the derivative
    that a complex sum carries is kept.
    """
    remainder = 1.0 - np.asarray(probability_sum)
    # Sums of probabilities read from a file miss 1 by less than 1e-12; such a rest would only add
    # states.
    return np.where(np.abs(remainder.real) > 1e-12, remainder, remainder - remainder.real)


def station_state(
    discipline_name: str,
    service_time_by_class: Mapping[int, PhaseType],
    class_count: int,
    *,
    servers: int,
    rates: Array | None,
    most_present: int,
    ranks: Mapping[int, int],
    shares: Mapping[int, complex] | None,
    may_abandon: bool = False,
    weights: Mapping[int, complex] | None = None,
) -> StationState:
    """Return the smallest representation of a station that its discipline allows.

    Parameters
    ----------
    discipline_name : of the discipline
    service_time_by_class, class_count : see `StationState`
    servers, rates : number of servers, or the speed with 1, 2, 3 ... present, the last for more
    most_present : most customers present
    ranks : priority of each class; says nothing unless the discipline looks at it
    shares : probability that an arrival is of each class, where all arrive from outside at constant
        rates
    may_abandon : whether customers abandon the queue, so that those that wait are apart from those
        in service
    weights : of each class at a shared server [1]
    """
    discipline = DISCIPLINES[discipline_name]
    if discipline.delay:
        return SharedServers(service_time_by_class, class_count, None)
    # Servers beyond the customers that can be present only make arrays larger.
    servers = min(servers, most_present)
    speed_by_number = np.arange(servers + 1.0) if rates is None else np.concatenate([[0.0], rates])
    if discipline.shared:
        servers_of_weights = servers if rates is None else None
        return SharedServers(
            service_time_by_class,
            class_count,
            speed_by_number,
            weight_by_class=weights,
            server_count=servers_of_weights,
        )
    # Of one class in one phase the number present does not depend on who is served.
    if (
        sum(service_time.phases for service_time in service_time_by_class.values()) <= 1
        and not may_abandon
    ):
        return SharedServers(service_time_by_class, class_count, speed_by_number)
    ranks = ranks if discipline.ranked else dict.fromkeys(service_time_by_class, 0)
    if rates is None and len(set(ranks.values())) == len(ranks):
        if not discipline.preemptive:
            return CountedQueue(service_time_by_class, class_count, servers, ranks)
        if discipline.ranked and all(
            service_time.phases == 1 for service_time in service_time_by_class.values()
        ):
            return SharedServers(service_time_by_class, class_count, speed_by_number, ranks)
    if rates is None and discipline.blind and shares is not None:
        return CountedQueue(service_time_by_class, class_count, servers, share_by_class=shares)
    if discipline.order == RANDOM:
        if rates is not None:
            raise ModelError(
                "a chain has no random order of service with rates; ask for simulation, or for"
                " servers"
            )
        return CountedQueue(service_time_by_class, class_count, servers)
    return OrderedQueue(
        service_time_by_class, class_count, speed_by_number, discipline, most_present, ranks
    )
