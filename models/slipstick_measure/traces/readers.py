"""Traces as text and tables: Paraver, perf sched timehist, records of events; formats told by their
beginning.

Formats: paraver-kernel (``.prv`` with its ``.pcf``); perf sched timehist as printed by perf 6.1;
the record of MIN-Graph (processor, event, source, destination, and counts in the place of single
accesses) as a table.
"""

from __future__ import annotations

import csv
import os
import re
import zlib
from array import array
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from gzip import GzipFile
from itertools import chain
from pathlib import Path
from typing import NamedTuple, NoReturn

from slipstick.errors import Problem, SpecError, UnitError, import_optional, look_up, short
from slipstick.expression.nodes import TIME
from slipstick.extensions import Registry
from slipstick.late import late_pattern
from slipstick.limits import check_cost, limit_in_force, too_many_message
from slipstick.schema.text import Mark, file_text, open_file, shown_name
from slipstick.units import parse_unit
from slipstick_measure.readers.known import GZIP, description_of_binary_file, known_file_of_text
from slipstick_measure.readers.reading import delimiter_of, split_unit
from slipstick_measure.traces.chrome import is_chrome, read_chrome
from slipstick_measure.traces.memory_samples import is_memory_samples, read_memory_samples
from slipstick_measure.traces.nsight import is_gpu_list, read_gpu_list
from slipstick_measure.traces.nsight_database import is_database, read_database
from slipstick_measure.traces.otf2 import read_otf2
from slipstick_measure.traces.trace import (
    ADVICE_ON_SIZE,
    BUSY_LABEL,
    ProgramTrace,
    ReadTrace,
    TraceColumns,
)

BYTES = "trace_bytes"
_HEAD_BYTES = 1 << 16
LONGEST_LINE = 1 << 20
"""Characters of a line of a trace at most: a longer one is joined anew with each piece."""


def text_pieces(
    path: Path | str, bound: str, advice: str, piece_size: int = 1 << 20
) -> Iterator[str]:
    """Yield the text of a regular file piece by piece, unpacking gzip.

    Parameters
    ----------
    path, bound, advice : as for `slipstick.schema.text.file_text`; the limit holds for what is
        unpacked as well
    piece_size : size of a piece [B]

    Raises
    ------
    SpecError : as for `file_text`
    """
    file_mark = Mark(shown_name(path), 1, 1)
    read_byte_count = 0
    decode_piece = getincrementaldecoder("utf-8")().decode
    with open_file(path, file_mark, bound, advice) as raw_file:
        is_packed = raw_file.read(2) == GZIP
        _ = raw_file.seek(0)
        if not is_packed and (description := description_of_binary_file(path)):
            raise file_mark.error(description)
        file = GzipFile(fileobj=raw_file) if is_packed else raw_file
        while True:
            try:
                piece = file.read(piece_size)
                read_byte_count += len(piece)
                text = decode_piece(piece, final=not piece)
            except (EOFError, zlib.error):
                raise file_mark.error(
                    f"the packed file ends or is damaged after {read_byte_count:,} bytes;"
                    " unpack what is"
                    " left of it"
                ) from None
            except UnicodeDecodeError as error:
                invalid_byte = error.object[error.start]
                raise file_mark.error(
                    f"byte 0x{invalid_byte:02x} near byte {read_byte_count:,} is not"
                    " UTF-8; save the"
                    " file as UTF-8 text"
                ) from None
            if read_byte_count > limit_in_force(bound):
                raise file_mark.error(too_many_message(bound, "bytes", advice))
            if not piece:
                return
            yield text


def read_trace(
    path: Path | str, format: str | None = None, unit: str | None = None
) -> ProgramTrace:
    """Read a trace from a file and book its time; `checked_trace` describes the parameters."""
    return checked_trace(path, format, unit).book()


