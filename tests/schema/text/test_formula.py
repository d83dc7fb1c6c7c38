"""Formulas: what they mean, what is refused in which words, and that nothing in them is
executed.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slipstick.errors import FormulaError, ModelError, UnitError
from slipstick.expression import nodes, special
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    RATE,
    TIME,
    TIME_PER_BYTE,
    Dimension,
    Expr,
    Number,
    Operation,
    Parameter,
    text,
)
from slipstick.expression.tape import Tape
from slipstick.law.law import Law
from slipstick.schema.kinds.quantity import read_condition, read_expression
from slipstick.units import parse
from tests.payloads import PAYLOADS

PARAMETERS = (
    Parameter("n", COUNT, 7.0),
    Parameter("parts", COUNT, 3.0),
    Parameter("tree.radix", COUNT, 0.37),
    Parameter("t", TIME, 9e-3),
    Parameter("page.fault_2", TIME, 1.7e-5),
    Parameter("bytes", BYTES, 4120.0),
    Parameter("gap", TIME_PER_BYTE, 8e-8),
    Parameter("arrivals", RATE, 0.3),
)
from tests.every_law import every_law

KNOWN: dict[str, Expr] = {each.name: each for each in PARAMETERS}
READERS = (read_expression, read_condition)


def bits(expr: Expr) -> bytes:
    return Tape([expr]).run({})[0].tobytes()


def value(formula: str) -> float:
    return float(Tape([read_expression(formula, KNOWN)]).run({})[0][0])


# What a formula means


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("12", 12.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("2.5E-3", 0.0025),
        ("0", 0.0),
        ("5e-324", 5e-324),
        ("-2 ** 2", -4.0),
        ("(-2) ** 2", 4.0),
        ("2 ** 3 ** 2", 512.0),
        ("2 ** -1", 0.5),
        ("2 ** -2 ** 2", 0.0625),
        ("-2 ** -2", -0.25),
        ("2 ** (1 + 1)", 4.0),
        ("8 - 4 - 2", 2.0),
        ("8 - (4 - 2)", 6.0),
        ("8 / 4 / 2", 1.0),
        ("8 / 4 * 2", 4.0),
        ("2 + 3 * 4", 14.0),
        ("2 * 3 + 4", 10.0),
        ("2 * -3", -6.0),
        ("2 - -3", 5.0),
        ("- - 3", 3.0),
        ("+3 - +-+2", 5.0),
        ("1 - 2 + 3 - 4 + 5", 3.0),
        ("2 * 3 ** 2", 18.0),
        ("max(1, 5, 3) + min(4, 2)", 7.0),
        ("max(4)", 4.0),
        ("ceil(1.2) * floor(1.8)", 2.0),
        ("log2(8) + sqrt(16)", 7.0),
        ("ceil_log(46656, 36)", 3.0),
        ("select(3, 2, 10, 20)", 20.0),
        ("ceil(bytes / 4096 B)", 2.0),
        ("4KiB / 1 B", 4096.0),
        ("\n ceil (\tbytes / 4096\n B ) ", 2.0),
        ("n * page.fault_2 / page.fault_2", 7.0),
        ("max(t, 0) / t", 1.0),
    ],
)
def test_means_what_arithmetic_means(formula: str, expected: float) -> None:
    assert value(formula) == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("exp(log(5))", 5.0),
        ("exprel(0) + exprel(log(2)) * log(2)", 2.0),
        ("pow(2, 0.5) * sqrt(2)", 2.0),
        ("geometric_sum(0.5, 3)", 1.75),
        ("geometric_mean(1, parts)", 1.5),
        ("erlang_b(1, 2)", 0.2),
        ("engset(1, 2, parts)", 3 / 7),
        ("poisson(2, 3)", 8 / 6 * math.exp(-2)),
        ("drop_stages(0.5, 2, 2, 1)", 0.4375),
        ("retried_rate(0.5, 2, 2, 1)", 4 - 2 * math.sqrt(3)),
    ],
)
def test_what_laws_are_made_of_can_be_written(formula: str, expected: float) -> None:
    assert value(formula) == pytest.approx(expected, rel=1e-14)


@every_law
def test_every_law_as_it_is_printed_reads_back(law: Law) -> None:
    symbols: dict[str, Expr] = {
        each.name: Parameter(each.name, each.dimension) for each in law.symbols
    }
    again = read_expression(repr(law.right_side), symbols)
    assert repr(again) == repr(law.right_side)
    assert again.dimension == law.right_side.dimension


CONSTANTS = st.integers(0, 9).map(ast.Constant)
NAMES = st.sampled_from(["n", "parts"]).map(lambda name: ast.Name(name, ast.Load()))


def trees(
    leaves: st.SearchStrategy[ast.expr], operators: list[ast.operator], least: int
) -> st.SearchStrategy[ast.expr]:
    exponents = st.integers(least, 3).map(ast.Constant)

    def larger(inner: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
        return (
            st.builds(ast.BinOp, inner, st.sampled_from(operators), inner)
            | st.builds(ast.BinOp, inner, st.just(ast.Pow()), exponents)
            | st.builds(ast.UnaryOp, st.sampled_from([ast.USub(), ast.UAdd()]), inner)
        )

    return st.recursive(leaves, larger, max_leaves=20)


def power(base: float, exponent: int) -> float:
    """Multiply as the kernel does, whose last bit is not that of Python's own power."""
    whole = (1.0, base, base * base, base * (base * base))[abs(exponent)]
    return whole if exponent >= 0 else 1.0 / whole


