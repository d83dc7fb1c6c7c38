"""Plans of sweeps: which points there are, and which of them can be solved together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import FormulaError, Problem, SpecError
from slipstick.results import Axis
from slipstick.schema.bind import Bound, bind
from slipstick.schema.describe import entries
from slipstick.schema.formula import read_condition
from slipstick.schema.load import Library
from slipstick.schema.nodes import Node, Scalar, at, canonical, join, value_mark
from slipstick.schema.quantity import Given
from slipstick.schema.scene import REFERENCES, Scene, Settings, stage
from slipstick.schema.study import SweepSpec
from slipstick.solve.forms import Form, form_of
from slipstick.study.axes import axis_nodes

__all__ = ["Group", "Plan", "planned"]

MOST_POINTS = 20_000_000
CHECK_ALL = 500
"""Up to so many values of an axis are checked one by one; of more, the ends and the first odd one."""

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


def planned(spec: SweepSpec, node: Node, cases: Mapping[str, Settings], library: Library) -> Plan:
    """Lay out a sweep: check every value, build every model that is needed.

    Parameters
    ----------
    spec, node : the sweep, checked, and where it is written
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
    for case in spec.cases:
        if case not in cases:
            raise _problem(node, "cases", f"there is no case {case!r}; known: {', '.join(cases)}")
        axes = _axes(spec, node, cases[case], library)
        index = _combined(spec, axes, node)
        made, kept = _groups(case, spec, node, axes, index, cases[case], library, len(names))
        groups += made
        indices.append(index[:, kept])
        names += [case] * len(kept)
    index = np.concatenate(indices, axis=1)
    points = {axis.path: _column(axis, index[number]) for number, axis in enumerate(axes)}
    return Plan(tuple(axis.result() for axis in axes), points, tuple(names), tuple(groups), spec.combine == "zip")


def _axes(spec: SweepSpec, node: Node, settings: Settings, library: Library) -> list[_Axis]:
    base = stage(settings, library)
    axes = []
    for path, each in spec.axes.items():
        written = at(node, ["axes", path])
        assert written is not None
        nodes = axis_nodes(each, written)
        if path in REFERENCES:
            axes.append(_Axis(path, nodes, None, ""))
        else:
            axes.append(_checked_axis(canonical(base.tree, path), nodes, base, library))
    return axes


def _checked_axis(path: str, nodes: Sequence[Node], base: Scene, library: Library) -> _Axis:
    """Check values in their place, like written ones, and read them as numbers if they are."""
    sample = _sample(nodes)
    given = {index: _given(path, nodes[index], base, library) for index in sample}
    if any(each is None for each in given.values()):
        return _Axis(path, nodes, None, "")
    unit = str(next(each.dimension for each in given.values() if each is not None))
    if len(sample) == len(nodes):
        return _Axis(path, nodes, np.array([each.value for each in given.values() if each is not None]), unit)
    # The ends hold, so what lies between them does; long ranges are written in base units by `axes`.
    return _Axis(path, nodes, np.array([_number(node) for node in nodes]), unit)


def _sample(nodes: Sequence[Node]) -> list[int]:
    """Choose the values to check: all of a few, the ends and the first that is not whole of many."""
    if len(nodes) <= CHECK_ALL:
        return list(range(len(nodes)))
    numbers = [_number(node) for node in nodes]
    odd = next((index for index, number in enumerate(numbers) if number != int(number)), 0)
    extremes = {0, len(nodes) - 1, int(np.argmin(numbers)), int(np.argmax(numbers)), odd}
    return sorted(extremes)


def _number(node: Node) -> float:
    from slipstick.units import parse

    assert isinstance(node, Scalar)
    return parse(node.text)[0]


def _given(path: str, node: Node, base: Scene, library: Library) -> Given | None:
    """Read a value where it would stand; None for what is not a number, such as a name."""
    spec = base.with_value(path, node, library).checked()
    return next((each.given for each in entries(spec) if canonical(base.tree, each.path) == path), None)


def _combined(spec: SweepSpec, axes: Sequence[_Axis], node: Node) -> NDArray[np.intp]:
    """Number the value of each axis at each point: all combinations, or value by value."""
    lengths = [len(axis.nodes) for axis in axes]
    if spec.combine == "zip":
        if len(set(lengths)) > 1:
            counts = ", ".join(f"{axis.path} has {length}" for axis, length in zip(axes, lengths, strict=True))
            raise _problem(node, "axes", f"zipped axes need equally many values: {counts}")
        return np.tile(np.arange(lengths[0]), (len(axes), 1))
    if np.prod(np.array(lengths, dtype=float)) > MOST_POINTS:
        raise _problem(
            node, "axes", f"{np.prod(np.array(lengths, dtype=float)):,.0f} points; at most {MOST_POINTS:,} fit"
        )
    return np.indices(lengths).reshape(len(axes), -1)


def _groups(
    case: str,
    spec: SweepSpec,
    node: Node,
    axes: Sequence[_Axis],
    index: NDArray[np.intp],
    settings: Settings,
    library: Library,
    offset: int,
) -> tuple[list[Group], NDArray[np.intp]]:
    """Build a model for each combination of what cannot be an array; drop points outside the condition."""
    # Every varied path is set to its first value, so that an optional one is there to be varied.
    first = {axis.path: axis.nodes[0] for axis in axes}
    fixed = _rebuilt(axes, settings, first, library)
    made: list[Group] = []
    kept: list[NDArray[np.intp]] = []
    for rows in _rows_by(index[fixed]) if fixed else [np.arange(index.shape[1])]:
        changes = {axes[number].path: axes[number].nodes[index[number, rows[0]]] for number in fixed}
        bound, form = _built(settings, {**first, **changes}, library)
        values = {
            axis.path: axis.numbers[index[number, rows]] for number, axis in enumerate(axes) if axis.numbers is not None
        }
        chosen = _where(spec, node, bound, values, len(rows))
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


def _rebuilt(axes: Sequence[_Axis], settings: Settings, first: Settings, library: Library) -> list[int]:
    """Choose the axes whose every value needs a model of its own: names, and numbers that shape the model."""
    _, form = _built(settings, first, library)
    return [
        number
        for number, axis in enumerate(axes)
        if axis.numbers is None or (axis.path not in form.parameters and len(axis.nodes) <= CHECK_ALL)
    ]


def _built(settings: Settings, changes: Mapping[str, Node], library: Library) -> tuple[Bound, Form]:
    bound = bind(stage({**settings, **changes}, library))
    return bound, form_of(bound.model, bound.parameters)


def _rows_by(index: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Gather the points that agree in all the given axes, in the order of first appearance."""
    _, first, inverse = np.unique(index, axis=1, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        yield np.flatnonzero(inverse.reshape(-1) == number)


def _where(spec: SweepSpec, node: Node, bound: Bound, values: Mapping[str, Array], count: int) -> NDArray[np.bool_]:
    held = np.ones(count, dtype=bool)
    if spec.where:
        try:
            for condition in read_condition(spec.where, bound.parameters):
                held &= condition.holds(values)
        except FormulaError as error:
            raise _problem(node, "where", str(error)) from None
    return held


def _column(axis: _Axis, index: NDArray[np.intp]) -> Sequence[float | str] | Array:
    if axis.numbers is not None:
        return axis.numbers[index]
    names = [_text(node) for node in axis.nodes]
    return [names[number] for number in index]


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else str(node)


def _problem(node: Node, path: str, message: str) -> SpecError:
    mark = value_mark(node, [path])
    return SpecError([Problem(mark.file, mark.line, mark.column, join([path]), message)])
