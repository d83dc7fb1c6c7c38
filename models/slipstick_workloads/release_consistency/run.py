"""Running a program's accesses through the protocol, one processor's turn after the other.

There is no clock. Who has done least work goes next, of several the one that waited longest, until it works again,
waits for a lock or meets the others; so the same program always gives the same counts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from slipstick.errors import ModelError
from slipstick.program.counts import Counts
from slipstick_workloads.release_consistency.accesses import (
    WORD,
    Access,
    Acquire,
    Arrive,
    Compute,
    Pages,
    Read,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.intervals import IntervalRecords
from slipstick_workloads.release_consistency.pages import ManyWriters, Payload, Recorder, SingleWriter
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.synchronization import BarrierManager, LockManagers, Notices


def run(program: SharedProgram, protocol: Protocol | None = None, carrier: Payload | None = None) -> Counts:
    """Count what a program makes the protocol do.

    Parameters
    ----------
    program : its processors' accesses
    protocol : its parameters; by default lazy release and several writers a page
    carrier : goes along with the messages, to check them

    Raises
    ------
    ModelError : a lock is misused, processors wait for each other for ever, or not all meet at a barrier

    Source of the protocol: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, appendix.
    """
    turns = _Turns(program, protocol or Protocol(), carrier or Payload())
    turns.go()
    page = program.word_count * WORD
    return Counts(program.name, program.processors, page, program.unit, tuple(turns.book.phases))


class _Turns:
    """The processors of a run, and whose turn it is."""

    def __init__(self, program: SharedProgram, protocol: Protocol, carrier: Payload) -> None:
        count = program.processors
        if count < 1 or program.pages < 1 or program.word_count < 1:
            raise ModelError(f"program {program.name} needs at least one processor and one page of one word")
        self.program, self.book = program, Recorder(count)
        intervals = IntervalRecords(count)
        many = protocol.writers == "multiple"
        shape = count, program.pages, program.word_count
        self.pages = (ManyWriters if many else SingleWriter)(protocol, shape, intervals, self.book, carrier)
        notices = Notices(protocol, count, intervals, self.pages, self.book)
        self.locks = LockManagers(protocol, count, notices, self.book)
        self.barriers = BarrierManager(protocol, intervals, self.pages, notices, self.book)
        self.bodies: list[Iterator[Access]] = [program.body(each) for each in range(count)]
        self.done = [0] * count
        self.ready = [(0, each, each) for each in range(count)]
        self.turns = count
        self.arrived: dict[int, str] = {}
        self.ended = 0

    def go(self) -> None:
        """Give turns until all have ended."""
        while self.ready:
            _, _, processor = heapq.heappop(self.ready)
            self._turn(processor)
            if len(self.arrived) == self.program.processors:
                self._meet()
        if self.ended < self.program.processors:
            raise ModelError(f"program {self.program.name} stops: {self._who_waits()}")
        if held := self.locks.held():
            number, holder = next(iter(held.items()))
            raise ModelError(f"processor {holder} ends without releasing lock {number}")
        if not self.book.is_empty():
            self.book.end_phase("end")

    def _turn(self, processor: int) -> None:
        """Let a processor go on until it works, waits or ends."""
        for access in self.bodies[processor]:
            match access:
                case Read(pages):
                    self._check(processor, pages)
                    self.pages.read(processor, pages)
                case Write(pages, words):
                    self._check(processor, pages)
                    self._check_words(processor, pages, words)
                    self.pages.write(processor, pages, words)
                case Compute(amount):
                    if amount < 0:
                        raise ModelError(f"processor {processor} does {amount} units of work; it must be at least 0")
                    self.book.tallies[processor].work += amount
                    self._wake(processor, self.done[processor] + amount)
                    return
                case Acquire(lock):
                    if not self.locks.acquire(processor, lock):
                        return
                case Release(lock):
                    following = self.locks.release(processor, lock)
                    if following is not None:
                        self._wake(following, max(self.done[following], self.done[processor]))
                case Arrive(phase):
                    self.arrived[processor] = phase
                    return
                case _:
                    raise ModelError(f"processor {processor} yields {access!r}, which is no access")
        self.ended += 1

    def _check(self, processor: int, pages: Pages) -> None:
        """Refuse pages that are not there; a page named twice would fault twice."""
        if len(pages) and not (pages[0] >= 0 and pages[-1] < self.program.pages and (pages[1:] > pages[:-1]).all()):
            shown = ", ".join(str(each) for each in pages[:8].tolist())
            last = self.program.pages - 1
            raise ModelError(f"processor {processor} names pages {shown}; they go up, each once, within 0 to {last}")

    def _check_words(self, processor: int, pages: Pages, words: Sequence[int]) -> None:
        count = self.program.word_count
        if len(words) != len(pages) or (words and (min(words) < 0 or max(words) >> count)):
            raise ModelError(
                f"processor {processor} writes {len(pages)} pages; each needs its set of words 0 to {count - 1}"
            )

    def _wake(self, processor: int, done: int) -> None:
        self.done[processor] = done
        self.turns += 1
        heapq.heappush(self.ready, (done, self.turns, processor))

    def _meet(self) -> None:
        names = sorted(set(self.arrived.values()))
        if len(names) > 1:
            raise ModelError(f"processors meet at different barriers: {', '.join(names)}")
        self.barriers.meet()
        self.book.end_phase(names[0])
        self.arrived.clear()
        latest = max(self.done)
        for processor in range(self.program.processors):
            self._wake(processor, latest)

    def _who_waits(self) -> str:
        at_barrier = sorted(self.arrived)
        locks = self.locks.held()
        held = ", ".join(f"lock {lock} by {holder}" for lock, holder in sorted(locks.items())) or "no lock"
        return f"{self.ended} processors have ended, {at_barrier} wait at a barrier, held: {held}"
