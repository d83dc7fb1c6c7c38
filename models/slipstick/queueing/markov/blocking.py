"""Stations that hold up those before them: blocking after service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import LIMIT, Array, build
from slipstick.queueing.markov.chain_solution import stationary


class _At(NamedTuple):
    """How many are at each station, and which stations are held up by each, the first to be let go first."""

    present: tuple[int, ...]
    held: tuple[tuple[int, ...], ...]

    def blocker(self, station: int) -> int | None:
        """Give the station that holds one up."""
        return next((j for j, queue in enumerate(self.held) if station in queue), None)


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """Stations under blocking after service.

    Parameters
    ----------
    throughput : services ended [1/s] [stations]
    queue : mean number present, those held up included where they still are [1] [stations]
    utilization : probability of serving [1] [stations]
    blocked : probability of being held up after a service [1] [stations]
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
    limit: int = LIMIT,
) -> Holding:
    """Solve one class at single servers that are held up by full stations after service (manufacturing blocking).

    Who finds the next station full stays, and holds up its server, until there is room; the first to be held up is let go
    first, and that may let go others. Service is exponential, first come first served.

    Parameters
    ----------
    service : mean service time of each station [s] [stations]
    onward : probability to go from each station to each; what is lacking of 1 leaves [1] [stations, stations]
    capacity : for each station who can be present at most, in service included, or None
    population : customers of a closed network
    arrivals : from outside to each station, lost where it is full [1/s] [stations]
    limit : states at most

    Raises
    ------
    ModelError : shapes or numbers do not fit, or the stations have no room for the population
    NoAnswerError : stations can hold up each other for ever, or there are too many states

    Source: Perros, Queueing Networks with Blocking, Oxford 1994, ch. 1.

    >>> ring = blocking_after_service([1.0, 1.0], [[0.0, 1.0], [1.0, 0.0]], [None, 1], population=5)
    >>> ring.throughput
    array([0.6667, 0.6667])
    """
    mean, chance = np.asarray(service) * 1.0, np.asarray(onward) * 1.0
    rates = np.broadcast_to(np.asarray(arrivals) * 1.0, mean.shape)
    _check(mean, chance, rates, capacity, population)
    line = _Line(mean, chance, rates, tuple(capacity))
    chain = build(line.start(population), line.moves, limit=limit)
    pi = stationary(chain)
    stations = range(len(mean))
    present = _rows([at.present for at in chain.states])
    blocked = _rows([[at.blocker(k) is not None for k in stations] for at in chain.states])
    full = _rows([[line.full(at, k) for k in stations] for at in chain.states])
    serving = pi @ ((present > 0) & (blocked == 0))
    return Holding(serving / mean, pi @ present, serving, pi @ blocked, np.where(rates != 0, pi @ full, 0.0))


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
class _Line:
    """The moves of the chain."""

    mean: Array
    chance: Array
    rates: Array
    capacity: tuple[int | None, ...]

    def start(self, population: int) -> _At:
        """Put everyone where there is room, from the first station on."""
        present, left = [], population
        for most in self.capacity:
            here = left if most is None else min(most, left)
            present.append(here)
            left -= here
        if left:
            raise ModelError(f"the capacities are too small for {population} customers by {left}")
        return _At(tuple(present), ((),) * len(present))

    def full(self, at: _At, station: int) -> bool:
        """Say whether a station is full."""
        most = self.capacity[station]
        return most is not None and at.present[station] >= most

    def moves(self, at: _At) -> Iterator[tuple[_At, complex]]:
        """Give the states that follow."""
        for k, rate in enumerate(self.rates.tolist()):
            if not self.full(at, k):
                yield _moved(at, None, k), rate
        for k, present in enumerate(at.present):
            if present and at.blocker(k) is None:
                yield from self._ends(at, k, 1 / self.mean[k].item())

    def _ends(self, at: _At, station: int, rate: complex) -> Iterator[tuple[_At, complex]]:
        for to, probability in enumerate(self.chance[station].tolist()):
            if probability != 0 and to != station:
                yield self._sent(at, station, to), rate * probability
        leaves = 1 - self.chance[station].sum().item()
        if abs(leaves) > 1e-12:
            yield self._let_go(_moved(at, station, None), station), rate * leaves

    def _sent(self, at: _At, station: int, to: int) -> _At:
        if not self.full(at, to):
            return self._let_go(_moved(at, station, to), station)
        _check_deadlock(at, station, to)
        held = tuple((*queue, station) if j == to else queue for j, queue in enumerate(at.held))
        return at._replace(held=held)

    def _let_go(self, at: _At, station: int) -> _At:
        """Let in the first who is held up by a station that has room, then the first held up by where that one was."""
        while at.held[station]:
            first, *others = at.held[station]
            held = tuple(tuple(others) if j == station else queue for j, queue in enumerate(at.held))
            at = _moved(at._replace(held=held), first, station)
            station = first
        return at


def _moved(at: _At, source: int | None, target: int | None) -> _At:
    change = [(k == target) - (k == source) for k in range(len(at.present))]
    return at._replace(present=tuple(n + by for n, by in zip(at.present, change, strict=True)))


def _check_deadlock(at: _At, station: int, to: int) -> None:
    """Follow who holds up whom; nobody may come round to the one that is to be held up."""
    there: int | None = to
    while there is not None:
        if there == station:
            raise NoAnswerError(
                f"stations can hold up each other for ever: {station} waits for {to}, which waits for it; "
                "let a capacity on each way round be larger than the population can fill"
            )
        there = at.blocker(there)
