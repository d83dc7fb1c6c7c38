"""The unit of time changes no answer: every sum of times is one of times, and every variance is
one of squares of times.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.mean_value import CONSTRUCTS, SCVS, generated
from slipstick_mean_value.form import MeanValue

UNIT = 1024.0
"""A power of two, so that no number is rounded otherwise."""

COSTLY = {"reader-writer locks", "reader-writer locks of many"}
"""Which have a test of their own beside those of their locks."""


@pytest.mark.turns(5)
@pytest.mark.parametrize("construct", [each for each in CONSTRUCTS if each not in COSTLY])
@pytest.mark.parametrize("scv", SCVS)
def test_times_in_a_smaller_unit_are_the_same_times(construct: str, scv: float) -> None:
    model = generated(construct, scv, 1)
    units = {name: UNIT**each.dimension.time_power for name, each in model.parameters.items()}
    given = {
        name: np.array([1.0, units[name]]) * (each.value or 0.0)
        for name, each in model.parameters.items()
    }
    points = MeanValue(model).points(given)
    one, other = points.answer(0), points.answer(1)
    found = dict(one.values)
    assert found
    for name, value in found.items():
        unit = {"s": UNIT, "1/s": 1 / UNIT}.get(value.unit, 1.0)
        assert other[name] == pytest.approx((value.value or 0.0) * unit, rel=1e-11), name
    assert other.account == pytest.approx(
        {label: UNIT * each for label, each in one.account.items()}, rel=1e-9
    )
