"""Customers that abandon queues: Erlang A as a law, as a Markov chain and simulated; time-outs
against Barrer's M/M/1+D.
"""

from __future__ import annotations

from math import exp
from typing import Any

import pytest

from slipstick import (
    Answer,
    QueueingNetwork,
    chain,
    closed_class,
    network,
    open_class,
    route,
    solve,
    station,
    transient,
)
from slipstick.errors import NoAnswerError, SlipstickError
from slipstick.law import LAWS
from slipstick.method.simulation.flatten import flatten
from slipstick.model.activity import attempt, delay, service
from slipstick.model.system import Station, closed_model
from slipstick.sim.settings import Simulation
from tests.sim.test_same import check_same


def calls(servers: int, rate: float, service: float, patience: float) -> QueueingNetwork:
    queue = station(service={"calls": service}, servers=servers, patience={"calls": patience})
    return network({"calls": open_class(rate)}, {"agents": queue})


def agree(exact: Answer, simulated: Answer, *names: str) -> None:
    for name in names:
        value = simulated.values[name]
        assert value.low is not None, name
        assert value.high is not None, name
        wide = value.high - value.low
        assert value.low - wide / 2 <= (exact[name] or 0.0) <= value.high + wide / 2, name


@pytest.mark.parametrize(
    ("servers", "rate", "service", "patience", "share"),
    [
        (50, 0.8, 60.0, 120.0, 0.03091225),
        (1, 1.0, 1.0, 1.0, 1 / exp(1)),
        (2, 3.0, 1.0, 2.0, 0.384559),
        (10, 12.0, 1.0, 0.5, 0.232906),
    ],
)
def test_a_chain_has_the_values_of_erlang_a(
    servers: int, rate: float, service: float, patience: float, share: float
) -> None:
    answer = solve(calls(servers, rate, service, patience))
    assert answer.exact
    assert answer["abandonment[calls,agents]"] == pytest.approx(share, rel=2e-6)
    assert answer["waiting_time[calls,agents]"] == pytest.approx(patience * share, rel=2e-6)
    assert answer["throughput[calls]"] == pytest.approx(rate * (1 - share), rel=2e-6)
    assert answer["utilization[agents]"] == pytest.approx(
        rate * (1 - share) * service / servers, rel=2e-6
    )
    for law, value in (("abandonment", "abandonment"), ("waiting-time", "waiting_time")):
        given = {"servers": servers, "service": service, "arrivals": rate, "patience": patience}
        told = LAWS[f"mmc-patience-{law}"](**given)
        assert told == pytest.approx(answer[f"{value}[calls,agents]"], rel=1e-11)


def test_a_time_out_has_the_shares_of_barrer() -> None:
    """M/M/1+D: the work found has density l P0 exp(-(m - l) w) up to T and falls as exp(-m w)
    behind it.
    """
    model = network(
        {"web": open_class(0.8)}, {"cpu": station(service={"web": 1.0}, timeout={"web": 1.0})}
    )
    empty = 1 / (1 + 0.8 * ((1 - exp(-0.2)) / 0.2 + exp(0.8) * exp(-1.0)))
    found = solve(model, method="simulation", simulation=Simulation(seed=3, cycles=10_000))
    share = found.values["abandonment[web,cpu]"]
    assert share.low is not None
    assert share.high is not None
    assert share.low <= 0.8 * empty * exp(-0.2) <= share.high
    with pytest.raises(
        NoAnswerError,
        match=(
            "the time-out at cpu is constant, which a Markov chain does not cover; ask for "
            "simulation"
        ),
    ):
        solve(model, method="markov-chain")
    assert solve(model).method == "simulation"


