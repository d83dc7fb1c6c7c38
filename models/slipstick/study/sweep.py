"""Sweeps: the plan, which says which points there are and which of them can be solved together,
and its results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slipstick.answer import OVERHEAD, Answer
from slipstick.errors import FormulaError, Problem, SpecError
from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick.limits import Progress, ignore_progress
from slipstick.method.names import is_transient
from slipstick.results.sweep import Axis, PointTable, Sweep, join_columns, split_name
from slipstick.schema.inputs import (
    REFERENCES,
    BuiltModel,
    Inputs,
    Settings,
    is_solver_option,
    resolve_once,
)
from slipstick.schema.kinds.quantity import Given, read_condition
from slipstick.schema.library import Library
from slipstick.schema.text import Node, Scalar, canonical, node_text
from slipstick.study.cases import (
    MOST_VALUES_CHECKED,
    StudyContext,
    SweepDefinition,
    collect_problems,
    indices_to_check,
    numbers_of,
)
from slipstick.study.evaluator import Evaluator, evaluator, solve, with_values
from slipstick.study.points import (
    BRIEF,
    COLUMNS,
    PointBlock,
    SolvableModel,
    SolvedBlock,
)
from slipstick.study.uncertain import interval_ends

if TYPE_CHECKING:
    from slipstick.method.answers import CompiledModel


@dataclass(frozen=True, slots=True)
class PointGroup:
    """Points of one case that differ in numbers only: solved as arrays.

    Parameters
    ----------
    solvable : the model, and what it is solved with
    values : number of each varied path at each point, in base units
    rows : indices of the points in the sweep
    notes : notes on the model, in words
    uncertain_evaluator : evaluator of the case if some of its settings are ranges or fitted values;
        else None
    """

    solvable: SolvableModel
    values: Mapping[str, Array]
    rows: NDArray[np.intp]
    notes: Sequence[str] = ()
    uncertain_evaluator: Evaluator | None = None

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
    case_by_point : case of each point
    groups : the points, by what can be solved together
    is_zipped : whether the axes move together
    """

    axes: tuple[Axis, ...]
    points: Mapping[str, Sequence[float | str] | Array]
    case_by_point: tuple[str, ...]
    groups: tuple[PointGroup, ...]
    is_zipped: bool


class _AxisWithNodes(NamedTuple):
    """An axis of the results with its values as they were written."""

    axis: Axis
    nodes: Sequence[Node]


