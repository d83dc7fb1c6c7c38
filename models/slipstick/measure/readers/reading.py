"""What all readers share: a file with its lines, the values read so far, its problems and notes.

JSON is parsed with every number as text with its line, so that a problem names the line. `roles` finds which of a
file's own parameters are the processors and the size of the problem.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean, short
from slipstick.expression.dimension import COUNT, TIME, Dimension
from slipstick.measure.measurements import METRICS, Hints, Measurement, Measurements
from slipstick.schema.text.reader import file_text, shown_name
from slipstick.units import scale

MOST_BYTES = 16 * 1024 * 1024
MOST_PROBLEMS = 1000  # reading ends here; a longer list helps no one
MOST_PROCESSORS = 100_000_000
LONGEST_NAME = 1000
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_UNIT = re.compile(r"(?P<name>[^\[(]*?)\s*[\[(](?P<unit>[^\])]*)[\])]\s*")
_LINE_END = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Coordinates of a value: processors, size, part of the program, repetition, processor."""

    p: int
    n: float | None = None
    region: str = ""
    repetition: int | None = None
    processor: int | None = None


@dataclass
class Reading:
    """One file while it is being read.

    Attributes
    ----------
    file : its name in problems
    text : everything in it
    hints : given beside the file
    """

    file: str
    text: str
    hints: Hints = field(default_factory=Hints)
    runs: list[Measurement] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    _scales: dict[str, tuple[Fraction, Dimension] | str] = field(default_factory=dict)
    _told: set[tuple[str, str | None]] = field(default_factory=set)

    @property
    def lines(self) -> list[str]:
        """The lines, with any line ending."""
        return _LINE_END.split(self.text)

    @property
    def content(self) -> list[tuple[int, str]]:
        """The lines with content, with their numbers from 1; comments begin with #."""
        return [
            (at, line) for at, line in enumerate(self.lines, 1) if line.strip() and not line.lstrip().startswith("#")
        ]

    def wrong(self, line: int, what: str, message: str) -> None:
        """Record a problem and continue reading; refuse a file with too many of them."""
        self.problems.append(Problem(self.file, line, 1, what, message))
        if len(self.problems) >= MOST_PROBLEMS:
            raise SpecError(self.problems)

    def refuse(self, line: int, what: str, message: str) -> NoReturn:
        """Refuse the file, with this problem and those found before."""
        self.problems.append(Problem(self.file, line, 1, what, message))
        raise SpecError(self.problems)

    def odd(self, line: int, what: str, message: str) -> None:
        """Record a note on something unusual that can be read."""
        self.notes.append(Problem(self.file, line, 1, what, message))

    def finished(self) -> Measurements:
        """Give the measurements.

        Raises
        ------
        SpecError : everything that is wrong with the file
        """
        if self.problems:
            raise SpecError(self.problems)
        if not self.runs:
            self.refuse(1, "", "there is no measurement in it; write at least one value")
        return Measurements(tuple(self.runs), tuple(dict.fromkeys(self.notes)))

    def number(self, line: int, what: str, text: str) -> float | None:
        """Read a plain decimal number; None, and a problem, if it is not one."""
        bare = text.strip()
        if _NUMBER.fullmatch(bare) and isfinite(value := float(bare)):
            return value
        if _NOT_FINITE.fullmatch(bare) or _NUMBER.fullmatch(bare):
            self.wrong(line, what, f"{short(bare)} is not a finite number; leave the run out, or measure it again")
        elif not bare:
            self.wrong(line, what, "there is no value; write one, or leave the whole line out")
        elif re.fullmatch(r"[-+]?[0-9]+(,[0-9]+)+(\.[0-9]*)?", bare):
            self.wrong(line, what, f"{short(bare)} has a ','; write 1.5 for one and a half, 1000 for a thousand")
        else:
            self.wrong(line, what, f"{short(bare)} is not a number")
        return None

    def processors(self, line: int, what: str, text: str) -> int | None:
        """Read a number of processors; None, and a problem, if it is not one."""
        value = self.number(line, what, text)
        if value is None:
            return None
        if not (value == int(value) and 1 <= value <= MOST_PROCESSORS):
            self.wrong(line, what, f"processors are a whole number from 1 to {MOST_PROCESSORS:,}; got {text.strip()}")
            return None
        return int(value)

    def size(self, line: int, what: str, text: str) -> float | None:
        """Read the size of a problem; None, and a problem, if it is not one."""
        value = self.number(line, what, text)
        if value is not None and not value > 0:
            self.wrong(line, what, f"the size of a problem is more than 0; got {text.strip()}")
            return None
        return value

    def add(self, line: int, where: Coordinates, metric: str, text: str, unit: str | None) -> None:
        """Add a value, with a unit or, where the file has none, with the unit given beside it.

        Parameters
        ----------
        line : of the value
        where : its coordinates
        metric : name of the metric, in any known spelling
        text : the number as written
        unit : as written; None where the format has none
        """
        name = metric_name(metric)
        for word in (where.region, name):
            if len(word) > LONGEST_NAME:
                self.refuse(line, "", f"{short(word)} is a name of more than {LONGEST_NAME} characters")
        known = METRICS.get(name)
        value = self.number(line, name, text)
        found = self._scale(line, name, unit, known.dimension if known else None)
        if value is None or found is None:
            return
        factor, dimension = found
        if value < 0 and (known or dimension == TIME):
            self.wrong(line, name, f"must be at least 0, got {text.strip()} {unit or ''}".rstrip())
            return
        # Whole factors multiply and fractions divide, so that a decimal text is rounded only twice.
        base = value * factor.numerator / factor.denominator
        if not isfinite(base):
            self.wrong(line, name, f"{text.strip()} {unit or ''} is out of range in {dimension}")
            return
        written = f"{text.strip()} {unit or self.hints.unit or ''}".strip()
        self.runs.append(
            Measurement(
                where.p,
                where.n,
                where.region,
                name,
                str(dimension),
                base,
                where.repetition,
                self.file,
                line,
                where.processor,
                written,
            )
        )

    def _scale(
        self, line: int, metric: str, unit: str | None, wanted: Dimension | None
    ) -> tuple[Fraction, Dimension] | None:
        """Give the factor to base units and the dimension; None, and a problem, where there is none."""
        if unit is None and wanted in (None, COUNT):
            return Fraction(1), COUNT
        written = unit if unit is not None else self.hints.unit
        if written is None:
            self._wrong_unit(
                line, metric, metric, None, "there is no unit; write one, as in 'time [s]', or give --unit s"
            )
            return None
        if written not in self._scales:
            try:
                self._scales[written] = scale(written.strip() or "1")
            except UnitError as error:
                self._scales[written] = str(error)
        found = self._scales[written]
        if isinstance(found, str):
            self._wrong_unit(line, "unit", "", written, found)
            return None
        if wanted is not None and found[1] != wanted:
            kind = "a plain number, of unit 1" if wanted == COUNT else f"in {wanted}"
            self._wrong_unit(line, "unit", metric, written, f"{short(written)} does not fit: {metric} is {kind}")
            return None
        return found

    def _wrong_unit(self, line: int, what: str, metric: str, unit: str | None, message: str) -> None:
        """Record a problem of a unit at its first line only."""
        if (metric, unit) not in self._told:
            self.wrong(line, what, message)
        self._told.add((metric, unit))


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files with measurements.

    Parameters
    ----------
    name : as ``--format`` takes it
    title : one line
    recognize : whether a file looks like one of this format
    read : the measurements in a file; raises SpecError with everything that is wrong
    """

    name: str
    title: str
    recognize: Callable[[Reading], bool]
    read: Callable[[Reading], Measurements]


def metric_name(text: str) -> str:
    """Give the standard spelling of a metric's name: lower case, ``_`` between words, a known name where there is one.

    >>> metric_name("Elapsed time"), metric_name("L3 misses")
    ('time', 'l3_misses')
    """
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    return next((ours for ours, metric in METRICS.items() if name in metric.others), name)


def open_file(path: Path | str, hints: Hints) -> Reading:
    """Open a file of measurements: UTF-8 text of at most 16 MiB.

    Raises
    ------
    SpecError : no such file, too large, empty, or not text
    """
    text = file_text(path, MOST_BYTES, "keep what you need of it, or split it")
    reading = Reading(shown_name(path), text.removeprefix("\ufeff"), hints)
    if not text.strip("\ufeff \t\r\n"):
        reading.refuse(1, "", "the file is empty; a measurement may have failed to write it")
    if odd := _CONTROL.search(text):
        line = len(_LINE_END.split(text[: odd.start()]))
        reading.refuse(line, "", f"character 0x{ord(odd[0]):02x} does not stand in text; is this a binary file?")
    return reading


def unknown_metrics(runs: Sequence[Measurement]) -> list[Problem]:
    """Note the metrics that the account does not use: those similar to a known one singly, the others together."""
    first: dict[str, Measurement] = {}
    for run in runs:
        if run.metric not in METRICS:
            first.setdefault(run.metric, run)
    notes = []
    for name, run in list(first.items()):
        if "did you mean" in (near := did_you_mean(name, list(METRICS))):
            notes.append(Problem(run.file, run.line, 1, name, f"is no part of the account of time{near}"))
            del first[name]
    if first:
        run = next(iter(first.values()))
        notes.append(Problem(run.file, run.line, 1, "", f"no part of the account of time: {', '.join(first)}"))
    return notes


def delimiter_of(line: str) -> str:
    """Tell the delimiter of a table by its first line."""
    return max(",;\t|", key=line.count)


def split_unit(cell: str) -> tuple[str, str | None]:
    """Take the unit off the name of a column.

    >>> split_unit("Time [ms]"), split_unit("time (s) "), split_unit("p")
    (('time', 'ms'), ('time', 's'), ('p', None))
    """
    match = _UNIT.fullmatch(cell.strip())
    return (match["name"] if match else cell).strip().casefold(), match["unit"].strip() if match else None


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(-?[0-9][-+0-9.eE]*|NaN|-?Infinity)', re.DOTALL)


class JsonNumber(str):
    """A number as written, with its line."""

    __slots__ = ("line",)
    line: int


def parse_json(reading: Reading, text: str, first: int = 1) -> Any:
    """Parse JSON; a repeated key is refused, for one of its values would be lost.

    Parameters
    ----------
    reading : for problems
    text : the document
    first : line of the file on which it begins

    Raises
    ------
    SpecError : this is no JSON
    """
    # The parser meets numbers in the order of the text, and so does the pattern.
    ends = [match.start() for match in re.finditer("\n", text)]
    lines = iter([first + bisect_right(ends, match.start()) for match in _TOKEN.finditer(text) if match[1] is not None])

    def number(written: str) -> JsonNumber:
        made = JsonNumber(written)
        made.line = next(lines, first)
        return made

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                reading.refuse(first, key[:60], "this key stands twice in one object; its values would hide each other")
            made[key] = value
        return made

    try:
        return json.loads(text, parse_float=number, parse_int=number, parse_constant=number, object_pairs_hook=table)
    except json.JSONDecodeError as error:
        reading.refuse(first + error.lineno - 1, "", f"this is no JSON: {error.msg}, at character {error.colno}")
    except RecursionError:
        reading.refuse(first, "", "this is nested too deeply to be a table of measurements")


def roles(reading: Reading, line: int, names: Sequence[str]) -> dict[str, int]:
    """Give the positions of the processors and the size in a point.

    `Hints.columns` decides, else the usual names; a single parameter is the processors.

    Parameters
    ----------
    reading, line : for problems
    names : the parameters of the file, in order
    """
    found: dict[str, int] = {}
    lower = [name.casefold() for name in names]
    for ours in ("p", "n"):
        wanted = reading.hints.columns.get(ours)
        options = [wanted.casefold()] if wanted else [ours, *COLUMNS[ours]]
        at = next((lower.index(option) for option in options if option in lower), None)
        if at is not None:
            found[ours] = at
        elif wanted:
            reading.wrong(line, "", f"there is no parameter {wanted!r}{did_you_mean(wanted, names)}")
    if "p" not in found and len(names) == 1 and not found:
        found["p"] = 0
        if names[0].casefold() not in ("p", *COLUMNS["p"]):
            reading.odd(line, names[0], "the only parameter is taken as the processors; say else with --column n=NAME")
    if "p" not in found and reading.hints.processors is None:
        listed = ", ".join(names)
        reading.refuse(line, "", f"which parameter is the processors? there are {listed}; name it with --column p=NAME")
    for at, name in enumerate(names):
        if at not in found.values():
            reading.odd(line, name, "this parameter is neither the processors nor the size; it is left out")
    return found


def point(reading: Reading, line: int, found: Mapping[str, int], coordinates: Sequence[str]) -> Coordinates | None:
    """Read a point; None, and a problem, if it is not one."""
    p = reading.processors(line, "p", coordinates[found["p"]]) if "p" in found else reading.hints.processors
    n = reading.size(line, "n", coordinates[found["n"]]) if "n" in found else reading.hints.size
    return None if p is None or ("n" in found and n is None) else Coordinates(p, n)


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "p": ("procs", "processors", "processes", "nprocs", "ranks", "threads", "cores", "workers", "number of processes"),
    "n": ("size", "problem_size"),
    "region": ("callpath", "cause", "function", "phase"),
    "metric": (),
    "unit": ("units",),
    "value": (),
    "repetition": ("rep", "run", "trial", "iteration"),
    "processor": ("rank", "thread", "proc"),
}
"""The columns, and other names for them."""
