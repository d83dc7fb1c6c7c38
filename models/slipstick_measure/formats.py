"""The formats of files with measurements; the format of a file is recognized from its content."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import ceil
from pathlib import Path
from typing import NoReturn

from slipstick.errors import Problem, SpecError, UnknownNameError, short
from slipstick.extensions import Registry
from slipstick.late import late_pattern
from slipstick.schema.library import LONGEST_NAME, catalogue_folder, find, names_of_kind
from slipstick_measure.loads import LoadRow, LoadTest
from slipstick_measure.measurements import Hints, Measurement, Measurements
from slipstick_measure.readers import (
    benchmarks,
    clusters,
    extra_p,
    gnu_time,
    jmh,
    messages,
    perf,
    pop,
    profile,
    rated,
    tidy,
)
from slipstick_measure.readers.known import known_file_of_text
from slipstick_measure.readers.load_tests import GENERATORS, name_of_load_format, read_load
from slipstick_measure.readers.markup import (
    bar_lines,
    cut_criterion_rows,
    go_benchmarks_with_parts,
    kinds_of_sentences,
    line_of_count_without_time,
)
from slipstick_measure.readers.reading import NUMBER, FileFormat, Reading, open_file
from slipstick_measure.traces.readers import (
    TRACE_FORMATS,
    checked_trace,
    name_of_trace_format,
    read_trace,
)

FORMATS: Registry[FileFormat] = Registry(
    "slipstick.formats",
    {
        format_.name: format_
        for module in (
            profile,
            benchmarks,
            jmh,
            extra_p,
            perf,
            messages,
            clusters,
            rated,
            gnu_time,
            pop,
            tidy,
        )
        for format_ in module.FORMATS
    },
)
"""Every format by name, those of other packages included."""


def read(path: Path | str, hints: Hints | None = None, format: str | None = None) -> Measurements:
    """Read a file of measurements.

    Parameters
    ----------
    path : the file
    hints : what the file does not say
    format : its format, one of `FORMATS` or `TRACE_FORMATS`; recognized by the content if None

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    UnknownNameError : there is no such format
    """
    hints = hints or Hints()
    format_names = [*FORMATS, *LOAD_FORMATS, *TRACE_FORMATS]
    if format is not None and format not in format_names:
        raise UnknownNameError("format", format, format_names)
    trace_format_name = name_of_trace_format(path) if format is None else format
    if trace_format_name and trace_format_name in TRACE_FORMATS:
        return _measurements_of_trace(path, trace_format_name, hints)
    input_file = open_file(path, hints)
    if not input_file.content:
        if known_file := known_file_of_text(input_file.text):
            input_file.refuse(1, "", f"this is {known_file.description}: {known_file.advice}")
        return input_file.finished()  # which says that there is nothing in it
    if (
        load_format_name := name_of_load_format(input_file) if format is None else format
    ) in LOAD_FORMATS:
        return _measurements_of_load_test(input_file, load_format_name)
    format_name = format or _recognize_format(input_file)
    has_bar_lines = format_name == "csv" and bool(bar_lines(input_file.lines))
    if format is None and format_name in (None, "csv") and not has_bar_lines:
        if known_file := known_file_of_text(input_file.text):
            input_file.refuse(1, "", f"this is {known_file.description}: {known_file.advice}")
        if keys_text := _phrase_on_json_keys(input_file.text):
            message = (
                f"this is JSON that no reader knows, with {keys_text}; write a table of its"
                " values as CSV"
            )
            input_file.refuse(1, "", message)
    if format_name is None:
        _refuse_unknown_format(input_file)
    for line_number, benchmark in cut_criterion_rows(input_file.lines) if has_bar_lines else ():
        message = "the row is cut in its times, and is left out"
        input_file.add_note(line_number, short(benchmark), message)
    for line_number, benchmark in (
        go_benchmarks_with_parts(input_file.lines) if has_bar_lines else ()
    ):
        message = "the number behind the name is taken for processors, as of -cpu, and not for a"
        input_file.add_note(line_number, benchmark, f"{message} part of the name")
    return _with_hints(_read_as(FORMATS[format_name], input_file), input_file.hints)


def _read_as(file_format: FileFormat, input_file: Reading) -> Measurements:
    """Return the measurements that a reader finds in a file.

    A number with two points, such as 8.1.2, looks to the patterns of readers like any other; it is
    refused here, at its line.
    """
    try:
        measurements = file_format.read(input_file)
    except ValueError as error:
        number_match = _NO_NUMBER.fullmatch(str(error))
        if number_match is None:
            raise
        number_text = number_match["text"]
        lines = enumerate(input_file.lines, 1)
        line_number = next((line for line, text in lines if number_text in text), 1)
        message = f"{short(number_text)} is not a number"
        input_file.refuse(line_number, "", message)
    return measurements


_NO_NUMBER = late_pattern(r"could not convert string to float: '(?P<text>.*)'")


def _measurements_of_trace(path: Path | str, format_name: str, hints: Hints) -> Measurements:
    """Return the measurements of a program from its trace, with the size that the user gives."""
    measurements = read_trace(path, format_name, hints.unit).main_part().measurements()
    measurements = replace(measurements, weak=hints.weak)
    if hints.size is None:
        return measurements
    return replace(
        measurements, records=tuple(replace(run, n=hints.size) for run in measurements.records)
    )


def _refuse_unknown_format(input_file: Reading) -> NoReturn:
    """Raise for a file that no reader recognizes, with what seems to be wrong with it."""
    if line_number := _line_number_of_table_without_heading(input_file):
        message = (
            _message_on_comment_names(input_file, line_number)
            or "the table has no heading; write one above its numbers, such as: p  time [s]"
        )
        input_file.refuse(line_number, "", message)
    if line_number_between := _line_number_between_rows(input_file):
        text = short(input_file.lines[line_number_between - 1].strip())
        message = (
            f"{text} is between the rows of a table; take the line out, or keep one table in"
            " the file"
        )
        input_file.refuse(line_number_between, "", message)
    if len(sentence_kinds := kinds_of_sentences(input_file.lines)) > 1:
        message = (
            f"the lines tell times of {len(sentence_kinds)} kinds, {short(sentence_kinds[0])}"
            f" and {short(sentence_kinds[1])};"
            " keep one kind, or write a table with the heading p,region,time [s]"
        )
        input_file.refuse(1, "", message)
    _refuse_count_without_time(input_file)
    input_file.refuse(
        1,
        "",
        "cannot tell what this is: it is no table whose heading names processors or a"
        " metric, and no output that is known; name its columns (--column p=NAME --column"
        " time=NAME) or its --format, which slipstick measured --help lists, or write a table"
        " with a row for each run below a heading such as: cores,time [s]",
    )


def _phrase_on_json_keys(text: str) -> str:
    """Return a phrase on the first keys of a JSON document, such as "the keys a, b"; empty for
    other texts.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return ""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    document = document[0] if isinstance(document, list) and document else document
    keys = [short(key) for key in document][:4] if isinstance(document, dict) else []
    return f"the keys {', '.join(keys)}" if keys else "no keys"


