"""Exact answers by four roads: scaled constants, logarithms, the published recursion, and every
state in fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing import normalizing_constants
from slipstick.queueing.checks import checked_solution
from slipstick.queueing.exact import convolution, exact
from slipstick.queueing.mixed_classes import saturation_reasons
from slipstick.queueing.network import NetworkArrays, NetworkSolution, network_arrays
from slipstick.queueing.normalizing_constants import geometric_recurrences
from tests.examples import examples
from tests.queueing.reference import enumerate_states
from tests.queueing.reference_mva import mean_values

ROADS: list[Callable[[NetworkArrays], NetworkSolution]] = [exact, convolution]
SPEEDS = [
    [[1], [1], [1]],
    [[1], [1, 2], [1, 2, 3]],
    [[1, 2, 3, 4, 5, 6, 7, 8], [1, 1.5, 1.25], [0.5, 3]],
]
NAMES = ("throughput", "residence", "queue", "utilization")


def same(one: NetworkSolution, other: NetworkSolution, within: float = 1e-10) -> None:
    for name in NAMES:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=within, atol=1e-14, err_msg=name
        )


@pytest.mark.turns(5)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("speeds", SPEEDS, ids=["single", "servers", "rates"])
@pytest.mark.parametrize("population", [[7], [3, 4], [2, 3, 2], [1, 0, 3]], ids=str)
def test_equals_the_sum_over_all_states(
    road: Callable[[NetworkArrays], NetworkSolution],
    speeds: list[list[float]],
    population: list[int],
) -> None:
    random = np.random.default_rng(7)
    demand, think = random.random((len(population), 3)), random.random(len(population)) * 3
    answer = road(network_arrays(demand, population=population, think=think, rates=speeds))
    wanted = enumerate_states(demand.tolist(), think.tolist(), population, speeds)
    np.testing.assert_allclose(
        answer.queue[0], np.array(wanted.queue, dtype=float), rtol=1e-12, atol=1e-14
    )
    away = (answer.throughput * think)[0]
    np.testing.assert_allclose(away, np.array(wanted.thinking, dtype=float), rtol=1e-12)
    for chance, row in zip(answer.probability, wanted.probability, strict=True):
        if chance is not None:
            np.testing.assert_allclose(
                chance[0, : len(row)], np.array(row, dtype=float), rtol=1e-10, atol=1e-15
            )


@pytest.mark.parametrize("population", [[7], [3, 4]], ids=str)
def test_gives_every_probability_when_asked(population: list[int]) -> None:
    demand = np.random.default_rng(7).random((len(population), 3))
    given = network_arrays(demand, population=population, think=1.0, servers=[1, 2, 1])
    for one, other in zip(
        exact(given, with_marginals=True).probability, convolution(given).probability, strict=True
    ):
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-15)


networks = st.builds(
    lambda seed, classes, stations, most, open_too, several: random_network(
        seed, classes, stations, most, open_too, several
    ),
    st.integers(0, 10_000),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 5),
    st.booleans(),
    st.booleans(),
)


def random_network(
    seed: int, classes: int, stations: int, most: int, open_too: bool, several: bool
) -> NetworkArrays:
    """Draw a product-form network at three points, one of its classes open if asked for."""
    random = np.random.default_rng(seed)
    closed = np.array([not (open_too and r == classes - 1) for r in range(classes)])
    service = random.random((3, classes, stations)) * (random.random((classes, stations)) < 0.8)
    kinds = [str(random.choice(["ps", "lcfs-pr", "is"])) for _ in range(stations)]
    return network_arrays(
        service + 0.01,
        random.random((3, classes, stations)) + 0.1,
        population=np.where(closed, random.integers(0, most + 1, (3, classes)), 0),
        arrivals=np.where(closed, 0.0, 0.3 * random.random((3, classes))),
        closed=closed,
        think=random.random((3, classes)) * random.choice([0, 5]),
        discipline=kinds,
        servers=random.integers(1, 4, stations) if several else 1,
    )


@pytest.mark.turns(4)
@settings(max_examples=examples(60))
@given(networks)
def test_roads_agree_and_keep_the_laws(given: NetworkArrays) -> None:
    answer = checked_solution(given, exact(given, with_marginals=True))
    same(answer, checked_solution(given, convolution(given)))
    if (given.is_single | given.is_delay).all():
        same(answer, checked_solution(given, mean_values(given)))


@settings(max_examples=examples(30))
@given(networks)
def test_a_sweep_is_its_points_one_by_one(given: NetworkArrays) -> None:
    swept = exact(given)
    for point in range(given.point_count):
        alone = exact(given.select(slice(point, point + 1)))
        for name in NAMES:
            np.testing.assert_allclose(
                getattr(swept, name)[point], getattr(alone, name)[0], rtol=1e-12, atol=1e-15
            )


@pytest.mark.parametrize("road", [exact, convolution])
def test_two_points_of_other_populations_are_two_networks(
    road: Callable[[NetworkArrays], NetworkSolution],
) -> None:
    demand, populations = [[0.3, 0.2], [0.1, 0.4]], [[2, 3], [4, 1]]
    both = road(network_arrays(demand, population=populations, think=1.0))
    for point, population in enumerate(populations):
        alone = road(network_arrays(demand, population=population, think=1.0))
        assert both.throughput[point] == pytest.approx(alone.throughput[0], rel=1e-12)


def test_points_are_solved_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep too large for one block is the same sweep."""
    random = np.random.default_rng(3)
    one = network_arrays(
        random.random((7, 1, 3)), population=np.arange(7)[:, None], think=1.0, servers=[1, 2, 1]
    )
    two = network_arrays(random.random((7, 2, 3)), population=[4, 3], think=1.0, servers=[1, 2, 1])
    whole = exact(one, with_marginals=True), exact(two, with_marginals=True)
    monkeypatch.setattr("slipstick.queueing.normalizing_constants.MOST_NUMBERS", 50)
    monkeypatch.setattr("slipstick.queueing.normalizing_constants.MOST_NUMBERS", 50)
    for each, wanted in zip((one, two), whole, strict=True):
        blocks = exact(each, with_marginals=True)
        same(blocks, wanted)
        for chance, other in zip(blocks.probability, wanted.probability, strict=True):
            np.testing.assert_allclose(chance, other, rtol=1e-12, atol=1e-15)  # type: ignore[arg-type]


