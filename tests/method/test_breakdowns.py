"""Stations that break down: as a network, as an activity, and by the formula of White and
Christie.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import Answer, Simulation, dump, load, solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.law import LAWS
from slipstick.method.names import names_of
from slipstick.model.activity import delay, service
from slipstick.model.network import QueueingNetwork, closed_class, network, open_class, station
from slipstick.model.system import Model, Station, closed_model
from slipstick.vocabulary import LINEARIZER, MARKOV_CHAIN, SCHWEITZER, SIMULATION
from slipstick_chains.breakdowns import Breakdown, model_with_breakdowns, network_with_breakdowns

FAILURES = "breakdowns_disk"


def breakdown(every: float = 20.0, repair: float = 5.0) -> dict[str, Breakdown]:
    return {"disk": Breakdown(Parameter("every", TIME, every), Parameter("repair", TIME, repair))}


def value_of(answer: Answer, name: str) -> float:
    value = answer[name]
    assert value is not None
    return value


def closed(servers: int = 1) -> QueueingNetwork:
    disk = station(service={"jobs": 1.0}, servers=servers)
    return network({"jobs": closed_class(3, think_time=4.0)}, {"disk": disk})


def workers(servers: int = 1) -> Model:
    cycle = delay(4.0, name="away", scv=1.0, think=True) >> service("disk", 1.0, scv=1.0)
    return closed_model(cycle, 3, resources={"disk": Station(servers)})


@pytest.mark.parametrize(("arrivals", "every", "repair"), [(0.5, 20.0, 5.0), (0.2, 3.0, 1.0)])
def test_the_chain_of_one_queue_is_the_law(arrivals: float, every: float, repair: float) -> None:
    queue = network({"jobs": open_class(arrivals)}, {"disk": station(service={"jobs": 1.0})})
    answer = solve(network_with_breakdowns(queue, breakdown(every, repair)), method=MARKOV_CHAIN)
    law = LAWS["mm1-breakdown-response-time"]
    by_law = law(service=1.0, arrivals=arrivals, failures=every, repair=repair)
    assert answer["response_time[jobs]"] == pytest.approx(by_law, rel=1e-6)


def test_a_network_and_an_activity_break_down_alike() -> None:
    arrays = solve(network_with_breakdowns(closed(), breakdown()), method=MARKOV_CHAIN)
    positions = solve(model_with_breakdowns(workers(), breakdown()), method=MARKOV_CHAIN)
    served = value_of(positions, "response_time[processors]")
    assert served == pytest.approx(value_of(arrays, "response_time[jobs]"), rel=1e-9)
    lost = value_of(arrays, f"utilization[{FAILURES},disk]")
    assert value_of(positions, "amount[availability_disk]") == pytest.approx(1 - lost, rel=1e-9)
    assert value_of(arrays, "amount[availability_disk]") == 0.8


def test_each_of_two_servers_fails_by_itself() -> None:
    model = network_with_breakdowns(closed(servers=2), breakdown())
    chain = solve(model, method=MARKOV_CHAIN)
    assert value_of(chain, f"utilization[{FAILURES},disk]") == pytest.approx(0.2, rel=1e-6)
    settings = Simulation(seed=3, events=60_000)
    activity = model_with_breakdowns(workers(servers=2), breakdown())
    by_simulation = {
        "response_time[jobs]": solve(model, method=SIMULATION, simulation=settings),
        "response_time[processors]": solve(activity, method=SIMULATION, simulation=settings),
    }
    for name, simulated in by_simulation.items():
        estimate = simulated.values[name]
        assert estimate.value is not None
        assert estimate.high is not None
        reach = 3 * (estimate.high - estimate.value)
        assert abs(estimate.value - value_of(chain, "response_time[jobs]")) <= reach


def test_repairs_of_no_length_change_nothing() -> None:
    instant = breakdown(repair=1e-9)
    broken = solve(network_with_breakdowns(closed(), instant), method=MARKOV_CHAIN)
    whole = solve(closed(), method=MARKOV_CHAIN)
    assert broken["response_time[jobs]"] == pytest.approx(whole["response_time[jobs]"], rel=1e-6)


NETWORK = """
queueing-network: 1
classes: {high: {arrivals: 0.2 /s}, low: {arrivals: 0.1 /s}}
stations:
  disk:
    discipline: priority-preemptive
    priority: {high: 0, low: 1}
    service: {high: 1 s, low: 2 s}
    breakdown: {every: 20 s, repair: 5 s}
