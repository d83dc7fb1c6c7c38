"""Outputs of programs that clusters are measured with: nccl-tests, High-Performance Linpack and
likwid-perfctr.

nccl-tests print a row for each size: size [B], count, type, reduction, root, then time [us],
algorithm bandwidth and bus bandwidth [GB/s] and errors, out of place and in place. The output does
not name the operation before version 2.14; the ratio of the bandwidths says how much of the data a
link carries, and so which operation it may be (nccl-tests, doc/PERFORMANCE.md). rccl-tests print
the same.

HPL prints a row for each run that begins with WR or WC: variant, order N, block NB, grid P and Q,
time [s] and rate [GFLOP/s].

likwid-perfctr -o FILE.csv (LIKWID 4 and 5) has a table of metrics for each group of events, and for
each region of a program that marks some: a column for each hardware thread. The longest runtime of
a thread is the time of the run; rates and counts are left out. What it prints has the same tables
drawn with bars, after a line with the region and the group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from slipstick.late import dataclass, field, late_pattern, replace
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.reading import (
    MOST_LINES_ABOVE,
    NUMBER,
    Coordinates,
    FileFormat,
    Reading,
)

_NCCL_HEAD = late_pattern(r"\s*+(?:#\s++)?size\s+count\s+type\b.*\balgbw\s+busbw\b")
_RANK = late_pattern(r"\s*+(?:#\s++Rank\s+|Rank\s+(?=[0-9]+\s+(?:Pid|Group)\b))([0-9]+)\b.*")
_OPERATION = late_pattern(r"\s*+#\s*Collective test starting:\s*(\w+?)(?:_perf)?\s*")
_SETTINGS = late_pattern(r"\s*+#?\s*+nThread\s+([0-9]{1,6})\s+nGpus\s+([0-9]{1,6})\b")
_NCCL_ROW = late_pattern(r"\s*[0-9]+\s+[0-9]+\s+\w+\s.*")
_NCCL_TYPE = late_pattern(
    r"\s*[0-9]+\s+[0-9]+\s+(?:u?int\d+|float|double|half|bfloat16|fp8\w*)\s.*"
)
_HPL_HEAD = late_pattern(r"\s*T/V\s+N\s+NB\s+P\s+Q\s+Time\s+Gflops(?:\s+\(\s*per GPU\s*\))?\s*")
_HPL_ROW = late_pattern(
    r"\s*(W[RC]\d\w*)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)"
    r"(?:\s+\([^)]*\)?)?\s*"
)
_CUT_HPL_ROW = late_pattern(r"\s*W[RC]\d\w*(?:\s+[\d.e+]+){1,5}\s*")
_COLUMN_AFTER_SIZE = {"time": 0, "algbw": 1, "busbw": 2}


def _is_nccl(input_file: Reading) -> bool:
    """Return whether a file is an output of nccl-tests."""
    return any(_NCCL_HEAD.match(line) for line in input_file.lines[:MOST_LINES_ABOVE])


def _read_nccl(input_file: Reading) -> Measurements:
    """Read the out-of-place and in-place times and bus bandwidths of each test in the file; each
    operation is a region.
    """
    tests = list[_NcclTest]()
    test = _NcclTest()
    lines_without_heading = list[int]()
    for line, text in enumerate(input_file.lines, 1):
        settings_match = _SETTINGS.match(text)
        operation_match = _OPERATION.fullmatch(text)
        rank_match = _RANK.fullmatch(text)
        if test.shares and (settings_match or operation_match or rank_match):
            test = _NcclTest()
        if settings_match:
            test.least_ranks = int(settings_match[1]) * int(settings_match[2])
        elif operation_match:
            test.operation = operation_match[1]
        elif rank_match:
            test.ranks.add(int(rank_match[1]))
        elif _NCCL_HEAD.match(text):
            test.columns = text.lstrip("# ").split()
        elif test.columns and _NCCL_ROW.fullmatch(text):
            if not tests or tests[-1] is not test:
                test.rank_count = (
                    _rank_count(input_file, test.ranks, test.least_ranks)
                    or input_file.hints.processors
                )
                tests.append(test)
            if test.rank_count is None:
                input_file.refuse(
                    line, "", "the ranks are not listed in it; say how many with --processors"
                )
            _read_nccl_row(input_file, line, text.split(), test, str(len(tests) - 1))
        elif not test.columns and _NCCL_TYPE.fullmatch(text):
            lines_without_heading.append(line)
    if lines_without_heading:
        message = f"{len(lines_without_heading)} rows have no heading above them, and are left out"
        input_file.add_note(lines_without_heading[0], "", message)
    measurements = input_file.finished()
    operation_names = [
        test.operation or _likely_operation(test.shares, test.rank_count or 0) for test in tests
    ]
    records = [
        replace(run, region=operation_names[int(run.region)]) for run in measurements.records
    ]
    title = ", ".join(dict.fromkeys(operation_names))
    source = f"nccl-tests {input_file.name}"
    # Without loss an operation of more ranks takes as long: its bus bandwidth stays.
    return replace(
        measurements,
        records=tuple(records),
        title=title,
        source=source,
        weak=True,
        sizes_of_each=True,
    )


@dataclass
class _NcclTest:
    """A test of nccl-tests while it is read; a file may hold several, each with its ranks.

    Attributes
    ----------
    operation : its name, empty where the output does not say it
    least_ranks : least number of ranks, from the threads and GPUs of a process
    shares : bus bandwidth over algorithm bandwidth of each row
    rank_count : None where neither the output nor an option says how many
    """

    operation: str = ""
    ranks: set[int] = field(default_factory=set)
    least_ranks: int = 0
    columns: Sequence[str] = ()
    shares: list[float] = field(default_factory=list)
    rank_count: int | None = None


def _rank_count(input_file: Reading, ranks: set[int], least_ranks: int) -> int:
    """Return the number of ranks in a test. The list of its ranks may be cut at its beginning but
    not at its end.
    """
    if ranks and input_file.hints.processors is None and ranks != set(range(len(ranks))):
        input_file.add_note(
            1, "", f"the list of ranks begins before rank {min(ranks)}; its last is {max(ranks)}"
        )
    return max(max(ranks, default=-1) + 1, least_ranks)


def _read_nccl_row(
    input_file: Reading,
    line: int,
    words: Sequence[str],
    test: _NcclTest,
    region: str,
) -> None:
    """Read one row of nccl-tests: its out-of-place values, then its in-place values."""
    if any("NCCL" in word for word in words):
        message = (
            "a message of NCCL stands within the row; run it again without NCCL_DEBUG, or with"
            " NCCL_DEBUG_FILE=FILE, which keeps messages out of the table"
        )
        input_file.refuse(line, "", message)
    columns = test.columns
    optional_columns = [name for name in ("redop", "root") if name in columns]
    if 0 < len(columns) - len(words) <= len(optional_columns):  # of operations that reduce nothing
        missing_columns = optional_columns[: len(columns) - len(words)]
        columns = [name for name in columns if name not in missing_columns]
    is_last_line = not any(map(str.strip, input_file.lines[line:]))
    if len(words) < len(columns) and is_last_line:
        input_file.add_note(line, "", "the last row is cut, and is left out")
        return
    if len(words) != len(columns):
        input_file.add_problem(
            line, "", f"{len(words)} values, where the heading has {len(columns)} columns"
        )
        return
    size = input_file.number(line, "size", words[0])
    if size is None:
        return
    wrong_counts = [
        word for name, word in zip(columns, words, strict=True) if name.lstrip("#") == "wrong"
    ]
    if wrong_counts and re.fullmatch("[1-9][0-9]*", wrong_counts[0]):
        message = f"{wrong_counts[0]} results of this row are wrong, so its time may be, too"
        input_file.add_note(line, "#wrong", message)
    time_indices = [index for index, column in enumerate(columns) if column == "time"]
    for time_index, metric in zip(time_indices, ("time", "in place"), strict=False):
        coordinates = Coordinates(test.rank_count or 1, size, region)
        cells = [words[time_index + index] for index in _COLUMN_AFTER_SIZE.values()]
        input_file.add(line, coordinates, metric, cells[0], "us")
        if metric == "time":
            input_file.add(line, coordinates, "throughput", cells[2], "GB/s")
        bandwidths = [input_file.number(line, "bandwidth", cell) for cell in cells[1:]]
        if bandwidths[0] and bandwidths[1]:
            test.shares.append(bandwidths[1] / bandwidths[0])


def _likely_operation(shares: Sequence[float], rank_count: int) -> str:
    """Return the collective operation that the ratios of bus to algorithm bandwidth suggest, which
    are the shares of the data that a link carries.
    """
    if not shares or rank_count < 3:
        return "collective operation"
    median_share = sorted(shares)[len(shares) // 2]
    operation_by_ratio = {
        2 * (rank_count - 1) / rank_count: "all-reduce",
        (rank_count - 1) / rank_count: "all-gather, reduce-scatter or all-to-all",
        1.0: "broadcast or reduce",
    }
    nearest_ratio = min(operation_by_ratio, key=lambda ratio: abs(ratio - median_share))
    return (
        operation_by_ratio[nearest_ratio]
        if abs(nearest_ratio - median_share) < 0.03
        else "collective operation"
    )


def _is_hpl(input_file: Reading) -> bool:
    """Return whether a file is an output of High-Performance Linpack."""
    return any(_HPL_HEAD.fullmatch(line) or _HPL_ROW.fullmatch(line) for line in input_file.lines)


class _LinpackRun(NamedTuple):
    """A run: its line, its processors and order N, how it was set (variant, order, block and grid),
    and its time [s] and rate [GFLOP/s] as they are written.
    """

    line: int
    processors: int
    size: float
    setting: str
    time: str
    rate: str


def _read_hpl(input_file: Reading) -> Measurements:
    """Read the fastest setting for each number of processors P x Q, and for each order N if there
    is one number of processors. Orders that grow with the processors are comparable by rate.

    A run with another variant, block or grid is no repetition: the settings are tried to find the
    fastest one.
    """
    runs = list[_LinpackRun]()
    for line, text in enumerate(input_file.lines, 1):
        if row_match := _HPL_ROW.fullmatch(text):
            processors = input_file.processors(
                line, "P x Q", str(int(row_match[4]) * int(row_match[5]))
            )
            size = input_file.size(line, "N", row_match[2])
            rate = input_file.number(line, "Gflops", row_match[7])
            is_last_line = not any(map(str.strip, input_file.lines[line:]))
            if is_last_line and _is_cut_in_exponent(int(row_match[2]), row_match[6], row_match[7]):
                input_file.add_note(line, "Gflops", "the last row is cut, and is left out")
                continue
            if processors is not None and size is not None and rate is not None:
                setting = (
                    f"{row_match[1]}, N {row_match[2]}, NB {row_match[3]},"
                    f" P x Q {row_match[4]} x {row_match[5]}"
                )
                runs.append(
                    _LinpackRun(line, processors, size, setting, row_match[6], row_match[7])
                )
        elif _CUT_HPL_ROW.fullmatch(text):
            input_file.add_note(line, "", "the row of a run is cut, and is left out")
        elif "FAILED" in text and "PASSED" not in text and "tests" not in text:
            input_file.add_note(line, "", "a residual check failed, so a run is not valid")
    has_one_count = len({run.processors for run in runs}) == 1
    runs_by_point: dict[Coordinates, list[_LinpackRun]] = {}
    for run in runs:
        point = Coordinates(run.processors, run.size if has_one_count else None)
        runs_by_point.setdefault(point, []).append(run)
    for coordinates, runs_of_point in runs_by_point.items():
        for run in _runs_of_fastest_setting(input_file, runs_of_point):
            input_file.add(run.line, coordinates, "throughput", run.rate, "GFLOP/s")
            input_file.add(run.line, coordinates, "time of the run", run.time, "s")
    return input_file.finished()


def _is_cut_in_exponent(matrix_order: int, time_text: str, rate_text: str) -> bool:
    """Return whether the end of a rate [GFLOP/s], its exponent, is missing: the rate without one is
    less than half of the operations for a matrix of an order, divided by the time.
    """
    if re.search(r"e[+-][0-9]{2}$", rate_text) or not (
        NUMBER.fullmatch(rate_text) and NUMBER.fullmatch(time_text)
    ):
        return False
    operation_count = 2 / 3 * matrix_order**3 + 3 / 2 * matrix_order**2
    return float(rate_text) * float(time_text) * 1e9 < 0.5 * operation_count


def _runs_of_fastest_setting(input_file: Reading, runs: Sequence[_LinpackRun]) -> list[_LinpackRun]:
    """Return the runs with the same setting as the fastest run; note the choice if there are
    several settings.
    """
    fastest_run = max(runs, key=lambda run: float(run.rate))
    settings = dict.fromkeys(run.setting for run in runs)
    if len(settings) > 1:
        message = (
            f"the fastest of {len(settings)} settings on {fastest_run.processors} processors is"
            f" read: {fastest_run.setting}"
        )
        input_file.add_note(fastest_run.line, "", message)
    return [run for run in runs if run.setting == fastest_run.setting]


_LIKWID_TABLE = late_pattern(
    r"TABLE,(?:Region (?P<region>[^,]+),)?Group (?P<group>[0-9]+) (?P<kind>[^,]+),.*"
)


_LIKWID_GROUP = late_pattern(r"\s*(?:Region (?P<region>.+), )?Group (?P<group>[0-9]+): \S+\s*")
_LIKWID_METRICS = late_pattern(r"\s*\|\s*Metric\s*\|(?:\s*(?:HWThread|Core|GPU) [0-9]+\s*\|)+\s*")


_LIKWID_STATISTICS = late_pattern(r"\s*\|\s*(?:Metric|Event)\s*\|.*\bSum\s*\|\s*Min\s*\|")
"""The heading of a table over all threads, which may follow that of each thread at once."""


_LIKWID_TOTALS = late_pattern(
    r"\s*\|\s*Runtime \(RDTSC\) \[s\] STAT\s*\|(?P<cells>(?:[^|]++\|){4})\s*"
)
"""A row of sum, least, largest and mean over the threads."""


def _is_likwid(input_file: Reading) -> bool:
    """Return whether a file is an output of likwid-perfctr."""
    formats = (_LIKWID_TABLE, _LIKWID_METRICS, _LIKWID_TOTALS)
    return any(
        pattern.fullmatch(line) is not None
        for line in input_file.lines[:MOST_LINES_ABOVE]
        for pattern in formats
    )


def _read_likwid_totals(input_file: Reading) -> Measurements:
    """Read the largest runtime from tables over all threads, if the tables of each thread are
    missing. The number of threads is the sum of their runtimes divided by the mean.
    """
    for line, text in enumerate(input_file.lines, 1):
        match = _LIKWID_TOTALS.fullmatch(text)
        cells = match["cells"].rstrip("|").split("|") if match else []
        thread_seconds, _, largest_seconds, mean_seconds = [
            input_file.number(line, "Runtime", cell) for cell in cells
        ] or [None] * 4
        if thread_seconds and largest_seconds and mean_seconds:
            thread_count = input_file.hints.processors or round(thread_seconds / mean_seconds)
            coordinates = Coordinates(thread_count, input_file.hints.size)
            input_file.add(line, coordinates, "time", f"{largest_seconds!r}", "s")
    message = "threads are the sum over the mean; the tables of each thread are not in the file"
    input_file.add_note(1, "", message)
    return input_file.finished()


def _likwid_csv_lines(lines: Sequence[str]) -> list[str]:
    """Return tables that are drawn with bars as lines of likwid's CSV, one for each line."""
    table_lines = list[str]()
    group_name = "Group 1"
    is_inside_table = False
    for index, text in enumerate(lines):
        if group_match := _LIKWID_GROUP.fullmatch(text):
            region = (
                f"Region {group_match['region'].replace(',', ' ')},"
                if group_match["region"]
                else ""
            )
            group_name = f"{region}Group {group_match['group']}"
        starts_table = (
            index + 1 < len(lines) and _LIKWID_METRICS.fullmatch(lines[index + 1]) is not None
        )
        if starts_table:
            is_inside_table = True
            table_lines.append(f"TABLE,{group_name} Metric,")
        elif is_inside_table and _LIKWID_STATISTICS.match(text):
            is_inside_table = False
            table_lines.append("")
        elif is_inside_table and text.strip().startswith("|"):
            table_lines.append(
                ",".join(cell.strip() for cell in text.strip().strip("|").split("|"))
            )
        else:
            is_inside_table = is_inside_table and text.strip().startswith("+")
            table_lines.append("")
    return table_lines


