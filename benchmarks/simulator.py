"""Cycles a second of the kernels beside SimPy, Ciw and a bare hand-written compiled loop, in one run.

Every contender simulates the same model and adds up the same response times. Run it with
``python benchmarks/simulator.py``; what is not installed is left out. Best of three, one core.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from slipstick.sim.compiled.kernel import CompiledKernel
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.build import Builder
from slipstick.sim.plan.distributions import Distribution
from slipstick.sim.plan.plan import Plan

CUSTOMERS = 1_000_000


def exponential(mean: float) -> Distribution:
    return Distribution("exponential", mean)


def single_server() -> Plan:
    builder = Builder()
    builder.station("cpu")
    builder.serve("cpu", exponential(0.8))
    builder.open("jobs", exponential(1.0), at=0)
    return builder.plan()


def central_server() -> Plan:
    """Twenty jobs; the cpu, then one of two disks: counted in visits, two a cycle."""
    builder = Builder()
    for name in ("cpu", "disk1", "disk2"):
        builder.station(name)
    builder.serve("cpu", exponential(1.0))
    disks = [
        (0.5, lambda: builder.serve("disk1", exponential(1.8))),
        (0.5, lambda: builder.serve("disk2", exponential(1.6))),
    ]
    builder.choose(disks, "disk")
    builder.closed("jobs", 20, at=0)
    return builder.plan()


def one_lock() -> Plan:
    builder = Builder()
    builder.lock("door")
    builder.delay(exponential(9.0), "work")
    builder.hold("door", lambda: builder.delay(exponential(1.0), "inside"))
    builder.closed("all", 16, at=0)
    return builder.plan()


def ours(plan: Plan, make: Callable[..., Any], cycles: int) -> tuple[float, float]:
    """Run so many cycles; give cycles a second, and the mean response time."""
    kernel = make(plan, 1)
    kernel.run(1000)
    kernel.take_responses(0)
    kernel.take_rows()
    done, total = 0, 0.0
    begin = time.perf_counter()
    while done < cycles:
        kernel.run(16_384)
        kernel.take_rows()
        responses = kernel.take_responses(0)
        done += len(responses)
        total += float(responses.sum())
    return done / (time.perf_counter() - begin), total / done


def simpy_single(cycles: int) -> tuple[float, float]:
    simpy, draw, seen = import_module("simpy"), random.Random(1), [0, 0.0]
    env = simpy.Environment()
    cpu = simpy.Resource(env, 1)

    def job() -> Any:
        begun = env.now
        with cpu.request() as request:
            yield request
            yield env.timeout(draw.expovariate(1 / 0.8))
        seen[0] += 1
        seen[1] += env.now - begun

    def source() -> Any:
        while True:
            yield env.timeout(draw.expovariate(1.0))
            env.process(job())

    env.process(source())
    return _timed_simpy(env, cycles, seen)


def simpy_central(cycles: int) -> tuple[float, float]:
    simpy, draw, seen = import_module("simpy"), random.Random(1), [0, 0.0]
    env = simpy.Environment()
    cpu, disks = simpy.Resource(env, 1), [(simpy.Resource(env, 1), 1.8), (simpy.Resource(env, 1), 1.6)]

    def job() -> Any:
        while True:
            begun = env.now
            with cpu.request() as request:
                yield request
                yield env.timeout(draw.expovariate(1.0))
            disk, mean = disks[draw.random() < 0.5]
            with disk.request() as request:
                yield request
                yield env.timeout(draw.expovariate(1 / mean))
            seen[0] += 1
            seen[1] += env.now - begun

    for _ in range(20):
        env.process(job())
    return _timed_simpy(env, 1.9 * cycles, seen)


def simpy_lock(cycles: int) -> tuple[float, float]:
    simpy, draw, seen = import_module("simpy"), random.Random(1), [0, 0.0]
    env = simpy.Environment()
    door = simpy.Resource(env, 1)

    def member() -> Any:
        while True:
            begun = env.now
            yield env.timeout(draw.expovariate(1 / 9.0))
            with door.request() as request:
                yield request
                yield env.timeout(draw.expovariate(1.0))
            seen[0] += 1
            seen[1] += env.now - begun

    for _ in range(16):
        env.process(member())
    return _timed_simpy(env, 1.05 * cycles, seen)


def _timed_simpy(env: Any, until: float, seen: list[Any]) -> tuple[float, float]:
    begin = time.perf_counter()
    env.run(until=until)
    return seen[0] / (time.perf_counter() - begin), seen[1] / seen[0]


def ciw_single(cycles: int) -> tuple[float, float]:
    ciw = import_module("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(1.0)],
        service_distributions=[ciw.dists.Exponential(1.25)],
        number_of_servers=[1],
    )
    ciw.seed(1)
    run = ciw.Simulation(network)
    begin = time.perf_counter()
    run.simulate_until_max_time(cycles)
    passed = time.perf_counter() - begin
    records = run.get_all_records()
    return len(records) / passed, sum(each.exit_date - each.arrival_date for each in records) / len(records)


def bare_single(cycles: int) -> tuple[float, float]:
    """A loop for this one model and nothing else: next arrival, next departure, a ring of arrival times."""
    loop = _bare_loop()
    loop(1000, 1)
    begin = time.perf_counter()
    mean = loop(cycles, 1)
    return cycles / (time.perf_counter() - begin), mean


def _bare_loop() -> Any:
    numba = import_module("numba")

    @numba.njit  # type: ignore[untyped-decorator]
    def loop(cycles: int, seed: int) -> float:
        np.random.seed(seed)
        heap_time, heap_kind, heap = np.zeros(16), np.zeros(16, np.int64), 1
        heap_time[0] = np.random.exponential(1.0)
        ring, first, present = np.zeros(4096), 0, 0
        total, done = 0.0, 0
        while done < cycles:
            now, kind = heap_time[0], heap_kind[0]
            heap -= 1
            t, k, place, below = heap_time[heap], heap_kind[heap], 0, 1
            while below < heap:
                if below + 1 < heap and heap_time[below + 1] < heap_time[below]:
                    below += 1
                if t <= heap_time[below]:
                    break
                heap_time[place], heap_kind[place] = heap_time[below], heap_kind[below]
                place, below = below, 2 * below + 1
            heap_time[place], heap_kind[place] = t, k
            begins = False
            if kind == 0:
                ring[(first + present) & 4095] = now
                present += 1
                begins = present == 1
            else:
                total += now - ring[first & 4095]
                first += 1
                present -= 1
                done += 1
                begins = present > 0
            for what in range(2):
                if (what == 0 and kind == 0) or (what == 1 and begins):
                    due = now + np.random.exponential(1.0 if what == 0 else 0.8)
                    place = heap
                    heap += 1
                    while place > 0 and heap_time[(place - 1) >> 1] > due:
                        heap_time[place], heap_kind[place] = heap_time[(place - 1) >> 1], heap_kind[(place - 1) >> 1]
                        place = (place - 1) >> 1
                    heap_time[place], heap_kind[place] = due, what
        return total / cycles

    return loop


def best(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    return max(run() for _ in range(3))


def compare(title: str, plan: Plan, simpy: Callable[[int], tuple[float, float]], events: int, **others: Any) -> None:
    print(f"\n{title}")
    reference = best(lambda: simpy(CUSTOMERS // 10)) if find_spec("simpy") else (float("nan"), float("nan"))
    rows = {"simpy": reference}
    rows.update({name: best(run) for name, run in others.items()})
    rows["plain"] = best(lambda: ours(plan, Kernel, CUSTOMERS // 4))
    if find_spec("numba"):
        rows["compiled"] = best(lambda: ours(plan, CompiledKernel, 4 * CUSTOMERS))
    for name, (rate, mean) in rows.items():
        print(
            f"  {name:<10} {rate:12,.0f} cycles/s  {rate * events:12,.0f} visits/s  {rate / reference[0]:7.1f} x simpy   mean {mean:.3f}"
        )
    if "bare" in rows and "compiled" in rows:
        print(f"  compiled is {rows['compiled'][0] / rows['bare'][0]:.2f} of the bare loop")


def memory() -> None:
    """Show that memory does not grow with the number of events."""
    from slipstick.sim.effort import Effort
    from slipstick.sim.run import simulate

    print("\nmemory, M/M/1")
    for events in (1_000_000, 4_000_000, 16_000_000, 64_000_000):
        found = simulate(single_server(), 1, Effort(precision=1e-9, events=events), "compiled")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {found.events:12,} events  {peak:8.1f} MiB at the peak")


if __name__ == "__main__":
    extra: dict[str, Any] = {}
    if find_spec("ciw"):
        extra["ciw"] = lambda: ciw_single(20_000)
    if find_spec("numba"):
        extra["bare"] = lambda: bare_single(4 * CUSTOMERS)
    compare("M/M/1 at utilization 0.8 (mean 4)", single_server(), simpy_single, 1, **extra)
    compare("closed central server, 3 stations, N = 20", central_server(), simpy_central, 2)
    compare("16 processors on one lock, work 9, critical section 1", one_lock(), simpy_lock, 1)
    if find_spec("numba"):
        memory()
