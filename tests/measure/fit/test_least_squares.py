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
        starting_points=lambda timings: [np.array([timings.time.min() / 2, timings.time.max()])],
    )
    start = np.array([times.min() / 2, times.max()])
    timings = Timings(p, np.ones(8), times)
    own = least_squares.fit_formula(formula, timings, start)
    monkeypatch.setattr(least_squares, "MOST_PARAMETERS_WITHOUT_SCIPY", 0)
    scipy = least_squares.fit_formula(formula, timings, start)
    assert own.sum_of_squares <= scipy.sum_of_squares * 1.006
    assert own.theta == pytest.approx(scipy.theta, rel=1e-3, abs=1e-6 * times.max())


def test_the_covariance_of_logarithms_is_that_of_repeated_fits() -> None:
    """Fits to 400 draws of the same noise scatter as one fit says; of a parameter that is 0 nothing
    is said.
    """
    generator = np.random.default_rng(2026113022)
    p = np.repeat([1.0, 2, 4, 8, 16, 32], 4)
    formula = TimeFormula(
        family="two terms",
        text="a + b / p",
        parameters=(FitParameter("a", "s", "constant"), FitParameter("b", "s", "divided")),
        time=lambda theta, points: theta[0] + theta[1] / points.p,
        starting_points=lambda timings: [np.array([1.0, 10.0])],
    )
    start = np.array([1.0, 10.0])

    def fitted(noise: float, constant: float = 1.0) -> least_squares.FittedFormula:
        times = (constant + 10 / p) * np.exp(noise * generator.standard_normal(len(p)))
        return least_squares.fit_formula(formula, Timings(p, np.ones(len(p)), times), start)

    logs = np.log([fitted(0.03).theta for _ in range(400)])
    covariance = np.mean([fitted(0.03).log_covariance for _ in range(40)], axis=0)
    # Widened by Student's factor of 22 degrees of freedom.
    assert covariance == pytest.approx(np.cov(logs.T) * (1.7171 / 1.6449) ** 2, rel=0.2)
    without_constant = fitted(0.0, 0.0)
    assert without_constant.theta[0] == 0
    assert without_constant.log_covariance[0].tolist() == [0, 0]


def test_a_parameter_has_an_effect_where_a_larger_one_changes_a_time() -> None:
    """The first counts where it is above 1 alone, the second not at all."""
    p = np.array([1.0, 2.0, 4.0])
    formula = TimeFormula(
        family="parts",
        text="max(a, 1) + c / p",
        parameters=tuple(FitParameter(name, "s", name) for name in "abc"),
        time=lambda theta, points: np.maximum(theta[0], 1.0) + theta[2] / points.p,
        starting_points=lambda timings: [np.ones(3)],
    )
    timings = Timings(p, np.ones(3), np.array([3.0, 2.0, 1.5]))
    changes = np.array([0.5, 0.5, 0.5])
    without = least_squares._are_without_effect(formula, np.ones(3), changes, timings)
    assert without.tolist() == [False, True, False]
