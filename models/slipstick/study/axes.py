"""Axes: the values that a study writes down, expanded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from slipstick.errors import Problem, SpecError, UnitError
from slipstick.expression.dimension import COUNT, Dimension
from slipstick.expression.nodes import number_text
from slipstick.schema.kinds.study import AxisSpec
from slipstick.schema.text.nodes import Listing, Mark, Node, Scalar, from_plain, join, value_mark
from slipstick.units import parse

MOST_VALUES = 1_000_000
CHECK_ALL = 500
"""Of a list of up to so many quantities each is checked; of more, and of a range, a few that speak for all."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Range(Sequence[Node]):
    """Values in base units; the node of each is made when it is asked for."""

    numbers: Sequence[float]
    unit: Dimension
    mark: Mark

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Node]: ...
    def __getitem__(self, index: int | slice) -> Node | Sequence[Node]:
        if isinstance(index, slice):
            return _Range(self.numbers[index], self.unit, self.mark)
        return _quantity(self.numbers[index], self.unit, self.mark)


def axis_nodes(spec: AxisSpec | Sequence[Any], node: Node, path: Path) -> Sequence[Node]:
    """List the values of an axis as nodes that stand where the axis is written.

    Parameters
    ----------
    spec : checked: a list, or a range
    node, path : where it is written

    Raises
    ------
    SpecError : the ends are of different dimensions, or there are too many values
    """
    if isinstance(spec, AxisSpec):
        return _Reader(spec, node, path).values()
    assert isinstance(node, Listing)
    if not node.items:
        raise _problem(node.mark, path, "an axis needs at least one value")
    return node.items


def numbers_of(nodes: Sequence[Node]) -> list[float] | None:
    """Give the values in base units; None unless all are quantities of one dimension."""
    if isinstance(nodes, _Range):
        return list(nodes.numbers)
    try:
        found = [_read(node.value) for node in nodes if isinstance(node, Scalar)]
    except UnitError:
        return None
    alike = len(found) == len(nodes) and len({dimension for _, dimension in found}) == 1
    return [value for value, _ in found] if alike else None


def to_check(nodes: Sequence[Node]) -> list[int]:
    """Choose the values to check in their place.

    What a quantity may be is an interval, or its whole numbers; so if the extremes hold, and the first value
    that is not whole, all of them do. Of names, each is checked.
    """
    numbers = numbers_of(nodes) if isinstance(nodes, _Range) or len(nodes) > CHECK_ALL else None
    if numbers is None:
        return list(range(len(nodes)))
    odd = next((index for index, number in enumerate(numbers) if number != math.floor(number)), 0)
    return sorted({0, len(numbers) - 1, numbers.index(min(numbers)), numbers.index(max(numbers)), odd})


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one range."""

    spec: AxisSpec
    node: Node
    path: Path

    def values(self) -> Sequence[Node]:
        first, unit = self._end(self.spec.first, "from")
        last, other = self._end(self.spec.to, "to")
        if unit != other:
            raise self._problem("to", f"from is a [{unit}], but to is a [{other}]")
        self._check_width(last - first)
        return _Range(self._numbers(first, last, unit), unit, self.node.mark)

    def _numbers(self, first: float, last: float, unit: Dimension) -> list[float]:
        if self.spec.count is not None:
            return self._counted(first, last, self.spec.count)
        if self.spec.factor is not None:
            factor = float(self.spec.factor)
            steps = self._steps(math.log(self._ratio(first, last)) / math.log(factor))
            return [first * factor**k for k in range(steps + 1)]
        step, its_unit = self._end(self.spec.step, "step")
        if its_unit != unit:
            raise self._problem("step", f"from is a [{unit}], but the step is a [{its_unit}]")
        if step == 0:
            raise self._problem("step", "a step of 0 never arrives; write another")
        return [first + k * step for k in range(self._steps((last - first) / step) + 1)]

    def _counted(self, first: float, last: float, count: int) -> list[float]:
        if self.spec.spacing == "geometric":
            ratio = self._ratio(first, last)
            inner = [first * ratio ** (k / (count - 1)) for k in range(1, count - 1)]
        else:
            step = (last - first) / (count - 1)
            inner = [first + k * step for k in range(1, count - 1)]
        return [first, *inner, last]

    def _ratio(self, first: float, last: float) -> float:
        if not (first > 0 and last > 0):
            raise self._problem("", "a geometric range needs positive ends")
        self._check_width(last / first)
        self._check_width(first / last)
        return last / first

    def _check_width(self, width: float) -> None:
        if not math.isfinite(width):
            raise self._problem("", "the range is too wide for a double")

    def _steps(self, steps: float) -> int:
        """Count whole steps, the last one included if rounding is all that misses it."""
        if not steps >= 0:
            raise self._problem("", "the range never gets from 'from' to 'to'; turn the step or factor round")
        if not steps < MOST_VALUES:
            raise self._problem("", f"the range has over {MOST_VALUES:,} values; take a larger step")
        return math.floor(steps + 1e-9)

    def _end(self, value: Any, key: str) -> tuple[float, Dimension]:
        try:
            return _read(value)
        except UnitError as error:
            raise self._problem(key, str(error)) from None

    def _problem(self, key: str, message: str) -> SpecError:
        mark = value_mark(self.node, [key]) if key else self.node.mark
        return _problem(mark, (*self.path, key) if key else self.path, message)


def _read(value: Any) -> tuple[float, Dimension]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), COUNT
    if isinstance(value, str):
        return parse(value)
    raise UnitError("write a number, or a quantity such as '5 us'")


def _quantity(value: float, unit: Dimension, mark: Mark) -> Node:
    """Write a value in base units, so that it is checked like a written one."""
    if unit == COUNT:
        return from_plain(int(value) if value == int(value) and abs(value) < 1e15 else value, mark)
    text = f"{number_text(value)} {unit}"
    return Scalar(text, text, mark, quoted=False)


def _problem(mark: Mark, path: Path, message: str) -> SpecError:
    return SpecError([Problem(mark.file, mark.line, mark.column, join(path), message)])
