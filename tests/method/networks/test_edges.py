"""The edges that a solver must name: nobody, no work, too much work, numbers out of range; by
every method.
"""

from __future__ import annotations

import pytest

from slipstick import QueueingNetwork, Simulation, network, solve
from slipstick.errors import NoAnswerError
from slipstick.method.methods import compute_answers
from slipstick.model.network import chain, closed_class, open_class, route, station

EXACT = ("exact", "convolution", "markov-chain")
EVERY = (*EXACT, "schweitzer", "linearizer")
NO_TIME = "a cycle of j takes no time: all its demands and its think time are 0"
FULL = (
    "cpu has a capacity, and the bounds do not cover loss or blocking; ask for markov-chain or"
    " simulation"
)


def said(model: QueueingNetwork, method: str) -> dict[str, float | None]:
    (answer,) = compute_answers(model, {}, method, Simulation(seed=1))
    assert answer.failed is None
    return {name: each.value for name, each in answer.values.items()}


def refused(model: QueueingNetwork, method: str) -> str:
    (answer,) = compute_answers(model, {}, method, Simulation(seed=1))
    assert answer.failed is not None
    assert not answer.values
    return answer.failed


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("size", [0, 3])
def test_who_visits_nothing_only_thinks(method: str, size: int) -> None:
    found = said(network({"j": closed_class(size, think_time=2.0)}, {}), method)
    assert (found["throughput[j]"], found["response_time[j]"]) == pytest.approx((size / 2, 0))


@pytest.mark.parametrize("method", EVERY)
def test_a_station_of_no_demand_drops_out(method: str) -> None:
    one, none = station(demand={"j": 1.0}), station(demand={"j": 0.0})
    with_it = said(
        network({"j": closed_class(3, think_time=1.0)}, {"cpu": one, "idle": none}), method
    )
    without = said(network({"j": closed_class(3, think_time=1.0)}, {"cpu": one}), method)
    assert {name: with_it[name] for name in without} == pytest.approx(without, rel=1e-9)
    assert with_it["queue_length[idle]"] == 0


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", [*EVERY, "simulation", "bounds"])
def test_a_service_time_of_zero_where_a_class_never_goes_says_nothing(method: str) -> None:
    """A file generated from a matrix of times has a 0 there."""
    ways = [route(("a", "cpu"), ("b", "disk"), 1.0), route(("b", "disk"), ("a", "cpu"), 1.0)]
    found = []
    for more in ({}, {"b": 0.0}):
        stations = {"cpu": station(service={"a": 1.0, **more}), "disk": station(service={"b": 0.5})}
        users = {"users": chain(["a", "b"], closed_class(3, think_time=1.0), ("a", "cpu"))}
        found.append(
            compute_answers(
                network({}, stations, chains=users, routing=ways), {}, method, Simulation(seed=1)
            )
        )
    for without, given in zip(*found, strict=True):
        here = {name: given.values[name] for name in without.values}
        assert {name: (each.value, each.low) for name, each in here.items()} == {
            name: (each.value, each.low) for name, each in without.values.items()
        }
    note = "no route takes b to cpu, so its service time of 0 there has no effect"
    assert (note in found[1][0].notes) == (method != "bounds")


def test_an_arriving_customer_is_at_least_as_long_as_its_demand_at_full_speed() -> None:
    """A station that is faster with several present serves one in less than its demand."""
    pool = station(rates=[0.5, 4], discipline="ps", demand={"jobs": 1.0, "guests": 1.0})
    model = network(
        {"jobs": closed_class(1, think_time=1.0), "guests": open_class(1.0)}, {"pool": pool}
    )
    (bounds,) = compute_answers(model, {}, "bounds", Simulation(seed=1))
    for method in EXACT:
        assert said(model, method)["throughput[jobs]"] == pytest.approx(0.5076923, abs=1e-7)
        assert (said(model, method)["response_time[guests]"] or 0) >= (
            bounds.values["response_time[guests]"].low or 1
        )


@pytest.mark.parametrize("method", [*EVERY[:2], "schweitzer", "linearizer", "simulation", "bounds"])
def test_a_cycle_of_no_time_is_refused(method: str) -> None:
    assert (
        refused(network({"j": closed_class(3)}, {"cpu": station(demand={"j": 0.0})}), method)
        == NO_TIME
    )


@pytest.mark.parametrize("method", [*EVERY, "simulation", "bounds"])
@pytest.mark.parametrize("rate", [1.0, 1.5])
def test_a_saturated_station_is_named_with_its_load_and_limit(method: str, rate: float) -> None:
    model = network({"j": open_class(rate)}, {"cpu": station(demand={"j": 1.0})})
    assert refused(model, method).startswith(
        f"station cpu is saturated: arrivals need {rate:g} s of service a second"
    )


