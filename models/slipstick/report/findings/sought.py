"""Where conditions start or stop holding, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slipstick.report.findings.projection import year
from slipstick.report.words import escape, percent, quantity
from slipstick.results.outlook import Crossing, Sought

__all__ = ["sought_section", "sought_text"]

_YEAR = "year"


def sought_section(found: Sequence[Sought]) -> str:
    """Write where conditions start or stop holding; none give no section."""
    if not found:
        return ""
    asked = {each.name: [one for one in found if one.name == each.name] for each in found}
    lines = [line for cases in asked.values() for line in _question(cases)]
    return "\n\n".join(["## Where conditions hold", "\n".join(lines)])


def _question(cases: Sequence[Sought]) -> Iterator[str]:
    """Write a question of several cases once, and a line for each."""
    first = cases[0]
    if len(cases) == 1:
        yield f"- {escape(sought_text(first))}"
        return
    yield f"- {escape(f'{first.name}{_along(first)}: {first.condition}, looked at {_ends(first)}{_beyond(first)}')}"
    for each in cases:
        said = _said(each) if each.crossings else _none(each, _ends(each))
        yield f"  - {escape(f'{each.case}: {said}{_gaps(each)}')}"


def sought_text(found: Sought) -> str:
    """Say in one line where a condition starts or stops holding, or why it does nowhere."""
    who, ends, gaps = f"{found.name}, {found.case}{_along(found)}: {found.condition}", _ends(found), _gaps(found)
    said = f"{_said(found)} (looked at {ends}{gaps})" if found.crossings else f"{_none(found, ends)}{gaps}"
    return f"{who} {said}{_beyond(found)}"


def _along(found: Sought) -> str:
    return f" along {found.trend}" if found.trend else ""


def _ends(found: Sought) -> str:
    return f"{found.of} from {_value(found, found.first)} to {_value(found, found.last)}"


def _beyond(found: Sought) -> str:
    return f"; used outside their periods: {', '.join(found.beyond)}" if found.beyond else ""


def _said(found: Sought) -> str:
    return ", ".join(_crossing(found, each) for each in found.crossings)


def _crossing(found: Sought, each: Crossing) -> str:
    at = f"{found.of} = {_value(found, each.value)}" if found.of != _YEAR else year(each.value)
    if each.before is not None:
        before = _value(found, each.before)
        return (
            f"holds from {at} on, not yet at {before}" if each.starts else f"holds up to {before}, not any more at {at}"
        )
    jump = ", by a jump" if each.jump else ""
    return f"holds from {at} on{jump}" if each.starts else f"holds up to {at}{jump}"


def _none(found: Sought, ends: str) -> str:
    """Give the reason why nothing changes: both ends, and the nearest approach."""
    if found.nearest is None or found.margin is None:
        return f"has no answer anywhere for {ends}"
    holds = "holds throughout" if found.holds_first or found.holds_last else "holds nowhere"
    first, last, near = (_sides(found, pair) for pair in found.sides)
    at = _value(found, found.nearest)
    approach = f"it comes nearest to changing at {at}, with {near}, {percent(found.margin)} apart"
    return f"{holds} for {ends}: {first} at one end and {last} at the other; {approach}"


def _sides(found: Sought, pair: tuple[float, float]) -> str:
    left, right = (quantity(each, found.side_unit) for each in pair)
    return f"{left} against {right}"


def _value(found: Sought, value: float) -> str:
    return year(value) if found.of == _YEAR else quantity(value, found.unit, 6)


def _gaps(found: Sought) -> str:
    missing = [name for name, holds in (("first", found.holds_first), ("last", found.holds_last)) if holds is None]
    return f", without an answer at the {' and the '.join(missing)}" if missing and found.nearest is not None else ""
