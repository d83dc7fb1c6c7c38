"""What would help most: quantities ranked by the time they save, and named changes by the
overhead they take away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from slipstick.answer import OVERHEAD, Answer, Value, zero_if_rounding
from slipstick.errors import NoAnswerError, Problem, SpecError, did_you_mean
from slipstick.late import Array, dataclass, field, late_pattern, np, replace
from slipstick.model.system import group_names
from slipstick.report.formatting import (
    NOTHING,
    as_number,
    as_percent,
    code,
    do_overlap,
    escape,
    finite_or_none,
    join_phrases,
    percent,
    plain_decimal,
    quantity,
    three_digits,
    uncapitalized,
)
from slipstick.results.question import (
    MOST_FURTHER_CASES,
    Decision,
    QuestionResult,
    ResultColumn,
    ResultTable,
    TitleAnswer,
)
from slipstick.results.sweep import Provenance
from slipstick.results.words import NO_WORDS, Words, as_words
from slipstick.schema.inputs import BuiltModel, Settings, build, resolve_once
from slipstick.schema.kinds.quantity import DescribedValue, Given
from slipstick.schema.library import TECHNOLOGY
from slipstick.schema.text import Mark, Node, Scalar, canonical, node_at, value_mark
from slipstick.study.cases import Place, StudyContext, quantity_node
from slipstick.study.evaluator import ALL_SHARES, Evaluator, evaluator, reduction
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.uncertain import (
    BAND_DRAWS,
    HIGH_PROBABILITY,
    LOW_PROBABILITY,
    drawn_settings,
)
from slipstick.vocabulary import REPLACED
from slipstick_questions.specs import ChangesSpec, RankSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Ranking:
    """The quantities of one case, ranked by the time that a change of each saves.

    Parameters
    ----------
    case : the case
    change : how much less of each quantity is solved, and more by the same factor [1]
    rows : the quantities that matter, best first, each as an answer: its ``value``, its ``share``
        (see `slipstick.answer.Answer`; none for counts, sizes and ratios), its ``elasticity``
        (relative change of the time for a relative change of the quantity), and ``time_saved`` by
        the better of the two changes (1 - after / before; none where neither has an answer, such as
        half a processor) and by the ``opposite`` change; ``change`` says by which factor
    idle : quantities that change nothing here
    under : the technology that the case is ranked under; none is the case as it is
    ranges : settings have ranges, and each row has the same draws of them
    group : the group whose time is meant, where there are several
    failed : the case has no answer, so that nothing is ranked
    has_untried : the change of another quantity has no answer, such as a third of a processor
    named_idle : those that change nothing although the study names them
    """

    case: str
    change: float
    rows: tuple[Answer, ...]
    idle: tuple[str, ...]
    under: str = ""
    ranges: bool = False
    group: str = ""
    failed: bool = False
    has_untried: bool = False
    named_idle: tuple[str, ...] = field(default=(), repr=False)

    @property
    def factor_in_words(self) -> str:
        """The factor by which each quantity is divided and multiplied, in words."""
        return f"a factor of {plain_decimal(1 / (1 - self.change), 4)}"

    @property
    def that_has_an_answer(self) -> str:
        """Words that limit a sentence on all changes to those that have an answer."""
        lacks_answer = any(row["time_saved"] is None for row in self.rows)
        return " that has an answer" if self.has_untried or lacks_answer else ""

    @property
    def time_in_words(self) -> str:
        """The time that is reduced, in words."""
        return f"the time of {as_words(self.group)}" if self.group else "the time"


@dataclass(frozen=True, slots=True)
class ChangeRanking:
    """The named changes of one case under one technology, ranked by the overhead that they remove.

    Parameters
    ----------
    case, under : where; no technology is the case as it is
    before : time and overhead without any change
    effects : the answer with each change, as written, with `EFFECT_VALUES` where they are known
    pairs : the answer with each pair of changes, the best first; ``apart`` is the sum of what each
        saves alone
    budget : what a pair may cost; None if not given
    reduced : what the changes reduce: the overhead, or the time of a model in which all of it is
        useful or none
    """

    case: str
    under: str
    before: Answer
    effects: tuple[Answer, ...]
    pairs: tuple[Answer, ...]
    budget: float | None = None
    reduced: str = OVERHEAD

    @property
    def has_overhead(self) -> bool:
        """Return whether the model tells useful time and overhead apart."""
        return self.reduced == OVERHEAD

    def is_affordable(self, pair: Answer) -> bool:
        """Return whether two changes together cost no more than the budget."""
        cost = pair.point.get("cost", math.inf)
        return self.budget is None or (
            not isinstance(cost, str) and cost <= self.budget * (1 + 1e-12)
        )


_MOST_PAIRS = 10
_LEAST_SAVING = 1e-3  # part of the time that is worth a name behind the best change
_MOST_CHOICES = 6


_READING_OF_SHARES = (
    "Change: less or more of the quantity by the same factor, whichever saves more; both are solved"
    " if the model has an answer. Share: if a time falls by 1 %, or a rate rises by 1 %, the time"
    " of the model falls by this share of 1 %; the shares of all quantities add up to 100 %."
    " Elasticity: relative change of the time for a relative change of the quantity."
)
_READING_OF_OVERHEAD = (
    "Overhead: the time of a processor that is not useful. Overhead reduction: 1 - after / before."
)
_READING_OF_PAIRS = (
    "A pair saves more than the sum of its changes if one makes the other more effective, and less"
    " if both save the same time."
)


@dataclass(frozen=True, slots=True)
class RankResult(QuestionResult):
    """The rankings of quantities and of named changes, by case and technology.

    Parameters
    ----------
    rankings : of single quantities, by case and technology
    changes : what named changes do, by case and technology
    """

    title: ClassVar[str] = "What would help most"
    asked_by: ClassVar[str] = r"\b(?:help|save|shorten)s?\b"
    is_at_given_values: ClassVar[bool] = True
    rankings: tuple[Ranking, ...] = ()
    changes: tuple[ChangeRanking, ...] = ()

    def sentences(self) -> list[str]:
        """Return sentences on the best changes: named changes first, then quantities."""
        sentences = [
            f"{_case_in_words(change_ranking)}: {_best_change_sentence(change_ranking)}"
            for change_ranking in self.changes
        ]
        sentences += [
            f"{_case_in_words(ranking)}: {_best_quantity_sentence(ranking)}"
            for ranking in self.rankings
        ]
        return sentences

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        if self.changes:
            return len(self.changes) > 1 or bool(self.rankings)
        return len({ranking.case for ranking in self.rankings}) > _MOST_RANKED_CASES

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the change that helps most in the first few cases; if there are many
        cases of named changes, on the number of cases in which each change helps most.
        """
        return self._headlines(words, names_case=words.has_several_cases)

    def _headlines(self, words: Words, *, names_case: bool) -> list[str]:
        """Return the sentences of the headline, with the case if it is to be named or if several
        are ranked.
        """
        if not self.changes:
            are_several = names_case or len({ranking.case for ranking in self.rankings}) > 1
            rankings_shown = [
                *{ranking.case: ranking for ranking in reversed(self.rankings)}.values()
            ]
            return [
                _quantity_headline(ranking, words, are_several)
                for ranking in rankings_shown[::-1][:_MOST_RANKED_CASES]
            ]
        best_changes_by_technology: dict[str, list[Answer]] = {}
        for ranking_of_changes in self.changes:
            best_changes_by_technology.setdefault(ranking_of_changes.under, []).append(
                _best_change(ranking_of_changes)
            )
        count_headlines = [
            _headline_of_counts(technology, best_changes)
            for technology, best_changes in best_changes_by_technology.items()
            if len(best_changes) > MOST_FURTHER_CASES
        ]
        case_prefix = f"{words.case(self.changes[0].case)}: " * names_case
        return count_headlines[:2] or [f"{case_prefix}{_change_headline(self.changes[0], words)}"]

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return whether the one case, quantity or named change that the title asks for saves time,
        beside what saves most; None for other titles.
        """
        cases = {ranking.case for ranking in self.rankings} | {
            ranking.case for ranking in self.changes
        }
        if not _ASKS_FOR_HELP.search(words.title):
            return None
        # A title that asks for one change asks about the only case that is ranked.
        (case, *further_cases), (headline, *_) = (
            sorted(cases),
            self._headlines(words, names_case=False),
        )
        if further_cases:
            return None
        saving_by_phrase = {
            **dict(self._savings_of_changes(words)),
            **dict(_savings_of_cases(case, answers, words)),
        }
        asked_phrase = _phrase_in_title([*saving_by_phrase], words.title)
        # The words of a change, such as "less", do not ask for the opposite.
        words_of_change = "|".join(map(re.escape, asked_phrase.split()))
        further_title = re.sub(rf"\b(?:{words_of_change})\b", "", words.title, flags=re.IGNORECASE)
        if not asked_phrase or _ASKS_OTHERWISE.search(further_title):
            return None
        clause = _saving_clause(
            asked_phrase, saving_by_phrase[asked_phrase], words.case(case), self.rankings
        )
        is_best = headline.casefold().startswith(f"{asked_phrase} saves most".casefold())
        sentence = (
            f"yes, {uncapitalized(headline)}" if is_best else f"{clause}; {uncapitalized(headline)}"
        )
        return TitleAnswer("", sentence, stands_alone=True)

    def _savings_of_changes(self, words: Words) -> Iterator[tuple[str, Value]]:
        """Yield what changes of quantities and named changes save of the time, each after its
        words.
        """
        for row in (row for ranking in self.rankings[:1] for row in ranking.rows):
            phrase = words.change(str(row.point["change"]), str(row.point["parameter"]))
            yield phrase, row.values["time_saved"]
        for effect in (effect for ranking in self.changes[:1] for effect in ranking.effects):
            yield as_words(str(effect.point["change"])), effect.values["time_saved"]

    def decision(self, words: Words) -> Decision | None:
        """Return the time that each change of a quantity saves, for the first cases, or the
        overhead reduction of each change in the first case, in decreasing order.
        """
        if not self.changes:
            return _time_saved_table(self.rankings, words)
        effects = sorted(
            self.changes[0].effects,
            key=lambda change_effect: -(_overhead_reduction(change_effect).value or 0.0),
        )
        rows = [
            [
                as_words(str(effect.point["change"])),
                percent(_overhead_reduction(effect).value, ends=_overhead_reduction(effect).ends),
            ]
            for effect in effects[:_MOST_CHOICES]
        ]
        first_case = words.case(self.changes[0].case)
        removed = "overhead" if self.changes[0].has_overhead else "time"
        return [f"change of {first_case}", f"{removed} removed"], rows

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield the tables of quantities, changes and pairs of changes, case by case."""
        yield _READING_OF_SHARES if self.rankings else ""
        for ranking in self.rankings:
            yield _quantities_table(ranking)
            yield _undecided_order_clause(ranking)
            yield _unanswered_changes_sentence(ranking)
            yield (
                f"Without effect here: {', '.join(map(code, ranking.idle))}."
                if ranking.idle
                else ""
            )
        if any(change_ranking.has_overhead for change_ranking in self.changes):
            yield _READING_OF_OVERHEAD
        yield _READING_OF_PAIRS if any(change.pairs for change in self.changes) else ""
        for change_ranking in self.changes:
            yield _changes_table(change_ranking)
            yield _pairs_table(change_ranking)

    def named_answers(self) -> dict[str, Answer]:
        """Return the answers with the effect of each single change, by name."""
        changes_and_effects = (
            (change, effect) for change in self.changes for effect in change.effects
        )
        return {
            effect_name(
                change_ranking.case, str(effect.point["change"]), change_ranking.under
            ): effect
            for change_ranking, effect in changes_and_effects
        }

    def draw(self, spec: ChangesSpec, order: Mapping[str, int], words: Words = NO_WORDS) -> Figure:
        """Draw the overhead reduction of each change, a group of bars for each case."""
        rankings_drawn = [
            change_ranking
            for change_ranking in self.changes
            if change_ranking.under == spec.under
            and change_ranking.case in (spec.cases or (change_ranking.case,))
        ]
        return _draw_bars(rankings_drawn, spec.title, words)


