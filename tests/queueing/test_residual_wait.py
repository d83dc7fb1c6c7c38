"""Probabilities that all servers are busy, against exact chains, and the error of the rule by
load.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from slipstick.queueing import residual_wait
from slipstick.queueing.residual_wait import (
    all_busy_by_load,
    erlang_b,
    erlang_c,
    finite_source_all_busy,
    finite_source_numbers,
    finite_source_numbers_up_to_servers,
    finite_source_residual,
    residual_time,
)


def chances(customers: int, servers: int, think: float) -> list[float]:
    """Return the distribution of the number present at an M/M/c//n station with services of mean
    1.
    """
    weights = [1.0]
    for j in range(1, customers + 1):
        weights.append(weights[-1] * (customers - j + 1) / (think * min(j, servers)))
    return [weight / sum(weights) for weight in weights]


def cycle_by_recursion(
    customers: int, servers: int, think: float, rule: Callable[[float, float, int, int], float]
) -> float:
    """Return the cycle time by the arrival theorem with a rule for P(all busy), from present,
    busy, others and servers.
    """
    present = busy = 0.0
    time = 0.0
    for n in range(1, customers + 1):
        chance = rule(present, busy, n - 1, servers) if n > 1 else 0.0
        residence = 1 + (max(present - busy, 0.0) + chance) / servers
        time = think + residence
        present, busy = n * residence / time, n / time
    return time


def by_finite_source(present: float, busy: float, others: int, servers: int) -> float:
    ratio = busy / others / (1 - present / others)
    return float(finite_source_all_busy(np.array([ratio]), others, servers)[0])


def by_load(_: float, busy: float, others: int, servers: int) -> float:
    return float(all_busy_by_load(np.array([busy]), servers, np.array([others]))[0])


STATIONS = [
    (servers, customers, customers / (load * servers) - 1)
    for servers in (2, 4, 8)
    for customers in (servers + 1, servers + 2, 2 * servers, 16, 32)
    for load in (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5)
    if customers / (load * servers) > 1.05
]


def test_all_servers_busy_of_a_finite_source() -> None:
    for servers, customers, think in STATIONS:
        found = finite_source_all_busy(np.array([1 / think]), customers, servers)[0]
        assert found == pytest.approx(sum(chances(customers, servers, think)[servers:]), rel=1e-10)


@pytest.mark.parametrize("servers", [1, 10, 9_000, 20_000])
def test_many_customers_by_the_largest_weights_alone(
    servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = np.array([1e-9, 0.5, 0.99, 1.0, 1.01, 3.0, 1e6]) * servers / 20_000 * (1 + 1e-20j)
    found = finite_source_all_busy(loads, 20_000, servers)
    monkeypatch.setattr("slipstick.queueing.residual_wait._MOST_CUSTOMERS_WITH_ALL_WEIGHTS", 10**6)
    every = finite_source_all_busy(loads, 20_000, servers)
    assert found.real == pytest.approx(every.real, abs=1e-11)
    assert found.imag == pytest.approx(every.imag, abs=1e-29)


def test_the_recursion_is_exact_with_the_finite_source_and_within_its_error_with_the_load() -> None:
    errors = []
    for servers, customers, think in STATIONS:
        served = sum(p * min(j, servers) for j, p in enumerate(chances(customers, servers, think)))
        exact = customers / served
        assert cycle_by_recursion(customers, servers, think, by_finite_source) == pytest.approx(
            exact, rel=1e-10
        )
        errors.append(abs(cycle_by_recursion(customers, servers, think, by_load) / exact - 1))
    assert max(errors) == pytest.approx(0.041, abs=0.0005)
    assert float(np.median(errors)) == pytest.approx(0.008, abs=0.0005)


@pytest.mark.parametrize(("offered", "servers"), [(0.5, 1), (2.4, 3), (18.0, 20)])
def test_erlang_c_against_its_sum(offered: float, servers: int) -> None:
    terms = [offered**k / math.factorial(k) for k in range(servers + 1)]
    last = terms[-1] * servers / (servers - offered)
    assert erlang_c(np.array([offered]), servers)[0] == pytest.approx(
        last / (sum(terms[:-1]) + last), rel=1e-12
    )


def test_all_servers_busy_by_the_load_against_erlang() -> None:
    too_likely, too_long = [], []
    for c, load in product((1, 2, 3, 4, 8, 16, 32), np.linspace(0.1, 0.98, 23)):
        offered = np.array([c * load])
        found, exact = (
            all_busy_by_load(offered, c, np.array([math.inf]))[0],
            erlang_c(offered, c)[0],
        )
        too_likely.append(found - exact)
        too_long.append((found - exact) / (c * (1 - load) + exact))
        assert c > 1 or found == pytest.approx(exact, rel=1e-12)
    assert max(too_likely) == pytest.approx(0.051, abs=0.0005)
    assert max(too_long) == pytest.approx(0.026, abs=0.0005)
    assert min(too_likely) > -0.01


def test_residual_times_of_constant_and_exponential_services() -> None:
    assert residual_time(np.array([2.0, 2.0]), np.array([0.0, 1.0])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("load", [0.5, 0.95, 1.0, 1.3, 50.0])
def test_few_present_of_many_are_added_up_near_the_largest_weight_alone(load: float) -> None:
    customers, servers = 20_000, 12
    ratios = load / customers * servers / np.minimum(np.arange(1.0, customers + 1), servers)
    whole = finite_source_numbers(ratios)
    found = finite_source_numbers_up_to_servers(ratios[:servers], customers)
    assert np.allclose(found, [*whole[:servers], whole[servers:].sum()], rtol=1e-11, atol=1e-15)


def test_a_million_servers_are_counted_in_a_moment_and_as_one_by_one() -> None:
    alone, together = erlang_b(np.array([900.0]), 1000), erlang_b(np.array([900.0, 0.5]), 1000)
    assert alone[0] == together[0]
    assert erlang_b(np.array([1.8]), 10**6).tolist() == [0.0]


def test_many_sources_are_counted_as_fewer_that_bring_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of an scv of 4, where the work of all is as much as the time between two visits."""
    asked = 512, np.full(1, 512.0), [(1.0, np.ones(1), np.full(1, 4.0))]
    few = finite_source_residual(*asked)
    monkeypatch.setattr(residual_wait, "MOST_SOURCES", 1024)
    assert few == pytest.approx(finite_source_residual(*asked), rel=0.02)


def test_transforms_of_services_on_both_sides_of_scv_1_are_those_of_each_alone() -> None:
    """Each point has the transform of its own distribution, whatever the others have."""
    scvs = np.array([0.0, 0.5, 1.0, 1.0 - 1e-9, 4.0])
    mean, rates = np.full(5, 2.0), np.array([[0.1, 1.0, 30.0]])
    together = residual_wait._transform_of_service(mean, scvs, rates)
    for row, scv in enumerate(scvs):
        alone = residual_wait._transform_of_service(mean[:1], np.array([scv]), rates)
        assert together[row] == pytest.approx(alone[0], rel=1e-14)
    assert together[0] == pytest.approx(np.exp(-2.0 * rates[0]), rel=1e-12)
    assert together[1] == pytest.approx((1 + rates[0]) ** -2.0, rel=1e-12)
    assert together[2] == pytest.approx(1 / (1 + 2.0 * rates[0]), rel=1e-12)
    assert together[3] == pytest.approx(together[2], rel=1e-6)
