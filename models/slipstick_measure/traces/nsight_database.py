"""Databases that ``nsys export --type sqlite`` of Nsight Systems writes: operations of GPUs by
stream, and what the threads of the program did by their calls.

Streams are accounted apart from threads. A thread is the program's own work from its first call to
its last, with its calls inside: those of CUDA, of MPI, and, where operating-system calls were
traced (``--trace=osrt``), those that wait or read. Where they were not, the time between calls is
unknown. Graphs of CUDA that were traced as a whole are operations of a stream, and what happens
inside them is unknown. Marks of NVTX annotate stretches of time and are left out.

Format: "SQLite Export Schema Reference" and "Common SQLite examples" of the documentation of Nsight
Systems, 2021 to 2025: times in nanoseconds; names are numbers in StringIds; a globalTid holds the
process in bits 24 to 47 and the thread in the lower 24. Tables are made as they are needed, so that
any may be missing. Of graphs: "CUpti_ActivityGraphTrace2" of the documentation of CUPTI, where both
times are 0 if they could not be taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slipstick.errors import short
from slipstick.late import Late, late_pattern
from slipstick.limits import limit_in_force, too_many_message
from slipstick_measure.traces.kinds import STREAM, THREAD
from slipstick_measure.traces.trace import ADVICE_ON_SIZE, ReadTrace, TraceColumns, processor_names

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = Late("sqlite3")

SQLITE = b"SQLite format 3\x00"
"""First bytes of a database of SQLite."""

PROGRAM, UNKNOWN = "program", "unknown"
"""What a thread does between its calls: its own work, or what was not traced."""

_KERNEL_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPY_TABLE = "CUPTI_ACTIVITY_KIND_MEMCPY"
_GRAPH_TABLE = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_OPERATION_TABLES = {
    _KERNEL_TABLE: "demangledName",
    _COPY_TABLE: "copyKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "0",
    _GRAPH_TABLE: "graphId",
}
"""Tables of operations of streams, and the column that names each."""

_CALL_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_SYSTEM_CALL_TABLE = "OSRT_API"
_MESSAGE_TABLES = (
    "MPI_P2P_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_START_WAIT_EVENTS",
    "MPI_OTHER_EVENTS",
)
_COPY_KIND_NAMES = {
    1: "Host-to-Device",
    2: "Device-to-Host",
    8: "Device-to-Device",
    10: "Peer-to-Peer",
}
_VERSION = late_pattern(r"(_v[0-9]+)?(_pt(sz|ds))?$")
"""Ending of the names of calls: the version of CUDA's interface, and of its default streams."""


class _CallTable(NamedTuple):
    """A table of the calls that threads made, and the name of its column of names."""

    table_name: str
    name_column: str


