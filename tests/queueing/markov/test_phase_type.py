"""Times in phases have the mean and the variation they were made for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError
from slipstick.service_times import MOST_PHASES, coxian, erlang, exponential, hyperexponential, phase_type


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
