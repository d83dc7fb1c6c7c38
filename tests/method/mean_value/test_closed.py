"""Closed populations: exact in product form, equal to the closed form where nothing waits;
groups against one population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from slipstick.answer import Answer
from slipstick.errors import SlipstickError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.method.methods import compute_answers
from slipstick.model.activity import barrier, choose, delay, hold, repeat, service, then
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Lock,
    Model,
    Permits,
    Resource,
    Station,
    closed_model,
    grouped_model,
)
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick.random_times import (
    Array,
)
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import KNOWN
from slipstick_chains.networks.solve import solve_markov_chain
from slipstick_mean_value import arrivals, closed, form, queues
from slipstick_mean_value.closed import Recursion
from slipstick_mean_value.form import MeanValue
from tests.every_step import every_model
from tests.simulation import solve
from tests.strategies import RESOURCES, activities, quick

POPULATIONS = np.array([1.0, 2.0, 3.0, 5.0, 10.0, 40.0])


def machine_repair(machines: int, think: float, repair: float, servers: int) -> float:
    """Return the cycle time of machines that break down, by birth and death."""
    weights = [1.0]
    for j in range(1, machines + 1):
        weights.append(weights[-1] * (machines - j + 1) / think * repair / min(j, servers))
    busy = sum(min(j, servers) * weight for j, weight in enumerate(weights)) / sum(weights)
    return machines * repair / busy


def convolved(demands: list[Fraction], think: Fraction, customers: int) -> Fraction:
    """Return the cycle time of a closed network of single servers, in fractions: G by Buzen's
    convolution.
    """
    constants = [think**n / math.factorial(n) for n in range(customers + 1)]
    for demand in demands:
        for n in range(1, customers + 1):
            constants[n] += demand * constants[n - 1]
    return customers * constants[customers] / constants[customers - 1]


def times(
    cycle: Activity, resources: Mapping[str, Resource], populations: np.ndarray = POPULATIONS
) -> list[float]:
    form = MeanValue(closed_model(cycle, 1, resources=resources))
    return [float(time) for time in form.times({"population.processors": populations})]


@pytest.mark.parametrize("servers", [1, 2, 7])
@pytest.mark.parametrize("discipline", ["fcfs", "ps"])
def test_machine_repair(servers: int, discipline: str) -> None:
    cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 2.0, scv=1.0)
    expected = [machine_repair(int(n), 9.0, 2.0, servers) for n in POPULATIONS]
    assert times(cycle, {"bus": Station(servers, discipline)}) == pytest.approx(expected, rel=1e-10)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("servers", "error"), [(1, 1e-9), (2, 0.03), (3, 0.037)])
@pytest.mark.parametrize("scv", [1.5, 4.0])
def test_machine_repair_with_services_that_vary_more_than_exponential_ones(
    servers: int, error: float, scv: float
) -> None:
    for machines, think in ((2, 1.0), (5, 4.0), (8, 4.0)):
        cycle = delay(think, name="think", scv=1.0) >> service("bus", 1.0, scv=scv)
        repair = network_arrays(
            [1.0], population=machines, think=think, servers=servers, discipline="fcfs", scv=scv
        )
        exact_time = machines / float(solve_markov_chain(repair).throughput.ravel()[0])
        (found,) = times(cycle, {"bus": Station(servers)}, np.array([float(machines)]))
        assert found == pytest.approx(exact_time, rel=error), (machines, think)


@pytest.mark.turns(4)
def test_a_thousand_machines_with_varied_services_are_bounded_by_their_work() -> None:
    cycle = delay(900.0, name="think", scv=1.0) >> service("bus", 1.0, scv=4.0)
    few, many = times(cycle, {}, np.array([300.0, 1000.0]))
    assert 901.0 < few < 905.0
    assert many == pytest.approx(1000.0, rel=0.005)


def test_a_central_server_by_convolution_in_fractions() -> None:
    disks = choose((0.25, service("fast", 3.0, scv=1.0)), (0.75, service("slow", 4.0, scv=1.0)))
    cycle: Activity = delay(5.0, name="think") >> repeat(4, service("cpu", 1.0, scv=1.0) >> disks)
    demands = [Fraction(4), Fraction(3), Fraction(12)]
    expected = [float(convolved(demands, Fraction(5), int(n))) for n in POPULATIONS]
    assert times(cycle, {}) == pytest.approx(expected, rel=1e-12)


def test_processor_sharing_depends_on_mean_services_alone() -> None:
    def cycle(scv: float) -> Activity:
        return (
            delay(2.0, name="think", scv=scv)
            >> service("cpu", 1.0, scv=scv)
            >> service("cpu", 3.0, name="b")
        )

    shared = {"cpu": Station(2, "ps")}
    assert times(cycle(0.0), shared) == times(cycle(4.0), shared)
    answer = MeanValue(closed_model(cycle(4.0), 3, resources=shared)).points({}).answer(0)
    assert answer.exact
    constant = MeanValue(closed_model(cycle(0.0), 3, resources=shared)).points({}).answer(0)
    assert not constant.exact  # product form needs something random


@pytest.mark.parametrize("servers", [1, 3])
def test_the_recursion_itself_is_exact_in_product_form(servers: int) -> None:
    cycle = delay(4.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    model = closed_model(cycle, 1, resources={"bus": Station(servers)})
    recursion = Recursion(model, [cycle])
    (solved,) = recursion.solve(MeanValue(model).numbers({}), np.array([[12]]), np.array([0]), [])
    found = [float(time[0]) for time in solved.cycle_time_by_processors]
    assert found == pytest.approx(
        [machine_repair(n, 4.0, 1.0, servers) for n in range(1, 13)], rel=1e-10
    )


def test_a_lock_held_for_an_exponential_time_is_machine_repair() -> None:
    """Issue 4's target: think time 9, critical section 1, 10 processors, within 0.5 %."""
    cycle = delay(9.0, name="work", scv=1.0) >> hold(
        "door", delay(1.0, name="crit", scv=1.0, component="lock")
    )
    answer = MeanValue(closed_model(cycle, 10)).points({}).answer(0)
    assert answer["time"] == pytest.approx(machine_repair(10, 9.0, 1.0, 1), rel=1e-12)
    assert answer.exact
    # The account books a wait to who suffers it, the share to what causes it: idea 3 of the design.
    parts = {name: seconds / 12.0187 for name, seconds in answer.account.items()}
    assert parts == pytest.approx({"busy": 0.75, "lock": 0.08, "lock:door": 0.17}, abs=0.005)
    assert answer.share["time"] == pytest.approx({"work": 0.51, "crit": 0.49}, abs=0.005)


