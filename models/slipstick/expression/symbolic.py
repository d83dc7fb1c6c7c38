"""Expressions in SymPy's hands: for LaTeX and algebra, never for evaluation.

SymPy is imported here, when asked for: it is most of a program's start-up. It gets symbols made from
checked names and numbers only; no text is ever parsed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter, operands, walk
from slipstick.expression.special_symbolic import SPECIAL_RULES

__all__ = ["latex", "to_sympy"]


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
    return str(sympy.latex(tree, symbol_names=printed, order="none"))


def upright(name: str) -> str:
    """Write a dotted path as upright LaTeX text."""
    return r"\mathrm{" + name.replace("_", r"\_") + "}"


def _terms(arg: Any) -> tuple[Any, ...]:
    """List the terms of a sum within a sum, which on paper needs no parentheses."""
    return tuple(arg.args) if arg.is_Add else (arg,)


def _ranges(sympy: Any, args: list[Any]) -> Any:
    # Piecewise itself would solve a condition with another range in it, which may never end.
    x, limit, below, above = args
    first, other = (below, sympy.Le(x, limit, evaluate=False)), (above, sympy.true)
    pairs = (sympy.Basic.__new__(sympy.functions.elementary.piecewise.ExprCondPair, *each) for each in (first, other))
    return sympy.Basic.__new__(sympy.Piecewise, *pairs)


def _levels(sympy: Any, args: list[Any]) -> Any:
    return sympy.ceiling(sympy.log(args[0]) / sympy.log(args[1]), evaluate=False)


_RULES: dict[str, Callable[[Any, list[Any]], Any]] = {
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
    **SPECIAL_RULES,
}
