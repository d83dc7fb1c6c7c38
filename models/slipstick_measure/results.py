"""What traces show and what fits give: data, of which questions, commands and reports make
tables and pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slipstick.answer import Answer
from slipstick.errors import Problem, TypedSentence
from slipstick.late import Array, dataclass, field

LEAST_CRITERION_DIFFERENCE = 4.0
"""Models whose criteria differ by less are not told apart (Burnham and Anderson, 2002, section 2.6:
4 to 7 is less support, over 10 none)."""


CAUSES = "measured-causes"
"""The name of the law with the measured causes."""

LEVEL = 0.005
"""Relative difference of speed-ups that are called the same."""


class RefusedPrediction(TypedSentence):
    """A sentence on the reason why there is no prediction for a number of processors, with advice.
    `cause` is the sentence without the advice.
    """

    processors: float
    cause: str
    advice: str

    @classmethod
    def of(cls, processors: float, reason: str, advice: str) -> RefusedPrediction:
        """Return the sentence.

        >>> RefusedPrediction.of(64, ": too few rows", "measure on 32")
        'no prediction at p = 64: too few rows; measure on 32'
        """
        cause = f"no prediction at p = {processors:g}{reason}"
        return cls(f"{cause}; {advice}", processors=processors, cause=cause, advice=advice)


class ExtrapolatedPrediction(TypedSentence):
    """A sentence that a prediction is beyond the rows, and how far off models are there."""


@dataclass(frozen=True, slots=True)
class TraceViews:
    """The views of a trace.

    Parameters
    ----------
    file : it is from
    answer : its account, with values of the views
    processors, objects : names
    matrix : accesses of each processor to each object, (processors, objects)
    edges : of the windows [s]
    utilization : useful part of each window, (processors, windows)
    work : by activity, the time of all processors in each window [s]
    concurrency : how long as many processors as its index were at useful work [s]
    contention : by stage of a network or by resource, in each window: conflicts, or the time that
        requests wait [s]
    conflicts : contention is of requests that conflict in a network
    notes : what is unusual
    """

    file: str
    answer: Answer
    processors: tuple[str, ...]
    objects: tuple[str, ...]
    matrix: Array
    edges: Array
    utilization: Array
    work: Mapping[str, Array]
    concurrency: Array
    contention: Mapping[str, Array]
    conflicts: bool = False
    notes: tuple[Problem, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Curve:
    """A fitted curve of the time over the number of processors, with intervals at some of them.

    Parameters
    ----------
    title : of the law or the model
    p, time : numbers of processors, and the times on them [s]
    at : numbers of processors with an interval; fewer than in `p`
    low, high : ends of the intervals there [s]; empty if there are none
    """

    title: str
    p: Sequence[float]
    time: Sequence[float]
    at: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class TimeGoal:
    """A goal for measured runs: the longest time, or the least throughput of all processors.

    Parameters
    ----------
    text : the limit with its unit, as the data write it
    time : the longest time [s]; None for a goal of throughput
    throughput : the least throughput [1/s]
    """

    text: str
    time: float | None = None
    throughput: float = 0.0

    def time_on(self, p: float) -> float:
        """Return the longest time on `p` processors that keeps the goal [s].

        >>> TimeGoal("10 /s", throughput=10.0).time_on(4)
        0.4
        """
        return p / self.throughput if self.time is None else self.time

    @property
    def words(self) -> str:
        """The goal in words."""
        kind, relation = ("throughput", "least") if self.time is None else ("time", "most")
        return f"a {kind} of at {relation} {self.text}"


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits to measured times.

    Parameters
    ----------
    answers : one for each model, best first, then those without a fit
    verdict : what the data tell, and what they do not
    warnings : how far each prediction is beyond the data
    p, time : what was fitted, every repetition
    curves : the fits that the data leave, and the others, best first
    source : where the times come from
    size : of the problem that the curves are for; None where there is one size only
    size_path : of the size in the model of a study; empty without one
    truth : the time that is known, by processors [s]; of made-up data only
    laid : the model whose values are laid over the base of the study
    efficiency : what the largest number of processors keeps, and the size needed gives [1]
    has_default_level : this efficiency is the default, not one that was asked for
    goal : the time or the throughput that is wanted; None without one
    findings : sentences on what the measured rows say by themselves
    has_law : whether a law describes the rows
    member : what one of the processors is called
    bounded : intervals of times that need no law, by processors [s]
    next_runs : numbers of processors whose measurement would tell most
    weak_scaling : each processor does the whole work, so that its time would stay the same
    rate : unit of throughputs and its size in base units, where throughputs were measured, so that
        predictions are told as such
    growing_causes : measured causes of lost time that grow, and that the first law has no term for
    log_covariances : by model, the covariance of the logarithms of its parameters, in their order
    reach : the largest number of processors with a prediction
    intervals_beyond : intervals of the time from the largest measured number to `reach`, by numbers
        of processors, of fits with a model [s]
    undistinguished_names : of the first law, and of those that the data cannot distinguish from it
    """

    answers: tuple[Answer, ...]
    verdict: str
    warnings: tuple[str, ...]
    p: Sequence[float] = ()
    time: Sequence[float] = ()
    curves: tuple[Curve, ...] = ()
    source: str = ""
    size: float | None = None
    size_path: str = ""
    truth: Mapping[float, float] = field(default_factory=dict)
    laid: str = ""
    efficiency: float = 0.75
    goal: TimeGoal | None = None
    findings: tuple[str, ...] = ()
    has_law: bool = True
    member: str = "processor"
    bounded: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    next_runs: str = ""
    weak_scaling: bool = False
    rate: tuple[str, float] | None = None
    growing_causes: tuple[str, ...] = ()
    log_covariances: Mapping[str, Sequence[Sequence[float]]] = field(
        default_factory=dict, repr=False
    )
    reach: float = 0.0
    intervals_beyond: Mapping[float, tuple[float, float]] = field(default_factory=dict, repr=False)
    undistinguished_names: tuple[str, ...] = ()
    has_default_level: bool = field(default=False, repr=False)

    @property
    def undistinguished(self) -> list[Answer]:
        """The first answer, and those of the laws that the data cannot distinguish from it."""
        return [answer for answer in self.answers if answer.model in self.undistinguished_names]


