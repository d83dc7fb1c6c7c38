"""Servers by a schedule: against the differential equations of the queue, in both kinds of model
and by both kernels, and with a schedule of one part against the station without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

from slipstick import (
    Answer,
    Model,
    QueueingNetwork,
    Simulation,
    Station,
    delay,
    dump,
    grouped_model,
    load,
    network,
    open_class,
    open_model,
    pick,
    service,
    solve,
    station,
)
from slipstick.errors import ModelError, NoAnswerError, SpecError
from slipstick.expression.nodes import RATE, TIME, Parameter
from slipstick.late import Array
from slipstick.method.names import names_of
from slipstick.model.network import chain, route
from slipstick.model.system import ArrivalPattern
from slipstick.report.answer import answer_text
from slipstick_chains.breakdowns import model_with_breakdowns, network_with_breakdowns
from slipstick_chains.schedules import model_with_schedules, network_with_schedules

PROFILE = ((20.0, 0.5), (10.0, 1.2))
SCHEDULE = ((10.0, 1), (15.0, 2), (5.0, 0))
SHIFTS = ((0.0, 1), (10.0, 2), (25.0, 0))
"""When each part of the schedule begins, and its servers."""

MOST = 120
"""Customers of the differential equations; more are there with a probability below 1e-9."""

SETTINGS = Simulation(seed=5, precision=0.01, events=2_000_000)


def shop(schedule: tuple[tuple[float, int], ...] = SCHEDULE) -> QueueingNetwork:
    rate = sum(duration * rate for duration, rate in PROFILE) / 30.0
    desk = network(
        {"web": open_class(rate, profile=PROFILE)}, {"desk": station(service={"web": 1.0})}
    )
    return network_with_schedules(desk, {"desk": schedule})


def visits(schedule: tuple[tuple[float, int], ...] = SCHEDULE) -> Model:
    rate = sum(duration * rate for duration, rate in PROFILE) / 30.0
    desk = open_model(
        service("desk", 1.0, scv=1.0),
        Parameter("population.arrivals", RATE, rate),
        pattern=ArrivalPattern(profile=PROFILE),
    )
    return model_with_schedules(desk, {"desk": schedule})


def mean_of_a_period(profile: tuple[tuple[float, float], ...] = PROFILE) -> float:
    """Compute the mean number present over a period, by matrix exponentials of each part."""
    marks = sorted({0.0, 10.0, 20.0, 25.0, 30.0})
    step, size = 0.25, MOST + 1
    matrices = []
    for start, end in pairwise(marks):
        rates = [piece for at, piece in zip((0.0, 20.0), profile, strict=True) if at <= start]
        servers = [count for at, count in SHIFTS if at <= start]
        generator = np.zeros((size, size))
        for present in range(size):
            if present < MOST:
                generator[present, present + 1] = rates[-1][1]
            if present:
                generator[present, present - 1] = min(present, servers[-1])
        generator -= np.diag(generator.sum(axis=1))
        matrices += [expm(generator * step)] * round((end - start) / step)
    chances = np.linalg.matrix_power(np.linalg.multi_dot(matrices), 400)[0]
    lengths = []
    for matrix in matrices:
        following: Array = chances @ matrix
        lengths.append((chances + following) @ np.arange(size) / 2)
        chances = following
    return float(np.mean(lengths))


def is_near(answer: Answer, name: str, truth: float) -> bool:
    value = answer.values[name]
    assert value.value is not None
    assert value.high is not None
    assert value.high - value.value < 0.08 * value.value
    return abs(value.value - truth) <= 2 * (value.high - value.value)


@pytest.fixture(scope="module")
def length() -> float:
    return mean_of_a_period()


@pytest.mark.turns(4)
@pytest.mark.parametrize("kernel", ["plain", "compiled"])
def test_a_network_follows_the_equations(length: float, kernel: str) -> None:
    events = 60_000 if kernel == "plain" else 2_000_000
    settings = Simulation(seed=5, precision=0.01, events=events, kernel=kernel)
    answer = solve(shop(), simulation=settings)
    assert is_near(answer, "queue_length[web,desk]", length)
    # Little's law over whole periods: the mean rate of arrivals is 22 customers in 30 s.
    assert is_near(answer, "response_time[web]", length * 30 / 22)
    assert is_near(answer, "queue_length[desk]", length)
    assert is_near(answer, "amount[busy_desk]", 22 / 40)
    assert answer["amount[on_duty_desk]"] == pytest.approx(40 / 30)


@pytest.mark.turns(4)
def test_an_activity_follows_them_too(length: float) -> None:
    answer = solve(visits(), simulation=SETTINGS)
    assert is_near(answer, "time[customers]", length * 30 / 22)
    assert is_near(answer, "queue_length[desk]", length)
    assert is_near(answer, "amount[busy_desk]", 22 / 40)
    # A customer is served for 1 s, by two servers at most.
    assert is_near(answer, "utilization[desk]", 22 / 30 / 2)
    assert is_near(answer, "wait[desk]", length * 30 / 22 - 1)


@pytest.mark.turns(6)
def test_the_first_rank_does_not_see_the_others(length: float) -> None:
    """At a station that interrupts, customers of the first rank are served as if alone."""
    first = service("desk", 1.0, scv=1.0, rank=3)
    later = service("desk", 0.5, name="later", scv=1.0, rank=4)
    model = grouped_model(
        {
            "first": (Parameter("many", RATE, 22 / 30), first, ArrivalPattern(profile=PROFILE)),
            "later": (Parameter("few", RATE, 0.2), later),
        },
        resources={"desk": Station(1, "priority-preemptive")},
    )
    answer = solve(model_with_schedules(model, {"desk": SCHEDULE}), simulation=SETTINGS)
    assert is_near(answer, "time[first]", length * 30 / 22)


@pytest.mark.turns(4)
def test_a_schedule_of_one_part_is_the_station_without_it() -> None:
    scheduled = solve(shop(((30.0, 2),)), simulation=SETTINGS)
    plain = network(
        {"web": open_class(22 / 30, profile=PROFILE)},
        {"desk": station(service={"web": 1.0}, servers=2)},
    )
    unscheduled = solve(plain, simulation=SETTINGS)
    name = "response_time[web]"
    assert scheduled[name] == pytest.approx(unscheduled[name], rel=0.02)


def test_a_load_beyond_the_servers_on_duty_is_refused() -> None:
    short_day = ((20.0, 1), (10.0, 0))
    of_network = (
        "station desk is saturated: arrivals need 0.733333 s of service a second, and it"
        " gives less than 0.666667, for on average 0.333333 of 1 servers are broken or off duty;"
        " lower the arrivals, shorten the demand, or add servers"
    )
    with pytest.raises(NoAnswerError, match=re.escape(of_network)):
        solve(shop(short_day))
    of_activity = "station desk is saturated: 0.733333/s arrive, fewer than 0.6667/s can be served"
    with pytest.raises(NoAnswerError, match=re.escape(of_activity)):
        solve(visits(short_day))


@pytest.mark.parametrize("build", [shop, visits])
def test_answers_are_of_customers_alone(build: Callable[[], Model | QueueingNetwork]) -> None:
    """Servers off duty have no value, column or name of a value, and none of the text."""
    model = build()
    answer = solve(model, simulation=Simulation(seed=1, events=20_000))
    names = [*answer.names, *names_of(model)]
    assert "throughput[web]" in names or "throughput[customers]" in names
    text = answer_text(answer, in_full=True)
    if isinstance(model, Model):
        assert {"time", "throughput"} <= {*names}
    for word in ("off_desk", "on_desk", "off desk", "on desk", "on-desk"):
        assert word not in text
        assert [name for name in names if word in name] == []
    assert answer.groups == ()
    assert sum(answer.account.values()) > 0


@pytest.mark.parametrize("name", ["off_desk_1", "on_desk_1"])
def test_a_name_that_stands_for_servers_off_duty_is_refused(name: str) -> None:
    desk = {"desk": station(service={name: 1.0, "off_desk_2": 1.0})}
    both = network({name: open_class(0.1), "off_desk_2": open_class(0.1)}, desk)
    message = f"slipstick calls servers of desk that are away {name}, a name that the model has too"
    with pytest.raises(ModelError, match=message):
        network_with_schedules(both, {"desk": ((8.0, 1), (1.0, 0))})
    model = open_model(service("desk", 1.0) >> service("off_desk_1", 1.0), 0.1)
    with pytest.raises(ModelError, match="that are away off_desk_1, a name that the model has"):
        model_with_schedules(model, {"desk": ((8.0, 1), (1.0, 0))})


@pytest.mark.turns(4)
def test_processors_beside_a_stream_use_servers_by_a_schedule() -> None:
    """Processors that are served elsewhere change nothing for the stream."""
    model = grouped_model(
        {
            "workers": (2, delay(3.0, name="think", scv=1.0) >> service("other", 1.0, scv=1.0)),
            "visits": (
                Parameter("rate", RATE, 22 / 30),
                service("desk", 1.0, scv=1.0),
                ArrivalPattern(profile=PROFILE),
            ),
        }
    )
    scheduled = solve(model_with_schedules(model, {"desk": SCHEDULE}), simulation=SETTINGS)
    alone = solve(visits(), simulation=SETTINGS)
    assert scheduled["time[visits]"] == pytest.approx(alone["time[customers]"], rel=0.05)


NETWORK = """
queueing-network: 1
classes: {calls: {arrivals: 1 /min}}
stations:
  desk:
    service: {calls: 30 s}
    schedule: [{lasts: 8 h, servers: 1}, {lasts: 16 h, servers: 2}]
