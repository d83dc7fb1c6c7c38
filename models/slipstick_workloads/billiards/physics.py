"""Balls of one mass on a line between two walls: where they start, when two meet, what a collision does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from slipstick.errors import ModelError


@dataclass(frozen=True, slots=True)
class Start:
    """Balls as they are placed, from left to right, in any unit of length and of time.

    Parameters
    ----------
    positions : of the centres
    velocities : to the right
    length : from wall to wall
    diameter : of every ball

    Raises
    ------
    ModelError : balls overlap, stand in a wall, or there is none
    """

    positions: tuple[float, ...]
    velocities: tuple[float, ...]
    length: float
    diameter: float = 0.0

    def __post_init__(self) -> None:
        if not self.positions or len(self.positions) != len(self.velocities):
            places, speeds = len(self.positions), len(self.velocities)
            raise ModelError(f"each ball needs a position and a velocity; got {places} positions, {speeds} velocities")
        walls = (-self.diameter / 2, *self.positions, self.length + self.diameter / 2)
        for left, right in pairwise(walls):
            if not right - left >= self.diameter * (1 - 1e-12):
                raise ModelError(f"balls of diameter {self.diameter:g} overlap between {left:g} and {right:g}")


class Table:
    """Balls in motion, each known by where and when it last hit something.

    Pair p is of the balls p - 1 and p, counted from 0; pair 0 is the left wall and the first ball, the last pair the
    last ball and the right wall. Walls stand still.
    """

    def __init__(self, start: Start) -> None:
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
        """Give the velocities of the balls, from left to right."""
        return self._velocities[1:-1]

    def positions(self, time: float) -> list[float]:
        """Give where the balls are at a time at which none has hit anything unknown."""
        return [self._place(ball, time) for ball in range(1, len(self._positions) - 1)]

    def meeting(self, pair: int, now: float) -> float:
        """Give when the two of a pair collide, if nothing else happens to them; infinite if they never do."""
        closing = self._velocities[pair] - self._velocities[pair + 1]
        if closing <= 0:
            return math.inf
        gap = self._place(pair + 1, now) - self._place(pair, now) - self._diameter
        return now + max(gap, 0.0) / closing

    def collide(self, pair: int, time: float) -> None:
        """Move the two of a pair to a time and let them exchange velocities; a wall throws a ball back."""
        left, right = pair, pair + 1
        for ball in (left, right):
            self._positions[ball] = self._place(ball, time)
            self._updated[ball] = time
        if left == 0:
            self._velocities[right] *= -1
        elif right == len(self._positions) - 1:
            self._velocities[left] *= -1
        else:
            exchanged = self._velocities[right], self._velocities[left]
            self._velocities[left], self._velocities[right] = exchanged

    def _place(self, ball: int, time: float) -> float:
        return self._positions[ball] + self._velocities[ball] * (time - self._updated[ball])


def uniform(balls: int, seed: int, number: int = 0) -> Start:
    """Place balls at random, speeds uniform from -1 to 1, one ball to a unit of length.

    A line of such points stays as random as it was: velocities are only exchanged.

    Parameters
    ----------
    balls : how many [1]
    seed, number : of the random numbers, and of the start among those of the seed

    >>> uniform(3, seed=1).length
    3.0
    """
    import numpy as np  # only now: to list programs takes no numerical library

    random = np.random.default_rng([seed, balls, number])
    positions, velocities = np.sort(random.uniform(0, balls, balls)), random.uniform(-1, 1, balls)
    return Start(tuple(positions.tolist()), tuple(velocities.tolist()), float(balls))
