"""Servers that work in rounds: chain, formula and simulation of the same files agree."""

from __future__ import annotations

from typing import Any

import pytest

from slipstick.api import solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.sim.settings import Simulation

COMMIT: dict[str, Any] = {
    "batch-server": 1,
    "parameters": {"clients": 12, "think": "3 ms", "flush": "1 ms", "delay": "0 ms"},
    "customers": {"population": "clients", "think_time": "think"},
    "phases": {"commit": {"work": 1}},
    "round": {"flush": "flush", "records": "0.05 * think * served.commit"},
    "gather": "delay",
}

TWO: dict[str, Any] = {
    "batch-server": 1,
    "parameters": {"rate": "1.5 /s", "fixed": "8 ms", "token": "20 us", "prompt": 1000},
    "customers": {"arrivals": "rate"},
    "phases": {
        "prompt": {"work": "prompt"},
        "answer": {"work": 200, "least": 100, "piece": 1},
    },
    "round": {
        "weights": "fixed",
        "tokens": "token * (units.prompt + units.answer)",
        "cache": "1e-5 * token * held",
    },
    "budget": 2048,
    "places": 64,
}

SHORT = Simulation(seed=311, precision=0.02, least=4000)


def changed(model: dict[str, Any], **keys: object) -> dict[str, Any]:
    return {**model, **keys}


@pytest.mark.parametrize("delay", ["0 ms", "0.7 ms"])
def test_a_chain_is_the_simulation(delay: str) -> None:
    values = {"parameters.delay": delay}
    chain = solve(COMMIT, values)
    assert (chain.method, chain.exact) == ("markov-chain", True)
    run = solve(COMMIT, values, method="simulation", simulation=SHORT)
    for name in ("response_time", "throughput", "served", "round_time", "utilization"):
        assert run[name] == pytest.approx(chain[name], rel=0.02)
    for part in ("flush", "records", "wait"):
        assert run.account[part] == pytest.approx(chain.account[part], rel=0.04)
    assert sum(chain.account.values()) == pytest.approx(chain["response_time"])


def test_a_stream_by_chain_is_the_simulation() -> None:
    model = changed(COMMIT, customers={"arrivals": "2000 /s"})
    chain = solve(model)
    run = solve(model, method="simulation", simulation=SHORT)
    assert chain.exact
    assert run["response_time"] == pytest.approx(chain["response_time"], rel=0.02)


@pytest.mark.parametrize(("rate", "prompt"), [("1.5 /s", 1000), ("4 /s", 1000), ("1 /s", 5000)])
def test_the_formula_is_within_a_tenth_of_the_simulation(rate: str, prompt: int) -> None:
    values = {"parameters.rate": rate, "parameters.prompt": str(prompt)}
    formula = solve(TWO, values, method="formula")
    run = solve(TWO, values)
    assert (run.method, formula.exact) == ("simulation", False)
    for name in ("phase_time[prompt]", "time_per_unit[answer]", "response_time"):
        assert formula[name] == pytest.approx(run[name], rel=0.1)


def test_littles_law_holds_of_rounds() -> None:
    """Customers present, over time, are the throughput times the time in rounds."""
    run = solve(TWO, simulation=SHORT)
    in_rounds = sum(run.account[part] for part in ("weights", "tokens", "cache"))
    present = run["served"] * run["utilization"]
    assert run["throughput"] * in_rounds == pytest.approx(present, rel=0.03)
    assert sum(run.account.values()) == pytest.approx(run["response_time"])


def test_a_finite_run_begins_with_all_at_once() -> None:
    """Two customers share the first round, and each comes twice without a pause."""
    customers = {"population": 2, "visits": 2}
    model = changed(TWO, customers=customers, phases={"work": {"work": 10, "piece": 10}})
    model["round"] = {"time": "fixed"}
    answer = solve(model, method="simulation")
    assert answer["response_time"] == pytest.approx(8e-3)
    assert answer.values["response_time"].low == answer.values["response_time"].high
    assert answer["throughput"] == pytest.approx(4 / 16e-3)


def test_what_has_no_answer_is_refused_in_words() -> None:
    with pytest.raises(SpecError, match="give either a population or arrivals"):
        solve(changed(COMMIT, customers={"population": 2, "arrivals": "1 /s"}))
    with pytest.raises(SpecError, match=r"round\.flush: there is no name"):
        solve(changed(COMMIT, round={"flush": "flush * served.commits"}))
    with pytest.raises(SpecError, match="there is no name 'held'"):
        solve(changed(TWO, budget="held"))
    with pytest.raises(NoAnswerError, match="saturated: load"):
        solve(TWO, {"parameters.rate": "40 /s"})
    with pytest.raises(NoAnswerError, match="holds up to 1,200 units, more than the 500"):
        solve(changed(TWO, memory=500))
    three = changed(TWO, phases={name: {"work": 1} for name in ("a", "b", "c")})
    three["round"] = {"time": "fixed"}
    with pytest.raises(NoAnswerError, match="two phases"):
        solve(three, method="formula")


def test_memory_that_grows_delays_and_puts_back() -> None:
    values = {"parameters.rate": "1.8 /s"}
    free = solve(TWO, values, simulation=SHORT)
    tight = changed(TWO, memory=4000, admission="grow")
    crowded = solve(tight, values, simulation=SHORT)
    assert crowded["put_back"] > 0
    assert crowded["response_time"] > free["response_time"]


def test_more_places_and_memory_than_needed_change_nothing() -> None:
    plain = solve({key: value for key, value in TWO.items() if key != "places"}, simulation=SHORT)
    wide = solve(changed(TWO, places=10**6, memory=1e9), simulation=SHORT)
    assert plain.values == wide.values