def _line_number_of_table_without_heading(input_file: Reading) -> int:
    """Return the number of the first line of a table that has numbers only; 0 for other files."""
    rows = [
        (line_number, re.split(r"[\s,;|\[\]()]+", text.strip(" \t[](),")))
        for line_number, text in input_file.content
    ]
    are_all_numbers = all(NUMBER.fullmatch(cell) for _, cells in rows for cell in cells)
    return rows[0][0] if len(rows) > 1 and are_all_numbers and len(rows[0][1]) > 1 else 0


def _refuse_count_without_time(input_file: Reading) -> None:
    """Raise if a line states a number of processors and no line below it states the time."""
    if line_number := line_of_count_without_time(input_file.lines):
        text = short(input_file.lines[line_number - 1].strip())
        message = (
            f"{text} has no time below it before the next number of processors; take the line out,"
            " or write a table with the heading p,time [s]"
        )
        input_file.refuse(line_number, "", message)


def _line_number_between_rows(input_file: Reading) -> int:
    """Return the number of the only line of text between the rows of a table of numbers; 0 for
    other files.
    """
    content = input_file.content
    cell_counts = [
        len(cells) if len(cells := text.split()) > 1 and NUMBER.fullmatch(cells[0]) else 0
        for _, text in content
    ]
    row_indices = [index for index, cell_count in enumerate(cell_counts) if cell_count]
    if len(row_indices) < 3 or len({*cell_counts} - {0}) != 1:
        return 0
    indices_between = [
        index for index in range(row_indices[0], row_indices[-1]) if not cell_counts[index]
    ]
    return content[indices_between[0]][0] if len(indices_between) == 1 else 0


