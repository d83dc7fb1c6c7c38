"""Customers that try again after a visit that fails, against the chain of the activity of the same
meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from slipstick import Breaker, QueueingNetwork, Simulation, closed_class, network, solve, station
from slipstick.errors import ModelFaultsError, NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model.network import guard, open_class, region
from slipstick_chains.lowering import lower_network
from tests.simulation import assert_within_intervals

RUN = Simulation(seed=21, events=120_000)
AGAIN: Mapping[str, Any] = {"retries": {"calls": 2}, "back_off": {"calls": 1.0}}


def desk(breakers: Mapping[str, Any] | None = None, **traits: Any) -> QueueingNetwork:
    keys = {"service": {"calls": 1.0}, "servers": 2, **AGAIN, **traits}
    calls = {"calls": closed_class(5, think_time=1.5)}
    return network(calls, {"desk": station(**keys)}, breakers=breakers)


GUARD = guard(["desk"], Breaker(2, Parameter("breakers.guard.open", TIME, 3.0), scv=1.0))
MODELS = {
    "after patience": desk(patience={"calls": 0.5}),
    "at a full station": desk(capacity=3),
    "after both": desk(capacity=3, patience={"calls": 0.5}),
    "without a pause": desk(patience={"calls": 0.5}, back_off={}),
    "behind a breaker": desk({"guard": GUARD}, patience={"calls": 0.5}),
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", MODELS)
def test_retries_are_those_of_an_activity(name: str) -> None:
    simulated = solve(MODELS[name], method="simulation", simulation=RUN)
    exact = solve(lower_network(MODELS[name]), method="markov-chain")
    expected = {
        "throughput[calls]": exact["goodput[desk]"],
        "utilization[desk]": exact["utilization[desk]"],
        "queue_length[desk]": exact["queue_length[desk]"],
    }
    assert_within_intervals(simulated, expected)


@pytest.mark.parametrize("name", MODELS)
def test_both_kernels_retry_alike(name: str) -> None:
    runs = (Simulation(seed=6, events=3_000, kernel=kernel) for kernel in ("plain", "compiled"))
    plain, compiled = (solve(MODELS[name], method="simulation", simulation=run) for run in runs)
    assert plain.values == compiled.values


def test_customers_that_pause_keep_their_place_in_a_region() -> None:
    """Then all of the response time is spent inside, and Little's law holds for it."""
    lines = station(service={"calls": 1.0}, capacity=1, **AGAIN)
    hall = region(["lines"], capacity=4)
    model = network({"calls": open_class(0.6)}, {"lines": lines}, regions={"hall": hall})
    answer = solve(model, simulation=Simulation(seed=8, events=20_000, precision=1e-9))
    response = answer["response_time[calls]"]
    assert response is not None
    assert answer.account["back-off:lines"] > 0.1 * response
    assert answer["queue_length[hall]"] == pytest.approx(0.6 * response, rel=0.02)


def test_all_time_of_a_cycle_is_in_its_account() -> None:
    """N customers divided by the sum of the account are the cycles, of those that give up too."""
    answer = solve(MODELS["after patience"], method="simulation", simulation=RUN)
    total = sum(answer.account.values())
    given_up = answer["abandonment[calls,desk]"]
    assert given_up is not None
    served = 5 / total * (1 - given_up)
    assert answer["throughput[calls]"] == pytest.approx(served, rel=0.01)
    assert "back-off:desk" in answer.account


def test_infinite_patience_is_a_desk_without_retries() -> None:
    patient = solve(desk(patience={"calls": 1e9}), method="simulation", simulation=RUN)
    truth = solve(desk(retries={}, back_off={}), method="exact")
    assert patient["throughput[calls]"] == pytest.approx(truth["throughput[calls]"], rel=0.02)


@pytest.mark.parametrize("method", ["exact", "linearizer", "bounds"])
def test_other_methods_refuse_by_name(method: str) -> None:
    with pytest.raises(NoAnswerError, match=f"^{method} cannot solve retries "):
        solve(MODELS["after patience"], method=method)


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        (
            {},
            (
                "stations.desk.retries.calls: no visit of calls to desk fails; give it a timeout,"
                " patience or a capacity"
            ),
        ),
        (
            {"patience": {"calls": 1.0}, "retries": {}},
            "stations.desk.back_off.calls: calls has no retries at desk; give it some",
        ),
        (
            {"capacity": 3, "blocking": "repeat"},
            (
                "stations.desk.retries.calls: no method has retries at a station that blocks; leave"
                " one of them out"
            ),
        ),
    ],
)
def test_retries_without_a_cause_are_refused(traits: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFaultsError) as refusal:
        desk(**traits)
    assert message in str(refusal.value)


def test_lines_that_are_busy_and_called_again() -> None:
    """Without a limit of tries and with long pauses, redials are a Poisson stream of their own
    (Cohen, 1957): the load a + r of both is lost in the part B, and r = (a + r) B.
    """
    lines = station(
        servers=3,
        capacity=3,
        service={"calls": 1.0},
        retries={"calls": 1000},
        back_off={"calls": 300.0},
    )
    model = network({"calls": open_class(1.5)}, {"lines": lines})
    load = 1.5
    for _ in range(200):
        powers = [load**n / factorial for n, factorial in enumerate((1, 1, 2, 6))]
        load = 1.5 / (1 - powers[3] / sum(powers))
    answer = solve(model, simulation=Simulation(seed=5, events=100_000))
    pauses = answer.account["back-off:lines"]
    assert pauses == pytest.approx(300.0 * (load - 1.5) / 1.5, rel=0.15)


def test_shares_of_a_network_that_no_solver_takes_are_differences_of_simulations() -> None:
    """A longer service makes responses longer; the pauses are among those that are tried."""
    run = Simulation(seed=4, events=20_000, shares=4)
    answer = solve(MODELS["after patience"], method="simulation", simulation=run)
    shares = answer.share["response_time[calls]"]
    assert "stations.desk.back_off.calls" in shares
    assert shares["stations.desk.service.calls"] > 0.3


def test_customers_that_give_up_in_a_short_run_are_no_growing_queue() -> None:
    """Of a load of 5 on each server most are lost after their second try."""
    lines = station(
        service={"calls": 1.0}, servers=2, capacity=2, **{**AGAIN, "retries": {"calls": 1}}
    )
    model = network({"calls": open_class(10.0)}, {"lines": lines})
    answer = solve(model, simulation=Simulation(seed=1, events=20_000, precision=1e-9))
    lost = answer["loss_probability[calls,lines]"]
    assert lost is not None
    assert answer["throughput[calls]"] == pytest.approx(10 * (1 - lost), rel=0.02)
