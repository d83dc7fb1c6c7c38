"""Where points are solved: here, in threads, in processes of this machine, on a Dask cluster, or by
MPI.

All are executors of `concurrent.futures`, so one loop is enough for all of them. Points are sent in
groups, so that sending them costs little compared with solving them. A group returns after about a
second with the points that it has solved, so that little is lost when a process ends. Results are
placed by number, so that neither the executor nor the order changes them. If a process dies, or a
point exceeds its limit, only that point has no answer; the others of its group are solved again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, Self

from slipstick.errors import InputError, SlipstickError, import_optional
from slipstick.late import dataclass, field, replace
from slipstick.limits import (
    ONE_THREAD,
    Progress,
    announcing_for,
    announcing_progress,
    given_limits,
    ignore_progress,
    with_limits,
)
from slipstick.study.points import (
    Block,
    PointBlock,
    ReplicationBlock,
    SolvableModel,
    SolvedBlock,
    engine_versions,
    solve_block,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from types import TracebackType

    from slipstick.sim.estimate import ReplicationResult

HERE, THREADS, PROCESSES, MPI = "here", "threads", "processes", "mpi"
"""The engines by name; any other is the address of a Dask scheduler, such as tcp://node1:8786."""

MOST_GROUP_SECONDS = 1.0
"""Time after which a worker returns the points of its group that it has solved [s]."""

_MOST_TOGETHER = 64
"""The largest number of blocks sent to a worker at once, and of compiled models that it keeps."""

_MOST_TRIES = 2
"""The number of processes that may die while they solve a point, before it has no answer."""

_START_TIME = 120.0
"""The time that a process has to import the solvers [s]."""


class Store(Protocol):
    """A store of solved points, from which a later run takes their results."""

    def find(self, block: Block, limits: Limits) -> SolvedBlock | None: ...
    def keep(
        self, block: Block, solved_block: SolvedBlock, seconds: float, limits: Limits
    ) -> None: ...


