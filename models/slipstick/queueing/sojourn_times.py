"""Quantiles of response times on paths where no customer overtakes another, from transforms of
their distributions.

On such a path the times at exponential first-come stations are independent in an open network,
given what an arrival finds in a closed one. So the transform of the whole time is a product, and a
quantile is found by numerical inversion. Elsewhere the product is an approximation
(`approximate_path`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from slipstick.late import np
from slipstick.phases import (
    balanced_means,
)
from slipstick.queueing.network import Array
from slipstick.queueing.normalizing_constants import geometric_recurrences, terms
from slipstick.queueing.residual_wait import erlang_c

Transform = Callable[[Array], Array]
"""Laplace transform E exp(-s T) of a time at complex s [1/s]."""


def open_path(stations: Sequence[tuple[float, int, float]]) -> Transform:
    r"""Return the transform of the time at stations in a row that open customers pass in order.

    At c servers of rate \mu with arrivals \lambda and Erlang's probability C of waiting, T is
    exponential of rate \mu, with probability C after a wait of rate c \mu - \lambda. The times at
    the stations are independent where only the first and the last station have several servers, or
    a server for every customer.

    Parameters
    ----------
    stations : of each the mean service time [s], the servers, 0 for a delay, and the load [s of
        service a second]

    Source: Burke, Operations Research 17(4), 1969, 754-755; Walrand and Varaiya, Adv. Applied
    Probability 12(4), 1980, 1000-1018 (overtake-free paths).
    """
    waits_of_stations = [
        (
            (float(erlang_c(np.array([load]), servers)[0]), mean / (servers - load))
            if servers
            else (0.0, 0.0)
        )
        for mean, servers, load in stations
    ]

    def transform(s: Array) -> Array:
        """Return the transform of the whole time, a product over the stations."""
        factors = [
            (1 - wait_probability + wait_probability / (1 + s * wait)) / (1 + s * mean)
            for (mean, _, _), (wait_probability, wait) in zip(
                stations, waits_of_stations, strict=True
            )
        ]
        return np.asarray(np.prod(factors, axis=0))

    return transform


def closed_path(demand: Sequence[float], think: float, population: int) -> Transform:
    r"""Return the transform of the response time of one closed class at single servers in a row,
    think time left out.

    An arrival at the first finds the others as if it were not there, and the time at each station
    is an Erlang time of those found and itself. With x_k = D_k / (1 + s D_k) and G the normalizing
    constant of the N - 1 others::

        E exp(-s T) = prod 1 / (1 + s D_k)  G(x, Z) / G(D, Z)

    Parameters
    ----------
    demand : mean service time of each station [s]
    think : away from them in each cycle [s]
    population : customers

    Source: Kelly and Pollett, Adv. Applied Probability 15(3), 1983, 638-656; Schassberger and
    Daduna, J. ACM 30(1), 1983.
    """
    # Relative to the largest time, so that the constants of large populations stay within the range
    # of doubles.
    longest_time = max(*demand, think / population)
    relative_load = np.array(demand) / longest_time
    think_load = np.full(1, think / longest_time)

    def normalizing_constant(relative_loads: Array) -> Array:
        """Return the normalizing constant of N - 1 customers at some relative loads."""
        other_terms = terms(
            think_load, np.arange(1.0, max(2, population))[None], population
        ) * np.ones((len(relative_loads[0]), 1))
        return geometric_recurrences(other_terms, *relative_loads)[:, -1]

    full_constant = normalizing_constant(relative_load[:, None])

    def transform(s: Array) -> Array:
        """Return the transform of the response time as a ratio of normalizing constants."""
        slowdown = 1 + np.multiply.outer(np.array(demand), s)
        # In logarithms: the product over a thousand stations leaves the range of doubles, that over
        # a few of them does not.
        products = np.multiply.reduceat(slowdown, range(0, len(slowdown), STATIONS_TOGETHER))
        undelayed_share = np.exp(-np.log(products).sum(axis=0))
        return np.asarray(
            normalizing_constant(relative_load[:, None] / slowdown)
            / full_constant
            * undelayed_share
        )

    return transform


STATIONS_TOGETHER = 16
"""Factors that are multiplied before a logarithm, which takes as long as ten products."""

ALIASING, PLAIN, AVERAGED = 24.0, 60, 20
"""Settings of the inversion by a Fourier series: the logarithm of the error by its period, the
number of terms added as they are, and the number of terms averaged by Euler's summation.
"""

EULER_WEIGHTS = np.array([math.comb(AVERAGED, k) for k in range(AVERAGED + 1)]) / 2.0**AVERAGED
"""The weights of the last partial sums in Euler's summation: binomial probabilities."""

# Steps of the search that brackets the quantile, and of the one that narrows it down; both leave
# much earlier where the transform is smooth.
MOST_STEPS = 100


@lru_cache(maxsize=64)  # searches for several quantiles begin at the same times
def probability_beyond(transform: Transform, time: float) -> float:
    """Return P(T > t) by inverting (1 - E exp(-s T)) / s, to about 1e-10.

    Source: Abate and Whitt, ORSA J. Computing 7(1), 1995, 36-43 (algorithm EULER).

    >>> round(probability_beyond(open_path([(1.0, 1, 0.5)]), 2 * math.log(20)), 8)
    0.05
    """
    k = np.arange(PLAIN + AVERAGED + 1)
    s = (ALIASING + 2j * math.pi * k) / (2 * time)
    signed_terms = np.where(k % 2, -1.0, 1.0) * ((1 - transform(s)) / s).real
    # The first term of a Fourier series counts half.
    signed_terms[0] /= 2
    return float(math.exp(ALIASING / 2) / time * (EULER_WEIGHTS @ np.cumsum(signed_terms)[PLAIN:]))


