"""Load tests: demands by the utilization law, think times by Little's law, and the network."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import SpecError, UnknownNameError
from slipstick_measure.commands.measured import servers_of
from slipstick_measure.fit.loads import _likely_stations
from slipstick_measure.formats import LOAD_FORMATS, load_test, read
from slipstick_measure.imports.loads import _ComputedTime, load_spec
from slipstick_measure.loads import (
    LoadRow,
    LoadTest,
    demands,
    response_time_beside_tiers,
    think_time,
)
from slipstick_measure.measurements import Hints
from slipstick_measure.report.loads import load_text


def closed_by_hand(users: int, demand: tuple[float, ...], think: float) -> tuple[float, float]:
    """Return the throughput and the response time of a closed network by mean value analysis."""
    present = [0.0] * len(demand)
    throughput = response = 0.0
    for number in range(1, users + 1):
        times = [own * (1 + queue) for own, queue in zip(demand, present, strict=True)]
        response = sum(times)
        throughput = number / (think + response)
        present = [throughput * time for time in times]
    return throughput, response


@pytest.mark.turns(4)
@given(st.floats(1e-4, 0.1), st.floats(1e-4, 0.1), st.floats(0.1, 10.0))
def test_demands_and_think_time_of_a_known_network_are_found(
    web: float, db: float, think: float
) -> None:
    rows = []
    for users in (1, 5, 40):
        throughput, response = closed_by_hand(users, (web, db), think)
        busy = {"web": throughput * web, "db": throughput * db}
        rows.append(LoadRow(1, users, None, throughput, response, {}, busy))
    test = LoadTest("f", tuple(rows))
    assert {each.tier: each.value for each in demands(test)} == pytest.approx(
        {"web": web, "db": db}
    )
    assert all(each.largest_residual == 0 for each in demands(test))
    assert think_time(test) == pytest.approx(think, rel=1e-6, abs=1e-9)


def test_an_arriving_request_of_two_users_sees_half_of_the_utilization() -> None:
    """The tier takes 0.1 / (1 - 0.5 / 2) s of the 0.2 s of a response."""
    test = LoadTest("f", (LoadRow(1, 2, None, 5.0, 0.2, {}, {"web": 0.5}),))
    assert response_time_beside_tiers(test, demands(test)) == pytest.approx(0.2 - 0.1 / 0.75)


def test_servers_of_a_tier_multiply_its_demand() -> None:
    rows = (LoadRow(1, None, 100.0, 100.0, None, {}, {"app": 0.5}),)
    (one,) = demands(LoadTest("f", rows))
    (four,) = demands(LoadTest("f", rows, {"app": 4}))
    assert (one.value, four.value) == (0.005, 0.02)
    assert one.saturation_rate == four.saturation_rate == 200.0


def test_the_time_outside_of_the_tiers_names_the_servers_that_it_assumes() -> None:
    """70 ms less 2 x 9 ms and 12 ms, or with one server at each tier less 9 ms and 12 ms."""
    rows = (LoadRow(1, None, 10.0, 10.0, 0.070, {}, {"app": 0.09, "db": 0.12}),)
    words = " ".join(load_text(LoadTest("f", rows)).split())
    outside = "of the response time are outside the measured tiers"
    assert f"{outside}, if app and db have one server each." in words
    words = " ".join(load_text(LoadTest("f", rows, {"app": 2})).split())
    assert f"{outside}, if db has one server." in words
    words = " ".join(load_text(LoadTest("f", rows, {"app": 2, "db": 1})).split())
    assert f"{outside}." in words


def test_an_option_takes_the_servers_of_several_tiers() -> None:
    assert servers_of(["app=4,db=2", "web=1"]) == {"app": 4, "db": 2, "web": 1}


def _table(folder: Path, text: str) -> Path:
    path = folder / "load.csv"
    path.write_text(text)
    return path


TIERS = "users,throughput [req/s],mean [ms],app CPU %,db CPU %\n"


@pytest.mark.parametrize("heads", [("app CPU %", "db CPU %"), ("cpu_app_pct", "db_cpu_percent")])
def test_the_network_of_a_load_test_repeats_it(heads: tuple[str, str], tmp_path: Path) -> None:
    lines = []
    for users in (10, 50, 90):
        throughput, response = closed_by_hand(users, (0.004, 0.01), 1.0)
        lines.append(f"{users},{throughput},{response * 1e3},{throughput * 0.4},{throughput}\n")
    tiers = TIERS.replace("app CPU %", heads[0]).replace("db CPU %", heads[1])
    test = load_test([_table(tmp_path, tiers + "".join(lines))], [Hints()])
    assert test is not None
    spec = load_spec(test)
    assert spec.document["classes"]["requests"]["population"] == 90
    assert set(spec.document["stations"]) >= {"app", "db"}
    errors = [float(row[3].split()[0]) for row in spec.table_rows]
    assert len(errors) == 3
    assert max(map(abs, errors)) < 1.0
    assert "db saturates first, at 100 /s" in load_text(test)


def test_without_a_utilization_there_is_no_network(tmp_path: Path) -> None:
    test = load_test([_table(tmp_path, "users,req/s,mean [ms]\n10,99,1\n")], [Hints()])
    assert test is not None
    with pytest.raises(SpecError, match="there is no utilization of a tier"):
        load_spec(test)


def test_throughputs_of_users_are_what_a_fit_takes_of_a_load_test(tmp_path: Path) -> None:
    path = _table(tmp_path, "users,req/s,mean [ms]\n10,99,1\n20,190,5\n")
    found = read(path)
    assert [(run.p, run.metric, run.value) for run in found.records] == [
        (10, "throughput", 99),
        (20, "throughput", 190),
    ]
    path.write_text("rate,mean [ms]\n10,1\n20,5\n")
    with pytest.raises(SpecError, match="response times against a rate"):
        read(path)


def test_a_tier_that_is_not_there_and_times_without_a_unit_are_refused(tmp_path: Path) -> None:
    path = _table(tmp_path, TIERS + "10,99,1,40,99\n")
    with pytest.raises(UnknownNameError, match="tier with a utilization"):
        load_test([path], [Hints()], {"web": 2})
    path.write_text("users,req/s,mean\n10,99,1\n")
    with pytest.raises(SpecError, match="there is no unit of time"):
        load_test([path], [Hints()])


def test_several_files_of_a_generator_are_one_load_test(tmp_path: Path) -> None:
    text = "Concurrency Level: {0}\nRequests per second:    {1} [#/sec] (mean)\n"
    text += "Time per request:       {2} [ms] (mean)\n"
    paths = []
    for users, rate in ((8, 800.0), (2, 250.0)):
        path = tmp_path / f"ab-{users}.txt"
        path.write_text(text.format(users, rate, 1e3 * users / rate))
        paths.append(path)
    test = load_test(paths, [Hints(), Hints()])
    assert test is not None
    assert [row.users for row in test.rows] == [2, 8]
    assert think_time(test) == pytest.approx(0.0, abs=1e-12)
    assert "Users do not think" in load_text(test)


def test_load_tables_have_the_commas_of_their_language(tmp_path: Path) -> None:
    path = _table(tmp_path, "clients;req/s;mean [ms]\n10;950,5;10,5\n100;1.600,50;61,25\n")
    test = load_test([path], [Hints()])
    assert test is not None
    assert [row.throughput for row in test.rows] == [950.5, 1600.5]
    assert [row.response for row in test.rows] == pytest.approx([0.0105, 0.06125])
    assert "is read with a decimal comma" in test.notes[0].message


def test_rows_without_a_load_are_of_one_test_unless_they_differ_by_a_name(tmp_path: Path) -> None:
    rows = "tool,req/s,mean [ms],run\nwrk,100,12,1\n{},180,15,2\n"
    test = load_test([_table(tmp_path, rows.format("wrk"))], [Hints()])
    assert test is not None
    assert [row.throughput for row in test.rows] == [100, 180]
    with pytest.raises(SpecError, match=r"differ by 'tool' \('wrk', 'ab', ...\)"):
        load_test([_table(tmp_path, rows.format("ab"))], [Hints()])


def test_the_mean_rate_of_gatling_has_a_comma_in_some_languages(tmp_path: Path) -> None:
    path = tmp_path / "gatling.txt"
    path.write_text(
        "---- Global Information ----\n> mean response time            12 (OK=12      KO=-     )\n"
        "> mean requests/sec        166,667 (OK=166,667 KO=-     )\n"
    )
    test = load_test([path], [Hints(processors=4)])
    assert test is not None
    assert test.rows[0].throughput == 166.667
    assert [note.message for note in test.notes] == ["its numbers are read with a decimal comma"]
    path.write_text(
        "---- Global Information ----\n> mean response time (ms) |     1,212 |     1,212 |   - \n"
        "> mean throughput (rps) |  1,666.5 |  1,666.5 |   - \n"
    )
    test = load_test([path], [Hints(processors=4)])
    assert test is not None
    assert (test.rows[0].throughput, test.rows[0].response) == (1666.5, 1.212)


def test_a_short_run_of_wrk2_is_one_at_a_rate(tmp_path: Path) -> None:
    path = tmp_path / "wrk2.txt"
    path.write_text(
        "  2 threads and 100 connections\n    Latency     9.12ms    3.81ms  27.77ms   73.00%\n"
        "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    9.00ms\n"
        "Requests/sec:   2000.12\n"
    )
    test = load_test([path], [Hints()])
    assert test is not None
    assert (test.rows[0].users, test.rows[0].rate) == (None, 2000.12)
    assert "sends at a rate that it does not print" in test.notes[0].message


@pytest.mark.parametrize(
    ("given", "rate"), [("-R2000", 2000), ("-R 2k", 2000), ("--rate=1.5k", 1500)]
)
def test_a_rate_of_wrk2_may_have_a_prefix(tmp_path: Path, given: str, rate: float) -> None:
    path = tmp_path / "wrk2.txt"
    path.write_text(
        f"$ wrk2 -t2 -c100 -d30s {given} http://127.0.0.1/\n  2 threads and 100 connections\n"
        "    Latency     9.12ms    3.81ms  27.77ms   73.00%\nRequests/sec:   1490.12\n"
    )
    test = load_test([path], [Hints()])
    assert test is not None
    assert test.rows[0].rate == rate


def test_samples_that_are_always_far_apart_are_one_run_of_users_who_think(tmp_path: Path) -> None:
    path = tmp_path / "samples.jtl"
    rows = [f"{1_700_000_000_000 + 120_000 * number},500,get,true,1" for number in range(30)]
    path.write_text("\n".join(["timeStamp,elapsed,label,success,allThreads", *rows, ""]))
    test = load_test([path], [Hints()])
    assert test is not None
    seconds = 29 * 120 + 0.5
    assert test.rows[0].throughput == pytest.approx(30 / seconds)
    assert test.rows[0].think_time == pytest.approx(seconds / 30 - 0.5)
    assert not any("runs are in it" in note.message for note in test.notes)


def _jtl(generator: random.Random, users: int, loops: int, ramp: float) -> str:
    """Return the log of threads that start one after the other, and make requests of 100 ms on
    average without a pause.
    """
    requests = list[tuple[float, float]]()
    spans = list[tuple[float, float]]()
    for user in range(users):
        start = begin = ramp * user / users
        for _ in range(loops):
            end = begin + generator.gammavariate(2.0, 50.0)
            requests.append((begin, end))
            begin = end
        spans.append((start, begin))
    rows = ["timeStamp,elapsed,label,success,allThreads"]
    for start, end in sorted(requests, key=lambda request: request[1]):
        active = sum(first <= end <= last for first, last in spans)
        rows.append(f"{start:.0f},{round(end) - round(start)},get,true,{active}")
    return "\n".join([*rows, ""])


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("users", "loops", "ramp"), [(10, 4, 0.0), (5, 3, 0.0), (10, 10, 300.0), (4, 100, 1000.0)]
)
def test_the_throughput_of_a_short_log_of_jmeter_is_the_known_one(
    tmp_path: Path, users: int, loops: int, ramp: float
) -> None:
    generator = random.Random(20261129)
    cycles = list[float]()
    for number in range(60):
        path = tmp_path / f"{number}.jtl"
        path.write_text(_jtl(generator, users, loops, ramp))
        test = load_test([path], [Hints()])
        assert test is not None
        cycles += [
            users / row.throughput for row in test.rows if row.users == users and row.throughput
        ]
    assert len(cycles) >= 55
    # The mean of logs scatters by 0.71 / sqrt(60 loops users), 2.4 % for the shortest ones.
    assert sum(cycles) / len(cycles) == pytest.approx(0.1, rel=0.06)


_GROUP = """\
{0}: (groupid={1}, jobs=1): err= 0: pid=1
  read : io=10GB, bw=8000KB/s, iops=2000, runt= 60001msec
    lat (usec): min=70, max=900, avg=990.00, stdev=11.0
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fio.txt", _GROUP.format("reads", 0) + _GROUP.format("again", 1)),
        (
            "fio.json",
            json.dumps(
                {
                    "fio version": "fio-2.1.4",
                    "jobs": [
                        {
                            "jobname": f"reads {group}",
                            "groupid": group,
                            "read": {"iops": 2000, "lat": {"mean": 990}},
                            "iodepth_level": {">=64": 100.0},
                        }
                        for group in (0, 1)
                    ],
                }
            ),
        ),
    ],
)
def test_a_told_number_of_requests_is_that_of_one_group_of_jobs(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SpecError, match=r"iodepth.*keep one"):
        load_test([path], [Hints(processors=64)])


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ({"rate_iops": "2k"}, 2048.0),
        ({"rate_iops": "2ki"}, 2000.0),
        ({"rate_iops": "2k", "kb_base": "1000"}, 2000.0),
        ({"rate_iops": "700,1m"}, 700.0),
        ({"rate_iops": ",700"}, None),
    ],
)
def test_a_limit_of_a_rate_of_fio_may_have_a_prefix_and_be_of_reads_alone(
    tmp_path: Path, options: Mapping[str, str], rate: float | None
) -> None:
    path = tmp_path / "fio.json"
    job = {"job options": options, "read": {"iops": 650.0, "lat_ns": {"mean": 120000.0}}}
    path.write_text(json.dumps({"fio version": "fio-3.35", "jobs": [job]}))
    test = load_test([path], [Hints()])
    assert test is not None
    assert test.rows[0].rate == rate


