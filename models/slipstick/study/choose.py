"""Choices: what each change does to the overhead, alone and in pairs, under each technology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from slipstick.errors import SpecError, did_you_mean
from slipstick.law.account import OVERHEAD_REDUCTION
from slipstick.outlook import Choice, Effect, Pair
from slipstick.schema.lay_technology import TECHNOLOGY
from slipstick.schema.load import Library
from slipstick.schema.nodes import Node, Scalar, Table, at, canonical, value_mark
from slipstick.schema.scene import Settings
from slipstick.schema.study import StudySpec
from slipstick.schema.study_questions import ChangeSpec, RankSpec
from slipstick.schema.validate import problem
from slipstick.study.derived import OVERHEAD
from slipstick.study.evaluate import Evaluator, evaluator

__all__ = ["Decision", "choices", "chosen", "under"]

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What there is to choose from in one case under one technology, everything read and built.

    Parameters
    ----------
    case, technology : where; no technology is the case as it is
    before : the case without any change
    singles, pairs : with each change, and with each two of them
    spec : what is asked
    """

    case: str
    technology: str
    before: Evaluator
    singles: Mapping[str, Evaluator]
    pairs: Mapping[tuple[str, str], Evaluator]
    spec: RankSpec


def under(settings: Settings, spec: RankSpec, tree: Node) -> dict[str, Settings]:
    """Give the settings of a case as it is, and under each technology that a ranking names."""
    found: dict[str, Settings] = {"": settings}
    for index, name in enumerate(spec.under):
        mark = value_mark(tree, ["rank", "under", index])
        found[name] = {**settings, TECHNOLOGY: Scalar(name, name, mark, quoted=True)}
    return found


def choices(spec: StudySpec, tree: Table, cases: Mapping[str, Settings], library: Library) -> Iterator[Decision]:
    """Read the changes that a ranking names, and build every model; nothing is solved.

    Raises
    ------
    SpecError : a change names what is not there, or sets what is not allowed
    """
    rank = spec.rank
    if rank is None or not rank.changes:
        return
    for case in rank.cases:
        for technology, settings in under(cases[case], rank, tree).items():
            before = evaluator(case, settings, library)
            changed = {name: _changed(name, each, before, tree, {}) for name, each in rank.changes.items()}
            singles = {name: evaluator(name, {**settings, **each}, library) for name, each in changed.items()}
            pairs = {
                (one, two): evaluator(one, {**settings, **_both(one, two, rank, singles, changed, tree)}, library)
                for one, two in combinations(rank.changes, 2)
            }
            yield Decision(case, technology, before, singles, pairs, rank)


def _both(
    one: str, two: str, rank: RankSpec, singles: Mapping[str, Evaluator], changed: Mapping[str, Settings], tree: Table
) -> dict[str, Node]:
    """Lay the second change over the first, so that factors on one quantity multiply."""
    return {**changed[one], **_changed(two, rank.changes[two], singles[one], tree, changed[one])}


def _changed(name: str, spec: ChangeSpec, before: Evaluator, tree: Table, laid: Settings) -> dict[str, Node]:
    """Give what a change sets, factors multiplied out."""
    place: Place = ("rank", "changes", name)
    found: dict[str, Node] = {}
    for path in spec.values:
        node = at(tree, [*place, "set", path])
        assert node is not None
        found[path] = node
    for path, factor in spec.times.items():
        where: Place = (*place, "times", path)
        mark = value_mark(tree, where)
        known = before.bound.entries.get(canonical(before.scene.tree, path))
        if known is None and not path.startswith(f"{TECHNOLOGY}."):
            near = did_you_mean(path, list(before.bound.entries))
            raise SpecError(
                [problem(tree, where, f"{before.case} has no quantity {path!r} to multiply{near}", key=True)]
            )
        value, unit = (known.given.value, str(known.given.dimension)) if known else (1.0, "1")
        number = value * factor.value
        text = repr(number) if unit == "1" else f"{number!r} {unit}"
        found[path] = Scalar(number if unit == "1" else text, text, mark, quoted=False)
    return found


def chosen(asked: Decision) -> Choice:
    """Answer with each change, and with each pair of them, the best pair first.

    The gain of a pair is 1 - after / before of the overhead, as is that of one change; what the two gain apart is the sum.

    Parameters
    ----------
    asked : as `choices` gives it
    """
    spec = asked.spec
    time, overhead = _both_times(asked.before)
    effects = tuple(_effect(name, _cost(spec, name), each, time, overhead) for name, each in asked.singles.items())
    alone = {each.name: each.reduction or 0.0 for each in effects}
    pairs = []
    for names, each in asked.pairs.items():
        costs = [_cost(spec, name) for name in names]
        cost = sum(each for each in costs if each is not None) if None not in costs else None
        effect = _effect(" + ".join(names), cost, each, time, overhead)
        affordable = spec.budget is None or (cost is not None and cost <= spec.budget.value * (1 + 1e-12))
        pairs.append(Pair(names, effect, sum(alone[name] for name in names), affordable))
    pairs.sort(key=lambda pair: (not pair.affordable, -(pair.effect.reduction or 0.0)))
    return Choice(
        asked.case, asked.technology, time, overhead, effects, tuple(pairs), spec.budget.value if spec.budget else None
    )


def _cost(spec: RankSpec, name: str) -> float | None:
    cost = spec.changes[name].cost
    return None if cost is None else cost.value


def _both_times(case: Evaluator) -> tuple[float, float]:
    found = case.columns({})
    first = found[case.form.quantity]
    return float(first[0]), float(found.get(OVERHEAD, first)[0])


def _effect(name: str, cost: float | None, case: Evaluator, time: float, overhead: float) -> Effect:
    after, rest = _both_times(case)
    if not np.isfinite(after):
        return Effect(name, cost, after, rest, float("nan"), None, case.why({}, 0))
    saved = 1.0 - after / time if time else float("nan")
    reduction = OVERHEAD_REDUCTION.equation(overhead, rest) if overhead > 0 else None
    return Effect(name, cost, after, rest, saved, None if reduction is None else float(reduction))
