"""Inputs that a source does not print: draws within their ranges, and in how many of them each
statement holds.

Why draws: a study has to choose a value for each input that its source does not print, and a
statement that holds only at the chosen values says little. The draws that agree with the printed
numbers are kept. A statement that holds in all of them holds for any choice, one that holds in none
contradicts the model, and any other depends on an input: the one whose best single split separates
most of the draws. Where all inputs have values that are few, each combination is taken once in
place of draws.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, NamedTuple

from slipstick.answer import OVERHEAD, Answer, Value
from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.late import Array, dataclass, field, np, replace
from slipstick.model.uncertainty import random_stream
from slipstick.report.formatting import escape, join_phrases, quantity, with_noun
from slipstick.results.question import QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.results.words import Words
from slipstick.schema.inputs import Settings, resolve_once
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.text import Node, Scalar, canonical, node_at, plain_data, split_path
from slipstick.study.cases import StudyContext, quantity_node
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question, read_question
from slipstick_papers.page import RANGES, RangedRow, StatementRow, verdicts_of
from slipstick_papers.specs import StatementSpec, UnpublishedInputSpec, UnpublishedSpec
from slipstick_papers.statements import (
    OF_THE_SOURCE,
    check_statement,
    names_needed_by_answer,
    read_one_by_one,
)
from slipstick_questions.rank import ChangeReader, effect_name, settings_under
from slipstick_questions.saturation import unbounded
from slipstick_questions.specs import RankSpec

InputLevels = Mapping[str, float]
"""A level by input: the index of one of its values, or a value of its range. An input without a
level is as in the study."""

_GRID_VALUES = 33
"""Values of a range at which a statement is solved with all other inputs as in the study."""

_LEFT_OUT_SENTENCE = (
    " Draws in which two inputs replace the same file by different files do not count, unless the"
    " study names a file for both."
)

_LEAST_GAIN = 0.3
"""The share of the impurity of the draws that a split must remove, so that its input decides."""


@dataclass(frozen=True)
class RangedValue:
    """A value that a statement compares: at the inputs of the study, and its range over the kept
    draws.
    """

    statement: str
    answer: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    method: str


@dataclass(frozen=True, slots=True)
class UnpublishedResult(QuestionResult):
    """Verdicts on statements over inputs that their source does not print.

    Parameters
    ----------
    inputs : in words: what each is, its range, and why
    drawn, kept : draws, and those that agree with what is printed
    is_complete : they are all combinations of the values of the inputs, each once
    source_clause : "of the source" behind statements; empty where the study names no source
    agree : the statements that say what is printed
    rows : a verdict for each statement
    ranges : the values that the statements compare, over the kept draws
    """

    title: ClassVar[str] = "Statements over what the source does not print"
    inputs: tuple[tuple[str, str, str], ...]
    drawn: int
    kept: int
    agree: tuple[str, ...]
    rows: tuple[RangedRow, ...]
    ranges: tuple[RangedValue, ...] = field(repr=False)
    is_complete: bool = False
    source_clause: str = field(default=OF_THE_SOURCE, repr=False)

    def sentences(self) -> list[str]:
        """Return a sentence that counts the statements that always hold, that depend on the
        unprinted inputs, and that never hold.
        """
        count_by_verdict = Counter(row.verdict for row in self.rows)
        total_text = with_noun(
            sum(count_by_verdict.values()) - count_by_verdict["input"], "statement"
        )
        count_texts = [
            f"{count_by_verdict[verdict]}"
            f" {verdict}{self._names_in_brackets(verdict) if verdict != 'always' else ''}"
            for verdict in ("always", "depends", "never", "undecided")
            if count_by_verdict[verdict]
        ]
        return [f"{total_text} over {self._draws_text}: {', '.join(count_texts)}"]

    def headline(self, words: Words) -> list[str]:
        """Return sentences that count the statements by how they hold, and name the input that
        decides most of them.
        """
        count_by_verdict = Counter(row.verdict for row in self.rows)
        statements_text = with_noun(
            sum(count_by_verdict.values()) - count_by_verdict["input"], "statement"
        )
        phrases_by_verdict = {
            "always": ("is true", "are true", " whatever the values of {}"),
            "depends": ("depends", "depend", " on {}"),
            "never": ("is false", "are false", " whatever the values of {}"),
            "undecided": ("has", "have", " words that can mean several numbers"),
        }
        inputs_text = (
            "the inputs that it does not print" if self.source_clause else "the inputs with ranges"
        )
        count_clauses = []
        for verdict, (singular_text, plural_text, reason) in phrases_by_verdict.items():
            if not count_by_verdict[verdict]:
                continue
            verb = singular_text if count_by_verdict[verdict] == 1 else plural_text
            count_clauses.append(f"{count_by_verdict[verdict]} {verb}{reason.format(inputs_text)}")
            if "{}" in reason:
                inputs_text = "these inputs"
        statement_count_by_input = Counter(row.decided_by for row in self.rows if row.decided_by)
        most_common_inputs = statement_count_by_input.most_common(1)
        decision_in_words = ""
        if most_common_inputs:
            input_title, count = most_common_inputs[0]
            verb = "depends" if count == 1 else "depend"
            decision_in_words = f". Of the inputs, {input_title} decides most: {count} {verb} on it"
        counts_text = join_phrases(count_clauses, "and")
        statements_text = f"{statements_text}{self.source_clause}"
        if len(count_clauses) == 1 and count_clauses[0].startswith("1 "):
            (row,) = (row for row in self.rows if row.verdict != "input")
            share_text = f", true in {row.holds} draws" if row.holds else ""
            deciding_clause = f"; it depends on {row.decided_by}" if row.decided_by else ""
            counts_and_share = f"{counts_text[2:]}{share_text}{deciding_clause}"
            return [f"the one statement{self.source_clause} {counts_and_share}"]
        return [f"of {statements_text}, {counts_text}{decision_in_words}"]

    @property
    def _draws_text(self) -> str:
        """The number of kept draws in words."""
        noun = "combination" if self.is_complete else "draw"
        return f"{self.kept} of {with_noun(self.drawn, noun)}" + (
            " that agree with what is printed" if self.agree else ""
        )

    def _names_in_brackets(self, verdict: str) -> str:
        """Return the names of the statements with a verdict, in brackets."""
        return f" ({', '.join(row.statement for row in self.rows if row.verdict == verdict)})"

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield the table of inputs, and then the table of verdicts with the input that decides
        each.
        """
        yield "\n".join(
            f"- {escape(title)}: {escape(range_text)}. {escape(reason)}."
            for title, range_text, reason in self.inputs
        )
        kept_text = f" Kept are those in which these hold: {', '.join(self.agree)}."
        drawn_text = "All combinations, each once" if self.is_complete else "Drawn"
        yield (
            f"{drawn_text}: {self.drawn}; kept: {self.kept}.{kept_text if self.agree else ''}"
            f"{_LEFT_OUT_SENTENCE}"
        )
        columns = [
            ResultColumn("statement", [row.statement for row in self.rows], place=True),
            ResultColumn("verdict", [row.verdict for row in self.rows]),
            ResultColumn("holds in", [row.holds for row in self.rows]),
            ResultColumn("decided by", [row.decided_by or None for row in self.rows]),
        ]
        methods = dict.fromkeys(ranged_value.method for ranged_value in self.ranges)
        methods_in_words = " and ".join(methods) or "closed-form"
        yield ResultTable(
            "", columns, Provenance([methods_in_words] * len(self.rows), [False] * len(self.rows))
        )
        yield "\n".join(
            f"- **{escape(row.statement)}**: {escape(row.turns)}." for row in self.rows if row.turns
        )
        yield ResultTable(
            "unpublished",
            [
                ResultColumn(
                    "statement",
                    [ranged_value.statement for ranged_value in self.ranges],
                    place=True,
                ),
                ResultColumn(
                    "case", [ranged_value.answer for ranged_value in self.ranges], place=True
                ),
                ResultColumn(
                    "value",
                    [ranged_value.value for ranged_value in self.ranges],
                    [ranged_value.unit for ranged_value in self.ranges],
                    (
                        [ranged_value.low for ranged_value in self.ranges],
                        [ranged_value.high for ranged_value in self.ranges],
                    ),
                    title="as it stands (least and greatest over the kept draws)",
                ),
            ],
            Provenance(
                [ranged_value.method for ranged_value in self.ranges], [False] * len(self.ranges)
            ),
            rows=[
                value_index
                for value_index, ranged_value in enumerate(self.ranges)
                if sum(
                    other_value.statement == ranged_value.statement for other_value in self.ranges
                )
                == 1
            ],
        )

    def files(self) -> dict[str, list[dict[str, str]]]:
        """Return the table of verdicts on all statements, and of the ranges of their values, under
        the names of their files.
        """
        return {RANGES: [row._asdict() for row in self.rows]}


