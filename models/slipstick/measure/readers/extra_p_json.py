"""The JSON formats of Extra-P: one document, or a line for each measurement.

Format: extra-p/extrap, docs/file-formats.md. They have no units, so the unit of times is told beside the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from slipstick.measure.readers.json_text import Number, parse_json
from slipstick.measure.readers.parameters import point, roles
from slipstick.measure.readers.reading import Reading, Where
from slipstick.measure.runs import Runs

__all__ = ["looks_extra_p_json", "looks_extra_p_lines", "read_extra_p_json", "read_extra_p_lines"]


def looks_extra_p_json(reading: Reading) -> bool:
    """Say whether this is a document with measurements."""
    return reading.text.lstrip()[:1] == "{" and '"measurements"' in reading.text


def looks_extra_p_lines(reading: Reading) -> bool:
    """Say whether the first line is an object with parameters of its own."""
    first = reading.content[0][1] if reading.content else ""
    return first.lstrip()[:1] == "{" and ('"params"' in first or '"parameters"' in first)


def read_extra_p_json(reading: Reading) -> Runs:
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
    return isinstance(values, list) and all(isinstance(one, Number) for one in values)


def _numbers(tree: Any) -> list[Number]:
    inside = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [tree] if isinstance(tree, Number) else [number for each in inside for number in _numbers(each)]


def _add(reading: Reading, line: int, where: Where | None, path: str, metric: str, values: Sequence[Number]) -> None:
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


def read_extra_p_lines(reading: Reading) -> Runs:
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
        if any(isinstance(each, Number) or not isinstance(each, str) for each in (path, metric)):
            reading.wrong(line, "", "'callpath' and 'metric' are texts")
        elif not values or not all(isinstance(one, Number) for one in (*values, *texts)):
            reading.wrong(line, "value", "values and parameters are numbers, and there is at least one value")
        else:
            if names not in found:
                found[names] = roles(reading, line, names)
            _add(reading, line, point(reading, line, found[names], texts), path, metric, values)
    return reading.finished()
