"""Hedged requests: by integrals of exponential times, by a recursion over the requests at two
queues that shares no code with the simulator, and at the values at which they change nothing.
"""

from __future__ import annotations

from math import exp
from pathlib import Path

import numpy as np
import pytest

from slipstick import Answer, Simulation, dump, load, solve
from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import Array
from slipstick.method.simulation.flatten import flatten
from slipstick.model.activity import (
    choose,
    delay,
    fork,
    hedge,
    hold,
    if_late,
    pick,
    pipeline,
    reply,
    send,
    service,
)
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Permits, Resource, Station, closed_model, open_model
from tests.sim.test_same import check_same

SETTINGS = Simulation(seed=23, events=400_000, precision=1e-9)
THINK = delay(2.0, name="think", scv=1.0, think=True)
TO_LEFT, TO_RIGHT = (service(name, 1.0, scv=1.0) for name in ("left", "right"))


def pair(servers: str) -> dict[str, Resource]:
    return {name: Station(1, servers) for name in ("left", "right")}


def simulated(model: Model) -> Answer:
    return solve(model, method="simulation", simulation=SETTINGS)


def assert_near(answer: Answer, name: str, truth: float) -> None:
    value = answer.values[name]
    assert value.value is not None
    assert value.high is not None
    assert abs(value.value - truth) <= 4 * (value.high - value.value) + 1e-9, name


@pytest.mark.turns(4)
@pytest.mark.parametrize("late", [0.3, 1.0, 2.5])
def test_exponential_requests_without_queues_have_the_integrals(late: float) -> None:
    answer = simulated(
        closed_model(THINK >> hedge(TO_LEFT, late, TO_RIGHT), 1, resources=pair("is"))
    )
    # The time is min(X, late + Y): a rate of 1 up to the second request and of 2 after it.
    response = 1 - exp(-late) + exp(-late) / 2
    assert_near(answer, "response_time", response)
    assert_near(answer, "queue_length[right]", exp(-late) / (2 + response))
    # The first request always goes on to its end.
    assert_near(answer, "queue_length[left]", 1 / (2 + response))


def responses_at_a_queue(arrivals: Array, services: Array) -> Array:
    """Return the response times of requests at one server, by Lindley's recursion."""
    responses = np.empty(len(arrivals))
    free_at = 0.0
    for index, (arrival, served) in enumerate(zip(arrivals, services, strict=True)):
        free_at = max(free_at, arrival) + served
        responses[index] = free_at - arrival
    return responses


@pytest.mark.turns(4)
def test_requests_at_two_queues_follow_a_recursion() -> None:
    late, rate, requests = 2.0, 0.7, 200_000
    model = open_model(hedge(TO_LEFT, late, TO_RIGHT), rate, resources=pair("fcfs"))
    answer = simulated(model)
    random = np.random.default_rng(7)
    arrivals = np.cumsum(random.exponential(1 / rate, requests))
    first = responses_at_a_queue(arrivals, random.exponential(1.0, requests))
    is_late = first > late
    second = responses_at_a_queue(arrivals[is_late] + late, random.exponential(1.0, is_late.sum()))
    times = first.copy()
    times[is_late] = np.minimum(first[is_late], late + second)
    # The two simulations may each be 2 % off.
    assert answer["time"] == pytest.approx(times.mean(), rel=0.04)
    assert answer["utilization[right]"] == pytest.approx(rate * is_late.mean(), rel=0.04)
    assert answer["time_quantile[0.95]"] == pytest.approx(np.quantile(times, 0.95), rel=0.05)


@pytest.mark.turns(4)
def test_a_hedge_that_is_never_late_is_the_request_alone() -> None:
    hedged = simulated(
        closed_model(THINK >> hedge(TO_LEFT, 50.0, TO_RIGHT), 2, resources=pair("fcfs"))
    )
    alone = solve(closed_model(THINK >> TO_LEFT, 2, resources=pair("fcfs")))
    assert alone.exact
    assert alone["time"] is not None
    assert_near(hedged, "time", alone["time"])
    assert hedged["utilization[right]"] == 0


@pytest.mark.turns(4)
def test_a_hedge_that_is_late_at_once_is_a_fork() -> None:
    hedged = simulated(
        closed_model(THINK >> hedge(TO_LEFT, 0.0, TO_RIGHT), 2, resources=pair("fcfs"))
    )
    forked = simulated(
        closed_model(THINK >> fork(TO_LEFT, TO_RIGHT, join=1), 2, resources=pair("fcfs"))
    )
    assert hedged["time"] == pytest.approx(forked["time"], rel=0.02)
    assert hedged["utilization[right]"] == pytest.approx(forked["utilization[right]"], rel=0.02)


