"""Stations and locks of the compiled kernel; `slipstick.sim.plain.stations` says what they mean, in the same order."""

from __future__ import annotations

from slipstick.sim.compiled.state import (
    EventKind,
    IntegralCol,
    ResourceCol,
    State,
    StationKind,
    TimeCol,
    TokenCol,
    inlined,
    plan_event,
    wake,
)
from slipstick.sim.plain.stations import NEVER_WAITED


@inlined
def accumulate(s: State, r: int, now: float) -> None:
    """Bring the integrals of a resource up to date."""
    passed = now - s.integral[r, IntegralCol.CHANGED]
    if s.resource[r, ResourceCol.KIND] == StationKind.SHARED:
        s.integral[r, IntegralCol.PROGRESS] += passed * rate(s, r)
    s.integral[r, IntegralCol.CHANGED] = now
    s.integral[r, IntegralCol.AREA] += s.resource[r, ResourceCol.PRESENT] * passed
    s.integral[r, IntegralCol.BUSY_AREA] += s.resource[r, ResourceCol.BUSY] * passed


@inlined
def rate(s: State, r: int) -> float:
    """Give the rate at which each customer is served where processors are shared, or all are in turn."""
    if s.resource[r, ResourceCol.RATES] > 0:
        present = max(s.resource[r, ResourceCol.PRESENT], 1)
        speed: float = s.rates[
            s.resource[r, ResourceCol.RATES_FROM] + min(present, s.resource[r, ResourceCol.RATES]) - 1
        ]
        return speed if s.resource[r, ResourceCol.IN_TURN] else speed / present
    if s.resource[r, ResourceCol.PRESENT] <= s.resource[r, ResourceCol.SERVERS]:
        return 1.0
    shared: float = s.resource[r, ResourceCol.SERVERS] / s.resource[r, ResourceCol.PRESENT]
    return shared


@inlined
def put_between(s: State, r: int, head: int, tail: int, token: int, before: int, behind: int) -> None:
    """Put a token into a queue between two others; -1 stands for none."""
    s.token[token, TokenCol.NEXT] = behind
    if before < 0:
        s.resource[r, head] = token
    else:
        s.token[before, TokenCol.NEXT] = token
    if behind < 0:
        s.resource[r, tail] = token


@inlined
def append(s: State, r: int, head: int, tail: int, token: int) -> None:
    """Put a token at the end of a queue."""
    put_between(s, r, head, tail, token, s.resource[r, tail], -1)


@inlined
def insert_at(s: State, r: int, token: int, place: int) -> None:
    """Put a token into the queue of a station, behind so many."""
    before, each = -1, s.resource[r, ResourceCol.HEAD]
    for _ in range(place):
        before, each = each, s.token[each, TokenCol.NEXT]
    put_between(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token, before, each)


@inlined
def take_first(s: State, r: int, head: int, tail: int) -> int:
    """Take the first token out of a queue."""
    token: int = s.resource[r, head]
    s.resource[r, head] = s.token[token, TokenCol.NEXT]
    if s.resource[r, head] < 0:
        s.resource[r, tail] = -1
    return token


@inlined
def begin(s: State, r: int, token: int, time: float) -> None:
    """Plan the end of a service."""
    s.token[token, TokenCol.EVENT_KIND] = EventKind.SERVED
    s.token[token, TokenCol.STATION] = r
    s.token[token, TokenCol.EVENT] = plan_event(s, time, token)


@inlined
def enter(s: State, r: int, token: int, work: float, now: float) -> None:
    """Begin a visit."""
    accumulate(s, r, now)
    if s.resource[r, ResourceCol.KIND] == StationKind.FCFS:
        s.resource[r, ResourceCol.PRESENT] += 1
        if s.resource[r, ResourceCol.BUSY] < s.resource[r, ResourceCol.SERVERS]:
            s.resource[r, ResourceCol.BUSY] += 1
            s.time[token, TimeCol.WAITED] = 0.0
            begin(s, r, token, now + work)
        else:
            s.time[token, TimeCol.WORK] = work
            if s.resource[r, ResourceCol.AT_RANDOM]:
                waiting = s.resource[r, ResourceCol.PRESENT] - s.resource[r, ResourceCol.BUSY] - 1
                insert_at(s, r, token, int(s.time[token, TimeCol.PLACE] * (waiting + 1)))
            else:
                append(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token)
    elif s.resource[r, ResourceCol.KIND] == StationKind.SHARED:
        if s.resource[r, ResourceCol.PRESENT] == 0:
            s.integral[r, IntegralCol.PROGRESS] = 0.0
        s.time[token, TimeCol.REQUESTED] = work
        ahead = s.integral[r, IntegralCol.PROGRESS]
        if s.resource[r, ResourceCol.IN_TURN] and s.resource[r, ResourceCol.TAIL] >= 0:
            ahead = s.time[s.resource[r, ResourceCol.TAIL], TimeCol.FINISH]
        s.time[token, TimeCol.FINISH] = ahead + work
        append(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token)
        s.resource[r, ResourceCol.PRESENT] += 1
        share_anew(s, r, now)
    else:
        enter_ordered(s, r, token, work, now)