def checked_trace(
    path: Path | str, format: str | None = None, unit: str | None = None
) -> ReadTrace:
    """Read a trace from a file and check it, without booking its time.

    Parameters
    ----------
    path : the file
    format : one of `TRACE_FORMATS`; recognized by the content if None
    unit : of times in a table whose header has none

    Raises
    ------
    SpecError : what is wrong with it
    UnknownNameError : there is no such format
    MissingExtraError : the library that reads it is not installed
    """
    format_name = format or name_of_trace_format(path)
    if format_name is None:
        # A file that cannot be read is refused here.
        beginning = next(text_pieces(path, BYTES, ADVICE_ON_SIZE, _HEAD_BYTES), "")
        if not beginning.strip():
            _refuse(path, "the file is empty; the program may have failed to write it")
        if known_file := known_file_of_text(beginning):
            _refuse(path, f"this is {known_file.description}: {known_file.advice}")
        format_names = ", ".join(TRACE_FORMATS)
        _refuse(
            path,
            "this is no trace, or an unknown one; name its format with --format, one of"
            f" {format_names};"
            f" {_RECORD_ADVICE}",
        )
    return look_up("format of traces", format_name, TRACE_FORMATS).read(path, unit)


def _problem_of_file(path: Path | str, message: str) -> SpecError:
    """Return the error that says a message about a file as a whole."""
    return SpecError([Problem(shown_name(path), 1, 1, "", message)])


def _refuse(path: Path | str, message: str) -> NoReturn:
    """Raise a SpecError about a file."""
    raise _problem_of_file(path, message)


def _check_bytes(path: Path | str, *companions: Path) -> None:
    """Raise if a file that a library reads and its companions are together larger than the
    limit.
    """
    byte_count = sum(
        os.path.getsize(archive_file)
        for archive_file in (path, *companions)
        if os.path.isfile(archive_file)
    )
    check_cost(
        BYTES,
        byte_count,
        f"{byte_count:,} bytes are too many",
        ADVICE_ON_SIZE,
        partial(_problem_of_file, path),
    )


def name_of_trace_format(path: Path | str) -> str | None:
    """Return the name of a trace's format, told by the ending of the file's name or by its
    beginning; None if the file is no trace.
    """
    if (suffix := Path(path).suffix) in _FORMAT_BY_SUFFIX:
        return _FORMAT_BY_SUFFIX[suffix]
    if is_database(path):
        return "nsys-sqlite"
    try:
        beginning = next(text_pieces(path, BYTES, ADVICE_ON_SIZE, _HEAD_BYTES), "").removeprefix(
            "\ufeff"
        )
    except SpecError:
        return None
    return next(
        (name for name, trace_format in TRACE_FORMATS.items() if trace_format.recognize(beginning)),
        None,
    )


def _first_line(text: str) -> str:
    """Return the first line of a text that is neither blank nor a comment; empty if none is."""
    return next(
        (line for line in text.splitlines() if line.strip() and not line.startswith("# ")), ""
    )


def _is_table_of_records(text: str) -> bool:
    """Return whether a text begins with the heading of a table of events, one record a row."""
    return set(_RECORD_HEADINGS[:3]) <= {
        split_unit(cell)[0] for cell in re.split("[,;\t]", _first_line(text))
    }


def _is_timehist(text: str) -> bool:
    """Return whether a text begins with a heading of perf sched timehist."""
    return any("sch delay" in line and "run time" in line for line in text.splitlines()[:9])


