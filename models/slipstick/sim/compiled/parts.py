"""Parts of the compiled loop: the heap, queues, tokens and the account."""

from __future__ import annotations

from slipstick.sim.compiled.jit import inlined
from slipstick.sim.compiled.state import (
    AFTER,
    AIM,
    ALIVE,
    BEFORE,
    BEGUN,
    CHILD,
    CHUNK,
    CHUNK_LEFT,
    CYCLES,
    DUE,
    FREE,
    FREE_COUNT,
    GROUP,
    HEAP,
    INDEX,
    LABEL,
    LOCKS_FROM,
    MEMBER,
    NEXT,
    PARENT,
    PASSED,
    PLANNED,
    READY_HEAD,
    READY_TAIL,
    RESPONSES,
    ROWS,
    SIBLING,
    SINCE,
    SQUARES,
    TAKEN,
    TURN,
    WAITS,
    State,
)

__all__ = ["add_ready", "end_cycle", "new_token", "plan_event", "put_down", "remove_first", "take_ready", "wake"]


@inlined
def plan_event(s: State, time: float, token: int) -> int:
    """Put an event on the heap and give its number."""
    order: int = s.number[PLANNED]
    s.number[PLANNED] = order + 1
    place = s.number[HEAP]
    s.number[HEAP] = place + 1
    while place > 0:
        above = (place - 1) >> 1
        # Later in planning, so it stays below what happens at the same time.
        if s.heap_time[above] <= time:
            break
        s.heap_time[place] = s.heap_time[above]
        s.heap_order[place] = s.heap_order[above]
        s.heap_token[place] = s.heap_token[above]
        place = above
    s.heap_time[place] = time
    s.heap_order[place] = order
    s.heap_token[place] = token
    return order


@inlined
def remove_first(s: State) -> None:
    """Take the first event off the heap."""
    count = s.number[HEAP] - 1
    s.number[HEAP] = count
    time, order, token = s.heap_time[count], s.heap_order[count], s.heap_token[count]
    place, below = 0, 1
    while below < count:
        other = below + 1
        if other < count and (
            s.heap_time[other] < s.heap_time[below]
            or (s.heap_time[other] == s.heap_time[below] and s.heap_order[other] < s.heap_order[below])
        ):
            below = other
        if time < s.heap_time[below] or (time == s.heap_time[below] and order < s.heap_order[below]):
            break
        s.heap_time[place] = s.heap_time[below]
        s.heap_order[place] = s.heap_order[below]
        s.heap_token[place] = s.heap_token[below]
        place = below
        below = 2 * place + 1
    s.heap_time[place] = time
    s.heap_order[place] = order
    s.heap_token[place] = token


@inlined
def add_ready(s: State, token: int) -> None:
    """Let a token go on, after those that were let go before."""
    s.token[token, NEXT] = -1
    tail = s.number[READY_TAIL]
    if tail < 0:
        s.number[READY_HEAD] = token
    else:
        s.token[tail, NEXT] = token
    s.number[READY_TAIL] = token


@inlined
def take_ready(s: State) -> int:
    """Take the first token that was let go."""
    token: int = s.number[READY_HEAD]
    s.number[READY_HEAD] = s.token[token, NEXT]
    if s.number[READY_HEAD] < 0:
        s.number[READY_TAIL] = -1
    return token


@inlined
def wake(s: State, token: int, now: float) -> None:
    """Book the time waited to the token's label and let it go on."""
    s.booked[token, s.token[token, LABEL]] += now - s.time[token, SINCE]
    s.time[token, SINCE] = now
    add_ready(s, token)


@inlined
def new_token(s: State, now: float, group: int, member: int, parent: int, index: int) -> int:
    """Take a free token."""
    token: int = s.number[FREE]
    s.number[FREE] = s.token[token, NEXT]
    s.number[FREE_COUNT] -= 1
    row = s.token[token]
    row[MEMBER], row[GROUP], row[PARENT], row[INDEX] = member, group, parent, index
    row[PASSED], row[TURN], row[BEFORE], row[AFTER] = 0, -1, -1, -1
    row[CHILD] = row[SIBLING] = row[DUE] = -1
    row[AIM] = 0
    if parent >= 0:
        row[AIM] = s.token[parent, AIM]
        row[SIBLING] = s.token[parent, CHILD]
        s.token[parent, CHILD] = token
    s.time[token, SINCE] = s.time[token, BEGUN] = now
    for label in range(s.booked.shape[1]):
        s.booked[token, label] = 0.0
    for register in range(s.registers.shape[1]):
        s.registers[token, register] = 0
    return token


@inlined
def put_down(s: State, token: int) -> None:
    """Give a token back."""
    s.token[token, NEXT] = s.number[FREE]
    s.number[FREE] = token
    s.number[FREE_COUNT] += 1


@inlined
def end_cycle(s: State, token: int, now: float, lost: int) -> None:
    """Book a cycle to its class."""
    group = s.token[token, GROUP]
    if lost == 0:
        time = now - s.time[token, BEGUN]
        s.responses[group, s.group[group, RESPONSES]] = time
        s.group[group, RESPONSES] += 1
        s.cycle_time[group] += time
        s.group[group, CYCLES] += 1
    for label in range(s.booked.shape[1]):
        if s.booked[token, label] != 0.0:
            s.totals[group, label] += s.booked[token, label]
            s.booked[token, label] = 0.0


@inlined
def row_is_due(s: State) -> bool:
    """Count a cycle and say whether a row is to be written."""
    s.number[CHUNK_LEFT] -= 1
    if s.number[CHUNK_LEFT] > 0:
        return False
    s.number[CHUNK_LEFT] = s.number[CHUNK]
    return True


@inlined
def last_is_done(s: State) -> bool:
    """Count a member of a program out and say whether it was the last."""
    s.number[ALIVE] -= 1
    return bool(s.number[ALIVE] == 0)


@inlined
def write_row(s: State, now: float) -> None:
    """Write a row of statistics; the integrals are up to date."""
    row = s.rows[s.number[ROWS]]
    s.number[ROWS] += 1
    row[0] = now
    row[1] = s.number[PLANNED]
    s.number[PLANNED] += 1
    place = 2
    for group in range(s.group.shape[0]):
        row[place] = s.group[group, CYCLES]
        row[place + 1] = s.cycle_time[group]
        place += 2
    for resource in range(s.resource.shape[0]):
        row[place] = s.integral[resource, 0]
        row[place + 1] = s.integral[resource, 1]
        row[place + 2] = s.resource[resource, 6]
        place += 3
    for group in range(s.group.shape[0]):
        for label in range(s.totals.shape[1]):
            row[place] = s.totals[group, label]
            place += 1
    for gate in range(s.gates.shape[0]):
        row[place] = s.gates[gate, 0]
        row[place + 1] = s.gates[gate, 1]
        place += 2
    for lock in range(s.number[LOCKS_FROM], s.resource.shape[0]):
        row[place] = s.resource[lock, TAKEN]
        row[place + 1] = s.integral[lock, WAITS]
        row[place + 2] = s.integral[lock, SQUARES]
        place += 3
