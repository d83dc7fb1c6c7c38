"""What an import left out stands in every answer, table, report and document that is made from it,
and none is exact.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick import dump, load, solve
from slipstick.cli.main import main
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model

ACTIVITY = """activity: 1
left_out: {shares: tasks share p3 equally (line 12)}
population: {processors: 4}
cycle: [{name: work, delay: 1 s, scv: 1}]
"""
NETWORK = """queueing-network: 1
left_out: {shares: tasks share p3 equally (line 12)}
classes: {jobs: {population: 3}}
stations: {cpu: {demand: {jobs: 1 s}}, disk: {demand: {jobs: 2 s}}}
"""
LOSSES = {"shares": "tasks share p3 equally (line 12)"}
MODELS = {
    "activity.yaml": (ACTIVITY, ("closed-form", "mean-value", "simulation", "bounds")),
    "network.yaml": (NETWORK, ("exact", "schweitzer", "simulation", "bounds", "markov-chain")),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
def test_no_method_answers_exactly(name: str, tmp_path: Path) -> None:
    text, methods = MODELS[name]
    (tmp_path / name).write_text(text)
    (tmp_path / "whole.yaml").write_text(text.replace(text.splitlines()[1] + "\n", ""))
    for method in (None, *methods):
        if method != "bounds":
            answer = solve(str(tmp_path / name), method=method)
            assert (answer.exact, dict(answer.left_out)) == (False, LOSSES)
            assert "left out by the import: shares" in str(answer)
        whole = solve(str(tmp_path / "whole.yaml"), method=method) if method != "bounds" else None
        assert whole is None or not whole.left_out
    assert solve(str(tmp_path / "whole.yaml")).exact


@pytest.mark.parametrize("name", MODELS)
def test_the_command_repeats_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(MODELS[name][0])
    methods = ",".join(MODELS[name][1])
    assert main(["solve", str(tmp_path / name), "--with", methods, "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert len(answers) >= len(MODELS[name][1])
    assert all((each["exact"], each["left_out"]) == (False, LOSSES) for each in answers)
    model = load(str(tmp_path / name))
    assert isinstance(model, Model | QueueingNetwork)
    (tmp_path / "again.yaml").write_text(dump(model))
    again = load(str(tmp_path / "again.yaml"))
    assert isinstance(again, Model | QueueingNetwork)
    assert dict(again.left_out) == LOSSES


@pytest.mark.parametrize("name", MODELS)
def test_a_report_and_its_table_repeat_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "population.processors" if name == "activity.yaml" else "classes.jobs.population"
    study = (
        f"study: 1\nbase: {{model: {name}}}\nanswer: [throughput]\n"
        f"cases: {{more: {{{path}: 5}}}}\nvary: {{n: {{axes: {{{path}: [1, 2]}}}}}}\n"
    ).replace("[throughput]", "[throughput]" if "act" in name else '["throughput[jobs]"]')
    (tmp_path / name).write_text(MODELS[name][0])
    (tmp_path / "study.yaml").write_text(study)
    out = tmp_path / "report"
    assert main(["run", str(tmp_path / "study.yaml"), "--out", str(out), "--all"]) == 0
    assert "left out by the import: shares" in capsys.readouterr().out
    report = (out / "report.md").read_text()
    assert "left out by the import: shares (tasks share p3 equally (line 12))" in report
    assert "left out by the import" in (out / "report.html").read_text()
    head, *rows = (out / "results.csv").read_text().splitlines()
    column = head.split(",").index("left_out")
    assert [row.split(",")[column] for row in rows] == ["shares"] * 4
    assert {row.split(",")[head.split(",").index("exact")] for row in rows} == {"no"}


MACHINE = """machine: 1
extends: linux-cluster
left_out: {small-operations: operations of all sizes run at the rate of the largest}
"""
OF_THE_MACHINE = {"small-operations": "operations of all sizes run at the rate of the largest"}
ON_A_MACHINE = {
    "activity.yaml": (
        "activity: 1\nmachine: m.yaml\npopulation: {processors: 4}\ncycle: [{delay: 1 s}]\n"
    ),
    "network.yaml": NETWORK.replace("left_out", "machine: m.yaml\nleft_out"),
}


@pytest.mark.parametrize("name", ON_A_MACHINE)
def test_what_an_import_of_the_machine_left_out_is_repeated(name: str, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MACHINE)
    (tmp_path / name).write_text(ON_A_MACHINE[name])
    answer = solve(str(tmp_path / name))
    assert not answer.exact
    assert dict(answer.left_out) == OF_THE_MACHINE | (LOSSES if "network" in name else {})
    other = solve(str(tmp_path / name), machine="linux-cluster")
    assert dict(other.left_out) == (LOSSES if "network" in name else {})


def test_a_program_on_such_a_machine_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MACHINE)
    answer = solve("dvsm/page-fault", machine=str(tmp_path / "m.yaml"))
    assert (answer.exact, dict(answer.left_out)) == (False, OF_THE_MACHINE)
