"""Contention against chains solved here, waves against exact recursions, and order statistics."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Parameter
from slipstick.method.mean_value import MeanValue
from slipstick.method.mean_value.barriers import PassingTimes
from slipstick.method.mean_value.maxima import RandomTime
from slipstick.model.activity import Activity, barrier, delay, fork, hold, parallel, pipeline, repeat, serial, service
from slipstick.model.resources import Barrier, Lock, Resource, Station
from slipstick.model.system import closed_model

ONE = np.ones(1)


def time_of(cycle: Activity, processors: int, **resources: Resource) -> float:
    answer = MeanValue(closed_model(cycle, processors, resources=resources)).points({}).answer(0)
    time = answer["time"]
    assert time is not None
    return time


def lock_chain(n: int, think: float, inside: float, outside: float) -> float:
    """Solve: think, hold a lock while at a shared server, then go to that server again. All exponential.

    A state is (waiting for the lock, lock held, outside the lock at the server).
    """
    states = [(w, h, o) for h in (0, 1) for w in range(n) for o in range(n + 1) if w + h + o <= n and (h or not w)]
    place = {state: index for index, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for (w, h, o), index in place.items():
        moves = []
        thinking = n - w - h - o
        if thinking:
            moves.append(((w + 1, 1, o) if h else (0, 1, o), thinking / think))
        if h:
            done = (w - 1, 1, o + 1) if w else (0, 0, o + 1)
            moves.append((done, 1 / inside / (h + o)))
        if o:
            moves.append(((w, h, o - 1), o / outside / (h + o)))
        for state, rate in moves:
            rates[index, place[state]] += rate
    balance = rates.T - np.diag(rates.sum(axis=1))
    balance[-1] = 1
    chances = np.linalg.solve(balance, np.eye(len(states))[-1])
    thinking = sum(chance * (n - sum(state)) for state, chance in zip(states, chances, strict=True))
    return float(n * think / thinking)


@pytest.mark.parametrize("processors", [2, 4, 8])
@pytest.mark.parametrize("think", [1.0, 6.0, 20.0])
def test_a_lock_whose_holder_shares_a_server_with_those_outside(processors: int, think: float) -> None:
    inside, outside = 0.7, 0.9
    cycle = (
        delay(think, name="think", scv=1.0)
        >> hold("door", service("bus", inside, name="in", scv=1.0))
        >> service("bus", outside, name="out", scv=1.0)
    )
    found = time_of(cycle, processors, bus=Station(1, "ps"), door=Lock())
    assert found == pytest.approx(lock_chain(processors, think, inside, outside), rel=0.05)


def test_who_waits_for_one_lock_is_not_in_the_way_of_its_holder() -> None:
    cycle = hold("door", service("bus", 2.0))
    answer = MeanValue(closed_model(cycle, 5)).points({}).answer(0)
    assert answer["time"] == pytest.approx(10.0)
    assert answer["wait[bus]"] == 0.0
    assert answer["wait[door]"] == pytest.approx(8.0)
    assert answer.account == pytest.approx({"busy": 2.0, "lock:door": 8.0})


@pytest.mark.parametrize("processors", [2, 4, 8, 16])
@pytest.mark.parametrize("scv", [0.25, 0.0])
def test_a_saturated_server_works_all_the_time(processors: int, scv: float) -> None:
    cycle = delay(0.1 * processors, name="think", scv=1.0) >> service("bus", 1.0, scv=scv)
    assert time_of(cycle, processors) == pytest.approx(processors, rel=0.02)


def test_two_critical_sections_of_one_lock_take_turns() -> None:
    cycle = hold("door", delay(3.0, name="long")) >> hold("door", delay(1.0, name="short"))
    assert [time_of(cycle, n) for n in (1, 2, 5)] == pytest.approx([4.0, 8.0, 20.0])


@cache
def exact_wave(thinking: int, present: int, think: float, work: float) -> float:
    """Give the mean time until all have been served once, all exponential: first steps."""
    if thinking == present == 0:
        return 0.0
    leave, done = thinking / think, (1 / work if present else 0.0)
    later = 0.0
    if thinking:
        later += leave * exact_wave(thinking - 1, present + 1, think, work)
    if present:
        later += done * exact_wave(thinking, present - 1, think, work)
    return (1 + later) / (leave + done)


@pytest.mark.parametrize("processors", [2, 8, 32])
@pytest.mark.parametrize("think", [0.5, 3.0, 10.0, 40.0])
def test_after_a_barrier_all_start_at_once(processors: int, think: float) -> None:
    cycle = delay(think, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0) >> barrier("meet")
    assert time_of(cycle, processors) == pytest.approx(exact_wave(processors, 0, think, 1.0), rel=0.012)


def test_a_constant_burst_is_the_path_before_the_demand_of_all_and_the_path_after() -> None:
    cycle = delay(9.0, name="before") >> service("bus", 1.0) >> delay(2.0, name="after") >> barrier("meet")
    assert time_of(cycle, 10) == pytest.approx(9 + 10 * 1 + 2)
    rounds = delay(9.0, name="before") >> repeat(3, service("bus", 1.0)) >> barrier("meet")
    assert time_of(rounds, 10) == pytest.approx(9 + 10 * 3)
    pool = delay(9.0, name="before") >> service("pool", 1.0) >> barrier("meet")
    assert time_of(pool, 10, pool=Station(4)) == pytest.approx(9 + 3)


def test_order_statistics_of_a_wave() -> None:
    """Five gamma variates, against the integral of i C(n, i) x F^(i-1) (1-F)^(n-i) f."""
    wave = PassingTimes.together(5).delayed(RandomTime(2.0 * ONE, 1.0 * ONE))
    gamma = stats.gamma(4, scale=0.5)
    u = (np.arange(200_000) + 0.5) / 200_000
    expected = [float(np.mean(gamma.ppf(u) * stats.beta.pdf(u, k, 6 - k))) for k in range(1, 6)]
    assert wave.times[0].tolist() == pytest.approx(expected, rel=6e-3)


def test_who_comes_far_behind_waits_for_nobody() -> None:
    spread = PassingTimes(np.array([[0.0, 10.0, 20.0]]), np.zeros((1, 3)))
    through, wait = spread.served(RandomTime(ONE, 0 * ONE, "constant"), 1, ONE)
    assert through.times.tolist() == [[1.0, 11.0, 21.0]]
    assert wait.tolist() == [0.0]


def test_a_barrier_costs_what_it_says_and_the_last_section_goes_on_in_the_next_cycle() -> None:
    meet = Barrier("central", Parameter("meet.cost", TIME, 0.25))
    cycle = delay(1.0, name="a") >> barrier("meet") >> delay(2.0, name="b")
    answer = MeanValue(closed_model(cycle, 4, resources={"meet": meet})).points({}).answer(0)
    assert answer["time"] == pytest.approx(3.25)
    assert answer.account == pytest.approx({"busy": 3.0, "barrier": 0.25})
    twice = repeat(3, delay(1.0, name="a", scv=1.0) >> barrier("meet"))
    assert time_of(twice, 4, meet=Barrier()) == pytest.approx(3 * 25 / 12)


def test_a_meeting_of_some_is_one_of_a_steady_stream() -> None:
    cycle = delay(1.0, name="a", scv=1.0) >> barrier("pair", parties=2)
    answer = MeanValue(closed_model(cycle, 6)).points({}).answer(0)
    # One of two waits for the other, for the mean time between arrivals T / 6: T = 1 + T / 12.
    assert answer["time"] == pytest.approx(12 / 11)
    assert "barriers pair: arrivals of the parties are a steady stream" in answer.notes


def test_more_branches_than_servers_and_fewer() -> None:
    branches = [service("pool", 1.0, name=f"ask{k}") for k in range(4)]
    assert time_of(fork(*branches), 1, pool=Station(2)) == pytest.approx(2.0)
    assert time_of(fork(*branches), 1, pool=Station(8)) == pytest.approx(1.0)


def test_processors_as_resources() -> None:
    """Each asks another at random; handlers are in the way of own work and of each other, and nobody of himself."""
    cycle = service("own", 4.0, name="work", scv=1.0) >> service("other", 1.0, name="ask", scv=1.0)
    form = MeanValue(closed_model(cycle, 8))
    answer = form.points({}).answer(0)
    assert answer["utilization[own]"] == pytest.approx(5 / (answer["time"] or 1.0))
    assert set(answer.account) == {"busy", "wait:own", "wait:other"}
    assert answer.account["wait:other"] > answer.account["wait:own"] > 0
    assert form.times({"population.processors": 1.0})[0] == pytest.approx(5.0)


def test_one_alone_asks_processors_outside() -> None:
    # Its own processor is not busy with what others do for it.
    assert time_of(service("own", 1.0, name="a") >> service("other", 5.0, name="b"), 1) == pytest.approx(6.0)
    stages = [serial(service("own", 1.0, name="send")), parallel(service("each-other", 3.0, name="serve"))]
    assert time_of(pipeline(stages, 5), 1) == pytest.approx(8.0)


def test_branches_that_come_back_to_one_station_wait_for_its_last_services() -> None:
    # Both ask by turns at 0 and 1, come back at 5, and one waits for the other's 3.
    def branch(name: str) -> Activity:
        there, back = (service("bus", time, name=f"{name}{time:g}") for time in (1.0, 3.0))
        return there >> delay(4.0, name=f"{name}.away") >> back

    assert time_of(fork(branch("a"), branch("b")), 1) == pytest.approx(11.0)
