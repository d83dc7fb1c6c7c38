"""Closed classes, exactly: normalizing constants, of one class as power series and of several over
the lattice of populations.

A station turns the series g into f g, where f(x) = sum of x^n d^n / (s(1) ... s(n)). Beyond its
last speed f is geometric, so f g is a short sum and one first-order recurrence, in which every term
is positive: nothing cancels, whatever the population and the number of servers. The textbook
recursion for such stations subtracts instead, and gives negative throughputs. The recurrence of one
class runs over all points and populations together (`geometric`).

With several classes there is one variable a class, and B = sum over r of d_r x_r takes the place of
x d. The lattice is cut into planes of n_1 + ... + n_R = s and each plane stored by (n_2, ..., n_R).
Then x_1 leads from a plane to the next at the same place, x_r one place further, and all single
servers together are one matrix product a plane.

Sources: Buzen, Comm. ACM 16(9), 1973, 527-531; Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975,
283-294, for the recurrences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from math import isqrt, prod
from typing import Any

from slipstick.late import np
from slipstick.limits import check_cost
from slipstick.queueing.compiled import lattice, loop, power_sums, recurrences
from slipstick.queueing.network import (
    Array,
    ClosedPart,
    ClosedSolution,
    Speeds,
    blocks,
    solved_in_parts,
)

SHORT_ROWS, MANY_ROWS = 64, 200
"""The length of rows that are computed side by side; of many of them, three times that.
Measured: the faster way.
"""

MOST_TOGETHER = 16
"""Stations whose recurrences are one matrix: its powers take time by the third power of their
number.
"""

MOST_NUMBERS = 4_000_000
"""Points are taken in blocks, so that no array is larger unless one point needs it."""


def solve_single_class(closed: ClosedPart, marginals: bool = False) -> ClosedSolution:
    """Solve a closed network of one class.

    Points that differ in nothing but the population share one series, so the curve over N costs one
    recursion.

    Parameters
    ----------
    closed : the network; populations may differ between points
    marginals : whether to give the probabilities of single servers too; the others' are known in
        any case
    """
    largest_population = int(closed.population.max(initial=0))
    check_size(closed, marginals)
    points, _, stations = closed.demand.shape
    block = MOST_NUMBERS // ((largest_population + 1) * max(1, stations))
    # Of single servers a series is all that a point needs, and points that differ in the population
    # alone have one.
    shared = points > block and not closed.several and not marginals
    if (len(_distinct(closed)[0]) if shared else points) <= block:
        return _solve_block(closed, marginals)
    return solved_in_parts(
        closed, blocks(points, block), lambda rows: _solve_block(rows, marginals)
    )


def _distinct(closed: ClosedPart) -> tuple[Array, Array]:
    """Return the points that differ in more than their population, and for each point the index of
    the one that it equals.
    """
    points = np.arange(len(closed.demand))
    if len(points) == 1 or (closed.population == closed.population[0]).all():
        return points, points
    columns_that_vary = [
        values for values in (closed.last, *closed.several.values()) if len(values) > 1
    ]
    columns = np.concatenate(
        [closed.demand[:, 0].T, closed.delay.T, *(values.T for values in columns_that_vary)]
    )
    # Neighbours are often alike, and cheaper to compare than to sort; the rest are sorted as bytes,
    # all columns at once.
    begins = np.ones(len(points), dtype=bool)
    begins[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    keys = np.ascontiguousarray(columns[:, begins].T)
    bytes_of_row = keys.dtype.itemsize * keys.shape[1]
    row_bytes = keys.view(np.dtype((np.void, bytes_of_row)))[:, 0]
    _, rows, row_of = np.unique(row_bytes, return_index=True, return_inverse=True)
    return (
        (points[begins][rows], row_of[np.cumsum(begins) - 1])
        if len(rows) < len(points)
        else (points, points)
    )


def _solve_block(closed: ClosedPart, marginals: bool) -> ClosedSolution:
    population = closed.population[:, 0]
    rows, row_of = _distinct(closed)
    largest_populations = population
    if len(rows) < len(population):
        closed = closed.select(rows)
        largest_populations = np.zeros(len(rows), dtype=np.int64)
        np.maximum.at(largest_populations, row_of, population)
    demand = closed.demand[:, 0]
    delay = closed.delay[:, 0]
    pace = demand / closed.last
    scale = _scale(demand.real, pace.real, delay.real, largest_populations)
    # What leaves the range of doubles here is solved again in logarithms.
    with np.errstate(all="ignore"):
        length = int(largest_populations.max(initial=0)) + 1
        series = _Series(scale * demand.T, scale * pace.T, closed.several, scale * delay, length)
        total = series.total
        constant = total[row_of, population]
        constant_with_one_less = total[row_of, population - (population > 0)]
        # X = G(N - 1) / G(N): the common scale of demands and delays cancels but for one factor.
        throughput = (population > 0) * scale[row_of] * constant_with_one_less / constant
        queue, shown = series.stations(row_of, population, constant, marginals)
    # A constant below 1e-270 has lost digits, or stands for one that went to 0 on the way.
    small = np.minimum(constant.real, constant_with_one_less.real)
    in_range = np.isfinite(constant) & np.isfinite(constant_with_one_less) & (small > 1e-270)
    return ClosedSolution(throughput[:, None], queue[:, None], shown, in_range)


def _scale(demand: Array, pace: Array, delay: Array, population: Array) -> Array:
    """Return an estimate of the throughput; demands times this scale keep the series of constants
    within the range of doubles [1/s].

    The upper balanced job bound, with a station of several speeds as one of its last speed and a
    delay.
    """
    cycle = np.maximum(delay + demand.sum(axis=1), 1e-300)
    total = pace.sum(axis=1)
    present = (population - 1) * total * total / (max(1, demand.shape[1]) * cycle)
    times_between = (cycle + present) / np.maximum(population, 1)
    slowest = np.maximum(pace.max(axis=1, initial=1e-300), times_between)
    scale: Array = 1 / slowest
    return scale


class _Series:
    """The normalizing constants of a block of points, (P, N + 1), from loads and paces (K, P)."""

    def __init__(self, load: Array, pace: Array, several: Speeds, away: Array, length: int) -> None:
        self.load = load
        self.pace = pace
        self.several = several
        self.length = length
        kind = np.result_type(load, pace, away, *several.values())
        if away.any():
            numbers = np.arange(1.0, max(2, length))[None]
            self.start = terms(away, numbers, length).astype(kind)
        else:
            self.start = np.zeros((len(away), length), dtype=kind)
            # Without delays only the empty delay has a term.
            self.start[:, 0] = 1
        self.singles = [k for k in range(len(load)) if k not in several]
        base = self._add(self.start, self.singles)
        # What a station of several speeds holds follows from the product of all others.
        self.without = {
            k: self._add(base, [station for station in several if station != k]) for k in several
        }
        self.total = base
        # One of them is enough: each is a product with its own station, so that all are equal.
        for k in list(several)[:1]:
            self.total = self._add(self.without[k], [k])

    def _add(self, series: Array, stations: list[int]) -> Array:
        series = geometric(series, *(self.pace[k] for k in stations if k not in self.several))
        for k in (k for k in stations if k in self.several):
            series = serve(series, self.load[k], self.pace[k], self.several[k])
        return series

    def stations(
        self, row: Array, population: Array, constant: Array, marginals: bool
    ) -> tuple[Array, list[Array | None]]:
        """Return the mean queues (P, K) and the probabilities of numbers present (P, N + 1) at each
        point, from the normalizing constants of their populations, `constant` (P,).
        """
        queue = np.zeros((len(row), len(self.load)), dtype=self.total.dtype)
        shown: list[Array | None] = [None] * len(self.load)
        if self.singles:
            queue[:, self.singles] = self._single_queues(row, population) / constant[:, None]
        for k, without_station in self.without.items():
            shown[k] = chance = (
                self._marginal(k, without_station, row, population) / constant[:, None]
            )
            queue[:, k] = chance @ np.arange(self.length)
        for k in self.singles if marginals else ():
            without_station = self._add(
                self.start, [station for station in range(len(self.load)) if station != k]
            )
            shown[k] = self._marginal(k, without_station, row, population) / constant[:, None]
        return queue, shown

    def _single_queues(self, row: Array, population: Array) -> Array:
        """Return G(N) times the mean queues of the single servers, the sum of d^j G(N - j) over j
        >= 1: by powers where each row is asked for once, else by the recurrence.
        """
        pace = (self.pace[self.singles] if self.several else self.pace).T
        run = loop(power_sums, self.total)
        if run:
            return np.asarray(run(self.total[row], pace[row], population))
        if len(row) == len(self.total):
            back = self._backwards(self.total, row, population)
            back[:, 0] = 0
            return polynomial(back, pace)
        stations = pace.shape[1]
        points = len(self.total)
        pace_of_rows = pace.T.reshape(-1)
        powers = pace_of_rows[:, None] * geometric(np.tile(self.total, (stations, 1)), pace_of_rows)
        index = row * self.length + population - (population > 0)
        queue = powers.reshape(stations, points * self.length).take(index, axis=1)
        return np.asarray(queue * (population > 0)).T

    def _backwards(self, series: Array, row: Array, population: Array) -> Array:
        """Return series(N - j) for j = 0, 1, ... and zero beyond, (P, N + 1)."""
        if (population == self.length - 1).all():
            return series[row, ::-1].copy()
        index = population[:, None] - np.arange(self.length)
        return np.where(index >= 0, series[row[:, None], np.maximum(index, 0)], 0.0)

    def _marginal(self, k: int, without_station: Array, row: Array, population: Array) -> Array:
        speed = self.several.get(k, np.ones((1, 1)))
        own = terms(self.load[k] if k in self.several else self.pace[k], speed, self.length)
        return own[row] * self._backwards(without_station, row, population)


def terms(load: Array, speed: Array, length: int) -> Array:
    """Return load^n / (s(1) ... s(n)) for n = 0..length-1, (P, length), times a constant of each
    point.
    """
    speeds = min(speed.shape[1], length - 1)
    ratio = np.empty((len(load), length), dtype=np.result_type(load, speed))
    ratio[:, 0] = 1
    ratio[:, 1 : speeds + 1] = load[:, None] / speed[:, :speeds]
    ratio[:, speeds + 1 :] = (load / speed[:, -1])[:, None]
    product: Array = np.multiply.accumulate(ratio, axis=1)
    if product.real.max(initial=0.0) < 1e100:
        return product
    # Thousands of customers that think or are served at once: the terms are too large but in
    # logarithms.
    logs = np.add.accumulate(np.log(np.where(ratio == 0, 1e-300, ratio)), axis=1)
    scaled: Array = np.exp(logs - logs.real.max(axis=1, keepdims=True))
    return scaled


def polynomial(coefficients: Array, x: Array) -> Array:
    """Return sum of c(n) x^n for n = 0..L-1, with c (P, L) and several x for each, (P, K).

    Two tables of about sqrt(L) powers instead of one of L.
    """
    points, length = coefficients.shape
    low = isqrt(length - 1) + 1
    high = -(-length // low)
    square = np.zeros((points, high * low), dtype=coefficients.dtype)
    square[:, :length] = coefficients
    powers = np.ones((*x.shape, low + 1), dtype=coefficients.dtype)
    # Two factors of each power, x^(low a) and x^b: sqrt(L) multiplications instead of L.
    powers[..., 1:] = x[..., None]
    np.multiply.accumulate(powers, axis=2, out=powers)
    steps = np.ones((*x.shape, high), dtype=coefficients.dtype)
    steps[..., 1:] = powers[..., low:]
    np.multiply.accumulate(steps, axis=2, out=steps)
    inner = powers[..., :low] @ square.reshape(points, high, low).transpose(0, 2, 1)
    total: Array = (inner * steps).sum(axis=2)
    return total


def geometric(series: Array, *paces: Array) -> Array:
    """Run y(n) = x(n) + pace y(n - 1) along each row for one pace (P,) after the other.

    Short rows, and many of them, are run side by side, number by number; others in blocks
    (`_in_blocks`).
    """
    points, length = series.shape
    kind = np.result_type(series, *paces)
    run = loop(recurrences, series, *paces)
    if run and paces:
        run(series := series.copy(), np.array(paces))
        return series
    if length > SHORT_ROWS and (points < MANY_ROWS or length > 3 * SHORT_ROWS):
        for start in range(0, len(paces), MOST_TOGETHER):
            series = _in_blocks(
                series, np.stack(paces[start : start + MOST_TOGETHER], axis=1), kind
            )
        return series.astype(kind, copy=False)
    terms: list[Any] = (
        list(series.T.astype(kind)) if points > 1 else series[0].astype(kind).tolist()
    )
    for pace in paces if points > 1 else np.concatenate([np.zeros(0), *paces]).tolist():

        def step(before: Any, term: Any, pace: Any = pace) -> Any:
            return term + pace * before

        terms = list(accumulate(terms, step))
    return np.ascontiguousarray(np.array(terms, dtype=kind).reshape(length, points).T)


def _in_blocks(series: Array, paces: Array, kind: np.dtype[Any]) -> Array:
    """Run the recurrences of K paces (P, K), each on the row of the one before, as matrix products
    over blocks of a row.

    With y(n) the K rows at n, y_k(n) = x(n) + sum over i <= k of pace_i y_i(n - 1) = (x(n) 1 + M
    y(n - 1))_k. So a block is what its own numbers give and what the K rows at the end of the block
    before give, by powers of M, and these ends are one more recurrence; both double the number of
    steps at a time. No term is negative, as in the recurrences themselves.
    """
    (points, length), stations = series.shape, paces.shape[1]
    width = min(128, 1 << (length - 1).bit_length() // 2)
    rows = -(-length // width)
    blocks = np.zeros((points, rows, width), dtype=kind)
    blocks.reshape(points, -1)[:, :length] = series
    # M from its right, from a one in every row, and from its left, to the last row: after 1, 2, 4
    # ... steps.
    powers_of_step = np.empty((points, 2, stations, stations), dtype=kind)
    np.multiply(paces[:, :, None], np.tri(stations).T, out=powers_of_step[:, 0])
    powers_of_step[:, 1] = powers_of_step[:, 0].transpose(0, 2, 1)
    powers = np.ones((points, 2, width, stations), dtype=kind)
    filled = 1
    powers[:, 1, 0] = paces
    while filled < width:
        np.matmul(powers[:, :, :filled], powers_of_step, out=powers[:, :, filled : 2 * filled])
        powers_of_step = powers_of_step @ powers_of_step
        filled = 2 * filled
    ends = blocks[:, :, ::-1] @ powers[:, 0]
    step = powers_of_step[:, 0]
    for exponent in range((rows - 1).bit_length()):
        ends[:, 1 << exponent :] += ends[:, : -1 << exponent] @ step
        step = step @ step
    answer = np.zeros((points, 2 * width), dtype=kind)
    answer[:, width:] = powers[:, 0, :, -1]
    size = answer.itemsize
    # By [i, j], what a one at i gives at j: rows that overlap in memory.
    strides = (2 * width * size, -size, size)
    within = np.ndarray((points, width, width), kind, answer, width * size, strides)
    values = blocks @ within
    values[:, 1:] += ends[:, :-1] @ powers[:, 1].transpose(0, 2, 1)
    block: Array = values.reshape(points, -1)[:, :length]
    return block


def serve(series: Array, load: Array, pace: Array, speed: Array) -> Array:
    """Return the product of the other stations' series with that of a station of several speeds."""
    length = series.shape[1]
    last = speed.shape[1] - 1
    own = terms(load, speed, length)
    head = min(last, length)
    # A convolution of one row is a single call.
    if len(series) == 1:
        served = np.convolve(own[0, :head], series[0])[None, :length]
    else:
        served = np.zeros(series.shape, dtype=np.result_type(series, own))
        for n in range(head):
            served[:, n:] += own[:, n, None] * series[:, : length - n]
    if last >= length:
        return served
    geometric_rest = np.zeros(series.shape, dtype=served.dtype)
    # Beyond its last speed the terms of a station fall by one factor each, so the rest of the sum
    # is a recurrence.
    geometric_rest[:, last:] = own[:, last, None] * series[:, : length - last]
    return served + geometric(geometric_rest, pace)


