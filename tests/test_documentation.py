"""The guides in the package: their snippets run, and the files that they name exist."""

from __future__ import annotations

import doctest
import re
import shlex
from importlib.resources import files
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.study.check import check_file
from tests.house.code import ROOT

GUIDES = ("counts.md", "extending.md", "glossary.md")
TEXTS = {name: (files("slipstick") / "documentation" / name).read_text() for name in GUIDES}
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")
PATHS = [
    path
    for text in TEXTS.values()
    for path in re.findall(r"`((?:models|specs|tests|benchmarks)/[^` ]+)`", text)
    if not PLACEHOLDER.search(path)
]
SPECS = re.findall(r"```yaml\n(.+?)```", TEXTS["extending.md"], re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", TEXTS["extending.md"], re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_a_guide_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("title", SECTIONS)
def test_a_recipe_has_a_snippet_that_runs(title: str) -> None:
    assert "```" in SECTIONS[title]
    snippet = doctest.DocTestParser().get_doctest(SECTIONS[title], {}, title, None, 0)
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(snippet).failed == 0


@pytest.mark.parametrize("spec", SPECS)
def test_a_spec_of_the_guide_is_valid(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(spec)
    assert check_file(path) == spec.partition(":")[0]


def test_the_commands_from_counts_to_ten_years_ahead_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, spec in re.findall(r"```yaml\n# (\S+)\n(.+?)```", TEXTS["counts.md"], re.DOTALL):
        Path(name).write_text(spec)
    commands = re.findall(r"^\$ slipstick (.+)$", TEXTS["counts.md"], re.MULTILINE)
    assert [main(shlex.split(each)) for each in commands] == [0, 0, 0]
    assert (tmp_path / "ahead" / "ahead.png").exists()


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
