"""Plans of sweeps: which points there are, and which of them can be solved together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import FormulaError, Problem, SpecError
from slipstick.method.forms import Form
from slipstick.results.study import Axis
from slipstick.schema.binding.bind import Bound
from slipstick.schema.binding.how import says_how
from slipstick.schema.binding.scene import REFERENCES, Scene, Settings, stage
from slipstick.schema.describe import entries
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.load import Library
from slipstick.schema.text.formula import read_condition
from slipstick.schema.text.nodes import Node, Scalar, canonical, plain
from slipstick.study.points.axes import CHECK_ALL, numbers_of, to_check
from slipstick.study.points.cases import Asked
from slipstick.study.points.evaluate import evaluator

__all__ = ["Group", "Plan", "planned"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """Points of one case that differ in numbers only: solved as arrays.

    Parameters
    ----------
    case : where they start from
    bound, form : the model, built and compiled
    values : number of each varied path at each point, in base units
    rows : places of the points in the sweep
    """

    case: str
    bound: Bound
    form: Form
    values: Mapping[str, Array]
    rows: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Plan:
    """All points of a sweep.

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
    groups: tuple[Group, ...]
    zipped: bool


@dataclass(frozen=True, slots=True)
class _Axis:
    path: str
    nodes: Sequence[Node]
    numbers: Array | None
    unit: str

    def result(self) -> Axis:
        values = self.numbers.tolist() if self.numbers is not None else [_text(node) for node in self.nodes]
        return Axis(self.path, self.unit, tuple(values))


def planned(asked: Asked, cases: Mapping[str, Settings], library: Library) -> Plan:
    """Lay out a sweep: check every value, build every model that is needed.

    Parameters
    ----------
    asked : the sweep
    cases : settings of every case of the study
    library : what was read so far

    Raises
    ------
    SpecError : a path does not exist, a value is not allowed, or the axes do not fit together
    """
    axes: list[_Axis] = []
    names: list[str] = []
    indices: list[NDArray[np.intp]] = []
    groups: list[Group] = []
    for case in asked.spec.cases:
        axes = _axes(asked, cases[case], library)
        index = _combined(asked, axes)
        made, kept = _groups(case, asked, axes, index, cases[case], library, len(names))
        groups += made
        indices.append(index[:, kept])
        names += [case] * len(kept)
    index = np.concatenate(indices, axis=1)
    points = {axis.path: _column(axis, index[number]) for number, axis in enumerate(axes)}
    return Plan(tuple(axis.result() for axis in axes), points, tuple(names), tuple(groups), asked.spec.combine == "zip")


def _axes(asked: Asked, settings: Settings, library: Library) -> list[_Axis]:
    base = stage(settings, library)
    return [
        _Axis(path, nodes, None, "")
        if path in REFERENCES or says_how(path)
        else _checked_axis(path, nodes, base, library)
        for path, nodes in asked.axes().items()
    ]


def _checked_axis(path: str, nodes: Sequence[Node], base: Scene, library: Library) -> _Axis:
    """Check values in their place, like written ones, and read them as numbers if they are."""
    sample = to_check(nodes)
    problems: list[Problem] = []
    given: list[Given | None] = []
    for index in sample:
        try:
            given.append(_given(path, nodes[index], base, library))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    found = [each for each in given if each is not None]
    path = canonical(base.tree, path)
    if len(found) < len(sample):
        return _Axis(path, nodes, None, "")
    numbers = [each.value for each in found] if len(sample) == len(nodes) else numbers_of(nodes)
    return _Axis(path, nodes, np.array(numbers), str(found[0].dimension))


def _given(path: str, node: Node, base: Scene, library: Library) -> Given | None:
    """Read a value where it would stand; None for what is not a number, such as a name."""
    scene = base.with_value(path, node, library)
    wanted = canonical(scene.tree, path)
    return next((each.given for each in entries(scene.checked()) if canonical(scene.tree, each.path) == wanted), None)


def _combined(asked: Asked, axes: Sequence[_Axis]) -> NDArray[np.intp]:
    """Number the value of each axis at each point: all combinations, or value by value."""
    lengths = {axis.path: len(axis.nodes) for axis in axes}
    asked.check_lengths(lengths)
    if asked.spec.combine == "zip":
        return np.tile(np.arange(len(axes[0].nodes)), (len(axes), 1))
    return np.indices(tuple(lengths.values())).reshape(len(axes), -1)


def _groups(
    case: str,
    asked: Asked,
    axes: Sequence[_Axis],
    index: NDArray[np.intp],
    settings: Settings,
    library: Library,
    offset: int,
) -> tuple[list[Group], NDArray[np.intp]]:
    """Build a model for each combination of what cannot be an array; drop points outside the condition."""
    # Every varied path is set to its first value, so that an optional one is there to be varied.
    first = {axis.path: axis.nodes[0] for axis in axes}
    fixed = _rebuilt(case, axes, settings, first, library)
    made: list[Group] = []
    kept: list[NDArray[np.intp]] = []
    for rows in _rows_by(index[fixed]) if fixed else [np.arange(index.shape[1])]:
        changes = {axes[number].path: axes[number].nodes[index[number, rows[0]]] for number in fixed}
        bound, form = _built(case, settings, {**first, **changes}, library)
        values = {
            axis.path: axis.numbers[index[number, rows]] for number, axis in enumerate(axes) if axis.numbers is not None
        }
        chosen = _where(asked, bound, values, len(rows))
        rows = rows[chosen]
        read = {path: each[chosen] for path, each in values.items() if path in form.parameters and path not in changes}
        made.append(Group(case, bound, form, read, rows))
        kept.append(rows)
    order = np.sort(np.concatenate(kept))
    placed = [
        Group(each.case, each.bound, each.form, each.values, offset + np.searchsorted(order, each.rows))
        for each in made
        if len(each.rows)
    ]
    return placed, order


def _rebuilt(case: str, axes: Sequence[_Axis], settings: Settings, first: Settings, library: Library) -> list[int]:
    """Choose the axes whose every value needs a model of its own: names, and numbers that shape the model."""
    _, form = _built(case, settings, first, library)
    fixed = []
    for number, axis in enumerate(axes):
        if axis.numbers is None or (axis.path not in form.parameters and len(axis.nodes) <= CHECK_ALL):
            fixed.append(number)
        elif axis.path not in form.parameters:
            # Too many to build a model for each, so none may shape it: the extremes must be possible, too.
            for index in to_check(axis.nodes):
                _built(case, settings, {**first, axis.path: axis.nodes[index]}, library)
    return fixed


def _built(case: str, settings: Settings, changes: Mapping[str, Node], library: Library) -> tuple[Bound, Form]:
    made = evaluator(case, {**settings, **changes}, library)
    return made.bound, made.form


def _rows_by(index: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Gather the points that agree in all the given axes, in the order of first appearance."""
    _, first, inverse = np.unique(index, axis=1, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        yield np.flatnonzero(inverse.reshape(-1) == number)


def _where(asked: Asked, bound: Bound, values: Mapping[str, Array], count: int) -> NDArray[np.bool_]:
    held = np.ones(count, dtype=bool)
    if asked.spec.where:
        try:
            for condition in read_condition(asked.spec.where, bound.parameters):
                held &= condition.holds(values)
        except FormulaError as error:
            raise asked.problem(str(error), "where") from None
    return held


def _column(axis: _Axis, index: NDArray[np.intp]) -> Sequence[float | str] | Array:
    if axis.numbers is not None:
        return axis.numbers[index]
    names = [_text(node) for node in axis.nodes]
    return [names[number] for number in index]


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else str(plain(node))
