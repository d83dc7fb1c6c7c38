"""Sweeps: the plan, which says which points there are and which of them can be solved together,
and its results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from slipstick.answer import OVERHEAD, Answer
from slipstick.errors import FormulaError, Problem, SpecError
from slipstick.late import Array, NDArray, np
from slipstick.method.names import is_transient
from slipstick.results.sweep import Axis, PointTable, Sweep, joined_columns, split_name
from slipstick.schema.inputs import (
    REFERENCES,
    BuiltModel,
    Inputs,
    Settings,
    is_solver_option,
    resolved_with,
)
from slipstick.schema.kinds.quantity import Given, read_condition
from slipstick.schema.library import Library
from slipstick.schema.text import Node, Scalar, canonical, plain
from slipstick.study.cases import (
    CHECK_ALL,
    StudyContext,
    SweepDefinition,
    kept,
    numbers_of,
    to_check,
)
from slipstick.study.evaluator import Evaluator, evaluator, solve, with_values
from slipstick.study.points import (
    BRIEF,
    COLUMNS,
    PointBlock,
    Progress,
    SolvableModel,
    SolvedBlock,
    silent,
)
from slipstick.study.uncertain import bands

if TYPE_CHECKING:
    from slipstick.method.answers import CompiledModel


@dataclass(frozen=True, slots=True)
class PointGroup:
    """Points of one case that differ in numbers only: solved as arrays.

    Parameters
    ----------
    solvable : the model, and what it is solved with
    values : number of each varied path at each point, in base units
    rows : places of the points in the sweep
    notes : what there is to say of the model
    uncertain : the case of the points, where some of its settings are not known exactly
    """

    solvable: SolvableModel
    values: Mapping[str, Array]
    rows: NDArray[np.intp]
    notes: Sequence[str] = ()
    uncertain: Evaluator | None = None

    @property
    def form(self) -> CompiledModel:
        """The compiled model of the group."""
        return self.solvable.form


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """All points of a sweep, before they are solved.

    Parameters
    ----------
    axes : what is varied
    points : value of each axis at each point
    cases : case of each point
    groups : the points, by what can be solved together
    zipped : whether the axes move together
    """

    axes: tuple[Axis, ...]
    points: Mapping[str, Sequence[float | str] | Array]
    cases: tuple[str, ...]
    groups: tuple[PointGroup, ...]
    zipped: bool


class _ReadAxis(NamedTuple):
    """An axis of the results with its values as they were written."""

    axis: Axis
    nodes: Sequence[Node]


def planned(
    definition: SweepDefinition, cases: Mapping[str, Settings], library: Library
) -> SweepPlan:
    """Plan a sweep: check every value, and build every model that is needed.

    Parameters
    ----------
    definition : the sweep
    cases : settings of every case of the study
    library : what was read so far

    Raises
    ------
    SpecError : a path does not exist, a value is not allowed, or the axes do not fit together
    """
    axes_read: list[_ReadAxis] = []
    case_names: list[str] = []
    indices: list[NDArray[np.intp]] = []
    groups: list[PointGroup] = []
    for case in definition.spec.cases:
        # Paths of axes may mean other quantities in each case, so they are read for each.
        axes_read = _axes(definition, cases[case], library)
        index = _combined(definition, axes_read)
        case_groups, kept_rows = _groups(
            case, definition, axes_read, index, cases[case], library, len(case_names)
        )
        groups += case_groups
        indices.append(index[:, kept_rows])
        case_names += [case] * len(kept_rows)
    index = np.concatenate(indices, axis=1)
    axes = tuple(axis for axis, _ in axes_read)
    points: dict[str, Sequence[float | str] | Array] = {
        axis.path: [axis.values[position] for position in places]
        if axis.named
        else np.array(axis.values)[places]
        for axis, places in zip(axes, index, strict=True)
    }
    return SweepPlan(
        axes, points, tuple(case_names), tuple(groups), definition.spec.combine == "zip"
    )


def arrays_of(
    definition: SweepDefinition, case: str, settings: Settings, library: Library
) -> tuple[Evaluator, dict[str, Array]]:
    """Return the one case whose model can be solved at all points of a sweep, and the values of
    each axis.

    Raises
    ------
    SpecError : a path does not exist, a value is not allowed, or an axis needs a model for each of
        its values
    """
    axes_read = _axes(definition, settings, library)
    first = {axis.path: nodes[0] for axis, nodes in axes_read}
    # A file of points is written by one compiled model.
    if fixed := _axes_that_rebuild(case, axes_read, settings, first, library):
        why = "needs a model for each of its values; write a file of points for each of them"
        raise definition.problem(f"{axes_read[fixed[0]].axis.path} {why}", "axes")
    start = evaluator(case, {**settings, **first}, library)
    return start, {axis.path: np.array(axis.values) for axis, _ in axes_read}


def checked_sweep(
    definition: SweepDefinition, case: str, study: StudyContext
) -> tuple[list[Axis], list[Evaluator]]:
    """Check a sweep of one case; return its axes and its built models, that of the first values
    first.

    Raises
    ------
    SpecError : a path does not exist, a value is not allowed, or the axes do not fit together
    """
    settings = study.cases[case]
    library = study.library
    inputs = resolved_with(settings, library)
    axes = definition.axes()
    problems: list[Problem] = []
    definition.check_lengths({path: len(nodes) for path, nodes in axes.items()})
    first = {path: nodes[0] for path, nodes in axes.items()}
    axes_read: list[Axis] = []
    evaluators: list[Evaluator] = []
    for path, nodes in axes.items():
        with kept(problems):
            axes_read.append(_read_axis(path, nodes, inputs))
    if problems:
        # A problem with a path is the same for each of its values, and is told once.
        raise SpecError(
            list({problem.message: problem for problem in reversed(problems)}.values())[::-1]
        )
    # Numbers of all axes are checked by now, so one model stands for all combinations that it can
    # vary.
    whole_case = with_values(case, settings, first, library)
    for path, nodes in axes.items():
        for node in _each_a_model(path, nodes, whole_case):
            with kept(problems):
                evaluators.append(evaluator(case, {**settings, **first, path: node}, library))
    if problems:
        raise SpecError(problems)
    if definition.spec.where:
        try:
            read_condition(definition.spec.where, whole_case.built.parameters)
        except FormulaError as error:
            raise definition.problem(str(error), "where") from None
    return axes_read, [whole_case, *evaluators]


def _each_a_model(path: str, nodes: Sequence[Node], case: Evaluator) -> Iterator[Node]:
    """Yield the values of an axis that need a model each: names, and numbers that determine the
    structure; of many values only the extremes.
    """
    if numbers_of(nodes) is None:
        yield from nodes
    elif not case.built.computed_from([canonical(case.inputs.tree, path)]):
        yield from nodes if len(nodes) <= CHECK_ALL else map(nodes.__getitem__, to_check(nodes))


def _axes(definition: SweepDefinition, settings: Settings, library: Library) -> list[_ReadAxis]:
    base = resolved_with(settings, library)
    return [
        _ReadAxis(_read_axis(path, nodes, base), nodes) for path, nodes in definition.axes().items()
    ]


def axis_of(path: str, nodes: Sequence[Node], base: Inputs) -> Axis:
    """Check the values of one axis at their place and return the axis; numbers that determine the
    structure of a model, such as permits, stay numbers.

    Raises
    ------
    SpecError : a value is not allowed, or the path does not exist
    """
    axis_read = _read_axis(path, nodes, base)
    if (
        axis_read.named
        and not (path in REFERENCES or is_solver_option(path))
        and (numbers := numbers_of(nodes))
    ):
        return Axis(axis_read.path, "1", tuple(numbers))
    return axis_read


def _read_axis(path: str, nodes: Sequence[Node], base: Inputs) -> Axis:
    """Check the values of an axis at their place, as if each were written there, and return them as
    numbers or as names.
    """
    if path in REFERENCES or is_solver_option(path):
        return _named(path, nodes)
    sample = to_check(nodes)
    problems: list[Problem] = []
    quantities: list[Given | None] = []
    for index in sample:
        try:
            quantities.append(_given(path, nodes[index], base))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    present = [quantity for quantity in quantities if quantity is not None]
    path = canonical(base.tree, path)
    if len(present) < len(sample):
        return _named(path, nodes)
    numbers = (
        [quantity.value for quantity in present] if len(sample) == len(nodes) else numbers_of(nodes)
    )
    assert numbers is not None
    if (
        len(sample) < len(nodes) and numbers[sample[0]] != present[0].value
    ):  # rates where the time of a byte is wanted
        numbers = [1.0 / number for number in numbers]
    return Axis(path, str(present[0].dimension), tuple(numbers))


def _named(path: str, nodes: Sequence[Node]) -> Axis:
    return Axis(
        path,
        "",
        tuple(node.text if isinstance(node, Scalar) else str(plain(node)) for node in nodes),
    )


def _given(path: str, node: Node, base: Inputs) -> Given | None:
    """Parse one value of an axis as if it stood at `path`, cached in the library; None if it is not
    a number.
    """
    key = ("value", id(base), path, node if isinstance(node, Scalar) else id(node))
    return base.library.once(key, lambda: base.with_value(path, node).given(path), (base, node))


def _combined(definition: SweepDefinition, axes: Sequence[_ReadAxis]) -> NDArray[np.intp]:
    """Return the index of each axis's value at each point, (axes, points): in all combinations, or
    all axes in step.
    """
    lengths = {axis.path: len(nodes) for axis, nodes in axes}
    definition.check_lengths(lengths)
    if definition.spec.combine == "zip":
        return np.tile(np.arange(len(axes[0].nodes)), (len(axes), 1))
    return np.indices(tuple(lengths.values())).reshape(len(axes), -1)


def _groups(
    case: str,
    definition: SweepDefinition,
    axes: Sequence[_ReadAxis],
    index: NDArray[np.intp],
    settings: Settings,
    library: Library,
    offset: int,
) -> tuple[list[PointGroup], NDArray[np.intp]]:
    """Group the points of a case by the model that each needs; leave out points that fail the
    condition of the sweep.
    """
    # Every varied path is set to its first value, so that an optional one is there to be varied.
    first = {axis.path: nodes[0] for axis, nodes in axes}
    fixed = _axes_that_rebuild(case, axes, settings, first, library)
    point_groups: list[PointGroup] = []
    kept_rows: list[NDArray[np.intp]] = []
    for rows in _rows_by(index[fixed]) if fixed else [np.arange(index.shape[1])]:
        changes = {
            axes[number].axis.path: axes[number].nodes[index[number, rows[0]]] for number in fixed
        }
        alike = evaluator(case, {**settings, **first, **changes}, library)
        values = {
            axis.path: np.array(axis.values)[index[number, rows]]
            for number, (axis, _) in enumerate(axes)
            if not axis.named
        }
        chosen = _where(definition, alike.built, values, len(rows))
        rows = rows[chosen]
        model_paths = set(alike.form.parameters) - changes.keys()
        read = {path: array[chosen] for path, array in values.items() if path in model_paths}
        uncertain = alike if alike.built.uncertain.paths else None
        point_groups.append(PointGroup(alike.solvable, read, rows, alike.built.notes, uncertain))
        kept_rows.append(rows)
    order = np.sort(np.concatenate(kept_rows))
    placed = [
        replace(group, rows=offset + np.searchsorted(order, group.rows))
        for group in point_groups
        # A condition may leave out all points of a model.
        if len(group.rows)
    ]
    return placed, order


def _axes_that_rebuild(
    case: str, axes: Sequence[_ReadAxis], settings: Settings, first: Settings, library: Library
) -> list[int]:
    """Return the axes whose values need a model each: names, and numbers that determine the
    structure.
    """
    form = evaluator(case, {**settings, **first}, library).form
    fixed = []
    for number, (axis, nodes) in enumerate(axes):
        if axis.named or (axis.path not in form.parameters and len(nodes) <= CHECK_ALL):
            fixed.append(number)
        elif axis.path not in form.parameters:
            # Too many to build a model for each, so none may shape it: the extremes must be
            # possible, too.
            for index in to_check(nodes):
                evaluator(case, {**settings, **first, axis.path: nodes[index]}, library)
    return fixed


def _rows_by(index: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of points with equal values of all given axes, in order of first appearance."""
    _, first, inverse = np.unique(index, axis=1, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        yield np.flatnonzero(inverse.reshape(-1) == number)


def _where(
    definition: SweepDefinition, built: BuiltModel, values: Mapping[str, Array], count: int
) -> NDArray[np.bool_]:
    held = np.ones(count, dtype=bool)
    if definition.spec.where:
        try:
            for condition in read_condition(definition.spec.where, built.parameters):
                held &= condition.holds(values)
        except FormulaError as error:
            raise definition.problem(str(error), "where") from None
    return held


MOST_REASONS = 1000
"""The number of points without an answer whose reason is printed."""


def carried_out(
    name: str,
    plan: SweepPlan,
    answer: Sequence[str],
    *,
    as_answers: bool = False,
    progress: Progress = silent,
) -> Sweep:
    """Solve every point of a plan.

    Parameters
    ----------
    name : of the sweep
    plan : its points
    answer : the columns wanted
    as_answers : keep the whole answer of each point
    progress : told how many more points are done
    """
    blocks_of_groups = [
        block_part
        for group in plan.groups
        for block_part in _blocks(group, plan, answer, as_answers)
    ]
    swept = _assembled(
        name,
        plan,
        answer,
        blocks_of_groups,
        solve((block for _, _, block in blocks_of_groups), progress),
    )
    return _with_bands(swept, plan, answer)


def _with_bands(sweep: Sweep, plan: SweepPlan, answer: Sequence[str]) -> Sweep:
    """Return the sweep with the ends of intervals of the requested values, where settings are
    uncertain.
    """
    cases = [(group, group.uncertain) for group in plan.groups if group.uncertain is not None]
    if not cases:
        return sweep
    names = [
        end
        for name in answer
        for end in (name, f"low[{name}]", f"high[{name}]")
        if end in sweep.columns
    ]
    pieces = []
    for group, case in cases:
        columns = {name: sweep.columns[name][group.rows] for name in names}
        pieces.append((group.rows, bands(case, group.values, columns, len(group.rows))))
    band_columns = joined_columns(len(sweep), pieces)
    for end, column in band_columns.items():
        if end in sweep.columns:
            # Points of cases without ranges keep the interval of their method.
            band_columns[end] = np.where(np.isnan(column), sweep.columns[end], column)
    estimates = np.isin(np.arange(len(sweep)), np.concatenate([rows for rows, _ in pieces]))
    how = sweep.provenance
    units = {end: unit_of_end(sweep, end) for end in band_columns}
    exact = np.asarray(how.exact, dtype=bool) & ~estimates
    return replace(
        sweep,
        columns={**sweep.columns, **band_columns},
        units={**sweep.units, **units},
        provenance=replace(how, exact=exact),
    )


def unit_of_end(sweep: Sweep, end: str) -> str:
    """Return the unit of the value whose interval ends in a column such as ``low[time]``."""
    return sweep.units[split_name(end)[1]]


_Part = tuple[PointGroup, "NDArray[np.intp]", PointBlock]
"""Points of one group that are solved together: the group, the places of its points in the
sweep, the block.
"""


def _blocks(
    group: PointGroup, plan: SweepPlan, answer: Sequence[str], as_answers: bool
) -> Iterator[_Part]:
    form = group.form
    rows = group.rows
    blocks = list(form.blocks(group.values, len(rows)))
    block = PointBlock(
        group.solvable,
        group.values,
        len(rows),
        COLUMNS,
        tuple(answer),
        every=True,
        answers=as_answers,
    )
    if (
        list(answer) == [form.quantity]
        and not as_answers
        and len(blocks) > 1
        and all(len(block) > 1 for block in blocks)
    ):
        # Many points are solved for the time alone: many times faster than asking for everything.
        block = replace(block, asked=BRIEF)
    for cut in blocks:
        values = {path: column[cut] for path, column in group.values.items()}
        axis_values = _axis_values(plan, rows[cut], answer)
        part = replace(block, values=values, axis_values=axis_values, count=len(cut))
        yield group, rows[cut], part


def _axis_values(
    plan: SweepPlan, rows: NDArray[np.intp], answer: Sequence[str]
) -> dict[str, Array]:
    """Return the values of the numeric axes if values before the steady state are requested, whose
    time may be an axis; else nothing.
    """
    if not any(map(is_transient, answer)):
        return {}
    return {
        axis.path: np.asarray(plan.points[axis.path])[rows] for axis in plan.axes if not axis.named
    }


def _assembled(
    name: str,
    plan: SweepPlan,
    answer: Sequence[str],
    blocks_of_groups: Sequence[_Part],
    pieces: Sequence[SolvedBlock],
) -> Sweep:
    total = len(plan.cases)
    # Each method knows the units of what it has.
    forms: dict[str, CompiledModel] = {}
    answers: dict[int, Answer] = {}
    for (group, rows, _), piece in zip(blocks_of_groups, pieces, strict=True):
        # A block of failures only has no columns, but its first quantity is needed to show that
        # there is no answer.
        if piece.failed:
            forms.setdefault(group.form.quantity, group.form)
        forms.update((key, group.form) for key in piece.columns if key not in forms)
        for row, answer_found in zip(rows.tolist(), piece.answers, strict=False):
            answers[row] = _at_its_point(plan, row, answer_found, group.notes)
    places = (rows for _, rows, _ in blocks_of_groups)
    table = PointTable.joined(total, zip(places, pieces, strict=True))
    columns = {key: table.columns.get(key, np.full(total, np.nan)) for key in forms}
    failed = _failures(plan, columns, table.failed)
    for column in columns.values():
        column[list(failed)] = np.nan
    units = {key: "s" if OVERHEAD in key else form.unit(key) for key, form in forms.items()}
    return Sweep(
        name=name,
        axes=plan.axes,
        cases=plan.cases,
        points=plan.points,
        columns=columns,
        units=units,
        limits=table.limits,
        provenance=table.provenance,
        failed=failed,
        idle=_idle(plan, columns),
        answers=[answers[row] for row in sorted(answers)],
    )


def _at_its_point(plan: SweepPlan, row: int, answer: Answer, notes: Sequence[str]) -> Answer:
    """Return an answer with the coordinates of its point."""
    values = ((axis.path, plan.points[axis.path][row]) for axis in plan.axes)
    where = {path: value if isinstance(value, str) else float(value) for path, value in values}
    return replace(answer, point=where, given=where, notes=(*notes, *answer.notes))


def _failures(
    plan: SweepPlan, columns: Mapping[str, Array], messages: Mapping[int, str]
) -> dict[int, str]:
    """Return the reason why each point has no answer; a point whose reason is not known yet is
    solved alone.
    """
    failed = dict(messages)
    alone = dict[int, PointBlock]()
    for group in plan.groups:
        for number in np.flatnonzero(
            ~np.isfinite(columns[group.form.quantity][group.rows])
        ).tolist():
            if (row := int(group.rows[number])) not in failed:
                # Each reason takes a solve of its own.
                if len(failed) < MOST_REASONS:
                    values = {
                        path: array[number : number + 1] for path, array in group.values.items()
                    }
                    alone[row] = PointBlock(group.solvable, values, 1)
                failed[row] = ""
    failed |= {
        row: solved_block.failed.get(0, "")
        for row, solved_block in zip(alone, solve(alone.values()), strict=True)
    }
    return {row: words or "no answer" for row, words in sorted(failed.items())}


def _idle(plan: SweepPlan, columns: Mapping[str, Array]) -> tuple[str, ...]:
    """List the axes that change no value at any point, because no model reads them or they have no
    effect.
    """
    return tuple(
        axis.path
        for axis in plan.axes
        # An axis of one value has nothing to compare.
        if len(axis.values) > 1 and not _matters(axis.path, plan, columns)
    )


def _matters(path: str, plan: SweepPlan, columns: Mapping[str, Array]) -> bool:
    """Return whether an axis changes any value: each point is compared with the first that differs
    in this axis only.
    """
    # Zipped axes move together, and so matter together.
    other_paths = [] if plan.zipped else [axis.path for axis in plan.axes if axis.path != path]
    keys = [
        np.unique(np.asarray(plan.points[other_path]), return_inverse=True)[1].reshape(-1)
        for other_path in other_paths
    ]
    cases = np.unique(np.asarray(plan.cases), return_inverse=True)[1].reshape(-1)
    _, group = np.unique(np.stack([cases, *keys]), axis=1, return_inverse=True)
    # Sorted by the values of the other axes, points that differ in this axis only are neighbours:
    # one pass compares them instead of all pairs.
    order = np.argsort(group.reshape(-1), kind="stable")
    same = np.diff(group.reshape(-1)[order]) == 0
    for column in columns.values():
        sorted_ = column[order]
        # NaN differs from itself, but two points without a value are alike.
        neither = np.isnan(sorted_[1:]) & np.isnan(sorted_[:-1])
        if np.any(same & (sorted_[1:] != sorted_[:-1]) & ~neither):
            return True
    return False
