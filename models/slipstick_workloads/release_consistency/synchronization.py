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

from slipstick.errors import ModelError
from slipstick.late import dataclass, field
from slipstick_workloads.release_consistency.intervals import IntervalId, IntervalRecords
from slipstick_workloads.release_consistency.pages import Recorder, SharedPages
from slipstick_workloads.release_consistency.protocol import Protocol


class Notices:
    """The sending of intervals with their write notices between processors."""

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
        self._unsent_intervals: list[list[IntervalId]] = [[] for _ in range(processors)]

    def release(self, processor: int) -> None:
        """End the interval; if release is eager, send its notices now."""
        self._close(processor)
        if self._protocol.release == "eager" and self._unsent_intervals[processor]:
            self._send_notices(processor)

    def knowledge(self, processor: int) -> list[int]:
        """Return for each writer the last interval that a processor knows."""
        return self._intervals.known_intervals[processor]

    def learn_from_giver(
        self, processor: int, giver: int, knowledge_at_release: Sequence[int]
    ) -> int:
        """Add to a processor's knowledge the present knowledge of the processor that gives it a
        lock, or its knowledge when it released the lock. Return the size that this adds to the
        message [B].
        """
        if self._protocol.release == "eager":
            return 0
        sends_present_knowledge = self._protocol.grant == "known"
        return self.learn(
            processor, self.knowledge(giver) if sends_present_knowledge else knowledge_at_release
        )

    def learn(self, processor: int, vector: Sequence[int]) -> int:
        """Add intervals that another processor knows to the knowledge of a processor. Return their
        size in a message [B].
        """
        unknown_intervals = self._intervals.unknown_intervals(processor, vector)
        if not unknown_intervals:
            return 0
        self._close(processor)
        for interval in unknown_intervals:
            self._pages.notice(processor, interval)
        self._intervals.learn(processor, vector)
        return self.size(unknown_intervals)

    def size(self, intervals: Iterable[IntervalId]) -> int:
        """Return the size that intervals add to a message [B]."""
        listed_intervals = list(intervals)
        notice_count = self._intervals.notice_count(listed_intervals)
        return self._protocol.sizes.intervals_size(
            len(listed_intervals), notice_count, self._processors
        )

    def _close(self, processor: int) -> None:
        """End the interval of a processor, and record it."""
        interval = self._pages.close(processor)
        if interval is not None and self._protocol.release == "eager":
            self._unsent_intervals[processor].append(interval)

    def _send_notices(self, processor: int) -> None:
        """Send the notices of a processor to all holders of one of the pages, and wait for their
        acknowledgements.

        Other processors get them with the page when they fetch it, without a message of their own.
        """
        unsent_intervals = self._unsent_intervals[processor]
        self._unsent_intervals[processor] = []
        pages = sorted(
            {
                page
                for interval in unsent_intervals
                for page in self._intervals.pages_written(interval)
            }
        )
        holders = self._pages.holders(pages, processor)
        sizes = self._protocol.sizes
        notice_bytes = self.size(unsent_intervals)
        vector = list(self._intervals.known_intervals[processor])
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
                self._recorder.send("notices", processor, receiver, notice_bytes)
                self._recorder.send("acknowledgement", receiver, processor, sizes.acknowledgement)