def queues() -> list[QueueingNetwork]:
    """Each order of service that the chain and the simulator take, closed and open classes, and
    classes of a chain.
    """
    two: dict[str, Any] = {"a": open_class(0.5), "b": closed_class(2, think_time=1.0)}
    patient: dict[str, Any] = {"service": {"a": 1.0, "b": 0.5}, "patience": {"a": 2.0, "b": 1.0}}
    closed = {"a": closed_class(4, think_time=0.5), "b": closed_class(2, think_time=1.0)}
    switching = network(
        {},
        {
            "q": station(
                service={"a": 1.0, "b": 0.5}, patience={"a": 1.0, "b": 2.0}, discipline="random"
            ),
            "z": station(service={"a": 0.3}),
        },
        chains={"all": chain(["a", "b"], closed_class(5, think_time=0.2), ("a", "q"))},
        routing=[
            route(("a", "q"), ("a", "z"), 0.5),
            route(("a", "q"), ("b", "q"), 0.5),
            route(("b", "q"), ("a", "q"), 1.0),
            route(("a", "z"), ("a", "q"), 1.0),
        ],
    )
    then = station(service={"a": 0.5}, capacity=3)
    return [
        network(two, {"q": station(**patient, discipline="random"), "p": then}),
        network(
            two,
            {"q": station(**patient, discipline="priority", priority={"a": 1, "b": 0}, capacity=4)},
        ),
        network(closed, {"q": station(**patient)}),
        network(
            {"a": open_class(0.8)},
            {
                "q": station(
                    service={"a": 1.0}, scv={"a": 4.0}, patience={"a": 2.0}, discipline="lcfs"
                )
            },
        ),
        switching,
    ]


@pytest.mark.turns(4)
@pytest.mark.parametrize("which", range(5))
def test_simulation_and_chain_agree(which: int) -> None:
    model = queues()[which]
    exact = solve(model)
    found = solve(model, method="simulation", simulation=Simulation(seed=4, cycles=6_000))
    names = [
        name
        for name, each in exact.values.items()
        if name in found.values and each.value is not None
    ]
    kinds = (
        "throughput",
        "response_time",
        "time_per_visit",
        "waiting_time",
        "utilization",
        "queue_length",
        "abandonment",
    )
    agree(exact, found, *(name for name in names if name.partition("[")[0] in kinds))
    assert any(name.startswith("abandonment[") for name in names)
    for name, seconds in exact.account.items():
        assert found.account[name] == pytest.approx(seconds, rel=0.1), name


def test_patience_is_differentiated_and_looked_at_on_the_way() -> None:
    model = calls(2, 3.0, 1.0, 2.0)
    slope = solve(model).gradient["response_time[calls]"]["stations.agents.patience.calls"]
    up, down = (
        solve(calls(2, 3.0, 1.0, 2.0 + step))["response_time[calls]"] or 0.0
        for step in (1e-4, -1e-4)
    )
    assert slope == pytest.approx((up - down) / 2e-4, rel=1e-5)
    settled = transient(model, [60.0])["queue_length[agents]"].item()
    assert settled == pytest.approx(solve(model)["queue_length[agents]"], rel=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"patience": {"b": 1.0}}, "b has no service at q; leave its patience out"),
        (
            {"patience": {"a": 1.0}, "timeout": {"a": 1.0}},
            "a has a patience at q, too; give one of them",
        ),
        (
            {"timeout": {"a": 1.0}, "discipline": "ps"},
            "a station that is ps has no queue that customers abandon before",
        ),
        (
            {"patience": {"a": 0.0}},
            "the patience of a at q must be above 0 s; with capacity none waits",
        ),
    ],
)
def test_patience_that_means_nothing_is_refused(given: dict[str, Any], message: str) -> None:
    classes = {"a": open_class(0.5), "b": open_class(0.1)}
    with pytest.raises(SlipstickError, match=message):
        network(
            classes, {"q": station(service={"a": 1.0}, **given), "r": station(service={"b": 1.0})}
        )


def test_other_methods_say_what_to_ask_for() -> None:
    model = calls(1, 1.0, 1.0, 1.0)
    for method in ("exact", "linearizer"):
        with pytest.raises(
            NoAnswerError,
            match=f"abandon the queue of agents, which the method {method} does not take",
        ):
            solve(model, method=method)
    with pytest.raises(NoAnswerError, match=r"stations.agents.patience.calls must be above 0 s"):
        solve(model, set={"stations.agents.patience.calls": 0.0})


