"""What would help most: quantities ranked by the time they save, and named changes by the overhead they take away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from slipstick.answer import Answer, Value
from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.expression.dimension import COUNT
from slipstick.method.names import OVERHEAD
from slipstick.report.formatting import NO_ENDS, finite
from slipstick.report.questions.rank import (
    EFFECT_VALUES,
    ChangeEffect,
    ChangePair,
    ChangeRanking,
    RankedQuantity,
    Ranking,
    RankResult,
    effect_name,
)
from slipstick.results.study import Array
from slipstick.schema.build import build, described
from slipstick.schema.describe import DescribedValue, entries
from slipstick.schema.inputs import TECHNOLOGY, Settings, resolve
from slipstick.schema.kinds.study import ChangesSpec, RankSpec
from slipstick.schema.text.nodes import Mark, Node, Scalar, at, canonical, value_mark
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import ALL_SHARES, Evaluator, evaluator, reduction
from slipstick.study.questions import BaseAnswers, Question, ValueNames


@dataclass(frozen=True)
class RankQuestion(Question):
    """Cases to rank quantities and changes for, each as it is and under each technology that is named."""

    rankings: tuple[_CaseRanking, ...]
    changes: tuple[_CaseChanges, ...]

    @property
    def shares_of(self) -> list[str]:
        """The cases to rank quantities for: elasticities are read off their gradients."""
        return [each.case.case for each in self.rankings if each.of_the_case]

    @property
    def answer_names(self) -> dict[str, ValueNames]:
        """Names of the answers with the effect of each single change."""
        names = [effect_name(each.case, name, each.technology) for each in self.changes for name in each.singles]
        return dict.fromkeys(names, EFFECT_VALUES)

    def solve(self, answers: BaseAnswers) -> RankResult:
        """Rank the quantities, then the changes, case by case."""
        rankings = tuple(each.solve(answers) for each in self.rankings)
        return RankResult(rankings, tuple(each.solve() for each in self.changes))


def read(asked: RankSpec, study: StudyContext) -> RankQuestion:
    """Read what a study ranks, and build every model.

    Raises
    ------
    SpecError : a case has no such quantity, or a change sets what is not allowed
    """
    technologies = ["", *asked.under] if asked.changes else []
    problems = [
        study.problem(place, "this draws changes of rank, and there are none under that technology")
        for place, each in study.pictures(ChangesSpec)
        if each.under not in technologies
    ]
    if problems:
        raise SpecError(problems)
    rankings: list[_CaseRanking] = []
    changes: list[_CaseChanges] = []
    for case in asked.cases:
        for technology, settings in _under(study.cases[case], asked, study.tree).items():
            if asked.of or not asked.changes:
                rankings.append(
                    _case_ranking(evaluator(case, settings, study.library).smoothed, technology, asked, study)
                )
            if asked.changes:
                # A model is built once for all changes of numbers that it is computed from, and once more for each other.
                changes.append(_ChangeReader(case, settings, asked, study).read(technology))
    return RankQuestion(tuple(rankings), tuple(changes))


def _under(settings: Settings, spec: RankSpec, tree: Node) -> dict[str, Settings]:
    """Give the settings of a case as it is, and under each technology that a ranking names."""
    found: dict[str, Settings] = {"": settings}
    for index, name in enumerate(spec.under):
        mark = value_mark(tree, ["rank", "under", index])
        found[name] = {**settings, TECHNOLOGY: Scalar(name, name, mark, quoted=True)}
    return found


def _case_ranking(case: Evaluator, technology: str, spec: RankSpec, study: StudyContext) -> _CaseRanking:
    problems: list[Problem] = []
    known = case.built.entries
    for index, path in enumerate(spec.of):
        if canonical(case.inputs.tree, path) not in known:
            why = f"{case.case} has no quantity {path!r}{did_you_mean(path, list(known))}"
            problems.append(study.problem(("rank", "of", index), why))
    if problems:
        raise SpecError(problems)
    return _CaseRanking(case, technology, spec, study)


@dataclass(frozen=True)
class _CaseRanking:
    """One case to rank the quantities of, under one technology; none is the case as it is."""

    case: Evaluator
    technology: str
    spec: RankSpec
    study: StudyContext

    @property
    def of_the_case(self) -> bool:
        """Whether the answer of the case is that to rank by: solved by the same method, under its own technology."""
        from slipstick.method.methods import default_method

        model = self.case.built.model
        return not self.technology and (
            not self.case.smooth or default_method(model) == default_method(model, smooth=True)
        )

    def solve(self, answers: BaseAnswers) -> Ranking:
        """Rank the quantities of the case by what the stated change of each does to the time.

        The effect is computed anew, with the changed value checked like a written one; share and elasticity come
        from the derivatives. Where less of a quantity would not help, it is that much more of it.
        """
        name, change = self.case.case, self.spec.change.value
        answer = answers.cases[name] if self.of_the_case else self.case.answer(ALL_SHARES)
        if answer.failed:
            return Ranking(name, change, (), (), self.technology)
        wanted = [canonical(self.case.inputs.tree, path) for path in self.spec.of] or list(self.case.built.parameters)
        rows = [_RankedCase(self.case, self.study, answer).row(path, change) for path in wanted]
        matter = sorted((row for row in rows if _matters(row)), key=lambda row: -abs(_weight(row, change)))
        # What may not be changed by that much, such as one server, was not tried and so is not said to have no effect.
        idle = tuple(row.path for row in rows if not _matters(row) and row.effect is not None)
        return Ranking(name, change, tuple(matter[: self.spec.most]), idle, self.technology)


def _matters(row: RankedQuantity) -> bool:
    return row.elasticity != 0.0 or bool(row.effect)


def _weight(row: RankedQuantity, change: float) -> float:
    return row.elasticity * change if row.effect is None else row.effect


@dataclass(frozen=True)
class _RankedCase:
    """A case and its answer, from which quantities are ranked."""

    case: Evaluator
    study: StudyContext
    answer: Answer

    @property
    def quantity(self) -> str:
        return self.case.form.quantity

    def row(self, path: str, change: float) -> RankedQuantity:
        entry = self.case.built.entries[path]
        slope = self.answer.gradient[self.quantity].get(path, 0.0)
        value, base = entry.given.value, self._base
        effect, more = self._effect(path, -change), False
        if effect is not None and effect.value is not None and effect.value < 0.0:
            effect, more = self._effect(path, change), True
        share = self.answer.values.get(f"share[{self.quantity},{path}]", Value(None, "1"))
        return RankedQuantity(
            path=path,
            meaning=entry.meaning,
            unit=str(entry.given.dimension),
            value=value,
            share=self.answer.share.get(self.quantity, {}).get(path),
            elasticity=slope * value / base if base else 0.0,
            effect=None if effect is None else effect.value,
            more=more,
            share_ends=(share.low, share.high),
            effect_ends=NO_ENDS if effect is None else (effect.low, effect.high),
        )

    @property
    def _base(self) -> float:
        return self.answer.values[self.quantity].value or 0.0

    def _effect(self, path: str, change: float) -> Value | None:
        """Solve again with the changed value; None if the spec does not allow it (half a processor)."""

        from slipstick.method.methods import form_of

        given = self.case.built.entries[path].given
        if given.value == 0.0 or not self._base:
            return Value(0.0, "1")
        value = given.value * (1.0 + change)
        node = Scalar(value, repr(value), Mark("rank", 1, 1), quoted=False)
        if given.dimension != COUNT:
            text = f"{value!r} {given.dimension}"
            node = Scalar(text, text, Mark("rank", 1, 1), quoted=False)
        try:
            changed = build(self.case.inputs.with_value(path, node, self.study.library))
        except SpecError:
            return None
        options = changed.options
        form = form_of(changed.model, changed.parameters, options.method, options.simulation, self.case.smooth)
        columns = form.points({}).columns() if form.estimated else {self.quantity: form.times({})}
        after = _value(columns, self.quantity, 0)
        known = after.value is not None and math.isfinite(after.value)
        return reduction(after, self.answer.values[self.quantity]) if known else None


@dataclass(frozen=True)
class _ChangedPoint:
    """A case, and what of its parameters is to be another than its own, in base units."""

    case: Evaluator
    values: Mapping[str, float]

    def why(self) -> str:
        """Say why there is no answer."""

        import numpy as np

        return self.case.why({path: np.array([value]) for path, value in self.values.items()}, 0)


@dataclass(frozen=True)
class _CaseChanges:
    """Changes of one case under one technology, everything read and built.

    Parameters
    ----------
    case, technology : where; no technology is the case as it is
    before : the case without any change
    singles, pairs : with each change, and, where there is a budget, with each two of them
    spec : what is asked
    """

    case: str
    technology: str
    before: _ChangedPoint
    singles: Mapping[str, _ChangedPoint]
    pairs: Mapping[tuple[str, str], _ChangedPoint]
    spec: RankSpec

    def solve(self) -> ChangeRanking:
        """Answer with each change, and with each pair of them, the best pair first.

        The gain of a pair is 1 - after / before of the overhead, as is that of one change; what the two gain apart is
        the sum.
        """
        spec = self.spec
        points = {"": self.before, **self.singles, **{" + ".join(names): each for names, each in self.pairs.items()}}
        times = _times(points)
        before = times[""]
        effects = tuple(
            _effect(name, _cost(spec, name), each, times[name], before) for name, each in self.singles.items()
        )
        alone = {each.name: each.reduction or 0.0 for each in effects}
        pairs = []
        for names, each in self.pairs.items():
            costs = [_cost(spec, name) for name in names]
            cost = sum(each for each in costs if each is not None) if None not in costs else None
            name = " + ".join(names)
            effect = _effect(name, cost, each, times[name], before)
            affordable = spec.budget is None or (cost is not None and cost <= spec.budget.value * (1 + 1e-12))
            pairs.append(ChangePair(names, effect, sum(alone[name] for name in names), affordable))
        pairs.sort(key=lambda pair: (not pair.affordable, -(pair.effect.reduction or 0.0)))
        time, overhead = before
        return ChangeRanking(
            self.case,
            self.technology,
            math.nan if time.value is None else time.value,
            math.nan if overhead.value is None else overhead.value,
            effects,
            tuple(pairs),
            spec.budget.value if spec.budget else None,
            {"time": (time.low, time.high), "overhead": (overhead.low, overhead.high)},
        )


class _ChangeReader:
    """Reads the changes of one case under one technology."""

    def __init__(self, case: str, settings: Settings, rank: RankSpec, study: StudyContext) -> None:
        self.case, self.rank, self.study = case, rank, study
        now_known = described(resolve(settings, study.library))
        paths = {path for each in rank.changes.values() for path in (*each.values, *each.times)}
        # What is set to what it is anyway is there to be varied.
        neutral = {
            path: _node(*now, Mark("rank", 1, 1))
            for path in sorted(paths)
            if (now := _now(now_known, path)) is not None
        }
        self.settings = {**neutral, **settings}
        self.before = evaluator(case, self.settings, study.library).smoothed

    def read(self, technology: str) -> _CaseChanges:
        changed = {name: self._changed(name, {}) for name in self.rank.changes}
        pairs = {}
        for one, two in combinations(self.rank.changes, 2) if self.rank.budget is not None else ():
            # The second is laid over the first, so that factors on one quantity multiply.
            pairs[one, two] = self._point({**changed[one], **self._changed(two, changed[one])})
        singles = {name: self._point(each) for name, each in changed.items()}
        return _CaseChanges(self.case, technology, _ChangedPoint(self.before, {}), singles, pairs, self.rank)

    def _changed(self, name: str, laid: Settings) -> dict[str, Node]:
        """Give what a change sets, factors multiplied out, on top of what is laid already."""
        spec, place = self.rank.changes[name], ("rank", "changes", name)
        found: dict[str, Node] = {}
        for path in spec.values:
            node = at(self.study.tree, [*place, "set", path])
            assert node is not None
            found[path] = node
        entries = (
            described(resolve({**self.settings, **laid}, self.study.library)) if laid else self.before.built.entries
        )
        for path, factor in spec.times.items():
            where: Place = (*place, "times", path)
            now = _now(entries, canonical(self.before.inputs.tree, path))
            if now is None:
                near = did_you_mean(path, list(entries))
                why = f"{self.case} has no quantity {path!r} to multiply{near}"
                raise self.study.refusal(where, why, key=True)
            found[path] = _node(now[0] * factor.value, now[1], value_mark(self.study.tree, where))
        return found

    def _point(self, nodes: Mapping[str, Node]) -> _ChangedPoint:
        """Check what is set in its place, and set it without building anew where it is a number that can be anything."""
        inputs, known = self.before.inputs, self.before.free
        paths = {path: canonical(inputs.tree, path) for path in nodes}
        if not all(path in known for path in paths.values()):
            return _ChangedPoint(evaluator(self.case, {**self.settings, **nodes}, self.study.library).smoothed, {})
        for path, node in nodes.items():
            inputs = inputs.with_value(path, node, self.study.library)
        given = {canonical(inputs.tree, each.path): each.given for each in entries(inputs.checked())}
        wrong = {path: name for path, name in paths.items() if name not in given}
        if wrong:  # a formula, perhaps
            return _ChangedPoint(evaluator(self.case, {**self.settings, **nodes}, self.study.library).smoothed, {})
        return _ChangedPoint(self.before, {name: given[name].value for name in paths.values()})


def _now(known: Mapping[str, DescribedValue], path: str) -> tuple[float, str] | None:
    """Give value and unit of a quantity; a class of cost that is not mentioned has a factor of 1."""
    if path in known:
        return known[path].given.value, str(known[path].given.dimension)
    return (1.0, "1") if path.startswith(f"{TECHNOLOGY}.") else None


def _node(value: float, unit: str, mark: Mark) -> Scalar:
    text = repr(value) if unit == "1" else f"{value!r} {unit}"
    return Scalar(value if unit == "1" else text, text, mark, quoted=False)


def _cost(spec: RankSpec, name: str) -> float | None:
    cost = spec.changes[name].cost
    return None if cost is None else cost.value


def _times(points: Mapping[str, _ChangedPoint]) -> dict[str, tuple[Value, Value]]:
    """Give time and overhead at each point, all points of one model at once."""

    import numpy as np

    found: dict[str, tuple[Value, Value]] = {}
    cases = {id(each.case): each.case for each in points.values()}
    for key, case in cases.items():
        here = {name: each.values for name, each in points.items() if id(each.case) == key}
        paths = sorted({path for each in here.values() for path in each})
        own = {path: case.built.parameters[path].value or 0.0 for path in paths}
        values = {path: np.array([each.get(path, own[path]) for each in here.values()]) for path in paths}
        columns = case.columns(values)
        first = case.form.quantity
        names = (first, OVERHEAD if OVERHEAD in columns else first)
        for index, name in enumerate(here):
            time, rest = (_value(columns, each, index) for each in names)
            found[name] = time, rest
    return found


def _value(columns: Mapping[str, Array], name: str, index: int) -> Value:
    """Read a value with its interval off columns, of which those of one point hold for all."""
    value, low, high = (
        float(each[index % len(each)]) if (each := columns.get(column)) is not None else None
        for column in (name, f"low[{name}]", f"high[{name}]")
    )
    return Value(value, "s", finite(low), finite(high))


def _effect(
    name: str, cost: float | None, point: _ChangedPoint, after: tuple[Value, Value], before: tuple[Value, Value]
) -> ChangeEffect:
    time, rest = (each.value if each.value is not None else math.nan for each in after)
    if not math.isfinite(time):
        return ChangeEffect(name, cost, time, rest, math.nan, None, point.why())
    saved = reduction(after[0], before[0]) if before[0].value else None
    less = reduction(after[1], before[1]) if (before[1].value or 0.0) > 0 else None
    known = {"time": after[0], "overhead": after[1], "time_saved": saved, "overhead_reduction": less}
    ends = {key: (each.low, each.high) for key, each in known.items() if each is not None and each.low is not None}
    gain = math.nan if saved is None or saved.value is None else saved.value
    return ChangeEffect(name, cost, time, rest, gain, None if less is None else less.value, "", ends)
