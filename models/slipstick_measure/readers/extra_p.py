"""Extra-P: the text format, and two JSON formats, one document or a line for each measurement.

The text format lists parameters and points once, then the data of each region and metric, point by
point. No format has units, so the unit of times is given beside the file.

Format: extra-p/extrap, docs/file-formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slipstick.errors import did_you_mean, short
from slipstick_measure.measurements import METRICS, Measurements
from slipstick_measure.readers.reading import (
    COLUMNS,
    Coordinates,
    FileFormat,
    JsonNumber,
    Reading,
    parse_json,
)

SECTIONS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")
_POINT = re.compile(r"\(([^()]*)\)")


def _roles(reading: Reading, line: int, names: Sequence[str]) -> dict[str, int]:
    """Return the indices of processors and size in a point.

    `Hints.columns` decides, else the usual names; a single parameter is the processors.
    """
    places: dict[str, int] = {}
    lower = [name.casefold() for name in names]
    for ours in ("p", "n"):
        heading = reading.hints.columns.get(ours)
        options = [heading.casefold()] if heading else [ours, *COLUMNS[ours]]
        position = next((lower.index(option) for option in options if option in lower), None)
        if position is not None:
            places[ours] = position
        elif heading:
            reading.wrong(
                line, "", f"there is no parameter {heading!r}{did_you_mean(heading, names)}"
            )
    if "p" not in places and len(names) == 1 and not places:
        places["p"] = 0
        if names[0].casefold() not in ("p", *COLUMNS["p"]):
            reading.odd(
                line,
                names[0],
                "the only parameter is taken as the processors; say else with --column n=NAME",
            )
    if "p" not in places and reading.hints.processors is None:
        names_in_words = ", ".join(names)
        reading.refuse(
            line,
            "",
            f"which parameter is the processors? there are {names_in_words}; name it with --column"
            " p=NAME, or, if none is, say their number for all runs with --processors",
        )
    for position, name in enumerate(names):
        if position not in places.values():
            message = (
                "is neither the processors nor the size; if it varies, it is part of the region"
            )
            reading.odd(line, name, f"this parameter {message}")
    return places


def _point(
    reading: Reading,
    line: int,
    places: Mapping[str, int],
    names: Sequence[str],
    coordinates: Sequence[str],
) -> Coordinates | None:
    """Parse a point, with the parameters that are neither processors nor size as its region; None
    after reporting a problem.
    """
    p = (
        reading.processors(line, "p", coordinates[places["p"]])
        if "p" in places
        else reading.hints.processors
    )
    n = reading.size(line, "n", coordinates[places["n"]]) if "n" in places else reading.hints.size
    settings = [
        f"{name} = {value}"
        for position, (name, value) in enumerate(zip(names, coordinates, strict=False))
        if position not in places.values()
    ]
    given = p is not None and ("n" not in places or n is not None)
    return Coordinates(p or 1, n, ", ".join(settings)) if given else None


_OF_SETTINGS = " with "
"""What parts the name of a region from the parameters beside processors and size."""


def _add(
    reading: Reading,
    line: int,
    where: Coordinates | None,
    path: str,
    metric: str,
    values: Sequence[str],
) -> None:
    """Add the repetitions of a value, numbered if there are several; ignored without a point. The
    metric that the user names as time becomes the time.
    """
    time_heading = reading.hints.columns.get("time", "").casefold()
    metric = "time" if time_heading and metric.casefold() == time_heading else metric
    for number, value in enumerate(values, 1) if where is not None else ():
        assert where is not None
        region = f"{path}{_OF_SETTINGS}{where.region}" if where.region else path
        coordinates = where._replace(region=region, repetition=number if len(values) > 1 else None)
        reading.add(getattr(value, "line", 0) or line, coordinates, metric, value, None)


@dataclass
class _TextState:
    """The state of a reader after the sections read so far."""

    parameters: list[str] = field(default_factory=list)
    roles: dict[str, int] = field(default_factory=dict)
    points: list[Coordinates | None] = field(default_factory=list)
    points_line: int = 1
    region: str = ""
    metric: str = "time"
    begun: int = 0
    data: int | None = None


def _is_extra_p(reading: Reading) -> bool:
    return bool(reading.content) and reading.content[0][1].split()[0] in SECTIONS


def _read_extra_p(reading: Reading) -> Measurements:
    now = _TextState()
    for line, text in reading.content:
        section, *words = text.split(maxsplit=1)
        rest = words[0] if words else ""
        match section:
            case "PARAMETER":
                now.parameters += rest.split()
            case "POINTS":
                _read_points(reading, line, now, rest)
            case "REGION" | "METRIC":
                _end_data(reading, now)
                if section == "REGION":
                    now.region = rest.strip()
                else:
                    now.metric = rest.strip() or "time"
                now.begun = line
                now.data = None
            case "DATA":
                _read_data(reading, line, now, rest.split())
            case _:
                reading.wrong(
                    line,
                    "",
                    f"{short(section)} is not a section; sections are {', '.join(SECTIONS)}",
                )
    _end_data(reading, now)
    return _finished(reading)


def _finished(reading: Reading) -> Measurements:
    """Return the measurements; refuse files without any metric that the account uses."""
    parts = [run.region.rpartition(_OF_SETTINGS) for run in reading.runs]
    varied = len({settings for _, of, settings in parts if of}) > 1
    reading.runs = [
        # Parameters that do not vary tell nothing apart.
        replace(run, region=(path + of * bool(path) + settings) if varied else path) if of else run
        for run, (path, of, settings) in zip(reading.runs, parts, strict=True)
    ]
    names = list(dict.fromkeys(run.metric for run in reading.runs))
    if names and not reading.problems and not set(names) & METRICS.keys():
        names_in_words = ", ".join(names[:8])
        reading.refuse(
            reading.runs[0].line,
            "METRIC",
            f"no metric is called time; there are {names_in_words}. If one of them is an elapsed"
            f" time, say --column time={names[0]} --unit s",
        )
    return reading.finished()


def _read_points(reading: Reading, line: int, now: _TextState, rest: str) -> None:
    if not now.parameters:
        reading.refuse(line, "POINTS", "the PARAMETER line must come before the points")
    now.points_line, count = line, len(now.parameters)
    now.roles = now.roles or _roles(reading, line, now.parameters)
    for group in _POINT.findall(rest) if count > 1 or "(" in rest else rest.split():
        coordinates = group.replace(",", " ").split()
        if len(coordinates) != count:
            reading.wrong(
                line,
                "POINTS",
                f"a point has {count} coordinates, one a parameter; got ({group.strip()})",
            )
        now.points.append(
            _point(reading, line, now.roles, now.parameters, coordinates)
            if len(coordinates) == count
            else None
        )


def _read_data(reading: Reading, line: int, now: _TextState, words: Sequence[str]) -> None:
    if not now.points:
        reading.refuse(line, "DATA", "the POINTS line must come before the data")
    index = now.data or 0
    now.data = (now.data or 0) + 1
    now.begun = now.begun or line
    if not words:
        reading.wrong(line, "DATA", "there is no value; write at least one a point")
    _add(
        reading,
        line,
        now.points[index] if index < len(now.points) else None,
        now.region,
        now.metric,
        words,
    )


def _end_data(reading: Reading, now: _TextState) -> None:
    """Check the number of data lines of a region against the number of points."""
    promised = f"line {now.points_line} promises {len(now.points)}"
    if now.data is not None and now.data != len(now.points):
        curve = f"{now.region or 'the whole'}, {now.metric}"
        reading.wrong(
            now.begun, "DATA", f"{now.data} DATA lines for {curve}, where {promised} points"
        )
    elif now.data is None and now.begun and now.points and now.region:
        # The next section may only name the metric, or the region, of the data to come.
        later = next((text.split()[0] for line, text in reading.content if line > now.begun), "")
        if later not in ("METRIC", "REGION"):
            reading.wrong(now.begun, "DATA", f"no DATA line follows; {promised}")


def _is_extra_p_json(reading: Reading) -> bool:
    return reading.text.lstrip()[:1] == "{" and '"measurements"' in reading.text


def _read_extra_p_json(reading: Reading) -> Measurements:
    """Read one document: parameters, then values by call path, metric and point."""
    document: Any = parse_json(reading, reading.text)
    match document:
        case {"parameters": [*names], "measurements": {}} if all(
            isinstance(name, str) for name in names
        ):
            paths = document["measurements"]
        case {"callpaths": _, "coordinates": _}:
            reading.refuse(
                1,
                "",
                "this is Extra-P's older JSON with numbered parts; write it anew with a current"
                " Extra-P",
            )
        case _:
            reading.refuse(
                1,
                "",
                "Extra-P's JSON has the keys 'parameters', a list of names, and 'measurements'",
            )
    places = _roles(reading, 1, names)
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for path, metrics in paths.items():
        if not isinstance(metrics, dict):
            reading.refuse(1, path, "the measurements of a call path are lists of points by metric")
        for metric, points in metrics.items():
            if not isinstance(points, list):
                reading.refuse(
                    1,
                    path,
                    "the points of a metric are a list of objects with 'point' and 'values'",
                )
            lines = [
                _read_json_point(reading, places, names, path, metric, point) for point in points
            ]
            counts[path, metric] = (len(lines), lines[0] if lines else 1)
    most = max((count for count, _ in counts.values()), default=0)
    for (path, metric), (count, line) in counts.items():
        if count < most:
            reading.odd(line, path, f"{count} points of {metric}, where others have {most}")
    return _finished(reading)


def _read_json_point(
    reading: Reading,
    places: dict[str, int],
    names: Sequence[str],
    path: str,
    metric: str,
    point: Any,
) -> int:
    """Read the values of one point; return its line."""
    line = next((number.line for number in _numbers(point)), 1)
    inside = point if isinstance(point, dict) else {}
    coordinates: Any = inside.get("point")
    values: Any = inside.get("values")
    if not (_are_numbers(coordinates) and _are_numbers(values)):
        reading.refuse(
            line, path, "a point is an object with 'point' and 'values', both lists of numbers"
        )
    if len(coordinates) != (count := len(names)):
        reading.wrong(
            line, path, f"a point has {count} coordinates, one a parameter; got {len(coordinates)}"
        )
    elif not values:
        reading.wrong(line, path, "the list of values is empty; measure the point, or leave it out")
    else:
        _add(reading, line, _point(reading, line, places, names, coordinates), path, metric, values)
    return line


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, JsonNumber) for value in values)


def _numbers(tree: Any) -> Iterator[JsonNumber]:
    if isinstance(tree, JsonNumber):
        yield tree
    for subtree in (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    ):
        yield from _numbers(subtree)


def _is_extra_p_lines(reading: Reading) -> bool:
    first = reading.content[0][1] if reading.content else ""
    return first.lstrip()[:1] == "{" and ('"params"' in first or '"parameters"' in first)


_OUTSIDE_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|;')


def _with_commas(text: str) -> str:
    """Return a line of TALPAS, whose separators are semicolons, as JSON."""
    bare = text.strip().removesuffix(";")
    return _OUTSIDE_TEXT.sub(lambda match: "," if match[0] == ";" else match[0], bare)


def _read_extra_p_lines(reading: Reading) -> Measurements:
    """Read JSON lines: an object on each, with the parameters and the value or values of one
    measurement.
    """
    places: dict[tuple[str, ...], dict[str, int]] = {}
    for line, text in reading.content:
        record: Any = parse_json(reading, _with_commas(text), line)
        coordinates = (
            (record.get("params") or record.get("parameters")) if isinstance(record, dict) else None
        )
        if not (isinstance(coordinates, dict) and "value" in record):
            reading.wrong(line, "", "a line has the keys 'params', numbers by name, and 'value'")
            continue
        values = record["value"] if isinstance(record["value"], list) else [record["value"]]
        names = tuple(coordinates)
        texts = list(coordinates.values())
        path = record.get("callpath", "")
        metric = record.get("metric", "time")
        if any(
            isinstance(name, JsonNumber) or not isinstance(name, str) for name in (path, metric)
        ):
            reading.wrong(line, "", "'callpath' and 'metric' are texts")
        elif not values or not _are_numbers([*values, *texts]):
            reading.wrong(
                line, "value", "values and parameters are numbers, and there is at least one value"
            )
        else:
            if names not in places:
                places[names] = _roles(reading, line, names)
            _add(
                reading,
                line,
                _point(reading, line, places[names], names, texts),
                path,
                metric,
                values,
            )
    return _finished(reading)


FORMATS = (
    FileFormat("extra-p-json", _is_extra_p_json, _read_extra_p_json),
    FileFormat("extra-p-lines", _is_extra_p_lines, _read_extra_p_lines),
    FileFormat("extra-p", _is_extra_p, _read_extra_p),
)
