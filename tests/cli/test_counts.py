"""The command that counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from slipstick.cli.main import main
from slipstick.program import counted_program

SMALL = [
    "--set",
    "rows=64",
    "--set",
    "columns=200",
    "--set",
    "iterations=2",
    "--set",
    "processors=4",
]


def test_counts_are_written_with_their_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.yaml"
    assert main(["counts", "sor", *SMALL, "--out", str(path)]) == 0
    read = yaml.safe_load(path.read_text())
    assert read["command"] == " ".join(["slipstick counts sor", *SMALL])
    assert (
        read["phases"]
        == counted_program("sor")
        .count(rows=64, columns=200, iterations=2, processors=4)
        .to_dict()["phases"]
    )
    assert main(["check", str(path)]) == 0
    assert "a valid counts" in capsys.readouterr().out
    assert main(["counts", "sor", *SMALL]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == read
    assert main(["counts", "sor", *SMALL, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == read


def test_what_cannot_be_counted_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["counts", "sor", "--set", "rows=many"]) == 2
    assert "rows: write a plain number, such as 1000" in capsys.readouterr().err
    assert main(["counts", "sorr"]) == 2
    assert "did you mean 'sor'?" in capsys.readouterr().err
    assert main(["counts", "water", "--set", "molecule=3"]) == 2
    assert "did you mean 'molecules'?" in capsys.readouterr().err
