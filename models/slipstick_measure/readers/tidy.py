"""Tables of runs as people write them: one value on a line, or one run on a line with a column for
each metric.

`grid` finds the cells, `columns` says what each column holds, and `cells` reads the values. What
was understood is a note, with the option that says otherwise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from slipstick.errors import SpecError, UnitError, did_you_mean, short
from slipstick.units import scale
from slipstick_measure.measurements import METRICS, Measurements
from slipstick_measure.readers import names
from slipstick_measure.readers.cells import (
    bare_cell,
    comma_of,
    device_of,
    is_missing,
    number_in,
    product,
    seconds,
    split_value,
    thousands,
    whole_number,
    with_points,
)
from slipstick_measure.readers.columns import (
    Roles,
    TableColumn,
    looks_like_runs,
    of_a_model,
    roles_of,
)
from slipstick_measure.readers.grid import (
    JUDGED,
    LATEX_TABLE,
    CellGrid,
    grid_of,
    is_rule,
    with_points_noted,
)
from slipstick_measure.readers.reading import (
    COLUMNS,
    Coordinates,
    FileFormat,
    Reading,
    metric_name,
    time_of_unit,
)

_MEANINGS = {"p": "p", "n": "n", "throughput": "throughput", "time": "time", "speedup": "speedup"}


def _columns(grid: CellGrid) -> list[TableColumn]:
    """Build the columns of a table; rows of a different length are not used for that."""
    width = len(grid.heading)
    rows = [cells for _, cells in grid.rows if len(cells) == width]
    comma = comma_of(cell for cells in rows for cell in cells)
    texts = [[with_points(cell, comma) for cell in cells] for cells in rows]
    return [
        TableColumn.of(index, text, [cells[index] for cells in texts])
        for index, text in enumerate(grid.heading)
    ]


def is_table_of_model(reading: Reading) -> bool:
    """Return whether a table is data for a fit of a model and for a validation."""
    try:
        grid = grid_of(replace(reading, problems=[], notes=[]), JUDGED)
    except SpecError:
        return False  # of quotes that do not end, which reading says
    return bool(of_a_model(_columns(grid)))


def _is_tidy(reading: Reading) -> bool:
    """Return whether the heading names columns, one of them the processors or a value."""
    try:
        grid = grid_of(replace(reading, problems=[], notes=[]), JUDGED)
    except SpecError:
        return True  # of quotes that do not end, which reading says
    if not grid.heading:
        return False
    if grid.delimiter == " " and {len(cells) for _, cells in grid.rows[:50]} != {len(grid.heading)}:
        return False  # prose
    columns = _columns(grid)
    chosen_headings = {theirs.strip().casefold() for theirs in reading.hints.columns.values()}
    headings_named = {word for column in columns for word in (column.text.casefold(), column.words)}
    return looks_like_runs(columns) or bool(chosen_headings & headings_named)


def _read_tidy(reading: Reading) -> Measurements:
    """Read a table with a heading.

    Columns are ``p, n, region, metric, unit, value, repetition``, in any order, of which only p and
    a value are needed. The value stands in column ``value``, with its metric and unit in columns of
    those names; or each metric has a column of its own, with the unit in its name: ``time [s]``.
    `Hints.columns` tells other names. Where cells are not parted by commas, ``1,5`` is one and a
    half, unless all such numbers might be thousands.
    """
    grid = grid_of(reading)
    grid = _with_processors_of_jobs(grid._replace(rows=list(_whole_jobs(reading, grid))))
    grid = _with_product(grid, reading.hints.columns.get("p", ""))
    _refuse_parted_names(reading, grid)
    columns = _columns(grid)
    if reading.hints.columns:
        _check_told(reading, grid, columns)
    unit = reading.hints.unit
    told_rate = unit is not None and names.rate_unit(unit) is not None
    roles = roles_of(columns, reading.hints.columns, told_rate)
    _refuse_roles(reading, grid, columns, roles)
    grid = with_points_noted(reading, grid)
    _note_understood(reading, grid, columns, roles)
    table = _TableReading(reading, columns, roles)
    for line, cells in grid.rows:
        table.read_row(line, cells)
    table.note_rest()
    member = "processor"
    if "p" in roles.place:
        member = names.member_called(columns[roles.place["p"]].words)
    return replace(reading.finished(), weak=roles.weak, member=member)


def _with_product(grid: CellGrid, processors: str) -> CellGrid:
    """Return a table with a column of the product of two or more columns, as in
    ``p=ranks*threads``, if processors are told so.
    """
    factors = [name.strip().casefold() for name in processors.split("*")]
    headings = [name.strip().casefold() for name in grid.heading]
    if len(factors) < 2 or not set(factors) <= set(headings) or processors in grid.heading:
        return grid
    places = [headings.index(name) for name in factors]
    rows = []
    for line, cells in grid.rows:
        numbers = [number_in(cells[place]) for place in places if place < len(cells)]
        known = [number for number in numbers if number is not None]
        product = f"{prod(known):g}" if len(known) == len(places) else ""
        rows.append((line, [*cells, product]))
    return grid._replace(heading=[*grid.heading, processors], rows=rows)


def _refuse_parted_names(reading: Reading, grid: CellGrid) -> None:
    """Refuse a table whose rows all have fewer cells than its heading: a name was parted."""
    counts = {len(cells) for _, cells in grid.rows}
    if len(counts) == 1 and (count := counts.pop()) < len(grid.heading) and len(grid.rows) > 1:
        message = (
            f"the heading has {len(grid.heading)} names, and every row {count} values; write a"
            f" name that contains {grid.delimiter!r} in quotes"
        )
        reading.refuse(grid.line, "", message)


def _whole_jobs(reading: Reading, grid: CellGrid) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows; of a batch system's accounts only completed jobs as a whole, with a note on
    the rest.
    """
    words = [names.plain_words(text) for text in grid.heading]
    job = words.index("jobid") if "jobid" in words else None
    state = words.index("state") if "state" in words and job is not None else None
    steps: list[tuple[int, str]] = []
    for line, cells in grid.rows:
        if len(cells) != len(words) or job is None:
            yield line, cells
        elif "." in cells[job]:
            steps.append((line, f"step {cells[job]}"))
        elif state is not None and not cells[state].upper().startswith("COMPLETED"):
            steps.append((line, f"{cells[job]}, {cells[state]}"))
        else:
            yield line, cells
    if steps:
        names_in_words = ", ".join(text for _, text in steps[:4])
        more = f" and {len(steps) - 4} more" if len(steps) > 4 else ""
        reading.odd(
            steps[0][0], "", f"no whole job that was completed, so left out: {names_in_words}{more}"
        )


