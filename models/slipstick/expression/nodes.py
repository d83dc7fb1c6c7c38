"""Expression trees: numbers and named parameters with dimensions, operations, traversal of a tree,
and its text.

A dimension is what a number counts, without how large its unit is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any, cast

from slipstick.arguments import (
    LARGEST,
    TEXT,
    Kind,
    UnfitError,
    checked,
    instance_of,
    optional_kind,
    plain_number,
    real_number,
    value_in_message,
)
from slipstick.errors import ModelError, UnitError
from slipstick.late import dataclass, field, late_pattern, replace

BASES = ("s", "B", "op", "request", "page", "message", "cycle")
"""Base units. Bytes, operations, requests and cycles are dimensions of their own: none turns into
a plain number or into another."""

_DIMENSION_FACTOR = late_pattern(r"(?P<base>[A-Za-z]+)(?:\^(?P<power>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Dimension:
    """A product of integer powers of the base units.

    Parameters
    ----------
    powers : one integer for each of `BASES` [1]

    >>> TIME / BYTES
    Dimension.of('s/B')
    >>> (TIME / BYTES * BYTES) == TIME
    True
    """

    powers: tuple[int, ...] = (0,) * len(BASES)

    @staticmethod
    def of(text: str) -> Dimension:
        """Return the dimension with a canonical spelling, such as ``1``, ``s/B`` or ``s B/op^2``.

        Raises UnitError for anything else.

        >>> Dimension.of("1/s").time_power
        -1
        """
        return _read_dimension(text)

    @property
    def time_power(self) -> int:
        """The exponent of time, by which shares of time are weighted (s: 1, 1/s: -1, B: 0)."""
        return self.powers[0]

    def __mul__(self, factor: Dimension) -> Dimension:
        return Dimension(
            tuple(
                power + factor_power
                for power, factor_power in zip(self.powers, factor.powers, strict=True)
            )
        )

    def __truediv__(self, divisor: Dimension) -> Dimension:
        return Dimension(
            tuple(
                power - divisor_power
                for power, divisor_power in zip(self.powers, divisor.powers, strict=True)
            )
        )

    def __pow__(self, exponent: int) -> Dimension:
        return Dimension(tuple(exponent * power for power in self.powers))

    def __str__(self) -> str:
        return _dimension_text(self.powers)

    def __repr__(self) -> str:
        return f"Dimension.of({str(self)!r})"


@cache
def _dimension_text(powers: tuple[int, ...]) -> str:
    """Write a dimension from the powers of the base units, such as ``1/s``."""
    numerator = _quotient_side_text(powers, 1)
    denominator = _quotient_side_text(powers, -1)
    return (numerator or "1") + (f"/{denominator}" if denominator else "")


def _quotient_side_text(powers: tuple[int, ...], sign: int) -> str:
    """Write the base units with a positive or with a negative power, as one side of a quotient."""
    signed_powers = ((base, power * sign) for base, power in zip(BASES, powers, strict=True))
    return " ".join(
        base if power == 1 else f"{base}^{power}" for base, power in signed_powers if power > 0
    )


@cache
def _read_dimension(text: str) -> Dimension:
    """Parse the text of a dimension, such as ``s/B``; raise UnitError for other text."""
    numerator, _, denominator = text.partition("/")
    power_by_base = dict.fromkeys(BASES, 0)
    for factors_text, sign in ((numerator, 1), (denominator, -1)):
        for factor_text in factors_text.split():
            factor_match = _DIMENSION_FACTOR.fullmatch(factor_text)
            if factor_text == "1" and sign == 1:
                continue
            if factor_match is None or factor_match["base"] not in power_by_base:
                raise UnitError(
                    f"{text!r} is not a dimension; write base units as in 's/B': {', '.join(BASES)}"
                )
            power_by_base[factor_match["base"]] += sign * int(factor_match["power"] or 1)
    return Dimension(tuple(power_by_base.values()))


COUNT = Dimension.of("1")
TIME = Dimension.of("s")
BYTES = Dimension.of("B")
TIME_PER_BYTE = Dimension.of("s/B")
RATE = Dimension.of("1/s")


_NAME = late_pattern(r"[A-Za-z][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*")


class Expr:
    """A node of an expression tree over quantities; every node knows its dimension.

    ``+ - * /`` and ``**`` (whole exponent) build larger trees and refuse to add seconds to bytes.
    """

    __slots__ = ()
    dimension: Dimension

    def __add__(self, addend: Like) -> Expr:
        return total([self, addend])

    def __radd__(self, addend: Like) -> Expr:
        return total([addend, self])

    def __sub__(self, subtrahend: Like) -> Expr:
        return difference(self, as_expr(subtrahend))

    def __rsub__(self, minuend: Like) -> Expr:
        return difference(as_expr(minuend), self)

    def __mul__(self, factor: Like) -> Expr:
        return product(self, as_expr(factor))

    def __rmul__(self, factor: Like) -> Expr:
        return product(as_expr(factor), self)

    def __truediv__(self, divisor: Like) -> Expr:
        return quotient(self, as_expr(divisor))

    def __rtruediv__(self, dividend: Like) -> Expr:
        return quotient(as_expr(dividend), self)

    def __pow__(self, exponent: int) -> Expr:
        return power(self, exponent)

    def __neg__(self) -> Expr:
        return product(Number(-1.0), self)

    def __repr__(self) -> str:
        return text(self)


Like = Expr | float | int
"""An operand of an operator: an expression, or a plain number."""

_IN_BASE_UNITS = "a finite number in base units, such as 9e-3, or an expression"


def _number_or_expression(value: Any) -> Any:
    """Return an operand as a float or an expression. These two kinds are tested first, because most
    operands are of one of them.
    """
    if (type(value) is float and -LARGEST <= value <= LARGEST) or isinstance(value, Expr):
        return value
    number = plain_number(value)
    if number is None or not -LARGEST <= number <= LARGEST:
        raise UnfitError(_IN_BASE_UNITS, value)
    return number


LIKE = Kind(_IN_BASE_UNITS, _number_or_expression)
"""Operands of operators (`Like`), as a kind of argument that is checked."""


@dataclass(frozen=True, slots=True, repr=False)
class Number(Expr):
    """A constant. It is a plain number, except that zero and numbers in conditions may have a
    dimension.
    """

    value: float
    dimension: Dimension = COUNT

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ModelError(f"a number in an expression must be finite, got {self.value!r}")


_ONE = Number(1.0)


@checked(
    name=TEXT, dimension=instance_of(Dimension, "a dimension"), value=optional_kind(real_number())
)
@dataclass(frozen=True, slots=True, repr=False)
class Parameter(Expr):
    """A named quantity, usually with a base value.

    Parameters
    ----------
    name : dotted path of the quantity in its file
    dimension : the kind of quantity, such as a time or a plain number
    value : base value in base units; None for the symbols of a law

    >>> Parameter("parts", value=3.0) - 1
    parts - 1
    """

    name: str
    dimension: Dimension = COUNT
    value: float | None = None

    def __post_init__(self) -> None:
        if len(self.name) > 256 or not _NAME.fullmatch(self.name):
            raise ModelError(
                f"{self.name[:60]!r} cannot name a parameter: write letters, digits, _ - and dots"
            )


@dataclass(frozen=True, slots=True, repr=False)
class Operation(Expr):
    """An operator applied to operands; made by the functions of this package only."""

    operator: str
    operands: tuple[Expr, ...]
    dimension: Dimension
    hash_value: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Kept, because a tree that is used twice at each of 40 levels has a million
        # million leaves.
        object.__setattr__(self, "hash_value", hash((self.operator, self.operands)))

    def __hash__(self) -> int:
        return self.hash_value


@dataclass(frozen=True, slots=True, repr=False)
class Booked(Expr):
    """An expression with the value of `inner_expr` and a label, by which the account of time finds
    its
    part.
    """

    label: str
    inner_expr: Expr
    dimension: Dimension = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", self.inner_expr.dimension)


def as_expr(value: Like) -> Expr:
    """Convert a plain number to a constant, and return an expression unchanged."""
    if isinstance(value, Expr):
        return value
    try:
        return Number(float(_number_or_expression(value)))
    except UnfitError:
        raise ModelError(
            f"an operand must be {_IN_BASE_UNITS}, got {value_in_message(value)}"
        ) from None


def zero(dimension: Dimension) -> Number:
    """Return zero of a dimension, which is an empty sum."""
    return Number(0.0, dimension)


def total(terms: Iterable[Like], dimension: Dimension = COUNT) -> Expr:
    """Add terms of one dimension, in order; no terms give zero of `dimension`."""
    operands = [as_expr(term) for term in terms]
    nonzero_terms = [term for term in operands if not is_number(term, 0.0)]
    if not nonzero_terms:
        return zero(
            next((term.dimension for term in operands if term.dimension != COUNT), dimension)
        )
    if all(isinstance(term, Number) for term in nonzero_terms):
        # One after the other, as the tape does; the built-in sum compensates in some versions of
        # Python.
        return Number(
            reduce(float.__add__, map(constant, nonzero_terms)),
            common_dimension("add", nonzero_terms),
        )
    return (
        nonzero_terms[0]
        if len(nonzero_terms) == 1
        else Operation("sum", tuple(nonzero_terms), common_dimension("add", nonzero_terms))
    )


def constant(node: Expr) -> float:
    """Return the value of a constant."""
    assert isinstance(node, Number)
    return node.value


def is_number(node: Expr, value: float) -> bool:
    """Return whether a node is a constant of exactly this value."""
    return isinstance(node, Number) and node.value == value


def common_dimension(operation_verb: str, nodes: Iterable[Expr]) -> Dimension:
    """Return the dimension that all nodes have; a plain zero fits any dimension. Raise ModelError
    if the dimensions differ.
    """
    dimensioned_nodes = [node for node in nodes if not is_number(node, 0.0)]
    for node in dimensioned_nodes[1:]:
        first_node = dimensioned_nodes[0]
        if node.dimension != first_node.dimension:
            raise ModelError(
                f"cannot {operation_verb} [{first_node.dimension}] and [{node.dimension}]:"
                f" {_short_text(first_node)} and {_short_text(node)};"
                f" {_unit_suggestion(first_node, node)}"
            )
    return dimensioned_nodes[0].dimension if dimensioned_nodes else COUNT


_USUAL_UNITS = {
    "s": ("s", "ms"),
    "B": ("B", "kB"),
    "1/s": ("/s", "/h"),
    "s/B": ("ns/B",),
    "B/s": ("MB/s",),
}
"""Units that are written most, by dimension."""


def with_usual_units(value: float, dimension: Dimension) -> str:
    """Return a value with the usual units of a dimension, for messages.

    >>> with_usual_units(3, TIME)
    "'3 s' or '3 ms'"
    >>> with_usual_units(38, RATE)
    "'38 /s' or '38 /h'"
    """
    units = _USUAL_UNITS.get(str(dimension), (str(dimension).replace("1/", "/"),))
    return " or ".join(f"'{value:g} {unit}'" for unit in units)


def _unit_suggestion(first_node: Expr, second_node: Expr) -> str:
    """Return a suggestion, for a message, how quantities of two dimensions can be brought to
    one.
    """
    first_dimension, second_dimension = first_node.dimension, second_node.dimension
    for number, dimension in ((first_node, second_dimension), (second_node, first_dimension)):
        if isinstance(number, Number) and number.dimension == COUNT:
            return f"write {with_usual_units(number.value, dimension)}"
    if COUNT in (first_dimension, second_dimension):
        dimension = second_dimension if first_dimension == COUNT else first_dimension
        return (
            f"write the plain number with a unit of [{dimension}], or divide the"
            f" [{dimension}] by one"
        )
    return (
        f"multiply the [{second_dimension}] by a quantity in [{first_dimension / second_dimension}]"
    )


def need_counts(subject: str, *nodes: Expr) -> None:
    """Raise unless all nodes are plain numbers."""
    for node in nodes:
        if node.dimension != COUNT:
            raise ModelError(
                f"{subject} takes a plain number, got [{node.dimension}]: {_short_text(node)}"
            )


def _short_text(node: Expr) -> str:
    """Write an expression in at most 60 characters, for a message."""
    node_text = repr(node)
    return node_text if len(node_text) <= 60 else node_text[:57] + "..."


def function_of_counts(operator: str, *operands: Like) -> Operation:
    """Build the expression that applies a special function to plain numbers."""
    counts = tuple(map(as_expr, operands))
    need_counts(operator, *counts)
    return Operation(operator, counts, COUNT)


def difference(minuend: Expr, subtrahend: Expr) -> Expr:
    """Build the difference of two operands, with numbers computed at once and a zero left out."""
    if is_number(subtrahend, 0.0):
        return minuend
    dimension = common_dimension("subtract", [minuend, subtrahend])
    if isinstance(minuend, Number) and isinstance(subtrahend, Number):
        return Number(minuend.value - subtrahend.value, dimension)
    return Operation("difference", (minuend, subtrahend), dimension)


def product(left: Expr, right: Expr) -> Expr:
    """Build the product of two operands, with numbers computed at once and a factor of 1 left
    out.
    """
    dimension = left.dimension * right.dimension
    if isinstance(left, Number) and isinstance(right, Number):
        return Number(left.value * right.value, dimension)
    for operand, remaining_factor in ((left, right), (right, left)):
        if operand == _ONE:
            return remaining_factor
    return Operation("product", (left, right), dimension)


def quotient(dividend: Expr, divisor: Expr) -> Expr:
    """Build the quotient of two operands, with numbers computed at once; raise ModelError for a
    divisor of zero.
    """
    if is_number(divisor, 0.0):
        raise ModelError(f"division by zero: {_short_text(dividend)} / 0")
    if isinstance(dividend, Number) and isinstance(divisor, Number):
        return Number(dividend.value / divisor.value, dividend.dimension / divisor.dimension)
    return (
        dividend
        if divisor == _ONE
        else Operation("quotient", (dividend, divisor), dividend.dimension / divisor.dimension)
    )


def power(base: Expr, exponent: int) -> Expr:
    """Build `a ** n` for a whole exponent from -64 to 64."""
    exponent_number = plain_number(exponent)
    if (
        exponent_number is None
        or not -64 <= exponent_number <= 64
        or exponent_number != int(exponent_number)
    ):
        raise ModelError(
            f"an exponent must be a whole number from -64 to 64, got {value_in_message(exponent)}"
        )
    if isinstance(base, Number):
        return Number(_finite_power(base.value, int(exponent)), base.dimension ** int(exponent))
    return Operation("power", (base, Number(float(exponent))), base.dimension ** int(exponent))


def _finite_power(base: float, exponent: int) -> float:
    """Return a power of a number; raise ModelError if it is not finite."""
    try:
        return base**exponent
    except (OverflowError, ZeroDivisionError):
        # Python raises where NumPy gives infinity; constants are folded before they meet a tape.
        raise ModelError(f"{base:g} ** {exponent} is not a finite number") from None


def tree_level_count(count: float, radix: float) -> int:
    """Return the least number of levels with which a tree of `radix` branches reaches
    `count`
    leaves, in integer arithmetic.
    """
    check_radix(radix)
    level_count = 0
    leaf_count = 1
    while leaf_count < count:
        level_count += 1
        leaf_count = leaf_count * int(radix)
    return level_count


def check_radix(radix: float) -> None:
    """Raise unless a number of branches is whole and at least 2."""
    if not (radix >= 2 and float(radix).is_integer()):
        raise ModelError(
            f"the radix of ceil_log must be a whole number of at least 2, got {radix:g}"
        )


def maximum(*operands: Like) -> Expr:
    """Build the maximum of operands, whose derivative belongs to the first operand that attains
    it.
    """
    return _maximum_or_minimum("max", max, operands)


def minimum(*operands: Like) -> Expr:
    """Build the minimum of operands, whose derivative belongs to the first operand that attains
    it.
    """
    return _maximum_or_minimum("min", min, operands)


def ceil(operand: Like) -> Expr:
    """Round up to a whole number."""
    return _function_of_count("ceil", operand, math.ceil)


def floor(operand: Like) -> Expr:
    """Round down to a whole number."""
    return _function_of_count("floor", operand, math.floor)


def log2(operand: Like) -> Expr:
    """Take the logarithm to base 2, exact at powers of two."""
    return _function_of_count("log2", operand, math.log2)


def sqrt(operand: Like) -> Expr:
    """Take the square root of a dimensionless quantity."""
    return _function_of_count("sqrt", operand, math.sqrt)


def ceil_log(operand: Like, radix: Like) -> Expr:
    """Count the levels of a tree: the least whole k with radix^k >= operand, exactly.

    >>> ceil_log(46_656, 36)  # 36^3, where a quotient of logarithms says 4
    3
    """
    count_expr = as_expr(operand)
    radix_expr = as_expr(radix)
    need_counts("ceil_log", count_expr, radix_expr)
    if isinstance(count_expr, Number) and isinstance(radix_expr, Number):
        return Number(float(tree_level_count(count_expr.value, radix_expr.value)))
    return Operation("ceil_log", (count_expr, radix_expr), COUNT)


def select(operand: Like, limit: Like, below: Like, above: Like) -> Expr:
    """Build a choice by range: `below` where operand <= limit, else `above`."""
    operand_expr, limit_expr, below_expr, above_expr = (
        as_expr(argument) for argument in (operand, limit, below, above)
    )
    common_dimension("compare", [operand_expr, limit_expr])
    if isinstance(operand_expr, Number) and isinstance(limit_expr, Number):
        return below_expr if operand_expr.value <= limit_expr.value else above_expr
    return Operation(
        "select",
        (operand_expr, limit_expr, below_expr, above_expr),
        common_dimension("choose between", [below_expr, above_expr]),
    )


def walk(*roots: Expr) -> Iterator[Expr]:
    """Yield every distinct node object once, operands before operations; without recursion, so that
    trees may be deep.
    """
    visited_ids: set[int] = set()
    # After None on the stack comes an operation of which all operands were yielded.
    stack: list[Expr | None] = [*reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:
            operation = cast(Expr, stack.pop())
            # By identity: expressions share nodes, and comparing equal ones would walk both.
            if id(operation) not in visited_ids:
                visited_ids.add(id(operation))
                yield operation
        elif id(node) not in visited_ids:
            if node_operands := operands(node):
                stack += [node, None]
                stack += node_operands[::-1]
            else:
                visited_ids.add(id(node))
                yield node


def operands(node: Expr) -> tuple[Expr, ...]:
    """Return the operands of a node; none for numbers and parameters."""
    if isinstance(node, Operation):
        return node.operands
    return (node.inner_expr,) if isinstance(node, Booked) else ()


def parameters(*roots: Expr) -> tuple[Parameter, ...]:
    """List the parameters of expressions, each once, in order of appearance.

    Raises ModelError if one name stands for two different quantities.
    """
    return parameters_among(walk(*roots))


def parameters_among(nodes: Iterable[Expr]) -> tuple[Parameter, ...]:
    """List the parameters among nodes, as `parameters` does."""
    parameters_by_name: dict[str, Parameter] = {}
    for node in nodes:
        if isinstance(node, Parameter) and parameters_by_name.setdefault(node.name, node) != node:
            raise ModelError(
                f"parameter {node.name} stands for two values,"
                f" {parameters_by_name[node.name].value} and"
                f" {node.value}; give each a name of its own"
            )
    return tuple(parameters_by_name.values())


def substitute(root: Expr, replacements: Mapping[str, Like]) -> Expr:
    """Return an expression in which parameters are replaced by expressions, by name."""
    return substitute_in_walk(tuple(walk(root)), replacements)


def substitute_in_walk(nodes: Sequence[Expr], replacements: Mapping[str, Like]) -> Expr:
    """Return the last node of a list from `walk`, with its parameters replaced by expressions."""
    new_node_by_id: dict[int, Expr] = {}
    for node in nodes:
        new_node_by_id[id(node)] = _rebuild_node(node, new_node_by_id, replacements)
    return new_node_by_id[id(nodes[-1])]


def keep_booked(root: Expr, labels: Collection[str]) -> Expr:
    """Return an expression in which each booked part is replaced by zero, except the parts with the
    given labels.

    >>> time = Booked("work", Parameter("a")) + Booked("wait", Parameter("b"))
    >>> keep_booked(time, ["work"])
    a
    """
    new_node_by_id: dict[int, Expr] = {}
    for node in walk(root):
        is_left_out = isinstance(node, Booked) and node.label not in labels
        new_node_by_id[id(node)] = (
            zero(node.dimension) if is_left_out else _rebuild_node(node, new_node_by_id, {})
        )
    return new_node_by_id[id(root)]


def _rebuild_node(
    node: Expr, new_node_by_id: Mapping[int, Expr], replacements: Mapping[str, Like]
) -> Expr:
    """Return a node over the rebuilt versions of its operands."""
    if isinstance(node, Parameter):
        if node.name not in replacements:
            return node
        replacement = as_expr(replacements[node.name])
        common_dimension(f"put in the place of {node.name}", [node, replacement])
        # A plain zero goes with any dimension; in this place it takes that of the parameter.
        return zero(node.dimension) if is_number(replacement, 0.0) else replacement
    if isinstance(node, Operation):
        new_operands = tuple(new_node_by_id[id(operand)] for operand in node.operands)
        are_unchanged = all(
            new_operand is old_operand
            for new_operand, old_operand in zip(new_operands, node.operands, strict=True)
        )
        return node if are_unchanged else with_operands(node, new_operands)
    return (
        replace(node, inner_expr=new_node_by_id[id(node.inner_expr)])
        if isinstance(node, Booked)
        else node
    )


def _maximum_or_minimum(
    operator: str, function: Callable[[Iterable[float]], float], values_or_exprs: Iterable[Like]
) -> Expr:
    """Build the maximum or the minimum of operands; constants are combined at once."""
    operand_nodes = tuple(map(as_expr, values_or_exprs))
    if not operand_nodes:
        raise ModelError(f"{operator} needs at least one operand")
    dimension = common_dimension("compare", operand_nodes)
    if all(isinstance(node, Number) for node in operand_nodes):
        return Number(function(constant(node) for node in operand_nodes), dimension)
    return (
        operand_nodes[0]
        if len(operand_nodes) == 1
        else Operation(operator, operand_nodes, dimension)
    )


def _function_of_count(operator: str, operand: Like, function: Callable[[float], float]) -> Expr:
    """Build a function of one plain number; a constant is computed at once by `function`."""
    operand_expr = as_expr(operand)
    need_counts(operator, operand_expr)
    if not isinstance(operand_expr, Number):
        return Operation(operator, (operand_expr,), COUNT)
    try:
        return Number(float(function(operand_expr.value)))
    except ValueError:
        raise ModelError(f"{operator} has no value at {operand_expr.value:g}") from None


def with_operands(node: Operation, new_operands: tuple[Expr, ...]) -> Expr:
    """Return an operation with the operator of a node and other operands."""
    match node.operator:
        case "sum":
            return total(new_operands, node.dimension)
        case "power":
            return power(new_operands[0], int(constant(new_operands[1])))
        case operator if operator in _FUNCTIONS:
            return _FUNCTIONS[operator](*new_operands)
    return function_of_counts(node.operator, *new_operands)


_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "difference": difference,
    "product": product,
    "quotient": quotient,
    "max": maximum,
    "min": minimum,
    "ceil": ceil,
    "floor": floor,
    "log2": log2,
    "sqrt": sqrt,
    "ceil_log": ceil_log,
    "select": select,
}

# Letters of a text from which on its parts are written as dots.
_LONGEST_TEXT = 20_000
_TextByNode = dict[int, tuple[str, int]]
_SUM_BINDING = 1
_PRODUCT_BINDING = 2
_SIGN_BINDING = 3
_POWER_BINDING = 4
_ATOM_BINDING = 5
"""How tightly an operator binds its operands, from a sum to an atom. An operand that binds less
tightly than its operator is written in parentheses.
"""

_INFIX = {
    "sum": (" + ", _SUM_BINDING),
    "difference": (" - ", _SUM_BINDING),
    "product": (" * ", _PRODUCT_BINDING),
    "quotient": (" / ", _PRODUCT_BINDING),
}


def text(expr: Expr) -> str:
    """Write an expression with as few parentheses as its meaning allows; parts that are too long
    become dots.

    >>> x = Parameter("x", value=2.0)
    >>> text((x + 1) / x**2)
    '(x + 1) / x ** 2'
    """
    text_by_node: _TextByNode = {}
    for node in walk(expr):
        node_text, binding = _text_and_binding(node, text_by_node)
        # Parts that stand in several places would otherwise double the length at each level.
        text_by_node[id(node)] = (
            (node_text, binding) if len(node_text) <= _LONGEST_TEXT else ("...", _ATOM_BINDING)
        )
    return text_by_node[id(expr)][0]


def number_text(value: float) -> str:
    """Write a number so that it reads back as the same double, whole numbers without a point."""
    # Below 1e15 every whole number is an exact double; `repr` reads back as the same double.
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _text_and_binding(node: Expr, text_by_node: _TextByNode) -> tuple[str, int]:
    """Return the text of a node and how tightly its operator binds, given the texts of its
    operands.
    """
    if isinstance(node, Number):
        # A bare zero goes with any dimension; other constants are written as a spec writes them.
        unit_text = "" if node.dimension == COUNT or node.value == 0 else f" {node.dimension}"
        return number_text(
            node.value
        ) + unit_text, _ATOM_BINDING if node.value >= 0 else _SIGN_BINDING
    if isinstance(node, Parameter):
        return node.name, _ATOM_BINDING
    if isinstance(node, Booked):
        return text_by_node[id(node.inner_expr)]
    assert isinstance(node, Operation)
    bound_texts = [text_by_node[id(operand)] for operand in node.operands]
    if node.operator == "power":
        return " ** ".join(
            _bracketed(operand, _ATOM_BINDING) for operand in bound_texts
        ), _POWER_BINDING
    if node.operator in _INFIX:
        operator_text, binding = _INFIX[node.operator]
        # What follows must bind tighter: a - (b - c) is not a - b - c, and a + (b + c) may round
        # differently.
        return (
            operator_text.join(
                [
                    _bracketed(bound_texts[0], binding),
                    *(_bracketed(operand, binding + 1) for operand in bound_texts[1:]),
                ]
            ),
            binding,
        )
    return (
        f"{node.operator}({', '.join(operand_text for operand_text, _ in bound_texts)})",
        _ATOM_BINDING,
    )


def _bracketed(text_and_binding: tuple[str, int], least_binding: int) -> str:
    """Return the text of an operand, in parentheses if it binds less tightly than required."""
    operand_text, binding = text_and_binding
    return operand_text if binding >= least_binding else f"({operand_text})"
