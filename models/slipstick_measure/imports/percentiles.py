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

    def departure_rate(self, present: Array) -> Array:
        """Return the rate at which one of the customers present departs [1/s]."""
        return np.minimum(self.servers, present) / np.maximum(present, 1) / self.demand


class Customers(NamedTuple):
    """The customers of a network: a population that thinks, or arrivals.

    Parameters
    ----------
    population : number of customers; 0 for arrivals from outside
    outside : mean time of each outside the tiers in a cycle, thinking included [s]
    rate : of arrivals from outside [1/s]
    """

    population: int = 0
    outside: float = 0.0
    rate: float = 0.0


UNLIKELY = 1e-8
"""Probability of more customers at a tier than the chain holds."""

MOST_STATES = 200_000
"""States of the others that a chain may have; each takes some 50 bytes for each tier."""

MOST_OPERATIONS = 60_000_000
"""States times steps of a chain; they take about 0.3 s."""

TIMES = 800
"""Times at which the probability of a longer response is computed."""


def response_percentile(
    tiers: Sequence[Tier], beside: float, customers: Customers, share: float
) -> float | None:
    """Return the time within which a share of the responses lies [s].

    Parameters
    ----------
    tiers : in the order of the visits
    beside : mean of the exponential time beside the tiers [s]
    customers : of the network
    share : of the responses, such as 0.95

    Returns
    -------
    float or None
        None if a tier is saturated by arrivals, or the chain is too large

    Examples
    --------
    A customer alone: 95 % of exponential times of mean 2 s are within 2 ln 20 s.

    >>> round(response_percentile([Tier(2.0)], 0.0, Customers(1, outside=1.0), 0.95), 3)
    5.991
    """
    loads = _loads(tiers, customers)
    if not customers.population and max(loads) >= 1:
        return None
    sizes = [
        _most_others(tier, load, customers) + 1 for tier, load in zip(tiers, loads, strict=True)
    ]
    if prod(sizes) > MOST_STATES:
        return None
    chain = _CustomerAmongOthers(tiers, sizes, customers)
    chances = chain.chances_of_presence(1 - share)
    if chances is None:
        return None
    return _percentile(chances, chain.step_rate, beside, share)


