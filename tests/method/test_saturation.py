"""Models without a steady state: every method knows them, and says the same of them."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from slipstick.answer import Answer
from slipstick.expression.nodes import RATE, TIME, Number, Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.method.methods import compute_answers, form_of
from slipstick.model.activity import (
    choose,
    delay,
    fork,
    hold,
    pick,
    pipeline,
    repeat,
    serial,
    service,
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    ArrivalPattern,
    Model,
    Permits,
    Resource,
    Station,
    closed_model,
    open_model,
)
from slipstick.sim.settings import Simulation
from slipstick_mean_value.form import MeanValue

METHODS = ("closed-form", "mean-value", "simulation", "bounds")
ENDS = "the limit is 1); lower the arrivals, or shorten what is asked of it"

LOADED: dict[str, tuple[Activity, dict[str, Resource]]] = {
    "station bus": (service("bus", 0.2, scv=1.0), {}),
    "station pool": (
        fork(service("pool", 0.2), service("pool", 0.4, name="b")),
        {"pool": Station(3, "ps")},
    ),
    "lock door": (hold("door", delay(0.2, name="a", scv=1.0)), {}),
    "lock outer": (
        hold("outer", repeat(2, hold("inner", delay(0.05, name="a"))) >> delay(0.1, name="b")),
        {},
    ),
    "permits few": (
        choose((0.5, hold("few", delay(0.8, name="a"))), (0.5, delay(9.0, name="b"))),
        {"few": Permits(2)},
    ),
    "station disk": (
        pipeline([serial(service("disk", 0.05)), serial(delay(0.01, name="a"))], 4),
        {},
    ),
}


def told(model: Model, method: str) -> Answer:
    (answer,) = compute_answers(model, {}, method, Simulation(events=1000))
    return answer


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LOADED)
def test_a_saturated_resource_is_named_before_anything_is_computed(name: str, method: str) -> None:
    """Issue 12: a saturated lock was simulated for 30 million events, and closed form and bounds
    said nothing of it.
    """
    cycle, resources = LOADED[name]
    model = open_model(cycle, 6.0, resources=resources)
    assert (
        told(model, method).failed
        == f"{name} is saturated: 6/s arrive, fewer than 5/s can be served (load 1.2, {ENDS}"
    )
    assert told(open_model(cycle, 0.6, resources=resources), method).failed is None


@pytest.mark.parametrize("method", ["closed-form", "mean-value", "bounds"])
def test_one_saturated_point_of_a_sweep_leaves_the_others_their_answers(method: str) -> None:
    model = open_model(hold("door", delay(0.2, name="a", scv=1.0)) >> delay(1.0, name="b"), 1.0)
    swept = form_of(model, {}, method).points({"population.arrivals": np.array([1.0, 6.0, 2.0])})
    column = swept.columns()["low[time]" if method == "bounds" else "time"]
    assert np.isnan(column).tolist() == [False, True, False]
    assert [bool(swept.answer(index).failed) for index in range(3)] == [False, True, False]
    slower = form_of(model, {}, method).points(
        {"b": np.array([1.0, 2.0]), "population.arrivals": np.array([6.0, 6.0])}
    )
    assert all(slower.answer(index).failed for index in range(2))


def test_the_fast_path_of_the_closed_form_has_no_answer_there_either() -> None:
    form = ClosedForm(open_model(service("bus", 0.2), 1.0))
    assert np.isnan(form.times({"population.arrivals": np.array([1.0, 6.0])})).tolist() == [
        False,
        True,
    ]


def test_locks_in_a_cycle_are_refused_by_mean_value_and_noted_by_the_others() -> None:
    there, back = (
        hold("a", hold("b", delay(1.0, name="x"))),
        hold("b", hold("a", delay(1.0, name="y"))),
    )
    model = closed_model(there >> back, 2)
    words = (
        "locks a and b are taken in both orders: their holders may wait for each other without end;"
        " take them in one order"
    )
    assert told(model, "mean-value").failed == (
        f"{words}; simulation has no answer either: deadlock at 1 s:"
        " processor 0 waits for lock a, held by processor 1; processor 1 waits for lock b, held by"
        " processor 0"
    )
    assert words in told(model, "closed-form").notes
    assert words in told(model, "bounds").notes
    assert (told(model, "simulation").failed or "").startswith("deadlock at 1 s")
    swept = MeanValue(model).points({"population.processors": np.array([1.0, 2.0])})
    assert [swept.answer(index).failed for index in range(2)] == [None, words]
    assert words not in told(closed_model(there >> back, 1), "closed-form").notes


@pytest.mark.parametrize("method", ["closed-form", "bounds"])
def test_counts_and_probabilities_out_of_range_are_refused_where_they_come_out_so(
    method: str,
) -> None:
    """Less than no execution would be subtracted from the time; the other points keep theirs."""
    near, p = Parameter("near", value=0.0), Parameter("p", value=0.25)
    cycle = choose((p, delay(4.0, name="a")), (1 - p, delay(8.0, name="b"))) >> repeat(
        1 - near, delay(3.0, name="c")
    )
    model = closed_model(cycle, 2)
    form = form_of(model, model.parameters, method)
    values = {"near": np.array([0.0, 1.0, 2.0, 0.0]), "p": np.array([0.25, 1.0, 0.25, 1.5])}
    answers = form.points(values)
    assert answers.columns()[form.quantity] == pytest.approx([10.0, 4.0, nan, nan], nan_ok=True)
    assert form.times(values) == pytest.approx([10.0, 4.0, nan, nan], nan_ok=True)
    assert answers.answer(2).failed == (
        f"the count of a repeat comes out as -1, which {method} cannot take"
    )
    assert answers.answer(3).failed == (
        f"a probability comes out as 1.5, which {method} cannot take"
    )


def test_a_stream_is_saturated_beside_parts_chosen_by_state() -> None:
    """The first station alone is asked for 1.2 of its time, whatever branch each customer takes."""
    branches = pick(service("left", 0.1, scv=1.0), service("right", 0.1, scv=1.0))
    cycle = service("first", 1.0, scv=1.0) >> branches
    assert "first is saturated" in str(told(open_model(cycle, 1.2), "simulation").failed)


def test_a_stream_with_parts_chosen_by_state_is_answered_below_saturation() -> None:
    """M/M/1 with 1 s and a load of 0.8 takes 5 s, and a branch 0.1 s with little waiting."""
    branches = pick(service("left", 0.1, scv=1.0), service("right", 0.1, scv=1.0))
    model = open_model(service("first", 1.0, scv=1.0) >> branches, 0.8)
    (answer,) = compute_answers(model, {}, "simulation", Simulation(precision=0.05))
    assert answer["time"] == pytest.approx(5.1, rel=0.1)


@pytest.mark.parametrize("is_inside", [False, True])
def test_what_a_stream_with_a_picked_part_holds_is_known(is_inside: bool) -> None:
    branches = pick(service("left", 0.1, scv=1.0), service("right", 0.1, scv=1.0))
    work = repeat(2, delay(0.5, name="work", scv=1.0))
    cycle = hold("few", branches >> work) if is_inside else branches >> hold("few", work)
    saturated = told(open_model(cycle, 3.0, resources={"few": Permits(2)}), "simulation")
    assert (
        saturated.failed
        == f"permits few is saturated: 3/s arrive, fewer than 2/s can be served (load 1.5, {ENDS}"
    )


@pytest.mark.turns(8)
def test_a_stream_that_only_picks_between_saturated_stations_is_refused() -> None:
    """Two servers of 2.5 s do 0.8 a second, and 1 arrives; no load is known before the run."""
    branches = pick(service("left", 2.5, scv=1.0), service("right", 2.5, scv=1.0))
    model = open_model(branches, 1.0)
    (answer,) = compute_answers(model, {}, "simulation", Simulation(events=100_000))
    assert str(answer.failed).startswith("customers arrive faster than they leave: 1 in a second")


@pytest.mark.parametrize(("rate", "is_refused"), [(1.0, True), (0.6, False)])
def test_a_profile_that_brings_more_than_leave_is_refused(rate: float, is_refused: bool) -> None:
    """Two servers of 2.5 s do 0.8 a second; both profiles have a peak beyond that."""
    branches = pick(service("left", 2.5, scv=1.0), service("right", 2.5, scv=1.0))
    pattern = ArrivalPattern(profile=((20.0, 1.0), (10.0, 4.0)))
    model = open_model(branches, rate, pattern=pattern)
    (answer,) = compute_answers(model, {}, "simulation", Simulation(events=100_000))
    message = str(answer.failed)
    assert message.startswith("customers arrive faster than they leave: 1 in a s") == is_refused


@pytest.mark.turns(10)
@pytest.mark.parametrize(("rate", "is_refused"), [(1.1, True), (0.6, False)])
def test_bursts_that_bring_more_than_leave_are_refused(rate: float, is_refused: bool) -> None:
    """Of six permits half of the customers take two for 0.8 s, half three for 0.4 s, in order of
    arrival: 3.6 a second leave where 4.125 come. No load says it: 4.286 could leave if no permit
    were ever free.
    """
    one_of_both = choose(
        (0.5, hold("few", delay(0.8, name="long", scv=1.0), permits=2)),
        (0.5, hold("few", delay(0.4, name="short", scv=1.0), permits=3)),
    )
    pattern = ArrivalPattern(
        burst_arrivals=Number(12.0 * rate, RATE),
        burst_time=Number(3.0, TIME),
        quiet_time=Number(9.0, TIME),
    )
    model = open_model(one_of_both, rate, pattern=pattern, resources={"few": Permits(6)})
    (answer,) = compute_answers(model, {}, "simulation", Simulation(events=600_000))
    message = str(answer.failed)
    assert message.startswith("customers arrive faster than they leave: 4.125") == is_refused
