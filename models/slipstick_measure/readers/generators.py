"""Summaries of further load generators: siege, redis-benchmark, memtier, YCSB, Artillery,
autocannon and h2load.

Each prints one test, or several of them. The users are the connections, clients or threads, times
the requests that each keeps under way where the output or the command says that; YCSB with a
target and Artillery send at a rate. Tests of different commands are no curve over the load, and are
refused.

Formats: siege 3 to 4.1 (text, and its JSON); redis-benchmark 2.8 to 7; memtier_benchmark 1.2 to
2.1; YCSB 0.12 to 0.17; Artillery 1.6 and 2.0; autocannon 4 to 8; h2load of nghttp2 1.8 to 1.64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.load_patterns import (
    SECONDS,
    LoadFormat,
    first_match,
    line_pattern,
    number_of_match,
    parse_quantiles,
    parse_time,
)
from slipstick_measure.readers.reading import Reading

_GAP = late_pattern(r"\s{2,}|\t+")
_BAR = late_pattern(r"[│|]")
_MARK = "[>\\s]*+"
"""What stands before a line that is pasted as a quotation."""


def _siege_number(label: str, text: str) -> float | None:
    """Return a number of siege's summary, in its text or its JSON."""
    json_key = label.casefold().replace(" ", "_")
    return number_of_match(first_match(rf'(?:^{_MARK}{label}|"{json_key}"):\s*([0-9.]+)', text))


def _read_siege(input_file: Reading) -> LoadRow:
    """Read a summary of siege. Its response time has two decimals, so the mean is taken from the
    mean number of requests under way, which it prints as concurrency, over their rate.
    """
    text = input_file.text
    rate = _siege_number("Transaction rate", text)
    requests_under_way = _siege_number("Concurrency", text)
    preparing_match = first_match(r"Preparing ([0-9]+) concurrent users", text)
    users_match = preparing_match or _match_of_option(
        text, r"\bsiege", "-c|--concurrent", "ransaction"
    )
    failed_count = _siege_number("Failed transactions", text) or 0.0
    completed_count = _siege_number("Transactions", text) or 0.0
    if failed_count:
        message = (
            f"{failed_count:g} requests failed beside {completed_count:g} that are counted"
            " in the rate"
        )
        input_file.add_note(1, "Failed transactions", message)
    return LoadRow(
        1,
        users=number_of_match(users_match),
        throughput=rate,
        response=requests_under_way / rate if requests_under_way and rate else None,
    )


def _match_of_option(
    text: str, command_pattern: str, option_pattern: str, begin_of_results: str
) -> re.Match[str] | None:
    """Return the match of an option of a command and its number, which is group 1. The command
    stands before the results: one behind them may be that of the next run.
    """
    text_before, _, _ = text.partition(begin_of_results)
    return first_match(
        rf"{command_pattern}(?=\s).{{0,400}}?\s(?:{option_pattern})[ =]*+([0-9]+)", text_before
    )


def _is_rate_limited(input_file: Reading, rate: float | None) -> bool:
    """Return whether the command of a test limits its rate, and note that: its clients then wait,
    and their number is no load.
    """
    if rate:
        message = "its command limits the rate at which requests are sent, so that is the load"
        input_file.add_note(1, "", message)
    return bool(rate)


_REDIS_TEST = r"====== (?P<name>.{1,80}?) ======\s*$"
_REDIS_QUIET = late_pattern(
    r"^[ \t]*(?P<name>(?=\w)(?!.*summary:).{1,201}?): (?P<rate>[0-9.]+) requests per second"
    r"(?:, p50=(?P<median>[0-9.]+) msec)?[ \t]*$",
    re.MULTILINE,
)


_REDIS_COMMAND = r".{0,80}\b(?:redis|valkey)-benchmark\s+-.*"


