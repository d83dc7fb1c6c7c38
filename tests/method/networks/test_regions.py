"""Regions of networks: simulation against the Markov chain of the same network as an activity,
against truncated product forms, and against the network without a region where nothing is limited.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from slipstick import (
    QueueingNetwork,
    Simulation,
    chain,
    closed_class,
    network,
    open_class,
    route,
    solve,
    station,
)
from slipstick.answer import Answer
from slipstick.errors import ModelError, ModelFaultsError, NoAnswerError
from slipstick.method.methods import compute_answers
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.method.simulation.flatten import flatten
from slipstick.model.activity import delay, hold, repeat, service
from slipstick.model.network import Region, region
from slipstick.model.system import Permits, closed_model
from slipstick.schema.kinds.queueing import network_data
from slipstick.vocabulary import KNOWN, MARKOV_CHAIN, METHODS, NETWORK, REGIONS, SIMULATION
from slipstick_chains.lowering import lower_network
from slipstick_chains.transient import time_until
from slipstick_compiled.kernel import AVAILABLE
from slipstick_equations.symbols import solve_in_symbols
from tests.model.test_lowering import shape

SETTINGS = Simulation(seed=3, events=150_000 if AVAILABLE else 30_000)
MEMBERS = {"a": closed_class(3, think_time=2.0), "b": closed_class(2, think_time=1.0)}
STATIONS = {
    "cpu": station(service={"a": 0.3, "b": 0.5}, visits={"a": 0.6, "b": 2.0}, discipline="ps"),
    "disk": station(service={"a": 0.4, "b": 0.2}, visits={"a": 0.5}),
    "net": station(service={"a": 0.3}),
    "tape": station(service={"a": 0.5, "b": 0.1}),
}
TANDEM = {"q": station(service={"j": 1.0}), "w": station(service={"j": 1.0})}
CENTRAL = {
    "think": station(service={"j": 2.0}, discipline="is"),
    "cpu": station(service={"j": 0.5}),
    "disk": station(service={"j": 0.7}),
}
WAYS = [
    route(("j", "think"), ("j", "cpu"), 1.0),
    route(("j", "cpu"), ("j", "disk"), 0.6),
    route(("j", "cpu"), ("j", "think"), 0.4),
    route(("j", "disk"), ("j", "cpu"), 1.0),
]


def limited(regions: Mapping[str, Region]) -> QueueingNetwork:
    return network(MEMBERS, STATIONS, regions=regions)


def tandem(rate: float, capacity: int, blocking: str = "wait") -> QueueingNetwork:
    regions = {"r": region(["q", "w"], capacity, blocking)}
    return network({"j": open_class(rate)}, TANDEM, regions=regions)


def central(reference: str, inside: list[str]) -> QueueingNetwork:
    chains = {"c": chain(["j"], closed_class(4), ("j", reference))}
    return network({}, CENTRAL, chains=chains, routing=WAYS, regions={"r": region(inside, 2)})


def within(answer: Answer, name: str, exact: float | None, widths: float = 2.0) -> bool:
    value = answer.values[name]
    assert value.value is not None
    assert value.high is not None
    assert exact is not None
    return abs(value.value - exact) <= widths * (value.high - value.value) + 1e-9


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "regions",
    [
        {"r": region(["cpu", "disk"], 2)},
        {"r": region(["cpu", "disk"], 2), "s": region(["tape", "net"], 1)},
        {"r": region(["cpu", "tape", "disk"], 1)},
    ],
)
def test_simulation_equals_the_chain_of_the_same_activity(regions: dict[str, Region]) -> None:
    """A class that passes by all stations of a region takes no place of it."""
    model = limited(regions)
    simulated, exact = (
        solve(model, simulation=SETTINGS),
        solve(lower_network(model), method=MARKOV_CHAIN),
    )
    assert (simulated.method, exact.exact) == (SIMULATION, True)
    for name in (
        *("throughput[a]", "throughput[b]", "utilization[cpu]", "queue_length[tape]"),
        *("queue_length[r]", "utilization[r]"),
    ):
        assert within(simulated, name, exact[name]), name
    assert within(simulated, "waiting_time[r]", exact["wait[r]"])
    assert within(simulated, "response_time[a]", (exact["time[a]"] or 0) - 2.0)


def test_a_region_of_stations_that_are_always_visited_has_the_plan_of_permits() -> None:
    jobs = {"a": closed_class(3, think_time=2.0)}
    stations = {name: station(demand={"a": 1.0}) for name in ("cpu", "disk", "net")}
    model = network(jobs, stations, regions={"r": region(["cpu", "disk"], 2)})
    plan = flat_network(NetworkLayout(model), {}).plan
    assert shape(flatten(lower_network(model)).plan) == shape(plan)


def test_routes_stay_inside_a_region_and_leave_it() -> None:
    simulated = solve(central("think", ["cpu", "disk"]), simulation=SETTINGS)
    cpu, disk = service("cpu", 0.5, scv=1.0), service("disk", 0.7, scv=1.0)
    inside = cpu >> repeat(1.5, disk >> cpu, spread="geometric")
    cycle = delay(2.0, name="think", scv=1.0) >> hold("r", inside)
    exact = solve(closed_model(cycle, 4, resources={"r": Permits(2)}), method=MARKOV_CHAIN)
    for name in ("queue_length[r]", "utilization[r]", "queue_length[cpu]"):
        assert within(simulated, name, exact[name]), name
    assert within(simulated, "throughput[c]", exact["throughput"])
    assert within(simulated, "response_time[c]", exact["time"])
    assert within(simulated, "waiting_time[r]", exact["wait[r]"])


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_a_region_that_loses_customers_has_the_truncated_product_form(rate: float) -> None:
    """Kelly, Reversibility and Stochastic Networks, 1979: customers lost at the entrance of a
    region leave the product form of what is inside, cut off at its capacity.
    """
    found = solve(tandem(rate, 3, "loss"), simulation=SETTINGS)
    weights = {n: (n + 1) * rate**n for n in range(4)}  # n + 1 ways to spread n over two stations
    total = sum(weights.values())
    lost, present = weights[3] / total, sum(n * weight for n, weight in weights.items()) / total
    assert within(found, "loss_probability[r]", lost, 3)
    assert within(found, "queue_length[r]", present, 3)
    assert within(found, "throughput[j]", rate * (1 - lost), 3)
    assert within(found, "response_time[j]", present / (rate * (1 - lost)), 3)
    assert found["waiting_time[r]"] == 0.0


def test_both_kernels_give_the_same_answer() -> None:
    settings = [Simulation(seed=1, events=3_000, kernel=kernel) for kernel in ("plain", "compiled")]
    for model in (limited({"r": region(["cpu", "disk"], 2)}), tandem(2.0, 3, "loss")):
        plain, compiled = (solve(model, method=SIMULATION, simulation=each) for each in settings)
        assert {name: value.value for name, value in plain.values.items()} == {
            name: value.value for name, value in compiled.values.items()
        }


@pytest.mark.turns(4)
@pytest.mark.parametrize("blocking", ["wait", "loss"])
def test_a_region_that_is_never_full_changes_nothing(blocking: str) -> None:
    """The limit: as many places as customers. Where customers might be lost their passages are
    counted one by one, which moves an estimate a little.
    """
    settings = Simulation(seed=3, events=20_000)
    free = solve(network(MEMBERS, STATIONS), method=SIMULATION, simulation=settings)
    model = limited({"r": region(["cpu", "disk"], 5, blocking)})
    found = solve(model, simulation=settings)
    for name in free.values:
        close = 1e-9 if blocking == "wait" else 0.02
        assert found[name] == pytest.approx(free[name], rel=close), name
    assert found["waiting_time[r]"] == 0.0


@pytest.mark.turns(4)
def test_every_other_method_refuses_a_region_by_name() -> None:
    model = limited({"r": region(["cpu", "disk"], 2)})
    assert model.constructs == {REGIONS}
    assert [method for method in KNOWN if REGIONS in KNOWN[method]] == [SIMULATION]
    for method in METHODS[NETWORK]:
        if method in ("best", MARKOV_CHAIN, SIMULATION):
            continue
        with pytest.raises(NoAnswerError, match=f"{method} cannot solve regions "):
            solve(model, method=method)
    by_activity = time_until(lower_network(model), "cpu", 2)
    assert time_until(model, "cpu", 2) == pytest.approx(by_activity, rel=1e-9)
    assert solve_in_symbols(model) == ()
    (bounds,) = compute_answers(model, {}, method="bounds")
    assert bounds.failed
    with pytest.raises(
        NoAnswerError, match="network cannot be written as an activity: region r loses customers"
    ):
        lower_network(limited({"r": region(["cpu"], 2, "loss")}))


def test_work_beyond_the_places_of_a_region_is_refused() -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve(tandem(0.9, 1))
    assert str(caught.value) == (
        "region r is saturated: without any wait, the customers that arrive in a second hold its"
        " places for 1.8 s together, and it has 1 place (load 1.8, the limit is 1); lower the"
        " arrivals, or give it more places"
    )
    # Two equal stations with n places in all do n / (n + 1).
    with pytest.raises(
        NoAnswerError,
        match=r"j arrive faster than they leave: 0.9 in a second, and 0.7[45]\d* leave",
    ):
        solve(tandem(0.9, 3), simulation=Simulation(seed=1, events=40_000))


@pytest.mark.turns(4)
def test_a_fast_station_of_a_region_needs_fewer_places() -> None:
    """One place before a server of speed 4 is M/M/1, and two of speed 1 and 3 hold 2/3 place."""
    jobs = {"j": open_class(2.0)}
    for rates, capacity in (((4.0,), 1), ((1.0, 3.0), 2)):
        fast = station(service={"j": 1.0}, rates=rates)
        free = solve(network(jobs, {"q": fast}))
        limits = {"r": region(["q"], capacity)}
        found = solve(network(jobs, {"q": fast}, regions=limits), simulation=SETTINGS)
        assert within(found, "response_time[j]", free["response_time[j]"])
    slow = network({"j": open_class(1.5)}, {"q": fast}, regions={"r": region(["q"], 1)})
    with pytest.raises(
        NoAnswerError, match=r"hold its places for 1.5 s together, and it has 1 place "
    ):
        solve(slow)


@pytest.mark.parametrize("routed", [False, True])
def test_a_customer_lost_inside_a_region_gives_its_place_back(routed: bool) -> None:
    """Erlang's loss of one server, 5/6: no customer waits for the second place."""
    door, limits = {"q": station(service={"j": 1.0}, capacity=1)}, {"r": region(["q"], 2)}
    model = network({"j": open_class(5.0)}, door, regions=limits)
    if routed:
        chains = {"j": chain(["j"], open_class(5.0), ("j", "q"))}
        ways = [route(("j", "q"), None, 1.0)]
        model = network({}, door, chains=chains, routing=ways, regions=limits)
    found = solve(model, simulation=SETTINGS)
    assert within(found, "loss_probability[j,q]", 5 / 6)
    assert within(found, "utilization[r]", 5 / 12)
    assert found["waiting_time[r]"] == 0.0


