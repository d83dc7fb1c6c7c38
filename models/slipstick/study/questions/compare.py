"""Comparisons: published tables beside what the program computes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.answer import Answer
from slipstick.errors import SpecError, UnitError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.report.questions.compare import CompareResult, PublishedTable, TableCell, TableRow
from slipstick.schema.kinds.study import RowSpec, TableSpec
from slipstick.study.cases import Place, StudyContext
from slipstick.study.questions import BaseAnswers, Question
from slipstick.units import scale


@dataclass(frozen=True)
class CompareQuestion(Question):
    """Published tables to fill in."""

    tables: Sequence[TableSpec]
    study: StudyContext

    def solve(self, answers: BaseAnswers) -> CompareResult:
        """Fill in the tables.

        Raises
        ------
        SpecError : a row names a value that no case has, or one of another unit
        """
        return CompareResult(tuple(self._filled(each, index, answers.named) for index, each in enumerate(self.tables)))

    def _filled(self, spec: TableSpec, index: int, answers: Mapping[str, Answer]) -> PublishedTable:
        factor = float(scale(spec.unit)[0])
        rows = tuple(
            _row(row, ("compare", index, "rows", number), spec, self.study, answers, factor)
            for number, row in enumerate(spec.rows)
        )
        return PublishedTable(spec.title, spec.source, spec.text, spec.unit, tuple(spec.columns), rows)


def read(asked: Sequence[TableSpec], study: StudyContext) -> CompareQuestion:
    """Check the units of published tables; their values can be checked only beside answers.

    Raises
    ------
    SpecError : a unit is none
    """
    problems = []
    for index, table in enumerate(asked):
        try:
            scale(table.unit)
        except UnitError as error:
            problems.append(study.problem(("compare", index, "unit"), str(error)))
    if problems:
        raise SpecError(problems)
    return CompareQuestion(asked, study)


def _row(
    spec: RowSpec, place: Place, table: TableSpec, study: StudyContext, answers: Mapping[str, Answer], factor: float
) -> TableRow:
    for number, name in enumerate(spec.sum):
        if any(answers[case].failed or answers[case].find(name) is not None for case in table.columns):
            continue
        known = sorted({key for case in table.columns for key in answers[case].names})
        message = f"no case has the value {name}{did_you_mean(name, known)}"
        raise study.refusal((*place, "sum", number), message)
    for number, name in enumerate(spec.sum):
        unit = next(filter(None, (answers[case].unit(name) for case in table.columns)), "1")
        if Dimension.of(unit) != scale(table.unit)[1]:
            message = f"{name} is a [{unit}], but the table's unit is {table.unit}"
            raise study.refusal((*place, "sum", number), message)
    beside = [_computed(spec, answers[case], factor, None) for case in spec.against] or map(_number, spec.printed)
    within = spec.within if isinstance(spec.within, list) else [spec.within] * len(table.columns)
    plus = spec.plus or [None] * len(table.columns)
    cells = tuple(
        TableCell(
            case, _computed(spec, answers[case], factor, more), printed, float(allowed or 0), spec.slips.get(case, "")
        )
        for case, printed, allowed, more in zip(table.columns, beside, within, plus, strict=True)
    )
    return TableRow(spec.row, cells, spec.measured, spec.input, tuple(spec.against), spec.counted)


def _computed(spec: RowSpec, answer: Answer, factor: float, measured: float | None) -> float | None:
    found = [value / factor for name in spec.sum if (value := answer.find(name)) is not None]
    if measured is not None:
        found.append(float(measured))
    return math.fsum(found) if found else None


def _number(cell: float | None) -> float | None:
    return None if cell is None else float(cell)
