"""Tables whose columns are numbers and names of a model, compared with the values that were
measured in each row.

Why this shape: a column is used in one of four ways, which `ColumnUse` says: it is the value of a
path, it stands for several settings at once (``H100`` for a machine and two rates), it is a
measured value, or it only says to which group a row belongs. `observe` reads a table by such uses
and builds the models; rows that differ in numbers alone share a compiled model, so that all of them
are one call.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.late import Array, NDArray, dataclass, field, late_pattern, np, replace
from slipstick.method.answers import CompiledModel
from slipstick.method.methods import form_of
from slipstick.method.names import name_of_first_quantity
from slipstick.schema.inputs import REFERENCES, BuiltModel, Inputs, Settings, build, resolve
from slipstick.schema.library import Library
from slipstick.schema.text import (
    Mark,
    Node,
    Table,
    canonical,
    file_text,
    node_at,
    read_value,
    shown_name,
)
from slipstick.units import parse_unit, to_base
from slipstick.vocabulary import SIMULATION
from slipstick_measure.formats import table_path_named
from slipstick_measure.measurements import Hints
from slipstick_measure.readers.cells import is_missing
from slipstick_measure.readers.reading import delimiter_of, open_file
from slipstick_measure.readers.tidy import is_table_of_model
from slipstick_measure.traces.readers import name_of_trace_format

MOST_MODELS = 2000
"""Models that one table may need: combinations of names and of numbers that shape a model."""

_NAME_WITH_UNIT = late_pattern(r"(?P<name>.*\S)\s+[\[(](?P<unit>[^\])]*)[\])]")
_REFERENCES_IN_HEADINGS = tuple(name for name in REFERENCES if name not in ("model", "workload"))
"""References that a column is taken for by its heading alone; ``model`` often is no model of
ours.
"""


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A use of a column: as a setting or as a measured value.

    Parameters
    ----------
    path : of the number whose values the column holds
    settings : for each text that a cell may have, the settings by path that it stands for
    measured : the value of an answer that was measured
    unit : of its numbers, where the heading has none
    """

    path: str = ""
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    measured: str = ""
    unit: str = ""


@dataclass(frozen=True)
class ColumnTable:
    """A table whose cells are texts, with the headings of its columns.

    Parameters
    ----------
    file : its name in problems
    headings : of the columns, without units
    unit_by_heading : by heading
    rows : the cells of each row
    lines : number of the line of each row
    """

    file: str
    headings: tuple[str, ...]
    unit_by_heading: Mapping[str, str]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def column(self, heading: str) -> list[str]:
        """Return the cells under a heading; raise if there is no such column."""
        if heading not in self.headings:
            raise self.missing_column_error(heading)
        index = self.headings.index(heading)
        return [row[index] for row in self.rows]

    def missing_column_error(self, heading: str) -> SpecError:
        """Return the error that the table has no column with a heading."""
        hint = did_you_mean(heading, list(self.headings))
        return Mark(self.file, 1, 1).error(f"there is no column {heading!r}{hint}")

    def positive_numbers(self, heading: str, row_indices: Sequence[int]) -> list[float]:
        """Return the plain numbers in some rows of a column; raise if one is not a finite number
        above 0.
        """
        cells = self.column(heading)
        numbers = []
        for row_index in row_indices:
            try:
                number = float(cells[row_index])
            except ValueError:
                number = 0.0
            if not 0 < number < inf:
                message = f"a plain number above 0 is needed; got {cells[row_index]!r}"
                raise self.mark(row_index).error(message, heading)
            numbers.append(number)
        return numbers

    def mark(self, row_index: int) -> Mark:
        """Return the file and the line of a row, for messages."""
        return Mark(self.file, self.lines[row_index], 1)

    def chosen_row_indices(self, values_by_heading: Mapping[str, Sequence[str]]) -> list[int]:
        """Return the indices of the rows whose cells have one of the given values in each of the
        given columns.
        """
        for heading in values_by_heading:
            if heading not in self.headings:
                hint = did_you_mean(heading, list(self.headings))
                raise Mark(self.file, 1, 1).error(f"rows are chosen by no column {heading!r}{hint}")
        cells_by_heading = {heading: self.column(heading) for heading in values_by_heading}
        return [
            row_index
            for row_index in range(len(self.rows))
            if all(
                cells_by_heading[heading][row_index] in allowed_cells
                for heading, allowed_cells in values_by_heading.items()
            )
        ]

    def select(self, values_by_heading: Mapping[str, Sequence[str]]) -> ColumnTable:
        """Return the table with only the rows whose cells have one of the given values in each of
        the given columns.
        """
        row_indices = self.chosen_row_indices(values_by_heading)
        return replace(
            self,
            rows=tuple(self.rows[row_index] for row_index in row_indices),
            lines=tuple(self.lines[row_index] for row_index in row_indices),
        )


