"""Spin locks: the load of waiting processors on the station that holds the lock's word, and the
time of a hand-over.

With n - 1 others present, a processor that releases a lock leaves as many waiting as an arriving
one finds (in product form, exactly). Their load on the word's station depends on the kind of lock:

- test-and-set: each waiting processor repeats its access to the word, so it is always at the
  station, or pauses;
- test-and-test-and-set, ticket: waiting processors read their own copies; all of them access the
  word when the lock is released, and the next holder may release it before that burst is over;
- array and mcs: no load beyond the accesses that `visits` counts.

Mean hand-over times are the laws of `slipstick_laws.spin_locks`. Sources: Anderson, IEEE Trans.
Parallel and Distributed Systems 1(1), 1990, 6-16 (counts of accesses, bursts); Mellor-Crummey and
Scott, ACM TOCS 9(1), 1991, 21-65 (ticket and queue locks). How these laws enter the recursion
is derived here.
Against simulation of 2 to 64 processors the time errs by less than 5 % in the median and by up to
15 %, with back-off by up to 50 % (tests/method/mean_value/test_spin_locks.py); more near the size
at which spinning saturates the word's station, where two states can both last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.late import dataclass, np
from slipstick.model.system import Lock, Model
from slipstick.random_times import (
    Array,
    RandomTime,
    largest_at_points,
    limited_to_range,
    smallest_at_points,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.visits import LockAccess, Numbers, Visit
from slipstick_laws.spin_locks import TEST_AND_SET_HANDOFF_BACKOFF, TICKET_HANDOFF
from slipstick_mean_value.arrivals import ArrivalState
from slipstick_mean_value.queues import Queue

BURST_ACCESSES = {"ttas": 2.0, "ticket": 1.0}
"""Number of accesses of each waiting processor at a release: a read and a failed attempt, or a read
of the counter.

