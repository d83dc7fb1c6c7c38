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


def _row_dtype(whole_number_names: str, float_names: str = "") -> np.dtype[Any]:
    """Return the type of the rows of a table, with columns of whole numbers and of floats."""
    columns = [(name, np.int64) for name in whole_number_names.split()] + [
        (name, np.float64) for name in float_names.split()
    ]
    return np.dtype((np.record, np.dtype(columns, align=True)))


TOKEN = _row_dtype(
    "instruction_number customer group parent index destination label wait_label rank branches_left"
    " last_branch previous_item next_item stages_passed awaited_stage next key order event"
    " event_kind station has_queued child sibling subheap excludes permits exit_instruction"
    " cut_label is_cut",
    "booked_until cycle_start waiting_time work requested_work finish last_end request_time"
    " queue_place patience weight speed",
)

RESOURCE = _row_dtype(
    "servers kind last_first preempts present_count busy_count ended_visits queue serving spinning"
    " arrival_count next_to_leave first_rate rate_count serves_in_arrival_order first_holder"
    " in_random_order overtime exclusive statistics_column waits_column breaker given_up_column",
    "counted_until present_time busy_time service_received total_weight requested_work"
    " busy_time_before",
)

BREAKER = _row_dtype(
    "failures calls trials first_outcome state_number half_open trials_begun trials_passed"
    " next_outcome failed_tries",
    "open_until",
)

POOL = _row_dtype("tasks monitor queues last_first problems first_queue first_problem open problem")

GROUP = _row_dtype(
    "kind first_instruction arrival_draw arrival_count response_count statistics_column"
    " first_label_column"
)

RUN = _row_dtype(
    "next_order events_planned first_free free_count alive cycles_per_row cycles_to_row running"
    " row_count trace_length needed events first_lock tally_column pipeline_column"
    " first_barrier_queue unawaited_branches unended_branches",
    "now",
)


class State(NamedTuple):
    """All tables of a run.

    The columns of a token have the names of `slipstick.sim.plain.event_loop.Token`; SERVERS of a
    lock are its permits, and `statistics_column`, `waits_column`, `given_up_column` and
    `first_label_column` the first of its columns in a row of statistics.
    """

    code: Ints
    constants: Floats  # by instruction: the value, where its draw is constant
    draw_number: Ints  # by instruction: the draw to take a value from, or -1
    targets: Ints
    cumulative: Floats
    counts: Floats
    token: Rows
    time_by_label: Floats
    last_branch_times: Floats
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
    values_taken: Ints  # values of each block that were used
    values_ready: Ints  # values of each block
    run: Rows  # single numbers
    statistics: Floats  # statistics up to now, by the columns of `Layout`
    rows: Floats
    responses: Floats
    trace: Rows
