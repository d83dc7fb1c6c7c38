"""Equations of small networks against the numbers of the same networks."""

from __future__ import annotations

import pytest
import sympy

from slipstick import QueueingNetwork, closed_class, network, open_class, solve, station
from slipstick_equations.symbols import solve_in_symbols

NUMBERS = {
    "D[a,cpu]": 1.0,
    "D[a,disk]": 3.0,
    "D[b,cpu]": 2.0,
    "D[b,disk]": 4.0,
    "Z[a]": 5.0,
    "D[b,net]": 0.5,
}
PAIR = {
    "cpu": station(demand={"a": 1.0, "b": 2.0}, discipline="ps"),
    "disk": station(demand={"a": 3.0, "b": 4.0}, discipline="ps"),
    "net": station(demand={"b": 0.5}, discipline="is"),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 0), (0, 2)])
def test_equations_give_the_numbers(sizes: tuple[int, int]) -> None:
    model = network(
        {"a": closed_class(sizes[0], think_time=5.0), "b": closed_class(sizes[1])}, PAIR
    )
    answer, found = solve(model), solve_in_symbols(model)
    assert found
    letters = {name: sympy.Symbol(f"x{index}") for index, name in enumerate(NUMBERS)}
    for each in found:
        left, right = each.text.split(" = ")
        for name, letter in letters.items():
            right = right.replace(name, str(letter))
        value = sympy.parse_expr(right).subs(
            {letters[name]: number for name, number in NUMBERS.items()}
        )
        name = {"X": "throughput", "R": "response_time"}[left[0]]
        assert float(value) == pytest.approx(answer[f"{name}{left[1:]}"], rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        network({"a": closed_class(2)}, {"cpu": station(demand={"a": 1.0}, servers=2)}),
        network({"a": closed_class(2)}, {"cpu": station(demand={"a": 1.0}, scv={"a": 4.0})}),
        network({"a": open_class(0.2)}, {"cpu": station(demand={"a": 1.0})}),
        network(
            {"a": closed_class(2), "b": closed_class(1)},
            {"cpu": station(service={"a": 1.0, "b": 2.0})},
        ),
        network(
            {"a": closed_class(20)},
            {name: station(demand={"a": 1.0}) for name in ("cpu", "disk", "net")},
        ),
        network(
            {"a": closed_class(2)},
            {
                name: station(service={"a": 1.0}, discipline="ps", scv={"a": 0.0})
                for name in ("cpu", "disk")
            },
        ),
    ],
    ids=["two servers", "scv", "open", "unequal", "many", "constant"],
)
def test_where_there_is_no_short_equation_there_is_none(model: QueueingNetwork) -> None:
    assert solve_in_symbols(model) == ()
