"""Statistics of measured rows that need no fitted law."""

from __future__ import annotations

from functools import cached_property

from slipstick.late import Array, dataclass, np
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
        processor_counts = timings_of_size.processors
        return processor_counts, np.array(
            [
                np.median(timings_of_size.time[timings_of_size.p == processor_count])
                for processor_count in processor_counts
            ]
        )

    @cached_property
    def speedups(self) -> Array:
        """Speed-ups over the smallest number of processors, times that number."""
        processor_counts, times = self.medians
        speedups: Array = (
            times[0]
            / times
            * (processor_counts if self.timings.weak_scaling else processor_counts[0])
        )
        return speedups

    @cached_property
    def noise(self) -> float:
        """Standard deviation of the logarithms of repetitions; 0 where there are none."""
        log_deviations = []
        for processor_count in self.timings.processors:
            log_times = np.log(self.timings.time[self.timings.p == processor_count])
            if len(log_times) > 1 and not self.timings.has_sizes:
                log_deviations += (log_times - log_times.mean()).tolist()
        degrees_of_freedom = len(log_deviations) - len({*self.timings.p.tolist()})
        return (
            float(np.sqrt(np.sum(np.square(log_deviations)) / degrees_of_freedom))
            if degrees_of_freedom > 0
            else 0.0
        )

    @cached_property
    def crossing(self) -> tuple[float, float]:
        """The adjacent numbers of processors between which the efficiency falls below the goal; the
        largest number and infinity if it does not fall below it.
        """
        processor_counts, _ = self.medians
        indices_below = np.flatnonzero(self.speedups / processor_counts < self.efficiency)
        first_index_below = int(indices_below[0]) if len(indices_below) else len(processor_counts)
        return float(processor_counts[max(first_index_below - 1, 0)]), float(
            processor_counts[first_index_below]
        ) if first_index_below < len(processor_counts) else np.inf

    def sentences(self) -> list[str]:
        """Return one text in a list: where the measured efficiency falls below the goal, and where
        the speed-up is highest; nothing with fewer than two numbers of processors.
        """
        processor_counts, _ = self.medians
        if len(processor_counts) < 2:
            return []
        goal_text = percent(self.efficiency)
        efficiency_by_processors = dict(
            zip(processor_counts.tolist(), (self.speedups / processor_counts).tolist(), strict=True)
        )
        last_count_at_goal, first_count_below_goal = self.crossing
        reference_text = "" if processor_counts[0] == 1 else f" over p = {processor_counts[0]:g}"
        if np.isinf(first_count_below_goal):
            sentence = (
                f"Measured: efficiency{reference_text} is"
                f" {percent(efficiency_by_processors[last_count_at_goal])} at p ="
                f" {last_count_at_goal:g}, the largest measured; it does not fall below"
                f" {goal_text}."
            )
        else:
            sentence = (
                f"Measured: efficiency{reference_text} falls below {goal_text} between p ="
                f" {last_count_at_goal:g}"
                f" ({percent(efficiency_by_processors[last_count_at_goal])}) and p ="
                f" {first_count_below_goal:g}"
                f" ({percent(efficiency_by_processors[first_count_below_goal])})."
            )
        best_index = int(self.speedups.argmax())
        if best_index < len(processor_counts) - 1:
            sentence += (
                f" The measured speed-up is highest at p = {processor_counts[best_index]:g}."
            )
        return [sentence]

    def agrees_on_efficiency(self, processors: float) -> bool:
        """Return whether no row contradicts a law's number of efficient processors."""
        last_count_at_goal, first_count_below_goal = self.crossing
        return (
            last_count_at_goal * (1 - ROW_TOLERANCE)
            <= processors
            <= first_count_below_goal * (1 + ROW_TOLERANCE)
        )

    def agrees_on_speedup(self, largest_speedup: float) -> bool:
        """Return whether no row contradicts a law's largest speed-up."""
        processor_counts, _ = self.medians
        return float(self.speedups.max()) <= float(processor_counts[0]) * largest_speedup * (
            1 + ROW_TOLERANCE
        )

    def agrees_on_fastest(self, processors: float) -> bool:
        """Return whether no row on more processors is faster than all rows on at most
        `processors`.
        """
        processor_counts, times = self.medians
        times_beyond = times[processor_counts > processors * (1 + ROW_TOLERANCE)]
        times_inside = times[processor_counts <= processors * (1 + ROW_TOLERANCE)]
        return (
            not len(times_beyond)
            or not len(times_inside)
            or times_beyond.min() >= times_inside.min() * (1 - ROW_TOLERANCE)
        )
