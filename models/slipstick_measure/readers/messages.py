"""Benchmarks of messages: OSU micro-benchmarks, Intel MPI Benchmarks, perftest and netgauge.

A row is the time of one message, or of one operation of all processes, by its size in bytes; a
benchmark is a region. What the tools print as a rate is kept as `bandwidth`. The time is that from
send to receive: OSU and PingPong halve the round trip themselves, netgauge's round trip is halved
here; of perftest's columns it is the typical one, a median, of others the mean. Rates are in 10^6
B/s, of perftest in 2^20 B/s whether it heads them MB/sec or, later, MiB/sec, and in 10^9 bit/s with
--report_gbits. OSU and netgauge do not print the number of processes: two exchange messages, for a
collective it is told.

Formats: OSU micro-benchmarks 5 to 7; IMB-MPI1 of Intel MPI Benchmarks 2018 to 2021; perftest's
latency and bandwidth tests (linux-rdma/perftest, src/perftest_resources.c: bytes a second over
0x100000, or over 125000000); netgauge's LogGP module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.reading import (
    MOST_LINES_ABOVE,
    Coordinates,
    FileFormat,
    Reading,
)

PAIR_BENCHMARK = late_pattern(
    r"(MPI(-\w+)? )?(Bi-?Directional )?(Latency|Bandwidth)|PingPong|PingPing|netgauge"
    r"|(RDMA_)?(Send|Write|Read)( .*)?|(MPI(-\w+)? )?(One.Sided )?"
    r"MPI_(Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap)\b.*",
    re.IGNORECASE,
)
"""Benchmarks of messages between two processes; all others are operations of all of them."""

LARGEST_REPETITION_RATIO = 1.5
"""Factor between the largest and the least value of a size, in the median over the sizes, that
repetitions of a benchmark on one machine stay below. Two networks in one file differ by more in the
files of the shelf; what differs by less is taken as repetitions, which is noted.
"""

_PROCESSES = late_pattern(r"\s*+#\s*#processes\s*=\s*([0-9]+)\s*")
_GROUPS_OF_PROCESSES = late_pattern(
    r"\s*+#\s*\(\s*([0-9]{1,9}) groups? of ([0-9]{1,9}) processes each running simultaneous.*"
)
_LAUNCH_COMMAND = late_pattern(r"\b(?:mpirun|mpiexec|orterun|srun)\b")
_PROCESSES_OF_COMMAND = late_pattern(r"\s--?(?:np|n|ntasks)[ =]\s*+([0-9]{1,9})(?=\s)")
_ROW_BEGIN = late_pattern(r"[-+]?\.?[0-9]\S*")
_PAIRS = late_pattern(r"#\s*\[\s*pairs:\s*([0-9]+)\s*\].*")
_HEADING = late_pattern(
    r"[\[(](usec|us|MB/s|MB/sec|MiB/sec|Gb/sec)[\])]|Mbytes/sec|PRTT\(1,0,s\)|\sMB/s\s"
)
_TIME_HEADINGS = ("t_typical", "t_avg", "t_ovrl", "avg latency", "t[", "latency", "prtt(1,0,s)")
_RATE_HEADINGS = ("bw average", "bandwidth", "bi-bandwidth", "mbytes/sec", "mb/s")
_SIZE_HEADINGS = ("size", "#bytes", "# size", "s")


class _Tool(NamedTuple):
    """A tool whose output is read: its name, and the pattern of the title of a benchmark."""

    name: str
    title_pattern: re.Pattern[str]


_TOOLS = (
    _Tool(
        "osu",
        late_pattern(
            r"\s*+#\s*+OSU\s++(?P<name>\S++(?:\s++\S++)*?)(?:\s++Test)?(?:\s++v[0-9.a-z-]++)?\s*+"
        ),
    ),
    _Tool("imb", late_pattern(r"\s*+#\s*Benchmarking\s+(?P<name>\S+)\s*")),
    _Tool(
        "perftest",
        late_pattern(r"\s*(?P<name>(?:RDMA_)?(?:Send|Write|Read)(?: \w+)* (?:Latency|BW)) Test\s*"),
    ),
    _Tool("netgauge", late_pattern(r"(?P<name>[^0-9]*\bPRTT\(1,0,s\).*)")),
)


def _is_output_of(tool: _Tool, input_file: Reading) -> bool:
    """Return whether a line of a file begins a benchmark of a tool."""
    return any(tool.title_pattern.fullmatch(line) for line in input_file.lines[:MOST_LINES_ABOVE])


def _read_output(tool: _Tool, input_file: Reading) -> Measurements:
    """Read the rows of all benchmarks in an output of a tool."""
    name = ""
    process_count: int | None = None
    columns = list[str]()
    titles = list[str]()
    command_processes: int | None = None
    unread_line_by_name = dict[str, int]()
    for line, text in enumerate(input_file.lines, 1):
        command_processes = _process_count_of_command(text) or command_processes
        if title_match := tool.title_pattern.fullmatch(text):
            name = title_match["name"].strip() if tool.name != "netgauge" else tool.name
            columns = []
            titles = [*titles, name]
            name += f" #{occurrences}" if (occurrences := titles.count(name)) > 1 else ""
            process_count = input_file.hints.processors or command_processes
            if (
                command_processes
                and process_count == command_processes
                and not is_between_two_processes(name)
            ):
                input_file.add_note(
                    line, name, f"{process_count} processes ran, by the command above it"
                )
            command_processes = None
        if count_match := _PROCESSES.fullmatch(text):
            process_count = input_file.processors(line, "#processes", count_match[1])
        if groups_match := _GROUPS_OF_PROCESSES.fullmatch(text):
            total_processes = str(int(groups_match[1]) * int(groups_match[2]))
            process_count = input_file.processors(line, "groups", total_processes)
            input_file.add_note(
                line, name, f"{groups_match[1]} groups of {groups_match[2]} processes ran at a time"
            )
        if pairs_match := _PAIRS.fullmatch(text.strip()):
            process_count = input_file.processors(line, "pairs", str(2 * int(pairs_match[1][:9])))
        if _HEADING.search(text) and not text.strip()[:1].isdigit():
            columns = _split_heading(text)
            _check_heading(input_file, line, name, columns)
        elif name and (cells := text.split()) and _ROW_BEGIN.fullmatch(cells[0]):
            message_processes = 2 if is_between_two_processes(name) else process_count
            if message_processes is None:
                unread_line_by_name.setdefault(name, line)
            else:
                _read_row(input_file, tool, line, name, columns, message_processes)
    _note_unread_operations(input_file, unread_line_by_name)
    _join_repetitions(input_file)
    measurements = input_file.finished()
    # Without loss an operation of more processes takes as long for messages of the same size.
    return replace(
        measurements,
        title=", ".join(dict.fromkeys(titles)),
        source=f"{tool.name} output {input_file.name}",
        weak=True,
        sizes_of_each=True,
    )


def name_without_number(name: str) -> str:
    """Return the name of a benchmark without its number in the file."""
    return re.sub(" #[0-9]{1,9}$", "", name)


def is_between_two_processes(name: str) -> bool:
    """Return whether a benchmark is of messages between two processes."""
    return bool(PAIR_BENCHMARK.fullmatch(name_without_number(name)))


def _join_repetitions(input_file: Reading) -> None:
    """Take a benchmark that occurs several times in a file as repetitions, unless its values differ
    too much for one machine; then give each occurrence a name of its own.
    """
    values_by_benchmark: dict[tuple[str, str, int], dict[float, list[float]]] = {}
    for measurement in input_file.runs:
        values_by_size = values_by_benchmark.setdefault(
            (name_without_number(measurement.region), measurement.metric, measurement.p), {}
        )
        values_by_size.setdefault(measurement.n or 0.0, []).append(measurement.value)
    differing_names = {
        name
        for (name, _, _), values_by_size in values_by_benchmark.items()
        if median(
            max(repeated_values) / (min(repeated_values) or 1.0)
            for repeated_values in values_by_size.values()
        )
        > LARGEST_REPETITION_RATIO
    }
    input_file.runs = [
        replace(measurement, region=name)
        if (name := name_without_number(measurement.region)) not in differing_names
        else measurement
        for measurement in input_file.runs
    ]


def _process_count_of_command(text: str) -> int | None:
    """Return the number of processes that a command starts; None for a text that is no such
    command.
    """
    launcher_match = _LAUNCH_COMMAND.search(text)
    count_match = (
        _PROCESSES_OF_COMMAND.search(text, launcher_match.end()) if launcher_match else None
    )
    return int(count_match[1]) if count_match else None


def _check_heading(input_file: Reading, line: int, name: str, columns: Sequence[str]) -> None:
    """Raise if a heading names the time or the rate several times, like a table of several
    machines.
    """
    for column in columns:
        if (occurrences := columns.count(column)) > 1 and column.startswith(
            (*_TIME_HEADINGS, *_RATE_HEADINGS)
        ):
            message = f"the heading names '{column}' {occurrences} times, as of several machines"
            input_file.refuse(line, name, f"{message}; keep one of these columns")


def _note_unread_operations(input_file: Reading, line_by_unread_name: Mapping[str, int]) -> None:
    """Note the operations of all processes that were left out because the number of processes is
    unknown; raise if the file has nothing else.
    """
    for name, line in line_by_unread_name.items():
        message = "this is an operation of all processes; say how many there were: --processors N"
        if not input_file.runs and not input_file.problems:
            input_file.refuse(line, name, message)
        input_file.add_note(line, name, f"{message}; it is left out")


def _split_heading(text: str) -> list[str]:
    """Split a heading into columns at two or more blanks. A name may contain single blanks, and
    blanks may precede its unit.
    """
    text_without_mark = text.strip()
    if text_without_mark.startswith("#bytes #rep"):
        return text_without_mark.casefold().split()
    text_without_mark = (
        text_without_mark
        if text_without_mark.startswith("#bytes")
        else text_without_mark.lstrip("# ")
    )
    columns = re.split(
        r"\s{2,}|\s(?=#)|,\s+(?=[A-Za-z])", re.sub(r"(?<!\s)\s++(?=[\[(])", "", text_without_mark)
    )
    return [column.casefold() for column in columns if column]


def _has_all_decimals(input_file: Reading, line: int) -> bool:
    """Return whether the last number of a row is whole: it has as many decimals as the last number
    of the row above, as the tools write them, or a line end behind it.
    """
    if input_file.text.endswith("\n"):
        return True
    decimal_count, decimal_count_above = (
        len((text.split() or [""])[-1].partition(".")[2])
        for text in input_file.lines[line - 1 : line - 3 : -1]
    )
    return decimal_count >= decimal_count_above


def _read_row(
    input_file: Reading, tool: _Tool, line: int, name: str, columns: list[str], processors: int
) -> None:
    """Add the time, or else the bandwidth, in a row of a benchmark."""
    cells = input_file.lines[line - 1].split()
    is_last_line = not any(map(str.strip, input_file.lines[line:]))
    has_all_columns = len(cells) >= len(columns) and not cells[-1].endswith(".")
    if is_last_line and not (has_all_columns and _has_all_decimals(input_file, line)):
        input_file.add_note(line, name, "the last row is cut, and is left out")
        return
    if cells[1:2] in (["out-of-mem.;"], ["int-overflow.;"]):
        input_file.add_note(
            line, name, f"{cells[0]} bytes were not run: {cells[1]} the row is left out"
        )
        return
    if len(cells) != len(columns):
        message = (
            f"{short(' '.join(cells))} has {len(cells)} values, the heading before it"
            f" {len(columns)} columns"
        )
        input_file.add_problem(line, name, message)
        return
    size = 0.0
    if columns[0] in _SIZE_HEADINGS:
        message_size = input_file.number(line, "size", cells[0])
        if message_size is None or message_size < 0:
            input_file.add_problem(
                line, "size", f"a message has 0 bytes or more; got {short(cells[0])}"
            )
            return
        size = message_size
    coordinates = Coordinates(processors, size, name)
    if (index := _first_column_index(columns, _TIME_HEADINGS)) is not None:
        time_text = cells[index]
        if tool.name == "netgauge" and input_file.number(line, "time", time_text) is not None:
            time_text = repr(float(time_text) / 2)
        input_file.add(line, coordinates, "time", time_text, "us")
    elif (index := _first_column_index(columns, _RATE_HEADINGS)) is None:
        message = f"{short(', '.join(columns))} has no column of a time or a bandwidth"
        input_file.add_problem(line, name, message)
    elif size == 0:
        input_file.add_note(line, name, "0 bytes have no bandwidth, so the row is left out")
    else:
        rate_unit = "MiB/s" if tool.name == "perftest" else "MB/s"
        unit = "Gbit/s" if "[gb/sec]" in columns[index] else rate_unit
        input_file.add(line, coordinates, "bandwidth", cells[index], unit)


def _first_column_index(columns: Sequence[str], beginnings: Sequence[str]) -> int | None:
    """Return the index of the first column that begins with the first of some texts, else with the
    second, and so on; None if there is none.
    """
    return next(
        (
            index
            for beginning in beginnings
            for index, column in enumerate(columns)
            if column.startswith(beginning)
        ),
        None,
    )


FORMATS = tuple(
    FileFormat(tool.name, partial(_is_output_of, tool), partial(_read_output, tool))
    for tool in _TOOLS
)
