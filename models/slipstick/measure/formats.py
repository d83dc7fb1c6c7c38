"""The formats of files with measurements; the format of a file is recognized from its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.measure.measurements import Hints, Measurements
from slipstick.measure.readers import extra_p, messages, perf, pop, profile, tidy
from slipstick.measure.readers.reading import FileFormat, open_file
from slipstick.measure.traces.readers import TRACE_FORMATS, read_trace, trace_format

FORMATS: Mapping[str, FileFormat] = {
    each.name: each for module in (profile, extra_p, perf, messages, pop, tidy) for each in module.FORMATS
}
"""Every format by name, in the order in which they are tried: the last one recognizes almost any table.

To add a format, write a module of `readers` with its `FORMATS` and name it here, and put sample files into
``tests/measure/files/<name of the format>/``, with ``hints.json`` beside them where they need hints.
"""


def read(path: Path | str, hints: Hints | None = None, format: str | None = None) -> Measurements:
    """Read a file of measurements.

    Parameters
    ----------
    path : the file
    hints : what the file does not say
    format : its format, one of `FORMATS` or `TRACE_FORMATS`; told from the content if None

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    UnknownNameError : there is no such format
    """
    hints, known = hints or Hints(), [*FORMATS, *TRACE_FORMATS]
    if format is not None and format not in known:
        raise UnknownNameError("format", format, known)
    if (trace := trace_format(path) if format is None else format) in TRACE_FORMATS:
        found = read_trace(path, trace, hints.unit).measurements()
        if hints.size is None:
            return found
        return replace(found, records=tuple(replace(run, n=hints.size) for run in found.records))
    reading = open_file(path, hints)
    if not reading.content:
        return reading.finished()  # which says that there is nothing in it
    name = format or next((name for name, each in FORMATS.items() if each.recognize(reading)), None)
    if name is None:
        reading.refuse(1, "", f"cannot tell what this is; name it with --format, one of {', '.join(known)}")
    return FORMATS[name].read(reading)


def read_all(paths: Sequence[Path | str], hints: Sequence[Hints], format: str | None = None) -> Measurements:
    """Read several files into one table; all problems of all files at once.

    Parameters
    ----------
    paths, hints : the files, and what each does not say
    format : of all files; told from the content of each if None

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    """
    problems: list[Problem] = []
    found: list[Measurements] = []
    for path, told in zip(paths, hints, strict=True):
        try:
            found.append(read(path, told, format))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    if len(found) == 1:
        return found[0]
    return Measurements(
        tuple(run for each in found for run in each.records),
        tuple(note for each in found for note in each.notes),
        next((each.timer for each in found if each.timer is not None), None),
        tuple(dict.fromkeys(cause for each in found for cause in each.excess)),
        next((each.one_processor for each in found if each.one_processor is not None), None),
        *(next((text for each in found if (text := getattr(each, name))), "") for name in ("title", "source")),
    )
