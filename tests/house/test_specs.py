"""Every shipped spec is valid, and every report is what its study gives today."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.schema.library import FOLDERS
from slipstick.study.check import check_file
from tests.reports import SLOW, STUDIES, changed_cells, changed_inputs, differences

SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.yaml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_valid(path: Path) -> None:
    kinds = {folder: kind for kind, folder in FOLDERS.items()}
    assert check_file(path) == kinds[path.parent.name]


@pytest.mark.parametrize("study", sorted({*STUDIES} - {*SLOW}))
def test_a_report_is_current(study: str, tmp_path: Path) -> None:
    assert not list(differences(study, tmp_path))


@pytest.mark.parametrize("study", SLOW)
def test_a_report_that_takes_long_has_its_inputs_and_a_sample_of_its_cells(study: str) -> None:
    assert not changed_inputs(study), "rebuild the report"
    assert not changed_cells(study)
