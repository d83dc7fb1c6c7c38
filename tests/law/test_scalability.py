"""Equivalences that the papers state, derived by SymPy from the laws; speed-up laws by special
cases and schedules.
"""

from __future__ import annotations

import heapq
import re
from typing import Any

import numpy as np
import pytest
import sympy

from slipstick.expression.symbolic import to_sympy
from slipstick.law import LAWS
from slipstick.law.law import Law

N, M, W, V, T_C, E, F, L = sympy.symbols("N M W V t_c E F L", positive=True)
"""Processors and more of them, work and more of it, time of an operation, two efficiencies, a
latency.
"""


def said(name: str, **symbols: Any) -> Any:
    """Write a law in SymPy, other expressions in the place of its symbols."""
    law = LAWS[name]
    assert set(symbols) == {each.name for each in law.symbols}
    places = {sympy.Symbol(key, positive=True): value for key, value in symbols.items()}
    return to_sympy(law.right_side).subs(places, simultaneous=True)


def same(a: Any, b: Any) -> bool:
    return bool(sympy.simplify(a - b) == 0)


def latency_at(efficiency: Any, processors: Any, work: Any) -> Any:
    """Solve equation 9 for the latency that leaves this efficiency."""
    at = said("efficiency-from-latency", processors=processors, work=work, operation=T_C, latency=L)
    (found,) = sympy.solve(sympy.Eq(at, efficiency), L)
    return found


def time_at(efficiency: Any, processors: Any, work: Any) -> Any:
    latency = latency_at(efficiency, processors, work)
    return said("parallel-time", processors=processors, work=work, operation=T_C, latency=latency)


@pytest.mark.turns(4)
def test_at_one_efficiency_latency_metric_isospeed_and_ratio_of_times_are_one_number() -> None:
    metric = said(
        "latency-scalability", latency=latency_at(E, N, W), more_latency=latency_at(E, M, V)
    )
    isospeed = said("isospeed-scalability", processors=N, more_processors=M, work=W, more_work=V)
    assert same(metric, isospeed)
    assert same(metric, time_at(E, N, W) / time_at(E, M, V))


def test_where_efficiency_is_not_held_they_part() -> None:
    metric = said(
        "latency-scalability", latency=latency_at(E, N, W), more_latency=latency_at(F, M, V)
    )
    isospeed = said("isospeed-scalability", processors=N, more_processors=M, work=W, more_work=V)
    assert same(metric / isospeed, (1 - E) * F / (E * (1 - F)))
    assert not same(metric, isospeed)


def test_one_efficiency_is_one_speed_of_a_processor() -> None:
    """Isospeed holds W / (N T); that is the efficiency over the time of an operation."""
    speed = said("unit-speed", processors=N, work=W, time=time_at(E, N, W))
    assert same(speed, E / T_C)


def test_isoefficiency_supplies_the_work() -> None:
    """Its work is where the efficiency with that overhead is the one that was asked for."""
    overhead = said("overhead", processors=N, latency=L)
    work = said("isoefficiency", efficiency=E, overhead=overhead, operation=T_C)
    assert same(
        said("efficiency-from-latency", processors=N, work=work, operation=T_C, latency=L), E
    )
    more = said("isoefficiency", efficiency=E, overhead=M * latency_at(E, M, V), operation=T_C)
    assert same(more, V)


def test_the_overhead_is_what_all_spend_beyond_the_sequential_time() -> None:
    time = said("parallel-time", processors=N, work=W, operation=T_C, latency=L)
    sequential = said("sequential-time", work=W, operation=T_C)
    assert same(said("overhead", processors=N, latency=L), N * time - sequential)
    assert same(
        said("efficiency-from-latency", processors=N, work=W, operation=T_C, latency=L),
        sequential / N / time,
    )


def test_equations_10_and_11_follow_from_9() -> None:
    time = time_at(E, N, W)
    assert same(said("average-latency", time=time, efficiency=E), latency_at(E, N, W))
    assert same(said("work-in-time", processors=N, efficiency=E, operation=T_C, time=time), W)


def test_equations_12_and_13_follow_from_10_and_11_at_one_time() -> None:
    t = sympy.Symbol("t", positive=True)
    latencies = [said("average-latency", time=t, efficiency=each) for each in (E, F)]
    metric = said("latency-scalability", latency=latencies[0], more_latency=latencies[1])
    assert same(said("time-bound-latency-scalability", efficiency=E, more_efficiency=F), metric)
    less, more = (
        said("work-in-time", processors=each, efficiency=at, operation=T_C, time=t)
        for each, at in ((N, E), (M, F))
    )
    isospeed = said(
        "isospeed-scalability", processors=N, more_processors=M, work=less, more_work=more
    )
    assert same(said("time-bound-work-scalability", efficiency=E, more_efficiency=F), isospeed)


