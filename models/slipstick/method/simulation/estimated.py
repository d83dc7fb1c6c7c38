"""What a simulation saw, as values, notes and shares: the same for activities and queueing networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from slipstick.answer import Answer, Value
from slipstick.sim.effort import Effort
from slipstick.sim.estimate.intervals import Estimate, t_quantile
from slipstick.sim.estimate.result import Result
from slipstick.sim.plan.streams import Array

__all__ = ["ROUNDING", "Differences", "as_value", "notes_of"]

ROUNDING = 1e-9
"""An interval narrower than this part of its mean is rounding."""

STEP = 0.02
"""Relative step of the differences that shares are read from."""

NOT_TRUSTED = "not converged: the run is too short, or drifts, so no interval can be trusted"


def as_value(estimate: Estimate, unit: str) -> Value:
    """Write an estimate as a value with its interval.

    Parameters
    ----------
    estimate : of something that is never negative
    unit : its base unit
    """
    if estimate.half_width <= ROUNDING * abs(estimate.mean):
        return Value(estimate.mean, unit, estimate.mean, estimate.mean)
    # A wait or a use cannot be below nothing, however wide its interval.
    low = None if estimate.low is None else min(max(estimate.low, 0.0), estimate.mean)
    return Value(estimate.mean, unit, low, estimate.high)


def notes_of(result: Result) -> tuple[str, ...]:
    """Say what was run, why it ended there, and how sure the least sure of the mean times is.

    Parameters
    ----------
    result : of a simulation
    """
    what = "replications" if result.plan.once else "cycles"
    precision = f"{100 * result.effort.precision:g} %"
    why = {
        "precision": f"stopped at the wished precision of {precision}",
        "events": f"stopped at the budget of {result.effort.events} events",
        "cycles": f"ran {result.effort.cycles} {what}, as asked",
        "complete": "ran the program once: nothing in it is random",
        "interrupted": "unfinished: it was interrupted",
    }[result.stopped]
    notes = [f"{why}, after {result.cycles} {what}; {result.dropped} of them dropped as warm-up"]
    if result.plan.once or not result.dropped:
        notes = [f"{why}, after {result.cycles} {what}"]
    if not result.converged:
        reached = max(_width(result.mean_time(group)) for group in range(len(result.plan.members)))
        known = f"not converged: the mean time is known within {100 * reached:.2g} %"
        notes.append(known if math.isfinite(reached) else NOT_TRUSTED)
    return tuple(notes)


def _width(estimate: Estimate) -> float:
    return estimate.half_width / estimate.mean if estimate.mean else math.inf


@dataclass(frozen=True, slots=True)
class Differences:
    """Shares of a mean, from differences of runs with the same random numbers.

    Parameters
    ----------
    value : what the mean is called
    again : runs the model once more, at the values given and as long as asked, and gives its means over the batches
    base : the run that the answer was made of

    Source: common random numbers; Law, Simulation Modeling and Analysis, 4th ed., 2007, section 11.2.
    """

    value: str
    again: Callable[[Mapping[str, float], Effort], Array]
    base: Result

    def added_to(
        self, answer: Answer, names: Sequence[str], here: Mapping[str, float], powers: Mapping[str, int]
    ) -> Answer:
        """Add shares and gradient by parameters, which cost two runs each; parameters that are 0 have none.

        Parameters
        ----------
        answer : without shares
        names : of the parameters
        here : their values, in base units
        powers : of time in their units [1]
        """
        mean = answer[self.value]
        shares, gradient, found = {}, {}, dict(answer.values)
        for name in names:
            theta = here[name]
            if not theta or not mean:
                continue
            elasticity, power = self._elasticity(name, theta, mean), powers[name]
            shares[name] = power * elasticity.mean
            gradient[name] = elasticity.mean * mean / theta
            ends = [None if end is None else power * end for end in (elasticity.low, elasticity.high)]
            low, high = ends if power > 0 else reversed(ends)
            found[f"share[{self.value},{name}]"] = Value(shares[name], "1", low, high)
        note = f"shares of the largest {len(shares)} by differences of {100 * STEP:g} % under common random numbers"
        return replace(
            answer,
            values=found,
            share={self.value: shares},
            gradient={self.value: gradient},
            notes=(*answer.notes, note),
        )

    def _elasticity(self, name: str, theta: float, mean: float) -> Estimate:
        """Estimate theta / T x dT/dtheta from two runs, batch by batch."""
        effort = replace(self.base.effort, cycles=self.base.cycles)
        high, low = (self.again({name: theta * (1 + side)}, effort) for side in (STEP, -STEP))
        count = min(len(high), len(low))
        differences = (high[-count:] - low[-count:]) / (2 * STEP * mean)
        slope = float(differences.mean())
        if count < 2:
            return Estimate(slope, slope, slope) if self.base.stopped == "complete" else Estimate(slope)
        half = t_quantile(self.base.effort.level, count - 1) * float(differences.std(ddof=1)) / math.sqrt(count)
        return Estimate(slope, slope - half, slope + half)
