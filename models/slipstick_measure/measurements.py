"""One table for the measurements of all formats, and the reduction of repetitions to one value
with its range.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from slipstick.errors import Problem, SpecError, UnknownNameError, did_you_mean, nearest_names
from slipstick.expression.nodes import BYTES, COUNT, RATE, TIME, Dimension
from slipstick.late import dataclass, field


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity: dimension, meaning, and other names for it in files."""

    dimension: Dimension
    meaning: str
    other_names: tuple[str, ...] = ()


EFFICIENCIES: Mapping[str, Metric] = {
    "parallel_efficiency": Metric(COUNT, "average useful time / elapsed time"),
    "communication_efficiency": Metric(COUNT, "largest useful time / elapsed time"),
    "load_balance": Metric(COUNT, "average useful time / largest useful time"),
    "serialization_efficiency": Metric(
        COUNT, "largest useful time / elapsed time on an ideal network"
    ),
    "transfer_efficiency": Metric(COUNT, "elapsed time on an ideal network / elapsed time"),
    "computation_scalability": Metric(
        COUNT, "useful time of the smallest run / useful time, each of all processors"
    ),
    "global_efficiency": Metric(COUNT, "parallel efficiency x computation scalability"),
}
"""The POP efficiencies."""

METRICS: Mapping[str, Metric] = {
    "time": Metric(
        TIME,
        "elapsed time",
        ("elapsed", "elapsed_time", "runtime", "wall", "walltime", "wall_time", "wallclock"),
    ),
    "wait": Metric(
        TIME,
        "time lost to the cause that the region names; of one processor, else of all",
        ("waits", "wait_time"),
    ),
    "busy": Metric(TIME, "useful time, without waits; of one processor, else of all", ("useful",)),
    "events": Metric(COUNT, "how often the cause was timed; of one processor, else of all"),
    "cycle": Metric(
        TIME, "time of a cycle in which every processor does a work of its own", ("cycle_time",)
    ),
    "throughput": Metric(RATE, "work of all processors in a second", ("bandwidth",)),
    "memory": Metric(
        BYTES,
        "memory of all processors together, such as their working set",
        (
            *("mem", "rss", "working_set", "peak_memory", "memory_usage", "memory_used"),
            *("memory_footprint", "footprint", "peak_rss", "max_memory", "used_memory"),
        ),
    ),
    "speedup": Metric(COUNT, "time of the smallest run / time, as the file states it"),
    **EFFICIENCIES,
}
"""The known metrics; others are kept, with a note that the account does not use them."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured value.

    Parameters
    ----------
    p : processors
    n : size of the problem [1]; None if the file has none
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

    def problem(self, message: str, subject: str | None = None) -> Problem:
        """Return a problem about the value, or about another subject at its line."""
        return Problem(
            self.file, self.line, 1, self.metric if subject is None else subject, message
        )

    def __str__(self) -> str:
        size_text = f", n = {self.n:g}" if self.n is not None else ""
        processor_text = f", processor {self.processor}" if self.processor is not None else ""
        return (
            f"{self.metric}{f' of {self.region}' if self.region else ''} at p ="
            f" {self.p}{size_text}{processor_text}"
        )


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements of one or several files.

    Parameters
    ----------
    records : the values, in the order of the files
    notes : on unusual values that were read
    timer : cost of the timer itself at each event [s], where the file states one
    causes_of_excess : causes of which only what exceeds the run on one processor is lost
    one_processor_time : elapsed time on one processor without any timing [s], where the file states
        one
    title, source : as the file states them
    rate : unit of throughputs as the file writes it, and its size in base units
    weak : whether the work grows with the processors; None if the file does not say so
    sizes_of_each : whether a size is that of each processor, as of a message, and not of the whole
    mean_waits : whether waits were means of one processor each, and not sums; None if unknown
    member : what one of the processors is called, such as a node
    """

    records: tuple[Measurement, ...]
    notes: tuple[Problem, ...] = ()
    timer: float | None = None
    causes_of_excess: tuple[str, ...] = ()
    one_processor_time: float | None = None
    title: str = ""
    source: str = ""
    rate: tuple[str, float] | None = None
    weak: bool | None = None
    sizes_of_each: bool = False
    mean_waits: bool | None = None
    member: str = "processor"


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
    weak : whether the work grows with the processors; None: as the file says
    mean_waits : whether waits are means of one processor each, not sums; None: as the file says
    leave_out : losses of an import that are allowed, by name
    settings : values of variables of a model, as text by name
    """

    processors: int | None = None
    size: float | None = None
    time: float | None = None
    unit: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    weak: bool | None = None
    mean_waits: bool | None = None
    leave_out: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "min": min,
}
"""How repetitions become one value."""


@dataclass(frozen=True, slots=True)
class ReducedValue:
    """One value of all repetitions.

    Parameters
    ----------
    value : by the statistic, in base units
    values : every repetition, in the order of the file, then those that do not name the cause
    run : the first of them, for its place and unit
    """

    value: float
    values: tuple[float, ...]
    run: Measurement


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """All measurements with one number of processors and one size.

    Parameters
    ----------
    p : processors
    n : size of the problem [1], or None
    values : by metric, region and processor, or None for all of them
    """

    p: int
    n: float | None
    values: Mapping[tuple[str, str, int | None], ReducedValue]

    def find(self, metric: str, region: str = "") -> ReducedValue | None:
        """Return the value of a metric for all processors together; None if it was not measured."""
        return self.values.get((metric, region, None))

    def total(self, metric: str, region: str = "") -> float | None:
        """Return the value for all processors: the measured one, else the sum over the processors.
        Return None if there is neither.

        Raises
        ------
        SpecError : some processors are missing
        """
        if overall_value := self.find(metric, region):
            return overall_value.value
        processor_values = self.values_of_processors(metric, region)
        if processor_values and len(processor_values) != self.p:
            message = (
                f"{metric} of {region or 'the whole'} is there for {len(processor_values)}"
                " processors, but"
                f" {self.p} took part"
            )
            raise SpecError([processor_values[0].run.problem(message)])
        return (
            sum(processor_value.value for processor_value in processor_values)
            if processor_values
            else None
        )

    def values_of_processors(self, metric: str, region: str = "") -> list[ReducedValue]:
        """Return the values of a metric that were measured for single processors."""
        return [
            value
            for (metric_name, region_name, processor), value in self.values.items()
            if (metric_name, region_name) == (metric, region) and processor is not None
        ]

    def first_measurement(self, metric: str, region: str = "") -> Measurement:
        """Return the first measurement of a metric, of all processors or of one."""
        return next(
            value.run
            for (metric_name, region_name, _), value in self.values.items()
            if (metric_name, region_name) == (metric, region)
        )

    def regions(self, metric: str) -> list[str]:
        """List the regions, or causes, for which a metric was measured, in the order of the
        file.
        """
        return list(
            dict.fromkeys(region for metric_name, region, _ in self.values if metric_name == metric)
        )


def reduce_repetitions(
    measurements: Measurements, statistic: str = "median"
) -> tuple[list[MeasuredPoint], list[Problem]]:
    """Reduce the repetitions at each point to one value.

    Values that repeat without a number count as repetitions, and are noted; those that repeat under
    one number are refused. A cause that some of the repetitions with waits or busy times do not
    name took no time in them, which is noted: tools that time waits write those that occurred.

    Parameters
    ----------
    measurements : the measurements
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
    runs_by_point: dict[
        tuple[int, float | None], dict[tuple[str, str, int | None], list[Measurement]]
    ] = {}
    for run in measurements.records:
        runs_by_key = runs_by_point.setdefault((run.p, run.n), {})
        runs_by_key.setdefault((run.metric, run.region, run.processor), []).append(run)
    notes = []
    problems = []
    points = []
    unnumbered_groups: list[list[Measurement]] = []
    for (p, n), runs_by_key in sorted(
        runs_by_point.items(),
        key=lambda coordinates_and_runs: (
            coordinates_and_runs[0][1] or 0.0,
            coordinates_and_runs[0][0],
        ),
    ):
        reduced_by_key = {}
        repetitions_with_waits = {
            repetition_key
            for (metric, *_), repetitions in runs_by_key.items()
            if metric in ("wait", "busy")
            for repetition_key in _repetition_keys(repetitions)
        }
        for metric_region_processor, repetitions in runs_by_key.items():
            problems += _problems_of_repeated_numbers(repetitions)
            if len(unnumbered_values := [run for run in repetitions if run.repetition is None]) > 1:
                unnumbered_groups.append(unnumbered_values)
            repeated_values = tuple(run.value for run in repetitions)
            if metric_region_processor[0] in ("wait", "events") and (
                missing_count := len(repetitions_with_waits - _repetition_keys(repetitions))
            ):
                message = (
                    f"{repetitions[0]} is in {len(repetitions_with_waits) - missing_count} of"
                    f" {len(repetitions_with_waits)} repetitions; assumed to be 0 in the others"
                )
                notes += (
                    [repetitions[0].problem(message)]
                    if metric_region_processor[0] == "wait"
                    else []
                )
                repeated_values += (0.0,) * missing_count
            reduced_by_key[metric_region_processor] = ReducedValue(
                float(STATISTICS[statistic](repeated_values)), repeated_values, repetitions[0]
            )
        points.append(MeasuredPoint(p, n, reduced_by_key))
    if problems:
        raise SpecError(problems)
    return points, [*_notes_on_repeated_rows(unnumbered_groups), *notes]


