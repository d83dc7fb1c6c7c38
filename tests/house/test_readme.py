"""README's commands run as they stand; its Python examples are doctests already."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.schema.kinds.study import StudySpec
from tests.house.code import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ slipstick (.+)$", README, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_readme_runs(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "specs").symlink_to(ROOT / "specs")  # what a command writes stays out of the checkout
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out


def test_the_study_of_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = next(block for block in re.findall(r"```yaml\n(.+?)```", README, re.DOTALL) if block.startswith("study"))
    (tmp_path / "mine.yaml").write_text(study)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "mine.yaml"]) == 0
    assert (tmp_path / "reports" / "mine" / "report.md").is_file()


def test_the_mistakes_of_readme_are_named_as_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my-machine.yaml"
    path.write_text(
        "machine: 1\nprocessors: {count: 4}\nsystem: {signal: 5 us}\nmemory: {page: 4096}\n# a typo\nnetwerk: atm-oc3\n"
    )
    assert main(["check", str(path)]) == 2
    shown = re.search(r"```text\n(.+?)```", README, re.DOTALL)
    assert shown is not None
    printed = capsys.readouterr().err.replace(f"{tmp_path}/", "").removeprefix("error: ")
    assert printed == shown[1]


def test_readme_names_every_study_once_with_its_report() -> None:
    named = re.findall(r"^\| \[([a-z-]+)\]\(reports/([a-z-]+)/report\.md\) \|", README, re.MULTILINE)
    assert all(name == folder for name, folder in named)
    assert sorted(name for name, _ in named) == sorted(
        path.stem for path in (ROOT / "specs" / "studies").glob("*.yaml")
    )


def test_what_readme_links_to_is_there() -> None:
    assert [path for path in re.findall(r"\]\(([^)#:]+)\)", README) if not (ROOT / path).exists()] == []


def test_the_questions_of_readme_are_keys_of_a_study() -> None:
    table = README.partition("| key | question |\n")[2].partition("\n\n")[0]
    named = [key for line in table.splitlines()[1:] for key in re.findall(r"`([a-z_]+)`", line.split("|")[1])]
    assert len(named) > 9
    assert set(named) <= StudySpec.model_fields.keys()