def _load_of_redis(input_file: Reading, clients: float | None, begin_of_results: str) -> LoadRow:
    """Return the load of a test of redis-benchmark without results: its clients, times the requests
    that each sends ahead (-P), or its rate. Only its command tells the last two.
    """
    requests_ahead, rate = (
        number_of_match(
            _match_of_option(
                input_file.text, r"\b(?:redis|valkey)-benchmark", option, begin_of_results
            )
        )
        for option in ("-P", "--rps")
    )
    if _is_rate_limited(input_file, rate):
        return LoadRow(1, rate=rate)
    return LoadRow(1, users=clients * (requests_ahead or 1.0) if clients else None)


def _read_redis(input_file: Reading) -> LoadRow:
    """Read a test of redis-benchmark. Before version 6 it prints no mean."""
    text = input_file.text
    clients = number_of_match(first_match(r"^[ \t]*([0-9]+) parallel clients", text))
    mean_match = first_match(r"^[ \t]*avg +min +p50.*\n[ \t]*([0-9.]+)", text)
    values_match = first_match(
        r"^[ \t]*avg +min +p50 +p95 +p99 +max\s*\n[ \t]*[0-9.]+ +[0-9.]+ +([0-9. ]+)", text
    )
    median_and_percentiles = (
        [float(value) for value in values_match[1].split()] if values_match else []
    )
    quantiles = dict(
        zip((0.5, 0.95, 0.99), (value * 1e-3 for value in median_and_percentiles), strict=False)
    )
    return replace(
        _load_of_redis(input_file, clients, "requests completed"),
        throughput=number_of_match(
            first_match(r"^[ \t]*(?:throughput summary: )?([0-9.]+) requests per second", text)
        ),
        response=number_of_match(mean_match, 1e-3),
        quantiles=quantiles or parse_quantiles(text, r"^[ \t]*([0-9.]+)% <= ([0-9.]+) mill", 1e-3),
    )


def _read_redis_quiet(input_file: Reading) -> LoadRow:
    """Read a line of redis-benchmark -q."""
    line_match, *_ = _REDIS_QUIET.finditer(input_file.text)  # by which the test is recognized
    begin_of_results = "requests per second"
    clients = number_of_match(
        _match_of_option(input_file.text, r"\b(?:redis|valkey)-benchmark", "-c", begin_of_results)
    )
    return replace(
        _load_of_redis(input_file, clients, begin_of_results),
        throughput=float(line_match["rate"]),
        quantiles={0.5: float(line_match["median"]) * 1e-3} if line_match["median"] else {},
    )


def refuse_several_tests(input_file: Reading, command_names: Sequence[str]) -> None:
    """Raise if tests are of different commands, which are no curve over the load."""
    different_names = list(dict.fromkeys(command_names))
    if len(different_names) > 1:
        message = (
            f"the tests are of different commands ({short(different_names[0])},"
            f" {short(different_names[1])}{', ...' * (len(different_names) > 2)}), so they are no"
            " curve over the load; keep those of one"
        )
        input_file.refuse(1, "", message)


def _cell_by_heading(heading: str, row: str) -> dict[str, str]:
    """Return the cells of a row of a printed table by its headings; raise ValueError if their
    numbers differ.
    """
    separator = _BAR if _BAR.search(heading) else _GAP
    headings, cells = (
        [cell.strip() for cell in separator.split(line.strip(" \t│|"))] for line in (heading, row)
    )
    return dict(zip(headings, cells, strict=True))


_MEMTIER_HEADING = r"^[ \t]*Type +Ops/sec.*$"
_PERCENTILE = late_pattern(r"p([0-9]{1,2}(?:\.[0-9]+)?) Latency")


