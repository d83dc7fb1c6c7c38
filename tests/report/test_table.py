"""The tidy table: every byte of a small one, and nothing lost in a large one."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import MissingExtraError
from slipstick.report.write import frame, write_csv
from slipstick.results.study import Axis
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
def test_numbers_read_back_as_the_same_doubles(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("csv") / "results.csv"
    axis = Axis("x", "s", tuple(float(index) for index in range(len(values))))
    write_csv(with_sweeps(sweep("s", [axis], lambda _, x: values[int(x)])), ["time"], path)
    with path.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["sweep"]]
    assert [float(row["time [s]"]) for row in rows] == values


def test_names_and_numbers_of_different_sweeps_have_columns_of_their_own() -> None:
    networks = Axis(NETWORK, "1", ("fast-ethernet", "atm"))
    sizes = Axis("reply", "B", (20.0, 4120.0))
    table = frame(with_sweeps(sweep("a", [networks], lambda *_: 1.0), sweep("b", [sizes], lambda *_: 2.0)), ["time"])
    assert table.columns == ["sweep", "case", NETWORK, "reply [B]", "time [s]", "limit[diffs]", *HOW, "failed"]
    assert table.filter(pl.col("sweep") == "a")[NETWORK].to_list() == ["fast-ethernet", "atm"]
    assert table.filter(pl.col("sweep") == "b")["reply [B]"].to_list() == [20.0, 4120.0]
    assert table.filter(pl.col("sweep") == "b")[NETWORK].to_list() == [None, None]


def test_limits_are_given_once_even_when_asked_for() -> None:
    assert frame(SMALL_RESULTS, ["time", "limit[diffs]", "time"]).columns.count("limit[diffs]") == 1


def test_steps_and_single_executions_go_by_name() -> None:
    table = frame(SMALL_RESULTS, ["step[send]", "once[send]", "technology[wire]", "step[nowhere]"])
    base = table.row(0, named=True)
    assert base["step[send] [s]"] == pytest.approx(1.2e-3)
    assert base["once[send] [s]"] == pytest.approx(4e-4)
    assert base["technology[wire] [s]"] == pytest.approx(5.05e-4)
    assert base["step[nowhere] [s]"] is None


def test_a_study_without_sweeps_has_a_row_for_each_case() -> None:
    assert frame(replace(SMALL_RESULTS, sweeps=()), ["time"])["case"].to_list() == ["base", "faster", "broken"]


def test_many_points_are_written_whole(tmp_path: Path) -> None:
    axis = Axis("x", "s", tuple(np.linspace(0.0, 1.0, 50_000).tolist()))
    write_csv(with_sweeps(sweep("s", [axis], lambda _, x: x)), ["time"], tmp_path / "r.csv")
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 1 + 3 + 50_000


def test_without_polars_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError) as caught:
        frame(SMALL_RESULTS, ["time"])
    assert str(caught.value) == "a table of results needs polars: pip install 'slipstick[report]'"
