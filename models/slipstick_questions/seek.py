"""Seeking: the values of a parameter, or the years along a trend, at which a condition starts or
stops holding.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from time import process_time
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeGuard

from slipstick.answer import Answer, Value
from slipstick.errors import (
    DoubtfulRates,
    LongWork,
    Problem,
    SpecError,
    UnknownNameError,
    did_you_mean,
)
from slipstick.expression.nodes import parameters
from slipstick.late import Array, NDArray, dataclass, field, late_pattern, np, replace
from slipstick.limits import ANNOUNCE, ANNOUNCED, announcing_progress
from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    OF_THE_PRESENT,
    Ends,
    bracketed,
    capitalized,
    do_overlap,
    join_phrases,
    limit_advice,
    limit_amount,
    limit_phrase,
    percent,
    quantity,
    setting_amount,
    setting_phrase,
    uncapitalized,
    value_amount,
    with_noun,
)
from slipstick.results.question import (
    MOST_FURTHER_CASES,
    Decision,
    QuestionResult,
    ResultColumn,
    ResultTable,
    TitleAnswer,
    verdict_word,
)
from slipstick.results.sweep import PointTable, Provenance, join_columns, split_name
from slipstick.results.words import NO_WORDS, Words, as_words, is_plural, noun_and_rest
from slipstick.schema.inputs import (
    METHOD,
    REFERENCES,
    Inputs,
    Settings,
    is_solver_option,
    resolve_once,
)
from slipstick.schema.kinds.study import YEAR, AxisSpec
from slipstick.schema.text import Mark, Node, Scalar, canonical
from slipstick.study.cases import (
    BASE,
    Place,
    StudyContext,
    axis_nodes,
    numbers_of,
    quantity_node,
)
from slipstick.study.evaluator import Evaluator, evaluator, with_values
from slipstick.study.questions import Question
from slipstick.study.uncertain import BAND_DRAWS, HIGH_PROBABILITY, LOW_PROBABILITY, drawn_columns
from slipstick.vocabulary import SIMULATION
from slipstick_questions.axes import axis_of
from slipstick_questions.conditions import (
    BASE_THERE,
    LIMIT,
    Condition,
    ConditionSides,
    condition_of,
    names_limit,
)
from slipstick_questions.crossing_years import (
    BAND_OF_RATES,
    DRAWS_OF_RATES,
    MOST_YEARS_IN_SENTENCE,
    CaseYear,
    YearBand,
    crossing_band,
    drawn_crossings,
    heading_of_years,
    range_of_years_text,
    whole_year,
    year_cell,
)
from slipstick_questions.fitted import FittedBase
from slipstick_questions.saturation import saturated_points, saturated_resources, unbounded
from slipstick_questions.search_picture import SearchCurves, search_figure
from slipstick_questions.sign_changes import MARGIN_OF_EQUAL_SIDES, Change, decide
from slipstick_questions.specs import SearchPictureSpec, SeekSpec
from slipstick_questions.title_limits import announced, notes_on_missing_condition
from slipstick_questions.years import year_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick_questions.trends import TrendedCase


@dataclass(frozen=True, slots=True)
class UnansweredPlaces:
    """A range of consecutive places without an answer, such as loads that saturate a server.

    Parameters
    ----------
    first, last : of these places
    before, after : the neighbours that have an answer; None at an end of the search
    holds_before, holds_after : the condition holds there
    """

    first: float
    last: float
    before: float | None
    after: float | None
    holds_before: bool
    holds_after: bool


@dataclass(frozen=True, slots=True)
class ConditionSearch:
    """The search of one case for the values, or the years, at which a condition starts or stops
    holding.

    Parameters
    ----------
    name, case : of the question
    of, unit, trend : the parameter and its base unit, or the year and the trend it goes along
    condition : as written
    first, last : between where it was looked for
    holds_first, holds_last : it holds there; None where there is no answer
    unanswered : where there is none
    saturated : first and last place of each stretch where a resource is saturated, so that its
        times exceed every limit, and which resources are
    places : at how many places it was looked at
    crossings : all that were found, rising
    sides : values of the two sides of what fails or decides, at first, at last and where it comes
        nearest
    nearest : the place where the condition comes nearest to changing; None if there is no answer
        anywhere
    margin : how near it comes there, relative to the sides [1]
    beyond, doubts : rates used outside their periods, and those that are guesses or of weak series,
        in words
    undecided : first and last place of each further stretch where an estimate does not tell whether
        it holds
    longer : the longest run that was to decide, as a multiple of the first
    events_left_out : events of the next longer run that was not made, because all longer runs
        together would have had more than `most_events`; 0 where all that could decide were made
    most_events : of all longer runs together
    means : the condition in its author's words
    first_places : the places that were looked at first, and how each was computed
    curves : both sides of the condition at all places
    has_trend_named : a sentence names the trend, since the study has several
    setting : path, value and unit of the quantities that the study chooses among and this search
        keeps
    is_one_of_cases : the study has further cases, which are not searched
    values_at_limit : what the study asks for, at the last or first place where the condition holds
    fixed_limit : the right side of the condition and the case whose values as given it is made of;
        None for other conditions
    remark : what the fit of the study says of the place where the condition changes; empty within
        the measured rows, or without a fit
    year_band : of the year of the first change over draws of the rates; None if no rate is
        uncertain, or if the draws cannot be computed
    lacks_band : rates are uncertain, and the draws cannot be computed
    simulated : how many places were simulated because their approximate values do not decide
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
    crossings: tuple[Change, ...]
    sides: tuple[tuple[Value, Value], ...] = ()
    nearest: float | None = None
    margin: float | None = None
    beyond: tuple[str, ...] = ()
    doubts: tuple[DoubtfulRates, ...] = ()
    undecided: tuple[tuple[float, float], ...] = ()
    unanswered: tuple[UnansweredPlaces, ...] = ()
    saturated: tuple[tuple[float, float, str], ...] = ()
    longer: float = 1.0
    events_left_out: float = 0.0
    most_events: float = math.inf
    means: str = ""
    first_places: tuple[Sequence[float], Provenance] = field(
        default=((), Provenance([], [])), repr=False
    )
    curves: SearchCurves | None = field(default=None, repr=False)
    has_trend_named: bool = field(default=False, repr=False)
    setting: tuple[tuple[str, float, str], ...] = field(default=(), repr=False)
    is_one_of_cases: bool = field(default=False, repr=False)
    values_at_limit: Mapping[str, Value] = field(default_factory=dict, repr=False)
    fixed_limit: tuple[Value, str] | None = field(default=None, repr=False)
    remark: str = ""
    year_band: YearBand | None = None
    lacks_band: bool = field(default=False, repr=False)
    simulated: int = 0

    @property
    def ends_of_answers(self) -> Iterator[tuple[float, bool]]:
        """The places at which a range of answers begins or ends next to a gap and the condition
        holds; each with True if the range begins there.
        """
        for stretch in self.unanswered:
            if stretch.holds_before and self._is_outside_undecided(stretch.before):
                yield stretch.before, False
            if stretch.holds_after and self._is_outside_undecided(stretch.after):
                yield stretch.after, True

    def _is_outside_undecided(self, place: float | None) -> TypeGuard[float]:
        """Return whether a place exists and lies in no undecided range."""
        return place is not None and not any(
            first_place <= place <= last_place for first_place, last_place in self.undecided
        )

    def holds_at(self, place: float) -> bool | None:
        """Return whether the condition holds at a place; None if that is undecided, has no answer,
        or was not searched.
        """
        has_no_answer = any(stretch.first <= place <= stretch.last for stretch in self.unanswered)
        is_decided = self._is_outside_undecided(place)
        if has_no_answer or not is_decided or not self.first <= place <= self.last:
            return None
        holds_there = self.holds_first
        for crossing in self.crossings:
            if crossing.is_open_at(place):
                return None
            if crossing.before is not None and crossing.before < place < crossing.value:
                return None
            if place >= crossing.value:
                holds_there = crossing.starts
        return holds_there

    @property
    def is_decided(self) -> bool:
        """Whether the condition is known everywhere, and is false at each place next to a place
        without an answer.
        """
        holds_next_to_gap = any(
            stretch.holds_before or stretch.holds_after for stretch in self.unanswered
        )
        return not self.undecided and not holds_next_to_gap

    @property
    def changes(self) -> bool:
        """Whether the condition changes anywhere, or the answers end where it holds."""
        return bool(self.crossings) or any(True for _ in self.ends_of_answers)

    @property
    def only_side(self) -> bool | None:
        """Whether the condition holds above the only change or end of its answers; None if there
        are several.
        """
        sides = [crossing.starts for crossing in self.crossings]
        sides += [begins for _, begins in self.ends_of_answers]
        return sides[0] if len(sides) == 1 else None

    def answer(self, place: float) -> Answer:
        """Return an answer without values, which has the provenance of the last searched place up
        to `place`.
        """
        places, provenance = self.first_places
        return (
            Answer(self.case, **provenance.answer_fields(max(0, bisect_right(places, place) - 1)))
            if places
            else Answer(self.case, "")
        )


_ASKS_FOR_QUANTITY = r"\b(?:how (?:many|much|long|large|high|often)|which|what) (?:\w+ )?"
"""What stands before the quantity that a title asks for."""

_MOST_SEARCHES_WITH_DETAILS = 8
_MOST_VALUES_AT_LIMIT = 3
"""Values at the limit in the table of searches."""


