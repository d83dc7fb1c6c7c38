"""All questions of a study, read and built before anything is solved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from slipstick.errors import Problem, SpecError
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import StudySpec
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Table
from slipstick.study.questions.choose import Decision, choices
from slipstick.study.questions.project import Ahead, ahead
from slipstick.study.questions.sample import Survey, surveys
from slipstick.study.questions.seek import Search, searches


@dataclass(frozen=True, slots=True)
class Asked:
    """What a study asks about what is to come, and of changes; see the modules of each."""

    ahead: Ahead | None = None
    searches: Sequence[Search] = ()
    surveys: Sequence[Survey] = ()
    choices: Sequence[Decision] = ()


def asked_of(spec: StudySpec, tree: Table, cases: Mapping[str, Settings], library: Library) -> Asked:
    """Read all questions of this kind.

    Raises
    ------
    SpecError : everything that is wrong with any of them
    """
    problems: list[Problem] = []
    found = Asked()
    with _kept(problems):
        found = Asked(ahead(spec, tree, cases, library))
    with _kept(problems):
        found = Asked(found.ahead, tuple(searches(spec, tree, cases, library)))
    with _kept(problems):
        found = Asked(found.ahead, found.searches, tuple(surveys(spec, tree, cases, library)))
    with _kept(problems):
        found = Asked(found.ahead, found.searches, found.surveys, tuple(choices(spec, tree, cases, library)))
    if problems:
        raise SpecError(problems)
    return found


@contextmanager
def _kept(problems: list[Problem]) -> Iterator[None]:
    """Keep what is found wrong, so that the rest is checked as well."""
    try:
        yield
    except SpecError as error:
        problems += error.problems