def _read_memtier(input_file: Reading) -> LoadRow:
    """Read the totals of memtier; of several runs, the averages. The users are its connections,
    times the requests that each sends ahead (--pipeline), which only the command tells, as it does
    a limit of the rate of each connection.
    """
    text = input_file.text
    _, average_heading, text_behind = text.partition("AGGREGATED AVERAGE RESULTS")
    heading_match = first_match(_MEMTIER_HEADING, text_behind if average_heading else text)
    totals_match = first_match(r"^[ \t]*Totals\s.*$", text_behind if average_heading else text)
    if heading_match is None or totals_match is None:
        raise ValueError("its row of totals is missing; is the output cut?")
    cell_by_heading = _cell_by_heading(heading_match[0], totals_match[0])
    thread_count = number_of_match(first_match(r"^[ \t]*([0-9]+) +Threads\b", text))
    connections_per_thread = number_of_match(
        first_match(r"^[ \t]*([0-9]+) +Connections per thread", text)
    )
    mean_text = cell_by_heading.get("Avg. Latency", cell_by_heading.get("Latency", "---"))
    requests_ahead, rate_of_connection = (
        number_of_match(_match_of_option(text, r"\bmemtier_benchmark", option, "Ops/sec"))
        for option in ("--pipeline", "--rate-limiting")
    )
    client_count = (
        thread_count * connections_per_thread if thread_count and connections_per_thread else None
    )
    is_rate_limited = _is_rate_limited(input_file, rate_of_connection)
    return LoadRow(
        1,
        users=None
        if is_rate_limited or not client_count
        else client_count * (requests_ahead or 1.0),
        rate=rate_of_connection * client_count
        if is_rate_limited and rate_of_connection and client_count
        else None,
        throughput=float(cell_by_heading["Ops/sec"]),
        response=None if mean_text == "---" else float(mean_text) * 1e-3,
        quantiles={
            float(match[1]) / 100: float(cell) * 1e-3
            for name, cell in cell_by_heading.items()
            if (match := _PERCENTILE.fullmatch(name)) and cell != "---"
        },
    )


_YCSB_VALUE = late_pattern(
    r"^[ \t]*\[(?P<operation>[A-Z][A-Z-]*)\], (?P<name>\w+)(?:\((?P<unit>[a-z/]+)\))?,"
    r" (?P<value>[0-9.]+(?:E-?[0-9]+)?)[ \t]*$",
    re.MULTILINE,
)
_YCSB_COMMAND = r"(?:Command line:|bin/ycsb\S* (?:run|load))"
_YCSB_TWO_IN_ONE = "READ-MODIFY-WRITE"
_YCSB_NO_OPERATIONS = ("OVERALL", "CLEANUP")


def _read_ycsb(input_file: Reading) -> LoadRow:
    """Read a summary of YCSB: the mean over its operations, and percentiles if there is only one.
    Its threads, one by default, and its target are in its command alone.
    """
    text = input_file.text
    values_by_operation: dict[str, dict[str, float]] = {}
    for match in _YCSB_VALUE.finditer(text):
        seconds = SECONDS[match["unit"]] if "Latency" in match["name"] else 1.0
        values_by_operation.setdefault(match["operation"], {})[match["name"]] = (
            float(match["value"]) * seconds
        )
    values_of_operations = _values_of_completed_operations(input_file, values_by_operation)
    operation_count = sum(
        value_by_statistic["Operations"] for value_by_statistic in values_of_operations
    )
    total_time = sum(
        value_by_statistic["Operations"] * value_by_statistic.get("AverageLatency", 0.0)
        for value_by_statistic in values_of_operations
    )
    if not all(
        "AverageLatency" in value_by_statistic for value_by_statistic in values_of_operations
    ):
        input_file.add_note(1, "AverageLatency", "is no number, so no mean time is taken")
        total_time = 0.0
    if len(values_of_operations) > 1:
        message = "percentiles of several operations cannot be put together, so they are left out"
        input_file.add_note(1, "", message)
    text_before, _, _ = text.partition("[OVERALL]")
    command_match = re.search(_YCSB_COMMAND, text_before)
    threads_match = _match_of_option(text, _YCSB_COMMAND, "-threads?|-p threadcount", "[OVERALL]")
    target_rate = number_of_match(
        _match_of_option(text, _YCSB_COMMAND, "-target|-p target", "[OVERALL]")
    )
    if command_match and not threads_match and not target_rate:
        message = "its command has no -threads: one is assumed, the default of YCSB"
        input_file.add_note(1, "", message)
    throughput = values_by_operation.get("OVERALL", {}).get("Throughput")
    return LoadRow(
        1,
        users=None
        if target_rate or not command_match
        else number_of_match(threads_match) or (1.0 if threads_match is None else None),
        rate=target_rate or None,
        throughput=throughput,
        response=total_time / operation_count if operation_count and total_time else None,
        quantiles={
            float(percentile_match[1]) / 100: value
            for name, value in (
                values_of_operations[0] if len(values_of_operations) == 1 else {}
            ).items()
            if (percentile_match := re.fullmatch(r"([0-9]{2})thPercentileLatency", name))
        },
    )


