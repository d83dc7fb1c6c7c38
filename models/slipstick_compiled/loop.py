"""The compiled loop: the effects of the instructions of a plan on the tables of a run.

The functions correspond to the classes and methods of `slipstick.sim.plain`, which say what they
mean. A token, a resource, a group or a pool is a row of its table; tokens stand in queues of
`State.queue`, linked by their rows. The functions `execute_*` execute one instruction of a token
and return whether the token goes on at once with its next instruction.

Compiled code is cached in a directory named after the text that it is made of: numba itself looks
only at the file of the outermost function when it decides whether cached code is valid.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from slipstick.sim.plain.kernel import PLACES
from slipstick.sim.plain.stations import NEVER_WAITED
from slipstick.sim.plan import plan
from slipstick.sim.plan.plan import Op, PickRule, Where
from slipstick_compiled.tables import READY, EventKind, GroupKind, Return, State, StationKind

F = TypeVar("F", bound=Callable[..., Any])
Row = Any
"""A row of a table of `State`."""


def _cache_folder() -> str:
    """Return the folder of the compiled code, which is named after the text that the code is made
    of.
    """
    code_digest = hashlib.sha256()
    for file in (*sorted(Path(__file__).parent.glob("*.py")), Path(plan.__file__)):
        code_digest.update(file.read_bytes())
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(cache_home) / "slipstick" / f"loop-{code_digest.hexdigest()[:16]}")


def compiled(function: F) -> F:
    """Compile a function with numba, and cache the code on disk for the next process.

    Without reference counts (`_nrt`): nothing is allocated, and counting forty tables at every
    inlined call makes the loop forty times slower.
    """
    numba = import_module("numba")
    cache_folder_before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or _cache_folder()
    try:
        compiled_function: F = numba.njit(cache=True, _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = cache_folder_before
    return compiled_function


def inlined(function: F) -> F:
    """Compile a function into each function that calls it, without entry points for Python and C,
    which take half of the time of compilation.
    """
    options = {
        "forceinline": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
    }
    compiled_function: F = import_module("numba").njit(**options)(function)
    return compiled_function


@inlined
def plan_event(tables: State, time: float, token_number: int) -> int:
    """Add an event to the event list, and return its number."""
    run = tables.run[0]
    event_order: int = run.next_order
    heap_index = run.events_planned
    run.next_order += 1
    run.events_planned += 1
    while heap_index > 0:
        parent_index = (heap_index - 1) >> 1
        # Later in planning, so it stays below what happens at the same time.
        if tables.heap[parent_index].time <= time:
            break
        move_event(tables, heap_index, parent_index)
        heap_index = parent_index
    event = tables.heap[heap_index]
    event.time = time
    event.order = event_order
    event.token = token_number
    return event_order


@inlined
def is_earlier(first_event: Row, second_event: Row) -> bool:
    """Return whether an event happens before another."""
    return bool(
        first_event.time < second_event.time
        or (first_event.time == second_event.time and first_event.order < second_event.order)
    )


@inlined
def move_event(tables: State, target_index: int, source_index: int) -> None:
    """Copy an event to another place of the heap of events."""
    event = tables.heap[target_index]
    source_event = tables.heap[source_index]
    event.time = source_event.time
    event.order = source_event.order
    event.token = source_event.token


@inlined
def remove_first_event(tables: State) -> None:
    """Remove the first event of the event list."""
    tables.run[0].events_planned -= 1
    event_count = tables.run[0].events_planned
    heap_index = 0
    child_index = 1
    while child_index < event_count:
        if child_index + 1 < event_count and is_earlier(
            tables.heap[child_index + 1], tables.heap[child_index]
        ):
            child_index += 1
        if is_earlier(tables.heap[event_count], tables.heap[child_index]):
            break
        move_event(tables, heap_index, child_index)
        heap_index = child_index
        child_index = 2 * child_index + 1
    move_event(tables, heap_index, event_count)


@inlined
def put_between(
    tables: State,
    queue_number: int,
    token_number: int,
    previous_token_number: int,
    following_token_number: int,
) -> None:
    """Link a token into a queue between two tokens; -1 in their place stands for the head or the
    end of the queue.
    """
    tables.token[token_number].next = following_token_number
    if previous_token_number < 0:
        tables.queue[queue_number, 0] = token_number
    else:
        tables.token[previous_token_number].next = token_number
    if following_token_number < 0:
        tables.queue[queue_number, 1] = token_number


@inlined
def append(tables: State, queue_number: int, token_number: int) -> None:
    """Put a token at the end of a queue."""
    put_between(tables, queue_number, token_number, tables.queue[queue_number, 1], -1)


@inlined
def insert_at(tables: State, queue_number: int, token_number: int, tokens_before: int) -> None:
    """Insert a token into a queue, behind the first `tokens_before` tokens."""
    previous_token_number = -1
    current_token_number = tables.queue[queue_number, 0]
    for _ in range(tokens_before):
        previous_token_number = current_token_number
        current_token_number = tables.token[current_token_number].next
    put_between(tables, queue_number, token_number, previous_token_number, current_token_number)


@inlined
def goes_before(tables: State, first_token_number: int, second_token_number: int) -> bool:
    """Return whether a token comes before another in a queue: by its key, and for equal keys by its
    order.
    """
    first_record = tables.token[first_token_number]
    second_record = tables.token[second_token_number]
    return bool(
        first_record.key < second_record.key
        or (first_record.key == second_record.key and first_record.order < second_record.order)
    )


@inlined
def insert(tables: State, queue_number: int, token_number: int) -> None:
    """Insert a token into a queue by its key, behind those with an equal key."""
    previous_token_number = tables.queue[queue_number, 1]
    current_token_number = -1
    if previous_token_number >= 0 and goes_before(tables, token_number, previous_token_number):
        previous_token_number = -1
        current_token_number = tables.queue[queue_number, 0]
        while not goes_before(tables, token_number, current_token_number):
            previous_token_number = current_token_number
            current_token_number = tables.token[current_token_number].next
    put_between(tables, queue_number, token_number, previous_token_number, current_token_number)


@inlined
def take_first(tables: State, queue_number: int) -> int:
    """Remove the first token of a queue, and return it."""
    token_number: int = tables.queue[queue_number, 0]
    tables.queue[queue_number, 0] = tables.token[token_number].next
    if tables.queue[queue_number, 0] < 0:
        tables.queue[queue_number, 1] = -1
    return token_number


@inlined
def take_out(tables: State, queue_number: int, token_number: int) -> None:
    """Remove a token from a queue."""
    previous_token_number = -1
    current_token_number = tables.queue[queue_number, 0]
    while current_token_number != token_number:
        previous_token_number = current_token_number
        current_token_number = tables.token[current_token_number].next
    following_token_number = tables.token[token_number].next
    if previous_token_number < 0:
        tables.queue[queue_number, 0] = following_token_number
    else:
        tables.token[previous_token_number].next = following_token_number
    if following_token_number < 0:
        tables.queue[queue_number, 1] = previous_token_number


@inlined
def book(tables: State, token_number: int, now: float) -> None:
    """Add the time since the token's last booking to the label that it has now."""
    token_record = tables.token[token_number]
    tables.time_by_label[token_number, token_record.label] += now - token_record.booked_until
    token_record.booked_until = now


@inlined
def wake(tables: State, token_number: int, now: float) -> None:
    """Book the waiting time of a token, and let it run."""
    book(tables, token_number, now)
    append(tables, READY, token_number)


@inlined
def new_token_number(
    tables: State, now: float, group_number: int, customer: int, parent: int, index: int
) -> int:
    """Take a token from the list of free ones, initialize it, and return its number."""
    run = tables.run[0]
    token_number: int = run.first_free
    token_record = tables.token[token_number]
    run.first_free = token_record.next
    run.free_count -= 1
    token_record.customer = customer
    token_record.group = group_number
    token_record.parent = parent
    token_record.index = index
    token_record.stages_passed = 0
    token_record.awaited_stage = -1
    token_record.previous_item = -1
    token_record.next_item = -1
    token_record.child = -1
    token_record.sibling = -1
    token_record.event = -1
    token_record.destination = 0
    token_record.excludes = 0
    token_record.permits = 1
    token_record.order = 0
    token_record.patience = -1.0
    token_record.is_cut = 0
    token_record.weight = 1.0
    if parent >= 0:
        token_record.destination = tables.token[parent].destination
        token_record.sibling = tables.token[parent].child
        tables.token[parent].child = token_number
    token_record.booked_until = token_record.cycle_start = now
    for label in range(tables.time_by_label.shape[1]):
        tables.time_by_label[token_number, label] = 0.0
    for register in range(tables.registers.shape[1]):
        tables.registers[token_number, register] = 0
    return token_number


@inlined
def free_token(tables: State, token_number: int) -> None:
    """Return a token to the list of free ones."""
    tables.token[token_number].next = tables.run[0].first_free
    tables.run[0].first_free = token_number
    tables.run[0].free_count += 1


