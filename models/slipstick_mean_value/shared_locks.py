"""Reader-writer locks: the waits of readers and writers, from a Markov chain of the lock alone.

The rest of a cycle is taken as an exponential delay, as long as the population with one processor
fewer spends outside the lock between two visits (surrogate delays: Jacobson and Lazowska, CACM
25(2), 1982, 142-151), and all that is done while the lock is held, waits included, as its service.
A request is one to write with a fixed probability. The states are the readers inside, whether a
writer is inside, and the requests that wait; of a fair lock the number that wait is enough, because
all but the first of them are readers and writers at random. So with one lock, one visit a cycle,
and exponential times the waits are exact.

Other times change the chain in two places. While a writer waits no reader enters, so the last of k
readers inside ends after the maximum of k service times: the rates of their ends are those of the
gaps between the maxima of 1, 2, ..., k times. A processor that finds a writer inside waits for the
residual service, by the rules of a lock with writers only. Readers that others may join are not
changed (a station of infinitely many servers depends on the mean alone).

Source: derived here; the groups of readers that enter together are those of Johnson's approximation
for open streams, IEEE Trans. Parallel and Distributed Systems 6(3), 1995. The errors are those of
the construct "reader-writer locks" of benchmarks/mean_value.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from slipstick.late import np
from slipstick.model.activity import MODES, READ, WRITE
from slipstick.model.steps import MET, is_parallel, steps
from slipstick.model.system import ClosedPopulation, Model
from slipstick.queueing.residual_wait import finite_source_residual, residual_time
from slipstick.random_times import (
    LEAST_VARIED,
    ZERO_TIME,
    Array,
    RandomTime,
    limited_to_range,
    maximum_of_identical,
    sum_of_columns,
    without_zeros,
)
from slipstick_mean_value.arrivals import ArrivalState, whole_service_weight
from slipstick_mean_value.queues import Queue
from slipstick_mean_value.traversal import mixture_of_times

if TYPE_CHECKING:
    from slipstick.queueing.markov_chain import MarkovChain, Rows, Transitions

MOST_IN_CHAIN = {"fair": 32, "reader-first": 32, "writer-first": 16}
"""Largest number of processors in a chain, by order of the lock, for chains of up to 3,200 states.
Larger populations are extrapolated from chains with the same load; see `_extrapolated_wait`.
"""

EXTRAPOLATED_UP_TO, PROPORTIONAL_FROM = 0.3, 0.6
"""Two parts of the cycle that customers of the largest chain wait. Below the first, the wait of
more customers is extrapolated; above the second it is in proportion to their number; in between it
is interpolated [1]. Chosen with models 1 to 24 of benchmarks/mean_value.py, which are not among
those that the promised error is measured with.
"""

_ARRIVAL, _WRITE_END, _READ_END, _READ_END_BEFORE_WRITER = range(4)
"""Kinds of transitions: an arrival, the end of a write, the end of a read, and the end of a read
while a writer waits.
"""


def reason_outside_chain(model: Model, lock_name: str) -> str | None:
    """Return why the chain of a reader-writer lock does not apply to a model; None if it
    applies.
    """
    nodes = [node for body in model.bodies for node in steps(body)]
    if not isinstance(model.population, ClosedPopulation) or len(model.population.groups) > 1:
        return "processors that are not all alike, or come and go"
    if any(is_parallel(node) or node.use == MET for node in nodes):
        return "forks, pipelines and barriers"
    nested_locks = [
        (*node.held, *inner_node.held)
        for node in nodes
        if node.held
        for inner_node in steps(node)
        if inner_node is not node and inner_node.held
    ]
    return (
        "locks inside others"
        if any(lock_name in lock_names for lock_names in nested_locks)
        else None
    )


def reader_writer_waits(
    queue: Queue, state_before: ArrivalState, visit_ratios: Mapping[int, Array], cycle_rate: Array
) -> dict[int, RandomTime]:
    """Return the wait at each visit to a reader-writer lock, for a population with one processor
    more than in `state_before`.

    Parameters
    ----------
    queue : the queue for the lock
    state_before : mean state that an arriving processor finds
    visit_ratios : visits in a cycle, by the index of the visit [1]
    cycle_rate : cycles of all processors in that state in a second [1/s]
    """
    customer_count = round(state_before.other_processors) + 1
    visits_by_mode = {
        mode: [visit.index for visit in queue.visits if visit.mode == mode] for mode in MODES
    }
    visits_per_cycle = {
        mode: sum_of_columns(visit_ratios[visit_index] for visit_index in visit_indices)
        for mode, visit_indices in visits_by_mode.items()
    }
    total_visits = without_zeros(visits_per_cycle[READ] + visits_per_cycle[WRITE])
    holding_time_by_mode = {
        mode: _mixed_holding_time(visit_indices, visits_per_cycle[mode], visit_ratios, state_before)
        for mode, visit_indices in visits_by_mode.items()
    }
    number_present = sum_of_columns(state_before.present[visit.index] for visit in queue.visits)
    time_elsewhere = (state_before.other_processors - number_present) / without_zeros(
        cycle_rate * total_visits
    )
    sum_of_times = holding_time_by_mode[READ].mean + holding_time_by_mode[WRITE].mean
    # No time is 0, so that every rate is finite: at least a millionth of a service.
    least_time = 1e-6 * np.where(sum_of_times.real > 0, sum_of_times, 1.0)
    time_elsewhere, read_time, write_time = (
        limited_to_range(time, least_time)
        for time in (
            time_elsewhere,
            holding_time_by_mode[READ].mean,
            holding_time_by_mode[WRITE].mean,
        )
    )
    # The waits of readers and writers are divided by their probabilities, so that neither may be 0.
    write_probability = limited_to_range(visits_per_cycle[WRITE] / total_visits, 1e-9, 1 - 1e-9)
    waits = _reader_and_writer_waits(
        queue,
        customer_count,
        time_elsewhere,
        write_probability,
        replace(holding_time_by_mode[READ], mean=read_time),
        write_time,
    )
    mean_wait = (1 - write_probability) * waits[0] + write_probability * waits[1]
    time_between_writes = time_elsewhere / write_probability + (1 / write_probability - 1) * (
        read_time + mean_wait
    )
    writers_inside = sum_of_columns(
        state_before.in_service[visit_index] for visit_index in visits_by_mode[WRITE]
    )
    # In the chain writes are exponential: the remaining time of a write in progress has the mean of
    # a whole write. The difference to the residual time of the real write is added, with the
    # probability of finding a write.
    added_residual = writers_inside * (
        _residual_write_time(
            holding_time_by_mode[WRITE],
            write_time,
            customer_count,
            time_between_writes,
            writers_inside,
        )
        - write_time
    )
    waits_by_visit: dict[int, RandomTime] = {}
    for mode, wait in zip(MODES, waits, strict=True):
        # The wait is taken as exponential; only maxima of times read its variance.
        corrected_wait = limited_to_range(wait + added_residual)
        waits_by_visit.update(
            dict.fromkeys(
                visits_by_mode[mode], RandomTime(corrected_wait, corrected_wait * corrected_wait)
            )
        )
    return waits_by_visit


def _reader_and_writer_waits(
    queue: Queue,
    customer_count: int,
    time_elsewhere: Array,
    write_probability: Array,
    read_time: RandomTime,
    write_time: Array,
) -> Array:
    """Return the waits of readers and of writers, in this order, by the Markov chain of the lock
    [s] [2, points]. For more customers than a chain can have, the waits are extrapolated from
    chains with the same load; see `_extrapolated_wait`.

    Parameters
    ----------
    queue : the queue for the lock
    customer_count : number of processors
    time_elsewhere : mean time of a processor between two visits to the lock [s]
    write_probability : probability that a visit is one to write [1]
    read_time : time for which a reader holds the lock
    write_time : mean time for which a writer holds the lock [s]
    """

    def waits_with_customers(chain_customers: int) -> Array:
        """Return the waits of readers and of writers in a chain with this number of customers [s]
        [2, points].
        """
        return _waits_in_chain(
            queue,
            chain_customers,
            chain_customers / customer_count,
            (time_elsewhere, write_probability, read_time, write_time),
        )

    most_customers = MOST_IN_CHAIN[queue.order]
    if customer_count <= most_customers:
        return waits_with_customers(customer_count)
    quarter_waits, half_waits, full_waits = (
        waits_with_customers(most_customers // divisor) for divisor in (4, 2, 1)
    )
    extrapolated_waits = _extrapolated_wait(
        quarter_waits, half_waits, full_waits, customer_count / most_customers
    )
    time_without_waits = (
        time_elsewhere + (1 - write_probability) * read_time.mean + write_probability * write_time
    )
    mean_of_full, mean_extrapolated = (
        (1 - write_probability) * reader_wait + write_probability * writer_wait
        for reader_wait, writer_wait in (full_waits, extrapolated_waits)
    )
    waiting_share = mean_of_full / without_zeros(
        mean_of_full + time_without_waits * (most_customers / customer_count)
    )
    proportional_share = limited_to_range(
        (waiting_share - EXTRAPOLATED_UP_TO) / (PROPORTIONAL_FROM - EXTRAPOLATED_UP_TO), high=1.0
    )
    proportional_factor = (
        mean_of_full * (customer_count / most_customers) / without_zeros(mean_extrapolated)
    )
    waits_of_all: Array = extrapolated_waits * (1 + proportional_share * (proportional_factor - 1))
    return waits_of_all


def _extrapolated_wait(
    quarter_wait: Array, half_wait: Array, full_wait: Array, multiple: float
) -> Array:
    """Return the wait with `multiple` times the largest number of customers of a chain [s]. It is
    extrapolated from chains with a quarter, a half and all of that number, at the same load.

    Derived here: the increase of the wait by a doubling of the customers is taken to change by a
    constant factor with each doubling. The factor is 2 where the lock is always held, so that each
    customer adds as much, and 1/2 where the wait approaches that of an open stream as 1 /
    customers. At a saturated lock the factor of so few customers is still below 2; there the wait
    is taken in proportion to the customers. Error: 1.2 % against chains of half as many customers
    more (tests/method/mean_value/test_shared_locks.py); against simulation as
    documentation/methods.md says.
    """
    first_increase = half_wait - quarter_wait
    last_increase = full_wait - half_wait
    growth_factor = limited_to_range(
        np.where(first_increase.real > 0, last_increase / without_zeros(first_increase), 0.0),
        high=2.0,
    )
    # The sum of the geometric series below is 0 / 0 for a factor of 1, and smooth there.
    growth_factor = np.where(abs(growth_factor - 1) < 1e-6, 1 + 1e-6, growth_factor)
    extrapolated_wait: Array = full_wait + last_increase * growth_factor * (
        growth_factor ** np.log2(multiple) - 1
    ) / (growth_factor - 1)
    return extrapolated_wait


def _waits_in_chain(
    queue: Queue,
    chain_customers: int,
    load_factor: float,
    lock_times: tuple[Array, Array, RandomTime, Array],
) -> Array:
    """Return the waits of readers and of writers in a chain of `chain_customers` customers [s] [2,
    points]. The cycle without waits is shortened by the factor `load_factor`, so that the load is
    the same as with all customers.

    Parameters
    ----------
    lock_times : the last four parameters of `_reader_and_writer_waits`
    """
    time_elsewhere, write_probability, read_time, write_time = lock_times
    mean_holding_time = (1 - write_probability) * read_time.mean + write_probability * write_time
    # At saturation no time is left between two visits; a millionth of the holding time keeps the
    # rate of arrivals finite.
    least_time = 1e-6 * mean_holding_time
    time_between_visits = limited_to_range(
        (time_elsewhere + mean_holding_time) * load_factor - mean_holding_time, least_time
    )
    # While a writer waits no reader enters. The last of k readers ends at the maximum of k times,
    # so the time between two ends of reads is the difference of two such maxima.
    read_maxima = [
        maximum_of_identical(read_time, np.full(1, float(reader_count))).mean
        for reader_count in range(1, chain_customers + 1)
    ]
    columns = np.broadcast_arrays(
        time_between_visits, write_probability, read_time.mean, write_time, *read_maxima
    )
    read_end_gaps = np.diff(np.stack(columns[4:], axis=-1), axis=-1, prepend=0.0)
    read_end_gaps = limited_to_range(
        read_end_gaps, np.broadcast_to(least_time, time_between_visits.shape)[..., None]
    )
    most_readers = min(queue.servers, chain_customers)
    times_and_gaps = zip(zip(*columns[:4], strict=True), read_end_gaps, strict=True)
    return np.array(
        [
            _chain_waits(queue.order, chain_customers, most_readers, times_of_point, gaps_of_point)
            for times_of_point, gaps_of_point in times_and_gaps
        ]
    ).T[:2]


def _mixed_holding_time(
    visit_indices: Sequence[int],
    visits_per_cycle: Array,
    visit_ratios: Mapping[int, Array],
    state_before: ArrivalState,
) -> RandomTime:
    """Return the time for which a lock is held at some visits: the mixture of the times of all of
    them, in proportion to their numbers.

    Parameters
    ----------
    visit_indices : indexes of the visits
    visits_per_cycle : number of all these visits in a cycle [1]
    visit_ratios : number of each visit in a cycle [1]
    state_before : state with the service, which is the holding time, of each visit
    """
    if not visit_indices:
        return ZERO_TIME
    return mixture_of_times(
        [
            (
                visit_ratios[visit_index] / without_zeros(visits_per_cycle),
                state_before.services[visit_index],
            )
            for visit_index in visit_indices
        ]
    )


def _residual_write_time(
    write_time: RandomTime,
    mean_write: Array,
    customer_count: int,
    time_between_writes: Array,
    writers_inside: Array,
) -> Array:
    """Return the mean remaining time of a write that an arriving processor finds, as at a lock that
    is used by writers only [s].
    """
    scv = np.broadcast_to(write_time.scv, writers_inside.shape)
    is_varied = scv.real > LEAST_VARIED
    weight = whole_service_weight(writers_inside, customer_count - 1, np.ones(1))
    residual_service: Array = (1 - weight) * residual_time(mean_write, scv) + weight * mean_write
    if not np.any(is_varied):
        return residual_service
    return np.where(
        is_varied,
        finite_source_residual(
            customer_count, time_between_writes, [(1.0, mean_write, np.where(is_varied, scv, 2.0))]
        ),
        residual_service,
    )


def _chain_waits(
    lock_order: str,
    customer_count: int,
    most_readers: int,
    lock_times: Sequence[Any],
    read_end_gaps: Array,
) -> tuple[complex, complex, complex]:
    """Return the mean waits of a reader and a writer [s], and the rate of requests [1/s].

    Parameters
    ----------
    lock_order : order in which the lock serves readers and writers
    customer_count : number of customers
    most_readers : largest number of them that read at the same time
    lock_times : time between two visits [s], probability that a visit is one to write [1], time of
        a read [s] and of a write [s]
    read_end_gaps : mean time by which 1, 2, ... readers take longer than one reader fewer, if no
        reader enters [s]
    """
    from slipstick.queueing.markov_chain import stationary  # loads SciPy, for these locks only

    time_elsewhere, write_probability, read_time, write_time = lock_times
    chain = reader_writer_chain(lock_order, customer_count, most_readers)
    transition_kind = chain.events % 4
    writes_drawn = chain.events // 4 % 2
    reads_drawn = chain.events // 8
    rate_counts = chain.rates.astype(int)
    # The choice evaluates all kinds, so the index of a gap must be valid for the others too.
    rates = np.choose(
        transition_kind,
        [
            rate_counts / time_elsewhere,
            1.0 / write_time,
            rate_counts / read_time,
            1.0 / read_end_gaps[np.maximum(rate_counts, 1) - 1],
        ],
    )
    probabilities = stationary(
        replace(
            chain,
            rates=rates * write_probability**writes_drawn * (1 - write_probability) ** reads_drawn,
        )
    )
    # The last column of a state counts waiting writers; of a fair lock it counts all waiting
    # requests.
    states = np.asarray(chain.states)
    readers_inside, writers_inside, readers_waiting, writers_waiting = states.T
    request_rate = probabilities @ (customer_count - states.sum(axis=1)) / time_elsewhere
    if lock_order == "fair":
        # In order of arrival, the first waiting customer is a writer if readers could still enter.
        has_writer_first = (
            (writers_inside == 0) & (readers_inside < most_readers) & (writers_waiting > 0)
        )
        readers_waiting = (writers_waiting - has_writer_first) * (1 - write_probability)
        writers_waiting = (
            has_writer_first + (writers_waiting - has_writer_first) * write_probability
        )
    return (
        probabilities @ readers_waiting / (request_rate * (1 - write_probability)),
        probabilities @ writers_waiting / (request_rate * write_probability),
        request_rate,
    )


@lru_cache(maxsize=200)
def reader_writer_chain(lock_order: str, customer_count: int, most_readers: int) -> MarkovChain:
    """Return the Markov chain of a reader-writer lock.

    A state lists the readers inside, the writers inside, the readers that wait, and the writers
    that wait; of a fair lock the last column has all requests that wait. The rates of the chain are
    only the numbers of processors by which a rate is multiplied, and its events are the kinds of
    the transitions, so that one chain can be used with any times.
    """
    from slipstick.queueing.markov_chain import explore_rows

    transitions_of_states = _fair_transitions if lock_order == "fair" else _priority_transitions

    def transitions(rows: Rows) -> Iterator[Transitions]:
        """Yield the transitions from some states: the rows of the states, the states after the
        transition, the number by which the rate of its kind is multiplied, and its event.
        """
        lock_transitions = transitions_of_states(
            rows.T, customer_count, most_readers, lock_order == "reader-first"
        )
        for lock_transition in lock_transitions:
            source_rows = np.flatnonzero(lock_transition.is_source)
            if not len(source_rows):
                continue
            columns = np.broadcast_arrays(*lock_transition.target, lock_transition.is_source)[:-1]
            targets = np.stack([column[source_rows] for column in columns], axis=1)
            rate_counts = np.broadcast_to(
                lock_transition.rate_count, lock_transition.is_source.shape
            )
            # One number holds the kind and how many writes and reads were drawn, so that the
            # same chain serves any probability of a write.
            event_number = (
                lock_transition.kind
                + 4 * lock_transition.writes_drawn
                + 8 * lock_transition.reads_drawn
            )
            yield (
                source_rows,
                targets.astype(rows.dtype),
                rate_counts[source_rows].astype(float),
                event_number,
            )

    return explore_rows(np.zeros((1, 4), dtype=np.int16), transitions)


class _LockTransition(NamedTuple):
    """Transitions of one kind.

    Attributes
    ----------
    is_source : whether they leave each state [states]
    target : the columns of the state after them [states]
    rate_count : the number of processors that their rate is proportional to [states]
    kind : one of `_ARRIVAL`, `_WRITE_END`, `_READ_END` and `_READ_END_BEFORE_WRITER`
    writes_drawn, reads_drawn : numbers of requests that turn out to be writes and reads, each with
        its probability [1]
    """

    is_source: Array
    target: tuple[Array | int, ...]
    rate_count: Array | int
    kind: int
    writes_drawn: int = 0
    reads_drawn: int = 0


def _fair_transitions(
    state_columns: Array, customer_count: int, most_readers: int, _: bool
) -> Iterator[_LockTransition]:
    """Yield the transitions of a fair lock. Whether a waiting request is a read or a write is drawn
    when it comes to the front of the queue.
    """
    yield from _arrivals_at_fair_lock(state_columns, customer_count, most_readers)
    yield from _ends_of_fair_writes(state_columns, customer_count, most_readers)
    yield from _ends_of_fair_reads(state_columns, most_readers)


def _arrivals_at_fair_lock(
    state_columns: Array, customer_count: int, most_readers: int
) -> Iterator[_LockTransition]:
    """Yield the arrivals at a fair lock: of readers and writers that enter, and of requests that
    have to wait.
    """
    readers, writers, _unused, waiting_count = state_columns
    customers_elsewhere = customer_count - readers - writers - waiting_count
    can_arrive = customers_elsewhere > 0
    is_free = (writers == 0) & (waiting_count == 0) & (readers < most_readers)
    can_enter = can_arrive & is_free
    yield _LockTransition(
        can_enter, (readers + 1, 0, 0, 0), customers_elsewhere, _ARRIVAL, reads_drawn=1
    )
    yield _LockTransition(
        can_enter & (readers == 0), (0, 1, 0, 0), customers_elsewhere, _ARRIVAL, writes_drawn=1
    )
    yield _LockTransition(
        can_enter & (readers > 0),
        (readers, 0, 0, 1),
        customers_elsewhere,
        _ARRIVAL,
        writes_drawn=1,
    )
    yield _LockTransition(
        can_arrive & ~is_free,
        (readers, writers, 0, waiting_count + 1),
        customers_elsewhere,
        _ARRIVAL,
    )


def _ends_of_fair_writes(
    state_columns: Array, customer_count: int, most_readers: int
) -> Iterator[_LockTransition]:
    """Yield the transitions at which a write at a fair lock ends, one for each number of readers
    that enter next.
    """
    _readers, writers, _unused, waiting_count = state_columns
    is_writing = writers == 1
    yield _LockTransition(
        is_writing & (waiting_count > 0),
        (0, 1, 0, waiting_count - 1),
        1,
        _WRITE_END,
        writes_drawn=1,
    )
    for readers_entering in range(min(customer_count, most_readers) + 1):
        if readers_entering == most_readers:
            target = (readers_entering, 0, 0, waiting_count - readers_entering)
            yield _LockTransition(
                is_writing & (waiting_count >= readers_entering),
                target,
                1,
                _WRITE_END,
                0,
                readers_entering,
            )
            continue
        has_all_waiting_enter = is_writing & (waiting_count == readers_entering)
        yield _LockTransition(
            has_all_waiting_enter, (readers_entering, 0, 0, 0), 1, _WRITE_END, 0, readers_entering
        )
        if readers_entering:
            # The next request is a write, so that no reader behind it enters.
            target = (readers_entering, 0, 0, waiting_count - readers_entering)
            yield _LockTransition(
                is_writing & (waiting_count > readers_entering),
                target,
                1,
                _WRITE_END,
                1,
                readers_entering,
            )


def _ends_of_fair_reads(state_columns: Array, most_readers: int) -> Iterator[_LockTransition]:
    """Yield the ends of reads at a fair lock."""
    readers, _writers, _readers_waiting, waiting_count = state_columns
    is_reading = readers > 0
    has_waiting = waiting_count > 0
    is_last = readers == 1
    state_after_writer_enters = (0, 1, 0, waiting_count - 1)
    state_after_reader_leaves = (readers - 1, 0, 0, waiting_count)
    yield _LockTransition(is_reading & ~has_waiting, (readers - 1, 0, 0, 0), readers, _READ_END)
    is_full = (readers == most_readers) & has_waiting
    # Where requests wait although the lock has room for another reader, the first of them is a
    # writer.
    writer_waits = is_reading & has_waiting & ~is_full
    yield _LockTransition(
        writer_waits & is_last, state_after_writer_enters, readers, _READ_END_BEFORE_WRITER
    )
    yield _LockTransition(
        writer_waits & (readers > 1), state_after_reader_leaves, readers, _READ_END_BEFORE_WRITER
    )
    yield _LockTransition(
        is_full, (readers, 0, 0, waiting_count - 1), readers, _READ_END, reads_drawn=1
    )
    yield _LockTransition(
        is_full & is_last, state_after_writer_enters, readers, _READ_END, writes_drawn=1
    )
    yield _LockTransition(
        is_full & (readers > 1), state_after_reader_leaves, readers, _READ_END, writes_drawn=1
    )


def _priority_transitions(
    state_columns: Array, customer_count: int, most_readers: int, serves_readers_first: bool
) -> Iterator[_LockTransition]:
    """Yield the transitions of a lock that serves readers first, or writers first."""
    readers, writers, readers_waiting, writers_waiting = state_columns
    customers_elsewhere = customer_count - state_columns.sum(axis=0)
    can_arrive = customers_elsewhere > 0
    reader_can_enter = (
        (writers == 0) & (readers < most_readers) & (serves_readers_first | (writers_waiting == 0))
    )
    is_empty = (readers == 0) & (writers == 0)
    state_after_reader_enters = (readers + 1, 0, readers_waiting, writers_waiting)
    state_after_reader_waits = (readers, writers, readers_waiting + 1, writers_waiting)
    state_after_writer_waits = (readers, writers, readers_waiting, writers_waiting + 1)
    yield _LockTransition(
        can_arrive & reader_can_enter,
        state_after_reader_enters,
        customers_elsewhere,
        _ARRIVAL,
        reads_drawn=1,
    )
    yield _LockTransition(
        can_arrive & ~reader_can_enter,
        state_after_reader_waits,
        customers_elsewhere,
        _ARRIVAL,
        reads_drawn=1,
    )
    yield _LockTransition(
        can_arrive & is_empty,
        (0, 1, readers_waiting, writers_waiting),
        customers_elsewhere,
        _ARRIVAL,
        writes_drawn=1,
    )
    yield _LockTransition(
        can_arrive & ~is_empty,
        state_after_writer_waits,
        customers_elsewhere,
        _ARRIVAL,
        writes_drawn=1,
    )
    remaining_readers = np.maximum(readers - 1, 0)
    readers_entering = np.minimum(readers_waiting, most_readers - remaining_readers)
    if not serves_readers_first:
        readers_entering = np.where(writers_waiting == 0, readers_entering, 0)
    writer_enters = (remaining_readers + readers_entering == 0) & (writers_waiting > 0)
    next_state = (
        remaining_readers + readers_entering,
        1 * writer_enters,
        readers_waiting - readers_entering,
        writers_waiting - writer_enters,
    )
    yield _LockTransition(writers == 1, next_state, 1, _WRITE_END)
    is_last_read = (readers > 0) & (writers_waiting > 0) & (not serves_readers_first)
    yield _LockTransition(is_last_read, next_state, readers, _READ_END_BEFORE_WRITER)
    yield _LockTransition((readers > 0) & ~is_last_read, next_state, readers, _READ_END)
