"""Tables of runs as people write them: one value on a line, or one run on a line with a column for
each metric.

`grid` finds the cells, `columns` says what each column holds, and `cells` reads the values. What
was understood is a note, with the option that says otherwise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from math import prod

from slipstick.errors import SpecError, UnitError, did_you_mean, nearest_names, short
from slipstick.late import late_pattern
from slipstick.units import parse_unit
from slipstick_measure.measurements import METRICS, Measurements
from slipstick_measure.readers import names
from slipstick_measure.readers.cells import (
    bare_cell,
    device_of,
    is_missing,
    is_serial,
    meaning_of_commas,
    number_in,
    parse_seconds,
    size_number,
    split_amount,
    split_value,
    whole_number,
    with_points,
)
from slipstick_measure.readers.columns import (
    Roles,
    TableColumn,
    heading_of_model_parameter,
    looks_like_runs,
    roles_of,
)
from slipstick_measure.readers.grid import (
    LATEX_TABLE,
    LINES_TO_RECOGNIZE,
    CellGrid,
    is_rule,
    table_of_file,
    with_decimal_points,
)
from slipstick_measure.readers.reading import (
    COLUMNS,
    NUMBER,
    Coordinates,
    FileFormat,
    Reading,
    metric_name,
    time_of_unit,
)


def _build_columns(grid: CellGrid) -> list[TableColumn]:
    """Build the columns of a table from the rows that have as many cells as its heading."""
    column_count = len(grid.heading)
    rows = [cells for _, cells in grid.rows if len(cells) == column_count]
    comma = meaning_of_commas(cell for cells in rows for cell in cells)
    cells_with_points = [[with_points(cell, comma) for cell in cells] for cells in rows]
    return [
        TableColumn.of(index, text, [cells[index] for cells in cells_with_points])
        for index, text in enumerate(grid.heading)
    ]


def is_table_of_model(input_file: Reading) -> bool:
    """Return whether a table is data for a fit of a model and for a validation."""
    try:
        grid = table_of_file(replace(input_file, problems=[], notes=[]), LINES_TO_RECOGNIZE)
    except SpecError:
        return False  # of quotes that do not end, which reading says
    return bool(heading_of_model_parameter(_build_columns(grid)))


def _is_tidy(input_file: Reading) -> bool:
    """Return whether the heading names columns, one of them the processors or a value."""
    try:
        grid = table_of_file(replace(input_file, problems=[], notes=[]), LINES_TO_RECOGNIZE)
    except SpecError:
        return True  # of quotes that do not end, which reading says
    if not grid.heading:
        return False
    cell_counts = {len(cells) for _, cells in grid.rows[:50]}
    if grid.delimiter == " " and cell_counts != {len(grid.heading)}:
        return _lacks_heading(grid, cell_counts)  # else prose
    if grid.delimiter == " " and any(number_in(cell) is not None for cell in grid.heading):
        return False  # prose with numbers
    columns = _build_columns(grid)
    named_headings = {
        named_heading.strip().casefold() for named_heading in input_file.hints.columns.values()
    }
    known_headings = {
        word for column in columns for word in (column.heading.casefold(), column.words)
    }
    return looks_like_runs(columns) or bool(named_headings & known_headings)


def _lacks_heading(grid: CellGrid, cell_counts: Collection[int]) -> bool:
    """Return whether a heading of processors and a metric stands above rows that all have the same
    number of further values.
    """
    return (
        len(cell_counts) == 1
        and min(cell_counts) > len(grid.heading) > 1
        and all(number_in(cells[0]) is not None for _, cells in grid.rows)
        and {"p", "time"} <= {TableColumn.of(0, text, []).kind for text in grid.heading}
    )


def _read_tidy(input_file: Reading) -> Measurements:
    """Read a table with a heading.

    Columns are ``p, n, region, metric, unit, value, repetition``, in any order, of which only p and
    a value are needed. The value stands in column ``value``, with its metric and unit in columns of
    those names; or each metric has a column of its own, with the unit in its name: ``time [s]``.
    `Hints.columns` tells other names. Where cells are not parted by commas, ``1,5`` is one and a
    half, unless all such numbers might be thousands.
    """
    grid = table_of_file(input_file)
    grid = _with_processors_of_jobs(
        grid._replace(rows=list(_rows_of_completed_jobs(input_file, grid)))
    )
    grid = _with_product(grid, input_file.hints.columns.get("p", ""))
    _refuse_split_names(input_file, grid)
    columns = _build_columns(grid)
    if input_file.hints.columns:
        _check_named_headings(input_file, grid, columns)
    unit = input_file.hints.unit
    unit_is_rate = unit is not None and names.rate_unit(unit) is not None
    roles = roles_of(columns, input_file.hints.columns, unit_is_rate)
    _refuse_roles(input_file, grid, columns, roles)
    grid = with_decimal_points(input_file, grid)
    _note_roles(input_file, grid, columns, roles)
    table_reading = _TableReading(input_file, columns, roles)
    for line, cells in grid.rows:
        table_reading.read_row(line, cells)
    table_reading.note_unread_parts()
    member = "processor"
    if "p" in roles.index_by_role:
        member = names.processor_noun_of_heading(columns[roles.index_by_role["p"]].words)
    lost_columns = [
        columns[index]
        for index, (metric, region) in roles.metric_and_region_by_index.items()
        if metric == "wait" or (metric == "time" and region)
    ]
    are_shares = bool(lost_columns) and all(column.is_share_of_time for column in lost_columns)
    return replace(
        input_file.finished(),
        weak=roles.work_grows,
        mean_waits=True if are_shares else None,
        member=member,
    )


def _with_product(grid: CellGrid, product_text: str) -> CellGrid:
    """Return a table with one more column, the product of several columns, if the user names the
    processors as such a product: ``p=ranks*threads``; else the table unchanged.
    """
    factor_headings = [heading_text.strip().casefold() for heading_text in product_text.split("*")]
    headings = [heading_text.strip().casefold() for heading_text in grid.heading]
    if (
        len(factor_headings) < 2
        or not set(factor_headings) <= set(headings)
        or product_text in grid.heading
    ):
        return grid
    factor_indices = [headings.index(heading_text) for heading_text in factor_headings]
    rows = []
    for line, cells in grid.rows:
        factor_numbers = [number_in(cells[index]) for index in factor_indices if index < len(cells)]
        known_numbers = [number for number in factor_numbers if number is not None]
        product = f"{prod(known_numbers):g}" if len(known_numbers) == len(factor_indices) else ""
        rows.append((line, [*cells, product]))
    return grid._replace(heading=[*grid.heading, product_text], rows=rows)


def _refuse_split_names(input_file: Reading, grid: CellGrid) -> None:
    """Raise if all rows of a table have fewer cells than its heading, because a name in the heading
    was split, or more, because a column has no name.
    """
    cell_counts = {len(_without_empty_ends(cells, len(grid.heading))) for _, cells in grid.rows}
    if len(cell_counts) == 1 and min(cell_counts) > len(grid.heading) and len(grid.rows) > 1:
        message = (
            f"the heading has {len(grid.heading)} names, and every row {min(cell_counts)} values;"
            " write a name for each column, also for one of remarks or numbers of rows"
        )
        input_file.refuse(grid.line, "", message)
    if (
        len(cell_counts) == 1
        and (cell_count := cell_counts.pop()) < len(grid.heading)
        and len(grid.rows) > 1
    ):
        message = (
            f"the heading has {len(grid.heading)} names, and every row {cell_count} values; write a"
            f" name that contains {grid.delimiter!r} in quotes"
        )
        input_file.refuse(grid.line, "", message)


def _rows_of_completed_jobs(
    input_file: Reading, grid: CellGrid
) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows of a table. In the accounts of a batch system these are the completed jobs,
    without their steps; the others are noted.
    """
    headings_in_words = [names.plain_words(heading_text) for heading_text in grid.heading]
    job_index = headings_in_words.index("jobid") if "jobid" in headings_in_words else None
    state_index = (
        headings_in_words.index("state")
        if "state" in headings_in_words and job_index is not None
        else None
    )
    left_out_rows: list[tuple[int, str]] = []
    for line, cells in grid.rows:
        if len(cells) != len(headings_in_words) or job_index is None:
            yield line, cells
        elif "." in cells[job_index]:
            left_out_rows.append((line, f"step {cells[job_index]}"))
        elif state_index is not None and not cells[state_index].upper().startswith("COMPLETED"):
            left_out_rows.append((line, f"{cells[job_index]}, {cells[state_index]}"))
        else:
            yield line, cells
    if left_out_rows:
        names_in_words = ", ".join(reason for _, reason in left_out_rows[:4])
        rest_in_words = f" and {len(left_out_rows) - 4} more" if len(left_out_rows) > 4 else ""
        input_file.add_note(
            left_out_rows[0][0],
            "",
            f"no whole job that was completed, so left out: {names_in_words}{rest_in_words}",
        )


