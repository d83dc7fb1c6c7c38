"""Every file of the shelf is read as it is right, or refused by name with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shelf.shelf import SHELF, VERDICTS, Case, cases, judged

CASES = cases()


@pytest.mark.turns(12)
@pytest.mark.parametrize("case", CASES, ids=[each.name for each in CASES])
def test_a_foreign_file_has_its_verdict(case: Case, tmp_path: Path) -> None:
    verdict = judged(case, tmp_path)
    assert verdict.verdict == case.expected, verdict.why


def test_every_reader_of_the_shelf_has_five_files() -> None:
    folders = {each.name for each in SHELF.iterdir() if (each / "cases.yaml").exists()}
    few = {
        name for name in folders if len({case.file for case in CASES if case.reader == name}) < 5
    }
    assert few == set()


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"right": {"throughput": {"value": 2.0, "tolerance": 1e-6}}}, "right"),
        ({"right": {"throughput": 3.0}}, "wrong"),
        ({"says": ["no such word"]}, "wrong"),
        ({"refused": ["anything"]}, "wrong"),
        ({"run": ["solve {file} --with gueswork --json"]}, "refused badly"),
        (
            {"run": ["solve {file} --with gueswork --json"], "refused": ["gueswork", "known"]},
            "refused well",
        ),
    ],
)
def test_the_judge_tells_the_verdicts_apart(
    row: dict[str, object], verdict: str, tmp_path: Path
) -> None:
    import yaml

    folder = tmp_path / "reader"
    folder.mkdir()
    model = "activity: 1\npopulation: {processors: 1}\ncycle: [{delay: 0.5 s}]\n"
    (folder / "own.yaml").write_text(model)
    told = {"run": ["solve {file} --json"], "cases": [{"file": "own.yaml", **row}]}
    (folder / "cases.yaml").write_text(yaml.safe_dump(told))
    (case,) = cases(tmp_path)
    assert judged(case, tmp_path, tmp_path).verdict == verdict
    assert verdict in VERDICTS
