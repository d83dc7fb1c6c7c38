"""Several methods side by side, for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slipstick.answer import Value
from slipstick.report.formatting import (
    NOTHING,
    WIDTH,
    counted,
    escape,
    markdown_table,
    plain_table,
    prose,
    quantity,
    wrapped,
)
from slipstick.results.study import Agreement, MethodValues, QuestionResult

_MOST_ROWS = 24

_READING = (
    "Two numbers in brackets are the ends of an interval; two numbers alone are bounds. Where methods contradict each "
    "other by more than they promise, it is listed as a finding."
)


@dataclass(frozen=True, slots=True)
class AgreeResult(QuestionResult):
    """Several methods side by side, case by case."""

    agreements: tuple[Agreement, ...]

    def section(self) -> str:
        contradictions = [
            f"- {escape(each.case)}: {escape(text)}" for each in self.agreements for text in each.findings
        ]
        told = "\n".join(["Findings:", "", *contradictions]) if contradictions else "Findings: none."
        return "\n\n".join(["## Methods side by side", prose(_READING), told, *map(_part, self.agreements)])


def agreement_text(found: Agreement) -> str:
    """Write one agreement for the terminal."""
    head, rows = _table(found)
    tables = [
        plain_table([head[at] for at in part], [[row[at] for at in part] for row in rows], range(1, len(part)))
        for part in _folds(head, rows)
    ]
    words = [wrapped(line, "  ") for line in _sentences(found)]
    return "\n".join([*("\n\n".join(tables).splitlines()), *_beyond(found), "", *words])


def _folds(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[int]]:
    """Share the columns among tables that fit the terminal; each begins with the names."""
    # A title has two blanks more than it needs, and two stand between columns.
    widths = [max(len(title) + 2, *map(len, cells)) + 2 for title, *cells in zip(head, *rows, strict=True)]
    parts: list[list[int]] = [[0]]
    for at in range(1, len(head)):
        if len(parts[-1]) > 1 and sum(widths[each] for each in parts[-1]) + widths[at] - 2 > WIDTH:
            parts.append([0])
        parts[-1].append(at)
    return parts


def _beyond(found: Agreement) -> list[str]:
    """Say how many values are not shown."""
    hidden = len(found.rows) - _MOST_ROWS
    return [f"and {counted(hidden, 'more value')}"] if hidden > 0 else []


def _part(found: Agreement) -> str:
    head, rows = _table(found)
    table = markdown_table(list(map(escape, head)), [list(map(escape, row)) for row in rows], range(1, len(head)))
    words = "\n".join(f"- {escape(line)}" for line in _sentences(found))
    return "\n\n".join(part for part in (f"### {escape(found.case)}", table, *_beyond(found), words) if part)


def _sentences(found: Agreement) -> list[str]:
    findings = [f"finding: {words}" for words in found.findings]
    failures = [f"{method} has no answer: {why}" for method, why in found.failed.items()]
    return [*findings, *found.verdicts, *failures]


def _table(found: Agreement) -> tuple[list[str], list[list[str]]]:
    return ["value", *found.methods], [_row(row) for row in found.rows[:_MOST_ROWS]]


def _row(row: MethodValues) -> list[str]:
    return [row.name, *(_cell(value, row.unit) for value in row.values)]


def _cell(value: Value | None, unit: str) -> str:
    return NOTHING if value is None else quantity(value.value, unit, ends=(value.low, value.high))
