"""Tables in text: the lines that belong to a table, and their cells, whatever separates them.

Cells are separated by ``,``, ``;``, tab or ``|``, as in Markdown and in boxes of lines, else by
blanks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.readers.cells import (
    NUMBER,
    bare_cell,
    is_missing,
    joined_thousands,
    meaning_of_commas,
    number_in,
    split_value,
    with_points,
    without_points_of_thousands,
)
from slipstick_measure.readers.markup import PROMPT, bar_lines, without_types
from slipstick_measure.readers.names import (
    LOADS,
    PROCESSORS,
    SIZES,
    is_time_unit,
    plain_words,
    rate_unit,
    split_heading,
)
from slipstick_measure.readers.reading import Reading
from slipstick_measure.readers.sheets import table_of_sheet, with_repetitions_in_rows

_BARS = str.maketrans(dict.fromkeys("│┃║▏▕┆┊╎", "|"))
LONGEST_CELL = 10_000
"""Characters of a cell of a table; a longer one is no value, and its line no line of a table."""

MOST_COLUMNS = 2_000
"""Columns of a table; each is compared with the others to find out what it holds."""

_RULE_LINE = late_pattern(r"[\s|+:=_\-─━═┄┈┌┬┐├┼┤└┴┘╭╮╰╯╪╞╡╔╦╗╠╬╣╚╩╝┏┳┓┣╋┫┗┻┛┠┨╂┯┷╟╫╢]+")
_DRAWN_RULE = late_pattern(r"[-=]{2}|[─━═┄┈]|:-|-:|\|\s*-\s*\|")
_COLUMN_RULE = late_pattern(r"\s*-{2,}(?: -{2,})+\s*")
_WIDE_GAP = late_pattern(r"\s{2,}|\t+")


LATEX_TABLE = "\\begin{tabular"
"""What begins a table in LaTeX."""

LONGEST_UNIT = 12
"""Characters of a unit in a row of units."""

LONGEST_PAIRS = 1_000
"""Characters of a line of names and values."""

_SEPARATOR = late_pattern(r"\ufeff?sep=.\s*", re.IGNORECASE)
_NAME_VALUE_PAIR = late_pattern(
    r"([A-Za-z#](?:[\w #/()\[\]-]*[\w#/()\[\]-])?)\s*(?:=|:\s)\s*([^=:\s][^=]*)"
)
_JOINED_NAME_VALUE_PAIR = late_pattern(r"([A-Za-z#]\w*)=([^=]+)")
_BRACED = r"\{(?:[^{}]++|\{[^{}]*+\})*+\}"
_LATEX_COMMANDS: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (late_pattern(pattern), plain)
    for pattern, plain in (
        (rf"\\begin\{{tabular(?:\}}|[*xy]\}}{_BRACED})(?:\[[^\]]*+\])?+{_BRACED}", ""),
        (
            r"\\(?:hline|toprule|midrule|bottomrule|centering|(?:cmidrule|cline)(?:\([^)]*\))?\{[^}]*\})",
            "",
        ),
        (r"\\(?:SI|qty)\{([^}]*)\}\{([^}]*)\}", r"\1 \2"),
        (r"\\(?:si|unit)\{\\second\}", "s"),
        (r"\\(?:si|unit)\{\\milli\\second\}", "ms"),
        (r"\\multicolumn\{[^}]*\}\{[^}]*\}\{([^}]*)\}", r"\1"),
        (r"\\(?:num|si|unit|textbf|textit|emph|mathbf|texttt|mathrm|text)\{([^{}]*)\}", r"\1"),
        (r"(?<!\s)\s*+\\(?:times|cdot)\s*10\^(?:\{([-+]?\d+)\}|(\d))", r"e\1\2"),
        (r"\\pm\b", "±"),
        (r"\\times\b", "x"),
        (r"\\(?:,|;|:|!)|~", " "),
        (r"\\([%#_&$])", r"\1"),
        (r"[${}]", ""),
    )
)
"""Commands of LaTeX in the cells of tables, in turn, with what they print."""

_ROW_END = late_pattern(r"\\\\\*?(?:\s*\[[^\]]*\])?|\\tabularnewline\b")
_LATEX_COMMENT = late_pattern(r"(?<!(?<!\\)\\)%.*")


class CellGrid(NamedTuple):
    """A table: the line of its heading, the cells of heading and rows, the separator, the lines
    outside of the table, the line in which another table begins, and the headings of the columns of
    means over repetitions that were removed. A run of blanks counts as one separator.
    """

    line: int
    heading: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]
    delimiter: str
    outside_lines: Sequence[int]
    other_table_line: int = 0
    mean_headings: Sequence[str] = ()


LINES_TO_RECOGNIZE = 200
"""Number of lines from which the kind of a table is recognized."""


def table_of_file(input_file: Reading, most_lines: int | None = None) -> CellGrid:
    """Find the table in a file. Its heading is the first line, or the comment before it if that
    line has only numbers.

    Of several drawn tables, as in Markdown, the first whose heading names processors is taken.

    Parameters
    ----------
    input_file : the file
    most_lines : lines to read from the beginning of the file; all if None

    Raises
    ------
    SpecError : quotes that do not end, or a table that is too wide
    """
    is_json = input_file.text.lstrip()[:1] in ("{", "[")
    lines = [
        (line_number, first_line.translate(_BARS))
        for line_number, first_line in _plain_lines(
            input_file.lines[: None if is_json else most_lines]
        )
        if first_line.strip()
    ]
    table_line_numbers = _lines_of_drawn_table(lines)
    table_content = _lines_of_table(lines, table_line_numbers)
    if not table_content:
        return CellGrid(1, [], [], ",", [])
    table_content = _content_from_heading(table_content, lines)
    sheet = table_of_sheet(input_file, table_content)
    table_content = list(sheet.lines)
    first_line_number, first_line = table_content[0]
    delimiter = _separator_of_table(first_line, [row for _, row in table_content[1:]])
    has_column_rule = any(_COLUMN_RULE.fullmatch(line) for _, line in lines)
    if has_column_rule and not any(delimiter in line for _, line in table_content):
        delimiter = " "  # a heading of one word over several columns
    table_content = _with_comment_as_heading(input_file, table_content, delimiter)
    rows = (
        delimiter == " " and _rows_below_rule(table_content, lines, first_line_number)
    ) or _split_rows(input_file, table_content, delimiter)
    lines_outside = [
        line_number
        for line_number, _ in lines
        if table_line_numbers and line_number not in table_line_numbers
    ]
    lines_outside += sheet.outside_lines
    lines_outside += [
        line_number_of_latex
        for line_number_of_latex, first_line in enumerate(input_file.lines[:most_lines], 1)
        if LATEX_TABLE in first_line
    ][1:]
    if not rows:
        return CellGrid(first_line_number, [], [], delimiter, lines_outside)
    _check_columns_and_cells(input_file, rows)
    rows = [(line_number, [*map(joined_thousands, cells)]) for line_number, cells in rows]
    (heading_line_number, heading), *body = rows
    body = _without_repeated_headings(input_file, heading_line_number, heading, body)
    heading_with_units, body_without_units = _with_units(heading, body) if body else (heading, body)
    headings, body_of_runs, mean_headings = with_repetitions_in_rows(
        heading_with_units, body_without_units
    )
    grid = CellGrid(
        heading_line_number,
        headings,
        body_of_runs,
        delimiter,
        lines_outside,
        sheet.other_table_line,
        mean_headings,
    )
    return _with_one_run_per_row(input_file, _transposed_table(_with_empty_heading_filled(grid)))


def _with_comment_as_heading(
    input_file: Reading, content: list[tuple[int, str]], delimiter: str
) -> list[tuple[int, str]]:
    """Return the lines of a table with the comment above it as their heading if the first line has
    only numbers; else the lines unchanged.
    """
    first_line_number, text = content[0]
    cells = text.split() if delimiter == " " else text.split(delimiter)
    line_above = input_file.lines[first_line_number - 2].lstrip() if first_line_number > 1 else ""
    if line_above.startswith("#") and all(
        NUMBER.fullmatch(bare_cell(cell).removesuffix("%")) for cell in cells
    ):
        return [(first_line_number - 1, re.sub(r"^\s*#\s?", "", line_above)), *content]
    return content


def _lines_of_table(
    lines: Sequence[tuple[int, str]], table_lines: Collection[int]
) -> list[tuple[int, str]]:
    """List the lines of the first drawn table, or else all lines, without rules and comments. The
    first line of a drawn table may be a comment: its heading.
    """
    lines_without_rules = [
        (line_number, text)
        for line_number, text in lines
        if (not table_lines or line_number in table_lines) and not is_rule(text)
    ]
    first_line = lines_without_rules[:1] if table_lines else []
    return [
        (line_number, text)
        for line_number, text in lines_without_rules
        if (line_number, text) in first_line or not text.lstrip().startswith("#")
    ]


def _rows_below_rule(
    content: Sequence[tuple[int, str]], lines: Sequence[tuple[int, str]], heading_line: int
) -> list[tuple[int, list[str]]]:
    """Return the rows of a table, cut at the columns of the rule below its heading; empty if it has
    no such rule.
    """
    rule_text = next(
        (
            text
            for line_number, text in lines
            if line_number > heading_line and _COLUMN_RULE.fullmatch(text)
        ),
        None,
    )
    if rule_text is None or heading_line >= lines[-1][0]:
        return []
    column_slices = [slice(*match.span()) for match in re.finditer("-+", rule_text)]
    gap_starts = [match.start() for match in re.finditer(r"(?<=-) (?=-)", rule_text)]
    if any(
        text[gap_start : gap_start + 1].strip() for _, text in content for gap_start in gap_starts
    ):
        return []  # a row is not aligned with the rule
    return [
        (line_number, [text[column].strip() for column in column_slices])
        for line_number, text in content
    ]


def _check_columns_and_cells(input_file: Reading, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Raise if a table has too many columns, or a cell that is too long."""
    if (column_count := len(rows[0][1])) > MOST_COLUMNS:
        message = f"{column_count:,} columns; a table has at most {MOST_COLUMNS:,}: split it"
        input_file.refuse(rows[0][0], "", message)
    for line, row in rows:
        if longest_cell := max(
            (cell for cell in row if len(cell) > LONGEST_CELL), key=len, default=""
        ):
            message = (
                f"a cell of {len(longest_cell):,} characters; a table has at most {LONGEST_CELL:,}"
            )
            input_file.refuse(line, "", message)


