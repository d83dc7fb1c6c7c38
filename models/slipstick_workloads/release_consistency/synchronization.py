"""Write notices on their way: with the next acquire if release is lazy, at once if it is eager.

Locks: each has a fixed manager, who knows its last holder; the holder sends it on with what it has written.

A request goes to the manager, which forwards it to whoever asked last; if the manager asked last, or the asker is
the manager, that is one hop less. Who asks while the lock is taken waits in a queue.

Barriers: everybody sends its new intervals to the manager, who merges them and sends each what it lacks.

The manager is processor 0. When diffs, twins and notices of any processor take too much memory, everybody brings
all its pages up to date at the end of the barrier, and they are dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from slipstick.errors import ModelError
from slipstick_workloads.release_consistency.intervals import Interval, IntervalRecords
from slipstick_workloads.release_consistency.pages import Recorder, SharedPages
from slipstick_workloads.release_consistency.protocol import Protocol


class Notices:
    """Carries intervals with their write notices between processors."""

    def __init__(
        self, protocol: Protocol, processors: int, intervals: IntervalRecords, pages: SharedPages, book: Recorder
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


@dataclass(slots=True)
class _Lock:
    manager: int
    last: int
    holder: int | None = None
    queue: deque[int] = field(default_factory=deque)


class LockManagers:
    """All locks of a program, made when they are first asked for."""

    def __init__(self, protocol: Protocol, processors: int, notices: Notices, book: Recorder) -> None:
        self._protocol, self._processors, self._notices, self._book = protocol, processors, notices, book
        self._locks: dict[int, _Lock] = {}

    def acquire(self, processor: int, number: int) -> bool:
        """Ask for a lock; say whether it is granted at once."""
        manager = number % self._processors
        lock = self._locks.setdefault(number, _Lock(manager, manager))
        if lock.holder == processor or processor in lock.queue:
            raise ModelError(f"processor {processor} asks for lock {number}, which it holds already")
        self._ask(processor, lock)
        if lock.holder is not None:
            self._book.tallies[processor].waits += 1
            self._book.tallies[processor].ahead += 1 + len(lock.queue)
            lock.queue.append(processor)
            return False
        self._grant(processor, lock)
        return True

    def release(self, processor: int, number: int) -> int | None:
        """Release a lock; give who is granted it now, if somebody waits."""
        lock = self._locks.get(number)
        if lock is None or lock.holder != processor:
            raise ModelError(f"processor {processor} releases lock {number}, which it does not hold")
        self._notices.release(processor)
        lock.holder = None
        if not lock.queue:
            return None
        following = lock.queue.popleft()
        self._grant(following, lock)
        return following

    def held(self) -> dict[int, int]:
        """Give the locks that are taken, and their holders."""
        return {number: lock.holder for number, lock in self._locks.items() if lock.holder is not None}

    def _ask(self, processor: int, lock: _Lock) -> None:
        """Send the request to who asked last, by way of the manager."""
        asked_last = lock.queue[-1] if lock.queue else lock.last
        way = [each for each in (lock.manager, asked_last) if each != processor]
        hops = 0 if asked_last == processor else len(set(way))
        self._book.tallies[processor].acquisitions[hops] += 1
        if hops == 0:
            return
        self._book.send("lock request", processor, way[0], self._protocol.sizes.lock_request)
        if hops == 2:
            self._book.send("lock request", way[0], way[1], self._protocol.sizes.lock_request)
            self._book.tallies[way[0]].forwarded += 1

    def _grant(self, processor: int, lock: _Lock) -> None:
        giver, lock.last, lock.holder = lock.last, processor, processor
        if giver != processor:
            size = self._protocol.sizes.lock_reply + self._notices.acquire(processor, giver)
            self._book.send("lock reply", giver, processor, size)
            self._book.tallies[giver].granted += 1


MANAGER = 0


class BarrierManager:
    """Where all processors meet."""

    def __init__(
        self, protocol: Protocol, intervals: IntervalRecords, pages: SharedPages, notices: Notices, book: Recorder
    ):
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
