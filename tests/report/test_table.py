"""The tidy table: every byte of a small one, and nothing lost in a large one."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.report.write import write_csv
from slipstick.results.question import TidyColumn
from slipstick.results.study import tidy_columns
from slipstick.results.sweep import Axis
from tests.report.made_up import NETWORK, SMALL_RESULTS, STUDY, sweep, with_sweeps

CSV = """\
sweep,case,machine.network.adapter [s],time [s],account[fault] [s],limit[diffs],method,exact,bound,failed
,base,,0.001705,0.000705,sends,closed-form,no,,
,faster,,0.0008529999999999999,,,closed-form,yes,,
,broken,,,,,closed-form,,,the time comes out as inf s
latency,base,9.999999999999999e-6,0.0010400000000000001,,sends,closed-form,yes,,
latency,base,0.000019999999999999998,,,,closed-form,,,the time comes out as nan s
latency,base,0.000039999999999999996,0.00116,,wire,closed-form,yes,,
"""

HOW = ("method", "exact", "bound")


def test_a_small_table_byte_for_byte(tmp_path: Path) -> None:
    write_csv(SMALL_RESULTS, STUDY.answer, tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_bytes() == CSV.encode()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_read_back_as_the_same_doubles(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "results.csv"
    axis = Axis("x", "s", tuple(float(index) for index in range(len(values))))
    write_csv(with_sweeps(sweep("s", [axis], lambda _, x: values[int(x)])), ["time"], path)
    with path.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["sweep"]]
    assert [float(row["time [s]"]) for row in rows] == values


def test_names_and_numbers_of_different_sweeps_have_columns_of_their_own() -> None:
    networks = Axis(NETWORK, "1", ("fast-ethernet", "atm"))
    sizes = Axis("reply", "B", (20.0, 4120.0))
    table = tidy_columns(
        with_sweeps(sweep("a", [networks], lambda *_: 1.0), sweep("b", [sizes], lambda *_: 2.0)),
        ["time"],
    )
    assert list(table) == [
        "sweep",
        "case",
        NETWORK,
        "reply [B]",
        "time [s]",
        "limit[diffs]",
        *HOW,
        "failed",
    ]
    assert _of(table, "a", NETWORK) == ["fast-ethernet", "atm"]
    assert _of(table, "b", "reply [B]") == [20.0, 4120.0]
    assert _of(table, "b", NETWORK) == [None, None]


def test_limits_are_given_once_even_when_asked_for() -> None:
    assert list(tidy_columns(SMALL_RESULTS, ["time", "limit[diffs]", "time"]))[-5] == "limit[diffs]"


def test_steps_and_once_go_by_name() -> None:
    table = tidy_columns(
        SMALL_RESULTS, ["step[send]", "once[send]", "technology[wire]", "step[nowhere]"]
    )
    base = {name: column[0] for name, column in table.items()}
    assert base["step[send] [s]"] == pytest.approx(1.2e-3)
    assert base["once[send] [s]"] == pytest.approx(4e-4)
    assert base["technology[wire] [s]"] == pytest.approx(5.05e-4)
    assert base["step[nowhere] [s]"] is None


def test_a_study_without_sweeps_has_a_row_for_each_case() -> None:
    assert tidy_columns(replace(SMALL_RESULTS, sweeps=()), ["time"])["case"] == [
        "base",
        "faster",
        "broken",
    ]


@pytest.mark.turns(4)
def test_many_points_are_written_whole(tmp_path: Path) -> None:
    axis = Axis("x", "s", tuple(np.linspace(0.0, 1.0, 50_000).tolist()))
    write_csv(with_sweeps(sweep("s", [axis], lambda _, x: x)), ["time"], tmp_path / "r.csv")
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 1 + 3 + 50_000


TEXTS = ["", "x,y", 'q"q', "two\nlines", " blanks ", "a;b", "a\rb", "it's", "#"]


def test_texts_and_numbers_read_back_from_polars(tmp_path: Path) -> None:
    """Another reader of CSV agrees, also on the smallest numbers and on texts that need quotes."""
    polars = pytest.importorskip("polars")
    numbers = [10.0**power for power in range(-10, -1)]
    axes = [Axis("x", "s", tuple(numbers)), Axis("name", "1", tuple(TEXTS))]
    write_csv(with_sweeps(sweep("s", axes, lambda _, x, __: x)), ["time"], tmp_path / "r.csv")
    read = polars.read_csv(tmp_path / "r.csv").filter(polars.col("sweep") == "s")
    assert read["x [s]"].to_list() == [x for x in numbers for _ in TEXTS]
    assert read["name"].to_list() == TEXTS * len(numbers)


def _of(table: Mapping[str, TidyColumn], wanted: str, name: str) -> TidyColumn:
    return [cell for cell, each in zip(table[name], table["sweep"], strict=True) if each == wanted]
