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
    options = parser.parse_args()
    points = 6 if options.short else options.points
    simulated, closed = (
        blocks(points, "simulation"),
        blocks(10 if options.short else 10_000, "closed-form"),
    )
    wrong = scaling(simulated) + overhead("processes", closed, lambda: Engine("processes", 2))
    if not options.short and importlib.util.find_spec("distributed"):
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


def timed(engine: Engine, blocks: Sequence[PointBlock]) -> tuple[list[SolvedBlock], float]:
    """Solve by an engine that is already started."""
    with engine:
        engine.solve([*blocks[:2], *blocks[-2:]])
        start = time.perf_counter()
        return engine.solve(blocks), time.perf_counter() - start


def differing(solved: Sequence[SolvedBlock], expected: Sequence[SolvedBlock]) -> int:
    """Count the points that differ in any byte of any column."""
    is_same = [
        a.columns.keys() == b.columns.keys()
        and all(a.columns[name].tobytes() == b.columns[name].tobytes() for name in a.columns)
        for a, b in zip(solved, expected, strict=True)
    ]
    return is_same.count(False)


def scaling(blocks: Sequence[PointBlock]) -> int:
    """Solve by one process, two threads and two processes."""
    solved_alone, seconds = timed(Engine("processes", 1), blocks)
    wrong = 0
    for on in ("threads", "processes"):
        two, shorter = timed(Engine(on, 2), blocks)
        wrong += differing(solved_alone, two)
        print(
            f"{len(blocks)} simulated points, 2 {on}: {seconds / shorter:.2f} times 1 process"
            f" ({seconds:.1f} s); {wrong} points differ"
        )
    return wrong


def overhead(name: str, blocks: Sequence[PointBlock], engine: Callable[[], Engine]) -> int:
    """Print the time of a point of the closed form in this process and in another one."""
    solved_here, seconds = timed(Engine(), blocks)
    solved_there, seconds_there = timed(engine(), blocks)
    wrong = differing(solved_here, solved_there)
    print(
        f"{len(blocks)} closed-form points of a block each: {1e6 * seconds / len(blocks):.0f} us a"
        f" point here, {1e6 * seconds_there / len(blocks):.0f} us by {name}; {wrong} differ"
    )
    return wrong


def on_a_cluster(blocks: Sequence[PointBlock], closed: Sequence[PointBlock]) -> int:
    """Solve on a cluster while two of four workers are killed, with one point that kills each
    process that takes it.
    """
    import distributed  # type: ignore[import-not-found,unused-ignore]

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    solved_here = Engine().solve(blocks)
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
            solved_blocks = engine.solve(
                [*blocks[: len(blocks) // 2], poison, *blocks[len(blocks) // 2 :]]
            )
            seconds = time.perf_counter() - start
        killer.join()
    failure = solved_blocks.pop(len(blocks) // 2).failed
    failed_blocks = [block for block in solved_blocks if block.failed]
    wrong += differing(solved_here, solved_blocks)
    print(
        f"4 Dask workers, 2 killed and 1 poisoned point: {len(failed_blocks)} of {len(blocks)}"
        " other points"
        f" lost, {wrong} differ, {seconds:.0f} s"
    )
    print(f"the poisoned point: {failure}")
    return wrong + len(failed_blocks) + (not failure)


def _kill(cluster: Any, count: int) -> None:
    time.sleep(1.0)
    for name in list(cluster.workers)[:count]:
        os.kill(cluster.workers[name].process.pid, signal.SIGKILL)
        time.sleep(0.5)


if __name__ == "__main__":
    main()
