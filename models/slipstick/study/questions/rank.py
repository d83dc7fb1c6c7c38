"""What would help most: quantities ranked by the time they save, and named changes by the overhead they take away."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from slipstick.answer import Answer, Value
from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.expression.dimension import COUNT
from slipstick.method.names import OVERHEAD
from slipstick.report.formatting import (
    NO_ENDS,
    Ends,
    as_number,
    as_percent,
    code,
    escape,
    finite,
    fraction,
    overlap,
    percent,
    quantity,
)
from slipstick.report.pictures.figures import axis_title, draw_intervals, filled, sheet, tilt, title_of
from slipstick.results.question import QuestionResult, ResultColumn, ResultTable
from slipstick.results.study import Array, Provenance
from slipstick.schema.build import build, described
from slipstick.schema.describe import DescribedValue, entries
from slipstick.schema.inputs import TECHNOLOGY, Settings, resolve
from slipstick.schema.kinds.study import ChangesSpec, RankSpec
from slipstick.schema.text.nodes import Mark, Node, Scalar, at, canonical, value_mark
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import ALL_SHARES, Evaluator, evaluator, reduction
from slipstick.study.questions import BaseAnswers, Question, ValueNames

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class RankedQuantity:
    """One quantity in a ranking.

    Parameters
    ----------
    path, meaning, unit : what it is
    value : in base units
    share : what one percent less of it buys, in percent of the time; None for counts, sizes and ratios
    elasticity : relative change of the time for a relative change of the quantity
    effect : 1 - time after / time before, for the stated change; None where the changed value is not allowed
    more : the change is that much more of the quantity, for less of it would not help
    share_ends, effect_ends : of their intervals, where they are estimates
    method, exact, bound : how share and effect were computed
    """

    path: str
    meaning: str
    unit: str
    value: float
    share: float | None
    elasticity: float
    effect: float | None
    more: bool = False
    share_ends: Ends = NO_ENDS
    effect_ends: Ends = NO_ENDS
    method: str = ""
    exact: bool = False
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What would help most in one case.

    Parameters
    ----------
    case : the case
    change : how much less of each quantity, or more where less would not help [1]
    rows : the quantities that matter, best first
    idle : quantities that change nothing here
    under : the technology that the case is ranked under; none is the case as it is
    """

    case: str
    change: float
    rows: tuple[RankedQuantity, ...]
    idle: tuple[str, ...]
    under: str = ""


@dataclass(frozen=True, slots=True)
class ChangeEffect:
    """What one change does.

    Parameters
    ----------
    name : of the change
    cost : in the unit of the budget; None if not given
    time, overhead : after it [s]
    saved : 1 - time after / time before
    reduction : 1 - overhead after / overhead before; None where there is no overhead before
    failed : why there is no answer, or it is not allowed
    ends : of the intervals of those that are estimates, by the names above
    method, exact, bound : how it was computed
    """

    name: str
    cost: float | None
    time: float
    overhead: float
    saved: float
    reduction: float | None
    failed: str = ""
    ends: Mapping[str, Ends] = field(default_factory=dict)
    method: str = ""
    exact: bool = False
    bound: str = ""


@dataclass(frozen=True, slots=True)
class ChangePair:
    """What two changes do together; `apart` is the sum of what each saves alone."""

    names: tuple[str, str]
    effect: ChangeEffect
    apart: float
    affordable: bool


@dataclass(frozen=True, slots=True)
class ChangeRanking:
    """What changes do to one case, under one technology.

    Parameters
    ----------
    case, under : where; no technology is the case as it is
    time, overhead : before [s]
    effects : of each change, as written
    pairs : the best first
    budget : what a pair may cost; None if not given
    ends : of the intervals of time and overhead before, where they are estimates
    """

    case: str
    under: str
    time: float
    overhead: float
    effects: tuple[ChangeEffect, ...]
    pairs: tuple[ChangePair, ...]
    budget: float | None = None
    ends: Mapping[str, Ends] = field(default_factory=dict)

    @property
    def all_effects(self) -> list[ChangeEffect]:
        """The effects of single changes, then those of pairs."""
        return [*self.effects, *(pair.effect for pair in self.pairs)]


