"""Writing plans: what a member does, as nested bodies, and who does it.

Writing instructions: resources by name, one instruction after the other, and room for what they need.

Locks and barriers spelt in instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slipstick.errors import ModelError, UnknownNameError
from slipstick.sim.plan.distributions import Distribution
from slipstick.sim.plan.kinds import BarrierForm, LockForm
from slipstick.sim.plan.plan import OPERANDS, Draw, Members, Op, Plan, StationPlan, Where

_HALF = Distribution("deterministic", 0.5, 0.0)
CHANCE = Distribution("uniform", 0.5, 1 / 3)


class Assembler:
    """Instructions in the making, and the tables that they point into."""

    def __init__(self) -> None:
        self._code: list[list[int]] = []
        self._draws: dict[str, Draw] = {}
        self._stations: list[StationPlan] = []
        self._rows: dict[str, tuple[int, int]] = {}
        self._meetings: list[str] = []
        self._labels: list[str] = []
        self._targets: list[int] = []
        self._odds: list[float] = []
        self._counts: list[float] = []
        self._gates: list[str] = []
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
        """Add a station, or a row of equal ones, such as one for each member."""
        if name in self._rows:
            raise ModelError(f"two stations are called {name}")
        self._rows[name] = (len(self._stations), copies)
        self._stations += [StationPlan(name, servers, discipline, tuple(rates))] * copies

    def label(self, name: str) -> int:
        """Give the number of what time is booked to."""
        if name not in self._labels:
            self._labels.append(name)
        return self._labels.index(name)

    def draw(self, stream: str, distribution: Distribution) -> int:
        """Give the number of a random quantity; one stream name stands for one quantity."""
        known = self._draws.setdefault(stream, Draw(stream, distribution))
        if known.distribution != distribution:
            raise ModelError(f"two different quantities are drawn from the stream {stream}")
        return list(self._draws).index(stream)

    def delay(self, time: Distribution, label: str = "delay", stream: str | None = None) -> None:
        """Let time pass."""
        self.emit(Op.DELAY, self.draw(stream or label, time), self.label(label))

    def serve(
        self,
        station: str,
        time: Distribution,
        label: str | None = None,
        *,
        stream: str | None = None,
        wait: str | None = None,
        where: Where = Where.FIXED,
        offset: int = 0,
        rank: int = 0,
    ) -> None:
        """Visit a station; `where` and `offset` say which of a row."""
        first = self._row(station)[0] + offset
        name = label or station
        draw = self.draw(stream or name, time)
        self.emit(Op.SERVE, first, draw, self.label(name), self.label(wait or f"wait:{station}"), where, rank)

    def admit(self, gate: str, station: str | None = None, most: int = 0, otherwise: str = "") -> None:
        """Count who comes; send who finds `most` at a station on to the mark `otherwise`, and count the refusal."""
        if gate in self._gates:
            raise ModelError(f"two gates are called {gate}")
        self._gates.append(gate)
        number = self._row(station)[0] if station else 0
        pc = self.emit(Op.ADMIT, len(self._gates) - 1, number, most, -1)
        if most:
            self._later.append((self._code[pc], 4, otherwise))

    def mark(self, place: str) -> None:
        """Call the next instruction by a name, for `go` and `admit` before or behind it."""
        self._marks[place] = self.here

    def go(self, ways: Sequence[tuple[float, str]], stream: str) -> None:
        """Go on at one of several marks, by chance: pairs of a probability and a mark."""
        first = len(self._targets)
        self._reserve(len(ways))
        chance = self.draw(stream, CHANCE) if len(ways) > 1 else self.draw("whole", _HALF)
        self.emit(Op.CHOOSE, chance, first, len(ways))
        reached = 0.0
        for index, (probability, place) in enumerate(ways, first):
            reached += probability
            self._odds[index] = reached
            self._later.append((self._targets, index, place))

    def begin(self) -> None:
        """Let the response begin here, in the place of where the cycle did."""
        self.emit(Op.BEGIN)

    def meet(self, name: str, parties: int, label: str) -> None:
        """Wait at a place until `parties` have come; nothing else happens there."""
        self.emit(Op.MEET, self.meeting(name), parties, self.label(label))

    def meeting(self, name: str) -> int:
        """Give the number of a place to wait at."""
        if name not in self._meetings:
            self._meetings.append(name)
        return self._meetings.index(name)

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
        """Give the operands of a number of rounds: a fraction is the chance of once more."""
        chance = self.draw("whole", _HALF) if count == int(count) else self.draw(stream, CHANCE)
        return self.constant(count), chance

    def take_nodes(self, count: int) -> int:
        """Set nodes of a tree aside, and give the first."""
        self._nodes += count
        return self._nodes - count

    def take_flags(self, count: int) -> int:
        """Set flags aside, and give the first."""
        self._flags += count
        return self._flags - count

    def take_register(self) -> int:
        """Set a counter aside, until `give_register_back`."""
        self._depth += 1
        self._registers = max(self._registers, self._depth)
        return self._depth - 1

    def give_register_back(self) -> None:
        """Let the last register taken be used by others."""
        self._depth -= 1

    def _settle(self) -> None:
        """Fill in where the marks are."""
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
    """A plan in the making.

    >>> builder = Builder()
    >>> builder.station("cpu")
    >>> builder.serve("cpu", Distribution("exponential", 0.8))
    >>> plan = builder.open("jobs", Distribution("exponential", 1.0), at=0)
    >>> [Op(row[0]).name for row in builder.plan().code]
    ['SERVE', 'END']
    """

    def __init__(self) -> None:
        super().__init__()
        self._locks: dict[str, LockForm] = {}
        self._members: list[Members] = []

    def lock(self, name: str, form: LockForm | None = None) -> None:
        """Add a lock."""
        self._locks[name] = form or LockForm()

    def aim_at_random(self, members: int, stream: str) -> None:
        """Aim at one of the others."""
        self.emit(Op.PICK, self.draw(stream, CHANCE), 0, members)

    def aim_in_turn(self, members: int) -> None:
        """Aim at the j-th other, for branch or item j."""
        self.emit(Op.EACH, 0, members)

    def choose(self, options: Sequence[tuple[float, Body]], stream: str) -> None:
        """Do one of several."""
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
        """Do the same several times; a fraction is the chance of once more."""
        register = self.take_register()
        self.emit(Op.SET, register, *self.count(count, stream))
        loop = self.emit(Op.LOOP, register, -1)
        body()
        self.emit(Op.JUMP, loop)
        self._code[loop][2] = self.here
        self.give_register_back()

    def over_again(self, chance: float, body: Body, stream: str) -> None:
        """Do something, and again with a chance after each time."""
        start = self.here
        body()
        first = len(self._targets)
        self._reserve(2)
        self.emit(Op.CHOOSE, self.draw(stream, CHANCE), first, 2)
        self._targets[first:], self._odds[first:] = [start, self.here], [chance, 1.0]

    def fork(self, branches: Sequence[Body]) -> None:
        """Do several side by side and wait for all."""
        first = len(self._targets)
        self._reserve(len(branches))
        fork = self.emit(Op.FORK, first, len(branches), -1)
        for index, body in enumerate(branches):
            self._targets[first + index] = self.here
            body()
            self.emit(Op.JOIN)
        self._code[fork][3] = self.here

    def pipeline(self, items: float, stages: Sequence[tuple[bool, Sequence[Body]]], stream: str) -> None:
        """Pass items through stages: (serial or not, one body, or one for each item)."""
        pipe = self.emit(Op.PIPE, *self.count(items, stream), self.here + 1, -1)
        passed = 0
        for serial, bodies in stages:
            if serial:
                self.emit(Op.ENTER, passed)
            self._one_of(bodies)
            if serial:
                self.emit(Op.LEAVE, passed)
                passed += 1
        self.emit(Op.JOIN)
        self._code[pipe][4] = self.here

    def hold(self, lock: str, body: Body) -> None:
        """Do something while holding a lock."""
        if lock not in self._locks:
            raise UnknownNameError("lock", lock, list(self._locks))
        number, form = list(self._locks).index(lock), self._locks[lock]
        acquire(self, number, lock, form)
        body()
        release(self, number, lock, form)

    def barrier(self, name: str, parties: int, members: int, form: BarrierForm | None = None) -> None:
        """Wait until `parties` of the `members` have come."""
        meet(self, name, form or BarrierForm(), parties, members)

    def finish(self, *, onward: bool = False, lost: bool = False) -> None:
        """End the cycle: a closed member begins anew, or goes `onward`; who is `lost` has ended none."""
        self.emit(Op.END, onward, lost)

    def closed(self, name: str, members: int, at: int) -> None:
        """Let members go round from an instruction; ends the cycle if that was not done."""
        self._close()
        self._members.append(Members(name, "closed", (at,) * members))

    def open(self, name: str, between: Distribution, at: int) -> None:
        """Let members arrive, `between` from one to the next."""
        self._close()
        arrivals = self.draw(f"{name}:arrivals", between)
        if between.mean == 0:
            raise ModelError(f"the time between two arrivals of {name} must be above 0 s")
        self._members.append(Members(name, "open", (at,), arrivals))

    def once(self, name: str, starts: Sequence[int]) -> None:
        """Let members run through once, each from a place of its own."""
        self._close()
        self._members.append(Members(name, "once", tuple(starts)))

    def plan(self) -> Plan:
        """Give the finished plan."""
        self._settle()
        return Plan(
            code=tuple(map(tuple, self._code)),
            members=tuple(self._members),
            draws=tuple(self._draws.values()),
            stations=tuple(self._stations),
            locks=tuple(self._locks),
            barriers=tuple(self._meetings),
            labels=tuple(self._labels),
            targets=tuple(self._targets),
            odds=tuple(self._odds),
            counts=tuple(self._counts),
            nodes=self._nodes,
            flags=self._flags,
            registers=self._registers,
            gates=tuple(self._gates),
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


_ONCE = Distribution("deterministic", 1.0, 0.0)
_ABOUT_ONE = Distribution("uniform", 1.0, 1 / 3)


def acquire(assembler: Assembler, number: int, name: str, form: LockForm) -> None:
    """Come to hold a lock; all time until then is booked to ``lock:<name>``."""
    label = assembler.label(f"lock:{name}")
    if form.kind in ("fifo", "queue"):
        if form.kind == "queue":
            _access(assembler, name, form)
        assembler.emit(Op.ACQUIRE, number, label)
        return
    register = assembler.take_register()
    if form.kind == "ticket":
        _take_turns(assembler, number, name, form, register)
        assembler.give_register_back()
        return
    assembler.emit(Op.ASK, number)
    assembler.emit(Op.SET, register, *assembler.count(0, ""))
    look = assembler.here
    if form.kind == "ttas":
        # Whoever sees the lock held spins on a copy of its own, and reads the word anew when that is gone.
        _access(assembler, name, form)
        assembler.emit(Op.WATCH, number, label)
    _access(assembler, name, form)
    attempt = assembler.emit(Op.TRY, number, -1)
    done = assembler.emit(Op.JUMP, -1)
    assembler.patch(attempt, 1, assembler.here)
    if form.back_off != "none":
        _back_off(assembler, name, form, label, register)
    assembler.emit(Op.JUMP, look)
    assembler.patch(done, 0, assembler.here)
    assembler.give_register_back()


def _take_turns(assembler: Assembler, number: int, name: str, form: LockForm, register: int) -> None:
    """Fetch and increment the number, then read whose turn it is, once more at each release."""
    _access(assembler, name, form)
    assembler.emit(Op.NUMBER, number, register)
    look = assembler.here
    _access(assembler, name, form)
    draw = assembler.draw(f"lock:{name}:arbitration", CHANCE)
    assembler.emit(Op.CALL, number, assembler.label(f"lock:{name}"), register, draw, look)


def release(assembler: Assembler, number: int, name: str, form: LockForm) -> None:
    """Hold a lock no longer; a lock with a word writes it first."""
    if form.kind != "fifo":
        _access(assembler, name, form)
    assembler.emit(Op.RELEASE, number)


def _access(assembler: Assembler, name: str, form: LockForm) -> None:
    if form.word is not None:
        label = f"lock:{name}"
        assembler.serve(form.word, form.access, label, stream=f"{label}:access", wait=label)


def _back_off(assembler: Assembler, name: str, form: LockForm, label: int, register: int) -> None:
    grows = form.back_off == "exponential"
    draw = assembler.draw(f"lock:{name}:back-off", _ABOUT_ONE if grows else _ONCE)
    most = form.most if grows else form.base
    assembler.emit(Op.BACK, draw, label, register, assembler.constant(form.base), assembler.constant(most))


def meet(assembler: Assembler, name: str, form: BarrierForm, parties: int, members: int) -> None:
    """Wait for the others; all of it is booked to ``barrier:<name>``.

    Parameters
    ----------
    name, form : of the barrier
    parties : how many meet
    members : how many there are; trees and dissemination need all of them
    """
    if form.word is not None and form.kind in ("tree", "dissemination"):
        if parties != members:
            raise ModelError(
                f"barrier {name}: a {form.kind} barrier is for the whole population of {members}, not for {parties}"
            )
        (_tree if form.kind == "tree" else _dissemination)(assembler, name, form, members)
    else:
        _central(assembler, name, form, parties)
    if form.cost.mean > 0:
        assembler.delay(form.cost, f"barrier:{name}", stream=f"barrier:{name}:cost")


def _touch(assembler: Assembler, name: str, form: BarrierForm) -> None:
    if form.word is not None:
        label = f"barrier:{name}"
        assembler.serve(form.word, form.access, label, stream=f"{label}:access", wait=label)


def _central(assembler: Assembler, name: str, form: BarrierForm, parties: int) -> None:
    """Count in memory and read the flag; or send word to the manager, who sends word to each in turn."""
    _touch(assembler, name, form)
    assembler.meet(name, parties, f"barrier:{name}")
    _touch(assembler, name, form)


def _tree(assembler: Assembler, name: str, form: BarrierForm, members: int) -> None:
    """Count at the nodes of a tree; whoever is last at the root lets all go, and each reads the flag."""
    meeting, label = assembler.meeting(name), assembler.label(f"barrier:{name}")
    span, children = 1, members
    waits = []
    while children > 1:
        span *= form.radix
        nodes = -(-children // form.radix)
        _touch(assembler, name, form)
        first = assembler.take_nodes(nodes)
        waits.append(assembler.emit(Op.COMBINE, first, span, form.radix, children, meeting, label, -1))
        children = nodes
    assembler.emit(Op.FREE, meeting)
    for each in waits:
        assembler.patch(each, 6, assembler.here)
    _touch(assembler, name, form)


def _dissemination(assembler: Assembler, name: str, form: BarrierForm, members: int) -> None:
    """In round k tell the member 2^k on, and hear from the one 2^k back."""
    distance = 1
    while distance < members:
        flags = assembler.take_flags(members)
        _touch(assembler, name, form)
        assembler.emit(Op.POST, flags, distance, members)
        assembler.emit(Op.AWAIT, flags, assembler.label(f"barrier:{name}"))
        distance *= 2
