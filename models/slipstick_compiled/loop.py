"""The compiled loop: the effects of the instructions of a plan on the tables of a run.

The functions correspond to the classes and methods of `slipstick.sim.plain`, which say what they
mean. A token, a resource, a group or a pool is a row of its table; tokens stand in queues of
`State.queue`, linked by their rows.

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
    text = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(plan.__file__)):
        text.update(path.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "slipstick" / f"loop-{text.hexdigest()[:16]}")


def compiled(function: F) -> F:
    """Compile a function with numba, and cache the code on disk for the next process.

    Without reference counts (`_nrt`): nothing is allocated, and counting forty tables at every
    inlined call makes the loop forty times slower.
    """
    numba = import_module("numba")
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or _cache_folder()
    try:
        compiled_function: F = numba.njit(cache=True, _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = before
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
def plan_event(tables: State, time: float, token: int) -> int:
    """Add an event to the event list, and return its number."""
    run = tables.run[0]
    order: int = run.planned
    place = run.events_planned
    run.planned += 1
    run.events_planned += 1
    while place > 0:
        above = (place - 1) >> 1
        # Later in planning, so it stays below what happens at the same time.
        if tables.heap[above].time <= time:
            break
        move_event(tables, place, above)
        place = above
    event = tables.heap[place]
    event.time = time
    event.order = order
    event.token = token
    return order


@inlined
def is_earlier(first_event: Row, second_event: Row) -> bool:
    """Return whether an event happens before another."""
    return bool(
        first_event.time < second_event.time
        or (first_event.time == second_event.time and first_event.order < second_event.order)
    )


@inlined
def move_event(tables: State, place: int, source: int) -> None:
    """Copy an event to another place of the heap of events."""
    event = tables.heap[place]
    moved = tables.heap[source]
    event.time = moved.time
    event.order = moved.order
    event.token = moved.token


@inlined
def remove_first(tables: State) -> None:
    """Remove the first event of the event list."""
    tables.run[0].events_planned -= 1
    count = tables.run[0].events_planned
    place = 0
    below = 1
    while below < count:
        if below + 1 < count and is_earlier(tables.heap[below + 1], tables.heap[below]):
            below += 1
        if is_earlier(tables.heap[count], tables.heap[below]):
            break
        move_event(tables, place, below)
        place = below
        below = 2 * below + 1
    move_event(tables, place, count)


@inlined
def put_between(tables: State, queue: int, token: int, before: int, behind: int) -> None:
    """Link a token into a queue between two others; -1 stands for the head or the end of the
    queue.
    """
    tables.token[token].next = behind
    if before < 0:
        tables.queue[queue, 0] = token
    else:
        tables.token[before].next = token
    if behind < 0:
        tables.queue[queue, 1] = token


@inlined
def append(tables: State, queue: int, token: int) -> None:
    """Put a token at the end of a queue."""
    put_between(tables, queue, token, tables.queue[queue, 1], -1)


@inlined
def insert_at(tables: State, queue: int, token: int, place: int) -> None:
    """Put a token into a queue, behind a number of others."""
    before = -1
    current = tables.queue[queue, 0]
    for _ in range(place):
        before = current
        current = tables.token[current].next
    put_between(tables, queue, token, before, current)


@inlined
def goes_before(tables: State, first_token: int, second_token: int) -> bool:
    """Return whether a token goes before another, by its key, and among equal keys by its order."""
    first = tables.token[first_token]
    second = tables.token[second_token]
    return bool(first.key < second.key or (first.key == second.key and first.order < second.order))


@inlined
def insert(tables: State, queue: int, token: int) -> None:
    """Insert a token into a queue by its key, behind those with an equal key."""
    before = tables.queue[queue, 1]
    current = -1
    if before >= 0 and goes_before(tables, token, before):
        before = -1
        current = tables.queue[queue, 0]
        while not goes_before(tables, token, current):
            before = current
            current = tables.token[current].next
    put_between(tables, queue, token, before, current)


@inlined
def take_first(tables: State, queue: int) -> int:
    """Remove the first token of a queue, and return it."""
    token: int = tables.queue[queue, 0]
    tables.queue[queue, 0] = tables.token[token].next
    if tables.queue[queue, 0] < 0:
        tables.queue[queue, 1] = -1
    return token


@inlined
def take_out(tables: State, queue: int, token: int) -> None:
    """Remove a token from a queue."""
    before = -1
    current = tables.queue[queue, 0]
    while current != token:
        before = current
        current = tables.token[current].next
    behind = tables.token[token].next
    if before < 0:
        tables.queue[queue, 0] = behind
    else:
        tables.token[before].next = behind
    if behind < 0:
        tables.queue[queue, 1] = before


@inlined
def book(tables: State, token: int, now: float) -> None:
    """Add the time since the token's last booking to the label that it has now."""
    token_record = tables.token[token]
    tables.booked[token, token_record.label] += now - token_record.since
    token_record.since = now


@inlined
def wake(tables: State, token: int, now: float) -> None:
    """Book the waiting time of a token, and let it run."""
    book(tables, token, now)
    append(tables, READY, token)


@inlined
def new_token(tables: State, now: float, group: int, customer: int, parent: int, index: int) -> int:
    """Take a token from the list of free ones and initialize it."""
    run = tables.run[0]
    token: int = run.free
    token_record = tables.token[token]
    run.free = token_record.next
    run.free_count -= 1
    token_record.customer = customer
    token_record.group = group
    token_record.parent = parent
    token_record.index = index
    token_record.passed = 0
    token_record.turn = -1
    token_record.before = -1
    token_record.after = -1
    token_record.child = -1
    token_record.sibling = -1
    token_record.event = -1
    token_record.destination = 0
    token_record.excludes = 0
    token_record.permits = 1
    token_record.order = 0
    token_record.patience = -1.0
    token_record.cut = 0
    token_record.weight = 1.0
    if parent >= 0:
        token_record.destination = tables.token[parent].destination
        token_record.sibling = tables.token[parent].child
        tables.token[parent].child = token
    token_record.since = token_record.begun = now
    for label in range(tables.booked.shape[1]):
        tables.booked[token, label] = 0.0
    for register in range(tables.registers.shape[1]):
        tables.registers[token, register] = 0
    return token


@inlined
def free_token(tables: State, token: int) -> None:
    """Return a token to the list of free ones."""
    tables.token[token].next = tables.run[0].free
    tables.run[0].free = token
    tables.run[0].free_count += 1


@inlined
def write_row(tables: State, now: float) -> None:
    """Write the statistics of this moment as a row."""
    for resource in range(tables.resource.shape[0]):
        r = tables.resource[resource]
        accumulate(tables, r, now)
        tables.stats[r.stats], tables.stats[r.stats + 1], tables.stats[r.stats + 2] = (
            r.area,
            r.use,
            r.done,
        )
    run = tables.run[0]
    tables.stats[0], tables.stats[1] = now, run.planned
    # The plain kernel numbers rows like events, so both kernels count the same.
    run.planned += 1
    for column in range(tables.stats.shape[0]):
        tables.rows[run.rows, column] = tables.stats[column]
    run.rows += 1


