"""Servers that end the service under way before they go off duty or break down: against the
equations of the queue, in both kinds of model, by chains and both kernels.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from slipstick import (
    Model,
    QueueingNetwork,
    Simulation,
    Station,
    closed_class,
    delay,
    dump,
    grouped_model,
    load,
    network,
    open_class,
    open_model,
    service,
    solve,
    station,
)
from slipstick.errors import SpecError
from slipstick.expression.nodes import RATE, TIME, Parameter
from slipstick.model.system import ArrivalPattern
from slipstick_chains.breakdowns import model_with_breakdowns, network_with_breakdowns
from slipstick_chains.schedules import model_with_schedules, network_with_schedules
from tests.method.test_schedules import PROFILE, SCHEDULE, is_near

DESK = frozenset({"desk"})
MOST = 60


def _servers_at(time: float) -> int:
    ends = np.cumsum([duration for duration, _ in SCHEDULE])
    return SCHEDULE[int(np.searchsorted(ends, time, side="right"))][1]


def length_over_a_period() -> float:
    """Compute the mean number present, by matrix exponentials over states of the number present
    and the number in service, of whom some may be served beyond the end of a shift.
    """
    states = [(present, served) for present in range(MOST + 1) for served in range(3)]
    states = [state for state in states if state[1] <= state[0]]
    row = {state: index for index, state in enumerate(states)}
    matrices = []
    for start, end in pairwise([0.0, 10.0, 20.0, 25.0, 30.0]):
        rate, servers = PROFILE[start >= 20.0][1], _servers_at(start)
        jump, generator = np.zeros((2, len(states), len(states)))
        for (present, served), index in row.items():
            begun = max(served, min(present, servers))
            jump[index, row[present, begun]] = 1
            if begun > served:
                continue
            if present < MOST:
                next_served = max(served, min(present + 1, servers))
                generator[index, row[present + 1, next_served]] += rate
            if served:
                next_served = max(served - 1, min(present - 1, servers))
                generator[index, row[present - 1, next_served]] += served
        generator -= np.diag(generator.sum(axis=1))
        step = expm(generator * 0.25)
        matrices += [jump @ step, *[step] * (round((end - start) / 0.25) - 1)]
    chances = np.linalg.matrix_power(np.linalg.multi_dot(matrices), 400)[0]
    present_in_state = np.array([present for present, _ in states])
    lengths = []
    for matrix in matrices:
        following = chances @ matrix
        lengths.append((chances + following) @ present_in_state / 2)
        chances = following
    return float(np.mean(lengths))


@pytest.mark.turns(4)
@pytest.mark.parametrize("kernel", ["plain", "compiled"])
def test_services_go_on_beyond_a_shift(kernel: str) -> None:
    length = length_over_a_period()
    events = 100_000 if kernel == "plain" else 2_000_000
    settings = Simulation(seed=5, precision=0.01, events=events, kernel=kernel)
    stream = open_class(22 / 30, profile=PROFILE)
    desk = network({"web": stream}, {"desk": station(service={"web": 1.0})})
    visits = open_model(
        service("desk", 1.0, scv=1.0),
        Parameter("population.arrivals", RATE, 22 / 30),
        pattern=ArrivalPattern(profile=PROFILE),
    )
    by_stations = solve(network_with_schedules(desk, {"desk": SCHEDULE}, DESK), simulation=settings)
    by_steps = solve(model_with_schedules(visits, {"desk": SCHEDULE}, DESK), simulation=settings)
    for answer, time in ((by_stations, "response_time[web]"), (by_steps, "time[customers]")):
        assert is_near(answer, "queue_length[desk]", length)
        assert is_near(answer, time, length * 30 / 22)
        assert is_near(answer, "utilization[desk]", 22 / 30 / 2)
        assert answer["amount[on_duty_desk]"] == pytest.approx(40 / 30)
    assert is_near(by_steps, "wait[desk]", length * 30 / 22 - 1)


def length_with_breaks(rate: float, every: float, repair: float, most: int = 400) -> float:
    """Compute the mean number present at a server that takes breaks between services: it serves,
    serves with a break due, or is away.
    """
    size = 3 * (most + 1)
    generator = np.zeros((size, size))
    for present in range(most + 1):
        up, due, away = (3 * present + mode for mode in range(3))
        generator[up, due if present else away] += 1 / every
        generator[away, up] += 1 / repair
        if present < most:
            for state in (up, due, away):
                generator[state, state + 3] += rate
        if present:
            generator[up, up - 3] += 1.0
            generator[due, away - 3] += 1.0
    generator -= np.diag(generator.sum(axis=1))
    # No break is due while nobody is served; that state is left at once.
    generator[1] = 0.0
    generator[1, 1], generator[1, 2] = -1.0, 1.0
    system = np.vstack([generator.T, np.ones(size)])
    chances = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return float(chances @ np.repeat(np.arange(most + 1), 3))


def breaks(every: float = 5.0, repair: float = 2.0) -> dict[str, tuple[Parameter, Parameter]]:
    return {"desk": (Parameter("up", TIME, every), Parameter("down", TIME, repair))}


@pytest.mark.turns(4)
def test_a_break_waits_for_the_service_under_way() -> None:
    desk = network({"web": open_class(0.5)}, {"desk": station(service={"web": 1.0})})
    model = network_with_breakdowns(desk, breaks(), DESK)
    truth = length_with_breaks(0.5, 5.0, 2.0)
    answer = solve(model)
    assert answer.method == "markov-chain"
    assert answer["queue_length[desk]"] == pytest.approx(truth, rel=1e-5)
    assert answer["utilization[desk]"] == pytest.approx(0.5, rel=1e-6)
    assert "amount[availability_desk]" not in answer.values
    simulated = solve(model, method="simulation", simulation=Simulation(seed=3, precision=0.01))
    assert is_near(simulated, "queue_length[desk]", truth)


@pytest.mark.turns(4)
def test_a_break_that_interrupts_nobody_saturates_later() -> None:
    """With a break every second that waits for services, less time is spent away."""
    desk = network({"web": open_class(0.55)}, {"desk": station(service={"web": 1.0})})
    often = breaks(1.0, 1.0)
    assert solve(network_with_breakdowns(desk, often, DESK))["queue_length[desk]"] == pytest.approx(
        length_with_breaks(0.55, 1.0, 1.0), rel=1e-4
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("servers", [1, 2])
def test_values_of_closed_customers_are_the_same_in_both_kinds(servers: int) -> None:
    think = delay(3.0, name="think", scv=1.0)
    cycle = think >> service("desk", 1.0, name="serve", scv=1.0)
    model = grouped_model({"clerks": (4, cycle)}, resources={"desk": Station(servers)})
    by_steps = solve(model_with_breakdowns(model, breaks(), DESK), method="markov-chain")
    desk = network(
        {"clerks": closed_class(4, 3.0)},
        {"desk": station(service={"clerks": 1.0}, servers=servers)},
    )
    by_stations = solve(network_with_breakdowns(desk, breaks(), DESK), method="markov-chain")
    time = by_stations["response_time[clerks]"]
    assert time is not None
    assert by_steps["time[clerks]"] == pytest.approx(3 + time, rel=1e-9)
    assert by_steps["wait[desk]"] == pytest.approx(time - 1, rel=1e-9)
    for name in ("queue_length[desk]", "utilization[desk]"):
        assert by_steps[name] == pytest.approx(by_stations[name], rel=1e-9), name
    simulated = solve(
        model_with_breakdowns(model, breaks(), DESK),
        method="simulation",
        simulation=Simulation(seed=2, precision=0.01),
    )
    for name in ("time[clerks]", "wait[desk]", "queue_length[desk]", "utilization[desk]"):
        truth = by_steps[name]
        assert truth is not None
        assert is_near(simulated, name, truth), name


def test_rare_breaks_change_nothing() -> None:
    desk = network({"web": open_class(0.5)}, {"desk": station(service={"web": 1.0})})
    rare = solve(network_with_breakdowns(desk, breaks(1e9), DESK))
    assert rare["queue_length[desk]"] == pytest.approx(1.0, rel=1e-5)


FILE = """
queueing-network: 1
classes: {calls: {arrivals: 6 /h}}
stations:
  desk:
    service: {calls: 5 min}
    finish_service: true
    schedule: [{lasts: 8 h, servers: 1}, {lasts: 16 h, servers: 2}]
