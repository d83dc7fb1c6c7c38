"""Closed groups whose stations have product form are solved as the classes of a queueing network:
against the Markov chain by positions, which knows nothing of product form, and at their edges.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from slipstick import Lock, Station, choose, delay, hold, repeat, service, solve
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import RATE, TIME, Parameter
from slipstick.method.methods import form_of
from slipstick.model.steps import Activity
from slipstick.model.system import Model, closed_model, grouped_model, open_model
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick.sim.settings import Simulation
from slipstick_mean_value.form import MeanValue


def cycle(prefix: str, draw: random.Random) -> Activity:
    """Return a cycle of delays, a shared and a first-come station, a lock, a choice and a
    repeat.
    """
    mean, chance = draw.choice([0.5, 1.0, 2.0]), draw.choice([0.25, 0.5])
    first = service("disk", 0.5, name=f"{prefix}read", scv=1.0)
    shared = service("cpu", mean, name=f"{prefix}compute", scv=1.0)
    locked = hold("table", delay(0.25, name=f"{prefix}update", scv=1.0))
    body = choose((chance, shared >> locked), (1 - chance, first))
    return delay(mean + 0.5, name=f"{prefix}think", scv=1.0) >> body >> repeat(2, first >> shared)


def drawn(seed: int) -> Model:
    draw = random.Random(f"product form {seed}")
    groups = {name: (draw.choice([1, 2]), cycle(f"{name}.", draw)) for name in ("first", "second")}
    resources = {"cpu": Station(draw.choice([1, 2]), "ps"), "disk": Station(draw.choice([1, 2]))}
    return grouped_model(groups, resources={**resources, "table": Lock()})


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(4))
def test_several_classes_are_those_of_the_chain_to_8_digits(seed: int) -> None:
    model = drawn(seed)
    found, chain = solve(model, method="mean-value"), solve(model, method="markov-chain")
    assert found.exact
    both = set(found.values) & set(chain.values)
    assert {"time", "time[second]", "utilization[cpu]", "wait[disk]", "wait[table]"} <= both
    for name in both:
        assert found[name] == pytest.approx(chain[name], rel=1e-8, abs=1e-12), name
    assert dict(found.account) == pytest.approx(dict(chain.account), rel=1e-7, abs=1e-12)


def pair(second: float = 1.0, discipline: str = "fcfs", sizes: tuple[int, int] = (6, 5)) -> Model:
    """Return two groups at one station, with service times of their own."""
    return grouped_model(
        {
            "a": (
                sizes[0],
                delay(90.0, name="a.think", scv=1.0) >> service("cpu", 1.0, name="a.use", scv=1.0),
            ),
            "b": (
                sizes[1],
                delay(70.0, name="b.think", scv=1.0)
                >> service("cpu", second, name="b.use", scv=1.0),
            ),
        },
        resources={"cpu": Station(1, discipline)},
    )


@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random", "ps"])
def test_two_groups_of_60_and_50_are_answered_by_the_exact_solver(discipline: str) -> None:
    second = 3.0 if discipline == "ps" else 1.0
    answer = solve(pair(second, discipline, (60, 50)))
    network = network_arrays(
        [[1.0], [second]], population=[60, 50], think=[90.0, 70.0], discipline="ps"
    )
    throughput = exact(network).throughput[0]
    assert (answer.method, answer.exact) == ("mean-value", True)
    names = ("throughput[a]", "throughput[b]")
    assert [answer[name] for name in names] == pytest.approx(throughput.tolist(), rel=1e-10)


def test_exactness_is_decided_by_the_values_at_each_point() -> None:
    form = form_of(pair(), {})
    provenance = form.points({"b.use": np.array([1.0, 1.1])}).provenance()
    assert list(provenance.exact) == [True, False]


def test_a_group_in_which_nothing_is_random_is_not_called_exact() -> None:
    model = grouped_model(
        {
            "a": (2, delay(1.0, name="a.think") >> service("cpu", 1.0, name="a.use")),
            "b": (2, delay(1.0, name="b.think", scv=1.0) >> service("disk", 1.0, name="b.use")),
        },
        resources={"cpu": Station(1, "ps"), "disk": Station(1, "ps")},
    )
    assert not solve(model, method="mean-value").exact


def test_derivatives_by_a_think_time_are_those_of_the_exact_solver() -> None:
    form = MeanValue(pair(3.0, "ps"))
    slope = form.points({}).answer(0).gradient["time"]["b.think"]
    up, down = form.times({"b.think": np.array([70.0 + 1e-4, 70.0 - 1e-4])})
    assert slope == pytest.approx((up - down) / 2e-4, rel=1e-6)


def test_random_order_without_product_form_is_refused_at_that_point_alone() -> None:
    form = MeanValue(pair(discipline="random"))
    swept = form.points({"b.use": np.array([1.0, 2.0])})
    assert swept.answer(0).failed is None
    assert "where groups wait unequally long" in str(swept.answer(1).failed)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["lcfs", "random"])
def test_points_without_product_form_go_on_to_simulation(discipline: str) -> None:
    """Mean value has no rule for such a station of groups, so that the next method answers; where
    the service times are equal, product form does.
    """
    first, second = Parameter("first", TIME, 0.5), Parameter("second", TIME, 0.5)
    groups = {
        name: (12, delay(9.0, name=name, scv=1.0) >> service("cpu", time, name=f"at-{name}", scv=1))
        for name, time in (("a", first), ("b", second))
    }
    model = grouped_model(groups, resources={"cpu": Station(1, discipline)})
    settings = Simulation(precision=0.05, check="off")
    answers = [solve(model, {"second": time}, simulation=settings) for time in (0.5, 0.25)]
    assert [(answer.method, answer.exact) for answer in answers] == [
        ("mean-value", True),
        ("simulation", False),
    ]
    assert any("cpu is" in note for note in answers[1].notes)
    with pytest.raises(NoAnswerError, match="where groups wait unequally long"):
        solve(model, {"second": 0.25}, method="mean-value")


def shared(*names: str) -> dict[str, Station]:
    return {name: Station(1, "ps") for name in names}


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("cycle", "truth"),
    [
        # At the first station 2 s; then 2 s at the same of two others, or 1 s apart.
        (
            service("a", 1.0, name="at-a")
            >> choose((0.5, service("b", 1.0, name="at-b")), (0.5, service("c", 1.0, name="at-c"))),
            3.5,
        ),
        # Two ways of the same time are no variation.
        (
            service("a", 1.0, name="at-a")
            >> choose((0.5, service("b", 1.0, name="one")), (0.5, service("b", 1.0, name="two"))),
            4.0,
        ),
        # Each of 1.5 rounds takes both 2 s.
        (
            repeat(
                1.5,
                service("a", 0.5, name="at-a") >> service("b", 0.5, name="at-b"),
                spread="geometric",
            ),
            3.0,
        ),
    ],
    ids=["two stations", "two ways", "rounds"],
)
def test_random_ways_and_counts_of_constant_times_are_not_called_exact(
    cycle: Activity, truth: float
) -> None:
    model = closed_model(cycle, 2, resources=shared("a", "b", "c"))
    assert not solve(model, method="mean-value").exact
    assert solve(model)["time"] == pytest.approx(truth, rel=0.02)


def test_a_random_time_that_is_0_at_a_point_parts_no_customers_there() -> None:
    think = delay(Parameter("pause", TIME, 0.0), name="think", scv=1.0)
    cycle = think >> service("a", 1.0, name="at-a") >> service("b", 1.0, name="at-b")
    form = form_of(closed_model(cycle, 2, resources=shared("a", "b")), {}, "mean-value")
    pauses = np.array([0.0, 0.5])
    assert list(form.points({"pause": pauses}).provenance().exact) == [False, True]


def test_constant_times_of_a_stream_have_product_form() -> None:
    """Arrivals are random: each station is M/D/1 with processor sharing, S / (1 - load)."""
    rate = Parameter("rate", RATE, 0.5)
    body = service("a", 1.0, name="at-a") >> service("b", 1.5, name="at-b")
    model = open_model(body, rate, resources=shared("a", "b"))
    answer = solve(model, method="mean-value")
    assert answer.exact
    assert answer["time"] == pytest.approx(1 / 0.5 + 1.5 / 0.25)
    settings = Simulation(seed=3, events=400_000, precision=1e-9)
    value = solve(model, method="simulation", simulation=settings).values["time"]
    assert value.value is not None
    assert value.high is not None
    assert abs(value.value - 8) <= 3 * (value.high - value.value)
