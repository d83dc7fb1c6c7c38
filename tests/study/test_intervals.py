"""Wherever a simulated value is shown, its interval is: low <= value <= high, in words, tables, pictures and JSON."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipstick.cli.main import main
from slipstick.report.formatting import INTERVALS

NETWORK = """\
queueing-network: 1
classes: {jobs: {arrivals: 3 /s}}
stations:
  web: {servers: 4, discipline: fcfs, service: {jobs: 1 s}, visits: {jobs: 1}}
"""
STUDY = """\
study: 1
base: {model: web.yaml, method: simulation, simulation.cycles: 4000}
what_if:
  calm: {classes.jobs.arrivals: 2 /s}
vary:
  load: {axes: {classes.jobs.arrivals: [2 /s, 2.5 /s, 3 /s]}}
  many: {axes: {classes.jobs.arrivals: {from: 1 /s, to: 3 /s, count: 41}}}
  solved: {axes: {method: [exact, simulation]}}
answer: ["response_time[jobs]", "response_time_quantile[jobs,0.99]", "account[web]", "account[wait:web]"]
"""
VALUES = ("response_time[jobs]", "response_time_quantile[jobs,0.99]", "account[web]", "account[wait:web]")
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
    for each in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from objects(each)


def test_tables_csv_and_json_of_cases_and_sweeps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "study.yaml", "--out", "here", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert main(["run", "study.yaml", "--out", "here"]) == 0
    said, page = capsys.readouterr().out, Path("here/report.md").read_text()
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
            assert float(row[f"low {head}"]) <= float(row[head]) <= float(row[f"high {head}"]), (row, head)
    assert any(float(row[f"low {VALUES[0]} [s]"]) < float(row[f"high {VALUES[0]} [s]"]) for row in simulated)
    (exact,) = (row for row in rows if row.get("method") == "exact")
    assert exact[f"low {VALUES[0]} [s]"] == exact[f"high {VALUES[0]} [s]"] == ""
    estimates = [each for answer in answers if answer["seed"] is not None for each in answer["values"].values()]
    assert estimates
    assert all(each["low"] <= each["value"] <= each["high"] for each in estimates)
    for answer in answers:
        booked = {f"account[{name}]": value for name, value in answer["account"].items()}
        if answer["seed"] is not None:
            assert booked.keys() == answer["intervals"].keys()
            ends = [(answer["intervals"][name], value) for name, value in booked.items()]
            assert all(each["low"] <= value <= each["high"] for each, value in ends)


def test_every_part_of_a_simulated_account_has_an_interval(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "lock-and-bus", "--with", "simulation", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    books = {"account": answer["account"], "technology": answer["technology"], "step": answer["steps"]}
    booked = {f"{book}[{name}]": value for book, parts in books.items() for name, value in parts.items()}
    assert booked.keys() == answer["intervals"].keys()
    assert all(
        answer["intervals"][name]["low"] <= each <= answer["intervals"][name]["high"] for name, each in booked.items()
    )
    assert math.fsum(answer["account"].values()) == pytest.approx(answer["values"]["time"]["value"])
    assert main(["solve", "lock-and-bus", "--with", "simulation"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("busy ", "lock:door ", "time "))]
    assert all(low <= value <= high for row in rows for value, low, high in printed(row))
    assert len([row for row in rows if printed(row)]) >= 3