@inlined
def share_anew(s: State, r: int, now: float) -> None:
    """Find anew who leaves a shared station next, and when."""
    present = s.resource[r, ResourceCol.PRESENT]
    s.resource[r, ResourceCol.BUSY] = min(present, s.resource[r, ResourceCol.SERVERS])
    before = s.resource[r, ResourceCol.TICKET]
    if before >= 0:
        s.token[before, TokenCol.EVENT] = -1
    s.resource[r, ResourceCol.TICKET] = -1
    if present == 0:
        return
    first = s.resource[r, ResourceCol.HEAD]
    each = s.token[first, TokenCol.NEXT]
    while each >= 0:
        if s.time[each, TimeCol.FINISH] < s.time[first, TimeCol.FINISH]:
            first = each
        each = s.token[each, TokenCol.NEXT]
    s.resource[r, ResourceCol.TICKET] = first
    begin(s, r, first, now + max(s.time[first, TimeCol.FINISH] - s.integral[r, IntegralCol.PROGRESS], 0.0) / rate(s, r))


@inlined
def goes_before(s: State, a: int, b: int) -> bool:
    """Say whether a goes before b at an ordered station."""
    if s.token[a, TokenCol.KEY] != s.token[b, TokenCol.KEY]:
        return bool(s.token[a, TokenCol.KEY] < s.token[b, TokenCol.KEY])
    return bool(s.token[a, TokenCol.ORDER] < s.token[b, TokenCol.ORDER])


@inlined
def insert(s: State, r: int, token: int) -> None:
    """Put a token in its place in the queue of an ordered station."""
    s.token[token, TokenCol.DELAYED] = 1
    before, each = -1, s.resource[r, ResourceCol.HEAD]
    while each >= 0 and goes_before(s, each, token):
        before, each = each, s.token[each, TokenCol.NEXT]
    put_between(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token, before, each)


@inlined
def begin_ordered(s: State, r: int, token: int, now: float) -> None:
    """Begin or take up a service that may be cut off."""
    s.token[token, TokenCol.NEXT] = s.resource[r, ResourceCol.SERVING]
    s.resource[r, ResourceCol.SERVING] = token
    s.time[token, TimeCol.FINISH] = now + s.time[token, TimeCol.WORK]
    begin(s, r, token, s.time[token, TimeCol.FINISH])


@inlined
def unlink(s: State, r: int, first: int, token: int) -> None:
    """Take a token out of the middle of a queue that is known by its first alone."""
    if s.resource[r, first] == token:
        s.resource[r, first] = s.token[token, TokenCol.NEXT]
        return
    each = s.resource[r, first]
    while s.token[each, TokenCol.NEXT] != token:
        each = s.token[each, TokenCol.NEXT]
    s.token[each, TokenCol.NEXT] = s.token[token, TokenCol.NEXT]


@inlined
def enter_ordered(s: State, r: int, token: int, work: float, now: float) -> None:
    """Begin service, in the place of a later one if need be, or queue."""
    s.resource[r, ResourceCol.PRESENT] += 1
    s.resource[r, ResourceCol.ARRIVED] += 1
    order = s.resource[r, ResourceCol.ARRIVED]
    s.token[token, TokenCol.ORDER] = order
    s.token[token, TokenCol.KEY] = -order if s.resource[r, ResourceCol.LAST_FIRST] else s.token[token, TokenCol.RANK]
    s.time[token, TimeCol.WORK] = s.time[token, TimeCol.REQUESTED] = work
    s.token[token, TokenCol.DELAYED] = 0
    if s.resource[r, ResourceCol.BUSY] < s.resource[r, ResourceCol.SERVERS]:
        s.resource[r, ResourceCol.BUSY] += 1
        begin_ordered(s, r, token, now)
        return
    if s.resource[r, ResourceCol.PREEMPTS]:
        worst = s.resource[r, ResourceCol.SERVING]
        each = s.token[worst, TokenCol.NEXT]
        while each >= 0:
            if goes_before(s, worst, each):
                worst = each
            each = s.token[each, TokenCol.NEXT]
        if goes_before(s, token, worst):
            unlink(s, r, ResourceCol.SERVING, worst)
            s.token[worst, TokenCol.EVENT] = -1
            s.time[worst, TimeCol.WORK] = s.time[worst, TimeCol.FINISH] - now
            insert(s, r, worst)
            begin_ordered(s, r, token, now)
            return
    insert(s, r, token)


