"""Projections: cases along trends, with the rates as stated and a band of those that are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from slipstick.errors import UnknownNameError
from slipstick.expression.nodes import Dimension
from slipstick.late import Array, NDArray, np
from slipstick.method.sign_changes import Change
from slipstick.model.uncertainty import (
    PROCESSORS,
    Trend,
    gain,
    outside,
    random_stream,
    sample_points,
)
from slipstick.report.formatting import (
    NOTHING,
    counted,
    escape,
    joined,
    markdown_table,
    percent,
    prose,
    quantity,
    value_amount,
)
from slipstick.report.look import STROKES, axis_title, logarithmic, sheet, titled
from slipstick.results.question import Decision, QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Axis, Sweep, split_name
from slipstick.results.words import Words, spelt
from slipstick.schema.kinds.study import YEAR, ProjectionPictureSpec, ProjectSpec
from slipstick.schema.text import at
from slipstick.study.cases import StudyContext, axis_nodes, numbers_of
from slipstick.study.questions import Question
from slipstick.study.questions.trends import (
    Condition,
    TrendedCase,
    condition_of,
    factors_of,
    trend_called,
    trended_case,
    year,
)
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CLASS = "technology["
_SPAN, _PLACES = (1900.0, 2200.0), 300_001
_MOST_POINTS = 200_000
"""The number of draws answered at a time, to bound the memory."""


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
class DominantClass:
    """A class of cost that takes the most time from one year to another."""

    name: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class ConditionHistory:
    """When a condition holds along a track: at the first year, where that changes, and where
    estimates do not tell.
    """

    condition: str
    holds_first: bool | None
    crossings: tuple[Change, ...]
    undecided: tuple[tuple[float, float], ...] = ()


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
    """

    case: str
    trend: str
    sweep: Sweep
    dominant: tuple[DominantClass, ...] = ()
    conditions: tuple[ConditionHistory, ...] = ()
    still: tuple[str, ...] = ()

    @property
    def values(self) -> list[str]:
        """The answers that it has."""
        return [name for name in self.sweep.columns if split_name(name)[0] not in ("low", "high")]


@dataclass(frozen=True, slots=True)
class Projection:
    """Years ahead, for several cases along several trends.

    Parameters
    ----------
    base_year : that the cases' values are of
    years : rising
    tracks : case by case, trend by trend
    rates : every rate that is used
    titles : of the trends, by name
    samples, band, seed : draws, and the part of them that the band holds
    factors : how many times faster processors are in each of the years, if that was asked
    """

    base_year: float
    years: Array
    tracks: tuple[ProjectedCase, ...]
    rates: tuple[UsedRate, ...]
    titles: Mapping[str, str]
    samples: int
    band: float
    seed: int
    factors: Array | None = None


_MOST_YEARS = 12


