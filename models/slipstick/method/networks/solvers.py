"""Solvers of queueing networks by name, the best of them for a network, and the points that no
solver can solve.
"""

from __future__ import annotations

from collections.abc import Iterator

from slipstick.errors import ModelError, NoAnswerError
from slipstick.extensions import FUNCTIONS
from slipstick.late import NDArray, dataclass, np
from slipstick.limits import limit_in_force
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.method.networks.certain_load import network_before_losses
from slipstick.queueing.checks import EXACT as ROUNDING
from slipstick.queueing.checks import checked_solution
from slipstick.queueing.mixed_classes import saturation_reasons
from slipstick.queueing.network import NetworkSolution
from slipstick.vocabulary import BEST, CONVOLUTION, EXACT, LINEARIZER, MARKOV_CHAIN, SCHWEITZER

MOST_LISTED = 100
"""The largest number of customers for which the probability of every number present is computed."""

MOST_NAMES = 20_000
"""Numbers at all stations for which these probabilities are computed, as each has a name; there
are more by convolution.
"""

MOST_PROBABILITIES = 1_000_000
"""Probabilities up to which a sweep has them as well."""

MOST_POPULATION_VECTORS = 1_000_001
"""Vectors of populations up to which exact answers are the default: a million customers of one
class.
"""

MOST_CHAIN_STATES, MOST_STATES_TIMES_PLACES = 20_000, 400_000
"""States of a Markov chain, and states times places of a class at a station, up to which it is the
default where product form fails."""

STOPPING_ERROR = 1e-6
"""How far, relatively, the stopping rule of an approximation may leave it from a law."""


def _solution_of_solver(
    network_points: NetworkPoints, solver: str, state_limit: int | None = None
) -> NetworkSolution:
    """Solve a network by the solver with a given name; the solver's libraries are imported only
    then.
    """
    network = network_points.network
    if solver == MARKOV_CHAIN:
        solution: NetworkSolution = FUNCTIONS["chain of a network"](network_points, state_limit)
        return solution
    if solver in (SCHWEITZER, LINEARIZER):
        from slipstick.queueing.approximate import linearizer, schweitzer

        return schweitzer(network) if solver == SCHWEITZER else linearizer(network)
    from slipstick.queueing.exact import convolution, exact

    if solver == CONVOLUTION:
        return convolution(network)
    most_customers = int(network.population.sum(axis=1).max(initial=0))
    name_count = len(network.stations) * (most_customers + 1)
    # Derivatives are of times and rates alone.
    has_derivatives = np.iscomplexobj(network.service)
    return exact(
        network,
        with_marginals=most_customers <= MOST_LISTED
        and name_count <= MOST_NAMES
        and name_count * network.point_count <= MOST_PROBABILITIES
        and not has_derivatives,
    )


@dataclass(frozen=True, slots=True)
class SolvedTogether:
    """The solution of several points that one solver solved together, with the indices of these
    points.
    """

    points: NDArray[np.intp]
    solver: str
    solution: NetworkSolution


def solved_points(
    network_points: NetworkPoints, solver: str, *, fail_together: bool = False
) -> tuple[list[SolvedTogether], dict[int, str]]:
    """Solve all points that can be solved, together where possible; also return, by point, why the
    others have no answer.

    Parameters
    ----------
    network_points : the network at many points
    solver : by name, or `BEST`
    fail_together : the points differ in derivatives alone, so that all fail where one does
    """
    reason_by_point = reasons_unsolvable(network_points)
    solvable_points = np.array(
        [
            point_index
            for point_index in range(network_points.network.point_count)
            if point_index not in reason_by_point
        ],
        dtype=np.intp,
    )
    return (
        list(
            _solved_pieces(network_points, solvable_points, solver, reason_by_point, fail_together)
        )
        if len(solvable_points)
        else []
    ), reason_by_point


def reasons_unsolvable(network_points: NetworkPoints) -> dict[int, str]:
    """Return, by the index of the point, why no solver can solve a network there: a number is
    undefined, or a station is saturated by the customers that come to it before any can be lost.
    """
    never_saturated = network_points.network.is_never_saturated
    return {
        **saturation_reasons(network_before_losses(network_points), never_saturated),
        **network_points.reason_by_point,
    }


