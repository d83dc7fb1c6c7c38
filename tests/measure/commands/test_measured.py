"""The command that shows what measured runs say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.cli.main import main
from tests.measure.data import sample


def test_it_prints_the_account_and_says_what_is_odd_aside(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["measured", str(sample("wide.csv"))]) == 0
    said = capsys.readouterr()
    assert "where the ranks go" in said.out
    assert said.err == (
        f"note: {sample('wide.csv')}:2:1: columns: read as p = ranks, time = time [ms], wait = wait"
        " (s); left out: note; to change this: --column OURS=NAME\n"
    )


def test_json_is_one_document_with_answers_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", str(sample("wide.csv")), "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert [answer["point"]["p"] for answer in document["answers"]] == [1, 2, 4]
    assert document["answers"][2]["values"]["one_processor_estimate"]["value"] == pytest.approx(8.3)
    assert [(note["line"], note["path"]) for note in document["notes"]] == [(2, "columns")]
    assert document["problems"] == []


def test_files_that_do_not_say_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(sample("perf-stat-1.csv")), str(sample("perf-stat-2.csv"))]
    assert main(["measured", *files, "--processors", "1,2", "--size", "10", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [answer["point"] for answer in answers] == [{"p": 1, "n": 10}, {"p": 2, "n": 10}]
    lock = str(sample("perf-lock.txt"))
    assert (
        main(["measured", lock, "--processors", "4", "--time", "120 ms", "--format", "perf-lock"])
        == 0
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--processors", "1,2"],
            "--processors: 2 values for 1 files; give one for all, or one a file",
        ),
        (
            ["--processors", "x"],
            "--processors: write a whole number from 1 to 100,000,000; got 'x'",
        ),
        (
            ["--processors", "0"],
            "--processors: write a whole number from 1 to 100,000,000; got '0'",
        ),
        (["--time", "0 s"], "--time: must be more than 0; got 0 s"),
        (["--time", "3"], "--time: '3' lacks its unit; write it, such as '3 us'"),
        (
            ["--column", "q=x"],
            "--column: write OURS=THEIRS, such as p=ranks, with one of p, n, region, metric, unit,",
        ),
        (["--format", "xls"], "there is no format 'xls'"),
        (["--statistic", "mode"], "there is no statistic 'mode'; known: median, mean, min"),
    ],
)
def test_options_are_checked(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measured", str(sample("timings.csv")), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_point_without_an_answer_has_status_1(
    tmp_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"{tmp_path}/x.csv"
    with open(path, "w") as file:
        file.write("p,wait [s]\n2,1\n")
    assert main(["measured", path]) == 1
    assert "no answer: there is no elapsed time at this point" in capsys.readouterr().out


def test_the_timer_is_taken_off_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", "specs/profiles/lucier-1988.yaml", "--timer", "15 us", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["answers"][0]
    assert first["values"]["one_processor_estimate"]["value"] == pytest.approx(6050, abs=1e-3)


def test_a_column_of_a_part_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("np;walltime;%MPI\n1;914.42 s;0.0\n64;23.47 s;23.6\n")
    assert main(["measured", str(table), "--column", "time of mpi=%MPI"]) == 0
    assert "Of 64 processors, 15.1 are lost to mpi" in capsys.readouterr().out
    assert main(["measured", str(table), "--column", "speed of mpi=%MPI"]) == 2
    assert "or for a part of the run 'time of NAME'" in capsys.readouterr().err
