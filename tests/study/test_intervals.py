"""Wherever a simulated value is shown, its interval is: low <= value <= high, in words, tables,
pictures and JSON.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipstick import run
from slipstick.cli.main import main
from slipstick.report.answer import sweep_text
from slipstick.report.formatting import INTERVALS
from tests.examples import PART
from tests.questions import whole_report

NETWORK = """\
queueing-network: 1
classes: {jobs: {arrivals: 3 /s}}
stations:
  web: {servers: 4, discipline: fcfs, service: {jobs: 1 s}, visits: {jobs: 1}}
"""
STUDY = """\
study: 1
base: {model: web.yaml, method: simulation, simulation.cycles: 4000}
cases:
  calm: {classes.jobs.arrivals: 2 /s}
vary:
  load: {axes: {classes.jobs.arrivals: [2 /s, 2.5 /s, 3 /s]}}
  many: {axes: {classes.jobs.arrivals: {from: 1 /s, to: 3 /s, count: 41}}}
  solved: {axes: {method: [exact, simulation]}}
answer:
  - "response_time[jobs]"
  - "response_time_quantile[jobs,0.99]"
  - "account[web]"
  - "account[wait:web]"
"""
VALUES = (
    "response_time[jobs]",
    "response_time_quantile[jobs,0.99]",
    "account[web]",
    "account[wait:web]",
)
BRACKETED = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("web.yaml").write_text(NETWORK)
    Path("study.yaml").write_text(STUDY)
    return tmp_path


def printed(text: str) -> list[tuple[float, float, float]]:
    """Find every number with an interval."""
    return [(float(value), float(low), float(high)) for value, low, high in BRACKETED.findall(text)]


def objects(document: Any) -> Iterator[dict[str, Any]]:
    """Walk through every object of a JSON document."""
    if isinstance(document, dict):
        yield document
    for each in (
        document.values()
        if isinstance(document, dict)
        else document
        if isinstance(document, list)
        else ()
    ):
        yield from objects(each)


@pytest.mark.turns(5)
def test_tables_csv_and_json_of_cases_and_sweeps(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "study.yaml", "--out", "here", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert main(["run", "study.yaml", "--out", "here", "--all"]) == 0
    said, page = capsys.readouterr().out, whole_report()
    for text, least in ((said, 2), (page, 2 + 3 * 4 + 4 * 4 + 4)):
        assert " ".join(text.split()).count(INTERVALS) == 1
        assert len(printed(text)) >= least
        assert all(low <= value <= high for value, low, high in printed(text))
    with Path("here/results.csv").open() as file:
        rows = list(csv.DictReader(file))
    simulated = [row for row in rows if row.get("method") != "exact"]
    assert len(simulated) == 2 + 3 + 41 + 1
    for row in simulated:
        for head in (f"{name} [s]" for name in VALUES):
            assert float(row[f"low {head}"]) <= float(row[head]) <= float(row[f"high {head}"]), (
                row,
                head,
            )
    assert any(
        float(row[f"low {VALUES[0]} [s]"]) < float(row[f"high {VALUES[0]} [s]"])
        for row in simulated
    )
    for found in run("study.yaml").sweeps:
        assert not re.search(r"\b(low|high)\[", sweep_text(found))
    (exact,) = (row for row in rows if row.get("method") == "exact")
    assert exact[f"low {VALUES[0]} [s]"] == exact[f"high {VALUES[0]} [s]"] == ""
    estimates = [
        each
        for answer in answers
        if answer["seed"] is not None
        for each in answer["values"].values()
    ]
    assert estimates
    assert all(each["low"] <= each["value"] <= each["high"] for each in estimates)
    for answer in answers:
        booked = {f"account[{name}]": value for name, value in answer["account"].items()}
        if answer["seed"] is not None:
            assert booked.keys() == answer["intervals"].keys()
            ends = [(answer["intervals"][name], value) for name, value in booked.items()]
            assert all(each["low"] <= value <= each["high"] for each, value in ends)


@pytest.mark.turns(4)
def test_every_part_of_a_simulated_account_has_an_interval(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "lock-and-bus", "--with", "simulation", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    books = {
        "account": answer["account"],
        "technology": answer["technology"],
        "step": answer["steps"],
    }
    booked = {
        f"{book}[{name}]": value for book, parts in books.items() for name, value in parts.items()
    }
    assert booked.keys() == answer["intervals"].keys()
    assert all(
        answer["intervals"][name]["low"] <= each <= answer["intervals"][name]["high"]
        for name, each in booked.items()
    )
    assert math.fsum(answer["account"].values()) == pytest.approx(answer["values"]["time"]["value"])
    assert main(["solve", "lock-and-bus", "--with", "simulation"]) == 0
    rows = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("busy ", "lock:door ", "time "))
    ]
    assert all(low <= value <= high for row in rows for value, low, high in printed(row))
    assert len([row for row in rows if printed(row)]) >= 3


ACTIVITY = """\
activity: 1
population: {processors: 4}
resources: {bus: {}}
cycle:
  - {name: work, delay: 9 ms, scv: 1}
  - {name: ask, service: bus, time: 3 ms, scv: 1, component: io, technology: memory}
