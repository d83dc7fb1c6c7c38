"""One table for all measurements, whatever file they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from slipstick.errors import Problem
from slipstick.expression.dimension import COUNT, RATE, TIME, Dimension

__all__ = ["EFFICIENCIES", "METRICS", "Hints", "Metric", "Run", "Runs"]


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that is measured: what it counts, what it means, and other names that files have for it."""

    dimension: Dimension
    meaning: str
    others: tuple[str, ...] = ()


EFFICIENCIES: Mapping[str, Metric] = {
    "parallel_efficiency": Metric(COUNT, "average useful time / elapsed time"),
    "communication_efficiency": Metric(COUNT, "largest useful time / elapsed time"),
    "load_balance": Metric(COUNT, "average useful time / largest useful time"),
    "serialization_efficiency": Metric(COUNT, "largest useful time / elapsed time on an ideal network"),
    "transfer_efficiency": Metric(COUNT, "elapsed time on an ideal network / elapsed time"),
    "computation_scalability": Metric(COUNT, "useful time of the smallest run / useful time, each of all processors"),
    "global_efficiency": Metric(COUNT, "parallel efficiency x computation scalability"),
}
"""The POP efficiencies."""

METRICS: Mapping[str, Metric] = {
    "time": Metric(
        TIME, "elapsed time", ("elapsed", "elapsed_time", "runtime", "wall", "walltime", "wall_time", "wallclock")
    ),
    "wait": Metric(
        TIME, "time lost to the cause that the region names; of one processor, else of all", ("waits", "wait_time")
    ),
    "busy": Metric(TIME, "useful time, without waits; of one processor, else of all", ("useful",)),
    "events": Metric(COUNT, "how often the cause was timed; of one processor, else of all"),
    "cycle": Metric(TIME, "time of a cycle in which every processor does a work of its own", ("cycle_time",)),
    "throughput": Metric(RATE, "cycles of all processors in a second"),
    **EFFICIENCIES,
}
"""The metrics that are understood; whatever else a file holds is kept, and said to be left out of the account."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measured value.

    Parameters
    ----------
    p : processors
    n : size of the problem [1]; None where the file has none
    region : part of the program, or cause of a wait; empty for the whole
    metric : what was measured, one of `METRICS` or the file's own word
    unit : base unit of the value
    value : in base units
    repetition : number of the repetition, None where the file does not number them
    file, line : where it stands
    processor : number of the processor, from 1; None for all of them together
    text : value and unit as written
    """

    p: int
    n: float | None
    region: str
    metric: str
    unit: str
    value: float
    repetition: int | None
    file: str
    line: int
    processor: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Runs:
    """Everything that was read.

    Parameters
    ----------
    records : the values, in the order of the files
    notes : what is odd, but was taken
    timer : cost of the timer itself at each event [s], where the file states one
    excess : causes of which only what exceeds the run on one processor is lost
    one_processor : elapsed time on one processor without any timing [s], where the file states one
    title, source : what the file says of itself
    """

    records: tuple[Run, ...]
    notes: tuple[Problem, ...] = ()
    timer: float | None = None
    excess: tuple[str, ...] = ()
    one_processor: float | None = None
    title: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the reader is told beside the file.

    Parameters
    ----------
    processors : of a file that describes one run and does not say
    size : of the problem, likewise [1]
    time : elapsed time, likewise [s]
    unit : of times in a file without units
    columns : the file's own name of a column, by ours
    """

    processors: int | None = None
    size: float | None = None
    time: float | None = None
    unit: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