@dataclass(frozen=True, slots=True)
class SeekResult(QuestionResult):
    """The searches for conditions, question by question and case by case."""

    title: ClassVar[str] = "Where conditions hold"
    asked_by: ClassVar[str] = r"\bhow (?:far|many|much|large|long|often|high|small)\b"
    searches: tuple[ConditionSearch, ...]

    def sentences(self) -> list[str]:
        """Return sentences on where each condition starts or stops holding; facts that several
        cases share are stated once.
        """
        sentences = []
        for name in dict.fromkeys(search.name for search in self.searches):
            first_search, *further_searches = searches_of_condition = [
                search for search in self.searches if search.name == name
            ]
            if not further_searches:
                sentences.append(search_text(first_search))
                continue
            sentences.append(
                f"{name}{_trend_clause(first_search)}: {first_search.condition}, searched over"
                f" {_range_text(first_search)}{_doubts_clause(first_search)}"
            )
            for search in searches_of_condition:
                outcome_text = (
                    _values_in_words(search)
                    if search.changes
                    else _no_change_sentence(search, _range_text(search))
                )
                sentences.append(
                    f"{name}, {search.case}: {outcome_text}{_stretches_sentence(search)}"
                    f"{_longer_runs_clause(search)}"
                )
        return sentences

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        cases_by_name = Counter(search.name for search in self.searches)
        further_count = max(cases_by_name.values()) - 1
        return len(cases_by_name) > 2 or further_count > _most_further_searches(further_count)

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the values for which the first conditions hold, case by case."""
        lines = []
        for name in list(dict.fromkeys(search.name for search in self.searches))[:2]:
            searches = [search for search in self.searches if search.name == name]
            remarks = dict.fromkeys(search.remark for search in searches)
            line = _headline_of_condition(searches, words)
            lines.append(
                "; ".join(filter(None, [line, *remarks, _saturated_clause(searches, words)]))
            )
        return lines

    def answers_amount_in(self, title: str) -> bool:
        """Return whether a title names the limit of a condition, such as 135 s, or asks for the
        searched quantity, such as how many months.
        """
        keys = {search.of.rpartition(".")[2] for search in self.searches}
        asked_names = "|".join(re.escape(as_words(key)) for key in keys)
        if re.search(rf"{_ASKS_FOR_QUANTITY}(?:{asked_names})\b", title, re.IGNORECASE):
            return True
        return any(names_limit(title, search.condition) for search in self.searches)

    def doubt(self, words: Words = NO_WORDS) -> str:
        """Return which rates of searched years are guesses, or of weak series, or how many values
        were simulated to decide a condition.
        """
        simulated_count = sum(search.simulated for search in self.searches)
        if simulated_count:
            subject = with_noun(simulated_count, "value")
            verb = "was" if simulated_count == 1 else "were"
            return f"{subject} {verb} simulated, because approximate values do not decide there"
        doubts = [doubt for search in self.searches for doubt in search.doubts]
        titles = frozenset[str]().union(*(doubt.titles for doubt in doubts))
        return DoubtfulRates("; ".join(dict.fromkeys(doubts)), titles=titles)

    def best(self, words: Words) -> tuple[str, str] | None:
        """Return the case in which the first condition holds for the widest range; None if none is
        the best. The headline states the range, so that no reason is returned.
        """
        searches_widest_first = _searches_by_width(
            [search for search in self.searches if search.name == self.searches[0].name]
        )
        if len(searches_widest_first) < 2 or not _first_is_widest(searches_widest_first):
            return None
        return searches_widest_first[0].case, ""

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return whether the first condition holds at the present value of each case, as an answer
        to the title; None if the title asks something else.
        """
        truths = dict[str, bool | None]()
        given_texts = list[str]()
        for search in self.searches:
            verdict_phrase = (
                answers[search.case].described.get(search.of) if search.case in answers else None
            )
            if search.name != self.searches[0].name or verdict_phrase is None:
                continue
            given_value = verdict_phrase.given.value
            if search.first <= given_value <= search.last:
                truths[words.case(search.case)] = search.holds_at(given_value)
                given_texts.append(setting_phrase(search.of, given_value, search.unit, words))
        if not truths:
            return None
        verdict = verdict_word(truths.values())
        headline = self.headline(words)[0]
        cases_by_truth = {
            truth: join_phrases(
                [case for case, truth_of_case in truths.items() if truth_of_case is truth]
            )
            for truth in (True, False, None)
        }
        named_cases = [
            f"{truth_word} for {cases}"
            for truth_word, cases in zip(
                ("yes", "no", "undecided"), cases_by_truth.values(), strict=True
            )
            if cases
        ]
        value_in_words = (
            f"with {given_texts[0]}"
            if len({*given_texts}) == 1
            else f"with the values {words.as_given}"
        )
        cases_text = f" {join_phrases(named_cases)}" if len(named_cases) > 1 else ""
        return TitleAnswer(
            f"{verdict},{cases_text} {value_in_words}",
            uncapitalized(headline),
            condition=self.searches[0].condition,
        )

    def examined_cases(self) -> list[str]:
        """Return the cases that were searched."""
        return list(dict.fromkeys(search.case for search in self.searches))

    def searched_paths(self) -> list[str]:
        """Return the quantities along which conditions were searched, without years."""
        return [search.of for search in self.searches if search.of != YEAR]

    def decision(self, words: Words) -> Decision | None:
        """Return a table of where each condition holds, with a row for each case; of a single
        search, the limited value on both sides of its only change.
        """
        if len(self.searches) == 1 and not self.searches[0].is_one_of_cases:
            return _table_around_change(self.searches[0], words)
        conditions = [capitalized(_condition_clause(search, words)) for search in self.searches]
        # The sentences above the table have the condition if it is the same in all rows.
        conditions_shown = conditions if len({*conditions}) > 1 else []
        heading = ["condition"] if conditions_shown else []
        quantities = {words.quantity(search.of) for search in self.searches if search.of != YEAR}
        if len(self.searches) > 1 and len(quantities) == 1:
            searches = [search for search in self.searches if search.of != YEAR]
            if len(searches) == len(self.searches):
                names = [*searches[0].values_at_limit][:_MOST_VALUES_AT_LIMIT]
                names = names if all(search.values_at_limit for search in searches) else []
                titles = [f"{words.value(name)} at the limit" for name in names]
                return ["", *heading, *quantities, *titles], [
                    [
                        words.case(search.case),
                        *conditions_shown[index : index + 1],
                        _range_of_condition_text(search, words, False),
                        *(_value_at_limit_text(search, name) for name in names),
                    ]
                    for index, search in enumerate(searches)
                ]
        rows = [
            [
                words.case(search.case),
                *conditions_shown[index : index + 1],
                _range_of_condition_text(search, words, True),
            ]
            for index, search in enumerate(self.searches)
        ]
        is_met = "is met" if conditions_shown else "is true"
        return (["", *heading, is_met], rows) if len(rows) > 1 else None

    def columns_by_case(self, words: Words) -> dict[str, dict[str, str]]:
        """Return the years of each condition by case, where the headline has only the first and the
        last of them.
        """
        searches_by_name: dict[str, list[ConditionSearch]] = {}
        for search in self.searches:
            searches_by_name.setdefault(f"{search.name}/{search.trend}", []).append(search)
        return {
            heading_of_years(
                _condition_clause(searches[0], words), starts=searches[0].crossings[0].starts
            ): {
                case_year.case: year_cell(case_year, starts=searches[0].crossings[0].starts)
                for case_year in _years_of_cases(searches, words)
            }
            for searches in searches_by_name.values()
            if _range_of_years(searches, words)
        }

    def draw(
        self, spec: SearchPictureSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw the value that a condition limits against the quantity that is varied."""
        searches = [search for search in self.searches if search.name == spec.condition]
        curves = {search.case: search.curves for search in searches if search.curves}
        return search_figure(curves, spec.title, words)

    def parts(self) -> Iterator[ResultTable]:
        """Yield a table of the values at which each condition becomes true or false, and of the
        undecided ranges; a condition that does not change has one row.
        """
        rows: list[
            tuple[ConditionSearch, float, float | None, float | None, float | None, str]
        ] = []
        for search in self.searches:
            for crossing in search.crossings:
                holds_text = "from there" if crossing.starts else "until there"
                rows.append(
                    (
                        search,
                        crossing.value,
                        crossing.value,
                        *_ends_of_change(search, crossing),
                        holds_text,
                    )
                )
            rows += [
                (search, first, None, first, last, "undecided") for first, last in search.undecided
            ]
            rows += [
                (search, place, place, None, None, f"{'from' if begins else 'to'} the answers' end")
                for place, begins in search.ends_of_answers
            ]
            if not search.changes and not search.undecided:
                has_answers = search.nearest is not None
                holds_text = (
                    "everywhere"
                    if search.holds_first
                    else "nowhere"
                    if has_answers
                    else "no answer"
                )
                rows.append((search, search.nearest or search.first, None, None, None, holds_text))
        searches, places, values_of_change, low, high, holds_texts = zip(*rows, strict=True)
        columns = [
            ResultColumn("case", [search.case for search in searches], place=True),
            ResultColumn("trend", [search.trend or None for search in searches], place=True),
            ResultColumn("sought", [search.name for search in searches], place=True),
            ResultColumn(
                "condition", [search.condition for search in searches], place=True, in_file=False
            ),
            ResultColumn(
                "at",
                values_of_change,
                [search.unit for search in searches],
                (low, high),
                written=lambda value, unit, ends: quantity(value, unit, 6, ends),
            ),
            ResultColumn("holds", holds_texts),
        ]
        provenances = [search.answer(place) for search, place in zip(searches, places, strict=True)]
        has_few_searches = (
            len(self.searches) <= _MOST_SEARCHES_WITH_DETAILS
        )  # of which the sentences say all
        yield ResultTable(
            "seek", columns, Provenance.of(provenances), rows=() if has_few_searches else None
        )


@dataclass(frozen=True)
class _VariedCase:
    """A case of which one quantity is varied.

    Parameters
    ----------
    case : at the first place
    values : from places to values by path
    model_at : builds the model of a place, if what is varied shapes the model
    """

    case: Evaluator
    values: Callable[[Array], dict[str, Array]]
    model_at: Callable[[float], Evaluator] | None = None

    def table_at(
        self, places: Array, names: Collection[str] | None, run_factor: float = 1.0
    ) -> PointTable:
        """Return the values with some names, or all, at places."""
        if self.model_at is None:
            return self.case.with_longer_simulations(run_factor).point_table(
                self.values(places), names
            )
        # Each place has a model of its own, so that the engine sees one point at a time.
        report_solved = announcing_progress(
            len(places), f"{len(places):,} points are solved", counts_wall_time=True
        )
        rows_and_tables = []
        for row, place in enumerate(places.tolist()):
            case = self.model_at(place).with_longer_simulations(run_factor)
            rows_and_tables.append((np.array([row]), case.point_table({}, names)))
            report_solved(1)
        return PointTable.join(len(places), rows_and_tables)

    def base_table(self, places: Array, names: Collection[str], run_factor: float) -> PointTable:
        """Return the columns of a base at the searched places, by their names in a condition."""
        table = self.table_at(places, {*_names_of_base(names)}, run_factor)
        columns = table.columns
        if not self.case.form.is_estimated:
            # What is computed exactly has an interval without width.
            columns = {
                **{
                    f"{end}[{name}]": columns[name]
                    for name in columns
                    if split_name(name)[0] not in ("low", "high")
                    for end in ("low", "high")
                },
                **columns,
            }
        columns_of_condition = {_name_at_base(name): column for name, column in columns.items()}
        return replace(table, columns=columns_of_condition)

    def drawn_base_columns(
        self, places: Array, names: Collection[str]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the columns of a base at draws of its uncertain settings, by their names in a
        condition [draws, places].
        """
        drawn = drawn_columns(self.case, self.values(places), {*_names_of_base(names)}, len(places))
        return {_name_at_base(name): column for name, column in drawn.items()}


def _worse_provenance(own: Provenance, base: Provenance) -> Provenance:
    """Return the provenance of answers that are compared with those of a base: at each point the
    method of the one that is not exact, and exact only if both are. Of two that are not exact, a
    simulation is named first.
    """
    is_own_named = [
        not is_own_exact and (is_base_exact or base_method != SIMULATION)
        for is_own_exact, is_base_exact, base_method in zip(
            own.exact, base.exact, base.methods, strict=True
        )
    ]
    are_exact = [
        bool(is_own_exact and is_base_exact)
        for is_own_exact, is_base_exact in zip(own.exact, base.exact, strict=True)
    ]
    methods = [
        own_method if is_named or is_exact else base_method
        for own_method, base_method, is_named, is_exact in zip(
            own.methods, base.methods, is_own_named, are_exact, strict=True
        )
    ]
    return Provenance(
        methods,
        are_exact,
        {**base.outside, **own.outside},
        {**base.errors, **own.errors},
        {**base.left_out, **own.left_out},
        {**base.checks, **own.checks},
        {
            index: base.events.get(index, 0) + own.events.get(index, 0)
            for index in sorted(base.events.keys() | own.events.keys())
        },
    )


def _names_of_base(names: Iterable[str]) -> Iterator[str]:
    """Yield which columns of the base a condition reads at the searched places."""
    return (name.replace(BASE_THERE, "") for name in names if BASE_THERE in name)


def _name_at_base(name: str) -> str:
    """Return the name of a column of the base at the searched place, and of an end of it."""
    kind, label = split_name(name)
    return f"{kind}[{BASE_THERE}{label}]" if kind in ("low", "high") else f"{BASE_THERE}{name}"


@dataclass(frozen=True)
class _CaseSearch:
    """The search for one case: ascending places, the case varied along them, and a condition on the
    answers.

    `has_whole_numbers` says that `places` are all whole numbers of a quantity that has no others.
    `base_there` is the base at the same places, if the condition reads it. `simulate` builds the
    case that simulates, where that may decide what approximate values do not.
    """

    name: str
    spec: SeekSpec
    varied: _VariedCase
    condition: Condition
    places: Sequence[float]
    path: str
    unit: str
    beyond: tuple[str, ...] = ()
    doubts: tuple[DoubtfulRates, ...] = ()
    base_there: _VariedCase | None = None
    has_whole_numbers: bool = False
    has_trend_named: bool = False
    setting: tuple[tuple[str, float, str], ...] = ()
    is_one_of_cases: bool = False
    asked_names: tuple[str, ...] = ()
    fitted: FittedBase | None = None
    drawn_rates: _DrawnRates | None = None
    has_uncertain_rates: bool = False
    simulate: Callable[[], _VariedCase] | None = None

    @property
    def case(self) -> Evaluator:
        """The case at the first place."""
        return self.varied.case

    @property
    def has_uncertain_settings(self) -> bool:
        """Whether a setting of the case or of the compared base is uncertain."""
        return any(
            varied.case.built.uncertain_values.paths
            for varied in (self.varied, self.base_there)
            if varied is not None
        )

    @property
    def is_estimated(self) -> bool:
        """Whether the case or the compared base is simulated."""
        return any(
            varied.case.form.is_estimated
            for varied in (self.varied, self.base_there)
            if varied is not None
        )

    @property
    def shapes_model(self) -> bool:
        """Whether what is varied shapes the model of the case or of the compared base."""
        return any(
            varied.model_at is not None
            for varied in (self.varied, self.base_there)
            if varied is not None
        )

    @property
    def is_whole(self) -> bool:
        """Whether whole numbers are searched, a few of which are solved first: if the search gives
        no step, or gives 1 and would take many simulations.
        """
        is_long = self.is_estimated and len(self.places) > FEW_PLACES
        return self.has_whole_numbers and (self.spec.step is None or is_long)

    @property
    def has_only_places(self) -> bool:
        """Whether only the listed places are possible."""
        return self.spec.step is not None or self.is_whole

    def first_places(self) -> Array:
        """Return the places to solve first, including both ends; fewer if each takes a
        simulation.
        """
        places = np.array(self.places)
        spec = self.spec
        is_estimated = self.is_estimated
        if self.is_whole:
            first_and_last = (places[0], places[-1])
            place_count = spec.points or (FEW_PLACES if is_estimated else MANY_PLACES)
            candidate_places = (
                np.geomspace(*first_and_last, place_count)
                if spec.spacing == "geometric"
                else np.linspace(*first_and_last, place_count)
            )
            return np.unique(np.round(candidate_places))
        if is_estimated and spec.points is None and not self.has_only_places:
            return places[:: (MANY_PLACES - 1) // (FEW_PLACES - 1)]
        return places

    def solve(self, places: Array, run_factor: float = 1.0) -> PointTable:
        """Solve the case, and the compared base, at places. Return the answers in a table, with the
        provenance of the worse of both; simulations are longer than the case's own by the factor
        `run_factor`.
        """
        names = self.condition.needed_columns
        own_names = {name for name in names if BASE_THERE not in name}
        table = self.varied.table_at(places, own_names, run_factor)
        if self.base_there is None:
            return table
        base_table = self.base_there.base_table(places, names, run_factor)
        return replace(
            table,
            columns={**table.columns, **base_table.columns},
            provenance=_worse_provenance(table.provenance, base_table.provenance),
        )

    def asked_values(self, place: float) -> dict[str, Value]:
        """Return the values that the study asks for at a place, by name."""
        names = [name for name in self.asked_names if name in self.case.names]
        columns = self.varied.table_at(np.array([place]), {*names}).columns
        return {
            name: Value(float(columns[name][0]), self.case.names[name])
            for name in names
            if name in columns and np.isfinite(columns[name][0])
        }

    def simulated(self, places: Sequence[float]) -> _CaseSearch | None:
        """Return the same search by simulation over other places; None where a simulation has no
        answer, or was not to be used: the study names a method, or what is uncertain is a setting.
        """
        if self.simulate is None or self.is_estimated or self.has_uncertain_settings:
            return None
        try:
            varied = self.simulate()
        except SpecError:
            return None
        condition = replace(self.condition, case=varied.case)
        return replace(self, varied=varied, condition=condition, places=places, simulate=None)

    def columns(self, places: Array, run_factor: float = 1.0) -> dict[str, Array]:
        """Return the columns of the answers of `solve`, without their provenance."""
        return self.solve(places, run_factor).columns


def read(spec_by_name: Mapping[str, SeekSpec], study: StudyContext) -> Question:
    """Read the conditions that a study seeks and build the models; only the cases themselves are
    solved.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, or the condition is none
    """
    searches = [
        (_search_of_trend if spec.of == YEAR else _search_of_parameter)(name, spec, case, study)
        for name, spec in spec_by_name.items()
        for case in spec.cases
    ]
    problems = [
        study.problem(
            (*place, "condition"), str(UnknownNameError("condition", picture.condition, names))
        )
        for place, picture in study.pictures(SearchPictureSpec)
        if picture.condition not in (names := list(spec_by_name))
    ]
    if problems:
        raise SpecError(problems)
    notes = notes_on_missing_condition(study, "seek")
    notes += announced([*_notes_on_base_as_given(spec_by_name, study)])
    return Question(
        lambda answers: SeekResult(tuple(_search_case(search) for search in searches)),
        notes=lambda: notes,
        pictures=[_picture_of_condition(name, spec) for name, spec in spec_by_name.items()],
    )


_BASE_AS_GIVEN = late_pattern(rf"(?<![\w.]){BASE}\.(\w+)")


def _notes_on_base_as_given(
    spec_by_name: Mapping[str, SeekSpec], study: StudyContext
) -> Iterator[Problem]:
    """Yield a note on each search that compares other cases with the base as given, though the base
    states the quantity that is searched, too.
    """
    for name, spec in spec_by_name.items():
        named_value = _BASE_AS_GIVEN.search(spec.where)
        if not named_value or BASE_THERE in spec.where or spec.of == YEAR:
            continue
        if BASE not in study.cases or {*spec.cases} <= {BASE}:
            continue
        quantity_of_base = resolve_once(study.cases[BASE], study.library).given_quantity(spec.of)
        if quantity_of_base is not None and quantity_of_base.text:
            yield study.problem(
                ("seek", name, "where"),
                f"{named_value[0]} is that of the base as given, with {spec.of} ="
                f" {quantity_of_base.text}; write {BASE_THERE}{named_value[1]} for the base at the"
                f" same {spec.of} as the case",
            )


def _picture_of_condition(name: str, spec: SeekSpec) -> SearchPictureSpec:
    """Return the picture of a condition, for a study that names no pictures."""
    title = capitalized(spec.title or NO_WORDS.condition(spec.where))
    return SearchPictureSpec(kind="search", name=f"seek-{name}", title=title, condition=name)


def _search_of_trend(name: str, spec: SeekSpec, case: str, study: StudyContext) -> _CaseSearch:
    """Return the search of a case along the years of a trend."""
    # Rates of technology are not imported for searches over parameters.
    from slipstick_questions.trends import (
        base_year_of_case,
        doubts_on_rates,
        rates_outside_periods,
        read_trend,
        trended_case,
    )

    place: Place = ("seek", name)
    trend_spec = read_trend(spec.trend, (*place, "trend"), study)
    base_year = base_year_of_case(case, spec.base_year, (*place, "base_year"), study)
    track = trended_case(case, trend_spec, base_year, (*place, "base_year"), study)
    axis_numbers = numbers_of(axis_nodes(_axis_spec(spec), study.node_of(place), place))
    if axis_numbers is None or not 1900 <= min(axis_numbers) <= max(axis_numbers) <= 2200:
        raise study.refusal((*place, "from"), "years are plain numbers between 1900 and 2200")
    places = _rising_places(axis_numbers, study, place)
    varied = _VariedCase(unbounded(track.case), track.values)
    base_there = base_track = None
    if BASE_THERE in spec.where:
        year_place = (*place, "base_year")
        year_of_base = base_year_of_case(BASE, spec.base_year, year_place, study)
        base_track = trended_case(BASE, trend_spec, year_of_base, year_place, study)
        base_there = _VariedCase(unbounded(base_track.case), base_track.values)
    condition = _condition_of_search(spec, place, varied, base_there, study)
    rates_outside = rates_outside_periods(track.trend, base_year, places)
    doubtful = doubts_on_rates(track, places, condition.columns_read)
    trends = {spec.trend, *getattr(study.spec.questions.get("project"), "trends", ())}
    trends |= {search.trend for search in study.spec.questions["seek"].values()}
    return _CaseSearch(
        name,
        spec,
        varied,
        condition,
        places,
        YEAR,
        "1",
        rates_outside,
        doubtful,
        base_there=base_there,
        has_trend_named=len(trends - {""}) > 1,
        drawn_rates=_drawn_rates(spec, track, base_track, places, study),
        has_uncertain_rates=any(rate.is_uncertain for rate in track.trend.rates.values()),
    )


@dataclass(frozen=True)
class _DrawnRates:
    """Random draws of the rates of a trend, as a projection makes them.

    Parameters
    ----------
    track, base_track : the case, and the base if the condition reads it in the same year
    years : at which the draws are solved
    samples, seed, band : number of draws, key of their streams, and share of them in the band [1]
    """

    track: TrendedCase
    base_track: TrendedCase | None
    years: Sequence[float]
    samples: int
    seed: int
    band: float

    def margins(self, condition: Condition) -> tuple[Array, Array] | None:
        """Return the margins of a condition in the years at the stated rates and in the draws [1 or
        draws, years]; None if no rate is uncertain, or if each point needs a simulation.
        """
        tracks = [*filter(None, (self.track, self.base_track))]
        # A study is checked without its methods, so that this is asked for here.
        if any(track.case.form.is_estimated for track in tracks):
            return None
        drawn_columns: dict[str, Array] = {}
        stated_columns: dict[str, Array] = {}
        for track in tracks:
            draws = track.trend.draws(
                np.unique([*self.years, track.base_year]), self.samples, self.seed
            )
            is_base = track is self.base_track
            needed = condition.needed_columns
            names = (
                {*_names_of_base(needed)}
                if is_base
                else {name for name in needed if BASE_THERE not in name}
            )
            answer_names = {name for name in names if name not in track.units}
            for columns, drawn in ((stated_columns, None), (drawn_columns, draws)):
                answers = track.columns(track.values(np.array(self.years), drawn), answer_names)
                columns |= {
                    _name_at_base(name) if is_base else name: column
                    for name, column in answers.items()
                }
        row_count = max(map(len, drawn_columns.values()))
        if row_count == len(self.years):
            return None
        # A base without an uncertain rate is the same in every draw.
        filled_columns = {
            name: np.tile(column, row_count // len(column))
            for name, column in drawn_columns.items()
        }
        stated, drawn_margins = (
            condition.margin_and_mask(columns)[0][0].reshape(-1, len(self.years))
            for columns in (stated_columns, filled_columns)
        )
        return stated, drawn_margins

    def band_of_year(self, condition: Condition, changes: Sequence[Change]) -> YearBand | None:
        """Return the band of the year of the first change of a condition; of a condition without a
        change, the share of the draws in which it is true in the last year. None if a draw has no
        answer, or if the years do not show the change.
        """
        stated_and_drawn = self.margins(condition)
        if stated_and_drawn is None or not all(
            np.isfinite(margins).all() for margins in stated_and_drawn
        ):
            return None
        stated, drawn = stated_and_drawn
        last_year = float(self.years[-1])
        if not changes:
            share = float((drawn[:, -1] >= 0).mean())
            return YearBand(None, None, share, last_year, self.samples)
        starts = changes[0].starts
        sign = 1.0 if starts else -1.0
        crossing_years = drawn_crossings(
            sign * stated, sign * drawn, np.array(self.years), changes[0].value
        )
        if crossing_years is None:
            return None
        band_ends = (1 - self.band) / 2, (1 + self.band) / 2
        low, high, share_of_draws = crossing_band(crossing_years, band_ends)
        return YearBand(low, high, share_of_draws, last_year, self.samples, starts)


_MOST_YEARS_OF_DRAWS = 17
"""The largest number of years in which draws of the rates are solved."""


def _drawn_rates(
    spec: SeekSpec,
    track: TrendedCase,
    base_track: TrendedCase | None,
    places: Sequence[float],
    study: StudyContext,
) -> _DrawnRates | None:
    """Return the draws of the rates for a search: those of the study's projection along the same
    trend, if it has one; None if the case has uncertain values of its own.
    """
    tracks = [*filter(None, (track, base_track))]
    if any(each_track.case.built.uncertain_values.paths for each_track in tracks):
        return None
    projection = study.spec.questions.get("project")
    draw_spec = (
        projection
        if projection is not None and spec.trend in getattr(projection, "trends", ())
        else None
    )
    samples = getattr(draw_spec, "samples", DRAWS_OF_RATES)
    if not samples:
        return None
    first_year, last_year = places[0], places[-1]
    step_count = max(1, min(_MOST_YEARS_OF_DRAWS, len(places)) - 1)
    step = (last_year - first_year) / step_count
    # In plain Python, because a study is checked without NumPy.
    years = sorted({float(round(first_year + index * step)) for index in range(step_count + 1)})
    years[0], years[-1] = first_year, last_year
    if draw_spec is not None and (axis := getattr(draw_spec, "years", None)) is not None:
        place: Place = ("project", "years")
        projected_years = numbers_of(axis_nodes(axis, study.node_of(place), place))
        if projected_years and (projected_years[0], projected_years[-1]) == (first_year, last_year):
            years = [*projected_years]
    band = getattr(draw_spec, "band", None)
    return _DrawnRates(
        track,
        base_track,
        tuple(years),
        samples,
        getattr(draw_spec, "seed", 0),
        BAND_OF_RATES if band is None else band.value,
    )


def _search_of_parameter(name: str, spec: SeekSpec, case: str, study: StudyContext) -> _CaseSearch:
    """Return the search of a case along the values of a parameter."""
    location: Place = ("seek", name)
    node = study.node_of(location)
    settings = study.cases[case]
    axis_spec = _axis_spec(spec)
    is_whole = False
    if spec.of not in REFERENCES and not is_solver_option(spec.of):
        inputs = resolve_once(settings, study.library)
        _check_ends(spec.of, location, inputs, study)
        is_whole = _takes_only_whole_numbers(spec, location, inputs, study)
        if is_whole and spec.step is None:
            axis_spec = AxisSpec.model_validate({"from": spec.first, "to": spec.to, "step": 1})
    nodes = axis_nodes(axis_spec, node, location)
    axis = axis_of(spec.of, nodes, resolve_once(settings, study.library))
    if axis.has_names:
        raise study.refusal(
            (*location, "of"), f"{spec.of} is not a number; a search needs a numeric value"
        )
    axis_values = list(map(float, axis.values))
    if (
        axis_values[0] > axis_values[-1]
        and (numbers_of(nodes) or [0.0])[0] < (numbers_of(nodes) or [0.0])[-1]
    ):
        axis_values, nodes = (
            axis_values[::-1],
            nodes[::-1],
        )  # rising rates are falling times of a byte
    places = _rising_places(axis_values, study, location)
    are_consecutive = all(after - before == 1 for before, after in pairwise(places))
    node_by_place = dict(zip(places, nodes, strict=True))
    has_places_only = spec.step is not None or is_whole
    search_along = partial(
        _varied_along,
        spec.of,
        node_by_place=node_by_place,
        has_places_only=has_places_only,
        location=location,
        study=study,
    )
    varied = search_along(case, settings)
    method = Scalar(SIMULATION, SIMULATION, Mark("", 1, 1), quoted=False)
    base_there = (
        search_along(BASE, study.cases[BASE])
        if BASE_THERE in spec.where and BASE in study.cases
        else None
    )
    path = canonical(varied.case.inputs.tree, spec.of)
    return _CaseSearch(
        name,
        spec,
        varied,
        _condition_of_search(spec, location, varied, base_there, study),
        places,
        path,
        axis.unit,
        base_there=base_there,
        has_whole_numbers=is_whole and are_consecutive,
        setting=tuple(_chosen_elsewhere(path, varied.case, study)),
        is_one_of_cases=len(study.cases) > 1 and len(spec.cases) == 1,
        asked_names=tuple(study.spec.answer),
        fitted=study.fitted if study.fitted and study.fitted.varied_path == spec.of else None,
        simulate=(
            None
            if METHOD in settings or base_there is not None
            else partial(search_along, case, {**settings, METHOD: method})
        ),
    )


def _with_uncertain_fit(
    case_evaluator: Evaluator, settings: Settings, study: StudyContext
) -> Evaluator:
    """Return a case whose values from a fit of the study are uncertain as that fit says, unless it
    has uncertain values of its own.
    """
    built, fitted = case_evaluator.built, study.fitted
    if fitted is None or built.uncertain_values.paths:
        return case_evaluator
    fitted_values = fitted.uncertain_values
    indices = [
        index
        for index, path in enumerate(fitted_values.paths)
        if settings.get(path) is fitted.settings[path]
    ]
    uncertain_values = replace(
        fitted_values,
        paths=tuple(fitted_values.paths[index] for index in indices),
        log_middles=tuple(fitted_values.log_middles[index] for index in indices),
        covariance=tuple(
            tuple(fitted_values.covariance[row][column] for column in indices) for row in indices
        ),
    )
    return replace(case_evaluator, built=replace(built, uncertain_values=uncertain_values))


def _remark_of_fit(case_search: _CaseSearch, changes: Sequence[Change]) -> str:
    """Return what the fit of the study says of the last place where a condition changes, or of the
    last place if it changes nowhere; empty without a fit.
    """
    places = [change.high or change.value for change in changes] or [case_search.places[-1]]
    return case_search.fitted.remark_at(max(places)) if case_search.fitted else ""


def _varied_along(
    path: str,
    case: str,
    settings: Settings,
    *,
    node_by_place: Mapping[float, Node],
    has_places_only: bool,
    location: Place,
    study: StudyContext,
) -> _VariedCase:
    """Return a case varied along a parameter.

    Parameters
    ----------
    path : of the parameter
    case, settings : its name and its settings
    node_by_place : the value of the parameter at each place, as written in a file
    has_places_only : only the listed places are searched
    location : where the search stands
    study : the study

    Raises
    ------
    SpecError : the case has no such parameter, or its answers change by jumps between the places
    """
    first_node = next(iter(node_by_place.values()))
    case_evaluator = with_values(case, settings, {path: first_node}, study.library)
    case_evaluator = _with_uncertain_fit(case_evaluator, settings, study)
    path_in_model = canonical(case_evaluator.inputs.tree, path)
    if case_evaluator.built.are_free([path_in_model]):
        return _VariedCase(unbounded(case_evaluator), lambda places: {path_in_model: places})
    if not has_places_only:
        suggestion = did_you_mean(path, sorted(case_evaluator.built.free_paths))
        message = f"no answer of {case} depends continuously on {path}{suggestion}"
        raise study.refusal(
            (*location, "of"), f"{message}; to look at single values of it, give a step"
        )

    def evaluator_at(place_value: float) -> Evaluator:
        settings_there = {**settings, path: node_by_place[place_value]}
        return unbounded(evaluator(case, settings_there, study.library))

    return _VariedCase(
        unbounded(case_evaluator), lambda places: {path_in_model: places}, evaluator_at
    )


def _condition_of_search(
    spec: SeekSpec,
    location: Place,
    varied: _VariedCase,
    base_there: _VariedCase | None,
    study: StudyContext,
) -> Condition:
    """Read the condition of a search."""
    base_evaluator = None if base_there is None else base_there.case
    where = (*location, "where")
    return condition_of(spec.where, where, varied.case, study, base_there=base_evaluator)


def _chosen_elsewhere(
    searched_path: str, case_evaluator: Evaluator, study: StudyContext
) -> Iterator[tuple[str, float, str]]:
    """Yield path, value and unit of the quantities that the study chooses among, without the
    searched one: the search keeps them as given.
    """
    patterns = [
        re.compile(re.escape(path).replace(r"\*", r"[^.]+"))
        for path in getattr(study.spec.questions.get("choose"), "vary", ())
    ]
    for path, entry in case_evaluator.built.entries.items():
        is_chosen = any(pattern.fullmatch(path) for pattern in patterns)
        if is_chosen and path != searched_path:
            yield path, entry.given.value, str(entry.given.dimension)


def _takes_only_whole_numbers(
    spec: SeekSpec, place: Place, inputs: Inputs, study: StudyContext
) -> bool:
    """Return whether the searched path accepts whole numbers only, by trying the first value plus
    one half.
    """
    start_node = study.node_of((*place, "from"))
    if not isinstance(start_node, Scalar) or not isinstance(start_node.value, int):
        return False
    try:
        inputs.with_value(
            spec.of, quantity_node(start_node.value + 0.5, "1", start_node.mark)
        ).given_quantity(spec.of)
    except SpecError:
        return True
    return False


def _check_ends(path: str, place: Place, inputs: Inputs, study: StudyContext) -> None:
    """Check both ends of the searched range, so that problems are reported at their places in the
    study.
    """
    problems: list[Problem] = []
    dimension = _dimension_at_path(inputs, path)
    for key in ("from", "to"):
        node = study.node_of((*place, key))
        try:
            dimension_there = _dimension_at_path(inputs.with_value(path, node), path)
        except SpecError as error:
            problems += error.problems
            continue
        if dimension and dimension_there and dimension_there != dimension:
            problems.append(
                study.problem(
                    (*place, key), f"{path} is a [{dimension}], and this is a [{dimension_there}]"
                )
            )
    if problems:
        raise SpecError(problems)


def _dimension_at_path(inputs: Inputs, path: str) -> str:
    """Return the dimension of the quantity at a path; empty if there is no quantity."""
    given_quantity = inputs.given_quantity(path)
    return str(given_quantity.dimension) if given_quantity else ""


def _axis_spec(spec: SeekSpec) -> AxisSpec:
    """Return the axis of the values to try first."""
    place_count = spec.points or MANY_PLACES
    spacing_fields = (
        {"step": spec.step}
        if spec.step is not None
        else {"count": place_count, "spacing": spec.spacing}
    )
    return AxisSpec.model_validate({"from": spec.first, "to": spec.to, **spacing_fields})


def _rising_places(places: Sequence[float], study: StudyContext, place: Place) -> Sequence[float]:
    """Return places unchanged; raise if they do not rise."""
    if not (
        len(places) > 1
        and all(place_before < place_after for place_before, place_after in pairwise(places))
    ):
        raise study.refusal((*place, "to"), "a search goes upwards: to must be more than from")
    return places


MANY_PLACES, FEW_PLACES = 129, 17
"""Places to look at first, of numbers that are computed, and of those that each take a
simulation.
"""

LONGEST_RUN_FACTOR = 64.0
"""The longest run that is to decide at a place, as a multiple of a first run."""

LARGEST_EFFORT_FACTOR = 16.0
"""The effort that all longer runs may take together, as a multiple of that of the first search."""

LARGEST_EVENTS_FACTOR = 4.0
"""The events that all longer runs and further places may take together, as a multiple of the events
that one simulation may take: a minute with the default of 15 million.
"""

_RESERVED_FOR_PLACES = 0.5
"""Part of these events that longer runs leave to the places between, before those are solved."""

_SECONDS_PER_EVENT = 1e-6
"""Estimated processor time of an event [s], where the first places do not tell it: 0.2 to 1 us by
the compiled kernel, as measured.
"""
_LEAST_SECONDS_PER_EVENT = 1e-8
"""Less than any kernel takes: the answers are of an earlier run, or of other processes [s]."""


def _search_case(case_search: _CaseSearch) -> ConditionSearch:
    """Solve a case at places of a range, and between neighbouring places that differ. Return where
    the condition changes.
    """
    condition = case_search.condition
    searched_places = _with_simulations(case_search, _searched_places(case_search))
    places, columns = searched_places.places, searched_places.columns
    margins, holds = condition.margin_and_mask(columns)
    changes, undecided_stretches = _changes_and_undecided(case_search, searched_places)
    drawn_rates = case_search.drawn_rates
    year_band = drawn_rates.band_of_year(condition, changes) if drawn_rates else None
    has_answers = np.isfinite(margins[0])
    nearest = None
    answered_ends = [0, len(places) - 1]
    if has_answers.any():
        nearest = int(np.nanargmin(np.abs(np.where(has_answers, margins[0], np.nan))))
        has_steady_state = has_answers & ~_is_saturated(condition, columns)
        shown_places = has_steady_state if has_steady_state.any() else has_answers
        answered_ends = np.flatnonzero(shown_places)[[0, -1]].tolist()
    return ConditionSearch(
        name=case_search.name,
        case=case_search.case.case,
        of=case_search.path,
        unit=case_search.unit,
        trend=case_search.spec.trend,
        condition=condition.text,
        first=float(places[0]),
        last=float(places[-1]),
        holds_first=bool(holds[0]) if has_answers[0] else None,
        holds_last=bool(holds[-1]) if has_answers[-1] else None,
        places=len(places),
        crossings=tuple(changes),
        sides=tuple(_smallest_sides(condition, columns, [*answered_ends, nearest or 0])),
        nearest=None if nearest is None else float(places[nearest]),
        margin=None if nearest is None else float(abs(margins[0, nearest])),
        beyond=case_search.beyond,
        doubts=case_search.doubts,
        undecided=tuple(undecided_stretches),
        unanswered=tuple(_unanswered_stretches(places, has_answers, holds)),
        saturated=tuple(_saturated_stretches(case_search, searched_places)),
        longer=searched_places.longest_run,
        events_left_out=searched_places.events_left_out,
        most_events=_most_events(case_search),
        means=case_search.spec.title,
        first_places=searched_places.first_places,
        curves=_curves_of_sides(case_search, searched_places, nearest or 0),
        has_trend_named=case_search.has_trend_named,
        setting=case_search.setting,
        is_one_of_cases=case_search.is_one_of_cases,
        values_at_limit=(
            {} if searched_places.simulated else _values_at_limit(case_search, changes)
        ),
        fixed_limit=_fixed_limit(condition, columns, nearest or 0),
        remark=_remark_of_fit(case_search, changes),
        year_band=year_band,
        lacks_band=case_search.has_uncertain_rates and year_band is None,
        simulated=searched_places.simulated,
    )


def _fixed_limit(
    condition: Condition, columns: Mapping[str, Array], index: int
) -> tuple[Value, str] | None:
    """Return the right side of a single comparison and the case whose values as given it is made
    of; None for other conditions.
    """
    cases = {evaluator_of_name.case for evaluator_of_name, _ in condition.other_columns.values()}
    if len(condition.parts) != 1 or len(cases) != 1:
        return None
    (comparison,) = condition.parts
    names_right = {parameter.name for parameter in parameters(comparison.right)}
    if not names_right or names_right & condition.columns.keys():
        return None
    (sides,) = condition.sides(columns)
    value = Value(float(sides.right[0, index]), str(comparison.right.dimension))
    return value, cases.pop()


def _values_at_limit(case_search: _CaseSearch, changes: Sequence[Change]) -> Mapping[str, Value]:
    """Return the values that the study asks for at the last or first place at which a condition
    holds, if it is the only change and known for certain; a simulation is not run for them.
    """
    if len(changes) != 1 or case_search.case.form.is_estimated:
        return {}
    (change,) = changes
    if change.low != change.high:
        return {}
    has_step = change.before is not None
    place = change.before if has_step and not change.starts else change.value
    values = case_search.asked_values(place or 0.0)
    if not has_step and (limit := LIMIT.match(case_search.condition.text)):
        values.pop(limit[1], None)  # it is the limit itself
    return values


class _SearchedPlaces(NamedTuple):
    """All places of a search, and the answers at these places.

    Attributes
    ----------
    places : in ascending order
    columns : of the answers at them
    longest_run : of a simulation, as a multiple of a first run [1]
    first_places : those of the first look, and how their answers were computed
    events_left_out : events of the next longer run, which was beyond the limit; 0 if none was
    simulated : how many places were simulated because their approximate values do not decide
    """

    places: Array
    columns: Mapping[str, Array]
    longest_run: float
    first_places: tuple[list[float], Provenance]
    events_left_out: float = 0.0
    simulated: int = 0


def _searched_places(case_search: _CaseSearch) -> _SearchedPlaces:
    """Solve the first places, and further ones between neighbours that differ. Return all of
    them.
    """
    places = case_search.first_places()
    start = process_time()
    table = case_search.solve(places)
    seconds = process_time() - start
    columns = table.columns
    first_places = (places.tolist(), table.provenance)
    margins, _ = case_search.condition.margin_and_mask(columns)
    # Where saturation begins is looked for as well, to state it.
    has_answer = np.isfinite(margins[0]) & ~_is_saturated(case_search.condition, columns)
    if not (
        case_search.is_estimated
        or case_search.is_whole
        or np.any(np.diff(margins[1:], axis=0) > 0)
        or (not case_search.has_only_places and has_answer.any() and not has_answer.all())
    ):
        return _SearchedPlaces(places, columns, 1.0, first_places)
    refinement = _SearchRefinement(case_search, places, table, seconds)
    finds_further_places = case_search.is_whole or not case_search.has_only_places
    refinement.decide(_RESERVED_FOR_PLACES if finds_further_places else 0.0)
    refinement.bisect()
    if case_search.is_whole:
        refinement.decide()
    longest_run = float(refinement.run_factors.max())
    return _SearchedPlaces(
        refinement.places,
        refinement.columns,
        longest_run,
        first_places,
        # Of continuous values some next to a change are undecided, however long the runs.
        refinement.events_left_out if case_search.has_only_places or case_search.is_whole else 0.0,
    )


_STEPS_OF_SIMULATED_STRETCH = 32
"""Steps of the grid over an undecided stretch of continuous values; the search by simulation looks
at every eighth place of it first, and bisects between them.
"""


def _with_simulations(
    case_search: _CaseSearch, searched_places: _SearchedPlaces
) -> _SearchedPlaces:
    """Return the searched places, simulated where approximate values do not decide the condition:
    between the last places that they decide, those included, or at single values the undecided
    ones.
    """
    places = searched_places.places
    margins, holds = case_search.condition.margin_and_mask(searched_places.columns)
    is_undecided = (decide(margins, holds) == 0) & np.isfinite(margins[0])
    indices = np.flatnonzero(is_undecided)
    if not len(indices):
        return searched_places
    first = float(places[max(0, indices[0] - 1)])
    last = float(places[min(len(places) - 1, indices[-1] + 1)])
    if case_search.has_whole_numbers:
        stretch = np.arange(first, last + 1)
    elif case_search.has_only_places:
        stretch = places[is_undecided]
    else:
        stretch = np.linspace(first, last, _STEPS_OF_SIMULATED_STRETCH + 1)
    simulated_search = case_search.simulated(stretch.tolist())
    if simulated_search is None:
        return searched_places
    if announce := ANNOUNCE.get():
        announce(
            f"{case_search.name}: approximate values do not decide where"
            f" {case_search.condition.text}; these values are simulated"
        )
    simulated = _searched_places(simulated_search)
    is_outside = (places < first) | (places > last)
    is_kept = ~np.isin(places, stretch) if case_search.has_only_places else is_outside
    return _joined_places(searched_places, is_kept, simulated)


def _joined_places(
    computed: _SearchedPlaces, is_kept: NDArray[np.bool_], simulated: _SearchedPlaces
) -> _SearchedPlaces:
    """Return the places that are kept of a search by approximate values, and those of a search by
    simulation, in ascending order.
    """
    places = np.concatenate([computed.places[is_kept], simulated.places])
    order = np.argsort(places)
    rows = np.argsort(order)
    kept_count = int(is_kept.sum())
    # Where a simulation gives no interval, nothing is known of the value.
    simulated_columns = {
        name: np.where(np.isnan(column), {"low": -np.inf, "high": np.inf}[end], column)
        if (end := split_name(name)[0]) in ("low", "high")
        else column
        for name, column in simulated.columns.items()
    }
    columns = join_columns(
        len(places),
        (
            (rows[:kept_count], {name: it[is_kept] for name, it in computed.columns.items()}),
            (rows[kept_count:], simulated_columns),
        ),
    )
    kept_places = set(computed.places[is_kept].tolist())
    answers_by_place = {
        place: Answer("", **provenance.answer_fields(row))
        for first_places, provenance in (computed.first_places, simulated.first_places)
        for row, place in enumerate(first_places)
        if provenance is simulated.first_places[1] or place in kept_places
    }
    first_places = sorted(answers_by_place)
    return _SearchedPlaces(
        places[order],
        columns,
        simulated.longest_run,
        (first_places, Provenance.of([answers_by_place[place] for place in first_places])),
        simulated.events_left_out,
        len(simulated.places),
    )


def _changes_and_undecided(
    case_search: _CaseSearch, searched_places: _SearchedPlaces
) -> tuple[list[Change], list[tuple[float, float]]]:
    """Return the changes of a condition, and the ranges in which it is undecided. If settings are
    uncertain, each change has a band.
    """
    changes, undecided_stretches = case_search.condition.changes(
        searched_places.columns,
        searched_places.places,
        None if case_search.has_only_places else case_search.columns,
    )
    if not case_search.has_uncertain_settings or case_search.shapes_model:
        return changes, undecided_stretches
    drawn_margins = _drawn_margins(case_search, searched_places.places)
    if not changes:
        return [], [
            *undecided_stretches,
            *_undecided_stretches(drawn_margins, searched_places.places),
        ]
    banded_changes = [
        _with_band(drawn_margins, searched_places.places, change) for change in changes
    ]
    return banded_changes, undecided_stretches


def _curves_of_sides(
    case_search: _CaseSearch, searched_places: _SearchedPlaces, nearest_index: int
) -> SearchCurves:
    """Return both sides of the comparison of a condition that is nearest to its limit, at all
    searched places.
    """
    condition = case_search.condition
    sides_of_parts = condition.sides(searched_places.columns)
    part_index = _part_of_smallest_margin(sides_of_parts, nearest_index)
    left_side = sides_of_parts[part_index].left
    return SearchCurves(
        case_search.path,
        case_search.unit,
        condition.left_sides[part_index],
        str(condition.parts[part_index].left.dimension),
        searched_places.places,
        np.where(np.isinf(left_side), np.nan, left_side),
        sides_of_parts[part_index].right,
        is_logarithmic=case_search.spec.spacing == "geometric",
    )


def _drawn_margins(case_search: _CaseSearch, places: Array) -> Array:
    """Return the margin of the condition at places for draws of the uncertain settings [draws,
    places].
    """
    place_count = len(places)
    names = case_search.condition.needed_columns
    own_names = {name for name in names if BASE_THERE not in name}
    varied = case_search.varied
    columns = drawn_columns(varied.case, varied.values(places), own_names, place_count)
    if case_search.base_there is not None:
        columns |= case_search.base_there.drawn_base_columns(places, names)
    margins, _ = case_search.condition.margin_and_mask(
        {name: column.ravel() for name, column in columns.items()}
    )
    return np.asarray(margins[0].reshape(BAND_DRAWS, place_count))


def _undecided_stretches(drawn_margins: Array, places: Array) -> Iterator[tuple[float, float]]:
    """Yield the ranges of places in which the condition holds in more than a twentieth and less
    than nineteen twentieths of the draws of the uncertain settings.
    """
    share_of_draws = (drawn_margins >= 0).mean(axis=0)
    is_open = (share_of_draws > LOW_PROBABILITY) & (share_of_draws < HIGH_PROBABILITY)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_open, [False]]).astype(int)))
    for first_index, end_index in edges.reshape(-1, 2).tolist():
        yield float(places[first_index]), float(places[end_index - 1])