@dataclass(frozen=True, slots=True)
class OwnerFactor:
    """The factor of the parameter of an owner over the common value, and the standard deviation of
    the logarithms of the factors of all owners.
    """

    owner: str
    factor: float
    spread: float


@dataclass(frozen=True, slots=True)
class EstimatedParameter:
    """A parameter estimated from rows.

    Parameters
    ----------
    path, unit, meaning : what it is
    value, low, high : the common value of all owners, with its interval of 90 %
    least, most : of the prior
    kept : standard deviation over that of the prior; near 1 the rows say nothing of it
    owners : factors of its owners
    """

    path: str
    unit: str
    meaning: str
    value: float
    low: float
    high: float
    least: float
    most: float
    kept: float
    owners: tuple[OwnerFactor, ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenValue:
    """The possible values of a choice as written, with the probability of each for an owner."""

    path: str
    owner: str
    texts: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GroupError:
    """Errors on a group by a fit to the others.

    Parameters
    ----------
    name : of the group
    rows : measured values
    median, mean, bias, ninth, worst : of the relative errors: median and mean of their sizes, the
        median with its sign, that which 90 % stay below, the largest [1]
    coverage : part of the values that lie in their intervals of 90 % [1]
    width : high over low of these intervals, in the median [1]
    reasons : what explains the misfit
    residuals, halves : of the logarithms of the values, measured less predicted, and half the width
        of their intervals of 90 %
    widened : factor that the other groups gave to the half widths [1]
    """

    name: str
    rows: int
    median: float
    mean: float
    bias: float
    ninth: float
    worst: float
    coverage: float
    width: float
    reasons: tuple[str, ...] = ()
    residuals: Sequence[float] = field(default=(), repr=False)
    halves: Sequence[float] = field(default=(), repr=False)
    widened: float = 1.0


@dataclass(frozen=True)
class Estimation:
    """Parameters of a model, estimated from rows and checked on groups that were left out.

    Parameters
    ----------
    model, source, measured, rows : what was fitted to what
    parameters, choices : what was found
    groups : errors on each group by a fit to the others; none where there is one group only
    by : the columns that make a group
    noise : of each measured value, relative [1]
    noise_assumed : whether too few rows are left over the parameters to tell it
    fitted_error : median of the relative errors on the rows that were fitted [1]
    widened : factor by which the check widens later intervals [1]
    score, simple_score : mean interval scores of the check, and of intervals by the errors of the
        other groups alone; None with fewer than three groups
    ignored : columns that nothing uses
    ignored_numbers : those of them whose numbers differ between rows
    names, centre, covariance, spread : the posterior in logarithms: parameters and their offsets
    zeros : how many measured cells are 0 and were left out, by column
    """

    model: str
    source: str
    measured: tuple[str, ...]
    rows: int
    parameters: tuple[EstimatedParameter, ...]
    choices: tuple[ChosenValue, ...]
    groups: tuple[GroupError, ...]
    by: tuple[str, ...]
    noise: tuple[float, ...]
    noise_assumed: bool
    fitted_error: float
    widened: float
    score: float | None
    simple_score: float | None
    ignored: tuple[str, ...]
    ignored_numbers: tuple[str, ...]
    names: tuple[str, ...]
    centre: tuple[float, ...] = field(repr=False)
    covariance: tuple[tuple[float, ...], ...] = field(repr=False)
    spread: Mapping[str, float] = field(repr=False)
    zeros: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedStation:
    """A station that explains response times against load.

    Parameters
    ----------
    words : what it is
    servers : of it
    scv : squared coefficient of variation of its services [1]
    second : demand at a second station, as a part of that at the first
    service : demand of a request there [s]
    time_elsewhere : time of a request outside of the station [s]
    saturates : throughput at which it saturates [1/s]
    scatter : relative error of the rows; None where none is left over
    missed : relative error at the largest load when fitted without it; None where too few rows
    """

    words: str
    servers: int
    scv: float
    second: float
    service: float
    time_elsewhere: float
    saturates: float
    scatter: float | None
    missed: float | None

    @property
    def least_response(self) -> float:
        """The mean time of a request that waits nowhere [s]."""
        return self.time_elsewhere + self.service * (1 + self.second)


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """A measured response time with the response time of the best station.

    Parameters
    ----------
    load : users, or rate [1/s]
    measured, fitted : response time [s]
    percentiles : measured ones and those of the station, by fraction; only where it has them [s]
    """

    load: float
    measured: float
    fitted: float
    percentiles: Mapping[float, tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True)
class PredictedResponse:
    """A predicted response time at a load; if it has no value, the reason.

    Parameters
    ----------
    load : rate [1/s] or users
    value, low, high : of the response time [s]
    reason : why there is none
    """

    load: float
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LoadFitting:
    """The stations that explain response times against load, the best first.

    Parameters
    ----------
    file : of the load test
    quantile : of the response time that is fitted; None: the mean
    think : time of users [s]; None where requests arrive at a rate
    misfit : why no station describes the rows; nothing if one does
    stations : that the rows do not determine apart
    between : ends of the service and of the time beside, by name; none without a row left over [s]
    points : the rows
    predictions : at the loads that were asked for
    overloaded : rates offered of rows that completed less, and are left out [1/s]
    """

    file: str
    quantile: float | None
    think: float | None
    misfit: str
    stations: tuple[LoadedStation, ...]
    between: Mapping[str, tuple[float, float]]
    points: tuple[LoadPoint, ...]
    predictions: tuple[PredictedResponse, ...]
    overloaded: tuple[float, ...]


class GrainFigure(NamedTuple):
    """A figure of the measured grain: the input on its x axis, and the input that distinguishes its
    lines.
    """

    name: str
    title: str
    x_input: str
    line_input: str
    is_throughput: bool = False


class GrainPoint(NamedTuple):
    """A measured point of a figure: its place on the x axis, its line, the time of a grain [s], and
    grain efficiency or accesses a second of all processors, with its interval.
    """

    figure: str
    x: float
    line: str
    time: float
    value: float
    low: float
    high: float


GRAIN_FIGURES = (
    GrainFigure("figure-5", "Grain efficiency against computing", "compute", "access"),
    GrainFigure("figure-6", "Grain efficiency against competitors", "competitors", "elements"),
    GrainFigure("figure-7", "Random accesses a second of all cores", "competitors", "access", True),
    GrainFigure("figure-8", "Grain efficiency against the critical section", "critical", "lock"),
    GrainFigure(
        "figure-9",
        "Grain efficiency among empty critical sections",
        "competitors",
        "other_lock",
    ),
)