def is_database(path: Path | str) -> bool:
    """Return whether a file begins like an SQLite database."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def read_database(path: Path | str) -> ReadTrace:
    """Read the operations of streams and the calls of threads in a database into a trace.

    Raises
    ------
    SpecError : no database of Nsight Systems, or one that is damaged or too large
    """
    columns = TraceColumns(path, seconds_per_unit=1e-9)
    uri = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return _Database(columns, database).read()
    except (sqlite3.Error, TypeError, ValueError) as error:  # a column may hold any type
        columns.refuse(f"this database is damaged, or of another form: {short(str(error))}")


class _Database:
    """A database of Nsight Systems while it is read into columns."""

    def __init__(self, columns: TraceColumns, database: sqlite3.Connection) -> None:
        self.columns = columns
        self.database = database
        self.columns_by_table: Mapping[str, set[str]] = {
            name: {row[1] for row in database.execute(f'PRAGMA table_info("{name}")')}
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if re.fullmatch(r"\w+", name)
        }

    def read(self) -> ReadTrace:
        """Read all tables with operations or calls. Return the trace."""
        call_tables = self._call_tables()
        if not {_KERNEL_TABLE, _GRAPH_TABLE} & set(self.columns_by_table) and not call_tables:
            self.columns.refuse(
                "this database of SQLite has no operations of a GPU and no calls of threads; write"
                " one with nsys export --type sqlite of a report with --trace=cuda,osrt"
            )
        stream_tables = [table for table in _OPERATION_TABLES if table in self.columns_by_table]
        self._check_size([*stream_tables, *(call_table.table_name for call_table in call_tables)])
        name_by_id = dict(self.database.execute("SELECT id, value FROM StringIds"))
        stream_names = self._add_streams(stream_tables, name_by_id)
        thread_names = self._add_threads(name_by_id, call_tables)
        if mark_count := self._row_count("NVTX_EVENTS"):
            self.columns.add_note(f"marks of NVTX annotate times and are left out: {mark_count:,}")
        if graph_count := self._row_count(_GRAPH_TABLE):
            self.columns.add_note(
                f"graphs of CUDA were traced as a whole ({graph_count:,}), so waits inside them"
                " count as work; nsys profile --cuda-graph-trace=node traces what is inside"
            )
        kinds = [STREAM] * len(stream_names) + [THREAD] * len(thread_names)
        return self.columns.finished([*stream_names, *thread_names], kinds=kinds)

    def _call_tables(self) -> list[_CallTable]:
        """Return the tables of calls of threads that the database has."""
        call_tables = [_CallTable(table, "nameId") for table in (*_CALL_TABLES, _SYSTEM_CALL_TABLE)]
        call_tables += [_CallTable(table, "textId") for table in _MESSAGE_TABLES]
        needed_columns = {"start", "end", "globalTid"}
        return [
            call_table
            for call_table in call_tables
            if needed_columns | {call_table.name_column}
            <= self.columns_by_table.get(call_table.table_name, set())
        ]

    def _row_count(self, table: str) -> int:
        """Return the number of rows of a table; 0 if it is missing."""
        if table not in self.columns_by_table:
            return 0
        (row_count,) = self.database.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(row_count)

    def _check_size(self, tables: list[str]) -> None:
        """Raise if the tables have too many rows."""
        if sum(map(self._row_count, tables)) > limit_in_force("events"):
            self.columns.refuse(too_many_message("events", "operations and calls", ADVICE_ON_SIZE))

    def _add_streams(self, tables: list[str], name_by_id: Mapping[int, str]) -> list[str]:
        """Add the operations of streams to the columns. Return the names of the streams."""
        for table in tables:
            query = (
                f"SELECT start, end, deviceId, streamId, {_OPERATION_TABLES[table]} FROM {table}"
                f" WHERE end > 0 ORDER BY start"
            )
            for start, end, device, stream, operation_value in self.database.execute(query):
                lane = self.columns.number_of_name(
                    self.columns.number_by_lane, f"{device}/stream {stream}"
                )
                operation_name = _operation_name(table, operation_value, name_by_id)
                label_number = self.columns.number_of_name(
                    self.columns.number_by_label, operation_name
                )
                self.columns.add_span(lane, label_number, float(start), float(end))
        return [str(lane) for lane in self.columns.number_by_lane]

    def _add_threads(
        self, name_by_id: Mapping[int, str], call_tables: list[_CallTable]
    ) -> list[str]:
        """Add the calls of threads, and the times between the calls, to the columns. Return the
        names of the threads.
        """
        if not call_tables:
            return []
        label_between_calls = (
            PROGRAM
            if any(call_table.table_name == _SYSTEM_CALL_TABLE for call_table in call_tables)
            else UNKNOWN
        )
        if label_between_calls == UNKNOWN:
            self.columns.add_note(
                "calls of the operating system were not traced (--trace=osrt), so what threads do"
                " between the traced calls is unknown"
            )
        calls_query = " UNION ALL ".join(
            f"SELECT start, end, globalTid, {call_table.name_column} AS name FROM"
            f" {call_table.table_name}"
            f" WHERE end IS NOT NULL AND globalTid IS NOT NULL"
            for call_table in call_tables
        )
        extents_query = (
            f"SELECT globalTid, min(start), max(end) FROM ({calls_query}) GROUP BY globalTid"
        )
        thread_numbers = list[int]()
        for thread, first_time, last_time in self.database.execute(
            f"{extents_query} ORDER BY globalTid"
        ):
            lane = self.columns.number_of_name(self.columns.number_by_lane, ("thread", thread))
            thread_numbers.append(thread)
            label_number = self.columns.number_of_name(
                self.columns.number_by_label, label_between_calls
            )
            self.columns.add_span(lane, label_number, float(first_time), float(last_time))
        # Of calls that begin together the outer one comes first, so that time is the inner one's.
        ordered_query = (
            f"SELECT start, end, globalTid, name FROM ({calls_query}) ORDER BY start, end DESC"
        )
        for start, end, thread, name_id in self.database.execute(ordered_query):
            lane = self.columns.number_by_lane["thread", thread]
            call_name = _VERSION.sub("", name_by_id.get(name_id, f"call {name_id}"))
            label_number = self.columns.number_of_name(self.columns.number_by_label, call_name)
            self.columns.add_span(lane, label_number, float(start), float(end))
        return self._thread_names(name_by_id, thread_numbers)

    def _thread_names(self, name_by_id: Mapping[int, str], thread_numbers: list[int]) -> list[str]:
        """Return the names of threads, from the database or by their numbers."""
        name_by_thread: dict[int, str] = {}
        if {"nameId", "globalTid"} <= self.columns_by_table.get("ThreadNames", set()):
            rows = self.database.execute("SELECT globalTid, nameId FROM ThreadNames")
            name_by_thread = {thread: name_by_id.get(name_id, "") for thread, name_id in rows}
        process_and_thread_ids = [
            (thread_number >> 24 & 0xFFFFFF, thread_number & 0xFFFFFF)
            for thread_number in thread_numbers
        ]
        return processor_names(
            [
                (
                    process,
                    str(process),
                    name_by_thread.get(thread) or str(thread_id),
                    f"{process}/{thread_id}",
                )
                for thread, (process, thread_id) in zip(
                    thread_numbers, process_and_thread_ids, strict=True
                )
            ]
        )


def _operation_name(table: str, operation_value: int, name_by_id: Mapping[int, str]) -> str:
    """Return the name of an operation of a stream."""
    if table == _KERNEL_TABLE:
        return name_by_id.get(operation_value, f"kernel {operation_value}")
    if table == _COPY_TABLE:
        return (
            f"[CUDA memcpy {_COPY_KIND_NAMES.get(operation_value, f'of kind {operation_value}')}]"
        )
    return f"[CUDA graph {operation_value}]" if table == _GRAPH_TABLE else "[CUDA memset]"
