"""What is to be estimated, as written on the command line or in a study, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.late import dataclass, field, replace
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.library import Library
from slipstick.schema.text import Scalar
from slipstick.units import show, to_base
from slipstick_measure.fit.columns import (
    ColumnTable,
    ColumnUse,
    ObservedRows,
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
    free_scalars : parameters as written: ``path=low..high@owner+owner``, range and owners optional
    use_by_heading : how columns are used, by heading
    choices : likewise ``path=value|value@owner+owner``
    group_headings : columns; all rows with the same cells in them are left out together, to test
        the fit
    cells_of_chosen_rows : values of columns that rows must have
    cells_of_fitted_rows : values, by column, of the rows that are fitted; all other rows are
        predicted
    noise : of the rows, where nothing is fitted [log]
    size_heading : column of numbers; intervals of predictions get wider outside of the range of its
        fitted rows
    """

    path: Path | str
    settings: Settings
    free_scalars: Sequence[Scalar]
    use_by_heading: Mapping[str, ColumnUse] = field(default_factory=dict)
    choices: Sequence[Scalar] = ()
    group_headings: Sequence[str] = ()
    cells_of_chosen_rows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cells_of_fitted_rows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    noise: float | None = None
    size_heading: str = ""


def prepare_estimation(request: EstimationRequest, library: Library) -> EstimationTask:
    """Read the rows, build their models, and check the parameters to estimate. Return the task of
    the estimation.

    Raises
    ------
    SpecError : everything that is wrong, each at its place
    """
    table = read_columns(request.path).select(request.cells_of_chosen_rows)
    parsed_parameters = [
        _split_free_parameter(scalar) for scalar in (*request.free_scalars, *request.choices)
    ]
    owner_names = list(
        dict.fromkeys(
            owner
            for parsed_parameter in parsed_parameters
            for owner in parsed_parameter.owner_columns
        )
    )
    group_columns = list(request.group_headings) or [
        owner for owner in owner_names if owner in table.headings
    ]
    table = _with_group_column(table, group_columns)
    owner_columns = [owner for owner in (*owner_names, GROUP_OWNER) if owner in table.headings]
    fitted_columns = [
        *request.cells_of_fitted_rows,
        *([request.size_heading] if request.size_heading else []),
    ]
    owner_headings = dict.fromkeys(
        [
            *group_columns,
            *owner_columns,
            *(heading for heading in fitted_columns if heading in table.headings),
        ]
    )
    observed_rows = observe(
        table, request.use_by_heading, request.settings, library, list(owner_headings)
    )
    parsed_parameters = [
        _with_full_path(parsed_parameter, observed_rows) for parsed_parameter in parsed_parameters
    ]
    problems: list[Problem] = []
    free_by_path: dict[str, FreeParameter] = {}
    choices: list[UnknownChoice] = []
    for parameter_index, parsed_parameter in enumerate(parsed_parameters):
        try:
            _check_owners(parsed_parameter, table)
            if parameter_index >= len(request.free_scalars):
                choices.append(_parse_choice(parsed_parameter, observed_rows))
                continue
            free_parameter = _parse_free_parameter(parsed_parameter, observed_rows)
            if free_parameter.path in free_by_path:
                raise parsed_parameter.error(
                    f"{free_parameter.path} stands twice among the free parameters"
                )
            free_by_path[free_parameter.path] = free_parameter
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    fitted_row_indices = (
        table.chosen_row_indices(request.cells_of_fitted_rows)
        if request.cells_of_fitted_rows
        else ()
    )
    sizes = _numbers_of_column(table, request.size_heading) if request.size_heading else ()
    return EstimationTask(
        observed_rows,
        tuple(free_by_path.values()),
        tuple(choices),
        tuple(group_columns),
        tuple(fitted_row_indices),
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

    scalar: Scalar
    path: str
    values_text: str
    owner_columns: tuple[str, ...]

    def error(self, message: str) -> SpecError:
        """Return an error with a message, at the place where the parameter is written."""
        return self.scalar.mark.error(message, "free")


def _split_free_parameter(scalar: Scalar) -> _ParsedParameter:
    """Split a free parameter as written into its path, the text of its values, and its owners: the
    columns, such as machines, for each cell of which it has a value of its own.
    """
    parameter_text, _, owners_text = str(scalar.value).partition("@")
    path, _, values_text = parameter_text.partition("=")
    owner_columns = tuple(
        owner_column.strip() for owner_column in owners_text.split("+") if owner_column.strip()
    )
    return _ParsedParameter(scalar, path.strip(), values_text.strip(), owner_columns)


def _with_full_path(
    parsed_parameter: _ParsedParameter, observed_rows: ObservedRows
) -> _ParsedParameter:
    """Return a free parameter with its full path if it is written by its name alone."""
    path = f"parameters.{parsed_parameter.path}"
    known_paths = observed_rows.built.entries
    return (
        replace(parsed_parameter, path=path)
        if parsed_parameter.path not in known_paths and path in known_paths
        else parsed_parameter
    )


def _with_group_column(table: ColumnTable, group_columns: Sequence[str]) -> ColumnTable:
    """Return the table with a column that joins the cells of the columns whose groups are left
    out.
    """
    missing_columns = [
        group_column for group_column in group_columns if group_column not in table.headings
    ]
    if missing_columns or GROUP_OWNER in table.headings or not group_columns:
        return table
    cells_by_column = [table.column(group_column) for group_column in group_columns]
    extended_rows = tuple(
        (*row, " ".join(cells)) for row, *cells in zip(table.rows, *cells_by_column, strict=True)
    )
    return replace(table, headings=(*table.headings, GROUP_OWNER), rows=extended_rows)


def _check_owners(parsed_parameter: _ParsedParameter, table: ColumnTable) -> None:
    """Raise if an owner of a parameter is no column of the table."""
    for owner_column in parsed_parameter.owner_columns:
        if owner_column not in table.headings:
            hint = did_you_mean(owner_column, list(table.headings))
            raise parsed_parameter.error(
                f"there is no column {owner_column!r} that could own {parsed_parameter.path}{hint};"
                f" {GROUP_OWNER}"
                " is what"
                " is left out together"
            )


def _checked_model_value(parsed_parameter: _ParsedParameter, observed_rows: ObservedRows) -> Given:
    """Return the model's own value of a parameter to estimate; raise if it cannot be free."""
    entry_by_path = observed_rows.built.entries
    if parsed_parameter.path not in entry_by_path:
        hint = did_you_mean(
            parsed_parameter.path, sorted_with_parameters_first(observed_rows.built.parameters)
        )
        raise parsed_parameter.error(
            f"no number of {observed_rows.built.name} is called {parsed_parameter.path!r}{hint}"
        )
    if parsed_parameter.path in observed_rows.numbers_by_path:
        raise parsed_parameter.error(
            f"{parsed_parameter.path} comes from the rows, so it cannot be free"
        )
    if not observed_rows.built.are_free([parsed_parameter.path]):
        raise parsed_parameter.error(
            f"no answer of {observed_rows.built.name} depends continuously on"
            f" {parsed_parameter.path}"
        )
    return entry_by_path[parsed_parameter.path].given


def _parse_free_parameter(
    parsed_parameter: _ParsedParameter, observed_rows: ObservedRows
) -> FreeParameter:
    """Return a free parameter with its prior range (5 % to 95 %): the range in the request, else
    the range in the model file, else its value divided and multiplied by `DEFAULT_RANGE_FACTOR`.
    """
    model_value = _checked_model_value(parsed_parameter, observed_rows)
    low_text, range_sign, high_text = parsed_parameter.values_text.partition("..")
    if parsed_parameter.values_text and not (range_sign and low_text.strip() and high_text.strip()):
        raise parsed_parameter.error(
            f"write {parsed_parameter.path}=low..high, between which it lies in 9 of 10 cases; got"
            f" {parsed_parameter.values_text!r}"
        )
    if not parsed_parameter.values_text:
        if model_value.low and model_value.high:
            return FreeParameter(
                parsed_parameter.path,
                model_value.low,
                model_value.high,
                parsed_parameter.owner_columns,
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
            parsed_parameter.owner_columns,
        )
    try:
        lower_limit, upper_limit = (
            to_base(end_text.strip(), model_value.dimension) for end_text in (low_text, high_text)
        )
    except UnitError as error:
        raise parsed_parameter.error(str(error)) from None
    if not (0 < lower_limit < upper_limit and isfinite(upper_limit)):
        raise parsed_parameter.error(
            f"{parsed_parameter.path} is free from {low_text.strip()} to {high_text.strip()}: the"
            " first"
            " must be above 0"
            " and less than the second"
        )
    return FreeParameter(
        parsed_parameter.path, lower_limit, upper_limit, parsed_parameter.owner_columns
    )


def _parse_choice(parsed_parameter: _ParsedParameter, observed_rows: ObservedRows) -> UnknownChoice:
    """Return a choice: a parameter with the possible values among which the fit chooses."""
    model_value = _checked_model_value(parsed_parameter, observed_rows)
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
    return UnknownChoice(
        parsed_parameter.path, choice_values, texts, parsed_parameter.owner_columns
    )
