"""Load tests: tables with users or rates, and the outputs of load generators.

Generators print one test each: wrk and wrk2, ab, hey, oha and ghz (also as JSON), vegeta,
bombardier, Gatling, k6 (its summary as text or JSON), sysbench, pgbench, those of `generators`, and
Locust's CSV and JMeter's aggregate report; fio one for each group of jobs, and JMeter's samples one
for each number of threads (`jmeter`). Several files make one load test. The number of users is that
of connections, clients, threads or jobs; where it is not printed, it is told. Outputs are also read
as people paste them: without their first lines, indented, after the command that was given.
Requests that failed are counted by each generator in its own way: the line that tells of them
becomes a note.

Formats: as printed by wrk 4.1, ab 2.3, hey 0.1.4, oha 1.4 and ghz 0.117 (their JSON as
in oha's schema.json and ghz's Report), sysbench 0.4.12 and 1.0.20, pgbench 9.4 to 15 and
fio 2.2 and 3.33; k6's end-of-test summary (its documentation), Locust's requests CSV
(locust/stats.py) and JMeter's aggregate report (its user manual).
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from slipstick.errors import SpecError, short
from slipstick.late import late_pattern
from slipstick_measure.loads import LoadRow, LoadTest
from slipstick_measure.readers.cells import (
    bare_cell,
    is_missing,
    number_in,
    split_amount,
    split_value,
    whole_number,
)
from slipstick_measure.readers.columns import (
    MULTIPLE_TOLERANCE,
    TableColumn,
    heading_of_model_parameter,
)
from slipstick_measure.readers.fio import FIO_TEXT, read_fio, read_fio_text
from slipstick_measure.readers.generators import FURTHER_GENERATORS, refuse_several_tests
from slipstick_measure.readers.grid import (
    LINES_TO_RECOGNIZE,
    CellGrid,
    table_of_file,
    with_decimal_points,
)
from slipstick_measure.readers.jmeter import (
    JTL_HEAD,
    K6_POINTS,
    LARGEST_FAILED_SHARE,
    LEAST_SHARE_OF_LOAD,
    SUMMARY,
    read_jtl,
    read_k6_points,
    read_statistics,
    read_summary,
)
from slipstick_measure.readers.load_patterns import (
    SECONDS,
    LoadFormat,
    LoadReader,
    first_match,
    line_pattern,
    number_of_match,
    parse_quantiles,
    parse_time,
)
from slipstick_measure.readers.markup import bar_lines
from slipstick_measure.readers.names import LOADS, RATES, SUMMARIES, plain_words, rate_unit
from slipstick_measure.readers.reading import NUMBER, Reading, time_of_unit

_RESPONSE_HEADINGS = (
    *("response time", "response", "latency", "mean latency", "avg latency", "average latency"),
    *("mean response time", "average response time", "avg response time", "average", "mean", "avg"),
    *(
        "lat",
        "lat avg",
        "avg lat",
        "mean lat",
        "rt",
        "resp time",
        "mean time",
        "latency avg",
        "latency mean",
        "average time",
        "time per request",
        "mean time per request",
        "http req duration avg",
        "antwortzeit",
        "mittlere antwortzeit",
        "temps de réponse",
        "temps de réponse moyen",
        "响应时间",
        "平均响应时间",
        "r",
    ),
)
_MEAN_RESPONSE = late_pattern(
    r"(?:mean|avg|average) (?:response|latency|resp|rt)(?: times?)?|(?:response|latency)(?: time)?"
    r" (?:mean|avg|average)|(?:request|query|transaction) (?:latency|response time)"
)
_OFFERED_RATE_HEADINGS = (
    *("rate", "arrival rate", "offered rate", "offered load", "offered", "arrivals", "lambda"),
    *("target rate", "target rps", "target", "requested rate", "load"),
)
_QUANTILE_HEADING = late_pattern(
    r"(?:(?:latency|lat|response time) )?(?:p ?(?P<p>\d{1,2}(?:[ .]\d+)?)"
    r"|(?P<th>\d{1,2})(?:th|%ile|%)"
    r"(?: ?(?:percentile|%ile|line|pct))?|(?P<median>median))(?: (?:latency|lat|response time))?"
)
_NOT_COMPLETED = late_pattern(r"(?:^| )(?:err|error|fail|reject|drop|timeout|max|peak|std)|^min\b")
"""Words of rates that are not those of completed requests."""
_PREFIXES_ALONE = ("k", "K", "M")
"""Units of a throughput that is written without requests, as in RPS (k)."""
_UTILIZATION_HEADING = late_pattern(
    r"(?:(?P<before>.+?) )?(?:cpu|util|utilization|utilisation|busy)"
    r"(?: (?:util|utilization|usage|%|pct|percent))*(?: (?P<after>[a-z]\w*))?"
    r"(?: ?%| pct| percent)?"
)
_UTILIZATION_OF_TIER = late_pattern(
    r"(?:cpu|util|utili[sz]ation|busy)(?: usage| util| load)? ?[\[(] ?(?P<tier>[a-z][\w-]*+) ?[\])]"
    r"(?: ?[\[(]?%[\])]?)?",
    re.IGNORECASE,
)
"""A utilization with its tier in brackets, such as CPU(web)."""
_WORDS_OF_NO_TIER = frozenset(
    {"cores", "core", "count", "number", "n", "threads", "s", "sec", "seconds", "ms", "us", "ns"}
    | {"min", "h", "pct", "percent", "avg", "mean", "total", "max", "mhz", "ghz", "busy", "used"}
)
"""Words in brackets behind a utilization or a number of processors that name no tier."""


class _LoadColumn(NamedTuple):
    """The meaning of a column of a load test: its kind (users, rate, throughput, response,
    quantile, or busy for a utilization), its name, and the unit of its heading.
    """

    kind: str
    name: str
    unit: str | None


def _classify_column(column: TableColumn) -> _LoadColumn | None:
    """Return the quantity that a column of a load test holds, by its heading; None if the heading
    is not known.
    """
    if tier := _tier_in_brackets(column):
        return _LoadColumn("busy", tier, "%" if "%" in column.heading else None)
    name = re.sub(r"[\[(].*", "", column.words).strip()
    if name in LOADS and name not in ("load",):
        return _LoadColumn("users", name, None)
    if match := _QUANTILE_HEADING.fullmatch(name.replace("_", " ")):
        digits = (match["p"] or match["th"] or "50").replace(" ", ".")
        return _LoadColumn("quantile", f"{float(digits) / 100:.12g}", column.unit)
    match = _UTILIZATION_HEADING.fullmatch(name.removeprefix("% "))
    if match and match["after"] != "time" and not column.has_time_unit:
        unit = "%" if re.search(r"pct|percent", name) else column.unit
        return _LoadColumn("busy", match["before"] or match["after"] or "cpu", unit)
    is_rate = column.unit is not None and rate_unit(column.unit) is not None
    if not is_rate and (
        name in _RESPONSE_HEADINGS
        or (column.kind == "time" and "response" in name)
        or _MEAN_RESPONSE.fullmatch(name)
    ):
        return _LoadColumn("response", name, column.unit)
    if name in _OFFERED_RATE_HEADINGS:
        return _LoadColumn("rate", name, column.unit)
    is_throughput = column.kind == "rate" or name in RATES
    if not is_throughput or column.is_per_processor or _NOT_COMPLETED.search(name):
        return None
    unit = f"{column.unit}/s" if column.unit in _PREFIXES_ALONE else column.unit
    return _LoadColumn("throughput", name, unit or column.heading)


def _tier_in_brackets(column: TableColumn) -> str:
    """Return the tier that stands in brackets behind its utilization; empty for other columns."""
    match = _UTILIZATION_OF_TIER.fullmatch(column.heading.strip().replace("_", " "))
    tier = match["tier"] if match else ""
    return "" if tier.casefold() in _WORDS_OF_NO_TIER else tier


def _load_columns_by_index(grid: CellGrid) -> dict[int, _LoadColumn]:
    """Return the meaning of the columns of a load test, by index; empty for tables of runs on
    processors and for data of a model.
    """
    columns = [TableColumn.of(index, text, []) for index, text in enumerate(grid.heading)]
    load_column_by_index = {
        column.index: load_column
        for column in columns
        if (load_column := _classify_column(column)) is not None
    }
    has_processors = any(
        column.kind == "p" and not _tier_in_brackets(column) and not _has_percent(grid, column)
        for column in columns
    )
    if heading_of_model_parameter(columns):
        return {}
    return (
        _with_threads_as_users(grid, columns, load_column_by_index)
        if has_processors
        else load_column_by_index
    )


_WORDS_OF_CLIENTS = ("threads", "thread", "workers", "worker")
_LITTLE_TOLERANCE = 0.1


def _with_threads_as_users(
    grid: CellGrid, columns: Sequence[TableColumn], load_column_by_index: Mapping[int, _LoadColumn]
) -> dict[int, _LoadColumn]:
    """Return the columns of a load test whose threads are its users: in every row they are the
    throughput times the mean latency (Little's law). Return no columns if no throughput of requests
    fulfills that, so that the threads are processors.
    """
    thread_indices = [column.index for column in columns if column.words in _WORDS_OF_CLIENTS]
    latency_indices = [
        index
        for index, column in load_column_by_index.items()
        if column.kind == "response" and re.search("latency|response", column.name)
    ]
    rate_indices = [
        index for index, column in load_column_by_index.items() if column.kind == "throughput"
    ]
    if len(thread_indices) != 1 or len(latency_indices) != 1:
        return {}
    latency_unit = time_of_unit(load_column_by_index[latency_indices[0]].unit or "")[0]
    for rate_index in rate_indices:
        unit_of_rate = rate_unit(load_column_by_index[rate_index].unit or "1/s")
        rate_factor = float(unit_of_rate.factor) if unit_of_rate else 1.0
        users_rates_and_latencies = [
            [
                number_in(cells[index])
                for index in (thread_indices[0], rate_index, latency_indices[0])
            ]
            for _, cells in grid.rows
            if len(cells) == len(grid.heading)
            and not any(is_missing(cells[index]) for index in (rate_index, latency_indices[0]))
        ]
        if len(users_rates_and_latencies) > 1 and all(
            users
            and rate
            and latency
            and abs(rate * rate_factor * latency * SECONDS.get(latency_unit, 0.0) - users)
            <= _LITTLE_TOLERANCE * users
            for users, rate, latency in users_rates_and_latencies
        ):
            left_out_indices = {index for index in rate_indices if index != rate_index}
            kept_columns = {
                index: column
                for index, column in load_column_by_index.items()
                if index not in left_out_indices
            }
            users_column = _LoadColumn("users", grid.heading[thread_indices[0]], None)
            return {thread_indices[0]: users_column, **kept_columns}
    return {}


def _one_column_of_each_kind(
    input_file: Reading, grid: CellGrid, load_column_by_index: Mapping[int, _LoadColumn]
) -> dict[int, _LoadColumn]:
    """Return the columns of a load test, by index, with at most one column each of users, rates,
    response times and throughputs. A response time with a unit has precedence, and requests have
    precedence over bytes; bytes are left out beside users and response times, which are of
    requests.

    Raises
    ------
    SpecError : several throughputs of requests, none of which is the total
    """
    index_by_kind = dict[str, int]()
    throughput_indices_by_work = dict[str, list[int]](bytes=[], requests=[])
    for index, column in sorted(
        load_column_by_index.items(), key=lambda item: item[1].unit is None
    ):
        if column.kind == "throughput":
            unit = rate_unit(column.unit or "")
            is_of_bytes = unit is not None and unit.base_unit == "B/s"
            throughput_indices_by_work["bytes" if is_of_bytes else "requests"].append(index)
        elif column.kind in ("users", "rate", "response"):
            index_by_kind.setdefault(column.kind, index)
    if request_indices := sorted(throughput_indices_by_work["requests"]):
        index_by_kind["throughput"] = _total_throughput_index(input_file, grid, request_indices)
    elif throughput_indices_by_work["bytes"] and not {"users", "response"} <= index_by_kind.keys():
        index_by_kind["throughput"] = min(throughput_indices_by_work["bytes"])
    return {
        index: column
        for index, column in load_column_by_index.items()
        if column.kind in ("quantile", "busy") or index in index_by_kind.values()
    }


def _total_throughput_index(input_file: Reading, grid: CellGrid, indices: Sequence[int]) -> int:
    """Return the index of the column of throughputs that is the sum of the others, or of one of
    equal columns; raise for other sets of columns, such as the throughputs of reads and of writes.
    """
    total_by_index = {
        index: sum(
            number_in(split_amount(cells[index])[0]) or 0.0
            for _, cells in grid.rows
            if index < len(cells)
        )
        for index in indices
    }
    largest_index = max(indices, key=lambda index: total_by_index[index])
    other_totals = [
        column_total for index, column_total in total_by_index.items() if index != largest_index
    ]
    if other_totals and all(
        abs(other_total - total_by_index[largest_index])
        > MULTIPLE_TOLERANCE * total_by_index[largest_index]
        for other_total in (*other_totals, sum(other_totals))
    ):
        headings = " or ".join(grid.heading[index] for index in indices)
        reason = f"which column is the throughput, {headings}? take the others out of the file"
        input_file.refuse(grid.line, grid.heading[indices[1]], reason)
    return largest_index


def _has_percent(grid: CellGrid, column: TableColumn) -> bool:
    """Return whether a column holds percentages, as a column `cpu` of utilizations does."""
    return any("%" in cells[column.index] for _, cells in grid.rows if column.index < len(cells))


def is_load_table(input_file: Reading) -> bool:
    """Return whether a table has response times or utilizations beside users, a rate or a
    throughput.
    """
    try:
        grid = table_of_file(
            Reading(input_file.file, input_file.text, input_file.hints), LINES_TO_RECOGNIZE
        )
    except SpecError:
        return False  # of quotes that do not end, which the reader of tables says
    if "time_unit" in grid.heading:
        return False  # of Google Benchmark, whose rates are those of functions and not of a load
    column_kinds = {load_column.kind for load_column in _load_columns_by_index(grid).values()}
    return bool(column_kinds & {"users", "rate", "throughput"}) and bool(
        column_kinds & {"response", "quantile", "busy"}
    )


def read_load_table(input_file: Reading) -> LoadTest:
    """Read a table with a row for each load.

    Raises
    ------
    SpecError : everything that is wrong, by line
    """
    grid = with_decimal_points(input_file, table_of_file(input_file))
    load_column_by_index = _one_column_of_each_kind(input_file, grid, _load_columns_by_index(grid))
    _check_one_test(input_file, grid, load_column_by_index)
    rows = list[LoadRow]()
    for line, cells in grid.rows:
        if len(cells) != len(grid.heading):
            input_file.add_problem(
                line, "", f"{len(cells)} values, where the header promises {len(grid.heading)}"
            )
            continue
        users_index = next(
            (index for index, column in load_column_by_index.items() if column.kind == "users"),
            None,
        )
        if rows and users_index is not None and plain_words(cells[users_index]) in SUMMARIES:
            input_file.add_note(line, cells[users_index], "sums up the rows above, and is left out")
            continue
        rows.append(_row_of_cells(input_file, line, cells, load_column_by_index))
    columns_in_words = ", ".join(
        f"{_MEANINGS.get(column.kind, column.kind)}"
        f"{f' of {column.name}' if column.kind == 'busy' else ''} = {grid.heading[index]}"
        for index, column in load_column_by_index.items()
    )
    left_out_headings = [
        text for index, text in enumerate(grid.heading) if index not in load_column_by_index
    ]
    left_out_in_words = f"; left out: {', '.join(left_out_headings)}" if left_out_headings else ""
    input_file.add_note(
        grid.line, "columns", f"read as a load test: {columns_in_words}{left_out_in_words}"
    )
    return _load_test_of_rows(input_file, rows)


def _check_one_test(
    input_file: Reading, grid: CellGrid, load_column_by_index: Mapping[int, _LoadColumn]
) -> None:
    """Raise if rows have no load and differ in a name, because they are of different tests."""
    if {column.kind for column in load_column_by_index.values()} & {"users", "rate"} or len(
        grid.rows
    ) < 2:
        return
    for index, heading in enumerate(grid.heading):
        cells = [row[index] for _, row in grid.rows if index < len(row)]
        if (
            index not in load_column_by_index
            and len(different_cells := list(dict.fromkeys(cells))) > 1
            and not any(NUMBER.fullmatch(bare_cell(cell)) for cell in cells)
        ):
            reason = (
                f"the rows have no users and no rate, and differ by {short(heading)}"
                f" ({short(different_cells[0])}, {short(different_cells[1])}, ...): they are of"
                " different tests; keep those of one, with a column of users"
            )
            input_file.refuse(grid.line, heading, reason)


_MEANINGS = {"busy": "utilization", "response": "mean response time", "rate": "rate offered"}


def _row_of_cells(
    input_file: Reading,
    line: int,
    cells: Sequence[str],
    load_column_by_index: Mapping[int, _LoadColumn],
) -> LoadRow:
    """Return a row of a table as a row of a load test, in base units."""
    value_by_kind: dict[str, float] = {}
    quantiles: dict[float, float] = {}
    utilization_by_tier: dict[str, float] = {}
    for index, column in load_column_by_index.items():
        text = bare_cell(cells[index])
        if is_missing(text):
            continue
        number_text, unit, _ = split_value(text)
        number_text = whole_number(text) if column.kind == "users" else number_text
        if column.kind in ("rate", "throughput"):
            number_text, unit = split_amount(text)
        if column.kind == "users" and number_text.isalpha():
            message = f"{short(number_text)} is not a number; take out rows that are no test"
            input_file.add_problem(line, column.name, message)
            continue
        value = input_file.number(line, column.name, number_text)
        if value is None:
            continue
        if value < 0:
            input_file.add_problem(line, column.name, f"must be at least 0; got {text}")
        elif column.kind == "users":
            value_by_kind["users"] = value
        elif column.kind == "busy":
            utilization = (
                value / 100
                if (unit or column.unit or "%") == "%"
                and _is_in_percent(cells, index, load_column_by_index, value)
                else value
            )
            utilization_by_tier[column.name] = utilization
        elif column.kind in ("rate", "throughput"):
            unit_of_rate = rate_unit(unit or column.unit or "1/s")
            value_by_kind[column.kind] = value * float(unit_of_rate.factor if unit_of_rate else 1)
        else:
            seconds = _seconds_of_value(input_file, line, column.name, value, unit or column.unit)
            if column.kind == "quantile":
                quantiles[float(column.name)] = seconds
            else:
                value_by_kind["response"] = seconds
    return LoadRow(
        line,
        users=value_by_kind.get("users"),
        rate=value_by_kind.get("rate"),
        throughput=value_by_kind.get("throughput"),
        response=value_by_kind.get("response"),
        quantiles=quantiles,
        utilization=utilization_by_tier,
    )


def _is_in_percent(
    cells: Sequence[str], index: int, load_column_by_index: Mapping[int, _LoadColumn], value: float
) -> bool:
    """Return whether a utilization is in percent: by the unit of its column or cell, or because it
    exceeds 1.
    """
    return load_column_by_index[index].unit == "%" or "%" in cells[index] or value > 1


def _seconds_of_value(
    input_file: Reading, line: int, name: str, value: float, unit: str | None
) -> float:
    """Return a time in seconds; return 0 after recording that its unit is missing or is no unit of
    time.
    """
    unit_text = unit or input_file.hints.unit
    time_unit = time_of_unit(unit_text)[0] if unit_text else ""
    if time_unit not in SECONDS:
        reason = "there is no unit of time; write one, as in 'mean [ms]', or give --unit ms"
        if all(problem.message != reason for problem in input_file.problems):  # once for the table
            input_file.add_problem(line, name, reason)
        return 0.0
    return value * SECONDS[time_unit]


def _load_test_of_rows(input_file: Reading, rows: list[LoadRow]) -> LoadTest:
    """Return a load test of rows, by ascending load; raise if there is a problem."""
    if input_file.problems:
        input_file.finished()
    if not any(row.completed_rate or row.response is not None for row in rows):
        input_file.refuse(1, "", "there is no throughput and no response time in it")
    sorted_rows = sorted(rows, key=lambda row: row.users or row.rate or row.throughput or 0.0)
    return LoadTest(
        input_file.file, tuple(sorted_rows), notes=tuple(dict.fromkeys(input_file.notes))
    )


# Generators


_UNCORRECTED_PERCENTILES = late_pattern(
    r"^.*Uncorrected Latency.*\n(?:(?![ \t]*Requests/sec:).*\n)*", re.MULTILINE
)
"""Percentiles that wrk2 prints a second time (--u_latency), without the time that a request waits
until it is sent.
"""


def _read_wrk(input_file: Reading) -> LoadRow:
    """Read the output of wrk or wrk2; wrk2 sends at a rate, wrk has a user for each connection."""
    text = _UNCORRECTED_PERCENTILES.sub("", input_file.text)
    latency_match = first_match(r"^[ \t]*(?:Latency\s+|Avg Req Time:\s+)([0-9.]+\w+)", text)
    throughput = number_of_match(first_match(r"^[ \t]*Requests/sec:\s+([0-9.]+)", text))
    rate = None
    command_match = first_match(r"^(?>.*?\bwrk2? ).*(?:-R|--rate)[ =]*+([0-9.]+[kKMG]?)", text)
    # wrk2 sends at a rate, and counts its own delay; it calibrates in runs of over 10 s.
    if command_match or "Thread calibration:" in text or "HdrHistogram" in text:
        # A rate of 0 is no limit.
        rate = float(split_amount(command_match[1])[0]) or None if command_match else throughput
        if not command_match:
            input_file.add_note(
                1, "", "wrk2 sends at a rate that it does not print: its throughput is used"
            )
    request_count = number_of_match(first_match(r"^[ \t]*([0-9]+) requests in", text))
    errors_match = first_match(r"^[ \t]*(?:Socket errors|Number of Errors):(.*)$", text)
    failed_count = sum(map(int, re.findall(r"\s([0-9]+)", errors_match[1]))) if errors_match else 0
    has_few_failures = request_count is None or failed_count <= LARGEST_FAILED_SHARE * request_count
    recorded_mean_match = first_match(r"^[ \t]*#\[Mean\s+=\s+([0-9.]+),", text)
    mean_latency = (
        parse_time(latency_match[1])
        if latency_match
        else number_of_match(recorded_mean_match, 1e-3)
    )
    duration_match = first_match(r" in ([0-9.]+[a-z]+),", text)
    run_seconds = parse_time(duration_match[1]) if duration_match else None
    if (
        mean_latency
        and run_seconds
        and rate is not None
        and mean_latency > _LARGE_SHARE_OF_RUN * run_seconds
    ):
        unsteady_reason = (
            f"the mean response time is a large part of the {run_seconds:g} s of the run: more was"
            " offered than completed, and the times grow with the length of the run"
        )
        input_file.add_note(1, "", unsteady_reason)
    return LoadRow(
        1,
        users=number_of_match(
            first_match(r"(?<![0-9])([0-9]++) (?:connections|goroutine\(s\))", text)
        )
        if rate is None
        else None,
        rate=rate,
        throughput=throughput,
        response=mean_latency,
        quantiles=parse_quantiles(text, r"^[ \t]*([0-9.]+)%\s+([0-9.]+[a-z]+)\s*$"),
        unsteady="" if has_few_failures else f"{failed_count} requests failed",
    )


_LARGE_SHARE_OF_RUN = 0.1
"""Part of a run at a rate above which a mean response time tells of a queue that grows."""


def _read_ab(input_file: Reading) -> LoadRow:
    """Read the output of ab, whose users are its concurrency level."""
    text = input_file.text
    return LoadRow(
        1,
        users=number_of_match(first_match(r"^[ \t]*Concurrency Level:\s+([0-9]+)", text)),
        throughput=number_of_match(first_match(r"^[ \t]*Requests per second:\s+([0-9.]+)", text)),
        response=number_of_match(
            first_match(r"^[ \t]*Time per request:\s+([0-9.]+) \[ms\] \(mean\)", text), 1e-3
        ),
        quantiles=parse_quantiles(text, r"^[ \t]*([0-9]+)%\s+([0-9]+)\s*$", 1e-3),
    )


_HEY_WORKERS = 50.0
"""Workers of hey where its command does not say -c."""


def _read_hey(input_file: Reading) -> LoadRow:
    """Read the output of hey, oha or ghz; the number of workers is only in the command line, if the
    file contains it.
    """
    text = input_file.text
    mean_match = first_match(r"^[ \t]*Average:\s+([0-9.]+ ?[a-zµ]+)", text)
    command_match = first_match(r"^.*\b(?:hey|oha|ghz) +(\S.*)$", text)
    workers_match = (
        re.search(r"(?:^|\s)-c[ =]*([0-9]+)", command_match[1]) if command_match else None
    )
    if command_match and not workers_match and input_file.hints.processors is None:
        program = _program_like_hey(text)
        default_workers_note = (
            f"its command has no -c: {_HEY_WORKERS:g} workers are taken, as {program} does by"
            " itself"
        )
        input_file.add_note(1, "", default_workers_note)
    users = number_of_match(workers_match) if workers_match or not command_match else _HEY_WORKERS
    rate_match = first_match(r"^[ \t]*Requests/sec:\s+([0-9.]+)", text)
    if rate_match and rate_match.end() == len(text):
        message = "the file ends with this number, which may be cut"
        input_file.add_note(text.count("\n") + 1, "Requests/sec", message)
    rate = _rate_limit_of_hey(
        command_match[1] if command_match else "", _program_like_hey(text), users
    )
    return LoadRow(
        1,
        users=users if rate is None else None,
        rate=rate,
        throughput=number_of_match(rate_match),
        response=parse_time(mean_match[1]) if mean_match else None,
        quantiles=parse_quantiles(text, r"^[ \t]*([0-9.]+) ?%+ in ([0-9.]+ ?[a-zµ]+)"),
    )


def _rate_limit_of_hey(option_text: str, program: str, users: float | None) -> float | None:
    """Return the total rate of requests to which the options of hey, oha or ghz limit the test;
    None without a limit. The option of hey limits each worker, and is multiplied by their number.
    """
    option_pattern = {"hey": "-q", "oha": "-q", "ghz": "(?:-r|--rps)"}.get(program, "-q")
    option_text = re.sub(r"'[^']*'|\"[^\"]*\"", "", option_text)  # headers and bodies of requests
    rate_limit = number_of_match(
        re.search(rf"(?:^|\s){option_pattern}[ =]*([0-9.]+)\b", option_text)
    )
    if not rate_limit:  # 0 is no limit
        return None
    if program != "hey":
        return rate_limit
    return None if users is None else rate_limit * users


def _program_like_hey(text: str) -> str:
    """Return the name of the program that printed a summary in the form of hey's: oha counts
    successes, ghz requests, and both use 50 workers by default as hey does.
    """
    if "Success rate:" in text:
        return "oha"
    return "ghz" if re.search(r"^[ \t]*Count:\s+[0-9]+\s*$", text, re.MULTILINE) else "hey"


def _read_oha_json(input_file: Reading) -> LoadRow:
    """Read what oha --output-format json writes [s], without the number of connections."""
    document = json.loads(input_file.text)
    summary = document["summary"]
    if float(success_share := summary.get("successRate", 1)) < 1:
        failure_note = f"requests failed: a part of {float(success_share):g} succeeded"
        input_file.add_note(1, "successRate", failure_note)
    return LoadRow(
        1,
        throughput=float(summary["requestsPerSec"]),
        response=None if summary.get("average") is None else float(summary["average"]),
        quantiles={
            share: float(time)
            for percentile_name, time in document["latencyPercentiles"].items()
            if (share := _share_of_statistic(percentile_name)) and time is not None
        },
    )


def _read_ghz_json(input_file: Reading) -> LoadRow:
    """Read what ghz --format json writes [ns], with its workers, or the rate at which it sends."""
    document = json.loads(input_file.text)
    option_by_name: Mapping[str, Any] = document.get("options") or {}
    if failures_by_reason := {**document.get("errorDistribution", {})}:
        failure_note = (
            f"{sum(map(int, failures_by_reason.values()))} requests failed, and are"
            " counted in the throughput"
        )
        input_file.add_note(1, "errorDistribution", failure_note)
    rate = float(option_by_name.get("rps") or 0.0) or None
    workers = option_by_name.get("concurrency")
    return LoadRow(
        1,
        users=None if rate or workers is None else float(workers),
        rate=rate,
        throughput=float(document["rps"]),
        response=float(document["average"]) * 1e-9,
        quantiles={
            float(percentile["percentage"]) / 100: float(percentile["latency"]) * 1e-9
            for percentile in document.get("latencyDistribution") or ()
        },
    )


_RATE_ALONE = late_pattern(
    r"^(?:[^\n]*?\b(?:connections|clients|users|concurrency|conns?|c)[ \t]*[=:][ \t]*"
    r"(?P<users>[0-9]+)\b[^\n]*?)?[ \t]*Requests/sec:[ \t]+(?P<rate>[0-9.]+)[ \t]*$",
    re.MULTILINE,
)
"""The rate that wrk, hey or oha prints, without the lines that tell which and with what; scripts
write the users before it."""
_LATENCY_ALONE = late_pattern(r"^[ \t]*(?:Latency|Average:)[ \t]+([0-9.]+ ?[a-zµ]+)", re.MULTILINE)


def _read_rates_alone(input_file: Reading) -> list[LoadRow]:
    """Read the rates that were taken out of outputs of wrk or hey, with the mean before each."""
    rows = []
    previous_end = 0
    for match in _RATE_ALONE.finditer(input_file.text):
        time_texts = _LATENCY_ALONE.findall(input_file.text, previous_end, match.start())
        previous_end = match.end()
        rows.append(
            LoadRow(
                input_file.text.count("\n", 0, match.start("rate")) + 1,
                users=float(match["users"]) if match["users"] else None,
                throughput=float(match["rate"]),
                response=parse_time(time_texts[-1]) if time_texts else None,
            )
        )
    return rows


def _read_sysbench(input_file: Reading) -> LoadRow:
    """Read sysbench 0.4 to 1.1. Missing numbers of threads follow from the events of one thread; an
    interrupted run has only its interval lines.
    """
    text = input_file.text
    threads_and_rates = re.findall(r"\bthds: ([0-9]+),? tps: ([0-9.]+)\b,? ", text)
    event_count = number_of_match(first_match(r"total number of events:\s+([0-9]+)", text))
    run_seconds = number_of_match(first_match(r"total time:\s+([0-9.]+)s", text))
    events_per_thread = number_of_match(first_match(r"events \(avg/stddev\):\s+([0-9.]+)", text))
    users = number_of_match(first_match(r"(?:Number of threads: |-threads=)([0-9]+)", text))
    throughput = number_of_match(
        first_match(
            r"(?:transactions:\s+[0-9]+\s+\(|events per second:\s+|events/s \(eps\):\s+)([0-9.]+)",
            text,
        )
    )
    if threads_and_rates:
        users = users or float(threads_and_rates[-1][0])
        if not throughput:
            throughput = sum(float(tps) for _, tps in threads_and_rates) / len(threads_and_rates)
            unsteady_reason = (
                f"the end of the output is missing: {len(threads_and_rates)}"
                " intervals give the throughput"
            )
            input_file.add_note(1, "", unsteady_reason)
    quantile_match = first_match(r"(?<![0-9])([0-9]++)(?:th)? percentile:\s++([0-9.]+)", text)
    target_rate = number_of_match(first_match(r"Target transaction rate: ([0-9.]+)/sec", text))
    total_latency = number_of_match(first_match(r"^[ \t]*sum:\s+([0-9.]+)", text), 1e-3)
    mean_latency = number_of_match(first_match(r"^[ \t]*avg:\s+([0-9.]+)", text), 1e-3)
    if total_latency and event_count and not mean_latency:
        mean_latency = total_latency / event_count  # times below 10 us are printed as 0.00 ms
    users = users or (
        round(event_count / events_per_thread) if event_count and events_per_thread else None
    )
    return LoadRow(
        1,
        users=users if target_rate is None else None,
        rate=target_rate,
        throughput=throughput
        or (event_count / run_seconds if event_count and run_seconds else None),
        response=mean_latency,
        quantiles=(
            {float(quantile_match[1]) / 100: float(quantile_match[2]) / 1e3}
            if quantile_match and 0 < float(quantile_match[1]) < 100 and float(quantile_match[2])
            else {}
        ),
    )


def _read_pgbench(input_file: Reading) -> LoadRow:
    """Read the output of pgbench.

    Its latency and its throughput "without initial connection time" leave out the time to connect.
    The output of an interrupted run has only lines of progress.
    """
    text = input_file.text
    rate_limit_match = first_match(r"^[ \t]*rate limit schedule lag", text)
    throughput_match = first_match(r"^[ \t]*tps = ([0-9.]+) \(excluding connections", text)
    throughput = number_of_match(throughput_match or first_match(r"^[ \t]*tps = ([0-9.]+)", text))
    rates_and_latencies = re.findall(
        r"^[ \t]*progress: [0-9.]+ s, ([0-9.]+) tps, lat ([0-9.]+) ms", text, re.MULTILINE
    )
    response = number_of_match(
        first_match(r"^[ \t]*latency average(?: =|:) ([0-9.]+) ms", text), 1e-3
    )
    if throughput is None:
        rates = [float(rate) for rate, _ in rates_and_latencies]
        throughput = sum(rates) / len(rates) if rates else None
        latency_sum_weighted_by_rate = sum(
            float(rate) * float(latency) for rate, latency in rates_and_latencies
        )
        response = latency_sum_weighted_by_rate / sum(rates) * 1e-3 if sum(rates) else None
        unsteady_reason = (
            f"the end of the output is missing: {len(rates)} intervals give the throughput"
        )
        input_file.add_note(1, "", unsteady_reason)
    if rate_limit_match:
        input_file.add_note(
            1, "", "pgbench sent at a rate that it does not print: its throughput is used"
        )
    return LoadRow(
        1,
        users=None
        if rate_limit_match
        else number_of_match(first_match(r"^[ \t]*number of clients: ([0-9]+)", text)),
        rate=throughput if rate_limit_match else None,
        throughput=throughput,
        response=response,
    )


_K6_PART = late_pattern(
    r"^[ \t]*\u2588 (?P<name>(?:SCENARIO|GROUP): [^\n]*)"
    r"(?:\n(?!\s*(?:running \(|\u2588 [A-Z]))[^\n]*)*",
    re.MULTILINE,
)
"""The metrics of a part of a run, which k6 prints below those of the whole."""


def _output_without_parts(input_file: Reading, text: str) -> str:
    """Return the output of k6 without the metrics of scenarios and groups, and note which were left
    out.
    """
    for part_match in _K6_PART.finditer(text):
        line = text.count("\n", 0, part_match.start()) + 1
        input_file.add_note(
            line, part_match["name"].strip(), "is a part of the total, and is left out"
        )
    return _K6_PART.sub(lambda part_match: "\n" * part_match[0].count("\n"), text)


_METRIC_MARK = "[ \\t\u2713\u2717]*+"
"""What stands before a metric of k6: blanks, and the mark of its threshold."""


def _share_of_statistic(name: str) -> float | None:
    """Return the share of requests that a statistic of k6 or oha is a percentile of, such as
    p(95) or med; None for other statistics.
    """
    percentile_match = re.fullmatch(r"p\(?([0-9.]+)\)?", name)
    share = 0.5 if name == "med" else float(percentile_match[1]) / 100 if percentile_match else 0.0
    return share if 0 < share < 1 else None


def _read_k6(input_file: Reading) -> LoadRow:
    """Read the summary that k6 prints at the end, with its virtual users, or with the rate at which
    it began iterations.
    """
    text = input_file.text
    duration_match = first_match(rf"^{_METRIC_MARK}http_req_duration\.*:\s+(.*)$", text)
    name_value_parts = (
        [word.partition("=") for word in duration_match[1].split()] if duration_match else []
    )
    text_by_statistic = {name: value for name, _, value in name_value_parts if name and value}
    quantiles = {
        share: time
        for name, value in text_by_statistic.items()
        if (share := _share_of_statistic(name)) and (time := parse_time(value)) is not None
    }
    largest_time = parse_time(text_by_statistic.get("max", ""))
    if largest_time and (
        impossible_shares := [share for share, time in quantiles.items() if time > largest_time]
    ):
        percentile_names = ", ".join(f"p({100 * share:g})" for share in impossible_shares)
        input_file.add_note(
            1,
            "",
            f"{percentile_names} is above the largest time: its line is cut, so it is left out",
        )
        quantiles = {
            share: time for share, time in quantiles.items() if share not in impossible_shares
        }
    users_match = first_match(
        rf"^{_METRIC_MARK}vus(?:_max)?\.*:.*\bmax=([0-9]+)|\b[0-9]+/([0-9]+) VUs|--vus[ =]([0-9]+)",
        text,
    )
    users = float(next(filter(None, users_match.groups()))) if users_match else None
    throughput = number_of_match(
        first_match(rf"^{_METRIC_MARK}http_reqs\.*:\s+[0-9]+\s+([0-9.]+)/s", text)
    )
    user_range_match = first_match(rf"^{_METRIC_MARK}vus\.*:.*\bmin=([0-9]+) +max=([0-9]+)", text)
    constant_users_match = first_match(r"^[ \t]*\* \S+: [0-9]+ looping VUs? for ", text)
    did_users_vary = (
        user_range_match is not None
        and not constant_users_match
        and _did_users_vary(float(user_range_match[1]), float(user_range_match[2]))
    )
    did_users_vary = did_users_vary or bool(
        first_match(r"^[ \t]*\* \S+: Up to [0-9]+ looping VUs", text)
    )
    if rate_match := first_match(r"^[ \t]*\* \S+: (?:Up to )?[0-9.]+ iterations/s for ", text):
        input_file.add_note(
            1, "", "k6 began iterations at a rate: its requests a second are used as this rate"
        )
    return LoadRow(
        1,
        users=None if rate_match else users,
        rate=throughput if rate_match else None,
        throughput=throughput,
        response=parse_time(text_by_statistic.get("avg", "")),
        quantiles=quantiles,
        unsteady=_USERS_CHANGED.format(users)
        if did_users_vary and not rate_match and users
        else "",
    )


def _did_users_vary(least_users: float, most_users: float) -> bool:
    """Return whether the number of virtual users rose or fell during a run: the least number is
    clearly below the largest. A small difference is none, because some users are gone at the end.
    """
    return least_users < _LEAST_CONSTANT_RATIO * most_users


_LEAST_CONSTANT_RATIO = 0.5
"""Least virtual users over the most below which they changed in a run."""

_USERS_CHANGED = "the users changed in the run, up to {:g}"


def _k6_metrics_by_name(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metrics of a summary of k6 by name; with --new-machine-readable-summary they are a
    list, whose counters have no rate.
    """
    if "results" not in document:
        metric_by_name: Mapping[str, Any] = document["metrics"]
        return metric_by_name
    seconds = float(document["config"]["duration"])
    values_by_name = {metric["name"]: metric["values"] for metric in document["results"]["metrics"]}
    return {
        name: value_by_statistic | {"rate": value_by_statistic["count"] / seconds}
        if "count" in value_by_statistic
        else value_by_statistic
        for name, value_by_statistic in values_by_name.items()
    }


def _read_k6_json(input_file: Reading) -> LoadRow:
    """Read the summary of k6 as JSON [ms]."""
    metric_by_name = _k6_metrics_by_name(json.loads(input_file.text))
    if "http_reqs" not in metric_by_name:
        message = (
            "its metrics have no http_reqs: a script wrote its own summary (handleSummary);"
            " slipstick measured reads k6 run --summary-export=FILE"
        )
        input_file.refuse(1, "", message)

    def statistics_of_metric(name: str) -> Mapping[str, Any]:
        """Return the statistics of a metric by their names; empty if the metric is missing."""
        metric: Mapping[str, Any] = metric_by_name.get(name) or {}
        statistics: Mapping[str, Any] = metric.get("values", metric)
        return statistics

    duration_statistics = statistics_of_metric("http_req_duration")
    request_statistics = statistics_of_metric("http_reqs")
    quantiles = {
        share: float(value) / 1e3
        for name, value in duration_statistics.items()
        if (share := _share_of_statistic(name))
    }
    users = statistics_of_metric("vus_max").get("max", statistics_of_metric("vus_max").get("value"))
    running_users_statistics = statistics_of_metric("vus")
    # At a rate of iterations k6 makes users ready that may never run.
    users = running_users_statistics.get("max") or users
    failure_statistics = statistics_of_metric("http_req_failed")
    if failed_share := float(
        failure_statistics.get("rate", failure_statistics.get("value")) or 0.0
    ):
        failure_note = (
            f"{100 * failed_share:.3g} % of the requests failed, and are counted in the throughput"
        )
        input_file.add_note(1, "http_req_failed", f"{failure_note} and the times")
    did_users_vary = users is not None and _did_users_vary(
        float(running_users_statistics.get("min", users)), float(users)
    )
    return LoadRow(
        1,
        users=None if users is None else float(users),
        unsteady=_USERS_CHANGED.format(float(users)) if did_users_vary else "",
        throughput=float(request_statistics["rate"]) if "rate" in request_statistics else None,
        response=float(duration_statistics["avg"]) / 1e3 if "avg" in duration_statistics else None,
        quantiles=quantiles,
    )


_LOCUST_ROW = late_pattern(
    r"^[ \t]*(?:Aggregated|Total)\s+[0-9]+\s+[0-9]+\([0-9.]+%\)(?P<rest>[ \t|0-9.]+)$", re.MULTILINE
)
_LOCUST_SHARES = late_pattern(
    r"^[ \t]*+(?:Type[ \t]++)?Name[ \t]++(?:# reqs[ \t]++)?(?P<shares>(?:[0-9.]++%[ \t]*+)++)",
    re.MULTILINE,
)
_LOCUST_TIMES = late_pattern(
    r"^[ \t]*+(?:Aggregated|Total)[ \t]++(?P<times>[0-9][0-9 \t]*+)$", re.MULTILINE
)


def _read_locust_text(input_file: Reading) -> LoadRow:
    """Read the last summary that Locust prints [ms]: mean, least, largest and median of all
    requests, requests and failures per second. Locust before 1.0 prints the rate alone.
    """
    text = input_file.text
    total_match = list(_LOCUST_ROW.finditer(text))[-1]
    statistic_values = [
        float(number_text) for number_text in re.findall("[0-9.]+", total_match["rest"])
    ]
    users_match = first_match(r"\(([0-9]+) total users\)", text) or first_match(
        r"^(?>.*?\blocust ).*(?:-c|-u|--users)[ =]*+([0-9]+)", text
    )
    percentages_match = _LOCUST_SHARES.search(text, total_match.end())
    times_match = _LOCUST_TIMES.search(text, percentages_match.end()) if percentages_match else None
    heading = text[: total_match.start()].rpartition("# reqs")[2]
    quantiles = {}
    if re.match(r"[^\n]*\bAvg\s+Min\s+Max\b[ |]+Med", heading) and len(statistic_values) > 4:
        quantiles[0.5] = statistic_values[3] / 1e3
    if percentages_match and times_match:
        for share, time in zip(
            percentages_match["shares"].split(), times_match["times"].split(), strict=False
        ):
            quantiles[float(share.rstrip("%")) / 100] = float(time) / 1e3
    return LoadRow(
        1,
        users=number_of_match(users_match),
        throughput=statistic_values[-2] if "failures/s" in text else statistic_values[-1],
        response=statistic_values[0] / 1e3 if len(statistic_values) > 4 else None,
        quantiles={share: time for share, time in quantiles.items() if share < 1},
    )


def _read_vegeta(input_file: Reading) -> LoadRow:
    """Read a report of vegeta, which sends at a rate; the throughput counts successful requests."""
    text = input_file.text
    rates_match = first_match(
        r"^[ \t]*Requests\s+\[total, rate.*?\]\s+[0-9]+, ([0-9.]+)(?:, ([0-9.]+))?", text
    )
    latencies_match = first_match(r"^[ \t]*Latencies\s+\[(.*?)\]\s+(.*)$", text)
    statistic_names = latencies_match[1].split(", ") if latencies_match else []
    time_text_by_statistic = dict(
        zip(
            statistic_names, latencies_match[2].split(", ") if latencies_match else [], strict=False
        )
    )
    quantiles = {
        float(statistic) / 100: time
        for statistic, value in time_text_by_statistic.items()
        if statistic.replace(".", "").isdigit() and (time := parse_time(value)) is not None
    }
    return LoadRow(
        1,
        rate=float(rates_match[1]) if rates_match else None,
        throughput=float(rates_match[2] or rates_match[1]) if rates_match else None,
        response=parse_time(time_text_by_statistic.get("mean", "")),
        quantiles=quantiles,
    )


def _read_vegeta_json(input_file: Reading) -> LoadRow:
    """Read a report of vegeta as JSON, with times in nanoseconds."""
    report = json.loads(input_file.text)
    time_by_statistic = report["latencies"]
    quantiles = {
        float(match[1]) / 100: float(time) * 1e-9
        for statistic, time in time_by_statistic.items()
        if (match := re.fullmatch(r"([0-9]+)th", statistic))
    }
    if report.get("success", 1) < 1:
        failure_note = f"requests failed: a part of {report['success']:g} succeeded"
        input_file.add_note(1, "", failure_note)
    return LoadRow(
        1,
        rate=float(report["rate"]),
        throughput=float(report.get("throughput", report["rate"])),
        response=float(time_by_statistic["mean"]) * 1e-9,
        quantiles=quantiles,
    )


def _read_bombardier(input_file: Reading) -> LoadRow:
    """Read the output of bombardier, whose users are its connections."""
    text = input_file.text
    latency_match = first_match(r"^[ \t]*Latency\s+([0-9.]+[a-zµ]+)", text)
    return LoadRow(
        1,
        users=number_of_match(first_match(r"using ([0-9]+) connection", text)),
        throughput=number_of_match(first_match(r"^[ \t]*Reqs/sec\s+([0-9.]+)", text)),
        response=parse_time(latency_match[1]) if latency_match else None,
        quantiles=parse_quantiles(text, r"^[ \t]*([0-9.]+)%\s+([0-9.]+[a-zµ]+)\s*$"),
    )


def _read_bombardier_json(input_file: Reading) -> LoadRow:
    """Read what bombardier --print result --format json writes, with times in microseconds."""
    document = json.loads(input_file.text)
    test_result = document["result"]
    time_statistics = test_result["latency"]
    failed_count = sum(int(test_result.get(name, 0)) for name in ("req4xx", "req5xx", "others"))
    if failed_count:
        input_file.add_note(
            1, "", f"{failed_count} requests failed, and are counted in the throughput"
        )
    return LoadRow(
        1,
        users=float(document["spec"]["numberOfConnections"]),
        throughput=float(test_result["rps"]["mean"]),
        response=float(time_statistics["mean"]) * 1e-6,
        quantiles={
            float(percentage) / 100: float(time) * 1e-6
            for percentage, time in (time_statistics.get("percentiles") or {}).items()
        },
    )


_GATLING_COMMA = late_pattern(r"(?m)^(> [^|\n]*?[0-9]),([0-9]+ +\(OK=)")


def _read_gatling(input_file: Reading) -> LoadRow:
    """Read the summary at the end of Gatling's output [ms]; it includes failed requests.

    Where it prints no bars, numbers are not grouped: a comma is that of a language.
    """
    text, comma_count = _GATLING_COMMA.subn(r"\1.\2", input_file.text)
    if comma_count:
        input_file.add_note(1, "", "its numbers are read with a decimal comma")
    quantiles = {
        float(match[1]) / 100: float(match[2].replace(",", "")) / 1e3
        for match in re.finditer(
            r"^> response time ([0-9.]+)th percentile[ |(]+(?:ms\)[ |]+)?([0-9,.]+)",
            text,
            re.MULTILINE,
        )
    }
    return LoadRow(
        1,
        throughput=number_of_match(
            first_match(r"^[ \t]*> mean (?:requests/sec|throughput \(rps\))[ |]+([0-9,.]+)", text)
        ),
        response=number_of_match(
            first_match(r"^[ \t]*> mean response time[ |(]+(?:ms\)[ |]+)?([0-9,.]+)", text), 1e-3
        ),
        quantiles=quantiles,
    )


GENERATORS: Mapping[str, LoadFormat] = {
    "wrk": LoadFormat(
        line_pattern(r"[0-9]+ (?:threads and [0-9]+ connections|goroutine\(s\) running)"),
        _read_wrk,
        failure_pattern=line_pattern(
            r"(?:Socket errors:.*[1-9]|Non-2xx or 3xx responses: [1-9]).*"
        ),
        end_pattern=line_pattern("Requests/sec:"),
    ),
    "ab": LoadFormat(
        line_pattern("Concurrency Level:"),
        _read_ab,
        line_pattern("Server Software:"),
        line_pattern(r"(?:Failed requests|Non-2xx responses):\s+[1-9].*"),
        unique_line_patterns=(line_pattern("Concurrency Level:"),),
    ),
    "hey": LoadFormat(
        line_pattern(
            r"Summary:\s*\n\s*(?:(?:Success rate|Name|Count):.*\n\s*)*+Total:\s+[0-9.]+ [a-z]+"
        ),
        _read_hey,
        line_pattern(
            r"(?:.*\b(?:hey|ghz) +\S.*\n\s*)?Summary:\s*\n\s*"
            r"(?:(?:Success rate|Name|Count):.*\n\s*)*+Total:\s+[0-9.]+ [a-z]+"
        ),
        line_pattern(r"(?:Error distribution:\s*\n.*|\[[1345][0-9][0-9]\]\s+[0-9]+ responses)"),
    ),
    "oha-json": LoadFormat(
        late_pattern(r'\A\s*\{.*"requestsPerSec"\s*:.*"latencyPercentiles"\s*:', re.DOTALL),
        _read_oha_json,
    ),
    "ghz-json": LoadFormat(
        late_pattern(r'\A\s*\{.*"average"\s*:.*"rps"\s*:.*"statusCodeDistribution"\s*:', re.DOTALL),
        _read_ghz_json,
    ),
    "vegeta": LoadFormat(
        line_pattern(r"Requests\s+\[total, rate"),
        _read_vegeta,
        failure_pattern=line_pattern(r"Success\s+\[ratio\]\s++(?!100\.00%).*"),
    ),
    "vegeta-json": LoadFormat(
        late_pattern(r'\A\s*\{\s*"latencies"\s*:', re.DOTALL), _read_vegeta_json
    ),
    "bombardier": LoadFormat(
        line_pattern("Bombarding .* connection"),
        _read_bombardier,
        end_pattern=line_pattern("Reqs/sec"),
        failure_pattern=line_pattern(r".*\b(?:[45]xx|others) - [1-9].*"),
    ),
    "bombardier-json": LoadFormat(
        late_pattern(r'\A\s*\{\s*"spec"\s*:\s*\{\s*"numberOfConnections"'), _read_bombardier_json
    ),
    "gatling": LoadFormat(
        line_pattern("> mean response time"),
        _read_gatling,
        late_pattern(r"^[-=]+ *Global Information", re.MULTILINE),
        line_pattern(r"> request count.*(?:KO= *[1-9].*|\| +[1-9][0-9,]* *)$"),
        unique_line_patterns=(line_pattern("> request count"),),
    ),
    "sysbench": LoadFormat(
        line_pattern(
            r"(?:sysbench [0-9]|General statistics:|SQL statistics:|Test execution summary:"
            r"|\[ *[0-9.]+ ?s *\] ?thds: [0-9]+,? tps: )"
        ),
        _read_sysbench,
        line_pattern("Running the test with following options:"),
        line_pattern(r"ignored errors:\s+[1-9].*"),
        end_pattern=line_pattern("total number of events:"),
        unique_line_patterns=(
            line_pattern("Number of threads:"),
            line_pattern("SQL statistics:"),
            line_pattern("CPU speed:"),
        ),
    ),
    "pgbench": LoadFormat(
        line_pattern(r"(?:tps = [0-9.]+|progress: [0-9.]+ s, [0-9.]+ tps, lat )"),
        _read_pgbench,
        line_pattern("transaction type:"),
        line_pattern("number of failed transactions: [1-9].*"),
        unique_line_patterns=(
            line_pattern("number of clients:"),
            line_pattern("latency average"),
            line_pattern(r"tps = [0-9.]+ \((?:without|excluding)"),
        ),
    ),
    "k6": LoadFormat(
        late_pattern(rf"^{_METRIC_MARK}http_req_duration\.+:", re.MULTILINE),
        _read_k6,
        header_pattern=line_pattern("execution: (?:local|cloud)"),
        failure_pattern=late_pattern(
            rf"^{_METRIC_MARK}http_req_failed\.+:\s+(?!0\.00%)[0-9.]+%.*", re.MULTILINE
        ),
    ),
    "k6-points": LoadFormat(K6_POINTS, read_k6_points),
    "k6-json": LoadFormat(late_pattern(r'\A\s*\{.*"http_req_duration"', re.DOTALL), _read_k6_json),
    "locust-text": LoadFormat(
        _LOCUST_ROW,
        _read_locust_text,
        late_pattern(r"\A"),
        line_pattern(r"(?:Aggregated|Total)\s+[0-9]+\s+[1-9][0-9]*\([0-9.]+%\)"),
    ),
    "jmeter-json": LoadFormat(
        late_pattern(r'\A\s*\{.*"sampleCount"\s*:.*"meanResTime"\s*:', re.DOTALL), read_statistics
    ),
    "jmeter": LoadFormat(SUMMARY, read_summary, late_pattern(r"\A")),
    "fio": LoadFormat(
        late_pattern(r'\A(?:(?:fio|note): [^\n]*\n|\s)*+\{.*"fio version"', re.DOTALL), read_fio
    ),
    "fio-text": LoadFormat(
        FIO_TEXT,
        read_fio_text,
        line_pattern("fio-[0-9]"),
        line_pattern(r".*\(groupid=[0-9]+, jobs=[0-9]+\): err= *[1-9].*"),
    ),
    **FURTHER_GENERATORS,
    "rates-alone": LoadFormat(_RATE_ALONE, _read_rates_alone, late_pattern(r"\A")),
}
"""Outputs of load generators by name."""


def name_of_load_format(input_file: Reading) -> str:
    """Return the name of the format of a load test; empty if the file is no load test."""
    for name, generator in GENERATORS.items():
        if generator.pattern.search(input_file.text):
            return name
    if input_file.text.lstrip()[:1] in "{[":
        is_table = bar_lines(input_file.lines) and is_load_table(input_file)
        return "load-table" if is_table else ""
    if _is_table_of_totals(input_file):
        return "locust"
    if _LOCUST_HISTORY.match(_first_line_with_commas(input_file)):
        return "locust-history"
    if JTL_HEAD.match(input_file.text):
        return "jtl"
    return "load-table" if is_load_table(input_file) else ""


def _first_line_with_commas(input_file: Reading) -> str:
    """Return the first line of a file; the bars of a table become commas."""
    line = input_file.text.lstrip("\ufeff \n").partition("\n")[0]
    return ",".join(cell.strip() for cell in line.strip().strip("|").split("|"))


def _is_table_of_totals(input_file: Reading) -> bool:
    """Return whether a file is Locust's table of requests, or JMeter's aggregate report."""
    return bool(
        re.match(
            r'"?Type"?,"?Name"?,"?(?:Request Count|# requests)"?,',
            _first_line_with_commas(input_file),
        )
    ) or bool(_AGGREGATE_HEADING.match(input_file.text))


_AGGREGATE_HEADING = late_pattern(
    "\ufeff?(?:Label,# Samples,Average,|sampler_label,aggregate_report_count,)"
)
"""What begins a table of JMeter's aggregate report, with its headings or with their names."""


_QUANTILE_COLUMN = late_pattern(
    r"(?:aggregate_report_)?(?:([0-9.]+)%(?:[ _][Ll]ine)?|[Mm]edian(?: [Rr]esponse [Tt]ime)?)"
)


def _check_row_lengths(input_file: Reading, grid: CellGrid) -> None:
    """Raise if rows have fewer values than the heading, such as cut rows, or more values because of
    unquoted decimal commas.
    """
    for line, cells in grid.rows:
        lengths_text = f"{len(cells)} values, where the header promises {len(grid.heading)}"
        if len(cells) > len(grid.heading):
            input_file.add_problem(line, "", f"{lengths_text}; write 1.5 for one and a half")
        elif len(cells) < len(grid.heading):
            input_file.add_problem(
                line, "", f"{lengths_text}; complete this row, or take the line out"
            )
    if input_file.problems:
        input_file.finished()


def _share_of_column(name: str) -> float | None:
    """Return the share of requests that a column of percentiles or medians is for; None for other
    columns.
    """
    match = _QUANTILE_COLUMN.fullmatch(name)
    share = float(match[1] or 50) / 100 if match else 0.0
    return share if 0 < share < 1 else None


def _read_totals(input_file: Reading) -> LoadRow:
    """Read the row for all requests in a table of Locust or JMeter; if the table has a single row,
    read that.

    Raises
    ------
    SpecError : several rows and none of all requests
    """
    grid = table_of_file(input_file)
    _check_row_lengths(input_file, grid)
    total_rows = [
        (line, cells)
        for line, cells in grid.rows
        if len(grid.rows) == 1 or "Aggregated" in cells or cells[0] == "TOTAL" or "Total" in cells
    ]
    if not total_rows:
        message = (
            "there is no row of all requests (TOTAL, Aggregated), and percentiles of several cannot"
        )
        input_file.refuse(
            grid.line, "", f"{message} be put together; keep one row, or export that row, too"
        )
    line, cells = total_rows[0]
    cell_by_heading = dict(zip(grid.heading, cells, strict=False))
    failure_headings = ("Failure Count", "# failures", "Error %", "aggregate_report_error%")
    failed_text = next(
        (cell_by_heading[text] for text in failure_headings if cell_by_heading.get(text)), "0"
    )
    if re.search("[1-9]", failed_text):
        message = (
            f"requests failed ({failed_text}), and are counted in the throughput and the times"
        )
        input_file.add_note(line, "", message)
    rate_headings = ("Requests/s", "Throughput", "aggregate_report_rate")
    rate_text = next(
        (cell_by_heading[text] for text in rate_headings if cell_by_heading.get(text)), ""
    )
    mean_headings = ("Average Response Time", "Average response time", "Average", "average")
    mean_text = next(
        (cell_by_heading[text] for text in mean_headings if cell_by_heading.get(text)), ""
    )
    quantiles = {
        share: float(cell) / 1e3
        for name, cell in cell_by_heading.items()
        if (share := _share_of_column(name)) and re.fullmatch(r"[0-9.]+", cell)
    }
    unit_of_rate = rate_unit(re.sub(r"^[0-9.]+\s*", "", rate_text)) if "/" in rate_text else None
    rate_match = first_match(r"^([0-9.]+)", rate_text)
    return LoadRow(
        line,
        throughput=number_of_match(rate_match, float(unit_of_rate.factor) if unit_of_rate else 1.0),
        response=number_of_match(first_match(r"^([0-9.]+)", mean_text), 1e-3),
        quantiles=quantiles,
    )


_LOCUST_HISTORY = late_pattern(r'"?Timestamp"?,"?User Count"?,"?Type"?,"?Name"?,"?Requests/s"?,')


def _read_locust_history(input_file: Reading) -> list[LoadRow]:
    """Read Locust's history, with a row for each second: the mean rate for each number of users
    that stayed long enough, and the percentiles of its last second, which cover ten seconds. Mean
    response times cover the whole run and are left out.
    """
    grid = table_of_file(input_file)
    _check_row_lengths(input_file, grid)
    index_by_heading = {heading: index for index, heading in enumerate(grid.heading)}
    index_by_percentile = {
        heading: index
        for heading, index in index_by_heading.items()
        if re.fullmatch(r"[0-9.]+%", heading)
    }
    rows_by_users: dict[float, list[Sequence[str]]] = defaultdict(list)
    requests_index = index_by_heading.get("Total Request Count")
    for line, cells in grid.rows:
        if len(cells) == len(grid.heading) and cells[index_by_heading["Name"]] in (
            "Aggregated",
            "Total",
        ):
            if requests_index is not None and cells[requests_index] == "0":
                continue  # before the first request
            users = input_file.number(line, "User Count", cells[index_by_heading["User Count"]])
            rows_by_users[users or 0.0].append(cells)
    if input_file.problems:
        input_file.finished()
    input_file.add_note(
        grid.line,
        "Total Average Response Time",
        "is of all seconds since the start, so it is left out",
    )
    _note_failures(input_file, grid, rows_by_users)
    row_count = sum(map(len, rows_by_users.values()))
    return [
        LoadRow(
            1,
            users=users,
            throughput=sum(float(cells[index_by_heading["Requests/s"]]) for cells in rows)
            / len(rows),
            quantiles={
                float(heading.rstrip("%")) / 100: float(rows[-1][index]) / 1e3
                for heading, index in index_by_percentile.items()
                if heading != "100%" and re.fullmatch("[0-9.]+", rows[-1][index])
            },
        )
        for users, rows in sorted(rows_by_users.items())
        if users >= 1
        and len(rows) >= LEAST_SHARE_OF_LOAD * row_count
        and any(float(cells[index_by_heading["Requests/s"]]) for cells in rows)
    ]


def _note_failures(
    input_file: Reading, grid: CellGrid, rows_by_users: Mapping[float, list[Sequence[str]]]
) -> None:
    """Note the part of the requests that failed, by the rates of Locust's history."""
    if "Failures/s" not in grid.heading:
        return
    request_rate, failure_rate = (
        sum(
            float(cells[grid.heading.index(name)])
            for rows in rows_by_users.values()
            for cells in rows
        )
        for name in ("Requests/s", "Failures/s")
    )
    if failure_rate and request_rate:
        counted_text = "are counted in the throughput and the times"
        input_file.add_note(
            grid.line,
            "Failures/s",
            f"{failure_rate / request_rate:.3g} of the requests failed, and {counted_text}",
        )


_TESTED_ADDRESS = late_pattern(
    r"^[ \t]*(?:Running [0-9]+[smh] test @|Document Path:)[ \t]+(\S+)", re.MULTILINE
)
"""What wrk or ab asked for: runs of several addresses are no curve over the load."""


def _positions_of_tests(text: str, name: str) -> list[int]:
    """Return the positions at which the tests of a load generator begin in a text."""
    generator = GENERATORS[name]
    begin_pattern = generator.begin_pattern or generator.pattern
    if generator.header_pattern and generator.header_pattern.search(text):
        begin_pattern = generator.header_pattern
    test_starts = [match.start() for match in begin_pattern.finditer(text)]
    for unique_line in generator.unique_line_patterns:
        line_starts = [match.start() for match in unique_line.finditer(text)]
        test_starts = line_starts if len(line_starts) > len(test_starts) else test_starts
    if len(test_starts) < 2 or name == "fio" or text.lstrip()[:1] == "{":
        return [0]
    return test_starts


def _read_all_tests(input_file: Reading, name: str) -> list[LoadRow]:
    """Read all tests in the output of a load generator, which may contain runs at several loads."""
    generator = GENERATORS[name]
    test_starts = _positions_of_tests(input_file.text, name)
    if generator.command_pattern:
        command_names = [
            match["name"] for match in generator.command_pattern.finditer(input_file.text)
        ]
        refuse_several_tests(input_file, command_names)
    rows = list[LoadRow]()
    if len(addresses := list(dict.fromkeys(_TESTED_ADDRESS.findall(input_file.text)))) > 1:
        addresses_in_words = ", ".join(short(address) for address in addresses)
        input_file.add_note(
            1,
            "",
            f"the runs are of {len(addresses)} addresses, in this order: {addresses_in_words}",
        )
    commands_of_loop = (
        generator.loop_pattern.findall(input_file.text) if generator.loop_pattern else []
    )
    is_loop = len(commands_of_loop) == 1 < len(test_starts)
    line = 1
    previous_start = 0
    for test_start, test_end in zip(
        test_starts, [*test_starts[1:], len(input_file.text)], strict=True
    ):
        line = line + input_file.text.count("\n", previous_start, test_start)
        previous_start = test_start
        test_reading = Reading(
            input_file.file, input_file.text[test_start:test_end], input_file.hints
        )
        if len(test_starts) > 1 and not generator.pattern.search(test_reading.text):
            input_file.add_note(
                line, "", "the run that begins here has no summary, so it is left out"
            )
            continue
        result_count = (
            len(generator.end_pattern.findall(test_reading.text)) if generator.end_pattern else 1
        )
        if result_count > 1:
            message = (
                f"{result_count} results follow this head, and the first is read; give each run"
                " its"
                " head"
            )
            input_file.add_note(line, "", message)
        if is_loop:
            command_and_test = f"{commands_of_loop[0]}\n{test_reading.text}"
            test_reading = replace(test_reading, text=command_and_test)
        rows_of_test = generator.read(test_reading)
        for note in test_reading.notes:
            line_in_test = max(note.line - is_loop, 1)
            input_file.add_note(line + line_in_test - 1, note.path, note.message)
        rows += [
            replace(row, line=line + max(row.line - is_loop, 1) - 1)
            for row in ([rows_of_test] if isinstance(rows_of_test, LoadRow) else rows_of_test)
        ]
        for failure_match in (
            generator.failure_pattern.finditer(test_reading.text)
            if generator.failure_pattern
            else ()
        ):
            failure_line = " ".join(failure_match[0].split())[:200]
            message = f"requests failed, and {name} counts them in its own way: {failure_line}"
            input_file.add_note(
                line + test_reading.text.count("\n", 0, failure_match.start()) - is_loop,
                "",
                message,
            )
    return rows


_USERS_BEFORE = late_pattern(
    r"^[^\w\n]*"
    r"(?:(?:with|for|at|using|test|run|number|of|concurrent|virtual|siege|wrk|ab|load) ){0,4}"
    r"(?:(?:clients|users|connections|concurrency|conns?|c|vus|threads) ?[=:]? ?"
    r"(?P<after>[1-9][0-9]*)|(?P<before>[1-9][0-9]*) (?:(?:concurrent|parallel|virtual) )?"
    r"(?:clients|users|connections|threads)(?: (?:for|over|in) [0-9]{1,6} ?[a-z]{1,7})?)"
    r"[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that names the users of the run below it, as scripts print it: ``clients=8``."""


def _with_users_before(text: str, rows: Sequence[LoadRow]) -> list[LoadRow]:
    """Return rows with the numbers of users that a line before each run names; return them
    unchanged unless every run has such a line.
    """
    matches = list(_USERS_BEFORE.finditer(text))
    # A line below the last run may belong to a run that is cut.
    alternating_lines = [
        line
        for match, row in zip(matches, rows, strict=False)
        for line in (text.count("\n", 0, match.end()) + 1, row.line)
    ]
    are_lines_ascending = len(rows) == 1 or all(
        line_before < line_after for line_before, line_after in pairwise(alternating_lines)
    )
    is_load_known = any(row.users or row.rate for row in rows)
    if len(matches) != len(rows) or is_load_known or not are_lines_ascending:
        return list(rows)
    user_counts = [float(match["after"] or match["before"]) for match in matches]
    return [
        replace(row, users=user_count) for row, user_count in zip(rows, user_counts, strict=True)
    ]


_WHERE_USERS_ARE = {
    "hey": "as -c did",
    "oha": "as -c did",
    "wrk": "as -c did",
    "bombardier": "as -c did",
    "siege": "as -c did",
    "autocannon": "as -c did",
    "h2load": "as -c did",
    "redis-benchmark": "as -c did",
    "memtier": "as --threads times --clients did",
    "ycsb": "as -threads did",
    "locust": "as -u did",
    "k6": "as --vus did",
    "JMeter": "the number of threads of the test plan",
}
"""What sets the number of users of a generator, for a message."""


_COMMA_NUMBER = late_pattern(r"(?<![\w.,])[0-9]+,[0-9]+(?![0-9,]|\.[0-9])")
_POINT_NUMBER = late_pattern(r"(?<![\w.,])[0-9]+\.[0-9]+(?![0-9.])")
_THOUSANDS = late_pattern(r"[0-9]{1,3},[0-9]{3}")


def _with_decimal_points(input_file: Reading, text: str) -> str:
    """Return the output of a program with decimal points if its numbers have decimal commas, and
    note that.

    Its commas are decimal if at least one cannot stand between thousands, and more numbers have
    commas than points: versions and addresses keep their points.
    """
    comma_numbers = _COMMA_NUMBER.findall(text) if text.lstrip()[:1] not in "{[" else []
    decimal_numbers = [
        number_text for number_text in comma_numbers if not _THOUSANDS.fullmatch(number_text)
    ]
    if not decimal_numbers or len(comma_numbers) <= len(_POINT_NUMBER.findall(text)):
        return text
    input_file.add_note(
        1, decimal_numbers[0], "is read with a decimal comma, and so are all numbers of the file"
    )
    return re.sub(r"(?<=[0-9]),(?=[0-9])", ".", text)


def _name_of_generator(input_file: Reading, name: str) -> str:
    """Return the name of the program that wrote an output in a format that several programs
    write.
    """
    if name == "hey":
        return _program_like_hey(input_file.text)
    name_by_format = {
        "locust-text": "locust",
        "oha-json": "oha",
        "ghz-json": "ghz",
        "redis-benchmark-quiet": "redis-benchmark",
    }
    assumed_generator = "hey" if "Average:" in input_file.text else "wrk"
    name = {**name_by_format, "rates-alone": assumed_generator}.get(name, name)
    return "JMeter" if name == "locust" and _AGGREGATE_HEADING.match(input_file.text) else name


def read_load(input_file: Reading, name: str) -> LoadTest:
    """Read a load test of a format from `name_of_load_format`; missing numbers of users are taken
    from the option for processors.

    Raises
    ------
    SpecError : what is wrong with it
    """
    if name == "load-table":
        return read_load_table(input_file)
    table_reader_by_format: Mapping[str, LoadReader] = {
        "locust": _read_totals,
        "locust-history": _read_locust_history,
        "jtl": read_jtl,
    }
    try:
        if name in table_reader_by_format:
            rows_of_table = table_reader_by_format[name](input_file)
            rows = [rows_of_table] if isinstance(rows_of_table, LoadRow) else list(rows_of_table)
        else:
            text = textwrap.dedent(input_file.text)
            text = _output_without_parts(input_file, text) if name == "k6" else text
            reading_with_points = replace(input_file, text=_with_decimal_points(input_file, text))
            rows = _read_all_tests(reading_with_points, name)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        input_file.refuse(1, "", f"this is not an output of {name} as it is known: {error}")
    if not rows or not all(row.throughput for row in rows):
        input_file.refuse(1, "", f"{name} completed no request, or its output is cut")
    rows = _with_users_before(input_file.text, rows)
    given_users = input_file.hints.processors
    if given_users is not None and len(rows) == 1 and rows[0].rate is None:
        # The option says that a constant number of users is meant.
        reason = "" if name in ("k6", "k6-json") else rows[0].unsteady
        rows = [replace(rows[0], users=float(given_users), unsteady=reason)]
    if any(row.users is None and row.rate is None for row in rows):
        generator_name = _name_of_generator(input_file, name)
        where_users_are = _WHERE_USERS_ARE.get(generator_name, "")
        explanation = f"{generator_name} does not print how many users there were; write"
        if len(rows) > 1:
            input_file.refuse(
                1, "", f"{explanation} a line such as clients=8 before each of {len(rows)} runs"
            )
        input_file.refuse(
            1, "", f"{explanation} --processors N{where_users_are and ', '}{where_users_are}"
        )
    return LoadTest(input_file.file, tuple(rows), notes=tuple(dict.fromkeys(input_file.notes)))
