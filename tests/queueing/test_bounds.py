"""Bounds enclose the exact answers, sharpen in order, and meet where theory says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick.errors import ModelError
from slipstick.queueing.bounds import (
    asymptotic_bounds,
    balanced_job_bounds,
    geometric_bounds,
    proportional_bounds,
    saturation_population,
)
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick_chains.networks.solve import solve_markov_chain
from tests.examples import examples

SHARP = [balanced_job_bounds, proportional_bounds, geometric_bounds]
demands = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6)


@given(demands, st.integers(0, 40), st.sampled_from([0.0, 1.0, 30.0]))
def test_all_bounds_enclose_the_exact_throughput(
    demand: list[float], count: int, think: float
) -> None:
    one = network_arrays(demand, population=count, think=think)
    flow = exact(one).throughput[0, 0]
    wide_low, wide_high = asymptotic_bounds(one)
    for bounds in (asymptotic_bounds, *SHARP):
        low, high = bounds(one)
        assert low[0, 0] <= flow * (1 + 1e-12)
        assert high[0, 0] >= flow * (1 - 1e-12)
        assert low[0, 0] >= wide_low[0, 0] * (1 - 1e-12)
        # The published upper geometric bound knows the slowest station only, not the customers that
        # think.
        assert high[0, 0] <= (
            wide_high[0, 0] if bounds is not geometric_bounds else 1 / max(demand)
        ) * (1 + 1e-12)


def test_at_several_servers_all_wait_for_all_others_at_most() -> None:
    """Six customers at two servers take three services for a turn at most, and need three
    seconds for six at least.
    """
    low, high = asymptotic_bounds(network_arrays([1.0], population=6, think=1.0, servers=2))
    assert (low.item(), high.item()) == pytest.approx((6 / (1 + 3), 2.0))


@pytest.mark.parametrize(
    ("think", "published"),
    [
        # Casale, Muntz and Serazzi 2008, tables IV and V.
        (
            0,
            [
                (2, 4.3040, 4.3174),
                (5, 6.6859, 6.7524),
                (10, 8.1521, 8.2690),
                (20, 9.0947, 9.2431),
                (80, 9.8233, 9.8765),
            ],
        ),
        (
            1,
            [
                (2, 1.4319, 1.5195),
                (5, 3.3432, 3.5582),
                (10, 5.7569, 6.1410),
                (20, 8.0856, 8.6467),
                (80, 9.7147, 9.8594),
            ],
        ),
    ],
)
def test_geometric_bounds_are_those_of_the_published_tables(
    think: float, published: list[tuple[float, ...]]
) -> None:
    count, low, high = np.array(published).T
    found = geometric_bounds(
        network_arrays([0.1, 0.1, 0.09, 0.08], population=count[:, None], think=think)
    )
    np.testing.assert_allclose(
        np.column_stack(found), np.column_stack([low, high]), rtol=0, atol=5.1e-5
    )


@given(st.integers(1, 6), st.integers(0, 30))
def test_bounds_of_a_balanced_network_meet(stations: int, count: int) -> None:
    """N / (D (N + K - 1) / K): the exact throughput of K equal stations."""
    one = network_arrays(np.full(stations, 0.5), population=count)
    for bounds in SHARP:
        low, high = bounds(one)
        assert low[0, 0] == pytest.approx(count / (0.5 * (count + stations - 1)) if count else 0.0)
        assert high[0, 0] == pytest.approx(low[0, 0])


def test_asymptotic_bounds_take_several_classes_servers_rates_and_open_classes() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        demand = random.random((2, 3))
        given = network_arrays(
            demand,
            population=random.integers(0, 6, 2),
            think=1.0,
            rates=[None, [1, 2, 3], [2, 1.5]],
        )
        low, high = asymptotic_bounds(given)
        flow = exact(given).throughput
        assert (low <= flow * (1 + 1e-12)).all()
        assert (high >= flow * (1 - 1e-12)).all()
    mixed = network_arrays([[0.5], [0.4]], population=[9, 0], arrivals=[0, 1], closed=[1, 0])
    low, high = asymptotic_bounds(mixed)
    assert low[0].tolist() == [0.0, 1.0]
    assert high[0].tolist() == pytest.approx([1.2, 1.0])
    ranked = network_arrays(
        [[0.5], [0.4]], population=[9, 3], discipline="priority", priority=[1, 2]
    )
    assert asymptotic_bounds(ranked)[0].tolist() == [[0.0, 0.0]]
    uneven = network_arrays([[0.5], [0.4]], population=[9, 3], discipline="fcfs")
    assert asymptotic_bounds(uneven)[0].tolist() == [[0.0, 0.0]]
    wild = network_arrays([0.5], population=9, discipline="fcfs", scv=9)
    assert asymptotic_bounds(wild)[0].tolist() == [[2.0]]


def throughput_beside_a_stream(jobs: int, demand: float, load: float, speeds: list[float]) -> float:
    """Solve the chain of jobs that think for 1 s and share a station with a stream of such a
    load, up to 60 of it.
    """
    most = 60
    place = {
        state: at
        for at, state in enumerate((j, g) for j in range(jobs + 1) for g in range(most + 1))
    }
    flows = np.zeros((len(place), len(place)))
    for (j, g), at in place.items():
        each = speeds[min(j + g, len(speeds)) - 1] / max(1, j + g)
        moves = (
            (j + 1, g, jobs - j),
            (j - 1, g, j * each / demand),
            (j, g + 1, load),
            (j, g - 1, g * each),
        )
        for more, others, rate in moves:
            if (more, others) in place:
                flows[at, place[more, others]] += rate
                flows[at, at] -= rate
    flows[:, 0] = 1.0
    chance = np.linalg.solve(flows.T, np.eye(len(place))[0])
    return float(sum(chance[at] * (jobs - j) for (j, _), at in place.items()))


@settings(max_examples=examples(25))
@given(
    st.integers(1, 3),
    st.floats(0.1, 3.0),
    st.floats(0.01, 0.6),
    st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=4).map(lambda logs: np.exp(logs).tolist()),
)
def test_bounds_hold_beside_open_streams_for_rates_of_any_growth(
    jobs: int, demand: float, part: float, speeds: list[float]
) -> None:
    load = part * speeds[-1]
    mixed = network_arrays(
        [[demand], [1.0]],
        population=[jobs, 0],
        arrivals=[0, load],
        closed=[1, 0],
        think=1.0,
        rates=[speeds],
    )
    flow = throughput_beside_a_stream(jobs, demand, load, speeds)
    low, high = asymptotic_bounds(mixed)
    assert low[0, 0] <= flow <= high[0, 0] * (1 + 1e-6)
    assert exact(mixed).throughput[0, 0] == pytest.approx(flow, rel=1e-6)


@pytest.mark.parametrize("discipline", ["priority", "priority-preemptive", "fcfs"])
@pytest.mark.parametrize("speeds", [[0.5, 4.0], [4.0, 0.5], [1.0, 1.5, 6.0]])
def test_bounds_hold_without_product_form_for_rates_of_any_growth(
    discipline: str, speeds: list[float]
) -> None:
    """With priorities one customer has the whole speed that many give a station."""
    both = network_arrays(
        [[1.0], [0.7]],
        population=[1, 3],
        think=[1.0, 0.01],
        discipline=discipline,
        rates=[speeds],
        priority=[0, 1] if discipline != "fcfs" else 0,
    )
    low, high = asymptotic_bounds(both)
    flow = solve_markov_chain(both).throughput
    assert (low <= flow).all()
    assert (flow <= high).all()


def test_the_saturation_population_is_where_the_upper_bounds_cross() -> None:
    one = network_arrays([0.6, 0.4], population=4, think=1.0)
    assert saturation_population(one)[0, 0] == pytest.approx(2 / 0.6)
    assert saturation_population(
        network_arrays([0.6, 0.4], population=4, think=1.0, servers=[3, 1])
    )[0, 0] == pytest.approx(5)
    assert (
        saturation_population(network_arrays([0.6], population=4, discipline="is"))[0, 0] == np.inf
    )
    there = np.array([0.6 + 1e-20j, 0.4])
    slope = saturation_population(network_arrays(there, population=4, think=1.0)).imag / 1e-20
    assert slope[0, 0] == pytest.approx(-1.4 / 0.36)


@pytest.mark.parametrize("bounds", SHARP)
def test_sharper_bounds_are_for_one_class_and_single_servers(bounds: object) -> None:
    assert callable(bounds)
    with pytest.raises(
        ModelError, match="bounds are for one closed class; asymptotic bounds take any"
    ):
        bounds(network_arrays([[0.5], [0.4]], population=2))
    with pytest.raises(
        ModelError, match="bounds are for one closed class; asymptotic bounds take any"
    ):
        bounds(network_arrays([0.5], arrivals=1))
    with pytest.raises(
        ModelError, match=r"station 1 is not a single server of one speed, which .* bounds need; "
    ):
        bounds(network_arrays([0.5], population=2, servers=2))


@pytest.mark.parametrize("bounds", SHARP)
def test_delays_are_think_time(bounds: object) -> None:
    assert callable(bounds)
    one = bounds(network_arrays([0.6, 0.4, 1.0], population=4, discipline=["ps", "ps", "is"]))
    other = bounds(network_arrays([0.6, 0.4], population=4, think=1.0))
    for low, high in zip(one, other, strict=True):
        np.testing.assert_allclose(low, high)
    alone = bounds(network_arrays([2.0], population=4, discipline="is"))
    assert [each.tolist() for each in alone] == [[[2.0]], [[2.0]]]


@pytest.mark.parametrize("bounds", SHARP)
def test_sharp_bounds_refuse_stations_without_product_form(bounds: object) -> None:
    """With two such stations of 1 s and scv 9 the throughput of 3 customers is 0.63 /s, below the
    0.75 /s of the balanced job bound.
    """
    assert callable(bounds)
    wild = network_arrays([1.0, 1.0], population=3, discipline="fcfs", scv=9)
    words = (
        "station 1 is first come first served and its scv is not 1, so there is no product "
        "form, which .* bounds need; asymptotic bounds take any"
    )
    with pytest.raises(ModelError, match=words):
        bounds(wild)
