"""A cell of a table that Python's reader of CSV refuses is told with its line, by each reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slipstick.errors import SlipstickError
from slipstick.schema.columns import numbered_times_in
from slipstick.schema.text import Mark
from slipstick_measure.readers.grid import table_of_file
from slipstick_measure.readers.reading import Reading
from slipstick_papers.page import _read_table
from slipstick_rates.files import parse_points
from slipstick_workloads.record import _read_events

LONG = "x" * 140_000
WHY = "field larger than field limit (131072)"
READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "measured": (
        lambda path: table_of_file(Reading(path.name, path.read_text())),
        f"t.csv:3:1: this is not a line of a table: {WHY}; check the quotes",
    ),
    "times": (
        lambda path: numbered_times_in(path, {"column": "a"}, Mark("m.yaml", 2, 5), "file"),
        (
            f"m.yaml:2:5: file: t.csv: line 3: this is not a line of a table: {WHY}; check the"
            " quotes and the length of the cells"
        ),
    ),
    "points": (
        lambda path: parse_points(
            path.read_text().replace("a,b", "year,value").replace("2,3", "2000,3"), path.name
        ),
        (
            f"t.csv:3:1: this is not a line of a table: {WHY}; check the quotes and the length of"
            " the cells"
        ),
    ),
    "record": (
        lambda path: _read_events(path, None),
        (
            f"t.csv:1:1: this is not a line of a table: {WHY}; check the quotes and the length of"
            " the cells"
        ),
    ),
    "statements": (
        _read_table,
        (
            f"t.csv: line 3 is not a line of a table: {WHY}; check the quotes and the length of"
            " the cells"
        ),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_cell_that_is_too_long_is_told_with_its_line(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read, message = READERS[reader]
    path = Path("t.csv")
    path.write_text(f"a,{LONG}\n" if reader == "record" else f"a,b\n2,3\n4,{LONG}\n")
    with pytest.raises(SlipstickError) as caught:
        read(path)
    assert str(caught.value) == message
