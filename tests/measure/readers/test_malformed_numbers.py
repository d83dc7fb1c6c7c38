"""A number with two points in an output of a tool is refused at its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slipstick.cli.main import main

FILES = Path(__file__).parents[1] / "files"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("hyperfine-text/hyperfine-threads.txt", r"Time \(mean.*?\): +([0-9.]+)"),
        ("google-benchmark-text/google-threads.txt", r"items_per_second=([0-9.]+)"),
        ("likwid-bench/copy.txt", r"Size \(Byte\):\s+([0-9.e+]+)"),
        ("gromacs/threads.txt", r"Time: +[0-9.]+ +[0-9.]+ +([0-9.]+)"),
    ],
)
def test_a_number_with_two_points_is_refused_at_its_line(
    name: str, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FILES / name).read_text()
    match = re.search(number, text)
    assert match is not None
    line = text[: match.start(1)].count("\n") + 1
    path = tmp_path / "output.txt"
    path.write_text(f"{text[: match.start(1)]}8.1.2{text[match.end(1) :]}")
    assert main(["measured", str(path)]) == 2
    assert f"{path}:{line}:1: '8.1.2' is not a number" in capsys.readouterr().err
