"""Statements of a source beside what was computed, as a section of a page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from slipstick.errors import InputError
from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    counted,
    escape,
    finite,
    markdown_table,
    percent,
    prose,
    quantity,
)
from slipstick.results.study import QuestionResult


class ComparedNumber(NamedTuple):
    """A number in base units and the ends of its interval, which are equal to it but for a simulation."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """The value of one answer, whether the statement holds for it (None where that cannot be told), and the value of
    another answer that it is compared with, if it is.
    """

    answer: str
    value: ComparedNumber | None
    holds: bool | None
    against: ComparedNumber | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a source, checked.

    Parameters
    ----------
    name, says, source : of the sentence
    wanted : what must hold, in words
    unit : base unit of the values; ``%`` for plain numbers that are to be written in percent
    values : of each answer
    needed : for how many of them it must hold [1]
    counted : as an agreement; false for what was put in or fitted
    """

    name: str
    says: str
    source: str
    wanted: str
    unit: str
    values: tuple[CheckedValue, ...]
    needed: int
    counted: bool = True

    @property
    def verdict(self) -> str:
        """Say whether the sentence holds: hit, miss, or undecided where intervals or unknown values leave it open; input
        for one that is not counted.

        >>> Statement("s", "", "", "", "1", (CheckedValue("a", None, True), CheckedValue("b", None, None)), 2).verdict
        'undecided'
        """
        if not self.counted:
            return "input"
        hits = sum(each.holds is True for each in self.values)
        if hits >= self.needed:
            return "hit"
        unknown = sum(each.holds is None for each in self.values)
        return "undecided" if hits + unknown >= self.needed else "miss"