"""
ACTIVITY = """
activity: 1
population: {arrivals: 1 /min}
resources:
  desk: {schedule: [{lasts: 8 h, servers: 1}, {lasts: 16 h, servers: 2}]}
cycle: [{service: desk, time: 30 s}]
"""
SAID = "the schedule says how many servers there are; leave servers out"
ARRIVE = (
    "a schedule of servers needs customers that arrive, whose response times are means over whole"
    " periods; write arrivals, or compare the parts of the period one by one"
)
RESUMES = (
    "the end of a shift interrupts a service, which is resumed later, at stations with the"
    " discipline fcfs or priority-preemptive; desk has ps"
)
COUNTS = (
    "desk cannot have a schedule with a capacity: a server off duty would count among the customers"
    " present"
)
FITS = " lasts 32400 s and the schedule of servers 86400 s; give both the same period"
PATTERN = (
    "beside a schedule of servers, customers arrive as Poisson or by a profile; customers has"
    " another pattern"
)
SHORT_DAY = "profile: [{lasts: 9 h, rate: 1 /s}], arrivals: 1"


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (NETWORK, "30 s}", "30 s}\n    servers: 2", SAID),
        (ACTIVITY, "{schedule", "{servers: 2, schedule", SAID),
        (NETWORK, "arrivals: 1 /min", "population: 3", ARRIVE),
        (ACTIVITY, "arrivals: 1 /min", "processors: 3", ARRIVE),
        (NETWORK, "calls: 30 s}", "calls: 30 s}\n    discipline: ps", RESUMES),
        (ACTIVITY, "{schedule", "{discipline: ps, schedule", RESUMES),
        (NETWORK, "calls: 30 s}", "calls: 30 s}\n    capacity: 9", COUNTS),
        (NETWORK, "arrivals: 1", SHORT_DAY, f"the profile of calls{FITS}"),
        (ACTIVITY, "arrivals: 1", SHORT_DAY, f"the profile of customers{FITS}"),
        (ACTIVITY, "arrivals: 1 /min", "arrivals: 1 /min, arrivals_scv: 2", PATTERN),
        (
            NETWORK,
            "servers: 1}, {lasts: 16 h, servers: 2}",
            "servers: 0}",
            "the schedule of desk has no part with a server; give it one",
        ),
        (
            NETWORK,
            "calls: 30 s}",
            "calls: 30 s}\n    breakdown: {every: 5 h, repair: 1 h}",
            "stations.desk.schedule: desk has a schedule and a breakdown: servers off duty would",
        ),
        (
            ACTIVITY,
            "[{service: desk, time: 30 s}]",
            "[{attempt: [{service: desk, time: 30 s}], timeout: 9 s}]",
            "desk cannot have a schedule with an attempt: a server off duty would count among",
        ),
        (NETWORK, "servers: 1}", "servers: -1}", "schedule.0.servers"),
        (NETWORK, "lasts: 8 h", "lasts: 0 h", "must be more than 0 s"),
    ],
)
def test_what_a_schedule_cannot_be_is_refused_by_name(
    tmp_path: Path, text: str, old: str, new: str, message: str
) -> None:
    assert old in text
    path = tmp_path / "model.yaml"
    path.write_text(text)
    load(str(path))
    path.write_text(text.replace(old, new))
    with pytest.raises(SpecError, match=re.escape(message)):
        load(str(path))


def test_schedules_of_two_stations_have_one_period() -> None:
    both = network(
        {"web": open_class(0.1)},
        {"desk": station(service={"web": 1.0}), "till": station(service={"web": 1.0})},
    )
    with pytest.raises(
        ModelError,
        match="all schedules of servers last equally long, but that of desk 8 s, that of till 9 s",
    ):
        network_with_schedules(both, {"desk": ((8.0, 1),), "till": ((9.0, 1),)})


def test_a_breakdown_and_a_schedule_of_an_activity_exclude_each_other() -> None:
    stream = (Parameter("rate", RATE, 0.1), service("desk", 1.0), ArrivalPattern())
    workers = (1, delay(3.0, name="think") >> service("desk", 1.0, name="work"))
    model = grouped_model({"workers": workers, "visits": stream})
    breakdown = {"desk": (Parameter("up", TIME, 100.0), Parameter("down", TIME, 1.0))}
    with pytest.raises(ModelError) as raised:
        model_with_schedules(model_with_breakdowns(model, breakdown), {"desk": SCHEDULE})
    assert str(raised.value) == (
        "desk has a schedule and a breakdown: servers off duty would fail in place of those on "
        "duty; leave one of them out"
    )


def test_patience_keeps_a_desk_with_shifts_from_saturation() -> None:
    """Customers that abandon the queue are no load, and the servers off duty never abandon it."""
    desk = station(service={"web": 1.0}, patience={"web": 2.0})
    model = network_with_schedules(
        network({"web": open_class(3.0)}, {"desk": desk}), {"desk": SCHEDULE}
    )
    answer = solve(model, simulation=Simulation(seed=1, events=200_000))
    lost, served = answer["abandonment[web,desk]"], answer["throughput[web]"]
    assert lost is not None
    assert served is not None
    assert served == pytest.approx(3.0 * (1 - lost), rel=0.03)
    assert answer["utilization[desk]"] == pytest.approx(served / 2, rel=0.03)


def test_answers_say_that_servers_follow_a_schedule() -> None:
    with pytest.raises(NoAnswerError, match=r"^servers follow a schedule, which the method exact"):
        solve(shop(), method="exact")


def test_routes_chosen_by_the_number_present_are_refused() -> None:
    """A server that is away would count among those present when a customer chooses."""
    stations = {name: station(service={"web": 1.0}) for name in ("door", "left", "right")}
    routes = [route(("web", "door"), ("web", name), by="shortest") for name in ("left", "right")]
    routes += [route(("web", name), None) for name in ("left", "right")]
    jobs = {"jobs": chain(["web"], open_class(0.1), ("web", "door"))}
    model = network({}, stations, chains=jobs, routing=routes)
    counted = "among the customers present"
    with pytest.raises(
        ModelError, match=f"left cannot have a schedule with routes by .* {counted}"
    ):
        network_with_schedules(model, {"left": SCHEDULE})
    times = (Parameter("up", TIME, 100.0), Parameter("down", TIME, 1.0))
    with pytest.raises(ModelError, match=f"left cannot break down with routes by .* {counted}"):
        network_with_breakdowns(model, {"left": times})
    # The station before the choice may break down.
    assert network_with_breakdowns(model, {"door": times}).absences


def test_branches_chosen_by_the_number_present_are_refused() -> None:
    model = open_model(pick(service("left", 1.0), service("right", 1.0)), 0.5)
    with pytest.raises(ModelError, match="with a pick by the number present"):
        model_with_schedules(model, {"left": SCHEDULE})


@pytest.mark.turns(4)
@pytest.mark.parametrize("text", [NETWORK, ACTIVITY])
def test_a_file_that_is_written_again_has_the_same_answer(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(text)
    model = load(str(path))
    assert isinstance(model, Model | QueueingNetwork)
    written = tmp_path / "again.yaml"
    written.write_text(dump(model))
    assert "schedule:" in dump(model)
    settings = Simulation(seed=1, events=20_000)
    assert solve(written, simulation=settings).values == solve(model, simulation=settings).values


def test_methods_refuse_a_schedule_in_its_own_words() -> None:
    for method in ("closed-form", "mean-value", "markov-chain"):
        with pytest.raises(NoAnswerError) as refusal:
            solve(visits(), method=method)
        assert str(refusal.value) == (
            f"{method} cannot solve a profile over time (rates of arrivals, or numbers of servers,"
            " that follow the parts of a day); simulation can"
        )
