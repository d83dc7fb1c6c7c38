"""Write notices on their way: with the next acquire if release is lazy, at once if it is eager."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slipstick_workloads.lrc.book import Book
from slipstick_workloads.lrc.intervals import Interval, Intervals
from slipstick_workloads.lrc.pages import SharedPages
from slipstick_workloads.lrc.protocol import Protocol


class Notices:
    """Carries intervals with their write notices between processors."""

    def __init__(
        self, protocol: Protocol, processors: int, intervals: Intervals, pages: SharedPages, book: Book
    ) -> None:
        self._protocol, self._processors, self._book = protocol, processors, book
        self._intervals, self._pages = intervals, pages
        self._unsent: list[list[Interval]] = [[] for _ in range(processors)]

    def release(self, processor: int) -> None:
        """End the interval; if release is eager, tell everybody now."""
        self._close(processor)
        if self._protocol.release == "eager" and self._unsent[processor]:
            self._tell(processor)

    def acquire(self, processor: int, giver: int) -> int:
        """Learn what the giver knows; give what that adds to its message [B]."""
        if self._protocol.release == "eager":
            return 0
        return self.learn(processor, self._intervals.seen[giver])

    def learn(self, processor: int, known: Sequence[int]) -> int:
        """Let a processor know intervals that are known elsewhere; give their bytes in a message [B]."""
        fresh = self._intervals.unseen(processor, known)
        if not fresh:
            return 0
        self._close(processor)
        for each in fresh:
            self._pages.notice(processor, each)
        self._intervals.learn(processor, known)
        return self.size(fresh)

    def size(self, intervals: Iterable[Interval]) -> int:
        """Give what intervals add to a message [B]."""
        listed = list(intervals)
        notices = self._intervals.notices(listed)
        return self._protocol.sizes.intervals_of(len(listed), notices, self._processors)

    def _close(self, processor: int) -> None:
        closed = self._pages.close(processor)
        if closed is not None and self._protocol.release == "eager":
            self._unsent[processor].append(closed)

    def _tell(self, processor: int) -> None:
        """Send the notices to all who hold one of the pages, and wait for each to acknowledge.

        Who holds none learns of them with the page when it fetches it: no message of its own.
        """
        unsent, self._unsent[processor] = self._unsent[processor], []
        pages = sorted({page for each in unsent for page in self._intervals.pages(each)})
        holders = self._pages.holders(pages, processor)
        sizes, size = self._protocol.sizes, self.size(unsent)
        known = list(self._intervals.seen[processor])
        for other in range(self._processors):
            if other != processor:
                self.learn(other, [known[each] if each == processor else 0 for each in range(self._processors)])
            if other in holders:
                self._book.send("notices", processor, other, size)
                self._book.send("acknowledgement", other, processor, sizes.acknowledgement)