@dataclass(frozen=True, slots=True)
class ProjectResult(QuestionResult):
    """The years ahead."""

    title: ClassVar[str] = "The years ahead"
    projection: Projection

    def sentences(self) -> list[str]:
        """Return where each case goes along each trend, and which rates are doubtful."""
        return [*_outcomes(self.projection), *_warnings(self.projection)]

    def headline(self, words: Words) -> list[str]:
        """Return from where to where the first cases go, and when the first condition holds."""
        tracks = self.projection.tracks
        several = len(tracks) > 1
        heads = [_track_head(track, self.projection, words, several) for track in tracks[:2]]
        histories = [
            _history_head(track, condition, self.projection, words, several)
            for track in tracks[:1]
            for condition in track.conditions[:1]
        ]
        return [*heads, *histories][:3]

    def decision(self, words: Words) -> Decision | None:
        """Return the values at the first and the last year, case by case."""
        projection, rows = self.projection, []
        names = projection.tracks[0].values[:2]
        for track in projection.tracks[:_MOST_TRACKS]:
            cells = [
                value_amount(name, *_at(track.sweep, name, place))
                for name in names
                if name in track.sweep.columns
                for place in (0, -1)
            ]
            rows.append([_track_name(track, projection, words), *cells])
        head = [
            f"{words.value(name)} in {year(projection.years[at])}"
            for name in names
            for at in (0, -1)
        ]
        return (["", *head], rows) if len(rows) > 1 else None

    def doubt(self) -> str:
        """Return which steps the first trend has no rate of, which of its rates are guesses, or used
        outside their periods.
        """
        doubts = [*islice(_still(self.projection), 1), *islice(_warnings(self.projection), 1)]
        return "; ".join(doubts)

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield how rates were drawn; then give the years of each case along each trend, and the
        rates.
        """
        projection = self.projection
        titles = ", and ".join(f"{name} ({title})" for name, title in projection.titles.items())
        sampled_words = (
            f" {counted(projection.samples, 'draw')} of the rates give the band of {percent(projection.band)}"
            " in brackets, with one draw of a rate for all years. A band does not cover an error"
            " of the trend itself."
        )
        yield prose(
            f"From {year(projection.base_year)}, along {titles}.{sampled_words if projection.samples else ''}"
        )
        for track in projection.tracks:
            yield _years_table(projection, track)
        yield "### Rates"
        yield _rates_table(projection)

    def draw(self, spec: ProjectionPictureSpec, order: Mapping[str, int]) -> Figure:
        """Draw values over the years, a line with its band for each case and trend; a panel for
        each value.
        """
        return _panels(self.projection, spec)


@dataclass(frozen=True)
class _ProjectedCases:
    """Cases along trends, with the conditions to watch, over years that rise, or stand for
    factors of the processors.
    """

    spec: ProjectSpec
    listed: Sequence[float] | Array
    tracks: tuple[tuple[TrendedCase, tuple[Condition, ...]], ...]
    factors: Array | None = None

    @property
    def years(self) -> Array:
        """The years as an array."""
        return np.asarray(self.listed, dtype=float)


def read(project_spec: ProjectSpec, study: StudyContext) -> Question:
    """Read what a study asks about the years ahead; nothing is solved but the cases themselves.

    Raises
    ------
    SpecError : a trend, a condition, a case or a year is wrong
    """
    trends = [
        trend_called(name, ("project", "trends", index), study)
        for index, name in enumerate(project_spec.trends)
    ]
    years: Sequence[float] | Array | None = _years(project_spec, study)
    factors = None
    if years is None:
        factors = _factors(project_spec, study)
        years = _reached(trends[0].trend, project_spec.base_year, factors, study)
    tracks = []
    for case in project_spec.cases:
        for trended in trends:
            track = trended_case(
                case, trended, project_spec.base_year, ("project", "base_year"), study
            ).smoothed
            conditions = (
                condition_of(text, ("project", "watch", index), track.case, study, track.case)
                for index, text in enumerate(project_spec.watch)
            )
            tracks.append((track, tuple(conditions)))
    cases = _ProjectedCases(project_spec, years, tuple(tracks), factors)
    return Question(lambda answers: ProjectResult(_projected(cases, answers.wanted)))


def _factors(project_spec: ProjectSpec, study: StudyContext) -> Array:
    place = ("project", "factors")
    assert project_spec.factors is not None
    numbers = numbers_of(axis_nodes(project_spec.factors, study.written(place), place))
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
    reached = np.log(gain(trend.rates[PROCESSORS], base, years, trend.stated()[PROCESSORS])[0])
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


def _years(project_spec: ProjectSpec, study: StudyContext) -> Sequence[float] | None:
    node = at(study.tree, ["project", "years"])
    if node is None or project_spec.years is None:
        return None
    place: tuple[str | int, ...] = ("project", "years")
    numbers = numbers_of(axis_nodes(project_spec.years, node, place))
    if (
        numbers is None
        or len(numbers) < 2
        or not all(earlier < later for earlier, later in pairwise(numbers))
    ):
        raise study.refusal(
            place, "years are at least two plain numbers that rise, such as 2024 and 2034"
        )
    if not (numbers[0] >= 1900 and numbers[-1] <= 2200):
        raise study.refusal(
            place, f"years lie between 1900 and 2200, got {numbers[0]:g} to {numbers[-1]:g}"
        )
    return numbers


def _projected(projected_cases: _ProjectedCases, answer: Sequence[str]) -> Projection:
    spec = projected_cases.spec
    trends = {track.trend.name: track.trend for track, _ in projected_cases.tracks}
    return Projection(
        factors=projected_cases.factors,
        base_year=spec.base_year,
        years=projected_cases.years,
        tracks=tuple(
            _track(track, conditions, projected_cases, answer)
            for track, conditions in projected_cases.tracks
        ),
        rates=tuple(rate for trend in trends.values() for rate in _rates(trend, projected_cases)),
        titles={name: trend.title for name, trend in trends.items()},
        samples=spec.samples,
        band=spec.band.value,
        seed=spec.seed,
    )


def _track(
    track: TrendedCase,
    conditions: Sequence[Condition],
    projected_cases: _ProjectedCases,
    answer: Sequence[str],
) -> ProjectedCase:
    years, case = projected_cases.years, track.case
    values = track.values(years)
    solved_columns, how = case.solved(values)
    bands, margins = _band(track, conditions, projected_cases, answer)
    columns = {name: solved_columns[name] for name in answer if name in solved_columns}
    for name, value in list(columns.items()):
        for number, end in enumerate((f"low[{name}]", f"high[{name}]")):
            if name in bands:
                columns[end] = bands[name][number]
            if end in solved_columns:
                # A band of estimates is widened by how far each of them may be off, which is the
                # most that both can be.
                columns[end] = columns.get(end, value) + (solved_columns[end] - value)
    failed = np.flatnonzero(~np.isfinite(solved_columns[case.form.quantity]))
    sweep = Sweep(
        name="project",
        axes=(Axis(YEAR, "", tuple(years.tolist())),),
        cases=[case.case] * len(years),
        points=(
            {YEAR: years}
            if projected_cases.factors is None
            else {"processors": projected_cases.factors, YEAR: years}
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
            solved_columns,
            years,
            margins[index] if margins else None,
            projected_cases.spec.band.value,
        )
        for index, condition in enumerate(conditions)
    )
    return ProjectedCase(
        case.case,
        track.trend.name,
        sweep,
        tuple(_dominant(solved_columns, years)),
        tuple(histories),
        track.still,
    )


def _band(
    track: TrendedCase,
    conditions: Sequence[Condition],
    projected_cases: _ProjectedCases,
    answer: Sequence[str],
) -> tuple[dict[str, Array], list[Array]]:
    """Return the band of each answer [ends, years], and the margins of each condition [samples,
    years] of all draws.
    """
    spec, years = projected_cases.spec, projected_cases.years
    if not spec.samples:
        return {}, []
    # The same draws for every case along a trend, so that cases differ by what they are.
    draws = sample_points(
        dict(track.trend.draws()),
        spec.samples,
        random_stream(spec.seed, f"project:{track.trend.name}"),
    )
    factors = factors_of(track.trend, draws)
    wanted_names = {
        *answer,
        *(name for condition in conditions for name in condition.columns.values()),
    }
    pieces: list[dict[str, Array]] = []
    step = max(1, _MOST_POINTS // len(years))
    for start in range(0, spec.samples, step):
        cut = {name: factor[start : start + step] for name, factor in factors.items()}
        pieces.append(track.case.columns(track.values(years, cut), wanted_names))
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    shape, ends = (spec.samples, len(years)), ((1 - spec.band.value) / 2, (1 + spec.band.value) / 2)
    margins = [condition.look(columns)[0][0].reshape(shape) for condition in conditions]
    return {
        name: np.quantile(columns[name].reshape(shape), ends, axis=0)
        for name in answer
        if name in columns
    }, margins


def _dominant(columns: Mapping[str, Array], years: Array) -> Iterator[DominantClass]:
    """Yield which class of cost takes the most time, from when to when."""
    names = [name for name in columns if name.startswith(_CLASS)]
    if not names:
        return
    table = np.stack([columns[name] for name in names])
    finite = np.isfinite(table).all(axis=0)
    largest = [int(index) for index in np.argmax(table[:, finite], axis=0)]
    for name, group in groupby(zip(largest, years[finite], strict=True), key=lambda pair: pair[0]):
        span = [year for _, year in group]
        yield DominantClass(
            names[name].removeprefix(_CLASS).removesuffix("]"), float(span[0]), float(span[-1])
        )


def _history(
    track: TrendedCase,
    condition: Condition,
    columns: Mapping[str, Array],
    years: Array,
    margins: Array | None,
    band: float,
) -> ConditionHistory:
    looked, holds = condition.look(columns)
    crossings, undecided = condition.changes(
        columns, years, lambda several: track.case.columns(track.values(several))
    )
    first = bool(holds[0]) if np.isfinite(looked[0, 0]) else None
    ends = ((1 - band) / 2, (1 + band) / 2)
    with_bands = tuple(_with_band(crossing, margins, years, ends) for crossing in crossings)
    return ConditionHistory(condition.text, first, with_bands, tuple(undecided))


def _with_band(
    change: Change, margins: Array | None, years: Array, ends: tuple[float, float]
) -> Change:
    """Return a crossing the band of the first crossing to the same side in each draw, widened by
    its own interval.
    """
    if margins is None:
        return change
    places = _first_crossings(margins if change.starts else -margins, years)
    crossed = places[np.isfinite(places)]
    if not len(crossed):
        return replace(change, part=0.0)
    low, high = (float(quantile) for quantile in np.quantile(crossed, ends))
    if change.low is not None and change.high is not None:
        low, high = low - (change.value - change.low), high + (change.high - change.value)
    return replace(change, low=low, high=high, part=len(crossed) / len(places))


def _first_crossings(margins: Array, years: Array) -> Array:
    """Find, draw by draw, where a margin first rises through 0, on straight lines between the
    years [samples].
    """
    rises: NDArray[np.bool_] = (margins[:, :-1] <= 0) & (margins[:, 1:] > 0)
    index = np.argmax(rises, axis=1)
    rows = np.arange(len(margins))
    near, far = margins[rows, index], margins[rows, index + 1]
    with np.errstate(all="ignore"):
        place = years[index] + (years[index + 1] - years[index]) * near / (near - far)
    return np.where(rises.any(axis=1), place, np.nan)


def _rates(trend: Trend, projected_cases: _ProjectedCases) -> Iterator[UsedRate]:
    """List the rates that are used between the base year and the years asked for."""
    base, years = projected_cases.spec.base_year, projected_cases.years
    first, last = min(base, float(years[0])), max(base, float(years[-1]))
    ends = np.array(
        [(1 - projected_cases.spec.band.value) / 2, (1 + projected_cases.spec.band.value) / 2]
    )
    for name, periods in trend.rates.items():
        beyond = outside(periods, first, last)
        for period in periods:
            out = tuple((start, end) for used_period, start, end in beyond if used_period is period)
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
                    out,
                )


def _outcomes(projection: Projection) -> Iterator[str]:
    for track in projection.tracks:
        subject = f"{track.case} along {track.trend}"
        if goes := list(_goes(track)):
            yield f"{subject}, {year(projection.years[0])} to {year(projection.years[-1])}: {', '.join(goes)}"
        yield from (f"{subject}: {dominant_word}" for dominant_word in _dominant_words(track))
        yield from (
            f"{subject}: {_condition_text(history, projection)}" for history in track.conditions
        )
    yield from _unmoved(projection)
    yield from _still(projection)


_MOST_TRACKS = 6


def _at(sweep: Sweep, name: str, place: int) -> tuple[float, str, tuple[float, float]]:
    """Return a value with its unit and its band at a point of a sweep."""
    low, high = sweep.ends(name)
    ends = float(low[place]), float(high[place])
    return float(sweep.columns[name][place]), sweep.units[name], ends


def _track_name(track: ProjectedCase, projection: Projection, words: Words) -> str:
    """Return what tells a case along a trend from the others."""
    cases = {track.case for track in projection.tracks}
    trends = {track.trend for track in projection.tracks}
    names = [words.case(track.case)] if len(cases) > 1 or len(trends) == 1 else []
    names += [f"trend {spelt(track.trend)}"] if len(trends) > 1 else []
    return ", ".join(names)


def _track_head(track: ProjectedCase, projection: Projection, words: Words, several: bool) -> str:
    """Return how the values of a case change over the years, in a reader's words."""
    goes = []
    for name in track.values[:2]:
        first, unit, _ = _at(track.sweep, name, 0)
        last, _, (low, high) = _at(track.sweep, name, -1)
        if not (isfinite(first) and isfinite(last)):
            continue
        sure = not low <= first <= high
        verb = "goes" if not sure else "falls" if last < first else "rises"
        if first == last:
            goes.append(f"{words.value(name)} stays {value_amount(name, first, unit)}")
            continue
        amounts = [value_amount(name, *_at(track.sweep, name, place)) for place in (0, -1)]
        goes.append(f"{words.value(name)} {verb} from {amounts[0]} to {amounts[1]}")
    lead = f"{_track_name(track, projection, words)}: " if several else ""
    span = f"from {year(projection.years[0])} to {year(projection.years[-1])}"
    if not goes:
        return f"{lead}{span} there is no answer"
    return f"{lead}{span} {joined(goes)}"