def _values_of_completed_operations(
    input_file: Reading, values_by_operation: Mapping[str, Mapping[str, float]]
) -> list[Mapping[str, float]]:
    """Return the values of the operations of YCSB that did not fail, and note those that failed;
    none if an operation counts others again.
    """
    values_by_failed_operation = {
        operation: value_by_statistic
        for operation, value_by_statistic in values_by_operation.items()
        if operation.endswith("-FAILED")
    }
    for operation, value_by_statistic in values_by_failed_operation.items():
        failed_count = value_by_statistic.get("Operations", 0.0)
        message = f"{failed_count:g} operations failed, and are left out of the times"
        input_file.add_note(1, operation, message)
    if _YCSB_TWO_IN_ONE in values_by_operation:
        message = "counts its reads and updates again, so no mean time is taken"
        input_file.add_note(1, _YCSB_TWO_IN_ONE, message)
        return []
    return [
        value_by_statistic
        for operation, value_by_statistic in values_by_operation.items()
        if operation not in _YCSB_NO_OPERATIONS
        and operation not in values_by_failed_operation
        and value_by_statistic.get("Operations")
    ]


_ARTILLERY_REPORT = line_pattern(
    r"(?:(?P<summary>Summary report) @|Metrics for period to:|Report @|Report for the previous)"
)
_ARTILLERY_FAILURES = line_pattern(
    r"(?:errors\.\S+: ?\.*|vusers\.failed: ?\.*|http\.codes\.[45][0-9]{2}: ?\.*|[45][0-9]{2}:)"
    r" +[1-9].*"
)


def _artillery_report(input_file: Reading) -> str:
    """Return the summary of Artillery, without the reports of periods before it and of the run
    behind it; of an output that is cut before its summary, the last report.
    """
    text = input_file.text
    report_matches = list(_ARTILLERY_REPORT.finditer(text))
    report_ends = [*(report_match.start() for report_match in report_matches[1:]), len(text)]
    for report_match, report_end in zip(report_matches, report_ends, strict=True):
        if report_match["summary"]:
            return text[report_match.start() : report_end]
    if not report_matches:
        return text
    message = "the output is cut before its summary: its last period is used"
    input_file.add_note(1, "", message)
    return text[report_matches[-1].start() :]


def _read_artillery(input_file: Reading) -> LoadRow:
    """Read a summary of Artillery, whose users arrive at a rate. Version 1 prints no mean."""
    text = _artillery_report(input_file)
    for failure_match in _ARTILLERY_FAILURES.finditer(text):
        failure_line = " ".join(failure_match[0].split())[:200]
        message = f"requests failed, and are counted in the rate and the times: {failure_line}"
        input_file.add_note(1, "", message)
    times_text = text[max(text.rfind("http.response_time:"), 0) :]
    rate = number_of_match(
        first_match(
            r"^[ \t]*(?:http\.request_rate: ?\.*|Mean response/sec:|RPS sent:) +([0-9.]+)", text
        )
    )
    quantiles = {
        share: float(match[1]) * 1e-3
        for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99))
        if (match := first_match(rf"^[ \t]*{name}:[ .]+([0-9][0-9.]*)", times_text))
    }
    mean_match = first_match(r"^[ \t]*mean:[ .]+([0-9][0-9.]*)", times_text)
    message = "the mean rate over the whole run is used as the rate at which requests are sent"
    input_file.add_note(1, "", message)
    return LoadRow(
        1,
        rate=rate,
        throughput=rate,
        response=number_of_match(mean_match, 1e-3),
        quantiles=quantiles,
    )