def test_a_station_all_but_saturated_has_an_answer() -> None:
    rate = 1 - 1e-12
    model = network({"j": open_class(rate)}, {"cpu": station(demand={"j": 1.0})})
    assert said(model, "exact")["response_time[j]"] == pytest.approx(1 / (1 - rate))


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", [*EVERY, "simulation", "bounds"])
@pytest.mark.parametrize("demand", [1e-320, 1e-300, 1e308])
def test_numbers_whose_products_leave_the_range_are_refused(method: str, demand: float) -> None:
    model = network(
        {"j": closed_class(4)},
        {"cpu": station(demand={"j": demand}), "disk": station(demand={"j": 1.0})},
    )
    # Simulation is the last method that a refusal names.
    assert (
        refused(model, method).removesuffix("; no other method has an answer here")
        == "stations.cpu.demand.j must be 0 or from 1e-150 to 1e+150 in base units, got"
        f" {demand:g}; beyond that products of numbers leave the range of doubles"
    )


def test_numbers_near_the_ends_of_the_range_are_not() -> None:
    for demand in (1e-150, 1e150):
        model = network(
            {"j": closed_class(4)},
            {"cpu": station(demand={"j": demand}), "disk": station(demand={"j": demand})},
        )
        for method in EVERY[:2]:
            assert said(model, method)["throughput[j]"] == pytest.approx(0.8 / demand)


@pytest.mark.parametrize("stream", [True, False])
def test_bounds_know_nobody_who_is_lost(stream: bool) -> None:
    members = open_class(1.5) if stream else closed_class(5, think_time=1.0)
    assert (
        refused(network({"j": members}, {"cpu": station(demand={"j": 1.0}, capacity=2)}), "bounds")
        == FULL
    )


@pytest.mark.turns(6)
@pytest.mark.parametrize("method", EXACT)
def test_sixty_four_servers_and_thousands_of_customers_hold(method: str) -> None:
    """The textbook recursion gives negative throughputs here; the slower station is the limit."""
    stations = {"cpu": station(demand={"j": 1.0}, servers=64), "disk": station(demand={"j": 0.02})}
    found = said(network({"j": closed_class(2000)}, stations), method)
    assert found["throughput[j]"] == pytest.approx(50.0, rel=1e-10)
    # Beside a source of 50 a second the 64 servers are M/M/64: work 50 and the few that wait.
    beside = said(network({"j": open_class(50.0)}, {"cpu": stations["cpu"]}), "exact")
    assert found["queue_length[cpu]"] == pytest.approx(beside["queue_length[cpu]"], rel=1e-10)


def test_response_times_of_classes_are_of_one_stay() -> None:
    """Little's law holds of each class: half of the customers become `b`, and take twice the part
    of the time that is spent as `b`; the answer says so.
    """
    model = network(
        {},
        {"cpu": station(service={"a": 1.0, "b": 2.0}, discipline="ps")},
        chains={"jobs": chain(["a", "b"], open_class(0.1), ("a", "cpu"))},
        routing=[
            route(("a", "cpu"), ("b", "cpu"), 0.5),
            route(("a", "cpu"), None, 0.5),
            route(("b", "cpu"), None, 1.0),
        ],
    )
    note = (
        "response times of a, b are those of one stay in the class, from a change of class"
        " or the start of a cycle; their sum may differ from that of jobs"
    )
    for method in ("exact", "markov-chain", "simulation"):
        simulation = Simulation(seed=1, events=20_000)
        (answer,) = compute_answers(model, {}, method, simulation)
        assert note in answer.notes
        for name in "ab":
            assert answer[f"queue_length[{name},cpu]"] == pytest.approx(
                (answer[f"throughput[{name}]"] or 0.0) * (answer[f"response_time[{name}]"] or 0.0),
                rel=1e-9,
            )
        times = [answer[f"response_time[{name}]"] or 0.0 for name in ("jobs", "a", "b")]
        assert times[0] == pytest.approx(times[1] + times[2] / 2, rel=0.05)


@pytest.mark.parametrize("capacity", [None, 2])
def test_a_class_without_arrivals_has_no_time_and_no_negative_wait(
    capacity: int | None,
) -> None:
    model = network(
        {"j": open_class(0.0), "k": closed_class(2, think_time=1.0)},
        {"cpu": station(service={"j": 10.0, "k": 1.0}, discipline="ps", capacity=capacity)},
    )
    (answer,) = compute_answers(model, {}, "markov-chain")
    assert answer.find("response_time[j]") is None
    assert not answer.bound
    assert answer.find("throughput[j]") == 0
    assert answer.find("response_time[k]") == pytest.approx(1.5)
    assert all(seconds >= 0 for seconds in answer.account.values())


@pytest.mark.parametrize("population", [1, 2])
def test_a_cycle_that_takes_no_time_has_no_bounds(population: int) -> None:
    stations = {"cpu": station(service={"jobs": 0.0})}
    model = network({"jobs": closed_class(population)}, stations)
    with pytest.raises(NoAnswerError, match="a cycle of jobs takes no time"):
        solve(model, method="bounds")
