"""Every law of the catalogue: its rows, its shape, its words, its conditions."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import random
import re
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import slipstick_laws as laws_beside
from slipstick import law as law_package
from slipstick.errors import ModelError
from slipstick.expression.nodes import (
    Expr,
    Number,
    Operation,
    Parameter,
    constant,
    substitute,
    walk,
)
from slipstick.expression.special import retried_rate
from slipstick.expression.symbolic import to_sympy
from slipstick.expression.tape import Tape
from slipstick.law import FAMILIES, LAWS, Law
from slipstick_laws.catalogue import FAMILIES as FAMILIES_BESIDE
from tests.every_law import every_law
from tests.expression.second_roads import at_point

ROWS = [(law, row) for law in LAWS.values() for row in law.checks]

ARITHMETIC = {"sum", "difference", "product", "quotient"}


def _left_behind(load: Any, count: int) -> Any:
    """Solve the chain of those whom a customer leaves behind, state by state: p_j = p_0 a_j +
    sum p_i a_(j+1-i).
    """
    arrived = [load**n * sympy.exp(-load) / math.factorial(n) for n in range(count + 2)]
    p = [1 - load]
    for j in range(count):
        into = p[0] * arrived[j] + sum(p[i] * arrived[j + 1 - i] for i in range(1, j + 1))
        p.append((p[j] - into) / arrived[0])
    return p[count]


FUNCTIONS = {
    "max": max,
    "min": min,
    "pow": pow,
    "exp": sympy.exp,
    "log": sympy.log,
    "exprel": lambda x: (sympy.exp(x) - 1) / x,
    "sqrt": sympy.sqrt,
    "floor": sympy.floor,
    "log2": lambda x: sympy.log(x, 2),
    "ceil_log": lambda n, r: next(k for k in range(99) if int(r) ** k >= n),
    "select": lambda x, limit, below, above: below if x <= limit else above,
    "geometric_sum": lambda r, n: sum(r**k for k in range(int(n))),
    "geometric_mean": lambda r, n: (
        sum(k * r**k for k in range(int(n) + 1)) / sum(r**k for k in range(int(n) + 1))
    ),
    "erlang_b": lambda a, c: _last_of_all([a**k / math.factorial(k) for k in range(int(c) + 1)]),
    "palm": lambda y, x: (
        1 / sum(itertools.accumulate((y / (x + k) for k in range(1, 400)), operator.mul, initial=1))
    ),
    "engset": lambda a, c, n: _last_of_all(
        [a**k * math.comb(int(n), k) for k in range(int(c) + 1)]
    ),
    "md1_number": lambda a, n: _left_behind(a, int(n)),
    "md1_late": lambda a, x: (
        1
        - (1 - a)
        * sum(
            (a * (k - x)) ** k / math.factorial(k) * sympy.exp(a * (x - k))
            for k in range(int(x) + 1)
        )
    ),
    "poisson": lambda a, n: a**n * sympy.exp(-a) / math.factorial(int(n)),
    "drop_stages": lambda m, a, b, n: reduce(
        lambda rate, _: 1 - (1 - rate / b) ** a, range(int(n)), m
    ),
    "retried_rate": lambda *args: one_value(retried_rate(*map(float, args))),
}
"""A second road to each function that an equation's text may hold."""


def _last_of_all(weights: list[Any]) -> Any:
    return weights[-1] / sum(weights)


def one_value(expr: Expr) -> float:
    return float(Tape([expr]).run({})[0][0])


def plain(law: Law) -> bool:
    """Return whether an equation is arithmetic alone."""
    return all(
        each.operator in ARITHMETIC for each in walk(law.right_side) if isinstance(each, Operation)
    )


def held(law: Law, values: Any) -> bool:
    return all(condition.holds(values).all() for condition in law.conditions)


def breaking(law: Law) -> dict[str, dict[str, float]]:
    """Find, for each condition, a point that breaks it: a row with one symbol changed."""
    found: dict[str, dict[str, float]] = {}
    for row, symbol in itertools.product(law.checks, law.symbols):
        value = law.given(row)[symbol.name]
        changes = (
            -1.0,
            0.0,
            value + 0.5,
            value - 0.5,
            0.5 * value,
            2 * value,
            1e3 * value + 1,
            1e12 * value,
            -1e9,
        )
        for point in ({**law.given(row), symbol.name: change} for change in changes):
            for condition in law.conditions:
                if not condition.holds(point).all():
                    found.setdefault(str(condition), point)
    return found


