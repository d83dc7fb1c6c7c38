"""Queueing networks as Markov chains of their classes, also where customers change class."""

from __future__ import annotations

from dataclasses import replace

from slipstick.errors import NoAnswerError, TooManyStatesError
from slipstick.late import np
from slipstick.limits import advice_on_limit
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.queueing.checks import EXACT, checked_solution
from slipstick.queueing.markov_chain import MarkovChain
from slipstick.queueing.network import (
    Array,
    MarkovSolution,
    NetworkArrays,
    known_phases,
    quotient,
)
from slipstick_chains.networks.build import Routing, routing_of_chains
from slipstick_chains.networks.solve import check_cycles, markov_chain, solve_markov_chain
from slipstick_chains.networks.state_space import StateSpace

BEFORE_STEADY_STATE = (
    "no other method has values before the steady state: ask for fewer customers, or smaller"
    " capacities"
)
"""The alternatives to a chain that is not solved for its steady state."""


def solve_by_class(
    network_points: NetworkPoints, state_limit: float | None = None, alternatives: str = ""
) -> MarkovSolution:
    """Solve a network as a Markov chain; the solution has the classes of the network, not its
    chains.

    The throughput of each class is that of its chain, in cycles [1/s].

    Parameters
    ----------
    network_points : the network
    state_limit : states at most
    alternatives : what a user can do instead of solving a Markov chain, in words, for the message;
        by default other methods

    Raises
    ------
    ModelError : a Markov chain cannot represent the routing or the blocking
    NoAnswerError : there are too many states, or open classes bring more work than can be done
    """
    try:
        solution = solve_markov_chain(*_network_of_classes(network_points), state_limit=state_limit)
    except TooManyStatesError as error:
        # Which other methods answer is solved only now, because most chains are small enough.
        alternatives = alternatives or _advice_on_size(network_points)
        raise NoAnswerError(f"{error.size}; {alternatives}, {advice_on_limit('states')}") from None
    if network_points.routes is not None:
        solution = _with_cycle_rates(network_points, solution)
        check_cycles(network_points.classes, solution)
    # A lost customer of a closed class returns without service, so the laws hold for admitted
    # customers only.
    if not network_points.network.loss_reason:
        checked_solution(
            network_points.network, _solution_of_chains(network_points, solution), EXACT
        )
    return solution


def chain_at(
    network_points: NetworkPoints, truncation: int | None, state_limit: float | None
) -> tuple[StateSpace, MarkovChain]:
    """Build the Markov chain of a network at one point, to follow it before its steady state; also
    return its state space, with the stations in order.

    Parameters
    ----------
    network_points : the network
    truncation : customers of streams at most, None where capacities hold them
    state_limit : states at most

    Raises
    ------
    NoAnswerError : there are too many states
    """
    network, rules = _network_of_classes(network_points)
    try:
        return markov_chain(
            network, rules[0] if rules else None, truncation=truncation, state_limit=state_limit
        )
    except TooManyStatesError as error:
        raise NoAnswerError(
            f"{error.size}; {BEFORE_STEADY_STATE}, {advice_on_limit('states')}"
        ) from None


def _advice_on_size(network_points: NetworkPoints) -> str:
    """Return advice on what to do instead of a Markov chain that is too large."""
    if network_points.network.loss_reason or network_points.network.non_poisson_reason:
        return "ask for simulation, or for fewer customers or smaller capacities"
    return (
        "ask for linearizer, schweitzer or simulation, or for fewer customers or an scv nearer to 1"
    )


def _network_of_classes(
    network_points: NetworkPoints,
) -> tuple[NetworkArrays, list[Routing] | None]:
    """Return the network with one class for each class of its chains, and the routing at each
    point; no routing if no customer changes class.
    """
    routes = network_points.routes
    reference_by_chain = network_points.references
    if routes is None:
        return network_points.network, None
    classes_by_chain = _classes_of_routed_chains(network_points)
    network_of_classes = _with_arrays_of_classes(network_points, list(classes_by_chain))
    reference_by_classes = {
        class_indices: reference_by_chain[chain_index]
        for chain_index, class_indices in classes_by_chain.items()
    }
    point_slices = [
        slice(point_index, point_index + 1) for point_index in range(network_of_classes.point_count)
    ]
    return network_of_classes, [
        routing_of_chains(
            network_of_classes.select(point_slice), routes.select(point_slice), reference_by_classes
        )
        for point_slice in point_slices
    ]


