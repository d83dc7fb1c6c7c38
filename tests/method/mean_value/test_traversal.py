"""Forks and pipelines, against exact maxima, samples and work that must be done."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.expression.nodes import Parameter
from slipstick.law.pipeline import FLOW_LINE
from slipstick.model.activity import delay, fork, parallel, pipeline, serial, service
from slipstick.model.steps import NEVER, NOTHING, Activity, Combination
from slipstick.model.system import Resource, Station, closed_model
from slipstick_mean_value.form import MeanValue


def time_of(cycle: Activity, processors: int, **resources: Resource) -> float:
    answer = MeanValue(closed_model(cycle, processors, resources=resources)).points({}).answer(0)
    time = answer["time"]
    assert time is not None
    return time


def test_a_fork_of_exponential_delays() -> None:
    cycle = fork(*(delay(2.0, name=f"branch{k}", scv=1.0) for k in range(3)))
    answer = MeanValue(closed_model(cycle, 4)).points({}).answer(0)
    assert answer["time"] == pytest.approx(2 * (1 + 1 / 2 + 1 / 3), rel=1e-12)
    # Branches that are alike are the last in turn.
    assert dict(answer.steps) == pytest.approx(dict.fromkeys(answer.steps, 11 / 9), rel=1e-9)


def test_branches_at_one_resource_are_served_in_turn() -> None:
    cycle = fork(*(service("bus", 2.0, name=f"ask{k}", scv=1.0) for k in range(3)))
    answer = MeanValue(closed_model(cycle, 1)).points({}).answer(0)
    assert answer["time"] == pytest.approx(6.0)
    assert answer.account == pytest.approx({"busy": 2.0, "wait:bus": 4.0})
    assert answer["utilization[bus]"] == pytest.approx(1.0)


def test_more_branches_than_servers_and_fewer() -> None:
    branches = [service("pool", 1.0, name=f"ask{k}") for k in range(4)]
    assert time_of(fork(*branches), 1, pool=Station(2)) == pytest.approx(2.0)
    assert time_of(fork(*branches), 1, pool=Station(8)) == pytest.approx(1.0)


@pytest.mark.parametrize(("servers", "branch_count", "rest"), [(2, 6, 3.0), (3, 9, 4.0)])
def test_the_spread_of_works_at_several_servers_lengthens_what_waits_for_them(
    servers: int, branch_count: int, rest: float
) -> None:
    """Works are spread as their mean at a server is; the spread of the last one is left out, so
    that the time is at most 4 % short, and never too long.
    """
    works = np.random.default_rng(7).exponential(size=(100_000, branch_count))
    ends = np.zeros((len(works), servers))
    for work in works.T:
        ends[np.arange(len(works)), ends.argmin(axis=1)] += work
    expected_time = np.maximum(ends.max(axis=1), rest).mean()
    branches = [service("pool", 1.0, name=f"ask{k}", scv=1.0) for k in range(branch_count)]
    cycle = fork(fork(*branches), delay(rest, name="rest"))
    time = time_of(cycle, 1, pool=Station(servers))
    assert 0.96 * expected_time < time < expected_time


def test_branches_that_come_back_to_one_station_wait_for_its_last_services() -> None:
    # Both ask by turns at 0 and 1, come back at 5, and one waits for the other's 3.
    def branch(name: str) -> Activity:
        there, back = (service("bus", time, name=f"{name}{time:g}") for time in (1.0, 3.0))
        return there >> delay(4.0, name=f"{name}.away") >> back

    assert time_of(fork(branch("a"), branch("b")), 1) == pytest.approx(11.0)


def test_a_constant_pipeline_is_a_flow_line() -> None:
    stages = [serial(delay(t, name=f"s{k}")) for k, t in enumerate((2.0, 3.0, 1.0))]
    answer = MeanValue(closed_model(pipeline(stages, 7), 3)).points({}).answer(0)
    assert answer["time"] == FLOW_LINE(once=6.0, longest=3.0, items=7)
    assert answer.exact


def sampled_pipeline(
    means: list[float], scv: float, items: int, serial_stages: list[bool]
) -> float:
    """Follow many drawn pipelines."""
    random = np.random.Generator(np.random.PCG64(1))
    runs = 20_000
    ends = np.zeros((runs, len(means)))
    last = np.zeros(runs)
    for _ in range(items):
        end = np.zeros(runs)
        for stage, mean in enumerate(means):
            begin = np.maximum(end, ends[:, stage]) if serial_stages[stage] else end
            end = begin + random.gamma(1 / scv, mean * scv, runs)
            ends[:, stage] = end
        last = np.maximum(last, end)
    return float(last.mean())


@pytest.mark.turns(4)
@pytest.mark.parametrize("scv", [1.0, 0.25])
@pytest.mark.parametrize(
    "serial_stages", [[True, True, True], [True, False, True], [False, True, False]]
)
def test_random_pipelines_against_samples(scv: float, serial_stages: list[bool]) -> None:
    means = [1.0, 0.8, 1.2]
    stages = [
        (serial if one else parallel)(delay(mean, name=f"s{k}", scv=scv))
        for k, (mean, one) in enumerate(zip(means, serial_stages, strict=True))
    ]
    found = MeanValue(closed_model(pipeline(stages, 8), 1)).points({}).answer(0)["time"]
    assert found == pytest.approx(sampled_pipeline(means, scv, 8, serial_stages), rel=0.035)


@pytest.mark.parametrize("items", [2, 3, 6, 7])
def test_constant_items_that_share_servers_all_end_together(items: int) -> None:
    line = pipeline([parallel(service("pool", 1.0, name="part"))], items)
    model = closed_model(line, 1, resources={"pool": Station(2, "ps")})
    assert MeanValue(model).points({}).answer(0)["time"] == pytest.approx(items / 2)


@pytest.mark.turns(4)
def test_long_pipelines_are_extrapolated() -> None:
    form = MeanValue(
        closed_model(
            pipeline([serial(delay(1.0, name="a", scv=1.0)), serial(delay(0.4, name="b"))], 500), 1
        )
    )
    # Of hundreds of items, each takes what the slowest stage takes.
    assert form.times({})[0] == pytest.approx(500.4, rel=0.01)
    assert form.points({}).answer(0).share["time"]["a"] > 0.95


def test_a_fractional_number_of_items_is_interpolated() -> None:
    stages = [serial(delay(2.0, name="a")), serial(delay(1.0, name="b"))]
    form = MeanValue(closed_model(pipeline(stages, Parameter("items", value=3.0)), 1))
    assert form.times({"items": np.array([1.0, 2.5, 3.0])}).tolist() == [3.0, 6.0, 7.0]
    assert form.points({}).answer(0).gradient["time"]["items"] == pytest.approx(2.0)


def test_the_time_of_works_at_several_servers_varies_as_it_should() -> None:
    # Four works begin at once at two servers: three ends at rate 2, then one at rate 1. Beside a
    # delay of 2.5 the variance counts.
    t = np.arange(0.0, 40.0, 0.002)
    ends = np.convolve(4 * t**2 * np.exp(-2 * t), np.exp(-t))[: len(t)] * 0.002
    exact = 2.5 + float(np.sum((1 - np.cumsum(ends) * 0.002)[t >= 2.5])) * 0.002
    works = fork(*(service("disk", 1.0, name=f"work-{number}", scv=1.0) for number in range(4)))
    model = closed_model(
        fork(works, delay(2.5, name="beside")), 1, resources={"disk": Station(servers=2)}
    )
    assert MeanValue(model).points({}).answer(0)["time"] == pytest.approx(exact, rel=0.05)


class Strange(Activity):
    """A kind of node that mean value has no rule for."""

    made_of, executions, variation = (), (), NEVER
    combination, use = Combination.IN_TURN, NOTHING


def test_a_node_without_a_rule_is_refused_by_name() -> None:
    form = MeanValue(closed_model(Strange() >> service("disk", 1.0), 2))
    reason = "mean-value has no rule for steps of the kind strange; ask for another method"
    assert form.points({}).answer(0).failed == reason
