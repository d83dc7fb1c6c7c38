"""Arrivals in files of activities and of queueing networks; and files of times, which are read into
the tree of a model: times between arrivals, and measured times of steps and visits.

The numbers are put into the tree as it is read, so that whatever is made of the tree depends on
them, and not on a file that changes later.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstick.errors import ModelError, UnitError, UnknownNameError, short
from slipstick.expression.nodes import RATE, TIME
from slipstick.limits import check_cost
from slipstick.schema.kinds.constraints import broken_rule
from slipstick.schema.kinds.quantity import (
    Formula,
    Given,
    Quantity,
    Servers,
    Spec,
    TimeOrFormula,
)
from slipstick.schema.spec_files import SpecFiles
from slipstick.schema.text import (
    Listing,
    Mark,
    Node,
    Scalar,
    Table,
    at,
    file_text,
    from_plain,
    plain,
    replace,
)
from slipstick.units import to_base


def with_data(tree: Table, library: SpecFiles) -> Node:
    """Return the tree of a model in which files of samples and of arrival times are replaced by
    their numbers.
    """
    return with_traces(with_samples(tree, library), library)


def with_traces(tree: Node, library: SpecFiles) -> Node:
    """Replace the files of arrival times that classes, chains or groups name by their numbers; each
    is in the folder of the file that names it.

    Parameters
    ----------
    tree : the file
    library : finds the files, and remembers what was read

    Raises
    ------
    SpecError : a file is not there, or does not say when customers arrive
    """
    for group in ("classes", "chains", "groups", "population"):
        group_table = at(tree, [group])
        name_paths = (
            [[name_path] for name_path in group_table.entries]
            if isinstance(group_table, Table)
            else []
        )
        for name_path in [[]] if group == "population" else name_paths:
            trace_path = [group, *name_path, "trace"]
            trace_node = at(tree, trace_path)
            file_node = at(tree, [*trace_path, "file"])
            if (
                not isinstance(trace_node, Table)
                or not isinstance(file_node, Scalar)
                or not isinstance(file_node.value, str)
            ):
                continue
            nodes_by_key = {key: entry.node for key, entry in trace_node.entries.items()}
            value_by_key = {
                key: node.value for key, node in nodes_by_key.items() if isinstance(node, Scalar)
            }
            unfit_keys = [
                key
                for key, value in value_by_key.items()
                if not isinstance(value, str) or key == "gaps"
            ]
            if unfit_keys or value_by_key.get("of", "times") not in _KINDS:
                continue  # what is wrong with the keys is told when they are checked
            path = library.beside(file_node.text, file_node.mark)
            gaps = _gaps(
                path, {key: str(value) for key, value in value_by_key.items()}, file_node.mark
            )
            library.keep_hash(path)
            mean_gap = math.fsum(gaps) / len(gaps)
            # Relative to their mean, so that the rate of arrivals can vary.
            gap_text = " ".join(repr(gap / mean_gap) for gap in gaps)
            tree = replace(tree, trace_path, from_plain({"gaps": gap_text}, trace_node.mark))
            # The trace gives the rate of arrivals where the file states none.
            if at(tree, [group, *name_path, "arrivals"]) is None:
                tree = replace(
                    tree,
                    [group, *name_path, "arrivals"],
                    from_plain(f"{1 / mean_gap!r} /s", file_node.mark),
                )
    return tree


def with_samples(tree: Node, library: SpecFiles) -> Node:
    """Replace the files of measured times that distributions name by their numbers; each is in the
    folder of the file that names it.

    Parameters
    ----------
    tree : the file of a model
    library : finds the files, and remembers what was read

    Raises
    ------
    SpecError : a file is not there, or holds no times
    """
    for samples_path in list(_sample_paths(tree, ())):
        node = at(tree, samples_path)
        file_node = at(tree, [*samples_path, "file"])
        if not isinstance(node, Table) or not isinstance(file_node, Scalar):
            continue
        value_by_key = {
            key: plain(entry.node) for key, entry in node.entries.items() if key != "mean"
        }
        if (
            not all(isinstance(text, str) for text in value_by_key.values())
            or "values" in value_by_key
        ):
            continue  # what is wrong with the keys is told when they are checked
        path = library.beside(file_node.text, file_node.mark)
        text_by_key = {key: str(text) for key, text in value_by_key.items()}
        numbered_times = _numbered_times(path, text_by_key, file_node.mark, "samples.file")
        library.keep_hash(path)
        values = from_plain(
            {"values": [f"{value!r} s" for _, value in numbered_times]}, file_node.mark
        )
        assert isinstance(values, Table)
        mean_entry = {key: entry for key, entry in node.entries.items() if key == "mean"}
        tree = replace(tree, samples_path, Table({**mean_entry, **values.entries}, node.mark))
    return tree


def _sample_paths(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places in a tree at which a file of measured times is named."""
    if isinstance(node, Listing):
        for index, item in enumerate(node.items):
            yield from _sample_paths(item, (*path, index))
    elif isinstance(node, Table):
        for key, entry in node.entries.items():
            if key == "samples" and at(entry.node, ["file"]) is not None:
                yield (*path, key)
            else:
                yield from _sample_paths(entry.node, (*path, key))