_MOST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class RankResult(QuestionResult):
    """What would help most.

    Parameters
    ----------
    rankings : of single quantities, by case and technology
    changes : what named changes do, by case and technology
    """

    title: ClassVar[str] = "What would help most"
    reading: ClassVar[str] = (
        "Share: one percent less of the quantity saves this much of one percent of the time; the shares of all quantities "
        "add up to 100 %. Elasticity: relative change of the time for a relative change of the quantity. Time saved: solved "
        "anew with the quantity changed, where the change is allowed. Overhead: the time of a processor that is not useful. "
        "Overhead reduction: 1 - after / before. A pair gains more than the sum of its changes where one makes room for the "
        "other, and less where both take away the same."
    )
    rankings: tuple[Ranking, ...] = ()
    changes: tuple[ChangeRanking, ...] = ()

    def sentences(self) -> list[str]:
        """Name what helps most: of the changes, then of the quantities."""
        words = [f"{_where(each)}: {_verdict(each)}" for each in self.changes]
        for each in self.rankings:
            best = next(iter(each.rows), None)
            said = "no quantity changes the time"
            if best is not None:
                by = f"{percent(each.change)} {'more' if best.more else 'less'} of {best.path}"
                saved = (
                    f"saves {_of(best)}" if best.effect is not None else f"has an elasticity of {best.elasticity:.3g}"
                )
                said = f"of single quantities {by} helps most: it {saved}"
            words.append(f"{_where(each)}: {said}")
        return words

    def parts(self) -> Iterator[str | ResultTable]:
        """Give the quantities of each case, then the changes and their pairs."""
        for each in self.rankings:
            yield _quantities(each)
            yield _undecided(each)
            yield f"Without effect here: {', '.join(map(code, each.idle))}." if each.idle else ""
        for found in self.changes:
            yield _changes(found)
            yield _pairs(found)

    def named_answers(self) -> dict[str, Answer]:
        """Name the answer with the effect of each single change."""
        return {
            effect_name(each.case, effect.name, each.under): answer
            for each in self.changes
            for effect, answer in zip(each.effects, _changes(each).answers(), strict=False)
        }

    def draw(self, spec: ChangesSpec, order: Mapping[str, int]) -> Figure:
        """Draw the overhead reduction of each change, a group of bars for each case."""
        drawn = [
            each for each in self.changes if each.under == spec.under and each.case in (spec.cases or (each.case,))
        ]
        return _bars(drawn, spec.title)


EFFECT_VALUES = {"time": "s", "overhead": "s", "time_saved": "1", "overhead_reduction": "1"}
"""The values of the answer with a change, and their units."""


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
    problems += [
        study.problem((*place, "cases", index), f"rank has no changes of {name}{did_you_mean(name, asked.cases)}")
        for place, each in study.pictures(ChangesSpec)
        for index, name in enumerate(each.cases)
        if name not in asked.cases
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
        (effect, method, exact), more = self._effect(path, -change), False
        if effect is not None and effect.value is not None and effect.value < 0.0:
            (effect, method, exact), more = self._effect(path, change), True
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
            method=" and ".join(dict.fromkeys(filter(None, (self.answer.method, method)))),
            exact=self.answer.exact and exact,
            bound=self.answer.bound,
        )

    @property
    def _base(self) -> float:
        return self.answer.values[self.quantity].value or 0.0

    def _effect(self, path: str, change: float) -> tuple[Value | None, str, bool]:
        """Solve again with the changed value; None if the spec does not allow it (half a processor).

        Returns
        -------
        the part of the time that it saves, the method that says so, and whether that is exact
        """

        from slipstick.method.methods import form_of

        given = self.case.built.entries[path].given
        if given.value == 0.0 or not self._base:
            return Value(0.0, "1"), "", True
        value = given.value * (1.0 + change)
        node = Scalar(value, repr(value), Mark("rank", 1, 1), quoted=False)
        if given.dimension != COUNT:
            text = f"{value!r} {given.dimension}"
            node = Scalar(text, text, Mark("rank", 1, 1), quoted=False)
        try:
            changed = build(self.case.inputs.with_value(path, node, self.study.library))
        except SpecError:
            return None, "", True
        options = changed.options
        form = form_of(changed.model, changed.parameters, options.method, options.simulation, self.case.smooth)
        points = form.points({}) if form.estimated else form.brief_points({})
        after, solved = _value(points.columns(), self.quantity, 0), points.solution
        known = after.value is not None and math.isfinite(after.value)
        saved = reduction(after, self.answer.values[self.quantity]) if known else None
        return saved, next(iter(solved.methods), solved.method), bool(solved.exact[0])


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
        time, overhead = before[:2]
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


class _TimeAndOverhead(NamedTuple):
    """The answer at one point, and how it was computed."""

    time: Value
    overhead: Value
    method: str
    exact: bool
    bound: str


