"""Customers of networks that leave at once with a probability that grows with the queue: against
the balance equations, the activity of the same meaning, and at the ends of the probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slipstick import (
    Answer,
    Breaker,
    QueueingNetwork,
    Simulation,
    closed_class,
    dump,
    load,
    network,
    solve,
    station,
)
from slipstick.errors import ModelFaultsError, NoAnswerError, SpecError
from slipstick.expression.nodes import TIME, Number
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.model.network import CustomerClass, chain, guard, open_class, route
from slipstick_chains.lowering import lower_network
from tests.sim.test_same import check_same
from tests.simulation import assert_within_intervals

RUN = Simulation(seed=48, events=60_000, precision=1e-9)
LEAVING = [0.0, 0.3, 0.6, 1.0]
LONG = [0.2, 0.5]


def desk(customers: CustomerClass, **traits: Any) -> QueueingNetwork:
    keys = {"service": {"calls": 0.9}, "balking": {"calls": LONG}, **traits}
    return network({"calls": customers}, {"desk": station(**keys)})


def assert_agree(simulated: Answer, exact: Answer) -> None:
    """Assert that all values of a chain lie within three half-widths of a simulation."""
    names = [name for name in simulated.values if "quantile" not in name]
    assert {"loss_probability[calls,desk]", "throughput[calls]"} <= set(names)
    assert_within_intervals(simulated, {name: exact[name] for name in names}, relative=1e-3)


def test_a_stream_has_the_balance_of_the_queue() -> None:
    weights = [1.0]
    for length in range(6):
        staying = 1.0 if length < 2 else 1 - LEAVING[min(length - 2, 3)]
        weights.append(weights[-1] * 2.0 * staying / (min(length + 1, 2) / 0.9))
    served = sum(w * min(n, 2) / 0.9 for n, w in enumerate(weights)) / sum(weights)
    model = desk(open_class(2.0), servers=2, balking={"calls": LEAVING})
    answer = solve(model)
    assert (answer.method, answer.exact) == ("markov-chain", True)
    assert answer["throughput[calls]"] == pytest.approx(served, rel=1e-9)
    assert answer["loss_probability[calls,desk]"] == pytest.approx(1 - served / 2, rel=1e-9)
    present = sum(n * w for n, w in enumerate(weights)) / sum(weights)
    assert answer["queue_length[desk]"] == pytest.approx(present, rel=1e-9)
    assert answer["response_time[calls]"] == pytest.approx(present / served, rel=1e-9)
    assert_agree(solve(model, method="simulation", simulation=RUN), answer)


PLACE = ("calls", "front")
MODELS: Mapping[str, QueueingNetwork] = {
    "joined at any length": desk(open_class(1.4)),
    "a capacity": desk(open_class(1.4), capacity=3),
    "patience": desk(closed_class(4, think_time=1.0), patience={"calls": 0.5}),
    "rates": desk(closed_class(4, think_time=1.0), rates=[1.0, 1.5, 2.0]),
    "last first": desk(open_class(1.0), discipline="lcfs", servers=2),
    "bursts": desk(
        open_class(0.4, burst_arrivals=2.0, burst_time=3.0, quiet_time=5.0),
        balking={"calls": LEAVING},
    ),
    "one of two classes": network(
        {"calls": closed_class(3, think_time=1.0), "jobs": closed_class(2, think_time=2.0)},
        {
            "front": station(service={"calls": 0.3, "jobs": 0.2}, discipline="ps"),
            "desk": station(service={"calls": 1.0, "jobs": 0.7}, balking={"calls": LONG}),
        },
    ),
    "streams that balk differently": network(
        {"calls": open_class(0.5), "jobs": open_class(0.3)},
        {
            "desk": station(
                service={"calls": 0.9, "jobs": 0.9},
                balking={"calls": LEAVING, "jobs": [0.5, 1.0]},
            )
        },
    ),
    "a stream that balks beside one that does not": network(
        {"calls": open_class(1.5), "jobs": open_class(0.4)},
        {"desk": station(service={"calls": 0.9, "jobs": 0.9}, balking={"calls": LEAVING})},
    ),
    "a station behind": network(
        {"calls": open_class(0.8)},
        {
            "desk": station(service={"calls": 0.9}, balking={"calls": LEAVING}),
            "next": station(service={"calls": 0.5}),
        },
    ),
    "class switching": network(
        {},
        {
            "front": station(service={"calls": 0.3}),
            "desk": station(service={"old": 0.9}, balking={"old": LONG}),
        },
        chains={"users": chain(["calls", "old"], closed_class(4, think_time=1.0), PLACE)},
        routing=[route(PLACE, ("old", "desk")), route(("old", "desk"), PLACE)],
    ),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
def test_simulation_has_the_values_of_the_chain(name: str) -> None:
    simulated, exact = (
        solve(MODELS[name], method=method, simulation=RUN)
        for method in ("simulation", "markov-chain")
    )
    if name != "class switching":
        assert_agree(simulated, exact)
        return
    assert simulated["loss_probability[old,desk]"] == pytest.approx(
        exact["loss_probability[old,desk]"], rel=0.03
    )
    assert simulated["throughput[users]"] == pytest.approx(exact["throughput[users]"], rel=0.02)


@pytest.mark.parametrize("name", MODELS)
def test_both_kernels_balk_alike(name: str) -> None:
    check_same(flat_network(NetworkLayout(MODELS[name]), {}).plan, 3000)


@pytest.mark.parametrize("name", ["patience", "rates", "one of two classes"])
def test_the_chain_of_the_activity_has_the_same_numbers_present(name: str) -> None:
    by_network, by_activity = (
        solve(model, method="markov-chain") for model in (MODELS[name], lower_network(MODELS[name]))
    )
    for value in ("queue_length[desk]", "utilization[desk]"):
        assert by_network[value] == pytest.approx(by_activity[value], rel=1e-9)


def test_ends_of_the_probabilities() -> None:
    """Who always balks finds a full station; who never does, a queue without a limit."""
    always, full = (
        desk(open_class(1.4), balking={"calls": [1.0]}),
        desk(open_class(1.4), balking={}, capacity=1),
    )
    never, patient = (desk(open_class(0.8), balking=leaving) for leaving in ({"calls": [0.0]}, {}))
    for with_balking, without in ((always, full), (never, patient)):
        exact = solve(without)
        answer = solve(with_balking)
        for value in ("throughput[calls]", "response_time[calls]", "queue_length[desk]"):
            assert answer[value] == pytest.approx(exact[value], rel=1e-8)


def test_derivatives_of_a_chain_with_balking_are_differences() -> None:
    """Shares add up to 1, and those of service are the differences of two chains."""
    shares = solve(desk(open_class(1.4), balking={"calls": LEAVING})).share["response_time[calls]"]
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-6)
    times = []
    for factor in (0.999, 1.001):
        model = desk(open_class(1.4), service={"calls": 0.9 * factor}, balking={"calls": LEAVING})
        times.append(solve(model)["response_time[calls]"] or 0.0)
    slope = (times[1] - times[0]) / 0.002 / ((times[0] + times[1]) / 2)
    assert shares["stations.desk.service.calls"] == pytest.approx(slope, rel=1e-3)


def test_a_breaker_counts_customers_that_balk_as_failures() -> None:
    lines = station(service={"calls": 1.0}, balking={"calls": LONG})
    breakers = {"guard": guard(["desk"], Breaker(2, Number(3.0, TIME), scv=1.0))}
    calls = {"calls": closed_class(4, think_time=1.0)}
    model = network(calls, {"desk": lines}, breakers=breakers)
    simulated = solve(model, method="simulation", simulation=RUN)
    exact = solve(lower_network(model), method="markov-chain")
    for name in ("open_share[guard]", "refused_share[guard]", "queue_length[desk]"):
        assert simulated[name] == pytest.approx(exact[name], rel=0.03), name


@pytest.mark.parametrize("method", ["exact", "linearizer", "bounds"])
def test_other_methods_refuse_by_name(method: str) -> None:
    with pytest.raises(NoAnswerError, match=r"^calls balk at desk, .* markov-chain or simulation"):
        solve(desk(open_class(0.5)), method=method)


def test_a_load_that_too_few_leave_is_refused() -> None:
    for method in ("markov-chain", "simulation"):
        with pytest.raises(NoAnswerError, match=r"more work\s+arrives|more customers come to desk"):
            solve(desk(open_class(4.0)), method=method, simulation=Simulation(events=20_000))


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        (
            {"balking": {"calls": [0.5, 0.2]}},
            "probabilities of balking do not fall with the queue, and are at most 1, got 0.5, 0.2",
        ),
        ({"balking": {"calls": []}}, "at most 1, got none"),
        ({"discipline": "ps"}, "a station that is ps has no queue at which to balk"),
        (
            {"capacity": 3, "blocking": "repeat"},
            "no method has balking at a station that blocks; leave one of them out",
        ),
        (
            {"capacity": 3, "retries": {"calls": 2}},
            (
                "no method has retries of calls beside balking; write an activity, whose step"
                " attempt has both"
            ),
        ),
        ({"balking": {"jobs": [0.5]}}, "there is no class 'jobs'"),
    ],
)
def test_balking_without_a_meaning_is_refused(traits: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFaultsError) as refusal:
        desk(closed_class(2, think_time=1.0), **traits)
    assert message in str(refusal.value)


def test_customers_that_come_back_at_once_are_refused() -> None:
    for method in ("markov-chain", "simulation"):
        with pytest.raises(NoAnswerError, match=r"give .*a think time"):
            solve(desk(closed_class(2)), method=method)


def test_a_file_has_balking_with_parameters(tmp_path: Path) -> None:
    file = tmp_path / "desk.yaml"
    file.write_text(
        "queueing-network: 1\nclasses: {calls: {arrivals: 2 /s}}\n"
        "parameters: {p: 30 %}\n"
        "stations:\n  desk: {servers: 2, service: {calls: 900 ms},"
        " balking: {calls: [0, p, 2 * p, 1]}}\n"
    )
    model = load(file)
    assert isinstance(model, QueueingNetwork)
    answer = solve(model)
    same = solve(desk(open_class(2.0), servers=2, balking={"calls": LEAVING}))
    assert answer["throughput[calls]"] == pytest.approx(same["throughput[calls]"], rel=1e-9)
    file.write_text(dump(model))
    again = load(file)
    assert isinstance(again, QueueingNetwork)
    assert solve(again)["throughput[calls]"] == pytest.approx(answer["throughput[calls]"])
    with pytest.raises(NoAnswerError, match="calls balk at desk fall with the queue, or are above"):
        solve(again, {"parameters.p": 0.7})
    file.write_text(file.read_text().replace("balking", "balk"))
    with pytest.raises(SpecError, match="balking"):
        load(file)
