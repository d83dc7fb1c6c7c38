"""What the simulation of the balls counts: parallelism of a step, length of the queue, additions and removals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from slipstick_workloads.billiards.dependency import executed, first_dependent
from slipstick_workloads.billiards.physics import uniform
from slipstick_workloads.billiards.simulate import Simulation

LAPS = 10
"""Collisions of each ball in a run; then the balls are placed anew, so that few balls are not always the same ones."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Means over runs, one collision after the other; they hold for every number of processors.

    Parameters
    ----------
    queued : collisions in the queue at the start of a run [1]
    added, removed : by one collision, its own removal included [1]
    dependent : of each run, see `first_dependent`
    """

    queued: float
    added: float
    removed: float
    dependent: tuple[tuple[int, ...], ...]

    def parallelism(self, processors: int) -> float:
        """Give the mean number of collisions that a step of N processors executes [1]."""
        steps = [len(executed(each, processors)) for each in self.dependent]
        return sum(map(len, self.dependent)) / sum(steps)


@lru_cache(maxsize=256)
def observe(balls: int, collisions: int, seed: int) -> Counts:
    """Run the sequential program and count; the same arguments are not run again.

    Parameters
    ----------
    balls : how many [1]
    collisions : to execute at least, all runs together; the more, the closer the means [1]
    seed : of the places and speeds

    >>> observe(balls=100, collisions=1000, seed=1).parallelism(1)
    1.0
    """
    each = min(LAPS * balls, collisions)
    runs = [_observed(balls, each, seed, number) for number in range(-(-collisions // each))]
    per_run, per_collision = 1 / len(runs), 1 / (len(runs) * each)
    return Counts(
        queued=sum(run.queued for run in runs) * per_run,
        added=sum(run.added for run in runs) * per_collision,
        removed=sum(run.removed for run in runs) * per_collision,
        dependent=tuple(one for run in runs for one in run.dependent),
    )


def _observed(balls: int, collisions: int, seed: int, number: int) -> Counts:
    """Count in one run, in all."""
    run = Simulation(uniform(balls, seed, number))
    queued = run.queue.added
    causes = [run.step().cause for _ in range(collisions)]
    dependent = (tuple(first_dependent(causes)),)
    return Counts(queued, run.queue.added - queued, run.queue.removed, dependent)