"""
ACTIVITY = """
activity: 1
population: {processors: 2}
resources: {disk: {count: 2, breakdown: {every: 20 s, repair: 5 s}}}
cycle: [{name: away, delay: 4 s, scv: 1}, {service: disk, time: 1 s, scv: 1}]
"""


def test_files_are_read_and_written(tmp_path: Path) -> None:
    for text in (NETWORK, ACTIVITY):
        path = tmp_path / "broken.yaml"
        path.write_text(text)
        model = load(path)
        assert isinstance(model, Model | QueueingNetwork)
        # Written out, a failure is a class or a group of its own.
        path.write_text(written := dump(model))
        again = load(path)
        assert isinstance(again, Model | QueueingNetwork)
        assert dump(again) == written
    assert isinstance(model, Model)
    assert [group.name for group in model.population.groups] == [
        *("processors", "breakdowns_disk_0", "breakdowns_disk_1")
    ]
    assert {"resources.disk.breakdown.every", "resources.disk.breakdown.repair"} <= {
        *model.parameters
    }


def test_ranks_stay_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(NETWORK)
    model = load(path)
    assert isinstance(model, QueueingNetwork)
    assert model.stations["disk"].priority == {"high": 1, "low": 2, FAILURES: 0}


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (
            NETWORK,
            "breakdown:",
            "capacity: 3\n    breakdown:",
            (
                "disk cannot break down with a capacity: a server in repair would count among the "
                "customers"
            ),
        ),
        (
            ACTIVITY,
            "every: 20 s",
            "every: 0 s",
            "4:49: resources.disk.breakdown.every: must be more than 0 s, got 0 s",
        ),
    ],
)
def test_what_cannot_break_down_is_refused_where_it_stands(
    tmp_path: Path, text: str, old: str, new: str, words: str
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(SpecError) as refused:
        load(path)
    assert words in str(refused.value)


@pytest.mark.parametrize("method", [LINEARIZER, SCHWEITZER])
def test_approximations_refuse_repairs_by_name(method: str) -> None:
    words = (
        "breakdowns_disk takes servers of disk from all others, as a breakdown does; approximate"
        " response times had errors of up to 280 % there (95th percentile); ask for markov-chain"
        " or simulation"
    )
    for model in (closed(), closed(servers=2)):
        with pytest.raises(NoAnswerError) as refused:
            solve(network_with_breakdowns(model, breakdown()), method=method)
        assert words in str(refused.value)


def test_more_customers_of_the_first_rank_than_servers_are_approximated() -> None:
    first, second = closed_class(2, think_time=5.0), closed_class(2, think_time=5.0)
    disk = station(
        service={"first": 1.0, "second": 1.0},
        discipline="priority-preemptive",
        priority={"first": 0, "second": 1},
    )
    answer = solve(network({"first": first, "second": second}, {"disk": disk}), method=LINEARIZER)
    assert not answer.exact


def test_a_queue_that_repairs_overload_is_saturated() -> None:
    """0.9 of the time is asked for, and the disk is there for 0.8 of it."""
    queue = network({"jobs": open_class(0.9)}, {"disk": station(service={"jobs": 1.0})})
    model = network_with_breakdowns(queue, breakdown())
    with pytest.raises(NoAnswerError, match=r"jobs arrive faster than they leave: 0.9 in a second"):
        solve(model, method="simulation", simulation=Simulation(seed=1, events=200_000))


@pytest.mark.parametrize("method", ["best", "bounds"])
def test_failures_are_no_population_that_saturates(method: str) -> None:
    broken = network_with_breakdowns(closed(), breakdown())
    populations = [
        name for name in solve(broken, method=method).values if name.startswith("saturation")
    ]
    assert populations == ["saturation_population[jobs]"]
    assert f"saturation_population[{FAILURES}]" not in names_of(broken, method)
