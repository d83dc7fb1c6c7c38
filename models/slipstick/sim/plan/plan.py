"""A plan: the program of a simulation, as frozen flat data.

All customers execute one list of numbered instructions, as on a small machine; each has a place in
it. An instruction that makes a customer wait or passes time has as operand the label that the time
is booked to. Resources, random quantities and labels go by number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import IntEnum
from itertools import chain, repeat

from slipstick.errors import ModelError, did_you_mean
from slipstick.late import Array, dataclass, field
from slipstick.sim.plan.distributions import Stream, Times
from slipstick.vocabulary import MOST_HOLDERS, SIMULATED_DISCIPLINES

# Each instruction has a row of equal length, as the compiled kernel reads it.
OPERANDS = 7

COUNTER, BREAKER = "counter", "circuit breaker"
WAITS = {
    "lock": "lock",
    "reader-writer lock": "lock",
    "permits": "wait",
    "monitor": "entry",
    COUNTER: "wait",
    BREAKER: "refusal",
}
"""Kinds of resources that tokens wait for, as messages call them, and the word before their
names in the account.
"""

BLOCKS = (64, 512, 4096)
"""Sizes of the first blocks of random numbers of a draw; all later blocks have the last size. Short
runs draw few numbers.
"""


class Op(IntEnum):
    """The operations of instructions; a comment lists the operands."""

    DELAY = 0  # draw, label
    # station, draw, label, label of the wait, where (see Where), rank, draw of the place in a
    # random queue + 1
    SERVE = 1
    DRAW_DESTINATION = (
        2  # draw, first customer, customers: send requests to one of the others, at random
    )
    NEXT_DESTINATION = (
        3  # first customer, customers: send requests to the j-th other, for branch or item j
    )
    CHOOSE = 4  # draw, first target, targets
    JUMP = 5  # target
    SET_COUNT = 6  # register, count, draw: a fraction of the count is the probability of one more
    LOOP = 7  # register, target when no rounds are left
    SWITCH = 8  # first target: the one of this branch or item
    END = 9  # continue behind it (else from the start), lost (the cycle does not count)
    # first target, targets, instruction behind the fork, branches that are waited for, lock that
    # the first branch holds from now on + 1
    FORK = 10
    JOIN = 11  # pipeline that ends, or -1
    PIPELINE = 12  # count, draw, first instruction of an item, instruction behind the pipeline
    ENTER_STAGE = 13  # serial stage, counted among the serial stages of the pipeline
    LEAVE_STAGE = 14
    # lock, label, rank of the request in the queue, 1 if no other may hold it at the same time,
    # permits that are taken
    ACQUIRE = 15
    RELEASE = 16  # lock, permits that are released
    REQUEST = 17  # lock: count as present from now on
    ATTEMPT = 18  # lock, target if it is held, 1 if it is left as it is
    AWAIT_FREE = 19  # lock, label: wait until it is free
    # draw, label, register, base, most: pause base x 2^register, then increment the register
    BACK_OFF = 20
    TAKE_TICKET = 21  # lock, register: take the next ticket
    # lock, label, register, draw, target: hold the lock if the ticket is called, else wait for a
    # release
    AWAIT_TURN = 22
    BARRIER = 23  # barrier, parties, label
    ADMIT = 24  # tally, station, capacity (0: unlimited), target of an arrival that is turned away
    # tally, processor that it is local to (-1: any), lock whose next holder is notified (or -1)
    COUNT_ACCESS = 25
    START_RESPONSE = 26  # the response time begins here
    WAIT = (
        27  # counter, label, monitor that is left while waiting (or -1): take a unit of a counter
    )
    # counter, monitor that is handed over (or -1), instruction behind its release: give a unit to a
    # counter
    GIVE = 28
    # pool, label, register of the queue: ask to enter the monitor of the queue to take a task from
    ENTER_POOL = 29
    # pool, register, label if a task ends the wait, if the end does, retry, instruction behind the
    # pool, parties
    TAKE_TASK = 30
    WORK = 31  # pool, register, label: work on the present part of the task
    # pool, register, label, part, entry: begin the next part, or ask to enter with a new task
    NEXT_PART = 32
    # pool, register, part, entry, label if a task ends a wait: add the task, begin the next part
    ADD_TASK = 33
    # draw, target, label: where to go on if the service of the visit that follows has not begun
    # after that time; or not ended, where the label, plus 1, is what its time is booked to, not 0
    PATIENCE = 34
    # first instruction of a token that goes on beside this one, lock that it holds from now on (or
    # -1)
    SPAWN = 35
    VANISH = 36  # end of a token that went on beside another
    # draw, tally, rule (see PickRule), first of the targets and behind them of the resources,
    # stations first; their number
    PICK = 37
    WEIGHT = 38  # weight, among the counts: of the visit that follows, at a shared station
    # forks between this token and the one that executes the body of the hold: let the processor of
    # the hold go on
    REPLY = 39
    # breaker, tally, register for the state that admits the try, target of a try that is refused
    CONSULT = 40
    # breaker, register, 1 if the try has failed, draw of the time for which the breaker may open
    RECORD = 41
    WHILE_AWAITED = 42  # target of a branch that its fork no longer waits for


class PickRule(IntEnum):
    """The rule by which one of several bodies is chosen, in the order of
    `slipstick.vocabulary.ROUTES`.
    """

    SHORTEST = 0
    SHORTER_OF_TWO = 1
    IN_TURN = 2
    LEAST_WORK = 3


class Where(IntEnum):
    """Which station of a row of equal stations a visit goes to."""

    FIXED = 0
    OWN = 1  # of the customer itself
    DESTINATION = 2  # of the customer that the request goes to


@dataclass(frozen=True, slots=True)
class Draw:
    """A random quantity and the name of its stream."""

    stream: str
    distribution: Times

    def blocks(self, seed: int, replication: int) -> Iterator[Array]:
        """Draw values of the quantity, block by block, see `BLOCKS`."""
        stream = Stream(seed, self.stream, replication)
        return self.distribution.blocks(stream, chain(BLOCKS, repeat(BLOCKS[-1])))


@dataclass(frozen=True, slots=True)
class StationPlan:
    """A station; stations with the same name are one resource in answers.

    Parameters
    ----------
    name : in answers
    servers : number of servers [1]
    discipline : one of `slipstick.vocabulary.SIMULATED_DISCIPLINES`
    rates : total speed of service with 1, 2, 3 ... customers present, the last for more; empty with
        servers of speed 1 [1]
    is_weighted : the part of each customer in shared servers is followed, of which it uses one at
        most: several servers are shared by weights, or services are given up
    may_be_abandoned : whether customers may abandon its queue
    may_cut_services : whether a time limit may end a service under way
    overtime : customers of rank 0 begin at once, beside the services under way
    """

    name: str
    servers: int = 1
    discipline: str = "fcfs"
    rates: tuple[float, ...] = ()
    is_weighted: bool = False
    may_be_abandoned: bool = False
    may_cut_services: bool = False
    overtime: bool = False

    def __post_init__(self) -> None:
        if self.discipline not in SIMULATED_DISCIPLINES:
            raise ModelError(
                f"station {self.name}: the discipline {self.discipline!r} cannot be simulated"
                + did_you_mean(self.discipline, SIMULATED_DISCIPLINES)
            )
        if self.servers < 1:
            raise ModelError(f"station {self.name}: it needs at least 1 server, got {self.servers}")
        if self.rates and self.servers != 1:
            raise ModelError(f"station {self.name}: rates need one server, got {self.servers}")
        for rate in self.rates:
            if not 0 < rate < math.inf:
                raise ModelError(
                    f"station {self.name}: a simulation needs every rate to be above 0, got"
                    f" {rate:g}"
                )


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """The rule by which a circuit breaker opens and closes.

    Parameters
    ----------
    failures : failed tries that open it [1]
    calls : tries that it looks back at [1]
    trials : tries that it admits after it was open, before it closes [1]
    """

    failures: int
    calls: int
    trials: int


@dataclass(frozen=True, slots=True)
class LockPlan:
    """A resource that is held over several instructions by a limited number of tokens at a time.

    Parameters
    ----------
    name : in answers
    permits : tokens that may hold it at the same time; of a lock 1; of a counter the units at the
        start [1]
    noun : what messages call it, one of `WAITS`
    rule : of a circuit breaker; `busy` is then 1 while it is open
    """

    name: str
    permits: int = 1
    noun: str = "lock"
    rule: BreakerRule | None = None

    def __post_init__(self) -> None:
        if not (self.noun != COUNTER) <= self.permits <= MOST_HOLDERS:
            raise ModelError(
                f"permits {self.name}: a simulation takes from 1 to {MOST_HOLDERS}, got"
                f" {self.permits}"
            )

    @property
    def label(self) -> str:
        """The label under which the account of time books waiting for the resource."""
        return f"{WAITS[self.noun]}:{self.name}"


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Tasks that processors take from queues, each queue inside a monitor, until all have been
    executed.

    A task is a sequence of parts: work, after which another task may be added. The problems are
    executed one after the other, one each time that the pool is asked, and again from the first.

    Parameters
    ----------
    tasks : number of the counter of the tasks in all queues, which those wait for that find none
    monitor : number of the lock that is the monitor of the first queue; those of the others follow
    queues : how many there are; customer i has queue i mod queues [1]
    last_first : a customer takes the youngest task of its own queue, and the oldest of another;
        else the oldest of any
    roots : by problem, the numbers of the tasks that exist at the start
    first : by task, its first part; at the end the number of parts
    times : by part, its work [s]
    added : by part, the number of the task that is added to the pool after it, or -1
    """

    tasks: int
    monitor: int
    queues: int
    last_first: bool
    roots: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    times: tuple[float, ...]
    added: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CustomerGroup:
    """A group of equal customers.

    Parameters
    ----------
    name : in answers
    kind : closed (cycles without end), open (arrives, does one cycle, leaves) or once (a program:
        all start at time 0)
    starts : first instruction of each customer; of every arrival if open
    arrivals : draw of the time between two arrivals, if open
    """

    name: str
    kind: str
    starts: tuple[int, ...]
    arrivals: int = -1


