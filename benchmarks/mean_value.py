"""Mean value against simulation, over generated models: errors by construct and by scv.

    python benchmarks/mean_value.py [--models 2] [--first 7] [--keep FILE] [--worst 10]
    python benchmarks/mean_value.py --repair

Constant times (scv 0) keep processors in step and are reported apart. An error of the time is relative; one of the
account is the largest component's, as a part of the time; one of the shares is the largest of the three
greatest shares, absolute. The simulation stops at an interval of 0.6 % for the time.

With --repair, machine repair alone: the data that the weight of whole services is judged by, with and without it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from slipstick.method.mean_value import MeanValue, closed
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
from slipstick.model.resources import Barrier, Lock, Permits, Resource, Station
from slipstick.model.system import Model, closed_model

SCVS = (1.0, 0.25, 0.0)

Row = dict[str, Any]


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

    def locks(self, kind: Callable[[], Resource] = Lock) -> Activity:
        parts: list[Activity] = []
        for _ in range(self.whole(1, 2)):
            name = f"lock{len(self.resources)}"
            self.resources[name] = kind()
            body = self.body()
            if self.chance(0.25):
                self.resources[f"{name}-inner"] = kind()
                body = body >> hold(f"{name}-inner", self.body())
            parts.append(hold(name, body))
        if "shared" in self.resources:
            parts.append(self.visit("shared", 0.2, 1.0))
        return then(*parts)

    def permits(self) -> Activity:
        return self.locks(lambda: Permits(self.whole(1, 6)))

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
        self.resources["meet"] = Barrier()
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
    "permits": _Draw.permits,
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
    return closed_model(cycle, processors, name=f"{construct}-{number}", resources=draw.resources)


def simulated(model: Model) -> Row:
    """Simulate a model; the simulator is imported only when it is needed."""
    solve = import_module("slipstick.method.simulation.form").solve
    settings = import_module("slipstick.sim.settings").Simulation
    answer = solve(model, None, settings(precision=0.003, events=600_000))
    rough = solve(model, None, settings(precision=0.01, events=150_000, shares=3))
    return {"time": answer["time"], "account": dict(answer.account), "share": dict(rough.share.get("time", {}))}


def errors(model: Model, other: Row) -> dict[str, float]:
    """Compare mean value with simulation."""
    answer = MeanValue(model).points({}).answer(0)
    assert not answer.failed, answer.failed
    took, simulated_time = answer["time"], other["time"]
    assert took is not None
    names = answer.account.keys() | other["account"].keys()
    account = [
        answer.account.get(name, 0.0) / took - other["account"].get(name, 0.0) / simulated_time for name in names
    ]
    found = {"time": took / simulated_time - 1, "account": max(map(abs, account))}
    if other.get("share"):
        found["share"] = max(abs(answer.share["time"][name] - share) for name, share in other["share"].items())
    return found


def table(found: list[tuple[str, float, dict[str, float]]]) -> None:
    """Print a row for each construct and scv."""
    kinds = ("time", "account", "share")
    print("construct   scv   models  " + "  ".join(f"{kind:>8}: median  95 %  worst" for kind in kinds))
    groups: list[tuple[str, tuple[str, ...], tuple[float, ...]]]
    groups = [(construct, (construct,), (scv,)) for construct in CONSTRUCTS for scv in SCVS]
    groups += [("all", tuple(CONSTRUCTS), (scv,)) for scv in SCVS]
    groups += [("all", tuple(CONSTRUCTS), tuple(scv for scv in SCVS if scv))]
    for label, constructs, scvs in groups:
        rows = [each for construct, scv, each in found if construct in constructs and scv in scvs]
        if not rows:
            continue
        cells = []
        for kind in kinds:
            sizes = [100 * abs(each[kind]) for each in rows if kind in each]
            cells.append(
                f"{'':9}{statistics.median(sizes):7.2f}{np.quantile(sizes, 0.95):7.2f}{max(sizes):7.2f}"
                if sizes
                else ""
            )
        print(f"{label:11} {'/'.join(map(str, scvs)):8} {len(rows):4}  " + " ".join(cells))


def repair() -> None:
    """Print errors of machine repair (one server, services of mean 1), with the weight of whole services and without."""
    solve = import_module("slipstick.method.simulation.form").solve
    settings = import_module("slipstick.sim.settings").Simulation(precision=0.002, events=600_000)
    rule = closed.whole_service_weight
    rows: list[list[float]] = []
    for machines, load, scv, rest in product((2, 4, 8, 16), (0.5, 0.8, 1.0, 1.2), (0.0, 0.25), (0.25, 1.0)):
        think = delay(machines / load - 1, name="think", scv=rest)
        model = closed_model(think >> service("server", 1.0, scv=scv), machines)
        found = []
        for weight in (rule, lambda utilization, *_: 0 * utilization):
            closed.whole_service_weight = weight
            found.append(float(MeanValue(model).times({})[0]))
        closed.whole_service_weight = rule
        time = solve(model, None, settings)["time"]
        rows.append([100 * abs(each / time - 1) for each in found])
    for name, each in zip(("with", "without"), np.array(rows).T, strict=True):
        print(f"{name:8} median {np.median(each):5.2f}  95 % {np.quantile(each, 0.95):5.2f}  worst {each.max():5.2f} %")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=2, help="models of each construct and scv; 28 make 504")
    parser.add_argument("--first", type=int, default=7, help="number of the first")
    parser.add_argument("--keep", type=Path, help="file that keeps what was simulated")
    parser.add_argument("--worst", type=int, default=10, help="worst models to name")
    parser.add_argument("--repair", action="store_true", help="machine repair alone")
    given = parser.parse_args()
    if given.repair:
        repair()
        return
    kept: dict[str, Row] = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    found: list[tuple[str, float, dict[str, float]]] = []
    named = []
    spent = 0.0
    for index in range(given.models):
        for construct in CONSTRUCTS:
            for scv in SCVS:
                model = generated(construct, scv, 1000 * index + given.first)
                key = f"{construct}/{scv}/{index}"
                if key not in kept:
                    kept[key] = simulated(model)
                start = time.perf_counter()
                each = errors(model, kept[key])
                spent += time.perf_counter() - start
                found.append((construct, scv, each))
                named.append((abs(each["time"]), key, each))
        if given.keep:
            given.keep.write_text(json.dumps(kept))
    table(found)
    print(f"{len(found)} models; mean value took {spent:.1f} s, shares included")
    for _, key, each in sorted(named, key=lambda row: -row[0])[: given.worst]:
        print(f"  {key:22} time {100 * each['time']:+7.2f} %  account {100 * each['account']:6.2f} %")


if __name__ == "__main__":
    main()
