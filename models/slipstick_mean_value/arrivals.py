"""Waits of an arriving processor at each visit.

By the arrival theorem, one of n processors that arrives at a queue finds the mean numbers of the
population with one processor fewer: q_j present and u_j in service at visit j, each served for a
time S_j. Its wait W at a first-come station of c servers is::

    W = [sum_j (q_j - u_j) S_j + P(all busy) / u sum_j u_j R_j] / c
    u = sum_j u_j,  R_j = S_j (1 + scv_j) / 2

and where servers are shared, W = S (q - u + P(all busy)) / c is the time by which the service takes
longer. The rules beyond that, each an approximation of its own:

- *whole service*: the less often the queue is empty, the more R_j approaches a whole typical
  service (`whole_service_weight`); where services vary more than exponential ones, R_j is that of
  machine repair (`finite_source_residual`);
- *simultaneous possession*: a lock, or a number of permits, is a queue whose service is all that is
  done while it is held, waits included, as in the method of surrogate delays (Source: Jacobson and
  Lazowska, CACM 25(2), 1982, 142-151). Corrections of the numbers found keep it from counting
  processors that the lock keeps elsewhere: `_met_fraction`, `_present_count_at`,
  `_add_predecessors` and `_limit_to_work`, derived there. Against Markov chains of a lock whose
  body uses a station that is used outside it too, the time errs by 1 % in the median and 4 % in 95
  of 100 (tests/method/mean_value/test_arrivals.py). What only holders of some permits use is solved
  for each number of them (`FlowEquivalentServer` in `closed`);
- *variance of the wait*: the number ahead is taken as geometric (`_variance_of_number_ahead`).

Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322 (arrival theorem, exact in product form);
Reiser, IBM J. Res. Dev. 23(4), 1979 (residual services). Checked by benchmarks/mean_value.py,
constructs "stations", "locks" and "permits".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from slipstick.late import dataclass, field, np, replace
from slipstick.model.system import is_processor
from slipstick.queueing.residual_wait import erlang_b, finite_source_all_busy, residual_time
from slipstick.random_times import (
    ZERO_TIME,
    Array,
    RandomTime,
    largest_at_points,
    limited_to_range,
    remainder_after_gap,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.visits import OTHER_PROCESSORS, Visit
from slipstick_mean_value.in_a_row import SuccessiveVisits
from slipstick_mean_value.queues import Queue


def competing_fraction(visit: Visit, met_visit: Visit, other_processors: float) -> float:
    """Return the fraction of the processors at the visit `met_visit` that compete for a server with
    a processor at `visit` [1].

    Processors that hold or need a lock that is held at `visit` do not compete. A request for
    "another processor" goes to each of the other processors with equal probability, a request for a
    numbered processor to that processor. So each of n - 1 other processors has 1 / (n - 1) of its
    requests at a certain processor, and a request meets a request of a third processor there with
    the probability (n - 2) / (n - 1)^2.

    Parameters
    ----------
    visit, met_visit : visits to one queue
    other_processors : number of other processors [1]
    """
    if not visit.can_meet(met_visit):
        return 0.0
    if not is_processor(visit.queue):
        return 1.0
    # Two visits to `own` are visits of two processors, each to its own, so that they never meet.
    own_processor = visit.queue
    met_processor = met_visit.queue
    if own_processor == "own":
        return (
            0.0
            if met_processor == "own"
            else 1 / other_processors
            if met_processor in OTHER_PROCESSORS
            else 1 / (other_processors + 1)
        )
    if own_processor in OTHER_PROCESSORS:
        if met_processor == "own":
            return 1 / other_processors
        return (
            (other_processors - 1) / other_processors**2
            if met_processor in OTHER_PROCESSORS
            else 1 / (other_processors + 1)
        )
    return (
        float(own_processor == met_processor)
        if met_processor not in ("own", *OTHER_PROCESSORS)
        else 1 / (other_processors + 1)
    )


PairTimes = dict[tuple[int, int], Array]
"""By two visits: the time that a processor at the first waits for processors at the second [s]."""


ByPlace = dict[tuple[int, ...], Array]
"""Shares of the customers at a queue, one for each place of the cycle where it is visited [1] [...,
places]. The key lists the index of the visit at each of these places.
"""


@dataclass(frozen=True, slots=True)
class _Delay:
    """The part of a processor's wait at one visit that is caused by the processors at another
    visit.

    Parameters
    ----------
    number_ahead : mean number of them that the processor finds there [1]
    number_served : mean number of these that are in service [1]
    mean_wait : mean time that the processor waits for them [s]
    service : service time of each of them
    """

    number_ahead: Array
    number_served: Array
    mean_wait: Array
    service: RandomTime

    def scaled(self, delay_factor: Array) -> _Delay:
        """Return the delay with its numbers and its time multiplied by `delay_factor`."""
        return _Delay(
            self.number_ahead * delay_factor,
            self.number_served * delay_factor,
            self.mean_wait * delay_factor,
            self.service,
        )


_Delays = dict[tuple[int, int], _Delay]
"""Delays by the visit of the processor that waits and the visit of the processors that cause it."""


@dataclass(frozen=True, slots=True)
class ArrivalWaits:
    """Waits of an arriving processor.

    Parameters
    ----------
    waits : total wait at each visit
    wait_by_pair : parts of these waits, by the visit and the visit whose processors cause them [s]
    share_by_place : for queues whose visits immediately follow each other, the share of the
        customers present at each place of the cycle [1]
    """

    waits: dict[int, RandomTime]
    wait_by_pair: PairTimes
    share_by_place: ByPlace = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArrivalState:
    """The mean state that an arriving processor finds.

    Parameters
    ----------
    other_processors : number of processors that it finds, infinite for an open stream [1]
    present : mean number at each visit, waiting or in service [1]
    in_service : mean number in service at each visit [1]
    services : service time at each visit
    probability_all_busy : by queue, the probability that all its servers are busy, or that a lock,
        or all permits, are held [1]
    whole_service_weight : by queue, the weight of a whole service in the remaining time of a
        service that an arriving processor finds [1]
    other_holder_fraction : by the name of permits, the fraction of their holders that a holder can
        meet at a queue [1]
    number_waiting_for : by two visits, the mean number of processors at the first that wait for
        processors at the second [1]
    since_acquisition : by lock and visit, the time from the acquisition of the lock to the arrival
        at the visit under it
    members_by_queue : by queue, the number of processors that visit it in their cycles [1]
    holder_probabilities : by the name of permits whose holders are solved alone, the probabilities
        of the numbers of holders; see `FlowEquivalentServer` [1]
    share_by_place : for queues whose visits immediately follow each other, the share of those
        present at a visit that is at each place of the cycle [1]
    """

    other_processors: float = 0
    present: Mapping[int, Array] = field(default_factory=dict)
    in_service: Mapping[int, Array] = field(default_factory=dict)
    services: Mapping[int, RandomTime] = field(default_factory=dict)
    probability_all_busy: Mapping[str, Array] = field(default_factory=dict)
    whole_service_weight: Mapping[str, Array] = field(default_factory=dict)
    other_holder_fraction: Mapping[str, Array] = field(default_factory=dict)
    number_waiting_for: PairTimes = field(default_factory=dict)
    since_acquisition: Mapping[tuple[str, int], RandomTime] = field(default_factory=dict)
    members_by_queue: Mapping[str, float | Array] = field(default_factory=dict)
    holder_probabilities: Mapping[str, Array] = field(default_factory=dict)
    share_by_place: ByPlace = field(default_factory=dict)

    def waits(
        self,
        queues: Sequence[Queue],
        visit_ratios: Mapping[int, Array],
        mean_services: Mapping[int, Array],
        own_visits: Collection[int],
    ) -> ArrivalWaits:
        """Return the wait at each visit of an arriving processor, in total and by the visits whose
        processors cause it.

        Parameters
        ----------
        queues : queues of the model
        visit_ratios : visits of all processors in the time of one cycle of the arriving processor,
            by the index of the visit [1]
        mean_services : mean service at each visit to a station [s]
        own_visits : indexes of the visits of the arriving processor's group
        """
        # A processor alone finds no other.
        if not self.other_processors:
            return ArrivalWaits({}, {})
        plain_queues = [
            queue
            for queue in queues
            if not queue.order
            and not any(visit.held_resources or visit.released_locks for visit in queue.visits)
        ]
        waits = {
            visit_index: wait
            for queue in plain_queues
            for visit_index, wait in self._plain_waits(queue, mean_services).items()
        }
        # Reader-writer locks, which have an order, get their waits from a Markov chain
        # (`reader_writer_waits`).
        delays: _Delays = {}
        for queue in (queue for queue in queues if not queue.order and queue not in plain_queues):
            for visit in queue.visits:
                delays.update(self._delays_at_visit(queue, visit, mean_services.get(visit.index)))
        # Waits for predecessors are added first, so that the limit covers them too.
        self._add_predecessors(queues, visit_ratios, delays)
        self._limit_to_work(queues, visit_ratios, delays, own_visits)
        self._average_with_previous_waits(queues, delays)
        delays_of_visit: dict[int, list[_Delay]] = {}
        for (visit_index, _), delay in delays.items():
            delays_of_visit.setdefault(visit_index, []).append(delay)
        for queue in (queue for queue in queues if queue not in plain_queues):
            waits.update(
                {
                    visit.index: self._wait_at_visit(
                        queue, visit, delays_of_visit.get(visit.index, ())
                    )
                    for visit in queue.visits
                }
            )
        return ArrivalWaits(
            waits, {visit_pair: delay.mean_wait for visit_pair, delay in delays.items()}
        )

    def waits_in_a_row(
        self, visits_in_row: SuccessiveVisits, waits: Mapping[int, RandomTime]
    ) -> Array:
        """Return the mean wait at each place of the cycle where a queue is visited, for a queue
        whose visits immediately follow each other [s] [..., places].

        Parameters
        ----------
        visits_in_row : the visits to the queue
        waits : wait at each visit if the processor arrives there at a random moment
        """
        service_by_visit = {
            visit_index: self.services[visit_index].mean for visit_index in visits_in_row.visits
        }
        flow_by_visit = {
            visit_index: self.in_service[visit_index] / without_zeros(service)
            for visit_index, service in service_by_visit.items()
        }
        present_by_place = visits_in_row.stack_by_place(self.present)
        return visits_in_row.closed_waits(
            waits[visits_in_row.visits[0]].mean,
            present_by_place
            * self.share_by_place.get(visits_in_row.visits, visits_in_row.share_of_visit),
            visits_in_row.stack_by_place(service_by_visit),
            visits_in_row.stack_by_place(flow_by_visit) * visits_in_row.share_of_visit,
            self.other_processors,
        )

    def _plain_waits(
        self, queue: Queue, mean_services: Mapping[int, Array]
    ) -> dict[int, RandomTime]:
        """Return the wait at each visit of a queue at which no lock is held or has just been
        released, so that processors find the same customers at all visits.

        The customers ahead are added up once for all visits instead of for each pair of visits. The
        wait depends on the service of the visit only where servers are shared.

        Parameters
        ----------
        queue : the queue
        mean_services : mean service at each visit to a station [s]
        """
        delay_by_queue: dict[str, _Delay] = {}
        for visit in queue.visits:
            if visit.queue not in delay_by_queue:
                delays = self._delays_at_visit(queue, visit, np.ones(1)).values()
                number_ahead = sum_of_columns(delay.number_ahead for delay in delays)
                mean_wait = sum_of_columns(delay.mean_wait for delay in delays)
                mean_variance = sum_of_columns(
                    delay.number_ahead * delay.service.variance for delay in delays
                ) / without_zeros(number_ahead)
                delay_by_queue[visit.queue] = _Delay(
                    number_ahead,
                    sum_of_columns(delay.number_served for delay in delays),
                    mean_wait,
                    RandomTime(mean_wait / without_zeros(number_ahead), mean_variance),
                )
        if queue.serves_at_once:
            # The delays above are those of a service of 1 s, in proportion to which they grow.
            return {
                visit.index: self._wait_at_visit(
                    queue,
                    visit,
                    [replace(delay, mean_wait=delay.mean_wait * mean_services[visit.index])],
                )
                for visit in queue.visits
                for delay in [delay_by_queue[visit.queue]]
            }
        # Every visit of one queue has the same wait, which is computed at the first of them.
        wait_by_queue: dict[str, RandomTime] = {}
        for visit in queue.visits:
            if visit.queue not in wait_by_queue:
                delay = delay_by_queue[visit.queue]
                wait_by_queue[visit.queue] = self._wait_at_visit(queue, visit, [delay])
        return {visit.index: wait_by_queue[visit.queue] for visit in queue.visits}

    def _delays_at_visit(self, queue: Queue, visit: Visit, own_service: Array | None) -> _Delays:
        """Return the delays of a processor that arrives at a visit, one for each visit whose
        processors cause it to wait.

        Parameters
        ----------
        queue : the queue
        visit : the visit at which the processor arrives
        own_service : mean service of the processor, which its delay is proportional to at shared
            servers [s]; None elsewhere
        """
        waiting_and_served = {}
        busy_servers: Array = np.zeros(1)
        for met_visit in queue.visits:
            fraction = self._met_fraction(queue, visit, met_visit)
            if np.any(fraction):
                number_served = fraction * self.in_service[met_visit.index]
                waiting_and_served[met_visit] = (
                    fraction * self._present_count_at(visit, met_visit, queue) - number_served,
                    number_served,
                )
                busy_servers = busy_servers + number_served
        probability_all_busy = (
            self._probability_all_busy(queue, waiting_and_served)
            if queue.servers > 1
            else busy_servers
        )
        # Customers in service delay only while all servers are busy: their number is scaled so that
        # its mean is the probability of that.
        delaying_share = probability_all_busy / without_zeros(busy_servers)
        service_rate = sum_of_columns(
            number_in_service / without_zeros(self.services[met_visit.index].mean)
            for met_visit, (_, number_in_service) in waiting_and_served.items()
        )
        # A whole service in progress may be that of any visit, so the mean over all customers in
        # service is taken.
        typical_service = busy_servers / without_zeros(service_rate)
        return {
            (visit.index, met_visit.index): self._delay_of_met_visit(
                queue,
                met_visit,
                number_waiting,
                delaying_share * number_served,
                own_service,
                typical_service,
            )
            for met_visit, (number_waiting, number_served) in waiting_and_served.items()
        }

    def _met_fraction(self, queue: Queue, visit: Visit, met_visit: Visit) -> Array | float:
        """Return the fraction of the processors at another visit that an arriving processor can
        find there [1].
        """
        fraction = competing_fraction(
            visit, met_visit, self.other_processors
        ) * self._fraction_of_other_holders(visit.held_resources & met_visit.held_resources)
        fraction = fraction / queue.copies
        if queue.serves_at_once:
            return fraction
        # A processor that has just released a lock does not meet the next holder, which arrives at
        # the queue later.
        fraction = fraction * self._fraction_of_other_holders(
            visit.released_locks & met_visit.held_resources
        )
        released_by_both = (
            visit.released_locks & met_visit.released_locks
        ) - self.other_holder_fraction.keys()
        if (
            released_by_both
            and queue.servers == 1
            and any(released_by_both & third_visit.held_resources for third_visit in queue.visits)
        ):
            # Earlier holders that came to the queue after their release of the lock were served
            # before this processor's visit under the lock.
            return 0.0
        return fraction

    def _probability_all_busy(
        self, queue: Queue, waiting_and_served: Mapping[Visit, tuple[Array, Array]]
    ) -> Array:
        """Return the probability that all servers are busy with processors that an arriving
        processor can find [1].

        Parameters
        ----------
        queue : the queue
        waiting_and_served : for each visit whose processors it can find, their mean numbers waiting
            and in service
        """
        # Where no processor is excluded, the probability is that of the whole population.
        if len(waiting_and_served) == len(queue.visits) and not any(
            visit.held_resources for visit in waiting_and_served
        ):
            return self.probability_all_busy[queue.name]
        customer_count = int(self.members_by_queue[queue.name]) * queue.requests
        if not customer_count:
            return np.zeros(1)
        number_present = sum_of_columns(
            number_waiting + number_served
            for number_waiting, number_served in waiting_and_served.values()
        )
        number_served = sum_of_columns(
            number_served for _, number_served in waiting_and_served.values()
        )
        return all_busy_probability(number_present, number_served, customer_count, queue.servers)

    def _delay_of_met_visit(
        self,
        queue: Queue,
        met_visit: Visit,
        number_waiting: Array,
        number_served: Array,
        own_service: Array | None,
        typical_service: Array,
    ) -> _Delay:
        """Return the delay of an arriving processor that the processors at one visit cause.

        Parameters
        ----------
        queue : the queue
        met_visit : the visit of the processors that cause the delay
        number_waiting, number_served : mean numbers of these that wait and that are in service [1]
        own_service : mean service of the arriving processor; None if it is not needed [s]
        typical_service : mean of all services in progress at the queue [s]
        """
        service = self.services[met_visit.index]
        if queue.serves_at_once:
            assert own_service is not None
            return _Delay(
                number_waiting + number_served,
                number_served,
                (number_waiting + number_served) * own_service / queue.servers,
                service,
            )
        whole_weight = self.whole_service_weight[queue.name]
        # Between the two limits of a residual time: renewal theory where arrivals come at random, a
        # whole service near saturation, where all come while one service lasts.
        residual_service = (1 - whole_weight) * residual_time(
            service.mean, service.scv
        ) + whole_weight * typical_service
        return _Delay(
            number_waiting + number_served,
            number_served,
            (number_waiting * service.mean + number_served * residual_service) / queue.servers,
            service,
        )

    def _fraction_of_other_holders(self, shared_permits: Collection[str]) -> Array | float:
        """Return the fraction of the holders of some permits that another holder of the same
        permits can meet; 0 for a lock [1].

        Derived here: with at most c holders at a time, a holder meets min(j, c - 1) others while j
        others hold or want the resource: u - P(all busy) on average, where u is the mean number of
        holders. For a lock, c = 1, that is none.
        """
        fraction: Array | float = 1.0
        # Sorted: the order of a set changes from process to process, and with it the last digit.
        for permit_name in sorted(shared_permits):
            fraction = fraction * self.other_holder_fraction.get(permit_name, 0.0)
        return fraction

    def _present_count_at(self, visit: Visit, met_visit: Visit, queue: Queue) -> Array:
        """Return the mean number of processors at `met_visit` that a processor arriving at `visit`
        can meet [1]. Processors that wait there for an earlier holder of a lock that is held at
        `visit` are left out.

        Derived here: a processor that holds a lock never meets processors that wait at this queue
        for an earlier holder of the same lock, because it has become the holder. Of permits it is
        one of several holders.
        """
        number_present = self.present[met_visit.index]
        for waited_visit in queue.visits if visit.held_resources else ():
            shared_locks = visit.held_resources & waited_visit.held_resources
            if shared_locks and (met_visit.index, waited_visit.index) in self.number_waiting_for:
                number_present = (
                    number_present
                    - (1 - self._fraction_of_other_holders(shared_locks))
                    * self.number_waiting_for[met_visit.index, waited_visit.index]
                )
        return number_present

    def _add_predecessors(
        self, queues: Sequence[Queue], visit_ratios: Mapping[int, Array], delays: _Delays
    ) -> None:
        """Add to `delays` the time that a new holder of a lock waits at a queue for the previous
        holder, where the previous holder goes to this queue after its release of the lock and the
        new holder visits it under the lock.

        Derived here: with the probability that the lock, or all permits, are held on arrival, a
        processor acquires the lock at the moment of a release. If the releasing processor goes on
        to the same queue, its service there has begun when the new holder comes, and the rest of
        that service (`residual_service`) delays the new holder if all other servers are busy too.
        No other processor from a release of the lock can be there.
        """
        ratio_by_queue = {
            queue.name: sum_of_columns(visit_ratios[visit.index] for visit in queue.visits)
            / queue.copies
            for queue in queues
        }
        for queue in queues:
            for visit, release_visit in (
                (holding_visit, releasing_visit)
                for holding_visit in queue.visits
                for releasing_visit in queue.visits
                if holding_visit.held_resources & releasing_visit.released_locks
            ):
                delay = delays.get((visit.index, release_visit.index))
                if delay is None or queue.serves_at_once:
                    continue
                # The cycle of a group that is still empty has no such time.
                for lock in sorted(
                    lock_name
                    for lock_name in visit.held_resources & release_visit.released_locks
                    if (lock_name, visit.index) in self.since_acquisition
                ):
                    time_since_acquisition = self.since_acquisition[lock, visit.index]
                    service = delay.service
                    residual_service, _ = remainder_after_gap(
                        service.mean,
                        service.variance,
                        time_since_acquisition.mean,
                        time_since_acquisition.variance,
                    )
                    predecessor_probability = limited_to_range(
                        self.probability_all_busy[lock]
                        * visit_ratios[release_visit.index]
                        / queue.copies
                        / without_zeros(ratio_by_queue[lock]),
                        high=1.0,
                    )
                    meeting_probability = predecessor_probability * erlang_b(
                        self.in_service[release_visit.index], queue.servers - 1
                    )
                    delay_without_predecessor = delay.scaled(1 - predecessor_probability)
                    number_ahead = (
                        meeting_probability * residual_service / without_zeros(service.mean)
                    )
                    delay = replace(
                        delay_without_predecessor,
                        number_ahead=delay_without_predecessor.number_ahead + number_ahead,
                        mean_wait=delay_without_predecessor.mean_wait
                        + meeting_probability * residual_service / queue.servers,
                    )
                delays[visit.index, release_visit.index] = delay

    def _limit_to_work(
        self,
        queues: Sequence[Queue],
        visit_ratios: Mapping[int, Array],
        delays: _Delays,
        own_visits: Collection[int],
    ) -> None:
        """Limit the time that the holder of a lock waits for processors outside the lock to the
        work of these processors; change `delays` so.

        Operational: only one processor holds a lock at a time, so each service outside the lock
        delays at most one holder, once; of c permits, at most c holders. Each of s servers delays
        by 1/s of their work. The time under another lock is part of that lock's
        service. The bound always holds; where it binds, the wait is taken to be at the bound. Only
        visits of the same group are limited: how often another group comes in one cycle follows
        from the wait itself, so that a bound by that would keep a wait which is too short.
        """
        visits = [visit for queue in queues for visit in queue.visits]
        for lock_queue in (queue for queue in queues if queue.is_lock):
            holding_visits = {
                visit.index for visit in visits if lock_queue.name in visit.held_resources
            }
            pairs_under_lock = [
                visit_pair for visit_pair in delays if visit_pair[0] in holding_visits
            ]
            delaying_visits = {delaying_visit for _, delaying_visit in pairs_under_lock}
            for queue in (
                visited_queue
                for visited_queue in queues
                if any(visit.index in delaying_visits for visit in visited_queue.visits)
            ):
                for limited_visits, work_limit in self._work_limits(
                    lock_queue, queue, visits, visit_ratios, own_visits
                ):
                    limited_pairs = [
                        (waiting_visit, delaying_visit)
                        for waiting_visit, delaying_visit in pairs_under_lock
                        if delaying_visit in limited_visits
                    ]
                    total_wait = sum_of_columns(
                        visit_ratios[waiting_visit]
                        * delays[waiting_visit, delaying_visit].mean_wait
                        for waiting_visit, delaying_visit in limited_pairs
                    )
                    limiting_factor = np.where(
                        total_wait.real > work_limit.real,
                        work_limit / without_zeros(total_wait),
                        1.0,
                    )
                    delays.update(
                        {
                            visit_pair: delays[visit_pair].scaled(limiting_factor)
                            for visit_pair in limited_pairs
                        }
                    )

    def _work_limits(
        self,
        lock_queue: Queue,
        queue: Queue,
        visits: Sequence[Visit],
        visit_ratios: Mapping[int, Array],
        own_visits: Collection[int],
    ) -> list[tuple[set[int], Array]]:
        """Return sets of visits outside a lock, each with the longest time that the holders of the
        lock can wait for the processors at these visits, in one cycle [s].

        Parameters
        ----------
        lock_queue : the lock
        queue : the queue of the visits
        visits : visits to all queues
        visit_ratios, own_visits : as for `waits`
        """
        outside_visits = [
            visit
            for visit in queue.visits
            if lock_queue.name not in visit.held_resources
            and (visit.index in own_visits or not queue.serves_at_once)
        ]
        work_by_visit = [
            lock_queue.servers * visit_ratios[visit.index] * self.services[visit.index].mean
            for visit in outside_visits
        ]
        work_limits = [
            ({visit.index}, work / queue.servers)
            for visit, work in zip(outside_visits, work_by_visit, strict=True)
        ]
        if queue.is_lock and outside_visits:
            visits_under_queue = {
                visit.index
                for visit in visits
                if queue.name in visit.held_resources
                and lock_queue.name not in visit.held_resources
            }
            work_limits.append(
                (
                    visits_under_queue | {visit.index for visit in outside_visits},
                    sum_of_columns(work_by_visit),
                )
            )
        return work_limits

    def _average_with_previous_waits(self, queues: Sequence[Queue], delays: _Delays) -> None:
        """Replace each wait under a lock by its weighted mean with the wait of the recursion step
        before; the higher the utilization of the lock, the larger the weight of the step before.

        The waits under a busy lock hardly depend on the number of processors that wait for it. So
        the recursion over the population is a fixed-point iteration there, which oscillates without
        damping. The weight of the step before, U^4 k / (k + 2) for k other processors and a lock of
        utilization U, was chosen with 720 models of the constructs with locks (numbers 1 to 80 of
        benchmarks/mean_value.py, up to 64 processors): with it the time rises with each processor
        in all of them; without it the time falls with some processor in 20 of them.
        """
        for visit in (visit for queue in queues for visit in queue.visits if visit.held_resources):
            lock_utilization = largest_at_points(
                [self.probability_all_busy[lock_name] for lock_name in sorted(visit.held_resources)]
            )
            earlier_weight = (
                lock_utilization**4 * self.other_processors / (self.other_processors + 2)
            )
            for visit_pair, delay in delays.items():
                if visit_pair[0] == visit.index and visit_pair in self.number_waiting_for:
                    visit_rate = self.in_service[visit.index] / without_zeros(
                        self.services[visit.index].mean
                    )
                    # Little's law gives the wait of the step before: the number that waited, over
                    # the flow.
                    earlier_wait = self.number_waiting_for[visit_pair] / without_zeros(visit_rate)
                    delays[visit_pair] = replace(
                        delay,
                        mean_wait=(1 - earlier_weight) * delay.mean_wait
                        + earlier_weight * earlier_wait,
                    )

    def _wait_at_visit(self, queue: Queue, visit: Visit, delays: Sequence[_Delay]) -> RandomTime:
        """Return the wait at a visit as a random time: the sum of its delays, with its variance."""
        if not delays:
            return ZERO_TIME
        mean_wait = sum_of_columns(delay.mean_wait for delay in delays)
        number_ahead = sum_of_columns(delay.number_ahead for delay in delays)
        number_served = sum_of_columns(delay.number_served for delay in delays)
        if queue.serves_at_once:
            relative_wait = number_ahead / queue.servers
            # The residence time is (1 + relative_wait) S; the variance of S itself is added with
            # the service.
            wait_variance = self.services[visit.index].variance * (
                relative_wait * relative_wait + 2 * relative_wait
            )
        else:
            wait_variance = (
                sum_of_columns(delay.number_ahead * delay.service.variance for delay in delays)
                / queue.servers**2
            )
        time_for_one = mean_wait / without_zeros(number_ahead)
        return RandomTime(
            mean_wait,
            wait_variance
            + self._variance_of_number_ahead(number_ahead, number_served)
            * time_for_one
            * time_for_one,
        )

    def _variance_of_number_ahead(self, number_ahead: Array, number_served: Array) -> Array:
        """Return the variance of the number of customers ahead of an arrival, from its mean a and
        the probability p that it is not 0.

        Derived here: a number ahead that is not 0 is taken as geometric, as at an M/M/1 station, so
        its mean square is a (2 a / p - 1). In a closed population it is at most the number m of the
        other processors; the factor 1 - a / m, chosen here, takes the variance to 0 there. Only
        maxima of times read the variance, so that its error is part of that of the constructs
        "barriers", "forks", "pipelines" and "phases" of benchmarks/mean_value.py.
        """
        # The mean number in service can be less than the probability of a geometric number where
        # some processors are excluded, or where all servers are rarely busy.
        probability_ahead = largest_at_points([number_served, number_ahead / (1 + number_ahead)])
        variance = (
            number_ahead * number_ahead * (2 / without_zeros(probability_ahead) - 1) - number_ahead
        ) * (1 - number_ahead / self.other_processors)
        return limited_to_range(variance)


def all_busy_probability(
    number_present: Array, number_served: Array, customer_count: int, servers: int
) -> Array:
    """Return the probability that all servers of a queue are busy [1], from the mean numbers
    present and in service; the rest of the cycle is taken as an exponential delay.

    Parameters
    ----------
    number_present, number_served : mean numbers at the queue and in service [1]
    customer_count : number of customers of the closed population
    servers : number of servers of the queue
    """
    share_present = number_present / customer_count
    share_served = number_served / customer_count
    # Where all customers are at the queue, a rest of 1e-12 elsewhere keeps the ratio finite.
    served_over_away = share_served / np.where(share_present.real < 1, 1 - share_present, 1e-12)
    return finite_source_all_busy(without_zeros(served_over_away), customer_count, servers)


def whole_service_weight(utilization: Array, processors: int, scv: Array) -> Array:
    """Return the weight w of a whole service in the remaining time of a service that an arriving
    processor finds [1]. That time is (1 - w) times the residual service plus w times a whole
    service, with w = U^((N + 1) (2 - z) / 2).

    An arrival from a large population comes at a random moment of a service. At a queue that is
    never empty, the processors return at the ends of services, so that an arrival finds a service
    that has just begun. The weight is a power of the utilization U; its exponent was fitted to
    simulated machine repair (one server, N processors) with service scv 0.25 and 0 and z, the scv
    of the rest of the cycle, from 0.25 to 1. Error of the remaining time there (N 2 to 16, offered
    load 0.5 to 1.2; simulated to 0.2 %): 0.2 % in the median, 1.4 % in 95 of 100 cases, at most 2.4
    %; 1.0, 5.6 and 7.0 % without the rule (benchmarks/mean_value.py --repair).

    Parameters
    ----------
    utilization : U, of the queue [1]
    processors : N, the number of processors that visit the queue
    scv : z, squared coefficient of variation of the time between visits [1]
    """
    capped_utilization = limited_to_range(utilization, high=1.0)
    # The power is taken as a logarithm, which 0 does not have.
    service_weight: Array = np.exp(
        np.log(capped_utilization + 1e-300) * ((processors + 1) / 2 * (2 - scv))
    )
    return service_weight
