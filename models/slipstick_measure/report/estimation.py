"""Parameters estimated from rows: how well left-out groups are predicted first, then the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from statistics import median

from slipstick.answer import Value
from slipstick.report.formatting import TextBlock, TextTable, percent, terminal_blocks, with_noun
from slipstick_measure.report.measured import INDENT, amount_text
from slipstick_measure.results import EstimatedParameter, Estimation, GroupError

LARGEST_POSTERIOR_RATIO = 0.7
"""Standard deviation of a posterior over that of its prior up to which the rows determine a
parameter well; above it they hardly say anything of it.
"""

FEWEST_GROUPS_WITH_STATISTICS = 5

WIDEST_PREDICTION_RATIO = 4.0
"""High over low above which a prediction is of no use."""

LARGEST_WIDENING = 3.0
"""Factor of the spread at which widening ends."""


def estimation_text(estimation: Estimation) -> str:
    """Return the results of an estimation as text for the terminal."""
    return terminal_blocks(estimation_blocks(estimation), INDENT)


def estimation_blocks(estimation: Estimation, split_text: str = "") -> Iterator[TextBlock]:
    """Yield the blocks of an estimation: the main findings, the errors by group, the parameters,
    their owners, and the notes.
    """
    yield estimation_sentences(estimation, split_text)
    if estimation.groups:
        yield group_table(estimation.groups, estimation.by)
        yield [
            f"{group.name}: {reason}." for group in estimation.groups for reason in group.reasons
        ]
    yield parameter_table(estimation.parameters)
    yield _owner_table(estimation.parameters)
    yield [
        f"{choice.path} of {choice.owner or 'all rows'}: "
        + ", ".join(
            f"{value_text} {percent(weight)}"
            for value_text, weight in zip(choice.texts, choice.weights, strict=True)
        )
        + "."
        for choice in estimation.choices
    ]
    yield [f"note: {note}" for note in _notes_on_parameters(estimation)]


def estimation_sentences(estimation: Estimation, split_text: str = "") -> list[str]:
    """Return sentences on how well groups that were left out are predicted, and how many rows lie
    in their intervals.

    Parameters
    ----------
    estimation : what was found
    split_text : how the groups were predicted, if not each by a fit to all others
    """
    measured_names = ", ".join(estimation.measured)
    first_sentence = (
        f"{estimation.model} was compared with {with_noun(estimation.rows, 'row')} of"
        f" {measured_names}; its median error is {percent(estimation.fitted_error, 2)}."
    )
    if estimation.ignored_numbers:
        first_sentence += (
            f" The numbers of {', '.join(estimation.ignored_numbers)} differ between rows and are"
            " not used."
        )
    if not estimation.groups:
        no_groups_sentence = (
            "No group was left out, so the error on new groups is unknown: name the columns whose"
            " groups are left out in turn, such as the machine."
        )
        return [first_sentence, no_groups_sentence]
    sentences = [first_sentence]
    median_errors = [group.median for group in estimation.groups]
    row_count = sum(group.rows for group in estimation.groups)
    coverage = sum(group.coverage * group.rows for group in estimation.groups) / row_count
    interval_ratio = median(group.width for group in estimation.groups)
    groups_text = with_noun(len(median_errors), "group")
    prediction_clause = f"Each of {groups_text} predicted from the others"
    rows_noun = "predicted rows"
    if split_text:
        prediction_clause = f"{groups_text} ({split_text})"
        rows_noun = "rows"
    sentences.append(
        f"{prediction_clause}: median error {percent(median(median_errors), 2)}, from"
        f" {percent(min(median_errors), 2)} to"
        f" {percent(max(median_errors), 2)}."
    )
    sentences.append(
        f"Intervals of 90 % contain {percent(coverage, 2)} of the {rows_noun}; in the median,"
        " the upper"
        f" end is {_ratio_text(interval_ratio)} times the lower end."
    )
    if interval_ratio > WIDEST_PREDICTION_RATIO:
        sentences.append(
            f"An interval whose ends differ by more than a factor of {WIDEST_PREDICTION_RATIO:g}"
            " is of no use;"
            " measure some rows of the new group, and fit them with the others."
        )
    if estimation.widened >= LARGEST_WIDENING:
        sentences.append(
            "No spread of parameters explains the groups left out: something is missing in the"
            " model, so do not use it for a new group."
        )
    elif estimation.widened > 1:
        sentences.append(_widening_sentence(estimation))
    weak_groups = [group for group in estimation.groups if group.coverage < 0.6]
    if weak_groups and estimation.widened < LARGEST_WIDENING:
        weak_group_names = ", ".join(group.name for group in weak_groups)
        sentences.append(
            f"Intervals contain fewer than 6 of 10 rows of: {weak_group_names}. Do not trust the"
            " model there."
        )
    return sentences


def _ratio_text(ratio: float) -> str:
    """Return a ratio of the ends of an interval as text; a ratio that is too large to be of use is
    written by its magnitude.
    """
    return f"{ratio:.2f}" if ratio < 1000 else f"over 10^{int(log10(ratio))}"


def _widening_sentence(estimation: Estimation) -> str:
    """Return a sentence on the factor by which intervals were widened because of the errors on
    left-out groups.
    """
    factor_texts = [f"{group.widened:.2f}" for group in estimation.groups]
    smallest_factor, largest_factor = min(factor_texts), max(factor_texts)
    if largest_factor == "1.00":
        return (
            "That is too few, so the intervals of later answers are widened"
            f" {estimation.widened:.2f} times in logarithms."
        )
    range_text = (
        smallest_factor
        if smallest_factor == largest_factor
        else f"{smallest_factor} to {largest_factor}"
    )
    return (
        "The errors of other groups, left out in turn, widen the intervals of each group"
        f" {range_text} times in logarithms; the intervals of later answers are widened"
        f" {estimation.widened:.2f} times."
    )


def group_table(groups: Sequence[GroupError], group_columns: Sequence[str]) -> TextTable:
    """Build the table of the errors and interval coverage of each predicted group."""
    headings = [
        " ".join(group_columns) or "group",
        "rows",
        "median",
        "with sign",
        "90 % below",
        "worst",
    ]
    rows = [
        [
            group.name,
            str(group.rows),
            percent(group.median, 2),
            f"{100 * group.bias:+.1f} %",
            percent(group.ninth, 2),
            percent(group.worst, 2),
            percent(group.coverage, 2),
            _ratio_text(group.width),
        ]
        for group in groups
    ]
    return TextTable([*headings, "held", "high / low"], rows, range(1, 8))


def parameter_table(parameters: Sequence[EstimatedParameter]) -> TextTable:
    """Build the table of estimated parameters with their intervals, and their ranges before the
    fit.
    """
    rows = [
        [
            parameter.path,
            amount_text(Value(parameter.value, parameter.unit)),
            _range_text(parameter.low, parameter.high, parameter.unit),
            _range_text(parameter.least, parameter.most, parameter.unit),
            "weak" if parameter.kept > LARGEST_POSTERIOR_RATIO else "good",
        ]
        for parameter in parameters
    ]
    headings = ["parameter", "value", "between", "before", "identifiability"]
    return TextTable(headings, rows, [1, 2, 3])


def _range_text(low: float, high: float, unit: str) -> str:
    """Return the ends of a range with their unit as text."""
    return f"{amount_text(Value(low, unit))} to {amount_text(Value(high, unit))}"


def _owner_table(parameters: Sequence[EstimatedParameter]) -> TextTable | str:
    """Build the table of the factors by which an owner's value differs from the common one: a row
    for each owner, a column for each parameter. An empty text without owners.
    """
    owned_parameters = [parameter for parameter in parameters if parameter.owners]
    owner_names = list(
        dict.fromkeys(
            owner_factor.owner
            for parameter in owned_parameters
            for owner_factor in parameter.owners
        )
    )
    if not owner_names:
        return ""
    rows = []
    for owner_name in owner_names:
        factors_of_parameters = [
            {owner_factor.owner: owner_factor.factor for owner_factor in parameter.owners}
            for parameter in owned_parameters
        ]
        rows.append(
            [
                owner_name,
                *(
                    f"{factor_by_owner[owner_name]:.2f}" if owner_name in factor_by_owner else ""
                    for factor_by_owner in factors_of_parameters
                ),
            ]
        )
    headings = [
        "times the value",
        *(parameter.path.rpartition(".")[2] for parameter in owned_parameters),
    ]
    return TextTable(headings, rows, range(1, len(headings)))


def _notes_on_parameters(estimation: Estimation) -> Iterator[str]:
    """Yield sentences on parameters that the rows do not determine, on assumed values, and on
    unused columns.
    """
    undetermined_paths = [
        parameter.path
        for parameter in estimation.parameters
        if parameter.kept > LARGEST_POSTERIOR_RATIO
    ]
    if undetermined_paths:
        paths_text = ", ".join(undetermined_paths)
        yield f"the rows do not determine {paths_text}; the fit keeps the ranges known before"
    parameters_outside = [
        parameter.path
        for parameter in estimation.parameters
        if not parameter.least <= parameter.value <= parameter.most
    ]
    if parameters_outside:
        yield (
            f"{', '.join(parameters_outside)}: the fitted value is outside the range; is something"
            " missing in the model, or is the range wrong?"
        )
    owner_names = {
        owner_factor.owner
        for parameter in estimation.parameters
        for owner_factor in parameter.owners
    }
    if owner_names and len(estimation.groups) < FEWEST_GROUPS_WITH_STATISTICS:
        yield (
            "with fewer than five groups the spread between groups is mostly assumed: 0.3 in"
            " logarithms, a factor of 1.35 either way"
        )
    if estimation.score is not None:
        yield (
            f"mean interval score of the logarithms {estimation.score:.3g};"
            f" {estimation.simple_score:.3g} with intervals from the errors of the other groups"
            " alone"
        )
    noise_text = ", ".join(
        f"{name} {percent(deviation, 2)}"
        for name, deviation in zip(estimation.measured, estimation.noise, strict=True)
    )
    assumption_clause = "; partly assumed, as hardly a row is left over the parameters"
    yield f"noise of the rows: {noise_text}{assumption_clause if estimation.noise_assumed else ''}"
    for heading, zero_count in estimation.zeros.items():
        yield (
            f"{with_noun(zero_count, 'cell')} of {heading} {'is' if zero_count == 1 else 'are'} 0"
            " and left"
            " out, as errors are relative"
        )
    if estimation.ignored:
        yield f"not used: {', '.join(estimation.ignored)}"
