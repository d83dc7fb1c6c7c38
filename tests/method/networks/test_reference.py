"""The class in the reference of a closed chain says where its cycles begin and end, and who thinks:
every method means the same by it.
"""

from __future__ import annotations

import pytest

from slipstick import QueueingNetwork, chain, closed_class, network, route, solve, station

METHODS = ("markov-chain", "linearizer", "schweitzer", "simulation")


def taking_turns(label: str, think: float = 0.0, customers: int = 1) -> QueueingNetwork:
    """Return one job that reads for 1 s and then writes for 3 s, at one disk."""
    return network(
        {},
        {"disk": station(service={"read": 1.0, "write": 3.0})},
        chains={
            "jobs": chain(
                ["read", "write"], closed_class(customers, think_time=think), (label, "disk")
            )
        },
        routing=[
            route(("read", "disk"), ("write", "disk"), 1.0),
            route(("write", "disk"), ("read", "disk"), 1.0),
        ],
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("label", ["read", "write"])
def test_a_cycle_is_a_read_and_a_write(method: str, label: str) -> None:
    answer = solve(taking_turns(label), method=method)
    assert answer["response_time[jobs]"] == pytest.approx(4, rel=0.02)
    assert answer["throughput[jobs]"] == pytest.approx(1 / 4, rel=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_a_job_thinks_once_a_cycle(method: str) -> None:
    answer = solve(taking_turns("write", think=6.0), method=method)
    assert answer["throughput[jobs]"] == pytest.approx(1 / 10, rel=0.02)
    assert answer["utilization[disk]"] == pytest.approx(4 / 10, rel=0.02)


@pytest.mark.turns(4)
def test_the_class_in_reference_takes_effect() -> None:
    """A customer is one of three parts as `a` and two of `b`: cycles of `a` are half as many."""
    stations = {"disk": station(service={"a": 1.0, "b": 1.0})}
    routing = [
        route(("a", "disk"), ("b", "disk"), 1.0),
        route(("b", "disk"), ("b", "disk"), 0.5),
        route(("b", "disk"), ("a", "disk"), 0.5),
    ]
    for method in METHODS:
        rates = [
            solve(
                network(
                    {},
                    stations,
                    chains={"jobs": chain(["a", "b"], closed_class(2), (label, "disk"))},
                    routing=routing,
                ),
                method=method,
            )["throughput[jobs]"]
            for label in ("a", "b")
        ]
        assert rates == pytest.approx([1 / 3, 2 / 3], rel=0.02)
