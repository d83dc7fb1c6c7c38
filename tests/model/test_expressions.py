"""The expressions of a model, against lists by hand."""

from __future__ import annotations

from slipstick.expression.nodes import parameters
from slipstick.model.activity import barrier, delay, hold, repeat
from slipstick.model.system import Barrier, Lock, closed_model

SHARED = delay(2.0, name="work")


def names(found: object) -> list[str]:
    return [each.name for each in parameters(*found)]  # type: ignore[misc]


def test_a_part_used_twice_is_listed_once() -> None:
    model = closed_model(SHARED >> repeat(3, SHARED) >> delay(1.0, name="rest"), 4)
    assert names(model.expressions()) == ["population.processors", "work", "rest"]
    assert len(set(model.expressions())) == len(model.expressions())
    assert list(model.expressions_of([SHARED])) == [SHARED.time]


def test_resources_that_no_body_uses_are_listed_on_demand() -> None:
    used, idle = (
        Lock(access=delay(0.5, name="touch").time),
        Lock(access=delay(0.25, name="never").time),
    )
    meet = Barrier(cost=delay(0.125, name="sync").time)
    model = closed_model(
        hold("door", SHARED) >> barrier("meet"),
        2,
        resources={"door": used, "gate": idle, "meet": meet},
    )
    assert "never" not in names(model.expressions())
    assert {"touch", "sync", "work"} <= set(names(model.expressions()))
    assert set(names(model.expressions(with_unused_resources=True))) == {
        *names(model.expressions()),
        "never",
    }


def test_counts_are_those_of_processors_only() -> None:
    assert names(closed_model(SHARED, 4).population.processor_counts) == ["population.processors"]