"""
STEPS = """
activity: 1
population: {processors: 3}
resources: {desk: {breakdown: {every: 2 h, repair: 15 min}, finish_service: true}}
cycle:
- {delay: 20 min, scv: 1}
- {service: desk, time: 5 min, scv: 1}
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize("text", [FILE, STEPS])
def test_a_file_is_read_and_written_again(text: str, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(text)
    model = load(str(tmp_path / "shop.yaml"))
    assert isinstance(model, Model | QueueingNetwork)
    written = dump(model)
    assert "finish_service: true" in written
    (tmp_path / "again.yaml").write_text(written)
    settings = Simulation(seed=1, events=20_000)
    first, second = (
        solve(str(tmp_path / name), method="simulation", simulation=settings)
        for name in ("shop.yaml", "again.yaml")
    )
    assert {name: value.value for name, value in first.values.items()} == {
        name: value.value for name, value in second.values.items()
    }


REFUSALS: list[tuple[str, str, str, str]] = [
    (
        FILE,
        "    schedule: [{lasts: 8 h, servers: 1}, {lasts: 16 h, servers: 2}]\n",
        "",
        "stations.desk.finish_service: no server goes away; write a schedule or a breakdown too",
    ),
    (
        FILE,
        "    service: {calls: 5 min}\n",
        (
            "    service: {calls: 5 min}\n    discipline: priority-preemptive\n"
            "    priority: {calls: 1}\n"
        ),
        (
            "the end of a shift lets a server finish its service only at stations with the"
            " discipline fcfs or priority; desk has priority-preemptive"
        ),
    ),
    (
        STEPS,
        "desk: {",
        "desk: {discipline: ps, ",
        (
            "a breakdown lets a server finish its service only at stations with the discipline"
            " fcfs or priority; desk has ps"
        ),
    ),
]


@pytest.mark.parametrize(("text", "old", "new", "message"), REFUSALS)
def test_what_cannot_finish_services_is_refused(
    text: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in text
    (tmp_path / "shop.yaml").write_text(text.replace(old, new))
    with pytest.raises(SpecError) as raised:
        load(str(tmp_path / "shop.yaml"))
    assert message in str(raised.value)


def test_ranks_of_customers_are_kept() -> None:
    """Customers of the first rank wait less, and breaks go before them."""
    streams: dict[str, Any] = {
        name: (Parameter(f"{name}-rate", RATE, 0.2), service("desk", 1.0, name=name, rank=rank))
        for name, rank in (("first", 0), ("later", 1))
    }
    model = grouped_model(streams, resources={"desk": Station(1, "priority")})
    answer = solve(
        model_with_schedules(model, {"desk": ((20.0, 1), (10.0, 0))}, DESK),
        simulation=Simulation(seed=4, events=200_000),
    )
    first, later = answer["time[first]"], answer["time[later]"]
    assert first is not None
    assert later is not None
    assert first < later
