"""Tables in the markup of documents, and records of names and values, as lines with bars.

Documents: AsciiDoc, MediaWiki, Jira, and the tables of lists and of commas of reStructuredText.
Records: flat objects of JSON, frames of Julia, benchmarks of Go and of Criterion, and blocks of
lines with a name and a value, of which the first name comes again, as scripts and ``time`` print
them; and sentences that differ in their numbers alone.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from slipstick.late import Late, late_pattern
from slipstick_measure.readers.names import LOADS, PROCESSORS, REPETITIONS, SIZES, plain_words

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = Late("tomllib")

BarLine: TypeAlias = tuple[int, str]
"""A line of a table, with its number in the file."""

MOST_RECORD_LINES = 100_000
LONGEST_JSON = 10_000_000
MOST_SENTENCES = 5_000
LONGEST_LINE = 1_000
_NAME_AND_VALUE = late_pattern(
    r"[*+-]?\s*([A-Za-z_](?:[\w ()/.-]{0,60}[\w()/.-])?)(?:\s*+[:=]\s*| *+\t+)([^:=\s][^=|]{0,80})"
)
_JULIA_TYPE = r"(?:U?Int(?:8|16|32|64|128)?|Float(?:16|32|64)|String[0-9]*|Bool|Any|Symbol)\??"
_DTYPES = late_pattern(
    r"[|│\s]*(?:[iuf](?:8|16|32|64)|str|bool)(?:\s*[|┆│]\s*\w+)*[|│\s]*|\s*(?:<[a-z]{3,4}>\s*)+"
    rf"|[|│\s]*{_JULIA_TYPE}(?:\s*[|│]\s*{_JULIA_TYPE})*[|│\s]*"
)
"""The types of columns, which libraries of data frames print below the names."""


def bar_lines(texts: Sequence[str]) -> list[BarLine]:
    """Return the heading and the rows of the first table in markup, or of records, with bars
    between cells; empty if there is none.
    """
    for read_table in (
        *(
            _lines_of_json,
            _lines_of_blocks,
            _lines_of_named_rows,
            _lines_of_toml,
            _lines_of_fenced_table,
            _lines_of_jira_table,
            _lines_of_directive_table,
            _lines_of_julia_frame,
        ),
        *(_lines_of_go_benchmarks, _lines_of_criterion, _lines_of_sentences),
    ):
        if len(lines := read_table(texts)) > 1:
            return lines
    return []


def without_types(texts: Sequence[str]) -> list[str]:
    """Return lines with a rule in place of each line that holds the types of columns."""
    return ["|---|" if _DTYPES.fullmatch(text) else text for text in texts]


def _bar_line(line_number: int, cells: Sequence[str]) -> BarLine:
    """Return a line of cells with bars around them."""
    return line_number, f"| {' | '.join(cells)} |"


def _lines_of_json(texts: Sequence[str]) -> list[BarLine]:
    """Return flat JSON objects with equal names as lines with bars: of a list, of one object on
    each line, or of an object of equally long lists.
    """
    text = "\n".join(texts).strip().removeprefix("\ufeff")
    if text[:1] not in ("{", "[") or len(text) > LONGEST_JSON:
        return []
    try:
        document = _parse_json(text)
    except (ValueError, RecursionError):
        try:
            document = [_parse_json(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return []
    if isinstance(document, dict) and all(isinstance(value, list) for value in document.values()):
        if len({len(column) for column in document.values()}) != 1:
            return []
        record_names = list(document)
        rows: list[Any] = [
            dict(zip(record_names, row, strict=True))
            for row in zip(*document.values(), strict=True)
        ]
    else:
        rows = document if isinstance(document, list) else []
    first_lines = [text.count("\n", 0, match.start()) + 1 for match in re.finditer(r"\{", text)]
    return _lines_of_records(rows, first_lines)


def _lines_of_records(rows: Sequence[Any], first_lines: Sequence[int]) -> list[BarLine]:
    """Return flat records with equal names as lines with bars, at the lines where they begin if
    there is one for each; empty for other records.
    """
    if not rows or not all(isinstance(row, dict) for row in rows):
        return []
    runs_with_parts = [_run_and_parts(_flat_record(row)) for row in rows]
    if len(first_lines) == len(rows) or any(len(parts) > 1 for parts in runs_with_parts):
        record_lines = first_lines if len(first_lines) == len(rows) else [1] * len(rows)
        first_lines = [
            line for line, parts in zip(record_lines, runs_with_parts, strict=True) for _ in parts
        ]
    rows = [part for parts in runs_with_parts for part in parts]
    if not all(row.keys() == rows[0].keys() for row in rows):
        return []
    record_names = list(rows[0])
    cells_by_row = [[_plain_cell(row[name]) for name in record_names] for row in rows]
    if any(
        not isinstance(cell, str) or "|" in cell
        for row in [record_names, *cells_by_row]
        for cell in row
    ):
        return []
    line_numbers = first_lines if len(first_lines) == len(rows) else [1] * len(rows)
    return [
        _bar_line(1, record_names),
        *(
            _bar_line(line_number, row)
            for line_number, row in zip(line_numbers, cells_by_row, strict=True)
        ),
    ]


_PART_NAMES = ("name", "phase", "region", "function", "step", "label")
"""How records call what names a part of a run."""


def _run_and_parts(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a run and, in rows of their own, its parts: the records of its only list, if each has
    a name and values that the run has too. Without such records, return the run alone.
    """
    list_names = [name for name, value in run.items() if isinstance(value, list) and value]
    parts = run[list_names[0]] if len(list_names) == 1 else []
    plain_value_by_name = {name: value for name, value in run.items() if name not in list_names}
    if not parts or not all(isinstance(part, dict) for part in parts):
        return [run]
    shared_names = set.intersection(*({*part} for part in parts))
    part_name_keys = [
        name for name in parts[0] if name in shared_names and name not in plain_value_by_name
    ]
    part_name_keys = [
        name for name in parts[0] if name in shared_names & {*_PART_NAMES}
    ] or part_name_keys
    if len(part_name_keys) != 1 or not all(
        {*part} - {*plain_value_by_name} <= {*part_name_keys} for part in parts
    ):
        return [run]
    (name,) = part_name_keys
    plain_value_by_name.pop(name, None)
    part_records = [{**plain_value_by_name, **_flat_record(part)} for part in parts]
    return [
        {"region": "", **plain_value_by_name},
        *({"region": row.pop(name), **row} for row in part_records),
    ]


