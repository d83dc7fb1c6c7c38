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


def _place() -> str:
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
    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or _place()
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
def plan_event(s: State, time: float, token: int) -> int:
    """Add an event to the event list, and return its number."""
    run = s.run[0]
    order: int = run.planned
    place = run.events_planned
    run.planned += 1
    run.events_planned += 1
    while place > 0:
        above = (place - 1) >> 1
        # Later in planning, so it stays below what happens at the same time.
        if s.heap[above].time <= time:
            break
        move_event(s, place, above)
        place = above
    event = s.heap[place]
    event.time = time
    event.order = order
    event.token = token
    return order


@inlined
def is_earlier(a: Row, b: Row) -> bool:
    """Return whether an event happens before another."""
    return bool(a.time < b.time or (a.time == b.time and a.order < b.order))


@inlined
def move_event(s: State, place: int, source: int) -> None:
    """Copy an event to another place of the heap of events."""
    event = s.heap[place]
    moved = s.heap[source]
    event.time = moved.time
    event.order = moved.order
    event.token = moved.token


@inlined
def remove_first(s: State) -> None:
    """Remove the first event of the event list."""
    s.run[0].events_planned -= 1
    count = s.run[0].events_planned
    place = 0
    below = 1
    while below < count:
        if below + 1 < count and is_earlier(s.heap[below + 1], s.heap[below]):
            below += 1
        if is_earlier(s.heap[count], s.heap[below]):
            break
        move_event(s, place, below)
        place = below
        below = 2 * below + 1
    move_event(s, place, count)


@inlined
def put_between(s: State, queue: int, token: int, before: int, behind: int) -> None:
    """Link a token into a queue between two others; -1 stands for the head or the end of the
    queue.
    """
    s.token[token].next = behind
    if before < 0:
        s.queue[queue, 0] = token
    else:
        s.token[before].next = token
    if behind < 0:
        s.queue[queue, 1] = token


@inlined
def append(s: State, queue: int, token: int) -> None:
    """Put a token at the end of a queue."""
    put_between(s, queue, token, s.queue[queue, 1], -1)


@inlined
def insert_at(s: State, queue: int, token: int, place: int) -> None:
    """Put a token into a queue, behind a number of others."""
    before = -1
    current = s.queue[queue, 0]
    for _ in range(place):
        before = current
        current = s.token[current].next
    put_between(s, queue, token, before, current)


@inlined
def goes_before(s: State, a: int, b: int) -> bool:
    """Return whether a token goes before another, by its key, and among equal keys by its order."""
    first = s.token[a]
    second = s.token[b]
    return bool(first.key < second.key or (first.key == second.key and first.order < second.order))


@inlined
def insert(s: State, queue: int, token: int) -> None:
    """Insert a token into a queue by its key, behind those with an equal key."""
    before = s.queue[queue, 1]
    current = -1
    if before >= 0 and goes_before(s, token, before):
        before = -1
        current = s.queue[queue, 0]
        while not goes_before(s, token, current):
            before = current
            current = s.token[current].next
    put_between(s, queue, token, before, current)


@inlined
def take_first(s: State, queue: int) -> int:
    """Remove the first token of a queue, and return it."""
    token: int = s.queue[queue, 0]
    s.queue[queue, 0] = s.token[token].next
    if s.queue[queue, 0] < 0:
        s.queue[queue, 1] = -1
    return token


@inlined
def take_out(s: State, queue: int, token: int) -> None:
    """Remove a token from a queue."""
    before = -1
    current = s.queue[queue, 0]
    while current != token:
        before = current
        current = s.token[current].next
    behind = s.token[token].next
    if before < 0:
        s.queue[queue, 0] = behind
    else:
        s.token[before].next = behind
    if behind < 0:
        s.queue[queue, 1] = before


@inlined
def book(s: State, token: int, now: float) -> None:
    """Add the time since the token's last booking to the label that it has now."""
    t = s.token[token]
    s.booked[token, t.label] += now - t.since
    t.since = now


@inlined
def wake(s: State, token: int, now: float) -> None:
    """Book the waiting time of a token, and let it run."""
    book(s, token, now)
    append(s, READY, token)


@inlined
def new_token(s: State, now: float, group: int, customer: int, parent: int, index: int) -> int:
    """Take a token from the list of free ones and initialize it."""
    run = s.run[0]
    token: int = run.free
    t = s.token[token]
    run.free = t.next
    run.free_count -= 1
    t.customer = customer
    t.group = group
    t.parent = parent
    t.index = index
    t.passed = 0
    t.turn = -1
    t.before = -1
    t.after = -1
    t.child = -1
    t.sibling = -1
    t.event = -1
    t.destination = 0
    t.excludes = 0
    t.permits = 1
    t.order = 0
    t.patience = -1.0
    t.cut = 0
    t.weight = 1.0
    if parent >= 0:
        t.destination = s.token[parent].destination
        t.sibling = s.token[parent].child
        s.token[parent].child = token
    t.since = t.begun = now
    for label in range(s.booked.shape[1]):
        s.booked[token, label] = 0.0
    for register in range(s.registers.shape[1]):
        s.registers[token, register] = 0
    return token


@inlined
def free_token(s: State, token: int) -> None:
    """Return a token to the list of free ones."""
    s.token[token].next = s.run[0].free
    s.run[0].free = token
    s.run[0].free_count += 1


@inlined
def write_row(s: State, now: float) -> None:
    """Write the statistics of this moment as a row."""
    for resource in range(s.resource.shape[0]):
        r = s.resource[resource]
        accumulate(s, r, now)
        s.stats[r.stats], s.stats[r.stats + 1], s.stats[r.stats + 2] = r.area, r.use, r.done
    run = s.run[0]
    s.stats[0], s.stats[1] = now, run.planned
    # The plain kernel numbers rows like events, so both kernels count the same.
    run.planned += 1
    for column in range(s.stats.shape[0]):
        s.rows[run.rows, column] = s.stats[column]
    run.rows += 1


@inlined
def begin_state(s: State, b: Row, half_open: int) -> None:
    """Begin a state of a circuit breaker in which it admits tries, of which none has counted."""
    b.state_number += 1
    b.half_open = half_open
    b.begun = b.passed = b.place = b.failed = 0
    for call in range(b.first, b.first + b.calls):
        s.outcome[call] = 0


