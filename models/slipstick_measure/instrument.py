"""Locks, conditions, barriers, monitors, task pools and loops that time their waits, and a recorder
that writes a profile.

Waits are booked by cause, for each thread or process by itself, in a small file mapped into memory
that only its owner writes; so a worker that is killed leaves what it booked until then. `slipstick
measured` reads the profile: by Dritz and Boyle, all time of a processor that is not a wait is
useful, and no run on one processor is needed.

>>> from slipstick.instrument import WaitRecorder, TimedLock
>>> lock = TimedLock("table")
>>> def worker(rank):
...     for _ in range(100):
...         with lock:
...             pass
>>> with WaitRecorder(processors=2) as recorder:
...     recorder.run(worker)
>>> "table: 100" in recorder.profile
True

Two causes need no instrumentation: `no-core`, in which a thread could run and had no processor
(Linux: from the scheduler), and `not-running`, all other time in which it did not run and waited
for nothing that is instrumented: the interpreter's lock above all, and files, sockets or sleep.
`idle` is the time before a worker began and after it ended.

`slipstick record -- python program.py` patches `threading`, `queue` and `multiprocessing` in the
program and in all Python processes that it starts, without a change in the program. The module uses
the standard library alone: it runs in the interpreter of the program.
"""

from __future__ import annotations

import mmap
import os
import queue
import re
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

BEGIN, END, LAST, RAN, DELAYED, HEAD = range(6)
"""Cells of a record: start, end, last event, processor's time, time without a core; from HEAD on,
two cells for each cause: its waiting time and its number of events.
"""
CAUSES = 256
"""Causes of one worker; all further ones are booked as `others`."""
_REPORTED_FRACTION = 0.1
"""A note tells the part of the time away that is larger than this [1]."""
IDLE = "idle"
NO_CORE = "no-core"
NOT_RUNNING = "not-running"
MISSING = "missing"
MAIN = "main"
THREAD = "thread"

_now = time.perf_counter
_local = threading.local()
_file_numbers = count()
_plain_lock = threading.Lock
_folder: Path | None = None
_start_of_program: tuple[float, float, float] | None = None
"""Clock, processor's time and time without a core of the main thread as its program started;
None in child processes.
"""


class _WaitRecord:
    """The record of one thread's waits: a file in the recording's folder, or memory."""

    def __init__(self, kind: str = "") -> None:
        byte_count = 8 * (HEAD + 2 * CAUSES)
        self.causes_file: Path | None = None
        memory: bytearray | mmap.mmap = bytearray(byte_count)
        if _folder is not None:
            record_path = _folder / f"{os.getpid()}-{next(_file_numbers)}"
            record_path.with_suffix(".record").write_bytes(bytes(byte_count))
            self.causes_file = record_path.with_suffix(".causes")
            kind = kind or (MAIN if _is_main_thread() else THREAD)
            label = f"worker {kind}" if kind.isdigit() else f"thread {threading.get_native_id()}"
            self.causes_file.write_text(f"{label} of process {os.getpid()}\n{kind}\n")
            with open(record_path.with_suffix(".record"), "r+b") as cells_file:
                memory = mmap.mmap(cells_file.fileno(), byte_count)
        self.cells = memoryview(memory).cast("d")
        self.slot_by_cause: dict[str, int] = {}
        self.wait_depth = 0
        self.cells[BEGIN] = self.cells[LAST] = _now()
        self.thread_time_at_start = time.thread_time()
        self.delay_at_start = _time_without_core()
        if _start_of_program and _is_main_thread():  # from the start of a program that is recorded
            self.cells[BEGIN], self.thread_time_at_start, self.delay_at_start = _start_of_program

    def slot_of(self, cause: str) -> int:
        """Return the index of the cell with the waiting time of a cause; a new cause is added to
        the record.
        """
        slot = self.slot_by_cause.get(cause)
        if slot is None:
            if len(self.slot_by_cause) >= CAUSES - 1:
                cause = "others"
            slot = self.slot_by_cause.setdefault(cause, HEAD + 2 * len(self.slot_by_cause))
            if self.causes_file is not None:
                with open(self.causes_file, "a") as file:
                    file.write(f"{cause}\n")
        return slot

    def wait(self, cause: str, start_time: float) -> None:
        """Record a wait that began at `start_time` and ends now."""
        slot = self.slot_of(cause)
        end_time = _now()
        self.cells[slot] += end_time - start_time
        self.cells[slot + 1] += 1
        self.cells[LAST] = end_time
        self.cells[RAN] = time.thread_time() - self.thread_time_at_start

    def close(self) -> None:
        """Record the end of the thread, its processor time and its time without a core."""
        self.cells[LAST] = self.cells[END] = _now()
        self.cells[RAN] = time.thread_time() - self.thread_time_at_start
        self.cells[DELAYED] = _time_without_core() - self.delay_at_start


