"""Exact throughput and response time over SymPy: rational functions of the demands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from slipstick.errors import ModelError, NoAnswerError

if TYPE_CHECKING:
    import sympy


MOST_TERMS = 2_000
"""Of the polynomial in a denominator: more would fill a page, and more than one."""


def symbolic_mean_values(
    demand: Sequence[Sequence[Any]], think: Sequence[Any], population: Sequence[int], most_terms: int = MOST_TERMS
) -> tuple[list[sympy.Expr], list[sympy.Expr]]:
    r"""Solve a closed network of single servers and delays for formulas.

        X_r = G(N - e_r) / G(N),   R_r = N_r / X_r - Z_r,   G_k(n) = G_(k-1)(n) + sum over r of D_rk G_k(n - e_r)

    starting with G_0(n) = prod Z_r^n_r / n_r!. Polynomials all the way, so only the last quotient is reduced.

    Parameters
    ----------
    demand : of each class at each station, SymPy symbols or rational numbers [s]
    think : of each class, think time and demand at the delays [s]
    population : of each class
    most_terms : of the polynomial in a denominator; a longer one is not even completed

    Returns
    -------
    throughput and response time of each class, as quotients of two polynomials; 0 for a class without customers

    Raises
    ------
    ModelError : a demand is no polynomial
    NoAnswerError : the formula would have too many terms, or a cycle takes no time

    Source: Buzen, Comm. ACM 16(9), 1973, 527-531; Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322.

    >>> from sympy import symbols
    >>> a, b = symbols("a b", positive=True)
    >>> throughput, response = symbolic_mean_values([[a, b]], [0], [2])
    >>> print(throughput[0])
    (a + b)/(a**2 + a*b + b**2)
    """
    import sympy
    from sympy.polys.rings import ring

    given = [[_rational(each) for each in row] for row in (*demand, think)]
    letters = sorted({each for row in given for one in row for each in one.free_symbols}, key=str)
    polynomials, *_ = ring(letters or [sympy.Symbol("x")], sympy.QQ)
    try:
        loads = [[polynomials.from_expr(each) for each in row] for row in given]
    except ValueError:
        raise ModelError("a formula needs demands that are polynomials in the symbols") from None
    constants = _constants(loads[:-1], loads[-1], polynomials.one, population, most_terms)
    whole = constants[tuple(population)]
    throughput, response = [sympy.Integer(0)] * len(demand), [sympy.Integer(0)] * len(demand)
    for r, count in enumerate(population):
        if not count:
            continue
        if not whole:
            raise NoAnswerError(f"a cycle of class {r + 1} takes no time: there is no formula for its throughput")
        less = constants[tuple(n - (i == r) for i, n in enumerate(population))]
        throughput[r] = _quotient(less, whole)
        response[r] = _quotient(count * whole - loads[-1][r] * less, less)
    return throughput, response


def _rational(value: Any) -> Any:
    """Take an expression or a number; text would be run as code."""
    import sympy

    if isinstance(value, sympy.Expr):
        return value
    if isinstance(value, int | float):
        return sympy.nsimplify(value, rational=True)
    raise ModelError(f"a formula takes numbers and expressions, not {type(value).__name__}")


def _constants(
    demand: list[Any], think: list[Any], one: Any, population: Sequence[int], most_terms: int
) -> dict[tuple[int, ...], Any]:
    """Give G(n) of every population up to N."""
    lattice = list(product(*(range(each + 1) for each in population)))
    constants = {}
    for vector in lattice:
        constants[vector] = one
        for away, n in zip(think, vector, strict=True):
            for i in range(1, n + 1):
                constants[vector] = constants[vector] * away / i
    for station in range(len(demand[0])):
        for vector in lattice:
            for r in (r for r, n in enumerate(vector) if n):
                before = tuple(n - (i == r) for i, n in enumerate(vector))
                constants[vector] = constants[vector] + demand[r][station] * constants[before]
            if len(constants[vector]) > most_terms:
                raise NoAnswerError(
                    f"the formula for populations {tuple(population)} has more than {most_terms:,} terms; "
                    "ask for the numbers, or for fewer customers, classes or stations"
                )
    return constants


def _quotient(above: Any, below: Any) -> Any:
    above, below = above.cancel(below)
    return above.as_expr() / below.as_expr()
