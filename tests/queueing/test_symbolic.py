"""Formulas equal the numbers, and refuse to fill a page."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.network import network_arrays
from slipstick.queueing.symbolic import symbolic_mean_values
from tests.queueing.reference_mva import mean_values

A, B, C, D, Z = sympy.symbols("a b c d z", positive=True)


@pytest.mark.parametrize("population", [[0], [1], [6], [2, 1], [0, 2]], ids=str)
def test_a_formula_equals_the_recursion_in_numbers(population: list[int]) -> None:
    demand, think = [[A, B], [C, D]][: len(population)], [Z, 0.25][: len(population)]
    throughput, response = symbolic_mean_values(demand, think, population)
    values = {A: 0.5, B: 0.2, C: 0.3, D: 0.7, Z: 1.5}
    numbers = [[values[each] for each in row] for row in demand]
    wanted = mean_values(network_arrays(numbers, population=population, think=[1.5, 0.25][: len(population)]))
    np.testing.assert_allclose([float(each.subs(values)) for each in throughput], wanted.throughput[0], rtol=1e-12)
    np.testing.assert_allclose(
        [float(each.subs(values)) for each in response], wanted.residence.sum(axis=2)[0], rtol=1e-12
    )


def test_a_formula_differentiates_to_the_complex_step() -> None:
    throughput, _ = symbolic_mean_values([[A, B]], [Z], [5])
    slope = throughput[0].diff(A).subs({A: 0.5, B: 0.2, Z: 1.5})
    stepped = mean_values(network_arrays([0.5 + 1e-20j, 0.2], population=5, think=1.5))
    assert float(slope) == pytest.approx(stepped.throughput[0, 0].imag / 1e-20, rel=1e-12)


def test_a_formula_too_long_is_refused() -> None:
    with pytest.raises(NoAnswerError) as refused:
        symbolic_mean_values([[A, B, C, D]], [Z], [40])
    assert str(refused.value) == (
        "the formula for populations (40,) has more than 2,000 terms; ask for the numbers, or for fewer customers, "
        "classes or stations"
    )


def test_what_makes_no_formula_is_refused() -> None:
    with pytest.raises(NoAnswerError, match="a cycle of class 1 takes no time: there is no formula for its throughput"):
        symbolic_mean_values([[0, 0]], [0], [2])
    with pytest.raises(ModelError, match="a formula needs demands that are polynomials in the symbols"):
        symbolic_mean_values([[sympy.exp(A)]], [0], [2])
    with pytest.raises(ModelError, match="a formula takes numbers and expressions, not str"):
        symbolic_mean_values([["a"]], [0], [2])
