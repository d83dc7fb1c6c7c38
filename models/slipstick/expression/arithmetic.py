"""The nodes of an expression, and arithmetic on them: numbers, named parameters, operations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from slipstick.errors import ModelError
from slipstick.expression.dimension import COUNT, Dimension

__all__ = [
    "Booked",
    "Expr",
    "Like",
    "Number",
    "Operation",
    "Parameter",
    "as_expr",
    "constant",
    "difference",
    "is_number",
    "need_counts",
    "of_counts",
    "one_dimension",
    "power",
    "product",
    "quotient",
    "total",
    "zero",
]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*")


class Expr:
    """Arithmetic on quantities; every node knows its dimension.

    ``+ - * /`` and ``**`` (whole exponent) build larger trees and refuse to add seconds to bytes.
    """

    __slots__ = ()
    dimension: Dimension

    def __add__(self, other: Like) -> Expr:
        return total([self, other])

    def __radd__(self, other: Like) -> Expr:
        return total([other, self])

    def __sub__(self, other: Like) -> Expr:
        return difference(self, as_expr(other))

    def __rsub__(self, other: Like) -> Expr:
        return difference(as_expr(other), self)

    def __mul__(self, other: Like) -> Expr:
        return product(self, as_expr(other))

    def __rmul__(self, other: Like) -> Expr:
        return product(as_expr(other), self)

    def __truediv__(self, other: Like) -> Expr:
        return quotient(self, as_expr(other))

    def __rtruediv__(self, other: Like) -> Expr:
        return quotient(as_expr(other), self)

    def __pow__(self, exponent: int) -> Expr:
        return power(self, exponent)

    def __neg__(self) -> Expr:
        return product(Number(-1.0), self)

    def __repr__(self) -> str:
        from slipstick.expression.text import text

        return text(self)


Like = Expr | float | int
"""What an operator takes: an expression, or a plain number."""


@dataclass(frozen=True, slots=True, repr=False)
class Number(Expr):
    """A constant. Only zero and numbers in conditions carry a dimension of their own."""

    value: float
    dimension: Dimension = COUNT

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ModelError(f"a number in an expression must be finite, got {self.value!r}")


@dataclass(frozen=True, slots=True, repr=False)
class Parameter(Expr):
    """A named quantity, usually with a base value.

    Parameters
    ----------
    name : dotted path, as in the file it comes from
    dimension : what it counts
    value : base value in base units; None for the symbols of a law

    >>> Parameter("parts", value=3.0) - 1
    parts - 1
    """

    name: str
    dimension: Dimension = COUNT
    value: float | None = None

    def __post_init__(self) -> None:
        if len(self.name) > 256 or not _NAME.fullmatch(self.name):
            raise ModelError(f"{self.name[:60]!r} cannot name a parameter: write letters, digits, _ - and dots")
        if self.value is not None and not math.isfinite(self.value):
            raise ModelError(f"parameter {self.name} must be finite, got {self.value!r}")


@dataclass(frozen=True, slots=True, repr=False)
class Operation(Expr):
    """An operator applied to operands; made by the functions of this package only."""

    operator: str
    operands: tuple[Expr, ...]
    dimension: Dimension
    hashed: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Kept, because a tree that is used twice at each of 40 levels has a million million leaves.
        object.__setattr__(self, "hashed", hash((self.operator, self.operands)))

    def __hash__(self) -> int:
        return self.hashed


@dataclass(frozen=True, slots=True, repr=False)
class Booked(Expr):
    """The same value as `inner`, kept apart under a label so that an account can be read off it."""

    label: str
    inner: Expr
    dimension: Dimension = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", self.inner.dimension)


def as_expr(value: Like) -> Expr:
    """Take an expression as it is and a plain number as a constant."""
    return value if isinstance(value, Expr) else Number(float(value))


def zero(dimension: Dimension) -> Number:
    """Nothing, of a dimension: what a sum of no times is."""
    return Number(0.0, dimension)


def total(terms: Iterable[Like], dimension: Dimension = COUNT) -> Expr:
    """Add terms of one dimension, in order; no terms give zero of `dimension`."""
    given = [as_expr(term) for term in terms]
    kept = [term for term in given if not is_number(term, 0.0)]
    if not kept:
        return zero(next((term.dimension for term in given if term.dimension != COUNT), dimension))
    if all(isinstance(term, Number) for term in kept):
        # One after the other, as the tape does; the built-in sum compensates in some versions of Python.
        return Number(reduce(float.__add__, map(constant, kept)), one_dimension("add", kept))
    return kept[0] if len(kept) == 1 else Operation("sum", tuple(kept), one_dimension("add", kept))


def constant(node: Expr) -> float:
    """Give the value of a constant."""
    assert isinstance(node, Number)
    return node.value


def is_number(node: Expr, value: float) -> bool:
    """Say whether a node is this very constant."""
    return isinstance(node, Number) and node.value == value


def one_dimension(verb: str, nodes: Iterable[Expr]) -> Dimension:
    """Insist on a common dimension; a bare zero goes with anything."""
    known = [node for node in nodes if not is_number(node, 0.0)]
    for node in known[1:]:
        if node.dimension != known[0].dimension:
            raise ModelError(
                f"cannot {verb} [{known[0].dimension}] and [{node.dimension}]: {_short(known[0])} and {_short(node)}"
            )
    return known[0].dimension if known else COUNT


def need_counts(what: str, *nodes: Expr) -> None:
    """Insist on plain numbers."""
    for node in nodes:
        if node.dimension != COUNT:
            raise ModelError(f"{what} takes a plain number, got [{node.dimension}]: {_short(node)}")


def _short(node: Expr) -> str:
    words = repr(node)
    return words if len(words) <= 60 else words[:57] + "..."


def of_counts(operator: str, *operands: Like) -> Operation:
    """Apply a special function to plain numbers."""
    given = tuple(map(as_expr, operands))
    need_counts(operator, *given)
    return Operation(operator, given, COUNT)


def difference(a: Expr, b: Expr) -> Expr:
    """Subtract; what `a - b` does."""
    if is_number(b, 0.0):
        return a
    dimension = one_dimension("subtract", [a, b])
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.value - b.value, dimension)
    return Operation("difference", (a, b), dimension)


def product(a: Expr, b: Expr) -> Expr:
    """Multiply; what `a * b` does."""
    dimension = a.dimension * b.dimension
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.value * b.value, dimension)
    for one, other in ((a, b), (b, a)):
        if one == Number(1.0):
            return other
    return Operation("product", (a, b), dimension)


def quotient(a: Expr, b: Expr) -> Expr:
    """Divide; what `a / b` does."""
    if is_number(b, 0.0):
        raise ModelError(f"division by zero: {_short(a)} / 0")
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.value / b.value, a.dimension / b.dimension)
    return a if b == Number(1.0) else Operation("quotient", (a, b), a.dimension / b.dimension)


def power(base: Expr, exponent: int) -> Expr:
    """Take a whole power; what `a ** n` does."""
    if exponent != int(exponent) or not -64 <= exponent <= 64:
        raise ModelError(f"an exponent must be a whole number from -64 to 64, got {exponent!r}")
    if isinstance(base, Number):
        return Number(_finite_power(base.value, int(exponent)), base.dimension ** int(exponent))
    return Operation("power", (base, Number(float(exponent))), base.dimension ** int(exponent))


def _finite_power(base: float, exponent: int) -> float:
    try:
        return base**exponent
    except (OverflowError, ZeroDivisionError):
        raise ModelError(f"{base:g} ** {exponent} is not a finite number") from None
