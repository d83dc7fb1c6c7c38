"""Traits of stations mean the same in activities and in networks, and at their limits nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slipstick import Simulation, dump, load, solve
from slipstick.errors import ModelError, NoAnswerError, SpecError
from slipstick.expression.nodes import COUNT, RATE, Parameter
from slipstick.method.asked import value_states
from slipstick.method.closed_form import whole_time
from slipstick.model.activity import (
    attempt,
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    serial,
    service,
)
from slipstick.model.network import closed_class, network, open_class, station
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Station, closed_model, open_model
from slipstick.vocabulary import (
    BOUNDS,
    CLOSED_FORM,
    DISCIPLINES,
    EXACT,
    MARKOV_CHAIN,
    MEAN_VALUE,
    SIMULATED_DISCIPLINES,
    SIMULATION,
)
from slipstick_equations.equations import Equations

RATES = (1.0, 1.8, 2.4, 2.2)
"""Four processors in contention: a fourth customer slows the station down."""

THINK: Activity = delay(2.0, name="think", scv=1.0)
PRODUCT_FORM = [name for name, kind in DISCIPLINES.items() if not (kind.ranked or kind.delay)]


def users(disk: Station, number: int = 5) -> Model:
    cycle = THINK >> service("disk", 1.4, scv=1.0) >> service("cpu", 0.5, scv=1.0)
    return closed_model(cycle, number, resources={"disk": disk})


@pytest.mark.parametrize("discipline", PRODUCT_FORM)
def test_rates_mean_what_they_mean_in_a_network(discipline: str) -> None:
    stations = {
        "disk": station(service={"jobs": 1.4}, discipline=discipline, rates=RATES),
        "cpu": station(service={"jobs": 0.5}),
    }
    exact = solve(network({"jobs": closed_class(5, think_time=2.0)}, stations), method=EXACT)
    chain = solve(users(Station(1, discipline, RATES)), method=MARKOV_CHAIN)
    response_time = exact["response_time[jobs]"]
    assert response_time is not None
    assert chain["time"] == pytest.approx(response_time + 2.0, rel=1e-9)
    for name in ("queue_length[disk]", "utilization[disk]", "queue_length[cpu]"):
        assert chain[name] == pytest.approx(exact[name], rel=1e-9)


@pytest.mark.parametrize("discipline", ["fcfs", "ps"])
@pytest.mark.parametrize("servers", [1, 3])
def test_rates_up_to_a_number_are_as_many_servers(discipline: str, servers: int) -> None:
    rates = tuple(float(present) for present in range(1, servers + 1))
    by_rates = solve(users(Station(1, discipline, rates)), method=MARKOV_CHAIN)
    by_servers = solve(users(Station(servers, discipline)), method=MARKOV_CHAIN)
    for name in ("time", "wait[disk]", "queue_length[disk]", "efficiency", "wait[cpu]"):
        assert by_rates[name] == pytest.approx(by_servers[name], rel=1e-9), name


@pytest.mark.parametrize("method", [MARKOV_CHAIN, SIMULATION])
def test_a_wait_is_below_0_where_company_makes_a_station_faster(method: str) -> None:
    """Two customers that are always there share a speed of 3: 2/3 s a visit, 1/3 s less than alone
    at speed 1.
    """
    model = closed_model(
        service("disk", 1.0, scv=1.0), 2, resources={"disk": Station(1, "ps", (1, 3))}
    )
    found = solve(model, method=method, simulation=Simulation(seed=2, events=40_000))
    assert found["time"] == pytest.approx(2 / 3, rel=0.02)
    assert found["wait[disk]"] == pytest.approx(-1 / 3, rel=0.03)
    assert found["utilization[disk]"] == pytest.approx(1.0)
    assert found.account["wait:disk"] == pytest.approx(-1 / 3, rel=0.03)


@pytest.mark.parametrize("method", [MARKOV_CHAIN, SIMULATION])
def test_a_step_is_booked_the_time_that_a_customer_takes_alone(method: str) -> None:
    """At half the speed half the work is the same: 0.7 s alone, in the account and in the
    equations.
    """
    slow = Station(1, "fcfs", (0.5, 0.9, 1.2))
    cycle = THINK >> service("disk", 0.35, name="seek", scv=1.0)
    model = closed_model(cycle, 3, resources={"disk": slow})
    found = solve(model, method=method, simulation=Simulation(seed=2, events=4_000))
    assert found.once["seek"] == pytest.approx(0.7)
    assert found.steps["seek"] == pytest.approx(0.7, rel=0.1)
    assert Equations(whole_time(model)).texts[-1] == "t[seek] = seek / disk.rates.0"


def test_rates_in_a_fork_count_as_the_servers_that_they_stand_for() -> None:
    """Speed-up, and the workers that efficiency divides it by, at any scale of the rates."""
    settings, efficiencies = Simulation(seed=2, events=30_000), []
    for disk, work in ((Station(2), 0.6), (Station(1, "ps", (0.5, 1.0)), 0.3)):
        branches = [service("disk", work, name=name, scv=1.0) for name in ("read", "write")]
        model = closed_model(THINK >> fork(*branches), 2, resources={"disk": disk})
        found = solve(model, method=SIMULATION, simulation=settings)
        efficiencies.append(found["efficiency"])
        assert found["speedup"] == pytest.approx(2 * 3.2 / (found["time"] or 0))
    assert efficiencies[0] == pytest.approx(efficiencies[1], rel=0.02)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", SIMULATED_DISCIPLINES)
def test_a_simulation_with_rates_has_the_means_of_the_chain(discipline: str) -> None:
    """Two kinds of visits of unlike length, so that the means depend on the order."""
    ranks = (1, 0) if DISCIPLINES[discipline].ranked else (0, 0)
    visits = [
        service("disk", time, name=name, scv=1.0, rank=rank)
        for name, time, rank in zip(("long", "short"), (1.4, 0.4), ranks, strict=True)
    ]
    cycle = THINK >> choose((0.4, visits[0]), (0.6, visits[1]))
    model = closed_model(cycle, 4, resources={"disk": Station(1, discipline, RATES)})
    exact = solve(model, method=MARKOV_CHAIN)
    found = solve(model, method=SIMULATION, simulation=Simulation(seed=6, events=50_000))
    for name in ("time", "wait[disk]", "queue_length[disk]", "utilization[disk]"):
        value, mean = found.values[name], exact[name]
        assert value.value is not None
        assert value.high is not None
        assert mean is not None
        assert abs(value.value - mean) < 2.5 * (value.high - value.value), name


@pytest.mark.turns(4)
@pytest.mark.parametrize("rates", [RATES, (0.5, 2.5)])
@pytest.mark.parametrize("discipline", SIMULATED_DISCIPLINES)
def test_both_kernels_follow_rates_alike(discipline: str, rates: tuple[float, ...]) -> None:
    long, short = service("disk", 1.4, name="long", scv=4.0), service("disk", 0.4, name="short")
    cycle = THINK >> choose((0.3, long), (0.7, short))
    model = closed_model(cycle, 4, resources={"disk": Station(1, discipline, rates)})
    settings = [Simulation(seed=4, events=6_000, kernel=name) for name in ("plain", "compiled")]
    plain, compiled = (solve(model, method=SIMULATION, simulation=each).values for each in settings)
    assert plain == compiled


def test_a_stream_is_saturated_beyond_the_last_rate() -> None:
    """A station that is shared at the rates 1 and 2 is M/M/2."""
    rate = Parameter("rate", RATE, 2.0)
    disk = {"disk": Station(1, "ps", (1.0, 2.0))}
    model = open_model(service("disk", 0.4, scv=1.0), rate, resources=disk)
    settings = Simulation(seed=2, cycles=60_000)
    exact = solve(
        network({"jobs": open_class(2.0)}, {"disk": station(service={"jobs": 0.4}, servers=2)})
    )
    assert solve(model, simulation=settings)["time"] == pytest.approx(
        exact["response_time[jobs]"], rel=0.03
    )
    with pytest.raises(NoAnswerError, match="disk is saturated: 6/s arrive, fewer than 5/s can be"):
        solve(model, {"rate": 6.0})


def test_bounds_take_the_highest_and_the_lowest_rate() -> None:
    bounds = solve(users(Station(1, "fcfs", RATES)), method=BOUNDS).values["time"]
    assert bounds.low == pytest.approx(max(2.0 + 1.4 / 2.4 + 0.5, 5 * 1.4 / 2.4))
    assert bounds.high == pytest.approx(2.0 + 5 * 1.4 / 1.0 + 5 * 0.5)
    crowded = solve(users(Station(1, "is")), method=BOUNDS).values["time"]
    assert (crowded.low, crowded.high) == pytest.approx((3.9, 3.9 + 4 * 0.5))


def test_rates_are_numbers_above_0_at_every_point() -> None:
    model = users(Station(1, "fcfs", (1.0, 2.0)))
    assert solve(model, {"disk.rates.1": 1.0})["time"] == pytest.approx(
        solve(users(Station()))["time"], rel=1e-9
    )
    with pytest.raises(ModelError, match=r"disk.rates.1 must be a number above 0, got 0"):
        solve(model, {"disk.rates.1": 0.0})
    computed = users(Station(1, "fcfs", (1.0, Parameter("more", COUNT, 1.0) - 1.0)))
    with pytest.raises(NoAnswerError, match="the rate of station disk with 2 present comes out as"):
        solve(computed, method=MARKOV_CHAIN)


def test_nobody_waits_at_infinite_servers() -> None:
    """As the last station of a cycle in product form, constant times included, as in a network."""
    cycle = THINK >> service("disk", 0.4, scv=1.0) >> service("net", 0.5)
    model = closed_model(cycle, 40, resources={"net": Station(1, "is")})
    stations = {
        "disk": station(service={"jobs": 0.4}),
        "net": station(service={"jobs": 0.5}, discipline="is"),
    }
    exact = solve(network({"jobs": closed_class(40, think_time=2.0)}, stations), method=EXACT)
    found = solve(model)
    assert (found.method, found.exact) == (MEAN_VALUE, True)
    assert found["queue_length[net]"] == pytest.approx(exact["queue_length[net]"], rel=1e-9)
    assert found["wait[net]"] == pytest.approx(0.0, abs=1e-12)
    asked = value_states(model, found, ["utilization[net]", "utilization[disk]"])
    assert asked["utilization[net]"].why == "infinite servers are never all busy"
    assert asked["utilization[disk]"].state == "answered"


def written(path: Path, disk: str) -> Model:
    file = path / "users.yaml"
    file.write_text(
        "activity: 1\ntitle: users\nparameters: {cores: 3}\npopulation: {processors: 4}\n"
        "cycle: [{delay: 2 s, name: think, scv: 1}, {service: disk, time: 1 s, scv: 1}]\n"
        f"resources: {{disk: {{{disk}}}}}\n"
    )
    model = load(file)
    assert isinstance(model, Model)
    return model


def test_a_file_has_the_keys_of_a_network(tmp_path: Path) -> None:
    model = written(tmp_path, "discipline: ps, rates: [1, 1.7, cores]")
    copy = tmp_path / "copy.yaml"
    copy.write_text(dump(model))
    assert solve(copy)["time"] == solve(model)["time"]
    slower = solve(model, {"parameters.cores": 1.7})["time"]
    assert slower == pytest.approx(solve(written(tmp_path, "rates: [1, 1.7]"))["time"])


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        ("rate: [1, 2]", "6:20: resources.disk.rate: unknown key; did you mean 'rates'?"),
        ("rates: [1, 0]", "resources.disk.rates.1: must be more than 0, got 0"),
        ("rates: [1, -2]", "resources.disk.rates.1: must be more than 0, got -2"),
        ("rates: [1 s]", "resources.disk.rates.0: '1 s' is a quantity in s, but a plain number"),
        ("rates: []", "resources.disk.rates: at least 1 needed"),
        ("rates: [1, 2], servers: 2", "resources.disk.servers: rates say how fast the station is"),
        ("discipline: is, servers: 2", "an is station serves everyone at once; leave servers out"),
        ("discipline: is, rates: [1]", "an is station serves everyone at once; leave rates out"),
        ("permits: 2, rates: [1]", "resources.disk.rates: unknown key; known: count, permits"),
    ],
)
def test_mistakes_of_a_file_are_named_at_their_place(tmp_path: Path, disk: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        written(tmp_path, disk)
    assert words in str(caught.value)


_STAGE = service("net", 0.5, name="ship", scv=1.0)
_AFTER_DISK = service("disk", 0.4, scv=1.0)
STRUCTURES: dict[str, Callable[[Activity], Activity]] = {
    "in a row": lambda ship: THINK >> _AFTER_DISK >> ship,
    "in a lock": lambda ship: THINK >> hold("door", ship >> _AFTER_DISK),
    "in a fork": lambda ship: THINK >> fork(ship, _AFTER_DISK),
    "in a pipeline": lambda ship: THINK >> pipeline([serial(_AFTER_DISK), parallel(ship)], 5),
    "before a barrier": lambda ship: _AFTER_DISK >> ship >> barrier("meet"),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_visit_to_infinite_servers_is_a_delay(structure: str) -> None:
    make, resources = STRUCTURES[structure], {"net": Station(1, "is")}
    ship = closed_model(make(_STAGE), 3, resources=resources)
    alone = closed_model(make(delay(0.5, name="ship", scv=1.0)), 3)
    settings = Simulation(seed=3, events=3_000)
    for method in (CLOSED_FORM, MEAN_VALUE, MARKOV_CHAIN, SIMULATION):
        try:
            expected = solve(alone, method=method, simulation=settings)
        except NoAnswerError:
            with pytest.raises(NoAnswerError):
                solve(ship, method=method)
            continue
        found = solve(ship, method=method, simulation=settings)
        assert found["time"] == pytest.approx(expected["time"], rel=1e-9), method
        assert found.exact == expected.exact


@pytest.mark.parametrize(("servers", "capacity"), [(1, 1), (1, 3), (2, 4)])
def test_a_queue_of_an_attempt_is_the_capacity_of_a_network(servers: int, capacity: int) -> None:
    """A full station turns customers away, who then begin their next cycle."""
    members = {"jobs": closed_class(6, think_time=2.0)}
    full = station(service={"jobs": 1.4}, servers=servers, capacity=capacity)
    by_network = solve(network(members, {"disk": full}), method=MARKOV_CHAIN)
    visit = attempt(service("disk", 1.4, scv=1.0), queue=capacity - servers)
    model = closed_model(THINK >> visit, 6, resources={"disk": Station(servers)})
    by_activity = solve(model, method=MARKOV_CHAIN)
    for name in ("queue_length[disk]", "utilization[disk]"):
        assert by_activity[name] == pytest.approx(by_network[name], rel=1e-9)