def test_the_share_of_a_lock_is_that_of_a_station_in_its_place() -> None:
    """The critical section at a station of its own is not in product form as written, but the
    same system.
    """
    think = delay(9.0, name="work", scv=1.0)
    alone = closed_model(think >> hold("door", delay(1.0, name="crit", scv=1.0)), 10)
    there = closed_model(think >> hold("door", service("bus", 1.0, name="crit", scv=1.0)), 10)
    one, other = (MeanValue(model).points({}).answer(0) for model in (alone, there))
    assert other["time"] == pytest.approx(one["time"], rel=1e-10)
    assert dict(other.share["time"]) == pytest.approx(dict(one.share["time"]), rel=1e-8)
    assert not other.exact


@pytest.mark.turns(4)
@quick
@given(activities(depth=2))
def test_one_processor_without_randomness_takes_the_time_of_the_closed_form(
    cycle: Activity,
) -> None:
    model = closed_model(cycle, 1, resources=RESOURCES)
    plain = ClosedForm(model).points({}).answer(0)
    answer = MeanValue(model).points({}).answer(0)
    if answer.failed or not plain.exact:
        return
    assert answer["time"] == pytest.approx(plain["time"], rel=1e-9)
    assert answer.exact
    assert dict(answer.share.get("time", {})) == pytest.approx(
        dict(plain.share.get("time", {})), abs=1e-9
    )


def test_processors_that_share_nothing_take_the_time_of_the_closed_form() -> None:
    model = closed_model(delay(3.0, name="work", scv=1.0) >> service("own", 2.0), 16)
    answer = MeanValue(model).points({}).answer(0)
    assert (answer["time"], answer["speedup"], answer.exact) == (5.0, 16.0, True)


def cycle(prefix: str = "", scv: float = 0.5, think: float = 9.0) -> Activity:
    work = delay(think, name=f"{prefix}think", scv=1.0) >> service(
        "bus", 1.0, name=f"{prefix}ask", scv=scv
    )
    return work >> hold("door", delay(0.5, name=f"{prefix}crit", scv=scv))


