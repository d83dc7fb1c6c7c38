"""Statements of a source beside what was computed, as a section of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from slipstick.report.formatting import NO_ENDS, NOTHING, counted, escape, finite, markdown_table, percent, quantity
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
    """

    name: str
    says: str
    source: str
    wanted: str
    unit: str
    values: tuple[CheckedValue, ...]
    needed: int

    @property
    def verdict(self) -> str:
        """Say whether the sentence holds: hit, miss, or undecided where intervals or unknown values leave it open.

        >>> Statement("s", "", "", "", "1", (CheckedValue("a", None, True), CheckedValue("b", None, None)), 2).verdict
        'undecided'
        """
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


def summary(statements: Sequence[Statement]) -> str:
    """Count the statements that hold and name the others.

    >>> summary([Statement("faults", "", "", "", "1", (CheckedValue("sor", None, False),), 1)])
    '1 statement checked: 0 hits, 1 miss (faults)'
    """
    by_verdict = {kind: [each.name for each in statements if each.verdict == kind] for kind in ("miss", "undecided")}
    hits = len(statements) - sum(map(len, by_verdict.values()))
    text = f"{counted(len(statements), 'statement')} checked: {counted(hits, 'hit')}"
    misses, left = by_verdict["miss"], by_verdict["undecided"]
    text += f", {counted(len(misses), 'miss', 'misses')}" + (f" ({', '.join(misses)})" if misses else "")
    return text + (f", {len(left)} undecided ({', '.join(left)})" if left else "")


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
