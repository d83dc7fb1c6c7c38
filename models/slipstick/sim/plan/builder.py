"""Building plans: customers' cycles as nested bodies; locks and barriers as programs of instructions.

`Assembler` writes single instructions and keeps their tables; `write_acquire`, `write_release` and `write_barrier` write the
programs of each kind of lock and barrier; `Builder` adds what an activity needs: choices, loops, forks, pipelines, holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slipstick.errors import ModelError, UnknownNameError, did_you_mean
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import OPERANDS, CustomerGroup, Draw, LockPlan, Op, Plan, StationPlan, Where
from slipstick.vocabulary import BACK_OFFS, DISCIPLINES, RANDOM

LOCKS = ("fifo", "tas", "ttas", "ticket", "queue")

"""FIFO hand-off at no cost; test-and-set; test-and-test-and-set; tickets, where all that wait read the number called anew
at each release; a queue of processors, each spinning on a word of its own."""

BARRIERS = ("central", "tree", "dissemination", "manager")

NO_TIME = ServiceTime("deterministic", 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LockImplementation:
    """How a lock is implemented.

    Parameters
    ----------
    kind : one of `LOCKS`
    word : station that holds the lock word; None if an access costs nothing
    access : time of one access to it
    back_off : one of `BACK_OFFS`; exponential is random about a mean that doubles
    base, most : mean back-off the first time, and at most [s]
    """

    kind: str = "fifo"
    word: str | None = None
    access: ServiceTime = NO_TIME
    back_off: str = "none"
    base: float = 0.0
    most: float = float("inf")

    def __post_init__(self) -> None:
        for what, value, known in (("lock", self.kind, LOCKS), ("back-off", self.back_off, BACK_OFFS)):
            if value not in known:
                raise ModelError(f"no kernel knows the {what} {value!r}{did_you_mean(value, known)}")
        spins = self.kind == "tas" and (self.back_off == "none" or self.base == 0)
        if spins and (self.word is None or self.access.mean == 0):
            raise ModelError(
                "a test-and-set lock without back-off needs a word and a time of access, or it would spin without end "
                "at one instant"
            )


@dataclass(frozen=True, slots=True)
class BarrierImplementation:
    """How a barrier is implemented.

    Parameters
    ----------
    kind : one of `BARRIERS`
    word : station that holds the counters, carries the messages, or is the manager; None if that is free
    access : time of each access or message
    radix : arrivals combined at a node of a tree
    cost : time from the last arrival to the release of all
    """

    kind: str = "central"
    word: str | None = None
    access: ServiceTime = NO_TIME
    radix: int = 4
    cost: ServiceTime = NO_TIME

    def __post_init__(self) -> None:
        if self.kind not in BARRIERS:
            raise ModelError(f"no simulated barrier is called {self.kind!r}{did_you_mean(self.kind, BARRIERS)}")
        if self.radix < 2:
            raise ModelError(f"a node of a combining tree combines at least 2 arrivals, got {self.radix}")


_HALF = ServiceTime("deterministic", 0.5, 0.0)

CHANCE = ServiceTime("uniform", 0.5, 1 / 3)


class Assembler:
    """Writes instructions and the tables that their operands point into."""

    def __init__(self) -> None:
        self._code: list[list[int]] = []
        self._draws: dict[str, Draw] = {}
        self._stations: list[StationPlan] = []
        self._rows: dict[str, tuple[int, int]] = {}
        self._barriers: list[str] = []
        self._labels: list[str] = []
        self._targets: list[int] = []
        self._odds: list[float] = []
        self._counts: list[float] = []
        self._gates: list[str] = []
        self._pipelines: list[str] = []
        self._marks: dict[str, int] = {}
        self._later: list[tuple[list[int], int, str]] = []
        self._nodes = self._flags = 0
        self._depth = self._registers = 0

    @property
    def here(self) -> int:
        """Number of the next instruction."""
        return len(self._code)

    def station(
        self, name: str, servers: int = 1, discipline: str = "fcfs", copies: int = 1, rates: Sequence[float] = ()
    ) -> None:
        """Add a station, or a row of equal stations, such as one for each customer."""
        if name in self._rows:
            raise ModelError(f"two stations are called {name}")
        self._rows[name] = (len(self._stations), copies)
        self._stations += [StationPlan(name, servers, discipline, tuple(rates))] * copies

    def label(self, name: str) -> int:
        """Give the number of an account label."""
        if name not in self._labels:
            self._labels.append(name)
        return self._labels.index(name)

    def draw(self, stream: str, distribution: ServiceTime) -> int:
        """Give the number of a random quantity; one stream name stands for one quantity."""
        known = self._draws.setdefault(stream, Draw(stream, distribution))
        if known.distribution != distribution:
            raise ModelError(f"two different quantities are drawn from the stream {stream}")
        return list(self._draws).index(stream)

    def delay(self, time: ServiceTime, label: str = "delay", stream: str | None = None) -> None:
        """Let time pass."""
        self.emit(Op.DELAY, self.draw(stream or label, time), self.label(label))

    def serve(
        self,
        station: str,
        time: ServiceTime,
        label: str | None = None,
        *,
        stream: str | None = None,
        wait: str | None = None,
        where: Where = Where.FIXED,
        offset: int = 0,
        rank: int = 0,
    ) -> None:
        """Visit a station; `where` and `offset` choose one of a row."""
        first = self._row(station)[0] + offset
        name = label or station
        draw, waiting = self.draw(stream or name, time), self.label(wait or f"wait:{station}")
        random = DISCIPLINES[self._stations[first].discipline].order == RANDOM
        place = 1 + self.draw(f"{station}:order", CHANCE) if random else 0
        self.emit(Op.SERVE, first, draw, self.label(name), waiting, where, rank, place)

    def admit(self, gate: str, station: str | None = None, most: int = 0, otherwise: str = "") -> None:
        """Count an arrival; with `most` customers at the station, turn it away to the mark `otherwise` and count that too."""
        if gate in self._gates:
            raise ModelError(f"two gates are called {gate}")
        self._gates.append(gate)
        number = self._row(station)[0] if station else 0
        pc = self.emit(Op.ADMIT, len(self._gates) - 1, number, most, -1)
        if most:
            self._later.append((self._code[pc], 4, otherwise))

    def mark(self, place: str) -> None:
        """Name the next instruction, as a target of `go` and `admit` before or behind it."""
        self._marks[place] = self.here

    def go(self, ways: Sequence[tuple[float, str]], stream: str) -> None:
        """Jump to one of several marks at random: pairs of a probability and a mark."""
        first = len(self._targets)
        self._reserve(len(ways))
        chance = self.draw(stream, CHANCE) if len(ways) > 1 else self.draw("whole", _HALF)
        self.emit(Op.CHOOSE, chance, first, len(ways))
        reached = 0.0
        for index, (probability, place) in enumerate(ways, first):
            reached += probability
            self._odds[index] = reached
            self._later.append((self._targets, index, place))

    def start_response(self) -> None:
        """Let the response time begin here instead of at the start of the cycle."""
        self.emit(Op.START_RESPONSE)

    def await_parties(self, name: str, parties: int, label: str) -> None:
        """Wait until `parties` customers have arrived; costs nothing else."""
        self.emit(Op.BARRIER, self.barrier_number(name), parties, self.label(label))

    def barrier_number(self, name: str) -> int:
        """Give the number of a barrier."""
        if name not in self._barriers:
            self._barriers.append(name)
        return self._barriers.index(name)

    def emit(self, op: Op, *operands: int) -> int:
        """Write an instruction and give its number."""
        self._code.append([int(op), *map(int, operands), *[0] * (OPERANDS - len(operands))])
        return len(self._code) - 1

    def patch(self, pc: int, operand: int, value: int) -> None:
        """Fill in what was not known when an instruction was written; operands count from 0."""
        self._code[pc][1 + operand] = value

    def constant(self, value: float) -> int:
        """Give the place of a number among the counts."""
        self._counts.append(value)
        return len(self._counts) - 1

    def count(self, count: float, stream: str) -> tuple[int, int]:
        """Give the operands of a number of rounds; a fraction is the probability of one more."""
        chance = self.draw("whole", _HALF) if count == int(count) else self.draw(stream, CHANCE)
        return self.constant(count), chance

    def take_nodes(self, count: int) -> int:
        """Reserve nodes of a tree, and give the first."""
        self._nodes += count
        return self._nodes - count

    def take_flags(self, count: int) -> int:
        """Reserve flags, and give the first."""
        self._flags += count
        return self._flags - count

    def take_register(self) -> int:
        """Reserve a loop counter, until `give_register_back`."""
        self._depth += 1
        self._registers = max(self._registers, self._depth)
        return self._depth - 1

    def give_register_back(self) -> None:
        """Free the loop counter reserved last."""
        self._depth -= 1

    def _settle(self) -> None:
        """Fill in the targets of jumps to marks."""
        for table, index, place in self._later:
            if place not in self._marks:
                raise UnknownNameError("mark", place, list(self._marks))
            table[index] = self._marks[place]

    def _row(self, station: str) -> tuple[int, int]:
        if station not in self._rows:
            raise UnknownNameError("station", station, list(self._rows))
        return self._rows[station]

    def _reserve(self, count: int) -> None:
        self._targets += [-1] * count
        self._odds += [0.0] * count


Body = Callable[[], object]


class Builder(Assembler):
    """Builds a plan.

    >>> builder = Builder()
    >>> builder.station("cpu")
    >>> builder.serve("cpu", ServiceTime("exponential", 0.8))
    >>> plan = builder.open("jobs", ServiceTime("exponential", 1.0), at=0)
    >>> [Op(row[0]).name for row in builder.plan().code]
    ['SERVE', 'END']
    """

    def __init__(self) -> None:
        super().__init__()
        self._locks: dict[str, tuple[LockPlan, LockImplementation]] = {}
        self._groups: list[CustomerGroup] = []

    def lock(self, name: str, implementation: LockImplementation | None = None) -> None:
        """Add a lock."""
        self._locks[name] = LockPlan(name), implementation or LockImplementation()

    def permits(self, name: str, number: int) -> None:
        """Add a resource with a number of permits, granted in the order of the requests at no cost."""
        self._locks[name] = LockPlan(name, number, "permits"), LockImplementation()

    def aim_at_random(self, customers: int, stream: str) -> None:
        """Aim at one of the other customers at random."""
        self.emit(Op.AIM_AT_RANDOM, self.draw(stream, CHANCE), 0, customers)

    def aim_in_turn(self, customers: int) -> None:
        """Aim at the j-th other customer, for branch or item j."""
        self.emit(Op.AIM_IN_TURN, 0, customers)

    def choose(self, options: Sequence[tuple[float, Body]], stream: str) -> None:
        """Do one of several bodies, with the probability of each."""
        first, count = len(self._targets), len(options)
        self._reserve(count)
        self.emit(Op.CHOOSE, self.draw(stream, CHANCE), first, count)
        reached = 0.0
        jumps = []
        for index, (probability, body) in enumerate(options):
            reached += probability
            self._targets[first + index], self._odds[first + index] = self.here, reached
            body()
            jumps.append(self.emit(Op.JUMP, -1))
        for jump in jumps:
            self._code[jump][1] = self.here

    def repeat(self, count: float, body: Body, stream: str) -> None:
        """Repeat a body; a fraction of the count is the probability of one more."""
        register = self.take_register()
        self.emit(Op.SET_COUNT, register, *self.count(count, stream))
        loop = self.emit(Op.LOOP, register, -1)
        body()
        self.emit(Op.JUMP, loop)
        self._code[loop][2] = self.here
        self.give_register_back()

    def over_again(self, chance: float, body: Body, stream: str) -> None:
        """Do a body, and repeat it with a probability after each time."""
        start = self.here
        body()
        first = len(self._targets)
        self._reserve(2)
        self.emit(Op.CHOOSE, self.draw(stream, CHANCE), first, 2)
        self._targets[first:], self._odds[first:] = [start, self.here], [chance, 1.0]

    def fork(self, branches: Sequence[Body]) -> None:
        """Do several bodies in parallel and wait for all."""
        first = len(self._targets)
        self._reserve(len(branches))
        fork = self.emit(Op.FORK, first, len(branches), -1)
        for index, body in enumerate(branches):
            self._targets[first + index] = self.here
            body()
            self.emit(Op.JOIN, -1)
        self._code[fork][3] = self.here

    def pipeline(self, items: float, stages: Sequence[tuple[bool, Sequence[Body]]], name: str) -> None:
        """Pass items through stages: (serial or not, one body, or one for each item)."""
        if name not in self._pipelines:
            self._pipelines.append(name)
        pipe = self.emit(Op.PIPELINE, *self.count(items, f"{name}:items"), self.here + 1, -1)
        passed = 0
        for serial, bodies in stages:
            if serial:
                self.emit(Op.ENTER_STAGE, passed)
            self._one_of(bodies)
            if serial:
                self.emit(Op.LEAVE_STAGE, passed)
                passed += 1
        self.emit(Op.JOIN, self._pipelines.index(name))
        self._code[pipe][4] = self.here

    def hold(self, lock: str, body: Body) -> None:
        """Do a body while holding a lock or a permit."""
        if lock not in self._locks:
            raise UnknownNameError("lock", lock, list(self._locks))
        number, (plan, implementation) = list(self._locks).index(lock), self._locks[lock]
        write_acquire(self, number, plan, implementation)
        body()
        write_release(self, number, plan, implementation)

    def barrier(
        self, name: str, parties: int, customers: int, implementation: BarrierImplementation | None = None
    ) -> None:
        """Wait at a barrier until `parties` of the `customers` have arrived."""
        write_barrier(self, name, implementation or BarrierImplementation(), parties, customers)

    def finish(self, *, onward: bool = False, lost: bool = False) -> None:
        """End the cycle: a closed customer begins anew, or continues `onward`; the cycle of a `lost` customer does not count."""
        self.emit(Op.END, onward, lost)

    def closed(self, name: str, customers: int, at: int) -> None:
        """Add customers that repeat a cycle from an instruction; ends the cycle if that was not done."""
        self._close()
        self._groups.append(CustomerGroup(name, "closed", (at,) * customers))

    def open(self, name: str, between: ServiceTime, at: int) -> None:
        """Add customers that arrive at random times, `between` apart."""
        self._close()
        arrivals = self.draw(f"{name}:arrivals", between)
        if between.mean == 0:
            raise ModelError(f"the time between two arrivals of {name} must be above 0 s")
        self._groups.append(CustomerGroup(name, "open", (at,), arrivals))

    def once(self, name: str, starts: Sequence[int]) -> None:
        """Add customers that run once, each from an instruction of its own."""
        self._close()
        self._groups.append(CustomerGroup(name, "once", tuple(starts)))

    def plan(self) -> Plan:
        """Give the plan."""
        self._settle()
        return Plan(
            code=tuple(map(tuple, self._code)),
            groups=tuple(self._groups),
            draws=tuple(self._draws.values()),
            stations=tuple(self._stations),
            locks=tuple(plan for plan, _ in self._locks.values()),
            barriers=tuple(self._barriers),
            labels=tuple(self._labels),
            targets=tuple(self._targets),
            odds=tuple(self._odds),
            counts=tuple(self._counts),
            nodes=self._nodes,
            flags=self._flags,
            registers=self._registers,
            gates=tuple(self._gates),
            pipelines=tuple(self._pipelines),
        )

    def _one_of(self, bodies: Sequence[Body]) -> None:
        if len(bodies) == 1:
            bodies[0]()
            return
        first = len(self._targets)
        self._reserve(len(bodies))
        self.emit(Op.SWITCH, first)
        jumps = []
        for index, body in enumerate(bodies):
            self._targets[first + index] = self.here
            body()
            jumps.append(self.emit(Op.JUMP, -1))
        for jump in jumps:
            self._code[jump][1] = self.here

    def _close(self) -> None:
        if self._code and self._code[-1][0] != Op.END:
            self.finish()


_ONCE = ServiceTime("deterministic", 1.0, 0.0)

_ABOUT_ONE = ServiceTime("uniform", 1.0, 1 / 3)


def write_acquire(assembler: Assembler, number: int, lock: LockPlan, implementation: LockImplementation) -> None:
    """Write the acquisition of a lock; all time until then is booked to its label."""
    label = assembler.label(lock.label)
    if implementation.kind in ("fifo", "queue"):
        if implementation.kind == "queue":
            _access(assembler, lock, implementation)
        assembler.emit(Op.ACQUIRE, number, label)
        return
    register = assembler.take_register()
    if implementation.kind == "ticket":
        _take_turns(assembler, number, lock, implementation, register)
        assembler.give_register_back()
        return
    assembler.emit(Op.REQUEST, number)
    assembler.emit(Op.SET_COUNT, register, *assembler.count(0, ""))
    look = assembler.here
    if implementation.kind == "ttas":
        # A processor that reads a held lock spins on its cached copy, and reads the word anew after the release.
        _access(assembler, lock, implementation)
        assembler.emit(Op.AWAIT_FREE, number, label)
    _access(assembler, lock, implementation)
    attempt = assembler.emit(Op.TRY, number, -1)
    done = assembler.emit(Op.JUMP, -1)
    assembler.patch(attempt, 1, assembler.here)
    if implementation.back_off != "none":
        _back_off(assembler, lock, implementation, label, register)
    assembler.emit(Op.JUMP, look)
    assembler.patch(done, 0, assembler.here)
    assembler.give_register_back()


def _take_turns(
    assembler: Assembler, number: int, lock: LockPlan, implementation: LockImplementation, register: int
) -> None:
    """Fetch and increment the ticket counter, then read the number called, once more after each release."""
    _access(assembler, lock, implementation)
    assembler.emit(Op.TAKE_TICKET, number, register)
    look = assembler.here
    _access(assembler, lock, implementation)
    draw = assembler.draw(f"{lock.label}:arbitration", CHANCE)
    assembler.emit(Op.AWAIT_TURN, number, assembler.label(lock.label), register, draw, look)


def write_release(assembler: Assembler, number: int, lock: LockPlan, implementation: LockImplementation) -> None:
    """Write the release of a lock; a lock with a word writes the word first."""
    if implementation.kind != "fifo":
        _access(assembler, lock, implementation)
    assembler.emit(Op.RELEASE, number)


def _access(assembler: Assembler, lock: LockPlan, implementation: LockImplementation) -> None:
    if implementation.word is not None:
        label, access = lock.label, implementation.access
        assembler.serve(implementation.word, access, label, stream=f"{label}:access", wait=label)


def _back_off(
    assembler: Assembler, lock: LockPlan, implementation: LockImplementation, label: int, register: int
) -> None:
    grows = implementation.back_off == "exponential"
    draw = assembler.draw(f"{lock.label}:back-off", _ABOUT_ONE if grows else _ONCE)
    most = implementation.most if grows else implementation.base
    assembler.emit(
        Op.BACK_OFF, draw, label, register, assembler.constant(implementation.base), assembler.constant(most)
    )


def write_barrier(
    assembler: Assembler, name: str, implementation: BarrierImplementation, parties: int, customers: int
) -> None:
    """Write a barrier; all of its time is booked to ``barrier:<name>``.

    Parameters
    ----------
    name, implementation : of the barrier
    parties : number of customers that wait for each other
    customers : the whole population; trees and dissemination need all of it
    """
    if implementation.word is not None and implementation.kind in ("tree", "dissemination"):
        if parties != customers:
            raise ModelError(
                f"barrier {name}: a {implementation.kind} barrier is for the whole population of {customers}, not for {parties}"
            )
        (_tree if implementation.kind == "tree" else _dissemination)(assembler, name, implementation, customers)
    else:
        _central(assembler, name, implementation, parties)
    if implementation.cost.mean > 0:
        assembler.delay(implementation.cost, f"barrier:{name}", stream=f"barrier:{name}:cost")


def _touch(assembler: Assembler, name: str, implementation: BarrierImplementation) -> None:
    if implementation.word is not None:
        label = f"barrier:{name}"
        assembler.serve(implementation.word, implementation.access, label, stream=f"{label}:access", wait=label)


def _central(assembler: Assembler, name: str, implementation: BarrierImplementation, parties: int) -> None:
    """Increment a counter in memory and read the flag; or send a message to the manager, which answers each in turn."""
    _touch(assembler, name, implementation)
    assembler.await_parties(name, parties, f"barrier:{name}")
    _touch(assembler, name, implementation)


def _tree(assembler: Assembler, name: str, implementation: BarrierImplementation, customers: int) -> None:
    """Increment counters at the nodes of a tree; the last arrival at the root sets the flag, and each reads it."""
    barrier, label = assembler.barrier_number(name), assembler.label(f"barrier:{name}")
    span, children = 1, customers
    waits = []
    while children > 1:
        span *= implementation.radix
        nodes = -(-children // implementation.radix)
        _touch(assembler, name, implementation)
        first = assembler.take_nodes(nodes)
        waits.append(assembler.emit(Op.COMBINE, first, span, implementation.radix, children, barrier, label, -1))
        children = nodes
    assembler.emit(Op.OPEN_BARRIER, barrier)
    for each in waits:
        assembler.patch(each, 6, assembler.here)
    _touch(assembler, name, implementation)


def _dissemination(assembler: Assembler, name: str, implementation: BarrierImplementation, customers: int) -> None:
    """In round k signal the customer at distance 2^k, and wait for the signal of the one 2^k before."""
    distance = 1
    while distance < customers:
        flags = assembler.take_flags(customers)
        _touch(assembler, name, implementation)
        assembler.emit(Op.SIGNAL, flags, distance, customers)
        assembler.emit(Op.AWAIT_SIGNAL, flags, assembler.label(f"barrier:{name}"))
        distance *= 2
