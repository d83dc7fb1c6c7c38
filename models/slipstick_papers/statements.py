"""Statements: sentences of a source, each checked against the answers of the study."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import inf, nextafter
from typing import ClassVar, NamedTuple

from slipstick.answer import Answer
from slipstick.errors import Problem, Saturated, SpecError, did_you_mean
from slipstick.expression.nodes import COUNT, Dimension
from slipstick.late import dataclass, field, np
from slipstick.report.formatting import (
    NO_ENDS,
    escape,
    percent,
    quantity,
    uncapitalized,
    with_noun,
)
from slipstick.results.question import (
    NO,
    YES,
    QuestionResult,
    ResultColumn,
    ResultTable,
    TitleAnswer,
    verdict_word,
)
from slipstick.results.sweep import Provenance
from slipstick.results.words import Words
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.kinds.study import columns_in
from slipstick.schema.text import node_at
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import BaseAnswers, Question, ValueNames
from slipstick.vocabulary import MEAN_VALUE
from slipstick_papers.page import STATEMENTS, StatementRow, summary_of_statements, verdicts_of
from slipstick_papers.specs import StatementSpec
from slipstick_questions.saturation import SATURATED_AMOUNT, unbounded

OF_THE_SOURCE = " of the source"


class ComparedNumber(NamedTuple):
    """A value in base units with the ends of its confidence interval, which equal the value unless
    it was simulated, and the error that a comparison allows for an approximation.
    """

    value: float
    low: float
    high: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """A value of one answer that a statement is checked on, whether the statement holds for it
    (None if undecided), and the value of another answer that it is compared with, if any.
    """

    answer: str
    value: ComparedNumber | None
    holds: bool | None
    against: ComparedNumber | None = None


@dataclass(frozen=True, slots=True)
class StatementsResult(QuestionResult):
    """Sentences of sources, each checked against the answers.

    Parameters
    ----------
    statements : one a row
    ranged : whether the study gives ranges for what the source does not print, over which another
        question has the verdicts
    sampled : whether the study draws uncertain quantities, or fits them to measured times, so that
        the verdicts are those of the values as given alone
    source_clause : "of the source" behind statements; empty where the study names no source
    """

    title: ClassVar[str] = "Statements of the source"
    states_the_title: ClassVar[bool] = True
    statements: tuple[StatementRow, ...]
    ranged: bool = False
    sampled: bool = False
    source_clause: str = field(default=OF_THE_SOURCE, repr=False)

    @property
    def heading(self) -> str:
        """The heading of the section: statements, of the source where there is one."""
        return f"Statements{self.source_clause}"

    def sentences(self) -> list[str]:
        """Return a sentence that counts the statements that hold and names the others."""
        beginning = f"{_WITH_INPUTS_AS_GIVEN}: " if self.sampled else ""
        if self.ranged:
            beginning = (
                f"{_WITH_INPUTS_AS_GIVEN}, one choice of those over which the head counts the same"
                " statements: "
            )
        return [beginning + summary_of_statements(self.statements)]

    def headline(self, words: Words) -> list[str]:
        """Return a sentence that counts the statements that hold and quotes the first that does
        not; nothing if all statements are inputs.
        """
        has_verdicts = any(verdict != "input" for verdict in verdicts_of(self.statements).values())
        beginning = f"{_WITH_INPUTS_AS_GIVEN}: " if self.sampled else ""
        sentence = beginning + _counting_sentence(self.statements, self.source_clause)
        return [sentence] if has_verdicts and not self.ranged else []

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return whether the statements are true, as an answer to the title; None if all are
        inputs, if another question has the verdicts, or if inputs are uncertain.
        """
        counted_verdicts = [
            verdict for verdict in verdicts_of(self.statements).values() if verdict != "input"
        ]
        if not counted_verdicts or self.ranged or self.sampled:
            return None
        truth_by_verdict = {"hit": True, "miss": False}
        word = verdict_word(truth_by_verdict.get(verdict) for verdict in counted_verdicts)
        if len(self.statements) > 1:
            return TitleAnswer(word, _counting_sentence(self.statements, self.source_clause))
        (row,) = self.statements
        quoted_statement = textwrap.shorten(
            row.says, _MOST_QUOTED_LETTERS, placeholder=" ..."
        ).rstrip(".")
        is_true = {YES: "it is true that", NO: "it is not true that"}.get(
            word, "it is undecided whether"
        )
        # One value is known to miss by the verdict.
        miss_mark = " (not so)" if ", " in row.computed else ""
        computed_text = row.computed.replace(" (miss)", miss_mark)
        for case in answers:
            computed_text = re.sub(
                rf"(?<![\w-]){re.escape(case)}(?= |,|$)", words.case(case), computed_text
            )
        return TitleAnswer(
            word,
            f"{is_true} {uncapitalized(quoted_statement)}; computed: {computed_text}",
        )

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield the table of verdicts, and then the text of each statement with its computed
        values.
        """
        rows = self.statements
        columns = [
            ResultColumn("statement", [row.name for row in rows], place=True),
            ResultColumn("verdict", [row.verdict for row in rows]),
            ResultColumn("source", [row.source or None for row in rows]),
        ]
        if self.ranged:  # the verdicts over what is not printed stand in the place of these
            columns = [columns[0], columns[2]]
        yield ResultTable(
            "",
            columns,
            Provenance([row.method for row in rows], [row.exact == "yes" for row in rows]),
        )
        yield "\n".join(map(_statement_line, self.statements))

    def files(self) -> dict[str, list[dict[str, str]]]:
        """Return the table of all statements, by the name of its file."""
        return {STATEMENTS: [row._asdict() for row in self.statements]}


def _has_fitted_base(study: StudyContext) -> bool:
    """Return whether a fit of the study sets parameters of its base."""
    fits = study.spec.questions.get("fits") or {}
    return any(getattr(fit, "free", ()) for fit in fits.values())


_MOST_QUOTED_LETTERS = 140
_MOST_QUOTED_STATEMENTS = 2
_WITH_INPUTS_AS_GIVEN = "with the inputs as the study has them"


def _counting_sentence(rows: Sequence[StatementRow], source_clause: str) -> str:
    """Return a sentence that counts the statements that the computed values confirm, and quotes the
    first that they do not. `source_clause` follows the word for the statements.
    """
    verdict_by_name = verdicts_of(rows)
    count_by_verdict = Counter(verdict_by_name.values())
    statement_count = len(verdict_by_name) - count_by_verdict["input"]
    confirmed_clause = (
        f"{count_by_verdict['hit']} of {with_noun(statement_count, 'statement')}{source_clause}"
    )
    if count_by_verdict["hit"] == statement_count:
        statements_text = {1: "the one statement", 2: "both statements"}.get(
            statement_count, f"all {statement_count} statements"
        )
        quoted_statements = [
            f'"{textwrap.shorten(row.says, _MOST_QUOTED_LETTERS, placeholder=" ...")}"'
            for row in rows
            if row.verdict == "hit" and not row.part_of
        ]
        which = (
            f": {' and '.join(quoted_statements)}"
            if len(quoted_statements) == statement_count <= _MOST_QUOTED_STATEMENTS
            else f' (all under "Statements{source_clause}")'
        )
        return f"the computed values confirm {statements_text}{source_clause}{which}"
    undecided_text = (
        f"; {with_noun(count_by_verdict['undecided'], 'is', 'are')} undecided"
        if count_by_verdict["undecided"]
        else ""
    )
    missed_rows = [
        row
        for row in rows
        if row.verdict == "miss" and verdict_by_name.get(row.part_of or row.name) == "miss"
    ]
    quote_clause = ""
    if missed_rows:
        quoted_statement = textwrap.shorten(
            missed_rows[0].says, _MOST_QUOTED_LETTERS, placeholder=" ..."
        )
        if statement_count == 1:
            return (
                f"the computed values contradict the one statement{source_clause}:"
                f' "{quoted_statement}"'
            )
        quote_clause = f'; one that they contradict: "{quoted_statement}"'
    return f"the computed values confirm {confirmed_clause}{undecided_text}{quote_clause}"


def read(statements: Mapping[str, StatementSpec], study: StudyContext) -> Question:
    """Return the question that checks the sentences; their names of values can be checked only when
    the answers are known.
    """

    problems = [
        study.problem(
            ("statements", name),
            f"its readings are called {name}-1 and so on, and {reading} stands here too; choose"
            " another name",
            is_at_key=True,
        )
        for name, statement in statements.items()
        for reading in statement.read_as(name)
        if reading != name and reading in statements
    ]
    if problems:
        raise SpecError(problems)
    readings = read_one_by_one(statements)
    has_source = node_at(study.tree, ["source"]) is not None or any(
        spec.source for spec in readings.values()
    )

    def solve(answers: BaseAnswers) -> StatementsResult:
        infinite_values = _infinite_values(answers.named, compared_values, study)
        return StatementsResult(
            tuple(
                _Sentence(name, spec, answers.named, infinite_values).as_row()
                for name, spec in readings.items()
            ),
            ranged="unpublished" in study.spec.questions,
            sampled="sample" in study.spec.questions or _has_fitted_base(study),
            source_clause=OF_THE_SOURCE if has_source else "",
        )

    def name_problems_of(names_by_answer: Mapping[str, ValueNames]) -> Iterator[Problem]:
        for name, statement in statements.items():
            for spec in statement.read_as(name).values():
                reading_place = ("readings", spec.reading) if statement.readings else ()
                for place, reason in _value_problems(spec, names_by_answer):
                    is_of_reading = (
                        reading_place
                        and place[0] in statement.readings[spec.reading].model_fields_set
                    )
                    yield study.problem(
                        ("statements", name, *(reading_place if is_of_reading else ()), *place),
                        reason,
                    )

    compared_values = {
        value
        for spec in readings.values()
        for key in ("of", "above")
        for value in _values_of(spec, key)
    }
    compared_values |= {
        value for spec in readings.values() for terms in spec.cited.values() for _, value in terms
    }
    return Question(solve, named_values=compared_values, name_problems=name_problems_of)


def _infinite_values(
    answers: Mapping[str, Answer], value_names: Collection[str], study: StudyContext
) -> set[tuple[str, str]]:
    """Return the values that are infinite, because a resource is saturated, each with its case."""
    return {
        (case, name)
        for case, answer in answers.items()
        if isinstance(answer.failed, Saturated) and case in study.cases
        for name, column in unbounded(evaluator(case, study.cases[case], study.library))
        .columns({}, value_names)
        .items()
        if np.isinf(column[0])
    }


def read_one_by_one(statements: Mapping[str, StatementSpec]) -> dict[str, StatementSpec]:
    """Return the statements, in which each reading is a statement of its own, by name.

    Parameters
    ----------
    statements : by name
    """
    return {
        name: spec
        for statement_name, statement in statements.items()
        for name, spec in statement.read_as(statement_name).items()
    }


def names_needed_by_answer(spec: StatementSpec) -> dict[str, set[str]]:
    """Return the names of the values that a statement compares, grouped by the name of the answer.

    Parameters
    ----------
    spec : the statement, in one reading
    """
    names_by_case: dict[str, set[str]] = {}
    for place, name in spec.compared_cases():
        names_by_case.setdefault(name, set()).update(_values_of(spec, str(place[0])))
    return names_by_case


def check_statement(
    name: str, spec: StatementSpec, answers: Mapping[str, Answer]
) -> tuple[str, tuple[CheckedValue, ...]]:
    """Return the verdict on a statement, and the values that it compares. A statement that tells an
    input of the study has a verdict too.

    Parameters
    ----------
    name, spec : of the statement, in one reading
    answers : by name
    """
    sentence = _Sentence(name, spec, answers)
    cells = sentence.cells()
    return _verdict(cells, spec.at_least or len(cells)), cells


def _stated_numbers(spec: StatementSpec) -> dict[str, Given]:
    """Return the numbers that a sentence states, by the key under which they are given."""
    number_by_key = {"about": spec.about, "within": spec.within, "from": spec.first, "to": spec.to}
    return {key: number for key, number in number_by_key.items() if number is not None}


def _values_of(spec: StatementSpec, key: str) -> list[str]:
    """Return the names of the values that a key needs of each answer."""
    return [*spec.compared_value_names(key), *([spec.per] if spec.per else [])]


def _value_problems(
    spec: StatementSpec, names_by_answer: Mapping[str, ValueNames]
) -> Iterator[tuple[Place, str]]:
    """Yield the place and the message of each value that cannot be compared: its answer does not
    have it, or its unit differs from that of the stated numbers.
    """
    for citation, terms in spec.cited.items():
        citing_place = (spec.key_of_citation(citation),)
        missing_values = [
            (answer_name, value_name)
            for answer_name, value_name in terms
            if value_name not in names_by_answer[answer_name]
        ]
        for answer_name, value_name in missing_values[:1]:
            suggestion = did_you_mean(value_name, names_by_answer[answer_name])
            yield citing_place, f"{answer_name} has no value {value_name}{suggestion}"
        if missing_values:
            continue
        if len({names_by_answer[answer_name][value_name] for answer_name, value_name in terms}) > 1:
            yield (
                citing_place,
                f"{' / '.join(value for _, value in terms)} divides values of several units",
            )
    for place, answer_name in spec.compared_cases():
        for value_name in _values_of(spec, str(place[0])):
            if value_name not in names_by_answer[answer_name]:
                value_place = next(
                    place_inside
                    for place_inside, column in columns_in(spec)
                    if column == value_name
                )
                hint = did_you_mean(value_name, names_by_answer[answer_name])
                reason = f"{answer_name}, under {place[0]}, has no value {value_name}{hint}"
                yield value_place, reason
                return
    compared_units = {
        names_by_answer[answer_name][value_name]
        for place, answer_name in spec.compared_cases()
        for value_name in _values_of(spec, str(place[0]))
    }
    if len(compared_units) > 1:
        key = next((key for key in ("per", "added", "other") if getattr(spec, key)), "of")
        yield (key,), f"values of several units are compared: {', '.join(sorted(compared_units))}"
        return
    unit = "1" if spec.per or spec.relative_to else compared_units.pop()
    for key, stated_number in _stated_numbers(spec).items():
        if stated_number.dimension != Dimension.of(unit):
            wanted_unit = (
                "a plain number" if Dimension.of(unit) == COUNT else f"a quantity in {unit}"
            )
            yield (key,), f"{stated_number.text} is compared with {wanted_unit}; write such a value"


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a source in one reading, with the answers that it names; it computes the
    verdict.
    """

    name: str
    spec: StatementSpec
    answers: Mapping[str, Answer]
    infinite_values: Collection[tuple[str, str]] = ()

    def as_row(self) -> StatementRow:
        """Return the statement with its verdict, the required values and the computed values.

        A value from a simulation is an interval; where the sentence holds for a part of it only, it
        is undecided.
        """
        spec = self.spec
        stated_numbers = _stated_numbers(self.spec)
        checked_values = self.cells()
        used_answers = [self.answers[name] for _, name in spec.compared_cases()]
        methods = " and ".join(dict.fromkeys(answer.method for answer in used_answers))
        are_exact = all(answer.exact for answer in used_answers)
        needed_count = spec.at_least or len(checked_values)
        wanted_text = _condition_in_words(spec, stated_numbers)
        wanted_text += (
            f", for {needed_count} of {len(checked_values)}"
            if needed_count < len(checked_values)
            else ""
        )
        verdict = _verdict(checked_values, needed_count) if spec.counted else "input"
        cause_text = (
            self._with_computed_numbers(spec.missed) if verdict in ("miss", "undecided") else ""
        )
        row_texts = (
            wanted_text,
            self._computed_text(checked_values, stated_numbers),
            methods,
            "yes" if are_exact else "no",
        )
        return StatementRow(
            self.name,
            verdict,
            spec.source,
            spec.says,
            *row_texts,
            spec.part_of or "",
            spec.reading,
            cause_text,
            spec.apart,
            spec.repeats,
            self._with_computed_numbers(spec.lacks),
            spec.excluded,
        )

    def cells(self) -> tuple[CheckedValue, ...]:
        """Return the values that the sentence refers to, each with whether the sentence holds for
        it.
        """
        spec = self.spec
        stated_numbers = _stated_numbers(self.spec)
        values = self._values_under_key("of") or []
        lower_limits, upper_limits = self._limits_of_values(stated_numbers, values)
        no_values: list[ComparedNumber | None] = [None] * len(values)
        compared_values = {
            "above": lower_limits,
            "greatest": lower_limits,
            "below": upper_limits,
            "smallest": upper_limits,
        }.get(spec.form, no_values)
        return tuple(
            CheckedValue(
                name,
                values[index],
                _lies_between(values[index], lower_limits[index], upper_limits[index]),
                compared_values[index],
            )
            for index, name in enumerate(spec.of)
            if name in (self._picked_answers or spec.of)
        )

    def _computed_text(
        self, cells: Sequence[CheckedValue], stated_numbers: Mapping[str, Given]
    ) -> str:
        """Return the values of a statement as text, with a mark at those for which it does not
        hold or is undecided. A ratio to another answer names that answer.
        """
        spec = self.spec
        unit = self._unit(stated_numbers)
        mark_by_truth = {True: "", False: " (miss)", None: " (undecided)"}
        is_factor = spec.relative_to and not any(
            "%" in number.text for number in stated_numbers.values()
        )
        texts = []
        for cell in cells:
            number_text = _number_text(cell.value, unit)
            if spec.relative_to and not spec.other and not spec.per and cell.value:
                references = spec.relative_to * (len(spec.of) if len(spec.relative_to) == 1 else 1)
                reference = references[spec.of.index(cell.answer)]
                adverb = "long" if "time" in spec.value else "much"
                number_text = (
                    f"{_number_text(cell.value, '1')} times as {adverb} as {reference}"
                    if is_factor
                    else f"{number_text} of {reference}"
                )
            against_text = f" against {_number_text(cell.against, unit)}" if cell.against else ""
            texts.append(f"{cell.answer} {number_text}{against_text}{mark_by_truth[cell.holds]}")
        return ", ".join(texts)

    def _with_computed_numbers(self, text: str) -> str:
        """Return a cause of a miss as text, in which computed numbers replace the names in
        braces.
        """
        for cited_text, terms in self.spec.cited.items():
            cited_numbers = [self._number_of(*term) for term in terms]
            unit = (
                "%"
                if len(terms) > 1 or cited_text.endswith(" %")
                else self.answers[terms[0][0]].unit(terms[0][1])
            )
            text = text.replace(
                f"{{{cited_text}}}",
                _number_text(
                    cited_numbers[0]
                    if len(cited_numbers) == 1
                    else _ratio_of_values(*cited_numbers),
                    unit,
                ),
            )
        return text

    @property
    def _picked_answers(self) -> Sequence[str]:
        """The answers whose values must be the greatest, or the smallest, of all."""
        return self.spec.greatest or self.spec.smallest

    def _unit(self, stated_numbers: Mapping[str, Given]) -> str:
        """Return the unit of the values of the sentence: that of a stated number, else that of a
        value.
        """
        if (
            self.spec.per
            or self.spec.relative_to
            or any("%" in number.text for number in stated_numbers.values())
        ):
            return "%"
        return next(
            filter(None, (self.answers[name].unit(self.spec.value) for name in self.spec.of)), "1"
        )

    def _limits_of_values(
        self, stated_numbers: Mapping[str, Given], values: Sequence[ComparedNumber | None]
    ) -> tuple[list[ComparedNumber | None], list[ComparedNumber | None]]:
        """Return the lower and the upper limit of each value, as intervals; infinite if the
        sentence states none.
        """
        lower = -inf
        upper = inf
        if "about" in stated_numbers:
            lower = stated_numbers["about"].value - stated_numbers["within"].value
            upper = stated_numbers["about"].value + stated_numbers["within"].value
        lower = stated_numbers["from"].value if "from" in stated_numbers else lower
        upper = stated_numbers["to"].value if "to" in stated_numbers else upper
        # Slightly more than the digits allow, for decimal fractions have no exact double.
        lower, upper = (
            nextafter(limit + 1e-9 * sign * abs(limit), sign * inf)
            for limit, sign in ((lower, -1), (upper, 1))
        )
        lower_limits = self._values_under_key("above") or [_exact_number(lower)]
        upper_limits = self._values_under_key("below") or [_exact_number(upper)]
        other_values = [
            value
            for name, value in zip(self.spec.of, values, strict=True)
            if name not in self._picked_answers
        ]
        if self.spec.greatest:
            lower_limits = [_combined_value(max, other_values)]
        if self.spec.smallest:
            upper_limits = [_combined_value(min, other_values)]
        value_count = len(values)
        return lower_limits * (value_count if len(lower_limits) == 1 else 1), upper_limits * (
            value_count if len(upper_limits) == 1 else 1
        )

    def _values_under_key(self, key: str) -> list[ComparedNumber | None] | None:
        """Return the value of each answer that a key names, repeated if one value is compared with
        several answers; None if the key names no answer.
        """
        names = getattr(self.spec, key)
        compared_numbers = [
            _combined_value(
                sum, [self._number_of(name, value) for value in self.spec.compared_value_names(key)]
            )
            for name in names
        ]
        if self.spec.per:
            compared_numbers = list(
                map(
                    _ratio_of_values,
                    compared_numbers,
                    [self._number_of(name, self.spec.per) for name in names],
                )
            )
        if key == "of" and (reference_numbers := self._values_under_key("relative_to")):
            compared_numbers = list(map(_ratio_of_values, compared_numbers, reference_numbers))
        return compared_numbers * (len(self.spec.of) if len(compared_numbers) == 1 else 1) or None

    def _number_of(self, answer_name: str, value_name: str) -> ComparedNumber | None:
        """Return a value of an answer with its interval; None if the answer does not have it."""
        answer = self.answers[answer_name]
        number = answer.find(value_name)
        if number == inf or (answer_name, value_name) in self.infinite_values:
            return INFINITE
        if answer.failed or number is None:
            return None
        low, high = answer.ends(value_name)
        # Mean value errs by another amount in each answer; what a closed form neglects, it neglects
        # in all.
        is_compared = self.spec.form in ("above", "below", "greatest", "smallest")
        is_approximate = (
            is_compared and low is None and not answer.exact and answer.method == MEAN_VALUE
        )
        return ComparedNumber(
            number,
            number if low is None else low,
            number if high is None else high,
            _LEAST_ERROR * abs(number) if is_approximate else 0.0,
        )


