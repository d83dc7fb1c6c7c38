"""What people ask of services, written with the parts that there are: servers of unequal speed, a
token bucket, load shedding and overflow, each against states or a formula by hand.
"""

from __future__ import annotations

from math import factorial
from pathlib import Path

import numpy as np
import pytest

from slipstick import Model, Simulation, load, solve
from slipstick.errors import NoAnswerError, SpecError

SETTINGS = Simulation(seed=17, events=300_000, precision=1e-9)


def read(folder: Path, text: str) -> Model:
    (folder / "service.yaml").write_text(text)
    model = load(folder / "service.yaml")
    assert isinstance(model, Model)
    return model


def test_unequal_servers_are_permits_over_a_pick(tmp_path: Path) -> None:
    """The states by hand: who of a fast and a slow server works, and how many wait."""
    model = read(
        tmp_path,
        "activity: 1\npopulation: {processors: 4}\n"
        "resources: {both: {permits: 2}, fast: {}, slow: {}}\n"
        "cycle:\n- {name: think, delay: 2 s, scv: 1}\n"
        "- hold: both\n  body:\n  - pick:\n"
        "    - [{name: quick, service: fast, time: 0.5 s, scv: 1}]\n"
        "    - [{name: lazy, service: slow, time: 1 s, scv: 1}]\n",
    )
    fast, slow, think = 2.0, 1.0, 0.5
    states = ["none", "fast", "slow", 2, 3, 4]
    place = {state: index for index, state in enumerate(states)}
    rates = np.zeros((6, 6))

    def moves(state: object, following: object, rate: float) -> None:
        rates[place[state], place[following]] += rate

    moves("none", "fast", 4 * think / 2)
    moves("none", "slow", 4 * think / 2)
    for alone, rate in (("fast", fast), ("slow", slow)):
        moves(alone, "none", rate)
        moves(alone, 2, 3 * think)
    moves(2, "slow", fast)
    moves(2, "fast", slow)
    for present in (3, 4):
        moves(present - 1, present, (5 - present) * think)
        moves(present, present - 1, fast + slow)
    equations = rates.T - np.diag(rates.sum(axis=1))
    equations[0] = 1.0
    chances = np.linalg.solve(equations, np.eye(6)[0])
    chain = solve(model, method="markov-chain")
    both_work = chances[3:].sum()
    assert chain["utilization[fast]"] == pytest.approx(chances[1] + both_work, rel=1e-9)
    assert chain["utilization[slow]"] == pytest.approx(chances[2] + both_work, rel=1e-9)
    assert chain["queue_length[both]"] == pytest.approx(
        chances @ np.array([0, 1, 1, 2, 3, 4]), rel=1e-9
    )


def test_a_token_bucket_loses_what_a_single_server_with_its_places_loses(tmp_path: Path) -> None:
    """Tokens that are missing are customers of the station that refills them, of M/M/1/5."""
    model = read(
        tmp_path,
        "activity: 1\npopulation: {arrivals: 45 /s}\n"
        "resources: {bucket: {permits: 5}, refill: {}}\ncycle:\n"
        "- attempt:\n  - hold: bucket\n    body: [{name: call, delay: 0 s}]\n"
        "    after: [{name: token, service: refill, time: 20 ms, scv: 1}]\n"
        "  queue: 0\n  otherwise: [{name: refused, delay: 1 ms}]\n",
    )
    load_of_refill = 45 * 0.02
    weights = [load_of_refill**missing for missing in range(6)]
    answer = solve(model, simulation=SETTINGS)
    value = answer.values["abandonment[bucket]"]
    assert value.value is not None
    assert value.high is not None
    lost = weights[5] / sum(weights)
    assert abs(value.value - lost) <= 4 * (value.high - value.value)


def test_what_overflows_is_what_erlang_loses(tmp_path: Path) -> None:
    model = read(
        tmp_path,
        "activity: 1\npopulation: {arrivals: 3 /min}\n"
        "resources: {first: {servers: 2}, second: {discipline: is}}\ncycle:\n"
        "- attempt: [{name: here, service: first, time: 1 min, scv: 1}]\n  queue: 0\n"
        "  otherwise: [{name: there, service: second, time: 1 min, scv: 1}]\n",
    )
    weights = [3.0**busy / factorial(busy) for busy in range(3)]
    lost = weights[2] / sum(weights)
    assert solve(model)["abandonment[first]"] == pytest.approx(lost, rel=1e-9)
    answer = solve(model, method="simulation", simulation=SETTINGS)
    for name, truth in (("abandonment[first]", lost), ("queue_length[second]", 3 * lost)):
        value = answer.values[name]
        assert value.value is not None
        assert value.high is not None
        assert abs(value.value - truth) <= 4 * (value.high - value.value), name
    with pytest.raises(NoAnswerError) as raised:
        solve(model, method="closed-form")
    assert str(raised.value) == (
        "closed-form cannot solve limited queues (visits that are turned away if too many customers"
        " wait); markov-chain and simulation can"
    )


@pytest.mark.parametrize("name", ["own", "other", "each-other"])
def test_a_resource_with_the_name_of_a_processor_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError) as raised:
        read(
            tmp_path,
            "activity: 1\npopulation: {processors: 2}\n"
            f"resources: {{{name}: {{}}}}\n"
            f"cycle: [{{service: {name}, time: 1 s}}]\n",
        )
    assert str(raised.value).endswith(
        f"resources.{name}: {name} is the name of a processor in steps, not of a resource; give the"
        f" resource another name, such as {name}_desk"
    )


def test_a_network_names_where_circuit_breakers_and_doubling_pauses_are(tmp_path: Path) -> None:
    file = tmp_path / "guarded.yaml"
    file.write_text(
        "queueing-network: 1\nclasses: {requests: {arrivals: 10 /s}}\n"
        "stations: {api: {service: {requests: 50 ms}, breaker: 5, doubling: true}}\n"
    )
    with pytest.raises(SpecError) as raised:
        load(file)
    assert (
        "stations.api.breaker: unknown key; a circuit breaker is {breakers: {NAME: {breaker: 5,"
        " open: 30 s, stations: [STATION]}}}"
    ) in str(raised.value)
    assert (
        "stations.api.doubling: unknown key; networks have no limits of a service and no pauses"
        " that double; write an activity, whose step attempt has them"
    ) in str(raised.value)