_MOST_RANKED_CASES = 4
"""The most cases of which the headline has the change that saves most."""

_ASKS_FOR_HELP = late_pattern(r"\b(?:help|save|shorten)s?\b|\bfaster\?", re.IGNORECASE)
"""How a title asks whether a change saves time."""

_ASKS_OTHERWISE = late_pattern(
    r"\b(?:not|no|never|without|more|most|less|than|or|and)\b|n't\b", re.IGNORECASE
)
"""Words with which a title asks for the opposite, or compares several changes."""

_ARTICLES = {"a", "an", "the", "of", "by", "for", "in", "on", "at", "to", "with"}


def _phrase_in_title(phrases: Sequence[str], title: str) -> str:
    """Return the phrase all of whose words a title has; of several, the one that has the words of
    all others; empty if there is none.

    >>> phrases = ["ATM", "twice the speed", "twice the speed of the bus", "half the work"]
    >>> [
    ...     _phrase_in_title(phrases, title)
    ...     for title in (
    ...         "Would ATM help?",
    ...         "Would twice the bus speed help?",
    ...         "Would ATM with half the work help?",
    ...     )
    ... ]
    ['ATM', 'twice the speed of the bus', '']
    """
    title_words = {*re.findall(r"\w+", title.casefold())}
    words_by_phrase = {
        phrase: {*re.findall(r"\w+", phrase.casefold())} - _ARTICLES for phrase in phrases
    }
    named_phrases = [
        phrase for phrase, words in words_by_phrase.items() if words and words <= title_words
    ]
    words_named = set[str]().union(*(words_by_phrase[phrase] for phrase in named_phrases))
    return next((phrase for phrase in named_phrases if words_by_phrase[phrase] == words_named), "")


def _savings_of_cases(
    ranked_case: str, answers: Mapping[str, Answer], words: Words
) -> Iterator[tuple[str, Value]]:
    """Yield the part of the ranked case's time that each other case saves, after its title."""
    ranked_answer = answers[ranked_case]
    time_name = next((name for name in ("time", "response_time") if ranked_answer.find(name)), "")
    for case, answer in answers.items():
        if case != ranked_case and time_name and answer.find(time_name):
            saved = reduction(answer.values[time_name], ranked_answer.values[time_name])
            yield words.case(case), saved


def _saving_clause(phrase: str, saved: Value, ranked_case: str, rankings: Sequence[Ranking]) -> str:
    """Return a clause on whether a change saves time, and how much."""
    if saved.value is None:
        return f"{phrase} has no answer"
    if do_overlap(saved.ends, (0.0, 0.0)):
        return (
            f"it is undecided whether {phrase} saves time ({percent(saved.value, ends=saved.ends)})"
        )
    time_text = rankings[0].time_in_words if rankings else "the time"
    if saved.value > 0.0:
        return f"yes, {phrase} saves {percent(saved.value, ends=saved.ends)} of {time_text}"
    if saved.value > -_LEAST_SAVING:
        return f"no, {phrase} does not change {time_text}"
    # Three digits of a ratio below 1.005 are 1, as if the times were equal.
    ratio_text = plain_decimal(1 - saved.value, 3 if saved.value <= -0.01 else 4)
    return f"no, {phrase} takes {ratio_text} times as long as {ranked_case}"


EFFECT_VALUES = {"time": "s", "overhead": "s", "time_saved": "1", "overhead_reduction": "1"}
"""The values of the answer with a change, and their units."""