def _with_processors_of_jobs(grid: CellGrid) -> CellGrid:
    """Return a table of sacct with a column for the processors of each job. If the table has none,
    it is read from the allocated resources (``AllocTRES``: ``cpu=16,mem=64G``).
    """
    words = [names.plain_words(text) for text in grid.heading]
    if "jobid" not in words or "alloctres" not in words or {"ncpus", "alloccpus"} & {*words}:
        return grid
    resources_index = words.index("alloctres")
    headings = [*grid.heading]
    headings[resources_index] = "NCPUS"
    rows = []
    for line, cells in grid.rows:
        cpus_match = _CPUS.search(cells[resources_index]) if len(cells) == len(words) else None
        rows.append(
            (
                line,
                [*cells[:resources_index], cpus_match[1], *cells[resources_index + 1 :]]
                if cpus_match
                else cells,
            )
        )
    return grid._replace(heading=headings, rows=rows)


_CPUS = late_pattern(r"\bcpu=([0-9]+)")


def _check_named_headings(
    input_file: Reading, grid: CellGrid, columns: Sequence[TableColumn]
) -> None:
    """Report headings that the user names for a role and the table does not have."""
    known_headings = [column.heading for column in columns]
    known_words = {word for column in columns for word in (column.heading.casefold(), column.words)}
    for role, heading in input_file.hints.columns.items():
        if heading.strip().casefold() not in known_words:
            input_file.add_problem(
                grid.line,
                "",
                f"there is no column {heading!r} to be"
                f" {role}{did_you_mean(heading, known_headings)}",
            )


