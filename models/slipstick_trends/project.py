"""Projections: cases along trends, with the rates as stated and a band of those that are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar

from slipstick.errors import DoubtfulRates, UnknownNameError
from slipstick.expression.nodes import number_text
from slipstick.late import Array, dataclass, field, late_pattern, np, replace
from slipstick.limits import announcing_progress
from slipstick.report.formatting import (
    capitalized,
    do_overlap,
    join_phrases,
    percent,
    prose,
    value_amount,
    with_noun,
)
from slipstick.results.question import Decision, QuestionResult, ResultTable, TitleAnswer
from slipstick.results.sweep import Axis, PointTable, Sweep
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.inputs import Settings, resolve
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.kinds.study import YEAR
from slipstick.schema.text import Mark, Scalar, Table, node_at
from slipstick.study.cases import (
    Place,
    StudyContext,
    axis_nodes,
    case_titles,
    derived_titles,
    numbers_of,
)
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import Question
from slipstick.study.wording import bounds_in
from slipstick.vocabulary import TECHNOLOGIES
from slipstick_questions.conditions import Condition, condition_of
from slipstick_questions.crossing_years import crossing_band, drawn_crossings, first_crossing_years
from slipstick_questions.sign_changes import Change
from slipstick_questions.trends import (
    PARAMETER_PREFIX,
    TrendedCase,
    base_year_of_case,
    kind_of_processors,
    last_years_of_data,
    machine_year,
    read_trend,
    trended_case,
)
from slipstick_questions.years import year_text
from slipstick_rates.files import CORE
from slipstick_rates.series import BACK_TEST_STARTS
from slipstick_rates.trend import (
    PROCESSORS,
    Draws,
    PeriodRate,
    SeriesRate,
    Trend,
    periods_outside,
    used_periods,
)
from slipstick_trends.ahead import (
    CLASS_PREFIX,
    DrawnCase,
    OwnYear,
    class_shares,
    find_arrivals,
    find_overtakings,
    share_saved_by_processors,
    work_of,
)
from slipstick_trends.fit_tables import accuracy_table
from slipstick_trends.likelihood import likelihood_word
from slipstick_trends.pictures import rates_figure, shares_figure, values_figure
from slipstick_trends.projection import (
    ConditionHistory,
    DominantClass,
    ProjectedCase,
    Projection,
    UsedRate,
    years_of_title,
)
from slipstick_trends.projection_tables import (
    arrivals_table,
    rates_table,
    used_series,
    years_table,
)
from slipstick_trends.sentences import (
    condition_columns,
    headlines_by_subject,
    outcome_sentences,
    sentences_beside_head,
    sentences_on_ended_data,
    sentences_on_middles,
    sentences_without_rate,
    titles_of_doubts,
    track_name,
    value_at,
    warning_sentences,
)
from slipstick_trends.specs import (
    ProjectionPictureSpec,
    ProjectSpec,
    RatesPictureSpec,
    SharesPictureSpec,
    WatchSpec,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.answer import Answer

    ProjectedSpec = ProjectionPictureSpec | SharesPictureSpec | RatesPictureSpec

_YEARS_OF_GRID = (1900.0, 2200.0)
_GRID_POINTS = 30_001


_MOST_YEARS_IN_TABLE = 13  # twelve years ahead
_MOST_TRACKS_IN_TABLE = 6
_MOST_TRACKS_TOLD = 3
_MOST_SENTENCES_OF_CASES = 3


@dataclass(frozen=True, slots=True)
class ProjectResult(QuestionResult):
    """The result of a projection: the answers of cases over the years ahead."""

    title: ClassVar[str] = "The years ahead"
    projection: Projection

    def sentences(self) -> list[str]:
        """Return sentences on the values of each case along each trend, and on rates that are
        doubtful.
        """
        projection = self.projection
        return [
            *outcome_sentences(projection, projection.words),
            *sentences_on_middles(projection),
            *warning_sentences(projection),
            *sentences_on_ended_data(projection),
        ]

    def sentences_beside_tables(self) -> list[str]:
        """Return the sentences with content that is neither in the tables nor in the head of the
        report.
        """
        return sentences_beside_head(self.projection, self.projection.words)

    def text(self) -> str:
        """Return the sentences that the head of a report does not have, for the terminal."""
        return "\n".join(self.sentences_beside_tables())

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        tracks = self.projection.tracks
        return len(tracks) > 2 or sum(len(track.conditions) for track in tracks) > 1

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the first cases: first conditions that have a title, then the values
        in the first and the last year and the shares of the time. If the title of the study asks
        "where", the shares come before the values.
        """
        sentences_by_subject = headlines_by_subject(self.projection, words)
        ordered_subjects = ["worded", "values", "shares", "conditions"]
        if re.search(r"\bwhere\b", words.title, re.IGNORECASE):
            ordered_subjects = ["worded", "shares", "values", "conditions"]
        return [
            sentence for subject in ordered_subjects for sentence in sentences_by_subject[subject]
        ][:_MOST_SENTENCES_OF_CASES]

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return how likely the watched condition is in the year that the title asks for, or in the
        last one, as an answer to the title; None unless one condition is watched over the years of
        one case, with draws of the rates.
        """
        histories = [
            (track, history) for track in self.projection.tracks for history in track.conditions
        ]
        if len(histories) != 1 or self.projection.factors is not None:
            return None
        ((track, history),) = histories
        if not history.shares_of_draws:
            return None
        index = self.projection.end_index(track)
        share = history.shares_of_draws[index]
        if np.isnan(share):
            return None
        clause = history.condition if history.is_worded else words.condition(history.condition)
        year = year_text(float(track.sweep.points[YEAR][index]))
        sentence = f"in {year} {clause} in {percent(share)} of the random draws"
        word = likelihood_word(share)
        return TitleAnswer(word, sentence, False, stands_alone=True, condition=history.condition)

    def answers_amount_in(self, title: str) -> bool:
        """Return whether a title asks for one of the projected years, such as 2030."""
        return self.projection.factors is None and any(
            self.projection.asked_indices(track) for track in self.projection.tracks
        )

    def examined_cases(self) -> list[str]:
        """List the cases that are projected, if there are several."""
        cases = dict.fromkeys(track.case for track in self.projection.tracks)
        return [*cases] if len(cases) > 1 else []

    def year_as_given(self, case: str) -> str:
        """Return the year of the values of a case, from which it is projected."""
        years = {track.base_year for track in self.projection.tracks if track.case == case}
        return year_text(years.pop()) if len(years) == 1 and all(years) else ""

    def best(self, words: Words) -> tuple[str, str] | None:
        """Return the case with the least time in every year, with its times in words; if there is
        none and the title asks "which", the case with the least time as given, with what is known
        of the year that the title asks for or of the last year; else None.
        """
        projection = self.projection
        tracks = [track for track in projection.tracks if "time" in track.sweep.columns]
        if projection.factors is not None or len(projection.titles) > 1 or len(tracks) < 2:
            return None

        def time_at_end(track: ProjectedCase) -> tuple[float, str, tuple[float, float]]:
            return value_at(track.sweep, "time", projection.end_index(track))

        fastest_track, *other_tracks = sorted(tracks, key=lambda track: time_at_end(track)[0])
        is_always_shorter = all(
            len(fastest_track.sweep) == len(track.sweep)
            and (fastest_track.sweep.columns["time"] <= track.sweep.columns["time"]).all()
            for track in other_tracks
        )
        interval_ends = [time_at_end(track)[2] for track in (fastest_track, other_tracks[0])]
        is_overtaken = any(
            overtaking.overtaken_case == fastest_track.case for overtaking in projection.overtakings
        )
        amounts = [
            value_amount("time", *time_at_end(track)) for track in (fastest_track, *other_tracks)
        ]
        end_index = projection.end_index(fastest_track)
        end_year = year_text(float(fastest_track.sweep.points[YEAR][end_index]))
        are_undecided = do_overlap(*interval_ends)
        if is_always_shorter and not is_overtaken and not are_undecided:
            last_year = year_text(projection.years[-1])
            reason = f"stays the fastest until {last_year}"
            in_year = "" if end_year == last_year else f"in {end_year} "
            return fastest_track.case, f"{reason} ({in_year}{amounts[0]})"
        if not re.match(r"which\b", words.title, re.IGNORECASE):
            return None
        first_track = min(tracks, key=lambda track: float(track.sweep.columns["time"][0]))
        case_titles = [words.case(track.case) for track in (fastest_track, *other_tracks)]
        if not are_undecided:
            return (
                first_track.case,
                f"in {end_year} {case_titles[0]} is the fastest ({amounts[0]})",
            )
        phrases = [
            f"{amount} for {case_title}"
            for amount, case_title in zip(amounts, case_titles, strict=True)
        ]
        shown_phrases = phrases[:_MOST_TRACKS_TOLD]
        return (
            first_track.case,
            f"in {end_year} the order is undecided: {join_phrases(shown_phrases)}",
        )

    def decision(self, words: Words) -> Decision | None:
        """Return a table of the values in the first and the last year, and in those that the title
        asks for, one row for each case; of a single case, one row for each year.
        """
        projection = self.projection
        if len(projection.tracks) == 1 and projection.factors is None:
            return _table_of_years(projection, words)
        rows = []
        value_names = projection.tracks[0].value_names[:2]
        shown_tracks = projection.tracks[:_MOST_TRACKS_IN_TABLE]
        first_years = {float(track.sweep.points[YEAR][0]) for track in shown_tracks}
        # What the title asks for, where all cases have it, stands between the first and the last.
        years_by_case = [
            {float(track.sweep.points[YEAR][index]) for index in projection.asked_indices(track)}
            for track in shown_tracks
        ]
        asked_years = sorted(
            set.intersection(*years_by_case) - first_years - {float(projection.years[-1])}
            if projection.factors is None
            else []
        )
        for track in shown_tracks:
            track_years = [float(year) for year in track.sweep.points[YEAR]]
            start_text = (
                ""
                if len(first_years) == 1
                else f" in {year_text(float(track.sweep.points[YEAR][0]))}"
            )
            cells = [
                value_amount(value_name, *value_at(track.sweep, value_name, year_index))
                + ("" if year_index else start_text)
                for value_name in value_names
                if value_name in track.sweep.columns
                for year_index in (0, *map(track_years.index, asked_years), -1)
            ]
            rows.append([track_name(track, projection, words), *cells])
        first_year_text = (
            f"in {year_text(min(first_years))}" if len(first_years) == 1 else "at first"
        )
        last_year_text = f"in {year_text(projection.years[-1])}"
        if projection.factors is not None:
            first_year_text, last_year_text = (
                f"with processors {projection.factors[year_index]:.4g} times as fast"
                for year_index in (0, -1)
            )
        headings = [
            f"{words.value(value_name)} {shown_year}"
            for value_name in value_names
            for shown_year in (
                first_year_text,
                *(f"in {year_text(year)}" for year in asked_years),
                last_year_text,
            )
        ]
        for condition, cells in condition_columns(projection, shown_tracks, words):
            headings.append(condition)
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)
        return (["", *headings], rows) if len(rows) > 1 else None

    def doubt(self, words: Words = NO_WORDS) -> str:
        """Return sentences on what is uncertain: steps and parameters without a rate, ranges
        represented by their middle, rates that are guesses or are used outside their periods, and
        weak series.
        """
        projection = self.projection
        sentence_functions = (
            sentences_without_rate,
            sentences_on_middles,
            warning_sentences,
            sentences_on_ended_data,
        )
        return DoubtfulRates(
            "; ".join(
                sentence
                for sentences_of in sentence_functions
                for sentence in sentences_of(projection)
            ),
            titles=titles_of_doubts(projection),
        )

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield a sentence on how rates were drawn, the table of each case along each trend, and
        the table of rates.
        """
        projection = self.projection
        titles = ", and ".join(f"{name} ({title})" for name, title in projection.titles.items())
        draws_in_words = (
            f" {with_noun(projection.samples, 'draw')} of the rates give the band of"
            f" {percent(projection.band)} in brackets. A stated rate has one draw for all years;"
            " the rate of a series has errors of level and rate, later changes of the rate, and the"
            " scatter of devices. The numbers of processors stay the same."
        )
        base_years = sorted({track.base_year for track in projection.tracks})
        years_in_words = " and ".join(map(year_text, base_years))
        known_in_words = (
            f", with points known in {year_text(projection.as_of)}"
            if projection.as_of is not None
            else ""
        )
        yield prose(
            f"From {years_in_words}, along"
            f" {titles}{known_in_words}.{draws_in_words if projection.samples else ''}"
        )
        for track in projection.tracks:
            yield years_table(projection, track)
        if projection.arrivals:
            yield arrivals_table(projection)
        yield "### Rates"
        yield rates_table(projection)
        if shown_series := used_series(projection):
            fitted_in = join_phrases([f"{start:g}" for start in BACK_TEST_STARTS])
            yield f"### Fits of {fitted_in}, and what came"
            yield accuracy_table(shown_series)

    def draw(
        self, spec: ProjectedSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw the picture that the study describes: values over the years with their bands, the
        shares of the time, or the points of the rates.
        """
        if isinstance(spec, SharesPictureSpec):
            return shares_figure(self.projection, spec, words)
        if isinstance(spec, RatesPictureSpec):
            return rates_figure(self.projection, spec)
        return values_figure(self.projection, spec, words)


@dataclass(frozen=True)
class _ProjectedCases:
    """The cases to project along trends with their conditions, over years or over factors of the
    processors' speed.
    """

    spec: ProjectSpec
    listed_years: Sequence[float] | Array
    tracks: tuple[tuple[TrendedCase, tuple[Condition, ...]], ...]
    factors: Array | None = None
    settings_by_case: Mapping[str, Settings] = field(default_factory=dict)
    cases_with_years: tuple[tuple[Evaluator, float, str], ...] = ()
    words: Words = NO_WORDS

    @property
    def years(self) -> Array:
        """The years as an array."""
        return np.asarray(self.listed_years, dtype=float)

    @property
    def band_ends(self) -> tuple[float, float]:
        """The fractions of the draws below the lower and the upper end of the band."""
        return (1 - self.spec.band.value) / 2, (1 + self.spec.band.value) / 2

    def years_of(self, track: TrendedCase) -> Array:
        """Return the years to solve for a case: those from its own base year on, unless the study
        sets one base year for all cases or factors.
        """
        if self.spec.base_year is not None or self.factors is not None:
            return self.years
        later_years = self.years[self.years > track.base_year]
        begins_inside = self.years[0] <= track.base_year <= self.years[-1]
        return np.array([track.base_year, *later_years]) if begins_inside else later_years

    def span(self, trend: Trend) -> tuple[float, float]:
        """Return the first and the last year for which a trend is used."""
        base_years = [
            track.base_year
            for track, _ in self.tracks
            if (track.trend.name, track.trend.kind) == (trend.name, trend.kind)
        ]
        return min(*base_years, float(self.years[0])), max(*base_years, float(self.years[-1]))

    def draws(self, trend: Trend) -> dict[str, Draws]:
        """Return random draws of the rates of a trend. They are the same for every case, so that
        cases differ by their models only.
        """
        if not self.spec.samples:
            return {}
        base_years = [track.base_year for track, _ in self.tracks]
        # Later machines are compared with predictions for their own years.
        later_years = [start for _, start, _ in self.cases_with_years if start > min(base_years)]
        years = {*self.years, *base_years, *later_years}
        return trend.draws(np.array(sorted(years)), self.spec.samples, self.spec.seed)


def read(spec: ProjectSpec, study: StudyContext) -> Question:
    """Read the projection that a study asks for, and build its cases. Only the cases as given are
    solved.

    Raises
    ------
    SpecError : a trend, a condition, a case or a year is wrong
    """
    trends = [
        read_trend(name, ("project", "trends", index), study, spec.as_of)
        for index, name in enumerate(spec.trends)
    ]
    case_names = spec.cases or list(study.cases)
    place = ("project", "base_year") if spec.base_year is not None else ("project",)
    base_year_by_case = {
        case: base_year_of_case(case, spec.base_year, place, study) for case in case_names
    }
    years: Sequence[float] | Array | None = _read_years(
        spec, study, min(base_year_by_case.values())
    )
    factors = None
    if years is not None:
        years = _with_years_of_title(years, spec, base_year_by_case.values(), study)
    else:
        factors = _read_factors(spec, study)
        processor_kinds = {
            kind_of_processors(resolve(study.cases[case], study.library)) or CORE
            for case in case_names
        }
        if len(processor_kinds) > 1:
            message = (
                f"the cases have processors of the kinds {join_phrases(sorted(processor_kinds))},"
                " which gain"
                " differently; name cases of one kind, or project along years"
            )
            raise study.refusal(("project", "factors"), message)
        trend = trends[0].trend(*processor_kinds)
        years = _year_of_factor(trend, base_year_by_case[case_names[0]], factors, study)
    tracks = []
    series_names = [name for asked_trend in trends for name in asked_trend.spec.series]
    for case in case_names:
        if years is not None and factors is None and base_year_by_case[case] > years[-1]:
            message = (
                f"{case} begins in {base_year_by_case[case]:g}, after the last of the years,"
                f" {years[-1]:g}"
            )
            raise study.refusal(("project", "years"), message)
        for asked_trend in trends:
            track = trended_case(
                case, asked_trend, base_year_by_case[case], place, study, series_names
            ).with_mean_value_default
            conditions = (
                _read_condition(asked_condition, ("project", "watch", index), track, study)
                for index, asked_condition in enumerate(spec.watch)
            )
            tracks.append((track, tuple(conditions)))
    cases_with_years = tuple(_cases_with_years(spec, case_names, study)) if factors is None else ()
    titles = {**derived_titles(study.tree), **case_titles(study.tree)}
    condition_texts = (
        written_condition if isinstance(written_condition, str) else written_condition.that
        for written_condition in spec.watch
    )
    limits = dict(name_and_limit for text in condition_texts for name_and_limit in bounds_in(text))
    meanings = _meanings_of_parameters(track for track, _ in tracks)
    words = Words(titles, meanings, limits=limits, title=study.spec.title)
    cases = _ProjectedCases(
        spec, years, tuple(tracks), factors, study.cases, cases_with_years, words
    )
    return Question(
        lambda answers: ProjectResult(_solve_projection(cases, answers.wanted)),
        pictures=[_default_picture(study.spec.answer, years)] if factors is None else [],
    )


def _default_picture(
    value_names: Sequence[str], years: Sequence[float] | Array
) -> ProjectionPictureSpec:
    """Return the picture of a projection in a study that names no pictures: the first value over
    the years.
    """
    value_name = next(iter(value_names), "time")
    subject = capitalized(NO_WORDS.value(value_name))
    title = f"{subject} from {year_text(years[0])} to {year_text(years[-1])}"
    return ProjectionPictureSpec(kind="projection", name="years", title=title, y=[value_name])


def _meanings_of_parameters(tracks: Iterable[TrendedCase]) -> dict[str, str]:
    """Return the meanings of the parameters of cases, by path."""
    return {
        f"{PARAMETER_PREFIX}{name}": stated_quantity.meaning
        for track in tracks
        for name, stated_quantity in getattr(
            track.case.inputs.checked_spec, "parameters", {}
        ).items()
        if isinstance(stated_quantity, Given) and stated_quantity.meaning
    }


def _cases_with_years(
    spec: ProjectSpec, projected_names: Sequence[str], study: StudyContext
) -> Iterator[tuple[Evaluator, float, str]]:
    """Yield the projected cases, and every other case whose machine has a year, each with that year
    and the kind of its processors.
    """
    for case, settings in study.cases.items():
        start_year = spec.base_year if case in projected_names else None
        start_year = start_year if start_year is not None else machine_year(case, study)
        if start_year is not None:
            yield (
                evaluator(case, settings, study.library).with_mean_value_default,
                start_year,
                kind_of_processors(resolve(settings, study.library)),
            )


_PARAMETER_NAME = late_pattern(r"\bparameters\.[A-Za-z_]\w*")


def _read_condition(
    written_condition: str | WatchSpec, place: Place, track: TrendedCase, study: StudyContext
) -> Condition:
    """Read a condition of a projection, in which a parameter stands for its value in the case."""
    text, shown_text = (
        (written_condition, written_condition)
        if isinstance(written_condition, str)
        else (written_condition.that, written_condition.says)
    )

    def value_text(match: re.Match[str]) -> str:
        parameter = track.case.built.parameters.get(match[0])
        if parameter is None or parameter.value is None:
            known_parameters = [
                name for name in track.case.built.parameters if name.startswith(PARAMETER_PREFIX)
            ]
            raise study.refusal(
                place, str(UnknownNameError("parameter", match[0], known_parameters))
            )
        if match[0] in track.units:
            return match[0]
        unit = "" if str(parameter.dimension) == "1" else f" {parameter.dimension}"
        return f"({number_text(parameter.value)}{unit})"

    condition = condition_of(
        _PARAMETER_NAME.sub(value_text, text), place, track.case, study, track.case, track.units
    )
    return replace(condition, text=shown_text, is_worded=shown_text != text)


def _read_factors(spec: ProjectSpec, study: StudyContext) -> Array:
    """Return the factors of the processors' speed; raise if they do not rise or are not above 0."""
    place = ("project", "factors")
    assert spec.factors is not None
    factors = numbers_of(axis_nodes(spec.factors, study.node_of(place), place))
    if factors is None or len(factors) < 2 or factors[0] <= 0 or not np.all(np.diff(factors) > 0):
        raise study.refusal(
            place, "factors are at least two plain numbers above 0 that rise, such as 1 and 16"
        )
    return np.array(factors)


def _year_of_factor(trend: Trend, base_year: float, factors: Array, study: StudyContext) -> Array:
    """Return the year in which the processors are faster by each factor, at the stated rates.
    Processors of a kind such as GPUs are as fast as their arithmetic; for them the rate of
    processors is the rate of the software beside them.
    """
    place = ("project", "factors")
    if PROCESSORS not in trend.rates:
        raise study.refusal(
            place, f"trend {trend.name} has no rate of {PROCESSORS}; project along years"
        )
    # Years before the base, which move the fit of a series a little, are for factors below 1.
    first_year, last_year = base_year if factors[0] >= 1 else _YEARS_OF_GRID[0], _YEARS_OF_GRID[1]
    years = np.linspace(first_year, last_year, _GRID_POINTS)
    rate = trend.rates[PROCESSORS]
    if trend.kind not in ("", CORE):
        rate = trend.rates.get("application", rate)
    log_gains = np.log(rate.gain(base_year, years)[0])
    if not np.all(np.diff(log_gains) > 0):
        raise study.refusal(
            place, f"processors do not always gain along {trend.name}; project along years"
        )
    if not (log_gains[0] <= np.log(factors[0]) and np.log(factors[-1]) <= log_gains[-1]):
        low, high = np.exp(log_gains[[0, -1]])
        message = (
            f"along {trend.name} processors come to factors from {low:.3g} to {high:.3g} between"
            f" {year_text(first_year)} and {year_text(last_year)}"
        )
        raise study.refusal(place, f"{message}, got {factors[0]:g} to {factors[-1]:g}")
    return np.interp(np.log(factors), log_gains, years)


def _read_years(
    spec: ProjectSpec, study: StudyContext, first_base_year: float
) -> Sequence[float] | None:
    """Return the years of the answers; raise if they do not rise. A single year follows the year
    in which the first case begins. Return None if the study gives factors.
    """
    node = node_at(study.tree, ["project", "years"])
    if node is None or spec.years is None:
        return None
    place: tuple[str | int, ...] = ("project", "years")
    years = numbers_of(axis_nodes(spec.years, node, place))
    if years is not None and len(years) == 1 and first_base_year < years[0]:
        years = [first_base_year, *years]
    if (
        years is None
        or len(years) < 2
        or not all(year_before < year_after for year_before, year_after in pairwise(years))
    ):
        raise study.refusal(
            place,
            "years are plain numbers that rise, such as 2024 and 2034; a single year lies after"
            f" that of the machines, {first_base_year:g}",
        )
    if not (years[0] >= 1900 and years[-1] <= 2200):
        raise study.refusal(
            place, f"years lie between 1900 and 2200, got {years[0]:g} to {years[-1]:g}"
        )
    return years


def _with_years_of_title(
    years: Sequence[float] | Array,
    spec: ProjectSpec,
    base_years: Iterable[float],
    study: StudyContext,
) -> Sequence[float]:
    """Return the years of a projection with those that the title of the study asks for. A year in
    the name of a trend, such as that of its publication, is not asked for.
    """
    asked_years = years_of_title(study.spec.title, years, base_years)
    further_years = [
        year for year in asked_years if not any(f"{year:g}" in trend for trend in spec.trends)
    ]
    return sorted({*years, *further_years})


def _solve_projection(cases: _ProjectedCases, wanted_names: Sequence[str]) -> Projection:
    """Solve all cases along their trends. Return the projection with the wanted answers."""
    spec = cases.spec
    band_ends = cases.band_ends
    trend_by_name = _trends_by_name(cases)
    tracks: list[ProjectedCase] = []
    drawn_cases: list[DrawnCase] = []
    for track, conditions in cases.tracks:
        projected_case, drawn_case = _solve_track(track, conditions, cases, wanted_names)
        tracks.append(projected_case)
        drawn_cases.append(drawn_case)
    return Projection(
        factors=cases.factors,
        years=cases.years,
        tracks=tuple(tracks),
        rates=tuple(
            dict.fromkeys(
                rate for trend in trend_by_name.values() for rate in _rates_in_use(trend, cases)
            )
        ),
        titles={trend.name: trend.title for trend in trend_by_name.values()},
        samples=spec.samples,
        band=spec.band.value,
        seed=spec.seed,
        overtakings=tuple(find_overtakings(drawn_cases, band_ends))
        if cases.factors is None
        else (),
        arrivals=tuple(find_arrivals(drawn_cases, _cases_in_own_years(cases), band_ends))
        if cases.factors is None
        else (),
        trends=tuple(trend_by_name.values()),
        as_of=spec.as_of,
        timed=_depends_on_times_alone(cases, wanted_names),
        words=cases.words,
    )


def _depends_on_times_alone(cases: _ProjectedCases, wanted_names: Sequence[str]) -> bool:
    """Return whether all answers and conditions depend on times only, and not on amounts."""
    condition_columns = {
        name
        for _, conditions in cases.tracks
        for condition in conditions
        for name in condition.columns.values()
    }
    return not any(
        name.startswith((PARAMETER_PREFIX, "amount["))
        for name in {*wanted_names, *condition_columns}
    )


def _trends_by_name(cases: _ProjectedCases) -> dict[tuple[str, str], Trend]:
    """Return the trends, each with the rates that its cases use, by name and kind of processors."""
    trend_by_name: dict[tuple[str, str], Trend] = {}
    for track, _ in cases.tracks:
        name_and_kind = (track.trend.name, track.trend.kind)
        rate_by_name = (
            {**trend_by_name[name_and_kind].rates, **track.trend.rates}
            if name_and_kind in trend_by_name
            else track.trend.rates
        )
        trend_by_name[name_and_kind] = replace(track.trend, rates=rate_by_name)
    return trend_by_name


_EMPTY_TABLE = Table({}, Mark("", 1, 1))


def _cases_in_own_years(cases: _ProjectedCases) -> list[OwnYear]:
    """Return each case whose machine has a year, solved in that year."""
    cases_in_own_years = []
    for case, own_year, processor_kind in cases.cases_with_years:
        settings = cases.settings_by_case[case.case]
        answers = case.columns({})
        trend_node = node_at(settings.get("machine", _EMPTY_TABLE), ["trend"])
        cases_in_own_years.append(
            OwnYear(
                case.case,
                own_year,
                processor_kind,
                work_of(settings, case),
                case.form.quantity,
                answers,
                trend_node.text if isinstance(trend_node, Scalar) else "",
            )
        )
    return cases_in_own_years


def _solve_track(
    track: TrendedCase,
    conditions: Sequence[Condition],
    cases: _ProjectedCases,
    wanted_names: Sequence[str],
) -> tuple[ProjectedCase, DrawnCase]:
    """Solve a case along a trend in each year, at the stated rates and in every draw of the rates.
    Return the results for the report, and the answers in the draws.
    """
    years = cases.years_of(track)
    case = track.case
    trend_values = track.values(years)
    table = case.point_table(trend_values)
    stated_columns = {**table.columns, **{path: trend_values[path] for path in track.units}}
    draws = cases.draws(track.trend)
    drawn_columns = _answers_in_draws(track, draws, conditions, cases, wanted_names)
    band_ends = cases.band_ends
    with np.errstate(invalid="ignore"):  # between a finite and an infinite draw
        quantiles_by_name = {
            name: np.quantile(drawn_columns[name], band_ends, axis=0)
            for name in wanted_names
            if name in drawn_columns
        }
    band_by_name = {
        name: np.where(np.isfinite(quantiles), quantiles, np.nan)
        for name, quantiles in quantiles_by_name.items()
    }
    margins = [
        condition.margin_and_mask(
            {name: column.reshape(-1) for name, column in drawn_columns.items()}
        )[0][0].reshape(-1, len(years))
        for condition in conditions
        if drawn_columns
    ]
    work = work_of(cases.settings_by_case[case.case], case)
    # Where a resource is saturated the table has no answer, but a condition on times is decided.
    has_answers = np.isfinite(stated_columns[case.form.quantity]).all()
    decided_columns = (
        stated_columns if has_answers else _columns_of(track, tuple(stated_columns), years)
    )
    close_answers = _with_closer_years(track, decided_columns, years)
    drawn_case = DrawnCase(track, years, stated_columns, drawn_columns, draws, work, *close_answers)
    columns = _columns_with_bands(stated_columns, band_by_name, wanted_names)
    sweep = _sweep_of_track(track, cases, trend_values, table, columns)
    report_solved = announcing_progress(
        len(conditions), f"{with_noun(len(conditions), 'condition')} of {case.case} over the years"
    )
    histories = []
    for index, condition in enumerate(conditions):
        histories.append(
            _condition_history(
                track,
                condition,
                close_answers,
                years,
                margins[index] if margins else None,
                cases.spec.band.value,
            )
        )
        report_solved(1)
    depends_on_times_alone = _depends_on_times_alone(cases, wanted_names)
    rates_without_effect = {
        *track.rates_without_effect,
        *(track.rates_of_amounts_alone if depends_on_times_alone else ()),
    }
    unfollowed_parameters = [
        parameter_and_series
        for parameter_and_series in track.unfollowed
        if not depends_on_times_alone or parameter_and_series[0] in track.timed
    ]
    projected_case = ProjectedCase(
        case.case,
        track.trend.name,
        sweep,
        tuple(_dominant_classes(drawn_case, band_ends)),
        tuple(histories),
        track.classes_without_rate,
        track.base_year,
        tuple(class_shares(drawn_case, band_ends)),
        share_saved_by_processors(drawn_case, band_ends),
        track.trend.kind,
        track.has_kind,
        tuple(unfollowed_parameters),
        track.rates_of_amounts_alone,
        case.built.uncertain_values.paths,
        tuple(last_years_of_data(track, rates_without_effect).items()),
    )
    return projected_case, drawn_case


def _sweep_of_track(
    track: TrendedCase,
    cases: _ProjectedCases,
    trend_values: Mapping[str, Array],
    table: PointTable,
    columns: dict[str, Array],
) -> Sweep:
    """Return the answers of a case in each year as a sweep along the years.

    Parameters
    ----------
    track : the case along its trend
    cases : all cases of the projection
    trend_values : values of the parameters in each year, by path
    table : the answers at the stated rates
    columns : the answers that the report shows, with the ends of their bands
    """
    case = track.case
    years = cases.years_of(track)
    points = {YEAR: years}
    if cases.factors is not None:
        points = {"processors": cases.factors, YEAR: years}
    failed_rows = np.flatnonzero(~np.isfinite(table.columns[case.form.quantity])).tolist()
    return Sweep(
        name="project",
        axes=(Axis(YEAR, "", tuple(years.tolist())),),
        cases=[case.case] * len(years),
        points=points,
        columns=columns,
        units={name: case.unit(name) for name in columns},
        limits={},
        provenance=table.provenance,
        failed={row: case.reason_without_answer(trend_values, row) for row in failed_rows},
        idle=track.rates_without_effect,
    )


def _columns_with_bands(
    stated_columns: Mapping[str, Array], bands: Mapping[str, Array], wanted_names: Sequence[str]
) -> dict[str, Array]:
    """Return the wanted columns at the stated rates, with the ends of their bands."""
    columns = {name: stated_columns[name] for name in wanted_names if name in stated_columns}
    for name, column in list(columns.items()):
        for end_index, band_name in enumerate((f"low[{name}]", f"high[{name}]")):
            if name in bands:
                columns[band_name] = bands[name][end_index]
            if band_name in stated_columns:
                # A band of estimates is widened by how far each of them may be off, which is the
                # most that both can be.
                columns[band_name] = columns.get(band_name, column) + (
                    stated_columns[band_name] - column
                )
    return columns


def _answers_in_draws(
    track: TrendedCase,
    draws: Mapping[str, Draws],
    conditions: Sequence[Condition],
    cases: _ProjectedCases,
    wanted_names: Sequence[str],
) -> dict[str, Array]:
    """Return the answers in every draw, including the answers that conditions and classes of cost
    need [samples, years].
    """
    years = cases.years_of(track)
    sample_count = cases.spec.samples
    if not sample_count:
        return {}
    needed_columns = {
        *wanted_names,
        *(name for condition in conditions for name in condition.columns.values()),
    }
    needed_columns |= {
        track.case.form.quantity,
        *(column_name for column_name in track.case.names if column_name.startswith(CLASS_PREFIX)),
    }
    needed_columns -= track.units.keys()
    columns = track.columns(track.values(years, draws), needed_columns)
    row_count = len(next(iter(columns.values())))
    if row_count == len(years):  # nothing is uncertain
        return {name: np.tile(values, (sample_count, 1)) for name, values in columns.items()}
    return {name: values.reshape(sample_count, len(years)) for name, values in columns.items()}


def _dominant_classes(case: DrawnCase, band_ends: tuple[float, float]) -> Iterator[DominantClass]:
    """Yield each class of cost that takes more time than all other classes in some years, with the
    first and the last of these years.
    """
    answer_columns = case.close_answers
    years = case.close_years
    class_columns = [name for name in answer_columns if name.startswith(CLASS_PREFIX)]
    if not class_columns:
        return
    times_by_class = np.stack([answer_columns[name] for name in class_columns])
    has_answer = np.isfinite(times_by_class).all(axis=0)
    times_by_class = times_by_class[:, has_answer]
    years = years[has_answer]
    largest_class_indices = [int(index) for index in np.argmax(times_by_class, axis=0)]
    first_index = 0
    for class_index, equal_indices in groupby(largest_class_indices):
        end_index = first_index + len(list(equal_indices))
        first_year = float(years[first_index])
        low = None
        high = None
        share_of_draws = None
        if first_index:
            crossing_slice = slice(first_index - 1, first_index + 1)
            first_year = _crossing_year_between(
                times_by_class[class_index, crossing_slice],
                times_by_class[largest_class_indices[first_index - 1], crossing_slice],
                years[crossing_slice],
            )
            low, high, share_of_draws = _band_of_becoming_largest(
                case, class_columns, class_index, first_year, band_ends
            )
        yield DominantClass(
            class_columns[class_index].removeprefix(CLASS_PREFIX).removesuffix("]"),
            first_year,
            float(years[end_index - 1]),
            low,
            high,
            share_of_draws,
        )
        first_index = end_index


def _crossing_year_between(rising_values: Array, falling_values: Array, years: Array) -> float:
    """Return the time between two years at which a rising quantity passes a falling one, with
    straight lines between their logarithms; the later year if one of them is 0.
    """
    with np.errstate(all="ignore"):
        (crossing_year_text,) = first_crossing_years(
            np.log(rising_values) - np.log(falling_values)[None, :], years
        )
    return float(crossing_year_text) if np.isfinite(crossing_year_text) else float(years[-1])


def _band_of_becoming_largest(
    case: DrawnCase,
    class_columns: Sequence[str],
    class_index: int,
    stated_year: float,
    band_ends: tuple[float, float],
) -> tuple[float | None, float | None, float | None]:
    """Return the band of the year in which a class of cost becomes the largest one, and the
    fraction of the draws in which it does.
    """
    if class_columns[class_index] not in case.drawn_answers:
        return None, None, None

    def log_lead(columns: Mapping[str, Array]) -> Array:
        largest_other = np.max(
            [
                columns[name]
                for other_index, name in enumerate(class_columns)
                if other_index != class_index
            ],
            axis=0,
        )
        with np.errstate(all="ignore"):
            return np.atleast_2d(
                np.log(columns[class_columns[class_index]]) - np.log(largest_other)
            )

    crossing_years = drawn_crossings(
        log_lead(case.stated_answers), log_lead(case.drawn_answers), case.years, stated_year
    )
    return (
        (None, None, None) if crossing_years is None else crossing_band(crossing_years, band_ends)
    )


def _condition_history(
    track: TrendedCase,
    condition: Condition,
    close_answers: tuple[Array, Mapping[str, Array]],
    years: Array,
    margins: Array | None,
    band: float,
) -> ConditionHistory:
    """Return the years in which a condition holds for a case, with the band of each change over the
    draws.
    """
    compute_columns = partial(_columns_of, track, tuple(close_answers[1]))
    examined_years, answers = _with_bisected_years(
        compute_columns, condition, close_answers[1], close_answers[0]
    )
    examined_years, answers = _with_years_at_peaks(
        compute_columns, condition, answers, examined_years
    )
    margins_with_ends, holds = condition.margin_and_mask(answers)
    changes, undecided_spans = condition.changes(answers, examined_years, compute_columns)
    has_answer = np.isfinite(margins_with_ends[0])
    holds_first = bool(holds[has_answer][0]) if has_answer.any() else None
    band_ends = ((1 - band) / 2, (1 + band) / 2)
    stated_margins = margins_with_ends[:1, np.searchsorted(examined_years, years)]
    first_change_by_direction = {change.starts: change for change in reversed(changes)}
    changes_with_bands = tuple(
        _with_band(change, stated_margins, margins, years, band_ends)
        if change is first_change_by_direction[change.starts]
        else change
        for change in changes
    )
    # Draws without an answer do not tell in how many the condition holds.
    shares_of_draws = (
        []
        if margins is None
        else np.where(np.isnan(margins).any(axis=0), np.nan, (margins >= 0).mean(axis=0)).tolist()
    )
    return ConditionHistory(
        condition.text,
        holds_first,
        changes_with_bands,
        tuple(undecided_spans),
        tuple(_stretches_of_years(examined_years, ~has_answer)),
        tuple(shares_of_draws),
        condition.is_worded,
    )


_END_TOLERANCE, _END_TOLERANCE_OF_ESTIMATES = 1e-6, 0.05
"""The gap to which bisection narrows the end of the answers, for computed and for estimated ones
[years]: a limit may lie there, since the time of an open station rises without bound."""


_YEARS_BETWEEN_EXAMINED = 0.25
"""Distance of the years in which conditions and the orders of classes and of cases are computed
[years], since they may change twice between two requested years.
"""


def _with_closer_years(
    track: TrendedCase, stated_columns: Mapping[str, Array], years: Array
) -> tuple[Array, dict[str, Array]]:
    """Return years that lie close together, including those in which a rate changes, with their
    answers; only the requested years if each further year needs a simulation.
    """
    main_quantity = track.case.form.quantity
    low_ends = stated_columns.get(f"low[{main_quantity}]", np.full(1, np.nan))
    if track.case.form.is_estimated or np.isfinite(low_ends).any():
        return years, dict(stated_columns)
    periods = [
        period
        for rate in track.trend.rates.values()
        if isinstance(rate, PeriodRate)
        for period in rate.periods
    ]
    period_starts = [period.start for period in periods if years[0] < period.start < years[-1]]
    further_years = np.setdiff1d(
        [*np.arange(years[0], years[-1], _YEARS_BETWEEN_EXAMINED), *period_starts], years
    )
    if not len(further_years):
        return years, dict(stated_columns)
    columns = _columns_of(track.with_mean_value_default, tuple(stated_columns), further_years)
    ascending_order = np.argsort([*years, *further_years])
    joined_columns = {
        name: np.append(stated_columns[name], columns[name])[ascending_order]
        for name in stated_columns
    }
    return np.append(years, further_years)[ascending_order], joined_columns


def _with_years_at_peaks(
    compute_columns: Callable[[Array], dict[str, Array]],
    condition: Condition,
    answers: Mapping[str, Array],
    years: Array,
) -> tuple[Array, dict[str, Array]]:
    """Return the years and their answers with further years in which the margin of a condition
    comes nearest to 0, wherever the condition may change twice between two neighbouring years.
    """
    from scipy.optimize import minimize_scalar

    answers = dict(answers)
    if condition.case.form.is_estimated:
        return years, answers
    margins_with_ends, holds = condition.margin_and_mask(answers)
    margins = np.abs(margins_with_ends[0])
    peak_indices = [
        index
        for index in range(1, len(years) - 1)
        if margins[index] < min(margins[index - 1], margins[index + 1])
        and holds[index - 1] == holds[index] == holds[index + 1]
    ]
    for index in peak_indices:
        sign = 1.0 if holds[index] else -1.0
        margin_minimum = minimize_scalar(
            lambda year, sign=sign: (
                sign * condition.margin_and_mask(compute_columns(np.array([year])))[0][0, 0]
            ),
            bounds=(years[index - 1], years[index + 1]),
            method="bounded",
            options={"xatol": _END_TOLERANCE_OF_ESTIMATES / 5},
        )
        if margin_minimum.fun < 0:
            insertion_index = int(np.searchsorted(years, margin_minimum.x))
            peak_columns = compute_columns(np.array([margin_minimum.x]))
            years = np.insert(years, insertion_index, margin_minimum.x)
            answers = {
                name: np.insert(answers[name], insertion_index, peak_columns[name])
                for name in answers
            }
    return years, answers


def _columns_of(track: TrendedCase, names: Sequence[str], years: Array) -> dict[str, Array]:
    """Return some columns of a case in given years; NaN for a column that the case does not
    have.
    """
    columns = track.columns(track.values(years))
    return {name: columns.get(name, np.full(len(years), np.nan)) for name in names}


def _with_bisected_years(
    compute_columns: Callable[[Array], dict[str, Array]],
    condition: Condition,
    stated_columns: Mapping[str, Array],
    years: Array,
) -> tuple[Array, dict[str, Array]]:
    """Return the years and their answers with further years, found by bisection at each end of a
    range without answers.
    """
    closest_distance = (
        _END_TOLERANCE_OF_ESTIMATES if condition.case.form.is_estimated else _END_TOLERANCE
    )
    has_answers = np.isfinite(condition.margin_and_mask(stated_columns)[0][0])
    examined_years = years
    answers = dict(stated_columns)
    for index in np.flatnonzero(has_answers[1:] != has_answers[:-1]).tolist():
        enclosing_years = [float(years[index]), float(years[index + 1])]
        index_without_answer = int(has_answers[index])  # of the end that has no answer
        while enclosing_years[1] - enclosing_years[0] > closest_distance:
            middle_year = np.array([sum(enclosing_years) / 2])
            middle_columns = compute_columns(middle_year)
            insertion_index = int(np.searchsorted(examined_years, middle_year[0]))
            examined_years = np.insert(examined_years, insertion_index, middle_year)
            answers = {
                name: np.insert(answers[name], insertion_index, middle_columns[name])
                for name in answers
            }
            has_answer = bool(np.isfinite(condition.margin_and_mask(middle_columns)[0][0, 0]))
            enclosing_years[1 - index_without_answer if has_answer else index_without_answer] = (
                float(middle_year[0])
            )
    return examined_years, answers


def _stretches_of_years(years: Array, is_selected: Array) -> Iterator[tuple[float, float]]:
    """Yield the first and the last year of each range of consecutive years that a mask selects."""
    first_index = 0
    for is_inside, group in groupby(is_selected.tolist()):
        end_index = first_index + len(list(group))
        if is_inside:
            yield float(years[first_index]), float(years[end_index - 1])
        first_index = end_index


def _with_band(
    change: Change,
    stated_margins: Array,
    margins: Array | None,
    years: Array,
    band_ends: tuple[float, float],
) -> Change:
    """Return a change of a condition with the band of its year over the draws of the rates. In each
    draw the first change in the same direction counts, and the interval of the change widens the
    band. The band is missing if a draw has no answer in a requested year, or if the requested years
    do not show the change.
    """
    if margins is None or not np.isfinite(margins).all() or not np.isfinite(stated_margins).all():
        return change
    sign = 1.0 if change.starts else -1.0
    crossing_years = drawn_crossings(sign * stated_margins, sign * margins, years, change.value)
    if crossing_years is None:
        return change
    low, high, share_of_draws = crossing_band(crossing_years, band_ends)
    if change.low is not None and change.high is not None:
        low = None if low is None else low - (change.value - change.low)
        high = None if high is None else high + (change.high - change.value)
    return replace(change, low=low, high=high, part=share_of_draws)


def _rates_in_use(trend: Trend, cases: _ProjectedCases) -> Iterator[UsedRate]:
    """Yield the rates that are used between the first base year and the last year."""
    first_year, last_year = cases.span(trend)
    band_ends = np.array(cases.band_ends)
    for name, rate in trend.rates.items():
        if isinstance(rate, SeriesRate):
            yield _series_rate(trend, name, rate, (first_year, last_year))
            continue
        periods_and_years_outside = periods_outside(rate, first_year, last_year)
        for period in used_periods(rate, first_year, last_year):
            low, high = period.factor.quantile(band_ends)
            yield UsedRate(
                trend.name,
                name,
                name,
                period.start,
                period.end,
                period.median,
                float(low),
                float(high),
                period.source,
                period.assumed,
                years_outside=tuple(
                    (start, end)
                    for period_outside, start, end in periods_and_years_outside
                    if period_outside is period
                ),
            )


def _series_rate(
    trend: Trend, name: str, rate: SeriesRate, year_span: tuple[float, float]
) -> UsedRate:
    """Return the rate that a fitted series gives for the years of a projection."""
    series = rate.fit.series
    median, low, high = rate.fit.rate(*year_span)
    measured_points = series.measured_points
    first_point = measured_points[0]
    last_point = measured_points[-1]
    points_text = f", {'weak: ' if series.is_weak else ''}{len(measured_points)} points"
    points_text += f", {series.count_from_memory} from memory" if series.count_from_memory else ""
    announced_count = len(series.fitted_points) - len(measured_points)
    plans_text = f" and {with_noun(announced_count, 'announced one')}" if announced_count else ""
    is_class = name in (PROCESSORS, *TECHNOLOGIES)
    kind_prefix = f"{trend.kind}: " if trend.kind and is_class else ""
    assumed_text = f", taken for {trend.kind}" if rate.assumed else ""
    limit_text = f", limit {series.limit:g} {series.unit}" if series.limit is not None else ""
    limit_text += ", which the band reaches" if rate.fit.band_reaches_limit(year_span[1]) else ""
    return UsedRate(
        trend.name,
        f"{kind_prefix}{name}",
        name,
        year_span[0],
        year_span[1],
        median,
        low,
        high,
        f"{series.title}, {series.name}{points_text}{plans_text}, {year_text(first_point.year)} to"
        f" {year_text(last_point.year)}{limit_text}{assumed_text}",
        assumed=rate.assumed,
        measured=True,
        weak=series.is_weak,
        title=series.title,
        points=len(measured_points),
        recalled=series.count_from_memory,
        announced=announced_count,
    )


def _table_of_years(projection: Projection, words: Words) -> Decision | None:
    """Return a table of the first values of the only case, with a row for the first year, for the
    last, for those that the title asks for, and for some years between them; None if there is one
    year.
    """
    track = projection.tracks[0]
    value_names = [name for name in track.value_names[:2] if name in track.sweep.columns]
    years = [float(year) for year in track.sweep.points[YEAR]]
    count = min(len(years), _MOST_YEARS_IN_TABLE)
    evenly_spaced = np.linspace(0, len(years) - 1, count).round().astype(int).tolist()
    indices = sorted({*evenly_spaced, *projection.asked_indices(track)})
    # Rows that are left out are told, for a reader looks for each year.
    first_heading = f"{len(indices)} of {len(years)} years" if len(indices) < len(years) else ""
    rows = [
        [
            year_text(years[index]),
            *(value_amount(name, *value_at(track.sweep, name, index)) for name in value_names),
        ]
        for index in indices
    ]
    headings = [first_heading, *map(words.value, value_names)]
    return (headings, rows) if len(rows) > 1 else None
