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
class _Part:
    """What is waited for others at one visit: how many they are, how many of them served, and how long it takes."""

    ahead: Array
    used: Array
    time: Array
    service: Span

    def scaled(self, factor: Array) -> _Part:
        return _Part(self.ahead * factor, self.used * factor, self.time * factor, self.service)


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
    behind : how many at one visit, the first, are there because of others at another, the second [1]
    """

    others: int
    present: Mapping[int, Array]
    served: Mapping[int, Array]
    services: Mapping[int, Span]
    crowded: Mapping[str, Array]
    packed: Mapping[str, Array]
    behind: Mapping[tuple[int, int], Array]

    def waits(
        self, queues: Sequence[Queue], often: Mapping[int, Array], means: Mapping[int, Array]
    ) -> tuple[dict[int, Span], dict[tuple[int, int], Array]]:
        """Give the time until service begins at each visit; where servers are shared, by how much longer it takes.

        Also how much of it is due to others at each other visit.
        """
        parts = {}
        of = {}
        for queue in queues:
            for visit in queue.visits:
                of[visit.index] = (queue, visit)
                for other, part in self._parts(queue, visit, means.get(visit.index)).items():
                    parts[visit.index, other.index] = part
        self._limit(queues, often, parts)
        waits = {index: self._wait(*of[index], parts, means.get(index)) for index in of}
        return waits, {key: part.time for key, part in parts.items()}

    def _parts(self, queue: Queue, visit: Visit, own: Array | None) -> dict[Visit, _Part]:
        found = {}
        busy = np.zeros(1)
        for other in queue.visits:
            weight = self._weight(visit, other)
            if not weight:
                continue
            waiting = weight * (self._seen(visit, other, queue) - self.served[other.index])
            used = weight * self.served[other.index]
            found[other] = (waiting, used)
            busy = busy + used
        full = self.crowded[queue.name] if queue.servers > 1 else busy
        share = full / (busy + 1e-300)
        return {other: self._part(queue, other, waiting, share * used, own) for other, (waiting, used) in found.items()}

    def _part(self, queue: Queue, other: Visit, waiting: Array, used: Array, own: Array | None) -> _Part:
        span = self.services[other.index]
        if queue.sharing:
            return _Part(waiting + used, used, (waiting + used) * own / queue.servers, span)
        scv = span.variance / (span.mean * span.mean + 1e-300)
        left = span.mean * ((1 + scv) + (1 - scv) * self.packed[queue.name]) / 2
        return _Part(waiting + used, used, (waiting * span.mean + used * left) / queue.servers, span)

    def _limit(self, queues, often, parts) -> None:
        for queue in queues:
            if not queue.lock:
                continue
            holds = sum((often[visit.index] for visit in queue.visits), np.zeros(1))
            for each in queues:
                inside = [visit for visit in each.visits if queue.name in visit.held]
                for other in each.visits:
                    if queue.name in other.held or not inside:
                        continue
                    keys = [(visit.index, other.index) for visit in inside if (visit.index, other.index) in parts]
                    total = sum((often[a] * parts[a, b].time for a, b in keys), np.zeros(1))
                    most = often[other.index] * self.services[other.index].mean if keys else 0
                    for key in keys:
                        factor = np.where(total.real > most.real, most / (total + 1e-300), 1.0)
                        parts[key] = parts[key].scaled(factor)

    def _wait(self, queue: Queue, visit: Visit, parts, own) -> Span:
        mine = [part for (a, _), part in parts.items() if a == visit.index]
        if not mine:
            return Span(np.zeros(1), np.zeros(1), "constant")
        mean = sum((part.time for part in mine), np.zeros(1))
        ahead = sum((part.ahead for part in mine), np.zeros(1))
        full = sum((part.used for part in mine), np.zeros(1))
        if queue.sharing:
            stretch = ahead / queue.servers
            varied = self.services[visit.index].variance * (stretch * stretch + 2 * stretch)
        else:
            varied = sum((part.ahead * part.service.variance for part in mine), np.zeros(1)) / queue.servers**2
        each = mean / (ahead + 1e-300)
        return Span(mean, varied + _variance(ahead, full, self.others) * each * each)

    def _seen(self, visit: Visit, other: Visit, queue: Queue) -> Array:
        """Count those at another visit, but for the time they were kept by those who need a lock held here."""
        found = self.present[other.index]
        if visit.held:
            for third in queue.visits:
                if not visit.meets(third) and (other.index, third.index) in self.behind:
                    found = found - self.behind[other.index, third.index]
        return found

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
