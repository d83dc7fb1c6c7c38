"""The event loop: simulated time, the event list, and the tokens that execute the instructions of a
plan.

Events of one time happen in the order in which they were planned. Tokens woken at one instant run
in the order in which they were woken, before the next event.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from heapq import heappop
from typing import Any

from slipstick.late import dataclass, field


@dataclass(slots=True, eq=False)
class Token:
    """A customer of the population, or one of its branches and pipeline items.

    Parameters
    ----------
    customer, group : numbers of the customer and of its group of customers, from 0
    time_by_label, booked_until : the account: time booked to each label, and the time up to which
        it is booked [s]
    registers, instruction_number : loop counters, and the number of the next instruction
    parent : the token that forked it
    index : number of the branch or item
    destination : the customer that its requests go to
    cycle_start : start of the cycle, or of its response time [s]
    label, wait_label, rank : of the visit or wait under way
    waiting_time, work, requested_work, finish : at a station, time waited, service left and
        requested, and its end [s]
    key, order, queue_place, has_queued, event_cell : at a station or lock, the place in the order
        of service, whether it had to queue, and the planned end
    patience, exit_instruction : at a station, the longest time in its queue (-1: without a limit)
        [s], and the instruction that follows after that
    cut_label, is_cut : 1 plus the label that the time of a service is booked to if the patience
        ends it (0: the patience limits the queue only); whether it ends the one under way
    weight, speed : at a shared station; the speed only where each customer has its own [1]
    cause : the customer that ended the wait
    request_time, excludes, permits : at a lock, time of the request [s], whether no other may hold
        it at the same time, and how many permits are taken
    branches_left, last_end, last_branch, last_branch_times : of a fork, number of branches that are
        waited for; time, index and account of the branch that ended last
    branches : of a fork, all
    previous_item, next_item, stages_passed, awaited_stage : of an item, its neighbours, the number
        of serial stages it has left, and the stage it waits for
    """

    customer: int
    group: int
    time_by_label: list[float]
    registers: list[int]
    parent: Token | None = None
    index: int = 0
    destination: int = 0
    cycle_start: float = 0.0
    booked_until: float = 0.0
    instruction_number: int = 0
    label: int = 0
    wait_label: int = 0
    rank: int = 0
    waiting_time: float = 0.0
    work: float = 0.0
    requested_work: float = 0.0
    finish: float = 0.0
    key: int = 0
    order: int = 0
    queue_place: float = 0.0
    has_queued: bool = False
    event_cell: list[Token | None] = field(default_factory=list)
    patience: float = -1.0
    weight: float = 1.0
    speed: float = 1.0
    exit_instruction: int = 0
    cut_label: int = 0
    is_cut: bool = False
    cause: int | None = None
    request_time: float = 0.0
    excludes: bool = False
    permits: int = 1
    branches_left: int = 0
    last_end: float = -1.0
    last_branch: int = 0
    last_branch_times: list[float] = field(default_factory=list)
    branches: list[Token] = field(default_factory=list)
    previous_item: Token | None = None
    next_item: Token | None = None
    stages_passed: int = 0
    awaited_stage: int = -1


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
        """Execute the instructions of a token until it waits. Return False always, as every action
        returns after which its token waits.
        """
        actions = self.code
        while True:
            instruction_number = token.instruction_number
            token.instruction_number = instruction_number + 1
            if not actions[instruction_number](token, now):
                return False

    def resume(self, token: Token, now: float) -> bool:
        """End a delay: book the time that has passed to the token's label and let it go on."""
        token.time_by_label[token.label] += now - token.booked_until
        if self.log is not None:
            self.log(token.customer, token.index, token.label, token.booked_until, now, None)
        token.booked_until = now
        self.running = token
        return self.go_on(token, now)

    def wake(self, token: Token, now: float) -> None:
        """End a wait: book the waiting time to the token's label, and let the token go on before
        the next event.
        """
        token.time_by_label[token.label] += now - token.booked_until
        if self.log is not None:
            cause = None if self.running is None else self.running.customer
            self.log(token.customer, token.index, token.label, token.booked_until, now, cause)
        token.booked_until = now
        self.ready.append(token)

    def end_visit(self, token: Token, now: float) -> bool:
        """End a visit to a station: book its waiting time and its service time to their labels, and
        let the token go on.
        """
        waiting_time = token.waiting_time
        time_by_label = token.time_by_label
        if waiting_time:
            time_by_label[token.wait_label] += waiting_time
        time_by_label[token.label] += (now - token.booked_until) - waiting_time
        if self.log is not None:
            self._log_visit(token, now)
        token.booked_until = now
        self.running = token
        return self.go_on(token, now)

    def _log_visit(self, token: Token, now: float) -> None:
        """Report a visit that ends: its waiting time, then its service time."""
        assert self.log is not None
        # At a station with rates, company may make a visit shorter than it is alone.
        waiting_time = max(token.waiting_time, 0.0)
        service_start = token.booked_until + waiting_time
        if waiting_time:
            self.log(
                token.customer,
                token.index,
                token.wait_label,
                token.booked_until,
                service_start,
                token.cause,
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