# A plan is compared by identity: caches look it up at every estimate, and the hash of a large plan
# takes 5 ms.
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A simulation without its seed: instructions, stations, locks and groups of customers.

    Parameters
    ----------
    code : instructions: an `Op` and its operands
    targets, cumulative : jump targets, and their cumulative probabilities
    counts : numbers of rounds and items [1], and times of back-off [s]
    draws : random quantities
    stations, locks : resources, locks and permits; their statistics are kept in this order
    pools : tasks that customers take
    barriers : their names
    tallies : names of the tallies of arrivals, each with those that are turned away
    pipelines : their names; how long they take is added up
    labels : names that time is booked to
    groups : groups of customers
    registers : number of loop counters of a customer
    is_program : the customers run once to the end; the plan is run again and again
    """

    code: tuple[tuple[int, ...], ...]
    groups: tuple[CustomerGroup, ...]
    draws: tuple[Draw, ...] = ()
    stations: tuple[StationPlan, ...] = ()
    locks: tuple[LockPlan, ...] = ()
    pools: tuple[PoolPlan, ...] = ()
    barriers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    targets: tuple[int, ...] = ()
    cumulative: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    registers: int = 0
    tallies: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()
    is_program: bool = field(init=False)

    def __post_init__(self) -> None:
        group_kinds = {group.kind for group in self.groups}
        if not group_kinds <= {"closed", "open", "once"} or (
            "once" in group_kinds and len(group_kinds) > 1
        ):
            raise ModelError(
                f"customers of the kinds {', '.join(sorted(group_kinds))} cannot be mixed: once"
                " goes with no other kind"
            )
        object.__setattr__(self, "is_program", group_kinds == {"once"})

    @property
    def locks_of_several_permits(self) -> frozenset[int]:
        """Numbers of the locks of which an instruction takes several permits at once."""
        return frozenset(
            lock for op, lock, *_, permits, _, _ in self.code if op == Op.ACQUIRE and permits > 1
        )

    @property
    def is_random(self) -> bool:
        """Return whether anything is drawn at random."""
        return any(not draw.distribution.is_constant for draw in self.draws)

    @property
    def population(self) -> int:
        """Number of customers at the start."""
        return sum(len(group.starts) for group in self.groups if group.kind != "open")

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the resources, in the order of their statistics: stations, then locks."""
        return (*(station.name for station in self.stations), *(lock.name for lock in self.locks))
