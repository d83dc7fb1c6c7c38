"""Every shipped spec is valid, and every report is what its study gives today."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from slipstick.results.words import CODES
from slipstick.schema.library import KINDS
from slipstick.study.check import check_file
from tests.reports import SAMPLED, STUDIES, changed_cells, changed_inputs, differences

ROOT = Path(__file__).parents[2]
SPECS = sorted(each for each in (ROOT / "specs").rglob("*.yaml") if each.parent.name != "studies")
"""Studies are read by the tests below, and some by a process without NumPy: tests/cli."""


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in SPECS}))
def test_every_shipped_spec_is_valid(folder: str) -> None:
    kinds = {each.folder: kind for kind, each in KINDS.items()}
    for path in SPECS:
        if path.parent.name == folder:
            assert check_file(path) == kinds[folder], path.stem


@pytest.mark.turns(4)
@pytest.mark.parametrize("study", sorted({*STUDIES} - {*SAMPLED}))
def test_a_report_is_current(study: str, tmp_path: Path) -> None:
    assert not list(differences(study, tmp_path))


@pytest.mark.turns(4)
@pytest.mark.parametrize("study", SAMPLED)
def test_a_report_that_takes_long_has_its_inputs_and_a_sample_of_its_cells(study: str) -> None:
    assert not changed_inputs(study), "rebuild the report"
    assert not changed_cells(study)


_NEEDS_A_FIRST_MODE = re.compile(r"(?:they|it|its|only its|of|the same)\b")


def test_each_mode_of_a_quantity_is_a_clause_that_stands_alone() -> None:
    meanings = re.findall(
        r"meaning: (?:\"([^\"]+)\"|([^,}\n]+))", "\n".join(path.read_text() for path in SPECS)
    )
    modes = [mode.strip() for pair in meanings for _, mode in CODES.findall(pair[0] or pair[1])]
    assert len(modes) >= 8
    assert [mode for mode in modes if _NEEDS_A_FIRST_MODE.match(mode)] == []


def changed_files(inputs: Path) -> Iterator[str]:
    """Yield the files of a report that have another hash than its inputs tell."""
    files = yaml.load(inputs.read_text(encoding="utf-8"), yaml.CSafeLoader)["files"]
    for name, told in files.items():
        if sha256((inputs.parent / name).read_bytes()).hexdigest() != told != "drawn":
            yield f"{inputs.parent.name}/{name}"


def test_reports_tell_the_hashes_of_their_files() -> None:
    reports = sorted((ROOT / "reports").glob("*/inputs.yaml"))
    assert len(reports) > 40
    assert [name for inputs in reports for name in changed_files(inputs)] == []


EXPECTED_MISSES = yaml.safe_load(
    (ROOT / "tests" / "published" / "misses.yaml").read_text(encoding="utf-8")
)


def test_the_statements_that_do_not_hold_in_a_report_are_those_expected() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "reports").glob("*/statements*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        found.setdefault(path.parent.name, []).extend(
            r["name"] for r in rows if r["verdict"] in ("miss", "undecided")
        )
    assert found == EXPECTED_MISSES


def _cause(statements: dict[str, dict[str, Any]], name: str) -> str:
    """Return the cause of a miss; one of several readings has that of its statement, or its own,
    or none where only the bound of the other reading decides.
    """
    if name in statements:
        return str(statements[name]["missed"])
    whole, _, number = name.rpartition("-")
    reading = [*statements[whole]["readings"].values()][int(number) - 1]
    return str(reading.get("missed") or statements[whole].get("missed", ""))


@pytest.mark.parametrize("study", [study for study, names in EXPECTED_MISSES.items() if names])
def test_the_cause_of_a_miss_has_computed_numbers_only(study: str) -> None:
    text = (ROOT / "specs" / "studies" / f"{study}.yaml").read_text(encoding="utf-8")
    spec = yaml.load(text, yaml.CSafeLoader)
    # A published cell of a scaling is a statement too, whose cause is the exponent that it implies.
    causes = {
        name: _cause(spec["statements"], name)
        for name in EXPECTED_MISSES[study]
        if "-to-" not in name
    }
    causes = {name: cause for name, cause in causes.items() if cause}
    for name, cause in causes.items():
        assert "{" in cause, name
        assert not re.search(r"[0-9]\.[0-9]|[0-9] ?(%|percent)", re.sub(r"\{.*?\}", "", cause)), (
            name
        )
