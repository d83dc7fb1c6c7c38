"""Writing plans: what a member does, as nested bodies, and who does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slipstick.errors import ModelError, UnknownNameError
from slipstick.sim.plan import spelling
from slipstick.sim.plan.assembler import CHANCE, Assembler
from slipstick.sim.plan.distributions import Distribution
from slipstick.sim.plan.forms import BarrierForm, LockForm
from slipstick.sim.plan.plan import Members, Op, Plan

__all__ = ["Builder"]

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
        spelling.acquire(self, number, lock, form)
        body()
        spelling.release(self, number, lock, form)

    def barrier(self, name: str, parties: int, members: int, form: BarrierForm | None = None) -> None:
        """Wait until `parties` of the `members` have come."""
        spelling.meet(self, name, form or BarrierForm(), parties, members)

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
