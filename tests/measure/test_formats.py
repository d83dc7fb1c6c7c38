"""Files as the tools write them: each is recognized, and its values are those that stand in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slipstick.errors import SpecError, UnknownNameError
from slipstick_measure.account import measured
from slipstick_measure.commands.measured import measured as measured_command
from slipstick_measure.fit.columns import check_column_table
from slipstick_measure.formats import FORMATS, read, read_all
from slipstick_measure.measurements import Hints
from slipstick_measure.readers.clusters import _likely_operation
from slipstick_measure.readers.reading import Reading
from tests.measure.data import SAMPLES, account, at, read_sample, refused, sample


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_registered_with_samples_and_listed_by_the_command(name: str) -> None:
    assert FORMATS[name].name == name
    assert any(path.parent.name == name for path, _ in SAMPLES.values())
    (option,) = [each for each in measured_command.params if each.name == "format_"]
    assert name in re.split("[,. ]+", str(getattr(option, "help", "")))


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_each_file_looks_like_its_own_format_only(name: str) -> None:
    reading = Reading(name, sample(name).read_text(), SAMPLES[name][1])
    wanted = sample(name).parent.name
    first, *others = (format for format, each in FORMATS.items() if each.recognize(reading))
    assert first == wanted
    assert set(others) <= {"csv"}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_every_account_adds_up_to_the_time(name: str) -> None:
    for answer in measured(read_sample(name)).answers:
        assert answer.failed is None
        lost = sum(
            value.value or 0.0
            for key, value in answer.values.items()
            if key.startswith("processors_lost[")
        )
        if "speedup" in answer.values:
            assert (answer["speedup"] or 0.0) + lost == pytest.approx(answer.point["p"], rel=1e-12)
        if answer.account:
            time = answer.find("time") or 1 / (answer["throughput"] or 0.0)
            assert sum(answer.account.values()) == pytest.approx(time, rel=1e-12)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_noted_of_a_file_stands_at_a_line_of_it(name: str) -> None:
    lines = len(sample(name).read_text().splitlines())
    assert all(1 <= note.line <= lines for note in read_sample(name).notes)


def test_metrics_that_are_left_out_are_noted_at_the_first_of_them() -> None:
    (note,) = read_sample("modelfactors.csv").notes
    first = next(
        line
        for line, text in enumerate(sample("modelfactors.csv").read_text().splitlines(), 1)
        if "Speedup" in text
    )
    assert (note.line, note.message) == (first, "not needed and left out: Speedup, Average IPC")


def test_a_tidy_table() -> None:
    runs = read(sample("timings.csv"))
    assert len(runs.records) == 8
    first, last = runs.records[0], runs.records[-1]
    assert (first.p, first.n, first.metric, first.unit, first.value, first.repetition) == (
        1,
        1000,
        "time",
        "s",
        100,
        1,
    )
    assert (first.line, first.text) == (2, "100.0 s")
    assert (last.region, last.value, last.text) == ("task queue", 7.0, "7000 ms")
    answer = at(measured(runs), 4)
    assert (answer["time"], answer.values["time"].low, answer.values["time"].high) == (
        30.0,
        29.5,
        30.5,
    )
    assert answer.account == pytest.approx({"busy": 25.25, "barrier": 3.0, "task queue": 1.75})


def test_a_value_may_have_its_unit_in_its_cell(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("p,time,wait [ms]\n1,100 s,5\n2,5.2e4ms,5 ms\n")
    found = read(tmp_path / "x.csv", Hints())
    assert [(run.p, run.metric, run.value) for run in found.records] == [
        (1, "time", 100.0), (1, "wait", 0.005), (2, "time", 52.0), (2, "wait", 0.005),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("Ranks;Elapsed (s);Iteration\r\n1;10,5;1\r\n2;6;1\r\n", ["decimal comma"]),
        ("# a run\n#procs   time[ms]\n  1   10500 \n  2   6000\n", []),
        ("p time (s)\n1  10.5\n2  6\n", []),
        (
            "Number of cores,Throughput (req/s)\n1,0.09523809523809523\n2,0.16666666666666666\n",
            ["p = Number of cores, throughput = Throughput (req/s)"],
        ),
        (
            "n_threads,time_in_ms,speedup\n1,10500,1\n2,6000,1.75\n",
            ["p = n_threads, time = time_in_ms; left out: speedup"],
        ),
        ("MPI_Ranks|seconds\n1|10.5\n2|6\n", ["p = MPI_Ranks, time = seconds"]),
    ],
)
def test_headings_that_people_write_are_read_with_a_note(
    text: str, notes: list[str], tmp_path: Path
) -> None:
    (tmp_path / "x.dat").write_text(text, newline="")
    found = read(tmp_path / "x.dat")
    times = [1 / run.value if run.metric == "throughput" else run.value for run in found.records]
    assert [run.p for run in found.records] == [1, 2]
    assert times == pytest.approx([10.5, 6.0])
    assert all(words in str(note) for words, note in zip(notes, found.notes, strict=True))


def test_a_table_with_a_column_for_each_metric(tmp_path: Path) -> None:
    runs = read(sample("wide.csv"))
    assert [(run.p, run.metric, run.value) for run in runs.records[-2:]] == [
        (4, "time", 2.6),
        (4, "wait", 2.1),
    ]
    assert [str(note).rpartition("/")[2] for note in runs.notes] == [
        (
            "wide.csv:2:1: columns: read as p = ranks, time = time [ms], wait = wait (s); left "
            "out: note; to change this: --column OURS=NAME"
        )
    ]
    mapped = account(
        tmp_path,
        "width\tT\n2\t3\n4\t2\n",
        hints=Hints(columns={"p": "width", "value": "T"}, unit="ms"),
    )
    assert [answer["time"] for answer in mapped.answers] == [0.003, 0.002]


def test_extra_p_text_and_its_two_json_formats_agree() -> None:
    text, document, lines = (
        measured(read_sample(name)) for name in ("extra-p.txt", "extra-p.json", "extra-p.jsonl")
    )
    assert at(text, 4)["time"] == 23.0
    assert at(document, 4)["time"] == pytest.approx(23.1)
    assert at(lines, 4)["time"] == pytest.approx(23.1)
    assert at(document, 4).account["solve"] == at(text, 4).account["solve"] == 0.5
    assert at(text, 8).account == {"busy": 10.0, "solve": 0.5, "exchange": 3.0, "other": 0.0}


def test_extra_p_with_two_parameters() -> None:
    runs = read(sample("extra-p-two.txt"), Hints(unit="ms"))
    assert [(run.p, run.n, run.value) for run in runs.records] == [
        (1, 100, 0.004),
        (4, 100, 0.0015),
        (4, 400, 0.0046),
    ]


def test_percent_and_fractions_of_pop_are_one_account() -> None:
    model, pypop = (
        at(measured(read(sample(name))), 4) for name in ("modelfactors.csv", "pypop.csv")
    )
    assert model["efficiency"] == pytest.approx(0.902 * 0.96, rel=2e-4)  # of rounded times
    assert model["efficiency"] == pytest.approx(40.0 / 11.55 / 4)
    assert pypop["efficiency"] == pytest.approx(0.902 * 0.96, rel=2e-4)
    assert pypop["processors_lost[imbalance]"] == pytest.approx(4 * (0.9347 - 0.902))
    assert model["processors_lost[serialization]"] == pytest.approx(4 * (0.9839 - 0.9347))
    assert model["processors_lost[transfer]"] == pytest.approx(4 * (1 - 0.9839))
    assert model["time"] == pytest.approx(11.55)


def test_the_table_that_perf_stat_prints_for_people() -> None:
    """Printed by perf 6.1 on a virtual machine, which counts no cycles."""
    found = read(sample("perf-stat-table.txt"), Hints(processors=1))
    told = at(measured(found), 1)
    assert (told["time"], told.account["busy"]) == pytest.approx((0.145235574, 0.07448))
    assert any("perf could not count cycles, instructions" in str(note) for note in found.notes)


def test_perf_stat_in_its_two_spellings() -> None:
    counted = at(measured(read(sample("perf-stat-2.csv"), Hints(processors=2))), 2)
    assert counted["time"] == 0.116383904
    assert counted.account["busy"] == pytest.approx(0.13277 / 2)
    derived = at(measured(read(sample("perf-stat-2.json"), Hints(processors=2))), 2)
    assert derived["time"] == pytest.approx(0.137262666 / 1.124857)
    told = at(measured(read(sample("perf-stat-2.json"), Hints(processors=2, time=0.2))), 2)
    assert told["time"] == 0.2
    assert any(
        "perf could not count cycles" in str(note)
        for note in read(sample("perf-stat-1.csv"), Hints(1)).notes
    )


def test_lock_profiles_add_up_lines_of_one_caller() -> None:
    table = at(measured(read_sample("perf-lock.txt")), 4)
    assert table.account["wake_up_q+0x33"] == pytest.approx(210.14e-6 / 4)
    assert table.account["kernel_wait4+0x9c"] == pytest.approx((49.97e-6 + 22.30e-6) / 4)
    separated = at(measured(read_sample("perf-lock-separated.txt")), 4)
    assert separated.account["futex_wake+0x1f0"] == pytest.approx((194232e-9 + 86740e-9) / 4)


@pytest.mark.parametrize(
    ("unit", "rate"), [("MB", 11000 * 2**20), ("MiB", 11000 * 2**20), ("Gb", 11000e9 / 8)]
)
def test_rates_of_perftest_are_in_the_unit_that_their_heading_stands_for(
    unit: str, rate: float, tmp_path: Path
) -> None:
    head = (
        f" #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]"
    )
    (tmp_path / "bw.txt").write_text(
        f"RDMA_Write BW Test\n{head}\n 65536      5000   11100.5   11000.00\t\t  0.17\n"
    )
    assert [run.value for run in read(tmp_path / "bw.txt").records] == [pytest.approx(rate)]


def test_a_profile_by_processor() -> None:
    answer = at(measured(read(sample("profile.yaml"))), 2)
    assert answer.account == pytest.approx(
        {"busy": 20.0, "memory": 3.0, "lock": 1.5, "idle": 2.5, "waits on one processor": -2.0}
    )
    assert (answer["load_balance"], answer["communication_efficiency"]) == (0.9, 0.8)


def test_several_files_make_one_table() -> None:
    paths = [sample("perf-stat-1.csv"), sample("perf-stat-2.csv")]
    found = measured(read_all(paths, [Hints(processors=1), Hints(processors=2)]))
    assert [answer.point["p"] for answer in found.answers] == [1, 2]
    with pytest.raises(SpecError) as caught:
        read_all(paths, [Hints(), Hints()])
    assert len(caught.value.problems) == 2


def test_what_a_file_is_can_be_told(tmp_path: Path) -> None:
    (why,) = refused(tmp_path, "some text\nof a letter\n")
    assert "--format, which slipstick measured --help lists" in why
    assert "--column p=NAME" in why
    (tmp_path / "x.csv").write_text("width,T [s]\n2,3\n4,2\n")
    runs = read(tmp_path / "x.csv", Hints(columns={"p": "width", "value": "T [s]"}), format="csv")
    assert [run.value for run in runs.records] == [3, 2]
    with pytest.raises(UnknownNameError, match="there is no format 'cvs'; did you mean 'csv'"):
        read(tmp_path / "x.csv", format="cvs")


def test_a_mark_at_the_start_and_other_line_ends_change_nothing(tmp_path: Path) -> None:
    text = sample("timings.csv").read_text()
    for bytes_ in (
        b"\xef\xbb\xbf" + text.encode(),
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
    ):
        (tmp_path / "x.csv").write_bytes(bytes_)
        found = [
            (run.p, run.region, run.value, run.line) for run in read(tmp_path / "x.csv").records
        ]
        assert found == [
            (run.p, run.region, run.value, run.line) for run in read(sample("timings.csv")).records
        ]


def test_a_table_separated_by_semicolons_has_decimal_points(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("p;time [s];n\n1;10.5;1000\n2;6.25;1000\n2;6.5e0;1000\n")
    records = read(path).records
    assert [(run.p, run.value, run.n) for run in records] == [
        (1, 10.5, 1000),
        (2, 6.25, 1000),
        (2, 6.5, 1000),
    ]


def test_repetitions_of_a_profile_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    runs = [
        f"  - {{processors: 2, repetition: {each}, time: {each} s, waits: {{door: 1 s}}}}\n"
        for each in (1, 2, 6)
    ]
    path.write_text("profile: 1\nruns:\n" + "".join(runs))
    answer = at(measured(read(path), "mean"), 2)
    assert (answer["time"], answer.account["busy"], answer["one_processor_estimate"]) == (
        3.0,
        2.5,
        5.0,
    )
    path.write_text(path.read_text().replace("repetition: 2", "repetition: 1"))
    with pytest.raises(SpecError, match="repetition 1 of time at p = 2 is in "):
        measured(read(path))


def test_columns_of_load_tests_and_batch_systems_are_taken_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("nodes,run,ops/s\n2,1,250\n")
    runs = read(tmp_path / "x.csv")
    assert [(run.p, run.metric, run.unit, run.value) for run in runs.records] == [
        (2, "throughput", "1/s", 250)
    ]
    notes = [str(note).partition(": ")[2] for note in runs.notes]
    assert notes == [
        (
            "columns: read as p = nodes, repetition = run, throughput = ops/s; to change this:"
            " --column OURS=NAME"
        ),
    ]


OF_A_MODEL = "computer,parameters.n,parameters.rate [MB/s],time [s]\n"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("a,4,12.5,3\nb,8,,2e1\n", ""),
        ("a,4,12x5,3\n", "m.csv:2:1: parameters.rate: '12x5'"),
        ("a,4,12.5,3 furlongs\n", "m.csv:2:1: time: '3 furlongs': there is no unit 'furlongs'"),
        ("a,4,12.5\n", "m.csv:2:1: 3 cells, where the heading has 4"),
    ],
)
def test_a_table_of_parameters_of_a_model_is_checked_as_data_for_a_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text(OF_A_MODEL + rows)
    if why:
        with pytest.raises(SpecError) as caught:
            check_column_table("m.csv")
        assert str(caught.value.problems[0]).startswith(why)
        return
    assert check_column_table("m.csv")
    way = "slipstick fit --model NAME takes columns such as 'parameters.n'"
    assert way in refused(tmp_path, OF_A_MODEL + rows)[0]


def test_a_table_of_runs_is_none_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("p,parameters.n,time [s]\n1,4,3\n2,4,1.7\n")
    assert not check_column_table(str(path))
    assert not check_column_table("no-such-table")


def test_aggregates_of_google_benchmark_are_read_of_functions_without_runs(tmp_path: Path) -> None:
    rows = [
        {
            "name": f"{name}/threads:2{f'_{aggregate}' * bool(aggregate)}",
            "iterations": 100,
            "run_type": "aggregate" if aggregate else "iteration",
            "aggregate_name": aggregate,
            "threads": 2,
            "real_time": time,
            "time_unit": "ns",
        }
        for name, aggregate, time in (
            ("BM_A", "", 55.0),
            ("BM_A", "mean", 56.0),
            ("BM_B", "mean", 120.0),
            ("BM_B", "cv", 0.01),
        )
    ]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"context": {"library_version": "v1.9.0"}, "benchmarks": rows}))
    runs = read(path)
    assert [run.region for run in runs.records] == ["BM_A", "BM_B"]
    assert [run.value for run in runs.records] == pytest.approx([55e-9, 120e-9])
    assert "only aggregates of 1 of 2 functions are written" in str(runs.notes[0])


@pytest.mark.parametrize(
    ("command", "p"),
    [("srun --ntasks-per-node=4 -n 8 ./solve", 8), ("srun --ntasks-per-node=4 ./solve", None)],
)
def test_a_command_tells_all_processors_not_those_of_a_node(
    tmp_path: Path, command: str, p: int | None
) -> None:
    text = json.dumps({"results": [{"command": command, "times": [1.5]}]})
    if p is None:
        assert "no parameter counts processors" in refused(tmp_path, text, "runs.json")[0]
        return
    path = tmp_path / "runs.json"
    path.write_text(text)
    assert read(path).records[0].p == p


@pytest.mark.parametrize(
    "table",
    [
        "# OSU MPI Latency Test v7.5\n# Size          Latency (us)\n8    1.50\n",
        (
            "#  Rank  0 Pid 1 on a device 0\n#  Rank  1 Pid 2 on a device 1\n"
            "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
            "      8      2 float    sum    -1   1.5   0.01   0.01       0\n"
        ),
    ],
)
def test_a_table_is_recognized_below_thousands_of_messages(tmp_path: Path, table: str) -> None:
    path = tmp_path / "job.log"
    path.write_text("worker-0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]\n" * 5000 + table)
    assert read(path).records[0].value == 1.5e-6


def test_each_of_several_tests_of_nccl_has_its_operation_and_its_rows() -> None:
    path = Path(__file__).parents[1] / "shelf/clusters/nccl-two-operations.log"
    times: dict[str, list[float]] = {}
    for run in read(path).records:
        if run.metric == "time":
            times.setdefault(run.region, []).append(run.value)
    assert {
        name: sorted({round(1e6 * time) for time in found}) for name, found in times.items()
    } == {
        "alltoall": [50, 160],
        "sendrecv": [100, 320],
    }


@pytest.mark.parametrize(
    ("share", "rank_count", "operation"),
    [
        (1.5, 4, "all-reduce"),
        (0.75, 4, "all-gather, reduce-scatter or all-to-all"),
        (1.0, 4, "broadcast or reduce"),
        (1.25, 4, "collective operation"),
        (1.0, 2, "collective operation"),
        (1.75, 8, "all-reduce"),
    ],
)
def test_the_share_of_a_link_tells_the_collective_operation(
    share: float, rank_count: int, operation: str
) -> None:
    """A ring of n ranks moves (n - 1) / n of the data, and an all-reduce does so twice."""
    assert _likely_operation([0.1, share, 9.0], rank_count) == operation
