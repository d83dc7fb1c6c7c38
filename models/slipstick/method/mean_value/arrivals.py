"""What one who arrives finds at each queue: the mean number of others there, and how long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slipstick.method.mean_value.maxima import NO_WAIT, Array, Span, plus
from slipstick.method.mean_value.visits import Queue, Visit, weight

Because = dict[tuple[int, int], Array]
"""Time waited at one visit, the first, because of others at another, the second [s]."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What is waited for others at one visit: how many are ahead, how many of them served, and how long it takes."""

    ahead: Array
    used: Array
    time: Array
    service: Span

    def scaled(self, factor: Array) -> _Part:
        return _Part(self.ahead * factor, self.used * factor, self.time * factor, self.service)


Parts = dict[tuple[int, int], _Part]


@dataclass(frozen=True, slots=True)
class Views:
    """Waits at each visit, and because of whom."""

    waits: Mapping[int, Span]
    because: Because


@dataclass(frozen=True, slots=True)
class Crowd:
    """The others: how many there are at each visit, in the mean.

    Parameters
    ----------
    others : how many there are in all, infinitely many of an open stream [1]
    present : at each visit, waiting or served [1]
    served : at each visit, being served [1]
    services : service time at each visit
    crowded : of each queue of several servers, the chance that all are busy [1]
    packed : of each queue, how nearly it never runs empty, so that services begin where others end [1]
    asking : members who ever join a queue, where that is not all of them [1]
    behind : how many at one visit, the first, wait because of others at another, the second [1]
    """

    others: float = 0
    present: Mapping[int, Array] = field(default_factory=dict)
    served: Mapping[int, Array] = field(default_factory=dict)
    services: Mapping[int, Span] = field(default_factory=dict)
    crowded: Mapping[str, Array] = field(default_factory=dict)
    packed: Mapping[str, Array] = field(default_factory=dict)
    behind: Because = field(default_factory=dict)
    asking: Mapping[str, float] = field(default_factory=dict)

    def views(self, queues: Sequence[Queue], often: Mapping[int, Array], means: Mapping[int, Array]) -> Views:
        r"""Give the wait at each visit, as one who arrives finds it.

        At a first-come station of c servers, with q present and u served, each for a time S of given scv::

            W = sum_j [(q_j - u_j) S_j + u_j S_j (1 + scv_j) / 2] P(all busy) / u / c

        where the residual time goes over to a whole typical service as the queue never runs empty, for then one
        arrives as a service ends. Where servers are
        shared, W is by how much longer the service takes.

        Parameters
        ----------
        queues : of the model
        often : visits in a cycle [1]
        means : own service time at each visit of a station [s]
        """
        if not self.others:
            return Views({}, {})
        parts: Parts = {}
        for queue in queues:
            for visit in queue.visits:
                parts.update(self._parts(queue, visit, means.get(visit.index)))
        self._follow(queues, parts)
        self._limit(queues, often, parts)
        waits = {
            visit.index: self._wait(queue, visit, [part for (a, _), part in parts.items() if a == visit.index])
            for queue in queues
            for visit in queue.visits
        }
        return Views(waits, {key: part.time for key, part in parts.items()})

    def _parts(self, queue: Queue, visit: Visit, own: Array | None) -> Parts:
        seen = {}
        busy: Array = np.zeros(1)
        for other in queue.visits:
            part = weight(visit, other, self.others)
            if not queue.sharing and visit.left & other.held:
                # The next holder comes when this one has gone on.
                part = 0.0
            if part:
                used = part * self.served[other.index]
                seen[other] = (part * self._seen(visit, other, queue) - used, used)
                busy = busy + used
        full = self.crowded[queue.name] if queue.servers > 1 else busy
        share = full / plus(busy)
        often = sum((used / plus(self.services[other.index].mean) for other, (_, used) in seen.items()), np.zeros(1))
        typical = busy / plus(often)
        return {
            (visit.index, other.index): self._part(queue, other, waiting, share * used, own, typical)
            for other, (waiting, used) in seen.items()
        }

    def _part(
        self, queue: Queue, other: Visit, waiting: Array, used: Array, own: Array | None, typical: Array
    ) -> _Part:
        span = self.services[other.index]
        if queue.sharing:
            assert own is not None
            return _Part(waiting + used, used, (waiting + used) * own / queue.servers, span)
        packed = self.packed[queue.name]
        left = (1 - packed) * span.mean * (1 + span.scv) / 2 + packed * typical
        return _Part(waiting + used, used, (waiting * span.mean + used * left) / queue.servers, span)

    def _seen(self, visit: Visit, other: Visit, queue: Queue) -> Array:
        """Count those at another visit, but for the time they were kept by those who need a lock held here."""
        found = self.present[other.index]
        if visit.held:
            for third in queue.visits:
                if not visit.meets(third) and (other.index, third.index) in self.behind:
                    found = found - self.behind[other.index, third.index]
        return found

    def _follow(self, queues: Sequence[Queue], parts: Parts) -> None:
        """Let one who has waited for a lock find, at its first queue, who let it go and went on to the same queue."""
        held = {queue.name: sum((self.served[v.index] for v in queue.visits), np.zeros(1)) for queue in queues}
        for queue in queues:
            pairs = [(a, b) for a in queue.visits for b in queue.visits if a.taken and a.taken in b.left]
            for visit, other in pairs:
                part, chance = parts.get((visit.index, other.index)), held[visit.taken]
                if part is not None and not queue.sharing:
                    time = chance * part.service.mean / queue.servers
                    longer = time.real > part.time.real
                    ahead = np.where(longer, chance, part.ahead)
                    time = np.where(longer, time, part.time)
                    parts[visit.index, other.index] = _Part(ahead, part.used, time, part.service)

    def _limit(self, queues: Sequence[Queue], often: Mapping[int, Array], parts: Parts) -> None:
        """Let nobody wait longer under a lock than the others' work lasts: they are in the way of one holder at a time."""
        for lock in (queue.name for queue in queues if queue.lock):
            for queue in queues:
                inside = [visit for visit in queue.visits if lock in visit.held]
                for other in queue.visits:
                    keys = [(visit.index, other.index) for visit in inside if (visit.index, other.index) in parts]
                    if keys and lock not in other.held:
                        waited = sum((often[a] * parts[a, b].time for a, b in keys), np.zeros(1))
                        work = often[other.index] * self.services[other.index].mean
                        factor = np.where(waited.real > work.real, work / plus(waited), 1.0)
                        parts.update({key: parts[key].scaled(factor) for key in keys})

    def _wait(self, queue: Queue, visit: Visit, mine: Sequence[_Part]) -> Span:
        if not mine:
            return NO_WAIT
        mean = sum((part.time for part in mine), np.zeros(1))
        ahead = sum((part.ahead for part in mine), np.zeros(1))
        full = sum((part.used for part in mine), np.zeros(1))
        if queue.sharing:
            stretch = ahead / queue.servers
            varied = self.services[visit.index].variance * (stretch * stretch + 2 * stretch)
        else:
            varied = sum((part.ahead * part.service.variance for part in mine), np.zeros(1)) / queue.servers**2
        each = mean / plus(ahead)
        return Span(mean, varied + self._variance(ahead, full) * each * each)

    def _variance(self, ahead: Array, full: Array) -> Array:
        """Give the variance of how many are ahead: geometric while all servers are busy, less near the limit."""
        # Several requests of one processor may be ahead while its servers are never all busy.
        chance = np.where(full.real > 1e-6 * ahead.real, full, ahead / (1 + ahead))
        varied = (ahead * ahead * (2 / plus(chance) - 1) - ahead) * (1 - ahead / self.others)
        return np.where(varied.real > 0, varied, 0 * varied)
