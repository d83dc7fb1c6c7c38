"""One writer a page: a page has an owner, and whoever wants to write it becomes the owner with a whole copy.

All writes happen at the owner, so its copy is up to date with every write so far. Whoever finds its own copy invalid
fetches the whole page from the owner. There are no twins and no diffs; false sharing moves pages to and fro.
"""

from __future__ import annotations

from collections.abc import Sequence

from slipstick_workloads.lrc.accesses import Pages
from slipstick_workloads.lrc.intervals import Interval
from slipstick_workloads.lrc.pages import ABSENT, EXCLUSIVE, NOBODY, READABLE, WRITABLE, SharedPages


class SingleWriter(SharedPages):
    """Pages that their owner alone may write; ownership moves at a write fault."""

    def _make_writable(self, writer: int, page: int) -> None:
        owner = int(self.owner[page])
        if owner == writer:
            self.book.tallies[writer].write_faults += 1
        elif owner == NOBODY:
            self._make_valid(writer, page)
        else:
            self._take(writer, owner, page)
        if self.state[writer, page] != EXCLUSIVE:
            self.state[writer, page] = WRITABLE
            self.fresh[writer][page] = None

    def _take(self, writer: int, owner: int, page: int) -> None:
        """Become the owner: the whole page comes along, for others may have written to it since."""
        if self.state[writer, page] == ABSENT:
            self._fetch(writer, page)
        else:
            self._update(writer, page)
        self.owner[page] = writer
        self.state[owner, page] = READABLE

    def _remember(self, writer: int, pages: Pages, words: Sequence[int]) -> None:
        """Nothing: whole pages move."""

    def _has_applied(self, reader: int, page: int, interval: Interval) -> bool:
        return bool(self.owner[page] == reader)

    def _before_invalid(self, reader: int, page: int) -> None:
        """Nothing: what was written here has moved on with the ownership."""

    def _noticed(self, interval: Interval, pages: Sequence[int]) -> None:
        """Protect what is still owned, so that the next interval's first write shows."""
        writer = interval[0]
        for page in pages:
            if self.state[writer, page] == WRITABLE:
                self.state[writer, page] = READABLE

    def _fetched(self, reader: int, owner: int, page: int) -> None:
        self.pending[reader].pop(page, None)

    def _update(self, reader: int, page: int, *, collecting: bool = False) -> None:
        self.send_page(reader, int(self.owner[page]), page)
        self.pending[reader].pop(page, None)
        tally = self.book.tallies[reader]
        (tally.collected if collecting else tally.faults)[1, self.page_bytes] += 1

    def _drop(self) -> None:
        """Nothing is kept."""
