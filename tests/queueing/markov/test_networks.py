"""Networks as chains, against product form, and against chains written out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.exact import exact
from slipstick.queueing.markov_chain import gth_elimination, stationary
from slipstick.queueing.network import NetworkArrays, network_arrays
from slipstick_chains.networks.build import Routing, network_point, state_count_words
from slipstick_chains.networks.solve import markov_chain, solve_markov_chain
from tests.examples import examples
from tests.queueing.markov.by_hand import explore_states
from tests.queueing.yardstick import present, reference_chain

STEP = 1e-30


def route(entry: Any, onward: Any) -> Routing:
    return Routing(np.asarray(entry) * 1.0, np.asarray(onward) * 1.0)


def agree(one: Any, other: Any, within: float = 1e-9) -> None:
    for name in ("throughput", "queue", "residence", "utilization"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=within, abs=1e-12), (
            name
        )


@st.composite
def product_form(draw: st.DrawFn) -> NetworkArrays:
    kinds, count = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    disciplines = draw(
        st.lists(st.sampled_from(["fcfs", "ps", "lcfs-pr", "is"]), min_size=count, max_size=count)
    )
    times = st.floats(0.05, 5.0)
    service = np.array([[draw(times) for _ in range(count)] for _ in range(kinds)])
    for k, each in enumerate(disciplines):
        if each == "fcfs":
            service[:, k] = service[0, k]
    return network_arrays(
        service,
        np.array(
            [
                [draw(st.sampled_from([0.25, 1.0, 1.0, 2.5])) for _ in range(count)]
                for _ in range(kinds)
            ]
        ),
        population=[draw(st.integers(0, 3)) for _ in range(kinds)],
        think=draw(st.sampled_from([0.0, 1.5])) if kinds == 1 else 1.5,
        discipline=disciplines,
        servers=[1 if each == "lcfs-pr" else draw(st.integers(1, 3)) for each in disciplines],
    )


@pytest.mark.turns(4)
@settings(max_examples=examples(40))
@given(product_form())
def test_product_form_networks_are_what_the_exact_recursions_say(given_: NetworkArrays) -> None:
    found = solve_markov_chain(given_)
    agree(found, exact(given_))


@pytest.mark.turns(4)
def test_a_central_server_of_thousands_of_states() -> None:
    given_ = network_arrays(
        [[0.005, 0.03, 0.027]],
        [[10, 3.0, 7]],
        population=30,
        think=1.0,
        discipline=["ps", "fcfs", "fcfs"],
        servers=[1, 1, 2],
    )
    found = solve_markov_chain(given_)
    assert found.states == (5456,)
    agree(found, exact(given_))


def test_the_order_of_visits_says_nothing_in_product_form() -> None:
    given_ = network_arrays([1.0, 2.0, 0.5], [2.0, 1.0, 1.0], population=4)
    star = np.zeros((1, 3, 1, 3))
    star[0, 0, 0] = [0.0, 0.5, 0.5]
    star[0, 1:, 0, 0] = 1.0
    agree(solve_markov_chain(given_, route([[1.0, 0.0, 0.0]], star)), solve_markov_chain(given_))


@pytest.mark.turns(4)
def test_open_and_mixed_networks() -> None:
    opened = network_arrays([0.5, 0.3], [1.0, 2.0], arrivals=1.0)
    agree(solve_markov_chain(opened), exact(opened), 1e-8)
    mixed = network_arrays(
        [[0.3, 0.2], [0.4, 0.1]], population=[0, 3], arrivals=[1.0, 0.0], think=[0.0, 1.0]
    )
    agree(solve_markov_chain(mixed), exact(mixed), 1e-8)


def test_many_points_are_many_chains() -> None:
    sweep = network_arrays([[[1.0, 2.0]], [[3.0, 2.0]]], population=3)
    found = solve_markov_chain(sweep)
    for point in range(2):
        agree(
            solve_markov_chain(sweep.select(slice(point, point + 1))),
            exact(sweep.select(slice(point, point + 1))),
        )
    assert found.throughput.shape == (2, 1)
    agree(found, exact(sweep))


def test_a_complex_demand_gives_the_derivative_of_every_answer() -> None:
    def of(step: complex) -> NetworkArrays:
        return network_arrays(
            [[0.5 + step, 0.3]], [[1.0, 1.5]], population=6, think=2.0, servers=[1, 2]
        )

    chain, reference = solve_markov_chain(of(1j * STEP)), exact(of(1j * STEP))
    for name in ("throughput", "queue", "residence", "utilization"):
        assert getattr(chain, name).imag / STEP == pytest.approx(
            getattr(reference, name).imag / STEP, rel=1e-8
        ), name


def test_shares_of_a_lossy_line_add_up_to_one() -> None:
    # T = residence; its derivatives by service and arrival time, each times its time over T, add up
    # to 1.
    def residence(service: complex, gap: complex) -> Any:
        return solve_markov_chain(
            network_arrays([service], arrivals=1 / gap, discipline="fcfs", scv=0.5, capacity=[5])
        ).residence.item()

    shares = [residence(0.8 * (1 + 1j * STEP), 1.0), residence(0.8, 1.0 * (1 + 1j * STEP))]
    assert sum(each.imag / STEP / each.real for each in shares) == pytest.approx(1.0, rel=1e-10)


# Where product form fails: the same chains written out by hand.


def by_hand(moves: Any, start: Any) -> tuple[list[Any], np.ndarray]:
    chain = explore_states(start, moves)
    return list(chain.states), gth_elimination(chain.generator().toarray())


def test_one_line_for_two_unequal_classes() -> None:
    mean, think = {"a": 1.0, "b": 4.0}, 3.0

    def moves(line: str) -> Iterator[tuple[str, float]]:
        for kind in "ab":
            away = 2 - line.count(kind)
            yield line + kind, away / think
        if line:
            yield line[1:], 1 / mean[line[0]]

    states, pi = by_hand(moves, "")
    found = solve_markov_chain(
        network_arrays([[1.0], [4.0]], population=[2, 2], think=think, discipline="fcfs")
    )
    for r, kind in enumerate("ab"):
        assert found.queue[0, r, 0] == pytest.approx(
            sum(p * s.count(kind) for s, p in zip(states, pi, strict=True))
        )
        assert found.utilization[0, r, 0] == pytest.approx(
            sum(p for s, p in zip(states, pi, strict=True) if s[:1] == kind)
        )


def test_two_servers_for_one_line_of_two_unequal_classes() -> None:
    mean, think = {"a": 1.0, "b": 4.0}, 3.0

    def moves(line: str) -> Iterator[tuple[str, float]]:
        for kind in "ab":
            yield line + kind, (2 - line.count(kind)) / think
        for at, kind in enumerate(line[:2]):
            yield line[:at] + line[at + 1 :], 1 / mean[kind]

    states, pi = by_hand(moves, "")
    found = solve_markov_chain(
        network_arrays([[1.0], [4.0]], population=[2, 2], think=think, discipline="fcfs", servers=2)
    )
    for r, kind in enumerate("ab"):
        assert found.queue[0, r, 0] == pytest.approx(
            sum(p * s.count(kind) for s, p in zip(states, pi, strict=True))
        )


def test_the_same_rank_is_served_in_the_order_of_arrival() -> None:
    def of(discipline: str) -> NetworkArrays:
        return network_arrays(
            [[1.0], [4.0]], population=[2, 2], think=3.0, discipline=discipline, priority=5
        )

    for discipline in ("priority", "priority-preemptive"):
        agree(solve_markov_chain(of(discipline)), solve_markov_chain(of("fcfs")))


def test_a_stack_of_two_unequal_classes_is_product_form() -> None:
    given_ = network_arrays([[1.0], [4.0]], population=[2, 3], think=3.0, discipline="lcfs-pr")
    agree(solve_markov_chain(given_), exact(given_))


@st.composite
def without_product_form(draw: st.DrawFn) -> NetworkArrays:
    disciplines = draw(
        st.lists(
            st.sampled_from(["fcfs", "ps", "is", "priority", "priority-preemptive"]),
            min_size=2,
            max_size=2,
        )
    )
    scv = [
        1.0 if each == "priority-preemptive" else draw(st.sampled_from([0.5, 1.0, 4.0]))
        for each in disciplines
    ]
    times = st.floats(0.1, 3.0)
    return network_arrays(
        [[draw(times) for _ in disciplines] for _ in range(2)],
        [[draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in disciplines] for _ in range(2)],
        population=[2, draw(st.integers(1, 2))],
        think=draw(st.floats(0.2, 3.0)),
        discipline=disciplines,
        servers=[draw(st.integers(1, 2)) for _ in disciplines],
        scv=scv,
        priority=[draw(st.integers(0, 1)), 0],
    )


@pytest.mark.turns(4)
@settings(max_examples=examples(25))
@given(without_product_form())
def test_any_discipline_is_what_a_chain_written_apart_says(given_: NetworkArrays) -> None:
    # There a customer goes anywhere at random, in proportion to the visits; think time is one
    # visit.
    visits = given_.visits[0]
    chance = visits / (visits.sum(axis=1, keepdims=True) + 1.0)
    onward = np.zeros((2, 2, 2, 2))
    for r in range(2):
        onward[r, :, r] = chance[r]
    found = solve_markov_chain(given_, route(chance, onward))
    throughput, queue = reference_chain(given_)
    assert found.throughput[0] == pytest.approx(throughput, rel=1e-8)
    assert found.queue[0] == pytest.approx(queue, rel=1e-8)


def test_classes_that_switch() -> None:
    # One customer: class 1 at station 1 for 2 s, then class 2 at station 2 for 3 s.
    onward = np.zeros((2, 2, 2, 2))
    onward[0, 0, 1, 1] = onward[1, 1, 0, 0] = 1.0
    given_ = network_arrays([[2.0, 0.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]], population=[1, 0])
    found = solve_markov_chain(given_, route([[1.0, 0.0], [0.0, 1.0]], onward))
    assert found.throughput.ravel() == pytest.approx([0.2, 0.2])
    assert found.queue[0] == pytest.approx(np.array([[0.4, 0.0], [0.0, 0.6]]))


def test_a_full_station_that_is_served_again_or_holds_up_is_one_chain() -> None:
    # Two stations in a ring, three customers, room for two at the second.
    a, b = 1.0, 1.6
    expected = np.array(
        [1.0, b / a, (b / a) ** 2]
    )  # 0, 1, 2 at the second; rates 1/a up and 1/b down
    expected /= expected.sum()
    for blocking in ("repeat", "before-service"):
        found = solve_markov_chain(
            network_arrays(
                [a, b], population=3, discipline="fcfs", capacity=[None, 2], blocking=blocking
            )
        )
        assert present(found, 1) == pytest.approx(expected, rel=1e-12)
        assert found.throughput.item() == pytest.approx((1 - expected[0]) / b)


def test_a_chain_of_buffers_loses_at_its_entrance_alone() -> None:
    # Two stations of one place each; the second holds up the first, the outside loses.
    found = solve_markov_chain(
        network_arrays(
            [1.0, 1.0], arrivals=1.0, discipline="fcfs", capacity=[1, 1], blocking="repeat"
        )
    )
    states, pi = by_hand(
        lambda s: (
            [((1, s[1]), 1.0)] * (s[0] == 0)
            + [((0, 1), 1.0)] * (s == (1, 0))
            + [((s[0], 0), 1.0)] * (s[1] == 1)
        ),
        (0, 0),
    )
    full = sum(p for s, p in zip(states, pi, strict=True) if s[0] == 1)
    assert found.loss_probability.ravel() == pytest.approx([full, 0.0])
    assert found.truncation == (0,)


def test_the_least_size_is_known() -> None:
    cases = [
        network_arrays([1.0, 2.0, 3.0], population=9, think=1.0),
        network_arrays(
            [[1.0, 2.0], [2.0, 3.0]],
            population=[3, 4],
            discipline="priority-preemptive",
            priority=[0, 1],
        ),
    ]
    for given_ in cases:
        _, chain = markov_chain(given_)
        assert state_count_words(network_point(given_), None) == f"at least {chain.size} in all"
    ordered = network_arrays(
        [[1.0, 2.0], [2.0, 3.0]], population=[3, 4], think=1.0, discipline="fcfs"
    )
    assert state_count_words(network_point(ordered), None) == "at least 150 in all"
    # All four are at the one station.
    assert (
        state_count_words(network_point(network_arrays([1.0], population=4)), None)
        == "at least 1 in all"
    )
    assert markov_chain(ordered)[1].size > 150
    opened = network_arrays([1.0, 2.0], arrivals=0.1)
    assert markov_chain(opened, truncation=8)[1].size == 45
    assert (
        state_count_words(network_point(opened), 8)
        == "at least 45 in all, truncated at 8 customers of open classes"
    )


# What is refused.


def test_a_network_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve_markov_chain(
            network_arrays([[1.0, 2.0]] * 2, population=[20, 20], think=1.0, discipline="fcfs"),
            state_limit=5000,
        )
    assert str(caught.value).startswith(
        "the chain has more than 5,000 states (at least 5.336e+04 in all); ask for fewer"
    )
    with pytest.raises(NoAnswerError, match="as many as were looked for, truncated at"):
        solve_markov_chain(
            network_arrays([[1.0, 2.0]] * 2, arrivals=[0.1, 0.2], discipline="fcfs"),
            state_limit=5000,
        )


@pytest.mark.parametrize(
    "given_",
    [network_arrays([1.0], arrivals=1 - 1e-6), network_arrays([1.0, 2.0], population=400_000)],
    ids=["open", "closed"],
)
def test_a_long_line_is_refused_before_it_is_explored(given_: NetworkArrays) -> None:
    with pytest.raises(NoAnswerError, match="the chain has more than 30,000 states"):
        solve_markov_chain(given_)


def test_a_saturated_station_is_named() -> None:
    with pytest.raises(NoAnswerError) as caught:
        solve_markov_chain(network_arrays([1.0, 0.5], arrivals=1.2, stations=["cpu", "disk"]))
    assert (
        str(caught.value)
        == "station cpu is saturated: arrivals need 1.2 s of service a second, and it gives"
        " less than 1; lower the arrivals, shorten the demand, or add servers"
    )


def test_a_network_that_never_settles_is_refused() -> None:
    # The closed class takes half of the server for itself.
    given_ = network_arrays(
        [[1.0], [1.0]],
        population=[0, 1],
        arrivals=[0.7, 0.0],
        think=1.0,
        discipline="priority-preemptive",
        priority=[1, 0],
    )
    with pytest.raises(NoAnswerError) as caught:
        solve_markov_chain(given_, error=1e-3)
    assert str(caught.value).startswith("the probabilities still rise at")
    assert str(caught.value).endswith(
        "of them: more work arrives than can be done; lower the arrivals, or give stations a"
        " capacity"
    )


def test_who_never_overtakes_has_no_long_run_of_its_own() -> None:
    for discipline in ("fcfs", "lcfs-pr"):
        with pytest.raises(NoAnswerError) as caught:
            solve_markov_chain(
                network_arrays([[1.0], [3.0]], population=[2, 2], discipline=discipline)
            )
        assert (
            str(caught.value)
            == "customers keep the order in which they start, and the long run depends on it; give"
            " the classes a think time or a routing that lets them overtake"
        )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda n: solve_markov_chain(network_arrays([1.0, 2.0], population=3, capacity=[1])),
            "capacity is given for 1 stations; there are 2",
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays([1.0, 2.0], population=3, blocking=["loss"])
            ),
            "blocking is given for 1 stations; there are 2",
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays([1.0, 2.0], population=3, capacity=[None, 0])
            ),
            "station 2: capacity must be at least 1, got 0",
        ),
        (
            lambda n: solve_markov_chain(network_arrays([1.0, 2.0], population=3, blocking="wait")),
            (
                "station 1: there is no blocking 'wait'; known: loss, repeat, before-service,"
                " after-service"
            ),
        ),
        (
            lambda n: solve_markov_chain(n, error=0.0),
            "the error of a truncation must lie between 0 and 1, got 0.0",
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays([1.0, 2.0], population=3, capacity=[1, 1], blocking="repeat")
            ),
            "the stations have no place for 3 customers; raise a capacity",
        ),
        (
            lambda n: solve_markov_chain(n, route([[1.0]], np.zeros((1, 1, 1, 1)))),
            "routing is for (1, 1) classes and stations, the network has (1, 2)",
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays([1.0, 0.0], population=1),
                route([[1.0, 0.0]], np.full((1, 2, 1, 2), 0.5)),
            ),
            "class 1 at station 2: routing leads there, but service takes no time",
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays(
                    [1.0, 1.0],
                    [1.0, 0.5],
                    population=3,
                    capacity=[2, None],
                    blocking="before-service",
                )
            ),
            None,
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays(
                    [1.0, 1.0],
                    [1.0, 0.5],
                    population=3,
                    capacity=[None, 2],
                    blocking="before-service",
                )
            ),
            (
                "class 1 from station 1 to station 2: blocking before service needs one"
                " destination; use 'repeat' or 'loss'"
            ),
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays(
                    [1.0, 1.0], population=3, scv=2.0, capacity=[None, 2], blocking="repeat"
                )
            ),
            (
                "class 1 from station 1 to station 2: a Markov chain has no rule for blocking of"
                " a service in phases; ask for simulation, or use scv 1"
            ),
        ),
        (
            lambda n: solve_markov_chain(network_arrays([1.0, 2.0], population=3, capacity=[2, 2])),
            (
                "class 1 is lost at station 1 and begins its cycle again at station 1, which may be"
                " full; give a think time or another blocking"
            ),
        ),
        (
            lambda n: markov_chain(network_arrays([1.0], arrivals=0.5)),
            "open classes can fill a station without end; give the chain a truncation",
        ),
        (
            lambda n: solve_markov_chain(
                network_arrays([[1.0], [1.0]], population=[0, 1], arrivals=[0.1, 0.0]),
                route(np.ones((2, 1)), np.full((2, 1, 2, 1), 0.5)),
            ),
            "routing turns an open class into a closed one; keep them apart",
        ),
    ],
)
def test_what_a_chain_cannot_mean_is_named(call: Any, said: str | None) -> None:
    plain = network_arrays([1.0, 2.0], population=3)
    if said is None:
        call(plain)
        return
    with pytest.raises(ModelError) as caught:
        call(plain)
    assert str(caught.value) == said


# Degenerate networks.


def test_nobody_is_nowhere() -> None:
    found = solve_markov_chain(network_arrays([1.0, 2.0], population=0))
    assert found.throughput.item() == 0
    assert not found.queue.any()


def test_stations_that_take_no_time_hold_nobody() -> None:
    found = solve_markov_chain(network_arrays([0.0, 0.0], arrivals=3.0))
    assert found.throughput.item() == pytest.approx(3.0)
    assert not found.queue.any()
    with pytest.raises(NoAnswerError) as caught:
        solve_markov_chain(network_arrays([0.0], population=3))
    assert str(caught.value) == (
        "class 1 spends no time anywhere, so it would cycle infinitely often; give it a "
        "service or think time"
    )


def test_more_servers_than_customers() -> None:
    given_ = network_arrays([1.0], population=3, think=2.0, servers=50)
    agree(solve_markov_chain(given_), exact(given_))


def test_who_only_thinks() -> None:
    assert solve_markov_chain(
        network_arrays([0.0], population=4, think=2.0)
    ).throughput.item() == pytest.approx(2.0)


def test_the_iterative_road_meets_the_direct_one() -> None:
    _, chain = markov_chain(network_arrays([0.1, 0.3, 0.2], population=60))
    direct = stationary(chain, "direct")
    assert stationary(chain, "iterative") == pytest.approx(direct, abs=1e-12)
