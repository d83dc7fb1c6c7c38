"""Measured runs in a study: where their processors go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from slipstick.answer import Answer
from slipstick.errors import UnknownNameError
from slipstick.late import dataclass, field, replace
from slipstick.report.formatting import escape
from slipstick.results.question import QuestionResult, ResultTable
from slipstick.results.words import Words
from slipstick.schema.library import find, names_of_kind
from slipstick.study.cases import Place, StudyContext
from slipstick.study.questions import Question
from slipstick_measure.account import measured
from slipstick_measure.formats import read as read_measurements
from slipstick_measure.formats import table_path_named
from slipstick_measure.measurements import Hints, Measurements
from slipstick_measure.report.measured import largest_loss_sentence, loss_headline, measured_table
from slipstick_measure.specs import MeasuredSpec


@dataclass(frozen=True, slots=True)
class MeasuredResult(QuestionResult):
    """The accounts of measured runs: answers for each number of processors, by the name of the
    question.
    """

    title: ClassVar[str] = "Measured runs"
    leading_columns: ClassVar[bool] = True
    measured: Mapping[str, Sequence[Answer]]
    rates: Mapping[str, tuple[str, float] | None] = field(default_factory=dict, repr=False)

    def sentences(self) -> list[str]:
        """Return a sentence for each question on the cause that loses most."""
        small_losses_text = (
            "less than a twentieth of a processor is lost to any one cause, or the data do not"
            " say it"
        )
        return [
            f"{name}: {largest_loss_sentence(answers) or small_losses_text}".rstrip(".")
            for name, answers in self.measured.items()
        ]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.measured) > 1

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the cause that loses most on the largest number of processors."""
        sentences_by_question = [
            loss_headline(answers, words) for answers in self.measured.values()
        ]
        return [sentence for sentence in sentences_by_question if sentence][:1]

    def parts(self) -> Iterator[ResultTable]:
        """Yield a table for each question, with a row for each number of processors."""
        for name, answers in self.measured.items():
            table = measured_table(f"measured/{name}", answers, (), self.rates.get(name))
            yield replace(table, title=f"### {escape(name)}")

    def answers(self) -> list[Answer]:
        """Return an empty list: these answers are in JSON under `measured`, by question."""
        return []

    def named_answers(self) -> dict[str, Answer]:
        """Return the answers by name: NAME-PROCESSORS."""
        return {
            f"{name}-{answer.point['p']:g}": answer
            for name, answers in self.measured.items()
            for answer in answers
        }


def read(specs: Mapping[str, MeasuredSpec], study: StudyContext) -> Question:
    """Account for the measured runs of a study. This happens while they are read, so that
    inconsistent data are reported by a check.

    Raises
    ------
    SpecError : a file is missing or wrong
    """
    account_by_name = {}
    for question_name, spec in specs.items():
        place = ("measured", question_name)
        timer = spec.timer.value if spec.timer else None
        hints = Hints(
            processors=spec.processors,
            time=spec.time.value if spec.time else None,
            weak=None if spec.scaling is None else spec.scaling == "weak",
            mean_waits=None if spec.waits is None else spec.waits == "mean",
        )
        runs = read_runs(spec.data, (*place, "data"), study, hints)
        try:
            account_by_name[question_name] = measured(runs, spec.statistic, spec.region, timer)
        except UnknownNameError as error:
            raise study.refusal((*place, "region"), str(error)) from None
    measured_result = MeasuredResult(
        {question_name: account.answers for question_name, account in account_by_name.items()},
        {question_name: account.rate for question_name, account in account_by_name.items()},
    )
    return Question(
        lambda answers: measured_result,
        answer_names={
            question_name: answer.units
            for question_name, answer in measured_result.named_answers().items()
        },
        notes=lambda: [note for account in account_by_name.values() for note in account.notes],
    )


def read_runs(
    data_name: str, place: Place, study: StudyContext, hints: Hints | None = None
) -> Measurements:
    """Read measured runs: a profile or table of the catalogue, or a file beside the study. Hints
    supply what the file does not state, such as its columns.

    Raises
    ------
    SpecError : the file is missing or wrong
    """
    mark = study.node_of(place).mark
    if data_name in names_of_kind("profile"):
        study.library.load("profile", data_name, mark, "data")
        return read_measurements(find("profile", data_name))
    path = study.library.measurement_file(table_path_named(data_name) or data_name, mark)
    # Read first, because a file that is too large is refused before it is read again for its hash.
    measurements = read_measurements(path, hints)
    study.library.keep_hash(path)
    return measurements