def test_equation_2_is_5_where_the_sources_are_idle_time_and_overhead() -> None:
    time, busy, memory, primitives = sympy.symbols("T B m p", positive=True)
    idle = said("idle-time", processors=N, effective=busy, time=time)
    by_source = said(
        "latency-from-sources", processors=N, memory=memory, idle=idle, primitives=primitives
    )
    by_processor = said(
        "latency-from-processors",
        processors=N,
        overhead=memory + primitives,
        effective=busy,
        time=time,
    )
    assert same(by_source, by_processor)


def test_dritz_boyle_is_the_account_with_all_but_waits_useful() -> None:
    time, waits = sympy.symbols("T w", positive=True)
    sequential = said("sequential-estimate", processors=N, waits=waits, time=time)
    speedup = said("speed-up-from-waits", processors=N, waits=waits, time=time)
    assert same(speedup, sequential / time)
    assert same(speedup + said("processors-lost", processors=N, booked=waits / N, time=time), N)
    useful = said("efficiency", useful=time - waits / N, time=time)
    assert same(speedup, said("speed-up", processors=N, efficiency=useful))


def test_at_one_time_latency_and_work_disagree_on_the_sign_of_the_change() -> None:
    """Time bound, 4 to 32 processors: (12) falls below 1 as the efficiency falls, (13) rises
    above it.
    """
    low = LAWS["time-bound-latency-scalability"](efficiency=0.5, more_efficiency=0.39)
    high = LAWS["time-bound-work-scalability"](efficiency=0.5, more_efficiency=0.39)
    assert low < 1 < high


def test_amdahls_time_and_speedup_are_one_law() -> None:
    f, t = sympy.symbols("f t", positive=True)
    alone = said("amdahl-time", processors=1, parallel=(1 - f) * t, serial=f * t)
    together = said("amdahl-time", processors=N, parallel=(1 - f) * t, serial=f * t)
    assert same(said("amdahl-speedup", serial=f, processors=N), alone / together)
    assert sympy.limit(said("amdahl-speedup", serial=f, processors=N), N, sympy.oo) == 1 / f


def test_karp_and_flatt_find_amdahls_serial_share() -> None:
    f = sympy.Symbol("f", positive=True)
    speedup = said("amdahl-speedup", serial=f, processors=N)
    assert same(said("karp-flatt", processors=N, speedup=speedup), f)


def test_sun_and_ni_hold_amdahl_and_gustafson() -> None:
    f = sympy.Symbol("f", positive=True)
    fixed = said("sun-ni-speedup", serial=f, growth=1, processors=N)
    assert same(fixed, said("amdahl-speedup", serial=f, processors=N))
    # Of the time on all processors, f was serial and 1 - f shared: growth N keeps it.
    scaled = said("sun-ni-speedup", serial=f, growth=N, processors=N)
    assert same(scaled, said("gustafson-speedup", serial=f, processors=N))
    power = said("sun-ni-power-speedup", serial=f, exponent=1, processors=N)
    assert same(power, scaled)


def test_gustafson_is_amdahl_with_the_share_of_the_other_run() -> None:
    """A share s of the parallel run is f = s / (s + N (1 - s)) of the run on one processor."""
    s = sympy.Symbol("s", positive=True)
    fixed = said("amdahl-speedup", serial=s / (s + N * (1 - s)), processors=N)
    assert same(fixed, said("gustafson-speedup", serial=s, processors=N))


@pytest.mark.turns(4)
def test_without_coherency_delays_universal_scalability_is_amdahl() -> None:
    f, k = sympy.symbols("f k", positive=True)
    capacity = said("universal-scalability", contention=f, coherency=0, processors=N)
    assert same(capacity, said("amdahl-speedup", serial=f, processors=N))
    slope = sympy.diff(said("universal-scalability", contention=f, coherency=k, processors=N), N)
    assert same(slope.subs(N, sympy.sqrt((1 - f) / k)), 0)


def test_the_peak_of_universal_scalability_by_search() -> None:
    law, peak = LAWS["universal-scalability"], LAWS["universal-scalability-peak"]
    n = np.linspace(1.0, 200.0, 200_001)
    for contention, coherency in ((0.1, 0.01), (0.02, 0.0001), (0.9, 0.5)):
        best = n[np.argmax(law(contention=contention, coherency=coherency, processors=n))]
        assert peak(contention=contention, coherency=coherency) == pytest.approx(best, abs=2e-3)