@inlined
def end_open_time(s: State, r: Row, now: float) -> None:
    """End the open state of a circuit breaker if its time is over; it admits trials from then
    on.
    """
    b = s.breaker[r.breaker]
    if r.busy == 0 or now < b.open_until:
        return
    open_time = b.open_until - r.changed
    r.area += r.present * open_time
    r.use += r.busy * open_time
    r.changed = b.open_until
    r.busy = 0
    begin_state(s, b, 1)


@inlined
def open_breaker(r: Row, b: Row, until: float) -> None:
    """Open a circuit breaker, which refuses all tries up to a time."""
    b.state_number += 1
    r.busy = 1
    b.open_until = until


@inlined
def consult(s: State, token: int, code: Row, now: float) -> bool:
    """Execute CONSULT: ask a circuit breaker to admit a try."""
    column = s.run[0].tallies + 2 * code[2]
    s.stats[column] += 1
    r = s.resource[s.run[0].locks + code[1]]
    accumulate(s, r, now)
    b = s.breaker[r.breaker]
    if r.busy > 0 or (b.half_open != 0 and b.begun == b.trials):
        s.registers[token, code[3]] = -1
        s.stats[column + 1] += 1
        s.token[token].pc = code[4]
        return True
    b.begun += b.half_open
    s.registers[token, code[3]] = b.state_number
    return True


@inlined
def record(s: State, token: int, code: Row, open_time: float, now: float) -> bool:
    """Execute RECORD: count a try that has ended, and open or close the circuit breaker after
    it.
    """
    r = s.resource[s.run[0].locks + code[1]]
    accumulate(s, r, now)
    b = s.breaker[r.breaker]
    has_failed = code[3]
    if s.registers[token, code[2]] != b.state_number:
        return True
    if b.half_open != 0:
        if has_failed != 0:
            open_breaker(r, b, now + open_time)
            return True
        b.passed += 1
        if b.passed == b.trials:
            begin_state(s, b, 0)
        return True
    b.failed += has_failed - s.outcome[b.first + b.place]
    s.outcome[b.first + b.place] = has_failed
    b.place = (b.place + 1) % b.calls
    if b.failed == b.failures:
        open_breaker(r, b, now + open_time)
    return True


@inlined
def accumulate(s: State, r: Row, now: float) -> None:
    """Add the time since the last change to the integrals of a resource: customers present, busy
    servers and, where service is shared, work done for each.
    """
    passed = now - r.changed
    if r.kind != StationKind.FCFS:  # locks and most stations need one look at the kind
        if r.kind == StationKind.SHARED:
            r.progress += passed * rate(s, r)
        elif r.kind == StationKind.WEIGHTED:
            token = s.queue[r.queue, 0]
            while token >= 0:
                s.token[token].work -= passed * s.token[token].speed
                token = s.token[token].next
        elif r.kind == StationKind.BREAKER:
            end_open_time(s, r, now)
            passed = now - r.changed
        elif r.rates > 0 and s.queue[r.serving, 0] >= 0:
            s.token[s.queue[r.serving, 0]].work -= passed * pace(s, r)
    r.changed = now
    r.area += r.present * passed
    r.use += r.busy * passed


@inlined
def weigh_anew(s: State, r: Row, now: float) -> None:
    """Compute the speeds of the customers of servers that are shared by weights, find which of them
    leaves next, and plan when.
    """
    r.busy = min(r.present, r.servers)
    if r.ticket >= 0:
        s.token[r.ticket].event = -1
    r.ticket = -1
    servers_left = float(r.servers)
    weight_left = 0.0
    token = s.queue[r.queue, 0]
    while token >= 0:
        weight_left += s.token[token].weight
        token = s.token[token].next
    soonest = math.inf
    token = s.queue[r.queue, 0]
    while token >= 0:
        t = s.token[token]
        speed = servers_left * t.weight / weight_left
        if speed >= 1.0:
            servers_left -= 1.0
            weight_left -= t.weight
        t.speed = min(speed, 1.0)
        time_left = max(t.work, 0.0) / t.speed
        is_cut = 0
        if t.cuts != 0 and t.patience >= 0.0:
            time_to_limit = max(t.patience - (now - t.since), 0.0)
            if time_to_limit < time_left:
                is_cut = 1
                time_left = time_to_limit
        if time_left < soonest:
            soonest = time_left
            r.ticket = token
            t.cut = is_cut
        token = t.next
    if r.ticket >= 0:
        patience = s.token[r.ticket].patience
        begin(s, r, r.ticket, now + soonest)
        s.token[r.ticket].patience = patience


@inlined
def enter_weighted(s: State, r: Row, token: int, work: float, now: float) -> None:
    """Add a customer to servers that are shared by weights, behind those of at least its weight."""
    t = s.token[token]
    t.work = t.requested = work
    before = -1
    current = s.queue[r.queue, 0]
    while current >= 0 and s.token[current].weight >= t.weight:
        before = current
        current = s.token[current].next
    put_between(s, r.queue, token, before, current)
    r.present += 1
    weigh_anew(s, r, now)


@inlined
def count_departure(s: State, r: Row, now: float) -> None:
    """Count a customer that leaves a station, a lock or its queue."""
    accumulate(s, r, now)
    r.present -= 1
    r.done += 1


@inlined
def rate(s: State, r: Row) -> float:
    """Return the speed at which each customer of weight 1 that is present is served: the whole
    speed where they are served in turn, else a share of it.
    """
    if r.present == 0:
        return 1.0
    if r.rates > 0:
        speed: float = s.rates[r.rates_from + min(r.present, r.rates) - 1]
        return speed if r.in_turn else speed / r.weight
    shared: float = min(r.present, r.servers) / r.weight
    return shared


@inlined
def pace(s: State, r: Row) -> float:
    """Return the speed of a single server with rates."""
    speed: float = s.rates[r.rates_from + min(r.present, r.rates) - 1]
    return speed


@inlined
def pace_anew(s: State, r: Row, now: float) -> None:
    """Plan the end of the service under way at a single server with rates anew."""
    token = s.queue[r.serving, 0]
    if token >= 0:
        begin(s, r, token, now + max(s.token[token].work, 0.0) / pace(s, r))


@inlined
def begin(s: State, r: Row, token: int, time: float) -> None:
    """Plan the end of a service that a customer begins."""
    t = s.token[token]
    t.event_kind = EventKind.SERVED
    t.patience = -1.0
    t.station = r.queue - 1
    t.event = plan_event(s, time, token)


