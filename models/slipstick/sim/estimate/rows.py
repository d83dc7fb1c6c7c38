"""Rows of statistics: everything that a run has counted so far, as one line of numbers.

Differences of rows are sums over a stretch of the run, and estimates are ratios of such sums; so rows are
all that estimates need, whatever kernel wrote them.
"""

from __future__ import annotations

from slipstick.sim.plan.plan import Plan

__all__ = ["CHUNK", "Layout", "chunk"]

CHUNK = 40
"""Cycles between two rows, at least; a multiple of 5, for MSER-5."""


def chunk(plan: Plan) -> int:
    """Say after how many cycles a row is written: whole rounds of the population.

    Members in step then end their cycles together just before a row. Where nothing is random, one round.
    """
    members = max(plan.population, 1)
    if not plan.random:
        return members
    return members * -(-CHUNK // members)


class Layout:
    """Where a row keeps what.

    Attributes
    ----------
    time, order : the clock [s], and how many events were planned so far
    cycles, cycle_time : by class, cycles ended and the sum of their times [s]
    area, use, done : by resource, integrals of present and busy [s], and visits ended
    booked : by class, the first of its labels' sums over the cycles ended [s]
    tried, refused : by gate, who came, and who of them was sent away
    taken, waited, squares : by lock, how often it was taken, and the waits for it added up, and squared [s, s^2]
    width : columns of a row
    """

    def __init__(self, plan: Plan) -> None:
        classes, resources, labels = len(plan.members), len(plan.resources), len(plan.labels)
        self.time, self.order = 0, 1
        self.cycles = [2 + 2 * each for each in range(classes)]
        self.cycle_time = [3 + 2 * each for each in range(classes)]
        first = 2 + 2 * classes
        self.area = [first + 3 * each for each in range(resources)]
        self.use = [first + 3 * each + 1 for each in range(resources)]
        self.done = [first + 3 * each + 2 for each in range(resources)]
        first += 3 * resources
        self.booked = [first + labels * each for each in range(classes)]
        self.labels = labels
        first += labels * classes
        self.tried = [first + 2 * each for each in range(len(plan.gates))]
        self.refused = [first + 2 * each + 1 for each in range(len(plan.gates))]
        first += 2 * len(plan.gates)
        locks = range(len(plan.locks))
        self.taken = [first + 3 * each for each in locks]
        self.waited = [first + 3 * each + 1 for each in locks]
        self.squares = [first + 3 * each + 2 for each in locks]
        self.width = first + 3 * len(plan.locks)
