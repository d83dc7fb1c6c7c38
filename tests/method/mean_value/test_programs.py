"""Programs of phases: T = sum over phases of the slowest processor's iterations."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from slipstick import solve
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.model.activity import barrier, delay, pipeline, service
from slipstick.model.steps import Activity
from slipstick.model.system import Station, phased_model, superstep_model
from slipstick.random_times import (
    RandomTime,
)
from slipstick_mean_value import programs
from slipstick_mean_value.form import MeanValue
from slipstick_mean_value.traversal import MOST_FOLLOWED, mean_end_times_in_order
from tests.method.mean_value.test_barriers import exact_section


def test_constant_phases_add_up_as_in_closed_form() -> None:
    model = phased_model((3, 4, delay(2.0, name="a")), (1, 1, delay(5.0, name="alone")))
    plain, answer = (form(model).points({}).answer(0) for form in (ClosedForm, MeanValue))
    assert answer["time"] == plain["time"] == 11.0
    assert answer.account == pytest.approx(dict(plain.account))
    assert answer.steps == pytest.approx(dict(plain.steps))
    assert answer.exact


def test_a_random_phase_ends_with_the_slowest() -> None:
    answer = MeanValue(phased_model((1, 4, delay(3.0, name="a", scv=1.0)))).points({}).answer(0)
    assert answer["time"] == pytest.approx(3 * (1 + 1 / 2 + 1 / 3 + 1 / 4))
    assert answer.account == pytest.approx({"busy": 3.0, "idle": 3.25})
    assert answer["processors_lost[idle]"] == pytest.approx(4 * 3.25 / 6.25)


def test_one_pass_is_a_wave() -> None:
    cycle = delay(3.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    answer = MeanValue(phased_model((1, 8, cycle))).points({}).answer(0)
    assert answer["time"] == pytest.approx(exact_section(8, 0, 3.0, 1.0), rel=0.012)


def exact_rounds(processors: int, rounds: int, times: tuple[float, float], sharing: bool) -> float:
    """Return the mean time until all have gone through two exponential stations so often: first
    steps, none goes back.

    A state has, for each station, the visits that are still to come of those present: in order, or
    of any order where they share the server.
    """

    @cache
    def left(stations: tuple[tuple[int, ...], tuple[int, ...]]) -> float:
        rate, later = 0.0, 0.0
        for at, (present, time) in enumerate(zip(stations, times, strict=True)):
            served = range(len(present)) if sharing else range(min(1, len(present)))
            for place in served:
                parts = [list(each) for each in stations]
                visits = parts[at].pop(place)
                if visits > 1:
                    parts[1 - at].append(visits - 1)
                each = [tuple(sorted(part)) if sharing else tuple(part) for part in parts]
                rate += 1 / time / len(served)
                later += left((each[0], each[1])) / time / len(served)
        return (1 + later) / rate if rate else 0.0

    return left(((2 * rounds,) * processors, ()))


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["fcfs", "ps"])
@pytest.mark.parametrize(
    ("processors", "rounds", "disk"),
    [(4, 2, 0.2), (2, 2, 0.2), (4, 4, 0.2), (4, 2, 1.0), (5, 3, 0.01)],
)
def test_iterations_of_a_phase_are_a_closed_cycle_with_a_start_and_an_end(
    processors: int, rounds: int, disk: float, discipline: str
) -> None:
    cycle = service("bus", 1.0, scv=1.0) >> service("disk", disk, scv=1.0)
    resources = {"bus": Station(1, discipline), "disk": Station(1, discipline)}
    answer = (
        MeanValue(phased_model((rounds, processors, cycle), resources=resources))
        .points({})
        .answer(0)
    )
    exact = exact_rounds(processors, rounds, (1.0, disk), discipline == "ps")
    assert answer["time"] == pytest.approx(exact, rel=0.02)
    assert math.fsum(answer.account.values()) == pytest.approx(answer["time"])
    assert min(answer.account.values()) >= 0


@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
def test_the_many_processors_of_a_phase_are_placed_at_quantiles(scv: float) -> None:
    time = RandomTime(np.ones(1), np.full(1, scv))
    followed, placed = (
        mean_end_times_in_order(time, MOST_FOLLOWED)[0],
        mean_end_times_in_order(time, MOST_FOLLOWED + 1)[0],
    )
    assert placed[[128, 200, -1]] == pytest.approx(followed[[128, 200, -1]], rel=0.03)


def test_many_iterations_tend_to_the_steady_state() -> None:
    cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    steady = 12.0187  # of ten machines under repair
    answer = MeanValue(phased_model((2000, 10, cycle))).points({}).answer(0)
    assert answer["time"] == pytest.approx(2000 * steady, rel=0.04)
    assert answer["utilization[bus]"] == pytest.approx(10 / steady, rel=0.05)


def test_the_account_of_all_processors_adds_up() -> None:
    work = delay(2.0, name="a", scv=1.0) >> service("bus", 1.0)
    model = phased_model(
        (5, 6, work), (1, 1, delay(4.0, name="alone")), (2, 3, work >> barrier("meet"))
    )
    answer = MeanValue(model).points({}).answer(0)
    time = answer["time"]
    assert time is not None
    assert math.fsum(answer.account.values()) == pytest.approx(time)
    # Six do 5 rounds, three of them 2 more, and one works alone.
    assert answer.steps["a"] == pytest.approx(2.0 * (5 + 2 / 2))
    assert answer.steps["alone"] == pytest.approx(4.0 / 6)
    assert answer["throughput"] == pytest.approx(6 / time)


def test_a_sweep_over_the_processors_of_one_phase() -> None:
    cycle = delay(2.0, name="a", scv=1.0) >> service("bus", 1.0)
    model = phased_model(
        (2, Parameter("p", value=2.0), cycle), (Parameter("r", value=1.0), 3, delay(1.0, name="b"))
    )
    form = MeanValue(model)
    swept = form.points({"p": np.array([1.0, 2.0, 5.0]), "r": np.array([1.0, 0.0, 2.0])})
    for index, (p, r) in enumerate([(1.0, 1.0), (2.0, 0.0), (5.0, 2.0)]):
        alone = form.points({"p": p, "r": r}).answer(0)
        assert swept.answer(index)["time"] == pytest.approx(alone["time"])
        assert swept.answer(index).account == pytest.approx(dict(alone.account))


def test_what_cannot_be_counted_is_refused() -> None:
    model = phased_model(
        (Parameter("r", value=1.0), Parameter("p", value=2.0), delay(1.0, name="a"))
    )
    form = MeanValue(model)
    assert (
        form.points({"r": -1.0}).answer(0).failed
        == "the count of phase 1 comes out as -1, which mean-value cannot take"
    )
    assert (
        form.points({"p": 2.5}).answer(0).failed
        == "mean-value counts processors one by one: the processors of phase 1 must be a whole"
        " number from 1 to 1,000,000, got 2.5"
    )


def test_waits_of_supersteps_that_do_not_settle_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [delay(2.0, name=f"work{k}") >> service("bus", 1.0, name=f"visit{k}") for k in range(3)]
    model = superstep_model((2, lines, delay(0.1, name="meet")))
    assert MeanValue(model).points({}).answer(0).failed is None
    monkeypatch.setattr(programs, "FIXED_POINT_STEPS", 1)
    failed = MeanValue(model).points({}).answer(0).failed
    assert (
        failed
        == "the waits in the supersteps of model do not settle: after 1 steps they still change by"
        " 0.1 of the time; simulate it"
    )


@pytest.mark.parametrize("count", [2, 3, 6])
def test_a_visit_to_another_processor_finds_its_own_service_as_often_as_it_is_busy(
    count: int,
) -> None:
    # U R, little used: each is busy with its own service for 1 s of 1001, and of an exponential
    # service 1 s is left.
    lines = [
        delay(1000.0, name=f"work{k}")
        >> service("own", 1.0, name=f"own{k}", scv=1.0)
        >> service("other", 1e-6, name=f"v{k}")
        for k in range(count)
    ]
    answer = MeanValue(superstep_model((3, lines, delay(0.1, name="meet")))).points({}).answer(0)
    assert answer.account["wait:other"] == pytest.approx(3 * 1.0 / 1001, rel=0.01)


def test_serial_stages_in_a_superstep_take_the_time_of_the_flow_line() -> None:
    line = pipeline([delay(1.0, name="a"), delay(2.0, name="b")], 5)
    model = superstep_model((3, [line, line], delay(0.1, name="meet")))
    plain, answer = (form(model).points({}).answer(0) for form in (ClosedForm, MeanValue))
    assert answer["time"] == plain["time"] == pytest.approx(3 * (1 + 5 * 2.0 + 0.1))
    # The time holds one item of the first stage and all of the second.
    assert answer.steps == pytest.approx({"a": 3.0, "b": 30.0, "meet": 0.3})


def test_two_processors_of_supersteps_that_only_visit_each_other_never_wait_there() -> None:
    lines = [
        delay(2.0, name=f"work{k}") >> service("other", 1.0, name=f"visit{k}", scv=1.0)
        for k in range(3)
    ]
    meet = delay(0.1, name="meet")
    two, three = (
        MeanValue(superstep_model((2, lines[:count], meet))).points({}).answer(0)
        for count in (2, 3)
    )
    # A third processor makes a request of the same processor as the visitor with the probability 1
    # / 2.
    assert [two["time"], two["time"] == three["time"]] == [pytest.approx(2 * 3.1, rel=1e-12), False]
    assert sum(three.account.values()) == pytest.approx(three["time"], rel=1e-12)


def test_processors_that_find_a_server_each_never_wait() -> None:
    """Waits were those for one server, and the time was called exact: 4.41 s."""

    def visits(number: int) -> list[Activity]:
        return [service("disk", 1.0, name=f"visit-{line}") for line in range(number)]

    disks = {"disk": Station(2, "ps")}
    meet = delay(0.5, name="meet")
    each = MeanValue(superstep_model((2, visits(2), meet), resources=disks)).points({}).answer(0)
    assert each.exact
    assert each["time"] == 3.0
    with pytest.raises(
        NoAnswerError,
        match=(
            "mean-value takes stations of one server, or of one for each processor, in "
            "supersteps; disk has 2 for 3"
        ),
    ):
        solve(superstep_model((2, visits(3), meet), resources=disks), method="mean-value")
    assert solve(superstep_model((2, visits(3), meet), resources=disks))["time"] == pytest.approx(
        4.0
    )