def _time_without_core() -> float:
    """Return the time for which this thread was ready without having a core [s]; 0 if the system
    does not report it.
    """
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) * 1e-9
    return 0.0


def _record_of_thread() -> _WaitRecord:
    """Return the record of waits of the current thread; begin one if it has none."""
    try:
        wait_record: _WaitRecord = _local.wait_record
    except AttributeError:
        wait_record = _local.wait_record = _WaitRecord()
    return wait_record


def _is_main_thread() -> bool:
    """Return whether the current thread is the main thread of the program, not another thread or a
    thread of a child process.
    """
    child = getattr(sys.modules.get("multiprocessing.process"), "_parent_process", None)
    return child is None and threading.get_ident() == threading.main_thread().ident


def _begin_new_record() -> None:
    """Forget the record of the current thread, as in a forked process; the next wait begins a new
    one.
    """
    global _start_of_program
    _start_of_program = None
    _local.__dict__.pop("wait_record", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_new_record)


@contextmanager
def _recorded_wait(cause: str) -> Iterator[_WaitRecord]:
    """Record the time of the body as a wait, unless an outer wait includes it."""
    wait_record = _record_of_thread()
    start_time = _now()
    wait_record.wait_depth += 1
    try:
        yield wait_record
    finally:
        wait_record.wait_depth -= 1
        if not wait_record.wait_depth:
            wait_record.wait(cause, start_time)


class TimedLock:
    """A lock whose waits are booked; it wraps any lock of `threading` or `multiprocessing`,
    re-entrant or not.

    A lock that is free is counted, and no clock is read; benchmarks/instrument.py measures what
    that costs.

    Parameters
    ----------
    cause : what its waits are booked to
    lock : the lock itself; one of `threading` by default
    """

    __slots__ = ("_lock", "cause")

    def __init__(self, cause: str = "lock", lock: Any = None) -> None:
        self.cause = cause
        self._lock = _plain_lock() if lock is None else lock

    def acquire(self, blocking: bool = True, timeout: float | None = -1) -> bool:
        """Acquire the lock, with the parameters of `threading.Lock.acquire` and of the locks of
        `multiprocessing`; return whether it was acquired.
        """
        if self._lock.acquire(False):
            wait_record = _record_of_thread()
            wait_record.cells[
                (wait_record.slot_by_cause.get(self.cause) or wait_record.slot_of(self.cause)) + 1
            ] += 1
            return True
        if not blocking:
            return False
        with _recorded_wait(self.cause):
            if timeout is None or timeout < 0:
                return bool(self._lock.acquire())
            return bool(self._lock.acquire(True, timeout))

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_lock":
            raise AttributeError(name)
        return getattr(self._lock, name)


class TimedCondition:
    """A condition; `wait` books the time until another thread notifies it and the lock is held
    again.

    Parameters
    ----------
    cause : what waits for the condition are booked to; those for its lock go to the lock's own
        cause
    lock : the lock of the condition; a new one by default
    context : `threading`, or a context of `multiprocessing`
    """

    def __init__(
        self, cause: str = "condition", lock: TimedLock | None = None, context: Any = threading
    ) -> None:
        self.cause = cause
        self.lock = TimedLock(f"{cause}-lock", context.RLock()) if lock is None else lock
        self._condition = context.Condition(self.lock._lock)

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait to be notified and acquire the lock again. Return False if the
        timeout [s] ends first.
        """
        with _recorded_wait(self.cause):
            return bool(self._condition.wait(timeout))

    def notify(self, n: int = 1) -> None:
        """Wake n waiting threads."""
        self._condition.notify(n)

    def notify_all(self) -> None:
        """Wake all waiting threads."""
        self._condition.notify_all()

    def __enter__(self) -> bool:
        return self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class TimedBarrier:
    """A barrier whose waits are booked.

    Parameters
    ----------
    parties : how many wait for each other
    cause : what their waits are booked to
    context : `threading`, or a context of `multiprocessing`
    """

    def __init__(self, parties: int, cause: str = "barrier", context: Any = threading) -> None:
        self.cause = cause
        self._barrier = context.Barrier(parties)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for all parties; return a different number to each."""
        with _recorded_wait(self.cause):
            return int(self._barrier.wait(timeout))


