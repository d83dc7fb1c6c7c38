"""The command that holds a model against rows whose columns are its own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.cli.main import main

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
