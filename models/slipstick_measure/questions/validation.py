"""Published measurements in a study: the errors of a model on groups that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any, ClassVar

from slipstick.late import dataclass, field
from slipstick.report.formatting import (
    NOTHING,
    escape,
    markdown_blocks,
    markdown_table,
    percent,
    with_noun,
)
from slipstick.results.question import Decision, QuestionResult
from slipstick.results.words import Words, as_words
from slipstick.schema.text import Scalar
from slipstick.study.cases import Place, StudyContext
from slipstick.study.questions import Question
from slipstick_measure.fit.columns import ColumnUse, heading_and_unit
from slipstick_measure.fit.estimation import EstimationTask, estimate_task
from slipstick_measure.fit.request import EstimationRequest, prepare_estimation
from slipstick_measure.formats import table_path_named
from slipstick_measure.report.estimation import estimation_blocks
from slipstick_measure.results import Estimation
from slipstick_measure.specs import ValidationSpec


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """A set of published measurements, with the published errors of other models and the errors of
    this one.
    """

    source: str
    known: str
    unknown: str
    rows: Mapping[str, Sequence[str]]
    split: str
    peers: tuple[tuple[str, float, str, str], ...]
    most: float | None
    estimation: Estimation

    @property
    def errors(self) -> list[float]:
        """The median error of each predicted group."""
        return [group.median for group in self.estimation.groups]

    @property
    def mean(self) -> float:
        """The mean absolute relative error of all predicted rows."""
        groups = self.estimation.groups
        return sum(group.mean * group.rows for group in groups) / sum(
            group.rows for group in groups
        )

    @property
    def coverage(self) -> float:
        """The fraction of predicted rows within their intervals."""
        row_count = sum(group.rows for group in self.estimation.groups)
        return sum(group.coverage * group.rows for group in self.estimation.groups) / row_count


def predicted_row_count(validation_set: ValidationSet) -> int:
    """Return the number of predicted rows in a set."""
    return sum(group.rows for group in validation_set.estimation.groups)


@dataclass(frozen=True, slots=True)
class ValidationResult(QuestionResult):
    """The errors of the model on left-out groups of validation sets, by the name of the set."""

    title: ClassVar[str] = "Published measurements, predicted"
    reading: ClassVar[str] = (
        "Each group was predicted from the others, unless the table says otherwise. Error: the"
        " median of the absolute relative errors of a group; of a set, the median of its groups."
        " Mean: the mean over all rows. Held: the share of the rows in their intervals of 90 %."
        " High / low: the median ratio of the ends of these intervals. Errors of other models are"
        " as published, for the rows that are named."
    )
    estimates: ClassVar[bool] = True
    sets: Mapping[str, ValidationSet] = field(default_factory=dict)

    @property
    def has_own_cases(self) -> bool:
        """Whether the cases are models of different subjects: they always are."""
        return True

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.sets) > 2

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the errors of one or two sets; for more sets, on the range and the
        median of the errors.
        """
        if len(self.sets) > 2:
            return [self._headline_of_many()]
        return [
            f"{as_words(set_name)}:"
            f" {with_noun(predicted_row_count(validation_set), 'published value')}"
            f" predicted with a median error of {percent(median(validation_set.errors), 2)} (worst"
            f" of {with_noun(len(validation_set.errors), 'group')}:"
            f" {percent(max(validation_set.errors), 2)})"
            for set_name, validation_set in self.sets.items()
        ]

    def _headline_of_many(self) -> str:
        """Return a sentence on the smallest, the median and the largest error of many sets."""
        error_by_set = {
            set_name: median(validation_set.errors)
            for set_name, validation_set in self.sets.items()
        }
        best_set = min(error_by_set, key=error_by_set.__getitem__)
        worst_set = max(error_by_set, key=error_by_set.__getitem__)
        return (
            f"{len(self.sets)} sets of published values are predicted with median errors from"
            f" {percent(error_by_set[best_set], 2)} ({as_words(best_set)}) to"
            f" {percent(error_by_set[worst_set], 2)} ({as_words(worst_set)}); the median over the"
            f" sets is {percent(median(error_by_set.values()), 2)}"
        )

    def decision(self, words: Words) -> Decision | None:
        """Return a table of the errors of each set beside the best published error."""
        rows = [
            [
                as_words(set_name),
                percent(median(validation_set.errors), 2),
                percent(validation_set.mean, 2),
                "; ".join(f"{peer} {percent(error)}" for peer, error, _, _ in validation_set.peers)
                or NOTHING,
            ]
            for set_name, validation_set in self.sets.items()
        ]
        return ["set", "median error", "mean error", "other models"], rows

    def sentences(self) -> list[str]:
        """Return a sentence on each set: its error and the published errors of other models."""
        return [
            self._error_sentence(name, validation_set) for name, validation_set in self.sets.items()
        ]

    def _error_sentence(self, name: str, validation_set: ValidationSet) -> str:
        """Return a sentence on the errors of a set, beside the published errors of other models."""
        peers_text = "".join(
            f"; {peer} {percent(error)} ({subject})"
            for peer, error, subject, _ in validation_set.peers
        )
        errors = validation_set.errors
        sentence = (
            f"{name}: median error {percent(median(errors), 2)}, mean"
            f" {percent(validation_set.mean, 2)}, over {with_noun(len(errors), 'group')},"
            f" {percent(min(errors), 2)} to {percent(max(errors), 2)}, {validation_set.split};"
            f" {percent(validation_set.coverage, 2)} of the rows lie in their intervals"
        )
        return sentence + peers_text

    def parts(self) -> Iterator[str]:
        """Yield a table of all sets, then the groups and parameters of each."""
        yield markdown_table(
            ["set", "rows", "groups", "error", "mean", "worst", "held", "high / low", "published"],
            [
                self._row_of_set(set_name, validation_set)
                for set_name, validation_set in self.sets.items()
            ],
            range(1, 8),
        )
        for set_name, validation_set in self.sets.items():
            yield f"### {escape(set_name)}"
            yield "\n".join(self._notes_on_set(validation_set))
            yield from markdown_blocks(
                estimation_blocks(validation_set.estimation, validation_set.split)
            )

    def _row_of_set(self, name: str, validation_set: ValidationSet) -> list[str]:
        """Return the row of a set in the table of all sets."""
        return [
            escape(name),
            str(predicted_row_count(validation_set)),
            str(len(validation_set.estimation.groups)),
            percent(median(validation_set.errors), 2),
            percent(validation_set.mean, 2),
            percent(max(validation_set.errors), 2),
            percent(validation_set.coverage, 2),
            f"{median(group.width for group in validation_set.estimation.groups):.2f}",
            "; ".join(f"{peer} {percent(error)}" for peer, error, _, _ in validation_set.peers)
            or NOTHING,
        ]

    def _notes_on_set(self, validation_set: ValidationSet) -> Iterator[str]:
        """Yield a list in Markdown about a set: its source, inputs, split, and published errors."""
        notes = {
            "source": validation_set.source,
            "known": validation_set.known,
            "not known": validation_set.unknown,
            "split": validation_set.split,
            "rows taken": "; ".join(
                f"{column} {', '.join(values)}" for column, values in validation_set.rows.items()
            ),
        }
        yield from (f"- {name}: {escape(note)}" for name, note in notes.items() if note)
        for peer, error, subject, source in validation_set.peers:
            note = f"{peer} {percent(error)} of {subject}{f' ({source})' if source else ''}"
            yield f"- published: {escape(note)}"

    def files(self) -> dict[str, list[dict[str, Any]]]:
        """Return every group of every set with its errors."""
        rows = [
            {
                "set": name,
                "group": group.name,
                "rows": group.rows,
                "median_error": group.median,
                "mean_error": group.mean,
                "bias": group.bias,
                "worst_error": group.worst,
                "held": group.coverage,
                "high_over_low": group.width,
            }
            for name, validation_set in self.sets.items()
            for group in validation_set.estimation.groups
        ]
        return {"validation.csv": rows}


