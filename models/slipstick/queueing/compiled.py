"""Loops of single models, compiled where numba (the extra `fast`) is installed and `compiled_loops`
asks for them.

Not without being asked: numba takes longer to import than thousands of small models to solve, and
sums are added up in another order, so that last digits differ. What is asked for holds for classes
that are closed, single servers and delays, and Bard-Schweitzer or exact mean values, without
derivatives; all else runs as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from slipstick.errors import MissingExtraError
from slipstick.late import np
from slipstick.queueing.network import Array

_ASKED: ContextVar[bool] = ContextVar("compiled loops", default=False)


@contextmanager
def compiled_loops() -> Iterator[None]:
    """Use compiled loops for the queueing networks that the body solves, which pays where many
    small ones are solved one after the other.

    Raises
    ------
    MissingExtraError : numba is not installed

    >>> from slipstick.queueing.exact import exact
    >>> from slipstick.queueing.network import network_arrays
    >>> with compiled_loops():
    ...     exact(network_arrays([0.6, 0.4], population=2, think=1.0)).throughput
    array([[0.88495575]])
    """
    if find_spec("numba") is None:
        raise MissingExtraError("numba", "compiled loops of queueing networks", "fast")
    token = _ASKED.set(True)
    try:
        yield
    finally:
        _ASKED.reset(token)


def loop(function: Callable[..., Any], *arrays: Array) -> Callable[..., Any] | None:
    """Return the compiled form of a loop, if compiled loops are on and no array carries
    derivatives; else None.
    """
    real = _ASKED.get() and all(array.dtype.kind == "f" for array in arrays)
    return _compiled(function) if real else None


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__globals__["np"] = import_module(
        "numpy"
    )  # numba knows the module only, not what stands for it
    compiled: Callable[..., Any] = import_module("numba").njit(cache=True, error_model="numpy")(
        function
    )
    return compiled


def recurrences(series: Array, paces: Array) -> None:
    """Run y(n) = x(n) + pace y(n - 1) along each row (P, L), in place, for one of the paces (K,
    P) after the other.
    """
    for point in range(series.shape[0]):
        row = series[point]
        for k in range(paces.shape[0]):
            term = 0.0
            pace = paces[k, point]
            for n in range(row.size):
                term = row[n] + pace * term
                row[n] = term


def power_sums(series: Array, paces: Array, population: Array) -> Array:
    """Sum pace^j series(N - j) over j >= 1, (P, K), with series (P, L), paces (P, K) and N (P,)."""
    sums = np.zeros(paces.shape)
    for point in range(paces.shape[0]):
        for n in range(population[point]):
            for k in range(paces.shape[1]):
                sums[point, k] = paces[point, k] * (sums[point, k] + series[point, n])
    return sums


def lattice(factor: Array, counts: Array, pace: Array) -> tuple[Array, Array]:
    """Compute the normalizing constants of single servers and delays over all populations, with
    class 0 in the outermost loop.

    With B z(n) = sum over r of pace_r z(n - e_r), station k adds g_k = g_(k-1) + B g_k to the
    stations before it; in the last g, the constant G, each station once more is h_k = G + B h_k. One
    plane, without class 0, is written over for each customer of class 0.

    Parameters
    ----------
    factor : of each class, the terms of 0, 1, ... customers at delays (P, R, most)
    counts : customers (R,)
    pace : (P, R, K), with stations

    Returns
    -------
    G(N) (P,), and at N - e_r, G and all h (P, R, 1 + K)
    """
    points, classes, stations = pace.shape
    total = np.zeros(points)
    with_one_less = np.zeros((points, classes, 1 + stations))
    stride = np.ones(classes, np.int64)
    for r in range(classes - 2, 0, -1):
        stride[r] = stride[r + 1] * (counts[r + 1] + 1)
    size = 1
    for r in range(1, classes):
        size *= counts[r] + 1
    for point in range(points):
        plane = np.zeros((size, 2 * stations))
        numbers = np.zeros(classes, np.int64)
        for number_of_first in range(counts[0] + 1):
            numbers[0] = number_of_first
            if number_of_first == counts[0]:
                # The plane still holds the populations with one customer of class 0 fewer.
                with_one_less[point, 0] = plane[size - 1, stations - 1 :]
            for place in range(size):
                value = 1.0
                for r in range(classes):
                    value *= factor[point, r, numbers[r]]
                for column in range(2 * stations):
                    k = column % stations
                    term = pace[point, 0, k] * plane[place, column]
                    for r in range(1, classes):
                        if numbers[r] > 0:
                            term += pace[point, r, k] * plane[place - stride[r], column]
                    plane[place, column] = value + term
                    if column < stations:
                        value += term
                r = classes - 1
                while r > 0 and numbers[r] == counts[r]:
                    numbers[r] = 0
                    r -= 1
                if r > 0:
                    numbers[r] += 1
        for r in range(1, classes):
            if counts[r] > 0:
                with_one_less[point, r] = plane[size - 1 - stride[r], stations - 1 :]
        total[point] = plane[size - 1, stations - 1]
    return total, with_one_less


def newton_steps(
    demand: Array, delay: Array, count: Array, flow: Array, most: int, most_at_once: float
) -> int:
    """Run the Newton iteration of `slipstick.queueing.approximate`, step by step the same, until
    every point settles.

    Parameters
    ----------
    demand, delay, count : (P, R, K), (P, R) and (P, R)
    flow : throughputs to start at, and those that are found (P, R)
    most : steps of a point
    most_at_once : part of a throughput and of what a station has to spare that a step takes at most

    Returns
    -------
    the steps of the point that takes most, or 0 if one does not settle
    """
    points, classes, stations = demand.shape
    demand_squares = np.empty((stations, classes))
    load = np.empty(classes)
    spare = np.empty(stations)
    steep = np.empty((classes, classes))
    move = np.empty(classes)
    longest = 0
    for point in range(points):
        x = flow[point]
        n = count[point]
        settled = False
        step = 0
        while not settled:
            step += 1
            if step > most:
                return 0
            for r in range(classes):
                move[r] = x[r] * delay[point, r]
                for s in range(classes):
                    steep[r, s] = 0.0
                steep[r, r] = delay[point, r] + (n[r] == 0)
            for k in range(stations):
                spare[k] = 1.0
                for r in range(classes):
                    once = 1 / (1 + x[r] * demand[point, r, k] / max(n[r], 1.0))
                    demand_squares[k, r], load[r] = (
                        demand[point, r, k] * once * once,
                        x[r] * demand[point, r, k] * once,
                    )
                    spare[k] -= load[r]
                for r in range(classes):
                    move[r] += load[r] / spare[k]
                    steep[r, r] += demand_squares[k, r] / spare[k]
                    for s in range(classes):
                        steep[r, s] += load[r] / spare[k] * demand_squares[k, s] / spare[k]
            for r in range(classes):
                # Newton for the reciprocal of the population, which is nearly straight near
                # saturation; beyond a factor of two it would overshoot.
                move[r] = (n[r] - move[r]) * min(max(move[r] / max(n[r], 1.0), 0.5), 2.0)
            # The matrix is a diagonal one and a product of positive ones: without exchange of rows.
            for r in range(classes):
                for s in range(r + 1, classes):
                    factor = steep[s, r] / steep[r, r]
                    move[s] -= factor * move[r]
                    for c in range(r + 1, classes):
                        steep[s, c] -= factor * steep[r, c]
            for r in range(classes - 1, -1, -1):
                for c in range(r + 1, classes):
                    move[r] -= steep[r, c] * move[c]
                move[r] /= steep[r, r]
            growth_limit = most_at_once
            for k in range(stations):
                growth = 0.0
                for r in range(classes):
                    growth += move[r] * demand_squares[k, r]
                growth_limit = max(growth_limit, growth / spare[k])
            settled = True
            for r in range(classes):
                growth_limit = max(growth_limit, -move[r] / (x[r] + (n[r] == 0)))
            for r in range(classes):
                x[r] += most_at_once / growth_limit * move[r]
                # Newton squares the error with each step: after one of 1e-11 what is left is
                # rounding.
                settled = settled and abs(move[r]) <= 1e-11 * abs(x[r])
        longest = max(longest, step)
    return longest
