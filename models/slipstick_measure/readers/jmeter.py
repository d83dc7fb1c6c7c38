"""Samples of JMeter (JTL), as CSV or XML, the lines in which it sums them up while it runs, and the
statistics of its dashboard as JSON.

A sample of an XML file may contain others, which are its parts: embedded resources, or the requests
of a transaction. The number of active threads is in samples by default; where it was not saved, it
is that of the names of threads.

Formats: JMeter's user manual, sections "CSV Log format", "XML Log format" and "Summariser".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.elements import parse_xml
from slipstick_measure.readers.grid import table_of_file
from slipstick_measure.readers.reading import NUMBER, Reading, parse_json

JTL_HEAD = late_pattern(
    r"\ufeff?(?=[^\n]*\blabel\b)timeStamp[,;\t](?:[^\n]*[,;\t])?elapsed\b"
    r"|\ufeff?\s*+(?:<\?xml[^>]*+>\s*+)?<testResults\b"
)
"""What samples begin with: the names of their columns, or the outermost element."""

SUMMARY = late_pattern(r"^.*\bsummary [+=]\s+[0-9]+ in\s+[0-9:.]+s? =\s+[0-9.]+/s", re.MULTILINE)
"""A line in which JMeter sums up: ``+`` since the line before, ``=`` since the start."""

LEAST_SHARE_OF_LOAD = 0.05
"""Part of the samples below which a number of threads is one of a ramp, and no load."""

LARGEST_FAILED_SHARE = 0.01
"""Part of the requests that may fail and be left out of a think time."""

_PAUSE_RATIO = 10.0
_LEAST_PAUSE = 60e3
"""A pause between runs is longer than so many times the longest response and the usual time between
samples, and than so long [ms].
"""

_QUANTILES = (0.5, 0.9, 0.95, 0.99)
_TRANSACTION = "Number of samples in transaction"
_HEADING_OF_ATTRIBUTE = {
    "ts": "timeStamp",
    "t": "elapsed",
    "s": "success",
    "na": "allThreads",
    "tn": "threadName",
    "rm": "responseMessage",
}
_DATE_FORMATS = (
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%y %H:%M:%S",
)


class _Sample(NamedTuple):
    """A request: its start [ms], its elapsed time [ms], the number of active threads, and the name
    of its thread.
    """

    start: float
    response_time: float
    users: float | None
    thread_name: str

    @property
    def end(self) -> float:
        """The end of the request [ms]."""
        return self.start + self.response_time


def read_jtl(input_file: Reading) -> list[LoadRow]:
    """Read samples into a row for each number of threads that was active for long enough.

    Failed samples and those of transactions, which are sums of others, are left out.

    Raises
    ------
    SpecError : what is wrong with it, by line
    """
    read_rows = (
        _rows_of_xml if input_file.text.lstrip("\ufeff \t\r\n")[:1] == "<" else _rows_of_table
    )
    samples = list[_Sample]()
    failed_count = transaction_count = 0
    line = 1
    numbered_rows = list(read_rows(input_file))
    heading_lines = [line for line, cells in numbered_rows if cells.get("elapsed") == "elapsed"]
    numbered_rows = [row for row in numbered_rows if row[0] not in heading_lines]
    part_lines = _lines_of_parts(numbered_rows)
    _check_copies(input_file, numbered_rows)
    _check_runs(input_file, numbered_rows, heading_lines)
    for line_number, cells in numbered_rows:
        if line_number in part_lines:
            pass
        elif _TRANSACTION in cells.get("responseMessage", ""):
            transaction_count += 1
        elif cells.get("success", "true").casefold() != "true":
            failed_count += 1
        else:
            samples += _parse_sample(input_file, line_number, cells)
        line = line_number
    if input_file.problems:
        input_file.finished()
    if failed_count:
        input_file.add_note(1, "success", f"{failed_count} samples failed, and are left out")
    if transaction_count:
        input_file.add_note(1, "", f"{transaction_count} samples of transactions are left out")
    if part_lines:
        message = (
            f"{len(part_lines)} samples are parts of others, as of a request that was redirected,"
            " and are left out"
        )
        input_file.add_note(min(part_lines), "label", message)
    if not samples:
        counts_in_words = (
            f"{failed_count} samples failed, and {transaction_count} are sums of a transaction"
        )
        input_file.refuse(line, "", f"no request succeeded, so there is no load: {counts_in_words}")
    samples_in_order = sorted(_with_users(input_file, samples), key=lambda sample: sample.start)
    rows_by_users = _rows_by_users(
        samples_in_order, _indices_before_pauses(input_file, samples_in_order)
    )
    if failed_count <= LARGEST_FAILED_SHARE * (failed_count + len(samples)):
        return rows_by_users
    return [replace(row, unsteady=f"{failed_count} requests failed") for row in rows_by_users]


_MOST_COPIES = 9


def _check_copies(input_file: Reading, rows: Sequence[tuple[int, object]]) -> None:
    """Raise if a file consists of copies of its first part, as if it was appended to itself: its
    throughput would be a multiple of the true one.

    Parameters
    ----------
    rows : the requests, each after its line
    """
    entries = [entry for _, entry in rows]
    for copy_count in range(2, _MOST_COPIES + 1):
        request_count, remainder = divmod(len(entries), copy_count)
        is_copied = not remainder and entries == entries[:request_count] * copy_count
        if is_copied and any(entry != entries[0] for entry in entries):
            message = f"from here on the file repeats its {request_count} requests; keep one copy"
            input_file.refuse(rows[request_count][0], "", message)


def _check_runs(
    input_file: Reading, rows: Sequence[tuple[int, Mapping[str, str]]], heading_lines: Sequence[int]
) -> None:
    """Raise if a request stands in the file twice, or if runs under separate headings overlap in
    time: their requests would add up, but each run counts only its own threads.
    """
    line_by_request: dict[tuple[object, ...], int] = {}
    interval_by_run: dict[int, tuple[float, float]] = {}
    for line, cells in rows:
        if (interval := _start_and_end(cells)) is None:
            continue
        start, end = interval
        run_index = bisect_right(heading_lines, line)
        earliest, latest = interval_by_run.get(run_index, interval)
        interval_by_run[run_index] = min(start, earliest), max(end, latest)
        first_line = line_by_request.setdefault(tuple(cells.values()), line)
        # A thread cannot begin two requests in the same instant, unless they take none of its time.
        if first_line != line and cells.get("threadName") and end > start + _CLOCK_STEP:
            message = f"{short(cells['threadName'])} has the same request in line {first_line}"
            input_file.refuse(line, "threadName", f"{message}; keep one of the two copies")
    intervals_in_order = sorted(
        (*interval_of_run, run_index) for run_index, interval_of_run in interval_by_run.items()
    )
    for (_, end, earlier_run), (start, _, later_run) in pairwise(intervals_in_order):
        if start < end:
            line = heading_lines[max(earlier_run, later_run) - 1]
            message = (
                "the run under this heading overlaps in time with an earlier one, and each counts"
                " only its own threads; give each run a file of its own"
            )
            input_file.refuse(line, "timeStamp", message)


_PART_LABEL = late_pattern(r"(?P<whole>.+)-[0-9]{1,4}")


def _lines_of_parts(rows: Sequence[tuple[int, Mapping[str, str]]]) -> set[int]:
    """Return the lines of samples that are parts of another sample, such as redirections and
    embedded resources: a part has the label of the whole with a number, and lies within the time of
    the whole in the same thread.
    """
    intervals_by_thread_and_label: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(
        list
    )
    timed_samples = [
        (line, cells.get("threadName", ""), cells.get("label", ""), *interval)
        for line, cells in rows
        if (interval := _start_and_end(cells)) is not None
    ]
    for _, thread, label, start, end in timed_samples:
        intervals_by_thread_and_label[thread, label].append((start, end))
    for intervals_of_whole in intervals_by_thread_and_label.values():
        intervals_of_whole.sort()
    part_lines = set[int]()
    for line, thread, label, start, end in timed_samples:
        part_match = _PART_LABEL.fullmatch(label)
        intervals_of_whole = (
            intervals_by_thread_and_label.get((thread, part_match["whole"]), [])
            if part_match
            else []
        )
        interval_index = bisect_right(intervals_of_whole, (start, inf)) - 1
        if interval_index >= 0 and end <= intervals_of_whole[interval_index][1] + _CLOCK_STEP:
            part_lines.add(line)
    return part_lines


_CLOCK_STEP = 1.0
"""By which a part may end after its whole [ms]: times are rounded to it."""


def _start_and_end(cells: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the start and the end of a sample [ms]; None if they cannot be read."""
    start, elapsed_text = (
        _parse_milliseconds(cells.get("timeStamp", "")),
        cells.get("elapsed", "").strip(),
    )
    if start is None or not NUMBER.fullmatch(elapsed_text):
        return None
    return start, start + float(elapsed_text)


