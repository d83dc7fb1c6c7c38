"""Sections between barriers, where all processors start at once: against exact recursions, order
statistics and simulation.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from slipstick.expression.nodes import COUNT, TIME, Parameter
from slipstick.model.activity import (
    barrier,
    delay,
    fork,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.steps import Activity
from slipstick.model.system import Barrier, Model, Resource, Station, closed_model
from slipstick.random_times import (
    RandomTime,
)
from slipstick.sim.settings import Simulation
from slipstick_mean_value.form import MeanValue
from slipstick_mean_value.traversal import PassingTimes
from tests.simulation import solve

ONE = np.ones(1)
SETTINGS = Simulation(seed=1, precision=0.01, events=200_000)


def time_of(cycle: Activity, processors: int, **resources: Resource) -> float:
    answer = MeanValue(closed_model(cycle, processors, resources=resources)).points({}).answer(0)
    time = answer["time"]
    assert time is not None
    return time


@cache
def exact_section(thinking: int, present: int, think: float, work: float) -> float:
    """Return the mean time until all have been served once, all exponential: first steps."""
    if thinking == present == 0:
        return 0.0
    leave, done = thinking / think, (1 / work if present else 0.0)
    later = 0.0
    if thinking:
        later += leave * exact_section(thinking - 1, present + 1, think, work)
    if present:
        later += done * exact_section(thinking, present - 1, think, work)
    return (1 + later) / (leave + done)


@pytest.mark.turns(4)
@pytest.mark.parametrize("processors", [2, 8, 32])
@pytest.mark.parametrize("think", [0.5, 3.0, 10.0, 40.0])
def test_after_a_barrier_all_start_at_once(processors: int, think: float) -> None:
    cycle = delay(think, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0) >> barrier("meet")
    assert time_of(cycle, processors) == pytest.approx(
        exact_section(processors, 0, think, 1.0), rel=0.012
    )


@pytest.mark.parametrize(("servers", "discipline", "time"), [(1, "fcfs", 21.745), (3, "ps", 9.681)])
def test_a_queue_that_is_visited_again_does_the_work_of_all_visits(
    servers: int, discipline: str, time: float
) -> None:
    """The visits of early processors come after those of late ones; simulated to 0.3 %."""
    visits = [service("bus", each, name=f"v{each}", scv=0.25) for each in (0.3467, 0.3488, 0.6325)]
    cycle = delay(1.4616, name="work", scv=0.25) >> then(*visits) >> barrier("meet")
    found = time_of(cycle, 20 if servers > 1 else 16, bus=Station(servers, discipline))
    assert found == pytest.approx(time, rel=0.03)


@pytest.mark.turns(4)
def test_constant_times_after_a_barrier_add_the_demand_of_all_to_the_path() -> None:
    cycle = (
        delay(9.0, name="before")
        >> service("bus", 1.0)
        >> delay(2.0, name="after")
        >> barrier("meet")
    )
    assert time_of(cycle, 10) == pytest.approx(9 + 10 * 1 + 2)
    rounds = delay(9.0, name="before") >> repeat(3, service("bus", 1.0)) >> barrier("meet")
    assert time_of(rounds, 10) == pytest.approx(9 + 10 * 3)
    pool = delay(9.0, name="before") >> service("pool", 1.0) >> barrier("meet")
    assert time_of(pool, 10, pool=Station(4)) == pytest.approx(9 + 3)
    # The second visits come long after the first are served, one second apart as these ended, and
    # take two.
    gap, last = delay(100.0, name="gap"), service("bus", 2.0, name="last")
    again = delay(9.0, name="before") >> service("bus", 1.0) >> gap >> last >> barrier("meet")
    assert time_of(again, 10) == pytest.approx(9 + 1 + 100 + 10 * 2)


@pytest.mark.parametrize("kind", ["visit", "fork"])
def test_what_is_repeated_once_is_done_once(kind: str) -> None:
    def body(index: int) -> Activity:
        return service("bus", 1.0 + index, name=f"part{index}", scv=1.0)

    part = body(0) if kind == "visit" else fork(body(0), body(1))
    once = Parameter("rounds", COUNT, 1.0)
    found = [
        time_of(
            delay(4.0, name="work", scv=1.0)
            >> each
            >> service("last", 2.0, scv=1.0)
            >> barrier("meet"),
            8,
        )
        for each in (part, repeat(once, part))
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.turns(4)
def test_order_statistics_of_passing_times() -> None:
    """Five gamma variates, against the integral of i C(n, i) x F^(i-1) (1-F)^(n-i) f."""
    wave = PassingTimes.starting_together(5).times_after_delay(RandomTime(2.0 * ONE, 1.0 * ONE))
    gamma = stats.gamma(4, scale=0.5)
    u = (np.arange(200_000) + 0.5) / 200_000
    expected = [float(np.mean(gamma.ppf(u) * stats.beta.pdf(u, k, 6 - k))) for k in range(1, 6)]
    assert wave.times[0].tolist() == pytest.approx(expected, rel=6e-3)


def test_a_processor_far_behind_the_others_does_not_wait() -> None:
    spread = PassingTimes(np.array([[0.0, 10.0, 20.0]]), np.zeros((1, 3)))
    through, wait = spread.times_after_service_and_wait(
        RandomTime(ONE, 0 * ONE, "constant"), 1, ONE, 0 * ONE
    )
    assert through.times.tolist() == [[1.0, 11.0, 21.0]]
    assert wait.tolist() == [0.0]


def test_a_barrier_adds_its_cost_and_the_last_section_continues_in_the_next_cycle() -> None:
    meet = Barrier("central", Parameter("meet.cost", TIME, 0.25))
    cycle = delay(1.0, name="a") >> barrier("meet") >> delay(2.0, name="b")
    answer = MeanValue(closed_model(cycle, 4, resources={"meet": meet})).points({}).answer(0)
    assert answer["time"] == pytest.approx(3.25)
    assert answer.account == pytest.approx({"busy": 3.0, "barrier": 0.25})
    twice = repeat(3, delay(1.0, name="a", scv=1.0) >> barrier("meet"))
    assert time_of(twice, 4, meet=Barrier()) == pytest.approx(3 * 25 / 12)


def test_a_barrier_of_some_processors_meets_a_steady_stream() -> None:
    cycle = delay(1.0, name="a", scv=1.0) >> barrier("pair", parties=2)
    answer = MeanValue(closed_model(cycle, 6)).points({}).answer(0)
    # One of two waits for the other, for the mean time between arrivals T / 6: T = 1 + T / 12.
    assert answer["time"] == pytest.approx(12 / 11)
    assert "barriers pair: the parties are assumed to arrive as a steady stream" in answer.notes


@pytest.mark.parametrize("processors", [1, 2, 7, 64])
def test_a_barrier_after_an_exponential_delay_takes_the_harmonic_number(processors: int) -> None:
    answer = (
        MeanValue(closed_model(delay(5.0, name="work", scv=1.0) >> barrier("meet"), processors))
        .points({})
        .answer(0)
    )
    assert answer["time"] == pytest.approx(
        5 * sum(1 / k for k in range(1, processors + 1)), rel=1e-12
    )
    assert answer.exact
    assert answer.share["time"] == pytest.approx({"work": 1.0})


def visit(station: str, time: float) -> Activity:
    return service(station, time, name=f"at-{station}", scv=0.25)


def met(processors: int, *parts: Activity, **stations: Station) -> Model:
    """Work, the parts, and a barrier of all."""
    start = delay(4.0, name="work", scv=0.25)
    return closed_model(then(start, *parts, barrier("meet")), processors, resources=stations)


def times(model: Model) -> tuple[float, float]:
    """Return the time by mean value and by simulation."""
    one, other = MeanValue(model).points({}).answer(0)["time"], solve(model, None, SETTINGS)["time"]
    assert one is not None
    assert other is not None
    return one, other


@pytest.mark.turns(4)
def test_the_stages_of_a_pipeline_delay_at_the_same_time() -> None:
    """The busiest stage alone takes 12 x 9 x 0.6 s; queues passed one after the other would take
    0.35 + 0.6 for each.
    """
    line = pipeline(
        [serial(visit("a", 0.35)), serial(visit("b", 0.6)), serial(visit("c", 0.45))], items=9
    )
    mean, simulated = times(met(12, line))
    assert 12 * 9 * 0.6 < mean < 12 * 9 * 0.6 + 4 * 4.0
    assert mean == pytest.approx(simulated, rel=0.03)


@pytest.mark.turns(4)
def test_items_of_a_parallel_stage_join_the_queue_together() -> None:
    """Who comes first is through with all items first, and passes the next station while the
    others wait.
    """
    line = pipeline(
        [parallel(delay(1.0, name="ahead", scv=0.25)), parallel(visit("a", 0.24))], items=12
    )
    mean, simulated = times(
        met(24, line, visit("b", 0.9), a=Station(1, "fcfs"), b=Station(1, "fcfs"))
    )
    assert mean == pytest.approx(simulated, rel=0.03)


@pytest.mark.turns(3)
@pytest.mark.parametrize(("discipline", "within"), [("fcfs", 0.03), ("ps", 0.1)])
def test_items_that_wait_for_each_other_take_turns(discipline: str, within: float) -> None:
    """All are through at about the same time, so the next station starts late."""
    line = pipeline([serial(visit("a", 0.24)), parallel(visit("b", 0.5))], items=6)
    mean, simulated = times(met(16, line, visit("c", 0.9), b=Station(1, discipline)))
    assert mean == pytest.approx(simulated, rel=within)


@pytest.mark.turns(4)
@pytest.mark.parametrize("scv", [0.25, 1.0])
def test_two_queues_in_a_row_are_served_at_the_same_time(scv: float) -> None:
    """Whoever leaves the first early is through the second while others wait for the first."""
    first, second = (
        service(name, 1.5 - k / 10, name=f"at-{name}", scv=scv) for k, name in enumerate("ab")
    )
    mean, simulated = times(met(8, first, second, a=Station(1, "fcfs"), b=Station(1, "fcfs")))
    assert mean == pytest.approx(simulated, rel=0.03)


@pytest.mark.turns(4)
def test_items_that_take_turns_at_two_servers() -> None:
    line = pipeline([serial(visit("a", 0.24)), parallel(visit("b", 0.6))], items=6)
    mean, simulated = times(met(16, line, visit("c", 0.9), b=Station(2, "fcfs")))
    assert mean == pytest.approx(simulated, rel=0.05)


@pytest.mark.turns(4)
@pytest.mark.parametrize("servers", [1, 2, 4])
def test_a_fork_uses_several_servers_at_once(servers: int) -> None:
    """Within what such an answer promises."""
    branches = [
        service("a", time, name=f"branch{time}", scv=0.25) for time in (0.25, 1.1, 0.3, 1.9)
    ]
    mean, simulated = times(
        met(3, fork(*branches), visit("b", 0.6), a=Station(servers, "fcfs"), b=Station(1, "fcfs"))
    )
    assert mean == pytest.approx(simulated, rel=0.1)


@pytest.mark.parametrize("processors", [2, 8, 24])
@pytest.mark.parametrize("scv", [0.0, 1.0])
def test_a_branch_that_ends_before_another_waits_nevertheless(processors: int, scv: float) -> None:
    """All fetch at once, and processor i waits for the i - 1 before it, while all compute."""
    branches = fork(delay(10.0, name="compute", scv=0.0), service("bus", 0.1, scv=scv))
    model = closed_model(branches >> barrier("meet"), processors)
    answer = MeanValue(model).points({}).answer(0)
    wait = 0.1 * (processors - 1) / 2
    assert answer["time"] == pytest.approx(10)
    assert answer["wait[bus]"] == pytest.approx(wait)
    assert answer["queue_length[bus]"] == pytest.approx(processors * (wait + 0.1) / 10)


@pytest.mark.turns(4)
@pytest.mark.parametrize("servers", [1, 2, 4, 16])
def test_a_fork_that_is_repeated_uses_several_servers_at_once(servers: int) -> None:
    """Constant times are exact: two processors, each with two requests at a time, need four
    servers not to wait.
    """
    part = fork(*(service("a", 1.0, name=name) for name in ("left", "right")))
    for rounds in (1, 3):
        cycle = delay(1.0) >> repeat(rounds, part) >> barrier("meet")
        whole = closed_model(cycle, 2, resources={"a": Station(servers, "fcfs"), "meet": Barrier()})
        assert times(whole) == pytest.approx([1 + max(4 // servers, 1) * rounds] * 2, rel=1e-9)
