"""What a simulation saw."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from slipstick.sim.effort import Effort
from slipstick.sim.estimate.intervals import Estimate, ratio
from slipstick.sim.estimate.quantiles import Quantiles
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.streams import Array

__all__ = ["FEWEST", "Result", "sure"]

FEWEST = 10
"""Replications of a program that an interval needs."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a simulation saw after the warm-up.

    Parameters
    ----------
    plan, seed, effort : what was run
    batches : sums over batches of cycles, or over replications, by the columns of `Layout`
    quantiles : of the cycle times, by class
    stopped : why it ended: precision, events, cycles, complete (a program without randomness) or interrupted
    converged : the intervals are as wide as wished, and can be trusted
    trusted : the intervals can be trusted
    dropped : cycles of the warm-up, left out
    cycles, events : in all, the warm-up included
    kernel : plain or compiled
    """

    plan: Plan
    seed: int
    effort: Effort
    batches: Array
    quantiles: tuple[Quantiles, ...]
    stopped: str
    converged: bool
    trusted: bool
    dropped: int
    cycles: int
    events: int
    kernel: str

    def ratio(self, top: Array, bottom: Array) -> Estimate:
        """Estimate a ratio of two weighted sums of columns, see `Layout`."""
        if not len(self.batches):
            return Estimate(math.nan)
        found = ratio(self.batches @ top, self.batches @ bottom, self.effort.level)
        if self.stopped == "complete":
            return Estimate(found.mean, found.mean, found.mean)
        return found if self.trusted else Estimate(found.mean)

    def column(self, index: int, weight: float = 1.0) -> Array:
        """Give weights that pick one column."""
        weights = np.zeros(Layout(self.plan).width)
        weights[index] = weight
        return weights

    def mean_time(self, group: int = 0) -> Estimate:
        """Estimate the mean time of a cycle of a class, or of a program [s]."""
        layout = Layout(self.plan)
        return self.ratio(self.column(layout.cycle_time[group]), self.column(layout.cycles[group]))

    def with_convergence(self) -> Result:
        """Say of a program whether its mean time is sure enough."""
        known = self.stopped == "complete" or sure(self.mean_time(), self.effort.precision)
        trusted = self.trusted or self.stopped == "complete"
        return replace(self, trusted=trusted, converged=trusted and known and self.stopped != "interrupted")

    def time_quantile(self, p: float, group: int = 0) -> Estimate:
        """Estimate a quantile of the time of a cycle [s]."""
        found = self.quantiles[group].estimate(p, self._dropped_of(group), self.effort.level)
        if self.stopped == "complete":
            return Estimate(found.mean, found.mean, found.mean)
        return found if self.trusted else Estimate(found.mean)

    def _dropped_of(self, group: int) -> int:
        """Share the cycles dropped among the classes, as they end."""
        layout = Layout(self.plan)
        cycles = self.batches[:, layout.cycles].sum(axis=0)
        return round(self.dropped * cycles[group] / cycles.sum()) if cycles.sum() else self.dropped


def sure(estimate: Estimate, precision: float) -> bool:
    """Say whether an interval is as narrow as wished, relative to its mean."""
    # Written so that a mean below zero, NaN or a missing interval is not.
    return estimate.half_width <= precision * estimate.mean and estimate.mean >= 0
