"""Solvers of queueing networks by name, which of them is best for a network, and what stops a point beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.method.networks.measures import CUBES, ClassMeasures, class_measures
from slipstick.queueing.checks import EXACT as ROUNDING
from slipstick.queueing.checks import checked
from slipstick.queueing.network import NetworkArrays, NetworkSolution
from slipstick.vocabulary import BEST, CONVOLUTION, DISCIPLINES, EXACT, LINEARIZER, MARKOV_CHAIN, SCHWEITZER

Array = NDArray[Any]
Solver = Callable[[NetworkPoints], NetworkSolution]

MOST_LISTED = 100
"""Up to so many customers the probabilities of every number present are worked out."""

MOST_NUMBERS = 1_000_000
"""Probabilities up to which a sweep has them as well."""

MOST_STATES = 1_000_000
"""Vectors of populations up to which exact answers are the default."""

MOST_CHAINED = 20_000
"""States of a Markov chain up to which it is the default where product form fails."""

SETTLED = 1e-6
"""How far, relatively, the stopping rule of an approximation may leave it from a law."""


def _exact(arrays: NetworkPoints) -> NetworkSolution:
    from slipstick.queueing.exact import exact

    network = arrays.network
    most = int(network.population.sum(axis=1).max(initial=0))
    numbers = network.points * len(network.stations) * (most + 1)
    return exact(network, marginals=most <= MOST_LISTED and numbers <= MOST_NUMBERS and not _perturbed(network))


def _perturbed(network: NetworkArrays) -> bool:
    """Say whether derivatives are asked for, which are of times and rates alone."""
    return bool(np.iscomplexobj(network.service))


def _convolution(arrays: NetworkPoints) -> NetworkSolution:
    from slipstick.queueing.exact import convolution

    return convolution(arrays.network)


def _schweitzer(arrays: NetworkPoints) -> NetworkSolution:
    from slipstick.queueing.approximate import schweitzer

    return schweitzer(arrays.network)


def _linearizer(arrays: NetworkPoints) -> NetworkSolution:
    from slipstick.queueing.approximate import linearizer

    return linearizer(arrays.network)


def _markov_chain(arrays: NetworkPoints, limit: int | None = None) -> NetworkSolution:
    from slipstick.method.networks.markov import by_class

    return by_class(arrays, limit)


SOLVERS: dict[str, Solver] = {
    EXACT: _exact,
    CONVOLUTION: _convolution,
    SCHWEITZER: _schweitzer,
    LINEARIZER: _linearizer,
    MARKOV_CHAIN: _markov_chain,
}
"""Who takes arrays to a solution, by the name of the method."""

TAKES_CAPACITY = (MARKOV_CHAIN,)
"""Who knows what happens at a station that is full; they hold what they find against the laws themselves."""


@dataclass(frozen=True, slots=True)
class SolvedTogether:
    """Points that one solver answered together."""

    points: NDArray[np.intp]
    solver: str
    solution: NetworkSolution


@dataclass(frozen=True, slots=True)
class SolvedPoints:
    """What came of all points.

    Parameters
    ----------
    found : the solutions, NaN where there is none
    pieces : the solver of each part of the points
    wrong : why a point has no answer, by its number
    """

    found: ClassMeasures
    pieces: tuple[SolvedTogether, ...]
    wrong: dict[int, str]

    def only(self, point: int) -> SolvedPoints:
        """Cut out one point."""
        here = np.array([0], dtype=np.intp)
        pieces = tuple(replace(each, points=here) for each in self.pieces if point in each.points)
        return SolvedPoints(self.found.only(point), pieces, {0: self.wrong[point]} if point in self.wrong else {})


def solved_points(arrays: NetworkPoints, solver: str) -> SolvedPoints:
    """Solve all points that can be solved, together where possible.

    Parameters
    ----------
    arrays : the network at aligned points
    solver : one of `SOLVERS`, or `BEST`
    """
    wrong = unsolvable(arrays)
    open_points = np.array([each for each in range(arrays.network.points) if each not in wrong], dtype=np.intp)
    pieces = tuple(_pieces(arrays, open_points, solver, wrong)) if len(open_points) else ()
    return SolvedPoints(_joined(arrays, pieces), pieces, dict(sorted(wrong.items())))


def unsolvable(arrays: NetworkPoints) -> dict[int, str]:
    """Say which points no solver can solve, and why: an undefined number, or a saturated station."""
    return {**_saturated(arrays), **arrays.wrong}


def _pieces(
    arrays: NetworkPoints, points: NDArray[np.intp], solver: str, wrong: dict[int, str]
) -> Iterator[SolvedTogether]:
    """Solve points together; where that fails, in halves, until it is known which of them fail and why."""
    here = arrays if len(points) == arrays.network.points else arrays.select(points)
    try:
        with np.errstate(all="ignore"):
            chosen, solution = _best(here) if solver == BEST else (solver, _solved(here, solver))
    except (NoAnswerError, ModelError) as error:
        if len(points) == 1:
            wrong[int(points[0])] = str(error)
            return
        for half in np.array_split(points, 2):
            yield from _pieces(arrays, half, solver, wrong)
    else:
        yield SolvedTogether(points, chosen, solution)


def _saturated(arrays: NetworkPoints) -> dict[int, str]:
    """Name the first station that streams ask more of than it can give."""
    network = arrays.network
    load = (network.arrivals[:, :, None] * network.demand).real.sum(axis=1)
    wrong: dict[int, str] = {}
    for k, (name, kind) in enumerate(zip(network.stations, network.discipline, strict=True)):
        rates = network.rates[k]
        most = np.array([float(network.servers[k])]) if rates is None else rates.real[:, -1]
        if DISCIPLINES[kind].delay or arrays.capacity[k]:
            continue
        for point in np.flatnonzero((load[:, k] >= most) & (load[:, k] > 0)):
            limit = float(np.broadcast_to(most, (network.points,))[point])
            wrong.setdefault(
                int(point),
                f"station {name} is saturated: arrivals ask it for {load[point, k]:.6g} s of service a second, and it "
                f"gives less than {limit:.6g}; lower the arrivals, shorten the demand, or add servers",
            )
    return wrong


def _solved(arrays: NetworkPoints, solver: str) -> NetworkSolution:
    """Solve, and hold the solution against the laws that every network obeys."""
    network = arrays.network
    if arrays.capacity.any() and solver not in TAKES_CAPACITY:
        full = network.stations[int(np.flatnonzero(arrays.capacity)[0])]
        raise ModelError(f"{full} has a capacity, which the method {solver} does not take; ask for markov-chain")
    solution = SOLVERS[solver](arrays)
    if solver in TAKES_CAPACITY:
        return solution
    return checked(network, solution, ROUNDING if solution.exact else SETTLED)


def preferred(arrays: NetworkPoints) -> str:
    """Name the most exact method that a network's kind and size allow; a Markov chain may still be too large."""
    network = arrays.network
    in_form = not any(network.without_product_form)
    if not in_form or arrays.capacity.any():
        return MARKOV_CHAIN
    states = (network.population + 1).prod(axis=1, dtype=float).max()
    return EXACT if states <= MOST_STATES else LINEARIZER