_MEMORY_FILE = "/proc/self/statm"  # of Linux


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the time, memory and costs of one point.

    Parameters
    ----------
    time : of a clock [s]; None: without limit
    memory : memory in addition to that of the process before the point [B]; None: without limit
    costs : those of `slipstick.limits` that are given
    """

    time: float | None = None
    memory: float | None = None
    costs: Mapping[str, float] = field(default_factory=lambda: dict(given_limits()))

    def __bool__(self) -> bool:
        return self.time is not None or self.memory is not None


class _ReplicationLostError(SlipstickError):
    """Raised where a replication of a simulation gave no result, so that its point has none."""


ENGINE: ContextVar[Engine | None] = ContextVar("engine", default=None)
"""The engine of the study that runs."""


@dataclass
class Engine:
    """Solver of blocks of points, several at a time.

    As a context manager it is the engine of everything that is solved inside; if the body ends by
    an error, pending points are dropped.

    Parameters
    ----------
    on : one of the names above, or the address of a Dask scheduler; None: threads, or processes
        where there are limits
    jobs : points solved side by side; a cluster has its own number
    limits : of one point; they are held by a process of its own for each job
    store : keeps results

    Raises
    ------
    InputError : there is no such engine, or no cluster at the address
    MissingExtraError : the library of the cluster is not installed
    """

    on: str | None = None
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)
    store: Store | None = None

    def __post_init__(self) -> None:
        self._executor: Executor | None = None
        self._futures: set[Future[Any]] = set()
        self._close_cluster: Callable[[], object] = lambda: None
        # Limits of time and memory need a process that can be ended; without them threads share the
        # models.
        self.on = self.on or (PROCESSES if self.limits else THREADS if self.jobs > 1 else HERE)
        self._is_isolated = self.on == PROCESSES or bool(self.limits)
        if self.on not in (HERE, THREADS, PROCESSES, MPI) and "://" not in self.on:
            raise InputError(
                f"there is no engine {self.on!r}; write {THREADS}, {PROCESSES}, {MPI}, or the"
                " address of a Dask scheduler, such as tcp://node1:8786"
            )
        if self._is_isolated and not hasattr(socket, "socketpair"):
            raise InputError(
                "this operating system cannot limit single processes; leave out --on processes and"
                " the limits"
            )
        if self.limits.memory is not None and not Path(_MEMORY_FILE).exists():
            raise InputError(
                f"this system does not say what memory a process has ({_MEMORY_FILE}); leave out"
                " the limit of memory"
            )

    def __enter__(self) -> Self:
        self._token = ENGINE.set(self)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        ENGINE.reset(self._token)
        self.close(is_early=error_type is not None)

    def close(self, is_early: bool = False) -> None:
        """End the workers; if `is_early`, without waiting for the points being solved."""
        if self._executor is None:
            return
        # Processes end first: a thread that waits for one would keep the executor from shutting
        # down.
        _stop_workers(self._executor)
        for future in self._futures:
            future.cancel()
        if is_early:
            _interrupt_threads(self._executor)
        self._executor.shutdown(wait=not is_early)
        self._close_cluster()
        self._executor = None

    def solve(
        self, blocks: Iterable[Block], progress: Progress = ignore_progress
    ) -> list[SolvedBlock]:
        """Solve blocks, except those whose results the store has from an earlier run.

        Parameters
        ----------
        blocks : what to solve; the results have the same order
        progress : told how many more points are done
        """
        all_blocks = list(blocks)
        result_by_number: dict[int, SolvedBlock] = {}
        for block_number, block in enumerate(all_blocks if self.store else ()):
            assert self.store is not None
            if (stored_result := self.store.find(block, self.limits)) is not None:
                result_by_number[block_number] = stored_result
                progress(block.count)
        remaining_block_numbers = [
            block_number
            for block_number in range(len(all_blocks))
            if block_number not in result_by_number
        ]
        # Points from the store took no time and would make the pace look faster.
        remaining_count = sum(all_blocks[number].count for number in remaining_block_numbers)
        # Time on the clock, since several workers solve at once.
        progress = announcing_progress(
            remaining_count,
            f"{remaining_count:,} points are solved",
            progress,
            counts_wall_time=True,
        )
        block_numbers_here = (
            remaining_block_numbers
            if self.on == HERE
            else self._block_numbers_to_split(all_blocks, remaining_block_numbers)
        )
        # A single point gains nothing from a thread of its own.
        if len(remaining_block_numbers) == 1 and self.on == THREADS:
            block_numbers_here = remaining_block_numbers
        for block_number in block_numbers_here:
            result_by_number[block_number] = self._solve_here(all_blocks[block_number])
            progress(all_blocks[block_number].count)
        if block_numbers_of_workers := [
            block_number
            for block_number in remaining_block_numbers
            if block_number not in result_by_number
        ]:
            self._solve_by_workers(all_blocks, block_numbers_of_workers, result_by_number, progress)
        return [result_by_number[block_number] for block_number in range(len(all_blocks))]

    def _block_numbers_to_split(
        self, blocks: Sequence[Block], remaining_block_numbers: Sequence[int]
    ) -> list[int]:
        """List the simulations to be split into replications, because too few points remain to keep
        all workers busy.

        Limits are of a point, so under limits each point stays whole.
        """
        if (
            self.limits
            or not remaining_block_numbers
            or len(remaining_block_numbers) >= 2 * self._executor_and_worker_count()[1]
        ):
            return []
        return [
            block_number
            for block_number in remaining_block_numbers
            if isinstance(block := blocks[block_number], PointBlock) and block.is_replicable
        ]

    def _solve_here(self, block: Block) -> SolvedBlock:
        """Solve a block in this process, with the replications of its simulation solved and stored
        as blocks of their own.
        """
        if self.on == HERE and not (
            self.store and isinstance(block, PointBlock) and block.has_replications
        ):
            return self._keep_result(block, *_solve_with_time(block))
        from slipstick.sim.run import SPREAD, Replication

        def replication_results(replications: Iterable[Replication]) -> Iterator[ReplicationResult]:
            for solved_block in self.solve(map(ReplicationBlock, replications)):
                if solved_block.run is None:
                    raise _ReplicationLostError(solved_block.failed[0])
                yield solved_block.run

        # The simulation takes its replications from this engine, which solves them side by side.
        token = SPREAD.set(replication_results)
        try:
            return self._keep_result(block, *_solve_with_time(block))
        except _ReplicationLostError as error:
            return self._keep_result(block, SolvedBlock.without_answer(block, str(error)), 0.0)
        finally:
            SPREAD.reset(token)

    def _solve_by_workers(
        self,
        blocks: Sequence[Block],
        block_numbers: Sequence[int],
        result_by_number: dict[int, SolvedBlock],
        progress: Progress,
    ) -> None:
        """Solve the remaining blocks, and keep every worker busy until all are solved."""
        executor, worker_count = self._executor_and_worker_count()
        # At least four groups for each worker, so that none is idle for long at the end.
        most_blocks_in_group = (
            1
            if self.on == THREADS
            else max(1, min(_MOST_TOGETHER, len(block_numbers) // (4 * worker_count)))
        )
        waiting_block_numbers = deque(block_numbers)
        try_count_by_block = dict[int, int]()
        group_by_future = dict[Future[Any], list[int]]()
        while waiting_block_numbers or group_by_future:
            # Twice as many as workers, so that each finds its next group at once, and few are lost
            # when the run is interrupted.
            while waiting_block_numbers and len(group_by_future) < 2 * worker_count:
                # What was in a group that failed goes alone, so that it is known what fails.
                group_size = (
                    1 if waiting_block_numbers[0] in try_count_by_block else most_blocks_in_group
                )
                block_numbers_of_group = [
                    waiting_block_numbers.popleft()
                    for _ in range(min(group_size, len(waiting_block_numbers)))
                ]
                group_blocks = [blocks[block_number] for block_number in block_numbers_of_group]
                group_by_future[self._submit_group(executor, group_blocks)] = block_numbers_of_group
            for future in wait(group_by_future, return_when=FIRST_COMPLETED).done:
                block_numbers_of_group = group_by_future.pop(future)
                self._futures.discard(future)
                results = _group_results(future)
                # The process died: its blocks are tried again, each alone.
                if results is None:
                    block_numbers_of_group, lost_count = _put_lost_blocks_first(
                        block_numbers_of_group, try_count_by_block
                    )
                    reason = f"the process that solves it ended, {_MOST_TRIES} times"
                    results = [
                        (SolvedBlock.without_answer(blocks[block_number], reason), 0.0)
                        for block_number in block_numbers_of_group[:lost_count]
                    ]
                for block_number, (result, seconds) in zip(
                    block_numbers_of_group, results, strict=False
                ):
                    block = blocks[block_number]
                    result_by_number[block_number] = self._accept_result(block, result, seconds)
                    progress(block.count)
                # What a group did not come to is next, in its order.
                waiting_block_numbers.extendleft(reversed(block_numbers_of_group[len(results) :]))

    def _submit_group(self, executor: Executor, group_blocks: Sequence[Block]) -> Future[Any]:
        """Hand a group of blocks to a worker."""
        most_group_seconds = 0.0 if self.on == THREADS else MOST_GROUP_SECONDS
        future = executor.submit(
            _solve_group,
            group_blocks,
            self.limits,
            self._is_isolated,
            engine_versions(),
            most_group_seconds,
        )
        self._futures.add(future)
        return future

    def _accept_result(self, block: Block, result: SolvedBlock, seconds: float) -> SolvedBlock:
        """Store and return the result of a worker for a block; a block that failed as a whole is
        solved again by halves.
        """
        # One point may have made a whole block fail.
        all_failed = len(result.failed) == block.count > 1 and not result.columns
        if all_failed and isinstance(block, PointBlock):
            return self._solve_halves(block)
        return self._keep_result(block, result, seconds)

    def _solve_halves(self, block: PointBlock) -> SolvedBlock:
        """Solve the halves of a block that failed, recursively, until the point that fails is
        alone.
        """
        halves = block.halves()
        return SolvedBlock.joined(
            list(zip((half.count for half in halves), self.solve(halves), strict=True))
        )

    def _keep_result(self, block: Block, result: SolvedBlock, seconds: float) -> SolvedBlock:
        """Put the result of a block into the store, if there is one, and return the result."""
        if self.store is not None:
            self.store.keep(block, result, seconds, self.limits)
        return result

    def _executor_and_worker_count(self) -> tuple[Executor, int]:
        """Return the executor, started if need be, and the number of points that it solves at a
        time.
        """
        assert self.on is not None
        if self._executor is None:
            if self.on in (THREADS, PROCESSES):
                self._executor = ThreadPoolExecutor(self.jobs)
                self._worker_count = self.jobs
            elif self.on == MPI:
                self._executor, self._worker_count = _mpi_executor()
            else:
                self._executor, self._worker_count, self._close_cluster = _dask_executor(self.on)
        return self._executor, self._worker_count


def _mpi_executor() -> tuple[Executor, int]:
    mpi_futures = import_optional("mpi4py.futures", "solving points by MPI", "")
    rank_count: int = import_module("mpi4py.MPI").COMM_WORLD.Get_size()
    if rank_count < 2:
        command = "mpiexec -n 3 python -m mpi4py.futures -m slipstick run STUDY --on mpi"
        raise InputError(
            f"MPI has {rank_count} rank, and one is the master; start it as: {command}"
        )
    return mpi_futures.MPIPoolExecutor(), rank_count - 1


def _dask_executor(address: str) -> tuple[Executor, int, Callable[[], object]]:
    dask_library = import_optional("distributed", "solving points on a Dask cluster", "cluster")
    try:
        client = dask_library.Client(address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        message = (
            f"there is no Dask scheduler at {address} ({type(error).__name__}); start one, or leave"
            " out --on"
        )
        raise InputError(message) from None
    worker_count = sum(client.nthreads().values())
    if not worker_count:
        client.close()
        raise InputError(
            f"the Dask scheduler at {address} has no workers; start some: dask worker {address}"
        )
    # Pure calls would be hashed by Dask to share equal ones, which the store of points does
    # already.
    return client.get_executor(pure=False), worker_count, client.close


def _put_lost_blocks_first(
    block_numbers: Sequence[int], try_count_by_block: dict[int, int]
) -> tuple[list[int], int]:
    """Count one more try of each block whose process died. Return all blocks, with the blocks that
    have no try left at the beginning, and the number of these.
    """
    for block_number in block_numbers:
        try_count_by_block[block_number] = try_count_by_block.get(block_number, 0) + 1
    lost_numbers = [
        block_number
        for block_number in block_numbers
        if try_count_by_block[block_number] >= _MOST_TRIES
    ]
    return [
        *lost_numbers,
        *(block_number for block_number in block_numbers if block_number not in lost_numbers),
    ], len(lost_numbers)


def _group_results(future: Future[Any]) -> list[tuple[SolvedBlock, float]] | None:
    """Return the results of a group of blocks; None if the process that solved it died."""
    try:
        results: list[tuple[SolvedBlock, float]] = future.result()
    except BrokenExecutor:
        return None
    except SlipstickError:
        raise
    except Exception as error:
        # By name, for the library of the cluster need not be installed.
        if type(error).__name__ in ("KilledWorker", "CommClosedError", "FutureCancelledError"):
            return None
        raise
    return results


def _solve_group(
    blocks: Sequence[Block],
    limits: Limits,
    is_isolated: bool,
    versions: Mapping[str, str],
    most_group_seconds: float,
) -> list[tuple[SolvedBlock, float]]:
    """Solve blocks in a worker process until about `most_group_seconds` have passed; return the
    results of those solved.
    """
    # Other versions of a numerical library give other digits, which a study could not reproduce.
    if (versions_here := engine_versions()) != versions:
        differing_versions = [
            f"{name} {versions_here.get(name)} for {version}"
            for name, version in versions.items()
            if versions_here.get(name) != version
        ]
        raise InputError(
            f"a worker on {socket.gethostname()} has {', '.join(differing_versions)}; install"
            " the same on all"
        )
    results: list[tuple[SolvedBlock, float]] = []
    start_time = monotonic()
    for block in blocks:
        with with_limits(limits.costs):
            results.append(
                _solve_in_child(block, limits)
                if is_isolated
                else _solve_with_time(_with_cached_model(block))
            )
        # The rest of a slow group goes back, where other workers can take it.
        if monotonic() - start_time > most_group_seconds:
            break
    return results


_CACHED_MODELS: dict[bytes, SolvableModel] = {}


def _with_cached_model(block: Block) -> Block:
    """Return a block with the solvable model of an earlier block if the two models are equal, so
    that the compiled form of the model is used again.
    """
    if isinstance(block, ReplicationBlock):
        return block
    cached_solvable = _CACHED_MODELS.setdefault(block.solvable.digest, block.solvable)
    # The oldest model goes: blocks come in the order of their models.
    if len(_CACHED_MODELS) > _MOST_TOGETHER:
        del _CACHED_MODELS[next(iter(_CACHED_MODELS))]
    return replace(block, solvable=cached_solvable)


def _point_in_words(block: Block) -> str:
    """Return the case and place of the point of a block; empty for several points."""
    if not isinstance(block, PointBlock) or block.count > 1:
        return ""
    return block.subject or ", ".join(
        f"{path} = {values[0]:g}" for path, values in block.values.items()
    )


def _solve_with_time(block: Block) -> tuple[SolvedBlock, float]:
    """Solve a block in this process; return its results and the seconds taken."""
    start_time = monotonic()
    try:
        with announcing_for(_point_in_words(block)):
            result = solve_block(block)
    except MemoryError:
        result = SolvedBlock.without_answer(block, "takes more memory than there is")
    return result, monotonic() - start_time


# A process beside this one for each thread that solves under limits: it holds the limit of memory
# itself, and is ended where a point takes too long. It ends with the process that started it,
# however that ends.


_WORKER_PROGRAM = """
import os, select, threading
closed = select.poll()
closed.register({handle}, 0)
threading.Thread(target=lambda: (closed.poll(), os._exit(0)), daemon=True).start()
from slipstick.study.engine import serve
serve({handle})
"""
"""What a worker runs. Importing takes a second, so it looks before that whether the other end of
its socket is closed.
"""


class _Worker:
    """A process that solves blocks for one thread."""

    def __init__(self) -> None:
        from multiprocessing.connection import Connection

        own_socket, worker_socket = socket.socketpair()
        with worker_socket:
            worker_program = _WORKER_PROGRAM.format(handle=worker_socket.fileno())
            module_paths = os.pathsep.join(filter(None, sys.path))
            self._messages = TemporaryFile()  # noqa: SIM115  # open as long as the process runs
            self.process = subprocess.Popen(
                [sys.executable, "-c", worker_program],
                pass_fds=[worker_socket.fileno()],
                stderr=self._messages,
                # There is a process for each job already: libraries with threads of their own would
                # take more processors than there are.
                env={**os.environ, "PYTHONPATH": module_paths, **ONE_THREAD},
            )
        self.pipe: Connection[Any, Any] = Connection(own_socket.detach())

    def stop(self) -> int:
        """End the process, and return its status."""
        self.process.kill()
        self._messages.close()
        return self.process.wait()

    def last_message(self) -> str:
        """Return the last line that the process wrote on its standard error."""
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").splitlines()
        return next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")


_THREAD_STATE = threading.local()
_WORKER_BY_THREAD: dict[int, _Worker] = {}


def _solve_in_child(block: Block, limits: Limits) -> tuple[SolvedBlock, float]:
    """Solve a block in this thread's child process; the block has no answer if that process dies or
    exceeds the time limit.
    """
    worker: _Worker | None = getattr(_THREAD_STATE, "worker", None)
    if worker is None or worker.process.poll() is not None:
        if worker is not None:
            worker.stop()
        worker = _THREAD_STATE.worker = _WORKER_BY_THREAD[threading.get_ident()] = _Worker()
        # The imports of a new process do not count as time of the point.
        if not (worker.pipe.poll(_START_TIME) and worker.pipe.recv() == "ready"):
            reason = f"a process for the points cannot be started{worker.last_message()}"
            worker.stop()
            raise InputError(reason)
    start_time = monotonic()
    try:
        worker.pipe.send((block, limits))
        # The limit is one of a point, so a block of several has their sum.
        if not worker.pipe.poll(None if limits.time is None else limits.time * block.count):
            worker.stop()
            return (
                SolvedBlock.without_answer(
                    block, f"takes more than its limit of time, {limits.time:g} s"
                ),
                limits.time or 0.0,
            )
        reply = worker.pipe.recv()
    except (EOFError, OSError):
        exit_status = worker.process.wait()
        end_description = (
            signal.Signals(-exit_status).name if exit_status < 0 else f"status {exit_status}"
        )
        # Under a limit of memory a library may crash in any way; a kill comes from the system or
        # the user.
        if limits.memory is not None and exit_status != -signal.SIGKILL:
            end_description = (
                f"{end_description} under a limit of memory of {limits.memory / 1e9:g} GB"
            )
        elif exit_status > 0:
            end_description += worker.last_message()
        return SolvedBlock.without_answer(
            block, f"its process ended by {end_description}"
        ), monotonic() - start_time
    if isinstance(reply, _OutOfMemoryError):
        worker.stop()  # the next point begins with a new process
        return reply.result, monotonic() - start_time
    if isinstance(reply, BaseException):
        raise reply
    result: tuple[SolvedBlock, float] = reply
    return result


def serve(handle: int) -> None:
    """Solve the blocks received through a pipe until the sending process is gone.

    Parameters
    ----------
    handle : the socket to it
    """
    from multiprocessing.connection import Connection
    from queue import SimpleQueue

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that was interrupted ends this one
    pipe: Connection[Any, Any] = Connection(handle)
    tasks: SimpleQueue[tuple[Block, Limits]] = SimpleQueue()

    # A thread of its own notices at once, also amid a point, that the sending process is gone.
    def receive_tasks() -> None:
        with suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
        os._exit(0)

    threading.Thread(target=receive_tasks, daemon=True).start()
    pipe.send("ready")
    while True:
        block, limits = tasks.get()
        try:
            with with_limits(limits.costs):
                pipe.send(_result_within_memory(_with_cached_model(block), limits.memory))
        except (SlipstickError, _OutOfMemoryError) as error:
            pipe.send(error)


def _result_within_memory(block: Block, memory_limit: float | None) -> tuple[SolvedBlock, float]:
    """Solve a block with a limit on the memory that the process takes in addition to its present
    memory.
    """
    if memory_limit is None:
        return _solve_with_time(block)
    _load_solvers()
    import resource

    reason = f"takes more than its limit of memory, {memory_limit / 1e9:g} GB"
    # It is made before the limit is set: a point that is out of memory leaves none to make it.
    refused_block = SolvedBlock.without_answer(block, reason)
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    address_space = (
        int(Path(_MEMORY_FILE).read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    )
    address_space_limit = int(address_space + memory_limit * block.count)
    # The limit is on address space beyond what the process has now, so that libraries loaded before
    # do not count.
    resource.setrlimit(
        resource.RLIMIT_AS,
        (
            address_space_limit if soft_limit < 0 else min(address_space_limit, soft_limit),
            hard_limit,
        ),
    )
    try:
        result, seconds = _solve_with_time(block)
    except (ImportError, MemoryError, SystemError, OSError, RuntimeError):
        # Without memory a library that is loaded or called may end in any of these.
        raise _OutOfMemoryError(refused_block) from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft_limit, hard_limit))
    # A lack of memory that the solver caught itself is reported as the limit.
    if result.failed and not result.columns:
        result = refused_block
    return result, seconds


class _OutOfMemoryError(Exception):
    """Raised where a library ran out of memory, so that the state of the process is unknown."""

    def __init__(self, result: SolvedBlock) -> None:
        super().__init__(result)
        self.result = result


def _load_solvers() -> None:
    """Import the modules that most points need, so that limits of memory do not count them."""
    for module_name in _SOLVER_MODULES:
        import_module(module_name)


_SOLVER_MODULES = ("numpy", "scipy.linalg", "scipy.sparse.linalg", "slipstick.method.methods")


def _stop_workers(executor: Executor) -> None:
    """End the worker processes of an executor's threads."""
    for thread in getattr(executor, "_threads", ()):
        if (worker := _WORKER_BY_THREAD.pop(thread.ident, None)) is not None:
            worker.stop()


def _interrupt_threads(executor: Executor) -> None:
    """Interrupt the threads that solve points as the main thread was interrupted; simulations check
    for it between events.
    """
    import ctypes

    for thread in getattr(executor, "_threads", ()):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
        )