def _with_arrays_of_classes(
    network_points: NetworkPoints, routed_chains: list[int]
) -> NetworkArrays:
    """Return the arrays of a network in which each class of a routed chain is a class of its own;
    other chains are their only class already.
    """
    network = network_points.network
    chain_of_class = network_points.chain_of_class
    keeps_class = ~np.isin(chain_of_class, routed_chains)
    service, visits = (
        np.where(keeps_class[:, None], chain_values[:, chain_of_class], class_values)
        for chain_values, class_values in (
            (network.service, network_points.service),
            (network.visits, network_points.visits),
        )
    )
    # All customers of a chain begin in the class of its reference.
    is_first_of_chain = np.array(
        [
            keeps_class[class_index] or network_points.references[chain_index][0] == class_index
            for class_index, chain_index in enumerate(chain_of_class)
        ]
    )
    population = np.where(is_first_of_chain, network.population[:, chain_of_class], 0)
    arrivals = np.where(is_first_of_chain, network.arrivals[:, chain_of_class], 0)
    return replace(
        network,
        service=service,
        visits=visits,
        scv=network_points.scv,
        think=network.think[:, chain_of_class],
        population=population,
        arrivals=arrivals,
        bursts=(
            None
            if network.bursts is None
            else np.where(is_first_of_chain[:, None], network.bursts[:, chain_of_class], 0)
        ),
        batch=tuple(network.batch[chain_index] for chain_index in chain_of_class)
        if network.batch
        else (),
        arrival_words=tuple(network.arrival_words[chain_index] for chain_index in chain_of_class)
        if network.arrival_words
        else (),
        closed=network.closed[chain_of_class],
        priority=network_points.ranks,
        classes=network_points.classes,
        **network_points.patience,
        balking=network_points.balking,
        weights=network_points.weights,
        has_random_time=None,
        is_absence=None if network.is_absence is None else network.is_absence[chain_of_class],
    )


def _classes_of_routed_chains(network_points: NetworkPoints) -> dict[int, tuple[int, ...]]:
    """Return the chains whose customers follow routes, by number, each with the numbers of its
    classes.
    """
    assert network_points.routes is not None
    chain_indexes = np.unique(
        network_points.chain_of_class[network_points.routes.source[:, 0]]
    ).tolist()
    return {
        chain_index: tuple(np.flatnonzero(network_points.chain_of_class == chain_index).tolist())
        for chain_index in chain_indexes
    }


def _with_cycle_rates(network_points: NetworkPoints, solution: MarkovSolution) -> MarkovSolution:
    """Return a solution in which the throughput of each chain is the number of its cycles in a
    second [1/s]; a cycle ends at the reference of the chain, which is a class at a station.
    """
    # Arrays of a solution are not changed in place: others may hold them.
    cycles_by_class = solution.throughput.copy()
    begun_visits = solution.begun_cycles.copy()
    network = network_points.network
    has_known_phases = known_phases(
        network_points.scv, network.phases, network_points.classes, network.stations
    )
    for chain_index, class_indices in _classes_of_routed_chains(network_points).items():
        reference_index = (slice(None), *network_points.references[chain_index])
        # Of those admitted a part abandons the queue: only the others end their service.
        admitted_visits = solution.ended_services / (1 - solution.abandonment_probability)
        ended_visits, begun_at_reference, stated_visits = (
            values[reference_index]
            for values in (solution.ended_services, admitted_visits, network_points.visits)
        )
        for values, events_of_reference in (
            (cycles_by_class, ended_visits),
            (begun_visits, begun_at_reference),
        ):
            values[:, list(class_indices)] = quotient(events_of_reference, stated_visits)[:, None]
        comes_back = not network.closed[chain_index] and (stated_visits != 1).any()
        if comes_back and (network.loss_reason or network.draws_again):
            # A customer that is lost, or draws its destination again, comes back another number of
            # times than stated: counted are those that arrive and are not lost at once.
            class_columns = list(class_indices)
            cycle_rate = network.arrivals[:, chain_index] - solution.lost_arrivals[
                :, class_columns
            ].sum(axis=1)
            begun_visits[:, class_columns] = cycle_rate[:, None]
            # Of those that abandon the queue, some were there before.
            cycles_by_class[:, class_columns] = np.where(
                solution.abandonment_probability[reference_index] == 0, cycle_rate, np.nan
            )[:, None]
    return replace(
        solution,
        throughput=cycles_by_class,
        begun_cycles=begun_visits,
        residence=quotient(solution.queue, begun_visits[:, :, None]),
        exact=bool((has_known_phases | ~(network_points.visits != 0).any(axis=0)).all()),
    )


def _solution_of_chains(network_points: NetworkPoints, solution: MarkovSolution) -> MarkovSolution:
    """Return a solution whose values are sums over the classes of each chain, for the check by the
    laws of networks.
    """
    first_classes = [
        int(np.flatnonzero(network_points.chain_of_class == chain_index)[0])
        for chain_index in range(len(network_points.network.classes))
    ]
    # Throughput is that of the chain in cycles, the same for each of its classes.
    is_member = (network_points.chain_of_class == np.arange(len(first_classes))[:, None]).astype(
        float
    )

    def sum_by_chain(class_values: Array) -> Array:
        """Return the sums of values of classes over the classes of each chain (P, C, K)."""
        return np.asarray(np.einsum("cr,prk->pck", is_member, class_values))

    return replace(
        solution,
        throughput=solution.throughput[:, first_classes],
        queue=sum_by_chain(solution.queue),
        residence=sum_by_chain(solution.residence),
        utilization=sum_by_chain(solution.utilization),
    )
