"""The method where none is named: which one it is, that every row says so, and that no row is
out of its bounds unmarked.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from slipstick import Simulation, closed_model, delay, hold, service, solve
from slipstick.cli.main import main
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import parameters
from slipstick.method.bounds import CompiledBounds
from slipstick.method.ladder import LadderForm
from slipstick.method.methods import default_method, form_of
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.bounds import CompiledNetworkBounds
from slipstick.model.activity import fork
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.schema.inputs import build, resolve
from slipstick.schema.library import Library
from slipstick.vocabulary import KNOWN
from tests.specs import settings

ROOT = Path(__file__).parents[2]
ACTIVITIES = sorted(each.stem for each in (ROOT / "specs" / "activities").glob("*.yaml"))
NETWORKS = sorted(each.stem for each in (ROOT / "specs" / "queueing").glob("*.yaml"))
SHORT = Simulation(cycles=50)


def model_of(name: str) -> Model | QueueingNetwork:
    model = build(resolve(settings(model=name), Library())).model
    assert isinstance(model, Model | QueueingNetwork)
    return model


def sizes_of(model: Model | QueueingNetwork) -> dict[str, np.ndarray]:
    """Vary the population: a few processors or customers, or less and more of what arrives."""
    if isinstance(model, Model):
        names = [each.name for each in parameters(*model.population.processor_counts)]
        rate = model.parameters.get("population.arrivals")
        if not names and rate is not None and rate.value is not None:
            return {rate.name: rate.value * np.array([0.5, 1.0, 2.0])}
        return {name: np.array([1.0, 4.0, 16.0]) for name in names}
    known = {name: each.value or 0.0 for name, each in NetworkLayout(model).tape.parameters.items()}
    every = [each for each in known if each.endswith((".population", ".arrivals"))]
    every = every or list(known)[:1]
    half = np.array([0.5, 1.0, 2.0])
    return {
        path: known[path] * half if path.endswith("arrivals") else np.ceil(known[path] * half)
        for path in every
    }


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", [*ACTIVITIES, *NETWORKS])
def test_no_row_of_a_shipped_model_is_out_of_its_bounds_without_a_mark(name: str) -> None:
    model = model_of(name)
    varied = sizes_of(model)
    if not varied:  # its numbers decide its shape, such as servers, so that it has one row
        by_formula = isinstance(model, QueueingNetwork) or model.population.open
        assert by_formula, "a shipped model without a population to vary"
        answer = solve(model, simulation=SHORT)
        assert not (answer.exact and answer.bound)
        return
    found = solve(model, {path: each.tolist() for path, each in varied.items()}, simulation=SHORT)
    if isinstance(model, Model) and model.constructs - KNOWN["bounds"]:
        with pytest.raises(NoAnswerError, match="bounds cannot solve"):
            CompiledBounds(model)
        return
    form = CompiledBounds(model) if isinstance(model, Model) else CompiledNetworkBounds(model)
    rows = [row for row in range(len(found)) if row not in found.failed]
    assert len(found.provenance.methods) == len(found.provenance.exact) == len(found)
    for row in rows:
        method, exact = found.provenance.methods[row], found.provenance.exact[row]
        assert method not in ("", "best", "bounds")
        bounds = form.solution(
            {path: each[[row]] for path, each in varied.items() if path in form.parameters}
        )
        for value in {*bounds.low, *bounds.high} & found.columns.keys():
            here = float(found.columns[value][row])
            low, high = (
                float(ends[value][0]) if value in ends else math.nan
                for ends in (bounds.low, bounds.high)
            )
            beyond = here < low * (1 - 1e-9) or here > high * (1 + 1e-9)
            assert not (beyond and exact), (value, row)
            assert not beyond or row in found.provenance.outside, (value, row)


@pytest.mark.turns(4)
def test_contention_is_in_the_answer_without_any_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.yaml").write_text(
        "study: 1\nbase: {model: lock-and-bus}\nvary: {population.processors: [1, 8, 32]}\n"
    )
    assert main(["run", str(tmp_path / "x.yaml"), "--out", str(tmp_path / "out"), "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"][1:]
    assert [(each["method"], each["exact"], each["bound"]) for each in answers] == [
        ("closed-form", True, None),
        ("mean-value", False, None),
        ("mean-value", False, None),
    ]
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))[1:]
    assert [float(row["time [s]"]) for row in rows] == pytest.approx(
        [0.010, 0.0255, 0.0395], rel=0.01
    )
    assert [(row["method"], row["exact"]) for row in rows] == [
        ("closed-form", "yes"),
        ("mean-value", "no"),
        ("mean-value", "no"),
    ]


@pytest.mark.turns(4)
def test_a_row_below_its_bound_says_so_in_the_row(tmp_path: Path) -> None:
    text = (
        "study: 1\nbase: {model: lock-and-bus, method: closed-form}\nvary: {population.processors:"
        " [1, 8, 32]}\n"
    )
    (tmp_path / "x.yaml").write_text(text)
    assert main(["run", str(tmp_path / "x.yaml"), "--out", str(tmp_path / "out")]) == 0
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert [row["bound"] for row in rows] == ["", "", "", "time is below its lower bound 32 ms"]
    assert "| time is below its lower bound 32 ms |" in (tmp_path / "out" / "report.md").read_text()


CONSTANT = """activity: 1
population: {processors: 4}
parameters: {work: 9 ms}
resources: {bus: {servers: 1}}
cycle: [{name: think, delay: work}, {name: ask, service: bus, time: 1 ms}]
"""


@pytest.mark.turns(4)
def test_a_row_of_which_no_error_is_promised_says_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 12: the class of the error is in the answer itself: CSV, page, JSON and terminal,
    and in no exact row.
    """
    (tmp_path / "constant.yaml").write_text(CONSTANT)
    (tmp_path / "x.yaml").write_text(
        "study: 1\nbase: {model: constant.yaml, method: mean-value}\nvary: {population.processors:"
        " [1, 8]}\nrank: {}\n"
    )
    words = (
        "all times are constant, so requests may be synchronized: errors of up to 112 % were"
        " measured"
    )
    assert main(["run", str(tmp_path / "x.yaml"), "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["exact"], each["promise"], each["error"]) for each in found["answers"]] == [
        (False, None, words),
        (True, None, None),
        (False, None, words),
    ]
    assert {row["error"] for row in found["rankings"][0]["rows"]} == {words}
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert [row["error"] for row in rows[:3]] == [words, "", words]
    assert words in (tmp_path / "out" / "report.md").read_text().split("## Inputs")[0]
    model = str(tmp_path / "constant.yaml")
    assert main(["solve", model, "--set", "population.processors=8", "--with", "mean-value"]) == 0
    assert "The error may be large: all times are constant" in " ".join(
        capsys.readouterr().out.split()
    )


THINK, ASK = delay(9.0, name="think", scv=1.0), service("bus", 1.0, scv=1.0)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("cycle", "promised", "answering"),
    [
        (THINK >> ASK, "mean-value", "mean-value"),
        (THINK >> hold("door", ASK), "mean-value", "markov-chain"),
        (
            THINK >> fork(ASK, delay(1.0, name="other", scv=1.0)),
            "mean-value",
            "mean-value",
        ),
        (delay(9.0) >> service("bus", 1.0), "simulation", "simulation"),
        (delay(9.0) >> hold("door", service("bus", 1.0)), "simulation", "simulation"),
    ],
)
def test_mean_value_answers_where_it_promises_an_error_and_else_simulation(
    cycle: object, promised: str, answering: str
) -> None:
    """A small chain goes before a promise: that of four processors at a lock."""
    model = closed_model(cycle, processors=4)  # type: ignore[arg-type]
    assert default_method(model) == promised
    assert default_method(model, must_be_smooth=True) == "mean-value"
    assert solve(model, simulation=SHORT).method == answering


def test_points_of_two_methods_are_each_what_they_are_alone() -> None:
    model = closed_model(THINK >> ASK, processors=4)
    form = form_of(model, {})
    assert isinstance(form, LadderForm)
    sizes = np.array([4.0, 1.0, 3.0, 1.0])
    together = form.points({"population.processors": sizes})
    assert together.provenance().methods == [
        "mean-value",
        "closed-form",
        "mean-value",
        "closed-form",
    ]
    assert together.provenance().exact.tolist() == [True] * 4  # type: ignore[union-attr]  # product form
    for row, size in enumerate(sizes):
        alone = form.points({"population.processors": size}).answer(0)
        assert together.answer(row) == alone
        assert together.columns()["time"][row] == alone["time"]
    assert [rows.tolist() for rows in form.blocks({"population.processors": sizes}, 4)] == [
        [1, 3],
        [0, 2],
    ]
    assert form.times({"population.processors": sizes})[0] == together.columns()["time"][0]
