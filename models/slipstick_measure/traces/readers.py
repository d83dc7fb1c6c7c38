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

from slipstick.errors import Problem, SpecError, UnitError, look_up, need, short
from slipstick.expression.nodes import TIME
from slipstick.extensions import Registry
from slipstick.limits import check_cost, limit, too_many
from slipstick.schema.text import Mark, file_text, open_file, shown_name
from slipstick.units import parse_unit
from slipstick_measure.readers.known import GZIP, known_bytes, known_text
from slipstick_measure.readers.reading import delimiter_of, split_unit
from slipstick_measure.traces.chrome import is_chrome, read_chrome
from slipstick_measure.traces.memory_samples import is_memory_samples, read_memory_samples
from slipstick_measure.traces.nsight import is_gpu_list, read_gpu_list
from slipstick_measure.traces.nsight_database import is_database, read_database
from slipstick_measure.traces.otf2 import read_otf2
from slipstick_measure.traces.trace import ADVICE, BUSY, ProgramTrace, ReadTrace, TraceColumns

BYTES = "trace_bytes"
_HEAD = 1 << 16
LONGEST_LINE = 1 << 20
"""Characters of a line of a trace at most: a longer one is joined anew with each piece."""


def text_pieces(path: Path | str, bound: str, advice: str, size: int = 1 << 20) -> Iterator[str]:
    """Yield the text of a regular file piece by piece, unpacking gzip.

    Parameters
    ----------
    path, bound, advice : as for `slipstick.schema.text.file_text`; the limit holds for what is
        unpacked as well
    size : of a piece [B]

    Raises
    ------
    SpecError : as for `file_text`
    """
    start = Mark(shown_name(path), 1, 1)
    read = 0
    decode = getincrementaldecoder("utf-8")().decode
    with open_file(path, start, bound, advice) as raw:
        packed = raw.read(2) == GZIP
        _ = raw.seek(0)
        if not packed and (binary := known_bytes(path)):
            raise start.error(binary)
        file = GzipFile(fileobj=raw) if packed else raw
        while True:
            try:
                data = file.read(size)
                read += len(data)
                text = decode(data, final=not data)
            except (EOFError, zlib.error):
                raise start.error(
                    f"the packed file ends or is damaged after {read:,} bytes; unpack what is left"
                    " of it"
                ) from None
            except UnicodeDecodeError as error:
                odd = error.object[error.start]
                raise start.error(
                    f"byte 0x{odd:02x} near byte {read:,} is not UTF-8; save the file as UTF-8 text"
                ) from None
            if read > limit(bound):
                raise start.error(too_many(bound, "bytes", advice))
            if not data:
                return
            yield text


def read_trace(
    path: Path | str, format: str | None = None, unit: str | None = None
) -> ProgramTrace:
    """Read a trace and book its time; see `checked_trace`."""
    return checked_trace(path, format, unit).booked()


def checked_trace(
    path: Path | str, format: str | None = None, unit: str | None = None
) -> ReadTrace:
    """Read a trace, and check it.

    Parameters
    ----------
    path : the file
    format : one of `TRACE_FORMATS`; told from the content if None
    unit : of times in a table whose header has none

    Raises
    ------
    SpecError : what is wrong with it
    UnknownNameError : there is no such format
    MissingExtraError : the library that reads it is not installed
    """
    name = format or trace_format(path)
    if name is None:
        head = next(
            text_pieces(path, BYTES, ADVICE, _HEAD), ""
        )  # a file that cannot be read is refused for that
        if not head.strip():
            _refuse(path, "the file is empty; the program may have failed to write it")
        if known_file := known_text(head):
            _refuse(path, f"this is {known_file.description}: {known_file.advice}")
        formats = ", ".join(TRACE_FORMATS)
        _refuse(
            path,
            "this is no trace, or cannot be told to be one; name it with --format, one of"
            f" {formats}",
        )
    return look_up("format of traces", name, TRACE_FORMATS).read(path, unit)


def _refusal(path: Path | str, message: str) -> SpecError:
    return SpecError([Problem(shown_name(path), 1, 1, "", message)])


def _refuse(path: Path | str, message: str) -> NoReturn:
    raise _refusal(path, message)


def _check_bytes(path: Path | str, *companions: Path) -> None:
    """Refuse files for a library reader whose total size exceeds the limit."""
    size = sum(os.path.getsize(file) for file in (path, *companions) if os.path.isfile(file))
    check_cost(BYTES, size, f"{size:,} bytes are too many", ADVICE, partial(_refusal, path))


def trace_format(path: Path | str) -> str | None:
    """Return the format of a trace by the beginning of the file, or by its name's ending; None for
    other files.
    """
    if (suffix := Path(path).suffix) in _BINARY:
        return _BINARY[suffix]
    if is_database(path):
        return "nsys-sqlite"
    try:
        head = next(text_pieces(path, BYTES, ADVICE, _HEAD), "").removeprefix("\ufeff")
    except SpecError:
        return None
    return next(
        (name for name, candidate in TRACE_FORMATS.items() if candidate.recognize(head)), None
    )


