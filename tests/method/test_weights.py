"""Weights of visits to a shared server (discriminatory processor sharing), by each method."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slipstick import Answer, Simulation, dump, load, solve
from slipstick.errors import ModelError, NoAnswerError, SpecError
from slipstick.expression.nodes import COUNT, Parameter
from slipstick.model.activity import delay, service
from slipstick.model.network import (
    QueueingNetwork,
    chain,
    closed_class,
    network,
    open_class,
    route,
    station,
)
from slipstick.model.system import Model, Station, closed_model
from slipstick.vocabulary import BOUNDS, EXACT, LINEARIZER, MARKOV_CHAIN, SIMULATION
from slipstick_chains.lowering import lower_network
from slipstick_compiled.kernel import AVAILABLE

WEIGHTS = {"gold": 4.0, "plain": 0.5}
SERVICE = {"gold": 0.7, "plain": 0.4}


def value_of(answer: Answer, name: str) -> float:
    value = answer[name]
    assert value is not None
    return value


def shares(weights: dict[str, Any], rates: tuple[float, ...] = (), **keys: Any) -> QueueingNetwork:
    users = {name: closed_class(2, think_time=1.0) for name in WEIGHTS}
    cpu = station(discipline="ps", service=SERVICE, rates=rates, weight=weights, **keys)
    return network(users, {"cpu": cpu, "disk": station(service=dict.fromkeys(WEIGHTS, 0.3))})


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("rates", "keys"),
    [
        ((), {}),
        ((1.0, 1.6), {}),
        ((), {"scv": {"gold": 0.5, "plain": 3.0}}),
        ((), {"servers": 2}),
        ((), {"servers": 3}),
    ],
)
def test_the_chains_of_a_network_and_of_its_activity_are_the_same(
    rates: tuple[float, ...], keys: dict[str, Any]
) -> None:
    model = shares(WEIGHTS, rates, **keys)
    arrays, positions = (solve(made, method=MARKOV_CHAIN) for made in (model, lower_network(model)))
    for name in ("queue_length[cpu]", "utilization[cpu]", "queue_length[disk]"):
        assert positions[name] == pytest.approx(arrays[name], rel=1e-9)
    for name in WEIGHTS:
        value = f"throughput[{name}]"
        assert positions[value] == pytest.approx(arrays[value], rel=1e-9)


def test_the_account_of_a_group_has_its_own_part_of_the_server() -> None:
    arrays = solve(shares(WEIGHTS), method=MARKOV_CHAIN)
    account = solve(lower_network(shares(WEIGHTS)), method=MARKOV_CHAIN).account
    assert account["cpu"] == pytest.approx(SERVICE["gold"], rel=1e-9)
    assert account["wait:cpu"] == pytest.approx(arrays["waiting_time[gold,cpu]"], rel=1e-9)


def test_two_streams_have_the_means_of_the_literature() -> None:
    """Fayolle, Mitrani and Iasnogorodski, J. ACM 27(3), 1980, 519-532: exponential times.

    With rates of service m, loads r and weights g of two classes, the response time of the first is
    (1 + m1 r2 (g2 - g1) / (m1 g1 (1 - r1) + m2 g2 (1 - r2))) / (m1 (1 - r1 - r2)).
    """
    arrivals, rates, weights = (0.4, 0.6), (2.0, 1.25), (3.0, 1.0)
    loads = [arrival / rate for arrival, rate in zip(arrivals, rates, strict=True)]
    below = sum(
        rate * weight * (1 - load) for rate, weight, load in zip(rates, weights, loads, strict=True)
    )
    means = [
        (1 + rates[i] * loads[1 - i] * (weights[1 - i] - weights[i]) / below)
        / (rates[i] * (1 - sum(loads)))
        for i in (0, 1)
    ]
    classes = {name: open_class(arrivals[i]) for i, name in enumerate(WEIGHTS)}
    cpu = station(
        discipline="ps",
        service={name: 1 / rates[i] for i, name in enumerate(WEIGHTS)},
        weight={name: weights[i] for i, name in enumerate(WEIGHTS)},
    )
    answer = solve(network(classes, {"cpu": cpu}))
    assert answer.method == MARKOV_CHAIN
    for name, mean in zip(WEIGHTS, means, strict=True):
        assert answer[f"response_time[{name}]"] == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("weight", [1.0, 0.2, 7.0])
def test_equal_weights_change_nothing(weight: float) -> None:
    weighted = solve(shares(dict.fromkeys(WEIGHTS, weight)), method=MARKOV_CHAIN)
    alike = solve(shares({}), method=EXACT)
    for name in ("response_time[gold]", "response_time[plain]", "queue_length[cpu]"):
        assert weighted[name] == pytest.approx(alike[name], rel=1e-9)


def test_a_network_that_is_simulated_has_the_means_of_its_chain() -> None:
    exact = solve(shares(WEIGHTS), method=MARKOV_CHAIN)
    estimate = solve(
        shares(WEIGHTS), method=SIMULATION, simulation=Simulation(seed=3, events=60_000)
    )
    for name in WEIGHTS:
        value = estimate.values[f"response_time[{name}]"]
        assert value.value is not None
        assert value.high is not None
        half_width = value.high - value.value
        assert abs(value.value - value_of(exact, f"response_time[{name}]")) < 3 * half_width


def test_weights_that_would_lose_their_digits_are_refused_by_simulation_alone() -> None:
    """One with nearly all of the server goes first, as by rank with interruption."""
    weights = {"gold": 1e9, "plain": 1e-9}
    for model in (shares(weights), lower_network(shares(weights))):
        with pytest.raises(
            NoAnswerError,
            match=re.escape(
                "the weights of visits to cpu go from 1e-09 to 1e+09; of those that are "
                "simulated none is over 1e+06 times another: where one visit has nearly all of "
                "the server, give the station the discipline priority-preemptive"
            ),
        ):
            solve(model, method=SIMULATION)
    users = {name: closed_class(2, think_time=1.0) for name in WEIGHTS}
    ranks = {"gold": 0, "plain": 1}
    cpu = station(discipline="priority-preemptive", service=SERVICE, priority=ranks)
    ranked = network(users, {"cpu": cpu, "disk": station(service=dict.fromkeys(WEIGHTS, 0.3))})
    first, second = (solve(model, method=MARKOV_CHAIN) for model in (shares(weights), ranked))
    for name in WEIGHTS:
        value = f"response_time[{name}]"
        assert first[value] == pytest.approx(second[value], rel=1e-6)


def test_classes_of_a_chain_have_weights_of_their_own() -> None:
    """A customer that becomes light gives way to others; by hand it is two classes of one customer
    each where they never change.
    """
    members = closed_class(2)
    places = [("heavy", "cpu"), ("light", "cpu")]
    routes = [route(places[i], places[1 - i], 1.0) for i in (0, 1)]
    cpu = station(
        discipline="ps", service={"heavy": 1.0, "light": 1.0}, weight={"heavy": 3.0, "light": 1.0}
    )
    jobs = chain(["heavy", "light"], members, places[0])
    model = network({}, {"cpu": cpu}, chains={"jobs": jobs}, routing=routes)
    # Both heavy or both light are left at rate 1; of one each the heavy ends at 3/4, the light at
    # 1/4. So heavy: -2 .. 1 .. 0 customers in the parts 1 : 4 : 3 by balance of flows.
    exact = solve(model, method=MARKOV_CHAIN)
    assert exact["queue_length[heavy,cpu]"] == pytest.approx((2 * 1 + 4) / 8, rel=1e-9)


def test_other_methods_refuse_weights_by_name() -> None:
    for method in (EXACT, LINEARIZER, BOUNDS):
        with pytest.raises(NoAnswerError, match=f"{method} cannot solve weights"):
            solve(shares(WEIGHTS), method=method)
    share = Parameter("share", COUNT, 2.0)
    part = service("cpu", 0.7, scv=1.0, weight=share) >> service("cpu", 0.4, name="rest", scv=1.0)
    cycle = delay(1.0, name="think", scv=1.0) >> part
    model = closed_model(cycle, 2, resources={"cpu": Station(1, "ps")})
    assert solve(model, method=BOUNDS).values["time"].high is None


@pytest.mark.turns(4)
def test_a_file_says_weights_by_parameters(tmp_path: Path) -> None:
    text = (
        "activity: 1\nparameters: {share: 4}\nresources: {cpu: {servers: 1, discipline: ps}}\n"
        "groups:\n"
        "  gold: {processors: 2, cycle: [{name: a, service: cpu, time: 1 s, scv: 1, weight: "
        "share}]}\n"
        "  plain: {processors: 2, cycle: [{name: b, service: cpu, time: 1 s, scv: 1}]}\n"
    )
    (tmp_path / "model.yaml").write_text(text)
    model = load(str(tmp_path / "model.yaml"))
    assert isinstance(model, Model)
    (tmp_path / "again.yaml").write_text(dump(model))
    again = load(str(tmp_path / "again.yaml"))
    assert isinstance(again, Model)
    for share in (1.0, 4.0):
        flows = [
            [
                value_of(solve(made, {"parameters.share": share}), f"throughput[{name}]")
                for name in WEIGHTS
            ]
            for made in (model, again)
        ]
        assert flows[0] == flows[1]
        # Two of each are always there, so the parts are those of the weights.
        assert flows[0] == pytest.approx([share / (share + 1), 1 / (share + 1)], rel=1e-9)
    (tmp_path / "model.yaml").write_text(text.replace("discipline: ps", "discipline: fcfs"))
    with pytest.raises(SpecError, match="step a has a weight, but cpu does not share its server"):
        load(str(tmp_path / "model.yaml"))
    (tmp_path / "model.yaml").write_text(text.replace("weight: share", "weight: 0"))
    with pytest.raises(SpecError, match=re.escape("weight: must be more than 0, got 0")):
        load(str(tmp_path / "model.yaml"))
    network_of_file = shares({"gold": Parameter("share", COUNT, 4.0)})
    (tmp_path / "network.yaml").write_text(dump(network_of_file))
    written = load(str(tmp_path / "network.yaml"))
    assert isinstance(written, QueueingNetwork)
    answers = [solve(written, {"parameters.share": 2.0}), solve(network_of_file, {"share": 2.0})]
    first, second = [value_of(answer, "throughput[gold]") for answer in answers]
    assert first == second


def chain_by_hand(weights: tuple[float, float]) -> tuple[float, float]:
    """Return the mean numbers at two shared servers of two processors of each of two groups, by
    the balance of nine states: think 1 s, service as in `SERVICE`.

    With three or four there, the heavier ones use a server each where their part would exceed it.
    """
    states = [(gold, plain) for gold in range(3) for plain in range(3)]
    rates = np.zeros((9, 9))
    for number, (gold, plain) in enumerate(states):
        heavy, light = weights[0] * gold, weights[1] * plain
        parts = [2 * weight / ((heavy + light) or 1.0) for weight in weights]
        if gold + plain <= 2:
            parts = [1.0, 1.0]
        elif parts[0] >= 1:  # those of gold have a server each, and the plain ones the rest
            parts = [1.0, (2 - gold) / plain if plain else 0.0]
        speed = dict(zip(WEIGHTS, parts, strict=True))
        for place, name, present in ((0, "gold", gold), (1, "plain", plain)):
            for change, rate in ((1, 2.0 - present), (-1, present * speed[name] / SERVICE[name])):
                after = (gold + change, plain) if place == 0 else (gold, plain + change)
                if after in states:
                    rates[number, states.index(after)] += rate
    balance = rates.T - np.diag(rates.sum(axis=1))
    balance[0] = 1.0
    chances = np.linalg.solve(balance, np.eye(9)[0])
    mean_gold, mean_plain = (float(chances @ np.array(states)[:, place]) for place in (0, 1))
    return mean_gold, mean_plain


def two_servers(weights: dict[str, Any], servers: int = 2) -> QueueingNetwork:
    users = {name: closed_class(2, think_time=1.0) for name in WEIGHTS}
    cpu = station(discipline="ps", service=SERVICE, weight=weights, servers=servers)
    return network(users, {"cpu": cpu})


@pytest.mark.turns(6)
@pytest.mark.parametrize("weights", [(4.0, 0.5), (1.5, 1.0), (3.0, 1.0)])
def test_two_servers_are_shared_as_the_balance_by_hand_says(weights: tuple[float, float]) -> None:
    model = two_servers(dict(zip(WEIGHTS, weights, strict=True)))
    truth = chain_by_hand(weights)
    settings = Simulation(seed=3, cycles=200_000 if AVAILABLE else 30_000)
    for form in (model, lower_network(model)):
        found = solve(form, method=MARKOV_CHAIN)
        assert value_of(found, "queue_length[cpu]") == pytest.approx(sum(truth), rel=1e-9)
        drawn = solve(form, method=SIMULATION, simulation=settings)
        # Of some 200,000 cycles the mean is known within 0.8 %.
        assert value_of(drawn, "queue_length[cpu]") == pytest.approx(sum(truth), rel=0.02)
    by_class = solve(model, method=MARKOV_CHAIN)
    for name, mean in zip(WEIGHTS, truth, strict=True):
        assert value_of(by_class, f"queue_length[{name},cpu]") == pytest.approx(mean, rel=1e-9)


def test_equal_weights_at_several_servers_are_none_and_enough_servers_make_no_difference() -> None:
    equal, none = (
        solve(two_servers(weights), method=MARKOV_CHAIN)
        for weights in (dict.fromkeys(WEIGHTS, 3.0), {})
    )
    far, alone = (solve(two_servers(weights, 4), method=MARKOV_CHAIN) for weights in (WEIGHTS, {}))
    for value in none.values:
        assert equal[value] == pytest.approx(none[value], rel=1e-9)
        assert far[value] == pytest.approx(alone[value], rel=1e-9)


def test_both_kernels_share_several_servers_alike() -> None:
    settings = (Simulation(seed=4, events=8_000, kernel=name) for name in ("plain", "compiled"))
    plain, compiled = (
        solve(two_servers(WEIGHTS), method=SIMULATION, simulation=each).values for each in settings
    )
    assert plain == compiled


def test_slopes_at_several_weighted_servers_are_differences() -> None:
    share = Parameter("share", COUNT, 1.5)
    model = lower_network(two_servers({"gold": share, "plain": 1.0}))
    up, down = (solve(model, {"share": 1.5 + step}, method=MARKOV_CHAIN) for step in (1e-5, -1e-5))
    middle = solve(model, method=MARKOV_CHAIN)
    time = "time[plain]"
    assert value_of(up, time) > value_of(middle, time) > value_of(down, time)


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: shares({"gold": 0.0}), "the weight of gold at cpu must be above 0"),
    (lambda: shares({"silver": 2.0}), "there is no class 'silver'"),
    (
        lambda: network(
            {"gold": closed_class(1), "plain": closed_class(1)},
            {
                "cpu": station(discipline="ps", service={"gold": 1.0}, weight={"plain": 2.0}),
                "disk": station(service={"plain": 1.0}),
            },
        ),
        "plain has no service at cpu; leave its weight out",
    ),
    (
        lambda: network(
            {"gold": closed_class(1)}, {"cpu": station(service={"gold": 1.0}, weight={"gold": 2.0})}
        ),
        "weights hold where the discipline is ps; cpu is fcfs",
    ),
]


@pytest.mark.parametrize(("make", "words"), WRONG, ids=range(len(WRONG)))
def test_weights_that_mean_nothing_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ModelError, match=re.escape(words)):
        make()


def test_a_weight_that_becomes_0_is_refused_at_its_point() -> None:
    share = Parameter("share", COUNT, 4.0)
    model = shares({"gold": share - 1.0})
    with pytest.raises(
        NoAnswerError, match="must be above 0: without weight no customer is served"
    ):
        solve(model, {"share": 1.0})
    for method in (MARKOV_CHAIN, SIMULATION):
        with pytest.raises(NoAnswerError, match=r"the weight of step gold\.cpu"):
            solve(lower_network(model), {"share": 1.0}, method=method)