@inlined
def service_time(r: Row, t: Row, work: float, now: float) -> float:
    """Return how long a service lasts that begins: where the limit of the visit ends it, the time
    that is left [s].
    """
    if t.cuts != 0 and t.patience >= 0.0:
        time_left: float = t.patience - (now - t.since)
        if time_left < work:
            t.cut = 1
            r.asked -= work - time_left
            return time_left
    return work


@inlined
def await_service(s: State, r: Row, token: int, now: float) -> None:
    """Plan when a customer in the queue abandons it; the event is void when its service begins."""
    t = s.token[token]
    if t.patience >= 0.0:
        t.event_kind = EventKind.ABANDONING
        t.station = r.queue - 1
        t.event = plan_event(s, now + t.patience, token)


@inlined
def abandon(s: State, token: int, now: float) -> None:
    """Remove a customer that gives up waiting from its queue; its time there is waiting time, and
    it goes on at another instruction.
    """
    t = s.token[token]
    r = s.resource[t.station]
    accumulate(s, r, now)
    r.present -= 1
    take_out(s, r.queue, token)
    # Those behind it may take fewer permits.
    if t.station >= s.run[0].locks:
        if r.servers > 1:
            s.stats[r.waits + 1] += now - t.since_request
        grant_waiting(s, r, now)
    else:
        r.asked -= t.work
        if r.rates > 0:
            s.stats[r.waits] += now - t.since
            pace_anew(s, r, now)
    t.label = t.wait
    t.pc = t.elsewhere
    t.patience = -1.0
    book(s, token, now)


@inlined
def enter(s: State, r: Row, token: int, work: float, now: float) -> None:
    """Begin a visit to a station: begin service, or queue."""
    accumulate(s, r, now)
    if r.present == 0:
        r.asked = 0.0
        r.use_before = r.use
    r.asked += work
    t = s.token[token]
    if r.kind == StationKind.FCFS:
        r.present += 1
        if r.busy < r.servers:
            r.busy += 1
            t.waited = 0.0
            begin(s, r, token, now + service_time(r, t, work, now))
        else:
            t.work = work
            if r.at_random:
                insert_at(s, r.queue, token, int(t.place * (r.present - r.busy)))
            else:
                append(s, r.queue, token)
            await_service(s, r, token, now)
    elif r.kind == StationKind.SHARED:
        if r.present == 0:
            r.progress = r.weight = 0.0
        r.weight += t.weight
        t.requested = work
        last = s.queue[r.queue, 1]
        t.finish = work / t.weight + (
            s.token[last].finish if r.in_turn and last >= 0 else r.progress
        )
        if r.in_turn:  # in the order of their ends already
            append(s, r.queue, token)
        else:
            r.arrived += 1
            t.order = r.arrived
            t.next = t.subheap = -1
            s.queue[r.queue, 0] = merged(s, s.queue[r.queue, 0], token)
        r.present += 1
        share_anew(s, r, now)
    elif r.kind == StationKind.WEIGHTED:
        enter_weighted(s, r, token, work, now)
    else:
        enter_ordered(s, r, token, work, now)
        if r.rates > 0:
            pace_anew(s, r, now)


@inlined
def merged(s: State, first: int, second: int) -> int:
    """Merge two heaps of customers that share servers, by their ends and the order of arrival, and
    return the customer on top; -1 is an empty heap.

    A skew heap: a merge follows one line of subheaps (`next`) and puts each aside (`subheap`), so
    that n merges take n log n steps at most.

    Source: Sleator and Tarjan, SIAM Journal on Computing 15(1), 1986, 52-69.
    """
    top = -1
    above = -1
    while first >= 0 and second >= 0:
        a = s.token[first]
        b = s.token[second]
        if b.finish < a.finish or (b.finish == a.finish and b.order < a.order):
            first, second = second, first
        if above < 0:
            top = first
        else:
            s.token[above].subheap = first
        above = first
        lower = s.token[first]
        first = lower.next
        lower.next = lower.subheap
    rest = max(first, second)
    if above < 0:
        return rest
    s.token[above].subheap = rest
    return top


@inlined
def share_anew(s: State, r: Row, now: float) -> None:
    """Find which customer leaves a station with shared service next, and plan when."""
    r.busy = min(r.present, r.servers)
    if r.ticket >= 0:
        s.token[r.ticket].event = -1
    r.ticket = s.queue[r.queue, 0]
    if r.present == 0:
        return
    begin(s, r, r.ticket, now + max(s.token[r.ticket].finish - r.progress, 0.0) / rate(s, r))


@inlined
def begin_ordered(s: State, r: Row, token: int, now: float) -> None:
    """Begin or resume a service that may be interrupted."""
    append(s, r.serving, token)
    if r.rates > 0:  # planned by `pace_anew`
        return
    t = s.token[token]
    # Services with a limit are not interrupted, so that one begins once.
    if t.cuts != 0 and t.patience >= 0.0:
        t.work = t.requested = service_time(r, t, t.work, now)
    t.finish = now + t.work
    begin(s, r, token, t.finish)


@inlined
def enter_ordered(s: State, r: Row, token: int, work: float, now: float) -> None:
    """Begin a service at a station with priorities, interrupting a less urgent customer where the
    discipline preempts, or queue.
    """
    r.present += 1
    r.arrived += 1
    t = s.token[token]
    t.order = r.arrived
    t.key = -t.order if r.last_first else t.rank
    t.work = t.requested = work
    t.delayed = 0
    if r.busy < r.servers:
        r.busy += 1
        begin_ordered(s, r, token, now)
        return
    if r.preempts:
        worst = s.queue[r.serving, 0]
        waiting = s.token[worst].next
        while waiting >= 0:
            if goes_before(s, worst, waiting):
                worst = waiting
            waiting = s.token[waiting].next
        if goes_before(s, token, worst):
            take_out(s, r.serving, worst)
            cut = s.token[worst]
            cut.event = -1
            cut.delayed = 1
            if r.rates == 0:
                cut.work = cut.finish - now
            insert(s, r.queue, worst)
            begin_ordered(s, r, token, now)
            return
    t.delayed = 1
    if r.at_random:
        insert_at(s, r.queue, token, int(t.place * (r.present - r.busy)))
    else:
        insert(s, r.queue, token)
    await_service(s, r, token, now)


