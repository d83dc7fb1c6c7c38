"""Residual services and the probability that all servers of a station are busy: the rules of
approximate waits.

An arriving customer that finds all c servers of a first-come station busy waits for the next end of
a service: with residual times R of the services in progress, for R / c. R is `residual_time` for
arrivals at random moments, and `finite_source_residual` where a long service keeps those away that
would find it. Exact and approximate methods differ in the probability P(all busy) that they can
know. Three rules, kept together:

- `erlang_c`: Poisson arrivals, exponential services; exact. Used for open populations.
- `finite_source_all_busy`: n customers that spend the rest of their cycle in a delay; exact for the
  M/M/c//n station. Used by the mean-value recursion over one closed population, which knows how
  much of a cycle is spent elsewhere.
- `all_busy_by_load`: a power of the utilization (Sakasegawa). Used for networks of several classes,
  where customers of different cycles are at one station, and a rule that reads the mean numbers
  alone is needed.

At an M/M/c//n station (c 2 to 8, n up to 32, utilization 0.2 to 0.98) the mean wait by the second
rule is exact, and the third errs by up to 4.1 % of the cycle, 0.8 % in the median
(tests/queueing/test_residual_wait.py). It is kept because the second needs one cycle for all
customers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from slipstick.late import NDArray, np
from slipstick.phases import (
    balanced_means,
)
from slipstick.random_times import (
    sum_of_columns,
)

Array = NDArray[Any]


def residual_time(service: Array, scv: Array | float) -> Array:
    """Return the mean time left of a service in progress at a random moment, E S^2 / (2 E S) [s].

    Source: Kleinrock, Queueing Systems I, Wiley 1975, section 5.2 (renewal theory).

    >>> residual_time(np.array([2.0, 2.0, 2.0]), np.array([0.0, 1.0, 3.0])).tolist()
    [1.0, 2.0, 4.0]
    """
    residual_service: Array = service * (1 + scv) / 2
    return residual_service


MOST_SOURCES = 256
"""Customers that `finite_source_residual` counts; more are taken as this number, each of which
brings a larger part of the same load.

