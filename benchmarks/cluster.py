"""Engines for points: the same bytes by all, a cluster that loses workers, what sending costs, and
how simulations scale.

A Dask cluster of four local workers solves points of a simulation; two workers are killed
meanwhile, and one point ends every process that it is given to. Every other point must be as one
process solves it. Where Dask is not installed, local processes only.

    python benchmarks/cluster.py [--points 200] [--short]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Scalar
from slipstick.sim.settings import Simulation
from slipstick.study.engine import Engine
from slipstick.study.evaluator import evaluator
from slipstick.study.points import PointBlock, SolvedBlock
from tests.study.poison import poisoned


def main() -> None:
    """Solve by each engine, compare, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="a few points, to see that it runs")
    given = parser.parse_args()
    points = 6 if given.short else given.points
    simulated, closed = (
        blocks(points, "simulation"),
        blocks(10 if given.short else 10_000, "closed-form"),
    )
    wrong = scaling(simulated) + overhead("processes", closed, lambda: Engine("processes", 2))
    if not given.short and importlib.util.find_spec("distributed"):
        wrong += on_a_cluster(simulated, closed)
    sys.exit(1 if wrong else 0)


def blocks(count: int, method: str) -> list[PointBlock]:
    """Return points of a lock and a bus, each a block of its own."""
    name = {"model": Scalar("lock-and-bus", "lock-and-bus", Mark("benchmark", 1, 1), quoted=True)}
    solvable = evaluator("base", name, Library()).solvable
    solvable = replace(
        solvable, method=method, simulation=Simulation(cycles=20_000, kernel="compiled")
    )
    sizes = random.Random(1).choices(range(2, 20), k=count)
    paths = ("population.processors", "parameters.work")
    return [
        PointBlock(
            solvable,
            dict(
                zip(
                    paths,
                    (np.array([float(size)]), np.array([1e-3 * (1 + at / count)])),
                    strict=True,
                )
            ),
            1,
        )
        for at, size in enumerate(sizes)
    ]


def timed(engine: Engine, given: Sequence[PointBlock]) -> tuple[list[SolvedBlock], float]:
    """Solve by an engine that is already started."""
    with engine:
        engine.solve([*given[:2], *given[-2:]])
        start = time.perf_counter()
        return engine.solve(given), time.perf_counter() - start


def differing(one: Sequence[SolvedBlock], other: Sequence[SolvedBlock]) -> int:
    """Count the points that differ in any byte of any column."""
    same = [
        a.columns.keys() == b.columns.keys()
        and all(a.columns[name].tobytes() == b.columns[name].tobytes() for name in a.columns)
        for a, b in zip(one, other, strict=True)
    ]
    return same.count(False)


def scaling(given: Sequence[PointBlock]) -> int:
    """Solve by one process, two threads and two processes."""
    alone, seconds = timed(Engine("processes", 1), given)
    wrong = 0
    for on in ("threads", "processes"):
        two, shorter = timed(Engine(on, 2), given)
        wrong += differing(alone, two)
        print(
            f"{len(given)} simulated points, 2 {on}: {seconds / shorter:.2f} times 1 process"
            f" ({seconds:.1f} s); {wrong} points differ"
        )
    return wrong


def overhead(name: str, given: Sequence[PointBlock], engine: Callable[[], Engine]) -> int:
    """Print the time of a point of the closed form in this process and in another one."""
    here, seconds = timed(Engine(), given)
    there, longer = timed(engine(), given)
    wrong = differing(here, there)
    print(
        f"{len(given)} closed-form points of a block each: {1e6 * seconds / len(given):.0f} us a"
        f" point here, {1e6 * longer / len(given):.0f} us by {name}; {wrong} differ"
    )
    return wrong


def on_a_cluster(given: Sequence[PointBlock], closed: Sequence[PointBlock]) -> int:
    """Solve on a cluster while two of four workers are killed, with one point that kills each
    process that takes it.
    """
    import distributed  # type: ignore[import-not-found,unused-ignore]

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    whole = Engine().solve(given)
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        wrong = overhead("a Dask cluster", closed, lambda: Engine(address))
        poison = PointBlock(poisoned("kills"), {}, 1)
        killer = threading.Thread(target=_kill, args=(cluster, 2))
        with Engine(address) as engine:
            killer.start()
            start = time.perf_counter()
            found = engine.solve([*given[: len(given) // 2], poison, *given[len(given) // 2 :]])
            seconds = time.perf_counter() - start
        killer.join()
    failed = found.pop(len(given) // 2).failed
    lost = [each for each in found if each.failed]
    wrong += differing(whole, found)
    print(
        f"4 Dask workers, 2 killed and 1 poisoned point: {len(lost)} of {len(given)} other points"
        f" lost, {wrong} differ, {seconds:.0f} s"
    )
    print(f"the poisoned point: {failed}")
    return wrong + len(lost) + (not failed)


def _kill(cluster: Any, count: int) -> None:
    time.sleep(1.0)
    for name in list(cluster.workers)[:count]:
        os.kill(cluster.workers[name].process.pid, signal.SIGKILL)
        time.sleep(0.5)


if __name__ == "__main__":
    main()
