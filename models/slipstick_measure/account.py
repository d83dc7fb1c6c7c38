"""The account of time in measured runs: useful time and lost processors by cause, for each number
of processors.

The metrics of a file decide which of four accounts is made; all four add up to the time, and
processors lost to N:

- *waits* by cause (Dritz and Boyle): all time but waits is useful, so no run on one processor is
  needed.
- *busy* times: the useful time is measured; the rest is idle, or imbalance and communication (POP).
- *POP efficiencies*: imbalance, serialization, transfer, and computation that the smallest run did
  not need.
- *times*, of the whole and perhaps of its regions, beside those of the smallest run: useful is what
  the run would take without loss (`slipstick_measure.growth`).

Where the time on one processor is known, all four have the same speed-up, T_1 / T_N, and the
same efficiency. In the first three, what is useful beyond T_1 / N is then extra work.

Why this shape: each account is a function from a point to seconds of a processor by component;
`_Account.answer` computes the same values from any account, by the laws. `regions_of` finds the
region that is the whole program, and its parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slipstick.answer import Answer, Value
from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.late import dataclass, field
from slipstick.law.account import EFFICIENCY, PROCESSORS_LOST, SPEEDUP
from slipstick_laws.account import AVERAGE_LATENCY, SEQUENTIAL_ESTIMATE
from slipstick_measure.growth import Growth, growth_of
from slipstick_measure.measurements import (
    EFFICIENCIES,
    MeasuredPoint,
    Measurement,
    Measurements,
    ReducedValue,
    reduce_repetitions,
    unknown_metric_notes,
)

ARROW = "->"
LARGEST_SUM_OF_PARTS = 1.02
"""Largest sum of the parts of a time, relative to the whole; above 1, because clocks differ."""

USEFUL = "busy"
WAITING = "waiting"
EXTRA = "extra work"
WAITS_ON_ONE = "waits on one processor"
_METRICS_WITHOUT_TIME = ("throughput", "speedup")
"""Metrics of runs that state no time: the account is of one unit of work."""
_METRICS_OF_WHOLE = ("time", "cycle", *_METRICS_WITHOUT_TIME)
"""Metrics of which one is the time of the complete run, or gives that of a unit of work."""

BOOKING_TOLERANCE = 0.01
"""Part of the elapsed time by which an account may exceed it before it is refused, because clocks
differ and digits are cut.
"""


@dataclass(frozen=True, slots=True)
class Regions:
    """The region of the complete run and the regions inside it.

    Parameters
    ----------
    whole_region : the region whose elapsed time is the time; empty where the file has no name for
        it
    part_regions : regions that follow one another inside it
    notes : why there are no parts, or what was left out
    """

    whole_region: str
    part_regions: tuple[str, ...] = ()
    notes: tuple[Problem, ...] = ()


def regions_of(points: Sequence[MeasuredPoint], requested_region: str | None = None) -> Regions:
    """Return the region of the complete run: the requested one, else the region without a name, the
    only region, or the root of all call paths.

    Its parts are the regions one call deeper or, where the whole has no name and nothing is a call
    path, all others; there are none where they overlap.

    Parameters
    ----------
    points : all that was measured
    requested_region : the region to take as the whole

    Raises
    ------
    UnknownNameError : there is no such region
    SpecError : which region is the whole cannot be told
    """
    regions_by_metric = (
        list(dict.fromkeys(region for point in points for region in point.regions(metric)))
        for metric in _METRICS_OF_WHOLE
    )
    regions_with_values = list(filter(None, regions_by_metric))
    region_names = next(
        (region_names for region_names in regions_with_values if requested_region in region_names),
        regions_with_values[0] if regions_with_values else [],
    )
    if requested_region is not None and requested_region not in region_names:
        known_names = list(filter(None, region_names))
        hint = "" if known_names else "; the runs name no regions: leave the region out"
        raise UnknownNameError("region with a time", requested_region, known_names, hint)
    if not region_names:
        return Regions("")
    whole_region = (
        requested_region
        if requested_region is not None
        else _region_of_complete_run(points, region_names)
    )
    inner_regions = [
        region_name
        for region_name in region_names
        if region_name != whole_region and _is_inside_region(region_name, whole_region)
    ]
    subregions = tuple(
        region_name
        for region_name in inner_regions
        if ARROW not in region_name.removeprefix(whole_region).removeprefix(ARROW)
    )
    other_metrics = [
        region_name
        for regions_of_metric in regions_with_values[1:]
        for region_name in regions_of_metric
        if region_name not in region_names
    ]
    if requested_region is None and other_metrics:
        run = next(iter(points[0].values.values())).run
        message = f"has another metric, and is left out; --region {other_metrics[0]} shows it"
        return Regions(whole_region, subregions, (run.problem(message, other_metrics[0]),))
    for point in points:
        whole_time = point.find("time", whole_region)
        part_times = [
            part_time for subregion in subregions if (part_time := point.find("time", subregion))
        ]
        sum_of_parts = sum(part_time.value for part_time in part_times)
        if whole_time and sum_of_parts > LARGEST_SUM_OF_PARTS * whole_time.value:
            message = (
                f"the regions take {sum_of_parts:g} s at p = {point.p}, the whole"
                f" {whole_time.value:g} s;"
                " they overlap, or are added up over processors, so they are left out; --waits sum"
                " reads them as sums"
            )
            return Regions(whole_region, (), (part_times[0].run.problem(message, "region"),))
    return Regions(whole_region, subregions)


def _region_of_complete_run(points: Sequence[MeasuredPoint], region_names: Sequence[str]) -> str:
    """Return the region without a name, else the region that contains all other regions; raise if
    there is no such region.
    """
    if "" in region_names:
        return ""
    outermost_regions = [
        outer_region
        for outer_region in region_names
        if all(
            _is_inside_region(region, outer_region) or region == outer_region
            for region in region_names
        )
    ]
    if len(outermost_regions) != 1:
        run = next(
            value.run
            for point in points
            for (metric, _, _), value in point.values.items()
            if metric in _METRICS_OF_WHOLE
        )
        names_in_words = ", ".join(
            outer_region if len(outer_region) <= 80 else f"{outer_region[:77]}..."
            for outer_region in region_names[:8]
        )
        names_in_words += ", ..." if len(region_names) > 8 else ""
        message = (
            f"which region is the whole? there are {names_in_words}; name it with --region, or"
            " leave it empty in the file; curves of several programs are read by slipstick fit"
            " --curve COLUMN"
        )
        raise SpecError([run.problem(message, "region")])
    return outermost_regions[0]


def _is_inside_region(inner: str, outer: str) -> bool:
    """Return whether a region lies inside another one by its call path; all lie inside the region
    without a name.
    """
    return not outer or inner.startswith(f"{outer}{ARROW}")


@dataclass(frozen=True, slots=True)
class Measured:
    """The account of measured runs.

    Parameters
    ----------
    answers : one for each size and number of processors, in that order
    notes : on unusual data, by file and line
    title, source : as the files state them
    statistic : by which repetitions were reduced to one value
    rate : unit of throughputs as their file writes it, and its size in base units
    member : what one of the processors is called
    """

    answers: tuple[Answer, ...]
    notes: tuple[Problem, ...]
    title: str = ""
    source: str = ""
    statistic: str = "median"
    rate: tuple[str, float] | None = None
    member: str = "processor"


def measured(
    measurements: Measurements,
    statistic: str = "median",
    region: str | None = None,
    timer: float | None = None,
) -> Measured:
    """Return the account of the time of measured runs: useful time and lost processors by cause,
    for each size and number of processors.

    Parameters
    ----------
    measurements : the measurements
    statistic : by which repetitions are reduced to one value: median, mean, min
    region : the part of the program to account for; the whole if None
    timer : cost of the timer itself at each event, contained in the waits [s]; as the file says if
        None

    Raises
    ------
    SpecError : the data contradict themselves, by file and line
    UnknownNameError : there is no such region or statistic

    >>> from slipstick_measure.measurements import Measurement
    >>> table = [
    ...     Measurement(4, None, "", "time", "s", 10.0, None, "f", 1),
    ...     Measurement(4, None, "door", "wait", "s", 5.0, None, "f", 2),
    ... ]
    >>> (answer,) = measured(Measurements(tuple(table))).answers
    >>> answer["speedup"], answer["processors_lost[door]"], answer["one_processor_estimate"]
    (3.5, 0.5, 35.0)
    """
    points, notes = reduce_repetitions(measurements, statistic)
    regions = regions_of(points, region)
    if region is not None:  # runs of other programs in one table have no time of this one
        points = [
            point
            for point in points
            if any(region in point.regions(metric) for metric in _METRICS_OF_WHOLE)
        ]
    notes = [
        *measurements.notes,
        *notes,
        *unknown_metric_notes(measurements.records),
        *regions.notes,
    ]
    account = _Account(
        measurements, points, regions, measurements.timer or 0.0 if timer is None else timer, notes
    )
    notes += _notes_on_parts_without_reference(points, regions, account.growth)
    notes += check_parts(measurements, points, regions, account.growth)
    answers = tuple(map(account.answer, points))
    check_waits(measurements, points, answers)
    if len({point.p for point in points}) == 1:
        run = measurements.records[0]
        count_text = f"{run.p} {'processor' if run.p == 1 else 'processors'}"
        message = (
            f"all runs have {count_text}; other numbers are needed to show how the program scales"
        )
        notes.append(run.problem(message, ""))
    fields_of_files = (
        answers,
        tuple(dict.fromkeys(notes)),
        measurements.title,
        measurements.source,
    )
    return Measured(*fields_of_files, statistic, measurements.rate, measurements.member)


WAIT_TOLERANCE = 0.2
"""Relative difference of N T_N - W_N from the measured time on one processor beyond which the waits
may have another meaning.
"""


def check_waits(
    measurements: Measurements, points: Sequence[MeasuredPoint], answers: Sequence[Answer]
) -> None:
    """Refuse waits that may be sums over all processors or means per processor: only as means do
    they fit the time on one processor, and the file does not state which they are.

    Raises
    ------
    SpecError : they may be means
    """
    if measurements.mean_waits is not None:
        return
    drifts_and_runs: list[tuple[float, float, Measurement]] = []
    for point, answer in zip(points, answers, strict=True):
        single_time = answer.find("one_processor_time")
        elapsed_time = answer.find("time")
        waits = [wait for cause in point.regions("wait") if (wait := point.find("wait", cause))]
        if not (single_time and elapsed_time and waits and point.p > 1) or point.regions("busy"):
            continue
        total_wait = sum(wait.value for wait in waits)
        one_processor_time_of_sums = point.p * elapsed_time - total_wait
        one_processor_time_of_means = point.p * (elapsed_time - total_wait)
        drifts_and_runs.append(
            (
                one_processor_time_of_sums / single_time - 1,
                one_processor_time_of_means / single_time - 1,
                waits[0].run,
            )
        )
    if not drifts_and_runs or max(abs(drift) for drift, _, _ in drifts_and_runs) <= WAIT_TOLERANCE:
        return
    if max(abs(drift) for _, drift, _ in drifts_and_runs) > WAIT_TOLERANCE:
        return
    run = max(drifts_and_runs, key=lambda drift_and_run: abs(drift_and_run[0]))[2]
    message = (
        f"is {run.text or f'{run.value:g} s'} at p = {run.p} the mean of a processor? Then the runs"
        f" agree with that on one processor; as a sum over all {run.p} they do not. Say --waits"
        " mean, or --waits sum"
    )
    raise SpecError([run.problem(message, run.region or "wait")])


PART_TOLERANCE = 0.1
"""Part of the elapsed time by which the losses of the parts of a program may exceed the lost time
before their times are taken for sums over processors; times that are measured apart differ by
less.
"""


def check_parts(
    measurements: Measurements, points: Sequence[MeasuredPoint], regions: Regions, growth: Growth
) -> list[Problem]:
    """Return a note if the parts of the program lose more time than the runs lost, so that less
    than nothing is left for the rest; refuse them if they fit the runs only as sums over all
    processors.

    Raises
    ------
    SpecError : they may be sums
    """

    def time_of(point: MeasuredPoint, region: str, *, is_sum: bool) -> float | None:
        measured_time = point.find("time", region)
        if measured_time is None:
            return None
        return measured_time.value / (point.p if is_sum else 1)

    def loss(point: MeasuredPoint, region: str, *, is_sum: bool = False) -> float:
        """Return the time beyond the ideal time of a region; 0 where the runs do not give it."""
        reference_point = growth.reference_point(point, timed_points)
        time = time_of(point, region, is_sum=is_sum)
        reference_time = time_of(reference_point, region, is_sum=is_sum)
        if time is None or reference_time is None:
            return 0.0
        return time - growth.ideal_time(reference_point, reference_time, point.p)

    def excess(point: MeasuredPoint, *, is_sum: bool = False) -> float:
        """Return the loss of the parts beyond that of the run, relative to the elapsed time."""
        elapsed_time = time_of(point, regions.whole_region, is_sum=False)
        parts_loss = sum(loss(point, region, is_sum=is_sum) for region in regions.part_regions)
        run_loss = max(loss(point, regions.whole_region), 0.0)  # a superlinear run has its own note
        return (parts_loss - run_loss) / elapsed_time if elapsed_time else 0.0

    timed_points = [point for point in points if point.find("time", regions.whole_region)]
    if not timed_points or not regions.part_regions or any(map(_has_own_account, points)):
        return []
    worst_point = max(timed_points, key=excess)
    largest_excess = excess(worst_point)
    if largest_excess <= BOOKING_TOLERANCE:
        return []
    region = max(regions.part_regions, key=lambda part_region: loss(worst_point, part_region))
    run = worst_point.first_measurement("time", region)
    count = worst_point.p
    fits_as_sums = all(excess(point, is_sum=True) <= BOOKING_TOLERANCE for point in timed_points)
    rest = f"{-largest_excess * count:.3g} of {count} processors are left for the rest"
    if measurements.mean_waits is None and largest_excess > PART_TOLERANCE and fits_as_sums:
        message = (
            f"is {run.text or f'{run.value:g} s'} at p = {count} a sum over all {count}? As a time"
            f" within the run, {rest}; as a sum it agrees with the runs. Say --waits sum, or"
            " --waits mean"
        )
        raise SpecError([run.problem(message, region)])
    message = f"at p = {count} the parts lose more time than the run, so {rest}"
    return [run.problem(message, region)]


def _notes_on_parts_without_reference(
    points: Sequence[MeasuredPoint], regions: Regions, growth: Growth
) -> list[Problem]:
    """Return one note on parts whose times are left out of the account, because the run with which
    others are compared has none.
    """
    timed_points = [point for point in points if point.find("time", regions.whole_region)]
    run_by_region: dict[str, Measurement] = {}
    for point in timed_points:
        reference_point = growth.reference_point(point, timed_points)
        for region in regions.part_regions:
            time = point.find("time", region)
            if time is not None and reference_point.find("time", region) is None:
                run_by_region.setdefault(region, time.run)
    if not run_by_region or any(map(_has_own_account, points)):
        return []
    names = [*run_by_region]
    further = f" and {len(names) - 4} more" if len(names) > 4 else ""
    message = (
        f"left out, because the smallest run has no time of it: {', '.join(names[:4])}{further};"
        " write 0 s there if it took none"
    )
    return [run_by_region[names[0]].problem(message, "region")]


def _has_own_account(point: MeasuredPoint) -> bool:
    """Return whether a point has measurements of which an account is made without its parts."""
    return any(point.regions(metric) for metric in ("wait", "busy", *EFFICIENCIES))


@dataclass
class _Account:
    """The account of all points of measured runs under the options of the account; `answer` books
    one of the points.
    """

    runs: Measurements
    points: Sequence[MeasuredPoint]
    regions: Regions
    timer: float
    notes: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        time_or_none_by_index = {
            index: self._elapsed_time(point) for index, point in enumerate(self.points)
        }
        time_by_index = {
            index: time for index, time in time_or_none_by_index.items() if time is not None
        }
        self.growth = growth_of(self.runs, self.points, time_by_index)
        self.timed_points = [self.points[index] for index in time_by_index] or self.points

    def answer(self, point: MeasuredPoint) -> Answer:
        """Return the answer for one point: its account of time and the values that follow from the
        account.
        """
        measured_time = self._elapsed_time(point)
        share_by_cause = self._shares_by_efficiencies(point) if measured_time is None else None
        coordinates: dict[str, float | str] = (
            {"p": point.p} if point.n is None else {"p": point.p, "n": point.n}
        )

        def answer_with(**fields: Any) -> Answer:
            return Answer("measured", "account", point=coordinates, **fields)

        if measured_time is None:
            if share_by_cause is None:
                return answer_with(failed="there is no elapsed time at this point")
            values_without_time = _values_by_laws(point.p, 1.0, share_by_cause)
            del values_without_time["latency"]
            notes: tuple[str, ...] = ("no elapsed time here, so ratios only",)
            return answer_with(values=values_without_time, useful=(USEFUL,), notes=notes)
        elapsed_time = measured_time.value
        if elapsed_time <= 0:
            message = (
                "the elapsed time is 0 at this point, so nothing is a share of it; give the time"
                " with more digits"
            )
            return answer_with(failed=message)
        measured_values, notes = self._measured_value(measured_time)
        account, is_from_point_alone = self._account_of_point(point, elapsed_time)
        answer_values = dict(measured_values)
        measured_throughput = point.find("throughput", self.regions.whole_region)
        if measured_throughput is not None and "time" in answer_values:
            answer_values["throughput"] = Value(
                measured_throughput.value, measured_throughput.run.unit
            )
        if account:
            answer_values |= _values_by_laws(point.p, elapsed_time, account)
            if is_from_point_alone and {EXTRA, WAITS_ON_ONE} & account.keys():
                time_at_work = _time_at_work(account)
                answer_values["concurrency"] = Value(
                    SPEEDUP.equation(processors=point.p, efficiency=time_at_work / elapsed_time),
                    "1",
                )
        answer_values |= self._further_values(point, elapsed_time, account, is_from_point_alone)
        if not is_from_point_alone and self.growth.reference_point(point, self.timed_points).p > 1:
            answer_values.pop("speedup", None)
        if measured_time.run.metric in _METRICS_WITHOUT_TIME:
            answer_values.pop("latency", None)
        speedup = answer_values.get("speedup")
        if (
            speedup
            and speedup.value is not None
            and is_from_point_alone | (self._point_on_one_processor(point) is not None)
        ):
            self.notes += superlinear_speedup_notes(measured_time.run, speedup.value)
        return answer_with(values=answer_values, account=account, useful=(USEFUL,), notes=notes)

    def _measured_value(
        self, reduced_time: ReducedValue
    ) -> tuple[dict[str, Value], tuple[str, ...]]:
        """Return the measured time or throughput, with the least and the largest of its
        repetitions, and a note on these.
        """
        metric = reduced_time.run.metric
        if metric == "speedup":
            return {}, ()
        value_name = "throughput" if metric == "throughput" else "time"
        repeated_values = (
            [1 / time for time in reduced_time.values]
            if metric == "throughput"
            else reduced_time.values
        )
        measured_value = 1 / reduced_time.value if metric == "throughput" else reduced_time.value
        if len(repeated_values) == 1:
            return {value_name: Value(measured_value, reduced_time.run.unit)}, ()
        note = (
            f"{value_name}: {len(repeated_values)} repetitions; low and high are the least and the"
            " largest"
        )
        return {
            value_name: Value(
                measured_value, reduced_time.run.unit, min(repeated_values), max(repeated_values)
            )
        }, (note,)

    def _account_of_point(
        self, point: MeasuredPoint, elapsed_time: float
    ) -> tuple[dict[str, float], bool]:
        """Return the account of a point, and whether it is computed without other runs.

        The account of a point alone states its useful time. If the time on one processor is known,
        useful time beyond the useful part of that is extra work: more of it, or the same done more
        slowly. Waits on one processor are part of the time with which other runs are compared, so
        they are subtracted again.
        """
        account = self._account_of_point_alone(point, elapsed_time)
        if not account:
            return self._account_by_regions(point, elapsed_time), False
        single_time = self._time_on_one_processor(point)
        if single_time is None or (point.p == 1 and len(self._comparable_points(point)) == 1):
            return account, True
        useful_on_one_processor = single_time
        single_point = self._point_on_one_processor(point)
        if self.runs.one_processor_time is None and single_point is not None:
            useful_on_one_processor = self._account_of_point_alone(single_point, single_time).get(
                USEFUL, single_time
            )
        divisor = 1 if self.growth.is_weak else point.p
        time_at_work = account[USEFUL] + account.pop(EXTRA, 0.0)
        seconds_by_cause = {
            EXTRA: time_at_work - useful_on_one_processor / divisor,
            WAITS_ON_ONE: -(single_time - useful_on_one_processor) / divisor,
        }
        lost_seconds = {cause: seconds for cause, seconds in account.items() if cause != USEFUL}
        # Losses of the size of rounding errors are no causes of their own.
        lost_seconds |= {
            cause: loss
            for cause, loss in seconds_by_cause.items()
            if abs(loss) > 1e-12 * elapsed_time
        }
        return {USEFUL: elapsed_time - sum(lost_seconds.values()), **lost_seconds}, True

    def _account_of_point_alone(
        self, point: MeasuredPoint, elapsed_time: float
    ) -> dict[str, float]:
        """Return the account of a point that follows from its own measurements, without other runs;
        empty if they do not suffice.
        """
        for compute_account in (
            self._account_by_waits,
            self._account_by_busy_times,
            self._account_by_efficiencies,
        ):
            if account := compute_account(point, elapsed_time):
                return account
        return {}

    def _comparable_points(self, point: MeasuredPoint) -> list[MeasuredPoint]:
        """Return the points that an account of a point may be compared with: those of the same
        size, or all in weak scaling.
        """
        group = self.growth.group_key(point)
        return [
            other_point
            for other_point in self.points
            if self.growth.group_key(other_point) == group
        ]

    def _point_on_one_processor(self, point: MeasuredPoint) -> MeasuredPoint | None:
        """Return the run on one processor of the same size or, in weak scaling, of the same work
        for each processor; None if there is none.
        """
        reference = self.growth.reference_point(point, self.timed_points)
        return reference if reference.p == 1 else None

    def _elapsed_time(self, point: MeasuredPoint) -> ReducedValue | None:
        """Return the elapsed time of the complete run; for measured throughputs or speed-ups, the
        time of one unit of work.
        """
        whole_region = self.regions.whole_region
        elapsed_time = (
            point.find("time", whole_region)
            or point.find("cycle", whole_region)
            or point.find("cycle")
        )
        if elapsed_time is not None:
            return elapsed_time
        for metric in _METRICS_WITHOUT_TIME:
            measured_rate = point.find(metric, whole_region) or point.find(metric)
            if measured_rate is not None and min(measured_rate.values) > 0:
                return ReducedValue(
                    1 / measured_rate.value,
                    tuple(1 / value for value in measured_rate.values),
                    measured_rate.run,
                )
        return None

    def _time_on_one_processor(self, point: MeasuredPoint) -> float | None:
        """Return the elapsed time on one processor: of the run without timers if the file states
        it, else of the run with them.
        """
        if self.runs.one_processor_time is not None:
            return self.runs.one_processor_time
        single_point = self._point_on_one_processor(point)
        single_time = self._elapsed_time(single_point) if single_point else None
        return single_time.value if single_time else None

    def _account_by_waits(self, point: MeasuredPoint, elapsed_time: float) -> dict[str, float]:
        """Return the account by waits (Dritz and Boyle): all time except waits is useful, unless
        useful time was measured.
        """
        causes = point.regions("wait")
        if not causes:
            return {}
        lost_seconds = {
            cause or WAITING: self._lost_time(point, cause) / point.p for cause in causes
        }
        total_busy_time = point.total("busy")
        if total_busy_time is not None:
            mean_busy_time = total_busy_time / point.p
            unbooked_time = elapsed_time - mean_busy_time - sum(lost_seconds.values())
            account = {USEFUL: mean_busy_time, **lost_seconds, "idle": unbooked_time}
            self._checked_account(point, elapsed_time, account, "idle")
            # A trace may have idle spans of its own, such as those behind the end of a processor.
            return account | {"idle": unbooked_time + lost_seconds.get("idle", 0.0)}
        return self._checked_account(
            point,
            elapsed_time,
            {USEFUL: elapsed_time - sum(lost_seconds.values()), **lost_seconds},
            USEFUL,
        )

    def _lost_time(self, point: MeasuredPoint, cause: str) -> float:
        """Return the time that all processors lost to a cause [s]. If only the excess over one
        processor counts for the cause, the wait on one processor is subtracted.
        """
        wait = self._wait_without_timer_cost(point, cause)
        single_point = self._point_on_one_processor(point)
        if (
            cause in self.runs.causes_of_excess
            and single_point is not None
            and cause in single_point.regions("wait")
        ):
            wait -= self._wait_without_timer_cost(single_point, cause)
        return wait

    def _wait_without_timer_cost(self, point: MeasuredPoint, cause: str) -> float:
        """Return the wait of all processors for a cause, without the cost of the timer."""
        wait = point.total("wait", cause) or 0.0
        event_count = point.total("events", cause)
        if self.timer and event_count is not None:
            timer_cost = event_count * self.timer
            if timer_cost > wait * (1 + BOOKING_TOLERANCE):
                explanation = (
                    f"{event_count:g} events of {self.timer:g} s cost {timer_cost:g} s, more than"
                    " the wait,"
                    f" {wait:g} s"
                )
                raise SpecError(
                    [
                        point.first_measurement("events", cause).problem(
                            f"{explanation}; is the timer's cost right?", cause
                        )
                    ]
                )
            return wait - min(timer_cost, wait)
        if self.timer:
            explanation = (
                f"no events of {cause} at p = {point.p}, so its wait keeps the timer's own cost"
            )
            self.notes.append(point.first_measurement("wait", cause).problem(explanation, cause))
        return wait

    def _account_by_busy_times(self, point: MeasuredPoint, elapsed_time: float) -> dict[str, float]:
        """Return the POP account by busy times [s]: imbalance is the time of the busiest processor
        beyond the mean, communication the time from there to the end of the run.
        """
        total_busy_time = point.total("busy")
        if total_busy_time is None:
            return {}
        mean_busy_time = total_busy_time / point.p
        busy_times = [sample.value for sample in point.values_of_processors("busy")]
        if not busy_times:
            return self._checked_account(
                point,
                elapsed_time,
                {USEFUL: mean_busy_time, "idle": elapsed_time - mean_busy_time},
                "idle",
            )
        account = {
            USEFUL: mean_busy_time,
            "imbalance": max(busy_times) - mean_busy_time,
            "communication": elapsed_time - max(busy_times),
        }
        return self._checked_account(point, elapsed_time, account, "communication")

    def _account_by_efficiencies(
        self, point: MeasuredPoint, elapsed_time: float
    ) -> dict[str, float]:
        """Return the account by POP efficiencies [s]."""
        return {
            name: share * elapsed_time
            for name, share in (self._shares_by_efficiencies(point) or {}).items()
        }

    def _shares_by_efficiencies(self, point: MeasuredPoint) -> dict[str, float] | None:
        """Return the account as fractions of the time, computed from POP efficiencies; None without
        the parallel efficiency or the values that give it.

        With the largest useful time T CommE, the average one T PE and the time on an ideal network
        T Trf, what lies between them is imbalance, serialization and transfer, whether the tool
        defines load balance as a quotient or, as PyPOP does, by a difference. Useful is what the
        smallest run needed as well, PE times computation scalability.
        """
        efficiency_by_name = {
            cause: efficiency.value
            for cause in EFFICIENCIES
            if (efficiency := point.find(cause)) is not None
        }
        parallel_efficiency = efficiency_by_name.get("parallel_efficiency")
        communication_efficiency = efficiency_by_name.get("communication_efficiency")
        if (
            parallel_efficiency is None
            and communication_efficiency is not None
            and "load_balance" in efficiency_by_name
        ):
            parallel_efficiency = efficiency_by_name["load_balance"] * communication_efficiency
        if parallel_efficiency is None:
            return None
        computation_scalability = efficiency_by_name.get("computation_scalability", 1.0)
        if computation_scalability > 1.0:
            message = (
                f"is {computation_scalability:g} at p = {point.p}: computing took less time than"
                " in the"
                " smallest run"
            )
            self.notes.append(point.first_measurement("computation_scalability").problem(message))
        useful_share_at_work = min(computation_scalability, 1.0)
        share_by_cause = {
            USEFUL: parallel_efficiency * useful_share_at_work,
            EXTRA: parallel_efficiency * (1 - useful_share_at_work),
        }
        if communication_efficiency is None:
            share_by_cause["not-parallel"] = 1 - parallel_efficiency
        else:
            share_by_cause["imbalance"] = communication_efficiency - parallel_efficiency
            transfer_efficiency = efficiency_by_name.get("transfer_efficiency")
            if transfer_efficiency is None:
                share_by_cause["communication"] = 1 - communication_efficiency
            else:
                share_by_cause |= {
                    "serialization": transfer_efficiency - communication_efficiency,
                    "transfer": 1 - transfer_efficiency,
                }
        run = point.first_measurement(
            "parallel_efficiency" if "parallel_efficiency" in efficiency_by_name else "load_balance"
        )
        for cause, share in share_by_cause.items():
            if share < -2 * BOOKING_TOLERANCE:
                message = (
                    f"the efficiencies contradict one another: {cause} would be {100 * share:.1f} %"
                    " of the time"
                )
                raise SpecError([run.problem(message, "parallel_efficiency")])
        return {cause: share for cause, share in share_by_cause.items() if share or cause == USEFUL}

    def _account_by_regions(self, point: MeasuredPoint, elapsed_time: float) -> dict[str, float]:
        """Return the account by regions. Each region loses the time beyond its time without loss,
        which is computed from its time in the reference run.
        """
        reference_point = self.growth.reference_point(point, self.timed_points)
        reference_time_of_whole = self._elapsed_time(reference_point)
        single_time = self._time_on_one_processor(point)
        if reference_time_of_whole is None or (
            single_time is None and len(self._comparable_points(point)) == 1
        ):
            return {}
        if single_time is not None:
            useful_time = single_time if self.growth.is_weak else single_time / point.p
        else:
            useful_time = self.growth.ideal_time(
                reference_point, reference_time_of_whole.value, point.p
            )
        lost_seconds: dict[str, float] = {}
        for region in self.regions.part_regions:
            region_time = point.find("time", region)
            reference_time = reference_point.find("time", region)
            if region_time and reference_time:
                ideal_time = self.growth.ideal_time(reference_point, reference_time.value, point.p)
                lost_seconds[region.rpartition(ARROW)[2].strip() or region] = (
                    region_time.value - ideal_time
                )
        remaining_seconds = elapsed_time - useful_time - sum(lost_seconds.values())
        return {
            USEFUL: useful_time,
            **lost_seconds,
            "other" if lost_seconds else "lost": remaining_seconds,
        }

    def _checked_account(
        self,
        point: MeasuredPoint,
        elapsed_time: float,
        account: dict[str, float],
        remaining_cause: str,
    ) -> dict[str, float]:
        """Return an account unchanged; raise if the remainder is negative because the other parts
        add up to more than the elapsed time.
        """
        if account[remaining_cause] < -BOOKING_TOLERANCE * elapsed_time:
            booked_time = elapsed_time - account[remaining_cause]
            message = (
                f"{booked_time * point.p:g} s are booked at p = {point.p}, more than {point.p} x"
                f" {elapsed_time:g} s; are waits added up over all processors, and busy times"
                " without"
                " waits?"
            )
            reduced_time = self._elapsed_time(point)
            raise SpecError([reduced_time.run.problem(message)] if reduced_time else [])
        return account

    def _further_values(
        self,
        point: MeasuredPoint,
        elapsed_time: float,
        account: Mapping[str, float],
        is_from_point_alone: bool,
    ) -> dict[str, Value]:
        """Return the values that not every account has: memory, the time on one processor as
        measured and as estimated, the speed-up over the smallest run, and the POP efficiencies.
        """
        ratio_by_name: dict[str, float] = {}
        single_time = self._time_on_one_processor(point)
        has_waits = bool(point.regions("wait"))
        further_values: dict[str, Value] = {}
        if (memory := point.find("memory", self.regions.whole_region)) is not None:
            further_values["memory"] = Value(memory.value, "B")
        if account and has_waits and not self.growth.is_weak:
            total_wait = point.p * (elapsed_time - _time_at_work(account))
            estimate = SEQUENTIAL_ESTIMATE.equation(
                processors=point.p, waits=total_wait, time=elapsed_time
            )
            further_values["one_processor_estimate"] = Value(estimate, "s")
            if single_time is not None:
                further_values["one_processor_time"] = Value(single_time, "s")
                ratio_by_name["one_processor_drift"] = estimate / single_time - 1
        reference_point = self.growth.reference_point(point, self.timed_points)
        reference_time = self._elapsed_time(reference_point)
        if (
            reference_time is not None
            and reference_point.p > 1
            and reference_point is not point
            and reference_time.value > 0
        ):
            ideal_time = self.growth.ideal_time(reference_point, reference_time.value, point.p)
            ratio_by_name["relative_speedup"] = (
                ideal_time / elapsed_time * point.p / reference_point.p
            )
        busy_times = [sample.value for sample in point.values_of_processors("busy")]
        if busy_times and max(busy_times) > 0:
            mean_busy_time = sum(busy_times) / point.p
            largest_busy_time = max(busy_times)
            ratio_by_name |= {
                "parallel_efficiency": mean_busy_time / elapsed_time,
                "load_balance": mean_busy_time / largest_busy_time,
            }
            ratio_by_name["communication_efficiency"] = largest_busy_time / elapsed_time
        return further_values | {name: Value(ratio, "1") for name, ratio in ratio_by_name.items()}


def _time_at_work(account: Mapping[str, float]) -> float:
    """Return the time at work in an account [s]: useful time, extra work, and waits that occur on
    one processor too.
    """
    return sum(account.get(cause, 0.0) for cause in (USEFUL, EXTRA, WAITS_ON_ONE))


def _values_by_laws(p: int, elapsed_time: float, account: Mapping[str, float]) -> dict[str, Value]:
    """Return the values that the laws give for any account: speed-up, efficiency, average latency
    and lost processors by cause.
    """
    efficiency = EFFICIENCY.equation(useful=account[USEFUL], time=elapsed_time)
    lost_processors_by_name = {
        f"processors_lost[{cause}]": Value(
            PROCESSORS_LOST.equation(processors=p, booked=seconds, time=elapsed_time), "1"
        )
        for cause, seconds in account.items()
        if cause != USEFUL
    }
    return {
        "speedup": Value(SPEEDUP.equation(processors=p, efficiency=efficiency), "1"),
        "efficiency": Value(efficiency, "1"),
        "latency": Value(AVERAGE_LATENCY.equation(time=elapsed_time, efficiency=efficiency), "s"),
        **lost_processors_by_name,
    }


def superlinear_speedup_notes(run: Measurement, speedup: float) -> list[Problem]:
    """Return a note if the speed-up over one processor exceeds the number of processors; else an
    empty list.
    """
    # The margin excludes speed-ups that exceed p by rounding only.
    if not speedup > run.p * (1 + 1e-9):
        return []
    note = (
        f"superlinear: speed-up {speedup:.4g} on {run.p} processors; less work, more cache, or"
        " another program"
    )
    return [run.problem(note, "time")]
