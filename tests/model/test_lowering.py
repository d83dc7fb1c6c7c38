"""A network and the activity that it is written as mean the same: exact solver, chains and plans of
the simulator, each by its own code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slipstick import load, solve
from slipstick.errors import NoAnswerError
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.method.simulation.flatten import flatten
from slipstick.model.network import (
    ClosedClass,
    QueueingNetwork,
    chain,
    closed_class,
    network,
    open_class,
    region,
    route,
    station,
)
from slipstick.model.steps import steps
from slipstick.model.system import INFINITE
from slipstick.sim.plan.plan import Op, Plan
from slipstick.vocabulary import DISCIPLINES, MARKOV_CHAIN, MEAN_VALUE
from slipstick_chains.lowering import lower_network
from tests.schema.kinds.test_queueing import NETWORKS

REFUSED = {
    "bolch-10-19": "one blocks when it is full",
}
MIXED = ("bolch-8-6", "lazowska-mixed", "lazowska-open-classes", "schwetman-mixed")
"""Several streams, or streams beside closed classes, which only simulation solves as an
activity."""

SHIPPED = [name.removeprefix("queueing/").removesuffix(".yaml") for name in NETWORKS]
LOWERED = [name for name in SHIPPED if name not in REFUSED]
ONE_VISIT_AT_MOST = [
    *("autoscaled-service", "bolch-8-1", "bolch-8-3", "bolch-8-4", "bolch-8-5", "consumers"),
    *("lazowska-closed-classes", "schwetman-terminals", "three-tier"),
    *("work-and-lock", "work-and-two-stations"),
]


def loaded(name: str) -> QueueingNetwork:
    model = load(name)
    assert isinstance(model, QueueingNetwork)
    return model


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", [name for name in LOWERED if name not in MIXED])
def test_the_square_commutes_for_every_shipped_network(name: str) -> None:
    model = loaded(name)
    by_network, by_activity = solve(model), solve(lower_network(model), method=MEAN_VALUE)
    assert (by_network.exact, by_activity.exact) == (True, True)
    both = set(by_network.values) & set(by_activity.values)
    assert {f"queue_length[{each}]" for each in model.stations} & both
    for value in both:
        assert by_activity[value] == pytest.approx(by_network[value], rel=1e-9, abs=1e-12), value
    thinking = by_activity.account.get("think", 0.0)
    response_time = by_network[f"response_time[{next(iter({**model.classes, **model.chains}))}]"]
    assert response_time is not None
    assert by_activity["time"] == pytest.approx(response_time + thinking, rel=1e-9)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_activities_have_no_words_for_is_refused_by_name(name: str) -> None:
    with pytest.raises(NoAnswerError) as caught:
        lower_network(loaded(name))
    assert str(caught.value) == f"{name} cannot be written as an activity: {REFUSED[name]}"


def shape(plan: Plan) -> tuple[object, ...]:
    """Return a plan without names; a network that never thinks says where its responses begin."""
    delays = [
        number for number, each in enumerate(plan.stations) if each.servers >= INFINITE
    ]  # stations of activities, which have values; networks keep no station
    code = [
        "DELAY" if row[0] == Op.SERVE and row[1] in delays else Op(row[0]).name
        for row in plan.code
        if row[0] != Op.START_RESPONSE
    ]
    draws = [draw.distribution for draw in plan.draws]
    groups = [(group.kind, len(group.starts)) for group in plan.groups]
    stations = [each for number, each in enumerate(plan.stations) if number not in delays]
    return code, draws, groups, stations, plan.cumulative


@pytest.mark.parametrize("name", ONE_VISIT_AT_MOST)
def test_the_simulator_has_the_same_plan(name: str) -> None:
    model = loaded(name)
    network_plan = flat_network(NetworkLayout(model), {}).plan
    assert shape(flatten(lower_network(model)).plan) == shape(network_plan)


RATES = (0.8, 2.0, 1.5)
WITH_RATES = [(name, rates) for name in DISCIPLINES if name != "is" for rates in ((), RATES)]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("discipline", "rates"), WITH_RATES)
def test_both_chains_agree_without_product_form(discipline: str, rates: tuple[float, ...]) -> None:
    if discipline == "random":  # the chain of networks has no such order with rates
        rates = ()
    members = {"a": closed_class(2, think_time=1.0), "b": closed_class(2)}
    ranks = {"a": 1, "b": 0} if DISCIPLINES[discipline].ranked else {}
    model = network(
        members,
        {
            "cpu": station(
                service={"a": 1.0, "b": 0.4},
                visits={"a": 2.5, "b": 0.5},
                discipline=discipline,
                priority=ranks,
                rates=rates,
            ),
            "disk": station(demand={"a": 0.5, "b": 2.0}, servers=2),
            "pause": station(demand={"b": 1.0}, discipline="is"),
        },
    )
    by_network, by_activity = (
        solve(each, method=MARKOV_CHAIN) for each in (model, lower_network(model))
    )
    for value in (
        *("throughput[a]", "throughput[b]", "utilization[cpu]", "queue_length[cpu]"),
        *("queue_length[disk]", "utilization[disk]", "queue_length[pause]"),
    ):
        assert by_activity[value] == pytest.approx(by_network[value], rel=1e-8), value


def test_streams_keep_their_bursts_and_batches() -> None:
    stations = {"cpu": station(demand={"a": 0.01}, discipline="ps")}
    bursty = open_class(20.0, burst_arrivals=60.0, burst_time=1.0, quiet_time=9.0)
    for members in (bursty, open_class(10.0, batch=3), open_class(10.0, trace=[1.0, 2.0])):
        model = network({"a": members}, stations)
        found, truth = (
            flatten(lower_network(model)).plan,
            flat_network(NetworkLayout(model), {}).plan,
        )
        assert found.draws[-1].distribution == truth.draws[-1].distribution


def test_a_class_that_may_pass_a_region_by_holds_a_permit_only_inside() -> None:
    stations = {
        "cpu": station(service={"a": 1.0}, visits={"a": 0.5}),
        "disk": station(service={"a": 1.0}, visits={"a": 0.25}),
    }
    regions = {"r": region(["cpu", "disk"], 1)}
    (cycle,) = lower_network(network({"a": closed_class(1)}, stations, regions=regions)).bodies
    (choice,) = cycle.children
    here, past = choice.children
    assert [node.uses for node in steps(here)] == [("r",), (), ("cpu",), (), ("disk",), ()]
    assert [node.uses for node in steps(past)] == [(), (), ("r",), (), ("disk",), ()]


LOSSES: dict[str, dict[str, Any]] = {
    "patience": {"patience": {"a": 0.8}},
    "a capacity": {"capacity": 2},
    "both": {"patience": {"a": 0.8}, "capacity": 3},
    "patience and rates": {"patience": {"a": 0.8}, "rates": (0.8, 1.5), "servers": 1},
    "a capacity of some visits": {"capacity": 2, "visits": {"a": 0.6}},
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", LOSSES)
def test_customers_that_are_lost_at_the_last_station_are_those_of_attempts(name: str) -> None:
    last = station(**{"service": {"a": 1.0}, "servers": 2, **LOSSES[name]})
    stations = {"first": station(service={"a": 0.4}), "last": last}
    model = network({"a": closed_class(4, think_time=1.5)}, stations)
    by_network, by_activity = (
        solve(each, method=MARKOV_CHAIN) for each in (model, lower_network(model))
    )
    for value in ("queue_length[first]", "queue_length[last]", "utilization[last]"):
        assert by_activity[value] == pytest.approx(by_network[value], rel=1e-8), value


def test_losses_that_activities_have_no_words_for_are_refused_by_name() -> None:
    patient = station(service={"a": 1.0}, patience={"a": 2.0})
    plain = station(service={"a": 1.0})
    repeated = station(service={"a": 1.0}, patience={"a": 2.0}, visits={"a": 3.0})
    skips = (
        "network cannot be written as an activity: one has patience, and a customer of a that "
        "is lost there skips the visits that follow; visit it once, as the last station"
    )
    for stations in ({"one": patient, "two": plain}, {"one": repeated}):
        with pytest.raises(NoAnswerError) as caught:
            lower_network(network({"a": closed_class(2, think_time=1.0)}, stations))
        assert str(caught.value) == skips


def routed(seed: int, members: Any, discipline: str, service_of_b: float) -> QueueingNetwork:
    """Draw routes among the places of two classes at three stations; each leads anywhere."""
    random = np.random.default_rng(seed)
    names = ("one", "two", "three")
    places = [(label, name) for label in "ab" for name in names]
    stations = {
        name: station(
            discipline=discipline if name == "one" else "ps",
            service={"a": 1.0, "b": service_of_b},
            priority={"a": 1, "b": 0} if discipline == "priority" and name == "one" else None,
        )
        for name in names
    }
    back = places[0] if isinstance(members, ClosedClass) else None
    routes = []
    for index, place in enumerate(places):
        # The next place is always one of them, so that a customer may come to all.
        targets = [(index + 1) % 6, *random.choice(6, size=2, replace=False).tolist(), None]
        parts = random.dirichlet(np.ones(4)) * 0.9 + 0.025
        part_by_target: dict[Any, float] = {}
        for target, part in zip(targets, parts.tolist(), strict=True):
            to = back if target is None else places[target]
            part_by_target[to] = part_by_target.get(to, 0.0) + part
        routes += [route(place, to, part) for to, part in part_by_target.items()]
    chains = {"jobs": chain(["a", "b"], members, places[0])}
    return network({}, stations, chains=chains, routing=routes)


@pytest.mark.turns(6)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("discipline", ["fcfs", "priority", "lcfs"])
def test_routes_between_classes_are_choices_and_geometric_repetitions(
    seed: int, discipline: str
) -> None:
    model = routed(seed, closed_class(2, think_time=1.0), discipline, 0.3)
    by_network, by_activity = (
        solve(each, method=MARKOV_CHAIN) for each in (model, lower_network(model))
    )
    for value in (
        *("utilization[one]", "utilization[two]", "utilization[three]"),
        *("queue_length[one]", "queue_length[two]"),
    ):
        assert by_activity[value] == pytest.approx(by_network[value], rel=1e-7), value
    assert by_activity["throughput"] == pytest.approx(by_network["throughput[jobs]"], rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_by_routes_has_the_values_of_product_form(seed: int) -> None:
    model = routed(seed, open_class(0.05), "ps", 0.3)
    by_network, by_activity = solve(model), solve(lower_network(model), method=MEAN_VALUE)
    assert by_network.exact
    for name in ("one", "two", "three"):
        value = f"queue_length[{name}]"
        assert by_activity[value] == pytest.approx(by_network[value], rel=1e-7), value
    assert by_activity["time"] == pytest.approx(by_network["response_time[jobs]"], rel=1e-7)


def test_routes_that_activities_have_no_words_for_are_refused_by_name() -> None:
    cpu, disk = station(service={"a": 1.0}, capacity=1), station(service={"a": 1.0})
    jobs = {"jobs": chain(["a"], closed_class(3, think_time=1.0), ("a", "disk"))}
    ways = [route(("a", "disk"), ("a", "cpu"), 1.0), route(("a", "cpu"), ("a", "disk"), 1.0)]
    full = network({}, {"cpu": cpu, "disk": disk}, chains=jobs, routing=ways)
    by_state = [
        route(("a", "disk"), ("a", "cpu"), by="shortest"),
        route(("a", "disk"), ("a", "tape"), by="shortest"),
        *(route(("a", name), ("a", "disk"), 1.0) for name in ("cpu", "tape")),
    ]
    stations = dict.fromkeys(("cpu", "disk", "tape"), disk)
    chosen = network({}, stations, chains=jobs, routing=by_state)
    inside = network(
        {},
        {"cpu": disk, "disk": disk},
        chains=jobs,
        routing=ways,
        regions={"room": region(["cpu"], 1)},
    )
    for model, reason in (
        (full, "customers of jobs are lost at cpu, and follow routes"),
        (chosen, "customers of a at disk choose a route by the state"),
        (inside, "customers of jobs follow routes through region room"),
    ):
        with pytest.raises(NoAnswerError) as caught:
            lower_network(model)
        assert str(caught.value) == f"network cannot be written as an activity: {reason}"
