"""Random times have the mean and the variation asked for in every method, and maxima as
integrals and exact results give them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from slipstick import solve
from slipstick.errors import ModelError
from slipstick.model.activity import Stage, delay, parallel, pipeline, serial
from slipstick.model.network import network, open_class, station
from slipstick.model.system import closed_model
from slipstick.phases import (
    MOST_PHASES,
    coxian,
    exponential,
    hyperexponential,
    phase_type,
)
from slipstick.random_times import (
    RandomTime,
    maximum_of,
    maximum_of_identical,
    normal_distribution,
    remainder_after_gap,
    repeated_time,
    sum_of_times,
)
from slipstick.sim.plan.distributions import ServiceTime, Stream, service_time
from slipstick_mean_value.dependent_times import JointlyNormalTimes
from slipstick_mean_value.form import MeanValue
from tests.examples import examples
from tests.strategies import quick


@given(st.floats(1e-6, 1e6), st.floats(0.05, 50.0))
def test_mean_and_variation_come_out(mean: float, scv: float) -> None:
    time = phase_type(mean, scv)
    assert time.mean == pytest.approx(mean, rel=1e-9)
    assert time.scv == pytest.approx(scv, rel=1e-6)
    assert (time.start >= 0).all()
    assert time.start.sum() == pytest.approx(1.0)


@given(st.floats(0.011, 20.0))
def test_both_are_differentiated(scv: float) -> None:
    time = phase_type(2.0 + 3e-30j, scv + 1e-30j)
    assert time.mean.imag / 1e-30 == pytest.approx(3.0)
    assert time.scv.imag / 1e-30 == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("phases", [1, 2, 7, MOST_PHASES])
def test_as_many_phases_as_the_variation_asks_for(phases: int) -> None:
    assert phase_type(1.0, 1 / phases).phases == phases
    assert phase_type(1.0, 1 / phases).scv == pytest.approx(1 / phases)


def test_third_moments_are_as_known() -> None:
    assert exponential(2.0).moment(3) == pytest.approx(6 * 8.0)
    # Erlang: k (k + 1) (k + 2) / rate^3
    assert phase_type(3.0, 1 / 3).moment(3) == pytest.approx(60.0)


def test_balanced_means_carry_half_each() -> None:
    time = hyperexponential(4.0, 6.0)
    assert time.start / time.rates == pytest.approx([2.0, 2.0])


def test_times_out_of_range_are_named() -> None:
    with pytest.raises(
        ModelError, match=r"a hyperexponential time has an scv of at least 1, got 0\.5"
    ):
        hyperexponential(1.0, 0.5)
    with pytest.raises(
        ModelError,
        match=r"a Coxian time needs an scv of at least 0\.01 to be made of phases, got 0",
    ):
        coxian(1.0, 0.0)
    with pytest.raises(
        ModelError, match=r"a time made of phases needs a finite mean above 0 s, got 0\.0"
    ):
        exponential(0.0)


@given(st.floats(1e-3, 1e3), st.one_of(st.floats(0.011, 0.999), st.floats(1.001, 9.0)))
@settings(max_examples=examples(25), deadline=None)
def test_simulator_and_chain_have_the_same_moments(mean: float, scv: float) -> None:
    values = service_time(mean, scv).sample(Stream(1, "station"), 100_000)
    phases = phase_type(mean, scv)
    for order in (1, 2):
        powers = values**order
        error = powers.std() / np.sqrt(len(powers))
        assert abs(powers.mean() - phases.moment(order)) < 5 * error


@pytest.mark.parametrize(
    ("kind", "scv"),
    [
        *(("gamma", scv) for scv in (0.003, 0.2, 1.0, 3.0)),
        *(("coxian", scv) for scv in (0.011, 0.35, 0.7)),
        *(("hyperexponential", scv) for scv in (1.01, 9.0)),
        *(("erlang", scv) for scv in (0.01, 0.25)),
        ("exponential", 1.0),
        ("uniform", 1 / 3),
    ],
)
def test_draws_of_each_kind_have_its_mean_and_scv(kind: str, scv: float) -> None:
    """Also where one way to draw ends and the next begins, such as a gamma time of shape 1."""
    values = ServiceTime(kind, 2.0, scv).sample(Stream(3, kind), 100_000) / 2
    assert abs(values.mean() - 1) < 5 * math.sqrt(scv / len(values))
    squares = (values - 1) ** 2
    assert abs(squares.mean() - scv) < 5 * squares.std() / math.sqrt(len(values))


@pytest.mark.turns(4)
@pytest.mark.parametrize("scv", [0.4, 0.07, 0.7, 4.0])
def test_one_server_waits_by_pollaczek_and_khinchine_in_chain_and_simulation(scv: float) -> None:
    load = 0.6
    queue = network(
        {"jobs": open_class(load)}, {"cpu": station(service={"jobs": 1.0}, scv={"jobs": scv})}
    )
    waiting = load * (1 + scv) / 2 / (1 - load)
    chain = solve(queue, method="markov-chain")
    assert chain.values["waiting_time[jobs,cpu]"].value == pytest.approx(waiting, rel=1e-6)
    simulated = solve(queue, method="simulation").values["waiting_time[jobs,cpu]"]
    assert simulated.value == pytest.approx(waiting, rel=0.06)
    assert simulated.low is not None
    assert simulated.high is not None
    assert simulated.low - 0.03 * waiting <= waiting <= simulated.high + 0.03 * waiting


ONE = np.ones(1)


def random_time(mean: float, scv: float, kind: str = "general") -> RandomTime:
    return RandomTime(mean * ONE, scv * mean * mean * ONE, kind)


def test_means_and_variances_of_independent_times_add_up() -> None:
    times = [(2.0, 1.0), (0.5, 0.25), (3.0, 0.0), (1.5, 4.0)]
    added = sum_of_times([random_time(mean, scv) for mean, scv in times])
    assert added.mean[0] == pytest.approx(sum(mean for mean, _ in times))
    variance = sum(scv * mean**2 for mean, scv in times)
    assert added.variance[0] == pytest.approx(variance)
    twice = repeated_time(2 * ONE, random_time(1.5, 4.0))
    assert twice.variance[0] == pytest.approx(2 * 4.0 * 1.5**2)


def expected_maximum(times: list[tuple[float, float]]) -> float:
    """Integrate P(longest > t), each time a gamma variate."""

    def beyond(t: float) -> float:
        return 1 - float(
            np.prod([stats.gamma.cdf(t, 1 / scv, scale=mean * scv) for mean, scv in times])
        )

    return float(integrate.quad(beyond, 0, 200, limit=500, points=[mean for mean, _ in times])[0])


@pytest.mark.turns(6)
@pytest.mark.parametrize("count", [2, 5, 30])
@pytest.mark.parametrize("scv", [1.0, 0.5, 0.25, 0.01])
def test_times_of_one_distribution(count: int, scv: float) -> None:
    found = maximum_of_identical(random_time(2.0, scv), count * ONE)
    assert found.mean[0] == pytest.approx(expected_maximum([(2.0, scv)] * count), rel=6e-3)


def test_times_that_vary_more_than_exponential_ones() -> None:
    """They are hyperexponential with balanced means, in every method."""
    times = [(1.0, 4.0), (2.0, 1.5), (0.5, 20.0)]

    def below(t: float, mean: float, scv: float) -> float:
        phases = hyperexponential(mean, scv)
        return 1 - float(np.sum(phases.start * np.exp(-phases.rates * t)))

    expected = integrate.quad(
        lambda t: 1 - np.prod([below(t, *each) for each in times]), 0, 400, limit=500
    )[0]
    assert maximum_of([random_time(*each) for each in times]).mean[0] == pytest.approx(
        expected, rel=1e-3
    )
    alike = integrate.quad(lambda t: 1 - below(t, 1.0, 4.0) ** 16, 0, 400, limit=500)[0]
    assert maximum_of_identical(random_time(1.0, 4.0), 16 * ONE).mean[0] == pytest.approx(
        alike, rel=1e-3
    )


TIMES = st.builds(
    random_time, st.floats(1e-6, 1e3), st.sampled_from([0.01, 0.25, 0.9, 1.0, 4.0, 30.0])
)


@quick
@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(1, 40))
def test_a_maximum_is_no_less_than_the_mean_of_any_operand(
    times: list[RandomTime], count: int
) -> None:
    """Issue 12: a fork came out 0.015 % below its longest branch, and so below the lower bound."""
    longest = max(float(each.mean[0]) for each in times)
    assert maximum_of(times).mean[0] >= longest
    assert maximum_of_identical(times[0], count * ONE).mean[0] >= times[0].mean[0]


def test_times_of_several_distributions() -> None:
    times = [(2.0, 0.25), (1.5, 1.0), (2.4, 0.05)]
    assert maximum_of([random_time(*each) for each in times]).mean[0] == pytest.approx(
        expected_maximum(times), rel=3e-3
    )


def test_many_times_need_few_panels_and_equal_ones_one(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.Generator(np.random.PCG64(3))
    means, scvs = random.uniform(1, 3, 40), random.uniform(0.02, 4, 40)
    times = [random_time(mean, scv) for mean, scv in zip(means, scvs, strict=True)]
    few = maximum_of(times)
    monkeypatch.setattr("slipstick.random_times._MOST_EDGES", 1000)
    every = maximum_of(times)
    assert few.mean == pytest.approx(every.mean, rel=1e-5)
    assert float(few.mean[0]) != float(every.mean[0])
    assert few.variance == pytest.approx(every.variance, rel=1e-4)
    alike = maximum_of([random_time(2.0, 0.5) for _ in range(30)])
    assert alike.mean == pytest.approx(
        maximum_of_identical(random_time(2.0, 0.5), 30 * ONE).mean, rel=1e-12
    )


@pytest.mark.parametrize(
    ("scv", "error"), [(0.1, 0.01), (0.25, 0.021), (1.0, 0.065), (2.0, 0.09), (4.0, 0.075)]
)
def test_the_work_left_after_a_gap_errs_as_stated(scv: float, error: float) -> None:
    """Exact of a gamma variate: E (Y - c)+ = m P(Y' > c) - c P(Y > c), where Y' has one more in
    its shape.
    """
    work = stats.gamma(1 / scv, scale=scv), stats.gamma(1 / scv + 1, scale=scv)
    off = []
    for gap in (0.2, 0.5, 1.0, 2.0):
        constant, _ = remainder_after_gap(ONE, scv * ONE, gap * ONE, 0 * ONE)
        off.append(constant[0] - (work[1].sf(gap) - gap * work[0].sf(gap)))
        exponential, _ = remainder_after_gap(ONE, scv * ONE, gap * ONE, gap * gap * ONE)
        assert exponential[0] == pytest.approx(
            1 - gap * (1 - (1 + scv / gap) ** (-1 / scv)), rel=1e-6
        )
    assert error / 3 < max(map(abs, off)) < error


@pytest.mark.parametrize(("count", "mean", "variance"), [(30, 3e-4, 3.5e-3), (1000, 2.1e-3, 0.05)])
def test_the_integration_of_a_maximum_errs_as_stated(
    count: int, mean: float, variance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [random_time(1.0, scv) for scv in (0.01, 0.25, 1.0, 4.0, 20.0)]
    found = [maximum_of_identical(each, count * ONE) for each in times]
    finer_rule = np.polynomial.legendre.leggauss(48)
    monkeypatch.setattr("slipstick.random_times._gauss_legendre_rule", lambda: finer_rule)
    exact = [maximum_of_identical(each, count * ONE) for each in times]
    off = [
        (abs(a.mean[0] / b.mean[0] - 1), abs(a.variance[0] / b.variance[0] - 1))
        for a, b in zip(found, exact, strict=True)
    ]
    assert mean / 2 < max(each for each, _ in off) < mean
    assert variance / 2 < max(each for _, each in off) < variance


def test_exponential_times_exactly() -> None:
    found = maximum_of([random_time(mean, 1.0, "exponential") for mean in (1.0, 2.0, 4.0)])
    rates = (1.0, 0.5, 0.25)
    pairs = sum(1 / (rates[i] + rates[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert found.mean[0] == pytest.approx(7 - pairs + 1 / sum(rates), rel=1e-12)
    alike = maximum_of_identical(random_time(3.0, 1.0, "exponential"), 4 * ONE)
    assert alike.mean[0] == pytest.approx(3 * (1 + 1 / 2 + 1 / 3 + 1 / 4), rel=1e-12)
    assert alike.variance[0] == pytest.approx(9 * (1 + 1 / 4 + 1 / 9 + 1 / 16), rel=1e-12)


def test_the_variance_of_a_maximum_of_unlike_exponential_times() -> None:
    # Rates 1 and 1/2: E max = 1 + 2 - 2/3, E max^2 = 2 + 8 - 2 (2/3)^2.
    times = [
        RandomTime(np.array([mean]), np.array([mean * mean]), "exponential") for mean in (1.0, 2.0)
    ]
    longest = maximum_of(times)
    assert longest.mean[0] == pytest.approx(7 / 3)
    assert longest.variance[0] == pytest.approx(10 - 8 / 9 - 49 / 9)


def test_constants_exactly_and_a_constant_among_random_times() -> None:
    found = maximum_of([random_time(2.0, 0.0, "constant"), random_time(3.0, 0.0, "constant")])
    assert (found.mean[0], found.variance[0], found.kind) == (3.0, 0.0, "constant")
    mixed = maximum_of([random_time(2.0, 0.0, "constant"), random_time(1.0, 1.0, "general")])
    # E max(2, X) = 2 + exp(-2) for an exponential X of mean 1.
    assert mixed.mean[0] == pytest.approx(2 + np.exp(-2), rel=2e-3)


@pytest.mark.parametrize("constants", [(1.0, 4.0), (4.0, 1.0), (4.0, 4.0)])
def test_of_several_constants_the_largest_counts(constants: tuple[float, float]) -> None:
    times = [random_time(constant, 0.0, "constant") for constant in constants]
    assert maximum_of(times).mean[0] == 4.0
    # E max(4, X) = 4 + 2 exp(-2) for an exponential X of mean 2.
    longest = maximum_of([*times, random_time(2.0, 1.0)])
    assert longest.mean[0] == pytest.approx(4 + 2 * np.exp(-2), rel=2e-3)


def test_the_normal_distribution() -> None:
    x = np.linspace(-6, 6, 25)
    assert normal_distribution(x) == pytest.approx(stats.norm.cdf(x), abs=1e-7)


@pytest.mark.parametrize(("scv", "exact"), [(0.25, 1.2734), (1.0, 1.5), (4.0, 1.65)])
def test_the_later_of_two_times_keeps_the_tails_of_their_distribution(
    scv: float, exact: float
) -> None:
    """Exact: Erlang with four phases, exponential, hyperexponential with balanced means."""
    times = JointlyNormalTimes()
    a, b = (times.add_after(None, RandomTime(np.ones(1), np.full(1, scv))) for _ in range(2))
    assert times.mean[times.add_maximum(a, b)][0] == pytest.approx(exact, rel=0.01)
    # What both share does not differ.
    start = times.add_after(None, RandomTime(np.ones(1), np.full(1, scv)))
    a, b = (times.add_after(start, RandomTime(np.ones(1), np.full(1, scv))) for _ in range(2))
    assert times.mean[times.add_maximum(a, b)][0] == pytest.approx(1 + exact, rel=0.01)


def _sampled_end(
    scv: float, stages: list[tuple[bool, float]], items: int, random: np.random.Generator
) -> float:
    """Sample the mean time at which the last item leaves a pipeline of serial and parallel
    stages.
    """
    ends = np.zeros((2000, items))
    for is_serial, mean in stages:
        if scv > 1:
            phases = hyperexponential(mean, scv)
            which = random.choice(2, ends.shape, p=phases.start)
            times = random.exponential(1 / phases.rates[which])
        else:
            times = random.gamma(1 / scv, mean * scv, ends.shape)
        for item in range(items):
            before = ends[:, item - 1] if is_serial and item else 0.0
            ends[:, item] = np.maximum(before, ends[:, item]) + times[:, item]
    return float(ends.max(axis=1).mean())


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("scv", "kinds", "half", "most"),
    [
        (0.25, [serial], 0.01, 0.02),
        (1.0, [serial], 0.02, 0.04),
        (4.0, [serial], 0.02, 0.05),
        (0.25, [serial, parallel], 0.01, 0.04),
        (1.0, [serial, parallel], 0.02, 0.12),
        (4.0, [serial, parallel], 0.04, 0.25),
    ],
)
def test_pipelines_alone(
    scv: float, kinds: list[Callable[..., Stage]], half: float, most: float
) -> None:
    random, errors = np.random.Generator(np.random.PCG64(40_000)), []
    for _ in range(30):
        means = np.exp(
            random.uniform(np.log(0.2), np.log(2.0), int(random.integers(2, 6)))
        ).tolist()
        chosen, items = (
            [kinds[-1 if random.random() > 0.75 else 0] for _ in means],
            int(random.integers(2, 17)),
        )
        parts = [
            kind(delay(mean, name=f"s{k}", scv=scv))
            for k, (kind, mean) in enumerate(zip(chosen, means, strict=True))
        ]
        (time,) = MeanValue(closed_model(pipeline(parts, items), 1)).times({})
        exact = _sampled_end(
            scv,
            [(kind is serial, mean) for kind, mean in zip(chosen, means, strict=True)],
            items,
            random,
        )
        errors.append(abs(time / exact - 1))
    assert np.median(errors) < half
    assert np.quantile(errors, 0.95) < most
