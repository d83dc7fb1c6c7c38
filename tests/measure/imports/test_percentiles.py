"""Percentiles of the networks of load tests, beside chains of all states and beside formulas."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from slipstick_measure.imports.percentiles import (
    Customers,
    Tier,
    percentile_in_order,
    response_percentile,
)

State = tuple[int, tuple[int, ...]]


def states_of(places: int, population: int) -> Iterator[State]:
    """Yield where the customer is, and how many others are at each place."""
    for others in itertools.product(range(population), repeat=places):
        if sum(others) < population:
            yield from ((position, others) for position in range(places))


def moved(others: Sequence[int], source: int | None, target: int | None) -> tuple[int, ...]:
    counts = list(others)
    if source is not None:
        counts[source] -= 1
    if target is not None:
        counts[target] += 1
    return tuple(counts)


def percentile_of_all_states(
    tiers: Sequence[Tier], beside: float, think: float, population: int, share: float
) -> float:
    """Return a percentile from the generator of all states, with the time of others beside."""
    places = len(tiers) + (beside > 0)
    states = list(states_of(places, population))
    index = {state: number for number, state in enumerate(states)}
    generator = np.zeros((len(states) + 1, len(states) + 1))

    def add(source: State, target: State | None, rate: float) -> None:
        generator[index[source], -1 if target is None else index[target]] += rate
        generator[index[source], index[source]] -= rate

    def rate_of_one(place: int, present: int) -> float:
        if place == len(tiers):
            return 1 / beside
        return min(tiers[place].servers, present) / present / tiers[place].demand

    for position, others in states:
        state = (position, others)
        thinking = population - 1 - sum(others)
        if thinking and think:
            add(state, (position, moved(others, None, 0)), thinking / think)
        for place, count in enumerate(others):
            behind = place + 1 if place + 1 < places else None if think else 0
            if count:
                rate = count * rate_of_one(place, count + (place == position))
                add(state, (position, moved(others, place, behind)), rate)
        behind = position + 1 if position + 1 < places else None
        target = None if behind is None else (behind, others)
        add(state, target, rate_of_one(position, others[position] + 1))
    start = np.zeros(len(states) + 1)
    for position, others in states:
        thinking = population - 1 - sum(others)
        if position == 0 and (think or not thinking):
            start[index[position, others]] = (
                think**thinking
                / math.factorial(thinking)
                * math.prod(
                    math.prod(1 / rate_of_one(place, k) / k for k in range(1, count + 1))
                    for place, count in enumerate(others)
                )
            )
    start /= start.sum()
    time, step = 0.0, 0.02 * sum(tier.demand for tier in tiers)
    transition = _exponential(generator * step)
    left, before = 1.0, 1.0
    while left > 1 - share:
        before, start = left, start @ transition
        left, time = float(1 - start[-1]), time + step
    fraction = math.log(before / (1 - share)) / math.log(before / left)
    return time - step + fraction * step


def _exponential(matrix: np.ndarray) -> np.ndarray:
    """Return the exponential of a matrix by its series, halved and squared."""
    halvings = max(0, math.ceil(math.log2(abs(matrix).sum(axis=1).max()))) + 4
    scaled = matrix / 2**halvings
    term, total = np.eye(len(matrix)), np.eye(len(matrix))
    for order in range(1, 12):
        term = term @ scaled / order
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


ClosedNetwork = tuple[list[Tier], float, float, int, float]
"""Its tiers, the time beside them, the think time, the population, and a share of responses."""


def networks(seed: int, count: int, with_beside: bool) -> Iterator[ClosedNetwork]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        tiers = [
            Tier(float(np.exp(random.normal())), int(random.integers(1, 4)))
            for _ in range(random.integers(1, 3))
        ]
        population = int(random.integers(2, 7 if len(tiers) == 1 else 5))
        beside = float(np.exp(random.normal(0, 1.5))) if with_beside else 0.0
        think = float(np.exp(random.normal(1, 1.5))) * (random.random() > 0.2)
        yield tiers, beside, think, population, float(random.choice([0.5, 0.9, 0.95, 0.99]))


def test_percentiles_of_closed_networks_are_those_of_all_states() -> None:
    for tiers, beside, think, population, share in networks(1, 12, with_beside=False):
        customers = Customers(population, time_outside=think)
        found = response_percentile(tiers, beside, customers, share)
        expected = percentile_of_all_states(tiers, beside, think, population, share)
        assert found == pytest.approx(expected, rel=2e-4)


def test_one_time_of_the_others_outside_changes_percentiles_by_less_than_half_a_percent() -> None:
    for tiers, beside, think, population, share in networks(2, 12, with_beside=True):
        customers = Customers(population, time_outside=think + beside)
        found = response_percentile(tiers, beside, customers, share)
        expected = percentile_of_all_states(tiers, beside, think, population, share)
        assert found == pytest.approx(expected, rel=5e-3)


def test_percentiles_of_arrivals_are_those_of_one_shared_server() -> None:
    """The mean from many percentiles is D / (1 - U) and the variance that of Coffman, Muntz and
    Trotter, (2 + U) / (2 - U) of the mean squared.
    """
    load = 0.6
    shares = (np.arange(200) + 0.5) / 200
    times = np.array(
        [
            response_percentile([Tier(1.0)], 0.0, Customers(arrival_rate=load), share) or math.nan
            for share in shares.tolist()
        ]
    )
    variance = (2 + load) / (2 - load)
    assert times.mean() == pytest.approx(1 / (1 - load), rel=0.01)
    assert (times.std() / times.mean()) ** 2 == pytest.approx(variance, rel=0.06)


def test_a_saturated_tier_and_a_chain_that_is_too_large_have_no_percentile() -> None:
    assert response_percentile([Tier(1.0)], 0.0, Customers(arrival_rate=1.0), 0.95) is None
    many = [Tier(1.0), Tier(0.99), Tier(0.98)]
    assert response_percentile(many, 0.0, Customers(400, time_outside=1.0), 0.95) is None


@pytest.mark.parametrize("servers", [1, 3])
def test_percentiles_in_order_with_arrivals_are_those_of_erlang(servers: int) -> None:
    """M/M/1: exponential of the mean; M/M/c: the tail of Erlang's delay and one service."""
    rate = 0.7 * servers
    found = percentile_in_order(Tier(1.0, servers), 1.0, 0.0, Customers(arrival_rate=rate), 0.9)
    offered = [rate**k / math.factorial(k) for k in range(servers)]
    last = rate**servers / math.factorial(servers) / (1 - 0.7)
    delayed = last / (sum(offered) + last)
    spare = servers - rate

    def longer(time: float) -> float:
        if abs(spare - 1) < 1e-9:
            return math.exp(-time) * (1 + delayed * time)
        both = (spare * math.exp(-time) - math.exp(-spare * time)) / (spare - 1)
        return (1 - delayed) * math.exp(-time) + delayed * both

    assert found is not None
    assert longer(found) == pytest.approx(0.1, rel=1e-6)