def check_size(closed: ClosedPart, marginals: bool = False) -> None:
    """Refuse a lattice that would take long or fill the memory; its steps take about 1 ns, measured
    to a factor of three.

    One class: the recurrences and, once for each station of several speeds, its sum. Several: the
    places of all planes, each copied and times a matrix; all planes once more for each number at
    each station of several speeds. A plane is begun for all points at once, in about 7 us. The
    constants are for memory: 40 B of each population or place, 1 GB at the limit.

    Raises
    ------
    NoAnswerError : with the number of steps, and what to ask for instead
    """
    vector = tuple(closed.population.max(axis=0, initial=0).tolist())
    stations = closed.demand.shape[2]
    count = sorted(vector)
    classes = len(vector)
    varying = stations if marginals else len(closed.several)
    listed = sum(min(speed.shape[1], sum(count)) for speed in closed.several.values())
    if classes == 1:
        steps = (count[0] + 1) * (400 + 4 * stations * (1 + varying) + varying * listed // 5)
    else:
        planes = sum(count) + 1
        places = planes * prod(customers + 1 for customers in count[:-1])
        singles = 400 + 4 * classes * stations + classes * stations**2 // 4
        steps = places * (
            singles + 4 * classes * varying * (planes + listed)
        ) + 7000 * planes // len(closed.demand)
    size = f"the lattice of populations {vector} takes {steps:,} steps"
    otherwise = "ask for linearizer or schweitzer, which do not grow with it"
    check_cost("lattice", steps, size, otherwise, points=len(closed.demand))


def solve_multi_class(closed: ClosedPart, marginals: bool = False) -> ClosedSolution:
    """Solve a closed network of several classes.

    Parameters
    ----------
    closed : the network, of the same populations at all points
    marginals : whether to give the probabilities of single servers too; costs as much again for
        each pair of them

    Raises
    ------
    NoAnswerError : the lattice is too large
    """
    population = closed.population[0]
    check_size(closed, marginals)
    # The largest class leads from plane to plane, so that the planes, stored by the other classes,
    # are small.
    order = np.argsort(-population, kind="stable")
    size = prod(int(customers) + 1 for customers in population[order][1:])
    points, _, stations = closed.demand.shape
    if marginals:
        several = {k: closed.several.get(k, closed.last[:, k, None]) for k in range(stations)}
        closed = replace(closed, several=several)
    numbers = size * (
        int(population.sum()) + 1 if closed.several else 2 * closed.demand[0].size + 1
    )
    ordered = closed.select(slice(None), order)
    solution = solved_in_parts(ordered, blocks(points, MOST_NUMBERS // numbers), _solve_lattice)
    back = np.argsort(order, kind="stable")
    return replace(solution, throughput=solution.throughput[:, back], queue=solution.queue[:, back])


def _solve_lattice(closed: ClosedPart) -> ClosedSolution:
    demand = closed.demand
    delay = closed.delay
    several = closed.several
    population = closed.population[0]
    pace = demand / closed.last[:, None]
    scale = _scales(demand.real, pace.real, delay.real, population)
    load = demand * scale[:, :, None]
    pace = pace * scale[:, :, None]
    grid = _Grid(population)
    probability: list[Array | None] = [None] * demand.shape[2]
    compiled_lattice = loop(lattice, pace, delay) if pace.shape[2] and not several else None
    with np.errstate(all="ignore"):
        if compiled_lattice:
            total, with_one_less = compiled_lattice(
                _powers(scale * delay, population), population, pace
            )
            total_with_one_less = with_one_less[..., 0]
            queue = pace * with_one_less[..., 1:] / total[:, None, None]
        elif several:
            start = grid.thinking(scale * delay)
            total, total_with_one_less, queue, probability = _with_several(
                grid, start, load, pace, several
            )
        else:
            total, total_with_one_less, queue = _singles_only(
                grid, grid.thinking(scale * delay), pace
            )
            queue = queue / total[:, None, None]
        throughput = scale * total_with_one_less / total[:, None]
    least = np.minimum(total.real, total_with_one_less.real.min(axis=1))
    in_range = np.isfinite(total) & np.isfinite(total_with_one_less).all(axis=1) & (least > 1e-270)
    return ClosedSolution(throughput, queue, probability, in_range)


def _powers(away: Array, population: Array) -> Array:
    """Return the terms of 0, 1, ... customers of each class at delays (P, R, most)."""
    most = int(population.max(initial=0))
    speed = np.arange(1.0, most + 1)[None]
    return np.stack([terms(own, speed, most + 1) for own in away.T], axis=1)


def _scales(demand: Array, pace: Array, delay: Array, population: Array) -> Array:
    """Return an estimate of the throughputs, (P, R) [1/s], as if each class queued behind its share
    of all others, with no station above its limit.
    """
    away = delay + (demand - pace).sum(axis=2)
    present = 1 + (population.sum() - 1) / max(1, demand.shape[2])
    guess = population / np.maximum(away + pace.sum(axis=2) * present, 1e-300)
    busiest = (pace * guess[:, :, None]).sum(axis=1).max(axis=1, initial=0.0, keepdims=True)
    scale: Array = guess / np.maximum(busiest, 1.0)
    return scale


class _Grid:
    """The planes of the lattice of populations, plane s holding all populations of s customers."""

    def __init__(self, population: Array) -> None:
        self.population = [int(customers) for customers in population]
        self.planes = sum(self.population) + 1
        self.shape = tuple(customers + 1 for customers in self.population[1:])
        other_classes = len(self.shape)
        # For class r > 1: where its customers come to, and where they came from.
        self.to = [
            tuple(slice(1, None) if i == r else slice(None) for i in range(other_classes))
            for r in range(other_classes)
        ]
        self.of = [
            tuple(slice(-1) if i == r else slice(None) for i in range(other_classes))
            for r in range(other_classes)
        ]
        last = tuple(self.population[1:])
        self.corner = last
        # One customer fewer of each class: in the plane before the last.
        self.before: list[tuple[int, ...]] = [last] + [
            tuple(n - (i == r) for i, n in enumerate(last)) for r in range(other_classes)
        ]

    @staticmethod
    def place(numbers: tuple[int, ...]) -> Any:
        """Return the index of a population in a plane, at all points."""
        return (slice(None), *numbers)

    def ends(self, planes: Array) -> tuple[Array, Array]:
        """Return the values at N and at N - e_r from planes (P, S, n_2.., n_R, ...): (P, ...) and
        (P, R, ...).
        """
        return planes[:, -1][self.place(self.corner)], self.less(planes[:, -2])

    def less(self, plane: Array) -> Array:
        """Return the values at N - e_r from the last plane but one, (P, R, ...)."""
        return np.stack([plane[self.place(shift)] for shift in self.before], axis=1)

    def thinking(self, away: Array) -> Array:
        """Return the planes of customers that think or are at a delay, (P, S, n_2.., n_R)."""
        points = len(away)
        if not away.any():
            empty_delay = np.zeros((points, self.planes, *self.shape), dtype=away.dtype)
            empty_delay.reshape(points, -1)[:, 0] = 1
            return empty_delay
        terms_of_class = []
        for r, n in enumerate(self.population):
            numbers = np.arange(1.0, n + 1)[None]
            terms_of_class.append(terms(away[:, r], numbers, n + 1))
        terms_of_others = np.ones((points,) + (1,) * len(self.shape), dtype=away.dtype)
        for r, powers in enumerate(terms_of_class[1:]):
            along_class = (-1 if i == r else 1 for i in range(len(self.shape)))
            terms_of_others = terms_of_others * powers.reshape(points, *along_class)
        customers_of_other_classes = sum(np.indices(self.shape)) if self.shape else np.zeros(())
        customers = np.arange(self.planes).reshape((-1,) + (1,) * len(self.shape))
        number_of_first = customers - customers_of_other_classes
        in_range = (number_of_first >= 0) & (number_of_first <= self.population[0])
        first_in_range = np.clip(number_of_first, 0, self.population[0])
        terms_of_first = np.where(in_range, terms_of_class[0][:, first_in_range], 0.0)
        planes: Array = terms_of_first * terms_of_others[:, None]
        return planes

    def shifted(self, planes: Array, load: Array) -> Array:
        """Apply the operator B to all planes, (P, S, n_2.., n_R), with the loads (P, R) of one
        station: one more customer there.
        """
        to_planes = (slice(None),) + (None,) * (planes.ndim - 1)
        shifted_planes = np.zeros_like(planes)
        shifted_planes[:, 1:] = load[:, 0][to_planes] * planes[:, :-1]
        for r, (to, of) in enumerate(zip(self.to, self.of, strict=True)):
            planes_below = planes[(slice(None), slice(-1), *of)]
            shifted_planes[(slice(None), slice(1, None), *to)] += (
                load[:, r + 1][to_planes] * planes_below
            )
        return shifted_planes

    def sweep(self, start: Array, steps: Array, width: int) -> Iterator[Array]:
        """Yield the planes z(s), (P, n_2.., n_R, J), of the recurrence z(s) = start(s) + sum over r
        of z_r M_r, where z_r is z(s - 1) with one customer of class r fewer.

        `steps` is (P or 1, R J, J): the M_r below each other. `start` enters every one of the J
        columns.
        """
        points = len(start)
        columns = len(self.population) * width
        kind = np.result_type(start, steps)
        plane = np.zeros((points, *self.shape, width), dtype=kind)
        # What a plane is made of: itself one customer of each class back, and what starts there.
        sources = np.zeros((points, *self.shape, columns + 1), dtype=kind)
        source_steps = np.ones((len(steps), 1, width))
        steps = np.concatenate([steps, source_steps], axis=1).astype(kind)
        flat = plane.reshape(points, -1, width)
        flat_sources = sources.reshape(points, -1, columns + 1)
        all_points = slice(None)
        moves = [(sources[..., :width], plane)]
        for r, (to, of) in enumerate(zip(self.to, self.of, strict=True), start=1):
            columns_of_class = slice(r * width, (r + 1) * width)
            target = sources[(all_points, *to, columns_of_class)]
            moves.append((target, plane[(all_points, *of, all_points)]))
        places_in_slice = prod(self.shape[1:])
        for s in range(self.planes):
            # Places in the first of the plane's axes that lead from the origin to the corner.
            low = max(0, s - self.planes + self.shape[0])
            high = min(self.shape[0], s + 1)
            for target, source in moves:
                target[...] = source
            sources[..., columns] = start[:, s]
            places_of_plane = slice(low * places_in_slice, high * places_in_slice)
            np.matmul(flat_sources[:, places_of_plane], steps, out=flat[:, places_of_plane])
            # The next step writes over this array: callers copy what they keep.
            yield plane

    def repeated(self, planes: Array, pace: Array) -> Array:
        """Return the planes with one more single server, planes / (1 - B), with the paces (P, R) of
        that station.
        """
        steps = _steps(pace[:, :, None], np.ones((1, 1)))
        swept_planes = [plane[..., 0].copy() for plane in self.sweep(planes, steps, 1)]
        return np.stack(swept_planes, axis=1)


def _steps(pace: Array, linked: Array) -> Array:
    """Return the matrices M_r of `_Grid.sweep` below each other, by the paces (P, R, K) and which
    columns (K, J) a station feeds.
    """
    return np.asarray((pace[..., None] * linked).reshape(len(pace), -1, linked.shape[1]))


def _singles_only(grid: _Grid, start: Array, pace: Array) -> tuple[Array, Array, Array]:
    """Return G(N), G(N - e_r) and G(N) times the queues, of single servers and delays."""
    stations = pace.shape[2]
    if stations == 0:
        return (*grid.ends(start), np.zeros_like(pace))
    # Beside each station's product with those before it, the whole product with that station once
    # more.
    ones = np.ones((stations, stations))
    linked = np.block([[np.triu(ones), ones], [0 * ones, np.eye(stations)]])
    planes = grid.sweep(start, _steps(np.tile(pace, 2), linked), 2 * stations)
    for _ in range(grid.planes - 2):
        next(planes)
    with_one_less = grid.less(next(planes))
    total = next(planes)[grid.place(grid.corner)][:, stations - 1]
    return total, with_one_less[..., stations - 1], pace * with_one_less[..., stations:]


def _with_several(
    grid: _Grid, start: Array, load: Array, pace: Array, several: Speeds
) -> tuple[Array, Array, Array, list[Array | None]]:
    """Return G(N), G(N - e_r), the queues and the probabilities, where some station has several
    speeds.
    """
    stations = load.shape[2]
    base = start
    singles = [k for k in range(stations) if k not in several]
    if singles:
        steps = _steps(pace[:, :, singles], np.tri(len(singles)).T)
        planes = grid.sweep(start, steps, len(singles))
        base = np.stack([plane[..., -1].copy() for plane in planes], axis=1)
    queue = np.zeros(load.shape, dtype=np.result_type(load, base))
    shown: list[Array | None] = [None] * stations
    for k, speed in several.items():
        without_station = base
        for station in several:
            if station != k:
                without_station = _serve(
                    grid,
                    without_station,
                    load[:, :, station],
                    pace[:, :, station],
                    several[station],
                )
        corner, less = _levels(grid, without_station, load[:, :, k], speed)
        total = corner.sum(axis=1)
        with_one_less = less.sum(axis=2)
        shown[k] = corner / total[:, None]
        present = np.arange(1.0, grid.planes) / _extended(speed, grid.planes - 1)
        met_by_arrivals = (less[:, :, :-1] * present[:, None]).sum(axis=2)
        queue[:, :, k] = load[:, :, k] * met_by_arrivals / total[:, None]
    if singles:
        with_station = _serve(grid, without_station, load[:, :, k], pace[:, :, k], several[k])
        steps = _steps(pace[:, :, singles], np.eye(len(singles)))
        planes = grid.sweep(with_station, steps, len(singles))
        for _ in range(grid.planes - 2):
            next(planes)
        queue[:, :, singles] = pace[:, :, singles] * grid.less(next(planes)) / total[:, None, None]
    return total, with_one_less, queue, shown


def _extended(speed: Array, length: int) -> Array:
    extended: Array = speed[:, np.minimum(np.arange(length), speed.shape[1] - 1)]
    return extended


def _serve(grid: _Grid, planes: Array, load: Array, pace: Array, speed: Array) -> Array:
    """Return the product of the other stations' planes with those of a station of several speeds: a
    short sum and a geometric rest.
    """
    to_planes = (slice(None),) + (None,) * (planes.ndim - 1)
    last = speed.shape[1] - 1
    if not last:
        return grid.repeated(planes, pace)
    served = planes
    level = planes
    for n in range(1, min(last, grid.planes)):
        level = grid.shifted(level, load) / speed[:, n - 1][to_planes]
        served = served + level
    if last >= grid.planes:
        return served
    level = grid.shifted(level, load) / speed[:, last - 1][to_planes]
    return np.asarray(served + grid.repeated(level, pace))


def _levels(grid: _Grid, without_station: Array, load: Array, speed: Array) -> tuple[Array, Array]:
    """Return the terms with n = 0, 1, ... customers at a station: at N (P, n) and at N - e_r (P,
    R, n).
    """
    to_planes = (slice(None),) + (None,) * (without_station.ndim - 1)
    pace = _extended(speed, grid.planes)
    level = without_station
    corner = []
    less = []
    for n in range(grid.planes):
        total, with_one_less = grid.ends(level)
        corner.append(total.copy())  # not a view, which would keep its level
        less.append(with_one_less)
        level = grid.shifted(level, load) / pace[:, n][to_planes]
    return np.stack(corner, axis=1), np.stack(less, axis=2)
