"""Names that the parts of a study call one another by: cases, sweeps, pictures, axes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.schema.kinds.study import LinesSpec, MapSpec, QuestionSpec
from slipstick.study.cases import SweepDefinition
from slipstick.study.questions import Place, Question, StudyContext


def check_names(study: StudyContext, sweeps: Sequence[SweepDefinition]) -> None:
    """Refuse cases, sweeps and questions that are not there, before anything is built.

    Parameters
    ----------
    study : as read
    sweeps : those that are there

    Raises
    ------
    SpecError : every name that leads nowhere, or stands twice
    """
    named = [(place, case) for place, case, further in _cases_named(study, sweeps) if not further]
    found = [*_unknown(study, named, list(study.cases)), *_pictures(study, [each.name for each in sweeps])]
    if found:
        raise SpecError(found)


def check_answer_names(study: StudyContext, questions: Mapping[str, Question]) -> None:
    """Refuse names that are neither cases nor answers that a question adds, such as measured runs.

    Raises
    ------
    SpecError : every name that leads nowhere
    """
    known = [*study.cases, *(name for each in questions.values() for name in each.answer_names)]
    named = [(place, case) for place, case, further in _cases_named(study, ()) if further]
    if found := list(_unknown(study, named, known)):
        raise SpecError(found)


def check_axes(study: StudyContext, axes: Mapping[str, Sequence[str]]) -> None:
    """Refuse pictures over axes that their sweep does not have.

    Parameters
    ----------
    study : as read
    axes : paths of each sweep, as results call them

    Raises
    ------
    SpecError : every axis that is not there
    """
    found = []
    for index, picture in enumerate(study.spec.pictures):
        if not isinstance(picture, LinesSpec | MapSpec) or picture.sweep not in axes:
            continue
        there = axes[picture.sweep]
        for key in ("x", "series", "against") if isinstance(picture, LinesSpec) else ("x", "y"):
            path = getattr(picture, key)
            if path and path not in there:
                message = f"sweep {picture.sweep} has no axis {path!r}{did_you_mean(path, there)}"
                found.append(study.problem(("pictures", index, key), message))
    if found:
        raise SpecError(found)


def _unknown(study: StudyContext, named: Sequence[tuple[Place, str]], known: Collection[str]) -> Iterator[Problem]:
    for place, case in named:
        if case not in known:
            yield study.problem(place, f"there is no case {case!r}{did_you_mean(case, list(known))}")


def _cases_named(study: StudyContext, sweeps: Sequence[SweepDefinition]) -> Iterator[tuple[Place, str, bool]]:
    """List every name of a case, its place, and whether it may also name an answer that a question adds."""
    for sweep in sweeps:
        yield from ((sweep.place("cases", index), case, False) for index, case in enumerate(sweep.spec.cases))
    for key, asked in study.spec.questions.items():
        for place, part in _parts(asked):
            yield from (((key, *place, *at), case, part.names_answers) for at, case in part.named_cases())
    for index, picture in enumerate(study.spec.pictures):
        places = picture.named_cases()
        yield from ((("pictures", index, *at), case, picture.names_answers) for at, case in places)


def cases_of(asked: Any) -> list[str]:
    """List the cases that a question names; of names that may also be answers of another question, none."""
    return [case for _, part in _parts(asked) if not part.names_answers for _, case in part.named_cases()]


def _parts(asked: Any) -> Iterator[tuple[Place, QuestionSpec]]:
    """Take a question apart that is asked several times, by name or in a list."""
    if isinstance(asked, Mapping):
        yield from (((name,), each) for name, each in asked.items())
    elif isinstance(asked, list):
        yield from (((index,), each) for index, each in enumerate(asked))
    else:
        yield (), asked


def _pictures(study: StudyContext, sweeps: Sequence[str]) -> Iterator[Problem]:
    taken: set[str] = set()
    for index, picture in enumerate(study.spec.pictures):
        if picture.name in taken:
            yield study.problem(("pictures", index, "name"), f"another picture is called {picture.name}")
        taken.add(picture.name)
        if isinstance(picture, LinesSpec | MapSpec) and picture.sweep not in sweeps:
            message = f"there is no sweep {picture.sweep!r}{did_you_mean(picture.sweep, sweeps)}"
            yield study.problem(("pictures", index, "sweep"), message)
        elif picture.question and picture.question not in study.spec.questions:
            why = f"this draws {picture.question}, and the study does not ask for {picture.question}"
            yield study.problem(("pictures", index), why)
