"""A station as columns of a chain's states, where the order of the customers matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from slipstick.queueing.markov.chain import Array
from slipstick.queueing.markov.explore import Rows
from slipstick.queueing.markov.phase_type import PhaseType
from slipstick.queueing.markov.rooms import Entry, Room, Served

__all__ = ["Line"]


class Line(Room):
    """One column for each place; the first places are served. 0 is an empty place.

    A code says class and phase; a class of several phases has one code more, for who has not begun. Disciplines differ
    only in the place where one enters: last (fcfs), first (lcfs-pr), behind those of its rank (priority, which passes
    by nobody in service, or priority-preemptive). Who is pushed out of service keeps the phase.

    Parameters
    ----------
    discipline : fcfs, lcfs-pr, priority or priority-preemptive
    places : who can be present at most
    ranks : rank of each class, the lowest goes first
    """

    def __init__(
        self,
        times: Mapping[int, PhaseType],
        classes: int,
        speed: Array,
        discipline: str,
        places: int,
        ranks: Mapping[int, int],
    ) -> None:
        super().__init__(times, classes, speed)
        self.discipline = discipline
        self.width = places
        self.heads = min(len(speed) - 1 if _whole_servers(speed) else 1, places)
        self.codes: list[tuple[int, int]] = [(-1, -1)]
        self.code: dict[tuple[int, int], int] = {}
        for kind, time in self.times.items():
            for phase in range(time.phases) if time.phases == 1 else range(-1, time.phases):
                self.code[kind, phase] = len(self.codes)
                self.codes.append((kind, phase))
        self.rank = np.array([-1] + [ranks[kind] for kind, _ in self.codes[1:]])

    def present(self, rows: Rows) -> Array:
        return self._by_class(rows)

    def _by_class(self, rows: Rows) -> NDArray[np.int64]:
        count = np.zeros((len(rows), self.classes), dtype=np.int64)
        for code, (kind, _) in enumerate(self.codes):
            if code:
                count[:, kind] += (rows == code).sum(axis=1)
        return count

    def work(self, rows: Rows) -> Array:
        return self._pace(rows)[:, None] * self._by_class(rows[:, : self.heads])

    def length(self, rows: Rows) -> NDArray[np.int64]:
        count: NDArray[np.int64] = np.count_nonzero(rows, axis=1).astype(np.int64)
        return count

    def _pace(self, rows: Rows) -> Array:
        """Give the speed at each place that is served [1] [rows]."""
        count = self.length(rows)
        pace: Array = self.total_speed(count) / np.clip(count, 1, self.heads)
        return pace

    def enter(self, rows: Rows, kind: int) -> Iterator[Entry]:
        at = self._place(rows, kind)
        code = self.code[kind, -1 if (kind, -1) in self.code else 0]
        places = np.arange(self.width)
        shifted = np.concatenate([rows[:, :1], rows[:, :-1]], axis=1)
        after = np.where(places < at[:, None], rows, shifted)
        after[np.arange(len(rows)), at] = code
        yield from self._begun(after)

    def _place(self, rows: Rows, kind: int) -> NDArray[np.int64]:
        if self.discipline == "lcfs-pr":
            return np.zeros(len(rows), dtype=np.int64)
        count = self.length(rows)
        if self.discipline == "fcfs":
            return count
        first = self.heads if self.discipline == "priority" else 0
        rank = self.rank[self.code[kind, 0]]
        behind = (rows[:, first:] > 0) & (self.rank[rows[:, first:]] <= rank)
        place: NDArray[np.int64] = np.minimum(count, first) + behind.sum(axis=1)
        return place

    def serve(self, rows: Rows) -> Iterator[Served]:
        pace = self._pace(rows)
        for place in range(self.heads):
            for code, (kind, phase) in enumerate(self.codes):
                if phase < 0:
                    continue
                here = np.flatnonzero(rows[:, place] == code)
                if not len(here):
                    continue
                rate = pace[here] * self.times[kind].rates[phase]
                yield from self._phases(rows, here, place, kind, phase, rate)
                ends = self.times[kind].exits[phase]
                if ends != 0:
                    left = np.delete(rows[here], place, axis=1)
                    after = np.concatenate([left, np.zeros((len(here), 1), dtype=rows.dtype)], axis=1)
                    for some, begun, probability in self._begun(after):
                        yield here[some], begun, rate[some] * ends * probability, kind

    def _phases(
        self, rows: Rows, here: NDArray[np.int64], place: int, kind: int, phase: int, rate: Array
    ) -> Iterator[Served]:
        for target, probability in enumerate(self.times[kind].onward[phase]):
            if probability != 0:
                after = rows[here]
                after[:, place] = self.code[kind, target]
                yield here, self._same(after), rate * probability, -1

    def _begun(self, rows: Rows) -> Iterator[Entry]:
        """Let who has come to be served begin with a phase; at most one has."""
        waits = np.zeros(len(rows), dtype=np.int64)
        place = np.zeros(len(rows), dtype=np.int64)
        for head in range(self.heads):
            for (kind, phase), code in self.code.items():
                if phase < 0:
                    new = rows[:, head] == code
                    waits[new], place[new] = kind + 1, head
        settled = np.flatnonzero(waits == 0)
        if len(settled):
            yield settled, self._same(rows[settled]), np.ones(len(settled))
        for kind, time in self.times.items():
            here = np.flatnonzero(waits == kind + 1)
            for phase, probability in enumerate(time.start):
                if len(here) and probability != 0:
                    after = rows[here]
                    after[np.arange(len(here)), place[here]] = self.code[kind, phase]
                    yield here, self._same(after), np.full(len(here), probability)

    def _same(self, rows: Rows) -> Rows:
        """Write those in service in one order, where nobody is pushed out: which server has whom says nothing."""
        if self.heads > 1 and self.discipline in ("fcfs", "priority"):
            rows[:, : self.heads] = -np.sort(-rows[:, : self.heads], axis=1)
        return rows


def _whole_servers(speed: Array) -> bool:
    """Say whether the speed is that of servers of speed 1."""
    return bool((speed == np.arange(len(speed))).all())
