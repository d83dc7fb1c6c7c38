"""What the simulation of the balls counts: parallelism of a step, length of the queue, additions and removals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from slipstick.program.billiards.dependency import executed, first_dependent
from slipstick.program.billiards.physics import uniform
from slipstick.program.billiards.simulate import Simulation

__all__ = ["Counts", "observe"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Means of a run, one collision after the other; they hold for every number of processors.

    Parameters
    ----------
    queued : collisions in the queue at the start [1]
    added, removed : by one collision, its own removal included [1]
    dependent : see `first_dependent`
    """

    queued: int
    added: float
    removed: float
    dependent: tuple[int, ...]

    def parallelism(self, processors: int) -> float:
        """Give the mean number of collisions that a step of N processors executes [1]."""
        sizes = executed(self.dependent, processors)
        return len(self.dependent) / len(sizes)


@lru_cache(maxsize=256)
def observe(balls: int, collisions: int, seed: int) -> Counts:
    """Run the sequential program and count; the same arguments are not run again.

    Parameters
    ----------
    balls : how many [1]
    collisions : to execute; the more, the closer the means [1]
    seed : of the places and speeds

    >>> observe(balls=100, collisions=1000, seed=1).parallelism(1)
    1.0
    """
    run = Simulation(uniform(balls, seed))
    queued = run.queue.added
    causes = [run.step().cause for _ in range(collisions)]
    added, removed = (run.queue.added - queued) / collisions, run.queue.removed / collisions
    return Counts(queued, added, removed, tuple(first_dependent(causes)))
