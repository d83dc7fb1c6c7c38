"""Samples of JMeter (JTL), as CSV or XML, and the lines in which it sums them up while it runs.

A sample of an XML file may contain others, which are its parts: embedded resources, or the requests
of a transaction. The number of active threads is in samples by default; where it was not saved, it
is that of the names of threads.

Formats: JMeter's user manual, sections "CSV Log format", "XML Log format" and "Summariser".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.elements import parsed
from slipstick_measure.readers.grid import grid_of
from slipstick_measure.readers.reading import NUMBER, Reading

JTL_HEAD = re.compile(
    r"\ufeff?(?=[^\n]*\blabel\b)timeStamp[,;\t](?:[^\n]*[,;\t])?elapsed\b"
    r"|\ufeff?\s*+(?:<\?xml[^>]*+>\s*+)?<testResults\b"
)
"""What samples begin with: the names of their columns, or the outermost element."""

SUMMARY = re.compile(r"^.*\bsummary [+=]\s+[0-9]+ in\s+[0-9:.]+s? =\s+[0-9.]+/s", re.MULTILINE)
"""A line in which JMeter sums up: ``+`` since the line before, ``=`` since the start."""

LEAST_PART = 0.05
"""Part of the samples below which a number of threads is one of a ramp, and no load."""

FEW_FAILED = 0.01
"""Part of the requests that may fail and be left out of a think time."""

_PAUSE = 10.0
_LEAST_PAUSE = 60e3
"""A pause between runs is longer than so many times the longest response and the usual time between
samples, and than so long [ms].
"""

_QUANTILES = (0.5, 0.9, 0.95, 0.99)
_TRANSACTION = "Number of samples in transaction"
_ATTRIBUTES = {
    "ts": "timeStamp",
    "t": "elapsed",
    "s": "success",
    "na": "allThreads",
    "tn": "threadName",
    "rm": "responseMessage",
}
_DATES = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S")


class _Sample(NamedTuple):
    """The start of a request [ms], its time [ms], the active threads and the thread's own name."""

    start: float
    elapsed: float
    users: float | None
    thread: str


def read_jtl(reading: Reading) -> list[LoadRow]:
    """Read samples into a row for each number of threads that was active for long enough.

    The time of a number of threads is the sum of its stretches, each from its first sample to the
    first of the next. Failed samples and those of transactions, which are sums of others, are left
    out.

    Raises
    ------
    SpecError : what is wrong with it, by line
    """
    rows = _of_xml if reading.text.lstrip("\ufeff \t\r\n")[:1] == "<" else _of_table
    samples = list[_Sample]()
    failed = transactions = 0
    line = 1
    for number, cells in rows(reading):
        if _TRANSACTION in cells.get("responseMessage", ""):
            transactions += 1
        elif cells.get("success", "true").casefold() != "true":
            failed += 1
        else:
            samples += _sample(reading, number, cells)
        line = number
    if reading.problems:
        reading.finished()
    if failed:
        reading.odd(1, "success", f"{failed} samples failed, and are left out")
    if transactions:
        reading.odd(1, "", f"{transactions} samples of transactions are left out")
    if not samples:
        counts = f"{failed} samples failed, and {transactions} are sums of a transaction"
        reading.refuse(line, "", f"no request succeeded, so there is no load: {counts}")
    found = sorted(_with_users(reading, samples), key=lambda sample: sample.start)
    rows_found = _rows(found, _pauses(reading, found))
    if failed <= FEW_FAILED * (failed + len(samples)):
        return rows_found
    return [replace(row, unsteady=f"{failed} requests failed") for row in rows_found]


def _of_table(reading: Reading) -> Iterator[tuple[int, Mapping[str, str]]]:
    grid = grid_of(reading)
    for line, cells in grid.rows:
        if len(cells) == len(grid.heading):
            yield line, dict(zip(grid.heading, cells, strict=True))
        else:
            counts = f"{len(cells)} values, where the header promises {len(grid.heading)}"
            reading.wrong(line, "", counts)


