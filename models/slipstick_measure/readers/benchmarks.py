"""JSON of programs that time commands and functions: hyperfine, Google Benchmark and
pytest-benchmark.

A parameter with the name of processors or of a size is one; a benchmark is a region, and each time
that the file holds is a repetition.

Formats: hyperfine --export-json (results: command, times [s], parameters); Google Benchmark
--benchmark_out (benchmarks: name, run_type, threads, real_time, time_unit, items_per_second);
pytest-benchmark --benchmark-json (benchmarks: name, params, stats [s]).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.names import LOADS, PROCESSORS, SIZES, plain_words
from slipstick_measure.readers.reading import (
    Coordinates,
    FileFormat,
    JsonNumber,
    Reading,
    parse_json,
)


def _is_object(reading: Reading, *marks: str) -> bool:
    return reading.text.lstrip()[:1] == "{" and all(mark in reading.text for mark in marks)


def _place(
    reading: Reading, line: int, parameters: Mapping[str, Any], region: str
) -> Coordinates | None:
    """Return the coordinates that named parameters give; others become part of the region."""
    hints = reading.hints
    roles = {theirs.casefold(): ours for ours, theirs in hints.columns.items()}
    p, n, other_arguments = hints.processors, hints.size, list[str]()
    for name, value in parameters.items():
        word = plain_words(name)
        role = roles.get(name.casefold()) or (
            "p" if word in (*PROCESSORS, *LOADS) else "n" if word in SIZES else ""
        )
        if role == "p":
            p = reading.processors(line, name, str(value))
            if p is None:
                return None
        elif role == "n":
            n = reading.size(line, name, str(value))
            if n is None:
                return None
        else:
            other_arguments.append(f"{name}={value}")
    if p is None:
        names = ", ".join(parameters) or "none"
        reading.refuse(
            line,
            "",
            f"no parameter counts processors (there are: {names}); name it with --column p=NAME, or"
            " say --processors",
        )
    return Coordinates(p, n, " ".join([region, *other_arguments]).strip())


def _line(tree: Any) -> int:
    if isinstance(tree, JsonNumber):
        return tree.line
    subtrees = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return next((line for subtree in subtrees if (line := _line(subtree))), 0)


def _texts(reading: Reading, key: str) -> list[Mapping[str, Any]]:
    """Return the list of objects under a key of the document."""
    document = parse_json(reading, reading.text)
    rows = document.get(key) if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        reading.refuse(1, key, "is a list of objects in such a file")
    return rows


def _read_hyperfine(reading: Reading) -> Measurements:
    rows = _texts(reading, "results")
    commands = {_without(str(row.get("command", "")), row) for row in rows}
    for row in rows:
        line = _line(row) or 1
        region = _without(str(row.get("command", ""))[:200], row) if len(commands) > 1 else ""
        where = _place(reading, line, row.get("parameters") or {}, region)
        times = row.get("times") or [row.get("mean", "")]
        for number, time in enumerate(times, 1):
            at = getattr(time, "line", line)
            if where is not None:
                repeated = where._replace(repetition=number if len(times) > 1 else None)
                reading.add(at, repeated, "time", str(time), "s")
    return reading.finished()


def _without(command: str, row: Mapping[str, Any]) -> str:
    """Return a command without the values of its parameters, which vary."""
    for value in (row.get("parameters") or {}).values():
        command = re.sub(rf"(?<![\w.]){re.escape(str(value))}(?![\w.])", "*", command)
    return command


_PART = re.compile(r"(?P<name>[A-Za-z_]\w*+)(?::(?P<value>[0-9.]+))?")
"""A name, and its value where it has one: names without are passed over once."""

_AGGREGATES = ("aggregate",)


def _read_google(reading: Reading) -> Measurements:
    rows = [row for row in _texts(reading, "benchmarks") if row.get("run_type") != "aggregate"]
    rows = [row for row in rows if not row.get("error_occurred")]
    names = {_base(row) for row in rows}
    repetitions: dict[Coordinates, int] = {}
    for row in rows:
        line = _line(row) or 1
        arguments = {
            match["name"]: match["value"]
            for match in _PART.finditer(str(row.get("name")))
            if match["value"]
        }
        if "threads" in row:
            arguments["threads"] = row["threads"]
        where = _place(reading, line, arguments, _base(row) if len(names) > 1 else "")
        if where is None:
            continue
        repetitions[where] = repetitions.get(where, 0) + 1
        at = where._replace(repetition=repetitions[where])
        rate = row.get("items_per_second") or row.get("bytes_per_second")
        if rate is not None:
            unit = "items/s" if "items_per_second" in row else "B/s"
            reading.add(line, at, "throughput", str(rate), unit)
        else:
            unit = str(row.get("time_unit", "ns"))
            reading.add(line, at, "cycle", str(row.get("real_time", "")), unit)
    return reading.finished()


def _base(row: Mapping[str, Any]) -> str:
    name = str(row.get("run_name") or row.get("name", ""))[:200]
    segments = [
        segment
        for segment in name.split("/")
        if not ((part := _PART.fullmatch(segment)) and part["value"]) and segment != "real_time"
    ]
    return "/".join(segments)


def _function(row: Mapping[str, Any]) -> str:
    """Return the name of a test without the parameters in brackets at its end."""
    name = str(row.get("name", ""))
    return name.partition("[")[0] if name.endswith("]") else name


def _read_pytest(reading: Reading) -> Measurements:
    rows = _texts(reading, "benchmarks")
    names = {_function(row) for row in rows}
    for row in rows:
        line = _line(row) or 1
        stats: Mapping[str, Any] = row["stats"] if isinstance(row.get("stats"), dict) else {}
        region = _function(row)[:200] if len(names) > 1 else ""
        where = _place(reading, line, row.get("params") or {}, region)
        times = stats.get("data") or [stats.get("median", stats.get("mean", ""))]
        for number, time in enumerate(times, 1):
            if where is not None:
                repeated = where._replace(repetition=number if len(times) > 1 else None)
                reading.add(getattr(time, "line", line), repeated, "time", str(time), "s")
    return reading.finished()


def _recognizes(*marks: str) -> Callable[[Reading], bool]:
    return lambda reading: _is_object(reading, *marks)


FORMATS = (
    FileFormat("hyperfine", _recognizes('"results"', '"command"', '"exit_codes"'), _read_hyperfine),
    FileFormat(
        "google-benchmark", _recognizes('"benchmarks"', '"real_time"', '"time_unit"'), _read_google
    ),
    FileFormat(
        "pytest-benchmark", _recognizes('"benchmarks"', '"stats"', '"machine_info"'), _read_pytest
    ),
)