def read(rank_spec: RankSpec, study: StudyContext) -> Question:
    """Read the question of a study, and build every model that it needs.

    Raises
    ------
    SpecError : a case has no such quantity, or a change sets what is not allowed
    """
    technologies = ["", *rank_spec.under] if rank_spec.changes else []
    problems = [
        study.problem(
            place,
            f"this draws changes of rank under the technology {picture.under!r}, which is not under"
            " rank.under"
            if rank_spec.changes
            else "this draws the changes of rank; write them under changes of rank",
        )
        for place, picture in study.pictures(ChangesSpec)
        if picture.under not in technologies
    ]
    problems += [
        study.problem(
            (*place, "cases", index),
            f"rank has no changes of {name}{did_you_mean(name, rank_spec.cases)}",
        )
        for place, picture in study.pictures(ChangesSpec)
        for index, name in enumerate(picture.cases)
        if name not in rank_spec.cases
    ]
    if problems:
        raise SpecError(problems)
    rankings: list[_CaseRanking] = []
    changes: list[_CaseChanges] = []
    for case in rank_spec.cases:
        for technology, settings in settings_under(
            study.cases[case], rank_spec, study.tree
        ).items():
            if rank_spec.of or not rank_spec.changes:
                rankings.append(
                    _case_ranking(
                        evaluator(case, settings, study.library).with_mean_value_default,
                        technology,
                        rank_spec,
                        study,
                    )
                )
            if rank_spec.changes:
                # A model is built once for all changes of numbers that it is computed from, and
                # once more for each other.
                changes.append(ChangeReader(case, settings, rank_spec, study).read(technology))

    def solve(answers: BaseAnswers) -> RankResult:
        return RankResult(
            tuple(ranking.rank(answers) for ranking in rankings),
            tuple(change.solve() for change in changes),
        )

    effect_names = [
        effect_name(change.case, name, change.technology)
        for change in changes
        for name in change.singles
    ]
    # Elasticities are read off the gradients of the cases.
    ranked_cases = lambda: [ranking.case.case for ranking in rankings if ranking.uses_own_answer]
    return Question(
        solve, answer_names=dict.fromkeys(effect_names, EFFECT_VALUES), shares_of=ranked_cases
    )


def settings_under(settings: Settings, spec: RankSpec, tree: Node) -> dict[str, Settings]:
    """Return the settings of a case as written, and under each technology that a ranking names, by
    the name of the technology.
    """
    settings_by_name: dict[str, Settings] = {"": settings}
    for index, name in enumerate(spec.under):
        mark = value_mark(tree, ["rank", "under", index])
        settings_by_name[name] = {**settings, TECHNOLOGY: Scalar(name, name, mark, quoted=True)}
    return settings_by_name


def _case_ranking(
    case: Evaluator, technology: str, spec: RankSpec, study: StudyContext
) -> _CaseRanking:
    """Check the paths to rank in a case under a technology. Return the ranking to be computed."""
    problems: list[Problem] = []
    entries = case.built.entries
    for index, path in enumerate(spec.of):
        if canonical(case.inputs.tree, path) not in entries:
            message = f"{case.case} has no quantity {path!r}{did_you_mean(path, list(entries))}"
            problems.append(study.problem(("rank", "of", index), message))
    if case.inputs.kind == "law" and case.unit(case.form.quantity) != "s":
        message = (
            f"{case.case} gives {case.form.quantity} [{case.unit(case.form.quantity)}], and a"
            " ranking is by the time that a change saves; rank a model or a law that gives a time"
        )
        problems.append(study.problem(("rank",), message))
    if problems:
        raise SpecError(problems)
    return _CaseRanking(case, technology, spec, study)


class _SolvedBy(NamedTuple):
    """The method that solved a model, and whether its time is exact."""

    method: str
    exact: bool


@dataclass(frozen=True)
class _CaseRanking:
    """One case under one technology, whose quantities are ranked; the technology is empty for the
    case as written.
    """

    case: Evaluator
    technology: str
    spec: RankSpec
    study: StudyContext
    time_by_method: dict[str, Value] = field(default_factory=dict)
    """The time of the case by further methods."""

    @property
    def uses_own_answer(self) -> bool:
        """Whether the case's own answer serves as the reference: the ranking has its method and its
        technology.
        """
        from slipstick.method.methods import default_method

        model = self.case.built.model
        return not self.technology and (
            not self.case.must_be_smooth
            or default_method(model) == default_method(model, must_be_smooth=True)
        )

    def rank(self, answers: BaseAnswers) -> Ranking:
        """Rank the quantities of the case by the time that the stated change of each saves.

        The effect of less and of more is computed anew, with the changed value checked like a
        written one; share and elasticity come from the derivatives, and rank nothing.
        """
        case_name = self.case.case
        change = self.spec.change.value
        answer = answers.cases[case_name] if self.uses_own_answer else self.case.answer(ALL_SHARES)
        if answer.failed:
            return Ranking(case_name, change, (), (), self.technology, failed=True)
        paths_wanted = [canonical(self.case.inputs.tree, path) for path in self.spec.of] or [
            path for path in self.case.built.parameters if not _is_size_of_machine(path)
        ]
        rows = [self._best_change_of_quantity(path, change, answer) for path in paths_wanted]
        effective_rows = sorted(
            (row for row in rows if _has_effect(row)), key=_sort_key, reverse=True
        )
        # What may not be changed by that much, such as one server, was not tried and so is not said
        # to have no effect.
        rows_without_effect = [
            row for row in rows if not _has_effect(row) and row["time_saved"] is not None
        ]
        names_without_effect = tuple(str(row.point["parameter"]) for row in rows_without_effect)
        has_uncertain_inputs = bool(self.case.built.uncertain_values.paths)
        rows = effective_rows[: self.spec.most]
        groups = group_names(self.case.built.model)
        group = groups[0] if len(groups) > 1 else ""
        return Ranking(
            case_name,
            change,
            tuple(rows),
            names_without_effect,
            self.technology,
            has_uncertain_inputs,
            group,
            has_untried=len(effective_rows) + len(rows_without_effect) < len(paths_wanted),
            named_idle=names_without_effect if self.spec.of else (),
        )

    def _best_change_of_quantity(self, path: str, change: float, answer: Answer) -> Answer:
        """Solve with a smaller and a larger value of a quantity; return the effect of the change
        that saves more.
        """
        described_value = self.case.built.entries[path]
        time_name = self.case.form.quantity
        value = described_value.given.value
        # Of several groups the first is ranked, whose time has no name of its own here.
        time_before = answer.find(time_name) or 0.0
        # Half of a cost is compared with twice a rate: equal factors.
        effects = {
            _factor_text(factor): self._effect(path, factor, answer)
            for factor in (1 - change, 1 / (1 - change))
        }
        best_change_text = max(effects, key=lambda change_text: _time_saved(effects[change_text]))
        effect = effects[best_change_text]
        (opposite_effect,) = (
            effect for change_text, effect in effects.items() if change_text != best_change_text
        )
        changes_with_answer = [
            change_text
            for change_text, effect in effects.items()
            if effect["time_saved"] is not None
        ]
        share = answer.share.get(time_name, {}).get(path)
        unit = str(described_value.given.dimension)
        elasticity_slopes = answer.gradient.get(time_name) if time_before else {}
        # Some methods have no derivatives.
        elasticity = (
            None
            if elasticity_slopes is None
            else elasticity_slopes.get(path, 0.0) * value / (time_before or 1.0)
        )
        values_before_change = {
            "value": Value(value, unit),
            "share": replace(
                answer.values.get(f"share[{time_name},{path}]", Value(None, "1")), value=share
            ),
            "elasticity": Value(elasticity and zero_if_rounding(elasticity), "1"),
        }
        return Answer(
            "rank",
            " and ".join(dict.fromkeys(filter(None, (answer.method, effect.method)))),
            {
                **values_before_change,
                **effect.values,
                "opposite": opposite_effect.values["time_saved"],
            },
            exact=answer.exact and effect.exact and opposite_effect.exact,
            bound=answer.bound,
            error=answer.error,
            left_out=answer.left_out,
            point={
                "parameter": path,
                "meaning": described_value.meaning,
                "change": best_change_text if changes_with_answer else "",
                "without an answer": " and ".join(
                    change_text for change_text in effects if change_text not in changes_with_answer
                ),
            },
        )

    def _saving_by_paired_draws(
        self, changed_model: BuiltModel, path: str, factor: float, remaining_share: float
    ) -> Value:
        """Return the share of the time that a change saves, with its interval from the same draws
        of uncertain settings before and after the change [1].
        """
        changed_case = replace(self.case, built=changed_model)
        saving_interval = _paired_saving(
            self.case.with_mean_value_default,
            changed_case.with_mean_value_default,
            path,
            factor,
        )
        if saving_interval.low is None or saving_interval.high is None:
            return Value(1 - remaining_share, "1")
        return Value(
            1 - remaining_share,
            "1",
            min(saving_interval.low, 1 - remaining_share),
            max(saving_interval.high, 1 - remaining_share),
        )

    def _effect(self, path: str, factor: float, answer: Answer) -> Answer:
        """Return the effect on the time of one value that is multiplied by a factor. The time saved
        is None if the spec does not allow the value, such as half a processor.
        """
        given_value = self.case.built.entries[path].given
        time_name = self.case.form.quantity
        if given_value.value == 0.0 or not answer.find(time_name):
            return Answer("rank", "", {"time_saved": Value(0.0, "1")}, exact=True)
        node = quantity_node(
            given_value.value * factor, str(given_value.dimension), Mark("rank", 1, 1)
        )
        try:
            changed_model = build(self.case.inputs.with_value(path, node))
        except SpecError:
            return Answer("rank", "", {"time_saved": Value(None, "1")}, exact=True)
        options = changed_model.options
        method = options.method
        if method is None and answer.check is not None and answer.check.word == REPLACED:
            # The check rejected the default method: by that method the change would be compared
            # with an answer of another one.
            method = answer.method
        value_before, (value_after, solved_by) = (
            answer.values[time_name],
            self._solve_model(changed_model, method),
        )
        is_comparable = solved_by.method == answer.method or (answer.exact and solved_by.exact)
        if value_after.value is not None and not is_comparable:
            value_before, value_after, solved_by = self._times_by_one_method(
                changed_model, answer, value_after, solved_by
            )
        if value_after.value is None or not value_before.value:
            time_saved = Value(None, "1")
        elif self.case.built.uncertain_values.paths:
            time_saved = self._saving_by_paired_draws(
                changed_model, path, factor, value_after.value / value_before.value
            )
        else:
            time_saved = reduction(value_after, value_before)
        return Answer("rank", solved_by.method, {"time_saved": time_saved}, exact=solved_by.exact)

    def _times_by_one_method(
        self, changed_model: BuiltModel, answer: Answer, value_after: Value, solved_by: _SolvedBy
    ) -> tuple[Value, Value, _SolvedBy]:
        """Return the times before and after a change, both by the same method, and the name of this
        method: the method of the changed case if it also solves the unchanged one, else the other
        way round. Times by two methods may differ by an error of one of them.
        """
        if solved_by.method not in self.time_by_method:
            self.time_by_method[solved_by.method], _ = self._solve_model(
                self.case.built, solved_by.method
            )
        own_time = self.time_by_method[solved_by.method]
        if own_time.value is not None:
            return own_time, value_after, solved_by
        return answer.values[self.case.form.quantity], *self._solve_model(
            changed_model, answer.method
        )

    def _solve_model(self, built: BuiltModel, method: str | None) -> tuple[Value, _SolvedBy]:
        """Return the time of a model, without a value if the method has no answer, and the method
        that solved it.
        """
        from slipstick.method.methods import form_of

        simulation = built.options.simulation
        try:
            method_form = form_of(
                built.model, built.parameters, method, simulation, self.case.must_be_smooth
            )
        except NoAnswerError:
            return Value(None, "s"), _SolvedBy(method or "", exact=False)
        points = (
            method_form.points({}) if method_form.is_estimated else method_form.brief_points({})
        )
        solution = points.solution
        method_name = next(iter(solution.methods), solution.method)
        solved_by = _SolvedBy(method_name, exact=bool(solution.exact[0]))
        return _value_at_point(points.columns(), self.case.form.quantity, 0), solved_by


