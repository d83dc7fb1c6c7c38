"""Lock profiles: perf lock contention, as a table and with ``-x SEP``.

A file describes one run: the waits for each lock, by who waited, added up over all threads. It has neither the
elapsed time nor the number of processors; both are told beside it. perf sees locks of the kernel; a contended lock
of a program shows as callers in futex. It does not see how long locks are held.

Format: printed by perf 6.1 and, with ``-x``, perf 6.8.
"""

from __future__ import annotations

import re
from dataclasses import replace

from slipstick.measure.readers.reading import Reading, Where
from slipstick.measure.runs import Run, Runs
from slipstick.schema.text.scalars import short

__all__ = ["looks_perf_lock", "read_perf_lock"]

_HEADER = re.compile(r"#?\s*(?:output:)?\s*contended\b.*\btotal wait\b")
_REPORT = re.compile(r"\s*Name\s+acquired\s+contended\b")
_WAIT = r"([0-9.]+) (ns|us|ms|s|m|h)"
_ROW = re.compile(rf"\s*([0-9]+)\s+{_WAIT}\s+{_WAIT}\s+{_WAIT}\s+(.+)")
_WITH_SEPARATOR = 6
_UNITS = {"m": "min"}


def looks_perf_lock(reading: Reading) -> bool:
    """Say whether a line is the head of the table."""
    return any(_HEADER.match(line) or _REPORT.match(line) for line in reading.lines)


def read_perf_lock(reading: Reading) -> Runs:
    """Read the waits of one run.

    Raises
    ------
    SpecError : processors or time are not told, another layout, a value that is none
    """
    hints = reading.hints
    if hints.processors is None or hints.time is None:
        reading.refuse(
            1, "", "perf lock says neither processors nor elapsed time; tell them: --processors 8 --time '3.2 s'"
        )
    if any(_REPORT.match(line) for line in reading.lines):
        reading.refuse(1, "", "this is perf lock report; print perf lock contention instead, which says who waited")
    where = Where(hints.processors, hints.size)
    reading.add(1, where, "time", repr(hints.time), "s")
    inside = False
    for line, text in enumerate(reading.lines, 1):
        if _HEADER.match(text):
            inside = True
        elif inside and text.strip() and not text.startswith(("=", "#")):
            _row(reading, line, where, text)
    if not inside:
        reading.refuse(1, "", "there is no head of a table, 'contended  total wait  max wait  avg wait  type  caller'")
    reading.runs = _added_up(reading.runs)
    return reading.finished()


def _added_up(runs: list[Run]) -> list[Run]:
    """Add up the lines of one caller: several locks, or several ways to the same one."""
    found: dict[tuple[str, str], Run] = {}
    for run in runs:
        key = run.region, run.metric
        found[key] = replace(found[key], value=found[key].value + run.value, text="") if key in found else run
    return list(found.values())


def _row(reading: Reading, line: int, where: Where, text: str) -> None:
    if match := _ROW.fullmatch(text):
        count, total, unit, *_, rest = match.groups()
        kind, _, caller = rest.strip().partition(" ")
        name = caller.strip() or kind
    else:
        fields = [each.strip() for each in re.split("[,;|\t]", text, maxsplit=_WITH_SEPARATOR - 1)]
        if len(fields) != _WITH_SEPARATOR:
            if re.match(r"\s+0x[0-9a-f]+\s+\S", text):
                return  # a line of a call stack, printed with -v
            reading.wrong(line, "", f"{short(text.strip())} is not a line of perf lock contention")
            return
        count, total, unit, name = fields[0], fields[1], "ns", fields[5]
    at = Where(where.p, where.n, name)
    reading.add(line, at, "wait", total, _UNITS.get(unit, unit))
    reading.add(line, at, "events", count, "1")