def _read_autocannon(input_file: Reading) -> LoadRow:
    """Read the tables of autocannon. The users are the connections, times the requests that each
    sends ahead (pipelining).
    """
    text = input_file.text
    latency_by_statistic = _autocannon_cell_by_heading("Latency", text)
    rate_by_statistic = _autocannon_cell_by_heading("Req/Sec", text)
    connections = number_of_match(first_match(r"^[ \t]*([0-9]+) connections", text))
    rate, rate_of_connection = (
        number_of_match(_match_of_option(text, r"\bautocannon", option, "connections"))
        for option in ("-R|--overallRate", "-r|--connectionRate")
    )
    rate = rate or (
        rate_of_connection * connections if rate_of_connection and connections else None
    )
    is_rate_limited = _is_rate_limited(input_file, rate)
    pipeline_depth = number_of_match(first_match(r"with ([0-9]+) pipelining factor", text))
    return LoadRow(
        1,
        users=None if is_rate_limited or not connections else connections * (pipeline_depth or 1.0),
        rate=rate,
        throughput=float(rate_by_statistic.get("Avg", "0").replace(",", "")),
        response=parse_time(latency_by_statistic.get("Avg", "").replace(",", "")),
        quantiles={
            float(name.removesuffix("%")) / 100: time
            for name, cell in latency_by_statistic.items()
            if name.endswith("%") and (time := parse_time(cell.replace(",", ""))) is not None
        },
    )


def _autocannon_cell_by_heading(name: str, text: str) -> Mapping[str, str]:
    """Return the cells of a row of autocannon by the headings of its table; empty if it is
    missing.
    """
    heading = ""
    for line in text.splitlines():
        if re.match(r"[\s│|]*Stat\b", line):
            heading = line
        elif heading and re.match(rf"[\s│|]*{name}\b", line):
            return _cell_by_heading(heading, line)
    return {}


def _read_h2load(input_file: Reading) -> LoadRow:
    """Read a summary of h2load. The users are its clients, times the streams of each, which are in
    the command alone (-m), as are limits of the rate of requests or of new clients.
    """
    text = input_file.text
    heading_match = first_match(r"^[ \t]+min +max .*$", text)
    row_match = first_match(r"^[ \t]*time for request: +(.*)$", text)
    time_by_statistic = (
        _cell_by_heading(heading_match[0], row_match[1]) if heading_match and row_match else {}
    )
    clients_of_threads = [
        float(count) for count in re.findall(r"thread #[0-9]+: ([0-9]+) total client", text)
    ]
    streams_of_client, rate_of_client, rate_of_clients = (
        number_of_match(_match_of_option(text, r"\bh2load", option, "finished in"))
        for option in ("-m|--max-concurrent-streams", "--rps", "-r|--rate")
    )
    is_rate_limited = _is_rate_limited(input_file, rate_of_client)
    if not re.search(r"\bh2load\s", text.partition("finished in")[0]):
        message = "its command (-m) is not in the file, so one request of each client is assumed"
        input_file.add_note(1, "", message)
    return LoadRow(
        1,
        users=None
        if is_rate_limited or not clients_of_threads
        else sum(clients_of_threads) * (streams_of_client or 1.0),
        rate=sum(clients_of_threads) * rate_of_client
        if is_rate_limited and rate_of_client
        else None,
        throughput=number_of_match(first_match(r"^[ \t]*finished in \S+, ([0-9.]+) req/s", text)),
        response=parse_time(time_by_statistic.get("mean", "")),
        unsteady="its clients begin at a rate (-r)" if rate_of_clients else "",
    )