_LEAST_ERROR = 0.005
"""Relative error that answers by mean value have at least: two that differ by less than twice of it
are not ordered. Chosen here; mean value errs by more in most models (`MEASURED_ERRORS`)."""


INFINITE = ComparedNumber(inf, inf, inf, inf)
"""A time where a resource is saturated; its error tells it from a limit that is not stated."""


def _exact_number(value: float) -> ComparedNumber:
    """Return a number whose interval has no width."""
    return ComparedNumber(value, value, value)


def _combined_value(
    combine: Callable[..., float], values: Sequence[ComparedNumber | None]
) -> ComparedNumber | None:
    """Return the sum, the greatest or the smallest of some values, with an interval that combines
    the ends of their intervals alike; None if a value is unknown.
    """
    known_numbers = [number for number in values if number is not None]
    return (
        ComparedNumber(*map(combine, zip(*known_numbers, strict=True)))
        if len(known_numbers) == len(values)
        else None
    )


def _ratio_of_values(
    numerator: ComparedNumber | None, denominator: ComparedNumber | None
) -> ComparedNumber | None:
    """Return the ratio of two values with its interval; None if one is unknown or the divisor may
    be zero.
    """
    if numerator is None or denominator is None or denominator.low <= 0.0:
        return None
    if INFINITE in (numerator, denominator):
        return INFINITE if denominator != INFINITE else None
    # Neither is negative, so the ratio is smallest at the least dividend and the greatest divisor.
    return ComparedNumber(
        numerator.value / denominator.value,
        numerator.low / denominator.high,
        numerator.high / denominator.low,
        (numerator.error + denominator.error * numerator.value / denominator.value)
        / denominator.value,
    )