@inlined
def begin_state(tables: State, breaker: Row, half_open: int) -> None:
    """Begin a state of a circuit breaker in which it admits tries, of which none has counted."""
    breaker.state_number += 1
    breaker.half_open = half_open
    breaker.begun = breaker.passed = breaker.place = breaker.failed = 0
    for call in range(breaker.first, breaker.first + breaker.calls):
        tables.outcome[call] = 0


@inlined
def end_open_time(tables: State, resource: Row, now: float) -> None:
    """End the open state of a circuit breaker if its time is over; it admits trials from then
    on.
    """
    breaker = tables.breaker[resource.breaker]
    if resource.busy == 0 or now < breaker.open_until:
        return
    open_time = breaker.open_until - resource.changed
    resource.area += resource.present * open_time
    resource.use += resource.busy * open_time
    resource.changed = breaker.open_until
    resource.busy = 0
    begin_state(tables, breaker, 1)


@inlined
def open_breaker(resource: Row, breaker: Row, until: float) -> None:
    """Open a circuit breaker, which refuses all tries up to a time."""
    breaker.state_number += 1
    resource.busy = 1
    breaker.open_until = until


@inlined
def consult(tables: State, token: int, code: Row, now: float) -> bool:
    """Execute CONSULT: ask a circuit breaker to admit a try."""
    column = tables.run[0].tallies + 2 * code[2]
    tables.stats[column] += 1
    resource = tables.resource[tables.run[0].locks + code[1]]
    accumulate(tables, resource, now)
    breaker = tables.breaker[resource.breaker]
    if resource.busy > 0 or (breaker.half_open != 0 and breaker.begun == breaker.trials):
        tables.registers[token, code[3]] = -1
        tables.stats[column + 1] += 1
        tables.token[token].pc = code[4]
        return True
    breaker.begun += breaker.half_open
    tables.registers[token, code[3]] = breaker.state_number
    return True


@inlined
def record(tables: State, token: int, code: Row, open_time: float, now: float) -> bool:
    """Execute RECORD: count a try that has ended, and open or close the circuit breaker after
    it.
    """
    resource = tables.resource[tables.run[0].locks + code[1]]
    accumulate(tables, resource, now)
    breaker = tables.breaker[resource.breaker]
    has_failed = code[3]
    if tables.registers[token, code[2]] != breaker.state_number:
        return True
    if breaker.half_open != 0:
        if has_failed != 0:
            open_breaker(resource, breaker, now + open_time)
            return True
        breaker.passed += 1
        if breaker.passed == breaker.trials:
            begin_state(tables, breaker, 0)
        return True
    breaker.failed += has_failed - tables.outcome[breaker.first + breaker.place]
    tables.outcome[breaker.first + breaker.place] = has_failed
    breaker.place = (breaker.place + 1) % breaker.calls
    if breaker.failed == breaker.failures:
        open_breaker(resource, breaker, now + open_time)
    return True


@inlined
def accumulate(tables: State, resource: Row, now: float) -> None:
    """Add the time since the last change to the integrals of a resource: customers present, busy
    servers and, where service is shared, work done for each.
    """
    passed = now - resource.changed
    if resource.kind != StationKind.FCFS:  # locks and most stations need one look at the kind
        if resource.kind == StationKind.SHARED:
            resource.progress += passed * rate(tables, resource)
        elif resource.kind == StationKind.WEIGHTED:
            token = tables.queue[resource.queue, 0]
            while token >= 0:
                tables.token[token].work -= passed * tables.token[token].speed
                token = tables.token[token].next
        elif resource.kind == StationKind.BREAKER:
            end_open_time(tables, resource, now)
            passed = now - resource.changed
        elif resource.rates > 0 and tables.queue[resource.serving, 0] >= 0:
            tables.token[tables.queue[resource.serving, 0]].work -= passed * pace(tables, resource)
    resource.changed = now
    resource.area += resource.present * passed
    resource.use += resource.busy * passed


@inlined
def weigh_anew(tables: State, resource: Row, now: float) -> None:
    """Compute the speeds of the customers of servers that are shared by weights, find which of them
    leaves next, and plan when.
    """
    resource.busy = min(resource.present, resource.servers)
    if resource.ticket >= 0:
        tables.token[resource.ticket].event = -1
    resource.ticket = -1
    servers_left = float(resource.servers)
    weight_left = 0.0
    token = tables.queue[resource.queue, 0]
    while token >= 0:
        weight_left += tables.token[token].weight
        token = tables.token[token].next
    soonest = math.inf
    token = tables.queue[resource.queue, 0]
    while token >= 0:
        token_record = tables.token[token]
        speed = servers_left * token_record.weight / weight_left
        if speed >= 1.0:
            servers_left -= 1.0
            weight_left -= token_record.weight
        token_record.speed = min(speed, 1.0)
        time_left = max(token_record.work, 0.0) / token_record.speed
        is_cut = 0
        if token_record.cuts != 0 and token_record.patience >= 0.0:
            time_to_limit = max(token_record.patience - (now - token_record.since), 0.0)
            if time_to_limit < time_left:
                is_cut = 1
                time_left = time_to_limit
        if time_left < soonest:
            soonest = time_left
            resource.ticket = token
            token_record.cut = is_cut
        token = token_record.next
    if resource.ticket >= 0:
        patience = tables.token[resource.ticket].patience
        begin(tables, resource, resource.ticket, now + soonest)
        tables.token[resource.ticket].patience = patience


@inlined
def enter_weighted(tables: State, resource: Row, token: int, work: float, now: float) -> None:
    """Add a customer to servers that are shared by weights, behind those of at least its weight."""
    token_record = tables.token[token]
    token_record.work = token_record.requested = work
    before = -1
    current = tables.queue[resource.queue, 0]
    while current >= 0 and tables.token[current].weight >= token_record.weight:
        before = current
        current = tables.token[current].next
    put_between(tables, resource.queue, token, before, current)
    resource.present += 1
    weigh_anew(tables, resource, now)


@inlined
def count_departure(tables: State, resource: Row, now: float) -> None:
    """Count a customer that leaves a station, a lock or its queue."""
    accumulate(tables, resource, now)
    resource.present -= 1
    resource.done += 1


@inlined
def rate(tables: State, resource: Row) -> float:
    """Return the speed at which each customer of weight 1 that is present is served: the whole
    speed where they are served in turn, else a share of it.
    """
    if resource.present == 0:
        return 1.0
    if resource.rates > 0:
        speed: float = tables.rates[resource.rates_from + min(resource.present, resource.rates) - 1]
        return speed if resource.in_turn else speed / resource.weight
    shared: float = min(resource.present, resource.servers) / resource.weight
    return shared


@inlined
def pace(tables: State, resource: Row) -> float:
    """Return the speed of a single server with rates."""
    speed: float = tables.rates[resource.rates_from + min(resource.present, resource.rates) - 1]
    return speed


@inlined
def pace_anew(tables: State, resource: Row, now: float) -> None:
    """Plan the end of the service under way at a single server with rates anew."""
    token = tables.queue[resource.serving, 0]
    if token >= 0:
        begin(
            tables,
            resource,
            token,
            now + max(tables.token[token].work, 0.0) / pace(tables, resource),
        )


