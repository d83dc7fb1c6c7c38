"""What the columns of a table of runs hold, told by their headings and their values.

A heading that is a word of `names` says it; where two columns claim one place, or a heading says
nothing, the values decide: what grows with the processors is a rate, what falls is a time. What
neither tells is refused, with the option that says it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from slipstick_measure.measurements import METRICS
from slipstick_measure.readers import names
from slipstick_measure.readers.cells import is_missing, number_in
from slipstick_measure.readers.reading import COLUMNS, metric_name, time_of_unit

PERCENT_ABOVE = 2.0
"""An efficiency above it is in percent."""

SAME = 1e-2
"""Relative difference within which columns are taken for multiples of one another."""


@dataclass
class TableColumn:
    """A column: index, original heading, its words and unit, its cells, and the kind of its
    values.
    """

    index: int
    text: str
    words: str
    unit: str | None
    cells: Sequence[str]
    kind: str = ""

    @classmethod
    def of(cls, index: int, text: str, cells: Sequence[str]) -> TableColumn:
        """Build a column, and derive the kind of its values from its heading."""
        words, unit = names.rate_heading(text) or names.heading(text)
        column = cls(index, text.strip(), words, unit, cells)
        column.kind = column.kind_by_name()
        parted = names.parted_words(text.strip())
        if column.kind or " " not in parted:
            return column
        words, unit = names.heading(parted)
        by_words = cls(index, text.strip(), words, unit, cells)
        by_words.kind = by_words.kind_by_name()
        # TotalCPU of sacct is a time, and no count of processors.
        return column if by_words.kind in ("", "p", "load") else by_words

    @cached_property
    def numbers(self) -> list[float | None]:
        """The numbers of the cells; None for cells without one."""
        return [None if is_missing(cell) else number_in(cell) for cell in self.cells]

    @property
    def known(self) -> list[float]:
        """The numbers of the cells that have one."""
        return [number for number in self.numbers if number is not None]

    @property
    def is_numeric(self) -> bool:
        """Return whether all nonempty cells are numbers."""
        return bool(self.known) and len(self.known) == sum(
            not is_missing(cell) for cell in self.cells
        )

    @property
    def is_constant(self) -> bool:
        """Return whether all numbers are equal."""
        return len(set(self.known)) < 2

    @property
    def rate(self) -> names.RateUnit | None:
        """The unit of a rate, from the brackets of the heading or from the heading itself."""
        if not self.unit and self.words in names.TIMES:
            return None
        return names.rate_unit(self.unit if self.unit else self.text)

    @property
    def has_time_unit(self) -> bool:
        """Return whether the unit is one of time."""
        return self.unit is not None and time_of_unit(self.unit)[1]

    @property
    def is_of_one(self) -> bool:
        """Return whether the values are those of single processors."""
        head, _, tail = self.words.rpartition(" per ")
        return (bool(head) and tail in names.PROCESSORS) or bool(self.rate and self.rate.of_one)

    def recurs(self, runs: Sequence[tuple[str, ...]]) -> bool:
        """Return whether every row has a cell, and two or more cells are those of several runs."""
        runs_of: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for cell, run in zip(self.cells, runs, strict=True):
            runs_of[cell.strip()].add(run)
        return "" not in runs_of and sum(len(own) > 1 for own in runs_of.values()) > 1

    def kind_by_name(self) -> str:
        """Return the kind of the values by the heading; empty if it does not show."""
        word = self.words
        if (name := word.partition("=")[0].strip()) in (*names.SPEEDUPS, *names.DERIVED):
            word = name  # before a formula
        metric = metric_name(word)
        if word in ("n", "p"):
            return word
        if self.rate is not None and word not in names.DERIVED:
            return "ideal" if word.partition(" ")[0] in names.IDEALS else "rate"
        for kind, words in _KINDS.items():
            if word in words:
                return kind
        if metric in METRICS and metric not in ("time", "throughput"):
            return metric
        for ours in ("region", "metric", "unit"):
            if word in (ours, *COLUMNS[ours]):
                return ours
        head, _, tail = word.rpartition(" per ")
        if head in names.SIZES and tail in names.SIDES:
            return "n"
        if head and tail in names.PROCESSORS:
            return {"n": "n of one", "rate": "rate"}.get(TableColumn.of(0, head, []).kind, "")
        begins = word.removesuffix(" time")
        if (self.has_time_unit or begins != word) and begins not in names.OCCASIONS:
            return "part"
        return ""


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
    place : index of each of our columns: p, n, region, metric, unit, repetition, processor
    values : by index, the metric and the region of it; no metric where a column names it
    programs : columns whose words together name the program or its variant, which is the region
    of_one : columns whose values are those of one processor each
    guessed : by role, the column that was taken by a guess
    left_out : headings of columns that are not read
    refusals : what is wrong, with the heading that it is about
    weak : the work grows with the processors, as the columns say; None where they do not say
    told_weak : the heading of the author's efficiencies or speed-ups that say so
    """

    place: dict[str, int] = field(default_factory=dict)
    values: dict[int, tuple[str | None, str]] = field(default_factory=dict)
    programs: list[int] = field(default_factory=list)
    of_one: set[int] = field(default_factory=set)
    guessed: dict[str, TableColumn] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    weak: bool | None = None
    told_weak: str = ""