def _numbered_lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without reading the file at once."""
    line_number = 0
    most_lines = limit_in_force("events")
    pieces = text_pieces(path, BYTES, ADVICE_ON_SIZE)
    unread_text = next(pieces, "").removeprefix("\ufeff")
    for piece in chain(pieces, ["\n"]):
        *lines, unread_text = (unread_text + piece).split("\n")
        if len(unread_text) > LONGEST_LINE:
            message = (
                f"a line of more than {LONGEST_LINE:,} characters; a trace has a record a line"
            )
            raise Mark(shown_name(path), line_number + len(lines) + 1, 1).error(message)
        for line in lines:
            line_number += 1
            if line_number > most_lines:
                _refuse(path, too_many_message("events", "lines", ADVICE_ON_SIZE))
            yield line_number, line.rstrip("\r")


# Paraver: states (1) are spans of a thread, messages (3) are accesses of the receiver by the
# sender, counted once.

_HEADER = late_pattern(r"#paraver \([^)]*\):(?P<end>[0-9]+)(?P<unit>_[a-z]+)?:.*", re.IGNORECASE)
_STATES = (
    "Idle",
    "Running",
    "Not created",
    "Waiting a message",
    "Blocking Send",
    "Synchronization",
    "Test/Probe",
)
_RUNNING = 1
_TEXT_BLOCK = late_pattern(r"^STATES\s*\n(?P<rows>(?:\s*[0-9]+\s+\S.*\n?)*)", re.MULTILINE)
_UNREAD_KINDS = {"2": "events", "4": "collective operations", "c": "communicators"}


def _read_paraver(path: Path | str, unit: str | None) -> ReadTrace:
    """Read a Paraver trace: states are spans, and messages are accesses."""
    columns = TraceColumns(path)
    unread_counts = Counter[str]()
    lines = _numbered_lines(path)
    header_match = _HEADER.fullmatch(next(lines)[1])
    if header_match is None:
        columns.refuse(
            "the first line of a Paraver trace is '#Paraver (date):end time:nodes:applications'"
        )
    columns.seconds_per_unit = {"_ns": 1e-9, "_us": 1e-6, None: 1e-6}.get(
        header_match["unit"], 0.0
    ) or columns.refuse(
        f"times are in {header_match['unit']}; Paraver writes _ns, or microseconds without a unit"
    )
    name_by_state = _name_by_state(path)
    label_by_state: dict[str, int] = {}
    for line_number, line in lines:
        record_kind, *field_texts = line.split(":")
        try:
            if record_kind == "1" and len(field_texts) == 7:
                _, application, task, thread, begin_tick, end_tick, state_code = map(
                    int, field_texts
                )
                if field_texts[6] not in label_by_state:
                    label_by_state[field_texts[6]] = columns.number_of_name(
                        columns.number_by_label,
                        name_by_state.get(state_code, f"state {state_code}"),
                    )
                lane = columns.number_of_name(columns.number_by_lane, (application, task, thread))
                columns.add_span(lane, label_by_state[field_texts[6]], begin_tick, end_tick)
            elif record_kind == "3" and len(field_texts) == 14:
                *endpoint_fields, _, _ = map(int, field_texts)
                receiver = columns.number_of_name(
                    columns.number_by_lane, tuple(endpoint_fields[7:10])
                )
                lane = columns.number_of_name(columns.number_by_lane, tuple(endpoint_fields[1:4]))
                columns.add_access(
                    lane, _thread_name(list(columns.number_by_lane)[receiver]), endpoint_fields[5]
                )
            elif record_kind in _UNREAD_KINDS:
                unread_counts[record_kind] += 1
            elif line.strip() and not line.startswith("#"):
                columns.refuse(
                    f"{short(line)} is not a record of a Paraver trace; is the file cut or"
                    " damaged?",
                    line_number,
                )
        except (ValueError, OverflowError):
            columns.refuse(f"{short(line)} has a field that is no number in range", line_number)
    if unread_counts:
        kinds_in_words = ", ".join(
            f"{count_of_kind:,} {_UNREAD_KINDS[record_kind]}"
            for record_kind, count_of_kind in unread_counts.items()
        )
        columns.add_note(f"left out, because states have the time: {kinds_in_words}")
    useful_labels = [label for label in columns.number_by_label if label == name_by_state[_RUNNING]]
    header_end = float(header_match["end"])
    has_later_spans = columns.span_ends and max(columns.span_ends) > header_end
    return columns.finished(
        [_thread_name(lane_key) for lane_key in columns.number_by_lane],
        None,
        useful_labels,
        "unknown",
        None if has_later_spans else header_end,
    )


def _thread_name(thread_key: object) -> str:
    """Return the name of a thread: application, task and thread, separated by points."""
    assert isinstance(thread_key, tuple)
    return ".".join(map(str, thread_key))


def _name_by_state(path: Path | str) -> dict[int, str]:
    """Read the names of states from the file beside the trace; the standard names if it is
    missing.
    """
    name_by_state = dict(enumerate(_STATES))
    unpacked_path = Path(path).with_suffix("") if Path(path).suffix == ".gz" else Path(path)
    states_path = unpacked_path.with_suffix(".pcf")
    for block_match in (
        _TEXT_BLOCK.finditer(file_text(states_path, "data_bytes", ADVICE_ON_SIZE))
        if states_path.is_file()
        else ()
    ):
        for row in block_match["rows"].splitlines():
            code, _, name = row.strip().partition(" ")
            if code.isdigit() and len(code) < 19 and name.strip():
                name_by_state[int(code)] = name.strip()[:100]
    return name_by_state


# perf sched timehist: a task is a processor of the account; a row ends a time of waiting, of delay
# and of running.

_HEADING_RULE = late_pattern(r"\s*-{9,} -{6,} .*---")
_NUMBER = r"[0-9]{1,15}\.[0-9]{3}"  # perf writes three digits, so that a number that is cut is none
_TASK_ROW = late_pattern(  # of linear time: nothing is tried again with less
    rf"\s*+({_NUMBER}[0-9]{{3}}) ++\[[0-9]++\] ++(\S++(?: {{1,3}}\S++)*?) ++({_NUMBER})"
    rf" ++({_NUMBER}) ++({_NUMBER})(?: ++(.*+))?"
)
_PREEMPTED = "R"


def _read_timehist(path: Path | str, unit: str | None) -> ReadTrace:
    """Read the output of perf sched timehist: each row has a wait, a delay and a run of a task."""
    columns = TraceColumns(path, resolution=3e-6)
    skipped_lines = array("q")
    heading = ""
    wait_slice = slice(0, 0)
    running_label, delayed_label, waiting_label = (
        columns.number_of_name(columns.number_by_label, label)
        for label in (BUSY_LABEL, "wait:processor", "wait")
    )
    for line_number, line in _numbered_lines(path):
        row_match = (
            _TASK_ROW.fullmatch(
                line[: wait_slice.start] + line[wait_slice.stop :] if wait_slice.stop else line
            )
            if heading
            else None
        )
        if row_match is None:
            if "sch delay" in line:
                heading = line
            elif heading and _HEADING_RULE.match(line):
                column_slices = [slice(*match.span()) for match in re.finditer("-+", line)]
                wait_slice = (
                    column_slices[2] if "task" not in heading[column_slices[2]] else wait_slice
                )
            elif heading and line.strip() and "[tid/pid]" not in line:
                skipped_lines.append(line_number)
            continue
        time_text, task, *duration_texts, text_after = row_match.groups()
        if task.startswith("<idle>"):
            continue
        lane = (
            columns.number_by_lane[task]
            if task in columns.number_by_lane
            else columns.number_of_name(columns.number_by_lane, task)
        )
        end_time, (wait_time, delay_time, run_time) = float(time_text), map(float, duration_texts)
        absence_label = (
            delayed_label
            if text_after and _PREEMPTED in text_after.partition("next:")[0].split()
            else waiting_label
        )
        run_start = end_time - run_time / 1000
        ready_time = run_start - delay_time / 1000
        departure_time = ready_time - (wait_time - delay_time) / 1000
        for label, start, span_end in (
            (absence_label, departure_time, ready_time),
            (delayed_label, ready_time, run_start),
            (running_label, run_start, end_time),
        ):
            if span_end > start >= 0.0:
                columns.add_span(lane, label, start, span_end)
            elif span_end > 0.0 > start:
                columns.add_span(lane, label, 0.0, span_end)
    if skipped_lines:
        _note_skipped_lines(columns, skipped_lines)
    return columns.finished(
        [str(lane) for lane in columns.number_by_lane], None, [BUSY_LABEL], "unknown"
    )


def _note_skipped_lines(columns: TraceColumns, skipped_lines: Sequence[int]) -> None:
    """Note the lines of perf sched timehist that are no rows; refuse a file without rows."""
    columns.add_note(
        f"{len(skipped_lines):,} lines are no rows of switches, and left out; the first is line"
        f" {skipped_lines[0]}"
    )
    if not columns.number_by_lane:
        columns.refuse(
            f"none of {len(skipped_lines):,} lines is a row of a switch; is this the output of"
            " perf sched"
            " timehist?",
            skipped_lines[0],
        )


# Records: a processor is busy from create to end; enter and leave name what it does in between;
# accesses go to nodes.

_RECORD_HEADINGS = ("time", "processor", "event", "source", "destination", "count")
_RECORD_ADVICE = (
    f"a table of records has the columns {', '.join(_RECORD_HEADINGS)}; of these the first three"
    " are needed"
)
_EVENTS = ("create", "end", "enter", "leave", "access", "send", "receive")


def _read_records(path: Path | str, unit: str | None, is_reordered: bool = False) -> ReadTrace:
    """Read a trace from a table of events, one record a row. If the records of a processor are not
    in the order of their times, read the table again in that order.
    """
    columns = TraceColumns(path)
    receipt_count = 0
    rows = _parquet_rows(path) if Path(path).suffix == ".parquet" else _csv_rows(columns)
    names_and_units = [split_unit(str(cell)) for cell in next(rows, (1, []))[1]]
    index_of_heading = _cell_indices(columns, [name for name, _ in names_and_units])
    columns.seconds_per_unit = _seconds_of_unit(
        columns, names_and_units[index_of_heading[0]][1] or unit
    )
    open_spans_by_lane: list[list[int]] = []
    last_time = 0.0
    latest_time_by_lane = list[float]()
    if is_reordered:
        rows = _rows_in_order_of_time(columns, rows, index_of_heading[0])
    for line_number, cells in rows:
        if len(cells) != len(names_and_units):
            columns.refuse(
                f"{len(cells)} values, where the header promises {len(names_and_units)}; is the"
                " line cut?",
                line_number,
            )
        time_text, processor, event, source, destination, count_text = map(
            [*cells, ""].__getitem__, index_of_heading
        )
        time = columns.parse_number(time_text, "time", line_number)
        lane = columns.number_of_name(columns.number_by_lane, str(processor))
        if time < 0:
            columns.refuse(
                f"a time is not negative; got {short(str(time_text))}", line_number, "time"
            )
        while len(open_spans_by_lane) <= lane:
            open_spans_by_lane.append([])
            latest_time_by_lane.append(time)
        ends_span = event in ("end", "leave")
        if time < latest_time_by_lane[lane] or (
            ends_span and not open_spans_by_lane[lane] and not is_reordered
        ):
            return _read_records(path, unit, is_reordered=True)
        latest_time_by_lane[lane] = time
        last_time = max(last_time, time)
        if event in ("access", "send"):
            if destination in ("", None):
                columns.refuse(f"the {event} has no destination", line_number)
            access = _RecordedAccess(lane, source, str(destination), time, count_text)
            _add_access(columns, access, line_number)
        if event in ("create", "enter"):
            name = BUSY_LABEL if event == "create" else str(destination or BUSY_LABEL)
            open_spans_by_lane[lane].append(
                columns.begin_span(
                    lane, columns.number_of_name(columns.number_by_label, name), time
                )
            )
        elif ends_span:
            if not open_spans_by_lane[lane]:
                refusal = f"processor {short(str(processor))} ends what it has not begun; is a line"
                columns.refuse(f"{refusal} missing?", line_number)
            if event == "leave" and destination:
                columns.check_inside(str(destination), open_spans_by_lane[lane][-1], line_number)
            columns.span_ends[open_spans_by_lane[lane].pop()] = time
        elif event not in _EVENTS:
            columns.refuse(
                f"{short(str(event))} is no event; there are {', '.join(_EVENTS)}", line_number
            )
        receipt_count += event == "receive"
    columns.close_open_spans(list(chain.from_iterable(open_spans_by_lane)), last_time)
    if receipt_count:
        columns.add_note(
            f"{receipt_count:,} receipts are left out; a message counts where it is sent"
        )
    return columns.finished([str(lane) for lane in columns.number_by_lane])


class _RecordedAccess(NamedTuple):
    """An access or a message of a record; its source and its count may be empty."""

    lane: int
    source: object
    destination: str
    time: float
    count_text: object


def _add_access(columns: TraceColumns, access: _RecordedAccess, line_number: int) -> None:
    """Add an access to the columns: of its source or, without one, of the processor of the record.
    An access without a count counts once.
    """
    has_count = access.count_text not in ("", None)
    count = columns.parse_number(access.count_text, "count", line_number) if has_count else 1.0
    has_source = access.source not in ("", None)
    user_lane = (
        columns.number_of_name(columns.number_by_lane, str(access.source))
        if has_source
        else access.lane
    )
    columns.add_access(user_lane, access.destination, access.time, count)


def _cell_indices(columns: TraceColumns, names: Sequence[str]) -> list[int]:
    """Return the index of each column of `_RECORD_HEADINGS` in a table with the given headings; for
    a missing one, the index after the last.
    """
    index_by_name = {name: index for index, name in enumerate(names) if name in _RECORD_HEADINGS}
    if len(index_by_name) < len(names) or not set(_RECORD_HEADINGS[:3]) <= index_by_name.keys():
        columns.refuse(_RECORD_ADVICE)
    return [index_by_name.get(name, len(names)) for name in _RECORD_HEADINGS]


def _rows_in_order_of_time(
    columns: TraceColumns, rows: Iterator[tuple[int, Sequence[object]]], time_index: int
) -> Iterator[tuple[int, Sequence[object]]]:
    """Return rows in the order of their times, and note this; rows that are cut come first."""
    columns.add_note("the lines are not in the order of their times; they are read in that order")

    def time_of_row(row: tuple[int, Sequence[object]]) -> float:
        """Return the time of a row; 0 for a row that is cut before it."""
        line_number, cells = row
        if len(cells) <= time_index:
            return 0.0
        return columns.parse_number(cells[time_index], "time", line_number)

    return iter(sorted(rows, key=time_of_row))


def _seconds_of_unit(columns: TraceColumns, unit: str | None) -> float:
    """Return the seconds of a unit of time; raise for a missing unit and for units of other
    quantities.
    """
    if unit is None:
        columns.refuse(
            "times have no unit; write one, as in 'time [us]', or give --unit us", subject="time"
        )
    try:
        unit_size, dimension = parse_unit(unit)
    except UnitError as error:
        columns.refuse(str(error), subject="time")
    if dimension != TIME:
        columns.refuse(f"{short(unit)} is not a unit of time", subject="time")
    return float(unit_size)


def _csv_rows(columns: TraceColumns) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield the rows of a table with their line numbers, heading first."""
    delimiter = ""
    for line_number, line in _numbered_lines(columns.path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        delimiter = delimiter or delimiter_of(line)
        try:
            yield (
                line_number,
                (
                    next(csv.reader([line], delimiter=delimiter, strict=True))
                    if '"' in line
                    else line.split(delimiter)
                ),
            )
        except csv.Error as error:
            columns.refuse(f"this is not a line of a table: {error}; check the quotes", line_number)


def _parquet_rows(path: Path | str) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield the rows of a Parquet table with their numbers, heading first."""
    polars = import_optional("polars", "reading Parquet", "frames")
    most_rows = int(limit_in_force("events"))
    try:
        # A file that is missing or too large is refused as in other readers.
        with open_file(path, Mark(shown_name(path), 1, 1), BYTES, ADVICE_ON_SIZE):
            pass
        table = polars.scan_parquet(path)
        names = table.collect_schema().names()
        yield 1, names
        rows = table.head(most_rows + 1).collect()
    except (polars.exceptions.PolarsError, OSError) as error:
        _refuse(path, f"this is no Parquet table: {short(str(error))}")
    if len(rows) > most_rows:
        _refuse(path, too_many_message("events", "rows", ADVICE_ON_SIZE))
    yield from enumerate(rows.iter_rows(), 2)


def _read_database(path: Path | str, unit: str | None) -> ReadTrace:
    """Read a database of Nsight Systems."""
    _check_bytes(path)
    return read_database(path)


def _read_otf2(path: Path | str, unit: str | None) -> ReadTrace:
    """Read an OTF2 archive."""
    anchor_file = Path(path)
    _check_bytes(
        anchor_file, anchor_file.with_suffix(".def"), *anchor_file.with_suffix("").rglob("*")
    )
    return read_otf2(path)


class TraceFormat(NamedTuple):
    """A trace format: a function that recognizes it by the beginning of a file, and its reader, to
    which a unit for times without one can be given.
    """

    recognize: Callable[[str], bool]
    read: Callable[[Path | str, str | None], ReadTrace]


_FORMAT_BY_SUFFIX = {".otf2": "otf2", ".parquet": "records"}
"""Formats that are recognized by the ending of the name, because they are not text."""

TRACE_FORMATS: Mapping[str, TraceFormat] = Registry(
    "slipstick.trace_formats",
    {
        "chrome": TraceFormat(
            is_chrome, lambda path, _: read_chrome(path, text_pieces(path, BYTES, ADVICE_ON_SIZE))
        ),
        "paraver": TraceFormat(
            lambda head: _first_line(head)[:8].casefold() == "#paraver", _read_paraver
        ),
        "perf-mem": TraceFormat(
            is_memory_samples, lambda path, _: read_memory_samples(path, _numbered_lines(path))
        ),
        "nsys": TraceFormat(
            is_gpu_list, lambda path, _: read_gpu_list(path, _numbered_lines(path))
        ),
        "nsys-sqlite": TraceFormat(lambda head: False, _read_database),
        "timehist": TraceFormat(_is_timehist, _read_timehist),
        "records": TraceFormat(_is_table_of_records, _read_records),
        "otf2": TraceFormat(lambda head: False, _read_otf2),
    },
)
"""Formats of traces by name, in the order in which they are tried, those of other packages last."""
