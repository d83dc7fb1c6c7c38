"""The sequential simulation of the balls, one collision after the other."""

from __future__ import annotations

from slipstick.errors import NoAnswerError
from slipstick_workloads.billiards.physics import Start, Table
from slipstick_workloads.billiards.queue import Collision, EventQueue


class Simulation:
    """Balls and the queue of their collisions, as Scale-Graph's section 5.2 lays it out.

    Its bins are a heap here, which gives the same order; what bins cost is the model's part.

    >>> run = Simulation(Start((1.0, 2.0), (1.0, -1.0), length=3.0))
    >>> [run.step().time for _ in range(3)]
    [0.5, 2.0, 2.0]
    """

    def __init__(self, start: Start) -> None:
        self.table = Table(start)
        self.queue = EventQueue()
        self.done = 0
        self.time = 0.0
        for pair in self.table.pairs:
            self._plan(pair, cause=-1)

    def step(self) -> Collision:
        """Execute the earliest collision and give it."""
        collision = self.queue.first()
        if collision is None:
            raise NoAnswerError(f"after {self.done} collisions no ball moves; give one a velocity")
        pair, self.time = collision.pair, collision.time
        self.table.collide(pair, self.time)
        around = [each for each in (pair - 1, pair, pair + 1) if each in self.table.pairs]
        for each in around:
            self.queue.remove(each)
        for each in around:
            self._plan(each, cause=self.done)
        self.done += 1
        return collision

    def _plan(self, pair: int, cause: int) -> None:
        self.queue.add(Collision(self.table.meeting(pair, self.time), pair, cause))
