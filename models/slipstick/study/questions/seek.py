"""Seeking: the values of a parameter, or the years along a trend, at which a condition starts or stops holding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.answer import Value
from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.method.sign_changes import decided
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
from slipstick.vocabulary import SIMULATION


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
    built : the case at a place, for what shapes the model; None where numbers are set
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
    built: Callable[[float], Evaluator] | None = None

    @property
    def single(self) -> bool:
        """Say whether there is nothing between the places."""
        return self.spec.step is not None

    def columns(self, places: Array, longer: float = 1.0, jobs: int = 1) -> dict[str, Array]:
        """Answer at places, by runs so many times as long as the case's own if it is simulated."""
        if self.built is None:
            return self.case.longer(longer).columns(self.values(places), jobs=jobs)
        found = [self.built(float(place)).longer(longer).own for place in places]
        names = dict.fromkeys(name for each in found for name in each)
        return {name: np.concatenate([each.get(name, np.full(1, np.nan)) for each in found]) for name in names}


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
    numbers = numbers_of(axis_nodes(_axis(spec, _places(track.case)), _written(study, name), place))
    if numbers is None or not 1900 <= min(numbers) <= max(numbers) <= 2200:
        raise study.refusal((*place, "from"), "years are plain numbers between 1900 and 2200")
    places = _rising(np.array(numbers), study, place)
    condition = _condition(spec, place, case, track.case, study)
    outside = beyond(trended.trend, spec.base_year, places)
    return _CaseSearch(name, spec, track.case, condition, places, track.values, YEAR, "1", outside)


def _of_a_parameter(name: str, spec: SeekSpec, case: str, study: StudyContext) -> _CaseSearch:
    place: Place = ("seek", name)
    written, settings = _written(study, name), study.cases[case]
    range_of = _axis(spec, _places(evaluator(case, settings, study.library)))
    if spec.of not in REFERENCES and not is_solver_option(spec.of):
        inputs = resolve(settings, study.library)
        there = at(inputs.tree, split(spec.of))
        whole = isinstance(there, Scalar) and isinstance(there.value, int) and spec.of not in described(inputs)
        if whole and spec.step is None:
            why = f"{spec.of} is a whole number that {case} is built from; vary it in a sweep, which answers for each"
            raise study.refusal((*place, "of"), why)
        _check_ends(spec.of, place, inputs, study)
    axes = Table({spec.of: Entry(written.mark, written)}, written.mark)
    node = Table({"axes": Entry(written.mark, axes)}, written.mark)
    sweep = _RangeOfSearch(name, SweepSpec(axes={spec.of: range_of}, cases=[case]), node, place)
    axis = checked_axis(sweep, spec.of, resolve(settings, study.library), study.library)
    if axis.named:
        raise study.refusal((*place, "of"), f"{spec.of} is no number, so nothing can be sought along it")
    values, nodes = np.array(axis.values, dtype=float), axis_nodes(range_of, written, place)
    if values[0] > values[-1] and (numbers_of(nodes) or [0.0])[0] < (numbers_of(nodes) or [0.0])[-1]:
        values, nodes = values[::-1], nodes[::-1]  # rising rates are falling times of a byte
    places = _rising(values, study, place)
    built = with_values(case, settings, {spec.of: nodes[0]}, study.library)
    path = canonical(built.inputs.tree, spec.of)
    shapes = path not in built.free
    if shapes and spec.step is None:
        near = did_you_mean(spec.of, sorted(built.free))
        why = f"no answer of {case} is computed from {spec.of} as a number that can be anything{near}"
        raise study.refusal((*place, "of"), f"{why}; to look at single values of it, give a step")
    condition = _condition(spec, place, case, built, study)
    at_place = dict(zip(places.tolist(), nodes, strict=True))

    def built_at(x: float) -> Evaluator:
        return evaluator(case, {**settings, spec.of: at_place[x]}, study.library)

    return _CaseSearch(
        name, spec, built, condition, places, lambda x: {path: x}, path, axis.unit, built=built_at if shapes else None
    )


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


def _axis(spec: SeekSpec, count: int) -> AxisSpec:
    dense = {"step": spec.step} if spec.step is not None else {"count": spec.points or count, "spacing": spec.spacing}
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


MANY_PLACES, FEW_PLACES = 129, 17
"""Places to look at first, of numbers that are computed, and of those that each take a simulation."""


def _places(case: Evaluator) -> int:
    return FEW_PLACES if case.built.options.method == SIMULATION else MANY_PLACES


LONGEST = 64.0
"""So many times as long as a first run is the longest run that is to decide at a place."""

EFFORT = 16.0
"""So many times the effort of the first look is what all longer runs may take together."""


