"""About how many states a network's chain has, to say so when there are too many."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slipstick.queueing.markov.floor import Floor
from slipstick.queueing.markov.line import Line
from slipstick.queueing.markov.rooms import Desk, Lot, Room

__all__ = ["estimate", "known"]

MOST_POINTS = 3_000
"""Vectors of customers by class at most that are gone through."""


def known(floor: Floor, population: NDArray[np.int64]) -> str:
    """Say in words what is known of the size."""
    cut = "" if floor.cut is None else f", cut at {floor.cut} customers of open classes"
    states = estimate(floor, population)
    return ("as many as were looked for" if states is None else f"about {states:.2g} in all") + cut


def estimate(floor: Floor, population: NDArray[np.int64]) -> float | None:
    """Count states by convolution over the customers of each class; None where there are too many to go through.

    With w_k(n) the states of room k with n customers by class, all rooms have (w_1 * w_2 * ...)(N). Counts are exact
    for exponential service; with phases, and where customers change class, they are an upper bound.

    Parameters
    ----------
    floor : the rooms
    population : customers of each closed class

    >>> from slipstick.queueing.markov.solve import chain_of
    >>> from slipstick.queueing.network import network
    >>> floor, chain = chain_of(network([1.0, 2.0, 3.0], population=4))
    >>> estimate(floor, np.array([4])), chain.size
    (15.0, 15)
    """
    groups = _groups(floor)
    most = np.where(floor.opened, floor.cut or sum(each or 0 for each in floor.capacity), groups @ population)
    if np.prod(most + 1.0) > MOST_POINTS or any(isinstance(room, Lot) for room in floor.rooms):
        return None
    points = np.array(list(np.ndindex(*(most + 1))))
    total = np.zeros(most + 1)
    total[(0,) * len(most)] = 1.0
    for room, limit in zip(floor.rooms, floor.capacity, strict=True):
        local = np.array([_ways(room, point, limit) for point in points])
        total = _convolved(total, points, local)
    closed = ~floor.opened
    allowed = (points @ groups.T == groups @ population)[:, closed].all(axis=1)
    if floor.cut is not None:
        allowed &= points[:, floor.opened].sum(axis=1) <= floor.cut
    return float(total.ravel()[allowed].sum())


def _groups(floor: Floor) -> NDArray[np.int64]:
    """Say which classes customers of a class may change to, itself included, 1 or 0 [classes, classes]."""
    kinds = len(floor.opened)
    reach = np.eye(kinds, dtype=np.int64)
    for (r, _), places in floor.ways.items():
        for s, _, _ in places:
            reach[r, s] = reach[s, r] = 1
    for _ in range(kinds):
        reach = np.minimum(reach @ reach, 1)
    return reach


def _convolved(
    total: NDArray[np.float64], points: NDArray[np.int64], local: NDArray[np.float64]
) -> NDArray[np.float64]:
    after = np.zeros_like(total)
    for point, ways in zip(points, local, strict=True):
        if ways:
            there = tuple(slice(n, None) for n in point)
            here = tuple(slice(0, size - n) for n, size in zip(point, total.shape, strict=True))
            after[there] += ways * total[here]
    return after


def _ways(room: Room, counts: NDArray[np.int64], limit: int | None) -> float:
    """Count the states of a room with so many of each class."""
    present = int(counts.sum())
    if any(n and r not in room.times for r, n in enumerate(counts)) or (limit is not None and present > limit):
        return 0.0
    phases = {r: room.times[r].phases for r, n in enumerate(counts) if n}
    if not phases:
        return 1.0
    if isinstance(room, Line):
        orders = math.lgamma(present + 1) - sum(math.lgamma(n + 1) for n in counts)
        return math.exp(min(700.0, orders)) * float(max(phases.values()) ** min(room.heads, present))
    if isinstance(room, Desk):
        cells, served = sum(phases.values()), min(present, room.servers)
        return float(math.comb(served + cells - 1, cells - 1))
    return float(math.prod(math.comb(int(counts[r]) + h - 1, h - 1) for r, h in phases.items()))
