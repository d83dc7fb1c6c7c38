"""Comparisons: published tables beside what the program computes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from slipstick.answer import Answer
from slipstick.errors import SpecError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.results.study import Cell, Comparison, Row
from slipstick.schema.kinds.study import RowSpec, TableSpec
from slipstick.schema.text.nodes import Node
from slipstick.schema.validate import problem
from slipstick.units import scale


def compared(spec: TableSpec, tree: Node, index: int, answers: Mapping[str, Answer]) -> Comparison:
    """Fill in a published table.

    Parameters
    ----------
    spec : the table, checked
    tree, index : the study, and which of its tables it is
    answers : of every case

    Raises
    ------
    SpecError : a row names a value that no case has
    """
    factor = float(scale(spec.unit)[0])
    rows = tuple(
        _row(row, ("compare", index, "rows", number), spec, tree, answers, factor)
        for number, row in enumerate(spec.rows)
    )
    return Comparison(spec.title, spec.source, spec.text, spec.unit, tuple(spec.columns), rows)


def _row(
    spec: RowSpec,
    path: tuple[str | int, ...],
    table: TableSpec,
    tree: Node,
    answers: Mapping[str, Answer],
    factor: float,
) -> Row:
    for number, name in enumerate(spec.sum):
        if any(answers[case].failed or answers[case].find(name) is not None for case in table.columns):
            continue
        known = sorted({key for case in table.columns for key in names_in(answers[case])})
        message = f"no case has the value {name}{did_you_mean(name, known)}"
        raise SpecError([problem(tree, (*path, "sum", number), message)])
    for number, name in enumerate(spec.sum):
        unit = next(filter(None, (answers[case].unit(name) for case in table.columns)), "1")
        if Dimension.of(unit) != scale(table.unit)[1]:
            message = f"{name} is a [{unit}], but the table's unit is {table.unit}"
            raise SpecError([problem(tree, (*path, "sum", number), message)])
    beside = [_computed(spec, answers[case], factor, None) for case in spec.against] or map(_number, spec.printed)
    within = spec.within if isinstance(spec.within, list) else [spec.within] * len(table.columns)
    plus = spec.plus or [None] * len(table.columns)
    cells = tuple(
        Cell(case, _computed(spec, answers[case], factor, more), printed, float(allowed or 0), spec.slips.get(case, ""))
        for case, printed, allowed, more in zip(table.columns, beside, within, plus, strict=True)
    )
    return Row(spec.row, cells, spec.measured, spec.input, tuple(spec.against))


def _computed(spec: RowSpec, answer: Answer, factor: float, measured: float | None) -> float | None:
    found = [value / factor for name in spec.sum if (value := answer.find(name)) is not None]
    if measured is not None:
        found.append(float(measured))
    return math.fsum(found) if found else None


def names_in(answer: Answer) -> list[str]:
    """List the names of everything that an answer has a value for."""
    return [*answer.names, *(f"limit[{each.pipeline}]" for each in answer.limits)]


def _number(cell: float | None) -> float | None:
    return None if cell is None else float(cell)