Source: Anderson 1990."""

BURST_LEFT = {"ttas": 2.0, "ticket": 0.5}
"""Number of the accesses of `BURST_ACCESSES` that follow when the next holder has the lock: all, or
half of them, because the read of the next ticket holder is equally likely at any place in the
burst.
"""

BURST_AREA = {"ttas": 1.5, "ticket": 0.5}
"""Integral of the number waiting over a burst of s processors, in s^2 accesses: s attempts that
find s there, then s reads that find s, s - 1, ..., 1 (s^2 / 2)."""

CONGESTION_STEPS = 40
"""Number of fixed-point steps for the number of processors that a congested lock keeps waiting,
which begin with all of them; times are within 2e-11 of those of 400 steps (72 models of the
construct "spin locks" of benchmarks/mean_value.py).
"""


@dataclass(frozen=True, slots=True)
class _LockUse:
    """The use of a lock.

    Parameters
    ----------
    number_present : mean number of processors that wait for the lock or hold it [1]
    utilization : fraction of time in which the lock is held [1]
    holding_time : mean time for which a processor holds it [s]
    """

    number_present: Array
    utilization: Array
    holding_time: Array

    @property
    def number_waiting(self) -> Array:
        """Return the mean number of processors that wait for the lock [1]."""
        return limited_to_range(self.number_present - self.utilization)

    @property
    def spinning_at_hand_over(self) -> Array:
        """Return the mean number of processors that spin when the lock is handed over; at least
        one [1].
        """
        return limited_to_range(self.number_present + 1 - self.utilization, 1.0)


class SpinLock:
    """A spin lock and the station that holds its word.

    Parameters
    ----------
    model : the model, whose resources describe the lock
    queue : the queue for the lock
    queues : queues of the model, one of which may be the station that holds the lock's word

    Attributes
    ----------
    word_queue : the station that holds the lock's word; None if there is none
    """

    def __init__(self, model: Model, queue: Queue, queues: Sequence[Queue]) -> None:
        lock = model.resources[queue.name]
        assert isinstance(lock, Lock)
        self.lock = lock
        self.queue = queue
        self.word_queue = next(
            (word_queue for word_queue in queues if word_queue.name == lock.word), None
        )

    def spinning_at(self, state: ArrivalState, value_by_expr: Numbers) -> Spinning:
        """Return the processors that spin at this lock in the state that an arriving processor
        finds.
        """
        return Spinning(self, state, value_by_expr)


class Spinning:
    """The processors that spin at a lock, as an arriving processor finds them.

    Parameters
    ----------
    spin_lock : the lock
    state : mean state that the arriving processor finds
    value_by_expr : every number of the model

    Attributes
    ----------
    lock_use : how the lock is used; its utilization is the probability that the lock is handed over
        to a waiting processor
    """

    def __init__(self, spin_lock: SpinLock, state: ArrivalState, value_by_expr: Numbers) -> None:
        self.lock = spin_lock.lock
        self.queue = spin_lock.queue
        self.word_queue = spin_lock.word_queue
        self._state = state
        self._value_by_expr = value_by_expr
        self._access_time = value_by_expr[spin_lock.lock.access]
        self.lock_use = self._lock_use()
        visits_of_word = [
            visit.index
            for visit in (self.word_queue.visits if self.word_queue is not None else ())
            if visit.index in state.services
        ]
        self._other_work = sum_of_columns(
            state.present[visit_index] * state.services[visit_index].mean
            for visit_index in visits_of_word
        )
        """Work of the processors at the word's station that do not spin [s]."""
        self._word_utilization = sum_of_columns(
            state.in_service[visit_index] for visit_index in visits_of_word
        )

    def _lock_use(self) -> _LockUse:
        """Return the use of the lock, added up over all visits at which it is acquired."""
        number_present = np.zeros(1)
        utilization = np.zeros(1)
        release_rate = np.zeros(1)
        for visit in self.queue.visits:
            number_present = number_present + self._state.present.get(visit.index, 0.0)
            utilization = utilization + self._state.in_service.get(visit.index, 0.0)
            if visit.index in self._state.services:
                release_rate = release_rate + self._state.in_service[visit.index] / without_zeros(
                    self._state.services[visit.index].mean
                )
        number_present, utilization, release_rate = (
            number_at_all_copies / self.queue.copies
            for number_at_all_copies in (number_present, utilization, release_rate)
        )
        utilization = limited_to_range(utilization, high=1.0)
        return _LockUse(number_present, utilization, utilization / without_zeros(release_rate))

    def numbers_at_word(self) -> Array:
        """Return the mean numbers of spinning processors at the word's station, as a processor
        without the lock finds them.

        Returns
        -------
        mean number of servers that they occupy, mean number of them at the station, and their
        accesses to the word in a second [1, 1, 1/s] [3, points]
        """
        access_time = self._access_time
        lock_use = self.lock_use
        number_waiting = self.lock_use.number_waiting
        idle_share = limited_to_range(1 - self._word_utilization)
        if self.lock.kind == "tas":
            access_share, time_at_word = self._share_and_time_of_access(number_waiting)
            number_present = access_share * number_waiting
            # Spinning occupies the station for no more time than the other accesses leave idle.
            busy_servers = smallest_at_points(
                [number_present * access_time / without_zeros(time_at_word), idle_share]
            )
            return np.stack(
                np.broadcast_arrays(
                    busy_servers, number_present, busy_servers / without_zeros(access_time)
                )
            )
        # The rate of releases that find a waiting processor: U / H releases a second, of which a
        # part U is a hand-over.
        release_rate = (
            lock_use.utilization * lock_use.utilization / without_zeros(lock_use.holding_time)
        )
        burst_size = lock_use.spinning_at_hand_over
        busy_servers = smallest_at_points(
            [release_rate * BURST_ACCESSES[self.lock.kind] * burst_size * access_time, idle_share]
        )
        number_present = smallest_at_points(
            [
                release_rate * BURST_AREA[self.lock.kind] * burst_size * burst_size * access_time,
                number_waiting,
            ]
        )
        return np.stack(
            np.broadcast_arrays(
                busy_servers,
                largest_at_points([number_present, busy_servers]),
                busy_servers / without_zeros(access_time),
            )
        )

    def waits(self, service_alone: Mapping[int, RandomTime]) -> dict[int, Array]:
        """Return the waits that spinning processors add at each visit [s]: waits for their accesses
        at the station of the word, and waits for hand-overs at the lock.

        Parameters
        ----------
        service_alone : service at each visit without waits
        """
        lock_use = self.lock_use
        hand_over_time = self.time_of_hand_over(self.lock_use.spinning_at_hand_over)
        # The services that an arriving processor finds already contain a hand-over, with the
        # probability that the lock was busy; the hand-overs of the remaining cases are added.
        wait_by_visit = {
            visit.index: lock_use.number_present * hand_over_time * (1 - lock_use.utilization)
            for visit in self.queue.visits
        }
        if self.word_queue is None:
            return wait_by_visit
        wait_for_accesses = self.numbers_at_word()[1] * self._access_time / self.word_queue.servers
        wait_by_visit.update(
            {
                visit.index: wait_for_accesses
                for visit in self.word_queue.visits
                if self.queue.name not in visit.held_resources
            }
        )
        congested_number = self._congested_number(service_alone)
        # The congested state is assumed only where it has more waiting processors than the state
        # that mean value found.
        stays_congested = congested_number.real > lock_use.number_present.real
        lock_use = _LockUse(
            np.where(stays_congested, congested_number, lock_use.number_present),
            np.where(stays_congested, 1.0, lock_use.utilization),
            lock_use.holding_time,
        )
        return {**wait_by_visit, **self._holder_waits(lock_use, service_alone)}

    def _congested_number(self, service_alone: Mapping[int, RandomTime]) -> Array:
        """Return the number of processors that a congested lock keeps waiting [1]: the largest s
        with s = n - Z / H(s), for n processors.

        Z is the time that a processor spends elsewhere in a cycle, and H(s) the time for which a
        lock is held and handed over while s processors wait. The more of them wait, the larger is
        H(s). So there can be two stable states, with few and with many waiting processors; mean
        value takes the second, which lasts longer.
        """
        lock_use = self.lock_use
        member_count = self._state.members_by_queue.get(
            self.queue.name, self._state.other_processors
        )
        time_elsewhere = (
            (member_count - lock_use.number_present)
            / without_zeros(lock_use.utilization)
            * lock_use.holding_time
        )
        lock_visit, *_ = self.queue.visits
        number_present = np.full(1, float(member_count))
        for _ in range(CONGESTION_STEPS):
            congested_use = _LockUse(number_present, np.ones(1), lock_use.holding_time)
            waits = self._holder_waits(congested_use, service_alone)
            mean_wait = sum_of_columns(waits.values()) / len(self.queue.visits)
            holding_time = (
                service_alone[lock_visit.index].mean
                + mean_wait
                + self.time_of_hand_over(congested_use.spinning_at_hand_over)
            )
            number_present = limited_to_range(
                member_count - time_elsewhere / without_zeros(holding_time)
            )
        return number_present

    def _holder_waits(
        self, lock_use: _LockUse, service_alone: Mapping[int, RandomTime]
    ) -> dict[int, Array]:
        """Return the waits of the holder of the lock for accesses of spinning processors, at each
        visit to the word's station [s].
        """
        waits_by_visit: dict[int, Array] = {}
        if self.word_queue is None:
            return waits_by_visit
        access_time = self._access_time / self.word_queue.servers
        for visit in (
            visit for visit in self.word_queue.visits if self.queue.name in visit.held_resources
        ):
            if self.lock.kind == "tas":
                access_share, _ = self._share_and_time_of_access(lock_use.number_present)
                waits_by_visit[visit.index] = access_share * lock_use.number_present * access_time
            elif isinstance(visit.step, LockAccess) and visit.step.releases_lock:
                waits_by_visit[visit.index] = self._rest_of_burst(
                    visit, lock_use, access_time, service_alone
                )
        return waits_by_visit

    def time_of_hand_over(self, spinning_processors: Array) -> Array:
        """Return the time from a release until the next of a number of spinning processors has the
        lock [s].
        """
        access_time = self._access_time
        # The laws count the release, which is done while the lock is held.
        match self.lock.kind:
            case "tas":
                hand_over_by_law: Array = TEST_AND_SET_HANDOFF_BACKOFF.equation(
                    spinning_processors, self._mean_pause(), access_time
                )
                time_after_release = hand_over_by_law - access_time
            case "ticket":
                time_after_release = (
                    TICKET_HANDOFF.equation(spinning_processors, access_time) - access_time
                )
            case _:
                time_after_release = access_time
        hand_over_time: Array = time_after_release + self._other_work / (spinning_processors + 1)
        return hand_over_time

    def _rest_of_burst(
        self,
        visit: Visit,
        lock_use: _LockUse,
        access_time: Array,
        service_alone: Mapping[int, RandomTime],
    ) -> Array:
        """Return the time that a burst of accesses still takes when the next holder releases the
        lock [s].

        The burst takes a time m and the release comes after a time S of mean s. E (m - S)+ is m - s
        (1 - exp(-m / s)) for an exponential S and (m - s)+ for a constant one; for an scv between 0
        and 1 it is interpolated linearly (chosen here, exact in both limits).
        """
        lock_visit, *_ = self.queue.visits
        body_service = service_alone[lock_visit.index]
        mean_before_release = limited_to_range(body_service.mean - service_alone[visit.index].mean)
        burst_time = BURST_LEFT[self.lock.kind] * lock_use.number_present * access_time
        exponential_rest = burst_time - mean_before_release * (
            1 - np.exp(-burst_time / without_zeros(mean_before_release))
        )
        scv = limited_to_range(body_service.scv, high=1.0)
        rest_of_burst: Array = lock_use.utilization * (
            scv * exponential_rest + (1 - scv) * limited_to_range(burst_time - mean_before_release)
        )
        return rest_of_burst

    def _share_and_time_of_access(self, spinning_processors: Array) -> tuple[Array, Array]:
        """Return the fraction of its time that a spinning processor is at the word [1], and the
        time y of an access, wait included [s].

        With pauses d that fraction is y / (y + d). The arrival theorem for s spinning processors
        gives y = a (1 + (s - 1) y / (y + d)) + w, with the time a of an access without waits and
        the work w of other processors at the station; it is solved for y.
        """
        pause = self._mean_pause()
        access_time = self._access_time
        # The positive root of y^2 - 2 half y - (a + w) d = 0, which the equation of the arrival
        # theorem becomes.
        half_sum = (
            access_time * limited_to_range(spinning_processors, 1.0) + self._other_work - pause
        ) / 2
        work_of_others_and_access = self._other_work + access_time
        time_at_word = half_sum + np.sqrt(
            without_zeros(half_sum * half_sum + work_of_others_and_access * pause)
        )
        return time_at_word / without_zeros(time_at_word + pause), time_at_word

    def _mean_pause(self) -> Array:
        """Return the mean pause between two accesses of a spinning processor [s]. Where each pause
        is twice the one before, the pauses add up to the wait so far, so that the last pause is
        about as long as that wait.
        """
        base_pause = self._value_by_expr[self.lock.base]
        if self.lock.back_off == "none":
            return 0 * base_pause
        if self.lock.back_off == "constant":
            return base_pause
        # On average half of the wait has passed; the whole wait is one holding time for each of the
        # processors that spin.
        return smallest_at_points(
            [
                base_pause + self.lock_use.spinning_at_hand_over * self.lock_use.holding_time / 2,
                self._value_by_expr[self.lock.most],
            ]
        )