def _rows_of_table(input_file: Reading) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows of a table of samples, each with its line and its cells by heading."""
    grid = table_of_file(input_file)
    for line, cells in grid.rows:
        if len(cells) == len(grid.heading):
            yield line, dict(zip(grid.heading, cells, strict=True))
        elif len(cells) < len(grid.heading) and line == grid.rows[-1][0]:
            input_file.add_note(line, "", "the last row is cut, and is left out")
        else:
            counts_in_words = f"{len(cells)} values, where the header promises {len(grid.heading)}"
            input_file.add_problem(line, "", counts_in_words)


def _rows_of_xml(input_file: Reading) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the outermost samples and the samples inside transactions; other nested samples are
    parts of the sample that contains them.
    """
    root = parse_xml(replace(input_file, text=input_file.text.lstrip("\ufeff")))
    elements = [child for results_element in root.children for child in results_element.children][
        ::-1
    ]
    while elements:
        element = elements.pop()
        if element.tag not in ("sample", "httpSample"):
            continue
        attributes = element.attributes.items()
        cells = {_HEADING_OF_ATTRIBUTE.get(name, name): text for name, text in attributes}
        yield element.line, cells
        if _TRANSACTION in cells.get("responseMessage", ""):
            elements += reversed(element.children)


def _parse_sample(input_file: Reading, line: int, cells: Mapping[str, str]) -> Iterator[_Sample]:
    """Parse a sample; yield nothing after recording a problem."""
    start = _parse_instant(input_file, line, cells.get("timeStamp", ""))
    elapsed = input_file.number(line, "elapsed", cells.get("elapsed", ""))
    active_text = cells.get("allThreads")
    users = input_file.number(line, "allThreads", active_text) if active_text is not None else None
    if start is not None and elapsed is not None:
        yield _Sample(start, elapsed, users, cells.get("threadName", ""))