def _message_on_comment_names(input_file: Reading, line_number: int) -> str:
    """Return a message that asks which columns the names in the comment above a table stand for;
    empty if the comment does not have one word for each column.
    """
    comment = input_file.lines[line_number - 2].strip() if line_number > 1 else ""
    comment = comment if comment.startswith("#") else ""
    comment_words = re.split(r"[\s,;|]+", comment.lstrip("# "))
    if len(comment_words) < 2 or len(comment_words) != len(
        re.split(r"[\s,;|]+", input_file.lines[line_number - 1].strip())
    ):
        return ""
    return (
        f"no name in the comment above the numbers is known ({short(', '.join(comment_words))});"
        " say which"
        f" columns they are: --column p={comment_words[0]} --column time={comment_words[1]} --unit"
        " s"
    )


def _with_hints(measurements: Measurements, hints: Hints) -> Measurements:
    """Return measurements with the hints applied that say whether the work grows with the
    processors, and whether waits are means of one processor. Without waits, the latter is said of
    the times of parts of the run. Shares of the time are neither sums nor means.
    """
    is_weak_scaling = measurements.weak if hints.weak is None else hints.weak
    if hints.mean_waits is None or measurements.mean_waits is not None:
        return replace(measurements, weak=is_weak_scaling)
    if not hints.mean_waits:
        measurements = _with_times_of_sums(measurements)
        return replace(measurements, weak=is_weak_scaling, mean_waits=False)
    records = [
        replace(run, value=run.value * run.p)
        if run.metric in ("wait", "busy") and run.processor is None
        else run
        for run in measurements.records
    ]
    return replace(measurements, records=tuple(records), weak=is_weak_scaling, mean_waits=True)


def _with_times_of_sums(measurements: Measurements) -> Measurements:
    """Return measurements without waits in which the times of parts of a run, which are sums over
    the processors, are those of one processor, with a note; others unchanged.
    """

    def is_sum(run: Measurement) -> bool:
        return run.metric == "time" and bool(run.region) and run.processor is None

    sums = list(filter(is_sum, measurements.records))
    has_whole = any(run.metric == "time" and not run.region for run in measurements.records)
    if not sums or not has_whole or any(run.metric == "wait" for run in measurements.records):
        return measurements
    records = tuple(
        replace(run, value=run.value / run.p) if is_sum(run) else run
        for run in measurements.records
    )
    regions_text = ", ".join(dict.fromkeys(run.region for run in sums))
    note = sums[0].problem(f"sums over processors, divided by them: {regions_text}", "waits")
    return replace(measurements, records=records, notes=(*measurements.notes, note))


