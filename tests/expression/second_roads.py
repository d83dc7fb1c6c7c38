"""Functions that SymPy does not know, by slower and surer ways than those of the product: digits
enough make them a second road.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy


def at_point(expression: Any, point: Mapping[Any, Any]) -> Any:
    """Return the value of an expression at a point, each such function by its second road."""

    def computed(each: Any) -> Any:
        return ROADS[type(each).__name__](*(operand.subs(point) for operand in each.args))

    return expression.replace(lambda each: type(each).__name__ in ROADS, computed).subs(point)


def _erlang_b(a: Any, c: Any) -> Any:
    # The sum of a^k / k! up to c is exp(a) Gamma(c+1, a) / c!.
    return a**c * sympy.exp(-a) / sympy.uppergamma(c + 1, a)


def _palm(y: Any, x: Any) -> Any:
    return y**x * sympy.exp(-y) / (x * sympy.lowergamma(x, y))


def _engset(a: Any, c: Any, n: Any) -> Any:
    inverse = 1
    for k in range(1, int(c) + 1):
        inverse = 1 + inverse * k / (a * (n - k + 1))
    return 1 / inverse


def _md1_number(a: Any, n: Any) -> Any:
    # The series of the transform, whose terms alternate: digits enough make it the second road.
    count, total = int(n), sympy.Integer(0)
    for k in range(count + 1):
        terms = [(k * a) ** (count - k) / sympy.factorial(count - k)]
        if k < count:
            terms.append((k * a) ** (count - k - 1) / sympy.factorial(count - k - 1))
        total += (-1) ** (count - k) * sympy.exp(k * a) * sum(terms)
    return (1 - a) * (total if count else 1)


def _md1_late(a: Any, x: Any) -> Any:
    waits = range(int(sympy.floor(x)) + 1)
    return 1 - (1 - a) * sum(
        (-a * (x - k)) ** k / sympy.factorial(k) * sympy.exp(a * (x - k)) for k in waits
    )


def _drop_stages(m: Any, a: Any, b: Any, n: Any) -> Any:
    for _ in range(int(n)):
        m = 1 - (1 - m / b) ** a
    return m


def _retried_rate(m: Any, a: Any, b: Any, n: Any) -> Any:
    # Halving an interval is slow and certain: the second road to Newton's steps.
    low, high = m, 1 + 0 * m
    for _ in range(120):
        middle = (low + high) / 2
        through = _drop_stages(middle, a, b, n) * (b / a) ** int(n)
        low, high = (middle, high) if m * (1 - middle) > through * (1 - m) else (low, middle)
    return low


ROADS: dict[str, Callable[..., Any]] = {
    "erlang_b": _erlang_b,
    "engset": _engset,
    "palm": _palm,
    "md1_number": _md1_number,
    "md1_late": _md1_late,
    "drop_stages": _drop_stages,
    "retried_rate": _retried_rate,
}
