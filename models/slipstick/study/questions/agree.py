"""Methods side by side: cases solved by several methods, and whether these contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slipstick.answer import Answer
from slipstick.errors import SpecError, UnknownNameError, did_you_mean
from slipstick.report.questions.agree import AgreeResult
from slipstick.results.study import Agreement
from slipstick.schema.kinds.study import AgreeSpec
from slipstick.study.cases import StudyContext
from slipstick.study.evaluator import Evaluator, evaluator, unless_interrupted
from slipstick.study.questions import BaseAnswers, Question
from slipstick.vocabulary import ACTIVITY, METHODS


@dataclass(frozen=True)
class AgreeQuestion(Question):
    """Cases to solve by each of several methods."""

    methods: tuple[str, ...]
    cases: Mapping[str, Evaluator]

    @property
    def points(self) -> int:
        """How many answers that takes."""
        return len(self.methods) * len(self.cases)

    def solve(self, answers: BaseAnswers) -> AgreeResult:
        """Solve each case by each method."""
        return AgreeResult(tuple(self._agreement(case, answers.cases[case]) for case in self.cases))

    def _agreement(self, case: str, known: Answer) -> Agreement:
        """Solve a case by several methods; what it was solved by already is not done again."""

        from slipstick.method.agreement import agreement
        from slipstick.method.methods import answered

        built = self.cases[case].built
        together: list[Answer] = []
        for method in self.methods:
            if known.method == method:
                together.append(known)
            else:
                several = answered(built.model, built.parameters, method, built.options.simulation)
                unless_interrupted(several[0])
                together += several
        return agreement(case, together)


def read(asked: AgreeSpec, study: StudyContext) -> AgreeQuestion:
    """Check the methods, and build the cases.

    Raises
    ------
    SpecError : there is no such method
    """
    known = list(dict.fromkeys(name for names in METHODS.values() for name in names))
    problems = [
        study.problem(("agree", "methods", index), str(UnknownNameError("method", method, known)))
        for index, method in enumerate(asked.methods)
        if method not in known
    ]
    if problems:
        raise SpecError(problems)
    cases = {case: evaluator(case, study.cases[case], study.library) for case in asked.cases or study.cases}
    for index, method in enumerate(asked.methods):
        for case in cases.values():
            answering = METHODS[{"program": ACTIVITY}.get(case.inputs.kind, case.inputs.kind)]
            if method not in answering:
                why = f"no method {method!r} answers for {case.case}{did_you_mean(method, answering)}"
                problems.append(study.problem(("agree", "methods", index), why))
    if problems:
        raise SpecError(problems)
    return AgreeQuestion(tuple(asked.methods), cases)