def _with_processors_of_jobs(grid: CellGrid) -> CellGrid:
    """Return a table of sacct with the processors of each job, which stand among its allocated
    resources (``AllocTRES``: ``cpu=16,mem=64G``) where it has no column of them.
    """
    words = [names.plain_words(text) for text in grid.heading]
    if "jobid" not in words or "alloctres" not in words or {"ncpus", "alloccpus"} & {*words}:
        return grid
    index = words.index("alloctres")
    heading = [*grid.heading]
    heading[index] = "NCPUS"
    rows = []
    for line, cells in grid.rows:
        count = _CPUS.search(cells[index]) if len(cells) == len(words) else None
        rows.append((line, [*cells[:index], count[1], *cells[index + 1 :]] if count else cells))
    return grid._replace(heading=heading, rows=rows)


_CPUS = re.compile(r"\bcpu=([0-9]+)")


def _check_told(reading: Reading, grid: CellGrid, columns: Sequence[TableColumn]) -> None:
    headings = [column.text for column in columns]
    known_words = {word for column in columns for word in (column.text.casefold(), column.words)}
    for ours, theirs in reading.hints.columns.items():
        if theirs.strip().casefold() not in known_words:
            reading.wrong(
                grid.line,
                "",
                f"there is no column {theirs!r} to be {ours}{did_you_mean(theirs, headings)}",
            )


_SACCT = "let sacct print it: --format=JobID,NCPUS,Elapsed,State"


