"""Databases that ``nsys export --type sqlite`` of Nsight Systems writes: operations of GPUs by
stream, and what the threads of the program did by their calls.

Streams are accounted apart from threads. A thread is the program's own work from its first call to
its last, with its calls inside: those of CUDA, of MPI, and, where operating-system calls were traced
(``--trace=osrt``), those that wait or read. Where they were not, the time between calls is unknown.
Marks of NVTX annotate stretches of time and are left out.

Format: "SQLite Export Schema Reference" and "Common SQLite examples" of the documentation of Nsight
Systems, 2021 to 2025: times in nanoseconds; names are numbers in StringIds; a globalTid holds the
process in bits 24 to 47 and the thread in the lower 24. Tables are made as they are needed, so that
any may be missing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from slipstick.errors import short
from slipstick.limits import limit, too_many
from slipstick_measure.traces.kinds import STREAM, THREAD
from slipstick_measure.traces.trace import ADVICE, ReadTrace, TraceColumns, processor_names

SQLITE = b"SQLite format 3\x00"
"""First bytes of a database of SQLite."""

PROGRAM, UNKNOWN = "program", "unknown"
"""What a thread does between its calls: its own work, or what was not traced."""

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_SYSTEM = "OSRT_API"
_MESSAGES = (
    "MPI_P2P_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_START_WAIT_EVENTS",
    "MPI_OTHER_EVENTS",
)
_COPIES = {1: "Host-to-Device", 2: "Device-to-Host", 8: "Device-to-Device", 10: "Peer-to-Peer"}
_VERSION = re.compile(r"(_v[0-9]+)?(_pt(sz|ds))?$")
"""Ending of the names of calls: the version of CUDA's interface, and of its default streams."""


class _CallTable(NamedTuple):
    """A table of calls of threads, and its column of the name."""

    table: str
    name: str


