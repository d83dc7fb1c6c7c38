"""Trees: dimensions of every construct, folding of constants, substitution, comparisons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError
from slipstick.expression.formula import RELATIONS, compare
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    RATE,
    TIME,
    TIME_PER_BYTE,
    Dimension,
    Expr,
    Number,
    Parameter,
    as_expr,
    ceil,
    ceil_log,
    floor,
    log2,
    maximum,
    minimum,
    parameters,
    select,
    sqrt,
    substitute,
    total,
    walk,
    zero,
)
from slipstick.expression.tape import Tape
from tests.evaluators import value
from tests.strategies import PARAMETERS, expressions, parameter_values, quick

DIMENSIONS = st.sampled_from(tuple(PARAMETERS))
T, B, N = Parameter("t", TIME, 2.0), Parameter("b", BYTES, 4.0), Parameter("n", COUNT, 3.0)


@quick
@given(DIMENSIONS.flatmap(lambda each: st.tuples(st.just(each), expressions(each))))
def test_a_tree_has_the_dimension_it_was_drawn_for(drawn: tuple[Dimension, Expr]) -> None:
    assert drawn[1].dimension == drawn[0]


@quick
@given(DIMENSIONS, DIMENSIONS)
def test_only_like_is_added_to_like(a: Dimension, b: Dimension) -> None:
    x, y = Parameter("x", a), Parameter("y", b)
    joins: tuple[Callable[[], object], ...] = (
        lambda: x + y,
        lambda: x - y,
        lambda: maximum(x, y),
        lambda: minimum(x, y),
        lambda: compare(x, "<", y),
        lambda: select(N, 3, x, y),
        lambda: select(x, y, 1, 2),
    )
    for join in joins:
        if a == b:
            join()
        else:
            with pytest.raises(ModelError, match=r"^cannot "):
                join()
    assert (x * y).dimension == a * b
    assert (x / y).dimension == a / b
    assert (x**3).dimension == a**3


def test_zero_goes_with_anything() -> None:
    assert (T + 0) is T
    assert (T - 0) is T
    assert (0 + T) is T
    assert maximum(T, 0).dimension == TIME
    assert total([], TIME) == zero(TIME)
    assert total([zero(TIME), zero(TIME)]) == zero(TIME)
    assert (zero(TIME) / B).dimension == TIME_PER_BYTE


def test_constants_are_folded_when_the_tree_is_built() -> None:
    assert as_expr(2) * 3 + 4 == Number(10.0)
    assert maximum(1, 3, 2) == Number(3.0)
    assert minimum(4, 3) == Number(3.0)
    assert as_expr(2) ** 10 == Number(1024.0)
    assert as_expr(7) / 2 - 1 == Number(2.5)
    assert [ceil(2.1), floor(2.9), log2(8), sqrt(9), ceil_log(9, 2)] == list(
        map(Number, [3.0, 2.0, 3.0, 3.0, 4.0])
    )
    assert select(3, 4, T, 2 * T) is T
    assert (T * 1) is T
    assert (1 * T) is T
    assert (T / 1) is T


def test_folding_gives_what_the_tape_gives() -> None:
    """Numbers are added from left to right, as at evaluation."""
    folded = total([0.1] * 10)
    run = Tape([total([Parameter("x", value=0.1)] * 10)]).run({})[0]
    assert [folded.value if isinstance(folded, Number) else None] == run.tolist()


@quick
@given(expressions(TIME), parameter_values(), parameter_values())
def test_substitution_is_evaluation(
    expr: Expr, values: dict[str, float], others: dict[str, float]
) -> None:
    """Renaming all parameters changes no value; putting other quantities in their place is as if
    those had been given.
    """
    fresh = {each.name: Parameter(f"new.{each.name}", each.dimension) for each in parameters(expr)}
    renamed = substitute(expr, fresh)
    assert value(renamed, {f"new.{name}": each for name, each in values.items()}) == value(
        expr, values
    )
    doubled = substitute(expr, {name: 2 * each for name, each in fresh.items()})
    assert value(doubled, {f"new.{name}": each / 2 for name, each in others.items()}) == value(
        expr, others
    )


def test_substitution_without_effect_returns_the_same_object() -> None:
    tree = maximum(T * N, T)
    assert substitute(tree, {"other": 3}) is tree


def test_a_zero_keeps_the_dimension_of_what_it_replaces() -> None:
    per_byte = Parameter("g", TIME_PER_BYTE)
    assert substitute(T + per_byte * B, {"g": 0}).dimension == TIME


def test_walk_visits_each_object_once_operands_first() -> None:
    shared = T * N
    tree = maximum(shared, shared + T)
    seen = list(walk(tree))
    assert len({id(node) for node in seen}) == len(seen)
    assert seen[-1] is tree
    assert seen.index(shared) > seen.index(T)


def test_parameters_are_listed_in_order_of_appearance() -> None:
    assert parameters(B / N, T * B) == (B, N, T)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_comparison_is_pythons_and_none_fails_it(relation: str) -> None:
    condition = compare(Parameter("x"), relation, Parameter("y"))
    x, y = np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 2.0, 2.0, np.nan])
    wanted = {
        "<": [1, 0, 0],
        "<=": [1, 1, 0],
        ">": [0, 0, 1],
        ">=": [0, 1, 1],
        "==": [0, 1, 0],
        "!=": [1, 0, 1],
    }
    assert condition.holds({"x": x, "y": y, "unused": 3.0}).tolist() == [
        *map(bool, wanted[relation]),
        False,
    ]
    assert str(condition) == f"x {relation} y"


def test_rates_turn_counts_into_times() -> None:
    assert (N / Parameter("rate", RATE)).dimension == TIME
    assert (1 / Parameter("rate", RATE)).dimension == TIME