def looks_like_runs(columns: Sequence[TableColumn]) -> bool:
    """Return whether headings name processors, or a metric beside something else."""
    kinds = {column.kind for column in columns}
    if "p" in kinds or {"load", "rate"} <= kinds:
        return True
    return len(columns) > 1 and bool(
        kinds & {"time", "rate", "speedup", "value", "metric", *METRICS}
    )


def of_a_model(columns: Sequence[TableColumn]) -> str:
    """Return the first heading that names a parameter of a model, in a table without processors;
    empty for other tables. Such a table is data for a fit of that model and for a validation.
    """
    if any(column.kind == "p" for column in columns):
        return ""
    return next((column.text for column in columns if column.text.startswith("parameters.")), "")


def roles_of(columns: Sequence[TableColumn], mapped: Mapping[str, str], rate_told: bool) -> Roles:
    """Determine the role of each column.

    Parameters
    ----------
    columns : with their cells
    mapped : our name of a column, and the heading that the user says it has
    rate_told : the unit told beside the file is that of a rate
    """
    roles = Roles()
    free = _take_told(roles, list(columns), mapped)
    free = _take_places(roles, free, columns)
    _take_values(roles, free, columns, rate_told)
    _take_programs(roles, columns, "region" in mapped)
    used = {*roles.place.values(), *roles.values, *roles.programs}
    roles.left_out = [column.text for column in columns if column.index not in used and column.text]
    roles.of_one |= {
        column.index for column in columns if column.index in roles.values and column.is_of_one
    }
    return roles


def _take_programs(roles: Roles, columns: Sequence[TableColumn], region_told: bool) -> None:
    """Take for the region the columns of words that tell rows of the same processors and size
    apart: they are of several programs, or variants of one, and no repetitions.

    Refused are words beside a column of regions that the user did not name, words with empty cells
    between them, and numbers that tell rows apart, such as sizes of blocks: they may be variants,
    sizes or repetitions.
    """
    if "p" not in roles.place or roles.refusals:
        return
    used_columns = {*roles.place.values(), *roles.values}
    free = [
        column
        for column in columns
        if column.index not in used_columns
        and column.kind in _APART
        and column.words not in names.OCCASIONS
    ]
    runs = _runs([columns[roles.place[ours]] for ours in _RUN if ours in roles.place])
    if unclear := next((column for column in free if _is_unclear(column, runs)), None):
        message = (
            "its empty cells may repeat the word above or stand for none; write a word in every row"
        )
        roles.refusals.append((unclear.text, message))
        return
    words = [column for column in free if not column.known and column.recurs(runs)]
    # The first column that leaves no repetitions goes before others.
    words.sort(key=lambda column: len({*_with(runs, column)}) < len(runs))
    program_columns: list[TableColumn] = []
    for column in words:
        if len({*_with(runs, column)}) > len({*runs}):
            program_columns.append(column)
            runs = _with(runs, column)
    if program_columns and "region" not in roles.place:
        roles.programs = [column.index for column in program_columns]
        roles.place["region"] = roles.programs[0]
    elif program_columns and not region_told:
        message = "its words tell rows of one region apart; keep rows of each in a file of its own"
        roles.refusals.append((program_columns[0].text, message))
        return
    for column in free:
        tells_apart = len({*_with(runs, column)}) > len({*runs})
        if column.known and (_is_setting(column, runs) or (column.kind == "load" and tells_apart)):
            size = "" if "n" in roles.place else ", n=NAME"
            message = (
                "its numbers tell rows of the same processors apart: are they variants, sizes or"
                f" repetitions? say --column region=NAME{size} or repetition=NAME, or take the"
                " column out of the file"
            )
            roles.refusals.append((column.text, message))
            return


