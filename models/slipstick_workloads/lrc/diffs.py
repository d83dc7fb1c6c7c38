"""Several writers a page: twins, and diffs made when somebody asks.

The first write to a protected page copies it: the twin. A diff compares the two when it is asked for, or when a
notice of another's writes arrives; until then the page stays writable, and later writes go into the same diff. Then the
twin goes and the page is protected again.
"""

from __future__ import annotations

from collections.abc import Sequence

from slipstick_workloads.lrc.accesses import Pages
from slipstick_workloads.lrc.book import Book
from slipstick_workloads.lrc.intervals import Interval, Intervals
from slipstick_workloads.lrc.pages import EXCLUSIVE, READABLE, WRITABLE, Carrier, SharedPages
from slipstick_workloads.lrc.protocol import Protocol

_Asked = dict[int, list[Interval]]


class ManyWriters(SharedPages):
    """Pages that several processors may write at once, different words of them."""

    def __init__(
        self, protocol: Protocol, shape: tuple[int, int, int], intervals: Intervals, book: Book, carrier: Carrier
    ) -> None:
        super().__init__(protocol, shape, intervals, book, carrier)
        self.twins: list[dict[int, int]] = [{} for _ in range(self.processors)]
        """For each page with a twin, the words written since."""
        self.named: list[dict[int, int]] = [{} for _ in range(self.processors)]
        """For each page with a twin that a closed interval names, that interval's number."""
        self.diffs: list[dict[tuple[Interval, int], int]] = [{} for _ in range(self.processors)]
        """The size of each diff that a processor has made or got, by interval and page [B]."""
        self.applied: list[dict[int, list[int]]] = [{} for _ in range(self.processors)]
        self.floor = [0] * self.processors

    def memory(self, processor: int) -> int:
        """Give what a processor's diffs, twins and notices take [B]."""
        return self.stored[processor] + len(self.twins[processor]) * self.page_bytes

    def _make_writable(self, writer: int, page: int) -> None:
        if self.state[writer, page] < READABLE:
            self._make_valid(writer, page)
        else:
            self.book.tallies[writer].write_faults += 1
        if self.state[writer, page] != EXCLUSIVE:
            self.twins[writer][page] = 0
            self.fresh[writer][page] = None
            self.state[writer, page] = WRITABLE
            self.book.tallies[writer].twins += 1

    def _remember(self, writer: int, pages: Pages, words: Sequence[int]) -> None:
        twins = self.twins[writer]
        for place in (self.state[writer, pages] == WRITABLE).nonzero()[0].tolist():
            twins[int(pages[place])] |= words[place]

    def _has_applied(self, reader: int, page: int, interval: Interval) -> bool:
        writer, number = interval
        return self._copy_of(reader, page)[writer] >= number

    def _copy_of(self, reader: int, page: int) -> list[int]:
        """Give for each writer the last interval whose diff a copy holds."""
        return self.applied[reader].get(page, self.floor)

    def _before_invalid(self, reader: int, page: int) -> None:
        if page in self.twins[reader]:
            self._cut(reader, page)

    def _noticed(self, interval: Interval, pages: Sequence[int]) -> None:
        writer, number = interval
        self.named[writer].update(dict.fromkeys(pages, number))

    def _fetched(self, reader: int, owner: int, page: int) -> None:
        """Take over what the owner's copy holds; of a twin that may still grow, it holds a part only."""
        held = list(self._copy_of(owner, page))
        growing = self.named[owner].get(page)
        held[owner] = self.intervals.closed[owner] if growing is None else growing - 1
        self.applied[reader][page] = held
        missing = [each for each in self.pending[reader].pop(page, []) if held[each[0]] < each[1]]
        if missing:
            self.pending[reader][page] = missing

    def _update(self, reader: int, page: int, *, collecting: bool = False) -> None:
        wanted = self.pending[reader].pop(page)
        asked = self._whom_to_ask(page, wanted)
        total = sum(self._serve(server, reader, page, intervals) for server, intervals in asked.items())
        self.carrier.apply(reader, page, self.intervals.in_order(wanted))
        applied = list(self._copy_of(reader, page))
        for writer, number in wanted:
            applied[writer] = max(applied[writer], number)
        self.applied[reader][page] = applied
        tally = self.book.tallies[reader]
        (tally.collected if collecting else tally.faults)[len(asked), total] += 1

    def _whom_to_ask(self, page: int, wanted: Sequence[Interval]) -> _Asked:
        """Give whom to ask for which diffs: their writers, or who passes them on."""
        asked: _Asked = {}
        latest = self._latest(wanted) if self.protocol.ask == "latest" else []
        for each in wanted:
            passes_on = (last[0] for last in latest if last[0] != each[0] and self._can_pass_on(last, each, page))
            asked.setdefault(next(passes_on, each[0]), []).append(each)
        return asked

    def _latest(self, wanted: Sequence[Interval]) -> list[Interval]:
        """Give the last interval of each writer after which no other's last comes."""
        last = list(dict(sorted(wanted)).items())
        return [each for each in last if not any(self.intervals.knows(other, each) for other in last if other != each)]

    def _can_pass_on(self, last: Interval, wanted: Interval, page: int) -> bool:
        return self.intervals.knows(last, wanted) and (wanted, page) in self.diffs[last[0]]

    def _serve(self, server: int, reader: int, page: int, intervals: Sequence[Interval]) -> int:
        """Send the diffs of these intervals, made now if need be; give the bytes of the reply."""
        growing = self.named[server].get(page)
        if growing is not None and (server, growing) in intervals:
            self._cut(server, page)
        size = 0
        for each in intervals:
            diff = self.diffs[server][each, page]
            size += diff
            if self.protocol.ask == "latest":
                self._keep(reader, each, page, diff)
        self.book.send("request", reader, server, self.protocol.sizes.request)
        self.book.send("diffs", server, reader, size)
        self.book.tallies[server].served_diffs += 1
        return size

    def _cut(self, writer: int, page: int) -> None:
        """Make the diff of a page; its twin goes."""
        interval, words = (writer, self.named[writer].pop(page)), self.twins[writer].pop(page)
        if self.state[writer, page] == WRITABLE:
            self.state[writer, page] = READABLE
        size = self.protocol.sizes.diff_of(words)
        self._keep(writer, interval, page, size)
        tally = self.book.tallies[writer]
        tally.diffs_made += 1
        tally.diff_bytes_made += size
        self.carrier.cut(writer, interval, page, words)

    def _keep(self, processor: int, interval: Interval, page: int, size: int) -> None:
        self.diffs[processor][interval, page] = size
        self.stored[processor] += size

    def _drop(self) -> None:
        for processor, twins in enumerate(self.twins):
            self.state[processor, list(twins)] = READABLE
        for kept in (self.twins, self.named, self.diffs, self.applied):
            for each in kept:
                each.clear()
        self.floor = list(self.intervals.closed)
