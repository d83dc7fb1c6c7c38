"""Values before the long run with arrivals that follow a profile over the day: beside a closed form
of infinite servers, matrix exponentials of chains written by hand, and constant rates.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm

from slipstick import Simulation, network, open_class, open_model, station, time_until, transient
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import RATE, Parameter
from slipstick.late import Array
from slipstick.method.methods import compute_answers
from slipstick.model.activity import service
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import ArrivalPattern, Model

DAY = ((20.0, 0.3), (10.0, 1.2))
MEAN = 0.6


def shop(profile: tuple[tuple[float, float], ...] = DAY, **keys: int | str) -> QueueingNetwork:
    desk = station(service={"web": 1.0}, **keys)  # type: ignore[arg-type]
    return network({"web": open_class(MEAN, profile=profile)}, {"desk": desk})


def visits() -> Model:
    rate = Parameter("population.arrivals", RATE, MEAN)
    return open_model(service("desk", 1.0, scv=1.0), rate, pattern=ArrivalPattern(profile=DAY))


def rates_of_queue(rate: float, most: int) -> Array:
    rates = np.diag([rate] * most, 1) + np.diag([1.0] * most, -1)
    return rates - np.diag(rates.sum(axis=1))


def rate_at(time: float) -> float:
    return 0.3 if time % 30 < 20 else 1.2


@pytest.mark.turns(4)
@pytest.mark.parametrize("time", [0.0, 7.0, 20.0, 26.0, 45.0, 81.0])
def test_infinite_servers_have_a_poisson_number(time: float) -> None:
    """Its mean is the integral of the rate at u times exp(u - t)."""
    edges = sorted({*(edge for edge in (0, 20, 30, 50, 60, 80) if edge < time), time})
    mean = sum(
        rate_at(start) * (math.exp(end - time) - math.exp(start - time))
        for start, end in pairwise(edges)
    )
    columns = transient(shop(discipline="is"), [time], most=24)
    assert columns["queue_length[desk]"][0] == pytest.approx(mean, abs=1e-5)
    nobody = columns["probability[desk,0]"][0]
    assert nobody == pytest.approx(math.exp(-mean), abs=1e-5)


def test_a_queue_is_that_of_matrix_exponentials() -> None:
    times = [5.0, 27.0, 33.0, 58.0]
    of_network, of_activity = transient(shop(), times), transient(visits(), times)
    for index, time in enumerate(times):
        present, clock = np.eye(81)[0], 0.0
        while clock < time:
            end = min(time, next(edge for edge in (20, 30, 50, 60) if edge > clock))
            present = present @ expm(rates_of_queue(rate_at(clock), 80) * (end - clock))
            clock = end
        truth = float(present @ np.arange(81))
        assert of_network["queue_length[desk]"][index] == pytest.approx(truth, rel=1e-5)
        assert of_activity["queue_length[desk]"][index] == pytest.approx(truth, rel=1e-5)
        assert of_network["probability[desk,0]"][index] == pytest.approx(present[0], rel=1e-5)


@pytest.mark.turns(6)
@pytest.mark.parametrize("number", [1, 3, 9])
def test_the_time_until_a_queue_is_long_is_an_integral_of_matrix_exponentials(number: int) -> None:
    """The mean is the integral of P(not yet), here in steps of 0.01 s with their middles."""
    alive, clock, truth = np.eye(number)[0], 0.0, 0.0
    half_steps = {
        rate: expm(rates_of_queue(rate, number)[:number, :number] * 0.005) for rate in (0.3, 1.2)
    }
    while alive.sum() > 1e-9:
        step = half_steps[rate_at(clock + 0.005)]
        middle = alive @ step
        truth += 0.01 * float(middle.sum())
        alive, clock = middle @ step, clock + 0.01
    assert time_until(shop(), "desk", number) == pytest.approx(truth, rel=1e-4)


def test_equal_parts_are_a_constant_rate() -> None:
    equal, constant = shop(((3.0, 2.0), (4.0, 2.0))), shop(())
    times = [1.0, 5.0, 40.0]
    assert transient(equal, times)["queue_length[desk]"] == pytest.approx(
        transient(constant, times)["queue_length[desk]"], rel=1e-5
    )
    assert time_until(equal, "desk", 4) == pytest.approx(time_until(constant, "desk", 4), rel=1e-8)


def test_two_streams_of_one_period_are_the_stream_of_their_sum() -> None:
    night, peak = ((20.0, 0.3), (10.0, 0.0)), ((20.0, 0.0), (10.0, 1.2))
    two = network(
        {"night": open_class(0.2, profile=night), "peak": open_class(0.4, profile=peak)},
        {"desk": station(service={"night": 1.0, "peak": 1.0}, capacity=3)},
    )
    times = [13.0, 24.0, 37.0]
    assert transient(two, times)["queue_length[desk]"] == pytest.approx(
        transient(shop(capacity=3), times)["queue_length[desk]"], rel=1e-8
    )


def test_a_solved_answer_has_the_values_by_name() -> None:
    settings = Simulation(events=5_000)
    (answer,) = compute_answers(
        shop(capacity=4), {}, "simulation", settings, values=["queue_length_at[desk,25]"]
    )
    truth = transient(shop(capacity=4), [25.0])["queue_length[desk]"][0]
    assert answer["queue_length_at[desk,25]"] == pytest.approx(truth, rel=1e-12)


def test_profiles_of_different_periods_are_refused() -> None:
    two = network(
        {"a": open_class(0.2, profile=DAY), "b": open_class(0.2, profile=((7.0, 1.0), (1.0, 2.0)))},
        {"desk": station(service={"a": 1.0, "b": 1.0})},
    )
    with pytest.raises(NoAnswerError) as refused:
        transient(two, [1.0])
    assert str(refused.value) == (
        "values before the long run need profiles of one period, but that of a 30 s, that of b 8 "
        "s; write all for the same period"
    )


@pytest.mark.turns(4)
def test_numbers_that_are_hardly_ever_present_are_refused() -> None:
    """With a load of 0.3 the mean time until 40 are present is 1.7e21 s; solving the equations in
    doubles gave 8.6e16 s.
    """
    rare = network({"web": open_class(0.3)}, {"desk": station(service={"web": 1.0})})
    with pytest.raises(NoAnswerError) as refused:
        time_until(rare, "desk", 40)
    assert str(refused.value) == (
        "desk has 40 customers so seldom that doubles cannot hold the time until then; ask for a "
        "smaller number, or for probability_at"
    )
    profile = ((3.0, 0.2), (4.0, 0.375))
    by_parts = network(
        {"web": open_class(0.3, profile=profile)}, {"desk": station(service={"web": 1.0})}
    )
    with pytest.raises(NoAnswerError) as refused:
        time_until(by_parts, "desk", 40)
    assert str(refused.value) == (
        "the number asked for is reached after very many periods of the profile, or never; ask for "
        "a smaller one, or for probability_at"
    )
