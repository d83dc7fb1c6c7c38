"""perf stat (its table, ``-x SEP`` and ``-j``) and perf lock contention (a table, or ``-x SEP``).

A file describes one run. perf stat prints how long the processors were busy (``task-clock``); the
elapsed time is the event ``duration_time`` if it was counted, else busy time over the processors
used, which perf prints beside it. The number of processors is given beside the file.

perf lock contention prints the waits for each lock by caller, added up over all threads, and
neither the elapsed time nor the number of processors; both are given beside the file. It measures
locks of the kernel; a contended lock of a program shows as callers in futex. It does not measure
how long locks are held.

Format: perf stat as printed by perf 6.1, where ``-r`` adds a column with the variation after the
event; perf lock as printed by perf 6.1 and, with ``-x``, perf 6.8.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurement, Measurements
from slipstick_measure.readers.reading import (
    Coordinates,
    FileFormat,
    JsonNumber,
    Reading,
    parse_json,
)

_HEADER = late_pattern(r"#?\s*+(?:output:\s*+)?contended\b.*\btotal wait\b")
_REPORT = late_pattern(r"\s*Name\s+acquired\s+contended\b")
_WAIT = r"([0-9.]+) (ns|us|ms|s|m|h)"
_ROW = late_pattern(rf"\s*([0-9]+)\s+{_WAIT}\s+{_WAIT}\s+{_WAIT}\s+(.+)")
_WITH_SEPARATOR = 6


def _is_perf_lock(input_file: Reading) -> bool:
    """Return whether a file is an output of perf lock contention."""
    return any(_HEADER.match(line) or _REPORT.match(line) for line in input_file.lines)


def _read_perf_lock(input_file: Reading) -> Measurements:
    """Read the waits at the locks in an output of perf lock contention."""
    hints = input_file.hints
    if hints.processors is None or hints.time is None:
        input_file.refuse(
            1,
            "",
            "perf lock prints neither processors nor elapsed time; give them: --processors 8 --time"
            " '3.2 s'",
        )
    if any(_REPORT.match(line) for line in input_file.lines):
        input_file.refuse(
            1,
            "",
            "this is perf lock report; print perf lock contention instead, which says what waited",
        )
    coordinates = Coordinates(hints.processors, hints.size)
    input_file.add(1, coordinates, "time", repr(hints.time), "s")
    is_in_table = False
    for line, text in enumerate(input_file.lines, 1):
        if _HEADER.match(text):
            is_in_table = True
        elif is_in_table and text.strip() and not text.startswith(("=", "#")):
            _read_waits(input_file, line, coordinates, text)
    if not is_in_table:
        input_file.refuse(
            1,
            "",
            "there is no head of a table, 'contended  total wait  max wait  avg wait  type "
            " caller'",
        )
    # Lines of one caller are several locks, or several ways to the same one.
    run_by_region_and_metric: dict[tuple[str, str], Measurement] = {}
    for run in input_file.runs:
        region_and_metric = run.region, run.metric
        run_by_region_and_metric[region_and_metric] = (
            replace(
                run_by_region_and_metric[region_and_metric],
                value=run_by_region_and_metric[region_and_metric].value + run.value,
                text="",
            )
            if region_and_metric in run_by_region_and_metric
            else run
        )
    input_file.runs = list(run_by_region_and_metric.values())
    return input_file.finished()


def _read_waits(input_file: Reading, line: int, run_coordinates: Coordinates, text: str) -> None:
    """Read a line of perf lock contention: the waits at a lock and their total time."""
    if match := _ROW.fullmatch(text):
        count_text, wait_text, unit, *_, text_behind = match.groups()
        lock_type, _, caller = text_behind.strip().partition(" ")
        lock_name = caller.strip() or lock_type
    else:
        fields = [
            field.strip() for field in re.split("[,;|\t]", text, maxsplit=_WITH_SEPARATOR - 1)
        ]
        if len(fields) != _WITH_SEPARATOR:
            # Lines of a call stack, which perf prints with -v, are passed over.
            if not re.match(r"\s+0x[0-9a-f]+\s+\S", text):
                input_file.add_problem(
                    line, "", f"{short(text.strip())} is not a line of perf lock contention"
                )
            return
        count_text = fields[0]
        wait_text = fields[1]
        unit = "ns"
        lock_name = fields[5]
    coordinates = run_coordinates._replace(region=lock_name)
    input_file.add(line, coordinates, "wait", wait_text, "min" if unit == "m" else unit)
    input_file.add(line, coordinates, "events", count_text, "1")


UNITS = {"msec": "ms", "usec": "us", "nsec": "ns", "sec": "s"}
"""perf's spelling of units, and ours."""