_RUN = ("p", "n", "region", "metric", "repetition", "processor")
"""The roles that tell runs apart."""
_APART = ("", "ideal", "p", "load")
"""The kinds of columns that may tell programs and their variants apart: no measured values."""

_Run: TypeAlias = tuple[str, ...]


def _runs(columns: Sequence[TableColumn]) -> list[_Run]:
    """Return the run of each row: its cells in some columns."""
    return list(zip(*([cell.strip() for cell in column.cells] for column in columns), strict=True))


def _with(runs: Sequence[_Run], column: TableColumn) -> list[_Run]:
    """Return the runs of rows that another column tells apart as well."""
    return [(*run, cell.strip()) for run, cell in zip(runs, column.cells, strict=True)]


def _is_unclear(column: TableColumn, runs: Sequence[_Run]) -> bool:
    """Return whether a column of words tells rows apart by its empty cells, or would if these
    repeated the word above, as merged cells do.
    """
    cells = [cell.strip() for cell in column.cells]
    if column.known or all(cells) or not any(cells):
        return False
    filled = list[str]()
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    repeated = TableColumn(column.index, column.text, column.words, None, filled)
    tells_apart = repeated.recurs(runs) and len({*_with(runs, repeated)}) > len({*runs})
    return tells_apart or _is_setting(column, runs)


def _is_setting(column: TableColumn, runs: Sequence[_Run]) -> bool:
    """Return whether a column tells rows of the same run apart as settings do, and measured values
    mostly do not: each cell is that of several runs, the cells of a run are equally frequent, and
    runs of as many rows have as many different cells.
    """
    cells_of: dict[_Run, Counter[str]] = defaultdict(Counter)
    for cell, run in zip(column.cells, runs, strict=True):
        cells_of[run][cell.strip()] += 1
    runs_of = Counter(cell for cells in cells_of.values() for cell in cells)
    numbers = {(cells.total(), len(cells)) for cells in cells_of.values()}
    return (
        min(runs_of.values()) > 1
        and all(len(set(cells.values())) == 1 for cells in cells_of.values())
        and len(numbers) == len({rows for rows, _ in numbers})
        and any(different > 1 for _, different in numbers)
    )


def _take_told(
    roles: Roles, columns: list[TableColumn], mapped: Mapping[str, str]
) -> list[TableColumn]:
    free = list(columns)
    for ours, theirs in mapped.items():
        heading = theirs.strip().casefold()
        column = next(
            (
                candidate
                for candidate in columns
                if heading
                in (candidate.text.casefold(), candidate.words, names.plain_words(candidate.text))
            ),
            None,
        )
        if column is None:
            continue  # named by the reader, which knows all headings
        if ours == "value":
            column.kind = "measured" if column.kind in ("", "ideal") else column.kind
            if column.kind not in ("time", "rate", "measured", "speedup"):
                column.kind = "measured"
            free = [
                candidate
                for candidate in free
                if candidate is column or candidate.kind not in _VALUES
            ]
        elif ours in METRICS or ours == "speedup":
            roles.values[column.index] = (ours, "")
            free = [
                candidate
                for candidate in free
                if candidate is not column and candidate.kind not in _VALUES | {""}
            ]
        else:
            roles.place[ours] = column.index
            free = [candidate for candidate in free if candidate is not column]
    return free


_VALUES = {"time", "rate", "speedup", "measured", "part", "ideal", "efficiency", "spread"}


