"""No reader of measurements takes more steps than in proportion to its text.

Steps are lines of Python, so that they do not depend on the machine; what regular expressions take
is counted in tests/house/test_growth.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick_measure.formats import read
from slipstick_measure.measurements import Hints
from slipstick_measure.readers.grid import MOST_COLUMNS
from tests.growth import lines_executed

FILES = Path(__file__).parent / "files"
SAMPLES = [min(folder.iterdir()) for folder in sorted(FILES.iterdir())]
SHORT, LONG = 30, 120
MOST_RATIO = 6.0
"""Steps for 4 times as much: 4, and a share of what is done once."""


def with_lines(text: str, count: int) -> str:
    """Repeat the last line with content."""
    lines = text.rstrip("\n").split("\n")
    return "\n".join(lines + lines[-1:] * count) + "\n"


def with_digits(text: str, count: int) -> str:
    """Lengthen the last number."""
    numbers = list(re.finditer("[0-9]+", text))
    end = numbers[-1].end() if numbers else len(text)
    return f"{text[:end]}{'1' * count}{text[end:]}"


def with_blanks(text: str, count: int) -> str:
    """Widen the last gap between words."""
    head, gap, tail = text.rstrip().rpartition(" ")
    return f"{head}{gap or ' '}{' ' * count}{tail}\n"


def with_cells(text: str, count: int) -> str:
    """Lengthen every line by cells of the kind that it has."""
    lines = text.rstrip("\n").split("\n")
    parting = max(",;\t|", key=lines[0].count)
    return "\n".join(line + f"{parting}1" * count for line in lines) + "\n"


@pytest.mark.turns(5)
@pytest.mark.parametrize("longer", [with_lines, with_digits, with_blanks, with_cells])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_a_reader_grows_as_its_text(
    sample: Path, longer: Callable[[str, int], str], tmp_path: Path
) -> None:
    text = sample.read_text()
    counts = []
    for count in (SHORT, LONG):
        path = tmp_path / f"{count}{sample.suffix}"
        path.write_text(longer(text, count))
        counts.append(lines_executed(partial(read, path, Hints(unit="s"))))
    assert counts[1] <= MOST_RATIO * counts[0]


@pytest.mark.turns(5)
@pytest.mark.parametrize("cell", ["3.5 %", "wrong"])
@pytest.mark.parametrize(
    "heading", ["wait", "busy [%]", "MPI time", "efficiency", "bandwidth", "speedup", "note"]
)
def test_a_table_grows_as_its_rows(heading: str, cell: str, tmp_path: Path) -> None:
    counts = []
    for count in (SHORT, LONG):
        rows = [f"{p},{100 / p:.4f},{cell},{cell}" for p in range(1, 4 * count)]
        path = tmp_path / f"{count}.csv"
        path.write_text("\n".join([f"p,time [s],{heading},wait [s]", *rows]) + "\n")

        def read_or_refuse(path: Path = path) -> None:
            with suppress(SpecError):
                read(path, Hints(unit="s"))

        counts.append(lines_executed(read_or_refuse))
    assert counts[1] <= MOST_RATIO * counts[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"p,time [s]\n1,{'1' * 1001}:00\n",
            "2:1: a number of more than 1,000 digits; write it shorter, as 1.5e9",
        ),
        (
            f"p,{'time [s],' * MOST_COLUMNS}x\n1,3\n",
            "1:1: 2,002 columns; a table has at most 2,000: split it",
        ),
        (f"p,time [s]\n1,{'x' * 10_001}\n", "a cell of 10,001 characters; a table has at most"),
    ],
)
def test_what_is_too_long_is_refused_at_its_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        read(path, Hints(unit="s"))
    assert words in str(caught.value)
