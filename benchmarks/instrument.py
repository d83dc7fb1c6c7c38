"""What timed locks cost, and how well waits that are known are booked.

Three measurements: an uncontended acquire and release of a timed lock beside the plain one; two
threads that hold a lock for 10 ms in turn, whose waits are known: from the request, to when the
holder is about to release, each stamped by the program itself, for a sleep of 10 ms takes longer;
and a program of processes with and without timed locks and barriers.

    python benchmarks/instrument.py [--short]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import statistics
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

from slipstick.instrument import TimedBarrier, TimedLock, WaitRecorder

HOLD = 0.010


def work(turns: int) -> int:
    """Compute something that no optimization can shorten."""
    x = 1
    for _ in range(turns):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def cost(lock: AbstractContextManager[Any], times: int) -> float:
    """Time an acquire and a release without contention [s]."""
    start = time.perf_counter()
    for _ in range(times):
        with lock:
            pass
    return (time.perf_counter() - start) / times


def alternate(
    rank: int, lock: TimedLock, turns: list[threading.Event], holds: int, hold_times: list[float]
) -> None:
    """Hold the lock in turn, and ask for it as soon as the other holds it; a known wait is from
    there to its release.
    """
    for turn in range(holds):
        if turn % 2 == rank:
            with lock:
                turns[turn].set()
                end = time.perf_counter() + HOLD
                time.sleep(max(0.0, end - time.perf_counter()))
                hold_times[turn] += time.perf_counter()
        else:
            turns[turn].wait()
            hold_times[turn] -= time.perf_counter()
            with lock:
                pass


def waits(profile: str, cause: str) -> float:
    """Add up the waits for a cause over all processors [s]."""
    return sum(float(value) for value in re.findall(rf"\b{cause}: ([\d.]+) s", profile))


def rounds(rank: int, lock: Any, barrier: Any, turns: int, number: int) -> None:
    """Compute blocks, each added to a sum under a lock, with a barrier after each round."""
    for _ in range(number):
        for _ in range(6):
            work(turns)
            with lock:
                work(turns // 10)
        barrier.wait()


def elapsed(lock: Any, barrier: Any, turns: int, number: int) -> float:
    """Run the rounds on two processes [s]."""
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=rounds, args=(rank, lock, barrier, turns, number))
        for rank in range(2)
    ]
    start = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    short = parser.parse_args().short
    times, holds, rounds_per_pair = (1000, 4, 2) if short else (300_000, 100, 60)
    repetitions = 1 if short else 7
    context = multiprocessing.get_context("fork")

    for kind, plain in (("threading", threading.Lock()), ("multiprocessing", context.Lock())):
        pairs = [
            (cost(plain, times), cost(TimedLock("free", plain), times)) for _ in range(repetitions)
        ]
        bare, timed = (min(times_of_kind) for times_of_kind in zip(*pairs, strict=True))
        print(f"a free lock of {kind}: {bare * 1e6:.3f} us plain, {timed * 1e6:.3f} us timed")

    with WaitRecorder(processors=2) as recorder:
        hold_times = [0.0] * holds
        recorder.run(
            alternate,
            TimedLock("held"),
            [threading.Event() for _ in range(holds)],
            holds,
            hold_times,
        )
    waited, total_hold = waits(recorder.profile, "held"), sum(hold_times)
    print(
        f"{holds} waits of about {HOLD * 1e3:g} ms: {total_hold:.4f} s to the release,"
        f" {waited:.4f} s"
        f" booked, {waited / total_hold - 1:+.1%}"
    )

    turns = 20_000
    ratios = []
    for _ in range(repetitions):
        bare = elapsed(context.Lock(), context.Barrier(2), turns, rounds_per_pair)
        with WaitRecorder(processors=2, context=context) as recorder:
            start = time.perf_counter()
            lock, barrier = TimedLock("sum", context.Lock()), TimedBarrier(2, "round", context)
            recorder.run(rounds, lock, barrier, turns, rounds_per_pair)
            ratios.append((time.perf_counter() - start) / bare)
    print(
        f"a program of two processes, timed over plain: {statistics.median(ratios):.3f} (median of"
        f" {len(ratios)})"
    )
    print(f"processors of this host: {len(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
