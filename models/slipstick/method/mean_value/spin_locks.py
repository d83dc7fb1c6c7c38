"""Spin locks: the load of waiting processors on the station that holds the lock's word, and the time of a hand-over.

With n - 1 others present, a processor that releases a lock leaves as many waiting as an arriving one finds (in product
form, exactly). Their load on the word's station depends on the kind of lock:

- test-and-set: each waiting processor repeats its access to the word, so it is always at the station, or pauses;
- test-and-test-and-set, ticket: waiting processors read their own copies; all of them access the word when the lock is
  released, and the next holder may release it before that burst is over;
- array and mcs: no load beyond the accesses that `visits` counts.

Mean hand-over times are the laws of `law.synchronization`. Sources: Anderson, IEEE Trans. Parallel and Distributed Systems 1(1),
1990, 6-16 (counts of accesses, bursts); Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, 21-65 (ticket and queue locks).
How these laws enter the recursion is derived here. Against simulation of 2 to 64 processors the time errs by less than 5 % in
the median and by up to 15 %, with back-off by up to 50 % (tests/method/mean_value/test_spin_locks.py); more near the size at
which spinning saturates the word's station, where two states can both last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.late import np
from slipstick.law.synchronization import TEST_AND_SET_HANDOFF_BACKOFF, TICKET_HANDOFF
from slipstick.method.mean_value.visits import ArrivalState, LockAccess, Numbers, Queue, Visit
from slipstick.model.system import Lock, Model
from slipstick.random_times import Array, RandomTime, added, clamped, largest, nonzero, smallest

BURST_ACCESSES = {"ttas": 2.0, "ticket": 1.0}
"""Accesses of each waiting processor at a release: a read and a failed attempt, or a read of the counter.

