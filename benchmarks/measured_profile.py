"""Where two processors of this machine go: a program that times itself, written as a profile.

Blocks of arithmetic, of unequal sizes, are dealt out in turn to processes; each adds its result to
a shared sum under one lock, and all meet at a barrier between rounds. The program is the same on
any number of processes. Every process times its waits for the lock and for the barrier, and, in its
blocks, the time in which it was not running at all: the elapsed time less that of the processor.
What is left is useful. One more run on one process has no timing but that of the processor over the
whole, so that the machine's other work is not in it.

    python benchmarks/measured_profile.py [--repetitions 7] [--out specs/profiles/two-cores.yaml]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier, Lock
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

ROUNDS, BLOCKS = 40, 12
"""Rounds between barriers, and blocks in each."""
LEAST, MORE, INSIDE = 8_000, 6_000, 1_500
"""Turns of the loop in the smallest block, in each size more, and under the lock."""
CAUSES = ("lock", "barrier", "not-running")
PROCESSORS = (1, 2)


@dataclass
class Spent:
    """What one process spent: when it began and ended, its waits by cause [s], and how often
    each was timed.
    """

    begin: float = 0.0
    end: float = 0.0
    waits: dict[str, float] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0.0))
    events: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0))

    def wait(self, cause: str, seconds: float) -> None:
        """Book one wait."""
        self.waits[cause] += seconds
        self.events[cause] += 1


def work(turns: int) -> int:
    """Compute something that nothing can shorten."""
    x = 1
    for _ in range(turns):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def blocks(rank: int, size: int, turn: int) -> Iterator[int]:
    """Return the sizes of the blocks of one process in one round: unequal, and the same in all on
    any number.
    """
    return (
        LEAST + MORE * ((7 * turn + 5 * block) % 4)
        for block in range(BLOCKS)
        if block % size == rank
    )


def plain(total: Any, lock: Lock, meet: Barrier, rounds: int) -> float:
    """Run on one process without any timing but that of the whole; give the processor's time
    [s].
    """
    begin = thread_time()
    for turn in range(rounds):
        for turns in blocks(0, 1, turn):
            result = work(turns)
            with lock:
                total.value += result + work(INSIDE)
        meet.wait()
    return thread_time() - begin


def timed(rank: int, size: int, total: Any, lock: Lock, meet: Barrier, rounds: int) -> Spent:
    """Run the part of one process, every wait timed."""
    profile = Spent()
    meet.wait()
    profile.begin = perf_counter()
    for turn in range(rounds):
        for turns in blocks(rank, size, turn):
            start, ran = perf_counter(), thread_time()
            result = work(turns)
            ran, stop = thread_time() - ran, perf_counter()
            profile.wait("not-running", max(0.0, stop - start - ran))
            lock.acquire()
            acquired, ran = perf_counter(), thread_time()
            profile.wait("lock", acquired - stop)
            total.value += result + work(INSIDE)
            ran, stop = thread_time() - ran, perf_counter()
            lock.release()
            profile.wait("not-running", max(0.0, stop - acquired - ran))
        start = perf_counter()
        meet.wait()
        profile.wait("barrier", perf_counter() - start)
    profile.end = perf_counter()
    return profile


def _process(
    rank: int, size: int, total: Any, lock: Lock, meet: Barrier, rounds: int, queue: Any
) -> None:
    queue.put((rank, timed(rank, size, total, lock, meet, rounds)))


def run(size: int, rounds: int) -> list[Spent]:
    """Run on some processes, each tied to a processor of its own; give what each spent."""
    context = multiprocessing.get_context("fork")
    shared = (context.Value("q", 0, lock=False), context.Lock(), context.Barrier(size), rounds)
    queue = context.SimpleQueue()
    processes = [
        context.Process(target=_process, args=(rank, size, *shared, queue)) for rank in range(size)
    ]
    cores = sorted(os.sched_getaffinity(0))
    for rank, process in enumerate(processes):
        process.start()
        os.sched_setaffinity(process.pid or 0, {cores[rank % len(cores)]})
    profile_by_process = dict(queue.get() for _ in processes)
    for process in processes:
        process.join()
    return [profile_by_process[rank] for rank in range(size)]


def untimed(rounds: int) -> float:
    """Run once without timing [s]."""
    context = multiprocessing.get_context("fork")
    return plain(context.Value("q", 0, lock=False), context.Lock(), context.Barrier(1), rounds)


def written(time_of_one: float, runs: list[tuple[int, int, list[Spent]]]) -> str:
    """Write a profile; times to a microsecond."""
    count = 1 + max(repetition for _, repetition, _ in runs)
    lines = [
        "profile: 1",
        "title: Blocks of arithmetic, one lock and a barrier on two processors of today",
        (
            f"source: measured by benchmarks/measured_profile.py on two cores, {count} repetitions,"
            " on a shared and noisy machine"
        ),
        (
            "# not-running is the time in which a process had work but no processor: the machine's"
            " other work."
        ),
        (
            "# The timer costs well under 1 us an event and is left in the waits. Rewritten by the"
            " program, not by hand."
        ),
        (
            f"one_processor: {{value: {time_of_one:.6f} s, source: processor's time in as many runs"
            " without timing inside (median)}"
        ),
        "runs:",
    ]
    for size, repetition, spent in runs:
        elapsed = max(span.end for span in spent) - min(span.begin for span in spent)
        lines += [
            f"  - processors: {size}",
            f"    repetition: {repetition + 1}",
            f"    time: {elapsed:.6f} s",
            "    each:",
        ]
        for span in spent:
            waits = ", ".join(f"{cause}: {span.waits[cause]:.6f} s" for cause in CAUSES)
            events = ", ".join(f"{cause}: {span.events[cause]}" for cause in CAUSES)
            lines += [f"      - waits: {{{waits}}}", f"        events: {{{events}}}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the profile."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    rounds = 1 if options.short else ROUNDS
    options.repetitions = 1 if options.short else options.repetitions
    single_times, runs = [], []
    for repetition in range(options.repetitions):
        single_times.append(untimed(rounds))
        runs += [(size, repetition, run(size, rounds)) for size in PROCESSORS]
    text = written(statistics.median(single_times), sorted(runs, key=lambda each: each[:2]))
    if options.out:
        options.out.write_text(text)
        print(f"{options.out}: {len(runs)} runs")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
