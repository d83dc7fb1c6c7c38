"""Building plans: customers' cycles as nested bodies; locks as programs of instructions.

`Builder` writes single instructions and keeps the tables that their operands point into, and writes
what an activity needs: choices, loops, forks, pipelines, holds, barriers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

from slipstick.errors import ModelError, NoAnswerError, did_you_mean, look_up
from slipstick.sim.plan.distributions import DistributedTime, ServiceTime, Times
from slipstick.sim.plan.plan import (
    COUNTER,
    OPERANDS,
    CustomerGroup,
    Draw,
    LockPlan,
    Op,
    Plan,
    PoolPlan,
    StationPlan,
    Where,
)
from slipstick.vocabulary import BACK_OFFS, DISCIPLINES, RANDOM, ROUTES

LOCKS = ("fifo", "tas", "ttas", "ticket", "queue")
"""FIFO hand-off at no cost; test-and-set; test-and-test-and-set; tickets, where all waiting
processors read the number called again at each release; a queue of processors, each spinning on a
word of its own."""

ACCESSES = "accesses"
"""Begins the name of the tally of the accesses of a lock; the name of the lock ends it."""

TRIES, GIVEN_UP, PRESENT = "tries", "attempts", "present"
"""Begin the names of the tallies of tries to visit a resource, with those abandoned, of attempts of
several tries, with those that were given up, and of tries that looked at a full queue."""

MOST_WEIGHT = 1e6
"""Largest ratio of the weights of two visits to a shared server [1]. The simulator adds up the
service of a customer of weight 1 in doubles, and begins again from 0 only at an empty station: after
n services of the smallest weight, that of the largest has a relative error of up to 2e-16 times n
times this ratio."""

NO_TIME = ServiceTime("deterministic", 0.0, 0.0)

UNIFORM = ServiceTime("uniform", 0.5, 1 / 3)

_HALF = ServiceTime("deterministic", 0.5, 0.0)
_ONE = ServiceTime("deterministic", 1.0, 0.0)

_UNIFORM_ABOUT_ONE = ServiceTime("uniform", 1.0, 1 / 3)

Body = Callable[[], object]


@dataclass(frozen=True, slots=True)
class LockImplementation:
    """The implementation of a lock: its kind, the station that holds its word, and its back-off.

    Parameters
    ----------
    kind : one of `LOCKS`
    word : station that holds the lock word; None if an access costs nothing
    access : time of one access to it
    back_off : one of `BACK_OFFS`; exponential is random about a mean that doubles
    base, most : mean back-off the first time, and at most [s]
    home : processor at whose node the word lies; None if accesses are not counted
    own_flags : of a queue of processors, accesses of an acquire, and of a release, to a flag at the
        own node
    """

    kind: str = "fifo"
    word: str | None = None
    access: ServiceTime = NO_TIME
    back_off: str = "none"
    base: float = 0.0
    most: float = float("inf")
    home: int | None = None
    own_flags: int = 0

    def __post_init__(self) -> None:
        for kind, value, allowed in (
            ("lock", self.kind, LOCKS),
            ("back-off", self.back_off, BACK_OFFS),
        ):
            if value not in allowed:
                raise ModelError(
                    f"no kernel knows the {kind} {value!r}{did_you_mean(value, allowed)}"
                )
        spins = self.kind == "tas" and (self.back_off == "none" or self.base == 0)
        if spins and (self.word is None or self.access.mean == 0):
            raise ModelError(
                "a test-and-set lock without back-off needs a word whose access takes time, or it"
                " would try again without end at one instant"
            )


class Builder:
    """Builds a plan, instruction by instruction.

    >>> builder = Builder()
    >>> builder.station("cpu")
    >>> builder.serve("cpu", ServiceTime("exponential", 0.8))
    >>> plan = builder.open("jobs", ServiceTime("exponential", 1.0), at=0)
    >>> [Op(row[0]).name for row in builder.plan().code]
    ['SERVE', 'END']
    """

    def __init__(self) -> None:
        self._code: list[list[int]] = []
        self._draws: dict[str, tuple[int, Draw]] = {}
        self._stations: list[StationPlan] = []
        self._first: dict[str, int] = {}
        self._locks: dict[str, tuple[int, LockPlan, LockImplementation]] = {}
        self._groups: list[CustomerGroup] = []
        self._pools: dict[str, PoolPlan] = {}
        self._leaving: dict[int, list[int]] = {}
        self._barriers: dict[str, int] = {}
        self._labels: dict[str, int] = {}
        self._targets: list[int] = []
        self._cumulative: list[float] = []
        self._counts: list[float] = []
        self._tallies: list[str] = []
        self._weights: dict[str, tuple[float, float]] = {}
        self._pipelines: dict[str, int] = {}
        self._marks: dict[str, int] = {}
        self._later: list[tuple[list[int], int, str]] = []
        self._depth = self._registers = 0

    @property
    def next_instruction(self) -> int:
        """Number of the next instruction."""
        return len(self._code)

    def emit(self, op: Op, *operands: int) -> int:
        """Write an instruction, and return its number."""
        self._code.append([int(op), *map(int, operands), *[0] * (OPERANDS - len(operands))])
        return len(self._code) - 1

    def patch(self, pc: int, operand: int, target: int | None = None) -> None:
        """Fill in a target that was not known when an instruction was written, by default the
        next instruction.
        """
        self._code[pc][1 + operand] = self.next_instruction if target is None else target

    def station(
        self,
        name: str,
        servers: int = 1,
        discipline: str = "fcfs",
        copies: int = 1,
        rates: Sequence[float] = (),
    ) -> None:
        """Add a station, or a row of equal stations, such as one for each customer."""
        if name in self._first:
            raise ModelError(f"two stations are called {name}")
        self._first[name] = len(self._stations)
        self._stations += [StationPlan(name, servers, discipline, tuple(rates))] * copies

    def lock(self, name: str, implementation: LockImplementation | None = None) -> None:
        """Add a lock; if its word lies at the node of a processor, a tally counts the accesses to
        the word, the local ones as refused.
        """
        self._locks[name] = len(self._locks), LockPlan(name), implementation or LockImplementation()
        if self._locks[name][2].home is not None:
            self._tallies.append(f"{ACCESSES}:{name}")

    def permits(self, name: str, number: int, noun: str = "permits") -> None:
        """Add a resource that up to `number` customers hold at a time, or a counter of units, whose
        use takes no time of its own.
        """
        self._locks[name] = len(self._locks), LockPlan(name, number, noun), LockImplementation()

    def pool(
        self,
        name: str,
        problems: Sequence[Sequence[int]],
        tasks: Sequence[Sequence[tuple[float, int]]],
        queues: int = 1,
        last_first: bool = True,
    ) -> None:
        """Add a pool of tasks.

        Parameters
        ----------
        name : of the pool, and in answers of the monitors of its queues
        problems : of each, the tasks that are there at the start
        tasks : of each, its parts: work [s], and the task that is added behind it or -1
        queues, last_first : see `PoolPlan`
        """
        self.permits(f"{name}.tasks", 0, COUNTER)
        monitor = len(self._locks)
        for index in range(queues):
            self._locks[f"{name} {index}"] = (
                monitor + index,
                LockPlan(name, noun="monitor"),
                LockImplementation(),
            )
        times, added = zip(*(row for task in tasks for row in task), strict=True)
        first_parts = tuple(accumulate((len(task) for task in tasks), initial=0))
        self._pools[name] = PoolPlan(
            monitor - 1,
            monitor,
            queues,
            last_first,
            tuple(map(tuple, problems)),
            first_parts,
            times,
            added,
        )

    def label(self, name: str) -> int:
        """Return the number of a label of the account of time, which is added if it is new."""
        return self._labels.setdefault(name, len(self._labels))

    def draw(self, stream: str, distribution: Times) -> int:
        """Return the number of the random quantity of a stream, which is added if it is new; one
        stream serves one quantity.
        """
        number, draw_plan = self._draws.setdefault(
            stream, (len(self._draws), Draw(stream, distribution))
        )
        if draw_plan.distribution != distribution:
            raise ModelError(f"two different quantities are drawn from the stream {stream}")
        return number

    def delay(
        self, time: ServiceTime | DistributedTime, label: str = "delay", stream: str | None = None
    ) -> None:
        """Write the instruction that suspends a customer for a random time."""
        self.emit(Op.DELAY, self.draw(stream or label, time), self.label(label))

    def serve(
        self,
        station: str,
        time: ServiceTime | DistributedTime,
        label: str | None = None,
        *,
        stream: str | None = None,
        wait: str | None = None,
        where: Where = Where.FIXED,
        offset: int = 0,
        rank: int = 0,
        weight: float = 1.0,
    ) -> None:
        """Write the instruction of a visit to a station; `where` and `offset` choose one of a row
        of equal stations, and `weight` is the part of a shared server.
        """
        number = self._number(station) + offset
        self._check_weight(station, weight)
        if weight != 1.0:
            self.emit(Op.WEIGHT, self._constant(weight))
        name = label or station
        draw = self.draw(stream or name, time)
        waiting = self.label(wait or f"wait:{station}")
        random = DISCIPLINES[self._stations[number].discipline].order == RANDOM
        place = 1 + self.draw(f"{station}:order", UNIFORM) if random else 0
        self.emit(Op.SERVE, number, draw, self.label(name), waiting, where, rank, place)

    def _check_weight(self, station: str, weight: float) -> None:
        """Raise if a visit has a weight that differs too much from another one at the station."""
        low, high = self._weights.get(station, (weight, weight))
        low = min(low, weight)
        high = max(high, weight)
        self._weights[station] = low, high
        if high > MOST_WEIGHT * low:
            raise NoAnswerError(
                f"the weights of visits to {station} go from {low:g} to {high:g}; of those that are"
                f" simulated none is over {MOST_WEIGHT:g} times another: where one visit has nearly"
                " all of the server, give the station the discipline priority-preemptive"
            )

    def draw_destination(self, customers: int, stream: str) -> None:
        """Write the instruction that chooses another customer at random as the destination of the
        requests that follow.
        """
        self.emit(Op.DRAW_DESTINATION, self.draw(stream, UNIFORM), 0, customers)

    def next_destination(self, customers: int) -> None:
        """Write the instruction that sends the requests that follow to the j-th other customer,
        where j is the number of the branch or item.
        """
        self.emit(Op.NEXT_DESTINATION, 0, customers)

    def admit(
        self, tally: str, station: str | None = None, most: int = 0, otherwise: str = ""
    ) -> None:
        """Write the instruction that counts an arrival; if `most` customers are present at the
        station or hold the permits of that name, the arrival also counts as refused and goes on at
        the mark `otherwise`.
        """
        if tally in self._tallies:
            raise ModelError(f"two tallies are called {tally}")
        self._tallies.append(tally)
        place = self._place(station)[0] if station else 0
        pc = self.emit(Op.ADMIT, len(self._tallies) - 1, place, most, -1)
        # A mark may lie behind: its instruction is known when the plan is complete.
        if most:
            self._later.append((self._code[pc], 4, otherwise))

    def patience(self, time: ServiceTime, otherwise: str, stream: str) -> None:
        """Write the instruction that limits the waiting time of the next visit; a customer that
        abandons the queue goes on at the mark `otherwise`.
        """
        pc = self.emit(Op.PATIENCE, self.draw(stream, time), -1)
        self._later.append((self._code[pc], 2, otherwise))

    def enter(self, permits: str, label: str) -> None:
        """Write the instruction that takes a permit, which `leave` returns; the wait is booked to
        the label.
        """
        self.emit(Op.ACQUIRE, self._lock(permits)[0], self.label(label), 0, 0, 1)

    def leave(self, permits: str) -> None:
        """Write the instruction that returns a permit taken by `enter`."""
        self.emit(Op.RELEASE, self._lock(permits)[0], 1)

    def jump(self, place: str) -> None:
        """Write a jump to a mark."""
        pc = self.emit(Op.JUMP, -1)
        self._later.append((self._code[pc], 1, place))

    def mark(self, place: str) -> None:
        """Name the next instruction, as a target of `go`, `jump` and `admit` before or behind it."""
        self._marks[place] = self.next_instruction

    def go(self, marks: Sequence[tuple[float, str]], stream: str) -> None:
        """Write a jump to one of several marks at random, from pairs of a probability and a mark."""
        # A single mark reads a constant, so that the jump uses up no random number.
        chance = self.draw(stream, UNIFORM) if len(marks) > 1 else self.draw("whole", _HALF)
        first_target = self._choice([probability for probability, _ in marks], chance)
        self._later += [
            (self._targets, index, place) for index, (_, place) in enumerate(marks, first_target)
        ]

    def choose(self, options: Sequence[tuple[float, Body]], stream: str) -> None:
        """Write a choice of one of several bodies of instructions, by their probabilities."""
        first_target = self._choice(
            [probability for probability, _ in options], self.draw(stream, UNIFORM)
        )
        self._alternatives(first_target, [body for _, body in options])

    def pick(self, options: Sequence[tuple[str, Body]], by: str, number: str) -> None:
        """Write a choice of one of several bodies of instructions by a rule of `ROUTES`: in turn,
        or by the number of customers present at the resource named with each.
        """
        first_target = self._reserve(2 * len(options))
        count = len(options)
        self._targets[first_target + count :] = [self._place(name)[0] for name, _ in options]
        draw = self.draw(f"pick-{number}", UNIFORM)
        tally = self._counted_by(f"picks:{number}")
        self.emit(Op.PICK, draw, tally, list(ROUTES).index(by), first_target, count)
        self._alternatives(first_target, [body for _, body in options])

    def repeat(self, count: float, body: Body, stream: str) -> None:
        """Write a loop that executes a body `count` times; a fraction of the count is the
        probability of one more round.
        """
        with self._register() as register:
            self.emit(Op.SET_COUNT, register, *self._count(count, stream))
            loop = self.emit(Op.LOOP, register, -1)
            body()
            if count == 0 or self.next_instruction == loop + 1:
                # No rounds, or rounds of nothing, take no time; but a loop around them would take
                # the simulator's, without an event that could be counted.
                del self._code[loop - 1 :]
                return
            self.emit(Op.JUMP, loop)
            self.patch(loop, 1)

    def repeat_geometrically(self, mean: float, body: Body, stream: str) -> None:
        """Write a loop that executes a body a random number of times, geometric from 0 on, of mean
        `mean`.
        """
        start = self.next_instruction
        first_target = self._choice([mean / (1 + mean), 1 / (1 + mean)], self.draw(stream, UNIFORM))
        self._targets[first_target] = self.next_instruction
        body()
        self.emit(Op.JUMP, start)
        self._targets[first_target + 1] = self.next_instruction

    def repeat_with_probability(self, chance: float, body: Body, stream: str) -> None:
        """Write a body that is repeated with a probability after each execution."""
        start = self.next_instruction
        body()
        first_target = self._choice([chance, 1 - chance], self.draw(stream, UNIFORM))
        self._targets[first_target:] = [start, self.next_instruction]

    def fork(self, branches: Sequence[Body], join: int | None = None) -> None:
        """Write a fork whose branches are executed in parallel; the customer waits for all of them,
        or for the first `join` that end.
        """
        if join == 0:
            self._send(branches)
            return
        first_target = self._reserve(len(branches))
        fork = self.emit(Op.FORK, first_target, len(branches), -1, join or len(branches))
        for index, body in enumerate(branches):
            self._targets[first_target + index] = self.next_instruction
            body()
            self.emit(Op.JOIN, -1)
        self.patch(fork, 2)

    def _send(self, branches: Sequence[Body]) -> None:
        """Write branches that are executed beside the customer, which does not wait for them."""
        spawned = [self.emit(Op.SPAWN, -1, -1) for _ in branches]
        onward = self.emit(Op.JUMP, -1)
        for spawn, body in zip(spawned, branches, strict=True):
            self.patch(spawn, 0)
            body()
            self.emit(Op.JOIN, -1)
        self.patch(onward, 0)

    def pipeline(
        self, items: float, stages: Sequence[tuple[bool, Sequence[Body]]], name: str
    ) -> None:
        """Write the stages that items pass through: for each, whether it is serial, and one body or
        one for each item.
        """
        number = self._pipelines.setdefault(name, len(self._pipelines))
        pipe = self.emit(
            Op.PIPELINE, *self._count(items, f"{name}:items"), self.next_instruction + 1, -1
        )
        passed = 0
        for serial, bodies in stages:
            if serial:
                self.emit(Op.ENTER_STAGE, passed)
            if len(bodies) == 1:
                bodies[0]()
            else:
                first_target = self._reserve(len(bodies))
                self.emit(Op.SWITCH, first_target)
                self._alternatives(first_target, bodies)
            if serial:
                self.emit(Op.LEAVE_STAGE, passed)
                passed += 1
        self.emit(Op.JOIN, number)
        self.patch(pipe, 3)

    def attempt(
        self,
        limit: ServiceTime | None,
        visit: Body,
        otherwise: Body,
        name: str,
        *,
        number: str,
        retries: int = 0,
        back_off: ServiceTime | None = None,
        doubling: bool = False,
        queue: int | None = None,
    ) -> None:
        """Write a visit to a station or a hold of a lock that is tried again if it does not begin
        within a limit.

        Tallies count the tries, those abandoned apart, and the attempts, those given up apart.

        Parameters
        ----------
        limit : of the time in the queue; None: none
        visit, otherwise : a visit, and what is done where the last try is abandoned
        name : of what is waited for
        number : that tells attempts at one resource apart in the names of streams
        retries : tries after the first
        back_off : pause between two tries, at first
        doubling : each further pause is twice as long
        queue : how many wait at most; None: any number
        """
        tries = f"{TRIES}:{name}"
        attempts = f"{GIVEN_UP}:{name}"
        # The number makes the name of the mark unique.
        label = f"back-off:{name}"
        late = f"attempt at {self.next_instruction} is late"
        with self._register() as retries_left, self._register() as pauses:
            self.emit(Op.SET_COUNT, retries_left, *self._count(retries, ""))
            self.emit(Op.SET_COUNT, pauses, *self._count(0, ""))
            start = self.next_instruction
            if queue is not None:
                resource, places = self._place(name)
                full = self._counted_by(f"{PRESENT}:{name}")
                pc = self.emit(Op.ADMIT, full, resource, places + queue, -1)
                self._later.append((self._code[pc], 4, late))
            if limit is not None:
                self.patience(limit, late, f"attempt {number} at {name}")
            visit()
            self._tally(tries)
            self._tally(attempts)
            done = self.emit(Op.JUMP, -1)
            self.mark(late)
            self._tally(tries, refused=True)
            retry = self.emit(Op.LOOP, retries_left, -1)
            if back_off is not None:
                # Of mean 1, because the instruction multiplies it by a pause that may double.
                draw = self.draw(f"{label} {number}", replace(back_off, mean=1.0))
                longest_pause = math.inf if doubling else back_off.mean
                constants = map(self._constant, (back_off.mean, longest_pause))
                self.emit(Op.BACK_OFF, draw, self.label(label), pauses, *constants)
            self.emit(Op.JUMP, start)
            self.patch(retry, 1)
            self._tally(attempts, refused=True)
            otherwise()
            self.patch(done, 0)

    def _place(self, name: str) -> tuple[int, int]:
        """Return the number of a resource, stations numbered before locks, and its number of
        servers or permits.
        """
        if name in self._locks:
            number, plan, _ = self._locks[name]
            return len(self._stations) + number, plan.permits
        number = self._number(name)
        return number, self._stations[number].servers

    def _counted_by(self, name: str) -> int:
        """Return the number of a tally, which is added if it is new."""
        if name not in self._tallies:
            self._tallies.append(name)
        return self._tallies.index(name)

    def _tally(self, name: str, refused: bool = False) -> None:
        """Write an instruction that counts at a tally; a refused customer also counts as turned
        away.
        """
        number = self._counted_by(name)
        if refused:
            self.emit(Op.COUNT_ACCESS, number, -1, -1)
        else:
            self.emit(Op.ADMIT, number, 0, 0, -1)

    def hold(
        self,
        lock: str,
        body: Body,
        rank: int = 0,
        excludes: bool = False,
        after: Body | None = None,
        permits: int = 1,
        replies: bool = False,
    ) -> None:
        """Write a body that is executed while a lock or permits are held; all time until it is held
        is booked to the lock's label.

        Parameters
        ----------
        lock, body : what is held, and what is done
        rank : requests of a smaller rank go before it
        excludes : no other holds it at the same time
        after : what is done then, still holding it, while the customer goes on
        permits : how many permits are taken at once
        replies : the customer goes on at a `reply` inside the body
        """
        number, plan, implementation = self._lock(lock)
        if implementation.kind in ("fifo", "queue"):
            if implementation.kind == "queue":
                self._access(plan, implementation)
            self.emit(Op.ACQUIRE, number, self.label(plan.label), rank, excludes, permits)
        else:
            with self._register() as register:
                spin = self._take_turns if implementation.kind == "ticket" else self._spin
                spin(number, plan, implementation, register)
        if replies:
            self._answer(number, body, permits)
            return
        body()
        if after is not None:
            spawn = self.emit(Op.SPAWN, -1, number)
            onward = self.emit(Op.JUMP, -1)
            self.patch(spawn, 0)
            after()
            self.emit(Op.RELEASE, number, permits)
            self.emit(Op.VANISH)
            self.patch(onward, 0)
            return
        if implementation.kind != "fifo":
            self._access(plan, implementation, number if implementation.kind == "queue" else -1)
        self.emit(Op.RELEASE, number, permits)
        # The member that hands a monitor over has left it.
        for give in self._leaving.pop(number, ()):
            self.patch(give, 2)

    def _answer(self, lock: int, body: Body, permits: int) -> None:
        """Write a body as the only branch of a fork, which takes the lock over and releases it."""
        first_target = self._reserve(1)
        fork = self.emit(Op.FORK, first_target, 1, -1, 1, lock + 1)
        self._targets[first_target] = self.next_instruction
        body()
        self.emit(Op.RELEASE, lock, permits)
        self.emit(Op.JOIN, -1)
        self.patch(fork, 2)

    def reply(self, forks: int) -> None:
        """Write the instruction by which the body of a hold lets its customer go on; `forks` is
        the number of forks around it inside the body.
        """
        self.emit(Op.REPLY, forks)

    def hold_together(self, locks: Sequence[str], body: Body) -> None:
        """Write a body that is executed while several locks, acquired at one moment, are held.

        Where one of them is held, none is acquired; all are tried again after the back-off of that
        one.
        """
        lock_rows = [self._lock(name) for name in locks]
        with self._register() as register:
            for number, _, _ in lock_rows:
                self.emit(Op.REQUEST, number)
            self.emit(Op.SET_COUNT, register, *self._count(0, ""))
            retry = self.next_instruction
            attempts = [self.emit(Op.ATTEMPT, number, -1, 1) for number, _, _ in lock_rows]
            for number, _, _ in lock_rows:
                self.emit(Op.ATTEMPT, number, retry)
        body()
        for number, _, _ in reversed(lock_rows):
            self.emit(Op.RELEASE, number, 1)
        jump = self.emit(Op.JUMP, -1)
        for attempt, (_, plan, implementation) in zip(attempts, lock_rows, strict=True):
            self.patch(attempt, 1)
            self._back_off(plan, implementation, register)
            self.emit(Op.JUMP, retry)
        self.patch(jump, 0)

    def _lock(self, name: str) -> tuple[int, LockPlan, LockImplementation]:
        return look_up("lock", name, self._locks)

    def wait(self, counter: str, monitor: str | None = None) -> None:
        """Write the instruction that takes a unit of a counter; a customer that has to wait for one
        leaves the monitor meanwhile.
        """
        number, plan, _ = self._lock(counter)
        self.emit(
            Op.WAIT,
            number,
            self.label(plan.label),
            -1 if monitor is None else self._lock(monitor)[0],
        )

    def give(self, counter: str, monitor: str | None = None) -> None:
        """Write the instruction that returns a unit to a counter; a member that waited for the unit
        gets the monitor too, so that nothing may follow inside the monitor.
        """
        held = -1 if monitor is None else self._lock(monitor)[0]
        self._leaving.setdefault(held, []).append(
            self.emit(Op.GIVE, self._lock(counter)[0], held, -1)
        )

    def ask(self, pool: str, parties: int, time_inside: ServiceTime, label: str, cost: str) -> None:
        """Write the instructions with which a customer, together with others, executes the tasks of
        a pool until all are done.

        Parameters
        ----------
        pool, parties : which, and how many customers execute it
        time_inside : time in the monitor to take or add a task
        label, cost : what the work and the time in the monitor are booked to
        """
        number = list(self._pools).index(pool)
        entering, task, barrier = (
            self.label(f"{kind}:{pool}") for kind in ("entry", "task", "barrier")
        )
        with self._register() as register, self._register():
            entry = self.emit(Op.ENTER_POOL, number, entering, register)
            self._pass_time(time_inside, cost)
            take = self.emit(Op.TAKE_TASK, number, register, task, barrier, entry, -1, parties)
            work = self.emit(Op.WORK, number, register, self.label(label))
            self.emit(Op.NEXT_PART, number, register, entering, work, entry)
            self._pass_time(time_inside, cost)
            self.emit(Op.ADD_TASK, number, register, work, entry, task)
            self.patch(take, 5)

    def _pass_time(self, time: ServiceTime, label: str) -> None:
        if time.mean:
            self.delay(time, label)

    def _spin(
        self, number: int, lock: LockPlan, implementation: LockImplementation, register: int
    ) -> None:
        """Write the test and set of the word, repeated until the lock is held."""
        self.emit(Op.REQUEST, number)
        self.emit(Op.SET_COUNT, register, *self._count(0, ""))
        retry = self.next_instruction
        if implementation.kind == "ttas":
            # A processor that reads a held lock spins on its cached copy, and reads the word anew
            # after the release.
            self._access(lock, implementation)
            self.emit(Op.AWAIT_FREE, number, self.label(lock.label))
        self._access(lock, implementation)
        attempt = self.emit(Op.ATTEMPT, number, -1)
        jump = self.emit(Op.JUMP, -1)
        self.patch(attempt, 1)
        if implementation.back_off != "none":
            self._back_off(lock, implementation, register)
        self.emit(Op.JUMP, retry)
        self.patch(jump, 0)

    def _back_off(self, lock: LockPlan, implementation: LockImplementation, register: int) -> None:
        """Write the pause after a failed attempt."""
        grows = implementation.back_off == "exponential"
        draw = self.draw(f"{lock.label}:back-off", _UNIFORM_ABOUT_ONE if grows else _ONE)
        pauses = (implementation.base, implementation.most if grows else implementation.base)
        self.emit(Op.BACK_OFF, draw, self.label(lock.label), register, *map(self._constant, pauses))

    def _take_turns(
        self, number: int, lock: LockPlan, implementation: LockImplementation, register: int
    ) -> None:
        """Write the fetch and increment of the ticket counter, then the reading of the number
        called, once more after each release.
        """
        self._access(lock, implementation)
        self.emit(Op.TAKE_TICKET, number, register)
        retry = self.next_instruction
        self._access(lock, implementation)
        draw = self.draw(f"{lock.label}:arbitration", UNIFORM)
        self.emit(Op.AWAIT_TURN, number, self.label(lock.label), register, draw, retry)

    def _access(
        self, lock: LockPlan, implementation: LockImplementation, notified: int = -1
    ) -> None:
        """Write an access to the lock's word or, where a lock is released to the next processor of
        its queue, to the flag of that processor.
        """
        if implementation.home is not None:
            tally = self._tallies.index(f"{ACCESSES}:{lock.name}")
            # A processor that releases an array for which none waits leaves its mark on its own
            # flag; a list has its end at the word.
            own = notified >= 0 and implementation.own_flags
            self.emit(Op.COUNT_ACCESS, tally, -1 if own else implementation.home, notified)
            for _ in range(implementation.own_flags):
                self.emit(Op.COUNT_ACCESS, tally, -1, -1)
        if implementation.word is not None:
            label = lock.label
            self.serve(
                implementation.word,
                implementation.access,
                label,
                stream=f"{label}:access",
                wait=label,
            )

    def barrier(self, name: str, parties: int, cost: ServiceTime = NO_TIME) -> None:
        """Write a wait until `parties` customers have arrived, then for the cost; all of it is
        booked to ``barrier:<name>``.
        """
        self.await_parties(name, parties, f"barrier:{name}")
        if cost.mean > 0:
            self.delay(cost, f"barrier:{name}", stream=f"barrier:{name}:cost")

    def await_parties(self, name: str, parties: int, label: str) -> None:
        """Write a wait until `parties` customers have arrived, at no cost."""
        barrier = self._barriers.setdefault(name, len(self._barriers))
        self.emit(Op.BARRIER, barrier, parties, self.label(label))

    def start_response(self) -> None:
        """Write the start of the response time; without it, that is the start of the cycle."""
        self.emit(Op.START_RESPONSE)

    def finish(self, *, onward: bool = False, lost: bool = False) -> None:
        """Write the end of the cycle: a closed customer begins anew, or continues if `onward`; the
        cycle of a `lost` customer does not count.
        """
        self.emit(Op.END, onward, lost)

    def closed(self, name: str, customers: int, at: int) -> None:
        """Add a closed group, whose customers repeat the cycle that begins at an instruction; write
        the end of the cycle if it is missing.
        """
        self._add_group(CustomerGroup(name, "closed", (at,) * customers))

    def open(self, name: str, between: Times, at: int) -> None:
        """Add an open group, whose customers arrive at random times `between` apart and begin at an
        instruction.
        """
        if between.mean == 0:
            raise ModelError(f"the time between two arrivals of {name} must be above 0 s")
        self._add_group(CustomerGroup(name, "open", (at,), self.draw(f"{name}:arrivals", between)))

    def once(self, name: str, starts: Sequence[int]) -> None:
        """Add the customers of a program, which run once, each from a first instruction of its own."""
        self._add_group(CustomerGroup(name, "once", tuple(starts)))

    def plan(self) -> Plan:
        """Return the finished plan, with the targets of all jumps to marks filled in."""
        for table, index, place in self._later:
            table[index] = look_up("mark", place, self._marks)
        draws = tuple(draw for _, draw in self._draws.values())
        locks = tuple(plan for _, plan, _ in self._locks.values())
        return Plan(
            code=tuple(map(tuple, self._code)),
            groups=tuple(self._groups),
            draws=draws,
            stations=tuple(self._stations),
            locks=locks,
            pools=tuple(self._pools.values()),
            barriers=tuple(self._barriers),
            labels=tuple(self._labels),
            targets=tuple(self._targets),
            cumulative=tuple(self._cumulative),
            counts=tuple(self._counts),
            registers=self._registers,
            tallies=tuple(self._tallies),
            pipelines=tuple(self._pipelines),
        )

    def _number(self, station: str) -> int:
        return look_up("station", station, self._first)

    def _constant(self, value: float) -> int:
        """Add a number to the plan's table of numbers, and return its index."""
        self._counts.append(value)
        return len(self._counts) - 1

    def _count(self, count: float, stream: str) -> tuple[int, int]:
        """Return the operands of a number of rounds: the index of the count, and the draw that
        decides whether its fraction gives one more.
        """
        # Of a whole count the fraction is 0, which the constant 0.5 never falls below: no number is
        # drawn.
        chance = self.draw("whole", _HALF) if count == int(count) else self.draw(stream, UNIFORM)
        return self._constant(count), chance

    @contextmanager
    def _register(self) -> Iterator[int]:
        """Reserve a loop counter."""
        # Loops one after the other share a counter; loops inside each other need one each.
        self._depth += 1
        self._registers = max(self._registers, self._depth)
        yield self._depth - 1
        self._depth -= 1

    def _reserve(self, count: int) -> int:
        """Reserve entries in the table of jump targets, and return the first of them."""
        self._targets += [-1] * count
        self._cumulative += [0.0] * count
        return len(self._targets) - count

    def _choice(self, probabilities: Sequence[float], chance: int) -> int:
        """Write a random choice whose jump targets are filled in later, and return the entry of the
        first target.
        """
        first_target = self._reserve(len(probabilities))
        self._cumulative[first_target:] = accumulate(probabilities)
        self.emit(Op.CHOOSE, chance, first_target, len(probabilities))
        return first_target

    def _alternatives(self, first_target: int, bodies: Sequence[Body]) -> None:
        """Write the bodies of a choice as its targets in order; each continues behind the last
        body.
        """
        jumps = []
        for place, body in enumerate(bodies, first_target):
            self._targets[place] = self.next_instruction
            body()
            jumps.append(self.emit(Op.JUMP, -1))
        for jump in jumps:
            self.patch(jump, 0)

    def _add_group(self, group: CustomerGroup) -> None:
        # A group that begins behind all that is written has a cycle of nothing, such as 0 rounds.
        empty = self.next_instruction in group.starts
        if empty or (self._code and self._code[-1][0] != Op.END):
            self.finish()
        self._groups.append(group)