class TimedMonitor:
    """A monitor: procedures under mutual exclusion, and conditions that they wait for inside.

    Waits at the entrance are booked to `entry-NAME`, waits for a condition to
    `wait-NAME-CONDITION`.

    Parameters
    ----------
    name : of the monitor
    context : `threading`, or a context of `multiprocessing`
    """

    def __init__(self, name: str = "monitor", context: Any = threading) -> None:
        self.name = name
        self.context = context
        self.entry = TimedLock(f"entry-{name}", context.RLock())
        self._conditions: dict[str, Any] = {}

    def declare(self, *conditions: str) -> TimedMonitor:
        """Create conditions by name and return the monitor. Processes need them before they start;
        threads may use new names at any time.
        """
        for name in conditions:
            self._conditions.setdefault(name, self.context.Condition(self.entry._lock))
        return self

    def wait(
        self, condition: str, until: Callable[[], bool], cause: Callable[[], str] | None = None
    ) -> None:
        """Wait inside the monitor until `until()` is true. Then `cause()` returns the cause that
        the wait is booked to, which may depend on how it ended.
        """
        if until():
            return
        wait_record = _record_of_thread()
        start_time = _now()
        wait_record.wait_depth += 1
        self.declare(condition)._conditions[condition].wait_for(until)
        wait_record.wait_depth -= 1
        wait_record.wait(cause() if cause else f"wait-{self.name}-{condition}", start_time)

    def signal(self, condition: str, wake_all: bool = False) -> None:
        """Wake one thread that waits for a condition, or all of them if `wake_all`."""
        wrapped_condition = self.declare(condition)._conditions[condition]
        wrapped_condition.notify_all() if wake_all else wrapped_condition.notify()

    def __enter__(self) -> Self:
        self.entry.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.entry.release()


class TimedPool:
    """A pool of tasks that its workers take, and add to, until all wait for tasks (the askfor
    monitor).

    A wait that a task ends is booked to `task-NAME`, one that the end of all tasks ends to
    `barrier-NAME`, waits at the entrance to `entry-NAME`: Lucier's three delays.

    Parameters
    ----------
    tasks : the first tasks
    parties : how many workers take them
    name : of the pool
    context : `threading`, or a context of `multiprocessing`, whose tasks are pickled

    >>> pool = TimedPool([3], parties=1)
    >>> executed = []
    >>> for task in pool:
    ...     executed.append(task)
    ...     if task:
    ...         pool.add(task - 1)
    >>> executed
    [3, 2, 1, 0]
    """

    def __init__(
        self, tasks: Iterable[Any], parties: int, name: str = "pool", context: Any = threading
    ) -> None:
        self.name = name
        self.parties = parties
        self.monitor = TimedMonitor(name, context).declare("tasks")
        is_for_threads = context is threading
        self._manager = None if is_for_threads else context.Manager()
        self._tasks: Any = list(tasks) if self._manager is None else self._manager.list(tasks)
        self._waiting_count: Any = [0] if is_for_threads else context.Array("i", 1, lock=False)

    def add(self, task: Any) -> None:
        """Add a task."""
        with self.monitor as monitor:
            self._tasks.append(task)
            monitor.signal("tasks")

    def _are_all_waiting(self) -> bool:
        """Return whether all workers wait for tasks."""
        return int(self._waiting_count[0]) >= self.parties

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self.monitor as monitor:
                self._waiting_count[0] += 1
                if self._are_all_waiting() and not len(self._tasks):
                    monitor.signal("tasks", wake_all=True)
                monitor.wait(
                    "tasks",
                    self._is_ready,
                    lambda: f"{'task' if len(self._tasks) else 'barrier'}-{self.name}",
                )
                if not len(self._tasks):
                    return
                self._waiting_count[0] -= 1
                task = self._tasks.pop()
            yield task

    def _is_ready(self) -> bool:
        """Return whether a waiting worker can go on: there is a task, or all workers wait."""
        return len(self._tasks) > 0 or self._are_all_waiting()

    def __getstate__(self) -> dict[str, Any]:
        # Only the process that made the pool needs the manager, which cannot be copied.
        return {
            **self.__dict__,
            "_manager": None,
        }


