"""What the readers of load generators have in common: the patterns by which an output and the tests
in it are found, and how numbers, times and percentiles are taken out of a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.reading import Reading, time_of_unit

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Units of time in seconds."""

_REST_OF_NUMBER = late_pattern(r"(?<=[0-9])(?:,[0-9]+)+(?:\.[0-9]+)?")


def first_match(pattern: str, text: str) -> re.Match[str] | None:
    """Return the first match of a pattern. Raise ValueError if the match ends before a comma in a
    number, of which only the first digits would be read.
    """
    match = re.search(pattern, text, re.MULTILINE)
    if match and (text_behind := _REST_OF_NUMBER.match(text, match.end())):
        written_number = re.split(r"[^0-9]", match[0])[-1] + text_behind[0]
        advice = "write 1.5 for one and a half, 1000 for a thousand"
        raise ValueError(f"{short(written_number)} has a ','; {advice}")
    return match


_TIME_PART = late_pattern(r"(?<![0-9.])([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zµμ]+)")


def parse_time(text: str) -> float | None:
    """Parse a time with its units [s], such as 3.79ms or 1m2.5s; None for other texts."""
    amounts_and_units = _TIME_PART.findall(text)
    units = [time_of_unit(unit)[0] for _, unit in amounts_and_units]
    if not amounts_and_units or _TIME_PART.sub("", text).strip() or not {*units} <= {*SECONDS}:
        return None
    return sum(
        float(amount_and_unit[0]) * SECONDS[unit]
        for amount_and_unit, unit in zip(amounts_and_units, units, strict=True)
    )


def number_of_match(match: re.Match[str] | None, factor: float = 1.0) -> float | None:
    """Return the number in the first group of a match, multiplied by a factor; None without a
    match.
    """
    return float(match[1].replace(",", "")) * factor if match else None


def parse_quantiles(
    text: str, pattern: str, seconds_per_unit: float | None = None
) -> dict[float, float]:
    """Parse lines with a percentage and a time, in `seconds_per_unit` or with its own unit."""
    quantiles = {}
    for match in re.finditer(pattern, text, re.MULTILINE):
        time = (
            parse_time(match[2]) if seconds_per_unit is None else float(match[2]) * seconds_per_unit
        )
        share = float(match[1]) / 100
        if time is not None and 0 < share < 1:
            quantiles[share] = time
    return quantiles


LoadReader = Callable[[Reading], LoadRow | Sequence[LoadRow]]


class LoadFormat(NamedTuple):
    """The format of the output of a load generator, with the patterns by which the tests in a file
    are found.

    Parameters
    ----------
    pattern : identifies the format
    read : its reader
    begin_pattern : begins each test in a file with several; None: `pattern`
    failure_pattern : the lines on failed requests
    header_pattern : begins each test if it was pasted as a whole
    end_pattern : the line that ends the results of a test
    unique_line_patterns : lines that each test has once, before its values; the most frequent
        separates tests whose first lines were not copied
    command_pattern : the lines that name the command of each test, in a group `name`; tests of
        different commands are no curve over the load
    loop_pattern : the command, of which the only one in a file stands before a loop over all its
        tests
    """

    pattern: re.Pattern[str]
    read: LoadReader
    begin_pattern: re.Pattern[str] | None = None
    failure_pattern: re.Pattern[str] | None = None
    header_pattern: re.Pattern[str] | None = None
    end_pattern: re.Pattern[str] | None = None
    unique_line_patterns: tuple[re.Pattern[str], ...] = ()
    command_pattern: re.Pattern[str] | None = None
    loop_pattern: re.Pattern[str] | None = None


def line_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern that begins at the start of a line, after blanks."""
    return late_pattern(rf"^[ \t]*(?:{pattern})", re.MULTILINE)