def _plain_lines(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the lines of a table with their numbers. Cells of LaTeX get bars between them, pairs
    of names and values become a table, and a line that names the separator for spreadsheets is left
    out.
    """
    if lines_of_markup := bar_lines(lines):
        return lines_of_markup
    texts = without_types(lines)
    if texts and _SEPARATOR.fullmatch(texts[0]):
        texts[0] = ""
    if any(LATEX_TABLE in text for text in texts):
        return list(_rows_of_latex(texts))
    if any(_names_and_values(text) for text in texts):
        texts = ["" if PROMPT.fullmatch(text) else text for text in texts]
    if not _names_and_values(next((text for text in texts if text.strip()), "")):
        return list(enumerate(texts, 1))
    pairs_of_lines = [_names_and_values(text) for text in texts]
    names_by_row = [[name for name, _ in pairs] for pairs in pairs_of_lines if pairs]
    have_same_names = len(names_by_row) > 1 and all(
        pairs == names_by_row[0] for pairs in names_by_row
    )
    if have_same_names and all(
        pairs or not text.strip() for pairs, text in zip(pairs_of_lines, texts, strict=True)
    ):
        first_line_number = next(
            line_number for line_number, pairs in enumerate(pairs_of_lines, 1) if pairs
        )
        drawn_lines = [
            (line_number, " | ".join(value for _, value in pairs))
            for line_number, pairs in enumerate(pairs_of_lines, 1)
        ]
        return [(first_line_number, " | ".join(names_by_row[0])), *drawn_lines]
    return list(enumerate(texts, 1))


def _names_and_values(text: str) -> list[tuple[str, str]]:
    """List the names and values in a line such as p=1 time=2.5s; empty for other lines."""
    if len(text) > LONGEST_PAIRS:
        return []
    for pieces, pair_pattern in (
        (re.split(r"[,;|]\s+|\t+", text.strip()), _NAME_VALUE_PAIR),
        (
            re.split(r"(?<!\s)\s++(?=[A-Za-z#]\w*=)", text.strip()),
            _JOINED_NAME_VALUE_PAIR,
        ),
    ):
        matches = [pair_pattern.fullmatch(piece.strip()) for piece in pieces]
        if len(matches) > 1 and all(matches):
            return [(match[1], match[2]) for match in matches if match]
    return []


def _rows_of_latex(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the rows of the first tabular of LaTeX by line number, with bars between cells; a line
    may hold several rows.
    """
    begin_index = next(index for index, text in enumerate(lines) if LATEX_TABLE in text)
    for line_number, text in enumerate(lines[begin_index:], begin_index + 1):
        for row in _ROW_END.split(_LATEX_COMMENT.sub("", text)):
            if "&" in row.replace("\\&", ""):
                for pattern, replacement in _LATEX_COMMANDS:
                    row = pattern.sub(replacement, row)
                yield line_number, "| " + re.sub(r"(?<!\\)&", " | ", row).replace("\\", "")
        if "\\end{tabular" in text:
            return


def _without_repeated_headings(
    input_file: Reading, line: int, headings: Sequence[str], body: list[tuple[int, list[str]]]
) -> list[tuple[int, list[str]]]:
    """Return the rows of a table of runs without those that repeat its heading.

    Raises
    ------
    SpecError : the rows below a repeated heading begin as those above it, so they may be of another
        program
    """
    joined_headings = "".join("".join(headings).split())
    repeated_lines = [
        line_number
        for line_number, cells in body
        if cells[:1] == [*headings[:1]] and "".join("".join(cells).split()) == joined_headings
    ]
    holds_runs = any(plain_words(cell) in (*PROCESSORS, *LOADS, *SIZES) for cell in headings)
    if not repeated_lines or not holds_runs:
        return body
    block_starts = [line, *repeated_lines, float("inf")]
    first_cells_by_block = [
        {cells[0] for row_line, cells in body if block_start < row_line < next_start}
        for block_start, next_start in pairwise(block_starts)
    ]
    if sum(map(len, first_cells_by_block)) > len(set[str]().union(*first_cells_by_block)):
        message = (
            "the heading comes again, and below it the same processors or sizes: are the rows of"
            " another program, or repetitions? keep one table in the file, or take this line out"
            " and write a column that tells the tables apart"
        )
        input_file.refuse(repeated_lines[0], "", message)
    for block_start, next_start in pairwise([line, *repeated_lines]):
        last_row_line = max(
            (row_line for row_line, _ in body if block_start <= row_line < next_start),
            default=block_start,
        )
        title = " ".join(" ".join(input_file.lines[last_row_line : next_start - 1]).split())
        if re.search(r"\w", title):
            message = (
                f"the heading comes again below {short(title)}, which may name another program;"
                " keep one table in the file, or take these two lines out if all rows are of one"
            )
            input_file.refuse(next_start, "", message)
    message = "the heading comes again here, so all rows are read as runs of one table"
    input_file.add_note(repeated_lines[0], "", message)
    return [(row_line, cells) for row_line, cells in body if row_line not in repeated_lines]


def _with_units(
    headings: Sequence[str], body: list[tuple[int, list[str]]]
) -> tuple[Sequence[str], list[tuple[int, list[str]]]]:
    """Return the heading and the rows of a table; if the first row holds units, move these into the
    heading.
    """
    _, cells = body[0]
    unit_texts = [cell.strip().strip("[]()") for cell in cells]
    if len(cells) != len(headings) or any(re.search("[0-9]", cell) for cell in cells):
        return headings, body
    units = [unit for unit in unit_texts if unit and unit not in ("-", "#", "–", "—")]
    if not any(is_time_unit(unit) or rate_unit(unit) for unit in units) or any(
        len(unit) > LONGEST_UNIT for unit in units
    ):
        return headings, body
    heading_with_units = [
        f"{name} [{unit}]" if unit in units and not re.search(r"[\[(]", name) else name
        for name, unit in zip(headings, unit_texts, strict=True)
    ]
    return heading_with_units, body[1:]


def _content_from_heading(
    content: Sequence[tuple[int, str]], lines: Sequence[tuple[int, str]]
) -> list[tuple[int, str]]:
    """Return the lines of a table whose columns have a rule below the heading, from the heading on,
    without lines such as the command that printed the table. Return other lines unchanged.
    """
    rule_line = next(
        (line_number for line_number, text in lines if _COLUMN_RULE.fullmatch(text)), 0
    )
    lines_above = [line_number for line_number, _ in content if line_number < rule_line]
    return [
        (line_number, text)
        for line_number, text in content
        if not lines_above or line_number >= lines_above[-1]
    ]


def _with_empty_heading_filled(grid: CellGrid) -> CellGrid:
    """Return a table with a heading in place of its only empty one: time, if all cells below it are
    times with a unit, or memory, if they are mebibytes such as 123M, as asv prints them. Return
    other tables unchanged.
    """
    empty_indices = [index for index, text in enumerate(grid.heading) if not text.strip()]
    units = [
        split_value(cells[index])[1]
        for index in empty_indices
        for _, cells in grid.rows
        if index < len(cells) and not is_missing(cells[index])
    ]
    if len(empty_indices) != 1 or not units:
        return grid
    if all(unit and is_time_unit(unit) for unit in units):
        name = "time"
    elif {*units} <= {"k", "M", "G"}:
        name = "memory"
    else:
        return grid
    heading = [name if index in empty_indices else text for index, text in enumerate(grid.heading)]
    return grid._replace(heading=heading)


_NAMES_OF_METRICS = ("metric", "quantity", "measure")
_NAMES_OF_NAMES = (*_NAMES_OF_METRICS, "name", "value", "parameter")
"""Headings above the names of a table with a row for each quantity."""


def _transposed_table(grid: CellGrid) -> CellGrid:
    """Return a table whose first column holds the names of quantities with one run in each row;
    return other tables unchanged. The values of a run then have the line of the heading.
    """
    if are_times_below_counts(grid):
        heading_matches = [
            match for text in grid.heading if (match := _COUNT.fullmatch(text.strip()))
        ]
        noun = plain_words(heading_matches[-1]["name"] or heading_matches[-1]["noun"])
        line, time_cells = grid.rows[0]
        runs_of_counts = [
            (line, [match["count"] or match["of"], time])
            for match, time in zip(heading_matches, time_cells, strict=True)
        ]
        return grid._replace(heading=[noun, "time"], rows=runs_of_counts)
    count_matches = [_COUNT.fullmatch(text.strip()) for text in grid.heading[1:]]
    nouns = {plain_words(match["name"] or match["noun"]) for match in count_matches if match}
    if (
        plain_words(grid.heading[0]) in _NAMES_OF_METRICS
        and all(count_matches)
        and nouns <= {*PROCESSORS}
    ):
        noun = max(nouns, key=len, default="")
        count_texts = [match["count"] or match["of"] for match in count_matches if match]
        grid = grid._replace(heading=[noun, *count_texts])
    table_rows = [[*grid.heading], *(list(cells) for _, cells in grid.rows)]
    column_count = len(grid.heading)
    has_names_in_first_column = (
        column_count > 2
        and len(table_rows) > 1
        and all(len(row) == column_count for row in table_rows)
        and all(NUMBER.fullmatch(bare_cell(cell)) for cell in grid.heading[1:])
        and not any(NUMBER.fullmatch(bare_cell(row[0])) for row in table_rows)
    )
    if not has_names_in_first_column:
        return grid
    quantity_names, *runs = zip(*table_rows, strict=True)
    if plain_words(quantity_names[0]) in _NAMES_OF_NAMES:
        quantity_names = ("", *quantity_names[1:])
    return grid._replace(
        heading=list(quantity_names), rows=[(grid.line, list(run)) for run in runs]
    )


def are_times_below_counts(grid: CellGrid) -> bool:
    """Return whether all headings count processors of one kind, above a single row of times."""
    matches = [_COUNT.fullmatch(text.strip()) for text in grid.heading]
    nouns = {
        plain_words(match["name"] or match["noun"]).removesuffix("s") for match in matches if match
    }
    cells = grid.rows[0][1] if len(grid.rows) == 1 else []
    units = [split_value(cell)[1] or "" for cell in cells]
    return (
        len(matches) > 1
        and all(matches)
        and len(nouns) == 1
        and bool(nouns & {word.removesuffix("s") for word in PROCESSORS})
        and len(cells) == len(matches)
        and all(map(is_time_unit, units))
    )


def _with_one_run_per_row(input_file: Reading, grid: CellGrid) -> CellGrid:
    """Return a table of sizes by processors, such as ``size, p=1, p=4``, with one run in each row;
    return other tables unchanged.

    Raises
    ------
    SpecError : headings that are numbers alone, which may count processors, sizes or repetitions
    """
    if unit := _unit_of_counts(grid):
        headings = [grid.heading[0], *(_UNIT_BEHIND.sub("", text) for text in grid.heading[1:])]
        table = _with_one_run_per_row(input_file, grid._replace(heading=headings))
        if len(table.heading) == 3 and table.heading != headings:
            return table._replace(heading=[*table.heading[:2], f"time [{unit}]"])
        return grid
    row_noun, slash, column_noun = grid.heading[0].replace("\\", "/").partition("/")
    if slash and plain_words(column_noun) in (*PROCESSORS, *SIZES):
        column_noun = column_noun.strip()
        counts = [f"{column_noun}={text.strip()}" for text in grid.heading[1:]]
        grid = grid._replace(heading=[row_noun.strip(), *counts])
    first_heading = split_heading(grid.heading[0])[0]
    other_headings = [plain_words(text) for text in grid.heading[1:]]
    row_words = next((words for words in (SIZES, PROCESSORS) if first_heading in words), None)
    are_all_numbers = all(
        len(row) == len(grid.heading)
        and all(is_missing(cell) or number_in(cell.replace(",", "")) is not None for cell in row)
        for _, row in grid.rows
    )
    if row_words is None and are_counts_of_processors(grid):
        return _with_one_run_of_each_name(grid)
    if row_words is None or len(other_headings) < 2 or not grid.rows or not are_all_numbers:
        return grid
    _refuse_headings_of_numbers(input_file, grid.line, other_headings)
    count_matches = [_COUNT.fullmatch(text.strip()) for text in grid.heading[1:]]
    counted_nouns = {
        plain_words(match["name"] or match["noun"]) for match in count_matches if match
    }
    if len({noun.removesuffix("s") for noun in counted_nouns}) != 1 or not all(count_matches):
        return grid
    counted_noun = max(counted_nouns, key=len)
    if counted_noun not in (PROCESSORS if row_words is SIZES else SIZES):
        return grid
    rows = [
        (line, [size, match["count"] or match["of"], cell])
        for line, (size, *cells) in grid.rows
        for match, cell in zip(count_matches, cells, strict=True)
        if match
    ]
    headings = [grid.heading[0], counted_noun, _heading_of_values(rows)]
    return grid._replace(heading=headings, rows=rows)


def _refuse_headings_of_numbers(input_file: Reading, line: int, headings: Sequence[str]) -> None:
    """Raise if headings are numbers alone, and no option says what they count."""
    if input_file.hints.columns or not all(re.fullmatch("[0-9]+", text) for text in headings):
        return
    message = (
        f"{', '.join(headings[:8])}: what do these columns count? write p={headings[0]} for"
        f" processors, n={headings[0]} for sizes, or run {headings[0]} for repetitions"
    )
    input_file.refuse(line, "", message)


_UNIT_BEHIND = late_pattern(r"\s*[\[(]\s*(?P<unit>[^\[\]()]+?)\s*[\])]\s*$")


def _unit_of_counts(grid: CellGrid) -> str:
    """Return the unit of time that stands behind the count in each heading but the first, as in 16
    cores [s]; empty if there is none, or if they differ.
    """
    count_headings = grid.heading[1:]
    units = {match["unit"] for text in count_headings if (match := _UNIT_BEHIND.search(text))}
    have_counts = all(
        _COUNT.fullmatch(_UNIT_BEHIND.sub("", text).strip()) for text in count_headings
    )
    (unit,) = units if len(units) == 1 else {""}
    return unit if len(count_headings) > 1 and have_counts and is_time_unit(unit) else ""


def _heading_of_values(rows: Sequence[tuple[int, Sequence[str]]]) -> str:
    """Return the heading of the last column: time if each of its values has a unit of time."""
    units = [split_value(row[-1])[1] for _, row in rows if not is_missing(row[-1])]
    are_times = units and all(unit is not None and is_time_unit(unit) for unit in units)
    return "time" if are_times else "measured"


def are_counts_of_processors(grid: CellGrid) -> bool:
    """Return whether all headings but the first count processors, as 1 thread and 20 threads do,
    over rows with a name and times with units.
    """
    matches = [_COUNT.fullmatch(text.strip()) for text in grid.heading[1:]]
    nouns = {
        plain_words(match["name"] or match["noun"]).removesuffix("s") for match in matches if match
    }
    return (
        len(matches) > 1
        and all(matches)
        and len(nouns) == 1
        and bool(nouns & {word.removesuffix("s") for word in PROCESSORS})
        and all(
            len(row) == len(grid.heading)
            and number_in(row[0]) is None
            and all(is_missing(cell) or split_value(cell)[1] for cell in row[1:])
            for _, row in grid.rows
        )
    )


def _with_one_run_of_each_name(grid: CellGrid) -> CellGrid:
    """Return a table of names by processors with one run in each row."""
    matches = [match for text in grid.heading[1:] if (match := _COUNT.fullmatch(text.strip()))]
    noun = plain_words(matches[-1]["name"] or matches[-1]["noun"])
    rows = [
        (line, [bare_cell(name), match["count"] or match["of"], cell])
        for line, (name, *cells) in grid.rows
        for match, cell in zip(matches, cells, strict=True)
    ]
    return grid._replace(heading=["region", noun, _heading_of_values(rows)], rows=rows)


_COUNT = late_pattern(
    r"(?P<name>[A-Za-z]\w*)\s*=\s*(?P<count>[0-9]+)|(?P<of>[0-9]+)\s*(?P<noun>[^\W\d_]+)"
)
"""A heading that counts: a name and a number, or a number and a noun."""


def is_rule(text: str) -> bool:
    """Return whether a line is drawn below a heading or around a table."""
    return _RULE_LINE.fullmatch(text) is not None and _DRAWN_RULE.search(text) is not None


def _lines_of_drawn_table(lines: Sequence[tuple[int, str]]) -> set[int]:
    """Return the numbers of the lines of a table that is drawn with bars and a rule; of several
    tables, the first whose heading names processors or users, else the first. Return an empty set
    if there is none.
    """
    text_by_line = dict(lines)
    lines_of_tables = list[set[int]]()
    for line_number, text in lines:
        is_in_table = lines_of_tables and line_number <= max(lines_of_tables[-1])
        if is_in_table or not is_rule(text):
            continue
        if any("|" in text_by_line.get(line_number + line_step, "") for line_step in (-1, 1)):
            lines_of_tables.append(_lines_around(line_number, text_by_line))
    return next(
        (
            lines_of_table
            for lines_of_table in lines_of_tables
            if _names_processors(text_by_line, lines_of_table)
        ),
        [*lines_of_tables, set()][0],
    )


def _lines_around(rule_line: int, text_by_line: Mapping[int, str]) -> set[int]:
    """Return the numbers of the lines of the table that a rule belongs to."""
    line_numbers = {rule_line}
    for line_step in (-1, 1):
        line_number = rule_line + line_step
        while "|" in text_by_line.get(line_number, "") or is_rule(
            text_by_line.get(line_number, "x")
        ):
            line_numbers.add(line_number)
            line_number += line_step
    return line_numbers


def _names_processors(text_by_line: Mapping[int, str], line_numbers: Collection[int]) -> bool:
    """Return whether the heading of a drawn table names processors or users."""
    heading = next(
        (
            text
            for line_number in sorted(line_numbers)
            if not is_rule(text := text_by_line[line_number])
        ),
        "",
    )
    return any(plain_words(cell) in (*PROCESSORS, *LOADS) for cell in heading.split("|"))


def _separator_of_table(line: str, rows: Sequence[str]) -> str:
    """Return the separator of a table by its first line: the most frequent one of tab, comma,
    semicolon and bar. Return a blank if the line has none of them, or has one only inside a name,
    as in ``Speed-up, S`` over rows divided by blanks.
    """
    delimiter = max(",;\t|", key=line.count)
    is_in_name = (
        rows and _WIDE_GAP.search(line.strip()) and not any(delimiter in row for row in rows)
    )
    can_delimit = delimiter in line or len(line.split()) < 2
    return delimiter if can_delimit and not is_in_name else " "


def _split_rows(
    input_file: Reading, content: Sequence[tuple[int, str]], delimiter: str
) -> list[tuple[int, list[str]]]:
    """Split lines into rows of cells; a quoted cell may span several lines."""
    if delimiter == " ":
        return _split_at_blanks(content)
    texts = [text for _, text in content]
    if delimiter == "|":
        # Where the heading has no bar at an end, a bar there parts an empty cell.
        heading = texts[0].strip()
        left_bar, right_bar = (
            "|" if has_bar else "" for has_bar in (heading[:1] == "|", heading[-1:] == "|")
        )
        texts = [text.strip().removeprefix(left_bar).removesuffix(right_bar) for text in texts]
    # Lines that a quoted cell spans are one row; the reader counts the lines that it took.
    reader = csv.reader(
        (f"{text.strip(' ')}\n" for text in texts), delimiter=delimiter, strict=True
    )
    rows: list[tuple[int, list[str]]] = []
    read_line_count = 0
    try:
        for cells in reader:
            if cells:
                rows.append((content[reader.line_num - 1][0], [cell.strip() for cell in cells]))
            read_line_count = reader.line_num
    except csv.Error as error:
        line = content[min(read_line_count, len(content) - 1)][0]
        input_file.refuse(line, "", f"this is not a line of a table: {error}; check the quotes")
    return rows


def _split_at_blanks(content: Sequence[tuple[int, str]]) -> list[tuple[int, list[str]]]:
    """Split lines at two or more blanks if that gives the same number of cells in all lines, else
    at any blanks. Where that differs too, cells at the end of a few lines are taken as empty.

    A unit belongs to the name before it.
    """
    (line, first_line), *other_lines = content
    if not _MARK_AT_END.search(first_line):
        other_lines = [
            (line_number, _MARK_AT_END.sub("", text)) for line_number, text in other_lines
        ]
    heading = re.sub(r"(?<!\s)\s++(?=[\[(])", "", first_line).strip()
    alternative_rows = [
        [
            (line_number, pattern.split(text.strip()))
            for line_number, text in [(line, heading), *other_lines]
        ]
        for pattern in (_WIDE_GAP, re.compile(r"\s+"))
    ]
    for rows in alternative_rows:
        if len(rows[0][1]) > 1 and len({len(cells) for _, cells in rows}) == 1:
            return rows
        if _has_row_numbers(rows, (0,) if rows is alternative_rows[0] else (0, 1)):
            return [rows[0], *((line_number, cells[1:]) for line_number, cells in rows[1:])]
    for rows in alternative_rows:
        column_count = len(rows[0][1])
        short_row_count = sum(len(cells) < column_count for _, cells in rows)
        if (
            column_count > 1
            and all(len(cells) <= column_count for _, cells in rows)
            and 3 * short_row_count < len(rows)
        ):
            return [
                (line_number, [*cells, *[""] * (column_count - len(cells))])
                for line_number, cells in rows
            ]
    return alternative_rows[-1]


_MARK_AT_END = late_pattern(r"(?<=\S)\s++[!*<>†‡?^]{1,3}\s*$")
"""A mark behind a row, which points to a remark."""


def _has_row_numbers(
    rows: Sequence[tuple[int, Sequence[str]]], first_numbers: Sequence[int]
) -> bool:
    """Return whether the first column has no heading and counts the rows from one of
    `first_numbers`, as pandas prints it from 0 and R from 1.
    """
    column_count = len(rows[0][1])
    body = [cells for _, cells in rows[1:]]
    return (
        len(body) > 1
        and all(len(cells) == column_count + 1 for cells in body)
        and [cells[0] for cells in body]
        in (
            [str(index + first_number) for index in range(len(body))]
            for first_number in first_numbers
        )
    )


def with_decimal_points(input_file: Reading, grid: CellGrid) -> CellGrid:
    """Return a table whose numbers have a point before decimals and nothing between thousands, and
    note how its commas were read.
    """
    rows = without_points_of_thousands(grid.rows)
    changed_cells = (
        (line, cell)
        for (line, cells), (_, new_cells) in zip(grid.rows, rows, strict=True)
        for cell, new_cell in zip(cells, new_cells, strict=True)
        if cell != new_cell
    )
    for line, cell in islice(changed_cells, 1):
        message = "is read with points between thousands, and so are all numbers of the file"
        input_file.add_note(line, cell, message)
    grid = grid._replace(rows=rows)
    comma = meaning_of_commas(cell for _, cells in grid.rows for cell in cells)
    if comma == ",":
        return grid
    line, cell = next((line, cell) for line, cells in grid.rows for cell in cells if "," in cell)
    meaning = "with a decimal comma" if comma == "." else "with commas between thousands"
    input_file.add_note(line, cell, f"is read {meaning}, and so are all numbers of the file")
    rows_with_points = [
        (line, [with_points(cell, comma) for cell in cells]) for line, cells in grid.rows
    ]
    return grid._replace(rows=rows_with_points)
