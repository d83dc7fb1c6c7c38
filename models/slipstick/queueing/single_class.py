"""One closed class, exactly, for all populations at once: normalizing constants as power series.

A station turns the series g into f g, where f(x) = sum of x^n d^n / (s(1) ... s(n)). Beyond its last speed f is
geometric, so f g is a short sum and one first-order recurrence, in which every term is positive: nothing cancels,
whatever the population and the number of servers. The textbook recursion for such stations subtracts instead,
and gives negative throughputs. The recurrence runs over all points together (`geometric`).

Source: Buzen, Comm. ACM 16(9), 1973, 527-531, for the recurrence.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from slipstick.queueing.network import Array, ClosedPart, ClosedSolution, Speeds, blocks, solved_in_parts

SHORT_ROWS = 64
"""Rows of so many numbers are run side by side: as fast as in C, or faster, for one point and for thousands."""

MOST_NUMBERS = 4_000_000
"""Points are taken in blocks, so that no array is larger."""


def solve_single_class(closed: ClosedPart, marginals: bool = False) -> ClosedSolution:
    """Solve a closed network of one class.

    Points that differ in nothing but the population share one series, so the curve over N costs one recursion.

    Parameters
    ----------
    closed : the network; populations may differ between points
    marginals : whether to give the probabilities of single servers too; the others' are known in any case
    """
    points, _, stations = closed.demand.shape
    length = int(closed.population.max(initial=0)) + 1
    block = MOST_NUMBERS // (length * max(1, stations))
    if points <= block:
        return _solve_block(closed, marginals)
    return solved_in_parts(closed, blocks(points, block), lambda part: _solve_block(part, marginals))


def _distinct(closed: ClosedPart) -> tuple[Array, Array]:
    """Find the points that differ in more than the population, and for each point which of these it is."""
    points = np.arange(len(closed.demand))
    if len(points) == 1 or (closed.population == closed.population[0]).all():
        return points, points
    varied = [each for each in (closed.last, *closed.several.values()) if len(each) > 1]
    columns = np.concatenate([closed.demand[:, 0].T, closed.delay.T, *(each.T for each in varied)])
    # Neighbours are often alike, and cheaper to compare than to sort; the rest are sorted as bytes, all columns at once.
    begins = np.ones(len(points), dtype=bool)
    begins[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    keys = np.ascontiguousarray(columns[:, begins].T)
    whole = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1])))[:, 0]
    _, rows, row_of = np.unique(whole, return_index=True, return_inverse=True)
    return (points[begins][rows], row_of[np.cumsum(begins) - 1]) if len(rows) < len(points) else (points, points)


def _solve_block(closed: ClosedPart, marginals: bool) -> ClosedSolution:
    population = closed.population[:, 0]
    rows, row_of = _distinct(closed)
    most = population
    if len(rows) < len(population):
        closed = closed.select(rows)
        most = np.zeros(len(rows), dtype=np.int64)
        np.maximum.at(most, row_of, population)
    demand, delay = closed.demand[:, 0], closed.delay[:, 0]
    pace = demand / closed.last
    scale = _scale(demand.real, pace.real, delay.real, most)
    with np.errstate(all="ignore"):
        length = int(most.max(initial=0)) + 1
        series = _Series(scale * demand.T, scale * pace.T, closed.several, scale * delay, length)
        total = series.total
        here, before = total[row_of, population], total[row_of, population - (population > 0)]
        throughput = np.where(population > 0, scale[row_of] * before / here, 0.0)
        queue, shown = series.stations(row_of, population, marginals)
    small = np.minimum(here.real, before.real)
    in_range = np.isfinite(here) & np.isfinite(before) & (small > 1e-270)
    return ClosedSolution(throughput[:, None], queue[:, None], shown, in_range)


def _scale(demand: Array, pace: Array, delay: Array, population: Array) -> Array:
    """Guess the throughput, so that scaled demands are about the load and the series neither grows nor dies [1/s].

    The upper balanced job bound, with a station of several speeds as one of its last speed and a delay.
    """
    total, slowest = pace.sum(axis=1), pace.max(axis=1, initial=0.0)
    away = delay + demand.sum(axis=1) - total
    mean = total / max(1, demand.shape[1])
    present = (population - 1) * mean * total / np.maximum(total + away, 1e-300)
    slowest = np.maximum(slowest, (away + total + present) / np.maximum(population, 1))
    scale: Array = 1 / np.maximum(slowest, 1e-300)
    return scale


class _Series:
    """The normalizing constants of a block of points, (P, N + 1), with loads and paces (K, P)."""

    def __init__(self, load: Array, pace: Array, several: Speeds, away: Array, length: int) -> None:
        self.load, self.pace, self.several, self.length = load, pace, several, length
        kind = np.result_type(load, pace, away, *several.values())
        if away.any():
            self.start = terms(away, np.arange(1.0, max(2, length))[None], length).astype(kind)
        else:
            self.start = np.zeros((len(away), length), dtype=kind)
            self.start[:, 0] = 1
        self.singles = [k for k in range(len(load)) if k not in several]
        base = self._add(self.start, self.singles)
        # What a station of several speeds holds follows from the product of all others.
        self.without = {k: self._add(base, [other for other in several if other != k]) for k in several}
        self.total = base
        for k in list(several)[:1]:
            self.total = self._add(self.without[k], [k])

    def _add(self, series: Array, stations: list[int]) -> Array:
        series = geometric(series, *(self.pace[k] for k in stations if k not in self.several))
        for k in (k for k in stations if k in self.several):
            series = serve(series, self.load[k], self.pace[k], self.several[k])
        return series

    def stations(self, row: Array, population: Array, marginals: bool) -> tuple[Array, list[Array | None]]:
        """Give each point's queues (P, K) and probabilities (P, N + 1)."""
        queue = np.zeros((len(row), len(self.load)), dtype=self.total.dtype)
        shown: list[Array | None] = [None] * len(self.load)
        here = self.total[row, population]
        if self.singles:
            queue[:, self.singles] = self._single_queues(row, population) / here[:, None]
        for k, others in self.without.items():
            shown[k] = chance = self._marginal(k, others, row, population) / here[:, None]
            queue[:, k] = chance @ np.arange(self.length)
        for k in self.singles if marginals else ():
            others = self._add(self.start, [other for other in range(len(self.load)) if other != k])
            shown[k] = self._marginal(k, others, row, population) / here[:, None]
        return queue, shown

    def _single_queues(self, row: Array, population: Array) -> Array:
        """Sum d^j G(N - j) over j >= 1: by powers where each row is asked for once, else by the recurrence."""
        pace = self.pace[self.singles].T
        if len(row) == len(self.total) and (row == np.arange(len(row))).all():
            back = self._backwards(self.total, row, population)
            back[:, 0] = 0
            return polynomial(back, pace)
        stations, points = pace.shape[1], len(self.total)
        every = pace.T.reshape(-1)
        each = every[:, None] * geometric(np.tile(self.total, (stations, 1)), every)
        index = row * self.length + population - (population > 0)
        found = each.reshape(stations, points * self.length).take(index, axis=1)
        return np.asarray(found * (population > 0)).T

    def _backwards(self, series: Array, row: Array, population: Array) -> Array:
        """Give series(N - j) for j = 0, 1, ... and zero beyond, (P, N + 1)."""
        if (population == self.length - 1).all():
            return series[row, ::-1].copy()
        index = population[:, None] - np.arange(self.length)
        return np.where(index >= 0, series[row[:, None], np.maximum(index, 0)], 0.0)

    def _marginal(self, k: int, others: Array, row: Array, population: Array) -> Array:
        speed = self.several.get(k, np.ones((1, 1)))
        own = terms(self.load[k] if k in self.several else self.pace[k], speed, self.length)
        return own[row] * self._backwards(others, row, population)