class TimedLoop:
    """A self-scheduled loop: each worker takes the next chunk of indices under a lock.

    Parameters
    ----------
    length : indices from 0 on
    chunk : how many are taken at a time
    name : waits for the lock are booked to `loop-NAME`
    context : `threading`, or a context of `multiprocessing`

    >>> [list(chunk) for chunk in TimedLoop(5, chunk=2).chunks()]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, length: int, chunk: int = 1, name: str = "indices", context: Any = threading
    ) -> None:
        self.length = length
        self.chunk = chunk
        self.lock = TimedLock(f"loop-{name}", context.Lock())
        self._next: Any = [0] if context is threading else context.Array("q", 1, lock=False)

    def chunks(self) -> Iterator[range]:
        """Yield chunks of indices that this worker takes, until no index is left."""
        while True:
            with self.lock:
                first_index = int(self._next[0])
                self._next[0] = min(first_index + self.chunk, self.length)
            if first_index >= self.length:
                return
            yield range(first_index, min(first_index + self.chunk, self.length))

    def __iter__(self) -> Iterator[int]:
        return (index for chunk in self.chunks() for index in chunk)


class WaitRecorder:
    """Record the waits of workers, and write them as a profile.

    Parameters
    ----------
    file : the profile to write; none by default, then `profile` holds its text
    processors : how many workers `run` starts
    context : `threading`, or a context of `multiprocessing` for workers that are processes
    title : of the profile

    Raises
    ------
    RuntimeError : another recorder records in this process
    """

    def __init__(
        self,
        file: str | Path | None = None,
        processors: int = 1,
        context: Any = threading,
        title: str = "",
    ) -> None:
        self.file = file
        self.processors = processors
        self.context = context
        self.title = title
        self.profile = ""

    def __enter__(self) -> Self:
        if _folder is not None:
            raise RuntimeError(
                f"waits are recorded into {_folder} already; end that recorder first"
            )
        self._temporary = tempfile.TemporaryDirectory(prefix="slipstick-")
        _record_into(Path(self._temporary.name))
        return self

    def run(self, worker: Callable[..., object], *arguments: object) -> None:
        """Run ``worker(rank, *arguments)`` on each processor and wait for all; a worker that
        fails or is killed is named.
        """
        worker_class = self.context.Thread if self.context is threading else self.context.Process
        worker_arguments = (self._temporary.name, worker, *arguments)
        workers = [
            worker_class(target=_run_worker, args=(rank, *worker_arguments), name=f"worker {rank}")
            for rank in range(self.processors)
        ]
        for thread_or_process in workers:
            thread_or_process.start()
        for thread_or_process in workers:
            thread_or_process.join()

    def __exit__(self, *_: object) -> None:
        _record_into(None)
        try:
            self.profile = profile_of(Path(self._temporary.name), self.title)
        finally:
            self._temporary.cleanup()
        if self.file is not None:
            _write_profile(self.file, self.profile)


def _write_profile(file: str | Path, profile: str) -> None:
    """Write a profile into a file; the file is complete or unchanged."""
    from slipstick.files import write_whole  # in the recorded program this is not imported

    write_whole(Path(file), profile)


def _record_into(folder: Path | None) -> None:
    """Record into a folder from now on; into memory if None."""
    global _folder
    _folder = folder
    _begin_new_record()


def _run_worker(rank: int, folder: str, worker: Callable[..., object], *arguments: object) -> None:
    """Run a worker with a record of its own."""
    if _folder is None:  # a spawned process
        _record_into(Path(folder))
    wait_record = _local.wait_record = _WaitRecord(str(rank))
    try:
        worker(rank, *arguments)
    finally:
        wait_record.close()
        _begin_new_record()


class _WorkerTimes:
    """The times of one worker, read from its record."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            self.cells = memoryview(file.read()).cast("d")
        self.label, self.kind, *causes = path.with_suffix(".causes").read_text().splitlines()
        self.begin_time = self.cells[BEGIN]
        self.has_no_end = not self.cells[END]
        self.end_time = max(self.cells[END], self.cells[LAST])
        wait_by_cause = {cause: self.cells[HEAD + 2 * index] for index, cause in enumerate(causes)}
        self.event_count_by_cause = {
            cause: int(self.cells[HEAD + 2 * index + 1]) for index, cause in enumerate(causes)
        }
        time_away = max(
            0.0, self.end_time - self.begin_time - sum(wait_by_cause.values()) - self.cells[RAN]
        )
        delayed_time = min(time_away, self.cells[DELAYED])
        away_time_by_cause = {NO_CORE: delayed_time, NOT_RUNNING: time_away - delayed_time}
        self.wait_by_cause = {
            **wait_by_cause,
            **{
                cause: away_time for cause, away_time in away_time_by_cause.items() if away_time > 0
            },
        }
        self.total_wait = sum(wait_by_cause.values())


