"""Stations by discipline, and locks.

Each keeps the time integrals of the customers present and of the servers busy, so that Little's law
holds exactly on the sample path: mean number present = rate of departures x mean time present.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from heapq import heappop, heappush

from slipstick.sim.plain.event_loop import EventLoop, Token
from slipstick.sim.plan.plan import COUNTER, BreakerRule, LockPlan, PoolPlan, StationPlan
from slipstick.vocabulary import ARRIVAL, DISCIPLINES, RANDOM, REVERSE, SHARED

NEVER_WAITED = 1e-9
"""A relative waiting time below this is rounding of the clock, and counts as none."""


class QueueStatistics:
    """Statistics of a station or a lock: integrals over time of the customers present and the
    servers busy.

    Parameters
    ----------
    event_loop : event loop of the run
    name : in answers

    Attributes
    ----------
    present_time, busy_time : integrals over time of customers present and servers busy [s]
    ended_visits : visits that ended, with those that were abandoned in the queue
    counted_until : time up to which the integrals reach [s]
    """

    __slots__ = (
        "busy_count",
        "busy_time",
        "counted_until",
        "ended_visits",
        "event_loop",
        "name",
        "present_count",
        "present_time",
    )

    def __init__(self, event_loop: EventLoop, name: str) -> None:
        self.event_loop = event_loop
        self.name = name
        self.present_count = self.busy_count = self.ended_visits = 0
        self.present_time = self.busy_time = self.counted_until = 0.0

    def accumulate(self, now: float) -> None:
        """Extend the integrals up to the present time."""
        elapsed = now - self.counted_until
        self.present_time += self.present_count * elapsed
        self.busy_time += self.busy_count * elapsed
        if self.event_loop.observe is not None and elapsed:
            self.event_loop.observe(
                self.name, self.counted_until, now, self.present_count, self.busy_count
            )
        self.counted_until = now


class PatientQueue(QueueStatistics):
    """A queue that customers abandon when their patience ends."""

    __slots__ = ()

    def plan_abandonment(self, token: Token, now: float) -> None:
        """Plan the time at which a customer abandons the queue; the event is void if its service
        begins before.
        """
        token.event_cell = [token]
        heappush(
            self.event_loop.heap,
            (now + token.patience, self.event_loop.order(), self._abandon, token.event_cell),
        )

    def _abandon(self, event_cell: list[Token | None], now: float) -> bool:
        """Remove a customer whose patience has ended from the queue, book its time there as waiting
        time, and continue it at its exit instruction.
        """
        token = event_cell[0]
        if token is None:
            return False
        self.accumulate(now)
        self.present_count -= 1
        self.ended_visits += 1
        self.leave_queue(token, now)
        token.label = token.wait_label
        token.instruction_number = token.exit_instruction
        token.patience = -1.0
        return self.event_loop.resume(token, now)

    def leave_queue(self, token: Token, now: float) -> None:
        """Take a customer out of the queue."""
        raise NotImplementedError


class SimulatedStation(PatientQueue):
    """Servers with a queue.

    Attributes
    ----------
    counts_work : whether customers choose the station by the work left there
    requested_work, busy_time_before : service requested since the station was last empty, and
        `busy_time` at that moment, where work is counted [s]
    extra_time : of a station with rates, times of its visits beyond those of a customer alone [s]
    given_up_time : times of the services that were given up [s]
    """

    __slots__ = (
        "busy_time_before",
        "counts_work",
        "extra_time",
        "given_up_time",
        "requested_work",
        "servers",
    )

    def __init__(self, event_loop: EventLoop, plan: StationPlan) -> None:
        super().__init__(event_loop, plan.name)
        self.servers = plan.servers
        self.counts_work = False
        self.extra_time = self.given_up_time = self.busy_time_before = self.requested_work = 0.0

    def add_work(self, work: float) -> None:
        """Count the work of a visit that begins."""
        if not self.present_count:
            self.requested_work = 0.0
            self.busy_time_before = self.busy_time
        self.requested_work += work

    def limit_service(self, token: Token, work: float, now: float) -> float:
        """Return the duration of a service that begins now and whose visit may have a time limit:
        its work or, if the limit ends it before, the time that is left to the limit [s].
        """
        if token.patience >= 0:
            time_left = token.patience - (now - token.booked_until)
            if time_left < work:
                token.is_cut = True
                self.requested_work -= work - time_left
                return time_left
        return work

    def give_up_service(self, token: Token, now: float) -> None:
        """Continue a customer whose time limit has ended its service at its exit instruction; the
        time of the service is booked to a label of its own.
        """
        token.is_cut = False
        token.instruction_number = token.exit_instruction
        token.label = token.cut_label - 1
        self.given_up_time += now - token.booked_until - token.waiting_time

    def work_per_server(self, now: float) -> float:
        """Return the remaining work of all customers present, divided by the servers [s]."""
        if not self.present_count:
            return 0.0
        work_done = (
            self.busy_time + self.busy_count * (now - self.counted_until) - self.busy_time_before
        )
        return (self.requested_work - work_done) / self.servers

    def enter(self, token: Token, work: float, now: float) -> None:
        """Begin a visit that needs `work` seconds of a server."""
        raise NotImplementedError


class Fcfs(SimulatedStation):
    """First come, first served, by one or more servers."""

    __slots__ = ("leave_action", "queue")

    def __init__(self, event_loop: EventLoop, plan: StationPlan) -> None:
        super().__init__(event_loop, plan)
        self.queue: deque[Token] = deque()
        self.leave_action = self.leave

    def enter(self, token: Token, work: float, now: float) -> None:
        """Begin service, or queue."""
        self.accumulate(now)
        if self.counts_work:
            self.add_work(work)
        self.present_count += 1
        if self.busy_count < self.servers:
            self.busy_count += 1
            token.waiting_time = 0.0
            end_time = now + (self.limit_service(token, work, now) if token.cut_label else work)
            token.patience = -1.0
            heappush(
                self.event_loop.heap, (end_time, self.event_loop.order(), self.leave_action, token)
            )
        else:
            token.work = work
            self.queue.append(token)
            if token.patience >= 0:
                self.plan_abandonment(token, now)

    def leave_queue(self, token: Token, now: float) -> None:
        """Take a customer out of the queue."""
        self.requested_work -= token.work
        self.queue.remove(token)

    def leave(self, token: Token, now: float) -> bool:
        """End a visit; the first customer of the queue begins its service."""
        self.accumulate(now)
        self.present_count -= 1
        self.ended_visits += 1
        if self.queue:
            next_token = self.queue.popleft()
            next_token.waiting_time = now - next_token.booked_until
            next_token.cause = token.customer
            work = next_token.work
            end_time = now + (
                self.limit_service(next_token, work, now) if next_token.cut_label else work
            )
            if next_token.patience >= 0:
                next_token.patience = -1.0
                next_token.event_cell[0] = None
            heappush(
                self.event_loop.heap,
                (end_time, self.event_loop.order(), self.leave_action, next_token),
            )
        else:
            self.busy_count -= 1
        if token.is_cut:
            self.give_up_service(token, now)
        return self.event_loop.end_visit(token, now)


class Ordered(SimulatedStation):
    """Priorities and last come first served: lower keys are served first, ties in the order of
    arrival.

    With preemption, a customer whose service is interrupted resumes it later with the time left.
    With overtime, customers of rank 0 begin at once: these are servers that go off duty, whose
    services under way end beside them.
    """

    __slots__ = ("arrival_count", "last_first", "overtime", "preempts", "queue", "serving")

    def __init__(self, event_loop: EventLoop, plan: StationPlan) -> None:
        super().__init__(event_loop, plan)
        discipline = DISCIPLINES[plan.discipline]
        self.last_first = discipline.order == REVERSE
        self.preempts = discipline.preemptive
        self.overtime = plan.overtime
        self.queue: list[tuple[int, int, Token]] = []
        self.serving: list[Token] = []
        self.arrival_count = 0

    def enter(self, token: Token, work: float, now: float) -> None:
        """Begin the service of a customer, or queue the customer. Where the discipline preempts,
        the new service interrupts the service of a customer who comes later in the order.
        """
        self.accumulate(now)
        if self.counts_work:
            self.add_work(work)
        self.present_count += 1
        self.arrival_count += 1
        token.order = self.arrival_count
        token.key = -self.arrival_count if self.last_first else token.rank
        token.work = token.requested_work = work
        token.has_queued = False
        if self.busy_count < self.servers or (self.overtime and token.rank == 0):
            self.busy_count += 1
            self._begin_service(token, now)
            return
        if self.preempts:
            # Of equal keys the one that came last is interrupted first.
            interrupted_token = max(self.serving, key=lambda token: (token.key, token.order))
            if (token.key, token.order) < (interrupted_token.key, interrupted_token.order):
                self.serving.remove(interrupted_token)
                self._interrupt(interrupted_token, now)
                self._add_to_queue(interrupted_token)
                self._begin_service(token, now)
                return
        self._add_to_queue(token)
        if token.patience >= 0:
            self.plan_abandonment(token, now)

    def leave_queue(self, token: Token, now: float) -> None:
        """Take a customer out of the queue."""
        self.requested_work -= token.work
        self.queue.remove((token.key, token.order, token))

    def _begin_service(self, token: Token, now: float) -> None:
        """Begin the service of a token, and cancel its planned abandonment."""
        # The planned event is still the abandonment, which the service prevents.
        if token.patience >= 0 and token.has_queued:
            token.event_cell[0] = None
        # Services with a limit are not interrupted, so that one begins once; the label may be that
        # of a visit before.
        if token.cut_label and token.patience >= 0:
            token.work = token.requested_work = self.limit_service(token, token.work, now)
        token.patience = -1.0
        self.serving.append(token)
        self._plan_end(token, now)

    def _plan_end(self, token: Token, now: float) -> None:
        """Plan the end of a service that begins or continues."""
        token.finish = now + token.work
        token.event_cell = [token]
        heappush(
            self.event_loop.heap,
            (token.finish, self.event_loop.order(), self._end, token.event_cell),
        )

    def _interrupt(self, token: Token, now: float) -> None:
        """Interrupt a service; the work that is left is done later."""
        # The end of the service stays in the event list; without its token it is passed over when
        # its time comes.
        token.event_cell[0] = None
        token.work = token.finish - now

    def _add_to_queue(self, token: Token) -> None:
        token.has_queued = True
        insort(self.queue, (token.key, token.order, token))

    def _waiting_time(self, token: Token, now: float) -> float:
        """Return the waiting time of a visit that has ended [s]."""
        return time_beyond_service(token, now) if token.has_queued else 0.0

    def _end(self, event_cell: list[Token | None], now: float) -> bool:
        """End a visit, unless its service was interrupted; the first of the queue begins its
        service.
        """
        token = event_cell[0]
        if token is None:
            return False
        self.accumulate(now)
        self.present_count -= 1
        self.ended_visits += 1
        self.serving.remove(token)
        # Where services are interrupted, the end of no single visit is what a customer waited for.
        token.cause = None
        if self.queue and self.busy_count <= self.servers:
            _, _, next_token = self.queue.pop(0)
            self._begin_service(next_token, now)
        else:
            self.busy_count -= 1
        token.waiting_time = self._waiting_time(token, now)
        if token.is_cut:
            self.give_up_service(token, now)
        return self.event_loop.end_visit(token, now)


class Paced(Ordered):
    """One server whose speed depends on the number present. It serves in the orders of `Ordered`,
    in random order, or in order of arrival where customers abandon the queue.

    The service under way continues at the speed of the number present, so that its end is planned
    anew at each arrival and departure. Waiting times are defined as in `Sharing` with rates.
    """

    __slots__ = ("in_random_order", "rates")

    def __init__(self, event_loop: EventLoop, plan: StationPlan) -> None:
        super().__init__(event_loop, plan)
        self.rates = plan.rates
        self.in_random_order = DISCIPLINES[plan.discipline].order == RANDOM

    def accumulate(self, now: float) -> None:
        """Bring the integrals and the work left up to date."""
        if self.serving:
            self.serving[0].work -= (now - self.counted_until) * self._speed()
        super().accumulate(now)

    def leave_queue(self, token: Token, now: float) -> None:
        """Take a customer out of the queue, which changes the speed of the service under way."""
        super().leave_queue(token, now)
        self.extra_time += now - token.booked_until
        self._plan_departure(now)

    def _speed(self) -> float:
        return self.rates[min(self.present_count, len(self.rates)) - 1]

    def enter(self, token: Token, work: float, now: float) -> None:
        """Begin service or queue, and change the speed of the service under way."""
        super().enter(token, work, now)
        self._plan_departure(now)

    def _plan_end(self, token: Token, now: float) -> None:
        """Do nothing: `_plan_departure` plans the end of the service."""

    def _interrupt(self, token: Token, now: float) -> None:
        """Interrupt a service, whose remaining work has been updated to the present time."""
        token.event_cell[:] = [None]

    def _add_to_queue(self, token: Token) -> None:
        """Put a token into the queue, at random or in the order of the discipline."""
        if not self.in_random_order:
            super()._add_to_queue(token)
            return
        self.queue.insert(int(token.queue_place * (len(self.queue) + 1)), (0, token.order, token))

    def _plan_departure(self, now: float) -> None:
        """Plan the end of the service under way again, at the present speed."""
        if self.serving:
            token = self.serving[0]
            token.event_cell[:] = [None]
            token.event_cell = [token]
            end_time = now + max(token.work, 0.0) / self._speed()
            heappush(
                self.event_loop.heap,
                (end_time, self.event_loop.order(), self._end, token.event_cell),
            )

    def _waiting_time(self, token: Token, now: float) -> float:
        """Return by how much a visit took longer than the visit of a customer alone at the station
        [s], and plan the next departure.
        """
        self._plan_departure(now)
        waiting_time = now - token.booked_until - token.requested_work / self.rates[0]
        self.extra_time += waiting_time
        return waiting_time


class RandomOrder(Fcfs):
    """Random order of service.

    An arriving customer takes a place in the queue at the fraction `Token.queue_place` of its
    length. The queue is then always in random order, so that its first customer is a random one.
    """

    __slots__ = ()

    def enter(self, token: Token, work: float, now: float) -> None:
        """Begin service, or take a random place in the queue."""
        waiting_count_before = len(self.queue)
        super().enter(token, work, now)
        if len(self.queue) > waiting_count_before:
            self.queue.pop()
            self.queue.insert(int(token.queue_place * (waiting_count_before + 1)), token)


_TokenByFinish = tuple[float, int, Token]
"""The service received by a customer of weight 1 at which the token leaves, the number of its
arrival, and the token.
"""


class Sharing(SimulatedStation):
    """Processor sharing. With n customers present, each is served at the rate min(1, servers / n),
    or rates[n] / n; a customer of weight w gets the share w / (sum of the weights) of the total
    speed.

    `service_received` is the service that a customer of weight 1 present all the time has received;
    an arriving customer leaves when it has grown by the service requested over its weight. With
    first come first served, at a speed that depends on the number present, it is the service that
    all together have received, and an arrival has the work of the others before it.
    `present_tokens` is a heap, for many may be present; of customers that leave at the same service
    received, the one that came first goes first. The wait of a visit at a station with rates is its
    time there beyond that of a customer alone; it may be below 0.
    """

    __slots__ = (
        "arrival_count",
        "departure_cell",
        "last_finish",
        "present_tokens",
        "rates",
        "serves_in_arrival_order",
        "service_received",
        "total_weight",
    )

    def __init__(self, event_loop: EventLoop, plan: StationPlan) -> None:
        super().__init__(event_loop, plan)
        self.total_weight = 0.0
        self.present_tokens: list[_TokenByFinish] = []
        self.service_received = self.last_finish = 0.0
        self.arrival_count = 0
        self.rates = plan.rates
        self.serves_in_arrival_order = DISCIPLINES[plan.discipline].order == ARRIVAL
        self.departure_cell: list[Token | None] = [None]

    def accumulate(self, now: float) -> None:
        """Bring the integrals and the service received up to date."""
        # Before the integrals, which set the time up to which all is counted.
        self.service_received += (now - self.counted_until) * self._rate_of_unit_weight()
        super().accumulate(now)

    def _rate_of_unit_weight(self) -> float:
        """Return the rate at which a customer of weight 1 is served."""
        present_count = self.present_count
        if not present_count:
            return 1.0
        if self.rates:
            speed = self.rates[min(present_count, len(self.rates)) - 1]
            return speed if self.serves_in_arrival_order else speed / self.total_weight
        if present_count > self.servers:
            return self.servers / self.total_weight
        return present_count / self.total_weight

    def enter(self, token: Token, work: float, now: float) -> None:
        """Add a customer to the customers who share the servers."""
        self.accumulate(now)
        if self.counts_work:
            self.add_work(work)
        # Only differences of the service received count: from 0 again they keep their digits.
        if not self.present_tokens:
            self.service_received = self.total_weight = 0.0  # sums of weights carry roundings along
        self.total_weight += token.weight
        token.requested_work = work
        service_before = (
            self.last_finish
            if self.serves_in_arrival_order and self.present_tokens
            else self.service_received
        )
        token.finish = self.last_finish = service_before + work / token.weight
        self.arrival_count += 1
        heappush(self.present_tokens, (token.finish, self.arrival_count, token))
        self._plan_departure(now)

    def _plan_departure(self, now: float) -> None:
        """Plan the next departure again after the number present has changed."""
        self.present_count = len(self.present_tokens)
        self.busy_count = min(self.present_count, self.servers)
        self.departure_cell[0] = None
        if self.present_count:
            _, _, next_to_leave = self.present_tokens[0]
            self.departure_cell = [next_to_leave]
            # Rounding may have carried the service received slightly beyond the end of a service.
            end_time = (
                now
                + max(next_to_leave.finish - self.service_received, 0.0)
                / self._rate_of_unit_weight()
            )
            heappush(
                self.event_loop.heap,
                (end_time, self.event_loop.order(), self._end, self.departure_cell),
            )

    def _end(self, event_cell: list[Token | None], now: float) -> bool:
        """End the visit of the customer that is served first, unless its departure was planned
        again meanwhile.
        """
        token = event_cell[0]
        if token is None:
            return False
        self.accumulate(now)
        # Exactly, so that rounding leaves no work of a customer that has left.
        self.service_received = token.finish
        self.ended_visits += 1
        heappop(self.present_tokens)
        self.total_weight -= token.weight
        token.cause = None
        token.weight = 1.0
        self._plan_departure(now)
        if self.rates:
            token.waiting_time = now - token.booked_until - token.requested_work / self.rates[0]
            self.extra_time += token.waiting_time
        else:
            token.waiting_time = time_beyond_service(token, now)
        return self.event_loop.end_visit(token, now)


class WeightedServers(SimulatedStation):
    """Servers shared by weights. Each customer uses at most one server, and services may be given
    up.

    Each customer has its own speed, so that the remaining work of all customers is updated at each
    arrival and departure. `present_tokens` is in the order of falling weights; equal weights are in
    order of arrival.
    """

    __slots__ = ("event_cell", "present_tokens")

    def __init__(self, event_loop: EventLoop, plan: StationPlan) -> None:
        super().__init__(event_loop, plan)
        self.present_tokens: list[Token] = []
        self.event_cell: list[Token | None] = [None]

    def accumulate(self, now: float) -> None:
        """Bring the integrals and the work left up to date."""
        elapsed = now - self.counted_until
        for token in self.present_tokens:
            token.work -= elapsed * token.speed
        super().accumulate(now)

    def _set_speeds(self) -> None:
        """Compute the speed of each customer: its share, by weight, of the servers that customers
        of larger weights leave to others, but at most one server.
        """
        free_server_count = float(self.servers)
        remaining_weight = 0.0
        for token in self.present_tokens:
            remaining_weight += token.weight
        for token in self.present_tokens:
            speed = free_server_count * token.weight / remaining_weight
            if speed >= 1:
                free_server_count -= 1
                remaining_weight -= token.weight
            token.speed = min(speed, 1.0)

    def enter(self, token: Token, work: float, now: float) -> None:
        """Add a customer to the customers who share the servers by weights."""
        self.accumulate(now)
        if self.counts_work:
            self.add_work(work)
        token.work = token.requested_work = work
        queue_index = len(self.present_tokens)
        while queue_index and self.present_tokens[queue_index - 1].weight < token.weight:
            queue_index -= 1
        self.present_tokens.insert(queue_index, token)
        self._plan_departure(now)

    def _plan_departure(self, now: float) -> None:
        """Plan the next departure again after the customers present have changed."""
        self.present_count = len(self.present_tokens)
        self.busy_count = min(self.present_count, self.servers)
        self.event_cell[0] = None
        self._set_speeds()
        shortest_time_left, departing_token = math.inf, None
        for token in self.present_tokens:
            time_left = max(token.work, 0.0) / token.speed
            is_cut = False
            if token.cut_label and token.patience >= 0:
                time_to_limit = max(token.patience - (now - token.booked_until), 0.0)
                is_cut = time_to_limit < time_left
                time_left = min(time_left, time_to_limit)
            if time_left < shortest_time_left:
                shortest_time_left, departing_token = time_left, token
                token.is_cut = is_cut
        if departing_token is not None:
            self.event_cell = [departing_token]
            heappush(
                self.event_loop.heap,
                (now + shortest_time_left, self.event_loop.order(), self._end, self.event_cell),
            )

    def _end(self, event_cell: list[Token | None], now: float) -> bool:
        """End the visit of the customer that is served first, unless its departure was planned
        again meanwhile.
        """
        token = event_cell[0]
        if token is None:
            return False
        self.accumulate(now)
        self.ended_visits += 1
        self.present_tokens.remove(token)
        token.cause = None
        token.weight = 1.0
        token.patience = -1.0
        if token.is_cut:
            work_left = max(token.work, 0.0)
            token.requested_work -= work_left
            self.requested_work -= work_left
        self._plan_departure(now)
        token.waiting_time = time_beyond_service(token, now)
        if token.is_cut:
            self.give_up_service(token, now)
        return self.event_loop.end_visit(token, now)


def time_beyond_service(token: Token, now: float) -> float:
    """Return the waiting time: the time present beyond the service requested [s]."""
    time_present = now - token.booked_until
    waiting_time = time_present - token.requested_work
    return waiting_time if waiting_time > NEVER_WAITED * time_present else 0.0


def make_station(event_loop: EventLoop, plan: StationPlan) -> SimulatedStation:
    """Make the simulated station of a plan, by its discipline and its rates."""
    order = DISCIPLINES[plan.discipline].order
    # Where the speed depends on the number present, services change their pace also in order of
    # arrival.
    if plan.is_weighted:
        return WeightedServers(event_loop, plan)
    if plan.rates:
        # A queue that is abandoned has no work of its own that those behind wait for.
        is_shared = order == SHARED or (order == ARRIVAL and not plan.may_be_abandoned)
        return (Sharing if is_shared else Paced)(event_loop, plan)
    station_types: dict[str, type[SimulatedStation]] = {
        ARRIVAL: Fcfs,
        RANDOM: RandomOrder,
        SHARED: Sharing,
    }
    return station_types.get(order, Ordered)(event_loop, plan)


def put_in_order(queue: deque[Token], token: Token) -> None:
    """Insert a token into a queue, behind all tokens whose keys are not larger."""
    queue_index = len(queue)
    while queue_index and queue[queue_index - 1].key > token.key:
        queue_index -= 1
    queue.insert(queue_index, token)


class SimulatedLock(PatientQueue):
    """A lock, held by one token at a time, or permits, held by several; with the statistics of a
    station.

    A reader-writer lock is held by several tokens, or by one whose request excludes all others. For
    a counter, whose units one token takes and another gives, `busy_count` is the number of units,
    and `present_count` the number of tokens that wait for a unit.

    Attributes
    ----------
    permits : tokens that may hold it at the same time
    holders : tokens that hold it, in the order of the grants
    is_exclusive : it is held by a token that excludes all others
    grants : number of times that it was granted
    waiting_time, squared_waits : sums of the waiting times from request to grant, and of their
        squares; of permits, waits that were abandoned are in the first [s, s^2]
    spinning : tokens that wait for a release and then look at the lock again
    """

    __slots__ = (
        "grants",
        "holders",
        "is_exclusive",
        "permits",
        "queue",
        "spinning",
        "squared_waits",
        "waiting_time",
    )

    def __init__(self, event_loop: EventLoop, plan: LockPlan) -> None:
        super().__init__(event_loop, plan.name)
        self.permits = plan.permits
        self.is_exclusive = False
        self.busy_count = plan.permits if plan.noun == COUNTER else 0
        self.holders: list[Token] = []
        self.queue: deque[Token] = deque()
        self.spinning: deque[Token] = deque()
        self.grants = 0
        self.waiting_time = 0.0
        self.squared_waits = 0.0

    @property
    def is_free(self) -> bool:
        """Return whether the lock or a permit is free, so that another token may hold it."""
        return self.busy_count < self.permits and not self.is_exclusive

    def fits(self, token: Token) -> bool:
        """Return whether the lock may be granted to a token now, regardless of waiting tokens."""
        if token.excludes:
            return not self.busy_count
        return self.busy_count + token.permits <= self.permits and not self.is_exclusive

    def ask(self, token: Token, now: float) -> bool:
        """Grant the lock to a token if it is free and no waiting token goes before; else the token
        waits in the queue.
        """
        self.request(token, now)
        token.key = token.rank
        # A request for few permits does not overtake a waiting one of its rank for many, which
        # otherwise might wait without end.
        if not (self.queue and self.queue[0].key <= token.key) and self.fits(token):
            token.patience = -1.0
            self.grant(token, now)
            return True
        put_in_order(self.queue, token)
        if token.patience >= 0:
            token.wait_label = token.label
            self.plan_abandonment(token, now)
        return False

    def leave_queue(self, token: Token, now: float) -> None:
        """Take a customer out of the queue, and grant the lock to the customers behind it that may
        now hold it.
        """
        self.queue.remove(token)
        if self.permits > 1:
            self.waiting_time += now - token.request_time
        self.grant_waiting(now)

    def request(self, token: Token, now: float) -> None:
        """Count a token as present at the lock from now on."""
        self.accumulate(now)
        self.present_count += 1
        token.request_time = now

    def grant(self, token: Token, now: float) -> None:
        """Grant the lock to a token; the integrals must be up to date."""
        self.holders += [token] * token.permits
        self.busy_count += token.permits
        self.is_exclusive = token.excludes
        if token.patience >= 0:
            token.patience = -1.0
            token.event_cell[0] = None
        self.count_wait(token, now)

    def count_wait(self, token: Token, now: float) -> None:
        """Add a wait that ended to the statistics of the waits."""
        waiting_time = now - token.request_time
        self.grants += 1
        self.waiting_time += waiting_time
        self.squared_waits += waiting_time * waiting_time

    def take_free_unit(self, now: float) -> bool:
        """Grant a free unit of a counter to the token that has waited longest; return whether there
        was one. The busy units of a counter are those that no token has taken.
        """
        if not self.busy_count:
            return False
        self.busy_count -= 1
        self.take_first_waiting(now)
        return True

    def take_first_waiting(self, now: float) -> Token:
        """Remove and return the token that has waited longest for a unit of a counter."""
        self.accumulate(now)
        self.present_count -= 1
        self.ended_visits += 1
        next_token = self.queue.popleft()
        # The monitor that is granted with the unit reads these, which a request before may have
        # set.
        next_token.excludes = False
        next_token.permits = 1
        self.count_wait(next_token, now)
        return next_token

    def hand_over(self, token: Token, next_token: Token, now: float) -> None:
        """Grant the lock to another token at once, before all that wait for it, and wake it."""
        self.accumulate(now)
        self.ended_visits += 1
        self.holders.remove(token)
        self.busy_count -= 1
        # The number present stays, for one token leaves as the other enters; no time passes
        # between.
        next_token.request_time = now
        self.grant(next_token, now)
        self.event_loop.wake(next_token, now)

    def grant_waiting(self, now: float) -> None:
        """Grant the lock to waiting tokens in their order, as long as it is free for the first of
        them.
        """
        while self.queue and self.fits(self.queue[0]):
            next_token = self.queue.popleft()
            self.grant(next_token, now)
            self.event_loop.wake(next_token, now)

    def release(self, token: Token, now: float, permits: int = 1) -> None:
        """Hand the lock to the first in the queue; with an empty queue, free it and wake all
        spinning tokens.
        """
        self.accumulate(now)
        self.present_count -= 1
        self.ended_visits += 1
        for _ in range(permits):
            self.holders.remove(token)
        self.busy_count -= permits
        self.is_exclusive = False
        if self.queue:
            self.grant_waiting(now)
            return
        while self.spinning:
            self.event_loop.wake(self.spinning.popleft(), now)


class SimulatedBreaker(SimulatedLock):
    """A circuit breaker, which admits the tries of visits and counts those that fail. It is busy
    while it is open.

    Attributes
    ----------
    rule : when it opens and closes
    state_number : of the states so far; a try counts in the one that admitted it
    open_until : the time at which it admits tries again
    is_half_open : whether it admits trials
    trials_begun, trials_passed : trials admitted and ended well, since it was open
    recent_failures, next_outcome, failed_tries : of the last tries, 1 for each that failed, the
        index at which the next one is counted, and their sum
    """

    __slots__ = (
        "failed_tries",
        "is_half_open",
        "next_outcome",
        "open_until",
        "recent_failures",
        "rule",
        "state_number",
        "trials_begun",
        "trials_passed",
    )

    def __init__(self, event_loop: EventLoop, plan: LockPlan, rule: BreakerRule) -> None:
        super().__init__(event_loop, plan)
        self.rule = rule
        self.state_number = -1
        self.open_until = 0.0
        self.recent_failures: list[int] = []
        self._begin_state()

    def _begin_state(self, is_half_open: bool = False) -> None:
        """Begin a state in which tries are admitted, half-open or closed; no try has counted in it
        yet.
        """
        self.state_number += 1
        self.is_half_open = is_half_open
        self.trials_begun = self.trials_passed = self.next_outcome = self.failed_tries = 0
        self.recent_failures = [0] * self.rule.calls

    def _open(self, until: float) -> None:
        """Refuse all tries up to a time [s]."""
        self.state_number += 1
        self.busy_count = 1
        self.open_until = until

    def accumulate(self, now: float) -> None:
        """Extend the integrals up to the present time. If the open state has ended before, extend
        them to its end first, and begin to admit trials.
        """
        if self.busy_count and now >= self.open_until:
            super().accumulate(self.open_until)
            self.busy_count = 0
            self._begin_state(is_half_open=True)
        super().accumulate(now)

    def admit(self, now: float) -> int:
        """Return the number of the state that admits a try; -1 if it is refused."""
        self.accumulate(now)
        if self.busy_count or (self.is_half_open and self.trials_begun == self.rule.trials):
            return -1
        self.trials_begun += self.is_half_open
        return self.state_number

    def record(self, state_number: int, has_failed: int, open_time: float, now: float) -> None:
        """Count a try that has ended; if it was the decisive one, open or close the breaker."""
        self.accumulate(now)
        if state_number != self.state_number:
            return
        if self.is_half_open:
            self.trials_passed += not has_failed
            if has_failed:
                self._open(now + open_time)
            elif self.trials_passed == self.rule.trials:
                self._begin_state()
            return
        self.failed_tries += has_failed - self.recent_failures[self.next_outcome]
        self.recent_failures[self.next_outcome] = has_failed
        self.next_outcome = (self.next_outcome + 1) % self.rule.calls
        if self.failed_tries == self.rule.failures:
            self._open(now + open_time)


def make_lock(event_loop: EventLoop, plan: LockPlan) -> SimulatedLock:
    """Make a lock, permits, a counter or a circuit breaker."""
    if plan.rule is not None:
        return SimulatedBreaker(event_loop, plan, plan.rule)
    return SimulatedLock(event_loop, plan)


class SimulatedPool:
    """The tasks of a pool, in queues.

    Attributes
    ----------
    plan : what the tasks are
    tasks : counts the tasks in all queues; the tokens that found none wait there
    monitors : of the queues
    queues : tasks to be taken, the oldest first
    last_parts : parts that are the last of their tasks
    is_open : whether the tasks of a problem are being executed
    problem : the number of the problem that comes next
    """

    __slots__ = ("is_open", "last_parts", "monitors", "plan", "problem", "queues", "tasks")

    def __init__(self, plan: PoolPlan, locks: list[SimulatedLock]) -> None:
        self.plan = plan
        self.tasks = locks[plan.tasks]
        self.monitors = locks[plan.monitor : plan.monitor + plan.queues]
        self.queues: list[deque[int]] = [deque() for _ in range(plan.queues)]
        self.last_parts = {end_part - 1 for end_part in plan.first}
        self.is_open = False
        self.problem = 0

    def begin(self, now: float) -> None:
        """If the previous problem is finished, put the first tasks of the next problem into the
        queues, one after the other.
        """
        if not self.is_open:
            self.is_open = True
            for root_index, task_number in enumerate(self.plan.roots[self.problem]):
                self.add(root_index % self.plan.queues, task_number, now)
            self.problem = (self.problem + 1) % len(self.plan.roots)

    def queue_with_task(self, own_queue: int) -> int:
        """Return the number of the first queue that has a task, searching from the customer's own
        queue; if no queue has one, return the own queue.
        """
        queue_count = self.plan.queues
        return next(
            (
                queue_number
                for queue_number in (
                    (own_queue + distance) % queue_count for distance in range(queue_count)
                )
                if self.queues[queue_number]
            ),
            own_queue,
        )

    def add(self, queue_number: int, task_number: int, now: float) -> None:
        """Put a task into a queue."""
        self.tasks.accumulate(now)
        self.tasks.busy_count += 1
        self.queues[queue_number].append(task_number)

    def take(self, queue_number: int, own_queue: int, now: float) -> int:
        """Remove a task from a queue, and return its first part."""
        self.tasks.accumulate(now)
        self.tasks.busy_count -= 1
        # The usual order of work stealing: the own youngest task keeps queues short, and the oldest
        # of another queue is likely to have many tasks behind it.
        takes_youngest = self.plan.last_first and queue_number == own_queue
        return self.plan.first[
            self.queues[queue_number].pop()
            if takes_youngest
            else self.queues[queue_number].popleft()
        ]

    def enter(self, queue_number: int, token: Token, label: int, now: float) -> bool:
        """Ask to enter the monitor of a queue."""
        token.label = label
        token.rank = 0
        token.excludes = False
        token.permits = 1
        return self.monitors[queue_number].ask(token, now)

    def leave(self, queue_number: int, token: Token, register: int, label: int, now: float) -> None:
        """Leave the monitor of a queue; where it has tasks, hand it over to the token that has
        waited longest for one.
        """
        if self.queues[queue_number] and self.tasks.queue:
            next_token = self.tasks.take_first_waiting(now)
            next_token.label = label
            next_token.registers[register] = queue_number
            self.monitors[queue_number].hand_over(token, next_token, now)
        else:
            self.monitors[queue_number].release(token, now)
