"""A grain of the user's choice, measured on a host whose times are made."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from slipstick.cli.main import main
from slipstick_measure.calibration import host
from slipstick_measure.calibration.grain import _grain_point, competitor_counts
from slipstick_measure.calibration.timing import Timing
from slipstick_measure.results import GRAIN_FIGURES
from tests.calibration import FakeCalibration, use_made_times

GRAIN = """workload: 1
title: Two lookups and a section
model: grain/unit
inputs: {elements: 4096, pattern: random, accesses: 2, compute: 50, lock: mcs, critical: 5}
"""


def made_time(grain: Mapping[str, Any]) -> float:
    """Competitors slow down accesses three times, and writes of one element ten times."""
    slower = 1 + 2 * grain["competitors"] * (5 if grain.get("access") == "write" else 1)
    others = 3 if "other_lock" in grain else slower
    return float(
        1e-9 * (grain["compute"] + grain.get("critical", 0) + 20 * grain["accesses"] * others)
    )


class FakeGrains(FakeCalibration):
    """A host whose grains take made times."""

    core_count = 2

    def run_grains(self, grains: Sequence[Mapping[str, Any]]) -> list[Timing]:
        return [Timing("grain", grain, seconds=[made_time(grain)] * 5) for grain in grains]


@pytest.fixture
def grain_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    use_made_times(monkeypatch)
    monkeypatch.setattr(host, "Calibration", FakeGrains)
    file = tmp_path / "my-grain.yaml"
    file.write_text(GRAIN)
    return file


@pytest.mark.turns(4)
def test_each_figure_varies_one_input_of_the_grain(
    grain_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "drawn"
    assert main(["calibrate", "--grain", str(grain_file), "-o", str(folder)]) == 0
    assert "Grain efficiency among empty critical sections" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {
        "points.csv",
        *(f"{figure.name}.png" for figure in GRAIN_FIGURES),
    }
    with (folder / "points.csv").open() as file:
        points = {
            (row["figure"], float(row["x"]), row["line"]): row for row in csv.DictReader(file)
        }
    value = {key: float(row["value"]) for key, row in points.items()}
    assert value["figure-5", 50, "read"] == pytest.approx((55 + 40) / (55 + 120))
    assert value["figure-5", 200, "write"] == pytest.approx((205 + 40) / (205 + 440))
    assert value["figure-6", 0, "4096"] == 1
    assert value["figure-7", 1, "read"] == pytest.approx(2 * 2 / 175e-9)
    assert value["figure-8", 30, "ticket"] == pytest.approx((80 + 40) / (80 + 120))
    assert value["figure-9", 1, "mcs"] == pytest.approx((50 + 40) / (50 + 120))


def test_a_grain_without_accesses_has_no_figures_of_accesses(
    grain_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grain_file.write_text(GRAIN.replace("accesses: 2", "accesses: 0"))
    assert main(["calibrate", "--grain", str(grain_file), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert {point["figure"] for point in points} == {"figure-8", "figure-9"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("accesses", "acesses", "did you mean 'accesses'?"),
        ("grain/unit", "grain/phases", "'grain/unit'"),
        ("pattern: random", "stride: 2", "stride"),
        ("lock: mcs, ", "", "critical needs a lock, one of test-and-set"),
        (
            "accesses: 2, compute: 50, lock: mcs, critical: 5",
            "accesses: 0",
            "the grain has no accesses, no computing and no lock",
        ),
    ],
)
def test_a_grain_that_cannot_be_run_is_refused_at_its_line(
    grain_file: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grain_file.write_text(GRAIN.replace(old, new))
    assert main(["calibrate", "--grain", str(grain_file)]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert message in printed
    line = 1 + GRAIN[: GRAIN.index(old)].count("\n")
    assert f"grain.yaml:{line}:" in printed


def test_options_that_say_nothing_of_a_grain_are_refused(
    grain_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--grain", str(grain_file), "--check", "host.yaml"]) == 2
    assert "a grain is not compared with a machine" in capsys.readouterr().err
    assert main(["calibrate", "--grain", str(grain_file), "--cores", "1"]) == 2
    assert "competitors need a core each" in capsys.readouterr().err


def test_competitors_are_counted_up_to_the_cores() -> None:
    assert competitor_counts(2) == [0, 1]
    assert competitor_counts(64) == [0, 1, 2, 4, 8, 16, 32, 63]


def test_a_file_that_is_no_workload_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "p.csv"
    table.write_text("p,time [s]\n1,2\n")
    assert main(["calibrate", "--grain", str(table)]) == 2
    assert "is no workload: write one in a file that ends in .yaml" in capsys.readouterr().err


def test_an_input_of_the_model_alone_is_refused_by_name(
    grain_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grain_file.write_text(GRAIN.replace("accesses: 2", "stride: 16, accesses: 2"))
    assert main(["calibrate", "--grain", str(grain_file)]) == 2
    assert capsys.readouterr().err == (
        f"error: {grain_file}:4:43: inputs.stride: stride is an input of the model of a grain; a"
        " grain that runs here accesses at random and has no stride: leave it out\n"
    )


def test_a_value_lies_within_its_interval() -> None:
    """Of 1 to 5 us alone and 2 to 10 us among others: quartiles 2 / 4, ends 1 / 8 and 4 / 2."""
    alone, among = (
        Timing(
            "grain",
            {"competitors": count, "accesses": 3},
            seconds=[1e-6 * (count + 1) * k for k in range(1, 6)],
        )
        for count in (0, 1)
    )
    point = _grain_point(GRAIN_FIGURES[0], 1.0, "read", among, alone)
    assert (point.low, point.value, point.high) == pytest.approx((1 / 8, 2 / 4, 4 / 2))
    rate = _grain_point(GRAIN_FIGURES[2], 1.0, "read", among, alone)
    assert (rate.low, rate.value, rate.high) == pytest.approx((6 / 8e-6, 6 / 4e-6, 6 / 2e-6))
