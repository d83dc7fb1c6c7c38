"""Every shipped spec is valid, and every report is what its study gives today."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
import yaml

from slipstick.report.pages.write import write
from slipstick.schema.library import FOLDERS
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from tests.house.code import ROOT

SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
STUDIES = sorted(path.stem for path in (ROOT / "specs" / "studies").glob("*.yaml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_valid(path: Path) -> None:
    kinds = {folder: kind for kind, folder in FOLDERS.items()}
    assert check_file(path) == kinds[path.parent.name]


@pytest.mark.parametrize("study", STUDIES)
def test_a_report_is_current(study: str, tmp_path: Path) -> None:
    prepared = prepare(study)
    written = write(run(prepared), prepared.spec, tmp_path / study, f"slipstick run {study}")
    kept = ROOT / "reports" / study
    assert sorted(path.name for path in written) == sorted(path.name for path in kept.iterdir())
    assert (tmp_path / study / "report.md").read_text() == (kept / "report.md").read_text()
    assert _alike(_cells(tmp_path / study), _cells(kept))
    assert _inputs(tmp_path / study) == _inputs(kept)


def _cells(folder: Path) -> list[list[str]]:
    with (folder / "results.csv").open(newline="") as file:
        return list(csv.reader(file))


def _alike(made: list[list[str]], kept: list[list[str]]) -> bool:
    """Compare tables; the last digits of logarithms and powers differ from processor to processor."""
    pairs = [pair for rows in zip(made, kept, strict=True) for pair in zip(*rows, strict=True)]
    return all(one == other or math.isclose(float(one), float(other), rel_tol=1e-11) for one, other in pairs)


def _inputs(folder: Path) -> dict[str, object]:
    """Read a report's inputs without the versions, which are those of the machine at hand."""
    inputs = yaml.safe_load((folder / "inputs.yaml").read_text())
    assert isinstance(inputs, dict)
    del inputs["versions"]
    return inputs
