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
from slipstick.queueing.compiled import (
    compiled_form,
    lattice_constants,
    power_sums,
    run_recurrences,
)
from slipstick.queueing.network import (
    Array,
    ClosedPart,
    ClosedSolution,
    Speeds,
    point_blocks,
    solve_in_parts,
)

SHORT_ROWS, MANY_ROWS = 64, 200
"""The length of rows that are computed side by side; of many of them, three times that.
Measured: the faster way.
"""

PACES_PER_NUMBER = 2
"""Paces for each number of a row from which sums of their powers take less time than recurrences:
K N additions of rows beside N^2.
"""

MOST_TOGETHER = 16
"""Stations whose recurrences are one matrix: its powers take time by the third power of their
number.
"""

MOST_NUMBERS = 4_000_000
"""Points are taken in blocks, so that no array is larger unless one point needs it."""


def solve_single_class(closed_network: ClosedPart, with_marginals: bool = False) -> ClosedSolution:
    """Solve a closed network of one class.

    Points that differ in nothing but the population share one series, so the curve over N costs one
    recursion.

    Parameters
    ----------
    closed_network : the network; populations may differ between points
    with_marginals : whether to give the probabilities of single servers too; the others' are known
        in any case
    """
    largest_population = int(closed_network.population.max(initial=0))
    check_size(closed_network, with_marginals)
    point_count, _, station_count = closed_network.demand.shape
    points_per_block = MOST_NUMBERS // ((largest_population + 1) * max(1, station_count))
    # Of single servers a series is all that a point needs, and points that differ in the population
    # alone have one.
    has_shared_series = (
        point_count > points_per_block and not closed_network.speeds_by_queue and not with_marginals
    )
    if (
        len(_distinct_points(closed_network)[0]) if has_shared_series else point_count
    ) <= points_per_block:
        return _solve_block(closed_network, with_marginals)
    return solve_in_parts(
        closed_network,
        point_blocks(point_count, points_per_block),
        lambda part_of_network: _solve_block(part_of_network, with_marginals),
    )


def _distinct_points(closed_network: ClosedPart) -> tuple[Array, Array]:
    """Return the points that differ in more than their population, and for each point the index of
    the one that it equals.
    """
    point_indexes = np.arange(len(closed_network.demand))
    if len(point_indexes) == 1 or (closed_network.population == closed_network.population[0]).all():
        return point_indexes, point_indexes
    varying_speeds = [
        speed_array
        for speed_array in (closed_network.last_speed, *closed_network.speeds_by_queue.values())
        if len(speed_array) > 1
    ]
    number_columns = np.concatenate(
        [
            closed_network.demand[:, 0].T,
            closed_network.delay.T,
            *(speed_array.T for speed_array in varying_speeds),
        ]
    )
    # Neighbours are often alike, and cheaper to compare than to sort; the rest are sorted as bytes,
    # all columns at once.
    is_new = np.ones(len(point_indexes), dtype=bool)
    is_new[1:] = (number_columns[:, 1:] != number_columns[:, :-1]).any(axis=0)
    distinct_columns = np.ascontiguousarray(number_columns[:, is_new].T)
    bytes_of_row = distinct_columns.dtype.itemsize * distinct_columns.shape[1]
    row_bytes = distinct_columns.view(np.dtype((np.void, bytes_of_row)))[:, 0]
    _, first_rows, row_of_point = np.unique(row_bytes, return_index=True, return_inverse=True)
    return (
        (point_indexes[is_new][first_rows], row_of_point[np.cumsum(is_new) - 1])
        if len(first_rows) < len(point_indexes)
        else (point_indexes, point_indexes)
    )


def _solve_block(closed_network: ClosedPart, with_marginals: bool) -> ClosedSolution:
    """Solve a block of points of one class by their series of normalizing constants."""
    population = closed_network.population[:, 0]
    first_rows, row_of_point = _distinct_points(closed_network)
    largest_populations = population
    if len(first_rows) < len(population):
        closed_network = closed_network.select(first_rows)
        largest_populations = np.zeros(len(first_rows), dtype=np.int64)
        np.maximum.at(largest_populations, row_of_point, population)
    demand = closed_network.demand[:, 0]
    delay = closed_network.delay[:, 0]
    pace = demand / closed_network.last_speed
    scale = _throughput_scale(demand.real, pace.real, delay.real, largest_populations)
    # What leaves the range of doubles here is solved again in logarithms.
    with np.errstate(all="ignore"):
        length = int(largest_populations.max(initial=0)) + 1
        series = _Series(
            scale * demand.T, scale * pace.T, closed_network.speeds_by_queue, scale * delay, length
        )
        constants = series.full_series
        constant = constants[row_of_point, population]
        constant_with_one_less = constants[row_of_point, population - (population > 0)]
        # X = G(N - 1) / G(N): the common scale of demands and delays cancels but for one factor.
        throughput = (population > 0) * scale[row_of_point] * constant_with_one_less / constant
        queue, probability_by_queue = series.queues_and_probabilities(
            row_of_point, population, constant, with_marginals
        )
    # A constant below 1e-270 has lost digits, or stands for one that went to 0 on the way.
    smaller_constant = np.minimum(constant.real, constant_with_one_less.real)
    in_range = (
        np.isfinite(constant) & np.isfinite(constant_with_one_less) & (smaller_constant > 1e-270)
    )
    return ClosedSolution(throughput[:, None], queue[:, None], probability_by_queue, in_range)


