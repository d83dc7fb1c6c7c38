"""Counts of the simulated balls: parallelism of a step, length of the queue, additions and
removals.

The dependency rule says which collisions N processors may execute at once. A step takes the N
earliest collisions of the queue. One depends on an earlier one if they share a ball (overlap), or
if the earlier one leads to a new collision that comes first (early recollision). If the k-th is the
first that depends on another, k - 1 are executed, and the state is that of the sequential program
after k - 1 collisions.

So a step continues until the sequential program would execute a collision that was queued within
the step. Overlap needs no rule of its own: if a ball is about to be hit from both sides, the first
hit makes it, or the ball that hit it, collide with the other side sooner than planned, and that new
collision ends the step before the overlap does. (Masses are equal; a wall has the same effect.)

Source: Scale-Graph, IEEE TSE 1997, section 5.2. It calls k the largest processor of a dependency;
read as the first here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from slipstick.late import dataclass
from slipstick_workloads.billiards.simulation import BilliardSimulation, uniform_start


def first_dependents_by_collision(causes: Sequence[int]) -> list[int]:
    """Return for each collision the number of the first collision that cannot be in a parallel step
    which begins with it, because it depends on a collision of that step.

    One run of the sequential program gives it for every number of processors.

    Parameters
    ----------
    causes : for each collision, in order, the number of the collision after which it was queued; -1
        at the start

    >>> first_dependents_by_collision([-1, -1, 0, 1])
    [2, 3, 4, 4]
    """
    first_dependents = [len(causes)] * len(causes)
    for index, cause in reversed(list(enumerate(causes))):
        if cause >= 0:
            first_dependents[cause] = index
    for index in range(len(causes) - 2, -1, -1):
        first_dependents[index] = min(first_dependents[index], first_dependents[index + 1])
    return first_dependents


def collisions_per_step(first_dependents: Sequence[int], processors: int) -> list[int]:
    """Return the number of collisions that each parallel step executes.

    Parameters
    ----------
    first_dependents : as `first_dependents_by_collision` returns them
    processors : N, which take one collision each [1]

    >>> collisions_per_step([2, 3, 4, 4], processors=8)
    [2, 2]
    """
    step_sizes = []
    first_of_step = 0
    while first_of_step < len(first_dependents):
        end_of_step = min(first_of_step + processors, first_dependents[first_of_step])
        step_sizes.append(end_of_step - first_of_step)
        first_of_step = end_of_step
    return step_sizes


COLLISIONS_PER_BALL = 10
"""Collisions of each ball in a run; then balls are placed again, so that results for few balls
do not depend on one start.
"""


@dataclass(frozen=True, slots=True)
class CollisionCounts:
    """Mean counts of sequential runs; they hold for every number of processors.

    Parameters
    ----------
    queued_at_start : collisions in the queue at the start of a run [1]
    entries_passed_at_start : bins and collisions passed to queue all of them [1]
    additions, entries_passed, removals : by one collision, its own removal included; passed as in
        `CollisionQueue` [1]
    first_dependents_of_runs : of each run, see `first_dependents_by_collision`
    """

    queued_at_start: float
    entries_passed_at_start: float
    additions: float
    entries_passed: float
    removals: float
    first_dependents_of_runs: tuple[tuple[int, ...], ...]

    def parallelism(self, processors: int) -> float:
        """Return the mean number of collisions that a step of N processors executes [1]."""
        step_counts = [
            len(collisions_per_step(first_dependents, processors))
            for first_dependents in self.first_dependents_of_runs
        ]
        return sum(map(len, self.first_dependents_of_runs)) / sum(step_counts)


@lru_cache(maxsize=256)
def observe(
    balls: int, collision_count: int, seed: int, bin_width: float = 0.1, *, is_direct: bool = False
) -> CollisionCounts:
    """Return the mean counts of several runs of the sequential program; cached by the arguments.

    Parameters
    ----------
    balls : how many [1]
    collision_count : to execute at least, all runs together; the more, the closer the means [1]
    seed : of the places and speeds
    bin_width : of a time bin of the queue [balls' mean distance / greatest speed]
    is_direct : a bin is found from its time, so that a search passes collisions of one bin only

    >>> observe(balls=100, collision_count=1000, seed=1).parallelism(1)
    1.0
    """
    collisions_of_run = min(COLLISIONS_PER_BALL * balls, collision_count)
    runs = [
        _counts_of_run(
            BilliardSimulation(
                uniform_start(balls, seed, run_number), bin_width, is_direct=is_direct
            ),
            collisions_of_run,
        )
        for run_number in range(-(-collision_count // collisions_of_run))
    ]
    run_weight = 1 / len(runs)
    collision_weight = 1 / (len(runs) * collisions_of_run)
    return CollisionCounts(
        queued_at_start=sum(run.queued_at_start for run in runs) * run_weight,
        entries_passed_at_start=sum(run.entries_passed_at_start for run in runs) * run_weight,
        additions=sum(run.additions for run in runs) * collision_weight,
        entries_passed=sum(run.entries_passed for run in runs) * collision_weight,
        removals=sum(run.removals for run in runs) * collision_weight,
        first_dependents_of_runs=tuple(
            first_dependents for run in runs for first_dependents in run.first_dependents_of_runs
        ),
    )


def _counts_of_run(simulation: BilliardSimulation, collisions: int) -> CollisionCounts:
    """Return the counts of one run, added up over its collisions."""
    queue = simulation.queue
    queued_at_start = queue.additions
    entries_passed_at_start = queue.entries_passed
    causes = [simulation.step().cause for _ in range(collisions)]
    first_dependents_of_runs = (tuple(first_dependents_by_collision(causes)),)
    return CollisionCounts(
        queued_at_start,
        entries_passed_at_start,
        queue.additions - queued_at_start,
        queue.entries_passed - entries_passed_at_start,
        queue.removals,
        first_dependents_of_runs,
    )
