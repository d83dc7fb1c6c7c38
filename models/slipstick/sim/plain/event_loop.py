"""The event loop: simulated time, the event list, and the tokens that execute the instructions of a
plan.

Events of one time happen in the order in which they were planned. Tokens woken at one instant run
in the order in which they were woken, before the next event.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop
from typing import Any


@dataclass(slots=True, eq=False)
class Token:
    """A customer of the population, or one of its branches and pipeline items.

    Parameters
    ----------
    customer, group : numbers of the customer and of its group of customers, from 0
    booked, since : the account: time booked by label, and the time up to which it is booked [s]
    registers, pc : loop counters, and the number of the next instruction
    parent : the token that forked it
    index : number of the branch or item
    destination : the customer that its requests go to
    begun : start of the cycle, or of its response time [s]
    label, wait, rank : of the visit or wait under way
    waited, work, requested, finish : at a station, time waited, service left and requested, and its
        end [s]
    key, order, place, delayed, event_cell : at a station or lock, the place in the order of
        service, and the planned end
    patience, elsewhere : at a station, how long a queue is waited in (-1: without a limit) [s], and
        the instruction after that
    cuts, cut : the patience limits the service, too, whose time is then booked to the label of this
        number less 1 (0: it does not); and it ends the one under way
    weight, speed : at a shared station; the speed only where each customer has its own [1]
    cause : the customer that ended the wait
    since_request, excludes, permits : at a lock, time of the request [s], whether no other may hold
        it at the same time, and how many permits are taken
    left, last, latest, latest_booked : of a fork, branches that are waited for; time, index and
        account of the one that ended last
    branches : of a fork, all
    before, after, passed, turn : of an item, its neighbours, the serial stages it has left, and the
        stage it waits for
    """

    customer: int
    group: int
    booked: list[float]
    registers: list[int]
    parent: Token | None = None
    index: int = 0
    destination: int = 0
    begun: float = 0.0
    since: float = 0.0
    pc: int = 0
    label: int = 0
    wait: int = 0
    rank: int = 0
    waited: float = 0.0
    work: float = 0.0
    requested: float = 0.0
    finish: float = 0.0
    key: int = 0
    order: int = 0
    place: float = 0.0
    delayed: bool = False
    event_cell: list[Token | None] = field(default_factory=list)
    patience: float = -1.0
    weight: float = 1.0
    speed: float = 1.0
    elsewhere: int = 0
    cuts: int = 0
    cut: bool = False
    cause: int | None = None
    since_request: float = 0.0
    excludes: bool = False
    permits: int = 1
    left: int = 0
    last: float = -1.0
    latest: int = 0
    latest_booked: list[float] = field(default_factory=list)
    branches: list[Token] = field(default_factory=list)
    before: Token | None = None
    after: Token | None = None
    passed: int = 0
    turn: int = -1


Action = Callable[[Token, float], bool]
"""An instruction or an event: takes the token and the time, and says whether the token goes on
at once.
"""

LogTime = Callable[[int, int, int, float, float, int | None], None]
"""Called with (customer, branch or item, label, from, to, customer that ended a wait) for all
time booked.
"""

ObserveResource = Callable[[str, float, float, int, int], None]
"""Called with (resource, from, to, customers present, servers busy) for every interval without a
change.
"""


class EventLoop:
    """Simulated time and the event list.

    Parameters
    ----------
    log, observe : called with all time booked, and with the states of resources, see `LogTime` and
        `ObserveResource`

    Attributes
    ----------
    now : simulated time [s]
    events : number of events so far
    heap : the event list: (time, order of planning, action, token)
    ready : tokens woken at this instant
    code : the action of each instruction
    running : the token that runs
    """

    def __init__(self, log: LogTime | None = None, observe: ObserveResource | None = None) -> None:
        self.heap: list[Any] = []
        self.order = itertools.count().__next__
        self.ready: deque[Token] = deque()
        self.now = 0.0
        self.events = 0
        self.log = log
        self.observe = observe
        self.code: list[Action] = []
        self.running: Token | None = None

    def go_on(self, token: Token, now: float) -> bool:
        """Execute the instructions of a token until it waits; return False always, as the action of
        an event.
        """
        actions = self.code
        while True:
            pc = token.pc
            token.pc = pc + 1
            if not actions[pc](token, now):
                return False

    def resume(self, token: Token, now: float) -> bool:
        """End a delay: book the time that has passed to the token's label and let it go on."""
        token.booked[token.label] += now - token.since
        if self.log is not None:
            self.log(token.customer, token.index, token.label, token.since, now, None)
        token.since = now
        self.running = token
        return self.go_on(token, now)

    def wake(self, token: Token, now: float) -> None:
        """End a wait: book the waiting time to the token's label, and let the token go on before
        the next event.
        """
        token.booked[token.label] += now - token.since
        if self.log is not None:
            cause = None if self.running is None else self.running.customer
            self.log(token.customer, token.index, token.label, token.since, now, cause)
        token.since = now
        self.ready.append(token)

    def served(self, token: Token, now: float) -> bool:
        """End a visit to a station: book its waiting time and its service time to their labels, and
        let the token go on.
        """
        waiting_time = token.waited
        time_by_label = token.booked
        if waiting_time:
            time_by_label[token.wait] += waiting_time
        time_by_label[token.label] += (now - token.since) - waiting_time
        if self.log is not None:
            self._log_visit(token, now)
        token.since = now
        self.running = token
        return self.go_on(token, now)

    def _log_visit(self, token: Token, now: float) -> None:
        """Report a visit that ends: its waiting time, then its service time."""
        assert self.log is not None
        # At a station with rates, company may make a visit shorter than it is alone.
        waiting_time = max(token.waited, 0.0)
        service_start = token.since + waiting_time
        if waiting_time:
            self.log(
                token.customer, token.index, token.wait, token.since, service_start, token.cause
            )
        self.log(token.customer, token.index, token.label, service_start, now, None)

    def run(self, events: int) -> bool:
        """Simulate the next events; return False if the event list becomes empty."""
        heap = self.heap
        self._run_ready()
        for event_count in range(events):
            if not heap:
                self.events += event_count
                return False
            now, _, action, token = heappop(heap)
            self.now = now
            action(token, now)
            if self.ready:
                self._run_ready()
        self.events += events
        return True

    def _run_ready(self) -> None:
        """Run the tokens that are ready at this instant."""
        ready = self.ready
        while ready:
            token = self.running = ready.popleft()
            self.go_on(token, self.now)
