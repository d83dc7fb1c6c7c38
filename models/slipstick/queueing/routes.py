"""Routes of chains whose customers change class: traffic equations, and each chain joined to one
class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slipstick.late import NDArray, dataclass, np, replace
from slipstick.queueing.network import Array, have_one_value, quotient

OUTSIDE = -1
"""Number of the class and of the station outside the network."""


@dataclass(frozen=True, eq=False)
class Routes:
    """The routes of customers that may change their class.

    Parameters
    ----------
    source, target : class and station, by number; `OUTSIDE` for leaving the network, (W, 2)
    probability : (P, W)
    """

    source: NDArray[np.intp]
    target: NDArray[np.intp]
    probability: Array

    def select(self, points: Any) -> Routes:
        """Return the routes at some of the points, by slice, mask or indices."""
        return replace(self, probability=self.probability[points])

    def among(self, class_indexes: Sequence[int]) -> NDArray[np.intp]:
        """Return the numbers of the routes of some classes."""
        return np.flatnonzero(np.isin(self.source[:, 0], class_indexes))


def traffic_equations(
    routes: Routes,
    classes: Sequence[int],
    reference: tuple[int, int],
    is_closed: bool,
    shape: tuple[int, int],
) -> Array:
    r"""Solve the traffic equations of one chain.

    A place is a class at a station. With v the visits in one cycle and p the probabilities of the
    ways::

        v_j = sum_i v_i p_ij                          closed: there is one visit to the reference
        v_j = [j is the reference] + sum_i v_i p_ij   open: every customer enters at the reference

    Parameters
    ----------
    routes : the routes, also of other chains; complex probabilities carry derivatives
    classes : of the chain, by number
    reference : the class and the station where its cycles are counted, or where customers enter
    is_closed : whether the chain is
    shape : how many classes and stations there are

    Returns
    -------
    visits (P, R, K), 0 for other classes; NaN where customers cannot come back, or leave

    Source: Bolch, Greiner, de Meer, Trivedi, Queueing Networks and Markov Chains, 2nd ed., 2006,
    section 7.1.

    >>> source, target = np.array([(0, 0), (0, 0), (0, 1)]), np.array([(0, 0), (0, 1), (0, 0)])
    >>> routes = Routes(source, target, np.array([[0.2, 0.8, 1.0]]))
    >>> traffic_equations(routes, [0], (0, 0), True, (1, 2))
    array([[[1. , 0.8]]])
    """
    chosen_routes = routes.among(classes)
    source_and_target_places = [
        class_and_station[chosen_routes] @ (shape[1], 1)
        for class_and_station in (routes.source, routes.target)
    ]
    # Numbers of places are not negative, and OUTSIDE is.
    stays_inside = source_and_target_places[1] >= 0
    reference_place = reference[0] * shape[1] + reference[1]
    used_places = np.unique(
        np.concatenate(
            [
                [reference_place],
                source_and_target_places[0],
                source_and_target_places[1][stays_inside],
            ]
        )
    )
    point_count = len(routes.probability)
    place_count = len(used_places)
    balance_matrix = np.zeros(
        (point_count, place_count, place_count), dtype=routes.probability.dtype
    )
    target_places, source_places = (
        # Positions among the places in use, which are sorted.
        np.searchsorted(used_places, place[stays_inside])
        for place in reversed(source_and_target_places)
    )
    for route, target_place, source_place in zip(
        chosen_routes[stays_inside], target_places, source_places, strict=True
    ):
        balance_matrix[:, target_place, source_place] += routes.probability[:, route]
    balance_matrix = np.eye(place_count) - balance_matrix
    inflow = (used_places == reference_place).astype(float)[:, None]
    if is_closed:
        # One of the equations follows from the others; in its place stands what a cycle is.
        balance_matrix[:, int(inflow[:, 0].argmax()), :] = used_places == reference_place
    solution = np.zeros((point_count, shape[0] * shape[1]), dtype=balance_matrix.dtype)
    solution[:, used_places] = _solved_equations(balance_matrix, inflow)
    return solution.reshape(point_count, *shape)


def _solved_equations(balance: Array, inflow: Array) -> Array:
    """Return the solution of the equations at all points; NaN at a point without a solution."""
    try:
        # All points in one call; one singular matrix fails the call, and is then left out.
        solution: Array = np.linalg.solve(balance, inflow)[..., 0]
    except np.linalg.LinAlgError:
        is_regular = np.abs(np.linalg.det(balance)) > 0
        solution = np.full(balance.shape[:2], np.nan, dtype=balance.dtype)
        solution[is_regular] = np.linalg.solve(balance[is_regular], inflow)[..., 0]
    return solution


def joined_chains(
    service: Array, visits: Array, scv: Array, chain_of: Array
) -> tuple[Array, Array, Array]:
    r"""Join the classes of each chain into one class, with the visits of all of them and the
    mixture of their service times.

    With v visits in one cycle of the chain: V = sum of v, S = sum of v s / V, and the second
    moments of the service times are mixed in the same way, for each station. Classes alike in
    service time and scv stay exact.

    Parameters
    ----------
    service, visits, scv : of each class at each station, visits per cycle of the chain, (P, R, K)
    chain_of : the chain of each class, by number, (R,)

    Returns
    -------
    service, visits and scv of the chains, (P, C, K)

    Source: Bruell and Balbo, Computational Algorithms for Closed Queueing Networks, 1980, ch. 2.

    >>> half = np.array([[[1.0], [1.0]]])
    >>> [
    ...     values.ravel().tolist()
    ...     for values in joined_chains(np.array([[[1.0], [3.0]]]), half, half, np.array([0, 0]))
    ... ]
    [[2.0], [2.0], [1.5]]
    """
    joined_shape = (len(service), int(np.max(chain_of, initial=-1)) + 1, service.shape[2])
    joined_visits, joined_service, joined_scv = (
        np.zeros(joined_shape, np.result_type(service, visits, scv)) for _ in range(3)
    )
    for chain in range(joined_shape[1]):
        member_classes = np.flatnonzero(chain_of == chain)
        member_visits = visits[:, member_classes]
        member_service = service[:, member_classes]
        member_scv = scv[:, member_classes]
        joined_visits[:, chain] = member_visits.sum(axis=1)
        visit_share = quotient(member_visits, joined_visits[:, chain, None])
        joined_service[:, chain] = (visit_share * member_service).sum(axis=1)
        second_moment = (visit_share * member_service**2 * (1 + member_scv)).sum(axis=1)
        mixture_scv = quotient(second_moment, joined_service[:, chain] ** 2, 2.0) - 1
        is_same = have_one_value(member_service, member_visits.real != 0) & have_one_value(
            member_scv, member_visits.real != 0
        )
        joined_scv[:, chain] = np.where(is_same, member_scv.max(axis=1), mixture_scv)
    return joined_service, joined_visits, joined_scv
