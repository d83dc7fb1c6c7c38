"""Hosts whose times are made: what the kernels of `slipstick calibrate` would measure on a known
host.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slipstick_measure.calibration import host, timing
from slipstick_measure.calibration.analysis import ACCESSES_PER_CYCLE, SPEC_LOCKS
from slipstick_measure.calibration.timing import Cores, Timing

NOISE, REPETITIONS, CLOCK = 0.01, 21, 2e9
SETS = [4096 * 2 ** (number / 3) for number in range(49)]
HOST: dict[str, Any] = {
    "step": 1.1e-9,
    "sizes": (48 << 10, 2 << 20, 32 << 20),
    "hits": (2e-9, 6e-9, 30e-9, 120e-9),
    "line": 64.0,
    "byte": 0.05e-9,
    "own": 5e-9,
    "handed": 60e-9,
    "latency": 12e-9,
    "central": 200e-9,
}


def read_time(known: Mapping[str, Any], size: float) -> float:
    """Return the mean time of a read at a random place of a set; the nearest cache that holds its
    line answers it.
    """
    time, missed = 0.0, 1.0
    for cache, hit in zip((*known["sizes"], np.inf), known["hits"], strict=True):
        beyond = max(0.0, 1.0 - cache / size) if np.isfinite(cache) else 0.0
        time, missed = time + (missed - beyond) * hit, beyond
    return time


def times_of(known: Mapping[str, Any], seed: int = 1, cores: int = 2) -> list[Timing]:
    """Draw the times that the kernels would measure on a host, with noise."""
    made: list[tuple[str, dict[str, Any], float]] = [
        ("step", {}, known["step"]),
        ("swap", {}, known["own"]),
    ]
    made += [
        (kernel, {"bytes": size}, read_time(known, size))
        for kernel in ("visit", "read")
        for size in SETS
    ]
    made += [
        ("pair", {"stride": each}, 8e-9 if each < known["line"] else 11e-9)
        for each in (8, 16, 32, 64, 128, 256)
    ]
    made += [
        ("stream", {"processors": 1}, 2 * known["byte"]),
        ("stream", {"processors": 2}, known["byte"]),
    ]
    if cores > 1:
        made += [
            ("ping", {}, known["handed"]),
            *(("lock", {"lock": name}, known["latency"]) for name in SPEC_LOCKS),
        ]
        for name, parties in product(SPEC_LOCKS, (1, 2)):
            extra = (parties - 1) * ACCESSES_PER_CYCLE[name] * (known["handed"] - known["own"])
            made.append(("turns", {"lock": name, "processors": parties}, 200e-9 + extra))
        made.append(("barrier", {"barrier": "central", "processors": 2}, known["central"]))
    chance = np.random.default_rng(seed)
    spread = (np.exp(chance.normal(0, NOISE, REPETITIONS)) for _ in made)
    return [
        Timing(kernel, given, seconds=list(time * noise))
        for (kernel, given, time), noise in zip(made, spread, strict=True)
    ]


class FakeCalibration:
    """A host whose measured times are computed."""

    known: Mapping[str, Any] = HOST

    def __init__(self, cores: Sequence[int], seconds: float) -> None:
        self.core_count = len(cores)

    def run_machine_kernels(self) -> list[Timing]:
        return times_of(self.known, cores=self.core_count)

    def run_test_grains(self) -> list[Timing]:
        return [Timing("grain", {"accesses": 0, "compute": 100}, seconds=[110e-9] * 5)]


def use_made_times(monkeypatch: pytest.MonkeyPatch) -> type[FakeCalibration]:
    """Replace the measurements of `slipstick calibrate` by the times of a known host with two
    cores, so that other work on the machine changes nothing.
    """
    monkeypatch.setattr(host, "Calibration", FakeCalibration)
    monkeypatch.setattr(host, "clock_frequency", lambda: CLOCK)
    monkeypatch.setattr(host, "reported_cache_sizes", lambda: list(HOST["sizes"]))
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    return FakeCalibration


# Cores whose clocks are computed

PAGE, LINES, WORDS, TICKS = 4096, 16, 64, 17
SOME_DISTURBED, SOME_CROWDED = 9, 13
"""One repetition of so many is disturbed, and one of so many shares the hardware of its core."""


class ComputedClock:
    """What the clocks of cores show, where time passes only as the kernels on a known host take it.

    Parameters
    ----------
    known : host, as `HOST`
    """

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = known
        self.now = 5.0
        self.repetitions = 0
        self.turns: list[int] = []

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self, ticks: Any, rank: int, turns: int, seconds_of_a_turn: float) -> None:
        """Let a kernel run, and write its clocks as the kernels do."""
        if rank == 0:
            self.repetitions += 1
            self.turns.append(turns)
        elapsed = turns * seconds_of_a_turn
        running = 0.9 if self.repetitions % SOME_DISTURBED == 0 else 0.99
        gauge = 30e-6 * (1.2 if self.repetitions % SOME_CROWDED == 0 else 1.1)
        if self.repetitions == 1:
            gauge = 30e-6
        begin = self.now
        clocks = (begin, 3.0, begin + elapsed, 3.0 + running * elapsed)
        gauges = (begin - gauge, begin, begin + elapsed, begin + elapsed + gauge)
        for number, clock in enumerate((*clocks, *gauges)):
            ticks[2 * number] = int(clock)
            ticks[2 * number + 1] = round((clock - int(clock)) * 1e9)
        if rank == 0:
            self.now = begin + elapsed


class ComputedKernels:
    """The kernels of `slipstick calibrate`, which run nothing and take the time of a known host."""

    PAGE_BYTES, LINES_PER_VISIT, WORDS, TICKS = PAGE, LINES, WORDS, TICKS

    def __init__(self, clock: ComputedClock) -> None:
        self.clock = clock

    def time_visits(
        self, memory: Any, words: Any, pages: int, warming: int, turns: int, ticks: Any
    ) -> None:
        assert pages * PAGE <= memory.nbytes
        seconds = LINES * read_time(self.clock.known, pages * PAGE)
        self.clock.run(ticks, 0, turns, seconds)

    def time_pairs(
        self, memory: Any, words: Any, blocks: int, size: int, stride: int, turns: int, ticks: Any
    ) -> None:
        assert (blocks - 1) * size + stride < len(memory)
        seconds = 8e-9 if 8 * stride < self.clock.known["line"] else 11e-9
        self.clock.run(ticks, 0, turns, seconds)

    def time_sums(
        self,
        memory: Any,
        words: Any,
        parties: int,
        first: int,
        piece: int,
        pieces: int,
        turns: int,
        ticks: Any,
    ) -> None:
        assert first + piece * pieces <= len(memory)
        rank = first // max(1, len(memory) // parties) if parties > 1 else 0
        # One core moves its part in the time in which all cores move all.
        seconds = 8 * piece * self.clock.known["byte"] * 2
        self.clock.run(ticks, rank, turns, seconds)

    def time_swaps(self, words: Any, turns: int, ticks: Any) -> None:
        self.clock.run(ticks, 0, turns, self.clock.known["own"])

    def time_handovers(self, words: Any, rank: int, parties: int, turns: int, ticks: Any) -> None:
        self.clock.run(ticks, rank, turns, parties * self.clock.known["handed"])

    def repeat_grain(
        self, memory: Any, words: Any, rank: int, turns: int, plan: Any, ticks: Any
    ) -> None:
        known = self.clock.known
        parties, elements, accesses, write, compute, lock, critical, barrier, *_ = map(int, plan)
        assert 8 * elements <= memory.nbytes
        seconds = (compute + critical) * known["step"]
        if accesses:
            among = 1 + (parties - 1) * (4 if write else 1)
            seconds += accesses * among * read_time(known, 8 * elements)
        if lock:
            name = tuple(SPEC_LOCKS)[lock - 1]
            handed = (parties - 1) * ACCESSES_PER_CYCLE[name] * (known["handed"] - known["own"])
            seconds += known["latency"] + handed
        if barrier:
            seconds += known["central"] * barrier
        self.clock.run(ticks, rank, turns, seconds)


class ComputedCores(Cores):
    """Cores that run the computed kernels, one after another."""

    clock: ComputedClock

    def __init__(self, cores: Sequence[int], size: int) -> None:
        self.core_numbers = cores
        self.kernels: Any = ComputedKernels(self.clock)
        self.memory = np.zeros(size // 8, dtype=np.int64)
        self.random_generator = np.random.default_rng(1)
        self.words = np.zeros(WORDS, dtype=np.int64)
        self.threads: Any = [_AtOnce() for _ in cores]
        self.least_gauge_times = np.full(len(cores), np.inf)


class _AtOnce(Executor):
    """Runs what is submitted before it returns."""

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **named))
        return future


def use_computed_clocks(
    monkeypatch: pytest.MonkeyPatch, known: Mapping[str, Any] = HOST
) -> ComputedClock:
    """Let `slipstick calibrate` run its kernels on a known host with two cores, whose clocks are
    computed; no number depends on this machine.
    """
    clock = ComputedClock(known)
    monkeypatch.setattr(ComputedCores, "clock", clock, raising=False)
    monkeypatch.setattr(host, "Cores", ComputedCores)
    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(host, "_system_text", lambda: SYSTEM)
    names = {name: lambda: "x" for name in ("system", "machine", "processor")}
    monkeypatch.setattr(host, "platform", SimpleNamespace(**names))
    day = SimpleNamespace(today=lambda: datetime.date(2026, 1, 2))
    monkeypatch.setattr(host, "datetime", SimpleNamespace(date=day))
    monkeypatch.setattr(host, "reported_cache_sizes", lambda: list(known["sizes"]))
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    return clock


SYSTEM = "model name\t: Known\ncpu MHz\t\t: 2000.000\nflags\t\t: fpu hypervisor\n"
