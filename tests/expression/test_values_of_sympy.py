"""Each function of formulas has in SymPy the value that it has in a model."""

from __future__ import annotations

import random

import numpy as np
import pytest
import sympy

from slipstick.expression.formula import _FUNCTIONS, read_expression
from slipstick.expression.nodes import Parameter
from slipstick.expression.symbolic import _LATEX_TEMPLATES, to_sympy
from slipstick.expression.tape import Tape
from tests.recorded.inputs import CALLS

WITHOUT_A_VALUE = {*_LATEX_TEMPLATES}
"""What SymPy has only a name for."""
NAMES = [
    name
    for name, (_, operand_count) in _FUNCTIONS.items()
    if operand_count and name not in WITHOUT_A_VALUE
]
POINTS = 6
COUNTS_FROM_ONE = ("ceil_log",)
"""Functions whose first operand is a number from 1 on."""


@pytest.mark.parametrize("name", NAMES)
def test_a_function_has_the_same_value_in_sympy(name: str) -> None:
    text = f"{name}{CALLS[_FUNCTIONS[name][1] or 0]}"
    names = [letter for letter in "abcd" if letter in text.removeprefix(name)]
    expression = read_expression(text, {letter: Parameter(letter) for letter in names})
    chance = random.Random(name)
    compared = 0
    for _ in range(4 * POINTS):
        # The second operand may be a whole number at least 2: a base, or a count.
        point = {letter: chance.choice((0.3, 0.7, 0.9, 1.7)) for letter in names}
        if "b" in point:
            point["b"] = float(chance.randint(2, 5))
        if name in COUNTS_FROM_ONE:
            point["a"] *= 10
        arrays = {letter: np.array([number]) for letter, number in point.items()}
        value = float(Tape([expression]).run(arrays)[0][0])
        exact = {
            sympy.Symbol(letter, positive=True): sympy.Rational(str(round(number, 6)))
            for letter, number in point.items()
        }
        symbolic = to_sympy(expression).subs(exact).doit()
        if np.isfinite(value) and symbolic.is_number:
            assert float(sympy.N(symbolic, 20)) == pytest.approx(value, rel=1e-9, abs=1e-12)
            compared += 1
    assert compared >= POINTS
