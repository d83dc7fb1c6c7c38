"""Results of fio: a row for each group of jobs that run at the same time.

Formats: fio --output-format=json, and the text that fio prints by itself, in the form of fio 2
(``write: io=..., bw=..., iops=6008, runt=...``) and of fio 3 (``read: IOPS=20.0k, BW=...``). Of
text the requests in flight stand in the line of the job (``iodepth=16``) or in that of its latency
target (``depth=16``), and only the latency that is printed is read: submission and completion
together (``lat``), or the completion alone (``clat``) where fio prints nothing else.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from slipstick.errors import short
from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.reading import Reading


def read_fio(reading: Reading) -> Sequence[LoadRow]:
    """Read one row for each group of jobs that run at the same time. The load is the jobs' own rate
    limit, else the number of requests in flight.
    """
    # fio writes its warnings before the document, and its text behind it if it is asked for both.
    document, _ = json.JSONDecoder().raw_decode(reading.text, reading.text.index("{"))
    options = document.get("global options", {})
    jobs = document.get("jobs", [])
    for job in jobs:
        if job.get("error"):
            message = f"{short(str(job.get('jobname', '')))} ended with error {job['error']}"
            reading.odd(1, "error", f"{message}, and its requests until then are read")
    if jobs and not options and not any("job options" in job for job in jobs):
        return _read_fio_2(reading, jobs)
    return [
        _fio_row(reading, [(job, {**options, **job.get("job options", {})}) for job in group])
        for group in _fio_groups(jobs)
    ]


def _read_fio_2(reading: Reading, jobs: Sequence[Mapping[str, Any]]) -> Sequence[LoadRow]:
    """Read what fio 2 writes: no options, so that the number of requests in flight is known only
    where it was always one; jobs of one group ran at the same time.
    """
    groups: dict[object, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    told = _is_told(reading, {job.get("groupid") for job in jobs})
    for job in jobs:
        share_at_one = float((job.get("iodepth_level") or {}).get("1", 0.0)) >= _ALWAYS
        if not share_at_one and not told:
            message = (
                f"{job.get('jobname', '')}: this version of fio does not write how many requests"
                " were in flight (iodepth); keep one job and say --processors N, or give its text"
            )
            reading.refuse(1, "iodepth", message)
        groups.setdefault(job.get("groupid"), []).append((job, {}))
    return [_fio_row(reading, group) for group in groups.values()]


def _is_told(reading: Reading, groups: Collection[object]) -> bool:
    """Return whether the number of requests in flight is told beside the file, which is that of one
    group of jobs.
    """
    return reading.hints.processors is not None and len(groups) == 1


_ALWAYS = 99.9
"""Percentage of the time that is as good as all of it."""


def _fio_groups(jobs: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Group jobs by the time when they ran, else by options that make a job wait for earlier
    ones.
    """
    groups: list[list[Mapping[str, Any]]] = []
    until = 0.0
    timed = all("job_start" in job for job in jobs)
    for job in sorted(jobs, key=lambda job: float(job["job_start"])) if timed else jobs:
        waits = (
            float(job["job_start"]) >= until
            if timed
            else {"stonewall", "wait_for_previous"} & set(job.get("job options", {}))
        )
        if waits or not groups:
            groups.append([])
        groups[-1].append(job)
        if timed:
            until = max(until, float(job["job_start"]) + float(job.get("job_runtime", 0)))
    return groups


