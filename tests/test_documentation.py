"""The pages of the documentation: they show what their commands print, files that they name exist,
and they are built. Examples are doctests.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import run

import pytest

from docs.references import PUBLIC
from slipstick import LAWS
from slipstick.cli.main import cli, main
from slipstick.schema.library import KINDS
from slipstick.study.check import check_file
from tests.examples import PART
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


@pytest.mark.turns(4)
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


LONG = ("counts.md", "locks.md", "measured.md", "rounds.md", "services.md", "trends.md")
"""Pages whose commands take over five processor seconds: ``make thorough`` runs them."""


@pytest.mark.turns(8)
@pytest.mark.parametrize("page", [page for page in TEXTS if PART >= 1 or page not in LONG])
def test_a_page_shows_what_its_commands_print_today(page: str, tmp_path: Path) -> None:
    """`python -m tests.pages` writes the pages that differ."""
    assert _changed_lines(rewritten(page, tmp_path), TEXTS[page]) == []
    assert missing_pictures(page, tmp_path) == []
    assert [block for block in CONSOLE.findall(TEXTS[page]) if "$ slipstick" not in block[1]] == []


def test_each_command_of_a_console_block_is_followed_by_its_output() -> None:
    """`python -m tests.pages` writes the outputs of pages; those of README stand as they are."""
    pages = {
        **TEXTS,
        **{name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")},
    }
    silent = [
        (page, command)
        for page, text in pages.items()
        for _, block in CONSOLE.findall(text)
        for command, output in _COMMAND_AND_OUTPUT.findall(block) or [(block, "")]
        if not output.strip()
    ]
    assert silent == []
    assert _COMMAND_AND_OUTPUT.findall("$ a \\\n  b\n$ c\nprinted\n") == [
        ("a \\\n  b", ""),
        ("c", "printed\n"),
    ]


_COMMAND_AND_OUTPUT = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)

_ESTIMATE = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")
_PART_OF_INTERVAL = 0.1
"""How far simulated numbers may be apart, as a part of their interval. The last digits of
logarithms differ from processor to processor; in a run of a million events two events then change
places, after which the runs differ as two seeds do."""


def _changed_lines(text: str, kept_text: str) -> list[str]:
    """Return the lines of a page that say something else, beyond the noise of simulated values."""
    lines, kept_lines = text.splitlines(), kept_text.splitlines()
    if len(lines) != len(kept_lines):
        return [f"{len(lines)} lines, {len(kept_lines)} in the page"]
    return [
        line
        for line, kept_line in zip(lines, kept_lines, strict=True)
        if line != kept_line and not _same_but_for_noise(line, kept_line)
    ]


def _same_but_for_noise(line: str, kept_line: str) -> bool:
    """Return whether two lines differ in values with intervals alone, by a part of these at
    most.
    """
    other_words, kept_words = (_ESTIMATE.sub("", text).split() for text in (line, kept_line))
    estimates, kept_estimates = map(_ESTIMATE.findall, (line, kept_line))
    return (
        other_words == kept_words
        and len(estimates) == len(kept_estimates)
        and all(map(_is_near, estimates, kept_estimates))
    )


def _is_near(estimate: Sequence[str], kept_estimate: Sequence[str]) -> bool:
    """Return whether a value and its interval differ by a part of the interval at most."""
    _, kept_low, kept_high = map(float, kept_estimate)
    largest_difference = _PART_OF_INTERVAL * (kept_high - kept_low)
    return all(
        abs(float(number) - float(kept_number)) <= largest_difference
        for number, kept_number in zip(estimate, kept_estimate, strict=True)
    )


@pytest.mark.parametrize(
    ("line", "is_same"),
    [
        ("wait[cpu]   1.754   1.797 (1.741 to 1.854) s", True),
        ("wait[cpu]   1.755   1.797 (1.741 to 1.854) s", False),
        ("wait[cpu]   1.754   1.82 (1.76 to 1.88) s", False),
        ("wait[fast]  1.754   1.797 (1.741 to 1.854) s", False),
        ("wait[cpu]   1.754", False),
    ],
)
def test_simulated_numbers_may_differ_by_a_part_of_their_interval(line: str, is_same: bool) -> None:
    assert _same_but_for_noise(line, "wait[cpu]  1.754  1.798 (1.74 to 1.855) s") == is_same


@pytest.mark.turns(4)
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_shows_what_its_cells_give_today(path: Path) -> None:
    notebook = json.loads(path.read_text())
    kept = [each["outputs"] for each in notebook["cells"] if each["cell_type"] == "code"]
    assert sum(map(len, kept)) > 9
    assert executed(notebook) == kept


@pytest.mark.turns(10)
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


def test_pages_that_take_long_exist() -> None:
    assert {*LONG} < {*TEXTS}


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
    assert capsys.readouterr().out.startswith("residence time: waiting and service at a station")
    assert main(["glossary", "residense time"]) == 2
    assert "did you mean 'residence time'?" in capsys.readouterr().err