def _of_xml(reading: Reading) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the outermost samples, and those of transactions; other nested ones are their parts."""
    root = parsed(replace(reading, text=reading.text.lstrip("\ufeff")))
    elements = [child for results in root.children for child in results.children][::-1]
    while elements:
        element = elements.pop()
        if element.tag not in ("sample", "httpSample"):
            continue
        attributes = element.attributes.items()
        cells = {_ATTRIBUTES.get(name, name): text for name, text in attributes}
        yield element.line, cells
        if _TRANSACTION in cells.get("responseMessage", ""):
            elements += reversed(element.children)


def _sample(reading: Reading, line: int, cells: Mapping[str, str]) -> Iterator[_Sample]:
    start = _instant(reading, line, cells.get("timeStamp", ""))
    elapsed = reading.number(line, "elapsed", cells.get("elapsed", ""))
    active = cells.get("allThreads")
    users = reading.number(line, "allThreads", active) if active is not None else None
    if start is not None and elapsed is not None:
        yield _Sample(start, elapsed, users, cells.get("threadName", ""))


def _instant(reading: Reading, line: int, text: str) -> float | None:
    """Parse a point in time [ms], written as a number or as a date."""
    if not NUMBER.fullmatch(text.strip()):
        for form in _DATES:
            try:
                return datetime.strptime(text.strip(), form).timestamp() * 1e3
            except ValueError:
                continue
        try:
            return datetime.fromisoformat(text.strip()).timestamp() * 1e3
        except ValueError:
            pass
    return reading.number(line, "timeStamp", text)


def _with_users(reading: Reading, samples: Sequence[_Sample]) -> Iterator[_Sample]:
    """Yield the samples with the number of users: active threads, the option, or the distinct names
    of threads.
    """
    if all(sample.users is not None for sample in samples):
        yield from samples
        return
    count = reading.hints.processors or len({sample.thread for sample in samples} - {""})
    if not count:
        why = "the samples do not say how many threads were active (allThreads); say --processors N"
        reading.refuse(1, "", why)
    if reading.hints.processors is None:
        why = (
            f"the samples do not say how many threads were active (allThreads), so the {count} that"
            " have a name in them are taken; say --processors N if there were others"
        )
        reading.odd(1, "threadName", why)
    for sample in samples:
        yield sample._replace(users=float(count))


def _pauses(reading: Reading, samples: Sequence[_Sample]) -> set[int]:
    """Return the places of the samples after which nothing ran for long, as between two runs that
    wrote into one file.
    """
    gaps = [after.start - sample.start for sample, after in pairwise(samples)]
    longest = max(sample.elapsed for sample in samples)
    usual = median(gaps) if gaps else 0.0
    least = max(_PAUSE * longest, _PAUSE * usual, _LEAST_PAUSE)
    pauses = {index: gap for index, gap in enumerate(gaps) if gap > least}
    if pauses:
        seconds = max(pauses.values()) / 1e3
        why = (
            f"{len(pauses) + 1} runs are in it, up to {seconds:g} s apart; the pauses are left out"
        )
        reading.odd(1, "timeStamp", why)
    return set(pauses)


def _rows(samples: Sequence[_Sample], pauses: set[int]) -> list[LoadRow]:
    """Return a row for each number of threads; a pause ends with the sample before it."""
    elapsed_of: dict[float, list[float]] = defaultdict(list)
    stretch_of: dict[float, float] = defaultdict(float)
    end = max(sample.start + sample.elapsed for sample in samples)
    for index, sample in enumerate(samples):
        users = sample.users or 0.0
        elapsed_of[users].append(sample.elapsed)
        following = samples[index + 1].start if index + 1 < len(samples) else end
        stretch_of[users] += sample.elapsed if index in pauses else following - sample.start
    return [
        LoadRow(
            1,
            users=users,
            throughput=len(times) / (stretch_of[users] / 1e3) if stretch_of[users] else None,
            response=sum(times) / len(times) / 1e3,
            quantiles={
                share: sorted(times)[min(int(share * len(times)), len(times) - 1)] / 1e3
                for share in _QUANTILES
                if len(times) * (1 - share) >= 1
            },
        )
        for users, times in sorted(elapsed_of.items())
        if users >= 1 and len(times) >= LEAST_PART * len(samples)
    ]


_SUMMED = re.compile(
    r"\bsummary (?P<of>[+=])\s+[0-9]+ in\s+[0-9:.]+s? =\s+(?P<rate>[0-9.]+)/s"
    r" Avg:\s+(?P<mean>[0-9]+) Min:\s+[0-9]+ Max:\s+[0-9]+ Err:\s+(?P<failed>[0-9]+)"
    r"[^\n]*?(?:Active: (?P<active>[0-9]+)|$)",
    re.MULTILINE,
)


def read_summary(reading: Reading) -> LoadRow:
    """Read JMeter's summary lines: the last one since the start, and the largest number of active
    threads.
    """
    lines = list(_SUMMED.finditer(reading.text))
    if not lines:
        reading.refuse(
            1, "", "the lines in which JMeter sums up are cut before their mean time (Avg)"
        )
    unsteady = ""
    total_lines = [line for line in lines if line["of"] == "="] or lines
    counts = list(dict.fromkeys(int(line["active"]) for line in lines if line["active"]))
    active = max(counts, default=0)
    if len(running := [count for count in counts if count]) > 1:
        listed = ", ".join(map(str, running))
        why = f"active threads changed ({listed}); throughput and mean time are of all together"
        reading.odd(1, "", why)
        unsteady = f"active threads changed in the run, up to {active}"
    if int(total_lines[-1]["failed"]):
        why = f"{total_lines[-1]['failed']} requests failed, and are counted in the throughput"
        reading.odd(1, "", why)
    return LoadRow(
        1,
        users=float(active) if active else None,
        throughput=float(total_lines[-1]["rate"]),
        response=float(total_lines[-1]["mean"]) / 1e3,
        unsteady=unsteady,
    )
