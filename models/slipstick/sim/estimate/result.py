"""How much to simulate, and what a simulation saw."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from slipstick.errors import ModelError
from slipstick.sim.estimate.intervals import Estimate, ratio
from slipstick.sim.estimate.quantiles import Quantiles
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.streams import Array

__all__ = ["FEWEST", "Effort", "Result", "sure"]

FEWEST = 10
"""Replications of a program that an interval needs."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to run.

    Parameters
    ----------
    precision : half-width of the interval of a mean time, relative to it, at which to stop [1]
    level : of the intervals [1]
    least : cycles, or replications of a program, that are run at least
    events : planned at most, all replications together
    cycles : run exactly so many cycles (or replications) instead
    """

    precision: float = 0.02
    level: float = 0.95
    least: int = 5000
    events: int = 30_000_000
    cycles: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.precision < 1 and 0 < self.level < 1):
            raise ModelError(f"precision and level lie between 0 and 1, got {self.precision!r} and {self.level!r}")
        if self.least < 1 or self.events < 1 or (self.cycles is not None and self.cycles < 1):
            raise ModelError("least, events and cycles of a simulation must be at least 1")


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
        found = self.quantiles[group].estimate(p, self.dropped, self.effort.level)
        if self.stopped == "complete":
            return Estimate(found.mean, found.mean, found.mean)
        return found if self.trusted else Estimate(found.mean)


def sure(estimate: Estimate, precision: float) -> bool:
    """Say whether an interval is as narrow as wished, relative to its mean."""
    # Written so that a mean below zero, NaN or a missing interval is not.
    return estimate.half_width <= precision * estimate.mean and estimate.mean >= 0
