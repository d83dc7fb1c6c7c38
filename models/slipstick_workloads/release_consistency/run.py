"""Running the accesses of a program through the protocol, one processor's turn after the other.

A clock orders the turns: of each processor, it counts the work that it did and the messages that it
waited for, a message as the work that the program says it takes (`SharedProgram.message`). A fault
or a first miss takes two messages, a lock those of its request and one more, that of a lock that is
held from its release on. The processor with the earliest time goes next, of several the one that
has waited longest, until it computes, faults, requests a lock or arrives at a barrier; so the same
program always gives the same counts. Service for others, twins and notices take no time of this
clock, and all processors leave a barrier together: the times order the requests for locks, they are
no prediction.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from slipstick.errors import ModelError
from slipstick_workloads.counts import Counts
from slipstick_workloads.release_consistency.accesses import (
    WORD_BYTES,
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
from slipstick_workloads.release_consistency.pages import (
    ManyWriters,
    Payload,
    Recorder,
    SingleWriter,
)
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.synchronization import (
    BarrierManager,
    LockManagers,
    Notices,
)


def run(
    program: SharedProgram, protocol: Protocol | None = None, payload: Payload | None = None
) -> Counts:
    """Run a program through the protocol. Return the counts of its operations.

    Parameters
    ----------
    program : its processors' accesses
    protocol : its parameters; by default lazy release and several writers a page
    payload : content of the messages, to check the protocol

    Raises
    ------
    ModelError : a lock is misused, processors wait for each other without end, or arrive at
        different barriers

    Source of the protocol: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, appendix.
    """
    turns = _Turns(program, protocol or Protocol(), payload or Payload())
    turns.run_all()
    page_bytes = program.word_count * WORD_BYTES
    return Counts(
        program.name, program.processors, page_bytes, program.unit, tuple(turns.recorder.phases)
    )


class _Turns:
    """The processors of a run of a program, with their clocks and the order of their turns."""

    def __init__(self, program: SharedProgram, protocol: Protocol, payload: Payload) -> None:
        processors = program.processors
        if processors < 1 or program.pages < 1 or program.word_count < 1:
            raise ModelError(
                f"program {program.name} needs at least one processor and one page of one word"
            )
        self.program = program
        self.recorder = Recorder(processors)
        intervals = IntervalRecords(processors)
        has_many_writers = protocol.writers == "multiple"
        processors_pages_and_words = processors, program.pages, program.word_count
        self.pages = (ManyWriters if has_many_writers else SingleWriter)(
            protocol, processors_pages_and_words, intervals, self.recorder, payload
        )
        notices = Notices(protocol, processors, intervals, self.pages, self.recorder)
        self.locks = LockManagers(protocol, processors, notices, self.recorder)
        self.barriers = BarrierManager(protocol, intervals, self.pages, notices, self.recorder)
        self.bodies: list[Iterator[Access]] = [
            program.body(processor) for processor in range(processors)
        ]
        self.end_times = [0.0] * processors
        self.turns_queue = [(0.0, processor, processor) for processor in range(processors)]
        self.turns_scheduled = processors
        self.barrier_by_processor: dict[int, str] = {}
        self.ended_count = 0

    def run_all(self) -> None:
        """Run the processors in turn until all have ended."""
        while self.turns_queue:
            _, _, processor = heapq.heappop(self.turns_queue)
            self._run_turn(processor)
            if len(self.barrier_by_processor) == self.program.processors:
                self._complete_barrier()
        if self.ended_count < self.program.processors:
            raise ModelError(f"program {self.program.name} stops: {self._waiting_text()}")
        if holders_by_lock := self.locks.holders_by_lock():
            lock, holder = next(iter(holders_by_lock.items()))
            raise ModelError(f"processor {holder} ends without releasing lock {lock}")
        if not self.recorder.is_empty():
            self.recorder.end_phase("end")

    def _run_turn(self, processor: int) -> None:
        """Run a processor until time passes for it, it waits or ends."""
        fault_counts = self.recorder.fault_counts
        message_time = self.program.message
        for access in self.bodies[processor]:
            faults_before = fault_counts[processor]
            match access:
                case Read(pages):
                    self._check_pages(processor, pages)
                    self.pages.read(processor, pages)
                case Write(pages, word_masks):
                    self._check_pages(processor, pages)
                    self._check_words(processor, pages, word_masks)
                    self.pages.write(processor, pages, word_masks)
                case Compute(amount):
                    if amount < 0:
                        raise ModelError(
                            f"processor {processor} does {amount} units of work; it must be at"
                            " least 0"
                        )
                    self.recorder.tallies[processor].work += amount
                    self._schedule(processor, self.end_times[processor] + amount)
                    return
                case Acquire(lock):
                    hops, is_granted = self.locks.acquire(processor, lock)
                    self.end_times[processor] += hops * message_time
                    if not is_granted:
                        return
                    if hops and message_time:
                        self._schedule(processor, self.end_times[processor] + message_time)
                        return
                case Release(lock):
                    next_holder = self.locks.release(processor, lock)
                    if next_holder is not None:
                        self._schedule(
                            next_holder,
                            max(self.end_times[next_holder], self.end_times[processor])
                            + message_time,
                        )
                case Arrive(phase):
                    self.barrier_by_processor[processor] = phase
                    return
                case _:
                    raise ModelError(
                        f"processor {processor} yields {access!r}, which is not an access"
                    )
            if message_time and fault_counts[processor] > faults_before:
                self._schedule(
                    processor,
                    self.end_times[processor]
                    + 2 * message_time * (fault_counts[processor] - faults_before),
                )
                return
        self.ended_count += 1

    def _check_pages(self, processor: int, pages: Pages) -> None:
        """Raise if an access names pages that do not exist, or names one twice, which would fault
        twice.
        """
        if len(pages) and not (
            pages[0] >= 0 and pages[-1] < self.program.pages and (pages[1:] > pages[:-1]).all()
        ):
            pages_in_words = ", ".join(str(page) for page in pages[:8].tolist())
            last_page = self.program.pages - 1
            raise ModelError(
                f"processor {processor} names pages {pages_in_words}; they must be ascending, each"
                f" once, within 0 to {last_page}"
            )

    def _check_words(self, processor: int, pages: Pages, word_masks: Sequence[int]) -> None:
        """Raise if a write names words that a page does not have."""
        word_count = self.program.word_count
        if len(word_masks) != len(pages) or (
            word_masks and (min(word_masks) < 0 or max(word_masks) >> word_count)
        ):
            raise ModelError(
                f"processor {processor} writes {len(pages)} pages; each needs its set of words 0 to"
                f" {word_count - 1}"
            )

    def _schedule(self, processor: int, end_time: float) -> None:
        """Add a processor to those that wait for their turn, at the end time of its present
        access.
        """
        self.end_times[processor] = end_time
        self.turns_scheduled += 1
        heapq.heappush(self.turns_queue, (end_time, self.turns_scheduled, processor))

    def _complete_barrier(self) -> None:
        """Complete the barrier at which all processors have arrived, and begin the next phase."""
        barrier_names = sorted(set(self.barrier_by_processor.values()))
        if len(barrier_names) > 1:
            raise ModelError(f"processors arrive at different barriers: {', '.join(barrier_names)}")
        self.barriers.complete()
        self.recorder.end_phase(barrier_names[0])
        self.barrier_by_processor.clear()
        latest_end_time = max(self.end_times)
        for processor in range(self.program.processors):
            self._schedule(processor, latest_end_time)

    def _waiting_text(self) -> str:
        """Return in words which processors wait at which barrier or lock."""
        processors_at_barrier = sorted(self.barrier_by_processor)
        holders_by_lock = self.locks.holders_by_lock()
        held_locks_text = (
            ", ".join(
                f"lock {lock} by {holder}" for lock, holder in sorted(holders_by_lock.items())
            )
            or "no lock"
        )
        return (
            f"{self.ended_count} processors have ended, {processors_at_barrier} wait at a barrier,"
            " held:"
            f" {held_locks_text}"
        )
