"""The balls: conserved quantities, order, and lines that cross instead of balls that collide."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError, NoAnswerError
from slipstick_workloads.billiards.simulation import BilliardSimulation, InitialState, uniform_start


@st.composite
def starts(draw: st.DrawFn) -> InitialState:
    """Balls of some size at random places, walls included."""
    plain = uniform_start(draw(st.integers(1, 12)), draw(st.integers(0, 10**6)))
    diameter = draw(st.sampled_from([0.0, 0.5, 3.0]))
    places = tuple(x + diameter * (number + 0.5) for number, x in enumerate(plain.positions))
    return InitialState(places, plain.velocities, plain.length + diameter * len(places), diameter)


def crossing_lines(start: InitialState, time: float) -> list[float]:
    """Let points go through each other and back from the walls, sort them, and give each its
    width again.
    """
    balls, length = len(start.positions), start.length - start.diameter * len(start.positions)
    points = []
    for number, (place, velocity) in enumerate(zip(start.positions, start.velocities, strict=True)):
        unfolded = (place - start.diameter * (number + 0.5) + velocity * time) % (2 * length)
        points.append(min(unfolded, 2 * length - unfolded))
    widths = (start.diameter * (number + 0.5) for number in range(balls))
    return [point + width for point, width in zip(sorted(points), widths, strict=True)]


@given(starts(), st.integers(1, 60))
def test_balls_are_where_crossing_lines_are(start: InitialState, collisions: int) -> None:
    run = BilliardSimulation(start)
    for _ in range(collisions):
        run.step()
    assert run.table.positions(run.time) == pytest.approx(crossing_lines(start, run.time), abs=1e-6)


@given(starts(), st.integers(1, 60))
def test_energy_is_kept_and_so_is_the_order(start: InitialState, collisions: int) -> None:
    run = BilliardSimulation(start)
    times = [run.step().time for _ in range(collisions)]
    assert times == sorted(times)
    # Speeds are only exchanged, so their multiset is kept to the last bit.
    assert sorted(map(abs, run.table.velocities)) == sorted(map(abs, start.velocities))
    places = [
        -start.diameter / 2,
        *run.table.positions(run.time),
        start.length + start.diameter / 2,
    ]
    gaps = [right - left for left, right in pairwise(places)]
    assert min(gaps) >= start.diameter - 1e-6


@given(starts(), st.integers(1, 40))
def test_momentum_changes_at_walls_only(start: InitialState, collisions: int) -> None:
    run = BilliardSimulation(start)
    for _ in range(collisions):
        before = list(run.table.velocities)
        pair = run.step().pair
        passed = {0: 2 * before[0], len(before): 2 * before[-1]}.get(pair, 0.0)
        assert math.fsum(run.table.velocities) == pytest.approx(
            math.fsum(before) - passed, abs=1e-12
        )


@given(starts(), st.integers(1, 40))
def test_the_size_of_balls_changes_no_event(start: InitialState, collisions: int) -> None:
    balls = len(start.positions)
    points = tuple(x - start.diameter * (number + 0.5) for number, x in enumerate(start.positions))
    runs = [
        BilliardSimulation(start),
        BilliardSimulation(
            InitialState(points, start.velocities, start.length - start.diameter * balls)
        ),
    ]
    big, small = ([run.step() for _ in range(collisions)] for run in runs)
    assert [each.pair for each in big] == [each.pair for each in small]
    assert [each.time for each in big] == pytest.approx(
        [each.time for each in small], rel=1e-6, abs=1e-9
    )


def test_two_balls_exchange_their_velocities_when_they_touch() -> None:
    run = BilliardSimulation(InitialState((2.0, 6.0), (1.0, -0.5), length=10.0, diameter=1.0))
    first = run.step()
    assert (first.time, first.pair) == (2.0, 1)
    assert run.table.velocities == [-0.5, 1.0]
    assert run.table.positions(2.0) == [4.0, 5.0]


def test_what_never_meets_is_not_queued() -> None:
    run = BilliardSimulation(InitialState((2.0, 6.0), (-1.0, 1.0), length=10.0))
    assert len(run.queue) == run.queue.additions == 2
    assert [run.step().pair for _ in range(2)] == [0, 2]
    assert len(run.queue) == 1


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (
            ((), (), 1.0, 0.0),
            "each ball needs a position and a velocity; got 0 positions, 0 velocities",
        ),
        (
            ((0.5,), (1.0, 2.0), 1.0, 0.0),
            "each ball needs a position and a velocity; got 1 positions, 2 velocities",
        ),
        (((1.0, 1.5), (0.0, 0.0), 3.0, 1.0), "balls of diameter 1 overlap between 1 and 1.5"),
        (((math.nan,), (0.0,), 3.0, 1.0), "balls of diameter 1 overlap between -0.5 and nan"),
    ],
)
def test_what_cannot_be_placed_is_refused(
    start: tuple[tuple[float, ...], tuple[float, ...], float, float], text: str
) -> None:
    with pytest.raises(ModelError) as caught:
        InitialState(*start)
    assert str(caught.value) == text


def test_balls_at_rest_never_collide() -> None:
    with pytest.raises(NoAnswerError) as caught:
        BilliardSimulation(InitialState((1.0,), (0.0,), length=2.0)).step()
    assert str(caught.value) == "after 0 collisions no ball moves; give one a velocity"
