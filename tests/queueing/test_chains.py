"""Visits from routing against counts worked by hand, and classes joined to chains."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick.queueing.routes import OUTSIDE, Routes, joined_chains, traffic_equations
from tests.queueing.yardstick import routes

CPU, DISK, LEAVE = (0, 0), (0, 1), (OUTSIDE, OUTSIDE)
BACK = [(CPU, DISK), (CPU, CPU), (DISK, CPU)]
AWAY = [(CPU, LEAVE), (CPU, DISK), (DISK, CPU)]


def there(ends: list[tuple[tuple[int, int], tuple[int, int]]], *probability: object) -> Routes:
    return routes([one for one, _ in ends], [other for _, other in ends], probability)


def test_a_cycle_is_one_visit_to_the_reference() -> None:
    visits = traffic_equations(
        there(BACK, [0.75, 0.25, 1.0], [0.5, 0.5, 1.0]), [0], CPU, True, (1, 2)
    )
    np.testing.assert_allclose(visits[:, 0], [[1.0, 0.75], [1.0, 0.5]])


def test_a_cycle_is_one_visit_of_the_class_in_the_reference() -> None:
    """Two visits as a to the processor are followed by one as b, and there are none of other
    classes.
    """
    ends = [((0, 0), (0, 0)), ((0, 0), (2, 0)), ((2, 0), (0, 0))]
    routes = there(ends, 0.5, 0.5, 1.0)
    for reference, cycle in ((CPU, [1, 0, 0.5]), ((2, 0), [2, 0, 1])):
        visits = traffic_equations(routes, [0, 2], reference, True, (3, 1))
        np.testing.assert_allclose(visits[0, :, 0], cycle)


def test_another_reference_station_divides_all_visits_by_its_own() -> None:
    ways = there([(CPU, DISK), (CPU, (0, 2)), (DISK, CPU), ((0, 2), DISK)], 0.3, 0.7, 1.0, 1.0)
    from_first = traffic_equations(ways, [0], CPU, True, (1, 3))[0, 0]
    for station in (1, 2):
        visits = traffic_equations(ways, [0], (0, station), True, (1, 3))[0, 0]
        np.testing.assert_allclose(visits, from_first / from_first[station])


def test_visits_solve_the_traffic_equations() -> None:
    random = np.random.default_rng(2)
    matrix = random.random((5, 4, 4))
    matrix /= matrix.sum(axis=2, keepdims=True)
    places = [(r, k) for r in range(2) for k in range(2)]
    ends = [(one, other) for one in places for other in places]
    visits = traffic_equations(there(ends, *matrix.reshape(5, -1)), [0, 1], (1, 0), True, (2, 2))
    np.testing.assert_allclose(visits[:, 1, 0], 1)
    flat = visits.reshape(5, 4)
    np.testing.assert_allclose(np.einsum("pi,pij->pj", flat, matrix), flat, rtol=1e-12)


def test_a_stream_comes_in_at_the_reference() -> None:
    visits = traffic_equations(there(AWAY, 0.2, 0.8, 1.0), [0], CPU, False, (1, 2))
    np.testing.assert_allclose(visits[0, 0], [5.0, 4.0])


def test_an_open_chain_is_that_of_a_textbook() -> None:
    """Bolch et al. 1998, Example 7.7, p. 304, its first class: 1.667 visits with an arrival rate
    of 2.
    """
    matrix = np.array([[0, 0.4, 0.3], [0.6, 0, 0.4], [0.5, 0.5, 0]])
    ends = [((0, i), (0, j)) for i in range(3) for j in range(3)]
    visits = traffic_equations(there(ends, *matrix.ravel()), [0], (0, 0), False, (1, 3))
    np.testing.assert_allclose(visits[0, 0], [3.333, 2.292, 1.917], atol=6e-4)


def test_where_nobody_comes_back_there_are_no_visits_and_elsewhere_there_are() -> None:
    visits = traffic_equations(
        there(AWAY, [0.0, 1.0, 1.0], [0.5, 0.5, 1.0]), [0], CPU, False, (1, 2)
    )
    assert np.isnan(visits[0, 0, 0])
    assert visits[1, 0, 0] == pytest.approx(2.0)


def test_a_small_imaginary_step_gives_the_derivative_by_a_probability() -> None:
    step = 1e-20
    visits = traffic_equations(there(AWAY, 0.2, 0.8 + 1j * step, 1.0), [0], CPU, False, (1, 2))
    assert visits[0, 0, 0].imag / step == pytest.approx(25.0)  # of 1 / (1 - p)


def test_points_are_taken_by_mask() -> None:
    assert there(BACK, [0.75, 0.25, 1.0], [0.5, 0.5, 1.0]).select(
        [False, True]
    ).probability.tolist() == [[0.5, 0.5, 1]]


def test_classes_that_are_chains_of_their_own_stay_as_they_are() -> None:
    random = np.random.default_rng(3)
    given = random.random((4, 2, 3)), random.random((4, 2, 3)), 1 + random.random((4, 2, 3))
    for one, other in zip(given, joined_chains(*given, np.array([0, 1])), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-14)


def test_a_chain_of_classes_alike_is_one_class_with_their_visits() -> None:
    service, visits = np.array([[[0.5, 0.2], [0.5, 0.2]]]), np.array([[[1.0, 2.0], [1.0, 1.0]]])
    whole = joined_chains(service, visits, np.ones(service.shape), np.array([0, 0]))
    np.testing.assert_allclose(whole[0], [[[0.5, 0.2]]])
    np.testing.assert_allclose(whole[1], [[[2.0, 3.0]]])
    assert (whole[2] == 1).all()
    chain = network_arrays(*whole[:2], population=4, think=3.0, discipline="fcfs", servers=[2, 1])
    one = network_arrays(
        [0.5, 0.2], [2.0, 3.0], population=4, think=3.0, discipline="fcfs", servers=[2, 1]
    )
    np.testing.assert_allclose(exact(chain).queue, exact(one).queue)


def test_service_times_that_differ_within_a_chain_have_a_mixed_scv() -> None:
    """Half 1 s, half 3 s, both exponential: mean 2, second moment (2 + 18) / 2 = 10, scv 10/4 -
    1.
    """
    half, one = np.full((1, 2, 1), 0.5), np.ones((1, 2, 1))
    assert joined_chains(np.array([[[1.0], [3.0]]]), half, one, np.array([0, 0]))[
        2
    ].item() == pytest.approx(1.5)