FURTHER_GENERATORS: Mapping[str, LoadFormat] = {
    "siege": LoadFormat(
        late_pattern(rf'^{_MARK}Transaction rate:|"transaction_rate":', re.MULTILINE),
        _read_siege,
        header_pattern=line_pattern(r".{0,20}Preparing [0-9]+ concurrent users"),
        unique_line_patterns=(late_pattern(rf"^{_MARK}Transactions:", re.MULTILINE),),
        end_pattern=late_pattern(rf"^{_MARK}Transaction rate:", re.MULTILINE),
    ),
    "redis-benchmark": LoadFormat(
        line_pattern(r"[0-9]+ requests completed in [0-9.]+ seconds"),
        _read_redis,
        line_pattern(_REDIS_TEST),
        header_pattern=line_pattern(_REDIS_COMMAND),
        loop_pattern=line_pattern(_REDIS_COMMAND),
        unique_line_patterns=(
            line_pattern(_REDIS_TEST),
            line_pattern(r"[0-9]+ requests completed in"),
        ),
        command_pattern=line_pattern(_REDIS_TEST),
    ),
    "redis-benchmark-quiet": LoadFormat(
        _REDIS_QUIET,
        _read_redis_quiet,
        header_pattern=line_pattern(_REDIS_COMMAND),
        unique_line_patterns=(_REDIS_QUIET,),
        command_pattern=_REDIS_QUIET,
    ),
    "memtier": LoadFormat(
        line_pattern(r"Type +Ops/sec +Hits/sec"),
        _read_memtier,
        line_pattern(r"[0-9]+ +Threads *$"),
        header_pattern=line_pattern(r".{0,80}\bmemtier_benchmark\s+-.*"),
        loop_pattern=line_pattern(r".{0,80}\bmemtier_benchmark\s+-.*"),
        unique_line_patterns=(line_pattern(r"[0-9]+ +Threads *$"), line_pattern("ALL STATS")),
    ),
    "ycsb": LoadFormat(
        line_pattern(r"\[OVERALL\], Throughput\(ops/sec\),"),
        _read_ycsb,
        line_pattern(r"\[OVERALL\], RunTime\(ms\),"),
        header_pattern=line_pattern(
            r".{0,200}(?:bin/ycsb\S* (?:run|load) .*(?:(?:\n.*){0,3}?\nCommand line:)?"
            r"|Command line:)"
        ),
    ),
    "artillery": LoadFormat(
        line_pattern(
            r"(?:http\.response_time:|Mean response/sec:|RPS sent: [0-9.]+\s*\n\s*Request latency:)"
        ),
        _read_artillery,
        line_pattern(r"All (?:VUs|virtual users) finished"),
        unique_line_patterns=(line_pattern("Summary report @"),),
    ),
    "autocannon": LoadFormat(
        late_pattern(r"^[ \t]*[│|] *Stat *[│|] *1%", re.MULTILINE),
        _read_autocannon,
        line_pattern(r"Running .* test @"),
        line_pattern(
            r"[0-9.]+k? errors \([0-9]+k? timeouts\)|[0-9]+ 2xx responses, [1-9][0-9]* non 2xx.*"
        ),
        header_pattern=line_pattern(r".{0,80}\bautocannon\s.*-.*"),
        loop_pattern=line_pattern(r".{0,80}\bautocannon\s.*-.*"),
        unique_line_patterns=(
            line_pattern(r"Running .* test @"),
            late_pattern(r"^[ \t]*[│|] *Stat *[│|] *1%", re.MULTILINE),
        ),
    ),
    "h2load": LoadFormat(
        line_pattern(r"finished in \S+, [0-9.]+ req/s"),
        _read_h2load,
        line_pattern("starting benchmark"),
        header_pattern=line_pattern(r".{0,80}\bh2load\s.*-.*"),
        loop_pattern=line_pattern(r".{0,80}\bh2load\s.*-.*"),
        unique_line_patterns=(line_pattern("starting benchmark"),),
        failure_pattern=line_pattern(r"requests: .* [1-9][0-9]* (?:failed|errored|timeout).*"),
    ),
}
"""Further outputs of load generators by name."""