def test_the_curve_over_the_population_is_one_recursion() -> None:
    curve = exact(network_arrays([0.5, 0.3, 0.2], population=np.arange(101)[:, None], think=2.0))
    for count in (0, 1, 2, 50, 100):
        alone = mean_values(network_arrays([0.5, 0.3, 0.2], population=count, think=2.0))
        np.testing.assert_allclose(curve.throughput[count], alone.throughput[0], rtol=1e-12)
        np.testing.assert_allclose(curve.queue[count], alone.queue[0], rtol=1e-12)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("servers", "demand", "population"),
    [
        (4, 0.3, 50),
        (8, 0.1, 100),
        (16, 0.06, 100),
        (16, 1 / 16, 300),
        (64, 1 / 64, 500),
        (64, 0.06, 200),
    ],
)
def test_many_servers_where_the_textbook_recursion_breaks(
    servers: int, demand: float, population: int
) -> None:
    given = network_arrays([1.0, demand], population=population, servers=[servers, 1])
    answer = checked_solution(given, exact(given))
    same(answer, convolution(given), within=1e-10)
    probability, expected = answer.probability[0], convolution(given).probability[0]
    assert probability is not None
    assert expected is not None
    np.testing.assert_allclose(probability, expected, rtol=1e-8, atol=1e-14)


def test_thousands_of_customers_and_servers() -> None:
    """A closed station that never queues serves at N / D; one that always does at c / D."""
    given = network_arrays([1.0, 1e-3], population=5000, servers=[1000, 1])
    assert checked_solution(given, exact(given)).throughput[0, 0] == pytest.approx(
        999.75249382, abs=1e-8
    )
    free = network_arrays([1.0], population=900, servers=1000)
    assert exact(free).throughput[0, 0] == pytest.approx(900, rel=1e-12)
    busy = network_arrays([1.0], population=4000, servers=64)
    assert exact(busy).throughput[0, 0] == pytest.approx(64, rel=1e-12)


