"""The queue of collisions to come: first the earliest; a collision deletes those that it makes obsolete."""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple


class Collision(NamedTuple):
    """A collision to come, ordered by time, then from left to right.

    Parameters
    ----------
    time : when
    pair : who
    cause : number of the collision after which it was queued; -1 at the start
    """

    time: float
    pair: int
    cause: int


class EventQueue:
    """Collisions to come, at most one of each pair; it counts what is added and removed."""

    def __init__(self) -> None:
        self._heap: list[Collision] = []
        self._valid: dict[int, Collision] = {}
        self.added = self.removed = 0

    def __len__(self) -> int:
        return len(self._valid)

    def add(self, collision: Collision) -> None:
        """Queue a collision, unless it never comes."""
        if collision.time < math.inf:
            heapq.heappush(self._heap, collision)
            self._valid[collision.pair] = collision
            self.added += 1

    def remove(self, pair: int) -> None:
        """Delete the collision of a pair, if there is one."""
        if self._valid.pop(pair, None) is not None:
            self.removed += 1

    def first(self) -> Collision | None:
        """Give the earliest, and leave it there."""
        while self._heap and self._valid.get(self._heap[0].pair) is not self._heap[0]:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None
