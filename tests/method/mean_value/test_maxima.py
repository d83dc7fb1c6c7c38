"""The longest of random times, against integrals of gamma distributions and what is known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from slipstick.law.pipeline import FLOW_LINE
from slipstick.method.mean_value import MeanValue
from slipstick.method.mean_value.maxima import RandomTime, maximum_of, maximum_of_identical, normal_distribution
from slipstick.model.activity import barrier, delay, fork, parallel, pipeline, serial, service
from slipstick.model.system import closed_model

ONE = np.ones(1)


def random_time(mean: float, scv: float, kind: str = "general") -> RandomTime:
    return RandomTime(mean * ONE, scv * mean * mean * ONE, kind)


def expected_maximum(times: list[tuple[float, float]]) -> float:
    """Integrate P(longest > t), each time a gamma variate."""

    def beyond(t: float) -> float:
        return 1 - float(np.prod([stats.gamma.cdf(t, 1 / scv, scale=mean * scv) for mean, scv in times]))

    return float(integrate.quad(beyond, 0, 200, limit=500, points=[mean for mean, _ in times])[0])


@pytest.mark.parametrize("count", [2, 5, 30])
@pytest.mark.parametrize("scv", [1.0, 0.5, 0.25, 0.01])
def test_times_of_one_distribution(count: int, scv: float) -> None:
    found = maximum_of_identical(random_time(2.0, scv), count * ONE)
    assert found.mean[0] == pytest.approx(expected_maximum([(2.0, scv)] * count), rel=6e-3)


def test_times_of_several_distributions() -> None:
    times = [(2.0, 0.25), (1.5, 1.0), (2.4, 0.05)]
    assert maximum_of([random_time(*each) for each in times]).mean[0] == pytest.approx(
        expected_maximum(times), rel=3e-3
    )


def test_exponential_times_exactly() -> None:
    found = maximum_of([random_time(mean, 1.0, "exponential") for mean in (1.0, 2.0, 4.0)])
    rates = (1.0, 0.5, 0.25)
    pairs = sum(1 / (rates[i] + rates[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert found.mean[0] == pytest.approx(7 - pairs + 1 / sum(rates), rel=1e-12)
    alike = maximum_of_identical(random_time(3.0, 1.0, "exponential"), 4 * ONE)
    assert alike.mean[0] == pytest.approx(3 * (1 + 1 / 2 + 1 / 3 + 1 / 4), rel=1e-12)
    assert alike.variance[0] == pytest.approx(9 * (1 + 1 / 4 + 1 / 9 + 1 / 16), rel=1e-12)


def test_constants_exactly_and_a_constant_among_random_times() -> None:
    found = maximum_of([random_time(2.0, 0.0, "constant"), random_time(3.0, 0.0, "constant")])
    assert (found.mean[0], found.variance[0], found.kind) == (3.0, 0.0, "constant")
    mixed = maximum_of([random_time(2.0, 0.0, "constant"), random_time(1.0, 1.0, "general")])
    # E max(2, X) = 2 + exp(-2) for an exponential X of mean 1.
    assert mixed.mean[0] == pytest.approx(2 + np.exp(-2), rel=2e-3)


def test_the_normal_distribution() -> None:
    x = np.linspace(-6, 6, 25)
    assert normal_distribution(x) == pytest.approx(stats.norm.cdf(x), abs=1e-7)


@pytest.mark.parametrize("processors", [1, 2, 7, 64])
def test_an_exponential_meeting_takes_the_harmonic_number(processors: int) -> None:
    answer = (
        MeanValue(closed_model(delay(5.0, name="work", scv=1.0) >> barrier("meet"), processors)).points({}).answer(0)
    )
    assert answer["time"] == pytest.approx(5 * sum(1 / k for k in range(1, processors + 1)), rel=1e-12)
    assert answer.exact
    assert answer.share["time"] == pytest.approx({"work": 1.0})


def test_a_fork_of_exponential_delays() -> None:
    cycle = fork(*(delay(2.0, name=f"branch{k}", scv=1.0) for k in range(3)))
    answer = MeanValue(closed_model(cycle, 4)).points({}).answer(0)
    assert answer["time"] == pytest.approx(2 * (1 + 1 / 2 + 1 / 3), rel=1e-12)
    # Branches that are alike are the last in turn.
    assert dict(answer.steps) == pytest.approx(dict.fromkeys(answer.steps, 11 / 9), rel=1e-9)


def test_branches_at_one_resource_are_served_one_after_the_other() -> None:
    cycle = fork(*(service("bus", 2.0, name=f"ask{k}", scv=1.0) for k in range(3)))
    answer = MeanValue(closed_model(cycle, 1)).points({}).answer(0)
    assert answer["time"] == pytest.approx(6.0)
    assert answer.account == pytest.approx({"busy": 2.0, "wait:bus": 4.0})
    assert answer["utilization[bus]"] == pytest.approx(1.0)


def test_a_constant_pipeline_is_a_flow_line() -> None:
    stages = [serial(delay(t, name=f"s{k}")) for k, t in enumerate((2.0, 3.0, 1.0))]
    answer = MeanValue(closed_model(pipeline(stages, 7), 3)).points({}).answer(0)
    assert answer["time"] == FLOW_LINE(once=6.0, longest=3.0, items=7)
    assert answer.exact


def drawn_pipeline(means: list[float], scv: float, items: int, serial_stages: list[bool]) -> float:
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


@pytest.mark.parametrize("scv", [1.0, 0.25])
@pytest.mark.parametrize("serial_stages", [[True, True, True], [True, False, True], [False, True, False]])
def test_random_pipelines_against_drawn_ones(scv: float, serial_stages: list[bool]) -> None:
    means = [1.0, 0.8, 1.2]
    stages = [
        (serial if one else parallel)(delay(mean, name=f"s{k}", scv=scv))
        for k, (mean, one) in enumerate(zip(means, serial_stages, strict=True))
    ]
    found = MeanValue(closed_model(pipeline(stages, 8), 1)).points({}).answer(0)["time"]
    assert found == pytest.approx(drawn_pipeline(means, scv, 8, serial_stages), rel=0.035)


def test_long_pipelines_go_on_by_a_straight_line() -> None:
    form = MeanValue(
        closed_model(pipeline([serial(delay(1.0, name="a", scv=1.0)), serial(delay(0.4, name="b"))], 500), 1)
    )
    # Of hundreds of items, each takes what the slowest stage takes.
    assert form.times({})[0] == pytest.approx(500.4, rel=0.01)
    assert form.points({}).answer(0).share["time"]["a"] > 0.95


def test_items_that_are_no_whole_number_lie_between() -> None:
    from slipstick.expression.nodes import Parameter

    stages = [serial(delay(2.0, name="a")), serial(delay(1.0, name="b"))]
    form = MeanValue(closed_model(pipeline(stages, Parameter("items", value=3.0)), 1))
    assert form.times({"items": np.array([1.0, 2.5, 3.0])}).tolist() == [3.0, 6.0, 7.0]
    assert form.points({}).answer(0).gradient["time"]["items"] == pytest.approx(2.0)
