"""Seeking: the values of a parameter, or the years along a trend, at which a condition starts or stops holding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.method.crossings import changes, margin
from slipstick.results.outlook import Crossing, Sought
from slipstick.results.study import Array
from slipstick.schema.describe import entries
from slipstick.schema.inputs import REFERENCES, Inputs, Settings, resolve
from slipstick.schema.kinds.study import YEAR, AxisSpec, SeekSpec, StudySpec, SweepSpec
from slipstick.schema.library import Library
from slipstick.schema.solver_options import is_solver_option
from slipstick.schema.text.nodes import Entry, Node, Table, at, canonical
from slipstick.schema.validate import problem
from slipstick.study.axes import axis_nodes, numbers_of
from slipstick.study.cases import BASE, Asked
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions.common import Condition, along, beyond, condition_of, trend_called
from slipstick.study.sweep import planned

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """What is sought for one case, everything read and built.

    Parameters
    ----------
    name, spec : the question
    case : built so that what is varied is there
    condition : on its answers
    places : where to look, rising
    values : what to set at given places, by path
    of, unit : what is varied, as results call it, and its base unit
    beyond : rates used outside their periods
    """

    name: str
    spec: SeekSpec
    case: Evaluator
    condition: Condition
    places: Array
    values: Callable[[Array], dict[str, Array]]
    of: str
    unit: str
    beyond: tuple[str, ...] = ()


def searches(spec: StudySpec, tree: Table, cases: Mapping[str, Settings], library: Library) -> Iterator[Search]:
    """Read what a study seeks, and build the models; nothing is solved but the cases themselves.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, or the condition is none
    """
    if not spec.seek:
        return
    base = evaluator(BASE, cases[BASE], library) if BASE in cases else None
    for name, asked in spec.seek.items():
        for case in asked.cases:
            make = _along_a_trend if asked.of == YEAR else _of_a_parameter
            yield make(name, asked, case, tree, cases[case], library, base)


def _along_a_trend(
    name: str, spec: SeekSpec, case: str, tree: Table, settings: Settings, library: Library, base: Evaluator | None
) -> Search:
    place: Place = ("seek", name)
    trended = trend_called(spec.trend, tree, (*place, "trend"), library)
    assert spec.base_year is not None
    track = along(case, settings, trended, spec.base_year, library, tree, (*place, "base_year"))
    numbers = numbers_of(axis_nodes(_axis(spec), _written(tree, name), place))
    if numbers is None or not 1900 <= min(numbers) <= max(numbers) <= 2200:
        raise SpecError([problem(tree, (*place, "from"), "years are plain numbers between 1900 and 2200")])
    places = _rising(np.array(numbers), tree, place)
    condition = _condition(spec, tree, place, track.case, evaluator(case, settings, library), base)
    words = beyond(trended.trend, spec.base_year, places)
    return Search(name, spec, track.case, condition, places, track.values, YEAR, "1", words)


def _of_a_parameter(
    name: str, spec: SeekSpec, case: str, tree: Table, settings: Settings, library: Library, base: Evaluator | None
) -> Search:
    place: Place = ("seek", name)
    written = _written(tree, name)
    if spec.of not in REFERENCES and not is_solver_option(spec.of):
        _check_ends(spec.of, tree, place, resolve(settings, library), library)
    axes = Table({spec.of: Entry(written.mark, written)}, written.mark)
    node = Table({"axes": Entry(written.mark, axes)}, written.mark)
    asked = _Asked(name, SweepSpec(axes={spec.of: _axis(spec)}, cases=[case]), node, place)
    plan = planned(asked, {case: settings}, library)
    axis = plan.axes[0]
    if axis.named:
        raise SpecError([problem(tree, (*place, "of"), f"{spec.of} is no number, so nothing can be sought along it")])
    places = _rising(np.array(axis.values, dtype=float), tree, place)
    first = axis_nodes(_axis(spec), written, place)[0]
    built = evaluator(case, {**settings, spec.of: first}, library)
    path = canonical(built.inputs.tree, spec.of)
    if path not in built.form.parameters:
        near = did_you_mean(spec.of, list(built.form.parameters))
        why = f"no answer of {case} is computed from {spec.of} as a number that can be anything{near}"
        raise SpecError([problem(tree, (*place, "of"), why)])
    condition = _condition(spec, tree, place, built, evaluator(case, settings, library), base)
    return Search(name, spec, built, condition, places, lambda x: {path: x}, path, axis.unit)


def _check_ends(path: str, tree: Table, place: Place, inputs: Inputs, library: Library) -> None:
    """Check each end in its place, like a written value, so that what is wrong is told where it stands."""
    problems: list[Problem] = []
    now = _dimension(inputs, path)
    for key in ("from", "to"):
        node = at(tree, [*place, key])
        assert node is not None
        try:
            there = _dimension(inputs.with_value(path, node, library), path)
        except SpecError as error:
            problems += error.problems
            continue
        if now and there and there != now:
            problems.append(problem(tree, (*place, key), f"{path} is a [{now}], and this is a [{there}]"))
    if problems:
        raise SpecError(problems)


def _dimension(inputs: Inputs, path: str) -> str:
    """Give the dimension of the quantity at a path, checked with everything else; nothing if there is none."""
    name = canonical(inputs.tree, path)
    found = (each.given.dimension for each in entries(inputs.checked()) if canonical(inputs.tree, each.path) == name)
    return str(next(found, ""))


class _Asked(Asked):
    """A range that stands plainly in a question, where a sweep has axes."""

    __slots__ = ()

    def place(self, *inside: str | int) -> Place:
        """Give the path in the study: the ends stand in the question itself."""
        return (*self.path, *inside[2:])


def _axis(spec: SeekSpec) -> AxisSpec:
    dense = {"step": spec.step} if spec.step is not None else {"count": spec.points, "spacing": spec.spacing}
    return AxisSpec.model_validate({"from": spec.first, "to": spec.to, **dense})


def _written(tree: Table, name: str) -> Node:
    node = at(tree, ["seek", name])
    assert node is not None
    return node


def _rising(places: Array, tree: Table, place: Place) -> Array:
    if not (len(places) > 1 and np.all(np.diff(places) > 0)):
        raise SpecError([problem(tree, (*place, "to"), "a search goes upwards: to must be more than from")])
    return places


def _condition(
    spec: SeekSpec, tree: Table, place: Place, case: Evaluator, own: Evaluator, base: Evaluator | None
) -> Condition:
    others = {"own": own, **({BASE: base} if base else {})}
    return condition_of(spec.where, tree, (*place, "where"), case, others)


def sought(asked: Search, *, jobs: int = 1) -> Sought:
    """Look along the places, and close in on every change that is seen between neighbours.

    Parameters
    ----------
    asked : as `searches` gives it
    jobs : blocks of points solved side by side; the results do not depend on it
    """
    condition, case, places = asked.condition, asked.case, asked.places

    def at_place(x: float) -> float:
        return float(condition.look(case.columns(asked.values(np.array([x]))))[0][0])

    found = case.columns(asked.values(places), jobs=jobs)
    margins, holds = condition.look(found)
    single = asked.spec.step is not None or case.form.block == 1
    crossings = tuple(
        Crossing(each.value, each.starts, each.before if single else None, each.jump)
        for each in changes(margins, holds, places, None if single else at_place)
    )
    known = np.isfinite(margins)
    nearest = int(np.nanargmin(np.abs(np.where(known, margins, np.nan)))) if known.any() else None
    return Sought(
        name=asked.name,
        case=case.case,
        of=asked.of,
        unit=asked.unit,
        trend=asked.spec.trend,
        condition=condition.text,
        first=float(places[0]),
        last=float(places[-1]),
        holds_first=bool(holds[0]) if known[0] else None,
        holds_last=bool(holds[-1]) if known[-1] else None,
        places=len(places),
        crossings=crossings,
        sides=tuple(_sides(condition, found, [0, len(places) - 1, nearest or 0])),
        side_unit=str(condition.parts[0].left.dimension),
        nearest=None if nearest is None else float(places[nearest]),
        margin=None if nearest is None else float(abs(margins[nearest])),
        beyond=asked.beyond,
    )


def _sides(condition: Condition, found: Mapping[str, Array], indices: list[int]) -> Iterator[tuple[float, float]]:
    """Give the sides of the part with the least margin, place by place."""
    sides = condition.sides(found)
    for index in indices:
        worst = min(
            range(len(sides)),
            key=lambda number: float(
                margin(
                    condition.parts[number], sides[number][0][index : index + 1], sides[number][1][index : index + 1]
                )[0]
            ),
        )
        left, right = sides[worst]
        yield float(left[index]), float(right[index])
