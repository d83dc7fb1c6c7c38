"""Where theory is exact, so is mean value: closed forms, birth and death, convolution, one processor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.mean_value import MeanValue
from slipstick.method.mean_value.closed import Recursion
from slipstick.model.activity import Activity, choose, delay, hold, repeat, service
from slipstick.model.resources import Resource, Station
from slipstick.model.system import closed_model
from tests.strategies import RESOURCES, activities, quick

POPULATIONS = np.array([1.0, 2.0, 3.0, 5.0, 10.0, 40.0])


def repairmen(machines: int, think: float, repair: float, servers: int) -> float:
    """Give the cycle time of machines that break down, by birth and death."""
    weights = [1.0]
    for j in range(1, machines + 1):
        weights.append(weights[-1] * (machines - j + 1) / think * repair / min(j, servers))
    busy = sum(min(j, servers) * weight for j, weight in enumerate(weights)) / sum(weights)
    return machines * repair / busy


def convolved(demands: list[Fraction], think: Fraction, customers: int) -> Fraction:
    """Give the cycle time of a closed network of single servers, in fractions: G by Buzen's convolution."""
    constants = [think**n / math.factorial(n) for n in range(customers + 1)]
    for demand in demands:
        for n in range(1, customers + 1):
            constants[n] += demand * constants[n - 1]
    return customers * constants[customers] / constants[customers - 1]


def times(cycle: Activity, resources: Mapping[str, Resource], populations: np.ndarray = POPULATIONS) -> list[float]:
    form = MeanValue(closed_model(cycle, 1, resources=resources))
    return [float(time) for time in form.times({"population.processors": populations})]


@pytest.mark.parametrize("servers", [1, 2, 7])
@pytest.mark.parametrize("discipline", ["fcfs", "ps"])
def test_machine_repair(servers: int, discipline: str) -> None:
    cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 2.0, scv=1.0)
    expected = [repairmen(int(n), 9.0, 2.0, servers) for n in POPULATIONS]
    assert times(cycle, {"bus": Station(servers, discipline)}) == pytest.approx(expected, rel=1e-10)


def test_a_central_server_by_convolution_in_fractions() -> None:
    disks = choose((0.25, service("fast", 3.0, scv=1.0)), (0.75, service("slow", 4.0, scv=1.0)))
    cycle: Activity = delay(5.0, name="think") >> repeat(4, service("cpu", 1.0, scv=1.0) >> disks)
    demands = [Fraction(4), Fraction(3), Fraction(12)]
    expected = [float(convolved(demands, Fraction(5), int(n))) for n in POPULATIONS]
    assert times(cycle, {}) == pytest.approx(expected, rel=1e-12)


def test_shared_servers_forget_how_times_are_spread() -> None:
    def cycle(scv: float) -> Activity:
        return delay(2.0, name="think", scv=scv) >> service("cpu", 1.0, scv=scv) >> service("cpu", 3.0, name="b")

    shared = {"cpu": Station(2, "ps")}
    assert times(cycle(0.0), shared) == times(cycle(4.0), shared)
    answer = MeanValue(closed_model(cycle(0.0), 3, resources=shared)).points({}).answer(0)
    assert answer.exact


@pytest.mark.parametrize("servers", [1, 3])
def test_the_recursion_itself_is_exact_in_product_form(servers: int) -> None:
    cycle = delay(4.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    model = closed_model(cycle, 1, resources={"bus": Station(servers)})
    recursion = Recursion(model, [cycle])
    numbers = MeanValue(model).numbers.columns({})
    found = [float(state.first.time.mean[0]) for _, state in recursion.states(numbers, (12,))]
    assert found == pytest.approx([repairmen(n, 4.0, 1.0, servers) for n in range(1, 13)], rel=1e-10)


def test_a_lock_held_for_an_exponential_time_is_a_repairman() -> None:
    """Issue 4's target: think time 9, critical section 1, 10 processors, within 0.5 %."""
    cycle = delay(9.0, name="work", scv=1.0) >> hold("door", delay(1.0, name="crit", scv=1.0, component="lock"))
    answer = MeanValue(closed_model(cycle, 10)).points({}).answer(0)
    assert answer["time"] == pytest.approx(repairmen(10, 9.0, 1.0, 1), rel=1e-12)
    assert answer.exact
    # The account books a wait to who suffers it, the share to what causes it: idea 3 of the design.
    parts = {name: seconds / 12.0187 for name, seconds in answer.account.items()}
    assert parts == pytest.approx({"busy": 0.75, "lock": 0.08, "lock:door": 0.17}, abs=0.005)
    assert answer.share["time"] == pytest.approx({"work": 0.51, "crit": 0.49}, abs=0.005)


def test_the_share_of_a_lock_held_is_the_same_by_either_road() -> None:
    """The critical section at a station of its own is not in product form as written, but the same system."""
    think = delay(9.0, name="work", scv=1.0)
    alone = closed_model(think >> hold("door", delay(1.0, name="crit", scv=1.0)), 10)
    there = closed_model(think >> hold("door", service("bus", 1.0, name="crit", scv=1.0)), 10)
    one, other = (MeanValue(model).points({}).answer(0) for model in (alone, there))
    assert other["time"] == pytest.approx(one["time"], rel=1e-10)
    assert dict(other.share["time"]) == pytest.approx(dict(one.share["time"]), rel=1e-8)
    assert not other.exact


@quick
@given(activities(depth=2))
def test_one_processor_with_nothing_left_out_takes_the_closed_forms_time(cycle: Activity) -> None:
    model = closed_model(cycle, 1, resources=RESOURCES)
    plain = ClosedForm(model).points({}).answer(0)
    answer = MeanValue(model).points({}).answer(0)
    if answer.failed or not plain.exact:
        return
    assert answer["time"] == pytest.approx(plain["time"], rel=1e-9)
    assert answer.exact
    assert dict(answer.share.get("time", {})) == pytest.approx(dict(plain.share.get("time", {})), abs=1e-9)


def test_processors_that_never_meet_take_the_closed_forms_time() -> None:
    model = closed_model(delay(3.0, name="work", scv=1.0) >> service("own", 2.0), 16)
    answer = MeanValue(model).points({}).answer(0)
    assert (answer["time"], answer["speedup"], answer.exact) == (5.0, 16.0, True)
