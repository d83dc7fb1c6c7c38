"""Methods side by side: cases solved by several methods, and whether these contradict each
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import ClassVar

from slipstick.answer import Answer
from slipstick.errors import SpecError, UnknownNameError, did_you_mean
from slipstick.late import dataclass, field
from slipstick.report.answer import agreement_blocks
from slipstick.report.formatting import escape, join_phrases, markdown_blocks, with_noun
from slipstick.report.head import method_phrase
from slipstick.results.question import (
    IN_PART,
    MOST_FURTHER_CASES,
    NO,
    UNDECIDED,
    YES,
    QuestionResult,
    TitleAnswer,
)
from slipstick.results.study import Agreement
from slipstick.results.words import Words
from slipstick.study.cases import StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.vocabulary import ACTIVITY, all_methods, known_methods
from slipstick_questions.agreement import agreement, percent_text
from slipstick_questions.specs import AgreeSpec


@dataclass(frozen=True, slots=True)
class AgreeResult(QuestionResult):
    """The answers of several methods to each case, and whether they agree."""

    title: ClassVar[str] = "Methods side by side"
    states_the_title: ClassVar[bool] = True
    reading: ClassVar[str] = (
        "Two numbers in brackets are the ends of an interval; two numbers alone are bounds."
        " Methods that differ by more than their stated errors are listed as findings."
    )
    agreements: tuple[Agreement, ...]
    models: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def has_own_cases(self) -> bool:
        """Whether the cases are different models, whose answers nothing compares."""
        return len(self.models) > 1

    def sentences(self) -> list[str]:
        """Return sentences that count the findings by kind and list them."""
        findings = [
            f"{agreement.case}: {finding}"
            for agreement in self.agreements
            for finding in agreement.findings
        ]
        count_text = with_noun(len(self.agreements), "case")
        if not findings:
            return [f"no methods differ by more than their stated errors, in {count_text}"]
        return [
            (
                f"{with_noun(len(findings), 'finding')} in {count_text}, in which methods"
                " contradict"
                " each other"
            ),
            *findings,
        ]

    def headline(self, words: Words) -> list[str]:
        """Return a sentence on the number of cases in which methods contradict each other, with the
        first of these cases.
        """
        contradicting_cases = [
            words.case(agreement.case) for agreement in self.agreements if agreement.findings
        ]
        count = len(self.agreements)
        if not contradicting_cases:
            cases = {1: "", 2: ", in both cases"}.get(count, f", in all {count} cases")
            return [self._agreement_in(cases, words)]
        further_words = " and others" if len(contradicting_cases) > MOST_FURTHER_CASES else ""
        cases_in_words = f"{join_phrases(contradicting_cases[:MOST_FURTHER_CASES])}{further_words}"
        return [
            (
                f"in {len(contradicting_cases)} of {with_noun(count, 'case')} methods differ by"
                f" more than their stated errors: {cases_in_words}"
            )
        ]

    def _agreement_in(self, cases: str, words: Words) -> str:
        """Return a sentence on the methods that agree, and on those whose error is not known."""
        unjudged = self._largest_differences()
        if not unjudged:
            return f"all methods agree within their stated errors{cases}"
        has_several_cases = len(self.agreements) > 1
        phrases = [
            (
                f"{method_phrase(method)} cannot be judged by {method_phrase(reference)}"
                if isnan(difference)
                else f"{method_phrase(method)}, whose error is not known, is"
                f"{' up to' * is_largest} {percent_text(difference)} {method_phrase(reference)}"
            )
            + f"{', most' * is_largest} for {words.case(case)}" * has_several_cases
            for method, (difference, reference, case) in unjudged.items()
            for is_largest in [has_several_cases and not isnan(difference)]
        ]
        judged = self._judged_methods()
        if len(judged) > 1:
            judged_names = join_phrases([method_phrase(method) for method in judged], "and")
            phrases.insert(0, f"{judged_names} agree within their stated errors{cases}")
        return "; ".join(phrases)

    def _judged_methods(self) -> list[str]:
        """List the methods with an answer that keep their stated errors in all cases."""
        unjudged = self._largest_differences()
        methods = {method: None for agreement in self.agreements for method in agreement.methods}
        return [
            method
            for method in methods
            if method not in unjudged
            and not all(method in agreement.failed for agreement in self.agreements)
        ]

    def _largest_differences(self) -> dict[str, tuple[float, str, str]]:
        """Return, by method whose error is not known, its largest difference from another method,
        that method, and the case.
        """
        largest: dict[str, tuple[float, str, str]] = {}
        for case_agreement in self.agreements:
            for method, (difference, reference) in case_agreement.unjudged.items():
                earlier = largest.get(method)
                if earlier is None or isnan(earlier[0]) or abs(difference) > abs(earlier[0]):
                    largest[method] = (difference, reference, case_agreement.case)
        return largest

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer:
        """Return whether all methods agree, as an answer to the title."""
        differences = [difference for difference, _, _ in self._largest_differences().values()]
        if any(agreement.findings for agreement in self.agreements):
            word = NO
        elif not differences:
            word = YES
        elif len(self._judged_methods()) > 1:
            word = IN_PART
        else:
            word = UNDECIDED if all(map(isnan, differences)) else NO
        return TitleAnswer(word, self.headline(words)[0])

    def parts(self) -> Iterator[str]:
        """Yield a table that compares the methods for each case."""
        for case_agreement in self.agreements:
            yield f"### {escape(case_agreement.case)}"
            yield from markdown_blocks(agreement_blocks(case_agreement))


def _case_agreement(
    case_evaluator: Evaluator, methods: Sequence[str], own_answer: Answer
) -> Agreement:
    """Solve a case by several methods and compare the answers; `own_answer`, by the method of the
    case itself, is not computed again.
    """
    answers: list[Answer] = []
    for method in methods:
        if own_answer.method == method:
            answers.append(own_answer)
        else:
            answers += case_evaluator.answers(method)
    return agreement(case_evaluator.case, answers)


def read(agree_spec: AgreeSpec, study: StudyContext) -> Question:
    """Check the methods that a study compares, and build the cases. Nothing is solved.

    Raises
    ------
    SpecError : there is no such method
    """
    methods = list(all_methods())
    problems = [
        study.problem(("agree", "methods", index), str(UnknownNameError("method", method, methods)))
        for index, method in enumerate(agree_spec.methods)
        if method not in methods
    ]
    if problems:
        raise SpecError(problems)
    evaluator_by_case = {
        case: evaluator(case, study.cases[case], study.library)
        for case in agree_spec.cases or study.cases
    }
    for index, method in enumerate(agree_spec.methods):
        for case_evaluator in evaluator_by_case.values():
            applicable_methods = known_methods(
                {"program": ACTIVITY}.get(case_evaluator.inputs.kind, case_evaluator.inputs.kind)
            )
            if method not in applicable_methods:
                suggestion = did_you_mean(method, applicable_methods)
                message = f"no method {method!r} answers for {case_evaluator.case}{suggestion}"
                problems.append(study.problem(("agree", "methods", index), message))
    if problems:
        raise SpecError(problems)

    def solve(answers: BaseAnswers) -> AgreeResult:
        return AgreeResult(
            tuple(
                _case_agreement(case_evaluator, agree_spec.methods, answers.cases[case])
                for case, case_evaluator in evaluator_by_case.items()
            ),
            frozenset(answers.cases[case].model for case in evaluator_by_case),
        )

    return Question(solve, points=len(agree_spec.methods) * len(evaluator_by_case))