def _parse_instant(input_file: Reading, line: int, text: str) -> float | None:
    """Parse a point in time [ms]; None after recording a problem."""
    instant = None if NUMBER.fullmatch(text.strip()) else _parse_milliseconds(text)
    return input_file.number(line, "timeStamp", text) if instant is None else instant


def _parse_milliseconds(text: str) -> float | None:
    """Parse a point in time [ms], written as a number or as a date; None for other texts."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        return float(text)
    for date_format in _DATE_FORMATS:
        try:
            return datetime.strptime(text, date_format).timestamp() * 1e3
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text).timestamp() * 1e3
    except ValueError:
        return None


def _with_users(input_file: Reading, samples: Sequence[_Sample]) -> Iterator[_Sample]:
    """Yield the samples with the number of users: the active threads, else the number that the user
    gives, else the number of distinct thread names.
    """
    if all(sample.users is not None for sample in samples):
        yield from samples
        return
    user_count = input_file.hints.processors or len(
        {sample.thread_name for sample in samples} - {""}
    )
    if not user_count:
        message = (
            "the samples do not say how many threads were active (allThreads); write --processors N"
        )
        input_file.refuse(1, "", message)
    if input_file.hints.processors is None:
        message = (
            f"the samples do not say how many threads were active (allThreads), so the {user_count}"
            " that have a name in them are used; write --processors N if there were others"
        )
        input_file.add_note(1, "threadName", message)
    for sample in samples:
        yield sample._replace(users=float(user_count))


def _indices_before_pauses(input_file: Reading, samples: Sequence[_Sample]) -> set[int]:
    """Return the indices of the samples after which nothing ran for long, as between two runs that
    wrote into one file.
    """
    gaps_between_starts = [
        next_sample.start - sample.start for sample, next_sample in pairwise(samples)
    ]
    longest_response = max(sample.response_time for sample in samples)
    usual_gap = median(gaps_between_starts) if gaps_between_starts else 0.0
    shortest_pause = max(_PAUSE_RATIO * longest_response, _PAUSE_RATIO * usual_gap, _LEAST_PAUSE)
    gap_by_index = {
        index: gap for index, gap in enumerate(gaps_between_starts) if gap > shortest_pause
    }
    if gap_by_index:
        longest_pause = max(gap_by_index.values()) / 1e3
        message = (
            f"{len(gap_by_index) + 1} runs are in it, up to {longest_pause:g} s apart;"
            " the pauses are left out"
        )
        input_file.add_note(1, "timeStamp", message)
    return set(gap_by_index)


def _rows_by_users(
    samples: Sequence[_Sample],
    pause_indices: set[int],
    user_count_function: Callable[[float], float] | None = None,
) -> list[LoadRow]:
    """Return a row for each number of threads.

    Its throughput is by Little's law the mean number of requests that are under way while so many
    threads are active, divided by the mean time of the requests that begin then. Requests that end
    in this time would be too few in a short test: those under way at its end are not counted, and
    all threads begin together. Without pauses and think times it is the number of threads divided
    by the mean response time. A pause between runs counts as no time.

    Parameters
    ----------
    user_count_function : the number of users from a point in time on; that of the samples if None
    """
    user_count_function = user_count_function or _user_count_function(samples)
    response_times_by_users: dict[float, list[float]] = defaultdict(list)
    for sample in samples:
        response_times_by_users[user_count_function(sample.start)].append(sample.response_time)
    duration_by_users: dict[float, float] = defaultdict(float)
    busy_time_by_users: dict[float, float] = defaultdict(float)
    pause_ends = {samples[pause_index + 1].start for pause_index in pause_indices}
    times_and_changes = sorted(
        change for sample in samples for change in ((sample.start, 1), (sample.end, -1))
    )
    requests_under_way = 0
    for (start, change), (end, _) in pairwise(times_and_changes):
        requests_under_way += change
        if requests_under_way or end not in pause_ends:
            duration_by_users[user_count_function(start)] += end - start
            busy_time_by_users[user_count_function(start)] += requests_under_way * (end - start)
    return [
        _row_of_threads(users, response_times, duration_by_users[users], busy_time_by_users[users])
        for users, response_times in sorted(response_times_by_users.items())
        if users >= 1 and len(response_times) >= LEAST_SHARE_OF_LOAD * len(samples)
    ]


def _user_count_function(samples: Sequence[_Sample]) -> Callable[[float], float]:
    """Return a function from a point in time to the number of active threads after it; each sample
    has that number at its end.
    """
    users_by_end: dict[float, float] = defaultdict(float)
    for sample in samples:
        users_by_end[sample.end] = max(users_by_end[sample.end], sample.users or 0.0)
    starts = sorted(sample.start for sample in samples)
    ends = sorted(sample.end for sample in samples)

    def user_count_at(instant: float) -> float:
        """Return the number of users at an instant: the number at the next end of a sample, or at
        the last end if no sample is under way, because threads that think remain.
        """
        index = bisect_right(ends, instant)
        is_idle = bisect_right(starts, instant) == index > 0
        return users_by_end[ends[index - 1 if is_idle else min(index, len(ends) - 1)]]

    return user_count_at


def _row_of_threads(
    users: float, response_times: list[float], duration: float, busy_time: float
) -> LoadRow:
    """Return the row of a load test for a number of threads.

    Parameters
    ----------
    response_times : of the requests that begin with so many active threads [ms]
    duration : for which so many threads are active [ms]
    busy_time : sum over the requests of their parts in this time [ms]
    """
    response_times.sort()
    request_count = len(response_times)
    mean_response = sum(response_times) / request_count
    completed_requests = busy_time / mean_response if mean_response else request_count
    return LoadRow(
        1,
        users=users,
        throughput=completed_requests / (duration / 1e3) if duration else None,
        response=mean_response / 1e3,
        quantiles={
            share: response_times[min(int(share * request_count), request_count - 1)] / 1e3
            for share in _QUANTILES
            if request_count * (1 - share) >= 1
        },
    )


K6_POINTS = late_pattern(
    r'\A\s*\{"(?:type|metric)":"[^\n]*"type":"(?:Point|Metric)"|\A\s*\{"type":"Metric",'
)
"""What ``k6 run --out json=FILE`` writes: an object a line, of a metric or of one of its points."""


def read_k6_points(input_file: Reading) -> list[LoadRow]:
    """Read the single requests of k6 into a row for each number of virtual users; requests that
    failed are left out. A point stands at the end of its request.

    Raises
    ------
    SpecError : what is wrong with it, by line
    """
    end_times_and_durations = list[tuple[float, float]]()
    instants_and_counts = list[tuple[float, float]]()
    lines_and_requests = list[tuple[int, object]]()
    failed_count = 0
    for line, text in input_file.content:
        point = parse_json(input_file, text, line)
        if not isinstance(point, dict) or point.get("type") != "Point":
            continue
        metric, point_data = point.get("metric"), point.get("data") or {}
        if metric not in ("http_req_duration", "vus"):
            continue
        instant = _parse_instant(input_file, line, str(point_data.get("time", "")))
        value = input_file.number(line, str(metric), str(point_data.get("value", "")))
        if instant is None or value is None:
            continue
        if metric == "vus":
            instants_and_counts.append((instant, value))
        elif (point_data.get("tags") or {}).get("expected_response") == "false":
            failed_count += 1
        else:
            end_times_and_durations.append((instant, value))
            lines_and_requests.append((line, end_times_and_durations[-1]))
    if input_file.problems:
        input_file.finished()
    _check_copies(input_file, lines_and_requests)
    if not end_times_and_durations:
        input_file.refuse(
            1, "", f"no request succeeded, so there is no load; {failed_count} failed"
        )
    if failed_count:
        input_file.add_note(1, "", f"{failed_count} requests failed, and are left out")
    times_and_user_counts = sorted(count for count in instants_and_counts if count[1])
    samples = [
        _Sample(end - elapsed, elapsed, _user_count_at(times_and_user_counts, end), "")
        for end, elapsed in end_times_and_durations
    ]
    samples_in_order = sorted(_with_users(input_file, samples), key=lambda sample: sample.start)
    pause_indices = _indices_before_pauses(input_file, samples_in_order)
    user_count_function = (
        (lambda instant: _user_count_at(times_and_user_counts, instant) or 0.0)
        if times_and_user_counts
        else None
    )
    rows = _rows_by_users(samples_in_order, pause_indices, user_count_function)
    if failed_count <= LARGEST_FAILED_SHARE * (failed_count + len(end_times_and_durations)):
        return rows
    return [replace(row, unsteady=f"{failed_count} requests failed") for row in rows]


def _user_count_at(
    instants_and_counts: Sequence[tuple[float, float]], instant: float
) -> float | None:
    """Return the number of virtual users at a point in time: the last count before it, else the
    first count; None without counts.

    Parameters
    ----------
    instants_and_counts : the points in time at which users are counted, and their numbers above 0
    """
    if not instants_and_counts:
        return None
    return instants_and_counts[max(bisect_right(instants_and_counts, (instant, inf)) - 1, 0)][1]


_SUMMARY_LINE = late_pattern(
    r"\bsummary (?P<of>[+=])\s+[0-9]+ in\s+[0-9:.]+s? =\s+(?P<rate>[0-9.]+)/s"
    r" Avg:\s+(?P<mean>[0-9]+) Min:\s+[0-9]+ Max:\s+[0-9]+ Err:\s+(?P<failed>[0-9]+)"
    r"[^\n]*?(?:Active: (?P<active>[0-9]+)|$)",
    re.MULTILINE,
)


_TOTAL_NAME = "Total"
_STATISTIC_BY_SHARE = {
    0.5: "medianResTime",
    0.9: "pct1ResTime",
    0.95: "pct2ResTime",
    0.99: "pct3ResTime",
}
"""Times of statistics.json by share: the percentiles are those that JMeter computes by default."""


def read_statistics(input_file: Reading) -> LoadRow:
    """Read the row of all requests in statistics.json of JMeter's dashboard; requests that failed
    are counted in the throughput and the times.

    Raises
    ------
    SpecError : there is no such row among several
    """
    document = parse_json(input_file, input_file.text)
    if _TOTAL_NAME not in document and len(document) > 1:
        names_in_words = ", ".join(map(short, list(document)[:4]))
        message = (
            f"there is no {_TOTAL_NAME}, and rows of several requests ({names_in_words}) make no"
            " load; keep one"
        )
        input_file.refuse(1, "", message)
    value_by_statistic = document.get(_TOTAL_NAME) or next(iter(document.values()))
    if float(value_by_statistic.get("errorCount", 0)):
        message = (
            f"{value_by_statistic['errorCount']} requests failed, and are counted in the"
            " throughput and the times"
        )
        input_file.add_note(1, "errorCount", message)
    return LoadRow(
        1,
        throughput=float(value_by_statistic["throughput"]),
        response=float(value_by_statistic["meanResTime"]) / 1e3,
        quantiles={
            share: float(value_by_statistic[name]) / 1e3
            for share, name in _STATISTIC_BY_SHARE.items()
            if name in value_by_statistic
        },
    )


def read_summary(input_file: Reading) -> LoadRow:
    """Read the last line in which JMeter sums up since the start, with the largest number of active
    threads.
    """
    line_matches = list(_SUMMARY_LINE.finditer(input_file.text))
    if not line_matches:
        input_file.refuse(
            1, "", "the lines in which JMeter sums up are cut before their mean time (Avg)"
        )
    unsteady_reason = ""
    total_matches = [
        line_match for line_match in line_matches if line_match["of"] == "="
    ] or line_matches
    thread_counts = list(
        dict.fromkeys(
            int(line_match["active"]) for line_match in line_matches if line_match["active"]
        )
    )
    most_threads = max(thread_counts, default=0)
    if len(positive_counts := [count for count in thread_counts if count]) > 1:
        counts_text = ", ".join(map(str, positive_counts))
        message = (
            f"active threads changed ({counts_text}); throughput and mean time are of all together"
        )
        input_file.add_note(1, "", message)
        unsteady_reason = f"active threads changed in the run, up to {most_threads}"
    if int(total_matches[-1]["failed"]):
        message = (
            f"{total_matches[-1]['failed']} requests failed, and are counted in the throughput"
        )
        input_file.add_note(1, "", message)
    return LoadRow(
        1,
        users=float(most_threads) if most_threads else None,
        throughput=float(total_matches[-1]["rate"]),
        response=float(total_matches[-1]["mean"]) / 1e3,
        unsteady=unsteady_reason,
    )
