"""A server that works in rounds: exact chains of one phase that a round does for all that wait.

The number that a round serves is a Markov chain at the beginnings of rounds, if arrivals are
Poisson or thinking is exponential and the time of a round is known by the number served. Exact.
Customers of two phases have formulas in `slipstick_rounds.formula`.
"""

from __future__ import annotations

import math

from slipstick.late import Array, dataclass, np


@dataclass(frozen=True)
class RoundMeans:
    """The mean values of a server whose rounds serve all customers that wait.

    Parameters
    ----------
    throughput : customers that end [1/s]
    response_time : from arrival to end [s]
    utilization : part of the time in which a round is under way [1]
    by_served : probabilities that a round serves 1, 2, ... customers [1]
    """

    throughput: float
    response_time: float
    utilization: float
    by_served: Array

    @property
    def served(self) -> float:
        """Mean number of customers in a round."""
        return float(self.by_served @ np.arange(1, len(self.by_served) + 1))


def closed_chain(round_times: Array, think_time: float, batching_delay: float = 0.0) -> RoundMeans:
    """Solve a closed system whose rounds serve all customers that wait, as a Markov chain at the
    beginnings of rounds.

    The state is the number k of customers that wait when a round begins its batching delay. In the
    time g of this delay, each of the N - k others arrives with probability 1 - exp(-g / Z); the n
    that wait then are served in t(n), in which others arrive in the same way. With k' = 0 the
    server waits for the first arrival, Z / N in the mean.

        X = E n / E (g + t(n) + [k' = 0] Z / N),   R = N / X - Z

    Parameters
    ----------
    round_times : of a round that serves 1, 2, ... N customers [N; s]
    think_time : mean time between an end and the next arrival, exponential [s]
    batching_delay : time that the server waits for more before each round [s]

    >>> means = closed_chain(np.array([2.0]), 3.0)
    >>> means.throughput, means.response_time, means.served, means.utilization
    (0.2, 2.0, 1.0, 0.4)
    """
    customer_count = len(round_times)
    served_by_waiting = np.zeros((customer_count, customer_count + 1))
    for number_at_begin in range(1, customer_count + 1):
        arrivals_in_delay = _binomial_arrival_probabilities(
            customer_count - number_at_begin, batching_delay / think_time
        )
        served_by_waiting[number_at_begin - 1, number_at_begin : customer_count + 1] = (
            arrivals_in_delay
        )
    probabilities_after = np.zeros((customer_count + 1, customer_count + 1))
    for customers_served in range(1, customer_count + 1):
        thinking_customers = customer_count - customers_served
        probabilities_after[customers_served, : thinking_customers + 1] = (
            _binomial_arrival_probabilities(
                thinking_customers, round_times[customers_served - 1] / think_time
            )
        )
    transition_probabilities = served_by_waiting @ probabilities_after
    transition_probabilities[:, 1] += transition_probabilities[
        :, 0
    ]  # the first arrival begins the next round
    waiting_at_begin = _stationary_distribution(transition_probabilities[:, 1:])
    served_probabilities = waiting_at_begin @ served_by_waiting
    mean_served = float(served_probabilities @ np.arange(customer_count + 1))
    mean_round_time = float(served_probabilities[1:] @ round_times)
    mean_idle_time = (
        float((served_probabilities @ probabilities_after)[0]) * think_time / customer_count
    )
    cycle_time = batching_delay + mean_round_time + mean_idle_time
    throughput = mean_served / cycle_time
    response_time = customer_count / throughput - think_time
    return RoundMeans(
        throughput, response_time, mean_round_time / cycle_time, served_probabilities[1:]
    )


