"""Instructions of the compiled kernel; `slipstick.sim.plain.instructions` says what they mean, in the same order."""

from __future__ import annotations

from slipstick.sim.compiled.state import (
    EventKind,
    GroupCol,
    GroupKind,
    ResourceCol,
    ScalarCol,
    State,
    TimeCol,
    TokenCol,
    add_ready,
    end_cycle,
    free_token,
    inlined,
    last_is_done,
    new_token,
    plan_event,
    row_is_due,
    wake,
    write_row,
)
from slipstick.sim.compiled.stations import accumulate, append, enter, grant, is_free, release, request
from slipstick.sim.plain.instructions import PLACES
from slipstick.sim.plan.plan import Op, Where


@inlined
def serve(s: State, token: int, code, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """SERVE."""
    station = code[1]
    if code[5] == Where.OWN:
        station += s.token[token, TokenCol.CUSTOMER]
    elif code[5] == Where.AIMED:
        station += s.token[token, TokenCol.AIM]
    s.token[token, TokenCol.LABEL] = code[3]
    s.token[token, TokenCol.WAIT] = code[4]
    s.token[token, TokenCol.RANK] = code[6]
    if code[7] > 0:
        order = code[7] - 1
        s.time[token, TimeCol.PLACE] = s.values[order, s.taken[order]]
        s.taken[order] += 1
    enter(s, station, token, value, now)
    return False


@inlined
def branch(s: State, token: int, code, op: int, value: float) -> bool:  # type: ignore[no-untyped-def]
    """AIM_AT_RANDOM, AIM_IN_TURN, CHOOSE, JUMP, SET_COUNT, LOOP and SWITCH: the next instruction, or the customer aimed at."""
    if op == Op.CHOOSE:
        option = code[2]
        last = option + code[3] - 1
        while option < last and value >= s.odds[option]:
            option += 1
        s.token[token, TokenCol.PC] = s.targets[option]
    elif op == Op.JUMP:
        s.token[token, TokenCol.PC] = code[1]
    elif op == Op.SET_COUNT:
        whole = int(s.counts[code[2]])
        s.registers[token, code[1]] = whole + (1 if value < s.counts[code[2]] - whole else 0)
    elif op == Op.LOOP:
        if s.registers[token, code[1]] <= 0:
            s.token[token, TokenCol.PC] = code[2]
        else:
            s.registers[token, code[1]] -= 1
    elif op == Op.SWITCH:
        s.token[token, TokenCol.PC] = s.targets[code[1] + s.token[token, TokenCol.INDEX]]
    else:
        first = code[2] if op == Op.AIM_AT_RANDOM else code[1]
        customers = code[3] if op == Op.AIM_AT_RANDOM else code[2]
        far = (
            int(value * (customers - 1)) if op == Op.AIM_AT_RANDOM else s.token[token, TokenCol.INDEX] % (customers - 1)
        )
        s.token[token, TokenCol.AIM] = first + (s.token[token, TokenCol.CUSTOMER] - first + 1 + far) % customers
    return True


@inlined
def admit(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ADMIT and START_RESPONSE."""
    if op == Op.START_RESPONSE:
        s.time[token, TimeCol.BEGUN] = now
        return True
    s.gates[code[1], 0] += 1
    if code[3] > 0 and s.resource[code[2], ResourceCol.PRESENT] >= code[3]:
        s.gates[code[1], 1] += 1
        s.token[token, TokenCol.PC] = code[4]
    return True


@inlined
def end(s: State, token: int, code, now: float) -> bool:  # type: ignore[no-untyped-def]
    """END."""
    group = s.token[token, TokenCol.GROUP]
    end_cycle(s, token, now, code[2])
    how = s.group[group, GroupCol.KIND]
    begun = s.time[token, TimeCol.BEGUN]
    if how == GroupKind.CLOSED:
        s.time[token, TimeCol.BEGUN] = now
        if code[1] == 0:
            s.token[token, TokenCol.PC] = s.group[group, GroupCol.START]
    due = last_is_done(s) if how == GroupKind.ONCE else code[2] == 0 and row_is_due(s)
    if due:
        for resource in range(s.resource.shape[0]):
            accumulate(s, resource, now)
        write_row(s, now)
    if how == GroupKind.OPEN:
        free_token(s, token)
    if how == GroupKind.CLOSED and begun == now:
        s.token[token, TokenCol.EVENT_KIND] = EventKind.AGAIN
        s.token[token, TokenCol.EVENT] = plan_event(s, now, token)
    return bool(how == GroupKind.CLOSED and begun != now)


@inlined
def fork_or_pipeline(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """FORK, JOIN, PIPELINE, ENTER_STAGE and LEAVE_STAGE."""
    if op == Op.FORK or op == Op.PIPELINE:
        return begin_branches(s, token, code, op, value, now)
    if op == Op.JOIN:
        join(s, token, code, now)
        return False
    if op == Op.ENTER_STAGE:
        before = s.token[token, TokenCol.BEFORE]
        if before < 0 or s.token[before, TokenCol.PASSED] > code[1]:
            return True
        s.token[token, TokenCol.TURN] = code[1]
        return False
    s.token[token, TokenCol.PASSED] = code[1] + 1
    following = s.token[token, TokenCol.AFTER]
    if following >= 0 and s.token[following, TokenCol.TURN] == code[1]:
        s.token[following, TokenCol.TURN] = -1
        if now > s.time[following, TimeCol.SINCE]:
            for label in range(s.booked.shape[1]):
                s.booked[following, label] = s.booked[token, label]
            s.time[following, TimeCol.SINCE] = now
        add_ready(s, following)
    return True


@inlined
def begin_branches(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """FORK and PIPELINE: start the branches or items."""
    count = code[2]
    s.token[token, TokenCol.PC] = code[3]
    if op == Op.PIPELINE:
        whole = int(s.counts[code[1]])
        count = whole + (1 if value < s.counts[code[1]] - whole else 0)
        s.token[token, TokenCol.PC] = code[4]
        if count == 0:
            return True
    s.token[token, TokenCol.LEFT] = count
    s.time[token, TimeCol.LATEST_END] = -1.0
    before = -1
    for index in range(count):
        each = new_token(s, now, s.token[token, TokenCol.GROUP], s.token[token, TokenCol.CUSTOMER], token, index)
        s.token[each, TokenCol.PC] = s.targets[code[1] + index] if op == Op.FORK else code[3]
        if op == Op.PIPELINE:
            s.token[each, TokenCol.BEFORE] = before
            if before >= 0:
                s.token[before, TokenCol.AFTER] = each
            before = each
        add_ready(s, each)
    return False


@inlined
def join(s: State, token: int, code, now: float) -> None:  # type: ignore[no-untyped-def]
    """JOIN."""
    parent = s.token[token, TokenCol.PARENT]
    labels = s.booked.shape[1]
    if now > s.time[parent, TimeCol.LATEST_END] or s.token[token, TokenCol.INDEX] < s.token[parent, TokenCol.LATEST]:
        s.time[parent, TimeCol.LATEST_END] = now
        s.token[parent, TokenCol.LATEST] = s.token[token, TokenCol.INDEX]
        for label in range(labels):
            s.latest_booked[parent, label] = s.booked[token, label]
    s.token[parent, TokenCol.LEFT] -= 1
    if s.token[parent, TokenCol.LEFT] > 0:
        return
    for label in range(labels):
        s.booked[parent, label] += s.latest_booked[parent, label]
    if code[1] >= 0:
        s.pipelines[code[1], 0] += 1
        s.pipelines[code[1], 1] += now - s.time[parent, TimeCol.SINCE]
    s.time[parent, TimeCol.SINCE] = now
    # Items refer to their neighbours, so all are freed together.
    child = s.token[parent, TokenCol.CHILD]
    while child >= 0:
        free_token(s, child)
        child = s.token[child, TokenCol.SIBLING]
    s.token[parent, TokenCol.CHILD] = -1
    add_ready(s, parent)


@inlined
def lock(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ACQUIRE, RELEASE, REQUEST, TRY, AWAIT_FREE, TAKE_TICKET, AWAIT_TURN and BACK_OFF."""
    r = s.number[ScalarCol.LOCKS_FROM] + code[1]
    if op == Op.ACQUIRE:
        s.token[token, TokenCol.LABEL] = code[2]
        request(s, r, token, now)
        if not is_free(s, r):
            append(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token)
            return False
        grant(s, r, token, now)
    elif op == Op.RELEASE:
        release(s, r, token, now)
    elif op == Op.REQUEST:
        request(s, r, token, now)
    elif op == Op.TRY:
        if not is_free(s, r):
            s.token[token, TokenCol.PC] = code[2]
        else:
            accumulate(s, r, now)
            grant(s, r, token, now)
    elif op == Op.AWAIT_FREE:
        if not is_free(s, r):
            s.token[token, TokenCol.LABEL] = code[2]
            append(s, r, ResourceCol.SPIN_HEAD, ResourceCol.SPIN_TAIL, token)
            return False
    elif op == Op.TAKE_TICKET:
        s.registers[token, code[2]] = s.resource[r, ResourceCol.DONE] + s.resource[r, ResourceCol.PRESENT]
        request(s, r, token, now)
    elif op == Op.AWAIT_TURN:
        return await_turn(s, r, token, code, value, now)
    else:
        doublings = s.registers[token, code[3]]
        time = min(s.counts[code[4]] * float(1 << doublings), s.counts[code[5]]) * value
        s.registers[token, code[3]] = min(doublings + 1, 60)
        s.token[token, TokenCol.LABEL] = code[2]
        s.token[token, TokenCol.EVENT_KIND] = EventKind.DELAYING
        s.token[token, TokenCol.EVENT] = plan_event(s, now + time, token)
        return False
    return True


@inlined
def await_turn(s: State, r: int, token: int, code, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """AWAIT_TURN."""
    s.token[token, TokenCol.KEY] = int(value * PLACES)
    if s.registers[token, code[3]] == s.resource[r, ResourceCol.DONE]:
        accumulate(s, r, now)
        grant(s, r, token, now)
        return True
    s.token[token, TokenCol.PC] = code[5]
    s.token[token, TokenCol.LABEL] = code[2]
    queue_for_turn(s, r, token)
    return False


@inlined
def queue_for_turn(s: State, r: int, token: int) -> None:
    """Let a token wait until a lock is let go, in its place among those who then go on: that of its key."""
    before, each = -1, s.resource[r, ResourceCol.SPIN_HEAD]
    while each >= 0 and s.token[each, TokenCol.KEY] <= s.token[token, TokenCol.KEY]:
        before, each = each, s.token[each, TokenCol.NEXT]
    s.token[token, TokenCol.NEXT] = each
    if before < 0:
        s.resource[r, ResourceCol.SPIN_HEAD] = token
    else:
        s.token[before, TokenCol.NEXT] = token
    if each < 0:
        s.resource[r, ResourceCol.SPIN_TAIL] = token


@inlined
def synchronize(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """BARRIER, COMBINE, OPEN_BARRIER, SIGNAL and AWAIT_SIGNAL."""
    if op == Op.BARRIER:
        if s.barrier[code[1], 0] + 1 < code[2]:
            wait_at_barrier(s, token, code[1], code[3])
            return False
        wake_all(s, code[1], now)
    elif op == Op.COMBINE:
        node = s.token[token, TokenCol.CUSTOMER] // code[2]
        s.nodes[code[1] + node] += 1
        if s.nodes[code[1] + node] != min(code[3], code[4] - node * code[3]):
            s.token[token, TokenCol.PC] = code[7]
            wait_at_barrier(s, token, code[5], code[6])
            return False
        s.nodes[code[1] + node] = 0
    elif op == Op.OPEN_BARRIER:
        wake_all(s, code[1], now)
    elif op == Op.SIGNAL:
        flag = code[1] + (s.token[token, TokenCol.CUSTOMER] + code[2]) % code[3]
        waiter = s.flag_waiter[flag]
        if waiter < 0:
            s.flags[flag] += 1
        else:
            s.flag_waiter[flag] = -1
            wake(s, waiter, now)
    else:
        flag = code[1] + s.token[token, TokenCol.CUSTOMER]
        if s.flags[flag] == 0:
            s.token[token, TokenCol.LABEL] = code[2]
            s.flag_waiter[flag] = token
            return False
        s.flags[flag] -= 1
    return True


@inlined
def wait_at_barrier(s: State, token: int, barrier: int, label: int) -> None:
    """Let a token wait at a barrier."""
    s.token[token, TokenCol.LABEL] = label
    s.token[token, TokenCol.NEXT] = -1
    if s.barrier[barrier, 0] == 0:
        s.barrier[barrier, 1] = token
    else:
        s.token[s.barrier[barrier, 2], TokenCol.NEXT] = token
    s.barrier[barrier, 2] = token
    s.barrier[barrier, 0] += 1


@inlined
def wake_all(s: State, barrier: int, now: float) -> None:
    """Wake all who wait at a barrier, in the order they came."""
    token = s.barrier[barrier, 1]
    for _ in range(s.barrier[barrier, 0]):
        following = s.token[token, TokenCol.NEXT]
        wake(s, token, now)
        token = following
    s.barrier[barrier, 0] = 0