@inlined
def begin(tables: State, resource: Row, token: int, time: float) -> None:
    """Plan the end of a service that a customer begins."""
    token_record = tables.token[token]
    token_record.event_kind = EventKind.SERVED
    token_record.patience = -1.0
    token_record.station = resource.queue - 1
    token_record.event = plan_event(tables, time, token)


@inlined
def service_time(resource: Row, token_record: Row, work: float, now: float) -> float:
    """Return how long a service lasts that begins: where the limit of the visit ends it, the time
    that is left [s].
    """
    if token_record.cuts != 0 and token_record.patience >= 0.0:
        time_left: float = token_record.patience - (now - token_record.since)
        if time_left < work:
            token_record.cut = 1
            resource.asked -= work - time_left
            return time_left
    return work


@inlined
def await_service(tables: State, resource: Row, token: int, now: float) -> None:
    """Plan when a customer in the queue abandons it; the event is void when its service begins."""
    token_record = tables.token[token]
    if token_record.patience >= 0.0:
        token_record.event_kind = EventKind.ABANDONING
        token_record.station = resource.queue - 1
        token_record.event = plan_event(tables, now + token_record.patience, token)


@inlined
def abandon(tables: State, token: int, now: float) -> None:
    """Remove a customer that gives up waiting from its queue; its time there is waiting time, and
    it goes on at another instruction.
    """
    token_record = tables.token[token]
    resource = tables.resource[token_record.station]
    accumulate(tables, resource, now)
    resource.present -= 1
    take_out(tables, resource.queue, token)
    # Those behind it may take fewer permits.
    if token_record.station >= tables.run[0].locks:
        if resource.servers > 1:
            tables.stats[resource.waits + 1] += now - token_record.since_request
        grant_waiting(tables, resource, now)
    else:
        resource.asked -= token_record.work
        if resource.rates > 0:
            tables.stats[resource.waits] += now - token_record.since
            pace_anew(tables, resource, now)
    token_record.label = token_record.wait
    token_record.pc = token_record.elsewhere
    token_record.patience = -1.0
    book(tables, token, now)


@inlined
def enter(tables: State, resource: Row, token: int, work: float, now: float) -> None:
    """Begin a visit to a station: begin service, or queue."""
    accumulate(tables, resource, now)
    if resource.present == 0:
        resource.asked = 0.0
        resource.use_before = resource.use
    resource.asked += work
    token_record = tables.token[token]
    if resource.kind == StationKind.FCFS:
        resource.present += 1
        if resource.busy < resource.servers:
            resource.busy += 1
            token_record.waited = 0.0
            begin(tables, resource, token, now + service_time(resource, token_record, work, now))
        else:
            token_record.work = work
            if resource.at_random:
                insert_at(
                    tables,
                    resource.queue,
                    token,
                    int(token_record.place * (resource.present - resource.busy)),
                )
            else:
                append(tables, resource.queue, token)
            await_service(tables, resource, token, now)
    elif resource.kind == StationKind.SHARED:
        if resource.present == 0:
            resource.progress = resource.weight = 0.0
        resource.weight += token_record.weight
        token_record.requested = work
        last = tables.queue[resource.queue, 1]
        token_record.finish = work / token_record.weight + (
            tables.token[last].finish if resource.in_turn and last >= 0 else resource.progress
        )
        if resource.in_turn:  # in the order of their ends already
            append(tables, resource.queue, token)
        else:
            resource.arrived += 1
            token_record.order = resource.arrived
            token_record.next = token_record.subheap = -1
            tables.queue[resource.queue, 0] = merged(tables, tables.queue[resource.queue, 0], token)
        resource.present += 1
        share_anew(tables, resource, now)
    elif resource.kind == StationKind.WEIGHTED:
        enter_weighted(tables, resource, token, work, now)
    else:
        enter_ordered(tables, resource, token, work, now)
        if resource.rates > 0:
            pace_anew(tables, resource, now)


@inlined
def merged(tables: State, first: int, second: int) -> int:
    """Merge two heaps of customers that share servers, by their ends and the order of arrival, and
    return the customer on top; -1 is an empty heap.

    A skew heap: a merge follows one line of subheaps (`next`) and puts each aside (`subheap`), so
    that n merges take n log n steps at most.

    Source: Sleator and Tarjan, SIAM Journal on Computing 15(1), 1986, 52-69.
    """
    top = -1
    above = -1
    while first >= 0 and second >= 0:
        first_token = tables.token[first]
        second_token = tables.token[second]
        if second_token.finish < first_token.finish or (
            second_token.finish == first_token.finish and second_token.order < first_token.order
        ):
            first, second = second, first
        if above < 0:
            top = first
        else:
            tables.token[above].subheap = first
        above = first
        lower = tables.token[first]
        first = lower.next
        lower.next = lower.subheap
    rest = max(first, second)
    if above < 0:
        return rest
    tables.token[above].subheap = rest
    return top


@inlined
def share_anew(tables: State, resource: Row, now: float) -> None:
    """Find which customer leaves a station with shared service next, and plan when."""
    resource.busy = min(resource.present, resource.servers)
    if resource.ticket >= 0:
        tables.token[resource.ticket].event = -1
    resource.ticket = tables.queue[resource.queue, 0]
    if resource.present == 0:
        return
    begin(
        tables,
        resource,
        resource.ticket,
        now
        + max(tables.token[resource.ticket].finish - resource.progress, 0.0)
        / rate(tables, resource),
    )


@inlined
def begin_ordered(tables: State, resource: Row, token: int, now: float) -> None:
    """Begin or resume a service that may be interrupted."""
    append(tables, resource.serving, token)
    if resource.rates > 0:  # planned by `pace_anew`
        return
    token_record = tables.token[token]
    # Services with a limit are not interrupted, so that one begins once.
    if token_record.cuts != 0 and token_record.patience >= 0.0:
        token_record.work = token_record.requested = service_time(
            resource, token_record, token_record.work, now
        )
    token_record.finish = now + token_record.work
    begin(tables, resource, token, token_record.finish)


@inlined
def enter_ordered(tables: State, resource: Row, token: int, work: float, now: float) -> None:
    """Begin a service at a station with priorities, interrupting a less urgent customer where the
    discipline preempts, or queue.
    """
    resource.present += 1
    resource.arrived += 1
    token_record = tables.token[token]
    token_record.order = resource.arrived
    token_record.key = -token_record.order if resource.last_first else token_record.rank
    token_record.work = token_record.requested = work
    token_record.delayed = 0
    if resource.busy < resource.servers:
        resource.busy += 1
        begin_ordered(tables, resource, token, now)
        return
    if resource.preempts:
        worst = tables.queue[resource.serving, 0]
        waiting = tables.token[worst].next
        while waiting >= 0:
            if goes_before(tables, worst, waiting):
                worst = waiting
            waiting = tables.token[waiting].next
        if goes_before(tables, token, worst):
            take_out(tables, resource.serving, worst)
            cut = tables.token[worst]
            cut.event = -1
            cut.delayed = 1
            if resource.rates == 0:
                cut.work = cut.finish - now
            insert(tables, resource.queue, worst)
            begin_ordered(tables, resource, token, now)
            return
    token_record.delayed = 1
    if resource.at_random:
        insert_at(
            tables,
            resource.queue,
            token,
            int(token_record.place * (resource.present - resource.busy)),
        )
    else:
        insert(tables, resource.queue, token)
    await_service(tables, resource, token, now)


