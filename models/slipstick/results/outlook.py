"""What a study found about what is to come: projections, conditions sought, samples, changes held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UsedRate:
    """A rate that a projection uses.

    Parameters
    ----------
    trend, name : whose rate it is, and of what
    start, end : its period, in years
    factor : how many times faster each year [1]
    low, high : ends of the band of the factor [1]
    source : where it comes from
    assumed : it is a guess
    beyond : years outside its period that it is used for, from and to; None if there are none
    """

    trend: str
    name: str
    start: float
    end: float
    factor: float
    low: float
    high: float
    source: str
    assumed: bool
    beyond: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Reign:
    """A class of cost that takes the most time from one year to another."""

    name: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a condition starts or stops holding.

    Parameters
    ----------
    value : where, in base units, or the year
    starts : it holds from there on, and not before
    before : the last value on the near side, of a condition that is seen at single values only; else None
    jump : a side of the condition jumps there
    low, high : band of the place, where rates are uncertain
    part : how much of the draws cross there at all [1]
    """

    value: float
    starts: bool
    before: float | None = None
    jump: bool = False
    low: float | None = None
    high: float | None = None
    part: float | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """When a condition holds along a track: at the first year, and where that changes."""

    condition: str
    holds_first: bool | None
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True, slots=True)
class Track:
    """One case along one trend; arrays run along the years.

    Parameters
    ----------
    case, trend, method : which, and how it was solved
    columns : answers with the rates as stated, in base units
    low, high : band of each answer; empty if nothing is drawn
    reigns : the class of cost that takes the most time, from when to when
    watched : when conditions hold
    unmoved : what the trend changes and the case does not have
    failed : why a year has no answer
    """

    case: str
    trend: str
    method: str
    columns: Mapping[str, Array]
    low: Mapping[str, Array]
    high: Mapping[str, Array]
    reigns: tuple[Reign, ...] = ()
    watched: tuple[Watched, ...] = ()
    unmoved: tuple[str, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Projection:
    """Years ahead, for several cases along several trends.

    Parameters
    ----------
    base_year : that the cases' values are of
    years : rising
    tracks : case by case, trend by trend
    units : base unit of each answer
    rates : every rate that is used
    titles : of the trends, by name
    samples, band, seed : draws, and the part of them that the band holds
    factors : how many times faster processors are in each of the years, if that was asked
    """

    base_year: float
    years: Array
    tracks: tuple[Track, ...]
    units: Mapping[str, str]
    rates: tuple[UsedRate, ...]
    titles: Mapping[str, str]
    samples: int
    band: float
    seed: int
    factors: Array | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """Where a condition starts or stops holding, for one case.

    Parameters
    ----------
    name, case : of the question
    of, unit, trend : the parameter and its base unit, or the year and the trend it goes along
    condition : as written
    first, last : between where it was looked for
    holds_first, holds_last : it holds there; None where there is no answer
    places : at how many places it was looked at
    crossings : all that were found, rising
    sides : values of the two sides of what fails or decides, at first, at last and where it comes nearest
    nearest : the place where the condition comes nearest to changing; None if there is no answer anywhere
    margin : how near it comes there, relative to the sides [1]
    beyond : rates used outside their periods, in words
    """

    name: str
    case: str
    of: str
    unit: str
    trend: str
    condition: str
    first: float
    last: float
    holds_first: bool | None
    holds_last: bool | None
    places: int
    crossings: tuple[Crossing, ...]
    sides: tuple[tuple[float, float], ...] = ()
    side_unit: str = "1"
    nearest: float | None = None
    margin: float | None = None
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Influence:
    """How much of the variance of an answer one quantity causes, alone and with all it acts together with [1]."""

    path: str
    first_order: float
    total: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one sampled answer is distributed.

    Parameters
    ----------
    name, unit : of the answer
    stated : with every quantity as the case gives it, in base units
    mean : of the points
    quantiles : by part, each with the ends of its 95 % interval
    points : all values, in the order in which they were drawn
    influences : of each quantity, the largest total first; empty where they were not asked for, or cannot be told
    why : they cannot be told
    """

    name: str
    unit: str
    stated: float | None
    mean: float
    quantiles: Mapping[float, tuple[float, float, float]]
    points: Array
    influences: tuple[Influence, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What uncertain quantities make of the answers of one case.

    Parameters
    ----------
    case, method : what was solved, and how
    of : each distribution in words, by path
    outcomes : of each answer
    samples, draw, seed : how points were drawn
    without : points without an answer
    """

    case: str
    method: str
    of: Mapping[str, str]
    outcomes: tuple[Outcome, ...]
    samples: int
    draw: str
    seed: int
    without: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What one change does.

    Parameters
    ----------
    name : of the change
    cost : in the unit of the budget; None if nobody says
    time, overhead : after it [s]
    saved : 1 - time after / time before
    reduction : 1 - overhead after / overhead before; None where there is no overhead before
    failed : why there is no answer, or it is not allowed
    """

    name: str
    cost: float | None
    time: float
    overhead: float
    saved: float
    reduction: float | None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """What two changes do together; `apart` is the sum of what each saves alone."""

    names: tuple[str, str]
    effect: Effect
    apart: float
    affordable: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """What changes do to one case, under one technology.

    Parameters
    ----------
    case, under : where; no technology is the case as it is
    time, overhead : before [s]
    effects : of each change, as written
    pairs : the best first
    budget : what a pair may cost; None if nobody says
    """

    case: str
    under: str
    time: float
    overhead: float
    effects: tuple[Effect, ...]
    pairs: tuple[Pair, ...]
    budget: float | None = None