def read(spec: UnpublishedSpec, study: StudyContext) -> Question:
    """Check each value of the unprinted inputs at its place. Return the question that checks
    statements over these inputs; nothing is solved.

    Raises
    ------
    SpecError : an input is one of no case, a value is not allowed, or there is no such statement
    """
    statements = read_one_by_one(study.spec.questions.get("statements", {}))
    problems = [
        study.problem(
            ("unpublished", "agree", index),
            f"there is no statement {name!r}{did_you_mean(name, list(statements))}",
        )
        for index, name in enumerate(spec.agree)
        if name not in statements
    ]
    inputs = []
    for name, input_spec in spec.inputs.items():
        drawn_input = _DrawnInput(name, input_spec, study)
        inputs.append(drawn_input)
        problems += drawn_input.problems()
    if problems:
        raise SpecError(problems)

    def solve(answers: BaseAnswers) -> UnpublishedResult:
        return _Verdicts(
            spec, statements, _AnswersAtDraws(inputs, statements, study, answers)
        ).result()

    return Question(solve)


def _ranking_of_changes(study: StudyContext) -> RankSpec | None:
    """Return the ranking of changes in the study; None if it has none."""
    rank_spec: RankSpec | None = study.spec.questions.get("rank")
    return rank_spec


@dataclass(frozen=True)
class _DrawnInput:
    """An input that the source does not print, with the cases that have it."""

    name: str
    spec: UnpublishedInputSpec
    study: StudyContext

    @cached_property
    def cases(self) -> list[str]:
        """The cases that have the input."""
        if self.spec.change is not None or self.question_key:
            return []
        return [
            case
            for case in self.spec.cases or self.study.cases
            if self._node_at_level(case, 0.0 if self.spec.values else None) is not None
        ]

    @cached_property
    def question_key(self) -> str:
        """The question whose own quantity the input is, such as scale for ``scale.memory.most``;
        empty for an input of cases.
        """
        first_key = split_path(self.spec.path)[0]
        return first_key if first_key in self.study.spec.questions else ""

    def problems(self) -> Iterator[Problem]:
        """Yield the problems for which the input cannot be drawn: no case has it, or a case does
        not allow a value.
        """
        place = ("unpublished", "inputs", self.name)
        rank = _ranking_of_changes(self.study)
        if self.spec.change is not None:
            if rank is None or self.spec.change not in rank.changes:
                names = list(rank.changes) if rank else []
                message = (
                    "rank has no change"
                    f" {self.spec.change!r}{did_you_mean(self.spec.change, names)}"
                )
                yield self.study.problem((*place, "change"), message)
            elif self.spec.values:
                yield self.study.problem(
                    (*place, "values"), "within a change a range is drawn; write from and to"
                )
            return
        if self.question_key:
            yield from self._problems_in_question()
            return
        if not self.cases:
            message = f"no case of the study has {self.spec.path}"
            yield self.study.problem((*place, "path"), message)
        for case in self.cases[:1]:
            for level in self.levels:
                try:
                    node = self.node(case, level)
                    settings = {**self.study.cases[case], self.spec.path: node}
                    if self.spec.instead:  # a file that is counted anew takes long to build
                        resolve_once(settings, self.study.library)
                    else:
                        evaluator(case, settings, self.study.library)
                except SpecError as error:
                    at_key = ("values", int(level)) if self.spec.values else ("from",)
                    yield self.study.problem((*place, *at_key), error.problems[0].message)

    def _problems_in_question(self) -> Iterator[Problem]:
        """Yield the problem for which an input of a question cannot be drawn."""
        place = ("unpublished", "inputs", self.name)
        stated_quantity = quantity_in_question(
            self.study.spec.questions, split_path(self.spec.path)
        )
        if stated_quantity is None:
            message = f"the study has no quantity {self.spec.path}"
            yield self.study.problem((*place, "path"), message)
        elif self.spec.first is None:
            message = "of a quantity of a question a range is drawn; write from and to"
            yield self.study.problem((*place, "values"), message)
        elif self.spec.first.dimension != stated_quantity.dimension:
            message = f"{self.spec.first.text} has another unit than {stated_quantity.text}"
            yield self.study.problem((*place, "from"), message)

    @property
    def levels(self) -> list[float]:
        """The levels of the input: the numbers of its values from 0 on, or the two ends of its
        range.
        """
        if self.spec.values:
            return [float(value_index) for value_index in range(len(self.spec.values))]
        assert self.spec.first is not None
        assert self.spec.to is not None
        return [self.spec.first.value, self.spec.to.value]

    @property
    def grid(self) -> list[float]:
        """The levels at which statements are solved along this input, with all other inputs as in
        the study.
        """
        low, *_, high = self.levels
        if self.spec.values:
            return self.levels
        spacing_function = np.geomspace if self.spec.spacing == "geometric" else np.linspace
        return [float(value) for value in spacing_function(low, high, _GRID_VALUES)]

    def draw_levels(self, count: int, seed: int) -> list[float]:
        """Return a number of random levels, from a random stream with the name of the input."""
        # A stream for each name, so that an input that is added or removed leaves the draws of the
        # others as they were.
        random_generator = random_stream(seed, f"unpublished input {self.name}")
        low, *_, high = self.levels
        if self.spec.values:
            return [
                float(index)
                for index in random_generator.integers(len(self.spec.values), size=count)
            ]
        fractions = random_generator.random(count)
        if self.spec.spacing == "geometric":
            return [float(low * (high / low) ** fraction) for fraction in fractions]
        return [float(low + (high - low) * fraction) for fraction in fractions]

    def _node_at_level(self, case: str, level: float | None) -> Node | None:
        """Return the node at the input's path in a case, or the file that replaces it at a level;
        None where the case has no such quantity.
        """
        inputs = resolve_once(self.study.cases[case], self.study.library)
        if not self.spec.instead:
            own_node = node_at(inputs.tree, split_path(canonical(inputs.tree, self.spec.path)))
            return self._default(case) if own_node is None else own_node
        own_node = node_at(inputs.tree, split_path(canonical(inputs.tree, self.spec.path)))
        text = own_node.text if isinstance(own_node, Scalar) else None
        if text not in self.spec.instead or level is None:
            return None
        place = ("unpublished", "inputs", self.name, "instead", text, int(level))
        return self.study.node_of(place)

    def default_of(self, case: str) -> Node | None:
        """Return the value that a case has although nothing is written at the path; None if a value
        is written, or if there is no such quantity.
        """
        inputs = resolve_once(self.study.cases[case], self.study.library)
        keys = split_path(canonical(inputs.tree, self.spec.path))
        return self._default(case) if node_at(inputs.tree, keys) is None else None

    def _default(self, case: str) -> Node | None:
        """Return the value that a case has although nothing is written at the path; None if there
        is none.
        """
        inputs = resolve_once(self.study.cases[case], self.study.library)
        given_quantity = inputs.given_quantity(self.spec.path)
        mark = self.study.node_of(("unpublished", "inputs", self.name, "path")).mark
        return (
            None
            if given_quantity is None
            else quantity_node(given_quantity.value, str(given_quantity.dimension), mark)
        )

    def node(self, case: str, level: float) -> Node:
        """Return the value that a case gets at one level."""
        if self.spec.instead:
            level_node = self._node_at_level(case, level)
            assert level_node is not None
            return level_node
        if self.spec.values:
            return self.study.node_of(("unpublished", "inputs", self.name, "values", int(level)))
        assert self.spec.first is not None
        mark = self.study.node_of(("unpublished", "inputs", self.name, "from")).mark
        return quantity_node(level, str(self.spec.first.dimension), mark)

    def replacement_of(self, file: str, level: float) -> Node | None:
        """Return the file with which a level replaces the one that an earlier input put at the same
        path; None if the study names none.
        """
        if file not in self.spec.instead:
            return None
        place = ("unpublished", "inputs", self.name, "instead", file, int(level))
        return self.study.node_of(place)

    def replaces(self, case: str, level: float) -> bool:
        """Return whether a level replaces the file that the case names."""
        return str(plain_data(self.node(case, level))) != self._text_by_case[case]

    @cached_property
    def _text_by_case(self) -> dict[str, str]:
        """The text at the input's path in each case."""
        text_by_case = {}
        for case in self.cases:
            inputs = resolve_once(self.study.cases[case], self.study.library)
            node = node_at(inputs.tree, split_path(canonical(inputs.tree, self.spec.path)))
            text_by_case[case] = node.text if isinstance(node, Scalar) else ""
        return text_by_case

    def question_at(self, question_spec: Any, level: float) -> Any:
        """Return a specification of a question in which the input has the value of a level."""
        assert self.spec.first is not None
        given = Given(level, self.spec.first.dimension, self.level_text(level))
        return _with_quantity(question_spec, split_path(self.spec.path)[1:], given)

    def level_text(self, level: float) -> str:
        """Return a level as text for a reader."""
        if self.spec.values:
            return str(plain_data(self.study.node_of(self._value_place(int(level)))))
        assert self.spec.first is not None
        return quantity(level, str(self.spec.first.dimension))

    def _value_place(self, value_index: int) -> tuple[str | int, ...]:
        """Return the place of a value in the study."""
        return ("unpublished", "inputs", self.name, "values", value_index)

    @property
    def range_text(self) -> str:
        """The range, or the values, as text for a reader."""
        if self.spec.values:
            return join_phrases([self.level_text(level) for level in self.levels], "or")
        low, high = map(self.level_text, self.levels)
        likelihood_clause = ", equal factors as likely" if self.spec.spacing == "geometric" else ""
        return f"{low} to {high}{likelihood_clause}"


