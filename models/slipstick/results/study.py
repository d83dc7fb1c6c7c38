"""What a study found: answers by case, sweeps as columns, rankings, comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slipstick.answer import Answer, Value
from slipstick.errors import ModelError, UnknownNameError
from slipstick.results.outlook import Choice, Projection, Sampling, Sought
from slipstick.results.scaling import Scaling

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """What was varied: a path, its base unit, and its values in order (names have no unit)."""

    path: str
    unit: str
    values: tuple[float | str, ...]

    @property
    def named(self) -> bool:
        """Say whether the values are names rather than numbers."""
        return any(isinstance(value, str) for value in self.values)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Points of one sweep as aligned columns.

    Parameters
    ----------
    name : of the sweep
    axes : what was varied, in order
    cases : case of each point
    points : value of each axis at each point, in base units or as names
    columns : answers at each point, in base units; NaN where there is none
    units : base unit of each column
    limits : limiting stage of each pipeline at each point
    failed : why a point has no answer, by its index
    idle : paths that were varied without any effect
    answers : the whole answer of each point, where asked for
    """

    name: str
    axes: tuple[Axis, ...]
    cases: Sequence[str]
    points: Mapping[str, Sequence[float | str] | Array]
    columns: Mapping[str, Array]
    units: Mapping[str, str]
    limits: Mapping[str, Sequence[str]]
    failed: Mapping[int, str] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    answers: Sequence[Answer] = ()

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def dims(self) -> tuple[str, ...]:
        """Name the dimensions: the axes (and the cases, if several) where every combination is a point, else ``point``."""
        return tuple(self.coords)

    @property
    def coords(self) -> dict[str, Sequence[float | str]]:
        """Give the values along each dimension, in base units or as names."""
        cases = tuple(dict.fromkeys(self.cases))
        grid: dict[str, Sequence[float | str]] = {"case": cases} if len(cases) > 1 else {}
        grid |= {axis.path: axis.values for axis in self.axes}
        if len(self) == math.prod(map(len, grid.values())):
            return grid
        return {"point": range(len(self))}

    @property
    def shape(self) -> tuple[int, ...]:
        """Count the values along each dimension."""
        return tuple(map(len, self.coords.values()))

    def __getitem__(self, name: str) -> Array:
        """Give a column, or the values of an axis at every point, as an array with the dimensions `dims`.

        Raises
        ------
        UnknownNameError : there is no such column
        """
        if name not in self.columns and name not in self.points:
            raise UnknownNameError("column", name, [*self.columns, *self.points])
        return np.asarray(self.columns[name] if name in self.columns else self.points[name]).reshape(self.shape)

    def answer(self, index: int) -> Answer:
        """Give the whole answer of one point, counted from 0 in the order of the columns.

        Raises
        ------
        ModelError : whole answers were not kept
        """
        if not self.answers:
            raise ModelError("whole answers were not kept for so many points; solve this point alone")
        return self.answers[index]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One quantity in a ranking.

    Parameters
    ----------
    path, meaning, unit : what it is
    value : in base units
    share : what one percent less of it buys, in percent of the time; None for counts, sizes and ratios
    elasticity : relative change of the time for a relative change of the quantity
    effect : 1 - time after / time before, for the stated change; None where the changed value is not allowed
    more : the change is that much more of the quantity, for less of it would not help
    """

    path: str
    meaning: str
    unit: str
    value: float
    share: float | None
    elasticity: float
    effect: float | None
    more: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """What would help most in one case.

    Parameters
    ----------
    case : the case
    change : how much less of each quantity, or more where less would not help [1]
    rows : the quantities that matter, best first
    idle : quantities that change nothing here
    under : the technology that the case is ranked under; none is the case as it is
    """

    case: str
    change: float
    rows: tuple[Ranked, ...]
    idle: tuple[str, ...]
    under: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A computed value beside a published one, in the table's unit."""

    case: str
    computed: float | None
    printed: float | None
    within: float
    slip: str = ""

    @property
    def difference(self) -> float | None:
        """Computed minus printed."""
        return None if self.computed is None or self.printed is None else self.computed - self.printed

    @property
    def agrees(self) -> bool:
        """Say whether the difference is within what rounding allows; nothing printed agrees with anything."""
        # A hair more than the allowance, for decimal fractions have no exact double.
        return self.difference is None or abs(self.difference) <= self.within * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a comparison: predictions, measurements to hold them against, inputs of the model, or another case."""

    label: str
    cells: tuple[Cell, ...]
    measured: bool = False
    input: bool = False
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published table beside what the program computes."""

    title: str
    source: str
    text: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time of one member, or of one of its branches.

    Parameters
    ----------
    member, branch : who
    label : the step, or what was waited for
    start, end : [s]
    cause : the member whose action ended a wait, if it is known
    """

    member: int
    branch: int
    label: str
    start: float
    end: float
    cause: int | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The beginning of a simulation in full.

    Parameters
    ----------
    spans : in the order in which they ended
    levels : by resource, (time, present, busy) from each change on
    until : how far it reaches [s]
    path : spans that held up the end, one after the other, from member to member: the critical path of this run
    components : of each label, what the account books it to
    useful : components that count as useful work
    """

    spans: tuple[Span, ...]
    levels: Mapping[str, tuple[tuple[float, int, int], ...]]
    until: float
    path: tuple[Span, ...] = ()
    components: Mapping[str, str] = field(default_factory=dict)
    useful: tuple[str, ...] = ("busy",)

    def component(self, span: Span) -> str:
        """Say what the account books a span to."""
        return self.components.get(span.label, span.label)

    def active(self) -> list[tuple[float, int]]:
        """Count who is at something useful: (from, how many).

        >>> both = (Span(0, 0, "busy", 0.0, 2.0), Span(1, 0, "busy", 1.0, 3.0))
        >>> Timeline(both, {}, 3.0).active()
        [(0.0, 1), (1.0, 2), (2.0, 1), (3.0, 0)]
        """
        change: dict[float, int] = {}
        for span in self.spans:
            if self.component(span) in self.useful:
                change[span.start] = change.get(span.start, 0) + 1
                change[span.end] = change.get(span.end, 0) - 1
        counted, count = [], 0
        for time in sorted(change):
            count += change[time]
            counted.append((time, count))
        return counted