@inlined
def leave(s: State, r: int, token: int, now: float) -> None:
    """End a visit, begin the next service, and book the visit."""
    accumulate(s, r, now)
    s.resource[r, ResourceCol.DONE] += 1
    s.resource[r, ResourceCol.PRESENT] -= 1
    if s.resource[r, ResourceCol.KIND] == StationKind.FCFS:
        if s.resource[r, ResourceCol.HEAD] >= 0:
            following = take_first(s, r, ResourceCol.HEAD, ResourceCol.TAIL)
            s.time[following, TimeCol.WAITED] = now - s.time[following, TimeCol.SINCE]
            begin(s, r, following, now + s.time[following, TimeCol.WORK])
        else:
            s.resource[r, ResourceCol.BUSY] -= 1
    elif s.resource[r, ResourceCol.KIND] == StationKind.SHARED:
        s.integral[r, IntegralCol.PROGRESS] = s.time[token, TimeCol.FINISH]
        last = s.resource[r, ResourceCol.TAIL]
        if last == token:
            s.resource[r, ResourceCol.TAIL] = before_in(s, s.resource[r, ResourceCol.HEAD], token)
        unlink(s, r, ResourceCol.HEAD, token)
        s.resource[r, ResourceCol.TICKET] = -1
        share_anew(s, r, now)
        s.time[token, TimeCol.WAITED] = stretched(s, token, now)
    else:
        unlink(s, r, ResourceCol.SERVING, token)
        if s.resource[r, ResourceCol.HEAD] >= 0:
            following = s.resource[r, ResourceCol.HEAD]
            s.resource[r, ResourceCol.HEAD] = s.token[following, TokenCol.NEXT]
            begin_ordered(s, r, following, now)
        else:
            s.resource[r, ResourceCol.BUSY] -= 1
        s.time[token, TimeCol.WAITED] = stretched(s, token, now) if s.token[token, TokenCol.DELAYED] else 0.0
    waited = s.time[token, TimeCol.WAITED]
    if waited != 0.0:
        s.booked[token, s.token[token, TokenCol.WAIT]] += waited
    s.booked[token, s.token[token, TokenCol.LABEL]] += (now - s.time[token, TimeCol.SINCE]) - waited
    s.time[token, TimeCol.SINCE] = now


@inlined
def before_in(s: State, first: int, token: int) -> int:
    """Find who stands before a token in a queue, or -1."""
    before, each = -1, first
    while each != token:
        before, each = each, s.token[each, TokenCol.NEXT]
    return before


@inlined
def stretched(s: State, token: int, now: float) -> float:
    """Give the time present beyond the work asked for."""
    total = now - s.time[token, TimeCol.SINCE]
    waited = total - s.time[token, TimeCol.REQUESTED]
    return waited if waited > NEVER_WAITED * total else 0.0


@inlined
def request(s: State, r: int, token: int, now: float) -> None:
    """Count a token as present at a lock from now on."""
    accumulate(s, r, now)
    s.resource[r, ResourceCol.PRESENT] += 1
    s.time[token, TimeCol.SINCE_REQUEST] = now


@inlined
def is_free(s: State, r: int) -> bool:
    """Say whether another token may hold a lock or permits."""
    free = s.resource[r, ResourceCol.BUSY] < s.resource[r, ResourceCol.SERVERS]
    return bool(free and s.resource[r, ResourceCol.EXCLUSIVE] == 0)


@inlined
def fits(s: State, r: int, token: int) -> bool:
    """Say whether a lock may be granted to a token now, those that wait left aside."""
    if s.token[token, TokenCol.EXCLUDES] != 0:
        return bool(s.resource[r, ResourceCol.BUSY] == 0)
    return is_free(s, r)