def test_numbers_beyond_the_range_of_doubles_go_by_logarithms() -> None:
    """Constants of a long think time or tiny demands vanish; the answer must not."""
    curve = exact(network_arrays([0.001], population=[[1], [2], [2000]], think=3000.0))
    alone = mean_values(network_arrays([0.001], population=2, think=3000.0))
    assert curve.throughput[1, 0] == pytest.approx(alone.throughput[0, 0], rel=1e-10)
    assert curve.throughput[2, 0] == pytest.approx(2000 / 3000.001, rel=1e-6)


@pytest.mark.parametrize("population", [20, 1_000, 5_000])
def test_a_thousand_equal_stations_have_the_throughput_of_a_balanced_network(
    population: int,
) -> None:
    """X = N / (D (K + N - 1)), whose normalizing constants grow beyond the range of doubles: all
    places of N customers at K equal stations are equally likely.
    """
    stations, demand = 1_000, 2e-3
    answer = exact(network_arrays(np.full((1, stations), demand), population=population))
    throughput = population / (demand * (stations + population - 1))
    assert answer.throughput[0, 0] == pytest.approx(throughput, rel=1e-11)
    np.testing.assert_allclose(answer.queue[0, 0], population / stations, rtol=1e-11)


def test_beyond_the_range_of_doubles_probabilities_and_means_are_those_of_each_point() -> None:
    """The mean number present is the sum over its probabilities, also where constants vanish."""
    network = network_arrays([0.001, 0.002], population=[[1], [90]], think=3e7)
    answer, means_alone = exact(network, with_marginals=True), exact(network)
    same(answer, means_alone, 1e-9)
    for station, probability in enumerate(answer.probability):
        assert probability is not None
        numbers = np.arange(probability.shape[1])
        np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(probability @ numbers, answer.queue[:, 0, station], rtol=1e-9)
        assert not probability[0, 2:].any()


@pytest.mark.parametrize("servers", [1, 2, 7, 64, 1000])
def test_an_open_station_is_erlang_c(servers: int) -> None:
    load = 0.97 * servers
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    wait = blocked / (1 - load / servers * (1 - blocked)) / (servers - load)
    answer = exact(network_arrays([1.0], arrivals=load, servers=servers))
    assert answer.residence[0, 0, 0] == pytest.approx(1 + wait, rel=1e-10)
    assert answer.utilization[0, 0, 0] == pytest.approx(0.97)


def test_open_customers_beside_closed_ones_are_summed_out() -> None:
    """Two servers, one closed class of three and an open one: against the sum over open
    customers, cut at 400.
    """
    load, own, away, count = 0.8, 0.5, 1.0, 3
    closed = np.arange(count + 1)[:, None]
    opened = np.arange(400)[None]
    from math import lgamma

    logs = np.vectorize(lgamma)
    total = closed + opened
    pace = np.where(total <= 2, logs(total + 1.0), np.log(2) + (total - 2) * np.log(2))
    weight = logs(total + 1.0) - logs(closed + 1.0) - logs(opened + 1.0) - pace
    weight = weight + opened * np.log(load) + closed * np.log(own)
    weight = np.exp(weight + (count - closed) * np.log(away) - logs(count - closed + 1.0))
    mean_closed, mean_open = ((weight * each).sum() / weight.sum() for each in (closed, opened))
    for road in ROADS:
        answer = road(
            network_arrays(
                [[own], [1.0]],
                population=[3, 0],
                arrivals=[0, load],
                closed=[1, 0],
                think=[away, 0],
                servers=2,
            )
        )
        np.testing.assert_allclose(answer.queue[0, :, 0], [mean_closed, mean_open], rtol=1e-12)


def test_utilization_with_rates_is_the_chance_of_being_busy() -> None:
    given = network_arrays([[0.5], [0.4]], population=[2, 1], think=1.0, rates=[[1, 1.5]])
    answer = exact(given)
    chance = answer.probability[0]
    assert chance is not None
    assert answer.utilization[0, :, 0].sum() == pytest.approx(1 - chance[0, 0])
    one = exact(network_arrays([0.5], arrivals=0.8, rates=[[2.0]]))
    assert one.utilization[0, 0, 0] == pytest.approx(0.2)
    several = exact(network_arrays([0.5], arrivals=0.8, rates=[[1.0, 2.0]]))
    assert several.utilization[0, 0, 0] == pytest.approx(1 / 3)