def test_published_rows() -> None:
    wrong = [
        f"{law.name}: {row.source}: {value} for {row.value}"
        for law, row in ROWS
        for value in [law(**law.given(row))]
        if not abs(value - row.value) <= row.within + 1e-14 * abs(row.value)
    ]
    assert len(ROWS) > 300
    assert wrong == []


NEIGHBOURS = {
    "product": "quotient",
    "quotient": "product",
    "sum": "difference",
    "difference": "sum",
    "max": "min",
    "min": "max",
    "floor": "ceil",
    "ceil": "floor",
}
"""What an operator is mistaken for."""


def slips(root: Expr, symbols: Any) -> Iterator[tuple[str, Expr]]:
    """Yield typical slips in an expression, each with what was changed: an exponent, an operator,
    the sides of one, a factor of 2, two symbols of one dimension.
    """
    for node in walk(root):
        if not isinstance(node, Operation):
            continue
        name, inside = node.operator, node.operands
        changed: list[tuple[str, tuple[Expr, ...]]] = []
        if name == "power":
            exponent = constant(inside[1])
            changed += [(name, (inside[0], Number(exponent + by))) for by in (1.0, -1.0)]
        elif name in NEIGHBOURS and (len(inside) == 2 or name != "sum"):
            changed.append((NEIGHBOURS[name], inside))
        if name in ("quotient", "difference", "pow"):
            changed.append((name, inside[::-1]))
        for index, operand in enumerate(inside if name != "power" else ()):
            if isinstance(operand, Number):
                other = Number(2 * operand.value or 1.0, operand.dimension)
                changed.append((name, (*inside[:index], other, *inside[index + 1 :])))
        for operator_name, operands in changed:
            new = Operation(operator_name, operands, node.dimension)
            yield f"{node} as {new}", replaced(root, node, new)
    for first, second in itertools.combinations(symbols, 2):
        if first.dimension == second.dimension:
            pair = (Parameter(each.name, each.dimension) for each in (second, first))
            exchange = dict(zip((first.name, second.name), pair, strict=True))
            yield f"{first.name} and {second.name} exchanged", substitute(root, exchange)


def replaced(root: Expr, old: Expr, new: Expr) -> Expr:
    """Put another node in the place of one, wherever it is used."""
    made: dict[int, Expr] = {}
    for node in walk(root):
        if node is old:
            made[id(node)] = new
        elif isinstance(node, Operation):
            operands = tuple(made[id(operand)] for operand in node.operands)
            made[id(node)] = Operation(node.operator, operands, node.dimension)
        else:
            made[id(node)] = node
    return made[id(root)]


def value_at(tape: Tape, point: dict[str, float]) -> float:
    """Evaluate at a point; NaN where there is no value."""
    try:
        return float(tape.run(point)[0][0])
    except ModelError:
        return math.nan


def points_near(law: Law) -> Iterator[tuple[dict[str, float], float]]:
    """Yield points near the rows of a law at which it holds, with its values there."""
    chance = random.Random(law.name)
    for _ in range(200):
        point = law.given(chance.choice(law.checks))
        for name, value in point.items():
            if chance.random() < 0.7:
                scaled = value * chance.choice([0.3, 0.6, 0.9, 1.1, 1.3, 2.0, 3.0])
                point[name] = round(scaled) if name in law.whole_symbols else scaled
        with contextlib.suppress(ModelError):
            yield point, law(**point)


@pytest.mark.turns(4)
@every_law
def test_rows_tell_the_law_from_its_neighbours(law: Law) -> None:
    """A slip that changes values of the law breaks a row."""
    for what, wrong in slips(law.right_side, law.symbols):
        with np.errstate(all="ignore"):
            tape = Tape([wrong])
            rows = [(row, value_at(tape, law.given(row))) for row in law.checks]
            if all(
                abs(value - row.value) <= row.within + 1e-9 * abs(row.value) for row, value in rows
            ):
                points = itertools.islice(points_near(law), 12)
                off = [abs(value_at(tape, at) / wanted - 1) for at, wanted in points if wanted]
                assert not any(each > 1e-9 for each in off), what