def test_a_file_says_it(tmp_path: Any) -> None:
    path = tmp_path / "desk.yaml"
    path.write_text(
        "queueing-network: 1\nclasses: {calls: {arrivals: 48 /min}}\n"
        "stations: {agents: {servers: 50, service: {calls: 1 min}, patience: {calls: 2 min}}}\n"
    )
    assert solve(path)["abandonment[calls,agents]"] == pytest.approx(0.03091225, rel=1e-6)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random"])
def test_a_queue_at_a_station_with_rates_is_abandoned_as_by_birth_and_death(
    discipline: str,
) -> None:
    """Each that waits leaves at the rate 1 / patience, and one is served at the speed of all."""
    customers, think, service_time, patience, rates = 4, 2.0, 1.0, 0.5, (0.8, 1.4, 2.0)
    weights = [1.0]
    for present in range(customers):
        speed = rates[min(present, len(rates) - 1)]
        arrivals, leaves = (customers - present) / think, speed / service_time + present / patience
        weights.append(weights[-1] * arrivals / leaves)
    chances = [weight / sum(weights) for weight in weights]
    queue_length = sum(present * chance for present, chance in enumerate(chances))
    abandoned = sum((present - 1) / patience * chances[present] for present in range(1, 5))
    arrived = sum((customers - present) / think * chance for present, chance in enumerate(chances))

    model = network(
        {"jobs": closed_class(customers, think_time=think)},
        {
            "cpu": station(
                discipline=discipline,
                service={"jobs": service_time},
                rates=rates,
                patience={"jobs": patience},
            )
        },
    )
    visit = attempt(service("cpu", service_time, scv=1.0), patience=patience)
    activity = closed_model(
        delay(think, name="think", scv=1.0) >> visit,
        customers,
        resources={"cpu": Station(1, discipline, rates)},
    )
    settings = Simulation(seed=8, events=200_000, precision=1e-9)
    for each, name in ((model, "abandonment[jobs,cpu]"), (activity, "abandonment[cpu]")):
        simulated = solve(each, method="simulation", simulation=settings)
        for value, truth in (("queue_length[cpu]", queue_length), (name, abandoned / arrived)):
            found = simulated.values[value]
            assert found.value is not None
            assert found.high is not None
            assert abs(found.value - truth) <= 2 * (found.high - found.value), value
        check_same(flatten(activity).plan, 4000)
        if discipline != "random" or each is activity:
            chain_answer = solve(each, method="markov-chain")
            assert chain_answer["queue_length[cpu]"] == pytest.approx(queue_length, rel=1e-9)
        if isinstance(each, type(activity)):
            assert chain_answer["wait[cpu]"] == pytest.approx(
                simulated["wait[cpu]"], rel=0.05, abs=0.01
            )


@pytest.mark.parametrize("limits", ["wait", "visit"])
@pytest.mark.parametrize("method", ["markov-chain", "simulation"])
def test_a_visit_that_ends_in_the_queue_has_a_wait_in_activities_too(
    method: str, limits: str
) -> None:
    """The wait of all visits was divided by the visits that were served: 0.8 s for 0.31 s."""
    visit = attempt(service("desk", 1.0, scv=1.0), patience=0.5, limits=limits)
    model = closed_model(delay(1.0, name="think", scv=1.0) >> visit, 4)
    answer = solve(model, method=method, simulation=Simulation(seed=4, events=60_000))
    rel = 1e-9 if method == "markov-chain" else 0.03
    # One visit a cycle, so that the wait of a visit is that of a cycle.
    assert answer["wait[desk]"] == pytest.approx(answer["account[wait:desk]"], rel=rel)
    if limits == "wait":
        desk = station(service={"calls": 1.0}, patience={"calls": 0.5})
        same = network({"calls": closed_class(4, think_time=1.0)}, {"desk": desk})
        truth = solve(same, method="markov-chain")["waiting_time[calls,desk]"]
        assert answer["wait[desk]"] == pytest.approx(truth, rel=rel)