def test_customers_lost_at_a_region_do_not_saturate_the_stations_behind_it() -> None:
    """A third passes the single place (Erlang), so that 0.4 s of 1.2 s of work a second arrive."""
    stations = {"q": station(service={"j": 1.0}), "w": station(service={"j": 0.6})}
    limits = {"r": region(["q"], 1, "loss")}
    found = solve(network({"j": open_class(2.0)}, stations, regions=limits), simulation=SETTINGS)
    assert within(found, "loss_probability[r]", 2 / 3)
    assert within(found, "utilization[w]", 0.4)
    stations["w"] = station(service={"j": 0.6, "k": 0.5})
    both = network({"j": open_class(2.0), "k": open_class(2.5)}, stations, regions=limits)
    with pytest.raises(NoAnswerError, match=r"station w is saturated: arrivals need 1.25 s"):
        solve(both)


def test_customers_that_abandon_a_region_do_not_saturate_it() -> None:
    """Birth and death of the number present: the second of two inside abandons, others wait before
    the region without a limit.
    """
    impatient = station(service={"j": 1.0}, patience={"j": 0.1})
    model = network({"j": open_class(5.0)}, {"q": impatient}, regions={"r": region(["q"], 2)})
    weights = [1.0] + [5.0 * (5 / 11) ** n for n in range(60)]
    found, empty = solve(model, simulation=SETTINGS), 1 / sum(weights)
    before = sum((n - 2) * weight for n, weight in enumerate(weights) if n > 2) * empty
    assert within(found, "throughput[j]", 1 - empty)
    assert within(found, "waiting_time[r]", before / 5.0)


