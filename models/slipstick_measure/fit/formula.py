"""Timings as arrays, and formulas with free parameters that are fitted to them.

Every repetition is an observation of its own. A formula is plain arithmetic on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from slipstick.errors import ModelError, NoAnswerError, Problem
from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick_measure.account import check_parts, regions_of, superlinear_speedup_notes
from slipstick_measure.growth import growth_of
from slipstick_measure.measurements import (
    MeasuredPoint,
    Measurement,
    Measurements,
    reduce_repetitions,
    unknown_metric_notes,
)

if TYPE_CHECKING:
    from slipstick_measure.fit.measured_causes import MeasuredCause


@dataclass(frozen=True)
class Timings:
    """Measured times of runs as arrays with one element for each of M observations.

    Parameters
    ----------
    p : processors, (M,)
    n : size of the problem, (M,); ones where the data have none [1]
    time : observed, (M,) [s]
    weak_scaling : every processor has work of its own, so that the time is that of a cycle; else
        all share one work (strong scaling)
    servers : number of processors of the hardware that work at the same time, such as hardware
        threads; None if it is unknown
    domain : number of processors of a node or of a memory domain, which are filled one after the
        other; None if it is unknown
    member : what one of the processors is called
    rate : unit of throughputs as the data write it, and its size in base units, where these are
        what was measured
    causes : the causes of lost time that were measured beside the times
    """

    p: Array
    n: Array
    time: Array
    weak_scaling: bool = False
    servers: int | None = None
    domain: int | None = None
    member: str = "processor"
    rate: tuple[str, float] | None = None
    causes: tuple[MeasuredCause, ...] = ()

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self.p)

    @property
    def has_sizes(self) -> bool:
        """Return whether the size varies."""
        return len(np.unique(self.n)) > 1

    @property
    def processors(self) -> Array:
        """The distinct numbers of processors, ascending."""
        distinct_counts: Array = np.unique(self.p)
        return distinct_counts

    @cached_property
    def distinct_points(self) -> tuple[Array, Array, NDArray[np.intp]]:
        """The processors and the sizes of the K distinct points, (K,) each, and the index of the
        point of each observation, (M,).
        """
        distinct_values, point_index_of_row = np.unique(
            np.stack([self.p, self.n]), axis=1, return_inverse=True
        )
        return distinct_values[0], distinct_values[1], point_index_of_row.reshape(-1)

    @cached_property
    def _repeated_points(self) -> dict[int, Timings]:
        return {}

    def repeated_points(self, count: int) -> Timings:
        """Return the distinct points, repeated `count` times one after the other, for evaluating
        several sets of parameters at once; their times are placeholders.
        """
        if count not in self._repeated_points:
            processors, sizes, _ = self.distinct_points
            p = np.tile(processors, count)
            self._repeated_points[count] = replace(self, p=p, n=np.tile(sizes, count), time=p)
        return self._repeated_points[count]

    def select(self, mask: NDArray[np.bool_]) -> Timings:
        """Return the observations that a mask selects."""
        return replace(self, p=self.p[mask], n=self.n[mask], time=self.time[mask])

    def with_time(self, time: Array) -> Timings:
        """Return the same points with the given times [s]."""
        return replace(self, time=time)

    def points(self, p: Sequence[float] | Array, n: float | None = None) -> Timings:
        """Return timings at the points of a prediction; their times are placeholders.

        Parameters
        ----------
        p : processors
        n : size of the problem; the largest one measured if None
        """
        processors = np.asarray(p, dtype=float)
        size = float(self.n.max()) if n is None else n
        return replace(self, p=processors, n=np.full(len(processors), size), time=processors)


class Observations(NamedTuple):
    """Checked runs to fit: the measured quantity (time, cycle or throughput), the runs, the name of
    a processor, the unit of throughputs as in `Measurements`, and the measured causes of lost time.
    """

    metric: str
    runs: Sequence[Measurement]
    member: str = "processor"
    rate: tuple[str, float] | None = None
    causes: tuple[MeasuredCause, ...] = ()

    @property
    def rate_of_timings(self) -> tuple[str, float] | None:
        """The unit of throughputs and its size in base units; None if times were measured."""
        return (self.rate or ("1/s", 1.0)) if self.metric == "throughput" else None

    def timings(self) -> Timings:
        """Return the measured times. For rows with a throughput X, return the times of a cycle, p /
        X.
        """
        p = np.array([run.p for run in self.runs], dtype=float)
        n = np.array([1.0 if run.n is None else run.n for run in self.runs])
        values = np.array([run.value for run in self.runs])
        return Timings(
            p,
            n,
            p / values if self.metric == "throughput" else values,
            weak_scaling=self.metric != "time",
            member=self.member,
            rate=self.rate_of_timings,
            causes=self.causes,
        )


def observations_of(
    measurements: Measurements, region: str | None = None, size: float | None = None
) -> Observations:
    """Choose the values to fit from a table: elapsed times, else cycle times, else throughputs.

    Parameters
    ----------
    measurements : the measurements
    region : part of the program; the whole if None
    size : of the problem; all sizes if None

    Raises
    ------
    ModelError : no run of this size, no times, times of several kinds, or of 0
    SpecError, UnknownNameError : as for the account

    >>> table = [
    ...     Measurement(p, None, "", "throughput", "1/s", p / 2.0, None, "f", p) for p in (1, 2, 4)
    ... ]
    >>> observations_of(Measurements(tuple(table))).timings().time.tolist()
    [2.0, 2.0, 2.0]
    """
    points = reduce_repetitions(measurements)[0]
    regions = regions_of(points, region)
    whole_region = regions.whole_region
    runs_by_metric: dict[str, list[Measurement]] = {}
    for run in measurements.records:
        if (
            run.metric in ("time", "cycle", "throughput")
            and run.region == whole_region
            and run.processor is None
        ):
            runs_by_metric.setdefault(run.metric, []).append(run)
    if len(runs_by_metric) != 1:
        metrics_in_words = (
            ", ".join(sorted(runs_by_metric, key=["time", "cycle", "throughput"].index))
            or "none of them"
        )
        has_speedups = any(run.metric == "speedup" for run in measurements.records)
        way_out = "; take speed-ups for rates: --column throughput=NAME" if has_speedups else ""
        raise ModelError(
            "a fit needs times, cycles or throughputs, one of the three; there are"
            f" {metrics_in_words}{way_out}"
        )
    ((metric, runs_of_metric),) = runs_by_metric.items()
    chosen_runs = [run for run in runs_of_metric if size is None or run.n == size]
    if not chosen_runs:
        sizes_text = ", ".join(
            f"{size:g}" for size in sorted({run.n for run in runs_of_metric if run.n is not None})
        )
        raise ModelError(
            f"no run has the size {size:g}; known:"
            f" {sizes_text or 'none, because no run has a size'}"
        )
    if run_with_zero := next((run for run in chosen_runs if not run.value > 0), None):
        raise ModelError(
            f"{run_with_zero.file}:{run_with_zero.line}: {metric} is 0; a fit needs values above 0"
        )
    chosen_points = [point for point in points if size is None or point.n == size]
    has_causes = region is None and metric != "throughput"
    causes = tuple(
        _measured_causes(measurements, chosen_points, regions.part_regions, metric)
        if has_causes
        else ()
    )
    if metric != "time":
        return Observations(metric, chosen_runs, measurements.member, measurements.rate, causes)
    time_by_point_index = {
        index: time
        for index, point in enumerate(points)
        if (time := point.find("time", whole_region)) is not None
    }
    growth = growth_of(measurements, points, time_by_point_index)
    if causes:
        check_parts(measurements, points, regions, growth)
    if growth.is_weak:
        metric, chosen_runs = "cycle", [replace(run, n=None) for run in chosen_runs]
    return Observations(metric, chosen_runs, measurements.member, causes=causes)


def _measured_causes(
    measurements: Measurements,
    points: Sequence[MeasuredPoint],
    part_regions: Sequence[str],
    metric: str,
) -> Iterator[MeasuredCause]:
    """Yield the measured parts of the program and causes of lost time, each with its seconds of one
    processor by number of processors. A cause is left out if only its excess over one processor
    counts.

    Parameters
    ----------
    measurements : the measurements
    points : those to fit
    part_regions : regions inside the whole
    metric : of the times
    """
    from slipstick_measure.fit.measured_causes import MeasuredCause

    causes = dict.fromkeys(cause for point in points for cause in point.regions("wait"))
    seconds_by_name = {
        part_region: {
            point.p: time.value for point in points if (time := point.find(metric, part_region))
        }
        for part_region in part_regions
    }
    seconds_by_name |= {
        cause: {
            point.p: wait / point.p
            for point in points
            if (wait := point.total("wait", cause)) is not None
        }
        for cause in causes
        if cause not in measurements.causes_of_excess
    }
    for name, seconds_by_processors in seconds_by_name.items():
        processor_counts, cause_times = (
            np.array([*column], dtype=float)
            for column in (seconds_by_processors, seconds_by_processors.values())
        )
        ascending_order = np.argsort(processor_counts)
        yield MeasuredCause(name, processor_counts[ascending_order], cause_times[ascending_order])


def timing_notes(measurements: Measurements, region: str | None = None) -> list[Problem]:
    """Return the notes on a table that precede a fit: on reading, repetitions, metrics, regions and
    superlinear speed-up.

    Parameters
    ----------
    measurements, region : as for `observations_of`
    """
    points, repetition_notes = reduce_repetitions(measurements)
    notes = [*measurements.notes, *repetition_notes, *unknown_metric_notes(measurements.records)]
    regions = regions_of(points, region)
    whole_region = regions.whole_region
    notes += [] if region else regions.notes  # why parts of the time are no causes
    time_by_point = {
        (point.p, point.n): measured_time
        for point in points
        if (measured_time := point.find("time", whole_region))
    }
    for (_, n), measured_time in time_by_point.items():
        if single_time := time_by_point.get((1, n)):
            notes += superlinear_speedup_notes(
                measured_time.run, single_time.value / measured_time.value
            )
    return list(dict.fromkeys(notes))


@dataclass(frozen=True, slots=True)
class FitParameter:
    """A free parameter: its name, base unit and meaning, and the limits of its values."""

    name: str
    unit: str
    meaning: str
    upper: float = math.inf
    lower: float = 0.0


LostTimes = Mapping[str, Array]
"""Processor time that is not useful, by cause, at each point [s]."""


@dataclass(frozen=True, slots=True)
class TimeFormula:
    """A formula for the time of a run, with free parameters, of a family.

    Parameters
    ----------
    family : the kind of model
    text : the formula in plain text
    parameters : its free parameters
    time : from parameters, (k,) or (k, M), and timings, the times at their points [s]
    starting_points : from timings, parameters at which a search begins; several where there may be
        several minima
    chosen_exponents : exponents chosen by looking at the data, which count as parameters
    largest_extrapolation_ratio : limits, such as the fastest number of processors, are sought up to
        this multiple of the largest number measured [1]
    lost_times : from parameters and timings, the lost times by cause; nothing where the formula has
        no causes
    """

    family: str
    text: str
    parameters: tuple[FitParameter, ...]
    time: Callable[[Array, Timings], Array]
    starting_points: Callable[[Timings], Sequence[Array]]
    chosen_exponents: int = 0
    largest_extrapolation_ratio: float = 64.0
    lost_times: Callable[[Array, Timings], LostTimes] = lambda theta, timings: {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def limits(self) -> tuple[Array, Array]:
        """The smallest and the largest values of the parameters, (k,) each."""
        lower_limits, upper_limits = (
            [getattr(parameter, end) for parameter in self.parameters] for end in ("lower", "upper")
        )
        return np.array(lower_limits), np.array(upper_limits)

    def times(self, thetas: Array, timings: Timings) -> Array:
        """Evaluate the formula for several sets of parameters at once.

        Parameters
        ----------
        thetas : the sets, (D, k)
        timings : M points

        Returns
        -------
        times [s], (D, M)
        """
        # Repetitions are at the same point, which is evaluated once.
        processors, _, point_index_of_row = timings.distinct_points
        points = timings.repeated_points(len(thetas))
        times_of_points = self.time(np.repeat(thetas.T, len(processors), axis=1), points)
        times_by_theta = np.broadcast_to(times_of_points, len(points)).reshape(len(thetas), -1)
        return times_by_theta[:, point_index_of_row]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model: its name, title and source, and from timings, its candidate formulas."""

    name: str
    title: str
    source: str
    formulas: Callable[[Timings], Sequence[TimeFormula]]


