"""The numbers of a model, against lists by hand."""

from __future__ import annotations

from slipstick.expression.nodes import parameters
from slipstick.method.numbers import crowd_sizes, expressions, numbers_of, values_of
from slipstick.model.activity import barrier, delay, hold, repeat
from slipstick.model.resources import Barrier, Lock
from slipstick.model.system import closed_model

SHARED = delay(2.0, name="work")


def names(found: object) -> list[str]:
    return [each.name for each in parameters(*found)]  # type: ignore[misc]


def test_a_part_used_twice_is_listed_once() -> None:
    model = closed_model(SHARED >> repeat(3, SHARED) >> delay(1.0, name="rest"), 4)
    assert names(expressions(model)) == ["population.processors", "work", "rest"]
    assert len(set(expressions(model))) == len(expressions(model))
    assert list(numbers_of([SHARED], model)) == [SHARED.time]


def test_resources_that_nobody_uses_are_listed_on_demand() -> None:
    used, idle = Lock(access=delay(0.5, name="touch").time), Lock(access=delay(0.25, name="never").time)
    meet = Barrier(cost=delay(0.125, name="sync").time)
    model = closed_model(
        hold("door", SHARED) >> barrier("meet"), 2, resources={"door": used, "gate": idle, "meet": meet}
    )
    assert "never" not in names(expressions(model))
    assert {"touch", "sync", "work"} <= set(names(expressions(model)))
    assert set(names(expressions(model, unused=True))) == {*names(expressions(model)), "never"}
    values = values_of(model, {"touch": 4.0})
    assert (values[used.access], values[idle.access], values[meet.cost]) == (4.0, 0.25, 0.125)


def test_sizes_are_those_of_the_crowd_alone() -> None:
    model = closed_model(SHARED, 4)
    assert names(crowd_sizes(model)) == ["population.processors"]
    assert [values_of(model, {})[size] for size in crowd_sizes(model)] == [4.0]
