"""Projections as data: cases along trends, with the rates that were used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slipstick.late import Array, dataclass, field, late_pattern
from slipstick.results.sweep import Sweep, split_name
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.kinds.study import YEAR
from slipstick_questions.sign_changes import Change
from slipstick_questions.years import year_text
from slipstick_rates.trend import Trend
from slipstick_trends.ahead import Arrival, ClassShare, Overtaking


@dataclass(frozen=True, slots=True)
class UsedRate:
    """A rate that a projection uses.

    Parameters
    ----------
    trend : name of the trend
    name : name of the rate
    of : the class of cost that changes by the rate, or the series that parameters follow
    start, end : first and last year of its period
    factor : factor by which it becomes faster each year [1]
    low, high : ends of the band of the factor [1]
    source : publication that states it
    assumed : whether it is a guess
    measured : whether it is fitted to a series of points
    weak : whether the series has few points
    years_outside : spans of years outside its period for which it is used
    title : title of the series; empty if there is none
    points : number of measured points of the series
    recalled : number of these points that are stated from memory, without a source
    announced : number of further points that are plans, not measurements
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
    years_outside: tuple[tuple[float, float], ...] = ()
    title: str = ""
    points: int = 0
    recalled: int = 0
    announced: int = 0


@dataclass(frozen=True, slots=True)
class DominantClass:
    """A class of cost that takes more time than all other classes from one year to another.

    Parameters
    ----------
    name : name of the class
    first, last : first and last year in which it takes the most time; where another class did
        before, the first is the computed year of the change
    low, high : ends of the band of the year in which it becomes the largest, over the draws of the
        rates in which it does
    share_of_draws : share of the draws in which it becomes the largest [1]
    """

    name: str
    first: float
    last: float
    low: float | None = None
    high: float | None = None
    share_of_draws: float | None = None


@dataclass(frozen=True, slots=True)
class ConditionHistory:
    """The years in which a condition holds for a case along a trend.

    Parameters
    ----------
    condition : text of the condition
    holds_first : whether it holds in the first year; None if it is undecided there
    crossings : the years in which it begins or ceases to hold
    undecided_spans : spans of years in which random errors of a simulation do not let it be decided
    unanswered_spans : spans of years in which a value of it has no answer
    shares_of_draws : share of the draws of the rates in which it holds, in each projected year [1];
        empty without draws
    is_worded : whether the study states the condition in words of its own
    """

    condition: str
    holds_first: bool | None
    crossings: tuple[Change, ...]
    undecided_spans: tuple[tuple[float, float], ...] = ()
    unanswered_spans: tuple[tuple[float, float], ...] = ()
    shares_of_draws: tuple[float, ...] = ()
    is_worded: bool = False

    @property
    def holds_last(self) -> float | None:
        """Return the share of the draws in which it holds in the last year; None without draws."""
        return self.shares_of_draws[-1] if self.shares_of_draws else None


@dataclass(frozen=True, slots=True)
class ProjectedCase:
    """A case along a trend, solved in each year.

    Parameters
    ----------
    case, trend : names of the case and of the trend
    sweep : the answers in each year at the stated rates; their ends are those of the band over the
        draws, or of the interval of a simulation; the parts without effect are those that the trend
        changes and the case does not have
    dominant_classes : the class of cost that takes the most time, over spans of years
    conditions : the years in which conditions hold
    classes_without_rate : classes of cost of its steps for which the trend has no rate
    base_year : year for which its parameters are stated
    shares : share of the time that each class of cost takes
    share_saved_by_processors : largest share of the time of the last year that faster processors
        alone can save [1]
    kind : kind of processors whose rates are used
    kind_is_stated : whether its machine states this kind
    unfollowed : parameters that follow a series for which the trend has no rate, each with the name
        of the series
    rates_of_amounts : rates that change amounts, such as prices, and no time
    settings_with_range : settings that are stated as a range, whose middle is used
    last_year_by_data : data that end before the base year of the case, each with the last year
    """

    case: str
    trend: str
    sweep: Sweep
    dominant_classes: tuple[DominantClass, ...] = ()
    conditions: tuple[ConditionHistory, ...] = ()
    classes_without_rate: tuple[str, ...] = ()
    base_year: float = 0.0
    shares: tuple[ClassShare, ...] = ()
    share_saved_by_processors: float | None = None
    kind: str = ""
    kind_is_stated: bool = True
    unfollowed: tuple[tuple[str, str], ...] = ()
    rates_of_amounts: tuple[str, ...] = ()
    settings_with_range: tuple[str, ...] = ()
    last_year_by_data: tuple[tuple[str, float], ...] = ()

    @property
    def span_text(self) -> str:
        """Return the years of the case in words, from the first to the last."""
        years = self.sweep.points[YEAR]
        return f"from {year_text(float(years[0]))} to {year_text(float(years[-1]))}"

    @property
    def value_names(self) -> list[str]:
        """Return the names of the answers of the case."""
        return [name for name in self.sweep.columns if split_name(name)[0] not in ("low", "high")]


@dataclass(frozen=True, slots=True)
class Projection:
    """A projection of several cases along several trends.

    Parameters
    ----------
    years : years of the projection, in ascending order
    tracks : each case along each trend, by case and then by trend
    rates : every rate that is used
    titles : title of each trend, by its name
    samples : number of draws of the rates
    band : share of the draws that lie in the band [1]
    seed : seed of the draws
    factors : factors by which processors are faster in each of the years, if the study asks for
        these instead of years [1]
    overtakings : the years in which one case overtakes another
    arrivals : later machines, compared with the prediction of a trend from an earlier machine
    trends : the trends, by name and kind of processors
    as_of : the year up to which points were used, if the study asks for that
    timed : whether all answers and conditions are times, and none is an amount or a parameter
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

    def asked_indices(self, track: ProjectedCase) -> list[int]:
        """Return the indices of the years of a case that the title of the study asks for; empty if
        it asks for none of them.
        """
        base_years = {any_track.base_year for any_track in self.tracks}
        years = [float(year) for year in track.sweep.points[YEAR]]
        asked_years = years_of_title(self.words.title, years, base_years)
        return [index for index, year in enumerate(years) if year in asked_years]

    def end_index(self, track: ProjectedCase) -> int:
        """Return the index of the last year of a case that the title of the study asks for; of the
        last year if it asks for none.
        """
        return max(self.asked_indices(track), default=len(track.sweep.points[YEAR]) - 1)


_YEAR_IN_TITLE = late_pattern(r"\b(?:19|20|21)\d\d\b")


def years_of_title(
    title: str, years: Iterable[float], base_years: Iterable[float] = ()
) -> list[float]:
    """Return the years that a title asks for, in ascending order: those that it names between the
    first and the last projected year, without the base years, with which others are compared.

    >>> years = [2024.0, 2028.0, 2032.0]
    >>> years_of_title("Will a socket of 2030 take half the time of 2024's?", years, [2024.0])
    [2030.0]
    >>> years_of_title("Soon, on 2048 processors?", years), years_of_title("By 2040?", years)
    ([], [])
    """
    named_years = {float(year) for year in _YEAR_IN_TITLE.findall(title)} - {*base_years}
    first_year, *_, last_year = years
    return sorted(year for year in named_years if first_year <= year <= last_year)