def percentile_in_order(
    station: Tier, scv: float, beside: float, customers: Customers, share: float
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
    beside : mean of the exponential time beside the station [s]
    customers : of the network
    share : of the responses, such as 0.95

    Returns
    -------
    float or None
        None if the station is saturated by arrivals, or the transform is not known

    Source: Kleinrock, Queueing Systems, volume 1, 1975, section 5.7.

    >>> answer = percentile_in_order(Tier(1.0), 1.0, 0.0, Customers(rate=0.8), 0.99)
    >>> round(answer, 4)  # M/M/1: log(100) / (1 - 0.8)
    23.0259
    """
    (load,) = _loads([station], customers)
    if not customers.population and load >= 1:
        return None
    if scv != 1 and (customers.population or station.servers > 1 or not beside):
        return None
    service = two_moments(station.demand, scv)
    if scv != 1:
        waiting: Transform = _wait_for_one_server(service, customers.rate, load)
    else:
        waiting = _wait_for_those_found(station, customers, _most_others(station, load, customers))

    def transform(s: Array) -> Array:
        return np.asarray(waiting(s) * service(s) / (1 + s * beside))

    scale = station.demand / (1 - load) if load < 1 else station.demand * customers.population
    return quantile(transform, share, scale + beside)


def _wait_for_one_server(service: Transform, rate: float, load: float) -> Transform:
    """Return the transform of the wait of arrivals at one server, by Pollaczek and Khinchine."""
    return lambda s: np.asarray((1 - load) * s / (s - rate + rate * service(s)))


def _wait_for_those_found(station: Tier, customers: Customers, most: int) -> Transform:
    """Return the transform of the wait for those that an arrival finds, with exponential
    services.
    """
    found = _CustomerAmongOthers([station], [most + 1], customers).found_on_arrival()
    departures = np.maximum(np.arange(most + 1) - station.servers + 1, 0)

    def transform(s: Array) -> Array:
        one = 1 / (1 + s * station.demand / station.servers)
        return np.asarray(found @ one ** departures[:, None])

    return transform


def _loads(tiers: Sequence[Tier], customers: Customers) -> list[float]:
    """Return the utilization of each tier, by the bounds of the asymptotes in a closed network."""
    rate = customers.rate
    if customers.population:
        cycle = customers.outside + sum(tier.demand for tier in tiers)
        rate = min(
            customers.population / cycle, *(tier.servers / tier.demand for tier in tiers), np.inf
        )
    return [rate * tier.demand / tier.servers for tier in tiers]


def _most_others(tier: Tier, load: float, customers: Customers) -> int:
    """Return the largest number of other customers at a tier that is not unlikely."""
    other_count = customers.population - 1
    if load >= 1:
        return other_count
    most = tier.servers + int(np.ceil(np.log(UNLIKELY) / np.log(load))) if load > 0 else 1
    return min(other_count, most) if customers.population else most


class _CustomerAmongOthers:
    """The Markov chain of a customer among others: for the tier at which it is, the number of
    others at each tier.

    Parameters
    ----------
    tiers, customers : of the network
    sizes : numbers of others at each tier that the chain holds, 0 included
    """

    def __init__(self, tiers: Sequence[Tier], sizes: Sequence[int], customers: Customers) -> None:
        self.tiers = tiers
        self.customers = customers
        self.others = np.indices(sizes).astype(float)
        self.elsewhere = customers.population - 1 - self.others.sum(axis=0)
        arrivals = np.full(sizes, customers.rate)
        if customers.population:
            outside = customers.outside
            arrivals = np.maximum(self.elsewhere, 0) / outside if outside else np.zeros(sizes)
        self.arrivals = self._within(arrivals, 0)
        self.moves = [self._moves_beside(place) for place in range(len(tiers))]
        self.ends = [
            tier.departure_rate(self.others[place] + 1) for place, tier in enumerate(tiers)
        ]
        totals = [
            self.arrivals + sum(moves) + end
            for moves, end in zip(self.moves, self.ends, strict=True)
        ]
        self.step_rate = max(float(total.max()) for total in totals)
        self.stays = [1 - total / self.step_rate for total in totals]

    def _within(self, rates: Array, place: int) -> Array:
        """Return rates of arrivals at a tier, 0 where the chain holds no further customer."""
        kept = rates.copy()
        kept[(slice(None),) * place + (-1,)] = 0.0
        return kept

    def _moves_beside(self, place: int) -> list[Array]:
        """Return the rates at which others leave each tier while the customer is at one of them."""
        rates = []
        for index, tier in enumerate(self.tiers):
            others = self.others[index]
            rate = others * tier.departure_rate(others + (index == place))
            target = self._target(index)
            rates.append(rate if target is None else self._within(rate, target))
        return rates

    def _target(self, index: int) -> int | None:
        """Return the tier to which others go from a tier; None for those that leave the tiers."""
        if index + 1 < len(self.tiers):
            return index + 1
        return 0 if self.customers.population and not self.customers.outside else None

    def found_on_arrival(self) -> Array:
        """Return the probabilities of what an arriving customer finds at the tiers."""
        logs = np.zeros(self.others[0].shape)
        for place, tier in enumerate(self.tiers):
            count = np.arange(1, self.others.shape[place + 1])
            weights = np.cumsum(np.log(tier.demand / np.minimum(count, tier.servers)))
            if not self.customers.population:
                weights = weights + count * np.log(self.customers.rate)
            logs += np.concatenate([[0.0], weights])[self.others[place].astype(int)]
        if self.customers.population:
            logs += self._logs_of_others_outside()
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def _logs_of_others_outside(self) -> Array:
        """Return logarithms of the weights of the others that are outside the tiers."""
        outside = self.customers.outside
        count = np.arange(1, self.customers.population)
        weights = np.cumsum(np.log(outside / count)) if outside else np.full(len(count), -np.inf)
        by_count = np.concatenate([[0.0], weights, [-np.inf]])
        return np.asarray(by_count[np.where(self.elsewhere < 0, -1, self.elsewhere).astype(int)])

    def chances_of_presence(self, least: float) -> Array | None:
        """Return the probabilities that the customer is still at the tiers after each step, until
        they are far below `least`; None if the chain is too large.
        """
        states = [self.found_on_arrival(), *(np.zeros_like(self.stays[0]) for _ in self.tiers[1:])]
        chances = [1.0]
        operations = states[0].size * len(states) ** 2
        while chances[-1] > least * 1e-4:
            if len(chances) * operations > MOST_OPERATIONS:
                return None
            states = self._after_step(states)
            chances.append(float(sum(state.sum() for state in states)))
        return np.array(chances)

    def _after_step(self, states: Sequence[Array]) -> list[Array]:
        """Return the probabilities of the states after one step."""
        after = []
        for place, state in enumerate(states):
            new_state = state * self.stays[place]
            if place:
                new_state += states[place - 1] * self.ends[place - 1] / self.step_rate
            _move(new_state, state * self.arrivals / self.step_rate, None, 0)
            for index, rates in enumerate(self.moves[place]):
                _move(new_state, state * rates / self.step_rate, index, self._target(index))
            after.append(new_state)
        return after


def _move(after: Array, amounts: Array, source: int | None, target: int | None) -> None:
    """Add probabilities to the states in which a customer has gone from a tier to another; None is
    outside.
    """
    if source == target:
        after += amounts
        return
    taken = [slice(None)] * amounts.ndim
    given = [slice(None)] * amounts.ndim
    if source is not None:
        taken[source], given[source] = slice(1, None), slice(None, -1)
    if target is not None:
        taken[target], given[target] = slice(None, -1), slice(1, None)
    after[tuple(given)] += amounts[tuple(taken)]


def _percentile(chances: Array, step_rate: float, beside: float, share: float) -> float:
    """Return the time at which a share of the responses is over [s]."""
    longest = len(chances) / step_rate + beside * float(np.log(1e4 / (1 - share)))
    while True:
        times = np.linspace(0.0, longest, TIMES)
        longer = _chances_beyond(chances, step_rate, times)
        if beside:
            longer = _tail_of_sum_with_exponential(longer, times, beside)
        index = int(np.argmax(longer <= 1 - share))
        if index > TIMES // 4:
            break
        # Without an index no time is long enough: a few steps may take longer than their mean.
        longest = float(times[max(2 * index, 4)]) if index else 2 * longest
    fraction = (longer[index - 1] - (1 - share)) / (longer[index - 1] - longer[index])
    return float(times[index - 1] + fraction * (times[index] - times[index - 1]))


def _chances_beyond(chances: Array, step_rate: float, times: Array) -> Array:
    """Return the probability that the customer is at the tiers at each time: the steps until then
    have a Poisson distribution.
    """
    steps = np.arange(len(chances))
    logs_of_factorials = np.concatenate([[0.0], np.cumsum(np.log(steps[1:]))])
    means = np.maximum(step_rate * times, 1e-300)[:, None]
    return np.asarray(np.exp(steps * np.log(means) - means - logs_of_factorials) @ chances)


def _tail_of_sum_with_exponential(tail: Array, times: Array, exponential_mean: float) -> Array:
    """Return, at each time, the probability that the sum of a time and an independent exponential
    one is longer. The tail of the first time is taken as linear between the equally spaced times.
    """
    relative_step = times[1] / exponential_mean
    decay = float(np.exp(-relative_step))
    mean_weight = (1 - decay) / relative_step

    def next_tail(tail_before: float, tail_at_ends: tuple[float, float]) -> float:
        low, high = tail_at_ends
        return float(tail_before * decay + low * (mean_weight - decay) + high * (1 - mean_weight))

    return np.array(list(accumulate(pairwise(tail), next_tail, initial=1.0)))