def test_jobs_of_fio_without_a_depth_have_a_request_each(tmp_path: Path) -> None:
    path = tmp_path / "fio.json"
    read = {"iops": 650.0, "lat_ns": {"mean": 120000.0}}
    for options, requests in (({}, 1.0), ({"iodepth": "4"}, 4.0)):
        job = {"job options": {"rw": "randread", **options}, "read": read}
        path.write_text(json.dumps({"fio version": "fio-3.35", "jobs": [job]}))
        test = load_test([path], [Hints()])
        assert test is not None
        assert test.rows[0].users == requests


def test_a_limit_of_a_rate_of_fio_that_is_no_number_is_named(tmp_path: Path) -> None:
    path = tmp_path / "fio.json"
    job = {"job options": {"rate_iops": "many"}, "read": {"iops": 650.0}}
    path.write_text(json.dumps({"fio version": "fio-3.35", "jobs": [job]}))
    with pytest.raises(
        SpecError, match=r"its option rate_iops has 'many', not a number such as 2k"
    ):
        load_test([path], [Hints()])


def test_vegeta_notes_failures_where_there_are_some(tmp_path: Path) -> None:
    path = tmp_path / "vegeta.txt"
    text = (
        "Requests      [total, rate, throughput]         1200, 120.10, 119.86\n"
        "Latencies     [min, mean, 50, 99, max]          1.21ms, 13.5ms, 12ms, 40ms, 60ms\n"
        "Success       [ratio]                           {0}%\n"
    )
    path.write_text(text.format("100.00"))
    test = load_test([path], [Hints()])
    assert test is not None
    assert test.notes == ()
    path.write_text(text.format("99.90"))
    test = load_test([path], [Hints()])
    assert test is not None
    assert "requests failed" in test.notes[0].message


