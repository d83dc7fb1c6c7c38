"""Tidy tables: one value on a line, or one run on a line with a column for each metric."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from slipstick.errors import did_you_mean
from slipstick_measure.measurements import METRICS, Measurements
from slipstick_measure.readers.reading import (
    COLUMNS,
    NUMBER,
    Coordinates,
    FileFormat,
    Reading,
    delimiter_of,
    metric_name,
    split_unit,
)

_WITH_UNIT = re.compile(r"(?P<number>[-+.0-9][-+.,0-9eE]*)\s*(?P<unit>[^\W\d_]+)")

_A_SECOND = re.compile(r"([a-z][a-z_ ]*?) ?(?:/ ?s|per second)")
_GUESSED, _MEANT = ("nodes", "hosts"), {"p": "p, the processors", "n": "n, the size"}
_COUNTED = re.compile(
    r"(?:#|(?:number|num|no|nr|n|total|mpi|omp|openmp)[ _](?:of[ _])?)[ _]*(?P<name>[a-z]\w*)"
)
_TIMED = re.compile(
    r"(?P<name>[a-z_ ]+?)[ _](?:in[ _])?(?P<unit>ns|us|ms|s|secs?|seconds?|min|minutes?|h|hours?)"
)
_LONG_UNITS = {"se": "s", "mi": "min", "ho": "h"}
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: where our columns stand, and which columns hold values of a metric.

    Parameters
    ----------
    place : index of each of our columns
    values : by index, the metric (None: see column metric) and the unit in the header
    names : of all columns, as written
    units : the units that each metric had so far
    """

    place: Mapping[str, int]
    values: Mapping[int, tuple[str | None, str | None]]
    names: Sequence[str]
    units: dict[str, list[str]] = field(default_factory=dict)


class TableHeading(NamedTuple):
    """A table as text: the line of its heading, the heading, and what parts its cells; blanks
    are one space.
    """

    line: int
    heading: str
    delimiter: str


def _table(reading: Reading) -> TableHeading:
    """Find the heading: the first line, or the comment before it where the first line has
    numbers alone.
    """
    line, text = reading.content[0]
    delimiter = delimiter_of(text)
    if delimiter not in text and len(text.split()) > 1:
        delimiter = " "
    cells = text.split() if delimiter == " " else text.split(delimiter)
    if line > 1 and all(NUMBER.fullmatch(cell.strip()) for cell in cells):
        above = re.sub(r"^\s*#\s?", "", reading.lines[line - 2])
        line, text = line - 1, above if reading.lines[line - 2].lstrip().startswith("#") else ""
    # In a table of blanks a unit belongs to the name before it.
    return TableHeading(
        line, re.sub(r"\s+(?=[\[(])", "", text).strip() if delimiter == " " else text, delimiter
    )


def _cells(table: TableHeading) -> list[str]:
    return table.heading.split() if table.delimiter == " " else table.heading.split(table.delimiter)


def _is_tidy(reading: Reading) -> bool:
    """Return whether the first line names columns, one of them the processors."""
    if not reading.content:
        return False
    table = _table(reading)
    names = [column_name(cell)[0] for cell in _cells(table)]
    mapped = {ours: theirs.casefold() for ours, theirs in reading.hints.columns.items()}
    known = {"p", *COLUMNS["p"], mapped.get("p", "p")}
    values = {
        "value",
        "metric",
        *METRICS,
        *(other for each in METRICS.values() for other in each.others),
    }
    if table.delimiter == " " and {len(line.split()) for _, line in reading.content[1:50]} != {
        len(names)
    }:
        return False  # prose
    return bool(known & set(names)) or (
        len(names) > 1 and bool(values & {metric_name(name) for name in names})
    )


