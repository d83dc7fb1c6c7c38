"""Statements of papers that were checked: counted in words, and those of several reports on one
page.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slipstick.errors import InputError
from slipstick.report.formatting import NOTHING, counted, escape, markdown_table, prose

STATEMENTS = "statements.csv"
"""The statements of a study, one a row."""


class StatementRow(NamedTuple):
    """A statement as a row of `STATEMENTS` has it; the fields are its columns."""

    name: str
    verdict: str
    source: str
    says: str
    wanted: str
    computed: str
    method: str
    exact: str
    part_of: str = ""
    reading: str = ""
    missed: str = ""


def statements_page(folders: Sequence[Path]) -> str:
    """Lay out the statements of several reports as one page, from the files that their runs wrote.

    Parameters
    ----------
    folders : of reports; one without statements is left out

    Raises
    ------
    InputError : none of them has a file of statements
    """
    rows_by_folder = [(folder, rows) for folder in folders if (rows := _rows(folder))]
    if not rows_by_folder:
        raise InputError(
            f"none of {', '.join(map(str, folders))} has a file {STATEMENTS}; run a study with"
            " statements"
        )
    paragraphs = ["# Statements of the papers, checked", prose(_READING), _counts(rows_by_folder)]
    for folder, rows in rows_by_folder:
        table = markdown_table(
            ["statement", "verdict", "says", "source", "cause"], [_cells(row) for row in rows]
        )
        title = (folder / "report.md").read_text("utf-8").partition("\n")[0].lstrip("# ")
        paragraphs.append(f"## {title}\n\n{escape(summary(rows))}\n\n{table}")
    return "\n\n".join(paragraphs) + "\n"


_READING = (
    "Each sentence of a paper that a number can check stands in a study with what must hold for it;"
    " the program computes the values and says hit or miss. A statement in several parts holds if"
    " all of them do; one that can be read in several ways is undecided where its readings differ;"
    " both count once. An input is a number that was put in or fitted, and is not counted. The"
    " values are in each study's report. Made by `slipstick statements` from what the runs wrote."
)


def _rows(folder: Path) -> list[StatementRow]:
    rows = []
    for path in sorted(folder.glob("statements*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += [StatementRow(**row) for row in csv.DictReader(file)]
    return rows


def _counts(rows_by_folder: Sequence[tuple[Path, Sequence[StatementRow]]]) -> str:
    kinds = ("hit", "miss", "undecided", "input")
    rows = []
    for folder, parts in rows_by_folder:
        verdicts = [*verdicts_of(parts).values()]
        rows.append(
            [
                f"[{folder.name}]({folder.name}/report.md)",
                *(str(verdicts.count(kind)) for kind in kinds),
            ]
        )
    totals = [str(sum(int(row[place]) for row in rows)) for place in range(1, len(kinds) + 1)]
    head = ["study", "hits", "misses", "undecided", "inputs"]
    return markdown_table(head, [*rows, ["all", *totals]], range(1, len(head)))


def _cells(row: StatementRow) -> list[str]:
    reading = f"{row.reading}: " if row.reading else ""
    texts = [escape(text) or NOTHING for text in (reading + row.says, row.source, row.missed)]
    return [escape(row.name), row.verdict, *texts]


def verdicts_of(rows: Sequence[StatementRow]) -> dict[str, str]:
    """Return one verdict for each statement: a reading holds if all of its parts do, and readings
    that differ leave it open.

    Parts and readings that are inputs do not count beside others.
    """
    readings_by_name: dict[str, dict[str, str]] = {}
    for row in rows:
        readings = readings_by_name.setdefault(row.part_of or row.name, {})
        readings[row.reading] = min(
            readings.get(row.reading, _KINDS[-1]), row.verdict, key=_KINDS.index
        )
    counting = {
        name: {*verdicts.values()} - {"input"} or {"input"}
        for name, verdicts in readings_by_name.items()
    }
    return {
        name: verdict_set.pop() if len(verdict_set) == 1 else "undecided"
        for name, verdict_set in counting.items()
    }


_KINDS = ("miss", "undecided", "hit", "input")
"""Verdicts; of the parts of a reading the first of these counts."""


def summary(statements: Sequence[StatementRow], most: int | None = None) -> str:
    """Count the statements that hold and name the others; inputs are not among those checked, parts
    and readings count once.

    Parameters
    ----------
    statements : by name
    most : number of statements of each verdict that are named, without inputs; all by default

    >>> summary([StatementRow("faults", "miss", "", "", "", "", "closed-form", "yes")])
    '1 statement checked: 0 hits, 1 miss (faults)'
    """
    verdicts = verdicts_of(statements)
    misses, undecided, hits, inputs_given = (
        [name for name, verdict in verdicts.items() if verdict == kind] for kind in _KINDS
    )
    text = f"{counted(len(verdicts) - len(inputs_given), 'statement')} checked: {counted(len(hits), 'hit')}"
    text += f", {counted(len(misses), 'miss', 'misses')}" + (
        f" ({_named(misses, most)})" if misses else ""
    )
    text += f", {len(undecided)} undecided ({_named(undecided, most)})" if undecided else ""
    inputs_given = inputs_given if most is None else []
    return text + (
        f"; {counted(len(inputs_given), 'input')} beside them ({', '.join(inputs_given)})"
        if inputs_given
        else ""
    )


def _named(names: Sequence[str], most: int | None) -> str:
    more = [] if most is None or len(names) <= most else [f"and {len(names) - most} more"]
    return ", ".join([*names[:most], *more])