def evaluated(node: ast.expr) -> float:
    """Compute what Python would; ArithmeticError where a double is not exact any more or there
    is no value.
    """
    match node:
        case ast.Constant(int(number)):
            return float(number)
        case ast.Name(name):
            known = KNOWN[name]
            assert isinstance(known, Parameter)
            assert known.value is not None
            return known.value
        case ast.UnaryOp(ast.USub(), operand):
            return -evaluated(operand)
        case ast.UnaryOp(ast.UAdd(), operand):
            return evaluated(operand)
        case ast.BinOp(left, ast.Pow(), ast.Constant(int(exponent))):
            return finite(power(evaluated(left), exponent))
        case ast.BinOp(left, operator, right):
            return finite(OPERATORS[type(operator)](evaluated(left), evaluated(right)))
    raise TypeError(node)


OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


def finite(number: float) -> float:
    if abs(number) >= 2**53:
        raise OverflowError
    return number


@pytest.mark.parametrize(
    "strategy",
    [
        trees(CONSTANTS, [ast.Add(), ast.Sub(), ast.Mult()], 0),
        trees(NAMES, [ast.Add(), ast.Sub(), ast.Mult(), ast.Div()], -3),
    ],
    ids=["numbers", "names"],
)
@given(data=st.data())
def test_binds_as_python_does(strategy: st.SearchStrategy[ast.expr], data: st.DataObject) -> None:
    """Python prints the tree, with as few brackets as its grammar needs."""
    tree = data.draw(strategy)
    try:
        expected = evaluated(tree)
    except ArithmeticError:
        assume(False)
    assert value(ast.unparse(tree)) == expected


# Trees, their text, and back


