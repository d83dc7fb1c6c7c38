"""The pages of the documentation: they show what their commands print, files that they name exist,
and they are built. Examples are doctests.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from subprocess import run

import pytest

from docs.references import PUBLIC
from slipstick import LAWS
from slipstick.cli.main import cli, main
from slipstick.schema.library import KINDS
from slipstick.study.check import check_file
from tests.house.code import ROOT
from tests.notebook import executed
from tests.pages import CONSOLE, FOLDER, TEXTS, missing_pictures, rewritten

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
def test_a_page_shows_what_its_commands_print_today(page: str, tmp_path: Path) -> None:
    """`python -m tests.pages` writes the pages that differ."""
    assert rewritten(page, tmp_path) == TEXTS[page]
    assert missing_pictures(page, tmp_path) == []
    assert [block for block in CONSOLE.findall(TEXTS[page]) if "$ slipstick" not in block[1]] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_shows_what_its_cells_give_today(path: Path) -> None:
    notebook = json.loads(path.read_text())
    kept = [each["outputs"] for each in notebook["cells"] if each["cell_type"] == "code"]
    assert sum(map(len, kept)) > 9
    assert executed(notebook) == kept


def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    """Pages are read and their references resolved; only `make docs` writes HTML."""
    switches = ["-q", "-W", "-E", "-b", "dummy", "-c", str(ROOT / "docs")]
    built = run(
        [sys.executable, "-m", "sphinx", *switches, FOLDER, tmp_path],
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr


def test_the_references_have_every_kind_law_command_and_name() -> None:
    assert all(f"\n## {kind}\n" in TEXTS["keys.md"] for kind in KINDS)
    assert TEXTS["laws-reference.md"].count("```math") == len(LAWS)
    assert all(f"Usage: slipstick {name} " in TEXTS["commands.md"] for name in cli.commands)
    assert all(f"\n## {name}\n" in TEXTS["python.md"] for name in PUBLIC)


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
