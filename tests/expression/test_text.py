"""Text, LaTeX and SymPy say what the tape computes."""

from __future__ import annotations

import math

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from slipstick.expression.nodes import (
    COUNT,
    TIME,
    Booked,
    Expr,
    Number,
    Parameter,
    ceil,
    ceil_log,
    floor,
    log2,
    maximum,
    minimum,
    number_text,
    parameters,
    select,
    sqrt,
    substitute,
    text,
)
from slipstick.expression.symbolic import latex, to_sympy
from slipstick.expression.tape import Tape
from tests.evaluators import value
from tests.strategies import expressions, parameter_values, quick

A, B, C = (Parameter(name, value=number) for name, number in (("a", 2.0), ("b", 3.0), ("c", 5.0)))
PYTHON = {
    "max": max,
    "min": min,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ceil_log": lambda n, r: next(k for k in range(2000) if int(r) ** k >= n),
    "select": lambda x, limit, below, above: below if x <= limit else above,
}
WORDS = [
    (A + B + C, "a + b + c", "a + b + c"),
    (A + (B + C), "a + (b + c)", "a + b + c"),
    (A - (B - C), "a - (b - c)", "a - \\left(b - c\\right)"),
    (A - B - C, "a - b - c", "a - b - c"),
    ((A + B) * C, "(a + b) * c", "\\left(a + b\\right) c"),
    (A * B / C, "a * b / c", "\\frac{a b}{c}"),
    (A / (B * C), "a / (b * c)", "\\frac{a}{b c}"),
    (A / B * C, "a / b * c", "\\frac{a}{b} c"),
    (-A * 2, "-1 * a * 2", "2 \\left(- a\\right)"),
    ((A + 1) ** 2, "(a + 1) ** 2", "\\left(a + 1\\right)^{2}"),
    (A**-2, "a ** (-2)", "\\frac{1}{a^{2}}"),
    (A * B * C, "a * b * c", "a b c"),
    (A * 0.1, "a * 0.1", "0.1 a"),
    (maximum(A, B + 1), "max(a, b + 1)", "\\max\\left(a, b + 1\\right)"),
    (minimum(A, B), "min(a, b)", "\\min\\left(a, b\\right)"),
    (sqrt(ceil(A)), "sqrt(ceil(a))", "\\sqrt{\\left\\lceil{a}\\right\\rceil}"),
    (log2(floor(A)), "log2(floor(a))", None),
    (ceil_log(A, 36), "ceil_log(a, 36)", None),
    (select(A, 4, B, C), "select(a, 4, b, c)", None),
    (Booked("step", A) * B, "a * b", "a b"),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("expr", "words", "paper"), WORDS, ids=[each[1] for each in WORDS])
def test_text_and_latex_of_each_construct(expr: Expr, words: str, paper: str | None) -> None:
    assert text(expr) == repr(expr) == words
    written = latex(expr, {"a": "a", "b": "b", "c": "c"})
    if paper is not None:
        assert written == paper
    assert all(
        name in written
        for name in ("a", "b", "c")
        if name in {each.name for each in parameters(expr)}
    )


@quick
@given(expressions(COUNT, smooth=True), parameter_values())
def test_text_reads_back_as_the_same_arithmetic(expr: Expr, values: dict[str, float]) -> None:
    """Python's own rules of precedence give the same value."""
    short = {
        "work": "w",
        "bus.time": "bt",
        "sync-time": "st",
        **{name: name for name in ("size", "page", "wire")},
    }
    names = {
        each.name: Parameter(short.get(each.name, each.name), each.dimension)
        for each in parameters(expr)
    }
    written = text(substitute(expr, names))
    scope = {short.get(name, name): each for name, each in values.items()}
    read = eval(written, {"__builtins__": {}}, {**PYTHON, **scope})
    assert read == pytest.approx(value(expr, values), rel=1e-9, abs=1e-9)


@quick
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_the_same_double(number: float) -> None:
    assert float(number_text(number)) == number


@pytest.mark.turns(4)
@quick
@given(expressions(TIME, smooth=True), parameter_values())
def test_sympy_agrees_with_the_tape(expr: Expr, values: dict[str, float]) -> None:
    names = {each.name for each in parameters(expr)}
    point = {
        sympy.Symbol(name, positive=True): sympy.Rational(each)
        for name, each in values.items()
        if name in names
    }
    got = to_sympy(expr).subs(point, simultaneous=True)
    wanted = value(expr, values)
    assert float(got) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "expr",
    [
        ceil(A / B),
        floor(C / A),
        ceil_log(C * 7, 3),
        log2(A * C),
        select(A, B, A / C, B),
        select(B, A, A / C, B),
        maximum(A, 2 * A, C - B),
        maximum(A, C - B) + minimum(A, C - B),
        A**-3 / B,
    ],
    ids=str,
)
def test_sympy_agrees_on_each_stepping_function(expr: Expr) -> None:
    point = {
        sympy.Symbol(each.name, positive=True): sympy.Rational(each.value) for each in (A, B, C)
    }
    assert float(to_sympy(expr).subs(point)) == pytest.approx(
        float(Tape([expr]).run({})[0][0]), rel=1e-14
    )


@quick
@given(expressions(TIME))
def test_latex_names_every_parameter_as_it_is_told(expr: Expr) -> None:
    names = {each.name: f"Q_{{{index}}}" for index, each in enumerate(parameters(expr))}
    written = latex(expr, names)
    assert all(name in written for name in names.values())
    assert "v0" not in written


def test_a_path_is_upright_in_latex() -> None:
    assert latex(Parameter("machine.page_size")) == "\\mathrm{machine.page\\_size}"


def test_a_letter_that_sympy_reads_otherwise_is_a_name() -> None:
    """E, I, S, N, Q and lambda are constants, functions and keywords elsewhere."""
    for name in ("E", "I", "S", "N", "O", "Q", "beta", "lambda", "pi"):
        assert to_sympy(Parameter(name) + 1).free_symbols == {sympy.Symbol(name, positive=True)}
        assert to_sympy(Number(1.0)) == 1


def test_a_part_in_many_places_does_not_make_a_text_of_a_million_pages() -> None:
    """Sixty lines that each use the line before twice: text, hash and evaluation stay small."""
    expr: Expr = A
    for _ in range(60):
        expr = expr + expr
    assert text(expr) == "..."
    assert len({expr, expr}) == 1
    assert Tape([expr]).run({})[0].tolist() == [2.0**61]


def test_depth_does_not_matter_to_text() -> None:
    expr: Expr = A
    for _ in range(3000):
        expr = expr + B
    assert text(expr) == "a" + " + b" * 3000