def _has_effect(row: Answer) -> bool:
    """Return whether a change of a quantity has any effect on the time."""
    return bool(row["elasticity"]) or bool(row["time_saved"]) or bool(row["opposite"])


def _factor_text(factor: float) -> str:
    """Return a factor on a quantity in words, to be written before the quantity.

    >>> [_factor_text(factor) for factor in (0.5, 2.0, 0.75, 1 / 0.75)]
    ['half', 'twice', '25 % less', '33.3 % more']
    """
    direction = "less" if factor < 1 else "more"
    return {0.5: "half", 2.0: "twice"}.get(factor, f"{percent(abs(factor - 1))} {direction}")


def _changed_path(row: Answer) -> str:
    """Return the path of a ranked quantity after its better change."""
    of = "" if row.point["change"] == "twice" else "of "
    return f"{row.point['change']} {of}{row.point['parameter']}"


def _time_saved(effect: Answer) -> float:
    """Return the time that a change saves; a change without an answer ranks below all others."""
    time_saved = effect["time_saved"]
    return -math.inf if time_saved is None else time_saved


def _sort_key(row: Answer) -> tuple[float, float]:
    """Return the key by which quantities are sorted: the time saved and then, if no time is saved,
    the elasticity.
    """
    return _time_saved(row), abs(row["elasticity"] or 0.0)


_ChangedPoint = tuple[Evaluator, Mapping[str, float]]
"""A case, and the values of its parameters that are changed, in base units."""


@dataclass(frozen=True)
class _CaseChanges:
    """The changes of one case under one technology: the case before any change, with each single
    change, and, if there is a budget, with each pair of changes.
    """

    case: str
    technology: str
    before: _ChangedPoint
    singles: Mapping[str, _ChangedPoint]
    pairs: Mapping[tuple[str, ...], _ChangedPoint]
    spec: RankSpec

    def solve(self) -> ChangeRanking:
        """Solve the case with each change and each pair of changes. Return the ranking; pairs are
        sorted by their effect.

        The gain of a change and of a pair is 1 - after / before of the overhead; ``apart`` of a
        pair is the sum of the gains of its two changes.
        """
        single_changes: dict[tuple[str, ...], _ChangedPoint] = {
            (name,): changed_point for name, changed_point in self.singles.items()
        }
        points = {(): self.before, **single_changes, **dict(self.pairs)}
        answer_by_names, reduced = _solve_changes(points)
        answer_before = answer_by_names[()]
        effects_by_names = {
            names: self._effect(names, answer_after, answer_before)
            for names, answer_after in answer_by_names.items()
            if names
        }
        pair_effects = []
        for names in self.pairs:
            sum_of_single_effects = Value(
                sum(_overhead_reduction(effects_by_names[name,]).value or 0.0 for name in names),
                "1",
            )
            pair_effects.append(
                replace(
                    effects_by_names[names],
                    values={**effects_by_names[names].values, "apart": sum_of_single_effects},
                )
            )
        budget = self.spec.budget
        effects = tuple(effects_by_names[names] for names in single_changes)
        ranking = ChangeRanking(
            self.case,
            self.technology,
            answer_before,
            effects,
            (),
            budget.value if budget else None,
            reduced,
        )
        pair_effects.sort(
            key=lambda pair: (
                not ranking.is_affordable(pair),
                -(_overhead_reduction(pair).value or 0.0),
            )
        )
        return replace(ranking, pairs=tuple(pair_effects))

    def _effect(
        self, names: tuple[str, ...], answer_after: Answer, answer_before: Answer
    ) -> Answer:
        """Return the time saved, the overhead removed and the cost of one or two changes."""
        costs = [
            price.value for name in names if (price := self.spec.changes[name].cost) is not None
        ]
        values = dict(answer_after.values)
        draws = dict[str, Array]()
        for value_name, saving_name in (("time", "time_saved"), ("overhead", "overhead_reduction")):
            if not answer_after.failed and (answer_before[value_name] or 0.0) > 0:
                values[saving_name] = reduction(
                    answer_after.values[value_name], answer_before.values[value_name]
                )
                if answer_before.draws and answer_before.draws.keys() == answer_after.draws.keys():
                    draws[saving_name] = (
                        1 - answer_after.draws[value_name] / answer_before.draws[value_name]
                    )
                    low, high = np.quantile(draws[saving_name], [LOW_PROBABILITY, HIGH_PROBABILITY])
                    mean_value = values[saving_name].value or 0.0
                    values[saving_name] = Value(
                        mean_value, "1", float(min(low, mean_value)), float(max(high, mean_value))
                    )
        technology_point = {"technology": self.technology} if self.technology else {}
        cost_of_point = {"cost": sum(costs)} if len(costs) == len(names) else {}
        return replace(
            answer_after,
            values=values,
            draws=draws,
            point={
                "case": self.case,
                **technology_point,
                "change": " + ".join(names),
                **cost_of_point,
            },
        )