_LOGARITHM = late_pattern(r"\W*(?:log|ln|ld)[_ ]?(?:2|10|_2)?[_ ({]", re.IGNORECASE)
_SACCT_ADVICE = "let sacct print it: --format=JobID,NCPUS,Elapsed,State"


def _similar_heading_clause(columns: Sequence[TableColumn], name: str) -> str:
    """Return a clause that names a heading similar to a name of sacct; empty if there is none."""
    headings = get_close_matches(name, [column.heading[:80] for column in columns], n=1)
    return f" (is {short(headings[0])} a misspelt {name}?)" if headings else ""


def _refuse_roles(
    input_file: Reading, grid: CellGrid, columns: Sequence[TableColumn], roles: Roles
) -> None:
    """Raise if a necessary column of a table is missing or ambiguous."""
    if not roles.metric_and_region_by_index and "jobid" in {
        names.plain_words(column.heading) for column in columns
    }:
        hint = _similar_heading_clause(columns, "Elapsed")
        input_file.refuse(
            grid.line, "", f"there is no elapsed time of a job{hint}; {_SACCT_ADVICE}"
        )
    for index in {*roles.index_by_role.values(), *roles.metric_and_region_by_index}:
        if re.fullmatch(r"[0-9.]+ ?[A-Za-z/]+", columns[index].heading.strip()):
            message = "is a value where the heading is; write a heading above, such as p | time [s]"
            input_file.refuse(grid.line, columns[index].heading, message)
    for heading, message in roles.refusals:
        input_file.add_problem(grid.line, heading, message)
    if "p" not in roles.index_by_role and input_file.hints.processors is None:
        message = "there is no column p, the processors; name it with --column p=NAME"
        if logarithm_heading := next(
            filter(_LOGARITHM.match, (column.heading for column in columns)), ""
        ):
            message = (
                f"{short(logarithm_heading)} holds logarithms; write a column of the processors"
                " themselves"
            )
        if "jobid" in {names.plain_words(column.heading) for column in columns}:
            hint = _similar_heading_clause(columns, "NCPUS")
            message = f"there are no processors of a job{hint}; {_SACCT_ADVICE}"
        if parameter_heading := heading_of_model_parameter(columns):
            message += (
                f"; slipstick fit --model NAME takes columns such as {short(parameter_heading)}"
            )
        input_file.add_problem(grid.line, "", message)
    metrics = [metric for metric, _ in roles.metric_and_region_by_index.values()]
    if not metrics and not roles.refusals:
        input_file.add_problem(
            grid.line,
            "",
            "there is no column with values: 'value', or one such as 'time [s]'; name one with"
            " --column value=NAME, time=NAME, throughput=NAME or speedup=NAME",
        )
    if "metric" in roles.index_by_role and metrics not in ([], [None]):
        input_file.add_problem(
            grid.line,
            "metric",
            "values stand in column value if there is a column metric; keep one of the two",
        )
    unit = input_file.hints.unit
    if (
        (guessed_column := roles.guessed_columns.get("throughput"))
        and unit
        and time_of_unit(unit)[1]
    ):
        first_cell = guessed_column.cells[0]
        last_cell = guessed_column.cells[-1]
        input_file.add_problem(
            grid.line,
            guessed_column.heading,
            f"goes from {first_cell} to {last_cell} as p grows, as a throughput does, and --unit"
            f" {unit} is of"
            f" a time; write --column throughput={shlex.quote(guessed_column.heading)} without"
            " --unit, or"
            f" --column time={shlex.quote(guessed_column.heading)}",
        )
    if input_file.problems:
        input_file.finished()


