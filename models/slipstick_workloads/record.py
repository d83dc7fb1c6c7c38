"""Counts from a record of page faults or of accesses to shared memory: the record is replayed
through the protocol.

A record is a trace of page faults that Linux wrote, see `slipstick_workloads.fault_trace`, or a CSV
table with one line for each event of a processor, in the order of its time:

- `processor`: any name;
- `event`: read, write, acquire, release or barrier;
- `where`: a page number or an address such as 0x7f00, the name of a lock, or of a barrier;
- `time [us]`, or in s, ms or ns: when it begins;
- `end [us]`, if known: when its fault is served or its wait is over;
- `bytes`, if known: how many bytes of the page a write changes before the next synchronization.

Work is the time from the end of one event to the beginning of the next, in microseconds; that of
the first begins with the first event of all. A fault
that the recorded system had, but the protocol has not, costs nothing; an access that the protocol
would fault on and the record leaves out is not counted. So a record of faults gives at most as many
faults as it has, and a record of all accesses gives those of the protocol.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slipstick.errors import Problem, SpecError
from slipstick.schema.columns import numbered_rows
from slipstick_workloads.counts import Counts
from slipstick_workloads.fault_trace import TraceLineError, traced_events
from slipstick_workloads.release_consistency.accesses import (
    WORD_BYTES,
    Access,
    Acquire,
    Arrive,
    Compute,
    Read,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.compact import compact
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.run import run

EVENTS = ("read", "write", "acquire", "release", "barrier")
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
_MOST_LINES = 5_000_000


class RecordedEvent(NamedTuple):
    """A line of a record of accesses; its times are in microseconds."""

    processor: str
    event: str
    where: str
    begin_time: float
    end_time: float
    bytes_changed: int | None
    line: int


def recorded_counts(
    path: Path, page: int = 4096, changed_bytes: int | None = None, message: float = 0.0
) -> Counts:
    """Replay a record through lazy release consistency with several writers for a page. Return the
    counts.

    Parameters
    ----------
    path : of the record
    page : its size [B]
    changed_bytes : bytes that a write changes where the record does not say [B]
    message : time of a message, for the clock that orders requests for locks [us]

    Raises
    ------
    SpecError : a line is wrong, by file and line
    ModelError : the processors come to different barriers, or a lock is not released
    """
    events = _read_events(path, changed_bytes)
    processor_names = list(dict.fromkeys(event.processor for event in events))
    events_by_processor = {
        name: [recorded_event for recorded_event in events if recorded_event.processor == name]
        for name in processor_names
    }
    index_by_address = _page_indices(events, page)
    lock_numbers = _lock_numbers(events)

    def accesses_of_processor(processor_index: int) -> Iterator[Access]:
        """Yield the accesses of one processor in the record."""
        yield from _accesses_of_events(
            events_by_processor[processor_names[processor_index]],
            index_by_address,
            lock_numbers,
            page,
            events[0].begin_time,
        )

    program = SharedProgram(
        path.stem,
        len(processor_names),
        max(1, len(set(index_by_address.values()))),
        accesses_of_processor,
        "us",
        page // WORD_BYTES,
        message,
    )
    return compact(run(program, Protocol()))


def _read_events(path: Path, bytes_changed: int | None) -> list[RecordedEvent]:
    """Return the events of a record, sorted by time."""
    if path.suffix != ".csv":
        return _read_traced_events(path, bytes_changed)
    problems: list[Problem] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = numbered_rows(csv.reader(file), str(path))
        columns, microseconds_by_column = _parse_heading(path, next(rows, (1, []))[1])
        events = []
        for line_number, cells in rows:
            if not any(cells):
                continue
            _check_line_number(path, line_number)
            cell_by_column = dict(zip(columns, (cell.strip() for cell in cells), strict=False))
            try:
                events.append(
                    _parse_event(cell_by_column, microseconds_by_column, bytes_changed, line_number)
                )
            except ValueError as error:
                problems.append(
                    Problem(str(path), line_number, 1, cell_by_column.get("event", ""), str(error))
                )
    if not events and not problems:
        problems = [Problem(str(path), 1, 1, "", "there are no events below the head")]
    if problems:
        raise SpecError(problems[:20])
    return sorted(events, key=lambda event: event.begin_time)


def _limited_lines(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file; raise if it has more than `_MOST_LINES`."""
    for line_number, line in enumerate(lines, 1):
        _check_line_number(path, line_number)
        yield line


def _check_line_number(path: Path, line_number: int) -> None:
    """Raise if a record has more than `_MOST_LINES` lines."""
    if line_number > _MOST_LINES:
        reason = f"a record has at most {_MOST_LINES:,} lines; cut it"
        raise SpecError([Problem(str(path), line_number, 1, "", reason)])


def _read_traced_events(path: Path, bytes_changed: int | None) -> list[RecordedEvent]:
    """Return the events of a trace of page faults that Linux wrote, sorted by time."""
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            trace_events = list(traced_events(_limited_lines(path, file)))
        except TraceLineError as error:
            raise SpecError([Problem(str(path), error.line, 1, "", str(error))]) from None
    event_names = {event.event for event in trace_events}
    if not event_names & {"read", "write"}:
        message = (
            "there is no page fault here; give a table of events in a .csv file, or what perf"
            " script, trace-cmd report or ftrace print of exceptions:page_fault_user"
        )
        raise SpecError([Problem(str(path), 1, 1, "", message)])
    if "write" in event_names and (bytes_changed is None or bytes_changed < 1):
        limit_text = "" if bytes_changed is None else f", at least 1; got {bytes_changed:g}"
        message = (
            "how many bytes does a write change? A trace does not tell; --set bytes=NUMBER"
            f"{limit_text}"
        )
        raise SpecError([Problem(str(path), 1, 1, "", message)])
    recorded_events = [
        RecordedEvent(
            event.thread,
            event.event,
            event.where,
            event.begin_time,
            event.begin_time,
            bytes_changed,
            event.line,
        )
        for event in trace_events
    ]
    return sorted(recorded_events, key=lambda event: event.begin_time)


