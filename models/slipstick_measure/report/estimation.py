"""Parameters estimated from rows: how well left-out groups are predicted first, then the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from slipstick.answer import Value
from slipstick.report.formatting import TextBlock, TextTable, percent, terminal_blocks
from slipstick_measure.report.measured import INDENT, amount
from slipstick_measure.results import EstimatedParameter, Estimation, GroupError

IDENTIFIED = 0.7
"""Part of the prior's standard deviation above which the rows hardly say anything of a
parameter."""

FEW_GROUPS = 5

MOST_WIDENED = 3.0
"""Factor of the spread at which widening ends."""


def estimation_text(found: Estimation) -> str:
    """Write an estimation for the terminal."""
    return terminal_blocks(estimation_blocks(found), INDENT)


def estimation_blocks(found: Estimation) -> Iterator[TextBlock]:
    """Yield what a person needs first, the errors by group, the parameters, their owners, notes."""
    yield estimation_sentences(found)
    if found.groups:
        yield group_table(found.groups, found.by)
        yield [f"{each.name}: {reason}." for each in found.groups for reason in each.reasons]
    yield parameter_table(found.parameters)
    yield _owner_table(found.parameters)
    yield [
        f"{each.path} of {each.owner or 'all rows'}: "
        + ", ".join(
            f"{text} {percent(weight)}"
            for text, weight in zip(each.texts, each.weights, strict=True)
        )
        + "."
        for each in found.choices
    ]
    yield [f"note: {each}" for each in _notes(found)]


def estimation_sentences(found: Estimation) -> list[str]:
    """Return how well groups that were left out are predicted, and what intervals hold."""
    values = ", ".join(found.measured)
    first = (
        f"{found.model} was held against {found.rows} rows of {values}; the median error on them is"
        f" {percent(found.fitted_error, 2)}."
    )
    if not found.groups:
        alone = (
            "Nothing was left out, so this says nothing of the error elsewhere: name the columns"
            " whose groups are to be left out whole, such as the machine."
        )
        return [first, alone]
    lines = [first]
    errors = [each.median for each in found.groups]
    count = sum(each.rows for each in found.groups)
    held = sum(each.coverage * each.rows for each in found.groups) / count
    width = median(each.width for each in found.groups)
    lines.append(
        f"Each of {len(errors)} groups left out whole and predicted by the others: median error"
        f" {percent(median(errors), 2)}, from {percent(min(errors), 2)} to"
        f" {percent(max(errors), 2)}."
    )
    lines.append(
        f"Intervals of 90 % hold {percent(held, 2)} of the rows left out; in the median their high"
        f" end is {width:.2f} times the low one."
    )
    if found.widened >= MOST_WIDENED:
        lines.append(
            "No spread of parameters explains the groups left out: something is missing in the"
            " model, so do not use it for a new group."
        )
    elif found.widened > 1:
        worst = min(found.groups, key=_coverage)
        lines.append(
            f"That is too few, so the spread of parameters is taken {found.widened:.2g} times as"
            f" large from here on; {worst.name} fell outside most often."
        )
    weak = [each for each in found.groups if each.coverage < 0.6]
    if weak and found.widened <= 1:
        names = ", ".join(each.name for each in weak)
        lines.append(f"Of {names} fewer than 6 of 10 rows are held: do not trust it there.")
    return lines


def _coverage(group: GroupError) -> float:
    return group.coverage


def group_table(groups: Sequence[GroupError], by: Sequence[str]) -> TextTable:
    """Put the errors on left-out groups beside one another."""
    head = [" ".join(by) or "group", "rows", "median", "with sign", "90 % below", "worst"]
    rows = [
        [
            each.name,
            str(each.rows),
            percent(each.median, 2),
            f"{100 * each.bias:+.1f} %",
            percent(each.ninth, 2),
            percent(each.worst, 2),
            percent(each.coverage, 2),
            f"{each.width:.2f}",
        ]
        for each in groups
    ]
    return TextTable([*head, "held", "high / low"], rows, range(1, 8))


def parameter_table(parameters: Sequence[EstimatedParameter]) -> TextTable:
    """Put the parameters beside what was known of them before."""
    rows = [
        [
            each.path,
            amount(Value(each.value, each.unit)),
            _range(each.low, each.high, each.unit),
            _range(each.least, each.most, each.unit),
            "hardly" if each.kept > IDENTIFIED else "yes",
        ]
        for each in parameters
    ]
    head = ["parameter", "value", "between", "before", "told by the rows"]
    return TextTable(head, rows, [1, 2, 3])


def _range(low: float, high: float, unit: str) -> str:
    return f"{amount(Value(low, unit))} to {amount(Value(high, unit))}"


def _owner_table(parameters: Sequence[EstimatedParameter]) -> TextTable | str:
    """Put the factors of owners in a column for each parameter."""
    owned = [each for each in parameters if each.owners]
    names = list(dict.fromkeys(owner.owner for each in owned for owner in each.owners))
    if not names:
        return ""
    rows = []
    for name in names:
        factors = [{owner.owner: owner.factor for owner in each.owners} for each in owned]
        rows.append([name, *(f"{each[name]:.2f}" if name in each else "" for each in factors)])
    head = ["times the value", *(each.path.rpartition(".")[2] for each in owned)]
    return TextTable(head, rows, range(1, len(head)))


def _notes(found: Estimation) -> Iterator[str]:
    """Yield what the rows do not tell, what is assumed, and what is not used."""
    weak = [each.path for each in found.parameters if each.kept > IDENTIFIED]
    if weak:
        yield f"the rows do not tell {', '.join(weak)}: what was known before stays"
    outside = [each.path for each in found.parameters if not each.least <= each.value <= each.most]
    if outside:
        yield (
            f"{', '.join(outside)} came out beyond what was thought before: is something missing"
            " in the model, or is the range wrong?"
        )
    owners = {owner.owner for each in found.parameters for owner in each.owners}
    if owners and len(found.groups) < FEW_GROUPS:
        yield (
            "with fewer than five groups the spread between groups is mostly assumed: 0.3 in"
            " logarithms, a factor of 1.35 either way"
        )
    if found.score is not None:
        yield (
            f"mean interval score of the logarithms {found.score:.3g}; by the errors of the other"
            f" groups alone {found.simple_score:.3g}"
        )
    noise = ", ".join(
        f"{name} {percent(each, 2)}" for name, each in zip(found.measured, found.noise, strict=True)
    )
    yield f"noise of the rows: {noise}"
    if found.ignored:
        yield f"not used: {', '.join(found.ignored)}"