def _note_roles(
    input_file: Reading, grid: CellGrid, columns: Sequence[TableColumn], roles: Roles
) -> None:
    """Note how each column is read, unless all headings are documented words."""
    column_by_role = {
        **{
            role: columns[roles.index_by_role[role]]
            for role in COLUMNS
            if role in roles.index_by_role
        },
        **{
            metric if not region else f"{metric} of {region}": columns[index]
            for index, (metric, region) in sorted(roles.metric_and_region_by_index.items())
            if metric is not None
        },
    }
    near_misses = [
        heading
        for heading in roles.unread_headings
        if heading.casefold()
        not in {column.heading.casefold() for column in columns if column.kind}
        and names.plain_words(heading) not in names.OCCASIONS
        and nearest_names(names.plain_words(heading), [*COLUMNS, *METRICS])
    ]
    for near_miss in near_misses:
        hint = did_you_mean(names.plain_words(near_miss), [*COLUMNS, *METRICS])
        input_file.add_note(grid.line, near_miss, f"this column is left out{hint}")
    left_out_headings = [heading for heading in roles.unread_headings if heading not in near_misses]
    left_out_headings += grid.mean_headings
    is_documented = all(
        _is_documented_heading(role, column) for role, column in column_by_role.items()
    )
    is_documented = (
        is_documented
        and not left_out_headings
        and not roles.guessed_columns
        and roles.work_grows is None
    )
    if not is_documented:
        clauses = _clauses_of_reading(columns, roles, column_by_role, left_out_headings)
        other_reading = _other_reading_in_words(input_file, columns, roles)
        input_file.add_note(grid.line, "columns", f"read as {'; '.join(clauses)}{other_reading}")
    _note_outside_lines(input_file, grid, is_documented)


def _note_outside_lines(input_file: Reading, grid: CellGrid, is_documented: bool) -> None:
    """Note the lines outside of the table; if its headings are documented words, note only the
    lines between its rows and the lines of another table.
    """
    lines_outside = [(line, input_file.lines[line - 1]) for line in grid.outside_lines]
    other_table_line = grid.other_table_line
    other_table_line = other_table_line or next(
        (line for line, text in lines_outside if LATEX_TABLE in text), 0
    )
    other_table_line = other_table_line or next(
        (line - 1 for line, text in lines_outside if is_rule(text) and re.search("[|┼╪╋]", text)),
        0,
    )
    is_between_rows = bool(grid.rows) and any(
        grid.rows[0][0] < line < grid.rows[-1][0] for line in grid.outside_lines
    )
    if not lines_outside or (is_documented and not other_table_line and not is_between_rows):
        return
    line_count = len(lines_outside)
    lines_in_words = (
        f"{line_count} lines outside the table are"
        if line_count > 1
        else "a line outside the table is"
    )
    other_table_in_words = (
        f"; another table begins in line {other_table_line}: keep it in a file of its own"
    )
    input_file.add_note(
        grid.outside_lines[0],
        "",
        f"{lines_in_words} left out{other_table_in_words if other_table_line else ''}",
    )


