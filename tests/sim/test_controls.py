"""Control variates of a short check: chosen by what they explain."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.sim.estimate import sums_by_batch
from slipstick.sim.short_check import (
    _BATCHES,
    _chosen_controls,
    _controlled_ratio,
)


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


def test_batches_that_follow_each_other_widen_the_interval_by_their_correlation() -> None:
    """By hand: (1 + r) / (1 - r) times the variance, where r is the correlation of one batch with
    the next, after the control is taken away.
    """
    random = np.random.default_rng(20261201)
    residual = np.convolve(random.normal(size=64), np.ones(5), mode="valid")
    control = random.normal(size=60)
    row_sums = np.column_stack([5 + 2 * control + residual, np.ones(60), control])
    weights = np.eye(3)
    alone, in_one_run = (
        _controlled_ratio(row_sums, weights[0], weights[1], [weights[2]], in_one_run)
        for in_one_run in (False, True)
    )
    batches = sums_by_batch(row_sums, min(60, _BATCHES))
    centred = batches - batches.mean(axis=0)
    slope = (centred[:, 0] @ centred[:, 2]) / (centred[:, 2] @ centred[:, 2])
    left = centred[:, 0] - slope * centred[:, 2]
    correlation = (left[1:] @ left[:-1]) / (left @ left)
    assert correlation > 0.2
    inflation = (1 + correlation) / (1 - correlation)
    assert in_one_run.half_width / alone.half_width == pytest.approx(inflation**0.5, rel=1e-3)
