"""Solvers of queueing networks by name, which of them is best for a network, and what stops a point beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError
from slipstick.method.network_arrays import Arrays
from slipstick.method.network_values import Found
from slipstick.queueing.network import Network, Solution

__all__ = ["BEST", "SOLVERS", "Outcome", "Piece", "outcome"]

BEST = "best"

Array = NDArray[Any]
Solver = Callable[[Network], Solution]

MOST_LISTED = 100
"""Up to so many customers the probabilities of every number present are worked out."""


def _exact_mva(network: Network) -> Solution:
    from slipstick.queueing.exact import exact

    few = network.points == 1 and int(network.population.sum()) <= MOST_LISTED
    return exact(network, marginals=few)


def _convolution(network: Network) -> Solution:
    from slipstick.queueing.convolution import convolution

    return convolution(network)


SOLVERS: dict[str, Solver] = {"exact-mva": _exact_mva, "convolution": _convolution}
"""Who takes arrays to a solution, by the name of the method."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Points that one solver answered together."""

    points: NDArray[np.intp]
    solver: str
    solution: Solution


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of all points.

    Parameters
    ----------
    found : the solutions, NaN where there is none
    pieces : who solved which points
    wrong : why a point has no answer, by its number
    """

    found: Found
    pieces: tuple[Piece, ...]
    wrong: dict[int, str]

    def only(self, point: int) -> Outcome:
        """Cut out one point."""
        here = np.array([0], dtype=np.intp)
        pieces = tuple(replace(each, points=here) for each in self.pieces if point in each.points)
        return Outcome(self.found.only(point), pieces, {0: self.wrong[point]} if point in self.wrong else {})


def outcome(arrays: Arrays, solver: str) -> Outcome:
    """Solve all points that can be solved, together where possible.

    Parameters
    ----------
    arrays : the network at aligned points
    solver : one of `SOLVERS`, or `BEST`
    """
    wrong = {**_saturated(arrays), **arrays.wrong}
    open_points = np.array([each for each in range(arrays.network.points) if each not in wrong], dtype=np.intp)
    pieces = tuple(_pieces(arrays, open_points, solver, wrong)) if len(open_points) else ()
    return Outcome(_joined(arrays.network, pieces), pieces, dict(sorted(wrong.items())))


def _pieces(arrays: Arrays, points: NDArray[np.intp], solver: str, wrong: dict[int, str]) -> Iterator[Piece]:
    """Solve points together; where that fails, in halves, until it is known which of them fail and why."""
    network = arrays.network if len(points) == arrays.network.points else arrays.network.select(points)
    try:
        chosen = _best(network) if solver == BEST else solver
        solution = SOLVERS[chosen](network)
    except (NoAnswerError, ModelError) as error:
        if len(points) == 1:
            wrong[int(points[0])] = str(error)
            return
        for half in np.array_split(points, 2):
            yield from _pieces(arrays, half, solver, wrong)
    else:
        yield Piece(points, chosen, solution)


def _saturated(arrays: Arrays) -> dict[int, str]:
    """Name the first station that streams ask more of than it can give."""
    network = arrays.network
    load = (network.arrivals[:, :, None] * network.demand).real.sum(axis=1)
    wrong: dict[int, str] = {}
    for k, (name, kind) in enumerate(zip(network.stations, network.discipline, strict=True)):
        rates = network.rates[k]
        most = np.array([float(network.servers[k])]) if rates is None else rates.real[:, -1]
        if kind == "is" or arrays.capacity[k]:
            continue
        for point in np.flatnonzero((load[:, k] >= most) & (load[:, k] > 0)):
            limit = float(np.broadcast_to(most, (network.points,))[point])
            wrong.setdefault(
                int(point),
                f"station {name} is saturated: arrivals ask it for {load[point, k]:.6g} s of service a second, and it "
                f"gives less than {limit:.6g}; lower the arrivals, shorten the demand, or add servers",
            )
    return wrong


def _best(network: Network) -> str:
    return "exact-mva"


def _joined(network: Network, pieces: tuple[Piece, ...]) -> Found:
    """Put the solutions of all pieces side by side."""
    if len(pieces) == 1 and len(pieces[0].points) == network.points:
        whole = pieces[0].solution
        return Found(whole.throughput, whole.residence, whole.queue, whole.utilization, whole.probability)
    points, kinds, count = network.service.shape
    made: dict[str, Array] = {
        name: np.full((points, kinds) if name == "throughput" else (points, kinds, count), np.nan)
        for name in ("throughput", "residence", "queue", "utilization")
    }
    for each in pieces:
        for name, array in made.items():
            array[each.points] = getattr(each.solution, name)
    return Found(**made, probability=tuple(_table(k, points, pieces) for k in range(count)))


def _table(k: int, points: int, pieces: tuple[Piece, ...]) -> Array | None:
    """Join the distributions at one station; what a piece does not have is NaN, beyond its end it is 0."""
    tables = [each.solution.probability[k] for each in pieces]
    length = max((table.shape[1] for table in tables if table is not None), default=0)
    if not length:
        return None
    joined = np.full((points, length), np.nan)
    for each, table in zip(pieces, tables, strict=True):
        if table is not None:
            joined[each.points] = 0.0
            joined[each.points, : table.shape[1]] = table
    return joined
