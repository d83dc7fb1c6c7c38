"""What the columns of a table of runs hold, by their headings and their values.

A heading that is a word of `names` says it; where two columns claim one place, or a heading says
nothing, the values decide: what grows with the processors is a rate, what falls is a time. What
neither tells is refused, with the option that says it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise, permutations
from shlex import quote
from typing import TypeAlias

from slipstick.errors import UnitError
from slipstick.expression.nodes import BYTES
from slipstick.late import dataclass, field, late_pattern
from slipstick.units import parse_unit
from slipstick_measure.measurements import METRICS
from slipstick_measure.readers import names
from slipstick_measure.readers.cells import (
    has_no_seconds,
    is_missing,
    is_serial,
    number_in,
    split_value,
)
from slipstick_measure.readers.reading import COLUMNS, metric_name, time_of_unit

LARGEST_EFFICIENCY_RATIO = 2.0
"""Efficiency above which the efficiencies of a column are taken as percentages."""

MULTIPLE_TOLERANCE = 1e-2
"""Relative difference up to which columns are taken as multiples of one another."""


@dataclass
class TableColumn:
    """A column of a table: its index and heading, the words and the unit of the heading, its cells,
    the kind of its values, and the cause of times that are lost, as in ``wait[MPI time] [s]``.
    """

    index: int
    heading: str
    words: str
    unit: str | None
    cells: Sequence[str]
    kind: str = ""
    cause: str = ""

    @classmethod
    def of(cls, index: int, text: str, cells: Sequence[str]) -> TableColumn:
        """Build a column, and derive the kind of its values from its heading."""
        heading_text = text.strip().rstrip(":")
        cause_match = _METRIC_WITH_CAUSE.fullmatch(heading_text)
        if (
            cause_match
            and not names.is_time_unit(cause_match["cause"])
            and cause_match["cause"] != "%"
        ):
            column = cls.of(index, f"{cause_match['metric']}{cause_match['rest']}", cells)
            column.heading, column.cause = text.strip(), cause_match["cause"].strip()
            return column
        words, unit = names.split_rate_heading(heading_text) or names.split_heading(heading_text)
        column = cls(index, text.strip(), words, unit, cells)
        column.kind = column.kind_by_name()
        if symbol_kind := _kind_of_symbol(heading_text, cells):
            column.kind = column.words = symbol_kind
            return column
        if not column.kind and (processor_noun := _noun_of_counts(cells)):
            column.words, column.kind = processor_noun, "p"
            return column
        if column.words in names.PROGRAMMING_MODELS and unit is None and _are_counts(cells):
            column.kind = "p"
            return column
        separated_words = names.words_by_capitals(heading_text)
        if column.kind or " " not in separated_words:
            return column
        words, unit = names.split_heading(separated_words)
        column_by_words = cls(index, text.strip(), words, unit, cells)
        column_by_words.kind = column_by_words.kind_by_name()
        # TotalCPU of sacct is a time, and no count of processors.
        return column if column_by_words.kind in ("", "p", "load") else column_by_words

    @cached_property
    def numbers(self) -> list[float | None]:
        """The numbers of the cells; None for cells without one."""
        return [self._number_of(cell) for cell in self.cells]

    def _number_of(self, cell: str) -> float | None:
        """Return the number of a cell; 1 for a serial run in a column of processors."""
        if self.kind == "p" and is_serial(cell):
            return 1.0
        return None if is_missing(cell) else number_in(cell)

    @property
    def known_numbers(self) -> list[float]:
        """The numbers of the cells that have one."""
        return [number for number in self.numbers if number is not None]

    @property
    def is_numeric(self) -> bool:
        """Whether all nonempty cells are numbers."""
        return bool(self.known_numbers) and len(self.known_numbers) == sum(
            not is_missing(cell) for cell in self.cells
        )

    @property
    def is_constant(self) -> bool:
        """Whether all numbers are equal."""
        return len(set(self.known_numbers)) < 2

    @property
    def unit_of_rate(self) -> names.RateUnit | None:
        """The unit of a rate, from the brackets of the heading or from the heading itself."""
        if not self.unit and self.words in names.TIMES:
            return None
        return names.rate_unit(self.unit if self.unit else self.heading.rstrip(":"))

    @property
    def is_efficiency(self) -> bool:
        """Whether the heading names an efficiency, whose products with the processors are
        speed-ups.
        """
        return self.kind == "efficiency" and any(word in self.words for word in names.EFFICIENCIES)

    @cached_property
    def is_in_percent(self) -> bool:
        """Whether the efficiencies in cells without a percent sign are percentages."""
        numbers_without_sign = (number_in(cell) for cell in self.cells if "%" not in cell)
        return self.unit == "%" or any(
            (number or 0.0) > LARGEST_EFFICIENCY_RATIO for number in numbers_without_sign
        )

    def ideal_efficiency(self, cell: str) -> float:
        """Return an efficiency without losses as a cell writes it: 100 in percent, else 1."""
        return 100.0 if self.is_in_percent or "%" in cell else 1.0

    @property
    def has_time_unit(self) -> bool:
        """Whether the unit is a unit of time."""
        return self.unit is not None and time_of_unit(self.unit)[1]

    @property
    def is_in_bytes(self) -> bool:
        """Return whether the heading or every cell with a value has a unit of bytes."""
        filled_cells = [cell for cell in self.cells if not is_missing(cell)]
        units = [self.unit] if self.unit else [split_value(cell)[1] for cell in filled_cells]
        return bool(filled_cells) and all(unit is not None and _is_of_bytes(unit) for unit in units)

    @cached_property
    def has_hours_first(self) -> bool:
        """Whether times of two fields are hours and minutes, by the heading or by cells with
        days.
        """
        return bool(_HOURS_AND_MINUTES.search(self.heading)) or has_no_seconds(self.cells)

    @cached_property
    def is_share_of_time(self) -> bool:
        """Whether the values are parts in percent of the elapsed time that are lost or spent."""
        if self.kind not in ("wait", "busy", "time", "part"):
            return False
        if self.heading.rstrip(" )]").endswith("%") or self.heading.startswith("%"):
            return True
        cells = [cell for cell in self.cells if not is_missing(cell)]
        return bool(cells) and all(cell.strip().endswith("%") for cell in cells)

    @property
    def is_per_processor(self) -> bool:
        """Whether each value belongs to a single processor."""
        counted_words, _, divisor_words = self.words.rpartition(" per ")
        return (bool(counted_words) and divisor_words in names.PROCESSORS) or bool(
            self.unit_of_rate and self.unit_of_rate.is_per_processor
        )

    def has_cells_in_several_runs(self, runs: Sequence[tuple[str, ...]]) -> bool:
        """Return whether every row has a cell, and at least two different cells occur in several
        runs each.
        """
        runs_by_cell: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for cell, run in zip(self.cells, runs, strict=True):
            runs_by_cell[cell.strip()].add(run)
        return (
            "" not in runs_by_cell
            and sum(len(runs_of_cell) > 1 for runs_of_cell in runs_by_cell.values()) > 1
        )

    def kind_by_name(self) -> str:
        """Return the kind of the values that the heading names; empty if it names none."""
        word = self.words
        if (name := word.partition("=")[0].strip()) in (*names.SPEEDUPS, *names.DERIVED):
            word = name  # before a formula
        metric = metric_name(word)
        if word in ("n", "p"):
            return word
        if self.unit_of_rate is not None and word not in names.DERIVED:
            return "ideal" if word.partition(" ")[0] in names.IDEALS else "rate"
        if _COMPARED.sub("", word) in names.SPEEDUPS:
            return "speedup"
        for kind, words in _KINDS.items():
            if word in words and not (kind == "p" and self.has_time_unit):  # CPU [s]
                return kind
        if metric in METRICS and metric not in ("time", "throughput"):
            return metric
        for role in ("region", "metric", "unit"):
            if word in (role, *COLUMNS[role]):
                return role
        counted_words, _, divisor_words = word.rpartition(" per ")
        if counted_words in names.SIZES and divisor_words in names.SIDES:
            return "n"
        if counted_words and divisor_words in names.PROCESSORS:
            kind_for_processor = {"n": "n of one", "rate": "rate", "memory": "memory"}
            return kind_for_processor.get(TableColumn.of(0, counted_words, []).kind, "")
        words_without_time = word.removesuffix(" time")
        if _SUMMED.search(self.heading):
            return ""
        if (
            self.has_time_unit or words_without_time != word
        ) and words_without_time not in names.OCCASIONS:
            return "part"
        return ""


ROLE_OF_PART = late_pattern(r"(time|wait|busy|events) of (.+)")
"""The role of a column of a part of the program or of a cause, as the notes on reading name it."""

_METRIC_WITH_CAUSE = late_pattern(
    r"(?P<metric>waits?|wait time|busy|events)\s?\[(?P<cause>[^\[\]]+)\]"
    r"(?P<rest>\s*(?:[\[(][^\[\]()]+[\])])?)",
    re.IGNORECASE,
)


_HOURS_AND_MINUTES = late_pattern(
    r"(?<![^\W_])(?:h{1,2}|hrs?|hours?|heures?|horas?|std\.?|stunden|ore|uren)\s?[:：]\s?"
    r"(?:m{1,2}|mins?\.?|minut\w{0,2})(?![\w.]|\s?[:：])|(?<![^\W_])hhmm(?!\w)"
    r"|(?:小时|小時|时|時)[:：](?:分钟|分鐘|分)(?!\s?[:：])|(?<!\w)ч[:：]м(?:ин)?(?!\w|\s?[:：])",
    re.IGNORECASE,
)
"""How a heading says that times of two fields are hours and minutes."""

_SUMMED = late_pattern(
    r"\b(?:all|over|across|of) (?:the |all )?(?:ranks|process(?:es|ors)|threads|cores|tasks)\b"
    r"|\b(?:aggregated?|summed|cumulative|accumulated)\b",
    re.IGNORECASE,
)
"""How a heading says that times are added up over the processors, and are no part of the elapsed
time."""
_COMPARED = late_pattern(r" (?:vs|versus|over|wrt|against|relative to|compared (?:to|with)) .*")
"""What a heading says that values are compared with."""


def _kind_of_symbol(text: str, cells: Sequence[str]) -> str:
    """Return efficiency for a column E of shares and speedup for a column S that begins with 1;
    empty for other columns.
    """
    numbers = [number for cell in cells if (number := number_in(cell)) is not None]
    if text == "E" and numbers and max(numbers) <= LARGEST_EFFICIENCY_RATIO and 1.0 in numbers:
        return "efficiency"
    return "speedup" if text == "S" and numbers and 1.0 in (numbers[0], numbers[-1]) else ""


def _are_counts(cells: Sequence[str]) -> bool:
    """Return whether all cells are whole numbers of processors."""
    return bool(cells) and all(re.fullmatch(r"\s*[1-9][0-9]{0,8}\s*", cell) for cell in cells)


def _noun_of_counts(cells: Sequence[str]) -> str:
    """Return the noun of the processors that every cell counts, as in 4 threads beside Serial;
    empty if they count none.
    """
    nouns_by_cell = [split_value(cell)[1] for cell in cells if not is_serial(cell)]
    nouns = {noun.casefold() for noun in nouns_by_cell if noun}
    plural = max(nouns, key=len, default="")
    is_one_noun = all(plural in (noun, f"{noun}s", f"{noun}es") for noun in nouns)
    are_counts = is_one_noun and None not in nouns_by_cell and nouns <= set(names.PROCESSORS)
    return plural if are_counts else ""


def _is_of_bytes(unit: str) -> bool:
    """Return whether a text is a unit of bytes."""
    try:
        return parse_unit(unit)[1] == BYTES
    except UnitError:
        return False


_KINDS: Mapping[str, Sequence[str]] = {
    "spread": names.SPREADS,
    "time": names.TIMES,
    "rate": names.RATES,
    "speedup": names.SPEEDUPS,
    "efficiency": names.DERIVED,
    "ideal": names.IDEALS,
    "measured": names.MEASURED,
    "repetition": names.REPETITIONS,
    "p": names.PROCESSORS,
    "load": names.LOADS,
    "n": names.SIZES,
    "n of one": names.SIZES_OF_ONE,
}


@dataclass
class Roles:
    """The column for each role.

    Attributes
    ----------
    index_by_role : index of the column for p, n, region, metric, unit, repetition and processor
    metric_and_region_by_index : metric and region of each column of values, by its index; the
        metric is None if another column names it
    program_indices : indices of columns whose words together name the program or its variant, which
        is the region
    per_processor_indices : indices of columns whose values are those of one processor each
    shared_hours_indices : indices of columns whose values are hours of all processors together
    guessed_columns : the column that was taken by a guess, by role
    unread_headings : headings of columns that are not read
    refusals : pairs of a heading and the problem with its column
    work_grows : whether the work grows with the processors; None if the columns do not show it
    heading_of_growth : heading of the efficiencies or speed-ups that show that the work grows
    """

    index_by_role: dict[str, int] = field(default_factory=dict)
    metric_and_region_by_index: dict[int, tuple[str | None, str]] = field(default_factory=dict)
    program_indices: list[int] = field(default_factory=list)
    per_processor_indices: set[int] = field(default_factory=set)
    shared_hours_indices: set[int] = field(default_factory=set)
    guessed_columns: dict[str, TableColumn] = field(default_factory=dict)
    unread_headings: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    work_grows: bool | None = None
    heading_of_growth: str = ""


def looks_like_runs(columns: Sequence[TableColumn]) -> bool:
    """Return whether headings name processors, or a metric beside something else."""
    column_kinds = {column.kind for column in columns}
    if "p" in column_kinds or {"load", "rate"} <= column_kinds:
        return True
    return len(columns) > 1 and bool(
        column_kinds & {"time", "rate", "speedup", "value", "metric", *METRICS}
    )


def heading_of_model_parameter(columns: Sequence[TableColumn]) -> str:
    """Return the first heading that names a parameter of a model, in a table without processors;
    empty for other tables. A table with such a heading is data for a fit of that model and for a
    validation.
    """
    if any(column.kind == "p" for column in columns):
        return ""
    return next(
        (column.heading for column in columns if column.heading.startswith("parameters.")), ""
    )


def roles_of(
    columns: Sequence[TableColumn], heading_by_role: Mapping[str, str], unit_is_rate: bool
) -> Roles:
    """Determine the role of each column.

    Parameters
    ----------
    columns : with their cells
    heading_by_role : the heading that the user names for a role, such as p or time
    unit_is_rate : whether the unit that the user gives is that of a rate
    """
    roles = Roles()
    free_columns = _assign_named_columns(roles, list(columns), heading_by_role)
    free_columns = _assign_coordinates(roles, free_columns, columns)
    _assign_values(roles, free_columns, columns, unit_is_rate)
    _assign_programs(roles, columns, "region" in heading_by_role)
    used_indices = {
        *roles.index_by_role.values(),
        *roles.metric_and_region_by_index,
        *roles.program_indices,
    }
    roles.unread_headings = [
        column.heading for column in columns if column.index not in used_indices and column.heading
    ]
    roles.per_processor_indices |= {
        column.index
        for column in columns
        if column.index in roles.metric_and_region_by_index
        and (column.is_per_processor or column.is_efficiency)
    }
    return roles


def _assign_programs(roles: Roles, columns: Sequence[TableColumn], region_is_named: bool) -> None:
    """Assign columns of words to the region if they distinguish rows of the same processors and
    size: such rows are of several programs, or of variants of one, and are no repetitions.

    Refused are words beside a column of regions that the user did not name, words with empty cells
    between them, and numbers that tell rows apart, such as sizes of blocks: they may be variants,
    sizes or repetitions.
    """
    if "p" not in roles.index_by_role or roles.refusals:
        return
    used_indices = {*roles.index_by_role.values(), *roles.metric_and_region_by_index}
    free_columns = [
        column
        for column in columns
        if column.index not in used_indices
        and column.kind in _KINDS_OF_PROGRAMS
        and column.words not in names.OCCASIONS
    ]
    runs = _run_of_each_row(
        [columns[roles.index_by_role[role]] for role in _RUN_ROLES if role in roles.index_by_role]
    )
    if unclear_column := next(
        (column for column in free_columns if _has_unclear_gaps(column, runs)), None
    ):
        message = (
            "its empty cells may repeat the word above or stand for none; write a word in every row"
        )
        roles.refusals.append((unclear_column.heading, message))
        return
    word_columns = [
        column
        for column in free_columns
        if not column.known_numbers and column.has_cells_in_several_runs(runs)
    ]
    # The first column that leaves no repetitions goes before others.
    word_columns.sort(key=lambda column: len({*_runs_with_column(runs, column)}) < len(runs))
    program_columns: list[TableColumn] = []
    for column in word_columns:
        if len({*_runs_with_column(runs, column)}) > len({*runs}):
            program_columns.append(column)
            runs = _runs_with_column(runs, column)
    if program_columns and "region" not in roles.index_by_role:
        roles.program_indices = [column.index for column in program_columns]
        roles.index_by_role["region"] = roles.program_indices[0]
    elif program_columns and not region_is_named:
        message = "its words tell rows of one region apart; keep rows of each in a file of its own"
        roles.refusals.append((program_columns[0].heading, message))
        return
    for column in free_columns:
        tells_apart = len({*_runs_with_column(runs, column)}) > len({*runs})
        is_count = column.kind in ("p", "load") or names.counts_processors_in_another(
            column.heading
        )
        if column.known_numbers and (_is_setting(column, runs) or (is_count and tells_apart)):
            size_option = "" if "n" in roles.index_by_role else ", n=NAME"
            message = (
                "its numbers tell rows of the same processors apart: are they variants, sizes or"
                f" repetitions? write --column region=NAME{size_option} or repetition=NAME, or"
                " take the"
                " column out of the file"
            )
            roles.refusals.append((column.heading, message))
            return


_RUN_ROLES = ("p", "n", "region", "metric", "repetition", "processor")
"""The roles that tell runs apart."""
_KINDS_OF_PROGRAMS = ("", "ideal", "p", "load")
"""The kinds of columns that may tell programs and their variants apart: no measured values."""

_Run: TypeAlias = tuple[str, ...]


def _run_of_each_row(columns: Sequence[TableColumn]) -> list[_Run]:
    """Return the run of each row: its cells in the given columns."""
    return list(zip(*([cell.strip() for cell in column.cells] for column in columns), strict=True))


def _runs_with_column(runs: Sequence[_Run], column: TableColumn) -> list[_Run]:
    """Return the run of each row, extended by its cell in one more column."""
    return [(*run, cell.strip()) for run, cell in zip(runs, column.cells, strict=True)]


def _has_unclear_gaps(column: TableColumn, runs: Sequence[_Run]) -> bool:
    """Return whether the empty cells of a column of words may distinguish rows: as they are, or if
    they repeat the word above, as merged cells do.
    """
    cells = [cell.strip() for cell in column.cells]
    if column.known_numbers or all(cells) or not any(cells):
        return False
    filled_cells = list[str]()
    for cell in cells:
        filled_cells.append(cell or (filled_cells[-1] if filled_cells else ""))
    filled_column = TableColumn(column.index, column.heading, column.words, None, filled_cells)
    tells_apart = filled_column.has_cells_in_several_runs(runs) and len(
        {*_runs_with_column(runs, filled_column)}
    ) > len({*runs})
    return tells_apart or _is_setting(column, runs)


def _is_setting(column: TableColumn, runs: Sequence[_Run]) -> bool:
    """Return whether a column distinguishes rows of the same run as settings do, and measured
    values mostly do not: each cell stands in several runs, the cells of a run are equally frequent,
    and runs of equally many rows have equally many different cells.
    """
    cells_by_run: dict[_Run, Counter[str]] = defaultdict(Counter)
    for cell, run in zip(column.cells, runs, strict=True):
        cells_by_run[run][cell.strip()] += 1
    runs_by_cell = Counter(cell for cells in cells_by_run.values() for cell in cells)
    row_and_cell_counts = {(cells.total(), len(cells)) for cells in cells_by_run.values()}
    return (
        min(runs_by_cell.values()) > 1
        and all(len(set(cells.values())) == 1 for cells in cells_by_run.values())
        and len(row_and_cell_counts) == len({row_count for row_count, _ in row_and_cell_counts})
        and any(cell_count > 1 for _, cell_count in row_and_cell_counts)
    )


def _assign_named_columns(
    roles: Roles, columns: list[TableColumn], heading_by_role: Mapping[str, str]
) -> list[TableColumn]:
    """Assign the columns that the user names to their roles. Return the columns without a role."""
    free_columns = list(columns)
    for role, written_heading in heading_by_role.items():
        heading = written_heading.strip().casefold()
        column = next(
            (
                candidate
                for candidate in columns
                if heading
                in (
                    candidate.heading.casefold(),
                    candidate.words,
                    names.plain_words(candidate.heading),
                )
            ),
            None,
        )
        if column is None:
            continue  # named by the reader, which knows all headings
        if role == "value":
            column.kind = "measured" if column.kind in ("", "ideal") else column.kind
            if column.kind not in ("time", "rate", "measured", "speedup"):
                column.kind = "measured"
            free_columns = [
                candidate
                for candidate in free_columns
                if candidate is column or candidate.kind not in _VALUE_KINDS
            ]
        elif cause_match := ROLE_OF_PART.fullmatch(role):
            metric, region = cause_match.groups()
            column.kind = "part" if metric == "time" else metric
            roles.metric_and_region_by_index[column.index] = (metric, region)
            free_columns = [candidate for candidate in free_columns if candidate is not column]
        elif role in METRICS or role == "speedup":
            roles.metric_and_region_by_index[column.index] = (role, "")
            free_columns = [
                candidate
                for candidate in free_columns
                if candidate is not column and candidate.kind not in _VALUE_KINDS | {""}
            ]
        else:
            roles.index_by_role[role] = column.index
            free_columns = [candidate for candidate in free_columns if candidate is not column]
    return free_columns


_VALUE_KINDS = {"time", "rate", "speedup", "measured", "part", "ideal", "efficiency", "spread"}


def _assign_coordinates(
    roles: Roles, free_columns: list[TableColumn], columns: Sequence[TableColumn]
) -> list[TableColumn]:
    """Assign columns to the roles of coordinates: processors, size and repetition, and the region,
    metric and unit of a table with one value per line. Return the columns without a role.
    """
    for role in ("region", "metric", "unit", "repetition"):
        role_columns = [column for column in free_columns if column.kind == role]
        if role_columns and role not in roles.index_by_role:
            roles.index_by_role[role] = role_columns[0].index
            free_columns = [column for column in free_columns if column is not role_columns[0]]
    free_columns = _assign_processors(roles, free_columns, columns)
    if "n" not in roles.index_by_role:
        size_columns = [column for column in free_columns if column.kind in ("n", "n of one")]
        varied_columns = [
            column for column in size_columns if not column.is_constant
        ] or size_columns[:1]
        exact_columns = [
            column for column in varied_columns if column.words in ("n", "size", "problem size")
        ]
        chosen_columns = exact_columns[:1] or varied_columns
        if len(chosen_columns) > 1 and _are_proportional(chosen_columns):
            chosen_columns = chosen_columns[:1]
        if len(chosen_columns) > 1:
            names_in_words = " or ".join(column.heading for column in chosen_columns)
            roles.refusals.append(
                (
                    chosen_columns[1].heading,
                    f"which column is the size, {names_in_words}? write --column n=NAME",
                )
            )
        elif chosen_columns:
            roles.index_by_role["n"] = chosen_columns[0].index
            if chosen_columns[0].kind == "n of one":
                roles.per_processor_indices.add(chosen_columns[0].index)
                roles.work_grows = True if chosen_columns[0].is_constant else roles.work_grows
        free_columns = [column for column in free_columns if column not in size_columns]
    return free_columns


def _assign_processors(
    roles: Roles, free_columns: list[TableColumn], columns: Sequence[TableColumn]
) -> list[TableColumn]:
    """Assign the column that counts the processors, and the column that names one of them. Return
    the columns without a role.
    """
    counting_columns = [column for column in free_columns if column.kind == "p"]
    if "p" not in roles.index_by_role:
        chosen_column = _choose_processors(roles, counting_columns, free_columns)
        if chosen_column is not None:
            roles.index_by_role["p"] = chosen_column.index
            counting_columns = [
                column for column in counting_columns if column is not chosen_column
            ]
            free_columns = [column for column in free_columns if column is not chosen_column]
    elif not roles.refusals:
        _check_named_processors(roles, columns, counting_columns)
    member_columns = [
        column
        for column in counting_columns
        if column.words in ("processor", *COLUMNS["processor"])
    ]
    if member_columns and "p" in roles.index_by_role and "processor" not in roles.index_by_role:
        roles.index_by_role["processor"] = member_columns[0].index
    return [column for column in free_columns if column not in counting_columns]


def _check_named_processors(
    roles: Roles, columns: Sequence[TableColumn], counting_columns: Sequence[TableColumn]
) -> None:
    """Record a refusal if another column counts more processors in some row than the column that
    the user named, which then does not count all of them.
    """
    chosen_column = next(column for column in columns if column.index == roles.index_by_role["p"])
    larger_column = next(
        (
            column
            for column in counting_columns
            if any(
                larger_count > count
                for count, larger_count in zip(chosen_column.numbers, column.numbers, strict=True)
                if count and larger_count
            )
            and not _are_proportional([chosen_column, column])
        ),
        None,
    )
    if larger_column is not None:
        message = (
            f"counts more than {chosen_column.heading} in some rows, so {chosen_column.heading} is"
            f" not all processors; write --column p={chosen_column.heading}*{larger_column.heading}"
            " if they multiply"
        )
        roles.refusals.append((larger_column.heading, message))


def _choose_processors(
    roles: Roles, counting_columns: Sequence[TableColumn], free_columns: Sequence[TableColumn]
) -> TableColumn | None:
    """Choose the column of processors; if several are proportional to one another, the column with
    the largest numbers; None if no column can be it.
    """
    if exact_column := next((column for column in counting_columns if column.words == "p"), None):
        return exact_column
    columns_of_several = [
        column
        for column in counting_columns
        if column.words not in ("processor", *COLUMNS["processor"])
    ]
    columns_of_several = columns_of_several or list(counting_columns)
    # Beside a count of processors, jobs are work.
    columns_without_jobs = [column for column in columns_of_several if "jobs" not in column.words]
    columns_of_several = columns_without_jobs or columns_of_several
    varied_columns = [
        column for column in columns_of_several if not column.is_constant
    ] or columns_of_several[:1]
    if len(varied_columns) > 1:
        largest_column = max(varied_columns, key=lambda column: sum(column.known_numbers))
        if not _are_proportional(varied_columns) and not _is_product(
            largest_column, varied_columns
        ):
            names_in_words = " or ".join(column.heading for column in varied_columns)
            columns_counted_in_another = [
                column
                for column in free_columns
                if names.counts_processors_in_another(column.heading)
            ]
            if not _is_product(largest_column, [*varied_columns, *columns_counted_in_another]):
                factor_columns = sorted(
                    {
                        column.index: column
                        for column in (*varied_columns, *columns_counted_in_another)
                    }.items()
                )
                product_text = "*".join(column.heading for _, column in factor_columns)
                message = (
                    f"which column counts the processors, {names_in_words}? write --column p=NAME,"
                    f" or p={product_text} if they multiply"
                )
                roles.refusals.append((varied_columns[1].heading, message))
        varied_columns = [largest_column]
        roles.guessed_columns["p"] = largest_column
    if varied_columns:
        _refuse_varied_counts(roles, varied_columns[0], free_columns)
        return varied_columns[0]
    load_columns = [column for column in free_columns if column.kind == "load"]
    size_columns = [
        column for column in free_columns if column.words == "n" and _may_be_processors(column)
    ]
    processor_column = next(
        iter(load_columns or (size_columns if len(size_columns) == 1 else [])), None
    )
    if (
        processor_column is None
        and free_columns
        and not free_columns[0].kind
        and _may_be_processors(free_columns[0])
    ):
        processor_column = free_columns[0]
    if processor_column is not None:
        roles.guessed_columns["p"] = processor_column
    return processor_column


def _refuse_varied_counts(
    roles: Roles, column: TableColumn, free_columns: Sequence[TableColumn]
) -> None:
    """Record a refusal for a column of processors, such as nodes, beside a column that counts parts
    of each of them, such as ranks of a node, if those counts vary and the first column does not
    count the parts itself.
    """
    for other_column in free_columns:
        is_varied_count = (
            names.counts_processors_in_another(other_column.heading)
            and not other_column.is_constant
        )
        column_counts_all = (
            _is_multiple(column, other_column) and column.words not in names.CONTAINERS
        )
        if is_varied_count and other_column is not column and not column_counts_all:
            message = (
                f"it varies, so {column.heading} alone does not count the processors; write"
                f" --column p={quote(f'{column.heading}*{other_column.heading}')}, or"
                f" p={column.heading} if that is meant"
            )
            roles.refusals.append((other_column.heading, message))


def _is_multiple(column: TableColumn, divisor: TableColumn) -> bool:
    """Return whether each number of a column is a multiple of the divisor in its row."""
    numbers_and_divisors = zip(column.numbers, divisor.numbers, strict=True)
    return all(
        number and divisor_number and number % divisor_number == 0
        for number, divisor_number in numbers_and_divisors
    )


def _may_be_processors(column: TableColumn) -> bool:
    """Return whether the numbers of a column can be numbers of processors: whole, at least 1, and
    rising.
    """
    is_rising = all(
        number_before <= number_after
        for number_before, number_after in pairwise(column.known_numbers)
    )
    return (
        column.is_numeric
        and not column.is_constant
        and is_rising
        and all(number == int(number) and number >= 1 for number in column.known_numbers)
    )


def _are_proportional(columns: Sequence[TableColumn]) -> bool:
    """Return whether all columns are proportional to the first one."""
    first_column = columns[0]
    for column in columns[1:]:
        ratios = [
            other_number / number
            for number, other_number in zip(first_column.numbers, column.numbers, strict=True)
            if number and other_number
        ]
        if not ratios or max(ratios) > (1 + MULTIPLE_TOLERANCE) * min(ratios):
            return False
    return True


def _is_product(largest_column: TableColumn, columns: Sequence[TableColumn]) -> bool:
    """Return whether each number of the largest column is the product of the numbers of the other
    columns in its row.
    """
    factor_columns = [column for column in columns if column is not largest_column]
    for row_index, largest_number in enumerate(largest_column.numbers):
        product = 1.0
        for column in factor_columns:
            product *= column.numbers[row_index] or 0.0
        if largest_number != product:
            return False
    return True


_TOTAL_TIME_HEADINGS = (
    "total",
    "total time",
    "elapsed",
    "elapsed time",
    "wall",
    "wall time",
    "walltime",
)
_MEAN_WORDS = ("median", "mean", "avg", "average")


def _assign_values(
    roles: Roles,
    free_columns: Sequence[TableColumn],
    columns: Sequence[TableColumn],
    unit_is_rate: bool,
) -> None:
    """Assign metrics to the columns of values: to times and their parts, else to a rate, else to a
    speed-up, else to a column whose values rise or fall with the processors.
    """
    _assign_other_metrics(roles, free_columns)
    if any(
        metric in (None, "time", "throughput", "speedup") and not region
        for metric, region in roles.metric_and_region_by_index.values()
    ):
        return
    time_columns = [
        column
        for column in free_columns
        if column.kind == "time" and not (column.unit_of_rate or unit_is_rate)
    ]
    part_columns = [
        column for column in free_columns if column.kind == "part" and column.is_numeric
    ]
    rate_columns = [
        column
        for column in free_columns
        if column.kind == "rate" or (unit_is_rate and column.kind == "time")
    ]
    if rate_columns and any(not column.is_constant for column in rate_columns):
        time_columns = [column for column in time_columns if not _is_duration(column)]
    if time_columns or (part_columns and not rate_columns):
        _assign_times(roles, time_columns, part_columns)
        if len(rate_columns) == 1 and roles.work_grows is None:
            roles.work_grows = _work_grows(roles, columns, rate_columns[0])
        if roles.work_grows is None:
            roles.work_grows = _work_grows_by_stated_ratios(roles, columns)
    elif rate_columns:
        _assign_rate(roles, rate_columns)
    elif speedup_columns := [
        column
        for kind in ("speedup", "efficiency")
        for column in free_columns
        if column.kind == kind
        and column.known_numbers
        and (kind == "speedup" or column.is_efficiency)
    ]:
        roles.metric_and_region_by_index[speedup_columns[0].index] = ("speedup", "")
        _refuse_ratio(roles, speedup_columns[0], free_columns, columns)
    elif hours_columns := [column for column in free_columns if column.words in names.HOURS]:
        _assign_hours(roles, hours_columns[0], columns)
    elif least_time_columns := [
        column
        for column in free_columns
        if column.kind == "spread" and _is_least_time(column) and column.known_numbers
    ]:
        roles.metric_and_region_by_index[least_time_columns[0].index] = ("time", "")
        roles.guessed_columns["time"] = least_time_columns[0]
    else:
        _assign_by_direction(roles, free_columns, columns, unit_is_rate)


def _assign_other_metrics(roles: Roles, free_columns: Sequence[TableColumn]) -> None:
    """Assign metrics other than times, rates and speed-ups to their columns, and a metric to a
    column whose heading is ``value``.
    """
    for column in free_columns:
        if column.kind == "memory":
            if column.is_in_bytes:
                roles.metric_and_region_by_index[column.index] = ("memory", "")
        elif column.kind in METRICS and column.kind not in ("time", "throughput", "speedup"):
            roles.metric_and_region_by_index[column.index] = (column.kind, column.cause)
        elif column.words == "value" and {"metric", "unit"} & roles.index_by_role.keys():
            roles.metric_and_region_by_index[column.index] = (None, "")
        elif column.words == "value" and column.has_time_unit:
            roles.metric_and_region_by_index[column.index] = ("time", "")


def _is_least_time(column: TableColumn) -> bool:
    """Return whether a column holds the least of repeated times."""
    words = column.words.split()
    return bool({"min", "minimum", "best", "fastest"} & {*words}) and (
        column.has_time_unit or "time" in words
    )


def _assign_hours(roles: Roles, hours_column: TableColumn, columns: Sequence[TableColumn]) -> None:
    """Assign the hours of all processors together as the elapsed time times the processors; record
    a refusal of hours of other processors than those that are counted, such as core hours beside
    nodes.
    """
    if "p" not in roles.index_by_role:
        return
    counted_noun = names.processor_noun_of_heading(
        columns[roles.index_by_role["p"]].words
    ).casefold()
    hours_noun = hours_column.words.split()[0]
    if counted_noun != hours_noun and {counted_noun, hours_noun} != {"core", "cpu"}:
        message = (
            f"is of {hours_noun}s, and {columns[roles.index_by_role['p']].heading} counts others:"
            " write a"
            f" column of {hours_noun}s, or of the elapsed time"
        )
        roles.refusals.append((hours_column.heading, message))
        return
    roles.metric_and_region_by_index[hours_column.index] = ("time", "")
    roles.shared_hours_indices.add(hours_column.index)


def _refuse_ratio(
    roles: Roles,
    speedup_column: TableColumn,
    free_columns: Sequence[TableColumn],
    columns: Sequence[TableColumn],
) -> None:
    """Record a refusal if the speed-ups are ratios of two other columns: they compare two versions
    of a program, and not several processors with one.
    """
    numeric_columns = [column for column in free_columns if column.is_numeric and not column.kind]
    if "p" not in roles.index_by_role:
        return
    processor_counts = columns[roles.index_by_role["p"]].numbers
    has_sizes = "n" in roles.index_by_role
    sizes = (
        columns[roles.index_by_role["n"]].numbers if has_sizes else [None] * len(processor_counts)
    )
    for first_column, second_column in permutations(numeric_columns, 2):
        times_and_ratios = [
            (size, first_time, second_time, ratio)
            for size, first_time, second_time, ratio in zip(
                sizes,
                first_column.numbers,
                second_column.numbers,
                speedup_column.numbers,
                strict=True,
            )
            if first_time and second_time and ratio
        ]
        # A time that is the same for all numbers of processors is that of one.
        first_times = {(size, first_time) for size, first_time, *_ in times_and_ratios}
        is_of_one = (
            len(first_times) == len({size for size, *_ in times_and_ratios}) < len(times_and_ratios)
        )
        is_ratio = all(
            abs(first_time / second_time / ratio - 1) < 5 * MULTIPLE_TOLERANCE
            for _, first_time, second_time, ratio in times_and_ratios
        )
        if len(times_and_ratios) > 1 and is_ratio and not is_of_one:
            are_rates = _trend_with_processors(processor_counts, first_column.numbers, sizes) > 0
            role = (
                f"throughput={first_column.heading}"
                if are_rates
                else f"time={second_column.heading}"
            )
            message = (
                f"is {first_column.heading} over {second_column.heading}, and not over one"
                f" processor; write --column {role}"
            )
            roles.refusals.append((speedup_column.heading, message))
            return


def _is_duration(column: TableColumn) -> bool:
    """Return whether all times of a column are equal within 0.5 %, like those of tests that run for
    a set time and measure a rate. For work that grows with the processors, the rate has the same
    information as such a time.
    """
    times = column.known_numbers
    return len(times) > 1 and max(times) <= (1 + MULTIPLE_TOLERANCE / 2) * min(times)


def _assign_times(
    roles: Roles, time_columns: Sequence[TableColumn], part_columns: Sequence[TableColumn]
) -> None:
    """Assign the column of elapsed time, and columns of times within it, each as the time of a
    region that has the name of the column.
    """
    share_columns = [column for column in time_columns if column.is_share_of_time]
    time_columns = [column for column in time_columns if not column.is_share_of_time]
    message_columns = [
        column for column in time_columns if column.heading.casefold().startswith("mpi")
    ]
    if len(message_columns) < len(time_columns):
        time_columns = [column for column in time_columns if column not in message_columns]
        part_columns = [*part_columns, *message_columns]
    part_columns = [*part_columns, *share_columns]
    candidate_columns = list(time_columns) or [
        column for column in part_columns if not column.is_share_of_time
    ]
    if len(candidate_columns) > 1 and time_columns:
        total_columns = [
            column for column in candidate_columns if column.words in _TOTAL_TIME_HEADINGS
        ]
        mean_columns = [
            column for column in candidate_columns if set(column.words.split()) & set(_MEAN_WORDS)
        ]
        # The words of "compute time" and "total time" are "time", too.
        plain_columns = sorted(
            (column for column in candidate_columns if column.words == "time"),
            key=lambda column: ("total" not in column.heading.casefold(), len(column.heading)),
        )
        candidate_columns = (
            total_columns[:1] or plain_columns[:1] or mean_columns[:1] or candidate_columns
        )
    if len(candidate_columns) > 1:
        names_in_words = " or ".join(column.heading for column in candidate_columns)
        message = f"which column is the elapsed time, {names_in_words}? write --column time=NAME"
        roles.refusals.append((candidate_columns[1].heading, message))
        return
    if not candidate_columns:
        message = "a share of the elapsed time needs a column of it, such as time [s]"
        roles.refusals.append((part_columns[0].heading, message))
        return
    roles.metric_and_region_by_index[candidate_columns[0].index] = ("time", "")
    inner_columns = [column for column in part_columns if column is not candidate_columns[0]]
    roles.metric_and_region_by_index |= {
        column.index: ("time", column.heading.partition("[")[0].partition("(%")[0].strip())
        for column in inner_columns
    }
    if candidate_columns[0].kind == "part":
        roles.guessed_columns["time"] = candidate_columns[0]


def _assign_rate(roles: Roles, rate_columns: Sequence[TableColumn]) -> None:
    """Assign the column of the throughput; record a refusal if there are several that are not
    proportional. Of rates of one processor and rates of all, the latter are assigned.
    """
    columns_of_all_processors = [column for column in rate_columns if not column.is_per_processor]
    rate_columns = columns_of_all_processors or rate_columns
    varied_columns = [column for column in rate_columns if not column.is_constant] or list(
        rate_columns[:1]
    )
    if len(varied_columns) > 1 and not _are_proportional(varied_columns):
        names_in_words = " or ".join(column.heading for column in varied_columns)
        message = (
            f"which column is the throughput, {names_in_words}? write --column throughput=NAME"
        )
        roles.refusals.append((varied_columns[1].heading, message))
        return
    roles.metric_and_region_by_index[varied_columns[0].index] = ("throughput", "")


def _work_grows(
    roles: Roles, columns: Sequence[TableColumn], rate_column: TableColumn
) -> bool | None:
    """Return whether the work, time multiplied by rate, grows with the processors; None if it is
    undecided.
    """
    column_by_index = {column.index: column for column in columns}
    time_indexes = [
        index
        for index, metric_and_region in roles.metric_and_region_by_index.items()
        if metric_and_region == ("time", "")
    ]
    if "p" not in roles.index_by_role or not time_indexes:
        return None
    counts_times_and_rates = zip(
        column_by_index[roles.index_by_role["p"]].numbers,
        column_by_index[time_indexes[0]].numbers,
        rate_column.numbers,
        strict=True,
    )
    processors_and_work = [
        (processors, time_value * rate_value * (processors if rate_column.is_per_processor else 1))
        for processors, time_value, rate_value in counts_times_and_rates
        if processors and time_value and rate_value
    ]
    if len({processors for processors, _ in processors_and_work}) < 2:
        return None
    work_per_processor = [
        work_amount / processors for processors, work_amount in processors_and_work
    ]
    work_amounts = [work_amount for _, work_amount in processors_and_work]
    if max(work_per_processor) < 1.1 * min(work_per_processor):
        return True
    return False if max(work_amounts) < 1.1 * min(work_amounts) else None


def _work_grows_by_stated_ratios(roles: Roles, columns: Sequence[TableColumn]) -> bool | None:
    """Return whether the speed-ups or efficiencies that the table states were computed for work
    that grows with the processors. Return None if the table states none, or if they fit neither
    kind of work.
    """
    column_by_index = {column.index: column for column in columns}
    derived_columns = [column for column in columns if column.kind in ("speedup", "efficiency")]
    time_indices = [
        index
        for index, metric_and_region in roles.metric_and_region_by_index.items()
        if metric_and_region == ("time", "")
    ]
    if (
        "p" not in roles.index_by_role
        or "n" in roles.index_by_role
        or not derived_columns
        or not time_indices
    ):
        return None
    processor_column, time_column = (
        column_by_index[roles.index_by_role["p"]],
        column_by_index[time_indices[0]],
    )
    for column in derived_columns:
        counts_times_and_ratios = [
            (processor_count, time, ratio)
            for processor_count, time, ratio in zip(
                processor_column.numbers, time_column.numbers, column.numbers, strict=True
            )
            if processor_count and time and ratio
        ]
        if len({processor_count for processor_count, *_ in counts_times_and_ratios}) < max(
            len(counts_times_and_ratios), 3
        ):
            continue
        first_count, first_time, _ = min(counts_times_and_ratios)
        is_efficiency = column.kind == "efficiency"
        full_ratio = (
            100.0
            if is_efficiency
            and max(ratio for *_, ratio in counts_times_and_ratios) > LARGEST_EFFICIENCY_RATIO
            else 1.0
        )
        for is_weak in (False, True):
            expected_ratios = [
                first_time / time * (processor_count / first_count) ** (is_weak - is_efficiency)
                for processor_count, time, _ in counts_times_and_ratios
            ]
            if all(
                abs(ratio / full_ratio - expected_ratio) <= 2 * MULTIPLE_TOLERANCE * expected_ratio
                for (*_, ratio), expected_ratio in zip(
                    counts_times_and_ratios, expected_ratios, strict=True
                )
            ):
                roles.heading_of_growth = column.heading if is_weak else ""
                return is_weak
    return None


def _assign_by_direction(
    roles: Roles,
    free_columns: Sequence[TableColumn],
    columns: Sequence[TableColumn],
    unit_is_rate: bool,
) -> None:
    """Assign a column whose heading does not say what its values are: to the throughput if the
    values rise with the processors, to the time if they fall.
    """
    candidate_columns = [
        column for column in free_columns if column.kind == "measured" and column.is_numeric
    ]
    candidate_columns = candidate_columns or [
        column for column in free_columns if not column.kind and column.is_numeric
    ]
    if len(candidate_columns) != 1 or "p" not in roles.index_by_role:
        return
    value_column = candidate_columns[0]
    processor_column = columns[roles.index_by_role["p"]]
    sizes = (
        columns[roles.index_by_role["n"]].numbers
        if "n" in roles.index_by_role
        else [None] * len(processor_column.cells)
    )
    direction = _trend_with_processors(processor_column.numbers, value_column.numbers, sizes)
    if unit_is_rate or direction > 0:
        roles.metric_and_region_by_index[value_column.index] = ("throughput", "")
        roles.guessed_columns["throughput"] = value_column
    elif direction < 0:
        roles.metric_and_region_by_index[value_column.index] = ("time", "")
        roles.guessed_columns["time"] = value_column
    else:
        roles.refusals.append(
            (
                value_column.heading,
                (
                    "is it a time or a throughput? write --column"
                    f" time={quote(value_column.heading)} or --column"
                    f" throughput={quote(value_column.heading)}"
                ),
            )
        )


def _trend_with_processors(
    processor_counts: Sequence[float | None],
    values: Sequence[float | None],
    sizes: Sequence[float | None],
) -> int:
    """Return 1 if values rise with the processors, -1 if they fall, else 0. Only values of one size
    are compared, unless each number of processors has a size of its own.
    """
    sizes_counts_and_values = [
        row for row in zip(sizes, processor_counts, values, strict=True) if None not in row[1:]
    ]
    are_sizes_different = len({size for size, *_ in sizes_counts_and_values}) == len(
        sizes_counts_and_values
    )
    sorted_points = sorted(
        (0.0 if are_sizes_different else row_size or 0.0, processor_count or 0.0, value or 0.0)
        for row_size, processor_count, value in sizes_counts_and_values
    )
    value_changes = [
        next_point[2] - previous_point[2]
        for previous_point, next_point in pairwise(sorted_points)
        if next_point[1] > previous_point[1] and next_point[0] == previous_point[0]
    ]
    rise_count = sum(change > 0 for change in value_changes)
    fall_count = sum(change < 0 for change in value_changes)
    has_one_size = (
        len({row_size for row_size, *_ in sorted_points}) == 1 and sorted_points[0][2] != 0.0
    )
    if has_one_size and 0.9 < sorted_points[-1][2] / sorted_points[0][2] < 1.1:
        return 0
    return 1 if rise_count > 2 * fall_count else -1 if fall_count > 2 * rise_count else 0
