"""Populations that are not gone through one by one: the state that finds itself, beside the
recursion.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick.api import solve
from slipstick.errors import NoAnswerError
from slipstick_mean_value import closed

MODEL = """\
activity: 1
population: {processors: PROCESSORS}
resources: {bus: {servers: 1, discipline: fcfs}}
cycle:
  - {name: work, delay: THINK, scv: 1}
  - {name: update, service: bus, time: 1 ms, scv: 0.25}
"""


def _time(folder: Path, processors: int, think: str) -> float:
    path = folder / "large.yaml"
    path.write_text(MODEL.replace("PROCESSORS", str(processors)).replace("THINK", think))
    found = solve(path, method="mean-value")["time"]
    assert found is not None
    return found


@pytest.mark.turns(5)
@pytest.mark.parametrize("think", ["200 ms", "900 ms", "1 s", "1.1 s", "3 s"])
def test_the_last_processors_one_by_one_give_the_time_of_all_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, think: str
) -> None:
    one_by_one = _time(tmp_path, 1000, think)
    monkeypatch.setattr(closed, "MOST_ONE_BY_ONE", 500)
    assert _time(tmp_path, 1000, think) == pytest.approx(one_by_one, rel=1e-11)


@pytest.mark.turns(3)
@pytest.mark.parametrize(("think", "within"), [("200 ms", 2e-3), ("1 s", 2e-2), ("3 s", 2e-3)])
def test_a_state_that_finds_itself_is_near_the_recursion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, think: str, within: float
) -> None:
    one_by_one = _time(tmp_path, 1000, think)
    monkeypatch.setattr(closed, "MOST_ONE_BY_ONE", 500)
    monkeypatch.setattr(closed, "LAST_ONE_BY_ONE", 0)
    assert _time(tmp_path, 1000, think) == pytest.approx(one_by_one, rel=within)


@pytest.mark.turns(4)
def test_a_million_processors_saturate_a_station(tmp_path: Path) -> None:
    assert _time(tmp_path, 1_000_000, "1 s") == pytest.approx(1000.0, rel=1e-6)


@pytest.mark.turns(4)
def test_a_state_that_does_not_settle_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closed, "MOST_ITERATIONS", 3)
    path = tmp_path / "large.yaml"
    path.write_text(MODEL.replace("PROCESSORS", "20000").replace("THINK", "1 s"))
    with pytest.raises(NoAnswerError) as caught:
        solve(path, method="mean-value")
    assert (
        str(caught.value)
        == "the state of 20,000 processors does not settle within 3 steps; ask for simulation or"
        " bounds"
    )


@pytest.mark.turns(4)
def test_a_state_that_goes_round_is_given_up_early() -> None:
    with pytest.raises(NoAnswerError, match=r"does not settle within \d\d\d steps"):
        solve("lock-and-bus", method="mean-value", set={"population.processors": 40_000})


def test_a_population_that_does_not_settle_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one block of points, the state of 4,000 processors oscillates."""
    monkeypatch.setattr(closed, "MOST_ITERATIONS", 100)
    given = {"population.processors": [2, 8, 4000]}
    times = solve("lock-and-bus", given, method="mean-value")["time"]
    alone = [
        solve("lock-and-bus", {"population.processors": processors}, method="mean-value")["time"]
        for processors in (2, 8)
    ]
    assert np.asarray(times)[:2].tolist() == pytest.approx(alone)
    assert np.isnan(np.asarray(times)[2])
