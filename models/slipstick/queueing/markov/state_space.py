"""The state space of a queueing network: the columns of all stations, and the transitions between states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.queueing.markov.chain import Array, MarkovChain, Rows, Transitions, explore_rows
from slipstick.queueing.markov.station_states import OrderedQueue, StationState
from slipstick.vocabulary import BEFORE_SERVICE, LOSS, REPEAT

BLOCKING = (LOSS, REPEAT, BEFORE_SERVICE)
"""What becomes of a customer on the way to a full station: see `solve_markov_chain`."""

Destination = tuple[int, int, complex]
"""Class, station and probability of a destination."""


@dataclass(frozen=True, eq=False)
class StateSpace:
    """Stations as columns of the state, and how customers move between them.

    Parameters
    ----------
    stations : one for each station of the network, and a last one for thinking
    destinations : for each class and station, where a customer goes after service; the rest of 1 leaves the network
    arrivals : for each open class its rate [1/s] and where it enters
    restart : for each closed class, where a lost customer begins its next cycle
    capacity : most customers present at each station, or None
    blocking : for each station one of `BLOCKING`
    truncation : most customers of open classes in all; None if capacities limit them
    opened : which classes are open [classes]
    start : the initial state, with the closed classes placed one after the other [columns]
    interleaved : a state with the same numbers at the stations, but the classes in turn [columns]
    """

    stations: Sequence[StationState]
    destinations: Mapping[tuple[int, int], Sequence[Destination]]
    arrivals: Mapping[int, tuple[complex, Sequence[Destination]]]
    restart: Mapping[int, Sequence[Destination]]
    capacity: Sequence[int | None]
    blocking: Sequence[str]
    truncation: int | None
    opened: NDArray[np.bool_]
    start: Array
    interleaved: Array

    def chain(self, limit: int, size_hint: Callable[[], str]) -> MarkovChain:
        """Explore the chain; see `explore_rows`."""
        return explore_rows(
            self.start[None, :],
            self.transitions,
            limit=limit,
            reachable=self._reached_by_arrivals(),
            size_hint=size_hint,
        )

    def _reached_by_arrivals(self) -> Rows:
        """Give states that arrivals alone lead to; without them a long queue is explored one customer at a time."""
        row, found = self.start[None, :], []
        first = next(((kind, places[0][1]) for kind, (_, places) in self.arrivals.items() if places), None)
        if first is not None:
            kind, to = first
            for _ in range(self.truncation or 0):
                if self._full(row, to)[0]:
                    break
                row = self._replaced(row, to, next(self.stations[to].enter(row[:, self.columns(to)], kind))[1])
                found.append(row)
        return np.concatenate(found) if found else row[:0]

    def _full(self, rows: Rows, station: int) -> NDArray[np.bool_]:
        """Tell in which states a station is full [rows]."""
        most = self.capacity[station]
        if most is None:
            return np.zeros(len(rows), dtype=bool)
        full: NDArray[np.bool_] = self.stations[station].length(rows[:, self.columns(station)]) >= most
        return full

    def finished(self, kind: int, station: int) -> int:
        """Number the event that a service ends."""
        return station * len(self.opened) + kind

    def lost(self, kind: int, station: int) -> int:
        """Number the event that a customer is lost at a full station."""
        return (len(self.stations) + station) * len(self.opened) + kind

    @property
    def events(self) -> int:
        """Number of events."""
        return 2 * len(self.stations) * len(self.opened)

    def columns(self, station: int) -> slice:
        """Give the columns of a station."""
        first = sum(each.width for each in self.stations[:station])
        return slice(first, first + self.stations[station].width)

    def present(self, rows: Rows) -> Array:
        """Count the customers present; a mean where a class is drawn only later [rows, classes, stations]."""
        counts = [station.present(rows[:, self.columns(at)]) for at, station in enumerate(self.stations)]
        return np.stack(counts, axis=2)

    def open_customers(self, rows: Rows) -> NDArray[np.int64]:
        """Count the customers of open classes [rows]."""
        count: NDArray[np.int64] = np.rint(self.present(rows)[:, self.opened].sum(axis=(1, 2)).real).astype(np.int64)
        return count

    def orders_vary(self, chain: MarkovChain) -> bool:
        """Tell whether classes can overtake each other, where a station keeps the order of its customers."""
        if not any(isinstance(station, OrderedQueue) for station in self.stations):
            return True
        return bool((np.asarray(chain.states) == self.interleaved).all(axis=1).any())

    def transitions(self, rows: Rows) -> Iterator[Transitions]:
        """Give all transitions out of a block of states."""
        yield from self._arrivals(rows)
        for at, station in enumerate(self.stations):
            for here, after, rate, kind in station.serve(rows[:, self.columns(at)]):
                base = self._replaced(rows[here], at, after)
                if kind < 0:
                    yield here, base, rate, -1
                else:
                    yield from self._departures(rows, here, base, rate, kind, at)

    def _arrivals(self, rows: Rows) -> Iterator[Transitions]:
        if not self.arrivals:
            return
        here = np.arange(len(rows))
        if self.truncation is not None:
            here = np.flatnonzero(self.open_customers(rows) < self.truncation)
        for kind, (often, places) in self.arrivals.items():
            for _, to, probability in places:
                rates = np.full(len(here), often * probability)
                yield from self._sent(rows, here, rows[here], rates, (kind, to), -1, "loss")

    def _departures(
        self, rows: Rows, here: NDArray[np.int64], base: Rows, rate: Array, kind: int, at: int
    ) -> Iterator[Transitions]:
        event = self.finished(kind, at)
        rest = 1.0 - sum(probability for _, _, probability in self.destinations[kind, at])
        for target, to, probability in self.destinations[kind, at]:
            yield from self._sent(rows, here, base, rate * probability, (target, to), event, self.blocking[to])
        if abs(rest) > 1e-12:
            yield here, base, rate * rest, event

    def _sent(
        self,
        rows: Rows,
        here: NDArray[np.int64],
        base: Rows,
        rate: Array,
        target: tuple[int, int],
        event: int,
        blocking: str,
    ) -> Iterator[Transitions]:
        """Send customers to a station; `base` are the states without them, `rows[here]` those before they moved."""
        kind, to = target
        full = self._full(base, to)
        free = np.flatnonzero(~full)
        if len(free):
            for some, after, probability in self.stations[to].enter(base[free][:, self.columns(to)], kind):
                at = free[some]
                yield here[at], self._replaced(base[at], to, after), rate[at] * probability, event
        turned = np.flatnonzero(full)
        if len(turned) and blocking == "loss":
            # The loss and the move that follows it are separate transitions, so that each event is counted once.
            yield here[turned], rows[here[turned]], rate[turned], self.lost(kind, to)
            if self.opened[kind]:
                yield here[turned], base[turned], rate[turned], event
            else:
                for anew, other, part in self.restart[kind]:
                    share = rate[turned] * part
                    yield from self._sent(rows, here[turned], base[turned], share, (anew, other), event, "loss")

    def _replaced(self, rows: Rows, station: int, columns: Rows) -> Rows:
        """Replace the columns of one station."""
        copy = rows.copy()
        copy[:, self.columns(station)] = columns
        return copy


def initial_state(space: StateSpace, who: Sequence[int], begin: Mapping[int, Sequence[int]]) -> Array:
    """Give a state with all customers of the closed classes.

    Parameters
    ----------
    space : the state space; its start is the empty state
    who : the class of each customer, in the order in which they are placed
    begin : stations where each closed class may be, those to be filled first at the front

    Raises
    ------
    ModelError : the capacities are too small
    """
    row = space.start[None, :].copy()
    for kind in who:
        at = _free(space, row, begin[kind])
        if at is None:
            raise ModelError(f"the stations have no place for {len(who)} customers; raise a capacity")
        _, after, _ = next(space.stations[at].enter(row[:, space.columns(at)], kind))
        row[:, space.columns(at)] = after
    first: Array = row[0]
    return first


def _free(space: StateSpace, row: Rows, stations: Sequence[int]) -> int | None:
    for at in stations:
        most = space.capacity[at]
        if most is None or space.stations[at].length(row[:, space.columns(at)])[0] < most:
            return at
    return None
