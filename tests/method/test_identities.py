"""Every answer is held against what must be true, and one that breaks an identity is not shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick.answer import Answer, Value
from slipstick.expression.nodes import TIME, Number
from slipstick.expression.tape import Values
from slipstick.method.answers import CompiledModel, Solution
from slipstick.method.identities import Identities
from slipstick.method.ladder import LadderForm, Method
from slipstick.method.methods import compute_answers, form_of
from slipstick.model.activity import delay, hold, service
from slipstick.model.network import (
    CustomerClass,
    QueueingNetwork,
    closed_class,
    network,
    open_class,
    station,
)
from slipstick.model.system import Lock, Model, Station, closed_model, phased_model
from slipstick.sim.settings import Simulation
from slipstick_questions.agreement import agreement
from tests.sim_strategies import busy_models, open_models

PROGRAM = phased_model(
    (3, 4, service("bus", 1.0, scv=1.0)),
    (1, 2, hold("door", service("bus", 0.5, name="inside", scv=1.0))),
    resources={"door": Lock("fifo")},
)
SHORT = Simulation(seed=3, events=100_000)
ACTIVITY = closed_model(delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0), 4)
NETWORK = network(
    {"jobs": closed_class(3, think_time=2.0), "mail": open_class(0.2)},
    {
        "cpu": station(demand={"jobs": 1.0, "mail": 0.5}, discipline="ps"),
        "disk": station(demand={"jobs": 0.5, "mail": 1.0}, discipline="ps", servers=2),
    },
)


def solved(model: Model | QueueingNetwork, method: str) -> tuple[CompiledModel, Solution]:
    form = form_of(model, {}, method, SHORT)
    return form, form.solution({})


def changed(solution: Solution, name: str, factor: float) -> Solution:
    """Multiply a value and its interval."""
    columns: dict[str, Any] = {
        table: {**getattr(solution, table), name: getattr(solution, table)[name] * factor}
        for table in ("values", "low", "high")
        if name in getattr(solution, table)
    }
    return replace(solution, **columns)


CHANGES = [
    (NETWORK, "exact", "response_time[jobs]", 1.00001, "throughput[jobs] x (response_time[jobs]"),
    (NETWORK, "exact", "queue_length[mail,disk]", 1.1, "but queue_length[mail,disk] is"),
    (NETWORK, "exact", "residence_time[jobs,cpu]", 0.9, "but queue_length[jobs,cpu] is"),
    (NETWORK, "exact", "utilization[cpu]", 9.0, "throughput x demand over servers of cpu is"),
    (NETWORK, "simulation", "response_time[jobs]", 2.0, "the number of its customers is 3"),
    (NETWORK, "simulation", "queue_length[jobs,cpu]", 2.0, "but queue_length[jobs,cpu] is"),
    (NETWORK, "simulation", "throughput[mail]", 9.0, "throughput[mail] x residence"),
    (ACTIVITY, "mean-value", "time", 1.001, "the number of its processors is 4"),
    (ACTIVITY, "markov-chain", "throughput", 0.99, "the number of its processors is 4"),
    (ACTIVITY, "simulation", "time", 1.5, "the number of its processors is 4"),
    (ACTIVITY, "mean-value", "queue_length[bus]", -1.0, "queue_length[bus] is -"),
    (ACTIVITY, "mean-value", "utilization[bus]", 0.9, "throughput x demand at bus is"),
    (ACTIVITY, "markov-chain", "wait[bus]", 1.01, "throughput x visits x wait at bus is"),
    (ACTIVITY, "mean-value", "queue_length[bus]", 1.01, "wait there"),
    (PROGRAM, "markov-chain", "wait[bus]", 1.01, "throughput x visits x wait at bus is"),
    (PROGRAM, "markov-chain", "utilization[bus]", 0.99, "throughput x demand at bus is"),
    (PROGRAM, "markov-chain", "wait[door]", 1.01, "throughput x visits x wait at door is"),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("model", "method", "name", "factor", "words"), CHANGES)
def test_a_solution_that_breaks_an_identity_is_caught(
    model: Model | QueueingNetwork, method: str, name: str, factor: float, words: str
) -> None:
    _, solution = solved(model, method)
    identities = Identities(model)
    assert identities.without_contradictions(solution, {}) is solution
    broken = identities.contradictions(changed(solution, name, factor), {})
    assert words in broken[0]


def test_a_value_outside_of_its_interval_is_caught() -> None:
    _, solution = solved(ACTIVITY, "simulation")
    values = {**solution.values, "time": solution.high["time"] * 1.5}
    broken = Identities(ACTIVITY).contradictions(replace(solution, values=values), {})
    assert "but its upper end" in broken[0]


class Wrong(CompiledModel):
    """A method whose throughput is wrong at 3 processors."""

    parameters = ("population.processors",)

    def solution(self, values: Values) -> Solution:
        sizes = np.asarray(values.get("population.processors", np.array([3.0])), dtype=float)
        rate = np.where(sizes == 3.0, 2.0, sizes / 10.0)
        return Solution(
            model="wrong",
            method="wrong",
            count=len(sizes),
            exact=np.ones(len(sizes), dtype=bool),
            values={"time": np.full(len(sizes), 10.0), "throughput": rate},
        )


SIZES = {"population.processors": np.array([2.0, 3.0])}


def test_where_a_method_contradicts_itself_the_next_answers() -> None:
    wrong = Method("wrong", "activity", lambda *_: Wrong(), 1.0)
    right = Method("right", "activity", lambda *_: form_of(ACTIVITY, {}, "mean-value"), 2.0)
    form = LadderForm(ACTIVITY, {}, SHORT, True, (wrong, right))
    form.identities = Identities(ACTIVITY).without_contradictions
    points = form.points(SIZES)
    assert points.provenance().methods == ["wrong", "mean-value"]
    assert "throughput x time is 20, but the number of its processors is 3" in str(
        points.answer(1).notes
    )


def test_a_named_method_that_contradicts_itself_has_no_answer() -> None:
    form = Wrong()
    form.identities = Identities(ACTIVITY).without_contradictions
    points = form.points(SIZES)
    assert points.answer(0).values["time"].value == 10.0
    answer = points.answer(1)
    assert answer.failed is not None
    assert "please report" in answer.failed
    assert not answer.values
    assert np.isnan(points.columns()["throughput"][1])


@pytest.mark.turns(4)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(model=st.one_of(busy_models(), busy_models(random=False), open_models()))
def test_answers_of_random_activities_keep_the_identities(model: Model) -> None:
    for method in (None, "mean-value", "simulation"):
        for answer in compute_answers(model, {}, method, SHORT):
            assert "contradicts itself" not in str((answer.failed, answer.notes))


@st.composite
def networks(draw: st.DrawFn) -> QueueingNetwork:
    """Draw networks of one or two classes at one to three stations."""
    demands = st.floats(0.1, 2.0)
    population, think_time = draw(st.integers(1, 6)), draw(st.floats(0.0, 5.0))
    classes: dict[str, CustomerClass] = {"jobs": closed_class(population, think_time)}
    if draw(st.booleans()):
        classes["mail"] = open_class(draw(st.floats(0.01, 0.2)))
    kinds = st.sampled_from(["ps", "fcfs", "is", "lcfs-pr"])
    stations = {
        f"s{index}": station(
            discipline=(kind := draw(kinds)),
            demand={name: draw(demands) for name in classes},
            servers=1 if kind == "is" else draw(st.integers(1, 3)),
        )
        for index in range(draw(st.integers(1, 3)))
    }
    return network(classes, stations)


@pytest.mark.turns(4)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(model=networks())
def test_answers_of_random_networks_keep_the_identities(model: QueueingNetwork) -> None:
    for method in (None, "schweitzer", "linearizer", "simulation"):
        for answer in compute_answers(model, {}, method, SHORT):
            assert "contradicts itself" not in str((answer.failed, answer.notes))


def test_two_exact_answers_that_differ_are_reported_and_not_shown() -> None:
    answers = [
        Answer("m", method, {"time": Value(time, "s")}, exact=True)
        for method, time in (("closed-form", 2.5), ("markov-chain", 3.0))
    ]
    together = agreement("m", answers)
    assert together.failed.keys() == {"closed-form", "markov-chain"}
    assert "2.5 s by closed-form and 3 s by markov-chain" in together.failed["closed-form"]
    assert not together.rows
    assert together.findings


@pytest.mark.parametrize("kind", ["tas", "mcs"])
def test_what_waits_for_a_lock_may_access_its_word_beyond_what_one_pass_asks(kind: str) -> None:
    body = delay(9.0, name="think", scv=1.0) >> hold("lock", service("bus", 0.5, scv=1.0))
    lock = Lock(kind, word="bus", access=Number(0.1, TIME))
    model = closed_model(body, 6, resources={"lock": lock, "bus": Station()})
    (answer,) = compute_answers(model, {}, "mean-value")
    assert answer.failed is None
    once = compute_answers(
        closed_model(body, 6, resources={"lock": Lock("fifo")}), {}, "mean-value"
    )[0]
    busy, without = (each["utilization[bus]"] for each in (answer, once))
    assert busy is not None
    assert without is not None
    assert busy > without