DEGENERATE: list[tuple[dict[str, Any], list[float], list[list[float]]]] = [
    ({"service": [0.5, 0.3], "population": 0}, [0.0], [[0.0, 0.0]]),
    ({"service": [0.5, 0.0], "population": 3}, [2.0], [[3.0, 0.0]]),
    ({"service": [0.0, 0.0], "population": 3, "think": 2.0}, [1.5], [[0.0, 0.0]]),
    ({"service": [0.5], "population": 4}, [2.0], [[4.0]]),
    ({"service": [0.5], "population": 4, "servers": 9}, [8.0], [[4.0]]),
    ({"service": [0.5], "population": 4, "discipline": "is"}, [8.0], [[4.0]]),
    ({"service": [[0.5], [0.25]], "population": [0, 0]}, [0.0, 0.0], [[0.0], [0.0]]),
    ({"service": [[0.5], [0.25]], "population": [0, 2]}, [0.0, 4.0], [[0.0], [2.0]]),
    ({"service": [[0.5], [0.5]], "population": [1, 1], "servers": 5}, [2.0, 2.0], [[1.0], [1.0]]),
    ({"service": [[0.0], [0.0]], "population": [1, 2], "think": 2.0}, [0.5, 1.0], [[0.0], [0.0]]),
    (
        {"service": [[0.5], [0.25]], "population": [1, 2], "discipline": "is"},
        [2.0, 8.0],
        [[1.0], [2.0]],
    ),
    ({"service": [0.5], "arrivals": 0.0}, [0.0], [[0.0]]),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    ("given", "throughput", "queue"), DEGENERATE, ids=lambda each: str(each)[:60]
)
def test_degenerate_networks_have_the_obvious_answer(
    road: Callable[[NetworkArrays], NetworkSolution],
    given: dict[str, Any],
    throughput: list[float],
    queue: list[list[float]],
) -> None:
    built = network_arrays(**given)
    answer = checked_solution(built, road(built))
    np.testing.assert_allclose(answer.throughput[0], throughput, rtol=1e-12)
    np.testing.assert_allclose(answer.queue[0], queue, rtol=1e-12, atol=1e-14)


