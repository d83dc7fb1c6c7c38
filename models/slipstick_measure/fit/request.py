"""What is to be estimated, as written on the command line or in a study, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.library import Library
from slipstick.schema.text import Scalar
from slipstick.units import show, to_base
from slipstick_measure.fit.columns import (
    ColumnTable,
    ColumnUse,
    Observed,
    observe,
    read_columns,
    sorted_with_parameters_first,
)
from slipstick_measure.fit.estimation import EstimationTask, FreeParameter, UnknownChoice

GROUP_OWNER = "group"
"""The owner that is the combination of the columns that are left out together."""

DEFAULT_RANGE_FACTOR = 100.0
"""Factor on each side of the model's own value within which a parameter without a range lies."""


@dataclass(frozen=True)
class EstimationRequest:
    """What to estimate, and the file with the rows.

    Parameters
    ----------
    path : the table
    settings : the model, and what is the same in all rows
    free : parameters as written: ``path=low..high@owner+owner``, range and owners optional
    uses : how columns are used, by heading
    choices : likewise ``path=value|value@owner+owner``
    groups : columns; all rows with the same cells in them are left out together, to test the fit
    rows : values of columns that rows must have
    fitted_to : values, by column, of the rows that are fitted; all other rows are predicted
    noise : of the rows, where nothing is fitted [log]
    beyond : column of numbers; intervals of predictions get wider outside of the range of its
        fitted rows
    """

    path: Path | str
    settings: Settings
    free: Sequence[Scalar]
    uses: Mapping[str, ColumnUse] = field(default_factory=dict)
    choices: Sequence[Scalar] = ()
    groups: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fitted_to: Mapping[str, Sequence[str]] = field(default_factory=dict)
    noise: float | None = None
    beyond: str = ""


def prepare_estimation(request: EstimationRequest, library: Library) -> EstimationTask:
    """Read the rows, build their models, and check the parameters to estimate. Return the task of
    the estimation.

    Raises
    ------
    SpecError : everything that is wrong, each at its place
    """
    table = read_columns(request.path).select(request.rows)
    parsed_parameters = [
        _split_free_parameter(scalar) for scalar in (*request.free, *request.choices)
    ]
    owners = list(
        dict.fromkeys(
            owner for parsed_parameter in parsed_parameters for owner in parsed_parameter.owners
        )
    )
    groups = list(request.groups) or [owner for owner in owners if owner in table.headings]
    table = _with_group_column(table, groups)
    owner_columns = [owner for owner in (*owners, GROUP_OWNER) if owner in table.headings]
    fitted_columns = [*request.fitted_to, *([request.beyond] if request.beyond else [])]
    group_headings = dict.fromkeys(
        [
            *groups,
            *owner_columns,
            *(heading for heading in fitted_columns if heading in table.headings),
        ]
    )
    observed = observe(table, request.uses, request.settings, library, list(group_headings))
    parsed_parameters = [
        _with_full_path(parsed_parameter, observed) for parsed_parameter in parsed_parameters
    ]
    problems: list[Problem] = []
    free: dict[str, FreeParameter] = {}
    choices: list[UnknownChoice] = []
    for index, parsed_parameter in enumerate(parsed_parameters):
        try:
            _check_owners(parsed_parameter, table)
            if index >= len(request.free):
                choices.append(_parse_choice(parsed_parameter, observed))
                continue
            parameter = _parse_free_parameter(parsed_parameter, observed)
            if parameter.path in free:
                raise parsed_parameter.error(
                    f"{parameter.path} stands twice among the free parameters"
                )
            free[parameter.path] = parameter
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    chosen_rows = table.chosen(request.fitted_to) if request.fitted_to else ()
    sizes = _numbers_of_column(table, request.beyond) if request.beyond else ()
    return EstimationTask(
        observed,
        tuple(free.values()),
        tuple(choices),
        tuple(groups),
        tuple(chosen_rows),
        request.noise,
        tuple(sizes),
    )


def _numbers_of_column(table: ColumnTable, heading: str) -> list[float]:
    """Return the numbers in a column; raise if a cell is not a number."""
    if heading not in table.headings:
        raise table.mark(0).error(
            f"no column is called {heading!r}{did_you_mean(heading, list(table.headings))}"
        )
    try:
        return [float(cell) for cell in table.column(heading)]
    except ValueError as error:
        raise table.mark(0).error(f"column {heading} is to hold plain numbers: {error}") from None


@dataclass(frozen=True)
class _ParsedParameter:
    """A free parameter or a choice as it is written, split into its path, the text of its values
    and its owners.
    """

    written: Scalar
    path: str
    values_text: str
    owners: tuple[str, ...]

    def error(self, message: str) -> SpecError:
        """Return an error with a message, at the place where the parameter is written."""
        return self.written.mark.error(message, "free")


def _split_free_parameter(scalar: Scalar) -> _ParsedParameter:
    """Split a free parameter as written into its path, the text of its values, and its owners: the
    columns, such as machines, for each cell of which it has a value of its own.
    """
    text, _, owners_text = str(scalar.value).partition("@")
    path, _, values_text = text.partition("=")
    owners = tuple(owner.strip() for owner in owners_text.split("+") if owner.strip())
    return _ParsedParameter(scalar, path.strip(), values_text.strip(), owners)