def column_name(cell: str) -> tuple[str, str | None]:
    """Take the unit off the name of a column, and what says that it counts.

    >>> column_name("Number of cores"), column_name("#procs"), column_name("Wall_time_ms"), column_name("seconds")
    (('cores', None), ('procs', None), ('wall_time', 'ms'), ('time', 's'))
    """
    name, unit = split_unit(cell)
    known = {other for ours in ("p", "n") for other in COLUMNS[ours]}
    name = joined if (joined := name.replace(" ", "_")) in known else name
    if (counted := _COUNTED.fullmatch(name)) and counted["name"] in known and name not in known:
        return counted["name"], unit
    timed = _TIMED.fullmatch(f"time_{name}" if name.startswith("second") else name)
    if timed and unit is None and metric_name(timed["name"]) in METRICS:
        return timed["name"], _LONG_UNITS.get(timed["unit"][:2], timed["unit"])
    return name, unit


def _read_tidy(reading: Reading) -> Measurements:
    """Read a table with a header line.

    Columns are ``p, n, region, metric, unit, value, repetition``, in any order, of which only p and
    a value are needed. The value stands in column ``value``, with its metric and unit in columns of
    those names; or each metric has a column of its own, with the unit in its name: ``time [s]``.
    `Hints.columns` tells other names. Values go by ``,``, ``;``, tab or ``|``, whichever the header
    has, else by blanks. Where they do not go by commas, ``1,5`` is one and a half, unless all such
    numbers might be thousands.
    """
    table = _table(reading)
    start = table.line
    # Comments and empty lines stay empty, so that the reader's line numbers are those of the file.
    rest = reading.lines[start:]
    kept = [
        table.heading,
        *(
            "" if line.lstrip().startswith("#") or not line.strip() else line.strip(" ")
            for line in rest
        ),
    ]
    blank = table.delimiter == " "
    texts = (f"{line}\n" for line in kept)
    rows = csv.reader(texts, delimiter=table.delimiter, skipinitialspace=blank, strict=True)
    commas = _decimal_commas(reading, table)
    header: Header | None = None
    line = start
    try:
        for cells in rows:
            line = start - 1 + rows.line_num
            if cells and header is None:
                header = _header(reading, line, cells)
            elif cells and header is not None:
                _read_row(
                    reading,
                    line,
                    header,
                    [each.replace(",", ".") for each in cells] if commas else cells,
                )
    except csv.Error as error:
        reading.refuse(line + 1, "", f"this is no line of a table: {error}; check the quotes")
    return reading.finished()