@st.composite
def expressions(draw: st.DrawFn, dimension: Dimension = COUNT, depth: int = 4) -> Expr:
    """Build a tree of one dimension over `PARAMETERS` with the node functions."""
    leaves: list[Expr] = [each for each in PARAMETERS if each.dimension == dimension]
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float)
        return draw(
            st.sampled_from(leaves) | numbers.map(Number)
            if dimension == COUNT
            else st.sampled_from(leaves)
        )

    def inner(of: Dimension = dimension) -> Expr:
        return draw(expressions(of, depth - 1))

    several = range(draw(st.integers(1, 4)))
    choices: list[Callable[[], Expr]] = [
        lambda: nodes.total([inner() for _ in several]),
        lambda: nodes.maximum(*(inner() for _ in several)),
        lambda: nodes.minimum(*(inner() for _ in several), 0),
        lambda: inner() + inner(),
        lambda: inner() - inner(),
        lambda: 0 - inner(),
        lambda: -inner(),
        lambda: inner(COUNT) * inner(),
        lambda: inner() * inner(COUNT),
        lambda: inner() / inner(COUNT),
        lambda: nodes.select(inner(BYTES), inner(BYTES), inner(), inner()),
    ]
    if dimension == TIME:
        choices += [lambda: inner(TIME_PER_BYTE) * inner(BYTES), lambda: inner(COUNT) / inner(RATE)]
    if dimension == COUNT:
        choices += [
            lambda: inner() ** draw(st.integers(-64, 64)),
            lambda: inner(TIME) * inner(TIME) ** -1,
            lambda: inner(BYTES) / inner(BYTES),
            lambda: draw(st.sampled_from([nodes.ceil, nodes.floor, nodes.log2, nodes.sqrt]))(
                inner()
            ),
            lambda: nodes.ceil_log(inner(), draw(st.integers(2, 64))),
            lambda: nodes.select(inner(), inner(), inner(), inner()),
            lambda: special.erlang_b(inner(), draw(st.integers(0, 20))),
            lambda: special.drop_stages(inner(), 2, 3, draw(st.integers(0, 9))),
            lambda: draw(st.sampled_from([special.exp, special.log, special.exprel]))(inner()),
        ]
    try:
        return draw(st.sampled_from(choices))()
    except ModelError:  # numbers only, and no value: division by zero, not finite, log2(-1)
        return draw(st.sampled_from(leaves))


def has_negative_zero(expr: Expr) -> bool:
    """Find what text does not tell from zero."""
    return any(
        isinstance(each, Number) and each.value == 0 and math.copysign(1, each.value) < 0
        for each in nodes.walk(expr)
    )


@given(st.sampled_from([COUNT, TIME, BYTES]).flatmap(expressions))
def test_text_reads_back_to_the_same_bits(tree: Expr) -> None:
    written = repr(tree)
    assume(len(written) <= 4096 and not has_negative_zero(tree))
    again = read_expression(written, KNOWN)
    assert bits(again) == bits(tree)
    assert again.dimension == tree.dimension
    assert repr(read_expression(repr(again), KNOWN)) == repr(again)


def test_what_is_booked_reads_back_without_its_label() -> None:
    tree = KNOWN["t"] * nodes.Booked("busy", KNOWN["n"] + KNOWN["parts"])
    assert bits(read_expression(repr(tree), KNOWN)) == bits(tree)


def test_a_long_sum_is_one_node() -> None:
    formula = " + ".join(["t"] * 1000)
    tree = read_expression(formula, KNOWN)
    assert isinstance(tree, Operation)
    assert len(tree.operands) == 1000
    assert text(tree) == formula


@pytest.mark.turns(4)
@pytest.mark.parametrize("sign", ["-", "*", "/", "+ 1 -"])
def test_the_highest_tree_that_is_read_can_be_written(sign: str) -> None:
    for terms in range(2, 160):
        try:
            tree = read_expression(f" {sign} ".join(["n"] * terms), KNOWN)
        except FormulaError:
            break
        assert len(text(tree)) > terms
    assert 75 <= terms < 159


def test_nesting_up_to_the_limit() -> None:
    assert value("(" * 60 + "n" + ")" * 60) == 7.0
    assert value("-" * 60 + "n") == 7.0
    assert value("max(1, " * 60 + "n" + ")" * 60) == 7.0
    assert value("(n + 2 * " * 60 + "n" + ")" * 60) == pytest.approx(7.0 * 2**61)


def test_what_a_name_stands_for_is_shared_not_copied() -> None:
    doubled: Expr = KNOWN["n"]
    for _ in range(8):
        doubled = doubled + doubled * 2
    tree = read_expression("x + x * x", {"x": doubled})
    assert isinstance(tree, Operation)
    assert tree.operands[0] is doubled


# Conditions