@every_law
def test_has_a_source_a_row_and_a_meaning_for_every_symbol(law: Law) -> None:
    assert law.checks
    assert re.search(r"[A-Za-z]{4,}.*\d", law.source)  # a name, with a year or an equation
    assert law.title
    assert all(
        row.source and set(law.given(row)) == {each.name for each in law.symbols}
        for row in law.checks
    )
    assert all(each.meaning and each.latex for each in (law.gives, *law.symbols))
    assert {each.name for each in Tape([law.right_side]).parameters.values()} == {
        each.name for each in law.symbols
    }


@pytest.mark.turns(4)
@every_law
def test_keeps_its_shape_when_seconds_become_minutes(law: Law) -> None:
    if plain(law):
        k = sympy.Symbol("k", positive=True)
        letters = {each: sympy.Symbol(each.name, positive=True) for each in law.symbols}
        scaled = {letter: letter * k**each.dimension.time_power for each, letter in letters.items()}
        right = to_sympy(law.right_side)
        other = right.subs(scaled, simultaneous=True)
        assert sympy.simplify(other - right * k**law.gives.dimension.time_power) == 0
    for row, k in itertools.product(law.checks, (60.0, 1e-3)):
        minutes = {
            each.name: law.given(row)[each.name] * k**each.dimension.time_power
            for each in law.symbols
        }
        wanted = law(**law.given(row)) * k**law.gives.dimension.time_power
        assert law(**minutes) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.turns(4)
@every_law
def test_text_and_latex_name_every_symbol(law: Law) -> None:
    assert law.text.startswith(f"{law.gives.name} = ")
    assert law.latex.startswith(f"{law.gives.latex} = ")
    assert all(each.name in law.text and each.latex in law.latex for each in law.symbols)


@pytest.mark.turns(4)
@every_law
def test_text_latex_and_values_come_from_one_equation(law: Law) -> None:
    """What SymPy makes of the printed equation gives the rows' values."""
    row = law.checks[0]
    scope = {name: sympy.Float(value, 30) for name, value in law.given(row).items()}
    point = {sympy.Symbol(name, positive=True): value for name, value in scope.items()}
    assert float(at_point(to_sympy(law.right_side), point)) == pytest.approx(
        law(**law.given(row)), rel=1e-12
    )
    assert float(eval(law.text.partition(" = ")[2], FUNCTIONS, scope)) == pytest.approx(
        law(**law.given(row)), rel=1e-12
    )


@pytest.mark.turns(5)
@every_law
def test_refuses_what_lies_outside_its_conditions(law: Law) -> None:
    found = breaking(law)
    assert set(found) == {str(condition) for condition in law.conditions}
    for bad in found.values():
        with pytest.raises(ModelError, match=f"^law {law.name} holds for "):
            law(**bad)
        with pytest.raises(ModelError, match=f"^law {law.name} holds for .*an array outside that"):
            law(**{name: np.array([value, value]) for name, value in bad.items()})


@pytest.mark.turns(4)
@every_law
def test_no_number_fails_every_condition(law: Law) -> None:
    for condition in law.conditions:
        for name in {each.name for each in law.symbols} & set(
            Tape([condition.left, condition.right]).parameters
        ):
            with pytest.raises(ModelError, match="holds for"):
                law(**{**law.given(law.checks[0]), name: math.nan})


@every_law
def test_an_expression_of_expressions_evaluates_to_the_same(law: Law) -> None:
    row = law.checks[0]
    made = law(**{each.name: Parameter(f"my.{each.name}", each.dimension) for each in law.symbols})
    assert isinstance(made, Expr)
    assert made.dimension == law.gives.dimension
    assert Tape([made]).run({f"my.{name}": value for name, value in law.given(row).items()})[
        0
    ].tolist() == [law(**law.given(row))]


@pytest.mark.turns(4)
@every_law
def test_arrays_give_the_bits_of_single_values(law: Law) -> None:
    row = law.given(law.checks[0])
    first = law.symbols[-1].name
    ways = (np.linspace(1.0, 1.5, 9), np.linspace(1.0, 0.5, 9), np.arange(1.0, 10.0))
    scales = next(each for each in ways if held(law, {**row, first: row[first] * each}))
    swept = law(**{**row, first: row[first] * scales})
    assert swept.tolist() == [law(**{**row, first: row[first] * scale}) for scale in scales]
    if plain(law):
        # The bare equation, which answers are computed with, gives the same bits on arrays.
        assert law.equation(**{**row, first: row[first] * scales}).tolist() == swept.tolist()


