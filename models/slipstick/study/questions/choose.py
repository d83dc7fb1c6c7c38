"""Choices: what each change does to the overhead, alone and in pairs, under each technology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from slipstick.errors import SpecError, did_you_mean
from slipstick.law.account import OVERHEAD_REDUCTION
from slipstick.results.outlook import Choice, Effect, Pair
from slipstick.schema.build import described
from slipstick.schema.describe import Entry, entries
from slipstick.schema.inputs import TECHNOLOGY, Settings, resolve
from slipstick.schema.kinds.study import RankSpec, StudySpec
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Mark, Node, Scalar, Table, at, canonical, value_mark
from slipstick.schema.validate import problem
from slipstick.study.derived import OVERHEAD
from slipstick.study.evaluator import Evaluator, evaluator

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What there is to choose from in one case under one technology, everything read and built.

    Parameters
    ----------
    case, technology : where; no technology is the case as it is
    before : the case without any change
    singles, pairs : with each change, and, where there is a budget, with each two of them
    spec : what is asked
    """

    case: str
    technology: str
    before: Point
    singles: Mapping[str, Point]
    pairs: Mapping[tuple[str, str], Point]
    spec: RankSpec


@dataclass(frozen=True, slots=True)
class Point:
    """A case, and what of its parameters is to be another than its own, in base units."""

    case: Evaluator
    values: Mapping[str, float]

    def why(self) -> str:
        """Say why there is no answer."""
        return self.case.why({path: np.array([value]) for path, value in self.values.items()}, 0)


def under(settings: Settings, spec: RankSpec, tree: Node) -> dict[str, Settings]:
    """Give the settings of a case as it is, and under each technology that a ranking names."""
    found: dict[str, Settings] = {"": settings}
    for index, name in enumerate(spec.under):
        mark = value_mark(tree, ["rank", "under", index])
        found[name] = {**settings, TECHNOLOGY: Scalar(name, name, mark, quoted=True)}
    return found


def choices(spec: StudySpec, tree: Table, cases: Mapping[str, Settings], library: Library) -> Iterator[Decision]:
    """Read the changes that a ranking names, and build every model; nothing is solved.

    A model is built once for all changes of numbers that it is computed from, and once more for each other change.

    Raises
    ------
    SpecError : a change names what is not there, or sets what is not allowed
    """
    rank = spec.rank
    if rank is None or not rank.changes:
        return
    for case in rank.cases:
        for technology, settings in under(cases[case], rank, tree).items():
            yield _Reader(case, settings, rank, tree, library).decision(technology)


class _Reader:
    """Reads the changes of one case under one technology."""

    def __init__(self, case: str, settings: Settings, rank: RankSpec, tree: Table, library: Library) -> None:
        self.case, self.rank, self.tree, self.library = case, rank, tree, library
        now_known = described(resolve(settings, library))
        paths = {path for each in rank.changes.values() for path in (*each.values, *each.times)}
        # What is set to what it is anyway is there to be varied.
        neutral = {
            path: _node(*now, Mark("rank", 1, 1))
            for path in sorted(paths)
            if (now := _now(now_known, path)) is not None
        }
        self.settings = {**neutral, **settings}
        self.before = evaluator(case, self.settings, library)

    def decision(self, technology: str) -> Decision:
        changed = {name: self._changed(name, {}) for name in self.rank.changes}
        pairs = {}
        for one, two in combinations(self.rank.changes, 2) if self.rank.budget is not None else ():
            # The second is laid over the first, so that factors on one quantity multiply.
            pairs[one, two] = self._point({**changed[one], **self._changed(two, changed[one])})
        singles = {name: self._point(each) for name, each in changed.items()}
        return Decision(self.case, technology, Point(self.before, {}), singles, pairs, self.rank)

    def _changed(self, name: str, laid: Settings) -> dict[str, Node]:
        """Give what a change sets, factors multiplied out, on top of what is laid already."""
        spec, place = self.rank.changes[name], ("rank", "changes", name)
        found: dict[str, Node] = {}
        for path in spec.values:
            node = at(self.tree, [*place, "set", path])
            assert node is not None
            found[path] = node
        entries = described(resolve({**self.settings, **laid}, self.library)) if laid else self.before.built.entries
        for path, factor in spec.times.items():
            where: Place = (*place, "times", path)
            now = _now(entries, canonical(self.before.inputs.tree, path))
            if now is None:
                near = did_you_mean(path, list(entries))
                why = f"{self.case} has no quantity {path!r} to multiply{near}"
                raise SpecError([problem(self.tree, where, why, key=True)])
            found[path] = _node(now[0] * factor.value, now[1], value_mark(self.tree, where))
        return found

    def _point(self, nodes: Mapping[str, Node]) -> Point:
        """Check what is set in its place, and set it without building anew where it is a number that can be anything."""
        inputs, known = self.before.inputs, self.before.free
        paths = {path: canonical(inputs.tree, path) for path in nodes}
        if not all(path in known for path in paths.values()):
            return Point(evaluator(self.case, {**self.settings, **nodes}, self.library), {})
        for path, node in nodes.items():
            inputs = inputs.with_value(path, node, self.library)
        given = {canonical(inputs.tree, each.path): each.given for each in entries(inputs.checked())}
        wrong = {path: name for path, name in paths.items() if name not in given}
        if wrong:  # a formula, perhaps
            return Point(evaluator(self.case, {**self.settings, **nodes}, self.library), {})
        return Point(self.before, {name: given[name].value for name in paths.values()})