class ChangeReader:
    """A reader of the named changes of one case."""

    def __init__(self, case: str, settings: Settings, rank: RankSpec, study: StudyContext) -> None:
        self.case = case
        self.rank = rank
        self.study = study
        inputs = resolve_once(settings, study.library)
        paths = {
            path for change in rank.changes.values() for path in (*change.values, *change.times)
        }
        # What is set to what it is anyway is there to be varied.
        unset_values = {
            path: inputs.given_quantity(path)
            for path in sorted(paths)
            if node_at(inputs.tree, path) is None
        }
        present_settings = {
            path: quantity_node(*present_value, Mark("rank", 1, 1))
            for path, given_value in unset_values.items()
            if (present_value := _current_value(given_value, path)) is not None
        }
        self.settings = {**present_settings, **settings}
        self.before = evaluator(case, self.settings, study.library).with_mean_value_default

    def read(self, technology: str) -> _CaseChanges:
        """Return the changes of the case under a technology, checked; no technology is an empty
        name.
        """
        changed_values = {
            name: self._changed_values(name, self.before.built.entries)
            for name in self.rank.changes
        }
        point_by_change = {name: self._checked_point(node) for name, node in changed_values.items()}
        point_by_pair: dict[tuple[str, ...], _ChangedPoint] = {}
        for first_name, second_name in (
            combinations(changed_values, 2) if self.rank.budget is not None else ()
        ):
            (case, values), (case_of_second, values_of_second) = (
                point_by_change[first_name],
                point_by_change[second_name],
            )
            if case is case_of_second is self.before and self.before.inputs.can_check_separately(
                values, values_of_second
            ):
                point_by_pair[first_name, second_name] = case, {**values, **values_of_second}
            else:
                # The second is laid over the first, so that factors on one quantity multiply.
                point_by_pair[first_name, second_name] = self._checked_point(
                    {
                        **changed_values[first_name],
                        **self._changed_values(
                            second_name, _descriptions_with_changes(*point_by_change[first_name])
                        ),
                    }
                )
        return _CaseChanges(
            self.case, technology, (self.before, {}), point_by_change, point_by_pair, self.rank
        )

    def _changed_values(self, name: str, entries: Mapping[str, DescribedValue]) -> dict[str, Node]:
        """Return the values that a change sets; its factors multiply the current values of the
        quantities.
        """
        spec = self.rank.changes[name]
        place = ("rank", "changes", name)
        nodes: dict[str, Node] = {}
        for path in spec.values:
            nodes[path] = self.study.node_of((*place, "set", path))
        for path, factor in spec.times.items():
            place_of_factor: Place = (*place, "times", path)
            described_value = entries.get(canonical(self.before.inputs.tree, path))
            present_value = _current_value(described_value.given if described_value else None, path)
            if present_value is None:
                suggestion = did_you_mean(path, list(entries))
                message = f"{self.case} has no quantity {path!r} to multiply{suggestion}"
                raise self.study.refusal(place_of_factor, message, is_at_key=True)
            nodes[path] = quantity_node(
                present_value[0] * factor.value,
                present_value[1],
                value_mark(self.study.tree, place_of_factor),
            )
        return nodes

    def _checked_point(self, nodes: Mapping[str, Node]) -> _ChangedPoint:
        """Check the changed values at their places; return the case and the values to vary,
        building a new model only for values that shape it.
        """
        inputs = self.before.inputs
        paths = {path: canonical(inputs.tree, path) for path in nodes}
        if self.before.built.can_vary(paths.values()):
            for path, node in nodes.items():
                inputs = inputs.with_value(path, node)
            value_by_path = {
                name: changed_quantity.value
                for name in paths.values()
                if (changed_quantity := inputs.given_quantity(name))
            }
            if value_by_path.keys() >= {*paths.values()}:  # else one is a formula, perhaps
                return self.before, value_by_path
        return evaluator(
            self.case, {**self.settings, **nodes}, self.study.library
        ).with_mean_value_default, {}


def _descriptions_with_changes(
    case: Evaluator, values: Mapping[str, float]
) -> Mapping[str, DescribedValue]:
    """Return the descriptions of the quantities with the values of a changed point."""
    entry_by_path = case.built.entries
    given_values = {
        path: replace(entry_by_path[path].given, value=value) for path, value in values.items()
    }
    return {
        **entry_by_path,
        **{
            path: replace(entry_by_path[path], given=given_value)
            for path, given_value in given_values.items()
        },
    }


def _current_value(quantity: Given | None, path: str) -> tuple[float, str] | None:
    """Return the present value and the unit of a quantity. A class of cost without a value has the
    factor 1; return None for other missing quantities.
    """
    if quantity:
        return quantity.value, str(quantity.dimension)
    return (1.0, "1") if path.startswith(f"{TECHNOLOGY}.") else None


def _solve_changes(
    points: Mapping[tuple[str, ...], _ChangedPoint],
) -> tuple[dict[tuple[str, ...], Answer], str]:
    """Return the time and the overhead at each changed point, by the names of its changes, and the
    name of what is reduced; points of the same model are solved together.
    """
    reduced = OVERHEAD
    answers_by_names: dict[tuple[str, ...], Answer] = {}
    for case in {id(case): case for case, _ in points.values()}.values():
        points_of_case = {
            names: values
            for names, (case_of_point, values) in points.items()
            if case_of_point is case
        }
        paths = sorted({path for point in points_of_case.values() for path in point})
        own_values = {path: case.built.parameters[path].value or 0.0 for path in paths}
        varied_columns = {
            path: np.array([point.get(path, own_values[path]) for point in points_of_case.values()])
            for path in paths
        }
        table = case.point_table(varied_columns)
        columns = table.columns
        provenance = table.provenance
        time_name = case.form.quantity
        overhead_name = OVERHEAD if OVERHEAD in columns else time_name
        reduced = overhead_name
        for point_index, names in enumerate(points_of_case):
            values = {
                "time": _value_at_point(columns, time_name, point_index),
                "overhead": _value_at_point(columns, overhead_name, point_index),
            }
            reason = (
                case.reason_without_answer(varied_columns, point_index)
                if values["time"].value is None
                else None
            )
            answers_by_names[names] = Answer(
                "changes",
                values=values,
                failed=reason,
                draws=_draws_at_point(
                    case, points_of_case[names], {"time": time_name, "overhead": overhead_name}
                ),
                **provenance.answer_fields(point_index % len(provenance.methods)),
            )
    return answers_by_names, reduced


def _draws_at_point(
    case: Evaluator, point: Mapping[str, float], column_by_name: Mapping[str, str]
) -> dict[str, Array]:
    """Return draws of the uncertain settings and the values at each draw, by name; empty if no
    setting is uncertain. A change of a setting multiplies each of its draws.
    """
    if not case.built.uncertain_values.paths:
        return {}
    setting_draws = drawn_settings(case.built.uncertain_values, BAND_DRAWS)
    own_values = {path: case.built.parameters[path].value or 1.0 for path in setting_draws}
    moved_draws = {
        path: draws * point.get(path, own_values[path]) / own_values[path]
        for path, draws in setting_draws.items()
    }
    fixed_draws = {path: np.full(BAND_DRAWS, value) for path, value in point.items()}
    columns = case.columns({**fixed_draws, **moved_draws}, set(column_by_name.values()))
    return {**setting_draws, **{name: columns[column] for name, column in column_by_name.items()}}


