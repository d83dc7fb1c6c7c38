"""Extra-P: the text format, and two JSON formats, one document or a line for each measurement.

The text format lists parameters and points once, then the data of each region and metric, point by
point. No format has units, so the unit of times is given beside the file.

Format: extra-p/extrap, docs/file-formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slipstick.errors import did_you_mean, short
from slipstick.late import dataclass, field, late_pattern, replace
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
_POINT = late_pattern(r"\(([^()]*)\)")


def _index_by_role(
    input_file: Reading, line: int, parameter_names: Sequence[str]
) -> dict[str, int]:
    """Return the index of the processors and the index of the size, by role (``p`` and ``n``),
    among the names of the parameters of a point.

    `Hints.columns` decides, else the usual names; a single parameter is the processors.
    """
    index_by_role: dict[str, int] = {}
    lower_names = [name.casefold() for name in parameter_names]
    for role in ("p", "n"):
        heading = input_file.hints.columns.get(role)
        candidate_names = [heading.casefold()] if heading else [role, *COLUMNS[role]]
        index = next(
            (
                lower_names.index(candidate_name)
                for candidate_name in candidate_names
                if candidate_name in lower_names
            ),
            None,
        )
        if index is not None:
            index_by_role[role] = index
        elif heading:
            input_file.add_problem(
                line,
                "",
                f"there is no parameter {heading!r}{did_you_mean(heading, parameter_names)}",
            )
    if "p" not in index_by_role and len(parameter_names) == 1 and not index_by_role:
        index_by_role["p"] = 0
        if parameter_names[0].casefold() not in ("p", *COLUMNS["p"]):
            input_file.add_note(
                line,
                parameter_names[0],
                (
                    "the only parameter is read as the number of processors; if it is the size,"
                    " write --column n=NAME"
                ),
            )
    if "p" not in index_by_role and input_file.hints.processors is None:
        names_in_words = ", ".join(parameter_names)
        input_file.refuse(
            line,
            "",
            f"which parameter is the processors? there are {names_in_words}; name it with --column"
            " p=NAME, or, if none is, say their number for all runs with --processors",
        )
    for index, name in enumerate(parameter_names):
        if index not in index_by_role.values():
            message = (
                "is neither the processors nor the size; if it varies, it is part of the region"
            )
            input_file.add_note(line, name, f"this parameter {message}")
    return index_by_role


def _parse_point(
    input_file: Reading,
    line: int,
    index_by_role: Mapping[str, int],
    parameter_names: Sequence[str],
    coordinate_texts: Sequence[str],
) -> Coordinates | None:
    """Return the coordinates of a point; values of parameters that are neither processors nor size
    become a part of the region's name. Return None after recording a problem.
    """
    processors = (
        input_file.processors(line, "p", coordinate_texts[index_by_role["p"]])
        if "p" in index_by_role
        else input_file.hints.processors
    )
    size = (
        input_file.size(line, "n", coordinate_texts[index_by_role["n"]])
        if "n" in index_by_role
        else input_file.hints.size
    )
    settings = [
        f"{name} = {value}"
        for index, (name, value) in enumerate(zip(parameter_names, coordinate_texts, strict=False))
        if index not in index_by_role.values()
    ]
    is_complete = processors is not None and ("n" not in index_by_role or size is not None)
    return Coordinates(processors or 1, size, ", ".join(settings)) if is_complete else None


_BEFORE_SETTINGS = " with "
"""Text between the name of a region and the parameters beside processors and size."""


def _add_repetitions(
    input_file: Reading,
    line: int,
    point: Coordinates | None,
    path: str,
    metric: str,
    values: Sequence[str],
) -> None:
    """Add the repetitions of a value, numbered if there are several; do nothing without a point.
    The metric that the user names as time becomes the time.
    """
    time_heading = input_file.hints.columns.get("time", "").casefold()
    metric = "time" if time_heading and metric.casefold() == time_heading else metric
    for repetition, value in enumerate(values, 1) if point is not None else ():
        assert point is not None
        region = f"{path}{_BEFORE_SETTINGS}{point.region}" if point.region else path
        coordinates = point._replace(
            region=region, repetition=repetition if len(values) > 1 else None
        )
        input_file.add(getattr(value, "line", 0) or line, coordinates, metric, value, None)


@dataclass
class _TextSections:
    """What was read so far from the sections of a file in the text format."""

    parameters: list[str] = field(default_factory=list)
    index_by_role: dict[str, int] = field(default_factory=dict)
    points: list[Coordinates | None] = field(default_factory=list)
    points_line: int = 1
    region: str = ""
    metric: str = "time"
    begin_line: int = 0
    data_line_count: int | None = None


def _is_extra_p(input_file: Reading) -> bool:
    """Return whether a file has the text format of Extra-P."""
    return bool(input_file.content) and input_file.content[0][1].split()[0] in SECTIONS


def _read_extra_p(input_file: Reading) -> Measurements:
    """Read the text format of Extra-P."""
    sections = _TextSections()
    for line, text in input_file.content:
        section, *texts_behind = text.split(maxsplit=1)
        text_behind = texts_behind[0] if texts_behind else ""
        match section:
            case "PARAMETER":
                sections.parameters += text_behind.split()
            case "POINTS":
                _read_points(input_file, line, sections, text_behind)
            case "REGION" | "METRIC":
                _check_data_lines(input_file, sections)
                if section == "REGION":
                    sections.region = text_behind.strip()
                else:
                    sections.metric = text_behind.strip() or "time"
                sections.begin_line = line
                sections.data_line_count = None
            case "DATA":
                _read_data_line(input_file, line, sections, text_behind.split())
            case _:
                input_file.add_problem(
                    line,
                    "",
                    f"{short(section)} is not a section; sections are {', '.join(SECTIONS)}",
                )
    _check_data_lines(input_file, sections)
    return _measurements_with_known_metric(input_file)


def _measurements_with_known_metric(input_file: Reading) -> Measurements:
    """Return the measurements that were read; raise if none has a known metric, such as a time."""
    split_regions = [run.region.rpartition(_BEFORE_SETTINGS) for run in input_file.runs]
    have_several_settings = (
        len({settings for _, separator, settings in split_regions if separator}) > 1
    )
    input_file.runs = [
        # Parameters that do not vary distinguish no regions.
        replace(
            run,
            region=(path + separator * bool(path) + settings) if have_several_settings else path,
        )
        if separator
        else run
        for run, (path, separator, settings) in zip(input_file.runs, split_regions, strict=True)
    ]
    metric_names = list(dict.fromkeys(run.metric for run in input_file.runs))
    if metric_names and not input_file.problems and not set(metric_names) & METRICS.keys():
        names_in_words = ", ".join(metric_names[:8])
        input_file.refuse(
            input_file.runs[0].line,
            "METRIC",
            f"no metric is called time; there are {names_in_words}. If one of them is an elapsed"
            f" time, write --column time={metric_names[0]} --unit s",
        )
    return input_file.finished()


def _read_points(input_file: Reading, line: int, sections: _TextSections, points_text: str) -> None:
    """Read a section POINTS, whose points have one coordinate for each parameter."""
    if not sections.parameters:
        input_file.refuse(line, "POINTS", "the PARAMETER line must come before the points")
    sections.points_line, parameter_count = line, len(sections.parameters)
    sections.index_by_role = sections.index_by_role or _index_by_role(
        input_file, line, sections.parameters
    )
    for point_text in (
        _POINT.findall(points_text)
        if parameter_count > 1 or "(" in points_text
        else points_text.split()
    ):
        coordinate_texts = point_text.replace(",", " ").split()
        if len(coordinate_texts) != parameter_count:
            input_file.add_problem(
                line,
                "POINTS",
                f"a point has {parameter_count} coordinates, one a parameter; got"
                f" ({point_text.strip()})",
            )
        sections.points.append(
            _parse_point(
                input_file, line, sections.index_by_role, sections.parameters, coordinate_texts
            )
            if len(coordinate_texts) == parameter_count
            else None
        )


def _read_data_line(
    input_file: Reading, line: int, sections: _TextSections, words: Sequence[str]
) -> None:
    """Read a line DATA, which has the repetitions at the next point."""
    if not sections.points:
        input_file.refuse(line, "DATA", "the POINTS line must come before the data")
    point_index = sections.data_line_count or 0
    sections.data_line_count = (sections.data_line_count or 0) + 1
    sections.begin_line = sections.begin_line or line
    if not words:
        input_file.add_problem(line, "DATA", "there is no value; write at least one a point")
    _add_repetitions(
        input_file,
        line,
        sections.points[point_index] if point_index < len(sections.points) else None,
        sections.region,
        sections.metric,
        words,
    )


def _check_data_lines(input_file: Reading, sections: _TextSections) -> None:
    """Record a problem if a region has not as many data lines as there are points."""
    expectation = f"line {sections.points_line} promises {len(sections.points)}"
    if sections.data_line_count is not None and sections.data_line_count != len(sections.points):
        data_in_words = f"{sections.region or 'the whole'}, {sections.metric}"
        input_file.add_problem(
            sections.begin_line,
            "DATA",
            f"{sections.data_line_count} DATA lines for {data_in_words}, where {expectation}"
            " points",
        )
    elif (
        sections.data_line_count is None
        and sections.begin_line
        and sections.points
        and sections.region
    ):
        # The next section may only name the metric, or the region, of the data to come.
        next_section = next(
            (text.split()[0] for line, text in input_file.content if line > sections.begin_line), ""
        )
        if next_section not in ("METRIC", "REGION"):
            input_file.add_problem(
                sections.begin_line, "DATA", f"no DATA line follows; {expectation}"
            )


def _is_extra_p_json(input_file: Reading) -> bool:
    """Return whether a file has the JSON format of Extra-P of one document."""
    return input_file.text.lstrip()[:1] == "{" and '"measurements"' in input_file.text


def _read_extra_p_json(input_file: Reading) -> Measurements:
    """Read the JSON format of one document: parameters, then values by call path, metric and
    point.
    """
    document: Any = parse_json(input_file, input_file.text)
    match document:
        case {"parameters": [*parameter_names], "measurements": {}} if all(
            isinstance(name, str) for name in parameter_names
        ):
            metrics_by_path = document["measurements"]
        case {"callpaths": _, "coordinates": _}:
            input_file.refuse(
                1,
                "",
                "this is Extra-P's older JSON with numbered parts; write it anew with a current"
                " Extra-P",
            )
        case _:
            input_file.refuse(
                1,
                "",
                "Extra-P's JSON has the keys 'parameters', a list of names, and 'measurements'",
            )
    index_by_role = _index_by_role(input_file, 1, parameter_names)
    count_and_line_by_series: dict[tuple[str, str], tuple[int, int]] = {}
    for path, points_by_metric in metrics_by_path.items():
        if not isinstance(points_by_metric, dict):
            input_file.refuse(
                1, path, "the measurements of a call path are lists of points by metric"
            )
        for metric, points in points_by_metric.items():
            if not isinstance(points, list):
                input_file.refuse(
                    1,
                    path,
                    "the points of a metric are a list of objects with 'point' and 'values'",
                )
            point_lines = [
                _read_json_point(input_file, index_by_role, parameter_names, path, metric, point)
                for point in points
            ]
            count_and_line_by_series[path, metric] = (
                len(point_lines),
                point_lines[0] if point_lines else 1,
            )
    most_points = max((count for count, _ in count_and_line_by_series.values()), default=0)
    for (path, metric), (count, line) in count_and_line_by_series.items():
        if count < most_points:
            input_file.add_note(
                line, path, f"{count} points of {metric}, where others have {most_points}"
            )
    return _measurements_with_known_metric(input_file)


def _read_json_point(
    input_file: Reading,
    index_by_role: dict[str, int],
    parameter_names: Sequence[str],
    path: str,
    metric: str,
    point: Any,
) -> int:
    """Read the values of one point. Return its line."""
    line = next((number.line for number in _numbers_in(point)), 1)
    value_by_key = point if isinstance(point, dict) else {}
    coordinates: Any = value_by_key.get("point")
    values: Any = value_by_key.get("values")
    if not (_are_numbers(coordinates) and _are_numbers(values)):
        input_file.refuse(
            line, path, "a point is an object with 'point' and 'values', both lists of numbers"
        )
    if len(coordinates) != (parameter_count := len(parameter_names)):
        input_file.add_problem(
            line,
            path,
            f"a point has {parameter_count} coordinates, one a parameter; got {len(coordinates)}",
        )
    elif not values:
        input_file.add_problem(
            line, path, "the list of values is empty; measure the point, or leave it out"
        )
    else:
        _add_repetitions(
            input_file,
            line,
            _parse_point(input_file, line, index_by_role, parameter_names, coordinates),
            path,
            metric,
            values,
        )
    return line


def _are_numbers(values: Any) -> bool:
    """Return whether values are a list of numbers."""
    return isinstance(values, list) and all(isinstance(value, JsonNumber) for value in values)


def _numbers_in(tree: Any) -> Iterator[JsonNumber]:
    """Yield all numbers in a part of a document."""
    if isinstance(tree, JsonNumber):
        yield tree
    for subtree in (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    ):
        yield from _numbers_in(subtree)


def _is_extra_p_lines(input_file: Reading) -> bool:
    """Return whether a file has the format of Extra-P with a JSON object on each line."""
    first_line = input_file.content[0][1] if input_file.content else ""
    return first_line.lstrip()[:1] == "{" and (
        '"params"' in first_line or '"parameters"' in first_line
    )


_OUTSIDE_TEXT = late_pattern(r'"(?:[^"\\]|\\.)*"|;')


def _json_of_talpas_line(text: str) -> str:
    """Return a line of TALPAS, which separates values by semicolons, as JSON."""
    line = text.strip().removesuffix(";")
    return _OUTSIDE_TEXT.sub(lambda match: "," if match[0] == ";" else match[0], line)


def _read_extra_p_lines(input_file: Reading) -> Measurements:
    """Read JSON lines: an object on each, with the parameters and the value or values of one
    measurement.
    """
    index_by_role_of_names: dict[tuple[str, ...], dict[str, int]] = {}
    for line, text in input_file.content:
        record: Any = parse_json(input_file, _json_of_talpas_line(text), line)
        coordinate_by_name = (
            (record.get("params") or record.get("parameters")) if isinstance(record, dict) else None
        )
        if not (isinstance(coordinate_by_name, dict) and "value" in record):
            input_file.add_problem(
                line, "", "a line has the keys 'params', numbers by name, and 'value'"
            )
            continue
        values = record["value"] if isinstance(record["value"], list) else [record["value"]]
        parameter_names = tuple(coordinate_by_name)
        coordinate_numbers = list(coordinate_by_name.values())
        path = record.get("callpath", "")
        metric = record.get("metric", "time")
        if any(
            isinstance(name, JsonNumber) or not isinstance(name, str) for name in (path, metric)
        ):
            input_file.add_problem(line, "", "'callpath' and 'metric' are texts")
        elif not values or not _are_numbers([*values, *coordinate_numbers]):
            input_file.add_problem(
                line, "value", "values and parameters are numbers, and there is at least one value"
            )
        else:
            if parameter_names not in index_by_role_of_names:
                index_by_role_of_names[parameter_names] = _index_by_role(
                    input_file, line, parameter_names
                )
            _add_repetitions(
                input_file,
                line,
                _parse_point(
                    input_file,
                    line,
                    index_by_role_of_names[parameter_names],
                    parameter_names,
                    coordinate_numbers,
                ),
                path,
                metric,
                values,
            )
    return _measurements_with_known_metric(input_file)


FORMATS = (
    FileFormat("extra-p-json", _is_extra_p_json, _read_extra_p_json),
    FileFormat("extra-p-lines", _is_extra_p_lines, _read_extra_p_lines),
    FileFormat("extra-p", _is_extra_p, _read_extra_p),
)
