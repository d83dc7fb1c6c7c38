"""README's commands run as they stand; its Python examples are doctests already."""

from __future__ import annotations

import re
import shlex
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import slipstick
from slipstick.cli.main import main
from slipstick.schema.kinds.study import study_model
from tests.house.code import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ slipstick (.+)$", README, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_readme_runs(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "specs").symlink_to(
        ROOT / "specs"
    )  # what a command writes stays out of the checkout
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out


def test_the_study_of_readme_finds_what_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = next(
        block
        for block in re.findall(r"```yaml\n(.+?)```", README, re.DOTALL)
        if block.startswith("study")
    )
    (tmp_path / "mine.yaml").write_text(study)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "mine.yaml"]) == 0
    report = (tmp_path / "reports" / "mine" / "report.md").read_text()
    (said,) = re.findall(r"```text\n(- .+?)```", README, re.DOTALL)
    assert said in report


def test_the_mistakes_of_readme_are_named_as_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my-machine.yaml"
    path.write_text(
        "machine: 1\nprocessors: {count: 4}\nsystem: {signal: 5 us}\nmemory: {page: 4096}\n# a"
        " typo\nnetwerk: atm-oc3\n"
    )
    assert main(["check", str(path)]) == 2
    shown = re.search(r"```text\n(my-.+?)```", README, re.DOTALL)
    assert shown is not None
    printed = capsys.readouterr().err.replace(f"{tmp_path}/", "").removeprefix("error: ")
    assert printed == shown[1]


def test_the_gallery_has_every_study_and_readme_the_stories() -> None:
    gallery = (ROOT / "reports" / "README.md").read_text()
    studies = {path.stem for path in (ROOT / "specs" / "studies").glob("*.yaml")}
    assert (
        set(re.findall(r"^## \[.+\]\(([a-z0-9-]+)/report\.md\)$", gallery, re.MULTILINE)) == studies
    ), "write the gallery again: slipstick gallery reports/*/ --out reports/README.md"
    named = re.findall(r"^\| `([a-z-]+)` \| .+\?", README, re.MULTILINE)
    assert len(named) == 8
    assert set(named) <= studies


def test_readme_works_where_no_file_is_beside_it() -> None:
    found = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert found is not None
    assert found.loader is not None
    build = module_from_spec(found)
    found.loader.exec_module(build)
    alone = build.readme_of_index(README)
    assert README.count("![") == 1
    assert re.findall(r"\]\((?!https?:)", alone) == []
    assert "methods and their measured errors" in alone
    linked = build.readme_of_index(README, "https://example.org/tree/main/")
    assert len(re.findall(r"\]\(https://example\.org/tree/main/\w", linked)) == len(
        re.findall(r"\]\(", README)
    )


def test_what_readme_links_to_is_there() -> None:
    assert [
        path for path in re.findall(r"\]\(([^)#:]+)\)", README) if not (ROOT / path).exists()
    ] == []


def test_the_questions_of_the_page_on_studies_are_keys_of_a_study() -> None:
    page = (ROOT / "models" / "slipstick" / "documentation" / "studies.md").read_text()
    table = page.partition("| key | question | for example |\n")[2].partition("\n\n")[0]
    named = [
        key
        for line in table.splitlines()[1:]
        for key in re.findall(r"`([a-z_]+)`", line.split("|")[1])
    ]
    assert len(named) > 9
    assert set(named) <= study_model().model_fields.keys()


def test_the_first_answer_of_readme_is_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"\$ slipstick solve lock-and-bus\n(.+?)```", README, re.DOTALL)
    assert main(["solve", "lock-and-bus"]) == 0
    assert set(shown.splitlines()) <= set(capsys.readouterr().out.splitlines())


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {slipstick.__version__}\n" in citation