def _parse_json(text: str) -> Any:
    """Parse JSON with its numbers as text. Raise ValueError if an object has a name twice."""
    return json.loads(
        text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_object_of_pairs
    )


def _object_of_pairs(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the names and values of a JSON object as a dictionary. Raise ValueError if a name
    occurs twice.
    """
    if len(value_by_name := dict(pairs)) < len(pairs):
        raise ValueError(pairs[0][0])
    return value_by_name


def _plain_cell(value: Any) -> Any:
    """Return null, true, false and texts of several lines as texts of one line; return other values
    unchanged.
    """
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return " ".join(value.split()) if isinstance(value, str) else value


_TOML_TABLE = late_pattern(r"\[\[(?P<name>[\w.-]+)\]\]\s*(?:#.*)?")
"""What begins one of several tables of TOML."""
_TOML_SECTION = late_pattern(r"\[(?P<name>[\w.-]+)\]")
"""What begins a table of TOML that is not repeated: settings, or what belongs to a run."""
_TOML_COMMENT = late_pattern(r"""((?:"[^"]*"|'[^']*'|[^"'#])*+)#.*""")
PROMPT = late_pattern(r"\s*(?:\$|[\w.-]+@\S*[$#%])\s.*")
"""A command that a shell was given, as people paste it."""
_QUOTED = late_pattern(r"([\"'])(?P<text>[^\"']*)\1")


def _lines_of_toml_runs(texts: Sequence[str]) -> list[BarLine]:
    """Return the lines of the repeated tables of TOML, each followed by the settings that stand
    before the first table. If the tables have different names, the name of each is the region of
    its values. The name of a table that is not repeated is the first part of the names in it.
    """
    lines = [
        (line_number, _TOML_COMMENT.sub(r"\1", text).strip())
        for line_number, text in enumerate(texts, 1)
    ]
    table_names = [match["name"] for _, text in lines if (match := _TOML_TABLE.fullmatch(text))]
    if any(
        name.startswith(f"{outer_name}.") for name in table_names for outer_name in {*table_names}
    ):
        return []  # tables within a run
    count_by_name = Counter(text.partition("=")[0].strip() for _, text in lines)
    settings, rows = list[str](), list[BarLine]()
    is_run, prefix = False, ""
    for line_number, text in lines:
        if table_match := _TOML_TABLE.fullmatch(text):
            is_run, prefix = True, ""
            rows += (
                [(line_number, f"region = {table_match['name']}")]
                if len({*table_names}) > 1
                else []
            )
            rows += [(line_number, setting) for setting in settings]
        elif section_match := _TOML_SECTION.fullmatch(text):
            section_names = section_match["name"].split(".")
            prefix = "".join(
                f"{name}." for name in (section_names[1:] if is_run else section_names)
            )
        elif text and is_run:
            rows.append((line_number, f"{prefix}{text}"))
        elif text:
            is_setting_alone = count_by_name[text.partition("=")[0].strip()] == 1
            settings.append(text if is_setting_alone else f"{prefix}{text}")
    return rows


def _lines_of_toml(texts: Sequence[str]) -> list[BarLine]:
    """Return the tables of a list of TOML as lines with bars, or several tables with equal names;
    the numbers and words before them stand in each line, and tables within a table are joined
    with it.
    """
    text = "\n".join(texts)
    if "=" not in text or len(text) > LONGEST_JSON:
        return []
    try:
        document = tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    list_values = [value for value in document.values() if isinstance(value, list)]
    tables = [value for value in document.values() if isinstance(value, dict)]
    runs = (
        list_values[0]
        if len(list_values) == 1 and not tables
        else tables
        if not list_values
        else []
    )
    if len(runs) < 2 or not all(isinstance(run, dict) for run in runs):
        return []
    settings = {
        name: value for name, value in document.items() if not isinstance(value, list | dict)
    }
    first_lines = [
        line_number for line_number, line in enumerate(texts, 1) if line.lstrip()[:1] in ("{", "[")
    ]
    return _lines_of_records([settings | run for run in runs], first_lines)


def _flat_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the values of the records in it; a name that occurs in several of them
    keeps the names before it.
    """
    inner_records = {
        name: _flat_record(value) for name, value in record.items() if isinstance(value, dict)
    }
    count_by_name = Counter(
        name for inner_record in (record, *inner_records.values()) for name in inner_record
    )
    flat_value_by_name = {
        name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in record.items()
        if name not in inner_records
    }
    for outer_name, inner_record in inner_records.items():
        flat_value_by_name |= {
            name if count_by_name[name] == 1 else f"{outer_name}.{name}": value
            for name, value in inner_record.items()
        }
    return flat_value_by_name


def _lines_of_blocks(texts: Sequence[str]) -> list[BarLine]:
    """Return blocks of lines with a name and a value each, which all have the names of the first
    block.
    """
    if any(_TOML_TABLE.fullmatch(text.strip()) for text in texts[:MOST_RECORD_LINES]):
        lines = _lines_of_toml_runs(texts)
    else:
        lines = [
            (line_number, text.strip())
            for line_number, text in enumerate(texts, 1)
            if text.strip() and not PROMPT.fullmatch(text)
        ]
    if len(lines) < 4 or len(lines) > MOST_RECORD_LINES:
        return []
    named_values = list[tuple[int, str, str]]()
    for line_number, text in lines:
        match = _NAME_AND_VALUE.fullmatch(text) if len(text) < LONGEST_LINE else None
        if match is None:
            return []
        quoted_match = _QUOTED.fullmatch(match[2].strip())
        named_values.append(
            (
                line_number,
                match[1].strip(),
                quoted_match["text"] if quoted_match else match[2].strip(),
            )
        )
    first_name = named_values[0][1]
    name_count = next(
        (
            index
            for index, named_value in enumerate(named_values)
            if index and named_value[1] == first_name
        ),
        0,
    )
    block_names = [name for _, name, _ in named_values[:name_count]]
    if (
        name_count < 2
        or len({*block_names}) < name_count
        or [name for _, name, _ in named_values] != block_names * (len(named_values) // name_count)
    ):
        return []
    rows = [
        named_values[start : start + name_count]
        for start in range(0, len(named_values), name_count)
    ]
    return [
        _bar_line(named_values[0][0], block_names),
        *(_bar_line(row[0][0], [value for *_, value in row]) for row in rows),
    ]


_ROW_OF_NAME = late_pattern(
    r"[*+-]?\s*(?P<name>[A-Za-z#](?:[\w #/()\[\]-]{0,60}[\w)\]])?)\s*[:=]\s*"
    r"[\[({]?\s*(?P<values>[0-9][^\[\](){}|]*?)\s*[\])}]?[;,]?"
)
MOST_ROWS_OF_NAMES = 50


def _lines_of_named_rows(texts: Sequence[str]) -> list[BarLine]:
    """Return lines with a name and the values of all runs each, such as ``threads = [1, 2, 4]``, as
    a table with a row for each run; one of the names is a word for processors.
    """
    lines = [
        (line_number, text.strip()) for line_number, text in enumerate(texts, 1) if text.strip()
    ]
    if not 2 <= len(lines) <= MOST_ROWS_OF_NAMES or any(
        len(text) > LONGEST_LINE for _, text in lines
    ):
        return []
    matches = [_ROW_OF_NAME.fullmatch(text) for _, text in lines]
    names = [match["name"] for match in matches if match]
    value_columns = [
        re.split(r"\s*[,;]\s*|\s+", match["values"].rstrip(",; ")) for match in matches if match
    ]
    have_different_names = len({*names}) == len(lines)
    have_equal_lengths = (
        have_different_names and len({len(values) for values in value_columns}) == 1
    )
    if not have_equal_lengths or len(value_columns[0]) < 2 or not _names_processors(names):
        return []
    return [
        _bar_line(lines[0][0], names),
        *(_bar_line(lines[0][0], run) for run in zip(*value_columns, strict=True)),
    ]


def _lines_of_fenced_table(texts: Sequence[str]) -> list[BarLine]:
    """Return the table between the marks of AsciiDoc or MediaWiki; of several, the first whose
    heading names processors or users.
    """
    for begin_mark, end_mark, read_rows in (
        ("|===", "|===", _asciidoc_rows),
        ("{|", "|}", _wiki_rows),
    ):
        mark_indices = [
            index
            for index, text in enumerate(texts)
            if text.strip().startswith((begin_mark, end_mark))
        ]
        if len(mark_indices) < 2 or not texts[mark_indices[0]].strip().startswith(begin_mark):
            continue
        tables = [
            read_rows(
                [
                    (line_number, text.strip())
                    for line_number, text in enumerate(
                        texts[begin_index + 1 : end_index], begin_index + 2
                    )
                    if text.strip()[:1] in ("|", "!") and not text.strip().startswith("|+")
                ]
            )
            for begin_index, end_index in zip(mark_indices[::2], mark_indices[1::2], strict=False)
        ]
        rows = next(
            (rows for rows in tables if rows and _names_processors(_cell_texts(rows[0]))), tables[0]
        )
        return [_bar_line(row[0][0], _cell_texts(row)) for row in rows]
    return []


def _cell_texts(row: Sequence[BarLine]) -> list[str]:
    """Return the texts of the cells of a row, without their line numbers."""
    return [cell for _, cell in row]


def _names_processors(cells: Sequence[str]) -> bool:
    """Return whether a cell is a word for processors or users."""
    return any(plain_words(cell) in (*PROCESSORS, *LOADS) for cell in cells)


def _asciidoc_rows(lines: Sequence[BarLine]) -> list[list[BarLine]]:
    """Return the cells of each row of an AsciiDoc table, with their lines. The heading is the first
    line; in a table with a line for each cell, it is everything before an empty line.
    """
    cells = [
        (line_number, cell.strip()) for line_number, text in lines for cell in text[1:].split("|")
    ]
    if not cells:
        return []
    if (column_count := lines[0][1].count("|")) == 1:
        column_count = sum(
            line_number - index == cells[0][0] for index, (line_number, _) in enumerate(cells)
        )
    return [cells[start : start + column_count] for start in range(0, len(cells), column_count)]


def _wiki_rows(lines: Sequence[BarLine]) -> list[list[BarLine]]:
    """Return the cells of each row of a MediaWiki table, with their lines. A cell may follow its
    attributes and a bar; a row may have a line for each cell.
    """
    rows: list[list[BarLine]] = [[]]
    for line_number, text in lines:
        if text.startswith("|-"):
            rows.append([])
        else:
            cells = re.split(r"\|\||!!", text[1:])
            rows[-1] += [(line_number, cell.rpartition("|")[2].strip()) for cell in cells]
    return [row for row in rows if row]


def _lines_of_jira_table(texts: Sequence[str]) -> list[BarLine]:
    """Return the first table whose heading begins and ends with double bars."""
    heading_indices = [
        index for index, text in enumerate(texts) if re.fullmatch(r"\s*\|\|.+\|\|\s*", text)
    ]
    if not heading_indices:
        return []
    lines = enumerate(texts[heading_indices[0] :], heading_indices[0] + 1)
    return [
        (line_number, text.strip().replace("||", "|"))
        for line_number, text in takewhile(lambda line: line[1].strip()[:1] in ("|", ""), lines)
        if text.strip()
    ]


def _lines_of_directive_table(texts: Sequence[str]) -> list[BarLine]:
    """Return the table of lists or of commas of reStructuredText; of several, the first whose
    heading names processors or users.
    """
    tables = [
        _lines_of_directive(texts, index)
        for index, text in enumerate(texts)
        if re.match(r"\s*\.\. (?:list|csv)-table::", text)
    ]
    headings = [table[0][1].strip("|").split("|") if table else [] for table in tables]
    tables_of_processors = [
        table for table, cells in zip(tables, headings, strict=True) if _names_processors(cells)
    ]
    return [*tables_of_processors, *tables, []][0]


def _lines_of_directive(texts: Sequence[str], directive_index: int) -> list[BarLine]:
    """Return the rows below a directive of reStructuredText."""
    depth = len(texts[directive_index]) - len(texts[directive_index].lstrip())
    body = [
        (line_number, text.strip())
        for line_number, text in _indented_lines(texts, directive_index + 1, depth)
        if not text.strip().startswith(":") or ":header:" in text
    ]
    if "csv-table" in texts[directive_index]:
        rows = [(line_number, text.removeprefix(":header:").strip()) for line_number, text in body]
        return [
            _bar_line(line_number, next(csv.reader([row], skipinitialspace=True)))
            for line_number, row in rows
            if "|" not in row
        ]
    row_begins = [text.startswith("* -") for _, text in body]
    row_count = 0
    row_numbers = [row_count := row_count + begins_row for begins_row in row_begins]
    blocks = groupby(
        zip(row_numbers, body, strict=True), key=lambda numbered_line: numbered_line[0]
    )
    return [
        _bar_line(
            block_lines[0][1][0],
            [re.sub(r"^(?:\* )?-", "", line).strip() for _, (_, line) in block_lines],
        )
        for block_lines in (list(block) for _, block in blocks)
    ]


_GO_BENCHMARK = late_pattern(
    r"(?P<name>Benchmark\S*?)(?:-(?P<count>[0-9]+))?\s+[0-9]+\s+(?P<time>[0-9.]+) ns/op\b.*"
)


def _lines_of_go_benchmarks(texts: Sequence[str]) -> list[BarLine]:
    """Return the benchmarks that go test prints, with the processors that their names end with; a
    name without a number is of one.
    """
    lines_and_matches = [
        (line_number, match)
        for line_number, text in enumerate(texts, 1)
        if (match := _GO_BENCHMARK.fullmatch(text.strip()))
    ]
    if not lines_and_matches:
        return []
    rows = [
        _bar_line(line_number, [match["name"], match["count"] or "1", match["time"]])
        for line_number, match in lines_and_matches
    ]
    return [_bar_line(lines_and_matches[0][0], ["region", "processors", "time [ns]"]), *rows]


_CRITERION_TIMES = late_pattern(r"\[[0-9.]+ \S+ (?P<time>[0-9.]+ \S+) [0-9.]+ \S+\]")


_RUST_TEST = late_pattern(r"test (?P<name>\S+)\s+\.\.\. bench:\s+(?P<time>[0-9.,]+) ns/iter\b.*")
_CUT_CRITERION_ROW = late_pattern(r"(.*?)\btime:\s*(?:\[[^\]]*)?")


def _lines_of_criterion(texts: Sequence[str]) -> list[BarLine]:
    """Return the middle times that Criterion or the tests of Rust print, if the name of each
    benchmark ends with a number of processors, as in ``sort/threads/4``.
    """
    rows = list[BarLine]()
    nouns = set[str]()
    for line_number, text in enumerate(texts[:MOST_RECORD_LINES], 1):
        name, _, interval_text = text[:LONGEST_LINE].partition(" time:")
        match = _CRITERION_TIMES.fullmatch(interval_text.strip())
        if test_match := _RUST_TEST.fullmatch(text[:LONGEST_LINE].strip()):
            name, time_text = test_match["name"], f"{test_match['time'].replace(',', '')} ns"
        elif match:
            time_text = match["time"]
        else:
            continue
        name = name.strip() or (
            texts[line_number - 2].strip()[:LONGEST_LINE] if line_number > 1 else ""
        )
        count_match = _COUNT_AT_END.search(name)
        if count_match is None or (
            count_match["noun"] and name[: count_match.start()].rstrip(" -")[-1:].isdigit()
        ):
            return []  # 4 cores/1000 counts four cores
        nouns.add((count_match["noun"] or count_match["behind"]).lower())
        stem = name[: count_match.start()].strip("/_ ")
        cells = [stem, count_match["number"] or count_match["before"], time_text]
        rows.append(_bar_line(line_number, cells))
    if len(nouns) != 1:
        return []
    return [_bar_line(rows[0][0], ["region", *nouns, "time"]), *rows]


_FRAME_HEADING = late_pattern(r"\s*Row │ (?P<names>\S.*)")
_FRAME_ROW = late_pattern(r"\s*[0-9]+ │ (?P<cells>.*)")
_FRAME_GAP = late_pattern(r"\s{2,}")


def _lines_of_julia_frame(texts: Sequence[str]) -> list[BarLine]:
    """Return the table that DataFrames of Julia print: the numbers of rows before a bar, and cells
    separated by blanks.
    """
    lines = list(enumerate(texts, 1))
    heading_line = next(
        (
            (line_number, match)
            for line_number, text in lines
            if (match := _FRAME_HEADING.fullmatch(text))
        ),
        None,
    )
    if heading_line is None:
        return []
    line_number, match = heading_line
    rows = [
        (row_number, row["cells"].strip())
        for row_number, text in lines[line_number:]
        if (row := _FRAME_ROW.fullmatch(text))
    ]
    for gap_pattern in (_FRAME_GAP, re.compile(r"\s+")):
        names = gap_pattern.split(match["names"].strip())
        split_rows = [(row_number, gap_pattern.split(row)) for row_number, row in rows]
        if split_rows and {len(cells) for _, cells in split_rows} == {len(names)}:
            return [_bar_line(line_number, names), *(_bar_line(*row) for row in split_rows)]
    return []


_NOUNS = "|".join([*sorted((word for word in PROCESSORS if len(word) > 2), key=len)[::-1], "np"])
_COUNT_AT_END = late_pattern(
    rf"(?<![A-Za-z])(?P<noun>{_NOUNS})[/=:_ ]?(?P<number>[0-9]{{1,9}})$"
    rf"|(?<![0-9])(?P<before>[0-9]{{1,9}})[ _-]?(?P<behind>{_NOUNS})$",
    re.IGNORECASE,
)
_COUNT_IN_WORDS = late_pattern(
    rf"\b(?P<before>[0-9]+)[ -]?(?P<noun>{_NOUNS})\b"
    rf"|(?<![A-Za-z])(?P<name>{_NOUNS})(?:\s*[=:]\s*|\s+)(?P<behind>[0-9]+)\b",
    re.IGNORECASE,
)
_TIME_IN_WORDS = late_pattern(
    r"(?<![\w.])(?P<value>[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)\s*"
    r"(?P<unit>ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|hours?)(?![\w/])",
    re.IGNORECASE,
)
_TIME_WITHOUT_UNIT = late_pattern(
    r"(?<=time)\s*[:=]\s*(?P<value>[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)\s*$", re.IGNORECASE
)
_ROW_OF_TABLE = late_pattern(r"[|;\t]|,\S|^\s*[0-9.]+(?:[\s,]+[0-9.]+)+\s*$")
"""What a row of a table has, and no sentence."""
_SPEEDUP_BEHIND = late_pattern(r"[(\[]\s*[0-9.]+\s*(?:x|×)[^)\]]*[)\]]", re.IGNORECASE)
"""A speed-up behind a time, which the line of one processor often lacks."""
_SERIAL_SENTENCE = late_pattern(r"\W*(?:serial|sequential)\b[^0-9]*", re.IGNORECASE)


_SIZE_NOUNS = "|".join(sorted(SIZES, key=len)[::-1])
_SIZE_IN_WORDS = late_pattern(
    rf"(?<![A-Za-z])(?:{_SIZE_NOUNS})(?:\s*[=:]\s*|\s+)(?P<behind>[0-9]+)\b(?![.\w])"
    rf"|(?<![\w.])(?P<before>[0-9]+) (?:{_SIZE_NOUNS})\b",
    re.IGNORECASE,
)
_OTHER_NUMBER = late_pattern(
    r"(?:(?<![A-Za-z])(?P<word>[A-Za-z]++)[^A-Za-z0-9]*+)?(?P<number>[0-9][0-9.,]*+)"
)


class _TimedSentence(NamedTuple):
    """A line with one time and one number of processors.

    Parameters
    ----------
    line_number : its number in the file
    words : without the time, the processors and the size
    noun : of the processors
    count_text : number of processors
    time_text : time with its unit
    size_text : size of the problem; empty if the line names none
    """

    line_number: int
    words: str
    noun: str
    count_text: str
    time_text: str
    size_text: str = ""

    @property
    def words_without_numbers(self) -> str:
        """The words of the line with a sign in place of each number. Lines of a series share it."""
        return " ".join(re.sub(r"[0-9][0-9.,]*", "#", self.words).split())

    @property
    def other_numbers(self) -> list[str]:
        """The numbers among the words; empty if they number repetitions."""
        return [
            "" if (match["word"] or "").casefold() in REPETITIONS else match["number"]
            for match in _OTHER_NUMBER.finditer(self.words)
        ]


def _parse_sentence(line_number: int, text: str) -> _TimedSentence | None:
    """Parse a line such as ``Running with 4 threads: 28.3 s``; None for other lines."""
    time_matches = list(_TIME_IN_WORDS.finditer(text)) or list(_TIME_WITHOUT_UNIT.finditer(text))
    if len(time_matches) != 1:
        return None
    time_text = " ".join(filter(None, time_matches[0].groupdict().values()))
    text_without_time = f"{text[: time_matches[0].start()]}#{text[time_matches[0].end() :]}"
    count_matches = list(_COUNT_IN_WORDS.finditer(text_without_time))
    if not count_matches and _SERIAL_SENTENCE.fullmatch(text[: time_matches[0].start()]):
        return _TimedSentence(line_number, "", "", "serial", time_text)
    if len(count_matches) != 1 or _names_one_processor(count_matches[0]):
        return None
    noun = (count_matches[0]["noun"] or count_matches[0]["name"]).lower()
    plural = f"{noun}es" if noun.endswith("ss") else f"{noun.removesuffix('s')}s"
    words = _SPEEDUP_BEHIND.sub(
        "",
        f"{text_without_time[: count_matches[0].start()]}#"
        f"{text_without_time[count_matches[0].end() :]}",
    )
    size_matches = list(_SIZE_IN_WORDS.finditer(words))
    size_text = (
        (size_matches[0]["before"] or size_matches[0]["behind"]) if len(size_matches) == 1 else ""
    )
    words = _SIZE_IN_WORDS.sub("#", words) if size_text else words
    count_text = count_matches[0]["before"] or count_matches[0]["behind"]
    return _TimedSentence(line_number, words, plural, count_text, time_text, size_text)


def _names_one_processor(count_match: re.Match[str]) -> bool:
    """Return whether a number behind a noun in the singular names one processor, as in thread 3."""
    name = (count_match["name"] or "").casefold()
    return f"{name}s" in PROCESSORS or f"{name}es" in PROCESSORS


def _sentences_in(texts: Sequence[str]) -> list[_TimedSentence]:
    """Return the sentences of a text without a table in which every line with a time is one; else
    none.
    """
    if len(texts) > MOST_SENTENCES or any(map(_ROW_OF_TABLE.search, texts)):
        return []
    texts = _with_counts_above_times(texts)
    timed_lines = [
        (line_number, text)
        for line_number, text in enumerate(texts, 1)
        if len(text) < LONGEST_LINE
        and (_TIME_IN_WORDS.search(text) or _TIME_WITHOUT_UNIT.search(text))
    ]
    sentences_of_lines = [_parse_sentence(line_number, text) for line_number, text in timed_lines]
    sentences = [sentence for sentence in sentences_of_lines if sentence]
    return sentences if len(sentences) == len(sentences_of_lines) else []


def _with_counts_above_times(texts: Sequence[str]) -> Sequence[str]:
    """Return lines in which each line with a time also has the number of processors from the line
    above it. Return the lines unchanged if one has both already, or if not exactly one time
    follows a number.
    """
    joined_lines, count_line, has_time = list(texts), "", True
    for index, text in enumerate(texts):
        text = text[:LONGEST_LINE]
        time_matches = [*_TIME_IN_WORDS.finditer(text)] or [*_TIME_WITHOUT_UNIT.finditer(text)]
        count_matches = list(_COUNT_IN_WORDS.finditer(text))
        if time_matches and (count_matches or has_time):
            return texts
        if time_matches:
            joined_lines[index], has_time = f"{count_line}: {text}", True
        elif count_matches:
            if not has_time or len(count_matches) > 1:
                return texts
            count_line, has_time = text.strip(), False
    return joined_lines if has_time else texts


def line_of_count_without_time(texts: Sequence[str]) -> int:
    """Return the number of the first line with a processor count that has no time before the next
    count, if other counts have times; 0 if there is none.
    """
    count_line_count, lines_without_time, has_times = 0, list[int](), False
    waiting_line = 0
    for line_number, text in enumerate(texts[:MOST_SENTENCES], 1):
        text = text[:LONGEST_LINE]
        has_time = bool(_TIME_IN_WORDS.search(text) or _TIME_WITHOUT_UNIT.search(text))
        if _COUNT_IN_WORDS.search(text):
            lines_without_time += [waiting_line] if waiting_line else []
            count_line_count, waiting_line = count_line_count + 1, 0 if has_time else line_number
        elif has_time:
            has_times, waiting_line = True, 0
    lines_without_time += [waiting_line] if waiting_line else []
    most_have_times = 0 < len(lines_without_time) < count_line_count
    return lines_without_time[0] if has_times and most_have_times else 0


def _lines_of_sentences(texts: Sequence[str]) -> list[BarLine]:
    """Return a table of sentences that differ in their numbers alone; a line that begins with
    ``Serial`` is one of one processor.
    """
    sentences = _sentences_in(texts)
    nouns = {sentence.noun for sentence in sentences} - {""}
    processor_texts = {sentence.count_text for sentence in sentences}
    have_size = {bool(sentence.size_text) for sentence in sentences if sentence.noun}
    if len(nouns) != 1 or len(processor_texts) < 2 or len(kinds_of_sentences(texts)) != 1:
        return []
    if have_size != {True}:
        rows = [
            _bar_line(sentence.line_number, [sentence.count_text, sentence.time_text])
            for sentence in sentences
        ]
        return [_bar_line(sentences[0].line_number, [*nouns, "time"]), *rows]
    rows = [
        _bar_line(
            sentence.line_number, [sentence.count_text, sentence.size_text, sentence.time_text]
        )
        for sentence in sentences
    ]
    return [_bar_line(sentences[0].line_number, [*nouns, "n", "time"]), *rows]


def kinds_of_sentences(texts: Sequence[str]) -> list[str]:
    """Return the words of the sentences with times, each kind once: without their numbers, or with
    them if sentences with different numbers tell of the same processors, as of two problems.
    """
    sentences = [sentence for sentence in _sentences_in(texts) if sentence.noun]
    different_words = list(dict.fromkeys(sentence.words_without_numbers for sentence in sentences))
    if len(different_words) != 1 or not _have_varied_number(sentences):
        return different_words
    return list(dict.fromkeys(" ".join(sentence.words.split()) for sentence in sentences))


def _have_varied_number(sentences: Sequence[_TimedSentence]) -> bool:
    """Return whether a number among the words has several values, each with several numbers of
    processors.
    """
    for numbers in zip(*(sentence.other_numbers for sentence in sentences), strict=True):
        counts_by_number: dict[str, set[str]] = {}
        for number, sentence in zip(numbers, sentences, strict=True):
            counts_by_number.setdefault(number, set()).add(sentence.count_text)
        if len(counts_by_number) > 1 and min(map(len, counts_by_number.values())) > 1:
            return True
    return False


def cut_criterion_rows(texts: Sequence[str]) -> list[BarLine]:
    """Return the rows of Criterion that end within their times, each with what names it."""
    lines = enumerate(texts[:MOST_RECORD_LINES], 1)
    return [
        (
            line_number,
            " ".join(match[1].split()) or texts[max(line_number - 2, 0)].strip()[:LONGEST_LINE],
        )
        for line_number, text in lines
        if (match := _CUT_CRITERION_ROW.fullmatch(text[:LONGEST_LINE]))
    ]


def go_benchmarks_with_parts(texts: Sequence[str]) -> list[BarLine]:
    """Return the first line with a part of a benchmark of Go whose name ends with a number, and the
    name: the number may belong to it.
    """
    matches = (
        (line_number, _GO_BENCHMARK.fullmatch(text.strip()))
        for line_number, text in enumerate(texts[:MOST_RECORD_LINES], 1)
    )
    return [
        (line_number, match["name"])
        for line_number, match in matches
        if match and match["count"] and "/" in match["name"]
    ][:1]


def _indented_lines(texts: Sequence[str], start: int, depth: int) -> Iterator[BarLine]:
    """Yield the nonempty lines from an index on that are indented by more than `depth` blanks."""
    for line_number, text in enumerate(texts[start:], start + 1):
        if text.strip() and len(text) - len(text.lstrip()) <= depth:
            return
        if text.strip():
            yield line_number, text