def _refuse_roles(
    reading: Reading, grid: CellGrid, columns: Sequence[TableColumn], roles: Roles
) -> None:
    """Refuse a table if a necessary column is missing or ambiguous."""
    if not roles.values and "jobid" in {names.plain_words(column.text) for column in columns}:
        reading.refuse(grid.line, "", f"there is no elapsed time of a job; {_SACCT}")
    for heading, message in roles.refusals:
        reading.wrong(grid.line, heading, message)
    if "p" not in roles.place and reading.hints.processors is None:
        message = "there is no column p, the processors; name it with --column p=NAME"
        if "jobid" in {names.plain_words(column.text) for column in columns}:
            message = f"there are no processors of a job; {_SACCT}"
        if parameter := of_a_model(columns):
            message += f"; slipstick fit --model NAME takes columns such as {short(parameter)}"
        reading.wrong(grid.line, "", message)
    metrics = [metric for metric, _ in roles.values.values()]
    if not metrics and not roles.refusals:
        reading.wrong(
            grid.line,
            "",
            "there is no column with values: 'value', or one such as 'time [s]'; name one with"
            " --column value=NAME, time=NAME, throughput=NAME or speedup=NAME",
        )
    if "metric" in roles.place and metrics not in ([], [None]):
        reading.wrong(
            grid.line,
            "metric",
            "values stand in column value if there is a column metric; keep one of the two",
        )
    unit = reading.hints.unit
    if (value := roles.guessed.get("throughput")) and unit and time_of_unit(unit)[1]:
        first = value.cells[0]
        last = value.cells[-1]
        reading.wrong(
            grid.line,
            value.text,
            f"goes from {first} to {last} as p grows, as a throughput does, and --unit {unit} is of"
            f" a time; say --column throughput={shlex.quote(value.text)} without --unit, or"
            f" --column time={shlex.quote(value.text)}",
        )
    if reading.problems:
        reading.finished()


def _note_understood(
    reading: Reading, grid: CellGrid, columns: Sequence[TableColumn], roles: Roles
) -> None:
    """Note how each column was understood, unless its heading is a documented word."""
    held = {
        **{ours: columns[roles.place[ours]] for ours in COLUMNS if ours in roles.place},
        **{
            _MEANINGS.get(metric, metric) if not region else f"time of {region}": columns[index]
            for index, (metric, region) in sorted(roles.values.items())
            if metric is not None
        },
    }
    near = [
        heading
        for heading in roles.left_out
        if heading.casefold() not in {column.text.casefold() for column in columns if column.kind}
        and names.plain_words(heading) not in names.OCCASIONS
        and "did you mean" in did_you_mean(names.plain_words(heading), [*COLUMNS, *METRICS])
    ]
    for text in near:
        words = did_you_mean(names.plain_words(text), [*COLUMNS, *METRICS])
        reading.odd(grid.line, text, f"this column is left out{words}")
    left_out = [heading for heading in roles.left_out if heading not in near]
    plain = all(_is_ours(ours, column) for ours, column in held.items())
    plain = plain and not left_out and not roles.guessed and roles.weak is None
    if not plain:
        headings = {ours: column.text for ours, column in held.items()}
        if roles.programs:
            headings["region"] = " ".join(columns[index].text for index in roles.programs)
        clauses = [", ".join(f"{ours} = {heading}" for ours, heading in headings.items())]
        if left_out:
            clauses.append(f"left out: {', '.join(left_out)}")
        if roles.told_weak:
            clauses.append(f"the work grows with the processors, as {roles.told_weak} says")
        if per_processor := [columns[index].text for index in sorted(roles.of_one)]:
            clauses.append(f"{', '.join(per_processor)}: of one processor each, taken p times")
        otherwise = _otherwise(reading, columns, roles)
        reading.odd(grid.line, "columns", f"read as {'; '.join(clauses)}{otherwise}")
    _note_outside(reading, grid, plain)