def load_test(
    paths: Sequence[Path | str],
    hints: Sequence[Hints],
    server_count_by_tier: Mapping[str, int] | None = None,
    format: str | None = None,
) -> LoadTest | None:
    """Read files as one load test; return None if the first file is not a load test.

    Parameters
    ----------
    paths, hints : the files, and what each does not say
    server_count_by_tier : number of servers of each tier; one where a tier is not named
    format : of all files; recognized by the content of each if None

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    """
    load_tests: list[LoadTest] = []
    for path, file_hints in zip(paths, hints, strict=True):
        if format is None and name_of_trace_format(path) is not None:
            return None
        input_file = open_file(path, file_hints)
        format_name = (
            format if format in LOAD_FORMATS else "" if format else name_of_load_format(input_file)
        )
        if not format_name and not load_tests:
            return None
        if not format_name:
            input_file.refuse(1, "", "this is not a load test, but the files before it are")
        load_tests.append(read_load(input_file, format_name))
    joined_test = LoadTest(
        ", ".join(test.file for test in load_tests),
        tuple(sorted((row for test in load_tests for row in test.rows), key=_load_of_row)),
        dict(server_count_by_tier or {}),
        tuple(note for test in load_tests for note in test.notes),
    )
    if unknown_tiers := [tier for tier in joined_test.servers if tier not in joined_test.tiers]:
        raise UnknownNameError("tier with a utilization", unknown_tiers[0], joined_test.tiers)
    return _with_utilization_of_each_server(joined_test)


_LARGEST_UTILIZATION = 1.05
"""Utilization above which a measured value is not that of one server, but of several together."""


def _with_utilization_of_each_server(test: LoadTest) -> LoadTest:
    """Return a load test whose utilizations are means over the servers of each tier. Percentages
    above 100, such as those of top, are sums over the servers, and are divided by their number.

    Raises
    ------
    SpecError : percentages above 100 of a tier whose number of servers is not told or too small
    """
    largest_utilization_by_tier = {
        tier: max(row.utilization.get(tier, 0.0) for row in test.rows) for tier in test.tiers
    }
    summed_utilization_by_tier = {
        tier: largest_utilization
        for tier, largest_utilization in largest_utilization_by_tier.items()
        if largest_utilization > _LARGEST_UTILIZATION
    }
    for tier, largest_utilization in summed_utilization_by_tier.items():
        server_count = test.servers.get(tier, 1)
        if largest_utilization <= server_count * _LARGEST_UTILIZATION:
            continue
        limit_clause = (
            f"more than {server_count} servers can be"
            if server_count > 1
            else "as of several servers"
        )
        message = (
            f"{tier} is up to {100 * largest_utilization:.0f} % busy, {limit_clause}: write"
            " --servers"
            f" {tier}=N with their number, at least {ceil(largest_utilization)}"
        )
        raise SpecError([Problem(test.file, test.rows[0].line, 1, tier, message)])
    if not summed_utilization_by_tier:
        return test
    rows = [
        replace(
            row,
            utilization={
                tier: utilization / test.servers[tier]
                if tier in summed_utilization_by_tier
                else utilization
                for tier, utilization in row.utilization.items()
            },
        )
        for row in test.rows
    ]
    message = "above 100 %, so read as sums over the servers of the tier"
    notes = [
        Problem(test.file, test.rows[0].line, 1, tier, message)
        for tier in summed_utilization_by_tier
    ]
    return replace(test, rows=tuple(rows), notes=(*test.notes, *notes))


def _measurements_of_load_test(input_file: Reading, format_name: str) -> Measurements:
    """Return the throughputs of a load test as measurements with users in place of processors;
    response times are not elapsed times and are left out.
    """
    test = read_load(input_file, format_name)
    records = [
        Measurement(
            round(row.users),
            input_file.hints.size,
            "",
            "throughput",
            "1/s",
            row.throughput,
            None,
            test.file,
            row.line,
            None,
            f"{row.throughput:g} /s",
        )
        for row in test.rows
        if row.users is not None and row.users >= 1 and row.throughput
    ]
    if not records:
        input_file.refuse(
            test.rows[0].line,
            "",
            "response times against a rate are no times of a work that processors share; slipstick"
            f" measured {input_file.file} has demands, slipstick import makes a network of it",
        )
    note = "a load test: throughput by users is taken; response times are in slipstick measured"
    notes = (*test.notes, records[0].problem(note, "columns"))
    return Measurements(tuple(records), notes, rate=("/s", 1.0))