def _value_at_point(columns: Mapping[str, Array], name: str, index: int) -> Value:
    """Return the value of a column at one point with its interval; a column with one element has
    the same value at all points.
    """
    value, low, high = (
        (
            finite_or_none(float(array[index % len(array)]))
            if (array := columns.get(column)) is not None
            else None
        )
        for column in (name, f"low[{name}]", f"high[{name}]")
    )
    return Value(value, "s", low, high)


def effect_name(case: str, change: str, technology: str) -> str:
    """Return the name under which statements and pictures find the effect of a change.

    >>> effect_name("sor", "no-adapter", ""), effect_name("sor", "no-adapter", "eight-times")
    ('sor-no-adapter', 'sor-no-adapter-eight-times')
    """
    return "-".join(filter(None, (case, change, technology)))


def _reason_undecided(ranking: Ranking) -> str:
    """Return the reason why an order is undecided."""
    return " within the ranges" if ranking.ranges else ", because their intervals overlap"


def _undecided_order_clause(ranking: Ranking) -> str:
    """Return a clause on the adjacent rows of a ranking of estimates that may be in the wrong
    order; empty if there are none.
    """
    pairs_in_words = [
        f"{code(str(upper_row.point['parameter']))} and {code(str(lower_row.point['parameter']))}"
        for upper_row, lower_row in pairwise(ranking.rows)
        if do_overlap(upper_row.values["time_saved"].ends, lower_row.values["time_saved"].ends)
    ]
    return (
        f"Undecided{_reason_undecided(ranking)}: the order of {', of '.join(pairs_in_words)}."
        if pairs_in_words
        else ""
    )


def _best_quantity_sentence(ranking: Ranking) -> str:
    """Return a sentence on the quantity whose change saves most time, solved with that change."""
    rows_without_loads = [row for row in ranking.rows if not _is_load(str(row.point["parameter"]))]
    best_row, *further_rows = rows_without_loads or ranking.rows or (None,)
    if best_row is None:
        if ranking.failed:
            return _NO_RANKING_TEXT
        return f"no change of a quantity{ranking.that_has_an_answer} changes the time"
    time_saved = best_row.values["time_saved"]
    if time_saved.value is None:
        return (
            f"no quantity that changes the time has an answer with {ranking.factor_in_words} less"
            " or more of it; a smaller change may have one"
        )
    if time_saved.value <= 0.0:
        return (
            f"no change of a single quantity by {ranking.factor_in_words}"
            f"{ranking.that_has_an_answer} shortens the time"
        )
    rivals = [
        _changed_path(row)
        for row in further_rows
        if do_overlap(time_saved.ends, row.values["time_saved"].ends)
    ]
    undecided_text = (
        f", undecided against {', '.join(rivals[:MOST_FURTHER_CASES])}"
        f"{' and others' if len(rivals) > MOST_FURTHER_CASES else ''}{_reason_undecided(ranking)}"
        if rivals
        else ""
    )
    if time_saved.low is not None and time_saved.low <= 0.0:
        undecided_text += ", and whether it saves any is undecided"
    return (
        f"among single quantities, {_changed_path(best_row)} helps most:"
        f" it saves {percent(time_saved.value, ends=time_saved.ends)} of"
        f" {ranking.time_in_words}{undecided_text}"
    )


_MOST_CASES_IN_TABLE = 3


def _time_saved_table(rankings: Sequence[Ranking], words: Words) -> Decision | None:
    """Return a table of the time that changes of single quantities save, with a column for each
    case; None if nothing is ranked.
    """
    first_ranking = rankings[0]
    shown_rankings = [ranking for ranking in rankings if ranking.under == first_ranking.under][
        :_MOST_CASES_IN_TABLE
    ]
    time_saved_by_change_of_cases = [
        {
            (row.point["change"], row.point["parameter"]): row.values["time_saved"]
            for row in ranking.rows
        }
        for ranking in shown_rankings
    ]
    rows = [
        [
            words.change(str(row.point["change"]), str(row.point["parameter"])),
            *(
                percent(
                    time_saved_by_change[change_and_parameter].value,
                    ends=time_saved_by_change[change_and_parameter].ends,
                )
                if change_and_parameter in time_saved_by_change
                else NOTHING
                for time_saved_by_change in time_saved_by_change_of_cases
                for change_and_parameter in [(row.point["change"], row.point["parameter"])]
            ),
        ]
        for row in first_ranking.rows[:_MOST_CHOICES]
        if row["time_saved"] is not None and not _is_less_load(row, words)
    ]
    headings = ["change", "time saved"]
    if len(shown_rankings) > 1:
        headings = ["time saved by", *(words.case(ranking.case) for ranking in shown_rankings)]
    return (headings, rows) if len(rows) > 1 else None


def _is_load(path: str) -> bool:
    """Return whether a quantity is an offered load, such as customers, processors or arrivals;
    fewer of them are no improvement.
    """
    first_key, _, path_inside = path.partition(".")
    return first_key == "population" or path_inside.endswith(
        (".population", ".arrivals", ".processors")
    )


def _is_less_load(row: Answer, words: Words) -> bool:
    """Return whether a change is of an offered load, or has fewer processors under another name,
    such as a parameter: a shorter cycle with fewer of them is less work in all.
    """
    path = str(row.point["parameter"])
    is_number_of_members = words.quantity(path) == words.members
    is_less = str(row.point["change"]).endswith(("half", "less"))
    return _is_load(path) or (is_number_of_members and is_less)


def _is_size_of_machine(path: str) -> bool:
    """Return whether a quantity is the number of processors that share a part of a machine: fewer
    of them at one memory are another machine.
    """
    return path.startswith("machine.") and path.endswith(".processors")


_NO_RANKING_TEXT = "no answer, so that no change can be ranked"


_MOST_IDLE = 3
"""Quantities without an effect that a headline names."""


def _quantity_headline(ranking: Ranking, words: Words, are_several: bool) -> str:
    """Return a sentence on the quantity whose change saves most time, with the reader's nouns."""
    size_text = ranking.factor_in_words
    case_prefix = f"{words.case(ranking.case)}: " if are_several else ""
    solved_rows = [
        row
        for row in ranking.rows
        if row["time_saved"] is not None and not _is_less_load(row, words)
    ]
    if ranking.failed:
        return f"{case_prefix}{_NO_RANKING_TEXT}"
    condition_text = ranking.that_has_an_answer
    if not solved_rows:
        outcome_phrase = "has an answer" if condition_text else "shortens the time"
        return f"{case_prefix}no quantity {outcome_phrase} when it is changed by {size_text}"
    best_row, *further_rows = solved_rows
    time_saved = best_row.values["time_saved"]
    if (time_saved.value or 0.0) <= 0.0 or (time_saved.low is not None and time_saved.low <= 0.0):
        certainty_word = "surely " if (time_saved.value or 0.0) > 0.0 else ""
        return (
            f"{case_prefix}no change of a single quantity by {size_text}{condition_text}"
            f" {certainty_word}shortens the time"
        )
    change_text = words.change(str(best_row.point["change"]), str(best_row.point["parameter"]))
    idle_quantities = join_phrases(
        [f"the {words.quantity(path)}" for path in ranking.named_idle[:_MOST_IDLE]]
    )
    idle_text = (
        f"; {idle_quantities} {'have' if len(ranking.named_idle) > 1 else 'has'} no effect on it"
    )
    rivals = [
        row for row in further_rows if do_overlap(time_saved.ends, row.values["time_saved"].ends)
    ]
    next_rows = rivals[:1] or further_rows[:1]
    next_text = ""
    for row in next_rows:
        if (row["time_saved"] or 0.0) < _LEAST_SAVING and not rivals:
            next_text = f"; no other saves {percent(_LEAST_SAVING)}"
            continue
        second_change = words.change(str(row.point["change"]), str(row.point["parameter"]))
        amount_text = percent(row["time_saved"], ends=row.values["time_saved"].ends)
        range_in_words = " within the ranges" if ranking.ranges else ""
        order_text = f"undecided{range_in_words} is whether more than" if rivals else "next comes"
        next_text = f"; {order_text} {second_change} ({amount_text})"
        if not rivals and math.isclose(row["time_saved"] or 0.0, time_saved.value or 0.0):
            next_text = f"; {second_change} saves as much"
    return (
        f"{case_prefix}{change_text} saves most:"
        f" {percent(time_saved.value, ends=time_saved.ends)} of"
        f" {ranking.time_in_words}{next_text}{idle_text * bool(idle_quantities)}"
    )


