"""Arrivals by a profile over the day: against the differential equations of the chain, a closed
form and a simulation of its own, in both kinds of model and by both kernels.
"""

from __future__ import annotations

import math
from itertools import islice, repeat
from pathlib import Path

import numpy as np
import pytest

from slipstick import (
    Answer,
    QueueingNetwork,
    Simulation,
    load,
    network,
    open_class,
    open_model,
    solve,
    station,
)
from slipstick.errors import NoAnswerError, SpecError
from slipstick.expression.nodes import RATE, Parameter
from slipstick.late import Array
from slipstick.model.activity import service
from slipstick.model.system import ArrivalPattern, Model
from slipstick.sim.plan.distributions import BatchTimes, ProfiledTimes, Stream
from slipstick.sim.run import can_compile

DAY = ((20.0, 0.3), (10.0, 1.2))
"""In the second piece customers of 1 s arrive faster than they leave."""

SETTINGS = Simulation(seed=5, precision=0.01, events=2_000_000)
WIDTHS = 2.0
"""Half widths of an interval of 95 % within which the truth is: 1 in 10,000 is beyond."""


def shop(rate: float = 0.6, profile: tuple[tuple[float, float], ...] = DAY) -> QueueingNetwork:
    return network(
        {"web": open_class(rate, profile=profile)}, {"desk": station(service={"web": 1.0})}
    )


def visits(rate: float = 0.6, profile: tuple[tuple[float, float], ...] = DAY) -> Model:
    return open_model(
        service("desk", 1.0, scv=1.0),
        Parameter("population.arrivals", RATE, rate),
        pattern=ArrivalPattern(profile=profile),
    )


def is_near(answer: Answer, name: str, truth: float) -> bool:
    value = answer.values[name]
    assert value.value is not None
    assert value.high is not None
    assert value.high - value.value < 0.08 * value.value
    return abs(value.value - truth) <= WIDTHS * (value.high - value.value)


def stages(rates: list[float], most: int) -> Array:
    """Return the probabilities of 0 to `most` customers in the course of the day, by the equations
    of the chain; the rows are the middles of 0.01 s in the periodic state [steps, customers + 1].
    """
    present = np.zeros(most + 1)
    present[0] = 1.0
    for _ in range(40):
        rows = []
        for rate in rates:

            def change(p: Array, rate: float = rate) -> Array:
                flow = rate * p[:-1] - p[1:]
                gain: Array = np.concatenate([[0.0], flow]) - np.concatenate([flow, [0.0]])
                return gain

            middle = present + 0.005 * change(present)
            rows.append(middle)
            present = present + 0.01 * change(middle)
    return np.array(rows)


RATES_OF_STEPS = [rate for duration, rate in DAY for _ in range(round(duration / 0.01))]


@pytest.fixture(scope="module")
def chain_of_day() -> Array:
    return stages(RATES_OF_STEPS, 60)


@pytest.mark.turns(6)
@pytest.mark.parametrize("kernel", ["plain", "compiled"])
def test_a_queue_equals_the_equations_of_its_chain(chain_of_day: Array, kernel: str) -> None:
    if kernel == "compiled" and not can_compile():
        pytest.skip("needs numba")
    number = float((chain_of_day @ np.arange(61)).mean())
    settings = Simulation(seed=5, cycles=60_000, kernel=kernel)
    of_network = solve(shop(), method="simulation", simulation=settings)
    of_activity = solve(visits(), method="simulation", simulation=settings)
    # By Little's law.
    assert is_near(of_network, "response_time[web]", number / 0.6)
    assert is_near(of_activity, "time", number / 0.6)
    for answer, name in ((of_network, "queue_length[desk]"), (of_activity, "queue_length[desk]")):
        assert is_near(answer, name, number)
    assert is_near(of_network, "utilization[desk]", float(1 - chain_of_day[:, 0].mean()))
    assert is_near(of_network, "throughput[web]", 0.6)
    assert any("periods of the profile of arrivals" in note for note in of_network.notes)


