"""Arrivals at the times of a trace: against Lindley's recursion, from files of several forms,
and from damaged ones.
"""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from slipstick import QueueingNetwork, dump, load, network, open_class, run, solve, station
from slipstick.errors import ModelError, NoAnswerError, SlipstickError, SpecError
from slipstick.model.network import OpenClass
from slipstick.sim.plan.distributions import Stream, TracedTimes
from slipstick.sim.settings import Simulation
from tests.measure.damage import damaged

GAPS = np.random.default_rng(5).exponential(size=400) * np.where(np.arange(400) % 80 < 40, 3.0, 0.6)
MODEL = """\
queueing-network: 1
classes: {{web: {{trace: {{{}}}}}}}
stations: {{cpu: {{service: {{web: 8 ms}}, scv: {{web: 0}}}}}}
"""


def written(folder: Path, table: str, keys: str) -> Path:
    (folder / "arrivals.csv").write_text(table)
    path = folder / "web.yaml"
    path.write_text(MODEL.format(f"file: arrivals.csv{keys}"))
    return path


def read(path: Path) -> QueueingNetwork:
    model = load(path)
    assert isinstance(model, QueueingNetwork)
    return model


def trace(path: Path) -> tuple[float, ...]:
    web = read(path).classes["web"]
    assert isinstance(web, OpenClass)
    return web.trace


def lindley(gaps: np.ndarray, service: float, rounds: int) -> float:
    """Mean wait over the last of several rounds of the gaps."""
    wait, waits = 0.0, []
    for gap in np.tile(gaps, rounds):
        waits.append(wait)
        wait = max(0.0, wait + service - gap)
    return float(np.mean(waits[-len(gaps) :]))


def test_waits_are_those_of_lindley(tmp_path: Path) -> None:
    times = np.cumsum(np.concatenate([[0.0], GAPS * 8.0]))
    path = written(tmp_path, "\n".join(["time [ms]", *map(repr, times.tolist())]), "")
    settings = Simulation(seed=1, cycles=8_000)
    found = solve(path, method="simulation", simulation=settings)
    value = found.values["waiting_time[web,cpu]"]
    assert value.value == pytest.approx(lindley(GAPS * 8e-3, 8e-3, 5), rel=0.05)
    assert any(
        "as the 400 times between arrivals of their trace say" in note for note in found.notes
    )
    gaps = network(
        {"web": open_class(1 / (GAPS.mean() * 8e-3), trace=GAPS.tolist())},
        {"cpu": station(service={"web": 8e-3}, scv={"web": 0})},
    )
    same = (
        solve(gaps, method="simulation", simulation=settings).values["waiting_time[web,cpu]"].value
    )
    assert same == pytest.approx(value.value, rel=1e-9)


