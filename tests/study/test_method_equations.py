"""Equations of the method that answered: those of mean value are evaluated, others compared."""

from __future__ import annotations

import pytest

from slipstick import Answer, closed_model, delay, hold, open_model, service, solve
from slipstick.errors import NoAnswerError


def by_the_equations(population: int, think: float, service_time: float, scv: float) -> float:
    """Evaluate the recursion that `Answer.equations` writes, for one server and one visit; the
    time between visits has scv 1.
    """
    present = busy = time = 0.0
    for n in range(1, population + 1):
        whole = busy ** (n / 2) if busy else 0.0
        left = (1 - whole) * (1 + scv) / 2 * service_time + whole * service_time
        wait = service_time * (present - busy) + left * busy
        time = think + service_time + wait
        present, busy = n * (service_time + wait) / time, n * service_time / time
    return time


@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("population", [2, 16])
def test_the_waits_of_mean_value_are_those_of_its_equations(population: int, scv: float) -> None:
    cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=scv)
    answer = solve(closed_model(cycle, population), method="mean-value")
    assert answer["time"] == pytest.approx(by_the_equations(population, 9, 1, scv), rel=1e-12)
    text = answer.equations()
    assert r"R_{\text{bus}}(n) &= t_{\text{bus}} + W_{\text{bus}}(n)" in text
    assert r"T(n) &= t_{\text{think}} + R_{\text{bus}}(n)" in text


def test_locks_and_barriers_add_their_waits() -> None:
    text = solve("lock-and-bus").equations()
    assert r"+ V_{\text{door}} W_{\text{door}}(n) + B_{\text{meet}}(n)" in text.split("\n")[1]
    assert "S_k(n)" in text


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("closed-form", r"T &= t_{\text{think}} + t_{\text{bus}}"),
        ("simulation", r"\hat{x} &= \sum_b a_b"),
        ("markov-chain", r"\pi G &= 0"),
    ],
)
def test_each_method_has_its_own(method: str, words: str) -> None:
    cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    assert words in solve(closed_model(cycle, 4), method=method).equations()


@pytest.mark.parametrize(
    ("method", "words"), [("exact", "(1 + Q_k(n - e_r))"), ("schweitzer", r"\approx Q_{jk}(n)")]
)
def test_a_network_has_the_arrival_theorem(method: str, words: str) -> None:
    assert words in solve("central-server", method=method).equations()


def test_without_a_model_or_equations_there_are_none() -> None:
    with pytest.raises(NoAnswerError) as refused:
        Answer("m", "closed-form").equations()
    expected = "the answer for m does not keep its model; take the answer of solve(...)"
    assert str(refused.value) == expected
    arriving = open_model(hold("door", delay(1.0, scv=1.0)) >> service("a", 1.0), 0.1)
    with pytest.raises(NoAnswerError) as refused:
        solve(arriving, method="mean-value").equations()
    assert str(refused.value) == (
        "no equations are written for model by mean-value; slipstick explain prints those of the"
        " model"
    )