@inlined
def leave(s: State, token: int, now: float) -> None:
    """End a visit to a station, begin the next service there, and book service and waiting time."""
    t = s.token[token]
    r = s.resource[t.station]
    count_departure(s, r, now)
    if r.kind == StationKind.FCFS:
        if s.queue[r.queue, 0] < 0:
            r.busy -= 1
        else:
            following = take_first(s, r.queue)
            f = s.token[following]
            f.waited = now - f.since
            begin(s, r, following, now + service_time(r, f, f.work, now))
    elif r.kind == StationKind.SHARED:
        r.progress = t.finish
        if r.in_turn:
            take_first(s, r.queue)
        else:
            s.queue[r.queue, 0] = merged(s, t.next, t.subheap)
        r.weight -= t.weight
        t.weight = 1.0
        r.ticket = -1
        share_anew(s, r, now)
        if r.rates > 0:
            t.waited = now - t.since - t.requested / s.rates[r.rates_from]
            s.stats[r.waits] += t.waited
        else:
            t.waited = time_beyond_service(t, now)
    elif r.kind == StationKind.WEIGHTED:
        take_out(s, r.queue, token)
        r.ticket = -1
        t.weight = 1.0
        t.patience = -1.0
        if t.cut != 0:
            work_left = max(t.work, 0.0)
            t.requested -= work_left
            r.asked -= work_left
        weigh_anew(s, r, now)
        t.waited = time_beyond_service(t, now)
    else:
        take_out(s, r.serving, token)
        if s.queue[r.queue, 0] < 0:
            r.busy -= 1
        else:
            begin_ordered(s, r, take_first(s, r.queue), now)
        t.waited = time_beyond_service(t, now) if t.delayed else 0.0
        if r.rates > 0:
            pace_anew(s, r, now)
            t.waited = now - t.since - t.requested / s.rates[r.rates_from]
            s.stats[r.waits] += t.waited
    if t.cut != 0:
        t.cut = 0
        t.pc = t.elsewhere
        t.label = t.cuts - 1
        s.stats[r.given_up] += now - t.since - t.waited
    if t.waited != 0.0:
        s.booked[token, t.wait] += t.waited
    s.booked[token, t.label] += (now - t.since) - t.waited
    t.since = now


@inlined
def time_beyond_service(t: Row, now: float) -> float:
    """Return the time present beyond the service requested; 0 where it is only rounding."""
    total = now - t.since
    waited: float = total - t.requested
    return waited if waited > NEVER_WAITED * total else 0.0


@inlined
def request(s: State, r: Row, token: int, now: float) -> None:
    """Count a token as present at a lock from now on."""
    accumulate(s, r, now)
    r.present += 1
    s.token[token].since_request = now


@inlined
def is_free(r: Row) -> bool:
    """Return whether another token may hold a lock or permits."""
    return bool(r.busy < r.servers and r.exclusive == 0)


@inlined
def fits(s: State, r: Row, token: int) -> bool:
    """Return whether a lock may be granted to a token now, regardless of waiting tokens."""
    if s.token[token].excludes:
        return bool(r.busy == 0)
    return bool(r.busy + s.token[token].permits <= r.servers and r.exclusive == 0)


@inlined
def ask(s: State, r: Row, token: int, now: float) -> bool:
    """Acquire a lock if it is free for the token and no waiting token goes before, else wait in its
    queue; return whether it was acquired.
    """
    request(s, r, token, now)
    t = s.token[token]
    first = s.queue[r.queue, 0]
    t.key = t.rank
    t.order = 0
    if fits(s, r, token) and (first < 0 or goes_before(s, token, first)):
        grant(s, r, token, now)
        return True
    insert(s, r.queue, token)
    if t.patience >= 0.0:
        t.wait = t.label
        await_service(s, r, token, now)
    return False


@inlined
def grant(s: State, r: Row, token: int, now: float) -> None:
    """Grant a lock to a token; its integrals must be up to date."""
    for _ in range(s.token[token].permits):
        s.holder[r.holders_from + r.busy] = token
        r.busy += 1
    s.token[token].patience = -1.0
    s.token[token].event = -1
    r.exclusive = s.token[token].excludes
    count_wait(s, r, token, now)


@inlined
def count_wait(s: State, r: Row, token: int, now: float) -> None:
    """Add a wait for a lock that ended to the moments of waiting times."""
    wait = now - s.token[token].since_request
    s.stats[r.waits] += 1.0
    s.stats[r.waits + 1] += wait
    s.stats[r.waits + 2] += wait * wait


@inlined
def remove_holder(s: State, r: Row, token: int) -> None:
    """Remove a token from the holders of a lock, which stay in the order in which they acquired
    it.
    """
    r.busy -= 1
    place = r.holders_from
    last = r.holders_from + r.busy
    while s.holder[place] != token:
        place += 1
    while place < last:
        s.holder[place] = s.holder[place + 1]
        place += 1


@inlined
def first_waiting(s: State, r: Row, now: float) -> int:
    """Remove and return the token that has waited longest for a counter or for a task."""
    count_departure(s, r, now)
    following = take_first(s, r.queue)
    s.token[following].excludes = 0
    s.token[following].permits = 1
    count_wait(s, r, following, now)
    return following


@inlined
def hand_over(s: State, r: Row, token: int, following: int, now: float) -> None:
    """Pass a lock on to a given token at once, before all that wait for it, and wake that token."""
    count_departure(s, r, now)
    r.present += 1
    remove_holder(s, r, token)
    s.token[following].since_request = now
    grant(s, r, following, now)
    wake(s, following, now)


@inlined
def grant_waiting(s: State, r: Row, now: float) -> None:
    """Grant a lock to waiting tokens in their order, until the first of them does not fit."""
    while s.queue[r.queue, 0] >= 0 and fits(s, r, s.queue[r.queue, 0]):
        following = take_first(s, r.queue)
        grant(s, r, following, now)
        wake(s, following, now)


@inlined
def release(s: State, r: Row, token: int, permits: int, now: float) -> None:
    """Hand a lock to the first token in its queue; with an empty queue, free it and wake all
    spinning tokens.
    """
    count_departure(s, r, now)
    for _ in range(permits):
        remove_holder(s, r, token)
    r.exclusive = 0
    if s.queue[r.queue, 0] >= 0:
        grant_waiting(s, r, now)
        return
    while s.queue[r.spinning, 0] >= 0:
        wake(s, take_first(s, r.spinning), now)


@inlined
def pass_time(s: State, token: int, label: int, time: float, now: float) -> bool:
    """Delay a token by a time that is booked to a label."""
    t = s.token[token]
    t.label = label
    t.event_kind = EventKind.DELAYING
    t.event = plan_event(s, now + time, token)
    return False