def test_blocks_of_any_size_are_one_sequence() -> None:
    times = TracedTimes((1.0, 2.0, 6.0), 3.0)
    parts = np.concatenate(list(times.blocks(Stream(1, "web"), [2, 5, 4])))
    assert parts == pytest.approx(np.tile([1.0, 2.0, 6.0], 4)[:11])


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ("0\n1\n3\n4\n", ", unit: s"),
        ("# seen at the door\n1\n2\n1\n", ", unit: s, of: gaps"),
        ("id;time (s)\n1;10\n2;11\n3;13\n4;14\n", ", column: time"),
        ("at,size\n0,5\n1000,6\n3000,7\n4000,7\n", ", column: at, unit: ms"),
        ("7 0\n7 1\n7 3\n7 4\n".replace("7 ", ""), ", unit: s"),
    ],
)
def test_files_of_several_forms_say_the_same(tmp_path: Path, table: str, keys: str) -> None:
    path, again = written(tmp_path, table, keys), tmp_path / "again.yaml"
    model = read(path)
    assert trace(path) == pytest.approx((0.75, 1.5, 0.75))
    again.write_text(dump(model))
    assert trace(again) == trace(path)
    assert solve(model, method="simulation", simulation=Simulation(cycles=200))[
        "throughput[web]"
    ] == pytest.approx(0.75, rel=0.1)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("table", "keys", "message"),
    [
        ("0\n1\n", "", "does not say the unit of its times; give unit, such as ms"),
        ("0\n1\n", ", unit: kg", "kg"),
        (
            "0\n2\n1\n",
            ", unit: s",
            "line 3: the time is before that of the arrival above; sort the file",
        ),
        (
            "0\n-2\n",
            ", unit: s, of: gaps",
            "line 2: a gap is negative; sort the file, or say whether it has times or gaps as of",
        ),
        ("time,size\n1,2\n", ", unit: s", "has the columns 'time', 'size'; name one as column"),
        (
            "time,size\n1,2\n2,3\n",
            ", unit: s, column: tme",
            "there is no column 'tme'; did you mean 'time'?",
        ),
        (
            "1,2\n2,3\n",
            ", unit: s",
            "has several columns and no line of names; keep the one of the times",
        ),
        ("time\n1\nlater\n", ", unit: s", "line 3: a number is wanted, got 'later'"),
        ("1\n1\n", ", unit: s", "needs arrivals at two different times at least"),
        ("\n", ", unit: s", "has no lines with numbers"),
        (
            "0\n1\n" * 50_001,
            ", unit: s",
            "has 100,002 arrivals; the limit is 100,000: keep a part of them, or",
        ),
    ],
)
def test_what_is_no_trace_is_named(tmp_path: Path, table: str, keys: str, message: str) -> None:
    with pytest.raises(SpecError, match=r"arrivals\.csv: ") as found:
        read(written(tmp_path, table, keys))
    assert message in str(found.value)
    (tmp_path / "arrivals.csv").unlink()
    with pytest.raises(SpecError, match="there is no file"):
        read(tmp_path / "web.yaml")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "file: arrivals.csv, unit: s, gaps: 1 2",
            "give a trace a file, or gaps; a file is read where it is written, not by --set",
        ),
        ("gaps: 1 2", "gaps say how arrivals follow each other; give their rate as arrivals"),
    ],
)
def test_a_file_or_gaps_with_a_rate(tmp_path: Path, keys: str, message: str) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(MODEL.format(keys))
    (tmp_path / "arrivals.csv").write_bytes("1 \xe9".encode("latin-1"))
    with pytest.raises(SpecError) as found:
        read(path)
    assert message in str(found.value)
    path.write_text(MODEL.format("file: arrivals.csv"))
    with pytest.raises(SpecError, match=r"arrivals\.csv:1:3: byte 0xe9 is not UTF-8"):
        read(path)
    path.write_text(MODEL.format("gaps: one two").replace("trace", "arrivals: 1 /s, trace", 1))
    with pytest.raises(SlipstickError, match="gaps of a trace are numbers with spaces between: "):
        read(path)


@pytest.mark.turns(4)
def test_200_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random(7)
    table = "id,time [ms]\n" + "".join(f"{n},{n * 1.5}\n" for n in range(30))
    path = written(tmp_path, table, ", column: time")
    refused, taken = list[str](), list[tuple[float, ...]]()
    for _ in range(200):
        _, content = damaged(table, chance)
        (tmp_path / "arrivals.csv").write_bytes(content)
        try:
            taken.append(trace(path))
        except SlipstickError as error:
            refused.append(str(error))
    assert all("arrivals.csv" in each for each in refused)
    assert all(np.isfinite(each).all() for each in taken)
    assert min(len(refused), len(taken)) > 20


def test_other_methods_and_other_bursts_are_refused(tmp_path: Path) -> None:
    model = network(
        {"web": open_class(1.0, trace=[1.0, 3.0])}, {"cpu": station(service={"web": 0.5})}
    )
    assert solve(model).method == "simulation"
    for method in ("markov-chain", "exact"):
        with pytest.raises(
            NoAnswerError,
            match=r"class web arrives at the times of a trace, which .*; ask for simulation",
        ):
            solve(model, method=method)
    with pytest.raises(
        ModelError,
        match=("a trace says when customers arrive; leave bursts and batches out"),
    ):
        open_class(1.0, trace=[1.0], batch=2)
    for gaps in ([0.0], [1e308, 1e308]):
        with pytest.raises(
            ModelError,
            match=(
                "the times between the arrivals of a trace must be finite, not negative, and not"
                " all 0"
            ),
        ):
            open_class(1.0, trace=gaps)


def test_a_study_scales_a_trace_and_remembers_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join(map(str, islice(range(0, 3000, 10), 200))), ", unit: ms")
    path.write_text(path.read_text().replace("web: {trace", "web: {arrivals: 60 /s, trace", 1))
    study = tmp_path / "s.yaml"
    study.write_text(
        "study: 1\ntitle: t\nbase: {model: web.yaml, method: simulation, simulation.cycles: 400}\n"
        'answer: ["utilization[cpu]"]\nvary: {classes.web.arrivals: [30 /s, 60 /s]}\n'
    )
    results = run(str(study))
    assert "arrivals.csv" in results.hashes