def _now(known: Mapping[str, Entry], path: str) -> tuple[float, str] | None:
    """Give value and unit of a quantity; a class of cost that nobody speaks of has a factor of 1."""
    if path in known:
        return known[path].given.value, str(known[path].given.dimension)
    return (1.0, "1") if path.startswith(f"{TECHNOLOGY}.") else None


def _node(value: float, unit: str, mark: Mark) -> Scalar:
    text = repr(value) if unit == "1" else f"{value!r} {unit}"
    return Scalar(value if unit == "1" else text, text, mark, quoted=False)


def chosen(asked: Decision) -> Choice:
    """Answer with each change, and with each pair of them, the best pair first.

    The gain of a pair is 1 - after / before of the overhead, as is that of one change; what the two gain apart is the sum.

    Parameters
    ----------
    asked : as `choices` gives it
    """
    spec = asked.spec
    points = {"": asked.before, **asked.singles, **{" + ".join(names): each for names, each in asked.pairs.items()}}
    times = _times(points)
    time, overhead = times[""]
    effects = tuple(
        _effect(name, _cost(spec, name), each, times[name], (time, overhead)) for name, each in asked.singles.items()
    )
    alone = {each.name: each.reduction or 0.0 for each in effects}
    pairs = []
    for names, each in asked.pairs.items():
        costs = [_cost(spec, name) for name in names]
        cost = sum(each for each in costs if each is not None) if None not in costs else None
        name = " + ".join(names)
        effect = _effect(name, cost, each, times[name], (time, overhead))
        affordable = spec.budget is None or (cost is not None and cost <= spec.budget.value * (1 + 1e-12))
        pairs.append(Pair(names, effect, sum(alone[name] for name in names), affordable))
    pairs.sort(key=lambda pair: (not pair.affordable, -(pair.effect.reduction or 0.0)))
    return Choice(
        asked.case, asked.technology, time, overhead, effects, tuple(pairs), spec.budget.value if spec.budget else None
    )


def _cost(spec: RankSpec, name: str) -> float | None:
    cost = spec.changes[name].cost
    return None if cost is None else cost.value


def _times(points: Mapping[str, Point]) -> dict[str, tuple[float, float]]:
    """Give time and overhead at each point, all points of one model at once."""
    found: dict[str, tuple[float, float]] = {}
    cases = {id(each.case): each.case for each in points.values()}
    for key, case in cases.items():
        here = {name: each.values for name, each in points.items() if id(each.case) == key}
        paths = sorted({path for each in here.values() for path in each})
        own = {path: case.built.parameters[path].value or 0.0 for path in paths}
        values = {path: np.array([each.get(path, own[path]) for each in here.values()]) for path in paths}
        columns = case.columns(values)
        first = columns[case.form.quantity]
        rest = columns.get(OVERHEAD, first)
        found |= {
            name: (float(first[index % len(first)]), float(rest[index % len(rest)])) for index, name in enumerate(here)
        }
    return found


def _effect(
    name: str, cost: float | None, point: Point, after: tuple[float, float], before: tuple[float, float]
) -> Effect:
    (time, overhead), (time_before, overhead_before) = after, before
    if not np.isfinite(time):
        return Effect(name, cost, time, overhead, float("nan"), None, point.why())
    saved = 1.0 - time / time_before if time_before else float("nan")
    reduction = OVERHEAD_REDUCTION.equation(overhead_before, overhead) if overhead_before > 0 else None
    return Effect(name, cost, time, overhead, saved, None if reduction is None else float(reduction))
