"""Equations of the method that answered: those of mean value are evaluated, others compared."""

from __future__ import annotations

import math

import pytest

from slipstick import (
    Answer,
    Barrier,
    Station,
    barrier,
    closed_model,
    delay,
    fork,
    hold,
    open_model,
    repeat,
    service,
    solve,
)
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model.steps import Activity


def by_the_equations(
    population: int, think: float, service_time: float, scv: float, between: float
) -> float:
    """Evaluate the recursion that `Answer.equations` writes, for one server and one visit;
    `between` is the scv of the time between visits.
    """
    present = busy = time = 0.0
    for n in range(1, population + 1):
        whole = busy ** (n * (2 - between) / 2) if busy else 0.0
        left = (1 - whole) * (1 + scv) / 2 * service_time + whole * service_time
        wait = service_time * (present - busy) + left * busy
        time = think + service_time + wait
        present, busy = n * (service_time + wait) / time, n * service_time / time
    return time


@pytest.mark.turns(4)
@pytest.mark.parametrize("between", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("population", [2, 16])
def test_the_waits_of_mean_value_are_those_of_its_equations(
    population: int, scv: float, between: float
) -> None:
    cycle = delay(9.0, name="think", scv=between) >> service("bus", 1.0, scv=scv)
    answer = solve(closed_model(cycle, population), method="mean-value")
    expected = by_the_equations(population, 9, 1, scv, min(between, 1.0))
    assert answer["time"] == pytest.approx(expected, rel=1e-12)
    text = answer.equations()
    assert r"R_{\text{bus}}(n) &= t_{\text{bus}} + W_{\text{bus}}(n)" in text
    assert r"T(n) &= t_{\text{think}} + R_{\text{bus}}(n)" in text


def test_at_several_stations_each_wait_follows_from_one_processor_fewer() -> None:
    """Exponential services make the rest of one S; the other station's are not."""
    think, other = delay(9.0, name="think", scv=0.5), service("b", 0.7, name="b", scv=0.5)
    cycle = think >> service("a", 1.0, name="a", scv=1.0) >> other
    fewer, answer = (solve(closed_model(cycle, n), method="mean-value") for n in (7, 8))
    assert r"W_{\text{a}}(n)" in answer.equations()
    assert answer["wait[a]"] == pytest.approx(fewer["queue_length[a]"], rel=1e-12)
    assert answer["queue_length[a]"] == pytest.approx(
        8 * (1.0 + (answer["wait[a]"] or 0.0)) / (answer["time"] or 1.0), rel=1e-12
    )


@pytest.mark.parametrize("scv", [0.0, 0.5])
def test_a_lock_is_a_queue_whose_service_is_all_that_is_done_while_it_is_held(scv: float) -> None:
    body = delay(0.4, name="look", scv=scv) >> service("bus", 0.6, name="update", scv=scv)
    cycle = delay(9.0, name="think", scv=1) >> hold("door", body)
    answer = solve(closed_model(cycle, 8), method="mean-value")
    spread = scv * (0.4**2 + 0.6**2)
    assert answer["time"] == pytest.approx(by_the_equations(8, 9, 1, spread, 1.0), rel=1e-12)
    text = answer.equations()
    assert r"T(n) &= t_{\text{think}} + W_{\text{door}}(n) + t_{\text{look}}" in text
    assert r"S_{\text{door}} &= t_{\text{look}} + t_{\text{update}}" in text


def test_a_lock_a_shared_server_and_one_in_order_each_wait_by_their_equations() -> None:
    """All services are exponential, so the rest of one is S."""
    services = {"door": 1.0, "cpu": 0.7, "disk": 0.5}
    cycle = delay(9.0, name="think", scv=0.5) >> hold("door", service("bus", 1.0, scv=1))
    cycle >>= service("cpu", 0.7, scv=1) >> service("disk", 0.5, scv=1)
    model = closed_model(cycle, 8, resources={"cpu": Station(discipline="ps")})
    answer = solve(model, method="mean-value")
    assert r"W_k(n) &= S_k Q_k(n - 1) \quad \text{at } \text{cpu}" in answer.equations()
    present = dict.fromkeys(services, 0.0)
    for n in range(1, 9):
        waits = {name: services[name] * present[name] for name in services}
        time = 9 + sum(services.values()) + sum(waits.values())
        present = {name: n * (services[name] + waits[name]) / time for name in services}
    assert answer["time"] == pytest.approx(time, rel=1e-12)
    assert answer["wait[door]"] == pytest.approx(waits["door"], rel=1e-12)


VISIT, PAUSE = service("bus", 1.0, name="visit"), delay(9.0, name="think", scv=1.0)


@pytest.mark.parametrize(
    ("cycle", "part"),
    [
        (PAUSE >> hold("door", hold("safe", VISIT)), "what is done while door is held"),
        (
            PAUSE >> hold("door", VISIT) >> service("bus", 2.0, name="again"),
            "several visits to bus",
        ),
        (PAUSE >> VISIT >> barrier("meet", parties=2), "a barrier meet"),
        (PAUSE >> repeat(2, VISIT), "a repeat"),
        (PAUSE >> VISIT >> service("bus", 2.0, name="again"), "several visits to bus"),
        (PAUSE >> fork(VISIT, service("bus", 2.0, name="beside")), "several visits to bus"),
        (delay(9.0, name="constant") >> VISIT, "times that are all constant"),
    ],
    ids=["locks", "station outside too", "barrier", "repetition", "two steps", "fork", "constant"],
)
def test_the_part_whose_waits_have_further_rules_is_named(cycle: Activity, part: str) -> None:
    answer = solve(closed_model(cycle, 4), method="mean-value")
    with pytest.raises(NoAnswerError) as refused:
        answer.equations()
    assert str(refused.value) == (
        f"no equations are written for {part} by mean-value, in model; slipstick explain prints"
        " those of the model"
    )


def test_a_section_between_barriers_takes_what_the_last_processor_takes() -> None:
    """The largest of n exponential times is 1 + 1/2 + ... + 1/n of their mean."""
    cycle = delay(9.0, name="work", scv=1.0) >> barrier("meet")
    answer = solve(
        closed_model(cycle, 8, resources={"meet": Barrier(cost=Parameter("cost", TIME, 0.5))}),
        method="mean-value",
    )
    assert answer["time"] == pytest.approx(9 * sum(1 / k for k in range(1, 9)) + 0.5, rel=1e-9)
    text = answer.equations()
    assert r"T(n) &= M_{1}(n) + t_{\text{barrier:meet}}" in text
    assert r"X_{1,i} &= t_{\text{work}} \quad" in text
    assert "left out" not in text


def test_what_follows_the_last_barrier_belongs_to_the_section_before_the_first() -> None:
    """The largest of n sums of two exponential times, by its distribution (Erlang)."""
    before, after = delay(1.0, name="a", scv=1.0), delay(1.0, name="b", scv=1.0)
    answer = solve(closed_model(before >> barrier("meet") >> after, 4), method="mean-value")
    steps = [0.001 * number for number in range(40_000)]
    expected = sum(0.001 * (1 - (1 - (1 + x) * math.exp(-x)) ** 4) for x in steps)
    assert answer["time"] == pytest.approx(expected, rel=0.01)
    assert r"X_{1,i} &= t_{\text{b}} + t_{\text{a}} \quad" in answer.equations()


def test_a_fork_takes_the_mean_of_the_longest_branch() -> None:
    branches = fork(delay(1.0, name="a", scv=1.0), delay(2.0, name="b", scv=1.0))
    answer = solve(closed_model(PAUSE >> branches, 4), method="mean-value")
    assert answer["time"] == pytest.approx(9 + 1 + 2 - 1 / (1 + 1 / 2), rel=1e-9)
    text = answer.equations()
    assert r"\mathrm{E} \max\left(t_{\text{a}}, t_{\text{b}}\right)" in text
    assert r"\int_0^\infty 1 - \prod_i F_i(x)" in text


def test_a_wait_in_a_fork_follows_from_one_processor_fewer() -> None:
    cycle = PAUSE >> fork(service("bus", 1.0, name="visit", scv=1.0), delay(2.0, scv=1.0, name="b"))
    fewer, answer = (solve(closed_model(cycle, n), method="mean-value") for n in (7, 8))
    assert r"R_{\text{visit}}(n) &= t_{\text{visit}} + W_{\text{bus}}(n)" in answer.equations()
    assert answer["wait[bus]"] == pytest.approx(fewer["queue_length[bus]"], rel=1e-9)


def test_waits_after_a_barrier_are_left_out_in_words() -> None:
    text = solve("lock-and-bus", method="mean-value").equations()
    assert r"T(n) &= M_{1}(n) + t_{\text{barrier:meet}}" in text
    assert r"t_{\text{work}} + W_{\text{door}}(n) + t_{\text{update}}" in text
    assert "whose equations are left out" in text


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
        "no equations are written for arrivals from outside by mean-value, in model; slipstick"
        " explain prints those of the model"
    )