_KINDS = ("times", "gaps")
_WORDS = re.compile(r"[^\s\[(]+(?:\s*[\[(][^\])]*[\])])?")
"""Words, each with a unit in brackets behind it."""

_IN_BRACKETS = re.compile(r"(?P<name>.*?)[\[(](?P<unit>[^\[\]()]++)[\])]\s*+")


def _numbered_times(
    path: Path, text_by_key: dict[str, str], mark: Mark, path_in_spec: str
) -> list[tuple[int, float]]:
    """Parse the times in a list or in a column of a table, each with its line number [s]."""

    def file_error(message: str) -> Exception:
        return mark.error(f"{path.name}: {message}", path_in_spec)

    # Spreadsheets begin a file of UTF-8 with a byte-order mark.
    lines = file_text(path, "data_bytes", "keep a part of it").removeprefix("\ufeff").splitlines()
    rows = [
        (line_number, line)
        for line_number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not rows:
        raise file_error("has no lines with numbers")
    numbered_cells = list(_numbered_cells(rows))
    unit = text_by_key.get("unit", "")
    column = 0
    # A first line without a number, or a named column, is a line of names.
    if _parsed_number(numbered_cells[0][1][0]) is None or "column" in text_by_key:
        header = [_IN_BRACKETS.fullmatch(heading) for heading in numbered_cells[0][1]]
        names = [
            heading["name"].strip() if heading else name
            for heading, name in zip(header, numbered_cells[0][1], strict=True)
        ]
        if text_by_key.get("column", names[0]) not in names:
            raise file_error(str(UnknownNameError("column", text_by_key["column"], names)))
        if len(names) > 1 and "column" not in text_by_key:
            raise file_error(f"has the columns {', '.join(map(short, names))}; name one as column")
        column = names.index(text_by_key.get("column", names[0]))
        heading = header[column]
        unit = unit or (heading["unit"] if heading else "")
        numbered_cells = numbered_cells[1:]
    elif len(numbered_cells[0][1]) > 1:
        raise file_error("has several columns and no line of names; keep the one of the times")
    if not unit:
        raise file_error("does not say the unit of its times; give unit, such as ms")
    try:
        scale = to_base(f"1 {unit}", TIME)
    except UnitError as error:
        raise file_error(str(error)) from None
    numbered_times = []
    for line_number, line_cells in numbered_cells:
        value = _parsed_number(line_cells[column]) if column < len(line_cells) else None
        if value is None or not math.isfinite(value):
            raise file_error(
                f"line {line_number}: a number is wanted, got"
                f" {short(line_cells[column] if column < len(line_cells) else '')}"
            )
        numbered_times.append((line_number, value * scale))
    return numbered_times


def _gaps(path: Path, text_by_key: dict[str, str], mark: Mark) -> list[float]:
    """Parse the times between arrivals [s]."""

    def file_error(message: str) -> Exception:
        return mark.error(f"{path.name}: {message}", "trace.file")

    numbered_values = _numbered_times(path, text_by_key, mark, "trace.file")
    check_cost(
        "arrivals",
        len(numbered_values),
        f"has {len(numbered_values):,} arrivals",
        "keep a part of them",
        file_error,
    )
    if text_by_key.get("of") != "gaps":
        numbered_values = [
            (line, later_time - earlier_time)
            for (_, earlier_time), (line, later_time) in pairwise(numbered_values)
        ]
    for line, gap in numbered_values:
        if gap < 0:
            fault = (
                "a gap is negative"
                if text_by_key.get("of") == "gaps"
                else "the time is before that of the arrival above"
            )
            raise file_error(
                f"line {line}: {fault}; sort the file, or say whether it has times or gaps as of"
            )
    if not math.fsum(gap for _, gap in numbered_values) > 0:
        raise file_error("needs arrivals at two different times at least")
    return [gap for _, gap in numbered_values]


def _numbered_cells(rows: list[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells: at commas, semicolons or tabs if there are any, else at spaces."""
    delimiter = next((separator for separator in ",;\t" if separator in rows[0][1]), None)
    for line_number, line in rows:
        line_cells = (
            next(csv.reader([line], delimiter=delimiter)) if delimiter else _WORDS.findall(line)
        )
        yield line_number, [cell.strip() for cell in line_cells]


def _parsed_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Arrivals = Annotated[Given | Formula, Quantity(RATE, formula=True)]


class ArrivalTraceSpec(Spec):
    """The times at which customers arrive, in a file, or the times between arrivals."""

    file: str | None = Field(
        None, description="a table or a list of numbers, from the folder of this file"
    )
    column: str | None = Field(None, description="name of its column, where it has a line of names")
    unit: str | None = Field(
        None, description="unit of its times, such as ms, where the column does not say it"
    )
    of: Literal["times", "gaps"] = Field(
        "times", description="times of arrivals, or the gaps between them"
    )
    gaps: str | None = Field(
        None,
        description=(
            "in the place of a file: times between arrivals, in proportion, with spaces between"
        ),
    )

    def check_rules(self) -> None:
        if (self.file is None) == (self.gaps is None):
            raise broken_rule(
                "give a trace a file, or gaps; a file is read where it is written, not by --set"
            )

    def numbers(self) -> tuple[float, ...]:
        """Parse the times between arrivals."""
        try:
            return tuple(map(float, (self.gaps or "").split()))
        except ValueError as error:
            raise ModelError(f"gaps of a trace are numbers with spaces between: {error}") from None


class StreamSpec(Spec):
    """Customers that arrive, pass through once and leave.

    Attributes
    ----------
    stream : what messages call them
    """

    arrivals: Arrivals | None = Field(
        None,
        description=(
            "rate of arrivals of customers that pass through once and leave; with bursts the rate"
            " between bursts"
        ),
    )
    burst_arrivals: Arrivals | None = Field(
        None, description="rate of arrivals in a burst; 0 by default"
    )
    burst_time: TimeOrFormula | None = Field(
        None, description="mean duration of a burst of arrivals, exponential"
    )
    quiet_time: TimeOrFormula | None = Field(
        None, description="mean time between two bursts, exponential"
    )
    batch: Servers | None = Field(None, description="customers of one arrival; 1 by default")
    trace: ArrivalTraceSpec | None = Field(
        None,
        description=(
            "times at which customers arrive, for simulation; with arrivals they are scaled to that"
            " rate"
        ),
    )

    target_time: TimeOrFormula | None = Field(
        None, description="response time: within_target is the share of the responses within it"
    )

    stream: ClassVar[str] = "a stream"

    def check_rules(self) -> None:
        burst_values = {
            key: getattr(self, key) for key in ("burst_arrivals", "burst_time", "quiet_time")
        }
        burst_keys = [key for key, value in burst_values.items() if value is not None]
        if self.trace is not None and self.trace.gaps is not None and self.arrivals is None:
            raise broken_rule(
                "gaps say how arrivals follow each other; give their rate as arrivals", "trace"
            )
        if self.batch is not None and self.arrivals is None:
            raise broken_rule(f"a batch belongs to {self.stream}; give it arrivals", "batch")
        if burst_keys and self.arrivals is None:
            raise broken_rule(f"bursts belong to {self.stream}; give it arrivals", burst_keys[0])
        if burst_keys and (self.burst_time is None or self.quiet_time is None):
            raise broken_rule("bursts need both a burst_time and a quiet_time", burst_keys[0])
