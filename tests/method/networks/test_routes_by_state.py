"""Routes that the state selects, in networks and in activities: against exact results, and against
a small simulation of its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick import Answer, Simulation, load, solve
from slipstick.errors import ModelFaultsError, NoAnswerError, SpecError
from slipstick.expression.nodes import RATE, Parameter
from slipstick.model.activity import attempt, pick, service
from slipstick.model.network import (
    QueueingNetwork,
    chain,
    network,
    open_class,
    route,
    station,
)
from slipstick.model.system import ArrivalPattern, Model, Station, open_model
from slipstick.sim.estimate import Estimate
from slipstick.vocabulary import BOUNDS, LEAST_WORK, MARKOV_CHAIN, ROUTES, SIMULATION
from slipstick_compiled.kernel import AVAILABLE

CYCLES = 300_000 if AVAILABLE else 20_000
SETTINGS = Simulation(seed=5, cycles=CYCLES, level=0.999)


def routed(by: str, rate: float = 1.4, scv: float = 1.0, **traits: object) -> QueueingNetwork:
    """Return a network of an entrance and two equal stations after it, one job a second each."""
    stations = {
        name: station(service={"jobs": 1.0}, scv={"jobs": scv}, **traits)  # type: ignore[arg-type]
        for name in ("left", "right")
    }
    stations["entry"] = station(service={"jobs": 0.0}, discipline="is")
    return network(
        {},
        stations,
        chains={"users": chain(["jobs"], open_class(rate), ("jobs", "entry"))},
        routing=[
            *(route(("jobs", "entry"), ("jobs", name), by=by) for name in ("left", "right")),
            *(route(("jobs", name), None) for name in ("left", "right")),
        ],
    )


def picked(by: str, rate: float = 1.4, scv: float = 1.0, arrivals_scv: float = 1.0) -> Model:
    """Return the activity that means the same."""
    left, right = (service(name, 1.0, scv=scv) for name in ("left", "right"))
    pattern = ArrivalPattern(arrivals_scv)
    return open_model(pick(left, right, by=by), Parameter("rate", RATE, rate), pattern=pattern)


def simulated(model: QueueingNetwork | Model) -> Answer:
    return solve(model, method=SIMULATION, simulation=SETTINGS)


def time_of(answer: Answer) -> Estimate:
    value = answer.values.get("response_time[users]") or answer.values["time"]
    assert value.value is not None
    assert value.low is not None
    assert value.high is not None
    return Estimate(value.value, value.low, value.high)


def holds(estimate: Estimate, truth: float) -> bool:
    assert estimate.half_width < 0.05 * truth
    return abs(estimate.mean - truth) <= estimate.half_width


@pytest.mark.turns(4)
@pytest.mark.parametrize("rate", [0.8, 1.4])
@pytest.mark.parametrize("of", [routed, picked])
def test_least_work_at_two_first_come_stations_is_one_queue_of_two_servers(
    of: type[Model], rate: float
) -> None:
    """Each customer begins where a server is free first, as with one queue: M/M/2, whose response
    time is 1 / (1 - (rate / 2)^2) for a service of 1 s.
    """
    answer = simulated(of(LEAST_WORK, rate))  # type: ignore[arg-type]
    assert holds(time_of(answer), 1 / (1 - (rate / 2) ** 2))


def times_of_least_work(rate: float, scv: float, customers: int) -> float:
    """Simulate the work left at two stations that customers join by it; return the mean response
    time. Times are drawn by another generator, and nothing is shared with the simulator.
    """
    random = np.random.default_rng(2026)
    shape = 1 / scv
    services = random.gamma(shape, scv, customers)
    work_left = [0.0, 0.0]
    total = 0.0
    for between, work in zip(random.exponential(1 / rate, customers), services, strict=True):
        work_left = [max(0.0, left - between) for left in work_left]
        shorter = work_left.index(min(work_left))
        work_left[shorter] += work
        total += work_left[shorter]
    return total / customers


@pytest.mark.turns(6)
@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_least_work_is_that_of_a_simulation_by_the_work_left(scv: float) -> None:
    truth = times_of_least_work(1.4, scv, 400_000)
    found = time_of(simulated(routed(LEAST_WORK, scv=scv)))
    # Gamma times of this scv in both; the second road is a run of its own, as precise.
    assert abs(found.mean - truth) < 2 * found.half_width + 0.02 * truth


@pytest.mark.turns(4)
def test_equal_constant_services_at_regular_arrivals_never_wait() -> None:
    """Least work takes turns then, at three quarters of what both can do."""
    turns, least = (simulated(picked(by, 1.5, 0.0, 0.0)) for by in ("in-turn", LEAST_WORK))
    assert time_of(turns).mean == time_of(least).mean == 1.0


@pytest.mark.turns(4)
def test_one_station_to_select_from_is_no_selection() -> None:
    visits = [service("desk", 1.0, name=name, scv=1.0) for name in ("one", "two")]
    rate = Parameter("rate", RATE, 0.5)
    found = simulated(open_model(pick(*visits, by=LEAST_WORK), rate))
    assert holds(time_of(found), 2.0)


@pytest.mark.turns(4)
def test_work_of_several_servers_counts_for_each_of_them() -> None:
    """A station of two servers has half of the work for each: it is taken until two are there."""
    options = [service(name, 1.0, scv=0.0) for name in ("pair", "single")]
    rate = Parameter("rate", RATE, 2.5)
    pattern = ArrivalPattern(0.0)
    resources = {"pair": Station(2), "single": Station(1)}
    model = open_model(pick(*options, by=LEAST_WORK), rate, resources=resources, pattern=pattern)
    found = simulated(model)
    both = [found[f"utilization[{name}]"] for name in ("pair", "single")]
    assert sum((both[0] or 0.0, both[0] or 0.0, both[1] or 0.0)) == pytest.approx(2.5, rel=1e-3)
    assert min(both) > 0.7  # type: ignore[type-var, operator]


@pytest.mark.turns(4)
def test_work_of_customers_that_left_the_queue_is_no_longer_there() -> None:
    """Without patience for any wait, all that find both busy leave: Erlang's loss of two
    servers.
    """
    load = 1.4
    visits = [attempt(service(name, 1.0, scv=1.0), patience=1e-7) for name in ("left", "right")]
    found = simulated(open_model(pick(*visits, by=LEAST_WORK), Parameter("rate", RATE, load)))
    loss = load**2 / 2 / (1 + load + load**2 / 2)
    lost = sum(found[f"abandonment[{name}]"] or 0.0 for name in ("left", "right")) / 2
    assert lost == pytest.approx(loss, rel=0.03)


@pytest.mark.turns(3)
@pytest.mark.parametrize("by", ROUTES)
def test_a_network_and_an_activity_select_alike_in_both_kernels(by: str) -> None:
    """The two are one program: equal numbers to the last digit with equal streams are not asked,
    for the streams have names; their intervals overlap.
    """
    answers = [
        solve(
            routed(by), method=SIMULATION, simulation=Simulation(seed=4, events=8_000, kernel=name)
        )
        for name in ("plain", "compiled")
    ]
    assert answers[0].values == answers[1].values
    of_network, of_activity = (time_of(simulated(of(by))) for of in (routed, picked))
    reach = of_network.half_width + of_activity.half_width
    assert abs(of_network.mean - of_activity.mean) <= reach


@pytest.mark.turns(4)
def test_shortest_queues_of_a_network_are_those_of_the_chain_of_an_activity() -> None:
    """With capacities, of which the chain is finite: two stations of two places each."""
    found = simulated(routed("shortest", capacity=2))
    # States are the numbers at both; an arrival joins the shorter, and is lost where both are full.
    states = [(left, right) for left in range(3) for right in range(3)]
    rates = np.zeros((9, 9))
    for number, (left, right) in enumerate(states):
        if min(left, right) < 2:
            shorter = [0, 1] if left == right else [0 if left < right else 1]
            for place in shorter:
                after = (left + (place == 0), right + (place == 1))
                rates[number, states.index(after)] += 1.4 / len(shorter)
        for place, present in enumerate((left, right)):
            if present:
                after = (left - (place == 0), right - (place == 1))
                rates[number, states.index(after)] += 1.0
    balance = rates.T - np.diag(rates.sum(axis=1))
    balance[0] = 1.0
    chances = np.linalg.solve(balance, np.eye(9)[0])
    mean = sum(chance * left for chance, (left, _) in zip(chances, states, strict=True))
    value = found.values["queue_length[left]"]
    assert value.value is not None
    assert value.low is not None
    assert value.low <= mean <= (value.high or 0.0)


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", ["exact", "linearizer", MARKOV_CHAIN, BOUNDS])
def test_other_methods_refuse_routes_by_state_by_name(method: str) -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve(routed("shortest"), method=method)
    assert str(caught.value) == (
        f"{method} cannot solve routes that depend on queues (branches that are chosen by the"
        " number of customers at their resources); simulation can"
    )
    assert solve(routed("shortest"), simulation=Simulation(events=2_000)).method == SIMULATION


def test_a_stream_that_both_stations_together_cannot_serve_is_refused() -> None:
    with pytest.raises(NoAnswerError, match="users arrive faster than they leave"):
        solve(routed(LEAST_WORK, 2.5), method=SIMULATION, simulation=Simulation(events=100_000))


def test_mistakes_are_named() -> None:
    def words(*routes: object, **traits: object) -> list[str]:
        model = routed("shortest")
        stations = {**model.stations}
        for name, trait in traits.items():
            stations[name] = trait  # type: ignore[assignment]
        with pytest.raises(ModelFaultsError) as caught:
            network({}, stations, chains=model.chains, routing=routes)  # type: ignore[arg-type]
        return [fault.message for fault in caught.value.faults]

    left, right, entry = (("jobs", name) for name in ("left", "right", "entry"))
    ends = [route(left, None), route(right, None)]
    mixed = [route(entry, left, by="shortest"), route(entry, right, by="in-turn"), *ends]
    assert words(*mixed) == [
        "the routes out of entry as jobs are selected by shortest and in-turn; give one"
    ]
    halves = [route(entry, place, 0.5, by="shortest") for place in (left, right)]
    assert words(*halves, *ends) == ["a route by shortest has no probability; leave it out"] * 2
    out = [route(entry, left, by="shortest"), route(entry, None, by="shortest"), route(left, None)]
    assert "a route by shortest out of entry as jobs leads to a station, not out" in words(*out)
    by_work = [route(entry, place, by=LEAST_WORK) for place in (left, right)]
    with_rates = station(service={"jobs": 1.0}, rates=[1.0, 2.0])
    assert words(*by_work, *ends, left=with_rates) == [
        "a route by least-work out of entry as jobs needs servers of one speed, and left has rates"
    ]
    wide = station(service={"jobs": 1.0}, discipline="is")
    (text,) = words(*by_work, *ends, left=wide)
    assert text == (
        "a route by least-work out of entry as jobs compares numbers of customers, and at left none"
        " waits"
    )


FILE = (
    "queueing-network: 1\n"
    "chains: {users: {classes: [jobs], arrivals: 1.4 /s, reference: [jobs, entry]}}\n"
    "stations:\n"
    "  entry: {discipline: is, service: {jobs: 0 s}}\n"
    "  left: {service: {jobs: 1 s}}\n"
    "  right: {service: {jobs: 1 s}}\n"
    "routing:\n"
    "- {from: [jobs, entry], to: [jobs, left], by: least-work}\n"
    "- {from: [jobs, entry], to: [jobs, right], by: least-work}\n"
    "- {from: [jobs, left], to: out, probability: 1}\n"
    "- {from: [jobs, right], to: out, probability: 1}\n"
)


@pytest.mark.turns(4)
def test_files_say_it_by_one_word(tmp_path: Path) -> None:
    file = tmp_path / "routed.yaml"
    file.write_text(FILE)
    model = load(str(file))
    assert isinstance(model, QueueingNetwork)
    assert [each.by for each in model.routing] == [LEAST_WORK, LEAST_WORK, "", ""]
    assert holds(time_of(simulated(model)), 1 / (1 - 0.49))


@pytest.mark.parametrize("key", ["", ", probability: 0.5, by: shortest"])
def test_files_say_one_of_probability_and_rule(tmp_path: Path, key: str) -> None:
    file = tmp_path / "routed.yaml"
    file.write_text(FILE.replace(", by: least-work", key))
    with pytest.raises(SpecError, match="give a route its probability, or by: a rule"):
        load(str(file))
