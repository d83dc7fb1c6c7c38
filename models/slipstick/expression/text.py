"""Expressions as people write them: the same text that a spec may hold."""

from __future__ import annotations

from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter, walk

__all__ = ["number_text", "text"]

_LONGEST = 20_000

Made = dict[int, tuple[str, int]]

_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = 1, 2, 3, 4, 5
_INFIX = {
    "sum": (" + ", _SUM),
    "difference": (" - ", _SUM),
    "product": (" * ", _PRODUCT),
    "quotient": (" / ", _PRODUCT),
}


def text(expr: Expr) -> str:
    """Write an expression with as few parentheses as its meaning allows; parts too long to read are dots.

    >>> x = Parameter("x", value=2.0)
    >>> text((x + 1) / x ** 2)
    '(x + 1) / x ** 2'
    """
    made: Made = {}
    for node in walk(expr):
        words, binding = _text(node, made)
        # Parts that stand in several places would otherwise double the length at each level.
        made[id(node)] = (words, binding) if len(words) <= _LONGEST else ("...", _ATOM)
    return made[id(expr)][0]


def number_text(value: float) -> str:
    """Write a number so that it reads back as the same double, whole numbers without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _text(node: Expr, made: Made) -> tuple[str, int]:
    """Give the text and how tightly it binds, from those of the operands."""
    if isinstance(node, Number):
        # A bare zero goes with any dimension; other constants are written as a spec writes them.
        unit = "" if node.dimension == COUNT or node.value == 0 else f" {node.dimension}"
        return number_text(node.value) + unit, _ATOM if node.value >= 0 else _SIGN
    if isinstance(node, Parameter):
        return node.name, _ATOM
    if isinstance(node, Booked):
        return made[id(node.inner)]
    assert isinstance(node, Operation)
    inner = [made[id(operand)] for operand in node.operands]
    if node.operator == "power":
        return " ** ".join(_within(each, _ATOM) for each in inner), _POWER
    if node.operator in _INFIX:
        sign, level = _INFIX[node.operator]
        # What follows must bind tighter: a - (b - c) is not a - b - c, and a + (b + c) may round differently.
        return sign.join([_within(inner[0], level), *(_within(each, level + 1) for each in inner[1:])]), level
    return f"{node.operator}({', '.join(words for words, _ in inner)})", _ATOM


def _within(part: tuple[str, int], level: int) -> str:
    words, binding = part
    return words if binding >= level else f"({words})"
