"""Activities are plain frozen data: operators and their twins, labels, order, words."""

from __future__ import annotations

import math
from contextlib import nullcontext

import pytest
from hypothesis import given

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, TIME, Expr, Number, Parameter
from slipstick.model.activity import (
    MOST_ROUNDS,
    Choice,
    Pipeline,
    Repeat,
    Step,
    Then,
    attempt,
    barrier,
    check_model_name,
    check_name,
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
from slipstick.model.steps import BY_STATE, Activity, steps
from slipstick.vocabulary import MOST_HOLDERS
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


@pytest.mark.turns(4)
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
    repeated = repeat(size, A)
    assert isinstance(repeated, Repeat)
    assert repeated.count is size


def _rounds(activity: Activity) -> dict[int, float]:
    """Return the probability of each number of executions of the only step of an activity."""
    match activity:
        case Then(parts):
            counts = {0: 1.0}
            for of_part in map(_rounds, parts):
                pairs = [(n, m) for n in counts for m in of_part if n + m < 400]
                together: dict[int, float] = {}
                for n, m in pairs:
                    together[n + m] = together.get(n + m, 0.0) + counts[n] * of_part[m]
                counts = together
            return counts
        case Choice(options):
            inner = [(_known(chance), _rounds(body)) for chance, body in options]
            return {n: sum(p * of_body.get(n, 0.0) for p, of_body in inner) for n in range(400)}
        case Repeat(count, _, spread):
            mean = _known(count)
            if spread == "geometric":
                return {n: (mean / (1 + mean)) ** n / (1 + mean) for n in range(400)}
            return {math.floor(mean): 1 - mean % 1, math.floor(mean) + 1: mean % 1}
    return {1: 1.0}


def _known(expr: Expr) -> float:
    assert isinstance(expr, Number)
    return expr.value


@pytest.mark.parametrize(
    ("mean", "scv"),
    # Constant, even, whole and geometric, geometric, and with none at all; below and above 1.
    [(3, 0), (2.5, 0.04), (2.5, 0.05), (3, 0.2), (3, 4 / 3), (3, 3), (0.5, 1), (0.5, 4), (10, 0.3)],
)
def test_rounds_have_the_mean_and_the_scv_that_are_asked_for(mean: float, scv: float) -> None:
    chances = _rounds(repeat(float(mean), A, scv=float(scv)))
    first, second = (sum(n**k * p for n, p in chances.items()) for k in (1, 2))
    assert sum(chances.values()) == pytest.approx(1)
    assert first == pytest.approx(mean)
    assert second / first**2 - 1 == pytest.approx(scv, abs=1e-9)


def test_rounds_have_the_probabilities_that_are_listed() -> None:
    listed = [0.1, 0.2, 0.0, 0.7, 0.0]
    chances = _rounds(repeat([Number(p) for p in listed], A))
    assert [chances.get(n, 0.0) for n in range(5)] == pytest.approx(listed)


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


@pytest.mark.parametrize(
    "name", ["", "a b", "9a", "_a", "a/b", "a.", "a[1", "a[x]", "x" * 65, "\u00e9tape"]
)
def test_a_name_that_cannot_stand_in_a_path_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="cannot be a name"):
        check_name(name)


@pytest.mark.parametrize("name", ["a", "x" * 64, "a.b-1_c", "a[12]", "Lock2.hold[0]"])
def test_a_name_of_letters_digits_and_dots_is_taken(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(("name", "taken"), [("m" * 255, True), ("m" * 256, False), ("", False)])
def test_a_model_has_a_name_of_at_most_255_characters(name: str, taken: bool) -> None:
    with nullcontext() if taken else pytest.raises(ModelError, match="cannot name a model"):
        check_model_name(name)


def test_a_queue_that_is_never_full_turns_nobody_away() -> None:
    visit = service("disk", 1.0)
    assert attempt(visit, queue=MOST_HOLDERS).executions == (Number(1.0), Number(0.0))
    assert attempt(visit, queue=MOST_HOLDERS - 1).executions == (BY_STATE, BY_STATE)


def test_rounds_are_listed_up_to_a_limit() -> None:
    listed = [1 / (MOST_ROUNDS + 1)] * (MOST_ROUNDS + 1)
    chances = _rounds(repeat([Number(p) for p in listed], A))
    assert sum(n * p for n, p in chances.items()) == pytest.approx(MOST_ROUNDS / 2)
    with pytest.raises(ModelError, match=r"the probabilities of 0, 1, 2 [.]{3} rounds"):
        repeat([Number(p) for p in [0.0, *listed]], A)