def _with_band(drawn_margins: Array, places: Array, change: Change) -> Change:
    """Return a change of a condition with its band. The band holds the middle nine tenths of the
    values at which the condition changes, over draws of the uncertain settings.

    Parameters
    ----------
    drawn_margins : margins of the condition [draws, places]
    places : at which they are
    change : of the condition; where only single places are possible, the band is of the last or
        the first place at which the condition holds
    """
    is_of_places = change.before is not None
    crossing_places = []
    for draw_margins in drawn_margins:
        is_crossed = (
            (draw_margins[:-1] < 0) & (draw_margins[1:] >= 0)
            if change.starts
            else (draw_margins[:-1] >= 0) & (draw_margins[1:] < 0)
        )
        for index in np.flatnonzero(is_crossed)[:1]:
            fraction = draw_margins[index] / (draw_margins[index] - draw_margins[index + 1])
            crossing_place = places[index] + fraction * (places[index + 1] - places[index])
            if is_of_places and np.array_equal(places, np.round(places)):
                # Of whole numbers, not all are among the places.
                crossing_place = (
                    np.ceil(crossing_place) if change.starts else np.floor(crossing_place)
                )
            elif is_of_places:
                crossing_place = places[index + 1] if change.starts else places[index]
            crossing_places.append(crossing_place)
    if len(crossing_places) < BAND_DRAWS / 2:
        return replace(change, part=len(crossing_places) / BAND_DRAWS)
    probabilities = [LOW_PROBABILITY, HIGH_PROBABILITY]
    low, high = (
        np.quantile(crossing_places, probabilities, method="inverted_cdf")
        if is_of_places
        else np.quantile(crossing_places, probabilities)
    )
    value = change.value if change.starts or change.before is None else change.before
    return replace(
        change,
        low=float(min(low, value)),
        high=float(max(high, value)),
        part=len(crossing_places) / BAND_DRAWS,
    )


