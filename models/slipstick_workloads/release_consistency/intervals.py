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
    pages_written: tuple[int, ...]


class IntervalRecords:
    """All intervals that are remembered, and each processor's knowledge of them."""

    def __init__(self, processors: int) -> None:
        self.closed_counts = [0] * processors
        self.known_intervals = [[0] * processors for _ in range(processors)]
        self._records: dict[IntervalId, _IntervalRecord] = {}

    def close(self, processor: int, pages: tuple[int, ...]) -> int:
        """End the interval in which a processor began to write these pages. Return its number."""
        self.closed_counts[processor] += 1
        number = self.closed_counts[processor]
        self.known_intervals[processor][processor] = number
        self._records[processor, number] = _IntervalRecord(
            tuple(self.known_intervals[processor]), pages
        )
        return number

    def unknown_intervals(self, processor: int, vector: Sequence[int]) -> list[IntervalId]:
        """List the intervals up to a vector timestamp that a processor does not know."""
        known_counts = self.known_intervals[processor]
        return [
            (writer, number)
            for writer, last_number in enumerate(vector)
            if last_number > known_counts[writer]
            for number in range(known_counts[writer] + 1, last_number + 1)
        ]

    def learn(self, processor: int, vector: Sequence[int]) -> None:
        """Add knowledge from elsewhere to a processor's."""
        self.known_intervals[processor] = [
            max(pair) for pair in zip(self.known_intervals[processor], vector, strict=True)
        ]

    def pages_written(self, interval: IntervalId) -> tuple[int, ...]:
        """Return the pages that the write notices of an interval name."""
        return self._records[interval].pages_written

    def notice_count(self, intervals: Iterable[IntervalId]) -> int:
        """Count the write notices of intervals."""
        return sum(len(self._records[interval].pages_written) for interval in intervals)

    def is_known_in(self, later: IntervalId, earlier: IntervalId) -> bool:
        """Return whether `earlier` comes before `later`, or is the same interval."""
        writer, number = earlier
        return self._records[later].vector[writer] >= number

    def sort_by_precedence(self, intervals: Iterable[IntervalId]) -> list[IntervalId]:
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