@dataclass(frozen=True, slots=True)
class SideBySide:
    """One value by several methods; None where a method does not have it."""

    name: str
    unit: str
    values: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What several methods say of one model.

    Parameters
    ----------
    case : what was solved
    methods : in order
    rows : the values that at least two of them have
    verdicts : how each method stands to the most trusted, in words
    findings : where methods contradict each other by more than they promise
    failed : why a method has no answer, by method
    """

    case: str
    methods: tuple[str, ...]
    rows: tuple[SideBySide, ...]
    verdicts: tuple[str, ...]
    findings: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Curve:
    """A fit over the number of processors.

    Parameters
    ----------
    name : of the model
    p, time : where, and the time there [s]
    at : where it was asked how sure the fit is; fewer places than `p`
    low, high : ends of the intervals there [s]; empty where there are none
    """

    name: str
    p: Sequence[float]
    time: Sequence[float]
    at: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


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
    truth : the time that is known, by processors [s]; of made-up data only
    laid : the model whose values are laid over the base of the study
    efficiency : what the largest number of processors keeps, and the size needed gives [1]
    """

    answers: tuple[Answer, ...]
    verdict: str
    warnings: tuple[str, ...]
    p: Sequence[float] = ()
    time: Sequence[float] = ()
    curves: tuple[Curve, ...] = ()
    source: str = ""
    size: float | None = None
    truth: Mapping[float, float] = field(default_factory=dict)
    laid: str = ""
    efficiency: float = 0.75


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a study found.

    Parameters
    ----------
    name, title, text, source : of the study
    cases : answer of each case, in order
    settings : what each case differs in from the base, as written
    sweeps, rankings, comparisons, agreements : by question
    hashes : SHA-256 of every file that was read
    resolved : the specs with every reference followed and every default filled in, as plain data, by case
    versions : of slipstick and the libraries that computed
    notes : what the reader should know
    timelines : by the name of the picture that shows it
    scalings : by case
    fits : by question
    measured : answers for each number of processors that was measured, by question
    projection : years ahead
    sought : where conditions start or stop holding, question by question, case by case
    samplings : by case
    choices : what changes do, by case and technology
    """

    name: str
    title: str
    text: str
    source: str
    cases: Mapping[str, Answer]
    settings: Mapping[str, Mapping[str, str]]
    sweeps: tuple[Sweep, ...]
    rankings: tuple[Ranking, ...]
    comparisons: tuple[Comparison, ...]
    hashes: Mapping[str, str]
    resolved: Mapping[str, object]
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    scalings: tuple[Scaling, ...] = ()
    fits: Mapping[str, Fitting] = field(default_factory=dict)
    measured: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)
    projection: Projection | None = None
    sought: tuple[Sought, ...] = ()
    samplings: tuple[Sampling, ...] = ()
    choices: tuple[Choice, ...] = ()


def by_processors(found: Mapping[str, Sequence[Answer]]) -> dict[str, Answer]:
    """Name the answer for each number of processors, as tables and bars of a study call it: NAME-PROCESSORS.

    Parameters
    ----------
    found : answers of measured runs, by question
    """
    return {f"{name}-{each.point['p']:g}": each for name, answers in found.items() for each in answers}