CURVED: list[dict[str, Any]] = [
    {"population": [40, 0], "think": 2.0},
    {"population": [40, 0], "think": 2.0, "servers": [1, 3, 1]},
    {"population": [5, 7], "think": 2.0, "servers": [1, 3, 1]},
    {"population": [5, 7], "rates": [None, [1, 1.5, 1.2], None]},
    {"population": [5, 0], "arrivals": [0, 0.2], "closed": [1, 0], "servers": [1, 3, 1]},
    {"arrivals": [0.1, 0.2], "servers": [1, 3, 1], "discipline": ["ps", "lcfs-pr", "is"]},
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("more", CURVED, ids=lambda each: str(each)[:60])
def test_the_complex_step_is_the_slope(
    road: Callable[[NetworkArrays], NetworkSolution], more: dict[str, Any]
) -> None:
    demand, step = np.array([[0.5, 0.7, 0.3], [0.2, 0.3, 0.4]]), 1e-6
    for place in ((0, 1), (0, 2)):
        there = demand.astype(complex)
        there[place] += 1e-20j
        up, down = demand.copy(), demand.copy()
        up[place] += step
        down[place] -= step
        slope, high, low = (road(network_arrays(each, **more)) for each in (there, up, down))
        for name in NAMES:
            between = (getattr(high, name) - getattr(low, name)) / (2 * step)
            np.testing.assert_allclose(
                getattr(slope, name).imag / 1e-20, between, rtol=1e-6, atol=1e-7
            )
            np.testing.assert_allclose(
                getattr(slope, name).real, getattr(road(network_arrays(demand, **more)), name)
            )


def test_shares_of_the_cycle_add_up_to_one() -> None:
    """Every time twice as long makes the response twice as long: sum of theta dR/dtheta = R."""
    demand, think = np.array([0.5, 0.7, 0.3]), 2.0
    total = 0.0
    for place in range(4):
        times = np.array([*demand, think], dtype=complex)
        times[place] *= 1 + 1e-20j
        answer = exact(network_arrays(times[:3], think=times[3], population=30, servers=[1, 4, 1]))
        total += answer.residence.sum(axis=2)[0, 0].imag / 1e-20
    assert total == pytest.approx(answer.residence.sum(axis=2)[0, 0].real, rel=1e-12)


def test_the_published_recursion_refuses_several_servers() -> None:
    with pytest.raises(ModelError) as refused:
        mean_values(network_arrays([1.0, 1.0], population=2, servers=[1, 2]))
    assert (
        str(refused.value)
        == "station 2 is not a single server of one speed, which the published recursion needs; ask"
        " for exact or convolution"
    )


def test_a_lattice_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(NoAnswerError) as refused:
        exact(network_arrays(np.ones((4, 2)), population=100, think=1.0))
    assert (
        str(refused.value)
        == "the lattice of populations (100, 100, 100, 100) takes 180,136,512,636 steps; the limit"
        " is 10,000,000,000: ask for linearizer or schweitzer, which do not grow with it, or"
        " allow more with --limit lattice=1.9e+11 (limits: in a study, limits= in Python)"
    )
    # Two classes of 1,000 are few populations: at single servers they take 0.2 s, beside a station
    # of two speeds half a minute.
    with pytest.raises(NoAnswerError, match="the limit is 10,000,000,000"):
        exact(network_arrays(np.ones((2, 3)), population=1000, servers=[1, 2, 1]))
    # One customer beside 1.5 million: places are few, but planes are many, and each takes a call of
    # every step.
    with pytest.raises(NoAnswerError, match=r"\(1, 1500000\) takes 11,754,015,672 steps"):
        exact(network_arrays(np.ones((2, 2)), population=[1, 1_500_000], think=1.0))
    with pytest.raises(NoAnswerError) as refused:
        convolution(network_arrays(np.ones((2, 2)), population=250, think=1.0))
    assert (
        str(refused.value)
        == "convolution in logarithms would take 11,907,378,003 terms; the limit is 200,000,000:"
        " ask for exact, for linearizer or schweitzer, or allow more with --limit terms=1.3e+10"
        " (limits: in a study, limits= in Python)"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"service": [1.0, 1.0], "arrivals": 0.5, "discipline": ["ps", "priority"]},
            "station 2 has priorities",
        ),
        (
            {
                "service": [[1.0], [2.0]],
                "population": [1, 1],
                "discipline": "fcfs",
                "stations": ["cpu"],
            },
            "cpu is first come first served and its service times differ between classes",
        ),
        (
            {
                "service": [1.0],
                "population": 3,
                "discipline": "fcfs",
                "scv": 0.0,
                "stations": ["cpu"],
            },
            "cpu is first come first served and its scv is not 1",
        ),
    ],
    ids=["priority", "fcfs", "scv"],
)
def test_what_has_no_product_form_is_refused(given: dict[str, Any], text: str) -> None:
    for road in (exact, convolution, mean_values):
        with pytest.raises(ModelError) as refused:
            road(network_arrays(**given))
        rest = (
            ", so there is no product form; ask for schweitzer, linearizer, markov-chain or"
            " simulation"
        )
        assert str(refused.value) == text + rest


def test_saturation_names_station_load_and_limit() -> None:
    with pytest.raises(NoAnswerError) as refused:
        exact(network_arrays([0.5, 0.3], arrivals=5.0, servers=[2, 2], stations=["cpu", "disk"]))
    assert (
        str(refused.value)
        == "station cpu is saturated: arrivals need 2.5 s of service a second, and it gives"
        " less than 2; lower the arrivals, shorten the demand, or add servers"
    )
    assert list(saturation_reasons(network_arrays([0.5], arrivals=[[1.0], [2.0], [3.0]]))) == [1, 2]


def test_a_cycle_without_time_is_refused() -> None:
    with pytest.raises(NoAnswerError) as refused:
        exact(network_arrays([0.0, 0.0], population=2, classes=["jobs"]))
    assert (
        str(refused.value)
        == "a cycle of jobs takes no time: all its demands and its think time are 0"
    )


