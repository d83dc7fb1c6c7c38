"""Studies by simulation: the method on an axis, in a case, and side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick.errors import SpecError
from slipstick.results.study import Results
from slipstick.study.check import check_file
from slipstick.study.engine import Engine
from slipstick.study.run import prepare, run
from slipstick_questions.agree import AgreeResult
from slipstick_questions.rank import RankResult
from tests.questions import parameter, result_of

MODEL = """\
activity: 1
population: {processors: 4}
resources: {bus: {}}
cycle:
  - {name: work, delay: 9 ms, scv: 1}
  - {name: ask, service: bus, time: 3 ms, scv: 1, component: io}
"""
STUDY = """\
study: 1
base: {model: model.yaml, method: closed-form, simulation.precision: 5%}
cases:
  seen: {method: simulation, simulation.seed: 3}
vary:
  n: {axes: {method: [closed-form, simulation], population.processors: [1, 2, 8]}}
  seeds: {axes: {simulation.seed: [1, 2]}, cases: [seen]}
answer: [time, "account[wait:bus]", "utilization[bus]"]
rank: {cases: [seen], of: [cycle.0.delay, cycle.1.time]}
agree: {methods: [closed-form, simulation, bounds], cases: [seen]}
pictures: [{kind: timeline, name: line, title: Who did what when, case: seen}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(MODEL)
    Path("study.yaml").write_text(STUDY)
    return tmp_path


def ran(jobs: int = 1) -> Results:
    return run(prepare("study.yaml"), engine=Engine(jobs=jobs))


@pytest.mark.turns(4)
def test_the_method_is_a_setting_like_any_other(folder: Path) -> None:
    results = ran()
    assert {name: answer.method for name, answer in results.cases.items()} == {
        "base": "closed-form",
        "seen": "simulation",
    }
    points, seeds = results.sweeps
    assert list(points.points["method"]) == ["closed-form"] * 3 + ["simulation"] * 3
    closed, seen = points.columns["time"][:3], points.columns["time"][3:]
    assert closed.tolist() == [0.012] * 3
    assert seen[0] == pytest.approx(0.012, rel=0.1)
    assert seen[2] > 1.8 * closed[2]
    assert seeds.columns["time"][0] != seeds.columns["time"][1]
    assert seeds.columns["low[time]"][0] < seeds.columns["time"][0] < seeds.columns["high[time]"][0]
    assert (
        result_of(results, AgreeResult).agreements[0].verdicts[1]
        == "simulation lies within the bounds"
    )
    assert results.timelines["line"].spans


@pytest.mark.turns(4)
def test_the_results_do_not_depend_on_the_number_of_workers(folder: Path) -> None:
    one, three = ran(), ran(jobs=3)
    for alone, together in zip(one.sweeps, three.sweeps, strict=True):
        assert list(alone.columns) == list(together.columns)
        for name, column in alone.columns.items():
            assert np.array_equal(column, together.columns[name], equal_nan=True)


@pytest.mark.turns(4)
def test_a_ranking_by_simulation_has_shares_by_differences(folder: Path) -> None:
    ranking = result_of(ran(), RankResult).rankings[0]
    assert {parameter(row) for row in ranking.rows} == {"cycle.work.delay", "cycle.ask.time"}
    assert sum(row["share"] or 0.0 for row in ranking.rows) == pytest.approx(1.0, abs=0.1)
    assert all((row["time_saved"] or 0.0) > 0 for row in ranking.rows)


WRONG = [
    (
        "method: [closed-form, simulation]",
        "method: [closed-form, simulations]",
        "method: there is no method 'simulations'",
    ),
    (
        "[closed-form, simulation, bounds]",
        "[closed-form, bound]",
        "agree.methods.1: there is no method 'bound'",
    ),
    (
        "cases: [seen]}\npictures",
        "cases: [sene]}\npictures",
        "agree.cases.0: there is no case 'sene'",
    ),
    (
        "simulation.seed: 3",
        "simulation.seeds: 3",
        "simulation.seeds: unknown key; did you mean 'seed'?",
    ),
    (
        "title: Who did what when, case: seen",
        "title: x, case: sean",
        "pictures.0.case: there is no case 'sean'",
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in STUDY
    Path("study.yaml").write_text(STUDY.replace(old, new))
    for reading in (lambda: check_file(Path("study.yaml")), lambda: prepare("study.yaml")):
        with pytest.raises(SpecError) as caught:
            reading()
        assert words in str(caught.value)