Source: Anderson 1990."""

BURST_LEFT = {"ttas": 2.0, "ticket": 0.5}
"""Of these, the accesses that follow when the next holder has the lock: all, or half of them, because the read of the next
ticket holder is equally likely at any place in the burst."""

BURST_AREA = {"ttas": 1.5, "ticket": 0.5}
"""Integral of the number waiting over a burst of s processors, in s^2 accesses: s attempts that find s there, then s
reads that find s, s - 1, ..., 1 (s^2 / 2)."""

CONGESTION_STEPS = 40
"""Fixed-point steps for the number of processors that a congested lock keeps waiting, which begin with all of them."""


@dataclass(frozen=True, slots=True)
class _LockUse:
    """How a lock is used: mean number present, utilization, and the time of one hold [1, 1, s]."""

    present: Array
    busy: Array
    held: Array

    @property
    def waiting(self) -> Array:
        return clamped(self.present - self.busy)

    @property
    def at_hand_over(self) -> Array:
        """Give the number that spin at a hand-over: at least one."""
        return clamped(self.present + 1 - self.busy, 1.0)


class SpinLock:
    """The spinning at one lock.

    Parameters
    ----------
    model : that has the lock
    queue : of the lock
    queues : of the model, one of which may be the station that holds the lock's word
    """

    def __init__(self, model: Model, queue: Queue, queues: Sequence[Queue]) -> None:
        lock = model.resources[queue.name]
        assert isinstance(lock, Lock)
        self.lock, self.queue = lock, queue
        self.word = next((each for each in queues if each.name == lock.word), None)

    def load(self, state: ArrivalState, numbers: Numbers) -> Array:
        """Give the load of spinning on the word's station, as a processor finds it that does not hold the lock.

        Returns
        -------
        mean number of servers that spinning processors occupy, their mean number there, and their accesses a second
        [1, 1, 1/s] [3, points]
        """
        return self._load(state, numbers, self._use(state))

    def waits(self, state: ArrivalState, numbers: Numbers, uncontended: Mapping[int, RandomTime]) -> dict[int, Array]:
        """Give the waits that spinning adds: at the word for its accesses, and at the lock for hand-overs [s].

        Parameters
        ----------
        state : found on arrival
        numbers : of the model
        uncontended : service at each visit without waits
        """
        use = self._use(state)
        hand_over = self.hand_over(state, numbers)
        # Services found on arrival contain a hand-over with the probability that the lock was busy; the rest is added.
        found = {visit.index: use.present * hand_over * (1 - use.busy) for visit in self.queue.visits}
        if self.word is None:
            return found
        outside = self._load(state, numbers, use)[1] * numbers[self.lock.access] / self.word.servers
        found.update({visit.index: outside for visit in self.word.visits if self.queue.name not in visit.held})
        congested = self._congested(state, numbers, uncontended)
        lasts = congested.real > use.present.real
        use = _LockUse(np.where(lasts, congested, use.present), np.where(lasts, 1.0, use.busy), use.held)
        return {**found, **self._holder_waits(state, numbers, use, uncontended)}

    def hand_over(self, state: ArrivalState, numbers: Numbers) -> Array:
        """Give the time from a release until the next processor has the lock, if any waits [s]."""
        return self._hand_over(state, numbers, self._use(state).at_hand_over)

    def contended(self, state: ArrivalState) -> Array:
        """Give the probability that a lock is handed over to a waiting processor."""
        return self._use(state).busy

    def _congested(self, state: ArrivalState, numbers: Numbers, uncontended: Mapping[int, RandomTime]) -> Array:
        """Give the number that a congested lock keeps waiting: the largest s with s = n - Z / H(s).

        Z is the time that a processor spends elsewhere in a cycle. The more processors wait, the longer a lock is held and
        handed over, H(s). So two states can both last, one with few waiting and one with many; mean value takes the second,
        which lasts longer.
        """
        use = self._use(state)
        members = state.members.get(self.queue.name, state.others)
        elsewhere = (members - use.present) / nonzero(use.busy) * use.held
        (lock, *_) = self.queue.visits
        present = np.full(1, float(members))
        for _ in range(CONGESTION_STEPS):
            congested = _LockUse(present, np.ones(1), use.held)
            waits = self._holder_waits(state, numbers, congested, uncontended)
            waited = added(waits.values()) / len(self.queue.visits)
            held = uncontended[lock.index].mean + waited + self._hand_over(state, numbers, congested.at_hand_over)
            present = clamped(members - elsewhere / nonzero(held))
        return present

    def _holder_waits(
        self, state: ArrivalState, numbers: Numbers, use: _LockUse, uncontended: Mapping[int, RandomTime]
    ) -> dict[int, Array]:
        """Give the waits that spinning adds to the holder of the lock, at each visit to the word's station [s]."""
        found: dict[int, Array] = {}
        if self.word is None:
            return found
        access = numbers[self.lock.access] / self.word.servers
        for visit in (visit for visit in self.word.visits if self.queue.name in visit.held):
            if self.lock.kind == "tas":
                part, _ = self._test_and_set(state, numbers, use.present)
                found[visit.index] = part * use.present * access
            elif isinstance(visit.step, LockAccess) and visit.step.releases:
                found[visit.index] = self._rest_of_burst(visit, use, access, uncontended)
        return found

    def _hand_over(self, state: ArrivalState, numbers: Numbers, waiting: Array) -> Array:
        access = numbers[self.lock.access]
        # The laws count the release, which is done while the lock is held.
        match self.lock.kind:
            case "tas":
                law: Array = TEST_AND_SET_HANDOFF_BACKOFF.equation(waiting, self._pause(state, numbers), access)
                taken = law - access
            case "ticket":
                taken = TICKET_HANDOFF.equation(waiting, access) - access
            case _:
                taken = access
        whole: Array = taken + self._other_work(state) / (waiting + 1)
        return whole

    def _use(self, state: ArrivalState) -> _LockUse:
        present, busy, rate = np.zeros(1), np.zeros(1), np.zeros(1)
        for visit in self.queue.visits:
            present = present + state.present.get(visit.index, 0.0)
            busy = busy + state.served.get(visit.index, 0.0)
            if visit.index in state.services:
                rate = rate + state.served[visit.index] / nonzero(state.services[visit.index].mean)
        present, busy, rate = (each / self.queue.copies for each in (present, busy, rate))
        busy = clamped(busy, high=1.0)
        return _LockUse(present, busy, busy / nonzero(rate))

    def _load(self, state: ArrivalState, numbers: Numbers, use: _LockUse) -> Array:
        access, waiting = numbers[self.lock.access], use.waiting
        idle = clamped(1 - self._utilization(state))
        if self.lock.kind == "tas":
            part, access_time = self._test_and_set(state, numbers, waiting)
            present = part * waiting
            busy = smallest([present * access / nonzero(access_time), idle])
            return np.stack(np.broadcast_arrays(busy, present, busy / nonzero(access)))
        releases = use.busy * use.busy / nonzero(use.held)
        burst = use.at_hand_over
        busy = smallest([releases * BURST_ACCESSES[self.lock.kind] * burst * access, idle])
        present = smallest([releases * BURST_AREA[self.lock.kind] * burst * burst * access, waiting])
        return np.stack(np.broadcast_arrays(busy, largest([present, busy]), busy / nonzero(access)))

    def _rest_of_burst(
        self, visit: Visit, use: _LockUse, access: Array, uncontended: Mapping[int, RandomTime]
    ) -> Array:
        """Give the rest of a burst of length m when the lock is released after a time S.

        E (m - S)+ is m - S (1 - exp(-m / S)) for an exponential S and (m - S)+ for a constant one; in between it is
        interpolated by the scv (chosen here, exact in both limits).
        """
        (lock, *_) = self.queue.visits
        body = uncontended[lock.index]
        mean = clamped(body.mean - uncontended[visit.index].mean)
        burst = BURST_LEFT[self.lock.kind] * use.present * access
        left = burst - mean * (1 - np.exp(-burst / nonzero(mean)))
        scv = clamped(body.scv, high=1.0)
        rest: Array = use.busy * (scv * left + (1 - scv) * clamped(burst - mean))
        return rest

    def _test_and_set(self, state: ArrivalState, numbers: Numbers, spinning: Array) -> tuple[Array, Array]:
        """Give the part of its time that a spinning processor is at the word, and the time y of an access [1, s].

        With pauses d the part is y / (y + d), and y = a (1 + (s - 1) y / (y + d)) and the work of others there: the
        arrival theorem for s spinning processors, solved for y.
        """
        pause, access = self._pause(state, numbers), numbers[self.lock.access]
        half = (access * clamped(spinning, 1.0) + self._other_work(state) - pause) / 2
        alone = self._other_work(state) + access
        time = half + np.sqrt(nonzero(half * half + alone * pause))
        return time / nonzero(time + pause), time

    def _pause(self, state: ArrivalState, numbers: Numbers) -> Array:
        """Give the mean pause between two accesses; pauses that double add up to the wait so far, so the last is as long."""
        base = numbers[self.lock.base]
        if self.lock.back_off == "none":
            return 0 * base
        if self.lock.back_off == "constant":
            return base
        use = self._use(state)
        return smallest([base + use.at_hand_over * use.held / 2, numbers[self.lock.most]])

    def _other_work(self, state: ArrivalState) -> Array:
        """Add up the work of the processors at the word's station that do not spin [s]."""
        visits = () if self.word is None else self.word.visits
        return added(state.present[v.index] * state.services[v.index].mean for v in visits if v.index in state.services)

    def _utilization(self, state: ArrivalState) -> Array:
        visits = () if self.word is None else self.word.visits
        return added(state.served[v.index] for v in visits if v.index in state.served)