def read_columns(path: Path | str) -> ColumnTable:
    """Read a table with a heading. Cells are separated by commas, semicolons or tabs; comments
    begin with #.

    Raises
    ------
    SpecError : the file is missing, has no rows, or a row has more or fewer cells than the heading
    """
    file = shown_name(path)
    text = file_text(path, "data_bytes", "keep what you need of it")
    numbered_lines = [
        (line_number, line)
        for line_number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(numbered_lines) < 2:
        raise Mark(file, 1, 1).error("a table needs a heading and at least one row below it")
    delimiter = delimiter_of(numbered_lines[0][1])
    try:
        table_rows = [
            tuple(cell.strip() for cell in cells)
            for cells in csv.reader((line for _, line in numbered_lines), delimiter=delimiter)
        ]
    except csv.Error as error:
        raise Mark(file, numbered_lines[0][0], 1).error(f"this is no table: {error}") from error
    names_and_units = [heading_and_unit(cell) for cell in table_rows[0]]
    headings = tuple(name for name, _ in names_and_units)
    if repeated_name := next((name for name in headings if headings.count(name) > 1), None):
        raise Mark(file, numbered_lines[0][0], 1).error(
            f"two columns are called {repeated_name!r}; rename one"
        )
    problems = [
        Problem(
            file, line_number, 1, "", f"{len(cells)} cells, where the heading has {len(headings)}"
        )
        for (line_number, _), cells in zip(numbered_lines[1:], table_rows[1:], strict=True)
        if len(cells) != len(headings)
    ]
    if problems:
        raise SpecError(problems)
    unit_by_heading = {name: unit for name, unit in names_and_units if unit}
    return ColumnTable(
        file,
        headings,
        unit_by_heading,
        tuple(table_rows[1:]),
        tuple(line_number for line_number, _ in numbered_lines[1:]),
    )


def check_column_table(reference: str) -> bool:
    """Check a table whose headings name parameters of a model, without the model: the number of
    cells in each row, and the numbers of columns that have a unit. Return False if the file is no
    such table.

    Raises
    ------
    SpecError : everything that is wrong, by line
    """
    path = reference if Path(reference).exists() else table_path_named(reference)
    if not path or name_of_trace_format(path) or not is_table_of_model(open_file(path, Hints())):
        return False
    table = read_columns(path)
    problems: list[Problem] = []
    for heading, unit in table.unit_by_heading.items():
        for row_index, cell in enumerate(table.column(heading)):
            try:
                _ = _measured_number(cell, unit, unit) if cell else 0.0
            except UnitError as error:
                problems.append(table.mark(row_index).problem(str(error), heading))
    if problems:
        raise SpecError(problems)
    return True


def heading_and_unit(cell: str) -> tuple[str, str]:
    """Split a heading into its name and its unit; the brackets of ``utilization[bus]`` belong to
    the name.

    >>> [heading_and_unit(cell) for cell in ("time [ms]", "utilization[bus]", "rate (1/s)")]
    [('time', 'ms'), ('utilization[bus]', ''), ('rate', '1/s')]
    """
    match = _NAME_WITH_UNIT.fullmatch(cell)
    return (match["name"], match["unit"]) if match else (cell, "")


def unit_at_end_of_name(heading: str, expected_unit: str) -> str:
    """Return the unit at the end of the name of a measured column, such as ms of tpot_ms, if it has
    the dimension of the expected unit; else an empty text.

    >>> unit_at_end_of_name("tpot_ms", "s"), unit_at_end_of_name("tokens_per_s", "1/s")
    ('ms', '1/s')
    >>> unit_at_end_of_name("tpot_ms", "1/s")
    ''
    """
    words_before, _, last_word = heading.casefold().rpartition("_")
    unit = f"1/{last_word}" if words_before.endswith("_per") else last_word
    try:
        has_expected_dimension = (
            bool(words_before) and parse_unit(unit)[1] == parse_unit(expected_unit)[1]
        )
    except UnitError:
        return ""
    return unit if has_expected_dimension else ""


def parameter_name(heading: str) -> str:
    """Return a heading as the name of a parameter: in small letters, with _ between the words.

    >>> parameter_name("Message Size")
    'message_size'
    """
    return re.sub(r"\W+", "_", heading.casefold())


def sorted_with_parameters_first(paths: Iterable[str]) -> list[str]:
    """Return paths of numbers of a model, sorted with its parameters before the values of its
    machine.

    >>> sorted_with_parameters_first(["machine.network.latency", "parameters.work"])
    ['parameters.work', 'machine.network.latency']
    """
    return sorted(paths, key=lambda path: not path.startswith("parameters."))


@dataclass(frozen=True)
class _CompiledRows:
    """Rows of a table that share a compiled model, with the values of its parameters in each of
    these rows.
    """

    rows: NDArray[np.intp]
    form: CompiledModel
    values: Mapping[str, Array]


@dataclass(frozen=True)
class ObservedRows:
    """Rows of a table, compiled for comparison with a model.

    Parameters
    ----------
    table : as it was read
    built : the model of the first row
    measured_names : the measured values, by name
    measured_logs : of what was measured, (V, n); NaN where a cell is empty
    numbers_by_path : the numeric columns that the model has, by path, (n,)
    ignored_headings : columns that nothing uses
    zero_count_by_heading : how many measured cells are 0, by heading; they are left out, as 0 has
        no logarithm
    """

    table: ColumnTable
    built: BuiltModel
    measured_names: tuple[str, ...]
    measured_logs: Array
    numbers_by_path: Mapping[str, Array]
    ignored_headings: tuple[str, ...]
    _compiled_rows: tuple[_CompiledRows, ...]
    zero_count_by_heading: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table.rows)

    @property
    def is_estimated(self) -> bool:
        """Whether the model is simulated."""
        return any(compiled_rows.form.is_estimated for compiled_rows in self._compiled_rows)

    @property
    def ignored_numeric_headings(self) -> tuple[str, ...]:
        """The columns that nothing uses, although their numbers differ between rows."""
        return tuple(
            heading
            for heading in self.ignored_headings
            if _has_differing_numbers(self.table.column(heading))
        )

    def labels(self, heading: str) -> list[str]:
        """Return the cell of each row in a column; rows with the same cell have the same owner."""
        return self.table.column(heading)

    def log_values_and_slopes(
        self,
        free_paths: Sequence[str],
        log_parameters: Array,
        fixed_values: Mapping[str, Array],
        row_indices: NDArray[np.intp],
    ) -> tuple[Array, Array]:
        """Return the logarithms of the model's values at rows, and their derivatives by the
        logarithms of parameters.

        Parameters
        ----------
        free_paths : paths of the parameters
        log_parameters : their logarithms at each row, (n, k)
        fixed_values : values of further paths at each row, (n,)
        row_indices : which rows, (n,)
        """
        index_by_row = np.full(len(self), -1)
        index_by_row[row_indices] = np.arange(len(row_indices))
        log_model_values = np.full((len(self.measured_names), len(row_indices)), np.nan)
        derivatives = np.zeros((len(self.measured_names), len(row_indices), len(free_paths)))
        with np.errstate(all="ignore"):
            for compiled_rows in self._compiled_rows:
                rows_of_model = np.flatnonzero(index_by_row[compiled_rows.rows] >= 0)
                if not len(rows_of_model):
                    continue
                target_indices = index_by_row[compiled_rows.rows[rows_of_model]]
                target_values = {
                    path: column[target_indices] for path, column in fixed_values.items()
                }
                target_values |= {
                    path: np.exp(log_parameters[target_indices, index])
                    for index, path in enumerate(free_paths)
                }
                form_paths = set(compiled_rows.form.parameters)
                values_by_path = {
                    path: column[rows_of_model] for path, column in compiled_rows.values.items()
                } | {path: value for path, value in target_values.items() if path in form_paths}
                free_of_model = [path for path in free_paths if path in form_paths]
                values_and_slopes = compiled_rows.form.slopes(
                    values_by_path, free_of_model, self.measured_names
                )
                for index, name in enumerate(self.measured_names):
                    value, slope_by_path = values_and_slopes[name]
                    value = np.broadcast_to(value, (len(rows_of_model),))
                    log_model_values[index, target_indices] = np.log(value)
                    for path in free_of_model:
                        elasticity = slope_by_path[path] * values_by_path[path] / value
                        derivatives[index, target_indices, free_paths.index(path)] = elasticity
        return log_model_values, derivatives


