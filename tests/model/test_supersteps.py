"""Supersteps by hand, and what they refuse."""

from __future__ import annotations

import pytest

from slipstick import Simulation, dump, solve
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import Parameter
from slipstick.model.activity import delay, fork, hold, parallel, pipeline, serial, service
from slipstick.model.system import Model, scaled_model, superstep_model
from slipstick_workloads.application.operations import with_labels
from tests.bounds import bounds


def program() -> Model:
    short, long = delay(2.0, name="short"), delay(3.0, name="long", technology="software")
    meet = delay(0.5, name="meet", component="barrier", technology="software")
    return superstep_model((10, [short, long], meet), (1, [long, short], meet), name="by-hand")


@pytest.mark.parametrize("method", ["closed-form", "mean-value", "simulation"])
def test_each_superstep_is_as_long_as_its_slowest(method: str) -> None:
    answer = solve(program(), method=method, simulation=Simulation(seed=1))
    assert answer["time"] == pytest.approx(11 * 3.5)
    assert answer.account == pytest.approx({"busy": 11 * 2.5, "barrier": 5.5, "idle": 5.5})
    assert answer["speedup"] == pytest.approx(2 * 2.5 / 3.5)


def test_bounds_enclose_it_and_technology_scales_it() -> None:
    assert bounds(program()).values["time"].low == pytest.approx(38.5)
    faster = scaled_model(program(), {"software": Parameter("technology.software", value=0.5)})
    assert solve(faster)["time"] == pytest.approx(11 * 2.25)


def test_requests_wait_for_the_processor_that_serves_them() -> None:
    """Two on one station, exponential: below the closed form with everybody at once, above it
    with nobody there.
    """
    line = [service("bus", 1.0, name=f"ask.{i}") for i in range(2)]
    model = superstep_model((100, [line[0], line[1]], delay(0.0, name="meet")))
    added, predicted, seen = (
        solve(model, method=each, simulation=Simulation(seed=1))
        for each in ("closed-form", "mean-value", "simulation")
    )
    assert (added["time"], seen["time"]) == (100.0, 200.0)
    # Who visits once waits for half a service at random, where here both always come together.
    assert 120 < (predicted["time"] or 0.0) <= 200


def test_what_supersteps_cannot_be_is_refused() -> None:
    line, meet = delay(1.0, name="line"), delay(1.0, name="meet")
    with pytest.raises(
        ModelError,
        match="supersteps need at least one processor, and the same number of them in each",
    ):
        superstep_model((1, [line], meet), (1, [line, line], meet))
    with pytest.raises(ModelError, match="the repeat of a superstep"):
        superstep_model((-1, [line], meet))
    with pytest.raises(
        ModelError, match="has supersteps, which a file cannot state; keep its counts instead"
    ):
        dump(program())
    for body, kind in ((hold("door", line), "hold"), (fork(line, meet), "fork")):
        with pytest.raises(
            NoAnswerError,
            match=f"mean-value cannot solve {kind} in the supersteps of model; simulate it",
        ):
            solve(superstep_model((1, [body], meet)), method="mean-value")
    uneven = pipeline(
        [serial(line, meet, name="first"), parallel(line, name="second")], 2, name="uneven"
    )
    with pytest.raises(
        NoAnswerError,
        match="mean-value takes no pipeline of unlike items; uneven has them, simulate it",
    ):
        solve(superstep_model((1, [uneven], delay(0.0, name="m"))), method="mean-value")


def test_labels_are_renamed_and_what_is_shared_stays_shared() -> None:
    step = service("bus", 2.0, name="ask")
    twice = with_labels(
        pipeline([serial(step >> step)], 3, name="asks"),
        "read.",
        component="memory",
        keeps_resources=False,
    )
    assert (
        repr(twice) == "pipeline([serial(delay(2.0, name='read.ask', component='memory') >> "
        "delay(2.0, name='read.ask', component='memory'), name='ask')], items=3, name='read.asks')"
    )