def quantile(transform: Transform, q: float, scale: float) -> float:
    """Return the time that is exceeded with probability 1 - q, found from the transform of the time
    [s].

    Parameters
    ----------
    transform : of the time
    q : probability that the time is not exceeded [1]
    scale : a time of the order of the mean, where the search begins [s]

    >>> quantile(open_path([(1.0, 1, 0.8)]), 0.99, 5.0)  # M/M/1: log(100) / (1 - 0.8)
    23.02585
    """

    def log_excess(time: float) -> float:
        """Return the logarithm of P(T > time) / (1 - q), which is 0 at the quantile."""
        # The inversion errs by about 1e-10, so that a small probability may come out below 0.
        return math.log(max(probability_beyond(transform, time), 1e-12) / (1 - q))

    if float(transform(np.array([1e9 / scale]))[0].real) >= q:
        return 0.0  # So many take no time at all.
    interval = _interval_of_sign_change(log_excess, scale)
    return math.nan if interval is None else _zero_in_interval(log_excess, *interval)


def _interval_of_sign_change(
    log_excess: Callable[[float], float], scale: float
) -> tuple[float, float, float, float] | None:
    """Return two times between which a falling function passes 0 [s], and its values there; None
    if no such times are found from `scale` on.
    """
    shorter_time = scale
    longer_time = 2 * scale
    excess_below = log_excess(scale)
    excess_above = log_excess(2 * scale)
    for _ in range(MOST_STEPS):
        if excess_below >= 0 >= excess_above:
            return shorter_time, longer_time, excess_below, excess_above
        if excess_below < 0:
            shorter_time, longer_time, excess_below, excess_above = (
                shorter_time / 2,
                shorter_time,
                log_excess(shorter_time / 2),
                excess_below,
            )
        else:
            shorter_time, longer_time, excess_below, excess_above = (
                longer_time,
                2 * longer_time,
                excess_above,
                log_excess(2 * longer_time),
            )
    return None


def _zero_in_interval(
    log_excess: Callable[[float], float],
    shorter_time: float,
    longer_time: float,
    excess_below: float,
    excess_above: float,
) -> float:
    """Return the time at which a falling function is 0, between two times where its values are
    `excess_below` and `excess_above` [s].
    """
    # Regula falsi that halves the value of an end that stays twice (Illinois): the logarithm is
    # nearly a straight line.
    time = longer_time
    last_side = 0
    for _ in range(MOST_STEPS):
        time = (shorter_time * excess_above - longer_time * excess_below) / (
            excess_above - excess_below
        )
        excess_at_time = log_excess(time)
        # The excess is a logarithm: 1e-8 is a relative error of 1e-8 of the probability.
        if abs(excess_at_time) < 1e-8 or longer_time - shorter_time < 1e-12 * longer_time:
            break
        if excess_at_time > 0:
            shorter_time = time
            excess_below = excess_at_time
            excess_above = excess_above / 2 if last_side > 0 else excess_above
            last_side = 1
        else:
            longer_time = time
            excess_above = excess_at_time
            excess_below = excess_below / 2 if last_side < 0 else excess_below
            last_side = -1
    return time


def approximate_path(visits: Sequence[tuple[float, Transform]]) -> Transform:
    """Return the transform of the time of several visits that are taken as independent, which is
    exact without overtaking only.

    Error: `slipstick.method.networks.form.QUANTILE_ERRORS`, measured by benchmarks/quantiles.py.
    Source: Walrand and Varaiya, Adv. Applied Probability 12(4), 1980 (independence without
    overtaking).

    Parameters
    ----------
    visits : of each station the probability that it is visited, and the transform of one visit's
        time
    """

    def transform(s: Array) -> Array:
        """Return the transform of the whole time, a product over the visits."""
        path_transform = np.ones_like(s)
        for visit_probability, visit_transform in visits:
            path_transform = path_transform * (
                1 - visit_probability + visit_probability * visit_transform(s)
            )
        return path_transform

    return transform


def two_moments(mean: float, scv: float) -> Transform:
    """Return the transform of a time with a given mean and scv: a gamma time up to scv 1, above it
    a hyperexponential one with balanced means.
    """
    if scv <= 1:
        # Gamma has no scv of 0; one of 1e-6 deviates by 0.1 % of its mean.
        shape = max(scv, 1e-6)
        return lambda s: np.asarray((1 + s * mean * shape) ** (-1 / shape))
    short_probability = balanced_means(scv)
    return lambda s: np.asarray(
        short_probability / (1 + s * mean / (2 * short_probability))
        + (1 - short_probability) / (1 + s * mean / (2 * (1 - short_probability)))
    )


def visit_shared(service_time: float, waiting_time: float) -> Transform:
    r"""Return an approximation, by two moments, of the transform of the time of one visit to a
    station that shares its servers among exponential services.

    Of one server, T has the scv :math:`1 + 2 \rho / (2 - \rho)`. Of several, \rho is taken as the
    part of the time that is beyond the service, as it is of one.

    Parameters
    ----------
    service_time, waiting_time : means of one visit, and of what it takes longer than alone [s]

    Source: Coffman, Muntz and Trotter, J. ACM 17(1), 1970, 123-130.
    """
    waiting_share = waiting_time / (service_time + waiting_time)
    return two_moments(service_time + waiting_time, 1 + 2 * waiting_share / (2 - waiting_share))
