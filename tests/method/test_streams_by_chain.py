"""Streams of arrivals at activities as Markov chains: against formulas of queues, chains of
networks, and simulations.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial

import numpy as np
import pytest

from slipstick import Answer, Breaker, Model, Simulation, Station, delay, network, solve, station
from slipstick.errors import NoAnswerError, Saturated
from slipstick.expression.nodes import RATE, TIME, Number, Parameter
from slipstick.method.methods import compute_answers
from slipstick.model.activity import attempt, fork, hold, repeat, service
from slipstick.model.network import open_class
from slipstick.model.steps import Activity
from slipstick.model.system import (
    POISSON,
    ArrivalPattern,
    Group,
    OpenPopulation,
    Permits,
    Resource,
    closed_model,
    open_model,
    population_of_groups,
)
from slipstick.vocabulary import MARKOV_CHAIN, SIMULATION
from slipstick_chains.activity_chain import ActivityChain
from tests.simulation import assert_within_intervals

RUN = Simulation(seed=83, events=250_000, precision=1e-9)
DESK = service("desk", 1.0, name="desk", scv=1.0)
THINK = delay(2.0, name="think", scv=1.0)
BURSTS = ArrivalPattern(
    1.0,
    1,
    Parameter("high", RATE, 1.2),
    Parameter("burst", TIME, 3.0),
    Parameter("calm", TIME, 9.0),
)


def rate(value: float, name: str = "rate") -> Parameter:
    return Parameter(name, RATE, value)


def arriving(
    cycle: Activity,
    arrivals: float,
    servers: int = 1,
    further: Mapping[str, Resource] | None = None,
    pattern: ArrivalPattern = POISSON,
) -> Model:
    resources = {"desk": Station(servers), **(further or {})}
    return open_model(cycle, rate(arrivals), resources=resources, pattern=pattern)


def groups(*members: Group, discipline: str = "fcfs") -> Model:
    return Model("groups", population_of_groups(members), {"desk": Station(1, discipline)})


MODELS: Mapping[str, Model] = {
    "a queue": arriving(DESK, 0.5),
    "two servers": arriving(DESK, 1.2, 2),
    "phases": arriving(service("desk", 1.0, name="desk", scv=0.5), 0.4),
    "patience": arriving(attempt(DESK, patience=0.7), 1.2),
    "retries of a full queue": arriving(attempt(DESK, queue=0, retries=2, back_off=1.0), 0.5),
    "a breaker": arriving(
        attempt(DESK, patience=1.0, breaker="guard"),
        0.8,
        further={"guard": Breaker(2, Parameter("open", TIME, 3.0), scv=1.0)},
    ),
    "balking": arriving(attempt(DESK, balking=[0.2, 0.5]), 1.0),
    "a pool": arriving(
        hold("pool", DESK >> delay(0.3, name="copy", scv=1.0)), 0.5, further={"pool": Permits(2)}
    ),
    "a second phase": arriving(
        hold("pool", DESK, after=delay(0.4, name="log", scv=1.0)), 0.4, further={"pool": Permits(1)}
    ),
    "geometric rounds": arriving(repeat(2.5, DESK, spread="geometric"), 0.2),
    "bursts": arriving(DESK, 0.2, pattern=BURSTS),
    "beside processors": groups(
        Group("users", Number(2.0), THINK >> DESK),
        Group("calls", Number(0.0), service("desk", 0.5, name="call", scv=1.0), rate(0.3)),
    ),
    "two streams": groups(
        Group("calls", Number(0.0), service("desk", 0.5, name="call", scv=1.0), rate(0.3)),
        Group("jobs", Number(0.0), service("desk", 0.9, name="job", scv=1.0), rate(0.1, "other")),
        discipline="ps",
    ),
}


def chain(model: Model) -> Answer:
    return solve(model, method=MARKOV_CHAIN)


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", MODELS)
def test_a_simulation_has_the_values_of_the_chain(name: str) -> None:
    exact = chain(MODELS[name])
    simulated = solve(MODELS[name], method=SIMULATION, simulation=RUN)
    assert {"throughput", "queue_length[desk]", "wait[desk]"} <= exact.values.keys()
    assert_within_intervals(
        simulated, {name: value.value for name, value in exact.values.items()}, absolute=1e-9
    )
    assert sum(exact.account.values()) == pytest.approx(exact["time"], rel=1e-9)
    for label, seconds in exact.account.items():
        assert simulated.account[label] == pytest.approx(seconds, rel=0.05, abs=0.01), label


@pytest.mark.turns(6)
def test_one_server_has_the_time_of_the_formula() -> None:
    for load in (0.1, 0.5, 0.9, 0.95):
        answer = chain(arriving(DESK, load))
        assert answer.exact
        assert answer["time"] == pytest.approx(1 / (1 - load), rel=1e-8)
        assert answer["queue_length[desk]"] == pytest.approx(load / (1 - load), rel=1e-8)
        assert answer["throughput"] == load


def test_customers_without_a_place_are_those_of_erlang() -> None:
    weights = [1.5**busy / factorial(busy) for busy in range(4)]
    answer = chain(arriving(attempt(DESK, queue=0), 1.5, 3))
    assert answer["abandonment[desk]"] == pytest.approx(weights[3] / sum(weights), rel=1e-9)
    assert answer["goodput[desk]"] == pytest.approx(1.5 * (1 - weights[3] / sum(weights)))


def test_redials_without_end_are_a_stream_of_their_own() -> None:
    """With long pauses, tries are lost as those of one Poisson stream are (Cohen, 1957)."""
    load = 0.4
    for _ in range(100):
        load = 0.4 / (1 - load / (1 + load))
    model = arriving(attempt(DESK, queue=0, retries=50, back_off=40.0), 0.4)
    simulated = solve(model, method=SIMULATION, simulation=RUN)
    assert simulated["amplification[desk]"] == pytest.approx(load / 0.4, rel=0.05)


@pytest.mark.parametrize("discipline", ["fcfs", "priority", "priority-preemptive", "random"])
def test_two_streams_have_the_chain_of_a_network(discipline: str) -> None:
    ranks = {"calls": 0, "jobs": 1}
    steps = {
        name: service(
            "desk", time, name=name, scv=1.0, rank=ranks[name] if "prio" in discipline else 0
        )
        for name, time in (("calls", 0.4), ("jobs", 0.6))
    }
    rates = {"calls": 0.1, "jobs": 0.05}
    model = groups(
        *(
            Group(name, Number(0.0), step, rate(rates[name], f"rate-{name}"))
            for name, step in steps.items()
        ),
        discipline=discipline,
    )
    priority = ranks if "prio" in discipline else {}
    desk = station(service={"calls": 0.4, "jobs": 0.6}, discipline=discipline, priority=priority)
    classes = {name: open_class(arrivals) for name, arrivals in rates.items()}
    exact = solve(network(classes, {"desk": desk}), method=MARKOV_CHAIN)
    answer = chain(model)
    for name, arrivals in rates.items():
        assert answer[f"time[{name}]"] == pytest.approx(exact[f"response_time[{name}]"], rel=1e-7)
        assert answer[f"throughput[{name}]"] == arrivals
    assert answer["queue_length[desk]"] == pytest.approx(exact["queue_length[desk]"], rel=1e-7)


def test_bursts_have_the_chain_of_a_network() -> None:
    bursty = open_class(0.2, burst_arrivals=1.2, burst_time=3.0, quiet_time=9.0)
    exact = solve(network({"calls": bursty}, {"desk": station(service={"calls": 1.0})}))
    answer = chain(MODELS["bursts"])
    assert exact.method == MARKOV_CHAIN
    assert answer["time"] == pytest.approx(exact["response_time[calls]"], rel=1e-7)
    assert answer["throughput"] == pytest.approx(0.45, rel=1e-12)


def test_shares_add_up_to_one_and_are_differences() -> None:
    model = arriving(attempt(DESK, patience=Parameter("patience", TIME, 0.7)), 1.2)
    share = chain(model).share["time"]
    assert sum(share.values()) == pytest.approx(1.0, rel=1e-6)
    low, high = (
        solve(model, {"patience": 0.7 * factor}, method=MARKOV_CHAIN)["time"] or 0.0
        for factor in (0.999, 1.001)
    )
    slope = (high - low) / (0.001 * (high + low))
    assert share["patience"] == pytest.approx(slope, rel=1e-3)


def test_a_small_chain_of_a_stream_answers_by_default() -> None:
    answer = solve(MODELS["patience"])
    assert (answer.method, answer.exact) == (MARKOV_CHAIN, True)
    assert "time_quantile[0.95]" not in answer.values
    (asked,) = compute_answers(MODELS["patience"], {}, values=["time_quantile[0.95]"])
    assert asked.method == SIMULATION


def test_a_share_within_a_target_is_simulated() -> None:
    cycle, target = attempt(DESK, patience=0.7), Parameter("target", TIME, 1.0)
    population = OpenPopulation(rate(1.2), cycle, target_time=target)
    answer = solve(Model("calls", population, {"desk": Station(1)}), simulation=RUN)
    assert (answer.method, "within_target" in answer.values) == (SIMULATION, True)


@pytest.mark.parametrize("load", [1.0, 1.5])
def test_more_customers_than_can_be_served_are_refused(load: float) -> None:
    model = arriving(repeat(2.0, service("desk", 0.5, name="half", scv=1.0)), load)
    with pytest.raises(NoAnswerError, match=r"desk is saturated: .*\(load 1.*\)") as refusal:
        chain(model)
    assert isinstance(refusal.value.args[0], Saturated)


@pytest.mark.turns(8)
def test_many_customers_at_a_load_below_one_are_no_saturation() -> None:
    """Of M/M/infinity before M/M/1 the probabilities rise up to 15 customers: the answer has a
    formula by Burke's theorem.
    """
    think = delay(30.0, name="think", scv=1.0)
    answer = chain(arriving(think >> DESK, 0.5))
    assert answer["time"] == pytest.approx(30 + 1 / (1 - 0.5), rel=1e-8)


@pytest.mark.parametrize("others", [0.0, 0.2])
def test_a_first_stream_without_customers_is_refused(others: float) -> None:
    model = arriving(DESK, 0.0)
    if others:
        model = groups(
            Group("calls", Number(0.0), DESK, rate(0.0)),
            Group("jobs", Number(0.0), DESK, rate(others, "other")),
        )
    with pytest.raises(NoAnswerError, match=r"^no customers of (model|calls) arrive; markov-chain"):
        chain(model)


def test_a_stream_without_customers_beside_processors_has_no_time() -> None:
    model = groups(
        Group("users", Number(2.0), THINK >> DESK), Group("calls", Number(0.0), DESK, rate(0.0))
    )
    answer = chain(model)
    alone = solve(closed_model(THINK >> DESK, processors=2, resources=model.resources))
    assert answer["time"] == pytest.approx(alone["time"])
    assert answer["throughput[calls]"] == 0
    assert not {"time[calls]", "response_time[calls]"} & answer.values.keys()


@pytest.mark.turns(10)
def test_a_point_without_an_answer_leaves_the_others_theirs() -> None:
    """Which tries fail is known only from the chain, so that no load refuses the last point."""
    visit = attempt(DESK, patience=0.5, retries=3, back_off=1.0)
    model = arriving(hold("pool", visit), 0.1, further={"pool": Permits(2)})
    form = ActivityChain(model)
    times = form.times({"rate": np.array([0.1, 0.2, 1.2])})
    assert times[:2] == pytest.approx([form.times({"rate": r})[0] for r in (0.1, 0.2)], rel=1e-8)
    assert np.isnan(times[2])


@pytest.mark.parametrize("arrivals", [1e-7, 1e-9, 1e-30])
def test_rare_customers_wait_for_nobody(arrivals: float) -> None:
    """Two of them are together less often than rounding errors."""
    rare_calls = network(
        {"calls": open_class(arrivals)},
        {"desk": station(service={"calls": 1.0}, patience={"calls": 1.0})},
    )
    assert chain(arriving(DESK, arrivals))["time"] == pytest.approx(1, rel=1e-6)
    exact = solve(rare_calls, method=MARKOV_CHAIN)
    assert exact["response_time[calls]"] == pytest.approx(1, rel=1e-6)


def test_chains_of_too_many_customers_name_another_method() -> None:
    formula = arriving(DESK, 1.0)
    rising = open_model(DESK, rate(0.7) + rate(0.6, "more"), resources=formula.resources)
    with pytest.raises(
        NoAnswerError, match=", and may rise without end: ask for simulation, or lower the arrivals"
    ):
        chain(rising)
    with pytest.raises(NoAnswerError, match="more than 2,000 customers: ask for simulation"):
        chain(arriving(DESK, 0.999))
    with pytest.raises(NoAnswerError, match="no fork: ask for"):
        chain(arriving(fork(DESK, THINK), 0.1))