@inlined
def wait_in_order(s: State, r: int, token: int) -> None:
    """Let a token wait behind all others that do not have a larger rank."""
    before, each = -1, s.resource[r, ResourceCol.HEAD]
    last = s.resource[r, ResourceCol.TAIL]
    if last >= 0 and s.token[last, TokenCol.RANK] <= s.token[token, TokenCol.RANK]:
        before, each = last, -1
    while each >= 0 and s.token[each, TokenCol.RANK] <= s.token[token, TokenCol.RANK]:
        before, each = each, s.token[each, TokenCol.NEXT]
    put_between(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token, before, each)


@inlined
def ask(s: State, r: int, token: int, now: float) -> bool:
    """Hold a lock if it is free for the token and no other goes before it, else wait in its queue."""
    request(s, r, token, now)
    first = s.resource[r, ResourceCol.HEAD]
    before = first >= 0 and s.token[first, TokenCol.RANK] <= s.token[token, TokenCol.RANK]
    if fits(s, r, token) and not before:
        grant(s, r, token, now)
        return True
    wait_in_order(s, r, token)
    return False


@inlined
def grant(s: State, r: int, token: int, now: float) -> None:
    """Let a token hold a lock; the integrals are up to date."""
    s.holder[s.resource[r, ResourceCol.HOLDERS_FROM] + s.resource[r, ResourceCol.BUSY]] = token
    s.resource[r, ResourceCol.BUSY] += 1
    s.resource[r, ResourceCol.EXCLUSIVE] = s.token[token, TokenCol.EXCLUDES]
    count_wait(s, r, token, now)


@inlined
def count_wait(s: State, r: int, token: int, now: float) -> None:
    """Count a wait that ended."""
    wait = now - s.time[token, TimeCol.SINCE_REQUEST]
    s.resource[r, ResourceCol.GRANTS] += 1
    s.integral[r, IntegralCol.WAITED] += wait
    s.integral[r, IntegralCol.SQUARES] += wait * wait


@inlined
def remove_holder(s: State, r: int, token: int) -> None:
    """Take a token out of the holders of a lock, which stay in the order of the grants."""
    s.resource[r, ResourceCol.BUSY] -= 1
    place = s.resource[r, ResourceCol.HOLDERS_FROM]
    last = place + s.resource[r, ResourceCol.BUSY]
    while s.holder[place] != token:
        place += 1
    while place < last:
        s.holder[place] = s.holder[place + 1]
        place += 1


@inlined
def wait_for_unit(s: State, r: int, token: int, now: float) -> None:
    """Let a token wait for a unit of a counter."""
    request(s, r, token, now)
    append(s, r, ResourceCol.HEAD, ResourceCol.TAIL, token)


@inlined
def first_waiting(s: State, r: int, now: float) -> int:
    """Take the token that has waited longest for a unit of a counter."""
    accumulate(s, r, now)
    s.resource[r, ResourceCol.PRESENT] -= 1
    s.resource[r, ResourceCol.DONE] += 1
    following = take_first(s, r, ResourceCol.HEAD, ResourceCol.TAIL)
    s.token[following, TokenCol.EXCLUDES] = 0
    count_wait(s, r, following, now)
    return following


@inlined
def hand_over(s: State, r: int, token: int, following: int, now: float) -> None:
    """Let another token hold a lock at once, before all that wait for it, and wake it."""
    accumulate(s, r, now)
    s.resource[r, ResourceCol.DONE] += 1
    remove_holder(s, r, token)
    s.time[following, TimeCol.SINCE_REQUEST] = now
    grant(s, r, following, now)
    wake(s, following, now)


@inlined
def release(s: State, r: int, token: int, now: float) -> None:
    """Hand a lock over to the one who has waited longest, else let all who watch know."""
    accumulate(s, r, now)
    s.resource[r, ResourceCol.PRESENT] -= 1
    s.resource[r, ResourceCol.DONE] += 1
    remove_holder(s, r, token)
    s.resource[r, ResourceCol.EXCLUSIVE] = 0
    if s.resource[r, ResourceCol.HEAD] >= 0:
        while s.resource[r, ResourceCol.HEAD] >= 0 and fits(s, r, s.resource[r, ResourceCol.HEAD]):
            following = take_first(s, r, ResourceCol.HEAD, ResourceCol.TAIL)
            grant(s, r, following, now)
            wake(s, following, now)
        return
    while s.resource[r, ResourceCol.SPIN_HEAD] >= 0:
        wake(s, take_first(s, r, ResourceCol.SPIN_HEAD, ResourceCol.SPIN_TAIL), now)
