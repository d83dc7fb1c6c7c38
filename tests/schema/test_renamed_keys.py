"""A key that got another name is read by its old one, with a note at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import run
from slipstick.cli.main import main
from slipstick.errors import SpecError

STUDY = "study: 1\nbase: {model: lock-and-bus}\n%s: {fast: {parameters.work: 5 ms}}\n"


def test_an_old_key_is_read_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(STUDY % "what_if")
    assert main(["check", str(tmp_path / "s.yaml")]) == 0
    note = f"{tmp_path}/s.yaml:3:1: what_if: write cases; the old name is read in this version only"
    assert capsys.readouterr().err.strip() == note
    (tmp_path / "s.yaml").write_text(STUDY % "cases")
    assert main(["check", str(tmp_path / "s.yaml")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.turns(4)
def test_both_names_give_the_same_answers() -> None:
    base, cases = {"model": "lock-and-bus"}, {"fast": {"parameters.work": "5 ms"}}
    answers = [run({"study": 1, "base": base, key: cases}) for key in ("what_if", "cases")]
    times = [answer.cases["fast"]["time"] for answer in answers]
    assert times[0] == times[1] is not None


def test_a_key_by_both_names_is_refused() -> None:
    study = {"study": 1, "base": {"model": "lock-and-bus"}, "what_if": {}, "cases": {}}
    with pytest.raises(SpecError, match="the key cases stands there too; write one of them"):
        run(study)