@inlined
def leave(tables: State, token: int, now: float) -> None:
    """End a visit to a station, begin the next service there, and book service and waiting time."""
    token_record = tables.token[token]
    resource = tables.resource[token_record.station]
    count_departure(tables, resource, now)
    if resource.kind == StationKind.FCFS:
        if tables.queue[resource.queue, 0] < 0:
            resource.busy -= 1
        else:
            following = take_first(tables, resource.queue)
            f = tables.token[following]
            f.waited = now - f.since
            begin(tables, resource, following, now + service_time(resource, f, f.work, now))
    elif resource.kind == StationKind.SHARED:
        resource.progress = token_record.finish
        if resource.in_turn:
            take_first(tables, resource.queue)
        else:
            tables.queue[resource.queue, 0] = merged(
                tables, token_record.next, token_record.subheap
            )
        resource.weight -= token_record.weight
        token_record.weight = 1.0
        resource.ticket = -1
        share_anew(tables, resource, now)
        if resource.rates > 0:
            token_record.waited = (
                now
                - token_record.since
                - token_record.requested / tables.rates[resource.rates_from]
            )
            tables.stats[resource.waits] += token_record.waited
        else:
            token_record.waited = time_beyond_service(token_record, now)
    elif resource.kind == StationKind.WEIGHTED:
        take_out(tables, resource.queue, token)
        resource.ticket = -1
        token_record.weight = 1.0
        token_record.patience = -1.0
        if token_record.cut != 0:
            work_left = max(token_record.work, 0.0)
            token_record.requested -= work_left
            resource.asked -= work_left
        weigh_anew(tables, resource, now)
        token_record.waited = time_beyond_service(token_record, now)
    else:
        take_out(tables, resource.serving, token)
        if tables.queue[resource.queue, 0] < 0:
            resource.busy -= 1
        else:
            begin_ordered(tables, resource, take_first(tables, resource.queue), now)
        token_record.waited = (
            time_beyond_service(token_record, now) if token_record.delayed else 0.0
        )
        if resource.rates > 0:
            pace_anew(tables, resource, now)
            token_record.waited = (
                now
                - token_record.since
                - token_record.requested / tables.rates[resource.rates_from]
            )
            tables.stats[resource.waits] += token_record.waited
    if token_record.cut != 0:
        token_record.cut = 0
        token_record.pc = token_record.elsewhere
        token_record.label = token_record.cuts - 1
        tables.stats[resource.given_up] += now - token_record.since - token_record.waited
    if token_record.waited != 0.0:
        tables.booked[token, token_record.wait] += token_record.waited
    tables.booked[token, token_record.label] += (now - token_record.since) - token_record.waited
    token_record.since = now


@inlined
def time_beyond_service(token_record: Row, now: float) -> float:
    """Return the time present beyond the service requested; 0 where it is only rounding."""
    total = now - token_record.since
    waited: float = total - token_record.requested
    return waited if waited > NEVER_WAITED * total else 0.0


@inlined
def request(tables: State, resource: Row, token: int, now: float) -> None:
    """Count a token as present at a lock from now on."""
    accumulate(tables, resource, now)
    resource.present += 1
    tables.token[token].since_request = now


@inlined
def is_free(resource: Row) -> bool:
    """Return whether another token may hold a lock or permits."""
    return bool(resource.busy < resource.servers and resource.exclusive == 0)


@inlined
def fits(tables: State, resource: Row, token: int) -> bool:
    """Return whether a lock may be granted to a token now, regardless of waiting tokens."""
    if tables.token[token].excludes:
        return bool(resource.busy == 0)
    return bool(
        resource.busy + tables.token[token].permits <= resource.servers and resource.exclusive == 0
    )


@inlined
def ask(tables: State, resource: Row, token: int, now: float) -> bool:
    """Acquire a lock if it is free for the token and no waiting token goes before, else wait in its
    queue; return whether it was acquired.
    """
    request(tables, resource, token, now)
    token_record = tables.token[token]
    first = tables.queue[resource.queue, 0]
    token_record.key = token_record.rank
    token_record.order = 0
    if fits(tables, resource, token) and (first < 0 or goes_before(tables, token, first)):
        grant(tables, resource, token, now)
        return True
    insert(tables, resource.queue, token)
    if token_record.patience >= 0.0:
        token_record.wait = token_record.label
        await_service(tables, resource, token, now)
    return False


@inlined
def grant(tables: State, resource: Row, token: int, now: float) -> None:
    """Grant a lock to a token; its integrals must be up to date."""
    for _ in range(tables.token[token].permits):
        tables.holder[resource.holders_from + resource.busy] = token
        resource.busy += 1
    tables.token[token].patience = -1.0
    tables.token[token].event = -1
    resource.exclusive = tables.token[token].excludes
    count_wait(tables, resource, token, now)


@inlined
def count_wait(tables: State, resource: Row, token: int, now: float) -> None:
    """Add a wait for a lock that ended to the moments of waiting times."""
    wait = now - tables.token[token].since_request
    tables.stats[resource.waits] += 1.0
    tables.stats[resource.waits + 1] += wait
    tables.stats[resource.waits + 2] += wait * wait


@inlined
def remove_holder(tables: State, resource: Row, token: int) -> None:
    """Remove a token from the holders of a lock, which stay in the order in which they acquired
    it.
    """
    resource.busy -= 1
    place = resource.holders_from
    last = resource.holders_from + resource.busy
    while tables.holder[place] != token:
        place += 1
    while place < last:
        tables.holder[place] = tables.holder[place + 1]
        place += 1


@inlined
def first_waiting(tables: State, resource: Row, now: float) -> int:
    """Remove and return the token that has waited longest for a counter or for a task."""
    count_departure(tables, resource, now)
    following = take_first(tables, resource.queue)
    tables.token[following].excludes = 0
    tables.token[following].permits = 1
    count_wait(tables, resource, following, now)
    return following


@inlined
def hand_over(tables: State, resource: Row, token: int, following: int, now: float) -> None:
    """Pass a lock on to a given token at once, before all that wait for it, and wake that token."""
    count_departure(tables, resource, now)
    resource.present += 1
    remove_holder(tables, resource, token)
    tables.token[following].since_request = now
    grant(tables, resource, following, now)
    wake(tables, following, now)


@inlined
def grant_waiting(tables: State, resource: Row, now: float) -> None:
    """Grant a lock to waiting tokens in their order, until the first of them does not fit."""
    while tables.queue[resource.queue, 0] >= 0 and fits(
        tables, resource, tables.queue[resource.queue, 0]
    ):
        following = take_first(tables, resource.queue)
        grant(tables, resource, following, now)
        wake(tables, following, now)


