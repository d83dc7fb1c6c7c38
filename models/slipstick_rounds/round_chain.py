"""A server that works in rounds: exact chains of one phase that a round does for all that wait.

The number that a round serves is a Markov chain at the beginnings of rounds, if arrivals are
Poisson or thinking is exponential and the time of a round is known by the number served. Exact.
Customers of two phases have formulas in `slipstick_rounds.formula`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slipstick.late import Array, np


@dataclass(frozen=True)
class RoundMeans:
    """Means of a server that works in rounds.

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


def closed_chain(times: Array, think: float, batching_delay: float = 0.0) -> RoundMeans:
    """Solve a closed system whose rounds serve all that wait.

    The state is the number k of customers that wait when a round begins its batching delay. In the
    time g of this delay, each of the N - k others arrives with probability 1 - exp(-g / Z); the n
    that wait then are served in t(n), in which others arrive in the same way. With k' = 0 the
    server waits for the first arrival, Z / N in the mean.

        X = E n / E (g + t(n) + [k' = 0] Z / N),   R = N / X - Z

    Parameters
    ----------
    times : of a round that serves 1, 2, ... N customers [N; s]
    think : mean time between an end and the next arrival, exponential [s]
    batching_delay : time that the server waits for more before each round [s]

    >>> means = closed_chain(np.array([2.0]), 3.0)
    >>> means.throughput, means.response_time, means.served, means.utilization
    (0.2, 2.0, 1.0, 0.4)
    """
    customers = len(times)
    row = np.zeros((customers, customers + 1))
    for number_at_begin in range(1, customers + 1):
        joined = _binomial(customers - number_at_begin, batching_delay / think)
        row[number_at_begin - 1, number_at_begin : customers + 1] = joined
    probabilities_after = np.zeros((customers + 1, customers + 1))
    for served in range(1, customers + 1):
        thinking_customers = customers - served
        probabilities_after[served, : thinking_customers + 1] = _binomial(
            thinking_customers, times[served - 1] / think
        )
    step = row @ probabilities_after
    step[:, 1] += step[:, 0]  # the first arrival begins the next round
    begin = _stationary(step[:, 1:])
    served_by = begin @ row
    mean_served = float(served_by @ np.arange(customers + 1))
    serving = float(served_by[1:] @ times)
    idle = float((served_by @ probabilities_after)[0]) * think / customers
    elapsed = batching_delay + serving + idle
    throughput = mean_served / elapsed
    response_time = customers / throughput - think
    return RoundMeans(throughput, response_time, serving / elapsed, served_by[1:])


def open_chain(times: Array, rate: float, batching_delay: float = 0.0) -> RoundMeans:
    """Solve a Poisson stream whose rounds serve all that wait, up to a number that hardly occurs.

    The number that waits when a round begins its batching delay is the number of arrivals in the
    round before; with none the server waits for one. The mean number present follows from the areas
    of a cycle, k g + rate g^2 / 2 in the delay and n t + rate t^2 / 2 while it serves.

    Parameters
    ----------
    times : of a round that serves 1, 2, ... customers; more than the last are taken as the last,
        and so have to be rare [s]
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
    most = len(times)
    joined = _poisson(most, rate * batching_delay)
    row = np.zeros((most, most + 1))
    for number_at_begin in range(1, most + 1):
        row[number_at_begin - 1, number_at_begin:] = joined[: most + 1 - number_at_begin]
        row[number_at_begin - 1, -1] += 1 - row[number_at_begin - 1].sum()
    probabilities_after = np.array([_poisson(most, rate * time) for time in times])
    probabilities_after[:, -1] += 1 - probabilities_after.sum(axis=1)
    step = row[:, 1:] @ probabilities_after
    step[:, 1] += step[:, 0]
    begin = _stationary(step[:, 1:])
    served_by = (begin @ row)[1:]
    if served_by[-1] > 1e-9:
        raise ValueError(f"{served_by[-1]:.3g} of the rounds serve {most} customers or more")
    number = np.arange(1, most + 1)
    mean_served = float(served_by @ number)
    none = float((served_by @ probabilities_after)[0])
    serving = float(served_by @ times)
    area = float(begin @ number) * batching_delay + rate * batching_delay**2 / 2
    area += float(served_by @ (number * times + rate * times**2 / 2))
    elapsed = batching_delay + serving + none / rate
    response_time = area / elapsed / rate
    return RoundMeans(mean_served / elapsed, response_time, serving / elapsed, served_by)


def _binomial(count: int, time: float) -> Array:
    """Return the distribution of arrivals of so many customers in a time in units of thinking."""
    arrived = -math.expm1(-time)
    number = np.arange(count + 1)
    if arrived <= 0:
        return np.eye(1, count + 1).ravel()
    logs = np.array(
        [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in number]
    )
    distribution: Array = np.exp(logs + number * math.log(arrived) - (count - number) * time)
    return distribution


def _poisson(most: int, mean: float) -> Array:
    """Return the probabilities of 0, 1, ... `most` arrivals."""
    number = np.arange(most + 1)
    if mean <= 0:
        return np.eye(1, most + 1).ravel()
    factorials = np.array([math.lgamma(k + 1) for k in number])
    probabilities: Array = np.exp(number * math.log(mean) - mean - factorials)
    return probabilities


def _stationary(step: Array) -> Array:
    """Return the stationary distribution of a chain by the probabilities of its steps."""
    count = len(step)
    equations = step.T - np.eye(count)
    equations[-1] = 1.0  # one equation follows from the others
    right = np.eye(1, count, count - 1).ravel()
    return np.asarray(np.linalg.solve(equations, right), dtype=np.float64)