def _read_likwid(input_file: Reading) -> Measurements:
    """Read the runtime of the slowest thread for each group of events and each region."""
    table_match = None
    thread_count = 0
    has_runtime = False
    other_metrics: dict[str, None] = {}
    has_bars = any(_LIKWID_METRICS.fullmatch(line) for line in input_file.lines[:MOST_LINES_ABOVE])
    if not has_bars and not any(
        _LIKWID_TABLE.fullmatch(line) for line in input_file.lines[:MOST_LINES_ABOVE]
    ):
        return _read_likwid_totals(input_file)
    lines = _likwid_csv_lines(input_file.lines) if has_bars else input_file.lines
    for line, text in enumerate(lines, 1):
        if text.startswith(("TABLE,", "STRUCT,")):
            table_match = _LIKWID_TABLE.fullmatch(text)
            table_match = (
                table_match if table_match is not None and table_match["kind"] == "Metric" else None
            )
            thread_count = 0
            continue
        name, *cells = text.rstrip(", ").split(",")
        if table_match is None or not name:
            continue
        if name == "Metric":
            thread_count = len(cells)
        elif not name.startswith("Runtime (RDTSC)"):
            other_metrics[name] = None
        elif len(cells) != thread_count:
            input_file.add_problem(
                line, name, f"{len(cells)} values, where the heading has {thread_count} threads"
            )
        else:
            has_runtime = True
            times = [input_file.number(line, name, cell) for cell in cells]
            coordinates = Coordinates(
                input_file.hints.processors or thread_count,
                input_file.hints.size,
                table_match["region"] or "",
                int(table_match["group"]) if int(table_match["group"]) > 1 else None,
            )
            if None not in times:
                input_file.add(
                    line, coordinates, "time", f"{max(time or 0.0 for time in times)!r}", "s"
                )
    if not has_runtime and not input_file.problems:
        message = "there is no table of metrics with a runtime in it; name a group, as -g MEM"
        input_file.refuse(1, "", message)
    if other_metrics:
        input_file.add_note(1, "", f"left out: {', '.join(list(other_metrics)[:6])[:200]}")
    return input_file.finished()


FORMATS = (
    FileFormat("likwid", _is_likwid, _read_likwid),
    FileFormat("nccl", _is_nccl, _read_nccl),
    FileFormat("hpl", _is_hpl, _read_hpl),
)
