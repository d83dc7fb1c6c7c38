"""Intervals: the writes of each processor between synchronizations, and which processors know of
them.

A processor's interval ends at a release, at an acquire or at a barrier, if it has written to a new
page since the last. Its vector timestamp says how many intervals of each processor were known when
it ended; interval a comes before b if b's timestamp counts a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slipstick.late import dataclass

Vector = tuple[int, ...]
IntervalId = tuple[int, int]
"""A processor and the number of its interval, from 1."""


@dataclass(frozen=True, slots=True)
class _IntervalRecord:
    """An interval: its vector timestamp, and the pages that were written in it."""

    vector: Vector
    pages_written: tuple[int, ...]


class IntervalRecords:
    """All recorded intervals, and the number of intervals of each writer that each processor
    knows.
    """

    def __init__(self, processors: int) -> None:
        self.closed_counts = [0] * processors
        self.known_intervals = [[0] * processors for _ in range(processors)]
        self._records: dict[IntervalId, _IntervalRecord] = {}

    def close(self, processor: int, pages: tuple[int, ...]) -> int:
        """End the interval of a processor in which these pages were first written. Return its
        number.
        """
        self.closed_counts[processor] += 1
        interval_number = self.closed_counts[processor]
        self.known_intervals[processor][processor] = interval_number
        self._records[processor, interval_number] = _IntervalRecord(
            tuple(self.known_intervals[processor]), pages
        )
        return interval_number

    def unknown_intervals(self, processor: int, vector: Sequence[int]) -> list[IntervalId]:
        """Return the intervals up to a vector timestamp that a processor does not know."""
        known_counts = self.known_intervals[processor]
        return [
            (writer, interval_number)
            for writer, last_number in enumerate(vector)
            if last_number > known_counts[writer]
            for interval_number in range(known_counts[writer] + 1, last_number + 1)
        ]

    def learn(self, processor: int, vector: Sequence[int]) -> None:
        """Add the knowledge in a vector timestamp to the knowledge of a processor."""
        self.known_intervals[processor] = [
            max(known_and_new)
            for known_and_new in zip(self.known_intervals[processor], vector, strict=True)
        ]

    def pages_written(self, interval: IntervalId) -> tuple[int, ...]:
        """Return the pages that the write notices of an interval name."""
        return self._records[interval].pages_written

    def notice_count(self, intervals: Iterable[IntervalId]) -> int:
        """Return the number of write notices of intervals."""
        return sum(len(self._records[interval].pages_written) for interval in intervals)

    def is_known_in(self, later_interval: IntervalId, earlier_interval: IntervalId) -> bool:
        """Return whether `earlier_interval` comes before `later_interval` or is the same."""
        writer, interval_number = earlier_interval
        return self._records[later_interval].vector[writer] >= interval_number

    def sort_by_precedence(self, intervals: Iterable[IntervalId]) -> list[IntervalId]:
        """Return intervals sorted by precedence.

        If a comes before b, no component of a's timestamp exceeds b's and one is less: so is its
        sum.
        """
        return sorted(
            intervals, key=lambda interval: (sum(self._records[interval].vector), interval)
        )

    def forget(self) -> None:
        """Delete all records, once every processor knows and has applied them."""
        self._records.clear()
