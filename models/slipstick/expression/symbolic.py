"""Conversion of expressions to SymPy, for LaTeX and algebra; values are never computed with it.

SymPy is imported when a tree is first passed to it: it is most of a program's start-up. It gets
symbols made from checked names and numbers only; no text is ever parsed by it. Special functions
are written out where mathematics has a form, else they are functions of their own with a name on
paper, whose values are those of the calculator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter, operands, walk
from slipstick.expression.operators import OPERATORS
from slipstick.late import Late, np

__all__ = ["latex", "sympy", "to_sympy", "upright"]

if TYPE_CHECKING:
    import sympy
else:
    sympy = Late("sympy")


@cache
def _unevaluated_function(name: str) -> Any:
    """Build a SymPy function of this name that has a LaTeX form, and a value only where SymPy asks
    for a floating-point number.
    """

    def latex(self: Any, printer: Any, exp: str | None = None) -> str:
        """Return the LaTeX form of the function, for SymPy's printer."""
        latex_text = _LATEX_TEMPLATES[name].format(
            *(printer.doprint(operand) for operand in self.args)
        )
        return latex_text if exp is None else rf"\left({latex_text}\right)^{{{exp}}}"

    def evaluate(self: Any, precision: int) -> Any:
        """Return the value for numbers, in double precision; None for other operands."""
        operand_values = [operand.evalf() for operand in self.args]
        if not all(value.is_Number for value in operand_values):
            return None
        result = np.empty(1)
        columns = [np.array([float(value)]) for value in operand_values]
        OPERATORS[name].evaluate(columns, result)
        return sympy.Float(result[0])

    return type(name, (sympy.Function,), {"_latex": latex, "_eval_evalf": evaluate})


def to_sympy(expr: Expr, symbols: Mapping[str, Any] | None = None) -> Any:
    """Convert a tree to a SymPy expression, unevaluated where evaluation would be slow.

    Parameters
    ----------
    expr : the tree
    symbols : SymPy symbols by parameter name; positive real ones of the same name by default

    >>> to_sympy(Parameter("a") * Parameter("b") + 1)
    a*b + 1
    """
    symbol_by_name = dict(symbols or {})
    sympy_by_node: dict[int, Any] = {}
    for node in walk(expr):
        if isinstance(node, Parameter):
            # By identity, as everywhere where expressions are walked: they share nodes.
            sympy_by_node[id(node)] = symbol_by_name.setdefault(
                node.name, sympy.Symbol(node.name, positive=True)
            )
        elif isinstance(node, Number):
            sympy_by_node[id(node)] = (
                sympy.Integer(int(node.value))
                if node.value.is_integer()
                else sympy.Float(node.value)
            )
        elif isinstance(node, Booked):
            sympy_by_node[id(node)] = sympy_by_node[id(node.inner_expr)]
        else:
            assert isinstance(node, Operation)
            convert_operation = _CONVERSIONS.get(node.operator) or _unevaluated_function(
                node.operator
            )
            sympy_by_node[id(node)] = convert_operation(
                *(sympy_by_node[id(operand)] for operand in operands(node))
            )
    return sympy_by_node[id(expr)]


def latex(expr: Expr, names: Mapping[str, str] | None = None) -> str:
    r"""Write a tree as LaTeX, terms in the order they were written.

    Parameters
    ----------
    expr : the tree
    names : LaTeX by parameter name; upright text of the name by default

    >>> latex(Parameter("mu") - Parameter("lambda"), {"mu": r"\mu", "lambda": r"\lambda"})
    '\\mu - \\lambda'
    """
    latex_by_name = dict(names or {})
    latex_by_symbol: dict[Any, str] = {}
    symbol_by_name: dict[str, Any] = {}
    for node in walk(expr):
        if isinstance(node, Parameter) and node.name not in symbol_by_name:
            symbol_by_name[node.name] = sympy.Symbol(f"v{len(symbol_by_name)}", positive=True)
            latex_by_symbol[symbol_by_name[node.name]] = latex_by_name.get(
                node.name, upright(node.name)
            )
    with sympy.evaluate(False):
        sympy_tree = to_sympy(expr, symbol_by_name)
    # Printing asks what is real or zero, and to answer that SymPy must be allowed to evaluate.
    return str(
        _latex_printer()({"symbol_names": latex_by_symbol, "order": "none"}).doprint(sympy_tree)
    )


