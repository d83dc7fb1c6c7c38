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

# A context variable: threads that solve at the same time do not see each other.
_IS_COMPILED: ContextVar[bool] = ContextVar("compiled loops", default=False)


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
    reset_token = _IS_COMPILED.set(True)
    try:
        yield
    finally:
        _IS_COMPILED.reset(reset_token)


def compiled_form(function: Callable[..., Any], *arrays: Array) -> Callable[..., Any] | None:
    """Return the compiled form of a function, if compiled loops are on and no array carries
    derivatives; else None.
    """
    is_real = _IS_COMPILED.get() and all(array.dtype.kind == "f" for array in arrays)
    return _compiled_loop(function) if is_real else None


@cache
def _compiled_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the form of a loop that Numba compiles at its first call and keeps on disk."""
    # Numba compiles calls of the module itself, not of the object that imports it late.
    function.__globals__["np"] = import_module("numpy")
    compiled: Callable[..., Any] = import_module("numba").njit(cache=True, error_model="numpy")(
        function
    )
    return compiled


def run_recurrences(series: Array, paces: Array) -> None:
    """Run y(n) = x(n) + pace y(n - 1) along each row (P, L), in place, for one of the paces (K,
    P) after the other.
    """
    for point_index in range(series.shape[0]):
        series_row = series[point_index]
        for pace_index in range(paces.shape[0]):
            sum_so_far = 0.0
            pace = paces[pace_index, point_index]
            for term_index in range(series_row.size):
                sum_so_far = series_row[term_index] + pace * sum_so_far
                series_row[term_index] = sum_so_far


def power_sums(series: Array, paces: Array, population: Array) -> Array:
    """Return the sum of pace^j series(N - j) over j >= 1 (P, K), with series (P, L), paces (P, K)
    and N, the population (P,).
    """
    sums = np.zeros(paces.shape)
    for point_index in range(paces.shape[0]):
        for term_index in range(population[point_index]):
            for station_index in range(paces.shape[1]):
                sums[point_index, station_index] = paces[point_index, station_index] * (
                    sums[point_index, station_index] + series[point_index, term_index]
                )
    return sums


def lattice_constants(factor: Array, counts: Array, pace: Array) -> tuple[Array, Array]:
    """Compute the normalizing constants of single servers and delays over all populations, with
    class 0 in the outermost loop.

    With B z(n) = sum over r of pace_r z(n - e_r), station k adds g_k = g_(k-1) + B g_k to the
    stations before it; in the last g, the constant G, each station once more is h_k = G + B h_k.
    One plane, without class 0, is written over for each customer of class 0.

    Parameters
    ----------
    factor : of each class, the terms of 0, 1, ... customers at delays (P, R, most)
    counts : customers (R,)
    pace : (P, R, K), with stations

    Returns
    -------
    G(N) (P,), and at N - e_r, G and all h (P, R, 1 + K)
    """
    point_count, class_count, station_count = pace.shape
    constants = np.zeros(point_count)
    with_one_less = np.zeros((point_count, class_count, 1 + station_count))
    strides = np.ones(class_count, np.int64)
    for class_index in range(class_count - 2, 0, -1):
        strides[class_index] = strides[class_index + 1] * (counts[class_index + 1] + 1)
    plane_size = 1
    for class_index in range(1, class_count):
        plane_size *= counts[class_index] + 1
    for point_index in range(point_count):
        plane = np.zeros((plane_size, 2 * station_count))
        customers = np.zeros(class_count, np.int64)
        for first_customers in range(counts[0] + 1):
            customers[0] = first_customers
            if first_customers == counts[0]:
                # The plane still holds the populations with one customer of class 0 fewer.
                with_one_less[point_index, 0] = plane[plane_size - 1, station_count - 1 :]
            for cell in range(plane_size):
                cell_value = 1.0
                for class_index in range(class_count):
                    cell_value *= factor[point_index, class_index, customers[class_index]]
                for column in range(2 * station_count):
                    station_index = column % station_count
                    term = pace[point_index, 0, station_index] * plane[cell, column]
                    for class_index in range(1, class_count):
                        if customers[class_index] > 0:
                            term += (
                                pace[point_index, class_index, station_index]
                                * plane[cell - strides[class_index], column]
                            )
                    plane[cell, column] = cell_value + term
                    if column < station_count:
                        cell_value += term
                class_index = class_count - 1
                while class_index > 0 and customers[class_index] == counts[class_index]:
                    customers[class_index] = 0
                    class_index -= 1
                if class_index > 0:
                    customers[class_index] += 1
        for class_index in range(1, class_count):
            if counts[class_index] > 0:
                with_one_less[point_index, class_index] = plane[
                    plane_size - 1 - strides[class_index], station_count - 1 :
                ]
        constants[point_index] = plane[plane_size - 1, station_count - 1]
    return constants, with_one_less


def newton_steps(
    demand: Array,
    delay: Array,
    population: Array,
    throughputs: Array,
    most_steps: int,
    most_at_once: float,
) -> int:
    """Run the Newton iteration of `slipstick.queueing.approximate`, step by step the same, until
    every point settles; return the largest number of steps of a point.

    Parameters
    ----------
    demand, delay, population : (P, R, K), (P, R) and (P, R)
    throughputs : throughputs to start at, and those that are found (P, R)
    most_steps : steps of a point
    most_at_once : part of a throughput and of what a station has to spare that a step takes at most

    Returns
    -------
    the steps of the point that takes most, or 0 if one does not settle
    """
    # One long loop, because Numba compiles a function alone: one that it called would have to be
    # compiled as well.
    point_count, class_count, station_count = demand.shape
    queue_slope = np.empty((station_count, class_count))
    load = np.empty(class_count)
    idle_part = np.empty(station_count)
    jacobian = np.empty((class_count, class_count))
    throughput_step = np.empty(class_count)
    most_steps_taken = 0
    for point_index in range(point_count):
        class_throughput = throughputs[point_index]
        customers = population[point_index]
        is_settled = False
        step_count = 0
        while not is_settled:
            step_count += 1
            if step_count > most_steps:
                return 0
            for class_index in range(class_count):
                throughput_step[class_index] = (
                    class_throughput[class_index] * delay[point_index, class_index]
                )
                for other_class in range(class_count):
                    jacobian[class_index, other_class] = 0.0
                # A class without customers has throughput 0: 1 on the diagonal keeps the system
                # solvable.
                jacobian[class_index, class_index] = delay[point_index, class_index] + (
                    customers[class_index] == 0
                )
            for station_index in range(station_count):
                idle_part[station_index] = 1.0
                for class_index in range(class_count):
                    share_met = 1 / (
                        1
                        + class_throughput[class_index]
                        * demand[point_index, class_index, station_index]
                        / max(customers[class_index], 1.0)
                    )
                    queue_slope[station_index, class_index], load[class_index] = (
                        demand[point_index, class_index, station_index] * share_met * share_met,
                        class_throughput[class_index]
                        * demand[point_index, class_index, station_index]
                        * share_met,
                    )
                    idle_part[station_index] -= load[class_index]
                for class_index in range(class_count):
                    throughput_step[class_index] += load[class_index] / idle_part[station_index]
                    jacobian[class_index, class_index] += (
                        queue_slope[station_index, class_index] / idle_part[station_index]
                    )
                    for other_class in range(class_count):
                        jacobian[class_index, other_class] += (
                            load[class_index]
                            / idle_part[station_index]
                            * queue_slope[station_index, other_class]
                            / idle_part[station_index]
                        )
            for class_index in range(class_count):
                # Newton for the reciprocal of the population, which is nearly straight near
                # saturation; beyond a factor of two it would overshoot.
                throughput_step[class_index] = (
                    customers[class_index] - throughput_step[class_index]
                ) * min(
                    max(throughput_step[class_index] / max(customers[class_index], 1.0), 0.5), 2.0
                )
            # The matrix is a diagonal one and a product of positive ones: without exchange of rows.
            for class_index in range(class_count):
                for other_class in range(class_index + 1, class_count):
                    elimination_factor = (
                        jacobian[other_class, class_index] / jacobian[class_index, class_index]
                    )
                    throughput_step[other_class] -= (
                        elimination_factor * throughput_step[class_index]
                    )
                    for column in range(class_index + 1, class_count):
                        jacobian[other_class, column] -= (
                            elimination_factor * jacobian[class_index, column]
                        )
            for class_index in range(class_count - 1, -1, -1):
                for column in range(class_index + 1, class_count):
                    throughput_step[class_index] -= (
                        jacobian[class_index, column] * throughput_step[column]
                    )
                throughput_step[class_index] /= jacobian[class_index, class_index]
            growth_limit = most_at_once
            for station_index in range(station_count):
                growth = 0.0
                for class_index in range(class_count):
                    growth += throughput_step[class_index] * queue_slope[station_index, class_index]
                growth_limit = max(growth_limit, growth / idle_part[station_index])
            is_settled = True
            for class_index in range(class_count):
                growth_limit = max(
                    growth_limit,
                    -throughput_step[class_index]
                    / (class_throughput[class_index] + (customers[class_index] == 0)),
                )
            for class_index in range(class_count):
                class_throughput[class_index] += (
                    most_at_once / growth_limit * throughput_step[class_index]
                )
                # Newton squares the error with each step: after one of 1e-11 what is left is
                # rounding.
                is_settled = is_settled and abs(throughput_step[class_index]) <= 1e-11 * abs(
                    class_throughput[class_index]
                )
        most_steps_taken = max(most_steps_taken, step_count)
    return most_steps_taken