def _take_places(
    roles: Roles, free: list[TableColumn], columns: Sequence[TableColumn]
) -> list[TableColumn]:
    """Find the columns of processors, size and repetition, and those of a table with one value per
    line.
    """
    for ours in ("region", "metric", "unit", "repetition"):
        matching = [column for column in free if column.kind == ours]
        if matching and ours not in roles.place:
            roles.place[ours] = matching[0].index
            free = [column for column in free if column is not matching[0]]
    free = _take_processors(roles, free, columns)
    if "n" not in roles.place:
        sizes = [column for column in free if column.kind in ("n", "n of one")]
        varied = [column for column in sizes if not column.is_constant] or sizes[:1]
        exact = [column for column in varied if column.words in ("n", "size", "problem size")]
        chosen_columns = exact[:1] or varied
        if len(chosen_columns) > 1 and _multiples(chosen_columns):
            chosen_columns = chosen_columns[:1]
        if len(chosen_columns) > 1:
            names_in_words = " or ".join(column.text for column in chosen_columns)
            roles.refusals.append(
                (
                    chosen_columns[1].text,
                    f"which column is the size, {names_in_words}? say --column n=NAME",
                )
            )
        elif chosen_columns:
            roles.place["n"] = chosen_columns[0].index
            if chosen_columns[0].kind == "n of one":
                roles.of_one.add(chosen_columns[0].index)
                roles.weak = True if chosen_columns[0].is_constant else roles.weak
        free = [column for column in free if column not in sizes]
    return free


def _take_processors(
    roles: Roles, free: list[TableColumn], columns: Sequence[TableColumn]
) -> list[TableColumn]:
    counting_columns = [column for column in free if column.kind == "p"]
    if "p" not in roles.place:
        chosen_column = _processors(roles, counting_columns, free)
        if chosen_column is not None:
            roles.place["p"] = chosen_column.index
            counting_columns = [
                column for column in counting_columns if column is not chosen_column
            ]
            free = [column for column in free if column is not chosen_column]
    elif not roles.refusals:
        _check_told_processors(roles, columns, counting_columns)
    columns_of_one = [
        column
        for column in counting_columns
        if column.words in ("processor", *COLUMNS["processor"])
    ]
    if columns_of_one and "p" in roles.place and "processor" not in roles.place:
        roles.place["processor"] = columns_of_one[0].index
    return [column for column in free if column not in counting_columns]


def _check_told_processors(
    roles: Roles, columns: Sequence[TableColumn], counting_columns: Sequence[TableColumn]
) -> None:
    """Refuse processors that the user named if another column counts more of them in some row: they
    are not all.
    """
    chosen_column = next(column for column in columns if column.index == roles.place["p"])
    larger = next(
        (
            column
            for column in counting_columns
            if any(
                b > a for a, b in zip(chosen_column.numbers, column.numbers, strict=True) if a and b
            )
            and not _multiples([chosen_column, column])
        ),
        None,
    )
    if larger is not None:
        message = (
            f"counts more than {chosen_column.text} in some rows, so {chosen_column.text} is not"
            f" all processors; say --column p={chosen_column.text}*{larger.text} if they multiply"
        )
        roles.refusals.append((larger.text, message))


def _processors(
    roles: Roles, counting_columns: Sequence[TableColumn], free: Sequence[TableColumn]
) -> TableColumn | None:
    """Choose the column of processors; of several proportional columns, the column with the largest
    numbers.
    """
    if exact := next((column for column in counting_columns if column.words == "p"), None):
        return exact
    columns_of_several = [
        column
        for column in counting_columns
        if column.words not in ("processor", *COLUMNS["processor"])
    ]
    columns_of_several = columns_of_several or list(counting_columns)
    varied = [
        column for column in columns_of_several if not column.is_constant
    ] or columns_of_several[:1]
    if len(varied) > 1:
        largest = max(varied, key=lambda column: sum(column.known))
        if not _multiples(varied) and not _is_product(largest, varied):
            names_in_words = " or ".join(column.text for column in varied)
            product = "*".join(column.text for column in varied)
            message = (
                f"which column counts the processors, {names_in_words}? say --column p=NAME, or"
                f" p={product} if they multiply"
            )
            roles.refusals.append((varied[1].text, message))
        varied = [largest]
        roles.guessed["p"] = largest
    if varied:
        return varied[0]
    loads = [column for column in free if column.kind == "load"]
    size = [column for column in free if column.words == "n" and _counts(column)]
    processor_column = next(iter(loads or (size if len(size) == 1 else [])), None)
    if processor_column is None and free and not free[0].kind and _counts(free[0]):
        processor_column = free[0]
    if processor_column is not None:
        roles.guessed["p"] = processor_column
    return processor_column


