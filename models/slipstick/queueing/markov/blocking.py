"""Blocking after service: a customer that finds the next station full occupies its server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import STATE_LIMIT, Array, explore_states
from slipstick.queueing.markov.chain_solution import stationary


class _BlockedState(NamedTuple):
    """Customers at each station, and the stations that each one blocks, the first to be released at the front."""

    present: tuple[int, ...]
    held: tuple[tuple[int, ...], ...]

    def blocker(self, station: int) -> int | None:
        """Give the station that blocks this one."""
        return next((j for j, queue in enumerate(self.held) if station in queue), None)


@dataclass(frozen=True, slots=True, eq=False)
class BlockingSolution:
    """Stations under blocking after service.

    Parameters
    ----------
    throughput : services ended [1/s] [stations]
    queue : mean number present, with blocked customers where they were served [1] [stations]
    utilization : probability of serving [1] [stations]
    blocked : probability that the server is blocked [1] [stations]
    loss : probability that an arrival finds each station full and is lost [1] [stations]
    """

    throughput: Array
    queue: Array
    utilization: Array
    blocked: Array
    loss: Array


def blocking_after_service(
    service: ArrayLike,
    onward: ArrayLike,
    capacity: Sequence[int | None],
    *,
    population: int = 0,
    arrivals: ArrayLike = 0.0,
    limit: int = STATE_LIMIT,
) -> BlockingSolution:
    """Solve one class at single servers with blocking after service (manufacturing blocking).

    A customer that finds the next station full stays and blocks its server until there is a place. The first blocked
    is released first, which may release others. Service is exponential, first come first served.

    Parameters
    ----------
    service : mean service time of each station [s] [stations]
    onward : probability to go from each station to each; what is lacking of 1 leaves [1] [stations, stations]
    capacity : the greatest number present at each station, in service included, or None
    population : customers of a closed network
    arrivals : from outside to each station, lost where it is full [1/s] [stations]
    limit : states at most

    Raises
    ------
    ModelError : shapes or numbers do not fit, or the stations have no room for the population
    NoAnswerError : stations can block each other in a deadlock, or there are too many states

    Source: Perros, Queueing Networks with Blocking, Oxford 1994, ch. 1.

    >>> ring = blocking_after_service([1.0, 1.0], [[0.0, 1.0], [1.0, 0.0]], [None, 1], population=5)
    >>> ring.throughput
    array([0.6667, 0.6667])
    """
    mean, chance = np.asarray(service) * 1.0, np.asarray(onward) * 1.0
    rates = np.broadcast_to(np.asarray(arrivals) * 1.0, mean.shape)
    _check(mean, chance, rates, capacity, population)
    line = _BlockingChain(mean, chance, rates, tuple(capacity))
    chain = explore_states(line.start(population), line.transitions, limit=limit)
    pi = stationary(chain)
    stations = range(len(mean))
    present = _rows([at.present for at in chain.states])
    blocked = _rows([[at.blocker(k) is not None for k in stations] for at in chain.states])
    full = _rows([[line.full(at, k) for k in stations] for at in chain.states])
    serving = pi @ ((present > 0) & (blocked == 0))
    return BlockingSolution(serving / mean, pi @ present, serving, pi @ blocked, np.where(rates != 0, pi @ full, 0.0))


def _rows(rows: Sequence[Sequence[int]]) -> Array:
    """Put numbers of the states together [states, stations]."""
    return np.array(rows, dtype=np.int64)


def _check(mean: Array, chance: Array, rates: Array, capacity: Sequence[int | None], population: int) -> None:
    count = len(mean)
    if chance.shape != (count, count) or len(capacity) != count:
        raise ModelError(
            f"blocking needs routing ({count}, {count}) and {count} capacities, got {chance.shape} and {len(capacity)}"
        )
    if not ((mean.real > 0) & (mean.real < np.inf) & (rates.real >= 0) & (rates.real < np.inf)).all():
        raise ModelError("blocking needs finite service times above 0 s and arrivals of at least 0 /s")
    if not ((chance.real >= 0).all() and (chance.real.sum(axis=1) <= 1 + 1e-12).all()):
        raise ModelError("probabilities onward under blocking must be at least 0 and add up to at most 1")
    if bool(rates.any()) == bool(population):
        raise ModelError(f"blocking needs either arrivals or a population, got {rates.tolist()} and {population}")
    endless = [k for k, most in enumerate(capacity) if most is None]
    if rates.any() and endless:
        raise ModelError(f"with arrivals, blocking needs a capacity for every station; station {endless[0]} has none")


@dataclass(frozen=True, slots=True, eq=False)
class _BlockingChain:
    """The transitions of the chain."""

    mean: Array
    chance: Array
    rates: Array
    capacity: tuple[int | None, ...]

    def start(self, population: int) -> _BlockedState:
        """Place all customers, from the first station on."""
        present, left = [], population
        for most in self.capacity:
            here = left if most is None else min(most, left)
            present.append(here)
            left -= here
        if left:
            raise ModelError(f"the capacities are too small for {population} customers by {left}")
        return _BlockedState(tuple(present), ((),) * len(present))

    def full(self, at: _BlockedState, station: int) -> bool:
        """Say whether a station is full."""
        most = self.capacity[station]
        return most is not None and at.present[station] >= most

    def transitions(self, at: _BlockedState) -> Iterator[tuple[_BlockedState, complex]]:
        """Give the states that follow."""
        for k, rate in enumerate(self.rates.tolist()):
            if not self.full(at, k):
                yield _with_customer_moved(at, None, k), rate
        for k, present in enumerate(at.present):
            if present and at.blocker(k) is None:
                yield from self._ends(at, k, 1 / self.mean[k].item())

    def _ends(self, at: _BlockedState, station: int, rate: complex) -> Iterator[tuple[_BlockedState, complex]]:
        for to, probability in enumerate(self.chance[station].tolist()):
            if probability != 0 and to != station:
                yield self._sent(at, station, to), rate * probability
        leaves = 1 - self.chance[station].sum().item()
        if abs(leaves) > 1e-12:
            yield self._released(_with_customer_moved(at, station, None), station), rate * leaves

    def _sent(self, at: _BlockedState, station: int, to: int) -> _BlockedState:
        if not self.full(at, to):
            return self._released(_with_customer_moved(at, station, to), station)
        _check_deadlock(at, station, to)
        held = tuple((*queue, station) if j == to else queue for j, queue in enumerate(at.held))
        return at._replace(held=held)

    def _released(self, at: _BlockedState, station: int) -> _BlockedState:
        """Release the first station blocked by one with a free place, then the first that this one blocked."""
        while at.held[station]:
            first, *others = at.held[station]
            held = tuple(tuple(others) if j == station else queue for j, queue in enumerate(at.held))
            at = _with_customer_moved(at._replace(held=held), first, station)
            station = first
        return at


def _with_customer_moved(at: _BlockedState, source: int | None, target: int | None) -> _BlockedState:
    change = [(k == target) - (k == source) for k in range(len(at.present))]
    return at._replace(present=tuple(n + by for n, by in zip(at.present, change, strict=True)))


def _check_deadlock(at: _BlockedState, station: int, to: int) -> None:
    """Refuse a circle of stations that block each other."""
    there: int | None = to
    while there is not None:
        if there == station:
            raise NoAnswerError(
                f"stations can block each other in a deadlock: {station} waits for {to}, which waits for it; "
                "let a capacity on each way round be larger than the population can fill"
            )
        there = at.blocker(there)
