"""Locks: held by one token at a time, handed over in the order of asking."""

from __future__ import annotations

from collections import deque

from slipstick.sim.plain.clock import Clock
from slipstick.sim.plain.stations import Counted
from slipstick.sim.plain.token import Token

__all__ = ["Lock"]


class Lock(Counted):
    """A lock: held by one token at a time, with the statistics of a station of one server.

    Attributes
    ----------
    taken : how often so far
    waited, squares : waits from asking until holding, and their squares, added up [s, s^2]
    """

    __slots__ = ("owner", "queue", "squares", "taken", "waited", "watchers")

    def __init__(self, clock: Clock, name: str) -> None:
        super().__init__(clock, name)
        self.owner: Token | None = None
        self.queue: deque[Token] = deque()
        self.watchers: deque[Token] = deque()
        self.taken, self.waited, self.squares = 0, 0.0, 0.0

    def ask(self, token: Token, now: float) -> None:
        """Count a token as present from now on."""
        self.flush(now)
        self.present += 1
        token.came = now

    def take(self, token: Token, now: float) -> None:
        """Let a token hold the lock; the integrals are up to date."""
        self.owner = token
        self.busy = 1
        wait = now - token.came
        self.taken += 1
        self.waited += wait
        self.squares += wait * wait

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
            following = self.queue.popleft()
            self.take(following, now)
            self.clock.wake(following, now)
            return
        self.owner = None
        self.busy = 0
        while self.watchers:
            self.clock.wake(self.watchers.popleft(), now)
