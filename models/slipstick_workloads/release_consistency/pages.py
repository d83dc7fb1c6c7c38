"""Pages: the state of each page at each processor, and the effect of an access or a write notice.

`SharedPages` holds what is the same for several writers and for one. A page is absent until its
first owner touches it. As long as only the first owner holds it, it is written without twins and
notices, for no other processor can need a diff; when another processor fetches it, the owner's copy
is write-protected.

`ManyWriters`: the first write to a protected page makes a copy, the twin. A diff compares the two
when it is requested, or when a notice of another processor's writes arrives; until then the page
stays writable, and later writes go into the same diff. Then the twin is dropped and the page is
protected again.

`SingleWriter`: a page has an owner, and a processor that is to write it becomes the owner with a
whole copy. All writes take place at the owner, so its copy is up to date. A processor whose copy is
invalid fetches the whole page from the owner. There are no twins and no diffs; false sharing moves
pages back and forth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from slipstick_workloads.counts import CountedPhase, ProcessorTally
from slipstick_workloads.release_consistency.accesses import WORD_BYTES, Pages
from slipstick_workloads.release_consistency.intervals import IntervalId, IntervalRecords
from slipstick_workloads.release_consistency.protocol import Protocol


class Recorder:
    """The tallies of the current phase, and of the phases that have ended."""

    def __init__(self, processors: int) -> None:
        self.tallies = [ProcessorTally() for _ in range(processors)]
        self.phases: list[CountedPhase] = []
        self.fault_counts = [0] * processors
        """Faults and first misses of each processor so far."""

    def end_phase(self, name: str) -> None:
        """Store the current phase under its name and begin a new one."""
        self.phases.append(CountedPhase(name, tuple(self.tallies)))
        self.tallies = [ProcessorTally() for _ in self.tallies]

    def send(self, kind: str, source: int, target: int, message_bytes: int) -> None:
        """Count a message at its source and at its target."""
        messages_sent = self.tallies[source].sent
        messages_received = self.tallies[target].received
        message_count, total_bytes = messages_sent.get(kind, (0, 0))
        messages_sent[kind] = message_count + 1, total_bytes + message_bytes
        message_count, total_bytes = messages_received.get(kind, (0, 0))
        messages_received[kind] = message_count + 1, total_bytes + message_bytes

    def is_empty(self) -> bool:
        """Return whether nothing was counted since the last barrier."""
        return all(tally == ProcessorTally() for tally in self.tallies)


ABSENT, INVALID, READABLE, WRITABLE, EXCLUSIVE = range(5)
NO_OWNER = -1


class Payload:
    """The content of the protocol's messages: none here; tests use a subclass that carries values,
    to check the protocol.
    """

    def copy(self, source: int, target: int, page: int) -> None:
        """Copy a whole page from one processor to another."""

    def cut(self, writer: int, interval: IntervalId, page: int, word_mask: int) -> None:
        """Make the diff of a page for an interval: these words, with the writer's current
        values.
        """

    def apply(self, target: int, page: int, intervals: Sequence[IntervalId]) -> None:
        """Put the diffs of these intervals into a processor's copy, in this order."""