def work_divisor(timings: Timings) -> Array:
    """Return the number by which processor seconds are divided to get a time: the processors that
    share one work, or 1 if each has work of its own.
    """
    return np.ones(len(timings)) if timings.weak_scaling else timings.p


Basis = Callable[[Timings], Array]
"""A function of each point."""


def linear_formula(
    family: str,
    text: str,
    terms: Sequence[tuple[FitParameter, Basis]],
    chosen_exponents: int = 0,
    cause_by_parameter: Mapping[str, str] | None = None,
) -> TimeFormula:
    """Build a formula that is a sum of terms, each a parameter times a function of the point.

    Parameters
    ----------
    family, text, chosen_exponents : as for `TimeFormula`
    terms : each parameter with its function
    cause_by_parameter : cause of the loss that a term describes, by the term's parameter
    """

    def term_columns(timings: Timings) -> Array:
        return np.column_stack([basis(timings) for _, basis in terms])

    def time(theta: Array, timings: Timings) -> Array:
        times: Array = (term_columns(timings) * theta.T).sum(axis=1)
        return times

    def starting_points(timings: Timings) -> list[Array]:
        return [nonnegative_coefficients(term_columns(timings), timings.time)]

    def lost_times(theta: Array, timings: Timings) -> LostTimes:
        terms_and_values = zip(terms, theta, strict=True)
        causes = cause_by_parameter or {}
        return {
            causes[parameter.name]: value * basis(timings)
            for (parameter, basis), value in terms_and_values
            if parameter.name in causes
        }

    return TimeFormula(
        family,
        text,
        tuple(parameter for parameter, _ in terms),
        time,
        starting_points,
        chosen_exponents,
        lost_times=lost_times,
    )


def nonnegative_coefficients(columns: Array, times: Array) -> Array:
    """Return nonnegative coefficients that minimize the squared relative errors.

    Raises
    ------
    NoAnswerError : a term is too large for a number, as a power of a very large number of
        processors is
    """
    from scipy.optimize import nnls

    with np.errstate(all="ignore"):
        scaled_columns = columns / times[:, None]
    if not np.isfinite(scaled_columns).all():
        raise NoAnswerError(
            "a term of the formula is too large beside these times to be fitted; check times and"
            " sizes"
        )
    # Columns differ by many powers of ten; equal lengths keep the search well conditioned.
    column_norms = np.linalg.norm(scaled_columns, axis=0)
    column_norms[column_norms == 0] = 1.0
    coefficients: Array = nnls(scaled_columns / column_norms, np.ones(len(times)))[0] / column_norms
    return coefficients
