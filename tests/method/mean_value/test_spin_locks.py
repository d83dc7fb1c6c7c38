"""Spin locks by mean value, against simulation and against the laws of hand-overs."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.model.activity import delay, hold, service
from slipstick.model.system import Lock, Model, Station, closed_model, grouped_model, open_model
from slipstick.sim.settings import Simulation
from slipstick_laws.spin_locks import TICKET_HANDOFF
from slipstick_laws.synchronization import TEST_AND_SET_HANDOFF
from slipstick_mean_value.form import MeanValue
from tests.simulation import solve

KINDS = ("tas", "ttas", "ticket", "array", "mcs")
CYCLE = (
    delay(100.0, name="work", scv=1.0)
    >> service("bus", 1.0, name="ask")
    >> hold("door", delay(20.0, name="crit", scv=1.0))
)


def seconds(name: str, value: float) -> Parameter:
    return Parameter(name, TIME, value)


def door(kind: str, back_off: str = "none", pause: float = 0.0) -> Lock:
    most = seconds("door.most", 8 * pause)
    return Lock(
        kind, "bus", seconds("door.access", 1.0), back_off, seconds("door.base", pause), most
    )


def spinning(lock: Lock, processors: int, work: float = 100.0, section: float = 20.0) -> Model:
    before = delay(work, name="work", scv=1.0) >> service("bus", 1.0, name="ask")
    cycle = before >> hold("door", delay(section, name="crit", scv=1.0))
    return closed_model(cycle, processors, resources={"bus": Station(), "door": lock})


def time_of(model: Model) -> float:
    answer = MeanValue(model).points({}).answer(0)
    assert answer.failed is None
    found = answer["time"]
    assert found is not None
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_one_alone_takes_what_the_closed_form_counts(kind: str) -> None:
    model = spinning(door(kind), 1)
    plain, found = (form(model).points({}).answer(0) for form in (ClosedForm, MeanValue))
    assert found.exact
    assert found["time"] == pytest.approx(plain["time"])
    assert dict(found.account) == pytest.approx(dict(plain.account))


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "lock",
    [
        door("tas"),
        door("tas", "constant", 10.0),
        door("ttas"),
        door("ticket"),
        door("array"),
        door("mcs"),
    ],
)
def test_usual_errors_are_below_ten_percent(lock: Lock) -> None:
    off = []
    for processors, work, section in (
        (4, 200.0, 20.0),
        (8, 100.0, 2.0),
        (16, 200.0, 20.0),
        (32, 100.0, 2.0),
    ):
        model = spinning(lock, processors, work, section)
        truth = solve(model, None, Simulation(precision=0.02, events=60_000))["time"]
        assert truth is not None
        off.append(abs(time_of(model) / truth - 1))
    assert statistics.median(off) < 0.05
    assert max(off) < 0.15


@pytest.mark.turns(4)
def test_a_full_lock_goes_round_as_the_laws_say() -> None:
    n, section = 40, 20.0
    for kind, law in (("tas", TEST_AND_SET_HANDOFF), ("ticket", TICKET_HANDOFF)):
        handed = float(law.equation(n - 1, 1.0))
        # The releasing access of a ticket lock waits for no burst: it is over before the section
        # is, or nearly.
        floor = n * (section + handed)
        assert floor * 0.97 < time_of(spinning(door(kind), n, work=1.0)) < floor * 1.35


def test_a_full_ticket_lock_is_handed_over_in_simulation_as_its_law_says() -> None:
    n, section = 9, 20.0
    # Sections are all longer than a burst of looks, so that no release waits for one.
    cycle = delay(1e-3, name="work") >> hold("door", delay(section, name="crit"))
    model = closed_model(cycle, n, resources={"bus": Station(), "door": door("ticket")})
    seen = solve(model, None, Simulation(cycles=20_000))
    assert seen["time"] is not None
    assert seen["utilization[bus]"] is not None
    assert seen["time"] == pytest.approx(
        n * (section + TICKET_HANDOFF.equation(n - 1, 1.0)), rel=0.01
    )
    # A number, a first look and a release, and a look of all who wait whenever the lock is let go.
    assert seen["utilization[bus]"] * seen["time"] == pytest.approx(n * (3 + n - 1), rel=0.001)


@pytest.mark.turns(4)
@pytest.mark.parametrize("processors", [6, 16])
def test_mean_value_and_simulation_count_the_same_traffic_of_ticket_locks(processors: int) -> None:
    model = spinning(door("ticket"), processors)
    busy = MeanValue(model).points({}).answer(0)["utilization[bus]"]
    seen = solve(model, None, Simulation(cycles=20_000))["utilization[bus]"]
    assert busy == pytest.approx(seen, rel=0.1)


@pytest.mark.turns(4)
def test_each_waiter_costs_but_those_of_a_queue_lock() -> None:
    def growth(kind: str) -> float:
        return (time_of(spinning(door(kind), 32)) / 32) / (time_of(spinning(door(kind), 16)) / 16)

    assert growth("tas") > 1.3
    assert growth("ttas") > 1.2
    assert growth("mcs") == pytest.approx(1.0, abs=0.03)


@pytest.mark.turns(4)
@pytest.mark.parametrize("processors", [8, 20])
def test_a_crowd_that_keeps_itself_is_found(processors: int) -> None:
    # Of 20, those who come to a lock that is free most of the time would wait little, if they were
    # not so many already.
    model = spinning(door("ttas"), processors, 100.0, 2.0)
    truth = solve(model, None, Simulation(precision=0.02, events=200_000))["time"]
    assert time_of(model) == pytest.approx(truth, rel=0.1)


def test_spinners_load_the_station_of_the_word() -> None:
    models = {kind: spinning(door(kind), 16) for kind in ("tas", "mcs")}
    busy = {
        kind: MeanValue(model).points({}).answer(0)["utilization[bus]"]
        for kind, model in models.items()
    }
    assert busy["tas"] == pytest.approx(1.0, abs=0.02)
    assert busy["mcs"] is not None
    assert busy["mcs"] < 0.2


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", ["tas", "mcs"])
def test_one_who_only_asks_the_bus_is_disturbed_by_those_who_spin(kind: str) -> None:
    spin = hold("door", delay(5.0, name="crit", scv=1.0)) >> delay(5.0, name="rest", scv=1.0)
    model = grouped_model(
        {
            "test": (1, service("bus", 1.0, name="ask") >> delay(10.0, name="think", scv=1.0)),
            "others": (8, spin),
        },
        resources={"door": door(kind)},
    )
    truth = solve(model, None, Simulation(precision=0.02, events=150_000))["time"]
    assert time_of(model) == pytest.approx(truth, rel=0.1)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "lock", [*map(door, KINDS), door("tas", "constant", 5.0), door("tas", "exponential", 2.0)]
)
def test_accounts_and_shares_add_up_and_derivatives_are_derivatives(lock: Lock) -> None:
    form = MeanValue(spinning(lock, 9))
    answer = form.points({}).answer(0)
    assert math.fsum(answer.account.values()) == pytest.approx(answer["time"], rel=1e-9)
    assert min(answer.account.values()) >= 0
    assert math.fsum(answer.share["time"].values()) == pytest.approx(1.0, abs=1e-7)
    up, down = form.times({"door.access": np.array([1 + 1e-6, 1 - 1e-6])})
    assert answer.gradient["time"]["door.access"] == pytest.approx((up - down) / 2e-6, rel=1e-4)


def test_it_says_that_spinning_is_approximate_and_refuses_it_for_arrivals() -> None:
    notes = MeanValue(spinning(door("tas"), 4)).points({}).answer(0).notes
    assert (
        "spin locks door: waiting processors load the station of the lock word, and the times of"
        " hand-overs are those of Anderson's laws" in notes
    )
    assert any(
        note.startswith(
            "typical error of the time with spin locks under 10 % (2 to 64 processors, random "
            "times)"
        )
        for note in notes
    )
    assert (
        MeanValue(open_model(CYCLE, 0.001, resources={"door": door("tas")}))
        .points({})
        .answer(0)
        .failed
        == "an open population sets no limit to how many spin at door; mean-value has no answer,"
        " simulation may"
    )
    queue = open_model(CYCLE, 0.001, resources={"door": door("mcs")})
    assert time_of(queue) == pytest.approx(123.0, rel=0.02)


def test_an_access_that_takes_less_than_nothing_is_refused() -> None:
    form = MeanValue(spinning(door("tas"), 4))
    assert (
        form.points({"door.access": -1.0}).answer(0).failed
        == "an access to the word of lock door comes out as -1, which mean-value cannot take"
    )
    assert (
        form.points({"door.base": -1.0}).answer(0).failed
        == "the back-off of lock door comes out as -1, which mean-value cannot take"
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("lock", "promise"),
    [(door("tas"), 0.1), (door("tas", "constant", 16.0), 0.5), (door("mcs"), 0.1)],
)
def test_locks_with_back_off_keep_a_wider_promise(lock: Lock, promise: float) -> None:
    model = spinning(lock, 16, 60.0, 2.0)
    answer = MeanValue(model).points({}).answer(0)
    assert answer.promise == promise
    truth = solve(model, None, Simulation(precision=0.02, events=100_000))["time"]
    assert answer["time"] == pytest.approx(truth, rel=promise)
