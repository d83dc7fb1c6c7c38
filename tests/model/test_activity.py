"""Activities are plain frozen data: operators and their twins, labels, order, words."""

from __future__ import annotations

import pytest
from hypothesis import given

from slipstick.expression.nodes import COUNT, TIME, Number, Parameter
from slipstick.model.activity import (
    Choice,
    Pipeline,
    Step,
    Then,
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.steps import Activity, steps
from tests.strategies import activities, quick

A, B, C = (delay(seconds, name=name) for seconds, name in ((1.0, "a"), (2.0, "b"), (3.0, "c")))
SCOPE = {
    each.__name__: each
    for each in (
        barrier,
        choose,
        delay,
        fork,
        hold,
        parallel,
        pipeline,
        repeat,
        serial,
        service,
        then,
    )
}


@quick
@given(activities(1), activities(1), activities(1))
def test_then_is_its_operator_and_associates(a: Activity, b: Activity, c: Activity) -> None:
    assert a >> b == then(a, b)
    assert (a >> b) >> c == a >> (b >> c) == then(a, b, c)


@quick
@given(activities())
def test_activities_are_values(activity: Activity) -> None:
    """Equal trees hash alike, and every part is reached, the outer first."""
    assert len({activity, activity}) == 1
    found = list(steps(activity))
    assert found[0] is activity
    assert all(
        any(child is node for node in found) for parent in found for child in parent.children
    )


@pytest.mark.parametrize(
    "activity",
    [
        A,
        A >> B,
        service("bus", 1.0),
        service("bus", 1.0, name="load", component="memory", technology="memory", scv=1.0),
        fork(A, B >> C),
        choose((0.25, A), (0.75, then())),
        repeat(3, A >> B),
        hold("door", A),
        barrier("meet"),
        barrier("meet", parties=3),
        pipeline([serial(A), parallel(B)], 7, name="line"),
        pipeline([serial(A, B, name="uneven"), parallel(C)], 2),
    ],
    ids=repr,
)
def test_the_repr_is_the_expression(activity: Activity) -> None:
    assert eval(repr(activity), SCOPE) == activity


def test_a_number_becomes_a_parameter_named_after_the_step() -> None:
    assert A.time == Parameter("a", TIME, 1.0)
    assert service("bus", 2.0).time == Parameter("bus", TIME, 2.0)
    assert service("processor[3]", 2.0).time == Parameter("processor.3", TIME, 2.0)


def test_an_expression_is_taken_as_it_is() -> None:
    size = Parameter("n", COUNT, 2.0)
    assert delay(A.time * size, name="x").time == A.time * size
    assert repeat(size, A).count is size


def test_one_of_one_is_itself() -> None:
    assert then(A) is A
    assert fork(A) is A
    assert then() == Then(())


def test_a_bare_activity_is_a_serial_stage_named_after_its_first_step() -> None:
    made = pipeline([A >> B, parallel(C)], 3)
    assert made == Pipeline(
        (serial(A >> B, name="a"), parallel(C, name="c")), Number(3.0), "pipeline"
    )
    assert made.identical
    assert not pipeline([serial(A, B, name="each")], 2).identical


def test_probabilities_may_be_parameters() -> None:
    p = Parameter("p", COUNT, 0.3)
    made = choose((p, A), (1 - p, B))
    assert isinstance(made, Choice)
    assert made.options[0] == (p, A)


def test_labels_have_defaults() -> None:
    assert (A.component, A.technology, A.scv, A.resource) == ("busy", "application", 0.0, None)
    assert isinstance(service("bus", 1.0), Step)
