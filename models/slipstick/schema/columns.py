"""Columns of times in files of numbers: lists, and tables with names and units of their columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from slipstick.errors import UnitError, UnknownNameError, short
from slipstick.expression.nodes import TIME
from slipstick.late import late_pattern
from slipstick.schema.text import Mark, file_text
from slipstick.units import to_base

_WORD_WITH_UNIT = late_pattern(r"[^\s\[(]+(?:\s*[\[(][^\])]*[\])])?")
"""A word of a heading, with a unit in brackets behind it if there is one."""

_NAME_AND_UNIT = late_pattern(r"(?P<name>.*?)[\[(](?P<unit>[^\[\]()]++)[\])]\s*+")


def numbered_times_in(
    path: Path, text_by_key: dict[str, str], mark: Mark, path_in_spec: str
) -> list[tuple[int, float]]:
    """Parse the times in a file, which is a list or a table of which one column is read; each comes
    with its line number [s].

    Parameters
    ----------
    path : the file
    text_by_key : of `column`, the name of the column, and `unit`, that of the times, where written
    mark : where the file is named, for problems with it
    path_in_spec : path of the key that names it, such as trace.file

    Raises
    ------
    SpecError : the file holds no such column, or something else than numbers in it
    """

    def file_error(message: str) -> Exception:
        return mark.error(f"{path.name}: {message}", path_in_spec)

    # Spreadsheets begin a file of UTF-8 with a byte-order mark.
    lines = file_text(path, "data_bytes", "keep a part of it").removeprefix("\ufeff").splitlines()
    numbered_lines = [
        (line_number, line)
        for line_number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not numbered_lines:
        raise file_error("has no lines with numbers")
    numbered_cells = list(_split_numbered_cells(numbered_lines, file_error))
    first_cells = numbered_cells[0][1]
    unit = text_by_key.get("unit", "")
    column_index = 0
    # A first line without a number, or a named column, is a line of names.
    if _parse_number(first_cells[0]) is None or "column" in text_by_key:
        column_index, heading_unit = _find_column(first_cells, text_by_key, file_error)
        unit = unit or heading_unit
        numbered_cells = numbered_cells[1:]
    elif len(first_cells) > 1:
        raise file_error("has several columns and no line of names; keep the one of the times")
    if not unit:
        raise file_error("does not say the unit of its times; give unit, such as ms")
    try:
        seconds_per_unit = to_base(f"1 {unit}", TIME)
    except UnitError as error:
        raise file_error(str(error)) from None
    numbered_times = []
    for line_number, line_cells in numbered_cells:
        value = _parse_number(line_cells[column_index]) if column_index < len(line_cells) else None
        if value is None or not math.isfinite(value):
            raise file_error(
                f"line {line_number}: a number is wanted, got"
                f" {short(line_cells[column_index] if column_index < len(line_cells) else '')}"
            )
        numbered_times.append((line_number, value * seconds_per_unit))
    return numbered_times


def _find_column(
    headings: list[str], text_by_key: dict[str, str], file_error: Callable[[str], Exception]
) -> tuple[int, str]:
    """Return the index of the column with the times among the headings of a table, and the unit
    that its heading states; an empty text if it states none.
    """
    heading_matches = [_NAME_AND_UNIT.fullmatch(heading) for heading in headings]
    column_names = [
        heading_match["name"].strip() if heading_match else name
        for heading_match, name in zip(heading_matches, headings, strict=True)
    ]
    column_name = text_by_key.get("column", column_names[0])
    if column_name not in column_names:
        raise file_error(str(UnknownNameError("column", column_name, column_names)))
    if len(column_names) > 1 and "column" not in text_by_key:
        raise file_error(
            f"has the columns {', '.join(map(short, column_names))}; name one as column"
        )
    column_index = column_names.index(column_name)
    heading_match = heading_matches[column_index]
    return column_index, heading_match["unit"] if heading_match else ""


def numbered_rows(rows: Any, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a reader of the module csv with the lines in which they end.

    Raises
    ------
    SpecError : a line that the reader refuses, such as a cell of more than 131,072 characters
    """
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise Mark(file, rows.line_num, 1).error(_unreadable_cell(error), "") from None


def _unreadable_cell(error: csv.Error) -> str:
    return f"this is not a line of a table: {error}; check the quotes and the length of the cells"


def _split_numbered_cells(
    numbered_lines: list[tuple[int, str]], file_error: Callable[[str], Exception]
) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells: at commas, semicolons or tabs if there are any, else at spaces."""
    delimiter = next((separator for separator in ",;\t" if separator in numbered_lines[0][1]), None)
    for line_number, line in numbered_lines:
        try:
            line_cells = (
                next(csv.reader([line], delimiter=delimiter))
                if delimiter
                else _WORD_WITH_UNIT.findall(line)
            )
        except csv.Error as error:
            raise file_error(f"line {line_number}: {_unreadable_cell(error)}") from None
        yield line_number, [cell.strip() for cell in line_cells]


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