def _note_outside(reading: Reading, grid: CellGrid, plain: bool) -> None:
    """Note the lines outside of the table; where its headings are plain, only another table."""
    texts = [(index, reading.lines[index - 1]) for index in grid.outside]
    another = next((index for index, text in texts if LATEX_TABLE in text), 0) or next(
        (index - 1 for index, text in texts if is_rule(text) and re.search("[|┼╪╋]", text)), 0
    )
    if not texts or (plain and not another):
        return
    count = len(texts)
    lines = f"{count} lines outside the table are" if count > 1 else "a line outside the table is"
    rest = f"; another table begins in line {another}: keep it in a file of its own"
    reading.odd(grid.outside[0], "", f"{lines} left out{rest if another else ''}")


def _is_ours(ours: str, column: TableColumn) -> bool:
    """Return whether a heading is the documented word for its role, or an accepted alternative."""
    bare = re.split(r"[\[(]", column.text)[0].strip(" #").casefold()
    return (
        bare in (ours, *COLUMNS.get(ours, ()))
        or metric_name(bare) == ours
        or ours.startswith("time of ")
    )


def _otherwise(reading: Reading, columns: Sequence[TableColumn], roles: Roles) -> str:
    """Return the command that reads the columns differently, where there was a choice."""
    options: list[str] = []
    if value := roles.guessed.get("throughput"):
        options.append(f"--column time={shlex.quote(value.text)} --unit s")
    elif value := roles.guessed.get("time"):
        options.append(f"--column throughput={shlex.quote(value.text)}")
    if "p" in roles.guessed:
        options.append("--column p=NAME")
    file = shlex.quote(reading.file)
    if options:
        return f"; to say otherwise: slipstick measured {file} {' '.join(options)}"
    return "; to say otherwise: --column OURS=NAME"


