"""Where conditions start or stop holding, in words."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.report.findings.projection import year
from slipstick.report.words import escape, percent, quantity
from slipstick.results.outlook import Crossing, Sought

__all__ = ["sought_section", "sought_text"]

_YEAR = "year"


def sought_section(found: Sequence[Sought]) -> str:
    """Write where conditions start or stop holding; none give no section."""
    if not found:
        return ""
    return "\n\n".join(["## Where conditions hold", "\n".join(f"- {escape(sought_text(each))}" for each in found)])


def sought_text(found: Sought) -> str:
    """Say in one line where a condition starts or stops holding, or why it does nowhere."""
    along = f" along {found.trend}" if found.trend else ""
    who = f"{found.name}, {found.case}{along}: {found.condition}"
    ends = f"{found.of} from {_value(found, found.first)} to {_value(found, found.last)}"
    gaps = _gaps(found)
    if found.crossings:
        said = ", ".join(_crossing(found, each) for each in found.crossings)
        text = f"{who} {said} (looked at {ends}{gaps})"
    else:
        text = f"{who} {_none(found, ends)}{gaps}"
    return f"{text}; used outside their periods: {', '.join(found.beyond)}" if found.beyond else text


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
