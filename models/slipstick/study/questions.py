"""A question of a study beyond its cases and sweeps: how it is read and what it gives.

The module of a question has a function ``read(asked, study)``, which checks the value of the key,
builds the models that it needs, and gives a `Question`; nothing is solved yet. The ``solve`` of the
question gives a `QuestionResult`: data, sentences and tables. A module is imported only if a study
has its key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import Problem
from slipstick.extensions import import_object
from slipstick.late import Array, dataclass, field
from slipstick.results.question import QuestionResult
from slipstick.schema.kinds.study import QUESTIONS
from slipstick.study.cases import StudyContext

ValueNames = Mapping[str, str]
"""Names of values, with their units."""


PointSolver = Callable[[Mapping[str, Array], int, Sequence[str]], list[dict[str, Answer]]]
"""A function that returns, for each of many points, answers by name. Its arguments are the values
of parameters by path [points], the number of points, and the names of the wanted values.
"""


@dataclass(frozen=True, slots=True)
class BaseAnswers:
    """The results that exist before the first question is answered.

    Parameters
    ----------
    cases : the answer of each case
    named : answers by name: those of cases, and those that earlier questions added
    wanted : the values that the study asks for
    """

    cases: Mapping[str, Answer]
    named: Mapping[str, Answer]
    wanted: Sequence[str]


@dataclass(frozen=True)
class Question:
    """A question of a study, read and checked, with its models built.

    Parameters
    ----------
    solve : function that computes the result from the answers of the cases
    answer_names : names of the answers that its result adds beside the cases, with the names of
        their values
    shares_of : gives the cases whose answers must have the share of every parameter
    named_values : values of cases that it reads by name, so that those derived from others are
        there
    points : how many points it solves beside those of the cases and sweeps, for a progress bar [1]
    notes : gives warnings about the files that it reads
    values : the values that it answers for; by default those that the study asks for
    names_by_case : by case, names of the values that the question's own model of the case has, if
        they differ from those of the case
    name_problems : function that lists names in the question that no value has, from the names of
        the values of each case and of each answer that a question adds
    fitted_base : gives what lies over the base of the study before the cases are built, with its
        `settings` by path; None without such values
    pictures : what it draws of a study that names no pictures
    solve_at : function that computes some of the added answers at many values of parameters of the
        cases and of the question's own quantities; None if the question must be read again for
        other values
    """

    solve: Callable[[BaseAnswers], QuestionResult]
    answer_names: Mapping[str, ValueNames] = field(default_factory=dict)
    shares_of: Callable[[], Collection[str]] = tuple
    named_values: Collection[str] = ()
    points: int = 0
    notes: Callable[[], Sequence[Problem]] = tuple
    values: Sequence[str] = ()
    names_by_case: Mapping[str, ValueNames] = field(default_factory=dict)
    name_problems: Callable[[Mapping[str, ValueNames]], Iterable[Problem]] = lambda named: ()
    fitted_base: Callable[[], Any] = lambda: None
    pictures: Sequence[Any] = ()
    solve_at: PointSolver | None = None


def read_question(name: str, question_spec: Any, study: StudyContext) -> Question:
    """Read one question of a study.

    Parameters
    ----------
    name : its key
    question_spec : what the study says at the key, checked
    study : the study

    Raises
    ------
    SpecError : everything that is wrong with it
    """
    question: Question = import_object(QUESTIONS[name].answered_by)(question_spec, study)
    return question
