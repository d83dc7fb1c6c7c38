"""Stations and locks of the compiled loop; `stations` and `locks` say what is meant, in the same order."""

from __future__ import annotations

from slipstick.sim.compiled.state import (
    AREA,
    ARRIVED,
    ASKED,
    BUSY,
    CAME,
    CHANGED,
    DELAYED,
    DONE,
    DUE,
    FCFS,
    FINISH,
    HEAD,
    IN_TURN,
    KEY,
    KIND,
    LABEL,
    LAST_FIRST,
    NEXT,
    ORDER,
    PHASE,
    PREEMPTS,
    PRESENT,
    PROGRESS,
    RANK,
    RATES,
    RATES_FROM,
    SERVED,
    SERVERS,
    SERVING,
    SHARED,
    SINCE,
    SQUARES,
    STATION,
    TAIL,
    TAKEN,
    TICKET,
    USE,
    WAIT,
    WAITED,
    WAITS,
    WATCH_HEAD,
    WATCH_TAIL,
    WORK,
    State,
    inlined,
    plan_event,
    wake,
)
from slipstick.sim.plain.stations import NEVER_WAITED


@inlined
def flush(s: State, r: int, now: float) -> None:
    """Bring the integrals of a resource up to date."""
    passed = now - s.integral[r, CHANGED]
    if s.resource[r, KIND] == SHARED:
        s.integral[r, PROGRESS] += passed * rate(s, r)
    s.integral[r, CHANGED] = now
    s.integral[r, AREA] += s.resource[r, PRESENT] * passed
    s.integral[r, USE] += s.resource[r, BUSY] * passed


@inlined
def rate(s: State, r: int) -> float:
    """Give the rate at which each customer is served where processors are shared, or all are in turn."""
    if s.resource[r, RATES] > 0:
        present = max(s.resource[r, PRESENT], 1)
        speed: float = s.rates[s.resource[r, RATES_FROM] + min(present, s.resource[r, RATES]) - 1]
        return speed if s.resource[r, IN_TURN] else speed / present
    if s.resource[r, PRESENT] <= s.resource[r, SERVERS]:
        return 1.0
    shared: float = s.resource[r, SERVERS] / s.resource[r, PRESENT]
    return shared


@inlined
def append(s: State, r: int, head: int, tail: int, token: int) -> None:
    """Put a token at the end of a queue."""
    s.token[token, NEXT] = -1
    last = s.resource[r, tail]
    if last < 0:
        s.resource[r, head] = token
    else:
        s.token[last, NEXT] = token
    s.resource[r, tail] = token


@inlined
def take_first(s: State, r: int, head: int, tail: int) -> int:
    """Take the first token out of a queue."""
    token: int = s.resource[r, head]
    s.resource[r, head] = s.token[token, NEXT]
    if s.resource[r, head] < 0:
        s.resource[r, tail] = -1
    return token


@inlined
def begin(s: State, r: int, token: int, time: float) -> None:
    """Plan the end of a service."""
    s.token[token, PHASE] = SERVED
    s.token[token, STATION] = r
    s.token[token, DUE] = plan_event(s, time, token)


@inlined
def enter(s: State, r: int, token: int, work: float, now: float) -> None:
    """Begin a visit."""
    flush(s, r, now)
    if s.resource[r, KIND] == FCFS:
        s.resource[r, PRESENT] += 1
        if s.resource[r, BUSY] < s.resource[r, SERVERS]:
            s.resource[r, BUSY] += 1
            s.time[token, WAITED] = 0.0
            begin(s, r, token, now + work)
        else:
            s.time[token, WORK] = work
            append(s, r, HEAD, TAIL, token)
    elif s.resource[r, KIND] == SHARED:
        if s.resource[r, PRESENT] == 0:
            s.integral[r, PROGRESS] = 0.0
        s.time[token, ASKED] = work
        ahead = s.integral[r, PROGRESS]
        if s.resource[r, IN_TURN] and s.resource[r, TAIL] >= 0:
            ahead = s.time[s.resource[r, TAIL], FINISH]
        s.time[token, FINISH] = ahead + work
        append(s, r, HEAD, TAIL, token)
        s.resource[r, PRESENT] += 1
        share_anew(s, r, now)
    else:
        enter_ordered(s, r, token, work, now)


@inlined
def share_anew(s: State, r: int, now: float) -> None:
    """Find anew who leaves a shared station next, and when."""
    present = s.resource[r, PRESENT]
    s.resource[r, BUSY] = min(present, s.resource[r, SERVERS])
    before = s.resource[r, TICKET]
    if before >= 0:
        s.token[before, DUE] = -1
    s.resource[r, TICKET] = -1
    if present == 0:
        return
    first = s.resource[r, HEAD]
    each = s.token[first, NEXT]
    while each >= 0:
        if s.time[each, FINISH] < s.time[first, FINISH]:
            first = each
        each = s.token[each, NEXT]
    s.resource[r, TICKET] = first
    begin(s, r, first, now + max(s.time[first, FINISH] - s.integral[r, PROGRESS], 0.0) / rate(s, r))


@inlined
def goes_before(s: State, a: int, b: int) -> bool:
    """Say whether a goes before b at an ordered station."""
    if s.token[a, KEY] != s.token[b, KEY]:
        return bool(s.token[a, KEY] < s.token[b, KEY])
    return bool(s.token[a, ORDER] < s.token[b, ORDER])


@inlined
def insert(s: State, r: int, token: int) -> None:
    """Put a token in its place in the queue of an ordered station."""
    s.token[token, DELAYED] = 1
    before, each = -1, s.resource[r, HEAD]
    while each >= 0 and goes_before(s, each, token):
        before, each = each, s.token[each, NEXT]
    s.token[token, NEXT] = each
    if before < 0:
        s.resource[r, HEAD] = token
    else:
        s.token[before, NEXT] = token