@inlined
def release(tables: State, resource: Row, token: int, permits: int, now: float) -> None:
    """Hand a lock to the first token in its queue; with an empty queue, free it and wake all
    spinning tokens.
    """
    count_departure(tables, resource, now)
    for _ in range(permits):
        remove_holder(tables, resource, token)
    resource.exclusive = 0
    if tables.queue[resource.queue, 0] >= 0:
        grant_waiting(tables, resource, now)
        return
    while tables.queue[resource.spinning, 0] >= 0:
        wake(tables, take_first(tables, resource.spinning), now)


@inlined
def pass_time(tables: State, token: int, label: int, time: float, now: float) -> bool:
    """Delay a token by a time that is booked to a label."""
    token_record = tables.token[token]
    token_record.label = label
    token_record.event_kind = EventKind.DELAYING
    token_record.event = plan_event(tables, now + time, token)
    return False


@inlined
def serve(tables: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute SERVE: visit a station, which may depend on the customer or on the token's
    destination.
    """
    token_record = tables.token[token]
    station = code[1]
    if code[5] == Where.OWN:
        station += token_record.customer
    elif code[5] == Where.DESTINATION:
        station += token_record.destination
    token_record.label = code[3]
    token_record.wait = code[4]
    token_record.rank = code[6]
    if code[7] > 0:
        token_record.place = take_value(tables, code[7] - 1)
    enter(tables, tables.resource[station], token, value, now)
    return False


@inlined
def whole_count(count: float, value: float) -> int:
    """Return a whole number of rounds or items; the fraction of the count is the probability of one
    more.
    """
    rounds = int(count)
    return rounds + (1 if value < count - rounds else 0)


@inlined
def branch(tables: State, token: int, code: Row, op: int, value: float) -> bool:
    """Execute an instruction that sets the next instruction or the destination: DRAW_DESTINATION,
    NEXT_DESTINATION, CHOOSE, JUMP, SET_COUNT, LOOP and SWITCH.
    """
    token_record = tables.token[token]
    if op == Op.CHOOSE:
        option = code[2]
        last = option + code[3] - 1
        while option < last and value >= tables.cumulative[option]:
            option += 1
        token_record.pc = tables.targets[option]
    elif op == Op.JUMP:
        token_record.pc = code[1]
    elif op == Op.SET_COUNT:
        tables.registers[token, code[1]] = whole_count(tables.counts[code[2]], value)
    elif op == Op.LOOP:
        if tables.registers[token, code[1]] <= 0:
            token_record.pc = code[2]
        else:
            tables.registers[token, code[1]] -= 1
    elif op == Op.SWITCH:
        token_record.pc = tables.targets[code[1] + token_record.index]
    elif op == Op.DRAW_DESTINATION:
        token_record.destination = (
            code[2] + (token_record.customer - code[2] + 1 + int(value * (code[3] - 1))) % code[3]
        )
    else:
        token_record.destination = (
            code[1]
            + (token_record.customer - code[1] + 1 + token_record.index % (code[2] - 1)) % code[2]
        )
    return True


@inlined
def load(resource: Row, rule: int, now: float) -> float:
    """Return the number present at a resource, or the work left there for each server [s]."""
    if rule != PickRule.LEAST_WORK:
        return float(resource.present)
    if resource.present == 0:
        return 0.0
    left: float = (
        resource.asked
        - (resource.use + resource.busy * (now - resource.changed) - resource.use_before)
    ) / resource.servers
    return left


@inlined
def pick(tables: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute PICK: choose one of several alternatives in turn, by the shortest queue or the least
    work, or by the shorter of two queues drawn at random.
    """
    tally = tables.run[0].tallies + 2 * code[2]
    first = code[4]
    count = code[5]
    places = first + count
    chosen = 0
    if code[3] == PickRule.IN_TURN:
        chosen = int(tables.stats[tally]) % count
    elif code[3] != PickRule.SHORTER_OF_TWO:
        least = most = load(tables.resource[tables.targets[places]], code[3], now)
        for at in range(1, count):
            here = load(tables.resource[tables.targets[places + at]], code[3], now)
            least = min(least, here)
            most = max(most, here)
        equal = least + NEVER_WAITED * most
        ties = 0
        for at in range(count):
            ties += load(tables.resource[tables.targets[places + at]], code[3], now) <= equal
        left = int(value * ties)
        for at in range(count):
            if load(tables.resource[tables.targets[places + at]], code[3], now) <= equal:
                if left == 0:
                    chosen = at
                left -= 1
    else:
        # One random number chooses an ordered pair of different stations.
        pair = int(value * count * (count - 1))
        chosen = pair // (count - 1)
        other = pair % (count - 1)
        if other >= chosen:
            other += 1
        present = tables.resource[tables.targets[places + other]].present
        if present < tables.resource[tables.targets[places + chosen]].present:
            chosen = other
    tables.stats[tally] += 1.0
    tables.token[token].pc = tables.targets[first + chosen]
    return True


@inlined
def admit(tables: State, token: int, code: Row) -> bool:
    """Execute ADMIT: count an arrival, and turn it away where a resource already has the most
    customers allowed.
    """
    tally = tables.run[0].tallies + 2 * code[1]
    tables.stats[tally] += 1.0
    if code[3] > 0 and tables.resource[code[2]].present >= code[3]:
        tables.stats[tally + 1] += 1.0
        tables.token[token].pc = code[4]
    return True


@inlined
def count_access(tables: State, token: int, code: Row) -> bool:
    """Execute COUNT_ACCESS: count an access, and whether no token waits for its lock and it is the
    customer's own.
    """
    tally = tables.run[0].tallies + 2 * code[1]
    run = tables.run[0]
    tables.stats[tally] += 1.0
    waits = code[3] >= 0 and tables.queue[tables.resource[run.locks + code[3]].queue, 0] >= 0
    if not waits and (code[2] < 0 or code[2] == tables.token[token].customer):
        tables.stats[tally + 1] += 1.0
    return True


@inlined
def end(tables: State, token: int, code: Row, now: float) -> bool:
    """Execute END: record the response time and the booked times of a cycle, and begin the next
    cycle or free the token.
    """
    token_record = tables.token[token]
    run = tables.run[0]
    g = tables.group[token_record.group]
    is_kept = code[2] == 0
    begun = token_record.begun
    if is_kept:
        tables.responses[token_record.group, g.responses] = now - begun
        g.responses += 1
        tables.stats[g.stats] += 1.0
        tables.stats[g.stats + 1] += now - begun
    for label in range(tables.booked.shape[1]):
        if tables.booked[token, label] != 0.0:
            tables.stats[g.booked + label] += tables.booked[token, label]
            tables.booked[token, label] = 0.0
    if g.kind == GroupKind.CLOSED:
        token_record.begun = now
        if code[1] == 0:
            token_record.pc = g.start
    if g.kind == GroupKind.ONCE:
        run.alive -= 1
        if run.alive == 0:
            write_row(tables, now)
    elif is_kept:
        run.cycles_to_row -= 1
        if run.cycles_to_row == 0:
            run.cycles_to_row = run.cycles_per_row
            write_row(tables, now)
    if g.kind == GroupKind.OPEN:
        free_token(tables, token)
    if g.kind == GroupKind.CLOSED and begun == now:
        token_record.event_kind = EventKind.AGAIN
        token_record.event = plan_event(tables, now, token)
    return bool(g.kind == GroupKind.CLOSED and begun != now)


@inlined
def fork_or_pipeline(tables: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute FORK, JOIN, PIPELINE, ENTER_STAGE and LEAVE_STAGE: an item enters a stage when the
    item before it has left.
    """
    token_record = tables.token[token]
    op = code[0]
    if op == Op.FORK or op == Op.PIPELINE:
        return begin_branches(tables, token, code, value, now)
    if op == Op.JOIN:
        join(tables, token, code, now)
        return False
    if op == Op.ENTER_STAGE:
        if token_record.before < 0 or tables.token[token_record.before].passed > code[1]:
            return True
        token_record.turn = code[1]
        return False
    token_record.passed = code[1] + 1
    if token_record.after >= 0 and tables.token[token_record.after].turn == code[1]:
        following = tables.token[token_record.after]
        following.turn = -1
        if now > following.since:
            for label in range(tables.booked.shape[1]):
                tables.booked[token_record.after, label] = tables.booked[token, label]
            following.since = now
        append(tables, READY, token_record.after)
    return True


@inlined
def begin_branches(tables: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute FORK and PIPELINE: start the branches, or the items of a pipeline."""
    token_record = tables.token[token]
    items = code[0] == Op.PIPELINE
    count = whole_count(tables.counts[code[1]], value) if items else code[2]
    token_record.pc = code[4] if items else code[3]
    if count == 0:
        return True
    token_record.left = count if items else code[4]
    token_record.last = -1.0
    before = -1
    for index in range(count):
        branch = new_token(tables, now, token_record.group, token_record.customer, token, index)
        tables.token[branch].pc = code[3] if items else tables.targets[code[1] + index]
        if items:
            tables.token[branch].before = before
            if before >= 0:
                tables.token[before].after = branch
            before = branch
        append(tables, READY, branch)
    if not items and code[5] > 0:
        tables.token[token_record.child].index = token_record.index
        passed = tables.resource[tables.run[0].locks + code[5] - 1]
        for place in range(passed.holders_from, passed.holders_from + passed.busy):
            if tables.holder[place] == token:
                tables.holder[place] = token_record.child
        take_out(tables, READY, token_record.child)
        insert_at(tables, READY, token_record.child, 0)
    return False


@inlined
def reply(tables: State, token: int, code: Row, now: float) -> bool:
    """REPLY."""
    body = token
    for _ in range(code[1]):
        body = tables.token[body].parent
    customer = tables.token[body].parent
    member = token
    for _ in range(code[1] + 1):
        for label in range(tables.booked.shape[1]):
            tables.booked[customer, label] += tables.booked[member, label]
        member = tables.token[member].parent
    tables.token[body].parent = -1
    tables.token[customer].child = -1
    tables.token[customer].since = now
    tables.run[0].unawaited_branches += 1
    tables.run[0].unended_branches += 1
    insert_at(tables, READY, customer, 0)
    append(tables, READY, token)
    return False


@inlined
def spawn(tables: State, token: int, code: Row, now: float) -> bool:
    """Execute SPAWN: start a branch that the token does not wait for, which may take over a
    lock.
    """
    token_record = tables.token[token]
    beside = new_token(tables, now, token_record.group, token_record.customer, -1, 0)
    tables.token[beside].pc = code[1]
    tables.token[beside].destination = token_record.destination
    if code[2] < 0:
        tables.run[0].unawaited_branches += 1
        tables.run[0].unended_branches += 1
    else:
        taken = tables.resource[tables.run[0].locks + code[2]]
        for place in range(taken.holders_from, taken.holders_from + taken.busy):
            if tables.holder[place] == token:
                tables.holder[place] = beside
    append(tables, READY, beside)
    return True


@inlined
def join(tables: State, token: int, code: Row, now: float) -> None:
    """Execute JOIN: end a branch or item, and continue the parent when enough of them have
    ended.
    """
    token_record = tables.token[token]
    labels = tables.booked.shape[1]
    parent = token_record.parent
    if parent < 0:
        tables.run[0].unended_branches -= 1
        free_token(tables, token)
        return
    token_record.parent = -1
    parent_token = tables.token[parent]
    # Of the branches that end last at the same time, the first in the program counts, so that the
    # order of events does not matter.
    if now > parent_token.last or token_record.index < parent_token.latest:
        parent_token.last = now
        parent_token.latest = token_record.index
        for label in range(labels):
            tables.latest_booked[parent, label] = tables.booked[token, label]
    parent_token.left -= 1
    if parent_token.left > 0:
        return
    for label in range(labels):
        tables.booked[parent, label] += tables.latest_booked[parent, label]
    if code[1] >= 0:
        pipeline = tables.run[0].pipelines + 2 * code[1]
        tables.stats[pipeline] += 1.0
        tables.stats[pipeline + 1] += now - parent_token.since
    parent_token.since = now
    # Items refer to their neighbours, so all are freed together; branches that have not ended go
    # on.
    child = parent_token.child
    while child >= 0:
        if tables.token[child].parent < 0:
            free_token(tables, child)
        else:
            tables.token[child].parent = -1
            tables.run[0].unawaited_branches += 1
            tables.run[0].unended_branches += 1
        child = tables.token[child].sibling
    parent_token.child = -1
    append(tables, READY, parent)


@inlined
def lock(tables: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute an instruction on a lock: ACQUIRE, RELEASE, REQUEST, ATTEMPT, AWAIT_FREE,
    TAKE_TICKET, AWAIT_TURN and BACK_OFF.
    """
    token_record = tables.token[token]
    op = code[0]
    if op == Op.BACK_OFF:
        doublings = tables.registers[token, code[3]]
        time = min(tables.counts[code[4]] * float(1 << doublings), tables.counts[code[5]]) * value
        # At most 60 doublings: 1 << 63 would overflow a 64-bit number, and the limit is reached
        # long before.
        tables.registers[token, code[3]] = min(doublings + 1, 60)
        return pass_time(tables, token, code[2], time, now)
    resource = tables.resource[tables.run[0].locks + code[1]]
    if op == Op.ACQUIRE:
        token_record.label = code[2]
        token_record.rank = code[3]
        token_record.excludes = code[4]
        token_record.permits = code[5]
        return ask(tables, resource, token, now)
    if op == Op.RELEASE:
        release(tables, resource, token, code[2], now)
    elif op == Op.REQUEST:
        token_record.permits = 1
        request(tables, resource, token, now)
    elif op == Op.ATTEMPT:
        if not is_free(resource):
            token_record.pc = code[2]
        elif not code[3]:
            accumulate(tables, resource, now)
            grant(tables, resource, token, now)
    elif op == Op.AWAIT_FREE:
        if not is_free(resource):
            token_record.label = code[2]
            append(tables, resource.spinning, token)
            return False
    elif op == Op.TAKE_TICKET:
        tables.registers[token, code[2]], token_record.permits = resource.done + resource.present, 1
        request(tables, resource, token, now)
    else:
        token_record.key = int(value * PLACES)
        token_record.order = 0
        if tables.registers[token, code[3]] != resource.done:
            token_record.label = code[2]
            token_record.pc = code[5]
            insert(tables, resource.spinning, token)
            return False
        accumulate(tables, resource, now)
        grant(tables, resource, token, now)
    return True


@inlined
def meet(tables: State, token: int, code: Row, now: float) -> bool:
    """Execute BARRIER: the last token wakes all that wait, in the order in which they came; the
    others wait.
    """
    queue = tables.run[0].barriers + code[1]
    if tables.waiting[code[1]] + 1 < code[2]:
        tables.token[token].label = code[3]
        append(tables, queue, token)
        tables.waiting[code[1]] += 1
        return False
    while tables.queue[queue, 0] >= 0:
        wake(tables, take_first(tables, queue), now)
    tables.waiting[code[1]] = 0
    return True


@inlined
def counter(tables: State, token: int, code: Row, now: float) -> bool:
    """Execute WAIT and GIVE: take a unit of a counter or wait for it, or give a unit."""
    locks = tables.run[0].locks
    resource = tables.resource[locks + code[1]]
    if code[0] == Op.WAIT:
        tables.token[token].label = code[2]
        request(tables, resource, token, now)
        append(tables, resource.queue, token)
        if resource.busy > 0:
            resource.busy -= 1
            first_waiting(tables, resource, now)
            return True
        if code[3] >= 0:
            release(tables, tables.resource[locks + code[3]], token, 1, now)
        return False
    if tables.queue[resource.queue, 0] < 0:
        accumulate(tables, resource, now)
        resource.busy += 1
    elif code[2] < 0:
        wake(tables, first_waiting(tables, resource, now), now)
    else:
        tables.token[token].pc = code[3]
        hand_over(
            tables,
            tables.resource[locks + code[2]],
            token,
            first_waiting(tables, resource, now),
            now,
        )
    return True


@inlined
def pool(tables: State, token: int, code: Row, now: float) -> bool:
    """Execute an instruction on a pool of tasks: ENTER_POOL, TAKE_TASK, WORK, NEXT_PART and
    ADD_TASK.
    """
    op = code[0]
    pool_record = tables.pool[code[1]]
    token_record = tables.token[token]
    own = token_record.customer % pool_record.queues
    if op == Op.ENTER_POOL:
        begin_problem(tables, pool_record, now)
        tables.registers[token, code[3]] = queue_with_task(tables, pool_record, own)
        return enter_queue(
            tables, pool_record, tables.registers[token, code[3]], token, code[2], now
        )
    if op == Op.TAKE_TASK:
        return take_task(tables, pool_record, token, code, own, now)
    register = code[2] + 1
    present = tables.registers[token, register]
    added = tables.part[present, 0]
    last = tables.part[present, 1]
    if op == Op.WORK:
        return pass_time(tables, token, code[3], tables.part_time[present], now)
    if op == Op.NEXT_PART:
        if added >= 0:
            return enter_queue(tables, pool_record, own, token, code[3], now)
        tables.registers[token, register] += 1
        token_record.pc = code[5] if last else code[4]
        return True
    add_to_queue(tables, pool_record, own, added, now)
    tables.registers[token, register] += 1
    token_record.pc = code[4] if last else code[3]
    leave_queue(tables, pool_record, own, token, code[2], code[5], now)
    return True


@inlined
def begin_problem(tables: State, pool_record: Row, now: float) -> None:
    """Distribute the first tasks of the next problem over the queues in turn, if the last problem
    is solved.
    """
    if pool_record.open:
        return
    pool_record.open = 1
    first = tables.problem[pool_record.first_problem + pool_record.problem]
    for index in range(tables.problem[pool_record.first_problem + pool_record.problem + 1] - first):
        add_to_queue(
            tables, pool_record, index % pool_record.queues, tables.root[first + index], now
        )
    pool_record.problem = (pool_record.problem + 1) % pool_record.problems


@inlined
def add_to_queue(tables: State, pool_record: Row, queue: int, task: int, now: float) -> None:
    """Append a task to a queue of a pool."""
    accumulate(tables, tables.resource[pool_record.tasks], now)
    tables.resource[pool_record.tasks].busy += 1
    place = pool_record.first_queue + queue
    last = tables.task_queue[place, 1]
    tables.task[task, 1], tables.task[task, 2] = last, -1
    if last < 0:
        tables.task_queue[place, 0] = task
    else:
        tables.task[last, 2] = task
    tables.task_queue[place, 1] = task


@inlined
def take_from_queue(tables: State, pool_record: Row, queue: int, own: int, now: float) -> int:
    """Remove and return a task of a queue: the youngest of the own queue where the pool takes the
    last first, else the oldest.
    """
    accumulate(tables, tables.resource[pool_record.tasks], now)
    tables.resource[pool_record.tasks].busy -= 1
    place = pool_record.first_queue + queue
    # Others take the oldest task, usually the largest where tasks divide a problem.
    end = 1 if pool_record.last_first != 0 and queue == own else 0
    task_taken: int = tables.task_queue[place, end]
    following = tables.task[task_taken, 2 - end]
    tables.task_queue[place, end] = following
    if following < 0:
        tables.task_queue[place, 1 - end] = -1
    else:
        tables.task[following, 1 + end] = -1
    return task_taken


@inlined
def queue_with_task(tables: State, pool_record: Row, own: int) -> int:
    """Return the first queue that has a task, searching from the own queue; the own queue if none
    has.
    """
    for k in range(pool_record.queues):
        queue: int = (own + k) % pool_record.queues
        if tables.task_queue[pool_record.first_queue + queue, 0] >= 0:
            return queue
    return own


@inlined
def enter_queue(
    tables: State, pool_record: Row, queue: int, token: int, label: int, now: float
) -> bool:
    """Request the lock of a queue of tasks."""
    token_record = tables.token[token]
    token_record.label = label
    token_record.rank = 0
    token_record.excludes = 0
    token_record.permits = 1
    return ask(tables, tables.resource[pool_record.monitor + queue], token, now)


@inlined
def take_task(tables: State, pool_record: Row, token: int, code: Row, own: int, now: float) -> bool:
    """Execute TAKE_TASK: take a task, search another queue, wait for a task, or leave where all
    processors wait.
    """
    token_record = tables.token[token]
    tasks = tables.resource[pool_record.tasks]
    queue = tables.registers[token, code[2]]
    if tables.task_queue[pool_record.first_queue + queue, 0] >= 0:
        tables.registers[token, code[2] + 1] = tables.task[
            take_from_queue(tables, pool_record, queue, own, now), 0
        ]
        leave_queue(tables, pool_record, queue, token, code[2], code[3], now)
        return True
    waits = tasks.busy == 0 and tasks.present + 1 < code[7]
    if tasks.busy > 0:
        token_record.pc = code[5]
    elif waits:
        token_record.pc = code[5] + 1
        request(tables, tasks, token, now)
        append(tables, tasks.queue, token)
    else:
        token_record.pc = code[6]
        pool_record.open = 0
        while tables.queue[tasks.queue, 0] >= 0:
            waiting_processor = first_waiting(tables, tasks, now)
            tables.token[waiting_processor].label = code[4]
            tables.token[waiting_processor].pc = code[6]
            wake(tables, waiting_processor, now)
    release(tables, tables.resource[pool_record.monitor + queue], token, 1, now)
    return bool(not waits)


@inlined
def leave_queue(
    tables: State, pool_record: Row, queue: int, token: int, register: int, label: int, now: float
) -> None:
    """Release the lock of a queue of tasks; where it has tasks, pass it on to the processor that
    has waited longest for one.
    """
    monitor = tables.resource[pool_record.monitor + queue]
    tasks = tables.resource[pool_record.tasks]
    if (
        tables.queue[tasks.queue, 0] >= 0
        and tables.task_queue[pool_record.first_queue + queue, 0] >= 0
    ):
        following = first_waiting(tables, tasks, now)
        tables.token[following].label = label
        tables.registers[following, register] = queue
        hand_over(tables, monitor, token, following, now)
    else:
        release(tables, monitor, token, 1, now)


@compiled
def go_on(tables: State, events: int) -> int:
    """Simulate a number of events, and return why the loop stopped."""
    run = tables.run[0]
    while True:
        if run.running < 0:
            if tables.queue[READY, 0] >= 0:
                run.running = take_first(tables, READY)
            elif events <= 0:
                return Return.EVENTS_DONE
            else:
                why = next_event(tables)
                if why != Return.EVENTS_DONE:
                    return why
                events -= 1
                run.events += 1
                if run.running < 0:
                    continue
        token = run.running
        now = run.now
        while True:
            why = lacking(tables, token)
            if why != Return.EVENTS_DONE:
                return why
            if not step(tables, token, now):
                break
        run.running = -1


@inlined
def next_event(tables: State) -> int:
    """Apply the first event of the list, up to the next instruction of its token."""
    run = tables.run[0]
    if run.events_planned == 0:
        return Return.NO_EVENTS
    now = tables.heap[0].time
    order = tables.heap[0].order
    token = tables.heap[0].token
    if token < 0:
        return arrive(tables, -1 - token)
    remove_first(tables)
    run.now = now
    # An event that was planned anew, for another speed of service or after a preemption, is void.
    token_record = tables.token[token]
    if token_record.event != order:
        return Return.EVENTS_DONE
    token_record.event = -1
    if token_record.event_kind == EventKind.SERVED:
        leave(tables, token, now)
    elif token_record.event_kind == EventKind.ABANDONING:
        abandon(tables, token, now)
    elif token_record.event_kind == EventKind.DELAYING:
        book(tables, token, now)
    run.running = token
    return Return.EVENTS_DONE


@inlined
def arrive(tables: State, group: int) -> int:
    """Start an arriving customer of an open group, and plan the next arrival."""
    g = tables.group[group]
    run = tables.run[0]
    if tables.taken[g.arrivals] == tables.ready[g.arrivals]:
        run.wanted = g.arrivals
        return Return.NEEDS_RANDOM
    if run.free_count == 0 or run.events_planned + 2 > tables.heap.shape[0]:
        run.wanted = 1
        return Return.NEEDS_SPACE
    run.now = tables.heap[0].time
    remove_first(tables)
    plan_event(tables, run.now + take_value(tables, g.arrivals), -1 - group)
    token = new_token(tables, run.now, group, g.arrived, -1, 0)
    g.arrived += 1
    tables.token[token].pc = g.start
    run.running = token
    return Return.EVENTS_DONE


@inlined
def take_value(tables: State, draw: int) -> float:
    """Return the next random number of a distribution."""
    value: float = tables.values[draw, tables.taken[draw]]
    tables.taken[draw] += 1
    return value


@inlined
def lacking(tables: State, token: int) -> int:
    """Return what the next instruction lacks that only Python can supply: random numbers, tokens,
    events or rows.
    """
    run = tables.run[0]
    pc = tables.token[token].pc
    draw = tables.drawn[pc]
    code = tables.code[pc]
    if draw >= 0 and tables.taken[draw] == tables.ready[draw]:
        run.wanted = draw
        return Return.NEEDS_RANDOM
    op = code[0]
    if op == Op.SERVE and code[7] > 0 and tables.taken[code[7] - 1] == tables.ready[code[7] - 1]:
        run.wanted = code[7] - 1
        return Return.NEEDS_RANDOM
    if run.events_planned + 2 > tables.heap.shape[0]:
        run.wanted = 0
        return Return.NEEDS_SPACE
    if op == Op.END:
        if (
            run.rows == tables.rows.shape[0]
            or tables.group[tables.token[token].group].responses == tables.responses.shape[1]
        ):
            return Return.TABLE_FULL
    elif op == Op.FORK or op == Op.PIPELINE or op == Op.SPAWN:
        needed = 1
        if op == Op.FORK:
            needed = code[2]
        elif op == Op.PIPELINE:
            needed = int(tables.counts[code[1]]) + 1
        if run.free_count < needed:
            run.wanted = needed
            return Return.NEEDS_SPACE
    if tables.trace.shape[0] > 0:
        if run.traced == tables.trace.shape[0]:
            return Return.TABLE_FULL
        executed = tables.trace[run.traced]
        executed.time = run.now
        executed.pc = pc
        executed.customer = tables.token[token].customer
        executed.index = tables.token[token].index
        run.traced += 1
    return Return.EVENTS_DONE


@inlined
def step(tables: State, token: int, now: float) -> bool:
    """Execute an instruction, and return whether the token goes on to the next; the instructions
    are compared by their numbers in `Op`.
    """
    token_record = tables.token[token]
    pc = token_record.pc
    code = tables.code[pc]
    op = code[0]
    token_record.pc = pc + 1
    value = tables.constants[pc]
    draw = tables.drawn[pc]
    if draw >= 0:
        value = take_value(tables, draw)
    if op == Op.SERVE:
        return serve(tables, token, code, value, now)
    if op == Op.DELAY:
        return pass_time(tables, token, code[2], value, now)
    if op == Op.END:
        return end(tables, token, code, now)
    if op < Op.END:
        return branch(tables, token, code, op, value)
    if op < Op.ACQUIRE:
        return fork_or_pipeline(tables, token, code, value, now)
    if op < Op.BARRIER:
        return lock(tables, token, code, value, now)
    if op == Op.BARRIER:
        return meet(tables, token, code, now)
    if op == Op.ADMIT:
        return admit(tables, token, code)
    if op == Op.COUNT_ACCESS:
        return count_access(tables, token, code)
    if op == Op.START_RESPONSE:
        token_record.begun = now
        return True
    if op == Op.PATIENCE:
        token_record.patience = value
        token_record.elsewhere = code[2]
        token_record.cuts = code[3]
        return True
    if op == Op.CONSULT:
        return consult(tables, token, code, now)
    if op == Op.RECORD:
        return record(tables, token, code, value, now)
    if op == Op.WEIGHT:
        token_record.weight = tables.counts[code[1]]
        return True
    if op == Op.SPAWN:
        return spawn(tables, token, code, now)
    if op == Op.VANISH:
        free_token(tables, token)
        return False
    if op == Op.PICK:
        return pick(tables, token, code, value, now)
    if op == Op.REPLY:
        return reply(tables, token, code, now)
    return (
        counter(tables, token, code, now) if op < Op.ENTER_POOL else pool(tables, token, code, now)
    )
