"""A fact about a model that has no rule for a kind of step, or of population, refuses it by
name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from slipstick import solve
from slipstick.errors import NoAnswerError
from slipstick.model.activity import choose, delay, service
from slipstick.model.steps import (
    BY_STATE,
    HELD,
    MET,
    NEVER,
    NOTHING,
    ONCE,
    SERVED,
    Activity,
    Combination,
    requested_resource,
)
from slipstick.model.system import Model, Station, closed_model, no_rule_for_population_error
from slipstick.structure.contention import Contention
from slipstick.structure.times import time_of_pass
from slipstick.structure.visits import Places, visit_trees
from slipstick.structure.work import most_requests_at_once
from slipstick_mean_value.queues import lump_alike_resources, queues_of


@dataclass(frozen=True)
class ByQueue(Activity):
    """One of its parts, by the state of their queues."""

    body: Activity

    made_of, word, use, variation = ("body",), "by-queue", NOTHING, NEVER
    combination, executions = Combination.IN_TURN, (BY_STATE,)


@dataclass(frozen=True)
class Passing(Activity):
    """Items that are not those of a pipeline."""

    body: Activity

    made_of, word, use, variation = ("body",), "passing", NOTHING, NEVER
    combination, executions = Combination.ITEMS, (ONCE,)


@dataclass(frozen=True)
class Plain(Activity):
    """Its body, once."""

    body: Activity

    made_of, word, use, variation = ("body",), "plain", NOTHING, NEVER
    combination, executions = Combination.IN_TURN, (ONCE,)


@dataclass(frozen=True)
class Served(Activity):
    """Something other than a step that is served at a resource."""

    resource: str

    made_of, word, use, named = (), "served", SERVED, "resource"
    combination, executions, variation = Combination.IN_TURN, (), NEVER


@dataclass(frozen=True)
class Holding(Served):
    """Something other than a hold that holds a resource."""

    word, use = "holding", HELD


@dataclass(frozen=True)
class Meeting(Served):
    """Something other than a barrier at which processors meet."""

    word, use = "meeting", MET


WORK = service("disk", 1.0)


def model(activity: Activity) -> Model:
    return closed_model(activity >> WORK, 2, resources={"disk": Station()})


def ends(activity: Activity) -> None:
    (tree,) = visit_trees([activity], model(WORK))
    Places().add(tree.root, {})


def queues(activity: Activity) -> None:
    queues_of(model(WORK), visit_trees([activity], model(WORK)), {})


def lumping(activity: Activity) -> None:
    lump_alike_resources([choose((1.0, activity))], model(WORK))


REFUSED: list[tuple[Callable[[], object], tuple[str, str]]] = [
    (
        lambda: time_of_pass(Passing(WORK), model(WORK)),
        ("the time without contention", "passing"),
    ),
    (
        lambda: most_requests_at_once(Passing(WORK), requested_resource, {}),
        ("the number under way at once", "passing"),
    ),
    (
        lambda: visit_trees([Served("disk")], model(WORK)),
        ("the count of visits", "served"),
    ),
    (
        lambda: ends(Plain(WORK)),
        ("the count of immediate returns", "plain"),
    ),
    (
        lambda: queues(Passing(WORK)),
        ("the number of requests at once", "passing"),
    ),
    (
        lambda: lumping(Holding("door")),
        ("the comparison of resources", "holding"),
    ),
]


@pytest.mark.parametrize(("compute", "names"), REFUSED, ids=range(len(REFUSED)))
def test_facts_refuse_kinds_without_a_rule(
    compute: Callable[[], object], names: tuple[str, str]
) -> None:
    with pytest.raises(NoAnswerError) as caught:
        compute()
    words = "{} has no rule for steps of the kind {}; ask for another method"
    assert str(caught.value) == words.format(*names)


def test_who_waits_at_a_meeting_follows_from_its_use() -> None:
    present = Contention(model(Meeting("meet"))).neglected_effects({})
    assert present.flags_by_resource["meet"].tolist() == [False]  # one group: all come to it alike


def test_executions_that_depend_on_the_state_are_left_to_methods_with_states() -> None:
    with pytest.raises(NoAnswerError) as caught:
        time_of_pass(ByQueue(WORK), model(WORK))
    assert str(caught.value) == (
        "how often steps of the kind by-queue execute their parts depends on the state of the"
        " system, which only markov-chain and simulation follow"
    )


def test_a_population_without_a_rule_is_refused_by_name() -> None:
    assert str(no_rule_for_population_error("simulation", model(WORK).population)) == (
        "simulation has no rule for populations of the kind ClosedPopulation; ask for another"
        " method"
    )


def test_executions_of_a_plain_step_are_visits() -> None:
    (tree,) = visit_trees([Plain(WORK) >> delay(1.0)], model(WORK))
    assert tree.visit_ratios({}) == {0: np.ones(1)}


@dataclass(frozen=True)
class Strange(Activity):
    """A leaf that is no step and uses nothing."""

    made_of, word, use, variation = (), "strange", NOTHING, NEVER
    combination, executions = Combination.IN_TURN, ()


def test_what_no_method_has_a_rule_for_is_refused_by_the_last_of_them() -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve(model(Strange()))
    assert str(caught.value) == (
        "simulation has no rule for steps of the kind strange; ask for another method"
    )
    with pytest.raises(NoAnswerError, match="the time without contention has no rule for steps of"):
        solve(model(Strange()), method="closed-form")