_FIRST_SEPARATED_EVENT = late_pattern(
    r"\s*(?:[-+0-9.]+|<not"
    r" (?:supported|counted)>)\s*([,;|\t:])(?!fio-)(?:[^0-9,;|\t:][^,;|\t:]*)?\1[A-Za-z_]"
)
_TABLE_HEADING = "Performance counter stats for"
_TABLE_EVENT = late_pattern(
    r"\s*([0-9][0-9,.]*|<not (?:supported|counted)>) +(?:(msec|ns) )?([A-Za-z][\w:./=-]*+)(?:"
    r" ++#.*+|\s++\(.*+)?\s*+$"
)
_ELAPSED = late_pattern(r"\s*([0-9.]+)(?: \+- [0-9.]+)? seconds time elapsed")
_EVENTS = {"duration_time": "time", "task-clock": "busy", "cpu-clock": "busy"}
_LEAST_FIELDS = 5
_MOST_FIELDS = 8


class EventCount(NamedTuple):
    """A line of perf: an event and its count with the unit and, if printed, a metric that perf
    derives from it.
    """

    line: int
    event: str
    value: str
    unit: str
    ratio: str
    ratio_unit: str


def is_perf_stat(input_file: Reading) -> bool:
    """Return whether the first line counts an event, or a heading of perf's table is there."""
    first_line = input_file.content[0][1] if input_file.content else ""
    return (
        _TABLE_HEADING in input_file.text
        or bool(_FIRST_SEPARATED_EVENT.match(first_line))
        or (first_line.lstrip()[:1] == "{" and '"counter-value"' in first_line)
    )


def event_counts(input_file: Reading) -> list[EventCount]:
    """Read the events of one run from separated values, JSON lines or a table; events that perf
    could not count are noted.
    """
    count_by_event: dict[str, EventCount] = {}
    missing_counts: list[EventCount] = []
    for line, text in input_file.content:
        if _TABLE_HEADING in input_file.text:
            event_count = _parse_table_event(line, text)
        else:
            event_count = (
                _parse_json_event if text.lstrip().startswith("{") else _parse_separated_event
            )(input_file, line, text)
        if event_count is None:
            continue
        if event_count.event in count_by_event:
            input_file.add_problem(
                line,
                event_count.event,
                f"is in line {count_by_event[event_count.event].line} already; one run a file",
            )
        count_by_event.setdefault(event_count.event, event_count)
        missing_counts += [event_count] if event_count.value.startswith("<not") else []
    if missing_counts:
        names_in_words = ", ".join(event_count.event for event_count in missing_counts)
        input_file.add_note(
            missing_counts[0].line, "", f"perf could not count {names_in_words}; left out"
        )
    return [
        event_count for event_count in count_by_event.values() if event_count not in missing_counts
    ]


def _read_perf_stat(input_file: Reading) -> Measurements:
    """Read the times and the counts in an output of perf stat."""
    if input_file.hints.processors is None:
        input_file.refuse(
            1,
            "",
            "perf stat does not say how many processors the run had; name them with --processors",
        )
    coordinates = Coordinates(input_file.hints.processors, input_file.hints.size)
    counts_of_events = event_counts(input_file)
    for event_count in counts_of_events:
        if event_count.event == "cpu-clock":
            input_file.add_problem(
                event_count.line,
                event_count.event,
                "counts every processor of the machine, idle ones too; run without -a",
            )
        else:
            unit = UNITS.get(event_count.unit, event_count.unit) or "1"
            input_file.add(
                event_count.line,
                coordinates,
                _EVENTS.get(event_count.event, event_count.event),
                event_count.value,
                unit,
            )
    if all(event_count.event != "duration_time" for event_count in counts_of_events):
        _add_elapsed_time(input_file, coordinates, counts_of_events)
    return input_file.finished()