def _history_head(
    track: ProjectedCase,
    history: ConditionHistory,
    projection: Projection,
    words: Words,
    several: bool,
) -> str:
    """Return when a condition holds, in a reader's words."""
    lead = f"{_track_name(track, projection, words)}: " if several else ""
    clause = words.condition(history.condition)
    span = f"from {year(projection.years[0])} to {year(projection.years[-1])}"
    changes = [
        f"from {year(change.value)} on" if change.starts else f"until {year(change.value)}"
        for change in history.crossings[:2]
    ]
    changes += [
        f"undecided from {year(first)} to {year(last)}" for first, last in history.undecided[:1]
    ]
    if changes:
        return f"{lead}{clause} {joined(changes)}"
    if history.holds_first is None:
        return f"{lead}whether {clause} has no answer"
    return f"{lead}{clause} {'throughout' if history.holds_first else 'in no year'} {span}"


def _still(projection: Projection) -> Iterator[str]:
    """Yield which classes of steps no rate of a trend moves, once for all cases of a trend."""
    classes: dict[str, dict[str, None]] = {}
    for track in projection.tracks:
        classes.setdefault(track.trend, {}).update(dict.fromkeys(track.still))
    for trend, names in classes.items():
        if names:
            yield (
                f"{trend} has no rate of {', '.join(names)}: steps of"
                f" {'these classes stay' if len(names) > 1 else 'this class stay'} as they are in"
                " every year"
            )