def answer(model: Model, **values: float) -> Answer:
    found = MeanValue(model).points(values).answer(0)
    assert found.failed is None
    return found


@pytest.mark.turns(4)
@pytest.mark.parametrize("split", [(1, 8), (4, 5), (9, 0)])
@pytest.mark.parametrize("scv", [1.0, 0.5])
def test_groups_with_equal_cycles_are_one_population(split: tuple[int, int], scv: float) -> None:
    whole = answer(closed_model(cycle(scv=scv), 9))
    parts = answer(
        grouped_model({"test": (split[0], cycle(scv=scv)), "others": (split[1], cycle("o.", scv))})
    )
    assert parts["time"] == pytest.approx(whole["time"], rel=1e-9)
    assert dict(parts.account) == pytest.approx(dict(whole.account), rel=1e-9)
    assert parts["utilization[bus]"] == pytest.approx(whole["utilization[bus]"], rel=1e-7)
    assert parts["wait[door]"] == pytest.approx(whole["wait[door]"], rel=1e-6)
    assert math.fsum(parts.share["time"].values()) == pytest.approx(1.0, abs=1e-7)


def test_two_classes_in_product_form_are_those_of_the_exact_solver() -> None:
    def ask(prefix: str, think: float) -> Activity:
        return delay(think, name=f"{prefix}think", scv=1.0) >> service(
            "bus", 1.0, name=f"{prefix}ask", scv=1.0
        )

    found = answer(grouped_model({"test": (2, ask("", 3.0)), "others": (5, ask("o.", 8.0))}))
    truth = exact(
        network_arrays(np.ones((2, 1)), population=np.array([2, 5]), think=np.array([3.0, 8.0]))
    )
    assert found["throughput[test]"] == pytest.approx(truth.throughput.ravel()[0], rel=1e-9)
    assert found["throughput[others]"] == pytest.approx(truth.throughput.ravel()[1], rel=1e-9)


@pytest.mark.turns(3)
@pytest.mark.parametrize("competitors", [2, 8, 30])
def test_one_processor_among_competitors_against_simulation(competitors: int) -> None:
    test = service("bus", 1.0, name="ask", scv=0.5) >> delay(3.0, name="think", scv=1.0)
    model = grouped_model({"test": (1, test), "others": (competitors, cycle("o."))})
    found, truth = answer(model), solve(model, None, Simulation(precision=0.01, events=150_000))
    for name in ("time", "time[others]", "throughput[others]"):
        assert found[name] == pytest.approx(truth[name], rel=0.05), name


def test_groups_have_the_value_names_of_the_closed_form() -> None:
    model = grouped_model({"test": (1, cycle()), "others": (0, cycle("o."))})
    found, plain = answer(model), ClosedForm(model).points({}).answer(0)
    assert found.exact
    assert set(plain.values) - set(found.values) == {"time[others]"}
    assert found["time"] == pytest.approx(plain["time"])
    assert found["throughput[others]"] == 0
    assert dict(found.once) == dict(plain.once)
    assert set(found.account) == {"busy"}


def test_a_sweep_over_competitors_is_one_recursion_and_has_derivatives() -> None:
    form = MeanValue(
        grouped_model(
            {"test": (1, cycle()), "others": (3, cycle("o.", think=2.0))},
            resources={"bus": Station(2)},
        )
    )
    swept = form.points({"groups.others.processors": np.array([0.0, 3.0, 7.0])})
    alone = [form.times({"groups.others.processors": n})[0] for n in (0.0, 3.0, 7.0)]
    assert swept.columns()["time"].tolist() == pytest.approx(alone, rel=1e-12)
    slopes = form.points({}).answer(0).gradient["time"]
    assert "groups.others.processors" not in slopes
    up, down = form.times({"o.think": np.array([2.0 * (1 + 1e-6), 2.0 * (1 - 1e-6)])})
    assert slopes["o.think"] == pytest.approx((up - down) / 4e-6, rel=1e-4)
    assert slopes["o.think"] < 0


