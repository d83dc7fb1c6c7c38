"""The parallel step, by brute force: as many at once, in any order, as leave the sequential
state.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick_workloads.billiards.counts import (
    collisions_per_step,
    first_dependents_by_collision,
    observe,
)
from slipstick_workloads.billiards.simulation import (
    BilliardSimulation,
    BilliardTable,
    uniform_start,
)


def schedule(table: BilliardTable, now: float) -> list[tuple[float, int]]:
    """List every collision to come as nobody in the way, without a queue."""
    return sorted((table.meeting_time(pair, now), pair) for pair in table.pairs)


def overlap(pairs: list[int]) -> int:
    """Return the place of the first pair that shares a ball with an earlier one."""
    for place, pair in enumerate(pairs):
        if any(abs(pair - other) <= 1 for other in pairs[:place]):
            return place
    return len(pairs)


@pytest.mark.turns(4)
@given(st.integers(2, 40), st.integers(0, 10**6), st.integers(1, 24))
def test_a_step_executes_as_much_as_leaves_the_sequential_state(
    balls: int, seed: int, processors: int
) -> None:
    count = 60
    sequential, parallel = (
        BilliardSimulation(uniform_start(balls, seed)),
        BilliardTable(uniform_start(balls, seed)),
    )
    sizes = collisions_per_step(
        first_dependents_by_collision([sequential.step().cause for _ in range(count)]), processors
    )
    reference, now, shuffled = (
        BilliardSimulation(uniform_start(balls, seed)),
        0.0,
        random.Random(seed),
    )
    for size in sizes:
        chosen = [each for each in schedule(parallel, now)[:processors] if each[0] < math.inf]
        first = overlap([pair for _, pair in chosen])
        # Overlap alone would let as many or more go on.
        assert size <= first
        for time, pair in shuffled.sample(chosen[:size], size):
            parallel.collide(pair, time)
        done = [reference.step() for _ in range(size)]
        assert [each.pair for each in done] == [pair for _, pair in chosen[:size]]
        now = done[-1].time
        assert parallel.velocities == reference.table.velocities
        assert parallel.positions(now) == pytest.approx(reference.table.positions(now), abs=1e-9)
        if size < len(chosen) and sum(sizes) < count:
            # The next of those chosen is not what the sequential program does next.
            assert schedule(parallel, now)[0][1] != chosen[size][1] or first == size


@given(st.integers(2, 40), st.integers(0, 10**6))
def test_more_processors_execute_no_less_in_a_first_step(balls: int, seed: int) -> None:
    run = BilliardSimulation(uniform_start(balls, seed))
    dependent = first_dependents_by_collision([run.step().cause for _ in range(100)])
    first = [collisions_per_step(dependent, processors)[0] for processors in range(1, 30)]
    assert first == sorted(first)
    for processors, size in enumerate(first, start=1):
        sizes = collisions_per_step(dependent, processors)
        assert 1 <= size <= processors
        assert sum(sizes) == 100
        assert max(sizes) <= processors


def test_one_processor_executes_everything_one_by_one() -> None:
    assert collisions_per_step(first_dependents_by_collision([-1, 0, 1, 2]), 1) == [1, 1, 1, 1]
    assert collisions_per_step(first_dependents_by_collision([-1, 0, 1, 2]), 8) == [1, 1, 1, 1]
    assert collisions_per_step(first_dependents_by_collision([-1] * 5), 2) == [2, 2, 1]


@pytest.mark.turns(4)
def test_parallelism_grows_with_balls_and_with_processors() -> None:
    few, more, many = (observe(balls, 5000, seed=1) for balls in (100, 1000, 10_000))
    for processors in (4, 24, 32, 64):
        assert (
            few.parallelism(processors)
            < more.parallelism(processors)
            < many.parallelism(processors)
            <= processors
        )
    across = [more.parallelism(processors) for processors in (1, 2, 4, 8, 16, 32, 64)]
    assert across == sorted(across)
    assert across[0] == 1.0


@pytest.mark.turns(4)
def test_more_steps_give_no_more_parallelism() -> None:
    # Places and speeds stay as random as they were at the start, so parts of a run are alike.
    run = BilliardSimulation(uniform_start(1000, 1))
    dependent = np.array(first_dependents_by_collision([run.step().cause for _ in range(40_000)]))
    ahead = np.minimum(dependent - np.arange(len(dependent)), 32)
    early, late = ahead[:15_000].mean(), ahead[20_000:35_000].mean()
    assert early == pytest.approx(late, rel=0.03)


@pytest.mark.turns(6)
@pytest.mark.parametrize("balls", [1000, 5000, 20_000])
def test_from_any_collision_on_as_many_are_independent_as_lines_say(balls: int) -> None:
    """Compare with lines that cross.

    Of n lines with uniform slopes, j crossings in all, 2.1 j^2 / n pairs of crossings share a line,
    and 0.3 j^2 / n triangles count three of these each. Taken as rare, exp(-3 j^2 / (2 n)) is the
    chance that none does, and the sum over j < N is sqrt(pi n / 6) erf(N sqrt(3 / (2 n))).
    """
    count = 40_000
    run = BilliardSimulation(uniform_start(balls, 1))
    dependent = np.array(first_dependents_by_collision([run.step().cause for _ in range(count)]))[
        : count - 1000
    ]
    for processors in (4, 32, 64, 10**6):
        ahead = np.minimum(dependent - np.arange(len(dependent)), processors).mean()
        expected = math.sqrt(math.pi * balls / 6) * math.erf(processors * math.sqrt(1.5 / balls))
        assert ahead == pytest.approx(expected, rel=0.06), processors


@pytest.mark.turns(4)
def test_a_step_begins_where_a_dependency_was_and_so_is_shorter() -> None:
    counts = observe(5000, 40_000, seed=1)
    assert (
        0.75 * math.sqrt(math.pi * 5000 / 6)
        < counts.parallelism(10**6)
        < math.sqrt(math.pi * 5000 / 6)
    )


@pytest.mark.turns(4)
def test_half_of_the_neighbours_approach_and_a_collision_queues_what_it_deletes() -> None:
    counts = observe(5000, 20_000, seed=1)
    assert counts.queued_at_start / 5000 == pytest.approx(0.5, abs=0.02)
    assert counts.additions == pytest.approx(counts.removals, abs=0.02)
    assert counts.removals == pytest.approx(1.5, abs=0.02)
