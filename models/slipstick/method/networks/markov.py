"""Queueing networks as Markov chains of their classes, those that customers change between among them.

Queueing networks whose stations hold up those before them after service, as Markov chains.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError, TooManyStatesError
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.queueing.checks import EXACT, checked
from slipstick.queueing.markov.blocking import blocking_after_service
from slipstick.queueing.markov.build import Routing, routing_in_order, routing_of_chains
from slipstick.queueing.markov.chain import STATE_LIMIT, MarkovChain
from slipstick.queueing.markov.solve import MarkovSolution, markov_chain, solve_markov_chain
from slipstick.queueing.markov.state_space import StateSpace
from slipstick.queueing.network import Array, NetworkArrays, SolutionWithLosses
from slipstick.queueing.routes import OUTSIDE
from slipstick.vocabulary import DISCIPLINES

AFTER = "after-service"


def held_up(arrays: NetworkPoints, limit: int) -> SolutionWithLosses:
    """Solve a network of one class with blocking after service: a customer that finds the next station full keeps its server.

    Parameters
    ----------
    arrays : the network; each station is one server, exponential and first come first served
    limit : states at most

    Raises
    ------
    ModelError : the network is of another kind
    NoAnswerError : stations can block each other in a deadlock, or there are too many states

    Source: Perros, Queueing Networks with Blocking, Oxford 1994, ch. 1.
    """
    _check(arrays)
    network = arrays.network
    shape = network.service.shape
    kind = np.result_type(network.service, network.arrivals, 0.0)
    queue, ended, busy, loss = (np.zeros(shape, kind) for _ in range(4))
    for point in range(network.points):
        entry, onward = _ways(arrays, point)
        found = blocking_after_service(
            network.service[point, 0],
            onward,
            network.capacity,
            population=int(network.population[point, 0]),
            arrivals=network.arrivals[point, 0] * entry,
            limit=limit,
        )
        queue[point, 0], ended[point, 0] = found.queue, found.throughput
        busy[point, 0], loss[point, 0] = found.utilization, found.loss
    visits = arrays.visits[:, 0]
    first = int(np.flatnonzero(visits[0].real > 0)[0])
    flow = (ended[:, 0, first] / visits[:, first])[:, None]
    each = flow[:, :, None]
    return SolutionWithLosses(
        throughput=flow,
        residence=np.divide(queue, each, out=np.zeros_like(queue), where=each != 0),
        queue=queue,
        utilization=busy,
        probability=(None,) * shape[2],
        method="markov-chain",
        exact=True,
        notes=("a server that is held up after a service does not count as busy",),
        loss=loss,
        ended=ended,
    )


def _check(arrays: NetworkPoints) -> None:
    network = arrays.network
    if len(arrays.classes) > 1 or (network.think != 0).any():
        raise ModelError("blocking after service is for one class that does not think; ask for another blocking")
    lines = np.array([not (DISCIPLINES[each].ranked or DISCIPLINES[each].delay) for each in network.discipline])
    plain = network.single & lines & (network.scv.real == 1).all(axis=(0, 1))
    for k, (name, blocking) in enumerate(zip(network.stations, network.blocking, strict=True)):
        if not plain[k]:
            raise ModelError(f"{name} is not one exponential server, which blocking after service needs")
        if network.capacity[k] and blocking != AFTER:
            raise ModelError(f"{name} is full in another way; with blocking after service all stations block so")


def _ways(arrays: NetworkPoints, point: int) -> tuple[Array, Array]:
    """Give where customers enter, and the probabilities from station to station."""
    network, ways = arrays.network, arrays.ways
    count = len(network.stations)
    if ways is None:
        rule = routing_in_order(network.visits[point])
        entry, onward = rule.entry[0], rule.onward[0, :, 0].copy()
        if network.all_closed:
            # Who ends a cycle begins the next one.
            onward += (1 - onward.sum(axis=1))[:, None] * entry
        return entry, onward
    entry, onward = np.zeros(count), np.zeros((count, count), ways.probability.dtype)
    entry[arrays.references[0][1]] = 1
    for (_, k), (s, j), p in zip(ways.source, ways.target, ways.probability[point], strict=True):
        if s != OUTSIDE:
            onward[k, j] += p
    return entry, onward


THINKING = "think time"
"""The station at which the members of chains think between two cycles."""


def by_class(arrays: NetworkPoints, limit: int | None = None) -> SolutionWithLosses:
    """Solve a network as a Markov chain; the solution's classes are the network's, not its chains.

    The cycle of a closed chain ends where a customer comes to the reference station, as whichever class; who thinks
    does so on the way there, at a station of its own. Throughput is the chain's in cycles, for each of its classes.

    Parameters
    ----------
    arrays : the network
    limit : states at most

    Raises
    ------
    ModelError : routing or blocking is not one that the chain can mean
    NoAnswerError : there are too many states, or open classes bring more work than can be done
    """
    limit = STATE_LIMIT if limit is None else limit
    try:
        if AFTER in arrays.network.blocking:
            return held_up(arrays, limit)
        found = solve_markov_chain(*_chained(arrays), limit=limit)
    except TooManyStatesError as error:
        raise NoAnswerError(f"{error.size}; {_instead(arrays)}") from None
    if arrays.ways is not None:
        found = _in_cycles(arrays, found)
    # A lost customer of a closed class returns without service, so the laws hold for admitted customers only.
    if not arrays.network.limited.any():
        checked(arrays.network, _of_chains(arrays, found), EXACT)
    return found


def chain_at(arrays: NetworkPoints, truncation: int | None, limit: int) -> tuple[StateSpace, MarkovChain]:
    """Give the chain of a network at one point, its rooms the stations in order.

    Parameters
    ----------
    arrays : the network
    truncation : customers of streams at most, None where capacities hold them
    limit : states at most

    Raises
    ------
    NoAnswerError : there are too many states
    """
    if AFTER in arrays.network.blocking:
        raise ModelError("a network with blocking after service has answers in the long run only, not on its way")
    network, rules = _chained(arrays)
    try:
        return markov_chain(network, rules[0] if rules else None, truncation=truncation, limit=limit)
    except TooManyStatesError as error:
        raise NoAnswerError(f"{error.size}; {_instead(arrays)}") from None


def _chained(arrays: NetworkPoints) -> tuple[NetworkArrays, list[Routing] | None]:
    """Give what a chain is made of."""
    return (arrays.network, None) if arrays.ways is None else _of_classes(arrays)


def _instead(arrays: NetworkPoints) -> str:
    """Say what else one can ask for."""
    if any(each != "loss" for each in arrays.network.blocking):
        return "ask for fewer customers or smaller capacities; no other method blocks"
    if arrays.network.limited.any():
        return "ask for simulation, or for fewer customers or smaller capacities"
    return "ask for linearizer, schweitzer or simulation, or for fewer customers or an scv nearer to 1"


def _of_classes(arrays: NetworkPoints) -> tuple[NetworkArrays, list[Routing]]:
    """Give the network of classes with a last station to think at, and where they go at each point."""
    network, markov_chain = arrays.network, arrays.chain_of
    alone = np.bincount(markov_chain)[markov_chain] == 1
    alone &= ~np.isin(np.arange(len(markov_chain)), _sources(arrays))
    service, visits = (
        np.where(alone[:, None], joined[:, markov_chain], own)
        for joined, own in ((network.service, arrays.service), (network.visits, arrays.visits))
    )
    references = arrays.references
    think = np.where(alone, 0, network.think[:, markov_chain])
    home = np.array([references[c][1] for c in markov_chain])
    thinks = np.where(think != 0, np.take_along_axis(visits, home[None, :, None], axis=2)[:, :, 0], 0)
    first = np.array([alone[r] or references[c][0] == r for r, c in enumerate(markov_chain)])
    flat = replace(
        network,
        service=np.concatenate([service, think[:, :, None]], axis=2),
        visits=np.concatenate([visits, thinks[:, :, None]], axis=2),
        scv=np.concatenate([arrays.scv, np.ones((*think.shape, 1))], axis=2),
        think=np.where(alone, network.think[:, markov_chain], 0),
        population=np.where(first, network.population[:, markov_chain], 0),
        arrivals=np.where(first, network.arrivals[:, markov_chain], 0),
        closed=network.closed[markov_chain],
        discipline=(*network.discipline, "is"),
        servers=np.append(network.servers, 1),
        rates=(*network.rates, None),
        priority=np.concatenate([arrays.ranks, np.zeros((len(markov_chain), 1), dtype=np.int64)], axis=1),
        stations=(*network.stations, THINKING),
        classes=arrays.classes,
        capacity=(*network.capacity, None),
        blocking=(*network.blocking, "loss"),
    )
    return flat, [_rule(arrays, flat, point) for point in range(network.points)]


def _sources(arrays: NetworkPoints) -> NDArray[np.intp]:
    assert arrays.ways is not None
    return np.unique(arrays.ways.source[:, 0])


def _rule(arrays: NetworkPoints, flat: NetworkArrays, point: int) -> Routing:
    assert arrays.ways is not None
    routed = set(arrays.chain_of[_sources(arrays)].tolist())
    members = {c: tuple(np.flatnonzero(arrays.chain_of == c).tolist()) for c in routed}
    think, last = arrays.network.think[point], len(arrays.network.stations)
    ends = {members[c]: last for c in routed if think[c] != 0}
    visits = np.where(flat.service[point].real > 0, flat.visits[point], 0.0)
    return routing_of_chains(arrays.ways, visits, {members[c]: arrays.references[c] for c in routed}, ends, point)


def _in_cycles(arrays: NetworkPoints, found: MarkovSolution) -> MarkovSolution:
    """Count throughput in cycles of the chain, those that end at its reference, and leave the thinking out."""
    count, markov_chain = len(arrays.network.stations), arrays.chain_of
    flow = found.throughput.copy()
    for c in set(markov_chain[_sources(arrays)].tolist()):
        members, station = np.flatnonzero(markov_chain == c), arrays.references[c][1]
        ended, told = (each[:, members, station].sum(axis=1) for each in (found.ended, arrays.visits))
        flow[:, members] = np.where(told != 0, ended / np.where(told != 0, told, 1), 0)[:, None]
    rate = flow[:, :, None]
    queue = found.queue[:, :, :count]
    return replace(
        found,
        throughput=flow,
        queue=queue,
        residence=np.where(rate != 0, queue / np.where(rate != 0, rate, 1.0), 0.0),
        utilization=found.utilization[:, :, :count],
        loss=found.loss[:, :, :count],
        ended=found.ended[:, :, :count],
        probability=found.probability[:count],
        exact=bool((np.where(arrays.visits != 0, arrays.scv, 1) == 1).all()),
    )


def _of_chains(arrays: NetworkPoints, found: MarkovSolution) -> MarkovSolution:
    """Add the classes of each chain up."""
    first = [int(np.flatnonzero(arrays.chain_of == c)[0]) for c in range(len(arrays.network.classes))]
    member = (arrays.chain_of == np.arange(len(first))[:, None]).astype(float)

    def total(values: Array) -> Array:
        return np.asarray(np.einsum("cr,prk->pck", member, values))

    return replace(
        found,
        throughput=found.throughput[:, first],
        queue=total(found.queue),
        residence=total(found.residence),
        utilization=total(found.utilization),
    )
