"""Locks: held by one token at a time, handed over in the order of asking."""

from __future__ import annotations

from collections import deque

from slipstick.sim.plain.clock import Clock
from slipstick.sim.plain.stations import Counted
from slipstick.sim.plain.token import Token

__all__ = ["Lock"]


class Lock(Counted):
    """A lock: held by one token at a time, with the statistics of a station of one server."""

    __slots__ = ("owner", "queue", "watchers")

    def __init__(self, clock: Clock, name: str) -> None:
        super().__init__(clock, name)
        self.owner: Token | None = None
        self.queue: deque[Token] = deque()
        self.watchers: deque[Token] = deque()

    def take(self, token: Token) -> None:
        """Let a token hold the lock."""
        self.owner = token
        self.busy = 1

    def watch(self, token: Token) -> None:
        """Let a token wait until the lock is let go, in its place among those who then go on: that of its key."""
        place = len(self.watchers)
        while place and self.watchers[place - 1].key > token.key:
            place -= 1
        self.watchers.insert(place, token)

    def release(self, now: float) -> None:
        """Hand over to the one who has waited longest, else let all who watch know."""
        self.flush(now)
        self.present -= 1
        self.done += 1
        if self.queue:
            self.owner = self.queue.popleft()
            self.clock.wake(self.owner, now)
            return
        self.owner = None
        self.busy = 0
        while self.watchers:
            self.clock.wake(self.watchers.popleft(), now)