def _lies_between(
    value: ComparedNumber | None, lower: ComparedNumber | None, upper: ComparedNumber | None
) -> bool | None:
    """Return whether a value lies between two limits; None if an interval contains a limit or a
    value is unknown.

    A value equal to a stated limit holds; a value equal to that of another answer does not.
    """
    if value is None or lower is None or upper is None:
        return None
    if INFINITE in (value, lower, upper):
        if value != INFINITE:
            return False if lower == INFINITE else _lies_between(value, lower, _exact_number(inf))
        # Of two infinite values none is known to be larger.
        return None if INFINITE in (lower, upper) else upper.value == inf
    errors_below, errors_above = value.error + lower.error, value.error + upper.error
    if value.low > lower.high + errors_below and value.high < upper.low - errors_above:
        return True
    is_outside = value.high <= lower.low - errors_below or value.low >= upper.high + errors_above
    return False if is_outside else None


def _condition_in_words(spec: StatementSpec, number_by_key: Mapping[str, Given]) -> str:
    """Return in words the condition that confirms a sentence."""
    text_by_key = {key: number.text for key, number in number_by_key.items()}
    if spec.form == "about":
        return f"{text_by_key['about']}, within {text_by_key['within']}"
    if spec.form == "from":
        return ", ".join(
            f"{'at least' if key == 'from' else 'at most'} {text}"
            for key, text in text_by_key.items()
        )
    return {
        "above": "more than the value beside it",
        "below": "less than the value beside it",
        "greatest": "the greatest of all, so more than the next one beside it",
        "smallest": "the smallest of all, so less than the next one beside it",
    }[spec.form]


