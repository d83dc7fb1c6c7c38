"""Arrivals in bursts: a Markov-modulated Poisson process, against matrix-geometric solutions,
renewal theory and simulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from slipstick import QueueingNetwork, chain, network, open_class, route, solve, station, transient
from slipstick.errors import ModelError, NoAnswerError
from slipstick.sim.plan.distributions import BatchTimes, BurstyTimes, Stream
from slipstick.sim.settings import Simulation


def queue(quiet: float, burst: float, begins: float, ends: float, rate: float) -> QueueingNetwork:
    arrivals = open_class(quiet, burst_arrivals=burst, burst_time=1 / ends, quiet_time=1 / begins)
    return network({"web": arrivals}, {"cpu": station(service={"web": 1 / rate})})


def matrix_geometric(quiet: float, burst: float, begins: float, ends: float, rate: float) -> float:
    """Mean number present at MMPP/M/1, by the minimal solution R of A0 + R A1 + R^2 A2 = 0
    (Neuts, 1981).
    """
    a0, a2 = np.diag([quiet, burst]), rate * np.eye(2)
    moves = np.array([[-begins, begins], [ends, -ends]])
    a1, r = moves - a0 - a2, np.zeros((2, 2))
    for _ in range(3_000):
        r = -(a0 + r @ r @ a2) @ np.linalg.inv(a1)
    balance = moves - a0 + r @ a2
    start = np.linalg.lstsq(
        np.vstack([balance.T, np.linalg.inv(np.eye(2) - r).sum(axis=1)]), [0, 0, 1], rcond=None
    )[0]
    spread = np.linalg.inv(np.eye(2) - r)
    return float((start @ r @ spread @ spread).sum())


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("numbers", "present"),
    [
        ((0.9, 0.1, 0.1, 0.1, 1.0), 1.702166),
        ((0.0, 2.0, 0.3, 0.3, 2.0), 1.884437),
        ((1.0, 2.0, 1.0, 1.0, 2.0), 3.213614),
        # More than is served comes in a burst, so that levels rise up to some hundred customers.
        ((20.0, 150.0, 1 / 9, 1.0, 100.0), 9.506624),
    ],
)
def test_one_server_has_the_matrix_geometric_answer(
    numbers: tuple[float, ...], present: float
) -> None:
    answer = solve(queue(*numbers))
    assert answer.method == "markov-chain"
    assert answer["queue_length[cpu]"] == pytest.approx(present, abs=1e-6)
    assert answer["queue_length[cpu]"] == pytest.approx(matrix_geometric(*numbers), rel=1e-8)
    assert answer["utilization[cpu]"] == pytest.approx(
        (answer["throughput[web]"] or 0.0) / numbers[4]
    )


def test_pauses_make_renewals() -> None:
    """Without arrivals in the other state: GI/M/1, whose queue falls by the root of sigma = E
    exp(-mu (1 - sigma) A).
    """
    arrival, begins, ends, mu = 2.0, 0.3, 0.3, 2.0
    sigma = 0.5
    for _ in range(500):
        s = mu * (1 - sigma)
        # The next arrival, or a pause first: f = (l + r p f) / (l + r + s) with p = e / (e + s).
        sigma = arrival / (arrival + begins + s - begins * ends / (ends + s))
    answer = solve(queue(arrival, 0.0, begins, ends, mu))
    assert answer["response_time[web]"] == pytest.approx(1 / (mu * (1 - sigma)), rel=1e-8)


@pytest.mark.turns(4)
@pytest.mark.parametrize("kernel", ["plain", "compiled"])
def test_simulation_agrees(kernel: str) -> None:
    model = queue(0.5, 3.0, 0.2, 1.0, 2.0)
    truth = solve(model)
    run = Simulation(seed=5, cycles=8_000, kernel=kernel)
    found = solve(model, method="simulation", simulation=run).values
    for name in ("throughput[web]", "response_time[web]", "queue_length[cpu]"):
        value = found[name]
        assert value.low is not None
        assert value.high is not None
        wide = value.high - value.low
        assert value.low - wide / 2 <= (truth[name] or 0.0) <= value.high + wide / 2


def test_times_between_arrivals_have_the_distribution_of_the_process() -> None:
    times = BurstyTimes((0.5, 3.0), (0.2, 1.0))
    drawn = next(times.blocks(Stream(3, "web"), [40_000]))
    assert drawn.mean() == pytest.approx(times.mean, rel=0.03)
    parts = np.concatenate(list(times.blocks(Stream(3, "web"), [7, 100, 93])))
    assert (parts == drawn[:200]).all()
    # P(A > t) is that of the phase after an arrival, with no further one until t.
    silent = np.array([[-0.7, 0.2], [1.0, -4.0]])
    after = np.array([0.5 * 1.0, 3.0 * 0.2]) / (0.5 * 1.0 + 3.0 * 0.2)
    for t in (0.2, 1.0, 3.0):
        assert (drawn > t).mean() == pytest.approx(
            float((after @ expm(silent * t)).sum()), abs=0.015
        )


@pytest.mark.turns(4)
def test_the_scv_of_bursts_is_the_variance_of_their_number_in_its_mean() -> None:
    """The variance of the number in a time t is that of a chain with rates r of arrivals:
    m t + 2 p R D R 1 t, for large t, with the deviation matrix D of the chain.
    """
    times = BurstyTimes((0.5, 3.0), (0.2, 1.0))
    begin, end = times.changes
    generator = np.array([[-begin, begin], [end, -end]])
    share = np.array([end, begin]) / (begin + end)
    always = np.outer(np.ones(2), share)
    deviation = np.linalg.inv(always - generator) - always
    rates = np.diag(times.rates)
    growth = (share @ rates).sum() + 2 * (share @ rates @ deviation @ rates).sum()
    assert times.scv == pytest.approx(growth * times.mean)
    counts = np.histogram(
        np.cumsum(next(times.blocks(Stream(5, "web"), [150_000]))), np.arange(0, 150_000, 100)
    )[0]
    assert counts.var() / counts.mean() == pytest.approx(times.scv, rel=0.12)


@pytest.mark.turns(4)
def test_a_run_begins_in_a_burst_as_often_as_there_is_one() -> None:
    """In a burst the first arrival comes within a hundredth of a second, else hardly ever: 0.1 /
    (0.1 + 0.3) of all runs.
    """
    times = BurstyTimes((0.5, 1000.0), (0.1, 0.3))
    first = [next(times.blocks(Stream(1, "web", run), [1])).item() for run in range(1000)]
    assert np.mean(np.array(first) < 0.01) == pytest.approx(0.25, abs=0.04)


@pytest.mark.turns(4)
def test_a_batch_waits_for_itself() -> None:
    """Batches of 4 at .15 a second: L = rho (1 + E X^2 / E X) / (2 (1 - rho)) of M^X/M/1, 2.5
    times that of M/M/1.
    """
    model = network({"web": open_class(0.15, batch=4)}, {"cpu": station(service={"web": 1.0})})
    answer = solve(model)
    assert answer["queue_length[cpu]"] == pytest.approx(0.6 * (1 + 4) / (2 * 0.4), rel=1e-8)
    assert answer["throughput[web]"] == pytest.approx(0.6)
    found = solve(model, method="simulation", simulation=Simulation(seed=2, cycles=10_000)).values
    for name in ("throughput[web]", "queue_length[cpu]"):
        value = found[name]
        assert value.low is not None
        assert value.high is not None
        wide = value.high - value.low
        assert value.low - wide / 2 <= (answer[name] or 0.0) <= value.high + wide / 2
    many = network({"web": open_class(0.1, batch=30)}, {"a": station(service={"web": 0.1})})
    assert solve(many)["queue_length[a]"] == pytest.approx(0.3 * 31 / (2 * 0.7), rel=1e-8)
    with pytest.raises(
        NoAnswerError, match="class web arrives in batches, which the method exact does not take"
    ):
        solve(model, method="exact")
    small = network(
        {"web": open_class(0.15, batch=4)}, {"cpu": station(service={"web": 1.0}, capacity=9)}
    )
    with pytest.raises(
        NoAnswerError,
        match=(
            "class web arrives in batches, which a chain takes only without capacities and balking;"
            " ask for simulation"
        ),
    ):
        solve(small, method="markov-chain")
    by_default = solve(small)
    assert by_default.method == "simulation"
    with pytest.raises(ModelError, match="whole number from 1 to 9,007,199,254,740,992, got 0"):
        open_class(0.15, batch=0)


def test_customers_of_a_batch_go_their_own_ways_and_begin_in_phases() -> None:
    """Half of each pair come here: batches of one or two, at odds of 2 to 1, at M^X/G/1
    (Pollaczek and Khinchin).
    """
    stations = {"a": station(service={"web": 1.0}, visits={"web": 0.5}, scv={"web": 2.0})}
    answer = solve(network({"web": open_class(0.2, batch=2)}, stations))
    load, mean, square = 0.2, 4 / 3, 2.0
    wait = load * (1 + 2.0) / 2 / (1 - load) + (square / mean - 1) / 2 / (1 - load)
    assert answer["waiting_time[web,a]"] == pytest.approx(wait, rel=1e-7)


def test_bursts_go_along_routes_and_answers_have_shares() -> None:
    bursty = open_class(0.5, burst_arrivals=1.5, burst_time=2.0, quiet_time=5.0)
    stations = {
        "cpu": station(service={"web": 0.4}),
        "disk": station(service={"web": 0.3}, capacity=4),
    }
    ways = [
        route(("web", "cpu"), ("web", "disk"), 0.5),
        route(("web", "cpu"), None, 0.5),
        route(("web", "disk"), None, 1),
    ]
    routed = network(
        {}, stations, chains={"all": chain(["web"], bursty, ("web", "cpu"))}, routing=ways
    )
    answer = solve(routed)
    assert answer["throughput[all]"] == pytest.approx((0.5 * 5 + 1.5 * 2) / 7)
    assert sum(answer.share["response_time[all]"].values()) == pytest.approx(1.0, rel=1e-6)


def test_a_chain_begins_between_bursts() -> None:
    model = network(
        {"web": open_class(0.0, burst_arrivals=9.0, burst_time=1.0, quiet_time=1e6)},
        {"cpu": station(service={"web": 1.0}, capacity=3)},
    )
    assert transient(model, [1.0])["queue_length[cpu]"][0] < 1e-5


@pytest.mark.parametrize("method", ["exact", "convolution", "linearizer", "schweitzer"])
def test_other_methods_refuse_bursts_by_name(method: str) -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve(queue(0.5, 3.0, 0.2, 1.0, 2.0), method=method)
    assert (
        str(caught.value)
        == f"class web arrives in bursts, which the method {method} does not take; ask for"
        " markov-chain or simulation"
    )


def test_bursts_that_say_too_little_are_refused() -> None:
    told: list[dict[str, Any]] = [{"burst_time": 1.0}, {"burst_arrivals": 1.0}]
    for given in told:
        with pytest.raises(
            ModelError, match="arrivals in bursts need a burst_time and a quiet_time"
        ):
            open_class(1.0, **given)
    never = queue(0.5, 3.0, 0.2, 1.0, 2.0)
    with pytest.raises(
        NoAnswerError,
        match=r"classes.web.quiet_time must be above 0 s: without bursts leave it out",
    ):
        solve(never, {"classes.web.quiet_time": 0.0})
    with pytest.raises(NoAnswerError, match="station cpu is saturated"):
        solve(queue(0.5, 9.0, 0.2, 0.3, 2.0))


def test_a_period_of_bursts_has_its_arrivals_times_the_customers_of_each() -> None:
    """9 s at 20 /s and 1 s at 150 /s, with one customer or four at each arrival."""
    between = BurstyTimes((20.0, 150.0), (1 / 9, 1.0))
    assert between.customers_of_period == pytest.approx(330)
    assert BatchTimes(between, 4).customers_of_period == pytest.approx(1320)