def test_quantiles_are_those_of_the_chain(chain_of_day: Array) -> None:
    """A customer who finds n others stays for n + 1 services."""
    weights = np.array(RATES_OF_STEPS) @ chain_of_day
    weights /= weights.sum()

    def beyond(time: float) -> float:
        terms = np.exp(
            -time + np.arange(61) * math.log(time) - np.cumsum([0.0, *map(math.log, range(1, 61))])
        )
        return float(weights @ np.minimum(np.cumsum(terms), 1.0))

    answer = solve(shop(), method="simulation", simulation=Simulation(seed=5, cycles=60_000))
    value = answer.values["response_time_quantile[web,0.95]"]
    assert value.low is not None
    assert value.high is not None
    assert beyond(value.high + 0.2) < 0.05 < beyond(value.low - 0.2)
    assert value.high - value.low < 2.0


def test_the_plain_and_the_compiled_kernel_agree() -> None:
    if not can_compile():
        pytest.skip("needs numba")
    plain, compiled = (
        solve(
            shop(), method="simulation", simulation=Simulation(seed=3, cycles=6_000, kernel=kernel)
        )
        for kernel in ("plain", "compiled")
    )
    assert plain.values == compiled.values


@pytest.mark.turns(4)
def test_customers_present_with_as_many_servers_follow_the_closed_form() -> None:
    """With a server for each customer the number present is Poisson with the mean m, m' = rate - m;
    those who leave are a Poisson stream of the rate m, which is that of a second queue.
    """
    mean = 0.0
    means = list[float]()
    for _ in range(40):
        means = []
        for rate in RATES_OF_STEPS:
            means.append(rate + (mean - rate) * math.exp(-0.005))
            mean = rate + (mean - rate) * math.exp(-0.01)
    model = network(
        {"web": open_class(0.6, profile=DAY)},
        {
            "away": station(service={"web": 1.0}, discipline="is"),
            "desk": station(service={"web": 1.0}),
        },
    )
    answer = solve(model, method="simulation", simulation=Simulation(seed=8, cycles=60_000))
    assert is_near(answer, "queue_length[away]", float(np.mean(means)))
    number = float((stages(means, 60) @ np.arange(61)).mean())
    assert is_near(answer, "queue_length[desk]", number)


@pytest.mark.turns(4)
def test_waits_are_those_of_a_simulation_by_thinning() -> None:
    """Constant times of 0.8 s, which no chain covers."""
    draws = np.random.default_rng(17)
    arrivals = np.cumsum(draws.exponential(1 / 1.2, 400_000))
    rates = np.where(arrivals % 30.0 < 20.0, 0.3, 1.2)
    arrivals = arrivals[draws.uniform(size=len(arrivals)) * 1.2 < rates]
    begun, total = 0.0, 0.0
    for arrival in arrivals.tolist():
        begun = max(begun, arrival) + 0.8
        total += begun - arrival
    model = network(
        {"web": open_class(0.6, profile=DAY)},
        {"desk": station(service={"web": 0.8}, scv={"web": 0})},
    )
    answer = solve(model, method="simulation", simulation=Simulation(seed=6, cycles=100_000))
    assert answer["response_time[web]"] == pytest.approx(total / len(arrivals), rel=0.03)


def test_a_constant_profile_is_a_poisson_stream() -> None:
    flat = ((5.0, 2.0), (25.0, 2.0))
    for model, name in ((shop(0.5, flat), "response_time[web]"), (visits(0.5, flat), "time")):
        answer = solve(model, method="simulation", simulation=Simulation(seed=2, cycles=40_000))
        assert is_near(answer, name, 2.0)


@pytest.mark.turns(4)
def test_the_default_goes_on_to_simulation_and_others_refuse_by_name() -> None:
    for model in (shop(), visits()):
        assert solve(model, simulation=SETTINGS).method == "simulation"
    for method in ("exact", "linearizer"):
        with pytest.raises(
            NoAnswerError,
            match=f"class web arrives by a profile over the day, which the method {method}",
        ):
            solve(shop(), method=method)
    with pytest.raises(NoAnswerError, match="which a Markov chain does not cover"):
        solve(shop(), method="markov-chain")
    for method in ("closed-form", "mean-value", "markov-chain"):
        with pytest.raises(NoAnswerError, match=f"^{method} cannot solve a profile over time "):
            solve(visits(), method=method)


@pytest.mark.turns(4)
def test_only_the_mean_of_the_day_decides_whether_a_model_is_saturated() -> None:
    for model, path in ((shop(), "classes.web.arrivals"), (visits(), "population.arrivals")):
        with pytest.raises(NoAnswerError, match="saturated"):
            solve(model, {path: 1.01}, simulation=SETTINGS)
        assert solve(model, {path: 0.8}, simulation=SETTINGS).values


