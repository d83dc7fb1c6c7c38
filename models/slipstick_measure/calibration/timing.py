"""Times of kernels on the cores of this host: processor time of a thread beside elapsed time,
disturbed repetitions left out.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, NamedTuple, NoReturn

import numpy as np

from slipstick.errors import MissingExtraError, NoAnswerError
from slipstick.late import dataclass, field

Array = np.ndarray[Any, Any]
LEAST_RUNNING_SHARE = 0.97
"""Part of the elapsed time during which the thread of an undisturbed repetition was running, at
least.
"""
LEAST_REPETITIONS, MOST_REPETITIONS = 5, 21
"""Undisturbed repetitions that a value needs, and that it gets where there is time."""
MOST_RELATIVE_GAUGE = 1.15
"""Of the gauge's least time on a core, up to which the core's hardware is taken as free: a thread
of another guest on the same core, which the system cannot see, makes the gauge take 1.4 to 1.7
times as long, a free lock 1.9 times, and a chain 1.01 times."""
SHORTEST_REPETITION = 0.0015
"""Duration of a repetition, shorter than the slice of time that a scheduler gives [s]."""
LONGEST_REST = 0.02
"""Longest rest after a disturbed repetition: a scheduler runs a thread that has rested at once, and
for longer [s].
"""
LONGEST_DISTURBANCE = 8.0
"""Time for which the cores may be busy with other programs before a kernel is given up [s]."""
PASSES = 7
"""Times that all kernels are run in turn, so that a slow change of the host is in every
interval.
"""
# Bytes of a large page of x86-64 and of AArch64 with pages of 4 KiB.
_LARGE_PAGE_BYTES = 2 << 20


@dataclass
class Timing:
    """The times of one kernel.

    Attributes
    ----------
    kernel : what was run
    arguments : its arguments by name: bytes, stride, processors, inputs of a grain
    seconds : of one operation, in each undisturbed repetition [s]
    operations_per_turn : number of operations in one turn of the kernel
    disturbed_count : repetitions that were left out
    crowded_seconds : times of repetitions during which other programs used the hardware of a core;
        they count only if too few repetitions were undisturbed [s]
    turns : number of turns of the kernel in a repetition
    """

    kernel: str
    arguments: Mapping[str, Any]
    operations_per_turn: float = 1.0
    seconds: list[float] = field(default_factory=list)
    disturbed_count: int = 0
    crowded_seconds: list[float] = field(default_factory=list)
    turns: int = 16


KernelCall = Callable[[int, int, Array], Any]
"""A kernel, called with the rank of a core, a number of turns, and the numbers over which the
clocks are written.
"""


class TimedKernel(NamedTuple):
    """A kernel, the number of cores that it runs on, and the preparation that brings caches into
    their steady state.
    """

    timing: Timing
    kernel: KernelCall
    core_count: int = 1
    warm_caches: Callable[[], Any] | None = None


class Cores:
    """Threads on cores of this host, and memory for kernels.

    Parameters
    ----------
    core_numbers : numbers of the cores; a thread is bound to each where the system can
    memory_size : of the memory [B]

    Raises
    ------
    MissingExtraError : numba is not installed
    """

    def __init__(self, core_numbers: Sequence[int], memory_size: int) -> None:
        if find_spec("numba") is None:
            raise MissingExtraError("numba", "slipstick calibrate", "fast")
        from slipstick_measure.calibration import kernels

        self.core_numbers = core_numbers
        self.kernels = kernels
        # Large pages are found faster by the processor; only private memory can have them.
        has_large_pages = hasattr(mmap, "MADV_HUGEPAGE")
        byte_count = memory_size + _LARGE_PAGE_BYTES
        mapping_flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if has_large_pages else 0
        mapped_memory = (
            mmap.mmap(-1, byte_count, flags=mapping_flags)
            if has_large_pages
            else mmap.mmap(-1, byte_count)
        )
        if has_large_pages:
            mapped_memory.madvise(mmap.MADV_HUGEPAGE)
        buffer = np.frombuffer(mapped_memory, dtype=np.int64)
        first_index = -buffer.ctypes.data % _LARGE_PAGE_BYTES // 8
        self.memory = buffer[first_index : first_index + memory_size // 8]
        self.memory[:] = 0
        self.random_generator = np.random.default_rng(1)
        self.words = np.zeros(kernels.WORDS, dtype=np.int64)
        self.threads = [
            ThreadPoolExecutor(1, initializer=_bind_to_core, initargs=(core_number,))
            for core_number in core_numbers
        ]
        self.least_gauge_times = np.full(len(core_numbers), np.inf)  # least time on each core [s]

    def close(self) -> None:
        """End the threads."""
        for thread in self.threads:
            thread.shutdown()

    def run_once(
        self, kernel: KernelCall, core_count: int, turns: int
    ) -> tuple[float, float, float]:
        """Run a kernel on some cores. Return its time on the first core [s], the smallest part of
        this time during which a thread ran, and the time of the gauge relative to its minimum.
        """
        ticks = self.random_generator.integers(1 << 62, size=(core_count, self.kernels.TICKS))
        self.words[:] = 0
        futures = [
            thread.submit(kernel, rank, turns, ticks[rank])
            for rank, thread in enumerate(self.threads[:core_count])
        ]
        for future in futures:
            future.result()
        begin_times, processor_begin_times, end_times, processor_end_times, *gauge_times = (
            ticks[:, :-1].reshape(core_count, 8, 2) @ (1.0, 1e-9)
        ).T
        elapsed_times = end_times - begin_times
        gauge_durations = np.array(
            [gauge_times[1] - gauge_times[0], gauge_times[3] - gauge_times[2]]
        )
        self.least_gauge_times[:core_count] = np.minimum(
            self.least_gauge_times[:core_count], gauge_durations.min(axis=0)
        )
        return (
            float(elapsed_times[0]),
            float(min((processor_end_times - processor_begin_times) / elapsed_times)),
            float(np.max(gauge_durations / self.least_gauge_times[:core_count])),
        )

    def measure(self, timed_kernel: TimedKernel, seconds: float) -> None:
        """Repeat a kernel for about `seconds`, and append its times.

        Raises
        ------
        NoAnswerError : other programs use the cores all the time
        """
        timing = timed_kernel.timing
        if timed_kernel.warm_caches:
            timed_kernel.warm_caches()
        self.run_once(timed_kernel.kernel, timed_kernel.core_count, 1)  # which compiles it as well
        end_time = time.perf_counter() + seconds
        needed_repetitions = len(timing.seconds) + MOST_REPETITIONS // PASSES
        while len(timing.seconds) < needed_repetitions:
            if (now := time.perf_counter()) > end_time and len(timing.seconds) + len(
                timing.crowded_seconds
            ) >= LEAST_REPETITIONS:
                return
            if now > end_time + LONGEST_DISTURBANCE:
                self._refuse_disturbances(timing)
            elapsed_time, running_share, relative_gauge = self.run_once(
                timed_kernel.kernel, timed_kernel.core_count, timing.turns
            )
            if elapsed_time < SHORTEST_REPETITION / 2:  # too short for the clocks
                timing.turns *= 2
            elif running_share < LEAST_RUNNING_SHARE:
                timing.disturbed_count += 1
                time.sleep(self.random_generator.uniform(0.1, 1.0) * LONGEST_REST)
            else:
                (
                    timing.seconds
                    if relative_gauge < MOST_RELATIVE_GAUGE
                    else timing.crowded_seconds
                ).append(elapsed_time / timing.turns / timing.operations_per_turn)

    @staticmethod
    def _refuse_disturbances(timing: Timing) -> NoReturn:
        """Raise because other programs disturbed too many repetitions of a kernel."""
        repetition_count = timing.disturbed_count + len(timing.seconds)
        raise NoAnswerError(
            f"other programs use the cores: {timing.disturbed_count} of {repetition_count}"
            " repetitions of"
            f" the kernel {timing.kernel} were disturbed, and {LEAST_REPETITIONS} undisturbed"
            " ones are needed;"
            " end them, name other --cores, or give more --seconds"
        )


def _bind_to_core(core_number: int) -> None:
    """Bind the calling thread to a core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core_number})