def _times(points: Mapping[str, _ChangedPoint]) -> dict[str, _TimeAndOverhead]:
    """Give time and overhead at each point, all points of one model at once."""

    import numpy as np

    found: dict[str, _TimeAndOverhead] = {}
    cases = {id(each.case): each.case for each in points.values()}
    for key, case in cases.items():
        here = {name: each.values for name, each in points.items() if id(each.case) == key}
        paths = sorted({path for each in here.values() for path in each})
        own = {path: case.built.parameters[path].value or 0.0 for path in paths}
        values = {path: np.array([each.get(path, own[path]) for each in here.values()]) for path in paths}
        columns, how = case.solved(values)
        first = case.form.quantity
        names = (first, OVERHEAD if OVERHEAD in columns else first)
        for index, name in enumerate(here):
            time, rest = (_value(columns, each, index) for each in names)
            row = index % len(how.methods)
            found[name] = _TimeAndOverhead(time, rest, how.methods[row], bool(how.exact[row]), how.outside.get(row, ""))
    return found


def _value(columns: Mapping[str, Array], name: str, index: int) -> Value:
    """Read a value with its interval off columns, of which those of one point hold for all."""
    value, low, high = (
        float(each[index % len(each)]) if (each := columns.get(column)) is not None else None
        for column in (name, f"low[{name}]", f"high[{name}]")
    )
    return Value(value, "s", finite(low), finite(high))


def _effect(
    name: str, cost: float | None, point: _ChangedPoint, after: _TimeAndOverhead, before: _TimeAndOverhead
) -> ChangeEffect:
    time, rest = (each.value if each.value is not None else math.nan for each in after[:2])
    how = after[2:]
    if not math.isfinite(time):
        return ChangeEffect(name, cost, time, rest, math.nan, None, point.why(), {}, *how)
    saved = reduction(after[0], before[0]) if before[0].value else None
    less = reduction(after[1], before[1]) if (before[1].value or 0.0) > 0 else None
    known = {"time": after[0], "overhead": after[1], "time_saved": saved, "overhead_reduction": less}
    ends = {key: (each.low, each.high) for key, each in known.items() if each is not None and each.low is not None}
    gain = math.nan if saved is None or saved.value is None else saved.value
    return ChangeEffect(name, cost, time, rest, gain, None if less is None else less.value, "", ends, *how)


def effect_name(case: str, change: str, technology: str) -> str:
    """Name the answer with the effect of a change for statements and pictures.

    >>> effect_name("sor", "no-adapter", ""), effect_name("sor", "no-adapter", "eight-times")
    ('sor-no-adapter', 'sor-no-adapter-eight-times')
    """
    return "-".join(filter(None, (case, change, technology)))


def _undecided(ranking: Ranking) -> str:
    """Say which neighbours in a ranking of estimates may stand in the other order."""
    pairs = [
        f"{code(one.path)} and {code(other.path)}"
        for one, other in pairwise(ranking.rows)
        if overlap(one.effect_ends, other.effect_ends)
    ]
    return f"Undecided, for their intervals overlap: the order of {', of '.join(pairs)}." if pairs else ""


def _of(each: RankedQuantity) -> str:
    return f"{percent(each.effect, ends=each.effect_ends)} of the time"


def _where(found: Ranking | ChangeRanking) -> str:
    return f"{found.case} under {found.under}" if found.under else found.case


def _quantities(ranking: Ranking) -> ResultTable:
    rows = ranking.rows
    columns = [
        ResultColumn("parameter", [each.path for each in rows], place=True),
        ResultColumn("meaning", [each.meaning for each in rows]),
        ResultColumn("value", [each.value for each in rows], [each.unit for each in rows]),
        ResultColumn(
            "share", [each.share for each in rows], "1", _ends(each.share_ends for each in rows), "", as_percent
        ),
        ResultColumn("elasticity", [each.elasticity for each in rows], "1", written=lambda value, *_: fraction(value)),
        ResultColumn("change", [f"{percent(ranking.change)} {'more' if each.more else 'less'}" for each in rows]),
        ResultColumn(
            "time saved", [each.effect for each in rows], "1", _ends(each.effect_ends for each in rows), "", as_percent
        ),
    ]
    return ResultTable("", columns, Provenance.of(rows), title=f"### {escape(_where(ranking))}")


def _ends(ends: Iterable[Ends]) -> tuple[list[float | None], list[float | None]]:
    """Turn the ends of intervals into a column of low ends and one of high ends."""
    both = list(ends)
    return [low for low, _ in both], [high for _, high in both]


def _changes(found: ChangeRanking) -> ResultTable:
    effects = found.all_effects
    values: dict[str, list[float | None]] = {
        "time": [each.time for each in effects],
        "overhead": [each.overhead for each in effects],
        "time_saved": [each.saved for each in effects],
        "overhead_reduction": [each.reduction for each in effects],
    }
    columns = [
        ResultColumn("case", [found.case] * len(effects), place=True, on_page=False),
        ResultColumn("technology", [found.under or None] * len(effects), place=True, on_page=False),
        ResultColumn("change", [each.name for each in effects], place=True),
        ResultColumn("cost", [each.cost for each in effects], place=True, written=as_number),
    ]
    for name, column in values.items():
        ends, unit = _ends(each.ends.get(name, NO_ENDS) for each in effects), EFFECT_VALUES[name]
        written = as_percent if unit == "1" else None
        columns.append(ResultColumn(name, column, unit, ends, name.replace("_", " "), written))
    failed = {row: each.failed for row, each in enumerate(effects) if each.failed}
    title = f"### Changes of {escape(_where(found))}"
    return ResultTable("changes", columns, Provenance.of(effects), failed, title, range(len(found.effects)))