def test_a_lost_customer_does_not_come_back_at_the_same_instant() -> None:
    jobs = {"a": closed_class(3)}
    stations = {name: station(demand={"a": 1.0}) for name in ("cpu", "disk")}
    model = network(jobs, stations, regions={"r": region(["cpu", "disk"], 2, "loss")})
    with pytest.raises(NoAnswerError, match="a cycle of a may begin at r, which may be full"):
        solve(model, method=SIMULATION)


def test_faults_of_regions_are_named() -> None:
    with pytest.raises(ModelFaultsError) as caught:
        limited(
            {
                "cpu": region(["cpu"], 1),
                "r": region(["cpu", "dsk", "net", "net"], 2),
                "none": region([], 2),
            }
        )
    assert [str(fault.message) for fault in caught.value.faults] == [
        "cpu is the name of a station, too; call the region something else",
        "cpu is in a region already: cpu",
        "there is no station 'dsk'; did you mean 'disk'?",
        "net is in a region already: r",
        "region none has no stations; list some",
    ]
    with pytest.raises(
        ModelFaultsError,
        match="a cycle of c would end inside the region r; choose a reference outside of it",
    ):
        central("cpu", ["cpu", "disk"])
    with pytest.raises(
        ModelError, match="a full region cannot have the blocking 'los'; did you mean 'loss'"
    ):
        region(["cpu"], 1, "los")