@inlined
def write_row(tables: State, now: float) -> None:
    """Write the statistics of this moment as a row."""
    for resource_number in range(tables.resource.shape[0]):
        resource = tables.resource[resource_number]
        accumulate(tables, resource, now)
        (
            tables.statistics[resource.statistics_column],
            tables.statistics[resource.statistics_column + 1],
            tables.statistics[resource.statistics_column + 2],
        ) = (
            resource.present_time,
            resource.busy_time,
            resource.ended_visits,
        )
    run = tables.run[0]
    tables.statistics[0], tables.statistics[1] = now, run.next_order
    # The plain kernel numbers rows like events, so both kernels count the same.
    run.next_order += 1
    for column in range(tables.statistics.shape[0]):
        tables.rows[run.row_count, column] = tables.statistics[column]
    run.row_count += 1


@inlined
def begin_state(tables: State, breaker: Row, half_open: int) -> None:
    """Begin a state of a circuit breaker in which it admits tries, of which none has counted."""
    breaker.state_number += 1
    breaker.half_open = half_open
    breaker.trials_begun = breaker.trials_passed = breaker.next_outcome = breaker.failed_tries = 0
    for outcome_index in range(breaker.first_outcome, breaker.first_outcome + breaker.calls):
        tables.outcome[outcome_index] = 0


@inlined
def end_open_time(tables: State, resource: Row, now: float) -> None:
    """End the open state of a circuit breaker if its time is over; it admits trials from then
    on.
    """
    breaker = tables.breaker[resource.breaker]
    if resource.busy_count == 0 or now < breaker.open_until:
        return
    open_time = breaker.open_until - resource.counted_until
    resource.present_time += resource.present_count * open_time
    resource.busy_time += resource.busy_count * open_time
    resource.counted_until = breaker.open_until
    resource.busy_count = 0
    begin_state(tables, breaker, 1)


@inlined
def open_breaker(resource: Row, breaker: Row, until: float) -> None:
    """Open a circuit breaker, which refuses all tries up to a time."""
    breaker.state_number += 1
    resource.busy_count = 1
    breaker.open_until = until


@inlined
def consult(tables: State, token_number: int, instruction: Row, now: float) -> bool:
    """Execute CONSULT: ask a circuit breaker to admit a try."""
    breaker_number = instruction[1]
    tally_number = instruction[2]
    register = instruction[3]
    refusal_instruction = instruction[4]
    tally_column = tables.run[0].tally_column + 2 * tally_number
    tables.statistics[tally_column] += 1
    resource = tables.resource[tables.run[0].first_lock + breaker_number]
    accumulate(tables, resource, now)
    breaker = tables.breaker[resource.breaker]
    if resource.busy_count > 0 or (
        breaker.half_open != 0 and breaker.trials_begun == breaker.trials
    ):
        tables.registers[token_number, register] = -1
        tables.statistics[tally_column + 1] += 1
        tables.token[token_number].instruction_number = refusal_instruction
        return True
    breaker.trials_begun += breaker.half_open
    tables.registers[token_number, register] = breaker.state_number
    return True


@inlined
def record(
    tables: State, token_number: int, instruction: Row, open_time: float, now: float
) -> bool:
    """Execute RECORD: count a try that has ended, and open or close the circuit breaker after
    it.
    """
    breaker_number = instruction[1]
    register = instruction[2]
    resource = tables.resource[tables.run[0].first_lock + breaker_number]
    accumulate(tables, resource, now)
    breaker = tables.breaker[resource.breaker]
    has_failed = instruction[3]
    if tables.registers[token_number, register] != breaker.state_number:
        return True
    if breaker.half_open != 0:
        if has_failed != 0:
            open_breaker(resource, breaker, now + open_time)
            return True
        breaker.trials_passed += 1
        if breaker.trials_passed == breaker.trials:
            begin_state(tables, breaker, 0)
        return True
    breaker.failed_tries += (
        has_failed - tables.outcome[breaker.first_outcome + breaker.next_outcome]
    )
    tables.outcome[breaker.first_outcome + breaker.next_outcome] = has_failed
    breaker.next_outcome = (breaker.next_outcome + 1) % breaker.calls
    if breaker.failed_tries == breaker.failures:
        open_breaker(resource, breaker, now + open_time)
    return True


@inlined
def accumulate(tables: State, resource: Row, now: float) -> None:
    """Add the time since the last change to the integrals of a resource: customers present, busy
    servers and, where service is shared, work done for each.
    """
    elapsed = now - resource.counted_until
    if resource.kind != StationKind.FCFS:  # locks and most stations need one look at the kind
        if resource.kind == StationKind.SHARED:
            resource.service_received += elapsed * service_rate(tables, resource)
        elif resource.kind == StationKind.WEIGHTED:
            token_number = tables.queue[resource.queue, 0]
            while token_number >= 0:
                tables.token[token_number].work -= elapsed * tables.token[token_number].speed
                token_number = tables.token[token_number].next
        elif resource.kind == StationKind.BREAKER:
            end_open_time(tables, resource, now)
            elapsed = now - resource.counted_until
        elif resource.rate_count > 0 and tables.queue[resource.serving, 0] >= 0:
            tables.token[tables.queue[resource.serving, 0]].work -= elapsed * speed_of_server(
                tables, resource
            )
    resource.counted_until = now
    resource.present_time += resource.present_count * elapsed
    resource.busy_time += resource.busy_count * elapsed


@inlined
def plan_weighted_departure(tables: State, resource: Row, now: float) -> None:
    """Compute the speeds of the customers of servers that are shared by weights, find which of them
    leaves next, and plan when.
    """
    resource.busy_count = min(resource.present_count, resource.servers)
    if resource.next_to_leave >= 0:
        tables.token[resource.next_to_leave].event = -1
    resource.next_to_leave = -1
    servers_left = float(resource.servers)
    weight_left = 0.0
    token_number = tables.queue[resource.queue, 0]
    while token_number >= 0:
        weight_left += tables.token[token_number].weight
        token_number = tables.token[token_number].next
    shortest_time_left = math.inf
    token_number = tables.queue[resource.queue, 0]
    while token_number >= 0:
        token_record = tables.token[token_number]
        speed = servers_left * token_record.weight / weight_left
        if speed >= 1.0:
            servers_left -= 1.0
            weight_left -= token_record.weight
        token_record.speed = min(speed, 1.0)
        time_left = max(token_record.work, 0.0) / token_record.speed
        is_cut = 0
        if token_record.cut_label != 0 and token_record.patience >= 0.0:
            time_to_limit = max(token_record.patience - (now - token_record.booked_until), 0.0)
            if time_to_limit < time_left:
                is_cut = 1
                time_left = time_to_limit
        if time_left < shortest_time_left:
            shortest_time_left = time_left
            resource.next_to_leave = token_number
            token_record.is_cut = is_cut
        token_number = token_record.next
    if resource.next_to_leave >= 0:
        patience = tables.token[resource.next_to_leave].patience
        begin_service(tables, resource, resource.next_to_leave, now + shortest_time_left)
        tables.token[resource.next_to_leave].patience = patience


@inlined
def enter_weighted(
    tables: State, resource: Row, token_number: int, work: float, now: float
) -> None:
    """Add a customer to servers that are shared by weights, after the customers of at least its
    weight.
    """
    token_record = tables.token[token_number]
    token_record.work = token_record.requested_work = work
    previous_token_number = -1
    current_token_number = tables.queue[resource.queue, 0]
    while (
        current_token_number >= 0
        and tables.token[current_token_number].weight >= token_record.weight
    ):
        previous_token_number = current_token_number
        current_token_number = tables.token[current_token_number].next
    put_between(tables, resource.queue, token_number, previous_token_number, current_token_number)
    resource.present_count += 1
    plan_weighted_departure(tables, resource, now)


@inlined
def count_departure(tables: State, resource: Row, now: float) -> None:
    """Count a customer that leaves a station, a lock or its queue."""
    accumulate(tables, resource, now)
    resource.present_count -= 1
    resource.ended_visits += 1


@inlined
def service_rate(tables: State, resource: Row) -> float:
    """Return the speed at which a customer of weight 1 is served: the full speed where customers
    are served one after another, else its share of the speed.
    """
    if resource.present_count == 0:
        return 1.0
    if resource.rate_count > 0:
        speed: float = tables.rates[
            resource.first_rate + min(resource.present_count, resource.rate_count) - 1
        ]
        return speed if resource.serves_in_arrival_order else speed / resource.total_weight
    shared_speed: float = min(resource.present_count, resource.servers) / resource.total_weight
    return shared_speed


@inlined
def speed_of_server(tables: State, resource: Row) -> float:
    """Return the speed of a single server that depends on the number present."""
    speed: float = tables.rates[
        resource.first_rate + min(resource.present_count, resource.rate_count) - 1
    ]
    return speed


@inlined
def plan_end_of_service(tables: State, resource: Row, now: float) -> None:
    """Plan again, at the present speed, the end of the present service at a single server whose
    speed depends on the number present.
    """
    token_number = tables.queue[resource.serving, 0]
    if token_number >= 0:
        begin_service(
            tables,
            resource,
            token_number,
            now + max(tables.token[token_number].work, 0.0) / speed_of_server(tables, resource),
        )


