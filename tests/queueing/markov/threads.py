"""Threads that share cores and one lock, as a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from slipstick.errors import ModelError
from slipstick.queueing.markov_chain import MarkovChain, stationary
from tests.queueing.markov.by_hand import explore_states


class _At(NamedTuple):
    """How many threads are where; what lacks of all threads waits for the lock asleep."""

    working: int
    ready: int
    """Those who would work, but have no core."""
    spinning: int
    stalled: int
    """Those who would spin, but have no core."""
    holder: int
    """0: the lock is free; 1: its holder runs; 2: its holder has no core."""

    @property
    def running(self) -> int:
        """How many cores are busy."""
        return self.working + self.spinning + (self.holder == 1)


_Move = tuple[_At, complex]


@dataclass(frozen=True, slots=True)
class Threads:
    """What the threads do in the long run.

    Parameters
    ----------
    throughput : critical sections ended [1/s]
    working, spinning, holding : cores busy with work, with spinning, and for the holder of the lock
        [1]
    idle : cores that nobody wants [1]
    waiting : threads that wait for the lock, spinning or not [1]
    stranded : probability that the holder of the lock has no core [1]
    """

    throughput: complex
    working: complex
    spinning: complex
    holding: complex
    idle: complex
    waiting: complex
    stranded: complex


def threads(
    count: int,
    cores: int,
    work: complex,
    critical: complex,
    *,
    quantum: complex,
    spin: bool = False,
    limit: float = 3e5,
) -> Threads:
    """Solve threads that share cores and one lock; see `thread_chain`.

    >>> found = threads(4, 2, 9.0, 1.0, quantum=1.0)
    >>> found.working + found.holding + found.spinning + found.idle
    2.0
    """
    chain = thread_chain(count, cores, work, critical, quantum=quantum, spin=spin, limit=limit)
    pi = stationary(chain)

    def mean(of: Callable[[_At], float]) -> complex:
        value: complex = (pi @ np.array([of(at) for at in chain.states])).item()
        return value

    holding = mean(lambda at: at.holder == 1)
    return Threads(
        throughput=holding / critical,
        working=mean(lambda at: at.working),
        spinning=mean(lambda at: at.spinning),
        holding=holding,
        idle=cores - mean(lambda at: at.running),
        waiting=mean(lambda at: count - at.working - at.ready - (at.holder > 0)),
        stranded=mean(lambda at: at.holder == 2),
    )


def thread_chain(
    count: int,
    cores: int,
    work: complex,
    critical: complex,
    *,
    quantum: complex,
    spin: bool = False,
    limit: float = 3e5,
) -> MarkovChain:
    """Yield the chain of threads that work and then enter a critical section, again and again.

    Both take a core for an exponential time. A thread that finds the lock taken gives up its core
    and sleeps, to be made the holder in its turn; or it spins on its core. A core's time slice ends
    after an exponential time, if somebody has no core; then one of those gets it at random. A free
    core is taken at once. A spin lock that is let go is taken by one who spins on a core, else by
    the first spinner to get one, or who asks meanwhile.

    Parameters
    ----------
    count, cores : threads and cores
    work, critical : mean times between and in critical sections [s]
    quantum : mean time slice of a core [s]
    spin : whether those who wait spin
    limit : states at most

    Raises
    ------
    ModelError : a count or a time is out of range
    """
    if count < 1 or cores < 1:
        raise ModelError(f"threads and cores must be at least 1, got {count} and {cores}")
    times = {"work": work, "critical section": critical, "time slice": quantum}
    for name, time in times.items():
        if not 0 < complex(time).real < float("inf"):
            raise ModelError(f"the {name} of threads must take a finite time above 0 s, got {time}")
    rates = 1 / work, 1 / critical, 1 / quantum
    first = _At(min(count, cores), max(0, count - cores), 0, 0, 0)

    def moves(at: _At) -> Iterator[_Move]:
        yield from _asks(at, rates[0], count, cores, spin)
        yield from _lets_go(at, rates[1], count, cores)
        yield from _slices(at, rates[2])

    return explore_states(first, moves, limit=limit)


def _asks(at: _At, rate: complex, count: int, cores: int, spin: bool) -> Iterator[_Move]:
    """Let one who works ask for the lock."""
    if not at.working:
        return
    fewer = at._replace(working=at.working - 1)
    if at.holder == 0:
        yield fewer._replace(holder=1), rate * at.working
    elif spin:
        yield fewer._replace(spinning=at.spinning + 1), rate * at.working
    else:
        yield from _filled(fewer, rate * at.working, cores)


def _lets_go(at: _At, rate: complex, count: int, cores: int) -> Iterator[_Move]:
    """Let the holder go back to work on its core; a sleeper is handed the lock, a spinner on a
    core takes it.
    """
    if at.holder != 1:
        return
    free = at._replace(holder=0, working=at.working + 1)
    asleep = count - at.working - at.ready - at.spinning - at.stalled - 1
    if asleep:
        # Woken without a core: it gets the next one that is free, or a time slice.
        yield from _filled(free._replace(holder=2), rate, cores)
    elif at.spinning:
        yield free._replace(spinning=at.spinning - 1, holder=1), rate
    else:
        yield free, rate


def _slices(at: _At, rate: complex) -> Iterator[_Move]:
    """End a time slice of one who runs, in favour of one who has no core."""
    if not at.ready + at.stalled + (at.holder == 2):
        return
    off = [
        (at.working, at._replace(working=at.working - 1, ready=at.ready + 1)),
        (at.spinning, at._replace(spinning=at.spinning - 1, stalled=at.stalled + 1)),
        (int(at.holder == 1), at._replace(holder=2)),
    ]
    for many, without in off:
        if many:
            yield from _given(without, rate * many, at)


def _filled(at: _At, rate: complex, cores: int) -> Iterator[_Move]:
    """Yield a free core to one who has none."""
    if at.running < cores and at.ready + at.stalled + (at.holder == 2):
        yield from _given(at, rate, at)
    else:
        yield at, rate


def _given(at: _At, rate: complex, choice: _At) -> Iterator[_Move]:
    """Yield a core to one of those who have none in `choice`, at random; a spinner who finds the
    lock free takes it.
    """
    without = choice.ready + choice.stalled + (choice.holder == 2)
    if choice.ready:
        yield at._replace(working=at.working + 1, ready=at.ready - 1), rate * choice.ready / without
    if choice.stalled:
        runs = {"holder": 1} if at.holder == 0 else {"spinning": at.spinning + 1}
        yield at._replace(stalled=at.stalled - 1, **runs), rate * choice.stalled / without
    if choice.holder == 2:
        yield at._replace(holder=1), rate / without
