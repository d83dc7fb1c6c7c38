"""Balls of one mass on a line between two walls, and the sequential simulation of their collisions.

The queue holds at most one collision of each pair of neighbours, the earliest first; a collision
deletes those that it makes obsolete.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import dataclass, np


@dataclass(frozen=True, slots=True)
class InitialState:
    """Places and velocities of the balls at the start, from left to right, in any units of length
    and time.

    Parameters
    ----------
    positions : of the centres
    velocities : to the right
    length : from wall to wall
    diameter : of every ball

    Raises
    ------
    ModelError : balls overlap, overlap a wall, or there is none
    """

    positions: tuple[float, ...]
    velocities: tuple[float, ...]
    length: float
    diameter: float = 0.0

    def __post_init__(self) -> None:
        if not self.positions or len(self.positions) != len(self.velocities):
            raise ModelError(
                f"each ball needs a position and a velocity; got {len(self.positions)} positions,"
                f" {len(self.velocities)} velocities"
            )
        walls_and_balls = (-self.diameter / 2, *self.positions, self.length + self.diameter / 2)
        for left_position, right_position in pairwise(walls_and_balls):
            if not right_position - left_position >= self.diameter * (1 - 1e-12):
                raise ModelError(
                    f"balls of diameter {self.diameter:g} overlap between {left_position:g} and"
                    f" {right_position:g}"
                )


class BilliardTable:
    """Balls in motion, each known by the place and time of its last collision.

    Pair p is of the balls p - 1 and p, counted from 0; pair 0 is the left wall and the first ball,
    the last pair the last ball and the right wall. Walls stand still.
    """

    def __init__(self, initial_state: InitialState) -> None:
        radius = initial_state.diameter / 2
        self._diameter = initial_state.diameter
        self._positions = [-radius, *initial_state.positions, initial_state.length + radius]
        self._velocities = [0.0, *initial_state.velocities, 0.0]
        self._state_times = [0.0] * len(self._positions)

    @property
    def pairs(self) -> range:
        """The numbers of the pairs of neighbours, including those with a wall."""
        return range(len(self._positions) - 1)

    @property
    def velocities(self) -> list[float]:
        """The velocities of the balls, from left to right."""
        return self._velocities[1:-1]

    def positions(self, time: float) -> list[float]:
        """Return the places of the balls at a time before their next collisions."""
        return [self._position(ball, time) for ball in range(1, len(self._positions) - 1)]

    def meeting_time(self, pair: int, present_time: float) -> float:
        """Return the time at which a pair collides if no other collision happens before; infinite
        if it never does.
        """
        closing_speed = self._velocities[pair] - self._velocities[pair + 1]
        if closing_speed <= 0:
            return math.inf
        gap = (
            self._position(pair + 1, present_time)
            - self._position(pair, present_time)
            - self._diameter
        )
        return present_time + max(gap, 0.0) / closing_speed

    def collide(self, pair: int, time: float) -> None:
        """Move the balls of a pair to the time of their collision and exchange their velocities; a
        wall reflects a ball.
        """
        left_ball = pair
        right_ball = pair + 1
        for ball in (left_ball, right_ball):
            self._positions[ball] = self._position(ball, time)
            self._state_times[ball] = time
        if left_ball == 0:
            self._velocities[right_ball] *= -1
        elif right_ball == len(self._positions) - 1:
            self._velocities[left_ball] *= -1
        else:
            exchanged_velocities = self._velocities[right_ball], self._velocities[left_ball]
            self._velocities[left_ball], self._velocities[right_ball] = exchanged_velocities

    def _position(self, ball: int, time: float) -> float:
        return self._positions[ball] + self._velocities[ball] * (time - self._state_times[ball])


def uniform_start(balls: int, seed: int, start_index: int = 0) -> InitialState:
    """Return a random start: balls at random places, speeds uniform from -1 to 1, one ball to a
    unit of length.

    A line of such points stays as random as at the start, for velocities are only exchanged.

    Parameters
    ----------
    balls : how many [1]
    seed, start_index : of the random numbers, and of the start among those of the seed

    >>> uniform_start(3, seed=1).length
    3.0
    """

    generator = np.random.default_rng([seed, balls, start_index])
    positions = np.sort(generator.uniform(0, balls, balls))
    velocities = generator.uniform(-1, 1, balls)
    return InitialState(tuple(positions.tolist()), tuple(velocities.tolist()), float(balls))


class Collision(NamedTuple):
    """A collision to come, ordered by time, then from left to right.

    Parameters
    ----------
    time : of the collision
    pair : of balls
    cause : number of the collision after which it was queued; -1 at the start
    """

    time: float
    pair: int
    cause: int


class CollisionQueue:
    """Future collisions in time bins, at most one for each pair; counts the collisions added,
    searched and removed.

    A bin holds the collisions of one range of times, in order; bins that hold none do not exist. An
    addition searches from the first bin to its own, and there from the first collision to its
    place; `entries_passed` counts the bins and collisions passed.

    Parameters
    ----------
    bin_width : of a bin [balls' mean distance / greatest speed]
    is_direct : a bin is found from its time, so that no bin is passed
    """

    def __init__(self, bin_width: float, *, is_direct: bool = False) -> None:
        self.bin_width = bin_width
        self.is_direct = is_direct
        self._bins: dict[int, list[Collision]] = {}
        self._bin_numbers: list[int] = []
        self._collision_by_pair: dict[int, Collision] = {}
        self.additions = self.entries_passed = self.removals = 0

    def __len__(self) -> int:
        return len(self._collision_by_pair)

    def add(self, collision: Collision) -> None:
        """Queue a collision, unless its time is infinite."""
        if collision.time == math.inf:
            return
        bin_number = int(collision.time / self.bin_width)
        passed_bin_count = bisect_left(self._bin_numbers, bin_number)
        if bin_number not in self._bins:
            self._bins[bin_number] = []
            self._bin_numbers.insert(passed_bin_count, bin_number)
        collisions_in_bin = self._bins[bin_number]
        place_in_bin = bisect_left(collisions_in_bin, collision)
        collisions_in_bin.insert(place_in_bin, collision)
        self._collision_by_pair[collision.pair] = collision
        self.entries_passed += place_in_bin if self.is_direct else passed_bin_count + place_in_bin
        self.additions += 1

    def remove(self, pair: int) -> None:
        """Delete the collision of a pair, if there is one."""
        collision = self._collision_by_pair.pop(pair, None)
        if collision is None:
            return
        bin_number = int(collision.time / self.bin_width)
        collisions_in_bin = self._bins[bin_number]
        del collisions_in_bin[bisect_left(collisions_in_bin, collision)]
        if not collisions_in_bin:
            del (
                self._bins[bin_number],
                self._bin_numbers[bisect_left(self._bin_numbers, bin_number)],
            )
        self.removals += 1

    def first(self) -> Collision | None:
        """Return the earliest collision without removing it; None if the queue is empty."""
        return self._bins[self._bin_numbers[0]][0] if self._bin_numbers else None


class BilliardSimulation:
    """Balls and the queue of their collisions, after section 5.2 of Scale-Graph.

    Parameters
    ----------
    initial_state : places and velocities
    bin_width : of a time bin of the queue [balls' mean distance / greatest speed]
    is_direct : a bin is found from its time

    >>> run = BilliardSimulation(InitialState((1.0, 2.0), (1.0, -1.0), length=3.0))
    >>> [run.step().time for _ in range(3)]
    [0.5, 2.0, 2.0]
    """

    def __init__(
        self, initial_state: InitialState, bin_width: float = 0.1, *, is_direct: bool = False
    ) -> None:
        self.table = BilliardTable(initial_state)
        self.queue = CollisionQueue(bin_width, is_direct=is_direct)
        self.collisions_done = 0
        self.time = 0.0
        for pair in self.table.pairs:
            self._queue_next_collision(pair, cause=-1)

    def step(self) -> Collision:
        """Execute the earliest collision and return it."""
        collision = self.queue.first()
        if collision is None:
            raise NoAnswerError(
                f"after {self.collisions_done} collisions no ball moves; give one a velocity"
            )
        pair = collision.pair
        self.time = collision.time
        self.table.collide(pair, self.time)
        affected_pairs = [
            affected_pair
            for affected_pair in (pair - 1, pair, pair + 1)
            if affected_pair in self.table.pairs
        ]
        for affected_pair in affected_pairs:
            self.queue.remove(affected_pair)
        for affected_pair in affected_pairs:
            self._queue_next_collision(affected_pair, cause=self.collisions_done)
        self.collisions_done += 1
        return collision

    def _queue_next_collision(self, pair: int, cause: int) -> None:
        self.queue.add(Collision(self.table.meeting_time(pair, self.time), pair, cause))
