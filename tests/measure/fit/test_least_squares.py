"""The search without SciPy for few parameters, beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick_measure.fit import least_squares
from slipstick_measure.fit.formula import FitParameter, TimeFormula, Timings


@pytest.mark.parametrize("seed", range(20))
def test_few_parameters_are_found_as_well_as_by_scipy(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times a + b / p with noise, of which one parameter may vanish."""
    generator = np.random.default_rng([2026113021, seed])
    p = np.array([2.0**power for power in range(8)])
    constant = generator.choice([0.0, 10 ** generator.uniform(-3, 1)])
    noise = np.exp(0.05 * generator.standard_normal(len(p)))
    times = (constant + 10 ** generator.uniform(-1, 2) / p) * noise
    formula = TimeFormula(
        family="two terms",
        text="a + b / p",
        parameters=(FitParameter("a", "s", "constant"), FitParameter("b", "s", "divided")),
        time=lambda theta, points: theta[0] + theta[1] / points.p,
        starts=lambda timings: [np.array([timings.time.min() / 2, timings.time.max()])],
    )
    start = np.array([times.min() / 2, times.max()])
    timings = Timings(p, np.ones(8), times)
    own = least_squares.fit_formula(formula, timings, start)
    monkeypatch.setattr(least_squares, "MOST_PARAMETERS_WITHOUT_SCIPY", 0)
    scipy = least_squares.fit_formula(formula, timings, start)
    assert own.squares <= scipy.squares * 1.006
    assert own.theta == pytest.approx(scipy.theta, rel=1e-3, abs=1e-6 * times.max())
