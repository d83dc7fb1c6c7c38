"""Instructions of the compiled loop for locks and barriers; `slipstick.sim.plain.locks_and_barriers` and `meeting` say what is meant."""

from __future__ import annotations

from slipstick.sim.compiled.state import (
    DELAYING,
    DONE,
    DUE,
    HEAD,
    KEY,
    LABEL,
    LOCKS_FROM,
    MEMBER,
    NEXT,
    PC,
    PHASE,
    PRESENT,
    SERVING,
    TAIL,
    WATCH_HEAD,
    WATCH_TAIL,
    State,
    inlined,
    plan_event,
    wake,
)
from slipstick.sim.compiled.stations import append, ask, flush, release, take
from slipstick.sim.plain.locks_and_barriers import PLACES
from slipstick.sim.plan.plan import Op


@inlined
def lock(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ACQUIRE, RELEASE, ASK, TRY, WATCH, NUMBER, CALL and BACK."""
    r = s.number[LOCKS_FROM] + code[1]
    if op == Op.ACQUIRE:
        s.token[token, LABEL] = code[2]
        ask(s, r, token, now)
        if s.resource[r, SERVING] >= 0:
            append(s, r, HEAD, TAIL, token)
            return False
        take(s, r, token, now)
    elif op == Op.RELEASE:
        release(s, r, now)
    elif op == Op.ASK:
        ask(s, r, token, now)
    elif op == Op.TRY:
        if s.resource[r, SERVING] >= 0:
            s.token[token, PC] = code[2]
        else:
            flush(s, r, now)
            take(s, r, token, now)
    elif op == Op.WATCH:
        if s.resource[r, SERVING] >= 0:
            s.token[token, LABEL] = code[2]
            append(s, r, WATCH_HEAD, WATCH_TAIL, token)
            return False
    elif op == Op.NUMBER:
        s.registers[token, code[2]] = s.resource[r, DONE] + s.resource[r, PRESENT]
        ask(s, r, token, now)
    elif op == Op.CALL:
        return call(s, r, token, code, value, now)
    else:
        doublings = s.registers[token, code[3]]
        time = min(s.counts[code[4]] * float(1 << doublings), s.counts[code[5]]) * value
        s.registers[token, code[3]] = min(doublings + 1, 60)
        s.token[token, LABEL] = code[2]
        s.token[token, PHASE] = DELAYING
        s.token[token, DUE] = plan_event(s, now + time, token)
        return False
    return True


@inlined
def call(s: State, r: int, token: int, code, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """CALL."""
    s.token[token, KEY] = int(value * PLACES)
    if s.registers[token, code[3]] == s.resource[r, DONE]:
        flush(s, r, now)
        take(s, r, token, now)
        return True
    s.token[token, PC] = code[5]
    s.token[token, LABEL] = code[2]
    watch(s, r, token)
    return False


@inlined
def watch(s: State, r: int, token: int) -> None:
    """Let a token wait until a lock is let go, in its place among those who then go on: that of its key."""
    before, each = -1, s.resource[r, WATCH_HEAD]
    while each >= 0 and s.token[each, KEY] <= s.token[token, KEY]:
        before, each = each, s.token[each, NEXT]
    s.token[token, NEXT] = each
    if before < 0:
        s.resource[r, WATCH_HEAD] = token
    else:
        s.token[before, NEXT] = token
    if each < 0:
        s.resource[r, WATCH_TAIL] = token


@inlined
def gather(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """MEET, COMBINE, FREE, POST and AWAIT."""
    if op == Op.MEET:
        if s.meeting[code[1], 0] + 1 < code[2]:
            wait_at(s, token, code[1], code[3])
            return False
        let_go(s, code[1], now)
    elif op == Op.COMBINE:
        node = s.token[token, MEMBER] // code[2]
        s.nodes[code[1] + node] += 1
        if s.nodes[code[1] + node] != min(code[3], code[4] - node * code[3]):
            s.token[token, PC] = code[7]
            wait_at(s, token, code[5], code[6])
            return False
        s.nodes[code[1] + node] = 0
    elif op == Op.FREE:
        let_go(s, code[1], now)
    elif op == Op.POST:
        flag = code[1] + (s.token[token, MEMBER] + code[2]) % code[3]
        waiter = s.flag_waiter[flag]
        if waiter < 0:
            s.flags[flag] += 1
        else:
            s.flag_waiter[flag] = -1
            wake(s, waiter, now)
    else:
        flag = code[1] + s.token[token, MEMBER]
        if s.flags[flag] == 0:
            s.token[token, LABEL] = code[2]
            s.flag_waiter[flag] = token
            return False
        s.flags[flag] -= 1
    return True


@inlined
def wait_at(s: State, token: int, meeting: int, label: int) -> None:
    """Wait at a meeting."""
    s.token[token, LABEL] = label
    s.token[token, NEXT] = -1
    if s.meeting[meeting, 0] == 0:
        s.meeting[meeting, 1] = token
    else:
        s.token[s.meeting[meeting, 2], NEXT] = token
    s.meeting[meeting, 2] = token
    s.meeting[meeting, 0] += 1


@inlined
def let_go(s: State, meeting: int, now: float) -> None:
    """Wake all who wait at a meeting, in the order they came."""
    token = s.meeting[meeting, 1]
    for _ in range(s.meeting[meeting, 0]):
        following = s.token[token, NEXT]
        wake(s, token, now)
        token = following
    s.meeting[meeting, 0] = 0