def _throughput_scale(
    demand: Array, demand_at_full_speed: Array, delay: Array, population: Array
) -> Array:
    """Return an estimate of the throughput; demands times this scale keep the series of constants
    within the range of doubles [1/s].

    The upper balanced job bound, with a station of several speeds as one of its last speed and a
    delay.
    """
    # A class without demand needs some scale, and any does.
    cycle_times = np.maximum(delay + demand.sum(axis=1), 1e-300)
    total_at_full_speed = demand_at_full_speed.sum(axis=1)
    mean_wait = (
        (population - 1)
        * total_at_full_speed
        * total_at_full_speed
        / (max(1, demand.shape[1]) * cycle_times)
    )
    # The time between two passages of customers at any station, by Little's law.
    time_between_passages = (cycle_times + mean_wait) / np.maximum(population, 1)
    longest_time = np.maximum(
        demand_at_full_speed.max(axis=1, initial=1e-300), time_between_passages
    )
    throughput_scale: Array = 1 / longest_time
    return throughput_scale


class _Series:
    """The normalizing constants of the populations 0..N at each point of a block, (P, N + 1). They
    are computed from loads and from paces, which are loads at the last speed, both (K, P).
    """

    def __init__(
        self, load: Array, pace: Array, speeds_by_queue: Speeds, delay_load: Array, length: int
    ) -> None:
        self.load = load
        self.pace = pace
        self.speeds_by_queue = speeds_by_queue
        self.length = length
        dtype = np.result_type(load, pace, delay_load, *speeds_by_queue.values())
        if delay_load.any():
            numbers_thinking = np.arange(1.0, max(2, length))[None]
            self.delay_series = terms(delay_load, numbers_thinking, length).astype(dtype)
        else:
            self.delay_series = np.zeros((len(delay_load), length), dtype=dtype)
            # Without delays only the empty delay has a term.
            self.delay_series[:, 0] = 1
        self.single_queues = [
            queue_index for queue_index in range(len(load)) if queue_index not in speeds_by_queue
        ]
        series_of_singles = self._series_with(self.delay_series, self.single_queues)
        # What a station of several speeds holds follows from the product of all others.
        self.series_without = {
            queue_index: self._series_with(
                series_of_singles,
                [
                    further_queue
                    for further_queue in speeds_by_queue
                    if further_queue != queue_index
                ],
            )
            for queue_index in speeds_by_queue
        }
        self.full_series = series_of_singles
        # One of them is enough: each is a product with its own station, so that all are equal.
        for queue_index in list(speeds_by_queue)[:1]:
            self.full_series = self._series_with(self.series_without[queue_index], [queue_index])

    def _series_with(self, series: Array, queue_indices: list[int]) -> Array:
        """Return the series of normalizing constants with some stations added."""
        series = geometric_recurrences(
            series,
            *(
                self.pace[queue_index]
                for queue_index in queue_indices
                if queue_index not in self.speeds_by_queue
            ),
        )
        for queue_index in (
            queue_index for queue_index in queue_indices if queue_index in self.speeds_by_queue
        ):
            series = convolved_with_station(
                series,
                self.load[queue_index],
                self.pace[queue_index],
                self.speeds_by_queue[queue_index],
            )
        return series

    def _series_without_each_server(self) -> Iterator[tuple[int, Array]]:
        """Yield each single server with the series of all other stations.

        Each half of the stations is added for the other half, and so on within the halves: K
        stations take K log2(K) recurrences, and no difference of nearly equal constants.
        """
        pending_series_and_stations = [
            (self._series_with(self.delay_series, list(self.speeds_by_queue)), self.single_queues)
        ]
        while pending_series_and_stations:
            series, station_indexes = pending_series_and_stations.pop()
            half_count = len(station_indexes) // 2
            if half_count:
                pending_series_and_stations.append(
                    (
                        self._series_with(series, station_indexes[:half_count]),
                        station_indexes[half_count:],
                    )
                )
                pending_series_and_stations.append(
                    (
                        self._series_with(series, station_indexes[half_count:]),
                        station_indexes[:half_count],
                    )
                )
            elif station_indexes:
                yield station_indexes[0], series

    def queues_and_probabilities(
        self, row_of_point: Array, population: Array, constant: Array, with_marginals: bool
    ) -> tuple[Array, list[Array | None]]:
        """Return the mean queues (P, K) and the probabilities of numbers present (P, N + 1) at each
        point, from the normalizing constants of their populations, `constant` (P,).
        """
        queue = np.zeros((len(row_of_point), len(self.load)), dtype=self.full_series.dtype)
        probability_by_queue: list[Array | None] = [None] * len(self.load)
        if self.single_queues:
            queue[:, self.single_queues] = (
                self._single_queues(row_of_point, population) / constant[:, None]
            )
        for queue_index, series_without_station in self.series_without.items():
            probability_by_queue[queue_index] = probability = (
                self._marginal_terms(queue_index, series_without_station, row_of_point, population)
                / constant[:, None]
            )
            queue[:, queue_index] = probability @ np.arange(self.length)
        for queue_index, series_without_station in (
            self._series_without_each_server() if with_marginals else ()
        ):
            probability_by_queue[queue_index] = (
                self._marginal_terms(queue_index, series_without_station, row_of_point, population)
                / constant[:, None]
            )
        return queue, probability_by_queue

    def _single_queues(self, row_of_point: Array, population: Array) -> Array:
        """Return G(N) times the mean queues of the single servers, the sum of d^j G(N - j) over j
        >= 1, with d the scaled demand (`pace`). It is summed by powers where each row is needed
        only once, else by the recurrence.
        """
        pace = (self.pace[self.single_queues] if self.speeds_by_queue else self.pace).T
        compiled_sums = compiled_form(power_sums, self.full_series)
        if compiled_sums:
            return np.asarray(
                compiled_sums(self.full_series[row_of_point], pace[row_of_point], population)
            )
        if len(row_of_point) == len(self.full_series):
            backward_series = self._backward_series(self.full_series, row_of_point, population)
            backward_series[:, 0] = 0
            return polynomial_values(backward_series, pace)
        station_count = pace.shape[1]
        point_count = len(self.full_series)
        pace_of_rows = pace.T.reshape(-1)
        powers = pace_of_rows[:, None] * geometric_recurrences(
            np.tile(self.full_series, (station_count, 1)), pace_of_rows
        )
        flat_index = row_of_point * self.length + population - (population > 0)
        queue = powers.reshape(station_count, point_count * self.length).take(flat_index, axis=1)
        return np.asarray(queue * (population > 0)).T

    def _backward_series(self, series: Array, row_of_point: Array, population: Array) -> Array:
        """Return series(N - j) for j = 0, 1, ... and zero beyond, (P, N + 1)."""
        if (population == self.length - 1).all():
            # Contiguous: the sums that follow run along it.
            return series[row_of_point, ::-1].copy()
        number_index = population[:, None] - np.arange(self.length)
        return np.where(
            number_index >= 0, series[row_of_point[:, None], np.maximum(number_index, 0)], 0.0
        )

    def _marginal_terms(
        self,
        queue_index: int,
        series_without_station: Array,
        row_of_point: Array,
        population: Array,
    ) -> Array:
        """Return G(N) times the probabilities of 0 to N customers at a station, from the
        normalizing constants of the network without this station, by point and number (P, N + 1).
        """
        speed = self.speeds_by_queue.get(queue_index, np.ones((1, 1)))
        station_terms = terms(
            self.load[queue_index]
            if queue_index in self.speeds_by_queue
            else self.pace[queue_index],
            speed,
            self.length,
        )
        return station_terms[row_of_point] * self._backward_series(
            series_without_station, row_of_point, population
        )


