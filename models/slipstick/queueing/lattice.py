"""Several closed classes, exactly: normalizing constants over the lattice of populations, plane by plane.

With B = sum over r of d_r x_r, one variable a class, a station turns the series g into f(B) g, with f as for one
class. The lattice is cut into planes of n_1 + ... + n_R = s and each plane stored by (n_2, ..., n_R). Then x_1
leads from a plane to the next at the same place, x_r one place further, and all single servers together are one
matrix product a plane. All terms are positive, so nothing cancels.

Source: Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975, 283-294, for the recurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.queueing.network import Array
from slipstick.queueing.series import ClosedAnswer, terms

__all__ = ["MOST_STATES", "check_size", "solve_lattice"]

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


def solve_lattice(
    demand: Array, speeds: list[Array], delay: Array, population: Array, marginals: bool = False
) -> ClosedAnswer:
    """Solve a closed network of several classes.

    Parameters
    ----------
    demand : (P, R, K) [s]
    speeds : for each station its speed with 1, 2, 3 ... present, (P or 1, m)
    delay : (P, R) [s]
    population : customers of each class, the same at all points, (R,)

    Raises
    ------
    NoAnswerError : the lattice is too large
    """
    check_size(population)
    order = np.argsort(-population, kind="stable")
    size = prod(int(each) + 1 for each in population[order][1:])
    several = any(each.shape[1] > 1 for each in speeds)
    each = size * (int(population.sum()) + 1 if several else 2 * len(population) * max(1, len(speeds)))
    block = max(1, MOST_NUMBERS // each)
    parts = []
    for start in range(0, len(demand), block):
        part = slice(start, start + block)
        some = [one if len(one) == 1 else one[part] for one in speeds]
        parts.append(_solve_block(demand[part][:, order], some, delay[part][:, order], population[order]))
    back = np.argsort(order, kind="stable")
    shown = [None if one[0] is None else np.concatenate(one) for one in zip(*(x.probability for x in parts))]
    return ClosedAnswer(
        throughput=np.concatenate([one.throughput for one in parts])[:, back],
        queue=np.concatenate([one.queue for one in parts])[:, back],
        probability=shown,
        sound=np.concatenate([one.sound for one in parts]),
    )


def _solve_block(demand: Array, speeds: list[Array], delay: Array, population: Array) -> ClosedAnswer:
    scale = _scale(demand, speeds, delay, population)
    load = demand * scale[:, :, None]
    grid = _Grid(population)
    single = np.array([each.shape[1] == 1 for each in speeds], dtype=bool)
    pace = _paces(load, speeds)
    with np.errstate(all="ignore"):
        start = grid.thinking(scale * delay)
        if single.all():
            total, less, queues = _singles_only(grid, start, pace)
            queue, shown = queues / total[:, None, None], [None] * len(speeds)
        else:
            total, less, queue, shown = _with_several(grid, start, load, pace, speeds, single)
        throughput = scale * less / total[:, None]
    least = np.minimum(total.real, less.real.min(axis=1))
    sound = np.isfinite(total) & np.isfinite(less).all(axis=1) & (least > 1e-270)
    return ClosedAnswer(throughput, queue, list(shown), sound)


def _paces(load: Array, speeds: list[Array]) -> Array:
    if not speeds:
        return load
    last = [np.broadcast_to(each[:, -1], len(load)) for each in speeds]
    paces: Array = load / np.stack(last, axis=1)[:, None]
    return paces


def _scale(demand: Array, speeds: list[Array], delay: Array, population: Array) -> Array:
    """Guess the throughputs (P, R) [1/s]: each class behind its share of all others, no station above its limit."""
    last = [np.broadcast_to(each[:, -1].real, len(demand)) for each in speeds]
    queueing = demand.real / np.stack(last, axis=1)[:, None] if speeds else demand.real
    away = delay.real + (demand.real - queueing).sum(axis=2)
    crowd = 1 + (population.sum() - 1) / max(1, demand.shape[2])
    guess = population / np.maximum(away + queueing.sum(axis=2) * crowd, 1e-300)
    busiest = (queueing * guess[:, :, None]).sum(axis=1).max(axis=1, initial=0.0, keepdims=True)
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
        self.before = [last] + [tuple(n - (i == r) for i, n in enumerate(last)) for r in range(rest)]

    def thinking(self, away: Array) -> Array:
        """Give the planes of those who think or are at a delay, (P, S, n_2.., n_R)."""
        points = len(away)
        own = [terms(away[:, r], np.arange(1.0, n + 1)[None], n + 1) for r, n in enumerate(self.population)]
        rest = np.ones((points,) + (1,) * len(self.shape), dtype=away.dtype)
        for r, each in enumerate(own[1:]):
            rest = rest * each.reshape((points,) + tuple(-1 if i == r else 1 for i in range(len(self.shape))))
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
        points, classes = len(start), len(self.population)
        kind = np.result_type(start, steps)
        plane = np.zeros((points, *self.shape, width), dtype=kind)
        sources = np.zeros((points, *self.shape, classes, width), dtype=kind)
        flat, flat_sources = plane.reshape(points, -1, width), sources.reshape(points, -1, classes * width)
        alive = [bool(each) for each in start.any(axis=tuple(i for i in range(start.ndim) if i != 1))]
        whole = slice(None)
        for s in range(self.planes):
            if s:
                sources[..., 0, :] = plane
                for r, (to, of) in enumerate(zip(self.to, self.of, strict=True)):
                    sources[(whole, *to, r + 1, whole)] = plane[(whole, *of, whole)]
                np.matmul(flat_sources, steps, out=flat)
            if alive[s]:
                plane += start[:, s, ..., None]
            yield plane


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
        return (*_ends(grid, [start[:, -2], start[:, -1]]), np.zeros_like(pace))
    # Beside each station's product with those before it, the whole product with that station once more.
    twice = np.zeros((points, classes, 2 * stations, 2 * stations), dtype=pace.dtype)
    twice[:, :, :stations, :stations] = pace[:, :, :, None] * np.triu(np.ones((stations, stations)))
    twice[:, :, :stations, stations:] = pace[:, :, :, None]
    twice[:, :, stations:, stations:] = pace[:, :, :, None] * np.eye(stations)
    planes = grid.sweep(start, twice.reshape(points, -1, 2 * stations), 2 * stations)
    for _ in range(grid.planes - 2):
        next(planes)
    before = next(planes).copy()
    total, less = _ends(grid, [before[..., stations - 1], next(planes)[..., stations - 1]])
    more = np.stack([before[(slice(None), *place)][:, stations:] for place in grid.before], axis=1)
    return total, less, pace * more


def _ends(grid: _Grid, planes: list[Array]) -> tuple[Array, Array]:
    """Pick G(N) (P,) and G(N - e_r) (P, R) from the last two planes."""
    total = planes[1][(slice(None), *grid.corner)]
    return total, np.stack([planes[0][(slice(None), *place)] for place in grid.before], axis=1)


def _with_several(
    grid: _Grid, start: Array, load: Array, pace: Array, speeds: list[Array], single: Array
) -> tuple[Array, Array, Array, list[Array | None]]:
    """Give G(N), G(N - e_r), the queues and the probabilities, where some station has several speeds."""
    points, classes, stations = load.shape
    base = start
    if single.any():
        steps = _cascade(pace[:, :, single])
        width = steps.shape[2]
        base = np.stack([plane[..., -1].copy() for plane in grid.sweep(start, steps, width)], axis=1)
    several = [int(k) for k in np.flatnonzero(~single)]
    queue = np.zeros((points, classes, stations), dtype=np.result_type(load, base))
    shown: list[Array | None] = [None] * stations
    for k in several:
        others = base
        for other in several:
            if other != k:
                others = _serve(grid, others, load[:, :, other], pace[:, :, other], speeds[other])
        corner, less = _levels(grid, others, load[:, :, k], speeds[k])
        total, before = corner.sum(axis=1), less.sum(axis=2)
        shown[k] = corner / total[:, None]
        crowd = np.arange(1.0, grid.planes) / _extended(speeds[k], grid.planes - 1)
        queue[:, :, k] = load[:, :, k] * (less[:, :, :-1] * crowd[:, None]).sum(axis=2) / total[:, None]
    if single.any():
        whole = _serve(grid, others, load[:, :, k], pace[:, :, k], speeds[k])
        steps = _duplicates(pace[:, :, single])
        planes = grid.sweep(whole, steps, steps.shape[2])
        for place, plane in enumerate(planes):
            if place == grid.planes - 2:
                more = np.stack([plane[(slice(None), *where)] for where in grid.before], axis=1)
                queue[:, :, single] = pace[:, :, single] * more / total[:, None, None]
    return total, before, queue, shown


def _extended(speed: Array, length: int) -> Array:
    known = speed[:, :length]
    return np.concatenate([known, np.repeat(speed[:, -1:], length - known.shape[1], axis=1)], axis=1)


def _serve(grid: _Grid, planes: Array, load: Array, pace: Array, speed: Array) -> Array:
    """Add a station of several speeds: a short sum, and a geometric rest."""
    wide = (slice(None),) + (None,) * (planes.ndim - 1)
    served, level = planes, planes
    last = speed.shape[1] - 1
    for n in range(1, min(last, grid.planes)):
        level = grid.shifted(level, load) / speed[:, n - 1][wide]
        served = served + level
    if last >= grid.planes:
        return served
    level = grid.shifted(level, load) / speed[:, last - 1][wide]
    rest = [plane[..., 0].copy() for plane in grid.sweep(level, _duplicates(pace[:, :, None]), 1)]
    return served + np.stack(rest, axis=1)


def _levels(grid: _Grid, others: Array, load: Array, speed: Array) -> tuple[Array, Array]:
    """Give the terms with n = 0, 1, ... customers at a station: at N (P, n) and at N - e_r (P, R, n)."""
    wide = (slice(None),) + (None,) * (others.ndim - 1)
    pace = _extended(speed, grid.planes)
    level, corner, less = others, [], []
    for n in range(grid.planes):
        total, before = _ends(grid, [level[:, -2], level[:, -1]])
        corner.append(total)
        less.append(before)
        level = grid.shifted(level, load) / pace[:, n][wide]
    return np.stack(corner, axis=1), np.stack(less, axis=2)
