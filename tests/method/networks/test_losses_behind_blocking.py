"""Stations behind one that blocks, at which customers balk, try again, or are refused by a circuit
breaker: against a chain, and at limits at which they do nothing of this.
"""

from __future__ import annotations

from typing import Any

import pytest

from slipstick import Breaker, QueueingNetwork, Simulation, closed_class, network, solve, station
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.model.network import guard
from tests.sim.test_same import check_same
from tests.simulation import assert_within_intervals

RUN = Simulation(seed=37, events=60_000, precision=1e-9)
BLOCKING = ["repeat", "before-service", "after-service"]
OPEN = Parameter("breakers.guard.open", TIME, 1.5)


def line(blocking: str, failures: int | None = None, **traits: Any) -> QueueingNetwork:
    """Make a line of three stations, of which the second has two places."""
    stations = {
        "front": station(service={"parts": 0.3}),
        "desk": station(service={"parts": 0.5}, capacity=2, blocking=blocking),
        "store": station(service={"parts": 0.4}, **traits),
    }
    guards = (
        {} if failures is None else {"guard": guard(["store"], Breaker(failures, OPEN, scv=1.0))}
    )
    return network({"parts": closed_class(4, think_time=1.0)}, stations, breakers=guards)


@pytest.mark.parametrize("blocking", ["repeat", "before-service"])
def test_a_chain_has_the_values_of_customers_that_balk(blocking: str) -> None:
    model = line(blocking, balking={"parts": [0.3, 0.7]})
    exact = solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=RUN)
    names = ("throughput[parts]", "loss_probability[parts,store]", "queue_length[store]")
    assert_within_intervals(simulated, {name: exact[name] for name in names})


PATIENT = {"patience": {"parts": 1e9}}
LIMITS: dict[str, dict[str, Any]] = {
    "no retry is needed": {**PATIENT, "retries": {"parts": 2}, "back_off": {"parts": 0.5}},
    "no visit fails": {**PATIENT, "failures": 1},
    "nobody balks": {"balking": {"parts": [0.0]}},
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("blocking", BLOCKING)
@pytest.mark.parametrize("limit", LIMITS)
def test_limits_change_nothing(limit: str, blocking: str) -> None:
    limited, plain = (
        solve(line(blocking, **traits), method="simulation", simulation=RUN)
        for traits in (LIMITS[limit], {})
    )
    for name, value in plain.values.items():
        assert limited[name] == pytest.approx(value.value, rel=0.02), name


@pytest.mark.turns(4)
@pytest.mark.parametrize("blocking", BLOCKING)
def test_both_kernels_run_them_alike(blocking: str) -> None:
    impatient = {"patience": {"parts": 0.5}, "retries": {"parts": 1}, "back_off": {"parts": 0.2}}
    model = line(blocking, 1, **impatient)
    check_same(flat_network(NetworkLayout(model), {}).plan, 3000)
    answer = solve(model, method="simulation", simulation=RUN)
    assert 0 < (answer["open_share[guard]"] or 0) < 1
    lost = answer["abandonment[parts,store]"]
    assert lost is not None
    assert lost > 0


def test_stations_whose_customers_are_blocked_take_none_of_them() -> None:
    stations = {
        "front": station(service={"parts": 0.3}, balking={"parts": [0.5]}),
        "desk": station(service={"parts": 0.5}, capacity=2, blocking="after-service"),
    }
    model = network({"parts": closed_class(4, think_time=1.0)}, stations)
    with pytest.raises(NoAnswerError) as refusal:
        solve(model, method="simulation")
    assert (
        "a simulation has no rule for retries, breakers and balking at front, where customers are"
        " blocked by a station behind; leave one of them out"
    ) in str(refusal.value)
