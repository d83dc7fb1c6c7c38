"""Permits, a counted resource held over a body, by every method: against theory, a lock, and
simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from slipstick import (
    Lock,
    Model,
    Permits,
    Simulation,
    Station,
    barrier,
    choose,
    closed_model,
    delay,
    dump,
    fork,
    hold,
    load,
    open_model,
    repeat,
    service,
    solve,
)
from slipstick.errors import ModelError, NoAnswerError
from slipstick.model.system import ClosedPopulation, Resource
from slipstick.queueing.markov_chain import stationary
from slipstick_compiled.kernel import AVAILABLE
from slipstick_mean_value.form import MeanValue
from tests.bounds import bounds
from tests.queueing.markov.by_hand import explore_states

ROOT = Path(__file__).parents[2]

EXACT = Simulation(seed=1, precision=0.01, kernel="compiled" if AVAILABLE else "plain")


def around_a_delay(pool: Resource, processors: int = 8) -> Model:
    cycle = delay(4.0, name="think", scv=1) >> hold("pool", delay(3.0, name="inside", scv=1))
    return closed_model(cycle, processors, resources={"pool": pool})


def around_stations(pool: Resource, processors: int = 10) -> Model:
    body = service("cpu", 0.5, scv=1) >> delay(1.0, name="io", scv=1) >> service("disk", 0.6, scv=1)
    cycle = delay(4.0, name="think", scv=1) >> hold("pool", body)
    return closed_model(
        cycle, processors, resources={"pool": pool, "cpu": Station(2), "disk": Station()}
    )


def without_permits(model: Model) -> Model:
    """Leave the hold out: its body follows the thinking directly."""
    population = model.population
    assert isinstance(population, ClosedPopulation)
    think, held = population.first.cycle.children
    return closed_model(think >> held.children[0], population.size, resources=model.resources)


def machine_repair(population: int, servers: int, think: float, work: float) -> float:
    """Return the mean cycle of M/M/c//N with exponential times, by its birth-and-death
    equations.
    """
    weights = [1.0]
    for j in range(1, population + 1):
        weights.append(weights[-1] * (population - j + 1) / think * work / min(j, servers))
    thinking = sum((population - j) * weight for j, weight in enumerate(weights)) / sum(weights)
    return population / (thinking / think)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 20])
def test_permits_around_a_delay_are_machine_repair(number: int) -> None:
    truth = machine_repair(8, number, 4.0, 3.0)
    answer = solve(around_a_delay(Permits(number)), method="mean-value")
    assert answer.exact
    assert answer["time"] == pytest.approx(truth, rel=1e-9)
    assert answer["utilization[pool]"] == pytest.approx(8 * 3.0 / truth / number, rel=1e-9)
    assert answer["wait[pool]"] == pytest.approx(truth - 7.0, abs=1e-9)
    seen = solve(around_a_delay(Permits(number)), method="simulation", simulation=EXACT).values[
        "time"
    ]
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low <= truth <= seen.high


@pytest.mark.turns(4)
@pytest.mark.parametrize("make", [around_a_delay, around_stations])
def test_one_permit_is_a_lock(make: type) -> None:
    permit, lock = make(Permits(1)), make(Lock())
    for method in ("closed-form", "mean-value", "simulation"):
        one, other = (solve(each, method=method, simulation=EXACT) for each in (permit, lock))
        assert one["time"] == other["time"]
        waited = {
            name.replace("lock:", "wait:"): seconds for name, seconds in other.account.items()
        }
        assert dict(one.account) == waited
        assert one.find("wait[pool]") == other.find("wait[pool]")
    assert bounds(permit).values == bounds(lock).values


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [10, 1000])
def test_as_many_permits_as_processors_are_never_waited_for(number: int) -> None:
    """Without permits mean value is exact here, in product form; with them it is its
    approximation of two servers.
    """
    model = around_stations(Permits(number))
    for method, error in (("closed-form", 1e-12), ("mean-value", 1e-3), ("simulation", 1e-12)):
        with_permits, without = (
            solve(each, method=method, simulation=EXACT) for each in (model, without_permits(model))
        )
        assert with_permits["time"] == pytest.approx(without["time"], rel=error)
        assert (with_permits.find("wait[pool]") or 0.0) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_mean_value_is_near_simulation_where_the_body_waits_as_well(number: int) -> None:
    """Measured: +0.4, -0.7, -0.5 and +0.4 %."""
    model = around_stations(Permits(number))
    found, seen = (
        solve(model, method=method, simulation=EXACT) for method in ("mean-value", "simulation")
    )
    assert found["time"] == pytest.approx(seen["time"], rel=0.01)
    assert any(note.startswith("permits pool are modelled as a queue") for note in found.notes)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("permits", "servers"), [(4, 2), (2, 2), (2, 3), (5, 1), (3, 8)])
def test_permits_around_one_station_limit_its_servers(permits: int, servers: int) -> None:
    """Exact: whoever waits for a permit or for a server is served in the same order."""
    think, serve = delay(4.0, name="think", scv=1), service("station", 1.0, scv=1)
    resources: dict[str, Resource] = {"pool": Permits(permits), "station": Station(servers)}
    held = MeanValue(closed_model(think >> hold("pool", serve), 20, resources=resources))
    plain = MeanValue(
        closed_model(think >> serve, 20, resources={"station": Station(min(permits, servers))})
    )
    assert held.times({})[0] == pytest.approx(plain.times({})[0], rel=1e-9)


@pytest.mark.parametrize("processors", [1, 2, 5, 10])
def test_permits_that_are_never_waited_for_leave_product_form(processors: int) -> None:
    """Norton's theorem: the stations within, seen from outside, are one whose rate depends on
    the number there.
    """
    body = service("cpu", 0.5, scv=1) >> delay(1.0, name="io") >> service("disk", 0.6, scv=1)
    think = delay(4.0, name="think", scv=1)
    stations: dict[str, Resource] = {"cpu": Station(), "disk": Station(discipline="ps")}
    held = solve(
        closed_model(
            think >> hold("pool", body), processors, resources={"pool": Permits(10), **stations}
        ),
        method="mean-value",
    )
    plain = solve(closed_model(think >> body, processors, resources=stations), method="mean-value")
    assert plain.exact
    for name in ("time", "wait[cpu]", "wait[disk]", "utilization[disk]"):
        assert held.find(name) == pytest.approx(plain.find(name), rel=1e-9, abs=1e-12)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [2, 4, 8])
def test_permits_of_two_places_are_near_simulation(number: int) -> None:
    """Measured: +0.4, +0.3 and +0.2 %."""
    think, cpu = delay(4.0, name="think", scv=1), service("cpu", 0.5, scv=1)
    disk = service("disk", 0.6, scv=1) >> delay(1.0, name="io", scv=1)
    resources: dict[str, Resource] = {"pool": Permits(number), "cpu": Station(), "disk": Station()}
    often = choose((0.7, hold("pool", cpu)), (0.3, repeat(2, hold("pool", disk))))
    model = closed_model(think >> often, 12, resources=resources)
    found, seen = (
        solve(model, method=method, simulation=EXACT) for method in ("mean-value", "simulation")
    )
    assert found["time"] == pytest.approx(seen["time"], rel=0.01)


@pytest.mark.turns(4)
def test_derivatives_of_layered_permits_are_those_of_differences() -> None:
    model = load("layered-service")
    assert isinstance(model, Model)
    form, names = MeanValue(model), ["cycle.think.delay", "cycle.1.body.1.body.query.time"]
    gradient = form.points({}).answer(0).gradient["time"]
    for name in names:
        at = form.tape.parameters[name].value
        assert at is not None
        low, high = (float(form.times({name: at * (1 + step)})[0]) for step in (-1e-5, 1e-5))
        assert gradient[name] == pytest.approx((high - low) / (2e-5 * at), rel=1e-6)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [1, 2, 4, 16])
def test_permits_before_a_barrier_are_near_simulation(number: int) -> None:
    """Measured: -0.7, -0.6, -3.2 and -3 %."""
    cycle = (
        delay(4.0, name="think", scv=1)
        >> hold("pool", delay(3.0, name="inside", scv=1))
        >> barrier("end")
    )
    model = closed_model(cycle, 8, resources={"pool": Permits(number)})
    found, seen = (
        solve(model, method=method, simulation=EXACT) for method in ("mean-value", "simulation")
    )
    assert found["time"] == pytest.approx(seen["time"], rel=0.05)


def test_at_most_so_many_holders_bound_the_throughput() -> None:
    found = bounds(around_a_delay(Permits(3), 80)).values["throughput"]
    assert found.high == pytest.approx(3 / 3.0)
    seen = solve(around_a_delay(Permits(3), 80), method="simulation", simulation=EXACT).values[
        "throughput"
    ]
    assert seen.low is not None
    assert found.high is not None
    assert seen.low <= found.high


def test_an_open_stream_of_holders_is_a_station_of_several_servers() -> None:
    cycle = hold("pool", delay(0.8, name="inside", scv=1))
    model = open_model(cycle, 3.0, resources={"pool": Permits(4)})
    station = open_model(service("pool", 0.8, scv=1), 3.0, resources={"pool": Station(4)})
    assert solve(model, method="mean-value")["time"] == pytest.approx(
        solve(station, method="mean-value")["time"]
    )
    with pytest.raises(NoAnswerError, match="permits pool is saturated"):
        solve(open_model(cycle, 6.0, resources={"pool": Permits(4)}), method="mean-value")


def test_the_closed_form_leaves_the_wait_out_and_says_so() -> None:
    answer = solve(around_a_delay(Permits(3)), method="closed-form")
    assert answer["time"] == 7.0
    assert any("leaves out waiting for pool" in note for note in answer.notes)
    assert solve(around_a_delay(Permits(8)), method="closed-form").exact


def test_branches_that_hold_what_each_other_wants_are_a_deadlock() -> None:
    one, two = (
        hold(a, delay(1.0, name=f"with-{a}") >> hold(b, delay(1.0, name="both")))
        for a, b in ("ab", "ba")
    )
    resources = {"a": Permits(1), "b": Permits(1)}
    with pytest.raises(NoAnswerError, match="processor 0 waits for permits b, held by processor 0"):
        solve(closed_model(fork(one, two), 1, resources=resources), method="simulation")


def test_a_file_says_permits() -> None:
    model = around_stations(Permits(4))
    written = dump(model)
    assert "pool: {permits: 4}" in written
    tour = load("activity/tour")
    assert isinstance(tour, Model)
    assert tour.resources["connections"] == Permits(4)


def thinking(
    transitions: Callable[[Any], Iterator[tuple[Any, float]]],
    users: int,
    inside: Callable[[Any], int],
) -> float:
    """Return the mean number of users that think, from the chain of those inside; nobody is inside
    at the start.
    """
    chain = explore_states((0, 0, 0), transitions)
    return float(stationary(chain) @ np.array([users - inside(state) for state in chain.states]))


@cache
def pages_a_second(threads: int, connections: int) -> float:
    """Solve the chain of twenty users, of whom some are inside and some of those at the database
    or before it.
    """

    def transitions(state: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], float]]:
        users, asking, _ = state
        yield from [((users + 1, asking, 0), (20 - users) / 1.0)] * (users < 20)
        yield from [((users, asking + 1, 0), 1 / 0.05)] * (asking < min(users, threads))
        yield from [((users - 1, asking - 1, 0), min(asking, connections, 2) / 0.12)] * (asking > 0)

    return thinking(transitions, 20, lambda state: state[0]) / 1.0


def held_in_tandem(permits: int) -> float:
    """Solve the chain of twenty users who hold a permit over a processor and a disc: inside or
    before it, at the processor, at the disc.
    """

    def transitions(state: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], float]]:
        users, first, second = state
        yield from [((users + 1, first + (users < permits), second), (20 - users) / 1.0)] * (
            users < 20
        )
        yield from [((users, first - 1, second + 1), 1 / 0.05)] * (first > 0)
        yield from [((users - 1, first + (users > permits), second - 1), 1 / 0.08)] * (second > 0)

    return thinking(transitions, 20, lambda state: state[0]) / 1.0


@pytest.mark.turns(4)
def test_mean_value_of_layers_is_near_their_chains() -> None:
    """Measured: 0, +0.2, +0.5 and +0.2 % over two stations; +0.1, +1.4, +0.1 and -0.4 % over two
    layers.
    """
    think, page, query = (
        delay(1.0, name="think", scv=1),
        service("cpu", 0.05, scv=1),
        service("disc", 0.08, scv=1),
    )
    printed = {1: 7.692237, 2: 10.067165, 4: 11.594090, 8: 12.058951}
    for number, rate in printed.items():
        assert held_in_tandem(number) == pytest.approx(rate, abs=5e-7)
        resources: dict[str, Resource] = {
            "pool": Permits(number),
            "cpu": Station(),
            "disc": Station(),
        }
        found = solve(
            closed_model(think >> hold("pool", page >> query), 20, resources=resources),
            method="mean-value",
        )
        assert found["throughput"] == pytest.approx(rate, rel=0.006)
    for threads, connections in ((10, 4), (4, 4), (10, 1), (6, 2)):
        pools = {"resources.threads.permits": threads, "resources.connections.permits": connections}
        found = solve("layered-service", set=pools, method="mean-value")
        assert found["throughput"] == pytest.approx(pages_a_second(threads, connections), rel=0.015)


def cycles_a_second(*activities: float) -> float:
    """Solve the chain of ten users of a processor and of one thread, which does its activities
    one after the other.
    """

    def transitions(state: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], float]]:
        first, second, done = state
        yield from [((first + 1, second, done), (10 - first - second) / 100.0)] * (
            first + second < 10
        )
        yield from [((first - 1, second + 1, done), 1 / 1.6)] * (first > 0)
        if second:
            after = (
                (first, second, done + 1) if done + 1 < len(activities) else (first, second - 1, 0)
            )
            yield after, 1 / activities[done]

    return thinking(transitions, 10, lambda state: state[0] + state[1]) / 100.0


def test_the_exact_values_of_the_layered_study_are_those_of_chains() -> None:
    """The two published models stand there too: as they are written, and as the printed result
    was computed.
    """
    tables = yaml.safe_load((ROOT / "specs/studies/layered-service.yaml").read_text())["compare"]
    by_chain, by_mean_value, by_simulation, _, printed, written = (
        table["rows"][0]["printed"] for table in tables
    )
    pages = [pages_a_second(*pools) for pools in ((10, 4), (4, 4), (10, 1), (6, 2))]
    assert pages == pytest.approx(by_mean_value, abs=5e-5)
    assert by_chain == by_simulation == by_mean_value
    assert written == pytest.approx([cycles_a_second(5.0, 1.0)] * 3, abs=5e-8)
    assert printed == pytest.approx([cycles_a_second(6.0)], abs=5e-6)


REFUSED = [
    (lambda: Permits(0), "Permits: number must be a whole number from 1 to 1,000,000, got 0"),
    (
        lambda: closed_model(service("pool", 1.0), resources={"pool": Permits(2)}),
        "pool needs a station, but 'pool' is permits",
    ),
    (
        lambda: closed_model(
            hold("pool", hold("pool", delay(1.0))), resources={"pool": Permits(2)}
        ),
        "pool is requested by a processor that holds it already, which is a deadlock",
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_named(make: type, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == words
