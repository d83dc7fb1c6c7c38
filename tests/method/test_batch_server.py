"""Servers that work in rounds: chain, formula and simulation of the same files agree."""

from __future__ import annotations

from typing import Any

import pytest

from slipstick.answer import Answer
from slipstick.api import solve
from slipstick.errors import ModelError, NoAnswerError, SpecError
from slipstick.expression.nodes import RATE, Number, Parameter
from slipstick.model.batch_server import BatchServer, OpenCustomers, RoundPhase
from slipstick.sim.settings import Simulation

COMMIT: dict[str, Any] = {
    "batch-server": 1,
    "parameters": {"clients": 12, "think": "3 ms", "flush": "1 ms", "delay": "0 ms"},
    "customers": {"population": "clients", "think_time": "think"},
    "phases": {"commit": {"work": 1}},
    "round": {"flush": "flush", "records": "0.05 * think * served.commit"},
    "batching_delay": "delay",
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


def number(answer: Answer, name: str) -> float:
    """Return a value that the answer has."""
    value = answer[name]
    assert value is not None
    return value


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
    present = number(run, "served") * number(run, "utilization")
    assert number(run, "throughput") * in_rounds == pytest.approx(present, rel=0.03)
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
    with pytest.raises(
        NoAnswerError, match="holds up to 1,200 units, more than the 500 that memory has room for"
    ):
        solve(changed(TWO, memory=500))
    three = changed(TWO, phases={name: {"work": 1} for name in ("a", "b", "c")})
    three["round"] = {"time": "fixed"}
    with pytest.raises(
        NoAnswerError, match="the formula knows customers of two phases; ask for simulation"
    ):
        solve(three, method="formula")


def test_memory_that_grows_delays_and_puts_back() -> None:
    values = {"parameters.rate": "0.8 /s"}
    short = Simulation(seed=311, cycles=1500)
    free = solve(TWO, values, simulation=short)
    tight = changed(TWO, memory=2100, admission="grow")
    crowded = solve(tight, values, simulation=short)
    assert number(crowded, "put_back") > 0
    assert number(crowded, "response_time") > number(free, "response_time")


def test_more_places_and_memory_than_needed_change_nothing() -> None:
    plain = solve({key: value for key, value in TWO.items() if key != "places"}, simulation=SHORT)
    wide = solve(changed(TWO, places=10**6, memory=1e9), simulation=SHORT)
    assert plain.values == wide.values


THE_CHAIN = "the chain of rounds has no answer:"
REFUSALS = [
    ({"phases": {"a": {"work": 1}, "b": {"work": 1}}}, "customers have several phases"),
    ({"phases": {"a": {"work": 2, "piece": 1}}}, "the work of a customer is not done in one round"),
    ({"interval": "1 ms"}, "rounds begin at multiples of an interval"),
    ({"customers": {"population": 3, "visits": 2}}, "a finite run is asked for"),
    ({"customers": {"population": 3}}, "no time between visits is random"),
    (
        {"customers": {"population": 3, "think_time": "think", "delay": "think"}},
        "customers spend a constant time outside of the server",
    ),
    ({"places": 3}, "not all customers fit into one round"),
    (
        {"customers": {"arrivals": "10 /s"}, "places": 9},
        "a round serves a limited number of customers",
    ),
    (
        {"customers": {"population": 600, "think_time": "think"}},
        "600 customers are more than the 512 that it counts",
    ),
    (
        {"customers": {"arrivals": "1e6 /s"}},
        (
            "the server is saturated: each further customer of a round takes longer than the time"
            " between arrivals"
        ),
    ),
]


@pytest.mark.parametrize(("keys", "reason"), REFUSALS)
def test_the_chain_says_what_it_does_not_know(keys: dict[str, Any], reason: str) -> None:
    model = changed(COMMIT, **keys)
    model["round"] = {"flush": "flush"} if "phases" in keys else COMMIT["round"]
    with pytest.raises(NoAnswerError) as error:
        solve(model, method="markov-chain")
    assert str(error.value) in (f"{THE_CHAIN} {reason}", reason)


def test_what_no_round_can_do_is_refused() -> None:
    for keys, reason in (
        ({"budget": 0}, "a round does no work: its budget and the pieces must be above 0"),
        ({"places": "1 - 0.5"}, "no customer is ever admitted: there is no place"),
        ({"interval": "1 s"}, "the formula knows rounds one after the other; ask for simulation"),
    ):
        method = "formula" if "interval" in keys else "simulation"
        with pytest.raises(NoAnswerError, match=reason):
            solve(changed(TWO, **keys), method=method)
    with pytest.raises(
        SpecError,
        match="think_time and visits belong to a population; a customer that arrives comes once",
    ):
        solve(changed(COMMIT, customers={"arrivals": "1 /s", "think_time": "think"}))


def test_a_model_without_a_round_is_refused() -> None:
    with pytest.raises(ModelError, match="needs the time of a round"):
        BatchServer("x", OpenCustomers(Parameter("rate", RATE)), {"a": RoundPhase(Number(1.0))}, {})


def test_rounds_without_end_are_refused_by_the_chain_of_a_stream() -> None:
    """Rounds that hardly grow but are long serve more customers than the chain counts."""
    model = changed(COMMIT, customers={"arrivals": "600 /s"}, round={"flush": "1000 * flush"})
    with pytest.raises(
        NoAnswerError,
        match="the chain of rounds has no answer: rounds serve more than 512 customers",
    ):
        solve(model, method="markov-chain")
