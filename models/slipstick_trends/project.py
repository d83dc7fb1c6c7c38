"""Projections: cases along trends, with the rates as stated and a band of those that are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice, pairwise
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

from slipstick.errors import UnknownNameError
from slipstick.expression.nodes import number_text
from slipstick.late import Array, np
from slipstick.report.formatting import (
    NOTHING,
    counted,
    escape,
    joined,
    markdown_table,
    overlap,
    percent,
    prose,
    quantity,
    value_amount,
)
from slipstick.results.question import Decision, QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Axis, Provenance, Sweep, split_name
from slipstick.results.words import NO_WORDS, Words, spelt
from slipstick.schema.inputs import Settings, resolve
from slipstick.schema.kinds.study import YEAR
from slipstick.schema.text import Mark, Scalar, Table, at
from slipstick.study.cases import Place, StudyContext, axis_nodes, numbers_of
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import Question
from slipstick_questions.conditions import Condition, condition_of
from slipstick_questions.sign_changes import Change
from slipstick_questions.trends import (
    TrendedCase,
    told_year,
    trend_called,
    trended_case,
    year,
    year_of,
)
from slipstick_rates.series import STARTS, PointSeries
from slipstick_rates.trend import PROCESSORS, Draws, SeriesRate, Trend, outside
from slipstick_trends.ahead import (
    CLASS,
    Arrival,
    ClassShare,
    DrawnCase,
    Overtaking,
    OwnYear,
    arrival_words,
    arrivals,
    crossing_band,
    crossing_words,
    first_crossings,
    overtaking_words,
    overtakings,
    saved_by_processors,
    share_words,
    shares,
    work_of,
)
from slipstick_trends.fit_tables import held_table
from slipstick_trends.pictures import rates_figure, shares_figure, values_figure
from slipstick_trends.specs import (
    ProjectionPictureSpec,
    ProjectSpec,
    RatesPictureSpec,
    SharesPictureSpec,
    WatchSpec,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    ProjectedSpec = ProjectionPictureSpec | SharesPictureSpec | RatesPictureSpec

_SPAN, _PLACES = (1900.0, 2200.0), 300_001


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
    measured : it is fitted to a series of points
    weak : the series has few points
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
    measured: bool = False
    weak: bool = False
    beyond: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class DominantClass:
    """A class of cost that takes the most time from one year to another.

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
    """When a condition holds along a track: in the first year that has an answer, where that
    changes, where estimates do not tell, and from when to when there is no answer; and the part of
    the draws in which it holds in the last year. Worded, it is told in words of its own.
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
    """One case along one trend.

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

    @property
    def span(self) -> str:
        """From its first to its last year, in words."""
        years = self.sweep.points[YEAR]
        return f"from {year(float(years[0]))} to {year(float(years[-1]))}"

    @property
    def values(self) -> list[str]:
        """The answers that it has."""
        return [name for name in self.sweep.columns if split_name(name)[0] not in ("low", "high")]