def profile_of(folder: Path, title: str = "") -> str:
    """Return a profile of one run from the records in a folder.

    A processor is a rank of `WaitRecorder.run`; without ranks, threads that do not overlap in time
    share one, and the main thread is left out where it waited for more than half of the time of the
    others, which the text says.

    Raises
    ------
    ValueError : nothing was recorded
    """
    all_workers = sorted(
        (_WorkerTimes(path) for path in folder.glob("*.record")),
        key=lambda worker: worker.begin_time,
    )
    if not all_workers:
        raise ValueError("nothing was recorded: no Python program ran to its end or waited")
    ranked_workers = [worker for worker in all_workers if worker.kind.isdigit()]
    threads = [worker for worker in all_workers if worker.kind == THREAD]
    threads_period = max((worker.end_time for worker in threads), default=0.0) - min(
        (worker.begin_time for worker in threads), default=0.0
    )
    unranked_workers = [
        worker
        for worker in all_workers
        if worker.kind == THREAD or worker.total_wait < 0.5 * threads_period or not threads
    ]
    counted_workers = ranked_workers or unranked_workers or all_workers
    begin_time = counted_workers[0].begin_time
    end_time = max(worker.end_time for worker in counted_workers)
    workers_by_processor = list(_workers_by_processor(counted_workers))
    notes = [
        f"{worker.label} ended before it wrote its account, {end_time - worker.end_time:.3g} s"
        " before the end"
        for worker in counted_workers
        if worker.has_no_end
    ]
    if counted_workers is unranked_workers and len(unranked_workers) < len(all_workers):
        notes.append("the main thread, which waited for the others, is left out")
    time_away = sum(
        worker.wait_by_cause.get(NOT_RUNNING, 0.0) + worker.wait_by_cause.get(NO_CORE, 0.0)
        for worker in counted_workers
    )
    if time_away > _REPORTED_FRACTION * len(workers_by_processor) * (end_time - begin_time):
        fraction = time_away / len(workers_by_processor) / (end_time - begin_time)
        notes.append(
            f"for {100 * fraction:.0f} % of the time, workers neither ran nor waited for what is"
            " timed: other programs, the interpreter's lock, or input"
        )
    times_by_processor = [
        _sum_of_workers(processor, begin_time, end_time) for processor in workers_by_processor
    ]
    source = "; ".join(["recorded by slipstick.instrument", *notes])
    return _profile_text(
        title or "Recorded waits", source, end_time - begin_time, times_by_processor
    )


def _profile_text(
    title: str,
    source: str,
    duration: float,
    times_by_processor: Sequence[tuple[dict[str, float], dict[str, int]]],
) -> str:
    """Write a profile as YAML from the waits and the events of each processor."""
    causes = list(dict.fromkeys(cause for waits, _ in times_by_processor for cause in waits))
    lines = [
        "profile: 1",
        f"title: {_yaml_string(title)}",
        f"source: {_yaml_string(source)}",
        "runs:",
        f"  - processors: {len(times_by_processor)}",
        f"    time: {duration:.9f} s",
        "    each:",
    ]
    for waits, events in times_by_processor:
        lines.append(
            "      - waits:"
            f" {{{', '.join(f'{cause}: {waits.get(cause, 0.0):.9f} s' for cause in causes)}}}"
        )
        events_text = ", ".join(f"{cause}: {events.get(cause, 0)}" for cause in causes)
        lines.append(f"        events: {{{events_text}}}")
    return "\n".join(lines) + "\n"


