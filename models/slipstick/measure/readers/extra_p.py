"""The text format of Extra-P: parameters and points once, then the data of each region and metric, point by point.

Format: extra-p/extrap, docs/file-formats.md. It has no units, so the unit of times is told beside the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from slipstick.measure.readers.parameters import point, roles
from slipstick.measure.readers.reading import Reading, Where
from slipstick.measure.runs import Runs
from slipstick.schema.text.scalars import short

__all__ = ["looks_extra_p", "read_extra_p"]

SECTIONS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")
_POINT = re.compile(r"\(([^()]*)\)")


@dataclass
class _Open:
    """What the sections read so far say."""

    parameters: list[str] = field(default_factory=list)
    roles: dict[str, int] = field(default_factory=dict)
    points: list[Where | None] = field(default_factory=list)
    points_line: int = 1
    region: str = ""
    metric: str = "time"
    begun: int = 0
    data: int | None = None


def looks_extra_p(reading: Reading) -> bool:
    """Say whether the first line is a section of the format."""
    return bool(reading.content) and reading.content[0][1].split()[0] in SECTIONS


def read_extra_p(reading: Reading) -> Runs:
    """Read the text format.

    Raises
    ------
    SpecError : a section where none may stand, fewer or more ``DATA`` lines than points, a value that is none
    """
    now = _Open()
    for line, text in reading.content:
        section, _, rest = text.strip().partition(" ")
        words = rest.split()
        match section:
            case "PARAMETER":
                now.parameters += words
            case "POINTS":
                _points(reading, line, now, rest)
            case "REGION" | "METRIC":
                _end(reading, now)
                if section == "REGION":
                    now.region = rest.strip()
                else:
                    now.metric = rest.strip() or "time"
                now.begun, now.data = line, None
            case "DATA":
                _data(reading, line, now, words)
            case _:
                reading.wrong(line, "", f"{short(section)} is no section; there are {', '.join(SECTIONS)}")
    _end(reading, now)
    return reading.finished()


def _points(reading: Reading, line: int, now: _Open, rest: str) -> None:
    if not now.parameters:
        reading.refuse(line, "POINTS", "the PARAMETER line must come before the points")
    now.points_line = line
    now.roles = now.roles or roles(reading, line, now.parameters)
    groups = _POINT.findall(rest) if len(now.parameters) > 1 or "(" in rest else rest.split()
    for group in groups:
        coordinates = group.replace(",", " ").split()
        if len(coordinates) != len(now.parameters):
            count = len(now.parameters)
            reading.wrong(line, "POINTS", f"a point has {count} coordinates, one a parameter; got ({group.strip()})")
            now.points.append(None)
        else:
            now.points.append(point(reading, line, now.roles, coordinates))


def _data(reading: Reading, line: int, now: _Open, words: Sequence[str]) -> None:
    if not now.points:
        reading.refuse(line, "DATA", "the POINTS line must come before the data")
    at, now.data = now.data or 0, (now.data or 0) + 1
    now.begun = now.begun or line
    if not words:
        reading.wrong(line, "DATA", "there is no value; write at least one a point")
    where = now.points[at] if at < len(now.points) else None
    if where is not None:
        for number, word in enumerate(words, 1):
            repetition = number if len(words) > 1 else None
            reading.add(line, replace(where, region=now.region, repetition=repetition), now.metric, word, None)


def _end(reading: Reading, now: _Open) -> None:
    """Hold the number of data lines of a region against the number of points."""
    if now.data is not None and now.data != len(now.points):
        what = f"{now.region or 'the whole'}, {now.metric}"
        reading.wrong(
            now.begun,
            "DATA",
            f"{now.data} DATA lines for {what}, where line {now.points_line} promises {len(now.points)} points",
        )
    elif now.data is None and now.begun and now.points and now.region and not _metric_follows(reading, now):
        reading.wrong(now.begun, "DATA", f"no DATA line follows; line {now.points_line} promises {len(now.points)}")


def _metric_follows(reading: Reading, now: _Open) -> bool:
    """Say whether the next section only names the metric, or the region, of the data to come."""
    later = [text.split()[0] for line, text in reading.content if line > now.begun]
    return bool(later) and later[0] in ("METRIC", "REGION")
