"""The scalability of measured runs by the latency metric of Scale-Graph: L / L' of two numbers of
processors, each at the size that keeps the efficiency, the time, or the memory of a processor.

Sizes lie between measured ones: the logarithm of the time and the efficiency are straight lines in
the logarithm of the size from one measured size to the next, and nothing is taken beyond the
smallest and the largest. How far that is off is that of the runs' own curve; a size more in between
shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from slipstick.answer import Answer
from slipstick.errors import ModelError
from slipstick.late import dataclass
from slipstick.report.formatting import join_phrases
from slipstick_laws.account import AVERAGE_LATENCY
from slipstick_laws.scalability import LATENCY_SCALABILITY

EFFICIENCY = "efficiency"
TIME = "time"
MEMORY = "memory"
WAYS = (TIME, EFFICIENCY, MEMORY)
"""The quantities that may be kept constant between two numbers of processors, in the order of a
cell of Scale-Graph's Figure 14: time-bound, efficiency-conserved, memory-bound.
"""

LOST = "processors_lost["


class MeasuredRun(NamedTuple):
    """A measured or interpolated run.

    Parameters
    ----------
    size : of the problem [1]
    time : elapsed [s]
    efficiency : of a processor [1]
    memory : of all processors together [B]; None if it was not measured
    """

    size: float
    time: float
    efficiency: float
    memory: float | None = None

    @property
    def latency(self) -> float:
        """The average overhead latency of a processor [s]."""
        return float(AVERAGE_LATENCY.equation(time=self.time, efficiency=self.efficiency))


@dataclass(frozen=True, slots=True)
class MeasuredScalability:
    """The scaling of measured runs in each of the `WAYS`.

    Parameters
    ----------
    goal_by_way : what is kept in each way: the time [s], the efficiency [1], and of a processor the
        memory [B], or the size [1] where no memory was measured
    run_by_way_and_processors : in each way, for each number of processors, the run that keeps it;
        None where no size that was measured does
    range_by_way_and_processors : in each way, for each number of processors, the least and the
        greatest of what is kept that was measured, in the units of the goals
    latency_by_run_and_cause : of each run that was measured with causes, by processors and size:
        the average latency by cause [s]
    has_memory : whether the memory was measured, and is not taken as in proportion to the size
    """

    goal_by_way: Mapping[str, float]
    run_by_way_and_processors: Mapping[str, Mapping[int, MeasuredRun | None]]
    range_by_way_and_processors: Mapping[str, Mapping[int, tuple[float, float]]]
    latency_by_run_and_cause: Mapping[tuple[int, float], Mapping[str, float]]
    has_memory: bool = False

    @property
    def processors(self) -> list[int]:
        """The numbers of processors, in rising order."""
        return sorted(next(iter(self.run_by_way_and_processors.values())))

    def latency_ratio(self, way: str, smaller_count: int, larger_count: int) -> float | None:
        """Return the ratio L / L' of the average latencies on two numbers of processors, each at
        the size that keeps a quantity constant; None if a run at that size or its latency is
        missing.
        """
        smaller_run = self.run_by_way_and_processors[way][smaller_count]
        larger_run = self.run_by_way_and_processors[way][larger_count]
        if (
            smaller_run is None
            or larger_run is None
            or not (smaller_run.latency > 0 and larger_run.latency > 0)
        ):
            return None
        ratio = LATENCY_SCALABILITY.equation(
            latency=smaller_run.latency, more_latency=larger_run.latency
        )
        return float(ratio)


def measured_scalability(
    answers: Sequence[Answer], required_goals: Mapping[str, float] | None = None
) -> MeasuredScalability:
    """Return, for each number of processors, the size that keeps the efficiency, the time or the
    memory, and the latency at that size.

    Parameters
    ----------
    answers : accounts of runs of several sizes on several numbers of processors, as
        `slipstick_measure.account.measured` makes them
    required_goals : what to keep, by `EFFICIENCY`, `TIME` and `MEMORY`; what is left out is the
        middle of what most of the numbers of processors reach, and the smallest size a processor
        that all do

    Raises
    ------
    ModelError : there are not two sizes on each of two numbers of processors, or no efficiencies

    >>> from slipstick_measure.account import measured
    >>> from slipstick_measure.measurements import Measurement, Measurements
    >>> rows = [
    ...     Measurement(p, float(n), "", "time", "s", n / p + p, None, "f", 1)
    ...     for p in (1, 2, 4)
    ...     for n in (8, 16, 64)
    ... ]
    >>> scalability = measured_scalability(
    ...     measured(Measurements(tuple(rows))).answers, {EFFICIENCY: 0.8}
    ... )
    >>> [
    ...     round(run.size, 1)
    ...     for run in scalability.run_by_way_and_processors[EFFICIENCY].values()
    ...     if run
    ... ]
    [11.3, 60.2]
    """
    runs_by_count = _runs_by_processor_count(answers)
    range_by_way = {way: _measured_range(way, runs_by_count) for way in WAYS}
    goal_by_way = {way: _most_reached_goal([*range_by_way[way].values()]) for way in WAYS} | dict(
        required_goals or {}
    )
    run_by_way_and_processors: dict[str, dict[int, MeasuredRun | None]] = {
        way: {
            processor_count: _run_at_goal(
                way, goal_by_way[way], processor_count, runs_by_count[processor_count]
            )
            for processor_count in sorted(runs_by_count)
        }
        for way in WAYS
    }
    return MeasuredScalability(
        goal_by_way,
        run_by_way_and_processors,
        range_by_way,
        _latency_by_run_and_cause(answers),
        has_memory(answers),
    )


def has_memory(answers: Sequence[Answer]) -> bool:
    """Return whether the memory of all runs with a size on several processors was measured."""
    runs = [answer for answer in answers if answer.point.get("n") and int(answer.point["p"]) > 1]
    return bool(runs) and all(answer.find("memory") for answer in runs)


def _runs_by_processor_count(answers: Sequence[Answer]) -> dict[int, list[MeasuredRun]]:
    """Return the runs on more than one processor by number of processors, sorted by size; raise
    unless two numbers of processors have runs of several sizes above 0.
    """
    runs_by_count: dict[int, list[MeasuredRun]] = {}
    for answer in answers:
        size = answer.point.get("n")
        processor_count = int(answer.point["p"])
        time = answer.find("time")
        efficiency = answer.find("efficiency")
        if size and processor_count > 1 and time and efficiency:
            memory = answer.find("memory") if has_memory(answers) else None
            run = MeasuredRun(float(size), time, efficiency, memory)
            runs_by_count.setdefault(processor_count, []).append(run)
    scalable_runs_by_count = {
        processor_count: sorted(runs)
        for processor_count, runs in runs_by_count.items()
        if len(runs) > 1
    }
    if len(scalable_runs_by_count) < 2:
        count_texts = [
            f"{len(runs_by_count[processor_count])} on {processor_count} processors"
            for processor_count in sorted(runs_by_count)
        ]
        raise ModelError(
            "scalability needs runs of at least two sizes on each of two numbers of processors"
            " above 1, and those of the same sizes on one processor; give columns p, n and time;"
            f" sizes with both are {join_phrases(count_texts, 'and') or 'none'}"
        )
    return scalable_runs_by_count


_VALUE_BY_WAY: Mapping[str, Callable[[MeasuredRun, int], float]] = {
    EFFICIENCY: lambda run, count: run.efficiency,
    TIME: lambda run, count: run.time,
    MEMORY: lambda run, count: (run.memory or run.size) / count,
}
"""The quantity that each way keeps; a memory that was not measured is taken to be in proportion to
the size."""


def _measured_range(
    way: str, runs_by_count: Mapping[int, Sequence[MeasuredRun]]
) -> dict[int, tuple[float, float]]:
    """Return the least and the greatest measured value of the quantity that a way of scaling keeps,
    by number of processors.
    """
    values_by_count = {
        processor_count: [
            _VALUE_BY_WAY[way](run, processor_count) for run in runs_by_count[processor_count]
        ]
        for processor_count in sorted(runs_by_count)
    }
    return {
        processor_count: (min(values), max(values))
        for processor_count, values in values_by_count.items()
    }


def _most_reached_goal(ranges: Sequence[tuple[float, float]]) -> float:
    """Return the goal that most numbers of processors can reach: the middle of the largest overlap
    of their ranges.
    """
    range_ends = sorted({end for low_and_high in ranges for end in low_and_high})
    middles = [math.sqrt(low * high) for low, high in pairwise(range_ends)]
    return max(middles, key=lambda goal: sum(low <= goal <= high for low, high in ranges))


def _run_at_goal(
    way: str, goal: float, processor_count: int, runs: Sequence[MeasuredRun]
) -> MeasuredRun | None:
    """Return the interpolated run with the smallest size that meets a goal; None if no two measured
    runs enclose it.
    """
    for run_below, run_above in pairwise(runs):
        values_of_way = [_VALUE_BY_WAY[way](run, processor_count) for run in (run_below, run_above)]
        # Efficiencies are interpolated themselves, all other values by their logarithms.
        value_below, value_above, target = (
            value if way == EFFICIENCY else math.log(value) for value in (*values_of_way, goal)
        )
        if min(value_below, value_above) <= target <= max(value_below, value_above):
            interpolation_weight = (
                0.0
                if value_below == value_above
                else (target - value_below) / (value_above - value_below)
            )
            memory = None
            if run_below.memory and run_above.memory:
                memory = (
                    run_below.memory * (run_above.memory / run_below.memory) ** interpolation_weight
                )
            return MeasuredRun(
                run_below.size * (run_above.size / run_below.size) ** interpolation_weight,
                run_below.time * (run_above.time / run_below.time) ** interpolation_weight,
                run_below.efficiency
                + (run_above.efficiency - run_below.efficiency) * interpolation_weight,
                memory,
            )
    return None


def _latency_by_run_and_cause(
    answers: Sequence[Answer],
) -> dict[tuple[int, float], dict[str, float]]:
    """Return the mean latency by cause for each number of processors and size: the processors lost
    to the cause, as a time of one processor.
    """
    latencies_by_run: dict[tuple[int, float], dict[str, float]] = {}
    for answer in answers:
        size = answer.point.get("n")
        processor_count = int(answer.point["p"])
        time = answer.find("time")
        latency_by_cause = {
            name[len(LOST) : -1]: (value.value or 0.0) * time / processor_count
            for name, value in answer.values.items()
            if time and name.startswith(LOST) and name != f"{LOST}lost]"
        }
        if latency_by_cause and processor_count > 1:
            latencies_by_run[processor_count, float(size) if size is not None else math.nan] = (
                latency_by_cause
            )
    return latencies_by_run
