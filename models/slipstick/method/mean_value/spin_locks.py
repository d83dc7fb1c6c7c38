"""Spin locks: the load of waiting processors on the station that holds the lock's word, and the
time of a hand-over.

With n - 1 others present, a processor that releases a lock leaves as many waiting as an arriving
one finds (in product form, exactly). Their load on the word's station depends on the kind of lock:

- test-and-set: each waiting processor repeats its access to the word, so it is always at the
  station, or pauses;
- test-and-test-and-set, ticket: waiting processors read their own copies; all of them access the
  word when the lock is released, and the next holder may release it before that burst is over;
- array and mcs: no load beyond the accesses that `visits` counts.

Mean hand-over times are the laws of `law.spin_locks`. Sources: Anderson, IEEE Trans. Parallel
and Distributed Systems 1(1), 1990, 6-16 (counts of accesses, bursts); Mellor-Crummey and Scott, ACM
TOCS 9(1), 1991, 21-65 (ticket and queue locks). How these laws enter the recursion is derived here.
Against simulation of 2 to 64 processors the time errs by less than 5 % in the median and by up to
15 %, with back-off by up to 50 % (tests/method/mean_value/test_spin_locks.py); more near the size
at which spinning saturates the word's station, where two states can both last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.late import np
from slipstick.law.spin_locks import TEST_AND_SET_HANDOFF_BACKOFF, TICKET_HANDOFF
from slipstick.method.mean_value.arrivals import ArrivalState
from slipstick.model.system import Lock, Model
from slipstick.random_times import (
    Array,
    RandomTime,
    added,
    clamped,
    largest,
    nonzero,
    smallest,
)
from slipstick.structure.visits import LockAccess, Numbers, Queue, Visit

BURST_ACCESSES = {"ttas": 2.0, "ticket": 1.0}
"""Accesses of each waiting processor at a release: a read and a failed attempt, or a read of the
counter.

