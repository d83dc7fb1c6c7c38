"""Solvers of queueing networks by name, the best of them for a network, and the points that no
solver can solve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import NDArray, np
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.queueing.checks import EXACT as ROUNDING
from slipstick.queueing.checks import checked
from slipstick.queueing.mixed_classes import saturation_reasons
from slipstick.queueing.network import NetworkSolution
from slipstick.vocabulary import BEST, CONVOLUTION, EXACT, LINEARIZER, MARKOV_CHAIN, SCHWEITZER

MOST_LISTED = 100
"""The largest number of customers for which the probability of every number present is computed."""

MOST_NUMBERS = 1_000_000
"""Probabilities up to which a sweep has them as well."""

MOST_STATES = 1_000_001
"""Vectors of populations up to which exact answers are the default: a million customers of one
class.
"""

MOST_CHAINED, MOST_PLACES = 20_000, 400_000
"""States of a Markov chain, and states times places of a class at a station, up to which it is the
default where product form fails."""

SETTLED = 1e-6
"""How far, relatively, the stopping rule of an approximation may leave it from a law."""


def _solution_by(arrays: NetworkPoints, solver: str, limit: int | None = None) -> NetworkSolution:
    """Call a solver by name; its libraries are imported only now."""
    network = arrays.network
    if solver == MARKOV_CHAIN:
        from slipstick.method.networks.markov import by_class

        return by_class(arrays, limit)
    if solver in (SCHWEITZER, LINEARIZER):
        from slipstick.queueing.approximate import linearizer, schweitzer

        return schweitzer(network) if solver == SCHWEITZER else linearizer(network)
    from slipstick.queueing.exact import convolution, exact

    if solver == CONVOLUTION:
        return convolution(network)
    most_customers = int(network.population.sum(axis=1).max(initial=0))
    probability_count = network.points * len(network.stations) * (most_customers + 1)
    # Derivatives are of times and rates alone.
    has_derivatives = np.iscomplexobj(network.service)
    return exact(
        network,
        marginals=most_customers <= MOST_LISTED
        and probability_count <= MOST_NUMBERS
        and not has_derivatives,
    )


@dataclass(frozen=True, slots=True)
class SolvedTogether:
    """A solution by one solver, with the numbers of the points that it is for."""

    points: NDArray[np.intp]
    solver: str
    solution: NetworkSolution


def solved_points(
    arrays: NetworkPoints, solver: str, *, fail_together: bool = False
) -> tuple[list[SolvedTogether], dict[int, str]]:
    """Solve all points that can be solved, together where possible; also return, by point, why the
    others have no answer.

    Parameters
    ----------
    arrays : the network at aligned points
    solver : by name, or `BEST`
    fail_together : the points differ in derivatives alone, so that all fail where one does
    """
    reason_by_point = unsolvable(arrays)
    solvable_points = np.array(
        [point for point in range(arrays.network.points) if point not in reason_by_point],
        dtype=np.intp,
    )
    return (
        list(_solved_pieces(arrays, solvable_points, solver, reason_by_point, fail_together))
        if len(solvable_points)
        else []
    ), reason_by_point


def unsolvable(arrays: NetworkPoints) -> dict[int, str]:
    """Return, by point, why no solver can solve it: a number is undefined, or a station is
    saturated.
    """
    return {
        **saturation_reasons(arrays.network, arrays.network.never_saturated),
        **arrays.reason_by_point,
    }


def _solved_pieces(
    arrays: NetworkPoints,
    points: NDArray[np.intp],
    solver: str,
    reason_by_point: dict[int, str],
    fail_together: bool,
) -> Iterator[SolvedTogether]:
    """Solve points together. Where that fails, solve each half alone, until only single points
    fail, whose reasons are recorded.
    """
    # Selecting copies the arrays, so that all points are passed on as they are.
    chosen_arrays = arrays if len(points) == arrays.network.points else arrays.select(points)
    try:
        with np.errstate(all="ignore"):
            chosen_solver, solution = (
                _best_solution(chosen_arrays)
                if solver == BEST
                else (solver, _checked_solution(chosen_arrays, solver))
            )
    except (NoAnswerError, ModelError) as error:
        if len(points) == 1 or fail_together:
            reason_by_point.update(dict.fromkeys(points.tolist(), str(error)))
            return
        # Halving finds a few failing points in few solutions, and the others stay together.
        for half in np.array_split(points, 2):
            yield from _solved_pieces(arrays, half, solver, reason_by_point, fail_together)
    else:
        yield SolvedTogether(points, chosen_solver, solution)


def _checked_solution(arrays: NetworkPoints, solver: str) -> NetworkSolution:
    """Solve a network, and check the solution against the laws that every network obeys."""
    network = arrays.network
    if network.losses and solver != MARKOV_CHAIN:
        raise ModelError(
            f"{network.losses}, which the method {solver} does not take; ask for markov-chain or"
            " simulation"
        )
    if network.not_poisson and solver != MARKOV_CHAIN:
        alternatives = "simulation" if any(network.traced) else "markov-chain or simulation"
        raise ModelError(
            f"{network.not_poisson}, which the method {solver} does not take; ask for {alternatives}"
        )
    solution = _solution_by(arrays, solver)
    if solver == MARKOV_CHAIN:  # it holds what it finds against the laws itself
        return solution
    return checked(network, solution, ROUNDING if solution.exact else SETTLED)


def preferred(arrays: NetworkPoints) -> str:
    """Name the most exact method that a network's kind and size allow; a Markov chain may still
    be too large.
    """
    from slipstick.queueing.exact import is_single_queue

    network = arrays.network
    has_product_form = not any(network.without_product_form) or is_single_queue(network)
    if not has_product_form or network.losses or network.not_poisson:
        return MARKOV_CHAIN
    population_vectors = (network.population + 1).prod(axis=1, dtype=float).max()
    return EXACT if population_vectors <= MOST_STATES else LINEARIZER


def _best_solution(arrays: NetworkPoints) -> tuple[str, NetworkSolution]:
    """Solve a network by the preferred method, or by Linearizer where the Markov chain is too
    large; also return which of them it was.

    Raises
    ------
    NoAnswerError : nothing is left but an approximation whose measured error is over a tenth
    """
    chosen_solver = preferred(arrays)
    if chosen_solver != MARKOV_CHAIN:
        return chosen_solver, _checked_solution(arrays, chosen_solver)
    try:
        _, classes, stations = arrays.network.service.shape
        return chosen_solver, _solution_by(
            arrays, MARKOV_CHAIN, min(MOST_CHAINED, MOST_PLACES // max(1, classes * stations))
        )
    except (NoAnswerError, ModelError):
        # Approximations take neither losses, nor weights, nor arrivals that are not Poisson, so the
        # refusal of the chain stands.
        network = arrays.network
        if network.losses or network.not_poisson or network.weights is not None:
            raise
        from slipstick.queueing.approximate import untrusted

        if reason := untrusted(arrays.network):
            raise NoAnswerError(reason) from None
        return LINEARIZER, _checked_solution(arrays, LINEARIZER)
