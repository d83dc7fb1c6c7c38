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
from typing import TYPE_CHECKING, Any

from slipstick.late import np
from slipstick.method.mean_value.arrivals import ArrivalState, whole_service_weight
from slipstick.model.activity import MODES, READ, WRITE
from slipstick.model.steps import MET, is_parallel, steps
from slipstick.model.system import ClosedPopulation, Model
from slipstick.queueing.residual_wait import finite_source_residual, residual_time
from slipstick.random_times import (
    LEAST_VARIED,
    ZERO_TIME,
    Array,
    RandomTime,
    added,
    clamped,
    maximum_of_identical,
    mixture_of,
    nonzero,
)
from slipstick.structure.visits import Queue

if TYPE_CHECKING:
    from slipstick.queueing.markov.chain import MarkovChain, Rows, Transitions

MOST_IN_CHAIN = {"fair": 32, "reader-first": 32, "writer-first": 16}
"""Processors at most in a chain, by order of the lock, for chains of up to 3,200 states. Larger
populations are extrapolated from chains with the same load; see `_extrapolated`."""

EXTRAPOLATED_UP_TO, PROPORTIONAL_FROM = 0.3, 0.6
"""Parts of the cycle that customers of the largest chain wait. Below the first, the wait of more
customers is extrapolated; above the second it is in proportion to their number; in between it is
interpolated [1]. Chosen with models 1 to 24 of benchmarks/mean_value.py, which are not among those
that the promised error is measured with."""

_ARRIVAL, _WRITER, _READER, _LAST_READERS = range(4)
"""Kinds of transitions: an arrival, the end of a write, the end of a read, and the end of a read
while a writer waits.
"""


def uncovered_by_chain(model: Model, lock: str) -> str | None:
    """Return why the chain of a reader-writer lock does not apply to a model; None if it
    applies.
    """
    nodes = [node for body in model.bodies for node in steps(body)]
    if not isinstance(model.population, ClosedPopulation) or len(model.population.groups) > 1:
        return "processors that are not all alike, or come and go"
    if any(is_parallel(node) or node.use == MET for node in nodes):
        return "forks, pipelines and barriers"
    nested = [
        (*node.held, *inner.held)
        for node in nodes
        if node.held
        for inner in steps(node)
        if inner is not node and inner.held
    ]
    return "locks inside others" if any(lock in names for names in nested) else None


def reader_writer_waits(
    queue: Queue, before: ArrivalState, ratios: Mapping[int, Array], rate: Array
) -> dict[int, RandomTime]:
    """Return the wait at each visit to a reader-writer lock of a population with one more
    processor.

    Parameters
    ----------
    queue : of the lock
    before : what an arriving processor finds
    ratios : visits in a cycle [1]
    rate : cycles of all processors before in a second [1/s]
    """
    customers = round(before.others) + 1
    visits_by_mode = {mode: [v.index for v in queue.visits if v.mode == mode] for mode in MODES}
    visits_per_cycle = {
        mode: added(ratios[index] for index in indices) for mode, indices in visits_by_mode.items()
    }
    total = nonzero(visits_per_cycle[READ] + visits_per_cycle[WRITE])
    held = {
        mode: _holding_time(indices, visits_per_cycle[mode], ratios, before)
        for mode, indices in visits_by_mode.items()
    }
    present = added(before.present[v.index] for v in queue.visits)
    elsewhere = (before.others - present) / nonzero(rate * total)
    longest = held[READ].mean + held[WRITE].mean
    # No time is 0, so that every rate is finite: at least a millionth of a service.
    least = 1e-6 * np.where(longest.real > 0, longest, 1.0)
    elsewhere, reading, writing = (
        clamped(time, least) for time in (elsewhere, held[READ].mean, held[WRITE].mean)
    )
    # The waits of both are divided by their probabilities, also where one of them never comes.
    chance = clamped(visits_per_cycle[WRITE] / total, 1e-9, 1 - 1e-9)
    waits = _waits_of_both(
        queue, customers, elsewhere, chance, replace(held[READ], mean=reading), writing
    )
    mean_wait = (1 - chance) * waits[0] + chance * waits[1]
    between = elsewhere / chance + (1 / chance - 1) * (reading + mean_wait)
    busy = added(before.served[index] for index in visits_by_mode[WRITE])
    # Writes of the chain are exponential, so that a write found under way lasts a whole one more in
    # the mean; the difference to the residual time of the real write counts where one is found.
    longer_residual = busy * (
        _residual_write(held[WRITE], writing, customers, between, busy) - writing
    )
    waits_by_visit: dict[int, RandomTime] = {}
    for mode, wait in zip(MODES, waits, strict=True):
        # The wait is taken as exponential; only maxima of times read its variance.
        mean = clamped(wait + longer_residual)
        waits_by_visit.update(dict.fromkeys(visits_by_mode[mode], RandomTime(mean, mean * mean)))
    return waits_by_visit


