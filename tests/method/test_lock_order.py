"""Locks taken in a cycle: found where holders can meet, and only there."""

from __future__ import annotations

from itertools import combinations
from string import ascii_lowercase

import pytest

from slipstick.model.activity import barrier, choose, delay, fork, hold, then
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Permits, closed_model, grouped_model, phased_model
from slipstick.structure.deadlocks import lock_cycle


def held(*locks: str) -> Activity:
    """Take locks in an order."""
    body: Activity = delay(1.0, name="".join(locks))
    for name in reversed(locks):
        body = hold(name, body)
    return body


AB, BA = held("a", "b"), held("b", "a")
ENDS = "their holders may wait for each other without end; take them in one order"
BOTH = f"locks a and b are taken in both orders: {ENDS}"


@pytest.mark.parametrize(
    ("model", "words", "processors"),
    [
        (closed_model(AB >> BA, 3), BOTH, 2),
        (closed_model(choose((0.5, AB), (0.5, BA)), 3), BOTH, 2),
        (closed_model(AB >> barrier("meet") >> BA, 3), BOTH, 2),
        (closed_model(AB >> BA, 3, resources={"a": Permits(1)}), BOTH, 2),
        (grouped_model({"one": (1, AB), "other": (1, BA)}), BOTH, 2),
        (phased_model((2, 2, AB >> BA)), BOTH, 2),
        (closed_model(fork(AB, BA), 3), BOTH, 1),
        (
            closed_model(held("a", "b") >> held("b", "c") >> held("c", "a"), 3),
            f"locks a, b and c are taken in a cycle: {ENDS}",
            3,
        ),
    ],
)
def test_locks_in_a_cycle_are_named(model: Model, words: str, processors: int) -> None:
    assert lock_cycle(model) == (words, processors)


@pytest.mark.parametrize(
    "model",
    [
        closed_model(AB >> held("a", "c") >> held("b", "c"), 3),
        closed_model(held("gate", "a", "b") >> held("gate", "b", "a"), 3),
        closed_model(AB >> barrier("meet") >> BA >> barrier("meet"), 3),
        closed_model(AB >> BA, 3, resources={"a": Permits(2)}),
        phased_model((1, 2, AB), (1, 2, BA)),
        closed_model(then(*(held(*pair) for pair in combinations(ascii_lowercase, 2))), 3),
    ],
    ids=["one order", "gate", "barriers", "permits", "phases", "many locks"],
)
def test_no_cycle_where_holders_never_meet(model: Model) -> None:
    assert lock_cycle(model) == ("", 0)