@dataclass(frozen=True, slots=True)
class StatementsResult(QuestionResult):
    """Sentences of sources, each checked against the answers."""

    statements: tuple[Statement, ...]

    def section(self) -> str:
        rows = [[escape(each.name), each.verdict, escape(each.source) or NOTHING] for each in self.statements]
        table = markdown_table(["statement", "verdict", "source"], rows)
        lines = "\n".join(
            f"- **{escape(each.name)}: {each.verdict}.** {escape(each.says)}. Wanted: {escape(_wanted(each))}. "
            f"Computed: {escape(computed(each))}."
            for each in self.statements
        )
        return f"## Statements of the source\n\n{escape(summary(self.statements))}\n\n{table}\n\n{lines}"

    def text(self) -> str:
        return summary(self.statements)

    def document(self) -> dict[str, Any]:
        return {"statements": [_document(each) for each in self.statements]}

    def files(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        return {STATEMENTS: [statement_row(each) for each in self.statements]}


STATEMENTS = "statements.csv"
"""The statements of a study, one a row."""


def statement_row(each: Statement) -> dict[str, str]:
    """Lay out a statement as a row of `STATEMENTS`."""
    row = StatementRow(each.name, each.verdict, each.source, each.says, _wanted(each), computed(each))
    return row._asdict()


class StatementRow(NamedTuple):
    """A statement as a row of `STATEMENTS` has it; the fields are its columns."""

    name: str
    verdict: str
    source: str
    says: str
    wanted: str
    computed: str


def statements_page(folders: Sequence[Path]) -> str:
    """Lay out the statements of several reports as one page, from the files that their runs wrote.

    Parameters
    ----------
    folders : of reports; one without statements is left out

    Raises
    ------
    InputError : none of them has a file of statements
    """
    found = [(folder, rows) for folder in folders if (rows := _rows(folder))]
    if not found:
        raise InputError(f"none of {', '.join(map(str, folders))} has a file {STATEMENTS}; run a study with statements")
    parts = ["# Statements of the papers, checked", prose(_READING), _counts(found)]
    for folder, rows in found:
        table = markdown_table(["statement", "verdict", "says", "source"], [_cells(each) for each in rows])
        parts.append(f"## {_title(folder)}\n\n{escape(summary(rows))}\n\n{table}")
    return "\n\n".join(parts) + "\n"


_READING = (
    "Each sentence of a paper that a number can check stands in a study with what must hold for it; the program computes the "
    "values and says hit or miss. An input is a number that was put in or fitted, and is not counted. The values are in each "
    "study's report. Made by `slipstick statements` from what the runs wrote."
)


def _rows(folder: Path) -> list[StatementRow]:
    rows = []
    for path in sorted(folder.glob("statements*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += [StatementRow(**row) for row in csv.DictReader(file)]
    return rows


def _counts(found: Sequence[tuple[Path, Sequence[StatementRow]]]) -> str:
    kinds = ("hit", "miss", "undecided", "input")
    rows = [
        [f"[{folder.name}]({folder.name}/report.md)", *(str(sum(r.verdict == kind for r in rows)) for kind in kinds)]
        for folder, rows in found
    ]
    totals = [str(sum(int(row[place]) for row in rows)) for place in range(1, len(kinds) + 1)]
    head = ["study", "hits", "misses", "undecided", "inputs"]
    return markdown_table(head, [*rows, ["all", *totals]], range(1, len(head)))


def _cells(each: StatementRow) -> list[str]:
    return [escape(each.name), each.verdict, escape(each.says), escape(each.source) or NOTHING]


def _title(folder: Path) -> str:
    """Read the title of a report, the first line of its page."""
    return (folder / "report.md").read_text("utf-8").partition("\n")[0].lstrip("# ")


class Verdict(Protocol):
    """A name with a verdict."""

    @property
    def name(self) -> str:
        """What was checked."""

    @property
    def verdict(self) -> str:
        """Say hit, miss, undecided or input."""


def summary(statements: Sequence[Verdict]) -> str:
    """Count the statements that hold and name the others; inputs are not among those checked.

    >>> summary([Statement("faults", "", "", "", "1", (CheckedValue("sor", None, False),), 1)])
    '1 statement checked: 0 hits, 1 miss (faults)'
    """
    kinds = ("hit", "miss", "undecided", "input")
    hits, misses, left, given = ([each.name for each in statements if each.verdict == kind] for kind in kinds)
    text = f"{counted(len(statements) - len(given), 'statement')} checked: {counted(len(hits), 'hit')}"
    text += f", {counted(len(misses), 'miss', 'misses')}" + (f" ({', '.join(misses)})" if misses else "")
    text += f", {len(left)} undecided ({', '.join(left)})" if left else ""
    return text + (f"; {counted(len(given), 'input')} beside them ({', '.join(given)})" if given else "")


def computed(statement: Statement) -> str:
    """Write the values of a statement, with a mark at those for which it does not hold."""
    marks = {True: "", False: " (miss)", None: " (undecided)"}
    return ", ".join(
        f"{each.answer} {_number(each.value, statement.unit)}"
        f"{f' against {_number(each.against, statement.unit)}' if each.against else ''}{marks[each.holds]}"
        for each in statement.values
    )


def _number(each: ComparedNumber | None, unit: str) -> str:
    if each is None:
        return "unknown"
    ends = NO_ENDS if each.low == each.high else (each.low, each.high)
    return percent(each.value, ends=ends) if unit == "%" else quantity(each.value, unit, ends=ends)


def _wanted(statement: Statement) -> str:
    count = len(statement.values)
    return statement.wanted + (f", for {statement.needed} of {count}" if statement.needed < count else "")


def _document(statement: Statement) -> dict[str, Any]:
    return {
        "name": statement.name,
        "says": statement.says,
        "source": statement.source,
        "wanted": _wanted(statement),
        "unit": statement.unit.replace("%", "1"),
        "values": {
            each.answer: {name: finite(end) for name, end in each.value._asdict().items()} if each.value else None
            for each in statement.values
        },
        "holds": {each.answer: each.holds for each in statement.values},
        "verdict": statement.verdict,
    }
