"""Markov chains of classes that change: against product form where it holds, and against
simulation where not.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from slipstick import QueueingNetwork, Simulation, chain, network, route, solve
from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.limits import advice_on_limit
from slipstick.method.networks.form import CompiledNetwork
from slipstick.model.network import ClosedClass, OpenClass, closed_class, open_class, station

WAYS = [
    route(("a", "cpu"), ("a", "disk"), 0.7),
    route(("a", "cpu"), ("b", "cpu"), 0.3),
    route(("b", "cpu"), ("b", "disk"), 0.6),
    route(("b", "cpu"), ("a", "cpu"), 0.4),
    route(("a", "disk"), ("a", "cpu"), 1.0),
    route(("b", "disk"), ("b", "cpu"), 1.0),
]
CPU = station(service={"a": 0.01, "b": 0.05}, discipline="ps")
DISK = station(service={"a": 0.07, "b": 0.07})
USERS = {"users": chain(["a", "b"], closed_class(4, think_time=0.2), ("a", "cpu"))}
BATCH = {"users": chain(["a", "b"], closed_class(3), ("a", "disk"))}
STREAM = {"web": chain(["a", "b"], open_class(0.1), ("a", "cpu"))}
OUT = [*WAYS[:4], route(("a", "disk"), ("a", "cpu"), 1.0), route(("b", "disk"), None, 1.0)]
BESIDE = network(
    {"lone": closed_class(2, think_time=0.3)},
    {
        "cpu": dataclasses.replace(
            CPU, service=station(service={"a": 0.01, "b": 0.05, "lone": 0.02}).service
        ),
        "disk": dataclasses.replace(
            DISK, service=station(service={"a": 0.07, "b": 0.07, "lone": 0.07}).service
        ),
    },
    chains=BATCH,
    routing=WAYS,
)
IN_FORM = {
    "with think time": network({}, {"cpu": CPU, "disk": DISK}, chains=USERS, routing=WAYS),
    "without": network({}, {"cpu": CPU, "disk": DISK}, chains=BATCH, routing=WAYS),
    "open": network(
        {},
        {"cpu": CPU, "disk": dataclasses.replace(DISK, discipline="ps")},
        chains=STREAM,
        routing=OUT,
    ),
    "beside a class that stays": BESIDE,
}
IN_LINE = station(service={"a": 0.3, "b": 0.9, "w": 0.4})
BY_RANK = station(
    service={"a": 0.3, "b": 0.5, "w": 0.4}, discipline="priority", priority={"a": 1, "b": 0, "w": 2}
)
BOTH = {
    "users": chain(["a", "b"], closed_class(3, think_time=1.0), ("a", "cpu")),
    "web": chain(["w"], open_class(0.2), ("w", "cpu")),
}
ROUND = [
    route(("a", "cpu"), ("a", "disk"), 0.7),
    route(("a", "cpu"), ("b", "cpu"), 0.3),
    route(("b", "cpu"), ("b", "disk"), 1.0),
    route(("a", "disk"), ("a", "cpu"), 1.0),
    route(("b", "disk"), ("a", "cpu"), 1.0),
    route(("w", "cpu"), None, 1.0),
]


CLOSED = {**BOTH, "web": chain(["w"], closed_class(2, think_time=2.0), ("w", "cpu"))}
AGAIN = [*ROUND[:-1], route(("w", "cpu"), ("w", "cpu"), 1.0)]


def closed(capacity: int | None = None) -> QueueingNetwork:
    disk = station(service={"a": 0.7, "b": 0.2}, capacity=capacity)
    return network({}, {"cpu": IN_LINE, "disk": disk}, chains=CLOSED, routing=AGAIN)


WITHOUT = {
    "unequal service in line": closed(),
    "priority": network(
        {},
        {"cpu": BY_RANK, "disk": station(service={"a": 0.7, "b": 0.2})},
        chains=BOTH,
        routing=ROUND,
    ),
    "a full station": closed(capacity=2),
}


def numbers(answer: Answer) -> dict[str, float]:
    return {name: each.value for name, each in answer.values.items() if each.value is not None}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", IN_FORM)
def test_where_product_form_holds_every_value_of_every_class_is_its(name: str) -> None:
    exact, markov = numbers(solve(IN_FORM[name])), solve(IN_FORM[name], method="markov-chain")
    assert markov.exact
    found = numbers(markov)
    for key, value in exact.items():
        # A chain that is cut has no numbers beyond the cut.
        assert found.get(key, 0.0 if key.startswith("probability") else None) == pytest.approx(
            value, rel=1e-8, abs=1e-10
        )


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", WITHOUT)
def test_where_it_does_not_values_are_those_that_a_simulation_sees(name: str) -> None:
    markov = numbers(solve(WITHOUT[name], method="markov-chain"))
    seen = solve(WITHOUT[name], method="simulation", simulation=Simulation(seed=2, shares=0))
    checked = 0
    for key, each in seen.values.items():
        if (
            key in markov
            and each.low is not None
            and each.high is not None
            and "quantile" not in key
        ):
            # The intervals hold the answer 95 times of 100; three times as wide, always.
            middle, half = (each.low + each.high) / 2, (each.high - each.low) / 2
            assert markov[key] == pytest.approx(middle, abs=3 * half + 1e-9), key
            checked += 1
    assert checked > 20
    assert ("loss_probability[a,disk]" in markov) == (name == "a full station")


def test_who_is_lost_begins_anew_as_the_class_of_the_reference() -> None:
    """Whoever comes as b to a full disk goes on as a: of those at the processor the part that is
    b follows.
    """
    answer = numbers(solve(WITHOUT["a full station"], method="markov-chain"))
    assert answer["throughput[b]"] == pytest.approx(0.3 * answer["throughput[a]"], rel=1e-9)


@pytest.mark.turns(4)
def test_derivatives_travel_through_the_chain() -> None:
    model, name, step = WITHOUT["priority"], "stations.cpu.service.b", 1e-5
    slope = solve(model, method="markov-chain").gradient["response_time[web]"][name]
    form = CompiledNetwork(model, "markov-chain")
    ends = form.points({name: np.array([0.5 - step, 0.5 + step])}).columns()["response_time[web]"]
    assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "members", [closed_class(3, think_time=1.0), closed_class(3), open_class(1.0)]
)
@pytest.mark.parametrize("order", [("disk", "cpu"), ("cpu", "disk")])
def test_a_visit_that_may_be_left_out_has_its_derivative(
    members: ClosedClass | OpenClass, order: tuple[str, str]
) -> None:
    """One visit is where customers begin to pass a station by, which changes no probability but
    its slope.
    """
    stations = {name: station(service={"a": 0.3}, visits={"a": 1.0}) for name in order}
    model = network({"a": members}, stations)
    chained, formula = (
        solve(model, method=method).gradient["response_time[a]"]
        for method in ("markov-chain", "exact")
    )
    assert {name: chained[name] for name in formula if "think" not in name} == pytest.approx(
        {name: slope for name, slope in formula.items() if "think" not in name}, rel=1e-9
    )


def test_a_chain_that_is_too_large_is_refused_with_its_size() -> None:
    many = {"users": chain(["a", "b"], closed_class(40, think_time=1.0), ("a", "cpu"))}
    model = network(
        {}, {"cpu": CPU, "disk": station(service={"a": 0.7, "b": 0.2})}, chains=many, routing=WAYS
    )
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="markov-chain", limits={"states": 1000})
    assert (
        str(caught.value)
        == "the chain has more than 1,000 states (as many as were looked for); ask for linearizer,"
        " schweitzer or simulation, or for fewer customers or an scv nearer to 1,"
        f" {advice_on_limit('states')}"
    )


@pytest.mark.turns(10)
@pytest.mark.parametrize(
    ("blocking", "words"),
    [
        ("loss", "ask for simulation, or for fewer customers or smaller capacities"),
        ("repeat", "ask for simulation, or for fewer customers or smaller capacities"),
    ],
)
def test_what_to_ask_for_instead_is_what_there_is(blocking: str, words: str) -> None:
    full = station(service={"jobs": 1.0}, capacity=400_000, blocking=blocking)
    model = network(
        {"jobs": closed_class(400_000)}, {"first": station(service={"jobs": 1.0}), "second": full}
    )
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="markov-chain")
    assert (
        str(caught.value)
        == "the chain has more than 30,000 states (at least 400,000, for as many customers);"
        f" {words}, {advice_on_limit('states')}"
    )


class TestBlocking:
    """Stations that are full: against chains worked by hand."""

    def ring(self, blocking: str) -> QueueingNetwork:
        second = station(service={"jobs": 1.0}, capacity=2, blocking=blocking)
        return network(
            {"jobs": closed_class(3)}, {"first": station(service={"jobs": 1.0}), "second": second}
        )

    @pytest.mark.parametrize("blocking", ["repeat", "before-service"])
    def test_a_ring_of_two_stops_at_its_capacity(self, blocking: str) -> None:
        """0, 1 or 2 are at the second, up at rate 1 until it is full, down at rate 1: each a
        third of the time.
        """
        answer = solve(self.ring(blocking), method="markov-chain")
        assert answer["throughput[jobs]"] == pytest.approx(2 / 3)
        assert [answer[f"probability[second,{n}]"] for n in range(3)] == pytest.approx([1 / 3] * 3)
        assert answer["loss_probability[jobs,second]"] == 0


def test_an_open_station_that_is_not_visited_changes_nothing() -> None:
    alone = {"app": station(service={"requests": 0.04}, servers=6)}
    never = {"web": station(service={"requests": 0.01}, visits={"requests": 0}), **alone}
    times = [
        solve(network({"requests": open_class(90.0)}, each), method="markov-chain")[
            "response_time[requests]"
        ]
        for each in (alone, never)
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "think"), [(0.135, 0.848, 3.82), (0.763, 0.003, 2.23), (0.723, 0.23, 4.73)]
)
def test_a_customer_alone_waits_for_nobody(first: float, second: float, think: float) -> None:
    """Subtracting its service from its time at a station left rounding, such as -1.1e-16 s."""
    stations = {"a": station(service={"jobs": first}), "b": station(service={"jobs": second})}
    model = network({"jobs": closed_class(1, think_time=think)}, stations)
    answer = solve(model, method="markov-chain")
    assert (answer["waiting_time[jobs,a]"], answer["waiting_time[jobs,b]"]) == (0, 0)
