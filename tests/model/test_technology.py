"""A technology scales its class of costs, wherever they stand, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.expression.nodes import Parameter
from slipstick.model.system import Labels, Model, scaled_model
from slipstick.vocabulary import TECHNOLOGIES
from tests.closed_form import solve
from tests.strategies import models, quick


@pytest.mark.turns(4)
@quick
@given(models(), st.sampled_from(TECHNOLOGIES))
def test_one_class_is_scaled_step_by_step(model: Model, technology: str) -> None:
    """One execution of each step takes three times as long if it is of the class; barriers are
    software.
    """
    factor = Parameter("factor", value=3.0)
    before, after = solve(model).once, solve(scaled_model(model, {technology: factor})).once
    labels = Labels.from_model(model)
    assert after == pytest.approx(
        {n: s * (3 if labels.technology(n) == technology else 1) for n, s in before.items()}
    )


@pytest.mark.turns(4)
@quick
@given(models())
def test_all_classes_scaled_alike_scale_the_account(model: Model) -> None:
    factors = {technology: Parameter("factor", value=0.5) for technology in TECHNOLOGIES}
    before, after = solve(model), solve(scaled_model(model, factors))
    assert after["time"] == pytest.approx(0.5 * (before["time"] or 0.0))
    assert after.account == pytest.approx(
        {name: 0.5 * seconds for name, seconds in before.account.items()}
    )


@pytest.mark.turns(4)
@quick
@given(models())
def test_no_factors_change_nothing(model: Model) -> None:
    assert scaled_model(model, {}) is model