def _pairs(found: ChangeRanking) -> str | ResultTable:
    pairs = found.pairs[:_MOST_PAIRS]
    if not pairs:
        return ""
    effects = [each.effect for each in pairs]
    apart = [each.apart for each in pairs]
    more = [round((each.effect.reduction or 0.0) - each.apart, 12) for each in pairs]
    ends = _ends(each.ends.get("overhead_reduction", NO_ENDS) for each in effects)
    columns = [
        ResultColumn("pair", [each.name for each in effects], place=True),
        ResultColumn("cost", [each.cost for each in effects], written=as_number),
        ResultColumn("within the budget", ["yes" if each.affordable else "no" for each in pairs]),
        ResultColumn("overhead reduction", [each.reduction for each in effects], "1", ends, "", as_percent),
        ResultColumn("sum of the two", apart, "1", written=as_percent),
        ResultColumn("difference", more, "1", written=lambda value, *_: percent(value, signed=True)),
    ]
    return ResultTable("", columns, Provenance.of(effects))


def _reduction(each: ChangeEffect) -> str:
    return percent(each.reduction, ends=each.ends.get("overhead_reduction", NO_ENDS))


def _verdict(found: ChangeRanking) -> str:
    best = max(found.effects, key=lambda each: each.reduction or 0.0)
    if not best.reduction or best.reduction <= 0:
        return f"no change takes overhead away, of {_before(found, 'overhead')}"
    whole = f"{_before(found, 'overhead')} in a time of {_before(found, 'time')}"
    words = f"{best.name} takes away the most overhead of all single changes, {_reduction(best)} of {whole}"
    rivals = [each.name for each in found.effects if each is not best and _overlap(best.ends, each.ends)]
    words += f", undecided against {', '.join(rivals)}, for their intervals overlap" if rivals else ""
    pair = next((each for each in found.pairs if each.affordable), None)
    budget = "" if found.budget is None else f" within {found.budget:g}"
    if pair is None:
        return words + (f"; no pair costs less than {found.budget:g}" if found.budget is not None else "")
    return f"{words}; the best pair{budget} is {pair.effect.name}, {_reduction(pair.effect)} ({_together(pair)})"


def _before(found: ChangeRanking, name: str) -> str:
    value = found.time if name == "time" else found.overhead
    return quantity(finite(value), "s", ends=found.ends.get(name, NO_ENDS))


def _overlap(best: Mapping[str, Ends], other: Mapping[str, Ends]) -> bool:
    return overlap(best.get("overhead_reduction", NO_ENDS), other.get("overhead_reduction", NO_ENDS))


def _together(pair: ChangePair) -> str:
    gain = pair.effect.reduction or 0.0
    if abs(gain - pair.apart) < 5e-4:
        return "as much as the two gain apart"
    return f"{'more' if gain > pair.apart else 'less'} than the {percent(pair.apart)} that the two gain apart"


_GROUP_WIDTH = 0.8  # width of a group of bars, as a part of its place


def _bars(found: Sequence[ChangeRanking], title: str) -> Figure:
    """Draw a group of bars for each case, a bar for each change."""
    import numpy as np

    names = [each.name for each in found[0].effects]
    figure = sheet(max(6.0, 3.0 + 0.35 * len(names) * len(found)), 4.2)
    axes = figure.subplots()
    width = _GROUP_WIDTH / len(names)
    for index, name in enumerate(names):
        effects = [next(each for each in one.effects if each.name == name) for one in found]
        heights = np.array([100 * (each.reduction or 0.0) for each in effects])
        places: Array = np.arange(float(len(found))) - _GROUP_WIDTH / 2 + (index + 0.5) * width
        axes.bar(places, heights, width, label=name, **filled(index))
        low, high = _ends(each.ends.get("overhead_reduction", NO_ENDS) for each in effects)
        draw_intervals(axes, places, heights, 100 * np.array(low, float), 100 * np.array(high, float))
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(found)), [each.case for each in found])
    if max(len(each.case) for each in found) > 12:
        tilt(axes)
    axes.set_ylabel(axis_title("overhead reduction", "%"))
    axes.set_xlabel("case")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", alignment="left", title="change")
    title_of(figure, title)
    return figure