@pytest.mark.parametrize(
    ("condition", "comparisons"),
    [
        ("parts <= 8", ["parts <= 8"]),
        ("1 <= parts < 8", ["1 <= parts", "parts < 8"]),
        ("n == 7 and parts != 4", ["n == 7", "parts != 4"]),
        ("n + 1 > 2 * parts and t >= 0 and n<9", ["n + 1 > 2 * parts", "t >= 0", "n < 9"]),
        ("n >= 1and parts > 1\tand\nn > 0", ["n >= 1", "parts > 1", "n > 0"]),
    ],
)
def test_conditions(condition: str, comparisons: list[str]) -> None:
    found = read_condition(condition, KNOWN)
    assert [str(each) for each in found] == comparisons
    assert all(each.holds({}).all() for each in found)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("bytes > 4 KiB", True),
        ("bytes > 2 * 3 KiB", False),
        ("t < 10 ms", True),
        ("t < 3 ms", False),
        ("1 us < page.fault_2 < 20us", True),
        ("arrivals < 1 / 2 s", True),
        ("arrivals * 3 s < 0.5", False),
    ],
)
def test_conditions_compare_quantities(condition: str, holds: bool) -> None:
    assert all(each.holds({}).all() for each in read_condition(condition, KNOWN)) is holds


# What is refused, word for word

PLAIN_TIME = "; write the plain number with a unit of [s], or divide the [s] by one"
PLAIN_BYTES = "; write the plain number with a unit of [B], or divide the [B] by one"
WANTED = "a number, a name or '(' is wanted here, got"
STRANGE = "is no part of arithmetic; operators are + - * / **"
MISSING = "has no operator before it; operators are + - * / **"
COMPARES = "'<' compares; that is for conditions, and not within brackets"
EXPONENT = (
    "an exponent must be a whole number from -64 to 64, written out (others by pow(x, y) of plain"
    " numbers, in quotes); got"
)
NESTED = "this has over 60 levels of brackets, signs and powers; give the inner part a name"
MANY = "this has over 1000 operations; give parts of it names"
HIGH = "this has over 150 operations that wait for each other; form groups, as in (a * b) * (c * d)"
LARGE = (
    "this has over 20000 operations with its names written out; make the formulas that it names"
    " shorter"
)
FUNCTIONS = "max, min, ceil, floor, log2, sqrt, ceil_log, select, exp, exprel, log, pow, ..."
ALL_NAMES = ", ".join(KNOWN)
AFTER_A_NUMBER = (
    "a unit follows one number, not a formula: compute the number, or make it a parameter with its"
    " unit and write the parameter's name"
)


def time_in_formula(text: str) -> str:
    return (
        f"{text!r} holds time; name it under parameters, such as extra: {text}, and write extra"
        " here, so that its share can be computed"
    )


