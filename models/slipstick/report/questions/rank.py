"""What would help most: quantities ranked by the time they save, and named changes by the overhead they take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer, Value
from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    Ends,
    code,
    escape,
    finite,
    fraction,
    markdown_table,
    overlap,
    percent,
    prose,
    quantity,
)
from slipstick.report.pictures.figures import FILLS, axis_title, sheet, tilt, title_of
from slipstick.results.study import QuestionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import ChangesSpec


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
    """

    name: str
    cost: float | None
    time: float
    overhead: float
    saved: float
    reduction: float | None
    failed: str = ""
    ends: Mapping[str, Ends] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class RankResult(QuestionResult):
    """What would help most.

    Parameters
    ----------
    rankings : of single quantities, by case and technology
    changes : what named changes do, by case and technology
    """

    rankings: tuple[Ranking, ...] = ()
    changes: tuple[ChangeRanking, ...] = ()

    def section(self) -> str:
        parts = ["## What would help most", _SHARES, *map(_ranking, self.rankings)] if self.rankings else []
        parts += ["## Changes", prose(_REDUCTION), *map(_part, self.changes)] if self.changes else []
        return "\n\n".join(parts)

    def text(self) -> str:
        return "\n".join(f"{_where(each)}: {_verdict(each)}" for each in self.changes)

    def answers(self) -> list[Answer]:
        return [_answer(each, effect) for each in self.changes for effect in each.all_effects]

    def named_answers(self) -> dict[str, Answer]:
        return {
            effect_name(each.case, effect.name, each.under): _answer(each, effect)
            for each in self.changes
            for effect in each.effects
        }

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(each) for each in self.changes]

    def draw(self, spec: ChangesSpec) -> Figure:
        """Draw the overhead reduction of each change, a group of bars for each case."""
        return _bars([each for each in self.changes if each.under == spec.under], spec.title)


_MOST_PAIRS = 10

_REDUCTION = (
    "Overhead: the time of a processor that is not useful. Overhead reduction: 1 - after / before. A pair gains more than the "
    "sum of its changes where one makes room for the other, and less where both take away the same."
)


def _where(found: ChangeRanking) -> str:
    return f"{found.case} under {found.under}" if found.under else found.case


def _part(found: ChangeRanking) -> str:
    time, overhead = (
        quantity(value, "s", ends=found.ends.get(name, NO_ENDS))
        for name, value in (("time", found.time), ("overhead", found.overhead))
    )
    before = f"Before: {time}, of which {overhead} are overhead."
    head = ["change", "cost", "time", "overhead", "time saved", "overhead reduction"]
    rows = [_row(each) for each in found.effects]
    failed = "\n".join(f"- {escape(each.name)}: {escape(each.failed)}" for each in found.effects if each.failed)
    parts = [
        f"### {escape(_where(found))}",
        f"{escape(_verdict(found))}. {before}",
        markdown_table(head, rows, range(1, 6)),
        failed,
        _pairs(found),
    ]
    return "\n\n".join(part for part in parts if part)


def _row(each: ChangeEffect) -> list[str]:
    return [
        escape(each.name),
        _cost(each.cost),
        quantity(each.time, "s", ends=each.ends.get("time", NO_ENDS)) if not each.failed else NOTHING,
        quantity(each.overhead, "s", ends=each.ends.get("overhead", NO_ENDS)) if not each.failed else NOTHING,
        percent(each.saved, ends=each.ends.get("time_saved", NO_ENDS)),
        _reduction(each),
    ]


def _reduction(each: ChangeEffect) -> str:
    return percent(each.reduction, ends=each.ends.get("overhead_reduction", NO_ENDS))


def _cost(cost: float | None) -> str:
    return NOTHING if cost is None else f"{cost:g}"


def _verdict(found: ChangeRanking) -> str:
    best = max(found.effects, key=lambda each: each.reduction or 0.0)
    if not best.reduction or best.reduction <= 0:
        return "no change takes overhead away"
    words = f"{best.name} takes away the most overhead of all single changes, {_reduction(best)}"
    rivals = [each.name for each in found.effects if each is not best and _overlap(best.ends, each.ends)]
    words += f", undecided against {', '.join(rivals)}, for their intervals overlap" if rivals else ""
    pair = next((each for each in found.pairs if each.affordable), None)
    budget = "" if found.budget is None else f" within {found.budget:g}"
    if pair is None:
        return words + (f"; no pair costs less than {found.budget:g}" if found.budget is not None else "")
    return f"{words}; the best pair{budget} is {pair.effect.name}, {_reduction(pair.effect)} ({_together(pair)})"


def _overlap(best: Mapping[str, Ends], other: Mapping[str, Ends]) -> bool:
    return overlap(best.get("overhead_reduction", NO_ENDS), other.get("overhead_reduction", NO_ENDS))


def _together(pair: ChangePair) -> str:
    gain = pair.effect.reduction or 0.0
    if abs(gain - pair.apart) < 5e-4:
        return "as much as the two gain apart"
    return f"{'more' if gain > pair.apart else 'less'} than the {percent(pair.apart)} that the two gain apart"