@dataclass(frozen=True, slots=True)
class Projection:
    """Years ahead, for several cases along several trends.

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


_MOST_YEARS, _MOST_HEADS = 12, 4


@dataclass(frozen=True, slots=True)
class ProjectResult(QuestionResult):
    """The years ahead."""

    title: ClassVar[str] = "The years ahead"
    projection: Projection

    def sentences(self) -> list[str]:
        """Return where each case goes along each trend, and which rates are doubtful."""
        return [*_outcomes(self.projection), *_warnings(self.projection)]

    def headline(self, words: Words) -> list[str]:
        """Return from where to where the first cases go, and where the time goes, which comes first
        if the title asks where; conditions with words of their own come before all.
        """
        tracks = self.projection.tracks
        several = len(tracks) > 1
        heads = [_track_head(each, self.projection, words, several) for each in tracks[:2]]
        histories = [
            _history_head(track, each, self.projection, words, several)
            for track in tracks[:1]
            for each in track.conditions[:1]
            if not each.worded
        ]
        worded = _of_all(self.projection, words, _worded)
        shares = _of_all(self.projection, words, _shares)
        if re.search(r"\bwhere\b", words.title, re.IGNORECASE):
            return [*worded, *shares, *heads, *histories][:3]
        return [*worded, *heads, *shares, *histories][:3]

    def best(self, words: Words) -> tuple[str, str] | None:
        """Return the case with the least time in every year, where the bands of the last year are
        apart.
        """
        found = self.projection
        tracks = [track for track in found.tracks if "time" in track.sweep.columns]
        if found.factors is not None or len(found.titles) > 1 or len(tracks) < 2:
            return None
        first, *others = sorted(tracks, key=lambda track: float(track.sweep.columns["time"][-1]))
        shorter = all(
            len(first.sweep) == len(track.sweep)
            and (first.sweep.columns["time"] <= track.sweep.columns["time"]).all()
            for track in others
        )
        ends = [_at(track.sweep, "time", -1)[2] for track in (first, others[0])]
        if not shorter or overlap(*ends):
            return None
        amount = value_amount("time", *_at(first.sweep, "time", -1))
        return first.case, f"stays the fastest until {year(found.years[-1])} ({amount})"

    def decision(self, words: Words) -> Decision | None:
        """Return the values at the first and the last year, case by case."""
        found, rows = self.projection, []
        names = found.tracks[0].values[:2]
        shown = found.tracks[:_MOST_TRACKS]
        starts = {float(each.sweep.points[YEAR][0]) for each in shown}
        for each in shown:
            begins = "" if len(starts) == 1 else f" in {year(float(each.sweep.points[YEAR][0]))}"
            cells = [
                f"{value_amount(name, *_at(each.sweep, name, place))}{'' if place else begins}"
                for name in names
                if name in each.sweep.columns
                for place in (0, -1)
            ]
            rows.append([_track_name(each, found, words), *cells])
        first = f"in {year(min(starts))}" if len(starts) == 1 else "at first"
        last = f"in {year(found.years[-1])}"
        head = [f"{words.value(name)} {when}" for name in names for when in (first, last)]
        return (["", *head], rows) if len(rows) > 1 else None

    def doubt(self, words: Words = NO_WORDS) -> str:
        """Return which steps the first trend has no rate of, which of its rates are guesses, or used
        outside their periods.
        """
        found = [*islice(_still(self.projection), 1), *islice(_warnings(self.projection), 1)]
        return "; ".join(found)

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield how rates were drawn; then give the years of each case along each trend, and the
        rates.
        """
        found = self.projection
        titles = ", and ".join(f"{name} ({title})" for name, title in found.titles.items())
        drawn = (
            f" {counted(found.samples, 'draw')} of the rates give the band of {percent(found.band)}"
            " in brackets. A rate as written has one draw for all years; that of a series has the"
            " error of its level, of its rate, later changes of its rate, and the scatter of"
            " devices. More processors are no faster processors: their numbers stay as they are."
        )
        starts = sorted({track.base_year for track in found.tracks})
        begins = " and ".join(map(year, starts))
        known = f", with points known in {year(found.as_of)}" if found.as_of is not None else ""
        yield prose(f"From {begins}, along {titles}{known}.{drawn if found.samples else ''}")
        for track in found.tracks:
            yield _years_table(found, track)
        if found.arrivals:
            yield _arrivals_table(found)
        yield "### Rates"
        yield _rates_table(found)
        if used := _used_series(found):
            fitted_in = joined([f"{start:g}" for start in STARTS])
            yield f"### Fits of {fitted_in}, and what came"
            yield held_table(used)

    def draw(
        self, spec: ProjectedSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw values over the years, a line with its band for each case and trend; a panel for
        each value. Or draw where the time goes, or the points of the rates.
        """
        if isinstance(spec, SharesPictureSpec):
            return shares_figure(self.projection, spec, words)
        if isinstance(spec, RatesPictureSpec):
            return rates_figure(self.projection, spec)
        return values_figure(self.projection, spec, words)


@dataclass(frozen=True)
class _ProjectedCases:
    """Cases along trends, with the conditions to watch, over years that rise, or stand for
    factors of the processors.
    """

    spec: ProjectSpec
    listed: Sequence[float] | Array
    tracks: tuple[tuple[TrendedCase, tuple[Condition, ...]], ...]
    factors: Array | None = None
    settings: Mapping[str, Settings] = field(default_factory=dict)
    own_years: tuple[tuple[Evaluator, float, str], ...] = ()

    @property
    def years(self) -> Array:
        """The years as an array."""
        return np.asarray(self.listed, dtype=float)

    @property
    def ends(self) -> tuple[float, float]:
        """The parts of the draws below the ends of the band."""
        return (1 - self.spec.band.value) / 2, (1 + self.spec.band.value) / 2

    def years_of(self, track: TrendedCase) -> Array:
        """Return the years of a case: where each starts in its own, those from then on."""
        if self.spec.base_year is not None or self.factors is not None:
            return self.years
        later = self.years[self.years > track.base_year]
        inside = self.years[0] <= track.base_year <= self.years[-1]
        return np.array([track.base_year, *later]) if inside else later

    def span(self, trend: Trend) -> tuple[float, float]:
        """Return the first and the last year that a trend is used for."""
        bases = [track.base_year for track, _ in self.tracks if track.trend is trend]
        bases = bases or [track.base_year for track, _ in self.tracks]
        return min(*bases, float(self.years[0])), max(*bases, float(self.years[-1]))

    def draws(self, trend: Trend) -> dict[str, Draws]:
        """Draw the rates of a trend, the same for every case along it, so that cases differ by what
        they are.
        """
        if not self.spec.samples:
            return {}
        bases = [track.base_year for track, _ in self.tracks]
        return trend.draws(np.unique([*bases, *self.years]), self.spec.samples, self.spec.seed)


def read(asked: ProjectSpec, study: StudyContext) -> Question:
    """Read what a study asks about the years ahead; nothing is solved but the cases themselves.

    Raises
    ------
    SpecError : a trend, a condition, a case or a year is wrong
    """
    trends = [
        trend_called(name, ("project", "trends", index), study, asked.as_of)
        for index, name in enumerate(asked.trends)
    ]
    years: Sequence[float] | Array | None = _years(asked, study)
    names = asked.cases or list(study.cases)
    place = ("project", "base_year") if asked.base_year is not None else ("project",)
    starts = {case: year_of(case, asked.base_year, place, study) for case in names}
    factors = None
    if years is None:
        factors = _factors(asked, study)
        years = _reached(trends[0].trend(), starts[names[0]], factors, study)
    tracks = []
    for case in names:
        if years is not None and factors is None and starts[case] > years[-1]:
            why = f"{case} begins in {starts[case]:g}, after the last of the years, {years[-1]:g}"
            raise study.refusal(("project", "years"), why)
        for trended in trends:
            track = trended_case(case, trended, starts[case], place, study).smoothed
            conditions = (
                _condition(asked_condition, ("project", "watch", index), track, study)
                for index, asked_condition in enumerate(asked.watch)
            )
            tracks.append((track, tuple(conditions)))
    own = tuple(_in_own_years(asked, names, study)) if factors is None else ()
    cases = _ProjectedCases(asked, years, tuple(tracks), factors, study.cases, own)
    return Question(lambda answers: ProjectResult(_projected(cases, answers.wanted)))


def _in_own_years(
    asked: ProjectSpec, names: Sequence[str], study: StudyContext
) -> Iterator[tuple[Evaluator, float, str]]:
    """Yield the projected cases, and every other one whose machine tells its year, with that year
    and the kind of its processors.
    """
    for case, settings in study.cases.items():
        start = asked.base_year if case in names else None
        start = start if start is not None else told_year(case, study)
        if start is not None:
            kind = at(resolve(settings, study.library).tree, ["machine", "processors", "kind"])
            words = str(kind.value) if isinstance(kind, Scalar) else ""
            yield evaluator(case, settings, study.library).smoothed, start, words


_PARAMETER = re.compile(r"\bparameters\.[A-Za-z_]\w*")


def _condition(
    asked_condition: str | WatchSpec, place: Place, track: TrendedCase, study: StudyContext
) -> Condition:
    """Read a condition; a parameter of the model stands for its value in the case."""
    text, says = (
        (asked_condition, asked_condition)
        if isinstance(asked_condition, str)
        else (asked_condition.that, asked_condition.says)
    )

    def value(match: re.Match[str]) -> str:
        parameter = track.case.built.parameters.get(match[0])
        if parameter is None or parameter.value is None:
            known = [name for name in track.case.built.parameters if name.startswith("parameters.")]
            raise study.refusal(place, str(UnknownNameError("parameter", match[0], known)))
        unit = "" if str(parameter.dimension) == "1" else f" {parameter.dimension}"
        return f"({number_text(parameter.value)}{unit})"

    written = _PARAMETER.sub(value, text)
    return replace(
        condition_of(written, place, track.case, study, track.case), text=says, worded=says != text
    )


def _factors(asked: ProjectSpec, study: StudyContext) -> Array:
    place = ("project", "factors")
    assert asked.factors is not None
    numbers = numbers_of(axis_nodes(asked.factors, study.written(place), place))
    if numbers is None or len(numbers) < 2 or numbers[0] <= 0 or not np.all(np.diff(numbers) > 0):
        raise study.refusal(
            place, "factors are at least two plain numbers above 0 that rise, such as 1 and 16"
        )
    return np.array(numbers)


def _reached(trend: Trend, base: float, factors: Array, study: StudyContext) -> Array:
    """Return the years in which the processors come to each factor, at the rates as stated."""
    place = ("project", "factors")
    if PROCESSORS not in trend.rates:
        raise study.refusal(
            place, f"trend {trend.name} has no rate of {PROCESSORS}; project along years"
        )
    years = np.linspace(*_SPAN, _PLACES)
    reached = np.log(trend.rates[PROCESSORS].gain(base, years)[0])
    if not np.all(np.diff(reached) > 0):
        raise study.refusal(
            place, f"processors do not always gain along {trend.name}; project along years"
        )
    if not (reached[0] <= np.log(factors[0]) and np.log(factors[-1]) <= reached[-1]):
        low, high = np.exp(reached[[0, -1]])
        why = (
            f"along {trend.name} processors come to factors from {low:.3g} to {high:.3g} between"
            " 1900 and 2200"
        )
        raise study.refusal(place, f"{why}, got {factors[0]:g} to {factors[-1]:g}")
    return np.interp(np.log(factors), reached, years)


def _years(asked: ProjectSpec, study: StudyContext) -> Sequence[float] | None:
    node = at(study.tree, ["project", "years"])
    if node is None or asked.years is None:
        return None
    place: tuple[str | int, ...] = ("project", "years")
    numbers = numbers_of(axis_nodes(asked.years, node, place))
    if (
        numbers is None
        or len(numbers) < 2
        or not all(one < other for one, other in pairwise(numbers))
    ):
        raise study.refusal(
            place, "years are at least two plain numbers that rise, such as 2024 and 2034"
        )
    if not (numbers[0] >= 1900 and numbers[-1] <= 2200):
        raise study.refusal(
            place, f"years lie between 1900 and 2200, got {numbers[0]:g} to {numbers[-1]:g}"
        )
    return numbers


def _projected(asked: _ProjectedCases, answer: Sequence[str]) -> Projection:
    spec, ends = asked.spec, asked.ends
    trends = {(track.trend.name, track.trend.kind): track.trend for track, _ in asked.tracks}
    tracks: list[ProjectedCase] = []
    drawn: list[DrawnCase] = []
    for track, conditions in asked.tracks:
        projected, answers = _track(track, conditions, asked, answer)
        tracks.append(projected)
        drawn.append(answers)
    return Projection(
        factors=asked.factors,
        years=asked.years,
        tracks=tuple(tracks),
        rates=tuple(rate for trend in trends.values() for rate in _rates(trend, asked)),
        titles={trend.name: trend.title for trend in trends.values()},
        samples=spec.samples,
        band=spec.band.value,
        seed=spec.seed,
        overtakings=tuple(overtakings(drawn, ends)) if asked.factors is None else (),
        arrivals=tuple(arrivals(drawn, _own_years(asked), ends)) if asked.factors is None else (),
        trends=tuple(trends.values()),
        as_of=spec.as_of,
    )


_NOTHING_SET = Table({}, Mark("", 1, 1))


def _own_years(asked: _ProjectedCases) -> list[OwnYear]:
    """Solve every case of the study whose machine tells its year, in that year."""
    found = []
    for case, start, kind in asked.own_years:
        settings = asked.settings[case.case]
        answers = case.columns({})
        along = at(settings.get("machine", _NOTHING_SET), ["trend"])
        found.append(
            OwnYear(
                case.case,
                start,
                kind,
                work_of(settings, case),
                case.form.quantity,
                answers,
                along.text if isinstance(along, Scalar) else "",
            )
        )
    return found


def _track(
    track: TrendedCase,
    conditions: Sequence[Condition],
    asked: _ProjectedCases,
    answer: Sequence[str],
) -> tuple[ProjectedCase, DrawnCase]:
    years, case = asked.years_of(track), track.case
    values = track.values(years)
    found, how = case.solved(values)
    draws = asked.draws(track.trend)
    drawn = _drawn(track, draws, conditions, asked, answer)
    ends = asked.ends
    bands = {name: np.quantile(drawn[name], ends, axis=0) for name in answer if name in drawn}
    margins = [
        condition.look({name: values.reshape(-1) for name, values in drawn.items()})[0][0].reshape(
            -1, len(years)
        )
        for condition in conditions
        if drawn
    ]
    answers = DrawnCase(track, years, found, drawn, draws, work_of(asked.settings[case.case], case))
    columns = {name: found[name] for name in answer if name in found}
    for name, value in list(columns.items()):
        for number, end in enumerate((f"low[{name}]", f"high[{name}]")):
            if name in bands:
                columns[end] = bands[name][number]
            if end in found:
                # A band of estimates is widened by how far each of them may be off, which is the
                # most that both can be.
                columns[end] = columns.get(end, value) + (found[end] - value)
    failed = np.flatnonzero(~np.isfinite(found[case.form.quantity]))
    sweep = Sweep(
        name="project",
        axes=(Axis(YEAR, "", tuple(years.tolist())),),
        cases=[case.case] * len(years),
        points=(
            {YEAR: years} if asked.factors is None else {"processors": asked.factors, YEAR: years}
        ),
        columns=columns,
        units={name: case.unit(name) for name in columns},
        limits={},
        provenance=how,
        failed={int(index): case.why(values, int(index)) for index in failed},
        idle=track.unmoved,
    )
    histories = (
        _history(
            track,
            condition,
            found,
            years,
            margins[index] if margins else None,
            asked.spec.band.value,
        )
        for index, condition in enumerate(conditions)
    )
    projected = ProjectedCase(
        case.case,
        track.trend.name,
        sweep,
        tuple(_dominant(answers, ends)),
        tuple(histories),
        track.still,
        track.base_year,
        tuple(shares(answers, ends)),
        saved_by_processors(answers, ends),
        track.trend.kind,
        track.kind_told,
    )
    return projected, answers


def _drawn(
    track: TrendedCase,
    draws: Mapping[str, Draws],
    conditions: Sequence[Condition],
    asked: _ProjectedCases,
    answer: Sequence[str],
) -> dict[str, Array]:
    """Return the answers in every draw, those of conditions and of classes of cost among them
    [samples, years].
    """
    years, samples = asked.years_of(track), asked.spec.samples
    if not samples:
        return {}
    wanted = {*answer, *(name for each in conditions for name in each.columns.values())}
    wanted |= {track.case.form.quantity, *(n for n in track.case.names if n.startswith(CLASS))}
    columns = track.case.columns(track.values(years, draws), wanted)
    count = len(next(iter(columns.values())))
    if count == len(years):  # nothing is uncertain
        return {name: np.tile(values, (samples, 1)) for name, values in columns.items()}
    return {name: values.reshape(samples, len(years)) for name, values in columns.items()}


def _dominant(case: DrawnCase, ends: tuple[float, float]) -> Iterator[DominantClass]:
    """Yield which class of cost takes the most time, from when to when."""
    found, years = case.stated, case.years
    names = [name for name in found if name.startswith(CLASS)]
    if not names:
        return
    table = np.stack([found[name] for name in names])
    known = np.isfinite(table).all(axis=0)
    table, years = table[:, known], years[known]
    largest = [int(each) for each in np.argmax(table, axis=0)]
    begin = 0
    for name, group in groupby(largest):
        end = begin + len(list(group))
        first, low, high, part = float(years[begin]), None, None, None
        if begin:
            before = slice(begin - 1, begin + 1)
            first = _meeting(table[name, before], table[largest[begin - 1], before], years[before])
            low, high, part = _becomes_largest(case, names, name, ends)
        yield DominantClass(
            names[name].removeprefix(CLASS).removesuffix("]"),
            first,
            float(years[end - 1]),
            low,
            high,
            part,
        )
        begin = end


def _meeting(rising: Array, falling: Array, years: Array) -> float:
    """Return where one of two times passes the other between two years, on straight lines of their
    logarithms, as draws have it; the later year where one of them is 0.
    """
    with np.errstate(all="ignore"):
        (place,) = first_crossings(np.log(rising) - np.log(falling)[None, :], years)
    return float(place) if np.isfinite(place) else float(years[-1])


def _becomes_largest(
    case: DrawnCase, names: Sequence[str], index: int, ends: tuple[float, float]
) -> tuple[float | None, float | None, float | None]:
    """Return the band of the year in which a class of cost becomes the largest, over the draws in
    which it does, and their part.
    """
    if names[index] not in case.drawn:
        return None, None, None
    others = np.max([case.drawn[name] for at, name in enumerate(names) if at != index], axis=0)
    with np.errstate(all="ignore"):
        margins = np.log(case.drawn[names[index]]) - np.log(others)
    places = first_crossings(margins, case.years)
    return crossing_band(places, ends)


def _history(
    track: TrendedCase,
    condition: Condition,
    found: Mapping[str, Array],
    years: Array,
    margins: Array | None,
    band: float,
) -> ConditionHistory:
    columns = partial(_columns_of, track, tuple(found))
    places, answers = _closed_in(columns, condition, found, years)
    looked, holds = condition.look(answers)
    crossings, undecided = condition.changes(answers, places, columns)
    answered = np.isfinite(looked[0])
    first = bool(holds[answered][0]) if answered.any() else None
    ends = ((1 - band) / 2, (1 + band) / 2)
    with_bands = tuple(_with_band(each, margins, years, ends) for each in crossings)
    last = None if margins is None else float(np.mean(margins[:, -1] >= 0))
    return ConditionHistory(
        condition.text,
        first,
        with_bands,
        tuple(undecided),
        tuple(_stretches(places, ~answered)),
        last,
        condition.worded,
    )


_NEAREST, _NEAREST_ESTIMATES = 1e-6, 0.05
"""Years to which the gap between a year with an answer and one without is halved: a limit may lie
between them, for the time of an open station rises without end there."""


def _columns_of(track: TrendedCase, names: Sequence[str], years: Array) -> dict[str, Array]:
    """Return some answers of a case in any years."""
    columns = track.case.columns(track.values(years))
    return {name: columns.get(name, np.full(len(years), np.nan)) for name in names}


def _closed_in(
    columns: Callable[[Array], dict[str, Array]],
    condition: Condition,
    found: Mapping[str, Array],
    years: Array,
) -> tuple[Array, dict[str, Array]]:
    """Return years with their answers, and more of them beside those without an answer."""
    nearest = _NEAREST_ESTIMATES if condition.case.form.estimated else _NEAREST
    answered = np.isfinite(condition.look(found)[0][0])
    places, answers = years, dict(found)
    for index in np.flatnonzero(answered[1:] != answered[:-1]).tolist():
        ends = [float(years[index]), float(years[index + 1])]
        side = int(answered[index])  # of the end that has no answer
        while ends[1] - ends[0] > nearest:
            middle = np.array([sum(ends) / 2])
            more = columns(middle)
            position = int(np.searchsorted(places, middle[0]))
            places = np.insert(places, position, middle)
            answers = {name: np.insert(answers[name], position, more[name]) for name in answers}
            has_answer = bool(np.isfinite(condition.look(more)[0][0, 0]))
            ends[1 - side if has_answer else side] = float(middle[0])
    return places, answers


def _stretches(places: Array, chosen: Array) -> Iterator[tuple[float, float]]:
    """Yield the first and the last place of each stretch of chosen places."""
    start = 0
    for is_chosen, group in groupby(chosen.tolist()):
        end = start + len(list(group))
        if is_chosen:
            yield float(places[start]), float(places[end - 1])
        start = end


def _with_band(
    change: Change, margins: Array | None, years: Array, ends: tuple[float, float]
) -> Change:
    """Return a crossing the band of the first crossing to the same side in each draw, widened by
    its own interval. There is no band where some draw has no answer in a year that was asked for.
    """
    if margins is None or not np.isfinite(margins).all():
        return change
    places = first_crossings(margins if change.starts else -margins, years)
    low, high, part = crossing_band(places, ends)
    if change.low is not None and change.high is not None:
        low = None if low is None else low - (change.value - change.low)
        high = None if high is None else high + (change.high - change.value)
    return replace(change, low=low, high=high, part=part)


def _rates(trend: Trend, asked: _ProjectedCases) -> Iterator[UsedRate]:
    """List the rates that are used between the base years and the years asked for."""
    first, last = asked.span(trend)
    ends = np.array(asked.ends)
    for name, rate in trend.rates.items():
        if isinstance(rate, SeriesRate):
            yield _series_rate(trend, name, rate, (first, last))
            continue
        beyond = outside(rate, first, last)
        for period in rate.periods:
            out = tuple((start, end) for each, start, end in beyond if each is period)
            if out or (period.start < last and period.end > first):
                low, high = period.factor.quantile(ends)
                yield UsedRate(
                    trend.name,
                    name,
                    period.start,
                    period.end,
                    period.median,
                    float(low),
                    float(high),
                    period.source,
                    period.assumed,
                    beyond=out,
                )


def _series_rate(trend: Trend, name: str, rate: SeriesRate, span: tuple[float, float]) -> UsedRate:
    """Return what a series says of the years that are asked for."""
    series = rate.fit.series
    middle, low, high = rate.fit.rate(*span)
    measured = series.measured
    first, last = measured[0], measured[-1]
    weak = f", weak: {len(measured)} points" if series.weak else f", {len(measured)} points"
    plans = len(series.used) - len(measured)
    planned = f" and {counted(plans, 'announced one')}" if plans else ""
    label = f"{trend.kind}: " if trend.kind else ""
    limit = f", limit {series.limit:g} {series.unit}" if series.limit is not None else ""
    limit += ", which the band reaches" if rate.fit.reached(span[1]) else ""
    return UsedRate(
        trend.name,
        f"{label}{name}",
        span[0],
        span[1],
        middle,
        low,
        high,
        f"{series.title}, {series.name}{weak}{planned}, {year(first.year)} to {year(last.year)}{limit}",
        assumed=False,
        measured=True,
        weak=series.weak,
    )


def _outcomes(found: Projection) -> Iterator[str]:
    words = [
        text
        for track in found.tracks
        for text in share_words(
            _subject(found, track), float(found.years[-1]), track.shares, track.saved
        )
    ]
    worded = [
        text for track in found.tracks for text in _worded(track, _subject(found, track), 0.0)
    ]
    words = [*worded, *words]
    if words and found.factors is None:
        yield ". ".join(f"{text[0].upper()}{text[1:]}" for text in words[:_MOST_HEADS])
    yield from map(overtaking_words, found.overtakings)
    yield from arrival_words(found.arrivals)
    for track in found.tracks:
        subject = f"{track.case} along {track.trend}"
        if goes := list(_goes(track)):
            yield f"{subject}, {_years_words(track)}: {', '.join(goes)}"
        yield from (f"{subject}: {each}" for each in _dominant_words(track))
        yield from (f"{subject}: {_condition_text(each, track)}" for each in track.conditions)
    yield from _unmoved(found)
    yield from _still(found)


_MOST_TRACKS = 6


def _at(sweep: Sweep, name: str, place: int) -> tuple[float, str, tuple[float, float]]:
    """Return a value with its unit and its band at a point of a sweep."""
    low, high = sweep.ends(name)
    ends = float(low[place]), float(high[place])
    return float(sweep.columns[name][place]), sweep.units[name], ends


def _track_name(track: ProjectedCase, found: Projection, words: Words) -> str:
    """Return what tells a case along a trend from the others."""
    cases = {each.case for each in found.tracks}
    several = len(found.titles) > 1
    names = [words.case(track.case)] if len(cases) > 1 or not several else []
    names += [found.titles[track.trend]] if several else []
    return ", ".join(names)


def _track_head(track: ProjectedCase, found: Projection, words: Words, several: bool) -> str:
    """Return how the values of a case change over the years, in a reader's words."""
    goes = []
    years = track.sweep.points[YEAR]
    answered = [index for index in range(len(years)) if index not in track.sweep.failed]
    ends = (answered[0], answered[-1]) if answered else (0, -1)
    for name in track.values[:2]:
        first, unit, _ = _at(track.sweep, name, ends[0])
        last, _, (low, high) = _at(track.sweep, name, ends[1])
        if not (isfinite(first) and isfinite(last)):
            continue
        sure = not low <= first <= high
        verb = "goes" if not sure else "falls" if last < first else "rises"
        if first == last:
            goes.append(f"{words.value(name)} stays {value_amount(name, first, unit)}")
            continue
        amounts = [value_amount(name, *_at(track.sweep, name, place)) for place in ends]
        goes.append(f"{words.value(name)} {verb} from {amounts[0]} to {amounts[1]}")
    lead = f"{_track_name(track, found, words)}: " if several else ""
    if not goes:
        return f"{lead}{track.span} there is no answer"
    span = f"from {year(float(years[ends[0]]))} to {year(float(years[ends[1]]))}"
    failed = [year(float(years[index])) for index in track.sweep.failed]
    missing = f"; no answer in {joined(failed)}" if failed else ""
    return f"{lead}{span} {joined(goes)}{missing}"


def _history_head(
    track: ProjectedCase, each: ConditionHistory, found: Projection, words: Words, several: bool
) -> str:
    """Return when a condition holds, in a reader's words."""
    lead = f"{_track_name(track, found, words)}: " if several else ""
    clause = words.condition(each.condition)
    changes = [
        f"from {year(change.value)} on" if change.starts else f"until {year(change.value)}"
        for change in each.crossings[:2]
    ]
    changes += [
        f"undecided from {year(first)} to {year(last)}" for first, last in each.undecided[:1]
    ]
    if changes:
        return f"{lead}{clause} {joined(changes)}{_unanswered_words(each, track)}"
    if each.holds_first is None:
        return f"{lead}whether {clause} has no answer"
    missing = _unanswered_words(each, track)
    where = "wherever there is an answer" if missing else "throughout"
    return f"{lead}{clause} {where if each.holds_first else 'in no year'} {track.span}{missing}"


def _of_all(
    found: Projection,
    words: Words,
    sentences: Callable[[ProjectedCase, str, float], Iterable[str]],
) -> list[str]:
    """Join the sentences on the first cases up to the last year."""
    if found.factors is not None:
        return []
    several = len(found.tracks) > 1
    names = [_track_name(track, found, words) if several else "" for track in found.tracks]
    last = float(found.years[-1])
    texts = [
        text
        for track, name in zip(found.tracks, names, strict=True)
        for text in sentences(track, name, last)
    ]
    return (
        [". ".join(f"{text[0].upper()}{text[1:]}" for text in texts[:_MOST_HEADS])] if texts else []
    )


def _shares(track: ProjectedCase, name: str, last: float) -> Iterable[str]:
    """Return where the time of a case goes in the last year."""
    return share_words(name, last, track.shares, track.saved)


def _worded(track: ProjectedCase, name: str, _: float) -> Iterator[str]:
    """Yield since when, or until when, a condition with words of its own holds."""
    for each in track.conditions:
        if each.worded and each.crossings:
            crossing = each.crossings[0]
            span = crossing_words(crossing.low, crossing.high, crossing.part)
            when = f"{'from' if crossing.starts else 'until'} {year(crossing.value)}{span}"
            yield f"{name}{': ' if name else ''}{when}, {each.condition}"


def _years_words(track: ProjectedCase) -> str:
    years = track.sweep.points[YEAR]
    return f"{year(float(years[0]))} to {year(float(years[-1]))}"


def _subject(found: Projection, track: ProjectedCase) -> str:
    """Return what a sentence calls a case: with its trend where there are several."""
    return f"{track.case}, {track.trend}" if len(found.titles) > 1 else track.case


def _still(found: Projection) -> Iterator[str]:
    """Yield the classes of steps that have no rate in a trend, once for all cases of that trend."""
    classes: dict[str, dict[str, None]] = {}
    for track in found.tracks:
        classes.setdefault(track.trend, {}).update(dict.fromkeys(track.still))
    for trend, names in classes.items():
        if names:
            yield (
                f"{trend} has no rate of {', '.join(names)}: steps of"
                f" {'these classes stay' if len(names) > 1 else 'this class stay'} as they are in"
                " every year"
            )


def _unmoved(found: Projection) -> Iterator[str]:
    """Yield which rates change nothing, once for all cases of which it holds."""
    cases: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for track in found.tracks:
        if track.sweep.idle:
            cases.setdefault((track.trend, track.sweep.idle), []).append(track.case)
    for (trend, names), listed in cases.items():
        of = (
            f"of {', '.join(listed)} "
            if len(listed) < len({each.case for each in found.tracks})
            else ""
        )
        yield (
            f"{trend}: no step {of}is of the class {' or '.join(names)}, so"
            f" {'these rates change' if len(names) > 1 else 'that rate changes'} nothing"
        )


def _goes(track: ProjectedCase) -> Iterator[str]:
    for name in track.values:
        column, (low, high) = track.sweep.columns[name], track.sweep.ends(name)
        if isfinite(column[0]) and isfinite(column[-1]):
            first, last = (
                quantity(
                    float(column[at]),
                    track.sweep.units[name],
                    ends=(float(low[at]), float(high[at])),
                )
                for at in (0, -1)
            )
            yield f"{name} from {first} to {last}"


def _dominant_words(track: ProjectedCase) -> Iterator[str]:
    first, *others = track.dominant or (None,)
    if first is not None and not others:
        missing = " with an answer" if track.sweep.failed else ""
        yield f"{first.name} takes the most time in all years{missing}"
    elif first is not None:
        rest = "".join(f", {_largest_from(each)}" for each in others if each)
        yield f"{first.name} takes the most time until {year(others[0].first)}{rest}"


def _largest_from(each: DominantClass) -> str:
    band = crossing_words(each.low, each.high, each.part)
    return f"{each.name} from {year(each.first)}{band}"


def _condition_text(each: ConditionHistory, track: ProjectedCase) -> str:
    open_ = [
        (
            f"is undecided in {year(first)}"
            if first == last
            else f"is undecided from {year(first)} to {year(last)}"
        )
        for first, last in each.undecided
    ]
    if not each.crossings and not open_:
        span = track.span
        if each.holds_first is None:
            return f"{each.condition} has no answer {span}"
        often = ""
        if each.holds_last is not None and 0.001 < each.holds_last < 0.999:
            often = f" (at the end in {percent(each.holds_last)} of the draws)"
        missing = _unanswered_words(each, track)
        where = "wherever there is an answer " if missing else ""
        return (
            f"{each.condition} holds {where}{span}{often}{missing}"
            if each.holds_first
            else f"{each.condition} holds in no year {span}{often}{missing}"
        )
    words = [*(_crossing(crossing) for crossing in each.crossings), *open_]
    return f"{each.condition} {', '.join(words)}{_unanswered_words(each, track)}"


def _unanswered_words(each: ConditionHistory, track: ProjectedCase) -> str:
    """Return from when to when a condition has no answer, such as where a station is saturated."""
    years = track.sweep.points[YEAR]
    stretches = []
    for first, last in each.unanswered:
        if first == years[0]:
            stretches.append(f"in {year(last)}" if first == last else f"until {year(last)}")
        elif last == years[-1]:
            stretches.append(f"from {year(first)} on")
        else:
            stretches.append(f"from {year(first)} to {year(last)}")
    return f", without an answer {joined(stretches)}" if stretches else ""


def _crossing(each: Change) -> str:
    said = (
        f"{'holds from' if each.starts else 'holds until'}"
        f" {year(each.value)}{' on' if each.starts else ''}"
    )
    said += crossing_words(each.low, each.high, each.part)
    return said + (", by a jump" if each.jump else "")


def _warnings(found: Projection) -> Iterator[str]:
    """Yield which rates are guesses, and which are used outside their periods, trend by trend."""
    for trend in found.titles:
        rates = [each for each in found.rates if each.trend == trend]
        if rates and all(each.measured for each in rates):
            yield from _series_words(trend, rates, found)
            continue
        guesses = [f"{spelt(each.name)} {_span(each)}" for each in rates if each.assumed]
        some = (
            f"these rates are guesses: {', '.join(guesses)}"
            if guesses
            else "no rate is marked as a guess"
        )
        said = "every rate that is used is a guess" if len(guesses) == len(rates) else some
        spans: dict[tuple[float, float], list[str]] = {}
        for each in rates:
            for span in each.beyond:
                spans.setdefault(span, []).append(spelt(each.name))
        outside = "; ".join(
            f"{', '.join(names)} for {year(start)} to {year(end)}"
            for (start, end), names in spans.items()
        )
        yield (
            f"{trend}: {said};"
            f" {f'used outside their periods: {outside}' if outside else 'none is used outside its period'}"
        )


def _series_words(trend: str, rates: Sequence[UsedRate], found: Projection) -> Iterator[str]:
    """Yield which series are weak, and which machines do not tell what their processors are."""
    idle = [set(t.sweep.idle) for t in found.tracks if t.trend == trend]
    unused = set.intersection(*idle) if idle else set()
    weak = [each.name for each in rates if each.weak and each.name.split(": ")[-1] not in unused]
    words = "every rate is fitted to measured points; none is a guess"
    yield f"{trend}: {words}" + (f"; series of few points: {', '.join(weak)}" if weak else "")
    untold = [t.case for t in found.tracks if t.trend == trend and not t.kind_told]
    if untold:
        yield (
            f"{', '.join(dict.fromkeys(untold))}: the machine does not tell what a processor is, so"
            " it is taken for a core; write processors.kind"
        )


def _span(each: UsedRate) -> str:
    return f"{year(each.start)} to {year(each.end)}"


def _years_table(found: Projection, track: ProjectedCase) -> ResultTable:
    """Lay out one case along one trend; the page shows a few years, the first and the last among
    them.
    """
    count = len(track.sweep.points[YEAR])
    step = -(-(count - 1) // (_MOST_YEARS - 2))
    rows = range(count) if count <= _MOST_YEARS else [*range(0, count - 1, step), count - 1]
    columns = [
        ResultColumn("case", [track.case] * count, place=True, on_page=False),
        ResultColumn("trend", [track.trend] * count, place=True, on_page=False),
    ]
    for path, values in track.sweep.points.items():
        along = (
            (lambda value, *_: year(value)) if path == YEAR else (lambda value, *_: f"{value:.4g}")
        )  # or a factor
        columns.append(ResultColumn(path, values, written=along, place=True))
    for name in track.values:
        columns.append(
            ResultColumn(
                name, track.sweep.columns[name], track.sweep.units[name], track.sweep.ends(name)
            )
        )
    title = f"### {escape(track.case)} along {escape(track.trend)}"
    return ResultTable("project", columns, track.sweep.provenance, track.sweep.failed, title, rows)


def _rates_table(found: Projection) -> str:
    shared: dict[UsedRate, list[str]] = {}
    for each in found.rates:
        # What one trend takes over from another is listed once.
        shared.setdefault(replace(each, trend=""), []).append(each.trend)
    rows = [
        [
            escape(", ".join(trends)),
            escape(each.name),
            _span(each),
            f"{each.factor:.3g}",
            f"{each.low:.3g} to {each.high:.3g}" if each.high > each.low else NOTHING,
            "; ".join(f"{year(start)} to {year(end)}" for start, end in each.beyond) or NOTHING,
            f"guess: {escape(each.source)}" if each.assumed else escape(each.source),
        ]
        for each, trends in shared.items()
    ]
    head = [
        "trend",
        "of",
        "period",
        "times faster a year",
        percent(found.band),
        "used outside",
        "source",
    ]
    return markdown_table(head, rows, [3])


def _used_series(found: Projection) -> list[PointSeries]:
    """List the series whose rates change the time of a case."""
    idle = set.intersection(*(set(track.sweep.idle) for track in found.tracks))
    used = {
        rate.fit.series.name: rate.fit.series
        for trend in found.trends
        for name, rate in trend.rates.items()
        if isinstance(rate, SeriesRate) and name not in idle
    }
    return list(used.values())


def _arrivals_table(found: Projection) -> ResultTable:
    """Lay out machines that came beside what the trend said, by class of cost."""
    rows = found.arrivals
    columns = [
        ResultColumn("before", [each.before for each in rows], place=True),
        ResultColumn("case", [each.case for each in rows], place=True),
        ResultColumn("trend", [each.trend for each in rows], place=True, on_page=False),
        ResultColumn("year", [each.year for each in rows], written=lambda value, *_: year(value)),
        ResultColumn("of", [each.name for each in rows]),
        ResultColumn("was", [each.was for each in rows], "s"),
        ResultColumn(
            "by the trend",
            [each.said for each in rows],
            "s",
            ([each.low for each in rows], [each.high for each in rows]),
        ),
        ResultColumn("came", [each.came for each in rows], "s"),
        ResultColumn("held", ["yes" if each.held else "no" for each in rows]),
    ]
    first = found.tracks[0].sweep.provenance
    how = Provenance([first.methods[0]] * len(rows), [bool(first.exact[0])] * len(rows))
    title = "### Machines that came, beside the trend from before"
    return ResultTable("arrivals", columns, how, {}, title)
