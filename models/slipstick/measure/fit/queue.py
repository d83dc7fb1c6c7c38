"""Closed queueing networks with unknown demands: work outside, stations that serve one at a time inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from slipstick.measure.fit.forms import Form, Letter, Lost, shared
from slipstick.measure.fit.timings import Array, Timings
from slipstick.queueing.exact import exact
from slipstick.queueing.network import Solution, network

__all__ = ["closed_queue", "cycle_times"]


def cycle_times(outside: Array | float, demands: Array, populations: Array) -> Array:
    """Give the mean time of a cycle for each population, N / X, exactly.

    Parameters
    ----------
    outside : time outside the stations [s], a number or (M,)
    demands : service at each station in a cycle, (K,) or (M, K) [s]
    populations : whole numbers of at least 1, (M,)

    >>> cycle_times(9.0, np.array([1.0]), np.array([1.0, 2.0, 64.0])).round(3).tolist()
    [10.0, 10.1, 64.0]
    """
    found: Array = populations / _solved(outside, demands, populations).throughput[:, 0]
    return found


def _solved(outside: Array | float, demands: Array, populations: Array) -> Solution:
    service = demands if demands.ndim == 1 else demands[:, None, :]
    return exact(network(service, population=populations[:, None], think=np.reshape(outside, (-1, 1))))


def closed_queue(stations: int) -> Callable[[Timings], Iterator[Form]]:
    """Give the form of a network with some stations: parameters are the time outside and each demand.

    Parameters
    ----------
    stations : how many
    """

    def time(theta: Array, at: Timings) -> Array:
        found: Array = cycle_times(theta[0], theta[1:].T, at.p) / shared(at)
        return found

    def lost(theta: Array, at: Timings) -> Lost:
        waits = (_solved(theta[0], theta[1:], at.p).residence[:, 0] - theta[1:]) / shared(at)[:, None]
        return {f"waiting for {_name(each, stations)}": waits[:, each] for each in range(stations)}

    def starts(at: Timings) -> list[Array]:
        work = at.time * shared(at)
        least, growth = float(work.min()), float((work / at.p).min())
        # The slope of the last stretch is the largest demand, if the queue is full there; it is no larger.
        guesses = [0.999 * growth, 0.5 * growth, 0.1 * growth]
        return [
            np.array([max(least - guess, 0.05 * least), *(guess * 0.5**each for each in range(stations))])
            for guess in guesses
        ]

    def forms(timings: Timings) -> Iterator[Form]:
        demands = (
            Letter(_name(each, stations), "s", "time at a station that serves one at a time")
            for each in range(stations)
        )
        text = f"T = cycle of a closed queueing network{'' if timings.each else ' / p'}"
        letters = (Letter("outside", "s", "time outside the stations"), *demands)
        yield Form(f"queue-{stations}", text, letters, time, starts, lost=lost)

    return forms


def _name(station: int, of: int) -> str:
    return f"service{station + 1}" if of > 1 else "service"