def _parse_heading(path: Path, heading_cells: Sequence[str]) -> tuple[list[str], dict[str, float]]:
    """Return the names of the columns, and the microseconds in the unit of each column of times."""
    names: list[str] = []
    microseconds_by_column: dict[str, float] = {}
    for cell in heading_cells:
        name, _, unit = cell.strip().removesuffix("]").partition("[")
        names.append(name.strip().lower())
        if names[-1] in ("time", "end"):
            microseconds_by_column[names[-1]] = _UNITS.get(unit.strip(), 0.0)
    missing_columns = [
        name for name in ("processor", "event", "where", "time") if name not in names
    ]
    if missing_columns or not all(microseconds_by_column.values()):
        message = (
            f"a record lacks {', '.join(missing_columns)}"
            if missing_columns
            else "times have no unit; write time [us], [s], [ms] or [ns]"
        )
        raise SpecError(
            [
                Problem(
                    str(path),
                    1,
                    1,
                    "",
                    f"{message}; its columns are processor, event, where, time [us], and end [us]"
                    " and bytes if known",
                )
            ]
        )
    return names, microseconds_by_column


def _parse_event(
    cell_by_column: Mapping[str, str],
    microseconds_by_column: Mapping[str, float],
    default_bytes_changed: int | None,
    line: int,
) -> RecordedEvent:
    """Return the event in a row of a record; raise if a cell is wrong."""
    event = cell_by_column.get("event", "").lower()
    if event not in EVENTS:
        raise ValueError(
            f"an event is one of {', '.join(EVENTS)}; got {cell_by_column.get('event', '')!r}"
        )
    begin_time, end_time = (
        float(cell_by_column[name]) * microseconds_by_column[name]
        if cell_by_column.get(name)
        else None
        for name in ("time", "end")
    )
    if (
        begin_time is None
        or not begin_time >= 0
        or (end_time is not None and not end_time >= begin_time)
    ):
        raise ValueError("an event begins at a time from 0 on, and ends no earlier")
    bytes_changed = (
        int(cell_by_column["bytes"]) if cell_by_column.get("bytes") else default_bytes_changed
    )
    if event == "write" and (bytes_changed is None or bytes_changed < 1):
        raise ValueError(
            "how many bytes does this write change? Give a column bytes, or --set bytes=NUMBER for"
            " all writes"
        )
    return RecordedEvent(
        cell_by_column.get("processor", ""),
        event,
        cell_by_column.get("where", ""),
        begin_time,
        begin_time if end_time is None else end_time,
        bytes_changed,
        line,
    )


def _page_and_offset(address: str, page_size: int) -> tuple[int, int]:
    """Return the page of a page number or an address, and the offset in the page [B]."""
    if address.lower().startswith("0x"):
        return divmod(int(address, 16), page_size)
    return int(address), 0


def _page_indices(events: Sequence[RecordedEvent], page_size: int) -> dict[str, int]:
    """Return for each address of the record the index of its page among those accessed, from 0."""
    addresses = dict.fromkeys(event.where for event in events if event.event in ("read", "write"))
    page_by_address = {address: _page_and_offset(address, page_size)[0] for address in addresses}
    index_by_page = {
        page: index for index, page in enumerate(sorted(set(page_by_address.values())))
    }
    return {address: index_by_page[page] for address, page in page_by_address.items()}


def _lock_numbers(events: Sequence[RecordedEvent]) -> dict[str, int]:
    """Return a number from 0 on for each lock of a record, by its name."""
    names = dict.fromkeys(event.where for event in events if event.event in ("acquire", "release"))
    return {name: lock_number for lock_number, name in enumerate(names)}


def _accesses_of_events(
    events: Sequence[RecordedEvent],
    index_by_address: Mapping[str, int],
    lock_numbers: Mapping[str, int],
    page_size: int,
    start_time: float,
) -> Iterator[Access]:
    """Yield for each event of a processor the work before it, and the event as an access."""
    time_before = start_time
    for event in events:
        if (work := round(event.begin_time - time_before)) > 0:
            yield Compute(work)
        time_before = event.end_time
        match event.event:
            case "read":
                yield Read(np.array([index_by_address[event.where]]))
            case "write":
                yield Write(
                    np.array([index_by_address[event.where]]),
                    [_changed_words_mask(event, page_size)],
                )
            case "acquire":
                yield Acquire(lock_numbers[event.where])
            case "release":
                yield Release(lock_numbers[event.where])
            case _:
                yield Arrive(event.where or "barrier")


def _changed_words_mask(event: RecordedEvent, page_size: int) -> int:
    """Return the words that a write changes as a bit mask, beginning at the address of the write,
    within the page.
    """
    word_count = min(page_size // WORD_BYTES, -(-(event.bytes_changed or 1) // WORD_BYTES))
    first_word = min(
        _page_and_offset(event.where, page_size)[1] // WORD_BYTES,
        page_size // WORD_BYTES - word_count,
    )
    return ((1 << word_count) - 1) << first_word
