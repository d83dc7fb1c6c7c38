"""Simulated means against theory, within their intervals.

Each check is at 99.99 %, so that all of them together raise a false alarm in fewer than 1 of 200
choices of seeds; the seeds are fixed, so a failure is not chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from scipy.special import stdtrit

from slipstick.sim.estimate import Estimate, Layout, Result, t_quantile
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime, service_time
from slipstick.sim.plan.plan import Plan
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation
from slipstick_compiled.kernel import AVAILABLE

CHECKS = 40
LEVEL = 1 - 0.005 / CHECKS


def run(plan: Plan, cycles: int = 400_000) -> Result:
    size = cycles if AVAILABLE else cycles // 20
    return simulate(
        plan, Simulation(3, level=LEVEL, cycles=size, kernel="compiled" if AVAILABLE else "plain")
    )


def holds(estimate: Estimate, truth: float) -> bool:
    """Return whether the interval holds the answer, and is of any use."""
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.half_width < 0.15 * truth
    return estimate.low <= truth <= estimate.high


def open_station(
    service: ServiceTime, rate: float = 1.0, servers: int = 1, discipline: str = "fcfs"
) -> Plan:
    builder = Builder()
    builder.add_station("cpu", servers, discipline)
    builder.serve("cpu", service)
    builder.add_open_group("jobs", ServiceTime("exponential", 1 / rate), first_instruction=0)
    return builder.plan()


@pytest.mark.turns(4)
@pytest.mark.parametrize("scv", [0.0, 0.25, 1 / 3, 0.4, 1.0, 4.0])
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_one_server_by_pollaczek_and_khinchin(scv: float, load: float) -> None:
    found = run(open_station(service_time(load, scv)))
    assert holds(found.mean_time(), load + load * load * (1 + scv) / (2 * (1 - load)))
    layout = Layout(found.plan)
    used = found.estimated_ratio(
        layout.column_weights(layout.busy_time_columns[0]),
        layout.column_weights(layout.time_column),
    )
    assert holds(used, load)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("kind", "scv"), [("gamma", 2.0), ("uniform", 0.2)])
def test_one_server_with_other_times(kind: str, scv: float) -> None:
    found = run(open_station(ServiceTime(kind, 0.5, scv)))
    assert holds(found.mean_time(), 0.5 + 0.25 * (1 + scv) / (2 * 0.5))


@pytest.mark.turns(4)
@pytest.mark.parametrize("servers", [2, 5])
def test_several_servers_by_erlang(servers: int) -> None:
    offered = 0.7 * servers
    found = run(open_station(ServiceTime("exponential", 1.0), offered, servers))
    last = offered**servers / math.factorial(servers) / 0.3
    waits = last / (sum(offered**k / math.factorial(k) for k in range(servers)) + last)
    assert holds(found.mean_time(), 1 + waits / (servers - offered))


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["ps", "lcfs-pr"])
@pytest.mark.parametrize("scv", [0.0, 1.0, 4.0])
def test_shared_or_preempted_service_does_not_notice_its_spread(
    discipline: str, scv: float
) -> None:
    found = run(open_station(service_time(0.6, scv), discipline=discipline))
    assert holds(found.mean_time(), 0.6 / (1 - 0.6))


def two_classes(discipline: str) -> Plan:
    builder = Builder()
    builder.add_station("cpu", 1, discipline)
    for rank in (0, 1):
        at = builder.next_instruction
        builder.serve("cpu", ServiceTime("exponential", 1.0), f"work{rank}", rank=rank)
        builder.add_open_group(
            f"class{rank}", ServiceTime("exponential", 1 / 0.35), first_instruction=at
        )
    return builder.plan()


@pytest.mark.turns(4)
def test_priorities_by_cobham() -> None:
    found = run(two_classes("priority"), 800_000)
    left = 0.35 + 0.35
    assert holds(found.mean_time(0), 1 + left / (1 - 0.35))
    assert holds(found.mean_time(1), 1 + left / ((1 - 0.35) * (1 - 0.7)))
    found = run(two_classes("priority-preemptive"), 800_000)
    assert holds(found.mean_time(0), 1 / (1 - 0.35))
    assert holds(found.mean_time(1), (1 + left / (1 - 0.7)) / (1 - 0.35))


def closed_network(demands: list[float], jobs: int, think: float) -> tuple[Plan, float]:
    """Make a closed network of exponential servers, and its cycle time by exact mean values."""
    builder = Builder()
    builder.delay(ServiceTime("exponential", think), "think")
    for index, demand in enumerate(demands):
        builder.add_station(f"s{index}")
        builder.serve(f"s{index}", ServiceTime("exponential", demand))
    builder.add_closed_group("jobs", jobs, first_instruction=0)
    queues, time = [0.0] * len(demands), 0.0
    for n in range(1, jobs + 1):
        residence = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        time = think + sum(residence)
        queues = [n / time * each for each in residence]
    return builder.plan(), time


@pytest.mark.turns(4)
@pytest.mark.parametrize("demands", [[1.0], [1.0, 0.8], [1.0, 1.0, 0.5]], ids=len)
@pytest.mark.parametrize("jobs", [1, 7, 20])
def test_closed_networks_by_mean_values(demands: list[float], jobs: int) -> None:
    """One station is the machine repairman."""
    plan, truth = closed_network(demands, jobs, 6.0)
    assert holds(run(plan).mean_time(), truth)


def machine_repair(population: int, servers: int, think: float, service: float) -> float:
    """Return the mean time of a cycle with exponential times: p(j) of M/M/c//N by birth and
    death.
    """
    weights = [1.0]
    for j in range(1, population + 1):
        weights.append(weights[-1] * (population - j + 1) / think * service / min(j, servers))
    thinking = sum((population - j) * weight for j, weight in enumerate(weights)) / sum(weights)
    return population / (thinking / think)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [1, 3, 8])
def test_permits_around_a_delay_are_machine_repair(number: int) -> None:
    builder = Builder()
    builder.add_permits("pool", number)
    builder.delay(ServiceTime("exponential", 4.0), "think")
    builder.hold("pool", lambda: builder.delay(ServiceTime("exponential", 3.0), "inside"))
    builder.add_closed_group("jobs", 8, first_instruction=0)
    found = run(builder.plan())
    assert holds(found.mean_time(), machine_repair(8, number, 4.0, 3.0))


def test_a_median_and_a_tail() -> None:
    found = run(open_station(ServiceTime("exponential", 0.5)))
    for p in (0.5, 0.95, 0.99):
        assert holds(found.time_quantile(p), -math.log(1 - p))


@pytest.mark.turns(4)
@pytest.mark.skipif(not AVAILABLE, reason="numba is not installed")
@pytest.mark.parametrize(
    "make", [lambda: open_station(service_time(0.9, 1.0)), lambda: closed_network([1.0], 9, 5.0)[0]]
)
def test_the_answer_does_not_depend_on_the_kernel(make: Callable[[], Plan]) -> None:
    plain, fast = (
        simulate(make(), Simulation(2, events=100_000, precision=0.05, kernel=kernel))
        for kernel in ("plain", "compiled")
    )
    assert plain.mean_time() == fast.mean_time()
    assert (plain.cycles, plain.dropped_cycle_count, plain.stop_cause) == (
        fast.cycles,
        fast.dropped_cycle_count,
        fast.stop_cause,
    )
    assert plain.time_quantile(0.95) == fast.time_quantile(0.95)


@pytest.mark.parametrize(
    ("level", "next_term"), [(0.5, 0.033), (0.8, 0.075), (0.95, 0.81), (0.99, 9.3)]
)
@pytest.mark.parametrize("freedom", [9, 20, 31, 60])
def test_the_reach_of_an_interval_is_that_of_student(
    level: float, next_term: float, freedom: int
) -> None:
    # The first term of the expansion that is left out is of the fifth order, and SciPy 1.15 is off
    # by 6e-11.
    assert t_quantile(level, freedom) == pytest.approx(
        stdtrit(freedom, (1 + level) / 2), abs=next_term / freedom**5 + 1e-10
    )
    # Of one and two degrees in closed form.
    assert t_quantile(level, 1) == pytest.approx(math.tan(math.pi * level / 2), rel=1e-12)
    of_two = level * math.sqrt(2 / (1 - level * level))
    assert t_quantile(level, 2) == pytest.approx(of_two, rel=1e-12)
    assert t_quantile(level, 3) == pytest.approx(stdtrit(3, (1 + level) / 2), rel=0.008)
