"""Cycles a second of the kernels beside SimPy, Ciw, line-solver and a bare hand-written compiled
loop, in one run.

Every contender simulates the same model and estimates the same mean cycle time, which is printed as
a check. Run it with ``python benchmarks/simulator.py``; who is not installed (``pip install simpy
ciw line-solver``) is named and left out. Best of three rounds, in processor time of one core.
line-solver's engine is a program of its own: it is measured by the time it says it took, without
starting up, and its completions of service, thinking included, are turned into cycles.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import resource
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick_compiled.kernel import CompiledKernel

CUSTOMERS, SHORT = 1_000_000, 4_000


def exponential(mean: float) -> ServiceTime:
    return ServiceTime("exponential", mean)


def single_server() -> Plan:
    builder = Builder()
    builder.add_station("cpu")
    builder.serve("cpu", exponential(0.8))
    builder.add_open_group("jobs", exponential(1.0), first_instruction=0)
    return builder.plan()


def central_server() -> Plan:
    """Twenty jobs; the cpu, then one of two disks: counted in visits, two a cycle."""
    builder = Builder()
    for name in ("cpu", "disk1", "disk2"):
        builder.add_station(name)
    builder.serve("cpu", exponential(1.0))
    disks = [
        (0.5, lambda: builder.serve("disk1", exponential(1.8))),
        (0.5, lambda: builder.serve("disk2", exponential(1.6))),
    ]
    builder.choose(disks, "disk")
    builder.add_closed_group("jobs", 20, first_instruction=0)
    return builder.plan()


def one_lock() -> Plan:
    builder = Builder()
    builder.add_lock("door")
    builder.delay(exponential(9.0), "work")
    builder.hold("door", lambda: builder.delay(exponential(1.0), "inside"))
    builder.add_closed_group("all", 16, first_instruction=0)
    return builder.plan()


def ours(plan: Plan, make: Callable[..., Any], cycles: int) -> tuple[float, float]:
    """Run so many cycles; give cycles a second, and the mean response time."""
    kernel = make(plan, 1)
    kernel.run(1000)
    kernel.take_responses(0)
    kernel.take_rows()
    completed, total = 0, 0.0
    begin = time.process_time()
    while completed < cycles:
        kernel.run(16_384)
        kernel.take_rows()
        responses = kernel.take_responses(0)
        completed += len(responses)
        total += float(responses.sum())
    return completed / (time.process_time() - begin), total / completed


def simpy_single(cycles: int) -> tuple[float, float]:
    simpy, draw, count_and_time = import_module("simpy"), random.Random(1), [0, 0.0]
    env = simpy.Environment()
    cpu = simpy.Resource(env, 1)

    def job() -> Any:
        begun = env.now
        with cpu.request() as request:
            yield request
            yield env.timeout(draw.expovariate(1 / 0.8))
        count_and_time[0] += 1
        count_and_time[1] += env.now - begun

    def source() -> Any:
        while True:
            yield env.timeout(draw.expovariate(1.0))
            env.process(job())

    env.process(source())
    return _timed_simpy(env, cycles, count_and_time)


def simpy_central(cycles: int) -> tuple[float, float]:
    simpy, draw, count_and_time = import_module("simpy"), random.Random(1), [0, 0.0]
    env = simpy.Environment()
    cpu, disks = (
        simpy.Resource(env, 1),
        [(simpy.Resource(env, 1), 1.8), (simpy.Resource(env, 1), 1.6)],
    )

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
            count_and_time[0] += 1
            count_and_time[1] += env.now - begun

    for _ in range(20):
        env.process(job())
    return _timed_simpy(env, 1.9 * cycles, count_and_time)


def simpy_lock(cycles: int) -> tuple[float, float]:
    simpy, draw, count_and_time = import_module("simpy"), random.Random(1), [0, 0.0]
    env = simpy.Environment()
    door = simpy.Resource(env, 1)

    def member() -> Any:
        while True:
            begun = env.now
            yield env.timeout(draw.expovariate(1 / 9.0))
            with door.request() as request:
                yield request
                yield env.timeout(draw.expovariate(1.0))
            count_and_time[0] += 1
            count_and_time[1] += env.now - begun

    for _ in range(16):
        env.process(member())
    return _timed_simpy(env, 1.05 * cycles, count_and_time)


def _timed_simpy(env: Any, until: float, count_and_time: list[Any]) -> tuple[float, float]:
    begin = time.process_time()
    env.run(until=until)
    return count_and_time[0] / (time.process_time() - begin), count_and_time[1] / count_and_time[0]


def ciw_single(cycles: int) -> tuple[float, float]:
    ciw = import_module("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(1.0)],
        service_distributions=[ciw.dists.Exponential(1.25)],
        number_of_servers=[1],
    )
    return _timed_ciw(network, cycles, None)


def ciw_central(cycles: int) -> tuple[float, float]:
    routing = [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    return _closed_ciw([1.0, 1.8, 1.6], [1, 1, 1], routing, 20, 1.9 * cycles)


def ciw_lock(cycles: int) -> tuple[float, float]:
    return _closed_ciw([9.0, 1.0], [float("inf"), 1], [[0.0, 1.0], [1.0, 0.0]], 16, 1.05 * cycles)


def _closed_ciw(
    means: list[float], servers: list[float], routing: list[list[float]], jobs: int, until: float
) -> tuple[float, float]:
    """Close an open network: all arrive at the first node at once, nobody leaves."""
    ciw = import_module("ciw")

    class AtOnce(ciw.dists.Distribution):  # type: ignore[name-defined, misc]
        left = jobs

        def sample(self, t: float | None = None, ind: Any = None) -> float:
            self.left -= 1
            return 0.0 if self.left >= 0 else float("inf")

    network = ciw.create_network(
        arrival_distributions=[AtOnce(), *[None] * (len(means) - 1)],
        service_distributions=[ciw.dists.Exponential(1 / mean) for mean in means],
        number_of_servers=servers,
        routing=routing,
    )
    return _timed_ciw(network, until, jobs)


def _timed_ciw(network: Any, until: float, jobs: int | None) -> tuple[float, float]:
    ciw = import_module("ciw")
    ciw.seed(1)
    run = ciw.Simulation(network)
    begin = time.process_time()
    run.simulate_until_max_time(until)
    passed = time.process_time() - begin
    records = [record for record in run.get_all_records() if record.node == 1]
    if jobs is not None:
        return len(records) / passed, jobs * until / len(records)
    return len(records) / passed, sum(
        record.exit_date - record.arrival_date for record in records
    ) / len(records)


def line_single(completions: int) -> tuple[float, float]:
    line = import_module("line_solver")
    model = line.Network("single")
    source, cpu = line.Source(model, "source"), line.Queue(model, "cpu", line.SchedStrategy.FCFS)
    sink, jobs = line.Sink(model, "sink"), line.OpenClass(model, "jobs")
    source.set_arrival(jobs, line.Exp(1.0))
    cpu.set_service(jobs, line.Exp(1.25))
    model.link(line.Network.serial_routing([source, cpu, sink]))
    solved, passed = _timed_line(model, completions)
    return completions / passed, float(solved.RN[1, 0])


def line_central(completions: int) -> tuple[float, float]:
    line = import_module("line_solver")
    model = line.Network("central")
    nodes = [line.Queue(model, name, line.SchedStrategy.FCFS) for name in ("cpu", "disk1", "disk2")]
    jobs = line.ClosedClass(model, "jobs", 20, nodes[0])
    for node, mean in zip(nodes, (1.0, 1.8, 1.6), strict=True):
        node.set_service(jobs, line.Exp(1 / mean))
    ways = model.init_routing_matrix()
    for disk in nodes[1:]:
        ways.set(jobs, jobs, nodes[0], disk, 0.5)
        ways.set(jobs, jobs, disk, nodes[0], 1.0)
    model.link(ways)
    solved, passed = _timed_line(model, completions)
    return completions / 2 / passed, 20 / float(solved.TN[0, 0])


def line_lock(completions: int) -> tuple[float, float]:
    line = import_module("line_solver")
    model = line.Network("lock")
    work, door = line.Delay(model, "work"), line.Queue(model, "door", line.SchedStrategy.FCFS)
    members = line.ClosedClass(model, "members", 16, work)
    work.set_service(members, line.Exp(1 / 9))
    door.set_service(members, line.Exp(1.0))
    model.link(line.Network.serial_routing([work, door]))
    solved, passed = _timed_line(model, completions)
    return completions / 2 / passed, 16 / float(solved.TN[1, 0])


def _timed_line(model: Any, completions: int) -> tuple[Any, float]:
    line = import_module("line_solver")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        solver = line.SolverLDES(model, samples=completions, seed=1, verbose=False)
        solver.avg_table()
    return solver._result, float(solver._result.runtime)


def bare_single(cycles: int) -> tuple[float, float]:
    """The bare loop for an open single server."""
    return _timed_bare(import_module("rivals.bare").single, cycles)


def bare_closed(cycles: int, jobs: int, think: float, means: list[float]) -> tuple[float, float]:
    """The bare loop for closed networks."""
    return _timed_bare(import_module("rivals.bare").closed, cycles, jobs, think, np.array(means))


def _timed_bare(loop: Callable[..., float], cycles: int, *model: Any) -> tuple[float, float]:
    loop(1000, 1, *model)  # compiles
    begin = time.process_time()
    mean = loop(cycles, 1, *model)
    return cycles / (time.process_time() - begin), mean


Contender = Callable[[], tuple[float, float]]

TARGETS = (("plain", "simpy", 2.5), ("compiled", "simpy", 40.0), ("compiled", "bare", 0.7))
"""Who is to be at least so many times as fast as whom."""


def compare(
    title: str, plan: Plan, visits: int, peers: dict[str, Contender], customers: int
) -> None:
    """Print cycles and visits a second, and which targets are met."""
    print(f"\n{title}")
    contenders: dict[str, Contender] = {
        **peers,
        "plain": lambda: ours(plan, Kernel, customers // 4),
    }
    if find_spec("numba"):
        contenders["compiled"] = lambda: ours(plan, CompiledKernel, 4 * customers)
    # In turn, so that whatever else the machine does meets all of them.
    rounds = [
        {name: run() for name, run in contenders.items()}
        for _ in range(3 if customers == CUSTOMERS else 1)
    ]
    rows = {name: max(round_times[name] for round_times in rounds) for name in contenders}
    unit = rows.get("simpy", rows["plain"])[0]
    for name, (rate, mean) in rows.items():
        times = f"{rate / unit:7.1f} x {'simpy' if 'simpy' in rows else 'plain'}"
        print(
            f"  {name:<12} {rate:12,.0f} cycles/s  {rate * visits:12,.0f} visits/s  {times}   mean"
            f" {mean:.3f}"
        )
    for name, contender, least_ratio in TARGETS:
        if name in rows and contender in rows:
            told(
                f"{name} / {contender}",
                rows[name][0] / rows[contender][0],
                f"at least {least_ratio:g}",
                least_ratio,
            )


def told(name: str, value: float, aim: str, least: float = 0.0, most: float = float("inf")) -> None:
    print(f"  {'met   ' if least <= value <= most else 'MISSED'} {name} = {value:.2f}, {aim}")


def memory() -> None:
    """Show that memory does not grow with the number of events."""
    from slipstick.sim.run import simulate
    from slipstick.sim.settings import Simulation

    print("\nmemory, M/M/1")
    peaks = []
    for events in (1_000_000, 4_000_000, 16_000_000, 64_000_000):
        result = simulate(
            single_server(), Simulation(1, precision=1e-9, events=events, kernel="compiled")
        )
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(f"  {result.events:12,} events  {peaks[-1]:8.1f} MiB at the peak")
    told(
        "peak at 64 million / at 4 million events",
        peaks[-1] / peaks[1],
        "flat: at most 1.1",
        most=1.1,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    customers = SHORT if parser.parse_args().short else CUSTOMERS
    cycles, few = customers // 10, customers // 50
    single_contenders: dict[str, Contender] = {}
    central: dict[str, Contender] = {}
    lock: dict[str, Contender] = {}
    if find_spec("simpy"):
        single_contenders["simpy"] = lambda: simpy_single(cycles)
        central["simpy"] = lambda: simpy_central(cycles)
        lock["simpy"] = lambda: simpy_lock(cycles)
    if find_spec("ciw"):
        single_contenders["ciw"] = lambda: ciw_single(few)
        central["ciw"] = lambda: ciw_central(few)
        lock["ciw"] = lambda: ciw_lock(few)
    if find_spec("line_solver"):
        single_contenders["line-solver"] = lambda: line_single(4 * customers)
        central["line-solver"] = lambda: line_central(4 * customers)
        lock["line-solver"] = lambda: line_lock(4 * customers)
    if find_spec("numba"):
        single_contenders["bare"] = lambda: bare_single(4 * customers)
        central["bare"] = lambda: bare_closed(2 * customers, 20, 0.0, [1.0, 1.8, 1.6])
        lock["bare"] = lambda: bare_closed(4 * customers, 16, 9.0, [1.0])
    for name in ("simpy", "ciw", "line_solver", "numba"):
        if not find_spec(name):
            print(f"{name} is not installed and is left out")
    compare("M/M/1 at utilization 0.8 (mean 4)", single_server(), 1, single_contenders, customers)
    compare("closed central server, 3 stations, N = 20", central_server(), 2, central, customers)
    compare("16 processors on one lock, work 9, critical section 1", one_lock(), 1, lock, customers)
    if find_spec("numba") and customers == CUSTOMERS:
        memory()


if __name__ == "__main__":
    main()
