"""A queueing network as a chain: rooms side by side, and customers who go from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.queueing.markov.chain import Array, Chain, Move, Rows, explore
from slipstick.queueing.markov.station_states import Line, Room
from slipstick.vocabulary import BEFORE_SERVICE, LOSS, REPEAT

BLOCKING = (LOSS, REPEAT, BEFORE_SERVICE)
"""What happens to a customer who finds the next station full: see `solve`."""

Place = tuple[int, int, complex]
"""Class, room and probability of a destination."""


@dataclass(frozen=True, eq=False)
class Floor:
    """Rooms, and the ways between them.

    Parameters
    ----------
    rooms : one for each station; think time is one more
    ways : for each class and room, where a customer goes whose service ends; what lacks of 1 leaves the network
    arrivals : for each open class its rate [1/s] and where it enters
    again : for each closed class, where a customer goes who is lost: to begin its cycle again
    capacity : for each room who can be present at most, or None
    blocking : for each room one of `BLOCKING`
    cut : customers of open classes in all, at most; None if the capacities are limit enough
    opened : which classes are open [classes]
    start : the first state, the closed classes one after the other [columns]
    mixed : a state with the same customers at the stations, the classes in turn, the last first [columns]
    """

    rooms: Sequence[Room]
    ways: Mapping[tuple[int, int], Sequence[Place]]
    arrivals: Mapping[int, tuple[complex, Sequence[Place]]]
    again: Mapping[int, Sequence[Place]]
    capacity: Sequence[int | None]
    blocking: Sequence[str]
    cut: int | None
    opened: NDArray[np.bool_]
    start: Array
    mixed: Array

    def chain(self, limit: int, known: Callable[[], str]) -> Chain:
        """Explore the chain; see `explore`."""
        return explore(self.start[None, :], self.moves, limit=limit, sure=self._filling(), known=known)

    def _filling(self) -> Rows:
        """Give states that arrivals alone lead to: without them a long line is explored one customer at a time."""
        row, found = self.start[None, :], []
        first = next(((kind, places[0][1]) for kind, (_, places) in self.arrivals.items() if places), None)
        if first is not None:
            kind, to = first
            for _ in range(self.cut or 0):
                if self._full(row, to)[0]:
                    break
                row = self._with(row, to, next(self.rooms[to].enter(row[:, self.columns(to)], kind))[1])
                found.append(row)
        return np.concatenate(found) if found else row[:0]

    def _full(self, rows: Rows, room: int) -> NDArray[np.bool_]:
        """Say where a room is full [rows]."""
        most = self.capacity[room]
        if most is None:
            return np.zeros(len(rows), dtype=bool)
        full: NDArray[np.bool_] = self.rooms[room].length(rows[:, self.columns(room)]) >= most
        return full

    def finished(self, kind: int, room: int) -> int:
        """Number the event that a service ends."""
        return room * len(self.opened) + kind

    def lost(self, kind: int, room: int) -> int:
        """Number the event that a customer finds a room full and is lost to it."""
        return (len(self.rooms) + room) * len(self.opened) + kind

    @property
    def events(self) -> int:
        """How many events have a number."""
        return 2 * len(self.rooms) * len(self.opened)

    def columns(self, room: int) -> slice:
        """Give the columns of a room."""
        first = sum(each.width for each in self.rooms[:room])
        return slice(first, first + self.rooms[room].width)

    def present(self, rows: Rows) -> Array:
        """Count who is present, or the mean where the class is not known yet [rows, classes, rooms]."""
        counts = [room.present(rows[:, self.columns(at)]) for at, room in enumerate(self.rooms)]
        return np.stack(counts, axis=2)

    def open_customers(self, rows: Rows) -> NDArray[np.int64]:
        """Count the customers of open classes [rows]."""
        count: NDArray[np.int64] = np.rint(self.present(rows)[:, self.opened].sum(axis=(1, 2)).real).astype(np.int64)
        return count

    def mixes(self, chain: Chain) -> bool:
        """Say whether the classes come in other orders than at the start, where a room keeps the order."""
        if not any(isinstance(room, Line) for room in self.rooms):
            return True
        return bool((np.asarray(chain.states) == self.mixed).all(axis=1).any())

    def moves(self, rows: Rows) -> Iterator[Move]:
        """Give all moves of a block of states."""
        yield from self._arrive(rows)
        for at, room in enumerate(self.rooms):
            for here, after, rate, kind in room.serve(rows[:, self.columns(at)]):
                base = self._with(rows[here], at, after)
                if kind < 0:
                    yield here, base, rate, -1
                else:
                    yield from self._leave(rows, here, base, rate, kind, at)

    def _arrive(self, rows: Rows) -> Iterator[Move]:
        if not self.arrivals:
            return
        here = np.arange(len(rows))
        if self.cut is not None:
            here = np.flatnonzero(self.open_customers(rows) < self.cut)
        for kind, (often, places) in self.arrivals.items():
            for _, to, probability in places:
                rates = np.full(len(here), often * probability)
                yield from self._go(rows, here, rows[here], rates, (kind, to), -1, "loss")

    def _leave(
        self, rows: Rows, here: NDArray[np.int64], base: Rows, rate: Array, kind: int, at: int
    ) -> Iterator[Move]:
        event = self.finished(kind, at)
        rest = 1.0 - sum(probability for _, _, probability in self.ways[kind, at])
        for target, to, probability in self.ways[kind, at]:
            yield from self._go(rows, here, base, rate * probability, (target, to), event, self.blocking[to])
        if abs(rest) > 1e-12:
            yield here, base, rate * rest, event

    def _go(
        self,
        rows: Rows,
        here: NDArray[np.int64],
        base: Rows,
        rate: Array,
        target: tuple[int, int],
        event: int,
        blocking: str,
    ) -> Iterator[Move]:
        """Bring customers to a room; `base` are the rows without them, `rows[here]` those with them."""
        kind, to = target
        full = self._full(base, to)
        free = np.flatnonzero(~full)
        if len(free):
            for some, after, probability in self.rooms[to].enter(base[free][:, self.columns(to)], kind):
                at = free[some]
                yield here[at], self._with(base[at], to, after), rate[at] * probability, event
        turned = np.flatnonzero(full)
        if len(turned) and blocking == "loss":
            # Nothing moves by being lost; what moves is told apart below, so that each event is counted once.
            yield here[turned], rows[here[turned]], rate[turned], self.lost(kind, to)
            if self.opened[kind]:
                yield here[turned], base[turned], rate[turned], event
            else:
                for anew, other, part in self.again[kind]:
                    share = rate[turned] * part
                    yield from self._go(rows, here[turned], base[turned], share, (anew, other), event, "loss")

    def _with(self, rows: Rows, room: int, columns: Rows) -> Rows:
        """Put columns of one room in their place."""
        copy = rows.copy()
        copy[:, self.columns(room)] = columns
        return copy


def place_all(floor: Floor, who: Sequence[int], begin: Mapping[int, Sequence[int]]) -> Array:
    """Give a state that holds everyone of the closed classes.

    Parameters
    ----------
    floor : the floor; its start is the empty state
    who : the class of each customer, in the order in which they are placed
    begin : rooms that each closed class may be in, the first to be filled first

    Raises
    ------
    ModelError : there is not room enough
    """
    row = floor.start[None, :].copy()
    for kind in who:
        at = _free(floor, row, begin[kind])
        if at is None:
            raise ModelError(f"the stations have no room for {len(who)} customers; raise a capacity")
        _, after, _ = next(floor.rooms[at].enter(row[:, floor.columns(at)], kind))
        row[:, floor.columns(at)] = after
    first: Array = row[0]
    return first


def _free(floor: Floor, row: Rows, rooms: Sequence[int]) -> int | None:
    for at in rooms:
        most = floor.capacity[at]
        if most is None or floor.rooms[at].length(row[:, floor.columns(at)])[0] < most:
            return at
    return None