def read(specs: Mapping[str, ValidationSpec], study: StudyContext) -> Question:
    """Read and check every set, its rows and models; nothing is fitted.

    Raises
    ------
    SpecError : a file, a column, a path or a range is wrong
    """
    task_by_name = {
        set_name: _estimation_task(set_name, spec, study) for set_name, spec in specs.items()
    }

    @cache
    def validation_sets() -> dict[str, ValidationSet]:
        return {
            set_name: _validation_set(specs[set_name], task)
            for set_name, task in task_by_name.items()
        }

    return Question(lambda answers: ValidationResult(validation_sets()))


def _estimation_task(set_name: str, spec: ValidationSpec, study: StudyContext) -> EstimationTask:
    """Return the estimation task of a validation set, checked but not run."""
    place = ("validation", set_name)
    path = study.library.measurement_file(
        table_path_named(spec.data) or spec.data, study.node_of((*place, "data")).mark
    )
    settings = study.cases[spec.case] if spec.case is not None else study.base
    free_paths, choice_texts = (
        [_single_text_at(study, (*place, key, index)) for index in range(len(getattr(spec, key)))]
        for key in ("free", "choices")
    )
    request = EstimationRequest(
        path,
        settings,
        free_paths,
        dict(_column_uses(spec, place, study)),
        choice_texts,
        spec.groups,
        spec.rows,
        spec.fitted_to,
        spec.noise.value if spec.nothing_fitted else None,
        spec.beyond,
    )
    task = prepare_estimation(request, study.library)
    study.library.keep_hash(path)
    _check_split(task, spec, place, study)
    return task