def test_percentages_may_be_of_all_kinds_of_spelling(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        "target rps;throughput;p50 [ms];95th percentile [ms];p99.9 (ms);% cpu\n50;50;5;9;20;25%\n",
    )
    test = load_test([path], [Hints()])
    assert test is not None
    (row,) = test.rows
    assert row.rate == 50
    assert row.quantiles == pytest.approx({0.5: 0.005, 0.95: 0.009, 0.999: 0.02})
    assert list(row.utilization.values()) == [0.25]


def test_every_format_is_listed_by_the_command() -> None:
    from slipstick_measure.commands.measured import measured

    (option,) = [each for each in measured.params if each.name == "format_"]
    words = str(getattr(option, "help", "")).replace(",", " ").replace(".", " ").split()
    assert set(LOAD_FORMATS) <= set(words)


JTL = (Path(__file__).parents[1] / "shelf" / "load-tests" / "samples.jtl").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            JTL.replace(",allThreads,", ",all,").replace(",threadName,", ",name,"),
            "how many threads were active .allThreads.; write --processors N",
        ),
        (JTL.replace(",true,", ",false,"), "no request succeeded, so there is no load"),
        (JTL.replace("\n", "\n1714989600000,100\n", 1), "values, where the header promises 17"),
        (JTL.replace(",100,GET", ",soon,GET"), "'soon' is not a number"),
    ],
)
def test_samples_of_jmeter_are_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "samples.jtl").write_text(text)
    with pytest.raises(SpecError, match=message):
        load_test([tmp_path / "samples.jtl"], [Hints()])


