"""Several closed classes, exactly: normalizing constants over the lattice of populations, plane by plane.

With B = sum over r of d_r x_r, one variable a class, a station turns the series g into f(B) g, with f as for one
class. The lattice is cut into planes of n_1 + ... + n_R = s and each plane stored by (n_2, ..., n_R). Then x_1
leads from a plane to the next at the same place, x_r one place further, and all single servers together are one
matrix product a plane. All terms are positive, so nothing cancels.

Source: Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975, 283-294, for the recurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.queueing.network import Array, ClosedPart, ClosedSolution, Speeds, blocks, solved_in_parts
from slipstick.queueing.single_class import terms

MOST_STATES = 20_000_000
"""Populations in a lattice; a larger one is refused."""

MOST_NUMBERS = 4_000_000
"""Points are taken in blocks, so that no array is larger unless one point needs it."""


def check_size(population: Array) -> None:
    """Refuse a lattice that would take minutes or fill the memory.

    Raises
    ------
    NoAnswerError : with the number of states, and what to ask for instead
    """
    states = prod(int(each) + 1 for each in population)
    if states > MOST_STATES:
        raise NoAnswerError(
            f"the lattice of populations {tuple(int(each) for each in population)} has {states:,} states; exact "
            f"methods take at most {MOST_STATES:,}; ask for linearizer or schweitzer, which do not grow with it"
        )


def solve_multi_class(closed: ClosedPart, marginals: bool = False) -> ClosedSolution:
    """Solve a closed network of several classes.

    Parameters
    ----------
    closed : the network, of the same populations at all points
    marginals : whether to give the probabilities of single servers too; costs as much again for each pair of them

    Raises
    ------
    NoAnswerError : the lattice is too large
    """
    population = closed.population[0]
    check_size(population)
    order = np.argsort(-population, kind="stable")
    size = prod(int(each) + 1 for each in population[order][1:])
    points, _, stations = closed.demand.shape
    if marginals:
        closed = replace(closed, several={k: closed.several.get(k, closed.last[:, k, None]) for k in range(stations)})
    numbers = size * (int(population.sum()) + 1 if closed.several else 2 * closed.demand[0].size + 1)
    ordered = closed.select(slice(None), order)
    found = solved_in_parts(ordered, blocks(points, MOST_NUMBERS // numbers), _solve_block)
    back = np.argsort(order, kind="stable")
    return replace(found, throughput=found.throughput[:, back], queue=found.queue[:, back])


def _solve_block(closed: ClosedPart) -> ClosedSolution:
    demand, delay, several, population = closed.demand, closed.delay, closed.several, closed.population[0]
    pace = demand / closed.last[:, None]
    scale = _scale(demand.real, pace.real, delay.real, population)
    load, pace, grid = demand * scale[:, :, None], pace * scale[:, :, None], _Grid(population)
    shown: list[Array | None] = [None] * demand.shape[2]
    with np.errstate(all="ignore"):
        start = grid.thinking(scale * delay)
        if several:
            total, less, queue, shown = _with_several(grid, start, load, pace, several)
        else:
            total, less, queue = _singles_only(grid, start, pace)
            queue = queue / total[:, None, None]
        throughput = scale * less / total[:, None]
    least = np.minimum(total.real, less.real.min(axis=1))
    in_range = np.isfinite(total) & np.isfinite(less).all(axis=1) & (least > 1e-270)
    return ClosedSolution(throughput, queue, shown, in_range)


def _scale(demand: Array, pace: Array, delay: Array, population: Array) -> Array:
    """Guess the throughputs (P, R) [1/s]: each class behind its share of all others, no station above its limit."""
    away = delay + (demand - pace).sum(axis=2)
    present = 1 + (population.sum() - 1) / max(1, demand.shape[2])
    guess = population / np.maximum(away + pace.sum(axis=2) * present, 1e-300)
    busiest = (pace * guess[:, :, None]).sum(axis=1).max(axis=1, initial=0.0, keepdims=True)
    scale: Array = guess / np.maximum(busiest, 1.0)
    return scale


class _Grid:
    """Planes of the lattice: how to shift them and where the answers stand."""

    def __init__(self, population: Array) -> None:
        self.population = [int(each) for each in population]
        self.planes = sum(self.population) + 1
        self.shape = tuple(each + 1 for each in self.population[1:])
        rest = len(self.shape)
        # For class r > 1: where its customers come to, and where they came from.
        self.to = [tuple(slice(1, None) if i == r else slice(None) for i in range(rest)) for r in range(rest)]
        self.of = [tuple(slice(-1) if i == r else slice(None) for i in range(rest)) for r in range(rest)]
        last = tuple(self.population[1:])
        self.corner = last
        # One customer fewer of each class: in the plane before the last.
        self.before: list[tuple[int, ...]] = [last] + [
            tuple(n - (i == r) for i, n in enumerate(last)) for r in range(rest)
        ]

    @staticmethod
    def place(at: tuple[int, ...]) -> Any:
        """Index one place of a plane at all points."""
        return (slice(None), *at)

    def ends(self, planes: Array) -> tuple[Array, Array]:
        """Pick the values at N and at N - e_r from planes (P, S, n_2.., n_R, ...): (P, ...) and (P, R, ...)."""
        return planes[:, -1][self.place(self.corner)], self.less(planes[:, -2])

    def less(self, plane: Array) -> Array:
        """Pick the values at N - e_r from the last plane but one, (P, R, ...)."""
        return np.stack([plane[self.place(each)] for each in self.before], axis=1)

    def thinking(self, away: Array) -> Array:
        """Give the planes of those who think or are at a delay, (P, S, n_2.., n_R)."""
        points = len(away)
        if not away.any():
            alone = np.zeros((points, self.planes, *self.shape), dtype=away.dtype)
            alone.reshape(points, -1)[:, 0] = 1
            return alone
        own = [terms(away[:, r], np.arange(1.0, n + 1)[None], n + 1) for r, n in enumerate(self.population)]
        rest = np.ones((points,) + (1,) * len(self.shape), dtype=away.dtype)
        for r, each in enumerate(own[1:]):
            rest = rest * each.reshape(points, *(-1 if i == r else 1 for i in range(len(self.shape))))
        others = sum(np.indices(self.shape)) if self.shape else np.zeros(())
        first = np.arange(self.planes).reshape((-1,) + (1,) * len(self.shape)) - others
        inside = (first >= 0) & (first <= self.population[0])
        planes: Array = np.where(inside, own[0][:, np.clip(first, 0, self.population[0])], 0.0) * rest[:, None]
        return planes

    def shifted(self, planes: Array, load: Array) -> Array:
        """Apply B to all planes, (P, S, n_2.., n_R), with the loads (P, R) of one station."""
        wide = (slice(None),) + (None,) * (planes.ndim - 1)
        moved = np.zeros_like(planes)
        moved[:, 1:] = load[:, 0][wide] * planes[:, :-1]
        for r, (to, of) in enumerate(zip(self.to, self.of, strict=True)):
            moved[(slice(None), slice(1, None), *to)] += load[:, r + 1][wide] * planes[(slice(None), slice(-1), *of)]
        return moved

    def sweep(self, start: Array, steps: Array, width: int) -> Iterator[Array]:
        """Run z(s) = sum over r of z(s - 1, one fewer of class r) M_r + start(s), yielding (P, n_2.., n_R, J).

        `steps` is (P or 1, R J, J): the M_r below each other. `start` enters every one of the J columns.
        """
        points, columns = len(start), len(self.population) * width
        kind = np.result_type(start, steps)
        plane = np.zeros((points, *self.shape, width), dtype=kind)
        # What a plane is made of: itself one customer of each class back, and what starts there.
        sources = np.zeros((points, *self.shape, columns + 1), dtype=kind)
        steps = np.concatenate([steps, np.ones((len(steps), 1, width))], axis=1).astype(kind)
        flat, flat_sources = plane.reshape(points, -1, width), sources.reshape(points, -1, columns + 1)
        whole = slice(None)
        moves = [(sources[..., :width], plane)]
        for r, (to, of) in enumerate(zip(self.to, self.of, strict=True), start=1):
            moves.append((sources[(whole, *to, slice(r * width, (r + 1) * width))], plane[(whole, *of, whole)]))
        thick = prod(self.shape[1:])
        for s in range(self.planes):
            # Places in the first of the plane's axes that lead from the origin to the corner.
            low, high = max(0, s - self.planes + self.shape[0]), min(self.shape[0], s + 1)
            for into, out_of in moves:
                into[...] = out_of
            sources[..., columns] = start[:, s]
            part = slice(low * thick, high * thick)
            np.matmul(flat_sources[:, part], steps, out=flat[:, part])
            yield plane

    def repeated(self, planes: Array, pace: Array) -> Array:
        """Give all planes of planes / (1 - B), with the paces (P, R) of one station."""
        return np.stack(
            [plane[..., 0].copy() for plane in self.sweep(planes, _duplicates(pace[:, :, None]), 1)], axis=1
        )


def _cascade(pace: Array) -> Array:
    """Give the matrix of a row of single servers, each fed by the one before: (P, R K, K)."""
    points, classes, stations = pace.shape
    upper = np.triu(np.ones((stations, stations)))
    steps: Array = (pace[:, :, :, None] * upper).reshape(points, classes * stations, stations)
    return steps


def _duplicates(pace: Array) -> Array:
    """Give the matrix of each station alone: (P, R K, K)."""
    points, classes, stations = pace.shape
    steps: Array = (pace[:, :, :, None] * np.eye(stations)).reshape(points, classes * stations, stations)
    return steps


def _singles_only(grid: _Grid, start: Array, pace: Array) -> tuple[Array, Array, Array]:
    """Give G(N), G(N - e_r) and G(N) times the queues, of single servers and delays."""
    points, classes, stations = pace.shape
    if stations == 0:
        return (*grid.ends(start), np.zeros_like(pace))
    # Beside each station's product with those before it, the whole product with that station once more.
    twice = np.zeros((points, classes, 2 * stations, 2 * stations), dtype=pace.dtype)
    twice[:, :, :stations, :stations] = pace[:, :, :, None] * np.triu(np.ones((stations, stations)))
    twice[:, :, :stations, stations:] = pace[:, :, :, None]
    twice[:, :, stations:, stations:] = pace[:, :, :, None] * np.eye(stations)
    planes = grid.sweep(start, twice.reshape(points, -1, 2 * stations), 2 * stations)
    for _ in range(grid.planes - 2):
        next(planes)
    before = grid.less(next(planes))
    total = next(planes)[grid.place(grid.corner)][:, stations - 1]
    return total, before[..., stations - 1], pace * before[..., stations:]


def _with_several(
    grid: _Grid, start: Array, load: Array, pace: Array, several: Speeds
) -> tuple[Array, Array, Array, list[Array | None]]:
    """Give G(N), G(N - e_r), the queues and the probabilities, where some station has several speeds."""
    stations = load.shape[2]
    base, singles = start, [k for k in range(stations) if k not in several]
    if singles:
        planes = grid.sweep(start, _cascade(pace[:, :, singles]), len(singles))
        base = np.stack([plane[..., -1].copy() for plane in planes], axis=1)
    queue = np.zeros(load.shape, dtype=np.result_type(load, base))
    shown: list[Array | None] = [None] * stations
    for k, speed in several.items():
        others = base
        for other in several:
            if other != k:
                others = _serve(grid, others, load[:, :, other], pace[:, :, other], several[other])
        corner, less = _levels(grid, others, load[:, :, k], speed)
        total, before = corner.sum(axis=1), less.sum(axis=2)
        shown[k] = corner / total[:, None]
        present = np.arange(1.0, grid.planes) / _extended(speed, grid.planes - 1)
        queue[:, :, k] = load[:, :, k] * (less[:, :, :-1] * present[:, None]).sum(axis=2) / total[:, None]
    if singles:
        whole = _serve(grid, others, load[:, :, k], pace[:, :, k], several[k])
        planes = grid.sweep(whole, _duplicates(pace[:, :, singles]), len(singles))
        for _ in range(grid.planes - 2):
            next(planes)
        queue[:, :, singles] = pace[:, :, singles] * grid.less(next(planes)) / total[:, None, None]
    return total, before, queue, shown


def _extended(speed: Array, length: int) -> Array:
    extended: Array = speed[:, np.minimum(np.arange(length), speed.shape[1] - 1)]
    return extended


def _serve(grid: _Grid, planes: Array, load: Array, pace: Array, speed: Array) -> Array:
    """Add a station of several speeds: a short sum, and a geometric rest."""
    wide = (slice(None),) + (None,) * (planes.ndim - 1)
    last = speed.shape[1] - 1
    if not last:
        return grid.repeated(planes, pace)
    served, level = planes, planes
    for n in range(1, min(last, grid.planes)):
        level = grid.shifted(level, load) / speed[:, n - 1][wide]
        served = served + level
    if last >= grid.planes:
        return served
    level = grid.shifted(level, load) / speed[:, last - 1][wide]
    return np.asarray(served + grid.repeated(level, pace))


def _levels(grid: _Grid, others: Array, load: Array, speed: Array) -> tuple[Array, Array]:
    """Give the terms with n = 0, 1, ... customers at a station: at N (P, n) and at N - e_r (P, R, n)."""
    wide = (slice(None),) + (None,) * (others.ndim - 1)
    pace = _extended(speed, grid.planes)
    level, corner, less = others, [], []
    for n in range(grid.planes):
        total, before = grid.ends(level)
        corner.append(total)
        less.append(before)
        level = grid.shifted(level, load) / pace[:, n][wide]
    return np.stack(corner, axis=1), np.stack(less, axis=2)
