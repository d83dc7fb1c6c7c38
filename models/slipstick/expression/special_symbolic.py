"""The special functions in SymPy: closed where mathematics has a form, else functions of their own with a name on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

__all__ = ["SPECIAL_RULES"]


def _geometric_sum(sympy: Any, args: Sequence[Any]) -> Any:
    r, n = args
    return (1 - r**n) / (1 - r)


def _geometric_mean(sympy: Any, args: Sequence[Any]) -> Any:
    r, most = args
    return r / (1 - r) - (most + 1) * r ** (most + 1) / (1 - r ** (most + 1))


def _erlang_b(a: Any, c: Any) -> Any:
    import sympy

    # The sum of a^k / k! up to c is exp(a) Gamma(c+1, a) / c!.
    return a**c * sympy.exp(-a) / sympy.uppergamma(c + 1, a)


def _engset(a: Any, c: Any, n: Any) -> Any:
    inverse = 1
    for k in range(1, int(c) + 1):
        inverse = 1 + inverse * k / (a * (n - k + 1))
    return 1 / inverse


def _md1_number(a: Any, n: Any) -> Any:
    import sympy

    # The series of the transform, whose terms alternate: digits enough make it the second road.
    count, total = int(n), sympy.Integer(0)
    for k in range(count + 1):
        terms = [(k * a) ** (count - k) / sympy.factorial(count - k)]
        if k < count:
            terms.append((k * a) ** (count - k - 1) / sympy.factorial(count - k - 1))
        total += (-1) ** (count - k) * sympy.exp(k * a) * sum(terms)
    return (1 - a) * (total if count else 1)


def _md1_late(a: Any, x: Any) -> Any:
    import sympy

    waits = range(int(sympy.floor(x)) + 1)
    return 1 - (1 - a) * sum((-a * (x - k)) ** k / sympy.factorial(k) * sympy.exp(a * (x - k)) for k in waits)


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


@cache
def _function(name: str, on_paper: str, numeric: Callable[..., Any]) -> Any:
    """Make a SymPy function that stays as it is until it is asked for its digits, or done."""
    import sympy

    def evaluated(self: Any, prec: int) -> Any:
        digits = max(15, int(prec / 3.3))
        values = [each.evalf(digits) for each in self.args]
        return (
            sympy.Float(sympy.N(numeric(*values), digits), digits) if all(each.is_number for each in values) else None
        )

    def latex(self: Any, printer: Any) -> str:
        return on_paper.format(*(printer.doprint(each) for each in self.args))

    def done(self: Any, **hints: Any) -> Any:
        return numeric(*self.args)

    return type(name, (sympy.Function,), {"_eval_evalf": evaluated, "_latex": latex, "doit": done})


def _named(name: str, on_paper: str, numeric: Callable[..., Any]) -> Callable[[Any, Sequence[Any]], Any]:
    return lambda sympy, args: _function(name, on_paper, numeric)(*args)


SPECIAL_RULES: dict[str, Callable[[Any, Sequence[Any]], Any]] = {
    "exp": lambda sympy, args: sympy.exp(args[0]),
    "exprel": lambda sympy, args: (sympy.exp(args[0]) - 1) / args[0],
    "log": lambda sympy, args: sympy.log(args[0]),
    "pow": lambda sympy, args: sympy.Pow(args[0], args[1]),
    "geometric_sum": _geometric_sum,
    "geometric_mean": _geometric_mean,
    "erlang_b": _named("erlang_b", r"B\left({1}, {0}\right)", _erlang_b),
    "poisson": lambda sympy, args: args[0] ** args[1] * sympy.exp(-args[0]) / sympy.factorial(args[1]),
    "md1_number": _named("md1_number", r"P^{{M/D/1}}_{{{1}}}\left({0}\right)", _md1_number),
    "md1_late": _named("md1_late", r"W^{{M/D/1}}\left({0}, {1}\right)", _md1_late),
    "engset": _named("engset", r"E_{{{1}}}\left({2}, {0}\right)", _engset),
    "drop_stages": _named("drop_stages", r"D^{{{1} \times {2}}}_{{{3}}}\left({0}\right)", _drop_stages),
    "retried_rate": _named("retried_rate", r"R^{{{1} \times {2}}}_{{{3}}}\left({0}\right)", _retried_rate),
}
"""By operator, as the rules of `symbolic`."""
