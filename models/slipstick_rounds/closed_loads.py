"""Closed populations of servers that work in rounds, with runs that all begin at once.

All n customers are present, and a visit takes S(n) of the server (see `capacity`): the number
present is a birth-death process with rate of ends 1 / S(min(n, K)). S leaves out the wait for the
round under way, which counts where second phases are short, so that the formula refuses those of
few rounds (`formula.LEAST_STEPS`). First phases of c > 1 rounds are one server. Time is counted in
its rounds there, in which the second phases go on as well: service c, and v rounds and the think
time between two of them, solved by mean value analysis where a customer finds half of a service
under way, as lengths hardly vary. Think times that are longer than rounds bring first phases by
time, so that long rounds get more of them. First phases of less than a round share it with those
that arrived in the round before, a binomial number with mean (n - 1) / (v + 1) where customers come
again at the end of a round. After a think time a customer meets a round with a probability in
proportion to its time, if it finds another customer at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick_rounds.accounts import ComputedPoint, PhaseTimes, RoundTimes, points_from_times
from slipstick_rounds.birth_death import birth_death
from slipstick_rounds.capacity import LEAST_ROOM, MeanRounds
from slipstick_rounds.points import PointNumbers

MOST_WAIT_OF_A_RUN = 0.05
"""Largest mean number of customers of a run that ends that wait for the server, as a part of all of
them and of twice their visits, with which the formula answers. In a population without end each
visit waits for all others; in a run the first visits wait for half of those in front of them. Times
of responses were 74 % too long at 0.5, 4 to 9 % at 0.05 (bursts of up to 400 on `llm-serving`).
"""


class _PresentMeans(NamedTuple):
    """Means over the birth-death process of the number of customers that are present.

    Attributes
    ----------
    throughput : visits that end [1/s]
    present, waiting : customers on the server, and those that wait for a place [1]
    meeting_probability : probability that a customer that arrives finds another [1]
    busy_share : probability that any is present [1]
    """

    throughput: float
    number_present: float
    number_waiting: float
    meeting_probability: float
    busy_share: float


def point_of_population(point: PointNumbers) -> ComputedPoint:
    """Compute the values of a closed population at one point."""
    rounds = MeanRounds([point])
    present_means = _present_means_of_population(point, rounds)
    _check_run(point, present_means.number_waiting)
    customers_served = max(present_means.number_present, 1.0)
    waiting_time = present_means.number_waiting / present_means.throughput
    time_in_first_phase = _first_phase_time_if_closed(
        point, rounds, customers_served, present_means
    )
    first_phase_time = point.delay + waiting_time + time_in_first_phase
    number_present = present_means.number_present + present_means.number_waiting
    response_time = number_present / present_means.throughput + point.delay
    second_phase_time = response_time - first_phase_time
    first_phase_units = float(min(rounds.first_units[0, 0], rounds.room(customers_served)[0, 0]))
    phase_time_values = (
        point.delay,
        waiting_time,
        time_in_first_phase,
        second_phase_time,
        customers_served,
        customers_served,
        first_phase_units,
    )
    round_times = np.array([_round_times_closed(rounds, present_means)])
    phase_times = PhaseTimes(*(np.array([time]) for time in phase_time_values))
    (computed_point,) = points_from_times(
        rounds, phase_times, np.array([present_means.throughput]), round_times
    )
    return computed_point


def _check_run(point: PointNumbers, number_waiting: float) -> None:
    """Raise NoAnswerError for a run that ends and in which many customers wait for the server.

    Raises
    ------
    NoAnswerError : they do
    """
    if point.visits and number_waiting > 2 * point.visits * MOST_WAIT_OF_A_RUN * point.population:
        raise NoAnswerError(
            f"{number_waiting:,.0f} of {point.population:,} customers that begin at once do not"
            " fit into"
            " places, memory and rounds, and the formula knows their wait only in runs of many"
            " visits; let fewer customers begin, or ask for simulation"
        )


def _present_means_of_population(point: PointNumbers, rounds: MeanRounds) -> _PresentMeans:
    """Solve the birth-death process of the number of customers of a closed population that are
    present, and return its means.
    """
    population = point.population
    most_customers = float(rounds.largest_mean_number[0, 0])
    present_counts = np.arange(1.0, population + 1)
    customers_on_server = np.minimum(present_counts, most_customers)
    visit_times = rounds.visit_time(customers_on_server[None, :])[0]
    time_outside = point.think_time + point.delay
    if not time_outside:
        mean_on_server = min(float(population), most_customers)
        return _PresentMeans(
            1 / float(visit_times[-1]), mean_on_server, population - mean_on_server, 1.0, 1.0
        )
    arrival_rates = (population - present_counts + 1) / time_outside
    probabilities = birth_death((arrival_rates * visit_times)[None, :])[0]
    probabilities /= probabilities.sum()
    throughput = float(probabilities[1:] @ (1 / visit_times))
    mean_on_server = float(probabilities[1:] @ customers_on_server)
    number_waiting = float(probabilities[1:] @ present_counts) - mean_on_server
    # An arrival finds the others as they are without it (arrival theorem).
    weights_of_others = birth_death(((arrival_rates - 1 / time_outside) * visit_times)[None, :-1])[
        0
    ]
    meeting_probability = 1 - float(weights_of_others[0] / weights_of_others.sum())
    return _PresentMeans(
        throughput, mean_on_server, number_waiting, meeting_probability, 1 - float(probabilities[0])
    )


def _round_times_closed(rounds: MeanRounds, present_means: _PresentMeans) -> RoundTimes:
    """Return the times of rounds of a closed population, T = D + X T P / U, where U is the part of
    the time in which any customer is present.
    """
    number_present = max(present_means.number_present / present_means.busy_share, 1.0)
    time_without_first, added_time = (
        float(time_at_point[0, 0])
        for time_at_point in (
            rounds.round_time(number_present, 0.0),
            rounds.time_added_by_first_phase(number_present),
        )
    )
    mean_time = time_without_first / max(
        1 - present_means.throughput / present_means.busy_share * added_time, 1e-9
    )
    return RoundTimes(mean_time, mean_time / present_means.busy_share)


def _first_phase_time_if_closed(
    point: PointNumbers, rounds: MeanRounds, number_present: float, present_means: _PresentMeans
) -> float:
    """Return the mean time from admission to the end of the first phase in a closed population
    [s].
    """
    plain_time, extra_time, unit_limit, full_round_time = (
        float(column[0, 0])
        for column in (
            rounds.round_time(number_present, 0.0),
            rounds.time_added_by_first_phase(number_present),
            rounds.room(number_present),
            rounds.round_time(
                number_present, np.minimum(rounds.room(number_present), rounds.first_units)
            ),
        )
    )
    throughput = present_means.throughput
    rounds_needed = float(rounds.first_units[0, 0]) / unit_limit
    customer_count = max(1, round(point.population - present_means.number_waiting))
    mean_round = plain_time / max(1 - throughput * extra_time, plain_time / full_round_time)
    time_outside = point.think_time + point.delay
    # Second phases bring the next first phases by rounds. Think times, if they are longer than
    # rounds, bring them by time: more in the long rounds of a backlog than in others.
    rounds_outside = float(rounds.second_phase_rounds[0, 0]) + time_outside / mean_round
    if rounds_needed > 1:
        time_weight = time_outside / (time_outside + mean_round)
        rounds_outside /= time_weight * full_round_time / mean_round + 1 - time_weight
    variation = float(rounds.first_variation[0, 0])
    work_sizes: list[float] = rounds.first_work[0].tolist()
    residence_rounds, cycle_rounds = _rounds_of_cycle(
        customer_count, rounds_needed, rounds_outside, variation
    )
    # Who comes at once after a visit comes at the end of a round with all others that did; others
    # meet a round with a probability in proportion to its time, and wait for half of it.
    rounds_taken = sum(math.ceil(work / unit_limit - 1e-9) for work in work_sizes) / len(work_sizes)
    remaining_time = 0.0
    arrival_rate = (customer_count - 1) / cycle_rounds
    if time_outside:
        if rounds_needed > 1:
            share_with_first = min(throughput * mean_round * rounds_taken, 1.0)
            round_time_with_first = plain_time + extra_time / rounds_taken
            met_round_time = (
                share_with_first * round_time_with_first**2 + (1 - share_with_first) * plain_time**2
            ) / (share_with_first * round_time_with_first + (1 - share_with_first) * plain_time)
        else:
            # T' = plain + extra A, A Poisson with mean X T, in the mean T + Var T / T.
            extra_load = min(throughput * extra_time, 1 - LEAST_ROOM)
            met_round_time = mean_round + extra_time * extra_load / (1 - extra_load**2)
        met_round_time *= present_means.meeting_probability
        remaining_time = met_round_time / 2
        arrival_rate = (customer_count - 1) / customer_count * throughput * met_round_time
    waiting_time = max(residence_rounds - max(rounds_needed, 1.0), 0.0) * full_round_time
    own_time = plain_time * rounds_taken + extra_time
    if rounds_needed < 1:
        own_time = sum(
            _time_of_shared_round(rounds, number_present, arrival_rate, customer_count, work)
            for work in work_sizes
        ) / len(work_sizes)
    steady_time = remaining_time + own_time + waiting_time
    if not point.visits:
        return steady_time
    first_time = _first_phase_time_of_burst(rounds, customer_count)
    return first_time / point.visits + (1 - 1 / point.visits) * steady_time


def _first_phase_time_of_burst(rounds: MeanRounds, customer_count: int) -> float:
    """Return the mean time from the start to the end of a first phase if the first phases of all
    customers begin at once and are served one after the other [s].

    While a first phase is served, those before it are in the second phase. It ends with its last
    round, which it may share.

    Parameters
    ----------
    rounds : their times, of one point
    customer_count : that begin [1]
    """
    customers_before = np.arange(float(customer_count))[None, :]
    room = rounds.room(customers_before)
    rounds_at_end = np.cumsum(rounds.first_units / room, axis=1)[0]
    last_rounds = np.ceil(rounds_at_end - 1e-9).astype(int)
    round_count = int(last_rounds[-1])
    served_before = np.searchsorted(rounds_at_end, np.arange(1.0, round_count))
    present_counts = np.append(0, served_before)[None, :].astype(np.float64)
    units_by_round = rounds.room(present_counts)
    units_by_round[:, -1] *= rounds_at_end[-1] - (round_count - 1)
    return float(
        np.cumsum(rounds.round_time(present_counts, units_by_round))[last_rounds - 1].mean()
    )


def _rounds_of_cycle(
    most_customers: int, rounds_needed: float, rounds_outside: float, variation: float
) -> tuple[float, float]:
    """Return the mean number of rounds from admission to the end of a first phase, and the mean
    number of rounds of a whole cycle, by mean value analysis [1].
    """
    residence_rounds = cycle_rounds = number_queued = busy_share = 0.0
    for customer_count in range(1, most_customers + 1):
        residence_rounds = rounds_needed * (1 + number_queued - busy_share * (1 - variation) / 2)
        cycle_rounds = max(residence_rounds, 1.0) + rounds_outside
        number_queued = customer_count * residence_rounds / cycle_rounds
        busy_share = customer_count * rounds_needed / cycle_rounds
    return residence_rounds, cycle_rounds


def _time_of_shared_round(
    rounds: MeanRounds, number_present: float, mean_others: float, customer_count: int, work: float
) -> float:
    """Return the mean time that all rounds of a customer's first phase take together [s]. They do
    the work of others in their first phase, too, whose number is taken as binomial; work beyond the
    budget of a round is done in further rounds.

    Parameters
    ----------
    rounds : their times, of one point
    number_present : customers in the second phase [1]
    mean_others : mean number of other customers in their first phase [1]
    customer_count : largest number of customers in their first phase [1]
    work : of the first phase of the customer [units]
    """
    from scipy.stats import binom

    other_counts = np.arange(float(customer_count))
    count_probabilities = binom.pmf(
        other_counts, customer_count - 1, min(mean_others / max(customer_count - 1, 1), 1.0)
    )
    first_phase_units = other_counts * rounds.first_units[0, 0] + work
    room = float(rounds.room(number_present)[0, 0])
    whole_rounds = np.ceil(first_phase_units / room - 1e-9) - 1
    full_round_time = (
        float(rounds.round_time(number_present, room)[0, 0]) if whole_rounds.any() else 0.0
    )
    times = (
        whole_rounds * full_round_time
        + rounds.round_time(number_present, first_phase_units - whole_rounds * room)[0]
    )
    return float(count_probabilities @ times)