def _clauses_of_reading(
    columns: Sequence[TableColumn],
    roles: Roles,
    column_by_role: Mapping[str, TableColumn],
    left_out_headings: Sequence[str],
) -> list[str]:
    """List how the columns were read: the heading of each role, and what else was derived."""
    heading_by_role = {role: column.heading for role, column in column_by_role.items()}
    if roles.program_indices:
        heading_by_role["region"] = " ".join(
            columns[index].heading for index in roles.program_indices
        )
    differing_headings = {
        role: heading for role, heading in heading_by_role.items() if role != heading
    }
    clauses = [", ".join(f"{role} = {heading}" for role, heading in differing_headings.items())]
    clauses = clauses if differing_headings else ["their names say"]
    if (
        processor_column := roles.guessed_columns.get("p")
    ) and processor_column.words in names.SIZES:
        clauses.append(f"{processor_column.heading} counts processors, and is no size")
    if left_out_headings:
        clauses.append(f"left out: {', '.join(left_out_headings)}")
    if roles.heading_of_growth:
        clauses.append(f"the work grows with the processors, as {roles.heading_of_growth} says")
    efficiency_headings = [
        columns[index].heading
        for index in sorted(roles.per_processor_indices)
        if columns[index].is_efficiency
    ]
    if efficiency_headings:
        clauses.append(f"{efficiency_headings[0]}: taken p times, as a speed-up over one processor")
    if headings_per_processor := [
        columns[index].heading
        for index in sorted(roles.per_processor_indices)
        if not columns[index].is_efficiency
    ]:
        clauses.append(f"{', '.join(headings_per_processor)}: of one processor each, taken p times")
    return clauses


def _is_documented_heading(role: str, column: TableColumn) -> bool:
    """Return whether a heading is the documented word for its role, or an accepted alternative."""
    heading = re.split(r"[\[(]", column.heading)[0].strip(" #").casefold()
    return (
        heading in (role, *COLUMNS.get(role, ()))
        or metric_name(heading) == role
        or role.startswith("time of ")
    )


def _other_reading_in_words(
    input_file: Reading, columns: Sequence[TableColumn], roles: Roles
) -> str:
    """Return the command that reads the columns in another way if a column was guessed, else the
    option that does.
    """
    options: list[str] = []
    if guessed_column := roles.guessed_columns.get("throughput"):
        options.append(f"--column time={shlex.quote(guessed_column.heading)} --unit s")
    elif guessed_column := roles.guessed_columns.get("time"):
        options.append(f"--column throughput={shlex.quote(guessed_column.heading)}")
    if processor_column := roles.guessed_columns.get("p"):
        heading = shlex.quote(processor_column.heading)
        is_size_too = processor_column.words in names.SIZES
        options.append(f"--column n={heading} --processors N" if is_size_too else "--column p=NAME")
    file = shlex.quote(input_file.file)
    if options:
        return f"; to change this: slipstick measured {file} {' '.join(options)}"
    return "; to change this: --column OURS=NAME"


