"""Comparisons: published tables beside what the program computes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.answer import Answer
from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.report.formatting import NO_ENDS, Ends
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

    @property
    def named_values(self) -> set[str]:
        """What the rows add up."""
        return {name for table in self.tables for row in table.rows for name in row.sum}

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
    units = dict.fromkeys(each[name] or "1" for each in known if name in each)
    if not units:
        return f"no case has the value {name}{did_you_mean(name, sorted({other for each in known for other in each}))}"
    wrong = [unit for unit in units if Dimension.of(unit) != scale(table.unit)[1]]
    return f"{name} is a [{wrong[0]}], but the table's unit is {table.unit}" if wrong else ""


def _row(spec: RowSpec, table: TableSpec, answers: Mapping[str, Answer], factor: float) -> TableRow:
    beside = [_computed(spec, answers[case], factor, None) for case in spec.against] or [
        (None if cell is None else float(cell), NO_ENDS) for cell in spec.printed
    ]
    within = spec.within if isinstance(spec.within, list) else [spec.within] * len(table.columns)
    plus = spec.plus or [None] * len(table.columns)
    cells = tuple(
        TableCell(case, computed, printed, float(allowed or 0), spec.slips.get(case, ""), ends, printed_ends)
        for case, (printed, printed_ends), allowed, more in zip(table.columns, beside, within, plus, strict=True)
        for computed, ends in [_computed(spec, answers[case], factor, more)]
    )
    return TableRow(spec.row, cells, spec.measured, spec.input, tuple(spec.against), spec.counted)


def _computed(spec: RowSpec, answer: Answer, factor: float, measured: float | None) -> tuple[float | None, Ends]:
    """Add up the values of a row; their intervals add up too, which is the most that the sum can be off."""
    parts: list[tuple[float, Ends]] = [] if measured is None else [(float(measured), NO_ENDS)]
    for name in spec.sum:
        if (value := answer.find(name)) is not None:
            low, high = answer.ends(name)
            parts.append(
                (value / factor, (None if low is None else low / factor, None if high is None else high / factor))
            )
    if not parts:
        return None, NO_ENDS
    value = math.fsum(each for each, _ in parts)
    if all(ends == NO_ENDS for _, ends in parts):
        return value, NO_ENDS
    low, high = (math.fsum(each if ends[at] is None else ends[at] or 0.0 for each, ends in parts) for at in (0, 1))
    return value, (min(low, value), max(high, value))
