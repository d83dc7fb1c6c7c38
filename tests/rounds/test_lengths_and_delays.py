"""Servers that work in rounds: measured lengths, delays that vary, and the order of a budget."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from slipstick.api import load, solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.sim.settings import Simulation
from slipstick_rounds.points import PhaseNumbers

LENGTHS = [200.0, 350.0, 500.0, 2600.0]
"""Mean 912.5; a quarter is far longer than the rest."""

SERVER: dict[str, Any] = {
    "batch-server": 1,
    "parameters": {"rate": "1.6 /s", "fixed": "8 ms", "token": "20 us"},
    "customers": {"arrivals": "rate"},
    "phases": {
        "prompt": {"samples": LENGTHS},
        "answer": {"samples": [60, 100, 140, 300], "piece": 1},
    },
    "round": {"fixed": "fixed", "tokens": "token * (units.prompt + units.answer)"},
    "budget": 2048,
    "places": 64,
}
RUN = Simulation(seed=20261129, cycles=12_000)


def test_measured_lengths_have_their_own_mean_and_variance() -> None:
    phase = PhaseNumbers(2600.0, 200.0, math.inf, tuple(LENGTHS))
    assert phase.mean == 912.5
    assert phase.variance == pytest.approx(np.var(LENGTHS))
    assert phase.groups(4).tolist() == LENGTHS
    assert phase.groups(8).mean() == pytest.approx(phase.mean)
    uniform = PhaseNumbers(9.0, 1.0, math.inf)
    assert uniform.groups(4).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert uniform.variance == pytest.approx(64 / 12)


@pytest.mark.turns(4)
def test_a_stream_of_measured_lengths_is_as_simulated() -> None:
    run = solve(SERVER, method="simulation", simulation=RUN)
    # The rates of units are those of the mean lengths.
    for phase, mean in (("prompt", 912.5), ("answer", 150.0)):
        rate = run.find(f"unit_rate[{phase}]")
        assert rate == pytest.approx(1.6 * mean, rel=0.04)
    formula = solve(SERVER, method="formula")
    for name, error in (
        ("phase_time[prompt]", 0.1),
        ("phase_time_quantile[prompt,0.95]", 0.15),
        ("time_per_unit[answer]", 0.1),
    ):
        assert formula.find(name) == pytest.approx(run.find(name), rel=error)


@pytest.mark.turns(4)
def test_a_closed_population_of_measured_lengths_is_as_simulated() -> None:
    closed = SERVER | {"customers": {"population": 12, "think_time": "1 s"}}
    run = solve(closed, method="simulation", simulation=RUN)
    formula = solve(closed, method="formula")
    for name in ("phase_time[prompt]", "throughput"):
        assert formula.find(name) == pytest.approx(run.find(name), rel=0.1)


def test_samples_stand_in_place_of_the_work_of_an_inherited_model() -> None:
    model = {"batch-server": 1, "extends": "llm-serving"}
    model["phases"] = {"prompt": {"samples": [100, 900]}}
    answer = solve(model, method="formula")
    rate = answer.find("unit_rate[prompt]")
    assert rate == pytest.approx(4 * 500.0)
    assert answer.find("amount[cost_of_a_million_tokens]") is not None


def test_a_phase_needs_work_or_samples() -> None:
    with pytest.raises(SpecError, match="give work, or samples of it"):
        load(SERVER | {"phases": {"prompt": {"piece": 1}}})
    with pytest.raises(SpecError, match="more than 0; got 0"):
        load(SERVER | {"phases": {"prompt": {"samples": [0, 3]}}})


def test_the_spread_of_a_delay_needs_a_delay() -> None:
    with pytest.raises(SpecError, match="delay_scv says how the delay varies; give the delay"):
        load(SERVER | {"customers": {"population": 3, "delay_scv": 1}})


def test_delays_that_vary_belong_to_the_visit_that_they_precede() -> None:
    # A server without other customers: the time of a visit is the delay and two rounds.
    model = {
        "batch-server": 1,
        "customers": {"population": 1, "delay": "1 s", "delay_scv": 1},
        "phases": {"work": {"work": 2, "piece": 1}},
        "round": {"fixed": "1 ms"},
    }
    run = solve(model, method="simulation", simulation=Simulation(seed=5, cycles=20_000))
    response = run["response_time"]
    assert response is not None
    assert response == pytest.approx(1.002, rel=0.03)
    # Exponential: half of them are below the logarithm of 2.
    assert run.find("response_time_quantile[0.5]") == pytest.approx(0.002 + math.log(2), rel=0.05)
    assert run.find("throughput") == pytest.approx(1 / response, rel=1e-3)
    constant = model | {"customers": {"population": 1, "delay": "1 s"}}
    settings = Simulation(seed=5, cycles=300)
    run = solve(constant, method="simulation", simulation=settings)
    assert run.find("response_time_quantile[0.95]") == pytest.approx(1.002)


def test_a_constant_delay_keeps_customers_in_step_and_one_that_varies_does_not() -> None:
    # Five customers of equal work: after equal delays all come together, and each first phase
    # waits for those in front of it.
    model = {
        "batch-server": 1,
        "parameters": {"scv": 0, "fixed": "2 ms", "unit": "50 us"},
        "customers": {"population": 5, "delay": "40 ms", "delay_scv": "scv", "visits": 40},
        "phases": {"first": {"work": 1000}, "second": {"work": 400, "piece": 1}},
        "round": {"fixed": "fixed", "units": "unit * (units.first + units.second)"},
        "budget": 1000,
    }
    settings = Simulation(seed=8, cycles=8)
    times = [
        solve(model, {"parameters.scv": scv}, method="simulation", simulation=settings).find(
            "phase_time[first]"
        )
        for scv in (0.0, 1.0)
    ]
    assert times[0] is not None
    assert times[1] is not None
    assert times[1] < 0.9 * times[0]


def test_the_formula_has_no_quantiles_of_a_first_phase_behind_a_delay_that_varies() -> None:
    customers = {"arrivals": "rate", "delay": "10 ms", "delay_scv": 1}
    answer = solve(SERVER | {"customers": customers}, method="formula")
    assert answer.find("phase_time_quantile[prompt,0.95]") is None
    constant = SERVER | {"customers": {"arrivals": "rate", "delay": "10 ms"}}
    late, own = (
        solve(model, method="formula").find("phase_time_quantile[prompt,0.95]")
        for model in (constant, SERVER)
    )
    assert own is not None
    assert late == pytest.approx(own + 0.01)


def test_the_formula_knows_one_order_only() -> None:
    with pytest.raises(NoAnswerError) as refused:
        solve(SERVER | {"order": "earlier-phases"}, method="formula")
    assert "the formula knows budgets that go to later phases first; ask for simulation" in str(
        refused.value
    )


@pytest.mark.turns(4)
def test_earlier_phases_first_shorten_the_first_phase_and_lengthen_the_second() -> None:
    # Second phases fill the budget.
    busy = SERVER | {"budget": 24, "phases": {
        "first": {"work": 60, "least": 20},
        "second": {"work": 200, "least": 100, "piece": 1},
    }, "customers": {"population": 40, "think_time": "1 s"},
        "round": {"fixed": "fixed"}}  # fmt: skip
    first, second = [], []
    for order in ("later-phases", "earlier-phases"):
        run = solve(
            busy | {"order": order}, method="simulation", simulation=Simulation(seed=2, cycles=2000)
        )
        first.append(run.find("phase_time[first]") or math.nan)
        second.append(run.find("time_per_unit[second]") or math.nan)
    assert first[1] < 0.5 * first[0]
    assert second[1] > 1.2 * second[0]
