"""Sphere: the shallow water equations on a sphere; all processors update one solution vector under
locks.

The pitch is the number of cells in a right angle: a grid of 2 pitch + 1 rows of latitude, 4 pitch
points each, with three unknowns a point. A processor computes the cells of a band of latitudes and
adds the results to the rows of the solution vector at their corners, its last row being also the
next processor's first. Each update follows its cells and is made under a lock, for any row may be
shared; locks are few and stand for many rows each, so they move from processor to processor though
the rows hardly do. Geometry and coefficients (nine neighbours, three unknowns by three) are written
once and then only read. Rows beyond a latitude, 60 degrees, are filtered as a whole to keep the
time step, by the processor of the band, which the others wait for; at 90 degrees none is.

Chosen here, for the paper prints the pitch alone: the meaning of the pitch, the filter, 17 locks,
24 time steps of 10 sweeps; the counts that ship have 36 steps, fitted to a printed time. With 16
locks at pitch 32 the bands on both sides of a band take the same locks. The paper says that most of
the overhead is in locks, and that faults hardly matter beside first misses; hence the bands and the
locks.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log2

from slipstick_workloads import START
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Release,
    SharedProgram,
)
from slipstick_workloads.sharing.layout import MemoryLayout, SharedArray, items_of_processor

DOUBLE_BYTES = 8
UNKNOWNS_PER_POINT = 3
NEIGHBOURS_PER_POINT = 9
POINT_BYTES = UNKNOWNS_PER_POINT * DOUBLE_BYTES
COEFFICIENT_BYTES = NEIGHBOURS_PER_POINT * UNKNOWNS_PER_POINT**2 * DOUBLE_BYTES


def sphere(
    processors: int = 8,
    pitch: int = 32,
    steps: int = 24,
    sweeps: int = 10,
    locks: int = 17,
    filtered: float = 60,
    page: int = 4096,
    message: float = 27,
) -> SharedProgram:
    """Return a program that solves the shallow water equations on a sphere.

    Parameters
    ----------
    processors : each with a band of latitudes
    pitch : cells in a right angle
    steps : of time
    sweeps : of the solver in each step
    locks : row k of the solution is updated under lock k modulo this
    filtered : latitude beyond which rows are filtered [degree]; 90 for none
    page : its size [B]
    message : cells computed in the time of a message, for the clock that orders requests for locks

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (pitch 32 and 64).

    >>> from slipstick_workloads.release_consistency.run import run
    >>> counts = run(sphere(processors=4, pitch=8, steps=1, sweeps=2)).without("start-up")
    >>> [phase.name for phase in counts.phases]
    ['sweep', 'sweep', 'filter']
    """
    layout = MemoryLayout(page)
    row_count = 2 * pitch
    points_per_row = 4 * pitch
    solution = layout.array((row_count + 1) * points_per_row, POINT_BYTES)
    coefficients = layout.array((row_count + 1) * points_per_row, COEFFICIENT_BYTES)

    def accesses_of_processor(processor: int) -> Iterator[Access]:
        """Yield the accesses of one processor."""
        first_row, end_row = items_of_processor(row_count, processors, processor)
        if processor == 0:
            yield solution.write_span(0, (row_count + 1) * points_per_row)
            yield coefficients.write_span(0, (row_count + 1) * points_per_row)
        yield Arrive(START)
        for _ in range(steps):
            for _ in range(sweeps):
                yield coefficients.read_span(
                    first_row * points_per_row, (end_row + 1) * points_per_row
                )
                yield solution.read_span(first_row * points_per_row, (end_row + 1) * points_per_row)
                for row in range(first_row, end_row + 1):
                    yield Compute(points_per_row if row > first_row else 0)
                    yield from _update_row(solution, row, points_per_row, row % locks)
                yield Arrive("sweep")
            if filtered >= 90:
                continue
            for row in range(first_row, end_row + (processor == processors - 1)):
                if abs(90 - 90 * row / pitch) > filtered:
                    yield from _update_row(solution, row, points_per_row, row % locks)
                    yield Compute(
                        points_per_row * ceil(log2(points_per_row)) // NEIGHBOURS_PER_POINT
                    )
            yield Arrive("filter")

    return SharedProgram(
        "Sphere",
        processors,
        layout.pages,
        accesses_of_processor,
        "cells",
        layout.words_per_page,
        message,
    )


def _update_row(
    solution: SharedArray, row: int, points_per_row: int, lock: int
) -> Iterator[Access]:
    """Yield the accesses that change a row of the solution under its lock."""
    yield Acquire(lock)
    yield solution.read_span(row * points_per_row, (row + 1) * points_per_row)
    yield solution.write_span(row * points_per_row, (row + 1) * points_per_row)
    yield Release(lock)
