"""Pages: who holds which, in what state, and what an access or a write notice changes.

What is the same for several writers and for one is here; `diffs` and `owners` are the two ways to bring a page up to
date and to begin writing it.

A page is absent until its first owner touches it. As long as only the first owner holds it, it is written without
twins and notices, for nobody can need a diff; when another fetches it, the owner's copy is write-protected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from slipstick_workloads.lrc.accesses import WORD, Pages
from slipstick_workloads.lrc.book import Book
from slipstick_workloads.lrc.intervals import Interval, Intervals
from slipstick_workloads.lrc.protocol import Protocol

ABSENT, INVALID, READABLE, WRITABLE, EXCLUSIVE = range(5)
NOBODY = -1


class Carrier:
    """What moves with the protocol's messages; this one carries nothing. Tests carry values."""

    def copy(self, source: int, target: int, page: int) -> None:
        """Copy a whole page from one processor to another."""

    def cut(self, writer: int, interval: Interval, page: int, words: int) -> None:
        """Make the diff of a page for an interval: these words, as the writer has them now."""

    def apply(self, target: int, page: int, intervals: Sequence[Interval]) -> None:
        """Put the diffs of these intervals into a processor's copy, in this order."""


class SharedPages(ABC):
    """The state of every page at every processor."""

    def __init__(
        self, protocol: Protocol, shape: tuple[int, int, int], intervals: Intervals, book: Book, carrier: Carrier
    ) -> None:
        processors, pages, word_count = shape
        self.protocol, self.intervals, self.book, self.carrier = protocol, intervals, book, carrier
        self.processors, self.page_bytes = processors, word_count * WORD
        valid = protocol.start == "valid"
        self.state = np.full((processors, pages), READABLE if valid else ABSENT, np.uint8)
        self.owner = np.full(pages, 0 if valid else NOBODY, np.int64)
        self.fresh: list[dict[int, None]] = [{} for _ in range(processors)]
        self.pending: list[dict[int, list[Interval]]] = [{} for _ in range(processors)]
        self.stored = [0] * processors

    def read(self, reader: int, pages: Pages) -> None:
        """Make pages readable."""
        for page in pages[self.state[reader, pages] < READABLE].tolist():
            self._make_valid(reader, page)

    def write(self, writer: int, pages: Pages, words: Sequence[int]) -> None:
        """Make pages writable, and remember which words of them change."""
        for page in pages[self.state[writer, pages] < WRITABLE].tolist():
            self._make_writable(writer, page)
        self._remember(writer, pages, words)

    def notice(self, reader: int, interval: Interval) -> None:
        """Let a processor know which pages an interval wrote; copies without its writes become invalid."""
        pages, state, pending = self.intervals.pages(interval), self.state[reader], self.pending[reader]
        tally = self.book.tallies[reader]
        for page in pages:
            if self._has_applied(reader, page, interval):
                continue
            pending.setdefault(page, []).append(interval)
            if state[page] >= READABLE:
                self._before_invalid(reader, page)
                state[page] = INVALID
                tally.invalidated += 1
        tally.notices += len(pages)
        self.stored[reader] += len(pages) * self.protocol.sizes.notice

    def close(self, writer: int) -> Interval | None:
        """End a processor's interval, if it began to write to some page in it."""
        if not self.fresh[writer]:
            return None
        pages = tuple(self.fresh[writer])
        interval = writer, self.intervals.close(writer, pages)
        self._noticed(interval, pages)
        self.fresh[writer] = {}
        self.book.tallies[writer].intervals += 1
        self.stored[writer] += len(pages) * self.protocol.sizes.notice
        return interval

    def holders(self, pages: Sequence[int], apart_from: int) -> list[int]:
        """List the processors that hold a copy of any of these pages."""
        held = (self.state[:, list(pages)] != ABSENT).any(axis=1)
        return [each for each in np.flatnonzero(held).tolist() if each != apart_from]

    def collect(self) -> None:
        """Bring every copy of every page up to date; drop all diffs, twins and notices."""
        for processor in range(self.processors):
            stale = np.flatnonzero(self.state[processor] == INVALID).tolist()
            for page in stale:
                self._update(processor, page, collecting=True)
                self.state[processor, page] = READABLE
            self.book.tallies[processor].collections += 1
        self._drop()
        for pending in self.pending:
            pending.clear()
        self.intervals.forget()
        self.stored = [0] * self.processors

    def memory(self, processor: int) -> int:
        """Give what a processor's diffs and notices take [B]."""
        return self.stored[processor]

    def _make_valid(self, reader: int, page: int) -> None:
        if self.state[reader, page] == ABSENT:
            if self.owner[page] == NOBODY:
                self.owner[page] = reader
                self.state[reader, page] = EXCLUSIVE
                return
            self._fetch(reader, page)
        if page in self.pending[reader]:
            self._update(reader, page)
        self.state[reader, page] = READABLE

    def _fetch(self, reader: int, page: int) -> None:
        """Get a whole page from its owner, for the first time."""
        owner = int(self.owner[page])
        if self.state[owner, page] == EXCLUSIVE:
            self.state[owner, page] = READABLE
        self.send_page(reader, owner, page)
        self.book.tallies[reader].empty += 1
        self._fetched(reader, owner, page)

    def send_page(self, reader: int, owner: int, page: int) -> None:
        """Count a request for a whole page and its reply."""
        self.book.send("request", reader, owner, self.protocol.sizes.request)
        self.book.send("page", owner, reader, self.page_bytes)
        self.book.tallies[owner].served_pages += 1
        self.carrier.copy(owner, reader, page)

    @abstractmethod
    def _make_writable(self, writer: int, page: int) -> None:
        """Handle the first write to a page that is not writable."""

    @abstractmethod
    def _remember(self, writer: int, pages: Pages, words: Sequence[int]) -> None:
        """Remember which words change."""

    @abstractmethod
    def _has_applied(self, reader: int, page: int, interval: Interval) -> bool:
        """Say whether a processor's copy holds an interval's writes already."""

    @abstractmethod
    def _before_invalid(self, reader: int, page: int) -> None:
        """Save what a processor wrote to a page that is about to be invalid."""

    @abstractmethod
    def _noticed(self, interval: Interval, pages: Sequence[int]) -> None:
        """Mark pages as named in the writer's interval."""

    @abstractmethod
    def _fetched(self, reader: int, owner: int, page: int) -> None:
        """Note what the copy that came from the owner holds."""

    @abstractmethod
    def _update(self, reader: int, page: int, *, collecting: bool = False) -> None:
        """Bring a copy up to date with all pending notices."""

    @abstractmethod
    def _drop(self) -> None:
        """Forget diffs and twins; all copies are up to date."""
