"""Writing instructions: resources by name, one instruction after the other, and room for what they need."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.errors import ModelError, UnknownNameError
from slipstick.sim.plan.distributions import Distribution
from slipstick.sim.plan.plan import OPERANDS, Draw, Op, StationPlan, Where

__all__ = ["CHANCE", "Assembler"]

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
        self,
        name: str,
        servers: int = 1,
        discipline: str = "fcfs",
        copies: int = 1,
        rates: Sequence[float] = (),
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
