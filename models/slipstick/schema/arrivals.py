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
        named = at(tree, [group])
        names = [[name] for name in named.entries] if isinstance(named, Table) else []
        for name in [[]] if group == "population" else names:
            place = [group, *name, "trace"]
            trace = at(tree, place)
            file = at(tree, [*place, "file"])
            if (
                not isinstance(trace, Table)
                or not isinstance(file, Scalar)
                or not isinstance(file.value, str)
            ):
                continue
            nodes_by_key = {key: entry.node for key, entry in trace.entries.items()}
            words = {
                key: node.value for key, node in nodes_by_key.items() if isinstance(node, Scalar)
            }
            strange = [
                key for key, value in words.items() if not isinstance(value, str) or key == "gaps"
            ]
            if strange or words.get("of", "times") not in _KINDS:
                continue  # what is wrong with the keys is told when they are checked
            path = library.beside(file.text, file.mark)
            gaps = _gaps(path, {key: str(value) for key, value in words.items()}, file.mark)
            library.keep_hash(path)
            mean = math.fsum(gaps) / len(gaps)
            # Relative to their mean, so that the rate of arrivals can vary.
            text = " ".join(repr(gap / mean) for gap in gaps)
            tree = replace(tree, place, from_plain({"gaps": text}, trace.mark))
            # The trace gives the rate of arrivals where the file states none.
            if at(tree, [group, *name, "arrivals"]) is None:
                tree = replace(
                    tree, [group, *name, "arrivals"], from_plain(f"{1 / mean!r} /s", file.mark)
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
    for place in list(_places_of_samples(tree, ())):
        node = at(tree, place)
        file = at(tree, [*place, "file"])
        if not isinstance(node, Table) or not isinstance(file, Scalar):
            continue
        words = {key: plain(entry.node) for key, entry in node.entries.items() if key != "mean"}
        if not all(isinstance(word, str) for word in words.values()) or "values" in words:
            continue  # what is wrong with the keys is told when they are checked
        path = library.beside(file.text, file.mark)
        texts = {key: str(word) for key, word in words.items()}
        numbers = _numbers(path, texts, file.mark, "samples.file")
        library.keep_hash(path)
        values = from_plain({"values": [f"{value!r} s" for _, value in numbers]}, file.mark)
        assert isinstance(values, Table)
        mean_entry = {key: entry for key, entry in node.entries.items() if key == "mean"}
        tree = replace(tree, place, Table({**mean_entry, **values.entries}, node.mark))
    return tree


def _places_of_samples(node: Node, place: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places in a tree at which a file of measured times is named."""
    if isinstance(node, Listing):
        for index, item in enumerate(node.items):
            yield from _places_of_samples(item, (*place, index))
    elif isinstance(node, Table):
        for key, entry in node.entries.items():
            if key == "samples" and at(entry.node, ["file"]) is not None:
                yield (*place, key)
            else:
                yield from _places_of_samples(entry.node, (*place, key))


_KINDS = ("times", "gaps")
_WORDS = re.compile(r"[^\s\[(]+(?:\s*[\[(][^\])]*[\])])?")
"""Words, each with a unit in brackets behind it."""

_IN_BRACKETS = re.compile(r"(?P<name>.*?)[\[(](?P<unit>[^\[\]()]++)[\])]\s*+")


def _numbers(path: Path, words: dict[str, str], mark: Mark, place: str) -> list[tuple[int, float]]:
    """Parse the times in a list or in a column of a table, each with its line number [s]."""

    def wrong(message: str) -> Exception:
        return mark.error(f"{path.name}: {message}", place)

    # Spreadsheets begin a file of UTF-8 with a byte-order mark.
    lines = file_text(path, "data_bytes", "keep a part of it").removeprefix("\ufeff").splitlines()
    rows = [
        (n, line)
        for n, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not rows:
        raise wrong("has no lines with numbers")
    cells = list(_cells(rows))
    unit = words.get("unit", "")
    column = 0
    # A first line without a number, or a named column, is a line of names.
    if _number(cells[0][1][0]) is None or "column" in words:
        header = [_IN_BRACKETS.fullmatch(heading) for heading in cells[0][1]]
        names = [
            heading["name"].strip() if heading else name
            for heading, name in zip(header, cells[0][1], strict=True)
        ]
        if words.get("column", names[0]) not in names:
            raise wrong(str(UnknownNameError("column", words["column"], names)))
        if len(names) > 1 and "column" not in words:
            raise wrong(f"has the columns {', '.join(map(short, names))}; name one as column")
        column = names.index(words.get("column", names[0]))
        heading = header[column]
        unit = unit or (heading["unit"] if heading else "")
        cells = cells[1:]
    elif len(cells[0][1]) > 1:
        raise wrong("has several columns and no line of names; keep the one of the times")
    if not unit:
        raise wrong("does not say the unit of its times; give unit, such as ms")
    try:
        scale = to_base(f"1 {unit}", TIME)
    except UnitError as error:
        raise wrong(str(error)) from None
    numbers = []
    for line, row in cells:
        value = _number(row[column]) if column < len(row) else None
        if value is None or not math.isfinite(value):
            raise wrong(
                f"line {line}: a number is wanted, got"
                f" {short(row[column] if column < len(row) else '')}"
            )
        numbers.append((line, value * scale))
    return numbers


def _gaps(path: Path, words: dict[str, str], mark: Mark) -> list[float]:
    """Parse the times between arrivals [s]."""

    def wrong(message: str) -> Exception:
        return mark.error(f"{path.name}: {message}", "trace.file")

    numbers = _numbers(path, words, mark, "trace.file")
    check_cost(
        "arrivals", len(numbers), f"has {len(numbers):,} arrivals", "keep a part of them", wrong
    )
    if words.get("of") != "gaps":
        numbers = [(line, later - sooner) for (_, sooner), (line, later) in pairwise(numbers)]
    for line, gap in numbers:
        if gap < 0:
            kind = (
                "a gap is negative"
                if words.get("of") == "gaps"
                else "the time is before that of the arrival above"
            )
            raise wrong(
                f"line {line}: {kind}; sort the file, or say whether it has times or gaps as of"
            )
    if not math.fsum(gap for _, gap in numbers) > 0:
        raise wrong("needs arrivals at two different times at least")
    return [gap for _, gap in numbers]


def _cells(rows: list[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells: at commas, semicolons or tabs if there are any, else at spaces."""
    mark = next((separator for separator in ",;\t" if separator in rows[0][1]), None)
    for number, line in rows:
        row = next(csv.reader([line], delimiter=mark)) if mark else _WORDS.findall(line)
        yield number, [cell.strip() for cell in row]


def _number(text: str) -> float | None:
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
        bursts = {key: getattr(self, key) for key in ("burst_arrivals", "burst_time", "quiet_time")}
        keys_given = [key for key, value in bursts.items() if value is not None]
        if self.trace is not None and self.trace.gaps is not None and self.arrivals is None:
            raise broken_rule(
                "gaps say how arrivals follow each other; give their rate as arrivals", "trace"
            )
        if self.batch is not None and self.arrivals is None:
            raise broken_rule(f"a batch belongs to {self.stream}; give it arrivals", "batch")
        if keys_given and self.arrivals is None:
            raise broken_rule(f"bursts belong to {self.stream}; give it arrivals", keys_given[0])
        if keys_given and (self.burst_time is None or self.quiet_time is None):
            raise broken_rule("bursts need both a burst_time and a quiet_time", keys_given[0])