class SharedPages(ABC):
    """The state of every page at every processor."""

    def __init__(
        self,
        protocol: Protocol,
        processors_pages_and_words: tuple[int, int, int],
        intervals: IntervalRecords,
        recorder: Recorder,
        payload: Payload,
    ) -> None:
        processors, pages, word_count = processors_pages_and_words
        self.protocol = protocol
        self.intervals = intervals
        self.recorder = recorder
        self.payload = payload
        self.processors = processors
        self.page_bytes = word_count * WORD_BYTES
        starts_valid = protocol.start == "valid"
        self.states = np.full((processors, pages), READABLE if starts_valid else ABSENT, np.uint8)
        self.owner_by_page = np.full(pages, 0 if starts_valid else NO_OWNER, np.int64)
        self.written_pages: list[dict[int, None]] = [{} for _ in range(processors)]
        self.pending_intervals: list[dict[int, list[IntervalId]]] = [{} for _ in range(processors)]
        self.stored_bytes = [0] * processors

    def read(self, reader: int, pages: Pages) -> None:
        """Make pages readable for a processor."""
        for page in pages[self.states[reader, pages] < READABLE].tolist():
            self._make_valid(reader, page)

    def write(self, writer: int, pages: Pages, word_masks: Sequence[int]) -> None:
        """Make pages writable for a processor, and record which of their words change."""
        for page in pages[self.states[writer, pages] < WRITABLE].tolist():
            self._make_writable(writer, page)
        self._record_words(writer, pages, word_masks)

    def notice(self, reader: int, interval: IntervalId) -> None:
        """Deliver the write notices of an interval to a processor; its copies that lack these
        writes become invalid.
        """
        pages = self.intervals.pages_written(interval)
        states_of_pages = self.states[reader]
        pending_intervals = self.pending_intervals[reader]
        tally = self.recorder.tallies[reader]
        for page in pages:
            if self._has_applied(reader, page, interval):
                continue
            pending_intervals.setdefault(page, []).append(interval)
            if states_of_pages[page] >= READABLE:
                self._before_invalid(reader, page)
                states_of_pages[page] = INVALID
                tally.invalidated += 1
        tally.notices += len(pages)
        self.stored_bytes[reader] += len(pages) * self.protocol.sizes.notice

    def close(self, writer: int) -> IntervalId | None:
        """End the interval of a processor, if it wrote to a page in it. Return the interval; None
        if there was none.
        """
        if not self.written_pages[writer]:
            return None
        pages = tuple(self.written_pages[writer])
        interval = writer, self.intervals.close(writer, pages)
        self._record_notices(interval, pages)
        self.written_pages[writer] = {}
        self.recorder.tallies[writer].intervals += 1
        self.stored_bytes[writer] += len(pages) * self.protocol.sizes.notice
        return interval

    def holders(self, pages: Sequence[int], excluded_processor: int) -> list[int]:
        """Return the processors, except one, that hold a copy of any of these pages."""
        has_copy = (self.states[:, list(pages)] != ABSENT).any(axis=1)
        return [
            holder for holder in np.flatnonzero(has_copy).tolist() if holder != excluded_processor
        ]

    def collect(self) -> None:
        """Bring every copy of every page up to date; drop all diffs, twins and notices."""
        for processor in range(self.processors):
            invalid_pages = np.flatnonzero(self.states[processor] == INVALID).tolist()
            for page in invalid_pages:
                self._update(processor, page, collecting=True)
                self.states[processor, page] = READABLE
            self.recorder.tallies[processor].collections += 1
        self._drop_diffs()
        for intervals_by_page in self.pending_intervals:
            intervals_by_page.clear()
        self.intervals.forget()
        self.stored_bytes = [0] * self.processors

    def memory_bytes(self, processor: int) -> int:
        """Return the memory of a processor's diffs and notices [B]."""
        return self.stored_bytes[processor]

    def _make_valid(self, reader: int, page: int) -> None:
        """Make a processor's copy of a page valid: fetch it, or update it."""
        if self.states[reader, page] == ABSENT:
            if self.owner_by_page[page] == NO_OWNER:
                self.owner_by_page[page] = reader
                self.states[reader, page] = EXCLUSIVE
                return
            self._fetch_page(reader, page)
        if page in self.pending_intervals[reader]:
            self.recorder.fault_counts[reader] += 1
            self._update(reader, page)
        self.states[reader, page] = READABLE

    def _fetch_page(self, reader: int, page: int) -> None:
        """Fetch a whole page from its owner, for the first time."""
        owner = int(self.owner_by_page[page])
        self.recorder.fault_counts[reader] += 1
        if self.states[owner, page] == EXCLUSIVE:
            self.states[owner, page] = READABLE
        self.send_page(reader, owner, page)
        self.recorder.tallies[reader].empty += 1
        self._record_fetch(reader, owner, page)

    def send_page(self, reader: int, owner: int, page: int) -> None:
        """Count a request for a whole page and its reply."""
        self.recorder.send("request", reader, owner, self.protocol.sizes.request)
        self.recorder.send("page", owner, reader, self.page_bytes)
        self.recorder.tallies[owner].served_pages += 1
        self.payload.copy(owner, reader, page)

    @abstractmethod
    def _make_writable(self, writer: int, page: int) -> None:
        """Handle the first write to a page that is not writable."""

    @abstractmethod
    def _record_words(self, writer: int, pages: Pages, word_masks: Sequence[int]) -> None:
        """Record which words of pages a processor changes."""

    @abstractmethod
    def _has_applied(self, reader: int, page: int, interval: IntervalId) -> bool:
        """Return whether a processor's copy of a page has the writes of an interval already."""

    @abstractmethod
    def _before_invalid(self, reader: int, page: int) -> None:
        """Save the writes of a processor to a page that is about to become invalid."""

    @abstractmethod
    def _record_notices(self, interval: IntervalId, pages: Sequence[int]) -> None:
        """Record an interval that has ended, and the pages that its write notices name."""

    @abstractmethod
    def _record_fetch(self, reader: int, owner: int, page: int) -> None:
        """Record which intervals the copy has that a processor fetched from the owner."""

    @abstractmethod
    def _update(self, reader: int, page: int, *, collecting: bool = False) -> None:
        """Apply all pending write notices of a page to a processor's copy."""

    @abstractmethod
    def _drop_diffs(self) -> None:
        """Delete diffs and twins, since all copies are up to date."""