def _add_elapsed_time(
    input_file: Reading, coordinates: Coordinates, counts_of_events: list[EventCount]
) -> None:
    """Add the elapsed time if perf did not count it: the one that the user gives, else busy time
    over the processors used.
    """
    if input_file.hints.time is not None:
        input_file.add(1, coordinates, "time", repr(input_file.hints.time), "s")
        return
    for event_count in counts_of_events:
        if (
            event_count.event == "task-clock"
            and event_count.ratio_unit == "CPUs utilized"
            and not input_file.problems
        ):
            used_processors = input_file.number(
                event_count.line, event_count.event, event_count.ratio
            )
            busy_time = float(event_count.value)
            if used_processors:
                input_file.add(
                    event_count.line,
                    coordinates,
                    "time",
                    repr(busy_time / used_processors),
                    UNITS.get(event_count.unit, event_count.unit),
                )
                message = (
                    "the elapsed time is busy time / CPUs utilized, to the digits of the latter"
                )
                input_file.add_note(
                    event_count.line, event_count.event, f"{message}; ask perf for -e duration_time"
                )
                return
    input_file.add_note(
        1, "", "no elapsed time in it; ask perf for -e duration_time, or give it with --time"
    )


def _parse_separated_event(input_file: Reading, line: int, text: str) -> EventCount | None:
    """Parse a line with separators of perf stat -x; None after recording a problem."""
    match = _FIRST_SEPARATED_EVENT.match(text)
    if match is None:
        layout = "value, unit, event, run time, percent, metric, metric unit"
        input_file.add_problem(
            line,
            "",
            f"{short(text.strip())} is not as perf stat -x writes it: {layout}; run without -I"
            " and -A",
        )
        return None
    fields = [field.strip() for field in text.split(match[1])]
    if not _LEAST_FIELDS <= len(fields) <= _MOST_FIELDS:
        input_file.add_problem(
            line,
            "",
            f"{len(fields)} fields, where perf stat -x writes {_LEAST_FIELDS} to {_MOST_FIELDS}",
        )
        return None
    value, unit, event, *cells_behind = fields
    cells_behind = (
        cells_behind[1:] if cells_behind and cells_behind[0].endswith("%") else cells_behind
    )
    ratio, ratio_unit = (*cells_behind[2:4], "", "")[:2]
    return EventCount(line, event, value, unit, ratio, ratio_unit)


def _parse_table_event(line: int, text: str) -> EventCount | None:
    """Parse a line of perf's printed table; None for lines without an event."""
    if elapsed_match := _ELAPSED.match(text):
        return EventCount(line, "duration_time", elapsed_match[1], "sec", "", "")
    match = _TABLE_EVENT.match(text)
    return (
        EventCount(line, match[3], match[1].replace(",", ""), match[2] or "", "", "")
        if match
        else None
    )


def _parse_json_event(input_file: Reading, line: int, text: str) -> EventCount | None:
    """Parse a line of perf stat -j; None after recording a problem."""
    match parse_json(input_file, text, line):
        case {"counter-value": str(value), "unit": str(unit), "event": str(event), **rest}:
            ratio = rest.get("metric-value", JsonNumber(""))
            ratio_unit = rest.get("metric-unit", "")
            if isinstance(ratio, str) and isinstance(ratio_unit, str):
                return EventCount(line, event, value, unit, ratio, ratio_unit)
    input_file.add_problem(
        line, "", "a line of perf stat -j has the texts 'counter-value', 'unit' and 'event'"
    )
    return None


FORMATS = (
    FileFormat("perf-stat", is_perf_stat, _read_perf_stat),
    FileFormat("perf-lock", _is_perf_lock, _read_perf_lock),
)