def plan_sweep(
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
    axes_with_nodes: list[_AxisWithNodes] = []
    case_names: list[str] = []
    index_arrays: list[NDArray[np.intp]] = []
    groups: list[PointGroup] = []
    for case in definition.spec.cases:
        # Paths of axes may mean other quantities in each case, so they are read for each.
        axes_with_nodes = _axes_with_nodes(definition, cases[case], library)
        indices_by_axis = _indices_by_axis(definition, axes_with_nodes)
        case_groups, rows_in_sweep = _point_groups(
            case,
            definition,
            axes_with_nodes,
            indices_by_axis,
            cases[case],
            library,
            len(case_names),
        )
        groups += case_groups
        index_arrays.append(indices_by_axis[:, rows_in_sweep])
        case_names += [case] * len(rows_in_sweep)
    indices_by_axis = np.concatenate(index_arrays, axis=1)
    axes = tuple(axis for axis, _ in axes_with_nodes)
    values_by_path: dict[str, Sequence[float | str] | Array] = {
        axis.path: [axis.values[value_index] for value_index in value_indices]
        if axis.has_names
        else np.array(axis.values)[value_indices]
        for axis, value_indices in zip(axes, indices_by_axis, strict=True)
    }
    return SweepPlan(
        axes, values_by_path, tuple(case_names), tuple(groups), definition.spec.combine == "zip"
    )


def sweep_as_arrays(
    definition: SweepDefinition, case: str, settings: Settings, library: Library
) -> tuple[Evaluator, dict[str, Array]]:
    """Return an evaluator whose one model can be solved at all points of a sweep, and the values of
    each axis as arrays.

    Raises
    ------
    SpecError : a path does not exist, a value is not allowed, or an axis needs a model for each of
        its values
    """
    axes_with_nodes = _axes_with_nodes(definition, settings, library)
    first_nodes = {axis.path: nodes[0] for axis, nodes in axes_with_nodes}
    # A file of points is written by one compiled model.
    if rebuilding_axis_indexes := _indexes_of_rebuilding_axes(
        case, axes_with_nodes, settings, first_nodes, library
    ):
        reason = "needs a model for each of its values; write a file of points for each of them"
        raise definition.error_at(
            f"{axes_with_nodes[rebuilding_axis_indexes[0]].axis.path} {reason}", "axes"
        )
    case_evaluator = evaluator(case, {**settings, **first_nodes}, library)
    return case_evaluator, {axis.path: np.array(axis.values) for axis, _ in axes_with_nodes}


def check_sweep(
    definition: SweepDefinition, case: str, study: StudyContext
) -> tuple[list[Axis], list[Evaluator]]:
    """Check a sweep of one case; return its axes and its built models, beginning with the model of
    the first values.

    Raises
    ------
    SpecError : a path does not exist, a value is not allowed, or the axes do not fit together
    """
    settings = study.cases[case]
    library = study.library
    inputs = resolve_once(settings, library)
    nodes_by_path = definition.axes()
    problems: list[Problem] = []
    definition.check_lengths({path: len(nodes) for path, nodes in nodes_by_path.items()})
    first_nodes = {path: nodes[0] for path, nodes in nodes_by_path.items()}
    axes: list[Axis] = []
    evaluators: list[Evaluator] = []
    for path, nodes in nodes_by_path.items():
        with collect_problems(problems):
            axes.append(read_axis(path, nodes, inputs))
    if problems:
        # A problem with a path is the same for each of its values, and is told once.
        raise SpecError(
            list({problem.message: problem for problem in reversed(problems)}.values())[::-1]
        )
    # Numbers of all axes are checked by now, so one model stands for all combinations that it can
    # vary.
    first_evaluator = with_values(case, settings, first_nodes, library)
    for path, nodes in nodes_by_path.items():
        for node in _nodes_that_rebuild(path, nodes, first_evaluator):
            with collect_problems(problems):
                evaluators.append(evaluator(case, {**settings, **first_nodes, path: node}, library))
    if problems:
        raise SpecError(problems)
    if definition.spec.where:
        try:
            read_condition(definition.spec.where, first_evaluator.built.parameters)
        except FormulaError as error:
            raise definition.error_at(str(error), "where") from None
    return axes, [first_evaluator, *evaluators]


def _nodes_that_rebuild(path: str, nodes: Sequence[Node], case: Evaluator) -> Iterator[Node]:
    """Yield the values of an axis that need a model each: names, and numbers that determine the
    structure; of many values only the extremes.
    """
    if numbers_of(nodes) is None:
        yield from nodes
    elif not case.built.are_free([canonical(case.inputs.tree, path)]):
        yield from (
            nodes
            if len(nodes) <= MOST_VALUES_CHECKED
            else map(nodes.__getitem__, indices_to_check(nodes))
        )


def _axes_with_nodes(
    definition: SweepDefinition, settings: Settings, library: Library
) -> list[_AxisWithNodes]:
    inputs = resolve_once(settings, library)
    return [
        _AxisWithNodes(read_axis(path, nodes, inputs), nodes)
        for path, nodes in definition.axes().items()
    ]


def read_axis(path: str, nodes: Sequence[Node], inputs: Inputs) -> Axis:
    """Check the values of an axis at their place, as if each were written there, and return them as
    numbers or as names.
    """
    if path in REFERENCES or is_solver_option(path):
        return _axis_of_names(path, nodes)
    sample_indices = indices_to_check(nodes)
    problems: list[Problem] = []
    sample_quantities: list[Given | None] = []
    for index in sample_indices:
        try:
            sample_quantities.append(_parse_axis_value(path, nodes[index], inputs))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    numeric_quantities = [quantity for quantity in sample_quantities if quantity is not None]
    path = canonical(inputs.tree, path)
    if len(numeric_quantities) < len(sample_indices):
        return _axis_of_names(path, nodes)
    values = (
        [quantity.value for quantity in numeric_quantities]
        if len(sample_indices) == len(nodes)
        else numbers_of(nodes)
    )
    assert values is not None
    # Rates were given for the time of a byte.
    if (
        len(sample_indices) < len(nodes)
        and values[sample_indices[0]] != numeric_quantities[0].value
    ):
        values = [1.0 / value for value in values]
    return Axis(path, str(numeric_quantities[0].dimension), tuple(values))


def _axis_of_names(path: str, nodes: Sequence[Node]) -> Axis:
    return Axis(
        path,
        "",
        tuple(map(node_text, nodes)),
    )


def _parse_axis_value(path: str, node: Node, inputs: Inputs) -> Given | None:
    """Parse one value of an axis as if it stood at `path`, cached in the library; None if it is not
    a number.
    """
    cache_key = ("value", id(inputs), path, node if isinstance(node, Scalar) else id(node))
    return inputs.library.compute_once(
        cache_key, lambda: inputs.with_value(path, node).given_quantity(path), (inputs, node)
    )


def _indices_by_axis(
    definition: SweepDefinition, axes_with_nodes: Sequence[_AxisWithNodes]
) -> NDArray[np.intp]:
    """Return the index of each axis's value at each point, (axes, points): in all combinations, or
    all axes in step.
    """
    length_by_path = {axis.path: len(nodes) for axis, nodes in axes_with_nodes}
    definition.check_lengths(length_by_path)
    if definition.spec.combine == "zip":
        return np.tile(np.arange(len(axes_with_nodes[0].nodes)), (len(axes_with_nodes), 1))
    return np.indices(tuple(length_by_path.values())).reshape(len(axes_with_nodes), -1)


def _point_groups(
    case: str,
    definition: SweepDefinition,
    axes_with_nodes: Sequence[_AxisWithNodes],
    indices_by_axis: NDArray[np.intp],
    settings: Settings,
    library: Library,
    first_row: int,
) -> tuple[list[PointGroup], NDArray[np.intp]]:
    """Return the points of a case in groups with one model each, and the rows of these points.
    Points that fail the condition of the sweep are left out.
    """
    # Every varied path is set to its first value, so that an optional one is there to be varied.
    first_nodes = {axis.path: nodes[0] for axis, nodes in axes_with_nodes}
    rebuilding_axis_indexes = _indexes_of_rebuilding_axes(
        case, axes_with_nodes, settings, first_nodes, library
    )
    point_groups: list[PointGroup] = []
    row_arrays: list[NDArray[np.intp]] = []
    for rows in (
        _rows_by_values(indices_by_axis[rebuilding_axis_indexes])
        if rebuilding_axis_indexes
        else [np.arange(indices_by_axis.shape[1])]
    ):
        changed_nodes = {
            axes_with_nodes[axis_index].axis.path: axes_with_nodes[axis_index].nodes[
                indices_by_axis[axis_index, rows[0]]
            ]
            for axis_index in rebuilding_axis_indexes
        }
        group_evaluator = evaluator(case, {**settings, **first_nodes, **changed_nodes}, library)
        values = {
            axis.path: np.array(axis.values)[indices_by_axis[axis_index, rows]]
            for axis_index, (axis, _) in enumerate(axes_with_nodes)
            if not axis.has_names
        }
        condition_holds = _condition_mask(definition, group_evaluator.built, values, len(rows))
        rows = rows[condition_holds]
        model_paths = set(group_evaluator.form.parameters) - changed_nodes.keys()
        model_values = {
            path: array[condition_holds] for path, array in values.items() if path in model_paths
        }
        uncertain_evaluator = (
            group_evaluator if group_evaluator.built.uncertain_values.paths else None
        )
        point_groups.append(
            PointGroup(
                group_evaluator.solvable,
                model_values,
                rows,
                tuple(group_evaluator.built.notes_at(model_values)),
                uncertain_evaluator,
            )
        )
        row_arrays.append(rows)
    sorted_rows = np.sort(np.concatenate(row_arrays))
    placed_groups = [
        # Rows that stay move up to close the gaps.
        replace(group, rows=first_row + np.searchsorted(sorted_rows, group.rows))
        for group in point_groups
        # A condition may leave out all points of a model.
        if len(group.rows)
    ]
    return placed_groups, sorted_rows


def _indexes_of_rebuilding_axes(
    case: str,
    axes_with_nodes: Sequence[_AxisWithNodes],
    settings: Settings,
    first_nodes: Settings,
    library: Library,
) -> list[int]:
    """Return the axes whose values need a model each: names, and numbers that determine the
    structure.
    """
    form = evaluator(case, {**settings, **first_nodes}, library).form
    rebuilding_axis_indexes = []
    for axis_index, (axis, nodes) in enumerate(axes_with_nodes):
        if axis.has_names or (
            axis.path not in form.parameters and len(nodes) <= MOST_VALUES_CHECKED
        ):
            rebuilding_axis_indexes.append(axis_index)
        elif axis.path not in form.parameters:
            # Too many to build a model for each, so none may shape it: the extremes must be
            # possible, too.
            for index in indices_to_check(nodes):
                evaluator(case, {**settings, **first_nodes, axis.path: nodes[index]}, library)
    return rebuilding_axis_indexes


def _rows_by_values(indices_by_axis: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of points with equal values of all given axes, in order of first
    appearance.
    """
    _, first_rows, combination_by_row = np.unique(
        indices_by_axis, axis=1, return_index=True, return_inverse=True
    )
    for combination in np.argsort(first_rows):
        yield np.flatnonzero(combination_by_row.reshape(-1) == combination)


def _condition_mask(
    definition: SweepDefinition,
    built_model: BuiltModel,
    values: Mapping[str, Array],
    point_count: int,
) -> NDArray[np.bool_]:
    """Return, as a mask, the points at which the condition of a sweep holds."""
    condition_holds = np.ones(point_count, dtype=bool)
    if definition.spec.where:
        try:
            for condition in read_condition(definition.spec.where, built_model.parameters):
                condition_holds &= condition.holds(values)
        except FormulaError as error:
            raise definition.error_at(str(error), "where") from None
    return condition_holds


MOST_REASONS = 1000
"""The largest number of points without an answer whose reason is printed."""


def solve_plan(
    name: str,
    plan: SweepPlan,
    value_names: Sequence[str],
    *,
    as_answers: bool = False,
    progress: Progress = ignore_progress,
) -> Sweep:
    """Solve every point of a plan.

    Parameters
    ----------
    name : of the sweep
    plan : its points
    value_names : names of the columns wanted
    as_answers : keep the whole answer of each point
    progress : told how many more points are done
    """
    group_blocks = [
        group_block
        for group in plan.groups
        for group_block in _group_blocks(group, plan, value_names, as_answers)
    ]
    sweep = _sweep_of_blocks(
        name,
        plan,
        value_names,
        group_blocks,
        solve((block for _, _, block in group_blocks), progress),
    )
    return _with_bands(sweep, plan, value_names)


def _with_bands(sweep: Sweep, plan: SweepPlan, value_names: Sequence[str]) -> Sweep:
    """Return the sweep with the ends of intervals of the requested values, where settings are
    uncertain.
    """
    groups_and_evaluators = [
        (group, group.uncertain_evaluator)
        for group in plan.groups
        if group.uncertain_evaluator is not None
    ]
    if not groups_and_evaluators:
        return sweep
    column_names = [
        column_name
        for name in value_names
        for column_name in (name, f"low[{name}]", f"high[{name}]")
        if column_name in sweep.columns
    ]
    rows_and_bands = []
    for group, uncertain_case in groups_and_evaluators:
        columns = {name: sweep.columns[name][group.rows] for name in column_names}
        rows_and_bands.append(
            (group.rows, interval_ends(uncertain_case, group.values, columns, len(group.rows)))
        )
    band_columns = join_columns(len(sweep), rows_and_bands)
    for column_name, column in band_columns.items():
        if column_name in sweep.columns:
            # Points of cases without ranges keep the interval of their method.
            band_columns[column_name] = np.where(
                np.isnan(column), sweep.columns[column_name], column
            )
    is_estimate = np.isin(
        np.arange(len(sweep)), np.concatenate([rows for rows, _ in rows_and_bands])
    )
    provenance = sweep.provenance
    unit_by_column = {column_name: unit_of_end(sweep, column_name) for column_name in band_columns}
    is_exact = np.asarray(provenance.exact, dtype=bool) & ~is_estimate
    return replace(
        sweep,
        columns={**sweep.columns, **band_columns},
        units={**sweep.units, **unit_by_column},
        provenance=replace(provenance, exact=is_exact),
    )


def unit_of_end(sweep: Sweep, column_name: str) -> str:
    """Return the unit of the value whose interval ends in a column such as ``low[time]``."""
    return sweep.units[split_name(column_name)[1]]


_GroupBlock = tuple[PointGroup, "NDArray[np.intp]", PointBlock]
"""Points of one group that are solved together: the group, the indices of its points in the
sweep, the block.
"""


def _group_blocks(
    group: PointGroup, plan: SweepPlan, value_names: Sequence[str], as_answers: bool
) -> Iterator[_GroupBlock]:
    """Yield the blocks of points of one group, each of which is solved together."""
    form = group.form
    rows = group.rows
    index_blocks = list(form.blocks(group.values, len(rows)))
    whole_group = PointBlock(
        group.solvable,
        group.values,
        len(rows),
        COLUMNS,
        tuple(value_names),
        with_all_columns=True,
        with_answers=as_answers,
    )
    if (
        list(value_names) == [form.quantity]
        and not as_answers
        and len(index_blocks) > 1
        and all(len(indices) > 1 for indices in index_blocks)
    ):
        # Many points are solved for the time alone: many times faster than asking for everything.
        whole_group = replace(whole_group, result_kind=BRIEF)
    for indices in index_blocks:
        values = {path: column[indices] for path, column in group.values.items()}
        axis_values = _axis_values(plan, rows[indices], value_names)
        block = replace(whole_group, values=values, axis_values=axis_values, count=len(indices))
        if len(indices) == 1:
            block = replace(block, subject=_point_in_words(plan, int(rows[indices[0]])))
        yield group, rows[indices], block


def _point_in_words(plan: SweepPlan, row: int) -> str:
    """Return the case of a point and its values, in base units."""
    values = (plan.points[axis.path][row] for axis in plan.axes)
    value_texts = [value if isinstance(value, str) else f"{value:g}" for value in values]
    axes_and_texts = zip(plan.axes, value_texts, strict=True)
    return ", ".join(
        [
            plan.case_by_point[row],
            *(f"{axis.path} = {value_text}" for axis, value_text in axes_and_texts),
        ]
    )


def _axis_values(
    plan: SweepPlan, rows: NDArray[np.intp], value_names: Sequence[str]
) -> dict[str, Array]:
    """Return the values of the numeric axes if values before the steady state are requested, whose
    time may be an axis; else nothing.
    """
    if not any(map(is_transient, value_names)):
        return {}
    return {
        axis.path: np.asarray(plan.points[axis.path])[rows]
        for axis in plan.axes
        if not axis.has_names
    }


def _sweep_of_blocks(
    name: str,
    plan: SweepPlan,
    value_names: Sequence[str],
    group_blocks: Sequence[_GroupBlock],
    solved_blocks: Sequence[SolvedBlock],
) -> Sweep:
    """Return a sweep with the results of its solved blocks at their rows."""
    point_count = len(plan.case_by_point)
    # Each method knows the units of what it has.
    form_by_column: dict[str, CompiledModel] = {}
    answer_by_row: dict[int, Answer] = {}
    for (group, rows, _), solved_block in zip(group_blocks, solved_blocks, strict=True):
        # A block of failures only has no columns, but its first quantity is needed to show that
        # there is no answer.
        if solved_block.failed:
            form_by_column.setdefault(group.form.quantity, group.form)
        form_by_column.update(
            (column_name, group.form)
            for column_name in solved_block.columns
            if column_name not in form_by_column
        )
        for row, point_answer in zip(rows.tolist(), solved_block.answers, strict=False):
            answer_by_row[row] = _with_coordinates(plan, row, point_answer, group.notes)
    row_arrays = (rows for _, rows, _ in group_blocks)
    table = PointTable.join(point_count, zip(row_arrays, solved_blocks, strict=True))
    columns = {
        column_name: table.columns.get(column_name, np.full(point_count, np.nan))
        for column_name in form_by_column
    }
    reason_by_row = _reasons_by_row(plan, columns, table.failed)
    for column in columns.values():
        column[list(reason_by_row)] = np.nan
    unit_by_column = {
        column_name: "s" if OVERHEAD in column_name else form.unit(column_name)
        for column_name, form in form_by_column.items()
    }
    return Sweep(
        name=name,
        axes=plan.axes,
        cases=plan.case_by_point,
        points=plan.points,
        columns=columns,
        units=unit_by_column,
        limits=table.limits,
        provenance=table.provenance,
        failed=reason_by_row,
        idle=_axes_without_effect(plan, columns),
        answers=[answer_by_row[row] for row in sorted(answer_by_row)],
        notes=tuple(dict.fromkeys(note for group, _, _ in group_blocks for note in group.notes)),
    )


def _with_coordinates(plan: SweepPlan, row: int, answer: Answer, notes: Sequence[str]) -> Answer:
    """Return an answer with the coordinates of its point."""
    path_values = ((axis.path, plan.points[axis.path][row]) for axis in plan.axes)
    coordinates = {
        path: value if isinstance(value, str) else float(value) for path, value in path_values
    }
    return replace(answer, point=coordinates, given=coordinates, notes=(*notes, *answer.notes))


def _reasons_by_row(
    plan: SweepPlan, columns: Mapping[str, Array], known_reasons: Mapping[int, str]
) -> dict[int, str]:
    """Return the reason why each point has no answer; a point whose reason is not known yet is
    solved alone.
    """
    reason_by_row = dict(known_reasons)
    point_by_row = dict[int, PointBlock]()
    for group in plan.groups:
        for group_row in np.flatnonzero(
            ~np.isfinite(columns[group.form.quantity][group.rows])
        ).tolist():
            if (row := int(group.rows[group_row])) not in reason_by_row:
                # Each reason takes a solve of its own.
                if len(reason_by_row) < MOST_REASONS:
                    values = {
                        path: array[group_row : group_row + 1]
                        for path, array in group.values.items()
                    }
                    point_by_row[row] = PointBlock(group.solvable, values, 1)
                reason_by_row[row] = ""
    reason_by_row |= {
        row: solved_block.failed.get(0, "")
        for row, solved_block in zip(point_by_row, solve(point_by_row.values()), strict=True)
    }
    return {row: reason or "no answer" for row, reason in sorted(reason_by_row.items())}


def _axes_without_effect(plan: SweepPlan, columns: Mapping[str, Array]) -> tuple[str, ...]:
    """List the axes that change no value at any point, because no model reads them or they have no
    effect.
    """
    return tuple(
        axis.path
        for axis in plan.axes
        # An axis of one value has nothing to compare.
        if len(axis.values) > 1 and not _has_effect(axis.path, plan, columns)
    )


def _has_effect(path: str, plan: SweepPlan, columns: Mapping[str, Array]) -> bool:
    """Return whether an axis changes any value: each point is compared with the first that differs
    in this axis only.
    """
    # Zipped axes move together, and so matter together.
    other_paths = [] if plan.is_zipped else [axis.path for axis in plan.axes if axis.path != path]
    value_indices = [
        np.unique(np.asarray(plan.points[other_path]), return_inverse=True)[1].reshape(-1)
        for other_path in other_paths
    ]
    case_indices = np.unique(np.asarray(plan.case_by_point), return_inverse=True)[1].reshape(-1)
    _, combination_by_row = np.unique(
        np.stack([case_indices, *value_indices]), axis=1, return_inverse=True
    )
    # Sorted by the values of the other axes, points that differ in this axis only are neighbours:
    # one pass compares them instead of all pairs.
    row_order = np.argsort(combination_by_row.reshape(-1), kind="stable")
    is_same_combination = np.diff(combination_by_row.reshape(-1)[row_order]) == 0
    for column in columns.values():
        sorted_column = column[row_order]
        # NaN differs from itself, but two points without a value are alike.
        are_both_missing = np.isnan(sorted_column[1:]) & np.isnan(sorted_column[:-1])
        if np.any(
            is_same_combination & (sorted_column[1:] != sorted_column[:-1]) & ~are_both_missing
        ):
            return True
    return False
