"""Barriers: everybody sends its new intervals to the manager, who merges them and sends each what it lacks.

The manager is processor 0. When diffs, twins and notices of any processor take too much memory, everybody brings
all its pages up to date at the end of the barrier, and they are dropped.
"""

from __future__ import annotations

from slipstick_workloads.lrc.book import Book
from slipstick_workloads.lrc.intervals import Intervals
from slipstick_workloads.lrc.notices import Notices
from slipstick_workloads.lrc.pages import SharedPages
from slipstick_workloads.lrc.protocol import Protocol

MANAGER = 0


class Barriers:
    """Where all processors meet."""

    def __init__(self, protocol: Protocol, intervals: Intervals, pages: SharedPages, notices: Notices, book: Book):
        self._protocol, self._intervals, self._pages = protocol, intervals, pages
        self._notices, self._book = notices, book
        self._met = [0] * len(intervals.closed)

    def meet(self) -> None:
        """Let everybody arrive, exchange what all have written, and leave."""
        everyone = range(len(self._met))
        for each in everyone:
            self._notices.release(each)
        for each in everyone[1:]:
            self._arrive(each)
        for each in everyone[1:]:
            self._leave(each)
        self._met = list(self._intervals.closed)
        if any(self._pages.memory(each) > self._protocol.collect_above for each in everyone):
            self._pages.collect()

    def _arrive(self, slave: int) -> None:
        """Send the manager the slave's intervals since the last barrier; it may know some from locks."""
        size = self._protocol.sizes.barrier
        if self._protocol.release == "lazy":
            own = [(slave, number) for number in range(self._met[slave] + 1, self._intervals.closed[slave] + 1)]
            size += self._notices.size(own)
            known = [self._intervals.closed[slave] if each == slave else 0 for each in range(len(self._met))]
            self._notices.learn(MANAGER, known)
        self._book.send("arrive", slave, MANAGER, size)

    def _leave(self, slave: int) -> None:
        size = self._protocol.sizes.barrier
        if self._protocol.release == "lazy":
            size += self._notices.learn(slave, self._intervals.seen[MANAGER])
        self._book.send("leave", MANAGER, slave, size)
