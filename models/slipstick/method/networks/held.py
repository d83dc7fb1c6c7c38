"""Queueing networks whose stations hold up those before them after service, as Markov chains."""

from __future__ import annotations

import numpy as np

from slipstick.errors import ModelError
from slipstick.method.networks.arrays import Arrays
from slipstick.queueing.chains import OUT
from slipstick.queueing.markov import blocking_after_service, in_order
from slipstick.queueing.network import Array, Tally

__all__ = ["AFTER", "held_up"]

AFTER = "after-service"


def held_up(arrays: Arrays, limit: int) -> Tally:
    """Solve a network of one class, in which who finds the next station full stays, and holds up its server.

    Parameters
    ----------
    arrays : the network; each station is one server, exponential and first come first served
    limit : states at most

    Raises
    ------
    ModelError : the network is of another kind
    NoAnswerError : stations can hold up each other for ever, or there are too many states

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
            [int(each) or None for each in arrays.capacity],
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
    return Tally(
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


def _check(arrays: Arrays) -> None:
    network = arrays.network
    if len(arrays.classes) > 1 or (network.think != 0).any():
        raise ModelError("blocking after service is for one class that does not think; ask for another blocking")
    lines = np.array([each in ("fcfs", "ps", "lcfs-pr") for each in network.discipline])
    plain = network.single & lines & (network.scv.real == 1).all(axis=(0, 1))
    for k, (name, blocking) in enumerate(zip(network.stations, arrays.blocking, strict=True)):
        if not plain[k]:
            raise ModelError(f"{name} is not one exponential server, which blocking after service needs")
        if arrays.capacity[k] and blocking != AFTER:
            raise ModelError(f"{name} is full in another way; with blocking after service all stations block so")


def _ways(arrays: Arrays, point: int) -> tuple[Array, Array]:
    """Give where customers enter, and the probabilities from station to station."""
    network, ways = arrays.network, arrays.ways
    count = len(network.stations)
    if ways is None:
        rule = in_order(network.visits[point])
        entry, onward = rule.entry[0], rule.onward[0, :, 0].copy()
        if network.all_closed:
            # Who ends a cycle begins the next one.
            onward += (1 - onward.sum(axis=1))[:, None] * entry
        return entry, onward
    entry, onward = np.zeros(count), np.zeros((count, count), ways.probability.dtype)
    entry[arrays.references[0][1]] = 1
    for (_, k), (s, j), p in zip(ways.source, ways.target, ways.probability[point], strict=True):
        if s != OUT:
            onward[k, j] += p
    return entry, onward
