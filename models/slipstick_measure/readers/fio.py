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
from slipstick.late import late_pattern
from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.reading import Reading


def read_fio(input_file: Reading) -> Sequence[LoadRow]:
    """Read one row for each group of jobs that run at the same time. The load is the rate limit of
    the jobs if they have one, else the number of requests in flight.
    """
    # fio writes its warnings before the document, and its text behind it if it is asked for both.
    document, _ = json.JSONDecoder().raw_decode(input_file.text, input_file.text.index("{"))
    options = document.get("global options", {})
    jobs = document.get("jobs", [])
    for job in jobs:
        if job.get("error"):
            message = f"{short(str(job.get('jobname', '')))} ended with error {job['error']}"
            input_file.add_note(1, "error", f"{message}, and its requests until then are read")
    if jobs and not options and not any("job options" in job for job in jobs):
        return _read_fio_2(input_file, jobs)
    return [
        _fio_row(input_file, [(job, {**options, **job.get("job options", {})}) for job in group])
        for group in _fio_groups(jobs)
    ]


def _read_fio_2(input_file: Reading, jobs: Sequence[Mapping[str, Any]]) -> Sequence[LoadRow]:
    """Read the JSON of fio 2, one row for each group of jobs that ran at the same time. It has no
    options, so the number of requests in flight is known only where it was always one.
    """
    jobs_by_group: dict[object, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    is_depth_given = _is_depth_given(input_file, {job.get("groupid") for job in jobs})
    for job in jobs:
        is_always_one = (
            float((job.get("iodepth_level") or {}).get("1", 0.0)) >= _LEAST_PERCENT_OF_ALWAYS
        )
        if not is_always_one and not is_depth_given:
            message = (
                f"{job.get('jobname', '')}: this version of fio does not write how many requests"
                " were in flight (iodepth); keep one job and write --processors N, or give its text"
            )
            input_file.refuse(1, "iodepth", message)
        jobs_by_group.setdefault(job.get("groupid"), []).append((job, {}))
    return [_fio_row(input_file, group) for group in jobs_by_group.values()]


def _is_depth_given(input_file: Reading, groups: Collection[object]) -> bool:
    """Return whether the user gives the number of requests in flight, and the file has one group of
    jobs, to which it belongs.
    """
    return input_file.hints.processors is not None and len(groups) == 1


_LEAST_PERCENT_OF_ALWAYS = 99.9
"""Percentage of the time that is as good as all of it."""


def _fio_groups(jobs: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Group jobs that ran at the same time, by their start times; without these, by the options
    that make a job wait for earlier ones.
    """
    groups: list[list[Mapping[str, Any]]] = []
    latest_end = 0.0
    have_start_times = all("job_start" in job for job in jobs)
    for job in sorted(jobs, key=lambda job: float(job["job_start"])) if have_start_times else jobs:
        starts_group = (
            float(job["job_start"]) >= latest_end
            if have_start_times
            else {"stonewall", "wait_for_previous"} & set(job.get("job options", {}))
        )
        if starts_group or not groups:
            groups.append([])
        groups[-1].append(job)
        if have_start_times:
            latest_end = max(latest_end, float(job["job_start"]) + float(job.get("job_runtime", 0)))
    return groups


def _fio_row(
    input_file: Reading, jobs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> LoadRow:
    """Return the row of a group of jobs: their load, throughput, mean latency, and percentiles if
    the group has a single job that only reads or only writes.
    """
    entry_count_by_name = Counter(
        str(job.get("jobname", index)) for index, (job, _) in enumerate(jobs)
    )
    throughput = 0.0
    latency_sum_weighted_by_rate = 0.0
    users = 0.0
    workloads: dict[str, None] = {}
    offered_rates = list[float | None]()
    quantiles: dict[float, float] = {}
    for index, (job, options) in enumerate(jobs):
        job_count = _job_count(
            input_file, job, options, entry_count_by_name[str(job.get("jobname", index))]
        )
        users += _request_count_in_flight(input_file, job, options) * job_count
        limit_by_direction = _rate_limit_by_direction(options)
        active_directions = [
            direction for direction in ("read", "write") if (job.get(direction) or {}).get("iops")
        ]
        block_size = str(options.get("bs", ""))
        workloads[
            f"{options.get('rw') or ' and '.join(active_directions)} {block_size}".strip()
        ] = None
        active_limits = [limit_by_direction[direction] for direction in active_directions]
        offered_rates.append(sum(active_limits) * job_count if all(active_limits) else 0.0)
        for direction in active_directions:
            statistics = job[direction]
            latency, seconds_per_unit = _latency_statistics(statistics, "lat", "clat")
            throughput += float(statistics["iops"])
            latency_sum_weighted_by_rate += (
                float(statistics["iops"]) * float(latency.get("mean", 0.0)) * seconds_per_unit
            )
            if len(jobs) == 1 and len(active_directions) == 1:
                completion_statistics, seconds_per_completion_unit = _latency_statistics(
                    statistics, "clat"
                )
                time_by_percentage = completion_statistics.get("percentile") or {}
                quantiles = {
                    float(percentage) / 100: float(percentile_time) * seconds_per_completion_unit
                    for percentage, percentile_time in time_by_percentage.items()
                    if float(percentage) in (50, 90, 95, 99, 99.9)
                }
    offered_rate = sum(rate or 0.0 for rate in offered_rates) if all(offered_rates) else None
    return LoadRow(
        1,
        None if offered_rate else users,
        offered_rate,
        throughput or None,
        latency_sum_weighted_by_rate / throughput
        if throughput and latency_sum_weighted_by_rate
        else None,
        quantiles,
        workload=", ".join(workloads),
    )


def _job_count(
    input_file: Reading, job: Mapping[str, Any], options: Mapping[str, Any], entry_count: int
) -> float:
    """Return the number of jobs that an entry of the file covers. A group that is reported together
    has the options of the first job alone, and the running times of all jobs.

    Parameters
    ----------
    entry_count : of this name, one for each copy where they are not reported together
    """
    option_job_count = float(options.get("numjobs", 1))
    job_count = option_job_count / entry_count if option_job_count > 1 else 1.0
    longest_runtime = max(
        float((job.get(direction) or {}).get("runtime", 0)) for direction in ("read", "write")
    )
    running_jobs = float(job.get("job_runtime", 0)) / longest_runtime if longest_runtime else 0.0
    if running_jobs > job_count + 0.5:
        message = (
            f"{short(str(job.get('jobname', '')))} is reported together with others: by their"
            f" running times {running_jobs:.0f} jobs ran, which are assumed to be like the first"
        )
        input_file.add_note(1, "numjobs", message)
        return float(round(running_jobs))
    return job_count


def _request_count_in_flight(
    input_file: Reading, job: Mapping[str, Any], options: Mapping[str, Any]
) -> float:
    """Return the number of requests of a job that were in flight: its option; 1 if fio saw no more,
    as with engines that wait for each request.
    """
    depth = float(options.get("iodepth", 1))
    if (
        depth > 1
        and float((job.get("iodepth_level") or {}).get("1", 0.0)) >= _LEAST_PERCENT_OF_ALWAYS
    ):
        message = f"{depth:g} requests in flight were requested, but there was never more than one"
        input_file.add_note(1, "iodepth", message)
        return 1.0
    return depth


_COUNT = late_pattern(
    r"(?P<number>[0-9]++(?:\.[0-9]++)?)(?P<prefix>[kmg]?)(?P<i>i?)b?", re.IGNORECASE
)


def _rate_limit_by_direction(options: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the limits of a job's rates of reads and of writes [1/s], 0 without a limit.

    One number limits each of the two; of several, the first limits reads and the second writes. A
    prefix means a power of 1024, and with an ``i`` one of 1000, which is the reverse of IEC; the
    option ``kb_base=1000`` exchanges the two.

    Source: HOWTO of fio, parameter types, `kb_base`, `rate` and `rate_iops`.
    """
    rate_limits = []
    for text in str(options.get("rate_iops", "")).split(","):
        if not (match := _COUNT.fullmatch(text.strip() or "0")):
            raise ValueError(f"its option rate_iops has {short(text)!s}, not a number such as 2k")
        is_decimal = (str(options.get("kb_base", "1024")) == "1000") != bool(match["i"])
        power = " kmg".index(match["prefix"].lower() or " ")
        rate_limits.append(float(match["number"]) * (1000 if is_decimal else 1024) ** power)
    return dict(
        zip(
            ("read", "write"),
            rate_limits * 2 if len(rate_limits) == 1 else rate_limits,
            strict=False,
        )
    )


def _latency_statistics(
    statistics: Mapping[str, Any], *latency_names: str
) -> tuple[Mapping[str, Any], float]:
    """Return the statistics of the first of the named latencies that is reported, and their unit
    [s]: fio 3 counts nanoseconds, fio 2 microseconds.
    """
    for name in latency_names:
        for key, seconds_per_unit in ((f"{name}_ns", 1e-9), (name, 1e-6)):
            if latency_statistics := statistics.get(key):
                return latency_statistics, seconds_per_unit
    return {}, 1.0


_TEXT_JOB = late_pattern(
    r"(?<!\S)(?P<name>\S+): \(groupid=(?P<group>[0-9]++), jobs=(?P<jobs>[0-9]++)\): err="
)
_JOB_SETTINGS = late_pattern(r"(?<!\S)(?P<name>\S+): \(g=[0-9]++\): ")
_DEPTH_OPTION = late_pattern(r"\biodepth=(?P<depth>[0-9]++)")
_WORKLOAD = late_pattern(r"\brw=(?P<rw>\w++), bs=(?:\(R\) )?(?P<block>[0-9.]++\w*+)")
_DIRECTION = late_pattern(
    r"\b(?P<direction>read|write|trim)\s*: (?:io=.*\biops=|IOPS=)(?P<iops>[0-9.]+)(?P<k>[kKM]?)\b"
)
_RUNTIME = late_pattern(r"[/=] ?(?P<milliseconds>[0-9]++)msec\b")
_ISSUED = late_pattern(
    r"\bissued *+(?:rwts?)?+ *+: ?total=(?:r=)?(?P<read>[0-9]++)(?:/w=|,)(?P<write>[0-9]++)"
)
_LATENCY = late_pattern(
    r"\b(?P<kind>c?lat) \((?P<unit>nsec|usec|msec)\) ?: ?min=.*\bavg="
    r" *(?P<mean>[0-9.]+)(?P<k>[kKM]?)\b"
)
_PERCENTILES = late_pattern(r"\b(?P<kind>c?lat) percentiles \((?P<unit>nsec|usec|msec)\):")
_PERCENTILE = late_pattern(r"(?<![0-9.])([0-9.]++)th=\[ *+([0-9]++)\]")
_DEPTH_SHARE = late_pattern(r"\bIO depths\s*: 1=(?P<share>[0-9.]+)%")
_DEPTH = late_pattern(r"\blatency\s*: target=.*\bdepth=(?P<depth>[0-9]+)")
_NANOSECONDS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}

FIO_TEXT = late_pattern(_TEXT_JOB.pattern)
"""What tells the text of fio: the line that begins the results of a job."""


def read_fio_text(input_file: Reading) -> Sequence[LoadRow]:
    """Read fio's text output; jobs of one group ran at the same time.

    Raises
    ------
    SpecError : nothing says how many requests are in flight
    """
    jobs = _TextJobs()
    for text in input_file.lines:
        jobs.read_line(text)
    _check_text_groups(input_file, jobs.jobs_by_group)
    return [_fio_row(input_file, group) for group in jobs.jobs_by_group.values()]


class _TextJobs:
    """The jobs of fio's text output, line by line.

    Attributes
    ----------
    jobs_by_group : by run and group, the statistics and the options of each job, with the keys
        of fio's JSON
    """

    def __init__(self) -> None:
        self.jobs_by_group: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        self._settings_by_job: dict[str, dict[str, str]] = {}
        self._job: dict[str, Any] = {}
        self._options: dict[str, Any] = {}
        self._statistics_of_direction: dict[str, Any] = {}
        self._nanoseconds_per_unit = 1.0
        self._run_index = 0
        self._lines_of_run: set[str] = set()

    def read_line(self, text: str) -> None:
        """Read one line; a line without statistics is skipped."""
        if (settings_match := _JOB_SETTINGS.search(text)) and (
            depth_match := _DEPTH_OPTION.search(text, settings_match.end())
        ):
            settings = self._settings_by_job[settings_match["name"]] = {
                "iodepth": depth_match["depth"]
            }
            if workload_match := _WORKLOAD.search(text, settings_match.end()):
                settings |= {"rw": workload_match["rw"], "bs": workload_match["block"]}
        elif begin_match := _TEXT_JOB.search(text):
            self._begin_job(text, begin_match)
        elif text.lstrip().startswith("Run status group"):
            self._lines_of_run.add("")
        elif direction_match := _DIRECTION.search(text):
            self._begin_direction(text, direction_match)
        elif not self._read_latency(text):
            self._read_requests(text)

    def _begin_job(self, text: str, begin_match: re.Match[str]) -> None:
        """Begin a job, either of the current run or of a new one."""
        self._job, self._statistics_of_direction = {}, {}
        job_settings = self._settings_by_job.get(begin_match["name"], {})
        self._options = {"numjobs": begin_match["jobs"]} | job_settings
        # A job that stands there already, or follows the sum of its run, is of another run.
        if text in self._lines_of_run or "" in self._lines_of_run:
            self._run_index += 1
            self._lines_of_run.clear()
        self._lines_of_run.add(text)
        group_name = f"{self._run_index} {begin_match['group']}"
        self.jobs_by_group.setdefault(group_name, []).append((self._job, self._options))

    def _begin_direction(self, text: str, direction_match: re.Match[str]) -> None:
        """Begin the statistics of reads, writes or trims of the job."""
        prefix_factor = _PREFIXES[direction_match["k"]]
        self._statistics_of_direction = self._job[direction_match["direction"]] = {
            "iops": float(direction_match["iops"]) * prefix_factor,
            "last digit": _last_digit_value(direction_match["iops"]) * prefix_factor,
        }
        if runtime_match := _RUNTIME.search(text, direction_match.end()):
            self._statistics_of_direction["runtime"] = runtime_match["milliseconds"]

    def _read_requests(self, text: str) -> None:
        """Read the number of requests in flight, or the total number, whichever the line states."""
        if share_match := _DEPTH_SHARE.search(text):
            self._job["iodepth_level"] = {"1": share_match["share"]}
        elif issued_match := _ISSUED.search(text):
            _restore_digits(self._job, issued_match.groupdict())
        elif depth_match := _DEPTH.search(text):
            self._options.setdefault("iodepth", depth_match["depth"])

    def _read_latency(self, text: str) -> bool:
        """Read a mean latency, or quantiles of it; return whether the line has one of them."""
        if latency_match := _LATENCY.search(text):
            mean_nanoseconds = (
                float(latency_match["mean"])
                * _PREFIXES[latency_match["k"]]
                * _NANOSECONDS[latency_match["unit"]]
            )
            self._statistics_of_direction[latency_match["kind"] + "_ns"] = {
                "mean": mean_nanoseconds
            }
        elif unit_match := _PERCENTILES.search(text):
            self._nanoseconds_per_unit = _NANOSECONDS[unit_match["unit"]]
        elif percentages_and_times := _PERCENTILE.findall(text):
            if "|" in text:
                completion_statistics = self._statistics_of_direction.setdefault("clat_ns", {})
                completion_statistics.setdefault("percentile", {}).update(
                    {
                        percentage: float(value) * self._nanoseconds_per_unit
                        for percentage, value in percentages_and_times
                    }
                )
        else:
            return False
        return True


def _last_digit_value(number: str) -> float:
    """Return the value of the last digit of a decimal number, such as 0.1 for 20.4."""
    return 10.0 ** -len(number.partition(".")[2])


def _restore_digits(job: Mapping[str, Any], request_counts: Mapping[str, str]) -> None:
    """Replace rates by requests over running time, if they agree in all printed digits: fio cuts a
    rate to whole numbers, which is up to 8 % of 12 requests a second.

    Assumption: all requests of a direction ended within its running time. The printed digits are
    the check; jobs that are reported together with others may fail it, and keep them.
    """
    for direction, count_text in request_counts.items():
        statistics = job.get(direction, {})
        milliseconds = float(statistics.pop("runtime", 0))
        last_digit = float(statistics.pop("last digit", 0))
        if milliseconds:
            exact_rate = float(count_text) / milliseconds * 1e3
            if abs(exact_rate - statistics["iops"]) < last_digit:
                statistics["iops"] = exact_rate


def _check_text_groups(
    input_file: Reading,
    jobs_by_group: Mapping[str, Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]],
) -> None:
    """Raise if the number of requests in flight of a job is unknown; note where only the completion
    latency (clat) is printed.
    """
    jobs_and_options = [
        job_and_options for group in jobs_by_group.values() for job_and_options in group
    ]
    if not _is_depth_given(input_file, jobs_by_group) and any(
        "iodepth" not in options for _, options in jobs_and_options
    ):
        input_file.refuse(
            1,
            "",
            "the lines with iodepth= are not in it; keep one group of jobs, and say how many"
            " requests were in flight with --processors N",
        )
    all_statistics = [
        statistics
        for job, _ in jobs_and_options
        for name, statistics in job.items()
        if name != "iodepth_level"
    ]
    if any(
        "mean" in statistics.get("clat_ns", {}) and "lat_ns" not in statistics
        for statistics in all_statistics
    ):
        message = (
            "the latency (lat) is missing: that of the completion alone (clat) is used instead"
        )
        input_file.add_note(1, "clat", message)