class _TableReading:
    """The rows of a table while they are read."""

    def __init__(self, input_file: Reading, columns: Sequence[TableColumn], roles: Roles) -> None:
        self.input_file = input_file
        self.columns = columns
        self.roles = roles
        self.units_by_metric: dict[str, list[str]] = {}
        self.missing_cells: list[tuple[int, str]] = []
        self.spread_line_numbers: list[int] = []
        self.short_clock_times: list[tuple[int, str]] = []
        self.lines_of_one_processor: dict[str, int] = {}
        self.summary_lines: list[tuple[int, str]] = []
        self.has_noted_hours = False
        self.has_noted_shares = False
        self.has_rows = False
        self.line_by_device: dict[str, int] = {}
        self.device_by_run: dict[tuple[int | None, float | None, str], str] = {}

    def read_row(self, line: int, cells: Sequence[str]) -> None:
        """Read a row: its coordinates, then the value in each column of values."""
        input_file = self.input_file
        column_count = len(self.columns)
        cells = _without_empty_ends(cells, column_count)
        if len(cells) != column_count:
            count_text = f"{len(cells)} {'value' if len(cells) == 1 else 'values'}"
            input_file.add_problem(
                line,
                "",
                f"{count_text}, where the header promises {column_count}; check the delimiter",
            )
            return
        count_index = self.roles.index_by_role.get("p")
        count_cell = "" if count_index is None else cells[count_index].strip()
        if self.has_rows and names.plain_words(count_cell) in names.SUMMARIES:
            self.summary_lines.append((line, count_cell))
            return
        if self._is_without_value(line, cells):
            return
        self.has_rows = True
        row_coordinates = self._coordinates_of_row(line, cells)
        if row_coordinates is None:
            return
        index_by_role = self.roles.index_by_role
        unit = bare_cell(cells[index_by_role["unit"]]) if "unit" in index_by_role else None
        metric_in_row = cells[index_by_role["metric"]].strip() if "metric" in index_by_role else ""
        first_run_index = len(input_file.runs)
        values_with_shares_last = sorted(
            self.roles.metric_and_region_by_index.items(),
            key=lambda item: (self.columns[item[0]].is_share_of_time, item[0]),
        )
        for index, (metric_of_column, region) in values_with_shares_last:
            cell = cells[index]
            if is_missing(cell) and (metric_of_column is not None or cell.strip()):
                if cell.strip():
                    self.missing_cells.append((line, cell.strip()))
                continue
            metric = metric_of_column or metric_in_row or "time"
            self._note_units(line, metric, unit)
            coordinates = row_coordinates._replace(region=region) if region else row_coordinates
            cell, unit_of_value = self._value_and_unit(index, cell, unit, row_coordinates.p)
            if self.columns[index].is_share_of_time:
                elapsed_time = next(
                    (
                        run.value
                        for run in input_file.runs[first_run_index:]
                        if run.metric == "time"
                    ),
                    None,
                )
                if elapsed_time is not None:
                    share_text = split_value(cell.strip().removesuffix("%"))[0]
                    # A wait is a time of all processors; so is a part where the user says so.
                    is_of_one = metric == "time" and input_file.hints.mean_waits is not False
                    processors = 1 if is_of_one else row_coordinates.p
                    cell = _multiplied_value(share_text, elapsed_time * processors / 100)
                    unit_of_value = "s"
                    self._note_share(line, self.columns[index].heading)
            self._add_value(line, coordinates, metric, cell, unit_of_value, self.columns[index])

    def _is_without_value(self, line: int, cells: Sequence[str]) -> bool:
        """Return whether a row has no value, and list it for a note. An empty cell in a column for
        several quantities is a problem, reported with its value.
        """
        metrics_and_regions = self.roles.metric_and_region_by_index
        value_cells = [cells[index].strip() for index in metrics_and_regions]
        first_text = next(filter(None, value_cells), "")
        has_metrics = all(metric for metric, _ in metrics_and_regions.values())
        if not all(map(is_missing, value_cells)) or not (first_text or has_metrics):
            return False
        self.missing_cells.append((line, first_text))
        return True

    def _value_and_unit(
        self, index: int, cell: str, unit: str | None, processors: int
    ) -> tuple[str, str | None]:
        """Return the text of a value and its unit: hours of all processors together as elapsed
        hours, the value of one processor as that of all, and other values unchanged.

        Parameters
        ----------
        index : of the column
        cell, unit : the value as written, and the unit that the row names
        processors : their number in the row
        """
        column = self.columns[index]
        unit_of_value = unit or column.unit
        if index in self.roles.shared_hours_indices:
            cell = _multiplied_value(split_value(cell)[0], 1 / processors)
            unit_of_value = "h"
        if index in self.roles.per_processor_indices:
            full_efficiency = column.ideal_efficiency(cell) if column.is_efficiency else 1.0
            cell = _multiplied_value(cell, processors / full_efficiency)
            unit_of_value = None if column.is_efficiency else unit_of_value
        return cell, unit_of_value

    def _note_share(self, line: int, heading: str) -> None:
        """Note once how percentages of waits are read."""
        if not self.has_noted_shares:
            message = "is read as a share of the time of all processors"
            self.input_file.add_note(line, heading, message)
        self.has_noted_shares = True

    def _coordinates_of_row(self, line: int, cells: Sequence[str]) -> Coordinates | None:
        """Return the coordinates of a row; None after recording a problem."""
        input_file = self.input_file
        index_by_role = self.roles.index_by_role
        cell_by_role = {
            # The exponent of a size is no footnote.
            role: cells[index].strip() if role == "n" else bare_cell(cells[index])
            for role, index in index_by_role.items()
        }
        if device := device_of(cell_by_role.get("p", "")):
            self.line_by_device.setdefault(device, line)
        processors = self._processor_count_of_row(line, cell_by_role)
        size = self._size_of_row(line, cell_by_role, processors)
        repetition, processor = (
            input_file.whole(line, role, cell_by_role[role]) if cell_by_role.get(role) else None
            for role in ("repetition", "processor")
        )
        if processors is None or (cell_by_role.get("repetition") and repetition is None):
            return None
        if processor is not None and not 0 <= processor <= processors:
            input_file.add_problem(
                line, "processor", f"there is no processor {processor} among {processors}"
            )
            return None
        if cell_by_role.get("processor") and processor is None:
            return None
        region = " ".join(bare_cell(cells[index]) for index in self.roles.program_indices)
        coordinates = Coordinates(
            processors, size, region or cell_by_role.get("region", ""), repetition, processor
        )
        earlier_device = (
            self.device_by_run.setdefault(coordinates[:3], device) if device else device
        )
        if earlier_device != device:
            message = f"{processors} is of {device} here and of {earlier_device} before"
            input_file.add_problem(
                line, "p", f"{message}; keep each kind of processor in a file of its own"
            )
            return None
        return coordinates

    def _processor_count_of_row(self, line: int, cell_by_role: Mapping[str, str]) -> int | None:
        """Return the number of processors in a row, or the number that the user gives; None after
        recording a problem.
        """
        if "p" not in cell_by_role:
            return self.input_file.hints.processors
        cell = cell_by_role["p"]
        if re.fullmatch(r"[0-9.]+ ?[kK]i?", cell):
            message = f"{short(cell)} may be 1000 or 1024 processors each; write all digits"
            self.input_file.refuse(line, "p", message)
        count_text = "1" if is_serial(cell) else size_number(whole_number(cell))
        processor_count = self.input_file.processors(line, "p", count_text)
        if processor_count == 1:
            self.lines_of_one_processor.setdefault("serial" if is_serial(cell) else "1", line)
        return processor_count

    def _size_of_row(
        self, line: int, cell_by_role: Mapping[str, str], processors: int | None
    ) -> float | None:
        """Return the size in a row, of all processors together, or the size that the user gives;
        None if there is no size, or after recording a problem.
        """
        index = self.roles.index_by_role.get("n")
        size = self.input_file.hints.size
        if index is not None and cell_by_role.get("n"):
            size = self.input_file.size(line, "n", size_number(cell_by_role["n"]))
            if size is not None:
                size *= _factor_of_heading(self.columns[index].unit or "")
        if (
            size is not None
            and processors is not None
            and index in self.roles.per_processor_indices
        ):
            size *= processors
        return size

    def _note_units(self, line: int, metric: str, unit: str | None) -> None:
        """Note a unit of a metric that differs from the unit in an earlier row."""
        earlier_units = self.units_by_metric.setdefault(metric_name(metric), [unit]) if unit else []
        if unit and unit not in earlier_units:
            self.input_file.add_note(
                line,
                metric,
                f"is in {unit} here and in {earlier_units[0]} before; each is read as it says",
            )
            earlier_units.append(unit)

    def _add_value(
        self,
        line: int,
        coordinates: Coordinates,
        metric: str,
        cell: str,
        unit: str | None,
        column: TableColumn,
    ) -> None:
        """Add a value. A unit in its cell replaces a missing unit of the column, and must equal a
        unit that the column has.
        """
        input_file = self.input_file
        if column.has_hours_first and re.fullmatch(r"\s*\d+:\d\d\s*", cell):
            if not self.has_noted_hours and any("-" in other_cell for other_cell in column.cells):
                message = f"{cell.strip()} is read as hours and minutes, as other cells have days"
                input_file.add_note(line, "time", message)
                self.has_noted_hours = True
            cell = f"{cell.strip()}:00"
        clock_seconds = parse_seconds(cell)
        if (
            clock_seconds is not None
            and METRICS.get(metric_name(metric), METRICS["time"]) in _TIME_METRICS
        ):
            if cell.count(":") == 1 and "-" not in cell:  # and no days
                self.short_clock_times.append((line, cell.strip()))
            input_file.add(line, coordinates, metric, repr(float(clock_seconds)), "s")
            return
        number_text, unit_of_cell, has_spread = split_value(cell)
        is_elapsed_time = metric_name(metric) == "time" and not coordinates.region
        if is_elapsed_time and NUMBER.fullmatch(number_text) and not float(number_text):
            message = f"{cell.strip()} is too short for its timer, and the run is left out"
            input_file.add_note(line, metric, message)
            return
        self.spread_line_numbers += [line] if has_spread else []
        if metric == "throughput":
            number_text, unit_of_cell = split_amount(cell)
        if unit_of_cell is not None and unit is not None and not _is_unit(unit):
            unit = None  # a word in brackets
        if (
            unit_of_cell is not None
            and unit is not None
            and _base_unit(unit_of_cell) != _base_unit(unit)
        ):
            input_file.add_problem(
                line,
                metric,
                f"{cell.strip()} has a unit of its own, beside {unit}; keep one of the two",
            )
        if (
            metric == "throughput"
            and unit is None
            and unit_of_cell is None
            and column.unit_of_rate is not None
        ):
            unit = column.heading.rstrip(":")
        input_file.add(line, coordinates, metric, number_text, unit_of_cell or unit)

    def note_unread_parts(self) -> None:
        """Note which cells and spreads were left out, and which times can be read in two ways."""
        input_file = self.input_file
        if self.missing_cells:
            line, text = self.missing_cells[0]
            others_in_words = (
                f", and {len(self.missing_cells) - 1} more" if len(self.missing_cells) > 1 else ""
            )
            input_file.add_note(
                line,
                "",
                f"{short(text) if text else 'an empty cell'} is no value; the run is left"
                f" out{others_in_words}",
            )
        if self.summary_lines:
            line, text = self.summary_lines[0]
            input_file.add_note(line, text, "sums up the rows above, and is left out")
        if line := self.lines_of_one_processor.get("serial", 0):
            message = "is read as one processor; a serial program may take less time than that"
            input_file.add_note(line, "serial", message)
            if "1" in self.lines_of_one_processor:
                message = "a serial run and one of a single processor are both p = 1; keep one"
                input_file.add_problem(line, "p", message)
        if self.spread_line_numbers:
            input_file.add_note(
                self.spread_line_numbers[0],
                "",
                "what stands beside a value as its spread is left out",
            )
        if len(self.line_by_device) > 1:
            names_in_words = ", ".join(self.line_by_device)
            message = (
                f"the processors are not alike: {names_in_words}; speed-ups compare them all"
                " the same"
            )
            input_file.add_note(list(self.line_by_device.values())[1], "p", message)
        if self.short_clock_times:
            line, text = self.short_clock_times[0]
            input_file.add_note(line, "time", f"{text} is read as minutes and seconds")