def terms(load: Array, speed: Array, length: int) -> Array:
    """Give load^n / (s(1) ... s(n)) for n = 0..length-1, (P, length), times a constant of each point."""
    known = min(speed.shape[1], length - 1)
    ratio = np.empty((len(load), length), dtype=np.result_type(load, speed))
    ratio[:, 0] = 1
    ratio[:, 1 : known + 1] = load[:, None] / speed[:, :known]
    ratio[:, known + 1 :] = (load / speed[:, -1])[:, None]
    product: Array = np.multiply.accumulate(ratio, axis=1)
    if product.real.max(initial=0.0) < 1e100:
        return product
    # Thousands of customers that think or are served at once: the terms are too large but in logarithms.
    logs = np.add.accumulate(np.log(np.where(ratio == 0, 1e-300, ratio)), axis=1)
    scaled: Array = np.exp(logs - logs.real.max(axis=1, keepdims=True))
    return scaled


def polynomial(coefficients: Array, at: Array) -> Array:
    """Give sum of c(n) x^n for n = 0..L-1, with c (P, L) and several x for each, (P, K).

    Two tables of about sqrt(L) powers instead of one of L.
    """
    points, length = coefficients.shape
    low = int(np.ceil(np.sqrt(length)))
    high = -(-length // low)
    square = np.zeros((points, high * low), dtype=coefficients.dtype)
    square[:, :length] = coefficients
    powers = np.ones((*at.shape, low + 1), dtype=coefficients.dtype)
    powers[..., 1:] = at[..., None]
    np.multiply.accumulate(powers, axis=2, out=powers)
    steps = np.ones((*at.shape, high), dtype=coefficients.dtype)
    steps[..., 1:] = powers[..., low:]
    np.multiply.accumulate(steps, axis=2, out=steps)
    inner = powers[..., :low] @ square.reshape(points, high, low).transpose(0, 2, 1)
    total: Array = (inner * steps).sum(axis=2)
    return total


def geometric(series: Array, *paces: Array) -> Array:
    """Run y(n) = x(n) + pace y(n - 1) along each row for one pace (P,) after the other.

    Short rows are run side by side, number by number. All long rows are one triangular system with a single band, so
    that the recurrence runs in C.
    """
    points, length = series.shape
    kind = np.result_type(series, *paces)
    if length <= SHORT_ROWS:
        terms: list[Any] = list(series.T.astype(kind)) if points > 1 else series[0].astype(kind).tolist()
        for pace in paces if points > 1 else np.concatenate([np.zeros(0), *paces]).tolist():
            terms = list(accumulate(terms, _geometric_step(pace)))
        return np.ascontiguousarray(np.array(terms, dtype=kind).reshape(length, points).T)
    from scipy.linalg import blas  # takes longer to import than most networks to solve

    flat = series.astype(kind).reshape(-1)
    band = np.zeros((2, points * length), dtype=kind, order="F")
    below = band[1].reshape(points, length)[:, :-1]
    solve = blas.ztbsv if kind.kind == "c" else blas.dtbsv
    for pace in paces:
        np.negative(pace[:, None], out=below)
        flat = solve(1, band, flat, lower=1, diag=1, overwrite_x=1)
    return flat.reshape(points, length)


def _geometric_step(pace: Any) -> Callable[[Any, Any], Any]:
    return lambda before, term: term + pace * before


def serve(series: Array, load: Array, pace: Array, speed: Array) -> Array:
    """Add a station of several speeds to a product of others."""
    length, last = series.shape[1], speed.shape[1] - 1
    own = terms(load, speed, length)
    head = min(last, length)
    if len(series) == 1:
        served = np.convolve(own[0, :head], series[0])[None, :length]
    else:
        served = np.zeros(series.shape, dtype=np.result_type(series, own))
        for n in range(head):
            served[:, n:] += own[:, n, None] * series[:, : length - n]
    if last >= length:
        return served
    rest = np.zeros(series.shape, dtype=served.dtype)
    rest[:, last:] = own[:, last, None] * series[:, : length - last]
    return served + geometric(rest, pace)