def _verdict(cells: Sequence[CheckedValue], needed_count: int) -> str:
    """Return hit if the statement holds for enough values, miss if it does not, and undecided if
    intervals or unknown values leave it open.
    """
    hit_count = sum(cell.holds is True for cell in cells)
    unknown_count = sum(cell.holds is None for cell in cells)
    return (
        "hit"
        if hit_count >= needed_count
        else "undecided"
        if hit_count + unknown_count >= needed_count
        else "miss"
    )


def _number_text(number: ComparedNumber | None, unit: str) -> str:
    """Return a value with its interval as text."""
    if number is None:
        return "unknown"
    if number == INFINITE:
        return SATURATED_AMOUNT
    interval_ends = NO_ENDS if number.low == number.high else (number.low, number.high)
    return (
        percent(number.value, ends=interval_ends)
        if unit == "%"
        else quantity(number.value, unit, ends=interval_ends)
    )


def _statement_line(row: StatementRow) -> str:
    """Return a statement with its verdict and its values as a line of Markdown."""
    reading_text = f"{escape(row.reading)}: " if row.reading else ""
    cause_text = f" Cause: {escape(row.missed)}." if row.missed else ""
    wanted_and_computed = f"Wanted: {escape(row.wanted)}. Computed: {escape(row.computed)}."
    return (
        f"- **{escape(row.name)}: {row.verdict}.** {reading_text}{escape(row.says)}."
        f" {wanted_and_computed}{cause_text}"
    )