def _has_differing_numbers(cells: Sequence[str]) -> bool:
    """Return whether all cells that are not missing are numbers, and two of them differ."""
    different_cells = {cell for cell in cells if not is_missing(cell)}
    try:
        return len({float(cell) for cell in different_cells}) > 1
    except ValueError:
        return False


def observe(
    table: ColumnTable,
    use_by_heading: Mapping[str, ColumnUse],
    settings: Settings,
    library: Library,
    owner_headings: Sequence[str] = (),
) -> ObservedRows:
    """Build the models of the rows; take logarithms of the measured values.

    Parameters
    ----------
    table : the rows
    use_by_heading : how columns are used, by heading. Another column is a path or a value of the
        model if its heading is the name of one, or names owners; else it is ignored
    settings : the model, and everything that is the same in all rows
    library : what was read so far
    owner_headings : headings of the columns that state to which owner, such as a machine, a row
        belongs

    Raises
    ------
    SpecError : a column, a cell or a model is wrong, each at its line
    """
    reader = _TableReader(table, dict(use_by_heading), settings, library, owner_headings)
    return reader.compile_rows()


class _TableReader:
    """The state of building the models of the rows of a table: the table, the uses of its columns
    and the settings of all rows.
    """

    def __init__(
        self,
        table: ColumnTable,
        use_by_heading: dict[str, ColumnUse],
        settings: Settings,
        library: Library,
        owner_headings: Sequence[str],
    ) -> None:
        self.table = table
        self.settings = settings
        self.library = library
        if not table.rows:
            raise Mark(table.file, 1, 1).error("no row is left to compare a model with")
        for heading in (*use_by_heading, *owner_headings):
            if heading not in table.headings:
                raise table.missing_column_error(heading)
        self.uses = {
            heading: replace(use, path=self._full_path(use.path))
            for heading, use in use_by_heading.items()
            if use != ColumnUse()
        }
        self.row_settings = self._written_settings()
        self.common_inputs, self.built_model = self._model_of_common_settings()
        for heading in table.headings:
            if heading not in self.uses and (use := self._use_of_column(heading)) is not None:
                self.uses[heading] = use
        used_headings = {*self.uses, *owner_headings}
        self.zero_count_by_heading: dict[str, int] = {}
        self.ignored_headings = tuple(
            heading for heading in table.headings if heading not in used_headings
        )
        # Again: the uses that were found by headings add settings.
        self.row_settings = self._written_settings()
        self.setting_paths = list(dict.fromkeys(path for row in self.row_settings for path in row))
        self.numeric_columns = self._numeric_columns()

    def _full_path(self, path: str) -> str:
        """Return the full path of a parameter that is written by its name alone; return other paths
        unchanged. Raise for a name that no parameter has.
        """
        if not path or "." in path or path in REFERENCES:
            return path
        try:
            tree = resolve(self.settings, self.library).tree
        except SpecError:
            return path
        if node_at(tree, path) is not None:
            return path
        parameters = node_at(tree, "parameters")
        parameter_names = list(parameters.entries) if isinstance(parameters, Table) else []
        if path in parameter_names:
            return f"parameters.{path}"
        message = f"the model has no parameter {path!r}{did_you_mean(path, parameter_names)}"
        raise Mark(self.table.file, 1, 1).error(message)

    def _model_of_common_settings(self) -> tuple[Inputs, BuiltModel]:
        """Return the inputs and the model that the settings common to all rows give; if these
        settings are incomplete, the inputs and the model of the first row.
        """
        try:
            inputs = resolve(self.settings, self.library)
            return inputs, build(inputs)
        except SpecError:
            return self._model_of_row(0)

    def _use_of_column(self, heading: str) -> ColumnUse | None:
        """Return the use of a column whose heading is the name of a parameter or an answer of the
        model; None for other headings.
        """
        if heading in self.built_model.shape.answer_names(self.built_model.options.method):
            return ColumnUse(measured=heading)
        if heading == "machine" and node_at(self.common_inputs.tree, heading) is None:
            return None  # the model has none, so the cells are names of the table's own
        candidate_paths = [
            heading,
            f"parameters.{heading}",
            f"parameters.{parameter_name(heading)}",
        ]
        known_paths = {*self.built_model.parameters, *_REFERENCES_IN_HEADINGS}
        for candidate_path in candidate_paths:
            path = (
                candidate_path
                if candidate_path in _REFERENCES_IN_HEADINGS
                else canonical(self.common_inputs.tree, candidate_path)
            )
            if path in known_paths:
                return ColumnUse(path=path)
        if "." in heading and " " not in heading:
            hint = did_you_mean(heading, sorted_with_parameters_first(self.built_model.parameters))
            raise Mark(self.table.file, 1, 1).error(
                f"{self.built_model.name} has no number at {heading!r}{hint}; rename the"
                " column if it is not meant to be one"
            )
        return None

    def _written_settings(self) -> list[dict[str, str]]:
        """Return the settings that the cells of each row make, as texts by path."""
        row_settings: list[dict[str, str]] = [{} for _ in self.table.rows]
        problems: list[Problem] = []
        for heading, use in self.uses.items():
            unit = use.unit or self.table.unit_by_heading.get(heading, "")
            for row_index, cell in enumerate(self.table.column(heading)):
                if use.path and is_missing(cell):
                    message = (
                        f"the cell is {cell or 'empty'}, and {use.path} needs a value in every row;"
                        " write it, or take the row out"
                    )
                    problems.append(self.table.mark(row_index).problem(message, heading))
                elif use.path:
                    row_settings[row_index][use.path] = f"{cell} {unit}".strip()
                elif use.settings and cell in use.settings:
                    row_settings[row_index].update(use.settings[cell])
                elif use.settings:
                    hint = did_you_mean(cell, list(use.settings))
                    message = f"nothing says what {cell!r} stands for{hint}"
                    problems.append(self.table.mark(row_index).problem(message, heading))
        if problems:
            raise SpecError(problems)
        return row_settings

    def _settings_of_row(self, row_index: int) -> dict[str, Node]:
        """Return the settings of a row by path: the settings of all rows, and the settings in its
        cells.
        """
        row_mark = self.table.mark(row_index)
        node_by_path = dict(self.settings)
        for path, text in self.row_settings[row_index].items():
            node = read_value(text, row_mark.file)
            node_by_path[path] = node._replace(mark=row_mark) if hasattr(node, "_replace") else node
        return node_by_path

    def _model_of_row(self, row_index: int) -> tuple[Inputs, BuiltModel]:
        """Return the inputs and the model of a row."""
        inputs = resolve(self._settings_of_row(row_index), self.library)
        return inputs, build(inputs)

    def compile_rows(self) -> ObservedRows:
        """Build the models of all rows and return them with the measured values."""
        measured_names, measured_logs = self._measured_logs()
        self.built_model = self._model_of_row(0)[1]
        compiled_rows = tuple(self._compiled_rows(self.setting_paths, self.numeric_columns))
        return ObservedRows(
            self.table,
            self.built_model,
            measured_names,
            measured_logs,
            self.numeric_columns,
            self.ignored_headings,
            compiled_rows,
            self.zero_count_by_heading,
        )

    def _measured_logs(self) -> tuple[tuple[str, ...], Array]:
        """Return the names of the measured values and the logarithms of their cells, one row for
        each name; NaN for empty cells and for 0.
        """
        unit_by_name = self.built_model.shape.answer_names(self.built_model.options.method)
        heading_by_measured_name = {
            use.measured: heading for heading, use in self.uses.items() if use.measured
        }
        if not heading_by_measured_name:
            quantity = name_of_first_quantity(
                self.built_model.shape.model, self.built_model.options.method
            )
            raise Mark(self.table.file, 1, 1).error(
                f"no column is a measured value of {self.built_model.name}; name one"
                f" {quantity!r}, or say which it is (--measured {quantity}=COLUMN)"
            )
        measured_logs = np.full((len(heading_by_measured_name), len(self.table.rows)), np.nan)
        problems: list[Problem] = []
        for name_index, (name, heading) in enumerate(heading_by_measured_name.items()):
            if name not in unit_by_name:
                hint = did_you_mean(name, list(unit_by_name))
                raise Mark(self.table.file, 1, 1).error(
                    f"an answer for {self.built_model.name} has no value {name!r}{hint}"
                )
            unit = self.uses[heading].unit or self.table.unit_by_heading.get(heading, "")
            unit = unit or unit_at_end_of_name(heading, unit_by_name[name])
            for row_index, cell in enumerate(self.table.column(heading)):
                if is_missing(cell):
                    continue
                try:
                    value = _measured_number(cell, unit, unit_by_name[name])
                except UnitError as error:
                    problems.append(self.table.mark(row_index).problem(str(error), heading))
                    continue
                if value > 0:
                    measured_logs[name_index, row_index] = np.log(value)
                elif value == 0:
                    # A cause may be absent, such as messages on one processor.
                    self.zero_count_by_heading[heading] = (
                        self.zero_count_by_heading.get(heading, 0) + 1
                    )
                else:
                    message = f"a measured value is at least 0; got {cell}"
                    problems.append(self.table.mark(row_index).problem(message, heading))
            if (
                not problems
                and heading in self.zero_count_by_heading
                and np.isnan(measured_logs[name_index]).all()
            ):
                raise Mark(self.table.file, 1, 1).error(
                    f"no cell of {heading} is above 0, so that nothing can be fitted to it; leave"
                    " it out, or take another column"
                )
        if problems:
            raise SpecError(problems)
        return tuple(heading_by_measured_name), measured_logs

    def _numeric_columns(self) -> dict[str, Array]:
        """Return the values of each column that holds numbers of the model, by path, in base
        units.
        """
        values_by_path = {}
        problems = []
        for path in self.setting_paths:
            parameter = self.built_model.parameters.get(path)
            if parameter is None or any(
                path not in text_by_path for text_by_path in self.row_settings
            ):
                continue
            value_by_text: dict[str, float] = {}
            column_values = np.empty(len(self.row_settings))
            for row_index, text_by_path in enumerate(self.row_settings):
                setting_text = text_by_path[path]
                if setting_text not in value_by_text:
                    try:
                        value_by_text[setting_text] = to_base(setting_text, parameter.dimension)
                    except UnitError as error:
                        problems.append(self.table.mark(row_index).problem(str(error), path))
                        value_by_text[setting_text] = np.nan
                column_values[row_index] = value_by_text[setting_text]
            values_by_path[path] = column_values
        if problems:
            raise SpecError(problems)
        return values_by_path

    def _compiled_rows(
        self, paths: Sequence[str], values_by_path: Mapping[str, Array]
    ) -> Iterator[_CompiledRows]:
        """Yield groups of rows that share a compiled model; the model is checked at the smallest
        and the largest value of every number.
        """
        # Paths whose values a compiled model cannot vary: each combination needs its own model.
        shaping_paths = [path for path in paths if path not in values_by_path]
        while True:
            rows_by_settings = self._rows_by_settings(shaping_paths)
            if len(rows_by_settings) > MOST_MODELS:
                raise Mark(self.table.file, 1, 1).error(
                    f"the rows need {len(rows_by_settings)} models, at most {MOST_MODELS}: columns"
                    f" {', '.join(shaping_paths)} shape a model; take fewer values of them"
                )
            model_by_shaping_values = {
                shaping_values: self._model_of_row(rows_of_model[0])[1]
                for shaping_values, rows_of_model in rows_by_settings.items()
            }
            further_paths = {
                path
                for model in model_by_shaping_values.values()
                for path in values_by_path
                if path not in shaping_paths and not model.can_vary([path])
            }
            if not further_paths:
                break
            shaping_paths += sorted(further_paths)
        for shaping_values, rows_of_model in rows_by_settings.items():
            self._check_extremes(
                rows_of_model,
                [path for path in values_by_path if path not in shaping_paths],
                values_by_path,
            )
            yield self._compile_rows(
                model_by_shaping_values[shaping_values], np.array(rows_of_model), values_by_path
            )

    def _rows_by_settings(self, paths: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
        """Return the indices of the rows that have the same settings at the given paths."""
        rows_by_settings: dict[tuple[str, ...], list[int]] = {}
        for row_index, text_by_path in enumerate(self.row_settings):
            setting_texts = tuple(text_by_path.get(path, "") for path in paths)
            rows_by_settings.setdefault(setting_texts, []).append(row_index)
        return rows_by_settings

    def _check_extremes(
        self, row_indices: Sequence[int], paths: Sequence[str], values_by_path: Mapping[str, Array]
    ) -> None:
        """Check the model at the rows with the smallest and the largest value of each number."""
        for path in paths:
            numbers = values_by_path[path][list(row_indices)]
            for extreme_index in {int(numbers.argmin()), int(numbers.argmax())} - {0}:
                _ = resolve(
                    self._settings_of_row(row_indices[extreme_index]), self.library
                ).checked_spec

    def _compile_rows(
        self,
        built_model: BuiltModel,
        row_indices: NDArray[np.intp],
        values_by_path: Mapping[str, Array],
    ) -> _CompiledRows:
        """Compile a model for the rows that share it."""
        options = built_model.options
        must_be_smooth = options.method != SIMULATION
        compiled_model = form_of(
            built_model.model,
            built_model.parameters,
            options.method,
            options.simulation,
            must_be_smooth=must_be_smooth,
        )
        row_values_by_path = {
            path: column[row_indices]
            for path, column in values_by_path.items()
            if path in compiled_model.parameters
        }
        return _CompiledRows(row_indices, compiled_model, row_values_by_path)


def _measured_number(cell: str, unit: str, expected_unit: str) -> float:
    """Read a measured number with the unit of its heading or of its cell, in base units."""
    dimension = parse_unit(expected_unit)[1]
    quantity_text = (
        cell
        if any(character.isalpha() and character not in "eE" for character in cell)
        else f"{cell} {unit}"
    )
    value = to_base(quantity_text.strip(), dimension)
    if not isfinite(value):
        raise UnitError(f"{cell} is no number")
    return value
