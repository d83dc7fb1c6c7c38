"""Open populations against the textbook formulas of single stations; saturation by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slipstick.answer import Answer
from slipstick.method.methods import compute_answers
from slipstick.model.activity import barrier, delay, fork, hold, repeat, service
from slipstick.model.steps import Activity
from slipstick.model.system import (
    ArrivalPattern,
    Lock,
    Permits,
    Resource,
    Station,
    open_model,
)
from slipstick.random_times import RandomTime
from slipstick_mean_value.form import MeanValue
from slipstick_mean_value.open import _wait_at_shared_servers


def answered(cycle: Activity, rate: float, **resources: Resource) -> Answer:
    return MeanValue(open_model(cycle, rate, resources=resources)).points({}).answer(0)


@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("load", [0.3, 0.9])
def test_pollaczek_and_khinchine(scv: float, load: float) -> None:
    answer = answered(service("bus", 2.0, scv=scv) >> delay(1.0, name="rest"), load / 2)
    wait = load * 2.0 * (1 + scv) / 2 / (1 - load)
    assert answer["wait[bus]"] == pytest.approx(wait)
    assert answer["time"] == pytest.approx(3 + wait)
    assert (answer["throughput"], answer["utilization[bus]"]) == pytest.approx((load / 2, load))
    assert answer["queue_length[bus]"] == pytest.approx(load / 2 * (2 + wait))


def visits_in_a_row(count: int, load: float, scv: float) -> float:
    """Follow a customer through a queue of services of mean 1 that it joins again at once: who
    is ahead returns, others come.
    """
    rate, waits = load / count, np.zeros(count)
    for _ in range(2000):
        ahead = rate * waits + rate
        found = [rate * waits.sum() + load * (1 + scv) / 2]
        for _ in range(1, count):
            ahead = np.append(rate * (found[-1] + 1), ahead[:-1])
            found.append(ahead.sum())
        waits = np.array(found)
    return float(waits.sum()) + count


@pytest.mark.parametrize(
    ("load", "scv", "error"), [(0.6, 0.0, 0.045), (0.85, 1.0, 1e-9), (0.85, 4.0, 0.12)]
)
def test_a_visit_that_follows_at_once_finds_no_service_under_way(
    load: float, scv: float, error: float
) -> None:
    """Without that the time is 40 % too long at scv 4."""
    for count in (2, 4):
        cycle = repeat(count, service("bus", 1.0, scv=scv))
        assert answered(cycle, load / count)["time"] == pytest.approx(
            visits_in_a_row(count, load, scv), rel=error
        )


@pytest.mark.parametrize(("times", "error"), [((0.5, 0.5, 0.5), 1e-9), ((0.5, 1.0, 0.25), 0.05)])
@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
def test_branches_that_come_together_are_a_batch(
    times: tuple[float, ...], error: float, scv: float
) -> None:
    """Of the works B of batches, E B^2 / 2 (1 - load) is found there, and a customer ends with
    all of its own.
    """
    rate, work = 0.4, sum(times)
    cycle = fork(
        *(service("bus", each, name=f"part{index}", scv=scv) for index, each in enumerate(times))
    )
    square = work**2 + scv * sum(each**2 for each in times)
    wanted = rate * square / 2 / (1 - rate * work) + work
    assert answered(cycle, rate)["time"] == pytest.approx(wanted, rel=error)


def erlang_c(offered: float, servers: int) -> float:
    terms = [offered**k / math.factorial(k) for k in range(servers + 1)]
    last = terms[-1] * servers / (servers - offered)
    return last / (sum(terms[:-1]) + last)


@pytest.mark.parametrize("servers", [1, 3, 20])
@pytest.mark.parametrize("discipline", ["fcfs", "ps"])
def test_several_servers_wait_by_erlang(servers: int, discipline: str) -> None:
    offered = 0.8 * servers
    answer = answered(service("bus", 1.0, scv=1.0), offered, bus=Station(servers, discipline))
    assert answer["wait[bus]"] == pytest.approx(erlang_c(offered, servers) / (servers - offered))
    assert answer.exact


def test_visits_of_two_kinds_wait_alike_at_a_first_come_station() -> None:
    answer = answered(
        service("bus", 1.0, scv=1.0)
        >> delay(1.0, name="gap")
        >> service("bus", 3.0, name="long", scv=0.0),
        0.2,
    )
    left = 0.2 * 1.0 * 1.0 + 0.6 * 3.0 / 2
    assert answer["wait[bus]"] == pytest.approx(left / (1 - 0.8))
    assert not answer.exact


def test_a_lock_is_a_queue_whose_service_is_what_is_done_under_it() -> None:
    answer = answered(hold("door", delay(0.5, name="a") >> service("bus", 0.5)), 0.6, door=Lock())
    assert answer["wait[bus]"] == 0.0
    assert answer["wait[door]"] == pytest.approx(0.6 / 2 / (1 - 0.6))
    assert answer.account == pytest.approx({"busy": 1.0, "lock:door": 0.75})


def test_inner_locks_are_solved_first() -> None:
    answer = answered(
        hold("outer", hold("inner", delay(0.5, name="a"))) >> hold("inner", delay(0.1, name="b")),
        0.5,
    )
    inside = 0.05 * 0.1 / 2 / (1 - 0.05)
    assert answer["time"] is not None
    assert answer["time"] > 0.6 + inside
    assert answer["utilization[inner]"] == pytest.approx(0.3)


def test_the_shares_count_the_rate_as_a_time_to_the_power_minus_one() -> None:
    answer = answered(service("bus", 2.0, scv=1.0), 0.25)
    # T = S / (1 - rate S): both weigh S / (S - rate S^2).
    assert answer.share["time"] == pytest.approx({"bus": 2.0, "population.arrivals": -1.0})


def test_forks_of_an_open_population() -> None:
    answer = answered(fork(service("a", 1.0, scv=1.0), service("b", 1.0, scv=1.0)), 0.5)
    # Flatto and Hahn's queues in parallel, by Nelson and Tantawi: (12 - load) / 8 times the time of
    # one.
    assert answer["time"] == pytest.approx((12 - 0.5) / 8 * 2.0, rel=0.05)


def test_branches_at_shared_servers_vary_as_exponential_times_do() -> None:
    # The time at shared servers is as variable as an exponential one, about: two of them take 3/2
    # of the time of one.
    shared = {"a": Station(1, "ps"), "b": Station(1, "ps")}
    for unit in (1.0, 1e-3):
        cycle = fork(service("a", unit, scv=1.0), service("b", unit, scv=1.0))
        assert answered(cycle, 0.5 / unit, **shared)["time"] == pytest.approx(
            1.5 * 2.0 * unit, rel=0.1
        )


def failed(cycle: Activity, rate: float, **resources: Resource) -> str:
    answer = answered(cycle, rate, **resources)
    assert answer.failed
    assert answer.values == {}
    return answer.failed


def test_what_is_saturated_is_named_with_its_load() -> None:
    words = "the limit is 1); lower the arrivals, or shorten what is asked of it"
    held = service("bus", 0.4, scv=1.0) >> service("disk", 0.4, scv=1.0)
    outside = service("bus", 0.4, name="b", scv=1.0) >> service("disk", 0.4, name="c", scv=1.0)
    text = failed(hold("door", held) >> outside, 1.1)
    assert text.startswith("lock door is saturated: 1.1/s arrive, fewer than ")
    assert text.endswith(
        "(with the mean-value waits while it is held, which may be too long; simulation may have an"
        " answer)"
    )
    assert (
        failed(service("bus", 1.0), 1.0)
        == f"station bus is saturated: 1/s arrive, fewer than 1/s can be served (load 1, {words}"
    )


def test_one_saturated_point_leaves_the_others_their_answers() -> None:
    form = MeanValue(open_model(service("bus", 1.0, scv=1.0), 0.5))
    swept = form.points({"population.arrivals": np.array([0.5, 2.0, 0.9])})
    assert swept.columns()["time"].tolist() == pytest.approx([2.0, math.nan, 10.0], nan_ok=True)
    assert swept.answer(1).failed
    assert swept.answer(2)["time"] == pytest.approx(10.0)


def test_a_lock_is_not_held_longer_than_all_others_can_delay_its_holder() -> None:
    """Each customer outside the lock delays one holder once, so that the wait of a holder is at
    most their service.
    """
    body = hold("door", service("bus", 0.2, name="in", scv=4.0)) >> service(
        "bus", 0.5, name="out", scv=4.0
    )
    for rate in (0.2, 1.0, 1.3):
        answer = MeanValue(open_model(body, rate)).points({}).answer(0)
        # A holder does no more than its own service and that of one customer outside.
        assert (answer["utilization[door]"] or math.inf) <= rate * 0.7 * (1 + 1e-9)


def test_of_two_servers_each_takes_half_of_what_delays_a_holder() -> None:
    body = hold("door", service("bus", 0.02, name="in")) >> service("bus", 0.5, name="out")
    answer = answered(body, 3.6, bus=Station(2), door=Lock())
    assert (answer["utilization[door]"] or math.inf) <= 3.6 * (0.02 + 0.25) * (1 + 1e-9)


def test_the_wait_of_a_stream_varies_as_at_one_server_with_exponential_times() -> None:
    # A response time is exponential, of mean 2, so that the longer of it and 2 s has a mean of
    # 2 + 2 / e.
    cycle = fork(service("bus", 1.0, scv=1.0), delay(2.0, name="beside"))
    assert answered(cycle, 0.5)["time"] == pytest.approx(2 + 2 / math.e, rel=0.01)


def test_the_wait_at_shared_servers_is_exponential_where_services_are_constant() -> None:
    waiting = _wait_at_shared_servers(RandomTime(np.ones(1), np.zeros(1)), np.full(1, 2.0))
    assert (waiting.mean.item(), waiting.variance.item()) == (2.0, 4.0)


def test_what_makes_no_sense_of_a_stream_is_refused() -> None:
    assert (
        failed(delay(1.0, name="a") >> barrier("meet", parties=2), 0.1)
        == "barrier meet needs a fixed population; mean-value has no answer for customers that"
        " arrive"
    )
    assert (
        failed(service("own", 1.0), 0.1)
        == "the customers of model use processors, but an open population has none; mean-value"
        " needs a station for that"
    )
    circle = hold("a", hold("b", delay(1.0, name="x"))) >> hold(
        "b", hold("a", delay(1.0, name="y"))
    )
    assert (
        failed(circle, 0.1)
        == "locks a and b are taken in both orders: their holders may wait for each other without"
        " end; take them in one order"
    )
    # Holders of one more lock cannot deadlock, but their locks have no order all the same.
    guarded = hold("g", hold("a", hold("b", delay(1.0, name="x")))) >> hold(
        "g", hold("b", hold("a", delay(1.0, name="y")))
    )
    for cycle, resources in ((circle, {"a": Permits(2)}), (guarded, {"g": Lock()})):
        assert (
            failed(cycle, 0.1, **resources)
            == "locks a, b are each taken while another of them is held; mean-value solves a lock"
            " after those taken inside it, so it has no order for these; simulate it"
        )
    assert (
        failed(delay(1.0, name="a"), 0.0)
        == "customers of model arrive 0 times a second; mean-value needs a rate above 0; for values"
        " before the steady state, such as time_until[STATION,0] with a backlog, ask for"
        " closed-form (--with closed-form; in a file, method: closed-form)"
    )


def test_a_backlog_without_arrivals_is_answered_as_its_refusal_says() -> None:
    model = open_model(service("desk", 2.0, scv=1.0), 0.0, pattern=ArrivalPattern(backlog=3))
    (refusal,) = compute_answers(model, {}, values=["time_until[desk,0]"])
    assert "ask for closed-form" in str(refusal.failed)
    (answer,) = compute_answers(model, {}, "closed-form", values=["time_until[desk,0]"])
    assert answer["time_until[desk,0]"] == pytest.approx(6.0)


def test_the_measured_error_is_told_of_each_point_that_is_approximate() -> None:
    form = MeanValue(
        open_model(hold("door", delay(0.5, name="a", scv=1.0)) >> service("bus", 1.0, scv=2.0), 0.2)
    )
    two = form.points({"population.arrivals": np.array([0.1, 0.4])}).provenance()
    one, many = (form.points({}).provenance(count) for count in (None, 3))
    said = one.errors[0]
    assert "locks" in said
    assert (one.errors, two.errors, many.errors) == (
        {0: said},
        {0: said, 1: said},
        {0: said, 1: said, 2: said},
    )
    plain = MeanValue(open_model(service("bus", 1.0, scv=1.0), 0.2)).points({}).provenance(3)
    assert plain.errors == {}
