"""Seeking: the values of a parameter, or the years along a trend, at which a condition starts or stops holding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.method.sign_changes import changes, margin
from slipstick.report.questions.seek import ConditionSearch, Crossing, SeekResult
from slipstick.results.study import Array
from slipstick.schema.build import described
from slipstick.schema.describe import entries
from slipstick.schema.inputs import REFERENCES, Inputs, is_solver_option, resolve
from slipstick.schema.kinds.study import YEAR, AxisSpec, SeekSpec, SweepSpec
from slipstick.schema.text.nodes import Entry, Node, Scalar, Table, at, canonical, split
from slipstick.study.cases import Place, StudyContext, SweepDefinition, axis_nodes, numbers_of
from slipstick.study.evaluator import Evaluator, evaluator, with_values
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.questions.trends import Condition, beyond, condition_of, trend_called, trended_case
from slipstick.study.sweep import checked_axis


@dataclass(frozen=True)
class _CaseSearch:
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


@dataclass(frozen=True)
class SeekQuestion(Question):
    """Conditions to look for, case by case."""

    searches: tuple[_CaseSearch, ...]

    def solve(self, answers: BaseAnswers) -> SeekResult:
        """Look along each range, and close in on every change."""
        return SeekResult(tuple(_searched(each, answers.jobs) for each in self.searches))


def read(asked: Mapping[str, SeekSpec], study: StudyContext) -> SeekQuestion:
    """Read what a study seeks, and build the models; nothing is solved but the cases themselves.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, or the condition is none
    """
    return SeekQuestion(
        tuple(
            (_along_a_trend if spec.of == YEAR else _of_a_parameter)(name, spec, case, study)
            for name, spec in asked.items()
            for case in spec.cases
        )
    )


def _along_a_trend(name: str, spec: SeekSpec, case: str, study: StudyContext) -> _CaseSearch:
    place: Place = ("seek", name)
    trended = trend_called(spec.trend, (*place, "trend"), study)
    assert spec.base_year is not None
    track = trended_case(case, trended, spec.base_year, (*place, "base_year"), study)
    numbers = numbers_of(axis_nodes(_axis(spec), _written(study, name), place))
    if numbers is None or not 1900 <= min(numbers) <= max(numbers) <= 2200:
        raise study.refusal((*place, "from"), "years are plain numbers between 1900 and 2200")
    places = _rising(np.array(numbers), study, place)
    condition = _condition(spec, place, case, track.case, study)
    outside = beyond(trended.trend, spec.base_year, places)
    return _CaseSearch(name, spec, track.case, condition, places, track.values, YEAR, "1", outside)


def _of_a_parameter(name: str, spec: SeekSpec, case: str, study: StudyContext) -> _CaseSearch:
    place: Place = ("seek", name)
    written, settings = _written(study, name), study.cases[case]
    if spec.of not in REFERENCES and not is_solver_option(spec.of):
        inputs = resolve(settings, study.library)
        there = at(inputs.tree, split(spec.of))
        if isinstance(there, Scalar) and isinstance(there.value, int) and spec.of not in described(inputs):
            why = f"{spec.of} is a whole number that {case} is built from; vary it in a sweep, which answers for each"
            raise study.refusal((*place, "of"), why)
        _check_ends(spec.of, place, inputs, study)
    axes = Table({spec.of: Entry(written.mark, written)}, written.mark)
    node = Table({"axes": Entry(written.mark, axes)}, written.mark)
    sweep = _RangeOfSearch(name, SweepSpec(axes={spec.of: _axis(spec)}, cases=[case]), node, place)
    axis = checked_axis(sweep, spec.of, resolve(settings, study.library), study.library)
    if axis.named:
        raise study.refusal((*place, "of"), f"{spec.of} is no number, so nothing can be sought along it")
    places = _rising(np.array(axis.values, dtype=float), study, place)
    first = axis_nodes(_axis(spec), written, place)[0]
    built = with_values(case, settings, {spec.of: first}, study.library)
    path = canonical(built.inputs.tree, spec.of)
    if path not in built.free:
        near = did_you_mean(spec.of, sorted(built.free))
        why = f"no answer of {case} is computed from {spec.of} as a number that can be anything{near}"
        raise study.refusal((*place, "of"), why)
    condition = _condition(spec, place, case, built, study)
    return _CaseSearch(name, spec, built, condition, places, lambda x: {path: x}, path, axis.unit)


def _check_ends(path: str, place: Place, inputs: Inputs, study: StudyContext) -> None:
    """Check each end in its place, like a written value, so that what is wrong is told where it stands."""
    problems: list[Problem] = []
    now = _dimension(inputs, path)
    for key in ("from", "to"):
        node = at(study.tree, [*place, key])
        assert node is not None
        try:
            there = _dimension(inputs.with_value(path, node, study.library), path)
        except SpecError as error:
            problems += error.problems
            continue
        if now and there and there != now:
            problems.append(study.problem((*place, key), f"{path} is a [{now}], and this is a [{there}]"))
    if problems:
        raise SpecError(problems)


def _dimension(inputs: Inputs, path: str) -> str:
    """Give the dimension of the quantity at a path, checked with everything else; nothing if there is none."""
    name = canonical(inputs.tree, path)
    found = (each.given.dimension for each in entries(inputs.checked()) if canonical(inputs.tree, each.path) == name)
    return str(next(found, ""))


class _RangeOfSearch(SweepDefinition):
    """A range that stands plainly in a question, where a sweep has axes."""

    __slots__ = ()

    def place(self, *inside: str | int) -> Place:
        """Give the path in the study: the ends stand in the question itself."""
        return (*self.path, *inside[2:])


def _axis(spec: SeekSpec) -> AxisSpec:
    dense = {"step": spec.step} if spec.step is not None else {"count": spec.points, "spacing": spec.spacing}
    return AxisSpec.model_validate({"from": spec.first, "to": spec.to, **dense})


def _written(study: StudyContext, name: str) -> Node:
    node = at(study.tree, ["seek", name])
    assert node is not None
    return node


def _rising(places: Array, study: StudyContext, place: Place) -> Array:
    if not (len(places) > 1 and np.all(np.diff(places) > 0)):
        raise study.refusal((*place, "to"), "a search goes upwards: to must be more than from")
    return places


def _condition(spec: SeekSpec, place: Place, case: str, varied: Evaluator, study: StudyContext) -> Condition:
    own = evaluator(case, study.cases[case], study.library)
    return condition_of(spec.where, (*place, "where"), varied, own, study)


def _searched(asked: _CaseSearch, jobs: int) -> ConditionSearch:
    """Look along the places, and close in on every change that is seen between neighbours."""
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
    return ConditionSearch(
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
