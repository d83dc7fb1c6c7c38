"""What a model cannot take is refused, not passed over."""

from __future__ import annotations

import pytest

from slipstick.errors import SpecError, UnknownNameError
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.study.catalogue import catalogue_entry
from tests.specs import settings


@pytest.mark.parametrize(
    ("model", "what", "path"),
    [
        ("lock-and-bus", "an activity", "workload"),
        ("law/flow-line", "a law", "workload"),
        ("law/flow-line", "a law", "machine"),
    ],
)
def test_an_activity_takes_no_workload_and_a_law_no_machine_either(
    model: str, what: str, path: str
) -> None:
    with pytest.raises(SpecError) as caught:
        solve_settings(settings(model=model, **{path: "nosuch"}), Library())
    (problem,) = caught.value.problems
    assert problem.path == path
    assert (
        problem.message == f"{what} runs on no {path}; leave it out, or name a program to run on it"
    )


def test_a_key_at_the_wrong_place_is_shown_the_right_one() -> None:
    with pytest.raises(SpecError) as caught:
        solve_settings(settings(model="lock-and-bus", critical="2 ms"), Library())
    (problem,) = caught.value.problems
    assert problem.message == "unknown key; did you mean 'parameters.critical'?"


def test_a_kind_alone_is_not_enough_to_show() -> None:
    with pytest.raises(UnknownNameError) as caught:
        catalogue_entry("activity")
    assert (
        str(caught.value)
        == "there is no entry of that name; write KIND/NAME: 'activity'; did you mean"
        " 'activity/tour'?"
    )


def test_saturation_is_said_with_its_size() -> None:
    given = settings(
        model="lock-and-bus", **{"population.processors": "32", "method": "closed-form"}
    )
    (answer,), _ = solve_settings(given, Library())
    assert answer.bound == "time is below its lower bound 32 ms"


def test_a_key_of_the_machine_that_nothing_depends_on_is_noted() -> None:
    given = {"model": "grain/unit", "machine": "bbn-gp1000", "machine.interconnect.retry": "100 us"}
    (answer,), _ = solve_settings(settings(**given, **{"machine.memory.access": "2 us"}), Library())
    told = [each for each in answer.notes if "no effect" in each]
    assert told == ["machine.interconnect.retry has no effect on this model"]
