"""The formats that are read, and how one is told from another: by what is in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.measure.measurements import Hints, Measurements
from slipstick.measure.readers import extra_p, perf, pop, profile, tidy
from slipstick.measure.readers.reading import Reading, open_file


@dataclass(frozen=True, slots=True)
class Format:
    """A format: what it is called, how it is recognized, how it is read."""

    title: str
    looks: Callable[[Reading], bool]
    read: Callable[[Reading], Measurements]


FORMATS: Mapping[str, Format] = {
    "profile": Format("a profile in YAML, 'profile: 1'", profile.looks_profile, profile.read_profile),
    "extra-p-json": Format("Extra-P JSON", extra_p.looks_extra_p_json, extra_p.read_extra_p_json),
    "extra-p-lines": Format("Extra-P JSON lines", extra_p.looks_extra_p_lines, extra_p.read_extra_p_lines),
    "extra-p": Format("Extra-P text", extra_p.looks_extra_p, extra_p.read_extra_p),
    "perf-stat": Format("perf stat -x or -j", perf.looks_perf_stat, perf.read_perf_stat),
    "perf-lock": Format("perf lock contention", perf.looks_perf_lock, perf.read_perf_lock),
    "pop": Format("a table of POP metrics", pop.looks_pop, pop.read_pop),
    "csv": Format("a tidy table with a header", tidy.looks_tidy, tidy.read_tidy),
}
"""Every format by name, in the order in which they are tried."""


def read(path: Path | str, hints: Hints | None = None, format: str | None = None) -> Measurements:
    """Read a file of measurements.

    Parameters
    ----------
    path : the file
    hints : what the file does not say
    format : its format, one of `FORMATS`; told from the content if None

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    UnknownNameError : there is no such format
    """
    if format is not None and format not in FORMATS:
        raise UnknownNameError("format", format, list(FORMATS))
    reading = open_file(path, hints or Hints())
    name = format or next((name for name, each in FORMATS.items() if each.looks(reading)), None)
    if name is None:
        known = ", ".join(FORMATS)
        reading.refuse(1, "", f"cannot tell what this is; name it with --format, one of {known}")
    return FORMATS[name].read(reading)


def read_all(paths: Sequence[Path | str], hints: Sequence[Hints], format: str | None = None) -> Measurements:
    """Read several files into one table; all problems of all files at once.

    Parameters
    ----------
    paths : the files
    hints : of each file
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
    first, *others = found
    for each in others:
        first = replace(
            first,
            records=first.records + each.records,
            notes=first.notes + each.notes,
            timer=first.timer if first.timer is not None else each.timer,
            excess=tuple(dict.fromkeys(first.excess + each.excess)),
            one_processor=first.one_processor if first.one_processor is not None else each.one_processor,
            title=first.title or each.title,
            source=first.source or each.source,
        )
    return first