def test_a_simulated_percentile_is_written_with_its_interval() -> None:
    assert _ComputedTime(0.012, 0.011, 0.0135).text == "12 (11 to 13.5) ms"


@pytest.mark.turns(4)
def test_a_percentile_of_the_network_is_compared_with_the_measured_one(tmp_path: Path) -> None:
    """With exponential services in order of arrival, times are exponential: 95 % are within ln 20
    means.
    """
    means = {20: 12.5, 40: 16.67, 60: 25.0, 80: 50.0}
    rows = [f"{rate},{mean},{mean * 2.9957:.2f}" for rate, mean in means.items()]
    path = _table(tmp_path, "\n".join(["rate,mean [ms],p95 [ms]", *rows, ""]))
    test = load_test([path], [Hints()])
    assert test is not None
    imported = load_spec(test)
    assert imported.table_heading[4:] == ["95 %", "network 95 %", "error 95 %"]
    assert [cells[4] for cells in imported.table_rows] == [
        "37.45 ms",
        "49.94 ms",
        "74.89 ms",
        "149.8 ms",
    ]
    errors = [
        float(cells[6].removesuffix(" %")) for cells in imported.table_rows if cells[6] != "-"
    ]
    assert errors
    assert max(map(abs, errors)) < 10
    assert not any("differ by up to" in note for note in imported.notes)


