"""Expressions in SymPy's hands: for LaTeX and algebra, never for evaluation.

SymPy is imported here, when asked for: it is most of a program's start-up. It gets symbols made from
checked names and numbers only; no text is ever parsed by it. Special functions are written out where mathematics has a form,
else they are functions of their own with a name on paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter, operands, walk


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

    def latex(self: Any, printer: Any, exp: str | None = None) -> str:
        written = on_paper.format(*(printer.doprint(each) for each in self.args))
        return written if exp is None else rf"\left({written}\right)^{{{exp}}}"

    def done(self: Any, **hints: Any) -> Any:
        return numeric(*self.args)

    return type(name, (sympy.Function,), {"_eval_evalf": evaluated, "_latex": latex, "doit": done})


def _named(name: str, on_paper: str, numeric: Callable[..., Any]) -> Callable[[Any, Sequence[Any]], Any]:
    return lambda sympy, args: _function(name, on_paper, numeric)(*args)


def to_sympy(expr: Expr, symbols: Mapping[str, Any] | None = None) -> Any:
    """Turn a tree into a SymPy expression, unevaluated where evaluation would be costly.

    Parameters
    ----------
    expr : the tree
    symbols : SymPy symbols by parameter name; positive real ones of the same name by default

    >>> to_sympy(Parameter("a") * Parameter("b") + 1)
    a*b + 1
    """
    import sympy

    known = dict(symbols or {})
    made: dict[int, Any] = {}
    for node in walk(expr):
        if isinstance(node, Parameter):
            made[id(node)] = known.setdefault(node.name, sympy.Symbol(node.name, positive=True))
        elif isinstance(node, Number):
            made[id(node)] = sympy.Integer(int(node.value)) if node.value.is_integer() else sympy.Float(node.value)
        elif isinstance(node, Booked):
            made[id(node)] = made[id(node.inner)]
        else:
            assert isinstance(node, Operation)
            made[id(node)] = _RULES[node.operator](sympy, [made[id(operand)] for operand in operands(node)])
    return made[id(expr)]


def latex(expr: Expr, names: Mapping[str, str] | None = None) -> str:
    r"""Write a tree as LaTeX, terms in the order they were written.

    Parameters
    ----------
    expr : the tree
    names : LaTeX by parameter name; upright text of the name by default

    >>> latex(Parameter("mu") - Parameter("lambda"), {"mu": r"\mu", "lambda": r"\lambda"})
    '\\mu - \\lambda'
    """
    import sympy

    given = dict(names or {})
    printed: dict[Any, str] = {}
    symbols: dict[str, Any] = {}
    for node in walk(expr):
        if isinstance(node, Parameter) and node.name not in symbols:
            symbols[node.name] = sympy.Symbol(f"v{len(symbols)}", positive=True)
            printed[symbols[node.name]] = given.get(node.name, upright(node.name))
    with sympy.evaluate(False):
        tree = to_sympy(expr, symbols)
    # Printing asks what is real or zero, and to answer that SymPy must be allowed to evaluate.
    return str(_printer()({"symbol_names": printed, "order": "none"}).doprint(tree))


@cache
def _printer() -> Any:
    """Make SymPy's printer of LaTeX, which can write a power of anything but of a choice between ranges."""
    from sympy.printing.latex import LatexPrinter

    def power_of_ranges(self: Any, expr: Any, exp: str | None = None) -> str:
        written = LatexPrinter._print_Piecewise(self, expr)
        return written if exp is None else rf"\left({written}\right)^{{{exp}}}"

    return type("Printer", (LatexPrinter,), {"_print_Piecewise": power_of_ranges})


def upright(name: str) -> str:
    """Write a dotted path as upright LaTeX text."""
    return r"\mathrm{" + name.replace("_", r"\_") + "}"


def _terms(arg: Any) -> tuple[Any, ...]:
    """List the terms of a sum within a sum, which on paper needs no parentheses."""
    return tuple(arg.args) if arg.is_Add else (arg,)


def _ranges(sympy: Any, args: Sequence[Any]) -> Any:
    # Piecewise itself would solve a condition with another range in it, which may never end.
    x, limit, below, above = args
    first, other = (below, sympy.Le(x, limit, evaluate=False)), (above, sympy.true)
    pairs = (sympy.Basic.__new__(sympy.functions.elementary.piecewise.ExprCondPair, *each) for each in (first, other))
    return sympy.Basic.__new__(sympy.Piecewise, *pairs)


def _levels(sympy: Any, args: Sequence[Any]) -> Any:
    return sympy.ceiling(sympy.log(args[0]) / sympy.log(args[1]), evaluate=False)


_RULES: dict[str, Callable[[Any, Sequence[Any]], Any]] = {
    "sum": lambda sympy, args: sympy.Add(*(term for arg in args for term in _terms(arg))),
    "difference": lambda sympy, args: sympy.Add(*_terms(args[0]), sympy.Mul(-1, args[1])),
    "product": lambda sympy, args: sympy.Mul(*sorted(args, key=lambda arg: not arg.is_Number)),  # 2 a, not a 2
    "quotient": lambda sympy, args: (
        sympy.Pow(args[1], -1) if args[0] == 1 else sympy.Mul(args[0], sympy.Pow(args[1], -1))
    ),
    "power": lambda sympy, args: sympy.Pow(*args),
    "max": lambda sympy, args: sympy.Max(*args, evaluate=False),
    "min": lambda sympy, args: sympy.Min(*args, evaluate=False),
    "ceil": lambda sympy, args: sympy.ceiling(args[0], evaluate=False),
    "floor": lambda sympy, args: sympy.floor(args[0], evaluate=False),
    "log2": lambda sympy, args: sympy.log(args[0]) / sympy.log(2),
    "sqrt": lambda sympy, args: sympy.sqrt(args[0]),
    "ceil_log": _levels,
    "select": _ranges,
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