@dataclass(slots=True)
class _LockState:
    """The state of a lock: who holds it, who waits for it, and the page faults in its critical
    sections.

    Parameters
    ----------
    manager, last_holder, holder, queue : processors
    knowledge_at_release : for each writer the last interval that the last holder knew at its
        release
    faults_at_grant : page faults of the holder when it got the lock
    fault_count : of all its holders in their sections
    faults_at_request : of these, when each processor in the queue made its request
    """

    manager: int
    last_holder: int
    knowledge_at_release: Sequence[int]
    holder: int | None = None
    queue: deque[int] = field(default_factory=deque)
    faults_at_grant: int = 0
    fault_count: int = 0
    faults_at_request: dict[int, int] = field(default_factory=dict)


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

    def acquire(self, processor: int, lock_number: int) -> tuple[int, bool]:
        """Request a lock. Return the number of messages on the way to its last holder, and whether
        it is granted at once.
        """
        manager = lock_number % self._processors
        no_knowledge = [0] * self._processors
        lock = self._locks.setdefault(lock_number, _LockState(manager, manager, no_knowledge))
        if lock.holder == processor or processor in lock.queue:
            raise ModelError(
                f"processor {processor} requests lock {lock_number}, which it holds already"
            )
        hops = self._send_request(processor, lock)
        if lock.holder is not None:
            self._recorder.tallies[processor].waits += 1
            self._recorder.tallies[processor].ahead += 1 + len(lock.queue)
            lock.queue.append(processor)
            lock.faults_at_request[processor] = lock.fault_count
            return hops, False
        self._grant(processor, lock)
        return hops, True

    def release(self, processor: int, lock_number: int) -> int | None:
        """Release a lock. Return the processor that gets it next; None if no processor waits."""
        lock = self._locks.get(lock_number)
        if lock is None or lock.holder != processor:
            raise ModelError(
                f"processor {processor} releases lock {lock_number}, which it does not hold"
            )
        self._notices.release(processor)
        lock.knowledge_at_release = tuple(self._notices.knowledge(processor))
        lock.holder = None
        lock.fault_count += self._recorder.fault_counts[processor] - lock.faults_at_grant
        if not lock.queue:
            return None
        next_holder = lock.queue.popleft()
        self._recorder.tallies[next_holder].ahead_faults += (
            lock.fault_count - lock.faults_at_request.pop(next_holder)
        )
        self._grant(next_holder, lock)
        return next_holder

    def holders_by_lock(self) -> dict[int, int]:
        """Return the holder of each lock that is held, by the number of the lock."""
        return {
            lock_number: lock.holder
            for lock_number, lock in self._locks.items()
            if lock.holder is not None
        }

    def _send_request(self, processor: int, lock: _LockState) -> int:
        """Send the request by way of the manager to the processor that requested last."""
        last_requester = lock.queue[-1] if lock.queue else lock.last_holder
        route = [hop for hop in (lock.manager, last_requester) if hop != processor]
        hops = 0 if last_requester == processor else len(set(route))
        self._recorder.tallies[processor].acquisitions[hops] += 1
        if hops == 0:
            return 0
        self._recorder.send("lock request", processor, route[0], self._protocol.sizes.lock_request)
        if hops == 2:
            self._recorder.send(
                "lock request", route[0], route[1], self._protocol.sizes.lock_request
            )
            self._recorder.tallies[route[0]].forwarded += 1
        return hops

    def _grant(self, processor: int, lock: _LockState) -> None:
        """Grant a lock to a processor, and count the message that carries it."""
        giver = lock.last_holder
        lock.last_holder = processor
        lock.holder = processor
        lock.faults_at_grant = self._recorder.fault_counts[processor]
        if giver != processor:
            notice_bytes = self._notices.learn_from_giver(
                processor, giver, lock.knowledge_at_release
            )
            reply_bytes = self._protocol.sizes.lock_reply + notice_bytes
            self._recorder.send("lock reply", giver, processor, reply_bytes)
            self._recorder.tallies[giver].granted += 1


MANAGER = 0


class BarrierManager:
    """The barrier of all processors of a program, and its manager."""

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
        self._known_at_barrier = [0] * len(intervals.closed_counts)

    def complete(self) -> None:
        """Pass a barrier: all processors arrive, exchange their write notices, and leave."""
        processors = range(len(self._known_at_barrier))
        for processor in processors:
            self._notices.release(processor)
        for processor in processors[1:]:
            self._send_arrival(processor)
        for processor in processors[1:]:
            self._leave(processor)
        self._known_at_barrier = list(self._intervals.closed_counts)
        if any(
            self._pages.memory_bytes(processor) > self._protocol.collect_above
            for processor in processors
        ):
            self._pages.collect()

    def _send_arrival(self, slave: int) -> None:
        """Count the message with which a slave sends the manager its new intervals since the last
        barrier, including those that it knows from locks.
        """
        message_bytes = self._protocol.sizes.barrier
        if self._protocol.release == "lazy":
            own_intervals = [
                (slave, interval_number)
                for interval_number in range(
                    self._known_at_barrier[slave] + 1, self._intervals.closed_counts[slave] + 1
                )
            ]
            message_bytes += self._notices.size(own_intervals)
            vector = [
                self._intervals.closed_counts[slave] if processor == slave else 0
                for processor in range(len(self._known_at_barrier))
            ]
            self._notices.learn(MANAGER, vector)
        self._recorder.send("arrive", slave, MANAGER, message_bytes)

    def _leave(self, slave: int) -> None:
        """Count the message with which the manager sends a slave the intervals that it lacks."""
        message_bytes = self._protocol.sizes.barrier
        if self._protocol.release == "lazy":
            message_bytes += self._notices.learn(slave, self._intervals.known_intervals[MANAGER])
        self._recorder.send("leave", MANAGER, slave, message_bytes)