Chosen here for speed: with 1000 customers of scv 4 the wait errs by up to 6 %, at a load of 0.95,
and the time by 0.15 %."""


ServiceKind = tuple[Array | float, Array, Array]
"""A kind of service: its part of all services, its mean and its squared coefficient of variation
[1, s, 1]."""


def finite_source_residual(
    customers: int, elsewhere: Array, services: Sequence[ServiceKind]
) -> Array:
    """Return the residual service with which the arrival theorem gives the mean wait at one server
    exactly [s].

    Of n customers, each is away for a mean time Z between visits. With S the mean service, a
    mixture of some kinds, and L its transform, b_n = sum over k = 1..n-1 of C(n-1, k) prod over i =
    1..k of (1 - L(i/Z)) / L(i/Z), the mean cycle is T_n = n S + Z / (1 + b_n). The recursion W = (q
    - u) S + u R over n - 1 customers gives that time if::

        R = Z + S - Z T_{n-1} b_n / ((n - 1) S (1 + b_n))

    It falls from (1 + scv) S / 2 at a light load to S at saturation: while a long service lasts,
    most customers have come already. The second equation is derived here. A service of an scv above
    1 is hyperexponential with balanced means, one below has the transform of a gamma time.

    Source: Takacs, Introduction to the Theory of Queues, Oxford 1962, chapter 5 (machine repair
    with general services).

    Parameters
    ----------
    customers : n, above 1
    elsewhere : Z, above 0 [s]
    services : kinds of services, whose parts add to 1

    >>> light, heavy = (
    ...     float(finite_source_residual(2, np.array([z]), [(1.0, np.ones(1), np.full(1, 4.0))])[0])
    ...     for z in (1e6, 1e-6)
    ... )
    >>> round(light, 3), round(heavy, 3)
    (2.5, 1.0)
    """
    # The same load from fewer customers: the error is that of `MOST_SOURCES`.
    if customers > MOST_SOURCES:
        elsewhere = elsewhere * (MOST_SOURCES / customers)
        customers = MOST_SOURCES
    transform_arguments = np.arange(1, customers) / elsewhere[..., None]
    service: Array = np.zeros(1)
    transform: Array = np.zeros(1)
    for share, mean, scv in services:
        service = service + share * mean
        transform = transform + np.asarray(share)[..., None] * _transform_of_service(
            mean, scv, transform_arguments
        )
    # The transform of a long service underflows at high rates, and its logarithm is taken below.
    transform = np.where(transform.real > _LEAST_TRANSFORM, transform, _LEAST_TRANSFORM)
    # The products of b_n are sums of logarithms: their factors differ by hundreds of orders of
    # magnitude near saturation.
    log_products = np.cumsum(np.log((1.0 - transform) / transform), axis=-1)
    binomial_sum, binomial_sum_of_fewer = (
        _binomial_sum(count, log_products[..., :count]) for count in (customers - 1, customers - 2)
    )
    cycle = (customers - 1) * service + elsewhere / (1.0 + binomial_sum_of_fewer)
    residual_service: Array = (
        elsewhere
        + service
        - elsewhere * cycle * binomial_sum / ((customers - 1) * service * (1.0 + binomial_sum))
    )
    return residual_service


# Far above the smallest double, so that (1 - transform) / transform and its logarithm stay finite.
_LEAST_TRANSFORM = 1e-200


def _transform_of_service(mean: Array, scv: Array, rates: Array) -> Array:
    """Return the Laplace transform of a service time at some rates [..., rates]."""
    rate_times_mean = rates * mean[..., None]
    scv_by_rate = scv[..., None]
    is_gamma = scv_by_rate.real < 1
    # Two moments do not fix a distribution. These are the ones that the simulation draws of the
    # same mean and scv, so that both answer for one model. Logarithms and powers of complex numbers
    # take most of the time of a solution, so only the distributions that occur are computed.
    if is_gamma.all():
        return _transform_of_gamma_time(rate_times_mean, scv_by_rate)
    short_probability = balanced_means(np.where(is_gamma, 1.0, scv_by_rate))
    hyperexponential = sum_of_columns(
        probability / (1.0 + rate_times_mean / (2.0 * probability))
        for probability in (short_probability, 1.0 - short_probability)
    )
    if not is_gamma.any():
        return hyperexponential
    gamma = _transform_of_gamma_time(rate_times_mean, np.where(is_gamma, scv_by_rate, 1.0))
    return np.where(is_gamma, gamma, hyperexponential)


def _transform_of_gamma_time(rate_times_mean: Array, scv: Array) -> Array:
    """Return the Laplace transform of gamma times of an scv up to 1, at rates times their means.

    Towards an scv of 0 it is that of a constant, exp(-s S), without a division by the scv.
    """
    is_random = scv.real > _CONSTANT_SCV
    random_scv = np.where(is_random, scv, 1.0)
    exponent = np.where(
        is_random, np.log(1.0 + random_scv * rate_times_mean) / random_scv, rate_times_mean
    )
    transform: Array = np.exp(-exponent)
    return transform


_CONSTANT_SCV = 1e-6
"""The scv up to which a service is taken as constant [1]."""


def _binomial_sum(count: int, log_products: Array) -> Array:
    """Return the sum of C(count, k) exp(log_products[k]) over k = 1..count, with the binomial
    coefficients C.
    """
    k = np.arange(1, count + 1)
    log_terms = log_products + np.cumsum(np.log((count - k + 1) / k))
    # A sum beyond `MOST_LOG` makes 1 / (1 + b) zero in double precision; the limit only avoids an
    # overflow.
    sum_of_terms: Array = np.exp(np.where(log_terms.real < MOST_LOG, log_terms, MOST_LOG)).sum(
        axis=-1
    )
    return sum_of_terms


MOST_LOG = 600.0
"""Largest logarithm whose exponential is taken; a sum as large as exp(600) means a server that
is never idle.
"""


def erlang_b(offered_load: Array, servers: int) -> Array:
    """Return the probability that all servers are busy in a loss system, by Erlang's recursion.

    Source: Erlang, Elektroteknikeren 13, 1917.

    Parameters
    ----------
    offered_load : offered load [erlang]
    servers : c

    >>> erlang_b(np.array([1.0]), 2).tolist()
    [0.2]
    """
    # B(c) = a B(c - 1) / (c + a B(c - 1)) is stable for any load; the factorials of the closed form
    # overflow from about 170 servers on.
    loss_probability = np.ones(1)
    if offered_load.size == 1:  # in numbers of Python, which are ten times as fast
        load = offered_load.item()
        loss_share = 1.0
        server_number = 0
        while server_number < servers and loss_share != 0:
            server_number += 1
            loss_share = load * loss_share / (server_number + load * loss_share)
        return np.full(offered_load.shape, loss_share)
    for server_number in range(1, servers + 1):
        loss_probability = (
            offered_load * loss_probability / (server_number + offered_load * loss_probability)
        )
        if not loss_probability.any():  # of a delay, whose servers are not to be counted
            break
    return loss_probability


def erlang_c(offered_load: Array, servers: int) -> Array:
    """Return the probability that all servers are busy with Poisson arrivals.

    Source: Erlang, Elektroteknikeren 13, 1917.

    Parameters
    ----------
    offered_load : offered load, below `servers` [erlang]
    servers : c

    >>> erlang_c(np.array([0.5, 1.0]), 1).tolist(), round(float(erlang_c(np.ones(1), 2)[0]), 6)
    ([0.5, 1.0], 0.333333)
    """
    loss_probability = erlang_b(offered_load, servers)
    waiting_probability: Array = loss_probability / (
        1 - offered_load / servers * (1 - loss_probability)
    )
    return waiting_probability


_MOST_CUSTOMERS_WITH_ALL_WEIGHTS = 10_000
"""Number of customers up to which the weights of all numbers present are added up; with more
customers, only those near the largest weight are.
"""


def _half_width(customers_elsewhere: Array | int) -> Array:
    """Return a bound on the distance, in customers, from the largest weight to the weights below
    exp(-72) of it, where `customers_elsewhere` customers are elsewhere at the largest weight.

    The logarithms of the weights are concave, by 1 / `customers_elsewhere` at least.
    """
    half_width: Array = 12 * np.sqrt(np.maximum(customers_elsewhere, 0)) + 24
    return half_width


def finite_source_all_busy(ratio: Array, customers: int, servers: int) -> Array:
    """Return the probability that all servers are busy with n customers, each of which spends its
    time elsewhere in a delay.

    j customers are present with weight n! / (n - j)! r^j / prod over i = 1..j of min(i, c), where r
    is the service of a cycle over the time spent elsewhere.

    Source: Gross and Harris, Fundamentals of Queueing Theory, 2nd ed., Wiley 1985, finite-source
    queues.

    Parameters
    ----------
    ratio : r, above 0 [1]
    customers : n
    servers : c

    >>> round(float(finite_source_all_busy(np.ones(1), 2, 1)[0]), 6)
    0.8
    """
    if customers <= _MOST_CUSTOMERS_WITH_ALL_WEIGHTS:
        ratios = ratio[..., None] / np.minimum(np.arange(1, customers + 1), servers)
        all_busy_probability: Array = finite_source_numbers(ratios)[..., servers:].sum(axis=-1)
        return all_busy_probability
    # Points that differ in derivatives alone, which the complex step carries, have the same
    # weights.
    ratio_of_point = (
        np.unique(ratio.real) if (ratio.real == ratio.real.flat[0]).all() else ratio.real
    )
    # The largest weight is where as many come as leave: with all servers busy n - j = c / r, else j
    # = r (n - j).
    likeliest_number = np.maximum(
        customers + 1 - servers / ratio_of_point,
        np.minimum(ratio_of_point / (1 + ratio_of_point) * (customers + 1), servers),
    )
    # With a server free at the largest weight, weights fall by `factor` at least from the number of
    # servers on. It is clipped, so that its logarithm is finite and below 0.
    weight_factor = np.clip(ratio_of_point * (customers - servers) / servers, 1e-300, 1 - 1e-9)
    width_with_free_server = (
        servers - likeliest_number + _half_width(servers) - 72 / np.log(weight_factor)
    )
    half_width = min(
        int(np.minimum(_half_width(customers - likeliest_number), width_with_free_server).max()),
        customers // 2,
    )
    first_number = np.clip(np.floor(likeliest_number) - half_width, 0, customers - 2 * half_width)[
        ..., None
    ]
    j = first_number + np.arange(2 * half_width + 1)
    log_ratios = np.log(ratio_of_point)[..., None] + np.log(
        (customers - j[..., 1:] + 1) / np.minimum(j[..., 1:], servers)
    )
    log_weights = np.concatenate(
        [np.zeros((*ratio_of_point.shape, 1)), np.cumsum(log_ratios, axis=-1)], axis=-1
    )
    # Relative to the largest weight nothing overflows, and what underflows is below rounding.
    weights = np.exp(log_weights - np.max(log_weights, axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    busy_weights = np.where(j >= servers, weights, 0)
    busy_probability: Array = busy_weights.sum(axis=-1) + np.zeros(ratio.shape)
    if np.iscomplexobj(ratio):  # j / r of the weight of j is its derivative by r
        slope = (j * busy_weights).sum(axis=-1) - busy_weights.sum(axis=-1) * (j * weights).sum(
            axis=-1
        )
        busy_probability = busy_probability + 1j * slope * ratio.imag / ratio_of_point
    return busy_probability


def finite_source_numbers(ratios: Array) -> Array:
    """Return the probabilities of 0, ..., n customers present, out of n that spend their time
    elsewhere in a delay.

    Parameters
    ----------
    ratios : for 1, ..., n customers present, 1 divided by the number of departures in the time that
        one customer spends elsewhere, above 0 [1] [..., n]

    >>> finite_source_numbers(np.array([1.0, 0.5])).tolist()
    [0.25, 0.5, 0.25]
    """
    log_ratios = np.log(ratios) + np.log(np.arange(ratios.shape[-1], 0, -1))
    log_weights = np.concatenate(
        [np.zeros((*log_ratios.shape[:-1], 1)), np.cumsum(log_ratios, axis=-1)], axis=-1
    )
    return _normalized(log_weights)


def _normalized(log_weights: Array) -> Array:
    """Return weights, given as logarithms, divided by their sum along the last axis [1]."""
    weights = np.exp(log_weights - np.max(log_weights.real, axis=-1, keepdims=True))
    probabilities: Array = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities


def finite_source_numbers_up_to_servers(ratios: Array, customers: int) -> Array:
    """Return the probabilities of 0, ..., c - 1 and of c or more customers present, for a station
    whose departures with more than c present are as fast as with c.

    Parameters
    ----------
    ratios : as for `finite_source_numbers`, of 1, ..., c present [1] [..., c]
    customers : n, at least c

    >>> finite_source_numbers_up_to_servers(np.array([1.0]), 2).tolist()
    [0.2, 0.8]
    """
    servers = ratios.shape[-1]
    last_ratio = ratios[..., -1:]
    likeliest_number = np.maximum(customers - 1 / last_ratio.real, servers)
    half_width = int(_half_width(customers - likeliest_number).max())
    if customers <= max(_MOST_CUSTOMERS_WITH_ALL_WEIGHTS, servers + 2 * half_width):
        ratios_beyond = np.broadcast_to(last_ratio, (*ratios.shape[:-1], customers - servers))
        probabilities = finite_source_numbers(np.concatenate([ratios, ratios_beyond], axis=-1))
    else:
        # As for `finite_source_all_busy`; the terms between c and the first that is added up are
        # skipped by factorials.
        log_weights = np.cumsum(np.log(ratios) + np.log(customers - np.arange(servers)), axis=-1)
        first_number = np.clip(
            np.floor(likeliest_number) - half_width, servers, customers - 2 * half_width
        )
        log_skipped = math.lgamma(customers - servers + 1) - np.vectorize(math.lgamma)(
            customers - first_number + 1
        )
        log_ratios = np.log(last_ratio) + np.log(
            customers - first_number - np.arange(2 * half_width)
        )
        first_log = (
            log_weights[..., -1:] + (first_number - servers) * np.log(last_ratio) + log_skipped
        )
        zeros = np.zeros((*log_ratios.shape[:-1], 1))
        log_weights = np.concatenate(
            [zeros, log_weights[..., :-1], first_log, first_log + np.cumsum(log_ratios, axis=-1)],
            axis=-1,
        )
        probabilities = _normalized(log_weights)
    return np.concatenate(
        [probabilities[..., :servers], probabilities[..., servers:].sum(axis=-1, keepdims=True)],
        axis=-1,
    )


def all_busy_by_load(mean_busy: Array, servers: int, other_customers: Array) -> Array:
    """Estimate the probability that all servers are busy as (busy / c)^(sqrt(2 (c + 1)) - 1).

    Exact for one server. At M/M/c it is up to 0.051 too large, most where a long wait is unlikely,
    and the mean time from arrival to departure is up to 2.6 % too long (c from 2 to 32, utilization
    0.1 to 0.98; tests/queueing/test_residual_wait.py).

    Source: Sakasegawa, Ann. Inst. Statistical Mathematics 29, 1977, 67-75.

    Parameters
    ----------
    mean_busy : mean number in service [1]
    servers : c
    other_customers : customers besides the one that arrives, infinite with open classes; fewer than
        c never make all servers busy [1]

    >>> round(float(all_busy_by_load(np.array([1.6]), 2, np.array([9.0]))[0]), 4)
    0.7237
    """
    load = mean_busy / servers
    load_in_range = np.where(load.real <= 0, 0, np.where(load.real < 1, load, 1))
    # With fewer other customers than servers an arriving one always finds a free server.
    busy_probability: Array = np.where(
        other_customers >= servers, load_in_range ** (np.sqrt(2 * (servers + 1)) - 1), 0
    )
    return busy_probability
