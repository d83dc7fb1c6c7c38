"""Extra-P: the text format, and two JSON formats, one document or a line for each measurement.

The text format lists parameters and points once, then the data of each region and metric, point by point. No format has
units, so the unit of times is given beside the file.

Format: extra-p/extrap, docs/file-formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slipstick.errors import short
from slipstick.measure.measurements import Measurements
from slipstick.measure.readers.reading import Coordinates, FileFormat, JsonNumber, Reading, parse_json, point, roles

SECTIONS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")
_POINT = re.compile(r"\(([^()]*)\)")


@dataclass
class _TextState:
    """What the sections read so far say."""

    parameters: list[str] = field(default_factory=list)
    roles: dict[str, int] = field(default_factory=dict)
    points: list[Coordinates | None] = field(default_factory=list)
    points_line: int = 1
    region: str = ""
    metric: str = "time"
    begun: int = 0
    data: int | None = None


def is_extra_p(reading: Reading) -> bool:
    """Say whether the first line is a section of the format."""
    return bool(reading.content) and reading.content[0][1].split()[0] in SECTIONS


def read_extra_p(reading: Reading) -> Measurements:
    """Read the text format.

    Raises
    ------
    SpecError : a section where none may stand, fewer or more ``DATA`` lines than points, a value that is none
    """
    now = _TextState()
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


def _points(reading: Reading, line: int, now: _TextState, rest: str) -> None:
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


def _data(reading: Reading, line: int, now: _TextState, words: Sequence[str]) -> None:
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


def _end(reading: Reading, now: _TextState) -> None:
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


def _metric_follows(reading: Reading, now: _TextState) -> bool:
    """Say whether the next section only names the metric, or the region, of the data to come."""
    later = [text.split()[0] for line, text in reading.content if line > now.begun]
    return bool(later) and later[0] in ("METRIC", "REGION")


def is_extra_p_json(reading: Reading) -> bool:
    """Say whether this is a document with measurements."""
    return reading.text.lstrip()[:1] == "{" and '"measurements"' in reading.text


def is_extra_p_lines(reading: Reading) -> bool:
    """Say whether the first line is an object with parameters of its own."""
    first = reading.content[0][1] if reading.content else ""
    return first.lstrip()[:1] == "{" and ('"params"' in first or '"parameters"' in first)


def read_extra_p_json(reading: Reading) -> Measurements:
    """Read one document: parameters, then values by call path, metric and point.

    Raises
    ------
    SpecError : no JSON, another shape, a value that is none
    """
    document: Any = parse_json(reading, reading.text)
    match document:
        case {"parameters": [*names], "measurements": {}} if all(isinstance(name, str) for name in names):
            paths = document["measurements"]
        case {"callpaths": _, "coordinates": _}:
            reading.refuse(
                1, "", "this is Extra-P's older JSON with numbered parts; write it anew with a current Extra-P"
            )
        case _:
            reading.refuse(1, "", "Extra-P's JSON has the keys 'parameters', a list of names, and 'measurements'")
    found = roles(reading, 1, names)
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for path, metrics in paths.items():
        if not isinstance(metrics, dict):
            reading.refuse(1, path, "the measurements of a call path are lists of points by metric")
        for metric, points in metrics.items():
            lines = [
                _one_point(reading, found, len(names), path, metric, each) for each in _list(reading, path, points)
            ]
            counts[path, metric] = (len(lines), lines[0] if lines else 1)
    _check_counts(reading, counts)
    return reading.finished()


def _list(reading: Reading, path: str, points: Any) -> Sequence[Any]:
    if not isinstance(points, list):
        reading.refuse(1, path, "the points of a metric are a list of objects with 'point' and 'values'")
    return points


def _one_point(reading: Reading, found: dict[str, int], count: int, path: str, metric: str, each: Any) -> int:
    """Read the values of one point, and give its line."""
    line = next((one.line for one in _numbers(each)), 1)
    inside = each if isinstance(each, dict) else {}
    coordinates: Any = inside.get("point")
    values: Any = inside.get("values")
    if not (_are_numbers(coordinates) and _are_numbers(values)):
        reading.refuse(line, path, "a point is an object with 'point' and 'values', both lists of numbers")
    if len(coordinates) != count:
        reading.wrong(line, path, f"a point has {count} coordinates, one a parameter; got {len(coordinates)}")
    elif not values:
        reading.wrong(line, path, "the list of values is empty; measure the point, or leave it out")
    else:
        _add(reading, line, point(reading, line, found, coordinates), path, metric, values)
    return line


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, JsonNumber) for one in values)


def _numbers(tree: Any) -> list[JsonNumber]:
    inside = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [tree] if isinstance(tree, JsonNumber) else [number for each in inside for number in _numbers(each)]


def _add(
    reading: Reading, line: int, where: Coordinates | None, path: str, metric: str, values: Sequence[JsonNumber]
) -> None:
    if where is not None:
        for number, value in enumerate(values, 1):
            repetition = number if len(values) > 1 else None
            reading.add(value.line or line, replace(where, region=path, repetition=repetition), metric, value, None)


def _check_counts(reading: Reading, counts: dict[tuple[str, str], tuple[int, int]]) -> None:
    """Note where a call path lacks points that others have."""
    most = max((count for count, _ in counts.values()), default=0)
    for (path, metric), (count, line) in counts.items():
        if count < most:
            reading.odd(line, path, f"{count} points of {metric}, where others have {most}")


def read_extra_p_lines(reading: Reading) -> Measurements:
    """Read JSON lines: an object on each, with the parameters and the value or values of one measurement.

    Raises
    ------
    SpecError : no JSON, another shape, a value that is none
    """
    found: dict[tuple[str, ...], dict[str, int]] = {}
    for line, text in reading.content:
        each: Any = parse_json(reading, text, line)
        given = (each.get("params") or each.get("parameters")) if isinstance(each, dict) else None
        if not (isinstance(given, dict) and "value" in each):
            reading.wrong(line, "", "a line has the keys 'params', numbers by name, and 'value'")
            continue
        values = each["value"] if isinstance(each["value"], list) else [each["value"]]
        names, texts = tuple(given), list(given.values())
        path, metric = each.get("callpath", ""), each.get("metric", "time")
        if any(isinstance(each, JsonNumber) or not isinstance(each, str) for each in (path, metric)):
            reading.wrong(line, "", "'callpath' and 'metric' are texts")
        elif not values or not all(isinstance(one, JsonNumber) for one in (*values, *texts)):
            reading.wrong(line, "value", "values and parameters are numbers, and there is at least one value")
        else:
            if names not in found:
                found[names] = roles(reading, line, names)
            _add(reading, line, point(reading, line, found[names], texts), path, metric, values)
    return reading.finished()


FORMATS = (
    FileFormat("extra-p-json", "Extra-P JSON", is_extra_p_json, read_extra_p_json),
    FileFormat("extra-p-lines", "Extra-P JSON lines", is_extra_p_lines, read_extra_p_lines),
    FileFormat("extra-p", "Extra-P text", is_extra_p, read_extra_p),
)