def test_the_catalogue_holds_every_law_once() -> None:
    packages = {"slipstick.law": FAMILIES, "slipstick_laws": FAMILIES_BESIDE}
    modules = [
        import_module(f"{package}.{family}")
        for package, families in packages.items()
        for family in families
    ]
    values = [value for module in modules for value in vars(module).values()]
    values += [law for value in values if isinstance(value, tuple) for law in value]
    assert len(LAWS) == sum(isinstance(value, Law) for value in values)
    assert all(name == law.name and " " not in name for name, law in LAWS.items())
    assert len({law.title for law in LAWS.values()}) == len(LAWS)
    # A template that was not filled in has its braces left.
    words = {(law.title, law.note, law.source) for law in LAWS.values()}
    assert [text for texts in words for text in texts if "{" in text] == []
    for package, families, beside in (
        (law_package, FAMILIES, {"law", "symbols"}),
        (laws_beside, FAMILIES_BESIDE, {"catalogue"}),
    ):
        names = {path.stem for path in Path(str(package.__file__)).parent.glob("*.py")}
        assert names == {*families, "__init__", *beside}


@pytest.mark.turns(4)
@every_law
def test_shares_of_time_add_up_to_the_power_of_time(law: Law) -> None:
    """Euler: scaling the unit of time scales the value, so the shares that the tape derives must
    add up.
    """
    powers = {each.name: each.dimension.time_power for each in law.symbols}
    for row in law.checks:
        found = Tape([law.right_side]).differentiate(law.given(row))
        booked = sum(
            power * law.given(row)[name] * float(found.derivative_by_parameter[name][0])
            for name, power in powers.items()
        )
        assert booked == pytest.approx(
            law.gives.dimension.time_power * law(**law.given(row)), rel=1e-9, abs=1e-12
        )


@every_law
def test_an_approximation_says_so(law: Law) -> None:
    assert law.exact or law.note


def test_a_zero_may_stand_for_any_symbol() -> None:
    """A network without a price for bytes is a network."""
    law = LAWS["protocol-time"]
    made = law(fixed=Parameter("a", law.gives.dimension, 2.0), per_byte=0, size=0, added=0)
    assert Tape([made]).run({})[0].tolist() == [2.0]


def test_the_short_name_of_the_universal_scalability_law_leads_to_it() -> None:
    with pytest.raises(KeyError, match="did you mean 'universal-scalability' or"):
        LAWS["usl"]


def test_a_law_of_symbols_refuses_numbers_that_its_conditions_exclude() -> None:
    symbol = sympy.Symbol("p")
    no_fraction = r"amdahl-speedup holds for serial <= 1; got serial = 1\.5"
    with pytest.raises(ModelError, match=no_fraction):
        LAWS["amdahl-speedup"](serial=1.5, processors=symbol)
    with pytest.raises(ModelError, match="mm1-response-time holds for service >= 0; got"):
        LAWS["mm1-response-time"](arrivals=symbol, service=-2)
    with pytest.raises(ModelError, match=no_fraction):
        LAWS["amdahl-speedup"](serial=1.5, processors=Parameter("p"))
    # A condition of a symbol may still hold.
    assert LAWS["mm1-response-time"](arrivals=symbol, service=2) == 2 / (1 - 2 * symbol)


def test_a_function_without_a_form_in_sympy_has_a_value_for_numbers() -> None:
    arrivals, servers = sympy.symbols("arrivals servers")
    probability = LAWS["erlang-c"](servers=servers, service=1, arrivals=arrivals)
    at_point = probability.subs({arrivals: 6.5, servers: 9}).evalf()
    # Erlang's formula by its sum.
    load, terms = 6.5, [6.5**n / math.factorial(n) for n in range(9)]
    late = load**9 / math.factorial(9) * 9 / (9 - load)
    assert float(at_point) == pytest.approx(late / (sum(terms) + late), rel=1e-12)
    # What still has a symbol stays as it is.
    assert probability.subs({arrivals: 6.5}).evalf().free_symbols == {servers}
