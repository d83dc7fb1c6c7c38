"""Stations to which only a part of the arrivals come, because others before them lose customers:
what comes before a loss saturates a station, and what comes behind it is found by the run.
"""

from __future__ import annotations

from math import factorial

import pytest

from slipstick import Simulation, solve
from slipstick.errors import NoAnswerError
from slipstick.model.network import (
    NetworkStation,
    QueueingNetwork,
    chain,
    network,
    open_class,
    route,
    station,
)

SETTINGS = Simulation(seed=3, events=60_000)


def operators(after: float, order: tuple[str, ...] = ("operators", "survey")) -> QueueingNetwork:
    """Make five operators with ten places, who get six calls a minute, and a survey of half."""
    stations = {
        "operators": station(service={"calls": 90.0}, servers=5, capacity=10),
        "survey": station(service={"calls": after}, visits={"calls": 0.5}),
    }
    return network({"calls": open_class(0.1)}, {name: stations[name] for name in order})


def routed(after: float, first: str) -> QueueingNetwork:
    """Make callers who change their class between a full station and another one."""
    places = {"full": ("new", "full"), "other": ("old", "other")}
    last = next(name for name in places if name != first)
    stations = {
        "full": station(service={"new": 1.0}, capacity=2),
        "other": station(service={"old": after}),
    }
    routes = [route(places[first], places[last]), route(places[last], None)]
    visits = chain(["new", "old"], open_class(2.0), places[first])
    return network({}, stations, chains={"callers": visits}, routing=routes)


def impatient(second: NetworkStation) -> QueueingNetwork:
    first = station(service={"calls": 1.0}, patience={"calls": 0.5})
    return network({"calls": open_class(2.0)}, {"first": first, "second": second})


@pytest.mark.turns(6)
def test_a_station_behind_losses_is_not_refused_for_what_never_comes() -> None:
    """Six calls a minute would keep the survey busy for 1.5 s of a second; M/M/5/10 serves 3.3."""
    chained = solve(operators(30.0), method="markov-chain")
    simulated = solve(operators(30.0), method="simulation", simulation=SETTINGS)
    erlangs = 9.0
    weights = [erlangs**n / factorial(min(n, 5)) / 5 ** max(n - 5, 0) for n in range(11)]
    load = 0.1 * (1 - weights[10] / sum(weights)) * 0.5 * 30.0
    assert chained["utilization[survey]"] == pytest.approx(load, rel=1e-6)
    assert simulated["utilization[survey]"] == pytest.approx(load, rel=0.03)
    assert solve(operators(30.0), simulation=SETTINGS).method == "markov-chain"


@pytest.mark.turns(4)
def test_routes_behind_losses() -> None:
    """Of two a second, M/M/1/2 serves 6 / 7."""
    for method in ("markov-chain", "simulation"):
        answer = solve(routed(0.9, "full"), method=method, simulation=SETTINGS)
        assert answer["utilization[other]"] == pytest.approx(0.9 * 6 / 7, rel=0.03)


def test_classes_that_wait_lower_what_comes_behind() -> None:
    answer = solve(impatient(station(service={"calls": 0.8})), simulation=SETTINGS)
    served = 2.0 * (1 - (answer["abandonment[calls,first]"] or 0.0))
    assert answer["utilization[second]"] == pytest.approx(0.8 * served, rel=0.03)


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "model",
    [operators(70.0), routed(1.9, "full"), impatient(station(service={"calls": 1.9}))],
    ids=["full", "routed", "impatient"],
)
def test_a_queue_that_grows_behind_losses_is_refused_by_the_run(model: QueueingNetwork) -> None:
    with pytest.raises(NoAnswerError) as raised:
        solve(model, method="simulation", simulation=SETTINGS)
    name = [*model.stations][-1]
    message = str(raised.value)
    assert message.startswith(f"more customers come to {name} than leave it: ")
    assert message.endswith(
        " s that were simulated; lower the arrivals, shorten the service, or add servers; no other"
        " method has an answer here"
    )


@pytest.mark.parametrize(
    ("model", "name"),
    [(operators(30.0, ("survey", "operators")), "survey"), (routed(0.9, "other"), "other")],
    ids=["in a row", "routed"],
)
def test_a_station_before_losses_is_refused_at_once(model: QueueingNetwork, name: str) -> None:
    for method in ("simulation", "markov-chain"):
        with pytest.raises(NoAnswerError) as raised:
            solve(model, method=method)
        assert str(raised.value).startswith(f"station {name} is saturated: arrivals need 1.")


def test_throughput_counts_whom_the_first_station_serves() -> None:
    """By Burke's theorem the queue in front leaves the arrivals of M/M/1/3 Poisson."""
    quick, full = station(service={"calls": 0.2}), station(service={"calls": 1.0}, capacity=3)
    lost = 0.9**3 * (1 - 0.9) / (1 - 0.9**4)
    for stations, served in (
        ({"full": full, "quick": quick}, 0.9 * (1 - lost)),
        ({"quick": quick, "full": full}, 0.9),
    ):
        answer = solve(network({"calls": open_class(0.9)}, stations), method="markov-chain")
        assert answer["throughput[calls]"] == pytest.approx(served, rel=1e-5)
        assert answer["loss_probability[calls,full]"] == pytest.approx(lost, rel=1e-5)
    first = station(service={"calls": 0.2})
    waits = station(service={"calls": 1.0}, patience={"calls": 0.5})
    for stations, is_counted in (
        ({"quick": first, "waits": waits}, True),
        ({"waits": waits, "quick": first}, False),
    ):
        answer = solve(network({"calls": open_class(0.9)}, stations), method="markov-chain")
        abandoned = answer["abandonment[calls,waits]"] or 0.0
        served = 0.9 * (1 if is_counted else 1 - abandoned)
        assert answer["throughput[calls]"] == pytest.approx(served, rel=1e-5)
        assert abandoned > 0.2
