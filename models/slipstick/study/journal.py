"""Points that are kept while a study runs, so that a later run goes on where one was killed.

They are rows of an SQLite file in the report's folder, each committed as soon as it is solved,
under the key of its `PointBlock`. The key depends on everything that the result depends on, so that
no row can be out of date. A finished run removes the rows that it did not use.
"""

from __future__ import annotations

import io
import os
import pickle
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from slipstick import errors
from slipstick.errors import InputError
from slipstick.files import lock_folder
from slipstick.late import dataclass, field
from slipstick.study.engine import Limits
from slipstick.study.points import Block, ReplicationBlock, SolvedBlock

NAME = ".points.sqlite"
"""The name of the file of stored points in the folder of a report."""

LEAST_SECONDS = 1e-3
"""Time of solving below which a block is not stored, because reading it would take about as long
[s].
"""

MOST_BYTES = 2**30
"""Size of the file above which no further block is stored; the next run solves those again [B]."""

_CREATE_TABLES = """
begin;
create table if not exists points (
    key blob primary key, points integer, failed integer, proof blob, body blob
);
create table if not exists about (name text primary key, value text);
commit;
"""
_ALLOWED_CLASSES = (
    {
        ("slipstick.answer", name)
        for name in ("Answer", "AskedValue", "Value", "Limit", "Rejected", "Takeover", "Verdict")
    }
    | {
        ("slipstick.errors", class_name)
        for class_name, sentence_class in vars(errors).items()
        if isinstance(sentence_class, type) and issubclass(sentence_class, errors.TypedSentence)
    }
    | {
        ("builtins", "dict"),  # deferred shares of an answer
        ("slipstick.results.sweep", "Provenance"),
        ("slipstick.study.points", "SolvedBlock"),
        ("slipstick.sim.estimate", "ReplicationResult"),
        ("slipstick.sim.estimate", "Quantiles"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
    }
)


class _PointReader(pickle.Unpickler):
    """Unpickler of results and of nothing else, so that a file from elsewhere runs no code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED_CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no result")
        return super().find_class(module, name)


class Journal:
    """The store of solved points in the folder of a report, where a later run finds them.

    Parameters
    ----------
    folder : of the report
    run_description : what `slipstick status` says of the run: its command, where it was typed, the
        number of its points
    starts_anew : whether what an earlier run kept is forgotten

    Raises
    ------
    OSError : there is no room, or nothing can be written there
    InputError : the file is damaged
    """

    def __init__(
        self, folder: Path, run_description: dict[str, str], starts_anew: bool = False
    ) -> None:
        self.path = folder / NAME
        self.run_description = run_description
        self.reused_point_count = 0
        self._requested_keys: set[bytes] = set()
        self._new_keys: set[bytes] = set()
        self._is_damaged = False
        self._database: sqlite3.Connection | None = None
        self._lock_handle: int | None = None
        self._is_file_free = True
        self._file_size = self.path.stat().st_size if self.path.exists() else 0
        if self.path.exists() and self._open_database() and starts_anew:
            self._execute_sql("delete from points")

    def find(self, block: Block, limits: Limits) -> SolvedBlock | None:
        """Return the stored result of a block; a failed point is returned only if its limits are
        the same.
        """
        # A point that failed under other limits is tried again.
        for block_key in (block.key, _failure_key(block, limits)):
            if (result := self._stored_result(block_key)) is not None:
                point_count = self._mark_requested(block, block_key)
                self.reused_point_count += 0 if block_key in self._new_keys else point_count
                return result
        return None

    def _stored_result(self, key: bytes) -> SolvedBlock | None:
        """Return the result that is stored under a key; None for a damaged row, so that its point
        is solved again.
        """
        if self._database is None or self._is_damaged:
            return None
        try:
            command = "select proof, body from points where key = ?"
            stored_row = self._database.execute(command, (key,)).fetchone()
            # The hash finds rows damaged on the disk before they are unpickled; it is no protection
            # against forgery, which the reader's list of classes is.
            if stored_row is None or sha256(stored_row[1]).digest() != stored_row[0]:
                return None
            result = _PointReader(io.BytesIO(stored_row[1])).load()
        except sqlite3.DatabaseError as error:
            # An operational error, such as a lock of another process, passes; the others mean a
            # damaged file.
            self._is_damaged = not isinstance(error, sqlite3.OperationalError)
            return None
        except Exception:  # noqa: BLE001  # what a forged row can raise when it is read has no end
            return None
        return result if isinstance(result, SolvedBlock) else None

    def keep(self, block: Block, solved_block: SolvedBlock, seconds: float, limits: Limits) -> None:
        """Store a result that took at least `LEAST_SECONDS` to compute, or a failure, as long as
        the file has room.
        """
        # A failure is kept even if it came quickly: to find it again may take the whole limit of
        # time.
        is_failure = bool(solved_block.failed) and not solved_block.columns
        if (seconds < LEAST_SECONDS and not is_failure) or not (
            self._database is not None or (self._is_file_free and self._open_database())
        ):
            return
        block_key = _failure_key(block, limits) if is_failure else block.key
        pickled_block = pickle.dumps(solved_block, protocol=4)
        self._file_size += len(pickled_block)
        if self._file_size > MOST_BYTES or self._is_damaged:
            return
        stored_row = (
            block_key,
            self._mark_requested(block, block_key),
            int(is_failure),
            sha256(pickled_block).digest(),
            pickled_block,
        )
        self._new_keys.add(block_key)
        try:
            self._execute_sql("insert or replace into points values (?, ?, ?, ?, ?)", *stored_row)
        except InputError:
            self._is_damaged = True  # the next run begins with a new file

    def _mark_requested(self, block: Block, key: bytes) -> int:
        """Mark a block as requested, so that its row stays in the file, and return its number of
        points. A replication is not marked and counts 0: it is kept only until its point is stored.
        """
        if isinstance(block, ReplicationBlock):
            return 0
        self._requested_keys.add(key)
        return block.count

    def close(self, is_finished: bool = False) -> None:
        """Close the file; if the study `is_finished`, remove the points that the study did not
        request.
        """
        if self._database is not None:
            # Only a finished study has asked for all of its points.
            if is_finished and not self._is_damaged:
                for (key,) in self._execute_sql("select key from points").fetchall():
                    if key not in self._requested_keys:
                        self._execute_sql("delete from points where key = ?", key)
            self._database.close()
            self._database = None
        if self._is_damaged:
            # SQLite keeps two further files beside its own.
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        if self._lock_handle is not None:
            os.close(self._lock_handle)
            self._lock_handle = None

    def _open_database(self) -> bool:
        """Open or create the file; false if another run is using it."""
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        lock_handle = lock_folder(folder)
        self._is_file_free = lock_handle != -1
        if not self._is_file_free:
            return False
        self._lock_handle = lock_handle
        try:
            self._database = sqlite3.connect(self.path, isolation_level=None, timeout=1)
            self._execute_sql("pragma journal_mode = wal")
            # A power failure may lose the last points, which are then solved again; to flush after
            # each point would cost more than many points.
            self._execute_sql("pragma synchronous = normal")
            self._database.executescript(_CREATE_TABLES)
            for name, value in self.run_description.items():
                self._execute_sql("insert or replace into about values (?, ?)", name, value)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise self._file_error(error) from None
        except (OSError, InputError):
            self.close()
            raise
        return True

    def _execute_sql(self, command: str, *values: object) -> sqlite3.Cursor:
        """Execute a command of SQL; an error of the database is raised as an error of the file."""
        assert self._database is not None
        try:
            return self._database.execute(command, values)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._file_error(error) from None

    def _file_error(self, error: Exception) -> Exception:
        """Return the error for a file that cannot be read or is not a file of points."""
        if isinstance(error, sqlite3.OperationalError):
            return OSError(None, str(error), str(self.path))
        return InputError(
            f"{self.path} is not a file of points ({error}); remove it, and the points are solved"
            " again"
        )


def _failure_key(block: Block, limits: Limits) -> bytes:
    """Return the key under which a failed point is stored, for these limits of the run only."""
    return sha256(block.key + repr(limits).encode()).digest()


@dataclass(frozen=True, slots=True)
class StoredPoints:
    """The content of a folder of stored points: how many, how many failed, and the description of
    the run.
    """

    point_count: int = 0
    failed_count: int = 0
    run_description: Mapping[str, str] = field(default_factory=dict)
    is_running: bool = False


def stored_points(folder: Path) -> StoredPoints:
    """Count the points stored in a folder; a run may write there at the same time.

    Parameters
    ----------
    folder : of a report

    Raises
    ------
    InputError : the file is damaged
    """
    database_path = folder / NAME
    if not database_path.exists():
        return StoredPoints()
    try:
        # Read-only, so that looking neither creates nor changes the file of a run.
        with closing(
            sqlite3.connect(f"{database_path.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            if not connection.execute("select count(*) from sqlite_master").fetchone()[0]:
                return StoredPoints(is_running=True)  # a run has just made it
            point_count, failed_count = connection.execute(
                "select coalesce(sum(points), 0), coalesce(sum(failed), 0) from points"
            ).fetchone()
            run_description = dict(connection.execute("select name, value from about").fetchall())
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_READONLY_ROLLBACK":
            raise InputError(f"{database_path} cannot be read: {error}") from None
        # A run was killed while it wrote the file, and the next run rolls this back; until then
        # nothing is stored.
        point_count, failed_count, run_description = (
            0,
            0,
            {},
        )
    lock_handle = lock_folder(folder)
    if lock_handle is not None and lock_handle >= 0:
        os.close(lock_handle)
    return StoredPoints(point_count, failed_count, run_description, lock_handle == -1)
