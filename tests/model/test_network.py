"""Queueing networks as models: names of their numbers, and everything that can be wrong with
them.
"""

from __future__ import annotations

from typing import Any

import pytest

from slipstick import Parameter, QueueingNetwork, chain, network, route
from slipstick.errors import ModelFaultsError
from slipstick.expression.nodes import TIME
from slipstick.model.network import closed_class, open_class, station

A = {"a": closed_class(1)}
PAIR = {"cpu": station(service={"a": 1.0, "b": 2.0}), "disk": station(service={"b": 1.0})}
WAYS = [
    route(("a", "cpu"), ("b", "disk"), 1.0),
    route(("b", "disk"), ("b", "cpu"), 1.0),
    route(("b", "cpu"), ("a", "cpu"), 1.0),
]
USERS = {"users": chain(["a", "b"], closed_class(3), ("a", "cpu"))}


def switching(**changes: Any) -> QueueingNetwork:
    given: dict[str, Any] = {
        "classes": {},
        "stations": PAIR,
        "chains": USERS,
        "routing": WAYS,
        **changes,
    }
    return network(
        given["classes"], given["stations"], chains=given["chains"], routing=given["routing"]
    )


def test_every_number_is_named_after_its_place() -> None:
    made = network(
        {"jobs": closed_class(20, think_time=5.0), "web": open_class(0.3)},
        {
            "cpu": station(service={"jobs": 0.01}, visits={"jobs": 3}, scv={"jobs": 4.0}),
            "pool": station(demand={"web": 1.0}, rates=[1, 2.5]),
        },
    )
    assert [
        path
        for path, expr in made.quantities.items()
        if isinstance(expr, Parameter) and expr.name == path
    ] == [
        "classes.jobs.population",
        "classes.jobs.think_time",
        "classes.web.arrivals",
        "stations.cpu.service.jobs",
        "stations.cpu.visits.jobs",
        "stations.cpu.scv.jobs",
        "stations.pool.demand.web",
        "stations.pool.rates.0",
        "stations.pool.rates.1",
    ]


def test_an_expression_keeps_its_own_name() -> None:
    work = Parameter("work", TIME, 2.0)
    assert (
        network(A, {"cpu": station(demand={"a": work / 2})}).stations["cpu"].demand["a"] == work / 2
    )


def test_classes_of_chains_are_classes() -> None:
    assert switching(classes={"c": closed_class(1, think_time=1.0)}).class_names == ("c", "a", "b")


