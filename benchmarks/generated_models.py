"""Models of every construct, drawn at random: what the mean-value benchmark asks both roads.

Each is a pure function of its number, so that a cell of the table can be looked into again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slipstick.model.activity import (
    Activity,
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.system import Lock, Meeting, Model, Resource, Station, closed

__all__ = ["CONSTRUCTS", "SCVS", "generated"]

SCVS = (1.0, 0.25, 0.0)


class _Draw:
    """Draws of one model: every step has a name of its own and the same scv."""

    def __init__(self, number: int, scv: float) -> None:
        self.random = np.random.Generator(np.random.PCG64(number))
        self.scv = scv
        self.resources: dict[str, Resource] = {}
        self._steps = 0

    def whole(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def scale(self, low: float, high: float) -> float:
        """Draw between two numbers, each factor of two as likely as the next."""
        return float(round(np.exp(self.random.uniform(np.log(low), np.log(high))), 3))

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def think(self, low: float = 1.0, high: float = 20.0) -> Activity:
        self._steps += 1
        return delay(self.scale(low, high), name=f"work{self._steps}", scv=self.scv)

    def visit(self, station: str, low: float = 0.2, high: float = 2.0) -> Activity:
        self._steps += 1
        return service(station, self.scale(low, high), name=f"visit{self._steps}", scv=self.scv)

    def station(self) -> str:
        name = f"station{len(self.resources)}"
        servers = int(self.random.choice([1, 1, 1, 2, 4]))
        self.resources[name] = Station(servers, str(self.random.choice(["fcfs", "fcfs", "ps"])))
        return name

    def stations(self, activity: Activity | None = None) -> Activity:
        parts: list[Activity] = []
        for _ in range(self.whole(1, 3)):
            part = self.visit(self.station())
            match self.whole(0, 3):
                case 0:
                    part = choose((0.3, part), (0.7, self.think(0.2, 2.0)))
                case 1:
                    part = repeat(self.whole(2, 4), part)
            parts.append(part)
        return then(*parts)

    def body(self) -> Activity:
        """Draw what is done under a lock: time alone, or at a station too."""
        match self.whole(0, 2):
            case 0:
                return self.think(0.2, 2.0)
            case 1:
                return self.think(0.2, 1.0) >> self.visit(self.station(), 0.2, 1.0)
        self.resources.setdefault("shared", Station())
        return self.visit("shared", 0.2, 1.0)

    def locks(self) -> Activity:
        parts: list[Activity] = []
        for _ in range(self.whole(1, 2)):
            name = f"lock{len(self.resources)}"
            self.resources[name] = Lock()
            body = self.body()
            if self.chance(0.25):
                self.resources[f"{name}-inner"] = Lock()
                body = body >> hold(f"{name}-inner", self.body())
            parts.append(hold(name, body))
        if "shared" in self.resources:
            parts.append(self.visit("shared", 0.2, 1.0))
        return then(*parts)

    def forks(self) -> Activity:
        count = self.whole(2, 4)
        if self.chance(0.3):
            # All branches ask the same resource.
            name = self.station()
            return fork(*(self.visit(name) for _ in range(count)))
        branches: list[Activity] = []
        for _ in range(count):
            parts = [self.visit(self.station())] if self.chance(0.6) else [self.think(0.5, 5.0)]
            if self.chance(0.4):
                parts.append(self.think(0.3, 3.0))
            branches.append(then(*parts))
        return fork(*branches)

    def pipelines(self) -> Activity:
        stages = []
        for index in range(self.whole(2, 4)):
            body = self.visit(self.station(), 0.2, 1.0) if self.chance(0.5) else self.think(0.2, 1.5)
            kind = serial if self.chance(0.7) else parallel
            stages.append(kind(body, name=f"stage{index}-{len(self.resources)}-{self._steps}"))
        return pipeline(stages, self.whole(2, 12), name=f"line{self._steps}")

    def barriers(self) -> Activity:
        self.resources["meet"] = Meeting()
        parts: list[Activity] = []
        for _ in range(self.whole(0, 2)):
            parts.append(self.visit(self.station(), 0.2, 1.5))
            if self.chance(0.5):
                parts.append(self.think(0.5, 5.0))
        return then(*parts, barrier("meet"))

    def mixed(self) -> Activity:
        kinds = [self.stations, self.locks, self.forks, self.pipelines]
        chosen = self.random.choice(len(kinds), size=2, replace=False)
        parts: list[Activity] = [kinds[index]() for index in chosen]
        return then(*parts, *([self.barriers()] if self.chance(0.3) else []))


CONSTRUCTS: dict[str, Callable[[_Draw], Activity]] = {
    "stations": _Draw.stations,
    "locks": _Draw.locks,
    "forks": _Draw.forks,
    "pipelines": _Draw.pipelines,
    "barriers": _Draw.barriers,
    "mixed": _Draw.mixed,
}


def generated(construct: str, scv: float, number: int) -> Model:
    """Draw a model with one construct, behind some work of each processor's own.

    Parameters
    ----------
    construct : one of `CONSTRUCTS`
    scv : of every step
    number : which one
    """
    draw = _Draw(number, scv)
    cycle = draw.think(1.0, 30.0) >> CONSTRUCTS[construct](draw)
    processors = int(draw.random.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32], p=[0.04, *[0.12] * 6, *[0.08] * 3]))
    return closed(cycle, processors, name=f"{construct}-{number}", resources=draw.resources)