def _workers_by_processor(workers: Sequence[_WorkerTimes]) -> Iterable[list[_WorkerTimes]]:
    """Return a list of workers for each processor, in the order of their start. A rank is a
    processor; threads that do not overlap in time share one.
    """
    workers_by_processor: dict[str, list[_WorkerTimes]] = {}
    for worker in workers:
        free_processors = (
            processor_name
            for processor_name, earlier_workers in workers_by_processor.items()
            if earlier_workers[-1].end_time <= worker.begin_time
        )
        processor_name = (
            worker.kind
            if worker.kind.isdigit()
            else next(free_processors, f"thread {len(workers_by_processor)}")
        )
        workers_by_processor.setdefault(processor_name, []).append(worker)
    return workers_by_processor.values()


def _sum_of_workers(
    workers: Sequence[_WorkerTimes], begin_time: float, end_time: float
) -> tuple[dict[str, float], dict[str, int]]:
    """Return the waiting time [s] and the number of events of one processor by cause, added over
    its workers. Time without a worker is idle; after a worker that was killed it is missing.
    """
    wait_by_cause: dict[str, float] = {}
    event_count_by_cause: dict[str, int] = {}
    last_end_time = begin_time
    gap_cause = IDLE
    for worker in workers:
        wait_by_cause[gap_cause] = (
            wait_by_cause.get(gap_cause, 0.0) + worker.begin_time - last_end_time
        )
        for cause, seconds in worker.wait_by_cause.items():
            wait_by_cause[cause] = wait_by_cause.get(cause, 0.0) + seconds
        for cause, event_count in worker.event_count_by_cause.items():
            event_count_by_cause[cause] = event_count_by_cause.get(cause, 0) + event_count
        last_end_time = worker.end_time
        gap_cause = MISSING if worker.has_no_end else IDLE
    wait_by_cause[gap_cause] = wait_by_cause.get(gap_cause, 0.0) + end_time - last_end_time
    return {
        cause: seconds
        for cause, seconds in wait_by_cause.items()
        if seconds > 0 or cause in event_count_by_cause
    }, event_count_by_cause


def _yaml_string(text: str) -> str:
    """Return a text in quotes as YAML writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- programs that are not changed: `slipstick record` ----

_LIBRARY = tuple(
    {sysconfig.get_path("stdlib"), os.path.dirname(os.path.realpath(threading.__file__)), "<frozen"}
)
_name_by_call_site: dict[tuple[str, int], str] = {}


def _cause_at_call(cause_kind: str) -> str:
    """Return the name of a cause, such as lock-program-12: the kind, and the file and line of the
    program from which the standard library was called.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((*_LIBRARY, __file__)):
        frame = frame.f_back
    call_site = (frame.f_code.co_filename, frame.f_lineno)
    if call_site not in _name_by_call_site:
        stem = re.sub(r"[^A-Za-z0-9_]+", "_", Path(call_site[0]).stem)[-40:]
        _name_by_call_site[call_site] = (
            f"{stem}-{call_site[1]}" if not call_site[0].startswith(_LIBRARY) else "library"
        )
    return f"{cause_kind}-{_name_by_call_site[call_site]}"