_FACTOR_OF_WORDS: Mapping[str, float] = {
    **dict.fromkeys(("thousand", "tsd", "k", "10^3", "10³", "1e3"), 1e3),
    **dict.fromkeys(("million", "mio", "m", "10^6", "10⁶", "1e6"), 1e6),
    **dict.fromkeys(("billion", "mrd", "10^9", "10⁹", "1e9"), 1e9),
}
"""Words in the heading of a size by which its numbers are multiplied."""


def _factor_of_heading(unit: str) -> float:
    """Return the factor that the first word of the unit in the heading of a size names; 1 without
    one, as in bytes.

    >>> (
    ...     _factor_of_heading("10^6 cells"),
    ...     _factor_of_heading("in thousands"),
    ...     _factor_of_heading("m"),
    ... )
    (1000000.0, 1000.0, 1.0)
    """
    text = unit.removeprefix("in ").lstrip("x×* ")
    if re.fullmatch(r"1[0,]*000", text):
        return float(text.replace(",", ""))
    words = text.replace(".", " ").split() or [""]
    if words[0] == "m":  # metres
        return 1.0
    return _FACTOR_OF_WORDS.get(words[0].casefold().removesuffix("s"), 1.0)


_TIME_METRICS = [metric for metric in METRICS.values() if str(metric.dimension) == "s"]


