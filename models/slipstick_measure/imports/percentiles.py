"""Percentiles of the response time in the networks that load tests give.

Tiers that share their servers: the Markov chain of one customer among the others. The customer
visits the tiers once each, in the order written, and then spends an exponential time
beside them; services are exponential and shared. On its arrival it finds the others as if it were
not there: in a closed network with one customer less (Lavenberg and Reiser, J. Applied Probability
17, 1980, 1048-1061), in an open one as the product of the tiers. From then on the others move, too,
so times at the tiers depend on one another; the chain holds how many others each tier has while the
customer is at one. It is solved by uniformization (Jensen, Skandinavisk Aktuarietidskrift 36, 1953,
87-91) and needs no simulation.

Assumption: what the others spend outside the tiers, thinking and beside them, is one exponential
time. In 60 closed networks of one and two tiers it changes percentiles by at most 0.5 %, beside
chains that hold both times (tests/measure/imports/test_percentiles.py).

One station in order of arrival: what an arriving customer waits for does not depend on later
arrivals, so the transform of its time is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import NamedTuple

from slipstick.late import Array, np
from slipstick.queueing.sojourn_times import Transform, quantile, two_moments


class Tier(NamedTuple):
    """A station that shares its servers.

    Parameters
    ----------
    demand : mean service time of a customer in its one visit [s]
    servers : number of servers
    """

    demand: float
    servers: int = 1

    def departure_rate(self, present_counts: Array) -> Array:
        """Return the rate at which one of the customers present departs [1/s]."""
        return (
            np.minimum(self.servers, present_counts) / np.maximum(present_counts, 1) / self.demand
        )


class Customers(NamedTuple):
    """The customers of a network: a population that thinks, or arrivals.

    Parameters
    ----------
    population : number of customers; 0 for arrivals from outside
    time_outside : mean time of each outside the tiers in a cycle, thinking included [s]
    arrival_rate : of arrivals from outside [1/s]
    """

    population: int = 0
    time_outside: float = 0.0
    arrival_rate: float = 0.0


UNLIKELY = 1e-8
"""Probability of more customers at a tier than the chain holds."""

MOST_STATES = 200_000
"""States of the others that a chain may have; each takes some 50 bytes for each tier."""

MOST_OPERATIONS = 60_000_000
"""States times steps of a chain; they take about 0.3 s."""

TIME_COUNT = 800
"""Times at which the probability of a longer response is computed."""


def response_percentile(
    tiers: Sequence[Tier], time_beside: float, customers: Customers, share: float
) -> float | None:
    """Return the time within which a share of the responses lies [s].

    Parameters
    ----------
    tiers : in the order of the visits
    time_beside : mean of the exponential time beside the tiers [s]
    customers : of the network
    share : of the responses, such as 0.95

    Returns
    -------
    float or None
        None if a tier is saturated by arrivals, or the chain is too large

    Examples
    --------
    A customer alone: 95 % of exponential times of mean 2 s are within 2 ln 20 s.

    >>> round(response_percentile([Tier(2.0)], 0.0, Customers(1, time_outside=1.0), 0.95), 3)
    5.991
    """
    utilizations = _utilization_of_tiers(tiers, customers)
    if not customers.population and max(utilizations) >= 1:
        return None
    state_counts = [
        _most_others(tier, utilization, customers) + 1
        for tier, utilization in zip(tiers, utilizations, strict=True)
    ]
    if prod(state_counts) > MOST_STATES:
        return None
    chain = _CustomerAmongOthers(tiers, state_counts, customers)
    presence_probabilities = chain.presence_probabilities(1 - share)
    if presence_probabilities is None:
        return None
    return _percentile(presence_probabilities, chain.step_rate, time_beside, share)


def percentile_in_order(
    station: Tier, scv: float, time_beside: float, customers: Customers, share: float
) -> float | None:
    r"""Return the time within which a share of the responses of one station in order of arrival
    lies [s].

    With arrivals at one server the waiting time has the transform
    :math:`(1 - \rho) s / (s - \lambda + \lambda B(s))`, where B is that of the services; else
    services are exponential, and an arriving customer waits for those that it finds.

    Parameters
    ----------
    station : with its demand as the mean service time
    scv : squared coefficient of variation of the services [1]
    time_beside : mean of the exponential time beside the station [s]
    customers : of the network
    share : of the responses, such as 0.95

    Returns
    -------
    float or None
        None if the station is saturated by arrivals, or the transform is not known

    Source: Kleinrock, Queueing Systems, volume 1, 1975, section 5.7.

    >>> answer = percentile_in_order(Tier(1.0), 1.0, 0.0, Customers(arrival_rate=0.8), 0.99)
    >>> round(answer, 4)  # M/M/1: log(100) / (1 - 0.8)
    23.0259
    """
    (utilization,) = _utilization_of_tiers([station], customers)
    if not customers.population and utilization >= 1:
        return None
    if scv != 1 and (customers.population or station.servers > 1 or not time_beside):
        return None
    service_transform = two_moments(station.demand, scv)
    if scv != 1:
        waiting_transform: Transform = _wait_for_one_server(
            service_transform, customers.arrival_rate, utilization
        )
    else:
        waiting_transform = _wait_in_order(
            station, customers, _most_others(station, utilization, customers)
        )

    def transform(argument: Array) -> Array:
        """Return the transform of the response time, whose parts are independent."""
        return np.asarray(
            waiting_transform(argument) * service_transform(argument) / (1 + argument * time_beside)
        )

    time_scale = (
        station.demand / (1 - utilization)
        if utilization < 1
        else station.demand * customers.population
    )
    return quantile(transform, share, time_scale + time_beside)


def _wait_for_one_server(service_transform: Transform, rate: float, load: float) -> Transform:
    """Return the transform of the wait of arrivals at one server, by Pollaczek and Khinchine."""
    return lambda argument: np.asarray(
        (1 - load) * argument / (argument - rate + rate * service_transform(argument))
    )


def _wait_in_order(station: Tier, customers: Customers, most_others: int) -> Transform:
    """Return the transform of the waiting time at a station with exponential services in order of
    arrival, from the customers that an arrival finds.
    """
    found_probabilities = _CustomerAmongOthers(
        [station], [most_others + 1], customers
    ).probabilities_on_arrival()
    awaited_departures = np.maximum(np.arange(most_others + 1) - station.servers + 1, 0)

    def transform(argument: Array) -> Array:
        """Return the transform of the waiting time at each argument."""
        departure_transform = 1 / (1 + argument * station.demand / station.servers)
        return np.asarray(found_probabilities @ departure_transform ** awaited_departures[:, None])

    return transform


def _utilization_of_tiers(tiers: Sequence[Tier], customers: Customers) -> list[float]:
    """Return the utilization of each tier; in a closed network, its asymptotic upper bound."""
    throughput_bound = customers.arrival_rate
    if customers.population:
        cycle_time = customers.time_outside + sum(tier.demand for tier in tiers)
        throughput_bound = min(
            customers.population / cycle_time,
            *(tier.servers / tier.demand for tier in tiers),
            np.inf,
        )
    return [throughput_bound * tier.demand / tier.servers for tier in tiers]


def _most_others(tier: Tier, utilization: float, customers: Customers) -> int:
    """Return the largest number of other customers at a tier that is not unlikely."""
    other_count = customers.population - 1
    if utilization >= 1:
        return other_count
    most_others = (
        tier.servers + int(np.ceil(np.log(UNLIKELY) / np.log(utilization)))
        if utilization > 0
        else 1
    )
    return min(other_count, most_others) if customers.population else most_others


class _CustomerAmongOthers:
    """The Markov chain of a customer among others: for the tier at which it is, the number of
    others at each tier.

    Parameters
    ----------
    tiers, customers : of the network
    state_counts : numbers of others at each tier that the chain holds, 0 included
    """

    def __init__(
        self, tiers: Sequence[Tier], state_counts: Sequence[int], customers: Customers
    ) -> None:
        self.tiers = tiers
        self.customers = customers
        self.other_counts = np.indices(state_counts).astype(float)
        self.outside_counts = customers.population - 1 - self.other_counts.sum(axis=0)
        arrival_rates = np.full(state_counts, customers.arrival_rate)
        if customers.population:
            time_outside = customers.time_outside
            arrival_rates = (
                np.maximum(self.outside_counts, 0) / time_outside
                if time_outside
                else np.zeros(state_counts)
            )
        self.arrival_rates = self._without_last_state(arrival_rates, 0)
        self.move_rates = [self._rates_of_moves(tier_index) for tier_index in range(len(tiers))]
        self.departure_rates = [
            tier.departure_rate(self.other_counts[tier_index] + 1)
            for tier_index, tier in enumerate(tiers)
        ]
        total_rates = [
            self.arrival_rates + sum(move_rates) + departure_rate
            for move_rates, departure_rate in zip(
                self.move_rates, self.departure_rates, strict=True
            )
        ]
        self.step_rate = max(float(rates.max()) for rates in total_rates)
        self.stay_probabilities = [1 - rates / self.step_rate for rates in total_rates]

    def _without_last_state(self, rates: Array, tier_index: int) -> Array:
        """Return rates of arrivals at a tier, with 0 in the states in which the chain holds no
        further customer there.
        """
        bounded_rates = rates.copy()
        bounded_rates[(slice(None),) * tier_index + (-1,)] = 0.0
        return bounded_rates

    def _rates_of_moves(self, customer_index: int) -> list[Array]:
        """Return, for each tier, the rates at which other customers leave it in each state, while
        the followed customer is at the tier `customer_index`.
        """
        rates_by_tier = []
        for tier_index, tier in enumerate(self.tiers):
            other_counts = self.other_counts[tier_index]
            rates_of_tier = other_counts * tier.departure_rate(
                other_counts + (tier_index == customer_index)
            )
            next_index = self._target_index(tier_index)
            rates_by_tier.append(
                rates_of_tier
                if next_index is None
                else self._without_last_state(rates_of_tier, next_index)
            )
        return rates_by_tier

    def _target_index(self, index: int) -> int | None:
        """Return the index of the tier to which the other customers go from a tier; None if they
        leave the tiers.
        """
        if index + 1 < len(self.tiers):
            return index + 1
        return 0 if self.customers.population and not self.customers.time_outside else None

    def probabilities_on_arrival(self) -> Array:
        """Return the probability that an arriving customer finds the other customers in each
        state.
        """
        log_weights = np.zeros(self.other_counts[0].shape)
        for tier_index, tier in enumerate(self.tiers):
            customer_counts = np.arange(1, self.other_counts.shape[tier_index + 1])
            weights = np.cumsum(np.log(tier.demand / np.minimum(customer_counts, tier.servers)))
            if not self.customers.population:
                weights = weights + customer_counts * np.log(self.customers.arrival_rate)
            log_weights += np.concatenate([[0.0], weights])[
                self.other_counts[tier_index].astype(int)
            ]
        if self.customers.population:
            log_weights += self._log_weights_outside()
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())

    def _log_weights_outside(self) -> Array:
        """Return, for each state, the logarithm of the weight of the others outside the tiers."""
        time_outside = self.customers.time_outside
        customer_counts = np.arange(1, self.customers.population)
        weights = (
            np.cumsum(np.log(time_outside / customer_counts))
            if time_outside
            else np.full(len(customer_counts), -np.inf)
        )
        weight_by_count = np.concatenate([[0.0], weights, [-np.inf]])
        return np.asarray(
            weight_by_count[np.where(self.outside_counts < 0, -1, self.outside_counts).astype(int)]
        )

    def presence_probabilities(self, least_probability: float) -> Array | None:
        """Return the probabilities that the customer is still at the tiers after each step, until
        they are far below `least_probability`; None if the chain is too large.
        """
        state_probabilities = [
            self.probabilities_on_arrival(),
            *(np.zeros_like(self.stay_probabilities[0]) for _ in self.tiers[1:]),
        ]
        presence_by_step = [1.0]
        operations_per_step = state_probabilities[0].size * len(state_probabilities) ** 2
        while presence_by_step[-1] > least_probability * 1e-4:
            if len(presence_by_step) * operations_per_step > MOST_OPERATIONS:
                return None
            state_probabilities = self._probabilities_after_step(state_probabilities)
            presence_by_step.append(
                float(sum(probabilities.sum() for probabilities in state_probabilities))
            )
        return np.array(presence_by_step)

    def _probabilities_after_step(self, state_probabilities: Sequence[Array]) -> list[Array]:
        """Return the probabilities of the states after one step of the chain, for each tier at
        which the customer may be.
        """
        new_probabilities = []
        for customer_index, probabilities in enumerate(state_probabilities):
            new_probabilities_at_tier = probabilities * self.stay_probabilities[customer_index]
            if customer_index:
                new_probabilities_at_tier += (
                    state_probabilities[customer_index - 1]
                    * self.departure_rates[customer_index - 1]
                    / self.step_rate
                )
            _add_moved_probabilities(
                new_probabilities_at_tier,
                probabilities * self.arrival_rates / self.step_rate,
                None,
                0,
            )
            for tier_index, rates in enumerate(self.move_rates[customer_index]):
                _add_moved_probabilities(
                    new_probabilities_at_tier,
                    probabilities * rates / self.step_rate,
                    tier_index,
                    self._target_index(tier_index),
                )
            new_probabilities.append(new_probabilities_at_tier)
        return new_probabilities


def _add_moved_probabilities(
    new_probabilities: Array, probabilities: Array, source: int | None, target: int | None
) -> None:
    """Add probabilities to the states in which a customer has gone from a tier to another; None is
    outside.
    """
    if source == target:
        new_probabilities += probabilities
        return
    source_slices = [slice(None)] * probabilities.ndim
    target_slices = [slice(None)] * probabilities.ndim
    if source is not None:
        source_slices[source], target_slices[source] = slice(1, None), slice(None, -1)
    if target is not None:
        source_slices[target], target_slices[target] = slice(None, -1), slice(1, None)
    new_probabilities[tuple(target_slices)] += probabilities[tuple(source_slices)]


def _percentile(
    presence_by_step: Array, step_rate: float, time_beside: float, share: float
) -> float:
    """Return the time within which a share of the responses lies [s], from the probabilities that
    the customer is still at the tiers after each step.
    """
    longest_time = len(presence_by_step) / step_rate + time_beside * float(
        np.log(1e4 / (1 - share))
    )
    while True:
        times = np.linspace(0.0, longest_time, TIME_COUNT)
        tail_probabilities = _presence_at_times(presence_by_step, step_rate, times)
        if time_beside:
            tail_probabilities = _tail_of_sum_with_exponential(
                tail_probabilities, times, time_beside
            )
        index = int(np.argmax(tail_probabilities <= 1 - share))
        if index > TIME_COUNT // 4:
            break
        # Without an index no time is long enough: a few steps may take longer than their mean.
        longest_time = float(times[max(2 * index, 4)]) if index else 2 * longest_time
    interpolation_weight = (tail_probabilities[index - 1] - (1 - share)) / (
        tail_probabilities[index - 1] - tail_probabilities[index]
    )
    return float(times[index - 1] + interpolation_weight * (times[index] - times[index - 1]))


def _presence_at_times(presence_by_step: Array, step_rate: float, times: Array) -> Array:
    """Return the probability that the customer is still at the tiers at each time, from that after
    each step; the number of steps until a time has a Poisson distribution.
    """
    steps = np.arange(len(presence_by_step))
    logs_of_factorials = np.concatenate([[0.0], np.cumsum(np.log(steps[1:]))])
    mean_steps = np.maximum(step_rate * times, 1e-300)[:, None]
    return np.asarray(
        np.exp(steps * np.log(mean_steps) - mean_steps - logs_of_factorials) @ presence_by_step
    )


def _tail_of_sum_with_exponential(tail: Array, times: Array, exponential_mean: float) -> Array:
    """Return, at each time, the probability that the sum of a time and an independent exponential
    one is longer. The tail of the first time is taken as linear between the equally spaced times.
    """
    relative_step = times[1] / exponential_mean
    decay = float(np.exp(-relative_step))
    mean_weight = (1 - decay) / relative_step

    def next_tail(tail_before: float, tail_at_ends: tuple[float, float]) -> float:
        """Return the tail of the sum at the end of a step, from that at its start."""
        tail_at_start, tail_at_end = tail_at_ends
        return float(
            tail_before * decay
            + tail_at_start * (mean_weight - decay)
            + tail_at_end * (1 - mean_weight)
        )

    return np.array(list(accumulate(pairwise(tail), next_tail, initial=1.0)))
