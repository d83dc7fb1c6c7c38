"""Comparisons: published tables beside what the program computes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.answer import Answer
from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.report.questions.compare import CompareResult, PublishedTable, TableCell, TableRow
from slipstick.schema.kinds.study import RowSpec, TableSpec
from slipstick.study.cases import StudyContext
from slipstick.study.questions import BaseAnswers, Question, ValueNames
from slipstick.units import scale


@dataclass(frozen=True)
class CompareQuestion(Question):
    """Published tables to fill in."""

    tables: Sequence[TableSpec]
    study: StudyContext

    def solve(self, answers: BaseAnswers) -> CompareResult:
        """Fill in the tables."""
        return CompareResult(tuple(self._filled(each, answers.named) for each in self.tables))

    def name_problems(self, named: Mapping[str, ValueNames]) -> list[Problem]:
        """List the values of rows that no case of their table has, and those of another unit than the table's."""
        found = []
        for index, table in enumerate(self.tables):
            known = [named[case] for case in table.columns]
            for row, spec in enumerate(table.rows):
                for number, name in enumerate(spec.sum):
                    if why := _unfit(name, table, known):
                        found.append(self.study.problem(("compare", index, "rows", row, "sum", number), why))
        return found

    def _filled(self, spec: TableSpec, answers: Mapping[str, Answer]) -> PublishedTable:
        factor = float(scale(spec.unit)[0])
        rows = tuple(_row(row, spec, answers, factor) for row in spec.rows)
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


def _unfit(name: str, table: TableSpec, known: Sequence[ValueNames]) -> str:
    """Say why a value cannot be added up in a table; nothing if it can."""
    units = {each[name] or "1" for each in known if name in each}
    if not units:
        return f"no case has the value {name}{did_you_mean(name, sorted({other for each in known for other in each}))}"
    wrong = [unit for unit in units if Dimension.of(unit) != scale(table.unit)[1]]
    return f"{name} is a [{wrong[0]}], but the table's unit is {table.unit}" if wrong else ""


def _row(spec: RowSpec, table: TableSpec, answers: Mapping[str, Answer], factor: float) -> TableRow:
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