def character(name: str) -> str:
    return f"the character {name} cannot stand here; write ASCII: * / - <="


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("formula", "column", "message"),
    [
        ("", 1, f"{WANTED} the end"),
        (" \n ", 4, f"{WANTED} the end"),
        ("n +", 4, f"{WANTED} the end"),
        ("n * / 2", 5, f"{WANTED} '/'"),
        ("n // 2", 4, f"{WANTED} '/'"),
        ("()", 2, f"{WANTED} ')'"),
        ("max(1, )", 8, f"{WANTED} ')'"),
        ("_n", 1, f"{WANTED} '_'"),
        ("'n'", 1, f'{WANTED} "\'"'),
        ("n[0]", 2, f"'[' {STRANGE}"),
        ("n; parts", 2, f"';' {STRANGE}"),
        ("n parts", 3, f"'parts' {MISSING}"),
        ("n 3 B", 3, f"'3 B' {MISSING}"),
        ("2 (n)", 3, f"'(' {MISSING}"),
        ("parts(3)", 6, f"'(' {MISSING}"),
        ("n if parts else 2", 3, f"'if' {MISSING}"),
        ("n +- 2", 3, "a range is written LOW..HIGH, not with '+-'"),
        ("n ^ 2", 3, "'^' is no operator; write ** for a power"),
        ("n % 2", 3, "'%' is no operator; write 50 % as 0.5"),
        ("n = 2", 3, "'=' does not compare; write ==, >= or <= in a condition"),
        ("n < 2", 3, COMPARES),
        ("n)", 2, "')' closes nothing; take it away, or write a '(' before it"),
        ("1,000", 2, "',' stands only between what a function takes; a thousand is 1000"),
        ("(1, 2)", 3, "',' stands only between what a function takes; a thousand is 1000"),
        (
            "n and parts",
            3,
            "'and' cannot stand here; only comparisons are joined, and only with 'and'",
        ),
        ("1 or 2", 3, "'or' cannot stand here; only comparisons are joined, and only with 'and'"),
        ("2 * (n + 1", 11, "the '(' at column 5 is not closed; write a ')'"),
        ("max(n, (1)", 11, "the '(' at column 4 is not closed; write a ')'"),
        ("2 * part", 5, "there is no name 'part'; did you mean 'parts'?"),
        ("2/3 /h", 6, f"there is no name 'h'; {AFTER_A_NUMBER}"),
        ("x", 1, f"there is no name 'x'; known: {ALL_NAMES}"),
        ("n.real", 1, f"there is no name 'n.real'; known: {ALL_NAMES}"),
        ("nan", 1, f"there is no name 'nan'; known: {ALL_NAMES}"),
        ("inf + 1", 1, f"there is no name 'inf'; known: {ALL_NAMES}"),
        ("max + 1", 1, f"there is no name 'max'; known: {ALL_NAMES}"),
        ("ciel(n)", 1, "there is no function 'ciel'; did you mean 'ceil'?"),
        ("1 + tan (n)", 5, f"there is no function 'tan'; known: {FUNCTIONS}"),
        ("erlang_c(n, 2)", 1, "there is no function 'erlang_c'; did you mean 'erlang_b'?"),
        ("erlang_b(n)", 1, "erlang_b takes 2 operands, got 1"),
        ("engset(n, 2, t)", 1, "engset takes a plain number, got [s]: t"),
        (
            "engset(1, 1e6, 0.5)",
            1,
            (
                "engset(load, servers, sources) takes at least as many sources as servers, 1000000;"
                " got 0.5 sources"
            ),
        ),
        ("max()", 1, "max takes at least 1 operand, got 0"),
        ("ceil()", 1, "ceil takes 1 operand, got 0"),
        ("2 * sqrt(n, 2)", 5, "sqrt takes 1 operand, got 2"),
        ("ceil_log(n)", 1, "ceil_log takes 2 operands, got 1"),
        ("n ** parts", 6, f"{EXPONENT} 'parts'"),
        ("n ** 0.5", 6, f"{EXPONENT} '0.5'"),
        ("n ** 65", 6, f"{EXPONENT} '65'"),
        ("n ** (2 B)", 6, f"{EXPONENT} '2 B'"),
        ("9**9**9**9", 7, f"{EXPONENT} '387420489'"),
        ("2**(2**40)", 4, f"{EXPONENT} '1099511627776'"),
        ("3 ms", 1, time_in_formula("3 ms")),
        ("n * 2us", 5, time_in_formula("2us")),
        ("n / 3 GHz", 5, time_in_formula("3 GHz")),
        ("0 s + t", 1, time_in_formula("0 s")),
        ("n × 2", 3, character("U+00D7 MULTIPLICATION SIGN")),
        ("n − 2", 3, character("U+2212 MINUS SIGN")),
        ("n\0", 2, character("U+0000 without a name")),
        ("n\r\n", 2, character("U+000D without a name")),
        ("n\ud800", 2, character("U+D800 without a name")),
        ("n" * 4097, 4097, "this has over 4096 characters; give parts of it names"),
        ("(" * 61 + "n", 61, NESTED),
        ("-" * 61 + "n", 61, NESTED),
        ("n" + " ** 1" * 61, 303, NESTED),
        ("max(" * 61 + "n", 241, NESTED),
        ("+".join(["n"] * 1002), 2002, MANY),
        ("*".join(["n"] * 200), 300, HIGH),
        ("deep * n", 1, HIGH),
        ("2 * wide", 5, LARGE),
        # the words of what cannot be built
        ("n + t", 3, f"cannot add [1] and [s]: n and t{PLAIN_TIME}"),
        ("n + 2 + t + n", 7, f"cannot add [1] and [s]: n and t{PLAIN_TIME}"),
        (
            "0 + t + bytes",
            14,
            "cannot add [s] and [B]: t and bytes; multiply the [B] by a quantity in [s/B]",
        ),
        ("n - t", 3, f"cannot subtract [1] and [s]: n and t{PLAIN_TIME}"),
        ("1 + max(n, t)", 5, f"cannot compare [1] and [s]: n and t{PLAIN_TIME}"),
        ("2 * ceil(t)", 5, "ceil takes a plain number, got [s]: t"),
        ("n / (2 - 2)", 3, "division by zero: n / 0"),
        ("1e308 * 10", 7, "a number in an expression must be finite, got inf"),
        ("1e308 + 1e308", 14, "a number in an expression must be finite, got inf"),
        ("0 ** -1", 3, "0 ** -1 is not a finite number"),
        ("9e9 ** 64", 5, "9e+09 ** 64 is not a finite number"),
        ("log2(0)", 1, "log2 has no value at 0"),
        ("sqrt(-1)", 1, "sqrt has no value at -1"),
        ("ceil_log(4, 1)", 1, "the radix of ceil_log must be a whole number of at least 2, got 1"),
    ],
)
def test_refuses_an_expression(formula: str, column: int, message: str) -> None:
    deep = wide = KNOWN["n"]
    for _ in range(150):
        deep = deep * 2
    for _ in range(40):
        wide = wide * wide
    with pytest.raises(FormulaError) as refused:
        read_expression(
            formula,
            (
                {**KNOWN, "deep": deep, "wide": wide}
                if {"deep", "wide"} & set(formula.split())
                else KNOWN
            ),
        )
    assert (refused.value.column, str(refused.value)) == (column, message)


