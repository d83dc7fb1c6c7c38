"""Times by the name of their distribution: moments by formula, by draws and by phases, the methods
that know them, and files that say them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slipstick import Simulation, closed_model, delay, load, service, solve
from slipstick.errors import ModelError, SpecError
from slipstick.law import LAWS
from slipstick.model.network import QueueingNetwork, closed_class, network, open_class, station
from slipstick.model.system import Model
from slipstick.schema.kinds.activity import activity_data
from slipstick.schema.kinds.queueing import network_data
from slipstick.sim.plan.distributions import (
    BatchTimes,
    BurstyTimes,
    DistributedTime,
    ServiceTime,
    Stream,
)
from slipstick.time_distributions import (
    TimeDistribution,
    coxian,
    erlang,
    gamma,
    general_phases,
    hyperexponential,
    lognormal,
    pareto,
    samples,
    uniform,
    weibull,
)

COXIAN = coxian([2e-3, 10e-3], [0.3])
GENERAL = general_phases([0.4, 0.6, 0.0], [[-3.0, 1.0, 1.0], [0.0, -2.0, 1.5], [0.5, 0.0, -5.0]])
DISTRIBUTIONS_AND_SCV: list[tuple[TimeDistribution, float]] = [
    (erlang(3), 1 / 3),
    (hyperexponential([0.2, 0.3, 0.5], [5.0, 1.0, 0.4]).distribution, 2 * 5.38 / 1.5**2 - 1),
    (COXIAN.distribution, 80 / 25 - 1),
    (uniform(1.0, 4.0).distribution, 9 / 12 / 6.25),
    (lognormal(2.5), 2.5),
    (gamma(0.4), 0.4),
    (weibull(2.0), 4 / math.pi - 1),
    (pareto(4.0), 1 / 8),
    (samples([1.0, 2.0, 9.0]).distribution, (9 + 4 + 25) / 3 / 16),
]
every_law = pytest.mark.parametrize(
    ("distribution", "scv"),
    DISTRIBUTIONS_AND_SCV,
    ids=[distribution.kind for distribution, _ in DISTRIBUTIONS_AND_SCV],
)


@every_law
def test_moments_by_formula_and_by_draws(distribution: TimeDistribution, scv: float) -> None:
    assert distribution.scv == pytest.approx(scv, rel=1e-9)
    if distribution.phases is not None:
        assert distribution.phases.mean == pytest.approx(1.0, rel=1e-12)
        assert distribution.phases.scv == pytest.approx(scv, rel=1e-9)
    values = DistributedTime(distribution, 2.0).sample(Stream(5, distribution.kind), 100_000)
    error = math.sqrt(scv / len(values))
    assert values.min() >= 0
    assert abs(values.mean() / 2 - 1) < 5 * error
    spread = (values / 2 - 1) ** 2
    assert abs(spread.mean() - scv) < 6 * spread.std() / math.sqrt(len(values)) + 1e-3


def test_phases_of_a_general_chain_have_the_moments_of_its_draws() -> None:
    """The mean by steps through the chain: m_i = 1 / r_i + sum p_ij m_j."""
    mean = np.linalg.solve([[3.0, -1.0, -1.0], [0.0, 2.0, -1.5], [-0.5, 0.0, 5.0]], np.ones(3)) @ [
        0.4,
        0.6,
        0.0,
    ]
    assert GENERAL.mean == pytest.approx(mean, rel=1e-12)
    values = DistributedTime(GENERAL.distribution, GENERAL.mean).sample(
        Stream(1, "general"), 400_000
    )
    assert abs(values.mean() / mean - 1) < 5 * math.sqrt(GENERAL.distribution.scv / len(values))
    assert np.var(values) / mean**2 == pytest.approx(GENERAL.distribution.scv, rel=0.02)


def test_names_for_exponential_times_are_exponential_and_no_other_time_is() -> None:
    alike = [erlang(1), weibull(1.0), gamma(1.0), coxian([3.0], []).distribution]
    alike += [hyperexponential([0.5, 0.5], [2.0, 2.0]).distribution]
    assert [distribution.scv for distribution in alike] == [1.0] * len(alike)
    for distribution in (
        lognormal(1.0),
        pareto(1 + math.sqrt(2)),
        samples([0.0, 2.0]).distribution,
    ):
        assert distribution.scv != 1
        assert distribution.scv == pytest.approx(1.0, rel=1e-9)
    shared = {"cpu": station(service={"a": 1.0, "b": 1.0}, distribution={"a": lognormal(1.0)})}
    answer = solve(network({"a": closed_class(2), "b": closed_class(2)}, shared))
    assert not answer.exact


@pytest.mark.turns(4)
def test_a_queue_with_coxian_service_by_formula_chain_and_simulation() -> None:
    """Pollaczek and Khinchine: W = lambda E[S^2] / (2 (1 - rho)), E[S^2] = 80 ms^2."""
    wait = 50 * 80e-6 / 2 / (1 - 0.25)
    by_law = LAWS["mg1-waiting-time"](
        scv=COXIAN.distribution.scv, service=COXIAN.mean, arrivals=50.0
    )
    assert by_law == pytest.approx(wait, rel=1e-12)
    queue = station(service={"jobs": COXIAN.mean}, distribution={"jobs": COXIAN.distribution})
    model = network({"jobs": open_class(50.0)}, {"cpu": queue})
    for method in ("exact", "markov-chain"):
        answer = solve(model, method=method)
        assert answer["waiting_time[jobs,cpu]"] == pytest.approx(wait, rel=1e-6)
        assert answer.exact
    found = solve(model, method="simulation", simulation=Simulation(precision=0.01))
    low, high = found.ends("waiting_time[jobs,cpu]")
    assert low is not None
    assert high is not None
    assert low - (high - low) < wait < high + (high - low)


@pytest.mark.parametrize(
    "distribution",
    [COXIAN.distribution, GENERAL.distribution, erlang(3)],
    ids=lambda distribution: distribution.kind,
)
def test_closed_systems_of_phases_by_both_chains(distribution: TimeDistribution) -> None:
    """An activity by positions, and a network by numbers at stations, solved exactly."""
    cycle = delay(10.0, name="think", scv=1) >> service("cpu", 2.0, distribution=distribution)
    by_positions = solve(closed_model(cycle, processors=4), method="markov-chain")
    queue = station(service={"jobs": 2.0}, distribution={"jobs": distribution})
    by_numbers = solve(
        network({"jobs": closed_class(4, think_time=10.0)}, {"cpu": queue}), method="markov-chain"
    )
    assert by_positions.exact
    assert by_numbers.exact
    assert by_positions["throughput"] == pytest.approx(by_numbers["throughput[jobs]"], rel=1e-9)


@pytest.mark.turns(4)
@every_law
def test_both_kernels_draw_the_same_times(distribution: TimeDistribution, scv: float) -> None:
    cycle = delay(10.0, name="think", distribution=distribution) >> service(
        "cpu", 4.0, distribution=distribution
    )
    model = closed_model(cycle, processors=3)
    times = [
        solve(model, method="simulation", simulation=Simulation(cycles=400, kernel=kernel))["time"]
        for kernel in ("plain", "compiled")
    ]
    assert times[0] == times[1]


ACTIVITY = """
activity: 1
population: {{processors: 3}}
resources: {{db: {{}}}}
cycle:
- {{delay: {{lognormal: {{mean: 10 ms, scv: 2}}}}}}
- {{name: query, service: db, time: {{{time}}}}}
"""
TIMES = [
    "coxian: {rates: [500 /s, 100 /s], onward: [0.3]}",
    "phase-type: {alpha: [1, 0], T: [[-500 /s, 150 /s], [0 /s, -100 /s]]}",
    "hyperexponential: {probabilities: [0.25, 0.75], rates: [100 /s, 300 /s]}",
    "erlang: {mean: 5 ms, phases: 4}",
    "uniform: {low: 1 ms, high: 9 ms}",
    "gamma: {mean: 5 ms, scv: 0.5}",
    "weibull: {mean: 5 ms, shape: 1.5}",
    "pareto: {mean: 5 ms, shape: 3}",
    "samples: {values: [1 ms, 2 ms, 12 ms]}",
    "samples: {file: times.csv, column: query}",
]


@pytest.mark.parametrize("time", TIMES)
def test_a_file_says_a_distribution_and_is_written_as_it_is_read(tmp_path: Path, time: str) -> None:
    (tmp_path / "times.csv").write_text("id,query [ms]\n1,1\n2,2\n3,12\n", "utf-8")
    path = tmp_path / "model.yaml"
    path.write_text(ACTIVITY.format(time=time), "utf-8")
    model = load(str(path))
    assert isinstance(model, Model)
    query = next(step for step in model.steps if step.name == "query")
    assert query.distribution is not None
    assert query.time.value == pytest.approx(5e-3, rel=1e-12)  # type: ignore[attr-defined]
    again = load(activity_data(model))
    assert isinstance(again, Model)
    distribution = next(step for step in again.steps if step.name == "query").distribution
    assert distribution is not None
    assert distribution.kind == query.distribution.kind
    assert distribution.scv == pytest.approx(query.distribution.scv, rel=1e-12)


def test_a_network_says_a_distribution_and_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(
        "queueing-network: 1\nclasses: {a: {arrivals: 50 /s}}\n"
        f"stations: {{cpu: {{service: {{a: {{{TIMES[0]}}}}}}}}}\n",
        "utf-8",
    )
    model = load(str(path))
    assert isinstance(model, QueueingNetwork)
    again = load(network_data(model))
    assert isinstance(again, QueueingNetwork)
    assert solve(again).values == solve(model).values
    assert model.stations["cpu"].distribution["a"].scv == pytest.approx(2.2, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (erlang, (0,), "an Erlang time has 1 to 100 phases, got 0"),
        (coxian, ([1.0, 2.0], []), "2 phases need 1 probabilities of a next phase, got 0"),
        (
            coxian,
            ([1.0, 2.0], [1.5]),
            "the probability of a next phase must lie between 0 and 1, got 1.5",
        ),
        (coxian, ([0.0], []), "the means of phases are above 0, got 0"),
        (general_phases, ([1.0], [[-1.0, 0.0]]), "1 phases need a T of 1 rows and 1 columns"),
        (
            general_phases,
            ([1.0, 0.0], [[-1.0, 2.0], [0.0, -1.0]]),
            "row 1 of T needs a diagonal below 0, other rates from 0 on, and a sum of at most 0",
        ),
        (
            general_phases,
            ([1.0, 0.0], [[-1.0, 1.0], [1.0, -1.0]]),
            "the phases of T do not end: no row has a sum below 0",
        ),
        (
            general_phases,
            ([1.0] + 100 * [0.0], (np.eye(101) * -1).tolist()),
            "a time has at most 100 phases, got 101",
        ),
        (hyperexponential, ([0.2], [1.0, 2.0]), "2 phases need as many probabilities, got 1"),
        (hyperexponential, ([0.2], [1.0]), "the probabilities of phases must add up to 1, got 0.2"),
        (uniform, (2.0, 1.0), "a uniform time needs 0 <= low <= high, above 0, got 2 and 1"),
        (lognormal, (0.0,), "a lognormal time has an scv above 0, got 0"),
        (weibull, (0.0,), "the shape of a Weibull time lies between 0.1 and 100, got 0"),
        (
            pareto,
            (2.0,),
            "the shape of a Pareto time lies above 2, where its variance is finite; got 2",
        ),
        (samples, ([0.0],), "measured times are one number or more, none below 0, not all 0"),
    ],
)
def test_what_is_no_distribution_is_refused(make: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        make(*arguments)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (
            "coxian: {rates: [5 /s, 1 /s], onward: []}",
            "2 phases need 1 probabilities of a next phase",
        ),
        ("pareto: {mean: 1 ms, shape: 2}", "lies above 2, where its variance is finite; got 2"),
        ("lognormal: {scv: 2}", "lognormal.mean: key 'mean' is missing"),
        ("valeu: 3 ms", "did you mean 'value'"),
        ("lognormale: {mean: 1 ms, scv: 2}", "did you mean 'lognormal'"),
        (
            "erlang: {mean: 1 ms, phases: 2}, gamma: {mean: 1 ms, scv: 2}",
            "give one distribution, got 2",
        ),
        ("hyperexponential: {probabilities: [0.2], rates: [1 /s]}", "add up to 1, got 0.2"),
        ("phase-type: {alpha: [1], T: [[2 /s]]}", "row 1 of T needs a diagonal below 0"),
        ("samples: {file: none.csv}", "none.csv"),
        (
            "samples: {unit: ms}",
            (
                "give measured times as values or in a file; a file is read where it is "
                "written, not by --set"
            ),
        ),
    ],
)
def test_a_wrong_distribution_is_refused(tmp_path: Path, time: str, message: str) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(ACTIVITY.format(time=time), "utf-8")
    with pytest.raises(SpecError, match=message):
        load(str(path))


def test_a_distribution_has_no_scv_beside_it(tmp_path: Path) -> None:
    erlang_time = "{erlang: {mean: 1 ms, phases: 2}}"
    files = [
        f"activity: 1\npopulation: {{processors: 1}}\ncycle: [{{delay: {erlang_time}, scv: 1}}]\n",
        (
            "queueing-network: 1\nclasses: {a: {population: 1}}\n"
            f"stations: {{cpu: {{service: {{a: {erlang_time}}}, scv: {{a: 1}}}}}}\n"
        ),
    ]
    for number, text in enumerate(files):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text, "utf-8")
        with pytest.raises(SpecError, match="a distribution has its own scv; leave scv out"):
            load(str(path))


def test_the_scv_of_a_uniform_time_is_that_of_its_ends() -> None:
    """A variance of (high - low)^2 / 12 over the square of the mean."""
    assert uniform(1.0, 3.0).distribution.scv == pytest.approx(4 / 12 / 4)
    assert uniform(0.0, 10.0).distribution.scv == pytest.approx(100 / 12 / 25)


@pytest.mark.parametrize("scv", [0.25, 2.0])
def test_gamma_times_of_the_simulator_have_their_mean_and_variance(scv: float) -> None:
    blocks = ServiceTime("gamma", 3.0, scv).blocks(Stream(1, "bus"), [40_000])
    times = next(iter(blocks))
    assert times.mean() == pytest.approx(3.0, rel=0.03)
    assert times.var() / 9.0 == pytest.approx(scv, rel=0.08)


def test_batches_multiply_the_customers_of_a_period() -> None:
    # A period of 9 s + 1 s at a mean of 33 / s has 330 arrivals.
    bursty = BurstyTimes((20.0, 150.0), (1 / 9, 1.0))
    assert bursty.customers_of_period == pytest.approx(330.0)
    assert BatchTimes(bursty, 4).customers_of_period == pytest.approx(1320.0)
    assert BatchTimes(ServiceTime("deterministic", 2.0, 0.0), 4).customers_of_period == 0.0


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (1.0, 3.0), (5.0, 5.0)])
def test_a_uniform_time_has_the_variance_of_its_width(low: float, high: float) -> None:
    time = uniform(low, high)
    assert time.distribution.scv == pytest.approx((high - low) ** 2 / 12 / time.mean**2)


def _phases_in_a_row(count: int) -> TimeDistribution:
    """Return the time of equal phases in a row as a phase-type time."""
    rates = np.diag(np.full(count, -1.0)) + np.diag(np.ones(count - 1), 1)
    return general_phases([1.0, *[0.0] * (count - 1)], rates.tolist()).distribution


@pytest.mark.parametrize("distribution", [erlang, _phases_in_a_row])
def test_a_time_has_at_most_100_phases(distribution: Any) -> None:
    assert distribution(1).scv == pytest.approx(1.0)
    assert distribution(100).scv == pytest.approx(0.01)
    with pytest.raises(ModelError, match="100 phases, got 101"):
        distribution(101)


def test_an_erlang_time_has_at_least_one_phase() -> None:
    with pytest.raises(ModelError, match="1 to 100 phases, got 0"):
        erlang(0)


@pytest.mark.parametrize("onward", [0.0, 1.0])
def test_a_next_phase_may_never_or_always_follow(onward: float) -> None:
    assert coxian([1.0, 2.0], [onward]).mean == pytest.approx(1.0 + 2.0 * onward)
    for beyond in (-1e-9, 1 + 1e-9):
        with pytest.raises(ModelError, match="between 0 and 1"):
            coxian([1.0, 2.0], [beyond])
