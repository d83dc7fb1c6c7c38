"""Queueing networks solved from numbers to checked answers, beside a plain loop of the recursion
and line-solver.

(a) exact, 10 stations, 1,000 customers; (b) exact, 6 stations, populations (20, 20, 20); (c)
Bard-Schweitzer and Linearizer, 20 stations, 5 classes of 100; (d) a central-server model at 1,000
points, over N and over a demand. Ours is from the public functions, network building and the checks
of every law included. The loops are CPython as one would write the recursion by hand, without
building or checking; those of (c) substitute until nothing moves by 1e-9. line-solver is measured
through its model interface, building included, where it is installed (pip install line-solver), and
(a) by PDQ's C library where `--pdq` names it: initialized, built and solved.

Where numba is installed ours are its compiled loops; `--plain` leaves them out. Five calls of ours
and one of the rival take turns in this process for some seconds, and the least time of each counts:
what else the machine does makes both longer, but seldom all of their calls.

    python benchmarks/mva.py [--seconds 4] [--plain] [--pdq libpdq.so]
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from slipstick.queueing.approximate import linearizer, schweitzer
from slipstick.queueing.checks import checked_solution
from slipstick.queueing.compiled import compiled_loops
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays

Array = np.ndarray[Any, Any]
Rows = Sequence[Sequence[float]]
MOVED = 1e-9


def one_class(demand: Sequence[float], think: float, count: int) -> float:
    """Return the throughput of one class by exact MVA [1/s]."""
    queue, flow = [0.0] * len(demand), 0.0
    for n in range(1, count + 1):
        time_there = [d * (1 + q) for d, q in zip(demand, queue, strict=True)]
        flow = n / (think + sum(time_there))
        queue = [flow * residence_time for residence_time in time_there]
    return flow


def lattice(demand: Rows, think: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the throughputs of several classes by exact MVA over all populations [1/s]."""
    present: dict[tuple[int, ...], list[float]] = {}
    flow = [0.0] * len(counts)
    for vector in product(*(range(n + 1) for n in counts)):
        queue = [0.0] * len(demand[0])
        for r, n in enumerate(vector):
            if n:
                before = present[(*vector[:r], n - 1, *vector[r + 1 :])]
                time_there = [d * (1 + q) for d, q in zip(demand[r], before, strict=True)]
                flow[r] = n / (think[r] + sum(time_there))
                queue = [
                    q + flow[r] * residence_time
                    for q, residence_time in zip(queue, time_there, strict=True)
                ]
        present[vector] = queue
    return flow


def substitution(
    demand: Rows, think: Sequence[float], counts: Sequence[float], change: Any = None
) -> tuple[Any, Any]:
    """Return the throughputs and the mean queues of each class by the Bard-Schweitzer recursion,
    repeated until no queue changes. Linearizer adds `change[r][k]` to the queue that an arrival of
    class r finds at station k.
    """
    classes, stations = range(len(counts)), range(len(demand[0]))
    queue = [[n / len(demand[0])] * len(demand[0]) for n in counts]
    flow = [0.0 for _ in counts]
    moved = 1.0
    while moved > MOVED * max(counts):
        moved = 0.0
        total = [sum(column) for column in zip(*queue, strict=True)]
        for r in classes:
            if not counts[r]:
                continue
            own, row = 1 / counts[r], queue[r]
            queue_at_arrival = [
                total[k] - own * row[k] + (change[r][k] if change else 0.0) for k in stations
            ]
            time_there = [d * (1 + a) for d, a in zip(demand[r], queue_at_arrival, strict=True)]
            flow[r] = counts[r] / (think[r] + sum(time_there))
            queue[r] = [flow[r] * residence_time for residence_time in time_there]
            moved = max(moved, *(abs(a - b) for a, b in zip(row, queue[r], strict=True)))
    return flow, queue


