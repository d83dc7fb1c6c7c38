"""Synthetic truths: timings whose law is known, with relative noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from slipstick.late import Array
from slipstick_measure.fit.families import cycle_times, expected_largest
from slipstick_measure.fit.formula import Timings

__all__ = ["MEASURED", "TRUTHS", "Truth", "noisy"]

MEASURED = np.repeat(np.array([1.0, 2, 4, 8, 12, 16, 24, 32]), 3)
"""Processors measured: eight numbers of them, three times each."""


class Truth(NamedTuple):
    """A law that timings follow."""

    family: str
    each: bool
    time: Callable[[Array], Array]
    parameters: dict[str, float]


def queue(outside: float, *demands: float, each: bool = False) -> Callable[[Array], Array]:
    return lambda p: cycle_times(outside, np.array(demands), p) / (1 if each else p)


TRUTHS: dict[str, Truth] = {
    "lock": Truth("queue-1", True, queue(9, 1, each=True), {"outside": 9, "service": 1}),
    "lock, shared work": Truth("queue-1", False, queue(95, 5), {"outside": 95, "service": 5}),
    "two stations": Truth(
        "queue-2", False, queue(90, 6, 3), {"outside": 90, "service1": 6, "service2": 3}
    ),
    "serial part": Truth(
        "amdahl", False, lambda p: 100 * (0.05 + 0.95 / p), {"single": 100, "serial": 0.05}
    ),
    "all serial": Truth("amdahl", False, lambda p: 7 * np.ones(len(p)), {"single": 7, "serial": 1}),
    "coherency": Truth(
        "usl",
        False,
        lambda p: 100 * (1 + 0.03 * (p - 1) + 0.0008 * p * (p - 1)) / p,
        {"single": 100, "contention": 0.03, "coherency": 0.0008},
    ),
    "coherency, own work": Truth(
        "usl",
        True,
        lambda p: 2 * (1 + 0.03 * (p - 1) + 0.0008 * p * (p - 1)),
        {"single": 2, "contention": 0.03, "coherency": 0.0008},
    ),
    "slowest of all": Truth(
        "phase-barrier",
        True,
        lambda p: 100 + 8 * expected_largest(p),
        {"work": 100, "spread": 8, "step": 0},
    ),
    "tree barrier": Truth(
        "phase-barrier",
        False,
        lambda p: 100 / p + 0.4 * np.log2(p),
        {"work": 100, "spread": 0, "step": 0.4},
    ),
    "linear latency": Truth(
        "latency", False, lambda p: 100 / p + 0.05 * p, {"work": 100, "latency": 0.05}
    ),
    "p log p latency": Truth(
        "latency", False, lambda p: 100 / p + 0.05 * p * np.log2(p), {"work": 100, "latency": 0.05}
    ),
    "growing cycle": Truth(
        "power-log", True, lambda p: 5 + 0.3 * p**1.5, {"constant": 5, "factor": 0.3}
    ),
    "shrinking root": Truth(
        "power-log", False, lambda p: 1 + 50 / np.sqrt(p), {"constant": 1, "factor": 50}
    ),
}
"""By what makes them slow."""


def noisy(truth: Truth, seed: int, noise: float = 0.01, p: Array = MEASURED) -> Timings:
    """Draw timings of a truth."""
    random = np.random.default_rng([seed, *b"timings"])
    time = truth.time(p) * np.exp(noise * random.standard_normal(len(p)))
    return Timings(p, np.ones(len(p)), time, truth.each)
