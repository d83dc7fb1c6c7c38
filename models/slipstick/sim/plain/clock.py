"""The clock of a run: the heap of events, and who goes on at this instant.

At one instant, tokens that were let go run in the order in which they were, before the next event of the
heap; events of one time come in the order they were planned.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from heapq import heappop
from typing import Any

from slipstick.sim.plain.token import Action, Token

__all__ = ["Clock", "Log", "Watch"]

Log = Callable[[int, int, int, float, float, int | None], None]
"""Told (member, branch or item, label, from, to, who ended a wait) for every stretch of time booked."""

Watch = Callable[[str, float, float, int, int], None]
"""Told (resource, from, to, present, busy) for every stretch of time in which nothing changed there."""


class Clock:
    """Time that passes from event to event.

    Parameters
    ----------
    log, watch : told what happens, see `Log` and `Watch`

    Attributes
    ----------
    now : [s]
    events : taken from the heap so far
    heap : (time, order of planning, what happens, to whom)
    ready : tokens let go at this instant
    code : what each instruction does
    actor : the token that runs
    """

    def __init__(self, log: Log | None = None, watch: Watch | None = None) -> None:
        self.heap: list[Any] = []
        self.order = itertools.count().__next__
        self.ready: deque[Token] = deque()
        self.now, self.events, self.log, self.watch = 0.0, 0, log, watch
        self.code: list[Action] = []
        self.actor: Token | None = None
        self.resume = self._make_resume()

    def _make_resume(self) -> Action:
        code = self.code

        def resume(token: Token, now: float) -> bool:
            token.booked[token.label] += now - token.since
            if self.log is not None:
                self.log(token.member, token.index, token.label, token.since, now, None)
            token.since = now
            self.actor = token
            while code[token.pc](token, now):
                pass
            return False

        return resume

    def wake(self, token: Token, now: float) -> None:
        """Book the time waited to the token's label and let it go on."""
        token.booked[token.label] += now - token.since
        if self.log is not None:
            cause = None if self.actor is None else self.actor.member
            self.log(token.member, token.index, token.label, token.since, now, cause)
        token.since = now
        self.ready.append(token)

    def served(self, token: Token, now: float) -> bool:
        """Book a visit that ended, waiting and service apart, and go on."""
        waited = token.waited
        booked = token.booked
        if waited:
            booked[token.wait] += waited
        booked[token.label] += (now - token.since) - waited
        if self.log is not None:
            self._log_visit(token, now)
        token.since = now
        self.actor = token
        code = self.code
        while code[token.pc](token, now):
            pass
        return False

    def _log_visit(self, token: Token, now: float) -> None:
        assert self.log is not None
        begun = token.since + token.waited
        if token.waited:
            self.log(token.member, token.index, token.wait, token.since, begun, token.cause)
        self.log(token.member, token.index, token.label, begun, now, None)

    def run(self, events: int) -> bool:
        """Go through the next events; False when there are none left."""
        heap, ready, code = self.heap, self.ready, self.code
        self._settle()
        for done in range(events):
            if not heap:
                self.events += done
                return False
            now, _, action, token = heappop(heap)
            self.now = now
            action(token, now)
            while ready:
                token = self.actor = ready.popleft()
                while code[token.pc](token, now):
                    pass
        self.events += events
        return True

    def _settle(self) -> None:
        """Run the tokens that begin, before the first event."""
        while self.ready:
            token = self.actor = self.ready.popleft()
            while self.code[token.pc](token, self.now):
                pass
