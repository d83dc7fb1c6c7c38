"""The pages of the documentation: their commands run, files that they name exist, and they are
built. Examples are doctests.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib.resources import files
from pathlib import Path
from subprocess import run

import pytest

from slipstick import LAWS
from slipstick.cli.main import cli, main
from slipstick.schema.library import KINDS
from slipstick.study.check import check_file
from tests.calibration import use_made_times
from tests.house.code import ROOT
from tests.notebook import executed
from tests.reports import SLOW, STUDIES

FOLDER = Path(str(files("slipstick") / "documentation"))
TEXTS = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.md"))}
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")
PATHS = [
    path
    for text in TEXTS.values()
    for path in re.findall(r"`((?:models|specs|tests|benchmarks)/[^` ]+)`", text)
    if not PLACEHOLDER.search(path)
]
SPECS = re.findall(r"```yaml\n(.+?)```", TEXTS["extending.md"], re.DOTALL)
SECTIONS = dict(
    re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", TEXTS["extending.md"], re.DOTALL | re.MULTILINE)
)

REBUILT = {*STUDIES} - {*SLOW}
"""Shipped studies that ``tests/house/test_specs.py`` runs and writes whole; they are not run
again here.
"""


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_a_guide_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("title", SECTIONS)
def test_a_recipe_has_a_snippet(title: str) -> None:
    assert "```" in SECTIONS[title]


@pytest.mark.parametrize("spec", SPECS)
def test_a_spec_of_the_guide_is_valid(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(spec)
    assert check_file(path) == spec.partition(":")[0]


@pytest.mark.parametrize("page", TEXTS)
def test_the_files_and_commands_of_a_page_work_in_an_empty_folder(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if "slipstick calibrate" in TEXTS[page]:
        use_made_times(monkeypatch)
    for name, data in re.findall(r"```text (\S+)\n(.+?)```", TEXTS[page], re.DOTALL):
        Path(name).write_text(data)
    for name, spec in re.findall(r"```yaml\n# (\S+)\n(.+?)```", TEXTS[page], re.DOTALL):
        Path(name).write_text(spec)
    for command in re.findall(r"^\$ slipstick (.+)$", TEXTS[page], re.MULTILINE):
        if (study := re.fullmatch(r"run (\S+) --out \S+", command)) and study[1] in REBUILT:
            continue
        # A page in which the model runs takes half of the time; tests/report/test_live.py makes
        # those of both kinds of model.
        whole = [*shlex.split(command), *["--no-html"] * command.startswith("run ")]
        assert main(whole) == 0, (command, capsys.readouterr().err)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_shows_what_its_cells_give_today(path: Path) -> None:
    notebook = json.loads(path.read_text())
    kept = [each["outputs"] for each in notebook["cells"] if each["cell_type"] == "code"]
    assert sum(map(len, kept)) > 9
    assert executed(notebook) == kept


def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    built = run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-c", ROOT / "docs", FOLDER, tmp_path],
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    keys = (tmp_path / "keys.html").read_text()
    assert all(f">{kind}<" in keys for kind in KINDS)
    assert (tmp_path / "laws-reference.html").read_text().count("<math") == len(LAWS)
    commands = (tmp_path / "commands.html").read_text()
    assert all(f"Usage: slipstick {name} " in commands for name in cli.commands)
    assert "slipstick.closed_model" in (tmp_path / "python.html").read_text()


def test_the_glossary_has_each_term_once() -> None:
    terms = re.findall(r"^- \*\*(.+?)\*\*: \S", TEXTS["glossary.md"], re.MULTILINE)
    assert len(terms) == len(set(terms)) > 80
    assert TEXTS["glossary.md"].count("\n- ") == len(terms)


def test_the_glossary_is_printed_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["glossary"]) == 0
    assert capsys.readouterr().out == TEXTS["glossary.md"]
    assert main(["glossary", "RESIDENCE"]) == 0
    assert capsys.readouterr().out.startswith("residence time: time at a station")
    assert main(["glossary", "residense time"]) == 2
    assert "did you mean 'residence time'?" in capsys.readouterr().err
