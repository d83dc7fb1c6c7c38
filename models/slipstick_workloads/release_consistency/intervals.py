"""Intervals: the writes of each processor between synchronizations, and which processors know of
them.

A processor's interval ends at a release, at an acquire or at a barrier, if it has written to a new
page since the last. Its vector timestamp says how many intervals of each processor were known when
it ended; interval a comes before b if b's timestamp counts a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Vector = tuple[int, ...]
IntervalId = tuple[int, int]
"""A processor and the number of its interval, from 1."""


@dataclass(frozen=True, slots=True)
class _IntervalRecord:
    vector: Vector
    pages: tuple[int, ...]


class IntervalRecords:
    """All intervals that are remembered, and each processor's knowledge of them."""

    def __init__(self, processors: int) -> None:
        self.closed = [0] * processors
        self.seen = [[0] * processors for _ in range(processors)]
        self._records: dict[IntervalId, _IntervalRecord] = {}

    def close(self, processor: int, pages: tuple[int, ...]) -> int:
        """End a processor's interval, in which it began to write these pages; give its number."""
        self.closed[processor] += 1
        number = self.closed[processor]
        self.seen[processor][processor] = number
        self._records[processor, number] = _IntervalRecord(tuple(self.seen[processor]), pages)
        return number

    def unseen(self, processor: int, vector: Sequence[int]) -> list[IntervalId]:
        """List the intervals that are known elsewhere but not to a processor."""
        seen_vector = self.seen[processor]
        return [
            (writer, number)
            for writer, last in enumerate(vector)
            if last > seen_vector[writer]
            for number in range(seen_vector[writer] + 1, last + 1)
        ]

    def learn(self, processor: int, vector: Sequence[int]) -> None:
        """Add knowledge from elsewhere to a processor's."""
        self.seen[processor] = [
            max(pair) for pair in zip(self.seen[processor], vector, strict=True)
        ]

    def pages(self, interval: IntervalId) -> tuple[int, ...]:
        """Return the write notices of an interval: the pages it names."""
        return self._records[interval].pages

    def notices(self, intervals: Iterable[IntervalId]) -> int:
        """Count the write notices of intervals."""
        return sum(len(self._records[interval].pages) for interval in intervals)

    def knows(self, later: IntervalId, earlier: IntervalId) -> bool:
        """Return whether an interval comes before another, or is the same."""
        writer, number = earlier
        return self._records[later].vector[writer] >= number

    def in_order(self, intervals: Iterable[IntervalId]) -> list[IntervalId]:
        """Sort intervals by precedence.

        If a comes before b, no component of a's timestamp exceeds b's and one is less: so is its
        sum.
        """
        return sorted(
            intervals, key=lambda interval: (sum(self._records[interval].vector), interval)
        )

    def forget(self) -> None:
        """Drop all records, once every processor knows and has applied them."""
        self._records.clear()
