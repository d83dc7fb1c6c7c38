"""Class switching: visits from routing, classes joined to chains, and a chain's answers given back to its classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from slipstick.errors import ModelError
from slipstick.queueing.network import Array, Network, Solution

__all__ = ["Chains", "chains", "visits_from_routing"]


def visits_from_routing(
    routing: ArrayLike,
    reference: Sequence[tuple[int, int]],
    stations: Sequence[str],
    classes: Sequence[str],
    closed: Sequence[bool] | None = None,
) -> Array:
    r"""Give the visits of each class to each station in one cycle of its chain.

        v = v P   with   v(reference of each chain) = 1        closed
        v = v P + 1 at the reference, where customers come in   open

    Parameters
    ----------
    routing : probability that a customer of class r leaving station k goes on as class s at station l,
        (R, K, R, K) or (P, R, K, R, K); the rows of states that customers reach add up to 1, and what is
        missing leaves an open network
    reference : for each chain the class and station where its cycles are counted, or where customers come in
    stations, classes : names, for messages
    closed : for each chain; all by default

    Returns
    -------
    visits, (P, R, K)

    Raises
    ------
    ModelError : probabilities out of range or not adding up to 1, or customers that never come back

    >>> there = np.zeros((1, 2, 1, 2))
    >>> there[0, 0, 0] = 0.2, 0.8
    >>> there[0, 1, 0] = 1.0, 0.0
    >>> visits_from_routing(there, [(0, 0)], ["cpu", "disk"], ["job"])
    array([[[1. , 0.8]]])
    """
    matrix = np.asarray(routing)
    matrix = matrix[None] if matrix.ndim == 4 else matrix
    points, kinds, count = matrix.shape[:3]
    matrix = matrix.reshape(points, kinds * count, kinds * count)
    names = [f"{kind} at {station}" for kind in classes for station in stations]
    _check_probabilities(matrix, names)
    visits = np.zeros((points, kinds * count), dtype=np.result_type(matrix, 1.0))
    linked = (matrix.real != 0).any(axis=0)
    for chain, (kind, station) in enumerate(reference):
        start = kind * count + station
        states = _reached(linked, start)
        inner = matrix[:, states][:, :, states]
        once = np.zeros((points, len(states)))
        once[:, states.index(start)] = 1
        if closed is None or closed[chain]:
            _check_rows(inner, [names[each] for each in states], np.equal)
            # Back at the reference the cycle is over.
            inner = inner * (1 - once[:, None])
        else:
            _check_rows(inner, [names[each] for each in states], np.less_equal)
        visits[:, states] = _solve(np.eye(len(states)) - inner.transpose(0, 2, 1), once, names[start])
    return visits.reshape(points, kinds, count)


def _check_probabilities(matrix: Array, names: list[str]) -> None:
    wrong = ~np.isfinite(matrix) | (matrix.real < 0) | (matrix.real > 1 + 1e-9)
    if wrong.any():
        point, one, other = np.argwhere(wrong)[0]
        raise ModelError(
            f"the probability from {names[one]} to {names[other]} is {matrix[point, one, other].real:g}; "
            "give one from 0 to 1"
        )


def _check_rows(inner: Array, names: list[str], wanted: np.ufunc) -> None:
    total = np.round(inner.sum(axis=2).real, 9)
    wrong = ~wanted(total, 1)
    if wrong.any():
        point, row = np.argwhere(wrong)[0]
        most = "1" if wanted is np.equal else "at most 1"
        raise ModelError(f"the probabilities from {names[row]} add up to {total[point, row]:g}, not to {most}")


def _reached(linked: Array, start: int) -> list[int]:
    found, open_ends = {start}, [start]
    while open_ends:
        for state in np.flatnonzero(linked[open_ends.pop()]):
            if int(state) not in found:
                found.add(int(state))
                open_ends.append(int(state))
    return sorted(found)


def _solve(back: Array, first: Array, start: str) -> Array:
    try:
        visits = np.linalg.solve(back, first[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        visits = np.full(first.shape, np.nan)
    if not (np.isfinite(visits).all() and (visits.real > -1e-9).all()):
        raise ModelError(f"the routing lets customers leave {start} and never come back")
    return visits


@dataclass(frozen=True, eq=False)
class Chains:
    """A network of chains, and how its answers split among the classes.

    Parameters
    ----------
    network : with one class a chain
    of_classes : the network of classes it was made from
    chain_of : the chain of each class, (R,)
    counted : visits of each class to its chain's reference station in one cycle of the chain, (P, R)
    """

    network: Network
    of_classes: Network
    chain_of: Array
    counted: Array

    def by_class(self, solution: Solution) -> Solution:
        """Give each class its part: of queue and utilization by demand, of throughput by visits to the reference.

        A residence time is per cycle of the chain, so those of a chain's classes add up to the chain's.
        """
        demand = self.of_classes.demand
        whole = self.network.demand[:, self.chain_of]
        part = np.divide(demand, whole, out=np.zeros_like(whole * demand), where=whole != 0)
        return replace(
            solution,
            throughput=solution.throughput[:, self.chain_of] * self.counted,
            residence=solution.residence[:, self.chain_of] * part,
            queue=solution.queue[:, self.chain_of] * part,
            utilization=solution.utilization[:, self.chain_of] * part,
        )


def chains(network: Network, chain_of: Sequence[int], reference: Sequence[int], names: Sequence[str]) -> Chains:
    r"""Join classes that customers switch between to one class a chain.

    With v visits in one cycle of the chain: V = sum of v, S = sum of v s / V, and the second moments of the
    service times are mixed in the same way, for each station.

    Parameters
    ----------
    network : of classes, with visits per cycle of the chain; population, arrivals and think time of a chain are
        those of its first class, the others' are 0
    chain_of : the chain of each class, (R,)
    reference : the station where each chain's cycles are counted
    names : of the chains

    Source: Bruell and Balbo, Computational Algorithms for Closed Queueing Networks, 1980, ch. 2.

    >>> from slipstick.queueing.exact import exact
    >>> from slipstick.queueing.network import network
    >>> two = network([[1.0, 0.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]], population=[4, 0])
    >>> joined = chains(two, chain_of=[0, 0], reference=[0], names=["jobs"])
    >>> joined.by_class(exact(joined.network)).queue.round(4)
    array([[[0.4793, 0.    ],
            [0.    , 3.5207]]])
    """
    index = np.asarray(chain_of)
    member = (index == np.arange(len(names))[:, None]).astype(float)
    join = "cr,prk->pck"
    visits = np.einsum(join, member, network.visits)
    demand = np.einsum(join, member, network.demand)
    square = np.einsum(join, member, network.visits * network.service**2 * (1 + network.scv))
    service = np.divide(demand, visits, out=np.zeros_like(demand), where=visits != 0)
    mean_square = visits * service**2
    scv = np.divide(square, mean_square, out=np.full_like(square, 2.0), where=mean_square != 0) - 1
    first = [int(np.flatnonzero(index == chain)[0]) for chain in range(len(names))]
    joined = replace(
        network,
        service=service,
        visits=visits,
        scv=np.where(np.abs(scv.real - 1) < 1e-12, scv - scv.real + 1, scv),
        think=network.think @ member.T,
        population=(network.population @ member.T).astype(np.int64),
        arrivals=network.arrivals @ member.T,
        closed=network.closed[first],
        priority=network.priority[first],
        classes=tuple(names),
    )
    stations = np.asarray(reference)[index]
    counted = network.visits[:, np.arange(len(index)), stations]
    return Chains(joined, network, index, counted)
