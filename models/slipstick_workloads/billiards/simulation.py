"""Balls of one mass on a line between two walls, and the sequential simulation of their collisions.

The queue holds at most one collision of each pair of neighbours, the earliest first; a collision
deletes those that it makes obsolete.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import np


@dataclass(frozen=True, slots=True)
class InitialState:
    """Places and velocities of the balls at the start, from left to right, in any unit of length
    and of time.

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
            places = len(self.positions)
            speeds = len(self.velocities)
            raise ModelError(
                f"each ball needs a position and a velocity; got {places} positions, {speeds}"
                " velocities"
            )
        walls = (-self.diameter / 2, *self.positions, self.length + self.diameter / 2)
        for left_wall, right in pairwise(walls):
            if not right - left_wall >= self.diameter * (1 - 1e-12):
                raise ModelError(
                    f"balls of diameter {self.diameter:g} overlap between {left_wall:g} and"
                    f" {right:g}"
                )


class BilliardTable:
    """Balls in motion, each known by the place and time of its last collision.

    Pair p is of the balls p - 1 and p, counted from 0; pair 0 is the left wall and the first ball,
    the last pair the last ball and the right wall. Walls stand still.
    """

    def __init__(self, start: InitialState) -> None:
        half = start.diameter / 2
        self._diameter = start.diameter
        self._positions = [-half, *start.positions, start.length + half]
        self._velocities = [0.0, *start.velocities, 0.0]
        self._updated = [0.0] * len(self._positions)

    @property
    def pairs(self) -> range:
        """Number the pairs of neighbours, walls included."""
        return range(len(self._positions) - 1)

    @property
    def velocities(self) -> list[float]:
        """Return the velocities of the balls, from left to right."""
        return self._velocities[1:-1]

    def positions(self, time: float) -> list[float]:
        """Return the places of the balls at a time before their next collisions."""
        return [self._place(ball, time) for ball in range(1, len(self._positions) - 1)]

    def meeting(self, pair: int, now: float) -> float:
        """Return the time at which a pair collides if no other collision comes first; infinite if
        it never does.
        """
        closing = self._velocities[pair] - self._velocities[pair + 1]
        if closing <= 0:
            return math.inf
        gap = self._place(pair + 1, now) - self._place(pair, now) - self._diameter
        return now + max(gap, 0.0) / closing

    def collide(self, pair: int, time: float) -> None:
        """Move a pair to the time of its collision and exchange velocities; a wall reflects a
        ball.
        """
        left_ball = pair
        right = pair + 1
        for ball in (left_ball, right):
            self._positions[ball] = self._place(ball, time)
            self._updated[ball] = time
        if left_ball == 0:
            self._velocities[right] *= -1
        elif right == len(self._positions) - 1:
            self._velocities[left_ball] *= -1
        else:
            exchanged = self._velocities[right], self._velocities[left_ball]
            self._velocities[left_ball], self._velocities[right] = exchanged

    def _place(self, ball: int, time: float) -> float:
        return self._positions[ball] + self._velocities[ball] * (time - self._updated[ball])


def uniform(balls: int, seed: int, number: int = 0) -> InitialState:
    """Place balls at random, speeds uniform from -1 to 1, one ball to a unit of length.

    A line of such points stays as random as at the start, for velocities are only exchanged.

    Parameters
    ----------
    balls : how many [1]
    seed, number : of the random numbers, and of the start among those of the seed

    >>> uniform(3, seed=1).length
    3.0
    """

    random = np.random.default_rng([seed, balls, number])
    positions = np.sort(random.uniform(0, balls, balls))
    velocities = random.uniform(-1, 1, balls)
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
    place; `searched` counts the bins and collisions passed.

    Parameters
    ----------
    width : of a bin [balls' mean distance / greatest speed]
    direct : a bin is found from its time, so that no bin is passed
    """

    def __init__(self, width: float, *, direct: bool = False) -> None:
        self.width = width
        self.direct = direct
        self._bins: dict[int, list[Collision]] = {}
        self._order: list[int] = []
        self._valid: dict[int, Collision] = {}
        self.added = self.searched = self.removed = 0

    def __len__(self) -> int:
        return len(self._valid)

    def add(self, collision: Collision) -> None:
        """Queue a collision, unless it never comes."""
        if collision.time == math.inf:
            return
        number = int(collision.time / self.width)
        passed = bisect_left(self._order, number)
        if number not in self._bins:
            self._bins[number] = []
            self._order.insert(passed, number)
        items = self._bins[number]
        place = bisect_left(items, collision)
        items.insert(place, collision)
        self._valid[collision.pair] = collision
        self.searched += place if self.direct else passed + place
        self.added += 1

    def remove(self, pair: int) -> None:
        """Delete the collision of a pair, if there is one."""
        collision = self._valid.pop(pair, None)
        if collision is None:
            return
        number = int(collision.time / self.width)
        items = self._bins[number]
        del items[bisect_left(items, collision)]
        if not items:
            del self._bins[number], self._order[bisect_left(self._order, number)]
        self.removed += 1

    def first(self) -> Collision | None:
        """Return the earliest collision without removing it."""
        return self._bins[self._order[0]][0] if self._order else None


class BilliardSimulation:
    """Balls and the queue of their collisions, as Scale-Graph's section 5.2 lays it out.

    Parameters
    ----------
    start : places and velocities
    width : of a time bin of the queue [balls' mean distance / greatest speed]
    direct : a bin is found from its time

    >>> run = BilliardSimulation(InitialState((1.0, 2.0), (1.0, -1.0), length=3.0))
    >>> [run.step().time for _ in range(3)]
    [0.5, 2.0, 2.0]
    """

    def __init__(self, start: InitialState, width: float = 0.1, *, direct: bool = False) -> None:
        self.table = BilliardTable(start)
        self.queue = CollisionQueue(width, direct=direct)
        self.done = 0
        self.time = 0.0
        for pair in self.table.pairs:
            self._plan(pair, cause=-1)

    def step(self) -> Collision:
        """Execute the earliest collision and give it."""
        collision = self.queue.first()
        if collision is None:
            raise NoAnswerError(f"after {self.done} collisions no ball moves; give one a velocity")
        pair = collision.pair
        self.time = collision.time
        self.table.collide(pair, self.time)
        around = [
            neighbour for neighbour in (pair - 1, pair, pair + 1) if neighbour in self.table.pairs
        ]
        for neighbour in around:
            self.queue.remove(neighbour)
        for neighbour in around:
            self._plan(neighbour, cause=self.done)
        self.done += 1
        return collision

    def _plan(self, pair: int, cause: int) -> None:
        self.queue.add(Collision(self.table.meeting(pair, self.time), pair, cause))