def _may_be_more(effect: Answer, best_effect: Answer) -> bool:
    """Return whether a change may reduce the overhead more than the best one; common draws decide
    where settings are uncertain.
    """
    name = "overhead_reduction"
    if name in best_effect.draws and name in effect.draws:
        return bool(np.mean(effect.draws[name] > best_effect.draws[name]) > LOW_PROBABILITY)
    return do_overlap(_overhead_reduction(best_effect).ends, _overhead_reduction(effect).ends)


def _change_headline(change_ranking: ChangeRanking, words: Words) -> str:
    """Return a sentence on the change that removes most of the overhead, with the reader's
    nouns.
    """
    best_effect = _best_change(change_ranking)
    overhead_before = change_ranking.before.values["overhead"]
    overhead_text = quantity(overhead_before.value, "s", ends=overhead_before.ends)
    gain = _overhead_reduction(best_effect)
    reduced_words = words.value(change_ranking.reduced)
    if not gain.value or gain.value <= 0:
        return f"no change removes any of the {reduced_words} of {overhead_text}"
    gain_text = percent(gain.value, ends=gain.ends)
    rivals = [
        as_words(str(effect.point["change"]))
        for effect in change_ranking.effects
        if effect is not best_effect and _may_be_more(effect, best_effect)
    ]
    range_in_words = " within the ranges" if best_effect.draws else ""
    undecided_text = (
        f" (undecided{range_in_words} against {join_phrases(rivals[:MOST_FURTHER_CASES])})"
        if rivals
        else ""
    )
    words_of_best = as_words(str(best_effect.point["change"]))
    effect_text = f"removes most overhead{undecided_text}: {gain_text} of {overhead_text}"
    if not change_ranking.has_overhead:
        effect_text = (
            f"shortens the {reduced_words} most{undecided_text}: by {gain_text} of {overhead_text}"
        )
    beginning = f"of single changes, {words_of_best} {effect_text}"
    best_pair = next(filter(change_ranking.is_affordable, change_ranking.pairs), None)
    if best_pair is None:
        return beginning
    pair_text = join_phrases(
        [as_words(name) for name in str(best_pair.point["change"]).split(" + ")]
    )
    gain = _overhead_reduction(best_pair)
    budget_text = (
        "" if change_ranking.budget is None else f" within a budget of {change_ranking.budget:g}"
    )
    return (
        f"{beginning}; the best pair{budget_text} is {pair_text}:"
        f" {percent(gain.value, ends=gain.ends)}"
    )


def _headline_of_counts(technology: str, best_changes: Sequence[Answer]) -> str:
    """Return a sentence on the number of cases in which each change removes most of the overhead,
    and on how much it removes there.
    """
    reductions_by_change: dict[str, list[float]] = {}
    for effect in best_changes:
        reductions_by_change.setdefault(str(effect.point["change"]), []).append(
            _overhead_reduction(effect).value or 0.0
        )
    most_frequent = sorted(reductions_by_change.items(), key=lambda entry: -len(entry[1]))
    (first_change, reductions_of_first), *further_changes = most_frequent[:MOST_FURTHER_CASES]
    technology_text = f'with "{as_words(technology)}", ' if technology else ""
    further_texts = [
        f'"{as_words(change)}" in {len(reductions)} ({_range_of_percent(reductions)})'
        for change, reductions in further_changes
    ]
    text_of_first = (
        f'"{as_words(first_change)}" removes most overhead in {len(reductions_of_first)} of'
        f" {len(best_changes)} cases ({_range_of_percent(reductions_of_first)} of it)"
    )
    return technology_text + join_phrases([text_of_first, *further_texts])


def _range_of_percent(shares: Sequence[float]) -> str:
    """Return the smallest and the largest of some shares in percent as text; one number if there is
    one share.
    """
    lowest_text, highest_text = percent(min(shares)), percent(max(shares))
    return (
        lowest_text
        if lowest_text == highest_text
        else f"{lowest_text.removesuffix(' %')} to {highest_text}"
    )


def _unanswered_changes_sentence(ranking: Ranking) -> str:
    """Return a sentence on the changes that have no answer, for instance because they saturate a
    server; empty if there are none.
    """
    changes = [
        f"{row.point['without an answer']} of {code(str(row.point['parameter']))}"
        for row in ranking.rows
        if row.point["without an answer"]
    ]
    return f"Without an answer: {', '.join(changes)}." if changes else ""


def _case_in_words(ranking: Ranking | ChangeRanking) -> str:
    """Return the case of a ranking with its technology, in words."""
    return f"{ranking.case} under {ranking.under}" if ranking.under else ranking.case


def _quantities_table(ranking: Ranking) -> ResultTable:
    """Return the table of the ranked quantities of a case."""
    rows = ranking.rows

    def column_of(name: str, title: str, **options: Any) -> ResultColumn:
        return ResultColumn.from_values(title, [row.values[name] for row in rows], "1", **options)

    changes = [row.point["change"] or NOTHING for row in rows]
    columns = [
        ResultColumn("parameter", [row.point["parameter"] for row in rows], place=True),
        ResultColumn("meaning", [row.point["meaning"] for row in rows]),
        ResultColumn("value", [row["value"] for row in rows], [row.unit("value") for row in rows]),
        column_of("share", "share", written=as_percent),
        column_of("elasticity", "elasticity", written=lambda value, *_: three_digits(value)),
        ResultColumn("change", changes),
        column_of("time_saved", "time saved", written=as_percent),
        column_of("opposite", "by the opposite", written=as_percent),
    ]
    return ResultTable(
        "", columns, Provenance.of(rows), title=f"### {escape(_case_in_words(ranking))}"
    )


def _changes_table(change_ranking: ChangeRanking) -> ResultTable:
    """Return the table of the effects of the named changes of a case."""
    effects = (*change_ranking.effects, *change_ranking.pairs)
    columns = [
        ResultColumn(
            name, [effect.point.get(name) for effect in effects], place=True, on_page=False
        )
        for name in ("case", "technology")
    ]
    columns.append(
        ResultColumn("change", [effect.point["change"] for effect in effects], place=True)
    )
    columns.append(
        ResultColumn(
            "cost", [effect.point.get("cost") for effect in effects], place=True, written=as_number
        )
    )
    for name, unit in EFFECT_VALUES.items():
        values_of_changes = [effect.values.get(name) for effect in effects]
        write_value = as_percent if unit == "1" else None
        columns.append(
            ResultColumn.from_values(
                name,
                values_of_changes,
                unit,
                title=name.replace("_", " "),
                written=write_value,
                on_page=change_ranking.has_overhead or "overhead" not in name,
            )
        )
    reason_by_row = {row: effect.failed for row, effect in enumerate(effects) if effect.failed}
    title = f"### Changes of {escape(_case_in_words(change_ranking))}"
    return ResultTable(
        "changes",
        columns,
        Provenance.of(effects),
        reason_by_row,
        title,
        range(len(change_ranking.effects)),
    )


