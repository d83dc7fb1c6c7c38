"""The points of a sweep of a study, to be written to a file block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.errors import ModelError, UnknownNameError
from slipstick.late import Array, dataclass, np
from slipstick.limits import with_limits
from slipstick.schema.kinds.quantity import read_condition, validate
from slipstick.schema.kinds.study import study_model
from slipstick.schema.library import Library
from slipstick.study.cases import SweepDefinition
from slipstick.study.evaluator import Evaluator
from slipstick.study.points import SolvableModel
from slipstick.study.run import read_study
from slipstick.study.sweep import sweep_as_arrays

if TYPE_CHECKING:
    from slipstick.study.stream import StreamedPoints

MOST_POINTS = 1e12
"""Points of a file at most: some weeks of processor time, and a file of terabytes."""


@dataclass(frozen=True)
class SweepPoints:
    """The points of a sweep of a study, which are written to a file.

    Parameters
    ----------
    cases : the points of each case
    names : values that the study asks for
    notes : what there is to say of the models, and which ranges the points leave out
    """

    cases: tuple[StreamedPoints, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of all points, including those that the condition of the sweep excludes."""
        return sum(case_points.count for case_points in self.cases)


def read_sweep_points(
    study_name: str, name: str | None = None, case: str | None = None
) -> SweepPoints:
    """Read a study. Return the points of one of its sweeps.

    Parameters
    ----------
    study_name : its name in the catalogue, or its file
    name : of the sweep; None: the only one
    case : that the points start from; None: every case of the sweep

    Raises
    ------
    SpecError : something is wrong with the study, or an axis needs a model for each of its values
    UnknownNameError : there is no such sweep, or it does not start from such a case
    ModelError : there is no sweep, or several
    """
    from slipstick.study.stream import StreamedPoints

    library = Library()
    study_tree = library.load("study", study_name)
    spec = validate(study_model(study_tree), study_tree)
    with with_limits({"points": MOST_POINTS}), with_limits(spec.limits.costs):
        prepared_study = read_study(
            spec, study_tree, library, with_fitted_values=True, name=Path(study_name).stem
        )
    sweep = _sweep_of_study({sweep.name: sweep for sweep in prepared_study.sweeps}, name)
    cases = sweep.spec.cases
    if case is not None and case not in cases:
        raise UnknownNameError(f"case of sweep {sweep.name}", case, list(cases))
    points_of_cases = []
    notes = list[str]()
    quantities = set[str]()
    for case_name in cases if case is None else [case]:
        settings = prepared_study.cases[case_name]
        with with_limits({"points": MOST_POINTS}), with_limits(spec.limits.costs):
            case_evaluator, axes = sweep_as_arrays(
                sweep, case_name, settings, prepared_study.context.library
            )
        solvable = case_evaluator.solvable
        select_points = _condition_function(sweep, solvable)
        is_zipped = sweep.spec.combine == "zip"
        points_of_cases.append(
            StreamedPoints(solvable, axes, {}, select_points, is_zipped, case_name)
        )
        notes += _case_notes(case_evaluator)
        quantities.add(solvable.form.quantity)
    value_names = [name for name in prepared_study.context.spec.answer if {name} != quantities]
    return SweepPoints(tuple(points_of_cases), tuple(value_names), tuple(dict.fromkeys(notes)))


def _case_notes(case: Evaluator) -> Iterator[str]:
    """Yield the notes of the model of a case, and a note on the ranges that a file of points leaves
    out.
    """
    yield from case.built.notes_at({})
    if paths := case.built.uncertain_values.paths:
        yield (
            f"points take the middle of the range of {', '.join(paths)} and have no intervals; a"
            " run of the study has them"
        )


def _sweep_of_study(sweeps: Mapping[str, SweepDefinition], name: str | None) -> SweepDefinition:
    """Return the sweep with a name, or the only sweep of a study."""
    if not sweeps:
        raise ModelError("the study has no sweep, so no points for a file: write `vary`")
    if name is None and len(sweeps) > 1:
        raise ModelError(
            f"a file of points is of one sweep: write --sweep with one of {', '.join(sweeps)}"
        )
    name = name or next(iter(sweeps))
    if name not in sweeps:
        raise UnknownNameError("sweep", name, list(sweeps))
    return sweeps[name]


def _condition_function(
    sweep: SweepDefinition, solvable: SolvableModel
) -> Callable[[Mapping[str, Array]], Array] | None:
    """Return the condition of a sweep as a function of the values of its axes; None if it has no
    condition.
    """
    if not sweep.spec.where:
        return None
    conditions = list(read_condition(sweep.spec.where, solvable.parameters))

    def select_points(values: Mapping[str, Array]) -> Array:
        is_selected: Array = np.logical_and.reduce(
            [condition.holds(values) for condition in conditions]
        )
        return is_selected

    return select_points