def _fio_row(
    reading: Reading, jobs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> LoadRow:
    entries = Counter(str(job.get("jobname", number)) for number, (job, _) in enumerate(jobs))
    throughput = 0.0
    time = 0.0
    users = 0.0
    offered = list[float | None]()
    quantiles: dict[float, float] = {}
    for number, (job, options) in enumerate(jobs):
        copies = _copies(reading, job, options, entries[str(job.get("jobname", number))])
        users += _depth(reading, job, options) * copies
        rates = _rate_limits(options)
        active = [way for way in ("read", "write") if (job.get(way) or {}).get("iops")]
        limits = [rates[way] for way in active]
        offered.append(sum(limits) * copies if all(limits) else 0.0)
        for way in active:
            statistics = job[way]
            latency, unit = _latency(statistics, "lat", "clat")
            throughput += float(statistics["iops"])
            time += float(statistics["iops"]) * float(latency.get("mean", 0.0)) * unit
            if len(jobs) == 1 and len(active) == 1:
                completion, unit = _latency(statistics, "clat")
                shares = completion.get("percentile") or {}
                quantiles = {
                    float(share) / 100: float(latency) * unit
                    for share, latency in shares.items()
                    if float(share) in (50, 90, 95, 99, 99.9)
                }
    rate = sum(rate_of_job or 0.0 for rate_of_job in offered) if all(offered) else None
    return LoadRow(
        1,
        None if rate else users,
        rate,
        throughput or None,
        time / throughput if throughput and time else None,
        quantiles,
    )


def _copies(
    reading: Reading, job: Mapping[str, Any], options: Mapping[str, Any], entries: int
) -> float:
    """Return how many jobs an entry covers: of a group that is reported together it has the options
    of the first alone, and the running times of all.

    Parameters
    ----------
    entries : of this name, one for each copy where they are not reported together
    """
    told = float(options.get("numjobs", 1))
    copies = told / entries if told > 1 else 1.0
    longest = max(float((job.get(way) or {}).get("runtime", 0)) for way in ("read", "write"))
    running = float(job.get("job_runtime", 0)) / longest if longest else 0.0
    if running > copies + 0.5:
        message = (
            f"{short(str(job.get('jobname', '')))} is reported together with others: by their"
            f" running times {running:.0f} jobs ran, which are taken to be like the first"
        )
        reading.odd(1, "numjobs", message)
        return float(round(running))
    return copies


def _depth(reading: Reading, job: Mapping[str, Any], options: Mapping[str, Any]) -> float:
    """Return how many requests of a job were in flight: one where fio saw no more, as with engines
    that wait for each request, whatever depth was asked for.
    """
    depth = float(options.get("iodepth", 1))
    if depth > 1 and float((job.get("iodepth_level") or {}).get("1", 0.0)) >= _ALWAYS:
        message = f"{depth:g} requests in flight were asked for, and never more than one was"
        reading.odd(1, "iodepth", message)
        return 1.0
    return depth


_COUNT = re.compile(
    r"(?P<number>[0-9]++(?:\.[0-9]++)?)(?P<prefix>[kmg]?)(?P<i>i?)b?", re.IGNORECASE
)


def _rate_limits(options: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the limits of a job's rates of reads and of writes [1/s], 0 without a limit.

    One number limits each of the two; of several, the first limits reads and the second writes. A
    prefix means a power of 1024, and with an ``i`` one of 1000, which is the reverse of IEC; the
    option ``kb_base=1000`` exchanges the two.

    Source: HOWTO of fio, parameter types, `kb_base`, `rate` and `rate_iops`.
    """
    limits = []
    for text in str(options.get("rate_iops", "")).split(","):
        if not (match := _COUNT.fullmatch(text.strip() or "0")):
            raise ValueError(f"its option rate_iops has {short(text)!s}, not a number such as 2k")
        thousand = (str(options.get("kb_base", "1024")) == "1000") != bool(match["i"])
        power = " kmg".index(match["prefix"].lower() or " ")
        limits.append(float(match["number"]) * (1000 if thousand else 1024) ** power)
    return dict(zip(("read", "write"), limits * 2 if len(limits) == 1 else limits, strict=False))


def _latency(statistics: Mapping[str, Any], *names: str) -> tuple[Mapping[str, Any], float]:
    """Return the first of these latencies that is there, and its unit [s]: fio 3 counts
    nanoseconds, fio 2 microseconds.
    """
    for name in names:
        for key, unit in ((f"{name}_ns", 1e-9), (name, 1e-6)):
            if latency_statistics := statistics.get(key):
                return latency_statistics, unit
    return {}, 1.0


_TEXT_JOB = re.compile(
    r"(?<!\S)(?P<name>\S+): \(groupid=(?P<group>[0-9]++), jobs=(?P<jobs>[0-9]++)\): err="
)
_SETTINGS = re.compile(r"(?<!\S)(?P<name>\S+): \(g=[0-9]++\): ")
_REQUESTS = re.compile(r"\biodepth=(?P<depth>[0-9]++)")
_WAY = re.compile(
    r"\b(?P<way>read|write|trim)\s*: (?:io=.*\biops=|IOPS=)(?P<iops>[0-9.]+)(?P<k>[kKM]?)\b"
)
_LATENCY = re.compile(
    r"\b(?P<kind>c?lat) \((?P<unit>nsec|usec|msec)\) ?: ?min=.*\bavg="
    r" *(?P<mean>[0-9.]+)(?P<k>[kKM]?)\b"
)
_PERCENTILES = re.compile(r"\b(?P<kind>c?lat) percentiles \((?P<unit>nsec|usec|msec)\):")
_PERCENTILE = re.compile(r"(?<![0-9.])([0-9.]++)th=\[ *+([0-9]++)\]")
_LEVELS = re.compile(r"\bIO depths\s*: 1=(?P<share>[0-9.]+)%")
_DEPTH = re.compile(r"\blatency\s*: target=.*\bdepth=(?P<depth>[0-9]+)")
_NANOSECONDS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}

FIO_TEXT = re.compile(_TEXT_JOB.pattern)
"""What tells the text of fio: the line that begins the results of a job."""


def read_fio_text(reading: Reading) -> Sequence[LoadRow]:
    """Read fio's text output; jobs of one group ran at the same time.

    Raises
    ------
    SpecError : nothing says how many requests are in flight
    """
    depths: dict[str, str] = {}
    groups: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    job: dict[str, Any] = {}
    options: dict[str, Any] = {}
    way: dict[str, Any] = {}
    unit = 1.0
    run = 0
    heads: set[str] = set()
    for text in reading.lines:
        if (settings := _SETTINGS.search(text)) and (
            requests := _REQUESTS.search(text, settings.end())
        ):
            depths[settings["name"]] = requests["depth"]
        elif begin_match := _TEXT_JOB.search(text):
            job = {}
            way = {}
            options = {"numjobs": begin_match["jobs"]}
            if begin_match["name"] in depths:
                options["iodepth"] = depths[begin_match["name"]]
            # A job that stands there already, or follows the sum of its run, is of another run.
            if text in heads or "" in heads:
                run += 1
                heads.clear()
            heads.add(text)
            groups.setdefault(f"{run} {begin_match['group']}", []).append((job, options))
        elif text.lstrip().startswith("Run status group"):
            heads.add("")
        elif way_match := _WAY.search(text):
            way = job[way_match["way"]] = {
                "iops": float(way_match["iops"]) * _PREFIXES[way_match["k"]]
            }
        elif latency := _LATENCY.search(text):
            mean = float(latency["mean"]) * _PREFIXES[latency["k"]]
            way[latency["kind"] + "_ns"] = {"mean": mean * _NANOSECONDS[latency["unit"]]}
        elif percentiles := _PERCENTILES.search(text):
            unit = _NANOSECONDS[percentiles["unit"]]
        elif shares := _PERCENTILE.findall(text):
            if "|" in text:
                clat = way.setdefault("clat_ns", {})
                clat.setdefault("percentile", {}).update(
                    {share: float(value) * unit for share, value in shares}
                )
        elif levels := _LEVELS.search(text):
            job["iodepth_level"] = {"1": levels["share"]}
        elif (depth := _DEPTH.search(text)) and "iodepth" not in options:
            options["iodepth"] = depth["depth"]
    if not _is_told(reading, groups) and any(
        "iodepth" not in options for jobs in groups.values() for _, options in jobs
    ):
        reading.refuse(
            1,
            "",
            "the lines with iodepth= are not in it; keep one group of jobs, and say how many"
            " requests were in flight with --processors N",
        )
    ways = [
        way
        for jobs in groups.values()
        for job, _ in jobs
        for name, way in job.items()
        if name != "iodepth_level"
    ]
    if any("mean" in way.get("clat_ns", {}) and "lat_ns" not in way for way in ways):
        message = (
            "the latency (lat) is missing: that of the completion alone (clat) is taken for it"
        )
        reading.odd(1, "clat", message)
    return [_fio_row(reading, jobs) for jobs in groups.values()]
