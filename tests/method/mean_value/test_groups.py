"""Groups of processors: a test processor among competitors, by mean value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slipstick.answer import Answer
from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.mean_value import MeanValue
from slipstick.method.simulation.form import solve
from slipstick.model.activity import Activity, barrier, delay, hold, service
from slipstick.model.resources import Station
from slipstick.model.system import Model, closed_model, grouped_model
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick.sim.settings import Simulation


def cycle(prefix: str = "", scv: float = 0.5, think: float = 9.0) -> Activity:
    work = delay(think, name=f"{prefix}think", scv=1.0) >> service("bus", 1.0, name=f"{prefix}ask", scv=scv)
    return work >> hold("door", delay(0.5, name=f"{prefix}crit", scv=scv))


def answer(model: Model, **values: float) -> Answer:
    found = MeanValue(model).points(values).answer(0)
    assert found.failed is None
    return found


@pytest.mark.parametrize("split", [(1, 8), (4, 5), (9, 0)])
@pytest.mark.parametrize("scv", [1.0, 0.5])
def test_groups_that_do_the_same_are_one_population(split: tuple[int, int], scv: float) -> None:
    whole = answer(closed_model(cycle(scv=scv), 9))
    parts = answer(grouped_model({"test": (split[0], cycle(scv=scv)), "others": (split[1], cycle("o.", scv))}))
    assert parts["time"] == pytest.approx(whole["time"], rel=1e-9)
    assert dict(parts.account) == pytest.approx(dict(whole.account), rel=1e-9)
    assert parts["utilization[bus]"] == pytest.approx(whole["utilization[bus]"], rel=1e-7)
    assert parts["wait[door]"] == pytest.approx(whole["wait[door]"], rel=1e-6)
    assert math.fsum(parts.share["time"].values()) == pytest.approx(1.0, abs=1e-7)


def test_two_classes_in_product_form_are_those_of_the_exact_engine() -> None:
    def ask(prefix: str, think: float) -> Activity:
        return delay(think, name=f"{prefix}think", scv=1.0) >> service("bus", 1.0, name=f"{prefix}ask", scv=1.0)

    found = answer(grouped_model({"test": (2, ask("", 3.0)), "others": (5, ask("o.", 8.0))}))
    truth = exact(network_arrays(np.ones((2, 1)), population=np.array([2, 5]), think=np.array([3.0, 8.0])))
    assert found["throughput[test]"] == pytest.approx(truth.throughput.ravel()[0], rel=1e-9)
    assert found["throughput[others]"] == pytest.approx(truth.throughput.ravel()[1], rel=1e-9)


@pytest.mark.parametrize("competitors", [2, 8, 30])
def test_a_test_processor_among_others_is_as_simulated(competitors: int) -> None:
    test = service("bus", 1.0, name="ask", scv=0.5) >> delay(3.0, name="think", scv=1.0)
    model = grouped_model({"test": (1, test), "others": (competitors, cycle("o."))})
    found, truth = answer(model), solve(model, None, Simulation(precision=0.01, events=150_000))
    for name in ("time", "time[others]", "throughput[others]"):
        assert found[name] == pytest.approx(truth[name], rel=0.05), name


def test_values_have_the_closed_forms_names_and_nobody_makes_both_alike() -> None:
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
        grouped_model({"test": (1, cycle()), "others": (3, cycle("o.", think=2.0))}, resources={"bus": Station(2)})
    )
    swept = form.points({"groups.others.processors": np.array([0.0, 3.0, 7.0])})
    alone = [form.times({"groups.others.processors": n})[0] for n in (0.0, 3.0, 7.0)]
    assert swept.columns()["time"].tolist() == pytest.approx(alone, rel=1e-12)
    slopes = form.points({}).answer(0).gradient["time"]
    assert "groups.others.processors" not in slopes
    up, down = form.times({"o.think": np.array([2.0 * (1 + 1e-6), 2.0 * (1 - 1e-6)])})
    assert slopes["o.think"] == pytest.approx((up - down) / 4e-6, rel=1e-4)
    assert slopes["o.think"] < 0


def test_what_groups_cannot_do_is_said() -> None:
    model = grouped_model({"test": (1, cycle() >> barrier("meet")), "others": (3, cycle("o.") >> barrier("meet"))})
    assert MeanValue(model).points({}).answer(0).failed == (
        "barrier meet is met by groups whose cycles differ; mean-value has no answer for that, simulation may"
    )
    many = grouped_model({"test": (300, cycle()), "others": (300, cycle("o."))}, name="many")
    assert MeanValue(many).points({}).answer(0).failed == (
        "mean-value goes through every population of groups up to the one asked for, 301 x 301 of many; "
        "more than 20000 are too many, simulate it"
    )
    half = MeanValue(grouped_model({"test": (1, cycle()), "others": (2, cycle("o."))}))
    assert half.points({"groups.others.processors": 1.5}).answer(0).failed == (
        "mean-value counts processors one by one: the processors of group others must be a whole number from 0 to 10000, "
        "got 1.5"
    )


def test_groups_are_named_among_the_approximations() -> None:
    notes = answer(grouped_model({"test": (1, cycle()), "others": (3, cycle("o."))})).notes
    assert "groups: an arriving processor finds what the population with one fewer of its group leaves" in notes