def _base_unit(unit_text: str) -> str:
    """Return a unit of time in its standard spelling, without a divisor such as step; return other
    units unchanged.
    """
    return time_of_unit(unit_text)[0]


def _is_unit(unit_text: str) -> bool:
    """Return whether a text is a unit, of a rate or any other."""
    try:
        parse_unit(time_of_unit(unit_text)[0])
    except UnitError:
        return names.rate_unit(unit_text) is not None
    return True


def _multiplied_value(cell: str, factor: float) -> str:
    """Return the value in a cell multiplied by a factor, such as the number of processors, with its
    unit unless it is an efficiency.
    """
    number_text, unit, _ = split_value(cell)
    unit = None if unit == "%" else unit
    try:
        return f"{float(number_text) * factor!r} {unit or ''}".strip()
    except ValueError:
        return cell  # which the reading refuses


def _without_empty_ends(cells: Sequence[str], column_count: int) -> Sequence[str]:
    """Return the cells of a row without empty ones beyond the heading, which delimiters at the ends
    of lines cause.
    """
    extra_cells = cells[column_count:]
    return (
        cells[:column_count]
        if extra_cells and not any(cell.strip() for cell in extra_cells)
        else cells
    )


FORMATS = (FileFormat("csv", _is_tidy, _read_tidy),)
