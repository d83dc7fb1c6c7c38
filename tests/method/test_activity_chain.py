"""Activities as Markov chains: against product form, chains of networks, chains written by hand,
closed forms and simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.mean_value import generated
from slipstick import (
    Answer,
    Barrier,
    Lock,
    Permits,
    ReaderWriterLock,
    Simulation,
    Station,
    barrier,
    choose,
    closed_model,
    delay,
    fork,
    grouped_model,
    hold,
    network,
    phased_model,
    repeat,
    service,
    signal,
    solve,
    sweep,
    wait,
)
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.limits import ANNOUNCE
from slipstick.model.network import closed_class, station
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Resource, Semaphores
from slipstick.queueing import markov_chain as chain_module
from slipstick.vocabulary import READER_WRITER_ORDERS
from slipstick_chains.activity_chain import ActivityChain
from slipstick_mean_value.form import MeanValue
from tests.method.test_permits import held_in_tandem, pages_a_second
from tests.method.test_waits_for_signals import (
    cycles_a_second,
    in_a_buffer,
    in_a_monitor,
    readers_and_writers,
)

THINK = delay(9.0, name="think", scv=1)


def work(name: str, mean: float, scv: float = 1.0) -> Activity:
    return delay(mean, name=name, scv=scv)


def value_of(answer: Answer, name: str) -> float:
    found = answer[name]
    assert found is not None
    return found


def ends(answer: Answer, name: str) -> tuple[float, float, float]:
    """Return a value and the ends of its interval."""
    value = answer.values[name]
    assert value.value is not None
    assert value.low is not None
    assert value.high is not None
    return value.value, value.low, value.high


def exact(model: Model) -> Answer:
    return solve(model, method="markov-chain")


@pytest.mark.parametrize("discipline", ["fcfs", "ps", "lcfs", "random"])
def test_in_product_form_all_values_are_those_of_mean_value(discipline: str) -> None:
    model = closed_model(
        THINK >> service("bus", 1.0, scv=1), 6, resources={"bus": Station(1, discipline)}
    )
    found, known = exact(model), solve(model, method="mean-value")
    assert found.exact
    assert known.exact
    values = {name: each.value for name, each in known.values.items()}
    assert {name: each.value for name, each in found.values.items()} == pytest.approx(values)
    assert dict(found.account) == pytest.approx(dict(known.account))
    assert found.share["time"] == pytest.approx(known.share["time"])


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("discipline", "servers"), [("fcfs", 1), ("fcfs", 2), ("ps", 1), ("lcfs", 1), ("random", 1)]
)
@pytest.mark.parametrize("scv", [0.4, 3.0])
def test_one_station_is_that_of_a_network(discipline: str, servers: int, scv: float) -> None:
    found = exact(
        closed_model(
            THINK >> service("disk", 2.0, scv=scv),
            4,
            resources={"disk": Station(servers, discipline)},
        )
    )
    disk = station(servers=servers, discipline=discipline, service={"jobs": 2.0}, scv={"jobs": scv})
    other = solve(
        network({"jobs": closed_class(4, think_time=9.0)}, {"disk": disk}), method="markov-chain"
    )
    for name, theirs in (
        ("throughput", "throughput[jobs]"),
        ("queue_length[disk]",) * 2,
        ("utilization[disk]",) * 2,
    ):
        assert found[name] == pytest.approx(other[theirs], rel=1e-9)
    assert found.exact == other.exact
    assert "exponential phases" in found.notes[0]


@pytest.mark.parametrize(
    ("cycle", "processors", "time"),
    [
        # The distribution of the time at delays does not matter in product form.
        (work("think", 9.0, 4.0) >> service("bus", 1.0, scv=1.0), 3, 10.2178218),
        (work("think", 2.0) >> repeat(2.5, hold("l", work("c", 0.5, 0.25))), 1, 3.25),
        (work("think", 2.0) >> barrier("meet"), 3, 2 * (1 + 1 / 2 + 1 / 3) + 0.5),
        (
            work("think", 2.0)
            >> choose((0.25, hold("pool", work("a", 1.0))), (0.75, hold("pool", work("b", 2.0)))),
            3,
            3.75,
        ),
    ],
)
def test_chains_of_known_times(cycle: Activity, processors: int, time: float) -> None:
    resources: dict[str, Resource] = {
        "pool": Permits(3),
        "meet": Barrier(cost=Parameter("cost", TIME, 0.5)),
    }
    used = {name: each for name, each in resources.items() if name in str(cycle)}
    assert exact(closed_model(cycle, processors, resources=used))["time"] == pytest.approx(
        time, abs=1e-7
    )


def test_a_program_ends_with_the_slowest_of_each_phase() -> None:
    alone = exact(phased_model((1, 4, work("a", 3.0))))
    assert alone["time"] == pytest.approx(3 * (1 + 1 / 2 + 1 / 3 + 1 / 4))
    assert alone.account["idle"] == pytest.approx(value_of(alone, "time") - 3)
    shared = phased_model(
        (2, 3, service("bus", 1.0, scv=4.0)),
        (1, 1, work("b", 2.0)),
        resources={"bus": Station(1, "ps")},
    )
    found = exact(shared)
    assert found["time"] == pytest.approx(2 * 3 * 1.0 + 2)
    assert found.account["busy"] == pytest.approx(2 + 2 / 3)
    # The services that begin with the phase count as visits, too.
    assert 2 * value_of(found, "wait[bus]") == pytest.approx(found.account["wait:bus"])
    assert sum(found.account.values()) == pytest.approx(found["time"])


@pytest.mark.parametrize("order", READER_WRITER_ORDERS)
@pytest.mark.parametrize("readers", [2, 10**6])
def test_a_reader_writer_lock_is_its_chain(order: str, readers: int) -> None:
    found = exact(readers_and_writers(4, 0.3, 1.5, order, readers))
    assert found["throughput"] == pytest.approx(
        cycles_a_second(4, 0.3, 1.5, order, readers), rel=1e-9
    )
    assert "lock:table" in found.account


@pytest.mark.parametrize("make", [in_a_buffer, in_a_monitor])
def test_a_bounded_buffer_is_a_queue_with_room_for_so_many(make: Callable[[int], Model]) -> None:
    """M/M/1/K, see tests/method/test_waits_for_signals.py."""
    empty = (1 - 1.25) / (1 - 1.25**5)
    found = exact(make(2))
    assert found["throughput"] == pytest.approx((1 - empty) / 1.25)
    assert value_of(found, "units[queue.items]") + value_of(
        found, "units[queue.places]"
    ) == pytest.approx(2)
    assert found.account["wait:queue.places"] == pytest.approx(found["wait[queue.places]"])
    assert found["time[producer]"] == pytest.approx(found["time[consumer]"])


@pytest.mark.turns(4)
def test_layers_of_permits_are_their_chains() -> None:
    page, query = service("cpu", 0.05, scv=1), service("disc", 0.08, scv=1)
    tandem = closed_model(
        work("think", 1.0) >> hold("pool", page >> query), 20, resources={"pool": Permits(2)}
    )
    assert exact(tandem)["throughput"] == pytest.approx(held_in_tandem(2), rel=1e-9)
    pools = {"resources.threads.permits": 6, "resources.connections.permits": 2}
    layered = solve("layered-service", set=pools, method="markov-chain")
    assert layered["throughput"] == pytest.approx(pages_a_second(6, 2), rel=1e-9)


CONSTRUCTS = (
    "locks",
    "nested locks",
    "stations in locks",
    "permits",
    "layered permits",
    "reader-writer locks",
    "groups",
)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("construct", "number"),
    [(each, number) for number in (1, 5) for each in CONSTRUCTS[number // 5 :: 2]],
)
def test_mean_value_and_simulation_agree_with_it(construct: str, number: int) -> None:
    """Simulation within twice its interval, mean value within a fifth; what stands in the
    account adds up to the time.
    """
    model = _small(generated(construct, 1.0, number))
    found, seen = (
        exact(model),
        solve(model, method="simulation", simulation=Simulation(cycles=4000, precision=1e-9)),
    )
    assert sum(found.account.values()) == pytest.approx(found["time"])
    for name in (
        "time",
        *(
            name
            for name in found.values
            if name.startswith(("wait[", "utilization[", "queue_length["))
        ),
    ):
        mean, low, high = ends(seen, name)
        assert abs(value_of(found, name) - mean) <= high - low + 0.01 * mean, name
    if construct != "groups":
        assert solve(model, method="mean-value")["time"] == pytest.approx(found["time"], rel=0.2)


def _small(model: Model) -> Model:
    """Return the same with two processors in each group."""
    cycles = [group.cycle for group in model.population.groups]
    if len(cycles) == 1:
        return closed_model(cycles[0], 3, resources=model.resources)
    return grouped_model({"a": (2, cycles[0]), "b": (1, cycles[1])}, resources=model.resources)


def test_a_station_that_readers_use_is_answered() -> None:
    """Mean value promises nothing there; simulation and the chain are of one mind."""
    read, write = (
        service("disk", 0.5, name="read", scv=1),
        service("disk", 1.0, name="write", scv=1),
    )
    cycle = work("think", 2.0) >> choose(
        (0.7, hold("table", read, "read")), (0.3, hold("table", write, "write"))
    )
    model = closed_model(
        cycle, 4, resources={"table": ReaderWriterLock(), "disk": Station(1, "ps")}
    )
    seen = solve(
        model, method="simulation", simulation=Simulation(seed=2, cycles=10_000, precision=1e-9)
    )
    mean, low, high = ends(seen, "time")
    assert abs(value_of(exact(model), "time") - mean) <= high - low


def test_the_processor_that_releases_goes_on_first() -> None:
    """Two locks pass on at one instant, and both processors want one station: the one that
    releases comes to it first, as in simulation.
    """
    first = hold(
        "outer",
        hold("one", service("disk", 0.49, name="a", scv=1) >> hold("two", work("b", 0.126))),
    )
    second = hold("one", work("c", 0.558)) >> hold(
        "two", service("disk", 0.958, name="d", scv=1) >> work("e", 0.298)
    )
    model = closed_model(work("think", 5.08) >> first >> second, 3)
    seen = solve(
        model, method="simulation", simulation=Simulation(seed=3, cycles=16_000, precision=1e-9)
    )
    _, low, high = ends(seen, "time")
    found = exact(model)
    assert low <= value_of(found, "time") <= high
    assert high - low < 0.025 * low  # in the other order the time is 3 % longer
    assert value_of(found, "wait[two]") < 0.05


def test_derivatives_are_those_of_differences_and_a_sweep_shares_the_states() -> None:
    model = closed_model(
        work("think", 4.0, 0.5) >> hold("l", service("bus", 1.0, scv=2.0)) >> barrier("meet"), 3
    )
    form, step = ActivityChain(model), 1e-5
    slopes = exact(model).gradient["time"]
    for name, value in (("think", 4.0), ("bus", 1.0)):
        low, high = form.times({name: np.array([value * (1 - step), value * (1 + step)])})
        assert slopes[name] == pytest.approx((high - low) / (2 * step * value), rel=1e-6)
    swept = solve(model, sweep({"bus": [0.5, 1.0, 2.0]}), method="markov-chain")
    assert swept["time"][1] == pytest.approx(exact(model)["time"])


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (closed_model(THINK >> service("bus", 1.0), 2), "step bus has scv 0: write from 0.01"),
        (
            closed_model(fork(work("a", 1.0), work("b", 1.0)), 2),
            "no fork: ask for mean-value or simulation",
        ),
        (closed_model(THINK >> service("other", 1.0, scv=1), 2), "no processor as a resource"),
        (
            closed_model(
                THINK >> hold("l", work("a", 1.0)),
                2,
                resources={"l": Lock("ttas", "bus"), "bus": Station()},
            ),
            "write fifo",
        ),
        (
            closed_model(
                THINK >> wait("s.x") >> signal("s.x"), 2, resources={"s": Semaphores({"x": 0})}
            ),
            "processors of model can wait for each other without end, which is a deadlock",
        ),
        (closed_model(work("a", 0.0), 2), "a cycle of model may take no time"),
        (
            closed_model(
                THINK >> barrier("b", 2),
                3,
                resources={"b": Barrier(cost=Parameter("cost", TIME, 1.0))},
            ),
            (
                "markov-chain takes the cost of a barrier, which is constant, only where all"
                " processors spend it together, unlike that of b"
            ),
        ),
        (
            closed_model(hold("a", hold("b", THINK)) >> hold("b", hold("a", THINK)), 2),
            "wait for each other|circle|cycle",
        ),
    ],
)
def test_what_it_cannot_keep_is_refused_with_a_way_out(model: Model, told: str) -> None:
    with pytest.raises(NoAnswerError, match=told):
        exact(model)


def test_states_are_estimated_before_they_are_explored() -> None:
    phases = closed_model(work("think", 9.0, 0.02) >> service("bus", 1.0, scv=1), 20)
    assert math.comb(69, 20) > 3e4
    with pytest.raises(
        NoAnswerError, match=r"has at least .* states; the limit is 30,000: .* --limit states="
    ):
        exact(phases)
    few = closed_model(THINK >> service("bus", 1.0, scv=0.1), 4)
    with pytest.raises(NoAnswerError, match="more than 20 states"):
        solve(few, method="markov-chain", limits={"states": 20})
    assert MeanValue(few).times({})[0] == pytest.approx(exact(few)["time"], rel=0.02)


def test_too_many_ways_to_begin_are_refused_before_they_are_followed() -> None:
    cycle = delay(1.0, name="think", scv=4) >> service("cpu", 0.1, name="work", scv=1)
    said = "may begin in 1,048,576 ways, which take the time of 65,536 states; the limit is 30,000"
    with pytest.raises(NoAnswerError, match=said):
        exact(closed_model(cycle, processors=20))


def test_many_processors_that_begin_are_refused_or_announced_before_they_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cycle = work("think", 1.0) >> service("cpu", 0.1, scv=1)
    refused = (
        "the 200,000 processors of model begin one after the other, which takes the time of"
        " 4,000,000 states; the limit is 30,000: ask for mean-value or simulation, or allow more"
    )
    with pytest.raises(NoAnswerError, match=refused):
        exact(closed_model(cycle, processors=200_000))
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    monkeypatch.setattr("slipstick_chains.activity_chain.PROCESSORS_PER_STATE", 0.25)
    try:
        solve(closed_model(cycle, processors=30), method="markov-chain")
    finally:
        ANNOUNCE.reset(token)
    said = (
        "the 30 processors of model begin one after the other, which takes the time of 14,400"
        " states: about 12 s of processor time"
    )
    assert announced == [said]


def test_a_chain_of_a_thousand_processors_is_no_cycle_without_time() -> None:
    # Each begins at the server at once, so that over a thousand events follow without time.
    model = closed_model(service("cpu", 1.0, scv=1), processors=1200)
    assert exact(model)["time"] == pytest.approx(1200.0)


def test_too_many_ways_to_go_on_at_a_shared_station_are_refused() -> None:
    cycle = service("cpu", 0.1, name="work", scv=2) >> service("cpu", 0.2, name="more", scv=4)
    model = closed_model(
        cycle, processors=50, resources={"cpu": Station(servers=1, discipline="ps")}
    )
    message = "in over 160 ways, .* the time of 10 states: ask for mean-value or simulation, or"
    with pytest.raises(NoAnswerError, match=message):
        solve(model, method="markov-chain", limits={"states": 10})
    assert solve(model).method == "mean-value"


def test_the_solution_of_a_large_chain_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    monkeypatch.setattr("slipstick_chains.activity_chain.MOST_DIRECT_STATES", 3)
    monkeypatch.setattr("slipstick_chains.activity_chain.ANNOUNCED", 0.0)
    monkeypatch.setattr("slipstick_chains.activity_chain.SOLUTION_SECONDS", 1.0)
    try:
        solve(
            closed_model(delay(1.0, scv=1.0) >> service("bus", 1.0, scv=1.0), 8),
            method="markov-chain",
        )
    finally:
        ANNOUNCE.reset(token)
    # 10 states with the one before the start: 10^1.5 s, and as good as nothing for derivatives.
    words = "the chain of model has 10 states, and is solved: about 32 s of processor time"
    assert words in announced


def test_points_that_differ_in_derivatives_alone_are_factored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factored: list[int] = []
    solver = chain_module._solved_with_fixed

    def counted(generator: Any, method: str, start: Any) -> Any:
        factored.append(len(start))
        return solver(generator, method, start)

    monkeypatch.setattr(chain_module, "MOST_ELIMINATED_STATES", 2)
    monkeypatch.setattr(chain_module, "_solved_with_fixed", counted)
    model = closed_model(delay(1.0, scv=1.0) >> service("bus", 1.0, scv=1.0), 8)
    answer = solve(model, method="markov-chain")
    assert sum(answer.share["time"].values()) == pytest.approx(1.0)
    assert factored == [9, 9]  # the answer, and its derivatives together


@pytest.mark.turns(4)
@pytest.mark.parametrize(("processors", "permits"), [(4, 2), (4, 3), (6, 2)])
def test_states_count_processors_by_phase(
    processors: int, permits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A state holds how many processors are at each phase, and not which of them: counting phases
    # makes the chain no smaller. 16 processors in a pool of 4 have 391,197 states.
    cycle = delay(10.0, name="think", scv=0.25) >> hold(
        "pool",
        delay(2.0, name="work", scv=0.25) >> hold("lock", delay(1.0, name="inside", scv=0.25)),
    )
    sizes: list[int] = []
    solver = chain_module.stationary

    def counted(chain: Any, *arguments: Any, **more: Any) -> Any:
        sizes.append(chain.size)
        return solver(chain, *arguments, **more)

    monkeypatch.setattr("slipstick_chains.activity_chain.stationary", counted)
    ActivityChain(
        closed_model(cycle, processors, resources={"pool": Permits(permits), "lock": Lock()})
    ).times({})

    def spread(members: int) -> int:
        """Count the ways to spread some over four phases."""
        return math.comb(members + 3, 3)

    def inside(present: int) -> int:
        """Count the states of those in the pool: all work, or one of four phases has the lock."""
        return spread(present) + sum(4 * spread(work) for work in range(present))

    states = sum(
        spread(thinking) * inside(min(permits, processors - thinking))
        for thinking in range(processors + 1)
    )
    assert sizes == [states + 1]  # and the one before the start
