"""The values of a machine that times of kernels determine, whether measured or generated from a
known machine.

Reads at random of a set of W bytes find the share C / W of their lines in a cache of C bytes, so
that with caches C_1 < C_2 ...

    t(W) = h_1 + sum over k of (h_(k+1) - h_k) max(0, 1 - C_k / W),

h_k the time of a read that the k-th cache answers, the last that of memory. Sizes and times are
those of the least relative squared error; a cache is added while reads get slower by half beyond
it. That conflicts within sets take time is left out (`benchmarks/calibrate.py` compares the sizes
with those that the system reports).

Sizes are those of visits to pages, of which few reads have to find their page; times are those of
reads at random, with finding pages, as a program has them. Lines that share sets, which physical
pages at random make unequal, let a second cache appear up to a third smaller.

Two processors that use a lock in turn, and not at once, access k times a word that the other one
accessed last, so that each cycle is k (access - own) longer than alone. Intervals hold the values
of all draws of one repetition of each kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls

from slipstick.errors import NoAnswerError
from slipstick.vocabulary import LOCKS
from slipstick_laws.synchronization import CENTRAL_BARRIER, DISSEMINATION_BARRIER
from slipstick_measure.calibration.timing import Timing

Array = np.ndarray[Any, Any]
SPEC_LOCKS = {
    "test-and-set": "tas",
    "test-and-test-and-set": "ttas",
    "ticket": "ticket",
    "array": "array",
    "mcs": "mcs",
}
"""Kinds of the locks that are measured, by their names in a machine."""
ACCESSES_PER_CYCLE = {
    "test-and-set": 1.0,
    "test-and-test-and-set": 1.5,
    "ticket": 3.0,
    "array": 4.0,
    "mcs": 2.0,
}
"""Accesses of a cycle to a word that the other processor accessed last, where two use a lock in
turn.
"""
LEAST_RISE = 0.5
"""Least relative rise of the read time from one level to the next; a smaller rise is no other
cache.
"""
MOST_CACHES = 3
"""Caches that a host may have at most."""
LEAST_GAIN = 0.2
"""Part of the root-mean-square error that a further cache must remove to be added."""
# Resamples of the repetitions, from which the intervals of values are taken.
DRAWS = 40
"""Resampled machines from which the intervals of values are computed."""
FIRST_QUARTILE = 0.25
"""Quantile of the times of repetitions that is used: disturbances make repetitions slower, never
faster.
"""
_SIZE_RATIO = 2**0.25
"""Ratio of one size tried to the next."""


class HostValue(NamedTuple):
    """A value of a machine and the ends of its interval, in base units."""

    value: float
    low: float
    high: float


class Caches(NamedTuple):
    """The caches from the nearest on: sizes [B], and the read time of each level, the last beyond
    all caches [s].
    """

    sizes: tuple[float, ...]
    times: tuple[float, ...]


def estimate_machine_values(
    timings: Sequence[Timing], clock_frequency: float, seed: int = 1
) -> dict[str, HostValue]:
    """Estimate the values of a machine with intervals, by their paths in its spec.

    Parameters
    ----------
    timings : of the kernels ``step``, ``visit`` and ``read`` (bytes), ``pair`` (stride), ``stream``
        (processors, bytes), ``swap``, ``ping``, ``lock`` (lock), ``turns`` (lock, processors),
        ``barrier`` (barrier, processors)
    clock_frequency : cycles of a second, in which the step is told [cycle/s]
    seed : of the draws

    Raises
    ------
    NoAnswerError : no cache is found
    """
    random_generator = np.random.default_rng(seed)
    values_by_path = machine_values(
        timings, clock_frequency, lambda times: float(np.quantile(times, FIRST_QUARTILE))
    )
    cache_sizes = tuple(value for path, value in values_by_path.items() if path.endswith("size"))
    drawn_machines = [
        machine_values(
            timings,
            clock_frequency,
            lambda times: float(random_generator.choice(times)),
            cache_sizes,
        )
        for _ in range(DRAWS)
    ]
    drawn_values_by_path = {
        path: [value, *(drawn_machine[path] for drawn_machine in drawn_machines)]
        for path, value in values_by_path.items()
    }
    return {
        path: HostValue(values_by_path[path], min(drawn_values), max(drawn_values))
        for path, drawn_values in drawn_values_by_path.items()
    }


def machine_values(
    timings: Sequence[Timing],
    clock_frequency: float,
    pick_time: Callable[[Sequence[float]], float],
    usual_sizes: Sequence[float] = (),
) -> dict[str, float]:
    """Return the values of a machine by their paths, computed from one time of each kernel.

    Parameters
    ----------
    timings, clock_frequency : as of `estimate_machine_values`
    pick_time : chooses one time from those of the repetitions
    usual_sizes : sizes of the caches, about; as many caches as the times support without them [B]
    """

    def timings_of(kernel_name: str) -> list[tuple[Mapping[str, Any], float]]:
        return [
            (timing.arguments, pick_time(timing.seconds))
            for timing in timings
            if timing.kernel == kernel_name
        ]

    (visit_sizes, visit_times), (read_sizes, read_times) = (
        (
            [settings["bytes"] for settings, _ in settings_and_times],
            [time for _, time in settings_and_times],
        )
        for settings_and_times in (timings_of("visit"), timings_of("read"))
    )
    cache_sizes = estimate_caches(visit_sizes, visit_times, usual_sizes).sizes
    caches = Caches(cache_sizes, read_times_of_caches(read_sizes, read_times, cache_sizes))
    line_size = estimate_line_size(
        [(settings["stride"], time) for settings, time in timings_of("pair")]
    )
    *inner_levels, (last_size, last_hit_time) = zip(caches.sizes, caches.times, strict=False)
    # The time of a byte is that with as many cores as make it the least.
    line_transfer_time = line_size * min(time for _, time in timings_of("stream"))
    values_by_path = {
        "processors.step": timings_of("step")[0][1] * clock_frequency,
        "cache.size": last_size,
        "cache.line": line_size,
        "cache.hit": last_hit_time,
    }
    for level_number, (level_size, level_hit_time) in enumerate(inner_levels, 1):
        values_by_path |= {
            f"cache.inner.level-{level_number}.size": level_size,
            f"cache.inner.level-{level_number}.hit": level_hit_time,
        }
    values_by_path |= {
        "memory.access": line_transfer_time,
        "interconnect.hop": max(0.0, caches.times[-1] - line_transfer_time) / 2,
    }
    turn_timings = timings_of("turns")
    for _, transfer_time in timings_of("ping"):
        values_by_path["cache.other"] = transfer_time
        for settings, latency in timings_of("lock"):
            lock_name = settings["lock"]
            turns_of_lock = [
                time
                for settings_of_turns, time in turn_timings
                if settings_of_turns["lock"] == lock_name
            ]
            values_by_path |= _lock_values(
                lock_name, latency, timings_of("swap")[0][1], turns_of_lock
            )
    for settings, time in timings_of("barrier"):
        values_by_path[f"barriers.{settings['barrier']}.access"] = time / _consecutive_access_count(
            settings["barrier"], settings["processors"]
        )
    return values_by_path


def _lock_values(
    lock_name: str, latency: float, swap_time: float, turn_times: Sequence[float]
) -> dict[str, float]:
    """Return the values of a lock by their paths [s].

    Parameters
    ----------
    lock_name : its name in a machine file
    latency : of an acquire and a release on one core [s]
    swap_time : of an access that exchanges a word of this core [s]
    turn_times : time of a cycle of the lock, and of one with a barrier between the cycles [s]
    """
    lock_kind = LOCKS[SPEC_LOCKS[lock_name]]
    # Some accesses of the lock only read, so that the mean may be less than that of an exchange.
    own_time = min(swap_time, latency / (lock_kind.acquire + lock_kind.release))
    time_alone, time_with_barrier = turn_times
    transfer_time = max(0.0, time_with_barrier - time_alone) / ACCESSES_PER_CYCLE[lock_name]
    value_by_key = {"latency": latency, "access": own_time + transfer_time, "own": own_time}
    return {f"locks.{lock_name}.{key}": value for key, value in value_by_key.items()}


def _consecutive_access_count(barrier: str, processors: int) -> float:
    """Return how many accesses to shared words a processor makes in a row in a barrier."""
    if barrier == "central":
        return float(CENTRAL_BARRIER(processors=processors, update=1.0, notice=1.0))
    return float(DISSEMINATION_BARRIER(processors=processors, message=1.0))


def estimate_line_size(strides_and_times: Sequence[tuple[float, float]]) -> float:
    """Estimate the size of a cache line: the smallest stride at which the second read of a pair is
    as slow as the first [B].

    >>> estimate_line_size([(16, 8.0), (32, 8.1), (64, 11.0), (128, 11.1)])
    64
    """
    sorted_strides_and_times = sorted(strides_and_times)
    time_ratios = [
        longer_time / shorter_time
        for (_, shorter_time), (_, longer_time) in pairwise(sorted_strides_and_times)
    ]
    return sorted_strides_and_times[time_ratios.index(max(time_ratios)) + 1][0]


def estimate_caches(
    sizes: Sequence[float], seconds: Sequence[float], usual_sizes: Sequence[float] = ()
) -> Caches:
    """Estimate cache sizes and read times from random reads of sets of several sizes.

    Parameters
    ----------
    sizes, seconds : of the sets [B], and of a read [s]
    usual_sizes : approximate sizes of the caches; if empty, there are as many caches as the times
        support [B]

    Raises
    ------
    NoAnswerError : reads of the largest set are as fast as those of the smallest
    """
    order_by_size = np.argsort(sizes)
    set_sizes = np.asarray(sizes, dtype=float)[order_by_size]
    read_times = np.asarray(seconds, dtype=float)[order_by_size]
    cache_sizes = (
        _fitted_cache_sizes(set_sizes, read_times, usual_sizes)
        if usual_sizes
        else _chosen_cache_sizes(set_sizes, read_times)
    )
    if not cache_sizes:
        raise NoAnswerError(
            f"no cache is found: a read takes {read_times[0]:.3g} s of {set_sizes[0]:g} B, and"
            f" {read_times[-1]:.3g} s of {set_sizes[-1]:g} B"
        )
    return Caches(cache_sizes, read_times_of_caches(set_sizes, read_times, cache_sizes))


def read_times_of_caches(
    set_sizes: Sequence[float] | Array,
    read_times: Sequence[float] | Array,
    cache_sizes: Sequence[float],
) -> tuple[float, ...]:
    """Return the read time of each cache of the given sizes and of memory [s], fitted to the times
    of random reads of sets of several sizes.
    """
    _, time_rises = _fit_read_times(
        np.asarray(set_sizes, dtype=float), np.asarray(read_times, dtype=float), cache_sizes
    )
    return tuple(float(read_time) for read_time in np.cumsum(time_rises))


def _chosen_cache_sizes(set_sizes: Array, read_times: Array) -> tuple[float, ...]:
    """Return cache sizes, added one by one where each reduces the error most, as long as read times
    rise and the error falls enough.
    """
    # Sizes on a logarithmic grid inside the measured sets: at the ends a rise has sets on one side
    # only, and cannot be told from the first or the last time.
    candidate_sizes = np.exp(
        np.arange(np.log(set_sizes[0] * 1.2), np.log(set_sizes[-1] / 1.5), np.log(_SIZE_RATIO))
    )
    cache_sizes: tuple[float, ...] = ()
    smallest_error = _fit_read_times(set_sizes, read_times, cache_sizes)[0]
    while len(cache_sizes) < MOST_CACHES:
        start_sizes = min(
            ((*cache_sizes, size) for size in candidate_sizes),
            key=lambda sizes: _fit_read_times(set_sizes, read_times, sizes)[0],
        )
        fitted_sizes = _fitted_cache_sizes(set_sizes, read_times, start_sizes)
        next_error, time_rises = _fit_read_times(set_sizes, read_times, fitted_sizes)
        level_times = np.cumsum(time_rises)
        if (
            min(level_times[1:] / level_times[:-1]) < 1 + LEAST_RISE
            or next_error > (1 - LEAST_GAIN) * smallest_error
        ):
            break
        cache_sizes = fitted_sizes
        smallest_error = next_error
    return cache_sizes


def _fit_read_times(
    set_sizes: Array, read_times: Array, cache_sizes: Sequence[float]
) -> tuple[float, Array]:
    """Fit the read times for given cache sizes. Return the root-mean-square relative error and the
    rise of the read time at each cache [s].
    """
    # A read at random of a set larger than a cache misses it with the probability 1 - cache / set;
    # each column is the part of the reads that pay the rise in time beyond that cache.
    read_fractions = [
        np.ones_like(set_sizes),
        *(np.maximum(0.0, 1.0 - cache_size / set_sizes) for cache_size in cache_sizes),
    ]
    time_rises, residual_norm = nnls(
        np.stack(read_fractions, axis=1) / read_times[:, None], np.ones_like(set_sizes)
    )
    return float(residual_norm) / len(set_sizes) ** 0.5, np.asarray(time_rises)


def _fitted_cache_sizes(
    set_sizes: Array, read_times: Array, start_sizes: Sequence[float]
) -> tuple[float, ...]:
    """Adjust cache sizes to the smallest error, and return them in order of size."""

    def error_of_sizes(log_sizes: Array) -> float:
        return _fit_read_times(set_sizes, read_times, [float(size) for size in np.exp(log_sizes)])[
            0
        ]

    minimization = minimize(
        error_of_sizes,
        np.log(start_sizes),
        method="Nelder-Mead",
        options={"xatol": 3e-3, "fatol": 1e-6},
    )
    return tuple(sorted(float(size) for size in np.exp(minimization.x)))
