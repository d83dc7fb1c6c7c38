"""Models: resources that are filled in, populations, what stands in for what."""

from __future__ import annotations

import pytest
from hypothesis import given

from slipstick.expression.nodes import COUNT, RATE, Parameter
from slipstick.model.activity import Step, barrier, delay, hold, repeat, service
from slipstick.model.steps import steps
from slipstick.model.system import (
    Barrier,
    Lock,
    Model,
    Station,
    closed_model,
    is_processor,
    open_model,
    phased_model,
)
from tests.strategies import models, quick

WORK = delay(9.0, name="work")


def test_what_is_used_but_not_described_is_the_plainest_of_its_kind() -> None:
    model = closed_model(
        WORK
        >> service("bus", 1.0)
        >> hold("door", service("other", 2.0, name="ask"))
        >> barrier("meet")
    )
    assert model.resources == {"bus": Station(), "door": Lock(), "meet": Barrier()}


def test_what_is_described_stays() -> None:
    given = {"bus": Station(servers=3, discipline="ps")}
    assert closed_model(service("bus", 1.0), resources=given).resources == given


def test_numbers_become_parameters_of_the_population() -> None:
    assert closed_model(WORK, 8).population.size == Parameter("population.processors", COUNT, 8.0)
    assert open_model(WORK, 0.5).population.rate == Parameter("population.arrivals", RATE, 0.5)  # type: ignore[union-attr]


@pytest.mark.turns(4)
@quick
@given(models())
def test_steps_are_listed_once_in_the_order_written(model: Model) -> None:
    found = [node for body in model.bodies for node in steps(body) if isinstance(node, Step)]
    assert list(model.steps) == sorted(set(found), key=found.index)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("own", True),
        ("other", True),
        ("each-other", True),
        ("processor[12]", True),
        ("bus", False),
        ("proc", False),
    ],
)
def test_processors_are_told_from_resources(name: str, answer: bool) -> None:
    assert is_processor(name) == answer


def test_the_same_step_may_stand_in_several_places() -> None:
    assert closed_model(WORK >> repeat(2, WORK)).steps == (WORK,)
    assert phased_model((1, 2, WORK), (3, 4, WORK)).steps == (WORK,)
