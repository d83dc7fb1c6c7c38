"""Service times have the mean and the variation asked for, the same in the simulator and in a Markov chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick import solve
from slipstick.errors import ModelError
from slipstick.model.network import network, open_class, station
from slipstick.service_times import MOST_PHASES, coxian, erlang, exponential, hyperexponential, phase_type
from slipstick.sim.plan.distributions import Stream, service_time


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
    assert erlang(1.0, phases).scv == pytest.approx(1 / phases)


def test_third_moments_are_as_known() -> None:
    assert exponential(2.0).moment(3) == pytest.approx(6 * 8.0)
    # Erlang: k (k + 1) (k + 2) / rate^3
    assert erlang(3.0, 3).moment(3) == pytest.approx(60.0)


def test_balanced_means_carry_half_each() -> None:
    time = hyperexponential(4.0, 6.0)
    assert time.start / time.rates == pytest.approx([2.0, 2.0])


def test_times_out_of_range_are_named() -> None:
    with pytest.raises(ModelError, match="an Erlang time has 1 to 100 phases, got 0"):
        erlang(1.0, 0)
    with pytest.raises(ModelError, match=r"a hyperexponential time has an scv of at least 1, got 0\.5"):
        hyperexponential(1.0, 0.5)
    with pytest.raises(ModelError, match=r"a Coxian time has an scv of at least 0\.01, got 0"):
        coxian(1.0, 0.0)
    with pytest.raises(ModelError, match=r"a time made of phases needs a finite mean above 0 s, got 0\.0"):
        exponential(0.0)


@given(st.floats(1e-3, 1e3), st.one_of(st.floats(0.011, 0.999), st.floats(1.001, 9.0)))
@settings(max_examples=25, deadline=None)
def test_simulator_and_chain_have_the_same_moments(mean: float, scv: float) -> None:
    values = service_time(mean, scv).sample(Stream(1, "station"), 100_000)
    phases = phase_type(mean, scv)
    for order in (1, 2):
        powers = values**order
        error = powers.std() / np.sqrt(len(powers))
        assert abs(powers.mean() - phases.moment(order)) < 5 * error


@pytest.mark.parametrize("scv", [0.4, 0.07, 0.7, 4.0])
def test_one_server_waits_by_pollaczek_and_khinchine_in_chain_and_simulation(scv: float) -> None:
    load = 0.6
    queue = network({"jobs": open_class(load)}, {"cpu": station(service={"jobs": 1.0}, scv={"jobs": scv})})
    waiting = load * (1 + scv) / 2 / (1 - load)
    chain = solve(queue, method="markov-chain")
    assert chain.values["waiting_time[jobs,cpu]"].value == pytest.approx(waiting, rel=1e-6)
    simulated = solve(queue, method="simulation").values["waiting_time[jobs,cpu]"]
    assert simulated.value == pytest.approx(waiting, rel=0.06)
    assert simulated.low is not None
    assert simulated.high is not None
    assert simulated.low - 0.03 * waiting <= waiting <= simulated.high + 0.03 * waiting