def terms(load: Array, speed: Array, length: int) -> Array:
    """Return load^n / (s(1) ... s(n)) for n = 0..length-1, (P, length), times a constant of each
    point.
    """
    speed_count = min(speed.shape[1], length - 1)
    ratios = np.empty((len(load), length), dtype=np.result_type(load, speed))
    ratios[:, 0] = 1
    ratios[:, 1 : speed_count + 1] = load[:, None] / speed[:, :speed_count]
    ratios[:, speed_count + 1 :] = (load / speed[:, -1])[:, None]
    term_array: Array = np.multiply.accumulate(ratios, axis=1)
    # Far from the largest double, 1.8e308, so that products of two such series stay in range.
    if term_array.real.max(initial=0.0) < 1e100:
        return term_array
    # Thousands of customers that think or are served at once: the terms are too large but in
    # logarithms.
    log_terms = np.add.accumulate(np.log(np.where(ratios == 0, 1e-300, ratios)), axis=1)
    scaled_terms: Array = np.exp(log_terms - log_terms.real.max(axis=1, keepdims=True))
    return scaled_terms


def polynomial_values(coefficients: Array, argument: Array) -> Array:
    """Return the sum of c(n) x^n over n = 0..L-1 at several arguments x of each point, (P, K), from
    the coefficients c (P, L).

    Two tables of about sqrt(L) powers instead of one of L.
    """
    point_count, length = coefficients.shape
    block_width = isqrt(length - 1) + 1
    block_count = -(-length // block_width)
    coefficient_blocks = np.zeros(
        (point_count, block_count * block_width), dtype=coefficients.dtype
    )
    coefficient_blocks[:, :length] = coefficients
    powers = np.ones((*argument.shape, block_width + 1), dtype=coefficients.dtype)
    # Two factors of each power, x^(width a) and x^b: sqrt(L) multiplications instead of L.
    powers[..., 1:] = argument[..., None]
    np.multiply.accumulate(powers, axis=2, out=powers)
    outer_powers = np.ones((*argument.shape, block_count), dtype=coefficients.dtype)
    outer_powers[..., 1:] = powers[..., block_width:]
    np.multiply.accumulate(outer_powers, axis=2, out=outer_powers)
    inner_sums = powers[..., :block_width] @ coefficient_blocks.reshape(
        point_count, block_count, block_width
    ).transpose(0, 2, 1)
    point_values: Array = (inner_sums * outer_powers).sum(axis=2)
    return point_values


def geometric_recurrences(series: Array, *paces: Array) -> Array:
    """Return series after the recurrence y(n) = x(n) + pace y(n - 1) along each row, run for one
    pace (P,) after the other, each on the result of the one before.

    Short rows, and many of them, are run side by side, number by number; others in blocks
    (`_recurrences_in_blocks`). Where there are more paces than numbers in a row, the recurrences
    are replaced by sums of powers, which are fewer steps.
    """
    point_count, length = series.shape
    dtype = np.result_type(series, *paces)
    if len(paces) > PACES_PER_NUMBER * length:
        return _recurrences_by_power_sums(series, np.stack(paces), dtype)
    compiled_recurrences = compiled_form(run_recurrences, series, *paces)
    if compiled_recurrences and paces:
        compiled_recurrences(series := series.copy(), np.array(paces))
        return series
    if length > SHORT_ROWS and (point_count < MANY_ROWS or length > 3 * SHORT_ROWS):
        for first_pace in range(0, len(paces), MOST_TOGETHER):
            series = _recurrences_in_blocks(
                series, np.stack(paces[first_pace : first_pace + MOST_TOGETHER], axis=1), dtype
            )
        return series.astype(dtype, copy=False)
    terms_by_number: list[Any] = (
        list(series.T.astype(dtype)) if point_count > 1 else series[0].astype(dtype).tolist()
    )
    for pace in paces if point_count > 1 else np.concatenate([np.zeros(0), *paces]).tolist():

        def next_term(previous_term: Any, term: Any, pace: Any = pace) -> Any:
            """Return y(n) from y(n - 1) and x(n)."""
            return term + pace * previous_term

        terms_by_number = list(accumulate(terms_by_number, next_term))
    return np.ascontiguousarray(
        np.array(terms_by_number, dtype=dtype).reshape(length, point_count).T
    )


def _recurrences_by_power_sums(series: Array, paces: Array, dtype: np.dtype[Any]) -> Array:
    """Return series after the recurrences of the paces (K, P), computed by the series h of
    prod 1 / (1 - pace z).

    By Newton's identities n h(n) is the sum of p(k) h(n - k), with p(k) the sum of the k-th powers
    of the paces. No term is negative, as in the recurrences themselves.
    """
    length = series.shape[1]
    power_sums_by_exponent = np.empty((length, series.shape[0]), dtype=dtype)
    powers = paces.astype(dtype)
    for exponent in range(1, length):
        power_sums_by_exponent[exponent] = powers.sum(axis=0)
        powers *= paces
    inverse_series = np.zeros((length, series.shape[0]), dtype=dtype)
    inverse_series[0] = 1
    for term_index in range(1, length):
        addends = power_sums_by_exponent[1 : term_index + 1] * inverse_series[term_index - 1 :: -1]
        inverse_series[term_index] = addends.sum(axis=0) / term_index
    terms_by_number = series.T
    return np.stack(
        [
            (terms_by_number[: term_index + 1] * inverse_series[term_index::-1]).sum(axis=0)
            for term_index in range(length)
        ],
        axis=1,
    )


def _recurrences_in_blocks(series: Array, paces: Array, dtype: np.dtype[Any]) -> Array:
    """Return series after K recurrences, each with its pace (P, K) on the result of the previous
    one, computed as matrix products over blocks of a row.

    With y(n) the K rows at n, y_k(n) = x(n) + sum over i <= k of pace_i y_i(n - 1) = (x(n) 1 + M
    y(n - 1))_k. So a block is what its own numbers give and what the K rows at the end of the block
    before give, by powers of M, and these ends are one more recurrence; both double the number of
    steps at a time. No term is negative, as in the recurrences themselves.
    """
    (point_count, length), station_count = series.shape, paces.shape[1]
    # About the square root of the length: as many numbers in a block as there are blocks.
    block_width = min(128, 1 << (length - 1).bit_length() // 2)
    row_count = -(-length // block_width)
    series_blocks = np.zeros((point_count, row_count, block_width), dtype=dtype)
    series_blocks.reshape(point_count, -1)[:, :length] = series
    # M from its right, from a one in every row, and from its left, to the last row: after 1, 2, 4
    # ... steps.
    powers_of_step = np.empty((point_count, 2, station_count, station_count), dtype=dtype)
    np.multiply(paces[:, :, None], np.tri(station_count).T, out=powers_of_step[:, 0])
    powers_of_step[:, 1] = powers_of_step[:, 0].transpose(0, 2, 1)
    power_edges = np.ones((point_count, 2, block_width, station_count), dtype=dtype)
    filled_width = 1
    power_edges[:, 1, 0] = paces
    while filled_width < block_width:
        np.matmul(
            power_edges[:, :, :filled_width],
            powers_of_step,
            out=power_edges[:, :, filled_width : 2 * filled_width],
        )
        powers_of_step = powers_of_step @ powers_of_step
        filled_width = 2 * filled_width
    block_ends = series_blocks[:, :, ::-1] @ power_edges[:, 0]
    step_power = powers_of_step[:, 0]
    for exponent in range((row_count - 1).bit_length()):
        block_ends[:, 1 << exponent :] += block_ends[:, : -1 << exponent] @ step_power
        step_power = step_power @ step_power
    response = np.zeros((point_count, 2 * block_width), dtype=dtype)
    response[:, block_width:] = power_edges[:, 0, :, -1]
    item_size = response.itemsize
    # By [i, j], what a one at i gives at j: rows that overlap in memory.
    strides = (2 * block_width * item_size, -item_size, item_size)
    response_matrix = np.ndarray(
        (point_count, block_width, block_width), dtype, response, block_width * item_size, strides
    )
    block_values = series_blocks @ response_matrix
    block_values[:, 1:] += block_ends[:, :-1] @ power_edges[:, 1].transpose(0, 2, 1)
    joined_values: Array = block_values.reshape(point_count, -1)[:, :length]
    return joined_values


def convolved_with_station(
    series: Array, load: Array, last_term_ratio: Array, speed: Array
) -> Array:
    """Return the convolution of the series of the other stations with the series of a station of
    several speeds.
    """
    length = series.shape[1]
    last_speed_index = speed.shape[1] - 1
    station_terms = terms(load, speed, length)
    term_count = min(last_speed_index, length)
    # A convolution of one row is a single call.
    if len(series) == 1:
        served_series = np.convolve(station_terms[0, :term_count], series[0])[None, :length]
    else:
        served_series = np.zeros(series.shape, dtype=np.result_type(series, station_terms))
        for term_index in range(term_count):
            served_series[:, term_index:] += (
                station_terms[:, term_index, None] * series[:, : length - term_index]
            )
    if last_speed_index >= length:
        return served_series
    geometric_rest = np.zeros(series.shape, dtype=served_series.dtype)
    # Beyond its last speed the terms of a station fall by one factor each, so the rest of the sum
    # is a recurrence.
    geometric_rest[:, last_speed_index:] = (
        station_terms[:, last_speed_index, None] * series[:, : length - last_speed_index]
    )
    return served_series + geometric_recurrences(geometric_rest, last_term_ratio)


def check_size(closed_network: ClosedPart, with_marginals: bool = False) -> None:
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
    largest_population = tuple(closed_network.population.max(axis=0, initial=0).tolist())
    station_count = closed_network.demand.shape[2]
    sorted_population = sorted(largest_population)
    class_count = len(largest_population)
    varying_station_count = station_count if with_marginals else len(closed_network.speeds_by_queue)
    listed_speed_count = sum(
        min(speed.shape[1], sum(sorted_population))
        for speed in closed_network.speeds_by_queue.values()
    )
    if class_count == 1:
        speed_count = len(closed_network.speeds_by_queue)
        series_count = 1 + speed_count + (station_count.bit_length() if with_marginals else 0)
        step_count = (sorted_population[0] + 1) * (
            400 + 4 * station_count * series_count + speed_count * listed_speed_count // 5
        )
    else:
        plane_count = sum(sorted_population) + 1
        population_count = plane_count * prod(customers + 1 for customers in sorted_population[:-1])
        steps_per_population = (
            400 + 4 * class_count * station_count + class_count * station_count**2 // 4
        )
        step_count = population_count * (
            steps_per_population
            + 4 * class_count * varying_station_count * (plane_count + listed_speed_count)
        ) + 7000 * plane_count // len(closed_network.demand)
    size_text = f"the lattice of populations {largest_population} takes {step_count:,} steps"
    way_out = "ask for linearizer or schweitzer, which do not grow with it"
    check_cost("lattice", step_count, size_text, way_out, point_count=len(closed_network.demand))


def solve_multi_class(closed_network: ClosedPart, with_marginals: bool = False) -> ClosedSolution:
    """Solve a closed network of several classes.

    Parameters
    ----------
    closed_network : the network, of the same populations at all points
    with_marginals : whether to give the probabilities of single servers too; costs as much again
        for each pair of them

    Raises
    ------
    NoAnswerError : the lattice is too large
    """
    population = closed_network.population[0]
    check_size(closed_network, with_marginals)
    # The largest class leads from plane to plane, so that the planes, stored by the other classes,
    # are small.
    class_order = np.argsort(-population, kind="stable")
    plane_size = prod(int(customers) + 1 for customers in population[class_order][1:])
    point_count, _, station_count = closed_network.demand.shape
    if with_marginals:
        speeds_by_queue = {
            queue_index: closed_network.speeds_by_queue.get(
                queue_index, closed_network.last_speed[:, queue_index, None]
            )
            for queue_index in range(station_count)
        }
        closed_network = replace(closed_network, speeds_by_queue=speeds_by_queue)
    numbers_per_point = plane_size * (
        int(population.sum()) + 1
        if closed_network.speeds_by_queue
        else 2 * closed_network.demand[0].size + 1
    )
    ordered_network = closed_network.select(slice(None), class_order)
    solution = solve_in_parts(
        ordered_network,
        point_blocks(point_count, MOST_NUMBERS // numbers_per_point),
        _solve_lattice,
    )
    # The inverse of the permutation.
    original_order = np.argsort(class_order, kind="stable")
    return replace(
        solution,
        throughput=solution.throughput[:, original_order],
        queue=solution.queue[:, original_order],
    )


def _solve_lattice(closed_network: ClosedPart) -> ClosedSolution:
    """Solve several classes over the lattice of all populations, point by point."""
    demand = closed_network.demand
    delay = closed_network.delay
    speeds_by_queue = closed_network.speeds_by_queue
    population = closed_network.population[0]
    pace = demand / closed_network.last_speed[:, None]
    scale = _throughput_scales(demand.real, pace.real, delay.real, population)
    load = demand * scale[:, :, None]
    pace = pace * scale[:, :, None]
    grid = _Grid(population)
    probability: list[Array | None] = [None] * demand.shape[2]
    compiled_constants = (
        compiled_form(lattice_constants, pace, delay)
        if pace.shape[2] and not speeds_by_queue
        else None
    )
    with np.errstate(all="ignore"):
        if compiled_constants:
            constants, with_one_less = compiled_constants(
                _delay_terms(scale * delay, population), population, pace
            )
            constants_with_one_less = with_one_less[..., 0]
            queue = pace * with_one_less[..., 1:] / constants[:, None, None]
        elif speeds_by_queue:
            thinking_planes = grid.thinking_planes(scale * delay)
            constants, constants_with_one_less, queue, probability = _solve_several_speeds(
                grid, thinking_planes, load, pace, speeds_by_queue
            )
        else:
            constants, constants_with_one_less, queue = _solve_single_servers(
                grid, grid.thinking_planes(scale * delay), pace
            )
            queue = queue / constants[:, None, None]
        throughput = scale * constants_with_one_less / constants[:, None]
    least_constant = np.minimum(constants.real, constants_with_one_less.real.min(axis=1))
    in_range = (
        np.isfinite(constants)
        & np.isfinite(constants_with_one_less).all(axis=1)
        & (least_constant > 1e-270)
    )
    return ClosedSolution(throughput, queue, probability, in_range)


def _delay_terms(delay_load: Array, population: Array) -> Array:
    """Return the factors of 0, 1, ... customers of each class at delays in the normalizing
    constants, load^n / n! up to a factor of each class (P, R, most).
    """
    largest_population = int(population.max(initial=0))
    speed = np.arange(1.0, largest_population + 1)[None]
    return np.stack(
        [terms(class_load, speed, largest_population + 1) for class_load in delay_load.T], axis=1
    )


def _throughput_scales(
    demand: Array, demand_at_full_speed: Array, delay: Array, population: Array
) -> Array:
    """Return an estimate of the throughputs, (P, R) [1/s], as if each class queued behind its share
    of all others, with no station above its limit.
    """
    time_away = delay + (demand - demand_at_full_speed).sum(axis=2)
    number_met = 1 + (population.sum() - 1) / max(1, demand.shape[2])
    throughput_guess = population / np.maximum(
        time_away + demand_at_full_speed.sum(axis=2) * number_met, 1e-300
    )
    largest_load = (
        (demand_at_full_speed * throughput_guess[:, :, None])
        .sum(axis=1)
        .max(axis=1, initial=0.0, keepdims=True)
    )
    scale: Array = throughput_guess / np.maximum(largest_load, 1.0)
    return scale


class _Grid:
    """The planes of the lattice of populations, plane s holding all populations of s customers."""

    def __init__(self, population: Array) -> None:
        self.population = [int(customers) for customers in population]
        self.plane_count = sum(self.population) + 1
        self.shape = tuple(customers + 1 for customers in self.population[1:])
        other_classes = len(self.shape)
        # For class r > 1: where its customers come to, and where they came from.
        self.slices_after = [
            tuple(
                slice(1, None) if axis == class_index else slice(None)
                for axis in range(other_classes)
            )
            for class_index in range(other_classes)
        ]
        self.slices_before = [
            tuple(
                slice(-1) if axis == class_index else slice(None) for axis in range(other_classes)
            )
            for class_index in range(other_classes)
        ]
        last_cell = tuple(self.population[1:])
        self.last_cell = last_cell
        # One customer fewer of each class: in the plane before the last.
        self.cells_before: list[tuple[int, ...]] = [last_cell] + [
            tuple(count - (axis == class_index) for axis, count in enumerate(last_cell))
            for class_index in range(other_classes)
        ]

    @staticmethod
    def cell_index(customers_by_class: tuple[int, ...]) -> Any:
        """Return the index of a population in a plane, at all points."""
        return (slice(None), *customers_by_class)

    def at_full_population(self, planes: Array) -> tuple[Array, Array]:
        """Return the values at the full population N and at N - e_r, (P, ...) and (P, R, ...), from
        planes (P, S, n_2.., n_R, ...).
        """
        return planes[:, -1][self.cell_index(self.last_cell)], self.with_one_less(planes[:, -2])

    def with_one_less(self, plane: Array) -> Array:
        """Return the values at N - e_r, for each class r, from the plane of the populations with
        one customer fewer than N, by point and class (P, R, ...).
        """
        return np.stack(
            [plane[self.cell_index(cell_before)] for cell_before in self.cells_before], axis=1
        )

    def thinking_planes(self, delay_load: Array) -> Array:
        """Return the planes of customers that think or are at a delay, (P, S, n_2.., n_R)."""
        point_count = len(delay_load)
        if not delay_load.any():
            empty_delay = np.zeros(
                (point_count, self.plane_count, *self.shape), dtype=delay_load.dtype
            )
            empty_delay.reshape(point_count, -1)[:, 0] = 1
            return empty_delay
        terms_of_class = []
        for class_index, count in enumerate(self.population):
            customer_numbers = np.arange(1.0, count + 1)[None]
            terms_of_class.append(terms(delay_load[:, class_index], customer_numbers, count + 1))
        terms_of_others = np.ones((point_count,) + (1,) * len(self.shape), dtype=delay_load.dtype)
        for class_index, class_terms in enumerate(terms_of_class[1:]):
            along_class = (-1 if axis == class_index else 1 for axis in range(len(self.shape)))
            terms_of_others = terms_of_others * class_terms.reshape(point_count, *along_class)
        customers_of_other_classes = sum(np.indices(self.shape)) if self.shape else np.zeros(())
        customers = np.arange(self.plane_count).reshape((-1,) + (1,) * len(self.shape))
        number_of_first = customers - customers_of_other_classes
        in_range = (number_of_first >= 0) & (number_of_first <= self.population[0])
        clipped_first_number = np.clip(number_of_first, 0, self.population[0])
        terms_of_first = np.where(in_range, terms_of_class[0][:, clipped_first_number], 0.0)
        planes: Array = terms_of_first * terms_of_others[:, None]
        return planes

    def shift(self, planes: Array, load: Array) -> Array:
        """Return planes of normalizing constants (P, S, n_2.., n_R) after the operator B, which
        adds one customer at a station with loads (P, R); see this module.
        """
        expanded_index = (slice(None),) + (None,) * (planes.ndim - 1)
        shifted_planes = np.zeros_like(planes)
        shifted_planes[:, 1:] = load[:, 0][expanded_index] * planes[:, :-1]
        for class_index, (slices_after, slices_before) in enumerate(
            zip(self.slices_after, self.slices_before, strict=True)
        ):
            planes_below = planes[(slice(None), slice(-1), *slices_before)]
            shifted_planes[(slice(None), slice(1, None), *slices_after)] += (
                load[:, class_index + 1][expanded_index] * planes_below
            )
        return shifted_planes

    def sweep(self, start_planes: Array, steps: Array, width: int) -> Iterator[Array]:
        """Yield the planes z(s), (P, n_2.., n_R, J), of the recurrence z(s) = start(s) + sum over r
        of z_r M_r, where z_r is z(s - 1) with one customer of class r fewer.

        `steps` is (P or 1, R J, J): the M_r below each other. `start_planes` enters every one of
        the J columns.
        """
        point_count = len(start_planes)
        column_count = len(self.population) * width
        dtype = np.result_type(start_planes, steps)
        plane = np.zeros((point_count, *self.shape, width), dtype=dtype)
        # What a plane is made of: itself one customer of each class back, and what starts there.
        sources = np.zeros((point_count, *self.shape, column_count + 1), dtype=dtype)
        source_steps = np.ones((len(steps), 1, width))
        steps = np.concatenate([steps, source_steps], axis=1).astype(dtype)
        flat_plane = plane.reshape(point_count, -1, width)
        flat_sources = sources.reshape(point_count, -1, column_count + 1)
        all_points = slice(None)
        copy_pairs = [(sources[..., :width], plane)]
        for class_index, (slices_after, slices_before) in enumerate(
            zip(self.slices_after, self.slices_before, strict=True), start=1
        ):
            columns_of_class = slice(class_index * width, (class_index + 1) * width)
            target = sources[(all_points, *slices_after, columns_of_class)]
            copy_pairs.append((target, plane[(all_points, *slices_before, all_points)]))
        places_in_slice = prod(self.shape[1:])
        for plane_number in range(self.plane_count):
            # Places in the first of the plane's axes that lead from the origin to the corner.
            first_row = max(0, plane_number - self.plane_count + self.shape[0])
            last_row = min(self.shape[0], plane_number + 1)
            for target, source in copy_pairs:
                target[...] = source
            sources[..., column_count] = start_planes[:, plane_number]
            places_of_plane = slice(first_row * places_in_slice, last_row * places_in_slice)
            np.matmul(flat_sources[:, places_of_plane], steps, out=flat_plane[:, places_of_plane])
            # The next step writes over this array: callers copy what they keep.
            yield plane

    def with_single_server(self, planes: Array, pace: Array) -> Array:
        """Return the planes after one more single server is added, planes / (1 - B), with the paces
        (P, R) of that station.
        """
        steps = _step_matrices(pace[:, :, None], np.ones((1, 1)))
        # A sweep uses its buffer again for the next plane.
        swept_planes = [plane[..., 0].copy() for plane in self.sweep(planes, steps, 1)]
        return np.stack(swept_planes, axis=1)


def _step_matrices(pace: Array, feeds: Array) -> Array:
    """Return the matrices M_r of `_Grid.sweep` below each other, by the paces (P, R, K) and which
    columns (K, J) a station feeds.
    """
    return np.asarray((pace[..., None] * feeds).reshape(len(pace), -1, feeds.shape[1]))


def _solve_single_servers(
    grid: _Grid, thinking_planes: Array, demand_at_last_speed: Array
) -> tuple[Array, Array, Array]:
    """Return, for a network of single servers and delays, the normalizing constants G(N) of the
    full population (P,) and G(N - e_r) with one customer of class r fewer (P, R), and G(N) times
    the mean queues (P, R, K).
    """
    station_count = demand_at_last_speed.shape[2]
    if station_count == 0:
        return (*grid.at_full_population(thinking_planes), np.zeros_like(demand_at_last_speed))
    # Beside each station's product with those before it, the whole product with that station once
    # more.
    ones_matrix = np.ones((station_count, station_count))
    feeds_column = np.block(
        [[np.triu(ones_matrix), ones_matrix], [0 * ones_matrix, np.eye(station_count)]]
    )
    planes = grid.sweep(
        thinking_planes,
        _step_matrices(np.tile(demand_at_last_speed, 2), feeds_column),
        2 * station_count,
    )
    for _ in range(grid.plane_count - 2):
        next(planes)
    with_one_less = grid.with_one_less(next(planes))
    constants = next(planes)[grid.cell_index(grid.last_cell)][:, station_count - 1]
    return (
        constants,
        with_one_less[..., station_count - 1],
        demand_at_last_speed * with_one_less[..., station_count:],
    )


def _solve_several_speeds(
    grid: _Grid, thinking_planes: Array, load: Array, pace: Array, speeds_by_queue: Speeds
) -> tuple[Array, Array, Array, list[Array | None]]:
    """Return, for a network in which some station has several speeds, the normalizing constants
    G(N) of the full population (P,) and G(N - e_r) with one customer of class r fewer (P, R), the
    mean queues (P, R, K), and the probabilities of the numbers present at these stations.
    """
    station_count = load.shape[2]
    planes_of_singles = thinking_planes
    single_indices = [
        queue_index for queue_index in range(station_count) if queue_index not in speeds_by_queue
    ]
    if single_indices:
        steps = _step_matrices(pace[:, :, single_indices], np.tri(len(single_indices)).T)
        planes = grid.sweep(thinking_planes, steps, len(single_indices))
        planes_of_singles = np.stack([plane[..., -1].copy() for plane in planes], axis=1)
    queue = np.zeros(load.shape, dtype=np.result_type(load, planes_of_singles))
    probability_by_queue: list[Array | None] = [None] * station_count
    for queue_index, speed in speeds_by_queue.items():
        planes_without_station = planes_of_singles
        for further_index in speeds_by_queue:
            if further_index != queue_index:
                planes_without_station = _add_station(
                    grid,
                    planes_without_station,
                    load[:, :, further_index],
                    pace[:, :, further_index],
                    speeds_by_queue[further_index],
                )
        corner_terms, terms_with_one_less = _station_levels(
            grid, planes_without_station, load[:, :, queue_index], speed
        )
        constants = corner_terms.sum(axis=1)
        with_one_less = terms_with_one_less.sum(axis=2)
        probability_by_queue[queue_index] = corner_terms / constants[:, None]
        customers_over_speed = np.arange(1.0, grid.plane_count) / _speeds_up_to(
            speed, grid.plane_count - 1
        )
        met_by_arrivals = (terms_with_one_less[:, :, :-1] * customers_over_speed[:, None]).sum(
            axis=2
        )
        queue[:, :, queue_index] = load[:, :, queue_index] * met_by_arrivals / constants[:, None]
    if single_indices:
        with_station = _add_station(
            grid,
            planes_without_station,
            load[:, :, queue_index],
            pace[:, :, queue_index],
            speeds_by_queue[queue_index],
        )
        steps = _step_matrices(pace[:, :, single_indices], np.eye(len(single_indices)))
        planes = grid.sweep(with_station, steps, len(single_indices))
        for _ in range(grid.plane_count - 2):
            next(planes)
        queue[:, :, single_indices] = (
            pace[:, :, single_indices] * grid.with_one_less(next(planes)) / constants[:, None, None]
        )
    return constants, with_one_less, queue, probability_by_queue


def _speeds_up_to(speed: Array, length: int) -> Array:
    """Return the speeds with 1, ..., `length` customers present; the last one written holds for
    more.
    """
    extended_speed: Array = speed[:, np.minimum(np.arange(length), speed.shape[1] - 1)]
    return extended_speed


def _add_station(grid: _Grid, planes: Array, load: Array, pace: Array, speed: Array) -> Array:
    """Return the convolution of the planes of the other stations with the terms of a station of
    several speeds, computed as a short sum and a geometric remainder.
    """
    expanded_index = (slice(None),) + (None,) * (planes.ndim - 1)
    last_index = speed.shape[1] - 1
    if not last_index:
        return grid.with_single_server(planes, pace)
    served_planes = planes
    level_planes = planes
    for customer_count in range(1, min(last_index, grid.plane_count)):
        level_planes = grid.shift(level_planes, load) / speed[:, customer_count - 1][expanded_index]
        served_planes = served_planes + level_planes
    if last_index >= grid.plane_count:
        return served_planes
    level_planes = grid.shift(level_planes, load) / speed[:, last_index - 1][expanded_index]
    return np.asarray(served_planes + grid.with_single_server(level_planes, pace))


def _station_levels(
    grid: _Grid, planes_without_station: Array, load: Array, speed: Array
) -> tuple[Array, Array]:
    """Return the terms of the normalizing constants with n = 0, 1, ... customers at a station: at
    the full population N (P, n), and with one customer of class r fewer (P, R, n).
    """
    expanded_index = (slice(None),) + (None,) * (planes_without_station.ndim - 1)
    speed_by_number = _speeds_up_to(speed, grid.plane_count)
    level_planes = planes_without_station
    corner_terms = []
    terms_with_one_less = []
    for customer_count in range(grid.plane_count):
        constants, with_one_less = grid.at_full_population(level_planes)
        corner_terms.append(constants.copy())  # not a view, which would keep its level
        terms_with_one_less.append(with_one_less)
        level_planes = (
            grid.shift(level_planes, load) / speed_by_number[:, customer_count][expanded_index]
        )
    return np.stack(corner_terms, axis=1), np.stack(terms_with_one_less, axis=2)
