"""Instructions of the compiled loop that pass time, choose, loop, fork and join; `slipstick.sim.plain.flow` says what is meant."""

from __future__ import annotations

from slipstick.sim.compiled.state import (
    AFTER,
    AGAIN,
    AIM,
    BEFORE,
    BEGUN,
    BEST,
    CHILD,
    CLOSED,
    DUE,
    GROUP,
    HOW,
    INDEX,
    LABEL,
    LAST,
    LEFT,
    MEMBER,
    ONCE,
    OPEN,
    PARENT,
    PASSED,
    PC,
    PHASE,
    PRESENT,
    RANK,
    SIBLING,
    SINCE,
    START,
    TURN,
    WAIT,
    State,
    add_ready,
    end_cycle,
    inlined,
    last_is_done,
    new_token,
    plan_event,
    put_down,
    row_is_due,
    write_row,
)
from slipstick.sim.compiled.stations import enter, flush
from slipstick.sim.plan.plan import Op, Where


@inlined
def serve(s: State, token: int, code, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """SERVE."""
    station = code[1]
    if code[5] == Where.OWN:
        station += s.token[token, MEMBER]
    elif code[5] == Where.AIMED:
        station += s.token[token, AIM]
    s.token[token, LABEL] = code[3]
    s.token[token, WAIT] = code[4]
    s.token[token, RANK] = code[6]
    enter(s, station, token, value, now)
    return False


@inlined
def turn(s: State, token: int, code, op: int, value: float) -> bool:  # type: ignore[no-untyped-def]
    """PICK, EACH, CHOOSE, JUMP, SET, LOOP and SWITCH: where to go on, and at whom to aim."""
    if op == Op.CHOOSE:
        option = code[2]
        last = option + code[3] - 1
        while option < last and value >= s.odds[option]:
            option += 1
        s.token[token, PC] = s.targets[option]
    elif op == Op.JUMP:
        s.token[token, PC] = code[1]
    elif op == Op.SET:
        whole = int(s.counts[code[2]])
        s.registers[token, code[1]] = whole + (1 if value < s.counts[code[2]] - whole else 0)
    elif op == Op.LOOP:
        if s.registers[token, code[1]] <= 0:
            s.token[token, PC] = code[2]
        else:
            s.registers[token, code[1]] -= 1
    elif op == Op.SWITCH:
        s.token[token, PC] = s.targets[code[1] + s.token[token, INDEX]]
    else:
        first = code[2] if op == Op.PICK else code[1]
        members = code[3] if op == Op.PICK else code[2]
        far = int(value * (members - 1)) if op == Op.PICK else s.token[token, INDEX] % (members - 1)
        s.token[token, AIM] = first + (s.token[token, MEMBER] - first + 1 + far) % members
    return True


@inlined
def admit(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ADMIT and BEGIN."""
    if op == Op.BEGIN:
        s.time[token, BEGUN] = now
        return True
    s.gates[code[1], 0] += 1
    if code[3] > 0 and s.resource[code[2], PRESENT] >= code[3]:
        s.gates[code[1], 1] += 1
        s.token[token, PC] = code[4]
    return True


@inlined
def end(s: State, token: int, code, now: float) -> bool:  # type: ignore[no-untyped-def]
    """END."""
    group = s.token[token, GROUP]
    end_cycle(s, token, now, code[2])
    how = s.group[group, HOW]
    begun = s.time[token, BEGUN]
    if how == CLOSED:
        s.time[token, BEGUN] = now
        if code[1] == 0:
            s.token[token, PC] = s.group[group, START]
    due = last_is_done(s) if how == ONCE else code[2] == 0 and row_is_due(s)
    if due:
        for resource in range(s.resource.shape[0]):
            flush(s, resource, now)
        write_row(s, now)
    if how == OPEN:
        put_down(s, token)
    if how == CLOSED and begun == now:
        s.token[token, PHASE] = AGAIN
        s.token[token, DUE] = plan_event(s, now, token)
    return bool(how == CLOSED and begun != now)


@inlined
def side_by_side(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """FORK, JOIN, PIPE, ENTER and LEAVE."""
    if op == Op.FORK or op == Op.PIPE:
        return part(s, token, code, op, value, now)
    if op == Op.JOIN:
        join(s, token, now)
        return False
    if op == Op.ENTER:
        before = s.token[token, BEFORE]
        if before < 0 or s.token[before, PASSED] > code[1]:
            return True
        s.token[token, TURN] = code[1]
        return False
    s.token[token, PASSED] = code[1] + 1
    following = s.token[token, AFTER]
    if following >= 0 and s.token[following, TURN] == code[1]:
        s.token[following, TURN] = -1
        if now > s.time[following, SINCE]:
            for label in range(s.booked.shape[1]):
                s.booked[following, label] = s.booked[token, label]
            s.time[following, SINCE] = now
        add_ready(s, following)
    return True


@inlined
def part(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """FORK and PIPE: let branches or items begin."""
    count = code[2]
    s.token[token, PC] = code[3]
    if op == Op.PIPE:
        whole = int(s.counts[code[1]])
        count = whole + (1 if value < s.counts[code[1]] - whole else 0)
        s.token[token, PC] = code[4]
        if count == 0:
            return True
    s.token[token, LEFT] = count
    s.time[token, LAST] = -1.0
    before = -1
    for index in range(count):
        each = new_token(s, now, s.token[token, GROUP], s.token[token, MEMBER], token, index)
        s.token[each, PC] = s.targets[code[1] + index] if op == Op.FORK else code[3]
        if op == Op.PIPE:
            s.token[each, BEFORE] = before
            if before >= 0:
                s.token[before, AFTER] = each
            before = each
        add_ready(s, each)
    return False


@inlined
def join(s: State, token: int, now: float) -> None:
    """JOIN."""
    parent = s.token[token, PARENT]
    labels = s.booked.shape[1]
    if now > s.time[parent, LAST] or s.token[token, INDEX] < s.token[parent, BEST]:
        s.time[parent, LAST] = now
        s.token[parent, BEST] = s.token[token, INDEX]
        for label in range(labels):
            s.line[parent, label] = s.booked[token, label]
    s.token[parent, LEFT] -= 1
    if s.token[parent, LEFT] > 0:
        return
    for label in range(labels):
        s.booked[parent, label] += s.line[parent, label]
    s.time[parent, SINCE] = now
    # Kept until now, as items look at those before and after them.
    child = s.token[parent, CHILD]
    while child >= 0:
        put_down(s, child)
        child = s.token[child, SIBLING]
    s.token[parent, CHILD] = -1
    add_ready(s, parent)