@pytest.mark.turns(4)
def test_populations_of_groups_solved_together_are_those_solved_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stations with one and two servers, one of them used by two of three groups; scv 4, visits in
    a row, and a load near saturation.
    """

    def cycle(name: str, stations: str) -> Activity:
        visits = (
            service(station, 0.2 + 0.1 * k, scv=4.0, name=f"{name}-{k}")
            for k, station in enumerate(stations)
        )
        return delay(1.5, scv=1.0, name=f"{name}-think") >> then(*visits)

    model = grouped_model(
        {"a": (3, cycle("a", "sst")), "b": (2, cycle("b", "ts")), "c": (4, cycle("c", "us"))},
        resources={"s": Station(), "t": Station(servers=2), "u": Station()},
    )
    together = MeanValue(model).points({}).answer(0)
    monkeypatch.setattr(closed, "MOST_AT_ONCE", 1)
    alone = MeanValue(model).points({}).answer(0)
    values = {name: value.value for name, value in alone.values.items()}
    assert {name: value.value for name, value in together.values.items()} == pytest.approx(
        values, rel=1e-12
    )
    for parameter, share in alone.share["time"].items():
        assert together.share["time"][parameter] == pytest.approx(share, rel=1e-9), parameter
    assert (values["utilization[s]"] or 0) > 0.9


def test_groups_refuse_barriers_and_too_many_populations() -> None:
    model = grouped_model(
        {"test": (1, cycle() >> barrier("meet")), "others": (3, cycle("o.") >> barrier("meet"))}
    )
    assert (
        MeanValue(model).points({}).answer(0).failed
        == "barrier meet is met by groups whose cycles differ; mean-value has no answer for that,"
        " simulation may"
    )
    many = grouped_model({"test": (300, cycle()), "others": (300, cycle("o."))}, name="many")
    assert (
        MeanValue(many).points({}).answer(0).failed
        == "mean-value goes through every population of groups up to the one asked for, 301 x 301"
        " of many; the limit is 20,000: simulate it, or allow more with --limit"
        " populations=95000 (limits: in a study, limits= in Python)"
    )
    dozen = grouped_model({f"g{n}": (1, cycle(f"g{n}.")) for n in range(12)}, name="dozen")
    sizes = " x ".join("2" * 12)
    assert MeanValue(dozen).points({}).answer(0).failed == (
        f"mean-value goes through every population of groups up to the one asked for, {sizes} "
        "of dozen, each in the time of 36 of two groups; the limit is 20,000: simulate it, or "
        "allow more with --limit populations=150000 (limits: in a study, limits= in Python)"
    )
    half = MeanValue(grouped_model({"test": (1, cycle()), "others": (2, cycle("o."))}))
    assert (
        half.points({"groups.others.processors": 1.5}).answer(0).failed
        == "mean-value counts processors one by one: the processors of group others must be a whole"
        " number from 0 to 1,000,000, got 1.5"
    )


def test_the_time_between_visits_varies_as_the_delay_does_that_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, seen = arrivals.whole_service_weight, list[float]()

    def told(utilization: Array, processors: int, scv: Array) -> Array:
        seen.append(float(np.max(scv.real)))
        return plain(utilization, processors, scv)

    monkeypatch.setattr(closed, "whole_service_weight", told)
    times(delay(3.0, name="think", scv=0.25) >> service("bus", 1.0, scv=0.5), {}, np.array([7.0]))
    assert len(seen) == 7
    assert seen == pytest.approx([0.25] * 7)


def test_groups_are_named_among_the_approximations() -> None:
    notes = answer(grouped_model({"test": (1, cycle()), "others": (3, cycle("o."))})).notes
    assert (
        "groups: an arriving processor sees the mean queues of the population with one processor"
        " fewer in its group"
    ) in notes


def _modules(count: int, body: Callable[[int], Activity]) -> Activity:
    return choose(*((1 / count, body(k)) for k in range(count)))


USE, DO = Parameter("use", TIME, 1.0), Parameter("do", TIME, 0.3)
"""Of all modules: alike ones have the same time, not only an equal one."""

FOLDS = {
    "servers": (lambda k: service(f"m{k}", USE, name=f"use{k}", scv=0.25), Station(2)),
    "varied": (lambda k: service(f"m{k}", USE, name=f"use{k}", scv=4.0), Station()),
    "sharing": (
        lambda k: repeat(2, service(f"m{k}", USE, name=f"use{k}", scv=4.0)),
        Station(1, "ps"),
    ),
    "held": (
        lambda k: hold(f"h{k}", delay(DO, name=f"do{k}") >> service(f"m{k}", USE, name=f"use{k}")),
        Station(),
    ),
    "tried again": (lambda k: hold(f"s{k}", service(f"m{k}", USE, name=f"use{k}")), Station()),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", FOLDS)
def test_alike_resources_are_lumped_into_one_without_another_answer(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, station = FOLDS[kind]
    pause = Parameter("pause", TIME, 0.2)
    resources: dict[str, Resource] = {f"m{k}": station for k in range(8)}
    resources |= {f"h{k}": Permits(2) for k in range(8)} if kind == "held" else {}
    resources |= {f"s{k}": Lock("tas", back_off="constant", base=pause) for k in range(8)}
    others = service("m9", 0.5, name="other", scv=1.0) >> delay(3.0, name="think", scv=1.0)
    cycle = (
        hold("door", _modules(8, body)) >> others if kind == "held" else _modules(8, body) >> others
    )
    model = grouped_model({"first": (4, cycle), "rest": (2, others)}, resources=resources)
    assert queues.lump_alike_resources(model.bodies, model).copies_by_resource
    lumped = MeanValue(model).points({}).answer(0, shares=kind == "servers")
    monkeypatch.setattr(queues, "LUMPED_FROM", 1000)
    plain = MeanValue(model).points({}).answer(0, shares=kind == "servers")
    assert list(lumped.steps) == list(plain.steps)
    assert list(lumped.values) == list(plain.values)
    for name, value in plain.values.items():
        assert lumped[name] == pytest.approx(value.value, rel=1e-9), name
    assert lumped.steps == pytest.approx(plain.steps, rel=1e-9)
    assert lumped.gradient.get("time", {}) == pytest.approx(
        plain.gradient.get("time", {}), rel=1e-6, abs=1e-12
    )


@pytest.mark.turns(4)
def test_what_would_take_hours_is_left_to_simulation() -> None:
    steps = [service("bus", 1.0, name=f"step-{number}") for number in range(2001)]
    long = closed_model(then(*steps), 2, resources={"bus": Station()})
    assert (
        MeanValue(long).points({}).answer(0).failed
        == "mean-value would follow 2001 visits to resources; the limit is 2,000: simulate it, or"
        " allow more with --limit visits=2100 (limits: in a study, limits= in Python)"
    )


def test_the_wait_of_visits_to_one_queue_is_computed_once_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wait at a queue in order of arrival depends on no visit of its own: with 12 steps at one
    station it was computed 12 times.
    """
    computed_visits = []
    original_wait = arrivals.ArrivalState._wait_at_visit

    def counted_wait(state, queue, visit, delays):  # type: ignore[no-untyped-def]
        computed_visits.append(visit.index)
        return original_wait(state, queue, visit, delays)

    monkeypatch.setattr(arrivals.ArrivalState, "_wait_at_visit", counted_wait)
    services = [service("disk", 0.01 * (i + 1), name=f"s{i}", scv=i % 3) for i in range(12)]
    model = closed_model(
        then(delay(1.0, name="think", scv=1.0), *services), 3, resources={"disk": Station()}
    )
    MeanValue(model).points({}).answer(0)
    assert set(computed_visits) == {computed_visits[0]}