Source: Anderson 1990."""

BURST_LEFT = {"ttas": 2.0, "ticket": 0.5}
"""Of these, the accesses that follow when the next holder has the lock: all, or half of them,
because the read of the next ticket holder is equally likely at any place in the burst."""

BURST_AREA = {"ttas": 1.5, "ticket": 0.5}
"""Integral of the number waiting over a burst of s processors, in s^2 accesses: s attempts that
find s there, then s reads that find s, s - 1, ..., 1 (s^2 / 2)."""

CONGESTION_STEPS = 40
"""Fixed-point steps for the number of processors that a congested lock keeps waiting, which begin
with all of them; times are within 2e-11 of those of 400 steps (72 models of the construct "spin
locks" of benchmarks/mean_value.py)."""


@dataclass(frozen=True, slots=True)
class _LockUse:
    """The use of a lock: mean number present, utilization, and the time of one hold [1, 1, s]."""

    present: Array
    busy: Array
    held: Array

    @property
    def waiting(self) -> Array:
        return clamped(self.present - self.busy)

    @property
    def at_hand_over(self) -> Array:
        """The number of processors that spin at a hand-over: at least one."""
        return clamped(self.present + 1 - self.busy, 1.0)


class SpinLock:
    """A spin lock and the station that holds its word.

    Parameters
    ----------
    model : that has the lock
    queue : of the lock
    queues : of the model, one of which may be the station that holds the lock's word
    """

    def __init__(self, model: Model, queue: Queue, queues: Sequence[Queue]) -> None:
        lock = model.resources[queue.name]
        assert isinstance(lock, Lock)
        self.lock = lock
        self.queue = queue
        self.word = next((queue for queue in queues if queue.name == lock.word), None)

    def at(self, state: ArrivalState, numbers: Numbers) -> Spinning:
        """Return the spinning that an arriving processor finds."""
        return Spinning(self, state, numbers)


class Spinning:
    """The spinning at a lock, as an arriving processor finds it.

    Parameters
    ----------
    spin_lock : the lock
    state : found on arrival
    numbers : of the model

    Attributes
    ----------
    use : how the lock is used; its utilization is the probability that the lock is handed over to a
        waiting processor
    """

    def __init__(self, spin_lock: SpinLock, state: ArrivalState, numbers: Numbers) -> None:
        self.lock = spin_lock.lock
        self.queue = spin_lock.queue
        self.word = spin_lock.word
        self._state = state
        self._numbers = numbers
        self._access = numbers[spin_lock.lock.access]
        self.use = self._lock_use()
        waiting_visits = [
            v.index
            for v in (self.word.visits if self.word is not None else ())
            if v.index in state.services
        ]
        self._other_work = added(
            state.present[index] * state.services[index].mean for index in waiting_visits
        )
        """Work of the processors at the word's station that do not spin [s]."""
        self._utilization = added(state.served[index] for index in waiting_visits)

    def _lock_use(self) -> _LockUse:
        """Return the use of the lock at all its visits."""
        present = np.zeros(1)
        busy = np.zeros(1)
        rate = np.zeros(1)
        for visit in self.queue.visits:
            present = present + self._state.present.get(visit.index, 0.0)
            busy = busy + self._state.served.get(visit.index, 0.0)
            if visit.index in self._state.services:
                rate = rate + self._state.served[visit.index] / nonzero(
                    self._state.services[visit.index].mean
                )
        present, busy, rate = (value / self.queue.copies for value in (present, busy, rate))
        busy = clamped(busy, high=1.0)
        return _LockUse(present, busy, busy / nonzero(rate))

    def load(self) -> Array:
        """Return the load of spinning on the word's station, as a processor without the lock finds
        it.

        Returns
        -------
        mean number of servers that spinning processors occupy, their mean number there, and their
        accesses a second [1, 1, 1/s] [3, points]
        """
        access = self._access
        use = self.use
        waiting = self.use.waiting
        idle = clamped(1 - self._utilization)
        if self.lock.kind == "tas":
            access_share, access_time = self._test_and_set(waiting)
            present = access_share * waiting
            # Spinning takes no more than what the other accesses leave of the station.
            busy = smallest([present * access / nonzero(access_time), idle])
            return np.stack(np.broadcast_arrays(busy, present, busy / nonzero(access)))
        # The rate of releases that find a waiting processor: U / H releases a second, of which a
        # part U is a hand-over.
        releases = use.busy * use.busy / nonzero(use.held)
        burst = use.at_hand_over
        busy = smallest([releases * BURST_ACCESSES[self.lock.kind] * burst * access, idle])
        present = smallest(
            [releases * BURST_AREA[self.lock.kind] * burst * burst * access, waiting]
        )
        return np.stack(np.broadcast_arrays(busy, largest([present, busy]), busy / nonzero(access)))

    def waits(self, uncontended: Mapping[int, RandomTime]) -> dict[int, Array]:
        """Return the waits that spinning adds: at the word for its accesses, and at the lock for
        hand-overs [s].

        Parameters
        ----------
        uncontended : service at each visit without waits
        """
        use = self.use
        hand_over = self.hand_over(self.use.at_hand_over)
        # Services found on arrival contain a hand-over with the probability that the lock was busy;
        # the rest is added.
        waits = {
            visit.index: use.present * hand_over * (1 - use.busy) for visit in self.queue.visits
        }
        if self.word is None:
            return waits
        wait_for_accesses = self.load()[1] * self._access / self.word.servers
        waits.update(
            {
                visit.index: wait_for_accesses
                for visit in self.word.visits
                if self.queue.name not in visit.held
            }
        )
        congested = self._congested(uncontended)
        # The congested state is taken only where it keeps more processors waiting than mean value
        # found.
        lasts = congested.real > use.present.real
        use = _LockUse(
            np.where(lasts, congested, use.present), np.where(lasts, 1.0, use.busy), use.held
        )
        return {**waits, **self._holder_waits(use, uncontended)}

    def _congested(self, uncontended: Mapping[int, RandomTime]) -> Array:
        """Return the number of processors that a congested lock keeps waiting: the largest s with s
        = n - Z / H(s).

        Z is the time that a processor spends elsewhere in a cycle. The more processors wait, the
        longer a lock is held and handed over, H(s). So two states can both last, one with few
        waiting and one with many; mean value takes the second, which lasts longer.
        """
        use = self.use
        members = self._state.members.get(self.queue.name, self._state.others)
        elsewhere = (members - use.present) / nonzero(use.busy) * use.held
        lock, *_ = self.queue.visits
        present = np.full(1, float(members))
        for _ in range(CONGESTION_STEPS):
            congested = _LockUse(present, np.ones(1), use.held)
            waits = self._holder_waits(congested, uncontended)
            waited = added(waits.values()) / len(self.queue.visits)
            held = uncontended[lock.index].mean + waited + self.hand_over(congested.at_hand_over)
            present = clamped(members - elsewhere / nonzero(held))
        return present

    def _holder_waits(
        self, use: _LockUse, uncontended: Mapping[int, RandomTime]
    ) -> dict[int, Array]:
        """Return the waits that spinning adds to the holder of the lock, at each visit to the
        word's station [s].
        """
        waits_by_visit: dict[int, Array] = {}
        if self.word is None:
            return waits_by_visit
        access = self._access / self.word.servers
        for visit in (visit for visit in self.word.visits if self.queue.name in visit.held):
            if self.lock.kind == "tas":
                access_share, _ = self._test_and_set(use.present)
                waits_by_visit[visit.index] = access_share * use.present * access
            elif isinstance(visit.step, LockAccess) and visit.step.releases:
                waits_by_visit[visit.index] = self._rest_of_burst(visit, use, access, uncontended)
        return waits_by_visit

    def hand_over(self, waiting: Array) -> Array:
        """Return the time from a release until the next processor has the lock, of a number of
        processors that spin [s].
        """
        access = self._access
        # The laws count the release, which is done while the lock is held.
        match self.lock.kind:
            case "tas":
                law: Array = TEST_AND_SET_HANDOFF_BACKOFF.equation(waiting, self._pause(), access)
                taken = law - access
            case "ticket":
                taken = TICKET_HANDOFF.equation(waiting, access) - access
            case _:
                taken = access
        hand_over_time: Array = taken + self._other_work / (waiting + 1)
        return hand_over_time

    def _rest_of_burst(
        self, visit: Visit, use: _LockUse, access: Array, uncontended: Mapping[int, RandomTime]
    ) -> Array:
        """Return the rest of a burst of accesses of length m when the lock is released after a time
        S [s].

        E (m - S)+ is m - S (1 - exp(-m / S)) for an exponential S and (m - S)+ for a constant one;
        in between it is interpolated by the scv (chosen here, exact in both limits).
        """
        lock, *_ = self.queue.visits
        body = uncontended[lock.index]
        mean = clamped(body.mean - uncontended[visit.index].mean)
        burst = BURST_LEFT[self.lock.kind] * use.present * access
        residual = burst - mean * (1 - np.exp(-burst / nonzero(mean)))
        scv = clamped(body.scv, high=1.0)
        rest_of_burst: Array = use.busy * (scv * residual + (1 - scv) * clamped(burst - mean))
        return rest_of_burst

    def _test_and_set(self, spinning: Array) -> tuple[Array, Array]:
        """Return the fraction of its time that a spinning processor is at the word, and the time y
        of an access [1, s].

        With pauses d the part is y / (y + d), and y = a (1 + (s - 1) y / (y + d)) and the work of
        others there: the arrival theorem for s spinning processors, solved for y.
        """
        pause = self._pause()
        access = self._access
        # The positive root of y^2 - 2 half y - (a + w) d = 0, which the equation of the arrival
        # theorem becomes.
        half = (access * clamped(spinning, 1.0) + self._other_work - pause) / 2
        work_of_others_and_access = self._other_work + access
        time = half + np.sqrt(nonzero(half * half + work_of_others_and_access * pause))
        return time / nonzero(time + pause), time

    def _pause(self) -> Array:
        """Return the mean pause between two accesses [s]. Pauses that double add up to the wait so
        far, so that the last pause is about as long as that wait.
        """
        base = self._numbers[self.lock.base]
        if self.lock.back_off == "none":
            return 0 * base
        if self.lock.back_off == "constant":
            return base
        # The mean of the wait so far: on average half of the wait, as many holds as processors
        # spin, has passed.
        return smallest(
            [base + self.use.at_hand_over * self.use.held / 2, self._numbers[self.lock.most]]
        )