def _unmoved(projection: Projection) -> Iterator[str]:
    """Yield which rates change nothing, once for all cases of which it holds."""
    cases: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for track in projection.tracks:
        if track.sweep.idle:
            cases.setdefault((track.trend, track.sweep.idle), []).append(track.case)
    for (trend, names), listed in cases.items():
        of = (
            f"of {', '.join(listed)} "
            if len(listed) < len({track.case for track in projection.tracks})
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
    first, *later_classes = track.dominant or (None,)
    if first is not None and not later_classes:
        yield f"{first.name} takes the most time in all years"
    elif first is not None:
        rest = "".join(
            f", {dominant.name} from {year(dominant.first)}"
            for dominant in later_classes
            if dominant
        )
        yield f"{first.name} takes the most time until {year(first.last)}{rest}"


def _condition_text(history: ConditionHistory, projection: Projection) -> str:
    open_ = [
        (
            f"is undecided in {year(first)}"
            if first == last
            else f"is undecided from {year(first)} to {year(last)}"
        )
        for first, last in history.undecided
    ]
    if not history.crossings and not open_:
        span = f"from {year(projection.years[0])} to {year(projection.years[-1])}"
        if history.holds_first is None:
            return f"{history.condition} has no answer in {year(projection.years[0])}"
        return (
            f"{history.condition} holds {span}"
            if history.holds_first
            else f"{history.condition} holds in no year {span}"
        )
    words = [*(_crossing(crossing) for crossing in history.crossings), *open_]
    return f"{history.condition} {', '.join(words)}"


def _crossing(crossing: Change) -> str:
    sentence = (
        f"{'holds from' if crossing.starts else 'holds until'}"
        f" {year(crossing.value)}{' on' if crossing.starts else ''}"
    )
    if crossing.low is not None and crossing.high is not None:
        most = (
            ""
            if crossing.part is None or crossing.part > 0.999
            else f", in {percent(crossing.part)} of the draws"
        )
        sentence += f" ({year(crossing.low)} to {year(crossing.high)}{most})"
    elif crossing.part == 0.0:
        sentence += " (in none of the draws)"
    return sentence + (", by a jump" if crossing.jump else "")


def _warnings(projection: Projection) -> Iterator[str]:
    """Yield which rates are guesses, and which are used outside their periods, trend by trend."""
    for trend in projection.titles:
        rates = [rate for rate in projection.rates if rate.trend == trend]
        guesses = [f"{spelt(rate.name)} {_span(rate)}" for rate in rates if rate.assumed]
        some = (
            f"these rates are guesses: {', '.join(guesses)}"
            if guesses
            else "no rate is marked as a guess"
        )
        guessed_words = "every rate that is used is a guess" if len(guesses) == len(rates) else some
        spans: dict[tuple[float, float], list[str]] = {}
        for rate in rates:
            for span in rate.beyond:
                spans.setdefault(span, []).append(spelt(rate.name))
        outside = "; ".join(
            f"{', '.join(names)} for {year(start)} to {year(end)}"
            for (start, end), names in spans.items()
        )
        yield (
            f"{trend}: {guessed_words};"
            f" {f'used outside their periods: {outside}' if outside else 'none is used outside its period'}"
        )


def _span(rate: UsedRate) -> str:
    return f"{year(rate.start)} to {year(rate.end)}"


def _years_table(projection: Projection, track: ProjectedCase) -> ResultTable:
    """Lay out one case along one trend; the page shows a few years, the first and the last among
    them.
    """
    count = len(projection.years)
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


def _rates_table(projection: Projection) -> str:
    shared: dict[UsedRate, list[str]] = {}
    for rate in projection.rates:
        # What one trend takes over from another is listed once.
        shared.setdefault(replace(rate, trend=""), []).append(rate.trend)
    rows = [
        [
            escape(", ".join(trends)),
            escape(rate.name),
            _span(rate),
            f"{rate.factor:.3g}",
            f"{rate.low:.3g} to {rate.high:.3g}" if rate.high > rate.low else NOTHING,
            "; ".join(f"{year(start)} to {year(end)}" for start, end in rate.beyond) or NOTHING,
            f"guess: {escape(rate.source)}" if rate.assumed else escape(rate.source),
        ]
        for rate, trends in shared.items()
    ]
    head = [
        "trend",
        "of",
        "period",
        "times faster a year",
        percent(projection.band),
        "used outside",
        "source",
    ]
    return markdown_table(head, rows, [3])


def _panels(projection: Projection, spec: ProjectionPictureSpec) -> Figure:
    figure = sheet(8.2, 1.0 + 3.0 * len(spec.y))
    panels = figure.subplots(len(spec.y), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(spec.y, panels, strict=True):
        _lines(axes, projection, name, spec)
    if projection.factors is None:
        panels[-1].set_xlabel("year")
    else:
        logarithmic(panels[-1].xaxis, projection.factors)
        panels[-1].set_xlabel("times that processors are as fast")
    return titled(figure, spec.title, "case, trend", *panels[0].get_legend_handles_labels())


def _lines(axes: Axes, projection: Projection, name: str, spec: ProjectionPictureSpec) -> None:
    sweeps = {
        f"{track.case}, {track.trend}": track.sweep
        for track in projection.tracks
        if name in track.sweep.columns
    }
    if not sweeps:
        raise UnknownNameError(
            "projected value",
            name,
            list(dict.fromkeys(n for t in projection.tracks for n in t.values)),
        )
    across = projection.years if projection.factors is None else projection.factors
    shown = np.concatenate([sweep.columns[name] for sweep in sweeps.values()])
    unit, factor = choose(
        shown[np.isfinite(shown)].tolist(), Dimension.of(next(iter(sweeps.values())).units[name])
    )
    for index, (label, swept) in enumerate(sweeps.items()):
        colour, marker, dashes = STROKES[index % len(STROKES)]
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "linestyle": dashes,
            "markevery": 5,
        }
        axes.plot(across, swept.columns[name] / factor, label=label, **look)
        if f"low[{name}]" in swept.columns:
            low, high = (end / factor for end in swept.ends(name))
            axes.fill_between(across, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_ylabel(axis_title(name, unit))
    if spec.log == "y":
        logarithmic(axes.yaxis, shown / factor)
    elif np.min(shown, initial=0.0, where=np.isfinite(shown)) >= 0:
        axes.set_ylim(bottom=0)
