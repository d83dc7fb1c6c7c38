"""A kind of step, resource or population cannot be defined without what all methods read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from slipstick.expression.nodes import COUNT, Number, Parameter
from slipstick.expression.tape import Tape
from slipstick.model.activity import choose, delay, fork, pipeline, repeat, serial
from slipstick.model.steps import NEVER, Activity, Combination, fractional_part
from slipstick.model.system import PopulationKind, ResourceKind

STATED_BY_STEPS: dict[str, Any] = {
    "made_of": (),
    "executions": (),
    "variation": NEVER,
    "combination": Combination.IN_TURN,
    "use": "",
}
STATED_BY_RESOURCES: dict[str, Any] = {
    "noun": "a toll gate",
    "use": "service",
    "capacity": 1,
    "use_time": None,
    "labels": None,
}
STATED_BY_POPULATIONS: dict[str, Any] = {
    "made_of": (),
    "open": False,
    "finite": False,
    "size": Number(1.0),
    "present": Number(1.0),
    "variation": NEVER,
}


@pytest.mark.parametrize(
    ("base", "statements", "noun"),
    [
        (Activity, STATED_BY_STEPS, "the kind of step"),
        (ResourceKind, STATED_BY_RESOURCES, "the kind of resource"),
        (PopulationKind, STATED_BY_POPULATIONS, "the kind of population"),
    ],
)
def test_a_kind_that_leaves_a_statement_out_cannot_be_defined(
    base: type, statements: dict[str, Any], noun: str
) -> None:
    assert type("Gate", (base,), statements)
    for name in statements:
        others = {key: value for key, value in statements.items() if key != name}
        with pytest.raises(TypeError, match=f"{noun} Gate does not say its {name}; "):
            type("Gate", (base,), others)


def test_a_dataclass_with_slots_states_as_well() -> None:
    @dataclass(frozen=True, slots=True)
    class Gate(Activity):
        made_of, executions, variation = (), (), NEVER
        combination, use = Combination.IN_TURN, ""

    assert Gate().kind == "gate"


def test_executions_of_children() -> None:
    one, other = delay(1.0, name="one"), delay(2.0, name="other")
    count = Parameter("count", COUNT, 2.5)
    assert [number for number, _ in repeat(count, one).weighted_children] == [count]
    assert choose((0.25, one), (0.75, other)).executions == (Number(0.25), Number(0.75))
    assert fork(one, other).executions == (Number(1.0), Number(1.0))
    assert pipeline([serial(one), serial(one, other, name="two")], items=2).executions == (
        Number(2.0),
        Number(1.0),
        Number(1.0),
    )


@pytest.mark.parametrize(
    ("count", "varies"),
    [(0.0, False), (3.0, False), (2.5, True), (0.25, True), (1e6 + 0.5, True), (0.1 * 30, False)],
)
def test_a_fraction_beyond_rounding_varies(count: float, varies: bool) -> None:
    of_count = fractional_part(Parameter("count", COUNT))
    assert (Tape([of_count]).run({"count": count})[0][0] > 0) == varies
