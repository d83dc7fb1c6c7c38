"""The dependency rule of the parallel step: which collisions N processors may execute at once.

The step takes the N earliest collisions of the queue. One depends on an earlier one if they share a ball (overlap), or
if the earlier one leads to a new collision that comes first (early recollision). With the k-th the first that
depends, k - 1 are executed, and the state is that of the sequential program after as many.

So a step goes on until the sequential program would execute what was queued within the step. Overlap needs no rule of
its own: if a ball is about to be hit from both sides, the first hit makes it, or what hit it, meet the other side sooner
than was planned, and that new collision ends the step before the overlap does. (Masses are equal; a wall does the same.)

Source: Scale-Graph, IEEE TSE 1997, section 5.2. It calls k the largest processor of a dependency; read as the first here.
"""

from __future__ import annotations

from collections.abc import Sequence


def first_dependent(causes: Sequence[int]) -> list[int]:
    """Give, for a step that begins with each collision, the first collision that it cannot execute.

    One run of the sequential program tells it for every number of processors.

    Parameters
    ----------
    causes : of each collision, in order, the number of that after which it was queued; -1 at the start

    >>> first_dependent([-1, -1, 0, 1])
    [2, 3, 4, 4]
    """
    earliest = [len(causes)] * len(causes)
    for number, cause in reversed(list(enumerate(causes))):
        if cause >= 0:
            earliest[cause] = number
    for number in range(len(causes) - 2, -1, -1):
        earliest[number] = min(earliest[number], earliest[number + 1])
    return earliest


def executed(dependent: Sequence[int], processors: int) -> list[int]:
    """Give how many collisions each parallel step executes.

    Parameters
    ----------
    dependent : as `first_dependent` gives it
    processors : N, which take one collision each [1]

    >>> executed([2, 3, 4, 4], processors=8)
    [2, 2]
    """
    sizes, begin = [], 0
    while begin < len(dependent):
        end = min(begin + processors, dependent[begin])
        sizes.append(end - begin)
        begin = end
    return sizes
