"""The tables of a compiled run: kinds, rows with named columns, and the state that they make."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

READY = 0
"""The queue of the tokens that are ready; that of resource r is r + 1."""

EventKind = IntEnum("EventKind", "DELAYING SERVED AGAIN ABANDONING", start=0)
"""The event that is planned for a token."""

StationKind = IntEnum("StationKind", "FCFS SHARED ORDERED WEIGHTED BREAKER", start=0)
"""How a station serves; a circuit breaker is no station."""

GroupKind = IntEnum("GroupKind", "CLOSED OPEN ONCE", start=0)
"""How the customers of a group arrive and leave."""

Return = IntEnum("Return", "EVENTS_DONE NO_EVENTS NEEDS_RANDOM NEEDS_SPACE TABLE_FULL", start=0)
"""Why the loop returns to Python."""

Ints = NDArray[np.int64]

Floats = NDArray[np.float64]

Rows = Any
"""A table of rows with named columns."""


def _columns(names: str, times: str = "") -> np.dtype[Any]:
    """Name the columns of a table: whole numbers, and times [s]."""
    columns = [(name, np.int64) for name in names.split()] + [
        (name, np.float64) for name in times.split()
    ]
    return np.dtype((np.record, np.dtype(columns, align=True)))


TOKEN = _columns(
    "pc customer group parent index destination label wait rank left latest before after passed"
    " turn next key order event event_kind station delayed child sibling subheap excludes permits"
    " elsewhere cuts cut",
    "since begun waited work requested finish last since_request place patience weight speed",
)

RESOURCE = _columns(
    "servers kind last_first preempts present busy done queue serving spinning arrived ticket"
    " rates_from rates in_turn holders_from at_random exclusive stats waits"
    " breaker given_up",
    "changed area use progress weight asked use_before",
)

BREAKER = _columns(
    "failures calls trials first state_number half_open begun passed place failed", "open_until"
)

POOL = _columns("tasks monitor queues last_first problems first_queue first_problem open problem")

GROUP = _columns("kind start arrivals arrived responses stats booked")

RUN = _columns(
    "planned events_planned free free_count alive cycles_per_row cycles_to_row running rows traced"
    " wanted events locks tallies pipelines barriers unawaited_branches unended_branches",
    "now",
)


class State(NamedTuple):
    """All tables of a run.

    The columns of a token have the names of `slipstick.sim.plain.event_loop.Token`; SERVERS of a
    lock are its permits, and `stats`, `waits`, `given_up` and `booked` the first of its columns in
    a row of statistics.
    """

    code: Ints
    constants: Floats  # by instruction: the value, where its draw is constant
    drawn: Ints  # by instruction: the draw to take a value from, or -1
    targets: Ints
    cumulative: Floats
    counts: Floats
    token: Rows
    booked: Floats
    latest_booked: Floats
    registers: Ints
    resource: Rows  # stations, then locks
    # first and last token: of those that are ready, by resource waiting, served and spinning, and
    # by barrier
    queue: Ints
    waiting: Ints  # by barrier
    holder: Ints  # tokens that hold each lock, one lock behind the other
    breaker: Rows
    outcome: Ints  # of the last tries at each breaker, one breaker behind the other
    rates: Floats  # of stations that have them, one behind the other
    pool: Rows
    problem: Ints  # the first of the roots of each problem, and at the end the number of roots
    root: Ints  # tasks
    task: Ints  # first part, and the tasks before and behind it in its queue
    task_queue: Ints  # oldest and youngest task of each queue, or -1
    part: Ints  # the task that is added behind it or -1, and whether it is the last of its task
    part_time: Floats
    group: Rows
    heap: Rows
    values: Floats  # blocks of the draws
    taken: Ints  # values of each block that were used
    ready: Ints  # values of each block
    run: Rows  # single numbers
    stats: Floats  # statistics up to now, by the columns of `Layout`
    rows: Floats
    responses: Floats
    trace: Rows
