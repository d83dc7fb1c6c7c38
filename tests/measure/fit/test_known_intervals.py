"""Intervals of a constant, whose fit is the mean of the logarithms: by the bootstrap and by the
profile they are known from textbooks.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import mean

import numpy as np
import pytest

from slipstick.late import Array
from slipstick_measure.fit.formula import FitParameter, TimeFormula, Timings
from slipstick_measure.fit.intervals import (
    FitIntervals,
    _interval_of_draws,
    profile,
    resample,
)
from slipstick_measure.fit.least_squares import FittedFormula, fit_formula

ERRORS = (0.01, -0.02, 0.005, 0.015, -0.01, 0.003, -0.008, 0.005)
T_7, NORMAL = 1.894578605061305, 1.6448536269514722
"""Quantiles of 95 %, as printed in tables: Student's with 7 degrees of freedom, and the normal."""


def constant() -> FittedFormula:
    """Fit a constant to eight times about 7 s."""
    formula = TimeFormula(
        family="constant",
        text="t",
        parameters=(FitParameter("t", "s", "a constant"),),
        time=lambda theta, points: theta[0] * np.ones(len(points.p)),
        starting_points=lambda timings: [np.array([6.0])],
    )
    p = np.arange(1.0, 9.0)
    timings = Timings(p, np.ones(8), 7 * np.exp(np.array(ERRORS)))
    return fit_formula(formula, timings, np.array([6.0]))


def test_a_constant_has_the_scatter_and_the_criterion_of_the_textbook() -> None:
    fitted = constant()
    middle = mean(ERRORS)
    squares = sum((error - middle) ** 2 for error in ERRORS)
    assert fitted.theta == pytest.approx([7 * math.exp(middle)])
    assert fitted.degrees_of_freedom == 7
    assert fitted.sum_of_squares == pytest.approx(squares)
    assert fitted.scatter == pytest.approx(math.sqrt(squares / 7))
    assert fitted.aicc == pytest.approx(8 * math.log(squares / 8) + 2 * 2 * 8 / (8 - 2 - 1))
    error = fitted.standard_error(lambda thetas: np.log(thetas[:, 0]))
    assert error == pytest.approx(math.sqrt(squares / 7 / 8), rel=1e-4)


def test_draws_of_known_values_have_the_interval_of_student() -> None:
    # Of 19 draws the first and the last lie at 5 and 95 %.
    thetas = np.array([[10.0], *([float(draw)] for draw in range(19, 0, -1))])
    found = FitIntervals(constant(), partial(_interval_of_draws, thetas, 7)).parameters(0.9)["t"]
    widening = T_7 / NORMAL
    assert (found.value, found.low) == (10.0, 0.0)  # a parameter is not below 0
    assert found.high == pytest.approx(10 + 9 * widening)
    logs = FitIntervals(constant(), partial(_interval_of_draws, thetas, 7))
    ends = logs.interval_of_positive(lambda thetas: np.exp(thetas[:, 0]), 0.9)
    assert math.log(ends.low) == pytest.approx(10 - 9 * widening)
    assert math.log(ends.value) == pytest.approx(10)


def test_the_bootstrap_draws_the_residuals_that_are_made_larger() -> None:
    fitted = constant()
    residuals = np.array(ERRORS) - mean(ERRORS)
    generator = np.random.default_rng([5, *b"fit/constant"])
    larger = residuals * math.sqrt(8 / 7)
    logs = sorted(float(generator.choice(larger, 8).mean()) for _ in range(19))
    found = resample(fitted, 5, 19).parameters(0.9)["t"]
    best = 7 * math.exp(mean(ERRORS))

    def end(log: float) -> float:
        return best + T_7 / NORMAL * best * (math.exp(log) - 1)

    assert found.value == pytest.approx(best)
    assert (found.low, found.high) == pytest.approx((end(logs[0]), end(logs[-1])), rel=1e-6)


@pytest.mark.parametrize(("level", "quantile"), [(0.9, T_7), (0.95, 2.3646242515927844)])
def test_the_profile_of_a_constant_is_the_interval_of_student(
    level: float, quantile: float
) -> None:
    fitted = constant()
    spread = math.sqrt(sum((error - mean(ERRORS)) ** 2 for error in ERRORS) / 7 / 8)

    def time_of(thetas: Array) -> Array:
        return np.asarray(thetas[:, 0])

    found = profile(fitted).interval_of_positive(time_of, level)
    ends = [math.log(found.value / found.low), math.log(found.high / found.value)]
    assert ends == pytest.approx([quantile * spread] * 2, rel=0.02)
