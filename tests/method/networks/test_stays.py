"""Cycles and stays in a class are counted where customers come back, or are lost: each method means
the same, and the balance equations written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from slipstick import (
    Answer,
    Simulation,
    chain,
    closed_class,
    network,
    open_class,
    region,
    route,
    solve,
    station,
)
from slipstick.errors import NoAnswerError
from slipstick.method.asked import value_states

SETTINGS = Simulation(seed=5, events=60_000)


def stationary(states: Sequence[Any], rates: dict[tuple[Any, Any], float]) -> dict[Any, float]:
    """Solve the balance equations of a chain that is written out."""
    generator = np.zeros((len(states), len(states)))
    for (before, after), rate in rates.items():
        generator[states.index(before), states.index(after)] += rate
        generator[states.index(before), states.index(before)] -= rate
    equations = np.vstack([generator.T, np.ones(len(states))])
    right = np.append(np.zeros(len(states)), 1.0)
    return dict(zip(states, np.linalg.lstsq(equations, right)[0].tolist(), strict=True))


def inside(answer: Answer, truth: dict[str, float], half_widths: float = 3) -> None:
    """Compare values with the truth: exactly, or within some half-widths of their intervals."""
    for name, amount in truth.items():
        value = answer.values[name]
        assert value.value is not None
        spread = 0.0 if value.low is None else half_widths * (value.value - value.low)
        assert abs(value.value - amount) <= spread + 1e-8 * amount, (name, value, amount)


@pytest.mark.parametrize("method", ["markov-chain", "simulation"])
def test_customers_that_come_back_to_a_full_station_begin_no_cycle(method: str) -> None:
    """At front fit 3 and at back 2; after front 0.7 go to back, and of these half come back."""
    model = network(
        {},
        {
            "front": station(service={"a": 0.5}, capacity=3),
            "back": station(service={"b": 1.0}, capacity=2),
        },
        chains={"k": chain(["a", "b"], open_class(1.0), ("a", "front"))},
        routing=[
            route(("a", "front"), ("b", "back"), 0.7),
            route(("a", "front"), None, 0.3),
            route(("b", "back"), ("a", "front"), 0.5),
            route(("b", "back"), None, 0.5),
        ],
    )
    states = list(product(range(4), range(3)))
    rates: dict[tuple[Any, Any], float] = {}
    for at_front, at_back in states:
        here = at_front, at_back
        if at_front < 3:
            rates[here, (at_front + 1, at_back)] = 1.0
        if at_front:
            rates[here, (at_front - 1, at_back)] = 2.0 * (0.3 if at_back < 2 else 1.0)
        if at_front and at_back < 2:
            rates[here, (at_front - 1, at_back + 1)] = 2.0 * 0.7
        if at_back:
            rates[here, (at_front, at_back - 1)] = 1.0 * (0.5 if at_front < 3 else 1.0)
        if at_back and at_front < 3:
            rates[here, (at_front + 1, at_back - 1)] = 1.0 * 0.5
    chance = stationary(states, rates)
    begun = 1 - sum(p for (at_front, _), p in chance.items() if at_front == 3)
    as_a = sum(p * at_front for (at_front, _), p in chance.items())
    as_b = sum(p * at_back for (_, at_back), p in chance.items())
    changes_to_b = 0.7 * 2.0 * sum(p for (at_front, _), p in chance.items() if at_front)
    changes_to_a = 0.5 * sum(p for (_, at_back), p in chance.items() if at_back)
    truth = {
        "throughput[k]": begun,
        "response_time[k]": (as_a + as_b) / begun,
        "throughput[a]": begun + changes_to_a,
        "response_time[a]": as_a / (begun + changes_to_a),
        "throughput[b]": changes_to_b,
        "response_time[b]": as_b / changes_to_b,
    }
    inside(solve(model, method=method, simulation=SETTINGS), truth)


def test_visits_again_at_a_queue_that_is_abandoned_begin_no_cycle() -> None:
    """M/M/1 with patience, at which half of the served come again at once."""
    model = network(
        {"k": open_class(1.0)},
        {"front": station(service={"k": 0.5}, visits={"k": 2.0}, patience={"k": 2.0})},
    )
    with pytest.raises(NoAnswerError, match="k may come again to the station where its cycles"):
        solve(model, method="markov-chain")
    answer = solve(model, simulation=SETTINGS)
    states = list(range(60))
    rates: dict[tuple[Any, Any], float] = {(n, n + 1): 1.0 for n in states[:-1]}
    rates |= {(n, n - 1): 2.0 * 0.5 + (n - 1) / 2.0 for n in states[1:]}
    present = sum(n * p for n, p in stationary(states, rates).items())
    inside(answer, {"response_time[k]": present, "queue_length[front]": present})
    # Some of those that abandon the queue were served before.
    assert "throughput[k]" not in answer.values
    asked = value_states(model, answer, ["throughput[k]"])["throughput[k]"]
    assert asked.why == (
        "customers come again to a place where others give up or choose by the state, so that those"
        " counted cannot be told apart"
    )


@pytest.mark.parametrize("method", ["exact", "markov-chain", "simulation"])
def test_a_class_that_never_comes_to_the_reference_has_its_own_throughput(method: str) -> None:
    """Each fifth request of a closed chain is a report, which takes two visits to the database."""
    model = network(
        {},
        {
            "web": station(service={"page": 0.04}, servers=2),
            "db": station(service={"page": 0.2, "report": 0.2}),
        },
        chains={
            "c": chain(["page", "report"], closed_class(3, think_time=2.0), ("page", "web")),
        },
        routing=[
            route(("page", "web"), ("page", "db"), 0.8),
            route(("page", "web"), ("report", "db"), 0.2),
            route(("report", "db"), ("report", "db"), 0.5),
            route(("report", "db"), ("page", "web"), 0.5),
            route(("page", "db"), ("page", "web"), 1.0),
        ],
    )
    answer = solve(model, method=method, simulation=SETTINGS)
    values = {name: value.value or 0.0 for name, value in answer.values.items()}
    assert values["throughput[report]"] == pytest.approx(0.2 * values["throughput[c]"], rel=0.03)
    assert values["response_time[report]"] == pytest.approx(
        2 * values["time_per_visit[report,db]"], rel=0.03
    )
    assert values["throughput[report]"] * values["response_time[report]"] == pytest.approx(
        values["queue_length[report,db]"], rel=1e-9
    )


def test_changes_of_class_are_counted_where_the_state_selects_the_route() -> None:
    """Requests become `b` at one or `c` at two, in turn, and half of `b` become `c` at one."""
    model = network(
        {},
        {
            "front": station(service={"a": 0.1}),
            "one": station(service={"b": 0.5, "c": 0.2}),
            "two": station(service={"c": 0.8}),
        },
        chains={"k": chain(["a", "b", "c"], open_class(1.0), ("a", "front"))},
        routing=[
            route(("a", "front"), ("b", "one"), by="in-turn"),
            route(("a", "front"), ("c", "two"), by="in-turn"),
            route(("b", "one"), ("c", "one"), 0.5),
            route(("b", "one"), ("a", "front"), 0.1),
            route(("b", "one"), None, 0.4),
            route(("c", "one"), None, 1.0),
            route(("c", "two"), None, 1.0),
        ],
    )
    # Of the visits of a to front half become b, and a tenth of these come back.
    visits = 1 / (1 - 0.05)
    truth = {
        "throughput[k]": 1.0,
        "throughput[a]": visits,
        "throughput[b]": visits / 2,
        "throughput[c]": visits / 2 * 1.5,
    }
    inside(solve(model, simulation=SETTINGS), truth)


def test_customers_that_come_back_inside_a_region_begin_no_cycle() -> None:
    """At most three are in a region of a processor and a disk, from which 0.6 come back."""
    model = network(
        {},
        {"cpu": station(service={"a": 0.4}), "disk": station(service={"a": 0.5})},
        chains={"k": chain(["a"], open_class(1.0), ("a", "cpu"))},
        routing=[
            route(("a", "cpu"), ("a", "disk"), 1.0),
            route(("a", "disk"), ("a", "cpu"), 0.6),
            route(("a", "disk"), None, 0.4),
        ],
        regions={"r": region(["cpu", "disk"], 3, "loss")},
    )
    # A customer lost at the entrance leaves the product form of what is inside, cut off.
    loads = 0.4 / 0.4, 0.5 / 0.4
    weights = [sum(loads[0] ** k * loads[1] ** (n - k) for k in range(n + 1)) for n in range(4)]
    lost = weights[3] / sum(weights)
    present = sum(n * weight for n, weight in enumerate(weights)) / sum(weights)
    truth = {
        "loss_probability[r]": lost,
        "throughput[k]": 1 - lost,
        "response_time[k]": present / (1 - lost),
    }
    inside(solve(model, simulation=SETTINGS), truth)


def test_a_start_that_is_refused_behind_its_entrance_is_refused() -> None:
    model = network(
        {},
        {"front": station(service={"a": 0.5}, capacity=2), "back": station(service={"a": 0.1})},
        chains={"k": chain(["a"], open_class(1.0), ("a", "front"))},
        routing=[
            route(("a", "front"), ("a", "back"), 1.0),
            route(("a", "back"), ("a", "front"), 0.5),
            route(("a", "back"), None, 0.5),
        ],
        regions={"r": region(["front"], 3, "loss")},
    )
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="simulation")
    assert (
        "customers of k come back to front, where they begin and may balk, or be refused in a"
        " region or by a circuit breaker: those that begin cannot be counted; let them begin at a"
        " station of their own, with infinite servers and a short service"
    ) in str(caught.value)
