"""Points of a sweep of a study in a file: those of the sweep itself, block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

from slipstick import run
from slipstick.cli.main import main
from slipstick.errors import ModelError, UnknownNameError
from slipstick_questions.points import read_sweep_points

STUDY = """\
study: 1
base: {model: lock-and-bus, method: mean-value}
cases: {more: {population.processors: 64}}
answer: [time, efficiency]
vary:
  grid:
    axes: {population.processors: [1, 2, 4], parameters.critical: [1 ms, 2 ms, 4 ms]}
    where: parameters.critical * population.processors < 9 ms
  pairs:
    axes: {parameters.critical: [1 ms, 2 ms], parameters.work: [1 ms, 2 ms]}
    combine: zip
  both: {axes: {parameters.critical: [1 ms, 2 ms]}, cases: [base, more]}
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(STUDY)
    return "x.yaml"


@pytest.mark.turns(4)
def test_a_file_has_the_points_of_the_sweep(
    study: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slipstick.study.stream.ROWS_PER_GROUP", 2)  # 9 combinations in 5 blocks
    assert main(["points", study, "--sweep", "grid", "--out", "p.parquet"]) == 0
    assert capsys.readouterr().out == "p.parquet: 8 points, each with time, efficiency\n"
    table, (sweep, *_) = polars.read_parquet("p.parquet"), run(study).sweeps
    for name in ("time", "efficiency", "population.processors", "parameters.critical"):
        assert table[name].to_list() == np.asarray(sweep[name]).ravel().tolist()
    assert set(table["method"]) == {"mean-value"}


@pytest.mark.turns(4)
def test_points_start_from_the_case_that_is_named(study: str) -> None:
    assert main(["points", study, "--sweep", "both", "--case", "more", "-o", "p.parquet"]) == 0
    sweep = run(study).sweeps[2]
    table = polars.read_parquet("p.parquet")
    assert table["time"].to_list() == np.asarray(sweep["time"]).reshape(2, -1)[1].tolist()


@pytest.mark.turns(4)
def test_a_file_has_the_points_of_every_case_and_of_axes_that_move_together(study: str) -> None:
    sweeps = run(study).sweeps
    assert main(["points", study, "--sweep", "both", "-o", "p.parquet"]) == 0
    table = polars.read_parquet("p.parquet")
    assert table["case"].to_list() == ["base", "base", "more", "more"]
    assert table["time"].to_list() == np.asarray(sweeps[2]["time"]).ravel().tolist()
    assert main(["points", study, "--sweep", "pairs", "-o", "p.parquet"]) == 0
    table = polars.read_parquet("p.parquet")
    assert table["parameters.work"].to_list() == [1e-3, 2e-3]
    assert table["time"].to_list() == np.asarray(sweeps[1]["time"]).ravel().tolist()
    assert "case" not in table.columns


SHOP = """\
study: 1
base: {model: shop.yaml, method: exact}
answer: ["response_time[requests]"]
vary: {classes.requests.arrivals: [10 /s, 50 /s, 200 /s, 300 /s]}
"""


def test_a_point_without_an_answer_has_its_reason(
    study: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slipstick.study.stream.MOST_REASONS", 1)
    Path("shop.yaml").write_text(
        "queueing-network: 1\nclasses: {requests: {arrivals: 10 /s}}\n"
        "stations: {web: {service: {requests: 10 ms}}}\n"
    )
    Path(study).write_text(SHOP)
    assert main(["points", study, "-o", "p.parquet"]) == 0
    reasons = polars.read_parquet("p.parquet")["reason"].to_list()
    assert reasons[:2] == ["", ""]
    assert reasons[2].startswith("station web is saturated")
    assert reasons[3] == "no answer; run the study at this point for its reason"
    printed = " ".join(capsys.readouterr().err.split())
    assert f"note: 2 of them have no answer, 1 because: {reasons[2]}" in printed


def test_more_points_than_memory_holds_are_read(study: str) -> None:
    axes = "{from: 1 us, to: 1 s, count: 10000, spacing: geometric}"
    text = (
        STUDY.partition("cases:")[0]
        + f"vary: {{parameters.critical: {axes}, parameters.work: {axes}}}"
    )
    Path(study).write_text(text)
    assert read_sweep_points(study).count == 100_000_000


@pytest.mark.parametrize(
    ("change", "names", "message"),
    [
        ("", {}, "a file of points is of one sweep: write --sweep with one of grid, pairs, both"),
        ("vary", {}, "the study has no sweep, so no points for a file: write `vary`"),
    ],
)
def test_what_is_not_of_one_sweep_is_refused(
    study: str, change: str, names: dict[str, str], message: str
) -> None:
    if change:
        Path(study).write_text(STUDY.partition("vary:")[0])
    with pytest.raises(ModelError) as caught:
        read_sweep_points(study, **names)
    assert str(caught.value) == message


def test_a_sweep_of_another_name_is_told_with_the_nearest(study: str) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'grid'"):
        read_sweep_points(study, "gird")


def test_a_case_that_is_not_of_the_sweep_is_told_with_those_that_are(study: str) -> None:
    with pytest.raises(UnknownNameError, match="no case of sweep grid 'more'; known: base"):
        read_sweep_points(study, "grid", "more")


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("p.csv", "p.csv: points are written as Parquet; write a name that ends in .parquet"),
        ("no/p.parquet", "no/p.parquet: No such file or directory; choose another place"),
    ],
)
def test_a_place_that_is_not_for_the_file_is_refused(
    study: str, out: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["points", study, "--sweep", "grid", "--out", out]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path(out).exists()


def test_ranges_that_the_file_leaves_out_are_told(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = "base: {parameters.critical: 1 ms..2 ms,"
    Path(study).write_text(
        STUDY.replace("base: {", f"{base} ").partition("cases:")[0]
        + "vary: {parameters.work: [1 ms, 2 ms]}"
    )
    assert main(["points", study, "--out", "p.parquet"]) == 0
    assert (
        "note: points take the middle of the range of parameters.critical and have no intervals; a"
        " run of the study has them"
    ) in " ".join(capsys.readouterr().err.split())


def test_a_value_that_is_not_computed_for_arrays_is_refused(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(study).write_text(STUDY.replace("[time, efficiency]", "[time, overhead]"))
    assert main(["points", study, "--sweep", "grid", "--out", "p.parquet"]) == 2
    assert (
        "overhead is no value that mean-value computes for arrays of points; leave it out, or run"
        " the study with fewer points"
    ) in " ".join(capsys.readouterr().err.split())
    assert not Path("p.parquet").exists()
