"""Statistics of measured rows that need no fitted law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from slipstick.late import Array, np
from slipstick.report.formatting import percent
from slipstick_measure.fit.formula import Timings

ROW_TOLERANCE = 0.05
"""Relative difference up to which a result of a law agrees with a row."""


@dataclass(frozen=True)
class MeasuredRows:
    """The medians of timings by processors, for the largest size.

    Parameters
    ----------
    timings : what was measured
    efficiency : goal, to which that of the rows is compared [1]
    """

    timings: Timings
    efficiency: float

    @cached_property
    def medians(self) -> tuple[Array, Array]:
        """Processors, ascending, and the median times there [s]."""
        timings_of_size = self.timings.select(self.timings.n == self.timings.n.max())
        p = timings_of_size.processors
        return p, np.array(
            [np.median(timings_of_size.time[timings_of_size.p == processors]) for processors in p]
        )

    @cached_property
    def speedups(self) -> Array:
        """Speed-ups over the smallest number of processors, times that number."""
        p, time = self.medians
        ratios: Array = time[0] / time * (p if self.timings.weak_scaling else p[0])
        return ratios

    @cached_property
    def noise(self) -> float:
        """Standard deviation of the logarithms of repetitions; 0 where there are none."""
        log_deviations = []
        for p in self.timings.processors:
            logs = np.log(self.timings.time[self.timings.p == p])
            if len(logs) > 1 and not self.timings.has_sizes:
                log_deviations += (logs - logs.mean()).tolist()
        freedom = len(log_deviations) - len({*self.timings.p.tolist()})
        return float(np.sqrt(np.sum(np.square(log_deviations)) / freedom)) if freedom > 0 else 0.0

    @cached_property
    def crossing(self) -> tuple[float, float]:
        """The adjacent numbers of processors between which the efficiency falls below the goal; the
        largest number and infinity if it does not fall below it.
        """
        p, _ = self.medians
        rows_below = np.flatnonzero(self.speedups / p < self.efficiency)
        first_below = int(rows_below[0]) if len(rows_below) else len(p)
        return float(p[max(first_below - 1, 0)]), float(p[first_below]) if first_below < len(
            p
        ) else np.inf

    def sentences(self) -> list[str]:
        """Return one text in a list: where the measured efficiency falls below the goal, and where
        the speed-up is highest; nothing with fewer than two numbers of processors.
        """
        p, _ = self.medians
        if len(p) < 2:
            return []
        goal_text = percent(self.efficiency)
        efficiency_by_processors = dict(zip(p.tolist(), (self.speedups / p).tolist(), strict=True))
        last_at_goal, first_below_goal = self.crossing
        reference_text = "" if p[0] == 1 else f" over p = {p[0]:g}"
        if np.isinf(first_below_goal):
            sentence = (
                f"Measured: efficiency{reference_text} is"
                f" {percent(efficiency_by_processors[last_at_goal])} at p ="
                f" {last_at_goal:g}, the largest measured; it does not fall below {goal_text}."
            )
        else:
            sentence = (
                f"Measured: efficiency{reference_text} falls below {goal_text} between p ="
                f" {last_at_goal:g}"
                f" ({percent(efficiency_by_processors[last_at_goal])}) and p ="
                f" {first_below_goal:g} ({percent(efficiency_by_processors[first_below_goal])})."
            )
        best_index = int(self.speedups.argmax())
        if best_index < len(p) - 1:
            sentence += f" The measured speed-up is highest at p = {p[best_index]:g}."
        return [sentence]

    def agrees_on_efficiency(self, processors: float) -> bool:
        """Return whether no row contradicts a law's number of efficient processors."""
        low, high = self.crossing
        return low * (1 - ROW_TOLERANCE) <= processors <= high * (1 + ROW_TOLERANCE)

    def agrees_on_speedup(self, largest_speedup: float) -> bool:
        """Return whether no row contradicts a law's largest speed-up."""
        p, _ = self.medians
        return float(self.speedups.max()) <= float(p[0]) * largest_speedup * (1 + ROW_TOLERANCE)

    def agrees_on_fastest(self, processors: float) -> bool:
        """Return whether no row on more processors is faster than all rows on at most
        `processors`.
        """
        p, time = self.medians
        times_beyond = time[p > processors * (1 + ROW_TOLERANCE)]
        times_inside = time[p <= processors * (1 + ROW_TOLERANCE)]
        return (
            not len(times_beyond)
            or not len(times_inside)
            or times_beyond.min() >= times_inside.min() * (1 - ROW_TOLERANCE)
        )