@pytest.mark.parametrize(
    ("condition", "column", "message"),
    [
        ("", 1, f"{WANTED} the end"),
        ("n", 2, "a condition compares two sides, as in 'parts <= 8'"),
        ("n < 2 and parts", 16, "a condition compares two sides, as in 'parts <= 8'"),
        ("n and parts < 2", 3, "a condition compares two sides, as in 'parts <= 8'"),
        ("n < 2 and", 10, f"{WANTED} the end"),
        (
            "n < 2 or n > 3",
            7,
            "'or' cannot stand here; only comparisons are joined, and only with 'and'",
        ),
        ("(n < 2) and n > 1", 4, COMPARES),
        ("n = 2", 3, "'=' does not compare; write ==, >= or <= in a condition"),
        ("n => 2", 3, "'=' does not compare; write ==, >= or <= in a condition"),
        ("bytes < 2 B parts", 13, f"'parts' {MISSING}"),
        ("n <> 2", 4, f"{WANTED} '>'"),
        ("not n < 2", 1, f"there is no name 'not'; known: {ALL_NAMES}"),
        ("n >= 500 /sec", 11, "there is no name 'sec'; the unit is written 's'"),
        ("n < t", 3, f"cannot compare [1] and [s]: n and t{PLAIN_TIME}"),
        ("1 < n < t", 7, f"cannot compare [1] and [s]: n and t{PLAIN_TIME}"),
        ("n <= 4 B", 3, f"cannot compare [1] and [B]: n and 4 B{PLAIN_BYTES}"),
    ],
)
def test_refuses_a_condition(condition: str, column: int, message: str) -> None:
    with pytest.raises(FormulaError) as refused:
        read_condition(condition, KNOWN)
    assert (refused.value.column, str(refused.value)) == (column, message)


@pytest.mark.parametrize(
    "number", ["017", "00", "1_000", "1e400", "1e-400", "0x10", "1.2.3", "3 parts", "3 MS", "2 e5"]
)
def test_refuses_a_number_in_the_words_of_the_units(number: str) -> None:
    with pytest.raises(UnitError) as unit:
        parse(number)
    with pytest.raises(FormulaError) as refused:
        read_expression(f"n + {number}", KNOWN)
    assert (refused.value.column, str(refused.value)) == (5, str(unit.value))


