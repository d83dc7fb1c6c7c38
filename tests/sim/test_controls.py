"""Control variates of a short check: chosen by what they explain."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.sim.short_check import _chosen_controls


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_controls_are_chosen_by_what_they_explain_in_any_unit(unit: float) -> None:
    random = np.random.default_rng(20261131)
    controls = random.normal(size=(3, 60))
    residual = 2 * controls[1] + 0.5 * controls[2] + 0.05 * random.normal(size=60)
    units = np.array([[1 / unit], [unit], [1.0]])
    chosen = _chosen_controls(residual, controls * units)
    assert chosen == pytest.approx(np.stack([controls[1] * unit, controls[2]]))


def test_a_control_that_is_constant_or_explains_nothing_is_not_chosen() -> None:
    random = np.random.default_rng(20261132)
    residual = random.normal(size=60)
    independent = random.normal(size=60)
    independent -= residual * (independent @ residual) / (residual @ residual)
    independent -= independent.mean()
    controls = np.stack([np.full(60, 3.0), independent - residual.mean()])
    assert len(_chosen_controls(residual, controls)) == 0
