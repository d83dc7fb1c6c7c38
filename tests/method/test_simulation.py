"""The simulation against the closed form, theory and itself."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given

from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError
from slipstick.method import closed_form, simulation
from slipstick.model.activity import barrier, choose, delay, fork, hold, pipeline, repeat, serial, service
from slipstick.model.system import Meeting, Model, Station, arriving, closed, phases
from slipstick.sim.result import Effort
from tests.sim_strategies import RESOURCES, busy_models, calm_models, few, many

SHORT = Effort(cycles=200)


def plain(model: Model, effort: Effort | None = None, seed: int = 1) -> Answer:
    return simulation.solve(model, seed=seed, effort=effort, kernel="plain")


@many
@given(calm_models())
def test_without_contention_or_chance_it_is_the_closed_form(model: Model) -> None:
    exact, seen = closed_form.solve(model), plain(model)
    assert exact["time"] == pytest.approx(seen["time"], rel=1e-12)
    assert seen.account == pytest.approx({name: each for name, each in exact.account.items() if each}, rel=1e-9)
    assert seen.technology == pytest.approx({name: each for name, each in exact.technology.items() if each}, rel=1e-9)
    assert seen.exact
    time = seen.values["time"]
    assert time.low == pytest.approx(time.high, rel=1e-12)


@few
@given(busy_models())
def test_the_account_adds_up_to_the_time(model: Model) -> None:
    seen = plain(model, SHORT)
    time = seen["time"]
    assert time is not None
    assert math.fsum(seen.account.values()) == pytest.approx(time, rel=1e-9)
    assert math.fsum(seen.technology.values()) == pytest.approx(time, rel=1e-9)
    assert math.fsum(seen.steps.values()) == pytest.approx(time, rel=1e-9)