@inlined
def begin_service(tables: State, resource: Row, token_number: int, end_time: float) -> None:
    """Plan the end of a service that a customer begins, at `end_time` [s]."""
    token_record = tables.token[token_number]
    token_record.event_kind = EventKind.SERVED
    token_record.patience = -1.0
    token_record.station = resource.queue - 1
    token_record.event = plan_event(tables, end_time, token_number)


@inlined
def limit_service(resource: Row, token_record: Row, work: float, now: float) -> float:
    """Return the duration of a service that begins now: its work or, if the time limit of the visit
    ends it before, the time that is left to the limit [s].
    """
    if token_record.cut_label != 0 and token_record.patience >= 0.0:
        time_left: float = token_record.patience - (now - token_record.booked_until)
        if time_left < work:
            token_record.is_cut = 1
            resource.requested_work -= work - time_left
            return time_left
    return work


@inlined
def plan_abandonment(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Plan when a customer in the queue abandons it; the event is void when its service begins."""
    token_record = tables.token[token_number]
    if token_record.patience >= 0.0:
        token_record.event_kind = EventKind.ABANDONING
        token_record.station = resource.queue - 1
        token_record.event = plan_event(tables, now + token_record.patience, token_number)


@inlined
def abandon(tables: State, token_number: int, now: float) -> None:
    """Remove a customer whose patience has ended from its queue, book its time there as waiting
    time, and continue it at its exit instruction.
    """
    token_record = tables.token[token_number]
    resource = tables.resource[token_record.station]
    count_departure(tables, resource, now)
    take_out(tables, resource.queue, token_number)
    # Those behind it may take fewer permits.
    if token_record.station >= tables.run[0].first_lock:
        if resource.servers > 1:
            tables.statistics[resource.waits_column + 1] += now - token_record.request_time
        grant_waiting(tables, resource, now)
    else:
        resource.requested_work -= token_record.work
        if resource.rate_count > 0:
            tables.statistics[resource.waits_column] += now - token_record.booked_until
            plan_end_of_service(tables, resource, now)
    token_record.label = token_record.wait_label
    token_record.instruction_number = token_record.exit_instruction
    token_record.patience = -1.0
    book(tables, token_number, now)


@inlined
def enter(tables: State, resource: Row, token_number: int, work: float, now: float) -> None:
    """Begin a visit to a station: begin service, or queue."""
    accumulate(tables, resource, now)
    if resource.present_count == 0:
        resource.requested_work = 0.0
        resource.busy_time_before = resource.busy_time
    resource.requested_work += work
    token_record = tables.token[token_number]
    if resource.kind == StationKind.FCFS:
        resource.present_count += 1
        if resource.busy_count < resource.servers:
            resource.busy_count += 1
            token_record.waiting_time = 0.0
            begin_service(
                tables,
                resource,
                token_number,
                now + limit_service(resource, token_record, work, now),
            )
        else:
            token_record.work = work
            if resource.in_random_order:
                insert_at(
                    tables,
                    resource.queue,
                    token_number,
                    int(token_record.queue_place * (resource.present_count - resource.busy_count)),
                )
            else:
                append(tables, resource.queue, token_number)
            plan_abandonment(tables, resource, token_number, now)
    elif resource.kind == StationKind.SHARED:
        if resource.present_count == 0:
            resource.service_received = resource.total_weight = 0.0
        resource.total_weight += token_record.weight
        token_record.requested_work = work
        last_token_number = tables.queue[resource.queue, 1]
        token_record.finish = work / token_record.weight + (
            tables.token[last_token_number].finish
            if resource.serves_in_arrival_order and last_token_number >= 0
            else resource.service_received
        )
        if resource.serves_in_arrival_order:  # in the order of their ends already
            append(tables, resource.queue, token_number)
        else:
            resource.arrival_count += 1
            token_record.order = resource.arrival_count
            token_record.next = token_record.subheap = -1
            tables.queue[resource.queue, 0] = merge_heaps(
                tables, tables.queue[resource.queue, 0], token_number
            )
        resource.present_count += 1
        plan_shared_departure(tables, resource, now)
    elif resource.kind == StationKind.WEIGHTED:
        enter_weighted(tables, resource, token_number, work, now)
    else:
        enter_ordered(tables, resource, token_number, work, now)
        if resource.rate_count > 0:
            plan_end_of_service(tables, resource, now)


@inlined
def merge_heaps(tables: State, first_token_number: int, second_token_number: int) -> int:
    """Merge two heaps of customers that share servers, and return the customer on top, whose
    service ends first; of equal ends, the earlier arrival comes first. -1 is an empty heap.

    A skew heap: a merge follows one line of subheaps (`next`) and puts each aside (`subheap`), so
    that n merges take n log n steps at most.

    Source: Sleator and Tarjan, SIAM Journal on Computing 15(1), 1986, 52-69.
    """
    top_token_number = -1
    upper_token_number = -1
    while first_token_number >= 0 and second_token_number >= 0:
        first_record = tables.token[first_token_number]
        second_record = tables.token[second_token_number]
        if second_record.finish < first_record.finish or (
            second_record.finish == first_record.finish and second_record.order < first_record.order
        ):
            first_token_number, second_token_number = second_token_number, first_token_number
        if upper_token_number < 0:
            top_token_number = first_token_number
        else:
            tables.token[upper_token_number].subheap = first_token_number
        upper_token_number = first_token_number
        lower_record = tables.token[first_token_number]
        first_token_number = lower_record.next
        lower_record.next = lower_record.subheap
    remaining_token_number = max(first_token_number, second_token_number)
    if upper_token_number < 0:
        return remaining_token_number
    tables.token[upper_token_number].subheap = remaining_token_number
    return top_token_number


@inlined
def plan_shared_departure(tables: State, resource: Row, now: float) -> None:
    """Find which customer leaves a station with shared service next, and plan when."""
    resource.busy_count = min(resource.present_count, resource.servers)
    if resource.next_to_leave >= 0:
        tables.token[resource.next_to_leave].event = -1
    resource.next_to_leave = tables.queue[resource.queue, 0]
    if resource.present_count == 0:
        return
    begin_service(
        tables,
        resource,
        resource.next_to_leave,
        now
        + max(tables.token[resource.next_to_leave].finish - resource.service_received, 0.0)
        / service_rate(tables, resource),
    )


@inlined
def begin_ordered_service(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Begin or resume a service that may be interrupted."""
    append(tables, resource.serving, token_number)
    if resource.rate_count > 0:  # planned by `plan_end_of_service`
        return
    token_record = tables.token[token_number]
    # Services with a limit are not interrupted, so that one begins once.
    if token_record.cut_label != 0 and token_record.patience >= 0.0:
        token_record.work = token_record.requested_work = limit_service(
            resource, token_record, token_record.work, now
        )
    token_record.finish = now + token_record.work
    begin_service(tables, resource, token_number, token_record.finish)


@inlined
def enter_ordered(tables: State, resource: Row, token_number: int, work: float, now: float) -> None:
    """Begin a service at a station with priorities, interrupting a less urgent customer where the
    discipline preempts, or queue.
    """
    resource.present_count += 1
    resource.arrival_count += 1
    token_record = tables.token[token_number]
    token_record.order = resource.arrival_count
    token_record.key = -token_record.order if resource.last_first else token_record.rank
    token_record.work = token_record.requested_work = work
    token_record.has_queued = 0
    if resource.busy_count < resource.servers or (resource.overtime and token_record.rank == 0):
        resource.busy_count += 1
        begin_ordered_service(tables, resource, token_number, now)
        return
    if resource.preempts:
        interrupted_token_number = tables.queue[resource.serving, 0]
        served_token_number = tables.token[interrupted_token_number].next
        while served_token_number >= 0:
            if goes_before(tables, interrupted_token_number, served_token_number):
                interrupted_token_number = served_token_number
            served_token_number = tables.token[served_token_number].next
        if goes_before(tables, token_number, interrupted_token_number):
            take_out(tables, resource.serving, interrupted_token_number)
            interrupted_record = tables.token[interrupted_token_number]
            interrupted_record.event = -1
            interrupted_record.has_queued = 1
            if resource.rate_count == 0:
                interrupted_record.work = interrupted_record.finish - now
            insert(tables, resource.queue, interrupted_token_number)
            begin_ordered_service(tables, resource, token_number, now)
            return
    token_record.has_queued = 1
    if resource.in_random_order:
        insert_at(
            tables,
            resource.queue,
            token_number,
            int(token_record.queue_place * (resource.present_count - resource.busy_count)),
        )
    else:
        insert(tables, resource.queue, token_number)
    plan_abandonment(tables, resource, token_number, now)


@inlined
def leave(tables: State, token_number: int, now: float) -> None:
    """End a visit to a station, begin the next service there, and book service and waiting time."""
    token_record = tables.token[token_number]
    resource = tables.resource[token_record.station]
    count_departure(tables, resource, now)
    if resource.kind == StationKind.FCFS:
        begin_next_in_order_of_arrival(tables, resource, now)
    elif resource.kind == StationKind.SHARED:
        leave_shared(tables, resource, token_number, now)
    elif resource.kind == StationKind.WEIGHTED:
        leave_weighted(tables, resource, token_number, now)
    else:
        leave_ordered(tables, resource, token_number, now)
    if token_record.is_cut != 0:
        token_record.is_cut = 0
        token_record.instruction_number = token_record.exit_instruction
        token_record.label = token_record.cut_label - 1
        tables.statistics[resource.given_up_column] += (
            now - token_record.booked_until - token_record.waiting_time
        )
    if token_record.waiting_time != 0.0:
        tables.time_by_label[token_number, token_record.wait_label] += token_record.waiting_time
    tables.time_by_label[token_number, token_record.label] += (
        now - token_record.booked_until
    ) - token_record.waiting_time
    token_record.booked_until = now


@inlined
def begin_next_in_order_of_arrival(tables: State, resource: Row, now: float) -> None:
    """Begin the service of the first customer in the queue of a station, which a customer leaves;
    without a queue a server becomes idle.
    """
    if tables.queue[resource.queue, 0] < 0:
        resource.busy_count -= 1
        return
    next_token_number = take_first(tables, resource.queue)
    next_record = tables.token[next_token_number]
    next_record.waiting_time = now - next_record.booked_until
    begin_service(
        tables,
        resource,
        next_token_number,
        now + limit_service(resource, next_record, next_record.work, now),
    )


@inlined
def leave_shared(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Remove a customer from servers that are shared equally, and compute its waiting time: the
    time beyond the service that it would take alone.
    """
    token_record = tables.token[token_number]
    resource.service_received = token_record.finish
    if resource.serves_in_arrival_order:
        take_first(tables, resource.queue)
    else:
        tables.queue[resource.queue, 0] = merge_heaps(
            tables, token_record.next, token_record.subheap
        )
    resource.total_weight -= token_record.weight
    token_record.weight = 1.0
    resource.next_to_leave = -1
    plan_shared_departure(tables, resource, now)
    if resource.rate_count > 0:
        count_time_beyond_service_alone(tables, resource, token_number, now)
    else:
        token_record.waiting_time = time_beyond_service(token_record, now)


@inlined
def leave_weighted(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Remove a customer from servers that are shared by weights, and compute its waiting time."""
    token_record = tables.token[token_number]
    take_out(tables, resource.queue, token_number)
    resource.next_to_leave = -1
    token_record.weight = 1.0
    token_record.patience = -1.0
    if token_record.is_cut != 0:
        work_left = max(token_record.work, 0.0)
        token_record.requested_work -= work_left
        resource.requested_work -= work_left
    plan_weighted_departure(tables, resource, now)
    token_record.waiting_time = time_beyond_service(token_record, now)


@inlined
def leave_ordered(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Remove a customer from a station with priorities, begin the next service there, and compute
    the waiting time of the customer.
    """
    token_record = tables.token[token_number]
    take_out(tables, resource.serving, token_number)
    if tables.queue[resource.queue, 0] < 0 or resource.busy_count > resource.servers:
        resource.busy_count -= 1
    else:
        begin_ordered_service(tables, resource, take_first(tables, resource.queue), now)
    token_record.waiting_time = (
        time_beyond_service(token_record, now) if token_record.has_queued else 0.0
    )
    if resource.rate_count > 0:
        plan_end_of_service(tables, resource, now)
        count_time_beyond_service_alone(tables, resource, token_number, now)


@inlined
def count_time_beyond_service_alone(
    tables: State, resource: Row, token_number: int, now: float
) -> None:
    """Compute the waiting time of a customer that leaves a station with rates: the time beyond its
    service with no other customer present. Add it to the waits of the station.
    """
    token_record = tables.token[token_number]
    token_record.waiting_time = (
        now
        - token_record.booked_until
        - token_record.requested_work / tables.rates[resource.first_rate]
    )
    tables.statistics[resource.waits_column] += token_record.waiting_time


@inlined
def time_beyond_service(token_record: Row, now: float) -> float:
    """Return the time present beyond the service requested; 0 if the difference is only rounding
    [s].
    """
    time_present = now - token_record.booked_until
    waiting_time: float = time_present - token_record.requested_work
    return waiting_time if waiting_time > NEVER_WAITED * time_present else 0.0


@inlined
def request(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Count a token as present at a lock from now on."""
    accumulate(tables, resource, now)
    resource.present_count += 1
    tables.token[token_number].request_time = now


@inlined
def is_free(resource: Row) -> bool:
    """Return whether another token may hold a lock or permits."""
    return bool(resource.busy_count < resource.servers and resource.exclusive == 0)


@inlined
def may_be_granted(tables: State, resource: Row, token_number: int) -> bool:
    """Return whether a lock may be granted to a token now, regardless of waiting tokens."""
    if tables.token[token_number].excludes:
        return bool(resource.busy_count == 0)
    return bool(
        resource.busy_count + tables.token[token_number].permits <= resource.servers
        and resource.exclusive == 0
    )


@inlined
def acquire_or_queue(tables: State, resource: Row, token_number: int, now: float) -> bool:
    """Acquire a lock if it is free for the token and no token waits for it with precedence, else
    enter its queue; return whether it was acquired.
    """
    request(tables, resource, token_number, now)
    token_record = tables.token[token_number]
    first_token_number = tables.queue[resource.queue, 0]
    token_record.key = token_record.rank
    token_record.order = 0
    if may_be_granted(tables, resource, token_number) and (
        first_token_number < 0 or goes_before(tables, token_number, first_token_number)
    ):
        grant(tables, resource, token_number, now)
        return True
    insert(tables, resource.queue, token_number)
    if token_record.patience >= 0.0:
        token_record.wait_label = token_record.label
        plan_abandonment(tables, resource, token_number, now)
    return False


@inlined
def grant(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Grant a lock to a token; its integrals must be up to date."""
    for _ in range(tables.token[token_number].permits):
        tables.holder[resource.first_holder + resource.busy_count] = token_number
        resource.busy_count += 1
    tables.token[token_number].patience = -1.0
    tables.token[token_number].event = -1
    resource.exclusive = tables.token[token_number].excludes
    count_wait(tables, resource, token_number, now)


@inlined
def count_wait(tables: State, resource: Row, token_number: int, now: float) -> None:
    """Add a wait for a lock that ended to the sums of the waiting times."""
    waiting_time = now - tables.token[token_number].request_time
    tables.statistics[resource.waits_column] += 1.0
    tables.statistics[resource.waits_column + 1] += waiting_time
    tables.statistics[resource.waits_column + 2] += waiting_time * waiting_time


@inlined
def remove_holder(tables: State, resource: Row, token_number: int) -> None:
    """Remove a token from the holders of a lock, which stay in the order in which they acquired
    it.
    """
    resource.busy_count -= 1
    holder_index = resource.first_holder
    last_index = resource.first_holder + resource.busy_count
    while tables.holder[holder_index] != token_number:
        holder_index += 1
    while holder_index < last_index:
        tables.holder[holder_index] = tables.holder[holder_index + 1]
        holder_index += 1


@inlined
def take_first_waiting(tables: State, resource: Row, now: float) -> int:
    """Remove and return the token that has waited longest for a unit of a counter or for a task."""
    count_departure(tables, resource, now)
    next_token_number = take_first(tables, resource.queue)
    tables.token[next_token_number].excludes = 0
    tables.token[next_token_number].permits = 1
    count_wait(tables, resource, next_token_number, now)
    return next_token_number


@inlined
def hand_over(
    tables: State, resource: Row, token_number: int, next_token_number: int, now: float
) -> None:
    """Grant a lock to the given next token at once, before all that wait for it, and wake that
    token.
    """
    count_departure(tables, resource, now)
    resource.present_count += 1
    remove_holder(tables, resource, token_number)
    tables.token[next_token_number].request_time = now
    grant(tables, resource, next_token_number, now)
    wake(tables, next_token_number, now)


@inlined
def grant_waiting(tables: State, resource: Row, now: float) -> None:
    """Grant a lock to waiting tokens in their order, as long as the first of them may hold it."""
    while tables.queue[resource.queue, 0] >= 0 and may_be_granted(
        tables, resource, tables.queue[resource.queue, 0]
    ):
        next_token_number = take_first(tables, resource.queue)
        grant(tables, resource, next_token_number, now)
        wake(tables, next_token_number, now)


@inlined
def release(tables: State, resource: Row, token_number: int, permit_count: int, now: float) -> None:
    """Hand a lock to the first token in its queue; with an empty queue, free it and wake all
    spinning tokens.
    """
    count_departure(tables, resource, now)
    for _ in range(permit_count):
        remove_holder(tables, resource, token_number)
    resource.exclusive = 0
    if tables.queue[resource.queue, 0] >= 0:
        grant_waiting(tables, resource, now)
        return
    while tables.queue[resource.spinning, 0] >= 0:
        wake(tables, take_first(tables, resource.spinning), now)


@inlined
def pass_time(tables: State, token_number: int, label: int, time: float, now: float) -> bool:
    """Suspend a token for a time that is booked to a label."""
    token_record = tables.token[token_number]
    token_record.label = label
    token_record.event_kind = EventKind.DELAYING
    token_record.event = plan_event(tables, now + time, token_number)
    return False


@inlined
def serve(tables: State, token_number: int, instruction: Row, value: float, now: float) -> bool:
    """Execute SERVE: visit a station, which may depend on the customer or on the token's
    destination.
    """
    where_code = instruction[5]
    place_draw_code = instruction[7]
    token_record = tables.token[token_number]
    station_number = instruction[1]
    if where_code == Where.OWN:
        station_number += token_record.customer
    elif where_code == Where.DESTINATION:
        station_number += token_record.destination
    token_record.label = instruction[3]
    token_record.wait_label = instruction[4]
    token_record.rank = instruction[6]
    if place_draw_code > 0:
        token_record.queue_place = take_value(tables, place_draw_code - 1)
    enter(tables, tables.resource[station_number], token_number, value, now)
    return False


@inlined
def drawn_whole_count(count: float, value: float) -> int:
    """Return a whole number of rounds or items; the fraction of the count is the probability of one
    more.
    """
    whole_rounds = int(count)
    return whole_rounds + (1 if value < count - whole_rounds else 0)


@inlined
def execute_branch_instruction(
    tables: State, token_number: int, instruction: Row, operation: int, value: float
) -> bool:
    """Execute an instruction that sets the next instruction or the destination: DRAW_DESTINATION,
    NEXT_DESTINATION, CHOOSE, JUMP, SET_COUNT, LOOP and SWITCH.
    """
    token_record = tables.token[token_number]
    if operation == Op.CHOOSE:
        target_index = instruction[2]
        last_target_index = target_index + instruction[3] - 1
        while target_index < last_target_index and value >= tables.cumulative[target_index]:
            target_index += 1
        token_record.instruction_number = tables.targets[target_index]
    elif operation == Op.JUMP:
        token_record.instruction_number = instruction[1]
    elif operation == Op.SET_COUNT:
        tables.registers[token_number, instruction[1]] = drawn_whole_count(
            tables.counts[instruction[2]], value
        )
    elif operation == Op.LOOP:
        if tables.registers[token_number, instruction[1]] <= 0:
            token_record.instruction_number = instruction[2]
        else:
            tables.registers[token_number, instruction[1]] -= 1
    elif operation == Op.SWITCH:
        token_record.instruction_number = tables.targets[instruction[1] + token_record.index]
    elif operation == Op.DRAW_DESTINATION:
        token_record.destination = (
            instruction[2]
            + (token_record.customer - instruction[2] + 1 + int(value * (instruction[3] - 1)))
            % instruction[3]
        )
    else:
        token_record.destination = (
            instruction[1]
            + (
                token_record.customer
                - instruction[1]
                + 1
                + token_record.index % (instruction[2] - 1)
            )
            % instruction[2]
        )
    return True


@inlined
def load_of_resource(resource: Row, pick_rule: int, now: float) -> float:
    """Return the number present at a resource, or the work left there for each server [s]."""
    if pick_rule != PickRule.LEAST_WORK:
        return float(resource.present_count)
    if resource.present_count == 0:
        return 0.0
    work_left: float = (
        resource.requested_work
        - (
            resource.busy_time
            + resource.busy_count * (now - resource.counted_until)
            - resource.busy_time_before
        )
    ) / resource.servers
    return work_left


@inlined
def load_of_option(tables: State, target_index: int, pick_rule: int, now: float) -> float:
    """Return the load of one option of a pick: of the resource whose number is at this index of the
    table of targets.
    """
    return load_of_resource(tables.resource[tables.targets[target_index]], pick_rule, now)


@inlined
def least_loaded_option(
    tables: State, first_resource: int, option_count: int, pick_rule: int, value: float, now: float
) -> int:
    """Return the index of the option of least load; of equal ones, one chosen by a random value."""
    least_load = greatest_load = load_of_option(tables, first_resource, pick_rule, now)
    for option_index in range(1, option_count):
        load = load_of_option(tables, first_resource + option_index, pick_rule, now)
        least_load = min(least_load, load)
        greatest_load = max(greatest_load, load)
    # Sums of times that differ by rounding are equal.
    largest_equal_load = least_load + NEVER_WAITED * greatest_load
    equal_count = 0
    for option_index in range(option_count):
        equal_count += (
            load_of_option(tables, first_resource + option_index, pick_rule, now)
            <= largest_equal_load
        )
    options_to_skip = int(value * equal_count)
    chosen_index = 0
    for option_index in range(option_count):
        if (
            load_of_option(tables, first_resource + option_index, pick_rule, now)
            <= largest_equal_load
        ):
            if options_to_skip == 0:
                chosen_index = option_index
            options_to_skip -= 1
    return chosen_index


@inlined
def pick(tables: State, token_number: int, instruction: Row, value: float, now: float) -> bool:
    """Execute PICK: choose one of several alternatives in turn, by the shortest queue or the least
    work, or by the shorter of two queues drawn at random.
    """
    tally_column = tables.run[0].tally_column + 2 * instruction[2]
    pick_rule = instruction[3]
    first_target = instruction[4]
    option_count = instruction[5]
    first_resource = first_target + option_count
    option_index = 0
    if pick_rule == PickRule.IN_TURN:
        option_index = int(tables.statistics[tally_column]) % option_count
    elif pick_rule != PickRule.SHORTER_OF_TWO:
        option_index = least_loaded_option(
            tables, first_resource, option_count, pick_rule, value, now
        )
    else:
        # One random number chooses an ordered pair of different stations.
        pair_index = int(value * option_count * (option_count - 1))
        option_index = pair_index // (option_count - 1)
        second_index = pair_index % (option_count - 1)
        if second_index >= option_index:
            second_index += 1
        second_present_count = tables.resource[
            tables.targets[first_resource + second_index]
        ].present_count
        if (
            second_present_count
            < tables.resource[tables.targets[first_resource + option_index]].present_count
        ):
            option_index = second_index
    tables.statistics[tally_column] += 1.0
    tables.token[token_number].instruction_number = tables.targets[first_target + option_index]
    return True


@inlined
def admit(tables: State, token_number: int, instruction: Row) -> bool:
    """Execute ADMIT: count an arrival, and turn it away where a resource already has the most
    customers allowed.
    """
    tally_number = instruction[1]
    resource_number = instruction[2]
    capacity = instruction[3]
    refusal_instruction = instruction[4]
    tally_column = tables.run[0].tally_column + 2 * tally_number
    tables.statistics[tally_column] += 1.0
    if capacity > 0 and tables.resource[resource_number].present_count >= capacity:
        tables.statistics[tally_column + 1] += 1.0
        tables.token[token_number].instruction_number = refusal_instruction
    return True


@inlined
def count_access(tables: State, token_number: int, instruction: Row) -> bool:
    """Execute COUNT_ACCESS: count an access to the word or flag of a lock. A local access also
    counts as refused. The flag of a next holder that waits is never local.
    """
    tally_number = instruction[1]
    local_customer = instruction[2]
    notifying_lock = instruction[3]
    tally_column = tables.run[0].tally_column + 2 * tally_number
    run = tables.run[0]
    tables.statistics[tally_column] += 1.0
    next_holder_waits = (
        notifying_lock >= 0
        and tables.queue[tables.resource[run.first_lock + notifying_lock].queue, 0] >= 0
    )
    if not next_holder_waits and (
        local_customer < 0 or local_customer == tables.token[token_number].customer
    ):
        tables.statistics[tally_column + 1] += 1.0
    return True


@inlined
def execute_end(tables: State, token_number: int, instruction: Row, now: float) -> bool:
    """Execute END: record the response time and the booked times of a cycle, and begin the next
    cycle or free the token.
    """
    goes_onward = instruction[1]
    token_record = tables.token[token_number]
    run = tables.run[0]
    group_record = tables.group[token_record.group]
    is_response_kept = instruction[2] == 0
    cycle_start = token_record.cycle_start
    if is_response_kept:
        tables.responses[token_record.group, group_record.response_count] = now - cycle_start
        group_record.response_count += 1
        tables.statistics[group_record.statistics_column] += 1.0
        tables.statistics[group_record.statistics_column + 1] += now - cycle_start
    for label in range(tables.time_by_label.shape[1]):
        if tables.time_by_label[token_number, label] != 0.0:
            tables.statistics[group_record.first_label_column + label] += tables.time_by_label[
                token_number, label
            ]
            tables.time_by_label[token_number, label] = 0.0
    if group_record.kind == GroupKind.CLOSED:
        token_record.cycle_start = now
        if goes_onward == 0:
            token_record.instruction_number = group_record.first_instruction
    if group_record.kind == GroupKind.ONCE:
        run.alive -= 1
        if run.alive == 0:
            write_row(tables, now)
    elif is_response_kept:
        run.cycles_to_row -= 1
        if run.cycles_to_row == 0:
            run.cycles_to_row = run.cycles_per_row
            write_row(tables, now)
    if group_record.kind == GroupKind.OPEN:
        free_token(tables, token_number)
    if group_record.kind == GroupKind.CLOSED and cycle_start == now:
        token_record.event_kind = EventKind.AGAIN
        token_record.event = plan_event(tables, now, token_number)
    return bool(group_record.kind == GroupKind.CLOSED and cycle_start != now)


@inlined
def execute_parallel_instruction(
    tables: State, token_number: int, instruction: Row, value: float, now: float
) -> bool:
    """Execute FORK, JOIN, PIPELINE, ENTER_STAGE and LEAVE_STAGE: an item enters a stage when the
    item before it has left.
    """
    token_record = tables.token[token_number]
    operation = instruction[0]
    if operation == Op.FORK or operation == Op.PIPELINE:
        return begin_branches(tables, token_number, instruction, value, now)
    if operation == Op.JOIN:
        join(tables, token_number, instruction, now)
        return False
    if operation == Op.ENTER_STAGE:
        if (
            token_record.previous_item < 0
            or tables.token[token_record.previous_item].stages_passed > instruction[1]
        ):
            return True
        token_record.awaited_stage = instruction[1]
        return False
    token_record.stages_passed = instruction[1] + 1
    if (
        token_record.next_item >= 0
        and tables.token[token_record.next_item].awaited_stage == instruction[1]
    ):
        next_record = tables.token[token_record.next_item]
        next_record.awaited_stage = -1
        if now > next_record.booked_until:
            for label in range(tables.time_by_label.shape[1]):
                tables.time_by_label[token_record.next_item, label] = tables.time_by_label[
                    token_number, label
                ]
            next_record.booked_until = now
        append(tables, READY, token_record.next_item)
    return True


@inlined
def begin_branches(
    tables: State, token_number: int, instruction: Row, value: float, now: float
) -> bool:
    """Execute FORK and PIPELINE: start the branches, or the items of a pipeline."""
    token_record = tables.token[token_number]
    is_pipeline = instruction[0] == Op.PIPELINE
    branch_count = (
        drawn_whole_count(tables.counts[instruction[1]], value) if is_pipeline else instruction[2]
    )
    token_record.instruction_number = instruction[4] if is_pipeline else instruction[3]
    if branch_count == 0:
        return True
    token_record.branches_left = branch_count if is_pipeline else instruction[4]
    token_record.last_end = -1.0
    previous_item = -1
    for branch_index in range(branch_count):
        branch_token_number = new_token_number(
            tables, now, token_record.group, token_record.customer, token_number, branch_index
        )
        tables.token[branch_token_number].instruction_number = (
            instruction[3] if is_pipeline else tables.targets[instruction[1] + branch_index]
        )
        if is_pipeline:
            tables.token[branch_token_number].previous_item = previous_item
            if previous_item >= 0:
                tables.token[previous_item].next_item = branch_token_number
            previous_item = branch_token_number
        append(tables, READY, branch_token_number)
    if not is_pipeline and instruction[5] > 0:
        tables.token[token_record.child].index = token_record.index
        passed_lock = tables.resource[tables.run[0].first_lock + instruction[5] - 1]
        for holder_index in range(
            passed_lock.first_holder, passed_lock.first_holder + passed_lock.busy_count
        ):
            if tables.holder[holder_index] == token_number:
                tables.holder[holder_index] = token_record.child
        take_out(tables, READY, token_record.child)
        insert_at(tables, READY, token_record.child, 0)
    return False


@inlined
def reply(tables: State, token_number: int, instruction: Row, now: float) -> bool:
    """Execute REPLY: resume the customer of a hold before all tokens that are ready, and this token
    after them.
    """
    fork_count = instruction[1]
    body_token_number = token_number
    for _ in range(fork_count):
        body_token_number = tables.token[body_token_number].parent
    customer_token_number = tables.token[body_token_number].parent
    branch_token_number = token_number
    for _ in range(fork_count + 1):
        for label in range(tables.time_by_label.shape[1]):
            tables.time_by_label[customer_token_number, label] += tables.time_by_label[
                branch_token_number, label
            ]
        branch_token_number = tables.token[branch_token_number].parent
    tables.token[body_token_number].parent = -1
    tables.token[customer_token_number].child = -1
    tables.token[customer_token_number].booked_until = now
    tables.run[0].unawaited_branches += 1
    tables.run[0].unended_branches += 1
    insert_at(tables, READY, customer_token_number, 0)
    append(tables, READY, token_number)
    return False


@inlined
def spawn(tables: State, token_number: int, instruction: Row, now: float) -> bool:
    """Execute SPAWN: start a branch that the token does not wait for, which may take over a
    lock.
    """
    first_instruction = instruction[1]
    lock_number = instruction[2]
    token_record = tables.token[token_number]
    branch_token_number = new_token_number(
        tables, now, token_record.group, token_record.customer, -1, 0
    )
    tables.token[branch_token_number].instruction_number = first_instruction
    tables.token[branch_token_number].destination = token_record.destination
    if lock_number < 0:
        tables.run[0].unawaited_branches += 1
        tables.run[0].unended_branches += 1
    else:
        taken_lock = tables.resource[tables.run[0].first_lock + lock_number]
        for holder_index in range(
            taken_lock.first_holder, taken_lock.first_holder + taken_lock.busy_count
        ):
            if tables.holder[holder_index] == token_number:
                tables.holder[holder_index] = branch_token_number
    append(tables, READY, branch_token_number)
    return True


@inlined
def join(tables: State, token_number: int, instruction: Row, now: float) -> None:
    """Execute JOIN: end a branch or item, and continue the parent when enough of them have
    ended.
    """
    token_record = tables.token[token_number]
    label_count = tables.time_by_label.shape[1]
    parent_token_number = token_record.parent
    if parent_token_number < 0:
        tables.run[0].unended_branches -= 1
        free_token(tables, token_number)
        return
    token_record.parent = -1
    parent_record = tables.token[parent_token_number]
    # Of the branches that end last at the same time, the first in the program counts, so that the
    # order of events does not matter.
    if now > parent_record.last_end or token_record.index < parent_record.last_branch:
        parent_record.last_end = now
        parent_record.last_branch = token_record.index
        for label in range(label_count):
            tables.last_branch_times[parent_token_number, label] = tables.time_by_label[
                token_number, label
            ]
    parent_record.branches_left -= 1
    if parent_record.branches_left > 0:
        return
    for label in range(label_count):
        tables.time_by_label[parent_token_number, label] += tables.last_branch_times[
            parent_token_number, label
        ]
    if instruction[1] >= 0:
        pipeline_column = tables.run[0].pipeline_column + 2 * instruction[1]
        tables.statistics[pipeline_column] += 1.0
        tables.statistics[pipeline_column + 1] += now - parent_record.booked_until
    parent_record.booked_until = now
    # Items refer to their neighbours, so all are freed together; branches that have not ended go
    # on.
    child_token_number = parent_record.child
    while child_token_number >= 0:
        if tables.token[child_token_number].parent < 0:
            free_token(tables, child_token_number)
        else:
            tables.token[child_token_number].parent = -1
            tables.run[0].unawaited_branches += 1
            tables.run[0].unended_branches += 1
        child_token_number = tables.token[child_token_number].sibling
    parent_record.child = -1
    append(tables, READY, parent_token_number)


@inlined
def execute_lock_instruction(
    tables: State, token_number: int, instruction: Row, value: float, now: float
) -> bool:
    """Execute an instruction on a lock: ACQUIRE, RELEASE, REQUEST, ATTEMPT, AWAIT_FREE,
    TAKE_TICKET, AWAIT_TURN and BACK_OFF.
    """
    token_record = tables.token[token_number]
    operation = instruction[0]
    if operation == Op.BACK_OFF:
        doubling_count = tables.registers[token_number, instruction[3]]
        pause_time = (
            min(
                tables.counts[instruction[4]] * float(1 << doubling_count),
                tables.counts[instruction[5]],
            )
            * value
        )
        # At most 60 doublings: 1 << 63 would overflow a 64-bit number, and the limit is reached
        # long before.
        tables.registers[token_number, instruction[3]] = min(doubling_count + 1, 60)
        return pass_time(tables, token_number, instruction[2], pause_time, now)
    resource = tables.resource[tables.run[0].first_lock + instruction[1]]
    if operation == Op.ACQUIRE:
        token_record.label = instruction[2]
        token_record.rank = instruction[3]
        token_record.excludes = instruction[4]
        token_record.permits = instruction[5]
        return acquire_or_queue(tables, resource, token_number, now)
    if operation == Op.RELEASE:
        release(tables, resource, token_number, instruction[2], now)
    elif operation == Op.REQUEST:
        token_record.permits = 1
        request(tables, resource, token_number, now)
    elif operation == Op.ATTEMPT:
        if not is_free(resource):
            token_record.instruction_number = instruction[2]
        elif not instruction[3]:
            accumulate(tables, resource, now)
            grant(tables, resource, token_number, now)
    elif operation == Op.AWAIT_FREE:
        if not is_free(resource):
            token_record.label = instruction[2]
            append(tables, resource.spinning, token_number)
            return False
    elif operation == Op.TAKE_TICKET:
        tables.registers[token_number, instruction[2]], token_record.permits = (
            resource.ended_visits + resource.present_count,
            1,
        )
        request(tables, resource, token_number, now)
    else:
        token_record.key = int(value * PLACES)
        token_record.order = 0
        if tables.registers[token_number, instruction[3]] != resource.ended_visits:
            token_record.label = instruction[2]
            token_record.instruction_number = instruction[5]
            insert(tables, resource.spinning, token_number)
            return False
        accumulate(tables, resource, now)
        grant(tables, resource, token_number, now)
    return True


@inlined
def execute_barrier(tables: State, token_number: int, instruction: Row, now: float) -> bool:
    """Execute BARRIER: the last token wakes all tokens that wait, in the order of their arrival;
    every other token waits.
    """
    barrier_number = instruction[1]
    party_count = instruction[2]
    label = instruction[3]
    queue_number = tables.run[0].first_barrier_queue + barrier_number
    if tables.waiting[barrier_number] + 1 < party_count:
        tables.token[token_number].label = label
        append(tables, queue_number, token_number)
        tables.waiting[barrier_number] += 1
        return False
    while tables.queue[queue_number, 0] >= 0:
        wake(tables, take_first(tables, queue_number), now)
    tables.waiting[barrier_number] = 0
    return True


@inlined
def execute_counter_instruction(
    tables: State, token_number: int, instruction: Row, now: float
) -> bool:
    """Execute WAIT and GIVE: take a unit of a counter or wait for it, or give a unit."""
    first_lock = tables.run[0].first_lock
    resource = tables.resource[first_lock + instruction[1]]
    if instruction[0] == Op.WAIT:
        tables.token[token_number].label = instruction[2]
        request(tables, resource, token_number, now)
        append(tables, resource.queue, token_number)
        if resource.busy_count > 0:
            resource.busy_count -= 1
            take_first_waiting(tables, resource, now)
            return True
        if instruction[3] >= 0:
            release(tables, tables.resource[first_lock + instruction[3]], token_number, 1, now)
        return False
    if tables.queue[resource.queue, 0] < 0:
        accumulate(tables, resource, now)
        resource.busy_count += 1
    elif instruction[2] < 0:
        wake(tables, take_first_waiting(tables, resource, now), now)
    else:
        tables.token[token_number].instruction_number = instruction[3]
        hand_over(
            tables,
            tables.resource[first_lock + instruction[2]],
            token_number,
            take_first_waiting(tables, resource, now),
            now,
        )
    return True


@inlined
def execute_pool_instruction(
    tables: State, token_number: int, instruction: Row, now: float
) -> bool:
    """Execute an instruction on a pool of tasks: ENTER_POOL, TAKE_TASK, WORK, NEXT_PART and
    ADD_TASK.
    """
    operation = instruction[0]
    pool_record = tables.pool[instruction[1]]
    token_record = tables.token[token_number]
    own_queue_number = token_record.customer % pool_record.queues
    if operation == Op.ENTER_POOL:
        begin_problem(tables, pool_record, now)
        tables.registers[token_number, instruction[3]] = queue_with_task(
            tables, pool_record, own_queue_number
        )
        return enter_queue(
            tables,
            pool_record,
            tables.registers[token_number, instruction[3]],
            token_number,
            instruction[2],
            now,
        )
    if operation == Op.TAKE_TASK:
        return take_task(tables, pool_record, token_number, instruction, own_queue_number, now)
    register = instruction[2] + 1
    current_part = tables.registers[token_number, register]
    added_task = tables.part[current_part, 0]
    is_last_part = tables.part[current_part, 1]
    if operation == Op.WORK:
        return pass_time(tables, token_number, instruction[3], tables.part_time[current_part], now)
    if operation == Op.NEXT_PART:
        if added_task >= 0:
            return enter_queue(
                tables, pool_record, own_queue_number, token_number, instruction[3], now
            )
        tables.registers[token_number, register] += 1
        token_record.instruction_number = instruction[5] if is_last_part else instruction[4]
        return True
    add_to_queue(tables, pool_record, own_queue_number, added_task, now)
    tables.registers[token_number, register] += 1
    token_record.instruction_number = instruction[4] if is_last_part else instruction[3]
    leave_queue(
        tables, pool_record, own_queue_number, token_number, instruction[2], instruction[5], now
    )
    return True


@inlined
def begin_problem(tables: State, pool_record: Row, now: float) -> None:
    """Distribute the first tasks of the next problem over the queues in turn, if the last problem
    is solved.
    """
    if pool_record.open:
        return
    pool_record.open = 1
    first_root = tables.problem[pool_record.first_problem + pool_record.problem]
    for root_index in range(
        tables.problem[pool_record.first_problem + pool_record.problem + 1] - first_root
    ):
        add_to_queue(
            tables,
            pool_record,
            root_index % pool_record.queues,
            tables.root[first_root + root_index],
            now,
        )
    pool_record.problem = (pool_record.problem + 1) % pool_record.problems


@inlined
def add_to_queue(
    tables: State, pool_record: Row, queue_number: int, task_number: int, now: float
) -> None:
    """Append a task to a queue of a pool."""
    accumulate(tables, tables.resource[pool_record.tasks], now)
    tables.resource[pool_record.tasks].busy_count += 1
    queue_row = pool_record.first_queue + queue_number
    last_task = tables.task_queue[queue_row, 1]
    tables.task[task_number, 1], tables.task[task_number, 2] = last_task, -1
    if last_task < 0:
        tables.task_queue[queue_row, 0] = task_number
    else:
        tables.task[last_task, 2] = task_number
    tables.task_queue[queue_row, 1] = task_number


@inlined
def take_from_queue(
    tables: State, pool_record: Row, queue_number: int, own_queue_number: int, now: float
) -> int:
    """Remove a task from a queue and return it: the youngest task if the queue is the token's own
    and the pool takes the last first, else the oldest.
    """
    accumulate(tables, tables.resource[pool_record.tasks], now)
    tables.resource[pool_record.tasks].busy_count -= 1
    queue_row = pool_record.first_queue + queue_number
    # Others take the oldest task, usually the largest where tasks divide a problem.
    queue_end = 1 if pool_record.last_first != 0 and queue_number == own_queue_number else 0
    task_taken: int = tables.task_queue[queue_row, queue_end]
    next_task = tables.task[task_taken, 2 - queue_end]
    tables.task_queue[queue_row, queue_end] = next_task
    if next_task < 0:
        tables.task_queue[queue_row, 1 - queue_end] = -1
    else:
        tables.task[next_task, 1 + queue_end] = -1
    return task_taken


@inlined
def queue_with_task(tables: State, pool_record: Row, own_queue_number: int) -> int:
    """Return the first queue that has a task, searching from the token's own queue; the own queue
    if no queue has one.
    """
    for distance in range(pool_record.queues):
        queue_number: int = (own_queue_number + distance) % pool_record.queues
        if tables.task_queue[pool_record.first_queue + queue_number, 0] >= 0:
            return queue_number
    return own_queue_number


@inlined
def enter_queue(
    tables: State, pool_record: Row, queue_number: int, token_number: int, label: int, now: float
) -> bool:
    """Request the lock of a queue of tasks."""
    token_record = tables.token[token_number]
    token_record.label = label
    token_record.rank = 0
    token_record.excludes = 0
    token_record.permits = 1
    return acquire_or_queue(
        tables, tables.resource[pool_record.monitor + queue_number], token_number, now
    )


@inlined
def take_task(
    tables: State,
    pool_record: Row,
    token_number: int,
    instruction: Row,
    own_queue_number: int,
    now: float,
) -> bool:
    """Execute TAKE_TASK: take a task, search another queue, wait for a task, or leave where all
    processors wait.
    """
    register = instruction[2]
    label = instruction[3]
    ending_label = instruction[4]
    entry_instruction = instruction[5]
    next_instruction = instruction[6]
    party_count = instruction[7]
    token_record = tables.token[token_number]
    task_resource = tables.resource[pool_record.tasks]
    queue_number = tables.registers[token_number, register]
    if tables.task_queue[pool_record.first_queue + queue_number, 0] >= 0:
        tables.registers[token_number, register + 1] = tables.task[
            take_from_queue(tables, pool_record, queue_number, own_queue_number, now), 0
        ]
        leave_queue(tables, pool_record, queue_number, token_number, register, label, now)
        return True
    must_wait = task_resource.busy_count == 0 and task_resource.present_count + 1 < party_count
    if task_resource.busy_count > 0:
        token_record.instruction_number = entry_instruction
    elif must_wait:
        token_record.instruction_number = entry_instruction + 1
        request(tables, task_resource, token_number, now)
        append(tables, task_resource.queue, token_number)
    else:
        token_record.instruction_number = next_instruction
        pool_record.open = 0
        while tables.queue[task_resource.queue, 0] >= 0:
            waiting_token_number = take_first_waiting(tables, task_resource, now)
            tables.token[waiting_token_number].label = ending_label
            tables.token[waiting_token_number].instruction_number = next_instruction
            wake(tables, waiting_token_number, now)
    release(tables, tables.resource[pool_record.monitor + queue_number], token_number, 1, now)
    return bool(not must_wait)


@inlined
def leave_queue(
    tables: State,
    pool_record: Row,
    queue_number: int,
    token_number: int,
    register: int,
    label: int,
    now: float,
) -> None:
    """Release the lock of a queue of tasks; where it has tasks, pass it on to the processor that
    has waited longest for one.
    """
    monitor = tables.resource[pool_record.monitor + queue_number]
    task_resource = tables.resource[pool_record.tasks]
    if (
        tables.queue[task_resource.queue, 0] >= 0
        and tables.task_queue[pool_record.first_queue + queue_number, 0] >= 0
    ):
        next_token_number = take_first_waiting(tables, task_resource, now)
        tables.token[next_token_number].label = label
        tables.registers[next_token_number, register] = queue_number
        hand_over(tables, monitor, token_number, next_token_number, now)
    else:
        release(tables, monitor, token_number, 1, now)


@compiled
def run_events(tables: State, events_left: int) -> int:
    """Simulate a number of events, and return why the loop stopped."""
    run = tables.run[0]
    while True:
        if run.running < 0:
            if tables.queue[READY, 0] >= 0:
                run.running = take_first(tables, READY)
            elif events_left <= 0:
                return Return.EVENTS_DONE
            else:
                return_reason = apply_next_event(tables)
                if return_reason != Return.EVENTS_DONE:
                    return return_reason
                events_left -= 1
                run.events += 1
                if run.running < 0:
                    continue
        token_number = run.running
        now = run.now
        while True:
            return_reason = missing_supply_code(tables, token_number)
            if return_reason != Return.EVENTS_DONE:
                return return_reason
            if not execute_instruction(tables, token_number, now):
                break
        run.running = -1


@inlined
def apply_next_event(tables: State) -> int:
    """Apply the first event of the list, up to the next instruction of its token; return
    `EVENTS_DONE`, or the reason why the event cannot be applied yet.
    """
    run = tables.run[0]
    if run.events_planned == 0:
        return Return.NO_EVENTS
    now = tables.heap[0].time
    event_order = tables.heap[0].order
    token_number = tables.heap[0].token
    if token_number < 0:
        return arrive(tables, -1 - token_number)
    remove_first_event(tables)
    run.now = now
    # An event that was planned anew, for another speed of service or after a preemption, is void.
    token_record = tables.token[token_number]
    if token_record.event != event_order:
        return Return.EVENTS_DONE
    token_record.event = -1
    if token_record.event_kind == EventKind.SERVED:
        leave(tables, token_number, now)
    elif token_record.event_kind == EventKind.ABANDONING:
        abandon(tables, token_number, now)
    elif token_record.event_kind == EventKind.DELAYING:
        book(tables, token_number, now)
    run.running = token_number
    return Return.EVENTS_DONE


@inlined
def arrive(tables: State, group_number: int) -> int:
    """Start an arriving customer of an open group, and plan the next arrival; return as
    `apply_next_event` does.
    """
    group_record = tables.group[group_number]
    run = tables.run[0]
    if (
        tables.values_taken[group_record.arrival_draw]
        == tables.values_ready[group_record.arrival_draw]
    ):
        run.needed = group_record.arrival_draw
        return Return.NEEDS_RANDOM
    if run.free_count == 0 or run.events_planned + 2 > tables.heap.shape[0]:
        run.needed = 1
        return Return.NEEDS_SPACE
    run.now = tables.heap[0].time
    remove_first_event(tables)
    plan_event(tables, run.now + take_value(tables, group_record.arrival_draw), -1 - group_number)
    token_number = new_token_number(
        tables, run.now, group_number, group_record.arrival_count, -1, 0
    )
    group_record.arrival_count += 1
    tables.token[token_number].instruction_number = group_record.first_instruction
    run.running = token_number
    return Return.EVENTS_DONE


@inlined
def take_value(tables: State, draw_number: int) -> float:
    """Return the next random number of a distribution."""
    value: float = tables.values[draw_number, tables.values_taken[draw_number]]
    tables.values_taken[draw_number] += 1
    return value


@inlined
def missing_supply_code(tables: State, token_number: int) -> int:
    """Return which supply the next instruction needs that only Python can give: random numbers,
    tokens, events or rows; `EVENTS_DONE` if it needs none.
    """
    run = tables.run[0]
    instruction_number = tables.token[token_number].instruction_number
    draw_number = tables.draw_number[instruction_number]
    instruction = tables.code[instruction_number]
    if draw_number >= 0 and tables.values_taken[draw_number] == tables.values_ready[draw_number]:
        run.needed = draw_number
        return Return.NEEDS_RANDOM
    operation = instruction[0]
    if (
        operation == Op.SERVE
        and instruction[7] > 0
        and tables.values_taken[instruction[7] - 1] == tables.values_ready[instruction[7] - 1]
    ):
        run.needed = instruction[7] - 1
        return Return.NEEDS_RANDOM
    if run.events_planned + 2 > tables.heap.shape[0]:
        run.needed = 0
        return Return.NEEDS_SPACE
    if operation == Op.END:
        if (
            run.row_count == tables.rows.shape[0]
            or tables.group[tables.token[token_number].group].response_count
            == tables.responses.shape[1]
        ):
            return Return.TABLE_FULL
    elif operation == Op.FORK or operation == Op.PIPELINE or operation == Op.SPAWN:
        needed_token_count = 1
        if operation == Op.FORK:
            needed_token_count = instruction[2]
        elif operation == Op.PIPELINE:
            needed_token_count = int(tables.counts[instruction[1]]) + 1
        if run.free_count < needed_token_count:
            run.needed = needed_token_count
            return Return.NEEDS_SPACE
    if tables.trace.shape[0] > 0:
        if run.trace_length == tables.trace.shape[0]:
            return Return.TABLE_FULL
        trace_row = tables.trace[run.trace_length]
        trace_row.time = run.now
        trace_row.instruction_number = instruction_number
        trace_row.customer = tables.token[token_number].customer
        trace_row.index = tables.token[token_number].index
        run.trace_length += 1
    return Return.EVENTS_DONE


@inlined
def execute_instruction(tables: State, token_number: int, now: float) -> bool:
    """Execute an instruction, and return whether the token goes on to the next; the instructions
    are compared by their numbers in `Op`.
    """
    token_record = tables.token[token_number]
    instruction_number = token_record.instruction_number
    instruction = tables.code[instruction_number]
    operation = instruction[0]
    token_record.instruction_number = instruction_number + 1
    value = tables.constants[instruction_number]
    draw_number = tables.draw_number[instruction_number]
    if draw_number >= 0:
        value = take_value(tables, draw_number)
    if operation == Op.SERVE:
        return serve(tables, token_number, instruction, value, now)
    if operation == Op.DELAY:
        return pass_time(tables, token_number, instruction[2], value, now)
    if operation == Op.END:
        return execute_end(tables, token_number, instruction, now)
    if operation < Op.END:
        return execute_branch_instruction(tables, token_number, instruction, operation, value)
    if operation < Op.ACQUIRE:
        return execute_parallel_instruction(tables, token_number, instruction, value, now)
    if operation < Op.BARRIER:
        return execute_lock_instruction(tables, token_number, instruction, value, now)
    if operation == Op.BARRIER:
        return execute_barrier(tables, token_number, instruction, now)
    if operation == Op.ADMIT:
        return admit(tables, token_number, instruction)
    if operation == Op.COUNT_ACCESS:
        return count_access(tables, token_number, instruction)
    if operation == Op.START_RESPONSE:
        token_record.cycle_start = now
        return True
    if operation == Op.PATIENCE:
        token_record.patience = value
        token_record.exit_instruction = instruction[2]
        token_record.cut_label = instruction[3]
        return True
    if operation == Op.CONSULT:
        return consult(tables, token_number, instruction, now)
    if operation == Op.RECORD:
        return record(tables, token_number, instruction, value, now)
    if operation == Op.WEIGHT:
        token_record.weight = tables.counts[instruction[1]]
        return True
    if operation == Op.SPAWN:
        return spawn(tables, token_number, instruction, now)
    if operation == Op.VANISH:
        free_token(tables, token_number)
        return False
    if operation == Op.PICK:
        return pick(tables, token_number, instruction, value, now)
    if operation == Op.WHILE_AWAITED:
        if token_record.parent < 0:
            token_record.instruction_number = instruction[1]
        return True
    if operation == Op.REPLY:
        return reply(tables, token_number, instruction, now)
    return (
        execute_counter_instruction(tables, token_number, instruction, now)
        if operation < Op.ENTER_POOL
        else execute_pool_instruction(tables, token_number, instruction, now)
    )
