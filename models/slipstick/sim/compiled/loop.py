"""The compiled loop: the same instructions as the plain kernel, over flat arrays.

The loop returns when the events it was given are spent, and whenever it needs what only Python gives: a
new block of random numbers, larger tables, or somebody to take the rows. It then goes on where it was.
"""

from __future__ import annotations

from slipstick.sim.compiled.flow import admit, end, serve, side_by_side, turn
from slipstick.sim.compiled.gather import gather, lock
from slipstick.sim.compiled.jit import compiled, inlined
from slipstick.sim.compiled.parts import (
    new_token,
    plan_event,
    remove_first,
    take_ready,
)
from slipstick.sim.compiled.state import (
    ARRIVALS,
    ARRIVED_SO_FAR,
    DELAYING,
    DRY,
    DUE,
    EVENTS,
    FREE_COUNT,
    FULL,
    GROUP,
    HEAP,
    INDEX,
    LABEL,
    MEMBER,
    PC,
    PHASE,
    READY_HEAD,
    RESPONSES,
    ROWS,
    RUNNING,
    SERVED,
    SINCE,
    SMALL,
    SPENT,
    START,
    STATION,
    STUCK,
    TRACED,
    WANTED,
    State,
)
from slipstick.sim.compiled.stations import (
    leave,
)
from slipstick.sim.plan.plan import Op

__all__ = ["arrive", "go_on", "lacking", "next_event", "step", "take_value"]


@compiled
def go_on(s: State, events: int) -> int:
    """Go through the next events; say why no further."""
    while True:
        if s.number[RUNNING] < 0:
            if s.number[READY_HEAD] >= 0:
                s.number[RUNNING] = take_ready(s)
            elif events <= 0:
                return SPENT
            else:
                why = next_event(s)
                if why != SPENT:
                    return why
                events -= 1
                s.number[EVENTS] += 1
                if s.number[RUNNING] < 0:
                    continue
        token = s.number[RUNNING]
        now = s.clock[0]
        while True:
            why = lacking(s, token)
            if why != SPENT:
                return why
            if not step(s, token, now):
                break
        s.number[RUNNING] = -1


@inlined
def next_event(s: State) -> int:
    """Take an event off the heap, up to where its token goes on."""
    if s.number[HEAP] == 0:
        return STUCK
    token = s.heap_token[0]
    if token < 0:
        return arrive(s, -1 - token)
    now = s.heap_time[0]
    order = s.heap_order[0]
    remove_first(s)
    s.clock[0] = now
    # What was planned for another speed of service may come after the token has gone on.
    if s.token[token, DUE] != order:
        return SPENT
    s.token[token, DUE] = -1
    phase = s.token[token, PHASE]
    if phase == SERVED:
        leave(s, s.token[token, STATION], token, now)
    elif phase == DELAYING:
        s.booked[token, s.token[token, LABEL]] += now - s.time[token, SINCE]
        s.time[token, SINCE] = now
    s.number[RUNNING] = token
    return SPENT


@inlined
def arrive(s: State, group: int) -> int:
    """Let a member of an open class arrive, and plan the next one."""
    draw = s.group[group, ARRIVALS]
    if s.taken[draw] == s.ready[draw]:
        s.number[WANTED] = draw
        return DRY
    if s.number[FREE_COUNT] == 0 or s.number[HEAP] + 2 > s.heap_time.shape[0]:
        s.number[WANTED] = 1
        return SMALL
    now = s.heap_time[0]
    remove_first(s)
    s.clock[0] = now
    plan_event(s, now + take_value(s, draw), -1 - group)
    token = new_token(s, now, group, s.group[group, ARRIVED_SO_FAR], -1, 0)
    s.group[group, ARRIVED_SO_FAR] += 1
    s.token[token, PC] = s.group[group, START]
    s.number[RUNNING] = token
    return SPENT


@inlined
def take_value(s: State, draw: int) -> float:
    """Take the next value of a draw."""
    value: float = s.values[draw, s.taken[draw]]
    s.taken[draw] += 1
    return value


@inlined
def lacking(s: State, token: int) -> int:
    """Say what a token's instruction needs that is not there; nothing has happened yet."""
    pc = s.token[token, PC]
    draw = s.drawn[pc]
    if draw >= 0 and s.taken[draw] == s.ready[draw]:
        s.number[WANTED] = draw
        return DRY
    op = s.code[pc, 0]
    if s.number[HEAP] + 2 > s.heap_time.shape[0]:
        s.number[WANTED] = 0
        return SMALL
    if op == Op.END:
        group = s.token[token, GROUP]
        if s.number[ROWS] == s.rows.shape[0] or s.group[group, RESPONSES] == s.responses.shape[1]:
            return FULL
    elif op == Op.FORK or op == Op.PIPE:
        wanted = s.code[pc, 2] if op == Op.FORK else int(s.counts[s.code[pc, 1]]) + 1
        if s.number[FREE_COUNT] < wanted:
            s.number[WANTED] = wanted
            return SMALL
    if s.trace_time.shape[0] > 0:
        place = s.number[TRACED]
        if place == s.trace_time.shape[0]:
            return FULL
        s.trace_time[place] = s.clock[0]
        s.trace_what[place, 0] = s.token[token, MEMBER]
        s.trace_what[place, 1] = s.token[token, INDEX]
        s.trace_what[place, 2] = pc
        s.number[TRACED] = place + 1
    return SPENT


@inlined
def step(s: State, token: int, now: float) -> bool:
    """Execute an instruction; say whether the token goes on. The numbers are those of `Op`."""
    pc = s.token[token, PC]
    code = s.code[pc]
    op = code[0]
    s.token[token, PC] = pc + 1
    value = s.constants[pc]
    draw = s.drawn[pc]
    if draw >= 0:
        value = s.values[draw, s.taken[draw]]
        s.taken[draw] += 1
    if op == Op.SERVE:
        return serve(s, token, code, value, now)
    if op == Op.DELAY:
        s.token[token, LABEL] = code[2]
        s.token[token, PHASE] = DELAYING
        s.token[token, DUE] = plan_event(s, now + value, token)
        return False
    if op == Op.END:
        return end(s, token, code, now)
    if op < Op.END:
        return turn(s, token, code, op, value)
    if op < Op.ACQUIRE:
        return side_by_side(s, token, code, op, value, now)
    if op < Op.MEET:
        return lock(s, token, code, op, value, now)
    if op < Op.ADMIT:
        return gather(s, token, code, op, now)
    return admit(s, token, code, op, now)
