"""Visits from routing, and classes joined to chains and given back."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.errors import ModelError
from slipstick.queueing.chains import chains, visits_from_routing
from slipstick.queueing.checks import checked
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network

NAMES = ["cpu", "disk"], ["a", "b"]


def routing(*steps: tuple[int, int, int, int, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    matrix = np.zeros((2, 2, 2, 2))
    for *place, probability in steps:
        matrix[tuple(place)] = probability
    return matrix


def test_visits_solve_the_traffic_equations() -> None:
    random = np.random.default_rng(2)
    matrix = random.random((5, 2, 2, 2, 2))
    matrix /= matrix.sum(axis=(3, 4), keepdims=True)
    visits = visits_from_routing(matrix, [(1, 0)], *NAMES)
    np.testing.assert_allclose(visits[:, 1, 0], 1)
    np.testing.assert_allclose(np.einsum("prk,prksl->psl", visits, matrix), visits, rtol=1e-12)


def test_an_open_chain_leaves_where_probability_is_missing() -> None:
    """Bolch et al. 1998, Example 7.7, p. 304, its first class: 1.667 visits with an arrival rate of 2."""
    matrix = np.zeros((1, 3, 1, 3))
    matrix[0, :, 0] = [[0, 0.4, 0.3], [0.6, 0, 0.4], [0.5, 0.5, 0]]
    visits = visits_from_routing(matrix, [(0, 0)], ["1", "2", "3"], ["a"], closed=[False])
    np.testing.assert_allclose(visits[0, 0], [3.333, 2.292, 1.917], atol=6e-4)


def test_the_complex_step_passes_through_routing() -> None:
    def visit(p: complex) -> complex:
        matrix = np.zeros((1, 2, 1, 2), dtype=complex)
        matrix[0, 0, 0] = 1 - p, p
        matrix[0, 1, 0] = 1, 0
        return complex(visits_from_routing(matrix, [(0, 0)], ["cpu", "disk"], ["a"])[0, 0, 1])

    assert visit(0.3) == 0.3
    assert visit(0.3 + 1e-20j).imag == pytest.approx(1e-20)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (routing((0, 0, 0, 1, 1.5)), "the probability from a at cpu to a at disk is 1.5; give one from 0 to 1"),
        (routing((0, 0, 0, 1, 0.5)), "the probabilities from a at cpu add up to 0.5, not to 1"),
        (
            routing((0, 0, 0, 1, 1), (0, 1, 1, 1, 1), (1, 1, 0, 1, 1)),
            "the routing lets customers leave a at cpu and never come back",
        ),
    ],
)
def test_routing_that_leads_nowhere_is_named(matrix: object, text: str) -> None:
    with pytest.raises(ModelError) as refused:
        visits_from_routing(matrix, [(0, 0)], *NAMES)  # type: ignore[arg-type]
    assert str(refused.value) == text


def test_an_open_chain_may_lose_but_not_gain() -> None:
    matrix = routing((0, 0, 0, 1, 0.7), (0, 0, 0, 0, 0.7))
    with pytest.raises(ModelError, match=r"the probabilities from a at cpu add up to 1\.4, not to at most 1"):
        visits_from_routing(matrix, [(0, 0)], *NAMES, closed=[False])


def test_classes_that_are_chains_of_their_own_stay_as_they_are() -> None:
    given = network([[0.6, 0.4], [0.3, 0.5]], population=[3, 2], think=[1.0, 2.0])
    joined = chains(given, [0, 1], [0, 1], ["one", "two"])
    whole, parts = exact(joined.network), joined.by_class(exact(joined.network))
    for name in ("throughput", "residence", "queue", "utilization"):
        np.testing.assert_allclose(getattr(parts, name), getattr(exact(given), name))
    checked(joined.network, whole)


def test_a_chain_is_the_sum_of_its_classes() -> None:
    """Two classes of one chain, alike in all but name, are one class with twice the visits."""
    split = network(
        [[0.5, 0.2], [0.5, 0.2]], [[1.0, 2.0], [1.0, 1.0]], population=[4, 0], think=[3.0, 0.0], servers=[2, 1]
    )
    joined = chains(split, [0, 0], [0], ["jobs"])
    one = exact(network([0.5, 0.2], [2.0, 3.0], population=4, think=3.0, servers=[2, 1]))
    parts = joined.by_class(exact(joined.network))
    np.testing.assert_allclose(joined.network.scv, 1)
    np.testing.assert_allclose(parts.queue.sum(axis=1), one.queue[:, 0])
    np.testing.assert_allclose(parts.throughput, one.throughput * [[1.0, 1.0]])
    np.testing.assert_allclose(parts.residence.sum(axis=1), one.residence[:, 0])
    assert parts.queue[0, 0, 1] == pytest.approx(2 * parts.queue[0, 1, 1])


def test_service_times_that_differ_within_a_chain_have_a_mixed_scv() -> None:
    """Half 1 s, half 3 s, both exponential: mean 2, second moment (2 + 18) / 2 = 10, scv 10/4 - 1."""
    split = network([[1.0], [3.0]], population=[4, 0])
    assert chains(split, [0, 0], [0], ["jobs"]).network.scv[0, 0, 0] == pytest.approx(1.5)