def _is_saturated(condition: Condition, columns: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Return at which places a condition reads a time that is infinite, because a resource is
    saturated there.
    """
    infinite_columns = [
        np.isinf(columns[name])
        for name in condition.needed_columns
        if name in columns and split_name(name)[0] not in ("low", "high")
    ]
    return np.asarray(np.any(infinite_columns, axis=0), dtype=bool)


def _saturated_stretches(
    case_search: _CaseSearch, searched_places: _SearchedPlaces
) -> Iterator[tuple[float, float, str]]:
    """Yield each stretch of places where a resource is saturated, and which resource is."""
    places = searched_places.places
    is_saturated = _is_saturated(case_search.condition, searched_places.columns)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_saturated, [False]]).astype(int)))
    for first_index, end_index in edges.reshape(-1, 2).tolist():
        first_place = places[first_index : first_index + 1]
        reasons = saturated_points(case_search.solve(first_place)).values()
        last_place = float(places[end_index - 1])
        yield float(first_place[0]), last_place, saturated_resources(list(reasons))


def _unanswered_stretches(
    places: Array, has_answer: NDArray[np.bool_], holds: NDArray[np.bool_]
) -> Iterator[UnansweredPlaces]:
    """Yield each stretch of places without an answer, and the answered places before and after
    it.
    """
    start_indices = np.flatnonzero(~has_answer & np.append(True, has_answer[:-1]))
    end_indices = np.flatnonzero(~has_answer & np.append(has_answer[1:], True))
    for first_index, last_index in zip(start_indices.tolist(), end_indices.tolist(), strict=True):
        index_before = first_index - 1 if first_index else None
        index_after = last_index + 1 if last_index + 1 < len(places) else None
        yield UnansweredPlaces(
            first=float(places[first_index]),
            last=float(places[last_index]),
            before=None if index_before is None else float(places[index_before]),
            after=None if index_after is None else float(places[index_after]),
            holds_before=index_before is not None and bool(holds[index_before]),
            holds_after=index_after is not None and bool(holds[index_after]),
        )


CLOSEST_RELATIVE_DISTANCE = 1e-9
"""Relative distance to which the gap between a place with an answer and one without is halved:
the response of an open station there is 1e9 services.
"""


def _most_events(case_search: _CaseSearch) -> float:
    """Return how many events all longer runs and further places of a search may have together."""
    return LARGEST_EVENTS_FACTOR * case_search.case.built.options.simulation.events


class _SearchRefinement:
    """Refinement of a search by longer runs and further places, within a limit of effort; for
    simulated answers, whole numbers, and neighbours of places without an answer.

    The streams of random numbers are the same at all places, so places differ by what is varied. A
    run that is made longer until it decides errs somewhat more often than the level of its interval
    says; few lengths are tried.

    Parameters
    ----------
    case_search, places, table : the search, its first places, and their answers
    seconds : processor time that these answers took
    """

    def __init__(
        self, case_search: _CaseSearch, places: Array, table: PointTable, seconds: float
    ) -> None:
        self.case_search = case_search
        self.places = places
        self.columns = dict(table.columns)
        self.run_factors = np.ones(len(places))
        events_by_row = table.provenance.events
        self.events_per_length = np.array([events_by_row.get(row, 0) for row in range(len(places))])
        self.remaining_effort = LARGEST_EFFORT_FACTOR * len(places)
        self.remaining_events = _most_events(case_search)
        self.events_left_out = 0.0
        self._announced_seconds = 0.0
        self._start = process_time() - seconds
        all_events = float(self.events_per_length.sum())
        self._seconds_per_place = 0.0 if all_events else seconds / len(places)
        self._seconds_per_event = seconds / all_events if all_events else 0.0
        if all_events and self._seconds_per_event < _LEAST_SECONDS_PER_EVENT:
            self._seconds_per_event = _SECONDS_PER_EVENT

    def decide(self, reserved_part: float = 0.0) -> None:
        """Extend undecided runs, each time the one that needs the least additional length, as long
        as one can be decided within the limits of length, effort and events.

        Parameters
        ----------
        reserved_part : part of all events that is left for later
        """
        events_reserved = reserved_part * _most_events(self.case_search)
        while True:
            needed_lengths = self._needed_run_lengths()
            can_be_made = needed_lengths <= min(LONGEST_RUN_FACTOR, self.remaining_effort)
            needed_events = np.where(can_be_made, needed_lengths, 0.0) * self.events_per_length
            is_within_limit = needed_events <= self.remaining_events - events_reserved
            is_affordable = can_be_made & is_within_limit
            # What is decided, or can never be, needs no events here.
            self.events_left_out = float(min(needed_events[~is_within_limit], default=0.0))
            if not is_affordable.any():
                return
            most_events = min(
                float(needed_events[is_affordable].sum()), self.remaining_events - events_reserved
            )
            self._announce(
                f"longer simulations are to decide where {self.case_search.condition.text}, with up"
                f" to {most_events:,.0f} events",
                most_events * self._seconds_per_event,
            )
            index = int(np.argmin(np.where(is_affordable, needed_lengths, np.inf)))
            self._simulate_at(
                index, float(self.places[index]), float(needed_lengths[index]), is_new=False
            )

    def _announce(self, work_in_words: str, seconds: float) -> None:
        """Announce how long the search may take, with the seconds that it has taken; again only if
        that is more than twice as long.
        """
        seconds_in_all = process_time() - self._start + seconds
        announce = ANNOUNCE.get()
        if (
            announce is None
            or seconds_in_all <= max(ANNOUNCED, 2 * self._announced_seconds)
            or seconds < ANNOUNCED / 10
        ):
            return
        text = (
            f"{self.case_search.name}: {work_in_words}: about {seconds_in_all:,.0f} s of processor"
            " time"
        )
        announce(LongWork(text, seconds=seconds_in_all - self._announced_seconds))
        self._announced_seconds = seconds_in_all

    def _needed_run_lengths(self) -> Array:
        """Return the run length that would decide each undecided place, as a multiple of the case's
        own [places]; infinite for decided places. The width of an interval falls with the square
        root of the run length.
        """
        margins, holds = self.case_search.condition.margin_and_mask(self.columns)
        middle, low, high = margins
        is_undecided = (
            (decide(margins, holds) == 0) & np.isfinite(middle) & self.case_search.is_estimated
        )
        with np.errstate(all="ignore"):
            # Width of the interval towards 0 over the distance of the margin from 0: below 1 it
            # decides. The width falls with the root of the length of a run, so the length grows by
            # the square.
            half_widths = np.where(middle > 0, middle - low, high - middle) / np.abs(middle)
        # Where there is no interval at all, a run four times as long may have one.
        length_factor = np.where(
            high - low > 2.0, 4.0, 2.0 ** np.ceil(np.log2(np.maximum(1.2 * half_widths**2, 2.0)))
        )
        return np.where(is_undecided, self.run_factors * length_factor, np.inf)

    def bisect(self) -> None:
        """Bisect between two neighbouring places if only one of them has an answer, or if an end of
        the interval is above the limit of the condition at one place and below it at the other.

        The end of the answers is bisected too, because a limit may lie between the last place with
        an answer and saturation. For computed answers nothing else is bisected here; their changes
        between answers are found as roots.
        """
        is_whole = self.case_search.is_whole
        while is_whole or not self.case_search.has_only_places:
            gaps, step_counts = self._gaps_to_bisect()
            self._announce_bisection(step_counts)
            index = int(np.argmax(gaps))
            run_factor = float(self.run_factors[index : index + 2].min())
            if gaps[index] <= 0.0 or run_factor > self.remaining_effort:
                return
            needed_events = run_factor * self.events_per_length[index : index + 2].max()
            if needed_events > self.remaining_events:
                return
            middle = float(self.places[index : index + 2].mean())
            self._simulate_at(
                index + 1, middle // 1 if is_whole else middle, run_factor, is_new=True
            )

    def _announce_bisection(self, step_counts: Array) -> None:
        """Announce how long the steps of the bisection between places may take."""
        seconds_at_places = (
            self.run_factors * self.events_per_length * self._seconds_per_event
            + self._seconds_per_place
        )
        seconds = step_counts * np.maximum(seconds_at_places[1:], seconds_at_places[:-1])
        self._announce(
            f"{with_noun(int(step_counts.sum()), 'further place')} narrow down where"
            f" {self.case_search.condition.text}",
            float(seconds.sum()),
        )

    def _gaps_to_bisect(self) -> tuple[Array, Array]:
        """Return the distances of neighbouring places between which to bisect, 0 where no bisection
        is needed, and the most steps that each takes [places - 1].

        Distances are relative, and small enough at the precision of the runs; whole numbers are
        bisected down to a distance of 1.
        """
        case = self.case_search.case
        margins, _ = self.case_search.condition.margin_and_mask(self.columns)
        has_answer = np.isfinite(margins[0])
        has_answer &= ~_is_saturated(self.case_search.condition, self.columns)
        is_end_of_answers = has_answer[1:] != has_answer[:-1]
        signs = np.sign(np.where(np.abs(margins[1:]) <= MARGIN_OF_EQUAL_SIDES, 0.0, margins[1:]))
        # The ends of an interval may cross the limit at different places, each to be bisected.
        crossing_counts = (np.diff(signs, axis=1) != 0).sum(axis=0)
        is_crossed = (crossing_counts > 0) & has_answer[1:] & has_answer[:-1]
        is_estimated = self.case_search.is_estimated
        is_crossed &= self.case_search.is_whole or is_estimated or self._has_intervals
        distances = np.diff(self.places)
        if self.case_search.is_whole:
            closest_distance = np.ones(len(distances))
        else:
            magnitudes = np.maximum(np.abs(self.places[1:]), np.abs(self.places[:-1]))
            distances = distances / np.maximum(magnitudes, 1e-300)
            closest_distance = np.where(
                is_crossed | is_estimated,
                case.built.options.simulation.precision,
                CLOSEST_RELATIVE_DISTANCE,
            )
        is_wide = (is_end_of_answers | is_crossed) & (distances > closest_distance)
        step_counts = np.ceil(np.log2(np.where(is_wide, distances / closest_distance, 1.0)))
        return np.where(is_wide, distances, 0.0), step_counts * np.maximum(crossing_counts, 1)

    @property
    def _has_intervals(self) -> bool:
        """Whether answers have intervals although they are not simulated, such as approximate
        quantiles.
        """
        margins, _ = self.case_search.condition.margin_and_mask(self.columns)
        return bool(np.any(np.diff(margins[1:], axis=0) > 0))

    def _simulate_at(self, index: int, place: float, run_factor: float, *, is_new: bool) -> None:
        """Simulate the case at one place, and insert or replace its row in the columns."""

        def with_value(column: Array, value: float) -> Array:
            return np.insert(column if is_new else np.delete(column, index), index, value)

        self.remaining_effort -= run_factor
        table = self.case_search.solve(np.array([place]), run_factor)
        events = table.provenance.events.get(0, 0)
        self.remaining_events -= events
        columns = table.columns
        self.places, self.run_factors, self.events_per_length = (
            with_value(self.places, place),
            with_value(self.run_factors, run_factor),
            with_value(self.events_per_length, events / run_factor),
        )
        self.columns = {
            name: with_value(column, columns.get(name, [np.nan])[0])
            for name, column in self.columns.items()
        }


def _smallest_sides(
    condition: Condition, columns: Mapping[str, Array], indices: list[int]
) -> Iterator[tuple[Value, Value]]:
    """Yield the two sides of the comparison of a condition with the smallest margin, at each
    index.
    """
    sides_of_parts = condition.sides(columns)
    for index in indices:
        part_index = _part_of_smallest_margin(sides_of_parts, index)
        unit = str(condition.parts[part_index].left.dimension)
        left_side, right_side = (
            Value(float(side_columns[0, index]), unit, *map(float, side_columns[1:, index]))
            for side_columns in (sides_of_parts[part_index].left, sides_of_parts[part_index].right)
        )
        yield left_side, right_side


def _part_of_smallest_margin(sides_of_parts: Sequence[ConditionSides], index: int) -> int:
    """Return the index of the comparison of a condition that has the smallest margin at a place."""
    return min(
        range(len(sides_of_parts)),
        key=lambda part_index: float(sides_of_parts[part_index].margin[0, index]),
    )


_FEW_UNSHOWN = 2
"""Cases that are shown beyond the usual number, because a count of them is as long."""


def _most_further_searches(count: int) -> int:
    """Return how many searches beside the first a headline shows.

    >>> _most_further_searches(3), _most_further_searches(5), _most_further_searches(6)
    (3, 5, 3)
    """
    return count if count <= MOST_FURTHER_CASES + _FEW_UNSHOWN else MOST_FURTHER_CASES


def _value_at_limit_text(search: ConditionSearch, name: str) -> str:
    """Return a value at the limit of a search as text; a dash if it has none."""
    value = search.values_at_limit.get(name)
    return value_amount(name, value.value, value.unit, value.ends) if value else NOTHING


def _condition_clause(search: ConditionSearch, words: Words) -> str:
    """Return the condition of a search as a clause."""
    return search.means or words.condition(search.condition)


def _headline_of_condition(searches: Sequence[ConditionSearch], words: Words) -> str:
    """Return a sentence on the values for which a condition holds, case by case; what the names of
    all cases end with is said once.
    """
    names = [words.case(search.case) for search in searches]
    ending = _common_ending(names)
    if not ending:
        return _headline_by_case(searches, words)
    short_names = {
        search.case: name.removesuffix(ending) for search, name in zip(searches, names, strict=True)
    }
    short_words = replace(words, titles={**words.titles, **short_names})
    sentence = uncapitalized(_headline_by_case(searches, short_words))
    return f"{capitalized(ending.strip())}: {sentence}"


_FEWEST_CASES_WITH_ENDING = 3
_PREPOSITIONS = ("on", "in", "with", "without", "for", "under", "at")


def _common_ending(names: Sequence[str]) -> str:
    """Return the words, from a preposition on, with which the names of several cases end; empty if
    they have none in common.

    >>> _common_ending(
    ...     ["SOR on Ethernet of 2024", "IS on Ethernet of 2024", "A on Ethernet of 2024"]
    ... )
    ' on Ethernet of 2024'
    >>> _common_ending(["four stages on NDR", "two stages on NDR", "two stages on XDR"])
    ''
    """
    if len(names) < _FEWEST_CASES_WITH_ENDING:
        return ""
    words_of_first = names[0].split(" ")
    endings = (
        f" {' '.join(words_of_first[index:])}"
        for index in range(1, len(words_of_first))
        if words_of_first[index] in _PREPOSITIONS
    )
    return next((ending for ending in endings if all(name.endswith(ending) for name in names)), "")


def _headline_by_case(searches: Sequence[ConditionSearch], words: Words) -> str:
    """Return a sentence on the values for which a condition holds, case by case."""
    # All searches stand in the order of the study, the best of many come first.
    are_many = len(searches) > 1 + _most_further_searches(len(searches) - 1)
    first_search, *further_searches = _searches_by_width(searches) if are_many else searches
    if recommendation := _recommendation(searches, words):
        return recommendation
    trend_in_words = (
        f" along the trend {as_words(first_search.trend)}" if first_search.has_trend_named else ""
    )
    rates_in_words = ""
    if first_search.of == YEAR and any(
        not search.year_band or _share_in_last_year(search) for search in searches
    ):
        rates_in_words = ", at the stated rates"
    # Where the draws of the rates cannot be computed, the reader is told how to get them.
    if any(search.lacks_band for search in searches):
        rates_in_words += " (the years ahead of the condition have their uncertainty)"
    beginning = (
        f"{capitalized(_condition_clause(first_search, words))}{trend_in_words}{rates_in_words}"
    )
    range_of_first = _range_of_condition_text(first_search, words, True)
    comma = "," * bool(rates_in_words)
    if not further_searches:
        if comparison_text := _comparison_with_base(first_search, words):
            return f"{comparison_text}{trend_in_words}{rates_in_words}"
        separator = comma if first_search.changes else ":"
        return f"{beginning}{separator} {range_of_first}{_setting_text(first_search, words)}"
    if range_text := _range_of_years(searches, words):
        return f"{beginning} {range_text}"
    further_shown = further_searches[: _most_further_searches(len(further_searches))]
    unshown_count = len(further_searches) - len(further_shown)
    unshown = f"; not shown: {with_noun(unshown_count, 'further case')}" if unshown_count else ""
    if all(search.changes for search in (first_search, *further_shown)):
        cases_by_range: dict[str, list[str]] = {range_of_first: [words.case(first_search.case)]}
        for search in further_shown:
            # "At least 80 % with 114 or more cells for one case, 198 for another".
            has_same_side = search.only_side is not None and (
                search.only_side == first_search.only_side
            )
            range_text, range_shown = (
                _range_of_condition_text(search, words, False, has_relation=has_relation)
                for has_relation in (True, not has_same_side)
            )
            is_same = range_text == _range_of_condition_text(first_search, words, False)
            cases_by_range.setdefault(range_of_first if is_same else range_shown, []).append(
                words.case(search.case)
            )
        phrases = [f"{text} for {join_phrases(cases)}" for text, cases in cases_by_range.items()]
        has_lists = any(len(cases) > 1 for cases in cases_by_range.values())
        # A list of cases has an "and" of its own.
        ranges_text = "; ".join(phrases) if has_lists else join_phrases(phrases)
        return f"{beginning}{comma} {ranges_text}{unshown}{_shared_limit_text(searches, words)}"
    clauses = _clauses_by_outcome([first_search, *further_shown], words)
    has_bounds = any(search.changes for search in (first_search, *further_shown))
    separator = comma if has_bounds else ":"
    return (
        f"{beginning}{separator} {'; '.join(clauses)}{unshown}{_shared_limit_text(searches, words)}"
    )


def _range_of_years(searches: Sequence[ConditionSearch], words: Words) -> str:
    """Return the earliest and the latest of the years in which a condition changes in many cases,
    with their cases; empty for few cases, without bands, and unless each case has one such year.
    """
    bands = [search.year_band for search in searches]
    if (
        len(searches) <= MOST_YEARS_IN_SENTENCE
        or not any(bands)
        or not all(len(search.crossings) == 1 and search.is_decided for search in searches)
    ):
        return ""
    changes = [search.crossings[0] for search in searches]
    if len({change.starts for change in changes}) > 1:
        return ""
    years = _years_of_cases(searches, words)
    range_text = range_of_years_text(years, searches[0].last, starts=changes[0].starts)
    return f"in all {len(searches)} cases, {range_text}"


def _years_of_cases(searches: Sequence[ConditionSearch], words: Words) -> list[CaseYear]:
    """Return the first change of each search, with its band if it has one."""
    return [
        CaseYear(words.case(search.case), search.crossings[0].value, *_band_and_share(search))
        for search in searches
    ]


def _band_and_share(search: ConditionSearch) -> tuple[float | None, float | None, float]:
    band = search.year_band
    return (band.low, band.high, band.share_of_draws) if band else (None, None, 1.0)


_TIME_BESIDE_BASE = late_pattern(
    r"\s*(time|response_time\[[^\]]+\])\s*(<=|>=|<|>)\s*base_there\.\1\s*"
)
_SPEED_PHRASES = {
    ("<=", True): "at least as fast as",
    ("<=", False): "slower than",
    ("<", True): "faster than",
    ("<", False): "at most as fast as",
    (">=", True): "at most as fast as",
    (">=", False): "faster than",
    (">", True): "slower than",
    (">", False): "at least as fast as",
}
"""The speed of a case beside that of the base, by the relation of their times and whether it
holds."""


def _comparison_with_base(search: ConditionSearch, words: Words) -> str:
    """Return a sentence on where a case is faster or slower than the base at the same place, if the
    condition compares their times; empty for other conditions, and for those without an answer or
    with words of their own.
    """
    relation = _TIME_BESIDE_BASE.fullmatch(search.condition)
    if not relation or search.means or search.nearest is None or search.undecided:
        return ""
    holds = search.changes or bool(search.holds_first)
    searched_text = _range_searched(search, words)
    everywhere = (
        f"in every year {searched_text}"
        if search.of == YEAR
        else f"at every value of {searched_text}"
    )
    place = _range_of_condition_text(search, words, True) if search.changes else everywhere
    if shares := _share_in_last_year(search):
        place += f" ({shares})"
    case = capitalized(words.case(search.case))
    verb = "are" if is_plural(noun_and_rest(case)[0]) else "is"
    base = words.case(BASE)
    return f"{case} {verb} {_SPEED_PHRASES[relation[2], holds]} {base} {place}"


def _shared_limit_text(searches: Sequence[ConditionSearch], words: Words) -> str:
    """Return in brackets the limit that is made of the values of a case as given, if it is the same
    in all searches.
    """
    limits = {phrase for search in searches for phrase in _fixed_limit_phrase(search, words)}
    return f" ({limits.pop()})" if len(limits) == 1 else ""


def _table_around_change(search: ConditionSearch, words: Words) -> Decision | None:
    """Return a table of the value that a condition limits at the first and the last place of a
    search and on both sides of its only change; None for other conditions.
    """
    curves = search.curves
    if search.of == YEAR or curves is None or len(search.crossings) != 1 or search.undecided:
        return None
    places = curves.places.tolist()
    after_index = bisect_right(places, search.crossings[0].value * (1 - 1e-12))
    indices = {0, after_index - 1, after_index, len(places) - 1} & {*range(len(places))}
    rows = []
    for index in sorted(indices):
        value, *ends = (float(end) for end in curves.left[:, index])
        is_true = search.holds_at(places[index])
        rows.append(
            [
                setting_amount(search.of, places[index], search.unit, words),
                value_amount(curves.left_side, value, curves.dimension, (ends[0], ends[1]))
                if math.isfinite(value)
                else NOTHING,
                "undecided" if is_true is None else "yes" if is_true else "no",
            ]
        )
    titles = [words.quantity(search.of), words.limited_value(search.condition), "is met"]
    return titles, rows


_ASKS_FOR_SETTING = late_pattern(
    r"(?:which|what|how (?:many|much|large|long|often|high|low|big|small)) .*?"
    r"\b(should|can|may|must)\b",
    re.IGNORECASE,
)
"""How a title begins that asks for the value that a quantity should have."""


def _recommendation(searches: Sequence[ConditionSearch], words: Words) -> str:
    """Return the limit that the searched quantity should keep, case by case, and what is true then,
    as an answer to a title that asks for it; empty for other titles, and without one limit in each
    case.
    """
    has_limits = all(
        search.of != YEAR and len(search.crossings) == 1 and search.is_decided
        for search in searches
    )
    asks_for_setting = _ASKS_FOR_SETTING.match(words.title)
    if not (has_limits and asks_for_setting):
        return ""
    verb = asks_for_setting[1]
    first_search = searches[0]
    limits = [_range_of_condition_text(first_search, words, True, verb)]
    limits += [_range_of_condition_text(search, words, False) for search in searches[1:]]
    if len(searches) > 1:
        limits = [
            f"{limit} for {words.case(search.case)}"
            for search, limit in zip(searches, limits, strict=True)
        ]
    return (
        f"{capitalized(join_phrases(limits))}; then"
        f" {uncapitalized(_condition_clause(first_search, words))}"
        f"{_setting_text(first_search, words) if len(searches) == 1 else ''}"
    )


def _setting_text(search: ConditionSearch, words: Words) -> str:
    """Return in brackets the case of a search, if the study has others, and what the search keeps
    of the quantities that the study chooses among; empty without both.
    """
    settings = [setting_phrase(*path_value_unit, words) for path_value_unit in search.setting]
    case = words.case(search.case)
    is_named = case.casefold() in _condition_clause(search, words).casefold()
    remarks = [case] * (search.is_one_of_cases and not is_named)
    remarks += [f"with {join_phrases(settings)}"] if settings else []
    remarks += [*_fixed_limit_phrase(search, words)]
    return f" ({', '.join(remarks)})" if remarks else ""


def _fixed_limit_phrase(search: ConditionSearch, words: Words) -> Iterator[str]:
    """Yield a phrase on a limit that is computed from a case at its given values; it warns readers
    who expect that case to vary with the search, too.
    """
    if search.fixed_limit is not None:
        limit, case = search.fixed_limit
        name = search.curves.left_side if search.curves else ""
        amount = value_amount(name, limit.value, limit.unit)
        yield f"limit {amount}, of {words.case_as_given(case)}"


def _clauses_by_outcome(searches: Sequence[ConditionSearch], words: Words) -> list[str]:
    """Return clauses that say for which values a condition holds: one clause for all cases with a
    limit, such as "at least 14", one for all cases in which it always holds, one for all in which
    it never holds, and one for each other case. The first clause on always and never names the
    range searched.
    """
    bound_clauses = list[str]()
    other_clauses = list[str]()
    cases_by_outcome: dict[str, list[str]] = {}
    for search in searches:
        case = words.case(search.case)
        range_text = _range_of_condition_text(search, words, not bound_clauses)
        if search.changes:
            bound_clauses.append(f"{range_text} for {case}")
        elif search.undecided or search.nearest is None:
            other_clauses.append(f"{case} {_range_of_condition_text(search, words, False)}")
        else:
            outcome, _, remark = _range_of_condition_text(search, words, False).partition(" ")
            cases_by_outcome.setdefault(outcome, []).append(f"{case} {remark}".rstrip())
    constant_clauses = [
        f"{outcome} for {join_phrases(cases)}" for outcome, cases in cases_by_outcome.items()
    ]
    if constant_clauses:
        range_text = _range_searched(searches[0], words)
        if bound_clauses:  # they name the quantity
            range_text = range_text.removeprefix(f"{words.quantity(searches[0].of)} ")
        elif searches[0].of != YEAR:
            range_text = f"with {range_text}"
        constant_clauses[0] = f"{range_text}, as far as was searched, {constant_clauses[0]}"
    return [*filter(None, [join_phrases(bound_clauses)]), *constant_clauses, *other_clauses]


def _searches_by_width(searches: Sequence[ConditionSearch]) -> list[ConditionSearch]:
    """Return the searches sorted by the width of the range in which the condition holds, if each
    has one change and all change in the same direction; else in their order.
    """
    if not all(len(search.crossings) == 1 and search.is_decided for search in searches):
        return list(searches)
    starts = {search.crossings[0].starts for search in searches}
    if len(starts) > 1:
        return list(searches)
    sign = 1 if starts == {True} else -1
    return sorted(searches, key=lambda search: sign * search.crossings[0].value)


def _first_is_widest(ranked: Sequence[ConditionSearch]) -> bool:
    """Return whether the first of cases sorted by width certainly has the widest range."""
    if not all(len(search.crossings) == 1 and search.is_decided for search in ranked):
        return False
    first_change, second_change = (search.crossings[0] for search in ranked[:2])
    if first_change.starts != second_change.starts or first_change.value == second_change.value:
        return False
    intervals = [(change.low, change.high) for change in (first_change, second_change)]
    return not do_overlap(*intervals)


def _range_of_condition_text(
    search: ConditionSearch,
    words: Words,
    with_title: bool,
    verb: str = "",
    *,
    has_relation: bool = True,
) -> str:
    """Return the values for which a condition holds as text, with the reader's nouns.

    Parameters
    ----------
    search : by a search
    words : of the study
    with_title : say what the values are of, not only their amounts
    verb : such as "should", to advise a value; by default the text is a condition
    has_relation : whether amounts are said to be lower or upper limits
    """

    def bound_text(value: float | None, starts: bool, ends: Ends = NO_ENDS) -> str:
        if search.of == YEAR:
            whole_years = [
                None if year is None else whole_year(year, starts=starts) for year in (value, *ends)
            ]
            amount = bracketed(*map(year_text, whole_years))
            return f"from {amount} on" if starts else f"until {amount}"
        if verb:
            path_and_amount = (search.of, value or 0.0, search.unit)
            return limit_advice(*path_and_amount, words, ends, verb, is_lower=starts)
        if not has_relation:
            return setting_amount(search.of, value or 0.0, search.unit, words, ends)
        write_bound = limit_phrase if with_title else limit_amount
        return write_bound(search.of, value or 0.0, search.unit, words, ends, is_lower=starts)

    if search.nearest is None:
        return f"no answer ({_range_searched(search, words)})" if with_title else "no answer"
    phrases = [
        (
            crossing.value,
            _change_bound_text(search, crossing, bound_text) + _band_text(search, crossing),
        )
        for crossing in search.crossings
    ]
    phrases += [
        (
            place,
            (
                f"{bound_text(place, begins)} ({'smaller' if begins else 'larger'} values have no"
                " answer)"
            ),
        )
        for place, begins in search.ends_of_answers
    ]
    undecided_texts = [
        f"undecided {'at' if first == last else 'from'} {_value_text(search, first)}"
        + ("" if first == last else f" to {_value_text(search, last)}")
        for first, last in search.undecided
    ]
    if not phrases:
        holds_word = "always" if search.holds_first else "never"
        nearest_in_words = (
            "" if search.holds_first or undecided_texts else _nearest_sentence(search)
        )
        range_searched = _range_searched(search, words) if with_title else ""
        remark_parts = (range_searched, nearest_in_words, _share_in_last_year(search))
        remarks = "; ".join(filter(None, remark_parts))
        below_texts, above_texts = _texts_around_undecided(search)
        known_text = join_phrases([*below_texts, *undecided_texts, *above_texts], "and")
        return f"{known_text or holds_word}{f' ({remarks})' if remarks else ''}"
    phrases_shown = [phrase for _, phrase in sorted(phrases)][:MOST_FURTHER_CASES]
    return join_phrases([*phrases_shown, *undecided_texts[:1]])


def _texts_around_undecided(search: ConditionSearch) -> list[list[str]]:
    """Return what a condition is below and above the places where it is undecided."""
    if not search.undecided:
        return [[], []]
    first_undecided, last_undecided = search.undecided[0][0], search.undecided[-1][1]
    sides = (
        ("below", search.first, first_undecided, search.first < first_undecided),
        ("above", search.last, last_undecided, last_undecided < search.last),
    )
    texts = []
    for side_word, end, limit, is_beside in sides:
        truth = search.holds_at(end)
        words = "without an answer" if truth is None else str(truth).lower()
        is_known = is_beside and (truth is not None or bool(search.unanswered))
        texts.append([f"{words} {side_word} {_value_text(search, limit)}"] if is_known else [])
    return texts


def _nearest_sentence(search: ConditionSearch) -> str:
    """Return a sentence on how near a value comes to a limit that it never keeps; empty for
    conditions on several values.
    """
    limit_match = LIMIT.match(search.condition)
    if limit_match is None or " and " in search.condition or not search.sides:
        return ""
    value, _ = search.sides[-1]
    amount = value_amount(limit_match[1], value.value, value.unit, value.ends)
    return f"at best {amount}"


def _band_text(search: ConditionSearch, change: Change) -> str:
    """Return in brackets the band of the year of a change, if the draws of the rates have one."""
    is_first = change is search.crossings[0]
    return str(search.year_band) if search.year_band and is_first else ""


def _share_in_last_year(search: ConditionSearch) -> str:
    """Return in what part of the draws of the rates a condition that changes in no year at the
    stated rates is true in the last year; empty if the draws agree with the stated rates.
    """
    band = search.year_band
    if search.changes or band is None or band.share_of_draws == bool(search.holds_last):
        return ""
    share_text = percent(band.share_of_draws)
    return f"in {year_text(band.last_year)} in {share_text} of the random draws"


def _ends_of_change(search: ConditionSearch, change: Change) -> tuple[float | None, float | None]:
    """Return the ends of the interval or band of a change."""
    band = search.year_band
    if band and change is search.crossings[0] and None not in (band.low, band.high):
        return band.low, band.high
    return change.low, change.high


def _range_searched(search: ConditionSearch, words: Words) -> str:
    """Return the range of the quantity in which a condition was searched."""
    if search.of == YEAR:
        return f"from {year_text(search.first)} to {year_text(search.last)}"
    first_amount, last_amount = (
        setting_amount(search.of, value, search.unit, words)
        for value in (search.first, search.last)
    )
    first_amount = first_amount.removesuffix(OF_THE_PRESENT)
    return f"{words.quantity(search.of)} from {first_amount} to {last_amount}"


_LARGE_COUNT = 1e4
"""The smallest place between whole numbers that is written with four digits."""


def _change_bound_text(
    search: ConditionSearch, change: Change, bound_text: Callable[..., str]
) -> str:
    """Return the bound of a change in words, such as "at least" a value. If the change has an
    interval, the bound is the end beyond which the condition is decided, followed by the end of the
    undecided range.
    """
    if change.before is None:
        ends = (change.low, change.high)
        is_large_count = search.of != YEAR and search.unit == "1" and change.value >= _LARGE_COUNT
        if is_large_count and change.low == change.high:
            # It is known to a part of itself only, and not to all of its digits.
            return bound_text(float(f"{change.value:.4g}"), change.starts)
        return bound_text(change.value, change.starts, ends)
    if change.low == change.high:
        return bound_text(change.value if change.starts else change.before, change.starts)
    decided_text = bound_text(change.high if change.starts else change.low, change.starts)
    undecided_end = _value_text(search, change.low if change.starts else change.high)
    return f"{decided_text} (undecided {'from' if change.starts else 'up to'} {undecided_end})"


def search_text(search: ConditionSearch) -> str:
    """Return one line on where a condition starts or stops holding, or on why it changes
    nowhere.
    """
    subject = f"{search.name}, {search.case}{_trend_clause(search)}: {search.condition}"
    range_text = _range_text(search)
    stretches_text = _stretches_sentence(search)
    outcome_text = (
        f"{_values_in_words(search)} (searched over {range_text}{stretches_text})"
        if search.changes
        else f"{_no_change_sentence(search, range_text)}{stretches_text}"
    )
    return f"{subject} {outcome_text}{_longer_runs_clause(search)}{_doubts_clause(search)}"


def _longer_runs_clause(search: ConditionSearch) -> str:
    """Return a clause on the longest simulation that was needed, and on the next one, which was not
    made; empty if none was longer than the first.
    """
    longest_text = (
        f"; runs up to {search.longer:g} times as long were made to decide"
        if search.longer > 1
        else ""
    )
    left_out_text = (
        f"; a run of about {float(f'{search.events_left_out:.2g}'):,.0f} events may decide further,"
        f" but all longer runs have at most {search.most_events:,.0f}: a larger step has less to"
        " decide, a smaller simulation.precision makes all runs longer, and a larger"
        " simulation.events allows more"
        if search.events_left_out
        else ""
    )
    return f"{longest_text}{left_out_text}"


def _trend_clause(search: ConditionSearch) -> str:
    """Return a clause on the trend of a search; empty if it is no search along a trend."""
    return f" along {search.trend}" if search.trend else ""


def _range_text(search: ConditionSearch) -> str:
    """Return the searched range as text."""
    first_text, last_text = (_value_text(search, value) for value in (search.first, search.last))
    return f"{search.of} from {first_text} to {last_text}"


def _doubts_clause(search: ConditionSearch) -> str:
    """Return a clause on rates that are used outside their periods, are guesses, or are of weak
    series; empty if there are none.
    """
    clause_beginning = "; rates applied beyond the years they were stated for: "
    outside_clauses = [f"{clause_beginning}{', '.join(search.beyond)}"] if search.beyond else []
    return "".join([*outside_clauses, *(f"; {doubt}" for doubt in search.doubts)])


_MOST_CHANGES = 8


def _values_in_words(search: ConditionSearch) -> str:
    """Return the values at which the condition starts or stops holding, in words."""
    changes = [
        (
            crossing.value,
            _crossing_sentence(search, crossing) + _band_text(search, crossing),
        )
        for crossing in search.crossings
    ]
    changes += [
        (place, _end_of_answers(search, place, begins)) for place, begins in search.ends_of_answers
    ]
    phrases = [*(phrase for _, phrase in sorted(changes)), *_undecided_clauses(search)]
    hidden_count = len(phrases) - _MOST_CHANGES
    return ", ".join(phrases[:_MOST_CHANGES]) + (
        f", and {hidden_count:,} further changes in the table" if hidden_count > 0 else ""
    )


def _end_of_answers(search: ConditionSearch, place: float, begins: bool) -> str:
    """Return a clause on a place at which the condition holds and beyond which there are no
    answers.
    """
    beginning = "" if search.of == YEAR else f"{search.of} = "
    return (
        f"holds as far as there are answers, {'from' if begins else 'up to'}"
        f" {beginning}{_value_text(search, place)}"
    )


def _undecided_clauses(search: ConditionSearch) -> Iterator[str]:
    """Yield a clause on each range in which estimates do not decide the condition; nothing if
    there are none.
    """
    for first, last in search.undecided:
        low_text = _value_text(search, first)
        high_text = _value_text(search, last)
        yield (
            f"undecided at {low_text}"
            if first == last
            else f"undecided from {low_text} to {high_text}"
        )


def _crossing_sentence(search: ConditionSearch, change: Change) -> str:
    """Return a sentence on a change of the condition, with its interval."""
    if change.before is not None:
        return _single_value_change(search, change)
    interval_ends = (change.low, change.high)
    beginning = "" if search.of == YEAR else f"{search.of} = "
    place_text = (
        bracketed(year_text(change.value), *map(year_text, interval_ends))
        if search.of == YEAR
        else quantity(change.value, search.unit, 6, interval_ends)
    )
    jump_clause = ", by a jump" if change.jump else ""
    if change.part is not None and change.part < HIGH_PROBABILITY:
        draws_in_words = f"{percent(change.part)} of their draws change there"
        jump_clause += f", undecided within the ranges ({draws_in_words})"
    return (
        f"holds from {beginning}{place_text} on{jump_clause}"
        if change.starts
        else f"holds up to {beginning}{place_text}{jump_clause}"
    )


def _single_value_change(search: ConditionSearch, change: Change) -> str:
    """Return a clause on a change if only the listed values are possible: the value, or the two
    values between which the condition changes.
    """
    value_text = _value_text(search, change.value)
    value_before = _value_text(search, change.before)
    setting_text = f"{search.of} = {value_text}" if search.of != YEAR else value_text
    if change.low == change.high:
        return (
            f"holds from {setting_text} on, not yet at {value_before}"
            if change.starts
            else f"holds up to {value_before}, no longer at {setting_text}"
        )
    low_text = _value_text(search, change.low)
    high_text = _value_text(search, change.high)
    if change.starts:
        return (
            f"holds from {search.of} = {high_text} on and is undecided from {low_text} on, where it"
            f" seems to start at {value_text}"
        )
    decided_text = f"holds up to {search.of} = {low_text} and is undecided up to {high_text}"
    if change.part is not None:
        return decided_text
    return f"{decided_text}, where it seems to stop after {value_before}"


def _no_change_sentence(search: ConditionSearch, range_text: str) -> str:
    """Return a sentence that a condition changes nowhere, with its sides at both ends and where it
    comes nearest to a change.
    """
    if search.nearest is None or search.margin is None:
        return f"has no answer anywhere for {range_text}"
    # Without a change, and without an end of the answers where it holds, it does the same
    # everywhere.
    holds_phrase = "holds throughout" if search.holds_first else "holds nowhere"
    if search.undecided:
        holds_phrase = f"is {', '.join(_undecided_clauses(search))} and changes nowhere else"
    side_amounts = (
        [quantity(side.value, side.unit, ends=side.ends) for side in pair] for pair in search.sides
    )
    first_sides, last_sides, nearest_sides = map(" against ".join, side_amounts)
    nearest_value = _value_text(search, search.nearest)
    approach_clause = (
        f"it comes nearest to changing at {nearest_value}, with {nearest_sides},"
        f" {percent(search.margin)} apart"
    )
    return (
        f"{holds_phrase} for {range_text}: {first_sides} at one end and {last_sides} at the other;"
        f" {approach_clause}"
    )


def _value_text(search: ConditionSearch, value: float | None) -> str:
    """Return a searched value, or a year, as text."""
    return year_text(value) if search.of == YEAR else quantity(value, search.unit, 6)


def _saturated_clause(searches: Sequence[ConditionSearch], words: Words) -> str:
    """Return a clause on the values beyond which a resource is saturated, case by case, where the
    condition holds there; empty if there are none.
    """
    phrases = []
    for search in searches:
        for first, last, resources in search.saturated:
            if search.holds_at(first) and search.of != YEAR and len(search.saturated) == 1:
                is_above = last == search.last
                bound = limit_phrase(
                    search.of, first if is_above else last, search.unit, words, is_lower=is_above
                )
                case = f" for {words.case(search.case)}" if len(searches) > 1 else ""
                phrases.append(f"{resources} is saturated {bound}{case}")
    return join_phrases(phrases)


def _stretch_text(search: ConditionSearch, first: float, last: float) -> str:
    """Return a stretch of searched values as text."""
    first_text, last_text = _value_text(search, first), _value_text(search, last)
    if first == last:
        return f"at {first_text}"
    if first == search.first:
        return f"up to {last_text}"
    return f"from {first_text} on" if last == search.last else f"from {first_text} to {last_text}"


def _stretches_sentence(search: ConditionSearch) -> str:
    """Return a sentence on the ranges without an answer; empty if there are none."""
    if search.nearest is None:
        return ""
    stretches = [
        _stretch_text(search, stretch.first, stretch.last) for stretch in search.unanswered
    ]
    hidden_count = len(stretches) - _MOST_CHANGES
    further_in_words = f" and {hidden_count:,} further stretches" if hidden_count > 0 else ""
    stretches_text = " and ".join(stretches[:_MOST_CHANGES])
    saturated_text = "".join(
        f", {resources} saturated {_stretch_text(search, first, last)}"
        for first, last, resources in search.saturated[:_MOST_CHANGES]
    )
    unanswered_text = f", without an answer {stretches_text}{further_in_words}" if stretches else ""
    return f"{unanswered_text}{saturated_text}"
