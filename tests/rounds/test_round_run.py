"""Servers that work in rounds: exact chains, and runs that can be followed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slipstick.late import Array
from slipstick_rounds.round_chain import closed_chain, open_chain
from slipstick_rounds.round_run import (
    RoundContents,
    RoundServer,
    _Customer,
    closed_run,
    open_run,
)


def affine(fixed: float, more: float) -> RoundServer:
    return RoundServer(lambda rounds: np.array([[fixed + more * rounds.customers[0]]]))


@pytest.mark.turns(6)
@pytest.mark.parametrize("batching_delay", [0.0, 0.25])
def test_a_closed_chain_is_the_simulation(batching_delay: float) -> None:
    random, visits = np.random.default_rng(71), 25_000
    server = RoundServer(affine(0.3, 0.2).duration, batching_delay=batching_delay)
    run = closed_run(server, np.ones((visits, 1)), 5, random.exponential(2.0, visits))
    means = closed_chain(0.3 + 0.2 * np.arange(1.0, 6.0), 2.0, batching_delay)
    assert visits / run.elapsed == pytest.approx(means.throughput, rel=0.02)
    assert run.served_count / run.round_count == pytest.approx(means.served, rel=0.02)
    times = run.end_times[:, 0] - run.arrival_times
    assert times.mean() == pytest.approx(means.response_time, rel=0.02)


@pytest.mark.turns(6)
@pytest.mark.parametrize("batching_delay", [0.0, 0.2])
def test_an_open_chain_is_the_simulation(batching_delay: float) -> None:
    random, visits = np.random.default_rng(72), 25_000
    server = RoundServer(affine(0.4, 0.1).duration, batching_delay=batching_delay)
    arrivals = np.cumsum(random.exponential(1 / 3.0, visits))
    run = open_run(server, np.ones((visits, 1)), arrivals)
    means = open_chain(0.4 + 0.1 * np.arange(1.0, 60.0), 3.0, batching_delay)
    times = run.end_times[:, 0] - run.arrival_times
    assert times.mean() == pytest.approx(means.response_time, rel=0.02)
    assert run.served_count / run.round_count == pytest.approx(means.served, rel=0.02)


def test_a_stream_beyond_the_rounds_is_refused() -> None:
    with pytest.raises(ValueError, match="of the rounds serve 20 customers or more"):
        open_chain(np.full(20, 1.0), 15.0)


def two_phases(rounds: RoundContents) -> Array:
    """Return 1 s a round, 1 ms a unit, 1 us a unit held, and 1 us a product of the first phase."""
    units = 1e-3 * (rounds.units[0] + rounds.units[1])
    return np.atleast_2d(1.0 + units + 1e-6 * (rounds.units_held + rounds.products[0]))


def test_a_prompt_is_done_in_pieces_of_the_budget() -> None:
    server = RoundServer(two_phases, pieces=(math.inf, 1.0), budget=60.0)
    run = open_run(server, np.array([[100.0, 3.0]]), np.zeros(1))
    first = 1.06 + 1e-6 * 60 * 30
    second = 1.04 + 1e-6 * (60 + 40 * 80)
    assert run.end_times[0, 0] == pytest.approx(first + second)
    answers = sum(1.001 + 1e-6 * (100 + number) for number in range(3))
    assert run.end_times[0, 1] == pytest.approx(first + second + answers)
    assert run.round_count == 5


def test_answers_come_before_prompts_and_rounds_alike_are_those_one_by_one() -> None:
    """A batching delay too short to matter makes the simulation go round by round."""
    random = np.random.default_rng(73)
    lengths = [random.integers(5, 90, 40), random.integers(1, 60, 40)]
    work = np.stack(lengths, axis=1).astype(np.float64)
    arrivals = np.cumsum(random.exponential(9.0, 40))
    runs = [
        open_run(
            RoundServer(two_phases, (math.inf, 1.0), 64.0, 8, 900.0, reserved, batching_delay),
            work,
            arrivals,
        )
        for reserved in (True, False)
        for batching_delay in (0.0, 1e-12)
    ]
    for together, single in (runs[:2], runs[2:]):
        assert together.round_count == single.round_count
        assert together.end_times == pytest.approx(single.end_times, rel=1e-9)
        assert together.put_back_count == single.put_back_count


def test_who_came_last_is_put_back_where_memory_runs_full() -> None:
    server = RoundServer(two_phases, (math.inf, 1.0), memory=30.0, reserved=False)
    run = open_run(server, np.array([[10.0, 10.0], [10.0, 10.0]]), np.zeros(2))
    assert run.put_back_count == 1
    assert run.end_times[0, 1] < run.end_times[1, 1]


def test_rounds_begin_at_multiples_of_an_interval() -> None:
    server = RoundServer(affine(0.1, 0.3).duration, interval=1.0)
    arrivals = np.array([0.2, 0.9, 1.5, 1.6, 1.7, 1.9])
    run = open_run(server, np.ones((6, 1)), arrivals)
    assert run.end_times[:, 0] == pytest.approx([1.7, 1.7, 3.3, 3.3, 3.3, 3.3])


def test_two_customers_with_the_same_numbers_are_two() -> None:
    first, second = _Customer(1, 0, 5.0), _Customer(1, 0, 5.0)
    assert first != second


def test_a_run_stops_at_its_budget_of_events() -> None:
    run = open_run(affine(1.0, 0.0), np.ones((9, 1)), np.arange(9.0) * 5, events=4)
    assert (run.round_count, int(run.has_ended.sum())) == (4, 4)
