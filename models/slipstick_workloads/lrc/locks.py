"""Locks: each has a fixed manager, who knows its last holder; the holder sends it on with what it has written.

A request goes to the manager, which forwards it to whoever asked last; if the manager asked last, or the asker is
the manager, that is one hop less. Who asks while the lock is taken waits in a queue.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from slipstick.errors import ModelError
from slipstick_workloads.lrc.book import Book
from slipstick_workloads.lrc.notices import Notices
from slipstick_workloads.lrc.protocol import Protocol


@dataclass(slots=True)
class _Lock:
    manager: int
    last: int
    holder: int | None = None
    queue: deque[int] = field(default_factory=deque)


class Locks:
    """All locks of a program, made when they are first asked for."""

    def __init__(self, protocol: Protocol, processors: int, notices: Notices, book: Book) -> None:
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
