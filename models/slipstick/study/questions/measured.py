"""Measured runs in a study: where their processors go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slipstick.errors import Problem, UnknownNameError
from slipstick.measure.account import Measured, measured
from slipstick.measure.formats import read as read_runs
from slipstick.measure.measurements import Measurements
from slipstick.report.questions.measured import MeasuredResult
from slipstick.schema.kinds.study import MeasuredSpec
from slipstick.schema.library import find, names, table_called
from slipstick.schema.text.nodes import at
from slipstick.study.cases import Place, StudyContext
from slipstick.study.questions import BaseAnswers, Question, ValueNames


@dataclass(frozen=True)
class MeasuredQuestion(Question):
    """Runs to account for; the accounts are made as they are read, for they show whether the data make sense."""

    runs: Mapping[str, Measured]

    @property
    def answer_names(self) -> dict[str, ValueNames]:
        """Each number of processors of each question, as NAME-PROCESSORS."""
        found = self._result.named_answers()
        return {name: {value: each.unit(value) for value in each.names} for name, each in found.items()}

    @property
    def notes(self) -> list[Problem]:
        """What is odd about the files."""
        return [note for each in self.runs.values() for note in each.notes]

    @property
    def _result(self) -> MeasuredResult:
        return MeasuredResult({name: each.answers for name, each in self.runs.items()})

    def solve(self, answers: BaseAnswers) -> MeasuredResult:
        """Give the accounts."""
        return self._result


def read(asked: Mapping[str, MeasuredSpec], study: StudyContext) -> MeasuredQuestion:
    """Account for the measured runs of a study.

    Raises
    ------
    SpecError : a file is missing or wrong
    """
    found = {}
    for name, each in asked.items():
        place = ("measured", name)
        timer = each.timer.value if each.timer else None
        runs = runs_of(each.data, (*place, "data"), study)
        try:
            found[name] = measured(runs, each.statistic, each.region, timer)
        except UnknownNameError as error:
            raise study.refusal((*place, "region"), str(error)) from None
    return MeasuredQuestion(found)


def runs_of(data: str, place: Place, study: StudyContext) -> Measurements:
    """Read measured runs: a profile or a table of the catalogue, or a file beside the study.

    Raises
    ------
    SpecError : the file is missing or wrong
    """
    node = at(study.tree, place)
    assert node is not None
    if data in names("profile"):
        study.library.load("profile", data, node.mark, "data")
        return read_runs(find("profile", data))
    path = study.library.beside(table_called(data) or data, node.mark)
    found = read_runs(path)  # refuses a file that is too large, before it is read again for its hash
    study.library.keep_hash(path)
    return found