def _best(arrays: NetworkPoints) -> tuple[str, NetworkSolution]:
    """Solve by the preferred method, and say which it was."""
    chosen = preferred(arrays)
    if chosen != MARKOV_CHAIN:
        return chosen, _solved(arrays, chosen)
    try:
        return chosen, _markov_chain(arrays, MOST_CHAINED)
    except (NoAnswerError, ModelError):
        if arrays.capacity.any():
            raise
        return LINEARIZER, _solved(arrays, LINEARIZER)


def _joined(arrays: NetworkPoints, pieces: tuple[SolvedTogether, ...]) -> ClassMeasures:
    """Put what all pieces found side by side."""
    points, kinds, count = arrays.service.shape
    if len(pieces) == 1 and len(pieces[0].points) == points:
        return class_measures(arrays, pieces[0].solution)
    found = [class_measures(arrays.select(each.points), each.solution) for each in pieces]
    kind = np.result_type(float, *(each.throughput for each in found))
    flow = np.full((points, arrays.network.service.shape[1]), np.nan, kind)
    cubes = {name: np.full((points, kinds, count), np.nan, kind) for name in CUBES}
    loss = np.full((points, kinds, count), np.nan, kind) if any(each.loss is not None for each in found) else None
    for piece, each in zip(pieces, found, strict=True):
        flow[piece.points] = each.throughput
        for name, array in cubes.items():
            array[piece.points] = getattr(each, name)
        if loss is not None and each.loss is not None:
            loss[piece.points] = each.loss
    return ClassMeasures(flow, **cubes, loss=loss, probability=tuple(_table(k, points, pieces) for k in range(count)))


def _table(k: int, points: int, pieces: tuple[SolvedTogether, ...]) -> Array | None:
    """Join the distributions at one station; what a piece does not have is NaN, beyond its end it is 0."""
    tables = [each.solution.probability[k] for each in pieces]
    known = [table for table in tables if table is not None]
    if not known:
        return None
    joined = np.full((points, max(table.shape[1] for table in known)), np.nan, np.result_type(float, *known))
    for each, table in zip(pieces, tables, strict=True):
        if table is not None:
            joined[each.points] = 0.0
            joined[each.points, : table.shape[1]] = table
    return joined
