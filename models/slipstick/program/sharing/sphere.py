"""Sphere: the shallow water equations on a sphere; one solution vector is updated by all under locks.

A grid of latitudes and longitudes (pitch + 1 rows of twice the pitch points) holds three unknowns a point. Each processor
computes the cells of a sector of longitudes, all latitudes, so that work is even. What cells give is added to the points
at their corners: every row of the solution vector is updated by every processor, under the row's lock. Geometry and
coefficients (nine neighbours, three unknowns by three) are written once and only read afterwards. Rows nearer to a
pole than 60 degrees are filtered along the whole row, to keep the time step; they are dealt out among the processors.

Chosen here, for the paper prints the pitch alone: the grid's shape, the locks, 12 time steps of 5 sweeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log2

import numpy as np

from slipstick.program.lrc.accesses import Access, Acquire, Barrier, Release, SharedProgram, Work
from slipstick.program.sharing.layout import Items, Layout, SharedArray
from slipstick.program.sharing.partition import START, share

__all__ = ["sphere"]

DOUBLE, UNKNOWNS, NEIGHBOURS = 8, 3, 9
POINT = UNKNOWNS * DOUBLE
COEFFICIENTS = NEIGHBOURS * UNKNOWNS**2 * DOUBLE
FILTERED_FROM = 60.0


def sphere(processors: int = 8, pitch: int = 32, steps: int = 12, sweeps: int = 5, page: int = 4096) -> SharedProgram:
    """Solve the shallow water equations on a sphere.

    Parameters
    ----------
    processors : each with a sector of longitudes
    pitch : latitudes between the poles; there are twice as many longitudes
    steps : of time
    sweeps : of the solver in each step
    page : its size [B]

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (pitch 32 and 64).

    >>> from slipstick.program.lrc.run import run
    >>> counts = run(sphere(processors=4, pitch=8, steps=1, sweeps=2)).without("start-up")
    >>> [phase.name for phase in counts.phases]
    ['sweep', 'sweep', 'filter']
    """
    layout, rows, points = Layout(page), pitch + 1, 2 * pitch
    solution = layout.array(rows * points, POINT)
    coefficients = layout.array(rows * points, COEFFICIENTS)
    polar = [row for row in range(rows) if abs(90 - 180 * row / pitch) > FILTERED_FROM]

    def body(me: int) -> Iterator[Access]:
        if me == 0:
            yield solution.write_span(0, rows * points)
            yield coefficients.write_span(0, rows * points)
        yield Barrier(START)
        columns = np.arange(*share(points, processors, me))
        for _ in range(steps):
            for _ in range(sweeps):
                yield from _sweep(solution, coefficients, rows, points, columns, me)
                yield Barrier("sweep")
            for row in polar[me::processors]:
                yield from _filter(solution, row, points)
            yield Barrier("filter")

    return SharedProgram("Sphere", processors, layout.pages, body, "cells", layout.word_count)


def _sweep(
    solution: SharedArray, coefficients: SharedArray, rows: int, points: int, columns: Items, me: int
) -> Iterator[Access]:
    """Add what the cells between these columns and the next give to the rows on both their sides.

    Each processor begins elsewhere, so that they do not all ask for one lock.
    """
    around = np.unique(np.append(columns, columns[-1] + 1) % points)
    begin = me * rows * len(columns) // points
    for row in [(begin + each) % rows for each in range(rows)]:
        yield coefficients.read(row * points + columns)
        yield Work(len(columns))
        yield Acquire(row)
        yield solution.read(row * points + around)
        yield solution.write(row * points + around)
        yield Release(row)


def _filter(solution: SharedArray, row: int, points: int) -> Iterator[Access]:
    """Filter a whole row; its cost grows as that of a Fourier transform."""
    yield Acquire(row)
    yield solution.read_span(row * points, (row + 1) * points)
    yield solution.write_span(row * points, (row + 1) * points)
    yield Release(row)
    yield Work(points * ceil(log2(points)) // NEIGHBOURS)