@inlined
def serve(s: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute SERVE: visit a station, which may depend on the customer or on the token's
    destination.
    """
    t = s.token[token]
    station = code[1]
    if code[5] == Where.OWN:
        station += t.customer
    elif code[5] == Where.DESTINATION:
        station += t.destination
    t.label = code[3]
    t.wait = code[4]
    t.rank = code[6]
    if code[7] > 0:
        t.place = take_value(s, code[7] - 1)
    enter(s, s.resource[station], token, value, now)
    return False


@inlined
def whole_count(count: float, value: float) -> int:
    """Return a whole number of rounds or items; the fraction of the count is the probability of one
    more.
    """
    rounds = int(count)
    return rounds + (1 if value < count - rounds else 0)


@inlined
def branch(s: State, token: int, code: Row, op: int, value: float) -> bool:
    """Execute an instruction that sets the next instruction or the destination: DRAW_DESTINATION,
    NEXT_DESTINATION, CHOOSE, JUMP, SET_COUNT, LOOP and SWITCH.
    """
    t = s.token[token]
    if op == Op.CHOOSE:
        option = code[2]
        last = option + code[3] - 1
        while option < last and value >= s.cumulative[option]:
            option += 1
        t.pc = s.targets[option]
    elif op == Op.JUMP:
        t.pc = code[1]
    elif op == Op.SET_COUNT:
        s.registers[token, code[1]] = whole_count(s.counts[code[2]], value)
    elif op == Op.LOOP:
        if s.registers[token, code[1]] <= 0:
            t.pc = code[2]
        else:
            s.registers[token, code[1]] -= 1
    elif op == Op.SWITCH:
        t.pc = s.targets[code[1] + t.index]
    elif op == Op.DRAW_DESTINATION:
        t.destination = code[2] + (t.customer - code[2] + 1 + int(value * (code[3] - 1))) % code[3]
    else:
        t.destination = code[1] + (t.customer - code[1] + 1 + t.index % (code[2] - 1)) % code[2]
    return True


@inlined
def load(r: Row, rule: int, now: float) -> float:
    """Return the number present at a resource, or the work left there for each server [s]."""
    if rule != PickRule.LEAST_WORK:
        return float(r.present)
    if r.present == 0:
        return 0.0
    left: float = (r.asked - (r.use + r.busy * (now - r.changed) - r.use_before)) / r.servers
    return left


@inlined
def pick(s: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute PICK: choose one of several alternatives in turn, by the shortest queue or the least
    work, or by the shorter of two queues drawn at random.
    """
    tally = s.run[0].tallies + 2 * code[2]
    first = code[4]
    count = code[5]
    places = first + count
    chosen = 0
    if code[3] == PickRule.IN_TURN:
        chosen = int(s.stats[tally]) % count
    elif code[3] != PickRule.SHORTER_OF_TWO:
        least = most = load(s.resource[s.targets[places]], code[3], now)
        for at in range(1, count):
            here = load(s.resource[s.targets[places + at]], code[3], now)
            least = min(least, here)
            most = max(most, here)
        equal = least + NEVER_WAITED * most
        ties = 0
        for at in range(count):
            ties += load(s.resource[s.targets[places + at]], code[3], now) <= equal
        left = int(value * ties)
        for at in range(count):
            if load(s.resource[s.targets[places + at]], code[3], now) <= equal:
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
        present = s.resource[s.targets[places + other]].present
        if present < s.resource[s.targets[places + chosen]].present:
            chosen = other
    s.stats[tally] += 1.0
    s.token[token].pc = s.targets[first + chosen]
    return True


@inlined
def admit(s: State, token: int, code: Row) -> bool:
    """Execute ADMIT: count an arrival, and turn it away where a resource already has the most
    customers allowed.
    """
    tally = s.run[0].tallies + 2 * code[1]
    s.stats[tally] += 1.0
    if code[3] > 0 and s.resource[code[2]].present >= code[3]:
        s.stats[tally + 1] += 1.0
        s.token[token].pc = code[4]
    return True


@inlined
def count_access(s: State, token: int, code: Row) -> bool:
    """Execute COUNT_ACCESS: count an access, and whether no token waits for its lock and it is the
    customer's own.
    """
    tally = s.run[0].tallies + 2 * code[1]
    run = s.run[0]
    s.stats[tally] += 1.0
    waits = code[3] >= 0 and s.queue[s.resource[run.locks + code[3]].queue, 0] >= 0
    if not waits and (code[2] < 0 or code[2] == s.token[token].customer):
        s.stats[tally + 1] += 1.0
    return True


@inlined
def end(s: State, token: int, code: Row, now: float) -> bool:
    """Execute END: record the response time and the booked times of a cycle, and begin the next
    cycle or free the token.
    """
    t = s.token[token]
    run = s.run[0]
    g = s.group[t.group]
    is_kept = code[2] == 0
    begun = t.begun
    if is_kept:
        s.responses[t.group, g.responses] = now - begun
        g.responses += 1
        s.stats[g.stats] += 1.0
        s.stats[g.stats + 1] += now - begun
    for label in range(s.booked.shape[1]):
        if s.booked[token, label] != 0.0:
            s.stats[g.booked + label] += s.booked[token, label]
            s.booked[token, label] = 0.0
    if g.kind == GroupKind.CLOSED:
        t.begun = now
        if code[1] == 0:
            t.pc = g.start
    if g.kind == GroupKind.ONCE:
        run.alive -= 1
        if run.alive == 0:
            write_row(s, now)
    elif is_kept:
        run.cycles_to_row -= 1
        if run.cycles_to_row == 0:
            run.cycles_to_row = run.cycles_per_row
            write_row(s, now)
    if g.kind == GroupKind.OPEN:
        free_token(s, token)
    if g.kind == GroupKind.CLOSED and begun == now:
        t.event_kind = EventKind.AGAIN
        t.event = plan_event(s, now, token)
    return bool(g.kind == GroupKind.CLOSED and begun != now)


@inlined
def fork_or_pipeline(s: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute FORK, JOIN, PIPELINE, ENTER_STAGE and LEAVE_STAGE: an item enters a stage when the
    item before it has left.
    """
    t = s.token[token]
    op = code[0]
    if op == Op.FORK or op == Op.PIPELINE:
        return begin_branches(s, token, code, value, now)
    if op == Op.JOIN:
        join(s, token, code, now)
        return False
    if op == Op.ENTER_STAGE:
        if t.before < 0 or s.token[t.before].passed > code[1]:
            return True
        t.turn = code[1]
        return False
    t.passed = code[1] + 1
    if t.after >= 0 and s.token[t.after].turn == code[1]:
        following = s.token[t.after]
        following.turn = -1
        if now > following.since:
            for label in range(s.booked.shape[1]):
                s.booked[t.after, label] = s.booked[token, label]
            following.since = now
        append(s, READY, t.after)
    return True


@inlined
def begin_branches(s: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute FORK and PIPELINE: start the branches, or the items of a pipeline."""
    t = s.token[token]
    items = code[0] == Op.PIPELINE
    count = whole_count(s.counts[code[1]], value) if items else code[2]
    t.pc = code[4] if items else code[3]
    if count == 0:
        return True
    t.left = count if items else code[4]
    t.last = -1.0
    before = -1
    for index in range(count):
        branch = new_token(s, now, t.group, t.customer, token, index)
        s.token[branch].pc = code[3] if items else s.targets[code[1] + index]
        if items:
            s.token[branch].before = before
            if before >= 0:
                s.token[before].after = branch
            before = branch
        append(s, READY, branch)
    if not items and code[5] > 0:
        s.token[t.child].index = t.index
        passed = s.resource[s.run[0].locks + code[5] - 1]
        for place in range(passed.holders_from, passed.holders_from + passed.busy):
            if s.holder[place] == token:
                s.holder[place] = t.child
        take_out(s, READY, t.child)
        insert_at(s, READY, t.child, 0)
    return False


@inlined
def reply(s: State, token: int, code: Row, now: float) -> bool:
    """REPLY."""
    body = token
    for _ in range(code[1]):
        body = s.token[body].parent
    customer = s.token[body].parent
    member = token
    for _ in range(code[1] + 1):
        for label in range(s.booked.shape[1]):
            s.booked[customer, label] += s.booked[member, label]
        member = s.token[member].parent
    s.token[body].parent = -1
    s.token[customer].child = -1
    s.token[customer].since = now
    s.run[0].unawaited_branches += 1
    s.run[0].unended_branches += 1
    insert_at(s, READY, customer, 0)
    append(s, READY, token)
    return False


@inlined
def spawn(s: State, token: int, code: Row, now: float) -> bool:
    """Execute SPAWN: start a branch that the token does not wait for, which may take over a
    lock.
    """
    t = s.token[token]
    beside = new_token(s, now, t.group, t.customer, -1, 0)
    s.token[beside].pc = code[1]
    s.token[beside].destination = t.destination
    if code[2] < 0:
        s.run[0].unawaited_branches += 1
        s.run[0].unended_branches += 1
    else:
        taken = s.resource[s.run[0].locks + code[2]]
        for place in range(taken.holders_from, taken.holders_from + taken.busy):
            if s.holder[place] == token:
                s.holder[place] = beside
    append(s, READY, beside)
    return True


@inlined
def join(s: State, token: int, code: Row, now: float) -> None:
    """Execute JOIN: end a branch or item, and continue the parent when enough of them have
    ended.
    """
    t = s.token[token]
    labels = s.booked.shape[1]
    parent = t.parent
    if parent < 0:
        s.run[0].unended_branches -= 1
        free_token(s, token)
        return
    t.parent = -1
    p = s.token[parent]
    # Of the branches that end last at the same time, the first in the program counts, so that the
    # order of events does not matter.
    if now > p.last or t.index < p.latest:
        p.last = now
        p.latest = t.index
        for label in range(labels):
            s.latest_booked[parent, label] = s.booked[token, label]
    p.left -= 1
    if p.left > 0:
        return
    for label in range(labels):
        s.booked[parent, label] += s.latest_booked[parent, label]
    if code[1] >= 0:
        pipeline = s.run[0].pipelines + 2 * code[1]
        s.stats[pipeline] += 1.0
        s.stats[pipeline + 1] += now - p.since
    p.since = now
    # Items refer to their neighbours, so all are freed together; branches that have not ended go
    # on.
    child = p.child
    while child >= 0:
        if s.token[child].parent < 0:
            free_token(s, child)
        else:
            s.token[child].parent = -1
            s.run[0].unawaited_branches += 1
            s.run[0].unended_branches += 1
        child = s.token[child].sibling
    p.child = -1
    append(s, READY, parent)


@inlined
def lock(s: State, token: int, code: Row, value: float, now: float) -> bool:
    """Execute an instruction on a lock: ACQUIRE, RELEASE, REQUEST, ATTEMPT, AWAIT_FREE,
    TAKE_TICKET, AWAIT_TURN and BACK_OFF.
    """
    t = s.token[token]
    op = code[0]
    if op == Op.BACK_OFF:
        doublings = s.registers[token, code[3]]
        time = min(s.counts[code[4]] * float(1 << doublings), s.counts[code[5]]) * value
        # At most 60 doublings: 1 << 63 would overflow a 64-bit number, and the limit is reached
        # long before.
        s.registers[token, code[3]] = min(doublings + 1, 60)
        return pass_time(s, token, code[2], time, now)
    r = s.resource[s.run[0].locks + code[1]]
    if op == Op.ACQUIRE:
        t.label = code[2]
        t.rank = code[3]
        t.excludes = code[4]
        t.permits = code[5]
        return ask(s, r, token, now)
    if op == Op.RELEASE:
        release(s, r, token, code[2], now)
    elif op == Op.REQUEST:
        t.permits = 1
        request(s, r, token, now)
    elif op == Op.ATTEMPT:
        if not is_free(r):
            t.pc = code[2]
        elif not code[3]:
            accumulate(s, r, now)
            grant(s, r, token, now)
    elif op == Op.AWAIT_FREE:
        if not is_free(r):
            t.label = code[2]
            append(s, r.spinning, token)
            return False
    elif op == Op.TAKE_TICKET:
        s.registers[token, code[2]], t.permits = r.done + r.present, 1
        request(s, r, token, now)
    else:
        t.key = int(value * PLACES)
        t.order = 0
        if s.registers[token, code[3]] != r.done:
            t.label = code[2]
            t.pc = code[5]
            insert(s, r.spinning, token)
            return False
        accumulate(s, r, now)
        grant(s, r, token, now)
    return True


@inlined
def meet(s: State, token: int, code: Row, now: float) -> bool:
    """Execute BARRIER: the last token wakes all that wait, in the order in which they came; the
    others wait.
    """
    queue = s.run[0].barriers + code[1]
    if s.waiting[code[1]] + 1 < code[2]:
        s.token[token].label = code[3]
        append(s, queue, token)
        s.waiting[code[1]] += 1
        return False
    while s.queue[queue, 0] >= 0:
        wake(s, take_first(s, queue), now)
    s.waiting[code[1]] = 0
    return True


@inlined
def counter(s: State, token: int, code: Row, now: float) -> bool:
    """Execute WAIT and GIVE: take a unit of a counter or wait for it, or give a unit."""
    locks = s.run[0].locks
    r = s.resource[locks + code[1]]
    if code[0] == Op.WAIT:
        s.token[token].label = code[2]
        request(s, r, token, now)
        append(s, r.queue, token)
        if r.busy > 0:
            r.busy -= 1
            first_waiting(s, r, now)
            return True
        if code[3] >= 0:
            release(s, s.resource[locks + code[3]], token, 1, now)
        return False
    if s.queue[r.queue, 0] < 0:
        accumulate(s, r, now)
        r.busy += 1
    elif code[2] < 0:
        wake(s, first_waiting(s, r, now), now)
    else:
        s.token[token].pc = code[3]
        hand_over(s, s.resource[locks + code[2]], token, first_waiting(s, r, now), now)
    return True


@inlined
def pool(s: State, token: int, code: Row, now: float) -> bool:
    """Execute an instruction on a pool of tasks: ENTER_POOL, TAKE_TASK, WORK, NEXT_PART and
    ADD_TASK.
    """
    op = code[0]
    p = s.pool[code[1]]
    t = s.token[token]
    own = t.customer % p.queues
    if op == Op.ENTER_POOL:
        begin_problem(s, p, now)
        s.registers[token, code[3]] = queue_with_task(s, p, own)
        return enter_queue(s, p, s.registers[token, code[3]], token, code[2], now)
    if op == Op.TAKE_TASK:
        return take_task(s, p, token, code, own, now)
    register = code[2] + 1
    present = s.registers[token, register]
    added = s.part[present, 0]
    last = s.part[present, 1]
    if op == Op.WORK:
        return pass_time(s, token, code[3], s.part_time[present], now)
    if op == Op.NEXT_PART:
        if added >= 0:
            return enter_queue(s, p, own, token, code[3], now)
        s.registers[token, register] += 1
        t.pc = code[5] if last else code[4]
        return True
    add_to_queue(s, p, own, added, now)
    s.registers[token, register] += 1
    t.pc = code[4] if last else code[3]
    leave_queue(s, p, own, token, code[2], code[5], now)
    return True


@inlined
def begin_problem(s: State, p: Row, now: float) -> None:
    """Distribute the first tasks of the next problem over the queues in turn, if the last problem
    is solved.
    """
    if p.open:
        return
    p.open = 1
    first = s.problem[p.first_problem + p.problem]
    for index in range(s.problem[p.first_problem + p.problem + 1] - first):
        add_to_queue(s, p, index % p.queues, s.root[first + index], now)
    p.problem = (p.problem + 1) % p.problems


@inlined
def add_to_queue(s: State, p: Row, queue: int, task: int, now: float) -> None:
    """Append a task to a queue of a pool."""
    accumulate(s, s.resource[p.tasks], now)
    s.resource[p.tasks].busy += 1
    place = p.first_queue + queue
    last = s.task_queue[place, 1]
    s.task[task, 1], s.task[task, 2] = last, -1
    if last < 0:
        s.task_queue[place, 0] = task
    else:
        s.task[last, 2] = task
    s.task_queue[place, 1] = task


@inlined
def take_from_queue(s: State, p: Row, queue: int, own: int, now: float) -> int:
    """Remove and return a task of a queue: the youngest of the own queue where the pool takes the
    last first, else the oldest.
    """
    accumulate(s, s.resource[p.tasks], now)
    s.resource[p.tasks].busy -= 1
    place = p.first_queue + queue
    # Others take the oldest task, usually the largest where tasks divide a problem.
    end = 1 if p.last_first != 0 and queue == own else 0
    task_taken: int = s.task_queue[place, end]
    following = s.task[task_taken, 2 - end]
    s.task_queue[place, end] = following
    if following < 0:
        s.task_queue[place, 1 - end] = -1
    else:
        s.task[following, 1 + end] = -1
    return task_taken


@inlined
def queue_with_task(s: State, p: Row, own: int) -> int:
    """Return the first queue that has a task, searching from the own queue; the own queue if none
    has.
    """
    for k in range(p.queues):
        queue: int = (own + k) % p.queues
        if s.task_queue[p.first_queue + queue, 0] >= 0:
            return queue
    return own


@inlined
def enter_queue(s: State, p: Row, queue: int, token: int, label: int, now: float) -> bool:
    """Request the lock of a queue of tasks."""
    t = s.token[token]
    t.label = label
    t.rank = 0
    t.excludes = 0
    t.permits = 1
    return ask(s, s.resource[p.monitor + queue], token, now)


@inlined
def take_task(s: State, p: Row, token: int, code: Row, own: int, now: float) -> bool:
    """Execute TAKE_TASK: take a task, search another queue, wait for a task, or leave where all
    processors wait.
    """
    t = s.token[token]
    tasks = s.resource[p.tasks]
    queue = s.registers[token, code[2]]
    if s.task_queue[p.first_queue + queue, 0] >= 0:
        s.registers[token, code[2] + 1] = s.task[take_from_queue(s, p, queue, own, now), 0]
        leave_queue(s, p, queue, token, code[2], code[3], now)
        return True
    waits = tasks.busy == 0 and tasks.present + 1 < code[7]
    if tasks.busy > 0:
        t.pc = code[5]
    elif waits:
        t.pc = code[5] + 1
        request(s, tasks, token, now)
        append(s, tasks.queue, token)
    else:
        t.pc = code[6]
        p.open = 0
        while s.queue[tasks.queue, 0] >= 0:
            waiting_processor = first_waiting(s, tasks, now)
            s.token[waiting_processor].label = code[4]
            s.token[waiting_processor].pc = code[6]
            wake(s, waiting_processor, now)
    release(s, s.resource[p.monitor + queue], token, 1, now)
    return bool(not waits)


@inlined
def leave_queue(
    s: State, p: Row, queue: int, token: int, register: int, label: int, now: float
) -> None:
    """Release the lock of a queue of tasks; where it has tasks, pass it on to the processor that
    has waited longest for one.
    """
    monitor = s.resource[p.monitor + queue]
    tasks = s.resource[p.tasks]
    if s.queue[tasks.queue, 0] >= 0 and s.task_queue[p.first_queue + queue, 0] >= 0:
        following = first_waiting(s, tasks, now)
        s.token[following].label = label
        s.registers[following, register] = queue
        hand_over(s, monitor, token, following, now)
    else:
        release(s, monitor, token, 1, now)


@compiled
def go_on(s: State, events: int) -> int:
    """Simulate a number of events, and return why the loop stopped."""
    run = s.run[0]
    while True:
        if run.running < 0:
            if s.queue[READY, 0] >= 0:
                run.running = take_first(s, READY)
            elif events <= 0:
                return Return.EVENTS_DONE
            else:
                why = next_event(s)
                if why != Return.EVENTS_DONE:
                    return why
                events -= 1
                run.events += 1
                if run.running < 0:
                    continue
        token = run.running
        now = run.now
        while True:
            why = lacking(s, token)
            if why != Return.EVENTS_DONE:
                return why
            if not step(s, token, now):
                break
        run.running = -1


@inlined
def next_event(s: State) -> int:
    """Apply the first event of the list, up to the next instruction of its token."""
    run = s.run[0]
    if run.events_planned == 0:
        return Return.NO_EVENTS
    now = s.heap[0].time
    order = s.heap[0].order
    token = s.heap[0].token
    if token < 0:
        return arrive(s, -1 - token)
    remove_first(s)
    run.now = now
    # An event that was planned anew, for another speed of service or after a preemption, is void.
    t = s.token[token]
    if t.event != order:
        return Return.EVENTS_DONE
    t.event = -1
    if t.event_kind == EventKind.SERVED:
        leave(s, token, now)
    elif t.event_kind == EventKind.ABANDONING:
        abandon(s, token, now)
    elif t.event_kind == EventKind.DELAYING:
        book(s, token, now)
    run.running = token
    return Return.EVENTS_DONE


@inlined
def arrive(s: State, group: int) -> int:
    """Start an arriving customer of an open group, and plan the next arrival."""
    g = s.group[group]
    run = s.run[0]
    if s.taken[g.arrivals] == s.ready[g.arrivals]:
        run.wanted = g.arrivals
        return Return.NEEDS_RANDOM
    if run.free_count == 0 or run.events_planned + 2 > s.heap.shape[0]:
        run.wanted = 1
        return Return.NEEDS_SPACE
    run.now = s.heap[0].time
    remove_first(s)
    plan_event(s, run.now + take_value(s, g.arrivals), -1 - group)
    token = new_token(s, run.now, group, g.arrived, -1, 0)
    g.arrived += 1
    s.token[token].pc = g.start
    run.running = token
    return Return.EVENTS_DONE


@inlined
def take_value(s: State, draw: int) -> float:
    """Return the next random number of a distribution."""
    value: float = s.values[draw, s.taken[draw]]
    s.taken[draw] += 1
    return value


@inlined
def lacking(s: State, token: int) -> int:
    """Return what the next instruction lacks that only Python can supply: random numbers, tokens,
    events or rows.
    """
    run = s.run[0]
    pc = s.token[token].pc
    draw = s.drawn[pc]
    code = s.code[pc]
    if draw >= 0 and s.taken[draw] == s.ready[draw]:
        run.wanted = draw
        return Return.NEEDS_RANDOM
    op = code[0]
    if op == Op.SERVE and code[7] > 0 and s.taken[code[7] - 1] == s.ready[code[7] - 1]:
        run.wanted = code[7] - 1
        return Return.NEEDS_RANDOM
    if run.events_planned + 2 > s.heap.shape[0]:
        run.wanted = 0
        return Return.NEEDS_SPACE
    if op == Op.END:
        if (
            run.rows == s.rows.shape[0]
            or s.group[s.token[token].group].responses == s.responses.shape[1]
        ):
            return Return.TABLE_FULL
    elif op == Op.FORK or op == Op.PIPELINE or op == Op.SPAWN:
        needed = 1
        if op == Op.FORK:
            needed = code[2]
        elif op == Op.PIPELINE:
            needed = int(s.counts[code[1]]) + 1
        if run.free_count < needed:
            run.wanted = needed
            return Return.NEEDS_SPACE
    if s.trace.shape[0] > 0:
        if run.traced == s.trace.shape[0]:
            return Return.TABLE_FULL
        executed = s.trace[run.traced]
        executed.time = run.now
        executed.pc = pc
        executed.customer = s.token[token].customer
        executed.index = s.token[token].index
        run.traced += 1
    return Return.EVENTS_DONE


@inlined
def step(s: State, token: int, now: float) -> bool:
    """Execute an instruction, and return whether the token goes on to the next; the instructions
    are compared by their numbers in `Op`.
    """
    t = s.token[token]
    pc = t.pc
    code = s.code[pc]
    op = code[0]
    t.pc = pc + 1
    value = s.constants[pc]
    draw = s.drawn[pc]
    if draw >= 0:
        value = take_value(s, draw)
    if op == Op.SERVE:
        return serve(s, token, code, value, now)
    if op == Op.DELAY:
        return pass_time(s, token, code[2], value, now)
    if op == Op.END:
        return end(s, token, code, now)
    if op < Op.END:
        return branch(s, token, code, op, value)
    if op < Op.ACQUIRE:
        return fork_or_pipeline(s, token, code, value, now)
    if op < Op.BARRIER:
        return lock(s, token, code, value, now)
    if op == Op.BARRIER:
        return meet(s, token, code, now)
    if op == Op.ADMIT:
        return admit(s, token, code)
    if op == Op.COUNT_ACCESS:
        return count_access(s, token, code)
    if op == Op.START_RESPONSE:
        t.begun = now
        return True
    if op == Op.PATIENCE:
        t.patience = value
        t.elsewhere = code[2]
        t.cuts = code[3]
        return True
    if op == Op.CONSULT:
        return consult(s, token, code, now)
    if op == Op.RECORD:
        return record(s, token, code, value, now)
    if op == Op.WEIGHT:
        t.weight = s.counts[code[1]]
        return True
    if op == Op.SPAWN:
        return spawn(s, token, code, now)
    if op == Op.VANISH:
        free_token(s, token)
        return False
    if op == Op.PICK:
        return pick(s, token, code, value, now)
    if op == Op.REPLY:
        return reply(s, token, code, now)
    return counter(s, token, code, now) if op < Op.ENTER_POOL else pool(s, token, code, now)