class _TableReading:
    """The rows of a table while they are read."""

    def __init__(self, reading: Reading, columns: Sequence[TableColumn], roles: Roles) -> None:
        self.reading = reading
        self.columns = columns
        self.roles = roles
        self.units: dict[str, list[str]] = {}
        self.missing: list[tuple[int, str]] = []
        self.spread: list[int] = []
        self.short_clock: list[tuple[int, str]] = []
        self.devices: dict[str, int] = {}
        self.device_at: dict[tuple[int | None, float | None, str], str] = {}

    def read_row(self, line: int, cells: Sequence[str]) -> None:
        """Read a row: its coordinates, then the value in each column of values."""
        reading = self.reading
        width = len(self.columns)
        cells = _without_empty_ends(cells, width)
        if len(cells) != width:
            counts = f"{len(cells)} {'value' if len(cells) == 1 else 'values'}"
            reading.wrong(
                line, "", f"{counts}, where the header promises {width}; check the delimiter"
            )
            return
        texts = [cells[index] for index in self.roles.values]
        if all(is_missing(text) for text in texts) and any(text.strip() for text in texts):
            self.missing.append((line, next(text.strip() for text in texts if text.strip())))
            return
        where = self._where(line, cells)
        if where is None:
            return
        place = self.roles.place
        unit = bare_cell(cells[place["unit"]]) if "unit" in place else None
        metric_in_row = cells[place["metric"]].strip() if "metric" in place else ""
        for index, (column, region) in sorted(self.roles.values.items()):
            text = cells[index]
            if is_missing(text) and (column is not None or text.strip()):
                if text.strip():
                    self.missing.append((line, text.strip()))
                continue
            name = column or metric_in_row or "time"
            self._note_units(line, name, unit)
            coordinates = where._replace(region=region) if region else where
            in_header = unit or self.columns[index].unit
            if index in self.roles.of_one:
                text = _times(text, where.p)
            self._add(line, coordinates, name, text, in_header, self.columns[index])

    def _where(self, line: int, cells: Sequence[str]) -> Coordinates | None:
        """Return the coordinates of a row; None after recording a problem."""
        reading = self.reading
        place = self.roles.place
        cell = {name: bare_cell(cells[index]) for name, index in place.items()}
        if device := device_of(cell.get("p", "")):
            self.devices.setdefault(device, line)
        p = (
            reading.processors(line, "p", product(whole_number(cell["p"])))
            if "p" in cell
            else reading.hints.processors
        )
        n = reading.size(line, "n", product(cell["n"])) if cell.get("n") else reading.hints.size
        if n is not None and p is not None and place.get("n") in self.roles.of_one:
            n *= p
        repetition, own = (
            reading.whole(line, name, cell[name]) if cell.get(name) else None
            for name in ("repetition", "processor")
        )
        if p is None or (cell.get("repetition") and repetition is None):
            return None
        if own is not None and not 0 <= own <= p:
            reading.wrong(line, "processor", f"there is no processor {own} among {p}")
            return None
        if cell.get("processor") and own is None:
            return None
        region = " ".join(bare_cell(cells[index]) for index in self.roles.programs)
        coordinates = Coordinates(p, n, region or cell.get("region", ""), repetition, own)
        before = self.device_at.setdefault(coordinates[:3], device) if device else device
        if before != device:
            message = f"{p} is of {device} here and of {before} before"
            reading.wrong(line, "p", f"{message}; keep each kind of processor in a file of its own")
            return None
        return coordinates

    def _note_units(self, line: int, name: str, unit: str | None) -> None:
        units = self.units.setdefault(metric_name(name), [unit]) if unit else []
        if unit and unit not in units:
            self.reading.odd(
                line, name, f"is in {unit} here and in {units[0]} before; each is taken as it says"
            )
            units.append(unit)

    def _add(
        self,
        line: int,
        coordinates: Coordinates,
        name: str,
        text: str,
        unit: str | None,
        column: TableColumn,
    ) -> None:
        """Add a value; a unit in its cell replaces a missing unit of the column, and must equal an
        existing one.
        """
        reading = self.reading
        clock = seconds(text)
        if clock is not None and METRICS.get(metric_name(name), METRICS["time"]) in _TIMED:
            if text.count(":") == 1:
                self.short_clock.append((line, text.strip()))
            reading.add(line, coordinates, name, repr(float(clock)), "s")
            return
        number, own, spread = split_value(text)
        self.spread += [line] if spread else []
        if name == "throughput":
            number, own = thousands(text)
        if own is not None and unit is not None and not _is_unit(unit):
            unit = None  # a word in brackets
        if own is not None and unit is not None and _unit(own) != _unit(unit):
            reading.wrong(
                line,
                name,
                f"{text.strip()} has a unit of its own, beside {unit}; keep one of the two",
            )
        if name == "throughput" and unit is None and own is None and column.rate is not None:
            unit = column.text
        reading.add(line, coordinates, name, number, own or unit)

    def note_rest(self) -> None:
        """Note which cells and spreads were left out, and which times can be read in two ways."""
        reading = self.reading
        if self.missing:
            line, text = self.missing[0]
            rest = f", and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
            reading.odd(line, "", f"{short(text)} is no value; the run is left out{rest}")
        if self.spread:
            reading.odd(self.spread[0], "", "what stands beside a value as its spread is left out")
        if len(self.devices) > 1:
            names_in_words = ", ".join(self.devices)
            message = (
                f"the processors are not alike: {names_in_words}; speed-ups compare them all"
                " the same"
            )
            reading.odd(list(self.devices.values())[1], "p", message)
        if self.short_clock:
            line, text = self.short_clock[0]
            reading.odd(line, "time", f"{text} is read as minutes and seconds")


_TIMED = [metric for metric in METRICS.values() if str(metric.dimension) == "s"]


def _unit(text: str) -> str:
    return time_of_unit(text)[0]


def _is_unit(text: str) -> bool:
    try:
        scale(time_of_unit(text)[0])
    except UnitError:
        return names.rate_unit(text) is not None
    return True


def _times(text: str, count: int) -> str:
    """Return a value of one processor multiplied by their number, with its unit."""
    number, unit, _ = split_value(text)
    try:
        return f"{float(number) * count!r} {unit or ''}".strip()
    except ValueError:
        return text  # which the reading refuses


def _without_empty_ends(cells: Sequence[str], width: int) -> Sequence[str]:
    """Return cells without empty ones beyond the heading, which come from delimiters at the ends of
    lines.
    """
    extra = cells[width:]
    return cells[:width] if extra and not any(cell.strip() for cell in extra) else cells


FORMATS = (FileFormat("csv", _is_tidy, _read_tidy),)