def test_a_run_of_few_days_has_no_interval_and_says_what_it_needs() -> None:
    settings = Simulation(seed=5, cycles=100)
    answer = solve(shop(), method="simulation", simulation=settings)
    assert answer.values["response_time[web]"].high is None
    assert any(
        "intervals need 10 whole periods or more, whose means do not drift: allow more events"
        in note
        for note in answer.notes
    )


def test_classes_of_one_piece_each_give_the_values_of_the_piece(chain_of_day: Array) -> None:
    """Streams that are silent in turn are together the stream of the whole day."""
    names = ("night", "noon")
    classes = {
        name: open_class(
            duration * rate / 30.0,
            profile=[(piece[0], piece[1] if piece == (duration, rate) else 0.0) for piece in DAY],
        )
        for name, (duration, rate) in zip(names, DAY, strict=True)
    }
    model = network(classes, {"desk": station(service=dict.fromkeys(names, 1.0))})
    answer = solve(model, method="simulation", simulation=Simulation(seed=4, cycles=80_000))
    numbers = chain_of_day @ np.arange(61) + 1
    assert is_near(answer, "response_time[night]", float(numbers[:2000].mean()))
    assert is_near(answer, "response_time[noon]", float(numbers[2000:].mean()))


@pytest.mark.parametrize("size", [1, 3])
def test_arrivals_of_each_piece_are_poisson_whatever_the_blocks(size: int) -> None:
    times = ProfiledTimes(((10.0, 0.0), (20.0, 1.0), (10.0, 4.0)), 40 / 60)
    drawn = BatchTimes(times, size) if size > 1 else times
    gaps = np.concatenate([*islice(drawn.blocks(Stream(3, "web"), repeat(1000)), 300)])
    other = np.concatenate([*islice(drawn.blocks(Stream(3, "web"), repeat(777)), 300)])
    assert np.array_equal(gaps[: len(other)], other)
    assert drawn.period == 40.0
    arrivals = np.cumsum(gaps)[::size]
    days = int(arrivals[-1] // 40)
    phase, day = arrivals % 40, (arrivals // 40).astype(int)
    for first, last, mean in ((0, 10, 0.0), (10, 30, 20.0), (30, 40, 40.0)):
        counts = np.bincount(day[(phase >= first) & (phase < last)], minlength=days)[:days]
        assert counts.mean() == pytest.approx(mean, abs=4 * math.sqrt(mean / days))
        assert counts.var() == pytest.approx(mean, rel=0.1)


@pytest.mark.turns(4)
def test_a_burst_that_comes_once_is_a_profile_with_a_long_quiet_end() -> None:
    """20 s with two customers a second at a server of 1 s, then none until all are served: by the
    equations from an empty station on, without any period.
    """
    burst, quiet, rate, step = 20.0, 400.0, 2.0, 0.005
    present = np.zeros(120)
    present[0] = 1.0
    customer_seconds = 0.0
    for tick in range(round(200 / step)):
        arrivals = rate if tick * step < burst else 0.0
        flow = arrivals * present[:-1] - present[1:]
        customer_seconds += step * float(present @ np.arange(120))
        present = present + step * (np.append(0.0, flow) - np.append(flow, 0.0))
    assert present[0] > 1 - 1e-9
    profile = ((burst, rate), (quiet, 0.0))
    model = visits(rate * burst / (burst + quiet), profile)
    answer = solve(model, simulation=Simulation(seed=5, precision=0.01, events=800_000))
    assert is_near(answer, "time", customer_seconds / (rate * burst))


def test_a_key_that_asks_for_a_burst_once_names_the_way_to_write_it(tmp_path: Path) -> None:
    file = tmp_path / "burst.yaml"
    file.write_text(
        "activity: 1\npopulation: {profile: [{lasts: 20 s, rate: 2 /s, once: true}]}\n"
        "resources: {desk: {servers: 1}}\ncycle: [{service: desk, time: 1 s}]\n"
    )
    with pytest.raises(SpecError) as raised:
        load(file)
    assert str(raised.value).endswith(
        "population.profile.0.once: unknown key; for a burst that comes once, end the profile "
        "with a part of rate 0 that lasts until all are served; each period then repeats the "
        "burst"
    )
