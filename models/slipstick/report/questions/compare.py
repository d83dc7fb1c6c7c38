"""Published tables beside what was computed, as a section of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    Ends,
    Notes,
    bracketed,
    counted,
    escape,
    markdown_table,
    overlap,
    percent,
    prose,
)
from slipstick.results.study import QuestionResult


@dataclass(frozen=True, slots=True)
class TableCell:
    """A computed value beside a published one, or that of another case, in the table's unit.

    Parameters
    ----------
    ends, printed_ends : of the interval of each where it is simulated
    """

    case: str
    computed: float | None
    printed: float | None
    within: float
    slip: str = ""
    ends: Ends = NO_ENDS
    printed_ends: Ends = NO_ENDS

    @property
    def difference(self) -> float | None:
        """Computed minus printed."""
        return None if self.computed is None or self.printed is None else self.computed - self.printed

    @property
    def inside(self) -> bool | None:
        """Say whether the interval of the computed value reaches the other, or its interval; None where none has one."""
        sides = ((self.computed, self.ends), (self.printed, self.printed_ends))
        if self.difference is None or all(ends == NO_ENDS for _, ends in sides):
            return None
        one, other = ((value if low is None else low, value if high is None else high) for value, (low, high) in sides)
        return overlap(one, other)

    @property
    def agrees(self) -> bool:
        """Say whether the difference is within what rounding allows; nothing printed agrees with anything."""
        # Slightly more than the allowance, for decimal fractions have no exact double.
        return self.difference is None or abs(self.difference) <= self.within * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a comparison: predictions, measurements to hold them against, inputs of the model, or another case.

    A row that is not `counted` shows its errors, but they do not enter the mean over all tables.
    """

    label: str
    cells: tuple[TableCell, ...]
    measured: bool = False
    input: bool = False
    against: tuple[str, ...] = ()
    counted: bool = True


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table beside what the program computes."""

    title: str
    source: str
    text: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class CompareResult(QuestionResult):
    """Published tables beside what was computed."""

    tables: tuple[PublishedTable, ...]

    def section(self) -> str:
        parts = ["## Comparisons", summary(self.tables), *map(comparison, self.tables)]
        return "\n\n".join(part for part in parts if part)

    def text(self) -> str:
        return summary(self.tables)


_MOST_SIDE_BY_SIDE = 3  # with more columns, computed, printed and difference stand below each other


def verdict(cell: TableCell) -> str:
    """Say how a computed cell stands to its printed one.

    >>> verdict(TableCell("base", 730.5, 469.0, 0.5, slip="one side only")), verdict(TableCell("base", 104.2, 104.0, 0.5))
    ('slip', 'agrees')
    """
    if cell.difference is None:
        return "nothing printed" if cell.printed is None else "nothing computed"
    if cell.agrees:
        return "agrees"
    return "slip" if cell.slip else "miss"


def comparison(table: PublishedTable) -> str:
    """Write one comparison: the table, then its slips, misses and errors.

    Parameters
    ----------
    table : published values beside computed ones
    """
    slips, misses = Notes(), Notes()
    marked = [[_marked(row, cell, slips, misses) for cell in row.cells] for row in table.rows]
    layout = _side_by_side if len(table.columns) <= _MOST_SIDE_BY_SIDE else _below_each_other
    source = f"Source: {escape(table.source)}" if table.source else ""
    parts = [
        f"### {escape(table.title)}",
        prose(table.text),
        source,
        layout(table, marked),
        _listed("Slips of the source, by our reading:", slips, "slip"),
        _listed("Misses:", misses, "miss"),
        "\n".join(f"- {line}" for line in map(_row_error, table.rows) if line),
    ]
    return "\n\n".join(part for part in parts if part)


def summary(comparisons: Sequence[PublishedTable]) -> str:
    """Count how the computed cells of tables stand to the printed and the measured ones; inputs do not count."""
    rows = [row for each in comparisons for row in each.rows if not (row.measured or row.input or row.against)]
    found = [verdict(cell) for row in rows for cell in row.cells]
    compared = [each for each in found if each in ("agrees", "slip", "miss")]
    text = (
        f"{counted(len(compared), 'printed cell is', 'printed cells are')} compared: {counted(compared.count('agrees'), 'agrees', 'agree')} within rounding, "
        f"{counted(compared.count('slip'), 'is a slip', 'are slips')} of the source, "
        f"{counted(compared.count('miss'), 'is a miss', 'are misses')}."
    )
    if not found:
        text = ""
    if lost := found.count("nothing computed"):
        text += f" {counted(lost, 'printed cell')} without a computed value."
    measured = [cell for each in comparisons for row in each.rows if row.measured and row.counted for cell in row.cells]
    if errors := _errors(measured):
        mean = percent(fmean(map(abs, errors)))
        text += f" Against {counted(len(errors), 'measured value')} the mean absolute error is {mean}."
    return text.strip()


def _side_by_side(table: PublishedTable, marked: list[list[str]]) -> str:
    other = "against" if all(row.against for row in table.rows) else "printed"
    parts = (f"computed [{table.unit}]", f"{other} [{table.unit}]", "difference")
    head = ["row", *(f"{escape(each)}: {part}" for each in table.columns for part in parts)]
    rows = [
        [
            escape(row.label),
            *(text for cell, mark in zip(row.cells, marks, strict=True) for text in _triple(row, cell, mark)),
        ]
        for row, marks in zip(table.rows, marked, strict=True)
    ]
    return markdown_table(head, rows, range(1, len(head)))


def _below_each_other(table: PublishedTable, marked: list[list[str]]) -> str:
    head = ["row", f"[{table.unit}]", *map(escape, table.columns)]
    rows = []
    for row, marks in zip(table.rows, marked, strict=True):
        if row.input and not any(cell.slip for cell in row.cells):
            rows.append([escape(row.label), "input", *(_pair(cell)[1] for cell in row.cells)])
            continue
        computed, printed = zip(*(_pair(cell, row.measured) for cell in row.cells), strict=True)
        rows.append([escape(row.label), "computed", *computed])
        if row.against:
            rows.append(["", "against", *(_other(row, cell) for cell in row.cells)])
        else:
            rows.append(["", "measured" if row.measured else "printed", *printed])
        rows.append(["", "error" if row.measured else "difference", *marks])
    return markdown_table(head, rows, range(2, len(head)))


def _other(row: TableRow, cell: TableCell) -> str:
    """Write the value of another case like the computed one, and name the case."""
    value = _written(cell.printed, cell.printed_ends, _decimals(cell))
    return f"{value} ({escape(row.against[row.cells.index(cell)])})"


def _pair(cell: TableCell, measured: bool = False) -> tuple[str, str]:
    computed = _written(cell.computed, cell.ends, _decimals(cell, measured))
    return computed, NOTHING if cell.printed is None else f"{cell.printed:.10g}"


def _written(value: float | None, ends: Ends, decimals: int) -> str:
    return bracketed(*(NOTHING if each is None else f"{each:.{decimals}f}" for each in (value, *ends)))


def _triple(row: TableRow, cell: TableCell, mark: str) -> tuple[str, str, str]:
    computed, printed = _pair(cell, row.measured)
    printed = _other(row, cell) if row.against else printed
    return (NOTHING, printed, "input") if row.input and not cell.slip else (computed, printed, mark)


def _decimals(cell: TableCell, measured: bool = False) -> int:
    """Give one digit more than the printed ones, by the rounding that is allowed for; a measurement has one."""
    if measured:
        return 1
    return max(0, 1 - math.floor(math.log10(2 * cell.within) + 1e-9)) if cell.within > 0 else 4


def _marked(row: TableRow, cell: TableCell, slips: Notes, misses: Notes) -> str:
    """Write a difference, or the error of a measured row, with what is to be said of it."""
    text = _error_text(cell) if row.measured or row.against else _difference_text(cell)
    if cell.inside is not None:
        text += (
            (", undecided" if cell.inside else "")
            if row.against
            else f", {'in' if cell.inside else 'out'}side the interval"
        )
    if verdict(cell) == "miss" and not (row.measured or row.against):
        place = f"{row.label}, {cell.case}: computed {_pair(cell)[0]}, printed {_pair(cell)[1]}"
        return f"{text} (miss {misses.number(f'{place}; rounding allows {cell.within:g}')})"
    return f"{text} (slip {slips.number(f'{row.label}: {cell.slip}')})" if cell.slip else text


def _difference_text(cell: TableCell) -> str:
    if cell.difference is None:
        return NOTHING
    text = f"{cell.difference:+.{_decimals(cell)}f}"
    return text[1:] if float(text) == 0 else text


def _listed(title: str, notes: Notes, kind: str) -> str:
    lines = [f"- {kind} {number}: {escape(text)}" for number, text in notes.listed.items()]
    return "\n".join([title, "", *lines]) if lines else ""


def _row_error(row: TableRow) -> str:
    errors = _errors(row.cells) if row.measured else []
    if not errors:
        return ""
    mean = percent(fmean(map(abs, errors)))
    return f"{escape(row.label)}: mean absolute error {mean} over {counted(len(errors), 'measured value')}"


def _errors(cells: Sequence[TableCell]) -> list[float]:
    return [cell.difference / cell.printed for cell in cells if cell.difference is not None and cell.printed]


def _error_text(cell: TableCell) -> str:
    return (
        percent(cell.difference / cell.printed, signed=True)
        if cell.difference is not None and cell.printed
        else NOTHING
    )
