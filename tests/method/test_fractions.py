"""A fraction of a count is the probability of one more, so a maximum over fractional counts is
random.
"""

from __future__ import annotations

import pytest

from slipstick import Simulation, solve
from slipstick.model.activity import barrier, delay, fork, repeat
from slipstick.model.steps import Activity
from slipstick.model.system import Model, closed_model, phased_model

TWICE_AND_A_HALF = repeat(2.5, delay(2.0, name="a"))

# Each processor takes 4 or 6 s, with equal probabilities.
BEFORE_A_BARRIER = closed_model(TWICE_AND_A_HALF >> barrier("meet"), 4), 6 - 2 / 16
IN_A_FORK = closed_model(fork(TWICE_AND_A_HALF, repeat(2.5, delay(2.0, name="b"))), 1), 5.5
BESIDE_A_CONSTANT = closed_model(fork(TWICE_AND_A_HALF, delay(4.0, name="b")), 1), 5.0
IN_A_PHASE = phased_model((2.5, 4, delay(2.0, name="a"))), 6 - 2 / 16


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("model", "time"), [BEFORE_A_BARRIER, IN_A_FORK, BESIDE_A_CONSTANT, IN_A_PHASE]
)
def test_the_longest_of_fractional_repeats_is_exact_nowhere_and_right_by_default(
    model: Model, time: float
) -> None:
    for method in ("closed-form", "mean-value"):
        assert not solve(model, method=method).exact
    answer = solve(model, simulation=Simulation(seed=3, precision=0.005))
    assert answer.method == "simulation"
    assert answer["time"] == pytest.approx(time, rel=0.01)


@pytest.mark.parametrize(
    "activity",
    [
        TWICE_AND_A_HALF,
        fork(repeat(2, delay(2.0, name="a")), delay(4.5, name="b")),
        repeat(2, delay(2.0, name="a")) >> barrier("meet"),
    ],
)
def test_whole_repeats_and_fractions_without_a_maximum_stay_exact(activity: Activity) -> None:
    assert solve(closed_model(activity, 3)).exact