def is_database(path: Path | str) -> bool:
    """Return whether a file begins like a database of SQLite."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def read_database(path: Path | str) -> ReadTrace:
    """Read the operations of streams and the calls of threads.

    Raises
    ------
    SpecError : no database of Nsight Systems, or one that is damaged or too large
    """
    columns = TraceColumns(path, scale=1e-9)
    uri = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return _Database(columns, database).read()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        columns.refuse(f"this database is damaged, or of another form: {short(str(error))}")


class _Database:
    """A database while it is read into columns."""

    def __init__(self, columns: TraceColumns, database: sqlite3.Connection) -> None:
        self.columns = columns
        self.database = database
        self.kinds: list[str] = []
        self.tables: Mapping[str, set[str]] = {
            name: {row[1] for row in database.execute(f'PRAGMA table_info("{name}")')}
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if re.fullmatch(r"\w+", name)
        }

    def read(self) -> ReadTrace:
        """Read all tables that hold a course of time."""
        calls = self._call_tables()
        if _KERNELS not in self.tables and not calls:
            self.columns.refuse(
                "this database of SQLite has no operations of a GPU and no calls of threads; write"
                " one with nsys export --type sqlite of a report with --trace=cuda,osrt"
            )
        self._check_size([*self._stream_tables(), *(call.table for call in calls)])
        names = dict(self.database.execute("SELECT id, value FROM StringIds"))
        streams = self._streams(names)
        threads = self._threads(names, calls)
        if marks := self._count("NVTX_EVENTS"):
            self.columns.odd(f"{marks:,} marks of NVTX annotate times and are left out")
        kinds = [STREAM] * len(streams) + [THREAD] * len(threads)
        return self.columns.finished([*streams, *threads], kinds=kinds)

    def _call_tables(self) -> list[_CallTable]:
        found = [_CallTable(table, "nameId") for table in (*_CALLS, _SYSTEM)]
        found += [_CallTable(table, "textId") for table in _MESSAGES]
        needed = {"start", "end", "globalTid"}
        return [
            call for call in found if needed | {call.name} <= self.tables.get(call.table, set())
        ]

    def _stream_tables(self) -> list[str]:
        tables = (_KERNELS, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
        return [table for table in tables if table in self.tables]

    def _count(self, table: str) -> int:
        if table not in self.tables:
            return 0
        (count,) = self.database.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)

    def _check_size(self, tables: list[str]) -> None:
        if sum(map(self._count, tables)) > limit("events"):
            self.columns.refuse(too_many("events", "operations and calls", ADVICE))

    def _streams(self, names: Mapping[int, str]) -> list[str]:
        """Add the operations of streams, and return the names of streams."""
        for table in self._stream_tables():
            for start, end, device, stream, name in self._operations(table, names):
                lane = self.columns.named(self.columns.lanes, f"{device}/stream {stream}")
                label = self.columns.named(self.columns.labels, name)
                self.columns.span(lane, label, float(start), float(end))
        return [str(lane) for lane in self.columns.lanes]

    def _operations(
        self, table: str, names: Mapping[int, str]
    ) -> Iterator[tuple[int, int, int, int, str]]:
        """Yield start, end, device, stream and name of the operations of a table."""
        what = {_KERNELS: "demangledName", "CUPTI_ACTIVITY_KIND_MEMCPY": "copyKind"}.get(table, "0")
        query = f"SELECT start, end, deviceId, streamId, {what} FROM {table} ORDER BY start"
        for start, end, device, stream, value in self.database.execute(query):
            if table == _KERNELS:
                name = names.get(value, f"kernel {value}")
            elif what == "copyKind":
                name = f"[CUDA memcpy {_COPIES.get(value, f'of kind {value}')}]"
            else:
                name = "[CUDA memset]"
            yield start, end, device, stream, name

    def _threads(self, names: Mapping[int, str], calls: list[_CallTable]) -> list[str]:
        """Add the calls of threads, and what they do between calls; return the threads' names."""
        if not calls:
            return []
        base = PROGRAM if any(call.table == _SYSTEM for call in calls) else UNKNOWN
        if base == UNKNOWN:
            self.columns.odd(
                "calls of the operating system were not traced (--trace=osrt), so what threads do"
                " between the traced calls is unknown"
            )
        joined = " UNION ALL ".join(
            f"SELECT start, end, globalTid, {call.name} AS name FROM {call.table}"
            f" WHERE end IS NOT NULL AND globalTid IS NOT NULL"
            for call in calls
        )
        extents = f"SELECT globalTid, min(start), max(end) FROM ({joined}) GROUP BY globalTid"
        threads = list[int]()
        for thread, first, last in self.database.execute(f"{extents} ORDER BY globalTid"):
            lane = self.columns.named(self.columns.lanes, ("thread", thread))
            threads.append(thread)
            label = self.columns.named(self.columns.labels, base)
            self.columns.span(lane, label, float(first), float(last))
        # Of calls that begin together the outer one comes first, so that time is the inner one's.
        ordered = f"SELECT start, end, globalTid, name FROM ({joined}) ORDER BY start, end DESC"
        for start, end, thread, name in self.database.execute(ordered):
            lane = self.columns.lanes["thread", thread]
            called = _VERSION.sub("", names.get(name, f"call {name}"))
            label = self.columns.named(self.columns.labels, called)
            self.columns.span(lane, label, float(start), float(end))
        return self._thread_names(names, threads)

    def _thread_names(self, names: Mapping[int, str], threads: list[int]) -> list[str]:
        named: dict[int, str] = {}
        if {"nameId", "globalTid"} <= self.tables.get("ThreadNames", set()):
            rows = self.database.execute("SELECT globalTid, nameId FROM ThreadNames")
            named = {thread: names.get(name, "") for thread, name in rows}
        numbers = [(thread >> 24 & 0xFFFFFF, thread & 0xFFFFFF) for thread in threads]
        return processor_names(
            [
                (process, str(process), named.get(thread) or str(number), f"{process}/{number}")
                for thread, (process, number) in zip(threads, numbers, strict=True)
            ]
        )
