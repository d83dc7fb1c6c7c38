"""What expressions are made of and with: nodes, functions of them, and ways through a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from slipstick.errors import ModelError
from slipstick.expression.arithmetic import (
    Booked,
    Expr,
    Like,
    Number,
    Operation,
    Parameter,
    as_expr,
    constant,
    difference,
    is_number,
    need_counts,
    of_counts,
    one_dimension,
    power,
    product,
    quotient,
    total,
    zero,
)
from slipstick.expression.dimension import COUNT
from slipstick.expression.levels import levels

__all__ = [
    "Booked",
    "Expr",
    "Like",
    "Number",
    "Operation",
    "Parameter",
    "as_expr",
    "ceil",
    "ceil_log",
    "floor",
    "log2",
    "maximum",
    "minimum",
    "only_booked",
    "parameters",
    "select",
    "sqrt",
    "substitute",
    "total",
    "walk",
    "zero",
]


def maximum(*operands: Like) -> Expr:
    """The largest operand. Its derivative belongs to the first operand that attains it."""
    return _extreme("max", max, operands)


def minimum(*operands: Like) -> Expr:
    """The smallest operand. Its derivative belongs to the first operand that attains it."""
    return _extreme("min", min, operands)


def ceil(operand: Like) -> Expr:
    """Round up to a whole number."""
    return _of_count("ceil", operand, math.ceil)


def floor(operand: Like) -> Expr:
    """Round down to a whole number."""
    return _of_count("floor", operand, math.floor)


def log2(operand: Like) -> Expr:
    """Take the logarithm to base 2, exact at powers of two."""
    return _of_count("log2", operand, math.log2)


def sqrt(operand: Like) -> Expr:
    """Take the square root of a dimensionless quantity."""
    return _of_count("sqrt", operand, math.sqrt)


def ceil_log(operand: Like, radix: Like) -> Expr:
    """Count the levels of a tree: the least whole k with radix^k >= operand, exactly.

    >>> ceil_log(46_656, 36)  # 36^3, where a quotient of logarithms says 4
    3
    """
    count, base = as_expr(operand), as_expr(radix)
    need_counts("ceil_log", count, base)
    if isinstance(count, Number) and isinstance(base, Number):
        return Number(float(levels(count.value, base.value)))
    return Operation("ceil_log", (count, base), COUNT)


def select(operand: Like, limit: Like, below: Like, above: Like) -> Expr:
    """Choose a range: `below` where operand <= limit, else `above`."""
    x, edge, low, high = (as_expr(each) for each in (operand, limit, below, above))
    one_dimension("compare", [x, edge])
    if isinstance(x, Number) and isinstance(edge, Number):
        return low if x.value <= edge.value else high
    return Operation("select", (x, edge, low, high), one_dimension("choose between", [low, high]))


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every distinct node object once, operands before operations; depth does not matter."""
    done: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(operands(node)))


def operands(node: Expr) -> tuple[Expr, ...]:
    """List what a node is computed from."""
    if isinstance(node, Operation):
        return node.operands
    return (node.inner,) if isinstance(node, Booked) else ()


def parameters(*roots: Expr) -> tuple[Parameter, ...]:
    """List the parameters of expressions, each once, in order of appearance.

    Raises ModelError if one name stands for two different quantities.
    """
    found: dict[str, Parameter] = {}
    for root in roots:
        for node in walk(root):
            if isinstance(node, Parameter) and found.setdefault(node.name, node) != node:
                raise ModelError(
                    f"parameter {node.name} stands for two values, {found[node.name].value} and {node.value}; "
                    "give each a name of its own"
                )
    return tuple(found.values())


def substitute(root: Expr, replacements: Mapping[str, Like]) -> Expr:
    """Put expressions in the place of parameters, by name."""
    made: dict[int, Expr] = {}
    for node in walk(root):
        made[id(node)] = _rebuilt(node, made, replacements)
    return made[id(root)]


def only_booked(root: Expr, labels: Collection[str]) -> Expr:
    """Put nothing in the place of every booked part but those with these labels.

    >>> time = Booked("work", Parameter("a")) + Booked("wait", Parameter("b"))
    >>> only_booked(time, ["work"])
    a
    """
    made: dict[int, Expr] = {}
    for node in walk(root):
        out = isinstance(node, Booked) and node.label not in labels
        made[id(node)] = zero(node.dimension) if out else _rebuilt(node, made, {})
    return made[id(root)]


def _rebuilt(node: Expr, made: Mapping[int, Expr], replacements: Mapping[str, Like]) -> Expr:
    if isinstance(node, Parameter):
        if node.name not in replacements:
            return node
        new = as_expr(replacements[node.name])
        one_dimension(f"put in the place of {node.name}", [node, new])
        return zero(node.dimension) if is_number(new, 0.0) else new
    if isinstance(node, Operation):
        inner = tuple(made[id(operand)] for operand in node.operands)
        same = all(new is old for new, old in zip(inner, node.operands, strict=True))
        return node if same else _applied(node, inner)
    return replace(node, inner=made[id(node.inner)]) if isinstance(node, Booked) else node


def _extreme(operator: str, function: Callable[[Iterable[float]], float], values: Iterable[Like]) -> Expr:
    nodes = tuple(map(as_expr, values))
    if not nodes:
        raise ModelError(f"{operator} needs at least one operand")
    dimension = one_dimension("compare", nodes)
    if all(isinstance(node, Number) for node in nodes):
        return Number(function(constant(node) for node in nodes), dimension)
    return nodes[0] if len(nodes) == 1 else Operation(operator, nodes, dimension)


def _of_count(operator: str, operand: Like, function: Callable[[float], float]) -> Expr:
    node = as_expr(operand)
    need_counts(operator, node)
    if not isinstance(node, Number):
        return Operation(operator, (node,), COUNT)
    try:
        return Number(float(function(node.value)))
    except ValueError:
        raise ModelError(f"{operator} has no value at {node.value:g}") from None


def _applied(node: Operation, inner: tuple[Expr, ...]) -> Expr:
    """Apply a node's operator to other operands."""
    match node.operator:
        case "sum":
            return total(inner, node.dimension)
        case "power":
            return power(inner[0], int(constant(inner[1])))
        case operator if operator in _FUNCTIONS:
            return _FUNCTIONS[operator](*inner)
    return of_counts(node.operator, *inner)


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