def quantity_in_question(questions: Mapping[str, Any], path: Sequence[str]) -> Given | None:
    """Return the quantity at a path of a question; None if there is none."""
    spec_or_quantity: Any = questions.get(path[0])
    for key in path[1:]:
        spec_or_quantity = getattr(spec_or_quantity, key, None)
    return spec_or_quantity if isinstance(spec_or_quantity, Given) else None


def _with_quantity(spec: Any, keys: Sequence[str], given: Given) -> Any:
    """Return a specification in which another quantity replaces the one at some nested keys."""
    inner_spec = (
        given if len(keys) == 1 else _with_quantity(getattr(spec, keys[0]), keys[1:], given)
    )
    return spec.model_copy(update={keys[0]: inner_spec})


class _Point(NamedTuple):
    """The settings of a case in one draw: values of parameters of its model, and nodes that need
    another model.
    """

    values: dict[str, float]
    nodes: dict[str, Node]
    key: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _AnswersAtDraws:
    """The answers that statements name, solved at draws of the unprinted inputs."""

    inputs: Sequence[_DrawnInput]
    statements: Mapping[str, StatementSpec]
    study: StudyContext
    answers: BaseAnswers
    solved_questions: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def effect_by_answer(self) -> dict[str, tuple[str, str, str]]:
        """The case, the change and the technology of each answer of the ranking, by the name of the
        answer.
        """
        rank = _ranking_of_changes(self.study)
        if rank is None:
            return {}
        return {
            effect_name(*key): key for key in product(rank.cases, rank.changes, ["", *rank.under])
        }

    @cached_property
    def question_by_answer(self) -> dict[str, str]:
        """The key of the question of each answer that is neither a case nor an effect of a change,
        by the name of the answer.
        """
        return {
            name: question_key
            for question_key, question in self.question_by_key.items()
            for name in question.answer_names
        }

    @cached_property
    def question_by_key(self) -> dict[str, Question]:
        """The questions that may have further answers, by key."""
        return {
            key: read_question(key, spec, self.study)
            for key, spec in self.study.spec.questions.items()
            if key not in ("rank", "statements", "unpublished", "compare")
        }

    def answers_at(
        self, draws: Sequence[InputLevels], statement_names: Collection[str]
    ) -> list[dict[str, Answer]]:
        """Return the answers that some statements name, at each draw."""
        value_names_by_answer: dict[str, set[str]] = {}
        for statement_name in statement_names:
            spec = self.statements[statement_name]
            for answer_name, value_names in names_needed_by_answer(spec).items():
                value_names_by_answer.setdefault(answer_name, set()).update(value_names)
        answers_by_draw: list[dict[str, Answer]] = [{} for _ in draws]
        changes_by_case_and_technology: dict[tuple[str, str], dict[str, str]] = {}
        names_by_question: dict[str, list[str]] = {}
        for name, value_names in value_names_by_answer.items():
            if name in self.study.cases:
                self._solve_case(name, value_names, draws, answers_by_draw)
            elif name in self.effect_by_answer:
                case, change, technology = self.effect_by_answer[name]
                changes_by_case_and_technology.setdefault((case, technology), {})[change] = name
            else:
                names_by_question.setdefault(self.question_by_answer[name], []).append(name)
        for question_key, names_of_question in names_by_question.items():
            if self.question_by_key[question_key].solve_at is not None:
                self._solve_together(question_key, names_of_question, draws, answers_by_draw)
                continue
            for name in names_of_question:
                self._solve_other_question(name, draws, answers_by_draw)
        for (case, technology), name_by_change in changes_by_case_and_technology.items():
            self._solve_effects(case, technology, name_by_change, draws, answers_by_draw)
        return answers_by_draw

    @cached_property
    def cases(self) -> dict[str, Settings]:
        """The settings of each case, with the default of each drawn input written out: only a
        written quantity is a parameter, which can vary without a new model.
        """
        defaults: dict[str, dict[str, Node]] = {case: {} for case in self.study.cases}
        for drawn_input in self.inputs:
            for case in drawn_input.cases:
                if (node := drawn_input.default_of(case)) is not None:
                    defaults[case][drawn_input.spec.path] = node
        return {case: {**own, **defaults[case]} for case, own in self.study.cases.items()}

    def has_all_files(self, draw: InputLevels) -> bool:
        """Return whether the study names all files of a draw: if two inputs replace a file of a
        case, the second must name what replaces the first one's file.
        """
        return all(self._files_of_draw(case, draw) is not None for case in self.study.cases)

    def _files_of_draw(self, case: str, draw: InputLevels) -> dict[str, Node] | None:
        """Return the files that replace files of a case in a draw, by path; None if the study does
        not name one of them. Inputs are applied one after the other.
        """
        node_by_path: dict[str, Node] = {}
        for drawn_input in self.inputs:
            if (
                not drawn_input.spec.instead
                or case not in drawn_input.cases
                or drawn_input.name not in draw
            ):
                continue
            path = drawn_input.spec.path
            level = draw[drawn_input.name]
            if path in node_by_path:
                present_file = str(plain_data(node_by_path[path]))
                node = drawn_input.replacement_of(present_file, level)
                if node is None and drawn_input.replaces(case, level):
                    return None
            else:
                node = drawn_input.node(case, level) if drawn_input.replaces(case, level) else None
            if node is not None:
                node_by_path[path] = node
        return node_by_path

    def _point(self, case: str, draw: InputLevels) -> _Point:
        """Return the settings of a case in one draw."""
        own_case = evaluator(case, self.cases[case], self.study.library)
        value_by_path: dict[str, float] = {}
        node_by_path = self._files_of_draw(case, draw)
        assert node_by_path is not None
        node_texts = [(path, str(plain_data(node))) for path, node in node_by_path.items()]
        for drawn_input in self.inputs:
            if (
                drawn_input.name not in draw
                or case not in drawn_input.cases
                or drawn_input.spec.instead
            ):
                continue
            path = canonical(own_case.inputs.tree, drawn_input.spec.path)
            if path in own_case.built.parameters and own_case.built.can_vary([path]):
                value_by_path[path] = self._number(drawn_input, case, draw[drawn_input.name])
            else:
                node_by_path[drawn_input.spec.path] = drawn_input.node(case, draw[drawn_input.name])
                node_texts.append((drawn_input.name, str(draw[drawn_input.name])))
        return _Point(value_by_path, node_by_path, tuple(node_texts))

    def _number(self, drawn_input: _DrawnInput, case: str, level: float) -> float:
        """Return the number that a level of an input sets in a case, in base units."""
        if not drawn_input.spec.values:
            return level
        own_case = evaluator(case, self.cases[case], self.study.library)
        given_quantity = own_case.inputs.with_value(
            drawn_input.spec.path, drawn_input.node(case, level)
        ).given_quantity(drawn_input.spec.path)
        assert given_quantity is not None
        return given_quantity.value

    def _draw_groups(
        self, case: str, draws: Sequence[InputLevels]
    ) -> Iterator[tuple[Settings, dict[str, Array], list[int]]]:
        """Yield groups of draws for which a case has the same model: its settings, the columns of
        parameter values, and the numbers of the draws.
        """
        points = [self._point(case, draw) for draw in draws]
        draw_indices_by_key: dict[Any, list[int]] = {}
        for draw_index, point in enumerate(points):
            draw_indices_by_key.setdefault((point.key, *point.values), []).append(draw_index)
        for draw_indices in draw_indices_by_key.values():
            first_point = points[draw_indices[0]]
            columns = {
                path: np.array([points[draw_index].values[path] for draw_index in draw_indices])
                for path in first_point.values
            }
            yield {**self.cases[case], **first_point.nodes}, columns, draw_indices

    def _solve_case(
        self,
        case: str,
        value_names: Collection[str],
        draws: Sequence[InputLevels],
        answers_by_draw: list[dict[str, Answer]],
    ) -> None:
        """Solve a case at all draws, and add the values to the answers of each draw."""
        for settings, columns, draw_indices in self._draw_groups(case, draws):
            case_evaluator = unbounded(evaluator(case, settings, self.study.library))
            end_columns = {f"{end}[{name}]" for name in value_names for end in ("low", "high")}
            table = case_evaluator.point_table(columns, {*value_names, *end_columns})
            methods = table.provenance.methods
            for group_index, draw_index in enumerate(draw_indices):
                answers_by_draw[draw_index][case] = Answer(
                    case,
                    methods[group_index % len(methods)],
                    _values_at(table.columns, value_names, group_index, case_evaluator),
                )

    def _solve_effects(
        self,
        case: str,
        technology: str,
        name_by_change: Mapping[str, str],
        draws: Sequence[InputLevels],
        answers_by_draw: list[dict[str, Answer]],
    ) -> None:
        """Compute the effect of each change of the ranking at all draws, one solve for each model
        with and without the change.
        """
        rank = _ranking_of_changes(self.study)
        assert rank is not None
        input_by_change = {
            drawn_input.spec.change: drawn_input
            for drawn_input in self.inputs
            if drawn_input.spec.change is not None
        }
        for settings, columns, draw_indices in self._draw_groups(case, draws):
            case_settings = settings_under(settings, rank, self.study.tree)[technology]
            case_changes = ChangeReader(case, case_settings, rank, self.study).read(technology)
            overheads_before = _overhead_by_draw(case_changes.before, columns, len(draw_indices))
            for change, name in name_by_change.items():
                changed_columns = dict(columns)
                if (drawn_input := input_by_change.get(change)) is not None:
                    own_parameters = case_changes.before[0].built.parameters
                    path = canonical(case_changes.before[0].inputs.tree, drawn_input.spec.path)
                    stated_value = case_changes.singles[change][1].get(
                        path, own_parameters[path].value or 0.0
                    )
                    changed_columns[path] = np.array(
                        [
                            draws[draw_index].get(drawn_input.name, stated_value)
                            for draw_index in draw_indices
                        ]
                    )
                overheads_after = _overhead_by_draw(
                    case_changes.singles[change], changed_columns, len(draw_indices)
                )
                for group_index, draw_index in enumerate(draw_indices):
                    reduction = 1.0 - float(overheads_after[group_index]) / float(
                        overheads_before[group_index]
                    )
                    answers_by_draw[draw_index][name] = Answer(
                        name,
                        "closed-form",
                        {
                            "overhead_reduction": Value(reduction, "1"),
                            "overhead": Value(float(overheads_after[group_index]), "s"),
                        },
                    )

    def _drawn_nodes(self, case: str, draw: InputLevels) -> dict[str, Node]:
        """Return the nodes that a draw sets in a case, by path."""
        node_by_path = {
            drawn_input.spec.path: drawn_input.node(case, draw[drawn_input.name])
            for drawn_input in self.inputs
            if drawn_input.name in draw
            and case in drawn_input.cases
            and not drawn_input.spec.instead
        }
        return {**node_by_path, **(self._files_of_draw(case, draw) or {})}

    def _solve_together(
        self,
        question_key: str,
        names: Sequence[str],
        draws: Sequence[InputLevels],
        answers_by_draw: list[dict[str, Answer]],
    ) -> None:
        """Solve a question whose answers are computed for many values together, once for each
        model.
        """
        spec = self.study.spec.questions[question_key]
        for case in spec.cases:
            for settings, columns, draw_indices in self._draw_groups(case, draws):
                own_columns = {
                    drawn_input.spec.path: np.array(
                        [draws[draw_index][drawn_input.name] for draw_index in draw_indices]
                    )
                    for drawn_input in self.inputs
                    if drawn_input.question_key == question_key
                    and drawn_input.name in draws[draw_indices[0]]
                }
                settings_by_case = {**self.study.cases, case: settings}
                study_spec = self.study.spec.model_copy(update={"pictures": []})
                question = read_question(
                    question_key,
                    spec.model_copy(update={"cases": [case]}),
                    replace(self.study, cases=settings_by_case, spec=study_spec),
                )
                assert question.solve_at is not None
                answers = question.solve_at({**columns, **own_columns}, len(draw_indices), names)
                for draw_index, answers_of_row in zip(draw_indices, answers, strict=True):
                    answers_by_draw[draw_index].update(answers_of_row)

    def _solve_other_question(
        self, name: str, draws: Sequence[InputLevels], answers_by_draw: list[dict[str, Answer]]
    ) -> None:
        """Solve a question at each draw; draws with equal settings are solved once."""
        question_key = self.question_by_answer[name]
        own_spec = self.study.spec.questions[question_key]
        if isinstance(own_spec, Mapping) and name in own_spec:
            own_spec = {name: own_spec[name]}
        for draw_index, draw in enumerate(draws):
            settings_by_case = dict(self.study.cases)
            cache_marks: list[tuple[str, str, str]] = []
            spec = own_spec
            for drawn_input in self.inputs:
                if drawn_input.question_key == question_key and drawn_input.name in draw:
                    level = draw[drawn_input.name]
                    spec = drawn_input.question_at(spec, level)
                    cache_marks.append(
                        (question_key, drawn_input.spec.path, drawn_input.level_text(level))
                    )
            for case, settings in self.study.cases.items():
                node_by_path = self._drawn_nodes(case, draw)
                settings_by_case[case] = {**settings, **node_by_path}
                cache_marks += [
                    (case, path, str(plain_data(node))) for path, node in node_by_path.items()
                ]
            answer_part = "" if own_spec is self.study.spec.questions[question_key] else name
            cache_key = (question_key, answer_part, tuple(cache_marks))
            if cache_key not in self.solved_questions:
                spec_without_pictures = self.study.spec.model_copy(update={"pictures": []})
                question = read_question(
                    question_key,
                    spec,
                    replace(self.study, cases=settings_by_case, spec=spec_without_pictures),
                )
                self.solved_questions[cache_key] = question.solve(self.answers).named_answers()
            answers_by_draw[draw_index][name] = self.solved_questions[cache_key][name]


