"""The tape against a second evaluator, its derivatives against forward mode, its sweeps against
its points.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.expression.nodes import (
    COUNT,
    TIME,
    Booked,
    Expr,
    Parameter,
    ceil,
    ceil_log,
    floor,
    log2,
    maximum,
    minimum,
    select,
    sqrt,
)
from slipstick.expression.tape import CHUNK, Tape
from tests.evaluators import dual, value
from tests.strategies import ALL_PARAMETERS, expressions, parameter_values, quick

X, Y = Parameter("x", value=2.0), Parameter("y", value=2.0)
ANY = st.sampled_from([TIME, COUNT]).flatmap(lambda dimension: expressions(dimension))


def drawn(points: int, seed: int) -> dict[str, np.ndarray]:
    """Make columns of values, round ones among them, for every parameter of the strategies."""
    source = random.Random(seed)
    return {
        each.name: np.array(
            [source.choice([0.5, 1.0, 2.0, 3.0, source.uniform(0.25, 16)]) for _ in range(points)]
        )
        for each in ALL_PARAMETERS
    }


def used(expr: Expr, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: column for name, column in columns.items() if name in Tape([expr]).parameters}


@quick
@given(ANY, parameter_values())
def test_tape_agrees_with_a_plain_evaluator_to_the_last_bit(
    expr: Expr, values: dict[str, float]
) -> None:
    names = Tape([expr]).parameters
    got = Tape([expr]).run({name: value for name, value in values.items() if name in names})[0]
    assert got.tolist() == [value(expr, values)]


@quick
@given(ANY, st.integers(0, 2**32))
def test_buffers_never_alias_and_sweep_bits_are_point_bits(expr: Expr, seed: int) -> None:
    """Many points through few reused buffers give the bits of each point alone."""
    columns = used(expr, drawn(37, seed))
    tape = Tape([expr, expr * 2, Booked("kept", expr)])
    swept = tape.run(columns)
    for index in range(37):
        alone = tape.run({name: float(column[index]) for name, column in columns.items()})
        assert [float(column[index if len(column) > 1 else 0]) for column in swept] == [
            float(each[0]) for each in alone
        ]


@pytest.mark.parametrize("points", [1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 8 * CHUNK, 8 * CHUNK + 1])
def test_chunk_boundaries_do_not_change_a_bit(points: int) -> None:
    x, y, fixed = Parameter("x"), Parameter("y"), Parameter("fixed", value=3.0)
    inner = sqrt(x) * log2(y + 1) + ceil_log(y * 100, 36) + fixed**3
    tape = Tape(
        [
            maximum(inner, y**-3) / (x + fixed),
            select(x, fixed, inner, floor(y)),
            ceil(inner) - fixed,
            fixed * 2,
        ]
    )
    source = np.random.default_rng(1)
    columns = {"x": source.uniform(0.1, 9, points), "y": source.uniform(0.1, 9, points)}
    swept = tape.run(columns)
    derived = tape.differentiate(columns)
    for index in {0, points // 2, points - 1}:
        at = {name: float(column[index]) for name, column in columns.items()}
        assert [float(each[index if len(each) > 1 else 0]) for each in swept] == [
            float(each[0]) for each in tape.run(at)
        ]
        alone = tape.differentiate(at)
        assert derived.value[index] == alone.value[0]
        for name in ("x", "y", "fixed"):
            assert (
                derived.derivative_by_parameter[name][index]
                == alone.derivative_by_parameter[name][0]
            )


@quick
@given(expressions(TIME), parameter_values(), st.sampled_from(ALL_PARAMETERS))
def test_adjoint_agrees_with_forward_mode_at_ties_too(
    expr: Expr, values: dict[str, float], parameter: Parameter
) -> None:
    """Both roads give a maximum's derivative to the first operand that attains it."""
    names = Tape([expr]).parameters
    found = (
        Tape([expr])
        .differentiate({name: each for name, each in values.items() if name in names})
        .derivative_by_parameter
    )
    wanted = dual(expr, values, parameter.name)[1]
    scale = max(1.0, *(abs(float(each[0])) for each in found.values())) if found else 1.0
    got = float(found[parameter.name][0]) if parameter.name in found else 0.0
    assert got == pytest.approx(wanted, rel=1e-8, abs=1e-9 * scale)


