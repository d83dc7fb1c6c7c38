"""Where conditions on answers start or stop holding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slipstick.answer import Answer, Value
from slipstick.report.formatting import escape, percent, quantity
from slipstick.results.study import QuestionResult


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a condition starts or stops holding.

    Parameters
    ----------
    value : where, in base units, or the year
    starts : it holds from there on, and not before
    before : the last value on the near side, of a condition that is seen at single values only; else None
    jump : a side of the condition jumps there
    low, high : band of the place, where rates are uncertain
    part : how much of the draws cross there at all [1]
    """

    value: float
    starts: bool
    before: float | None = None
    jump: bool = False
    low: float | None = None
    high: float | None = None
    part: float | None = None


@dataclass(frozen=True, slots=True)
class ConditionSearch:
    """Where a condition starts or stops holding, for one case.

    Parameters
    ----------
    name, case : of the question
    of, unit, trend : the parameter and its base unit, or the year and the trend it goes along
    condition : as written
    first, last : between where it was looked for
    holds_first, holds_last : it holds there; None where there is no answer
    places : at how many places it was looked at
    crossings : all that were found, rising
    sides : values of the two sides of what fails or decides, at first, at last and where it comes nearest
    nearest : the place where the condition comes nearest to changing; None if there is no answer anywhere
    margin : how near it comes there, relative to the sides [1]
    beyond : rates used outside their periods, in words
    """

    name: str
    case: str
    of: str
    unit: str
    trend: str
    condition: str
    first: float
    last: float
    holds_first: bool | None
    holds_last: bool | None
    places: int
    crossings: tuple[Crossing, ...]
    sides: tuple[tuple[float, float], ...] = ()
    side_unit: str = "1"
    nearest: float | None = None
    margin: float | None = None
    beyond: tuple[str, ...] = ()


def year(value: float) -> str:
    """Write a year, and the tenth of it where it is not whole.

    >>> year(2024.0), year(2024.46)
    ('2024', '2024.5')
    """
    return f"{value:.1f}".removesuffix(".0")


_YEAR = "year"


@dataclass(frozen=True, slots=True)
class SeekResult(QuestionResult):
    """Where conditions start or stop holding, question by question, case by case."""

    searches: tuple[ConditionSearch, ...]

    def section(self) -> str:
        asked = {each.name: [one for one in self.searches if one.name == each.name] for each in self.searches}
        lines = [line for cases in asked.values() for line in _question(cases)]
        return "\n\n".join(["## Where conditions hold", "\n".join(lines)])

    def text(self) -> str:
        return "\n\n".join(map(search_text, self.searches))

    def answers(self) -> list[Answer]:
        return [_answer(each) for each in self.searches]

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(self.searches)] if any(each.crossings for each in self.searches) else []


def _question(cases: Sequence[ConditionSearch]) -> Iterator[str]:
    """Write a question of several cases once, and a line for each."""
    first = cases[0]
    if len(cases) == 1:
        yield f"- {escape(search_text(first))}"
        return
    yield f"- {escape(f'{first.name}{_along(first)}: {first.condition}, looked at {_ends(first)}{_beyond(first)}')}"
    for each in cases:
        said = _said(each) if each.crossings else _none(each, _ends(each))
        yield f"  - {escape(f'{each.case}: {said}{_gaps(each)}')}"


def search_text(found: ConditionSearch) -> str:
    """Say in one line where a condition starts or stops holding, or why it does nowhere."""
    who, ends, gaps = f"{found.name}, {found.case}{_along(found)}: {found.condition}", _ends(found), _gaps(found)
    said = f"{_said(found)} (looked at {ends}{gaps})" if found.crossings else f"{_none(found, ends)}{gaps}"
    return f"{who} {said}{_beyond(found)}"


def _along(found: ConditionSearch) -> str:
    return f" along {found.trend}" if found.trend else ""


def _ends(found: ConditionSearch) -> str:
    return f"{found.of} from {_value(found, found.first)} to {_value(found, found.last)}"


def _beyond(found: ConditionSearch) -> str:
    return f"; used outside their periods: {', '.join(found.beyond)}" if found.beyond else ""


def _said(found: ConditionSearch) -> str:
    return ", ".join(_crossing(found, each) for each in found.crossings)


def _crossing(found: ConditionSearch, each: Crossing) -> str:
    at = f"{found.of} = {_value(found, each.value)}" if found.of != _YEAR else year(each.value)
    if each.before is not None:
        before = _value(found, each.before)
        return (
            f"holds from {at} on, not yet at {before}" if each.starts else f"holds up to {before}, not any more at {at}"
        )
    jump = ", by a jump" if each.jump else ""
    return f"holds from {at} on{jump}" if each.starts else f"holds up to {at}{jump}"


def _none(found: ConditionSearch, ends: str) -> str:
    """Give the reason why nothing changes: both ends, and the nearest approach."""
    if found.nearest is None or found.margin is None:
        return f"has no answer anywhere for {ends}"
    holds = "holds throughout" if found.holds_first or found.holds_last else "holds nowhere"
    first, last, near = (_sides(found, pair) for pair in found.sides)
    at = _value(found, found.nearest)
    approach = f"it comes nearest to changing at {at}, with {near}, {percent(found.margin)} apart"
    return f"{holds} for {ends}: {first} at one end and {last} at the other; {approach}"


def _sides(found: ConditionSearch, pair: tuple[float, float]) -> str:
    left, right = (quantity(each, found.side_unit) for each in pair)
    return f"{left} against {right}"


def _value(found: ConditionSearch, value: float) -> str:
    return year(value) if found.of == _YEAR else quantity(value, found.unit, 6)


def _gaps(found: ConditionSearch) -> str:
    missing = [name for name, holds in (("first", found.holds_first), ("last", found.holds_last)) if holds is None]
    return f", without an answer at the {' and the '.join(missing)}" if missing and found.nearest is not None else ""


def _columns(searches: Sequence[ConditionSearch]) -> dict[str, Any]:
    rows = [(each, crossing) for each in searches for crossing in each.crossings]
    return {
        "sweep": ["seek"] * len(rows),
        "case": [each.case for each, _ in rows],
        "trend": [each.trend or None for each, _ in rows],
        "sought": [each.name for each, _ in rows],
        "at": [crossing.value for _, crossing in rows],
        "unit": [each.unit for each, _ in rows],
        "holds": ["from there" if crossing.starts else "until there" for _, crossing in rows],
    }


def _answer(found: ConditionSearch) -> Answer:
    point: dict[str, float | str] = {"case": found.case, "seek": found.name}
    values = {
        f"{'starts' if each.starts else 'stops'}.{index}": Value(each.value, found.unit)
        for index, each in enumerate(found.crossings)
    }
    return Answer("seek", "search", values=values, point=point, notes=(search_text(found),))
