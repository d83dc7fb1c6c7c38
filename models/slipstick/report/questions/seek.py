"""Where conditions on answers start or stop holding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slipstick.answer import Answer, Value
from slipstick.report.formatting import NOTHING, bracketed, escape, percent, quantity
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
    low, high : band of the place, where rates are uncertain, or its interval, where answers are estimates
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
    undecided : first and last place of each further stretch where an estimate does not tell whether it holds
    longer : so many times as long as the first was the longest run that was to decide
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
    sides: tuple[tuple[Value, Value], ...] = ()
    nearest: float | None = None
    margin: float | None = None
    beyond: tuple[str, ...] = ()
    undecided: tuple[tuple[float, float], ...] = ()
    longer: float = 1.0


def year(value: float | None) -> str:
    """Write a year, and the tenth of it where it is not whole; none is a dash.

    >>> year(2024.0), year(2024.46), year(None)
    ('2024', '2024.5', '-')
    """
    return NOTHING if value is None else f"{value:.1f}".removesuffix(".0")


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
        return [_columns(self.searches)] if any(each.crossings or each.undecided for each in self.searches) else []


def _question(cases: Sequence[ConditionSearch]) -> Iterator[str]:
    """Write a question of several cases once, and a line for each."""
    first = cases[0]
    if len(cases) == 1:
        yield f"- {escape(search_text(first))}"
        return
    yield f"- {escape(f'{first.name}{_along(first)}: {first.condition}, looked at {_ends(first)}{_beyond(first)}')}"
    for each in cases:
        said = _said(each) if each.crossings else _none(each, _ends(each))
        yield f"  - {escape(f'{each.case}: {said}{_gaps(each)}{_effort(each)}')}"


def search_text(found: ConditionSearch) -> str:
    """Say in one line where a condition starts or stops holding, or why it does nowhere."""
    who, ends, gaps = f"{found.name}, {found.case}{_along(found)}: {found.condition}", _ends(found), _gaps(found)
    said = f"{_said(found)} (looked at {ends}{gaps})" if found.crossings else f"{_none(found, ends)}{gaps}"
    return f"{who} {said}{_effort(found)}{_beyond(found)}"


def _effort(found: ConditionSearch) -> str:
    return f"; runs up to {found.longer:g} times as long were to decide" if found.longer > 1 else ""


def _along(found: ConditionSearch) -> str:
    return f" along {found.trend}" if found.trend else ""


def _ends(found: ConditionSearch) -> str:
    return f"{found.of} from {_value(found, found.first)} to {_value(found, found.last)}"


def _beyond(found: ConditionSearch) -> str:
    return f"; used outside their periods: {', '.join(found.beyond)}" if found.beyond else ""


def _said(found: ConditionSearch) -> str:
    return ", ".join([*(_crossing(found, each) for each in found.crossings), *_undecided(found)])


def _undecided(found: ConditionSearch) -> Iterator[str]:
    for first, last in found.undecided:
        yield f"undecided {'at' if first == last else 'from'} {_value(found, first)}" + (
            "" if first == last else f" to {_value(found, last)}"
        )


def _crossing(found: ConditionSearch, each: Crossing) -> str:
    if each.before is not None:
        return _single(found, each)
    ends = (each.low, each.high)
    lead = "" if found.of == _YEAR else f"{found.of} = "
    at = (
        bracketed(year(each.value), *map(year, ends))
        if found.of == _YEAR
        else quantity(each.value, found.unit, 6, ends)
    )
    jump = ", by a jump" if each.jump else ""
    return f"holds from {lead}{at} on{jump}" if each.starts else f"holds up to {lead}{at}{jump}"


def _single(found: ConditionSearch, each: Crossing) -> str:
    """Say where a condition that is seen at single values changes, or between which of them it does."""
    value, before = _value(found, each.value), _value(found, each.before)
    at = f"{found.of} = {value}" if found.of != _YEAR else value
    if each.low == each.high:
        return (
            f"holds from {at} on, not yet at {before}" if each.starts else f"holds up to {before}, not any more at {at}"
        )
    low, high = _value(found, each.low), _value(found, each.high)
    sure = f"holds from {found.of} = {high} on" if each.starts else f"holds not any more from {found.of} = {high} on"
    return f"{sure} and is undecided from {low} on, where it seems to {'start' if each.starts else 'stop'} at {value}"


def _none(found: ConditionSearch, ends: str) -> str:
    """Give the reason why nothing changes: both ends, and the nearest approach."""
    if found.nearest is None or found.margin is None:
        return f"has no answer anywhere for {ends}"
    holds = "holds throughout" if found.holds_first or found.holds_last else "holds nowhere"
    if found.undecided:
        holds = f"is {', '.join(_undecided(found))} and changes nowhere else"
    first, last, near = map(_sides, found.sides)
    at = _value(found, found.nearest)
    approach = f"it comes nearest to changing at {at}, with {near}, {percent(found.margin)} apart"
    return f"{holds} for {ends}: {first} at one end and {last} at the other; {approach}"


def _sides(pair: tuple[Value, Value]) -> str:
    left, right = (quantity(each.value, each.unit, ends=(each.low, each.high)) for each in pair)
    return f"{left} against {right}"


def _value(found: ConditionSearch, value: float | None) -> str:
    return year(value) if found.of == _YEAR else quantity(value, found.unit, 6)


def _gaps(found: ConditionSearch) -> str:
    missing = [name for name, holds in (("first", found.holds_first), ("last", found.holds_last)) if holds is None]
    return f", without an answer at the {' and the '.join(missing)}" if missing and found.nearest is not None else ""


def _columns(searches: Sequence[ConditionSearch]) -> dict[str, Any]:
    rows: list[tuple[ConditionSearch, float | None, float | None, float | None, str]] = []
    for each in searches:
        for crossing in each.crossings:
            holds = "from there" if crossing.starts else "until there"
            rows.append((each, crossing.value, crossing.low, crossing.high, holds))
        rows += [(each, None, first, last, "undecided") for first, last in each.undecided]
    found, at, low, high, words = zip(*rows, strict=True)
    ends = {"low at": low, "high at": high} if any(each is not None for each in low) else {}
    return {
        "sweep": ["seek"] * len(rows),
        "case": [each.case for each in found],
        "trend": [each.trend or None for each in found],
        "sought": [each.name for each in found],
        "at": at,
        **ends,
        "unit": [each.unit for each in found],
        "holds": words,
    }


def _answer(found: ConditionSearch) -> Answer:
    point: dict[str, float | str] = {"case": found.case, "seek": found.name}
    values = {
        f"{'starts' if each.starts else 'stops'}.{index}": Value(each.value, found.unit, each.low, each.high)
        for index, each in enumerate(found.crossings)
    }
    for index, (first, last) in enumerate(found.undecided):
        values[f"undecided.{index}"] = Value(None, found.unit, first, last)
    return Answer("seek", "search", values=values, point=point, notes=(search_text(found),))
