"""What holds for every model: accounts and shares add up, bounds enclose, derivatives are
derivatives.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given

from slipstick.answer import Answer
from slipstick.expression.nodes import parameters
from slipstick.model.activity import (
    Choice,
    Repeat,
    barrier,
    delay,
    fork,
    hold,
    pipeline,
    repeat,
    serial,
    service,
)
from slipstick.model.steps import steps
from slipstick.model.system import Model, OpenPopulation, Station, closed_model, phased_model
from slipstick_mean_value.form import MeanValue
from tests.bounds import bounds
from tests.strategies import models, quick

BUSY = (0.003, 0.03, 0.3)
"""Factors of the arrival rate at which customers wait; of those that saturate a resource nothing
is asked but the words.
"""

REFUSALS = (
    (
        "where not every processor comes to it in turn; mean-value has no answer for that,"
        " simulation may"
    ),
    "needs a fixed population; mean-value has no answer for customers that arrive",
    "but an open population has none; mean-value needs a station for that",
    "the limit is 1); lower the arrivals, or shorten what is asked of it",
    "their holders may wait for each other without end; take them in one order",
    "a repeat with a barrier inside must be done at least once for mean-value, got 0",
)


def answered(model: Model) -> Answer:
    answer = MeanValue(model).points({}).answer(0)
    if answer.failed:
        assert any(words in answer.failed for words in REFUSALS), answer.failed
    assume(not answer.failed)
    time = answer["time"]
    assert time is not None
    assume(time > 0)
    return answer


@pytest.mark.turns(4)
@quick
@given(models(depth=2, arrivals=BUSY))
def test_the_account_adds_up_to_the_time_and_lost_processors_to_all(model: Model) -> None:
    answer = answered(model)
    time = answer["time"]
    assert time is not None
    for book in (answer.account, answer.technology, answer.steps):
        assert math.fsum(book.values()) == pytest.approx(time, rel=1e-9)
        assert min(book.values()) >= 0
    if not isinstance(model.population, OpenPopulation):
        useful = math.fsum(answer.account.get(name, 0.0) for name in model.useful)
        lost = [
            value.value or 0.0
            for name, value in answer.values.items()
            if name.startswith("processors_lost")
        ]
        throughput = answer["throughput"]
        assert throughput is not None
        assert math.fsum([*lost, throughput * useful]) == pytest.approx(throughput * time, rel=1e-9)


@pytest.mark.turns(4)
@quick
@given(models(depth=2, arrivals=BUSY))
def test_the_shares_of_the_time_add_up_to_one(model: Model) -> None:
    assert math.fsum(answered(model).share["time"].values()) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.turns(4)
@quick
@given(models(depth=2, arrivals=BUSY))
def test_the_time_is_within_the_bounds(model: Model) -> None:
    answer, enclosed = answered(model), bounds(model).values["time"]
    time = answer["time"]
    assert time is not None
    assert enclosed.low is not None
    assert time >= enclosed.low * (1 - 1e-9)
    if enclosed.high is not None and answer.exact:
        assert time <= enclosed.high * (1 + 1e-9)


@pytest.mark.turns(4)
@quick
@given(models(depth=2, arrivals=BUSY))
def test_nobody_is_busy_for_more_than_all_of_the_time(model: Model) -> None:
    answer = answered(model)
    used = {
        name: value.value or 0.0
        for name, value in answer.values.items()
        if name.startswith("utilization")
    }
    assert {name: use for name, use in used.items() if not -1e-9 <= use <= 1 + 1e-7} == {}


SMOOTH = closed_model(
    delay(9.0, name="think", scv=0.7)
    >> service("bus", 1.0, scv=0.3)
    >> hold("door", service("disk", 0.7, scv=1.5) >> delay(0.2, name="crit"))
    >> fork(service("bus", 0.5, name="a", scv=0.5), delay(1.1, name="b", scv=0.4))
    >> pipeline([serial(delay(0.4, name="p", scv=1.0)), serial(service("pool", 0.5, scv=0.6))], 5),
    processors=6,
    resources={"pool": Station(2), "disk": Station(1, "ps")},
)


MEETING = closed_model(
    delay(5.0, name="think", scv=1.0)
    >> service("bus", 1.2, scv=0.5)
    >> repeat(3, service("pool", 0.8, scv=0.25))
    >> fork(service("disk", 0.5, scv=1.0), delay(0.7, name="b", scv=1.0))
    >> delay(2.0, name="tail", scv=0.3)
    >> barrier("meet"),
    processors=8,
    resources={"pool": Station(3), "disk": Station(1, "ps")},
)
PHASES = phased_model(
    (1, 8, delay(3.0, name="think", scv=1.0) >> service("bus", 0.6, scv=0.5)),
    (4, 5, delay(2.0, name="more", scv=0.5) >> hold("door", delay(0.3, name="crit", scv=0.5))),
)


@pytest.mark.turns(4)
@pytest.mark.parametrize("model", [SMOOTH, MEETING, PHASES], ids=["cycle", "barrier", "phases"])
def test_the_gradient_is_the_limit_of_small_differences(model: Model) -> None:
    form = MeanValue(model)
    gradient = form.points({}).answer(0).gradient["time"]
    assert set(gradient) == set(form.parameters) - {"population.processors"}
    for name, slope in gradient.items():
        value = form.tape.parameters[name].value
        assert value
        up, down = form.times({name: value * np.array([1 + 1e-6, 1 - 1e-6])})
        assert slope == pytest.approx((up - down) / (2e-6 * value), rel=1e-4, abs=1e-7), name


def _jump(model: Model) -> float:
    """Return the largest relative change of the time when one parameter changes by a billionth.

    A count that is not whole is random, and its deviation grows with the root of what it is away
    from a whole number.
    """
    form = MeanValue(model)
    nodes = (node for body in model.bodies for node in steps(body))
    counts = {
        each.name
        for each in parameters(*(node.count for node in nodes if isinstance(node, Repeat)))
    }
    names = [each for each in form.smooth_parameters if each not in counts]
    moved = 1 + 1e-9 * np.eye(len(names), len(names) + 1, 1)  # the first point is the model itself
    times = form.times(
        {
            name: (form.tape.parameters[name].value or 0.0) * row
            for name, row in zip(names, moved, strict=True)
        }
    )
    return float(np.abs(times / times[0] - 1).max())


TIED = closed_model(
    delay(2.3, name="think")
    >> repeat(
        3,
        fork(
            hold("lock", service("disk", 0.7, name="a", scv=0.25)),
            fork(
                service("disk", 0.8, name="b", scv=0.25), service("disk", 0.5, name="c", scv=0.25)
            ),
        ),
    ),
    processors=8,
)
"""A lock and the station used under it are equally busy, up to rounding."""


@pytest.mark.turns(4)
@quick
@given(models(depth=2, arrivals=BUSY))
@example(TIED)
def test_the_time_has_no_jumps(model: Model) -> None:
    assume(
        not any(isinstance(node, Choice) for body in model.bodies for node in steps(body))
    )  # p alone adds to no 1
    answered(model)
    assert _jump(model) < 1e-7


@pytest.mark.turns(4)
def test_one_point_and_the_same_point_in_a_sweep() -> None:
    form = MeanValue(SMOOTH)
    sweep = {
        "population.processors": np.array([1.0, 4.0, 4.0, 9.0]),
        "bus": np.array([1.0, 1.0, 2.0, 0.5]),
    }
    swept = form.points(sweep)
    for index in range(4):
        alone = form.points({name: float(column[index]) for name, column in sweep.items()}).answer(
            0
        )
        there = swept.answer(index)
        assert {name: value.value for name, value in there.values.items()} == pytest.approx(
            {name: value.value for name, value in alone.values.items()}, rel=1e-9, abs=1e-12
        )
        assert dict(there.share["time"]) == pytest.approx(
            dict(alone.share["time"]), rel=1e-6, abs=1e-9
        )
    assert swept.columns()["time"].tolist() == pytest.approx(form.times(sweep).tolist())


@pytest.mark.turns(4)
def test_the_whole_curve_over_n_is_one_recursion() -> None:
    form = MeanValue(SMOOTH)
    curve = form.times({"population.processors": np.arange(1.0, 13.0)})
    assert curve[[0, 5, 11]].tolist() == pytest.approx(
        [float(form.times({"population.processors": n})[0]) for n in (1.0, 6.0, 12.0)], rel=1e-12
    )
    assert np.all(np.diff(curve) > 0)
