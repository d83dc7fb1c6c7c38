"""Waits of Poisson streams for a place or for memory.

A visit holds its place in both phases. How many customers wait follows from a birth-death process
with W (see `capacity`) and the rounds of the first phase as the time of a visit. Its weights are
taken to the power 1 / z, so that the number has z times the variance (see `groups`), about as
Hayward's approximation divides servers and load by z. While all places are taken, the server is one
queue whose customers need S(K) of it: with the load X S(K) waits are those of M/G/c, between
approximations of M/D/c and M/M/c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from slipstick.late import Array, NDArray, np
from slipstick_rounds.backlog import RARE
from slipstick_rounds.birth_death import LARGEST_PLACE_LOAD, birth_death
from slipstick_rounds.capacity import LEAST_ROOM, MOST_PRESENT, MeanRounds
from slipstick_rounds.groups import group_size
from slipstick_rounds.model import QUANTILES

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

RARE_WAIT, SUPPORT, HALVINGS = 1e-4, 64, 18
"""Probability of a wait for a place below which quantiles leave it out; number of equally probable
times by which the first phase is represented where it is added to a wait; and number of halvings of
their range.
"""

UNSURE_WAITS, LARGEST_SHIFT = 0.1, 0.15
"""Relative error that the probability of a wait may have, and the largest relative change of a
quantile that this may cause. Beside long simulations of 20 streams of `llm-serving` the mean of the
first phase was within 9 %; of one stream in which 5 of 100 customers wait, runs of 30,000 and of
150,000 visits had 95 of 100 within 0.8 and within 0.05 s.
"""

WAIT_LESS_OFTEN = 0.92
"""Customers that wait for one of several places at constant times at the server, as a part of those
that wait at exponential ones. This and the gamma shape 1.5 of the wait of those that wait were
fitted to simulations of seven queues M/G/c of 8 to 100 servers, constant and uniform times, and
loads of 0.55 to 0.85 (0.90 to 0.95 there); the mean wait stays that of Cosmetatos."""


class Waits(NamedTuple):
    """What arriving customers find [points]: the probabilities that the server is idle and that all
    places are taken, the mean wait of those that wait (see `PresentNumbers`), and the squared
    coefficient of variation of second phases.
    """

    idle_probability: Array
    wait_probability: Array
    mean_wait: Array
    variation: Array


def waits_for_places(
    rounds: MeanRounds,
    customers_on_server: Array,
    visit_times: Array,
    last_number: Indices,
    mean_number: Array,
) -> tuple[Array, Array, Array]:
    """Return the probability that a customer waits for a place [1], the mean wait of the customers
    that wait [s], and the part of the places that is taken [1] [points, 1].

    Parameters
    ----------
    rounds : their times
    customers_on_server : numbers of the birth-death process, at most the places [points, numbers]
    visit_times : of a second phase beside as many, over their number [points, numbers; s]
    last_number : from which on the process is geometric [points, 1; 1]
    mean_number : customers in the second phase [points, 1; 1]
    """
    most_customers = np.minimum(rounds.most_customers, MOST_PRESENT)
    full_count = np.minimum(most_customers, rounds.largest_mean_number)
    # A place is held in the rounds of the first phase, too.
    first_alone = rounds.first_phase_time_alone(full_count)
    holding_ratios = rounds.rate * (visit_times + first_alone / customers_on_server)
    # Customers that come in groups are more at once: a number with z times the variance. Where
    # full rounds bring fewer than there are places, they limit groups as well.
    are_places_limiting = most_customers <= rounds.largest_mean_number
    arrival_group_size = np.where(
        are_places_limiting, group_size(rounds, np.minimum(mean_number, full_count)), 1.0
    )
    weights = birth_death(holding_ratios ** (1 / arrival_group_size), last_number)
    # At a full server a first phase begins where a customer leaves, so that first phases come as
    # visits end, and not as customers arrive.
    first_rounds = (first_alone - rounds.time_added_by_first_phase(full_count)) / full_count
    full_load = rounds.rate * (rounds.visit_time(full_count) + first_rounds)
    last_ratio = np.take_along_axis(holding_ratios, last_number - 1, axis=1)
    place_load = np.where(are_places_limiting, full_load, last_ratio)
    weight_ratio = np.minimum(place_load, LARGEST_PLACE_LOAD)
    weight_full = np.take_along_axis(weights, last_number, axis=1) / (1 - weight_ratio)
    probability_full = weight_full / (
        weights.sum(axis=1, keepdims=True) + weight_full * weight_ratio
    )
    waiting_load = np.minimum(weight_ratio, 1 - LEAST_ROOM)
    wait_of_exponential = waiting_load / (1 - waiting_load) / rounds.rate
    variation = np.minimum(rounds.second_variation, 1.0)
    mean_wait = rounds.relative_wait(most_customers, waiting_load) * wait_of_exponential
    service_regularity = np.where(most_customers > 1, 1 - variation, 0.0)
    wait_frequency_factor = 1 - (1 - WAIT_LESS_OFTEN) * service_regularity
    return probability_full * wait_frequency_factor, mean_wait / wait_frequency_factor, place_load


def quantiles_with_waits(times: Array, weights: Array, waits: Waits) -> Array:
    """Return the quantiles of first phases, the wait for a place included [points, quantiles; s].

    The wait is independent of the rest. Where there is one, it is exponential if times at the
    server are, of gamma shape 1.5 if these are constant (`WAIT_LESS_OFTEN`), and in between by
    their squared coefficient of variation. A quantile that `UNSURE_WAITS` more or fewer waits move
    by more than `LARGEST_SHIFT` is not known, NaN: as many customers wait as it leaves out, and two
    simulations differ as much.
    """
    time_order = np.argsort(times, axis=1)
    weight_below = np.cumsum(np.take_along_axis(weights, time_order, axis=1), axis=1)
    quantiles = _weighted_quantiles(times, time_order, weight_below, QUANTILES)
    rows_with_waits = np.flatnonzero(waits.wait_probability > RARE_WAIT)
    if not len(rows_with_waits):
        return quantiles
    probabilities = (np.arange(SUPPORT) + 0.5) / SUPPORT
    support_times = _weighted_quantiles(
        times[rows_with_waits],
        time_order[rows_with_waits],
        weight_below[rows_with_waits],
        probabilities,
    )[:, None, :]
    waits_of_rows = Waits(*(column[rows_with_waits, None, None] for column in waits))
    lower_times = quantiles[rows_with_waits]
    upper_times = lower_times + waits_of_rows.mean_wait[:, :, 0] * math.log(1 / RARE)
    for _ in range(HALVINGS):
        middle_times = (lower_times + upper_times) / 2
        is_reached = _probability_within(middle_times, support_times, waits_of_rows) >= np.array(
            QUANTILES
        )
        lower_times, upper_times = (
            np.where(is_reached, lower_times, middle_times),
            np.where(is_reached, middle_times, upper_times),
        )
    more_waits, fewer_waits = (
        waits_of_rows._replace(
            wait_probability=np.minimum(waits_of_rows.wait_probability * wait_factor, 1.0)
        )
        for wait_factor in (1 + UNSURE_WAITS, 1 / (1 + UNSURE_WAITS))
    )
    is_sure = _probability_within(
        upper_times * (1 + LARGEST_SHIFT), support_times, more_waits
    ) >= np.array(QUANTILES)
    is_sure &= _probability_within(
        upper_times / (1 + LARGEST_SHIFT), support_times, fewer_waits
    ) <= np.array(QUANTILES)
    quantiles[rows_with_waits] = np.where(is_sure, upper_times, math.nan)
    return quantiles


def _probability_within(times: Array, support_times: Array, waits: Waits) -> Array:
    """Return the probability that a first phase, with the wait before it, ends within some times
    [points, times].

    Parameters
    ----------
    times : limits [points, times; s]
    support_times : equally probable times of first phases without the wait [points, 1, times; s]
    waits : for a place [points, 1, 1]
    """
    from scipy.special import erf

    time_left = times[:, :, None] - support_times
    time_over_wait = np.maximum(time_left, 0.0) / waits.mean_wait
    probability_waiting = np.exp(-time_over_wait)
    shape_factor = np.sqrt(1.5 * time_over_wait)
    probability_of_gamma = erf(shape_factor) - 2 / math.sqrt(
        math.pi
    ) * shape_factor * probability_waiting * np.sqrt(probability_waiting)
    probability_served = (
        waits.variation * (1 - probability_waiting) + (1 - waits.variation) * probability_of_gamma
    )
    probabilities = np.where(
        time_left >= 0,
        1 - waits.wait_probability + waits.wait_probability * probability_served,
        0.0,
    )
    return np.asarray(probabilities.mean(axis=2))


def _weighted_quantiles(
    times: Array, time_order: Indices, weight_below: Array, probabilities: Sequence[float] | Array
) -> Array:
    """Return the quantiles of times with weights at some probabilities [points, probabilities].

    Parameters
    ----------
    times, order : and their places, from the shortest on [points, times; s]
    weight_below : cumulated probabilities in that order [points, times]
    probabilities : from 0 to 1
    """
    indices_in_order = np.stack(
        [np.searchsorted(cumulated_weights, probabilities) for cumulated_weights in weight_below]
    )
    chosen_indices = np.take_along_axis(
        time_order, np.minimum(indices_in_order, times.shape[1] - 1), axis=1
    )
    return np.asarray(np.take_along_axis(times, chosen_indices, axis=1))