@pytest.mark.parametrize(("worse_residual", "count"), [(4e-15, 2), (1e-11, 2), (1e-6, 1)])
def test_fits_through_all_rows_are_told_apart_by_no_rounding(
    worse_residual: float, count: int
) -> None:
    """Two rows leave no residual: what is left is the last digit, which libraries round apart."""
    stations: Any = [
        SimpleNamespace(
            fitted_formula=SimpleNamespace(
                residuals=[residual] * 2, sum_of_squares=2 * residual**2, aicc=math.inf
            )
        )
        for residual in (0.0, worse_residual)
    ]
    assert len(_likely_stations(stations)) == count


SHELF = Path(__file__).parents[1] / "shelf/load-tests"


@pytest.mark.parametrize("between", ["", "the run of 10 s\n", "\n\n"])
def test_a_line_of_users_is_that_of_the_run_below_it(between: str, tmp_path: Path) -> None:
    text = (SHELF / "wrk-rates-below-users.txt").read_text()
    path = tmp_path / "runs.txt"
    path.write_text(text.replace("Requests", f"{between}Requests"))
    test = load_test([path], [Hints()])
    assert test is not None
    assert [(row.users, row.throughput) for row in test.rows] == [
        (16, 10234.51),
        (32, 19870.02),
        (64, 30120.99),
    ]