@pytest.mark.turns(4)
def test_which_parts_are_refused_depends_on_no_number_of_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model is tried with two processors; with more of them the same models are refused."""
    models: list[Model] = []
    for title, build in every_model():
        if title.endswith("alone, 3 processors, scv 1"):
            with suppress(SlipstickError):
                models.append(build())
    models = [model for model in models if model.constructs <= KNOWN["mean-value"]]
    assert len(models) > 10
    refused_models = [MeanValue(model).refuses() for model in models]
    monkeypatch.setattr(form, "_FEW_PROCESSORS", 4.0)
    assert refused_models == [MeanValue(model).refuses() for model in models]


@pytest.mark.parametrize("scv", [0.0, 1.0])
def test_processors_with_constant_times_follow_each_other_in_step(scv: float) -> None:
    """Two of a cycle of 1.6 s never meet again, and four wait only for the 0.6 s of the others."""
    for processors, time in ((2, 1.6), (4, 2.4)):
        cycle = delay(1.0, name="think") >> service("disk", 0.6, name="read", scv=scv)
        model = closed_model(cycle, processors, resources={"disk": Station(1)})
        (answers,) = compute_answers(model, {}, "mean-value")
        answer = answers["time"]
        assert answer is not None
        assert (answer == pytest.approx(time)) == (scv == 0)
        assert answer > time * (1 - 1e-9)
