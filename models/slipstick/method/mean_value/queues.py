"""What one who arrives finds at each queue: the mean number of others there, and how long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.method.mean_value.spans import Array, Span
from slipstick.method.mean_value.tree import Visit
from slipstick.model.system import Lock, Model, Station, is_processor

__all__ = ["PROCESSORS", "Crowd", "Queue", "queues_of"]

PROCESSORS = "own"
"""The queue of all processors, each a station of its own; answers call it so."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A station, a lock, or all processors.

    Parameters
    ----------
    name : in answers
    visits : the places in the tree where it is joined
    servers : how many serve at once, at each processor
    sharing : served all at once, each more slowly
    lock : service is what is done under it
    """

    name: str
    visits: tuple[Visit, ...]
    servers: int = 1
    sharing: bool = False
    lock: bool = False


def queues_of(model: Model, visits: Sequence[Visit]) -> tuple[Queue, ...]:
    """List the queues of a model, in the order of their first visits."""
    grouped: dict[str, list[Visit]] = {}
    for visit in visits:
        grouped.setdefault(PROCESSORS if is_processor(visit.queue) else visit.queue, []).append(visit)
    return tuple(_queue(model, name, tuple(each)) for name, each in grouped.items())


def _queue(model: Model, name: str, visits: tuple[Visit, ...]) -> Queue:
    match model.resources.get(name):
        case Station(servers, discipline):
            return Queue(name, visits, servers, discipline == "ps")
        case Lock():
            return Queue(name, visits, lock=True)
        case _:
            return Queue(name, visits)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The others: how many there are at each visit, in the mean.

    Parameters
    ----------
    others : how many there are in all [1]
    present : at each visit, waiting or served [1]
    served : at each visit, being served [1]
    services : service time at each visit
    crowded : of each queue of several servers, the chance that all are busy [1]
    packed : of each queue, how nearly it never runs empty [1]
    """

    others: int
    present: Mapping[int, Array]
    served: Mapping[int, Array]
    services: Mapping[int, Span]
    crowded: Mapping[str, Array]
    packed: Mapping[str, Array]

    def wait(self, queue: Queue, visit: Visit, service: Span) -> Span:
        """Give the time until service begins; where servers are shared, by how much longer it takes."""
        if not self.others:
            return Span(np.zeros(1), np.zeros(1), "constant")
        waiting = busy = work = left = spread = np.zeros(1)
        for other in queue.visits:
            weight = self._weight(visit, other)
            if not weight:
                continue
            span = self.services[other.index]
            idle = weight * (self.present[other.index] - self.served[other.index])
            used = weight * self.served[other.index]
            scv = span.variance / (span.mean * span.mean + 1e-300)
            waiting, busy = waiting + idle, busy + used
            work = work + idle * span.mean
            left = left + used * span.mean * ((1 + scv) + (1 - scv) * self.packed[queue.name]) / 2
            spread = spread + (idle + used) * span.variance
        full = self.crowded[queue.name] if queue.servers > 1 else busy
        ahead = waiting + full
        if queue.sharing:
            stretch = ahead / queue.servers
            mean = service.mean * stretch
            varied = service.variance * (stretch * stretch + 2 * stretch)
            return Span(mean, varied + _variance(ahead, full, self.others) * (service.mean / queue.servers) ** 2)
        share = full / (busy + 1e-300)
        mean = (work + share * left) / queue.servers
        each = (work + left) / (waiting + busy + 1e-300) / queue.servers
        varied = spread / (waiting + busy + 1e-300) * ahead / queue.servers**2
        return Span(mean, varied + _variance(ahead, full, self.others) * each * each)

    def _weight(self, visit: Visit, other: Visit) -> float:
        """Say what part of those at another visit is in the way of one at this."""
        if not visit.meets(other):
            return 0.0
        if not is_processor(visit.queue):
            return 1.0
        return _among_processors(visit.queue, other.queue, self.others)


def _among_processors(asked: str, other: str, others: int) -> float:
    """Give the chance that a request of one of the others goes to the processor that is asked.

    With n processors: each of the n - 1 others asks one of its n - 1 others; a numbered one is any.
    """
    n = others + 1
    away = ("other", "each-other")
    if asked == "own":
        return 0.0 if other == "own" else 1 / others if other in away else 1 / n
    if asked in away:
        if other == "own":
            return 1 / others
        return (others - 1) / others**2 if other in away else 1 / n
    return float(asked == other) if other not in ("own", *away) else 1 / n


def _variance(ahead: Array, full: Array, others: int) -> Array:
    """Give the variance of how many are ahead: geometric while all servers are busy, less near the limit."""
    varied = ahead * ahead * (2 / (full + 1e-300) - 1) - ahead
    scaled = varied * (1 - ahead / others)
    return np.where(scaled.real > 0, scaled, 0 * scaled)