def three_rounds(demand: Rows, think: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the throughputs by Linearizer in three rounds [1/s]."""
    classes, stations = range(len(counts)), range(len(demand[0]))
    every = [list(counts), *([n - (i == r) for i, n in enumerate(counts)] for r in classes)]
    change: list[Any] = [None] * len(every)
    for _ in range(3):
        queues = [
            substitution(demand, think, populations, more)[1]
            for populations, more in zip(every, change, strict=True)
        ]
        share = [
            [[q / n for q in row] for row, n in zip(*pair, strict=True)]
            for pair in zip(queues, every, strict=True)
        ]
        change = [
            [
                [
                    sum((n[j] - (j == r)) * (share[1 + r][j][k] - share[0][j][k]) for j in classes)
                    for k in stations
                ]
                for r in classes
            ]
            for n in every
        ]
    throughputs: list[float] = substitution(demand, think, counts, change[0])[0]
    return throughputs


def line_solver(demand: Rows, think: Sequence[float], counts: Sequence[int], method: str) -> Any:
    """Solve one network through line-solver's model interface; None where it is not installed."""
    try:
        import line_solver as line
    except ImportError:
        return None
    model = line.Network("model")
    away = line.Delay(model, "away")
    stations = [line.Queue(model, f"q{k}", line.SchedStrategy.PS) for k in range(len(demand[0]))]
    classes = [line.ClosedClass(model, f"c{r}", int(n), away) for r, n in enumerate(counts)]
    routing = model.init_routing_matrix()
    for r, kind in enumerate(classes):
        away.set_service(kind, line.Exp(1 / think[r]))
        for station, mean in zip(stations, demand[r], strict=True):
            station.set_service(kind, line.Exp(1 / mean))
        routing.set(kind, kind, line.Network.serial_routing([away, *stations]))
    model.link(routing)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return line.SolverMVA(model, method=method).avg_table()


EXACTLY, APPROXIMATELY = 14, 15
"""EXACT and APPROX of PDQ_Lib.h: the second is Schweitzer's method."""


def pdq(
    library: str, demand: Rows, think: Sequence[float], counts: Sequence[int], method: int
) -> Callable[[], list[float]]:
    """Return a function that solves a closed network by PDQ's C functions and returns the
    throughputs.
    """
    calls = ctypes.CDLL(library)
    calls.PDQ_GetThruput.restype = ctypes.c_double
    closed_terminals, center, in_order = 11, 3, 8  # TERM, CEN and FCFS of PDQ_Lib.h
    stations = [b"q%d" % k for k in range(len(demand[0]))]
    classes = [b"c%d" % r for r in range(len(counts))]
    loads = [
        (station, customers, ctypes.c_double(row[k]))
        for k, station in enumerate(stations)
        for customers, row in zip(classes, demand, strict=True)
    ]

    def solve() -> list[float]:
        calls.PDQ_Init(b"model")
        for customers, count, pause in zip(classes, counts, think, strict=True):
            calls.PDQ_CreateClosed(
                customers, closed_terminals, ctypes.c_double(count), ctypes.c_double(pause)
            )
        for station in stations:
            calls.PDQ_CreateNode(station, center, in_order)
        for station, customers, time_there in loads:
            calls.PDQ_SetDemand(station, customers, time_there)
        calls.PDQ_Solve(method)
        return [float(calls.PDQ_GetThruput(closed_terminals, name)) for name in classes]

    return solve


def taken(call: Callable[[], Any]) -> float:
    """Time one call [s]."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turn(
    own_call: Callable[[], Any], rival_call: Callable[[], Any], seconds: float
) -> tuple[float, float]:
    """Return the least time of two calls [s]. Five of the first and one of the second take turns,
    for at least `seconds` and three times.
    """
    own_call()
    own_times, rival_times = list[float](), list[float]()
    end = time.perf_counter() + seconds
    while len(rival_times) < 3 or time.perf_counter() < end:
        own_times += [taken(own_call) for _ in range(5)]
        rival_times.append(taken(rival_call))
    return min(own_times), min(rival_times)


def ours(method: Callable[..., Any], tolerance: float = 1e-8, **arguments: Any) -> Array:
    """Return the throughputs of a network that slipstick builds, solves and checks [1/s]."""
    network = network_arrays(**arguments)
    throughput: Array = checked_solution(network, method(network), tolerance).throughput
    return throughput


def central_server() -> tuple[Array, Array]:
    """Return demands (1000, 1, 5) and populations (1000, 1): N from 1 to 100 by ten demands of one
    disk.
    """
    demand = np.tile([0.005, 0.030, 0.030, 0.020, 0.020], (1000, 1, 1))
    demand[:, 0, 1] = np.repeat(np.linspace(0.01, 0.05, 10), 100)
    return demand, np.tile(np.arange(1, 101), 10)[:, None]


def main() -> None:
    """Read what is asked for."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=4.0, help="for each row of the table")
    arguments.add_argument("--plain", action="store_true", help="without compiled loops")
    arguments.add_argument("--pdq", metavar="LIBRARY", help="PDQ's functions as a shared library")
    arguments.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = arguments.parse_args()
    fast = not (options.plain or options.short) and find_spec("numba") is not None
    with compiled_loops() if fast else contextlib.nullcontext():
        measure(options, fast)


@dataclass
class Networks:
    """The networks that are solved.

    Parameters
    ----------
    a, b, c, d : demands [classes, stations; s]; of d for each point
    population_a, population_b, population_c, population_d : customers of each class
    """

    a: Array
    b: Array
    c: Array
    d: Array
    population_a: int
    population_b: list[int]
    population_c: list[int]
    population_d: Array


def drawn_networks(short: bool) -> Networks:
    """Return the networks with demands drawn at random; small ones for a short run."""
    population_a, population_b, population_c = (20, 3, 5) if short else (1000, 20, 100)
    random = np.random.default_rng(1)
    a, b, c = random.random((1, 10)), random.random((3, 6)), random.random((5, 20))
    d, population_d = (column[:: 100 if short else 1] for column in central_server())
    return Networks(a, b, c, d, population_a, [population_b] * 3, [population_c] * 5, population_d)


class Comparison(NamedTuple):
    """A network solved by slipstick, by a loop in CPython, and by line-solver.

    Attributes
    ----------
    title : of the network and the method
    own_call, loop_call, peer_call : solve it
    """

    title: str
    own_call: Callable[[], Any]
    loop_call: Callable[[], Any]
    peer_call: Callable[[], Any]


def comparisons(networks: Networks) -> list[Comparison]:
    """Return what is compared, in the order of the table."""
    a, b, c, d = networks.a, networks.b, networks.c, networks.d
    many = networks.population_a
    populations_b, populations_c = networks.population_b, networks.population_c
    points = [
        (row[0], int(n))
        for row, (n,) in zip(d.tolist(), networks.population_d.tolist(), strict=True)
    ]
    return [
        Comparison(
            "(a) exact, 10 stations, N = 1000",
            lambda: ours(exact, service=a, population=many, think=1.0),
            lambda: one_class(a[0].tolist(), 1.0, many),
            lambda: line_solver(a.tolist(), [1.0], [many], "exact"),
        ),
        Comparison(
            "(b) exact, 6 stations, (20, 20, 20)",
            lambda: ours(exact, service=b, population=populations_b, think=1.0),
            lambda: lattice(b.tolist(), [1.0] * 3, populations_b),
            lambda: line_solver(b.tolist(), [1.0] * 3, populations_b, "exact"),
        ),
        Comparison(
            "(c) Schweitzer, 20 stations, 5 x 100",
            lambda: ours(schweitzer, service=c, population=populations_c, think=1.0),
            lambda: substitution(c.tolist(), [1.0] * 5, populations_c)[0],
            lambda: line_solver(c.tolist(), [1.0] * 5, populations_c, "bs"),
        ),
        Comparison(
            "(c) Linearizer, 20 stations, 5 x 100",
            lambda: ours(linearizer, service=c, population=populations_c, think=1.0),
            lambda: three_rounds(c.tolist(), [1.0] * 5, populations_c),
            lambda: line_solver(c.tolist(), [1.0] * 5, populations_c, "lin"),
        ),
        Comparison(
            "(d) central server, 1,000 points",
            lambda: ours(exact, service=d, population=networks.population_d, think=1.0),
            lambda: [one_class(row, 1.0, n) for row, n in points],
            lambda: [line_solver([row], [1.0], [n], "exact") for row, n in points[::200]],
        ),
    ]


def measure(options: argparse.Namespace, fast: bool) -> None:
    """Measure each network and print the table."""
    seconds = 0.0 if options.short else options.seconds
    networks = drawn_networks(options.short)
    compared = comparisons(networks)
    loops = "compiled loops" if fast else "no compiled loops"
    print(f"one thread; {loops}; least times; ratios are rival / slipstick")
    print(f"{'':38} {'slipstick':>10} {'CPython loop':>22} {'line-solver':>22}  worst difference")
    for comparison in compared:
        print_comparison(comparison, seconds)
    if not options.pdq:
        print("(a) and (c) beside PDQ: not measured, no --pdq LIBRARY")
        return
    a, c = networks.a.tolist(), networks.c.tolist()
    exactly = pdq(options.pdq, a, [1.0], [networks.population_a], EXACTLY)
    approximately = pdq(options.pdq, c, [1.0] * 5, networks.population_c, APPROXIMATELY)
    beside_pdq("(a) beside PDQ, built and solved", compared[0].own_call, exactly, seconds)
    beside_pdq("(c) Schweitzer beside PDQ", compared[2].own_call, approximately, seconds)


def print_comparison(comparison: Comparison, seconds: float) -> None:
    """Print the times of the three solutions of a network, and how far the first two differ."""
    title, own_call, loop_call, peer_call = comparison
    own_time, loop_time = in_turn(own_call, loop_call, seconds)
    throughput, loop_throughput = (np.asarray(call()).reshape(-1) for call in comparison[1:3])
    worst_difference = float(np.max(np.abs(throughput / loop_throughput - 1)))
    peer_text = "not installed"
    if not _absent():
        # line-solver solves every 200th point of (d) only.
        peer_time = taken(peer_call) * (200 if title.startswith("(d)") else 1)
        peer_text = f"{peer_time * 1e3:9.0f} ms {peer_time / own_time:6.0f} x"
    print(
        f"{title:38} {own_time * 1e3:7.2f} ms {loop_time * 1e3:9.2f} ms"
        f" {loop_time / own_time:6.1f} x {peer_text:>22}  {worst_difference:.0e}"
    )


def beside_pdq(
    title: str, own_call: Callable[[], Any], pdq_call: Callable[[], list[float]], seconds: float
) -> None:
    """Print the times of a solution by slipstick and by PDQ, and how far they differ."""
    own_time, pdq_time = in_turn(own_call, pdq_call, seconds)
    throughput = np.asarray(own_call()).reshape(-1)
    worst_difference = float(np.max(np.abs(throughput / np.asarray(pdq_call()) - 1)))
    print(
        f"{title:38} {own_time * 1e3:7.2f} ms {pdq_time * 1e3:9.2f} ms"
        f" {pdq_time / own_time:6.1f} x {'':22}  {worst_difference:.0e}"
    )


def _absent() -> bool:
    try:
        import line_solver  # noqa: F401
    except ImportError:
        return True
    return False


if __name__ == "__main__":
    main()