"""
TREND = """\
trend: 1
source: made up
rates:
  processors: [{from: 2000, to: 2040, factor: 1.1, spread: 10%}]
"""
QUESTIONS = """\
study: 1
base: {model: asks.yaml, method: simulation, simulation.cycles: 6000, simulation.shares: 2}
cases: {long: {simulation.seed: 1}}
answer: [time, efficiency, "account[io]", overhead, overhead_reduction]
rank:
  of: [cycle.work.delay, cycle.ask.time]
  changes:
    half: {times: {cycle.ask.time: 0.5}}
    same: {times: {cycle.ask.time: 0.505}}
project:
  trends: [trend.yaml]
  base_year: 2010
  years: [2010, 2012, 2016]
  samples: SAMPLES
  watch: ["time <= 12 ms"]
scale:
  processors: {population.processors: [1, 2, 4, 8]}
  size: {cycle.work.delay: 1}
  threshold: 70%
  ways: [fixed-size]
sample:
  of: {cycle.ask.time: {distribution: uniform, from: 2 ms, to: 4 ms}}
  samples: 16
  indices: false
compare:
  - title: Measured
    unit: ms
    columns: [base, long]
    rows:
      - {row: time, sum: [time], printed: [15.1, 30], within: 0.5, measured: true}
      - {row: beside, sum: [time], against: [long, long]}
pictures:
  - {kind: changes, name: changes, title: Changes}
  - {kind: projection, name: years, title: Years, y: [time]}
  - {kind: bars, name: bars, title: Bars, cases: [base], stack: component}
"""


@pytest.mark.turns(8)
@pytest.mark.parametrize("samples", [0, 16] if PART >= 1 else [4])
def test_every_question_shows_the_intervals_of_what_is_simulated(
    folder: Path, capsys: pytest.CaptureFixture[str], samples: int
) -> None:
    Path("asks.yaml").write_text(ACTIVITY)
    Path("trend.yaml").write_text(TREND)
    Path("study.yaml").write_text(QUESTIONS.replace("SAMPLES", str(samples)))
    assert main(["run", "study.yaml", "--out", "here", "--json"]) == 0
    document, page = json.loads(capsys.readouterr().out), whole_report()
    assert all(low <= value <= high for value, low, high in printed(page))
    for heading in (
        "Cases",
        "What would help most",
        "The years ahead",
        "How it scales",
        "Comparisons",
    ):
        section = page.partition(f"\n## {heading}")[2].partition("\n## ")[0]
        assert len(printed(section)) >= 2, heading
    estimated = 0
    for each in objects(document):
        if {"value", "low", "high"} <= each.keys() and None not in (
            each["value"],
            each["low"],
            each["high"],
        ):
            assert each["low"] <= each["value"] <= each["high"]
            estimated += each["low"] < each["high"]
    assert estimated > 40
    (scaled,) = document["scalings"]
    columns = scaled["ways"]["fixed-size"]["columns"]
    for name in ("time", "efficiency", "latency", "account[io]"):
        values, lows, highs = (columns[each] for each in (name, f"low[{name}]", f"high[{name}]"))
        triples = [each for each in zip(lows, values, highs, strict=True) if None not in each]
        assert triples, name
        assert all(low <= value <= high for low, value, high in triples), name
    with Path("here/results.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for head in (head[4:] for head in row if head.startswith("low ")):
            if row[head] and row[f"low {head}"]:
                assert float(row[f"low {head}"]) <= float(row[head]) * (1 + 1e-12), (
                    row["sweep"],
                    head,
                )
                assert float(row[head]) <= float(row[f"high {head}"]) * (1 + 1e-12), (
                    row["sweep"],
                    head,
                )
        assert row["low time [s]"], row["sweep"]
    assert "among single changes, half removes the most overhead" in page
    assert ", undecided against same, because their intervals overlap" in page
    assert "inside the interval" in page
    assert "outside the interval" in page
    assert ", undecided" in page.partition("\n## Comparisons")[2]
