"""Timelines: nothing is lost, levels are those of the queues, and the critical path has no gaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick import barrier, closed_model, delay, hold, phased_model, service
from slipstick.errors import ModelError
from slipstick.method.simulation.flatten import timeline
from slipstick.model.system import Model
from slipstick.results.study import Timeline, TimelineInterval
from slipstick.sim.plain.timeline import critical_path
from tests.sim_strategies import RESOURCES, busy_models, few


def test_levels_count_all_who_are_there() -> None:
    model = phased_model((1, 3, service("bus", 2.0)))
    assert timeline(model).levels["bus"] == ((0.0, 3, 1), (2.0, 2, 1), (4.0, 1, 1), (6.0, 0, 0))
    each = phased_model((1, 2, service("own", 2.0)))
    assert timeline(each).levels["own"] == ((0.0, 2, 2), (2.0, 0, 0))


def test_more_processors_than_events_are_refused() -> None:
    model = closed_model(delay(1.0, name="work"), 30)
    assert timeline(model, events=30).spans
    with pytest.raises(
        ModelError, match=r"^a time line has at most 29 events, too few for 30 processors$"
    ):
        timeline(model, events=29)


def test_the_path_goes_on_with_whoever_held_it_up() -> None:
    """Two take turns at a lock; the second's end was held up by the first's hold."""
    model = phased_model(
        (1, 2, hold("door", delay(2.0, name="inside")) >> delay(1.0, name="after"))
    )
    path = timeline(model).path
    assert [(span.member, span.label, span.start, span.end) for span in path] == [
        (0, "inside", 0.0, 2.0),
        (1, "inside", 2.0, 4.0),
        (1, "after", 4.0, 5.0),
    ]


def test_whoever_comes_last_to_a_barrier_holds_up_all() -> None:
    slow = service("processor[0]", 3.0, name="slow")
    model = phased_model((1, 2, slow >> barrier("meet") >> delay(1.0, name="after")))
    found = timeline(model)
    assert [(span.member, span.label) for span in found.path] == [
        (0, "slow"),
        (1, "slow"),
        (0, "after"),
    ]
    assert (
        found.component(next(span for span in found.spans if span.label == "barrier:meet"))
        == "barrier"
    )


@few
@given(busy_models(), st.integers(0, 99))
def test_the_path_is_as_long_as_the_program(model: Model, seed: int) -> None:
    found = timeline(phased_model((2, 3, model.bodies[0]), resources=RESOURCES), seed=seed)
    reached = 0.0
    for span in found.path:
        assert span.start == pytest.approx(reached)
        reached = span.end
    assert reached == pytest.approx(found.until)


def test_an_endless_model_is_followed_for_some_cycles() -> None:
    found = timeline(closed_model(delay(2.0, name="work"), processors=3), cycles=4)
    assert found.until == 8.0
    assert len(found.spans) == 12


def test_of_nothing_there_is_no_path() -> None:
    assert critical_path(Timeline((), {}, 0.0)) == ()
    lost = (TimelineInterval(0, 0, "lock:a", 0.0, 1.0, 1),)
    assert critical_path(Timeline(lost, {}, 1.0)) == ()
