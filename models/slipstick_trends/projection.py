"""Projections as data: cases along trends, with the rates that were used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from slipstick.late import Array
from slipstick.results.sweep import Sweep, split_name
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.kinds.study import YEAR
from slipstick_questions.sign_changes import Change
from slipstick_questions.trends import year_text
from slipstick_rates.trend import Trend
from slipstick_trends.ahead import Arrival, ClassShare, Overtaking


@dataclass(frozen=True, slots=True)
class UsedRate:
    """A rate that a projection uses.

    Parameters
    ----------
    trend, name : whose rate it is, and of what
    of : the class of cost that changes by it, or the series that parameters follow
    start, end : its period, in years
    factor : how many times faster each year [1]
    low, high : ends of the band of the factor [1]
    source : where it comes from
    assumed : it is a guess
    measured : it is fitted to a series of points
    weak : the series has few points
    beyond : years outside its period that it is used for, from and to; None if there are none
    title, points, recalled : of the series, how many measured points it has, and how many of them
        are from memory; empty if there is none
    announced : how many further points of the series are plans, not measurements
    """

    trend: str
    name: str
    of: str
    start: float
    end: float
    factor: float
    low: float
    high: float
    source: str
    assumed: bool
    measured: bool = False
    weak: bool = False
    beyond: tuple[tuple[float, float], ...] = ()
    title: str = ""
    points: int = 0
    recalled: int = 0
    announced: int = 0


@dataclass(frozen=True, slots=True)
class DominantClass:
    """A class of cost that takes more time than all other classes from one year to another.

    Parameters
    ----------
    name, first, last : of the class, and the years; where it was not the largest before, the first
        lies between the years that are asked for
    low, high : ends of the band of the year in which it becomes the largest, over the draws in
        which it does
    part : of the draws in which it does [1]
    """

    name: str
    first: float
    last: float
    low: float | None = None
    high: float | None = None
    part: float | None = None


@dataclass(frozen=True, slots=True)
class ConditionHistory:
    """The years in which a condition holds for a case along a trend, and the years in which it is
    undecided or has no answer. `holds_last` is the fraction of draws in which it holds in the last
    year [1].
    """

    condition: str
    holds_first: bool | None
    crossings: tuple[Change, ...]
    undecided: tuple[tuple[float, float], ...] = ()
    unanswered: tuple[tuple[float, float], ...] = ()
    holds_last: float | None = None
    worded: bool = False


@dataclass(frozen=True, slots=True)
class ProjectedCase:
    """A case along a trend, solved in each year.

    Parameters
    ----------
    case, trend : which
    sweep : the answers at the years, with the rates as stated; the ends are those of the band, or
        of the interval where it is simulated; without effect is what the trend changes and the case
        does not have
    dominant : the class of cost that takes the most time, from when to when
    conditions : when conditions hold
    still : classes of its steps that the trend has no rate of
    base_year : that its values are of
    shares : the part of the time that each class of cost takes
    saved : the most that faster processors alone save of the time of the last year
    kind, kind_told : what its processors are taken for, and whether its machine tells it
    unfollowed : parameters that follow what the trend has no rate of, each with its name
    priced : rates that change amounts and no time
    ranged : settings that have a range, of which the middle is taken
    ended : what the case depends on whose data end before its base year, each with its last year
    """

    case: str
    trend: str
    sweep: Sweep
    dominant: tuple[DominantClass, ...] = ()
    conditions: tuple[ConditionHistory, ...] = ()
    still: tuple[str, ...] = ()
    base_year: float = 0.0
    shares: tuple[ClassShare, ...] = ()
    saved: float | None = None
    kind: str = ""
    kind_told: bool = True
    unfollowed: tuple[tuple[str, str], ...] = ()
    priced: tuple[str, ...] = ()
    ranged: tuple[str, ...] = ()
    ended: tuple[tuple[str, float], ...] = ()

    @property
    def span(self) -> str:
        """The years of the case in words, from the first to the last."""
        years = self.sweep.points[YEAR]
        return f"from {year_text(float(years[0]))} to {year_text(float(years[-1]))}"

    @property
    def values(self) -> list[str]:
        """The names of the answers of the case."""
        return [name for name in self.sweep.columns if split_name(name)[0] not in ("low", "high")]


@dataclass(frozen=True, slots=True)
class Projection:
    """A projection of several cases along several trends.

    Parameters
    ----------
    years : rising
    tracks : case by case, trend by trend
    rates : every rate that is used
    titles : of the trends, by name
    samples, band, seed : draws, and the part of them that the band holds
    factors : how many times faster processors are in each of the years, if that was asked
    overtakings : in which year one case overtakes another
    arrivals : machines that came, beside what a trend said of those before
    trends : by name and kind of processors
    as_of : the year whose points were used, if that was asked
    timed : no answer and no condition is an amount or a parameter
    words : the titles of the cases
    """

    years: Array
    tracks: tuple[ProjectedCase, ...]
    rates: tuple[UsedRate, ...]
    titles: Mapping[str, str]
    samples: int
    band: float
    seed: int
    factors: Array | None = None
    overtakings: tuple[Overtaking, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    trends: tuple[Trend, ...] = field(default=(), repr=False)
    as_of: float | None = None
    timed: bool = False
    words: Words = field(default=NO_WORDS, repr=False)
