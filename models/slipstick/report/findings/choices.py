"""What changes do to the overhead, alone and in pairs, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.report.words import NOTHING, escape, markdown_table, percent, prose, quantity
from slipstick.results.outlook import Choice, Effect, Pair

__all__ = ["choice_text", "choices_section"]

_MOST_PAIRS = 10
_READING = (
    "Overhead: the time of a processor that is not useful. Overhead reduction: 1 - after / before. A pair gains more than the "
    "sum of its changes where one makes room for the other, and less where both take away the same."
)


def choices_section(found: Sequence[Choice]) -> str:
    """Write what changes do, case by case and technology by technology; none give no section."""
    return "\n\n".join(["## Changes", prose(_READING), *map(_part, found)]) if found else ""


def choice_text(found: Choice) -> str:
    """Say in one line what to change."""
    return f"{_where(found)}: {_verdict(found)}"


def _where(found: Choice) -> str:
    return f"{found.case} under {found.under}" if found.under else found.case


def _part(found: Choice) -> str:
    before = f"Before: {quantity(found.time, 's')}, of which {quantity(found.overhead, 's')} are overhead."
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


def _row(each: Effect) -> list[str]:
    return [
        escape(each.name),
        _cost(each.cost),
        quantity(each.time, "s") if not each.failed else NOTHING,
        quantity(each.overhead, "s") if not each.failed else NOTHING,
        percent(each.saved),
        percent(each.reduction),
    ]


def _cost(cost: float | None) -> str:
    return NOTHING if cost is None else f"{cost:g}"


def _verdict(found: Choice) -> str:
    best = max(found.effects, key=lambda each: each.reduction or 0.0)
    if not best.reduction or best.reduction <= 0:
        return "no change takes overhead away"
    words = f"{best.name} takes away the most overhead of all single changes, {percent(best.reduction)}"
    pair = next((each for each in found.pairs if each.affordable), None)
    budget = "" if found.budget is None else f" within {found.budget:g}"
    if pair is None:
        return words + (f"; no pair costs less than {found.budget:g}" if found.budget is not None else "")
    return f"{words}; the best pair{budget} is {pair.effect.name}, {percent(pair.effect.reduction)} ({_together(pair)})"


def _together(pair: Pair) -> str:
    gain = pair.effect.reduction or 0.0
    if abs(gain - pair.apart) < 5e-4:
        return "as much as the two gain apart"
    return f"{'more' if gain > pair.apart else 'less'} than the {percent(pair.apart)} that the two gain apart"


def _pairs(found: Choice) -> str:
    rows = [
        [
            escape(each.effect.name),
            _cost(each.effect.cost),
            "yes" if each.affordable else "no",
            percent(each.effect.reduction),
            percent(each.apart),
            percent(round((each.effect.reduction or 0.0) - each.apart, 12), signed=True),
        ]
        for each in found.pairs[:_MOST_PAIRS]
    ]
    head = ["pair", "cost", "within the budget", "overhead reduction", "sum of the two", "difference"]
    return markdown_table(head, rows, [1, 3, 4, 5]) if rows else ""