def _pairs_table(change_ranking: ChangeRanking) -> str | ResultTable:
    """Return the table of the effects of pairs of changes; a sentence if no pair is within the
    budget.
    """
    pairs_shown = change_ranking.pairs[:_MOST_PAIRS]
    if not pairs_shown:
        return ""
    interaction_effects = [
        round((_overhead_reduction(pair).value or 0.0) - (pair["apart"] or 0.0), 12)
        for pair in pairs_shown
    ]
    columns = [
        ResultColumn("pair", [pair.point["change"] for pair in pairs_shown], place=True),
        ResultColumn("cost", [pair.point.get("cost") for pair in pairs_shown], written=as_number),
        ResultColumn(
            "within the budget",
            ["yes" if change_ranking.is_affordable(pair) else "no" for pair in pairs_shown],
        ),
        ResultColumn.from_values(
            "overhead reduction", map(_overhead_reduction, pairs_shown), "1", written=as_percent
        ),
        ResultColumn(
            "sum of the two", [pair["apart"] for pair in pairs_shown], "1", written=as_percent
        ),
        ResultColumn(
            "difference",
            interaction_effects,
            "1",
            written=lambda value, *_: percent(value, with_sign=True),
        ),
    ]
    return ResultTable("", columns, Provenance.of(pairs_shown))


def _overhead_reduction(answer: Answer) -> Value:
    """Return the overhead reduction of a change. Its number is None if the change has no answer, or
    if there was no overhead before it.
    """
    return answer.values.get("overhead_reduction", Value(None, "1"))


def _best_change_sentence(change_ranking: ChangeRanking) -> str:
    """Return a sentence on the change that removes most of the overhead."""
    values_before = change_ranking.before.values
    overhead_text, time_text = (
        quantity(values_before[name].value, "s", ends=values_before[name].ends)
        for name in ("overhead", "time")
    )
    best_effect = _best_change(change_ranking)
    gain = _overhead_reduction(best_effect)
    if not gain.value or gain.value <= 0:
        return f"no change removes any of the {change_ranking.reduced} of {overhead_text}"
    effect_text = (
        f"removes the most overhead: {percent(gain.value, ends=gain.ends)} of {overhead_text},"
        f" in a time of {time_text}"
    )
    if not change_ranking.has_overhead:
        effect_text = (
            f"shortens {change_ranking.reduced} most: by {percent(gain.value, ends=gain.ends)} of"
            f" {time_text}"
        )
    sentence = f"among single changes, {best_effect.point['change']} {effect_text}"
    rivals = [
        effect
        for effect in change_ranking.effects
        if effect is not best_effect and _may_be_more(effect, best_effect)
    ]
    if rivals:
        rival_names = ", ".join(str(rival.point["change"]) for rival in rivals)
        sentence += (
            f", undecided within the ranges against {rival_names}"
            if best_effect.draws
            else f", undecided against {rival_names}, because their intervals overlap"
        )
    best_pair = next(filter(change_ranking.is_affordable, change_ranking.pairs), None)
    budget_text = (
        "" if change_ranking.budget is None else f" within a budget of {change_ranking.budget:g}"
    )
    if best_pair is None:
        return sentence + (
            f"; no pair costs less than {change_ranking.budget:g}"
            if change_ranking.budget is not None
            else ""
        )
    gain = _overhead_reduction(best_pair)
    pair_in_words = (
        f"{percent(gain.value, ends=gain.ends)}"
        f" ({_joint_effect_text(gain.value or 0.0, best_pair['apart'] or 0.0)})"
    )
    return f"{sentence}; the best pair{budget_text} is {best_pair.point['change']}: {pair_in_words}"


def _best_change(change_ranking: ChangeRanking) -> Answer:
    """Return the effect of the change that removes most of the overhead."""
    return max(change_ranking.effects, key=lambda effect: _overhead_reduction(effect).value or 0.0)


def _joint_effect_text(gain: float, separate_gain: float) -> str:
    # Percentages are written with three digits: from 10 % on, a smaller difference is not visible.
    """Return in words whether two changes together save more or less than the sum of what each
    saves alone.
    """
    if abs(gain - separate_gain) < 5e-4:
        return "as much as the two remove separately"
    return (
        f"{'more' if gain > separate_gain else 'less'} than the {percent(separate_gain)} that the"
        " two remove separately"
    )


_WIDTH_OF_BAR_GROUP = 0.8  # width of a group of bars, as a part of its place
_MOST_BARS_IN_ROW = 20  # in a row, to be read at the width of a page


def _draw_bars(rankings: Sequence[ChangeRanking], title: str, words: Words) -> Figure:
    """Draw a group of bars for each case, a bar for each change."""
    from slipstick_pictures.look import (
        axis_title,
        common_parts_text,
        labels_without_common_parts,
        new_figure,
        tilt_labels,
        with_title_and_legend,
    )

    change_names = [str(effect.point["change"]) for effect in rankings[0].effects]
    bars_in_row = -(-len(rankings) // -(-len(rankings) * len(change_names) // _MOST_BARS_IN_ROW))
    row_count = -(-len(rankings) // bars_in_row)
    figure = new_figure(
        max(6.0, 3.0 + 0.35 * len(change_names) * bars_in_row),
        4.2 if row_count == 1 else 3.0 * row_count,
    )
    labels, common_parts = labels_without_common_parts(
        [words.case(ranking.case) for ranking in rankings]
    )
    for row, axes in enumerate(figure.subplots(row_count, 1, sharey=True, squeeze=False)[:, 0]):
        row_slice = slice(row * bars_in_row, (row + 1) * bars_in_row)
        _draw_groups(axes, rankings[row_slice], change_names)
        axes.set_xticks(range(len(labels[row_slice])), labels[row_slice])
        axes.set_xlim(-0.6, bars_in_row - 0.4)
        if max(map(len, labels)) > 12:
            tilt_labels(axes)
        reduced = "overhead" if rankings[0].has_overhead else "time"
        axes.set_ylabel(axis_title(f"{reduced} reduction", "%"))
    axes.set_xlabel(common_parts_text(common_parts, title))
    return with_title_and_legend(figure, title, "change", *axes.get_legend_handles_labels())


def _draw_groups(
    axes: Axes, rankings: Sequence[ChangeRanking], change_names: Sequence[str]
) -> None:
    """Draw the bars of some cases."""
    from slipstick_pictures.look import draw_intervals, fill_style, fills_of

    bar_width = _WIDTH_OF_BAR_GROUP / len(change_names)
    fills = fills_of(change_names)
    for change_index, change_name in enumerate(change_names):
        effects = [_overhead_reduction(ranking.effects[change_index]) for ranking in rankings]
        heights, low, high = (
            100 * np.array([getattr(effect, value_or_end) for effect in effects], float)
            for value_or_end in ("value", "low", "high")
        )
        heights = np.nan_to_num(heights)
        bar_centres: Array = (
            np.arange(float(len(rankings)))
            - _WIDTH_OF_BAR_GROUP / 2
            + (change_index + 0.5) * bar_width
        )
        axes.bar(
            bar_centres,
            heights,
            bar_width,
            label=as_words(change_name),
            **fill_style(fills[change_name]),
        )
        draw_intervals(axes, bar_centres, heights, low, high)
    axes.axhline(0.0, color="black", linewidth=0.8)


def _paired_saving(case: Evaluator, changed_case: Evaluator, path: str, factor: float) -> Value:
    """Return the interval of the fraction of the first value that a change saves. Both cases are
    solved at the same draws of the uncertain settings, so that common uncertainty cancels.

    Parameters
    ----------
    case : before the change
    changed_case : after it
    path : what was changed
    factor : by which it was multiplied; a draw of it is multiplied as well
    """
    quantity = case.form.quantity
    setting_draws = drawn_settings(case.built.uncertain_values)
    changed_draws = {
        name: value * factor if name == path else value for name, value in setting_draws.items()
    }
    values_before = np.asarray(case.columns(setting_draws, [quantity])[quantity])
    values_after = np.asarray(changed_case.columns(changed_draws, [quantity])[quantity])
    # A draw whose value is 0 before the change saves no share: not finite, refused below.
    with np.errstate(all="ignore"):
        saved_shares = 1 - values_after / values_before
    if not np.isfinite(saved_shares).all():
        return Value(None, "1")
    low, high = np.quantile(saved_shares, [LOW_PROBABILITY, HIGH_PROBABILITY])
    return Value(None, "1", float(low), float(high))
