"""Scalability of measured runs: against the size and latency that an analytic program has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import ModelError
from slipstick_measure.account import measured
from slipstick_measure.measurements import Measurement, Measurements
from slipstick_measure.scalability import (
    EFFICIENCY,
    MEMORY,
    TIME,
    MeasuredScalability,
    measured_scalability,
)

MESSAGE = (
    "scalability needs runs of at least two sizes on each of two numbers of processors above 1, and"
    " those of the same sizes on one processor; give columns p, n and time; sizes with both are"
)
SIZES = [8 * 2 ** (k / 4) for k in range(24)]


def found(sizes: list[float], **goals: float) -> MeasuredScalability:
    """Measure a program of n + 1 on one processor and n / p + p on p: E = (n + 1) / (n + p^2)."""
    records = [
        Measurement(p, size, "", "time", "s", size / p + p, None, "made up", 1)
        for p in (1, 2, 4, 8)
        for size in sizes
    ]
    return measured_scalability(measured(Measurements(tuple(records))).answers, goals)


def test_sizes_between_measured_ones_keep_each_goal_as_algebra_has_it() -> None:
    runs = found(SIZES, efficiency=0.8, time=20.0, memory=9.0).run_by_way_and_processors
    for p in (2, 4, 8):
        exact = (0.8 * p**2 - 1) / 0.2, 20.0 * p - p**2, 9.0 * p
        for way, size in zip((EFFICIENCY, TIME, MEMORY), exact, strict=True):
            run = runs[way][p]
            assert run is not None
            assert run.size == pytest.approx(size, rel=0.005)
            assert run.time == pytest.approx(size / p + p, rel=0.005)
            assert run.latency == pytest.approx(p - 1 / p, rel=0.02)


def test_a_cell_is_the_latency_metric() -> None:
    made = found(SIZES, efficiency=0.8)
    assert made.latency_ratio(EFFICIENCY, 2, 8) == pytest.approx(
        (2 - 1 / 2) / (8 - 1 / 8), rel=0.02
    )


def test_nothing_is_taken_beyond_the_measured_sizes() -> None:
    made = found([8.0, 16.0], efficiency=0.8, time=1e3)
    assert made.run_by_way_and_processors[EFFICIENCY][8] is None
    assert made.latency_ratio(EFFICIENCY, 2, 8) is None
    assert set(made.run_by_way_and_processors[TIME].values()) == {None}


def test_runs_of_one_size_are_refused() -> None:
    sizes = " 1 on 2 processors, 1 on 4 processors and 1 on 8 processors"
    with pytest.raises(ModelError, match=f"{MESSAGE}{sizes}"):
        found([8.0])


TABLE = "p,n,region,metric,unit,value,repetition\n" + "".join(
    f"{p},{n},,time,s,{n / p + p},1\n{p},{n},bus,wait,s,{p * (p - 1 / p)},1\n"
    for p in (1, 2, 4)
    for n in (8, 16, 64)
)


def test_the_command_prints_the_matrix_and_the_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)
    given = ["measured", str(path), "--scalability", "--keep", "efficiency=80 %"]
    assert main(given) == 0
    shown = capsys.readouterr().out
    assert "efficiency-conserved: 80 % each" in shown
    assert "measured efficiency" in shown
    rows = [line.split("  ")[-1].strip() for line in shown.splitlines() if line.endswith(" %")]
    assert rows == [f"{_percent(p, 8)} to {_percent(p, 64)}" for p in (2, 4)]
    assert "average latency of a processor by source" in shown
    assert main([*given, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["scalability"]
    (cell,) = [each for each in document["scalability"] if each["way"] == EFFICIENCY]
    assert (cell["from"], cell["to"]) == (2, 4)
    assert document["sources"][0]["latency"]["bus"] == pytest.approx(1.5)


def _percent(p: int, n: int) -> str:
    """Write the efficiency of the program in TABLE."""
    return f"{100 * (n + 1) / (n + p * p):.3g} %"


MEMORIES = "cores,n,time [s],memory [GB]\n" + "".join(
    f"{p},{n},{n / p + p},{n / 8 + p / 4}\n" for p in (1, 2, 4) for n in (8, 16, 64)
)
"""Runs whose memory has a part that grows with the size, and a part of each processor."""


@pytest.mark.parametrize(
    ("heading", "factor"), [("memory [GB]", 1.0), ("working set per core [GB]", 4.0)]
)
def test_a_column_of_memory_is_kept_in_place_of_the_size(
    heading: str, factor: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On 4 cores a memory of 4 GB, or of 4 GB a core in the other heading, is that of n = 24."""
    path = tmp_path / "runs.csv"
    path.write_text(MEMORIES.replace("memory [GB]", heading))
    keep = f"memory={factor} GB"
    assert main(["measured", str(path), "--keep", keep, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["scalability"]
    (run,) = [run for run in document["runs"] if run["way"] == MEMORY and run["processors"] == 4]
    assert run["memory"] == pytest.approx(4e9 * factor)
    assert run["size"] == pytest.approx(24, rel=0.1)
    assert main(["measured", str(path), "--keep", keep]) == 0
    assert "memory-bound: a memory of" in capsys.readouterr().out
    assert main(["measured", str(path), "--keep", "memory=3"]) == 2
    assert "'3' lacks its unit" in capsys.readouterr().err


def test_a_memory_that_some_runs_lack_leaves_the_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(MEMORIES.replace("4,64,20.0,9.0", "4,64,20.0,-"))
    assert main(["measured", str(path), "--keep", "memory=6"]) == 0
    assert "memory-bound: a size of 6 a processor" in capsys.readouterr().out
    path.write_text(MEMORIES.replace("memory [GB]", "memory"))
    assert main(["measured", str(path), "--scalability"]) == 0
    assert "memory-bound: a size of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("speed=2", "--keep: write one of efficiency, time, memory with a value; got 'speed=2'"),
        ("efficiency=180 %", "--keep: an efficiency is at most 100 %; got 180 %"),
    ],
)
def test_goals_are_refused_by_name(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)
    assert main(["measured", str(path), "--keep", words]) == 2
    assert message in capsys.readouterr().err


def test_runs_of_size_0_have_no_size_to_grow_from() -> None:
    """Such as messages of 0 bytes: the goals are those of the other sizes."""
    with_empty, without = found([0.0, *SIZES]), found(SIZES)
    assert with_empty.goal_by_way == without.goal_by_way
    assert with_empty.run_by_way_and_processors == without.run_by_way_and_processors