FAULTS: list[tuple[Any, str]] = [
    (lambda: network({}, {}), "classes: a network needs at least one class of customers"),
    (lambda: network(A, {}), "classes.a: a visits no station; give it a demand at one"),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}, service={"a": 1})}),
        "stations.cpu.service.a: a has both a demand and a service time at cpu; give one",
    ),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}, visits={"a": 1})}),
        (
            "stations.cpu.visits.a: visits of a to cpu have no service time; a demand includes"
            " all visits already"
        ),
    ),
    (
        lambda: network(
            {**A, "b": closed_class(1)}, {"cpu": station(demand={"a": 1}, visits={"b": 1})}
        ),
        (
            "classes.b: b visits no station; give it a demand at one; "
            "stations.cpu.visits.b: visits of b to cpu have no service time; give it one"
        ),
    ),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}), "disk": station(scv={"a": 2})}),
        (
            "stations.disk.scv.a: a has no service at disk; leave its scv out; "
            "stations.disk: no class visits disk; give it a demand, or leave it out"
        ),
    ),
    (
        lambda: network(
            A, {"cpu": station(demand={"a": 1}, discipline="is", servers=2, capacity=3)}
        ),
        (
            "stations.cpu.servers: an is station serves everyone at once; leave servers out; "
            "stations.cpu.capacity: an is station serves everyone at once; leave capacity out"
        ),
    ),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}, blocking="repeat")}),
        "stations.cpu.blocking: cpu is never full; give it a capacity, or leave blocking out",
    ),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}, rates=[1, 2], servers=2)}),
        "stations.cpu.servers: rates say how fast the station is; leave servers out",
    ),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}, discipline="priority")}),
        "stations.cpu: a needs a rank in priority at cpu: 0 goes first, then 1",
    ),
    (
        lambda: network(A, {"cpu": station(demand={"a": 1}, priority={"a": 0})}),
        "stations.cpu.priority: ranks hold where the discipline is priority; cpu is fcfs",
    ),
    (
        lambda: switching(classes=A),
        (
            "chains.users.classes.0: a has customers of its own in classes; in a chain, the chain"
            " has them"
        ),
    ),
    (
        lambda: switching(chains={**USERS, "more": chain(["a"], closed_class(1), ("a", "cpu"))}),
        (
            "chains.more.classes.0: a is in a chain already: users; routing.0.to: a and b are in"
            " different chains; routing.2.to: b and a are in different chains"
        ),
    ),
    (
        lambda: switching(chains={"a": USERS["users"]}),
        "chains.a: a is the name of a class, too; call the chain something else",
    ),
    (
        lambda: switching(chains={"users": chain(["a", "b"], closed_class(3), ("c", "cpx"))}),
        (
            "chains.users.reference.0: the reference is a class of the chain; 'c' is none; known:"
            " a, b; chains.users.reference.1: there is no station 'cpx'; did you mean 'cpu'?"
        ),
    ),
    (lambda: switching(routing=[]), "chains.users: chain users has no routes; write routing"),
    (
        lambda: switching(stations={**PAIR, "disk": station(service={"b": 1.0}, visits={"b": 2})}),
        "stations.disk.visits.b: the visits of b follow from routing; give service times only",
    ),
    (
        lambda: switching(routing=[*WAYS, route(("a", "cpu"), ("b", "disk"), 0.0)]),
        "routing.3: a second route from a at cpu to b at disk; add them up",
    ),
    (
        lambda: switching(routing=[*WAYS[:2], route(("b", "cpu"), ("a", "cpu"), 0.9)]),
        "routing.2.probability: the probabilities of leaving cpu as b must add up to 1, got 0.9",
    ),
    (
        lambda: switching(routing=[*WAYS[:2], route(("b", "cpu"), ("a", "cpu"), 1.5)]),
        "routing.2.probability: a probability of routing must lie between 0 and 1, got 1.5",
    ),
    (
        lambda: switching(routing=[*WAYS[:2], route(("b", "cpu"), ("a", "disk"), 1.0)]),
        "routing.2.to: a has no service time at disk; give it one under stations.disk.service",
    ),
    (
        lambda: switching(routing=[*WAYS[:2], route(("b", "cpu"), ("c", "disc"), 1.0)]),
        (
            "routing.2.to.0: no chain has the class 'c'; known: a, b; "
            "routing.2.to.1: there is no station 'disc'; did you mean 'disk'?"
        ),
    ),
    (
        lambda: switching(routing=[*WAYS[:2], route(("b", "cpu"), None, 1.0)]),
        "routing.2.to: customers of b never leave; out is for chains of arrivals",
    ),
    (
        lambda: switching(routing=[*WAYS[:2], route(("b", "cpu"), ("b", "disk"), 1.0)]),
        (
            "routing.0.to: a customer at disk as b never comes back to the reference; "
            "routing.1.to: a customer at cpu as b never comes back to the reference; "
            "routing.2.to: a customer at disk as b never comes back to the reference"
        ),
    ),
    (
        lambda: switching(routing=[route(("a", "cpu"), ("a", "cpu"), 1.0), *WAYS[1:]]),
        (
            "routing.1.from: no route leads from the reference of users to disk as b; "
            "routing.2.from: no route leads from the reference of users to cpu as b; "
            "stations.cpu.service.b: no route takes b to cpu; stations.disk.service.b: no "
            "route takes b to disk"
        ),
    ),
    (
        lambda: switching(
            chains={
                "one": chain(["a"], closed_class(1), ("a", "cpu")),
                "two": chain(["b"], closed_class(1), ("b", "disk")),
            }
        ),
        (
            "routing.0.to: a and b are in different chains; routing.2.to: b and a are in different"
            " chains"
        ),
    ),
    (
        lambda: switching(chains={"users": chain(["a", "b"], open_class(1.0), ("a", "cpu"))}),
        (
            "routing.0.to: a customer at disk as b never leaves; routing.1.to: a customer at cpu as"
            " b never leaves; routing.2.to: a customer at cpu as a never leaves"
        ),
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("make", "text"), FAULTS, ids=[text[:60] for _, text in FAULTS])
def test_each_fault_is_named_with_its_place(make: Any, text: str) -> None:
    with pytest.raises(ModelFaultsError) as caught:
        make()
    assert str(caught.value) == text


def test_a_burst_without_arrivals_can_still_be_varied() -> None:
    silent = network(
        {"jobs": open_class(2.0, burst_time=1.0, quiet_time=3.0)},
        {"cpu": station(demand={"jobs": 0.1})},
    )
    plain = network({"jobs": open_class(2.0)}, {"cpu": station(demand={"jobs": 0.1})})
    assert {path for path, each in silent.quantities.items() if isinstance(each, Parameter)} == {
        *(
            f"classes.jobs.{key}"
            for key in ("arrivals", "burst_arrivals", "burst_time", "quiet_time")
        ),
        "stations.cpu.demand.jobs",
    }
    assert [path for path, each in plain.quantities.items() if isinstance(each, Parameter)] == [
        "classes.jobs.arrivals",
        "stations.cpu.demand.jobs",
    ]