@inlined
def begin_ordered(s: State, r: int, token: int, now: float) -> None:
    """Begin or take up a service that may be cut off."""
    s.token[token, NEXT] = s.resource[r, SERVING]
    s.resource[r, SERVING] = token
    s.time[token, FINISH] = now + s.time[token, WORK]
    begin(s, r, token, s.time[token, FINISH])


@inlined
def unlink(s: State, r: int, first: int, token: int) -> None:
    """Take a token out of the middle of a queue that is known by its first alone."""
    if s.resource[r, first] == token:
        s.resource[r, first] = s.token[token, NEXT]
        return
    each = s.resource[r, first]
    while s.token[each, NEXT] != token:
        each = s.token[each, NEXT]
    s.token[each, NEXT] = s.token[token, NEXT]


@inlined
def enter_ordered(s: State, r: int, token: int, work: float, now: float) -> None:
    """Begin service, in the place of a later one if need be, or queue."""
    s.resource[r, PRESENT] += 1
    s.resource[r, ARRIVED] += 1
    order = s.resource[r, ARRIVED]
    s.token[token, ORDER] = order
    s.token[token, KEY] = -order if s.resource[r, LAST_FIRST] else s.token[token, RANK]
    s.time[token, WORK] = s.time[token, ASKED] = work
    s.token[token, DELAYED] = 0
    if s.resource[r, BUSY] < s.resource[r, SERVERS]:
        s.resource[r, BUSY] += 1
        begin_ordered(s, r, token, now)
        return
    if s.resource[r, PREEMPTS]:
        worst = s.resource[r, SERVING]
        each = s.token[worst, NEXT]
        while each >= 0:
            if goes_before(s, worst, each):
                worst = each
            each = s.token[each, NEXT]
        if goes_before(s, token, worst):
            unlink(s, r, SERVING, worst)
            s.token[worst, DUE] = -1
            s.time[worst, WORK] = s.time[worst, FINISH] - now
            insert(s, r, worst)
            begin_ordered(s, r, token, now)
            return
    insert(s, r, token)


@inlined
def leave(s: State, r: int, token: int, now: float) -> None:
    """End a visit, begin the next service, and book the visit."""
    flush(s, r, now)
    s.resource[r, DONE] += 1
    s.resource[r, PRESENT] -= 1
    if s.resource[r, KIND] == FCFS:
        if s.resource[r, HEAD] >= 0:
            following = take_first(s, r, HEAD, TAIL)
            s.time[following, WAITED] = now - s.time[following, SINCE]
            begin(s, r, following, now + s.time[following, WORK])
        else:
            s.resource[r, BUSY] -= 1
    elif s.resource[r, KIND] == SHARED:
        s.integral[r, PROGRESS] = s.time[token, FINISH]
        last = s.resource[r, TAIL]
        if last == token:
            s.resource[r, TAIL] = before_in(s, s.resource[r, HEAD], token)
        unlink(s, r, HEAD, token)
        s.resource[r, TICKET] = -1
        share_anew(s, r, now)
        s.time[token, WAITED] = stretched(s, token, now)
    else:
        unlink(s, r, SERVING, token)
        if s.resource[r, HEAD] >= 0:
            following = s.resource[r, HEAD]
            s.resource[r, HEAD] = s.token[following, NEXT]
            begin_ordered(s, r, following, now)
        else:
            s.resource[r, BUSY] -= 1
        s.time[token, WAITED] = stretched(s, token, now) if s.token[token, DELAYED] else 0.0
    waited = s.time[token, WAITED]
    if waited != 0.0:
        s.booked[token, s.token[token, WAIT]] += waited
    s.booked[token, s.token[token, LABEL]] += (now - s.time[token, SINCE]) - waited
    s.time[token, SINCE] = now


@inlined
def before_in(s: State, first: int, token: int) -> int:
    """Find who stands before a token in a queue, or -1."""
    before, each = -1, first
    while each != token:
        before, each = each, s.token[each, NEXT]
    return before


@inlined
def stretched(s: State, token: int, now: float) -> float:
    """Give the time present beyond the work asked for."""
    total = now - s.time[token, SINCE]
    waited = total - s.time[token, ASKED]
    return waited if waited > NEVER_WAITED * total else 0.0


@inlined
def ask(s: State, r: int, token: int, now: float) -> None:
    """Count a token as present at a lock from now on."""
    flush(s, r, now)
    s.resource[r, PRESENT] += 1
    s.time[token, CAME] = now


@inlined
def take(s: State, r: int, token: int, now: float) -> None:
    """Let a token hold a lock; the integrals are up to date."""
    s.resource[r, SERVING] = token
    s.resource[r, BUSY] = 1
    wait = now - s.time[token, CAME]
    s.resource[r, TAKEN] += 1
    s.integral[r, WAITS] += wait
    s.integral[r, SQUARES] += wait * wait


@inlined
def release(s: State, r: int, now: float) -> None:
    """Hand a lock over to the one who has waited longest, else let all who watch know."""
    flush(s, r, now)
    s.resource[r, PRESENT] -= 1
    s.resource[r, DONE] += 1
    if s.resource[r, HEAD] >= 0:
        owner = take_first(s, r, HEAD, TAIL)
        take(s, r, owner, now)
        wake(s, owner, now)
        return
    s.resource[r, SERVING] = -1
    s.resource[r, BUSY] = 0
    while s.resource[r, WATCH_HEAD] >= 0:
        wake(s, take_first(s, r, WATCH_HEAD, WATCH_TAIL), now)
