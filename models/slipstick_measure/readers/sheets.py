"""Exports of spreadsheets: titles above a table, notes below it, empty rows, and repetitions side
by side.

Cells are separated by tab, ``;``, ``|`` or ``,``. A row with one filled cell above the heading is a
title, and one below the rows is a note. Both are left out and noted.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from slipstick_measure.readers.cells import NUMBER, bare_cell
from slipstick_measure.readers.names import (
    REPETITIONS,
    SPREADS,
    TIMES,
    is_time_unit,
    plain_words,
    split_heading,
)
from slipstick_measure.readers.reading import Reading

SheetLine = tuple[int, str]
Row = tuple[int, list[str]]

_SEPARATORS = "\t;|,"
_MOST_RUN_DIGITS = 6  # digits of the number of a run in a heading
_MEAN_HEADINGS = frozenset(
    ("average", "avg", "mean", "median", "mean time", "avg time", "average time")
)


class SheetTable(NamedTuple):
    """The lines of the first table of a sheet, the numbers of the filled lines outside of it, and
    the line in which another table begins; 0 if there is none.
    """

    lines: Sequence[SheetLine]
    outside_lines: Sequence[int]
    other_table_line: int


def table_of_sheet(input_file: Reading, content: Sequence[SheetLine]) -> SheetTable:
    """Find the first table of a sheet: its heading and its rows.

    Other files are returned as they are.

    Raises
    ------
    SpecError : several tables side by side
    """
    rows = _cells_of_lines(content)
    first_row_index, end_row_index = _first_heading_index(rows), len(rows)
    if first_row_index is None:
        return SheetTable(content, [], 0)
    if _names_groups_of_columns(rows, first_row_index):
        _refuse_side_by_side(input_file, rows[first_row_index], rows[first_row_index + 1])
        first_row_index += 1
    other_table_line = 0
    for index in range(first_row_index + 1, len(rows)):
        if _begins_another_table(rows, index):
            end_row_index, other_table_line = index, content[index][0]
            break
    kept_indices = [
        index
        for index in range(first_row_index, end_row_index)
        if (cell_count := len(_nonempty_cells(rows[index]))) > 1
        or (cell_count == 1 and not _is_note(rows[index]))
    ]
    kept_lines = [content[index] for index in kept_indices]
    lines_outside = [
        content[index][0]
        for index in range(len(rows))
        if _nonempty_cells(rows[index]) and index not in kept_indices
    ]
    return SheetTable(kept_lines, lines_outside, other_table_line)


def _cells_of_lines(content: Sequence[SheetLine]) -> list[list[str]]:
    """Split lines into cells at the separator that most lines have equally often. Return no rows if
    there is none, where quotes span lines, or where a cell is too long for the reader.
    """
    texts = [text for _, text in content]
    if any(text.count('"') % 2 for text in texts):
        return []
    for separator in _SEPARATORS:
        line_count_by_separator_count = Counter(
            text.count(separator) for text in texts if separator in text
        )
        if (
            line_count_by_separator_count
            and 2 * max(line_count_by_separator_count.values()) >= len(texts)
            and len(texts) > 2
        ):
            with suppress(csv.Error):  # which the reader of the cells tells with its line
                return [
                    [cell.strip() for cell in row] for row in csv.reader(texts, delimiter=separator)
                ]
            return []
    return []


def _nonempty_cells(row: Sequence[str]) -> list[str]:
    """Return the cells of a row that are not empty."""
    return [cell for cell in row if cell]


def _stem_and_number(words: str) -> tuple[str | None, int]:
    """Return the words before the number that ends a heading, and this number; return no words if
    there is no number.

    >>> _stem_and_number("Run 2"), _stem_and_number("time (3)"), _stem_and_number("time")
    (('run', 2), ('time', 3), (None, 0))
    """
    words_without_bracket = words.removesuffix(")")
    stem = words_without_bracket.rstrip("0123456789")
    digits = words_without_bracket[len(stem) :]
    if not 0 < len(digits) <= _MOST_RUN_DIGITS:
        return None, 0
    return plain_words(stem.rstrip(" _.#(-")), int(digits)


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number."""
    return NUMBER.fullmatch(bare_cell(cell).replace(",", "").rstrip("% ")) is not None


def _is_note(row: Sequence[str]) -> bool:
    """Return whether the only filled cell of a row is a text, at its beginning. Numbers between
    other separators, such as ``4 28`` and ``4;28``, are a row whose separator is mistyped.
    """
    words = row[0].replace(";", " ").replace("|", " ").split()
    return bool(words) and not all(map(_is_number, words[:2]))