def _notes_on_repeated_rows(
    unnumbered_groups: Sequence[Sequence[Measurement]],
) -> Iterator[Problem]:
    """Yield one note on points with several rows that have no repetition number."""
    if unnumbered_groups:
        first_group, *other_groups = unnumbered_groups
        other_groups_text = (
            f", like those of {len(other_groups)} other points" if other_groups else ""
        )
        yield first_group[1].problem(
            f"{first_group[1]} is in {len(first_group)} rows without a number of the repetition;"
            " they are read"
            f" as repetitions{other_groups_text}"
        )


def _repetition_keys(runs: Sequence[Measurement]) -> set[tuple[str, int | None]]:
    """Return the set of repetitions that values belong to, each as its file and its number."""
    return {(run.file, run.repetition) for run in runs}


def _problems_of_repeated_numbers(runs: Sequence[Measurement]) -> list[Problem]:
    """Return a problem for each value whose repetition number occurred already."""
    first_run_by_repetition: dict[int, Measurement] = {}
    problems = []
    for run in runs:
        if run.repetition is not None and run is not (
            first_run := first_run_by_repetition.setdefault(run.repetition, run)
        ):
            message = (
                f"repetition {run.repetition} of {run} is in {first_run.file}:{first_run.line}"
                " already"
            )
            problems.append(run.problem(message))
    return problems


def unknown_metric_notes(runs: Sequence[Measurement]) -> list[Problem]:
    """Return notes on metrics that the account does not use: one for each that resembles a known
    metric, and one for all others.
    """
    first_run_by_metric: dict[str, Measurement] = {}
    for run in runs:
        if run.metric not in METRICS:
            first_run_by_metric.setdefault(run.metric, run)
    hint_by_name = {name: did_you_mean(name, list(METRICS)) for name in first_run_by_metric}
    # The count of cycles that perf prints is no misspelt 'cycle', nor any other plural.
    similar_names = [
        name
        for name in first_run_by_metric
        if name.removesuffix("s") not in METRICS and nearest_names(name, list(METRICS))
    ]
    notes = [
        first_run_by_metric[name].problem(
            f"is not a part of the account of time{hint_by_name[name]}"
        )
        for name in similar_names
    ]
    if other_names := [name for name in first_run_by_metric if name not in similar_names]:
        names_text = ", ".join(name.replace("_", " ") for name in other_names)
        notes.append(
            first_run_by_metric[other_names[0]].problem(
                f"no part of the account of time: {names_text}", ""
            )
        )
    return notes
