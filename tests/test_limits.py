"""A cost over its limit is refused with the way to raise it, and that way works: command line, study and Python alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slipstick import run, solve, sweep
from slipstick.cli.main import main
from slipstick.errors import InputError, NoAnswerError, SlipstickError, UnknownNameError
from slipstick.limits import LIMITS, check_cost, given_limits, limited
from slipstick.study.engine import Engine
from tests.study.test_engine import blocks, times

STUDY = """study: 1
limits: {points: 4}
base: {model: lock-and-bus}
vary: {parameters.work: [1 ms, 2 ms, 3 ms], population.processors: [1, 2]}
"""


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("over", [1.0004, 1.09, 7.77, 1e4])
def test_the_number_that_a_refusal_names_is_enough(name: str, over: float) -> None:
    cost = over * LIMITS[name].value
    check_cost(name, LIMITS[name].value, "this", "ask for less")
    with pytest.raises(NoAnswerError) as caught:
        check_cost(name, cost, "this", "ask for less")
    told = float(str(caught.value).partition(f"--limit {name}=")[2].split()[0])
    with limited({name: told}):
        check_cost(name, cost, "this", "ask for less")
    assert not given_limits()


def test_a_limit_holds_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["solve", "bolch-8-4", "--with", "markov-chain", "--json"]
    assert main([*asked, "--limit", "states=3"]) == 1
    failed = json.loads(capsys.readouterr().out)["answers"][0]["failed"]
    assert failed.startswith("the chain has more than 3 states")
    assert main(asked) == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sates=3", "--limit sates: sates: unknown key; did you mean 'states'?"),
        ("states=0", "--limit states: states: more than 0; got 0"),
        ("time=3s", "time is a limit of the points of a study; here are states, ticks"),
        ("states", "write NAME=VALUE, such as states=1e6 or time=60s"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(given: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "bolch-8-4", "--limit", given]) == 2
    assert words in capsys.readouterr().err


def test_a_limit_of_a_study_holds_and_the_command_line_goes_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    for command in (["check", str(study)], ["run", str(study), "--out", str(tmp_path / "out")]):
        assert main(command) == 2
        assert "vary: 6 points; the limit is 4" in capsys.readouterr().err
    assert main(["run", str(study), "--no-html", "--out", str(tmp_path / "out"), "--limit", "points=6"]) == 0
    assert len(run(study, limits={"points": 10}).sweeps[0]) == 6


def test_a_limit_holds_in_python() -> None:
    axes = sweep({"parameters.work": [0.001] * 3, "population.processors": [1, 2]})
    with pytest.raises(SlipstickError, match="6 points; the limit is 5"):
        solve("lock-and-bus", axes, limits={"points": 5})
    with pytest.raises(UnknownNameError, match="there is no limit 'point'; did you mean 'points'"):
        solve("lock-and-bus", axes, limits={"point": 5})
    with pytest.raises(InputError, match="the limit points is a number above 0, not nan"):
        solve("lock-and-bus", axes, limits={"points": float("nan")})


def test_a_limit_holds_in_the_threads_of_an_engine_and_is_part_of_what_a_point_is_kept_by() -> None:
    (plain,) = keys = [each.key for each in blocks(4)]
    with limited({"visits": 0.5}), Engine("threads", 2) as engine:
        assert np.isnan(times(engine.solve(blocks(2, 3)))).all()
        assert [each.key for each in blocks(4)] != keys
    assert blocks(4)[0].key == plain


def test_all_limits_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{name} " in told for name in LIMITS)
    assert main(["limits", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["limits"]
    assert {name: each["value"] for name, each in values.items()} == {name: each.value for name, each in LIMITS.items()}