def _has_names_only(row: Sequence[str]) -> bool:
    """Return whether a row has at least two filled cells, none of them a number."""
    cells = _nonempty_cells(row)
    return len(cells) > 1 and not any(_is_number(cell) for cell in cells)


def _first_heading_index(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the index of the first row with several cells; None if the file has no such rows."""
    return next((index for index, row in enumerate(rows) if len(_nonempty_cells(row)) > 1), None)


def _names_groups_of_columns(rows: Sequence[Sequence[str]], index: int) -> bool:
    """Return whether a row names groups of columns, and the next row is the heading."""
    if index + 1 >= len(rows):
        return False
    filled_cells, row_below = rows[index], rows[index + 1]
    return (
        _has_names_only(filled_cells)
        and _has_names_only(row_below)
        and len(_nonempty_cells(filled_cells)) < len(_nonempty_cells(row_below))
        and not filled_cells[0]
    )


def _begins_another_table(rows: Sequence[Sequence[str]], index: int) -> bool:
    """Return whether a row below an empty row, or below a title, heads another table."""
    row_above = _nonempty_cells(rows[index - 1])
    begins_below_gap = not row_above or (len(row_above) == 1 and _is_note(rows[index - 1]))
    has_numbers_below = index + 1 < len(rows) and any(_is_number(cell) for cell in rows[index + 1])
    return begins_below_gap and has_numbers_below and _has_names_only(rows[index])


def _refuse_side_by_side(
    input_file: Reading, group_row: Sequence[str], heading_row: Sequence[str]
) -> None:
    """Raise if tables are side by side: their headings repeat under the names of groups."""
    repeated_headings = [
        name for name, count in Counter(_nonempty_cells(heading_row)).items() if count > 1
    ]
    if repeated_headings:
        groups_in_words = " and ".join(repr(cell) for cell in _nonempty_cells(group_row))
        line = next(
            (
                line_number
                for line_number, text in input_file.content
                if _nonempty_cells(group_row)[0] in text
            ),
            1,
        )
        message = (
            f"tables are side by side, {groups_in_words}: {repeated_headings[0]!r} heads several"
            " columns; write"
            " each table to a file of its own, with the column of processors"
        )
        input_file.refuse(line, "", message)


def with_repetitions_in_rows(
    headings: Sequence[str], rows: Sequence[Row]
) -> tuple[Sequence[str], Sequence[Row], Sequence[str]]:
    """Return a table with one repetition in each row if each of several columns, such as ``Run 1``
    and ``Run 2``, holds a repetition; return other tables unchanged.

    The third value lists the headings of columns that were left out, because they are the means or
    the scatter of the repetitions.
    """
    run_indices = _indices_of_repetitions(headings)
    if len(run_indices) < 2:
        return headings, rows, []
    left_out_indices = [
        index
        for index, text in enumerate(headings)
        if index not in run_indices and split_heading(text)[0] in {*_MEAN_HEADINGS, *SPREADS}
    ]
    other_indices = [
        index
        for index in range(len(headings))
        if index not in run_indices and index not in left_out_indices
    ]
    first_heading = headings[run_indices[0]]
    words, unit = split_heading(first_heading)
    stem, _ = _stem_and_number(words)
    is_named_time = stem in TIMES
    value_name = (
        "time" if is_named_time or (unit is not None and is_time_unit(unit)) else "measured"
    )
    value_heading = value_name if unit is None else f"{value_name} [{unit}]"
    run_rows = [
        (line, [*(cells[index] for index in other_indices), cells[run_index], str(run_number)])
        for line, cells in rows
        if len(cells) == len(headings)
        for run_number, run_index in enumerate(run_indices, 1)
        if cells[run_index].strip()
    ]
    irregular_rows = [(line, cells) for line, cells in rows if len(cells) != len(headings)]
    new_headings = [*(headings[index] for index in other_indices), value_heading, "repetition"]
    return (
        new_headings,
        [*run_rows, *irregular_rows],
        [headings[index] for index in left_out_indices],
    )


def _indices_of_repetitions(headings: Sequence[str]) -> list[int]:
    """Return the indices of columns whose headings differ in their number only and name
    repetitions or times; empty if there are no such columns.
    """
    index_by_number_of_stem = defaultdict[tuple[str, str | None], dict[int, int]](dict)
    for index, text in enumerate(headings):
        words, unit = split_heading(text)
        stem, run_number = _stem_and_number(words)
        if stem in {*REPETITIONS, *TIMES}:
            index_by_number_of_stem[stem, unit].setdefault(run_number, index)
    index_by_number = max(index_by_number_of_stem.values(), key=len, default={})
    run_numbers = sorted(index_by_number)
    return (
        [index_by_number[run_number] for run_number in run_numbers]
        if run_numbers[:1] in ([0], [1])
        else []
    )