def open_chain(round_times: Array, rate: float, batching_delay: float = 0.0) -> RoundMeans:
    """Solve a Poisson stream whose rounds serve all customers that wait, up to a number of
    customers that hardly occurs.

    The number that waits when a round begins its batching delay is the number of arrivals in the
    round before; with none the server waits for one. The mean number present follows from the areas
    of a cycle, k g + rate g^2 / 2 in the delay and n t + rate t^2 / 2 while it serves.

    Parameters
    ----------
    round_times : of a round that serves 1, 2, ... customers; more than the last are taken as the
        last, and so have to be rare [s]
    rate : of arrivals [1/s]
    batching_delay : time that the server waits for more before each round [s]

    Raises
    ------
    ValueError : over a billionth of the rounds serve as many customers as there are times for, so
        that the stream is not served in rounds of finite size

    >>> means = open_chain(np.full(60, 0.5), 2.0)
    >>> round(means.served, 4), round(means.response_time, 4)
    (1.3679, 0.6828)
    """
    most_customers = len(round_times)
    arrivals_in_delay = _poisson_arrival_probabilities(most_customers, rate * batching_delay)
    served_by_waiting = np.zeros((most_customers, most_customers + 1))
    for number_at_begin in range(1, most_customers + 1):
        served_by_waiting[number_at_begin - 1, number_at_begin:] = arrivals_in_delay[
            : most_customers + 1 - number_at_begin
        ]
        served_by_waiting[number_at_begin - 1, -1] += (
            1 - served_by_waiting[number_at_begin - 1].sum()
        )
    probabilities_after = np.array(
        [
            _poisson_arrival_probabilities(most_customers, rate * round_time)
            for round_time in round_times
        ]
    )
    probabilities_after[:, -1] += 1 - probabilities_after.sum(axis=1)
    transition_probabilities = served_by_waiting[:, 1:] @ probabilities_after
    transition_probabilities[:, 1] += transition_probabilities[:, 0]
    waiting_at_begin = _stationary_distribution(transition_probabilities[:, 1:])
    served_probabilities = (waiting_at_begin @ served_by_waiting)[1:]
    if served_probabilities[-1] > 1e-9:
        raise ValueError(
            f"{served_probabilities[-1]:.3g} of the rounds serve {most_customers} customers or more"
        )
    customers_served = np.arange(1, most_customers + 1)
    mean_served = float(served_probabilities @ customers_served)
    probability_none_waits = float((served_probabilities @ probabilities_after)[0])
    mean_round_time = float(served_probabilities @ round_times)
    customer_seconds = (
        float(waiting_at_begin @ customers_served) * batching_delay + rate * batching_delay**2 / 2
    )
    customer_seconds += float(
        served_probabilities @ (customers_served * round_times + rate * round_times**2 / 2)
    )
    cycle_time = batching_delay + mean_round_time + probability_none_waits / rate
    response_time = customer_seconds / cycle_time / rate
    return RoundMeans(
        mean_served / cycle_time, response_time, mean_round_time / cycle_time, served_probabilities
    )


def _binomial_arrival_probabilities(customer_count: int, time: float) -> Array:
    """Return the probabilities that 0, 1, ... `customer_count` thinking customers arrive in a time,
    given in mean think times.
    """
    arrival_probability = -math.expm1(-time)
    arrival_counts = np.arange(customer_count + 1)
    if arrival_probability <= 0:
        return np.eye(1, customer_count + 1).ravel()
    log_coefficients = np.array(
        [
            math.lgamma(customer_count + 1)
            - math.lgamma(arrival_count + 1)
            - math.lgamma(customer_count - arrival_count + 1)
            for arrival_count in arrival_counts
        ]
    )
    distribution: Array = np.exp(
        log_coefficients
        + arrival_counts * math.log(arrival_probability)
        - (customer_count - arrival_counts) * time
    )
    return distribution


def _poisson_arrival_probabilities(most_arrivals: int, mean_arrivals: float) -> Array:
    """Return the probabilities of 0, 1, ... `most_arrivals` arrivals."""
    arrival_counts = np.arange(most_arrivals + 1)
    if mean_arrivals <= 0:
        return np.eye(1, most_arrivals + 1).ravel()
    log_factorials = np.array([math.lgamma(arrival_count + 1) for arrival_count in arrival_counts])
    probabilities: Array = np.exp(
        arrival_counts * math.log(mean_arrivals) - mean_arrivals - log_factorials
    )
    return probabilities


def _stationary_distribution(transition_probabilities: Array) -> Array:
    """Return the stationary distribution of a chain from its transition probabilities."""
    state_count = len(transition_probabilities)
    equations = transition_probabilities.T - np.eye(state_count)
    equations[-1] = 1.0  # one equation follows from the others
    right_side = np.eye(1, state_count, state_count - 1).ravel()
    return np.asarray(np.linalg.solve(equations, right_side), dtype=np.float64)