def _first(head: str) -> str:
    return next(
        (line for line in head.splitlines() if line.strip() and not line.startswith("# ")), ""
    )


def _is_records(head: str) -> bool:
    return set(_RECORD[:3]) <= {split_unit(cell)[0] for cell in re.split("[,;\t]", _first(head))}


def _is_timehist(head: str) -> bool:
    return any("sch delay" in line and "run time" in line for line in head.splitlines()[:9])


def _lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without reading the file at once."""
    number = 0
    most = limit("events")
    pieces = text_pieces(path, BYTES, ADVICE)
    unread_text = next(pieces, "").removeprefix("\ufeff")
    for piece in chain(pieces, ["\n"]):
        *lines, unread_text = (unread_text + piece).split("\n")
        if len(unread_text) > LONGEST_LINE:
            message = (
                f"a line of more than {LONGEST_LINE:,} characters; a trace has a record a line"
            )
            raise Mark(shown_name(path), number + len(lines) + 1, 1).error(message)
        for line in lines:
            number += 1
            if number > most:
                _refuse(path, too_many("events", "lines", ADVICE))
            yield number, line.rstrip("\r")


# Paraver: states (1) are spans of a thread, messages (3) are accesses of the receiver by the
# sender, counted once.

_HEADER = re.compile(r"#paraver \([^)]*\):(?P<end>[0-9]+)(?P<unit>_[a-z]+)?:.*", re.IGNORECASE)
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
_TEXT_BLOCK = re.compile(r"^STATES\s*\n(?P<rows>(?:\s*[0-9]+\s+\S.*\n?)*)", re.MULTILINE)
_LEFT_OUT = {"2": "events", "4": "collective operations", "c": "communicators"}


def _read_paraver(path: Path | str, unit: str | None) -> ReadTrace:
    columns = TraceColumns(path)
    left_out = Counter[str]()
    lines = _lines(path)
    header = _HEADER.fullmatch(next(lines)[1])
    if header is None:
        columns.refuse(
            "the first line of a Paraver trace is '#Paraver (date):end time:nodes:applications'"
        )
    columns.scale = {"_ns": 1e-9, "_us": 1e-6, None: 1e-6}.get(
        header["unit"], 0.0
    ) or columns.refuse(
        f"times are in {header['unit']}; Paraver writes _ns, or microseconds without a unit"
    )
    names = _state_names(path)
    states: dict[str, int] = {}
    for number, line in lines:
        kind, *fields = line.split(":")
        try:
            if kind == "1" and len(fields) == 7:
                _, application, task, thread, begin, end, state = map(int, fields)
                if fields[6] not in states:
                    states[fields[6]] = columns.named(
                        columns.labels, names.get(state, f"state {state}")
                    )
                lane = columns.named(columns.lanes, (application, task, thread))
                columns.span(lane, states[fields[6]], begin, end)
            elif kind == "3" and len(fields) == 14:
                *ends, _, _ = map(int, fields)
                receiver = columns.named(columns.lanes, tuple(ends[7:10]))
                lane = columns.named(columns.lanes, tuple(ends[1:4]))
                columns.access(lane, _thread(list(columns.lanes)[receiver]), ends[5])
            elif kind in _LEFT_OUT:
                left_out[kind] += 1
            elif line.strip() and not line.startswith("#"):
                columns.refuse(
                    f"{short(line)} is not a record of a Paraver trace; is the file cut or"
                    " damaged?",
                    number,
                )
        except (ValueError, OverflowError):
            columns.refuse(f"{short(line)} has a field that is no number in range", number)
    if left_out:
        kinds = ", ".join(f"{n:,} {_LEFT_OUT[kind]}" for kind, n in left_out.items())
        columns.odd(f"left out, for states hold the time: {kinds}")
    useful = [label for label in columns.labels if label == names[_RUNNING]]
    until = float(header["end"])
    late = columns.end and max(columns.end) > until
    return columns.finished(
        [_thread(key) for key in columns.lanes], None, useful, "unknown", None if late else until
    )


def _thread(key: object) -> str:
    assert isinstance(key, tuple)
    return ".".join(map(str, key))


def _state_names(path: Path | str) -> dict[int, str]:
    """Read the names of states from the file beside the trace; the standard names if it is
    missing.
    """
    names = dict(enumerate(_STATES))
    plain = Path(path).with_suffix("") if Path(path).suffix == ".gz" else Path(path)
    states_path = plain.with_suffix(".pcf")
    for block in (
        _TEXT_BLOCK.finditer(file_text(states_path, "data_bytes", ADVICE))
        if states_path.is_file()
        else ()
    ):
        for row in block["rows"].splitlines():
            code, _, name = row.strip().partition(" ")
            if code.isdigit() and len(code) < 19 and name.strip():
                names[int(code)] = name.strip()[:100]
    return names


# perf sched timehist: a task is a processor of the account; a row ends a time of waiting, of delay
# and of running.

_RULER = re.compile(r"\s*-{9,} -{6,} .*---")
_NUMBER = r"[0-9]{1,15}\.[0-9]{3}"  # perf writes three digits, so that a number that is cut is none
_TASK_ROW = re.compile(  # of linear time: nothing is tried again with less
    rf"\s*+({_NUMBER}[0-9]{{3}}) ++\[[0-9]++\] ++(\S++(?: {{1,3}}\S++)*?) ++({_NUMBER})"
    rf" ++({_NUMBER}) ++({_NUMBER})(?: ++(.*+))?"
)
_PREEMPTED = "R"


def _read_timehist(path: Path | str, unit: str | None) -> ReadTrace:
    trace = TraceColumns(path, resolution=3e-6)
    skipped = array("q")
    header = ""
    visual = slice(0, 0)
    running, delayed, waited = (
        trace.named(trace.labels, label) for label in (BUSY, "wait:processor", "wait")
    )
    for number, line in _lines(path):
        row = (
            _TASK_ROW.fullmatch(line[: visual.start] + line[visual.stop :] if visual.stop else line)
            if header
            else None
        )
        if row is None:
            if "sch delay" in line:
                header = line
            elif header and _RULER.match(line):
                columns = [slice(*match.span()) for match in re.finditer("-+", line)]
                visual = columns[2] if "task" not in header[columns[2]] else visual
            elif header and line.strip() and "[tid/pid]" not in line:
                skipped.append(number)
            continue
        time, task, *lengths, text_after = row.groups()
        if task.startswith("<idle>"):
            continue
        lane = trace.lanes[task] if task in trace.lanes else trace.named(trace.lanes, task)
        end, (wait, delay, run) = float(time), map(float, lengths)
        away = (
            delayed
            if text_after and _PREEMPTED in text_after.partition("next:")[0].split()
            else waited
        )
        began = end - run / 1000
        ready = began - delay / 1000
        departure = ready - (wait - delay) / 1000
        for label, start, until in (
            (away, departure, ready),
            (delayed, ready, began),
            (running, began, end),
        ):
            if until > start >= 0.0:
                trace.span(lane, label, start, until)
            elif until > 0.0 > start:
                trace.span(lane, label, 0.0, until)
    if skipped:
        trace.odd(
            f"{len(skipped):,} lines are no rows of switches, and left out; the first is line"
            f" {skipped[0]}"
        )
    if skipped and not trace.lanes:
        trace.refuse(
            f"none of {len(skipped):,} lines is a row of a switch; is this the output of perf sched"
            " timehist?",
            skipped[0],
        )
    return trace.finished([str(lane) for lane in trace.lanes], None, [BUSY], "unknown")


# Records: a processor is busy from create to end; enter and leave name what it does in between;
# accesses go to nodes.

_RECORD = ("time", "processor", "event", "source", "destination", "count")
_EVENTS = ("create", "end", "enter", "leave", "access", "send", "receive")


def _read_records(path: Path | str, unit: str | None, reordered: bool = False) -> ReadTrace:
    """Read records; if those of a processor are out of order, read them again in the order of their
    times.
    """
    columns = TraceColumns(path)
    received = 0
    rows = _parquet_rows(path) if Path(path).suffix == ".parquet" else _csv_rows(columns)
    names = [split_unit(str(cell)) for cell in next(rows, (1, []))[1]]
    place = {name: index for index, (name, _) in enumerate(names) if name in _RECORD}
    if len(place) < len(names) or not set(_RECORD[:3]) <= place.keys():
        columns.refuse(
            f"a table of records has the columns {', '.join(_RECORD)}; of these the first three are"
            " needed"
        )
    columns.scale = _scale(columns, names[place["time"]][1] or unit)
    stacks: list[list[int]] = []
    order = [place.get(name, len(names)) for name in _RECORD]
    last = 0.0
    latest = list[float]()
    time_at = order[0]
    if reordered:
        columns.odd("the lines are not in the order of their times; they are read in that order")
        rows = iter(
            sorted(
                rows,
                key=lambda row: (
                    columns.number(row[1][time_at], "time", row[0]) if len(row[1]) > time_at else 0
                ),
            )
        )
    for number, cells in rows:
        if len(cells) != len(names):
            columns.refuse(
                f"{len(cells)} values, where the header promises {len(names)}; is the line cut?",
                number,
            )
        when, processor, event, source, destination, many = map([*cells, ""].__getitem__, order)
        time = columns.number(when, "time", number)
        lane = columns.named(columns.lanes, str(processor))
        if time < 0:
            columns.refuse(f"a time is not negative; got {short(str(when))}", number, "time")
        while len(stacks) <= lane:
            stacks.append([])
            latest.append(time)
        ends = event in ("end", "leave")
        if time < latest[lane] or (ends and not stacks[lane] and not reordered):
            return _read_records(path, unit, reordered=True)
        latest[lane] = time
        last = max(last, time)
        if event in ("access", "send"):
            if destination in ("", None):
                columns.refuse(f"the {event} has no destination", number)
            count = 1.0 if many in ("", None) else columns.number(many, "count", number)
            lane = lane if source in ("", None) else columns.named(columns.lanes, str(source))
            columns.access(lane, str(destination), time, count)
        if event in ("create", "enter"):
            name = BUSY if event == "create" else str(destination or BUSY)
            stacks[lane].append(columns.begin(lane, columns.named(columns.labels, name), time))
        elif ends:
            if not stacks[lane]:
                message = (
                    f"processor {short(str(processor))} ends what it has not begun; is a line"
                    " missing?"
                )
                columns.refuse(message, number)
            if event == "leave" and destination:
                columns.check_inside(str(destination), stacks[lane][-1], number)
            columns.end[stacks[lane].pop()] = time
        elif event not in _EVENTS:
            columns.refuse(
                f"{short(str(event))} is no event; there are {', '.join(_EVENTS)}", number
            )
        received += event == "receive"
    columns.close_open(list(chain.from_iterable(stacks)), last)
    if received:
        columns.odd(f"{received:,} receipts are left out; a message counts where it is sent")
    return columns.finished([str(lane) for lane in columns.lanes])


def _scale(columns: TraceColumns, unit: str | None) -> float:
    if unit is None:
        columns.refuse(
            "times have no unit; write one, as in 'time [us]', or give --unit us", subject="time"
        )
    try:
        factor, dimension = parse_unit(unit)
    except UnitError as error:
        columns.refuse(str(error), subject="time")
    if dimension != TIME:
        columns.refuse(f"{short(unit)} is not a unit of time", subject="time")
    return float(factor)


def _csv_rows(columns: TraceColumns) -> Iterator[tuple[int, Sequence[object]]]:
    delimiter = ""
    for line_number, line in _lines(columns.path):
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
    polars = need("polars", "reading Parquet", "frames")
    most = int(limit("events"))
    try:
        with open_file(
            path, Mark(shown_name(path), 1, 1), BYTES, ADVICE
        ):  # refused as any other file is
            pass
        table = polars.scan_parquet(path)
        names = table.collect_schema().names()
        yield 1, names
        rows = table.head(most + 1).collect()
    except (polars.exceptions.PolarsError, OSError) as error:
        _refuse(path, f"this is no Parquet table: {short(str(error))}")
    if len(rows) > most:
        _refuse(path, too_many("events", "rows", ADVICE))
    yield from enumerate(rows.iter_rows(), 2)


def _read_database(path: Path | str, unit: str | None) -> ReadTrace:
    _check_bytes(path)
    return read_database(path)


def _read_otf2(path: Path | str, unit: str | None) -> ReadTrace:
    anchor = Path(path)
    _check_bytes(anchor, anchor.with_suffix(".def"), *anchor.with_suffix("").rglob("*"))
    return read_otf2(path)


class TraceFormat(NamedTuple):
    """A trace format: its test on the beginning of a file, and its reader, which may need a unit
    for times without one.
    """

    recognize: Callable[[str], bool]
    read: Callable[[Path | str, str | None], ReadTrace]


_BINARY = {".otf2": "otf2", ".parquet": "records"}
"""Formats that are told by the ending of the name, for they are no text."""

TRACE_FORMATS: Mapping[str, TraceFormat] = Registry(
    "slipstick.trace_formats",
    {
        "chrome": TraceFormat(
            is_chrome, lambda path, _: read_chrome(path, text_pieces(path, BYTES, ADVICE))
        ),
        "paraver": TraceFormat(
            lambda head: _first(head)[:8].casefold() == "#paraver", _read_paraver
        ),
        "perf-mem": TraceFormat(
            is_memory_samples, lambda path, _: read_memory_samples(path, _lines(path))
        ),
        "nsys": TraceFormat(is_gpu_list, lambda path, _: read_gpu_list(path, _lines(path))),
        "nsys-sqlite": TraceFormat(lambda head: False, _read_database),
        "timehist": TraceFormat(_is_timehist, _read_timehist),
        "records": TraceFormat(_is_records, _read_records),
        "otf2": TraceFormat(lambda head: False, _read_otf2),
    },
)
"""Formats of traces by name, in the order in which they are tried, those of other packages last."""
