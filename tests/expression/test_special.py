"""Special functions against exact fractions, against their own SymPy form, and by differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import sympy

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, TIME, Expr, Number, Parameter, substitute
from slipstick.expression.special import (
    drop_stages,
    engset,
    erlang_b,
    exp,
    exprel,
    geometric_mean,
    geometric_sum,
    log,
    md1_late,
    md1_number,
    palm,
    poisson,
    real_power,
    retried_rate,
)
from slipstick.expression.symbolic import latex, to_sympy
from slipstick.expression.tape import CHUNK, Tape
from tests.expression.second_roads import at_point

X, N, A, B = (Parameter(name) for name in "xnab")
LOSS, ENGSET = Tape([erlang_b(X, N)]), Tape([engset(X, N, A)])
SUM, MEAN = Tape([geometric_sum(X, N)]), Tape([geometric_mean(X, N)])
DROP, RETRY = Tape([drop_stages(X, A, B, N)]), Tape([retried_rate(X, A, B, N)])

POINTS: list[tuple[Expr, dict[str, float]]] = [
    (exp(X), {"x": 0.7}),
    (log(X), {"x": 0.7}),
    (real_power(X, N), {"x": 0.7, "n": 2.3}),
    (real_power(N, X), {"x": 0.7, "n": 2.3}),
    (exprel(X), {"x": 0.7}),
    (poisson(X, N), {"x": 7.5, "n": 4.0}),
    *((md1_number(X, N), {"x": 0.7, "n": n}) for n in (0.0, 1.0, 2.0, 5.0, 12.0)),
    (md1_number(X, N), {"x": 0.05, "n": 3.0}),
    *((md1_late(X, N), {"x": 0.7, "n": n}) for n in (0.0, 0.4, 1.0, 2.3, 4.9)),
    (md1_late(N, X), {"x": 2.3, "n": 0.6}),
    (geometric_sum(X, N), {"x": 1.3, "n": 7.0}),
    (geometric_sum(X, N), {"x": 0.999, "n": 40.0}),
    (geometric_mean(X, N), {"x": 0.7, "n": 10.0}),
    (geometric_mean(X, N), {"x": 0.97, "n": 10.0}),
    (geometric_mean(X, N), {"x": 1.06, "n": 10.0}),
    (geometric_mean(X, N), {"x": 1.6, "n": 10.0}),
    (erlang_b(X, N), {"x": 7.0, "n": 9.0}),
    (erlang_b(X, N), {"x": 1100.0, "n": 1200.0}),
    *((palm(X, N), {"x": x, "n": n}) for x, n in ((96.0, 100.0), (0.5, 3.0), (40.0, 2.0))),
    (palm(N, X), {"x": 100.0, "n": 96.0}),
    (engset(X, N, A), {"x": 0.3, "n": 4.0, "a": 10.0}),
    (drop_stages(X, A, B, N), {"x": 0.7, "n": 3.0, "a": 4.0, "b": 4.0}),
    (drop_stages(X, A, B, N), {"x": 0.7, "n": 2.0, "a": 4.0, "b": 2.0}),
    (retried_rate(X, A, B, N), {"x": 0.4, "n": 3.0, "a": 4.0, "b": 4.0}),
    (retried_rate(X, A, B, N), {"x": 0.3, "n": 1.0, "a": 16.0, "b": 8.0}),
]
every_point = pytest.mark.parametrize(
    ("expr", "at"), POINTS, ids=[f"{expr}-{at}" for expr, at in POINTS]
)

LONG = 8 * CHUNK
"""No chunk is longer."""


def one(tape: Tape, **values: float) -> float:
    return float(tape.run(values)[0][0])


@pytest.mark.turns(4)
@every_point
def test_sympy_gives_the_same_value(expr: Expr, at: dict[str, float]) -> None:
    point = {
        sympy.Symbol(name, positive=True): sympy.Float(value, 60) for name, value in at.items()
    }
    assert float(sympy.N(at_point(to_sympy(expr), point), 20)) == pytest.approx(
        one(Tape([expr]), **at), rel=1e-13
    )


@pytest.mark.turns(4)
@every_point
def test_the_derivative_is_the_difference(expr: Expr, at: dict[str, float]) -> None:
    tape, step = Tape([expr]), 1e-5 * at["x"]
    found = float(tape.differentiate(at).derivative_by_parameter["x"][0])
    up, down = (one(tape, **{**at, "x": at["x"] + sign * step}) for sign in (1, -1))
    assert found == pytest.approx((up - down) / (2 * step), rel=1e-6)


@pytest.mark.turns(5)
@every_point
def test_arrays_and_substitution_give_the_bits_of_single_points(
    expr: Expr, at: dict[str, float]
) -> None:
    columns = {name: np.full(LONG + 3, value) for name, value in at.items()}
    scales = np.linspace(0.5, 1.2, LONG + 3)
    columns["x"] = columns["x"] * scales
    swept = Tape([expr]).run(columns)[0]
    fresh = substitute(expr, {name: Parameter(f"my.{name}") for name in at})
    for index in (0, 1, CHUNK - 1, CHUNK, LONG - 1, LONG, LONG + 2):
        point = {name: float(column[index]) for name, column in columns.items()}
        assert one(Tape([expr]), **point) == swept[index]
        assert (
            one(Tape([fresh]), **{f"my.{name}": value for name, value in point.items()})
            == swept[index]
        )


def test_each_point_may_have_its_own_counts() -> None:
    servers = np.array([0.0, 1.0, 7.0, 300.0, 1500.0])
    swept = LOSS.run({"x": np.full(5, 6.0), "n": servers})[0]
    assert swept.tolist() == [one(LOSS, x=6.0, n=float(count)) for count in servers]
    stages = np.array([0.0, 1.0, 4.0, 9.0, 10.0])
    swept = DROP.run({"x": np.full(5, 0.5), "a": 2.0, "b": 2.0, "n": stages})[0]
    assert swept.tolist() == [one(DROP, x=0.5, a=2.0, b=2.0, n=float(count)) for count in stages]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("load", "servers"),
    [
        (1, 1),
        (5, 5),
        (150, 170),
        (170, 150),
        (1000, 1000),
        (800, 1000),
        (2000, 1000),
        (4900, 5000),
        (3, 0),
    ],
)
def test_erlang_b_against_fractions(load: int, servers: int) -> None:
    top = Fraction(1)
    whole = Fraction(1)
    for k in range(1, servers + 1):
        top = top * load / k
        whole += top
        # Sixty digits are enough, and keep the fractions short.
        if k % 50 == 0:
            top, whole = (each.limit_denominator(10**200) for each in (top, whole))
    assert one(LOSS, x=load, n=servers) == pytest.approx(float(top / whole), rel=1e-13)


@pytest.mark.turns(4)
def test_erlang_b_of_a_great_many_servers_follows_its_asymptote() -> None:
    """With a = c, 1/B is sqrt(pi c / 2) + 2/3 + O(1 / sqrt c)."""
    for servers in (1e5, 1e6, 1e7):
        wanted = math.sqrt(math.pi * servers / 2) + 2 / 3
        assert 1 / one(LOSS, x=servers, n=servers) == pytest.approx(
            wanted, abs=0.3 / math.sqrt(servers) + 1e-11 * wanted
        )
    assert one(LOSS, x=5.0, n=1e7) == 0.0
    assert one(LOSS, x=1e9, n=10.0) == pytest.approx(1 - 10 / 1e9, rel=1e-15)


@pytest.mark.parametrize(
    ("load", "servers", "sources"),
    [(Fraction(1, 3), 4, 10), (Fraction(2), 10, 10), (Fraction(1, 50), 30, 2000)],
)
def test_engset_against_fractions(load: Fraction, servers: int, sources: int) -> None:
    weights = [math.comb(sources, k) * load**k for k in range(servers + 1)]
    assert one(ENGSET, x=float(load), n=servers, a=sources) == pytest.approx(
        float(weights[-1] / sum(weights)), rel=1e-13
    )


def test_engset_has_no_value_for_fewer_sources_than_servers_however_many_those_are() -> None:
    (found,) = ENGSET.run({"x": 1.0, "n": 1e6, "a": np.array([0.5, 5.0, 1e6 - 1])})
    assert np.isnan(found).all()


def test_engset_of_very_many_sources_is_erlang() -> None:
    assert one(ENGSET, x=6.0 / 1e9, n=8, a=1e9) == pytest.approx(one(LOSS, x=6.0, n=8), rel=1e-7)
    assert one(ENGSET, x=0.3, n=5000.0, a=16000.0) > 0


RATIOS = [0.01, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-9, 1.001, 1.2, 5.0]


@pytest.mark.turns(5)
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("most", [0, 1, 2, 10, 150])
def test_geometric_functions_against_fractions_on_both_sides_of_one(
    ratio: float, most: int
) -> None:
    weights = [Fraction(ratio) ** k for k in range(most + 1)]
    assert one(SUM, x=ratio, n=most + 1) == pytest.approx(float(sum(weights)), rel=3e-14)
    mean = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
    assert one(MEAN, x=ratio, n=most) == pytest.approx(float(mean), rel=3e-14)
    spread = sum(k * k * weight for k, weight in enumerate(weights)) / sum(weights) - mean**2
    slope = MEAN.differentiate({"x": ratio, "n": float(most)}).derivative_by_parameter["x"][0]
    assert slope == pytest.approx(float(spread / Fraction(ratio)), rel=1e-11)


def test_geometric_functions_where_powers_overflow() -> None:
    assert one(MEAN, x=5.0, n=1000.0) == pytest.approx(999.75, rel=1e-15)
    assert one(MEAN, x=0.2, n=1000.0) == pytest.approx(0.25, rel=1e-15)
    assert MEAN.differentiate({"x": 5.0, "n": 1000.0}).derivative_by_parameter["x"][
        0
    ] == pytest.approx(1 / 16, rel=1e-14)
    assert one(SUM, x=5.0, n=1000.0) == math.inf


def exact_stages(rate: Fraction, inputs: int, outputs: int, stages: int) -> Fraction:
    for _ in range(stages):
        rate = 1 - (1 - rate / outputs) ** inputs
    return rate


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("inputs", "outputs", "stages"), [(2, 2, 5), (4, 4, 3), (8, 8, 2), (4, 2, 2), (1, 1, 3)]
)
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2), Fraction(1, 10**9), Fraction(0)])
def test_drop_stages_against_fractions(
    rate: Fraction, inputs: int, outputs: int, stages: int
) -> None:
    wanted = float(exact_stages(rate, inputs, outputs, stages))
    assert one(DROP, x=float(rate), a=inputs, b=outputs, n=stages) == pytest.approx(
        wanted, rel=1e-14
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("inputs", "outputs", "stages"), [(2, 2, 5), (4, 4, 3), (8, 8, 2), (4, 2, 2), (16, 8, 1)]
)
@pytest.mark.parametrize("rate", [1.0, 0.9, 0.3, 1e-3, 1e-9, 0.0])
def test_retried_rate_satisfies_patels_balance(
    rate: float, inputs: int, outputs: int, stages: int
) -> None:
    found = one(RETRY, x=rate, a=inputs, b=outputs, n=stages)
    assert rate <= found <= 1.0
    if rate:
        through = (
            exact_stages(Fraction(found), inputs, outputs, stages)
            * Fraction(outputs, inputs) ** stages
        )
        passing = float(through) / found
        assert found == pytest.approx(rate / (rate + passing * (1 - rate)), rel=1e-13)


def test_what_cannot_be_counted_is_no_number() -> None:
    servers = np.array([3.0, 1e8, math.nan])
    assert np.isnan(LOSS.run({"x": 2.0, "n": servers})[0]).tolist() == [False, True, True]
    assert np.isnan(ENGSET.run({"x": 2.0, "n": servers, "a": 1e9})[0]).tolist() == [
        False,
        True,
        True,
    ]
    assert np.isnan(DROP.run({"x": 0.5, "a": 2.0, "b": 2.0, "n": servers})[0]).tolist() == [
        False,
        True,
        True,
    ]
    assert math.isnan(one(DROP, x=0.5, a=2.0, b=2.0, n=1025.0))
    assert math.isnan(one(RETRY, x=0.5, a=2.0, b=2.0, n=1025.0))
    assert math.isnan(one(LOSS, x=0.5, n=1e8))


@pytest.mark.turns(4)
@pytest.mark.parametrize("x", [-50.0, -2.0, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.5, 1.0, 30.0])
def test_exprel_against_its_series(x: float) -> None:
    tape = Tape([exprel(X)])
    terms = [Fraction(x) ** k / math.factorial(k + 1) for k in range(220)]
    assert one(tape, x=x) == pytest.approx(float(sum(terms)), rel=1e-15)
    slope = sum(k * Fraction(x) ** (k - 1) / math.factorial(k + 1) for k in range(1, 220))
    assert tape.differentiate({"x": x}).derivative_by_parameter["x"][0] == pytest.approx(
        float(slope), rel=1e-13
    )


POISSON = Tape([poisson(X, N)])


@pytest.mark.turns(4)
@pytest.mark.parametrize("mean", [0.01, 1.0, 15.0, 16.0, 100.0])
@pytest.mark.parametrize("count", [0, 1, 5, 15, 16, 20, 90, 100, 110])
def test_poisson_against_its_logarithm(mean: float, count: int) -> None:
    wanted = (
        sympy.Float(mean, 40) ** count * sympy.exp(-sympy.Float(mean, 40)) / sympy.factorial(count)
    )
    assert one(POISSON, x=mean, n=count) == pytest.approx(float(wanted), rel=1e-13)


def test_poisson_of_great_means_adds_up_to_one() -> None:
    for mean in (30.0, 1e4, 1e7):
        counts = np.arange(max(0.0, mean - 12 * math.sqrt(mean)), mean + 12 * math.sqrt(mean) + 40)
        counts = np.floor(counts)
        assert POISSON.run({"x": mean, "n": counts})[0].sum() == pytest.approx(1.0, abs=1e-13)


def test_powers_at_the_edges() -> None:
    tape = Tape([real_power(X, N)])
    assert [one(tape, x=0.0, n=n) for n in (0.0, 2.0)] == [1.0, 0.0]
    slopes = tape.differentiate({"x": 0.0, "n": 0.0}).derivative_by_parameter
    assert [float(slopes[name][0]) for name in "xn"] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: exp(Parameter("t", TIME)), "exp takes a plain number, got [s]: t"),
        (lambda: erlang_b(Parameter("t", TIME), 3), "erlang_b takes a plain number, got [s]: t"),
    ],
)
def test_what_is_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == text


def test_they_are_written_as_calls_and_on_paper_as_formulas() -> None:
    assert str(geometric_sum(X, N + 1)) == "geometric_sum(x, n + 1)"
    assert real_power(2, 3).dimension == COUNT
    assert not isinstance(exp(Number(1.0)), Number)
    assert latex(erlang_b(X, N)) == r"B\left(\mathrm{n}, \mathrm{x}\right)"
    assert latex(engset(X, N, A)) == r"E_{\mathrm{n}}\left(\mathrm{a}, \mathrm{x}\right)"
    assert (
        latex(drop_stages(X, A, B, N))
        == r"D^{\mathrm{a} \times \mathrm{b}}_{\mathrm{n}}\left(\mathrm{x}\right)"
    )