_Requests = dict[int, list[IntervalId]]


class ManyWriters(SharedPages):
    """Pages of which several processors may write different words at the same time."""

    def __init__(
        self,
        protocol: Protocol,
        processors_pages_and_words: tuple[int, int, int],
        intervals: IntervalRecords,
        recorder: Recorder,
        payload: Payload,
    ) -> None:
        super().__init__(protocol, processors_pages_and_words, intervals, recorder, payload)
        self.word_masks_of_twins: list[dict[int, int]] = [{} for _ in range(self.processors)]
        """The words written since the twin of a page was made, by page."""
        self.twin_interval_by_page: list[dict[int, int]] = [{} for _ in range(self.processors)]
        """The number of the closed interval that names a page with a twin, by page."""
        self.diff_sizes_by_processor: list[dict[tuple[IntervalId, int], int]] = [
            {} for _ in range(self.processors)
        ]
        """The size of each diff that a processor has made or received, by interval and page [B]."""
        self.applied_intervals_by_page: list[dict[int, list[int]]] = [
            {} for _ in range(self.processors)
        ]
        self.applied_at_collection = [0] * self.processors

    def memory_bytes(self, processor: int) -> int:
        """Return the memory of a processor's diffs, twins and notices [B]."""
        return (
            self.stored_bytes[processor]
            + len(self.word_masks_of_twins[processor]) * self.page_bytes
        )

    def _make_writable(self, writer: int, page: int) -> None:
        """Make a page writable for a processor; if others have copies, make a twin of it."""
        if self.states[writer, page] < READABLE:
            self._make_valid(writer, page)
        else:
            self.recorder.tallies[writer].write_faults += 1
        # The page has a twin of an interval that a release has ended.
        if page in self.twin_interval_by_page[writer]:
            self._make_diff(writer, page)
        if self.states[writer, page] != EXCLUSIVE:
            self.word_masks_of_twins[writer][page] = 0
            self.written_pages[writer][page] = None
            self.states[writer, page] = WRITABLE
            self.recorder.tallies[writer].twins += 1

    def _record_words(self, writer: int, pages: Pages, word_masks: Sequence[int]) -> None:
        word_mask_by_page = self.word_masks_of_twins[writer]
        for page_index in (self.states[writer, pages] == WRITABLE).nonzero()[0].tolist():
            word_mask_by_page[int(pages[page_index])] |= word_masks[page_index]

    def _has_applied(self, reader: int, page: int, interval: IntervalId) -> bool:
        writer, interval_number = interval
        return self._applied_intervals(reader, page)[writer] >= interval_number

    def _applied_intervals(self, reader: int, page: int) -> list[int]:
        """Return for each writer the number of its last interval whose diff a copy has."""
        return self.applied_intervals_by_page[reader].get(page, self.applied_at_collection)

    def _before_invalid(self, reader: int, page: int) -> None:
        if page in self.word_masks_of_twins[reader]:
            self._make_diff(reader, page)

    def _record_notices(self, interval: IntervalId, pages: Sequence[int]) -> None:
        """Record which interval names the pages; protect them again if releases end intervals."""
        writer, interval_number = interval
        self.twin_interval_by_page[writer].update(dict.fromkeys(pages, interval_number))
        if self.protocol.grant == "before":
            self.states[writer, list(pages)] = READABLE

    def _record_fetch(self, reader: int, owner: int, page: int) -> None:
        """Record which intervals the copy fetched from the owner has: those of the owner's copy,
        except an interval whose diff may still grow by writes of the owner.
        """
        last_applied = list(self._applied_intervals(owner, page))
        may_diff_grow = self.states[owner, page] == WRITABLE
        open_interval = self.twin_interval_by_page[owner].get(page) if may_diff_grow else None
        last_applied[owner] = (
            self.intervals.closed_counts[owner] if open_interval is None else open_interval - 1
        )
        self.applied_intervals_by_page[reader][page] = last_applied
        missing_intervals = [
            interval
            for interval in self.pending_intervals[reader].pop(page, [])
            if last_applied[interval[0]] < interval[1]
        ]
        if missing_intervals:
            self.pending_intervals[reader][page] = missing_intervals

    def _update(self, reader: int, page: int, *, collecting: bool = False) -> None:
        """Fetch and apply the diffs that a processor's copy of a page lacks."""
        missing_intervals = self.pending_intervals[reader].pop(page)
        requests = self._diffs_to_request(page, missing_intervals)
        reply_bytes = sum(
            self._send_diffs(server, reader, page, intervals)
            for server, intervals in requests.items()
        )
        self.payload.apply(reader, page, self.intervals.sort_by_precedence(missing_intervals))
        last_applied = list(self._applied_intervals(reader, page))
        for writer, interval_number in missing_intervals:
            last_applied[writer] = max(last_applied[writer], interval_number)
        self.applied_intervals_by_page[reader][page] = last_applied
        tally = self.recorder.tallies[reader]
        (tally.collected if collecting else tally.faults)[len(requests), reply_bytes] += 1

    def _diffs_to_request(self, page: int, intervals: Sequence[IntervalId]) -> _Requests:
        """Return the intervals whose diffs are requested from each processor: from their writer, or
        from a later writer that has them as well.
        """
        requests: _Requests = {}
        latest_intervals = (
            self._latest_intervals(intervals) if self.protocol.ask == "latest" else []
        )
        for interval in intervals:
            writer, _ = interval
            later_writers = (
                later_writer
                for later_writer, interval_number in latest_intervals
                if later_writer != writer
                and self._can_pass_on((later_writer, interval_number), interval, page)
            )
            requests.setdefault(next(later_writers, writer), []).append(interval)
        return requests

    def _latest_intervals(self, intervals: Sequence[IntervalId]) -> list[IntervalId]:
        """Return the last interval of each writer, except intervals that precede the last interval
        of another writer.
        """
        last_intervals = list(dict(sorted(intervals)).items())
        return [
            interval
            for interval in last_intervals
            if not any(
                self.intervals.is_known_in(later_interval, interval)
                for later_interval in last_intervals
                if later_interval != interval
            )
        ]

    def _can_pass_on(self, later_interval: IntervalId, interval: IntervalId, page: int) -> bool:
        """Return whether the writer of a later interval has the diff of an earlier interval of a
        page.
        """
        later_writer, _ = later_interval
        return (
            self.intervals.is_known_in(later_interval, interval)
            and (interval, page) in self.diff_sizes_by_processor[later_writer]
        )

    def _send_diffs(
        self, server: int, reader: int, page: int, intervals: Sequence[IntervalId]
    ) -> int:
        """Send the diffs of intervals of a page, made now if necessary. Return the size of the
        reply [B].
        """
        open_interval = self.twin_interval_by_page[server].get(page)
        if open_interval is not None and (server, open_interval) in intervals:
            self._make_diff(server, page)
        reply_size = 0
        for interval in intervals:
            diff_size = self.diff_sizes_by_processor[server][interval, page]
            reply_size += diff_size
            if self.protocol.ask == "latest":
                self._store_diff(reader, interval, page, diff_size)
        self.recorder.send("request", reader, server, self.protocol.sizes.request)
        self.recorder.send("diffs", server, reader, reply_size)
        self.recorder.tallies[server].served_diffs += 1
        return reply_size

    def _make_diff(self, writer: int, page: int) -> None:
        """Make the diff of a page and drop its twin."""
        interval = (writer, self.twin_interval_by_page[writer].pop(page))
        word_mask = self.word_masks_of_twins[writer].pop(page)
        if self.states[writer, page] == WRITABLE:
            self.states[writer, page] = READABLE
        diff_size = self.protocol.sizes.diff_size(word_mask)
        self._store_diff(writer, interval, page, diff_size)
        tally = self.recorder.tallies[writer]
        tally.diffs_made += 1
        tally.diff_bytes_made += diff_size
        self.payload.cut(writer, interval, page, word_mask)

    def _store_diff(self, processor: int, interval: IntervalId, page: int, diff_size: int) -> None:
        """Store the size of a diff that a processor has made or received."""
        self.diff_sizes_by_processor[processor][interval, page] = diff_size
        self.stored_bytes[processor] += diff_size

    def _drop_diffs(self) -> None:
        """Drop all diffs and twins, since every copy is up to date."""
        for processor, word_masks in enumerate(self.word_masks_of_twins):
            self.states[processor, list(word_masks)] = READABLE
        for tables_by_processor in (
            self.word_masks_of_twins,
            self.twin_interval_by_page,
            self.diff_sizes_by_processor,
            self.applied_intervals_by_page,
        ):
            for table in tables_by_processor:
                table.clear()
        self.applied_at_collection = list(self.intervals.closed_counts)


