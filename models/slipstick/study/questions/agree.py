"""Methods side by side: cases solved by several methods, and whether these contradict each
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from slipstick.answer import Answer
from slipstick.errors import SpecError, UnknownNameError, did_you_mean
from slipstick.report.answer import agreement_blocks
from slipstick.report.formatting import counted, escape, joined, markdown_blocks
from slipstick.results.question import MOST_SAID, QuestionResult
from slipstick.results.study import Agreement
from slipstick.results.words import Words
from slipstick.schema.kinds.study import AgreeSpec
from slipstick.study.cases import StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.vocabulary import ACTIVITY, all_methods, known_methods


@dataclass(frozen=True, slots=True)
class AgreeResult(QuestionResult):
    """Several methods side by side, case by case."""

    title: ClassVar[str] = "Methods side by side"
    reading: ClassVar[str] = (
        "Two numbers in brackets are the ends of an interval; two numbers alone are bounds. Where"
        " methods contradict each other by more than they promise, it is listed as a finding."
    )
    agreements: tuple[Agreement, ...]

    def sentences(self) -> list[str]:
        """Count the findings, and list them."""
        found = [f"{each.case}: {words}" for each in self.agreements for words in each.findings]
        count = counted(len(self.agreements), "case")
        if not found:
            return [f"no method contradicts another by more than it promises, in {count}"]
        return [
            f"{counted(len(found), 'finding')} in {count}, where methods contradict each other",
            *found,
        ]

    def headline(self, words: Words) -> list[str]:
        """Count the cases in which methods contradict each other, and name the first of them."""
        apart = [words.case(each.case) for each in self.agreements if each.findings]
        count = len(self.agreements)
        if not apart:
            cases = {1: "the case", 2: "both cases"}.get(count, f"all {count} cases")
            return [f"all methods agree within what they promise, in {cases}"]
        named = f"{joined(apart[:MOST_SAID])}{' and others' if len(apart) > MOST_SAID else ''}"
        return [
            (
                f"in {len(apart)} of {counted(count, 'case')} methods differ by more than they"
                f" promise: {named}"
            )
        ]

    def parts(self) -> Iterator[str]:
        """Put the methods side by side, case by case."""
        for each in self.agreements:
            yield f"### {escape(each.case)}"
            yield from markdown_blocks(agreement_blocks(each))


def _agreement(case: Evaluator, methods: Sequence[str], known: Answer) -> Agreement:
    """Solve a case by several methods; what it was solved by already is not done again."""
    from slipstick.method.agreement import agreement

    together: list[Answer] = []
    for method in methods:
        if known.method == method:
            together.append(known)
        else:
            together += case.answers(method)
    return agreement(case.case, together)


def read(asked: AgreeSpec, study: StudyContext) -> Question:
    """Check the methods, and build the cases.

    Raises
    ------
    SpecError : there is no such method
    """
    known = list(all_methods())
    problems = [
        study.problem(("agree", "methods", index), str(UnknownNameError("method", method, known)))
        for index, method in enumerate(asked.methods)
        if method not in known
    ]
    if problems:
        raise SpecError(problems)
    cases = {
        case: evaluator(case, study.cases[case], study.library)
        for case in asked.cases or study.cases
    }
    for index, method in enumerate(asked.methods):
        for case in cases.values():
            answering = known_methods({"program": ACTIVITY}.get(case.inputs.kind, case.inputs.kind))
            if method not in answering:
                why = (
                    f"no method {method!r} answers for {case.case}{did_you_mean(method, answering)}"
                )
                problems.append(study.problem(("agree", "methods", index), why))
    if problems:
        raise SpecError(problems)

    def solve(answers: BaseAnswers) -> AgreeResult:
        return AgreeResult(
            tuple(
                _agreement(each, asked.methods, answers.cases[case]) for case, each in cases.items()
            )
        )

    return Question(solve, points=len(asked.methods) * len(cases))
