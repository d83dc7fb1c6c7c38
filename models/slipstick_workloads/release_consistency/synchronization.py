"""Write notices, and the locks and barriers that carry them between processors.

Notices are sent with the next acquire if release is lazy, at once if it is eager.

Locks: each has a fixed manager, which knows its last holder. A request goes to the manager, which
forwards it to the processor that requested last; if that is the manager, or the requester is the
manager, there is one hop less. A request for a lock that is held waits in a queue. The holder
passes the lock on with its write notices.

Barriers: every processor sends its new intervals to the manager, processor 0, which merges them and
sends each one what it lacks. When diffs, twins and notices of any processor take too much memory,
all processors bring all their pages up to date at the end of the barrier, and the diffs, twins and
notices are dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from slipstick.errors import ModelError
from slipstick_workloads.release_consistency.intervals import IntervalId, IntervalRecords
from slipstick_workloads.release_consistency.pages import Recorder, SharedPages
from slipstick_workloads.release_consistency.protocol import Protocol


class Notices:
    """Carry intervals with their write notices between processors."""

    def __init__(
        self,
        protocol: Protocol,
        processors: int,
        intervals: IntervalRecords,
        pages: SharedPages,
        recorder: Recorder,
    ) -> None:
        self._protocol = protocol
        self._processors = processors
        self._recorder = recorder
        self._intervals = intervals
        self._pages = pages
        self._unsent: list[list[IntervalId]] = [[] for _ in range(processors)]

    def release(self, processor: int) -> None:
        """End the interval; if release is eager, send its notices now."""
        self._close(processor)
        if self._protocol.release == "eager" and self._unsent[processor]:
            self._send(processor)

    def knowledge(self, processor: int) -> list[int]:
        """Return for each writer the last interval that a processor knows."""
        return self._intervals.seen[processor]

    def learn_from_giver(self, processor: int, giver: int, released: Sequence[int]) -> int:
        """Pass the giver's knowledge to a processor, as it is now or as it was when the giver
        released the lock; give the size that it adds to the giver's message [B].
        """
        if self._protocol.release == "eager":
            return 0
        sends_known = self._protocol.grant == "known"
        return self.learn(processor, self.knowledge(giver) if sends_known else released)

    def learn(self, processor: int, vector: Sequence[int]) -> int:
        """Pass intervals that are known elsewhere to a processor; give their size in a message
        [B].
        """
        fresh = self._intervals.unseen(processor, vector)
        if not fresh:
            return 0
        self._close(processor)
        for interval in fresh:
            self._pages.notice(processor, interval)
        self._intervals.learn(processor, vector)
        return self.size(fresh)

    def size(self, intervals: Iterable[IntervalId]) -> int:
        """Return the size that intervals add to a message [B]."""
        interval_list = list(intervals)
        notices = self._intervals.notices(interval_list)
        return self._protocol.sizes.intervals_of(len(interval_list), notices, self._processors)

    def _close(self, processor: int) -> None:
        closed = self._pages.close(processor)
        if closed is not None and self._protocol.release == "eager":
            self._unsent[processor].append(closed)

    def _send(self, processor: int) -> None:
        """Send the notices to all holders of one of the pages, and wait for their acknowledgements.

        Other processors get them with the page when they fetch it, without a message of their own.
        """
        unsent = self._unsent[processor]
        self._unsent[processor] = []
        pages = sorted({page for interval in unsent for page in self._intervals.pages(interval)})
        holders = self._pages.holders(pages, processor)
        sizes = self._protocol.sizes
        size = self.size(unsent)
        vector = list(self._intervals.seen[processor])
        for receiver in range(self._processors):
            if receiver != processor:
                self.learn(
                    receiver,
                    [
                        vector[writer] if writer == processor else 0
                        for writer in range(self._processors)
                    ],
                )
            if receiver in holders:
                self._recorder.send("notices", processor, receiver, size)
                self._recorder.send("acknowledgement", receiver, processor, sizes.acknowledgement)


@dataclass(slots=True)
class _LockState:
    """The state of a lock: who holds it, who waits for it, and the page faults in its critical
    sections.

    Parameters
    ----------
    manager, last_holder, holder, queue : processors
    released : for each writer the last interval that the last holder knew at its release
    faults_at_grant : page faults of the holder when it got the lock
    faults : of all its holders in their sections
    seen : of these, when each processor in the queue made its request
    """

    manager: int
    last_holder: int
    released: Sequence[int]
    holder: int | None = None
    queue: deque[int] = field(default_factory=deque)
    faults_at_grant: int = 0
    faults: int = 0
    seen: dict[int, int] = field(default_factory=dict)


class LockManagers:
    """All locks of a program, made when they are first requested."""

    def __init__(
        self, protocol: Protocol, processors: int, notices: Notices, recorder: Recorder
    ) -> None:
        self._protocol = protocol
        self._processors = processors
        self._notices = notices
        self._recorder = recorder
        self._locks: dict[int, _LockState] = {}

    def acquire(self, processor: int, number: int) -> tuple[int, bool]:
        """Request a lock; give the messages on the way to its last holder, and say whether it is
        granted at once.
        """
        manager = number % self._processors
        unknown = [0] * self._processors
        lock = self._locks.setdefault(number, _LockState(manager, manager, unknown))
        if lock.holder == processor or processor in lock.queue:
            raise ModelError(
                f"processor {processor} requests lock {number}, which it holds already"
            )
        hops = self._request(processor, lock)
        if lock.holder is not None:
            self._recorder.tallies[processor].waits += 1
            self._recorder.tallies[processor].ahead += 1 + len(lock.queue)
            lock.queue.append(processor)
            lock.seen[processor] = lock.faults
            return hops, False
        self._grant(processor, lock)
        return hops, True

    def release(self, processor: int, number: int) -> int | None:
        """Release a lock; give the processor that gets it now, if any waits."""
        lock = self._locks.get(number)
        if lock is None or lock.holder != processor:
            raise ModelError(
                f"processor {processor} releases lock {number}, which it does not hold"
            )
        self._notices.release(processor)
        lock.released = tuple(self._notices.knowledge(processor))
        lock.holder = None
        lock.faults += self._recorder.fault_counts[processor] - lock.faults_at_grant
        if not lock.queue:
            return None
        following = lock.queue.popleft()
        self._recorder.tallies[following].ahead_faults += lock.faults - lock.seen.pop(following)
        self._grant(following, lock)
        return following

    def held(self) -> dict[int, int]:
        """Return the locks that are held, and their holders."""
        return {
            number: lock.holder for number, lock in self._locks.items() if lock.holder is not None
        }

    def _request(self, processor: int, lock: _LockState) -> int:
        """Send the request by way of the manager to the processor that requested last."""
        last = lock.queue[-1] if lock.queue else lock.last_holder
        way = [
            processor_on_way
            for processor_on_way in (lock.manager, last)
            if processor_on_way != processor
        ]
        hops = 0 if last == processor else len(set(way))
        self._recorder.tallies[processor].acquisitions[hops] += 1
        if hops == 0:
            return 0
        self._recorder.send("lock request", processor, way[0], self._protocol.sizes.lock_request)
        if hops == 2:
            self._recorder.send("lock request", way[0], way[1], self._protocol.sizes.lock_request)
            self._recorder.tallies[way[0]].forwarded += 1
        return hops

    def _grant(self, processor: int, lock: _LockState) -> None:
        giver = lock.last_holder
        lock.last_holder = processor
        lock.holder = processor
        lock.faults_at_grant = self._recorder.fault_counts[processor]
        if giver != processor:
            notice_bytes = self._notices.learn_from_giver(processor, giver, lock.released)
            size = self._protocol.sizes.lock_reply + notice_bytes
            self._recorder.send("lock reply", giver, processor, size)
            self._recorder.tallies[giver].granted += 1


MANAGER = 0


class BarrierManager:
    """The barrier of all processors."""

    def __init__(
        self,
        protocol: Protocol,
        intervals: IntervalRecords,
        pages: SharedPages,
        notices: Notices,
        recorder: Recorder,
    ):
        self._protocol = protocol
        self._intervals = intervals
        self._pages = pages
        self._notices = notices
        self._recorder = recorder
        self._known = [0] * len(intervals.closed)

    def complete(self) -> None:
        """Pass a barrier: all processors arrive, exchange their write notices, and leave."""
        everyone = range(len(self._known))
        for processor in everyone:
            self._notices.release(processor)
        for processor in everyone[1:]:
            self._arrive(processor)
        for processor in everyone[1:]:
            self._leave(processor)
        self._known = list(self._intervals.closed)
        if any(
            self._pages.memory(processor) > self._protocol.collect_above for processor in everyone
        ):
            self._pages.collect()

    def _arrive(self, slave: int) -> None:
        """Send the manager the slave's intervals since the last barrier; it may know some from
        locks.
        """
        size = self._protocol.sizes.barrier
        if self._protocol.release == "lazy":
            own_intervals = [
                (slave, number)
                for number in range(self._known[slave] + 1, self._intervals.closed[slave] + 1)
            ]
            size += self._notices.size(own_intervals)
            vector = [
                self._intervals.closed[slave] if processor == slave else 0
                for processor in range(len(self._known))
            ]
            self._notices.learn(MANAGER, vector)
        self._recorder.send("arrive", slave, MANAGER, size)

    def _leave(self, slave: int) -> None:
        size = self._protocol.sizes.barrier
        if self._protocol.release == "lazy":
            size += self._notices.learn(slave, self._intervals.seen[MANAGER])
        self._recorder.send("leave", MANAGER, slave, size)
