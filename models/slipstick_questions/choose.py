"""Choices: the values of several quantities, such as servers, that meet conditions at the least of
an objective.

An objective that depends on the varied quantities alone, such as a cost, is known without solving
anything. Points are then solved by rising objective, and the first one that meets all conditions is
the best, since all better points were solved and failed. Conditions on varied quantities alone
leave points out before anything is solved. If more of a quantity never breaks a condition that
holds (`monotone`; taken as stated), points with no more of any quantity than a failed point are
left out as well.

The limit may lie in the interval of an approximate value at points that are better than the best.
These points are then simulated in the order of the objective, until one meets the conditions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from typing import (
    TYPE_CHECKING,
    ClassVar,
    NamedTuple,
)

from slipstick.answer import Answer, Value
from slipstick.errors import (
    NoAnswerError,
    Saturated,
    SpecError,
    UnknownNameError,
    cause_of,
    did_you_mean,
)
from slipstick.expression.nodes import parameters
from slipstick.late import Array, NDArray, dataclass, field, late_pattern, np, replace
from slipstick.limits import ANNOUNCE, announcing_for, check_cost
from slipstick.method.asked import needs_simulation
from slipstick.report.formatting import (
    capitalized,
    do_overlap,
    escape,
    join_phrases,
    percent,
    quantity,
    setting_amount,
    setting_phrase,
    uncapitalized,
    value_amount,
    with_noun,
)
from slipstick.results.question import (
    YES,
    Decision,
    QuestionResult,
    ResultColumn,
    ResultTable,
    TitleAnswer,
    verdict_word,
)
from slipstick.results.sweep import PointTable, Provenance
from slipstick.results.words import NO_WORDS, ONE_VALUE, Words, as_words, is_plural
from slipstick.schema.inputs import METHOD, Settings, resolve
from slipstick.schema.text import Mark, Node, Scalar, Table, leaves, node_at
from slipstick.study.cases import BASE, Place, StudyContext, axis_nodes, quantity_node
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.uncertain import BAND_DRAWS, LOW_PROBABILITY, drawn_columns, interval_ends
from slipstick.vocabulary import DISCIPLINES, SIMULATION
from slipstick_questions.axes import axis_of
from slipstick_questions.choices_picture import SolvedChoices, choices_figure, objective_title
from slipstick_questions.conditions import (
    LIMIT,
    Condition,
    ConditionSides,
    condition_of,
    names_limit,
)
from slipstick_questions.requirements import UnmetRequirement, unmet_requirements
from slipstick_questions.saturation import SATURATED_AMOUNT, unbounded
from slipstick_questions.sign_changes import decide
from slipstick_questions.specs import ChoicesPictureSpec, ChooseQuestionSpec
from slipstick_questions.title_limits import notes_on_missing_condition

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Rows = NDArray[np.intp]

POINTS_PER_BATCH = 32
"""The number of points solved at a time where they are not simulated."""

LONGEST_RUN_FACTOR = 64.0
"""The longest run that is to decide a condition, as a multiple of the first."""

MOST_SIMULATED_POINTS = 16
"""The largest number of points of a case that are simulated in the order of the objective because
their approximate values do not decide.
"""

_MOST_FURTHER_CASES = 4
"""Further cases in the sentence at the head of a report, which the table below it has in full."""

_MOST_LIMITED_VALUES = 2
"""Limited values that a headline states; with more it says that all limits are kept."""

_UTILIZATION = late_pattern(r"utilization\[([^,\]]+)\]")
"""The utilization of a resource by all customers."""

OBJECTIVE = "objective"
COST = "cost"

_ValuesVaried = tuple[float | str, ...]
"""The varied values at a point, by which it is found again."""


@dataclass(frozen=True, slots=True)
class ChosenPoints:
    """What was chosen for one case.

    Parameters
    ----------
    case : the case
    units : base unit of each quantity that is varied, by path
    objective, conditions : as written
    points : how many there are, and how many of them the conditions on what is varied leave
    solved : how many were solved
    ordered : they were solved by rising objective, so that what is better than the best was solved
    monotone : points with no more of anything than one that failed were left out
    found : the best point, then the runners-up, each with ``objective``, and for each condition
        ``value[1]`` and ``slack[1]``: what it is about, and how far that is from the limit, above 0
        where it holds; and with the values that the study asks for
    asked : names of the values that the study asks for
    undecided : points that may be better, of which estimates do not tell whether they meet the
        conditions
    rivals : points whose objective may be less, because its interval overlaps that of the best
    unanswered : how many points that were solved have no answer though nothing is saturated there
    reason : why the first point without the values of all conditions has none of them
    saturated : the values of the largest point that is saturated, and which station is
    unmet : requirements of the model that leave no point with an answer
    contradicted : a point that meets the conditions, and one with no less of anything that breaks
        one, where points were left out as if there were none
    ranges : settings have ranges, the same at all points
    nearest : where no point meets the conditions, the one that is nearest to it
    worst : the condition that is farthest from being met there
    without_waiting : where no point meets the conditions, and none would with so many servers that
        nothing waits, the point with that many servers
    currency : of the objective, such as dollars; empty where none is given
    totals : formulas of the varied values at the best point, by what they count
    is_objective_told : the objective is one of what is chosen or of the totals
    simulated : how many points were simulated because their approximate values do not decide
    could_simulate : a simulation may decide where approximate values do not
    solved_choices : the points solved, for a picture; None where no condition limits an answer
    """

    case: str
    units: Mapping[str, str]
    objective: str
    conditions: tuple[str, ...]
    points: tuple[int, int]
    solved: int
    ordered: bool
    monotone: bool
    found: tuple[Answer, ...] = ()
    asked: tuple[str, ...] = ()
    undecided: tuple[Answer, ...] = ()
    rivals: tuple[Answer, ...] = ()
    unanswered: int = 0
    reason: str = ""
    saturated: tuple[Mapping[str, float], str] | None = field(default=None, repr=False)
    unmet: tuple[UnmetRequirement, ...] = ()
    contradicted: tuple[Answer, Answer] | None = None
    ranges: bool = False
    nearest: Answer | None = None
    worst: int = 0
    without_waiting: Answer | None = None
    currency: str = ""
    totals: Mapping[str, str] = field(default_factory=dict)
    is_objective_told: bool = False
    simulated: int = 0
    could_simulate: bool = False
    solved_choices: SolvedChoices | None = field(default=None, repr=False, compare=False)

    @property
    def busiest(self) -> tuple[str, Value] | None:
        """The resource with the highest utilization at the best point, and this utilization; None
        if the model has no resources.
        """
        if not self.found:
            return None
        utilizations = [
            (resource_match[1], value)
            for name, value in self.found[0].values.items()
            if (resource_match := _UTILIZATION.fullmatch(name)) and value.value is not None
        ]
        return max(utilizations, key=lambda pair: pair[1].value or 0.0, default=None)

    @property
    def limited(self) -> set[str]:
        """The values that stand alone on the left side of a condition."""
        return {match[1] for match in map(LIMIT.match, self.conditions) if match}

    @property
    def asked_beside(self) -> list[str]:
        """The values asked for that are neither limited nor the utilization of a resource; that of
        the busiest one is stated.
        """
        return [
            name
            for name in self.asked
            if name not in (*self.limited, self.objective) and not _UTILIZATION.fullmatch(name)
        ]

    @property
    def perhaps_better(self) -> tuple[Answer, ...]:
        """The points that may be better than the best; the report names the first of them."""
        return *self.undecided, *self.rivals

    @property
    def meets_conditions(self) -> bool | None:
        """Whether a point meets the conditions; None if that is undecided. A saturated point meets
        none.
        """
        if self.found:
            return True
        return None if self.undecided or (self.unanswered and self.nearest is None) else False


@dataclass(frozen=True, slots=True)
class ChooseResult(QuestionResult):
    """The chosen points, case by case."""

    title: ClassVar[str] = "Choices"
    asked_by: ClassVar[str] = r"\b(?:how (?:far|many|much|large|long|often|high|small)|which)\b"
    reading: ClassVar[str] = (
        "Slack is the distance of a value from its limit; above 0, the condition is met. A point is"
        " undecided if the limit lies in the interval of an approximate value, or of a simulated"
        " value after the longest run. If approximate values do not decide, up to"
        f" {MOST_SIMULATED_POINTS} points of a case are simulated, the best first, until one meets"
        " the conditions."
    )
    choices: tuple[ChosenPoints, ...]
    choices_are_alternatives: bool = field(default=False, repr=False)
    """The cases are chosen among too, and the best comes first."""

    def sentences(self) -> list[str]:
        """Return sentences on the chosen point of each case, the slack of each condition there, and
        why no other point is better.
        """
        return [
            f"{choice.case}: {line}"
            for choice in self.choices
            for line in _choice_sentences(choice)
        ]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.choices) > 1 + _MOST_FURTHER_CASES

    def answers_amount_in(self, title: str) -> bool:
        """Return whether a title names the limit of a condition, such as 300 ms."""
        return any(
            names_limit(title, condition)
            for choice in self.choices
            for condition in choice.conditions
        )

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the chosen points of the first cases."""
        shown_choices = self.choices[: 1 + _MOST_FURTHER_CASES]
        kept_choices = [choice for choice in shown_choices if choice.found]
        missed_choices = [choice for choice in shown_choices if not choice.found]
        headlines = self._headlines_of_points(kept_choices, words)
        headlines += _headlines_without_choice(missed_choices, words, len(self.choices) > 1)
        is_list_of_next = self.choices_are_alternatives and not missed_choices
        return headlines if is_list_of_next else [". ".join(map(capitalized, headlines))]

    def _headlines_of_points(self, choices: Sequence[ChosenPoints], words: Words) -> list[str]:
        """Return sentences on the chosen points. If the study also chooses among cases, return one
        sentence on the best case and one on the next.
        """
        if not choices:
            return []
        first_choice, *further_choices = choices
        choice_count = len(self.choices)
        first_case = words.case(first_choice.case) if choice_count > 1 else ""
        adjective = "cheapest" if _is_cost(first_choice.objective) else "best"
        if [*first_choice.units] == [first_choice.objective]:
            meaning = words.quantity(first_choice.objective)
            is_count = is_plural(meaning.partition(" ")[0]) or is_plural(meaning)
            adjective = "fewest" if is_count else "least"
        is_plural_verb = len(first_choice.units) > 1 or adjective == "fewest"
        certainty = ""
        if adjective == "cheapest" and any(choice.undecided for choice in choices):
            certainty = f"that surely {'suffice' if is_plural_verb else 'suffices'} "
        beginning = f"the {adjective} {certainty}{'are' if is_plural_verb else 'is'}"
        if first_case:
            beginning = f"{first_case}: {beginning}"
        if self.choices_are_alternatives and first_case:
            beginning = (
                f"{first_case}{self._equals_clause(words, adjective)} of {choice_count}, with"
            )
        first_headline = _first_headline(first_choice, words, beginning)
        if self.choices_are_alternatives and len(choices) == len(
            self.choices[: 1 + _MOST_FURTHER_CASES]
        ):
            next_cases = [f"next {_alternatives_text(further_choices, words)}"]
            return [first_headline, *(next_cases if further_choices else [])]
        return [
            first_headline,
            *(
                _further_headline(choice, words, words.case(choice.case))
                for choice in further_choices
            ),
        ]

    def _equals_clause(self, words: Words, adjective: str) -> str:
        """Return a clause on the first case, which is the best one, and on the other cases that
        have the same least objective, or perhaps a smaller one.
        """
        first_choice, *further_choices = self.choices
        if not first_choice.found:
            return f" is the {adjective}"
        best_objective = _objective_of_best(first_choice)
        interval = first_choice.found[0].values[OBJECTIVE].ends
        equal_cases, rival_cases = list[str](), list[str]()
        for choice in further_choices:
            points_of_choice = [*choice.found[:1], *choice.undecided]
            has_overlap = any(
                do_overlap(interval, point.ends(OBJECTIVE)) for point in points_of_choice
            )
            least_objective = min(
                (point.find(OBJECTIVE) or 0.0 for point in points_of_choice), default=math.inf
            )
            if has_overlap or least_objective < best_objective:
                rival_cases.append(words.case(choice.case))
            elif math.isclose(least_objective, best_objective):
                equal_cases.append(words.case(choice.case))
        doubt_clause = f" (undecided against {join_phrases(rival_cases)})" if rival_cases else ""
        equals_in_words = f", like {join_phrases(equal_cases)}," if equal_cases else ""
        return f"{doubt_clause}{equals_in_words} is the {adjective}"

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer:
        """Return whether a point meets the conditions, as an answer to the title."""
        truths = [choice.meets_conditions for choice in self.choices]
        is_any_enough = self.choices_are_alternatives and True in truths
        word = YES if is_any_enough else verdict_word(truths)
        headline = self.headline(words)[0]
        has_title_first = len(self.choices) > 1 and any(choice.found for choice in self.choices)
        return TitleAnswer(word, headline if has_title_first else uncapitalized(headline))

    def doubt(self, words: Words = NO_WORDS) -> str:
        """Return a phrase on the points that were simulated to decide a choice."""
        simulated_count = sum(choice.simulated for choice in self.choices)
        if not simulated_count:
            return ""
        subject = with_noun(simulated_count, "combination")
        verb = "was" if simulated_count == 1 else "were"
        return f"{subject} {verb} simulated, because approximate values do not decide the choice"

    def examined_cases(self) -> list[str]:
        """List the cases for which a point was chosen."""
        return [choice.case for choice in self.choices]

    def searched_paths(self) -> list[str]:
        """List the quantities that were chosen."""
        return [*self.choices[0].units]

    def decision(self, words: Words) -> Decision | None:
        """Return a table of the best point of each case and of the limits that it meets."""
        first_choice = self.choices[0]
        comparable_choices = [
            choice
            for choice in self.choices
            if [*choice.units] == [*first_choice.units] and choice.found
        ]
        if not comparable_choices:
            return None
        objective = objective_title(first_choice.objective, words, "least value")
        unit = f" ({first_choice.currency})" if first_choice.currency else ""
        headings = [
            "",
            *map(as_words, first_choice.totals),
            *map(words.quantity, first_choice.units),
        ]
        headings += [] if first_choice.is_objective_told else [f"{objective}{unit}"]
        headings += [
            words.limited_value(first_choice.conditions[condition_index])
            for condition_index in _conditions_on_values(first_choice)
        ]
        headings += map(words.value, first_choice.asked_beside)
        headings += ["highest utilization"] if first_choice.busiest else []
        # The point that is chosen for the base alone is not the base.
        is_of_base = [words.case(choice.case) for choice in self.choices] == [BASE]
        return headings, [
            [
                "chosen" if is_of_base else words.case(choice.case),
                *_cells_of_decision(choice, words),
            ]
            for choice in comparable_choices
        ]

    def sentences_beside_tables(self) -> list[str]:
        """Return sentences on the chosen points and why they are the best, which the tables do not
        have.
        """
        return [f"{choice.case}: {next(_choice_sentences(choice))}" for choice in self.choices]

    def draw(
        self, spec: ChoicesPictureSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw the limited value against the objective at the points solved for each case."""
        choices_by_case = {
            choice.case: choice.solved_choices
            for choice in self.choices
            if choice.solved_choices is not None and spec.case in (None, choice.case)
        }
        return choices_figure(choices_by_case, spec.title, words)

    def parts(self) -> Iterator[ResultTable]:
        """Yield a table of the best point and the runners-up of each case; if no point meets the
        conditions, of the point that is nearest to meeting them.
        """
        choices_by_columns: dict[tuple[object, ...], list[ChosenPoints]] = {}
        for choice in self.choices:
            choices_by_columns.setdefault(
                (tuple(choice.units.items()), choice.objective, choice.conditions), []
            ).append(choice)
        yield from map(_table_of_choices, choices_by_columns.values())


@dataclass(frozen=True)
class _Choosing:
    """The choice to make for one case: for each path the candidate values in rising order with
    their nodes, the objective and the condition.
    """

    case: Evaluator
    settings: Settings
    study: StudyContext
    spec: ChooseQuestionSpec
    values: Mapping[str, Sequence[float]]
    nodes: Mapping[str, Sequence[Node]]
    units: Mapping[str, str]
    prices: Mapping[str, float]
    objective: Condition
    condition: Condition
    totals: Mapping[str, Condition]

    def varied_values(self, rows: Rows) -> dict[str, Array]:
        """Return the varied values, and the sum of their costs, at the points with the given rows
        [points].
        """
        value_columns = {
            path: np.array(values)[rows[:, column_index]]
            for column_index, (path, values) in enumerate(self.values.items())
        }
        return {
            **value_columns,
            COST: sum(
                (price * value_columns[path] for path, price in self.prices.items()),
                np.zeros(len(rows)),
            ),
        }

    def needs_no_solving(self, condition: Condition) -> list[bool]:
        """Return for each part of a condition whether it depends on varied values only, so that no
        model need be solved for it.
        """
        parameters_by_part = (
            parameters(part_condition.left, part_condition.right)
            for part_condition in condition.parts
        )
        return [
            all(condition.columns.get(name.name) in self.condition.given_columns for name in name)
            for name in parameters_by_part
        ]

    def known_objective(self, rows: Rows) -> Array:
        """Return the objective at points [points]; it depends on varied values only."""
        return np.broadcast_to(
            self.objective.sides(self.varied_values(rows))[0].left[0], (len(rows),)
        )

    def row_of(self, answer: Answer) -> Rows:
        """Return the row of the point of an answer: the index of the value of each quantity."""
        return np.array(
            [values.index(float(answer.point[path])) for path, values in self.values.items()]
        )

    @cached_property
    def simulated(self) -> _Choosing | None:
        """The same choice, solved by simulation, where that may decide what approximate values do
        not: the study names no method, what is uncertain is no setting, and a simulation answers.
        """
        case = self.case
        if (
            METHOD in self.settings
            or case.form.is_estimated
            or case.built.uncertain_values.paths
            or not all(self.needs_no_solving(self.objective))
        ):
            return None
        method = Scalar(SIMULATION, SIMULATION, Mark("", 1, 1), quoted=False)
        settings = {**self.settings, METHOD: method}
        try:
            simulated_case = evaluator(case.case, settings, self.study.library)
        except SpecError:
            return None
        return replace(self, case=simulated_case, settings=settings)

    @property
    def without_waiting(self) -> _Choosing | None:
        """The same choice with so many servers that hardly anything waits, where only numbers of
        servers are varied.
        """
        if not all(path.endswith(".servers") for path in self.values):
            return None
        counts = {path: _MANY_TIMES * values[-1] for path, values in self.values.items()}
        return replace(
            self,
            values={path: [count] for path, count in counts.items()},
            nodes={
                path: [quantity_node(count, self.units[path], self.nodes[path][-1].mark)]
                for path, count in counts.items()
            },
        )

    def totals_at(self, answer: Answer) -> dict[str, str]:
        """Return the totals at a point as texts with their units, by name."""
        values_of_point = self.varied_values(self.row_of(answer)[np.newaxis])
        return {
            name: quantity(
                float(total.sides(values_of_point)[0].left[0, 0]),
                str(total.parts[0].left.dimension),
            )
            for name, total in self.totals.items()
        }

    @cached_property
    def shaping_columns(self) -> list[int]:
        """The indices of the quantities whose values need a model of their own."""
        return [
            column
            for column, path in enumerate(self.values)
            if path not in self.case.built.free_paths
        ]

    def case_with_values(self, value_indices: Sequence[int]) -> Evaluator:
        """Return the case with values of the quantities that shape the model, given by their
        indices.
        """
        paths = [list(self.values)[column_index] for column_index in self.shaping_columns]
        nodes = {
            path: self.nodes[path][column_index]
            for path, column_index in zip(paths, value_indices, strict=True)
        }
        return evaluator(self.case.case, {**self.settings, **nodes}, self.study.library)

    def groups_by_model(self, rows: Rows) -> Iterator[tuple[Rows, Evaluator, dict[str, Array]]]:
        """Yield groups of points that share a model: their row numbers, the case, and the values
        that vary.
        """
        values = self.varied_values(rows)
        shaping_columns = self.shaping_columns
        groups: dict[tuple[int, ...], list[int]] = {}
        for index, row in enumerate(rows[:, shaping_columns].tolist()):
            groups.setdefault(tuple(row), []).append(index)
        for value_indices, indices in groups.items():
            values_by_path = {
                path: values[path][indices]
                for column, path in enumerate(self.values)
                if column not in shaping_columns
            }
            yield np.array(indices), self.case_with_values(value_indices), values_by_path

    def unmet_requirements(self, rows: Rows) -> tuple[UnmetRequirement, ...]:
        """Return the requirements of the model that leave no point with an answer."""
        groups = (
            (indices, getattr(case.built.sample.model, "requires", ()), values_by_path)
            for indices, case, values_by_path in self.groups_by_model(rows)
        )
        values = self.varied_values(rows)
        return tuple(unmet_requirements(groups, {path: values[path] for path in self.values}))

    def solve(self, rows: Rows, run_factor: float, value_names: Collection[str] = ()) -> PointTable:
        """Solve points, those with the same model together. Return their answers in a table, with
        the reason for each point without an answer; `value_names` are further values.
        """
        needed_columns = {
            *self.condition.needed_columns,
            *self.objective.needed_columns,
            *value_names,
        }
        tables_of_groups = []
        for indices, case, values_by_path in self.groups_by_model(rows):
            longer_case = case.with_longer_simulations(run_factor)
            with announcing_for(self._model_in_words(rows, int(indices[0]))):
                # A time at a saturated resource is longer than every limit.
                table = unbounded(longer_case).point_table(
                    values_by_path, needed_columns, with_reasons=True
                )
            intervals = interval_ends(longer_case, values_by_path, table.columns, len(indices))
            provenance = table.provenance
            if intervals:
                provenance = replace(provenance, exact=[False] * len(indices))
            columns = {**table.columns, **intervals}
            tables_of_groups.append(
                (indices, replace(table, columns=columns, provenance=provenance))
            )
        joined_table = PointTable.join(len(rows), tables_of_groups)
        return replace(joined_table, columns={**joined_table.columns, **self.varied_values(rows)})

    def _model_in_words(self, rows: Rows, index: int) -> str:
        """Return the case, and the values that shape the model of a point."""
        values = self.varied_values(rows[index : index + 1])
        paths = [list(self.values)[column] for column in self.shaping_columns]
        return ", ".join([self.case.case, *(f"{path} = {values[path][0]:g}" for path in paths)])

    def with_asked_values(self, answer: Answer, run_factor: float) -> Answer:
        """Return the answer of a solved point with the values that the study asks for and the
        utilization of each resource. It is solved once more, because only the best points need
        them.
        """
        units = {
            name: unit
            for name, unit in self.case.names.items()
            if name in self.study.spec.answer or _UTILIZATION.fullmatch(name)
        }
        keys_by_name = {name: (name, f"low[{name}]", f"high[{name}]") for name in units}
        columns = self.solve(
            self.row_of(answer)[np.newaxis],
            run_factor,
            [*chain.from_iterable(keys_by_name.values())],
        ).columns
        values = {
            name: _interval_value([columns.get(key, columns[name])[0] for key in keys], units[name])
            for name, keys in keys_by_name.items()
            if name in columns
        }
        return replace(answer, values={**answer.values, **values})

    def drawn_objectives(self, answer: Answer) -> Array:
        """Return the objective of a point for each draw of the uncertain settings; the draws are
        the same at all points [draws].
        """
        row = self.row_of(answer)
        values_of_point = self.varied_values(row[np.newaxis])
        case = self.case_with_values([int(row[index]) for index in self.shaping_columns])
        values_by_path = {
            path: values_of_point[path]
            for index, path in enumerate(self.values)
            if index not in self.shaping_columns
        }
        columns = drawn_columns(case, values_by_path, self.objective.needed_columns, 1)
        columns_at_draws = {name: column[:, 0] for name, column in columns.items()}
        columns_at_draws |= {
            path: np.repeat(value, BAND_DRAWS) for path, value in values_of_point.items()
        }
        drawn_values: Array = self.objective.sides(columns_at_draws)[0].left[0]
        return drawn_values


def read(choose_spec: ChooseQuestionSpec, study: StudyContext) -> Question:
    """Read the question of a study; nothing is solved, and only the first model of each case is
    built.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, there are too many points, or a
        condition is none
    """
    cases = [_read_case(case, choose_spec, study) for case in choose_spec.cases]

    def solve(answers: BaseAnswers) -> ChooseResult:
        choices = [_chosen_points(case) for case in cases]
        if choose_spec.cases_are_choices:
            choices.sort(key=_objective_of_best)
        return ChooseResult(tuple(choices), choose_spec.cases_are_choices)

    problems = [
        study.problem((*place, "case"), str(UnknownNameError("case", picture.case, spec_cases)))
        for place, picture in study.pictures(ChoicesPictureSpec)
        if picture.case and picture.case not in (spec_cases := list(choose_spec.cases))
    ]
    if problems:
        raise SpecError(problems)
    needs_solving = not all(cases[0].needs_no_solving(cases[0].condition))
    title = capitalized(NO_WORDS.condition(choose_spec.where)) if needs_solving else ""
    picture = ChoicesPictureSpec(kind="choices", name="choices", title=title)
    notes = notes_on_missing_condition(study, "choose")
    return Question(
        solve,
        notes=lambda: notes,
        pictures=[picture] if needs_solving else [],
    )


def _objective_of_best(choice: ChosenPoints) -> float:
    """Return the objective at the best point of a case; infinity if no point meets the
    conditions.
    """
    objective = choice.found[0].find(OBJECTIVE) if choice.found else None
    return math.inf if objective is None else objective


class _Choices(NamedTuple):
    """The quantities to choose in a case, by path: their candidate values in increasing order, as
    they are written, and their units.
    """

    values: dict[str, Sequence[float]]
    nodes: dict[str, Sequence[Node]]
    units: dict[str, str]


def _read_choices(name: str, spec: ChooseQuestionSpec, study: StudyContext) -> _Choices:
    """Read the quantities to choose and their candidate values in a case; raise for unknown paths,
    and for too many points.
    """
    settings = study.cases[name]
    inputs = resolve(settings, study.library)
    paths_in_file = (path for path, _ in leaves(inputs.tree))
    paths = dict.fromkeys([*evaluator(name, settings, study.library).built.entries, *paths_in_file])
    known_paths = [path for path in paths if _is_meaningful_quantity(path, inputs.tree)]
    choices = _Choices({}, {}, {})
    for path_as_written, axis_spec in spec.vary.items():
        place: Place = ("choose", "vary", path_as_written)
        axis_values = axis_nodes(axis_spec, study.node_of(place), place)
        for path in _matching_quantities(path_as_written, known_paths, place, name, study):
            axis = axis_of(path, axis_values, inputs)
            if axis.has_names:
                raise study.refusal(
                    place, f"{path} is no number; what is chosen among is numbers, such as servers"
                )
            values_and_nodes = sorted(
                zip(map(float, axis.values), axis_values, strict=True), key=lambda pair: pair[0]
            )
            choices.values[axis.path], choices.nodes[axis.path] = zip(
                *values_and_nodes, strict=True
            )
            choices.units[axis.path] = axis.unit
    point_count = math.prod(map(len, choices.values.values()))
    refusal = partial(study.refusal, ("choose", "vary"))
    check_cost(
        "choices", point_count, f"{point_count:,} points to choose among", "vary less", refusal
    )
    return choices


def _read_case(name: str, spec: ChooseQuestionSpec, study: StudyContext) -> _Choosing:
    """Read the question for one case: its choices, and the formulas of condition, objective and
    totals.
    """
    choices = _read_choices(name, spec, study)
    prices: dict[str, float] = {}
    for path_as_written, price in spec.cost.items():
        place: Place = ("choose", "cost", path_as_written)
        for path in _matching_quantities(path_as_written, list(choices.values), place, name, study):
            prices.setdefault(path, price)
    first_choice = {path: nodes[0] for path, nodes in choices.nodes.items()}
    settings = {**study.cases[name], **first_choice}
    case = evaluator(name, settings, study.library)
    given_units = {**choices.units, **({COST: "1"} if prices else {})}
    if spec.minimize == COST and not prices and COST not in {*spec.totals, *case.names}:
        message = "there is no cost; write cost: {PATH: NUMBER}, the cost of one unit of a quantity"
        raise study.refusal(("choose", "minimize"), message)
    read = partial(condition_of, case=case, study=study, given_units=given_units)
    condition = read(spec.where, ("choose", "where"), formulas=spec.totals)
    # A total may be minimized by its name.
    objective_text = spec.totals.get(spec.minimize, spec.minimize)
    objective = read(objective_text, ("choose", "minimize"), formulas=spec.totals, is_formula=True)
    totals = {
        label: read(text, ("choose", "totals", label), is_formula=True)
        for label, text in spec.totals.items()
    }
    case_choice = _Choosing(
        case, settings, study, spec, *choices, prices, objective, condition, totals
    )
    for label, total in totals.items():
        if not all(case_choice.needs_no_solving(total)):
            message = f"{label} needs a value that is not varied; write a formula of what vary has"
            raise study.refusal(("choose", "totals", label), message)
    return case_choice


def _is_meaningful_quantity(path: str, tree: Table) -> bool:
    """Return whether the number of servers at a path of a station means something; it does not for
    a station with rates or with a server for each customer.
    """
    *keys_of_station, key = path.split(".")
    if key != "servers":
        return True
    discipline = node_at(tree, [*keys_of_station, "discipline"])
    is_delay = isinstance(discipline, Scalar) and DISCIPLINES[discipline.text].delay
    return not is_delay and node_at(tree, [*keys_of_station, "rates"]) is None


def _matching_quantities(
    path_as_written: str, known_paths: Sequence[str], place: Place, case: str, study: StudyContext
) -> list[str]:
    """Return the paths of the quantities that match a pattern, in which * stands for one key;
    without *, the path itself, which the file need not have.
    """
    if "*" not in path_as_written and place[1] == "vary":
        return [path_as_written]
    pattern = re.compile(re.escape(path_as_written).replace(r"\*", r"[^.]+"))
    if not (matching_paths := [path for path in known_paths if pattern.fullmatch(path)]):
        message = (
            f"{case} has no quantity {path_as_written!r} to"
            f" choose{did_you_mean(path_as_written, known_paths)}"
        )
        raise study.refusal(place, message, is_at_key=True)
    return matching_paths


@dataclass
class _Enumeration:
    """The points solved so far: `found` and `undecided` as pairs of objective and answer, `failed`
    as triples of the margin of the worst condition, its index and the answer.
    """

    choosing: _Choosing
    found: list[tuple[float, Answer]] = field(default_factory=list)
    undecided: list[tuple[float, Answer]] = field(default_factory=list)
    failed: list[tuple[float, int, Answer]] = field(default_factory=list)
    failed_rows: list[Rows] = field(default_factory=list)
    meeting_points: list[tuple[Rows, Answer]] = field(default_factory=list)
    failing_points: list[tuple[Rows, Answer]] = field(default_factory=list)
    solved: int = 0
    unanswered: int = 0
    reason: str = ""
    saturated: tuple[Rows, str] | None = None
    solver_by_point: dict[_ValuesVaried, tuple[_Choosing, float]] = field(default_factory=dict)
    simulated: int = 0

    def solve(self, rows: Rows) -> None:
        """Solve points, with longer runs until each is decided, and add each to the points that
        meet the conditions, that fail, or that stay undecided.
        """
        choosing = self.choosing
        run_factor = 1.0
        open_rows = rows
        self.solved += len(rows)
        while len(open_rows):
            table = choosing.solve(open_rows, run_factor)
            sides_of_parts = choosing.condition.sides(table.columns)
            (objective,) = choosing.objective.sides(table.columns)
            margins = np.array([condition_sides.margin for condition_sides in sides_of_parts])
            state_by_part_and_row = np.array(
                [
                    decide(condition_sides.margin, condition_sides.holds)
                    for condition_sides in sides_of_parts
                ]
            )
            # One condition that surely fails is enough; all have to hold for sure.
            state_by_row = np.where(
                (state_by_part_and_row < 0).any(axis=0),
                -1,
                np.where((state_by_part_and_row > 0).all(axis=0), 1, 0),
            )
            has_values: NDArray[np.bool_] = np.isfinite(
                np.array([*margins[:, 0], objective.left[0]])
            ).all(axis=0)
            is_extended = (
                (state_by_row == 0)
                & has_values
                & choosing.case.form.is_estimated
                & (run_factor < LONGEST_RUN_FACTOR)
            )
            for point_index in np.flatnonzero(~is_extended).tolist():
                objective_value = float(objective.left[0, point_index])
                answer = self._answer_at_point(
                    open_rows[point_index], sides_of_parts, objective, point_index, table.provenance
                )
                if has_values[point_index] and state_by_row[point_index] > 0:
                    self.found.append((objective_value, answer))
                    self.solver_by_point[_point_of(answer)] = choosing, run_factor
                    self.meeting_points.append((open_rows[point_index], answer))
                elif has_values[point_index] and state_by_row[point_index] == 0:
                    self.undecided.append((objective_value, answer))
                elif has_values[point_index] and point_index not in table.failed:
                    worst_part = int(np.argmin(margins[:, 0, point_index]))
                    self.failed.append(
                        (float(margins[worst_part, 0, point_index]), worst_part, answer)
                    )
                    self.failed_rows.append(open_rows[point_index])
                    self.failing_points.append((open_rows[point_index], answer))
                else:
                    reason = table.failed.get(point_index, "")
                    self.reason = self.reason or reason or self._missing_values_text(table)
                    if isinstance(reason, Saturated):
                        self.failed_rows.append(open_rows[point_index])
                        largest_row, _ = self.saturated or (open_rows[point_index] * 0 - 1, "")
                        if open_rows[point_index].sum() > largest_row.sum():
                            self.saturated = open_rows[point_index], reason
                    else:
                        # Less of everything may have an answer, so nothing follows for it.
                        self.unanswered += 1
            open_rows = open_rows[is_extended]
            run_factor = 4.0 * run_factor

    def _missing_values_text(self, table: PointTable) -> str:
        """Return a sentence on the values of the conditions and the objective that the method has
        at no point, and on a method that has them.
        """
        case = self.choosing.case
        needed_columns = (
            self.choosing.condition.needed_columns | self.choosing.objective.needed_columns
        )
        names = sorted(
            name
            for name in needed_columns
            if not np.isfinite(table.columns.get(name, np.full(1, np.nan))).any()
        )
        method = table.provenance.methods[0]
        are_simulated = bool(names) and all(
            needs_simulation(case.built.model, name, method) for name in names
        )
        way_out = f"; write method: {SIMULATION} in base" if are_simulated else ""
        return f"{method} has no {', '.join(names) or 'finite values there'}{way_out}"

    def simulate_undecided(self) -> None:
        """Simulate points in the order of the objective until one meets the conditions, if points
        that approximate values leave undecided are better than the best.

        After the largest number of points, the best of the points that surely meet the conditions
        is simulated. Less of everything than at a point that failed is left out where larger values
        break no condition.
        """
        choosing = self.choosing.simulated
        best_objective = min((objective for objective, _ in self.found), default=math.inf)
        undecided = [pair for pair in self.undecided if pair[0] < best_objective]
        if not undecided or choosing is None:
            return
        if announce := ANNOUNCE.get():
            announce(
                f"{choosing.case.case}: approximate values leave"
                f" {with_noun(len(undecided), 'point')} undecided; up to {MOST_SIMULATED_POINTS}"
                " are simulated"
            )
        simulation = _Enumeration(choosing)
        candidates = sorted((*self.found, *self.undecided), key=_first_of_pair)
        candidates = [
            *candidates[:MOST_SIMULATED_POINTS],
            *(pair for pair in candidates[MOST_SIMULATED_POINTS:] if pair not in self.undecided),
        ]
        points_done = set[_ValuesVaried]()
        for _, answer in candidates:
            row = choosing.row_of(answer)
            points_done.add(_point_of(answer))
            if not (
                choosing.spec.monotone
                and any((row <= failed_row).all() for failed_row in simulation.failed_rows)
            ):
                simulation.solve(row[np.newaxis])
            if simulation.found:
                break
        for own_pairs, simulated_pairs in (
            (self.found, simulation.found),
            (self.undecided, simulation.undecided),
        ):
            own_pairs[:] = [
                *(pair for pair in own_pairs if _point_of(pair[1]) not in points_done),
                *simulated_pairs,
            ]
        self.failed += simulation.failed
        self.solver_by_point |= simulation.solver_by_point
        self.simulated = simulation.solved

    def probe_assumption(self, allowed_rows: Rows, largest_values: Rows) -> None:
        """Solve further points to test the assumption that larger values break no condition.

        With one more of each quantity the best must still hold; where nothing holds, one less than
        the most of each quantity must not come nearer to holding.
        """
        if not self.meeting_points and not self.failed:
            return
        sign = 1 if self.meeting_points else -1
        best_answer = min(self.found, key=_first_of_pair)[1] if self.found else None
        start_row = next(
            (row for row, answer in self.meeting_points if answer is best_answer), largest_values
        )
        solved_points = {
            tuple(row.tolist()) for row, _ in (*self.meeting_points, *self.failing_points)
        }
        for column in range(len(start_row)):
            neighbour = start_row + sign * (np.arange(len(start_row)) == column)
            if (
                tuple(neighbour.tolist()) not in solved_points
                and (allowed_rows == neighbour).all(axis=1).any()
            ):
                self.solve(neighbour[None])

    def contradiction(self) -> tuple[Answer, Answer] | None:
        """Return a point that meets the conditions and a larger one that does not, which contradict
        the assumption that larger values break none; None if there is no such pair.
        """
        failing_rows = np.array([failing_row for failing_row, _ in self.failing_points])
        for meeting_row, answer in self.meeting_points if self.failing_points else ():
            larger_rows = np.flatnonzero((failing_rows >= meeting_row).all(axis=1))
            if len(larger_rows):
                return answer, self.failing_points[int(larger_rows[0])][1]
        return None

    def bisect_least_values(self, largest_values: Rows) -> list[Rows]:
        """Find by bisection the least value of each quantity at which the conditions hold while all
        other quantities have their largest values. Return the solved points.
        """
        points_solved = [largest_values]
        self.solve(largest_values[None])
        for column in range(len(largest_values) if not self.failed_rows else 0):
            low = -1
            high = int(largest_values[column])
            while high - low > 1:
                middle = (low + high) // 2
                failed_count_before = len(self.failed_rows)
                points_solved.append(
                    np.where(np.arange(len(largest_values)) == column, middle, largest_values)
                )
                self.solve(points_solved[-1][None])
                low, high = (
                    (low, middle)
                    if len(self.failed_rows) == failed_count_before
                    else (middle, high)
                )
        return points_solved

    def _answer_at_point(
        self,
        row: Rows,
        sides: Sequence[ConditionSides],
        objective: ConditionSides,
        index: int,
        provenance: Provenance,
    ) -> Answer:
        """Return the answer at a solved point: its varied values, its objective, and the value and
        the slack of each condition.
        """
        choosing = self.choosing
        value_by_name = {
            OBJECTIVE: _interval_value(
                objective.left[:, index], str(choosing.objective.parts[0].left.dimension)
            )
        }
        for condition_number, (side, condition_part) in enumerate(
            zip(sides, choosing.condition.parts, strict=True), start=1
        ):
            unit = str(condition_part.left.dimension)
            is_upper_limit = condition_part.relation.startswith("<")
            lesser, greater = (side.left, side.right) if is_upper_limit else (side.right, side.left)
            value_by_name[f"value[{condition_number}]"] = _interval_value(side.left[:, index], unit)
            slack_and_ends = (
                greater[0, index] - lesser[0, index],
                greater[1, index] - lesser[2, index],
                greater[2, index] - lesser[1, index],
            )
            value_by_name[f"slack[{condition_number}]"] = _interval_value(
                np.array(slack_and_ends), unit
            )
        point = {
            path: float(candidate_values[row[column]])
            for column, (path, candidate_values) in enumerate(choosing.values.items())
        }
        return Answer(
            "choose", values=value_by_name, point=point, **provenance.answer_fields(index)
        )


def _point_of(answer: Answer) -> _ValuesVaried:
    """Return the varied values at the point of an answer."""
    return tuple(answer.point.values())


def _first_of_pair(objective_and_answer: tuple[float, Answer]) -> float:
    """Return the objective of a pair of it and an answer, by which pairs are sorted."""
    return objective_and_answer[0]


def _interval_value(value_and_ends: Iterable[float], unit: str) -> Value:
    """Return a value with the ends of its interval."""
    value, low, high = map(float, value_and_ends)
    return Value(
        value if math.isfinite(value) else None,
        unit,
        *((low, high) if low < high else (None, None)),
    )


def _chosen_points(choosing: _Choosing) -> ChosenPoints:
    """Solve points by increasing objective until the best one is known, and as many runners-up as
    requested.
    """
    candidate_counts = [len(value) for value in choosing.values.values()]
    rows = np.indices(tuple(candidate_counts)).reshape(len(candidate_counts), -1).T
    values = choosing.varied_values(rows)
    point_count = len(rows)
    # What is about the varied values alone needs no solving.
    for condition_part, is_known in zip(
        choosing.condition.parts, choosing.needs_no_solving(choosing.condition), strict=True
    ):
        if is_known:
            names = [
                parameter.name
                for parameter in parameters(condition_part.left, condition_part.right)
            ]
            is_allowed = condition_part.holds(
                {name: values[choosing.condition.columns[name]] for name in names}
            )
            values = {name: column[is_allowed] for name, column in values.items()}
            rows = rows[is_allowed]
    allowed_count = len(rows)
    (is_ordered,) = choosing.needs_no_solving(choosing.objective)
    if is_ordered and allowed_count:
        rows = rows[np.argsort(choosing.known_objective(rows), kind="stable")]
    enumeration = _Enumeration(choosing)
    largest_values = np.array(candidate_counts) - 1
    allowed_rows = rows
    if choosing.spec.monotone and (rows == largest_values).all(axis=1).any():
        solved_rows = {
            tuple(row.tolist()) for row in enumeration.bisect_least_values(largest_values)
        }
        rows = rows[[tuple(row) not in solved_rows for row in rows.tolist()]]
    batch_size = POINTS_PER_BATCH
    points_wanted = 1 + choosing.spec.runners_up
    if choosing.case.form.is_estimated:
        batch_size = 1
    elif not is_ordered and not choosing.spec.monotone:
        batch_size = max(len(rows), 1)  # all of them have to be solved
    while True:
        for broken_row in enumeration.failed_rows if choosing.spec.monotone else ():
            rows = rows[(rows > broken_row).any(axis=1)]
        enumeration.failed_rows.clear()
        objectives = sorted(value for value, _ in enumeration.found)
        # What is left has no lesser objective, so it cannot be among the best and the runners-up.
        if not len(rows) or (
            is_ordered
            and len(objectives) >= points_wanted
            and objectives[points_wanted - 1] <= choosing.known_objective(rows[:1])[0]
        ):
            if choosing.spec.monotone and allowed_count:
                enumeration.probe_assumption(allowed_rows, largest_values)
            enumeration.simulate_undecided()
            has_answers = enumeration.found or enumeration.undecided or enumeration.failed
            unmet = () if has_answers else choosing.unmet_requirements(allowed_rows)
            points = (point_count, allowed_count)
            return replace(_chosen_result(choosing, enumeration, points, is_ordered), unmet=unmet)
        enumeration.solve(rows[:batch_size])
        rows = rows[batch_size:]


_MANY_TIMES = 10.0
"""How many times the most servers leave hardly any waiting: where the most are not saturated, this
many are busy for at most a tenth of the time."""


def _failure_without_waiting(choosing: _Choosing) -> tuple[float, int, Answer] | None:
    """Return how the conditions fail where servers are so many that nothing waits, as a margin, the
    index of the worst condition and the answer; None if they do not surely fail, or if other
    quantities are varied.
    """
    unlimited = choosing.without_waiting
    if unlimited is None:
        return None
    enumeration = _Enumeration(unlimited)
    try:
        enumeration.solve(np.zeros((1, len(unlimited.values)), dtype=int))
    except (SpecError, NoAnswerError):
        return None
    return next(iter(enumeration.failed), None)


def nearest_failure(
    failed: Iterable[tuple[float, int, Answer]],
) -> tuple[float, int, Answer] | None:
    """Return the failed point that is nearest to meeting the conditions; of those that random
    errors do not tell apart from it, the one with the least objective.
    """
    failures = [failure for failure in failed if failure[0] > -math.inf]
    if not failures:
        return None
    closest = max(failures, key=itemgetter(0))
    slack_name = f"slack[{closest[1] + 1}]"
    alike = [
        failure
        for failure in failures
        if failure[1] == closest[1]
        and do_overlap(closest[2].values[slack_name].ends, failure[2].values[slack_name].ends)
    ]
    return min(
        [closest, *alike],
        key=lambda failure: failure[2].find(OBJECTIVE) or 0.0,
    )


def _chosen_result(
    choosing: _Choosing, enumeration: _Enumeration, points: tuple[int, int], is_ordered: bool
) -> ChosenPoints:
    """Return the chosen points of a case from the solved points."""
    best_found = sorted(enumeration.found, key=_first_of_pair)[: 1 + choosing.spec.runners_up]
    best_value = best_found[0][0] if best_found else math.inf
    solvers = [enumeration.solver_by_point[_point_of(answer)] for _, answer in best_found]
    found = tuple(
        solver.with_asked_values(answer, run_factor)
        for (solver, run_factor), (_, answer) in zip(solvers, best_found, strict=True)
    )
    closest_failure = None if best_found else nearest_failure(enumeration.failed)
    failure_without_waiting = (
        _failure_without_waiting(choosing)
        if closest_failure and not enumeration.undecided
        else None
    )
    _, worst, _ = failure_without_waiting or closest_failure or (0.0, 0, None)
    # Each part is as it is written, but for those of a chain such as 1 <= n < 8.
    conditions = choosing.condition.parts
    conditions_as_written = re.split(r"(?<!\s)\s++and\s++", choosing.condition.text.strip())
    return ChosenPoints(
        case=choosing.case.case,
        units=choosing.units,
        objective=choosing.objective.text,
        conditions=tuple(
            conditions_as_written
            if len(conditions_as_written) == len(conditions)
            else map(str, conditions)
        ),
        points=points,
        solved=enumeration.solved,
        ordered=is_ordered,
        monotone=choosing.spec.monotone,
        found=found,
        asked=tuple(name for name in choosing.study.spec.answer if name in choosing.case.names),
        undecided=tuple(
            undecided
            for value, undecided in sorted(enumeration.undecided, key=_first_of_pair)
            if value < best_value
        ),
        nearest=closest_failure[2] if closest_failure else None,
        worst=worst,
        without_waiting=failure_without_waiting[2] if failure_without_waiting else None,
        rivals=_rival_points(choosing, enumeration.found, best_found[0][1]) if best_found else (),
        ranges=bool(choosing.case.built.uncertain_values.paths),
        unanswered=enumeration.unanswered,
        reason=enumeration.reason,
        saturated=_largest_saturated(choosing, enumeration),
        contradicted=enumeration.contradiction() if choosing.spec.monotone else None,
        currency=choosing.spec.currency,
        totals=choosing.totals_at(best_found[0][1]) if best_found else {},
        is_objective_told=choosing.objective.text
        in (*choosing.units, *choosing.spec.totals.values()),
        simulated=enumeration.simulated,
        could_simulate=not (
            choosing.case.form.is_estimated or choosing.case.built.uncertain_values.paths
        ),
        solved_choices=_solved_choices(choosing, enumeration),
    )


def _solved_choices(choosing: _Choosing, enumeration: _Enumeration) -> SolvedChoices | None:
    """Return the objective and the first limited value of an answer at the points solved."""
    is_known_by_part = choosing.needs_no_solving(choosing.condition)
    answers = [answer for _, answer in (*enumeration.found, *enumeration.undecided)]
    answers += [answer for *_, answer in enumeration.failed]
    if all(is_known_by_part) or not answers:
        return None
    part_index = is_known_by_part.index(False)
    comparison = choosing.condition.parts[part_index]
    values = np.array([_value_and_ends(answer, f"value[{part_index + 1}]") for answer in answers]).T
    slack = np.array([_value_and_ends(answer, f"slack[{part_index + 1}]")[0] for answer in answers])
    limits = values[0] + (slack if comparison.relation.startswith("<") else -slack)
    has_value = np.isfinite(limits)
    if not has_value.any():  # a resource is saturated at all of them
        return None
    return SolvedChoices(
        objective=choosing.objective.text,
        limited_value=choosing.condition.left_sides[part_index],
        objective_unit=str(choosing.objective.parts[0].left.dimension),
        dimension=str(comparison.left.dimension),
        objectives=np.array([answer[OBJECTIVE] for answer in answers]),
        values=values,
        limits=np.where(has_value, limits, limits[has_value][0]),
        meets_all=np.arange(len(answers)) < len(enumeration.found),
    )


def _value_and_ends(answer: Answer, name: str) -> tuple[float, float, float]:
    """Return a value with the ends of its interval; NaN for what is missing."""
    value = answer.values[name]
    middle, low, high = (
        math.nan if number is None else number for number in (value.value, value.low, value.high)
    )
    return middle, low, high


def _rival_points(
    choosing: _Choosing, found_points: Sequence[tuple[float, Answer]], best_answer: Answer
) -> tuple[Answer, ...]:
    """Return the points whose estimated objective may be below that of the best point.

    Where settings are uncertain, both have the same of them: a point is a rival if it is better in
    more than one of twenty draws.
    """
    best_interval = best_answer.values[OBJECTIVE].ends
    rivals = [
        answer
        for _, answer in sorted(found_points, key=_first_of_pair)
        if answer is not best_answer and do_overlap(best_interval, answer.values[OBJECTIVE].ends)
    ]
    if (
        not rivals
        or not choosing.case.built.uncertain_values.paths
        or choosing.case.form.is_estimated
    ):
        return tuple(rivals)
    best_objectives = choosing.drawn_objectives(best_answer)
    return tuple(
        rival
        for rival in rivals
        if np.mean(choosing.drawn_objectives(rival) < best_objectives) > LOW_PROBABILITY
    )


def _first_headline(choice: ChosenPoints, words: Words, beginning: str) -> str:
    """Return a sentence on the chosen point of the first case, in a reader's words.

    Parameters
    ----------
    choice : the choice
    words : of the study
    beginning : the beginning of the sentence, which names the case where there are several
    """
    best_answer = choice.found[0]
    beginning_with_totals = f"{beginning} {_totals_text(choice)}," if choice.totals else beginning
    point_sentence = _point_sentence(choice, best_answer, words, beginning_with_totals)
    value_texts = _limited_value_texts(choice, best_answer, words)
    values_in_words = f"; then {join_phrases(value_texts)}" if value_texts else ""
    if len(value_texts) > _MOST_LIMITED_VALUES:  # the table has them
        values_in_words = f"; it keeps all {len(choice.conditions)} limits"
    is_objective_limited = choice.objective in choice.limited
    has_objective = is_objective_limited and 0 < len(value_texts) <= _MOST_LIMITED_VALUES
    objective_clause = "" if has_objective else _objective_text(choice, words)
    if objective_clause and choice.objective == COST and not choice.currency:
        objective_clause += " in the units of the study"
    return f"{point_sentence}{objective_clause}{values_in_words}{_rival_clause(choice, words)}"


def _point_sentence(choice: ChosenPoints, answer: Answer, words: Words, beginning: str) -> str:
    """Return a sentence from its beginning and the chosen point. If one quantity is chosen, its
    amount follows the verb, since its meaning may end with a noun that would seem to have the
    amount.
    """
    verb = " is"
    if not beginning.endswith(verb) or not _writes_amount_last(choice, answer, words):
        return f"{beginning} {_point_text(choice, answer, words, True)}"
    (path,) = choice.units
    amount = _point_text(choice, answer, words, False)
    return f"{beginning.removesuffix(verb)} {words.quantity(path)}{verb} {amount}"


def _writes_amount_last(choice: ChosenPoints, answer: Answer, words: Words) -> bool:
    """Return whether a single quantity is chosen, in whose phrase the amount follows the meaning:
    "a wait before each flush of 1 ms", but "3 servers".
    """
    amount = _point_text(choice, answer, words, False)
    phrase = _point_text(choice, answer, words, True)
    return len(choice.units) == 1 and phrase.endswith(f" of {amount}")


def _further_headline(choice: ChosenPoints, words: Words, case: str) -> str:
    """Return a sentence on the chosen point of a further case; a single quantity has its meaning in
    the sentence on the first case.
    """
    answer = choice.found[0]
    point_text = _totals_text(choice) or _point_text(choice, answer, words, len(choice.units) > 1)
    amount_texts = _limited_amounts(choice, answer)
    values_in_words = f", {amount_texts[0]}" if len(amount_texts) == 1 else ""
    return (
        f"{case}: {point_text}{_objective_text(choice, words)}{values_in_words}"
        f"{_rival_clause(choice, words)}"
    )


def _alternatives_text(choices: Sequence[ChosenPoints], words: Words) -> str:
    """Return a verb and the cases after the best one, each with its point and its objective."""
    phrases = []
    for choice in choices:
        amount_text = f", {_objective_amount(choice)}"
        # A currency says of what the amount is.
        objective_text = amount_text if choice.currency else _objective_text(choice, words)
        point_text = _totals_text(choice) or _point_text(choice, choice.found[0], words, False)
        clauses = f"{point_text}{objective_text}{_rival_clause(choice, words)}"
        phrases.append(f"{words.case(choice.case)} ({clauses})")
    return f"{'comes' if len(choices) == 1 else 'come'} {join_phrases(phrases)}"


def _totals_text(choice: ChosenPoints) -> str:
    """Return the totals of the best point, such as ``44 GPUs in all``; empty without any."""
    amounts = [f"{amount} {as_words(name)}" for name, amount in choice.totals.items()]
    return f"{join_phrases(amounts)} in all" if amounts else ""


def _headlines_without_choice(
    choices: Sequence[ChosenPoints], words: Words, are_several: bool
) -> list[str]:
    """Return a sentence for each reason why cases have no chosen point, with the cases."""
    choices_by_reason: dict[str, list[ChosenPoints]] = {}
    for choice in choices:
        choices_by_reason.setdefault(_reason_without_choice(choice, words), []).append(choice)
    headlines = []
    for reason, choices_of_reason in choices_by_reason.items():
        cases = [words.case(choice.case) for choice in choices_of_reason]
        nearest_value_clause = _nearest_value_clause(choices_of_reason, words, are_several)
        beginning = f"{join_phrases(cases)}: " if are_several else ""
        headlines.append(f"{beginning}{reason}{nearest_value_clause}")
    return headlines


def _nearest_value_clause(choices: Sequence[ChosenPoints], words: Words, are_several: bool) -> str:
    """Return after a colon the value of the limit that is missed most at the nearest points, which
    are the same, or without any waiting; empty without such points.
    """
    first_choice = choices[0]
    if first_choice.nearest is None or not first_choice.points[1]:
        return ""
    condition = first_choice.conditions[first_choice.worst]
    match = LIMIT.match(condition)
    if not match:
        return ": it misses a limit"
    amounts = []
    for choice in choices:
        answer = choice.without_waiting or choice.nearest
        assert answer is not None
        value = answer.values[f"value[{choice.worst + 1}]"]
        amount = value_amount(match[1], value.value, value.unit, value.ends)
        is_of_a_case = are_several and len(choices) > 1
        amounts.append(f"{amount} for {words.case(choice.case)}" if is_of_a_case else amount)
    clause = words.value_clause(match[1], join_phrases(amounts))
    place = "then" if first_choice.without_waiting is None else "without any waiting,"
    return f": {place} {clause}{_limit_text(condition, words)}"


def _objective_text(choice: ChosenPoints, words: Words) -> str:
    """Return the objective with its least value, after a comma; empty if the sentence on the point
    states it.
    """
    if choice.is_objective_told:
        return ""
    objective = "the least value,"  # a formula has no name of its own
    if re.fullmatch(ONE_VALUE, choice.objective):
        objective = words.value(choice.objective)
    return f", {objective} {_objective_amount(choice)}"


def _objective_amount(choice: ChosenPoints) -> str:
    """Return the least value of the objective, with its unit or currency."""
    amount = _quantity_text(choice.found[0], OBJECTIVE)
    if choice.currency and amount.isdigit():
        amount = f"{int(amount):,}"
    return f"{amount} {choice.currency}".rstrip()


def _is_cost(objective: str) -> bool:
    """Return whether the objective is a cost, so that its least value is called the cheapest.

    >>> _is_cost("cost"), _is_cost("amount[cost_of_a_job]"), _is_cost("time")
    (True, True, False)
    """
    return objective == COST or objective.startswith("amount[cost")


def _point_text(choice: ChosenPoints, answer: Answer, words: Words, with_titles: bool) -> str:
    """Return the chosen values of a point in words."""
    write_setting = setting_phrase if with_titles else setting_amount
    return join_phrases(
        [
            write_setting(path, float(answer.point[path]), unit, words)
            for path, unit in choice.units.items()
        ]
    )


def _limited_value_texts(choice: ChosenPoints, answer: Answer, words: Words) -> list[str]:
    """Return the values that conditions limit at a point, each with its limit, for conditions on a
    single value of the answer.
    """
    return [
        f"{words.value_clause(name, amount)}{_limit_text(condition, words)}"
        for condition, (name, amount) in _limited_amounts_by_condition(choice, answer).items()
    ]


def _limited_amounts(choice: ChosenPoints, answer: Answer) -> list[str]:
    """Return the amounts of the values that conditions limit at a point."""
    return [amount for _, amount in _limited_amounts_by_condition(choice, answer).values()]


def _limited_amounts_by_condition(
    choice: ChosenPoints, answer: Answer
) -> dict[str, tuple[str, str]]:
    """Return the name and the amount of the value that each condition on a single value of the
    answer limits at a point.
    """
    name_and_amount_by_condition = {}
    for condition_number, condition in enumerate(choice.conditions, start=1):
        match = LIMIT.match(condition)
        if match and match[1] not in choice.units:
            amount = _limited_amount(answer, condition_number, match[1])
            name_and_amount_by_condition[condition] = match[1], amount
    return name_and_amount_by_condition


def _limited_amount(answer: Answer, condition_number: int, name: str) -> str:
    """Return the amount of the value that a condition limits at a point that meets it or comes
    nearest. Such a point has no finite value only where a resource is saturated.
    """
    value = answer.values[f"value[{condition_number}]"]
    if value.value is None:
        return SATURATED_AMOUNT
    return value_amount(name, value.value, value.unit, value.ends)


def _limit_text(condition: str, words: Words) -> str:
    """Return the limit of a condition in brackets, in the unit in which it is written."""
    limit = words.limit(condition)
    return f" (limit {limit})" if limit else ""


def _largest_saturated(
    choosing: _Choosing, enumeration: _Enumeration
) -> tuple[Mapping[str, float], str] | None:
    """Return the values of the largest saturated point with what is saturated; None without one."""
    if enumeration.saturated is None:
        return None
    row, reason = enumeration.saturated
    values = choosing.varied_values(row[np.newaxis])
    return {path: float(values[path][0]) for path in choosing.units}, reason


def _reason_without_choice(choice: ChosenPoints, words: Words) -> str:
    """Return the reason why no point was chosen, with the point that comes nearest."""
    if not choice.points[1]:
        return "no combination keeps the limits on what may be chosen"
    limits_phrase = "all limits" if len(choice.conditions) > 1 else "the limit"
    if choice.nearest is None:
        if choice.undecided:
            return f"no combination surely keeps {limits_phrase}"
        if choice.unmet:
            return _unmet_text(choice, words)
        if choice.unanswered:
            return f"no combination has an answer: {cause_of(choice.reason)}"
        cause = _saturation_text(choice, words)
        return f"no combination keeps {limits_phrase}, because all are saturated{cause}"
    certainty_word = "surely " if choice.undecided else ""
    if choice.without_waiting is not None:
        return f"no combination keeps {limits_phrase}, and no larger number of servers would"
    return (
        f"no combination {certainty_word}keeps {limits_phrase};"
        f" {_point_text(choice, choice.nearest, words, True)} would come nearest"
    )


def _saturation_text(choice: ChosenPoints, words: Words) -> str:
    """Return what is saturated at the largest of the saturated points; empty if that is unknown."""
    if choice.saturated is None:
        return ""
    values, reason = choice.saturated
    settings = [
        setting_phrase(path, values[path], unit, words) for path, unit in choice.units.items()
    ]
    return f", even with {join_phrases(settings)}: {cause_of(reason)}"


def _unmet_text(choice: ChosenPoints, words: Words) -> str:
    """Return that no combination has an answer, with the requirements of the model that fail."""
    clauses = [requirement.clause(choice.units, words) for requirement in choice.unmet]
    if len(clauses) == 1:
        return f"no combination meets the requirement that {clauses[0]}"
    if all(requirement.is_everywhere for requirement in choice.unmet):
        return f"no combination meets any of {len(clauses)} requirements: {'; '.join(clauses)}"
    return f"no combination meets all of {len(clauses)} requirements: {'; '.join(clauses)}"


def _rival_clause(choice: ChosenPoints, words: Words) -> str:
    """Return a clause on the points that may be better within the uncertainty of estimates; empty
    if there are none.
    """
    if not choice.perhaps_better:
        return ""
    first_point = choice.perhaps_better[0]
    # The sentence has the meaning of a single quantity already.
    has_meaning = not _writes_amount_last(choice, first_point, words)
    point_text = _point_text(choice, first_point, words, has_meaning)
    is_simulated = first_point.method == SIMULATION
    basis = ", also by simulation," if is_simulated and choice.simulated else ""
    basis = " within the ranges" if choice.ranges else basis
    can_be_decided = choice.could_simulate and choice.undecided and not is_simulated
    way_out = "; a simulation would tell" if can_be_decided else ""
    return f"; it is undecided{basis} whether {point_text} would be better{way_out}"


def _conditions_on_values(choice: ChosenPoints) -> list[int]:
    """Return the indices of the conditions that limit a value of the answer; chosen quantities have
    columns of their own.
    """
    return [
        condition_index
        for condition_index, text in enumerate(choice.conditions)
        if text.partition(" ")[0] not in choice.units
    ]


def _cells_of_decision(choice: ChosenPoints, words: Words) -> list[str]:
    """Return the cells of a case in the table of decisions: the chosen values, the objective and
    the limited values.
    """
    best_answer = choice.found[0]
    point_amounts = [
        setting_amount(path, float(best_answer.point[path]), unit, words)
        for path, unit in choice.units.items()
    ]
    value_amounts = [
        _limited_amount(
            best_answer, condition_index + 1, choice.conditions[condition_index].partition(" ")[0]
        )
        for condition_index in _conditions_on_values(choice)
    ]
    # An objective that is chosen itself, or is a total, stands in its own column.
    objective_amounts = [] if choice.is_objective_told else [_quantity_text(best_answer, OBJECTIVE)]
    value_amounts += [
        value_amount(name, best_answer.find(name), best_answer.unit(name), best_answer.ends(name))
        for name in choice.asked_beside
    ]
    value_amounts += [_busiest_text(choice)] if choice.busiest else []
    return [
        *choice.totals.values(),
        *point_amounts,
        *objective_amounts,
        *value_amounts,
    ]


def _busiest_text(choice: ChosenPoints) -> str:
    """Return the highest utilization of a resource at the best point, and the resource; empty
    without one.
    """
    if choice.busiest is None:
        return ""
    resource, utilization = choice.busiest
    return f"{percent(utilization.value, ends=utilization.ends)} ({as_words(resource)})"


def _choice_sentences(choice: ChosenPoints) -> Iterator[str]:
    """Yield the sentences on the choice for a case."""
    if not choice.found:
        yield f"{_no_point_sentence(choice)}; {_why_none_is_better(choice)}"
    else:
        best_answer, *runners_up = choice.found
        yield (
            f"the least {choice.objective}, {_quantity_text(best_answer, OBJECTIVE)}, is at"
            f" {_point_settings(choice, best_answer)}{_rivals_sentence(choice)};"
            f" {_why_none_is_better(choice)}"
        )
        for condition_number, condition in enumerate(choice.conditions, start=1):
            if best_answer.values[f"value[{condition_number}]"].value is None:
                yield f"{condition} is met there: the value is {SATURATED_AMOUNT}"
                continue
            yield (
                f"{condition} is met there: the value is"
                f" {_quantity_text(best_answer, f'value[{condition_number}]')},"
                f" {_quantity_text(best_answer, f'slack[{condition_number}]')} from the limit"
            )
        if runners_up:
            values_in_words = "; ".join(
                f"{_quantity_text(runner_up, OBJECTIVE)} at {_point_settings(choice, runner_up)}"
                for runner_up in runners_up
            )
            yield f"next {'comes' if len(runners_up) == 1 else 'come'} {values_in_words}"
    if choice.undecided:
        yield _undecided_sentence(choice)
    if choice.contradicted is not None:
        meeting_point, failing_point = (
            _point_settings(choice, point) for point in choice.contradicted
        )
        yield (
            f"the assumption is wrong here: {meeting_point} meets the conditions, and"
            f" {failing_point}, with no"
            " less of"
            " anything, does not; so points that were left out may be better: write monotone: false"
        )


def _rivals_sentence(choice: ChosenPoints) -> str:
    """Return a sentence on the points whose objective may be smaller within the uncertainty of
    estimates.
    """
    if not choice.rivals:
        return ""
    first_rival = choice.rivals[0]
    further_count = len(choice.rivals) - 1
    further_words = f" and {with_noun(further_count, 'further point')}" if further_count else ""
    if choice.ranges:
        return (
            ", undecided within the ranges against"
            f" {_point_settings(choice, first_rival)}{further_words}"
        )
    return (
        f", undecided against {_point_settings(choice, first_rival)}{further_words}, because the"
        " intervals overlap"
    )


def _no_point_sentence(choice: ChosenPoints) -> str:
    """Return a sentence that no point meets the conditions, with the point that is nearest to
    meeting them or the reason why none is known.
    """
    point_count, allowed_count = choice.points
    if not allowed_count:
        return f"none of {with_noun(point_count, 'point')} meets the conditions on what is varied"
    if choice.nearest is None:
        no_values_sentence = f"no point has the values of all conditions: {choice.reason}"
        return "no point surely meets all conditions" if choice.undecided else no_values_sentence
    value = choice.nearest.find(f"value[{choice.worst + 1}]") or 0.0
    slack = choice.nearest.find(f"slack[{choice.worst + 1}]") or 0.0
    distance_text = percent(abs(slack) / (abs(value) or 1.0))
    unlimited_text = ""
    if choice.without_waiting is not None:
        least_value = _quantity_text(choice.without_waiting, f"value[{choice.worst + 1}]")
        unlimited_text = (
            f"; with {_MANY_TIMES:g} times the most servers, where nothing waits, it is"
            f" {least_value}"
        )
    return (
        f"no point {'surely ' if choice.undecided else ''}meets all conditions; nearest is"
        f" {_point_settings(choice, choice.nearest)}, where {choice.conditions[choice.worst]} fails"
        " with"
        f" {_quantity_text(choice.nearest, f'value[{choice.worst + 1}]')}, {distance_text} off"
        f"{unlimited_text}"
    )


def _why_none_is_better(choice: ChosenPoints) -> str:
    """Return a clause on how it was established that no other point is better."""
    point_count, allowed_count = choice.points
    points_in_words = (
        f"{choice.solved} of {with_noun(point_count, 'point')}"
        f" {'was' if choice.solved == 1 else 'were'} solved"
    )
    points_in_words += (
        f", {point_count - allowed_count} break a condition on what is varied alone"
        if allowed_count < point_count
        else ""
    )
    points_in_words += (
        f", in order of rising {choice.objective}" if choice.ordered and choice.found else ""
    )
    if choice.unanswered:
        points_in_words += (
            f", {choice.unanswered} of them {'has' if choice.unanswered == 1 else 'have'} no answer"
        )
    return points_in_words + (
        ", assuming that more of any quantity breaks no condition" if choice.monotone else ""
    )


def _undecided_sentence(choice: ChosenPoints) -> str:
    """Return a sentence on the points for which it is undecided whether they meet the
    conditions.
    """
    first_undecided = choice.undecided[0]
    further_count = len(choice.undecided) - 1
    further_words = f", and {with_noun(further_count, 'further point')}" if further_count else ""
    range_in_words = " within the ranges" if choice.ranges else ""
    return (
        f"undecided{range_in_words}, because a limit lies in the interval:"
        f" {_quantity_text(first_undecided, OBJECTIVE)} at"
        f" {_point_settings(choice, first_undecided)}{further_words}"
    )


def _point_settings(choice: ChosenPoints, answer: Answer) -> str:
    """Return the chosen values of a point as settings."""
    return ", ".join(
        f"{path} = {quantity(float(answer.point[path]), unit)}"
        for path, unit in choice.units.items()
    )


def _quantity_text(answer: Answer, name: str) -> str:
    """Return a value of an answer with its unit as text."""
    value = answer.values[name]
    return quantity(value.value, value.unit, ends=value.ends)


_MOST_UNDECIDED = 10
_OWN_VALUE = late_pattern(rf"{OBJECTIVE}|(?:value|slack)\[\d+\]")
"""Values of a solved point that no study asks for."""


def _table_of_choices(choices: Sequence[ChosenPoints]) -> ResultTable:
    """Build the table of the points chosen for cases with the same quantities and objective."""
    first_choice = choices[0]
    rows = []
    for choice in choices:
        answers_by_role = {
            "chosen": choice.found[:1],
            "runner-up": choice.found[1:],
            # A shortened table keeps the last row, so that is the point which the head names.
            "undecided": choice.perhaps_better[:_MOST_UNDECIDED][::-1],
        }
        answers_by_role["nearest"] = (choice.nearest,) if choice.nearest else ()
        rows += [
            (choice.case, role, answer)
            for role, answers in answers_by_role.items()
            for answer in answers
        ]
    answers = [answer for *_, answer in rows]

    def column_of(name: str, title: str) -> ResultColumn:
        values = [answer.values[name] for answer in answers]
        return ResultColumn.from_values(
            name, values, values[0].unit if values else "1", title=escape(title)
        )

    columns = [
        ResultColumn("case", [case for case, *_ in rows], place=True),
        ResultColumn("choice", [role for _, role, _ in rows], place=True),
        *(
            ResultColumn(path, [answer.point[path] for answer in answers], unit, place=True)
            for path, unit in first_choice.units.items()
        ),
        column_of(OBJECTIVE, first_choice.objective),
    ]
    for condition_number, text in enumerate(first_choice.conditions, start=1):
        columns += [
            column_of(f"value[{condition_number}]", text),
            column_of(
                f"slack[{condition_number}]",
                "slack" if len(first_choice.conditions) == 1 else f"slack of {condition_number}",
            ),
        ]
    asked_names = dict.fromkeys(name for answer in answers for name in answer.values)
    columns += [
        ResultColumn.from_values(
            name,
            [answer.values.get(name) for answer in answers],
            next(answer.unit(name) for answer in answers if name in answer.values),
            on_page=name in first_choice.asked and name not in first_choice.limited,
        )
        for name in asked_names
        if not _OWN_VALUE.fullmatch(name)
    ]
    return ResultTable("choose", columns, Provenance.of(answers))
