"""Traffic equations: how often each class visits each station, from the ways it goes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.model.network import Place, QueueingNetwork, Stream

__all__ = ["traffic"]

Array = NDArray[Any]


def traffic(network: QueueingNetwork, chain: str, probabilities: Array) -> dict[Place, Array]:
    """Solve the traffic equations of one chain.

    A place is a class at a station. With v the visits in one cycle and p the probabilities of routing::

        v_j = sum_i v_i p_ij                    closed: the visits to the reference station add up to 1
        v_j = [j is the reference] + sum_i v_i p_ij   open: everybody comes in at the reference

    Parameters
    ----------
    network, chain : whose ways
    probabilities : of each way of the network, in its order; complex numbers carry derivatives [points, ways]

    Returns
    -------
    visits of each place in a cycle; NaN at points where nobody comes back, or leaves [points]

    Source: Bolch, Greiner, de Meer, Trivedi, Queueing Networks and Markov Chains, 2nd ed., 2006, section 7.1.
    """
    members = network.chains[chain]
    ways = [(index, each) for index, each in enumerate(network.routing) if each.source[0] in members.classes]
    ends = [place for _, each in ways for place in (each.source, each.target) if place is not None]
    places = list(dict.fromkeys([members.reference, *ends]))
    number = {place: index for index, place in enumerate(places)}
    points, size = len(probabilities), len(places)
    balance = np.zeros((points, size, size), dtype=probabilities.dtype)
    for index, each in ways:
        if each.target is not None:
            balance[:, number[each.target], number[each.source]] += probabilities[:, index]
    balance = np.eye(size) - balance
    inflow = np.zeros((size, 1))
    inflow[0] = 1.0
    if not isinstance(members.members, Stream):
        # One of the equations follows from the others; in its place stands what a cycle is.
        balance[:, 0, :] = [float(station == members.reference[1]) for _, station in places]
    visits = _solved(balance, inflow)
    return {place: visits[:, index] for place, index in number.items()}


def _solved(balance: Array, inflow: Array) -> Array:
    """Solve point by point at once; where one point cannot be solved, the others still are."""
    try:
        return np.linalg.solve(balance, inflow)[..., 0]
    except np.linalg.LinAlgError:
        sound = np.abs(np.linalg.det(balance)) > 0
        found = np.full(balance.shape[:2], np.nan, dtype=balance.dtype)
        found[sound] = np.linalg.solve(balance[sound], inflow)[..., 0]
        return found