def _lock_maker(make_lock: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that makes timed locks for a program, and plain locks for the standard
    library, whose waits are recorded where the program calls it.
    """
    return lambda: (
        make_lock()
        if sys._getframe(1).f_code.co_filename.startswith(_LIBRARY)
        else TimedLock(_cause_at_call("lock"), make_lock())
    )


def _replace_by_timed(waiting_class: Any, method_name: str, cause_kind: str) -> None:
    """Replace a method in which threads wait by one that records the time of each call."""
    method = getattr(waiting_class, method_name)

    def timed_method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        with _recorded_wait(_cause_at_call(cause_kind)):
            return method(self, *arguments, **keywords)

    setattr(waiting_class, method_name, timed_method)


def patch(folder: str) -> None:
    """Record the waits of `threading`, `queue` and `multiprocessing` in this process and in
    processes forked from it.
    """
    import atexit
    from multiprocessing import process, queues, synchronize

    _record_into(Path(folder))
    for class_name in ("Lock", "RLock"):
        setattr(threading, class_name, _lock_maker(getattr(threading, class_name)))
    for waiting_class, method_name, cause_kind in (
        (threading.Condition, "wait", "condition"),
        (threading.Event, "wait", "event"),
        (threading.Semaphore, "acquire", "semaphore"),
        (threading.Barrier, "wait", "barrier"),
        (threading.Thread, "join", "join"),
        (queue.Queue, "get", "queue"),
        (queue.Queue, "put", "queue"),
        (queues.Queue, "get", "queue"),
        (queues.SimpleQueue, "get", "queue"),
        (process.BaseProcess, "join", "join"),
        (synchronize.Condition, "wait", "condition"),
    ):
        _replace_by_timed(waiting_class, method_name, cause_kind)
    _time_semaphores(synchronize)
    threading.Thread.run = _with_own_record(threading.Thread.run)  # type: ignore[method-assign]
    process.BaseProcess._bootstrap = _with_own_record(process.BaseProcess._bootstrap)  # type: ignore[attr-defined]
    global _start_of_program
    _start_of_program = _now(), time.thread_time(), _time_without_core()
    # Processes that `multiprocessing` starts for itself are no part of the program.
    if not re.search(r"multiprocessing\.(resource_tracker|forkserver)", " ".join(sys.orig_argv)):
        atexit.register(lambda: _record_of_thread().close() if _is_main_thread() else None)


def _with_own_record(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs a thread or a child process, and records its waits in a new
    record that is closed at its end.
    """

    def run_with_record(*arguments: Any, **keywords: Any) -> Any:
        _begin_new_record()
        wait_record = _local.wait_record = _WaitRecord(THREAD)
        try:
            return run(*arguments, **keywords)
        finally:
            wait_record.close()

    return run_with_record


def _time_semaphores(synchronize: Any) -> None:
    """Replace the methods of the locks of `multiprocessing` by timed ones; a lock keeps its cause
    when it is sent to a spawned process.
    """
    lock_class = synchronize.SemLock
    make_methods_before = lock_class._make_methods
    get_state = lock_class.__getstate__
    set_state_before = lock_class.__setstate__

    def make_methods(self: Any) -> None:
        make_methods_before(self)
        if isinstance(self, synchronize.Lock | synchronize.RLock | synchronize.Semaphore):
            self.timed = TimedLock(
                getattr(self, "cause", "") or _cause_at_call("lock"), self._semlock
            )
            self.acquire = lambda block=True, timeout=None: self.timed.acquire(block, timeout)

    def set_state(self: Any, state: Any) -> None:
        self.cause, state = state
        set_state_before(self, state)

    lock_class._make_methods = make_methods
    lock_class.__setstate__ = set_state
    lock_class.__getstate__ = lambda self: (
        self.timed.cause if hasattr(self, "timed") else "",
        get_state(self),
    )
    lock_class.__enter__ = lambda self: self.acquire()


def record(command: Sequence[str], file: str | Path, title: str = "") -> int:
    """Run a command; record the waits of all Python processes that it starts, and write a profile.

    Parameters
    ----------
    command : the program and its arguments, such as ``["python", "program.py"]``
    file : the profile to write
    title : of the profile; the command by default

    Returns
    -------
    The status that the command ended with.

    Raises
    ------
    OSError : the command cannot be run
    ValueError : nothing was recorded
    """
    import subprocess

    with tempfile.TemporaryDirectory(prefix="slipstick-") as folder_path:
        records_folder = Path(folder_path, "books")
        start_folder = Path(folder_path, "start")
        records_folder.mkdir()
        start_folder.mkdir()
        # Python imports `sitecustomize` as it starts; one of the user's own is imported after it.
        (start_folder / "sitecustomize.py").write_text(
            _START.format(file=__file__, books=str(records_folder), start=str(start_folder))
        )
        search_path = os.pathsep.join(
            filter(None, [str(start_folder), os.environ.get("PYTHONPATH", "")])
        )
        status = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": search_path}, check=False
        ).returncode
        _write_profile(file, profile_of(records_folder, title or " ".join(command)))
    return status


_START = """import importlib.machinery, importlib.util, sys
def load(spec):
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
load(importlib.util.spec_from_file_location("slipstick_instrument", {file!r})).patch({books!r})
folders = [folder for folder in sys.path if folder != {start!r}]
own = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
if own:
    load(own)
"""