def _overhead_by_draw(
    case_and_values: tuple[Evaluator, Mapping[str, float]],
    columns: Mapping[str, Array],
    draw_count: int,
) -> Array:
    """Return the overhead of a changed case at each draw; for a model without one, its first
    value.
    """
    case, changed_values = case_and_values
    given_values = {path: np.full(draw_count, value) for path, value in changed_values.items()}
    solved_columns = case.columns({**given_values, **columns})
    column_name = OVERHEAD if OVERHEAD in solved_columns else case.form.quantity
    return np.broadcast_to(solved_columns[column_name], (draw_count,))


def _values_at(
    columns: Mapping[str, Array], names: Collection[str], draw_index: int, case_evaluator: Evaluator
) -> dict[str, Value]:
    """Return the values at one draw; a column with one element has the same value at all draws."""

    def number_at(name: str) -> float | None:
        column = columns.get(name)
        if column is None or not len(column):
            return None
        value = float(column[draw_index % len(column)])
        return None if np.isnan(value) else value

    return {
        name: Value(
            number_at(name),
            case_evaluator.unit(name),
            number_at(f"low[{name}]"),
            number_at(f"high[{name}]"),
        )
        for name in names
    }


@dataclass(frozen=True)
class _Verdicts:
    """The verdicts on statements at draws, and the input that decides each statement."""

    spec: UnpublishedSpec
    statements: Mapping[str, StatementSpec]
    at_draws: _AnswersAtDraws

    def result(self) -> UnpublishedResult:
        """Draw the inputs, keep the draws that agree with the published values, and check every
        statement in each of these draws. Return the verdicts.
        """
        inputs = self.at_draws.inputs
        draws, is_complete = self._draws()
        draws = [draw for draw in draws if self.at_draws.has_all_files(draw)]
        agreeing_names = self.spec.agree
        kept_draws = [
            draw
            for draw, answers in zip(
                draws, self.at_draws.answers_at(draws, agreeing_names), strict=True
            )
            if all(
                check_statement(name, self.statements[name], answers)[0] == "hit"
                for name in agreeing_names
            )
        ]
        counted_names = [name for name in self.statements if self._is_counted(name)]
        answers = self.at_draws.answers_at(kept_draws, counted_names)
        verdicts_of_draws = [
            self._verdicts_at_draw(answers_of_draw, counted_names) for answers_of_draw in answers
        ]
        rows = tuple(
            self._row(
                name,
                [
                    verdict_by_name[name]
                    for verdict_by_name in verdicts_of_draws
                    if name in verdict_by_name
                ],
                kept_draws,
            )._replace(complete="yes" if is_complete else "")
            for name in dict.fromkeys(map(self._statement_of, self.statements))
        )
        has_source = bool(self.at_draws.study.spec.source) or any(
            statement.source for statement in self.statements.values()
        )
        return UnpublishedResult(
            tuple(
                (drawn_input.spec.title, drawn_input.range_text, drawn_input.spec.reason)
                for drawn_input in inputs
            ),
            len(draws),
            len(kept_draws),
            tuple(agreeing_names),
            rows,
            tuple(self._ranges_of_values(answers, counted_names)),
            is_complete,
            source_clause=OF_THE_SOURCE if has_source else "",
        )

    def _draws(self) -> tuple[list[InputLevels], bool]:
        """Return the levels of the inputs in each draw, and whether the draws are all combinations
        of their values. They are so if there are no more combinations than draws, since random
        draws would repeat some and omit others.
        """
        inputs = self.at_draws.inputs
        names = [drawn_input.name for drawn_input in inputs]
        is_complete = (
            all(drawn_input.spec.values for drawn_input in inputs)
            and math.prod(len(drawn_input.levels) for drawn_input in inputs) <= self.spec.draws
        )
        levels_of_draws = (
            product(*(drawn_input.levels for drawn_input in inputs))
            if is_complete
            else zip(
                *(
                    drawn_input.draw_levels(self.spec.draws, self.spec.seed)
                    for drawn_input in inputs
                ),
                strict=True,
            )
        )
        return [dict(zip(names, levels, strict=True)) for levels in levels_of_draws], is_complete

    def _statement_of(self, name: str) -> str:
        """Return the statement that a part or a reading belongs to."""
        return self.statements[name].part_of or name

    def _is_counted(self, name: str) -> bool:
        """Return whether a statement is counted: it is no input, and does not select the draws."""
        return self.statements[name].counted and name not in self.spec.agree

    def _verdicts_at_draw(
        self, answers: Mapping[str, Answer], names: Sequence[str]
    ) -> dict[str, str]:
        """Return the verdict on each statement at one draw; parts and readings count once."""
        rows = []
        for name in names:
            spec = self.statements[name]
            verdict, _ = check_statement(name, spec, answers)
            rows.append(
                StatementRow(
                    name, verdict, "", "", "", "", "", "", spec.part_of or "", spec.reading
                )
            )
        return verdicts_of(rows)

    def _row(
        self, name: str, verdicts: Sequence[str], kept_draws: Sequence[InputLevels]
    ) -> RangedRow:
        """Return in how many of the kept draws a statement holds, and the input that decides it."""
        specs = [
            spec
            for part_name, spec in self.statements.items()
            if self._statement_of(part_name) == name
        ]
        ranged_row = RangedRow(
            name,
            "input",
            specs[0].says,
            specs[0].source,
            str(len(kept_draws)),
            apart=specs[0].apart,
            repeats=specs[0].repeats,
        )
        if not verdicts:
            return ranged_row
        count_by_verdict = Counter(verdicts)
        verdict_text = (
            "always"
            if count_by_verdict["hit"] == len(verdicts)
            else "depends"
            if count_by_verdict["hit"]
            else "undecided"
            if count_by_verdict["undecided"]
            else "never"
        )
        undecided_text = (
            f", undecided in {count_by_verdict['undecided']}"
            if count_by_verdict["undecided"]
            else ""
        )
        holds_text = f"{count_by_verdict['hit']} of {len(verdicts)}{undecided_text}"
        deciding_input = ""
        turns_text = ""
        if verdict_text == "depends":
            deciding_input, turns_text = self._deciding_input(
                name, [verdict == "hit" for verdict in verdicts], kept_draws
            )
        return ranged_row._replace(
            verdict=verdict_text, holds=holds_text, decided_by=deciding_input, turns=turns_text
        )

    def _deciding_input(
        self, name: str, holds_in_draws: Sequence[bool], kept_draws: Sequence[InputLevels]
    ) -> tuple[str, str]:
        """Return the input whose level decides most on a statement: of all splits of the draws at
        one level of one input, its split best separates those in which the statement holds. Return
        also in words the levels at which the statement changes along this input.
        """
        split_by_input = {
            drawn_input.name: _best_split(
                [draw[drawn_input.name] for draw in kept_draws], holds_in_draws
            )
            for drawn_input in self.at_draws.inputs
        }
        best_input = max(
            self.at_draws.inputs, key=lambda drawn_input: split_by_input[drawn_input.name].gain
        )
        best_split = split_by_input[best_input.name]
        if best_split.gain < _LEAST_GAIN:
            return "", "no single input tells the draws apart"
        counts_below = best_split.below
        counts_above = best_split.above
        split_text = (
            f"{best_input.spec.title}: up to {best_input.level_text(best_split.low)} it holds in"
            f" {counts_below[0]}"
            f" of {counts_below[1]} draws, from {best_input.level_text(best_split.high)} in"
            f" {counts_above[0]}"
            f" of {counts_above[1]}"
        )
        return best_input.spec.title, f"{split_text}; {self._change_along_input(name, best_input)}"

    def _change_along_input(self, name: str, varied_input: _DrawnInput) -> str:
        """Return, in words, the levels of one input at which a statement changes while all other
        inputs are as in the study.
        """
        statement_parts = [
            statement_part
            for statement_part in self.statements
            if self._statement_of(statement_part) == name and self._is_counted(statement_part)
        ]
        grid_levels = varied_input.grid
        answers_of_levels = self.at_draws.answers_at(
            [{varied_input.name: level} for level in grid_levels], statement_parts
        )
        holds_at_levels = [
            self._verdicts_at_draw(answers_at_level, statement_parts)[name] == "hit"
            for answers_at_level in answers_of_levels
        ]
        changes = [
            f"{'holds' if holds_at_levels[level_index] else 'does not hold'} at"
            f" {varied_input.level_text(grid_levels[level_index])}"
            f" and {'holds' if holds_at_levels[level_index + 1] else 'does not'} at"
            f" {varied_input.level_text(grid_levels[level_index + 1])}"
            for level_index in range(len(grid_levels) - 1)
            if holds_at_levels[level_index] != holds_at_levels[level_index + 1]
        ]
        if not changes:
            verdict_text = "holds" if holds_at_levels[0] else "does not hold"
            return f"with all else as the study has it, it {verdict_text} at any value"
        return f"with all else as the study has it, it {join_phrases(changes, 'and')}"

    def _ranges_of_values(
        self, answers: Sequence[Mapping[str, Answer]], statement_names: Sequence[str]
    ) -> Iterator[RangedValue]:
        """Yield each value that a statement compares, with the inputs of the study and its range
        over the kept draws.
        """
        (stated_answers,) = self.at_draws.answers_at([{}], statement_names)
        for statement_name in statement_names:
            spec = self.statements[statement_name]
            unit = stated_answers[spec.of[0]].unit(spec.value)
            unit = "1" if spec.per or spec.relative_to else unit
            stated_values = check_statement(statement_name, spec, stated_answers)[1]
            drawn_values = [
                check_statement(statement_name, spec, answers_of_draw)[1]
                for answers_of_draw in answers
            ]
            for value_index, stated_value in enumerate(stated_values):
                values = [
                    value.value
                    for answers_of_draw in drawn_values
                    if (value := answers_of_draw[value_index].value) is not None
                ]
                yield RangedValue(
                    statement_name,
                    stated_value.answer,
                    None if stated_value.value is None else stated_value.value.value,
                    min(values, default=None),
                    max(values, default=None),
                    unit,
                    stated_answers[stated_value.answer].method,
                )