def _pairs(found: ChangeRanking) -> str:
    rows = [
        [
            escape(each.effect.name),
            _cost(each.effect.cost),
            "yes" if each.affordable else "no",
            _reduction(each.effect),
            percent(each.apart),
            percent(round((each.effect.reduction or 0.0) - each.apart, 12), signed=True),
        ]
        for each in found.pairs[:_MOST_PAIRS]
    ]
    head = ["pair", "cost", "within the budget", "overhead reduction", "sum of the two", "difference"]
    return markdown_table(head, rows, [1, 3, 4, 5]) if rows else ""


_SHARES = (
    "Share: one percent less of the quantity saves this much of one percent of the time; the shares of all quantities "
    "add up to 100 %. Elasticity: relative change of the time for a relative change of the quantity. Time saved: solved "
    "anew with the quantity changed, where the change is allowed."
)


def _ranking(ranking: Ranking) -> str:
    head = ["parameter", "meaning", "value", "share", "elasticity", "change", "time saved"]
    rows = [
        [
            code(each.path),
            escape(each.meaning),
            quantity(each.value, each.unit),
            percent(each.share, ends=each.share_ends),
            fraction(each.elasticity),
            f"{percent(ranking.change)} {'more' if each.more else 'less'}",
            percent(each.effect, ends=each.effect_ends),
        ]
        for each in ranking.rows
    ]
    parts = [
        f"### Case {escape(ranking.case)}" + (f" under {escape(ranking.under)}" if ranking.under else ""),
        markdown_table(head, rows, [2, 3, 4, 6]) if rows else "",
        _undecided(ranking),
        f"Without effect here: {', '.join(map(code, ranking.idle))}." if ranking.idle else "",
    ]
    return "\n\n".join(part for part in parts if part)


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


def _columns(found: ChangeRanking) -> dict[str, Any]:
    effects = found.all_effects
    return {
        "sweep": ["changes"] * len(effects),
        "case": [found.case] * len(effects),
        "technology": [found.under or None for _ in effects],
        "change": [each.name for each in effects],
        "cost": [each.cost for each in effects],
        "time [s]": [each.time for each in effects],
        "overhead [s]": [each.overhead for each in effects],
        "time_saved [1]": [each.saved for each in effects],
        "overhead_reduction [1]": [each.reduction for each in effects],
        **_ends_columns(effects),
        "failed": [each.failed or None for each in effects],
    }


EFFECT_VALUES = {"time": "s", "overhead": "s", "time_saved": "1", "overhead_reduction": "1"}
"""The values of the answer with a change, and their units."""


def _ends_columns(effects: Sequence[ChangeEffect]) -> dict[str, Any]:
    """Give the columns of both ends of all intervals, where there are any."""
    return {
        f"{end} {name} [{unit}]": [each.ends.get(name, NO_ENDS)[at] for each in effects]
        for name, unit in EFFECT_VALUES.items()
        if any(each.ends.get(name, NO_ENDS) != NO_ENDS for each in effects)
        for at, end in enumerate(("low", "high"))
    }


def _answer(found: ChangeRanking, effect: ChangeEffect) -> Answer:
    point: dict[str, float | str] = {"case": found.case, "technology": found.under, "change": effect.name}
    numbers = zip(EFFECT_VALUES, (effect.time, effect.overhead, effect.saved, effect.reduction), strict=True)
    values = {
        name: Value(each, EFFECT_VALUES[name], *effect.ends.get(name, NO_ENDS))
        for name, each in numbers
        if each is not None and isfinite(each)
    }
    return Answer("changes", "difference", values=values, point=point, failed=effect.failed or None)


_GROUP_WIDTH = 0.8  # width of a group of bars, as a part of its place


def _bars(found: Sequence[ChangeRanking], title: str) -> Figure:
    import numpy as np

    names = [each.name for each in found[0].effects]
    figure = sheet(max(6.0, 3.0 + 0.35 * len(names) * len(found)), 4.2)
    axes = figure.subplots()
    width = _GROUP_WIDTH / len(names)
    for index, name in enumerate(names):
        effects = [next(each for each in one.effects if each.name == name) for one in found]
        heights = [100 * (each.reduction or 0.0) for each in effects]
        known = (list(map(finite, each.ends.get("overhead_reduction", NO_ENDS))) for each in effects)
        reach = [
            (top - 100 * low, 100 * high - top) if low is not None and high is not None else (0.0, 0.0)
            for top, (low, high) in zip(heights, known, strict=True)
        ]
        colour, hatch = FILLS[index % len(FILLS)]
        places = np.arange(len(found)) - _GROUP_WIDTH / 2 + (index + 0.5) * width
        axes.bar(places, heights, width, color=colour, hatch=hatch, edgecolor="black", linewidth=0.6, label=name)
        if any(map(any, reach)):
            axes.errorbar(places, heights, np.transpose(reach), fmt="none", ecolor="black", capsize=2)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(found)), [each.case for each in found])
    if max(len(each.case) for each in found) > 12:
        tilt(axes)
    axes.set_ylabel(axis_title("overhead reduction", "%"))
    axes.set_xlabel("case")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", alignment="left", title="change")
    title_of(figure, title)
    return figure