def _load_of_row(row: LoadRow) -> float:
    """Return the load of a row: its users, else its offered rate, else its throughput."""
    return row.users or row.rate or row.throughput or 0.0


LOAD_FORMATS = (*GENERATORS, "locust", "locust-history", "jtl", "load-table")
"""Formats of load tests by name."""


def _recognize_format(input_file: Reading) -> str | None:
    """Return the name of a file's format. Formats of other packages are tried first, because
    slipstick's last one accepts almost any table.
    """
    formats = [*FORMATS.definitions, *FORMATS.own]
    return next((name for name in formats if FORMATS[name].recognize(input_file)), None)


def read_all(
    paths: Sequence[Path | str], hints: Sequence[Hints], format: str | None = None
) -> Measurements:
    """Read several files into one table; raise with the problems of all files.

    Parameters
    ----------
    paths, hints : the files, and what each does not say
    format : of all files; recognized by the content of each if None

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    """
    problems: list[Problem] = []
    tables: list[Measurements] = []
    for path, file_hints in zip(paths, hints, strict=True):
        try:
            tables.append(read(path, file_hints, format))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    if len(tables) == 1:
        return tables[0]
    throughput_units = {table.rate for table in tables if table.rate is not None}
    if len({unit_size for _, unit_size in throughput_units}) > 1:
        units_text = " and ".join(
            sorted(unit_text or "no unit" for unit_text, _ in throughput_units)
        )
        message = f"the files have throughputs in {units_text}; give them in one"
        raise SpecError([tables[-1].records[0].problem(message)])
    measurements = Measurements(
        tuple(measurement for table in tables for measurement in table.records),
        tuple(note for table in tables for note in table.notes),
        next((table.timer for table in tables if table.timer is not None), None),
        tuple(dict.fromkeys(cause for table in tables for cause in table.causes_of_excess)),
        next(
            (table.one_processor_time for table in tables if table.one_processor_time is not None),
            None,
        ),
        title=next((table.title for table in tables if table.title), ""),
        source=next((table.source for table in tables if table.source), ""),
        sizes_of_each=all(table.sizes_of_each for table in tables),
    )
    is_weak_scaling = next((table.weak for table in tables if table.weak is not None), None)
    mean_waits = next((table.mean_waits for table in tables if table.mean_waits is not None), None)
    member_names = {table.member for table in tables}
    member = member_names.pop() if len(member_names) == 1 else "processor"
    throughput_unit = next(iter(throughput_units), None)
    return replace(
        measurements,
        rate=throughput_unit,
        weak=is_weak_scaling,
        mean_waits=mean_waits,
        member=member,
    )


def table_path_named(reference: str) -> str:
    """Return the path of a table or trace named in ``specs/runs``, the user's before the shipped
    one; empty if there is none.
    """
    for folder, suffix in product(
        (Path("specs").absolute(), catalogue_folder()), (".csv", ".json", ".txt")
    ):
        path = folder / "runs" / f"{reference}{suffix}"
        if "/" not in reference and len(reference) <= LONGEST_NAME and path.is_file():
            return str(path)
    return ""


def runs_named(reference: str) -> Path | None:
    """Return the path of measured runs in the catalogue, a profile or a table, by name; None for
    other names, and for an existing file, which has precedence.
    """
    if Path(reference).exists():
        return None
    table_path = table_path_named(reference)
    if table_path or reference.removeprefix("profile/") not in names_of_kind("profile"):
        return Path(table_path) if table_path else None
    return find("profile", reference)


def check_runs(reference: str) -> bool:
    """Check a table of measured runs or a trace, by file or by name in ``specs/runs``. Return False
    if there is no such file.

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    """
    if table_path := reference if Path(reference).exists() else table_path_named(reference):
        if name_of_trace_format(table_path):
            checked_trace(table_path)
        else:
            read(table_path)
    return bool(table_path)
