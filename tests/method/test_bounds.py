"""Bounds enclose what they say they enclose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from slipstick import (
    barrier,
    choose,
    closed_model,
    delay,
    fork,
    hold,
    open_model,
    phased_model,
    repeat,
    service,
    solve,
)
from slipstick.errors import SlightlyBeyond
from slipstick.expression.nodes import Expr
from slipstick.method.answers import Remarks, Solution, _bound_violations
from slipstick.method.bounds import CompiledBounds
from slipstick.method.methods import compute_answers, form_of
from slipstick.model.network import closed_class, network, station
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Station, superstep_model
from slipstick.structure.times import own_time
from tests.bounds import bounds
from tests.examples import examples
from tests.strategies import models

EXPONENTIAL_BUS = delay(9.0, name="think") >> service("bus", 1.0, scv=1.0)


def mva(population: int, think: float, demands: list[float]) -> float:
    """Return the cycle time of a closed network of single servers by the exact recursion, written
    here.
    """
    queue = [0.0] * len(demands)
    cycle = think
    for n in range(1, population + 1):
        residence = [d * (1 + q) for d, q in zip(demands, queue, strict=True)]
        cycle = think + sum(residence)
        queue = [n / cycle * r for r in residence]
    return cycle


@pytest.mark.parametrize("processors", [1, 2, 5, 10, 50, 200])
def test_the_exact_answer_of_a_product_form_network_lies_between(processors: int) -> None:
    cycle = (
        delay(9.0, name="think") >> service("bus", 1.0, scv=1.0) >> service("disk", 0.4, scv=1.0)
    )
    answer = bounds(closed_model(cycle, processors=processors)).values["time"]
    exact = mva(processors, 9.0, [1.0, 0.4])
    assert answer.value is None
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low <= exact * (1 + 1e-12)
    assert exact <= answer.high * (1 + 1e-12)


@pytest.mark.turns(4)
@settings(deadline=None, derandomize=True, max_examples=examples(150))
@given(model=models())
def test_the_closed_form_is_never_below_the_lower_bound_of_one_processor(model: Model) -> None:
    low = bounds(model).values["time"].low
    assert low is not None
    time = solve(model, method="closed-form")["time"]
    assert time is not None
    # Adding processors only adds work for the busiest resource; nobody is faster than one alone.
    assert low >= time * (1 - 1e-12)


@pytest.mark.parametrize(
    ("model", "low", "high", "notes"),
    [
        (
            closed_model(EXPONENTIAL_BUS, processors=20),
            20.0,
            29.0,
            (
                "no less than what the busiest resource takes for the work of all processors: bus",
                (
                    "upper bound: at each visit, every processor waits for all others; valid in"
                    " product form"
                ),
            ),
        ),
        (
            closed_model(
                delay(9.0, name="think") >> hold("door", service("bus", 1.0)), processors=20
            ),
            20.0,
            None,
            (
                "no less than what the busiest resource takes for the work of all processors: bus",
                (
                    "no upper bound: it is valid in product form only, where the steps at an fcfs"
                    " station have scv 1 and one mean"
                ),
            ),
        ),
        (
            closed_model(
                delay(9.0, name="think") >> hold("door", delay(2.0, name="inside")), processors=20
            ),
            40.0,
            None,
            (
                "no less than what the busiest resource takes for the work of all processors: door",
                (
                    "no upper bound: it is valid in product form only, where the steps at an fcfs"
                    " station have scv 1 and one mean"
                ),
            ),
        ),
        (
            open_model(EXPONENTIAL_BUS, rate=0.5),
            10.0,
            None,
            (
                ("lower bound: one pass without contention"),
                "only a lower bound is known for the time of an open stream",
            ),
        ),
    ],
    ids=["bus", "bus under a lock", "lock", "open"],
)
def test_bounds_and_their_conditions(
    model: Model, low: float, high: float | None, notes: tuple[str, ...]
) -> None:
    answer = bounds(model)
    assert (answer.values["time"].low, answer.values["time"].high) == (low, high)
    assert answer.notes == notes


def test_throughput_is_bounded_by_the_same_two() -> None:
    throughput = bounds(closed_model(EXPONENTIAL_BUS, processors=20)).values["throughput"]
    assert throughput.low == pytest.approx(20 / 29)
    assert throughput.high == 1.0


def test_more_servers_and_what_is_held_in_branches_count() -> None:
    held = fork(hold("door", delay(2.0, name="a")), hold("door", delay(1.0, name="b")))
    assert bounds(closed_model(held, processors=4)).values["time"].low == 12.0
    twice = repeat(
        2, choose((0.5, hold("door", delay(2.0, name="a"))), (0.5, delay(0.0, name="b")))
    )
    assert bounds(closed_model(twice, processors=4)).values["time"].low == 8.0
    three = closed_model(
        service("disks", 3.0), processors=6, resources={"disks": Station(servers=3)}
    )
    assert bounds(three).values["time"].low == 6.0


def test_phases_are_bounded_one_by_one() -> None:
    program = phased_model(
        (10, 4, service("bus", 1.0)), (1, 1, delay(2.0, name="alone") >> barrier("end"))
    )
    assert bounds(program).values["time"].low == 42.0


def test_processors_are_resources_too() -> None:
    cycle = (
        service("own", 1.0, name="mine")
        >> service("other", 5.0, name="theirs")
        >> delay(0.5, name="wire")
    )
    assert bounds(closed_model(cycle, processors=8)).values["time"].low == 6.5
    alone = bounds(closed_model(cycle, processors=1)).values["time"]
    assert alone.low == 6.5  # one pass; what others do, they do outside
    spread = fork(service("own", 2.0, name="mine"), service("other", 5.0, name="theirs"))
    assert bounds(closed_model(spread, processors=8)).values["time"].low == 7.0


def test_a_changed_parameter_moves_the_bound() -> None:
    assert (
        bounds(closed_model(EXPONENTIAL_BUS, processors=20), {"bus": 2.0}).values["time"].low
        == 40.0
    )


def test_a_sweep_of_bounds_is_the_bounds_of_its_points() -> None:
    model = closed_model(
        delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0), processors=20
    )
    form = form_of(model, {}, "bounds")
    sizes = np.array([1.0, 5.0, 10.0, 20.0])
    points = form.points({"population.processors": sizes})
    columns = points.columns()
    for index, size in enumerate(sizes):
        alone = bounds(model, {"population.processors": float(size)})
        assert points.answer(index).values == alone.values
        assert points.answer(index).notes == alone.notes
        for name, value in alone.values.items():
            assert columns[f"low[{name}]"][index] == pytest.approx(value.low)
            assert columns[f"high[{name}]"][index] == pytest.approx(value.high)
    assert form.times({"population.processors": sizes}) == pytest.approx([10.0, 10.0, 10.0, 20.0])
    assert form.unit("low[time]") == "s"
    assert form.unit("high[throughput]") == "1/s"


def test_what_is_too_large_has_no_bound_and_says_so() -> None:
    model = closed_model(service("bus", 1e200, name="ask"), processors=4)
    points = form_of(model, {}, "bounds").points({"ask": np.array([1.0, 1e308])})
    assert np.isfinite(points.columns()["low[time]"]).tolist() == [True, False]
    assert points.answer(1).failed == "the least time of model comes out as inf s"
    assert points.answer(0).failed is None


def test_bounds_of_networks_are_swept_too_the_tightest_of_each_kind() -> None:
    model = network(
        {"jobs": closed_class(4, think_time=2.0)},
        {"cpu": station(demand={"jobs": 1.0}), "disk": station(demand={"jobs": 0.5})},
    )
    form = form_of(model, {}, "bounds")
    sizes = np.array([1.0, 4.0, 12.0])
    points = form.points({"classes.jobs.population": sizes})
    columns = points.columns()
    exact = form_of(model, {}, "exact").points({"classes.jobs.population": sizes}).columns()
    for name in ("throughput[jobs]", "response_time[jobs]"):
        assert np.all(columns[f"low[{name}]"] <= exact[name] * (1 + 1e-12))
        assert np.all(columns[f"high[{name}]"] >= exact[name] * (1 - 1e-12))
    kinds = [answer.values["throughput[jobs]"] for answer in compute_answers(model, {}, "bounds")]
    assert columns["low[throughput[jobs]]"][1] == max(each.low or 0.0 for each in kinds)
    assert columns["high[throughput[jobs]]"][1] == min(each.high or np.inf for each in kinds)
    assert columns["saturation_population[jobs]"] == pytest.approx([3.5] * 3)
    assert form.unit("low[response_time[jobs]]") == "s"
    assert form.unit("saturation_population[jobs]") == "1"
    answer = points.answer(1)
    assert answer.method == "bounds"
    assert answer.notes == (
        "the tightest of these bounds: asymptotic, balanced-job, proportional, geometric",
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (10.0, ""),
        (9.95, "time is below its lower bound 10 s, which lies within its interval"),
        (
            9.85,
            "time is below its lower bound 10 s, by less than twice the half-width of its interval",
        ),
        (9.75, "time is below its lower bound 10 s"),
        (20.05, "time is above its upper bound 20 s, which lies within its interval"),
        (
            20.15,
            "time is above its upper bound 20 s, by less than twice the half-width of its interval",
        ),
        (20.25, "time is above its upper bound 20 s"),
    ],
)
def test_chance_explains_up_to_two_half_widths_beyond_a_bound(value: float, sentence: str) -> None:
    def solution(value: float, low: float, high: float) -> Solution:
        """Make a solution of one point."""
        values, lows, highs = ({"time": np.array([number])} for number in (value, low, high))
        return Solution(
            model="m",
            method="simulation",
            values=values,
            low=lows,
            high=highs,
            remarks=lambda _: Remarks(),
        )

    estimate = solution(value, value - 0.1, value + 0.1)
    violations = _bound_violations("time", estimate, solution(15.0, 10.0, 20.0), np.array([0]))
    violation = violations.get(0, "")
    assert violation == sentence
    assert isinstance(violation, SlightlyBeyond) == (", " in violation)


def test_a_part_that_supersteps_share_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Activity] = []

    def counted(activity: Activity, *arguments: Any) -> Expr:
        computed.append(activity)
        return own_time(activity, *arguments)

    monkeypatch.setattr("slipstick.structure.times.own_time", counted)
    shared, gate = repeat(3, delay(2.0, name="work")), delay(1.0, name="gate")
    model = superstep_model(*[(1, [shared, shared >> gate], gate)] * 20)
    assert CompiledBounds(model).points({}).columns()["low[time]"] == pytest.approx(20 * 8.0)
    assert len(computed) == len({id(activity) for activity in computed}) == 4
