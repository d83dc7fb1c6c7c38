"""The Java Microbenchmark Harness, JMH: its JSON, its CSV and the table that it prints.

A benchmark is a region, with the parameters that count neither processors nor a size. A throughput
is that of all threads. A mean time is that of an operation of one thread: where threads are more,
every thread does operations of its own meanwhile. Each iteration that JSON holds is a repetition;
iterations to warm up are in no result.

Formats: JMH 1.0 to 1.37, ``-rf json`` (benchmark, mode, threads, params, primaryMetric), ``-rf
csv`` and the table at the end of what it prints, whose columns from 0.1 on are told by their
headings. The table has no threads: they are in the lines that begin with #, if the file has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.benchmarks import coordinates_of, line_of_first_number
from slipstick_measure.readers.names import LOADS, PROCESSORS, plain_words
from slipstick_measure.readers.reading import (
    FileFormat,
    JsonNumber,
    Reading,
    parse_json,
    rows_of_csv,
)

MODES = ("thrpt", "avgt", "sample", "ss")
"""The modes of JMH, in the order in which one is taken of a benchmark that has several."""

_TABLE = late_pattern(r"\s*Benchmark\s.*\bMode\b.*\bUnits?\s*")
_CSV = late_pattern(r'\A\ufeff?"?Benchmark"?,"?Mode"?,"?Threads"?,', re.IGNORECASE)
_PARAMETER = late_pattern(r"\((?P<name>[^()]*)\)|Param: (?P<of_csv>.*)")
_THREADS = late_pattern(r"# Threads: ([0-9]+) threads?\b.*")
_BENCHMARK = late_pattern(r"# Benchmark: (\S+)\s*")
_MAGNITUDE = "≈"
_THREADS_PARAMETER = "threads"


class _JmhResult(NamedTuple):
    """A result of JMH: the benchmark, its mode and parameters, the number of threads (empty if
    unknown), the scores with their unit, and the line.
    """

    benchmark: str
    mode: str
    parameters: Mapping[str, Any]
    threads: str
    scores: Sequence[Any]
    unit: str
    line: int


def is_jmh_json(input_file: Reading) -> bool:
    """Return whether a file is what JMH writes as JSON."""
    return input_file.text.lstrip()[:1] == "[" and '"primaryMetric"' in input_file.text


def is_jmh_text(input_file: Reading) -> bool:
    """Return whether a file holds the table that JMH prints, or its CSV."""
    return bool(_CSV.match(input_file.text)) or any(map(_TABLE.fullmatch, input_file.lines))


def _read_json(input_file: Reading) -> Measurements:
    """Read the results in the JSON of JMH; each iteration has a score."""
    document = parse_json(input_file, input_file.text)
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        input_file.refuse(1, "", "JMH writes a list of objects")
    results = list[_JmhResult]()
    part_count = 0
    for result in document:
        metric_fields = result.get("primaryMetric")
        metric_fields = metric_fields if isinstance(metric_fields, dict) else {}
        part_count += len(result.get("secondaryMetrics") or {})
        forks = metric_fields.get("rawData") or []
        scores = [score for fork in forks if isinstance(fork, list) for score in fork]
        results.append(
            _JmhResult(
                str(result.get("benchmark", "")),
                str(result.get("mode", "")),
                result.get("params") or {},
                str(result.get("threads", "")),
                scores or [metric_fields.get("score", "")],
                str(metric_fields.get("scoreUnit", "")),
                line_of_first_number(metric_fields) or line_of_first_number(result) or 1,
            )
        )
    return _as_measurements(input_file, results, part_count)


def _read_text(input_file: Reading) -> Measurements:
    """Read the results in the table or the CSV of JMH."""
    results = list(
        _csv_results(input_file) if _CSV.match(input_file.text) else _table_results(input_file)
    )
    whole_results = [row for row in results if not re.search("[:·]", row.benchmark)]
    return _as_measurements(input_file, whole_results, len(results) - len(whole_results))


def _csv_results(input_file: Reading) -> Iterator[_JmhResult]:
    """Yield the results in the CSV of JMH."""
    for line, cell_by_name in rows_of_csv(input_file, input_file.text):
        cell_by_lower_name = {name.casefold(): value for name, value in cell_by_name.items()}
        parameters = {
            match["of_csv"]: value
            for name, value in cell_by_name.items()
            if (match := _PARAMETER.fullmatch(name)) and match["of_csv"] and value
        }
        score, unit = cell_by_lower_name.get("score", ""), cell_by_lower_name.get("unit", "")
        name, mode, threads = (cell_by_lower_name[key] for key in ("benchmark", "mode", "threads"))
        yield _JmhResult(name, mode, parameters, threads, [score], unit, line)


def _table_results(input_file: Reading) -> Iterator[_JmhResult]:
    """Yield the results in the tables that JMH prints, each with the number of threads of the runs
    that are printed above its table.

    Columns are told from the right: units, an error, a score, how many samples; between the name
    and the mode stand the parameters, one word each.
    """
    heading = list[str]()
    thread_counts_by_benchmark: dict[str, set[str]] = {}
    benchmark = thread_count = ""
    for line, text in enumerate(input_file.lines, 1):
        if match := _THREADS.fullmatch(text):
            thread_count = match[1]
        elif match := _BENCHMARK.fullmatch(text):
            benchmark = match[1]
            if heading:  # the runs before it were of another table
                heading, thread_counts_by_benchmark = [], {}
            thread_counts_by_benchmark.setdefault(benchmark, set()).add(thread_count)
        elif _TABLE.fullmatch(text):
            heading = text.split()
        elif heading and _has_mode_of_heading(text.split(), heading):
            cells = _cells_of_whole_row(text)
            if not cells:
                input_file.add_note(line, "", "the row is cut before its unit, and is left out")
                continue
            yield _table_result(input_file, line, heading, cells, thread_counts_by_benchmark)
        elif heading and text.strip() and line == len(input_file.lines):
            input_file.add_note(line, "", "the last line is no whole row, and is left out")


def _cells_of_whole_row(text: str) -> list[str]:
    """Return the words of a row without the sign before its error; empty for lines that are no
    whole row.
    """
    words = text.replace(_MAGNITUDE + " ", _MAGNITUDE).replace("±", " ").split()
    cells = [word for word in words if word != "\ufffd"]
    return cells if len(cells) >= 4 and "/" in cells[-1] else []


def _has_mode_of_heading(cells: Sequence[str], heading: Sequence[str]) -> bool:
    """Return whether the cells of a line have a mode where the heading has it."""
    mode_index = 1 + sum(bool(_PARAMETER.fullmatch(heading_text)) for heading_text in heading)
    return mode_index < len(cells) and cells[mode_index] in MODES


def _table_result(
    input_file: Reading,
    line: int,
    heading: Sequence[str],
    cells: Sequence[str],
    thread_counts_by_benchmark: Mapping[str, set[str]],
) -> _JmhResult:
    """Return the result in a row of a table."""
    parameter_names = [
        heading_text[1:-1] for heading_text in heading if _PARAMETER.fullmatch(heading_text)
    ]
    name, parameter_values, mode = (
        cells[0],
        cells[1 : 1 + len(parameter_names)],
        cells[1 + len(parameter_names)],
    )
    headings_after_mode = [
        heading_text for heading_text in heading[1:] if not _PARAMETER.fullmatch(heading_text)
    ][1:]
    count_headings = [
        heading_text
        for heading_text in headings_after_mode
        if heading_text in ("Cnt", "Samples", "Thr", "Count", "Sec")
    ]
    number_cells = cells[2 + len(parameter_names) : -1]
    # Counts are whole and scores have decimals; some rows have no counts.
    score_index = next(
        (cell_index for cell_index, cell in enumerate(number_cells) if not cell.isdecimal()),
        len(number_cells),
    )
    score = number_cells[score_index] if score_index < len(number_cells) else ""
    parameters = {
        parameter: value
        for parameter, value in zip(parameter_names, parameter_values, strict=True)
        if value != "N/A"
    }
    count_text = ""
    if "Thr" in count_headings and score_index == len(count_headings):
        count_text = number_cells[count_headings.index("Thr")]
    elif thread_counts := {
        thread_count
        for benchmark, counts_of_benchmark in thread_counts_by_benchmark.items()
        if f".{benchmark}".endswith(f".{name.partition(':')[0]}")
        for thread_count in counts_of_benchmark
    }:
        if len(thread_counts) > 1:
            message = "ran with several numbers of threads, which its table does not tell apart"
            input_file.refuse(line, name, f"{message}; let JMH write JSON: -rf json -rff FILE")
        count_text = thread_counts.pop()
    return _JmhResult(
        name, mode, parameters, count_text, [score.replace(",", ".")], cells[-1], line
    )


def _as_measurements(
    input_file: Reading, rows: Sequence[_JmhResult], part_count: int
) -> Measurements:
    """Return results of JMH as measurements.

    Parameters
    ----------
    part_count : number of results of parts of a benchmark, of percentiles and of profilers, which a
        note mentions
    """
    if part_count:
        message = f"{part_count} results of parts, percentiles and profilers are left out"
        message += "" if rows else "; keep the row of the whole benchmark, too"
        input_file.add_note(1, "benchmark", message)
    mode_by_benchmark = {
        name: min((row.mode for row in rows if row.benchmark == name), key=_rank_of_mode)
        for name in dict.fromkeys(row.benchmark for row in rows)
    }
    rows_of_chosen_modes = [row for row in rows if row.mode == mode_by_benchmark[row.benchmark]]
    if len(rows_of_chosen_modes) < len(rows):
        message = (
            f"{len(rows) - len(rows_of_chosen_modes)} results in other modes of the same benchmarks"
            " are left out"
        )
        input_file.add_note(1, "mode", message)
    have_several_threads = any(row.threads not in ("", "1") for row in rows_of_chosen_modes)
    repetition_count_by_run: dict[Any, int] = {}
    for row in rows_of_chosen_modes:
        # Threads that the benchmark starts itself are a parameter; JMH then counts one.
        is_counted_by_jmh = bool(row.threads) and (
            have_several_threads or not any(map(_counts_processors_or_users, row.parameters))
        )
        parameters = _parameters_with_threads(input_file, row, is_counted_by_jmh)
        region = (
            _name_without_package(row.benchmark, mode_by_benchmark)[:200]
            if len(mode_by_benchmark) > 1
            else ""
        )
        coordinates = coordinates_of(input_file, row.line, parameters, region)
        if coordinates is None:
            continue
        for score in row.scores:
            if str(score).startswith(_MAGNITUDE):
                message = (
                    f"{row.benchmark[:80]} is left out: only its order of magnitude is printed"
                )
                input_file.add_note(row.line, "score", f"{message}; print a smaller unit: -tu ns")
                continue
            repetition = repetition_count_by_run[coordinates] = (
                repetition_count_by_run.get(coordinates, 0) + 1
            )
            coordinates_of_score = coordinates._replace(repetition=repetition)
            line = score.line if isinstance(score, JsonNumber) else row.line
            if row.mode == "thrpt":
                input_file.add(line, coordinates_of_score, "throughput", str(score), row.unit)
            else:
                metric = "cycle" if have_several_threads and is_counted_by_jmh else "time"
                input_file.add(
                    line, coordinates_of_score, metric, str(score), row.unit.removesuffix("/op")
                )
    return input_file.finished()


def _parameters_with_threads(
    input_file: Reading, row: _JmhResult, is_counted_by_jmh: bool
) -> dict[str, Any]:
    """Return the parameters of a result, including the threads that JMH counts; raise if the number
    of threads is ambiguous or unknown.
    """
    parameters = dict(row.parameters)
    if is_counted_by_jmh and _THREADS_PARAMETER in parameters:
        message = (
            "the parameter threads and JMH both count threads; keep the runs of one of the two"
        )
        input_file.refuse(row.line, _THREADS_PARAMETER, message)
    if is_counted_by_jmh:
        parameters[_THREADS_PARAMETER] = row.threads
    hints = input_file.hints
    if (
        not any(map(_counts_processors_or_users, parameters))
        and hints.processors is None
        and not hints.columns
    ):
        message = (
            "the table does not say how many threads ran; write --processors N, or let JMH write"
            " JSON: -rf json -rff FILE"
        )
        input_file.refuse(row.line, "", message)
    return parameters


def _name_without_package(benchmark: str, other_names: Iterable[str]) -> str:
    """Return the name of a benchmark without the package and the class that all have in common."""
    parts_by_level = zip(*(name.split(".")[:-1] for name in other_names), strict=False)
    common_level_count = sum(
        1 for _ in takewhile(lambda names: len(set(names)) == 1, parts_by_level)
    )
    return ".".join(benchmark.split(".")[common_level_count:])


def _rank_of_mode(mode: str) -> int:
    """Return the index of a mode in the order of preference."""
    return MODES.index(mode) if mode in MODES else len(MODES)


def _counts_processors_or_users(name: str) -> bool:
    """Return whether a parameter counts processors or users."""
    return plain_words(name) in (*PROCESSORS, *LOADS)


FORMATS = (
    FileFormat("jmh", is_jmh_json, _read_json),
    FileFormat("jmh-text", is_jmh_text, _read_text),
)
