"""Axes: the values that a study writes down, expanded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from slipstick.errors import Problem, SpecError, UnitError
from slipstick.expression.dimension import COUNT, Dimension
from slipstick.expression.text import number_text
from slipstick.schema.nodes import Listing, Mark, Node, Scalar, from_plain, value_mark
from slipstick.schema.study import AxisSpec
from slipstick.units import parse

__all__ = ["MOST_VALUES", "axis_nodes"]

MOST_VALUES = 1_000_000


def axis_nodes(spec: AxisSpec | Sequence[Any], node: Node) -> list[Node]:
    """List the values of an axis as nodes that stand where the axis is written.

    Parameters
    ----------
    spec : checked: a list, or a range
    node : where it is written

    Raises
    ------
    SpecError : the ends are of different dimensions, or there are too many values
    """
    if isinstance(spec, AxisSpec):
        return _range_nodes(spec, node)
    assert isinstance(node, Listing)
    if not node.items:
        raise _problem(node.mark, "an axis needs at least one value")
    return list(node.items)


def _range_nodes(spec: AxisSpec, node: Node) -> list[Node]:
    first, unit = _end(spec.first, node, "from")
    last, other = _end(spec.to, node, "to")
    if unit != other:
        raise _problem(value_mark(node, ["to"]), f"from is a [{unit}], but to is a [{other}]")
    values = _spread(spec, first, last, node)
    mark = node.mark
    return [_quantity(float(value), unit, mark) for value in values]


def _spread(spec: AxisSpec, first: float, last: float, node: Node) -> Any:
    if spec.count is not None:
        return _counted(spec, first, last, node)
    if spec.factor is not None:
        _need_positive(first, last, node)
        rate = math.log(float(spec.factor))
        steps = _steps(math.log(last / first) / rate, node)
        return [first * float(spec.factor) ** k for k in range(steps + 1)]
    step, unit = _end(spec.step, node, "step")
    if unit != _end(spec.first, node, "from")[1] or step == 0:
        raise _problem(value_mark(node, ["step"]), "a step is a quantity like from and to, and not 0")
    return [first + k * step for k in range(_steps((last - first) / step, node) + 1)]


def _counted(spec: AxisSpec, first: float, last: float, node: Node) -> Any:
    import numpy as np

    assert spec.count is not None
    if spec.spacing == "geometric":
        _need_positive(first, last, node)
        return np.geomspace(first, last, spec.count)
    return np.linspace(first, last, spec.count)


def _steps(steps: float, node: Node) -> int:
    """Count whole steps, the last one included if rounding is all that misses it."""
    if not steps >= 0:
        raise _problem(node.mark, "the range never gets from 'from' to 'to'; turn the step or factor round")
    if not steps < MOST_VALUES:
        raise _problem(node.mark, f"the range has over {MOST_VALUES:,} values; take a larger step")
    return math.floor(steps + 1e-9)


def _need_positive(first: float, last: float, node: Node) -> None:
    if not (first > 0 and last > 0):
        raise _problem(node.mark, "a geometric range needs positive ends")


def _end(value: Any, node: Node, key: str) -> tuple[float, Dimension]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), COUNT
    try:
        return parse(str(value))
    except UnitError as error:
        raise _problem(value_mark(node, [key]), str(error)) from None


def _quantity(value: float, unit: Dimension, mark: Mark) -> Node:
    """Write a value in base units, so that it is checked like a written one."""
    if unit == COUNT:
        return from_plain(int(value) if value == int(value) and abs(value) < 1e15 else value, mark)
    text = f"{number_text(value)} {unit}"
    return Scalar(text, text, mark, quoted=False)


def _problem(mark: Mark, message: str) -> SpecError:
    return SpecError([Problem(mark.file, mark.line, mark.column, "", message)])