def _waits_of_both(
    queue: Queue, customers: int, elsewhere: Array, chance: Array, held: RandomTime, writing: Array
) -> Array:
    """Return the waits of readers and of writers by the chain [s] [2, points].

    For more customers than a chain can have they are extrapolated from chains with the same load;
    see `_extrapolated`.
    """

    def waits(counted: int) -> Array:
        return _waits_of_some(
            queue, counted, counted / customers, (elsewhere, chance, held, writing)
        )

    limit = MOST_IN_CHAIN[queue.order]
    if customers <= limit:
        return waits(customers)
    quarter, half, most = (waits(limit // divisor) for divisor in (4, 2, 1))
    extrapolated_waits = _extrapolated(quarter, half, most, customers / limit)
    time_without_waits = elsewhere + (1 - chance) * held.mean + chance * writing
    mean_of_most, mean_extrapolated = (
        (1 - chance) * readers + chance * writers for readers, writers in (most, extrapolated_waits)
    )
    share = mean_of_most / nonzero(mean_of_most + time_without_waits * (limit / customers))
    proportional_share = clamped(
        (share - EXTRAPOLATED_UP_TO) / (PROPORTIONAL_FROM - EXTRAPOLATED_UP_TO), high=1.0
    )
    in_proportion = mean_of_most * (customers / limit) / nonzero(mean_extrapolated)
    waited: Array = extrapolated_waits * (1 + proportional_share * (in_proportion - 1))
    return waited


def _extrapolated(quarter: Array, half: Array, most: Array, multiple: float) -> Array:
    """Return the wait extrapolated from chains with a quarter, a half and all of the most
    customers, at the same load [s].

    Derived here: the increase of the wait by a doubling of the customers is taken to change by a
    constant factor with each doubling. The factor is 2 where the lock is always held, so that each
    customer adds as much, and 1/2 where the wait approaches that of an open stream as 1 /
    customers. At a saturated lock the factor of so few customers is still below 2; there the wait
    is taken in proportion to the customers. Error: 1.2 % against chains of half as many customers
    more (tests/method/mean_value/test_shared_locks.py); against simulation as
    documentation/methods.md says.
    """
    before = half - quarter
    last = most - half
    factor = clamped(np.where(before.real > 0, last / nonzero(before), 0.0), high=2.0)
    # The sum of the geometric series below is 0 / 0 for a factor of 1, and smooth there.
    factor = np.where(abs(factor - 1) < 1e-6, 1 + 1e-6, factor)
    extrapolated: Array = most + last * factor * (factor ** np.log2(multiple) - 1) / (factor - 1)
    return extrapolated


def _waits_of_some(
    queue: Queue, counted: int, share: float, times: tuple[Array, Array, RandomTime, Array]
) -> Array:
    """Return the waits in a chain of `counted` customers, whose cycle without waits is shortened by
    the factor `share` so that the load stays the same [s].
    """
    elsewhere, chance, held, writing = times
    mean = (1 - chance) * held.mean + chance * writing
    least = 1e-6 * mean
    between_visits = clamped((elsewhere + mean) * share - mean, least)
    # While a writer waits no reader enters. The last of k readers ends at the maximum of k times,
    # so each end takes the difference of two such maxima.
    ends = [maximum_of_identical(held, np.full(1, float(k))).mean for k in range(1, counted + 1)]
    columns = np.broadcast_arrays(between_visits, chance, held.mean, writing, *ends)
    gaps = np.diff(np.stack(columns[4:], axis=-1), axis=-1, prepend=0.0)
    gaps = clamped(gaps, np.broadcast_to(least, between_visits.shape)[..., None])
    readers = min(queue.servers, counted)
    rows = zip(zip(*columns[:4], strict=True), gaps, strict=True)
    return np.array(
        [
            _chain_waits(queue.order, counted, readers, times, case_times)
            for times, case_times in rows
        ]
    ).T[:2]


def _holding_time(
    visits: Sequence[int],
    visits_per_cycle: Array,
    ratios: Mapping[int, Array],
    before: ArrivalState,
) -> RandomTime:
    """Return the mixture of the times for which a lock is held."""
    if not visits:
        return ZERO_TIME
    return mixture_of(
        [(ratios[index] / nonzero(visits_per_cycle), before.services[index]) for index in visits]
    )


def _residual_write(
    held: RandomTime, mean: Array, customers: int, between: Array, busy: Array
) -> Array:
    """Return the residual time of a write that an arriving processor finds, as if there were
    writers only [s].
    """
    scv = np.broadcast_to(held.scv, busy.shape)
    varied = scv.real > LEAST_VARIED
    weight = whole_service_weight(busy, customers - 1, np.ones(1))
    residual: Array = (1 - weight) * residual_time(mean, scv) + weight * mean
    if not np.any(varied):
        return residual
    return np.where(
        varied,
        finite_source_residual(customers, between, [(1.0, mean, np.where(varied, scv, 2.0))]),
        residual,
    )


def _chain_waits(
    order: str, customers: int, readers: int, times: Sequence[Any], gaps: Array
) -> tuple[complex, complex, complex]:
    """Return the mean waits of a reader and a writer [s], and the rate of requests [1/s].

    Parameters
    ----------
    order : of the lock
    customers, readers : in all, and how many of them read together at most
    times : between two visits [s], probability that one is to write [1], time of a read and of a
        write [s]
    gaps : by how much k readers take longer than k - 1, none entering [s]
    """
    from slipstick.queueing.markov.chain import stationary  # loads SciPy, for these locks only

    elsewhere, chance, reading, writing = times
    chain = reader_writer_chain(order, customers, readers)
    kind = chain.events % 4
    writes = chain.events // 4 % 2
    reads = chain.events // 8
    count = chain.rates.astype(int)
    # The choice evaluates all kinds, so the index of a gap must be valid for the others too.
    rates = np.choose(
        kind,
        [count / elsewhere, 1.0 / writing, count / reading, 1.0 / gaps[np.maximum(count, 1) - 1]],
    )
    pi = stationary(replace(chain, rates=rates * chance**writes * (1 - chance) ** reads))
    states = np.asarray(chain.states)
    inside, writer, readers_waiting, waiting = states.T
    flow = pi @ (customers - states.sum(axis=1)) / elsewhere
    if order == "fair":
        first = (
            (writer == 0) & (inside < readers) & (waiting > 0)
        )  # the first that waits is a writer
        readers_waiting = (waiting - first) * (1 - chance)
        waiting = first + (waiting - first) * chance
    return pi @ readers_waiting / (flow * (1 - chance)), pi @ waiting / (flow * chance), flow


@lru_cache(maxsize=200)
def reader_writer_chain(order: str, customers: int, readers: int) -> MarkovChain:
    """Explore the states of a lock: readers inside, writers inside, readers that wait, and writers
    that wait (of a fair lock, all).

    The rates are the numbers of processors that think or read, and the events the kinds of
    transitions, so that one chain serves all times.
    """
    from slipstick.queueing.markov.chain import explore_rows

    changes = _fair_transitions if order == "fair" else _ranked_transitions

    def transitions(rows: Rows) -> Iterator[Transitions]:
        for chosen, after, count, kind, writes, reads in changes(
            rows.T, customers, readers, order == "reader-first"
        ):
            chosen_rows = np.flatnonzero(chosen)
            if len(chosen_rows):
                columns = np.broadcast_arrays(*after, chosen)[:-1]
                targets = np.stack([column[chosen_rows] for column in columns], axis=1).astype(
                    rows.dtype
                )
                counts = np.broadcast_to(count, chosen.shape)[chosen_rows].astype(float)
                # One number holds the kind and how many writes and reads were drawn, so that the
                # same chain serves any probability of a write.
                yield chosen_rows, targets, counts, kind + 4 * writes + 8 * reads

    return explore_rows(np.zeros((1, 4), dtype=np.int16), transitions)


_CountedChange = tuple[Array, tuple[Array | int, ...], Array | int, int, int, int]
"""The states that a transition leaves, the state after it, the count that its rate is proportional
to, its kind, and the number of requests drawn by it: to write, and to read."""


def _fair_transitions(
    state: Array, customers: int, limit: int, _: bool
) -> Iterator[_CountedChange]:
    """Yield the transitions of a fair lock."""
    inside, writer, _none, waiting = state
    thinking = customers - inside - writer - waiting
    arrives = thinking > 0
    free = (writer == 0) & (waiting == 0) & (inside < limit)
    yield arrives & free, (inside + 1, 0, 0, 0), thinking, _ARRIVAL, 0, 1
    yield arrives & free & (inside == 0), (0, 1, 0, 0), thinking, _ARRIVAL, 1, 0
    yield arrives & free & (inside > 0), (inside, 0, 0, 1), thinking, _ARRIVAL, 1, 0
    # Whether a request that waits is to read or to write is drawn when it comes to the front.
    yield arrives & ~free, (inside, writer, 0, waiting + 1), thinking, _ARRIVAL, 0, 0
    writes = writer == 1
    yield writes & (waiting > 0), (0, 1, 0, waiting - 1), 1, _WRITER, 1, 0
    for enter in range(min(customers, limit) + 1):
        if enter == limit:
            yield writes & (waiting >= enter), (enter, 0, 0, waiting - enter), 1, _WRITER, 0, enter
        else:
            yield writes & (waiting == enter), (enter, 0, 0, 0), 1, _WRITER, 0, enter
            if enter:
                yield (
                    writes & (waiting > enter),
                    (enter, 0, 0, waiting - enter),
                    1,
                    _WRITER,
                    1,
                    enter,
                )
    reads = inside > 0
    full = (inside == limit) & (waiting > 0)
    yield reads & (waiting == 0), (inside - 1, 0, 0, 0), inside, _READER, 0, 0
    readers_admitted = reads & (waiting > 0) & ~full
    yield readers_admitted & (inside == 1), (0, 1, 0, waiting - 1), inside, _LAST_READERS, 0, 0
    yield readers_admitted & (inside > 1), (inside - 1, 0, 0, waiting), inside, _LAST_READERS, 0, 0
    yield full, (inside, 0, 0, waiting - 1), inside, _READER, 0, 1
    yield full & (inside == 1), (0, 1, 0, waiting - 1), inside, _READER, 1, 0
    yield full & (inside > 1), (inside - 1, 0, 0, waiting), inside, _READER, 1, 0


def _ranked_transitions(
    state: Array, customers: int, limit: int, readers_first: bool
) -> Iterator[_CountedChange]:
    """Yield the transitions of a lock that serves readers first, or writers first."""
    inside, writer, readers, writers = state
    thinking = customers - state.sum(axis=0)
    arrives = thinking > 0
    enters = (writer == 0) & (inside < limit) & (readers_first | (writers == 0))
    yield arrives & enters, (inside + 1, 0, readers, writers), thinking, _ARRIVAL, 0, 1
    yield arrives & ~enters, (inside, writer, readers + 1, writers), thinking, _ARRIVAL, 0, 1
    empty = (inside == 0) & (writer == 0)
    yield arrives & empty, (0, 1, readers, writers), thinking, _ARRIVAL, 1, 0
    yield arrives & ~empty, (inside, writer, readers, writers + 1), thinking, _ARRIVAL, 1, 0
    remaining_readers = np.maximum(inside - 1, 0)
    enter = (
        np.minimum(readers, limit - remaining_readers)
        if readers_first
        else np.where(writers == 0, np.minimum(readers, limit - remaining_readers), 0)
    )
    writes = (remaining_readers + enter == 0) & (writers > 0)
    after = (remaining_readers + enter, 1 * writes, readers - enter, writers - writes)
    yield writer == 1, after, 1, _WRITER, 0, 0
    last = (inside > 0) & (writers > 0) & (not readers_first)
    yield last, after, inside, _LAST_READERS, 0, 0
    yield (inside > 0) & ~last, after, inside, _READER, 0, 0
