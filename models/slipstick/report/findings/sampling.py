"""What uncertain quantities make of the answers, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.report.words import code, escape, markdown_table, percent, prose, quantity
from slipstick.results.outlook import Outcome, Sampling

__all__ = ["sampling_section", "sampling_text"]

_READING = (
    "First order: the part of the variance that the quantity causes alone; total: with all that it acts together with. "
    "Their sums differ from 100 % as far as quantities act together, and by what the number of points leaves open. Brackets "
    "hold the 95 % interval of a quantile."
)


def sampling_section(found: Sequence[Sampling]) -> str:
    """Write what was sampled, case by case; none give no section."""
    return "\n\n".join(["## Uncertain quantities", prose(_READING), *map(_part, found)]) if found else ""


def sampling_text(found: Sampling) -> str:
    """Say in a line for each answer how it is distributed."""
    return "\n".join(f"{found.case}: {_sentence(each)}" for each in found.outcomes)


def _part(found: Sampling) -> str:
    drawn = f"{found.samples} {found.draw} points, seed {found.seed}"
    missing = f"; {found.without} have no answer" if found.without else ""
    of = "\n".join(f"- {code(path)}: {escape(words)}" for path, words in found.of.items())
    parts = [f"### {escape(found.case)} by {escape(found.method)}", f"{drawn}{missing}.", of]
    parts.append("\n".join(f"- {escape(_sentence(each))}" for each in found.outcomes))
    return "\n\n".join([*parts, _quantiles(found.outcomes), _influences(found.outcomes)]).strip()


def _sentence(each: Outcome) -> str:
    parts = list(each.quantiles)
    low, high = (quantity(each.quantiles[part][0], each.unit) for part in (parts[0], parts[-1]))
    stated = "" if each.stated is None else f", {quantity(each.stated, each.unit)} as stated"
    cause = ""
    if each.influences:
        first = each.influences[0]
        cause = f"; {first.path} causes the most of the variance, {percent(first.total)} in total"
    elif each.why:
        cause = f"; {each.why}"
    return f"{each.name} lies between {low} and {high} in {percent(parts[-1] - parts[0])} of the points{stated}{cause}"


def _quantiles(outcomes: Sequence[Outcome]) -> str:
    parts = list(outcomes[0].quantiles) if outcomes else []
    rows = [
        [
            escape(each.name),
            quantity(each.stated, each.unit),
            quantity(each.mean, each.unit),
            *(_interval(each, part) for part in parts),
        ]
        for each in outcomes
    ]
    return markdown_table(["value", "as stated", "mean", *map(percent, parts)], rows, [1, 2])


def _interval(each: Outcome, part: float) -> str:
    middle, low, high = each.quantiles[part]
    return f"{quantity(middle, each.unit)} ({quantity(low, each.unit)} to {quantity(high, each.unit)})"


def _influences(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [escape(each.name), code(one.path), percent(one.first_order, 2), percent(one.total, 2)]
        for each in outcomes
        for one in each.influences
    ]
    return markdown_table(["value", "quantity", "first order", "total"], rows, [2, 3]) if rows else ""
