"""Blocking after service, from networks: a printed example, other kinds of blocking where they
are the same, refusals.
"""

from __future__ import annotations

from typing import Any

import pytest

from slipstick import (
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
from slipstick.errors import NoAnswerError

AFTER: dict[str, Any] = {"blocking": "after-service"}
JOBS = {"jobs": 1.0}


def ring(
    first: float, second: float, room: tuple[int, int], size: int, **more: Any
) -> QueueingNetwork:
    stations = {
        "first": station(service={"jobs": first}, capacity=room[0], **AFTER),
        "second": station(service={"jobs": second}, capacity=room[1], **AFTER),
    }
    return network({"jobs": closed_class(size)}, stations, **more)


def test_a_printed_example() -> None:
    """Bolch et al. 1998, example 10.19, p. 551; the digits are cut off."""
    answer = solve(ring(2.0, 0.9, (7, 5), 10))
    assert answer.method == "markov-chain"
    assert answer["queue_length[first]"] == pytest.approx(6.73, abs=0.011)
    assert answer["queue_length[second]"] == pytest.approx(3.27, abs=0.011)
    assert answer["response_time[jobs]"] == pytest.approx(10 / (answer["throughput[jobs]"] or 0.0))
    assert "a server that is blocked after a service does not count as busy" in answer.notes


def test_routing_says_the_same_as_the_order_written() -> None:
    stations = ring(2.0, 0.9, (7, 5), 10).stations
    ways = [
        route(("jobs", "first"), ("jobs", "second"), 1.0),
        route(("jobs", "second"), ("jobs", "first"), 1.0),
    ]
    chains = {"all": chain(["jobs"], closed_class(10), ("jobs", "first"))}
    routed, ordered = (
        solve(network({}, stations, chains=chains, routing=ways)),
        solve(ring(2.0, 0.9, (7, 5), 10)),
    )
    for name in ("throughput[jobs]", "queue_length[jobs,first]", "utilization[second]"):
        assert routed[name] == pytest.approx(ordered[name])


def test_room_for_all_is_no_blocking() -> None:
    blocked, free = (
        solve(ring(2.0, 0.9, (4, 4), 4)),
        solve(
            network(
                {"jobs": closed_class(4)},
                {"first": station(service={"jobs": 2.0}), "second": station(service={"jobs": 0.9})},
            )
        ),
    )
    for name in (
        "throughput[jobs]",
        "response_time[jobs]",
        "queue_length[jobs,second]",
        "utilization[jobs,first]",
    ):
        assert blocked[name] == pytest.approx(free[name])


def test_a_line_holds_up_who_came_in_and_loses_at_the_door() -> None:
    """No room between two servers of rate 1: at most 2/3 goes through a line that never lacks
    work.
    """
    stations = {name: station(service=JOBS, capacity=1, **AFTER) for name in ("first", "second")}
    answer = solve(network({"jobs": open_class(1e5)}, stations))
    assert answer["throughput[jobs]"] == pytest.approx(2 / 3, rel=1e-4)
    lost = answer["loss_probability[jobs,first]"]
    assert lost is not None
    assert 1e5 * (1 - lost) == pytest.approx(answer["throughput[jobs]"])
    assert answer["time_per_visit[jobs,second]"] == pytest.approx(1.0)


def test_shares_of_times_and_rates_add_up_to_one() -> None:
    shares = solve(ring(2.0, 0.9, (7, 5), 10)).share["throughput[jobs]"]
    assert sum(shares.values()) == pytest.approx(1.0)


LOSES = station(service=JOBS, capacity=2)
HOLDS = station(service=JOBS, capacity=2, **AFTER)
PAIR = station(service=JOBS, servers=2)
REFUSED = [
    (
        network(
            {"jobs": closed_class(3, think_time=1.0)}, {"one": station(service=JOBS), "two": HOLDS}
        ),
        "a Markov chain blocks after service one class that does not think; ask for simulation",
    ),
    (
        network({"jobs": closed_class(3)}, {"one": PAIR, "two": HOLDS}),
        (
            "one is not one exponential server, as a Markov chain needs where it blocks after "
            "service; ask for simulation"
        ),
    ),
    (
        network({"jobs": closed_class(3)}, {"one": LOSES, "two": HOLDS}),
        (
            "one has another kind of blocking; in a Markov chain all stations block after service "
            "if any does; ask for simulation; no other method has an answer here; simulation has "
            "no answer either: a cycle of jobs may begin at one, which may be full: a lost "
            "customer would come back at the same instant; "
            "give jobs a think time, or one more capacity"
        ),
    ),
]


@pytest.mark.parametrize(("model", "text"), REFUSED)
def test_what_it_is_not_for_is_named(model: QueueingNetwork, text: str) -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="markov-chain")
    assert str(caught.value) == text


def test_what_the_chain_has_no_rule_for_is_simulated() -> None:
    alone = network(
        {"jobs": closed_class(1, think_time=1.0)}, {"one": station(service=JOBS), "two": HOLDS}
    )
    answer = solve(alone)
    assert answer.method == "simulation"
    # A customer alone is never held up.
    assert answer["throughput[jobs]"] == pytest.approx(1 / 3, rel=0.03)


def test_its_answers_at_a_time_come_to_those_of_the_long_run() -> None:
    model = ring(2.0, 0.9, (7, 5), 10)
    late = transient(model, [0.0, 500.0])["queue_length[first]"]
    assert late[0] == 7.0
    assert late[1] == pytest.approx(solve(model)["queue_length[first]"])
