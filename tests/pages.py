"""The pages of the documentation as the program writes them: outputs of commands, pictures and
references. ``python -m tests.pages`` writes them anew; a test compares them.

A console block has commands, each after ``$``, and below each what it prints. Words after
``console`` say what differs from that:

- ``first=12``: only the first 12 lines are shown, and the last line counts the others,
- ``once``: the output depends on the machine or on its speed, and stays as it was written,
- ``status=2``: the status of the commands.

A picture ``pictures/PAGE/FILE`` is the file of that name which the commands of the page write.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest

from docs.references import REFERENCES
from slipstick.cli.main import main
from tests.calibration import use_made_times

__all__ = ["CONSOLE", "FOLDER", "TEXTS", "missing_pictures", "rewritten"]

FOLDER = Path(str(files("slipstick") / "documentation"))
TEXTS = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.md"))}

CONSOLE = re.compile(r"^```console *([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_REFERENCE = re.compile(r"(<!-- written by the program -->\n).*?(<!-- end -->)", re.DOTALL)
_DATA = re.compile(r"^```(?:text (\S+)\n|yaml\n# (\S+)\n)(.+?)^```$", re.DOTALL | re.MULTILINE)
_ANNOUNCED = re.compile(
    r": about [0-9,]+ s(?: of processor time)?(?:; [0-9,]+ s with all announced before)?$"
)
"""How long work may take, which a slow machine says and a quick one does not."""

_PICTURE = re.compile(r"!\[[^\]]*\]\((pictures/[^)]+)\)")
_COLUMNS = "88"


@dataclass(frozen=True, slots=True)
class _Block:
    """A console block: its words, and the text between the fences."""

    words: tuple[str, ...]
    text: str

    def option(self, name: str, default: int) -> int:
        """Return the number of an option such as ``first=12``."""
        numbers = [int(word.partition("=")[2]) for word in self.words if word.startswith(name)]
        return numbers[0] if numbers else default

    def commands(self) -> list[str]:
        """Return the commands, each in one line of its own."""
        return re.findall(r"^\$ (.+?[^\\])$", self.text, re.DOTALL | re.MULTILINE)

    def executed(self) -> str:
        """Run the commands, and return the block with what they print."""
        printed = [(command, _output(command, self)) for command in self.commands()]
        text = "\n".join(f"$ {command}\n{output}" for command, output in printed)
        kept = self.text if "once" in self.words and len(self.text) > len(text) / 2 else text
        head = " ".join(("```console", *self.words))
        return f"{head}\n{kept.strip()}\n```"


def rewritten(page: str, work: Path) -> str:
    """Run the commands of a page in an empty folder, and return the page with their outputs.

    Parameters
    ----------
    page : name of its file
    work : an empty folder
    """
    text = TEXTS[page]
    for data, spec, content in _DATA.findall(text):
        (work / (data or spec)).write_text(content)
    with chdir(work), pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("COLUMNS", _COLUMNS)
        monkeypatch.setenv("NO_COLOR", "1")
        if page in REFERENCES:
            references = iter(REFERENCES[page])
            text = _REFERENCE.sub(
                lambda match: "\n".join((match[1], *next(references)(), match[2])), text
            )
        if "slipstick calibrate" in text:
            use_made_times(monkeypatch)
        return CONSOLE.sub(lambda match: _Block(tuple(match[1].split()), match[2]).executed(), text)


def _output(command: str, block: _Block) -> str:
    """Run a command, and return what a terminal shows, shortened as the block says."""
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    assert program == "slipstick", command
    screen = io.StringIO()
    # The model that moves in the page of a report takes half of the time of a run, and changes
    # nothing of what is printed.
    with (
        patch("slipstick.cli.main._live_section", return_value=None),
        # All points are kept, not those alone that take this machine more than a millisecond.
        patch("slipstick.study.journal.LEAST_SECONDS", 0.0),
        redirect_stdout(screen),
        redirect_stderr(screen),
    ):
        status = main(arguments)
    assert status == block.option("status", 0), f"{command}: {screen.getvalue()}"
    printed = [line.rstrip() for line in screen.getvalue().strip("\n").splitlines()]
    lines = [line for line in printed if not _ANNOUNCED.search(line)]
    most = block.option("first", len(lines))
    if len(lines) > most + 1:
        lines = [*lines[:most], f"... and {len(lines) - most} more lines"]
    return "".join(f"{line}\n" for line in lines)


def missing_pictures(page: str, work: Path) -> list[str]:
    """Name the pictures of a page that are not in the folder of the documentation, or that its
    commands did not write.
    """
    return [
        picture
        for picture in _PICTURE.findall(TEXTS[page])
        if not (FOLDER / picture).is_file() or not _made(picture, work).is_file()
    ]


def _made(picture: str, work: Path) -> Path:
    """Return the file that a command writes for a picture of a page."""
    return work.joinpath(*Path(picture).parts[2:])


def _write(page: str) -> None:
    """Write a page and its pictures anew."""
    with TemporaryDirectory() as folder:
        work = Path(folder)
        text = rewritten(page, work)
        if text != TEXTS[page] or missing_pictures(page, work):
            (FOLDER / page).write_text(text)
            for picture in _PICTURE.findall(text):
                (FOLDER / picture).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(_made(picture, work), FOLDER / picture)


def _pages(arguments: list[str]) -> Iterator[str]:
    for name in arguments or TEXTS:
        yield name if name.endswith(".md") else f"{name}.md"


if __name__ == "__main__":
    for name in _pages(sys.argv[1:]):
        _write(name)