def _counts(column: TableColumn) -> bool:
    """Return whether a column's numbers can be processors: whole, at least 1, rising."""
    rising = all(before <= after for before, after in pairwise(column.known))
    return (
        column.is_numeric
        and not column.is_constant
        and rising
        and all(number == int(number) and number >= 1 for number in column.known)
    )


def _multiples(columns: Sequence[TableColumn]) -> bool:
    """Return whether columns are proportional to the first."""
    first = columns[0]
    for column in columns[1:]:
        ratios = [b / a for a, b in zip(first.numbers, column.numbers, strict=True) if a and b]
        if not ratios or max(ratios) > (1 + SAME) * min(ratios):
            return False
    return True


def _is_product(largest: TableColumn, columns: Sequence[TableColumn]) -> bool:
    factors = [column for column in columns if column is not largest]
    for row, total in enumerate(largest.numbers):
        product = 1.0
        for column in factors:
            product *= column.numbers[row] or 0.0
        if total != product:
            return False
    return True


_WHOLE_TIMES = ("total", "total time", "elapsed", "elapsed time", "wall", "wall time", "walltime")
_MIDDLE = ("median", "mean", "avg", "average")


def _take_values(
    roles: Roles, free: Sequence[TableColumn], columns: Sequence[TableColumn], rate_told: bool
) -> None:
    """Find the columns of values: times and their parts, else a rate, else a speed-up, else a
    column classified by its course.
    """
    for column in free:
        if column.kind in METRICS and column.kind not in ("time", "throughput", "speedup"):
            roles.values[column.index] = (column.kind, "")
        elif column.words == "value" and {"metric", "unit"} & roles.place.keys():
            roles.values[column.index] = (None, "")
        elif column.words == "value" and column.has_time_unit:
            roles.values[column.index] = ("time", "")
    if any(
        metric in (None, "time", "throughput", "speedup") for metric, _ in roles.values.values()
    ):
        return
    times = [column for column in free if column.kind == "time" and not (column.rate or rate_told)]
    part_columns = [column for column in free if column.kind == "part" and column.is_numeric]
    rates = [
        column for column in free if column.kind == "rate" or (rate_told and column.kind == "time")
    ]
    if times or (part_columns and not rates):
        _take_times(roles, times, part_columns)
        if len(rates) == 1 and roles.weak is None:
            roles.weak = _work_grows(roles, columns, rates[0])
        if roles.weak is None:
            roles.weak = _work_grows_by_author(roles, columns)
    elif rates:
        _take_rate(roles, rates)
    elif speedups := [column for column in free if column.kind == "speedup" and column.known]:
        roles.values[speedups[0].index] = ("speedup", "")
    else:
        _take_by_course(roles, free, columns, rate_told)


def _take_times(
    roles: Roles, times: Sequence[TableColumn], part_columns: Sequence[TableColumn]
) -> None:
    of_messages = [column for column in times if column.text.casefold().startswith("mpi")]
    if len(of_messages) < len(times):
        times = [column for column in times if column not in of_messages]
        part_columns = [*part_columns, *of_messages]
    time_columns = list(times) or list(part_columns)
    if len(time_columns) > 1 and times:
        total_times = [column for column in time_columns if column.words in _WHOLE_TIMES]
        middle = [column for column in time_columns if set(column.words.split()) & set(_MIDDLE)]
        plain = [column for column in time_columns if column.words == "time"]
        time_columns = total_times[:1] or plain[:1] or middle[:1] or time_columns
    if len(time_columns) > 1:
        names_in_words = " or ".join(column.text for column in time_columns)
        message = f"which column is the elapsed time, {names_in_words}? say --column time=NAME"
        roles.refusals.append((time_columns[1].text, message))
        return
    roles.values[time_columns[0].index] = ("time", "")
    inner_columns = [column for column in part_columns if column is not time_columns[0]]
    roles.values |= {
        column.index: ("time", column.text.partition("[")[0].strip()) for column in inner_columns
    }
    if time_columns[0].kind == "part":
        roles.guessed["time"] = time_columns[0]


