"""Stations that block, simulated: the same values as the Markov chain, and models that it has no
rule for against chains worked by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slipstick import (
    QueueingNetwork,
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

RUN = Simulation(seed=11, precision=0.02)
SHORT = Simulation(seed=11, events=40_000)


def jobs(mean: float, **traits: Any) -> Any:
    return station(service={"jobs": mean}, **traits)


def ring(blocking: str, **first: Any) -> QueueingNetwork:
    return network(
        {"jobs": closed_class(3)},
        {"first": jobs(1.0, **first), "second": jobs(1.0, capacity=2, blocking=blocking)},
    )


def thinking(blocking: str) -> QueueingNetwork:
    return network(
        {"jobs": closed_class(4, think_time=2.0)},
        {"a": jobs(0.7), "b": jobs(1.0, capacity=2, blocking=blocking), "c": jobs(0.3)},
    )


def tandem(blocking: str) -> QueueingNetwork:
    return network(
        {"jobs": open_class(0.6)},
        {
            "a": jobs(0.7, capacity=4, blocking=blocking),
            "b": jobs(1.0, capacity=2, blocking=blocking),
        },
    )


IN_ORDER = network(
    {"jobs": closed_class(4, think_time=2.0)},
    {
        "a": station(service={"jobs": 0.7}, visits={"jobs": 2.0}),
        "b": station(service={"jobs": 1.0}, visits={"jobs": 0.6}, capacity=2, blocking="repeat"),
        "c": jobs(0.3, capacity=1, blocking="repeat"),
    },
)

ROUTED = network(
    {},
    {"cpu": jobs(0.5), "disk": jobs(1.0, capacity=1, blocking="repeat"), "tape": jobs(0.8)},
    chains={"users": chain(["jobs"], closed_class(4), ("jobs", "cpu"))},
    routing=[
        route(("jobs", "cpu"), ("jobs", "disk"), 0.5),
        route(("jobs", "cpu"), ("jobs", "tape"), 0.5),
        route(("jobs", "disk"), ("jobs", "cpu"), 1.0),
        route(("jobs", "tape"), ("jobs", "cpu"), 1.0),
    ],
)

RETURNING = network(
    {},
    {"cpu": jobs(0.3), "disk": jobs(0.8, capacity=1, blocking="repeat")},
    chains={"users": chain(["jobs"], open_class(0.5), ("jobs", "cpu"))},
    routing=[
        route(("jobs", "cpu"), ("jobs", "disk"), 0.5),
        route(("jobs", "cpu"), None, 0.5),
        route(("jobs", "disk"), ("jobs", "cpu"), 1.0),
    ],
)

BOTH = {"first": 0.5, "second": 0.5}
SWITCHING = network(
    {},
    {"cpu": station(service=BOTH), "disk": station(service=BOTH, capacity=1, blocking="repeat")},
    chains={"users": chain(["first", "second"], closed_class(3), ("first", "cpu"))},
    routing=[
        route(("first", "cpu"), ("first", "disk"), 0.5),
        route(("first", "cpu"), ("second", "cpu"), 0.5),
        route(("first", "disk"), ("first", "cpu"), 1.0),
        route(("second", "cpu"), ("second", "disk"), 0.4),
        route(("second", "cpu"), ("first", "cpu"), 0.6),
        route(("second", "disk"), ("second", "cpu"), 1.0),
    ],
)


def impatient(customers: Any, blocking: str) -> QueueingNetwork:
    return network(
        {"jobs": customers},
        {
            "a": jobs(0.7, patience={"jobs": 1.0}),
            "b": jobs(1.0, patience={"jobs": 0.8}, capacity=2, blocking=blocking),
        },
    )


RANKED = network(
    {"first": closed_class(2, think_time=1.0), "last": closed_class(2, think_time=0.5)},
    {
        "a": station(
            service={"first": 0.6, "last": 0.6},
            discipline="priority",
            priority={"first": 0, "last": 1},
        ),
        "b": station(service={"first": 1.0, "last": 1.0}, capacity=2, blocking="repeat"),
    },
)


def shared(**traits: Any) -> QueueingNetwork:
    """Make a station at which customers are served at once, before one that is full at times."""
    times = {"short": 0.3, "long": 0.5}
    classes = {"short": closed_class(2, think_time=1.0), "long": closed_class(2, think_time=0.5)}
    full = station(service=dict.fromkeys(times, 0.6), capacity=2, blocking="repeat")
    return network(classes, {"a": station(service=times, **traits), "b": full})


MODELS = {
    "shared, repeated": shared(discipline="ps", servers=2),
    "shared by weights, repeated": shared(discipline="ps", weight={"short": 3.0, "long": 0.5}),
    "interrupted, repeated": shared(discipline="lcfs-pr"),
    "impatient, repeated": impatient(closed_class(4, think_time=1.0), "repeat"),
    "impatient, before service": impatient(open_class(0.5), "before-service"),
    "by ranks": RANKED,
    "a ring that repeats": ring("repeat"),
    "a ring that waits before service": ring("before-service"),
    "a ring that waits after service": ring("after-service"),
    "thinking, repeated": thinking("repeat"),
    "thinking, before service": thinking("before-service"),
    "in the order written": IN_ORDER,
    "by routes": ROUTED,
    "from outside, by routes that return": RETURNING,
    "classes that change": SWITCHING,
    "from outside, repeated": tandem("repeat"),
    "from outside, after service": tandem("after-service"),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
def test_the_simulation_has_the_values_of_the_chain(name: str) -> None:
    exact = solve(MODELS[name], method="markov-chain")
    simulated = solve(MODELS[name], method="simulation", simulation=RUN)
    compared = [value for value in simulated.values if value in exact.values]
    assert len(compared) > 10
    for value in compared:
        estimate = simulated.values[value]
        assert estimate.value is not None
        assert estimate.high is not None
        width = estimate.high - estimate.value
        assert estimate.value == pytest.approx(
            exact.values[value].value, rel=3e-3, abs=4 * width + 1e-12
        ), value


def test_destinations_drawn_again_change_the_visits_of_a_cycle() -> None:
    """Each cycle visits c once, so that its throughput is that of the cycles; the visits to a and b
    are no longer those that the network states.
    """
    answer = solve(IN_ORDER, method="markov-chain")
    cycles, busy_a, busy_c = (
        value
        for name in ("throughput[jobs]", "utilization[jobs,a]", "utilization[jobs,c]")
        if (value := answer[name]) is not None
    )
    assert cycles == pytest.approx(busy_c / 0.3)
    assert cycles * 2.0 < busy_a / 0.7 - 0.1


def test_a_line_that_is_held_up_too_often_is_saturated() -> None:
    """Each station alone could do 1 a second, and 0.9 arrive: with one place it can do 2/3."""
    line = {"first": jobs(1.0), "second": jobs(1.0, capacity=1, blocking="after-service")}
    with pytest.raises(NoAnswerError) as caught:
        solve(network({"jobs": open_class(0.9)}, line), method="simulation", simulation=SHORT)
    message = str(caught.value)
    assert message.startswith("jobs arrive faster than they leave: 0.9 in a second, and 0.6")
    assert message.endswith(
        " s that were simulated; a resource receives more work than it can do, or customers "
        "stay longer than the run: lower the arrivals, or simulate longer; no other method has an"
        " answer here"
    )
    answer = solve(network({"jobs": open_class(0.3)}, line), method="simulation", simulation=RUN)
    assert answer["throughput[jobs]"] == pytest.approx(0.3, rel=0.03)


def test_constant_times_pass_like_beads_on_a_string() -> None:
    """First works 1 s and second 2 s, with one place: a cycle every 2 s, and 1 s of each held
    up.
    """
    model = network(
        {"jobs": closed_class(2)},
        {
            "first": jobs(1.0, scv={"jobs": 0.0}),
            "second": jobs(2.0, scv={"jobs": 0.0}, capacity=1, blocking="after-service"),
        },
    )
    answer = solve(model)
    assert answer.method == "simulation"
    assert answer["throughput[jobs]"] == pytest.approx(0.5, rel=0.01)
    assert answer["waiting_time[jobs,first]"] == pytest.approx(1.0, rel=0.01)
    assert answer["utilization[first]"] == pytest.approx(0.5, rel=0.01)


def test_two_servers_are_held_up() -> None:
    """One customer for each place: with two servers at first and as many places as customers at
    second nobody is held up, and the answer is that of the network without capacity.
    """
    wide = {
        "first": jobs(1.0, servers=2),
        "second": jobs(0.7, capacity=3, blocking="after-service"),
    }
    free = {"first": jobs(1.0, servers=2), "second": jobs(0.7)}
    held, open_ = (network({"jobs": closed_class(3)}, stations) for stations in (wide, free))
    answer = solve(held, method="simulation", simulation=RUN)
    assert answer["throughput[jobs]"] == pytest.approx(solve(open_)["throughput[jobs]"], rel=0.03)


REFUSED = [
    (
        ring("after-service", discipline="ps"),
        (
            "a simulation has no rule for first, where customers are blocked: it holds up "
            "servers in the order of arrival or of ranks without rates, and infinite servers; "
            "let customers be blocked there by 'repeat' alone, or write discipline: fcfs at first"
        ),
    ),
    (
        ring("after-service", discipline="random"),
        (
            "a simulation has no rule for first, where customers are blocked: it holds up "
            "servers in the order of arrival or of ranks without rates, and infinite servers; "
            "write discipline: fcfs at first"
        ),
    ),
    (
        ring("repeat", discipline="lcfs-pr", servers=2),
        (
            "a simulation has no rule for first, where customers are blocked: it holds up "
            "servers in the order of arrival or of ranks without rates, and infinite servers; "
            "write discipline: fcfs at first"
        ),
    ),
    (
        ring("before-service", scv={"jobs": 0.5}),
        (
            "a simulation has no rule for jobs at first, which is blocked before its service, where"
            " that is not exponential or has several destinations: use 'repeat' or 'after-service'"
        ),
    ),
    (
        network(
            {"jobs": closed_class(5)},
            {
                "first": jobs(1.0, capacity=2, blocking="repeat"),
                "second": jobs(1.0, capacity=2, blocking="repeat"),
            },
        ),
        "5 closed customers never find a place: the stations have 4; raise a capacity",
    ),
    (
        ring("repeat", patience={"jobs": 2.0}),
        (
            "customers of jobs that abandon first begin their cycle anew, where they may be "
            "blocked; give jobs a think time"
        ),
    ),
]


State = tuple[int, int, int]


def stationary(
    states: Sequence[State], changes_of: Callable[[State], Iterable[tuple[float, State]]]
) -> list[float]:
    """Compute the probabilities of the states of a chain from its rates of change."""
    place = {state: index for index, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for state in states:
        for rate, next_state in changes_of(state):
            if rate:
                rates[place[state], place[next_state]] += rate
    generator = rates - np.diag(rates.sum(axis=1))
    equations = np.vstack([generator.T, np.ones(len(states))])
    sides = np.append(np.zeros(len(states)), 1.0)
    return [float(chance) for chance in np.linalg.lstsq(equations, sides, rcond=None)[0]]


def in_a_region(customers: int, blocking: str, think: float) -> QueueingNetwork:
    """Make a network of a room for one, where two things are done, before a station that blocks."""
    return network(
        {"jobs": closed_class(customers, think_time=think)},
        {"a": jobs(0.5), "c": jobs(0.4), "b": jobs(1.0, capacity=1, blocking=blocking)},
        regions={"room": region(["a", "c"], 1)},
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("blocking", ["repeat", "after-service"])
def test_a_region_before_what_blocks_is_that_of_a_chain_by_hand(blocking: str) -> None:
    """A state has the customers at the room, waiting included, what the one inside does (0: at a,
    1: at c, 2: it is held up), and those at b.
    """
    customers, think, service_a, service_c, service_b = 4, 2.0, 0.5, 0.4, 1.0
    repeats = blocking == "repeat"
    states = [
        (at_room, inside, at_b)
        for at_room in range(customers + 1)
        for inside in ((0, 1) if repeats else (0, 1, 2))
        for at_b in (0, 1)
        if at_room + at_b <= customers and (at_room or not inside) and (inside < 2 or at_b)
    ]

    def changes_of(state: State) -> list[tuple[float, State]]:
        at_room, inside, at_b = state
        changes = [((customers - at_room - at_b) / think, (at_room + 1, inside, at_b))]
        if at_b:
            held_up = inside == 2
            changes.append((1 / service_b, (at_room - held_up, 0 if held_up else inside, held_up)))
        if at_room and inside == 0:
            changes.append((1 / service_a, (at_room, 1, at_b)))
        if inside == 1 and not at_b:
            changes.append((1 / service_c, (at_room - 1, 0, 1)))
        elif inside == 1 and not repeats:
            changes.append((1 / service_c, (at_room, 2, at_b)))
        return changes

    chances = stationary(states, changes_of)

    def expected(amount: Callable[[int, int, int], float]) -> float:
        return float(sum(c * amount(*state) for c, state in zip(chances, states, strict=True)))

    truth = {
        "queue_length[b]": expected(lambda at_room, inside, at_b: at_b),
        "queue_length[a]": expected(lambda at_room, inside, at_b: at_room > 0 and inside == 0),
        "queue_length[c]": expected(lambda at_room, inside, at_b: inside > 0),
        "queue_length[room]": expected(lambda at_room, inside, at_b: at_room),
        "utilization[room]": expected(lambda at_room, inside, at_b: at_room > 0),
    }
    model = in_a_region(customers, blocking, think)
    answer = solve(model, simulation=Simulation(seed=3, events=300_000, precision=1e-9))
    assert answer.method == "simulation"
    for name, value in truth.items():
        found = answer.values[name]
        assert found.value is not None
        assert found.high is not None
        assert abs(found.value - value) <= 2 * (found.high - found.value), name


def test_a_region_of_room_for_all_changes_nothing_beside_what_blocks() -> None:
    """The same random numbers, so that each value is the same."""
    wide = replace(in_a_region(3, "repeat", 2.0), regions={"room": region(["a", "c"], 3)})
    without = replace(wide, regions={})
    found, truth = (
        solve(model, method="simulation", simulation=SHORT) for model in (wide, without)
    )
    for name in ("queue_length[a]", "queue_length[b]", "throughput[jobs]"):
        assert found[name] == pytest.approx(truth[name], rel=1e-9), name


@pytest.mark.parametrize(("model", "text"), REFUSED)
def test_what_it_has_no_rule_for_is_named(model: QueueingNetwork, text: str) -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="simulation")
    assert text in str(caught.value)


def test_a_circle_of_full_stations_is_a_deadlock() -> None:
    model = network(
        {"jobs": closed_class(4)},
        {
            "first": jobs(1.0, capacity=2, blocking="after-service"),
            "second": jobs(1.0, capacity=2, blocking="after-service"),
        },
    )
    with pytest.raises(NoAnswerError, match="deadlock at"):
        solve(model, method="simulation")


def test_cycles_that_cannot_be_counted_are_refused_by_the_chain() -> None:
    model = network(
        {"jobs": closed_class(3, think_time=1.0)},
        {
            "a": station(service={"jobs": 1.0}, visits={"jobs": 2.0}),
            "b": station(
                service={"jobs": 1.0}, visits={"jobs": 0.5}, capacity=1, blocking="repeat"
            ),
        },
    )
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="markov-chain")
    assert (
        "jobs may come again to the station where its cycles begin, and leaves a queue there, or "
        "draws its destination again where a station is full: its cycles cannot be counted in a "
        "Markov chain; ask for simulation"
    ) in str(caught.value)
    assert solve(model).method == "simulation"


def test_impatient_customers_that_are_blocked_after_service_are_those_of_a_chain_by_hand() -> None:
    """A state has the customers at a, those at b, and whether the server of a is held up."""
    customers, think, service_a, service_b, patience_a, patience_b, places = (
        4,
        1.0,
        0.7,
        1.0,
        1.0,
        0.8,
        2,
    )
    states = [
        (at_a, at_b, held)
        for at_a in range(customers + 1)
        for at_b in range(min(places, customers - at_a) + 1)
        for held in (0, 1)
        if not held or (at_a and at_b == places)
    ]

    def changes_of(state: State) -> list[tuple[float, State]]:
        at_a, at_b, held = state
        left_b = (at_a - held, at_b - 1 + held, 0)  # who is held up goes to b
        changes = [
            ((customers - at_a - at_b) / think, (at_a + 1, at_b, held)),
            (max(at_a - 1, 0) / patience_a, (at_a - 1, at_b, held)),
            ((at_b > 0) / service_b + max(at_b - 1, 0) / patience_b, left_b),
        ]
        if at_a and not held:
            after = (at_a - 1, at_b + 1, 0) if at_b < places else (at_a, at_b, 1)
            changes.append((1 / service_a, after))
        return changes

    chances = stationary(states, changes_of)
    model = impatient(closed_class(customers, think_time=think), "after-service")
    answer = solve(model, simulation=Simulation(seed=3, events=300_000, precision=1e-9))
    assert answer.method == "simulation"
    truth = {
        "queue_length[a]": sum(c * a for c, (a, _, _) in zip(chances, states, strict=True)),
        "queue_length[b]": sum(c * b for c, (_, b, _) in zip(chances, states, strict=True)),
        "utilization[b]": sum(c * (b > 0) for c, (_, b, _) in zip(chances, states, strict=True)),
        "utilization[a]": sum(
            c * (a > 0 and not held) for c, (a, _, held) in zip(chances, states, strict=True)
        ),
    }
    for name, value in truth.items():
        found = answer.values[name]
        assert found.value is not None
        assert found.high is not None
        assert abs(found.value - value) <= 2 * (found.high - found.value), name
    with pytest.raises(NoAnswerError) as caught:
        solve(impatient(open_class(0.5), "after-service"), method="markov-chain")
    assert str(caught.value) == (
        "a Markov chain has no rule for queues that are abandoned where it blocks after "
        "service; ask for simulation"
    )


def test_a_class_that_starves_has_no_response_time() -> None:
    """The last places are always taken by those that interrupt, as soon as one of them leaves."""
    times = {"first": 0.3, "last": 0.5}
    model = network(
        {"first": closed_class(2), "last": closed_class(2, think_time=0.5)},
        {
            "a": station(service=times, discipline="lcfs-pr"),
            "b": station(service=dict.fromkeys(times, 0.6), capacity=2, blocking="repeat"),
        },
    )
    answer = solve(model, method="markov-chain")
    assert answer["throughput[last]"] == 0.0
    assert "response_time[last]" not in answer.values
    assert answer.values["queue_length[last,a]"].value == pytest.approx(2.0)
