"""Hosts whose times are made: what the kernels of `slipstick calibrate` would measure on a known
host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from slipstick_measure.calibration import host
from slipstick_measure.calibration.analysis import ACCESSES_PER_CYCLE, SPEC_LOCKS
from slipstick_measure.calibration.timing import Timing

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
        self.cores = len(cores)

    def timings(self) -> list[Timing]:
        return times_of(self.known, cores=self.cores)

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