def _take_rate(roles: Roles, rates: Sequence[TableColumn]) -> None:
    varied = [column for column in rates if not column.is_constant] or list(rates[:1])
    if len(varied) > 1 and not _multiples(varied):
        names_in_words = " or ".join(column.text for column in varied)
        message = f"which column is the throughput, {names_in_words}? say --column throughput=NAME"
        roles.refusals.append((varied[1].text, message))
        return
    roles.values[varied[0].index] = ("throughput", "")


def _work_grows(roles: Roles, columns: Sequence[TableColumn], rate: TableColumn) -> bool | None:
    """Return whether the work, time times rate, grows with the processors; None if it is
    undecided.
    """
    by_index = {column.index: column for column in columns}
    if "p" not in roles.place:
        return None
    time = next(by_index[index] for index, value in roles.values.items() if value == ("time", ""))
    rows = zip(by_index[roles.place["p"]].numbers, time.numbers, rate.numbers, strict=True)
    work = [(p, t * x * (p if rate.is_of_one else 1)) for p, t, x in rows if p and t and x]
    if len({p for p, _ in work}) < 2:
        return None
    of_one = [amount / p for p, amount in work]
    amounts = [amount for _, amount in work]
    if max(of_one) < 1.1 * min(of_one):
        return True
    return False if max(amounts) < 1.1 * min(amounts) else None


def _work_grows_by_author(roles: Roles, columns: Sequence[TableColumn]) -> bool | None:
    """Return whether the speed-ups or efficiencies in the table are those of work that grows with
    the processors; None if there are none, or they are of neither kind.
    """
    by_index = {column.index: column for column in columns}
    told = [column for column in columns if column.kind in ("speedup", "efficiency")]
    timed = [index for index, value in roles.values.items() if value == ("time", "")]
    if "p" not in roles.place or "n" in roles.place or not told or not timed:
        return None
    processors, time = by_index[roles.place["p"]], by_index[timed[0]]
    for column in told:
        rows = [
            (p, t, e)
            for p, t, e in zip(processors.numbers, time.numbers, column.numbers, strict=True)
            if p and t and e
        ]
        if len({p for p, *_ in rows}) < max(len(rows), 3):
            continue
        first, first_time, _ = min(rows)
        is_efficiency = column.kind == "efficiency"
        scale = 100.0 if is_efficiency and max(e for *_, e in rows) > PERCENT_ABOVE else 1.0
        for weak in (False, True):
            expected = [first_time / t * (p / first) ** (weak - is_efficiency) for p, t, _ in rows]
            if all(
                abs(e / scale - value) <= 2 * SAME * value
                for (*_, e), value in zip(rows, expected, strict=True)
            ):
                roles.told_weak = column.text if weak else ""
                return weak
    return None


def _take_by_course(
    roles: Roles, free: Sequence[TableColumn], columns: Sequence[TableColumn], rate_told: bool
) -> None:
    """Classify a value column with an uninformative heading by the course of its values."""
    open_ = [column for column in free if column.kind == "measured" and column.is_numeric]
    open_ = open_ or [column for column in free if not column.kind and column.is_numeric]
    if len(open_) != 1 or "p" not in roles.place:
        return
    value = open_[0]
    p = columns[roles.place["p"]]
    course = _course(p.numbers, value.numbers)
    if rate_told or course > 0:
        roles.values[value.index] = ("throughput", "")
        roles.guessed["throughput"] = value
    elif course < 0:
        roles.values[value.index] = ("time", "")
        roles.guessed["time"] = value
    else:
        roles.refusals.append(
            (
                value.text,
                "is it a time or a throughput? say --column time=NAME or --column throughput=NAME",
            )
        )


def _course(p: Sequence[float | None], values: Sequence[float | None]) -> int:
    """Return 1 if values rise with the processors, -1 if they fall, else 0."""
    points = sorted(
        (a, b) for a, b in zip(p, values, strict=True) if a is not None and b is not None
    )
    steps = [after[1] - before[1] for before, after in pairwise(points) if after[0] > before[0]]
    rising = sum(step > 0 for step in steps)
    falling = sum(step < 0 for step in steps)
    if points and 0.9 * points[0][1] < points[-1][1] < 1.1 * points[0][1]:
        return 0
    return 1 if rising > 2 * falling else -1 if falling > 2 * rising else 0