def _with_full_path(parsed_parameter: _ParsedParameter, observed: Observed) -> _ParsedParameter:
    """Return a free parameter with its full path if it is written by its name alone."""
    path = f"parameters.{parsed_parameter.path}"
    known_paths = observed.built.entries
    return (
        replace(parsed_parameter, path=path)
        if parsed_parameter.path not in known_paths and path in known_paths
        else parsed_parameter
    )


def _with_group_column(table: ColumnTable, groups: Sequence[str]) -> ColumnTable:
    """Return the table with a column that joins the cells of the columns whose groups are left
    out.
    """
    missing_columns = [group for group in groups if group not in table.headings]
    if missing_columns or GROUP_OWNER in table.headings or not groups:
        return table
    columns = [table.column(group) for group in groups]
    rows = tuple((*row, " ".join(cells)) for row, *cells in zip(table.rows, *columns, strict=True))
    return replace(table, headings=(*table.headings, GROUP_OWNER), rows=rows)


def _check_owners(parsed_parameter: _ParsedParameter, table: ColumnTable) -> None:
    """Raise if an owner of a parameter is no column of the table."""
    for owner in parsed_parameter.owners:
        if owner not in table.headings:
            hint = did_you_mean(owner, list(table.headings))
            raise parsed_parameter.error(
                f"there is no column {owner!r} that could own {parsed_parameter.path}{hint};"
                f" {GROUP_OWNER}"
                " is what"
                " is left out together"
            )


def _checked_model_value(parsed_parameter: _ParsedParameter, observed: Observed) -> Given:
    """Return the model's own value of a parameter to estimate; raise if it cannot be free."""
    described_values = observed.built.entries
    if parsed_parameter.path not in described_values:
        hint = did_you_mean(
            parsed_parameter.path, sorted_with_parameters_first(observed.built.parameters)
        )
        raise parsed_parameter.error(
            f"no number of {observed.built.name} is called {parsed_parameter.path!r}{hint}"
        )
    if parsed_parameter.path in observed.numbers:
        raise parsed_parameter.error(
            f"{parsed_parameter.path} comes from the rows, so it cannot be free"
        )
    if not observed.built.are_free([parsed_parameter.path]):
        raise parsed_parameter.error(
            f"no answer of {observed.built.name} depends continuously on {parsed_parameter.path}"
        )
    return described_values[parsed_parameter.path].given


def _parse_free_parameter(parsed_parameter: _ParsedParameter, observed: Observed) -> FreeParameter:
    """Return a free parameter with its prior range (5 % to 95 %): the range in the request, else
    the range in the model file, else its value divided and multiplied by `DEFAULT_RANGE_FACTOR`.
    """
    model_value = _checked_model_value(parsed_parameter, observed)
    low, range_sign, high = parsed_parameter.values_text.partition("..")
    if parsed_parameter.values_text and not (range_sign and low.strip() and high.strip()):
        raise parsed_parameter.error(
            f"write {parsed_parameter.path}=low..high, between which it lies in 9 of 10 cases; got"
            f" {parsed_parameter.values_text!r}"
        )
    if not parsed_parameter.values_text:
        if model_value.low and model_value.high:
            return FreeParameter(
                parsed_parameter.path, model_value.low, model_value.high, parsed_parameter.owners
            )
        if not model_value.value > 0:
            raise parsed_parameter.error(
                f"{parsed_parameter.path} is {model_value}, which says nothing of its size; write"
                f" {parsed_parameter.path}=low..high"
            )
        return FreeParameter(
            parsed_parameter.path,
            model_value.value / DEFAULT_RANGE_FACTOR,
            model_value.value * DEFAULT_RANGE_FACTOR,
            parsed_parameter.owners,
        )
    try:
        lower_limit, upper_limit = (
            to_base(end_text.strip(), model_value.dimension) for end_text in (low, high)
        )
    except UnitError as error:
        raise parsed_parameter.error(str(error)) from None
    if not (0 < lower_limit < upper_limit and isfinite(upper_limit)):
        raise parsed_parameter.error(
            f"{parsed_parameter.path} is free from {low.strip()} to {high.strip()}: the first"
            " must be above 0"
            " and less than the second"
        )
    return FreeParameter(parsed_parameter.path, lower_limit, upper_limit, parsed_parameter.owners)


def _parse_choice(parsed_parameter: _ParsedParameter, observed: Observed) -> UnknownChoice:
    """Return a choice: a parameter with the possible values among which the fit chooses."""
    model_value = _checked_model_value(parsed_parameter, observed)
    texts = tuple(text.strip() for text in parsed_parameter.values_text.split("|"))
    try:
        choice_values = tuple(to_base(text, model_value.dimension) for text in texts)
    except UnitError as error:
        raise parsed_parameter.error(str(error)) from None
    if len(choice_values) < 2:
        raise parsed_parameter.error(
            "a choice has two values or more:"
            f" {parsed_parameter.path}={show(model_value.value, model_value.dimension)}|..."
        )
    return UnknownChoice(parsed_parameter.path, choice_values, texts, parsed_parameter.owners)
