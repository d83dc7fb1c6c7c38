"""The command that holds a model against rows whose columns are its own numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from slipstick import run
from slipstick.cli.main import main
from slipstick_measure.questions.fits import FitsResult

MODEL = """
activity: 1
parameters: {size: 1 GB, rate: 100 GB/s, share: 0.8, start: 20 us}
population: {processors: 1}
cycle:
  - {name: move, delay: size / rate / share}
  - {name: start, delay: start}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.yaml").write_text(MODEL)
    lines = ["host,megabytes,latency"]
    for host, share in (("a", 0.6), ("b", 0.7), ("c", 0.8)):
        for size in (1, 10, 100, 1000):
            lines.append(f"{host},{size},{1e3 * size / 100e3 / share + 0.02:.6g}")
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


OPTIONS = [
    *("--model", "mine.yaml", "--free", "parameters.share=0.5..1@host,parameters.start=1us..90us"),
    *("--column", "parameters.size=megabytes [MB]", "--measured", "time=latency [ms]"),
]


def test_rows_with_names_of_their_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "rows.csv", *OPTIONS, "--fitted", "found.yaml"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "mine was compared with 12 rows of time" in text
    assert "Each of 3 groups predicted from the others" in text
    assert main(["check", "found.yaml"]) == 0
    options = ["--fitted", "found.yaml", "--set", "fitted.host=b", "--json"]
    assert main(["solve", "mine.yaml", *options]) == 0
    (answer,) = json.loads(capsys.readouterr().out.splitlines()[-1])["answers"]
    time = answer["values"]["time"]
    assert time["low"] < 1e-2 / 0.7 + 20e-6 < time["high"]
    assert time["value"] == pytest.approx(1e-2 / 0.7 + 20e-6, rel=0.01)


def test_a_document_has_every_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "rows.csv", *OPTIONS, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in document["estimation"]["groups"]] == ["a", "b", "c"]
    fitted = document["fitted"]
    assert len(fitted["covariance"]) == len(fitted["unknowns"]) == 5


def test_headings_that_are_paths_need_no_option(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plain.csv").write_text("size [MB],time [ms]\n1,0.03\n100,1.02\n1000,10.02\n")
    assert main(["fit", "plain.csv", "--model", "mine.yaml", "--free", "parameters.rate"]) == 0
    assert "parameters.rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "mine.yaml", "--group", "host"], "say which parameters of the model are free"),
        (["--free", "parameters.share", "--group", "host"], "name one model"),
        ([*OPTIONS, "--group", "hots"], "no column 'hots'; did you mean 'host'?"),
        ([*OPTIONS, "--column", "size"], "write OURS=COLUMN"),
        ([*OPTIONS, "--measured", "tme=host"], "has no value 'tme'; did you mean 'time'?"),
    ],
)
def test_mistakes_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert main(["fit", "rows.csv", *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_options_of_runs_are_refused_beside_a_file_of_fitted_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With them the table would be read in another way, and the number of processors would not
    count.
    """
    options = ["--model", "mine.yaml", "--free", "parameters.share=0.5..1", "--population"]
    options += ["parameters.size", "--at", "8", "--fitted", "found.yaml"]
    assert main(["fit", "rows.csv", *options]) == 2
    message = capsys.readouterr().err
    assert "--population, --at have no effect" in message
    assert "--column parameters.size=COLUMN, of host, megabytes, latency" in message
    assert not (folder / "found.yaml").exists()


CAUSES = """
activity: 1
parameters: {p: 8, shared: 190 s, serial: 5 s, step: 500 ms}
population: {processors: 1}
cycle:
  - {name: shared, delay: shared / p}
  - {name: serial, delay: serial}
  - {name: mpi, delay: step * log2(p), component: mpi}
"""


def test_a_cause_that_is_absent_on_one_core_is_fitted_on_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages take no time on one core, which has no logarithm."""
    (folder / "causes.yaml").write_text(CAUSES)
    rows = [(p, 4 + 196 / p + 0.6 * math.log2(p), 0.6 * math.log2(p)) for p in (1, 2, 4, 8, 16)]
    lines = ["cores,time [s],MPI time [s]", *(f"{p},{time},{mpi}" for p, time, mpi in rows)]
    (folder / "cores.csv").write_text("\n".join(lines))
    options = ["--model", "causes.yaml", "--free", "parameters.serial,parameters.step"]
    options += ["--set", "parameters.shared=196 s", "--column", "parameters.p=cores"]
    options += ["--measured", "time=time", "--measured", "account[mpi]=MPI time"]
    assert main(["fit", "cores.csv", *options]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 cell of MPI time is 0 and left out, as errors are relative" in text
    assert main(["fit", "cores.csv", *options, "--json"]) == 0
    estimation = json.loads(capsys.readouterr().out)["estimation"]
    values = {entry["path"]: entry["value"] for entry in estimation["parameters"]}
    assert values["parameters.step"] == pytest.approx(0.6, rel=1e-3)
    assert values["parameters.serial"] == pytest.approx(4.0, rel=1e-3)
    lines[2] = lines[2].replace(",0.6", ",-0.6")
    (folder / "cores.csv").write_text("\n".join(lines))
    assert main(["fit", "cores.csv", *options]) == 2
    assert "a measured value is at least 0; got -0.6" in capsys.readouterr().err
    lines = [
        line if index == 0 else line.rpartition(",")[0] + ",0" for index, line in enumerate(lines)
    ]
    (folder / "cores.csv").write_text("\n".join(lines))
    assert main(["fit", "cores.csv", *options]) == 2
    assert "no cell of MPI time is above 0" in capsys.readouterr().err


@pytest.mark.turns(6)
def test_few_rows_do_not_blame_a_base_with_the_causes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of seven rows the criterion counts a third parameter by 14; the base is right all the
    same.
    """
    (folder / "causes.yaml").write_text(CAUSES)
    noise = [1.011, 0.994, 1.007, 0.99, 1.004, 0.996, 1.01]
    lines = ["cores,time [s],MPI time [s]"]
    for index, factor in enumerate(noise):
        mpi = 0.6 * index
        lines.append(f"{2**index},{(4 + 196 / 2**index + mpi) * factor},{mpi}")
    (folder / "cores.csv").write_text("\n".join(lines))
    free = ["parameters.shared", "parameters.serial", "parameters.step"]
    fit = {"data": "cores.csv", "free": free, "population": "parameters.p", "at": [128]}
    study = {
        "study": 1,
        "title": "How fast is it on 128 cores?",
        "base": {"model": "causes.yaml", "parameters.p": 128},
        "fits": {"rows": fit},
    }
    result = run(study).questions["fits"]
    assert isinstance(result, FitsResult)
    fitting = result.fits["rows"]
    assert fitting.answers[0].model == "measured-causes"
    assert not any("do not support" in warning for warning in fitting.warnings)
    assert any("the rows are too few to decide between" in text for text in fitting.warnings)