def greedy(times: list[float], after: list[set[int]], processors: int) -> float:
    """Run a task graph on processors that are never idle while a task is ready."""
    left = [len(each) for each in after]
    ready = [task for task, waits in enumerate(left) if not waits]
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < processors:
            task = ready.pop()
            heapq.heappush(running, (now + times[task], task))
        now, done = heapq.heappop(running)
        for task, before in enumerate(after):
            if done in before:
                left[task] -= 1
                if not left[task]:
                    ready.append(task)
    return now


@pytest.mark.parametrize("seed", range(12))
def test_greedy_schedules_of_random_graphs_lie_between_the_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = 40
    times = [float(each) for each in rng.uniform(0.1, 3.0, tasks)]
    after = [{other for other in range(task) if rng.random() < 0.08} for task in range(tasks)]
    done: list[float] = []
    for task in range(tasks):
        done.append(times[task] + max((done[other] for other in after[task]), default=0.0))
    at = {"span": max(done), "work": sum(times)}
    for processors in (1, 2, 3, 7, 40):
        time = greedy(times, after, processors)
        assert LAWS["work-span-least-time"](processors=processors, **at) <= time * (1 + 1e-12)
        assert time <= LAWS["work-span-most-time"](processors=processors, **at) * (1 + 1e-12)
        assert at["work"] / time <= LAWS["work-span-speedup-bound"](processors=processors, **at) * (
            1 + 1e-12
        )


DOWNEY = LAWS["downey-speedup"]


def test_downeys_ranges_meet() -> None:
    a = 20.0
    for variance in (0.0, 0.3, 0.999999999, 1.0, 1.000000001, 2.0, 5.0):
        edges = [a, 2 * a - 1] if variance <= 1 else [a + a * variance - variance]
        for edge in edges:
            left, right = (
                DOWNEY(parallelism=a, variance=variance, processors=edge * (1 + s))
                for s in (-1e-9, 1e-9)
            )
            assert left == pytest.approx(right, rel=1e-7)
    n = np.linspace(1, 100, 997)
    below = DOWNEY(parallelism=a, variance=1.0, processors=n)
    above = DOWNEY(parallelism=a, variance=1.0 + 1e-12, processors=n)
    assert above == pytest.approx(below, rel=1e-9)


def test_downeys_speedup_rises_from_one_to_the_parallelism_and_falls_with_variance() -> None:
    n = np.linspace(1, 200, 1991)
    last = np.minimum(n, 20.0)
    for variance in (0.0, 0.2, 0.7, 1.0, 1.5, 4.0):
        speedup = DOWNEY(parallelism=20.0, variance=variance, processors=n)
        assert speedup[0] == 1.0
        assert speedup[-1] == 20.0
        assert (np.diff(speedup) >= -1e-12).all()
        assert (speedup <= last * (1 + 1e-12)).all()
        last = speedup


def test_downeys_first_range_from_his_profile_of_parallelism() -> None:
    """Low variance: parallelism is A for all but v/2 of the time, half of which it is 1, half 2A
    - 1.
    """
    a, v = 12.0, 0.6
    for n in (1.0, 5.0, 12.0, 20.0, 40.0):
        profile = {1.0: v / 2, a: 1 - v, 2 * a - 1: v / 2}
        time = sum(share * max(1.0, parallelism / n) for parallelism, share in profile.items())
        assert DOWNEY(parallelism=a, variance=v, processors=n) == pytest.approx(a / time, rel=1e-12)


ADDING = [
    (4, 64, 0.80),
    (8, 192, 0.80),
    (16, 512, 0.80),
    (16, 192, 0.60),
    (32, 512, 0.62),
    (8, 64, 0.57),
]


@pytest.mark.parametrize(("processors", "numbers", "efficiency"), ADDING)
def test_adding_numbers_as_grama_gupta_and_kumar_print_it(
    processors: int, numbers: int, efficiency: float
) -> None:
    """n numbers, unit times: a processor loses 2 log2 N."""
    found = LAWS["efficiency-from-latency"](
        processors=processors, work=numbers, operation=1.0, latency=2 * np.log2(processors)
    )
    assert found == pytest.approx(efficiency, abs=0.006)


def test_every_law_of_the_paper_is_named_with_its_equation() -> None:
    sources = " ".join(law.source for law in LAWS.values())
    laws: list[Law] = list(LAWS.values())
    for equation in range(1, 15):
        assert any(re.search(rf"equation {equation}\b", law.source) for law in laws), equation
    assert "Dritz and Boyle" in sources
