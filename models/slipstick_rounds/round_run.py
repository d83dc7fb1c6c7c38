"""Simulation of a server that works in rounds, one round after the other.

In a round the server does a part of the work of all customers that are present: a GPU computes a
token of each answer and a piece of each prompt, a log writes all commits that wait for it, a stream
processor works off what has arrived in an interval. The time of a round depends on what is in it.
A customer goes through phases in a fixed order, each with its own work; a phase says how much of it
one round does for a customer at most (its piece). The budget of a round goes to customers in later
phases first, then to those in earlier ones, in the order of their admission; what is left of it
admits customers that wait, in the order of their arrival, if a place and memory are free.

Rounds between two changes (the end of a phase, an arrival that can be admitted) are alike but for
what customers hold, so they are computed together: the work of a simulation grows with the number
of customers and not with that of rounds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from slipstick.late import Array, NDArray, dataclass, field, np
from slipstick.limits import WorkPace


class RoundContents(NamedTuple):
    """The contents of successive rounds; each field is an array over the rounds, or one number for
    all rounds.

    Attributes
    ----------
    customers : by phase, number of customers that are served [1]
    units : by phase, work that is done in the round [unit]
    units_held : work that was done before for all customers that are present [unit]
    products : by phase, sum over its customers of the units done times the units held while they
        are done, counted at their middle [unit^2]
    """

    customers: Sequence[Array | float]
    units: Sequence[Array | float]
    units_held: Array | float
    products: Sequence[Array | float]


Duration = Callable[[RoundContents], Array]
"""A function from the contents of several rounds to the time of each, by component [components,
rounds; s].
"""


@dataclass(frozen=True)
class RoundServer:
    """The numbers of a server that works in rounds: the times of its rounds, and the limits of what
    a round does and of who is admitted.

    Parameters
    ----------
    duration : time of a round by what is in it, in parts that are booked apart [s]
    pieces : by phase, units that one round does for a customer at most
    budget : units that one round does at most
    places : customers that are present at most
    memory : units that all present customers hold at most
    reserved : whether memory is reserved for all work of a customer when it is admitted. If not, it
        is admitted if its first phase fits into memory; where memory runs full, the customer that
        came last is put back into the queue, and its work so far is done again
    batching_delay : time that the server waits before each round for more customers [s]
    interval : rounds begin at multiples of it; 0: one begins when the last one has ended [s]
    earlier_first : the budget goes to customers in the first phase first, those that are admitted
        included; else to those in later phases
    """

    duration: Duration
    pieces: tuple[float, ...] = (math.inf,)
    budget: float = math.inf
    places: float = math.inf
    memory: float = math.inf
    reserved: bool = True
    batching_delay: float = 0.0
    interval: float = 0.0
    earlier_first: bool = False


@dataclass(frozen=True)
class RoundRun:
    """The arrivals and ends of the visits of one simulation, and the log of its rounds.

    Parameters
    ----------
    arrival_times : time of each arrival [visits; s]
    end_times : time at which each visit ends each phase [visits, phases; s]
    has_ended : whether the visit ended before the run did [visits]
    log : after each group of rounds that are alike: time, rounds, time in rounds, sum of customers
        present over the rounds, visits ended, customers put back for lack of memory, and by phase
        and by part of the duration the time that customers spent in it [groups, 6 + phases parts]
    """

    arrival_times: Array
    end_times: Array
    has_ended: NDArray[np.bool_]
    log: Array

    @property
    def elapsed(self) -> float:
        """Return the time of the last end [s]."""
        return float(self.log[-1, 0])

    @property
    def round_count(self) -> int:
        """Return the number of rounds."""
        return int(self.log[-1, 1])

    @property
    def served_count(self) -> float:
        """Return the number of customers present in a round, added up over the rounds."""
        return float(self.log[-1, 3])

    @property
    def put_back_count(self) -> int:
        """Return the number of times that a customer had to leave the server for lack of memory."""
        return int(self.log[-1, 5])


# Two customers with the same numbers are two: compared by value, the wrong one would leave.
@dataclass(slots=True, eq=False)
class _Customer:
    """A visit that is present at the server, with its remaining work.

    Attributes
    ----------
    visit : index of the visit
    phase : index of its present phase
    work_left : work that remains in this phase [unit]
    units_held : work that was done for it, which occupies memory [unit]
    later_work : work of each later phase [unit]
    phase_to_resume : after a loss of memory, the phase to continue once the lost work is done
        again, and the work that remains in it; else None
    """

    visit: int
    phase: int
    work_left: float
    units_held: float = 0.0
    later_work: list[float] = field(default_factory=list)
    phase_to_resume: tuple[int, float] | None = None


MOST_ALIKE = 65_536
"""Largest number of rounds that are computed together, which bounds the memory of their times."""


def open_run(
    server: RoundServer,
    work: Array,
    arrivals: Array,
    until: int | None = None,
    events: float = math.inf,
) -> RoundRun:
    """Simulate customers that arrive at given times.

    Parameters
    ----------
    server : see `RoundServer`
    work : of each customer in each phase [customers, phases]
    arrivals : ascending [s]
    until : number of ended visits after which the run ends; None for all visits
    events : number of customers that were given work, counted once in each group of rounds that are
        alike, after which the run is stopped before that

    >>> server = RoundServer(lambda rounds: np.array([[1.0 + rounds.customers[0]]]))
    >>> run = open_run(server, np.ones((3, 1)), np.array([0.0, 0.5, 0.6]))
    >>> run.end_times[:, 0].tolist(), run.round_count
    ([2.0, 5.0, 5.0], 2)
    """
    return RoundByRound(server, work, arrivals).run(until, events)


def closed_run(
    server: RoundServer,
    work: Array,
    customer_count: int,
    think: Array,
    until: int | None = None,
    events: float = math.inf,
) -> RoundRun:
    """Simulate a fixed number of customers, each of which thinks after its end and comes again; all
    arrive at first at 0.

    Parameters
    ----------
    server : see `RoundServer`
    work : in each phase of each visit, in the order of arrivals [visits, phases]
    customer_count : how many there are
    think : time between the end of a visit and the next arrival, by the visit that arrives; not
        used of those that arrive at first [visits; s]
    until, events : as for `open_run`

    >>> server = RoundServer(lambda rounds: np.array([[1.0 + rounds.customers[0]]]))
    >>> run = closed_run(server, np.ones((4, 1)), 2, np.full(4, 0.5))
    >>> run.end_times[:, 0].tolist()
    [3.0, 3.0, 6.5, 6.5]
    """
    first_arrivals = np.zeros(min(customer_count, len(work)))
    return RoundByRound(server, work, first_arrivals, think).run(until, events)


class RoundByRound:
    """One simulated run, round by round: the customers that wait, the customers that are present,
    and the clock.
    """

    def __init__(
        self,
        server: RoundServer,
        work_by_visit: Array,
        arrivals: Array,
        think_times: Array | None = None,
    ) -> None:
        self.server = server
        self.work_by_visit = work_by_visit
        self.think_times = think_times
        self.phase_count = work_by_visit.shape[1]
        self.arrival_times = np.zeros(len(work_by_visit))
        self.end_times = np.zeros(work_by_visit.shape)
        self.due_arrivals: list[tuple[float, int]] = []
        self.next_visit = len(arrivals)
        for visit, time in enumerate(arrivals.tolist()):
            heappush(self.due_arrivals, (time, visit))
        self.waiting_customers: deque[_Customer] = deque()
        self.present_customers: list[_Customer] = []
        self.now = 0.0
        self.memory_used = 0.0
        self.ended_count = self.round_count = self.put_back_count = 0
        self.busy_time = self.served_count = 0.0
        self.booked_times: Array | float = 0.0
        self.log_rows: list[Array] = []

    def run(self, until: int | None, events: float) -> RoundRun:
        """Simulate until `until` visits have ended, or `events` customers have been given work."""
        most_visits = len(self.work_by_visit) if until is None else until
        admitted_count = 0
        work_pace = WorkPace()
        while self.ended_count < most_visits and admitted_count < events:
            self._wait_for_a_round()
            customer_shares = self._divide_budget()
            admitted_count += len(customer_shares)
            done_visits = max(self.ended_count, most_visits * admitted_count / events)
            work_pace.check(
                done_visits, most_visits, f"the simulation follows {most_visits:,} visits"
            )
            self._do_rounds(customer_shares, self._count_equal_rounds(customer_shares))
            log_counts = [
                self.now,
                self.round_count,
                self.busy_time,
                self.served_count,
                self.ended_count,
                self.put_back_count,
            ]
            self.log_rows.append(np.append(log_counts, self.booked_times))
        return RoundRun(
            self.arrival_times, self.end_times, self.end_times[:, -1] > 0, np.array(self.log_rows)
        )

    def _wait_for_a_round(self) -> None:
        """Advance the clock to the beginning of the next round, and move the customers that have
        arrived to the queue.
        """
        self._take_arrivals()
        if not self.present_customers and not self.waiting_customers:
            self.now = self.due_arrivals[0][0]
            self._take_arrivals()
        if self.server.interval:
            self.now = self.server.interval * math.ceil(self.now / self.server.interval - 1e-9)
            self._take_arrivals()
        if self.server.batching_delay:
            self.now += self.server.batching_delay
            self._take_arrivals()

    def _take_arrivals(self) -> None:
        """Move the visits that have arrived by now to the queue."""
        while self.due_arrivals and self.due_arrivals[0][0] <= self.now:
            time, visit = heappop(self.due_arrivals)
            work = self.work_by_visit[visit].tolist()
            self.arrival_times[visit] = time
            self.waiting_customers.append(_Customer(visit, 0, work[0], later_work=work[1:]))

    def _divide_budget(self) -> list[tuple[_Customer, float]]:
        """Divide the budget of a round among the customers, and admit those that fit."""
        budget_left = self.server.budget
        shares: list[tuple[_Customer, float]] = []
        if self.server.earlier_first:
            budget_left = self._admit(shares, self._share_phase(shares, 0, budget_left))
            for phase in range(1, self.phase_count):
                budget_left = self._share_phase(shares, phase, budget_left)
            return shares
        for phase in reversed(range(self.phase_count)):
            budget_left = self._share_phase(shares, phase, budget_left)
        self._admit(shares, budget_left)
        return shares

    def _share_phase(
        self, shares: list[tuple[_Customer, float]], phase: int, budget_left: float
    ) -> float:
        """Share the remaining budget among the customers in a phase, and return the budget that is
        left after that.
        """
        for customer in self.present_customers:
            if customer.phase == phase:
                budget_left -= self._give_share(shares, customer, budget_left)
        return budget_left

    def _give_share(
        self, shares: list[tuple[_Customer, float]], customer: _Customer, budget_left: float
    ) -> float:
        """Append the share of the budget that a customer gets in the round to `shares`, and return
        it.
        """
        share = min(self.server.pieces[customer.phase], customer.work_left, budget_left)
        shares.append((customer, share))
        return share

    def _admit(self, shares: list[tuple[_Customer, float]], budget_left: float) -> float:
        """Admit waiting customers while there is budget, and return the budget that is left."""
        while (
            self.waiting_customers
            and budget_left > 0
            and len(self.present_customers) < self.server.places
        ):
            customer = self.waiting_customers[0]
            claim = self._memory_claim(customer)
            # A customer that alone needs more than all memory is served alone.
            if self.present_customers and self.memory_used + claim > self.server.memory:
                break
            self.waiting_customers.popleft()
            self.present_customers.append(customer)
            self.memory_used += claim
            budget_left -= self._give_share(shares, customer, budget_left)
        return budget_left

    def _memory_claim(self, customer: _Customer) -> float:
        """Return the memory that the admission of a customer takes: of its present phase, and with
        reservation also of its later ones.
        """
        return (
            customer.work_left + sum(customer.later_work)
            if self.server.reserved
            else customer.work_left
        )

    def _count_equal_rounds(self, customer_shares: list[tuple[_Customer, float]]) -> int:
        """Return the number of further rounds with the same customers and the same work, during
        which only the memory in use grows.
        """
        server = self.server
        gets_full_pieces = all(
            share == server.pieces[customer.phase] for customer, share in customer_shares
        )
        if not gets_full_pieces or server.batching_delay or server.interval:
            return 1
        round_count = min(
            MOST_ALIKE, *(int(customer.work_left / share) for customer, share in customer_shares)
        )
        if not server.reserved and math.isfinite(server.memory):
            memory_growth = sum(share for customer, share in customer_shares if customer.phase)
            if memory_growth:
                round_count = min(
                    round_count, int((server.memory - self.memory_used) / memory_growth)
                )
        return max(round_count, 1)

    def _do_rounds(self, customer_shares: list[tuple[_Customer, float]], round_count: int) -> None:
        """Do `round_count` rounds with the same customers; fewer if a customer arrives in
        between.
        """
        component_times = self._round_times(customer_shares, round_count)
        # Sums one after the other, as the compiled kernel forms them: `sum` adds in pairs.
        round_ends = self.now + np.cumsum(np.cumsum(component_times, axis=0)[-1])
        is_admission_blocked = (
            bool(self.waiting_customers) or len(self.present_customers) >= self.server.places
        )
        if self.due_arrivals and round_count > 1 and not is_admission_blocked:
            round_count = min(
                round_count, int(np.searchsorted(round_ends, self.due_arrivals[0][0])) + 1
            )
        self.round_count += round_count
        self.served_count += round_count * len(customer_shares)
        customers_by_phase = np.bincount(
            [customer.phase for customer, _ in customer_shares], minlength=self.phase_count
        )
        time_by_component = np.cumsum(component_times[:, :round_count], axis=1)[:, -1]
        self.booked_times = (
            self.booked_times + np.outer(customers_by_phase, time_by_component).ravel()
        )
        self.busy_time += float(round_ends[round_count - 1]) - self.now
        self.now = float(round_ends[round_count - 1])
        for customer, share in customer_shares:
            self._advance(customer, share * round_count)
        self._make_room()

    def _round_times(self, shares: list[tuple[_Customer, float]], round_count: int) -> Array:
        """Return the times of `round_count` rounds in which each customer gets the same share, by
        component of the time [components, rounds; s].
        """
        earlier_round_counts = np.arange(round_count, dtype=np.float64)
        customers_by_phase = [0.0] * self.phase_count
        units_by_phase = [0.0] * self.phase_count
        products_by_phase = [0.0] * self.phase_count
        growth_by_phase = [0.0] * self.phase_count
        for customer, share in shares:
            phase = customer.phase
            customers_by_phase[phase] += share > 0
            units_by_phase[phase] += share
            products_by_phase[phase] += share * (customer.units_held + share / 2)
            growth_by_phase[phase] += share * share
        units_held = sum(
            customer.units_held for customer, _ in shares
        ) + earlier_round_counts * sum(units_by_phase)
        product_sums = [
            product + earlier_round_counts * growth_of_round
            for product, growth_of_round in zip(products_by_phase, growth_by_phase, strict=True)
        ]
        component_times = self.server.duration(
            RoundContents(customers_by_phase, units_by_phase, units_held, product_sums)
        )
        return np.broadcast_to(component_times, (len(component_times), round_count))

    def _advance(self, customer: _Customer, units: float) -> None:
        """Do some units of a customer's work, and end its phases that are then complete."""
        customer.work_left -= units
        customer.units_held += units
        if not self.server.reserved and customer.phase:
            self.memory_used += units
        while customer.work_left <= 0:
            if customer.phase_to_resume:
                customer.phase, customer.work_left = customer.phase_to_resume
                customer.phase_to_resume = None
                continue
            self.end_times[customer.visit, customer.phase] = self.now
            if not customer.later_work:
                self._leave(customer)
                return
            customer.phase += 1
            customer.work_left = customer.later_work.pop(0)

    def _leave(self, customer: _Customer) -> None:
        """Remove a visit that has ended from the server, and plan the next visit of a closed
        population.
        """
        self.present_customers.remove(customer)
        self.memory_used -= customer.units_held
        self.ended_count += 1
        if self.think_times is not None and self.next_visit < len(self.work_by_visit):
            time = self.now + float(self.think_times[self.next_visit])
            heappush(self.due_arrivals, (time, self.next_visit))
            self.next_visit += 1

    def _make_room(self) -> None:
        """Move the customers that were admitted last back to the front of the queue until the
        memory suffices.
        """
        while not self.server.reserved and self.memory_used > self.server.memory:
            if len(self.present_customers) < 2:
                return
            customer = self.present_customers.pop()
            self.put_back_count += 1
            self.memory_used -= (
                customer.units_held if customer.phase else customer.units_held + customer.work_left
            )
            # The work done for it so far is lost, and is done again in pieces of the first phase.
            if customer.phase and customer.work_left > 0:
                customer.phase_to_resume = customer.phase, customer.work_left
                customer.phase = 0
                customer.work_left = 0.0
            customer.work_left += customer.units_held
            customer.units_held = 0.0
            self.waiting_customers.appendleft(customer)
