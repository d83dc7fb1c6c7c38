"""One table for the measurements of all formats, and the reduction of repetitions to one value with its range."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.expression.dimension import COUNT, RATE, TIME, Dimension


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity: dimension, meaning, and other names for it in files."""

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
"""The known metrics; others are kept, with a note that the account does not use them."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured value.

    Parameters
    ----------
    p : processors
    n : size of the problem [1]; None where the file has none
    region : part of the program, or cause of a wait; empty for the whole
    metric : one of `METRICS`, or the file's own name
    unit : base unit of the value
    value : in base units
    repetition : number of the repetition, None where the file does not number them
    file, line : of the value
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
class Measurements:
    """The measurements of one or several files.

    Parameters
    ----------
    records : the values, in the order of the files
    notes : on unusual values that were read
    timer : cost of the timer itself at each event [s], where the file states one
    excess : causes of which only what exceeds the run on one processor is lost
    one_processor : elapsed time on one processor without any timing [s], where the file states one
    title, source : as the file states them
    """

    records: tuple[Measurement, ...]
    notes: tuple[Problem, ...] = ()
    timer: float | None = None
    excess: tuple[str, ...] = ()
    one_processor: float | None = None
    title: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Hints:
    """Information that is given beside the file.

    Parameters
    ----------
    processors : of a file of one run that does not state them
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


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "min": min,
}
"""How repetitions become one value."""

Key = tuple[str, str, int | None]
"""Metric, region, and processor or None."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """One value of all repetitions.

    Parameters
    ----------
    value : by the statistic, in base units
    low, high : least and largest repetition
    values : every repetition, in the order of the file
    run : the first of them, for its place and unit
    """

    value: float
    low: float
    high: float
    values: tuple[float, ...]
    run: Measurement


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """All measurements with one number of processors and one size.

    Parameters
    ----------
    p : processors
    n : size of the problem [1], or None
    values : by metric, region and processor
    """

    p: int
    n: float | None
    values: Mapping[Key, Reduced]

    def find(self, metric: str, region: str = "") -> Reduced | None:
        """Find the value of all processors together."""
        return self.values.get((metric, region, None))

    def total(self, metric: str, region: str = "") -> float | None:
        """Give the value of all processors: as measured, else summed over the processors; None if there is neither.

        Raises
        ------
        SpecError : some processors are missing
        """
        whole = self.find(metric, region)
        each = self.each(metric, region)
        if whole is None and each and len(each) != self.p:
            run = each[0].run
            why = f"{metric} of {region or 'the whole'} is there for {len(each)} processors, but {self.p} took part"
            raise SpecError([Problem(run.file, run.line, 1, metric, why)])
        if whole is not None:
            return whole.value
        return sum(one.value for one in each) if each else None

    def each(self, metric: str, region: str = "") -> list[Reduced]:
        """Give the values of the single processors."""
        return [
            value
            for (name, part, processor), value in self.values.items()
            if (name, part) == (metric, region) and processor is not None
        ]

    def regions(self, metric: str) -> list[str]:
        """List the regions, or causes, for which a metric was measured, in the order of the file."""
        return list(dict.fromkeys(region for name, region, _ in self.values if name == metric))


def reduce_repetitions(runs: Measurements, statistic: str = "median") -> tuple[list[MeasuredPoint], list[Problem]]:
    """Reduce the repetitions at each point to one value.

    Values that repeat without a number count as repetitions, and are noted; those that repeat under one number are
    refused.

    Parameters
    ----------
    runs : the measurements
    statistic : one of `STATISTICS`

    Returns
    -------
    the points by size and processors, and notes on the repetitions

    Raises
    ------
    SpecError : a repetition occurs twice
    UnknownNameError : there is no such statistic
    """
    if statistic not in STATISTICS:
        raise UnknownNameError("statistic", statistic, list(STATISTICS))
    groups: dict[tuple[int, float | None], dict[Key, list[Measurement]]] = {}
    for run in runs.records:
        keys = groups.setdefault((run.p, run.n), {})
        keys.setdefault((run.metric, run.region, run.processor), []).append(run)
    notes, problems = [], []
    points = []
    for (p, n), keys in sorted(groups.items(), key=lambda item: (item[0][1] or 0.0, item[0][0])):
        for found in keys.values():
            problems += _twice(found)
            notes += _unnumbered(found)
        points.append(MeasuredPoint(p, n, {key: _reduced(found, STATISTICS[statistic]) for key, found in keys.items()}))
    if problems:
        raise SpecError(problems)
    return points, notes


def _reduced(found: Sequence[Measurement], by: Callable[[Sequence[float]], float]) -> Reduced:
    values = tuple(run.value for run in found)
    return Reduced(float(by(values)), min(values), max(values), values, found[0])


def _twice(found: Sequence[Measurement]) -> list[Problem]:
    first: dict[int, Measurement] = {}
    problems = []
    for run in found:
        if run.repetition is None:
            continue
        if run.repetition in first:
            before = first[run.repetition]
            why = f"repetition {run.repetition} of {_what(run)} is in {before.file}:{before.line} already"
            problems.append(Problem(run.file, run.line, 1, run.metric, why))
        first.setdefault(run.repetition, run)
    return problems


def _unnumbered(found: Sequence[Measurement]) -> list[Problem]:
    without = [run for run in found if run.repetition is None]
    if len(without) < 2:
        return []
    run = without[1]
    why = f"{_what(run)} is there {len(without)} times without a number; taken as repetitions"
    return [Problem(run.file, run.line, 1, run.metric, why)]


def _what(run: Measurement) -> str:
    size = f", n = {run.n:g}" if run.n is not None else ""
    own = f", processor {run.processor}" if run.processor is not None else ""
    return f"{run.metric}{f' of {run.region}' if run.region else ''} at p = {run.p}{size}{own}"
