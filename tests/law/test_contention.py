"""What processors contend for, each formula by a second road: enumeration, exact chains, event
by event.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from slipstick.law import LAWS
from slipstick_laws.interconnects import (
    BUFFERED_DELAY,
    BUS_SATURATION,
    BUS_THROUGHPUT_BOUND,
    CIRCUIT_DELAY,
    CIRCUIT_HOT_SPOT_LIMIT,
    CIRCUIT_THROUGHPUT,
    DROPPING_ACCEPTANCE,
    DROPPING_ASYMPTOTE,
    DROPPING_RATE,
    HOT_MODULE_LOAD,
    HOT_SPOT_LIMIT,
    HOT_SPOT_PROCESSORS,
    MEMORY_BANDWIDTH,
    MEMORY_BANDWIDTH_RETRYING,
    MEMORY_RUN,
    RETRYING_DELAY,
    RETRYING_RATE,
    RETRYING_THROUGHPUT,
    RING_LATENCY,
    RING_LOAD,
    RING_SATURATION,
    TWO_LEVEL_RING_LATENCY,
)
from slipstick_laws.synchronization import (
    COMBINING_TREE_BARRIER,
    DISSEMINATION_BARRIER,
    LOCK_SATURATION,
    LOCK_THROUGHPUT_BOUND,
    TEST_AND_TEST_AND_SET_QUIESCENCE,
    TOURNAMENT_BARRIER_MESSAGES,
)


def busy_modules(rates: Sequence[Fraction], modules: int) -> Fraction:
    """Add up over all ways to ask: how many different modules are asked for."""
    mean = Fraction(0)
    for choice in itertools.product(range(modules + 1), repeat=len(rates)):
        chance = Fraction(1)
        for target, rate in zip(choice, rates, strict=True):
            chance *= 1 - rate if target == modules else rate / modules
        mean += chance * len(set(choice) - {modules})
    return mean


@pytest.mark.parametrize(("processors", "modules"), [(2, 2), (3, 2), (2, 4), (4, 3)])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 3)])
def test_memory_bandwidth_by_enumeration(processors: int, modules: int, rate: Fraction) -> None:
    wanted = busy_modules([rate] * processors, modules)
    found = MEMORY_BANDWIDTH(processors=processors, modules=modules, rate=float(rate))
    assert found == pytest.approx(float(wanted), rel=1e-14)


def test_two_stages_by_enumeration() -> None:
    """Four links, 2 x 2 switches: a link of the second stage is fed by one output of each switch
    of the first.
    """
    rate, arrived = Fraction(2, 3), Fraction(0)
    for choice in itertools.product(range(5), repeat=4):
        chance = math.prod(
            (rate / 4 if target < 4 else 1 - rate for target in choice), start=Fraction(1)
        )
        # The upper bit chooses the output of the first stage; a colliding pair sends either one on.
        links = [
            [target for target in pair if target // 2 == up]
            for pair in (choice[:2], choice[2:])
            for up in (0, 1)
        ]
        for up in (0, 1):
            for first in links[up] or [4]:
                for second in links[2 + up] or [4]:
                    share = Fraction(1, max(1, len(links[up])) * max(1, len(links[2 + up])))
                    arrived += chance * share * len({first, second} - {4})
    assert DROPPING_RATE(degree=2, stages=2, rate=2 / 3) == pytest.approx(
        float(arrived / 4), rel=1e-14
    )


def insisting(processors: int, modules: int) -> float:
    """Modules busy where all ask at once and who is refused insists: the exact chain over who
    waits where.
    """
    states = [
        each
        for each in itertools.product(range(processors + 1), repeat=modules)
        if sum(each) == processors
    ]
    number = {state: index for index, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    for state in states:
        left = [max(0, count - 1) for count in state]
        free = processors - sum(left)
        for choice in itertools.product(range(modules), repeat=free):
            after = tuple(count + choice.count(module) for module, count in enumerate(left))
            moves[number[state], number[after]] += 1 / modules**free
    system = np.vstack([moves.T - np.eye(len(states)), np.ones(len(states))])
    share = np.linalg.lstsq(system, np.array([0.0] * len(states) + [1.0]), rcond=None)[0]
    return float(
        sum(p * sum(count > 0 for count in state) for p, state in zip(share, states, strict=True))
    )


@pytest.mark.parametrize(("processors", "modules"), [(2, 2), (4, 4), (3, 5), (5, 3)])
def test_memory_bandwidth_is_within_its_stated_error_of_the_chain_that_insists(
    processors: int, modules: int
) -> None:
    exact = insisting(processors, modules)
    found = MEMORY_BANDWIDTH_RETRYING(processors=processors, modules=modules, rate=1.0)
    assert exact <= found * (1 + 1e-9)
    assert found <= 1.1 * exact
    assert found == pytest.approx(
        MEMORY_BANDWIDTH(processors=processors, modules=modules, rate=1.0), rel=1e-14
    )


def test_a_crossbar_is_a_network_of_one_stage() -> None:
    for rate in (1.0, 0.2):
        crossbar = MEMORY_BANDWIDTH_RETRYING(processors=8, modules=8, rate=rate) / 8
        assert RETRYING_THROUGHPUT(degree=8, stages=1, rate=rate) == pytest.approx(
            crossbar, rel=1e-14
        )


def test_hellermans_power_is_as_near_his_sum_as_it_says() -> None:
    for modules in range(1, 46):
        runs = [
            Fraction(k * k * math.factorial(modules - 1), modules**k * math.factorial(modules - k))
            for k in range(1, modules + 1)
        ]
        assert MEMORY_RUN(modules=modules) == pytest.approx(float(sum(runs)), rel=0.05)


def test_the_asymptote_is_as_near_the_recursion_as_it_says() -> None:
    stages = np.arange(1.0, 301.0)
    ratio = DROPPING_ASYMPTOTE(degree=2, stages=stages, rate=1.0) / DROPPING_RATE(
        degree=2, stages=stages, rate=1.0
    )
    assert 1.11 < ratio.max() < 1.12
    assert ratio[29] == pytest.approx(1.07, abs=0.005)
    assert ratio[-1] < 1.02


@pytest.mark.parametrize(("degree", "stages"), [(2, 3), (4, 2), (8, 4)])
def test_retries_keep_the_balance_of_requests(degree: int, stages: int) -> None:
    """A processor serves x requests a cycle, and makes m new ones in the cycles in which it does
    not wait.
    """
    for rate in (0.01, 0.3, 0.99):
        offered = RETRYING_RATE(degree=degree, stages=stages, rate=rate)
        served = RETRYING_THROUGHPUT(degree=degree, stages=stages, rate=rate)
        accepted = DROPPING_ACCEPTANCE(degree=degree, stages=stages, rate=offered)
        assert served == pytest.approx(offered * accepted, rel=1e-13)
        retrying = offered - served
        assert rate * (1 - retrying) == pytest.approx(served, rel=1e-12)
        delay = RETRYING_DELAY(degree=degree, stages=stages, rate=rate, cycle=2.0)
        assert delay == pytest.approx(2.0 * (1 / served - 1 / rate), rel=1e-9)
        # Each attempt fails with probability 1 - P_A, independently: so many retries are made on
        # average.
        assert delay / 2.0 == pytest.approx((1 - accepted) / accepted, rel=1e-9)


def test_the_wait_of_the_first_buffered_stage_by_its_own_recursion() -> None:
    """An output is asked for by each of k inputs with p/k; the queue q <- max(q - 1, 0) +
    arrivals, in steady state.
    """
    degree, rate, longest = 4, 0.7, 400
    arrivals = [
        math.comb(degree, j) * (rate / degree) ** j * (1 - rate / degree) ** (degree - j)
        for j in range(5)
    ]
    queue = np.zeros(longest)
    queue[0] = 1.0
    for _ in range(600):
        moved = np.concatenate([[queue[0] + queue[1]], queue[2:], [0.0]])
        queue = np.convolve(moved, arrivals)[:longest]
    present = float(queue @ np.arange(longest))
    stay = BUFFERED_DELAY(degree=degree, stages=1, packets=1, rate=rate, cycle=1.0)
    assert stay == pytest.approx(present / rate, rel=1e-6)


def test_a_hot_spot_at_its_limit_loads_its_module_fully() -> None:
    for processors, hot in ((16, 0.02), (1024, 0.001), (64, 1.0)):
        limit = HOT_SPOT_LIMIT(processors=processors, hot=hot)
        assert HOT_MODULE_LOAD(
            processors=processors, hot=hot, rate=limit * (1 - 1e-15)
        ) == pytest.approx(1.0)


def test_a_ring_waits_for_its_first_empty_slot() -> None:
    """Half a slot, then full slots in a row with probability load each: the sum, term by term."""
    load, slots, rotation = 0.6, 20, 10.0
    spacing = rotation / slots
    wait = sum((1 - load) * load**full * (spacing / 2 + full * spacing) for full in range(400))
    found = RING_LATENCY(slots=slots, load=load, response=3.0, rotation=rotation)
    assert found == pytest.approx(rotation + 3.0 + wait, rel=1e-12)


def test_two_levels_without_remote_requests_are_one() -> None:
    one = RING_LATENCY(slots=20, load=0.3, response=3.0, rotation=10.0)
    upper = {"upper_slots": 8, "upper_load": 0.9, "upper_rotation": 50.0}
    assert (
        TWO_LEVEL_RING_LATENCY(remote=0.0, slots=20, load=0.3, response=3.0, rotation=10.0, **upper)
        == one
    )


def test_a_saturated_ring_is_full() -> None:
    most = RING_SATURATION(slots=24, rotation=6e-6)
    assert RING_LOAD(rotation=6e-6, slots=24, requests=most) == pytest.approx(1.0)


def test_bounds_cross_at_the_saturation_point() -> None:
    crossing = BUS_SATURATION(think=7.0, latency=3.0, occupancy=0.8)
    at = {"think": 7.0, "latency": 3.0, "occupancy": 0.8}
    assert BUS_THROUGHPUT_BOUND(processors=crossing, **at) == pytest.approx(1 / 0.8)
    assert BUS_THROUGHPUT_BOUND(processors=crossing / 2, **at) == pytest.approx(1 / 1.6)
    lock = {"think": 7.0, "latency": 1.0, "section": 2.0, "handoff": 0.5}
    crossing = LOCK_SATURATION(**lock)
    assert LOCK_THROUGHPUT_BOUND(processors=10 * crossing, **lock) == pytest.approx(1 / 2.5)
    assert LOCK_THROUGHPUT_BOUND(processors=crossing, **lock) == pytest.approx(1 / 2.5)


def test_dissemination_tells_everybody_of_everybody_in_its_rounds() -> None:
    for processors in range(1, 40):
        rounds = round(DISSEMINATION_BARRIER(processors=processors, message=1.0))
        known = [{each} for each in range(processors)]
        for k in range(rounds):
            assert any(len(each) < processors for each in known)
            known = [known[each] | known[(each - 2**k) % processors] for each in range(processors)]
        assert all(len(each) == processors for each in known)


def test_a_tournament_counts_losers_and_wake_ups() -> None:
    for processors in range(1, 40):
        players, losers = processors, 0
        while players > 1:
            losers, players = losers + players // 2, (players + 1) // 2
        assert TOURNAMENT_BARRIER_MESSAGES(processors=processors) == 2 * losers


def test_a_combining_tree_of_one_counter_is_the_central_barrier() -> None:
    tree = COMBINING_TREE_BARRIER(processors=8, fan=8, update=1.5, notice=0.25)
    assert tree == LAWS["barrier-central"](processors=8, update=1.5, notice=0.25)


def test_quiescence_counted_transaction_by_transaction() -> None:
    for spinners in range(1, 30):
        transactions, spinning = 1 + spinners, 0  # the release, and everybody reads
        for attempt in range(spinners):
            transactions += 1
            if (
                attempt > 0
                # all but the first fail and spin again; the write has all who spin read again
            ):
                spinning += 1
                transactions += spinning
        found = TEST_AND_TEST_AND_SET_QUIESCENCE(spinners=spinners, access=1.0)
        assert found == transactions


def circuits(stages: int, held: int, rate: float, hot: float = 0.0, cycles: int = 5000) -> float:
    """Simulate an omega network of 2 x 2 switches whose circuits are held; who is refused insists
    on its module.

    Returns
    -------
    circuits of a processor in a cycle [1]
    """
    chance, n = random.Random(1), 2**stages
    target, until = [-1] * n, [0] * n
    links: dict[tuple[int, int], int] = {}
    served = 0
    for now in range(cycles):
        for each in range(n):
            if until[each] <= now and target[each] < 0 and chance.random() < rate:
                target[each] = 0 if chance.random() < hot else chance.randrange(n)
        way: dict[int, list[int]] = {
            each: [] for each in range(n) if target[each] >= 0 and until[each] <= now
        }
        for stage in range(stages):
            asked: dict[int, list[int]] = {}
            for each, links_so_far in way.items():
                at = links_so_far[-1] if links_so_far else each
                asked.setdefault(
                    2 * at % n + target[each] // 2 ** (stages - 1 - stage) % 2, []
                ).append(each)
            free = {link: who for link, who in asked.items() if links.get((stage, link), 0) <= now}
            way = {
                one: [*way[one], link] for link, who in free.items() for one in [chance.choice(who)]
            }
        for each, path in way.items():
            served, target[each], until[each] = served + 1, -1, now + held
            links.update(dict.fromkeys(enumerate(path), now + held))
    return float(served / cycles / n)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("stages", "held", "rate"), [(3, 4, 0.1), (3, 12, 0.5), (5, 4, 0.5), (5, 12, 0.02)]
)
def test_circuits_with_retries_against_a_simulation(stages: int, held: int, rate: float) -> None:
    found = CIRCUIT_THROUGHPUT(degree=2, stages=stages, held=held, rate=rate)
    assert found == pytest.approx(circuits(stages, held, rate), rel=0.07)


def test_circuits_of_one_cycle_are_requests_and_rare_ones_never_wait() -> None:
    for rate in (0.1, 0.7, 1.0):
        switches = {"degree": 4, "stages": 3, "rate": rate}
        assert CIRCUIT_THROUGHPUT(**switches, held=1) == pytest.approx(
            RETRYING_THROUGHPUT(**switches), rel=1e-12
        )
        assert CIRCUIT_DELAY(**switches, held=1, cycle=2.0) == pytest.approx(
            RETRYING_DELAY(**switches, cycle=2.0)
        )
    rare = CIRCUIT_DELAY(degree=2, stages=6, held=8, rate=1e-7, cycle=1.0)
    assert 0 <= rare < 1e-4
    # Nobody is in the way on a switch of one input.
    assert CIRCUIT_DELAY(degree=1, stages=6, held=8, rate=0.5, cycle=1.0) == pytest.approx(
        0.0, abs=1e-12
    )


@pytest.mark.turns(4)
def test_a_hot_module_holds_circuits_up_as_the_limit_says() -> None:
    limit = CIRCUIT_HOT_SPOT_LIMIT(processors=16, held=4, hot=0.25)
    # The share that goes to the hot module is a matter of chance, too.
    assert circuits(4, 4, 0.5, hot=0.25, cycles=20_000) == pytest.approx(limit, rel=0.03)
    # As many as fill the module: r = 1 / L circuits in a cycle are 1 in L cycles.
    n = HOT_SPOT_PROCESSORS(hot=0.25, rate=0.2)
    assert CIRCUIT_HOT_SPOT_LIMIT(processors=n, held=4, hot=0.25) == pytest.approx(0.2 / 4)
    assert HOT_MODULE_LOAD(processors=n, hot=0.25, rate=0.2) == pytest.approx(1.0)