class _Split(NamedTuple):
    """A split of the draws at a level of one input: the levels on both sides of it and, for each
    side, the number of draws in which a statement holds and the number of all draws.
    """

    gain: float
    low: float = 0.0
    high: float = 0.0
    below: tuple[int, int] = (0, 0)
    above: tuple[int, int] = (0, 0)


def _best_split(levels: Sequence[float], holds_in_draws: Sequence[bool]) -> _Split:
    """Return the split of the draws at one level that reduces the Gini impurity, of holding or not,
    by the largest fraction.

    >>> _best_split([1.0, 2.0, 3.0, 4.0], [False, False, True, True])
    _Split(gain=1.0, low=2.0, high=3.0, below=(0, 2), above=(2, 2))
    """
    ascending_indices = sorted(range(len(levels)), key=lambda draw_index: levels[draw_index])
    draw_count = len(levels)
    holding_count = sum(holds_in_draws)
    impurity_before = _impurity(holding_count, draw_count)
    best_split = _Split(-1.0)
    holding_below = 0
    for count_below, draw_index in enumerate(ascending_indices[:-1], 1):
        holding_below += holds_in_draws[draw_index]
        low = levels[draw_index]
        high = levels[ascending_indices[count_below]]
        # Draws of the same level cannot be told apart, so no split lies between them.
        if low == high or not impurity_before:
            continue
        impurity_of_left = _impurity(holding_below, count_below)
        impurity_of_right = _impurity(holding_count - holding_below, draw_count - count_below)
        gain = 1.0 - (impurity_of_left + impurity_of_right) / impurity_before
        if gain > best_split.gain:
            counts_of_sides = (
                (holding_below, count_below),
                (holding_count - holding_below, draw_count - count_below),
            )
            best_split = _Split(gain, low, high, *counts_of_sides)
    return best_split


def _impurity(holding_count: int, draw_count: int) -> float:
    """Return the Gini impurity of draws of which some hold."""
    return holding_count * (draw_count - holding_count) / draw_count
