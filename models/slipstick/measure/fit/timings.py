"""Timings as arrays: every repetition is an observation of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, Problem
from slipstick.measure.account import regions_of, superlinear
from slipstick.measure.readers.reading import unknown_metrics
from slipstick.measure.runs import Run, Runs, reduce_runs

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timings:
    """Observed times.

    Parameters
    ----------
    p : processors, (M,)
    n : size of the problem, (M,); ones where the data have none [1]
    time : observed, (M,) [s]
    each : every processor does a work of its own, so that the time is that of a cycle (weak scaling); else all share
        one work (strong scaling)
    """

    p: Array
    n: Array
    time: Array
    each: bool = False

    def __len__(self) -> int:
        return len(self.p)

    @property
    def sized(self) -> bool:
        """Say whether the size varies."""
        return len(np.unique(self.n)) > 1

    @property
    def processors(self) -> Array:
        """The distinct numbers of processors, ascending."""
        found: Array = np.unique(self.p)
        return found

    def chosen(self, mask: NDArray[np.bool_]) -> Timings:
        """Give some of the observations."""
        return Timings(self.p[mask], self.n[mask], self.time[mask], self.each)

    def with_time(self, time: Array) -> Timings:
        """Give the same points with other times."""
        return Timings(self.p, self.n, time, self.each)


def timings_of(runs: Runs, region: str | None = None, size: float | None = None) -> Timings:
    """Take what can be fitted from a table: elapsed times, or cycle times, or throughputs (a cycle takes p / X).

    Parameters
    ----------
    runs : what was read
    region : part of the program; the whole if None
    size : of the problem; all that there are if None

    Raises
    ------
    ModelError : no run of this size, no times, times of several kinds, or of 0
    SpecError, UnknownNameError : as for the account

    >>> table = [Run(p, None, "", "throughput", "1/s", p / 2.0, None, "f", p) for p in (1, 2, 4)]
    >>> timings_of(Runs(tuple(table))).time.tolist()
    [2.0, 2.0, 2.0]
    """
    points, _ = reduce_runs(runs)
    whole = regions_of(points, region).whole
    kinds = {metric: _observed(runs.records, metric, whole) for metric in ("time", "cycle", "throughput")}
    found = [metric for metric, observed in kinds.items() if observed]
    if len(found) != 1:
        words = ", ".join(found) or "none of them"
        raise ModelError(f"a fit needs times, cycles or throughputs, one of the three; there are {words}")
    (metric,) = found
    observed = [run for run in kinds[metric] if size is None or run.n == size]
    if not observed:
        known = ", ".join(f"{each:g}" for each in sorted({run.n for run in kinds[metric] if run.n is not None}))
        raise ModelError(f"no run has the size {size:g}; known: {known or 'none, for no run has a size'}")
    if zero := next((run for run in observed if not run.value > 0), None):
        raise ModelError(f"{zero.file}:{zero.line}: {metric} is 0; a fit needs values above 0")
    p = np.array([run.p for run in observed], dtype=float)
    n = np.array([1.0 if run.n is None else run.n for run in observed])
    value = np.array([run.value for run in observed])
    return Timings(p, n, p / value if metric == "throughput" else value, each=metric != "time")


def oddities(runs: Runs, region: str | None = None) -> list[Problem]:
    """Note what is odd about a table before it is fitted: as it was read, repetitions, metrics, superlinear speed-up.

    Parameters
    ----------
    runs, region : as for `timings_of`
    """
    points, repeated = reduce_runs(runs)
    notes = [*runs.notes, *repeated, *unknown_metrics(runs.records)]
    whole = regions_of(points, region).whole
    times = {(point.p, point.n): found for point in points if (found := point.find("time", whole))}
    for (_, n), found in times.items():
        if single := times.get((1, n)):
            notes += superlinear(found.run, single.value / found.value)
    return list(dict.fromkeys(notes))


def _observed(records: Sequence[Run], metric: str, region: str) -> list[Run]:
    return [run for run in records if run.metric == metric and run.region == region and run.processor is None]
