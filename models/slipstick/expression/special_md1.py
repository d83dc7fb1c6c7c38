"""How the distributions of a queue with constant service, M/D/1, are computed over arrays, and their derivatives.

The textbook's series alternate and lose all digits at a few dozen customers. Here every term is positive: the numbers
present follow from each other by Ramaswami's recursion, and waits from the numbers present by Franx' sum.

Source: Ramaswami, Stochastic Models 4(1), 1988; Franx, Operations Research Letters 29(5), 2001.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count as count_from

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_PRESENT", "late", "late_slopes", "number", "number_slopes"]

Array = NDArray[np.float64]
Poisson = Callable[[Sequence[Array], Array], None]

MOST_PRESENT = 1000.0
"""Customers are counted one by one; more of them than this give no number."""

_REACH = 128
"""Arrivals within one service time that matter: each further one is rarer by more than the queue is longer."""


def _levels(load: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the probability of 0, 1, 2 ... customers present, and its derivative by the load, for ever.

    With a_i the chance of i arrivals in a service time and A_k that of k or more,

        p_0 = 1 - a,  p_j = (p_0 A_j + sum_{i=1..j-1} p_i A_(j+1-i)) / a_0.
    """
    empty = 1.0 - load
    yield empty, np.full_like(load, -1.0)
    arrived = [np.exp(-load)]
    for count in range(1, _REACH + 16):
        arrived.append(arrived[-1] * load / count)
    more = np.cumsum(np.array(arrived)[::-1], axis=0)[::-1]
    # What j + 1 - i arrivals or more are multiplied with: the latest level comes with two of them.
    before: deque[tuple[Array, Array]] = deque(maxlen=_REACH)
    for level in count_from(1):
        near = level <= _REACH
        value = empty * more[level] if near else np.zeros_like(load)
        slope = empty * arrived[level - 1] - more[level] if near else np.zeros_like(load)
        for back, (each, its) in enumerate(before):
            value = value + each * more[back + 2]
            slope = slope + its * more[back + 2] + each * arrived[back + 1]
        value = value / arrived[0]
        slope = slope / arrived[0] + value
        before.appendleft((value, slope))
        yield value, slope


def _all_levels(load: Array, count: Array, use: Callable[[int, Array, Array], None]) -> None:
    most = int(np.max(np.where(count <= MOST_PRESENT, count, 0.0), initial=0.0))
    for level, (value, slope) in enumerate(_levels(load)):
        use(level, value, slope)
        if level >= most:
            return


def _numbers(load: Array, count: Array) -> tuple[Array, Array]:
    shape = np.broadcast_shapes(np.shape(load), np.shape(count))
    found, slopes = np.full(shape, np.nan), np.full(shape, np.nan)

    def take(level: int, value: Array, slope: Array) -> None:
        here = count == level
        np.copyto(found, value, where=here)
        np.copyto(slopes, slope, where=here)

    _all_levels(load, count, take)
    return found, slopes


def number(args: Sequence[Array], out: Array) -> None:
    """Compute the probability of so many customers present: operands load and count."""
    out[...] = _numbers(args[0], args[1])[0]


def number_slopes(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Give the derivative of `number` by the load; there is none by the count."""
    return [bar * _numbers(args[0], args[1])[1], None]


def _in_time(load: Array, elapsed: Array, poisson: Poisson) -> tuple[Array, Array, Array]:
    """Give the probability of a wait of at most so many service times, and its derivatives by load and time.

    With k the next whole number above x, P(W <= x) = sum_{j=0..k-1} P(N <= k - j) pi_j, where pi_j is the chance of j
    arrivals in k - x service times.
    """
    load, elapsed = np.broadcast_arrays(load, elapsed)
    following = np.floor(elapsed) + 1.0
    rest = following - elapsed
    mean = np.maximum(load * rest, 1e-300)
    total, by_load, by_time = (np.zeros(load.shape) for _ in range(3))
    present, its = np.zeros(load.shape), np.zeros(load.shape)

    def add(level: int, value: Array, slope: Array) -> None:
        nonlocal present, its
        present, its = present + value, its + slope
        if not level:
            return
        arrivals = following - level
        chance, one_less = np.empty(load.shape), np.empty(load.shape)
        poisson([mean, np.maximum(arrivals, 0.0)], chance)
        poisson([mean, np.maximum(arrivals - 1.0, 0.0)], one_less)
        there = arrivals >= 0.0
        change = np.where(arrivals >= 1.0, one_less, 0.0) - chance
        np.add(total, present * chance, out=total, where=there)
        np.add(by_load, its * chance + present * change * rest, out=by_load, where=there)
        np.subtract(by_time, present * change * load, out=by_time, where=there)

    _all_levels(load, following, add)
    beyond = following > MOST_PRESENT
    for each in (total, by_load, by_time):
        each[beyond] = np.nan
    return total, by_load, by_time


def late(args: Sequence[Array], out: Array, poisson: Poisson) -> None:
    """Compute the probability of a wait of more than so many service times: operands load and time."""
    np.subtract(1.0, _in_time(args[0], args[1], poisson)[0], out=out)


def late_slopes(args: Sequence[Array], bar: Array, poisson: Poisson) -> list[Array | None]:
    """Give the derivatives of `late` by load and time; between whole service times it has both."""
    _, by_load, by_time = _in_time(args[0], args[1], poisson)
    return [-bar * by_load, -bar * by_time]