def _searched(asked: _CaseSearch, jobs: int) -> ConditionSearch:
    """Look along the places, and close in on every change that is seen between neighbours."""
    condition, case, places = asked.condition, asked.case, asked.places
    found = asked.columns(places, jobs=jobs)
    longest = 1.0
    if case.form.estimated:
        estimates = _Estimates(asked, places, found)
        estimates.decide()
        estimates.close_in()
        places, longest, found = estimates.places, float(estimates.longer.max()), estimates.found
    margins, holds = condition.look(found)
    seen, undecided = condition.changes(found, places, None if asked.single else asked.columns)
    known = np.isfinite(margins[0])
    nearest = int(np.nanargmin(np.abs(np.where(known, margins[0], np.nan)))) if known.any() else None
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
        crossings=tuple(
            Crossing(each.value, each.starts, each.before if asked.single else None, each.jump, each.low, each.high)
            for each in seen
        ),
        sides=tuple(_sides(condition, found, [0, len(places) - 1, nearest or 0])),
        nearest=None if nearest is None else float(places[nearest]),
        margin=None if nearest is None else float(abs(margins[0, nearest])),
        beyond=asked.beyond,
        undecided=tuple(undecided),
        longer=longest,
    )


class _Estimates:
    """A condition on simulated answers at places: longer runs and further places, as far as the effort allows.

    The streams of random numbers are the same at all places, so places differ by what is varied. A run that is made longer
    until it decides errs somewhat more often than the level of its interval says; few lengths are tried.
    """

    def __init__(self, asked: _CaseSearch, places: Array, found: Mapping[str, Array]) -> None:
        self.asked, self.places, self.found = asked, places, dict(found)
        self.longer = np.ones(len(places))
        self.effort = EFFORT * len(places)

    def decide(self) -> None:
        """Run longer where it is undecided and a longer run should decide, the least effort first."""
        while True:
            needed = self._needed()
            index = int(np.argmin(needed))
            if needed[index] > min(LONGEST, self.effort):
                return
            self._run(index, float(self.places[index]), float(needed[index]), new=False)

    def _needed(self) -> Array:
        """Give how much longer each undecided place must run: intervals shrink by the square root; infinite if decided."""
        margins, holds = self.asked.condition.look(self.found)
        middle, low, high = margins
        undecided = (decided(margins, holds) == 0) & np.isfinite(middle)
        with np.errstate(all="ignore"):
            wide = np.where(middle > 0, middle - low, high - middle) / np.abs(middle)
        # Where there is no interval at all, a run four times as long may have one.
        factor = np.where(high - low > 2.0, 4.0, 2.0 ** np.ceil(np.log2(np.maximum(1.2 * wide**2, 2.0))))
        return np.where(undecided, self.longer * factor, np.inf)

    def close_in(self) -> None:
        """Halve the distance of neighbours between which an end of the interval crosses, to the precision of the runs."""
        precision = self.asked.case.built.options.simulation.precision
        while not self.asked.single:
            margins, _ = self.asked.condition.look(self.found)
            known = np.isfinite(margins[0])
            crossed = np.any(np.diff(np.sign(margins[1:]), axis=1) != 0, axis=0) & known[1:] & known[:-1]
            gaps = np.where(crossed, np.diff(self.places) / np.maximum(np.abs(self.places[1:]), 1e-300), 0.0)
            index = int(np.argmax(gaps))
            longer = float(self.longer[index : index + 2].min())
            if gaps[index] <= precision or longer > self.effort:
                return
            self._run(index + 1, float(self.places[index : index + 2].mean()), longer, new=True)

    def _run(self, index: int, place: float, longer: float, *, new: bool) -> None:
        """Simulate at a place, and put the answers in their row."""
        self.effort -= longer
        found = self.asked.columns(np.array([place]), longer)
        put = np.insert if new else _replaced
        self.places, self.longer = put(self.places, index, place), put(self.longer, index, longer)
        self.found = {
            name: put(each, index, found.get(name, np.full(1, np.nan))[0]) for name, each in self.found.items()
        }


def _replaced(column: Array, index: int, value: float) -> Array:
    column = np.array(column)
    column[index] = value
    return column


def _sides(condition: Condition, found: Mapping[str, Array], indices: list[int]) -> Iterator[tuple[Value, Value]]:
    """Give the sides of the part with the least margin, place by place."""
    sides = condition.sides(found)
    for index in indices:
        worst = min(range(len(sides)), key=lambda number: float(sides[number].margin[0, index]))
        unit = str(condition.parts[worst].left.dimension)
        left, right = (
            Value(float(side[0, index]), unit, *map(float, side[1:, index]))
            for side in (sides[worst].left, sides[worst].right)
        )
        yield left, right
