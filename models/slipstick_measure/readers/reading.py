"""What all readers share: a file with its lines, the values read so far, its problems and notes.

JSON is parsed with every number as text with its line, so that a problem names the line.
"""

from __future__ import annotations

import csv
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from slipstick.errors import Problem, SpecError, UnitError, short
from slipstick.expression.nodes import COUNT, RATE, TIME, Dimension
from slipstick.late import dataclass, field, late_pattern
from slipstick.schema.text import file_text, shown_name
from slipstick.units import UNITS, parse_unit
from slipstick_measure.measurements import METRICS, Hints, Measurement, Measurements
from slipstick_measure.readers.known import description_of_binary_file
from slipstick_measure.readers.names import RateUnit, rate_unit, time_unit

MOST_PROBLEMS = 1000  # reading ends here; a longer list helps no one
MOST_PROCESSORS = 100_000_000
LONGEST_NAME = 1000
MOST_LINES_ABOVE = 100_000
"""In so many lines a reader looks for the heading of a table, below messages of a job."""

NUMBER = late_pattern(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_NOT_FINITE = late_pattern(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_CONTROL_CHARACTER = late_pattern("[\x00-\x08\x0e-\x1f\x7f]")
_COLOUR_SEQUENCE = late_pattern("\x1b\\[[0-9;]*[mK]")
"""What colours a terminal; programs write it into files, too."""
_UNIT = late_pattern(r"(?P<name>[^\[(]*+)[\[(](?P<unit>[^\])]*+)[\])]\s*+")
_RANGE = late_pattern(r"[0-9]+ ?(?:[-–—]|\.\.|to) ?[0-9]+")
_LINE_END = late_pattern("\r\n|\n|\r")
_MANY_DIGITS = late_pattern(r"(?<![0-9])[0-9]{1001}")
"""A run of digits that is no number of a measurement, and longer than Python takes for one."""


class Coordinates(NamedTuple):
    """The coordinates of a value: processors, size, region, repetition, processor."""

    p: int
    n: float | None = None
    region: str = ""
    repetition: int | None = None
    processor: int | None = None


@dataclass
class Reading:
    """A file while it is read, with its problems and notes.

    Attributes
    ----------
    file : name of the file in problems
    text : its content
    hints : what the user says about it
    """

    file: str
    text: str
    hints: Hints = field(default_factory=Hints)
    runs: list[Measurement] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    rate_unit: RateUnit | None = None
    _scale_or_problem_by_unit: dict[str, tuple[Fraction, Dimension] | str] = field(
        default_factory=dict
    )
    _reported_units: set[tuple[str, str | None]] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.file).name

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file, for any kind of line ending."""
        return _LINE_END.split(self.text)

    @cached_property
    def content(self) -> list[tuple[int, str]]:
        """The nonempty lines with their numbers from 1; comments begin with #."""
        return [
            (number, line)
            for number, line in enumerate(self.lines, 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]

    def add_problem(self, line: int, subject: str, message: str) -> None:
        """Record a problem and continue reading; raise if there are too many."""
        self.problems.append(Problem(self.file, line, 1, subject, message))
        if len(self.problems) >= MOST_PROBLEMS:
            raise SpecError(self.problems)

    def refuse(self, line: int, subject: str, message: str) -> NoReturn:
        """Raise a SpecError with this problem and the problems recorded earlier."""
        self.problems.append(Problem(self.file, line, 1, subject, message))
        raise SpecError(self.problems)

    def add_note(self, line: int, subject: str, message: str) -> None:
        """Record a note on an unusual value that can still be read."""
        self.notes.append(Problem(self.file, line, 1, subject, message))

    def finished(self) -> Measurements:
        """Return the measurements; raise if problems were recorded.

        Raises
        ------
        SpecError : everything that is wrong with the file
        """
        if self.problems:
            raise SpecError(self.problems)
        if not self.runs:
            reason = f": {self.notes[0].message}" if self.notes else "; write at least one value"
            self.refuse(1, "", f"there is no measurement in it{reason}")
        rate = (
            (self.rate_unit.written_unit, float(self.rate_unit.factor)) if self.rate_unit else None
        )
        return Measurements(tuple(self.runs), tuple(dict.fromkeys(self.notes)), rate=rate)

    def number(self, line: int, subject: str, text: str) -> float | None:
        """Parse a decimal number; return None after recording a problem."""
        number_text = text.strip()
        if NUMBER.fullmatch(number_text) and isfinite(value := float(number_text)):
            return value
        if _NOT_FINITE.fullmatch(number_text) or NUMBER.fullmatch(number_text):
            self.add_problem(
                line,
                subject,
                f"{short(number_text)} is not a finite number; leave the run out, or measure"
                " it again",
            )
        elif not number_text:
            self.add_problem(
                line, subject, "there is no value; write one, or leave the whole line out"
            )
        elif re.fullmatch(r"[-+]?[0-9]+(,[0-9]+)+(\.[0-9]*)?", number_text):
            self.add_problem(
                line,
                subject,
                f"{short(number_text)} has a ','; write 1.5 for one and a half, 1000 for a"
                " thousand",
            )
        else:
            self.add_problem(line, subject, f"{short(number_text)} is not a number")
        return None

    def whole(self, line: int, subject: str, text: str) -> int | None:
        """Parse a whole number; return None after recording a problem."""
        value = self.number(line, subject, text)
        if value is not None and value != int(value):
            self.add_problem(line, subject, f"is a whole number; got {text}")
            return None
        return None if value is None else int(value)

    def processors(self, line: int, subject: str, text: str) -> int | None:
        """Parse a number of processors; return None after recording a problem."""
        if (name := text.strip()) and name[:1].isalpha() and name.casefold() not in ("nan", "inf"):
            message = f"{short(name)} is not a number; write the number alone"
            self.add_problem(line, subject, f"{message}, and take out rows of other programs")
            return None
        if _RANGE.fullmatch(name):
            message = f"{short(name)} is a range; write the number of each run in a row of its own"
            self.add_problem(line, subject, message)
            return None
        value = self.number(line, subject, text)
        if value is not None and not (value == int(value) and 1 <= value <= MOST_PROCESSORS):
            self.add_problem(line, subject, _not_processors(text.strip()))
            return None
        return None if value is None else int(value)

    def size(self, line: int, subject: str, text: str) -> float | None:
        """Parse the size of a problem; return None after recording a problem."""
        value = self.number(line, subject, text)
        if value is not None and not value > 0:
            self.add_problem(
                line, subject, f"the size of a problem is more than 0; got {text.strip()}"
            )
            return None
        return value

    def add(
        self, line: int, coordinates: Coordinates, metric: str, number_text: str, unit: str | None
    ) -> None:
        """Add a value with its unit, or with the unit given by the hints.

        Parameters
        ----------
        line : of the value
        coordinates : its coordinates
        metric : name of the metric, in any known spelling
        number_text : the number as written
        unit : as written; None where the format has none
        """
        if coordinates.p > MOST_PROCESSORS:
            self.refuse(line, "p", _not_processors(short(str(coordinates.p))))
        standard_name = metric_name(metric)
        for name_in_file in (coordinates.region, standard_name):
            if len(name_in_file) > LONGEST_NAME:
                self.refuse(
                    line,
                    "",
                    f"{short(name_in_file)} is a name of more than {LONGEST_NAME} characters",
                )
        known_metric = METRICS.get(standard_name)
        value = self.number(line, standard_name, number_text)
        factor_and_dimension = self._factor_and_dimension(
            line, standard_name, unit, known_metric.dimension if known_metric else None
        )
        if value is None or factor_and_dimension is None:
            return
        factor, dimension = factor_and_dimension
        if value < 0 and (known_metric or dimension == TIME):
            self.add_problem(
                line,
                standard_name,
                f"must be at least 0, got {number_text.strip()} {unit or ''}".rstrip(),
            )
            return
        # Whole factors multiply and fractions divide, so that a decimal text is rounded only twice.
        base_value = value * factor.numerator / factor.denominator
        if not isfinite(base_value):
            self.add_problem(
                line,
                standard_name,
                f"{number_text.strip()} {unit or ''} is out of range in {dimension}",
            )
            return
        value_text = f"{number_text.strip()} {unit or self.hints.unit or ''}".strip()
        p, n, region, repetition, processor = coordinates
        source_fields = (repetition, self.file, line, processor, value_text)
        self.runs.append(
            Measurement(p, n, region, standard_name, str(dimension), base_value, *source_fields)
        )

    def _factor_and_dimension(
        self, line: int, metric: str, unit: str | None, expected_dimension: Dimension | None
    ) -> tuple[Fraction, Dimension] | None:
        """Return the factor of a unit to base units and its dimension; return None after recording
        a problem at the first line with this unit.
        """
        if unit is None and expected_dimension in (None, COUNT):
            return Fraction(1), COUNT
        unit_text = unit if unit is not None else self.hints.unit
        if expected_dimension == RATE:
            return self._factor_and_dimension_of_rate(line, metric, unit_text)
        unit_text = None if unit_text is None else time_of_unit(unit_text)[0]
        if unit_text is None:
            scale_or_problem: tuple[Fraction, Dimension] | str = (
                "there is no unit; write one, as in 'time [s]', or give --unit s"
            )
        elif unit_text not in self._scale_or_problem_by_unit:
            try:
                scale_or_problem = self._scale_or_problem_by_unit[unit_text] = parse_unit(
                    unit_text.strip() or "1"
                )
            except UnitError as error:
                scale_or_problem = self._scale_or_problem_by_unit[unit_text] = str(error)
        else:
            scale_or_problem = self._scale_or_problem_by_unit[unit_text]
        subject = "" if isinstance(scale_or_problem, str) and unit_text is not None else metric
        if (
            not isinstance(scale_or_problem, str)
            and expected_dimension is not None
            and scale_or_problem[1] != expected_dimension
        ):
            expected_kind = (
                "a plain number, of unit 1"
                if expected_dimension == COUNT
                else f"in {expected_dimension}"
            )
            scale_or_problem = f"{short(unit_text or '')} does not fit: {metric} is {expected_kind}"
        if not isinstance(scale_or_problem, str):
            return scale_or_problem
        if (subject, unit_text) not in self._reported_units:
            self.add_problem(line, metric if unit_text is None else "unit", scale_or_problem)
        self._reported_units.add((subject, unit_text))
        return None

    def _factor_and_dimension_of_rate(
        self, line: int, metric: str, unit_text: str | None
    ) -> tuple[Fraction, Dimension] | None:
        """Return the factor of a rate to work per second and its dimension; None after recording a
        problem. A figure of merit without a unit keeps its value.
        """
        unit_of_rate = RateUnit("", Fraction(1), "1") if unit_text is None else rate_unit(unit_text)
        if unit_of_rate is None and (unit_text or "").strip() in ("1", ""):
            unit_of_rate = RateUnit("", Fraction(1), "1")
        if unit_of_rate is None or (
            self.rate_unit and self.rate_unit.base_unit != unit_of_rate.base_unit
        ):
            message = (
                f"{short(unit_text or '')} does not fit: {metric} is work in a time, such as GB/s"
            )
            if unit_of_rate is not None and self.rate_unit is not None:
                unit_texts = (
                    unit.written_unit and short(unit.written_unit)
                    for unit in (unit_of_rate, self.rate_unit)
                )
                no_unit_text = "a value without a unit"
                message = (
                    f"{' does not fit '.join(unit or no_unit_text for unit in unit_texts)} before"
                )
            if ("unit", unit_text) not in self._reported_units:
                self.add_problem(line, "unit", message)
            self._reported_units.add(("unit", unit_text))
            return None
        self.rate_unit = self.rate_unit or unit_of_rate
        return unit_of_rate.factor, Dimension.of(unit_of_rate.base_unit)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files with measurements.

    Parameters
    ----------
    name : as ``--format`` takes it
    recognize : whether a file looks like one of this format
    read : the measurements in a file; raises SpecError with everything that is wrong
    """

    name: str
    recognize: Callable[[Reading], bool]
    read: Callable[[Reading], Measurements]


def _not_processors(text: str) -> str:
    """Return the words on a number that cannot be one of processors."""
    return f"processors are a whole number from 1 to {MOST_PROCESSORS:,}; got {text}"


def metric_name(text: str) -> str:
    """Return the standard spelling of a metric's name: lower case, ``_`` between words, and the
    usual name of known metrics.

    >>> metric_name("Elapsed time"), metric_name("L3 misses")
    ('time', 'l3_misses')
    """
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    return next(
        (standard_name for standard_name, metric in METRICS.items() if name in metric.other_names),
        name,
    )


def open_file(path: Path | str, hints: Hints) -> Reading:
    """Open a text file of measurements in UTF-8.

    Raises
    ------
    SpecError : no such file, too large, empty, or not text
    """
    if binary_description := description_of_binary_file(path):
        raise SpecError([Problem(shown_name(path), 1, 1, "", binary_description)])
    text = file_text(path, "data_bytes", "keep what you need of it, or split it")
    text = _COLOUR_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    text = _without_rank_labels(_without_log_prefixes(text))
    input_file = Reading(shown_name(path), text.removeprefix("\ufeff"), hints)
    if not text.strip("\ufeff \t\r\n"):
        input_file.refuse(1, "", "the file is empty; a measurement may have failed to write it")
    if control_character := _CONTROL_CHARACTER.search(text):
        line = len(_LINE_END.split(text[: control_character.start()]))
        input_file.refuse(
            line,
            "",
            f"character 0x{ord(control_character[0]):02x} does not occur in text; is this a binary"
            " file?",
        )
    if many_digits := _MANY_DIGITS.search(text):
        line = len(_LINE_END.split(text[: many_digits.start()]))
        input_file.refuse(
            line, "", "a number of more than 1,000 digits; write it shorter, as 1.5e9"
        )
    return input_file


_LOG_PREFIXES: tuple[tuple[re.Pattern[str], float], ...] = (
    (
        late_pattern(
            r"^(?:[^\t\n]*\t[^\t\n]*\t)?\ufeff?\[?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}"
            r"(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:?[0-9]{2})\]?(?: [0-9]{2}[EO])?(?: |$)",
            re.MULTILINE,
        ),
        1.0,
    ),
    (late_pattern(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}  ", re.MULTILINE), 1.0),
    (late_pattern(r"^\[?(?:INFO|DEBUG|NOTICE|WARN(?:ING)?)\]?:? +", re.MULTILINE), 1.0),
    (late_pattern(r"^[\w.-]*\w[-_][0-9]+ +\|(?: |$)(?!.*\|)", re.MULTILINE), 0.8),
)
"""What logs write before a line, and the least part of the nonempty lines that have it: a time,
perhaps behind a job and its step or before a stream; a level; a container, which not all lines
have."""


def _without_log_prefixes(text: str) -> str:
    """Return a text without the times and names that a log writes before each of its lines."""
    line_count = len(re.findall(r"^.*\S", text, re.MULTILINE))
    for pattern, least_share in _LOG_PREFIXES:
        prefixes = pattern.findall(text)
        # A container writes several lines; names that are all different are those of a table.
        are_prefixes_repeated = least_share == 1.0 or 2 * len({*prefixes}) <= len(prefixes)
        if line_count > 1 and len(prefixes) >= least_share * line_count and are_prefixes_repeated:
            text = pattern.sub("", text)
    return text


_MPI_TAG = late_pattern(r"\[[0-9]{1,9},[0-9]{1,9}\]<std[a-z]{2,6}>: ?")
_RANK_LABEL = late_pattern(r"^ *[0-9]+: ?", re.MULTILINE)


def _without_rank_labels(text: str) -> str:
    """Return a text without the ranks that launchers write before each line or piece of one (mpirun
    --tag-output, srun --label). These are recognized by the comments behind them.
    """
    text = _MPI_TAG.sub("", text)
    return _RANK_LABEL.sub("", text) if re.search(r"^ *[0-9]+: ?# ", text, re.MULTILINE) else text


def time_of_unit(text: str) -> tuple[str, bool]:
    """Return the standard spelling of a unit of time, and whether it is such a unit; a time per
    step, iteration or call is accepted as one.

    >>> (
    ...     time_of_unit("ms/step"),
    ...     time_of_unit("sec"),
    ...     time_of_unit("s per iteration"),
    ...     time_of_unit("GB"),
    ... )
    (('ms', True), ('s', True), ('s', True), ('GB', False))
    """
    unit_before_divisor = re.split(r"/| per ", text.strip(), maxsplit=1)[0]
    unit = time_unit(unit_before_divisor)
    is_of_time = unit in UNITS and UNITS[unit][1] == TIME
    return (unit, True) if is_of_time else (text.strip(), False)


def delimiter_of(line: str) -> str:
    """Return the delimiter of a table, determined from its first line."""
    return max(",;\t|", key=line.count)


def split_unit(cell: str) -> tuple[str, str | None]:
    """Split the heading of a column into its name and its unit.

    >>> split_unit("Time [ms]"), split_unit("time (s) "), split_unit("p")
    (('time', 'ms'), ('time', 's'), ('p', None))
    """
    match = _UNIT.fullmatch(cell.strip())
    return (match["name"] if match else cell).strip().casefold(), (
        match["unit"].strip() if match else None
    )


def rows_of_csv(input_file: Reading, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table with commas, each with its line within the text and its cells by
    the names in the first line. A row of another length is recorded as a problem, because it is cut
    or shifted.
    """
    rows = csv.reader(text.removeprefix("\ufeff").splitlines())
    heading = list[str]()
    try:
        for cells in rows:
            if not heading:
                heading = cells
            elif cells and len(cells) != len(heading):
                message = f"{len(cells)} values, where the header promises {len(heading)}"
                input_file.add_problem(rows.line_num, "", message)
            elif cells:
                yield rows.line_num, dict(zip(heading, cells, strict=True))
    except csv.Error as error:
        message = f"this is not a line of a table: {error}; check the quotes"
        input_file.refuse(max(rows.line_num, 1), "", message)


_TOKEN = late_pattern(r'"(?:[^"\\]|\\.)*"|(-?[0-9][-+0-9.eE]*|NaN|-?Infinity)', re.DOTALL)


class JsonNumber(str):
    """A number as written, with its line."""

    __slots__ = ("line",)
    line: int


def parse_json(input_file: Reading, text: str, first_line: int = 1) -> Any:
    """Parse JSON; a repeated key is refused because one of its values would be lost.

    Parameters
    ----------
    input_file : for problems
    text : the document
    first_line : line of the file on which it begins

    Raises
    ------
    SpecError : this is no JSON
    """
    # The parser meets numbers in the order of the text, and so does the pattern.
    line_ends = [match.start() for match in re.finditer("\n", text)]
    number_lines = iter(
        [
            first_line + bisect_right(line_ends, match.start())
            for match in _TOKEN.finditer(text)
            if match[1] is not None
        ]
    )

    def number_with_line(digits: str) -> JsonNumber:
        """Return the digits of the next number of the text with its line."""
        json_number = JsonNumber(digits)
        json_number.line = next(number_lines, first_line)
        return json_number

    def mapping_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return a JSON object as a dictionary; refuse a key that occurs twice."""
        mapping: dict[str, Any] = {}
        for key, value in pairs:
            if key in mapping:
                input_file.refuse(
                    first_line,
                    key[:60],
                    "this key is twice in one object; its values would hide each other",
                )
            mapping[key] = value
        return mapping

    try:
        return json.loads(
            text,
            parse_float=number_with_line,
            parse_int=number_with_line,
            parse_constant=number_with_line,
            object_pairs_hook=mapping_of_pairs,
        )
    except json.JSONDecodeError as error:
        input_file.refuse(
            first_line + error.lineno - 1,
            "",
            f"this is no JSON: {error.msg}, at character {error.colno}; is the file cut?",
        )
    except RecursionError:
        input_file.refuse(first_line, "", "this is nested too deeply to be a table of measurements")


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "p": (
        "procs",
        "processors",
        "processes",
        "nprocs",
        "ranks",
        "threads",
        "cores",
        "workers",
        "nodes",
        "hosts",
    ),
    "n": ("size", "problem_size"),
    "region": ("callpath", "cause", "function", "phase"),
    "metric": (),
    "unit": ("units",),
    "value": (),
    "repetition": ("rep", "run", "trial", "iteration"),
    "processor": ("rank", "thread", "proc"),
}
"""The columns, and other names for them."""