def test_suggests_only_what_can_be_written() -> None:
    with pytest.raises(FormulaError, match=r"^there is no name 'page'; known: n$"):
        read_expression("page-fault", {"page-fault": KNOWN["t"], "n": KNOWN["n"]})


def problem(
    reader: Callable[..., object], formula: str, known: dict[str, Expr]
) -> FormulaError | None:
    try:
        reader(formula, known)
    except FormulaError as refused:
        return refused
    return None


@pytest.mark.turns(4)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "formula",
    [
        "9**9**9**9",
        "2**(2**40)",
        "((((2**64)**64)**64)**64)**64",
        "ceil_log(1e308, 2) < 2",
        "ceil(1e308) < floor(-1e308)",
        "ceil_log(1e308, 1e308) < 3",
        "(((n**64)**64)**64)**64 > " + "(t" * 20 + "**64)" * 20,
        "max(" + ",".join(["n"] * 2000) + ")",
        "max(" + ",".join(["wide"] * 800) + ")",
        "+".join(["wide"] * 800),
        "9" * 4096,
        "1e" + "9" * 4000,
        "n" + "_" * 4000,
        "n" + ".n" * 2000,
        "." * 4096,
        "1 " * 2048,
        "n (" * 1300,
        "n" + " " * 4000 + "n",
        "<" * 4096,
        "*" * 4096,
        ")" * 4096,
    ],
)
def test_answers_at_once(reader: Callable[..., object], formula: str) -> None:
    """Counted in calls, which no busy machine changes; what hangs in one call hangs the test."""
    wide, calls = nodes.total([KNOWN["n"]] * 18_000), 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        problem(reader, formula, {**KNOWN, "wide": wide})
    finally:
        sys.setprofile(None)
    assert calls < 400_000


SIGNS = "( ) , + - * / ** < <= > >= == != and or 1 0 017 2.5 1e9 -64 B ms KiB"
PIECES = [*KNOWN, *FUNCTIONS.split(", "), *SIGNS.split()]
TEXTS = (
    st.text(max_size=60)
    | st.text("nt019.eE_+-*/()<>=!,; \n\tBms", max_size=60)
    | st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)
    | st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
)


@pytest.mark.turns(8)
@pytest.mark.parametrize("reader", READERS)
@given(formula=TEXTS)
def test_any_text_is_a_tree_or_a_formula_error(reader: Callable[..., object], formula: str) -> None:
    refused = problem(reader, formula, KNOWN)
    if refused:
        assert 1 <= refused.column <= len(formula) + 1
        assert "\n" not in str(refused)


# Nothing is executed


@pytest.mark.turns(5)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_never_executes(reader: Callable[..., object], payload: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(FormulaError):
        reader(payload.format(marker=marker), KNOWN)
    assert not marker.exists()


def test_evaluates_over_arrays() -> None:
    tree = read_expression("ceil(bytes / 4096 B) * page.fault_2", KNOWN)
    result = Tape([tree]).run({"bytes": np.array([1.0, 4096.0, 4097.0])})[0]
    assert result.tolist() == [1.7e-5, 1.7e-5, 3.4e-5]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("rate >= 4000 /s", 1.0), ("rate >= 4000 /min", 60.0), ("rate>=4000/ms", 1e-3)],
)
def test_a_condition_compares_a_rate_with_its_unit(text: str, seconds: float) -> None:
    known = {"rate": nodes.Parameter("rate", nodes.RATE, 1.0)}
    (comparison,) = read_condition(text, known)
    assert comparison.right == nodes.Number(4000.0 / seconds, nodes.RATE)
    # A name that is known stays that name, and what is no unit of time is none.
    named = {**known, "s": nodes.Parameter("s", nodes.TIME, 2.0)}
    (divided,) = read_condition("rate >= 4000 /s", named)
    assert divided.right == 4000 / named["s"]
    for unit in ("x", "B", "rate"):
        with pytest.raises(FormulaError):
            read_condition(f"rate >= 4000 /{unit}", known)