def _solved_pieces(
    network_points: NetworkPoints,
    point_indexes: NDArray[np.intp],
    solver: str,
    reason_by_point: dict[int, str],
    fail_together: bool,
) -> Iterator[SolvedTogether]:
    """Solve points together. Where that fails, solve each half alone, until only single points
    fail, whose reasons are recorded.
    """
    # Selecting copies the arrays, so that all points are passed on as they are.
    chosen_points = (
        network_points
        if len(point_indexes) == network_points.network.point_count
        else network_points.select(point_indexes)
    )
    try:
        # What overflows or divides by 0 fails the check of the solution, which names it.
        with np.errstate(all="ignore"):
            chosen_solver, solution = (
                _best_solution(chosen_points)
                if solver == BEST
                else (solver, _checked_solution(chosen_points, solver))
            )
    except (NoAnswerError, ModelError) as error:
        if len(point_indexes) == 1 or fail_together:
            reason_by_point.update(dict.fromkeys(point_indexes.tolist(), str(error)))
            return
        # Halving finds a few failing points in few solutions, and the others stay together.
        for half_indexes in np.array_split(point_indexes, 2):
            yield from _solved_pieces(
                network_points, half_indexes, solver, reason_by_point, fail_together
            )
    else:
        yield SolvedTogether(point_indexes, chosen_solver, solution)


def _checked_solution(network_points: NetworkPoints, solver: str) -> NetworkSolution:
    """Solve a network, and check the solution against the laws that every network obeys."""
    network = network_points.network
    if network.loss_reason and solver != MARKOV_CHAIN:
        raise ModelError(
            f"{network.loss_reason}, which the method {solver} does not take; ask for"
            " markov-chain or"
            " simulation"
        )
    if network.non_poisson_reason and solver != MARKOV_CHAIN:
        alternatives = "simulation" if any(network.arrival_words) else "markov-chain or simulation"
        raise ModelError(
            f"{network.non_poisson_reason}, which the method {solver} does not take; ask for"
            f" {alternatives}"
        )
    solution = _solution_of_solver(network_points, solver)
    if solver == MARKOV_CHAIN:  # it holds what it finds against the laws itself
        return solution
    return checked_solution(network, solution, ROUNDING if solution.exact else STOPPING_ERROR)


def preferred_method(network_points: NetworkPoints) -> str:
    """Name the most exact method that a network's kind and size allow; a Markov chain may still
    be too large.
    """
    from slipstick.queueing.exact import is_single_queue

    network = network_points.network
    has_product_form = not any(network.reasons_against_product_form) or is_single_queue(network)
    if not has_product_form or network.loss_reason or network.non_poisson_reason:
        return MARKOV_CHAIN
    population_vector_count = (network.population + 1).prod(axis=1, dtype=float).max()
    return EXACT if population_vector_count <= MOST_POPULATION_VECTORS else LINEARIZER


def _best_solution(network_points: NetworkPoints) -> tuple[str, NetworkSolution]:
    """Solve a network by the preferred method, or by Linearizer if the Markov chain is too large;
    return the solution and the method used.

    Raises
    ------
    NoAnswerError : nothing is left but an approximation whose measured error is over a tenth
    """
    chosen_solver = preferred_method(network_points)
    if chosen_solver != MARKOV_CHAIN:
        return chosen_solver, _checked_solution(network_points, chosen_solver)
    try:
        _, class_count, station_count = network_points.network.service.shape
        state_limit_by_places = MOST_STATES_TIMES_PLACES // max(1, class_count * station_count)
        state_limit = min(MOST_CHAIN_STATES, state_limit_by_places, int(limit_in_force("states")))
        return chosen_solver, _solution_of_solver(network_points, MARKOV_CHAIN, state_limit)
    except (NoAnswerError, ModelError):
        # Approximations take neither losses, nor weights, nor arrivals that are not Poisson, so the
        # refusal of the chain stands.
        network = network_points.network
        if network.loss_reason or network.non_poisson_reason or network.weights is not None:
            raise
        from slipstick.queueing.approximate import reason_against_linearizer

        if reason := reason_against_linearizer(network_points.network):
            raise NoAnswerError(reason) from None
        return LINEARIZER, _checked_solution(network_points, LINEARIZER)
