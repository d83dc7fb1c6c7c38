"""Expressions as people write them: the same text that a spec may hold."""

from __future__ import annotations

from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter

__all__ = ["number_text", "text"]

_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = 1, 2, 3, 4, 5
_INFIX = {
    "sum": (" + ", _SUM),
    "difference": (" - ", _SUM),
    "product": (" * ", _PRODUCT),
    "quotient": (" / ", _PRODUCT),
}


def text(expr: Expr) -> str:
    """Write an expression with as few parentheses as its meaning allows.

    >>> x = Parameter("x", value=2.0)
    >>> text((x + 1) / x ** 2)
    '(x + 1) / x ** 2'
    """
    return _text(expr)[0]


def number_text(value: float) -> str:
    """Write a number so that it reads back as the same double, whole numbers without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _text(node: Expr) -> tuple[str, int]:
    """Give the text and how tightly it binds."""
    if isinstance(node, Number):
        return number_text(node.value), _ATOM if node.value >= 0 else _SIGN
    if isinstance(node, Parameter):
        return node.name, _ATOM
    if isinstance(node, Booked):
        return _text(node.inner)
    assert isinstance(node, Operation)
    if node.operator == "power":
        return f"{_within(node.operands[0], _ATOM)} ** {_within(node.operands[1], _ATOM)}", _POWER
    if node.operator in _INFIX:
        sign, level = _INFIX[node.operator]
        first, *others = node.operands
        # What follows must bind tighter: a - (b - c) is not a - b - c, and a + (b + c) may round differently.
        return sign.join([_within(first, level), *(_within(other, level + 1) for other in others)]), level
    return f"{node.operator}({', '.join(_text(operand)[0] for operand in node.operands)})", _ATOM


def _within(node: Expr, level: int) -> str:
    words, binding = _text(node)
    return words if binding >= level else f"({words})"
