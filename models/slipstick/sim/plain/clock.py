"""The clock of a run: the heap of events; and tokens, which run the instructions of a plan."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Generator
from heapq import heappop
from typing import Any


class Token:
    """A member of the population, or one of the branches and items that it has under way.

    Parameters
    ----------
    member : number of the member, from 0
    group : number of its class
    labels, registers : how many of each it keeps
    parent : who forked it
    index : number of the branch or item
    """

    __slots__ = (
        "after",
        "aim",
        "asked",
        "before",
        "begun",
        "best",
        "booked",
        "came",
        "cause",
        "delayed",
        "finish",
        "generator",
        "group",
        "index",
        "key",
        "label",
        "last",
        "left",
        "line",
        "member",
        "order",
        "parent",
        "passed",
        "pc",
        "rank",
        "registers",
        "since",
        "ticket",
        "turn",
        "wait",
        "waited",
        "work",
    )

    def __init__(
        self, member: int, group: int, labels: int, registers: int, parent: Token | None = None, index: int = 0
    ) -> None:
        self.member, self.group, self.parent, self.index = member, group, parent, index
        self.pc = 0
        self.aim: int = 0 if parent is None else parent.aim
        self.registers = [0] * registers
        # The account: booked up to `since`, by label.
        self.booked = [0.0] * labels
        self.begun = self.since = 0.0
        self.label = self.wait = self.rank = 0
        # At a station: work left and asked for, when it is done, place in the order of service.
        self.waited = self.work = self.asked = self.finish = 0.0
        self.key = self.order = 0
        self.delayed = False
        self.cause: int | None = None
        # At a lock: since when it is asked for [s].
        self.came = 0.0
        # A fork under way: how many are still out, and the line of the one that came in last.
        self.left, self.last, self.best = 0, -1.0, 0
        self.line = self.booked
        # A pipeline under way: neighbours, serial stages left behind, and the one whose turn is awaited.
        self.before: Token | None = None
        self.after: Token | None = None
        self.passed, self.turn = 0, -1
        self.ticket: list[Token | None] = []
        self.generator: Generator[Action, Any, Any] | None = None


Action = Callable[[Token, float], bool]
"""An instruction, or what an event does: takes the token and the time, says whether the token goes on."""

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
