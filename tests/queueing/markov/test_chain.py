"""Chains, their long run, their way there and their end, against closed forms and dense algebra."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov_chain import (
    METHODS,
    MarkovChain,
    _check_distribution,
    explore_rows,
    gth_elimination,
    mean_times,
    stationary,
)
from slipstick_chains import uniformization
from slipstick_chains.uniformization import poisson_weights, transient
from tests.queueing.markov.by_hand import explore_states

STEP = 1e-30


def birth_death(up: complex, down: complex, most: int) -> MarkovChain:
    return explore_states(0, lambda n: [(n + 1, up)] * (n < most) + [(n - 1, down)] * (n > 0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("up", [0.1, 0.9, 1.0, 1.7, 2])
def test_a_queue_with_room_for_some_is_geometric(method: str, up: float) -> None:
    expected = up ** np.arange(61.0)
    down = type(up)(1)  # whole numbers are rates, too
    assert stationary(birth_death(up, down, 60), method) == pytest.approx(
        expected / expected.sum(), rel=1e-9, abs=1e-16
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_complex_rate_gives_the_derivative(method: str) -> None:
    # P(0) = (1 - r) / (1 - r^(K+1)), derived by hand
    r, k = 0.6, 9
    slope = stationary(birth_death(r + 1j * STEP, 1.0, k), method)[0].imag / STEP
    expected = (-(1 - r ** (k + 1)) + (1 - r) * (k + 1) * r**k) / (1 - r ** (k + 1)) ** 2
    assert slope == pytest.approx(expected, rel=1e-11)


@st.composite
def generators(draw: st.DrawFn) -> list[list[float]]:
    size = draw(st.integers(2, 7))
    rate = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
    rows = [[draw(rate) for _ in range(size)] for _ in range(size)]
    for at in range(size):
        rows[at][(at + 1) % size] += 1.0  # a ring joins all
    return rows


@pytest.mark.turns(4)
@given(generators())
def test_every_method_solves_what_dense_algebra_solves(rows: list[list[float]]) -> None:
    chain = explore_states(
        0, lambda at: [(to, rate) for to, rate in enumerate(rows[at]) if to != at]
    )
    dense = chain.generator().toarray()
    assert dense.sum(axis=1) == pytest.approx(0.0, abs=1e-9)
    system = np.vstack([dense.T, np.ones(chain.size)])
    expected = np.linalg.lstsq(system, np.eye(chain.size + 1)[-1], rcond=None)[0]
    reference = gth_elimination(dense)
    assert reference == pytest.approx(expected, abs=1e-9)
    for method in METHODS:
        assert stationary(chain, method) == pytest.approx(reference, abs=1e-12)


@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_a_chain_may_start_where_it_hardly_ever_is(method: str) -> None:
    chain = birth_death(10.0, 1.0, 600)  # the start has 1e-600 of the likeliest state
    assert stationary(chain, method)[::-1] == pytest.approx(
        0.9 * 10.0 ** -np.arange(601.0), rel=1e-9, abs=1e-17
    )


def test_elimination_keeps_the_digits_of_what_is_hardly_ever_seen() -> None:
    answer = stationary(birth_death(1e-6, 1.0, 20), "gth")
    assert answer[20] / 1e-120 == pytest.approx(1 - 1e-6, rel=1e-12)


def test_states_that_are_left_for_ever_have_no_part() -> None:
    chain = explore_states(
        "start", {"start": [("a", 1.0)], "a": [("b", 1.0)], "b": [("a", 3.0)]}.__getitem__
    )
    assert stationary(chain) == pytest.approx([0.0, 0.75, 0.25])


def test_two_ends_have_no_long_run() -> None:
    chain = explore_states(
        "start", {"start": [("a", 1.0), ("b", 1.0)], "a": [], "b": []}.__getitem__
    )
    with pytest.raises(NoAnswerError) as caught:
        stationary(chain)
    assert str(caught.value) == (
        "the chain ends in one of 2 sets of states and stays there, so the steady state "
        "depends on chance; every state must be reachable from every other"
    )


def test_a_chain_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(NoAnswerError) as caught:
        explore_states(0, lambda n: [(n + 1, 1.0)], limit=1000)
    assert (
        str(caught.value)
        == "the chain has more than 1,000 states (999 of them looked at); ask for fewer customers"
        " or phases, use an approximate method or simulation, or allow more with --limit"
        " states=NUMBER (limits: in a study, limits= in Python)"
    )


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(
        ModelError,
        match="there is no method 'power' for the steady state; known: gth, direct, iterative",
    ):
        stationary(birth_death(1.0, 1.0, 2), "power")


def test_what_does_not_solve_the_equations_is_refused() -> None:
    with pytest.raises(
        NoAnswerError,
        match=r"the steady state of 2 states was not found: pi Q is 2\.0e-01 of the largest",
    ):
        _check_distribution(birth_death(1.0, 1.0, 1).generator(), np.array([0.4, 0.6]))


# Transient answers.


@pytest.mark.turns(4)
@pytest.mark.parametrize("error", [1e-4, 1e-10, 1e-13])
@pytest.mark.parametrize("time", [0.0, 1e-9, 0.3, 7.0, 4000.0])
def test_one_server_without_room_to_wait_settles_as_known(time: float, error: float) -> None:
    # p_1(t) = a / (a + b) (1 - exp(-(a + b) t))
    a, b = 0.7, 1.9
    found = transient(birth_death(a, b, 1), [time], error)
    busy = a / (a + b) * -math.expm1(-(a + b) * time)
    assert np.abs(found[0] - [1 - busy, busy]).sum() <= error + 1e-14


def test_times_may_come_in_any_order_and_twice() -> None:
    chain = birth_death(0.7, 1.9, 5)
    mixed = transient(chain, [3.0, 0.0, 1.0, 3.0])
    for at, time in enumerate([3.0, 0.0, 1.0, 3.0]):
        assert mixed[at] == pytest.approx(transient(chain, [time])[0], abs=1e-10)


def test_after_long_the_start_is_forgotten() -> None:
    chain = birth_death(0.7, 1.9, 5)
    assert transient(chain, [300.0])[0] == pytest.approx(stationary(chain), abs=1e-10)


def test_the_errors_of_all_steps_add_up_to_the_error_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []

    def noted(mean: float, error: float) -> tuple[int, NDArray[np.float64]]:
        asked.append(error)
        first, weights = poisson_weights(mean, error)
        ticks = np.arange(first, first + len(weights))
        exact = np.exp(
            ticks * math.log(mean) - mean - np.array([math.lgamma(k + 1) for k in ticks])
        )
        assert 1 - exact.sum() <= error
        return first, weights

    monkeypatch.setattr(uniformization, "poisson_weights", noted)
    transient(birth_death(1.0, 2.0, 5), [1.0, 4.0, 9.0], 1e-3)
    # Each step errs by twice the probability that it leaves out.
    assert 2 * sum(asked) == pytest.approx(1e-3)


@pytest.mark.parametrize("mean", [0.3, 40.0, 1e5])
def test_the_ticks_that_count_reach_as_far_as_chernoff_says_and_no_further(mean: float) -> None:
    error = 1e-9
    first, weights = poisson_weights(mean, error)
    for ticks, near in ((first, first + 1), (first + len(weights) - 1, first + len(weights) - 3)):
        far, less = abs(ticks - mean), abs(near - mean)
        if ticks > 0:
            assert 2 * math.exp(-(far**2) / (2 * (mean + far / 3))) <= error
            assert 2 * math.exp(-(less**2) / (2 * (mean + less / 3))) >= error


def test_a_transient_answer_has_its_derivative() -> None:
    a, b, t = 0.7, 1.9, 0.8
    found = transient(birth_death(a + 1j * STEP, b, 1), [t])[0, 1].imag / STEP
    expected = b / (a + b) ** 2 * -math.expm1(-(a + b) * t) + a / (a + b) * t * math.exp(
        -(a + b) * t
    )
    assert found == pytest.approx(expected, rel=1e-8)


def test_transient_questions_out_of_range_are_named() -> None:
    chain = birth_death(1.0, 1.0, 2)
    with pytest.raises(ModelError, match="times must be finite and at least 0 s, got"):
        transient(chain, [-1.0])
    with pytest.raises(ModelError, match="times must be finite and at least 0 s, got"):
        transient(chain, [math.inf])
    with pytest.raises(
        ModelError, match="the error of a transient answer must lie between 0 and 1, got 0"
    ):
        transient(chain, [1.0], 0.0)
    with pytest.raises(NoAnswerError) as caught:
        transient(chain, [1e6])
    assert (
        str(caught.value)
        == "the chain's clock ticks 2e+06 times until the last time asked for, which is 4.01e+09"
        " steps with its rates; the limit is 2,000,000,000: ask for an earlier time, for the"
        " steady state, or allow more with --limit ticks=4.2e+09 (limits: in a study, limits= in"
        " Python)"
    )


# The end.


@pytest.mark.parametrize(("up", "down", "most"), [(2.0, 0.0, 7), (2.0, 1.0, 5), (0.5, 1.0, 8)])
def test_the_first_passage_of_a_birth_chain_is_as_known(up: float, down: float, most: int) -> None:
    # From n - 1 to n: h_n = 1/up + (down/up) h_{n-1}
    step = total = 0.0
    for n in range(most):
        step = 1 / up + (down / up * step if n else 0.0)
        total += step
    chain = explore_states(
        0, lambda n: ([(n + 1, up)] + [(n - 1, down)] * (n > 0)) if n < most else []
    )
    assert mean_times(chain, [most]).sum().item() == pytest.approx(total, rel=1e-12)


def test_the_gambler_plays_as_long_as_known() -> None:
    p, goal, begin = 0.4, 7, 3
    chain = explore_states(begin, lambda n: [(n + 1, p), (n - 1, 1 - p)] if 0 < n < goal else [])
    odds = (1 - p) / p
    ends = [at for at, state in enumerate(chain.states) if state in (0, goal)]
    expected = (begin - goal * (1 - odds**begin) / (1 - odds**goal)) / (1 - 2 * p)
    assert mean_times(chain, ends).sum().item() == pytest.approx(expected, rel=1e-12)


def test_the_time_until_an_end_has_its_derivative() -> None:
    found = mean_times(birth_death(2.0 + 1j * STEP, 1.0, 3), [2]).sum().item()
    # m(u) = 2/u + 1/u^2: from 0 to 1 in 1/u, and from 1 to 2 in 1/u + 1/u^2.
    assert found.real == pytest.approx(2 / 2 + 1 / 4)
    assert found.imag / STEP == pytest.approx(-2 / 4 - 2 / 8)


def test_ends_that_are_not_there_are_named() -> None:
    chain = birth_death(1.0, 1.0, 2)
    with pytest.raises(
        ModelError, match=r"an end must be the number of a state from 0 to 2, got \[3\]"
    ):
        mean_times(chain, [3])
    trap = explore_states(
        0, {0: [(1, 1.0), (2, 1.0)], 1: [], 2: [(3, 1.0)], 3: [(2, 1.0)]}.__getitem__
    )
    with pytest.raises(
        NoAnswerError, match="from state 2 no end can be reached, so the mean time is infinite"
    ):
        mean_times(trap, [1])


def test_a_rate_that_vanishes_has_no_mean_time() -> None:
    def up(rows: NDArray[np.integer[Any]]) -> Iterator[Any]:
        yield np.arange(len(rows)), np.minimum(rows + 1, 3), np.where(rows[:, 0] == 1, 0.0, 2.0), 0

    words = (
        "the rates of the chain differ by more than doubles hold, so its times cannot be solved;"
        " ask for simulation"
    )
    with pytest.raises(NoAnswerError, match=words):
        mean_times(explore_rows(np.zeros((1, 1), dtype=np.int16), up), [3])


def test_a_factor_that_is_singular_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates that lie too far apart leave a factor without an inverse."""

    def singular(*_: object, **__: object) -> None:
        raise RuntimeError("Factor is exactly singular")

    def around(rows: Any) -> Any:
        yield np.arange(len(rows)), (rows + 1) % 3, np.ones(len(rows)), 0

    ring = explore_rows(np.zeros((1, 1), dtype=np.int16), around)
    monkeypatch.setattr("slipstick.queueing.markov_chain.linalg.splu", singular)
    message = "states was not found: Factor is exactly singular; try another method: gth, direct"
    with pytest.raises(NoAnswerError, match=message):
        stationary(ring, method="direct")
