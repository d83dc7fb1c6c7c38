"""The folder of a report: whole or untouched, the same bytes each time."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from slipstick.errors import InputError
from slipstick.report.folder import INPUTS, MOST_EARLIER, manifest_and_changes
from slipstick.report.write import HTML, certain_file_names, missing_pictures, write
from tests.report.made_up import SMALL_RESULTS, STUDY

FILES = [
    "report.md",
    "details.md",
    "results.csv",
    "bars.png",
    "bars.svg",
    "lines.png",
    "lines.svg",
    "inputs.yaml",
]
COMMAND = "slipstick run demo"

INPUTS_TEXT = f"""\
command: slipstick run demo
versions:
  slipstick: 0.1.0
  numpy: '2.0'
hashes:
  specs/studies/demo.yaml: '{"0" * 64}'
files:
  report.md: HASH
  details.md: HASH
  results.csv: HASH
  bars.png: drawn
  bars.svg: drawn
  lines.png: drawn
  lines.svg: drawn
settings:
  base: {{}}
  faster:
    machine.processors.speed: '2'
  broken:
    parts: 1e308
resolved:
  base:
    parts: 3
    sizes:
    - 20.0
    - 4120.0
    same:
    - 1
    again:
    - 1
"""


@pytest.mark.turns(4)
def test_a_report_is_a_folder_with_everything_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "demo"
    assert write(SMALL_RESULTS, STUDY, folder, COMMAND) == [folder / name for name in FILES]
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert [path.name for path in folder.parent.iterdir()] == ["demo"]


@pytest.mark.turns(4)
def test_the_inputs_word_for_word(tmp_path: Path) -> None:
    write(SMALL_RESULTS, STUDY, tmp_path / "demo", COMMAND)
    assert _inputs(tmp_path / "demo") == INPUTS_TEXT


@pytest.mark.turns(6)
def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    write(SMALL_RESULTS, STUDY, tmp_path / "one", COMMAND)
    write(SMALL_RESULTS, STUDY, tmp_path / "two", COMMAND)
    write(SMALL_RESULTS, STUDY, tmp_path / "two", COMMAND)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")


@pytest.mark.turns(4)
def test_parts_that_are_shared_are_written_out_not_referred_to(tmp_path: Path) -> None:
    shared = {"sizes": [20.0]}
    results = replace(SMALL_RESULTS, resolved={"base": shared, "faster": shared})
    write(results, STUDY, tmp_path / "demo", COMMAND)
    text = (tmp_path / "demo" / INPUTS).read_text()
    assert "&" not in text
    assert yaml.safe_load(text)["resolved"] == {"base": shared, "faster": shared}


@pytest.mark.turns(4)
def test_pictures_that_are_not_drawn_any_more_go_and_other_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    write(SMALL_RESULTS, STUDY, folder, COMMAND)
    (folder / "mine.png").write_bytes(b"mine")
    write(SMALL_RESULTS, STUDY.model_copy(update={"pictures": STUDY.pictures[:1]}), folder, COMMAND)
    assert sorted(path.name for path in folder.iterdir()) == [
        "bars.png",
        "bars.svg",
        "details.md",
        "inputs.yaml",
        "mine.png",
        "report.md",
        "results.csv",
    ]


@pytest.mark.turns(5)
def test_a_report_whose_inputs_are_longer_than_what_is_read_of_them_is_replaced(
    tmp_path: Path,
) -> None:
    resolved = {"base": {"text": "\nfiles: {}\nsettings: " * (MOST_EARLIER // 16)}}
    for _ in range(2):
        write(replace(SMALL_RESULTS, resolved=resolved), STUDY, tmp_path / "demo", COMMAND)
    assert (tmp_path / "demo" / INPUTS).stat().st_size > MOST_EARLIER
    assert manifest_and_changes(tmp_path / "demo")[1] == []


@pytest.mark.turns(4)
def test_a_page_is_listed_and_goes_when_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    write(SMALL_RESULTS, STUDY, folder, COMMAND, as_page=True)
    assert (folder / HTML).exists()
    assert manifest_and_changes(folder)[0]["files"][HTML] == "drawn"
    write(SMALL_RESULTS, STUDY, folder, COMMAND)
    assert not (folder / HTML).exists()
    (folder / HTML).write_text("of another program")
    with pytest.raises(InputError, match=r"has report\.html, which no report"):
        write(SMALL_RESULTS, STUDY, folder, COMMAND, as_page=True)


@pytest.mark.turns(4)
def test_the_names_that_are_sure_are_written(tmp_path: Path) -> None:
    files = write(SMALL_RESULTS, STUDY, tmp_path / "demo", COMMAND, as_page=True)
    assert {*certain_file_names(STUDY, as_page=True)} == {path.name for path in files} - {
        "details.md"
    }


@pytest.mark.turns(4)
def test_an_interrupt_while_drawing_leaves_the_old_report_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    write(SMALL_RESULTS, STUDY, folder, COMMAND)
    before = _bytes(folder)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slipstick_pictures.pictures.draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(replace(SMALL_RESULTS, title="Another"), STUDY, folder, COMMAND)
    assert _bytes(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_without_the_extra_for_pictures_a_note_stands_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("matplotlib", "polars", "tqdm"):
        monkeypatch.setitem(sys.modules, library, None)
    names = [path.name for path in write(SMALL_RESULTS, STUDY, tmp_path / "demo", COMMAND)]
    assert names == ["report.md", "details.md", "results.csv", "inputs.yaml"]
    text = (tmp_path / "demo" / "report.md").read_text()
    note = missing_pictures(STUDY)
    assert note.endswith("of this study needs matplotlib: pip install 'slipstick[report]'")
    assert note in text.replace("\\", "")
    assert ".png" not in text
    assert "## Pictures" not in text


def _bytes(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _inputs(folder: Path) -> str:
    """Read the inputs; hashes that are right are put as a word."""
    text = (folder / INPUTS).read_text()
    for name in ("report.md", "details.md", "results.csv"):
        text = text.replace(sha256((folder / name).read_bytes()).hexdigest(), "HASH")
    return text
