"""Every law of the catalogue: its rows, its shape, its words, its conditions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Parameter
from slipstick.expression.symbolic import to_sympy
from slipstick.expression.tape import Tape
from slipstick.law import ALL, Law, account, network, pipeline

LAWS = list(ALL.values())
ROWS = [(law, row) for law in LAWS for row in law.rows]
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)

# Values at which each law must refuse to speak; laws that hold everywhere are listed, too.
REFUSED: dict[str, list[dict[str, float]]] = {
    "efficiency": [{"useful": 1.0, "time": 0.0}, {"useful": 3.0, "time": 2.0}, {"useful": 1.0, "time": -1.0}],
    "speed-up": [{"processors": 0.0, "efficiency": 1.0}],
    "processors-lost": [{"processors": 4.0, "booked": 1.0, "time": 0.0}],
    "average-latency": [],
    "cycle-rate": [{"processors": 4.0, "time": 0.0}],
    "protocol-time": [{"fixed": 1.0, "per_byte": 1.0, "size": -1.0, "added": 0.0}],
    "wire-time": [{"per_byte": 1.0, "size": -1.0, "added": 0.0}],
    "adapter-latency": [{"messages": -1.0, "adapter": 1.0}],
    "switch-latency": [
        {"messages": -1.0, "switch": 1.0, "switches": 1.0},
        {"messages": 1.0, "switch": 1.0, "switches": -1.0},
    ],
    "flow-line": [{"once": 3.0, "longest": 1.0, "items": 0.5}, {"once": 1.0, "longest": 2.0, "items": 2.0}],
}


@pytest.mark.parametrize(("law", "row"), ROWS, ids=[f"{law.name}-{row.source[:30]}" for law, row in ROWS])
def test_published_row(law: Law, row: Any) -> None:
    rounding = 1e-14 * abs(row.value)
    assert abs(law(**row.given) - row.value) <= row.within + rounding


@every_law
def test_has_a_source_a_row_and_a_meaning_for_every_symbol(law: Law) -> None:
    assert law.rows
    assert law.source
    assert law.title
    assert all(row.source and set(row.given) == {each.name for each in law.symbols} for row in law.rows)
    assert all(each.meaning and each.latex for each in (law.gives, *law.symbols))
    assert {each.name for each in Tape([law.right]).parameters.values()} == {each.name for each in law.symbols}


@every_law
def test_keeps_its_shape_when_seconds_become_minutes(law: Law) -> None:
    k = sympy.Symbol("k", positive=True)
    right = to_sympy(law.right)
    other = right.subs(
        {
            sympy.Symbol(each.name, positive=True): sympy.Symbol(each.name, positive=True)
            * k**each.dimension.time_power
            for each in law.symbols
        },
        simultaneous=True,
    )
    assert sympy.simplify(other - right * k**law.gives.dimension.time_power) == 0


@every_law
def test_text_and_latex_name_every_symbol(law: Law) -> None:
    assert law.text.startswith(f"{law.gives.name} = ")
    assert law.latex.startswith(f"{law.gives.latex} = ")
    assert all(each.name in law.text and each.latex in law.latex for each in law.symbols)


@every_law
def test_text_latex_and_values_come_from_one_equation(law: Law) -> None:
    """What SymPy makes of the printed equation gives the rows' values."""
    row = law.rows[0]
    scope = {name: sympy.Float(value, 30) for name, value in row.given.items()}
    point = {sympy.Symbol(name, positive=True): value for name, value in scope.items()}
    assert float(to_sympy(law.right).subs(point)) == pytest.approx(law(**row.given), rel=1e-12)
    assert float(eval(law.text.partition(" = ")[2], {}, scope)) == pytest.approx(law(**row.given), rel=1e-12)


@every_law
def test_refuses_what_lies_outside_its_conditions(law: Law) -> None:
    assert bool(REFUSED[law.name]) == bool(law.conditions), "each condition needs a value that breaks it"
    for bad in REFUSED[law.name]:
        with pytest.raises(ModelError, match=f"^law {law.name} holds for "):
            law(**bad)
        with pytest.raises(ModelError, match=f"^law {law.name} holds for .*an array outside that"):
            law(**{name: np.array([value, value]) for name, value in bad.items()})
    broken = {str(c) for bad in REFUSED[law.name] for c in law.conditions if not c.holds(bad).all()}
    assert broken == {str(c) for c in law.conditions}


@every_law
def test_no_number_fails_every_condition(law: Law) -> None:
    for condition in law.conditions:
        for name in {each.name for each in law.symbols} & set(Tape([condition.left, condition.right]).parameters):
            with pytest.raises(ModelError, match="holds for"):
                law(**{**law.rows[0].given, name: math.nan})


@every_law
def test_an_expression_of_expressions_evaluates_to_the_same(law: Law) -> None:
    row = law.rows[0]
    made = law(**{each.name: Parameter(f"my.{each.name}", each.dimension) for each in law.symbols})
    assert isinstance(made, Expr)
    assert made.dimension == law.gives.dimension
    assert Tape([made]).run({f"my.{name}": value for name, value in row.given.items()})[0].tolist() == [
        law(**row.given)
    ]


@every_law
def test_arrays_give_the_bits_of_single_values(law: Law) -> None:
    row = law.rows[0].given
    scales = np.linspace(1.0, 1.5, 9)
    first = law.symbols[-1].name
    swept = law(**{**row, first: row[first] * scales})
    assert swept.tolist() == [law(**{**row, first: row[first] * scale}) for scale in scales]
    # The bare equation, which answers are computed with, gives the same bits on arrays.
    assert law.equation(**{**row, first: row[first] * scales}).tolist() == swept.tolist()


def test_the_catalogue_holds_every_law_once() -> None:
    families = (account, network, pipeline)
    assert len(ALL) == sum(len(family.__all__) for family in families)
    assert all(name == law.name and " " not in name for name, law in ALL.items())
    assert set(REFUSED) == set(ALL)


def test_a_zero_may_stand_for_any_symbol() -> None:
    """A network without a price for bytes is a network."""
    law = ALL["protocol-time"]
    made = law(fixed=Parameter("a", law.gives.dimension, 2.0), per_byte=0, size=0, added=0)
    assert Tape([made]).run({})[0].tolist() == [2.0]
