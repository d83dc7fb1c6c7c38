"""The event loop: simulated time, the event list, and the tokens that execute the instructions of a plan.

Events of one time happen in the order in which they were planned. Tokens woken at one instant run in the order in which
they were woken, before the next event.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Generator
from heapq import heappop
from typing import Any


class Token:
    """A customer of the population, or one of its branches and pipeline items.

    Parameters
    ----------
    customer : number of the customer, from 0
    group : number of its group of customers
    labels, registers : number of account labels, and of loop counters
    parent : the token that forked it
    index : number of the branch or item
    """

    __slots__ = (
        "after",
        "aim",
        "before",
        "begun",
        "booked",
        "cause",
        "customer",
        "delayed",
        "finish",
        "generator",
        "group",
        "index",
        "key",
        "label",
        "last",
        "latest",
        "latest_booked",
        "left",
        "order",
        "parent",
        "passed",
        "pc",
        "place",
        "rank",
        "registers",
        "requested",
        "since",
        "since_request",
        "ticket",
        "turn",
        "wait",
        "waited",
        "work",
    )

    def __init__(
        self, customer: int, group: int, labels: int, registers: int, parent: Token | None = None, index: int = 0
    ) -> None:
        self.customer, self.group, self.parent, self.index = customer, group, parent, index
        self.pc = 0
        self.aim: int = 0 if parent is None else parent.aim
        self.registers = [0] * registers
        # The account: time booked by label, up to `since` [s].
        self.booked = [0.0] * labels
        self.begun = self.since = 0.0
        self.label = self.wait = self.rank = 0
        # At a station: service left and requested [s], its end, and the place in the order of service.
        self.waited = self.work = self.requested = self.finish = 0.0
        self.key = self.order = 0
        self.place = 0.0
        self.delayed = False
        self.cause: int | None = None
        # At a lock: time of the request [s].
        self.since_request = 0.0
        # A fork: branches that are not finished, and the account of the branch that ended last.
        self.left, self.last, self.latest = 0, -1.0, 0
        self.latest_booked = self.booked
        # A pipeline item: its neighbours, the serial stages it has left, and the stage it waits for.
        self.before: Token | None = None
        self.after: Token | None = None
        self.passed, self.turn = 0, -1
        self.ticket: list[Token | None] = []
        self.generator: Generator[Action, Any, Any] | None = None


Action = Callable[[Token, float], bool]
"""An instruction or an event: takes the token and the time, and says whether the token goes on at once."""

LogTime = Callable[[int, int, int, float, float, int | None], None]
"""Called with (customer, branch or item, label, from, to, customer that ended a wait) for all time booked."""

ObserveResource = Callable[[str, float, float, int, int], None]
"""Called with (resource, from, to, customers present, servers busy) for every interval without a change."""


class EventLoop:
    """Simulated time and the event list.

    Parameters
    ----------
    log, observe : called with all time booked, and with the states of resources, see `LogTime` and `ObserveResource`

    Attributes
    ----------
    now : simulated time [s]
    events : number of events so far
    heap : the event list: (time, order of planning, action, token)
    ready : tokens woken at this instant
    code : the action of each instruction
    actor : the token that runs
    """

    def __init__(self, log: LogTime | None = None, observe: ObserveResource | None = None) -> None:
        self.heap: list[Any] = []
        self.order = itertools.count().__next__
        self.ready: deque[Token] = deque()
        self.now, self.events, self.log, self.observe = 0.0, 0, log, observe
        self.code: list[Action] = []
        self.actor: Token | None = None
        self.resume = self._make_resume()

    def _make_resume(self) -> Action:
        code = self.code

        def resume(token: Token, now: float) -> bool:
            token.booked[token.label] += now - token.since
            if self.log is not None:
                self.log(token.customer, token.index, token.label, token.since, now, None)
            token.since = now
            self.actor = token
            while code[token.pc](token, now):
                pass
            return False

        return resume

    def wake(self, token: Token, now: float) -> None:
        """Book the waiting time to the token's label and let it go on."""
        token.booked[token.label] += now - token.since
        if self.log is not None:
            cause = None if self.actor is None else self.actor.customer
            self.log(token.customer, token.index, token.label, token.since, now, cause)
        token.since = now
        self.ready.append(token)

    def served(self, token: Token, now: float) -> bool:
        """Book a visit that ended, waiting and service apart, and let the token go on."""
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
            self.log(token.customer, token.index, token.wait, token.since, begun, token.cause)
        self.log(token.customer, token.index, token.label, begun, now, None)

    def run(self, events: int) -> bool:
        """Simulate the next events; False when the event list is empty."""
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
        """Run the tokens that are ready before the first event."""
        while self.ready:
            token = self.actor = self.ready.popleft()
            while self.code[token.pc](token, self.now):
                pass