def _check_split(
    task: EstimationTask, spec: ValidationSpec, place: Place, study: StudyContext
) -> None:
    """Raise if the choice of fitted rows leaves none to fit or none to predict, or if no group can
    be predicted by the others.
    """
    group_count = len({*task.labels(task.group_columns)})
    if spec.fitted_to and len(task.fitted_rows) in (0, task.row_count):
        fitted_rows_text = "no row" if not task.fitted_rows else "every row"
        raise study.refusal(
            (*place, "fitted_to"),
            f"{fitted_rows_text} is in the fitted rows, so no rows are left to predict",
        )
    if group_count < 2 and not spec.fitted_to and not spec.nothing_fitted:
        raise study.refusal(
            (*place, "groups"),
            "all rows are one group, which no other predicts; name columns with several values, or"
            " say which rows are fitted (fitted_to)",
        )


def _column_uses(
    spec: ValidationSpec, place: Place, study: StudyContext
) -> Iterator[tuple[str, ColumnUse]]:
    """Yield the heading and the use of each column that a set describes: a path, a measured value,
    or settings by name.
    """
    for heading, path in spec.paths.items():
        name_in_model, unit = heading_and_unit(path)
        yield heading, ColumnUse(path=name_in_model, unit=unit)
    for heading, value in spec.measured.items():
        name_in_model, unit = heading_and_unit(value)
        yield heading, ColumnUse(measured=name_in_model, unit=unit)
    for heading, settings_by_cell in spec.names.items():
        settings = {
            cell: {
                path: _single_text_at(study, (*place, "names", heading, cell, path)).text
                for path in settings_of_cell
            }
            for cell, settings_of_cell in settings_by_cell.items()
        }
        yield heading, ColumnUse(settings=settings)


def _single_text_at(study: StudyContext, place: Place) -> Scalar:
    """Return the single value that the study has at a place; raise if there is a list or table."""
    node = study.node_of(place)
    if not isinstance(node, Scalar):
        raise node.mark.error("write a single value", place)
    return node


def _validation_set(spec: ValidationSpec, task: EstimationTask) -> ValidationSet:
    """Estimate the parameters of a validation set; return the results with its description."""
    split_text = "each group predicted by the others"
    if spec.nothing_fitted:
        split_text = "nothing fitted: ranges of the parameters alone"
    elif spec.fitted_to:
        columns_text = " and ".join(
            f"{column} {', '.join(values)}" for column, values in spec.fitted_to.items()
        )
        split_text = f"fitted to {columns_text}"
    return ValidationSet(
        spec.source,
        spec.known,
        spec.unknown,
        spec.rows,
        split_text,
        tuple((peer.name, peer.error.value, peer.of, peer.source) for peer in spec.peers),
        spec.most.value if spec.most else None,
        estimate_task(task),
    )