@pytest.mark.parametrize(
    ("expr", "slope"),
    [
        (maximum(X, Y), (1.0, 0.0)),
        (maximum(Y, X), (0.0, 1.0)),
        (minimum(X, Y), (1.0, 0.0)),
        (maximum(X, Y, X + 0 * Y), (1.0, 0.0)),
        (select(X, Y, X * 3, Y), (3.0, 0.0)),
        (ceil(X) + floor(Y) + ceil_log(X, 2), (0.0, 0.0)),
        (X**3, (12.0, 0.0)),
        (X**-2, (-0.25, 0.0)),
        (X**0 * Y, (0.0, 1.0)),
        (sqrt(X * Y), (0.5, 0.5)),
        (log2(X), (1 / (2 * math.log(2)), 0.0)),
        (Y - X / Y, (-0.5, 1.5)),
    ],
    ids=str,
)
def test_derivative_worked_by_hand(expr: Expr, slope: tuple[float, float]) -> None:
    found = Tape([expr + 0 * X + 0 * Y]).differentiate({}).derivative_by_parameter
    assert (float(found["x"][0]), float(found["y"][0])) == pytest.approx(slope, rel=1e-15)


@pytest.mark.parametrize(("exponent", "slope"), [(0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)])
def test_a_power_has_its_derivative_at_zero(exponent: int, slope: float) -> None:
    assert Tape([X**exponent + X]).differentiate({"x": 0.0}).derivative_by_parameter[
        "x"
    ].tolist() == [slope + 1.0]


def test_what_is_not_chosen_does_not_spoil_the_derivative() -> None:
    """One divided by 0 is infinite, but the minimum is 3, and depends on y alone."""
    found = Tape([minimum(1 / X, Y)]).differentiate({"x": 0.0, "y": 3.0})
    assert found.value.tolist() == [3.0]
    assert {name: column.tolist() for name, column in found.derivative_by_parameter.items()} == {
        "x": [0.0],
        "y": [1.0],
    }


def test_one_label_at_several_places_adds_up() -> None:
    x = Parameter("x", value=2.0)
    found = Tape([Booked("idle", 3 * x) + Booked("idle", x) + Booked("busy", x)]).differentiate({})
    assert {label: column.tolist() for label, column in found.contribution_by_label.items()} == {
        "idle": [8.0],
        "busy": [2.0],
    }


@quick
@given(expressions(TIME), parameter_values())
def test_equal_subtrees_are_computed_once(expr: Expr, values: dict[str, float]) -> None:
    """Writing a tree twice adds one instruction, not a tree."""
    once, twice = Tape([expr]), Tape([expr + expr])
    assert len(twice._instructions) <= len(once._instructions) + 1


@pytest.mark.turns(4)
def test_depth_of_a_tree_does_not_matter() -> None:
    x: Expr = Parameter("x", value=1.0)
    for _ in range(5000):
        x = x * 1.0 + Parameter("y", value=1.0)
    assert Tape([x]).run({})[0].tolist() == [5001.0]


def test_what_does_not_vary_is_spread_over_the_points() -> None:
    assert Tape([X + 1, Y]).run({"y": np.array([1.0, 2.0])})[0].tolist() == [3.0, 3.0]


def test_no_points_give_no_values() -> None:
    none = np.array([])
    assert Tape([X + Y, Y * 2]).run({"x": none})[0].tolist() == []
    assert Tape([X + Y]).differentiate({"x": none}).derivative_by_parameter["x"].tolist() == []


def test_integers_are_taken_as_doubles() -> None:
    """An integer array would wrap around silently."""
    assert Tape([X**20]).run({"x": np.array([10, 2])})[0].tolist() == [1e20, 2.0**20]
    assert Tape([X / Y]).run({"x": 1, "y": 2})[0].tolist() == [0.5]


def test_numbers_that_are_none_travel_as_none() -> None:
    """NaN is never turned into a number on the way; infinite stays infinite."""
    tape = Tape([X + 1, maximum(X, Y), minimum(Y, X), ceil(X), ceil_log(X, 2), X**2, sqrt(X)])
    assert [math.isnan(float(each[0])) for each in tape.run({"x": math.nan})] == [True] * 7
    assert [float(each[0]) for each in Tape([X + 1, ceil_log(X, 2)]).run({"x": math.inf})] == [
        math.inf,
        math.inf,
    ]


def test_labels_of_other_outputs_are_left_out() -> None:
    found = Tape([Booked("a", X) + Booked("a", X), Booked("b", X * 3)]).differentiate({})
    assert list(found.contribution_by_label) == list(found.value_by_label) == ["a"]