def test_a_file_of_a_network_has_its_regions() -> None:
    model = limited({"r": region(["cpu", "disk"], 2), "s": region(["tape"], 1, "loss")})
    assert network_data(model)["regions"] == {
        "r": {"stations": ["cpu", "disk"], "capacity": 2},
        "s": {"stations": ["tape"], "capacity": 1, "blocking": "loss"},
    }


def _throughput_of_cell(customers: int, places: int) -> float:
    """Return the throughput of `cell` from its balance equations: customers outside, those at the
    saw that are not done, whether one is blocked there, and those at the drill.
    """
    states = [
        (outside, cut, blocked, drilled)
        for outside in range(customers + 1)
        for cut in range(places + 1)
        for blocked in (0, 1)
        for drilled in (0, 1)
        if drilled >= blocked
        and cut + blocked + drilled <= places
        and outside + cut + blocked + drilled <= customers
        and (not outside or cut + blocked + drilled == places)
    ]
    number = {state: index for index, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for outside, cut, blocked, drilled in states:
        source = number[outside, cut, blocked, drilled]
        inside = cut + blocked + drilled
        if thinking := customers - outside - inside:
            come = (outside, cut + 1) if inside < places else (outside + 1, cut)
            rates[source, number[*come, blocked, drilled]] += thinking / 1.0
        if cut and not blocked:
            done = (1, 1) if drilled else (0, 1)
            rates[source, number[outside, cut - 1, *done]] += 1 / 0.5
        if drilled:
            enters = int(outside > 0)
            left = number[outside - enters, cut + enters, 0, blocked]
            rates[source, left] += 1 / 0.4
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[-1] = 1.0
    probability = np.linalg.solve(balance, np.eye(len(states))[-1])
    drilling = sum(probability[number[state]] for state in states if state[3])
    return float(drilling / 0.4)


def _cell(customers: int, places: int) -> QueueingNetwork:
    """Return a saw and a drill with one place, in a region with a queue before it."""
    return network(
        {"parts": closed_class(customers, think_time=1.0)},
        {
            "saw": station(service={"parts": 0.5}),
            "drill": station(service={"parts": 0.4}, capacity=1, blocking="after-service"),
        },
        regions={"cell": region(["saw", "drill"], places)},
    )


@pytest.mark.turns(6)
@pytest.mark.parametrize("places", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["plain", "compiled"][: 1 + AVAILABLE])
def test_a_station_inside_a_region_blocks_another_one_inside(places: int, kernel: str) -> None:
    run = Simulation(seed=31, cycles=20_000, level=0.999, kernel=kernel)
    answer = solve(_cell(4, places), method=SIMULATION, simulation=run)
    low, high = answer.ends("throughput[parts]")
    assert low is not None
    assert high is not None
    assert high - low < 0.2
    assert low <= _throughput_of_cell(4, places) <= high


def test_customers_outside_a_region_occupy_no_station_in_which_they_could_be_blocked() -> None:
    stations = {
        "saw": station(service={"parts": 0.5}),
        "drill": station(service={"parts": 0.4}, capacity=1, blocking="after-service"),
    }
    for inside, entered in ((["drill"], "drill"), (["saw", "drill"], "drill")):
        visits = {"parts": 0.5} if len(inside) == 2 else {}
        model = network(
            {"parts": closed_class(3, think_time=1.0)},
            {**stations, "saw": station(service={"parts": 0.5}, visits=visits)},
            regions={"cell": region(inside, 2)},
        )
        words = (
            f"customers enter the region cell at {entered}, which blocks when it is full; let them"
            f" enter at a station without blocking, or leave {entered} out of the region"
        )
        with pytest.raises(NoAnswerError, match=words):
            solve(model, method="simulation")
