"""Queueing networks as Markov chains of their classes, also where customers change class."""

from __future__ import annotations

from dataclasses import replace

from slipstick.errors import NoAnswerError, TooManyStatesError
from slipstick.late import np
from slipstick.limits import way_out
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.queueing.checks import EXACT, checked
from slipstick.queueing.markov.build import Routing, routing_of_chains
from slipstick.queueing.markov.chain import MarkovChain
from slipstick.queueing.markov.solve import markov_chain, solve_markov_chain
from slipstick.queueing.markov.state_space import StateSpace
from slipstick.queueing.network import (
    Array,
    MarkovSolution,
    NetworkArrays,
    known_phases,
    quotient,
)
from slipstick.vocabulary import LOSS

BEFORE_STEADY_STATE = (
    "no other method has values before the steady state: ask for fewer customers, or smaller"
    " capacities"
)
"""The alternatives to a chain that is not solved for its steady state."""


def by_class(
    arrays: NetworkPoints, limit: float | None = None, alternatives: str = ""
) -> MarkovSolution:
    """Solve a network as a Markov chain; the solution has the classes of the network, not its
    chains.

    Throughput is the chain's in cycles, for each of its classes.

    Parameters
    ----------
    arrays : the network
    limit : states at most
    alternatives : to a chain, for the message; other methods by default

    Raises
    ------
    ModelError : routing or blocking is not one that the chain can mean
    NoAnswerError : there are too many states, or open classes bring more work than can be done
    """
    try:
        solution = solve_markov_chain(*_of_classes(arrays), limit=limit)
    except TooManyStatesError as error:
        alternatives = alternatives or _alternatives(arrays)
        raise NoAnswerError(f"{error.size}; {alternatives}, {way_out('states')}") from None
    if arrays.routes is not None:
        solution = _in_cycles(arrays, solution)
    # A lost customer of a closed class returns without service, so the laws hold for admitted
    # customers only.
    if not arrays.network.losses:
        checked(arrays.network, _of_chains(arrays, solution), EXACT)
    return solution


def chain_at(
    arrays: NetworkPoints, truncation: int | None, limit: float | None
) -> tuple[StateSpace, MarkovChain]:
    """Build the Markov chain of a network at one point, to follow it before its steady state; also
    return its state space, with the stations in order.

    Parameters
    ----------
    arrays : the network
    truncation : customers of streams at most, None where capacities hold them
    limit : states at most

    Raises
    ------
    NoAnswerError : there are too many states
    """
    network, rules = _of_classes(arrays)
    try:
        return markov_chain(
            network, rules[0] if rules else None, truncation=truncation, limit=limit
        )
    except TooManyStatesError as error:
        raise NoAnswerError(f"{error.size}; {BEFORE_STEADY_STATE}, {way_out('states')}") from None


def _alternatives(arrays: NetworkPoints) -> str:
    """Return advice on what to do instead of a Markov chain that is too large."""
    if any(blocking != LOSS for blocking in arrays.network.blocking):
        return "ask for fewer customers or smaller capacities; no other method blocks"
    if arrays.network.losses or arrays.network.not_poisson:
        return "ask for simulation, or for fewer customers or smaller capacities"
    return (
        "ask for linearizer, schweitzer or simulation, or for fewer customers or an scv nearer to 1"
    )


def _of_classes(arrays: NetworkPoints) -> tuple[NetworkArrays, list[Routing] | None]:
    """Return the network with one class for each class of its chains, and the routing at each
    point; no routing if no customer changes class.
    """
    network = arrays.network
    chain_of = arrays.chain_of
    routes = arrays.routes
    references = arrays.references
    if routes is None:
        return network, None
    routed = _routed(arrays)
    keeps_class = ~np.isin(chain_of, list(routed))
    service, visits = (
        np.where(keeps_class[:, None], joined[:, chain_of], own)
        for joined, own in ((network.service, arrays.service), (network.visits, arrays.visits))
    )
    # All customers of a chain begin in the class of its reference.
    is_first = np.array([keeps_class[r] or references[c][0] == r for r, c in enumerate(chain_of)])
    population = np.where(is_first, network.population[:, chain_of], 0)
    arrivals = np.where(is_first, network.arrivals[:, chain_of], 0)
    network_of_classes = replace(
        network,
        service=service,
        visits=visits,
        scv=arrays.scv,
        think=network.think[:, chain_of],
        population=population,
        arrivals=arrivals,
        bursts=(
            None
            if network.bursts is None
            else np.where(is_first[:, None], network.bursts[:, chain_of], 0)
        ),
        batch=tuple(network.batch[c] for c in chain_of) if network.batch else (),
        traced=tuple(network.traced[c] for c in chain_of) if network.traced else (),
        closed=network.closed[chain_of],
        priority=arrays.ranks,
        classes=arrays.classes,
        **arrays.patience,
        weights=arrays.weights,
    )
    ends = {members: references[c] for c, members in routed.items()}
    points = [slice(point, point + 1) for point in range(network.points)]
    return network_of_classes, [
        routing_of_chains(network_of_classes.select(point_index), routes.select(point_index), ends)
        for point_index in points
    ]


def _routed(arrays: NetworkPoints) -> dict[int, tuple[int, ...]]:
    """Return the chains whose customers follow routes, by number, each with the numbers of its
    classes.
    """
    assert arrays.routes is not None
    chains = np.unique(arrays.chain_of[arrays.routes.source[:, 0]]).tolist()
    return {c: tuple(np.flatnonzero(arrays.chain_of == c).tolist()) for c in chains}


def _in_cycles(arrays: NetworkPoints, solution: MarkovSolution) -> MarkovSolution:
    """Replace the throughput of each chain by its cycles in a second; a cycle ends at the reference
    of the chain, which is a class at a station.
    """
    flow = solution.throughput.copy()
    begun = solution.begun.copy()
    network = arrays.network
    phases_known = known_phases(arrays.scv, network.phases, arrays.classes, network.stations)
    for c, members in _routed(arrays).items():
        place = (slice(None), *arrays.references[c])
        # Of those admitted a part abandons the queue: only the others end their service.
        admitted = solution.ended / (1 - solution.abandoned)
        ended, came, stated = (
            values[place] for values in (solution.ended, admitted, arrays.visits)
        )
        for values, events in ((flow, ended), (begun, came)):
            values[:, list(members)] = quotient(events, stated)[:, None]
    return replace(
        solution,
        throughput=flow,
        begun=begun,
        residence=quotient(solution.queue, begun[:, :, None]),
        exact=bool((phases_known | ~(arrays.visits != 0).any(axis=0)).all()),
    )


def _of_chains(arrays: NetworkPoints, solution: MarkovSolution) -> MarkovSolution:
    """Add up the classes of each chain in a solution, as the laws for chains need it."""
    first_classes = [
        int(np.flatnonzero(arrays.chain_of == c)[0]) for c in range(len(arrays.network.classes))
    ]
    member = (arrays.chain_of == np.arange(len(first_classes))[:, None]).astype(float)

    def total(values: Array) -> Array:
        return np.asarray(np.einsum("cr,prk->pck", member, values))

    return replace(
        solution,
        throughput=solution.throughput[:, first_classes],
        queue=total(solution.queue),
        residence=total(solution.residence),
        utilization=total(solution.utilization),
    )
