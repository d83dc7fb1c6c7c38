"""Spin locks: what those who wait do to the station that holds the lock's word, and how long a hand-over takes.

While n - 1 others are about, one who holds a lock finds, as it lets the lock go, those waiting whom it would have
found coming (in product form, exactly). Each spinner that looks at the word without rest is always there, waiting or
served; a rest between two looks keeps it away for part of the time. Where waiters watch copies of their own, they
come all at once when the lock is let go, and the next holder may finish before that burst is over.

Queue locks, array and mcs, send nothing but the accesses that `tree` counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.law.lock import TEST_AND_SET_HANDOFF_BACKOFF, TICKET_HANDOFF
from slipstick.method.mean_value.arrivals import Crowd
from slipstick.method.mean_value.maxima import Array, Span, plus
from slipstick.method.mean_value.quantities import Numbers
from slipstick.method.mean_value.visits import SPINNING, Access, Queue, Visit
from slipstick.model.resources import Lock
from slipstick.model.system import Model

ATTEMPTS = {"ttas": 2.0, "ticket": 1.0}
"""Accesses of each waiter when the lock is let go: a failed attempt and a read, or a read of the counter."""

LEFT = {"ttas": 2.0, "ticket": 0.5}
"""Of these, those still to come when the next holder has the lock."""

STEPS = 40
"""Steps from all waiting down to as many as a crowded lock keeps waiting."""

AREA = {"ttas": 1.5, "ticket": 0.5}
"""Accesses times their number waiting, of a burst of s waiters, in parts of s^2: s attempts find s there, then s reads
find ever fewer."""


@dataclass(frozen=True, slots=True)
class Load:
    """What spinners do to the station of their word.

    Parameters
    ----------
    busy : of its time that they take [1]
    present : of them there, in the mean [1]
    calls : accesses of theirs [1/s]
    """

    busy: Array
    present: Array
    calls: Array

    @classmethod
    def none(cls) -> Load:
        """Give the load of nobody."""
        return cls(np.zeros(1), np.zeros(1), np.zeros(1))

    def beside(self, other: Load) -> Load:
        """Add the spinners at another lock."""
        return Load(self.busy + other.busy, self.present + other.present, self.calls + other.calls)


@dataclass(frozen=True, slots=True)
class _Seen:
    """How a lock is used: those there, those holding it or being handed it, and the time each holds it [1, 1, s]."""

    there: Array
    busy: Array
    held: Array

    @property
    def waiting(self) -> Array:
        return _positive(self.there - self.busy)

    @property
    def in_line(self) -> Array:
        """Count the spinners at a hand-over: one at least."""
        return _at_least(self.there + 1 - self.busy, 1.0)


class Spinners:
    """The spinning at one lock.

    Parameters
    ----------
    lock : that is spun on
    queue : of those who ask for it
    word : the queue of the station that holds its word; None if looking costs nothing
    """

    def __init__(self, lock: Lock, queue: Queue, word: Queue | None) -> None:
        self.lock, self.queue, self.word = lock, queue, word

    @staticmethod
    def of(model: Model, queues: Sequence[Queue]) -> tuple[Spinners, ...]:
        """Find the locks that are spun on."""
        by_name = {queue.name: queue for queue in queues}
        found = []
        for queue in queues:
            lock = model.resources.get(queue.name)
            if isinstance(lock, Lock) and lock.kind in SPINNING:
                found.append(Spinners(lock, queue, None if lock.word is None else by_name[lock.word]))
        return tuple(found)

    def load(self, crowd: Crowd, numbers: Numbers) -> Load:
        """Give what the spinners do to the station of the word, as one sees who does not hold the lock."""
        return self._load(crowd, numbers, self._seen(crowd))

    def kept(self, crowd: Crowd, numbers: Numbers, free: Mapping[int, Span]) -> Array:
        """Give how many a crowded lock keeps there: the largest s = n - Z / H(s), Z the time that one spends elsewhere.

        The more wait, the longer a lock is held and handed over, H(s). So once it is crowded it may stay so, though
        few wait at first: both can last, and the crowd is what lasts longer.
        """
        seen = self._seen(crowd)
        members = crowd.asking.get(self.queue.name, crowd.others)
        away = (members - seen.there) / plus(seen.busy) * seen.held
        (lock, *_) = self.queue.visits
        there = np.full(1, float(members))
        for _ in range(STEPS):
            crowded = _Seen(there, np.ones(1), seen.held)
            inside = self._inside(crowd, numbers, crowded, free)
            rest = sum(inside.values(), np.zeros(1)) / len(self.queue.visits)
            held = free[lock.index].mean + rest + self._handed(crowd, numbers, crowded.in_line)
            there = _positive(members - away / plus(held))
        return there

    def waits(self, crowd: Crowd, numbers: Numbers, free: Mapping[int, Span]) -> dict[int, Array]:
        """Give the waits that spinning adds: at the word for those in the way, and at the lock for hand-overs [s].

        Parameters
        ----------
        crowd : that is found
        numbers : of the model
        free : service at each visit with nobody in the way
        """
        seen = self._seen(crowd)
        handed = self.hand_over(crowd, numbers)
        # What the services of the crowd have of hand-overs already is not added again.
        found = {visit.index: seen.there * handed * (1 - seen.busy) for visit in self.queue.visits}
        if self.word is None:
            return found
        outside = self._load(crowd, numbers, seen).present * numbers[self.lock.access] / self.word.servers
        found.update({visit.index: outside for visit in self.word.visits if self.queue.name not in visit.held})
        kept = self.kept(crowd, numbers, free)
        stays = kept.real > seen.there.real
        crowded = _Seen(np.where(stays, kept, seen.there), np.where(stays, 1.0, seen.busy), seen.held)
        return {**found, **self._inside(crowd, numbers, crowded, free)}

    def _inside(self, crowd: Crowd, numbers: Numbers, seen: _Seen, free: Mapping[int, Span]) -> dict[int, Array]:
        """Give the waits that spinning adds to who holds the lock, at each visit [s]."""
        found: dict[int, Array] = {}
        if self.word is None:
            return found
        access = numbers[self.lock.access] / self.word.servers
        for visit in (visit for visit in self.word.visits if self.queue.name in visit.held):
            if self.lock.kind == "tas":
                near, _ = self._looking(crowd, numbers, seen.there)
                found[visit.index] = near * seen.there * access
            elif isinstance(visit.step, Access) and visit.step.releases:
                found[visit.index] = self._rest_of_burst(visit, seen, access, free)
        return found

    def hand_over(self, crowd: Crowd, numbers: Numbers) -> Array:
        """Give the time from letting the lock go until the next one has it, where one waits [s]."""
        return self._handed(crowd, numbers, self._seen(crowd).in_line)

    def _handed(self, crowd: Crowd, numbers: Numbers, line: Array) -> Array:
        access = numbers[self.lock.access]
        # The laws count the release, which is done while the lock is held.
        match self.lock.kind:
            case "tas":
                law: Array = TEST_AND_SET_HANDOFF_BACKOFF.equation(line, self._pause(crowd, numbers), access)
                taken = law - access
            case "ticket":
                taken = TICKET_HANDOFF.equation(line, access) - access
            case _:
                taken = access
        whole: Array = taken + self._others(crowd) / (line + 1)
        return whole

    def chance(self, crowd: Crowd) -> Array:
        """Give the chance that a lock is handed over to one who waits."""
        return self._seen(crowd).busy

    def _seen(self, crowd: Crowd) -> _Seen:
        there, busy, time = np.zeros(1), np.zeros(1), np.zeros(1)
        for visit in self.queue.visits:
            there = there + crowd.present.get(visit.index, 0.0)
            busy = busy + crowd.served.get(visit.index, 0.0)
            if visit.index in crowd.services:
                time = time + crowd.served[visit.index] / plus(crowd.services[visit.index].mean)
        busy = np.where(busy.real < 1, busy, 1.0)
        return _Seen(there, busy, busy / plus(time))

    def _load(self, crowd: Crowd, numbers: Numbers, seen: _Seen) -> Load:
        access, waiting = numbers[self.lock.access], seen.waiting
        free = _positive(1 - self._used(crowd))
        if self.lock.kind == "tas":
            near, look = self._looking(crowd, numbers, waiting)
            there = near * waiting
            busy = _at_most(there * access / plus(look), free)
            return Load(busy, there, busy / plus(access))
        rate = seen.busy * seen.busy / plus(seen.held)
        line = seen.in_line
        busy = _at_most(rate * ATTEMPTS[self.lock.kind] * line * access, free)
        there = _at_most(rate * AREA[self.lock.kind] * line * line * access, waiting)
        return Load(busy, _at_least(there, busy), busy / plus(access))

    def _rest_of_burst(self, visit: Visit, seen: _Seen, access: Array, free: Mapping[int, Span]) -> Array:
        r"""Give what is left of a burst m when the lock is let go after S, m - S (1 - exp(-m / S)) for a random S."""
        (lock, *_) = self.queue.visits
        body = free[lock.index]
        mean = _positive(body.mean - free[visit.index].mean)
        burst = LEFT[self.lock.kind] * seen.there * access
        left = burst - mean * (1 - np.exp(-burst / plus(mean)))
        scv = _at_most(body.scv, 1.0)
        rest: Array = seen.busy * (scv * left + (1 - scv) * _positive(burst - mean))
        return rest

    def _looking(self, crowd: Crowd, numbers: Numbers, spinners: Array) -> tuple[Array, Array]:
        """Give the part of the time that a test-and-set spinner is at the word, and the time y of a look [1, s].

        With pauses d the part is y / (y + d), and y = a (1 + (s - 1) y / (y + d)) and the work of others there.
        """
        pause, access = self._pause(crowd, numbers), numbers[self.lock.access]
        before = access * _at_least(spinners, 1.0) + self._others(crowd)
        half = (before - pause) / 2
        ahead = self._others(crowd) + access
        time = half + np.sqrt(plus(half * half + ahead * pause))
        return time / plus(time + pause), time

    def _pause(self, crowd: Crowd, numbers: Numbers) -> Array:
        """Give the mean rest between two looks; one that doubles is as long as what was waited before."""
        base = numbers[self.lock.base]
        if self.lock.back_off == "none":
            return 0 * base
        if self.lock.back_off == "constant":
            return base
        seen = self._seen(crowd)
        return _at_most(base + seen.in_line * seen.held / 2, numbers[self.lock.most])

    def _others(self, crowd: Crowd) -> Array:
        """Add up the work of those at the word's station who do not spin [s]."""
        visits = () if self.word is None else self.word.visits
        return sum(
            (crowd.present[v.index] * crowd.services[v.index].mean for v in visits if v.index in crowd.services),
            np.zeros(1),
        )

    def _used(self, crowd: Crowd) -> Array:
        visits = () if self.word is None else self.word.visits
        return sum((crowd.served[v.index] for v in visits if v.index in crowd.served), np.zeros(1))


def _positive(value: Array) -> Array:
    found: Array = np.where(value.real > 0, value, 0 * value)
    return found


def _at_least(value: Array, least: Array | float) -> Array:
    found: Array = np.where(value.real > np.real(least), value, least)
    return found


def _at_most(value: Array, most: Array | float) -> Array:
    found: Array = np.where(value.real < np.real(most), value, most)
    return found
