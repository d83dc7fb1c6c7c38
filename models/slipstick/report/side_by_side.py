"""Several methods side by side, for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.answer import Value
from slipstick.report.words import NOTHING, escape, markdown_table, plain_table, prose, quantity, wrapped
from slipstick.results import Agreement, SideBySide

__all__ = ["agreement_section", "agreement_text"]

_MOST_ROWS = 24

_READING = (
    "A number in brackets is half the width of the interval; two numbers are bounds. Where methods contradict each "
    "other by more than they promise, it is listed as a finding."
)


def agreement_section(agreements: Sequence[Agreement]) -> str:
    """Write all agreements, findings at the top.

    Parameters
    ----------
    agreements : of a study; none give no section
    """
    if not agreements:
        return ""
    findings = [f"- {escape(each.case)}: {escape(words)}" for each in agreements for words in each.findings]
    told = "\n".join(["Findings:", "", *findings]) if findings else "Findings: none."
    return "\n\n".join(["## Methods side by side", prose(_READING), told, *map(_part, agreements)])


def agreement_text(found: Agreement) -> str:
    """Write one agreement for the terminal."""
    table = plain_table(*_table(found), range(1, 1 + len(found.methods)))
    words = [wrapped(line, "  ") for line in _sentences(found)]
    return "\n".join([table, "", *words])


def _part(found: Agreement) -> str:
    head, rows = _table(found)
    table = markdown_table(list(map(escape, head)), [list(map(escape, row)) for row in rows], range(1, len(head)))
    words = "\n".join(f"- {escape(line)}" for line in _sentences(found))
    return "\n\n".join(part for part in (f"### {escape(found.case)}", table, words) if part)


def _sentences(found: Agreement) -> list[str]:
    findings = [f"finding: {words}" for words in found.findings]
    failures = [f"{method} has no answer: {why}" for method, why in found.failed.items()]
    return [*findings, *found.verdicts, *failures]


def _table(found: Agreement) -> tuple[list[str], list[list[str]]]:
    return ["value", *found.methods], [_row(row) for row in found.rows[:_MOST_ROWS]]


def _row(row: SideBySide) -> list[str]:
    return [row.name, *(_cell(value, row.unit) for value in row.values)]


def _cell(value: Value | None, unit: str) -> str:
    if value is None:
        return NOTHING
    if value.value is None:
        return f"{quantity(value.low, unit)} to {quantity(value.high, unit)}"
    if value.low is None or value.high is None or value.high == value.low:
        return quantity(value.value, unit)
    return f"{quantity(value.value, unit)} (+-{quantity((value.high - value.low) / 2, unit, 2)})"
