"""Blocking after service, against published lines and birth and death."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slipstick.errors import NoAnswerError
from slipstick.queueing.exact import exact
from slipstick.queueing.network import MarkovSolution, network_arrays
from slipstick_chains.networks.build import Routing
from slipstick_chains.networks.solve import solve_markov_chain


def after_service(
    service: Any, onward: Any, capacity: Any, *, population: int = 0, arrivals: Any = 0.0
) -> MarkovSolution:
    count, rates = len(service), np.broadcast_to(np.asarray(arrivals), len(service))
    rule = np.reshape(np.asarray(onward) * 1.0, (1, count, 1, count))
    entry = np.eye(count)[:1] if population else (rates / rates.sum())[None]
    given = network_arrays(
        np.asarray(service),
        population=population or None,
        arrivals=None if population else rates.sum(),
        discipline="fcfs",
        capacity=capacity,
        blocking="after-service",
    )
    return solve_markov_chain(given, Routing(entry, rule))


def ring(count: int) -> Any:
    return np.roll(np.eye(count), 1, axis=1)


@pytest.mark.parametrize(("stations", "most"), [(2, 2 / 3), (3, 22 / 39)])
def test_lines_without_room_between_stations_are_as_fast_as_hunt_found(
    stations: int, most: float
) -> None:
    # Hunt, Operations Research 4(6), 1956: the largest utilization of balanced lines without
    # buffers.
    found = after_service(
        np.ones(stations), ring(stations), [None] + [1] * (stations - 1), population=9
    )
    assert found.ended_services[0, 0] == pytest.approx(np.full(stations, most), rel=1e-10)
    assert found.queue.sum() == pytest.approx(9.0)


@pytest.mark.parametrize("room", [1, 2, 4])
def test_a_ring_of_two_is_birth_and_death_with_one_place_more(room: int) -> None:
    # The one who is held up at the first station has been served there already.
    a, b, people = 1.0, 1.7, 6
    weights = (b / a) ** np.arange(room + 2.0)
    found = after_service([a, b], ring(2), [None, room], population=people)
    assert found.utilization[0, 0, 1] == pytest.approx(1 - weights[0] / weights.sum(), rel=1e-12)
    # The first station is never empty, so it is blocked where it is not busy.
    blocked = 1 - found.utilization[0, 0, 0]
    assert blocked == pytest.approx(weights[-1] / weights.sum(), rel=1e-9)


def test_room_for_all_is_no_blocking() -> None:
    onward = [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    found = after_service([1.0, 2.0, 0.5], onward, [4, 4, 4], population=4)
    free = exact(network_arrays([1.0, 2.0, 0.5], [1.0, 0.5, 0.5], population=4))
    assert found.queue == pytest.approx(free.queue, rel=1e-10)
    assert found.utilization == pytest.approx(free.utilization, rel=1e-10)


def test_arrivals_are_lost_at_the_door_and_flow_is_conserved() -> None:
    onward = [[0.0, 0.6, 0.3], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    found = after_service([1.0, 0.7, 0.9], onward, [2, 1, 1], arrivals=[0.8, 0.1, 0.0])
    ended, loss = found.ended_services[0, 0], found.loss_probability[0, 0]
    came = np.array([0.8, 0.1, 0.0]) - ended * loss / (1 - loss)
    assert came + ended @ np.array(onward) == pytest.approx(ended, rel=1e-10)
    assert found.loss_probability[0, 0, 2] == 0


def test_the_throughput_of_a_line_has_its_derivative() -> None:
    def of(mean: complex) -> complex:
        rate: complex = (
            after_service([1.0, mean], ring(2), [None, 2], population=5)
            .ended_services[0, 0, 0]
            .item()
        )
        return rate

    assert of(1.7 + 1e-30j).imag / 1e-30 == pytest.approx(
        (of(1.7 + 1e-5) - of(1.7 - 1e-5)).real / 2e-5, rel=1e-7
    )


def test_stations_that_hold_up_each_other_are_named() -> None:
    with pytest.raises(NoAnswerError) as caught:
        after_service([1.0, 1.0], ring(2), [2, 2], population=4)
    assert (
        str(caught.value)
        == "stations can block each other in a deadlock: station 1 waits for station 2, which waits"
        " for it; on each circle of stations, give at least one a capacity above the population"
    )


def test_a_printed_example_of_two_stations_that_hold_up_each_other() -> None:
    """Bolch et al. 1998, example 10.19, p. 551: 10 customers, services of 2 and 0.9, room for 7
    and 5; cut off, not rounded.
    """
    found = after_service([2.0, 0.9], [[0.0, 1.0], [1.0, 0.0]], [7, 5], population=10)
    np.testing.assert_allclose(found.queue[0, 0], [6.73, 3.27], atol=0.011)
    # Five states, each 2 / 0.9 times as likely as the one before; the first and the last are held
    # up.
    chances = (2 / 0.9) ** np.arange(5)
    np.testing.assert_allclose(found.queue[0, 0, 0], chances @ [5, 5, 6, 7, 7] / chances.sum())