def test_numbers_that_no_double_holds_are_refused() -> None:
    with pytest.raises(
        NoAnswerError, match=r"leaves the range of doubles; look at the sizes of the demands"
    ):
        exact(network_arrays([1e-320, 1e-320], population=3))


@pytest.mark.turns(4)
def test_a_million_customers_see_what_open_arrivals_see() -> None:
    network = network_arrays([1.0, 1.0], population=10**6, think=2e6, servers=[1, 2])
    answer = checked_solution(network, exact(network))
    # M/M/1 and M/M/2 at 0.5 customers a second, and a millionth less for each customer who is
    # already there.
    assert answer.residence[0, 0].tolist() == pytest.approx([2.0, 16 / 15], rel=5e-6)
    assert answer.throughput[0, 0] == pytest.approx(1e6 / (2e6 + 2.0 + 16 / 15), rel=1e-10)


@pytest.mark.parametrize(
    ("points", "length", "paces"),
    [
        (1, 64, 3),
        (1, 65, 1),
        (1, 1001, 10),
        (3, 100, 17),
        (210, 66, 2),
        (2, 5000, 3),
        (3, 20, 100),
        (1, 12, 1000),
    ],
)
@pytest.mark.parametrize("slope", [0, 1e-20])
def test_recurrences_are_those_that_a_loop_over_the_numbers_gives(
    points: int, length: int, paces: int, slope: float
) -> None:
    """One after the other, in blocks or by sums of powers: the same numbers and derivatives, also
    over a pace of 0.
    """
    random = np.random.default_rng(length)
    series, rates = random.random((points, length)), random.random((paces, points))
    x, each = (
        values * (1 + 1j * slope * random.random(values.shape)) for values in (series, rates)
    )
    each[-1, 0] = 0
    expected = x.copy()
    for pace in each:
        for n in range(1, length):
            expected[:, n] += pace * expected[:, n - 1]
    found = geometric_recurrences(x, *each) if slope else geometric_recurrences(x.real, *each.real)
    assert np.allclose(found.real, expected.real, rtol=1e-13, atol=0)
    assert np.allclose(found.imag, expected.imag, rtol=1e-12, atol=0)


def test_an_open_station_of_very_many_servers_costs_no_more_than_its_list_of_speeds() -> None:
    """Of 20,000 servers at a load of 19,000 by the formula of Erlang; sums for each number of
    closed ones are refused.
    """
    servers, load = 20_000, 19_800.0
    served = exact(network_arrays([1.0], arrivals=load, servers=servers))
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    wait = blocked / (1 - load / servers * (1 - blocked)) / (servers - load)
    assert served.residence.item() == pytest.approx(1 + wait, rel=1e-11)
    words = (
        r"station 1 takes 900,120,004 terms of sums over what open classes leave of its speeds; the"
        r" limit is 200,000,000"
    )
    with pytest.raises(NoAnswerError, match=words):
        exact(
            network_arrays(np.ones((2, 1)), population=[30_000, 0], arrivals=[0, 1], servers=30_002)
        )


def test_probabilities_of_many_stations_take_few_recurrences_and_agree_with_the_laws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A station is empty with probability 1 - U, and its mean is the sum over its probabilities;
    the series of all other stations are found by halves.
    """
    recurrences: list[int] = []

    def counted(series: Any, *paces: Any) -> Any:
        recurrences.append(len(paces))
        return geometric_recurrences(series, *paces)

    monkeypatch.setattr(normalizing_constants, "geometric_recurrences", counted)
    stations = 200
    demand = np.random.default_rng(5).random((1, stations)) / stations
    network = network_arrays(demand, population=[30], think=np.array([1.0]))
    answer = exact(network, with_marginals=True)
    assert sum(recurrences) <= stations * (2 + np.log2(stations))
    for station, probability in enumerate(answer.probability):
        assert probability is not None
        empty, mean = probability[0, 0], probability[0] @ np.arange(probability.shape[1])
        assert empty == pytest.approx(1 - answer.utilization[0, 0, station], rel=1e-12)
        assert mean == pytest.approx(answer.queue[0, 0, station], rel=1e-12)