def test_percentiles_in_order_of_a_closed_network_are_those_of_those_found() -> None:
    """Of two customers that think as long as a service takes, one finds the other with probability
    a half: P(T > t) = exp(-t) (1 + t / 2).
    """
    found = percentile_in_order(Tier(1.0), 1.0, 0.0, Customers(2, time_outside=1.0), 0.95)
    assert found is not None
    assert math.exp(-found) * (1 + found / 2) == pytest.approx(0.05, rel=1e-6)


def test_percentiles_of_constant_services_need_arrivals_and_a_time_beside() -> None:
    arrivals = Customers(arrival_rate=0.5)
    found = percentile_in_order(Tier(1.0), 0.0, 0.5, arrivals, 0.95)
    exponential = percentile_in_order(Tier(1.0), 1.0, 0.5, arrivals, 0.95)
    assert found is not None
    assert exponential is not None
    assert found < exponential
    assert percentile_in_order(Tier(1.0), 0.0, 0.0, arrivals, 0.95) is None
    assert percentile_in_order(Tier(1.0), 0.0, 0.5, Customers(3, time_outside=1.0), 0.95) is None
    assert percentile_in_order(Tier(1.0), 1.0, 0.0, Customers(arrival_rate=1.0), 0.95) is None


@pytest.mark.parametrize("time_beside", [0.5, 2.0, 20.0])
def test_a_percentile_with_an_exponential_time_beside_is_that_of_the_sum(
    time_beside: float,
) -> None:
    """Of M/M/1 with a load of 0.8 the response is exponential with a mean of 5 s."""
    time = percentile_in_order(Tier(1.0), 1.0, time_beside, Customers(arrival_rate=0.8), 0.95)
    assert time is not None
    late = (5 * math.exp(-time / 5) - time_beside * math.exp(-time / time_beside)) / (
        5 - time_beside
    )
    assert late == pytest.approx(0.05, rel=1e-6)