class SingleWriter(SharedPages):
    """Pages that only their owner may write; ownership moves at a write fault."""

    def _make_writable(self, writer: int, page: int) -> None:
        """Make a page writable for a processor, which becomes its owner."""
        owner = int(self.owner_by_page[page])
        if owner == writer:
            self.recorder.tallies[writer].write_faults += 1
        elif owner == NO_OWNER:
            self._make_valid(writer, page)
        else:
            self._become_owner(writer, owner, page)
        if self.states[writer, page] != EXCLUSIVE:
            self.states[writer, page] = WRITABLE
            self.written_pages[writer][page] = None

    def _become_owner(self, writer: int, owner: int, page: int) -> None:
        """Make a processor the owner of a page; the whole page is sent, since others may have
        written to it.
        """
        if self.states[writer, page] == ABSENT:
            self._fetch_page(writer, page)
        else:
            self.recorder.fault_counts[writer] += 1
            self._update(writer, page)
        self.owner_by_page[page] = writer
        self.states[owner, page] = READABLE

    def _record_words(self, writer: int, pages: Pages, word_masks: Sequence[int]) -> None:
        """Record nothing, since whole pages are sent."""

    def _has_applied(self, reader: int, page: int, interval: IntervalId) -> bool:
        return bool(self.owner_by_page[page] == reader)

    def _before_invalid(self, reader: int, page: int) -> None:
        """Save nothing: the writes have moved on with the ownership."""

    def _record_notices(self, interval: IntervalId, pages: Sequence[int]) -> None:
        """Protect the pages that the writer still owns, so that the first write in the next
        interval is noticed.
        """
        writer = interval[0]
        for page in pages:
            if self.states[writer, page] == WRITABLE:
                self.states[writer, page] = READABLE

    def _record_fetch(self, reader: int, owner: int, page: int) -> None:
        self.pending_intervals[reader].pop(page, None)

    def _update(self, reader: int, page: int, *, collecting: bool = False) -> None:
        """Fetch a page again from its owner, so that a processor's copy is up to date."""
        self.send_page(reader, int(self.owner_by_page[page]), page)
        self.pending_intervals[reader].pop(page, None)
        tally = self.recorder.tallies[reader]
        (tally.collected if collecting else tally.faults)[1, self.page_bytes] += 1

    def _drop_diffs(self) -> None:
        """Drop nothing: no diffs are kept."""