def _decimal_commas(reading: Reading, table: TableHeading) -> bool:
    """Return whether commas stand for decimal points; noted."""
    if table.delimiter == ",":
        return False
    cells = [
        (at, cell.strip()) for at, line in reading.content for cell in line.split(table.delimiter)
    ]
    found = [(at, cell) for at, cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    thousands = all(re.fullmatch(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}", cell) for _, cell in found)
    if thousands or any(re.fullmatch(r"[-+]?[0-9]*\.[0-9]+", cell) for _, cell in cells):
        return False
    reading.odd(*found[0], "is read with a decimal comma, and so are all numbers of the file")
    return True


def _header(reading: Reading, line: int, cells: Sequence[str]) -> Header:
    place: dict[str, int] = {}
    values: dict[int, tuple[str | None, str | None]] = {}
    mapped = {theirs.strip().casefold(): ours for ours, theirs in reading.hints.columns.items()}
    known = {name: ours for ours, others in COLUMNS.items() for name in (ours, *others)} | mapped
    for index, cell in enumerate(cells):
        name, unit = column_name(cell)
        if (events := _A_SECOND.fullmatch(name)) and name not in mapped:
            reading.odd(
                line,
                cell.strip(),
                f"is taken as throughput, {events[1]} of all processors in a second",
            )
            name, unit = "throughput", unit or "1/s"
        elif (name in _GUESSED or name != split_unit(cell)[0]) and name not in mapped:
            meant = known.get(name, "") or f"{metric_name(name)} in {unit}"
            reading.odd(line, cell.strip(), f"is taken as {_MEANT.get(meant, meant)}")
        if name == "throughput" and unit and (events := _A_SECOND.fullmatch(unit)):
            unit = "1/s"  # of whatever is counted
        ours = mapped.get(cell.strip().casefold()) or known.get(name)
        if ours is not None and ours in COLUMNS and ours != "value":
            if ours in place:
                reading.wrong(
                    line,
                    cell.strip(),
                    f"is column {ours}, and so is {cells[place[ours]].strip()}; keep one",
                )
            place.setdefault(ours, index)
        elif ours == "value":
            values[index] = (None, unit)
        elif ours in METRICS or metric_name(name) in METRICS:
            values[index] = (ours or metric_name(name), unit)
        else:
            words = did_you_mean(name, [*COLUMNS, *METRICS]) if name else ""
            reading.odd(
                line,
                cell.strip(),
                f"this column is left out{words if 'did you mean' in words else ''}",
            )
    names = [cell.strip() for cell in cells]
    for ours, theirs in reading.hints.columns.items():
        if theirs.strip().casefold() not in {name.casefold() for name in names}:
            reading.wrong(
                line, "", f"there is no column {theirs!r} to be {ours}{did_you_mean(theirs, names)}"
            )
    if "p" not in place and reading.hints.processors is None:
        reading.wrong(
            line, "", "there is no column p, the processors; name it with --column p=NAME"
        )
    if not values:
        wanted = "'value', or one such as 'time [s]'"
        reading.wrong(
            line, "", f"there is no column with values: {wanted}; name one with --column value=NAME"
        )
    if "metric" in place and [metric for metric, _ in values.values()] not in ([], [None]):
        reading.wrong(
            line,
            "metric",
            "values stand in column value if there is a column metric; keep one of the two",
        )
    if reading.problems:
        reading.finished()
    return Header(place, values, names)


def _read_row(reading: Reading, line: int, header: Header, cells: Sequence[str]) -> None:
    if len(cells) != len(header.names):
        counts = f"{len(cells)} {'value' if len(cells) == 1 else 'values'}"
        reading.wrong(
            line,
            "",
            f"{counts}, where the header promises {len(header.names)}; check the delimiter",
        )
        return
    cell = {name: cells[index].strip() for name, index in header.place.items()}
    p = reading.processors(line, "p", cell["p"]) if "p" in cell else reading.hints.processors
    n = reading.size(line, "n", cell["n"]) if cell.get("n") else reading.hints.size
    repetition, own = (
        reading.whole(line, name, cell[name]) if cell.get(name) else None
        for name in ("repetition", "processor")
    )
    if p is None or (cell.get("repetition") and repetition is None):
        return
    if own is not None and not 0 <= own <= p:
        reading.wrong(line, "processor", f"there is no processor {own} among {p}")
        return
    if cell.get("processor") and own is None:
        return
    where = Coordinates(p, n, cell.get("region", ""), repetition, own)
    unit = cell.get("unit")
    for index, (column, in_header) in header.values.items():
        if column is not None and not cells[index].strip():
            continue  # a metric that was not measured in this run
        name = column or cell.get("metric") or "time"
        if unit and unit not in (before := header.units.setdefault(metric_name(name), [unit])):
            reading.odd(
                line, name, f"is in {unit} here and in {before[0]} before; each is taken as it says"
            )
            before.append(unit)
        reading.add(
            line, where, name, *_value(reading, line, name, cells[index], unit or in_header)
        )


def _value(
    reading: Reading, line: int, name: str, text: str, unit: str | None
) -> tuple[str, str | None]:
    """Part a value such as ``100 s`` from the unit in its cell, which is to be the only one, or
    the same.
    """
    match = _WITH_UNIT.fullmatch(text.strip())
    if match is None:
        return text, unit
    if unit is not None and unit != match["unit"]:
        reading.wrong(
            line, name, f"{text.strip()} has a unit of its own, beside {unit}; keep one of the two"
        )
    return match["number"], unit or match["unit"]


FORMATS = (FileFormat("csv", _is_tidy, _read_tidy),)
