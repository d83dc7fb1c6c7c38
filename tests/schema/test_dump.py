"""Models written as files read as what they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import slipstick
from slipstick import (
    PROGRAMS,
    Simulation,
    closed_model,
    delay,
    load,
    open_model,
    phased_model,
    service,
)
from slipstick.api import dump
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model.machine import Machine
from slipstick.model.system import Model
from slipstick.schema.kinds.activity import activity_data
from slipstick.schema.library import names_of_kind
from tests.closed_form import solve
from tests.examples import examples
from tests.strategies import models


def read_back(text: str, folder: Path) -> Model:
    path = folder / "written.yaml"
    path.write_text(text)
    model = load(str(path))
    assert isinstance(model, Model)
    return model


def test_the_shipped_activity_reads_as_an_equal_model(tmp_path: Path) -> None:
    model = load("activity/lock-and-bus")
    assert isinstance(model, Model)
    again = read_back(dump(model), tmp_path)
    assert (again.population, again.resources, again.useful) == (
        model.population,
        model.resources,
        model.useful,
    )


def test_an_operation_answers_the_same_from_a_file(tmp_path: Path) -> None:
    machine = load("machine/rs6000-43p-fast-ethernet")
    assert isinstance(machine, Machine)
    model = PROGRAMS["dvsm/diff-request"].on(machine, parts=7, reply=4120, compute=1792e-6)
    there, here = solve(read_back(dump(model), tmp_path)), solve(model)
    assert there["time"] == here["time"]
    assert there.account == here.account
    assert list(there.share["time"].values()) == list(here.share["time"].values())


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", names_of_kind("activity"))
def test_a_shipped_activity_answers_the_same_from_a_file(name: str, tmp_path: Path) -> None:
    """The choice among algorithms of a collective has formulas too long for one text."""
    model = load(f"activity/{name}")
    assert isinstance(model, Model)
    again = read_back(dump(model), tmp_path)
    try:
        there, here = solve(again), solve(model)
    except NoAnswerError:  # how often its steps are done depends on its state
        short = Simulation(cycles=200)
        there, here = (slipstick.solve(each, simulation=short) for each in (again, model))
    assert (there["time"], there.account) == (here["time"], here.account)


@pytest.mark.turns(4)
@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(model=models())
def test_any_model_answers_the_same_from_a_file(model: Model, tmp_path: Path) -> None:
    again = read_back(dump(model), tmp_path)
    here, there = solve(model), solve(again)
    assert there["time"] == here["time"]
    # Nobody idle is booked as nothing at all, or as no time.
    assert {"idle": 0.0, **there.account} == {"idle": 0.0, **here.account}
    assert there.exact == here.exact


@pytest.mark.turns(4)
@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(model=models())
def test_what_was_read_writes_and_reads_as_itself(model: Model, tmp_path: Path) -> None:
    once = read_back(dump(model), tmp_path)
    assert read_back(dump(once), tmp_path) == once


def test_a_parameter_without_a_value_is_refused() -> None:
    model = closed_model(delay(Parameter("unknown", TIME), name="work"))
    with pytest.raises(ModelError) as caught:
        activity_data(model)
    assert str(caught.value) == "parameter unknown has no value; a file needs one"


def test_two_parameters_that_a_file_would_take_for_one_are_refused() -> None:
    model = closed_model(
        delay(Parameter("a-b", TIME, 1.0) + Parameter("a.b", TIME, 2.0), name="work")
    )
    with pytest.raises(ModelError) as caught:
        activity_data(model)
    assert str(caught.value) == "parameters a-b and a.b would have one name in a file: a_b"


def test_an_open_activity_and_a_program_are_written() -> None:
    """A model of which no server is away is written as it is, whatever its population."""
    use = service("desk", 1.0, scv=1.0, name="use")
    assert "arrivals: 0.5 1/s" in dump(open_model(use, 0.5))
    assert "phases:" in dump(phased_model((3, 2, use >> delay(2.0, name="rest"))))