def test_steps_are_left_out_once_enough_branches_have_ended() -> None:
    """Of branches of 1, 2 and 3 s two are waited for: what begins at 2.5 s is left out, and what
    begins at 1.5 s is executed.
    """
    long = service("left", 3.0)
    extra = [delay(start, name=f"until{start}") >> if_late(long) for start in (1.5, 2.5)]
    branches = [delay(float(length), name=f"branch{length}") for length in (1, 2, 3)]
    model = closed_model(delay(10.0) >> fork(*branches, *extra, join=2), 1, resources=pair("is"))
    answer = simulated(model)
    assert answer["time"] == pytest.approx(12.0, abs=1e-6)
    assert answer["queue_length[left]"] == pytest.approx(3 / 12, rel=0.02)


@pytest.mark.turns(4)
def test_both_kernels_hedge_alike() -> None:
    again = hedge(TO_RIGHT, 0.4, name="later")
    inner = choose((0.5, if_late(hold("slots", TO_RIGHT))), (0.5, again))
    body = fork(TO_LEFT, delay(0.5, name="late", scv=1.0) >> inner, TO_RIGHT, join=2)
    resources: dict[str, Resource] = {**pair("fcfs"), "slots": Permits(1)}
    check_same(flatten(closed_model(THINK >> body, 4, resources=resources)).plan)


@pytest.mark.parametrize(
    "body",
    [
        if_late(TO_LEFT),
        send(if_late(TO_RIGHT)),
        fork(TO_LEFT, if_late(TO_RIGHT)),
        fork(TO_LEFT, pipeline([if_late(TO_RIGHT)], 2), join=1),
        fork(TO_LEFT, hold("slots", TO_RIGHT, after=if_late(TO_RIGHT)), join=1),
        fork(TO_LEFT, hold("slots", reply("slots") >> if_late(TO_RIGHT)), join=1),
    ],
)
def test_late_steps_need_a_fork_that_stops_waiting(body: Activity) -> None:
    with pytest.raises(ModelError, match="if_late stands in a branch of a fork with a join"):
        closed_model(THINK >> body, 1, resources={**pair("fcfs"), "slots": Permits(1)})


@pytest.mark.parametrize("method", ["bounds", "mean-value", "markov-chain", "closed-form"])
def test_other_methods_refuse_hedges_by_name(method: str) -> None:
    model = closed_model(THINK >> hedge(TO_LEFT, 1.0, TO_RIGHT), 1, resources=pair("is"))
    with pytest.raises(NoAnswerError, match="backup requests"):
        solve(model, method=method)


def test_a_file_has_the_second_request_of_its_own_or_the_same(tmp_path: Path) -> None:
    text = """
activity: 1
population: {processors: 2}
resources: {left: {}, right: {}}
cycle:
- {delay: 2 s}
- hedge: [{service: left, time: 1 s, scv: 1}]
  late: 1500 ms
"""
    (tmp_path / "same.yaml").write_text(text)
    (tmp_path / "own.yaml").write_text(text + "  second: [{service: right, time: 1 s, scv: 1}]\n")
    same, own = (read_model(tmp_path / name) for name in ("same.yaml", "own.yaml"))
    (first, late), (_, own_late) = (each.bodies[0].children[1].children for each in (same, own))
    assert late.children[1] == if_late(first)
    assert own_late.children[1].children[0].uses == ("right",)
    written = tmp_path / "again.yaml"
    written.write_text(dump(own))
    settings = Simulation(seed=3, events=20_000)
    assert solve(written, simulation=settings).values == solve(own, simulation=settings).values


def read_model(path: Path) -> Model:
    model = load(str(path))
    assert isinstance(model, Model)
    return model


def test_reads_of_two_replicas_in_turn_are_hedged_at_the_other_one() -> None:
    """A pick begins at the first station of the first request; both replicas have equal loads."""
    late, rate = 4.0, 0.8
    ways = [hedge(TO_LEFT, late, TO_RIGHT, "left-late"), hedge(TO_RIGHT, late, TO_LEFT, "late")]
    answer = simulated(open_model(pick(*ways, by="in-turn"), rate, resources=pair("fcfs")))
    assert answer["utilization[left]"] == pytest.approx(answer["utilization[right]"], rel=0.02)
    # First requests take half of each server, the second ones the rest.
    assert answer["utilization[left]"] == pytest.approx(0.45, abs=0.04)
