"""Questions: what a study asks beyond its cases and sweeps, one module for each, named as its key.

Each module has a function ``read(asked, study)``: it checks what the study says at the key, builds every model that is
needed, solves nothing but the cases themselves, and gives a `Question`. Its ``solve`` gives a `QuestionResult`, whose class
is in the module of `slipstick.report.questions` of the same name. Modules are imported only where a study asks for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from slipstick.answer import Answer
from slipstick.errors import Problem, SpecError
from slipstick.results.study import QuestionResult
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import Drawn, StudySpec
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Table
from slipstick.schema.validate import problem
from slipstick.study.cases import base_settings, case_settings

Place = tuple[str | int, ...]
"""Keys and indices that lead from the study to a value."""

PictureT = TypeVar("PictureT", bound=Drawn)


@dataclass(frozen=True, slots=True)
class StudyContext:
    """What a question may read: the study, and what it describes.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    base : settings of the base
    cases : settings of each case
    library : every file that was read
    overrides : values by path that hold in every case, whatever the study says
    """

    spec: StudySpec
    tree: Table
    base: Settings
    cases: Mapping[str, Settings]
    library: Library
    overrides: Settings = field(default_factory=dict)

    @classmethod
    def of(
        cls, spec: StudySpec, tree: Table, library: Library, overrides: Settings, fitted: Settings | None = None
    ) -> StudyContext:
        """Take the cases from a study, with what was fitted laid over its base."""
        base = {**base_settings(tree), **(fitted or {}), **overrides}
        cases = {name: {**settings, **overrides} for name, settings in case_settings(tree, fitted).items()}
        return cls(spec, tree, base, cases, library, overrides)

    def problem(self, place: Place, message: str, *, key: bool = False) -> Problem:
        """Report what is wrong at a place of the study, or at the key there."""
        return problem(self.tree, place, message, key=key)

    def refusal(self, place: Place, message: str, *, key: bool = False) -> SpecError:
        """Refuse what stands at a place of the study."""
        return SpecError([self.problem(place, message, key=key)])

    def pictures(self, kind: type[PictureT]) -> Iterator[tuple[Place, PictureT]]:
        """List the pictures of one kind, each with its place."""
        for index, picture in enumerate(self.spec.pictures):
            if isinstance(picture, kind):
                yield ("pictures", index), picture


@dataclass(frozen=True, slots=True)
class BaseAnswers:
    """What is solved before any question is.

    Parameters
    ----------
    cases : the answer of each case
    named : these, and the answers that questions before this one added
    wanted : the values that the study asks for
    jobs : blocks of points to solve side by side; results do not depend on it
    """

    cases: Mapping[str, Answer]
    named: Mapping[str, Answer]
    wanted: Sequence[str]
    jobs: int = 1


class Question(ABC):
    """One question of a study, read, checked and built."""

    @property
    def answer_names(self) -> Collection[str]:
        """Names of the answers that its result adds beside the cases."""
        return ()

    @property
    def shares_of(self) -> Collection[str]:
        """The cases whose answers must have the share of every parameter."""
        return ()

    @property
    def points(self) -> int:
        """How many points it solves beside those of the cases and sweeps, for a progress bar."""
        return 0

    @property
    def notes(self) -> Sequence[Problem]:
        """What is odd about the files that it reads."""
        return ()

    def fitted_settings(self) -> Settings:
        """Give values by path to lay over the base of the study before the cases are built."""
        return {}

    @abstractmethod
    def solve(self, answers: BaseAnswers) -> QuestionResult:
        """Answer the question."""


def read_question(name: str, asked: Any, study: StudyContext) -> Question:
    """Read one question of a study.

    Parameters
    ----------
    name : its key
    asked : what the study says at the key, checked
    study : the study

    Raises
    ------
    SpecError : everything that is wrong with it
    """
    found: Question = import_module(f"{__name__}.{name}").read(asked, study)
    return found


def read_questions(study: StudyContext) -> tuple[dict[str, Question], StudyContext]:
    """Read all questions of a study, in the order of their registry.

    What a question fits is laid over the base, and so holds in the questions after it.

    Returns
    -------
    the questions by key, and the study with what was fitted

    Raises
    ------
    SpecError : everything that is wrong with any of them
    NoAnswerError : nothing can be fitted to the data of the study
    """
    problems: list[Problem] = []
    found: dict[str, Question] = {}
    for name, asked in study.spec.questions.items():
        with kept(problems):
            found[name] = read_question(name, asked, study)
            if laid := found[name].fitted_settings():
                study = StudyContext.of(study.spec, study.tree, study.library, study.overrides, laid)
    if problems:
        raise SpecError(problems)
    return found, study


@contextmanager
def kept(problems: list[Problem]) -> Iterator[None]:
    """Keep what is found wrong, so that the rest is checked as well."""
    try:
        yield
    except SpecError as error:
        problems += error.problems
