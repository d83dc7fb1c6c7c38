"""The command that fits models to measured runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.cli.main import main
from tests.measure.data import sample


@pytest.mark.turns(4)
def test_a_fit_predicts_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "p,time [s]\n" + "".join(f"{p},{10 + 90 / p + 0.01 * p}\n" for p in (1, 2, 3, 4, 8, 16))
    )
    assert main(["fit", str(path), "--at", "32,64", "--model", "amdahl,usl", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {answer["model"] for answer in document["answers"]} == {"amdahl", "usl"}
    assert document["answers"][0]["values"]["time[32]"]["value"] == pytest.approx(
        10 + 90 / 32 + 0.32, rel=0.01
    )
    assert len(document["warnings"]) == 2
    assert main(["fit", str(path)]) == 0
    assert "Efficiency is at least 75 % up to " in capsys.readouterr().out
    assert main(["fit", str(path), "--efficiency", "60%"]) == 0
    assert "Efficiency is at least 60 % up to " in capsys.readouterr().out


def test_what_is_odd_about_the_data_is_said_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.csv"
    rows = [
        f"{p},time,s,{time}" for p, time in ((1, 100), (2, 40), (4, 30), (8, 18), (8, 19), (16, 16))
    ]
    path.write_text("\n".join(["p,metric,unit,value", *rows, "32,tmie,s,14"]))
    assert main(["fit", str(path), "--model", "amdahl"]) == 0
    notes = capsys.readouterr().err.replace(f"{path}:", "").splitlines()
    assert notes == [
        (
            "note: 6:1: time: time at p = 8 is in 2 rows without a number of the repetition; they "
            "are read as repetitions"
        ),
        "note: 8:1: tmie: is not a part of the account of time; did you mean 'time'?",
        (
            "note: 3:1: time: superlinear: speed-up 2.5 on 2 processors; less work, more cache, or"
            " another program"
        ),
    ]


def test_limits_that_are_not_reached_are_said_to_be_the_end_of_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "p,time [s]\n"
        + "".join(f"{p},{(1 + 999 / p) * (1 + 0.001 * (p % 3))}\n" for p in (1, 2, 3, 4, 8, 16))
    )
    assert main(["fit", str(path), "--model", "amdahl"]) == 0
    first = " ".join(capsys.readouterr().out.partition("\n\n")[0].split())
    assert " Speed-up still rises, to " in first
    assert ", at 85 processors, the end of the range examined." in first


@pytest.mark.turns(8)
def test_a_model_with_free_parameters_is_fitted_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, picture = tmp_path / "x.csv", tmp_path / "x.svg"
    path.write_text("p,time [s]\n" + "".join(f"{p},{10 + 90 / p}\n" for p in (1, 2, 3, 4, 8, 16)))
    given = ["--set", "serial=1 s", "--set", "parallel=1 s", "--set", "processors=1"]
    model = ["--model", "law/amdahl-time,power-log", "--free", "serial,parallel=1 s..1000 s"]
    assert (
        main(["fit", str(path), *model, *given, "--at", "32", "--picture", str(picture), "--json"])
        == 0
    )
    best, other = json.loads(capsys.readouterr().out)["answers"]
    assert (best["model"], other["model"]) == ("law/amdahl-time", "power-log")
    assert best["values"]["serial"]["value"] == pytest.approx(10)
    drawn = picture.read_text()
    assert "beyond the data" in drawn
    assert "law/amdahl-time" in drawn
    assert main(["fit", str(path), "--picture", str(tmp_path / "x.gif")]) == 2
    assert (
        "pictures are drawn into a file that ends in .png or .svg, not into x.gif"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--statistic", "mean"],
            (
                "fit:1:1: every repetition counts, as it was measured; leave out --statistic and"
                " --timer"
            ),
        ),
        (["--efficiency", "160%"], "--efficiency: an efficiency is at most 100 %; got 160%"),
        (["--efficiency", "0"], "--efficiency: must be more than 0; got 0"),
        (["--longest-time", "0 s"], "--longest-time: must be more than 0; got 0 s"),
        (
            ["--curve", "p", "--longest-time", "3 s"],
            "--longest-time: a goal is one of runs on several numbers of processors",
        ),
        (["--at", "many"], "--at: write a whole number from 1 to 100,000,000; got 'many'"),
        (
            ["--cycles", "3"],
            "say which parameters of the model are free, such as --free parameters.work",
        ),
        (["--free", "x"], "name the one model whose parameters are free; got families only"),
        (
            ["--model", "queue"],
            "--model: there is no law and no model 'queue'; did you mean 'queue",
        ),
        (
            ["--model", "lock-and-bus"],
            "--free: say which parameters of lock-and-bus are free, such as --free parameters.work",
        ),
    ],
)
def test_options_of_a_fit_are_checked(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(sample("timings.csv")), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_fit_without_work_for_one_processor_has_no_speedup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {
        2: (10**9, 64, 1024, 16384, 262144),
        4: (4, 64, 1024, 16384, 262144),
        8: (4, 64, 262144),
    }
    times = {
        2: (1.94, 2.0, 2.57, 11.76, 161.4),
        4: (3.85, 3.92, 4.39, 13.79, 162.08),
        8: (5.83, 5.74, 159.92),
    }
    rows = [
        f"{n},{p},{time}e-6\n" for p in sizes for n, time in zip(sizes[p], times[p], strict=True)
    ]
    (tmp_path / "x.csv").write_text("n,p,time [s]\n" + "".join(rows))
    assert main(["fit", str(tmp_path / "x.csv"), "--model", "latency"]) == 0
    told = capsys.readouterr().out
    assert "it has no work for one processor, so no speed-up over it" in told
    assert "nan" not in told


def test_members_are_called_as_the_heading_calls_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nodes.csv"
    times = {1: 512.3, 2: 262.1, 4: 137.0, 8: 74.9, 16: 44.6, 32: 30.8, 64: 25.9}
    path.write_text("nodes,time [s]\n" + "".join(f"{p},{time}\n" for p, time in times.items()))
    assert main(["fit", str(path), "--at", "96", "--model", "usl", "--efficiency", "50%"]) == 0
    first, warned, *_ = capsys.readouterr().out.split("\n\n")
    said = " ".join(first.split())
    assert said.startswith(
        "Measured: efficiency falls below 50 % between 32 nodes (52 %) and 64 nodes (30.9 %)."
        " By usl (the universal scalability law): Efficiency is at least 50 % up to 34 nodes"
        " (33 to 34)."
    )
    assert "of 96 nodes, if the law is right. Total times do not show causes. On 96 nodes: " in said
    assert "warning: the prediction for 96 nodes is extrapolated to 1.5 times" in warned
    assert main(["measured", str(path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("  nodes     time")
    assert told.endswith("Of 64 nodes, 44.2 are lost; the data do not say to what.\n")


def test_a_fit_asks_whether_the_work_grew_as_the_account_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "weak.csv"
    times = {1: 51.2, 2: 52.0, 4: 53.3, 8: 54.9, 16: 57.6, 32: 61.4}
    path.write_text("nodes,time [s]\n" + "".join(f"{p},{time}\n" for p, time in times.items()))
    for command in (["fit", str(path)], ["measured", str(path)]):
        assert main(command) == 2
        assert (
            "did the work grow with the processors? Say --scaling weak" in capsys.readouterr().err
        )
    assert main(["fit", str(path), "--scaling", "weak", "--model", "amdahl,usl"]) == 0
