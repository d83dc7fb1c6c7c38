"""Questions: what a study asks beyond its cases and sweeps, one module for each, named as its key.

Each module has a function ``read(asked, study)``: it checks what the study says at the key, builds every model that is
needed, solves nothing but the cases themselves, and gives a `Question`. Its ``solve`` gives a `QuestionResult`: data, sentences
and tables. Modules are imported only where a study asks for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import Problem
from slipstick.results.question import QuestionResult
from slipstick.schema.inputs import Settings
from slipstick.study.cases import StudyContext

ValueNames = Mapping[str, str]
"""Names of values, with their units."""


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
    def answer_names(self) -> Mapping[str, ValueNames]:
        """Names of the answers that its result adds beside the cases, with the names of their values."""
        return {}

    @property
    def shares_of(self) -> Collection[str]:
        """The cases whose answers must have the share of every parameter."""
        return ()

    @property
    def named_values(self) -> Collection[str]:
        """Values of cases that it reads by name, so that those derived from others are there."""
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

    def values_of(self, wanted: Sequence[str]) -> Sequence[str]:
        """Name the values that it answers for.

        Parameters
        ----------
        wanted : what the study asks for
        """
        return wanted

    def name_problems(self, named: Mapping[str, ValueNames]) -> Sequence[Problem]:
        """List the names in it that are of no value.

        Parameters
        ----------
        named : names of the values of each case, and of each answer that a question adds
        """
        return ()

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