@cache
def _latex_printer() -> Any:
    """Build a LaTeX printer that puts parentheses around a choice between ranges which is raised to
    a power.
    """
    from sympy.printing.latex import LatexPrinter

    def power_of_ranges(self: Any, expr: Any, exp: str | None = None) -> str:
        """Return the LaTeX form of a choice between ranges, or of its power."""
        latex_text = LatexPrinter._print_Piecewise(self, expr)
        return latex_text if exp is None else rf"\left({latex_text}\right)^{{{exp}}}"

    return type("Printer", (LatexPrinter,), {"_print_Piecewise": power_of_ranges})


def upright(name: str) -> str:
    """Write a dotted path as upright LaTeX text."""
    return r"\mathrm{" + name.replace("_", r"\_") + "}"


def _terms_of_sum(expr: Any) -> tuple[Any, ...]:
    """Return the terms of a sum, or the expression alone if it is no sum, so that nested sums need
    no parentheses.
    """
    return tuple(expr.args) if expr.is_Add else (expr,)


def _choice_by_range(operand: Any, limit: Any, below: Any, above: Any) -> Any:
    """Return SymPy's form of a choice: `below` where operand <= limit, else `above`."""
    # Piecewise itself would solve a condition with another range in it, which may never end.
    lower_range = (below, sympy.Le(operand, limit, evaluate=False))
    upper_range = (above, sympy.true)
    ranges = (
        sympy.Basic.__new__(sympy.functions.elementary.piecewise.ExprCondPair, *value_and_condition)
        for value_and_condition in (lower_range, upper_range)
    )
    return sympy.Basic.__new__(sympy.Piecewise, *ranges)


_CONVERSIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda *args: sympy.Add(*(term for arg in args for term in _terms_of_sum(arg))),
    "difference": lambda a, b: sympy.Add(*_terms_of_sum(a), sympy.Mul(-1, b)),
    # Numbers first: 2 a, not a 2.
    "product": lambda *args: sympy.Mul(*sorted(args, key=lambda arg: not arg.is_Number)),
    "quotient": lambda a, b: sympy.Pow(b, -1) if a == 1 else sympy.Mul(a, sympy.Pow(b, -1)),
    "power": lambda base, exponent: sympy.Pow(base, exponent),
    "max": lambda *args: sympy.Max(*args, evaluate=False),
    "min": lambda *args: sympy.Min(*args, evaluate=False),
    "ceil": lambda x: sympy.ceiling(x, evaluate=False),
    "floor": lambda x: sympy.floor(x, evaluate=False),
    "log2": lambda x: sympy.log(x) / sympy.log(2),
    "sqrt": lambda x: sympy.sqrt(x),
    "ceil_log": lambda x, radix: sympy.ceiling(sympy.log(x) / sympy.log(radix), evaluate=False),
    "select": _choice_by_range,
    "exp": lambda x: sympy.exp(x),
    "exprel": lambda x: (sympy.exp(x) - 1) / x,
    "log": lambda x: sympy.log(x),
    "pow": lambda base, exponent: sympy.Pow(base, exponent),
    "geometric_sum": lambda r, n: (1 - r**n) / (1 - r),
    "geometric_mean": lambda r, most: (
        r / (1 - r) - (most + 1) * r ** (most + 1) / (1 - r ** (most + 1))
    ),
    "poisson": lambda mean, n: mean**n * sympy.exp(-mean) / sympy.factorial(n),
}

_LATEX_TEMPLATES = {
    "erlang_b": r"B\left({1}, {0}\right)",
    "palm": r"A^{{-1}}\left({1}, {0}\right)",
    "engset": r"E_{{{1}}}\left({2}, {0}\right)",
    "md1_number": r"P^{{M/D/1}}_{{{1}}}\left({0}\right)",
    "md1_late": r"W^{{M/D/1}}\left({0}, {1}\right)",
    "drop_stages": r"D^{{{1} \times {2}}}_{{{3}}}\left({0}\right)",
    "retried_rate": r"R^{{{1} \times {2}}}_{{{3}}}\left({0}\right)",
}
"""LaTeX of the functions that SymPy does not know, in which braces hold the numbers of their
operands.
"""
