"""Laws and models behind one interface: a law solved for many points is the law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slipstick.expression.nodes import Parameter
from slipstick.law import LAWS, Law
from slipstick.method.closed_form import ClosedForm, CompiledLaw
from slipstick.method.methods import form_of
from slipstick.model.activity import delay
from slipstick.model.system import closed_model
from tests.every_law import every_law


def form(law: Law, prefix: str = "") -> CompiledLaw:
    given = law.given(law.checks[0])
    parameters = {
        s.name: Parameter(f"{prefix}{s.name}", s.dimension, float(given[s.name]))
        for s in law.symbols
    }
    made = form_of(law, parameters)
    assert isinstance(made, CompiledLaw)
    return made


@pytest.mark.turns(4)
@every_law
def test_a_law_solved_is_the_law_called(law: Law) -> None:
    for prefix in ("", "law."):
        made = form(law, prefix)
        answer = made.points({}).answer(0)
        assert answer[law.gives.name] == law(**law.given(law.checks[0])) == made.times({})[0]
        assert answer.values[law.gives.name].unit == str(law.gives.dimension)
        assert answer.exact == law.exact
        assert made.quantity == law.gives.name


@pytest.mark.turns(4)
@every_law
def test_shares_of_a_law_add_up_to_the_power_of_time_of_what_it_gives(law: Law) -> None:
    (shares,) = form(law).points({}).answer(0).share.values()
    assert math.fsum(shares.values()) == pytest.approx(law.gives.dimension.time_power, abs=1e-9)


@pytest.mark.turns(4)
@every_law
def test_one_point_and_the_same_point_in_a_sweep(law: Law) -> None:
    made = form(law)
    name = law.symbols[0].name
    column = np.array([law.given(law.checks[0])[name] * scale for scale in (1.0, 1.1, 1.2)])
    swept = made.points({name: column})
    for index, value in enumerate(column):
        assert swept.answer(index) == made.points({name: float(value)}).answer(0)
    assert np.array_equal(
        made.times({name: column}), swept.columns()[law.gives.name], equal_nan=True
    )


def test_a_point_where_the_law_does_not_hold_says_so_alone() -> None:
    swept = form(LAWS["flow-line"]).points({"items": np.array([3.0, 0.5])})
    assert swept.answer(0).failed is None
    assert swept.answer(1).failed == "law flow-line holds for items >= 1 and once >= longest only"
    assert np.isnan(swept.columns()["time"]).tolist() == [False, True]
    assert np.isnan(form(LAWS["flow-line"]).times({"items": np.array([3.0, 0.5])})).tolist() == [
        False,
        True,
    ]


def test_a_law_that_overflows_has_no_answer() -> None:
    assert (
        form(LAWS["cycle-rate"]).points({"time": 5e-324, "processors": 1e300}).answer(0).failed
        == "law cycle-rate comes out as inf"
    )


def test_a_model_behind_the_same_interface() -> None:
    made = form_of(closed_model(delay(2.0, name="work")), {}, "closed-form")
    assert isinstance(made, ClosedForm)
    assert made.times({"work": 3.0}).tolist() == [3.0]
    assert len(made.points({"work": np.array([1.0, 2.0])})) == 2
